"""Charts of rules: valid, with the right numbers, and an error where they cannot be drawn."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thence as th
from thence._base.display.plots import KINDS, quantity
from thence._base.display.svg import Chart, axis, nice_ticks
from thence.language.items import Aspect, Feature, Role
from thence.statements.rules.measures import Counts

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def rules() -> th.RuleSet:
    return th.mine(th.datasets.load("toy"), windows="1h", bins=3, refine=None, progress="off").rules


def tips(chart: Chart, element: str) -> list[str]:
    """What is shown over the marks of a chart, in their order."""
    root = ET.fromstring(chart.to_svg())
    return [title.text or "" for mark in root.iter(f"{SVG}{element}") for title in mark.iter(f"{SVG}title")]


@pytest.mark.parametrize("kind", KINDS)
def test_a_chart_is_written_as_a_picture_or_a_page(kind: str, rules: th.RuleSet, tmp_path: Path) -> None:
    chart = rules.plot(kind)
    root = ET.parse(chart.save(tmp_path / "charts" / "chart.svg")).getroot()
    assert (root.tag, root.attrib["font-family"]) == (f"{SVG}svg", "sans-serif")
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    for mark in root.iter(f"{SVG}circle"):
        assert 0 < float(mark.attrib["cx"]) < width and 0 < float(mark.attrib["cy"]) < height
    page = chart.save(tmp_path / "chart.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>") and chart.body in page
    assert chart._repr_html_().startswith("<svg") and "http" not in chart.body
    with pytest.raises(th.ConfigError, match=r"end it in \.svg or \.html"):
        chart.save(tmp_path / "chart.png")


def test_a_point_is_a_rule(rules: th.RuleSet) -> None:
    support, confidence, zhang = (rules.measure(name) for name in ("support", "confidence", "zhang"))
    assert tips(rules.plot(), "circle") == [
        f"{rule.english}\nsupport {support[r]:.3f}, confidence {confidence[r]:.3f}, Zhang {zhang[r]:.3f}"
        for r, rule in enumerate(rules)
    ]


def test_coverage_ends_at_that_of_all_rules(rules: th.RuleSet) -> None:
    shown = tips(rules.plot("coverage"), "circle")
    assert shown[-1] == f"{len(rules)} rules: {rules.data_coverage:.1%}"
    assert shown[0].startswith("1 rule: ")


def cells(rules: th.RuleSet) -> dict[tuple[str, str], int]:
    """The numbers of the matrix by condition and conclusion."""
    found = [re.match(r"if (.*), then (.*): ([\d,]+) rules", tip) for tip in tips(rules.plot("matrix"), "rect")]
    return {(one[1], one[2]): int(one[3].replace(",", "")) for one in found if one}


def test_the_cells_of_the_matrix_count_rules(rules: th.RuleSet) -> None:
    counted: dict[tuple[str, str], int] = {}
    for rule in rules:
        for condition in {quantity(item.feature) for item in rule.antecedent}:
            pair = (condition, quantity(rule.consequent.feature))
            counted[pair] = counted.get(pair, 0) + 1
    assert cells(rules) == counted


def test_a_rule_of_both_directions_counts_in_both_cells() -> None:
    items = (th.Item.is_(Feature("a"), "on"), th.Item.is_(Feature("b"), "on"))
    rules = th.RuleSet(items, np.array([[0]]), np.array([1]), Counts.from_matrix([[10, 4, 5, 3]]))
    both = replace(rules, extras={"both_ways": np.array([True])})
    for one, count in ((rules, 1), (both, 2)):
        assert len(cells(one)) == count


def test_a_large_set_is_drawn_in_part_and_says_so() -> None:
    items = (th.Item.is_(Feature("a"), "on"), th.Item.is_(Feature("b"), "on"))
    counts = Counts.from_matrix(np.tile([[10, 4, 5, 3]], (3_000, 1)))
    rules = th.RuleSet(items, np.zeros((3_000, 1), int), np.ones(3_000, int), counts)
    chart = rules.plot()
    assert (chart.title, len(tips(chart, "circle"))) == ("the first 2,000 of 3,000 rules", 2_000)


def test_names_in_charts_are_text() -> None:
    hostile = "<script>&\"'\x00\x1b]]>"
    items = (th.Item.is_(Feature(hostile), "on"), th.Item.is_(Feature("b"), "on"))
    rules = th.RuleSet(items, np.array([[0]]), np.array([1]), Counts.from_matrix([[10, 4, 5, 3]]))
    for kind in ("scatter", "matrix"):
        root = ET.fromstring(rules.plot(kind).to_svg())
        assert not [one for one in root.iter() if "script" in one.tag]
        assert "<script>" in "".join(root.itertext())


@given(st.floats(-1e9, 1e9), st.floats(1e-6, 1e9), st.integers(2, 9))
def test_ticks_are_few_round_and_on_the_axis(low: float, width: float, most: int) -> None:
    scale = axis((low, low + width), 0, 100)
    ticks = nice_ticks(scale, most)
    assert len(ticks) <= most + 1
    slack = 1e-6 * (scale.high - scale.low)
    assert all(scale.low - slack <= at <= scale.high + slack for at in ticks)


def test_what_cannot_be_drawn_is_said(rules: th.RuleSet) -> None:
    with pytest.raises(th.ConfigError, match="unknown kind of plot 'matrx' \\(did you mean 'matrix'\\?\\)"):
        rules.plot("matrx")
    with pytest.raises(th.ConfigError, match="there are no rules to draw"):
        th.RuleSet.empty().plot()
    with pytest.raises(th.ConfigError, match="count_rules_of"):
        replace(rules, coverage_of=None).plot("coverage")


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
