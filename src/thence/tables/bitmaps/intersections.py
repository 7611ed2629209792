"""Antecedents in sorted order, and the stack of partial intersections that is carried from one to the next.

Antecedents are matrices of item numbers (rules × items) padded with −1, which reads as ``ABSENT`` in an unsigned
matrix. Sorted by their items, consecutive antecedents share a prefix, so that mostly the last item alone has to be
intersected again. All counting kernels are built on this module; it counts nothing itself.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thence.tables.bitmaps.bits import Integer, Words, helper, kernel

ABSENT = np.uint32(0xFFFFFFFF)
"""−1 as an unsigned integer, so that padding sorts last."""

# Sorting this many rules takes some milliseconds.
_FEW = 20_000


@kernel
def _counting_sort(
    antecedents: NDArray[np.uint32],
    starts: NDArray[np.int64],
    order: NDArray[np.int64],
    moved: NDArray[np.int64],
) -> None:
    n_items = starts.size - 2
    n_rules, width = antecedents.shape
    for rule in range(n_rules):
        for right in range(1, width):
            item = antecedents[rule, right]
            place = right
            while place > 0 and antecedents[rule, place - 1] > item:
                antecedents[rule, place] = antecedents[rule, place - 1]
                place -= 1
            antecedents[rule, place] = item
    for column in range(width - 1, -1, -1):
        for bucket in range(n_items + 2):
            starts[bucket] = 0
        for rule in range(n_rules):
            key: Integer = np.int64(antecedents[rule, column])
            starts[min(key, n_items) + 1] += 1
        for bucket in range(n_items + 1):
            starts[bucket + 1] += starts[bucket]
        for place in range(n_rules):
            key = np.int64(antecedents[order[place], column])
            moved[starts[min(key, n_items)]] = order[place]
            starts[min(key, n_items)] += 1
        for place in range(n_rules):
            order[place] = moved[place]


def sort_antecedents(antecedents: NDArray[np.uint32], n_items: int) -> NDArray[np.int64]:
    """Sort the items of each antecedent in place, padding last, and return the order that sorts the antecedents.

    One counting sort per column: linear in the number of rules, whatever their length. Few rules are sorted by numpy,
    so that nothing has to be compiled for them.
    """
    if len(antecedents) <= _FEW:
        antecedents.sort(axis=1)
        return np.lexsort(antecedents.T[::-1])
    order = np.arange(len(antecedents))
    _counting_sort(antecedents, np.zeros(n_items + 2, dtype=np.int64), order, np.empty_like(order))
    return order


@helper
def clear(items: NDArray[np.uint32]) -> None:
    """Make an antecedent empty."""
    for place in range(items.size):
        items[place] = ABSENT


@helper
def equal(left: NDArray[np.uint32], right: NDArray[np.uint32]) -> bool:
    """Whether two sorted antecedents hold the same items."""
    differences = 0
    for place in range(left.size):
        differences += left[place] != right[place]
    return differences == 0


@helper
def advance(
    levels: Words, rows: Words, now: NDArray[np.uint32], before: NDArray[np.uint32], full: Words, low: int, high: int
) -> int:
    """Move the stack of partial intersections from the antecedent ``before`` to ``now``.

    Args:
        levels: The stack; ``levels[d]`` is the AND of the first ``d`` items.
        rows: One bitmap per item.
        now: The antecedent to move to.
        before: The antecedent the stack holds; overwritten with ``now``.
        full: The bitmap of all rows, which is the intersection of no items.
        low: First word of the bitmaps to read.
        high: Word after the last one to read.

    Returns:
        The level that holds the intersection of all items of ``now``.
    """
    same = 0
    while same < now.size and now[same] == before[same] and now[same] != ABSENT:
        same += 1
    # Loops over words: assigning a slice takes long to compile.
    depth = same
    while depth < now.size and now[depth] != ABSENT:
        row, above, out = rows[now[depth], low:high], levels[depth], levels[depth + 1]
        if depth == 0:
            for word in range(row.size):
                out[word] = row[word]
        else:
            for word in range(row.size):
                out[word] = above[word] & row[word]
        depth += 1
    if depth == 0:
        for word in range(high - low):
            levels[0, word] = full[low + word]
    for place in range(now.size):
        before[place] = now[place]
    return depth
