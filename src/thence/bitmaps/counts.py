"""Counts of rules on packed bitmaps: how many rows hold the antecedent, the consequent, both.

The arrays are those of ``thence.bitmaps.bits``. A missing value satisfies no item. The counts of a rule are taken, by
default (``denominator="present"``), over the rows in which *every* feature of the rule is present: ``n`` is the number
of these rows, and antecedent and consequent are counted on them alone. With ``denominator="all"`` every row counts,
present or not. Where nothing is missing both are the same.

Counts over disjoint blocks of rows add up under either denominator, since each is a sum over rows.

This module works on plain arrays only and must not compute measures.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thence.bitmaps.bits import (
    SMALL_WORK,
    Integer,
    Words,
    and_count,
    default_threads,
    kernel,
    n_words,
    popcount,
    run_threads,
    shared,
    spans,
)
from thence.errors import InputError

__all__ = ["Denominator", "RuleCounts", "count_rules", "cover", "fitting", "full_mask", "rule_masks"]

Denominator = Literal["present", "all"]
RuleCounts = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]

_ABSENT = np.uint32(0xFFFFFFFF)  # −1 seen as an unsigned number, so that padding sorts last
# The bitmaps of all items should stay in the second-level cache while one block of words is counted.
_CACHE_BYTES = 1 << 20
_COVER_WORDS = 64  # small blocks: the search for covered rows stops as soon as a whole block is covered


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


def _sort_antecedents(antecedents: NDArray[np.uint32], n_items: int) -> NDArray[np.int64]:
    """Put the items of each row in increasing order, padding last, in place; return the order that sorts the rows.

    One counting sort per column: linear in the number of rules, whatever their length.
    """
    order = np.arange(len(antecedents))
    _counting_sort(antecedents, np.zeros(n_items + 2, dtype=np.int64), order, np.empty_like(order))
    return order


@kernel
def _copy_into(out: Words, row: Words) -> None:
    for word in range(out.size):  # a loop: assigning a slice costs seconds of compilation
        out[word] = row[word]


@kernel
def _and_into(out: Words, left: Words, right: Words) -> None:
    for word in range(out.size):
        out[word] = left[word] & right[word]


@kernel
def _advance(
    levels: Words, rows: Words, now: NDArray[np.uint32], before: NDArray[np.uint32], full: Words, low: int, high: int
) -> int:
    """Bring the stack of partial intersections from one antecedent to the next; return the level of the result.

    ``levels[d]`` is the AND of the first ``d`` items. Antecedents come sorted, so mostly the last item alone changes.
    ``before`` is overwritten by ``now``.
    """
    span = high - low
    same = 0
    while same < now.size and now[same] == before[same] and now[same] != _ABSENT:
        same += 1
    depth = same
    while depth < now.size and now[depth] != _ABSENT:
        row = rows[now[depth], low:high]
        if depth == 0:
            _copy_into(levels[1, :span], row)
        else:
            _and_into(levels[depth + 1, :span], levels[depth, :span], row)
        depth += 1
    if depth == 0:
        _copy_into(levels[0, :span], full[low:high])
    for place in range(now.size):
        before[place] = now[place]
    return depth


@kernel
def _same(left: NDArray[np.uint32], right: NDArray[np.uint32]) -> bool:
    differences = 0
    for place in range(left.size):
        differences += left[place] != right[place]
    return differences == 0


@kernel
def _count_complete(
    bitmaps: Words,
    full: Words,
    antecedents: NDArray[np.uint32],
    consequents: NDArray[np.int64],
    first: int,
    last: int,
    block: int,
    n_antecedent: NDArray[np.int64],
    n_both: NDArray[np.int64],
) -> None:
    """Counts of the sorted rules ``first … last`` where no feature is missing anywhere."""
    total_words = bitmaps.shape[1]
    width = antecedents.shape[1]
    levels = np.empty((width + 1, block), dtype=np.uint64)
    before = np.empty(width, dtype=np.uint32)
    for low in range(0, total_words, block):
        high = min(low + block, total_words)
        for place in range(width):
            before[place] = _ABSENT
        ones: Integer = np.int64(0)
        level = 0
        for rule in range(first, last):
            if rule == first or not _same(antecedents[rule], before):
                level = _advance(levels, bitmaps, antecedents[rule], before, full, low, high)
                ones = and_count(levels[level, : high - low], levels[level, : high - low])
            n_antecedent[rule] += ones
            n_both[rule] += and_count(levels[level, : high - low], bitmaps[consequents[rule], low:high])


@kernel
def _count_present(
    bitmaps: Words,
    present: Words,
    feature_of_item: NDArray[np.uint32],
    full: Words,
    antecedents: NDArray[np.uint32],
    consequents: NDArray[np.int64],
    first: int,
    last: int,
    block: int,
    counts: NDArray[np.int64],
) -> None:
    """Counts of the sorted rules ``first … last`` over the rows where all features of the rule are present.

    An item implies that its own feature is present, which leaves: antecedent AND consequent's feature; consequent AND
    antecedent's features; antecedent AND consequent; and all the features for ``n``.
    """
    total_words = bitmaps.shape[1]
    width = antecedents.shape[1]
    levels = np.empty((width + 1, block), dtype=np.uint64)
    seen = np.empty((width + 1, block), dtype=np.uint64)
    before = np.empty(width, dtype=np.uint32)
    before_features = np.empty(width, dtype=np.uint32)
    features = np.empty(width, dtype=np.uint32)
    for low in range(0, total_words, block):
        high = min(low + block, total_words)
        for place in range(width):
            before[place] = _ABSENT
            before_features[place] = _ABSENT
        level = 0
        for rule in range(first, last):
            if rule == first or not _same(antecedents[rule], before):
                for place in range(width):
                    item = antecedents[rule, place]
                    features[place] = _ABSENT if item == _ABSENT else feature_of_item[item]
                level = _advance(levels, bitmaps, antecedents[rule], before, full, low, high)
                _advance(seen, present, features, before_features, full, low, high)
            held = levels[level, : high - low]
            known = seen[level, : high - low]
            item_row = bitmaps[consequents[rule], low:high]
            feature_row = present[feature_of_item[consequents[rule]], low:high]
            counts[rule, 0] += and_count(known, feature_row)
            counts[rule, 1] += and_count(held, feature_row)
            counts[rule, 2] += and_count(known, item_row)
            counts[rule, 3] += and_count(held, item_row)


def full_mask(n_rows: int) -> Words:
    """A bitmap with a one for every row.

    >>> full_mask(3).tolist()
    [7]
    """
    words = np.full(n_words(n_rows), np.uint64(0xFFFFFFFFFFFFFFFF))
    if n_rows % 64:
        words[-1] = (np.uint64(1) << np.uint64(n_rows % 64)) - np.uint64(1)
    return words


def _padded(antecedents: ArrayLike, n_items: int) -> NDArray[np.int32]:
    """Antecedents as a fresh contiguous matrix with at least one column, checked."""
    matrix = np.array(antecedents, dtype=np.int32, order="C", ndmin=2)
    if matrix.ndim != 2:
        raise InputError(f"antecedents must be a matrix (rules × items), not {matrix.ndim}-dimensional")
    if matrix.shape[1] == 0:
        matrix = np.full((matrix.shape[0], 1), -1, dtype=np.int32)
    if matrix.size and (matrix.min() < -1 or matrix.max() >= n_items):
        raise InputError(f"antecedents must be items 0…{n_items - 1}, or −1 as padding")
    return matrix


def fitting(words: Words, n_rows: int, what: str) -> Words:
    """Bitmaps of exactly the width of so many rows; a table without rows may come with spare words.

    >>> fitting(np.zeros((3, 1), dtype=np.uint64), 0, "bitmaps").shape
    (3, 0)
    """
    if words.ndim == 2 and n_rows == 0:
        return words[:, :0]
    if words.ndim != 2 or words.shape[1] != n_words(n_rows):
        raise InputError(f"{what} of shape {words.shape} cannot hold {n_rows} rows of bits")
    return words


def _block_words(n_maps: int) -> int:
    return int(min(4096, max(64, _CACHE_BYTES // 8 // max(n_maps, 1))))


def count_rules(
    bitmaps: Words,
    *,
    n_rows: int,
    antecedents: ArrayLike,
    consequents: ArrayLike,
    present: Words | None = None,
    feature_of_item: ArrayLike | None = None,
    denominator: Denominator = "present",
    threads: int | None = None,
) -> RuleCounts:
    """The integers ``n``, ``n_antecedent``, ``n_consequent`` and ``n_both`` of every rule.

    ``antecedents`` is a matrix (rules × items) padded with −1, in any order; a row of padding alone is the empty
    antecedent, which holds everywhere. ``feature_of_item`` is needed only where ``present`` is given.

    >>> from thence.bitmaps.bits import pack_codes
    >>> bitmaps, present = pack_codes([[0, 0], [0, 1], [1, 1], [0, -1]], cardinalities=[2, 2])
    >>> rule = {"antecedents": [[0, -1]], "consequents": [3], "feature_of_item": [0, 0, 1, 1]}
    >>> [int(c[0]) for c in count_rules(bitmaps, n_rows=4, present=present, **rule)]
    [3, 2, 2, 1]
    >>> [int(c[0]) for c in count_rules(bitmaps, n_rows=4, present=present, denominator="all", **rule)]
    [4, 3, 2, 1]
    """
    if denominator not in ("present", "all"):
        raise InputError(f"unknown denominator {denominator!r}", hint="'present' or 'all'")
    bitmaps = fitting(bitmaps, n_rows, "bitmaps")
    n_items = bitmaps.shape[0]
    left = _padded(antecedents, n_items)
    right = np.ascontiguousarray(consequents, dtype=np.int64).ravel()
    if len(left) != len(right):
        raise InputError(f"{len(left)} antecedents but {len(right)} consequents")
    if right.size and (right.min() < 0 or right.max() >= n_items):
        raise InputError(f"consequents must be items 0…{n_items - 1}")
    if present is None or denominator == "all":
        return _complete_counts(bitmaps, n_rows, left, right, threads)
    present = fitting(present, n_rows, "present")
    if feature_of_item is None:
        raise InputError("feature_of_item is needed to count where values are missing")
    features = np.ascontiguousarray(feature_of_item, dtype=np.int64).ravel()
    if len(features) != n_items or (n_items and (features.min() < 0 or features.max() >= present.shape[0])):
        raise InputError(f"feature_of_item must name one of {present.shape[0]} features for each of {n_items} items")
    # Most features are complete in most tables: only rules that touch a feature with gaps pay for the masks.
    gappy = popcount(present) < n_rows
    gappy_item = np.concatenate([gappy[features], [False]])
    slow = gappy_item[right] | gappy_item[left].any(axis=1)
    if not slow.any():
        return _complete_counts(bitmaps, n_rows, left, right, threads)
    counts = np.empty((4, len(right)), dtype=np.int64)
    fast = ~slow
    counts[:, fast] = _complete_counts(bitmaps, n_rows, left[fast], right[fast], threads)
    counts[:, slow] = _present_counts(bitmaps, present, features, n_rows, left[slow], right[slow], threads)
    return counts[0], counts[1], counts[2], counts[3]


def _complete_counts(
    bitmaps: Words, n_rows: int, left: NDArray[np.int32], right: NDArray[np.int64], threads: int | None
) -> RuleCounts:
    n_rules = len(right)
    items = left.view(np.uint32)
    order = _sort_antecedents(items, bitmaps.shape[0])
    sorted_left, sorted_right = shared(items[order], np.uint32), shared(right[order], np.int64)
    maps, full = shared(bitmaps, np.uint64), shared(full_mask(n_rows), np.uint64)
    block = _block_words(bitmaps.shape[0])
    counts = np.zeros((2, n_rules), dtype=np.int64)

    def work(span: tuple[int, int]) -> None:
        _count_complete(maps, full, sorted_left, sorted_right, *span, block, counts[0], counts[1])

    _share_out(work, n_rules, bitmaps.shape[1], threads)
    unsorted = np.empty_like(counts)
    unsorted[:, order] = counts
    n_of_item = popcount(maps)
    return np.full(n_rules, n_rows, dtype=np.int64), unsorted[0], n_of_item[right], unsorted[1]


def _present_counts(
    bitmaps: Words,
    present: Words,
    features: NDArray[np.int64],
    n_rows: int,
    left: NDArray[np.int32],
    right: NDArray[np.int64],
    threads: int | None,
) -> NDArray[np.int64]:
    n_rules = len(right)
    items = left.view(np.uint32)
    order = _sort_antecedents(items, bitmaps.shape[0])
    sorted_left, sorted_right = shared(items[order], np.uint32), shared(right[order], np.int64)
    maps, known = shared(bitmaps, np.uint64), shared(present, np.uint64)
    full, of_item = shared(full_mask(n_rows), np.uint64), shared(features, np.uint32)
    block = _block_words(bitmaps.shape[0] + present.shape[0])
    counts = np.zeros((n_rules, 4), dtype=np.int64)

    def work(span: tuple[int, int]) -> None:
        _count_present(maps, known, of_item, full, sorted_left, sorted_right, *span, block, counts)

    _share_out(work, n_rules, 4 * bitmaps.shape[1], threads)
    unsorted = np.empty((4, n_rules), dtype=np.int64)
    unsorted[:, order] = counts.T
    return unsorted


def _share_out(work: Callable[[tuple[int, int]], None], n_rules: int, words_per_rule: int, threads: int | None) -> None:
    """Cut sorted rules into runs, several per thread so that the last run to finish is short."""
    pieces = (threads or default_threads()) * 4
    if n_rules * words_per_rule < SMALL_WORK:
        pieces = 1
    run_threads(work, spans(n_rules, pieces), threads=threads)


@kernel
def _cover_words(
    bitmaps: Words, antecedents: NDArray[np.uint32], full: Words, low: int, high: int, covered: Words
) -> None:
    width = antecedents.shape[1]
    levels = np.empty((width + 1, _COVER_WORDS), dtype=np.uint64)
    before = np.empty(width, dtype=np.uint32)
    for start in range(low, high, _COVER_WORDS):
        stop = min(start + _COVER_WORDS, high)
        for place in range(width):
            before[place] = _ABSENT
        for rule in range(antecedents.shape[0]):
            if rule > 0 and _same(antecedents[rule], before):
                continue
            level = _advance(levels, bitmaps, antecedents[rule], before, full, start, stop)
            left = np.uint64(0)
            for word in range(stop - start):
                covered[start + word] |= levels[level, word]
                left |= full[start + word] ^ covered[start + word]
            if left == 0:
                break


def cover(bitmaps: Words, *, n_rows: int, antecedents: ArrayLike, threads: int | None = None) -> Words:
    """The rows in which at least one antecedent holds, as one bitmap.

    >>> from thence.bitmaps.bits import pack_mask, popcount
    >>> items = pack_mask([[True, True], [False, True], [False, False]])
    >>> int(popcount(cover(items, n_rows=3, antecedents=[[0, -1], [0, 1]])))
    1
    """
    bitmaps = fitting(bitmaps, n_rows, "bitmaps")
    left = _padded(antecedents, bitmaps.shape[0]).view(np.uint32)
    order = _sort_antecedents(left, bitmaps.shape[0])
    rules, maps, full = shared(left[order], np.uint32), shared(bitmaps, np.uint64), shared(full_mask(n_rows), np.uint64)
    covered = np.zeros(bitmaps.shape[1], dtype=np.uint64)
    pieces = 1 if left.size * bitmaps.shape[1] < SMALL_WORK else (threads or default_threads()) * 4
    run_threads(
        lambda span: _cover_words(maps, rules, full, span[0], span[1], covered),
        spans(bitmaps.shape[1], pieces, least=_COVER_WORDS),
        threads=threads,
    )
    return covered


@kernel
def _mask_rules(bitmaps: Words, antecedents: NDArray[np.uint32], full: Words, out: Words) -> None:
    for rule in range(antecedents.shape[0]):
        _copy_into(out[rule], full)
        for place in range(antecedents.shape[1]):
            if antecedents[rule, place] != _ABSENT:
                _and_into(out[rule], out[rule], bitmaps[antecedents[rule, place]])


def rule_masks(bitmaps: Words, *, n_rows: int, antecedents: ArrayLike) -> Words:
    """One bitmap per rule: the rows in which its antecedent holds.

    For the rows in which the whole rule holds, put the consequent among the items.

    >>> from thence.bitmaps.bits import pack_mask, unpack
    >>> items = pack_mask([[True, True], [False, True], [True, False]])
    >>> unpack(rule_masks(items, n_rows=3, antecedents=[[0, 1], [1, -1]]), n_rows=3).tolist()
    [[True, False, False], [True, True, False]]
    """
    bitmaps = fitting(bitmaps, n_rows, "bitmaps")
    left = _padded(antecedents, bitmaps.shape[0])
    out = np.empty((len(left), bitmaps.shape[1]), dtype=np.uint64)
    _mask_rules(
        shared(bitmaps, np.uint64), shared(left, np.int32).view(np.uint32), shared(full_mask(n_rows), np.uint64), out
    )
    return out
