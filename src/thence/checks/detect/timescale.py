"""The time scale of a detector: its memory and its days, from the step of the data and how long they last.

A day is what normal time is counted in: the civil day, or a part of it where the readings last less than four days, as
those of a test rig with runs of twenty minutes do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

LEAST_DAYS = 4
"""Normal days without which nothing is known about how they differ."""
_FRAMES = 12  # of memory
_LEAST_HOURS, _MOST_HOURS = 1.0, 6.0
_MEMORIES = 12  # that a part of a day lasts at least
_CORRELATED = 5  # correlation times that it lasts at least
_FULL = 0.5  # share of the usual number of frames from which a day counts


@dataclass(frozen=True)
class TimeScale:
    """How long a detector remembers, and what it counts normal time in. All in hours.

    Args:
        every: Length of a frame.
        memory: Time after which a reading has faded to 37 %.
        slow: The same for small errors that last.
        block: Length of the parts that normal time is cut into.
        day: What a rate of false alarms is about: 24, or the length of a run if the readings last less than four days.
    """

    every: float
    memory: float
    slow: float
    block: float
    day: float

    @property
    def is_short(self) -> bool:
        """Whether the readings are too short for days."""
        return self.day < 24

    def blocks_of(self, hours: Floats) -> Ints:
        """Return the number of the day, or part of one, of each frame.

        Args:
            hours: The start of each frame.
        """
        return np.floor(hours / self.block).astype(np.int64)

    def to_dict(self) -> dict[str, float]:
        """Return the fields, ready for JSON."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    @staticmethod
    def from_dict(record: Mapping[str, Any]) -> TimeScale:
        """Return the time scale of ``to_dict``.

        Args:
            record: The fields.
        """
        return TimeScale(**{name: float(record[name]) for name in TimeScale.__dataclass_fields__})


def choose_scale(hours: Floats, *, every: float, memory: float | None = None, correlated: float = 0.0) -> TimeScale:
    """Return the time scale of normal readings.

    The memory is twelve frames: one to six hours where there are days, and not less than two frames.

    Args:
        hours: The start of each frame in hours.
        every: Length of a frame in hours.
        memory: The memory in hours, if it is not to follow from the step.
        correlated: Hours over which the readings, or their errors, are alike; parts of a day last longer.

    Examples:
        >>> choose_scale(np.arange(0, 240, 0.5), every=0.5)
        TimeScale(every=0.5, memory=6.0, slow=24.0, block=24.0, day=24.0)
        >>> scale = choose_scale(np.arange(3600) / 3600, every=1 / 3600)
        >>> round(scale.memory * 3600), round(scale.block * 3600), round(scale.day * 3600)
        (12, 144, 3600)
    """
    steps = np.diff(hours)
    long = len(count_full(hours, 24.0, every=every)) >= LEAST_DAYS
    if long:
        found = memory or max(min(max(_FRAMES * every, _LEAST_HOURS), _MOST_HOURS), 2 * every)
        day = max(24.0, every)
        return TimeScale(every, found, max(24.0, 4 * found), day, day)
    found = memory or _FRAMES * every
    breaks = np.flatnonzero(steps > 10 * every)
    runs = np.diff(np.r_[0, breaks + 1, len(hours)]) * every
    day = min(float(np.median(runs)) if len(hours) else every, 24.0)
    block = min(max(_MEMORIES * found, _CORRELATED * correlated, 2 * every), day)
    return TimeScale(every, found, 4 * found, block, day)


def count_full(hours: Floats, block: float, *, every: float) -> Ints:
    """Return the numbers of the blocks of time that have at least half as many frames as the usual one.

    Args:
        hours: The start of each frame.
        block: Length of a block.
        every: Length of a frame.

    Examples:
        >>> count_full(np.arange(0, 50.0), 24.0, every=1.0).tolist()
        [0, 1]
    """
    numbers, counts = np.unique(np.floor(hours / block).astype(np.int64), return_counts=True)
    if not len(numbers):
        return numbers
    return np.asarray(numbers[counts >= _FULL * max(min(float(np.median(counts)), block / every), 1.0)])
