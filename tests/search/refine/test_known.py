"""What follows from known rules: against every row that the known rules allow."""

from __future__ import annotations

from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.examples import examples
from thence.data.loaders import read_ontology
from thence.errors import ConfigError
from thence.language.items import Aspect, Feature, Interval, Item, Role
from thence.search.exact.miner import Exact
from thence.search.refine import drop_known, refine
from thence.search.refine.known import find_known
from thence.statements.rules.measures import Counts
from thence.statements.rules.ruleset import Rule, RuleSet
from thence.tables.transactions import TransactionTable

A, B, C = (Feature(name) for name in "abc")
VALUES = (0.5, 1.5, 2.5)


def rule_set(rules: list[Rule], held: int = 10, **fields: object) -> RuleSet:
    """Rules that hold in so many of ten rows."""
    counts = Counts.from_matrix([[20, 10, 12, held]] * len(rules))
    return RuleSet.from_rules(rules, counts, **fields)


@st.composite
def item_about(draw: st.DrawFn, feature: Feature) -> Item:
    low, high = draw(st.sampled_from([(-np.inf, 1), (-np.inf, 2), (1, 2), (1, np.inf), (2, np.inf)]))
    return Item.among(feature, Interval(low, high))


@st.composite
def small_rules(draw: st.DrawFn) -> Rule:
    target, *others = draw(st.permutations([A, B, C]))
    given_ = draw(st.lists(st.sampled_from(others), min_size=1, max_size=2, unique=True))
    return Rule(tuple(draw(item_about(one)) for one in given_), draw(item_about(target)))


def is_true(rule: Rule, row: dict[Feature, float]) -> bool:
    given_ = all(item.holds(row[item.feature]) for item in rule.antecedent)
    return not given_ or rule.consequent.holds(row[rule.consequent.feature])


@settings(max_examples=examples(200))
@given(st.lists(small_rules(), min_size=1, max_size=4), st.lists(small_rules(), min_size=1, max_size=6))
def test_what_is_left_out_is_true_wherever_the_known_rules_are(known: list[Rule], rules: list[Rule]) -> None:
    rows = [dict(zip((A, B, C), values, strict=True)) for values in product(VALUES, repeat=3)]
    allowed = [row for row in rows if all(is_true(one, row) for one in known)]
    follows = find_known(rule_set(rules), rule_set(known))
    for rule, left_out in zip(rules, follows.tolist(), strict=True):
        if left_out:
            assert all(is_true(rule, row) for row in allowed)
        # One known rule suffices for whatever it makes true in every row, unless the rule is true of any data.
        elif not all(is_true(rule, row) for row in rows):
            for one in known:
                if one.consequent.feature == rule.consequent.feature:
                    assert not all(is_true(rule, row) for row in rows if is_true(one, row))


def test_several_known_rules_lead_to_a_conclusion() -> None:
    low, on = Item.compare(A, "<", 3.3), Item.is_(B, "on")
    flows, more = Item.compare(C, ">", 4.0), Item.compare(C, ">", 1.0)
    known = rule_set([Rule((low,), on), Rule((on,), flows)])
    rules = rule_set([Rule((Item.compare(A, "<", 2.0),), more), Rule((more,), low)])
    assert find_known(rules, known).tolist() == [True, False]
    assert drop_known(rules, known).notes == ("1 rule that follows from known rules is left out",)


def test_a_more_confident_rule_says_more() -> None:
    known = rule_set([Rule((Item.compare(A, "<", 3.0),), Item.is_(B, "on"))], held=8)
    rule = Rule((Item.compare(A, "<", 2.0),), Item.is_(B, "on"))
    assert find_known(rule_set([rule], held=8), known).tolist() == [True]
    assert find_known(rule_set([rule], held=9), known).tolist() == [False]
    assert find_known(rule_set([rule], held=9), known, improvement=0.1).tolist() == [True]
    never = RuleSet.from_rules(list(known), Counts.from_matrix([[20, 0, 12, 0]]))
    assert find_known(rule_set([rule]), never).tolist() == [False]
    with pytest.raises(ConfigError, match="improvement must be between 0 and 1"):
        drop_known(known, known, improvement=2.0)


def reading(variable: str, kind: str, value: float) -> Item:
    return Item.compare(Feature(variable, role=Role.VARIABLE, label=kind), ">=", value)


def test_a_rule_in_a_more_specific_place_follows() -> None:
    left, right = reading("f", "flow", 5.0), reading("g", "pressure", 1.0)
    at = "(f:flow)-[in]->(p:Link)-[connected]-(j:Junction)<-[in]-(g:pressure)"
    known = rule_set([Rule((left,), right, at)])
    moved = (reading("x", "flow", 6.0), reading("y", "pressure", 0.5))
    places = {
        "(x:flow)-[in]->(q:Pipe)-[starts_at]->(n:Junction)<-[in]-(y:pressure)": True,
        "(x:flow)-[in]->(q:Pipe)-[near]->(n:Junction)<-[in]-(y:pressure)": False,
        "(x:flow)-[in]->(q:Pipe)-[starts_at]->(n:Tank)<-[in]-(y:pressure)": False,
        "(x:flow)-[in]->(q:Pipe)<-[in]-(y:pressure)": False,
    }
    water = read_ontology("water")
    for place, expected in places.items():
        rules = rule_set([Rule((moved[0],), moved[1], place)])
        assert find_known(rules, known, ontology=water).tolist() == [expected], place
        assert not find_known(rules, known).any()
    same = rule_set([Rule((left,), right, at)])
    assert find_known(same, known).tolist() == [True]
    assert find_known(rule_set([Rule((left,), right)]), known).tolist() == [False]


def test_variables_of_a_symmetric_pattern_may_be_exchanged() -> None:
    at = "(a:level)-[in]->(s:Tank)-[next]-(t:Tank)<-[in]-(b:level)"
    known = rule_set([Rule((reading("a", "level", 2.0),), reading("b", "level", 1.0), at)])
    turned = rule_set([Rule((reading("b", "level", 2.0),), reading("a", "level", 1.0), at)])
    assert find_known(turned, known).tolist() == [True]
    one_way = at.replace("]-(t", "]->(t")
    known = rule_set([Rule((reading("a", "level", 2.0),), reading("b", "level", 1.0), one_way)])
    turned = rule_set([Rule((reading("b", "level", 2.0),), reading("a", "level", 1.0), one_way)])
    assert find_known(turned, known).tolist() == [False]


def test_a_property_belongs_to_the_class_of_its_variable() -> None:
    def size(variable: str, label: str) -> Item:
        return Item.compare(Feature(variable, Aspect.PROPERTY, "diameter", role=Role.VARIABLE, label=label), "<", 0.3)

    known = rule_set([Rule((size("p", "Link"),), reading("f", "flow", 1.0), "(f:flow)-[in]->(p:Link)")])
    rules = rule_set([Rule((size("q", "Pipe"),), reading("g", "flow", 1.0), "(g:flow)-[in]->(q:Pipe)")])
    assert find_known(rules, known, ontology=read_ontology("water")).tolist() == [True]


def test_the_other_direction_is_not_told_if_it_is_known() -> None:
    on, wet = Item.is_(A, "on"), Item.is_(B, "wet")
    rules = rule_set([Rule((on,), wet)], extras={"both_ways": np.array([True])})
    known = RuleSet.from_rules([Rule((wet,), on)], Counts.from_matrix([[20, 12, 10, 10]]))
    (kept,) = drop_known(rules, known)
    assert not kept.both_ways
    assert drop_known(rules, rule_set([Rule((wet,), Item.is_(C, "x"))])).rule(0).both_ways


def test_refine_leaves_out_known_rules_and_counts_the_step() -> None:
    levels = [k % 20 for k in range(200)]
    frame = pl.DataFrame({"level": [float(x) for x in levels], "pump": ["on" if x < 8 else "off" for x in levels]})
    table = TransactionTable.from_frame(frame, bins=5)
    rules = Exact(consequent="pump").mine(table)
    every = refine(rules, table)
    known = every.filter(consequent="on")
    kept = refine(rules, table, known=known)
    assert [rule for rule in every if rule not in set(known)] == list(kept)
    assert {"step": "known", "before": 2, "after": 1} in kept.facts["refine"]["steps"]
