"""Counts of rules in successive stretches of time, added up to sums of squares and products.

Each stretch is counted over all embeddings, and the stretches are distributed over threads. The counts of single
stretches are not kept. ``thence.counting.recount.StretchSums`` explains the sums.

This module works on plain arrays only and must not compute measures.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from thence.bitmaps.bank import Bank
from thence.bitmaps.bits import and_count, as_kernel_array, default_threads, full_mask, kernel, run_threads
from thence.bitmaps.embedding_counts import BLOCK_WORDS, BankRules, gather_block, select_rules, sort_rules
from thence.bitmaps.intersections import advance, clear, equal

__all__ = ["sum_stretches"]

Ints = npt.NDArray[np.int64]

_RULES_AT_ONCE = 1 << 17  # each thread keeps six sums and two counts per rule


@kernel
def _count_stretch(rules: BankRules, counts: Ints) -> None:
    """Count the rows with a known consequent in which the antecedent holds, and those in which both hold."""
    words, row_of, present_of, column_of_item, full, antecedents, consequents, complete = rules
    n_rules, width = antecedents.shape
    n_words_ = words.shape[1]
    block = min(BLOCK_WORDS, n_words_)
    items = np.empty((row_of.shape[0], block), dtype=np.uint64)
    known = np.empty((present_of.shape[0], block), dtype=np.uint64)
    levels = np.empty((width + 1, block), dtype=np.uint64)
    before = np.empty(width, dtype=np.uint32)
    for embedding in range(row_of.shape[1]):
        for low in range(0, n_words_, block):
            high = min(low + block, n_words_)
            span = high - low
            gather_block(words, row_of, embedding, low, high, items)
            if not complete:
                gather_block(words, present_of, embedding, low, high, known)
            clear(before)
            level = 0
            ones = np.int64(0)
            for rule in range(n_rules):
                if rule == 0 or not equal(antecedents[rule], before):
                    level = advance(levels, items, antecedents[rule], before, full[low:high], 0, span)
                    ones = and_count(levels[level, :span], levels[level, :span])
                if ones == 0:
                    continue
                held = levels[level, :span]
                target = consequents[rule]
                counts[0, rule] += ones if complete else and_count(held, known[column_of_item[target], :span])
                counts[1, rule] += and_count(held, items[target, :span])


@kernel
def _fold(counts: Ints, sums: Ints) -> None:
    """Add the counts of a stretch to the sums, and reset the counts."""
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
    """Count rules in equal, successive stretches of time and return sums over the stretches.

    Args:
        bank: The bitmaps.
        antecedents: Matrix (rules × items) of item numbers of the bank, padded with −1.
        consequents: One item number per rule.
        stretches: Number of stretches; fewer if there are fewer frames.
        denominator: ``"present"`` counts a rule over the rows in which all its features are present, ``"all"`` over
            all rows.
        threads: Maximum number of threads; by default one per processor.

    Returns:
        Six rows, one column per rule. With ``n`` rows of a stretch in which the antecedent holds and ``k`` in which
        both sides hold: the number of stretches with n > 0, and the sums of n, k, n², nk and k².

    Examples:
        >>> from thence.bitmaps.bank import build_bank
        >>> series = np.zeros(1, np.int32)
        >>> columns = [(np.array([codes], np.int16), series, 2) for codes in ([0, 0, 0, 1], [0, 0, 1, 1])]
        >>> bank = build_bank(columns, n_frames=4, n_embeddings=1)
        >>> rule = {"antecedents": np.array([[0]], np.int32), "consequents": np.array([2], np.int32)}
        >>> sum_stretches(bank, stretches=2, **rule).ravel().tolist()
        [2, 3, 2, 5, 4, 4]
    """
    order, left, right = sort_rules(bank, antecedents, consequents)
    starts = np.linspace(0, bank.n_frames, min(stretches, bank.n_frames) + 1).astype(int).tolist()
    bounds = list(pairwise(starts))
    complete = bank.is_complete or denominator == "all"
    sums = np.zeros((6, len(right)), np.int64)
    for low in range(0, len(right), _RULES_AT_ONCE):
        some = slice(low, low + _RULES_AT_ONCE)
        rules = select_rules(bank, left[some], right[some], complete=complete)
        sums[:, order[some]] = _sum_some(bank, rules, bounds, threads or default_threads())
    return sums


def _sum_some(bank: Bank, rules: BankRules, bounds: list[tuple[int, int]], workers: int) -> Ints:
    n_rules = len(rules.consequents)

    def work(share: list[tuple[int, int]]) -> Ints:
        counts, sums = np.zeros((2, n_rules), np.int64), np.zeros((6, n_rules), np.int64)
        for start, stop in share:
            words = as_kernel_array(bank.slice_frames(start, stop).words, np.uint64)
            full = as_kernel_array(full_mask(stop - start), np.uint64)
            _count_stretch(rules._replace(words=words, full=full), counts)
            _fold(counts, sums)
        return sums

    shares = [bounds[at::workers] for at in range(min(workers, len(bounds)))]
    return np.asarray(np.sum(run_threads(work, shares, threads=workers), axis=0))
