"""Switches: the actuators among the sensors, and the moments at which they change from one state to another.

A sensor of states is an actuator if it switches at all. A numeric sensor counts as one if it is exactly 0 part of the
time and far from 0 otherwise, such as the flow of a pump without a status; so does a set point that has a few values.
This module only reads windows; it explains nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from thence.data.readings.sensors import Sensor
from thence.data.readings.windows import WindowedReadings
from thence.language.names import means_setpoint
from thence.language.states import state_key

OFF, ON = "0", "not 0"
"""The two states of a numeric sensor."""

_LEAST_ZERO = 0.02  # share of readings at 0, and of readings not at 0, of a numeric actuator
_LEAST_SETTING = 0.01  # share of the windows in which a set point stands at a value
_MOST_SETTINGS = 6
_STANDS = 0.9  # share of the windows in which it stands at one of them
_GAP = 0.1  # the smallest reading that is not 0, as a share of their median

BoolArray = npt.NDArray[np.bool_]
Frames = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Switch:
    """One change of an actuator: all moments at which it could have happened, and those at which it did.

    A *moment* is a pair of windows that follow each other without a gap, named by the first one. Only moments at which
    the actuator is in ``from_state``, and then in ``from_state`` or in ``to_state``, count.

    Args:
        actuator: The sensor of the actuator.
        from_state: The state before.
        to_state: The state after.
        moments: The first window of each moment, in order.
        switched: Which of the moments are switches.
    """

    actuator: Sensor
    from_state: str
    to_state: str
    moments: Frames
    switched: BoolArray

    @property
    def times(self) -> Frames:
        """The last window before each switch."""
        return self.moments[self.switched]

    def __len__(self) -> int:
        return int(self.switched.sum())


def follows(readings: WindowedReadings) -> BoolArray:
    """Return for each window whether the next one follows without a gap; the last window has no next one.

    Args:
        readings: The windows.
    """
    out = np.zeros(len(readings), bool)
    step = np.timedelta64(readings.every, "us")
    out[:-1] = np.diff(readings.times.astype("datetime64[us]")) == step
    return out


def find_switches(
    readings: WindowedReadings,
    *,
    least: int,
    numbers: bool = True,
    place: Callable[[str], str] = lambda sensor: sensor,
) -> tuple[list[Switch], int]:
    """Find the changes of all actuators.

    Args:
        readings: The windows.
        least: The number of times that a change has to occur.
        numbers: Whether numeric sensors may be actuators.
        place: The node of a sensor. A numeric sensor beside a sensor of states at the same node is not an actuator.

    Returns:
        The changes that occur often enough, and the number of those that do not.
    """
    linked = follows(readings)
    found: list[Switch] = []
    rare = 0
    for sensor, codes, names in _series(readings, numbers, place):
        before, after = codes[:-1], codes[1:]
        known = linked[:-1] & (before >= 0) & (after >= 0)
        changed = known & (before != after)
        pairs = np.unique(np.stack([before[changed], after[changed]]), axis=1).T.tolist() if changed.any() else []
        for one, other in pairs:
            moments = np.flatnonzero(known & (before == one) & ((after == one) | (after == other)))
            switch = Switch(sensor, names[one], names[other], moments, after[moments] == other)
            if len(switch) >= least:
                found.append(switch)
            else:
                rare += 1
    return found, rare


def _series(
    readings: WindowedReadings, numbers: bool, place: Callable[[str], str]
) -> list[tuple[Sensor, npt.NDArray[np.int32], tuple[str, ...]]]:
    """Return every actuator with its states as codes, and their names."""
    series = [(sensor, *readings.states[sensor.id]) for sensor in readings.categorical]
    with_states = {place(sensor.id) for sensor in readings.categorical}
    for column, sensor in enumerate(readings.numeric):
        if means_setpoint(sensor.kind or sensor.id):
            if settings := settings_of(readings.values[:, column]):
                series.append((sensor, *settings))
            continue
        if not numbers or place(sensor.id) in with_states:
            continue
        values = readings.values[:, column]
        if _is_on_and_off(values):
            codes = np.where(np.isnan(values), -1, values != 0).astype(np.int32)
            series.append((sensor, codes, (OFF, ON)))
    return series


def settings_of(
    values: npt.NDArray[np.float64], known: Sequence[str] = ()
) -> tuple[npt.NDArray[np.int32], tuple[str, ...]] | None:
    """Return a set point as states: codes of the values that it stands at, and their names; ``None`` if these are many.

    A window in which it changes has a mean between two values, and counts as the value after.

    Args:
        values: The set point in windows.
        known: The names of values that it stood at before, which it may stand at too.

    Examples:
        >>> settings_of(np.array([18.0] * 9 + [20.5] + [21.0] * 9))[1]
        ('18', '21')
    """
    present, counts = np.unique(values[~np.isnan(values)], return_counts=True)
    stands = set(present[counts >= max(2, _LEAST_SETTING * counts.sum())].tolist()) | {float(name) for name in known}
    levels = np.array(sorted(stands))
    stood = np.isin(values, levels)
    if not known and not (1 < len(levels) <= _MOST_SETTINGS and stood.sum() >= _STANDS * counts.sum()):
        return None
    codes = np.where(stood, np.searchsorted(levels, values), -2).astype(np.int32)
    codes[np.isnan(values)] = -1
    for at in np.flatnonzero(codes == -2)[::-1].tolist():
        codes[at] = codes[at + 1] if at + 1 < len(codes) else -1
    return codes, tuple(state_key(level) for level in levels.tolist())


def _is_on_and_off(values: npt.NDArray[np.float64]) -> bool:
    """Whether numbers are exactly 0 part of the time and far from 0 otherwise."""
    zeros = int(np.count_nonzero(values == 0))
    if not zeros:
        return False
    sizes = np.abs(values[(values != 0) & ~np.isnan(values)])
    if min(zeros, sizes.size) < _LEAST_ZERO * (zeros + sizes.size):
        return False
    return bool(sizes.min() >= _GAP * np.median(sizes))
