"""Tables of some size in which columns depend on each other, and the comparison of rule sets down to the last digit."""

from __future__ import annotations

import numpy as np

from thence.language.items import Feature
from thence.statements.rules.ruleset import RuleSet
from thence.tables.blocks import Block, Column
from thence.tables.transactions import TransactionTable


def random_table(
    *, seed: int, n_rows: int = 200, n_columns: int = 5, missing: float = 0.0, embeddings: int = 1
) -> TransactionTable:
    """A table with three codes per column, each of which follows the column before it in most rows."""
    rng = np.random.default_rng(seed)
    before = rng.integers(0, 3, (embeddings, n_rows))
    columns = []
    for number in range(n_columns):
        changed = rng.random(before.shape) < 0.3
        before = np.where(changed, rng.integers(0, 3, before.shape), before)
        codes = np.where(rng.random(before.shape) < missing, -1, before).astype(np.int16)
        series = np.arange(embeddings, dtype=np.int32)
        columns.append(Column(Feature(f"f{number}"), ("low", "middle", "high"), codes, series))
    names = tuple((f"e{number}",) for number in range(embeddings))
    return TransactionTable((Block(tuple(columns), n_rows, embeddings, embeddings=names),))


def assert_same_rules(found: RuleSet, expected: RuleSet) -> None:
    """Rules, counts, further columns, notes and ending are equal, in the same order."""
    assert found.items == expected.items
    assert found.ending is expected.ending
    assert found.notes == expected.notes
    for name in ("antecedents", "consequents"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    for name in ("n", "n_antecedent", "n_consequent", "n_both"):
        np.testing.assert_array_equal(getattr(found.counts, name), getattr(expected.counts, name))
    assert found.extras.keys() == expected.extras.keys()
    for name, column in expected.extras.items():
        np.testing.assert_array_equal(found.extras[name], column)
