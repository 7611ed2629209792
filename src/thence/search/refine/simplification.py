"""Superfluous items: rules and their simpler versions, with the same consequent and fewer antecedent items.

All simpler versions are counted, whether or not a miner proposed them. This module compares rules that differ in the
number of items only; rules with wider items are compared in ``thence.search.refine.redundancy``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from thence.search.refine.encoding import factorize_rows
from thence.statements.counting.recount import count_rules_of
from thence.statements.rules.bounds import as_fraction, is_within
from thence.statements.rules.measures import MEASURES, Counts
from thence.statements.rules.ruleset import RuleSet
from thence.tables.transactions import TransactionTable

__all__ = ["add_simpler", "simplify"]

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]


def simplify(
    rules: RuleSet,
    table: TransactionTable,
    *,
    improvement: float = 0.0,
    min_confidence: float | None = None,
    denominator: str = "present",
) -> RuleSet:
    """Replace rules by their best simpler version unless they improve on all simpler versions.

    A simpler version has the same consequent and some of the antecedent items. The *improvement* of a rule is its
    confidence minus the highest confidence of all its simpler versions, including the one without items (the frequency
    of the consequent). Simpler versions are counted whether or not they are in the rule set.

    Args:
        rules: The rules to simplify.
        table: The table that the rules were mined from.
        improvement: Minimum improvement of a rule; it must also be above zero.
        min_confidence: Minimum confidence of a simpler version that replaces a rule; by default the lowest confidence
            of the given rules. A rule whose simpler versions do not reach it is dropped.
        denominator: Rows over which new rules are counted, as in ``count_rules_of``.

    Returns:
        The remaining rules, with their improvement in the column ``improvement``.

    Examples:
        >>> import polars as pl
        >>> from thence.statements.counting.recount import recount
        >>> frame = pl.DataFrame({"a": ["x", "x", "y"], "b": ["u", "u", "v"], "c": ["k", "l", "k"]})
        >>> table = TransactionTable.from_frame(frame)
        >>> rules = recount(np.array([[0, 4], [0, 5]]), np.array([2, 2]), table)
        >>> for rule in simplify(rules, table):
        ...     print(rule)
        (a).value = 'x' → (b).value = 'u'
    """
    if not len(rules):
        return _add_improvement(rules, np.zeros(0))
    floor = float(rules.measure("confidence").min()) if min_confidence is None else min_confidence
    family = _Subsets.of(rules)
    new = np.flatnonzero(family.origin < 0)
    counted = count_rules_of(family.to_rules(rules, new), table, denominator=denominator)
    counts = family.collect(rules, new, counted)
    gain, best = family.gains(MEASURES["confidence"](counts), MEASURES["consequent_support"](counts))
    sufficient = _is_improved(counts, best, as_fraction(improvement))
    confident = is_within(counts, "confidence", floor, least=True)
    final = family.of_rule
    while (moving := (final >= 0) & ~sufficient[final]).any():
        replacement = best[final[moving]]
        final[moving] = np.where((replacement >= 0) & confident[replacement], replacement, -1)
    chosen = np.unique(final[final >= 0])
    old, fresh = chosen[family.origin[chosen] >= 0], chosen[family.origin[chosen] < 0]
    old = old[np.argsort(family.origin[old])]
    pieces = [
        _add_improvement(rules.take(family.origin[old]), gain[old]),
        _add_improvement(counted.take(np.searchsorted(new, fresh)), gain[fresh]),
    ]
    return replace(RuleSet.concat(pieces), notes=rules.notes, facts=rules.facts, coverage_of=rules.coverage_of)


def add_simpler(
    rules: RuleSet, table: TransactionTable, *, min_confidence: float | None = None, denominator: str = "present"
) -> RuleSet:
    """Add all simpler versions of rules that are confident enough and more confident than no items at all.

    An exhaustive miner finds these anyway; a learning one may not. Add them before a significance test: it drops rules
    with a superfluous item, and the simpler version should be there to remain.

    Args:
        rules: The rules.
        table: The table that the rules were mined from.
        min_confidence: Minimum confidence of added rules; by default the lowest confidence of the given rules.
        denominator: Rows over which new rules are counted, as in ``count_rules_of``.

    Returns:
        The given rules, followed by the added ones.

    Examples:
        >>> import polars as pl
        >>> from thence.statements.counting.recount import recount
        >>> frame = pl.DataFrame({"a": ["x", "x", "y"], "b": ["u", "u", "v"], "c": ["k", "l", "k"]})
        >>> table = TransactionTable.from_frame(frame)
        >>> for rule in add_simpler(recount(np.array([[0, 4]]), np.array([2]), table), table):
        ...     print(rule)
        (a).value = 'x' ∧ (c).value = 'k' → (b).value = 'u'
        (a).value = 'x' → (b).value = 'u'
    """
    if not len(rules):
        return rules
    floor = float(rules.measure("confidence").min()) if min_confidence is None else min_confidence
    family = _Subsets.of(rules)
    new = np.flatnonzero(family.origin < 0)
    counted = count_rules_of(family.to_rules(rules, new), table, denominator=denominator)
    good = is_within(counted.counts, "confidence", floor, least=True) & (counted.measure("leverage") > 0)
    if not good.any():
        return rules
    more = RuleSet.concat([rules, counted.take(np.flatnonzero(good))])
    return replace(more, notes=rules.notes, facts=rules.facts, coverage_of=rules.coverage_of)


def _is_improved(counts: Counts, best: Ints, improvement: Fraction) -> Bools:
    """Return which versions improve on their best simpler version and on no items at all, compared in integers."""
    top, bottom = counts.n_both, np.maximum(counts.n_antecedent, 1)
    none = best < 0
    simpler_top = np.where(none, counts.n_consequent, top[best])
    simpler_bottom = np.where(none, np.maximum(counts.n, 1), bottom[best])
    out = np.ones(len(counts), bool)
    p, q = improvement.numerator, improvement.denominator
    wide = 2 * max(p, q) * int(counts.n.max(initial=1)) ** 2 >= 1 << 62
    for other_top, other_bottom in ((simpler_top, simpler_bottom), (counts.n_consequent, np.maximum(counts.n, 1))):
        a, b, c, d = (part.astype(object if wide else np.int64) for part in (top, bottom, other_top, other_bottom))
        more = a * d - c * b
        out &= np.asarray((more > 0) & (more * q >= p * b * d), dtype=bool)
    return out


def _add_improvement(rules: RuleSet, gain: Floats) -> RuleSet:
    return replace(rules, extras={**rules.extras, "improvement": gain})


@dataclass(frozen=True)
class _Subsets:
    """Rules and all their simpler versions, numbered in order of length.

    Args:
        pattern: The pattern of each version (−1: none).
        consequents: The consequent of each version.
        antecedents: The items of each version, ascending, padded with −1 at the end.
        parts: ``parts[u, k]`` is the number of version ``u`` without its ``k``-th item.
        origin: The first rule of the set that equals each version (−1: none).
        of_rule: The number of each rule of the set.
    """

    pattern: Ints
    consequents: Ints
    antecedents: Ints
    parts: Ints
    origin: Ints
    of_rule: Ints

    @staticmethod
    def of(rules: RuleSet) -> _Subsets:
        """Build all versions by removing one item at a time, from the longest rules down."""
        width = rules.antecedents.shape[1]
        many = len(rules.items)
        left = np.sort(np.where(rules.antecedents < 0, many, rules.antecedents), axis=1).astype(np.int64)
        length = (left < many).sum(axis=1)
        pattern = np.full(len(rules), -1) if rules.pattern_of is None else rules.pattern_of
        head = np.column_stack([pattern, rules.consequents]).astype(np.int64)
        levels: list[tuple[Ints, Ints, Ints, Ints]] = []
        above = np.zeros((0, width + 2), np.int64)
        for size in range(width, 0, -1):
            own = np.flatnonzero(length == size)
            rows = np.concatenate([np.column_stack([head[own], left[own, :size]]), above[:, : size + 2]])
            ids, first = factorize_rows(rows)
            origin = np.full(len(first), -1)
            origin[ids[: len(own)][::-1]] = own[::-1]  # the first of equal rules
            levels.append((rows[first], origin, own, ids))
            shorter = [np.delete(rows[first], 2 + k, axis=1) for k in range(size)]
            above = np.concatenate(shorter) if size > 1 else above
        return _number_versions(levels, width, len(rules))

    def to_rules(self, rules: RuleSet, chosen: Ints) -> RuleSet:
        """Return the chosen versions as rules without counts."""
        zero = np.zeros(len(chosen), np.int64)
        return RuleSet(
            rules.items,
            self.antecedents[chosen].astype(np.int32),
            self.consequents[chosen].astype(np.int32),
            Counts(zero, zero, zero, zero),
            patterns=rules.patterns,
            pattern_of=None if rules.pattern_of is None else self.pattern[chosen].astype(np.int32),
        )

    def collect(self, rules: RuleSet, new: Ints, counted: RuleSet) -> Counts:
        """Return the counts of all versions, taken from the given rules and from the newly counted ones."""
        position = np.empty(len(self.origin), np.int64)
        position[new] = len(rules) + np.arange(len(new))
        old = self.origin >= 0
        position[old] = self.origin[old]
        return Counts.concatenate([rules.counts, counted.counts])[position]

    def gains(self, confidence: Floats, frequency: Floats) -> tuple[Floats, Ints]:
        """Return the improvement of each version, and its best simpler version (−1: the one without items)."""
        top, holder = confidence.copy(), np.arange(len(confidence))
        gain, best = confidence - frequency, np.full(len(confidence), -1)
        size = (self.antecedents >= 0).sum(axis=1)
        for length in range(2, self.antecedents.shape[1] + 1):
            own = np.flatnonzero(size == length)
            parts = self.parts[own, :length]
            # The most confident simpler version; ties go to the shortest, which has the lowest number.
            order = np.lexsort([holder[parts], -top[parts]], axis=1)[:, :1]
            simpler = np.take_along_axis(parts, order, axis=1)[:, 0]
            best[own] = holder[simpler]
            gain[own] = confidence[own] - np.maximum(top[simpler], frequency[own])
            worse = top[simpler] >= confidence[own]
            top[own[worse]], holder[own[worse]] = top[simpler[worse]], holder[simpler[worse]]
        return gain, best


def _number_versions(levels: list[tuple[Ints, Ints, Ints, Ints]], width: int, n_rules: int) -> _Subsets:
    """Join the levels, which are given longest first, into one numbering, shortest first."""
    sizes = [len(rows) for rows, _, _, _ in levels]
    offset = np.cumsum([0, *sizes[::-1]])[:-1][::-1]
    total = sum(sizes)
    pattern, right, origin = (np.empty(total, np.int64) for _ in range(3))
    left, parts = np.full((total, width), -1, np.int64), np.full((total, width), -1, np.int64)
    of_rule = np.full(n_rules, -1, np.int64)  # a rule without items has nothing to improve on
    for at, (rows, firsts, own, ids) in enumerate(levels):
        span = slice(offset[at], offset[at] + len(rows))
        size = rows.shape[1] - 2
        pattern[span], right[span], origin[span] = rows[:, 0], rows[:, 1], firsts
        left[span, :size] = rows[:, 2:]
        of_rule[own] = offset[at] + ids[: len(own)]
        if at:
            # After the rules of this level come the rows made from the level above, ordered by the removed item.
            made = ids[len(own) :].reshape(size + 1, -1).T
            parts[offset[at - 1] : offset[at - 1] + len(made), : size + 1] = offset[at] + made
    return _Subsets(pattern, right, left, parts, origin, of_rule)
