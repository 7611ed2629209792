"""Which rules can be counted on a table: those whose pattern and features it has.

Another system may lack a pattern or a property that rules were mined with. This module tells such rules apart; it
counts nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from thence.errors import nearest
from thence.language.items import Feature
from thence.statements.rules.ruleset import RuleSet
from thence.tables.transactions import FeatureTable, TransactionTable

__all__ = ["Missing", "find_countable"]

Table = TransactionTable | FeatureTable

_PATTERNS_HINT = "pass the patterns of the rules when you build the table: patterns=[…]"


@dataclass(frozen=True)
class Missing:
    """Rules that cannot be counted on a table for the same reason.

    Args:
        reason: What the table does not have.
        rules: Number of rules.
        hint: What to do.
    """

    reason: str
    rules: int
    hint: str | None = None

    def __str__(self) -> str:
        count = f"{self.rules:,} rule{'' if self.rules == 1 else 's'}"
        return f"{count} {'is' if self.rules == 1 else 'are'} left out: {self.reason}"


def find_countable(rules: RuleSet, table: Table) -> tuple[npt.NDArray[np.bool_], list[Missing]]:
    """Tell which rules can be counted on a table: those whose pattern and features it has.

    Args:
        rules: The rules.
        table: The table.

    Returns:
        A flag per rule, and why the others cannot be counted.

    Examples:
        >>> import polars as pl
        >>> ab, cd = ({name: ["x", "y"] for name in names} for names in ("ab", "cd"))
        >>> from thence.statements.counting.recount import recount
        >>> rules = recount(np.array([[0]]), np.array([2]), TransactionTable.from_frame(pl.DataFrame(ab)))
        >>> countable, missing = find_countable(rules, TransactionTable.from_frame(pl.DataFrame(cd)))
        >>> countable.tolist(), missing[0].reason
        ([False], "the table has no feature '(a).value'")
    """
    countable = np.ones(len(rules), bool)
    reasons: dict[tuple[str, str | None], int] = {}
    key: tuple[str, str | None]
    for features, chosen, where in _features_by_rows(rules, table):
        if features is None:
            key = (f"the table has no rows for the pattern '{where}'", _PATTERNS_HINT)
            reasons[key] = reasons.get(key, 0) + len(chosen)
            countable[chosen] = False
            continue
        lacking = np.array([item.feature not in features for item in rules.items] + [False], bool)
        if not lacking.any():
            continue
        used = np.column_stack([rules.antecedents[chosen], rules.consequents[chosen]])
        first = np.where(lacking[used].any(axis=1), lacking[used].argmax(axis=1), -1)
        for row in np.flatnonzero(first >= 0).tolist():
            feature = rules.items[used[row, first[row]]].feature
            key = (f"the table has no feature '{feature}'", _hint(feature, features))
            reasons[key] = reasons.get(key, 0) + 1
            countable[chosen[row]] = False
    return countable, [Missing(reason, count, hint) for (reason, hint), count in reasons.items()]


def _hint(feature: Feature, features: Iterable[Feature]) -> str | None:
    """What to do about a feature that is missing: derive it, if nothing like it was derived, or use a similar name."""
    known = list(features)
    if feature.time is not None and not any(f.time and f.time.derive == feature.time.derive for f in known):
        return f"pass derive={list(feature.time.derive)} when you build the table"
    return nearest(str(feature), [str(f) for f in known])


def _features_by_rows(rules: RuleSet, table: Table) -> Iterable[tuple[set[Feature] | None, npt.NDArray[np.int64], str]]:
    """Yield the features of the rows that rules are about (``None`` without such rows), the rules, and the pattern."""
    every = np.arange(len(rules))
    if isinstance(table, FeatureTable):
        yield set(table.features), every, ""
        return
    if len(rules) == 0:
        return
    if len(table.blocks) == 1 and rules.pattern_of is None:
        yield {column.feature for column in table.blocks[0].columns}, every, ""
        return
    blocks = {str(block.pattern or ""): block for block in table.blocks}
    own = rules.pattern_of if rules.pattern_of is not None else np.full(len(rules), -1)
    names = [pattern for pattern, _ in rules.patterns] + [""]
    for number in np.unique(own).tolist():
        block = blocks.get(names[number])
        features = None if block is None else {column.feature for column in block.columns}
        yield features, np.flatnonzero(own == number), names[number]
