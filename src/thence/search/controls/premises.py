"""Second conditions of a control: the state of another actuator, or the hours of the day, at which switches happen.

A premise is worth trying if nearly all switches happen while it holds, although it often does not hold. This module
proposes premises; it does not search for thresholds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from thence.data.readings.sensors import Sensor
from thence.data.readings.windows import WindowedReadings
from thence.language.items import Feature, Interval, Item, Role
from thence.statements.controls.switches import Switch

_HOLDS = 0.95  # least share of the switches at which a premise holds
_USUAL = 0.8  # most of the moments at which it holds; beyond, it says nothing
_MOST = 8  # premises of one change, those that hold least often
_HOURS = 24

BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Premise:
    """A second condition.

    Args:
        item: The condition.
        holds: At which moments of the change it holds.
    """

    item: Item
    holds: BoolArray

    def restrict(self, switch: Switch) -> Switch:
        """Return a change at the moments at which the premise holds only."""
        return Switch(
            switch.actuator,
            switch.from_state,
            switch.to_state,
            switch.moments[self.holds],
            switch.switched[self.holds],
        )


def find_premises(
    switch: Switch,
    readings: WindowedReadings,
    hours: npt.NDArray[np.int64],
    *,
    feature: Callable[[Sensor], Feature],
    device: Callable[[str], str] = lambda sensor: sensor,
) -> list[Premise]:
    """Return the conditions that hold at nearly all switches and not at most other moments, the rarest first.

    Args:
        switch: The change of the actuator.
        readings: The windows, with the states of other actuators.
        hours: The hour of the day in which each window starts, 0 to 23.
        feature: The feature of a sensor.
        device: The device of a sensor, by its id. Command and status of one device do not control each other.
    """
    found = []
    own = device(switch.actuator.id)
    for sensor in sorted(readings.categorical, key=lambda one: one.id):
        if sensor.id == switch.actuator.id or device(sensor.id) == own:
            continue
        codes, names = readings.states[sensor.id]
        before = codes[switch.moments]
        counts = np.bincount(before[switch.switched & (before >= 0)], minlength=len(names))
        if counts.size:
            state = int(np.argmax(counts))
            found.append(Premise(Item.is_(feature(sensor), names[state]), before == state))
    found.append(_hours_premise(hours[switch.moments + 1], switch.switched))
    useful = [
        premise
        for premise in found
        if premise.holds.mean() <= _USUAL and premise.holds[switch.switched].mean() >= _HOLDS
    ]
    return sorted(useful, key=lambda premise: int(premise.holds.sum()))[:_MOST]


def _hours_premise(hours: npt.NDArray[np.int64], switched: BoolArray) -> Premise:
    """Return the shortest range of hours, which may pass midnight, in which all switches happen."""
    counts = np.bincount(hours[switched], minlength=_HOURS)
    around = np.concatenate([[0], np.cumsum(np.concatenate([counts, counts]))])
    needed = counts.sum()
    length, start = next(
        (length, start)
        for length in range(1, _HOURS + 1)
        for start in range(_HOURS)
        if around[start + length] - around[start] >= needed
    )
    holds = (hours - start) % _HOURS < length
    clock = Feature("time", name="hour", role=Role.TIME)
    end = start + length
    if end <= _HOURS:
        return Premise(Item.among(clock, Interval(start, end)), holds)
    return Premise(Item.among(clock, Interval(end - _HOURS, start)).negated(), holds)
