"""Counts of controls on other data: how often a control that is known explains the switches there, and is followed.

Thresholds and times stay as they are. This module counts; it searches nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from thence.data.readings.windows import WindowedReadings
from thence.language.items import Item, Role
from thence.statements.controls.clock import Clock, count_times, local_clock
from thence.statements.controls.control import Control
from thence.statements.controls.signals import Signals, block_starts, coarsen
from thence.statements.controls.switches import Switch, follows, settings_of
from thence.statements.controls.thresholds import Tally, count_crossings, explained, reach_of
from thence.statements.statement import States

BoolArray = npt.NDArray[np.bool_]


def count_controls(
    controls: Iterable[Control], readings: WindowedReadings, *, timezone: str = "UTC"
) -> list[Tally | str]:
    """Count controls on the windows of the same system at another time.

    Args:
        controls: The controls.
        readings: The readings in windows.
        timezone: The time zone of times of day.

    Returns:
        The counts of each control; instead of them a sentence that says what is missing, if a sensor of it has no
        readings here.

    Examples:
        >>> import thence as th
        >>> from thence.data.readings.windows import window
        >>> data = th.datasets.load("net3")
        >>> controls = th.find_controls(data, progress="off")
        >>> count_controls(controls, window(data.sensors))[0] == controls[0].tally
        True
    """
    signals = Signals(readings, follows(readings))
    clock = local_clock(readings, timezone)
    return [_count(control, signals, clock, timezone) for control in controls]


def explain_switches(
    control: Control, readings: WindowedReadings, *, timezone: str = "UTC"
) -> tuple[npt.NDArray[np.int64], BoolArray]:
    """Return the first window after each switch that a control is about, and which of the switches it explains.

    Args:
        control: The control.
        readings: The readings in windows.
        timezone: The time zone of times of day.

    Returns:
        As many windows as ``count_controls`` counts switches, and as many explained ones; none if a sensor of the
        control has no readings.

    Examples:
        >>> import thence as th
        >>> from thence.data.readings.windows import window
        >>> data = th.datasets.load("net3")
        >>> control = th.find_controls(data, progress="off")[0]
        >>> after, known = explain_switches(control, window(data.sensors))
        >>> (len(after), int(known.sum())) == (control.tally.switches, control.tally.explained)
        True
    """
    if control.smoothed > 1:
        return _explain_coarsely(control, readings, timezone)
    signals = Signals(readings, follows(readings))
    switch = _switch_of(control, signals)
    if isinstance(switch, str):
        return np.zeros(0, np.int64), np.zeros(0, bool)
    clock = local_clock(readings, timezone)
    holds: BoolArray | str = np.ones(len(switch.moments), bool)
    if control.premise is not None:
        holds = _premise_holds(control.premise, switch, readings, clock)
    columns = [at for at, sensor in enumerate(signals.sensors) if sensor.id == control.sensor]
    known = np.zeros(len(switch.moments), bool)
    if isinstance(holds, str) or (control.sensor_feature is not None and not columns):
        return switch.times + 1, known[switch.switched]
    moments, switched = switch.moments[holds], switch.switched[holds]
    if control.sensor_feature is None:
        known[holds] = count_times(moments, switched, clock, first=control.low, last=control.high)[1]
    else:
        row, pace = signals.row(columns[0])
        above = control.direction == "above"
        reach = reach_of(row, pace, signals.linked, above=above)
        known[holds] = explained(row, reach, moments, switched, threshold=control.threshold, above=above)
    return switch.times + 1, known[switch.switched]


def _explain_coarsely(
    control: Control, readings: WindowedReadings, timezone: str
) -> tuple[npt.NDArray[np.int64], BoolArray]:
    """Return the last window of each longer window after a switch, and whether the switch is explained."""
    size = control.smoothed
    after, known = explain_switches(replace(control, smoothed=1), coarsen(readings, size), timezone=timezone)
    return block_starts(readings, size)[after] + size - 1, known


def control_states(control: Control, readings: WindowedReadings, *, timezone: str = "UTC") -> States:
    """Return at which windows the actuator switched as a control says, or otherwise; see ``Control.check``.

    Args:
        control: The control.
        readings: The readings in windows.
        timezone: The time zone of times of day.
    """
    after, known = explain_switches(control, readings, timezone=timezone)
    applies, holds = np.zeros((1, len(readings)), bool), np.zeros((1, len(readings)), bool)
    applies[0, after], holds[0, after[known]] = True, True
    column = {sensor.id: at for at, sensor in enumerate(readings.numeric)}
    missing = np.ones((1, len(readings)), bool)
    if control.actuator in readings.states:
        missing[0] = readings.states[control.actuator][0] < 0
    elif control.actuator in column:
        missing[0] = np.isnan(readings.values[:, column[control.actuator]])
    return States.of((control.actuator_feature.place,), applies=applies, holds=holds, missing=missing)


def _count(control: Control, signals: Signals, clock: Clock, timezone: str) -> Tally | str:
    if control.smoothed > 1:
        readings = coarsen(signals.readings, control.smoothed)
        once = replace(control, smoothed=1)
        return _count(once, Signals(readings, follows(readings)), local_clock(readings, timezone), timezone)
    switch = _switch_of(control, signals)
    if isinstance(switch, str):
        return switch
    every = len(switch)
    if control.premise is not None:
        holds = _premise_holds(control.premise, switch, signals.readings, clock)
        if isinstance(holds, str):
            return holds
        moments, switched = switch.moments[holds], switch.switched[holds]
    else:
        moments, switched = switch.moments, switch.switched
    if control.sensor_feature is None:
        return replace(count_times(moments, switched, clock, first=control.low, last=control.high)[0], switches=every)
    columns = [at for at, sensor in enumerate(signals.sensors) if sensor.id == control.sensor]
    if not columns:
        return f"there are no numbers of the sensor '{control.sensor}'"
    row, pace = signals.row(columns[0])
    if np.isnan(row).all():
        return f"the sensor '{control.sensor}' has no readings"
    above = control.direction == "above"
    reach = reach_of(row, pace, signals.linked, above=above)
    found = count_crossings(row, reach, moments, switched, threshold=control.threshold, above=above)
    return replace(found, switches=every)


def _switch_of(control: Control, signals: Signals) -> Switch | str:
    """Return the change that a control is about, at all moments at which it could happen, also if it never did."""
    readings = signals.readings
    missing = f"there are no readings of the sensor '{control.actuator}'"
    columns = [at for at, sensor in enumerate(signals.sensors) if sensor.id == control.actuator]
    if columns:
        values = readings.values[:, columns[0]]
        sensor = signals.sensors[columns[0]]
        names: tuple[str, ...] = ("0", "not 0")
        if control.numeric:
            codes = np.where(np.isnan(values), -1, values != 0).astype(np.int32)
        else:
            found = settings_of(values, (control.from_state, control.to_state))
            assert found is not None
            codes, names = found
    else:
        if control.actuator not in readings.states:
            return missing
        codes, names = readings.states[control.actuator]
        sensor = next(one for one in readings.categorical if one.id == control.actuator)
    if not (codes >= 0).any():
        return missing
    code = {name: at for at, name in enumerate(names)}
    one, other = code.get(control.from_state, -2), code.get(control.to_state, -2)
    before, after = codes[:-1], codes[1:]
    possible = signals.linked[:-1] & (before == one) & ((after == one) | (after == other))
    moments = np.flatnonzero(possible)
    return Switch(sensor, control.from_state, control.to_state, moments, after[moments] == other)


def _premise_holds(item: Item, switch: Switch, readings: WindowedReadings, clock: Clock) -> BoolArray | str:
    """Return at which moments the second condition of a control holds."""
    if item.feature.role is Role.TIME:
        values = clock.weekday if item.feature.name == "weekday" else clock.seconds // 3600
        held = np.array([item.holds(float(value)) for value in range(24)], bool)
        return np.asarray(held[values[switch.moments + 1]])
    if item.feature.subject not in readings.states:
        return f"there are no states of the sensor '{item.feature.subject}'"
    codes, names = readings.states[item.feature.subject]
    held = np.array([*(item.holds(name) for name in names), False], bool)
    return np.asarray(held[codes[switch.moments]])
