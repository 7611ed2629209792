"""Exceptions: a planted one is named and comes first, chance is not taken for one, the text says what was counted."""

from __future__ import annotations

from dataclasses import replace
from math import comb
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import thence as th
from tests.helpers.examples import examples
from tests.helpers.pumps import pumps
from tests.search.refine.by_hand import binned_tables, some_rules
from thence.language.items import Feature, Item, Role
from thence.search.refine.counterexamples import add_exceptions, binomial_tail, find_exceptions
from thence.statements.counting.recount import recount, rule_rows
from thence.statements.rules.measures import Counts
from thence.statements.rules.ruleset import ENOUGH_ROWS, RuleSet
from thence.tables.blocks import Block, Column
from thence.tables.transactions import TransactionTable

PATTERN = "(s:status)-[in]->(p:Pump)<-[in]-(f:flow)"


class Mined(NamedTuple):
    rules: RuleSet
    table: TransactionTable


def mine(system: Any) -> Mined:
    table = th.transactions(system, windows="10min", enrich="lifted", bins=2, patterns=[PATTERN])
    rules = th.Exact(max_antecedents=1, min_support=0.05, min_confidence=0.8).mine(table)
    return Mined(th.refine(rules, table, digest=20, min_confidence=0.8), table)


@pytest.fixture(scope="module")
def run() -> Mined:
    return mine(pumps())


def test_a_planted_exception_is_named_in_the_rule(run: Mined) -> None:
    rules = run.rules
    number = next(r for r in range(len(rules)) if "PU-2" in str(rules.extras["except"][r]))
    assert rules.extras["places_judged"][number] == 8
    assert rules.extras["places_held"][number] == 7
    text = rules.measures_text(number)
    assert "holds in 7 of the 8 places where it applies; not at PU-2 (" in text
    assert text.endswith(" %)")


def test_the_frame_says_where_a_rule_fails_and_how_it_does_elsewhere(run: Mined) -> None:
    frame = th.evaluate.find_exceptions(run.rules, run.table)
    first = frame.row(0, named=True)
    assert first["place"] == "PU-2"
    assert first["site"] is None
    assert first["nodes"][0]["node"] == "PU-2"
    assert first["beyond_chance"]
    assert first["confidence"] == first["holds"] / first["applies"] < 0.8 <= first["elsewhere"]
    assert (first["places"], first["places_held"]) == (8, 7)
    rule = run.rules.rule(first["rule"])
    assert first["english"] == rule.english
    applies, holds = rule_rows(rule, run.table)
    where = [names[0] for names in run.table.blocks[0].embeddings].index("PU-2")
    assert (applies[where].sum(), holds[where].sum()) == (first["applies"], first["holds"])
    others = np.arange(len(applies)) != where
    assert first["elsewhere"] == holds[others].sum() / applies[others].sum()


def test_the_table_behind_the_rules_is_used_by_default(run: Mined) -> None:
    assert th.evaluate.find_exceptions(run.rules).equals(th.evaluate.find_exceptions(run.rules, run.table))
    loose = replace(run.rules, coverage_of=None)
    with pytest.raises(th.errors.MiningError, match="carry no table"):
        th.evaluate.find_exceptions(loose)
    with pytest.raises(th.errors.ConfigError, match="min_rows"):
        th.evaluate.find_exceptions(run.rules, min_rows=0)
    with pytest.raises(th.errors.ConfigError, match="min_confidence"):
        th.evaluate.find_exceptions(run.rules, min_confidence=1.5)


def test_without_an_exception_the_frame_is_empty_and_keeps_its_columns() -> None:
    run = mine(pumps(broken=""))
    frame = th.evaluate.find_exceptions(run.rules, run.table)
    assert frame.height == 0
    assert frame.schema["nodes"] == pl.List(pl.Struct({"variable": pl.String, "node": pl.String}))
    number = int(np.argmax(run.rules.measure("places_judged")))
    assert "holds in all 8 places where it applies" in run.rules.measures_text(number)


def test_plain_rules_have_no_places() -> None:
    frame = pl.DataFrame({"a": ["x", "y"] * 20, "b": ["u", "v"] * 20})
    table = TransactionTable.from_frame(frame)
    rules = th.refine(th.Exact().mine(table), table)
    assert "places_held" not in rules.extras
    assert find_exceptions(rules, table).height == 0
    assert add_exceptions(rules, table) is rules


def test_a_place_carries_its_site() -> None:
    sites = [replace(pumps(4, broken=""), name="north"), replace(pumps(4, broken="PU-1", seed=1), name="south")]
    run = mine(sites)
    first = th.evaluate.find_exceptions(run.rules, run.table).row(0, named=True)
    assert (first["site"], first["place"]) == ("south", "south/PU-1")


@settings(deadline=None, max_examples=examples(40))
@given(table=binned_tables(), bound=st.sampled_from([0.5, 0.7, 0.9]))
def test_held_and_judged_places_are_those_counted_row_by_row(table: TransactionTable, bound: float) -> None:
    rules = some_rules(table)
    if not len(rules) or not table.blocks[0].is_lifted:
        return
    judged = add_exceptions(rules, table, min_confidence=bound)
    for number, rule in enumerate(rules):
        applies, holds = (rows.sum(axis=1) for rows in rule_rows(rule, table))
        enough = applies >= ENOUGH_ROWS
        assert judged.extras["places_judged"][number] == enough.sum()
        held = enough & (holds >= bound * applies - 1e-9)
        assert judged.extras["places_held"][number] == held.sum()
        named = str(judged.extras["except"][number])
        assert bool(named) == bool((enough & ~held).any())
        for place in np.flatnonzero(enough & ~held)[:1]:
            assert f"e{place}" in named or "more" in named or named.count(",") >= 2


def test_many_exceptions_are_counted_and_the_worst_named() -> None:
    extras = {
        "places": np.array([9.0, 9.0, np.nan]),
        "places_judged": np.array([5.0, 9.0, np.nan]),
        "places_held": np.array([1.0, 9.0, np.nan]),
        "except": np.array(["A (below 1 %), B (2 %), C (3 %) and 1 more", "", "nan"]),
    }
    items = (Item.is_(Feature("a"), "x"), Item.is_(Feature("b"), "y"))
    counts = Counts.from_matrix([[90, 40, 42, 39]] * 3)
    rules = RuleSet(items, np.zeros((3, 1)), np.ones(3), counts, extras=extras)
    assert rules.places_text(0) == (
        "holds in 1 of the 5 places where it applies at least 10 times; "
        "not at A (below 1 %), B (2 %), C (3 %) and 1 more"
    )
    assert rules.places_text(1) == "holds in all 9 places where it applies"
    assert rules.places_text(2) == ""


def test_a_single_episode_at_one_of_many_places_is_not_beyond_chance() -> None:
    """The rows of an episode resemble each other: however many they are, they are one observation."""
    frames, places = 400, 40
    held = np.zeros((places, frames), np.int16)
    held[1:, ::20] = 1  # every other place: twenty episodes of one row
    held[0, 50:150] = 1
    flow = held.copy()
    flow[0] = 0
    flow[1:4, ::40] = 0
    series = np.arange(places, dtype=np.int32)
    columns = (
        Column(Feature("s", role=Role.VARIABLE), ("off", "on"), held, series),
        Column(Feature("f", role=Role.VARIABLE), ("low", "high"), flow, series),
    )
    names = tuple((f"e{e}",) for e in range(places))
    table = TransactionTable((Block(columns, frames, places, embeddings=names),))
    rules = recount(np.array([[1]]), np.array([3]), table)
    found = find_exceptions(rules, table, min_confidence=0.8)
    assert dict(zip(found["place"], found["beyond_chance"], strict=True)) == {
        **dict.fromkeys(["e1", "e2", "e3"], True),
        "e0": False,
    }
    assert found["place"].to_list()[-1] == "e0"


@given(st.integers(0, 12), st.floats(0.01, 0.99))
def test_the_tail_of_the_binomial_is_exact(trials: int, probability: float) -> None:
    for most in range(trials + 1):
        expected = sum(comb(trials, k) * probability**k * (1 - probability) ** (trials - k) for k in range(most + 1))
        assert binomial_tail(most, trials, probability) == pytest.approx(expected, abs=1e-12)


def test_a_few_places_that_are_named_are_not_counted_again() -> None:
    extras = {
        "support_time": np.array([0.4, 0.4]),
        "support_embeddings": np.array([0.03, 0.03]),
        "where": np.array(["Pump 1, Pump 2", "Pump 1, Pump 2"]),
        "places": np.array([2, 2]),
        "places_judged": np.array([2.0, 2.0]),
        "places_held": np.array([2.0, 1.0]),
        "except": np.array(["", "Pump 2 (12 %)"]),
    }
    items = (Item.is_(Feature("a"), "x"), Item.is_(Feature("b"), "y"))
    rules = RuleSet(items, np.zeros((2, 1)), np.ones(2), Counts.from_matrix([[90, 40, 42, 39]] * 2), extras=extras)
    assert "holds in" not in rules.measures_text(0)
    assert rules.measures_text(1).endswith("; holds in 1 of the 2 places where it applies; not at Pump 2 (12 %)")
