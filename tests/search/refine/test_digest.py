"""The digest: informative rules, each fact once, both directions in one sentence, in an order to be read in."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings

import thence as th
from tests.helpers.examples import examples
from tests.helpers.networks import network, row_of_junctions
from tests.search.refine.by_hand import binned_tables, rows_of, some_rules
from thence.errors import ConfigError
from thence.search.refine.digest import MOST_ALIKE, digest, fact_numbers, information
from thence.search.refine.encoding import encode_rules
from thence.statements.rules.ruleset import Rule, RuleSet
from thence.tables.transactions import TransactionTable


def written_out(table: TransactionTable, rule: Rule) -> frozenset[tuple[bytes, bytes]]:
    """The distinct pairs of frames of the antecedent and of the consequent, place by place, where both occur."""
    block = table.blocks[0]
    _, held, target = (mask.reshape(block.n_embeddings, block.n_frames) for mask in rows_of(table, rule))
    return frozenset((a.tobytes(), b.tobytes()) for a, b in zip(held, target, strict=True) if a.any() and b.any())


@given(binned_tables())
@settings(max_examples=examples(80))
def test_the_same_fact_has_the_same_number_and_no_other(table: TransactionTable) -> None:
    rules = some_rules(table)
    facts, converses = fact_numbers(encode_rules(rules, table), len(rules))
    exact = [written_out(table, rule) for rule in rules]
    swapped = [frozenset((b, a) for a, b in pairs) for pairs in exact]
    single = rules.measure("antecedents") == 1
    for a in range(len(rules)):
        for b in range(len(rules)):
            assert (facts[a] == facts[b]) == (exact[a] == exact[b])
            if single[a] and exact[a]:
                assert (converses[a] == facts[b]) == (swapped[a] == exact[b])


@given(binned_tables())
@settings(max_examples=examples(60))
def test_a_digest_selects_and_changes_no_counts(table: TransactionTable) -> None:
    rules = some_rules(table)
    short = digest(rules, table, at_most=7, min_confidence=0.5)
    assert len(short) <= 7
    assert set(short) <= set(rules)
    index = {rule: r for r, rule in enumerate(rules)}
    for r, rule in enumerate(short):
        assert short.counts[np.array([r])].n_both == rules.counts[np.array([index[rule]])].n_both
    # Each fact once: no two rules state the same one, nor one the converse of another that holds both ways.
    exact = [written_out(table, rule) for rule in short]
    assert len(set(exact)) == len(exact)
    both = short.extras["both_ways"]
    for a in range(len(short)):
        if both[a]:
            assert frozenset((y, x) for x, y in exact[a]) not in [exact[b] for b in range(len(short)) if b != a]


def test_a_consequent_that_is_nearly_always_true_is_left_out() -> None:
    rng = np.random.default_rng(0)
    mode = rng.choice(["day", "night"], 1000)
    frame = pl.DataFrame(
        {
            "mode": mode,
            "fan": np.where(mode == "day", "on", "off"),
            "alarm": np.where(rng.random(1000) < 0.02, "yes", "no"),
            "site": ["north"] * 1000,
        }
    )
    table = TransactionTable.from_frame(frame)
    rules = th.Exact().mine(table)
    assert any("alarm" in str(rule.consequent) for rule in rules)
    short = th.refine(rules, table, digest=20)
    assert {str(rule.consequent.feature) for rule in short} <= {"(mode).value", "(fan).value"}
    assert len(short) == 1  # the other one says the same of the complement
    assert all(rule.english.endswith("and vice versa") for rule in short)


def test_nothing_worth_reading_is_said() -> None:
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({name: np.where(rng.random(500) < 0.03, "yes", "no") for name in "abc"})
    table = TransactionTable.from_frame(frame)
    rules = th.Exact().mine(table)
    short = digest(rules, table)
    assert len(rules) > 0 and len(short) == 0
    assert "nearly as frequent without the antecedent" in short.notes[-1]


def test_one_law_in_several_patterns_is_told_once() -> None:
    # In a row of pipes, each flow is that of the pipe that starts at the junction where the other ends, plus a demand.
    system = row_of_junctions()
    table = th.transactions(system, enrich="lifted", bins=3)
    rules = th.Exact(max_antecedents=1, min_confidence=0.7).mine(table)
    short = th.refine(rules, table, digest=50, min_confidence=0.7)
    several = [r for r in range(len(short)) if short.also_known_as(r)]
    assert several
    for r in several:
        own = short.rule(r).english
        assert all(len(own) <= len(other) + len(", and vice versa") for other in short.also_known_as(r))
    said = [rule.english for rule in short] + [other for r in several for other in short.also_known_as(r)]
    assert len(set(said)) == len(said)


def test_the_first_rules_are_about_different_features() -> None:
    system = network(frames=400)
    table = th.transactions(system, enrich="lifted", bins=3)
    short = th.refine(th.Exact().mine(table), table, digest=50, min_confidence=0.8)

    def of(item: th.Item) -> object:
        # Total, mean, lowest and highest of the same sensors are one.
        several = item.feature.reads and not item.feature.name.startswith("value of ")
        return item.feature.reads if several else item.feature

    about = [(rule.pattern, frozenset(of(item) for item in (*rule.antecedent, rule.consequent))) for rule in short]
    turns = [about[:r].count(one) for r, one in enumerate(about)]
    assert turns == sorted(turns)
    assert max(turns) < MOST_ALIKE


def test_a_rule_of_one_place_does_not_say_every() -> None:
    system = network(frames=300)
    table = th.transactions(system, enrich="lifted", bins=3)
    rules = th.Exact().mine(table)
    places = rules.measure("places")
    assert (places == 1).any() and (places > 1).any()
    for r in np.flatnonzero(places == 1)[:20]:
        assert rules.rule(int(r)).english.startswith(("for one ", "for the "))
    for r in np.flatnonzero(places > 1)[:20]:
        assert rules.rule(int(r)).english.startswith("for every ")


def test_a_digest_survives_files_and_keeps_its_order(tmp_path: Path) -> None:
    table = th.transactions(row_of_junctions(), enrich="lifted", bins=3)
    rules = th.refine(th.Exact(max_antecedents=1, min_confidence=0.7).mine(table), table, digest=9, min_confidence=0.7)
    assert [rule.english for rule in rules.top(4)] == [rule.english for rule in rules][:4]
    for name in ("rules.json", "rules.parquet"):
        th.write_rules(rules, tmp_path / name)
        back = th.read_rules(tmp_path / name)
        assert [rule.english for rule in back] == [rule.english for rule in rules], name
        assert [back.also_known_as(r) for r in range(len(back))] == [rules.also_known_as(r) for r in range(len(rules))]


def test_sorted_rules_keep_their_order_at_the_top() -> None:
    table = th.transactions(network(), enrich="none", bins=3)
    rules = th.Exact(max_antecedents=1).mine(table)
    ordered = rules.sort("support", descending=False)
    assert list(ordered.top(3)) == list(ordered)[:3]
    assert list(rules.top(3)) == list(rules.sort(["zhang", "support"]))[:3]
    assert list(ordered.top(3, by="lift")) == list(rules.sort(["lift", "support"]))[:3]


def test_information_is_that_of_the_definition() -> None:
    counts = th.RuleSet.from_rules([], th.RuleSet.empty().counts)
    assert len(information(counts)) == 0
    table = TransactionTable.from_frame(pl.DataFrame({"a": ["x"] * 4 + ["y"] * 4, "b": ["u"] * 3 + ["v"] * 5}))
    rules = RuleSet.concat([th.Exact(min_confidence=0.0).mine(table)])
    for r, bits in enumerate(information(rules)):
        n, n_a, n_c, n_b = (int(getattr(rules.counts, k)[r]) for k in ("n", "n_antecedent", "n_consequent", "n_both"))
        p, q = n_b / n_a, n_c / n
        expected = sum(x * np.log2(x / y) for x, y in ((p, q), (1 - p, 1 - q)) if x > 0) if p > q else 0.0
        assert bits == pytest.approx(expected)


def test_a_digest_of_nothing_and_impossible_sizes() -> None:
    table = TransactionTable.from_frame(pl.DataFrame({"a": ["x", "y"]}))
    assert len(digest(RuleSet.empty(), table)) == 0
    with pytest.raises(ConfigError, match="at least 1 rule"):
        digest(RuleSet.empty(), table, at_most=0)


def test_no_two_patterns_tell_of_the_same_series() -> None:
    data = th.datasets.load("net3", days=7)
    table = th.transactions(data, enrich="lifted", bins=5)
    found = th.refine(th.Exact(max_antecedents=1, min_confidence=0.8).mine(table), table, digest=50)
    pressures = [rule.pattern for rule in found if {item.feature.label for item in rule.antecedent} == {"pressure"}]
    assert pressures
    read: dict[frozenset[frozenset[str]], set[str]] = {}
    for rule in found:
        block = next(block for block in table.blocks if str(block.pattern) == rule.pattern)
        names = [item.feature.subject for item in (*rule.antecedent, rule.consequent)]
        if any(item.feature.reads for item in (*rule.antecedent, rule.consequent)):
            continue
        places = [block.pattern.variables.index(name) for name in names]  # type: ignore[union-attr]
        pairs = frozenset(frozenset(one[at] for at in places) for one in block.embeddings)
        read.setdefault(pairs, set()).add(rule.pattern)
    assert all(len(patterns) == 1 for patterns in read.values())


def test_the_same_items_are_told_in_one_direction() -> None:
    rng = np.random.default_rng(3)
    a = rng.integers(0, 2, 3000)
    b = np.where(rng.random(3000) < 0.02, 1 - a, a)
    c = np.where(rng.random(3000) < 0.02, 1 - a, a)
    frame = pl.DataFrame({"a": a.astype(str), "b": b.astype(str), "c": c.astype(str)})
    table = TransactionTable.from_frame(frame)
    found = digest(th.Exact(max_antecedents=2, min_confidence=0.5).mine(table), table)
    sets = [frozenset([*rule.antecedent, rule.consequent]) for rule in found]
    assert len(set(sets)) == len(sets)
