"""Counts against plain Python: plain and factorised tables, joined bins, raw intervals, blocks of rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.examples import examples
from tests.helpers.tables import all_rules, count_by_hand, factorised_tables, padded, plain_tables
from thence.errors import MiningError
from thence.language.items import Feature, Interval, Item
from thence.language.patterns import Pattern
from thence.statements.counting.recount import count_rules, count_spans, data_coverage, recount, rule_rows
from thence.statements.rules.ruleset import Rule, RuleSet
from thence.tables.blocks import Block, Column
from thence.tables.transactions import FeatureTable, TransactionTable


def _as_pairs(
    table: TransactionTable, left: tuple[int, ...], right: int
) -> tuple[list[tuple[int, int]], tuple[int, int]]:
    block = table.blocks[0]

    def pair(item: int) -> tuple[int, int]:
        column = int(block.column_of_item[item])
        return column, item - int(block.offsets[column])

    return [pair(i) for i in left], pair(right)


def _numbers(rules: RuleSet, rule: int) -> list[int]:
    counts = rules.counts
    return [int(c[rule]) for c in (counts.n, counts.n_antecedent, counts.n_consequent, counts.n_both)]


def _counted(table: TransactionTable) -> tuple[list[tuple[tuple[int, ...], int]], RuleSet]:
    rules = all_rules(table)[:200]
    return rules, recount(*padded(rules, 2), table)


@settings(max_examples=examples(300))
@given(st.one_of(plain_tables(), factorised_tables(), factorised_tables(missing=False)))
def test_counts_equal_counts_by_hand(table: TransactionTable) -> None:
    rules, counted = _counted(table)
    codes = table.blocks[0].flat()
    for r, (left, right) in enumerate(rules):
        expected = count_by_hand(codes, *_as_pairs(table, left, right))
        assert tuple(_numbers(counted, r)) == expected


@settings(max_examples=examples(100))
@given(factorised_tables())
def test_supports_of_lifted_rules_equal_those_by_hand(table: TransactionTable) -> None:
    table = TransactionTable((replace(table.blocks[0], pattern=Pattern.parse("(j:Junction)")),))
    block = table.blocks[0]
    rules, counted = _counted(table)
    codes = block.flat().reshape(block.n_embeddings, block.n_frames, -1)
    for r, (left, right) in enumerate(rules):
        pairs, target = _as_pairs(table, left, right)
        held = np.all([codes[:, :, c] == code for c, code in pairs], axis=0)
        known = np.all([codes[:, :, c] >= 0 for c, _ in [*pairs, target]], axis=0)
        both = held & (codes[:, :, target[0]] == target[1])
        assert counted.extras["support_time"][r] == both.any(axis=0).sum() / block.n_frames
        assert counted.extras["support_embeddings"][r] == both.any(axis=1).sum() / block.n_embeddings
        applies = (held & known).sum(axis=1)
        shares = both.sum(axis=1)[applies > 0] / applies[applies > 0]
        # A rule that never applied has no confidence anywhere, rather than a confidence of 0.
        low, spread = (shares.min(), shares.std()) if len(shares) else (np.nan, np.nan)
        assert counted.extras["confidence_low"][r] == pytest.approx(low, abs=0, nan_ok=True)
        assert counted.extras["confidence_spread"][r] == pytest.approx(spread, abs=1e-6, nan_ok=True)


@settings(max_examples=examples(100))
@given(st.one_of(plain_tables(), factorised_tables()))
def test_coverage_equals_coverage_by_hand(table: TransactionTable) -> None:
    rules, counted = _counted(table)
    chosen = counted.take(np.arange(len(rules))[::7])
    codes = table.blocks[0].flat()
    covered = np.zeros(len(codes), bool)
    for left, right in rules[::7]:
        pairs, _ = _as_pairs(table, left, right)
        covered |= np.all([codes[:, c] == code for c, code in pairs], axis=0)
    expected = covered.sum() / len(codes) if len(chosen) else 0.0
    assert data_coverage(chosen, table) == expected
    assert chosen.data_coverage == expected


@settings(max_examples=examples(60))
@given(st.one_of(plain_tables(max_rows=30), factorised_tables()), st.integers(1, 20))
def test_counts_over_blocks_of_rows_add_up(table: TransactionTable, size: int) -> None:
    _, whole = _counted(table)
    starts = range(0, max(block.n_frames for block in table.blocks), size)
    parts = [count_rules(whole, table.frames(slice(start, start + size))) for start in starts]
    total = parts[0].counts
    for part in parts[1:]:
        total = total + part.counts
    assert total == whole.counts
    assert sum(part.facts["n_transactions"] for part in parts) == table.n_rows


def test_bins_that_are_joined_count_as_their_union() -> None:
    table = TransactionTable.from_frame(pl.DataFrame({"a": np.arange(10.0), "b": ["x"] * 6 + ["y"] * 4}), bins=5)
    a, b = table.features
    rule = Rule((Item.among(a, Interval(2, 6)),), Item.is_(b, "x"))
    counted = count_rules([rule], table)
    assert _numbers(counted, 0) == [10, 4, 6, 4]
    nowhere = Rule((Item.compare(a, "≥", 2.0),), Item.is_(b, "z"))
    assert int(count_rules([nowhere], table).counts.n_both[0]) == 0


def test_an_item_that_cuts_through_a_bin_is_refused() -> None:
    table = TransactionTable.from_frame(pl.DataFrame({"a": np.arange(10.0), "b": ["x"] * 10}), bins=5)
    a, b = table.features
    with pytest.raises(MiningError, match="only a part of the bin"):
        count_rules([Rule((Item.compare(a, "<", 3.0),), Item.is_(b, "x"))], table)


def test_a_rule_of_another_table_is_refused_by_name() -> None:
    table = TransactionTable.from_frame(pl.DataFrame({"flow": [1.0, 2.0], "b": ["x", "y"]}), bins=2)
    with pytest.raises(MiningError, match=r"no feature '\(flo\)\.value'.*did you mean '\(flow\)\.value'"):
        count_rules([Rule((Item.compare(Feature("flo"), "<", 2.0),), Item.is_(Feature("b"), "x"))], table)


@settings(max_examples=examples(60))
@given(st.integers(0, 2**31), st.integers(1, 40))
def test_raw_intervals_are_counted_exactly(seed: int, n_rows: int) -> None:
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=(n_rows, 3)).round(1)
    numbers[rng.random(numbers.shape) < 0.2] = np.nan
    table = FeatureTable(tuple(Feature(name) for name in "abc"), numbers, (None, None, None))
    a, b, c = table.features
    rule = Rule((Item.among(a, Interval(-0.5, 0.7)), Item.compare(b, "≠", 0.1)), Item.compare(c, "≥", 0.0))
    counted = count_rules([rule], table)
    known = ~np.isnan(numbers).any(axis=1)
    with np.errstate(invalid="ignore"):
        left = known & (numbers[:, 0] >= -0.5) & (numbers[:, 0] < 0.7) & (numbers[:, 1] != 0.1)
        right = known & (numbers[:, 2] >= 0)
    expected = [int(m.sum()) for m in (known, left, right, left & right)]
    assert _numbers(counted, 0) == expected


@settings(max_examples=examples(60))
@given(factorised_tables())
def test_rows_of_a_rule_agree_with_its_counts(table: TransactionTable) -> None:
    rules, counted = _counted(table)
    for r in range(0, len(rules), 11):
        applies, holds = rule_rows(counted.rule(r), table)
        assert int(applies.sum()) == counted.counts.n_antecedent[r]
        assert int(holds.sum()) == counted.counts.n_both[r]


def _lifted(n_embeddings: int = 2) -> TransactionTable:
    series = np.arange(n_embeddings, dtype=np.int32)
    columns = tuple(
        Column(Feature(name), ("x", "y"), np.tile(np.array([0, 0, 1], np.int16), (n_embeddings, 1)), series)
        for name in "ab"
    )
    pattern, names = Pattern.parse("(j:Junction)"), tuple((f"j{e}",) for e in range(n_embeddings))
    return TransactionTable((Block(columns, 3, n_embeddings, pattern=pattern, embeddings=names),))


def test_rules_that_word_their_place_otherwise_are_covered_once() -> None:
    """Regression: one block became two groups, so its rows were counted twice and the coverage was 2."""
    table = _lifted()
    rules = recount(np.array([[0], [1]]), np.array([2, 3]), table)
    plain = RuleSet.from_rules([Rule(rule.antecedent, rule.consequent, rule.pattern) for rule in rules], rules.counts)
    assert data_coverage(rules, table) == data_coverage(RuleSet.concat([rules, plain]), table) == 1.0


@pytest.mark.parametrize("frames", [slice(0, 0), slice(0, 3)])
@pytest.mark.parametrize("n_embeddings", [0, 1])
def test_lifted_tables_without_rows_count_nothing(frames: slice, n_embeddings: int) -> None:
    rules = recount(np.array([[0]]), np.array([2]), _lifted())
    table = _lifted(n_embeddings).frames(frames)
    counted = count_rules(rules, table)
    assert counted.counts.n.tolist() == [table.n_rows]
    assert counted.extras["support_time"].tolist() == [2 / 3 if table.n_rows else 0.0]
    assert count_spans(rules, table, spans=2).counts.n.tolist() == [2 if table.n_rows else 0]
