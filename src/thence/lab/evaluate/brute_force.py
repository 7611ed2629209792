"""Brute-force reference: rules counted and enumerated row by row in plain Python.

The conformance checks compare miners with it. It is slow and must not share code with ``thence.statements.counting``;
use it on small tables and in tests only.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np

from thence.language.items import Feature, Interval, Item, Value
from thence.statements.rules.bounds import as_fraction
from thence.statements.rules.ruleset import Rule
from thence.tables.admissibility import item_masks, trivial_pairs
from thence.tables.transactions import FeatureTable, TransactionTable

__all__ = ["Counted", "brute_force_counts", "brute_force_rules", "count_rows", "plain_rows"]

Table = TransactionTable | FeatureTable
Observed = Value | Interval | None
Counted = tuple[int, int, int, int]


def plain_rows(table: Table) -> list[dict[Feature, Observed]]:
    """Return every row of ``table`` as a mapping from features to values; ``None`` is a missing value."""
    if isinstance(table, FeatureTable):
        return [
            {
                feature: None if math.isnan(value) else value if known is None else known[int(value)]
                for feature, known, value in zip(table.features, table.categories, row.tolist(), strict=True)
            }
            for row in table.numbers
        ]
    return [
        {
            column.feature: None if code < 0 else column.values[code]
            for column, code in zip(block.columns, row.tolist(), strict=True)
        }
        for block in table.blocks
        for row in block.flat()
    ]


def brute_force_counts(rule: Rule, table: Table) -> Counted:
    """Count the rows of a table for one rule.

    Args:
        rule: The rule to count.
        table: The table to count in.

    Returns:
        Four counts over the rows in which no feature of the rule is missing: all of them, those in which the antecedent
        holds, in which the consequent holds, and in which both hold.

    Examples:
        >>> import polars as pl
        >>> table = TransactionTable.from_frame(pl.DataFrame({"a": ["x", "x", "y", None], "b": ["u", "v", "u", "u"]}))
        >>> rule = Rule((Item.is_(table.features[0], "x"),), Item.is_(table.features[1], "u"))
        >>> brute_force_counts(rule, table)
        (3, 2, 2, 1)
    """
    return count_rows(plain_rows(table), rule.antecedent, rule.consequent)


def count_rows(rows: list[dict[Feature, Observed]], antecedent: tuple[Item, ...], consequent: Item) -> Counted:
    """Count the rows of ``plain_rows`` for one rule; see ``brute_force_counts``."""
    n = left = right = both = 0
    for row in rows:
        if any(row[item.feature] is None for item in (*antecedent, consequent)):
            continue
        has_left = all(item.holds(row[item.feature]) for item in antecedent)
        has_right = consequent.holds(row[consequent.feature])
        n, left, right, both = n + 1, left + has_left, right + has_right, both + (has_left and has_right)
    return n, left, right, both


def brute_force_rules(
    table: TransactionTable, *, min_support: float, min_confidence: float, max_antecedents: int
) -> dict[Rule, Counted]:
    """Enumerate all rules of a table with one block that reach the thresholds and hold in at least one row.

    Args:
        table: The table to mine.
        min_support: Minimum support, compared exactly as the decimal number that it prints as.
        min_confidence: Minimum confidence, compared in the same way.
        max_antecedents: Maximum number of items in an antecedent.

    Returns:
        The rules with their counts.
    """
    block, rows = table.blocks[0], plain_rows(table)
    left, right = item_masks(block)
    trivial = trivial_pairs(block)
    support, confidence = as_fraction(min_support), as_fraction(min_confidence)
    out: dict[Rule, Counted] = {}
    for size in range(1, max_antecedents + 1):
        for chosen in itertools.combinations(np.flatnonzero(left).tolist(), size):
            for consequent in np.flatnonzero(right).tolist():
                members = (*chosen, consequent)
                pairs = list(itertools.combinations(members, 2))
                if len({int(block.column_of_item[i]) for i in members}) <= size or (
                    trivial is not None and any(trivial[a, b] for a, b in pairs)
                ):
                    continue
                rule = Rule(tuple(block.item(i) for i in chosen), block.item(consequent))
                counts = n, x, _, b = count_rows(rows, rule.antecedent, rule.consequent)
                if b and Fraction(b, n) >= support and Fraction(b, x) >= confidence:
                    out[rule] = counts
    return out
