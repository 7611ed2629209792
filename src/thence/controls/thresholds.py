"""The threshold of a control: where it lies, and how often it explains what an actuator does.

A reading and an actuator are sampled, so a control fires between two windows. The reading before the switch has not
reached the threshold yet, and the reading after it may have turned back already. The reading that it would have had at
the same *pace*, 2 · x(t) − x(t − 1), closes the gap: each switch says that the threshold lies between the reading
before it and the one after it, or the one at the same pace. The estimate is where most of these intervals overlap.

Plain arrays only. ``above`` is the direction in which the reading passes the threshold.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from thence.tables.cuts import shorten_cut
from thence.tables.resolution import find_decimals

__all__ = ["WITHIN", "Tally", "Threshold", "at_same_pace", "count_crossings", "estimate_threshold", "explained"]

WITHIN = 2
"""A switch answers a crossing if it happens within this number of windows."""

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
Frames = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Threshold:
    """An estimated threshold.

    Args:
        value: The estimate: the shortest decimal number near the middle of the interval.
        low: The lower end of the interval that is consistent with most switches.
        high: The upper end.
    """

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Tally:
    """Counts of a control, both ways.

    Args:
        switches: The times at which the actuator switched.
        explained: Those at which the reading passed the threshold.
        crossings: The times at which the reading passed the threshold while the actuator was in the state before.
        followed: Those that were followed by the switch.
    """

    switches: int
    explained: int
    crossings: int
    followed: int

    @property
    def explained_share(self) -> float:
        """The share of the switches that are explained."""
        return self.explained / self.switches if self.switches else 0.0

    @property
    def followed_share(self) -> float:
        """The share of the crossings that were followed by the switch."""
        return self.followed / self.crossings if self.crossings else 0.0

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.switches + other.switches,
            self.explained + other.explained,
            self.crossings + other.crossings,
            self.followed + other.followed,
        )


def at_same_pace(values: FloatArray, linked: BoolArray) -> FloatArray:
    """Return what each reading would be one window later if it went on as from the window before.

    Args:
        values: Windows × readings, or one reading.
        linked: For each window, whether the next one follows without a gap.

    Returns:
        An array of the same shape; NaN after a gap.

    Examples:
        >>> at_same_pace(np.array([1.0, 1.5, 1.75]), np.array([True, True, False])).tolist()
        [nan, 2.0, 2.0]
    """
    out = np.full_like(values, np.nan)
    out[1:] = 2 * values[1:] - values[:-1]
    out[1:][~linked[:-1]] = np.nan
    return out


def estimate_threshold(
    row: FloatArray, pace: FloatArray, moments: Frames, switched: BoolArray, *, above: bool
) -> Threshold | None:
    """Estimate where a reading makes an actuator switch.

    Args:
        row: The reading, one value per window.
        pace: The reading one window later at the same pace; see ``at_same_pace``.
        moments: The moments at which the actuator could switch.
        switched: At which of them it did.
        above: Whether the reading rises to the threshold, or falls to it.

    Returns:
        The threshold, or ``None`` if the reading moved towards one at no switch.

    Examples:
        >>> level = np.array([1.0, 2.0, 2.9, 2.0, 1.0, 2.2, 3.1, 2.0])
        >>> switched = np.array([False, True, False, True, False])
        >>> moments = np.array([0, 1, 4, 5, 7])
        >>> estimate_threshold(level, at_same_pace(level, np.ones(8, bool)), moments, switched, above=True)
        Threshold(value=2.6, low=2.2, high=3.0)
    """
    sign = 1.0 if above else -1.0
    x, ahead = sign * row, sign * pace
    times = moments[switched]
    idle = x[moments[~switched]]
    idle = np.sort(idle[~np.isnan(idle)])
    best = _overlap(x[times], np.fmax(x[times + 1], ahead[times]), idle)
    if (times > 0).all():
        # A slow controller switches one window after the reading has passed the threshold.
        late = _overlap(x[times - 1], np.fmax(x[times], ahead[times - 1]), idle)
        best = late if late[0] > best[0] else best
    score, low, high = best
    if score == -np.inf:
        return None
    low, high = sorted((sign * low + 0.0, sign * high + 0.0))
    return Threshold(_round_inside(low, high, row), low, high)


def _overlap(low: FloatArray, high: FloatArray, idle: FloatArray) -> tuple[float, float, float]:
    """Find the range in which most of the intervals overlap and fewest idle values lie at or above it."""
    use = low <= high  # NaN is not
    low, high = np.sort(low[use]), np.sort(high[use])
    if not low.size:
        return -np.inf, np.nan, np.nan
    inside = idle[(idle > low[0]) & (idle < high[-1])]
    ends = np.unique(np.concatenate([low, high, inside]))
    if ends.size == 1:
        return float(low.size - (idle >= ends[0]).sum()), float(ends[0]), float(ends[0])
    middles = (ends[1:] + ends[:-1]) / 2
    depth = np.searchsorted(low, middles, "right") - np.searchsorted(high, middles, "left")
    score = depth - (idle.size - np.searchsorted(idle, middles, "left"))
    first = last = int(np.argmax(score))
    while last + 1 < score.size and score[last + 1] == score[first]:
        last += 1
    return float(score[first]), float(ends[first]), float(ends[last + 1])


def _round_inside(low: float, high: float, row: FloatArray) -> float:
    """Return the shortest decimal number in the middle half of an interval, not finer than the readings."""
    middle, quarter = (low + high) / 2, (high - low) / 4
    decimals = find_decimals(row)
    if decimals is not None:
        rounded = round(middle, decimals) + 0.0
        if low <= rounded <= high:
            middle = rounded
    if not middle - quarter < middle <= middle + quarter:
        return middle
    return shorten_cut(middle, middle - quarter, middle + quarter)


def explained(
    row: FloatArray, pace: FloatArray, moments: Frames, switched: BoolArray, *, threshold: float, above: bool
) -> BoolArray:
    """Return which moments are switches that a threshold explains.

    The reading passed the threshold in the window of the switch, in one of the ``WITHIN`` windows before, or would have
    passed it in the window of the switch at the same pace.

    Args:
        row: The reading, one value per window.
        pace: The reading one window later at the same pace.
        moments: The moments at which the actuator could switch.
        switched: At which of them it did.
        threshold: The threshold.
        above: Whether the reading passes it by rising, or by falling.
    """
    past, reached = _past(row, pace, moments, threshold=threshold, above=above)
    return switched & reached & ~_too_long(past, moments)


def count_crossings(
    row: FloatArray, pace: FloatArray, moments: Frames, switched: BoolArray, *, threshold: float, above: bool
) -> Tally:
    """Count how often a threshold explains the switches, and how often the switch follows when it is passed.

    A crossing is a run of windows, without a gap, in which the actuator is in the state before and the reading is past
    the threshold, or a switch that is explained although no reading past the threshold was sampled.

    Args:
        row: The reading, one value per window.
        pace: The reading one window later at the same pace.
        moments: The moments at which the actuator could switch.
        switched: At which of them it did.
        threshold: The threshold.
        above: Whether the reading passes it by rising, or by falling.

    Examples:
        >>> level = np.array([1.0, 2.0, 3.0, 1.0, 2.0, 3.0, 3.0, 3.0, 3.0])
        >>> moments, switched = np.array([0, 1, 3, 4, 5, 6, 7]), np.array([0, 1, 0, 0, 0, 0, 0], bool)
        >>> count_crossings(level, np.full(9, np.nan), moments, switched, threshold=2.5, above=True)
        Tally(switches=1, explained=1, crossings=2, followed=1)
    """
    past, reached = _past(row, pace, moments, threshold=threshold, above=above)
    answered = switched & reached & ~_too_long(past, moments)
    # A run ends where the next moment is not adjacent or not past; it is followed if its last moment is a switch.
    ends = past.copy()
    ends[:-1] &= ~(past[1:] & (np.diff(moments) == 1))
    hits = int(answered.sum())
    return Tally(int(switched.sum()), hits, hits + int((ends & ~answered).sum()), hits)


def _past(
    row: FloatArray, pace: FloatArray, moments: Frames, *, threshold: float, above: bool
) -> tuple[BoolArray, BoolArray]:
    """Whether the reading is past the threshold at each moment, and whether it has passed it one window later."""
    sign = 1.0 if above else -1.0
    at = sign * threshold
    past = sign * row[moments] >= at
    return past, past | (sign * row[moments + 1] >= at) | (sign * pace[moments] >= at)


def _too_long(past: BoolArray, moments: Frames) -> BoolArray:
    """Whether the reading has been past the threshold for more than ``WITHIN`` adjacent moments."""
    out = past.copy()
    for back in range(1, WITHIN + 1):
        earlier = np.zeros(past.size, bool)
        earlier[back:] = past[:-back] & (moments[back:] - moments[:-back] == back)
        out &= earlier
    return out
