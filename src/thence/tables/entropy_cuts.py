"""Cuts of a number that separate classes: splits of least entropy, accepted by description length.

A split is accepted if it pays for its own description (Fayyad and Irani 1993). A column that no single split helps is
cut into equal shares, since it may help together with another column. This module works on plain arrays.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from thence.tables.cuts import shorten_cuts

FloatArray = npt.NDArray[np.float64]


def cut_towards(values: FloatArray, bins: int, classes: npt.NDArray[np.integer]) -> FloatArray:
    """Binning method ``entropy``: at most ``bins − 1`` cuts that separate the classes of each of some targets.

    Args:
        values: The numbers, all finite.
        bins: Maximum number of bins per target.
        classes: Matrix (targets × numbers) of classes, −1 where the class is missing.

    Examples:
        >>> classes = np.repeat([0, 1], 10)
        >>> cut_towards(np.arange(20.0), 5, classes[None, :]).tolist()
        [9.5]
    """
    return cut_each_target(
        values, bins, classes, lambda own, target, most: cut_by_entropy(own, target, fallback=1, most=most - 1)
    )


def cut_each_target(
    values: FloatArray,
    bins: int,
    classes: npt.NDArray[np.integer],
    cut: Callable[[FloatArray, npt.NDArray[np.int64], int], FloatArray],
) -> FloatArray:
    """Return the cuts towards any of some targets; up to three equal shares where no target accepts a cut.

    Args:
        values: The numbers, all finite.
        bins: Maximum number of bins per target.
        classes: Matrix (targets × numbers) of classes, −1 where the class is missing.
        cut: Finds the cuts towards one target: a function of numbers, classes and the maximum number of bins.

    Examples:
        >>> cut_each_target(np.arange(4.0), 2, np.array([[0, 0, 1, 1], [0, 1, 1, -1]]), lambda v, c, _: v[c == 1][:1])
        array([1., 2.])
    """
    found = []
    for target in np.asarray(classes, np.int64):
        known = target >= 0
        found.append(cut(values[known], target[known], bins))
    cuts = np.unique(np.concatenate(found)) if found else np.empty(0)
    return cuts if len(cuts) else cut_by_entropy(values, np.zeros(len(values), np.int64), fallback=min(bins, 3))


def class_sums(
    values: FloatArray, classes: npt.NDArray[np.int64]
) -> tuple[FloatArray, FloatArray, npt.NDArray[np.int64]]:
    """Return numbers in order, how many rows of each class come before each, and where a new number begins.

    Args:
        values: The numbers; NaN is missing.
        classes: The class of each number, from 0.

    Examples:
        >>> ordered, sums, places = class_sums(np.array([2.0, 1.0, 2.0]), np.array([1, 0, 1]))
        >>> ordered.tolist(), sums.tolist(), places.tolist()
        ([1.0, 2.0, 2.0], [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [1.0, 2.0]], [1])
    """
    present = ~np.isnan(values)
    order = np.argsort(values[present], kind="stable")
    ordered = values[present][order]
    hot = np.eye(int(classes.max(initial=0)) + 1)[classes[present][order]]
    sums = np.vstack([np.zeros(hot.shape[1]), np.cumsum(hot, axis=0)])
    # Only between different values may a column be cut.
    return ordered, sums, np.flatnonzero(np.diff(ordered) > 0) + 1


def midpoints(ordered: FloatArray, places: npt.NDArray[np.int64]) -> FloatArray:
    """Return cuts at some places of ordered numbers, each the shortest decimal number near the middle of a gap.

    Args:
        ordered: The numbers in order.
        places: Positions of the first number after each cut.
    """
    low, high = ordered[places - 1], ordered[places]
    # Halfway between two values of the data is the fairest guess for values that it does not have.
    half = low + (high - low) / 2
    return shorten_cuts(np.where(half > low, half, high), ordered)


def cut_by_entropy(
    values: FloatArray, classes: npt.NDArray[np.int64], *, fallback: int = 3, most: int | None = None
) -> FloatArray:
    """Return the cuts of a number, in increasing order, each the shortest decimal number between two values.

    Args:
        values: The numbers; NaN is missing.
        classes: The class of each row, from 0.
        fallback: Number of equal shares if no cut is accepted.
        most: Maximum number of cuts: the most informative come first. By default all that are accepted.

    Examples:
        >>> cut_by_entropy(np.arange(20.0), np.repeat([0, 1], 10)).tolist()
        [9.5]
    """
    ordered, sums, places = class_sums(values, classes)
    if not len(places):
        return np.empty(0)
    found = sorted(_split(sums, places, len(ordered) if most is None else most))
    return midpoints(ordered, np.array(found, np.int64) if found else _equal_shares(ordered, fallback))


def _equal_shares(ordered: FloatArray, shares: int) -> npt.NDArray[np.int64]:
    """Positions of the first of equal values that cut the data into about equal shares."""
    cuts = ordered[(np.arange(1, shares) * len(ordered)) // shares]
    first = np.unique(np.searchsorted(ordered, cuts))
    return first[first > 0]


def _split(sums: FloatArray, places: npt.NDArray[np.int64], most: int) -> list[int]:
    """Positions of the accepted cuts in the ordered values; those that reduce the entropy most are found first."""
    found: list[int] = []
    waiting = [_best_split(sums, places, 0, len(sums) - 1)]
    while waiting and len(found) < most:
        gain, at, start, stop = heapq.heappop(waiting)
        if gain >= 0:
            break
        found.append(at)
        heapq.heappush(waiting, _best_split(sums, places, start, at))
        heapq.heappush(waiting, _best_split(sums, places, at, stop))
    return found


def _best_split(sums: FloatArray, places: npt.NDArray[np.int64], start: int, stop: int) -> tuple[float, int, int, int]:
    """The split of a span with the least entropy: minus what it gains in all rows, 0 if it is refused; and where."""
    own = places[(places > start) & (places < stop)]
    n = stop - start
    if not len(own) or n < 2:
        return 0.0, -1, start, stop
    left, right = sums[own] - sums[start], sums[stop] - sums[own]
    n_left = (own - start).astype(np.float64)
    mixed = (n_left * _entropy(left) + (n - n_left) * _entropy(right)) / n
    best = int(np.argmin(mixed))
    whole = sums[stop] - sums[start]
    kinds = [int((part > 0).sum()) for part in (whole, left[best], right[best])]
    entropies = [float(_entropy(part[None])[0]) for part in (whole, left[best], right[best])]
    described = math.log2(3 ** kinds[0] - 2) - sum(
        sign * kind * entropy for sign, kind, entropy in zip((1, -1, -1), kinds, entropies, strict=True)
    )
    gain = entropies[0] - float(mixed[best])
    accepted = gain > (math.log2(n - 1) + described) / n
    return (-n * gain if accepted else 0.0), int(own[best]), start, stop


def _entropy(counts: FloatArray) -> FloatArray:
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    return np.asarray(-(shares * np.log2(np.where(shares > 0, shares, 1.0))).sum(axis=1))
