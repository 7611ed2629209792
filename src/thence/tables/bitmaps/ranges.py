"""Bitmaps of ranges over raw numbers: numbers become ranks once, and a range is then two small integers.

This serves rules whose items are arbitrary ranges rather than bins of a table: thousands of different ranges over the
same few columns. ``codes[f]`` are the ranks of column ``f`` among its distinct values, which are
``levels[starts[f]:starts[f + 1]]``; a missing value has the largest rank of the dtype and lies in no range. A column of
categories keeps its codes as ranks. Ranges are closed: ``first … last``, empty if ``first > last``.

This module works on plain arrays only; ``thence.tables.bitmaps.counts`` does the counting.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thence.tables.bitmaps.bits import Ints, Words, as_kernel_array, kernel, n_words, pack_mask
from thence.tables.bitmaps.counts import RuleCounts, count_bitmaps, cover_rows

# Maximum size of the bitmaps in memory at once.
_CHUNK_BYTES = 1 << 26
# Multiplied by eight bytes that are 0 or 1, this gathers them in the highest byte.
_GATHER = np.uint64(0x0102040810204080)


@dataclass(frozen=True)
class Ranks:
    """The columns of a raw table as ranks.

    Args:
        codes: Matrix (columns × rows) of ranks.
        levels: The distinct values of all columns, in order, one column after the other.
        starts: Position in ``levels`` of the first value of each column, and the total at the end.
    """

    codes: NDArray[Any]
    levels: NDArray[np.float64]
    starts: Ints

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.codes.shape[1])

    def levels_of(self, column: int) -> NDArray[np.float64]:
        """Return the distinct values of a column, in order."""
        return self.levels[self.starts[column] : self.starts[column + 1]]

    @cached_property
    def present(self) -> Words | None:
        """One bitmap per column of the rows in which it is present; ``None`` if no value is missing."""
        known = self.codes != np.iinfo(self.codes.dtype).max
        return None if bool(known.all()) else pack_mask(known.T)


@dataclass(frozen=True)
class RankRanges:
    """Items, each a closed range of ranks.

    Args:
        columns: The column of each item.
        first: Lowest rank of each item.
        last: Highest rank of each item.
    """

    columns: Ints
    first: Ints
    last: Ints

    def __len__(self) -> int:
        return len(self.columns)

    def take(self, chosen: NDArray[Any]) -> RankRanges:
        """Return the items at these positions."""
        return RankRanges(self.columns[chosen], self.first[chosen], self.last[chosen])


def rank_columns(numbers: NDArray[np.float64], is_category: NDArray[np.bool_]) -> Ranks:
    """Rank the columns of a matrix.

    Args:
        numbers: Matrix (rows × columns); NaN is missing.
        is_category: Whether each column holds codes of categories, which are kept as ranks.

    Examples:
        >>> made = rank_columns(np.array([[5.0, 1.0], [7.0, 0.0], [5.0, np.nan]]), np.array([False, True]))
        >>> made.codes.tolist(), made.levels_of(0).tolist()
        ([[0, 1, 0], [1, 0, 65535]], [5.0, 7.0])
    """
    n_rows, n_columns = numbers.shape
    codes = np.full((n_columns, n_rows), np.iinfo(np.uint32).max, np.uint32)
    levels = []
    for at in range(n_columns):
        column = numbers[:, at]
        present = ~np.isnan(column)
        if is_category[at]:
            codes[at, present] = column[present].astype(np.uint32)
            levels.append(np.arange(column[present].max(initial=-1.0) + 1))
        else:
            values, inverse = np.unique(column[present], return_inverse=True)
            codes[at, present] = inverse
            levels.append(values)
    sizes = np.array([len(values) for values in levels], np.int64)
    if sizes.max(initial=0) < np.iinfo(np.uint16).max:
        # The cast keeps the low half, which turns the largest 32-bit rank into the largest 16-bit one.
        codes = codes.astype(np.uint16)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return Ranks(as_kernel_array(codes, codes.dtype), np.concatenate([np.zeros(0), *levels]), starts)


@kernel
def _fill(codes: NDArray[Any], columns: Ints, first: Ints, last: Ints, mask: NDArray[np.uint8], bitmaps: Words) -> None:
    n_rows = codes.shape[1]
    octets = mask.view(np.uint64)
    for item in range(len(columns)):
        column = codes[columns[item]]
        low, high = codes.dtype.type(first[item]), codes.dtype.type(last[item])
        if first[item] > last[item]:
            bitmaps[item] = 0
            continue
        for row in range(n_rows):
            mask[row] = (column[row] >= low) & (column[row] <= high)
        for word in range(bitmaps.shape[1]):
            bits = np.uint64(0)
            for part in range(8):
                gathered = (octets[word * 8 + part] * _GATHER) >> np.uint64(56)
                bits |= gathered << np.uint64(part * 8)
            bitmaps[item, word] = bits


def pack_ranges(ranks: Ranks, items: RankRanges) -> Words:
    """Return one bitmap per item.

    Examples:
        >>> made = rank_columns(np.array([[5.0], [7.0], [6.0]]), np.array([False]))
        >>> pack_ranges(made, RankRanges(np.array([0]), np.array([1]), np.array([2]))).tolist()
        [[6]]
    """
    width = n_words(ranks.n_rows)
    out = np.empty((len(items), width), np.uint64)
    mask = np.zeros(max(width, 1) * 64, np.uint8)
    _fill(ranks.codes, items.columns, items.first, items.last, mask, out)
    return out


def count_ranges(
    ranks: Ranks, items: RankRanges, antecedents: NDArray[np.int32], consequents: NDArray[np.int32]
) -> RuleCounts:
    """Count rules over ranges, each over the rows in which all its columns are present.

    Args:
        ranks: The table.
        items: The items.
        antecedents: Matrix (rules × items) of positions in ``items``, padded with −1.
        consequents: One position in ``items`` per rule.

    Returns:
        ``n``, ``n_antecedent``, ``n_consequent`` and ``n_both``, each with one integer per rule.
    """
    counted = np.zeros((4, len(consequents)), np.int64)
    for chosen, used, left in _batches(ranks, items, antecedents, consequents):
        batch = items.take(used)
        counted[:, chosen] = count_bitmaps(
            pack_ranges(ranks, batch),
            n_rows=ranks.n_rows,
            antecedents=left[:, 1:],
            consequents=left[:, 0],
            present=ranks.present,
            feature_of_item=batch.columns,
        )
    return counted[0], counted[1], counted[2], counted[3]


def cover_ranges(ranks: Ranks, items: RankRanges, antecedents: NDArray[np.int32]) -> Words:
    """Find the rows in which at least one antecedent holds.

    Args:
        ranks: The table.
        items: The items.
        antecedents: Matrix (rules × items) of positions in ``items``, padded with −1.

    Returns:
        One bitmap.
    """
    held = np.zeros(n_words(ranks.n_rows), np.uint64)
    for _, used, left in _batches(ranks, items, antecedents, antecedents[:, 0]):
        held |= cover_rows(pack_ranges(ranks, items.take(used)), n_rows=ranks.n_rows, antecedents=left[:, 1:])
    return held


def _batches(
    ranks: Ranks, items: RankRanges, antecedents: NDArray[np.int32], consequents: NDArray[np.int32]
) -> Iterator[tuple[slice, NDArray[np.int32], NDArray[np.int32]]]:
    """Yield runs of rules whose bitmaps fit into memory: the rules, their items, and the items renumbered.

    In the renumbered matrix the consequent comes first, then the antecedent.
    """
    rules = np.concatenate([consequents[:, None], antecedents], axis=1).astype(np.int32)
    room = max(_CHUNK_BYTES // (8 * max(n_words(ranks.n_rows), 1)), 1)
    step = max(room // max(rules.shape[1], 1), 1)
    for start in range(0, len(rules), step):
        chosen = slice(start, min(start + step, len(rules)))
        used = np.unique(rules[chosen])
        used = used[used >= 0]
        renumber = np.full(len(items) + 1, -1, np.int32)
        renumber[used] = np.arange(len(used), dtype=np.int32)
        yield chosen, used, renumber[rules[chosen]]
