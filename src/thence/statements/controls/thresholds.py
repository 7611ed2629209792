"""The threshold of a control: where it lies, and how often it explains what an actuator does.

A reading and an actuator are sampled, so a control fires between two windows. The reading before the switch has not
reached the threshold yet, and the reading after it may have turned back already. The reading that it would have had at
the same *pace*, 2 · x(t) − x(t − 1), closes the gap: each switch says that the threshold lies between the reading
before it and the one after it, or the one at the same pace, whichever is further. The estimate is where most of these
intervals overlap.

Plain arrays only. ``above`` is the direction in which the reading passes the threshold, and ``reach`` how far the
reading gets within the next window.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from thence.data.readings.resolution import find_decimals
from thence.statements.counting.occasions import FEWEST_OCCASIONS
from thence.tables.cuts import shorten_cut

USUAL, JUMP = 0.95, 3.0
"""A jump is a step longer than ``JUMP`` times the quantile ``USUAL`` of all steps of a reading."""
WITHIN = 2
"""A switch answers a crossing if it happens within this number of windows."""

_DOUBT = 0.1  # share of the switches that may disagree with an end of the interval
_RESTING = 1e-6  # distance from the end of its range at which a reading rests there, as a share of the range
_RETURN = (0.25, 1.5)  # how far a reading comes back that is no effect, as a share of how far it moved
_OFTEN = 0.9  # quantile of the movements of a reading while the actuator rests

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
Frames = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Threshold:
    """An estimated threshold.

    Args:
        value: The estimate: the shortest decimal number near the middle of the interval.
        low: The lower end of the interval that nearly as many switches agree with.
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
        near: Of the switches that are explained, those at which no reading past the threshold was read: it was within
            one step of it, at the pace of the window before.
    """

    switches: int
    explained: int
    crossings: int
    followed: int
    near: int = 0

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
            self.near + other.near,
        )


def at_same_pace(values: FloatArray, linked: BoolArray) -> FloatArray:
    """Return what each reading would be one window later if it went on as from the window before.

    Args:
        values: Windows × readings, or one reading.
        linked: For each window, whether the next one follows without a gap.

    Returns:
        An array of the same shape; the reading itself where the window before is missing.

    Examples:
        >>> at_same_pace(np.array([1.0, 1.5, 1.75]), np.array([True, True, False])).tolist()
        [1.0, 2.0, 2.0]
    """
    out = values.copy(order="K")
    moved = 2 * values[1:] - values[:-1]
    known = ~np.isnan(moved)
    known[~linked[:-1]] = False
    np.copyto(out[1:], moved, where=known)
    return out


def reach_of(row: FloatArray, pace: FloatArray, linked: BoolArray, *, above: bool) -> FloatArray:
    """Return how far a reading gets within the next window: what it reads then, or would read at the same pace.

    A jump is not counted: a reading that jumps as an actuator switches reacts to the switch.

    Args:
        row: The reading, one value per window.
        pace: The reading one window later at the same pace; see ``at_same_pace``.
        linked: For each window, whether the next one follows without a gap.
        above: Whether far is high, or low.

    Examples:
        >>> row = np.array([1.0, 2.0, 2.5, 9.0, 9.0, 9.5])
        >>> reach_of(row, at_same_pace(row, np.ones(6, bool)), np.ones(6, bool), above=True).tolist()
        [2.0, 3.0, 9.0, 15.5, 9.5, 10.0]
    """
    after = np.full_like(row, np.nan)
    step = np.diff(row)
    known = linked[:-1] & ~np.isnan(step)
    if known.any():
        known &= np.abs(step) <= JUMP * np.quantile(np.abs(step[known]), USUAL)
    after[:-1][known] = row[1:][known]
    return np.fmax(after, pace) if above else np.fmin(after, pace)


def estimate_threshold(
    row: FloatArray, reach: FloatArray, moments: Frames, switched: BoolArray, *, above: bool
) -> Threshold | None:
    """Estimate where a reading makes an actuator switch; the threshold and its ends lie within what was read.

    Args:
        row: The reading, one value per window.
        reach: How far it gets within the next window; see ``reach_of``.
        moments: The moments at which the actuator could switch.
        switched: At which of them it did.
        above: Whether the reading rises to the threshold, or falls to it.

    Returns:
        The threshold, or ``None`` if the reading moved towards one at no switch, or to the end of its range only.

    Examples:
        >>> level = np.array([1.0, 2.0, 2.9, 2.0, 1.0, 2.2, 3.1, 2.0])
        >>> switched = np.array([False, True, False, True, False])
        >>> moments = np.array([0, 1, 4, 5, 7])
        >>> estimate_threshold(level, level + 0.9, moments, switched, above=True)
        Threshold(value=2.5, low=2.2, high=2.9)
    """
    sign = 1.0 if above else -1.0
    x, ahead = sign * row, sign * reach
    times = moments[switched]
    soon = np.isin(moments + 1, times)  # a slow controller switches one window later
    idle = x[moments[~switched & ~soon]]
    idle = np.sort(idle[~np.isnan(idle)])
    least = float(np.nanmin(x[moments])) if not np.isnan(x[moments]).all() else np.nan
    best: _Overlap | None = None
    for late in range(WITHIN):
        before = times[times >= late] - late
        # Where the moment before does not count, the reading may have been past the threshold already.
        fresh = ~np.isin(before - 1, moments)
        found = _overlap(np.where(fresh, least, x[before]), ahead[before], idle)
        if found is not None and (best is None or found.score > best.score):
            best = found
    if best is None:
        return None
    read = float(np.nanmin(row)), float(np.nanmax(row))
    low, high = np.clip(sorted((sign * best.low + 0.0, sign * best.high + 0.0)), *read).tolist()
    ends = np.clip(sorted((sign * best.least + 0.0, sign * best.most + 0.0)), *read).tolist()
    end = read[1] if above else read[0]
    close = abs(sign * end - idle) <= _RESTING * (read[1] - read[0])
    if end in ends and np.count_nonzero(close) > times.size:
        return None  # it rests at the end of its range and passes nothing: an empty tank
    value = _round_inside(low, high, row) if low < high else _round_inwards(low, ends, read)
    return Threshold(float(np.clip(value, *read)), *ends)


@dataclass(frozen=True)
class _Overlap:
    """Where most intervals overlap, and the range around it in which hardly fewer do."""

    score: float
    low: float
    high: float
    least: float
    most: float


def _overlap(low: FloatArray, high: FloatArray, idle: FloatArray) -> _Overlap | None:
    """Find the range in which most of the intervals overlap and fewest idle values lie at or above it."""
    use = low <= high  # NaN is not
    low, high = np.sort(low[use]), np.sort(high[use])
    if not low.size:
        return None
    inside = idle[(idle > low[0]) & (idle < high[-1])]
    ends = np.unique(np.concatenate([low, high, inside]))
    if ends.size == 1:
        only = float(ends[0])
        return _Overlap(float(low.size - (idle >= only).sum()), only, only, only, only)
    middles = (ends[1:] + ends[:-1]) / 2
    depth = np.searchsorted(low, middles, "right") - np.searchsorted(high, middles, "left")
    score = depth - (idle.size - np.searchsorted(idle, middles, "left"))
    first = int(np.argmax(score))
    best = int(score[first])

    def spread(least: float) -> tuple[float, float]:
        left = right = first
        while left > 0 and score[left - 1] >= least:
            left -= 1
        while right + 1 < score.size and score[right + 1] >= least:
            right += 1
        return float(ends[left]), float(ends[right + 1])

    return _Overlap(float(best), *spread(best), *spread(best - _DOUBT * low.size))


def _round_inwards(value: float, ends: list[float], read: tuple[float, float]) -> float:
    """Round the lowest or highest reading to two digits of the width of its interval, to a value that was passed."""
    width = ends[1] - ends[0]
    if not width > 0:
        return value
    scale = 10.0 ** (1 - math.floor(math.log10(width)))
    rounded = (math.ceil if value <= read[0] else math.floor)(value * scale) / scale
    return rounded if ends[0] <= rounded <= ends[1] else value


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
    row: FloatArray, reach: FloatArray, moments: Frames, switched: BoolArray, *, threshold: float, above: bool
) -> BoolArray:
    """Return which moments are switches that a threshold explains.

    The reading passed the threshold in the window of the switch or in one of the ``WITHIN`` windows before it, or would
    have passed it in the window of the switch at the same pace; and it had not been past it for longer.

    Args:
        row: The reading, one value per window.
        reach: How far it gets within the next window.
        moments: The moments at which the actuator could switch.
        switched: At which of them it did.
        threshold: The threshold.
        above: Whether the reading passes it by rising, or by falling.
    """
    past, reached = _past(row, reach, moments, threshold=threshold, above=above)
    return _answered(past, reached, moments, switched)


def count_crossings(
    row: FloatArray, reach: FloatArray, moments: Frames, switched: BoolArray, *, threshold: float, above: bool
) -> Tally:
    """Count how often a threshold explains the switches, and how often the switch follows when it is passed.

    Both counts use one definition. A crossing is a run of windows in which the actuator is in the state before and the
    reading is past the threshold, or passes it within one step: by what is read in the next window, or at its pace.
    Up to ``WITHIN`` windows in between, in which it is not, do not end a run.

    Args:
        row: The reading, one value per window.
        reach: How far it gets within the next window.
        moments: The moments at which the actuator could switch.
        switched: At which of them it did.
        threshold: The threshold.
        above: Whether the reading passes it by rising, or by falling.

    Examples:
        >>> level = np.array([1.0, 2.0, 3.0, 1.0, 2.0, 3.0, 3.0, 3.0, 3.0])
        >>> moments, switched = np.array([0, 1, 3, 4, 5, 6, 7]), np.array([0, 1, 0, 0, 0, 0, 0], bool)
        >>> count_crossings(level, level + 1, moments, switched, threshold=2.5, above=True)
        Tally(switches=1, explained=1, crossings=2, followed=1, near=0)
    """
    past, reached = _past(row, reach, moments, threshold=threshold, above=above)
    answered = _answered(past, reached, moments, switched)
    sign = 1.0 if above else -1.0
    read = _lately(past, moments) | (sign * row[moments + 1] >= sign * threshold)
    hits = int(answered.sum())
    # A run that ends where the next reading is missing may go on: nobody knows.
    unknown = np.zeros(past.size, bool)
    unknown[:-1] = np.isnan(row[moments[1:]]) & (np.diff(moments) == 1)
    passing = np.flatnonzero(past | reached)
    if not passing.size:
        return Tally(int(switched.sum()), 0, 0, 0)
    segment = np.concatenate([[0], np.cumsum(np.diff(moments) != 1)])
    apart = (np.diff(segment[passing]) > 0) | (np.diff(passing) > WITHIN + 1)
    ends = passing[np.concatenate([apart, [True]])]
    # The switch ends the windows in the state before, so a run has at most one of them, at its end or soon after.
    following = np.zeros(past.size + WITHIN, bool)
    following[: past.size] = answered
    followed = np.zeros(ends.size, bool)
    for wait in range(WITHIN + 1):
        at = np.minimum(ends + wait, past.size - 1)
        followed |= following[ends + wait] & (segment[at] == segment[ends])
    unanswered = int((~followed & ~unknown[ends]).sum())
    return Tally(int(switched.sum()), hits, hits + unanswered, hits, int((answered & ~read).sum()))


def _answered(past: BoolArray, reached: BoolArray, moments: Frames, switched: BoolArray) -> BoolArray:
    """Which moments are switches that answer a crossing."""
    return switched & (reached | _lately(past, moments)) & ~_too_long(past, moments)


def _past(
    row: FloatArray, reach: FloatArray, moments: Frames, *, threshold: float, above: bool
) -> tuple[BoolArray, BoolArray]:
    """Whether the reading is past the threshold at each moment, and whether it has passed it one window later."""
    sign = 1.0 if above else -1.0
    at = sign * threshold
    past = sign * row[moments] >= at
    return past, past | (sign * reach[moments] >= at)


def _before(flags: BoolArray, moments: Frames, back: int) -> BoolArray:
    """The flags of the moments so many windows before; false where these do not count."""
    out = np.zeros(flags.size, bool)
    out[back:] = flags[: flags.size - back] & (moments[back:] - moments[: moments.size - back] == back)
    return out


def _lately(past: BoolArray, moments: Frames) -> BoolArray:
    """Whether the reading is past the threshold, or was in one of the ``WITHIN`` moments before."""
    return np.asarray(np.logical_or.reduce([_before(past, moments, back) for back in range(WITHIN + 1)]))


def _too_long(past: BoolArray, moments: Frames) -> BoolArray:
    """Whether the reading has been past the threshold for more than ``WITHIN`` adjacent moments."""
    return np.asarray(np.logical_and.reduce([_before(past, moments, back) for back in range(WITHIN + 1)]))


def relative_band(
    row: FloatArray, reach: FloatArray, moments: Frames, answered: BoolArray, *, threshold: Threshold, above: bool
) -> float:
    """Return how much the reading at the switches varies, relative to how far it came since the state before began.

    A reading that rests near a value passes it all the time, whatever the actuator does: its band is as wide as its
    way. A reading that makes an actuator switch comes from afar and is near the threshold at every switch. The
    band is how much more than one step it varies there, and at least the interval of the threshold.

    Args:
        row: The reading, one value per window.
        reach: How far it gets within the next window.
        moments: The moments at which the actuator could switch.
        answered: Which of them are switches that the threshold explains.
        threshold: The threshold. Only switches before which the reading was on its other side count.
        above: Whether the reading rises to the threshold, or falls to it.

    Returns:
        The band as a share of the way; infinite if the reading came from the other side fewer than three times.

    Examples:
        >>> level = np.array([1.0, 2.0, 3.0, 1.0, 2.0, 3.2, 1.0, 2.0, 3.1, 1.0])
        >>> switched = np.array([0, 0, 1, 0, 0, 1, 0, 0, 1], bool)
        >>> found = Threshold(2.9, 2.8, 3.0)
        >>> round(relative_band(level, level + 0.1, np.arange(9), switched, threshold=found, above=True), 2)
        0.1
    """
    x = (1.0 if above else -1.0) * row
    values = x[moments]
    known = np.where(np.isnan(values), np.inf, values)
    begins = np.concatenate([[0], 1 + np.flatnonzero((np.diff(moments) != 1) | answered[:-1])])
    # What follows at once from the other switch is no way of the reading.
    long = np.diff(begins, append=known.size) > 2 * WITHIN
    for wait in range(WITHIN):
        known[begins[long] + wait] = np.inf
    lowest = np.minimum.reduceat(known, begins)[np.searchsorted(begins, np.flatnonzero(answered), "right") - 1]
    at = values[answered]
    step = (reach if above else -reach)[moments[answered]] - at
    use = (lowest < (threshold.value if above else -threshold.value)) & np.isfinite(step)
    if use.sum() < FEWEST_OCCASIONS:
        return np.inf
    travel = float(np.median(at[use] - lowest[use]))
    low, high = np.quantile(at[use], [0.1, 0.9])
    band = max(float(high - low - np.median(step[use])), threshold.high - threshold.low)
    return band / travel if travel > 0 else np.inf


def moves_with(row: FloatArray, moments: Frames, switched: BoolArray, *, above: bool, jump: float) -> bool:
    """Whether a reading moves as the actuator does, around its switches, and is so its effect or has the same cause.

    It moves past the threshold within the few windows around the switches, by much more than before them and than it
    usually does while the actuator rests, and then it stays there or goes elsewhere. A reading that comes back, such as
    the level of a tank that is drawn on and filled again, may be the cause.

    Args:
        row: The reading, one value per window.
        moments: The moments at which the actuator could switch.
        switched: At which of them it did.
        above: Whether the reading rises to the threshold, or falls to it.
        jump: How many times as far as usual.

    Examples:
        >>> runs = np.arange(80) // 10 % 2
        >>> moments = np.flatnonzero(runs[:-1] == 1)
        >>> moves_with(50.0 * runs, moments, runs[moments + 1] == 0, above=False, jump=3.0)
        True
    """
    x = (1.0 if above else -1.0) * row
    last = x.size - 1
    times = moments[switched]

    def advance(at: Frames) -> FloatArray:
        """How far the reading gets towards the threshold within the windows around each window."""
        windows = np.clip(at[:, None] + np.arange(-2 * WITHIN, WITHIN + 1), 0, last)
        return np.asarray(np.fmax.reduce(x[windows], axis=1) - x[windows[:, 0]])

    near = np.zeros(x.size, bool)
    for shift in range(-2 * WITHIN, 2 * WITHIN + 1):
        near[np.clip(times + shift, 0, last)] = True
    quiet = moments[~near[moments]]
    usual = advance(quiet if quiet.size else np.arange(x.size))
    before = [_median(advance(times - 3 * WITHIN * back)) for back in (1, 2)]
    moved = _median(advance(times))
    expected = max(0.0, *before, float(np.nanquantile(usual, _OFTEN)) if not np.isnan(usual).all() else 0.0)
    if moved <= jump * expected:
        return False
    # Where the reading is until the actuator is back in the state before.
    ends = np.append(moments, x.size)[1 + np.flatnonzero(switched)]
    after = [_median(x[start + 1 : end]) for start, end in zip(times.tolist(), ends.tolist(), strict=True)]
    back = _median(x[np.maximum(times - 2 * WITHIN, 0)] + advance(times) - np.array(after))
    return not _RETURN[0] * moved <= back <= _RETURN[1] * moved


def _median(values: FloatArray) -> float:
    """The median of what is known; 0 if nothing is."""
    known = values[~np.isnan(values)]
    return float(np.median(known)) if known.size else 0.0
