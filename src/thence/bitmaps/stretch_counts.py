"""Counts of rules in successive stretches of time, folded into sums of squares as they come.

Each stretch is counted by itself over all embeddings, so stretches are shared out to threads; no count of a single
stretch is kept. Plain arrays only; what the sums mean is said in ``StretchSums``.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from thence.bitmaps.bank import Bank
from thence.bitmaps.bits import Words, and_count, default_threads, kernel, run_threads, shared
from thence.bitmaps.counts import _ABSENT, _advance, _same, _sort_antecedents, full_mask
from thence.bitmaps.embedding_counts import _BLOCK_WORDS, _gather, _only_used

__all__ = ["sum_stretches"]

Ints = npt.NDArray[np.int64]

_RULES_AT_ONCE = 1 << 17  # each thread keeps six sums and two counts per rule


@kernel
def _count_stretch(
    words: Words,
    row_of: npt.NDArray[np.int32],
    present_of: npt.NDArray[np.int32],
    column_of_item: npt.NDArray[np.uint32],
    full: Words,
    antecedents: npt.NDArray[np.uint32],
    consequents: Ints,
    complete: bool,
    counts: Ints,
) -> None:
    """How often the antecedent holds where the consequent is known, and how often both do, added to ``counts``."""
    n_rules, width = antecedents.shape
    n_words_ = words.shape[1]
    block = min(_BLOCK_WORDS, n_words_)
    items = np.empty((row_of.shape[0], block), dtype=np.uint64)
    known = np.empty((present_of.shape[0], block), dtype=np.uint64)
    levels = np.empty((width + 1, block), dtype=np.uint64)
    before = np.empty(width, dtype=np.uint32)
    for embedding in range(row_of.shape[1]):
        for low in range(0, n_words_, block):
            high = min(low + block, n_words_)
            span = high - low
            _gather(words, row_of, embedding, low, high, items)
            if not complete:
                _gather(words, present_of, embedding, low, high, known)
            before[:] = _ABSENT
            level = 0
            ones = np.int64(0)
            for rule in range(n_rules):
                if rule == 0 or not _same(antecedents[rule], before):
                    level = _advance(levels, items, antecedents[rule], before, full[low:high], 0, span)
                    ones = and_count(levels[level, :span], levels[level, :span])
                if ones == 0:
                    continue
                held = levels[level, :span]
                target = consequents[rule]
                counts[0, rule] += ones if complete else and_count(held, known[column_of_item[target], :span])
                counts[1, rule] += and_count(held, items[target, :span])


@kernel
def _fold(counts: Ints, sums: Ints) -> None:
    """Take the counts of a stretch into the sums, and begin the next stretch at zero."""
    for rule in range(counts.shape[1]):
        n, k = counts[0, rule], counts[1, rule]
        sums[0, rule] += n > 0
        sums[1, rule] += n
        sums[2, rule] += k
        sums[3, rule] += n * n
        sums[4, rule] += n * k
        sums[5, rule] += k * k
        counts[0, rule] = 0
        counts[1, rule] = 0


def sum_stretches(
    bank: Bank,
    *,
    antecedents: npt.NDArray[np.int32],
    consequents: npt.NDArray[np.int32],
    stretches: int,
    denominator: str = "present",
    threads: int | None = None,
) -> Ints:
    """Sums over the stretches, six per rule: stretches with n > 0, n, k, n², nk and k².

    >>> from thence.bitmaps.bank import build_bank
    >>> columns = [(np.array([codes], np.int16), np.zeros(1, np.int32), 2) for codes in ([0, 0, 0, 1], [0, 0, 1, 1])]
    >>> bank = build_bank(columns, n_frames=4, n_embeddings=1)
    >>> rule = {"antecedents": np.array([[0]], np.int32), "consequents": np.array([2], np.int32)}
    >>> sum_stretches(bank, stretches=2, **rule).ravel().tolist()
    [2, 3, 2, 5, 4, 4]
    """
    left = np.array(antecedents, dtype=np.int32, order="C").view(np.uint32)
    order = _sort_antecedents(left, len(bank.row_of))
    left, right = left[order], np.asarray(consequents, np.int64)[order]
    edges = np.linspace(0, bank.n_frames, min(stretches, bank.n_frames) + 1).astype(int).tolist()
    complete = bank.is_complete or denominator == "all"
    sums = np.zeros((6, len(right)), np.int64)
    for low in range(0, len(right), _RULES_AT_ONCE):
        some = slice(low, low + _RULES_AT_ONCE)
        bounds = list(pairwise(edges))
        sums[:, order[some]] = _sum_some(bank, left[some], right[some], bounds, complete, threads or default_threads())
    return sums


def _sum_some(
    bank: Bank,
    left: npt.NDArray[np.uint32],
    right: Ints,
    bounds: list[tuple[int, int]],
    complete: bool,
    workers: int,
) -> Ints:
    used, left, right = _only_used(left, right)
    rows, present = shared(bank.row_of[used], np.int32), shared(bank.present_of, np.int32)
    columns = shared(bank.column_of_item[used], np.uint32)
    rules, targets = shared(left, np.uint32), shared(right, np.int64)

    def work(share: list[tuple[int, int]]) -> Ints:
        counts, sums = np.zeros((2, len(targets)), np.int64), np.zeros((6, len(targets)), np.int64)
        for start, stop in share:
            words = shared(bank.between(start, stop).words, np.uint64)
            full = shared(full_mask(stop - start), np.uint64)
            _count_stretch(words, rows, present, columns, full, rules, targets, complete, counts)
            _fold(counts, sums)
        return sums

    shares = [bounds[at::workers] for at in range(min(workers, len(bounds)))]
    return np.asarray(np.sum(run_threads(work, shares, threads=workers), axis=0))
