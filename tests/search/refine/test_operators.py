"""The operators of mined rules: each of the eight occurs where the data ask for it (decision 0012)."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import thence as th
from thence.search.refine import merge_intervals
from thence.tables.transactions import TransactionTable

RANDOM = np.random.default_rng(0)
NUMBERS = np.where(RANDOM.random(3000) < 0.3, 0.0, RANDOM.normal(0, 5, 3000))
STATES = RANDOM.choice(list("abcdef"), 3000)


@pytest.mark.parametrize(
    ("values", "chosen", "bins", "items"),
    [
        (NUMBERS, NUMBERS <= 0, 10, {"(x).value ≤ 0.0"}),
        (NUMBERS, NUMBERS < 0, 10, {"(x).value < 0.0"}),
        (NUMBERS, NUMBERS > 0, 5, {"(x).value > 0.0"}),
        (NUMBERS, NUMBERS == 0, 5, {"(x).value = 0.0"}),
        (NUMBERS, NUMBERS >= 3, 10, {"(x).value ≥ 4.25"}),
        (NUMBERS, (NUMBERS > 0) & (NUMBERS < 3), 10, {"(x).value ∈ [0.017, 2.73)"}),
        (STATES, STATES != "a", 10, {"(x).value ≠ 'a'"}),
        (STATES, (STATES == "a") | (STATES == "b"), 10, {"(x).value ∈ {'a', 'b'}"}),
        (STATES, (STATES != "a") & (STATES != "b"), 10, {"(x).value ∉ {'a', 'b'}"}),
    ],
)
def test_merged_items_have_the_operator_of_their_range(
    values: np.ndarray, chosen: np.ndarray, bins: int, items: set[str]
) -> None:
    frame = pl.DataFrame({"x": values, "y": np.where(chosen, "yes", "no")})
    table = TransactionTable.from_frame(frame, bins=bins)
    rules = merge_intervals(th.Exact(min_support=0.01, min_confidence=0.9, max_antecedents=1).mine(table), table)
    found = [
        (str(rule.antecedent[0]), at) for at, rule in enumerate(rules) if str(rule.consequent) == "(y).value = 'yes'"
    ]
    assert {text for text, _ in found} == items
    # The text says what was counted.
    for _, at in found:
        item = rules.rule(at).antecedent[0]
        held = [item.holds(value.item()) for value in values]
        assert int(rules.counts.n_antecedent[at]) == sum(held)
