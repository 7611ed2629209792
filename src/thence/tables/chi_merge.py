"""Cuts of a number that separate classes, found from below: neighbouring intervals are merged while they look alike.

ChiMerge (Kerber 1992): every value begins as an interval of its own, and the two neighbours whose classes differ least,
by the chi-squared statistic, are merged until all neighbours differ at the level 0.05 and there are no more than the
bins asked for. This module works on plain arrays.
"""

from __future__ import annotations

import heapq
import math
from functools import cache

import numpy as np
import numpy.typing as npt

from thence.tables.entropy_cuts import class_sums, cut_each_target, midpoints

FloatArray = npt.NDArray[np.float64]

LEVEL = 0.05
"""Neighbouring intervals are merged unless their classes differ at this level."""
_MOST_INTERVALS = 4096  # to begin with; of more distinct values, groups of about equal count
_LEAST_EXPECTED = 0.5  # Kerber's floor, so that an expected count near 0 does not decide


def cut_by_chi_merge(values: FloatArray, bins: int, classes: npt.NDArray[np.integer]) -> FloatArray:
    """Binning method ``chimerge``: at most ``bins`` intervals whose neighbours differ in the classes of a target.

    Args:
        values: The numbers, all finite.
        bins: Maximum number of bins per target.
        classes: Matrix (targets × numbers) of classes, −1 where the class is missing.

    Examples:
        >>> classes = np.repeat([0, 1, 0], 10)
        >>> cut_by_chi_merge(np.arange(30.0), 5, classes[None, :]).tolist()
        [9.5, 19.5]
    """
    return cut_each_target(values, bins, classes, _cut)


def _cut(values: FloatArray, classes: npt.NDArray[np.int64], bins: int) -> FloatArray:
    """The cuts towards one target."""
    ordered, sums, places = class_sums(values, classes)
    if len(places) >= _MOST_INTERVALS:
        wanted = np.arange(1, _MOST_INTERVALS) * len(ordered) // _MOST_INTERVALS
        places = places[np.unique(np.minimum(np.searchsorted(places, wanted), len(places) - 1))]
    counts = np.diff(sums[np.concatenate([[0], places, [len(ordered)]])], axis=0)
    kept = merge_intervals(counts, most=bins, least=_critical(int((counts.sum(axis=0) > 0).sum()) - 1))
    return midpoints(ordered, places[np.array(kept, np.int64)])


def merge_intervals(counts: FloatArray, *, most: int, least: float) -> list[int]:
    """Return which borders between neighbouring intervals stay: border ``i`` is that after interval ``i``.

    Args:
        counts: Matrix (intervals × classes) of numbers of rows.
        most: Maximum number of intervals in the end.
        least: The chi-squared statistic that neighbours must exceed to stay apart.

    Examples:
        >>> merge_intervals(np.array([[5.0, 0.0], [4.0, 0.0], [0.0, 6.0]]), most=3, least=3.84)
        [1]
    """
    own = dict(enumerate(np.asarray(counts, np.float64)))
    after = {at: at + 1 for at in range(len(own) - 1)}
    before = {right: left for left, right in after.items()}
    border = {at: at for at in after}  # the border after an interval, by the interval's first part
    now = {left: _difference(own[left], own[right]) for left, right in after.items()}
    waiting = [(difference, left) for left, difference in now.items()]
    heapq.heapify(waiting)
    while waiting:
        difference, left = heapq.heappop(waiting)
        if now.get(left) != difference:
            continue  # merged since
        if difference > least and len(own) <= most:
            break
        right = after.pop(left)
        own[left] = own[left] + own.pop(right)
        del now[left], border[left]
        if right in after:
            after[left], border[left] = after.pop(right), border.pop(right)
            before[after[left]] = left
            del now[right]
            now[left] = _difference(own[left], own[after[left]])
            heapq.heappush(waiting, (now[left], left))
        if left in before:
            earlier = before[left]
            now[earlier] = _difference(own[earlier], own[left])
            heapq.heappush(waiting, (now[earlier], earlier))
    return sorted(border.values())


def _difference(one: FloatArray, other: FloatArray) -> float:
    """The chi-squared statistic of two intervals; 0 if their shares of the classes are equal."""
    table = np.stack([one, other])
    table = table[:, table.sum(axis=0) > 0]
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / table.sum()
    return float(((table - expected) ** 2 / np.maximum(expected, _LEAST_EXPECTED)).sum())


@cache
def _critical(freedom: int) -> float:
    """The value that a chi-squared variable exceeds with the probability ``LEVEL``; found by bisection.

    Examples:
        >>> round(_critical(1), 3), round(_critical(2), 3), round(_critical(5), 3)
        (3.841, 5.991, 11.07)
    """
    if freedom < 1:
        return math.inf
    low, high = 0.0, 10.0 * freedom + 20.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if _tail(middle, freedom) > LEVEL else (low, middle)
    return high


def _tail(value: float, freedom: int) -> float:
    """The probability that a chi-squared variable exceeds a value, by its finite sum."""
    half = value / 2
    total = math.erfc(math.sqrt(half)) if freedom % 2 else 0.0
    term = freedom % 2 / 2  # the sum runs over 1/2, 3/2, … or 0, 1, …
    while term <= freedom / 2 - 1 + 1e-9:
        total += math.exp(term * math.log(half) - half - math.lgamma(term + 1)) if half else float(term == 0)
        term += 1
    return total
