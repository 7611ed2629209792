"""Gaps: readings that did not come, by the usual step of each sensor.

Most sensors read at regular times. Where the next reading of such a sensor is later by a multiple of its step, readings
were lost on the way, or never made. Sensors that send when something changes have no usual step, and no gaps. Counts
follow from the readings alone, in the order of their times. This module counts; it says nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from thence.checks.monitor.batches import Batch

_NEVER = -(2**62)
_NEAR = 0.25  # how far a step may be from the usual one, as a share of it
_REGULAR, _MOST_VOTES = 8, 12  # votes for a step from which on it is usual, and the most that are counted
_ARRAYS = ("last", "step", "votes")


@njit(cache=True, nogil=True)
def _count(times, sensors, last, step, votes, flagged, found):  # type: ignore[no-untyped-def]
    """Count gaps; ``found`` holds their number, the readings that are missing, the first start and the last end.

    The usual step is a majority vote of all steps, so that a sensor that reads at other times from now on is soon
    known by them.
    """
    for i in range(times.size):
        at = sensors[i]
        before, usual = last[at], step[at]
        last[at] = times[i]
        if before == _NEVER:
            continue
        own = times[i] - before
        if abs(own - usual) <= _NEAR * usual:
            votes[at] = min(votes[at] + 1, _MOST_VOTES)
            continue
        missing = int(own / usual + _NEAR) - 1 if usual > 0 else 0
        if votes[at] >= _REGULAR and missing > 0:
            flagged[at] = True
            found[0] += 1
            found[1] += missing
            found[2] = min(found[2], before)
            found[3] = max(found[3], times[i])
        votes[at] -= 1
        if votes[at] <= 0:
            step[at], votes[at] = own, 1


@dataclass(frozen=True)
class NewGaps:
    """Gaps that were found since they were asked for.

    Args:
        sensors: Number of sensors that have one.
        gaps: Number of gaps.
        missing: Number of readings that would have come at the usual steps.
        start: Time of the last reading before the first gap, in microseconds.
        end: Time of the first reading after the last gap.
    """

    sensors: int
    gaps: int
    missing: int
    start: int
    end: int


class Gaps:
    """The gaps of some sensors.

    Args:
        n_sensors: Number of sensors.

    Examples:
        >>> gaps = Gaps(1)
        >>> gaps.add(Batch.of([(10 * k, 0, 1.0) for k in range(20) if k not in (12, 13)]))
        >>> gaps.take_new()
        NewGaps(sensors=1, gaps=1, missing=2, start=110, end=140)
    """

    def __init__(self, n_sensors: int) -> None:
        self.last = np.full(n_sensors, _NEVER, np.int64)
        self.step, self.votes = np.zeros(n_sensors, np.int64), np.zeros(n_sensors, np.int64)
        self.total = self.missing = 0
        self._flagged = np.zeros(n_sensors, np.bool_)
        self._new = _nothing()

    def add(self, batch: Batch) -> None:
        """Count the gaps before readings.

        Args:
            batch: Readings that are later than those before, in the order of their times for each sensor.
        """
        before = self._new[:2].copy()
        _count(batch.times, batch.sensors, self.last, self.step, self.votes, self._flagged, self._new)
        self.total += int(self._new[0] - before[0])
        self.missing += int(self._new[1] - before[1])

    def take_new(self) -> NewGaps | None:
        """Return what was found since the last call, or ``None``."""
        gaps, missing, start, end = self._new.tolist()
        if not gaps:
            return None
        out = NewGaps(int(self._flagged.sum()), gaps, missing, start, end)
        self._flagged[:] = False
        self._new = _nothing()
        return out

    def to_arrays(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Return numbers for JSON, and arrays: all that is needed to go on."""
        return {"total": self.total, "missing": self.missing}, {name: getattr(self, name) for name in _ARRAYS}

    def restore(self, numbers: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Go on from what ``to_arrays`` returned.

        Args:
            numbers: The numbers.
            arrays: The arrays.
        """
        self.total, self.missing = int(numbers["total"]), int(numbers["missing"])
        for name in _ARRAYS:
            setattr(self, name, arrays[name].copy())


def _nothing() -> npt.NDArray[np.int64]:
    return np.array([0, 0, 2**62, _NEVER], np.int64)
