"""Holding: the last reading of a sensor that reads when something changes lasts until its next one, up to a limit.

Which sensors hold is decided from their times and values; the limit of a sensor is its own habit, twice the longest
time that it usually is silent. Windows of what is held are weighted by time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from thence.data.readings.durations import format_duration, parse_duration
from thence.data.readings.sensors import SensorData
from thence.data.readings.steps import find_logged
from thence.errors import ConfigError

AUTO, NEVER = "auto", "none"
HELD = ("mean", "min", "max", "last", "range")
"""Aggregates of numbers that count what is held; sums, counts and medians are of the readings themselves."""
USUAL = 0.99  # share of the times between readings that are no longer than the longest usual one
HABIT = 2  # a sensor is silent beyond its habit after so many times the longest usual time
FEWEST_GAPS = 5  # below, a sensor has no habit, and its reading lasts
FOREVER = 1 << 61

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Hold:
    """Which sensors are held, and how long.

    Args:
        limits: Longest time in microseconds that a reading is held, by sensor; ``None`` for the habit of the sensor.
        ends: Times at which a sensor is known to have no reading, by sensor, in order.
    """

    limits: Mapping[str, int | None]
    ends: Mapping[str, Ints]

    def until(self, id: str, times: Ints) -> Ints | None:
        """Return when each reading of a sensor ends to be held; ``None`` if the sensor is not held.

        Args:
            id: The sensor.
            times: The times of its readings, strictly increasing.
        """
        if id not in self.limits:
            return None
        limit = self.limits[id]
        until = times + (habit(times) if limit is None else limit)
        ends = self.ends.get(id)
        if ends is not None and ends.size:
            after = np.searchsorted(ends, times)
            known = after < ends.size
            until[known] = np.minimum(until[known], ends[after[known]])
        return until


def habit(times: Ints) -> int:
    """Return how long a sensor may be silent, from the times between its readings.

    Args:
        times: Times in microseconds, strictly increasing.

    Examples:
        >>> habit(np.arange(200) * 1000)
        2000
    """
    gaps = np.diff(times)
    if gaps.size < FEWEST_GAPS:
        return FOREVER
    return HABIT * int(np.quantile(gaps, USUAL, method="higher"))


def choose_hold(sensors: SensorData, option: str) -> Hold:
    """Choose which sensors are held.

    Args:
        sensors: The readings.
        option: ``"auto"``, ``"none"``, or the longest time for all sensors, such as ``"2h"``.

    Raises:
        ConfigError: If the option is something else.
    """
    lasting = sensors.readings.lasting
    limits: dict[str, int | None]
    if option == AUTO:
        limits = dict.fromkeys(find_logged(sensors)) | dict.fromkeys(lasting, FOREVER)
    elif option == NEVER:
        limits = {}
    else:
        try:
            limits = dict.fromkeys(sensors.ids, parse_duration(option))
        except ConfigError as error:
            raise ConfigError(
                f"hold must be 'auto', 'none' or a duration such as 2h, got {option!r}", hint=error.hint
            ) from error
    limits = {id: limit for id, limit in limits.items() if id in sensors.ids}
    return Hold(limits, sensors.readings.ends if limits else {})


def describe_hold(hold: Hold, habits: Mapping[str, int], option: str) -> list[str]:
    """Return a note about what is held.

    Args:
        hold: Which sensors are held.
        habits: The limit of each of them that has a habit, in microseconds.
        option: The option.
    """
    if not hold.limits:
        return []
    count = len(hold.limits)
    text = f"{count} sensor{'s' * (count != 1)} held at the last reading until the next one"
    if option != AUTO:
        return [f"{text}, at most {option}"]
    limits = sorted(limit for limit in habits.values() if limit < FOREVER)
    if limits:
        spans = [format_duration(_rounded(limit)) for limit in (limits[0], limits[-1])]
        text += f", at most {' to '.join(dict.fromkeys(spans))}, twice the longest usual silence of each"
    return [f"{text} (hold='none' leaves gaps)"]


def _rounded(microseconds: int) -> int:
    unit = next((u for u in (86_400 * 10**6, 3600 * 10**6, 60 * 10**6, 10**6) if microseconds >= 2 * u), 1)
    return max(unit, round(microseconds / unit) * unit)


@dataclass(frozen=True)
class _Pieces:
    """What is read or held, in pieces that lie within one window: its window, reading and length."""

    window: Ints
    reading: Ints
    length: Ints


def _cut(times: Ints, until: Ints, start: int, every: int, n_windows: int) -> _Pieces:
    """Cut what is read or held at the borders of windows."""
    begins = start + every * np.arange(n_windows, dtype=np.int64)
    before = np.searchsorted(times, begins) - 1
    held = before >= 0
    held[held] = until[before[held]] > begins[held]
    # What is held at a border comes before a reading at the same time.
    at = np.concatenate([begins[held], times])
    reading = np.concatenate([before[held], np.arange(times.size)])
    order = np.argsort(at, kind="stable")
    at, reading = at[order], reading[order]
    window = (at - start) // every
    ends = np.minimum(np.append(at[1:], FOREVER), start + every * (window + 1))
    length = np.minimum(ends, until[reading]) - at
    own = (np.arange(at.size) >= int(held.sum()))[order]
    length = np.where(own, np.maximum(length, 1), length)
    kept = length > 0
    return _Pieces(window[kept], reading[kept], length[kept])


def hold_numbers(
    times: Ints, values: Floats, until: Ints, *, start: int, every: int, aggregate: str, out: Floats
) -> None:
    """Aggregate a series of numbers whose readings are held into windows.

    Args:
        times: Times in microseconds, strictly increasing.
        values: The readings.
        until: When each reading ends to be held.
        start: Start of the first window.
        every: Length of a window.
        aggregate: One of ``HELD``.
        out: The windows, filled with NaN.

    Examples:
        >>> out = np.full(3, np.nan)
        >>> times, until = np.array([0, 15]), np.array([40, 25])
        >>> hold_numbers(times, np.array([1.0, 3.0]), until, start=0, every=10, aggregate="mean", out=out)
        >>> out.tolist()
        [1.0, 2.0, 3.0]
    """
    if not times.size:
        return
    pieces = _cut(times, until, start, every, out.size)
    held = values[pieces.reading]
    if aggregate == "mean":
        total = np.bincount(pieces.window, weights=pieces.length, minlength=out.size)
        sums = np.bincount(pieces.window, weights=pieces.length * held, minlength=out.size)
        np.divide(sums, total, out=out, where=total > 0)
        # What does not change has no error of rounding.
        low, high = _extremes(pieces.window, held, out.size)
        same = low == high
        out[same] = low[same]
    elif aggregate == "last":
        out[pieces.window] = held
    else:
        low, high = _extremes(pieces.window, held, out.size)
        seen = np.isfinite(low)
        low, high = low[seen], high[seen]
        out[seen] = low if aggregate == "min" else high if aggregate == "max" else high - low


def _extremes(window: Ints, values: Floats, n_windows: int) -> tuple[Floats, Floats]:
    low, high = np.full(n_windows, np.inf), np.full(n_windows, -np.inf)
    np.minimum.at(low, window, values)
    np.maximum.at(high, window, values)
    return low, high


def hold_states(
    times: Ints,
    codes: Ints,
    until: Ints,
    *,
    start: int,
    every: int,
    aggregate: str,
    n_states: int,
    out: npt.NDArray[Any],
) -> None:
    """Write the last state of each window, or that which lasted longest, of a series whose states are held.

    Of states that lasted equally long, the latest is written.

    Args:
        times: Times in microseconds, strictly increasing.
        codes: The states.
        until: When each reading ends to be held.
        start: Start of the first window.
        every: Length of a window.
        aggregate: ``"mode"`` or ``"last"``.
        n_states: Number of different states.
        out: The windows, filled with -1.
    """
    if not times.size:
        return
    pieces = _cut(times, until, start, every, out.size)
    held = codes[pieces.reading]
    if aggregate == "mode":
        key, at = np.unique(pieces.window * n_states + held, return_inverse=True)
        lasted = np.bincount(at, weights=pieces.length)
        latest = np.zeros(key.size, np.int64)
        np.maximum.at(latest, at, np.arange(at.size))
        order = np.lexsort((latest, lasted))
        out[key[order] // n_states] = key[order] % n_states
    else:
        out[pieces.window] = held
