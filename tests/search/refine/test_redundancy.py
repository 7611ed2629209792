"""Trivia, mirror images, simpler and more general rules: each step against a naive one."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.examples import examples
from tests.search.refine.by_hand import binned_tables, count_rule, counts_are_right, covered, rows_of, some_rules
from thence.data.graph.ontology import Ontology
from thence.language.items import Aspect, Feature, Interval, Item, Role
from thence.language.patterns import Pattern
from thence.search.refine import drop_covered, drop_mirrored, drop_trivia, merge_intervals, simplify
from thence.statements.counting.recount import count_rules, recount
from thence.statements.rules.measures import Counts
from thence.statements.rules.ruleset import Rule, RuleSet
from thence.tables.blocks import Block, Column
from thence.tables.transactions import TransactionTable


def confidence(table: TransactionTable, rule: Rule) -> Fraction:
    _, held, _, both = count_rule(table, rule)
    return Fraction(both, held) if held else Fraction(0)


def frequency(table: TransactionTable, rule: Rule) -> Fraction:
    """How often the consequent holds where all features of the rule are known."""
    n, _, frequent, _ = count_rule(table, rule)
    return Fraction(frequent, n) if n else Fraction(0)


def codes_of(table: TransactionTable, item: Item) -> tuple[int, frozenset[int]]:
    for c, column in enumerate(table.blocks[0].columns):
        if column.feature == item.feature:
            return c, frozenset(column.codes_of(item))
    raise AssertionError(item)


def makes_superfluous(table: TransactionTable, general: Rule, special: Rule) -> bool:
    """Whether one rule holds wherever another does, claims as much, and is at least as confident."""
    mine = [codes_of(table, item) for item in special.antecedent]

    def is_wider(item: Item) -> bool:
        column, codes = codes_of(table, item)
        return any(column == c and own <= codes for c, own in mine)

    claimed, wanted = codes_of(table, general.consequent), codes_of(table, special.consequent)
    return (
        all(map(is_wider, general.antecedent))
        and claimed[0] == wanted[0]
        and claimed[1] <= wanted[1]
        and confidence(table, general) >= confidence(table, special)
    )


@given(binned_tables(max_frames=20), st.booleans(), st.integers(0, 2**31))
@settings(max_examples=examples(60))
def test_only_rules_that_no_other_makes_superfluous_remain(table: TransactionTable, wide: bool, seed: int) -> None:
    rules = some_rules(table, min_confidence=0.4)
    rng = np.random.default_rng(seed)
    rules = rules.take(np.sort(rng.permutation(len(rules))[:40]))
    if wide:
        rules = RuleSet.concat([rules, merge_intervals(rules, table)]).unique()
    kept = drop_covered(rules, table)
    listed = list(rules)
    expected = {
        rule
        for r, rule in enumerate(listed)
        if not any(
            makes_superfluous(table, other, rule) and (not makes_superfluous(table, rule, other) or o < r)
            for o, other in enumerate(listed)
            if o != r
        )
    }
    assert len(kept) == len(expected)
    assert set(kept) == expected or wide  # of equivalent rules the first one remains
    assert np.array_equal(covered(table, kept), covered(table, rules))


def test_a_rule_with_a_narrower_consequent_makes_a_vaguer_one_superfluous() -> None:
    frame = pl.DataFrame({"a": ["x", "x", "y", "y"], "b": ["u", "u", "v", "w"]})
    table = TransactionTable.from_frame(frame)
    left, b = Item.is_(Feature("a"), "x"), Feature("b")
    rules = [Rule((left,), Item.among(b, ["u", "v"])), Rule((left,), Item.is_(b, "u"))]
    assert list(drop_covered(count_rules(rules, table), table)) == [rules[1]]


def test_equivalent_items_count_as_the_same_item() -> None:
    """``≠ 'z'`` and ``∈ {'x', 'y'}`` are equivalent: the rules must not drop each other."""
    frame = pl.DataFrame({"a": ["x", "y", "z", "x"], "b": ["u", "u", "v", "u"]})
    table = TransactionTable.from_frame(frame)
    a, target = Feature("a"), Item.is_(Feature("b"), "u")
    rules = [Rule((Item.among(a, ["z"], negated=True),), target), Rule((Item.among(a, ["x", "y"]),), target)]
    assert list(drop_covered(count_rules(rules, table), table)) == [rules[0]]


@given(binned_tables(max_frames=20), st.sampled_from([0.0, 0.05, 0.3]), st.integers(0, 2**31))
@settings(max_examples=examples(60))
def test_remaining_rules_improve_on_all_their_simpler_versions(
    table: TransactionTable, improvement: float, seed: int
) -> None:
    rules = some_rules(table, min_confidence=0.4, max_antecedents=3)
    rng = np.random.default_rng(seed)
    rules = rules.take(np.sort(rng.permutation(len(rules))[:30]))
    kept = simplify(rules, table, improvement=improvement)
    assert counts_are_right(table, kept)
    for rule, gain in zip(kept, kept.measure("improvement"), strict=True):
        simpler = [
            confidence(table, Rule(some, rule.consequent))
            for size in range(1, len(rule.antecedent))
            for some in combinations(rule.antecedent, size)
        ]
        true_gain = confidence(table, rule) - max([*simpler, frequency(table, rule)])
        assert gain == pytest.approx(float(true_gain))
        assert true_gain > 0 and gain >= improvement - 1e-9


@given(binned_tables(max_frames=20), st.integers(0, 2**31))
@settings(max_examples=examples(60))
def test_a_dropped_rule_leaves_a_simpler_one_as_confident_unless_it_is_no_better_than_chance(
    table: TransactionTable, seed: int
) -> None:
    rules = some_rules(table, min_confidence=0.4, max_antecedents=3)
    rng = np.random.default_rng(seed)
    rules = rules.take(np.sort(rng.permutation(len(rules))[:30]))
    kept = simplify(rules, table)
    remaining = set(kept)
    for rule in rules:
        if rule in remaining:
            continue
        replacements = [
            other
            for other in remaining
            if other.consequent == rule.consequent
            and set(other.antecedent) <= set(rule.antecedent)
            and confidence(table, other) >= confidence(table, rule)
        ]
        n, _, frequent, _ = count_rule(table, rule)
        at_most_frequent = confidence(table, rule) <= Fraction(frequent, n)
        # A simpler version may be no better than no items at all, on the rows in which its features are known.
        empty = [
            some
            for size in range(1, len(rule.antecedent) + 1)
            for some in combinations(rule.antecedent, size)
            if confidence(table, Rule(some, rule.consequent)) >= confidence(table, rule)
            and confidence(table, Rule(some, rule.consequent))
            <= Fraction(
                count_rule(table, Rule(some, rule.consequent))[2], count_rule(table, Rule(some, rule.consequent))[0]
            )
        ]
        assert replacements or at_most_frequent or empty


def test_a_superfluous_item_is_removed_even_if_the_simpler_rule_is_not_in_the_set() -> None:
    """A learning miner need not propose the simpler rule."""
    frame = pl.DataFrame({"a": ["x"] * 4 + ["y"] * 4, "b": ["u"] * 4 + ["v"] * 4, "c": ["k", "l"] * 4})
    table = TransactionTable.from_frame(frame)
    rules = recount(np.array([[0, 4]]), np.array([2]), table, extras={"probability": np.array([0.9])})
    kept = simplify(rules, table)
    assert [str(rule) for rule in kept] == ["(a).value = 'x' → (b).value = 'u'"]
    assert kept.counts.n_antecedent.tolist() == [4]
    assert np.isnan(kept.extras.get("probability", np.array([np.nan]))).all()


def test_a_rule_no_better_than_chance_is_dropped_without_replacement() -> None:
    frame = pl.DataFrame({"a": ["x", "x", "y", "y"], "b": ["u", "v", "u", "v"]})
    table = TransactionTable.from_frame(frame)
    assert len(simplify(recount(np.array([[0]]), np.array([2]), table), table)) == 0


def test_a_simpler_version_replaces_a_rule_only_if_it_reaches_the_bound() -> None:
    a = ["x"] * 10 + ["y"] * 10
    b = ["u"] * 8 + ["v"] * 12
    c = (["k"] * 5 + ["l"] * 5) * 2
    table = TransactionTable.from_frame(pl.DataFrame({"a": a, "b": b, "c": c}))
    rules = recount(np.array([[0, 4]]), np.array([2]), table)  # confidence 1, without c 0.8, without both 0.4
    assert list(simplify(rules, table, improvement=0.2)) == list(rules)
    assert len(simplify(rules, table, improvement=0.3)) == 0
    replaced = simplify(rules, table, improvement=0.3, min_confidence=0.8)
    assert [str(rule) for rule in replaced] == ["(a).value = 'x' → (b).value = 'u'"]
    assert replaced.measure("improvement") == pytest.approx([0.4])


@given(binned_tables())
@settings(max_examples=examples(40))
def test_trivial_rules_are_those_whose_consequent_always_holds_or_is_about_the_same_feature(
    table: TransactionTable,
) -> None:
    rules = some_rules(table)
    expected = [
        rule
        for rule in rules
        if not all(rows_of(table, rule)[2][rows_of(table, rule)[0]])
        and not table.blocks[0].columns[codes_of(table, rule.consequent)[0]].is_constant
    ]
    assert list(drop_trivia(rules, table)) == expected


def test_a_rule_about_one_feature_on_both_sides_is_trivial() -> None:
    table = TransactionTable.from_frame(pl.DataFrame({"a": [1.0, 2.0, 3.0], "b": ["u", "v", "u"]}), bins=3)
    a = Feature("a")
    rule = Rule((Item.among(a, Interval(2, 3)),), Item.compare(a, "≥", 2.0))
    assert len(drop_trivia(count_rules([rule], table), table)) == 0


def test_overlapping_existential_statements_and_aggregates_are_trivial() -> None:
    reading = Item.among(Feature("", role=Role.SOME, label="flow"), Interval(1, 2))
    long = Item.among(Feature("", Aspect.PROPERTY, "length", role=Role.SOME), Interval(5, 6))
    bare = Feature("", role=Role.SOME, label="flow", where=(reading,))
    more = Feature("", role=Role.SOME, label="flow", where=(long, reading))
    total = Feature("n", name="total", role=Role.VARIABLE, label="flow", reads=frozenset(["arriving"]))
    mean = Feature("n", name="mean", role=Role.VARIABLE, label="flow", reads=frozenset(["arriving"]))
    other = Feature("other")
    codes = np.array([[0, 1, 1, 0]], np.int16)
    columns = tuple(Column(f, (False, True), codes) for f in (bare, more, total, mean, other))
    table = TransactionTable((Block(columns, 4),))
    # items: 1, 3, 5, 7, 9 are "true" of each column
    rules = recount(np.array([[3, -1], [5, -1], [5, 7], [5, -1]]), np.array([1, 7, 9, 9]), table)
    assert [str(rule.consequent.feature) for rule in drop_trivia(rules, table)] == ["(other).value"]
    assert len(drop_trivia(rules, table)) == 1


def test_consequents_that_follow_from_the_ontology_are_trivial() -> None:
    label = {name: Feature("v", Aspect.LABEL, name, role=Role.VARIABLE) for name in ("Tank", "Node")}
    edge = Feature("p", Aspect.EDGE, "starts_at", role=Role.VARIABLE, other="v")
    wide = Feature("p", Aspect.EDGE, "connected", role=Role.VARIABLE, other="v")
    length = Feature("p", Aspect.PROPERTY, "length", role=Role.VARIABLE)
    pipe = Feature("p", Aspect.LABEL, "Link", role=Role.VARIABLE)
    codes = np.array([[0], [1], [1], [0]], np.int16)
    series = np.arange(4, dtype=np.int32)
    statements = (label["Tank"], label["Node"], edge, wide, pipe)
    columns = [Column(f, (False, True), codes, series, context=True) for f in statements]
    columns.append(Column(length, ("short", "long"), codes, series, context=True))
    table = TransactionTable((Block(tuple(columns), 3, 4),))
    tank, node, start, near, link, long = 1, 3, 5, 7, 9, 11
    follow = [(tank, node), (start, node), (start, near), (start, link), (long, link)]
    open_ = [(node, tank), (near, start), (link, long), (tank, link)]
    rules = recount(np.array([[a] for a, _ in follow + open_]), np.array([b for _, b in follow + open_]), table)
    ontology = Ontology.water()
    assert len(drop_trivia(rules, table)) == len(rules)
    assert list(drop_trivia(rules, table, ontology=ontology)) == list(rules)[len(follow) :]


def symmetric_table() -> TransactionTable:
    pattern = Pattern.parse(
        "(p:Pipe)-[ends_at]->(j:Junction), (q:Pipe)-[ends_at]->(j), (f:flow)-[in]->(p), (g:flow)-[in]->(q), "
        "(h:pressure)-[in]->(j)"
    )
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 2, (6, 30)).astype(np.int16)
    columns = []
    for name, place, kind in (("f", "p", "flow"), ("g", "q", "flow"), ("h", "j", "pressure")):
        series = rng.integers(0, 6, 4).astype(np.int32)
        columns.append(
            Column(Feature(name, role=Role.VARIABLE, label=kind, place=place), ("low", "high"), codes, series)
        )
    for name in ("p", "q"):
        facts = np.array([[0], [1], [0], [1]], np.int16)
        feature = Feature(name, Aspect.PROPERTY, "length", role=Role.VARIABLE, label="Pipe")
        columns.append(Column(feature, ("short", "long"), facts, rng.permutation(4).astype(np.int32), context=True))
    names = tuple(("p", "q", "j", "f", "g", "h") for _ in range(4))
    return TransactionTable((Block(tuple(columns), 30, 4, pattern=pattern, embeddings=names),))


def mirrored(rule: Rule) -> Rule:
    swap = {"f": "g", "g": "f", "p": "q", "q": "p"}

    def moved(item: Item) -> Item:
        subject = swap.get(item.feature.subject, item.feature.subject)
        return replace(item, feature=replace(item.feature, subject=subject))

    return Rule(tuple(map(moved, rule.antecedent)), moved(rule.consequent), rule.pattern, rule.place)


def test_of_two_mirror_images_one_is_kept_whatever_the_order_of_rules_and_columns() -> None:
    table = symmetric_table()
    rules = some_rules(table, min_confidence=0.0)
    kept = drop_mirrored(rules, table)
    remaining, known = set(kept), set(rules)
    assert 0 < len(kept) < len(rules)
    for rule in rules:
        image = mirrored(rule)
        if image not in known or image == rule:
            assert rule in remaining
        else:
            assert (rule in remaining) != (image in remaining)
    (block,) = table.blocks
    turned = TransactionTable((replace(block, columns=block.columns[::-1]),))
    assert set(drop_mirrored(some_rules(turned, min_confidence=0.0), turned)) == remaining
    single = rules.take(np.array([rule not in remaining for rule in rules]))
    assert list(drop_mirrored(single, table)) == list(single)


def test_every_step_accepts_an_empty_rule_set() -> None:
    table = symmetric_table()
    none = np.zeros(0, np.int64)
    empty = RuleSet((), np.zeros((0, 1)), none, Counts(none, none, none, none))
    for step in (drop_trivia, drop_mirrored, simplify, drop_covered):
        assert len(step(empty, table)) == 0


def test_memory_does_not_grow_with_the_square_of_the_items() -> None:
    sensors, bins = 1_000, 4
    codes = np.tile(np.arange(bins), (sensors, 1))
    frame = pl.DataFrame({f"s{at:04}": [f"b{code}" for code in row] for at, row in enumerate(codes)})
    table = TransactionTable.from_frame(frame)
    first = np.arange((sensors - 1) * bins)
    rules = recount(first[:, None], first + bins, table)
    square = (sensors * bins) ** 2
    tracemalloc.start()
    assert len(drop_trivia(rules, table)) == len(rules)
    assert len(drop_covered(rules, table)) == len(rules)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < square / 2
