"""HTML of notebooks: everything is escaped, nothing is loaded from elsewhere, and the tags are balanced."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thence as th
from thence._base.display import html
from thence._base.display.rules import rules_html, spread_text
from thence.statements.rules.measures import Counts

VOID = {"br", "hr", "img"}
HOSTILE = '<script>alert("1 & 2")</script>\' onload=x'


class Balanced(HTMLParser):
    """Collects tags, text and attributes, and checks that every tag is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.seen.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] != "style":
            self.text += data


def read(markup: str) -> Balanced:
    parser = Balanced()
    parser.feed(markup)
    parser.close()
    assert parser.open == []
    assert parser.attributes <= {"class", "style"}
    assert not parser.seen & {"script", "link", "img", "iframe", "a"}
    assert "http" not in markup and "url(" not in markup and "@import" not in markup
    return parser


@pytest.fixture(scope="module")
def system() -> Any:
    return th.datasets.load("toy")


@pytest.fixture(scope="module")
def run(system: Any) -> Any:
    return th.mine(
        *(system,),
        windows="1h",
        bins=3,
        enrich="lifted",
        confirm=False,
        config=th.Config.from_mapping({"enrich": {"min_embeddings": 1}}),
    )


@given(st.text())
def test_text_is_escaped_and_kept(given_text: str) -> None:
    shown = read(html.panel(given_text, html.notes([given_text]), html.pairs({given_text: given_text})))
    kept = given_text.replace("\r\n", "\n").replace("\r", "\n")
    if "\0" not in kept:
        assert kept in shown.text.replace("\r\n", "\n").replace("\r", "\n")


def test_every_type_shows_itself(system: Any, run: Any) -> None:
    shown = {
        "System toy: 5 sensors": system,
        "SensorData: 5 sensors": system.sensors,
        "KnowledgeGraph: 5 nodes, 4 edges": system.graph,
        "TransactionTable: ": run.table,
        "Run in memory": run,
        f"{len(run.rules):,} rule": run.rules,
        run.rules.rule(0).english[1:]: run.rules.rule(0),
    }
    for title, thing in shown.items():
        assert title in read(thing._repr_html_()).text


def test_hostile_names_stay_text(run: Any) -> None:
    times = pl.datetime_range(pl.datetime(2024, 1, 1), pl.datetime(2024, 1, 3), "1h", eager=True)
    frame = pl.DataFrame({"time": times, HOSTILE: np.arange(len(times)) * 1.0, "b": np.arange(len(times)) * 2.0})
    sensors = th.SensorData.from_wide(frame)
    own = th.mine(sensors, windows="1h", bins=3, confirm=False, progress="off")
    for thing in (sensors, own, own.rules, own.table, own.rules.rule(0), th.System(sensors, name=HOSTILE)):
        assert HOSTILE in read(thing._repr_html_()).text
    noted = replace(run.rules, notes=(HOSTILE,))
    assert HOSTILE in read(noted._repr_html_()).text


def test_lifted_rules_say_where_and_when_they_hold(run: Any) -> None:
    extras = run.rules.extras
    expected = spread_text(extras["support_time"][0], extras["support_embeddings"][0])
    assert expected in read(run.rules._repr_html_()).text


def test_twenty_rules_are_shown_and_the_others_counted() -> None:
    items = tuple(th.Item.is_(th.language.Feature(f"s{number}"), "on") for number in range(31))
    pairs = np.arange(30)
    counts = Counts.from_matrix([[10, 4, 5, 3]] * 30)
    rules = th.RuleSet(items, pairs.reshape(-1, 1), pairs + 1, counts)
    shown = read(rules_html(rules)).text
    assert "30 rules" in shown
    assert "… and 10 more" in shown
    assert shown.count("If s") == 20
    assert read(th.RuleSet.empty("nothing was frequent")._repr_html_()).text == "0 rulesnothing was frequent"


def test_a_measure_that_is_not_known_is_shown_as_such() -> None:
    items = (th.Item.is_(th.language.Feature("a"), "on"), th.Item.is_(th.language.Feature("b"), "on"))
    rules = th.RuleSet(items, np.array([[0]]), np.array([1]), Counts.from_matrix([[10, 0, 5, 0]]))
    assert "nan" in read(rules._repr_html_()).text
    assert spread_text(float("nan"), 0.5) == "at an unknown share of the times, in 50 % of the places"


def test_other_ways_to_say_a_rule_are_folded(run: Any) -> None:
    names = np.array(["first <b>\nsecond"] + [""] * (len(run.rules) - 1))
    shown = read(replace(run.rules, extras={**run.rules.extras, "also_known_as": names})._repr_html_())
    assert "also known as (2)first <b>second" in shown.text
    assert "details" in shown.seen


def test_a_rule_of_both_directions_has_both_confidences() -> None:
    items = (th.Item.is_(th.language.Feature("a"), "on"), th.Item.is_(th.language.Feature("b"), "on"))
    rules = th.RuleSet(items, np.array([[0]]), np.array([1]), Counts.from_matrix([[10, 4, 5, 3]]))
    assert "vice versa" not in read(rules._repr_html_()).text
    shown = read(replace(rules, extras={"both_ways": np.array([True])})._repr_html_()).text
    assert "0.7500.600 vice versa0.500 overall" in shown


def test_short_texts(run: Any, system: Any) -> None:
    for thing in (run, run.rules, run.rules.rule(0), run.table, system, system.sensors, system.graph, system.binding):
        assert "\n" not in repr(thing)
        assert len(repr(thing)) < 300
    assert repr(th.RuleSet.empty()) == "RuleSet(0 rules)"
    assert repr(run.rules.take(np.array([0]))) == "RuleSet(1 rule)"
    assert repr(run) == f"Run({len(run.rules):,} rules, in memory)"


def test_showing_lazy_data_does_not_scan_them(system: Any) -> None:
    def fail(frame: pl.DataFrame) -> pl.DataFrame:
        raise AssertionError("the data were scanned")

    frame = system.sensors.to_polars()
    lazy = frame.lazy().map_batches(fail, schema=frame.schema)
    assert "5 sensors" in read(th.SensorData.from_wide(lazy)._repr_html_()).text
