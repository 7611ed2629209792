"""Features of time in all enrichments: their values, which rules they may be part of, and later data."""

from __future__ import annotations

import itertools
from datetime import timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest

import thence as th
from tests.helpers.buildings import START, building
from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.records import Node
from thence.data.readings.sensors import Sensor, SensorData
from thence.errors import ConfigError
from thence.language.english import format_clause
from thence.language.items import Feature, Item, Role
from thence.language.time_names import Tense, TimeForm, parse_time_name
from thence.tables.admissibility import item_masks, require_matches, trivial_columns

DERIVE = ["previous", "lag:2", "switch", "duration", "within:2h"]
MODES = ["none", "grounded", "existential", "lifted"]
DOORS = "(a:Space)-[connected]->(b:Space), (t:temperature)-[in]->(a), (d:door)-[in]->(b), (u:temperature)-[in?]->(b)"


def table(mode: str, **options: Any) -> th.TransactionTable:
    given: dict[str, Any] = {"windows": "1h", "bins": 3, "derive": DERIVE, "enrich": mode} | options
    if mode == "lifted":
        given["patterns"] = [DOORS]
    net = building(3, frames=40, rooms=4)
    return th.transactions(net.sensors, net.graph, net.binding, ontology=net.ontology, **given)


def reading_of(feature: Feature) -> tuple[str, str]:
    return feature.role, feature.label if feature.role is Role.SOME else feature.subject


@pytest.mark.parametrize("mode", MODES)
def test_no_rule_repeats_its_own_reading_and_time_runs_forward(mode: str) -> None:
    """A lagged item is no echo of its feature; what will be is only concluded, and what was is only given."""
    made = table(mode)
    assert {f.time.form for f in made.features if f.time} == set(TimeForm)
    rules = th.Exact(min_support=0.12, min_confidence=0.6, max_antecedents=2, context_consequents=True).mine(made)
    timed = 0
    for rule in rules:
        times = [item.feature.time for item in rule.antecedent]
        assert all(time is None or time.tense is not Tense.FUTURE for time in times)
        then = rule.consequent.feature.time
        assert then is None or then.tense is not Tense.PAST
        assert all(item.value is not False for item in (*rule.antecedent, rule.consequent) if item.feature.time)
        for one, other in itertools.combinations((*rule.antecedent, rule.consequent), 2):
            if reading_of(one.feature) == reading_of(other.feature) and (one.feature.time or other.feature.time):
                (follows,) = (time for time in (one.feature.time, other.feature.time) if time and time.is_switch)
                (rest,) = (time for time in (one.feature.time, other.feature.time) if time != follows)
                assert rest is None or (rest.form is TimeForm.DURATION and rest.state != follows.state)
        timed += then is not None or any(times)
    assert timed


@pytest.mark.parametrize("mode", MODES)
def test_rules_about_time_are_counted_as_by_hand(mode: str) -> None:
    made = table(mode)
    rules = th.Exact(min_support=0.02, min_confidence=0.5, max_antecedents=1).mine(made)
    assert len(rules)
    for r in range(0, len(rules), max(1, len(rules) // 25)):
        rule = rules.rule(r)
        block = next(b for b in made.blocks if (str(b.pattern) if b.pattern else "") == rule.pattern)
        number = {block.item(i): i for i in range(block.n_items)}
        left, right = tuple(number[i] for i in rule.antecedent), number[rule.consequent]
        counts = rules.counts
        own = tuple(int(part[r]) for part in (counts.n, counts.n_antecedent, counts.n_consequent, counts.n_both))
        assert own == by_hand(block, left, right)


def by_hand(block: Any, left: tuple[int, ...], right: int) -> tuple[int, int, int, int]:
    codes = block.flat()
    column = block.column_of_item

    def test(item: int) -> tuple[Any, Any]:
        series = codes[:, column[item]]
        return series >= 0, series == item - block.offsets[column[item]]

    known, held = np.ones(len(codes), bool), np.ones(len(codes), bool)
    for item in (*left, right):
        known &= test(item)[0]
    for item in left:
        held &= test(item)[1]
    target = test(right)[1]
    return int(known.sum()), int((held & known).sum()), int((target & known).sum()), int((held & target & known).sum())


@pytest.mark.parametrize("mode", ["none", "lifted"])
@pytest.mark.parametrize("scope", ["kind", "sensor"])
def test_earlier_values_are_cut_at_the_same_edges(mode: str, scope: str) -> None:
    made, plain = table(mode, scope=scope), table(mode, scope=scope, derive=[])
    assert set(made.discretizer.binnings) == set(plain.discretizer.binnings)
    for block in made.blocks:
        by_name = {(c.feature.subject, c.feature.name): c for c in block.columns}
        for (subject, name), column in by_name.items():
            time = parse_time_name(name)
            if time is not None and time.form is TimeForm.LAG and (subject, "") in by_name:
                now = by_name[subject, ""]
                assert column.values == now.values
                back = {"1h": 1, "2h": 2}[time.length]
                np.testing.assert_array_equal(column.codes[:, back:], now.codes[:, :-back])


@pytest.mark.parametrize("mode", MODES)
def test_later_data_need_no_further_bins(mode: str) -> None:
    made = table(mode)
    rules = th.Exact(min_support=0.03, min_confidence=0.6, max_antecedents=1).mine(made)
    again = table(mode, like=made)
    counted = th.evaluate.count_rules(rules, again)
    np.testing.assert_array_equal(counted.counts.n_both, rules.counts.n_both)


def test_a_column_that_was_not_derived_later_is_said_to_be_missing() -> None:
    made = table("none")
    rules = th.Exact(min_support=0.03, min_confidence=0.6, max_antecedents=1, antecedent="switch").mine(made)
    with pytest.raises(th.errors.ThenceError, match=r"none of the rules can be counted.*pass derive=\['switch'\]"):
        th.evaluate.count_rules(rules, table("none", like=made, derive=[]))


def test_tables_round_trip(tmp_path: Any) -> None:
    made = table("lifted")
    made.save(tmp_path / "t.npz")
    again = th.TransactionTable.load(tmp_path / "t.npz")
    assert again.features == made.features
    assert [c.minable for b in again.blocks for c in b.columns] == [c.minable for b in made.blocks for c in b.columns]
    rules = th.Exact(min_support=0.05, min_confidence=0.6, max_antecedents=1).mine(made)
    assert [Item.from_dict(item.to_dict()) for item in rules.items] == list(rules.items)
    assert all(Item.parse(str(item)) == item for item in rules.items)


def test_what_cannot_be_on_a_side_is_refused_with_the_reason() -> None:
    made = table("none")
    with pytest.raises(ConfigError, match="cannot be in the antecedent: it says what will be"):
        require_matches(made, antecedent="within:2h:*")
    with pytest.raises(ConfigError, match="cannot be in the consequent: it says what was"):
        require_matches(made, consequent="lag:2h")


def test_tables_without_bins_refuse_features_of_time() -> None:
    net = building(3, frames=20)
    with pytest.raises(ConfigError, match="is not possible in a table without bins"):
        th.baselines.feature_table(net.sensors, windows="1h", derive="switch")


def test_rules_about_time_are_not_told_both_ways() -> None:
    """Regression: "if the flow was low an hour ago, then the valve is shut, and vice versa" concludes what was."""
    net = building(3, frames=40)
    made = th.transactions(net.sensors, windows="1h", bins=3, derive=DERIVE)
    rules = th.Exact(min_support=0.05, min_confidence=0.5, max_antecedents=1).mine(made)
    told = th.refine(rules, made, digest=500, min_confidence=0.5)
    tenses = {
        (first.time.tense if (first := rule.antecedent[0].feature).time else None,
         then.time.tense if (then := rule.consequent.feature).time else None)
        for rule in told if rule.both_ways
    }  # fmt: skip
    assert tenses <= set(itertools.product((None, Tense.PRESENT), repeat=2))


def test_rare_switches_are_noted() -> None:
    times = [START + timedelta(hours=at) for at in range(200)]
    series = {"flow": [float(at % 5 + 1) for at in range(200)], "pump": ["off"] * 100 + ["on"] * 100}
    data = SensorData.from_wide(
        pl.DataFrame({"time": times, **series}),
        sensors=[Sensor("flow", "flow"), Sensor("pump", "pump", categorical=True)],
    )
    made = th.transactions(data, windows="1h", derive="switch")
    assert made.notes == (
        "the most frequent switch is in 0.5 % of its rows: rules about switches need a min_support below that",
    )
    assert not th.transactions(data, windows="1h", derive="change").notes


def test_masks_without_features_of_time_are_as_before() -> None:
    made = table("none", derive=["change"])
    block = made.blocks[0]
    assert trivial_columns(block) is None
    left, right = item_masks(block)
    assert left.all() and right.all()


def test_states_and_numbers_of_one_kind_have_features_of_their_own() -> None:
    """Absolute ranges and states of one kind at a place must not share a name."""
    times = [START + timedelta(hours=at) for at in range(12)]
    series = {"number": [float(at % 5) for at in range(12)], "state": ["on", "off", "off"] * 4}
    sensors = [Sensor("number", "valve"), Sensor("state", "valve", categorical=True)]
    data = SensorData.from_wide(pl.DataFrame({"time": times, **series}), sensors=sensors)
    graph = KnowledgeGraph([Node("R", frozenset({"Room"}))], [])
    options: dict[str, Any] = {"enrich": "lifted", "patterns": "(s)-[in]->(a:Room)", "bins": 2, "scope": "kind"}
    made = th.transactions(data, graph, {"number": "R", "state": "R"}, windows="1h", derive=DERIVE, **options)
    assert len(set(made.features)) == made.n_features
    earlier = {f.name: format_clause(c.item(0)) for b in made.blocks for c in b.columns for f in [c.feature]}
    assert earlier["lag:1h"] == "the valve of a was below 2 an hour ago"
    assert earlier["state:lag:1h"] == "the valve state of a was off an hour ago"


def test_switches_on_a_plain_table_find_the_control() -> None:
    """A pump that switches on at a level below 2 m and off at 4 m: the rules say so."""
    level, on, levels, states = 3.0, False, [], []
    for _ in range(600):
        on = True if level < 2 else False if level > 4 else on
        levels.append(level)
        states.append("on" if on else "off")
        level += 0.13 if on else -0.07
    times = [START + timedelta(minutes=at) for at in range(600)]
    frame = pl.DataFrame({"time": times, "level": levels, "pump": states})
    data = SensorData.from_wide(
        frame, sensors=[Sensor("level", "level", "m"), Sensor("pump", "status", categorical=True)]
    )
    made = th.transactions(data, windows="1min", bins=10, derive=["switch"])
    rules = th.Exact(min_support=0.001, min_confidence=0.9, max_antecedents=1, antecedent="switch").mine(made)
    said = [rule.english for rule in rules]
    edges = made.discretizer.binnings["level"].bin_edges
    assert f"when pump switches to on, then level reads below {edges[0]:g} m" in said
    assert f"when pump switches to off, then level reads at least {edges[-1]:g} m" in said
