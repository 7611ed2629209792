"""Generalisation: rules at places and times that they were not mined on."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.helpers.networks import network, row_of_junctions
from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.ontology import Ontology
from thence.data.graph.records import Edge, Node
from thence.data.graph.system import System
from thence.data.readings.sensors import SensorData
from thence.errors import ConfigError
from thence.lab.evaluate.generalisation import (
    PARTLY,
    SEEN,
    WHOLLY,
    PlaceEvaluator,
    SplitSettings,
    classify_places,
    generalise,
    hide_places,
    window_system,
)
from thence.search.exact.miner import Exact
from thence.statements.counting.recount import rule_rows

OPTIONS: dict[str, Any] = {"seed": 1, "bins": 4, "min_support": 0.05, "min_embeddings": 2, "max_antecedents": 1}


def test_lifted_rules_hold_where_they_were_not_mined_and_grounded_ones_cannot_apply() -> None:
    """Rules that never applied were reported with coverage 0 instead of none, like rules that failed to cover."""
    result = generalise(row_of_junctions(12, frames=400), unseen=0.4, **OPTIONS)
    lifted = result.modes["lifted"]
    assert lifted.wholly_unseen.places == len(result.wholly_unseen_nodes) > 0
    for group in (lifted.wholly_unseen, lifted.partly_unseen):
        assert group.coverage is not None and group.coverage > 0.8
        assert group.confidence is not None and group.confidence > 0.8
    for mode in ("none", "grounded"):
        for group in (result.modes[mode].wholly_unseen, result.modes[mode].partly_unseen):
            assert (group.coverage, group.confidence, group.sensor_share) == (None, None, None)
            assert (group.covered, group.applications, group.sensors_read) == (0, 0, 0)
            assert group.place_frames == group.places * result.frames > 0
    assert len(result.unseen_nodes) == round(0.4 * 24)
    assert not set(result.unseen_nodes) & set(result.seen_nodes)
    assert set(result.wholly_unseen_nodes) <= set(result.unseen_nodes)
    summary = json.loads(json.dumps(result.describe()))
    assert summary["wholly_unseen_nodes"] == lifted.wholly_unseen.places
    assert set(summary["modes"]["lifted"]["wholly_unseen"]) == {
        "coverage", "confidence", "sensor_share", "places", "place_frames", "covered", "applications", "correct",
        "sensors", "sensors_read",
    }  # fmt: skip
    assert summary["modes"]["none"]["wholly_unseen"]["coverage"] is None
    assert "lifted" in str(result) and "wholly unseen" in str(result)


def scramble(net: System, hidden: tuple[str, ...], before: str) -> System:
    """Return a system in which the sensors at hidden nodes have other readings before a time."""
    rng = np.random.default_rng(0)
    frame = net.sensors.to_polars()
    early = frame["time"] < pl.lit(before).str.to_datetime("%Y-%m-%dT%H:%M", time_zone="UTC")
    earlier = frame.select(early).to_series().to_numpy()
    for sensor in net.sensors.sensors:
        if net.binding is not None and net.binding[sensor.id] in hidden:
            values = frame[sensor.id].to_numpy().copy()
            values[earlier] = rng.normal(1000, 300, earlier.sum())
            frame = frame.with_columns(pl.Series(sensor.id, values))
    return replace(net, sensors=SensorData.from_wide(frame, sensors=net.sensors.sensors))


@pytest.mark.parametrize("split", ["region", "random"])
@pytest.mark.parametrize("mode", ["none", "grounded", "existential", "lifted"])
def test_readings_of_hidden_sensors_do_not_choose_the_rules(mode: str, split: str) -> None:
    """The greedy cover looked at where antecedents hold at hidden places too: scrambling them changed the choice."""
    net = network(frames=400)
    options = {**OPTIONS, "max_antecedents": 2, "max_rules": 8, "enrich": mode, "split": split, "unseen": 0.4}
    first = generalise(net, **options)
    second = generalise(scramble(net, first.unseen_nodes, first.later_from), **options)
    assert second.unseen_nodes == first.unseen_nodes
    assert second.modes[mode].mined == first.modes[mode].mined
    assert [str(rule) for rule in second.modes[mode].selected] == [str(rule) for rule in first.modes[mode].selected]
    assert second.modes[mode].seen == first.modes[mode].seen or mode == "lifted"


def test_the_transductive_choice_has_its_own_name() -> None:
    net = network(frames=400)
    options = {**OPTIONS, "max_antecedents": 2, "max_rules": 8, "enrich": "lifted", "unseen": 0.4}
    first = generalise(net, choose="transductive", **options)
    second = generalise(scramble(net, first.unseen_nodes, first.later_from), choose="transductive", **options)
    assert first.describe()["choose"] == "transductive"
    assert "transductive" in str(first)
    assert [str(rule) for rule in second.modes["lifted"].selected] != [str(r) for r in first.modes["lifted"].selected]


def test_readings_of_another_system_do_not_choose_the_rules() -> None:
    """The cover was made on the other system itself."""
    net, other = network(seed=1, frames=300), network(seed=2, frames=300)
    options = {**OPTIONS, "max_antecedents": 2, "max_rules": 8, "enrich": "lifted"}
    first = generalise(net, other=other, **options)
    scrambled = scramble(other, tuple(other.graph.nodes), first.later_from) if other.graph is not None else other
    second = generalise(net, other=scrambled, **options)
    assert [str(rule) for rule in second.modes["lifted"].selected] == [str(r) for r in first.modes["lifted"].selected]


def test_groups_are_counted_as_by_hand() -> None:
    """A place was "unseen" even if the rule read all its neighbours at seen places; now groups are apart.

    Rules, places and frames are counted one by one here, from the table and the graph.
    """
    net = network(frames=120)
    result = generalise(net, enrich="none", unseen=0.4, **OPTIONS)
    hidden, wholly = set(result.unseen_nodes), set(result.wholly_unseen_nodes)
    assert net.graph is not None
    for place in result.unseen_nodes:
        near = set(net.graph.neighbours(place, hops=2)) & {*result.seen_nodes, *result.unseen_nodes}
        assert (near <= hidden) == (place in wholly)
    seen = result.modes["none"].seen
    readings = {s.id: net.sensors.to_polars()[s.id].to_numpy() for s in net.sensors.sensors}
    cut = int(120 * 0.7)
    covered: set[tuple[str, int]] = set()
    applications = correct = 0
    read: set[str] = set()
    for rule in result.modes["none"].selected:
        sensors = [item.feature.subject for item in (*rule.antecedent, rule.consequent)]
        for frame in range(cut, 120):
            if all(item.holds(readings[item.feature.subject][frame]) for item in rule.antecedent):
                applications += 1
                correct += rule.consequent.holds(readings[rule.consequent.feature.subject][frame])
                covered |= {(net.binding[sensor], frame) for sensor in sensors}
                read |= set(sensors)
    assert (seen.covered, seen.applications, seen.correct) == (len(covered), applications, correct)
    assert seen.sensors_read == len(read)
    assert seen.place_frames == len(result.seen_nodes) * (120 - cut) == seen.places * result.frames


def test_a_wholly_unseen_place_is_covered_only_by_rules_that_read_no_seen_sensor() -> None:
    net = network(frames=200)
    timed = window_system(net, None, "30min")
    settings = SplitSettings(Exact(min_support=0.05, min_confidence=0.8, max_antecedents=1), 4, 100, 2, 2, 0.7)
    table = settings.table(timed, "lifted", patterns=[p for p in settings.find_patterns(timed) if not p.is_star])
    rules = settings.miner.mine(table)
    for one in range(0, len(timed.places), 3):
        # All places but one are hidden; the others are called wholly unseen whether or not they are near it.
        groups = np.full(len(timed.places), WHOLLY)
        groups[one] = SEEN
        places = PlaceEvaluator(table, timed, groups)
        for number in range(0, len(rules), 7):
            rule = rules[number]
            applies, holds = rule_rows(rule, table)
            covered: set[tuple[str, int]] = set()
            counts = {SEEN: [0, 0], PARTLY: [0, 0], WHOLLY: [0, 0]}
            block = next(b for b in table.blocks if str(b.pattern) == rule.pattern)
            for e, names in enumerate(block.embeddings):
                variables = [v.name for v in block.pattern.nodes]
                items = (*rule.antecedent, rule.consequent)
                nodes = {names[variables.index(i.feature.place)] for i in items if i.feature.place}
                group = SEEN if nodes == {timed.places[one]} else PARTLY if timed.places[one] in nodes else WHOLLY
                counts[group][0] += int(applies[e].sum())
                counts[group][1] += int(holds[e].sum())
                if group == WHOLLY:
                    covered |= {(node, int(t)) for node in nodes for t in np.flatnonzero(applies[e])}
            measured = places.measure(rules.take(np.array([number])), slice(None))
            for group in (SEEN, PARTLY, WHOLLY):
                assert [measured[group].applications, measured[group].correct] == counts[group]
            assert measured[WHOLLY].covered == len(covered)


def test_sensors_that_no_rule_reads_are_counted() -> None:
    """Coverage by places hid that rules about demand and flow say nothing about the pressures at the same nodes."""
    result = generalise(network(frames=400), enrich="lifted", unseen=0.4, max_rules=1, **OPTIONS)
    seen = result.modes["lifted"].seen
    assert seen.sensors_read is not None
    assert 0 < seen.sensors_read < seen.sensors
    assert seen.sensor_share == seen.sensors_read / seen.sensors
    existential = generalise(network(frames=400), enrich="existential", unseen=0.4, **OPTIONS).modes["existential"]
    assert existential.wholly_unseen.sensors_read is None


def test_rules_of_one_network_are_applied_to_another() -> None:
    result = generalise(
        network(seed=1),
        enrich=["none", "existential", "lifted"],
        other=network(seed=2),
        bins=4,
        min_support=0.05,
        min_embeddings=2,
    )
    assert result.split == "another system"
    assert result.wholly_unseen_nodes == result.unseen_nodes
    lifted = result.modes["lifted"].wholly_unseen
    assert lifted.coverage is not None and lifted.coverage > 0.5
    assert lifted.places == len(result.unseen_nodes)
    assert result.modes["none"].wholly_unseen.coverage is None
    assert result.modes["none"].wholly_unseen.place_frames == lifted.place_frames
    assert result.modes["lifted"].partly_unseen.places == 0


def test_capitals_and_a_relation_called_in_change_nothing() -> None:
    """Patterns with capital kinds or a relation IN were parsed back differently: an error, or arrays of two shapes."""
    plain = network(frames=100)
    options = {"enrich": "lifted", "seed": 1, "bins": 4, "min_embeddings": 2, "max_antecedents": 1}
    loud = renamed(plain, {"flow": "Flow", "pressure": "PRESSURE"}, {"ends_at": "IN", "starts_at": "in"})
    quiet = renamed(plain, {}, {"ends_at": "ia", "starts_at": "ib"})
    expected = generalise(quiet, **options).modes["lifted"].describe()  # type: ignore[arg-type]
    assert generalise(loud, **options).modes["lifted"].describe() == expected  # type: ignore[arg-type]


def renamed(net: System, kinds: dict[str, str], relations: dict[str, str]) -> System:
    """Return the network with other names of kinds and relations, and without ontology."""
    edges = [replace(e, labels=frozenset(relations[x] for x in e.labels)) for e in net.graph.edges.values()]
    data = net.sensors.with_kinds({s.id: kinds.get(s.kind, s.kind) for s in net.sensors.sensors})
    return System(data, KnowledgeGraph(net.graph.nodes.values(), edges), net.binding, Ontology({}))


@pytest.mark.parametrize("seed", range(5))
def test_a_region_is_connected_and_has_an_inside(seed: int) -> None:
    """A random split left no star of Hanoi wholly unseen; the default is a region around a random node."""
    net = network(frames=60)
    result = generalise(net, enrich="none", unseen=0.4, seed=seed, min_support=0.1)
    assert result.split == "region"
    assert result.wholly_unseen_nodes
    hidden = set(result.unseen_nodes)
    assert net.graph is not None
    start = next(iter(hidden))
    reached = {start}
    while True:
        more = {n for r in reached for n in net.graph.neighbours(r) if n in hidden or n == "R"} - reached
        if not more:
            break
        reached |= more
    assert reached - {"R"} == hidden


def test_a_split_without_an_inside_says_so() -> None:
    star = KnowledgeGraph([Node(name) for name in "abcd"], [Edge(f"a{b}", "a", b, frozenset(["to"])) for b in "bcd"])
    hidden = hide_places(list("abcd"), star, share=0.5, split="region", seed=0, hops=2)
    assert len(hidden) == 2
    assert set(classify_places(list("abcd"), hidden, star, 2).tolist()) == {SEEN, PARTLY}


def test_the_same_seed_gives_the_same_result() -> None:
    net = network(frames=100)
    first, second = (generalise(net, enrich="lifted", seed=5, min_embeddings=2, bins=4) for _ in range(2))
    assert first.describe() == second.describe()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"enrich": "lift"}, "did you mean 'lifted'"),
        ({"unseen": 1.5}, "unseen must be between 0 and 1"),
        ({"split": "half"}, "use 'random' or 'region'"),
        ({"choose": "all"}, "use 'seen' or 'transductive'"),
        ({"kinds": ["flw"]}, "did you mean 'flow'"),
    ],
)
def test_invalid_settings_are_refused(settings: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        generalise(network(frames=20), **settings)
