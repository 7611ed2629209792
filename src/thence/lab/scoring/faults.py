"""Detection per fault type and intensity: which faults are found, for how much of their time, and after how long."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from thence.errors import InputError
from thence.lab.scoring.events import as_flags, share, stretches

__all__ = ["FaultDetection", "detection_by_fault"]


@dataclass(frozen=True, slots=True)
class FaultDetection:
    """How a fault was detected.

    Args:
        fault: The fault: the value that was given for its steps; ``None`` for the time without a fault.
        events: Stretches of steps with it.
        found: Stretches of these with an alarm.
        steps: Steps with it.
        alarmed: Steps of these with an alarm.
        delays: Steps from the start of each stretch that was found to its first alarm.
    """

    fault: Hashable | None
    events: int
    found: int
    steps: int
    alarmed: int
    delays: tuple[int, ...]

    @property
    def alarmed_share(self) -> float:
        """Share of its steps with an alarm."""
        return share(self.alarmed, self.steps)


def detection_by_fault(faults: Sequence[Hashable | None], alarms: Any) -> tuple[FaultDetection, ...]:
    """Return how each fault was detected, and how much alarm there was without one.

    Args:
        faults: The fault of each step, such as ``"leaking valve, 40 %"``; ``None`` without a fault.
        alarms: 1 where there is an alarm.

    Returns:
        One record per fault in the order of first appearance, then one for the steps without a fault, if there are any.

    Examples:
        >>> for one in detection_by_fault([None, "stuck", "stuck", None, "stuck"], [0, 0, 1, 1, 0]):
        ...     print(one.fault, one.events, one.found, one.alarmed_share.__round__(2), one.delays)
        stuck 2 1 0.33 (1,)
        None 2 1 0.5 (0,)
    """
    a = as_flags(alarms, name="alarms")
    if len(faults) != len(a):
        raise InputError(f"faults and alarms must have the same number of steps, got {len(faults)} and {len(a)}")
    names: list[Hashable | None] = [*dict.fromkeys(fault for fault in faults if fault is not None)]
    if any(fault is None for fault in faults):
        names.append(None)
    number = {name: at for at, name in enumerate(names)}
    codes = np.array([number[fault] for fault in faults], np.int64)
    out = []
    for name, code in number.items():
        mine = codes == code
        events = stretches(mine)
        first = [np.flatnonzero(a[start : end + 1]) for start, end in events]
        delays = tuple(int(found[0]) for found in first if len(found))
        out.append(FaultDetection(name, len(events), len(delays), int(mine.sum()), int((mine & a).sum()), delays))
    return tuple(out)
