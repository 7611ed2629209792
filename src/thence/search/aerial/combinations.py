"""Combinations of items as arrays: enumerated in bounded pieces, and joined from smaller ones that passed a gate.

This module must not query a network.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thence.search.neighbours import Neighbours

__all__ = ["Items", "Level", "find_positions", "iterate_ragged", "join_combinations"]

Items = NDArray[np.int64]
"""One combination per row, its items ascending."""

COMBINATIONS = 1 << 20
"""Combinations listed at a time."""


def iterate_ragged(counts: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield each row number ``counts`` times, with the running number within the row, in bounded pieces."""
    totals = np.cumsum(counts)
    low = 0
    while low < len(counts):
        done = int(totals[low - 1]) if low else 0
        high = max(low + 1, int(np.searchsorted(totals, done + COMBINATIONS, side="right")))
        part = counts[low:high]
        rows = np.repeat(np.arange(low, high), part)
        if len(rows):
            yield rows, np.arange(len(rows)) - np.repeat(totals[low:high] - part - done, part)
        low = high


@dataclass(frozen=True, eq=False)
class Level:
    """Combinations of one size that passed, in lexicographic order.

    The key of a combination is made of the number of its prefix and its last item.
    """

    items: Items
    prefix: NDArray[np.int64]
    keys: NDArray[np.int64]

    @staticmethod
    def of(items: Items, lower: list[Level], n_items: int) -> Level:
        """Sort combinations, given the levels below (``lower``) and the number of items in the network."""
        items = items[np.lexsort(items.T[::-1])]
        prefix = find_positions(items[:, :-1], lower, n_items)
        return Level(items, prefix, prefix * n_items + items[:, -1])


def find_positions(items: Items, levels: list[Level], n_items: int) -> NDArray[np.int64]:
    """Find the position of each combination among those of its size that passed, or −1; the empty one has 0."""
    number = np.zeros(len(items), np.int64)
    for slot in range(items.shape[1]):
        keys = levels[slot].keys
        asked = number * n_items + items[:, slot]
        place = np.minimum(np.searchsorted(keys, asked), len(keys) - 1)
        number = np.where((number >= 0) & (keys[place] == asked), place, -1)
    return number


def join_combinations(
    levels: list[Level], near: Neighbours | None, feature_of_item: NDArray[np.int64], end: int
) -> Iterator[Items]:
    """Join combinations of the highest level into combinations with one more item, all of whose subsets passed.

    Args:
        levels: The combinations that passed, by size.
        near: Which features may appear together, or ``None`` if all may.
        feature_of_item: The feature of each item.
        end: Only combinations whose first item is smaller than this are made.
    """
    level, n_items = levels[-1], len(feature_of_item)
    base = level.items[: int(np.searchsorted(level.items[:, 0], end))]
    stop = np.searchsorted(level.prefix, level.prefix[: len(base)], side="right")
    for rows, steps in iterate_ragged(stop - np.arange(len(base)) - 1):
        added = level.items[rows + 1 + steps, -1]
        left, right = feature_of_item[base[rows, -1]], feature_of_item[added]
        fits = left != right
        if near is not None:
            fits &= near.together(left, right)
        items = np.concatenate([base[rows[fits]], added[fits, None]], axis=1)
        # Leaving out one of the last two items gives the two combinations that were joined.
        for slot in range(items.shape[1] - 2):
            items = items[find_positions(np.delete(items, slot, axis=1), levels, n_items) >= 0]
        if len(items):
            yield items
