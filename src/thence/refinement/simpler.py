"""Superfluous items: rules and their simpler versions, which say the same consequent of fewer items.

All versions are counted, whether a miner proposed them or not. This module compares a rule with what is left when
items go; rules with wider items are compared in ``thence.refinement.redundancy``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from thence.counting.recount import count_rules_of
from thence.refinement.parts import row_ids
from thence.rules.measures import Counts
from thence.rules.ruleset import RuleSet
from thence.tables.transactions import TransactionTable

__all__ = ["simplify", "with_simpler"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

# Differences of confidences are compared with this much room for rounding.
_EPSILON = 1e-12


def simplify(
    rules: RuleSet,
    table: TransactionTable,
    *,
    improvement: float = 0.0,
    min_confidence: float | None = None,
    denominator: str = "present",
) -> RuleSet:
    """Let rules give way to simpler ones that are as good: the same consequent, some of the items left out.

    The *improvement* of a rule is its confidence minus the highest confidence among all its simpler versions, the one
    without any items (how frequent the consequent is) included; all of them are counted, in the set or not. A rule
    stays when its improvement is above zero and at least ``improvement``. Otherwise its best simpler version takes its
    place, as far as that reaches ``min_confidence`` (by default the lowest confidence among the rules). What stays has
    its improvement in the column ``improvement``.

    >>> import polars as pl
    >>> from thence.counting.recount import recount
    >>> frame = pl.DataFrame({"a": ["x", "x", "y"], "b": ["u", "u", "v"], "c": ["k", "l", "k"]})
    >>> table = TransactionTable.from_frame(frame)
    >>> rules = recount(table, 0, np.array([[0, 4], [0, 5]]), np.array([2, 2]))
    >>> for rule in simplify(rules, table):
    ...     print(rule)
    (a).value = 'x' → (b).value = 'u'
    """
    if not len(rules):
        return _with_gain(rules, np.zeros(0))
    floor = float(rules.measure("confidence").min()) if min_confidence is None else min_confidence
    family = _Subsets.of(rules)
    new = np.flatnonzero(family.origin < 0)
    counted = count_rules_of(table, family.rules(rules, new), denominator=denominator)
    confidence, frequency = (family.measured(m, rules, new, counted) for m in ("confidence", "consequent_support"))
    gain, best = family.gains(confidence, frequency)
    stays = (gain > _EPSILON) & (gain >= improvement - _EPSILON)
    final = family.of_rule
    while (moving := (final >= 0) & ~stays[final]).any():
        heir = best[final[moving]]
        final[moving] = np.where((heir >= 0) & (confidence[heir] >= floor), heir, -1)
    chosen = np.unique(final[final >= 0])
    old, fresh = chosen[family.origin[chosen] >= 0], chosen[family.origin[chosen] < 0]
    old = old[np.argsort(family.origin[old])]
    pieces = [
        _with_gain(rules.take(family.origin[old]), gain[old]),
        _with_gain(counted.take(np.searchsorted(new, fresh)), gain[fresh]),
    ]
    return replace(RuleSet.concat(pieces), notes=rules.notes, facts=rules.facts, coverage_of=rules.coverage_of)


def with_simpler(
    rules: RuleSet, table: TransactionTable, *, min_confidence: float | None = None, denominator: str = "present"
) -> RuleSet:
    """The rules, and all their simpler versions that reach a confidence and are better than having no items at all.

    An exhaustive miner finds these anyway; one that learns need not. They are wanted before a test of significance, in
    which a rule with a superfluous item goes and its simpler version should be there to stay.

    >>> import polars as pl
    >>> from thence.counting.recount import recount
    >>> frame = pl.DataFrame({"a": ["x", "x", "y"], "b": ["u", "u", "v"], "c": ["k", "l", "k"]})
    >>> table = TransactionTable.from_frame(frame)
    >>> for rule in with_simpler(recount(table, 0, np.array([[0, 4]]), np.array([2])), table):
    ...     print(rule)
    (a).value = 'x' ∧ (c).value = 'k' → (b).value = 'u'
    (a).value = 'x' → (b).value = 'u'
    """
    if not len(rules):
        return rules
    floor = float(rules.measure("confidence").min()) if min_confidence is None else min_confidence
    family = _Subsets.of(rules)
    counted = count_rules_of(table, family.rules(rules, np.flatnonzero(family.origin < 0)), denominator=denominator)
    confidence = counted.measure("confidence")
    good = (confidence >= floor) & (confidence > counted.measure("consequent_support"))
    if not good.any():
        return rules
    more = RuleSet.concat([rules, counted.take(np.flatnonzero(good))])
    return replace(more, notes=rules.notes, facts=rules.facts, coverage_of=rules.coverage_of)


def _with_gain(rules: RuleSet, gain: Floats) -> RuleSet:
    return replace(rules, extras={**rules.extras, "improvement": gain})


@dataclass(frozen=True)
class _Subsets:
    """Rules and all their simpler versions, numbered from the shortest on.

    ``left`` are the items of each (ascending, padding −1 last), ``parts[u, k]`` is the number of version ``u`` without
    its ``k``-th item, ``origin[u]`` a rule of the set that is this one (−1: none) and ``of_rule`` the number of each
    rule of the set.
    """

    pattern: Ints
    right: Ints
    left: Ints
    parts: Ints
    origin: Ints
    of_rule: Ints

    @staticmethod
    def of(rules: RuleSet) -> _Subsets:
        """All versions, made by leaving out one item at a time from the longest rules down."""
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
            ids, first = row_ids(rows)
            origin = np.full(len(first), -1)
            origin[ids[: len(own)][::-1]] = own[::-1]  # the first of equal rules
            levels.append((rows[first], origin, own, ids))
            shorter = [np.delete(rows[first], 2 + k, axis=1) for k in range(size)]
            above = np.concatenate(shorter) if size > 1 else above
        return _numbered(levels, width, len(rules))

    def rules(self, rules: RuleSet, chosen: Ints) -> RuleSet:
        """Some versions as rules, without counts."""
        zero = np.zeros(len(chosen), np.int64)
        return RuleSet(
            rules.items,
            self.left[chosen].astype(np.int32),
            self.right[chosen].astype(np.int32),
            Counts(zero, zero, zero, zero),
            patterns=rules.patterns,
            pattern_of=None if rules.pattern_of is None else self.pattern[chosen].astype(np.int32),
        )

    def measured(self, measure: str, rules: RuleSet, new: Ints, counted: RuleSet) -> Floats:
        """A measure of all versions, from the rules and the newly counted others."""
        out = np.empty(len(self.origin))
        out[new] = counted.measure(measure)
        old = self.origin >= 0
        out[old] = rules.measure(measure)[self.origin[old]]
        return out

    def gains(self, confidence: Floats, frequency: Floats) -> tuple[Floats, Ints]:
        """The improvement of each version over all simpler ones, and the best of those (−1: the one without items)."""
        top, holder = confidence.copy(), np.arange(len(confidence))
        gain, best = confidence - frequency, np.full(len(confidence), -1)
        size = (self.left >= 0).sum(axis=1)
        for length in range(2, self.left.shape[1] + 1):
            own = np.flatnonzero(size == length)
            parts = self.parts[own, :length]
            # The most confident, and of equals the shortest, which has the lowest number.
            order = np.lexsort([holder[parts], -top[parts]], axis=1)[:, :1]
            simpler = np.take_along_axis(parts, order, axis=1)[:, 0]
            best[own] = holder[simpler]
            gain[own] = confidence[own] - np.maximum(top[simpler], frequency[own])
            worse = top[simpler] >= confidence[own]
            top[own[worse]], holder[own[worse]] = top[simpler[worse]], holder[simpler[worse]]
        return gain, best


def _numbered(levels: list[tuple[Ints, Ints, Ints, Ints]], width: int, n_rules: int) -> _Subsets:
    """Join the levels, which come longest first, into one numbering from the shortest on."""
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
            # The rows made from the level above follow the rules of this one, one item left out after the other.
            made = ids[len(own) :].reshape(size + 1, -1).T
            parts[offset[at - 1] : offset[at - 1] + len(made), : size + 1] = offset[at] + made
    return _Subsets(pattern, right, left, parts, origin, of_rule)
