"""Values derived from windows: changes, lags, switches, durations, what follows, and the calendar.

All of them are computed on the grid of windows, gaps included, so that "half an hour ago" is half an hour ago. What
depends on a window without a reading is missing. Windows in which no sensor reads are left out afterwards.

Switches and durations are those of states, and of numbers at rest: kinds with a sensor that reads exactly 0 in at least
5 % of its windows have the states ``0`` and ``not 0``, except temperatures, whose zero is not rest.

This module works on arrays; it neither bins numbers nor builds columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from thence._base.settings.numbers import require_zone
from thence.data.readings.directions import is_direction, is_turn, roll_up
from thence.data.readings.durations import format_duration, parse_duration
from thence.data.readings.sensors import Sensor
from thence.errors import ConfigError, nearest
from thence.language.time_names import TimeForm, TimeName

DERIVED = ("change", "hour", "weekday", "previous", "lag:30min", "switch", "duration", "next", "within:30min")
"""Values that can be derived from windows; the lengths are examples."""
PLAIN = frozenset({"change", "hour", "weekday", "switch", "duration"})
ALIASES = {"previous": "lag:1", "next": "within:1"}

SECOND, MINUTE, HOUR, DAY = 10**6, 60 * 10**6, 3600 * 10**6, 86400 * 10**6
DURATION_EDGES = (
    *(n * SECOND for n in (1, 2, 5, 10, 30)),
    *(n * MINUTE for n in (1, 2, 5, 10, 30)),
    *(n * HOUR for n in (1, 2, 4, 8)),
    *(n * DAY for n in (1, 2, 7, 28)),
)
"""The edges of the bins of durations, which are the same for all data with windows of one length."""
MAX_STATES = 12
"""Sensors with more states have no columns for each of them."""
REST_SHARE = 0.05
RESTING = ("0", "not 0")
"""The states of a number at rest."""

DerivedValue = str | bool | tuple[float, float]
"""A state, yes or no, or a half-open range of hours."""
StateCodes = tuple[npt.NDArray[np.int16], tuple[DerivedValue, ...]]
DerivedStates = dict[str, dict[str, StateCodes]]
"""By name and sensor: codes per window (−1 is missing), and the value of each; ``False`` is what no rule is about."""
Numbers = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Derived:
    """What was derived from windows.

    Args:
        numbers: By name: windows × numeric sensors, or one number per window (the calendar).
        states: By name and sensor: codes and their values.
        notes: What was left out.
    """

    numbers: dict[str, npt.NDArray[Any]]
    states: DerivedStates
    notes: tuple[str, ...] = ()


def check_derived(derive: str | Iterable[str]) -> tuple[str, ...]:
    """Check the names of values to derive, as far as that is possible without the length of a window.

    Args:
        derive: The names.

    Raises:
        ConfigError: If a name is unknown, or its length is not a number of windows or a duration.

    Examples:
        >>> check_derived(["lag:30min", "switch"])
        ('lag:30min', 'switch')
    """
    names = (derive,) if isinstance(derive, str) else tuple(dict.fromkeys(derive))
    for name in names:
        form, _, length = ALIASES.get(name, str(name)).partition(":")
        if name in PLAIN:
            continue
        if form not in ("lag", "within"):
            hint = nearest(str(name), DERIVED) or f"use one of {', '.join(DERIVED)}"
            raise ConfigError(f"unknown derived value '{name}'", hint=hint)
        try:
            if not length.isdecimal():
                parse_duration(length)
            elif int(length) < 1:
                raise ConfigError("a number of windows must be at least 1")
        except ConfigError as error:
            hint = f"give a duration or a number of windows: {form}:30min, {form}:2"
            raise ConfigError(f"invalid derived value '{name}': {error.message}", hint=hint) from None
    return names


def name_derived(derive: str | Iterable[str], every: int) -> tuple[str, ...]:
    """Return the names of values to derive, with durations for numbers of windows, each once.

    Args:
        derive: The names.
        every: Length of a window in microseconds.

    Raises:
        ConfigError: If a name is unknown, or its length is not a multiple of that of a window.

    Examples:
        >>> name_derived(["previous", "lag:2", "lag:20 min", "switch"], parse_duration("10min"))
        ('lag:10min', 'lag:20min', 'switch')
    """
    out: dict[str, None] = {}
    for name in check_derived(derive):
        form, _, length = ALIASES.get(name, name).partition(":")
        if not length:
            out[name] = None
            continue
        total = int(length) * every if length.isdecimal() else parse_duration(length)
        if total % every:
            window = _compact(every)
            below = max(1, total // every)
            raise ConfigError(
                f"'{name}' is not a multiple of the windows of {window}",
                hint=f"use {form}:{_compact(below * every)} or {form}:{_compact((below + 1) * every)}",
            )
        out[f"{form}:{_compact(total)}"] = None
    return tuple(out)


def _compact(microseconds: int) -> str:
    return format_duration(timedelta(microseconds=microseconds)).replace(" ", "")


def derive_values(
    names: Sequence[str],
    *,
    times: npt.NDArray[np.datetime64],
    sensors: Sequence[Sensor],
    values: Numbers,
    states: Mapping[str, tuple[Codes, tuple[str, ...]]],
    every: int,
    timezone: str,
    resting: frozenset[str] | None = None,
) -> Derived:
    """Derive values from all windows of a grid, those without readings included.

    Args:
        names: What to derive, as ``name_derived`` returned it.
        times: Start of each window, one after the other.
        sensors: All sensors.
        values: Windows × numeric sensors, NaN where there is no reading.
        states: Codes and categories of the categorical sensors.
        every: Length of a window in microseconds.
        timezone: Time zone of the calendar.
        resting: The kinds of numbers that are at rest at times; by default found in the values.
    """
    numbers: dict[str, npt.NDArray[Any]] = {}
    derived: DerivedStates = {}
    for name in names:
        form, _, length = name.partition(":")
        if form in ("hour", "weekday"):
            numbers[name] = _calendar(name, times, timezone)
        elif form == "change":
            numbers[name] = _changes(values, [sensor for sensor in sensors if not sensor.categorical])
        elif form == "lag":
            windows = parse_duration(length) // every
            numbers[name] = _shift(values, windows, np.nan)
            _add(
                derived,
                (
                    (name, s, (_shift(codes, windows, -1).astype(np.int16), known))
                    for s, (codes, known) in states.items()
                ),
            )
    notes: tuple[str, ...] = ()
    if any(name.partition(":")[0] in ("switch", "duration", "within") for name in names):
        runs = dict(_list_runs(sensors, values, states, resting))
        many = sorted(s for s, (_, known) in runs.items() if len(known) > MAX_STATES)
        few = {s: run for s, run in runs.items() if s not in set(many)}
        for name in names:
            form, _, length = name.partition(":")
            if form == "switch":
                _add(derived, ((_switch_name(run[1]), s, _switches(*run)) for s, run in runs.items()))
            elif form == "duration":
                _add(derived, (found for s, run in few.items() for found in _durations(s, *run, every)))
            elif form == "within":
                ahead = parse_duration(length) // every
                made = (one for s, run in few.items() for one in _followers(s, *run, length, ahead, "switch" in names))
                _add(derived, made)
        if many and any(name.partition(":")[0] in ("duration", "within") for name in names):
            shown = ", ".join(many[:3]) + (" …" if len(many) > 3 else "")
            notes = (f"no duration and no following states of sensors with more than {MAX_STATES} states: {shown}",)
    return Derived(numbers, derived, notes)


def _add(into: DerivedStates, found: Iterable[tuple[str, str, StateCodes]]) -> None:
    for name, sensor, series in found:
        into.setdefault(name, {})[sensor] = series


def _calendar(name: str, times: npt.NDArray[np.datetime64], timezone: str) -> npt.NDArray[np.int8]:
    require_zone(timezone)
    local = pl.Series(times).cast(pl.Datetime("us")).dt.replace_time_zone("UTC").dt.convert_time_zone(timezone)
    if name == "hour":
        return local.dt.hour().to_numpy().astype(np.int8)
    return np.asarray(local.dt.weekday().to_numpy().astype(np.int8) - np.int8(1))


def _changes(values: Numbers, sensors: Sequence[Sensor]) -> Numbers:
    """Return the change since the window before; of directions the shorter way around."""
    out: Numbers = values - _shift(values, 1, np.nan)
    for at, sensor in enumerate(sensors):
        if is_direction(sensor) and is_turn(values[~np.isnan(values[:, at]), at]):
            out[:, at] = roll_up(out[:, at], signed=True)
    return out


def _shift(series: npt.NDArray[Any], windows: int, filler: float) -> npt.NDArray[Any]:
    """Return the values so many windows before."""
    out = np.full_like(series, filler)
    if windows < len(series):
        out[windows:] = series[:-windows]
    return out


def _list_runs(
    sensors: Sequence[Sensor],
    values: Numbers,
    states: Mapping[str, tuple[Codes, tuple[str, ...]]],
    resting: frozenset[str] | None,
) -> Iterator[tuple[str, tuple[Codes, tuple[str, ...]]]]:
    """Yield codes and states of all sensors that have some: states, and numbers of kinds that are at rest at times.

    The states are those of the kind, so that what one sensor never does is known not to happen there.
    """
    by_kind: dict[str, set[str]] = {}
    categorical = [sensor for sensor in sensors if sensor.categorical]
    for sensor in categorical:
        by_kind.setdefault(sensor.kind or sensor.id, set()).update(states[sensor.id][1])
    for sensor in categorical:
        codes, own = states[sensor.id]
        known = tuple(sorted(by_kind[sensor.kind or sensor.id]))
        place = np.array([*(known.index(state) for state in own), -1], np.int32)
        yield sensor.id, (place[codes], known)
    numeric = [sensor for sensor in sensors if not sensor.categorical]
    present = ~np.isnan(values)
    if resting is None:
        zero = (values == 0).sum(axis=0)
        seen = present.sum(axis=0)
        rests = (zero >= np.maximum(REST_SHARE * seen, 1)) & (zero < seen)
        resting = frozenset(s.kind or s.id for s, at_rest in zip(numeric, rests.tolist(), strict=True) if at_rest)
    for at, sensor in enumerate(numeric):
        if (sensor.kind or sensor.id) in resting and not _is_temperature(sensor):
            yield sensor.id, (np.where(present[:, at], values[:, at] != 0, -1).astype(np.int32), RESTING)


def _is_temperature(sensor: Sensor) -> bool:
    """Whether the zero of a sensor is one of a scale, and not rest."""
    return sensor.unit.lower().removeprefix("°").removeprefix("deg") in ("c", "f", "k") or (
        "temperature" in sensor.kind.lower()
    )


def _switched(codes: Codes) -> tuple[Bools, Bools]:
    """Return in which windows a state differs from that of the window before, and in which both are known."""
    before = _shift(codes, 1, -1)
    known = (codes >= 0) & (before >= 0)
    return known & (codes != before), known


def _switch_name(known: tuple[str, ...]) -> str:
    """The name of the switches of states, or of numbers that are at rest at times."""
    return str(TimeName(TimeForm.SWITCH, state="0" if known is RESTING else ""))


def _switches(codes: Codes, known: tuple[str, ...]) -> StateCodes:
    """Return the state that a sensor switches to in each window, or that it does not switch."""
    switched, is_known = _switched(codes)
    out = np.where(switched, codes, np.where(is_known, len(known), -1))
    return out.astype(np.int16), (*known, False)


def _durations(sensor: str, codes: Codes, known: tuple[str, ...], every: int) -> Iterator[tuple[str, str, StateCodes]]:
    """Yield, for each state, for how long it has lasted; missing where its begin was not seen."""
    at = np.arange(len(codes))
    before = _shift(codes, 1, -1)
    begin = np.maximum.accumulate(np.where(codes != before, at, 0)) if len(codes) else at
    seen = (codes >= 0) & (before[begin] >= 0) if len(codes) else np.zeros(0, bool)
    edges = [edge for edge in DURATION_EDGES if edge > every]
    bounds = [-np.inf, *(edge / HOUR for edge in edges), np.inf]
    bins = tuple(pairwise(bounds))
    lasted = np.searchsorted(np.array(edges), (at - begin + 1) * every, side="right")
    for code, state in enumerate(known):
        out = np.where(codes == code, np.where(seen, lasted, -1), np.where(codes >= 0, len(bins), -1))
        yield str(TimeName(TimeForm.DURATION, state=state)), sensor, (out.astype(np.int16), (*bins, False))


def _followers(
    sensor: str, codes: Codes, known: tuple[str, ...], length: str, ahead: int, switches: bool
) -> Iterator[tuple[str, str, StateCodes]]:
    """Yield, for each state, whether it occurs in the next windows, and whether the sensor switches to it there."""
    switched, both = _switched(codes)
    for code, state in enumerate(known):
        occurs = [(False, codes == code, codes >= 0)]
        if switches:
            occurs.append((True, switched & (codes == code), both))
        for is_switch, holds, is_known in occurs:
            name = str(TimeName(TimeForm.WITHIN, length, state, is_switch))
            yield name, sensor, (_any_ahead(holds, is_known, ahead), (False, True))


def _any_ahead(holds: Bools, known: Bools, ahead: int) -> npt.NDArray[np.int16]:
    """Return whether something holds in any of the next windows; −1 unless all of them are known."""
    out = np.full(len(holds), -1, np.int16)
    if ahead < len(holds):
        found, seen = (np.concatenate([[0], np.cumsum(series)]) for series in (holds & known, known))
        after = slice(ahead + 1, None)
        here = slice(1, len(holds) - ahead + 1)
        some, all_known = found[after] - found[here], seen[after] - seen[here] == ahead
        out[: len(holds) - ahead] = np.where(all_known, some > 0, -1)
    return out
