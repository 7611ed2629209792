"""Compiled kernels of the significance tests: counts of rules when some items are read from permuted bitmaps.

Kernels take the bitmaps of a ``Bank`` as they are (``BankArrays``) and a permuted copy of its words. Which permutations
there are and which rules are counted is decided by the callers. Plain arrays only: no tables, items or p-values.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from thence.tables.bitmaps.bits import Bools, Floats, Indices, Integer, Ints, Words, and_count, helper, kernel

TOLERANCE = 1e-9
"""Relative difference below which two values of the statistic are taken to be equal."""


class BankArrays(NamedTuple):
    """The arrays of a ``Bank``, read-only and contiguous.

    Args:
        words: Bitmaps over frames; row 0 is empty, row 1 is full.
        row_of: The bitmap that an embedding reads for an item: items × embeddings.
        present_of: The bitmap of the frames in which a column is known: columns × embeddings.
    """

    words: Words
    row_of: Indices
    present_of: Indices


class RuleColumns(NamedTuple):
    """Rules to count; rules with equal antecedents must be adjacent.

    Args:
        antecedents: Items of each antecedent, padded with −1.
        consequents: The item of each consequent.
        column: The column of each consequent.
        share: Share of frames in which each consequent is expected to hold: rules × embeddings.
    """

    antecedents: Indices
    consequents: Indices
    column: Indices
    share: Floats


class Totals(NamedTuple):
    """Counts of rules, summed over embeddings.

    Args:
        both: Frames in which antecedent and consequent hold.
        held: Frames in which the antecedent holds and the consequent is known.
        expected: Expected value of ``both`` if antecedent and consequent were independent in each embedding.
    """

    both: Ints
    held: Ints
    expected: Floats


def zero_totals(*shape: int) -> Totals:
    """Create totals of zero; kernels add to them in place."""
    return Totals(np.zeros(shape, np.int64), np.zeros(shape, np.int64), np.zeros(shape))


@helper
def signed_root(both: float, held: float, expected: float) -> float:
    """Compute the statistic of one rule from its totals; ``signed_roots`` is the same over arrays."""
    if expected <= 0.0 or expected >= held:
        return 0.0
    total = 0.0
    if both > 0:
        total += both * math.log(both / expected)
    if held > both:
        total += (held - both) * math.log((held - both) / (held - expected))
    root = math.sqrt(max(2.0 * total, 0.0))
    return root if both > expected else -root


@helper
def intersect(bank: BankArrays, items: Indices, embedding: int, out: Words) -> None:
    """Write the frames in which all items hold; padding (−1) holds in every frame."""
    begun = False
    for place in range(items.size):
        if items[place] >= 0:
            row = bank.words[bank.row_of[items[place], embedding]]
            for word in range(out.size):  # loops: assigning a slice costs seconds of compilation
                out[word] = (out[word] & row[word]) if begun else row[word]
            begun = True
    if not begun:
        for word in range(out.size):
            out[word] = bank.words[1, word]


@helper
def _is_same_row(matrix: Indices, a: int, b: int) -> bool:
    same = True
    for place in range(matrix.shape[1]):
        same = same and matrix[a, place] == matrix[b, place]
    return same


@helper
def _add(totals: Totals, rule: int, both: Integer, held: Integer, share: float) -> None:
    """Add the counts of a rule in one embedding, in which the consequent holds in this share of the frames."""
    totals.both[rule] += both
    totals.held[rule] += held
    totals.expected[rule] += held * share


@kernel
def count_with_permuted_consequent(bank: BankArrays, permuted: Words, rules: RuleColumns, totals: Totals) -> None:
    """Count rules whose consequents are read from the permuted bitmaps.

    Args:
        bank: The bitmaps as observed.
        permuted: The permuted words of the bank.
        rules: The rules.
        totals: The counts, to which is added.
    """
    buffer = np.empty(bank.words.shape[1], np.uint64)
    for embedding in range(bank.row_of.shape[1]):
        size = np.int64(0)
        for rule in range(rules.consequents.size):
            if rule == 0 or not _is_same_row(rules.antecedents, rule, rule - 1):
                intersect(bank, rules.antecedents[rule], embedding, buffer)
                size = and_count(buffer, buffer)
            if size == 0:
                continue
            known = bank.present_of[rules.column[rule], embedding]
            held = size if known == 1 else and_count(buffer, permuted[known])
            both = and_count(buffer, permuted[bank.row_of[rules.consequents[rule], embedding]])
            _add(totals, rule, both, held, rules.share[rule, embedding])


@kernel
def count_with_permuted_item(
    bank: BankArrays, permuted: Words, rules: RuleColumns, item: Indices, totals: Totals
) -> None:
    """Count rules of which a single antecedent item is read from the permuted bitmaps.

    Args:
        bank: The bitmaps as observed.
        permuted: The permuted words of the bank.
        rules: The rules without that item; those with equal antecedents and consequents must be adjacent.
        item: The permuted item of each rule.
        totals: The counts, to which is added.
    """
    hits = np.empty(bank.words.shape[1], np.uint64)
    known = np.empty(bank.words.shape[1], np.uint64)
    for embedding in range(bank.row_of.shape[1]):
        for rule in range(rules.consequents.size):
            moved = permuted[bank.row_of[item[rule], embedding]]
            target = rules.consequents[rule]
            if (
                rule == 0
                or target != rules.consequents[rule - 1]
                or not _is_same_row(rules.antecedents, rule, rule - 1)
            ):
                intersect(bank, rules.antecedents[rule], embedding, known)
                consequent = bank.words[bank.row_of[target, embedding]]
                for word in range(known.size):
                    hits[word] = known[word] & consequent[word]
                present = bank.present_of[rules.column[rule], embedding]
                if present != 1:
                    for word in range(known.size):
                        known[word] &= bank.words[present, word]
            _add(totals, rule, and_count(hits, moved), and_count(known, moved), rules.share[rule, embedding])


@kernel
def count_hits(bank: BankArrays, antecedents: Indices, consequents: Indices, column: Indices, out: Ints) -> None:
    """Count, per rule and embedding, the frames in which it holds, and those in which it could.

    Args:
        bank: The bitmaps.
        antecedents: Items of each antecedent, padded with −1.
        consequents: The item of each consequent.
        column: The column of each consequent.
        out: The counts (2 × rules × embeddings): ``out[0]`` is set to the frames in which antecedent and consequent
            hold, ``out[1]`` to those in which the antecedent holds and the consequent is known.
    """
    buffer = np.empty(bank.words.shape[1], np.uint64)
    for embedding in range(bank.row_of.shape[1]):
        for rule in range(consequents.size):
            intersect(bank, antecedents[rule], embedding, buffer)
            out[0, rule, embedding] = and_count(buffer, bank.words[bank.row_of[consequents[rule], embedding]])
            out[1, rule, embedding] = and_count(buffer, bank.words[bank.present_of[column[rule], embedding]])


@kernel
def count_pairs(
    bank: BankArrays,
    permuted: Words,
    antecedents: Indices,
    consequents: Indices,
    column: Indices,
    allowed: Bools,
    size: Ints,
    share: Floats,
    totals: Totals,
) -> None:
    """Count all rules with one antecedent item, the consequents read from the permuted bitmaps.

    Args:
        bank: The bitmaps as observed.
        permuted: The permuted words of the bank.
        antecedents: The antecedent items.
        consequents: The consequent items; those of one column must be adjacent.
        column: The column of each consequent.
        allowed: Whether two items may form a rule: antecedents × consequents.
        size: Frames in which each antecedent item holds: antecedents × embeddings.
        share: Share of the known frames in which each consequent holds: consequents × embeddings.
        totals: The counts, antecedents × consequents, to which is added.
    """
    for embedding in range(bank.row_of.shape[1]):
        for a in range(antecedents.size):
            if size[a, embedding] == 0:
                continue
            one = bank.words[bank.row_of[antecedents[a], embedding]]
            before = -1
            held = np.int64(0)
            for c in range(consequents.size):
                if not allowed[a, c]:
                    continue
                if column[c] != before:
                    before = column[c]
                    known = bank.present_of[before, embedding]
                    held = size[a, embedding] if known == 1 else and_count(one, permuted[known])
                target = bank.row_of[consequents[c], embedding]
                totals.held[a, c] += held
                if target != 0:
                    totals.both[a, c] += and_count(one, permuted[target])
                    totals.expected[a, c] += held * share[c, embedding]


@helper
def _count_reached(levels: Floats, value: float) -> int:
    """Count the ascending levels that one statistic reaches; ``count_levels_reached`` is the same over arrays."""
    low, high = 0, levels.size
    value = value + TOLERANCE * max(1.0, abs(value))
    while low < high:
        middle = (low + high) // 2
        if levels[middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low


@helper
def _extend_sets(
    sets: Indices, together: Bools, alone: Ints, least: Ints, last: bool, limit: int
) -> tuple[Indices, bool]:
    """Join sets that share all but their last item into sets with one item more; false if there are over ``limit``.

    A pair at the last level is left out if it cannot reach the minimum confidence: it holds together with the
    consequent in at most ``min(alone)`` frames, and needs ``least``.
    """
    count, length = sets.shape
    room = 1024
    out = np.empty((room, length + 1), np.int32)
    made = 0
    for a in range(count):
        for b in range(a + 1, count):
            same_prefix = True
            for place in range(length - 1):
                same_prefix = same_prefix and sets[a, place] == sets[b, place]
            if not same_prefix:
                break
            one, two = sets[a, length - 1], sets[b, length - 1]
            if not together[one, two]:
                continue
            if last and length == 1 and min(alone[one], alone[two]) < least[one, two]:
                continue
            if made == limit:
                return out[:made], False
            if made == room:
                wider = np.empty((room * 2, length + 1), np.int32)
                wider[:room] = out
                out, room = wider, room * 2
            out[made, :length] = sets[a, :length]
            out[made, length] = sets[b, length - 1]
            made += 1
    return out[:made], True


@helper
def _count_sets(
    bank: BankArrays, permuted: Words, items: Indices, consequent: int, sets: Indices, counts: Ints
) -> None:
    """Count the frames in which each set and the consequent hold; the prefix that adjacent sets share is reused."""
    width, length = bank.words.shape[1], sets.shape[1]
    prefixes = np.empty((length, width), np.uint64)
    for embedding in range(bank.row_of.shape[1]):
        if bank.row_of[consequent, embedding] == 0:
            continue
        target = permuted[bank.row_of[consequent, embedding]]
        fresh = True
        for at in range(sets.shape[0]):
            same = 0
            while not fresh and same < length - 1 and sets[at, same] == sets[at - 1, same]:
                same += 1
            for place in range(same, length - 1):
                row = bank.words[bank.row_of[items[sets[at, place]], embedding]]
                before = target if place == 0 else prefixes[place - 1]
                for word in range(width):
                    prefixes[place, word] = before[word] & row[word]
            fresh = False
            last = bank.words[bank.row_of[items[sets[at, length - 1]], embedding]]
            counts[at] += and_count(prefixes[length - 2], last)


@kernel
def count_longer(
    bank: BankArrays,
    permuted: Words,
    antecedents: Indices,
    consequent: int,
    column: int,
    share: Floats,
    alone: Ints,
    together: Bools,
    least: Ints,
    need: int,
    min_confidence: float,
    max_length: int,
    limit: int,
    levels: Floats,
    reached: Ints,
) -> bool:
    """Count, for one consequent, the rules with two or more antecedent items that reach each level.

    Antecedents grow by one item at a time. Sets that hold together with the consequent in fewer than ``need`` frames
    are cut, which loses no rule that reaches the lowest level.

    Args:
        bank: The bitmaps as observed.
        permuted: The permuted words of the bank, from which the consequent is read.
        antecedents: The antecedent items.
        consequent: The consequent item.
        column: The column of the consequent.
        share: Share of the known frames in which the consequent holds, per embedding.
        alone: Frames that each antecedent item shares with the consequent; 0 where the two may not form a rule.
        together: Whether two antecedent items may be in one rule.
        least: Frames that two items must share with the consequent to reach ``min_confidence``.
        need: Frames that any rule needs to reach the lowest level.
        min_confidence: Minimum confidence.
        max_length: Maximum number of antecedent items.
        limit: Maximum number of candidate sets of one length.
        levels: Levels of the statistic, ascending.
        reached: Number of rules that reach each level and not the next, to which is added.

    Returns:
        False if there are more than ``limit`` candidate sets.
    """
    few = np.flatnonzero(alone >= need)
    sets = np.empty((few.size, 1), np.int32)
    for at in range(few.size):
        sets[at, 0] = few[at]
    buffer = np.empty(bank.words.shape[1], np.uint64)
    items = np.empty(max_length, np.int32)
    for length in range(2, max_length + 1):
        candidates, fits = _extend_sets(sets, together, alone, least, length == max_length, limit)
        if not fits:
            return False
        counts = np.zeros(candidates.shape[0], np.int64)
        _count_sets(bank, permuted, antecedents, consequent, candidates, counts)
        frequent = np.flatnonzero(counts >= need)
        for found in frequent:
            items[:] = -1
            for place in range(length):
                items[place] = antecedents[candidates[found, place]]
            held, expected = 0.0, 0.0
            for embedding in range(bank.row_of.shape[1]):
                intersect(bank, items, embedding, buffer)
                rows = float(and_count(buffer, permuted[bank.present_of[column, embedding]]))
                held += rows
                expected += rows * share[embedding]
            if counts[found] >= (min_confidence - TOLERANCE) * held:
                level = _count_reached(levels, signed_root(float(counts[found]), held, expected))
                if level > 0:
                    reached[level - 1] += 1
        sets = np.empty((frequent.size, length), np.int32)
        for at in range(frequent.size):
            sets[at] = candidates[frequent[at]]
    return True
