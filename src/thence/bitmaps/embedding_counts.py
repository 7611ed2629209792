"""Counts of rules over frames × embeddings that are never written out.

For each embedding the bitmaps of its items are looked up in a ``Bank``, and the rules are counted on
them; sums over embeddings are the counts of the whole table. On the way it is seen in how many embeddings and in how
many frames a rule holds at all, and how its confidence spreads over the embeddings. Plain arrays only; no measures.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from thence.bitmaps.bank import Bank
from thence.bitmaps.bits import Words, and_count, default_threads, kernel, run_threads, shared, spans
from thence.bitmaps.counts import _ABSENT, _advance, _same, _sort_antecedents, full_mask

__all__ = ["EmbeddingCounts", "count_embeddings"]

Ints = npt.NDArray[np.int64]

# Accumulators for "in which frames does it hold somewhere" are kept per rule and thread; this bounds them.
_FRAME_BYTES = 1 << 26
_BLOCK_WORDS = 512


@dataclass(frozen=True)
class EmbeddingCounts:
    """Integers per rule, and the spread of its confidence over the embeddings in which it applies."""

    counts: Ints
    frames: Ints
    embeddings: Ints
    applicable: Ints
    confidence_low: npt.NDArray[np.float64]
    confidence_sum: npt.NDArray[np.float64]
    confidence_squares: npt.NDArray[np.float64]


@kernel
def _gather(words: Words, row_of: npt.NDArray[np.int32], embedding: int, low: int, high: int, out: Words) -> None:
    for item in range(row_of.shape[0]):
        row = row_of[item, embedding]
        for word in range(low, high):
            out[item, word - low] = words[row, word]


@kernel
def _count_span(
    words: Words,
    row_of: npt.NDArray[np.int32],
    present_of: npt.NDArray[np.int32],
    column_of_item: npt.NDArray[np.uint32],
    full: Words,
    antecedents: npt.NDArray[np.uint32],
    consequents: Ints,
    complete: bool,
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
    """Counts of all rules over the embeddings ``first … last``, added to the outputs."""
    n_rules, width = antecedents.shape
    n_words_ = words.shape[1]
    block = min(_BLOCK_WORDS, n_words_)
    items = np.empty((row_of.shape[0], block), dtype=np.uint64)
    known = np.empty((present_of.shape[0], block), dtype=np.uint64)
    levels = np.empty((width + 1, block), dtype=np.uint64)
    seen = np.empty((width + 1, block), dtype=np.uint64)
    before = np.empty(width, dtype=np.uint32)
    features = np.empty(width, dtype=np.uint32)
    before_features = np.empty(width, dtype=np.uint32)
    own = np.empty((n_rules, 4), dtype=np.int64)
    item_ones = np.empty(row_of.shape[0], dtype=np.int64)
    for embedding in range(first, last):
        own[:] = 0
        for low in range(0, n_words_, block):
            high = min(low + block, n_words_)
            span = high - low
            _gather(words, row_of, embedding, low, high, items)
            for item in range(row_of.shape[0]):
                item_ones[item] = and_count(items[item, :span], items[item, :span])
            if not complete:
                _gather(words, present_of, embedding, low, high, known)
            before[:] = _ABSENT
            before_features[:] = _ABSENT
            level = 0
            ones = np.int64(0)
            for rule in range(n_rules):
                if rule == 0 or not _same(antecedents[rule], before):
                    level = _advance(levels, items, antecedents[rule], before, full[low:high], 0, span)
                    ones = and_count(levels[level, :span], levels[level, :span])
                    if not complete:
                        for place in range(width):
                            item = antecedents[rule, place]
                            features[place] = _ABSENT if item == _ABSENT else column_of_item[item]
                        _advance(seen, known, features, before_features, full[low:high], 0, span)
                held = levels[level, :span]
                target = items[consequents[rule], :span]
                # Most antecedents with a static item hold in few embeddings: nothing to intersect in the others.
                both = and_count(held, target) if ones > 0 else np.int64(0)
                if both > 0:
                    own[rule, 3] += both
                    seen_row = seen_frames[rule, low:high]
                    for word in range(span):
                        seen_row[word] |= held[word] & target[word]
                if complete:
                    own[rule, 1] += ones
                    own[rule, 2] += item_ones[consequents[rule]]
                else:
                    feature = known[column_of_item[consequents[rule]], :span]
                    own[rule, 0] += and_count(seen[level, :span], feature)
                    own[rule, 1] += and_count(held, feature)
                    own[rule, 2] += and_count(seen[level, :span], target)
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
) -> EmbeddingCounts:
    """Count rules (item numbers of the bank, antecedents padded with −1) over all frames × embeddings."""
    n_rules = len(consequents)
    if n_rules == 0 or bank.n_rows == 0:
        none, zero = np.zeros(n_rules, np.int64), np.zeros(n_rules)
        return EmbeddingCounts(np.zeros((n_rules, 4), np.int64), none, none, none, zero, zero, zero)
    left = np.array(antecedents, dtype=np.int32, order="C").view(np.uint32)
    order = _sort_antecedents(left, len(bank.row_of))
    left, right = left[order], np.asarray(consequents, np.int64)[order]
    used, left, right = _only_used(left, right)
    complete = bank.is_complete or denominator == "all"
    workers = threads or default_threads()
    limit = max(1, _FRAME_BYTES // (8 * max(bank.words.shape[1], 1)))
    parts = [
        _count_some(bank, used, left[low : low + limit], right[low : low + limit], complete, workers)
        for low in range(0, n_rules, limit)
    ]
    back = np.empty(n_rules, np.int64)
    back[order] = np.arange(n_rules)

    def joined(name: str) -> npt.NDArray[np.float64]:
        return np.concatenate([getattr(part, name) for part in parts])[back]

    return EmbeddingCounts(
        np.concatenate([part.counts for part in parts])[back],
        *(joined(name) for name in ("frames", "embeddings", "applicable")),  # type: ignore[arg-type]
        *(joined(name) for name in ("confidence_low", "confidence_sum", "confidence_squares")),
    )


def _only_used(left: npt.NDArray[np.uint32], right: Ints) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint32], Ints]:
    """Renumber items so that only those that some rule uses are looked up; the order of the rules stays sorted."""
    real = left[left != _ABSENT].astype(np.int64)
    used = np.unique(np.concatenate([real, right]))
    renumbered = np.searchsorted(used, left.astype(np.int64)).astype(np.uint32)
    renumbered[left == _ABSENT] = _ABSENT
    return used, renumbered, np.searchsorted(used, right)


def _count_some(
    bank: Bank,
    used: npt.NDArray[np.int64],
    left: npt.NDArray[np.uint32],
    right: Ints,
    complete: bool,
    workers: int,
) -> EmbeddingCounts:
    n_rules, width = len(right), bank.words.shape[1]
    words, full = shared(bank.words, np.uint64), shared(full_mask(bank.n_frames), np.uint64)
    rows, present = shared(bank.row_of[used], np.int32), shared(bank.present_of, np.int32)
    columns = shared(bank.column_of_item[used], np.uint32)
    rules, consequents = shared(left, np.uint32), shared(right, np.int64)

    def work(span: tuple[int, int]) -> EmbeddingCounts:
        counts = np.zeros((n_rules, 4), np.int64)
        frames = np.zeros((n_rules, width), np.uint64)
        holds, applies = np.zeros(n_rules, np.int64), np.zeros(n_rules, np.int64)
        lowest, total, squares = np.ones(n_rules), np.zeros(n_rules), np.zeros(n_rules)
        _count_span(
            words, rows, present, columns, full, rules, consequents, complete, bank.n_frames, *span,
            counts, frames, holds, applies, lowest, total, squares,
        )  # fmt: skip
        return EmbeddingCounts(counts, frames, holds, applies, lowest, total, squares)  # type: ignore[arg-type]

    parts = run_threads(work, spans(bank.n_embeddings, workers), threads=workers)
    seen = np.bitwise_or.reduce([part.frames for part in parts])
    return EmbeddingCounts(
        np.sum([part.counts for part in parts], axis=0, dtype=np.int64).reshape(n_rules, 4),
        np.bitwise_count(seen.view(np.uint64)).sum(axis=1, dtype=np.int64),
        np.sum([part.embeddings for part in parts], axis=0, dtype=np.int64).reshape(n_rules),
        np.sum([part.applicable for part in parts], axis=0, dtype=np.int64).reshape(n_rules),
        np.min([part.confidence_low for part in parts], axis=0),
        np.sum([part.confidence_sum for part in parts], axis=0),
        np.sum([part.confidence_squares for part in parts], axis=0),
    )
