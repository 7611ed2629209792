"""Charts of rules: valid, with the right numbers, and an error where they cannot be drawn."""

from __future__ import annotations

import importlib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import thence as th
from thence._base.display.plots import KINDS, plot_rules, quantity
from thence.language.items import Aspect, Feature, Role
from thence.statements.rules.measures import Counts


@pytest.fixture(scope="module")
def rules() -> th.RuleSet:
    return th.mine(th.datasets.load("toy"), windows="1h", bins=3, refine=None, progress="off").rules


@pytest.mark.parametrize("kind", KINDS)
def test_every_chart_is_valid(kind: str, rules: th.RuleSet) -> None:
    chart = rules.plot(kind)
    assert chart.to_dict()  # checks the chart against the schema


def test_a_point_is_a_rule(rules: th.RuleSet) -> None:
    values = rules.plot().data.values
    assert len(values) == len(rules)
    assert [value["support"] for value in values] == rules.measure("support").tolist()
    assert [value["confidence"] for value in values] == rules.measure("confidence").tolist()
    assert values[0]["rule"] == rules.rule(0).english


def test_coverage_ends_at_that_of_all_rules(rules: th.RuleSet) -> None:
    values = rules.plot("coverage").data.values
    assert values[-1] == {"rules": len(rules), "covered": rules.data_coverage}
    shares = [value["covered"] for value in values]
    assert shares == sorted(shares)


def test_the_cells_of_the_matrix_count_rules(rules: th.RuleSet) -> None:
    values = rules.plot("matrix").to_dict()["data"]["values"]
    counted: dict[tuple[str, str], int] = {}
    for rule in rules:
        for given in {quantity(item.feature) for item in rule.antecedent}:
            pair = (given, quantity(rule.consequent.feature))
            counted[pair] = counted.get(pair, 0) + 1
    assert {(value["given"], value["then"]): value["rules"] for value in values} == counted


def test_a_rule_of_both_directions_counts_in_both_cells() -> None:
    items = (th.Item.is_(Feature("a"), "on"), th.Item.is_(Feature("b"), "on"))
    rules = th.RuleSet(items, np.array([[0]]), np.array([1]), Counts.from_matrix([[10, 4, 5, 3]]))
    both = replace(rules, extras={"both_ways": np.array([True])})
    for given, count in ((rules, 1), (both, 2)):
        assert len(given.plot("matrix").to_dict()["data"]["values"]) == count


def test_a_large_set_is_drawn_in_part_and_says_so() -> None:
    items = (th.Item.is_(Feature("a"), "on"), th.Item.is_(Feature("b"), "on"))
    counts = Counts.from_matrix(np.tile([[10, 4, 5, 3]], (3_000, 1)))
    rules = th.RuleSet(items, np.zeros((3_000, 1), int), np.ones(3_000, int), counts)
    chart = rules.plot()
    assert (chart.title, len(chart.data.values)) == ("the first 2,000 of 3,000 rules", 2_000)


def test_what_cannot_be_drawn_is_said(rules: th.RuleSet) -> None:
    with pytest.raises(th.errors.ConfigError, match="unknown kind of plot 'matrx' \\(did you mean 'matrix'\\?\\)"):
        rules.plot("matrx")
    with pytest.raises(th.errors.ConfigError, match="there are no rules to draw"):
        th.RuleSet.empty().plot()
    with pytest.raises(th.errors.ConfigError, match="count_rules"):
        replace(rules, coverage_of=None).plot("coverage")


def test_without_the_extra_the_error_says_what_to_install(rules: th.RuleSet, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = importlib.import_module

    def without(name: str, *rest: Any) -> Any:
        if name == "altair":
            raise ImportError("No module named 'altair'")
        return whole(name, *rest)

    monkeypatch.setattr(importlib, "import_module", without)
    with pytest.raises(th.errors.MissingExtraError, match=r"thence\[plots\]"):
        plot_rules(rules, "scatter")


@pytest.mark.parametrize(
    ("feature", "name"),
    [
        (Feature("s1", label="flow"), "flow"),
        (Feature("s1"), "s1"),
        (Feature("s1", name="change", label="flow"), "change of flow"),
        (Feature("n", name="mean of the Links that end there", role=Role.VARIABLE, label="flow"), "mean flow"),
        (Feature("n", name="value of the Link that ends there", role=Role.VARIABLE, label="flow"), "flow"),
        (Feature("p", Aspect.PROPERTY, "base_demand", role=Role.NODE), "base demand"),
        (Feature("time", name="hour", role=Role.TIME), "hour"),
    ],
)
def test_quantities_have_names(feature: Feature, name: str) -> None:
    assert quantity(feature) == name
