"""Exported queries count what the package counts: every rule of tables with dated properties, states and gaps."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from typing import Any

import polars as pl
import pyoxigraph as ox
import pytest

import thence as th
from tests.helpers.buildings import START, building
from tests.tables.enrich.test_dated import dated_network
from tests.tables.enrich.test_edges_and_several_values import town
from thence.data.graph.binding import Binding
from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.ontology import Ontology
from thence.data.graph.records import DatedValue, Edge, Node
from thence.data.graph.system import System
from thence.data.readings.sensors import Sensor, SensorData
from thence.data.readings.windows import window
from thence.show.export import graph_rdf, sparql
from thence.statements.rules.ruleset import RuleSet

DOORS = "(a:Space)-[connected]->(b:Space), (t:temperature)-[in]->(a), (c:co2)-[in?]->(b), (u:temperature)-[in?]->(b)"
TWINS = "(a:Room), (t:temperature)-[in]->(a), (u:temperature)-[in?]->(a), (v:temperature)-[in?]->(a)"
STARS = "(a:Space), (d:door)-[in?]->(a), (t:temperature)-[in?]->(a) | near: -[connected]-(Space).temperature"
TIMES = ["previous", "lag:2", "switch", "duration", "within:2h"]
ANY = "(s)-[in]->(a:Space)-[]-(b)"


def store_of(net: System, every: str, table: Any, *, derive: Any = (), timezone: str = "UTC") -> ox.Store:
    readings = window(net.sensors, every, derive=derive, timezone=timezone)
    lines = graph_rdf.triples(
        net.graph, binding=net.binding, sensors=net.sensors, ontology=net.ontology, readings=readings, table=table
    )
    store = ox.Store()
    store.bulk_load("\n".join(lines).encode(), format=ox.RdfFormat.N_TRIPLES)
    return store


def check(rules: RuleSet, store: ox.Store) -> None:
    """All rules, in pieces that a store answers at once: as many matches and violations as were counted."""
    wrong = []
    for first in range(0, len(rules), 50):
        piece = rules.take(range(first, min(first + 50, len(rules))))
        found = {
            find: Counter(int(row["rule"].value) for row in store.query(sparql.query_all(piece, find=find)))  # type: ignore[union-attr]
            for find in ("matches", "violations")
        }
        held = zip(piece, piece.counts.n_both.tolist(), piece.counts.n_antecedent.tolist(), strict=True)
        for number, (rule, both, antecedent) in enumerate(held, start=1):
            got = found["matches"][number], found["violations"][number]
            if got != (both, antecedent - both):
                wrong.append(f"{rule}: {got} instead of {both, antecedent - both}")
    assert not wrong, f"{len(wrong)} of {len(rules)} rules differ, first {wrong[:3]}"


CASES = {
    "none": {"enrich": "none", "derive": ["change", "hour", "weekday"], "timezone": "Asia/Kolkata"},
    "grounded": {"enrich": "grounded", "edges": True, "hops": 1},
    "existential": {"enrich": "existential", "derive": ["hour"]},
    "doors": {"enrich": "lifted", "patterns": [DOORS], "edges": True},
    "twins": {"enrich": "lifted", "patterns": [TWINS]},
    "stars": {"enrich": "lifted", "patterns": [STARS], "derive": ["change"]},
    "any": {"enrich": "lifted", "patterns": [ANY]},
    "ranks": {"enrich": "lifted", "patterns": [DOORS, STARS], "scope": "sensor", "derive": ["change"]},
    "times": {"enrich": "none", "derive": TIMES},
    "existential times": {"enrich": "existential", "derive": TIMES},
    "lifted times": {"enrich": "lifted", "patterns": [DOORS, ANY], "derive": TIMES},
    "ranked times": {"enrich": "lifted", "patterns": [STARS], "scope": "sensor", "derive": TIMES},
    "discovered": {"enrich": "lifted", "min_embeddings": 2, "hops": 1},
}


@pytest.mark.parametrize("scope", ["kind", "sensor"])
def test_queries_follow_points_to_their_unit(scope: str) -> None:
    """Sensors at points are those of their unit, also where kinds do not tell them apart; twins stay at their nodes."""
    points = {
        "s": "Supply_Air_Sensor",
        "r": "Return_Air_Sensor",
        "f": "Fan_Status",
        "x": "Twin_Sensor",
        "y": "Twin_Sensor",
    }
    kinds = {"s": "temperature", "r": "temperature", "f": "fan", "x": "twin", "y": "twin"}
    nodes, edges, sensors, series, binding = [], [], [], {}, {}
    for unit in ("A1", "A2"):
        nodes.append(Node(unit, frozenset({"AHU"})))
        for at, (name, label) in enumerate(points.items()):
            id = f"{unit}{name}"
            nodes.append(Node(id, frozenset({label})))
            edges.append(Edge(f"e{id}", unit, id, frozenset({"hasPoint"})))
            sensors.append(Sensor(id, kinds[name], "", categorical=name == "f"))
            shift = at + (unit == "A2")
            numbers = [None if k % 5 == at else float((k * (2 + at) + shift) % 7) for k in range(12)]
            series[id] = [v if v is None or name != "f" else ("on" if v > 3 else "off") for v in numbers]
            binding[id] = id
    edges.append(Edge("feeds", "A1", "A2", frozenset({"feeds"})))
    frame = pl.DataFrame({"time": [START + timedelta(hours=at) for at in range(12)], **series})
    net = System(SensorData.from_wide(frame, sensors=sensors), KnowledgeGraph(nodes, edges), Binding(binding))
    table = th.transactions(
        net.sensors, net.graph, net.binding, enrich="lifted", windows="1h", bins=2, scope=scope, min_embeddings=1
    )
    assert any(block.pattern is not None and block.pattern.has_points for block in table.blocks)
    assert any(f.label == "supply_air" for f in table.features)
    check(every_rule(table), store_of(net, "1h", table))


@pytest.mark.parametrize("case", CASES)
def test_queries_count_what_was_counted(case: str) -> None:
    """Regression: dated properties were not exported, nor aggregates and ranks; 65 of 514 rules counted otherwise."""
    options: dict[str, Any] = {"bins": 2, "scope": "kind", "windows": "1h"} | CASES[case]
    net = building(1, frames=8, rooms=5 if case.startswith("existential") else 7)
    table = th.transactions(net.sensors, net.graph, net.binding, ontology=net.ontology, **options)
    rules = every_rule(table)
    derive, zone = options.get("derive", ()), options.get("timezone", "UTC")
    check(rules, store_of(net, "1h", table, derive=derive, timezone=zone))


def every_rule(table: th.TransactionTable, most: int = 100) -> RuleSet:
    """The rules of a table with up to two antecedents, at regular distances if there are too many."""
    miner = th.Exact(min_support=0.03, min_confidence=0.2, max_antecedents=2, context_consequents=True)
    rules = miner.mine(table)
    assert len(rules)
    return rules.take(range(0, len(rules), max(1, len(rules) // most)))


@pytest.mark.parametrize("enrich", ["grounded", "existential", "lifted"])
def test_dated_properties_count_while_they_are_valid(enrich: str) -> None:
    net = dated_network()
    options = {"patterns": ["(f:flow)-[in]->(p:Pipe)-[connected]-(j:Junction)"]} if enrich == "lifted" else {}
    table = th.transactions(
        net.sensors, net.graph, net.binding, ontology=net.ontology, enrich=enrich, windows="30min", bins=3,
        scope="kind", **options,
    )  # fmt: skip
    rules = every_rule(table, 200)
    items = {item for rule in rules for item in (*rule.antecedent, rule.consequent)}
    assert any("state" in str(item) for item in items)
    check(rules, store_of(net, "30min", table))


@pytest.mark.parametrize("enrich", ["grounded", "existential", "-[road]->", "-[way]-", "-[path]->", "-[]-"])
def test_properties_of_edges_and_several_values(enrich: str) -> None:
    net = town(2)
    options: dict[str, Any] = {"enrich": enrich}
    if enrich.startswith("-"):
        options = {"enrich": "lifted", "patterns": [f"(s:speed)-[in]->(b:Crossing){enrich}(a:Crossing)"]}
    table = th.transactions(
        net.sensors, net.graph, net.binding, ontology=net.ontology, windows="1h", bins=2, scope="kind", **options
    )
    rules = every_rule(table)
    text = " ".join(map(str, rules))
    assert ("{use = " if enrich == "existential" else "some (") in text and ("lanes" in text or enrich == "existential")
    check(rules, store_of(net, "1h", table))


def mixed() -> System:
    """Texts and numbers in one property and in one kind, sensors without a kind, nodes without a class, gaps."""
    nodes = [
        Node("a", frozenset({"Room"}), {"floor": 1}),
        Node("b", frozenset({"Room"}), {"floor": "attic"}),
        Node("c", frozenset({"Room"}), {"floor": True}),
        Node("d"),
    ]
    edges = [Edge(f"e{at}", x, y, frozenset({"beside"})) for at, (x, y) in enumerate(["ab", "cb", "dc", "da"])]
    dated = [DatedValue("a", "floor", START + timedelta(hours=3), 2.5)]
    numbers = {f"t{x}": [float((3 * at + k) % 7) for at in range(8)] for k, x in enumerate("abd")}
    states: dict[str, list[Any]] = {"tc": ["on", "off", None, "on", "on", "off", "off", None]}
    plain = {"x": [1.0, 2.0, None, 4.0, 1.0, 2.0, 3.0, 4.0], "y": [float(at) for at in range(8)]}
    times = [datetime(2024, 1, 1) + timedelta(hours=at) for at in range(8)]
    sensors = [Sensor(name, "t") for name in numbers] + [Sensor("tc", "t", categorical=True), Sensor("x"), Sensor("y")]
    frame = pl.DataFrame({"time": times, **numbers, **states, **plain})
    binding = {**{f"t{x}": x for x in "abcd"}, "x": "a", "y": "b"}
    ontology = Ontology.from_dict({"classes": {"Room": {}}, "relations": {"beside": {"symmetric": True}}})
    graph = KnowledgeGraph(nodes, edges, dated=dated)
    return System(SensorData.from_wide(frame, sensors=sensors), graph, Binding(binding), ontology)


@pytest.mark.parametrize(
    "options",
    [
        {"enrich": "grounded"},
        {"enrich": "existential"},
        {"enrich": "lifted", "patterns": ["(s:t)-[in]->(p)-[beside]->(q:Room)<-[in]-(r:t)"], "edges": True},
        {"enrich": "lifted", "patterns": ["(s)-[in]->(p:Room)-[beside]-(q)"]},
        {"enrich": "lifted", "patterns": ["(p:Room)<-[in?]-(s:t) | by: -[beside]-().t"], "scope": "sensor"},
    ],
)
def test_mixed_values_and_symmetric_relations_count_too(options: dict[str, Any]) -> None:
    net = mixed()
    asked = {"scope": "kind"} | options
    table = th.transactions(net.sensors, net.graph, net.binding, ontology=net.ontology, windows="1h", bins=2, **asked)
    check(every_rule(table, 300), store_of(net, "1h", table))


def test_a_rule_without_readings_is_counted_in_frames_if_there_are_any() -> None:
    net = mixed()
    table = th.transactions(
        net.sensors, net.graph, net.binding, windows="1h", enrich="lifted", bins=2, scope="kind", edges=True,
        patterns=["(s:t)-[in]->(p)"],
    )  # fmt: skip
    rules = every_rule(table)
    chosen = [
        at for at, rule in enumerate(rules) if all("value" not in str(i) for i in (*rule.antecedent, rule.consequent))
    ]
    assert chosen
    check(rules.take(chosen), store_of(net, "1h", table))
