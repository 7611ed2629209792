"""Cuts of a number that separate classes, as the splits of a decision tree on that number alone.

The tree grows best first, by the decrease of Gini's impurity, as ``DecisionTreeClassifier(max_leaf_nodes=bins)`` of
scikit-learn does, with leaves of at least a fiftieth of the rows. This module works on plain arrays.
"""

from __future__ import annotations

import heapq

import numpy as np
import numpy.typing as npt

from thence.tables.entropy_cuts import class_sums, cut_each_target, midpoints

FloatArray = npt.NDArray[np.float64]

LEAST_SHARE = 0.02
"""The smallest share of the rows that a leaf may have."""


def cut_by_tree(values: FloatArray, bins: int, classes: npt.NDArray[np.integer]) -> FloatArray:
    """Binning method ``tree``: the thresholds of a decision tree with at most ``bins`` leaves for each target.

    Args:
        values: The numbers, all finite.
        bins: Maximum number of leaves per target.
        classes: Matrix (targets × numbers) of classes, −1 where the class is missing.

    Examples:
        >>> classes = np.repeat([0, 1, 0], 10)
        >>> cut_by_tree(np.arange(30.0), 5, classes[None, :]).tolist()
        [9.5, 19.5]
    """
    return cut_each_target(values, bins, classes, _cut)


def _cut(values: FloatArray, classes: npt.NDArray[np.int64], bins: int) -> FloatArray:
    """The cuts towards one target, of which the most decisive are found first."""
    ordered, sums, places = class_sums(values, classes)
    least = max(1, int(np.ceil(LEAST_SHARE * len(ordered))))
    found: list[int] = []
    waiting = [_best_split(sums, places, 0, len(ordered), least)]
    while waiting and len(found) < bins - 1:
        gain, at, start, stop = heapq.heappop(waiting)
        if gain >= 0:
            break
        found.append(at)
        heapq.heappush(waiting, _best_split(sums, places, start, at, least))
        heapq.heappush(waiting, _best_split(sums, places, at, stop, least))
    return midpoints(ordered, np.array(sorted(found), np.int64))


def _best_split(
    sums: FloatArray, places: npt.NDArray[np.int64], start: int, stop: int, least: int
) -> tuple[float, int, int, int]:
    """The split of a node that lowers the impurity most: minus what it gains, 0 if there is none; and where."""
    own = places[(places >= start + least) & (places <= stop - least)]
    if not len(own):
        return 0.0, -1, start, stop
    left, right = sums[own] - sums[start], sums[stop] - sums[own]
    whole = sums[stop] - sums[start]
    n_left = (own - start).astype(np.float64)
    # Rows × (1 − Σ share²): the rows cancel out of the difference.
    gains = (left**2).sum(axis=1) / n_left + (right**2).sum(axis=1) / (stop - start - n_left)
    gains -= float((whole**2).sum()) / (stop - start)
    best = int(np.argmax(gains))
    gain = float(gains[best])
    return (-gain if gain > 1e-9 * (stop - start) else 0.0), int(own[best]), start, stop
