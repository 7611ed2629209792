"""Frequent, closed and maximal item sets over packed bitmaps, depth first.

The search extends a set by later items only, and keeps the rows of every prefix (Eclat, Zaki 2000). A set is *closed*
if no further item is in all of its rows, and *maximal* if no further item makes a frequent set. Both are decided on the
bitmaps, so no set has to be kept to compare it with others. A set whose rows all have an earlier item that it lacks is
not extended for closed and maximal sets: every set below it lacks that item too (prefix-preserving closures, Uno et al.
2004).

This module works on plain arrays. It must not know tables, nor compute measures.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from thence.tables.bitmaps.bits import Words, and_count, as_kernel_array, full_mask, helper, kernel, popcount

Indices = npt.NDArray[np.int32]
Ints = npt.NDArray[np.int64]

KINDS = ("frequent", "closed", "maximal")
"""The kinds of item sets; each is among those before it."""


_SHALLOW = 16


class FoundSets(NamedTuple):
    """Item sets as arrays.

    Args:
        members: The items of all sets, one set after the other, each in increasing order.
        starts: Where each set begins in ``members``, and the end.
        counts: The number of rows that have all items of the set.
        capped: Whether there are more sets than were asked for.
    """

    members: Indices
    starts: Ints
    counts: Ints
    capped: bool


def find_itemsets(
    bitmaps: Words, *, n_rows: int, least: int, kind: str = "frequent", max_length: int | None = None, max_sets: int
) -> FoundSets:
    """Find the item sets that hold in at least ``least`` rows.

    Args:
        bitmaps: One bitmap per item.
        n_rows: The number of rows.
        least: The smallest number of rows, at least 1.
        kind: One of ``KINDS``; closed and maximal refer to all item sets, however long.
        max_length: The largest number of items of a set that is listed.
        max_sets: The search ends when it has found more sets than this.

    Examples:
        >>> bitmaps = np.array([[0b111], [0b011], [0b011]], np.uint64)
        >>> for kind in KINDS:
        ...     found = find_itemsets(bitmaps, n_rows=3, least=2, kind=kind, max_sets=99)
        ...     print(kind, len(found.counts), found.members[found.starts[-2] :].tolist())
        frequent 7 [0]
        closed 2 [0]
        maximal 1 [0, 1, 2]
    """
    held = popcount(bitmaps)
    # Rare items first: their sets have few rows, and little is left to combine them with.
    order = np.argsort(held, kind="stable")
    order = order[held[order] >= least]
    words = as_kernel_array(bitmaps[order], np.uint64)
    longest = len(order) if max_length is None else min(max_length, len(order))
    members, starts, counts, capped = _search(
        words, as_kernel_array(full_mask(n_rows), np.uint64), least, KINDS.index(kind), longest, max_sets
    )
    named = order.astype(np.int32)[members]
    # In increasing order within each set.
    sets = np.repeat(np.arange(len(counts)), np.diff(starts))
    return FoundSets(named[np.lexsort((named, sets))], starts, counts, bool(capped))


def judge_itemsets(bitmaps: Words, members: Indices, *, n_rows: int, least: int) -> tuple[Ints, npt.NDArray[np.int64]]:
    """Count item sets that somebody has proposed, and find out of which kind each is.

    Args:
        bitmaps: One bitmap per item.
        members: Matrix (sets × items), padded with −1.
        n_rows: The number of rows.
        least: The smallest number of rows of a frequent set.

    Returns:
        The number of rows of each set, and the position of the last of ``KINDS`` that it is; −1 if it is not frequent.

    Examples:
        >>> bitmaps = np.array([[0b111], [0b011], [0b011]], np.uint64)
        >>> counts, kinds = judge_itemsets(bitmaps, np.array([[0, -1, -1], [1, 2, -1], [0, 1, 2]]), n_rows=3, least=2)
        >>> counts.tolist(), kinds.tolist()
        ([3, 2, 2], [1, 0, 2])
    """
    return _judge(
        as_kernel_array(bitmaps, np.uint64),
        as_kernel_array(members, np.int32),
        as_kernel_array(full_mask(n_rows), np.uint64),
        least,
    )


@helper
def _is_within(rows: Any, other: Any) -> Any:
    """Whether all rows of one bitmap are in another."""
    at = 0
    while at < len(rows) and not rows[at] & ~other[at]:
        at += 1
    return at == len(rows)


@kernel
def _judge(bitmaps: Words, members: Indices, everything: Words, least: int) -> tuple[Ints, Ints]:
    counts = np.zeros(len(members), np.int64)
    kinds = np.full(len(members), -1, np.int64)
    rows = np.empty_like(everything)
    inside = np.zeros(len(bitmaps), np.bool_)
    for number in range(len(members)):
        rows[:] = everything
        inside[:] = False
        for item in members[number]:
            if item >= 0:
                inside[item] = True
                for at in range(len(rows)):
                    rows[at] &= bitmaps[item, at]
        counts[number] = and_count(rows, everything)
        if counts[number] < least:
            continue
        kinds[number] = 2
        for item in range(len(bitmaps)):
            if not inside[item]:
                common = and_count(rows, bitmaps[item])
                if common == counts[number]:
                    kinds[number] = 0
                    break
                if common >= least:
                    kinds[number] = 1
    return counts, kinds


@kernel
def _search(
    bitmaps: Words, everything: Words, least: int, kind: int, longest: int, max_sets: int
) -> tuple[Indices, Ints, Ints, bool]:
    """Search all sets; items are numbered by their position in ``bitmaps``."""
    n_items, width = bitmaps.shape
    depth = min(longest, _SHALLOW) + 1  # room for so many items; it is doubled when it is needed
    rows = np.empty((depth + 1, width), np.uint64)
    rows[0] = everything
    waiting = np.empty((depth + 1, n_items), np.int32)
    sizes = np.zeros((depth + 1, n_items), np.int64)
    n_waiting = np.zeros(longest + 2, np.int64)
    cursor = np.zeros(longest + 2, np.int64)
    chosen = np.zeros(longest + 2, np.int32)
    inside = np.zeros(n_items, np.bool_)
    members = np.empty(1024, np.int32)
    starts = np.zeros(1024, np.int64)
    counts = np.empty(1024, np.int64)
    n_sets, n_members = 0, 0
    for item in range(n_items):
        waiting[0, item] = item
        sizes[0, item] = and_count(bitmaps[item], everything)
    n_waiting[0] = n_items
    level = 0
    while level >= 0:
        if cursor[level] >= n_waiting[level] or level >= longest:
            level -= 1
            if level >= 0:
                inside[chosen[level]] = False
            continue
        at = cursor[level]
        item = waiting[level, at]
        n_own = sizes[level, at]
        cursor[level] += 1
        chosen[level] = item
        if level + 1 >= len(rows):
            rows = np.concatenate((rows, np.empty_like(rows)))
            waiting = np.concatenate((waiting, np.empty_like(waiting)))
            sizes = np.concatenate((sizes, np.empty_like(sizes)))
        own = rows[level + 1]
        for word in range(width):
            own[word] = rows[level, word] & bitmaps[item, word]
        inside[item] = True
        wanted, below = True, True
        if kind > 0:
            for earlier in range(item):
                if not inside[earlier]:
                    if _is_within(own, bitmaps[earlier]):
                        wanted, below = False, False
                        break
                    if kind == 2 and wanted and and_count(own, bitmaps[earlier]) >= least:
                        wanted = False
        n_next = 0
        if below and (kind > 0 or level + 1 < longest):
            for later in range(at + 1, n_waiting[level]):
                other = waiting[level, later]
                common = and_count(own, bitmaps[other])
                if common >= least:
                    waiting[level + 1, n_next] = other
                    sizes[level + 1, n_next] = common
                    n_next += 1
                    if kind == 2 or (kind == 1 and common == n_own):
                        wanted = False
        if wanted:
            if n_sets == max_sets:
                return members[:n_members], starts[: n_sets + 1], counts[:n_sets], True
            if n_sets + 2 > len(starts):
                starts = np.concatenate((starts, np.zeros(len(starts), np.int64)))
                counts = np.concatenate((counts, np.zeros(len(counts), np.int64)))
            if n_members + level + 1 > len(members):
                members = np.concatenate((members, np.zeros(len(members) + level + 1, np.int32)))
            for part in range(level + 1):
                members[n_members + part] = chosen[part]
            n_members += level + 1
            counts[n_sets] = n_own
            n_sets += 1
            starts[n_sets] = n_members
        if n_next > 0 and level + 1 < longest:
            level += 1
            n_waiting[level] = n_next
            cursor[level] = 0
        else:
            inside[item] = False
    return members[:n_members], starts[: n_sets + 1], counts[:n_sets], False
