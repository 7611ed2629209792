"""Counts of rules over frames × embeddings, which are never written out.

For each embedding the bitmaps of its items are looked up in a ``Bank`` and the rules are counted on them; the sums over
embeddings are the counts of the whole table. The same pass finds in how many embeddings and in how many frames a rule
holds, and how its confidence varies between embeddings.

This module works on plain arrays only and must not compute measures.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from thence._base.cluster.executors import Executor, LocalExecutor
from thence.tables.bitmaps.bank import Bank
from thence.tables.bitmaps.bits import (
    Integer,
    Ints,
    Words,
    as_kernel_array,
    common_count,
    full_mask,
    helper,
    kernel,
    read_only,
    split_range,
)
from thence.tables.bitmaps.intersections import ABSENT, advance, clear, equal, sort_antecedents

BLOCK_WORDS = 512
"""Number of words of each bitmap that are counted at once, so that they stay in the cache."""

# Each task keeps, per rule, a bitmap of the frames in which the rule holds in some embedding; this bounds them.
_FRAME_BYTES = 1 << 25
# Embeddings are counted in spans of at least so many and in at most so many spans. They do not depend on the number of
# threads or machines, because the last digit of a sum of confidences depends on the order of its terms.
_LEAST_SPAN, _MOST_SPANS = 16, 64


@dataclass(frozen=True)
class EmbeddingCounts:
    """Counts per rule, and sums that describe how its confidence varies between embeddings.

    Args:
        counts: Matrix (rules × 4) of n, n_antecedent, n_consequent and n_both.
        frames: Number of frames in which the rule holds in at least one embedding.
        embeddings: Number of embeddings in which the rule holds in at least one frame.
        applicable: Number of embeddings in which the antecedent holds in at least one frame.
        confidence_low: Lowest confidence of the applicable embeddings.
        confidence_sum: Sum of the confidences of the applicable embeddings.
        confidence_squares: Sum of their squares.
    """

    counts: Ints
    frames: Ints
    embeddings: Ints
    applicable: Ints
    confidence_low: npt.NDArray[np.float64]
    confidence_sum: npt.NDArray[np.float64]
    confidence_squares: npt.NDArray[np.float64]


class BankRules(NamedTuple):
    """Rules and the bitmaps that they read, in the form that kernels take.

    Args:
        words: Bitmaps over frames.
        row_of: The row of ``words`` for each item that the rules use and each embedding.
        present_of: The row of ``words`` for each column and embedding.
        column_of_item: The column of each item that the rules use.
        full: The bitmap of all frames.
        antecedents: Sorted antecedents, as positions in ``row_of``.
        consequents: Consequents, as positions in ``row_of``.
        complete: Whether missing values are ignored or absent.
    """

    words: Words
    row_of: npt.NDArray[np.int32]
    present_of: npt.NDArray[np.int32]
    column_of_item: npt.NDArray[np.uint32]
    full: Words
    antecedents: npt.NDArray[np.uint32]
    consequents: Ints
    complete: bool


def sort_rules(
    bank: Bank, antecedents: npt.NDArray[np.int32], consequents: npt.NDArray[np.int32]
) -> tuple[Ints, npt.NDArray[np.uint32], Ints]:
    """Sort rules by their antecedents.

    Args:
        bank: The bitmaps.
        antecedents: Matrix (rules × items) of item numbers of the bank, padded with −1.
        consequents: One item number per rule.

    Returns:
        The order, and the sorted antecedents and consequents.
    """
    left = np.array(antecedents, dtype=np.int32, order="C").view(np.uint32)
    order = sort_antecedents(left, len(bank.row_of))
    return order, left[order], np.asarray(consequents, np.int64)[order]


def select_rules(bank: Bank, antecedents: npt.NDArray[np.uint32], consequents: Ints, *, complete: bool) -> BankRules:
    """Prepare sorted rules for a kernel.

    Args:
        bank: The bitmaps.
        antecedents: Sorted antecedents, as ``sort_rules`` returns them.
        consequents: Their consequents.
        complete: Whether missing values are ignored or absent.

    Returns:
        The rules, with items renumbered so that only those that a rule uses are looked up.
    """
    absent = antecedents == ABSENT
    places = np.where(absent, 0, antecedents)
    is_used = np.zeros(len(bank.row_of), bool)
    is_used[places[~absent]] = True
    is_used[consequents] = True
    used, numbers = np.flatnonzero(is_used), np.cumsum(is_used) - 1
    renumbered = np.where(absent, ABSENT, numbers[places].astype(np.uint32))
    return BankRules(
        as_kernel_array(bank.words, np.uint64),
        as_kernel_array(bank.row_of[used], np.int32),
        as_kernel_array(bank.present_of, np.int32),
        as_kernel_array(bank.column_of_item[used], np.uint32),
        as_kernel_array(full_mask(bank.n_frames), np.uint64),
        as_kernel_array(renumbered, np.uint32),
        as_kernel_array(numbers[consequents], np.int64),
        complete,
    )


@helper
def gather_block(words: Words, row_of: npt.NDArray[np.int32], embedding: int, low: int, high: int, out: Words) -> None:
    """Copy the words from ``low`` to before ``high`` of the rows ``row_of[:, embedding]`` of ``words`` into ``out``."""
    for item in range(row_of.shape[0]):
        row = row_of[item, embedding]
        for word in range(low, high):
            out[item, word - low] = words[row, word]


@kernel
def _count_span(
    rules: BankRules,
    n_frames: int,
    first: int,
    last: int,
    counts: Ints,
    seen_frames: Words,
    holds: Ints,
    applies: Ints,
    low_confidence: npt.NDArray[np.float64],
    sum_confidence: npt.NDArray[np.float64],
    squares: npt.NDArray[np.float64],
) -> None:
    """Count all rules over the embeddings ``first … last`` and add to the outputs."""
    words, row_of, present_of, column_of_item, full, antecedents, consequents, complete = rules
    n_rules, width = antecedents.shape
    n_words_ = words.shape[1]
    block = min(BLOCK_WORDS, n_words_)
    items = np.empty((row_of.shape[0], block), dtype=np.uint64)
    known = np.empty((present_of.shape[0], block), dtype=np.uint64)
    levels = np.empty((width + 1, block), dtype=np.uint64)
    seen = np.empty((width + 1, block), dtype=np.uint64)
    before = np.empty(width, dtype=np.uint32)
    now = np.empty(width, dtype=np.uint32)
    features = np.empty(width, dtype=np.uint32)
    before_features = np.empty(width, dtype=np.uint32)
    own = np.empty((n_rules, 4), dtype=np.int64)
    item_ones = np.empty(row_of.shape[0], dtype=np.int64)
    zero: Integer = np.int64(0)
    for embedding in range(first, last):
        for rule in range(n_rules):
            for at in range(4):
                own[rule, at] = 0
        for low in range(0, n_words_, block):
            high = min(low + block, n_words_)
            span = high - low
            everywhere = full[low:high]
            gather_block(words, row_of, embedding, low, high, items)
            for item in range(row_of.shape[0]):
                item_ones[item] = common_count(items, item, items, item, span)
            if not complete:
                gather_block(words, present_of, embedding, low, high, known)
            clear(before)
            clear(before_features)
            level = 0
            ones = np.int64(0)
            for rule in range(n_rules):
                for place in range(width):
                    now[place] = antecedents[rule, place]
                if rule == 0 or not equal(now, before):
                    level = advance(levels, items, now, before, everywhere, zero, span)
                    ones = common_count(levels, level, levels, level, span)
                    if not complete:
                        for place in range(width):
                            features[place] = ABSENT if now[place] == ABSENT else column_of_item[now[place]]
                        advance(seen, known, features, before_features, everywhere, zero, span)
                target = consequents[rule]
                # An antecedent with a static item holds in few embeddings: the others have nothing to intersect.
                both = common_count(levels, level, items, target, span) if ones > 0 else np.int64(0)
                if both > 0:
                    own[rule, 3] += both
                    held, hits, seen_row = levels[level], items[target], seen_frames[rule, low:high]
                    for word in range(span):
                        seen_row[word] |= held[word] & hits[word]
                if complete:
                    own[rule, 1] += ones
                    own[rule, 2] += item_ones[target]
                else:
                    column = np.int64(column_of_item[target])
                    own[rule, 0] += common_count(seen, level, known, column, span)
                    own[rule, 1] += common_count(levels, level, known, column, span)
                    own[rule, 2] += common_count(seen, level, items, target, span)
        for rule in range(n_rules):
            if complete:
                own[rule, 0] = n_frames
            for at in range(4):
                counts[rule, at] += own[rule, at]
            if own[rule, 3] > 0:
                holds[rule] += 1
            if own[rule, 1] > 0:
                applies[rule] += 1
                confidence = own[rule, 3] / own[rule, 1]
                low_confidence[rule] = min(low_confidence[rule], confidence)
                sum_confidence[rule] += confidence
                squares[rule] += confidence * confidence


def count_embeddings(
    bank: Bank,
    *,
    antecedents: npt.NDArray[np.int32],
    consequents: npt.NDArray[np.int32],
    denominator: str = "present",
    threads: int | None = None,
    executor: Executor | None = None,
) -> EmbeddingCounts:
    """Count rules over all frames × embeddings of a bank.

    The counts do not depend on where they are made, down to the last digit.

    Args:
        bank: The bitmaps.
        antecedents: Matrix (rules × items) of item numbers of the bank, padded with −1.
        consequents: One item number per rule.
        denominator: ``"present"`` counts a rule over the rows in which all its features are present, ``"all"`` over
            all rows.
        threads: Maximum number of threads; by default one per processor.
        executor: Where to count; by default in threads of this process.

    Returns:
        The counts, in the order of the rules.
    """
    n_rules = len(consequents)
    if n_rules == 0 or bank.n_rows == 0:
        none, zero = np.zeros(n_rules, np.int64), np.zeros(n_rules)
        return EmbeddingCounts(np.zeros((n_rules, 4), np.int64), none, none, none, zero, zero, zero)
    order, left, right = sort_rules(bank, antecedents, consequents)
    rules = select_rules(bank, left, right, complete=bank.is_complete or denominator == "all")
    limit = max(1, _FRAME_BYTES // (8 * max(bank.words.shape[1], 1)))
    spans = split_range(bank.n_embeddings, _MOST_SPANS, least=_LEAST_SPAN)
    starts = range(0, n_rules, limit)
    tasks = [(low, min(low + limit, n_rules), *span) for low in starts for span in spans]
    runner = LocalExecutor(threads) if executor is None or executor.is_local else executor
    with closing(runner.map(_count_part, tasks, shared=(rules, bank.n_frames))) as counted:
        parts = [_add_spans(islice(counted, len(spans))) for _ in starts]
    back = np.empty(n_rules, np.int64)
    back[order] = np.arange(n_rules)

    def joined(name: str) -> npt.NDArray[np.float64]:
        return np.concatenate([getattr(part, name) for part in parts])[back]

    return EmbeddingCounts(
        np.concatenate([part.counts for part in parts])[back],
        *(joined(name) for name in ("frames", "embeddings", "applicable")),  # type: ignore[arg-type]
        *(joined(name) for name in ("confidence_low", "confidence_sum", "confidence_squares")),
    )


def _count_part(shared: tuple[BankRules, int], task: tuple[int, int, int, int]) -> EmbeddingCounts:
    """Count some of the rules over a span of embeddings; ``frames`` are bitmaps here."""
    (rules, n_frames), (low, high, first, last) = shared, task
    # An empty array may have become writable on its way to another machine: a kernel would be compiled for it.
    rules = BankRules(*map(read_only, rules))
    some = rules._replace(antecedents=rules.antecedents[low:high], consequents=rules.consequents[low:high])
    n_rules, width = high - low, rules.words.shape[1]
    counts = np.zeros((n_rules, 4), np.int64)
    frames = np.zeros((n_rules, width), np.uint64)
    holds, applies = np.zeros(n_rules, np.int64), np.zeros(n_rules, np.int64)
    lowest, total, squares = np.ones(n_rules), np.zeros(n_rules), np.zeros(n_rules)
    _count_span(some, n_frames, first, last, counts, frames, holds, applies, lowest, total, squares)
    return EmbeddingCounts(counts, frames, holds, applies, lowest, total, squares)  # type: ignore[arg-type]


def _add_spans(parts: Iterator[EmbeddingCounts]) -> EmbeddingCounts:
    """Add the counts of successive spans in their order, keeping no more than their sum."""
    first = next(parts)
    counts, seen = first.counts.copy(), first.frames.view(np.uint64).copy()
    holds, applies = first.embeddings.copy(), first.applicable.copy()
    lowest, total, squares = first.confidence_low, first.confidence_sum.copy(), first.confidence_squares.copy()
    for part in parts:
        counts += part.counts
        seen |= part.frames.view(np.uint64)
        holds += part.embeddings
        applies += part.applicable
        lowest = np.minimum(lowest, part.confidence_low)
        total += part.confidence_sum
        squares += part.confidence_squares
    frames = np.bitwise_count(seen).sum(axis=1, dtype=np.int64)
    return EmbeddingCounts(counts, frames, holds, applies, lowest, total, squares)
