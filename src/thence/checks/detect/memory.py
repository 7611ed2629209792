"""Memory and thresholds: violations smoothed over time, and levels for a stated rate of false alarms.

Plain arrays only: targets × frames. A target is what statements are about, such as a sensor or a place of a law.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


def smooth(shares: Floats, hours: Floats, *, every: float, memory: float) -> Floats:
    """Return the exponentially weighted mean of each row over time; it fades through gaps.

    Args:
        shares: Targets × frames, from 0 to 1.
        hours: Time of each frame in hours, increasing.
        every: Length of a frame in hours.
        memory: Hours after which a violation has faded to 1/e.

    Examples:
        >>> smooth(np.array([[1.0, 1.0, 0.0]]), np.arange(3.0), every=1.0, memory=1.0).round(3).tolist()
        [[0.632, 0.865, 0.318]]
    """
    new = 1 - math.exp(-every / memory)
    fade = np.exp(-np.diff(hours, prepend=hours[:1] - every) / memory)
    out = np.empty_like(shares)
    state = np.zeros(len(shares))
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


def alarm_level(scores: Floats, hours: Floats, *, every: float, memory: float, per_month: float) -> float:
    """Return the level that normal scores exceed at most so often.

    It is the least score above which there are at most as many alarms as the rate allows in the time that is given. If
    the time is too short to show the rate, the greatest score is extrapolated by an exponential tail.

    Args:
        scores: Normal scores, one per frame.
        hours: Time of each frame in hours.
        every: Length of a frame in hours.
        memory: Alarms that are less than this apart are one.
        per_month: Allowed alarms in 30 days.

    Examples:
        >>> scores = np.array([0.0, 5.0, 0.0, 0.0, 3.0, 0.0, 1.0, 0.0])
        >>> alarm_level(scores, np.arange(8) * 360.0, every=360.0, memory=6.0, per_month=0.25)
        3.0
        >>> alarm_level(scores, np.arange(8) * 360.0, every=360.0, memory=6.0, per_month=0.5)
        1.0
    """
    if not len(scores):
        return 0.0
    allowed = per_month * len(scores) * every / 720
    candidates = np.unique(scores)[::-1]
    low, high = 0, len(candidates) - 1
    while low < high:  # the number of alarms need not fall with the level, but hardly ever rises
        middle = (low + high + 1) // 2
        if count_episodes(scores > candidates[middle], hours, apart=memory) <= allowed:
            low = middle
        else:
            high = middle - 1
    level = float(candidates[low])
    if 0 < allowed < 1:
        top = scores[scores > np.quantile(scores, 0.99)]
        excess = float((top - np.quantile(scores, 0.99)).mean()) if len(top) else 0.0
        level += excess * math.log(1 / allowed)
    return level


def find_drifted(flags: Bools, known: Bools, hours: Floats, *, after: float) -> npt.NDArray[np.int64]:
    """Return the frame from which each target counts as drifted: flagged for most of some time; −1 for never.

    Args:
        flags: Targets × frames: whether a target is out of the ordinary.
        known: Targets × frames: whether anything is known about it; others do not count.
        hours: Time of each frame in hours.
        after: Hours to look back; a target must be known in at least half of them.

    Examples:
        >>> flags = np.array([[False] * 4 + [True] * 8, [False] * 12])
        >>> find_drifted(flags, np.ones_like(flags), np.arange(12.0), after=4.0).tolist()
        [6, -1]
    """
    out = np.full(len(flags), -1, np.int64)
    if len(hours) < 2:
        return out
    step = float(np.median(np.diff(hours)))
    first = np.searchsorted(hours, hours - after + step / 2, side="left")
    full = hours - hours[0] >= after - step * 1.5
    ends, expected = np.arange(1, len(hours) + 1), max(after / step, 1.0)
    for target in range(len(flags)):
        counted = np.concatenate([[0], np.cumsum(known[target])])
        violated = np.concatenate([[0], np.cumsum(flags[target] & known[target])])
        n, v = counted[ends] - counted[first], violated[ends] - violated[first]
        drifted = np.flatnonzero(full & (2 * v > n) & (2 * n >= expected))
        if len(drifted):
            out[target] = drifted[0]
    return out
