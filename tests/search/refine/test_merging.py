"""Merging bins: same rows, exact counts, fewer rules; and the form of each merged item."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.examples import examples
from tests.search.refine.by_hand import binned_tables, bins, count_rule, counts_are_right, covered, some_rules
from thence.language.items import Feature, Interval
from thence.search.refine import merge_intervals, refine
from thence.statements.counting.recount import recount
from thence.statements.rules.ruleset import RuleSet
from thence.tables.blocks import Block, Column
from thence.tables.transactions import TransactionTable


@given(binned_tables(), st.floats(0.3, 1.0))
@settings(max_examples=examples(80))
def test_merged_rules_hold_in_the_same_rows_with_exact_counts(table: TransactionTable, bound: float) -> None:
    rules = some_rules(table, min_confidence=bound)
    merged = merge_intervals(rules, table)
    assert len(merged) <= len(rules)
    assert counts_are_right(table, merged)
    assert np.array_equal(covered(table, merged), covered(table, rules))
    if len(rules):
        assert merged.measure("confidence").min() >= rules.measure("confidence").min()
    assert len(set(merged)) == len(merged)


@given(binned_tables(), st.floats(0.3, 1.0))
@settings(max_examples=examples(50))
def test_a_merged_rule_reaches_the_bound_and_the_others_are_unchanged(table: TransactionTable, bound: float) -> None:
    rules = some_rules(table, min_confidence=0.3)
    merged = merge_intervals(rules, table, min_confidence=bound)
    given_rules = set(rules)
    for rule, confidence in zip(merged, merged.measure("confidence"), strict=True):
        assert rule in given_rules or confidence >= bound
    assert np.array_equal(covered(table, merged), covered(table, rules))


@given(binned_tables(max_embeddings=1), st.randoms(use_true_random=False))
@settings(max_examples=examples(30))
def test_the_result_does_not_depend_on_the_order_of_the_rules(table: TransactionTable, random: object) -> None:
    rules = some_rules(table)
    order = list(range(len(rules)))
    random.shuffle(order)  # type: ignore[attr-defined]
    assert set(merge_intervals(rules.take(np.array(order, int)), table)) == set(merge_intervals(rules, table))


@given(binned_tables())
@settings(max_examples=examples(30))
def test_merging_again_changes_nothing(table: TransactionTable) -> None:
    merged = merge_intervals(some_rules(table), table)
    assert set(merge_intervals(merged, table)) == set(merged)


def table_of(values: tuple[object, ...], target: list[int], *, gap: bool = False) -> TransactionTable:
    """Two rows per value of ``a``; ``b`` is "yes" where ``target`` is 1."""
    codes = np.repeat(np.arange(len(values)), 2)
    hits = np.repeat(np.array(target), 2)
    if gap:
        codes, hits = np.append(codes, -1), np.append(hits, 0)
    columns = (
        Column(Feature("a"), values, codes[None, :].astype(np.int16)),  # type: ignore[arg-type]
        Column(Feature("b"), ("no", "yes"), hits[None, :].astype(np.int16)),
    )
    return TransactionTable((Block(columns, len(codes)),))


def merge_texts(table: TransactionTable, left: list[list[int]], right: int) -> list[str]:
    """The texts of the antecedents after merging."""
    antecedents = np.array(left)
    rules = recount(antecedents, np.full(len(left), right), table)
    return [" ∧ ".join(map(str, rule.antecedent)) for rule in merge_intervals(rules, table)]


RANGES = bins(5)
FIVE = 5


@pytest.mark.parametrize(
    ("bins_held", "texts"),
    [
        ([1, 2], ["(a).value ∈ [1.0, 3.0)"]),
        ([0, 1], ["(a).value < 2.0"]),
        ([3, 4], ["(a).value ≥ 3.0"]),
        ([1, 3], ["(a).value ∈ [1.0, 2.0)", "(a).value ∈ [3.0, 4.0)"]),
        ([0, 1, 3, 4], ["(a).value ∉ [2.0, 3.0)"]),
        ([0, 1, 2, 4], ["(a).value ∉ [3.0, 4.0)"]),
        ([0, 4], ["(a).value < 1.0", "(a).value ≥ 4.0"]),
    ],
)
def test_bins_become_ranges_comparisons_and_exclusions(bins_held: list[int], texts: list[str]) -> None:
    table = table_of(RANGES, [int(q in bins_held) for q in range(5)])
    assert merge_texts(table, [[q] for q in bins_held], FIVE + 1) == texts


@pytest.mark.parametrize(
    ("held", "texts"),
    [
        ([0, 2], ["(a).value ∈ {'v0', 'v2'}"]),
        ([0, 2, 3, 4], ["(a).value ≠ 'v1'"]),
        ([0, 3, 4], ["(a).value ∉ {'v1', 'v2'}"]),
    ],
)
def test_categories_become_sets_and_exclusions(held: list[int], texts: list[str]) -> None:
    table = table_of(tuple(f"v{c}" for c in range(5)), [int(q in held) for q in range(5)])
    assert merge_texts(table, [[q] for q in held], FIVE + 1) == texts


@pytest.mark.parametrize(
    ("held", "texts"),
    [
        ([1, 2], ["(a).value ∈ [7.0, 9.0)"]),
        ([0, 1], ["(a).value < 8.0"]),
        ([0, 1, 3, 4], ["(a).value ≠ 8.0"]),
        ([0, 3, 4], ["(a).value ∉ [7.0, 9.0)"]),
    ],
)
def test_numbers_used_as_categories_are_merged_in_runs(held: list[int], texts: list[str]) -> None:
    table = table_of((6.0, 7.0, 8.0, 9.0, 10.0), [int(q in held) for q in range(5)])
    assert merge_texts(table, [[q] for q in held], FIVE + 1) == texts


def test_ranges_that_are_not_adjacent_are_not_merged() -> None:
    table = table_of((Interval(0, 1), Interval(2, 3)), [1, 1])
    assert len(merge_texts(table, [[0], [1]], 3)) == 2


def test_a_single_item_is_never_merged_until_it_always_holds() -> None:
    table = table_of(RANGES, [1] * 5)
    texts = merge_texts(table, [[q] for q in range(5)], FIVE + 1)
    assert len(texts) == 2
    assert not any("inf" in text for text in texts)


def grid(gap: bool) -> TransactionTable:
    """``a`` and ``b`` in all combinations, ``c`` is "yes" wherever ``b`` is at least 1."""
    a, b = (x.reshape(-1) for x in np.meshgrid(np.arange(3), np.arange(3), indexing="ij"))
    c = (b >= 1).astype(int)
    if gap:
        a, b, c = np.append(a, -1), np.append(b, 2), np.append(c, 0)
    columns = tuple(
        Column(Feature(name), values, codes[None, :].astype(np.int16))
        for name, values, codes in (("a", bins(3), a), ("b", bins(3), b), ("c", ("no", "yes"), c))
    )
    return TransactionTable((Block(columns, len(a)),))


def test_boxes_are_merged_along_both_items_and_an_item_that_always_holds_is_removed() -> None:
    boxes = [[a, 3 + b] for a in range(3) for b in (1, 2)]
    assert merge_texts(grid(gap=False), boxes, 7) == ["(b).value ≥ 1.0"]


def test_an_item_with_missing_values_is_not_removed() -> None:
    boxes = [[a, 3 + b] for a in range(3) for b in (1, 2)]
    texts = merge_texts(grid(gap=True), boxes, 7)
    assert len(texts) == 2
    assert all("(a)" in text and "(b).value ≥ 1.0" in text for text in texts)


def test_an_item_of_a_single_value_with_gaps_is_not_removed() -> None:
    """It was assumed to hold always, and the merged rule held where the feature was missing: confidence 0.5."""
    frame = {"status": ["ok", "ok", None, None], "level": [0.0, 1.0, 0.0, 1.0], "flow": ["high", "high", "low", "low"]}
    table = TransactionTable.from_frame(pl.DataFrame(frame), bins=2)
    rules = some_rules(table, min_confidence=0.9)
    merged = merge_intervals(rules, table)
    assert merged.measure("confidence").tolist() == [1.0] * len(merged)
    assert np.array_equal(covered(table, merged), covered(table, rules))


def test_the_items_of_a_rule_never_all_hold_always() -> None:
    """Both ``door`` and ``pump`` were merged until they always held, which left a rule without items."""
    frame = {"door": ["open", "shut"] * 4, "pump": ["on", "on", "off", "off"] * 2, "alarm": ["no"] * 7 + ["yes"]}
    table = TransactionTable.from_frame(pl.DataFrame(frame))
    rules = some_rules(table)
    assert all(rule.antecedent for rule in merge_intervals(rules, table))
    assert len(refine(rules, table)) > 0


def test_rules_about_constants_keep_them() -> None:
    frame = {"a": ["x"] * 4, "b": ["y"] * 4, "c": ["u", "u", "u", "v"]}
    table = TransactionTable.from_frame(pl.DataFrame(frame))
    merged = merge_intervals(recount(np.array([[0], [1]]), np.array([2, 2]), table), table)
    assert [str(rule) for rule in merged] == ["(a).value = 'x' → (c).value = 'u'", "(b).value = 'y' → (c).value = 'u'"]


def test_the_order_of_merging_that_leaves_fewer_rules_is_chosen() -> None:
    """An L of boxes: merging along ``b`` first leaves two rules, along ``a`` first three."""
    boxes = [[0, 3], [0, 4], [0, 5], [1, 3], [2, 3]]
    a, b = (x.reshape(-1) for x in np.meshgrid(np.arange(3), np.arange(3), indexing="ij"))
    c = np.array([int([i, 3 + j] in boxes) for i, j in zip(a, b, strict=True)])
    columns = tuple(
        Column(Feature(name), values, codes[None, :].astype(np.int16))
        for name, values, codes in (("a", bins(3), a), ("b", bins(3), b), ("c", ("no", "yes"), c))
    )
    assert len(merge_texts(TransactionTable((Block(columns, 9),)), boxes, 7)) == 2


def test_consequents_are_not_merged() -> None:
    """Ten rules "decile q → decile q" say more than any rule about wider ranges."""
    x = np.arange(100.0)
    table = TransactionTable.from_frame(pl.DataFrame({"a": x, "b": 2 * x}), bins=10)
    rules = recount(np.arange(10)[:, None], np.arange(10, 20), table)
    assert list(merge_intervals(rules, table)) == list(rules)


def test_the_bound_keeps_a_weak_bin_out() -> None:
    codes = np.array([0] * 10 + [1] * 10)
    hits = np.array([1] * 10 + [1] * 6 + [0] * 4)
    columns = (
        Column(Feature("a"), bins(3), codes[None, :].astype(np.int16)),
        Column(Feature("b"), ("no", "yes"), hits[None, :].astype(np.int16)),
    )
    table = TransactionTable((Block(columns, 20),))
    rules = recount(np.array([[0], [1]]), np.array([4, 4]), table)
    assert len(merge_intervals(rules, table, min_confidence=0.8)) == 1
    assert len(merge_intervals(rules, table, min_confidence=0.81)) == 2
    merged = merge_intervals(rules, table, min_confidence=0.8)
    assert merged.measure("confidence").tolist() == [16 / 20]


def test_overlapping_items_are_not_merged() -> None:
    table = table_of(RANGES, [1, 1, 1, 0, 0])
    rules = recount(np.array([[0], [1], [2]]), np.full(3, FIVE + 1), table)
    low = merge_intervals(rules.take(np.array([0, 1])), table)
    high = merge_intervals(rules.take(np.array([1, 2])), table)
    both = RuleSet.concat([low, high])
    assert set(merge_intervals(both, table)) == set(both)


def test_p_values_of_a_merged_rule_are_the_largest_of_its_parts_and_other_columns_are_missing() -> None:
    table = table_of(RANGES, [1, 1, 0, 0, 1])
    rules = recount(
        np.array([[0], [1], [4]]),
        np.full(3, FIVE + 1),
        table,
        extras={"p_value": np.array([0.01, 0.04, 0.02]), "p_simpler": np.array([math.nan] * 3), "score": np.ones(3)},
    )
    merged = merge_intervals(rules, table, min_confidence=1.0)
    assert [count_rule(table, rule)[1] for rule in merged] == [6]
    assert merged.extras["p_value"].tolist() == [0.04]
    assert np.isnan(merged.extras["p_simpler"]).all()
    assert np.isnan(merged.extras.get("score", np.array([math.nan]))).all()


def test_an_empty_rule_set_is_accepted() -> None:
    table = table_of(RANGES, [1] * 5)
    assert len(merge_intervals(RuleSet.empty("none"), table)) == 0
