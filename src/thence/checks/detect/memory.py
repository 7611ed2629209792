"""Memory: violations smoothed over time, and how many alarms there are.

Plain arrays only: targets × frames. A target is what statements are about, such as a sensor or a place of a law.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


def smooth(
    shares: Floats, hours: Floats, *, every: float, memory: float, before: tuple[float, Floats] | None = None
) -> Floats:
    """Return the exponentially weighted mean of each row over time; it fades through gaps.

    Args:
        shares: Targets × frames, from 0 to 1.
        hours: Time of each frame in hours, increasing.
        every: Length of a frame in hours.
        memory: Hours after which a violation has faded to 1/e.
        before: The frame before the first, and what was returned for it; by default there is none.

    Examples:
        >>> smooth(np.array([[1.0, 1.0, 0.0]]), np.arange(3.0), every=1.0, memory=1.0).round(3).tolist()
        [[0.632, 0.865, 0.318]]
    """
    new = 1 - math.exp(-every / memory)
    last, state = (hours[:1] - every, np.zeros(len(shares))) if before is None else (before[0], before[1])
    fade = np.exp(-np.diff(hours, prepend=last) / memory)
    out = np.empty_like(shares)
    for frame in range(shares.shape[1]):
        state = state * fade[frame] + new * shares[:, frame]
        out[:, frame] = state
    return out


def single_level(*, every: float, memory: float, frames: int = 2) -> float:
    """Return what ``smooth`` gives for a full violation in some frames in a row: the least level of an alarm.

    Args:
        every: Length of a frame in hours.
        memory: Hours after which a violation has faded to 1/e.
        frames: Number of frames.
    """
    return (1 - math.exp(-every / memory) ** frames) * (1 - 1e-9)


def count_episodes(alarms: Bools, hours: Floats, *, apart: float) -> int:
    """Return the number of alarms: alarmed frames that are less than some hours apart are one.

    Args:
        alarms: One boolean per frame.
        hours: Time of each frame in hours.
        apart: Hours.

    Examples:
        >>> count_episodes(np.array([1, 0, 1, 0, 0, 0, 1], bool), np.arange(7.0), apart=3.0)
        2
    """
    on = hours[alarms]
    return int(len(on) > 0) + int((np.diff(on) >= apart).sum())
