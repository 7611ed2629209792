"""Counts of rules on packed bitmaps: the rows in which the antecedent, the consequent, and both hold.

The arrays are those of ``thence.tables.bitmaps.bits``. A missing value satisfies no item. By default
(``denominator="present"``) a rule is counted over the rows in which *every* feature of the rule is present: ``n`` is
the number of these rows, and antecedent and consequent are counted on them alone. With ``denominator="all"`` every row
counts. If no value is missing, both give the same counts.

Counts over disjoint blocks of rows add up with either denominator.

This module works on plain arrays only and must not compute measures.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thence._base.settings.threads import default_threads
from thence.errors import InputError
from thence.tables.bitmaps.bits import (
    SMALL_WORK,
    Integer,
    Words,
    and_count,
    as_kernel_array,
    check_bitmaps,
    full_mask,
    kernel,
    popcount,
    run_threads,
    split_range,
)
from thence.tables.bitmaps.intersections import ABSENT, advance, clear, equal, sort_antecedents

Denominator = Literal["present", "all"]
RuleCounts = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]

# The bitmaps of all items should stay in the level 2 cache while one block of words is counted.
_CACHE_BYTES = 1 << 20
_COVER_WORDS = 64  # small blocks: the search stops as soon as all rows of a block are covered


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
    """Count the sorted rules ``first … last``, ignoring missing values."""
    total_words = bitmaps.shape[1]
    width = antecedents.shape[1]
    levels = np.empty((width + 1, block), dtype=np.uint64)
    before = np.empty(width, dtype=np.uint32)
    for low in range(0, total_words, block):
        high = min(low + block, total_words)
        clear(before)
        ones: Integer = np.int64(0)
        level = 0
        for rule in range(first, last):
            if rule == first or not equal(antecedents[rule], before):
                level = advance(levels, bitmaps, antecedents[rule], before, full, low, high)
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
    """Count the sorted rules ``first … last`` over the rows in which all features of the rule are present.

    An item implies that its own feature is present. That leaves four intersections: all features for ``n``; antecedent
    and the feature of the consequent; consequent and the features of the antecedent; antecedent and consequent.
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
        clear(before)
        clear(before_features)
        level = 0
        for rule in range(first, last):
            if rule == first or not equal(antecedents[rule], before):
                for place in range(width):
                    other = antecedents[rule, place]
                    features[place] = ABSENT if other == ABSENT else feature_of_item[other]
                level = advance(levels, bitmaps, antecedents[rule], before, full, low, high)
                advance(seen, present, features, before_features, full, low, high)
            held = levels[level, : high - low]
            known = seen[level, : high - low]
            item_row = bitmaps[consequents[rule], low:high]
            feature_row = present[feature_of_item[consequents[rule]], low:high]
            counts[rule, 0] += and_count(known, feature_row)
            counts[rule, 1] += and_count(held, feature_row)
            counts[rule, 2] += and_count(known, item_row)
            counts[rule, 3] += and_count(held, item_row)


def _padded(antecedents: ArrayLike, n_items: int) -> NDArray[np.int32]:
    """Check antecedents and copy them to a contiguous matrix with at least one column."""
    matrix = np.array(antecedents, dtype=np.int32, order="C", ndmin=2)
    if matrix.ndim != 2:
        raise InputError(f"antecedents must be a matrix (rules × items), got {matrix.ndim} dimensions")
    if matrix.shape[1] == 0:
        matrix = np.full((matrix.shape[0], 1), -1, dtype=np.int32)
    if matrix.size and (matrix.min() < -1 or matrix.max() >= n_items):
        raise InputError(f"antecedents must hold items 0…{n_items - 1}, or −1 as padding")
    return matrix


def count_bitmaps(
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
    """Count rules on bitmaps.

    Args:
        bitmaps: One bitmap per item.
        n_rows: Number of rows.
        antecedents: Matrix (rules × items) padded with −1, in any order. A row of padding alone is the empty
            antecedent, which holds in every row.
        consequents: One item per rule.
        present: One bitmap per feature of the rows in which it is present; ``None`` if no value is missing.
        feature_of_item: The feature of each item; needed if ``present`` is given.
        denominator: ``"present"`` counts a rule over the rows in which all its features are present, ``"all"`` over
            all rows.
        threads: Maximum number of threads; by default one per processor.

    Returns:
        ``n``, ``n_antecedent``, ``n_consequent`` and ``n_both``, each with one integer per rule.

    Raises:
        InputError: If an item is out of range or the shapes do not match.

    Examples:
        >>> from thence.tables.bitmaps.bits import pack_codes
        >>> bitmaps, present = pack_codes([[0, 0], [0, 1], [1, 1], [0, -1]], cardinalities=[2, 2])
        >>> rule = {"antecedents": [[0, -1]], "consequents": [3], "feature_of_item": [0, 0, 1, 1]}
        >>> [int(c[0]) for c in count_bitmaps(bitmaps, n_rows=4, present=present, **rule)]
        [3, 2, 2, 1]
        >>> [int(c[0]) for c in count_bitmaps(bitmaps, n_rows=4, present=present, denominator="all", **rule)]
        [4, 3, 2, 1]
    """
    if denominator not in ("present", "all"):
        raise InputError(f"unknown denominator {denominator!r}", hint="use 'present' or 'all'")
    bitmaps = check_bitmaps(bitmaps, n_rows, "bitmaps")
    n_items = bitmaps.shape[0]
    left = _padded(antecedents, n_items)
    right = np.ascontiguousarray(consequents, dtype=np.int64).ravel()
    if len(left) != len(right):
        raise InputError(f"each antecedent needs a consequent: {len(left)} antecedents, {len(right)} consequents")
    if right.size and (right.min() < 0 or right.max() >= n_items):
        raise InputError(f"consequents must hold items 0…{n_items - 1}")
    slow = np.zeros(len(right), bool)
    if present is not None and denominator == "present":
        present = check_bitmaps(present, n_rows, "present")
        if feature_of_item is None:
            raise InputError("feature_of_item is required if present is given")
        features = np.ascontiguousarray(feature_of_item, dtype=np.int64).ravel()
        if len(features) != n_items or (n_items and (features.min() < 0 or features.max() >= present.shape[0])):
            raise InputError(
                f"feature_of_item must hold a feature 0…{present.shape[0] - 1} for each of {n_items} items"
            )
        # In most tables most features are complete: only rules on a feature with missing values pay for the masks.
        gappy = np.append((popcount(present) < n_rows)[features], False)
        slow = gappy[right] | gappy[left].any(axis=1)
    if not slow.any():
        counts = _count(bitmaps, n_rows, left, right, threads)
    else:
        counts = np.empty((4, len(right)), dtype=np.int64)
        fast = ~slow
        counts[:, fast] = _count(bitmaps, n_rows, left[fast], right[fast], threads)
        counts[:, slow] = _count(bitmaps, n_rows, left[slow], right[slow], threads, present, features)
    return counts[0], counts[1], counts[2], counts[3]


def _count(
    bitmaps: Words,
    n_rows: int,
    left: NDArray[np.int32],
    right: NDArray[np.int64],
    threads: int | None,
    present: Words | None = None,
    features: ArrayLike = (),
) -> NDArray[np.int64]:
    """Return the four counts of rules (counts × rules), over the rows in which their features are present, or all."""
    items = left.view(np.uint32)
    order = sort_antecedents(items, bitmaps.shape[0])
    maps, full = as_kernel_array(bitmaps, np.uint64), as_kernel_array(full_mask(n_rows), np.uint64)
    rules = as_kernel_array(items[order], np.uint32), as_kernel_array(right[order], np.int64)
    n_maps = len(maps) + (0 if present is None else len(present))
    block = int(min(4096, max(64, _CACHE_BYTES // 8 // max(n_maps, 1))))
    # Sorted rules are split into runs, several per thread so that the last run to finish is short.
    words_per_rule = bitmaps.shape[1] * (1 if present is None else 4)
    pieces = 1 if len(right) * words_per_rule < SMALL_WORK else (threads or default_threads()) * 4
    runs = split_range(len(right), pieces)
    out = np.empty((4, len(right)), dtype=np.int64)
    if present is None:
        pair = np.zeros((2, len(right)), dtype=np.int64)
        run_threads(lambda run: _count_complete(maps, full, *rules, *run, block, *pair), runs, threads=threads)
        out[0], out[2] = n_rows, popcount(maps)[right]
        out[1, order], out[3, order] = pair
        return out
    counts = np.zeros((len(right), 4), dtype=np.int64)
    known, owner = as_kernel_array(present, np.uint64), as_kernel_array(features, np.uint32)
    run_threads(
        lambda run: _count_present(maps, known, owner, full, *rules, *run, block, counts), runs, threads=threads
    )
    out[:, order] = counts.T
    return out


@kernel
def _cover_words(
    bitmaps: Words, antecedents: NDArray[np.uint32], full: Words, low: int, high: int, covered: Words
) -> None:
    width = antecedents.shape[1]
    levels = np.empty((width + 1, _COVER_WORDS), dtype=np.uint64)
    before = np.empty(width, dtype=np.uint32)
    for start in range(low, high, _COVER_WORDS):
        stop = min(start + _COVER_WORDS, high)
        clear(before)
        for rule in range(antecedents.shape[0]):
            if rule > 0 and equal(antecedents[rule], before):
                continue
            level = advance(levels, bitmaps, antecedents[rule], before, full, start, stop)
            open_rows = np.uint64(0)
            for word in range(stop - start):
                covered[start + word] |= levels[level, word]
                open_rows |= full[start + word] ^ covered[start + word]
            if open_rows == 0:
                break


def cover_rows(bitmaps: Words, *, n_rows: int, antecedents: ArrayLike, threads: int | None = None) -> Words:
    """Find the rows in which at least one antecedent holds.

    Args:
        bitmaps: One bitmap per item.
        n_rows: Number of rows.
        antecedents: Matrix (rules × items) padded with −1, in any order.
        threads: Maximum number of threads; by default one per processor.

    Returns:
        One bitmap.

    Examples:
        >>> from thence.tables.bitmaps.bits import pack_mask, popcount
        >>> items = pack_mask([[True, True], [False, True], [False, False]])
        >>> int(popcount(cover_rows(items, n_rows=3, antecedents=[[0, -1], [0, 1]])))
        1
    """
    bitmaps = check_bitmaps(bitmaps, n_rows, "bitmaps")
    left = _padded(antecedents, bitmaps.shape[0]).view(np.uint32)
    order = sort_antecedents(left, bitmaps.shape[0])
    rules, maps, full = (
        as_kernel_array(left[order], np.uint32),
        as_kernel_array(bitmaps, np.uint64),
        as_kernel_array(full_mask(n_rows), np.uint64),
    )
    covered = np.zeros(bitmaps.shape[1], dtype=np.uint64)
    pieces = 1 if left.size * bitmaps.shape[1] < SMALL_WORK else (threads or default_threads()) * 4
    run_threads(
        lambda span: _cover_words(maps, rules, full, span[0], span[1], covered),
        split_range(bitmaps.shape[1], pieces, least=_COVER_WORDS),
        threads=threads,
    )
    return covered
