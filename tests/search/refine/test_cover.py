"""The smallest cover: complete, without superfluous rules, and close to the optimum."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.examples import examples
from tests.helpers.networks import network
from tests.search.refine.by_hand import binned_tables, bins, covered, rows_of, some_rules
from thence.data.readings.windows import window
from thence.errors import ConfigError
from thence.language.items import Feature
from thence.search.refine import merge_intervals, smallest_cover
from thence.statements.rules.ruleset import RuleSet
from thence.tables.blocks import Block, Column
from thence.tables.enrich import build
from thence.tables.transactions import TransactionTable


@given(binned_tables(), st.booleans())
@settings(max_examples=examples(80))
def test_a_cover_is_complete_and_every_rule_of_it_is_needed(table: TransactionTable, wide: bool) -> None:
    rules = some_rules(table)
    rules = merge_intervals(rules, table) if wide else rules
    selected = smallest_cover(rules, table)
    everything = covered(table, rules)
    assert set(selected) <= set(rules)
    assert np.array_equal(covered(table, selected), everything)
    for left_out in range(len(selected)):
        others = selected.take(np.delete(np.arange(len(selected)), left_out))
        assert not np.array_equal(covered(table, others), everything)


@given(binned_tables(max_frames=12), st.integers(0, 2**31))
@settings(max_examples=examples(40))
def test_a_cover_is_close_to_the_smallest(table: TransactionTable, seed: int) -> None:
    rules = some_rules(table)
    rules = rules.take(np.sort(np.random.default_rng(seed).permutation(len(rules))[:9]))
    masks = [rows_of(table, rule)[1] for rule in rules]
    everything = covered(table, rules)
    best = next(
        size
        for size in range(len(rules) + 1)
        if any(
            np.array_equal(np.any([masks[i] for i in some], axis=0), everything) or not everything.any()
            for some in combinations(range(len(rules)), size)
        )
    )
    rows = int(everything.sum())
    assert best <= len(smallest_cover(rules, table)) <= math.ceil(best * (1 + math.log(max(rows, 1))))


@given(binned_tables(), st.floats(0.05, 0.99))
@settings(max_examples=examples(40))
def test_a_share_is_reached_with_the_first_rules_of_the_greedy_order(table: TransactionTable, share: float) -> None:
    rules = some_rules(table)
    selected = smallest_cover(rules, table, share=share)
    everything = int(covered(table, rules).sum())
    assert covered(table, selected).sum() >= share * everything
    if len(selected) > 1:
        assert covered(table, selected.take(np.arange(len(selected) - 1))).sum() < share * everything


def test_the_first_rule_covers_most_and_ties_are_broken_by_confidence_then_support() -> None:
    rng = np.random.default_rng(5)
    codes = rng.integers(0, 2, (200, 4))
    codes[:, 1] = codes[:, 0] ^ (rng.random(200) < 0.1)
    columns = tuple(Column(Feature(f"f{f}"), bins(2), codes[None, :, f].astype(np.int16)) for f in range(4))
    table = TransactionTable((Block(columns, 200),))
    rules = some_rules(table, min_confidence=0.0)
    first = smallest_cover(rules, table).rule(0)
    sizes = [int(rows_of(table, rule)[1].sum()) for rule in rules]
    assert int(rows_of(table, first)[1].sum()) == max(sizes)
    same = rules.filter(where=lambda rule: rule.antecedent == first.antecedent).sort(["confidence", "support"])
    assert first == same.rule(0)


def test_no_rules_and_bad_shares() -> None:
    plain = build(window(network(20).sensors, "30min"))
    assert len(smallest_cover(RuleSet.empty(), plain)) == 0
    with pytest.raises(ConfigError, match="share of rows"):
        smallest_cover(RuleSet.empty(), plain, share=0)
