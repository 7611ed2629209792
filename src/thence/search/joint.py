"""Rules with several items in the consequent, from rules with one: ``a → b`` and ``a → c`` may make ``a → b ∧ c``.

Where nothing is missing, no other rule can reach the thresholds: a consequent is at least as frequent without one of
its items. The joint rules are counted like all others. The module joins and counts; it does not search.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from thence.errors import MiningError
from thence.language.items import Item
from thence.statements.counting.recount import count_rules
from thence.statements.rules.bounds import is_within
from thence.statements.rules.measures import Counts
from thence.statements.rules.ruleset import RuleSet
from thence.tables.transactions import TransactionTable

MOST_JOINT = 5_000_000


def join_consequents(
    rules: RuleSet,
    table: TransactionTable,
    *,
    most: int,
    min_support: float = 0.0,
    min_confidence: float = 0.0,
    denominator: str = "present",
) -> RuleSet:
    """Return the rules with 2 to ``most`` items in the consequent whose parts are all among some rules.

    Args:
        rules: Rules with one item in the consequent.
        table: The table to count on.
        most: The largest number of items in a consequent.
        min_support: The lowest support of a joint rule.
        min_confidence: The lowest confidence of a joint rule.
        denominator: As in ``count_rules``.

    Returns:
        The joint rules only, with exact counts.

    Raises:
        MiningError: If there are too many candidates.

    Examples:
        >>> import polars as pl
        >>> from thence.search.exact.miner import Exact
        >>> table = TransactionTable.from_frame(pl.DataFrame({name: ["x", "x", "y"] for name in "abc"}))
        >>> joint = join_consequents(Exact().mine(table), table, most=2, min_confidence=0.8)
        >>> len(joint), str(joint[0])
        (6, "(a).value = 'x' → (b).value = 'x' ∧ (c).value = 'x'")
    """
    groups: dict[tuple[int, frozenset[int]], list[int]] = {}
    of = [-1] * len(rules) if rules.pattern_of is None else rules.pattern_of.tolist()
    for pattern, left, right in zip(of, rules.antecedents.tolist(), rules.consequents.tolist(), strict=True):
        groups.setdefault((pattern, frozenset(left) - {-1}), []).append(right)
    kept: list[RuleSet] = []
    wanted = [((*key, frozenset(pair))) for key, own in groups.items() for pair in _pairs(sorted(own), rules.items)]
    for size in range(2, most + 1):
        if not wanted:
            break
        if len(wanted) > MOST_JOINT:
            raise MiningError(
                f"{len(wanted):,} consequents of {size} items would have to be counted",
                hint="raise min_support or min_confidence, or lower max_consequents",
            )
        counted = count_rules(_joint_rules(rules, wanted), table, denominator=denominator)
        reached = is_within(counted.counts, "support", min_support, least=True)
        reached &= is_within(counted.counts, "confidence", min_confidence, least=True)
        reached &= counted.counts.n_both > 0
        kept.append(counted.take(np.flatnonzero(reached)))
        wanted = _larger([one for one, held in zip(wanted, reached.tolist(), strict=True) if held], rules.items)
    return RuleSet.concat(kept) if kept else rules.take(np.zeros(0, np.int64))


_Candidate = tuple[int, frozenset[int], frozenset[int]]


def _pairs(consequents: Sequence[int], items: Sequence[Item]) -> list[tuple[int, int]]:
    return [pair for pair in combinations(consequents, 2) if _are_apart(items[pair[0]], items[pair[1]])]


def _are_apart(one: Item, other: Item) -> bool:
    """Whether two items are about different readings; of the same one, such as its change, one may imply the other."""
    a, b = one.feature, other.feature
    return (a.role, a.subject, a.label, a.reads) != (b.role, b.subject, b.label, b.reads) and not a.reads & b.reads


def _larger(kept: Sequence[_Candidate], items: Sequence[Item]) -> list[_Candidate]:
    """The consequents with one more item of which every part with one item less was kept."""
    groups: dict[tuple[int, frozenset[int]], set[frozenset[int]]] = {}
    for pattern, left, right in kept:
        groups.setdefault((pattern, left), set()).add(right)
    out = []
    for (pattern, left), own in groups.items():
        singles = sorted(frozenset().union(*own))
        found = {one | {more} for one in own for more in singles if more > max(one)}
        out += [
            (pattern, left, one)
            for one in sorted(found, key=sorted)
            if all(one - {part} in own for part in one)
            and all(_are_apart(items[a], items[b]) for a, b in combinations(sorted(one), 2))
        ]
    return out


def _joint_rules(rules: RuleSet, wanted: Sequence[_Candidate]) -> RuleSet:
    """Candidates as rules that are not yet counted; the columns of other steps say nothing about them."""
    numbers: dict[frozenset[int], int] = {}
    items = list(rules.items)
    width = max(len(left) for _, left, _ in wanted)
    antecedents = np.full((len(wanted), max(width, 1)), -1, np.int32)
    for row, (_, left, right) in zip(antecedents, wanted, strict=True):
        row[: len(left)] = sorted(left)
        if right not in numbers:
            numbers[right] = len(items)
            items.append(Item.all_of(rules.items[i] for i in sorted(right)))
    consequents = np.array([numbers[right] for _, _, right in wanted], np.int32)
    zero = np.zeros(len(wanted), np.int64)
    lifted = None if rules.pattern_of is None else np.array([pattern for pattern, _, _ in wanted], np.int32)
    return RuleSet(tuple(items), antecedents, consequents, Counts(zero, zero, zero, zero), rules.patterns, lifted)


def with_joint(rules: RuleSet, joint: RuleSet) -> RuleSet:
    """Return rules followed by joint rules; columns that these lack are empty there.

    Args:
        rules: The rules, whose order and facts are kept.
        joint: The joint rules.
    """
    if not len(joint):
        return rules
    extras: dict[str, npt.NDArray[Any]] = {}
    for name, column in rules.extras.items():
        values = np.asarray(column)
        empty: Any = {"b": False, "i": 0, "u": 0, "O": ""}.get(values.dtype.kind, np.nan)
        extras[name] = joint.extras.get(name, np.full(len(joint), empty, values.dtype))
    whole = RuleSet.concat([rules, replace(joint, extras=extras, notes=())])
    return replace(whole, facts=rules.facts, notes=rules.notes, ordered=rules.ordered, grouped=rules.grouped)
