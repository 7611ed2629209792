"""Sensors for variables: several in one node, optional ones, stars with links, and existential statements."""

from __future__ import annotations

from datetime import datetime, timedelta

import polars as pl
import pytest

import thence as th
from thence.data.graph.binding import Binding
from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.records import Edge, Node
from thence.data.readings.sensors import Sensor, SensorData
from thence.errors import PatternError
from thence.language.patterns import Pattern

TIMES = [datetime(2024, 1, 1) + timedelta(minutes=30 * i) for i in range(8)]


def readings(**kinds: str) -> SensorData:
    """Numbers of some sensors, by kind; the time of a sensor's highest reading differs between sensors."""
    values = {name: [float((step * (at + 3)) % 8) for step in range(8)] for at, name in enumerate(kinds)}
    frame = pl.DataFrame({"time": TIMES, **values})
    return SensorData.from_wide(frame, sensors=[Sensor(name, kind) for name, kind in kinds.items()])


def graph(nodes: dict[str, str], *edges: tuple[str, str, str]) -> KnowledgeGraph:
    return KnowledgeGraph(
        [Node(name, frozenset({label})) for name, label in nodes.items()],
        [Edge(f"e{at}", source, target, frozenset({label})) for at, (source, label, target) in enumerate(edges)],
    )


def places(sensors: SensorData, net: KnowledgeGraph, where: dict[str, str], pattern: str) -> list[tuple[str, ...]]:
    table = th.transactions(sensors, net, Binding(where), enrich="lifted", patterns=[pattern], bins=2, min_embeddings=1)
    return [place for block in table.blocks for place in block.embeddings]


def test_a_symmetry_that_optional_sensors_break_loses_no_place() -> None:
    """Regression: ``[in]`` and ``[in?]`` were treated alike, and a place whose mirror image does not match was lost."""
    net = graph(dict.fromkeys(("n1", "n2", "n3", "n4"), "P"), ("n1", "c", "n2"), ("n3", "c", "n4"))
    sensors = readings(f2="flow", f3="flow", q1="pressure", q2="pressure", q3="pressure", q4="pressure")
    where = {name: f"n{name[1]}" for name in sensors.ids}
    pattern = "(f:flow)-[in]->(a:P)-[c]-(b:P)<-[in?]-(g:flow), (q:pressure)-[in?]->(a), (r:pressure)-[in?]->(b)"
    assert sorted(place[:2] for place in places(sensors, net, where, pattern)) == [("n2", "n1"), ("n3", "n4")]


def test_a_pattern_of_the_user_without_a_place_is_an_error() -> None:
    """Regression: it was a note, and rules about other things were shown."""
    with pytest.raises(PatternError, match="matches no place of the graph"):
        places(readings(f0="flow"), graph({"p": "Pipe"}), {"f0": "p"}, "(f:flow)-[in]->(p:Pipe)<-[in]-(g:flow)")


@pytest.mark.parametrize(("n_sensors", "expected"), [(2, 2), (3, 6)])
def test_sensors_of_one_node_that_could_be_exchanged_are_chosen_in_every_order(n_sensors: int, expected: int) -> None:
    """Regression: only one order was counted, which the order of the sensors in the file decided."""
    sensors = readings(**{f"f{at}": "flow" for at in range(n_sensors)})
    where = dict.fromkeys(sensors.ids, "p")
    found = places(sensors, graph({"p": "Pipe"}), where, "(f:flow)-[in]->(p:Pipe)<-[in]-(g:flow)")
    assert len(found) == expected


def test_an_optional_sensor_may_be_lacking_where_another_variable_has_the_only_one() -> None:
    sensors = readings(f0="flow")
    found = places(sensors, graph({"p": "Pipe"}), {"f0": "p"}, "(f:flow)-[in]->(p:Pipe)<-[in?]-(g:flow)")
    assert len(found) == 1


def test_of_two_optional_sensors_either_may_be_lacking() -> None:
    sensors = readings(f0="flow", f1="flow", f2="flow")
    where = {"f0": "p", "f1": "q", "f2": "q"}
    text = "(f:flow)-[in?]->(p:Pipe)<-[in?]-(g:flow)"
    found = places(sensors, graph({"p": "Pipe", "q": "Pipe"}), where, text)
    assert sorted(found) == [("p", "", "f0"), ("p", "f0", ""), ("q", "f1", "f2"), ("q", "f2", "f1")]


def test_the_roles_of_a_star_start_at_the_variable_that_is_named_first() -> None:
    """Regression: with a link they started at the source of the link, found nothing, and gave no column."""
    text = "(j:J)<-[ends_at]-(p:Pipe)<-[in]-(f:flow) | out: <-[starts_at]-(Pipe).flow"
    pattern = Pattern.parse(text)
    assert [variable.name for variable in pattern.nodes] == ["j", "p"]
    assert Pattern.parse(str(pattern)) == pattern
    net = graph(
        {"j1": "J", "j2": "J", "p1": "Pipe", "p2": "Pipe"},
        ("p1", "ends_at", "j1"),
        ("p1", "starts_at", "j2"),
        ("p2", "starts_at", "j1"),
        ("p2", "ends_at", "j2"),
    )
    sensors = readings(f1="flow", f2="flow")
    table = th.transactions(
        sensors, net, Binding({"f1": "p1", "f2": "p2"}), enrich="lifted", patterns=[text], bins=2, min_embeddings=1
    )
    (block,) = table.blocks
    assert sorted(place[:2] for place in block.embeddings) == [("j1", "p1"), ("j2", "p2")]
    assert [column.feature.subject for column in block.columns] == ["f", "j"]


def test_some_sensor_that_never_shows_a_state_is_evidence_against_it() -> None:
    """Regression: B, always shut, was missing for "open", so that A alone decided and a rule seemed certain."""
    a = ["open", "shut", None, None, None, None, "open", "shut"]
    frame = pl.DataFrame({"time": TIMES, "A": a, "B": ["shut"] * 8, "x": [1.0, 2.0] * 4})
    kinds = [Sensor("A", "valve", categorical=True), Sensor("B", "valve", categorical=True), Sensor("x", "flow")]
    net = graph({"a": "Pipe", "b": "Pipe"})
    table = th.transactions(
        SensorData.from_wide(frame, sensors=kinds), net, Binding({"A": "a", "B": "b", "x": "a"}), enrich="existential",
        bins=2,
    )  # fmt: skip
    codes = {str(column.feature): column.codes[0].tolist() for column in table.blocks[0].columns}
    (opened,) = [row for text, row in codes.items() if "open" in text]
    assert opened == [1, 0, 0, 0, 0, 0, 1, 0]


def test_existential_tables_keep_the_bins_of_properties() -> None:
    """Regression: with a fitted discretizer the lengths of pipes were binned again, which changed the conditions."""
    lengths = [1.0, 2.0, 3.0, 4.0, 100.0, 200.0, 300.0, 400.0]
    net = KnowledgeGraph([Node(f"p{at}", frozenset({"Pipe"}), {"length": value}) for at, value in enumerate(lengths)])
    first, later = ([f"s{at}" for at in part] for part in (range(4), range(4, 8)))
    tables: list[th.TransactionTable] = []
    for names in (first, later):
        made = th.transactions(
            readings(**dict.fromkeys(names, "flow")), net, Binding({name: f"p{name[1]}" for name in names}),
            enrich="existential", bins=2, like=tables[0] if tables else None,
        )  # fmt: skip
        tables.append(made)
    assert "Pipe.length" in tables[0].discretizer.binnings
    texts = {str(column.feature) for column in tables[1].blocks[0].columns if "length" in str(column.feature)}
    assert texts and all("length ≥ 3" in text for text in texts)
