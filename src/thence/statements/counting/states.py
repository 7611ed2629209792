"""The states of rules, frame by frame and place by place: satisfied, violated, not applicable, missing.

A rule is *missing* where one of its features has no value, *not applicable* where all are known and the antecedent does
not hold, and otherwise *satisfied* or *violated*. Every row has exactly one state, and the numbers of rows agree with
the counts of the rule: n = satisfied + violated + not applicable.

Plain arrays only: rules are item numbers of a ``Bank``, as ``thence.statements.counting.encoding.encode_blocks`` gives
them. Frames × places × rules are never written out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from thence._base.settings.threads import default_threads
from thence.tables.bitmaps.bank import Bank
from thence.tables.bitmaps.bits import (
    SMALL_WORK,
    Integer,
    Words,
    as_kernel_array,
    common_count,
    ctpop,
    helper,
    kernel,
    run_threads,
    split_range,
    unpack,
)
from thence.tables.bitmaps.embedding_counts import BLOCK_WORDS, BankRules, gather_block, select_rules, sort_rules
from thence.tables.bitmaps.intersections import ABSENT, advance, clear, equal

Indices = npt.NDArray[np.int32]
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_PLANES = 48  # bits of a count per frame: rules × places stay below 2 ** 48
_FEW_WORDS = 16  # words of frames per thread, below which embeddings are split instead


@dataclass(frozen=True, eq=False)
class RuleStates:
    """The states of one rule, as bitmaps (embeddings × words); a frame that is in none of them is not applicable.

    Args:
        satisfied: Where the antecedent and the consequent hold.
        violated: Where the antecedent holds and the consequent does not.
        missing: Where a feature of the rule has no value.
    """

    satisfied: Words
    violated: Words
    missing: Words

    @property
    def applicable(self) -> Words:
        """Where the antecedent holds and the feature of the consequent has a value."""
        return self.satisfied | self.violated


def find_states(bank: Bank, *, antecedent: npt.ArrayLike, consequent: int) -> RuleStates:
    """Find the states of one rule in every embedding.

    Args:
        bank: The bitmaps.
        antecedent: Item numbers of the bank; negative ones are ignored.
        consequent: An item number of the bank.

    Examples:
        >>> from thence.tables.bitmaps.bank import build_bank
        >>> codes = np.array([[0, 0, 1, 0]], np.int16), np.array([[1, 0, 0, -1]], np.int16)
        >>> bank = build_bank([(own, np.zeros(1, np.int32), 2) for own in codes], n_frames=4, n_embeddings=1)
        >>> states = find_states(bank, antecedent=[0], consequent=3)
        >>> [f"{int(words[0, 0]):04b}" for words in (states.satisfied, states.violated, states.missing)]
        ['0001', '0010', '1000']
    """
    left = np.asarray(antecedent, np.int64)
    items = [*left[left >= 0].tolist(), consequent]
    columns = np.unique(bank.column_of_item[items])
    inside = _frames_inside(bank)
    known = np.bitwise_and.reduce(bank.words[bank.present_of[columns]], axis=0) & inside
    held = np.bitwise_and.reduce(bank.words[bank.row_of[items[:-1]]], axis=0, initial=~np.uint64(0)) & known
    target = bank.words[bank.row_of[consequent]]
    return RuleStates(held & target, held & ~target, inside & ~known)


def _frames_inside(bank: Bank) -> Words:
    """The frames of each embedding; those of a shorter site end before the last word."""
    frames = bank.frames_of
    inside = np.zeros((bank.n_embeddings, bank.words.shape[1]), np.uint64)
    starts = np.arange(bank.words.shape[1], dtype=np.int64) * 64
    bits = np.clip(frames[:, None] - starts[None, :], 0, 64)
    some = (bits > 0) & (bits < 64)
    inside[bits == 64] = ~np.uint64(0)
    inside[some] = (np.uint64(1) << bits[some].astype(np.uint64)) - np.uint64(1)
    return inside


@dataclass(frozen=True, eq=False)
class Tallies:
    """Numbers of rows by state: by rule, by target, and by frame.

    Args:
        satisfied: Rows in which each rule is satisfied.
        violated: Rows in which each rule is violated.
        not_applicable: Rows in which each rule is known and its antecedent does not hold.
        missing: Rows in which a feature of each rule has no value.
        target_applicable: Rows × rules that apply, by target.
        target_violated: Rows × rules that are violated, by target.
        target_expected: Sum of the rates of the rules over the rows in which they apply, by target.
        frame_applicable: Rules × embeddings that apply, by frame.
        frame_violated: Rules × embeddings that are violated, by frame.
    """

    satisfied: Ints
    violated: Ints
    not_applicable: Ints
    missing: Ints
    target_applicable: Ints
    target_violated: Ints
    target_expected: Floats
    frame_applicable: Ints
    frame_violated: Ints


def tally_states(
    bank: Bank,
    *,
    antecedents: npt.ArrayLike,
    consequents: npt.ArrayLike,
    slots: npt.ArrayLike | None = None,
    targets: npt.ArrayLike | None = None,
    n_targets: int = 0,
    rates: npt.ArrayLike | None = None,
    threads: int | None = None,
) -> Tallies:
    """Count the states of rules over all embeddings in one pass: by rule, by target and by frame.

    A *target* is what a consequent is about in an embedding, such as a sensor or a node.

    Args:
        bank: The bitmaps.
        antecedents: Matrix (rules × items) of item numbers of the bank, padded with −1.
        consequents: One item number per rule.
        slots: The row of ``targets`` that each rule reads.
        targets: Matrix (slots × embeddings) of target numbers; −1 for none.
        n_targets: Number of targets.
        rates: How often each rule is expected to be violated where it applies; by default never.
        threads: Maximum number of threads; by default one per processor.

    Returns:
        The numbers, in the order of the rules.

    Examples:
        >>> from thence.tables.bitmaps.bank import build_bank
        >>> codes = np.array([[0, 0, 1, 0]], np.int16), np.array([[1, 0, 0, -1]], np.int16)
        >>> bank = build_bank([(own, np.zeros(1, np.int32), 2) for own in codes], n_frames=4, n_embeddings=1)
        >>> found = tally_states(bank, antecedents=[[0]], consequents=[3])
        >>> [int(one[0]) for one in (found.satisfied, found.violated, found.not_applicable, found.missing)]
        [1, 1, 1, 1]
        >>> found.frame_violated.tolist()
        [0, 1, 0, 0]
    """
    right = np.asarray(consequents, np.int32)
    left = _as_matrix(antecedents, len(right))
    slot_of, target_of = _as_targets(slots, targets, len(right), bank.n_embeddings)
    counts = np.zeros((len(right), 3), np.int64)
    by_target, expected = np.zeros((n_targets, 2), np.int64), np.zeros(n_targets)
    by_frame = np.zeros((2, bank.n_frames), np.int64)
    if len(right) and bank.n_rows:
        order, sorted_left, sorted_right = sort_rules(bank, left, right)
        rules = select_rules(bank, sorted_left, sorted_right, complete=bank.is_complete)
        slot_of = as_kernel_array(slot_of[order], np.int32)
        rate_of = np.zeros(len(right)) if rates is None else np.asarray(rates, np.float64)
        rate_of = as_kernel_array(rate_of[order], np.float64)

        def work(task: _Task) -> tuple[Ints, Ints, Floats, Ints]:
            own, of_targets = np.zeros((len(right), 3), np.int64), np.zeros((n_targets, 2), np.int64)
            rated = np.zeros(n_targets)
            planes = np.zeros((2, _PLANES, task.high - task.low), np.uint64)
            _tally(rules, slot_of, target_of, rate_of, *task, own, of_targets, rated, planes)
            return own, of_targets, rated, np.stack([_add_planes(one) for one in planes])

        tasks = _split_work(bank, len(right), threads)
        parts = run_threads(work, tasks, threads=threads)
        for task, (own, of_targets, rated, of_frames) in zip(tasks, parts, strict=True):
            counts[order] += own
            by_target += of_targets
            expected += rated
            stop = min(task.high * 64, bank.n_frames)
            by_frame[:, task.low * 64 : stop] += of_frames[:, : stop - task.low * 64]
    satisfied, violated, known = counts.T
    if bank.is_complete:
        known = np.full(len(right), bank.n_rows, np.int64)
    return Tallies(
        satisfied.copy(),
        violated.copy(),
        known - satisfied - violated,
        bank.n_rows - known,
        by_target[:, 0].copy(),
        by_target[:, 1].copy(),
        expected,
        by_frame[0],
        by_frame[1],
    )


class _Task(NamedTuple):
    """Embeddings and words of frames that one call of a kernel counts."""

    first: int
    last: int
    low: int
    high: int


def _split_work(bank: Bank, n_rules: int, threads: int | None) -> list[_Task]:
    """Split frames or, if there are few of them, embeddings between threads."""
    width = bank.words.shape[1]
    small = n_rules * width * bank.n_embeddings < SMALL_WORK
    workers = 1 if small else threads or default_threads()
    if width >= workers * _FEW_WORDS:
        return [_Task(0, bank.n_embeddings, low, high) for low, high in split_range(width, workers)]
    return [_Task(first, last, 0, width) for first, last in split_range(bank.n_embeddings, workers)]


def _as_matrix(antecedents: npt.ArrayLike, n_rules: int) -> Indices:
    return np.asarray(antecedents, np.int32).reshape(n_rules, -1 if n_rules else 1)


def _as_targets(
    slots: npt.ArrayLike | None, targets: npt.ArrayLike | None, n_rules: int, n_embeddings: int
) -> tuple[Indices, Indices]:
    """Return the row of targets of each rule, and the targets; without any, one row of none."""
    if slots is None or targets is None:
        return np.zeros(n_rules, np.int32), as_kernel_array(np.full((1, n_embeddings), -1), np.int32)
    return np.asarray(slots, np.int32), as_kernel_array(targets, np.int32)


def _add_planes(planes: Words) -> Ints:
    """Return the counts whose binary digits are in planes, one count per bit of a word."""
    out = np.zeros(planes.shape[1] * 64, np.int64)
    for digit, plane in enumerate(planes):
        if plane.any():
            out += unpack(plane, n_rows=len(out)).astype(np.int64) << digit
    return out


@helper
def _count_up(planes: Words, first: Integer, carry: Words, span: Integer) -> None:
    """Add one to the count of every bit that is set: a ripple of carries through the binary digits.

    Loops over words are inside, so that they are vectorised; ``carry`` is used up.
    """
    for digit in range(planes.shape[0]):
        plane = planes[digit, first : first + span]
        left = np.uint64(0)
        for word in range(span):
            now, ones = plane[word], carry[word]
            plane[word] = now ^ ones
            carry[word] = now & ones
            left |= now & ones
        if left == 0:
            break


@kernel
def _tally(
    rules: BankRules,
    slots: Indices,
    targets: Indices,
    rates: Floats,
    first: int,
    last: int,
    start: int,
    stop: int,
    counts: Ints,
    by_target: Ints,
    rated: Floats,
    planes: Words,
) -> None:
    """Count all rules over the embeddings ``first … last`` and the words ``start … stop``, and add to the outputs."""
    words, row_of, present_of, column_of_item, full, antecedents, consequents, complete = rules
    n_rules, width = antecedents.shape
    block = min(BLOCK_WORDS, stop - start)
    items = np.empty((row_of.shape[0], block), dtype=np.uint64)
    known = np.empty((present_of.shape[0], block), dtype=np.uint64)
    levels = np.empty((width + 1, block), dtype=np.uint64)
    applies = np.empty(block, dtype=np.uint64)
    bad = np.empty(block, dtype=np.uint64)
    seen = np.empty((width + 1, block), dtype=np.uint64)
    before = np.empty(width, dtype=np.uint32)
    now = np.empty(width, dtype=np.uint32)
    features = np.empty(width, dtype=np.uint32)
    before_features = np.empty(width, dtype=np.uint32)
    zero: Integer = np.int64(0)
    for embedding in range(first, last):
        for low in range(start, stop, block):
            high = min(low + block, stop)
            span = high - low
            everywhere = full[low:high]
            gather_block(words, row_of, embedding, low, high, items)
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
                column = np.int64(column_of_item[target])
                if not complete:
                    counts[rule, 2] += common_count(seen, level, known, column, span)
                if ones == 0:
                    continue
                held, hits, present = levels[level], items[target], known[column]
                n_held = np.uint64(0)
                n_hits = np.uint64(0)
                for word in range(span):
                    applies[word] = held[word] if complete else held[word] & present[word]
                for word in range(span):
                    good = applies[word] & hits[word]
                    bad[word] = applies[word] ^ good
                    n_held += ctpop(applies[word])
                    n_hits += ctpop(good)
                if n_held > 0:
                    _count_up(planes[0], low - start, applies, span)
                if n_held > n_hits:
                    _count_up(planes[1], low - start, bad, span)
                counts[rule, 0] += np.int64(n_hits)
                counts[rule, 1] += np.int64(n_held - n_hits)
                at = targets[slots[rule], embedding]
                if at >= 0:
                    by_target[at, 0] += np.int64(n_held)
                    by_target[at, 1] += np.int64(n_held - n_hits)
                    rated[at] += rates[rule] * n_held


def violations_per_frame(
    bank: Bank,
    *,
    antecedents: npt.ArrayLike,
    consequents: npt.ArrayLike,
    slots: npt.ArrayLike,
    targets: npt.ArrayLike,
    n_targets: int,
    weights: npt.ArrayLike | None = None,
    threads: int | None = None,
) -> tuple[Floats, Floats]:
    """Sum the rules that apply, and those that are violated, by target and frame.

    Memory is targets × frames; count a long time in parts with ``Bank.slice_frames``.

    Args:
        bank: The bitmaps.
        antecedents: Matrix (rules × items) of item numbers of the bank, padded with −1.
        consequents: One item number per rule.
        slots: The row of ``targets`` that each rule reads.
        targets: Matrix (slots × embeddings) of target numbers; −1 for none.
        n_targets: Number of targets.
        weights: Weight of each rule, or matrix (rules × embeddings); by default 1.
        threads: Maximum number of threads; by default one per processor.

    Returns:
        Two matrices (targets × frames): the sum of the weights of the rules that apply, and of those violated.

    Examples:
        >>> from thence.tables.bitmaps.bank import build_bank
        >>> codes = np.array([[0, 0, 1, 0]], np.int16), np.array([[1, 0, 0, -1]], np.int16)
        >>> bank = build_bank([(own, np.zeros(1, np.int32), 2) for own in codes], n_frames=4, n_embeddings=1)
        >>> rules = {"antecedents": [[0], [-1]], "consequents": [3, 3], "slots": [0, 0], "targets": [[0]]}
        >>> applicable, violated = violations_per_frame(bank, **rules, n_targets=1)
        >>> applicable.tolist(), violated.tolist()
        ([[2.0, 2.0, 1.0, 0.0]], [[0.0, 2.0, 1.0, 0.0]])
    """
    right = np.asarray(consequents, np.int32)
    left = _as_matrix(antecedents, len(right))
    width = bank.words.shape[1]
    applicable, violated = (np.zeros((n_targets, width * 64)) for _ in range(2))
    if len(right) and bank.n_rows and n_targets:
        order, sorted_left, sorted_right = sort_rules(bank, left, right)
        rules = select_rules(bank, sorted_left, sorted_right, complete=bank.is_complete)
        slot_of, target_of = _as_targets(slots, targets, len(right), bank.n_embeddings)
        slot_of = as_kernel_array(slot_of[order], np.int32)
        heavy = np.ones((len(right), 1)) if weights is None else np.asarray(weights, np.float64)
        heavy = as_kernel_array(heavy.reshape(len(right), -1)[order], np.float64)
        workers = 1 if len(right) * width * bank.n_embeddings < SMALL_WORK else threads or default_threads()
        run_threads(
            lambda span: _add_frames(rules, slot_of, target_of, heavy, *span, applicable, violated),
            split_range(width, workers),
            threads=workers,
        )
    return applicable[:, : bank.n_frames], violated[:, : bank.n_frames]


@helper
def _add_weight(line: Floats, word: Integer, ones: Integer, weight: float) -> None:
    """Add a weight to the frame of every bit that is set."""
    left = ones
    while left != 0:
        lowest = left & (~left + np.uint64(1))
        line[word * 64 + np.int64(ctpop(lowest - np.uint64(1)))] += weight
        left ^= lowest


@kernel
def _add_frames(
    rules: BankRules,
    slots: Indices,
    targets: Indices,
    weights: Floats,
    start: int,
    stop: int,
    applicable: Floats,
    violated: Floats,
) -> None:
    """Add the weights of all rules over all embeddings in the frames of the words ``start … stop``."""
    words, row_of, present_of, column_of_item, full, antecedents, consequents, complete = rules
    n_rules, width = antecedents.shape
    block = min(BLOCK_WORDS, stop - start)
    items = np.empty((row_of.shape[0], block), dtype=np.uint64)
    known = np.empty((present_of.shape[0], block), dtype=np.uint64)
    levels = np.empty((width + 1, block), dtype=np.uint64)
    before = np.empty(width, dtype=np.uint32)
    now = np.empty(width, dtype=np.uint32)
    zero: Integer = np.int64(0)
    for low in range(start, stop, block):
        high = min(low + block, stop)
        span = high - low
        everywhere = full[low:high]
        for embedding in range(row_of.shape[1]):
            gather_block(words, row_of, embedding, low, high, items)
            if not complete:
                gather_block(words, present_of, embedding, low, high, known)
            clear(before)
            level = 0
            is_first = True
            for rule in range(n_rules):
                at = targets[slots[rule], embedding]
                if at < 0:
                    continue
                for place in range(width):
                    now[place] = antecedents[rule, place]
                if is_first or not equal(now, before):
                    level = advance(levels, items, now, before, everywhere, zero, span)
                    is_first = False
                target = consequents[rule]
                held, hits, present = levels[level], items[target], known[np.int64(column_of_item[target])]
                weight = weights[rule, embedding if weights.shape[1] > 1 else 0]
                for word in range(span):
                    applies = held[word] if complete else held[word] & present[word]
                    if applies == 0:
                        continue
                    _add_weight(applicable[at], low + word, applies, weight)
                    bad = applies & ~hits[word]
                    if bad != 0:
                        _add_weight(violated[at], low + word, bad, weight)
