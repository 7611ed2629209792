"""A graph written as JSON, tables, networkx or GraphML is read back as it was."""

from __future__ import annotations

import csv
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.records import DatedValue, Edge, Node
from thence.data.loaders import read_graph

WORDS = st.text("abc_ é", min_size=1, max_size=5).map(str.strip).filter(bool)
NUMBERS = st.one_of(st.integers(-1000, 1000), st.floats(allow_nan=False, allow_infinity=False, width=32))
SINGLE = st.one_of(WORDS, st.booleans(), NUMBERS)
VALUES = st.one_of(SINGLE, st.lists(SINGLE, max_size=3))
LABELS = st.frozensets(st.sampled_from(["Pipe", "Pump", "Asset"]))
PROPERTIES = st.dictionaries(WORDS.filter(lambda w: w != "labels"), VALUES, max_size=3)
START = datetime(2024, 1, 1, tzinfo=UTC)


@st.composite
def graphs(draw: st.DrawFn, *, columns: bool = False) -> KnowledgeGraph:
    """Any small graph; with ``columns`` each property has one type, as a table column has."""
    properties = PROPERTIES
    if columns:
        typed = {"text": WORDS.filter(lambda w: w not in ("true", "false")), "flag": st.booleans(), "size": NUMBERS}
        properties = st.fixed_dictionaries({}, optional=typed)  # type: ignore[arg-type]
    ids = draw(st.lists(WORDS, min_size=1, max_size=5, unique=True))
    nodes = [Node(f"n {i}", draw(LABELS), draw(properties)) for i in ids]
    ends = st.sampled_from([node.id for node in nodes])
    pairs = draw(st.lists(st.tuples(ends, ends), max_size=5))
    edges = [Edge(f"e {n}", a, b, draw(LABELS), draw(properties)) for n, (a, b) in enumerate(pairs)]
    dated: list[DatedValue] = []
    if not columns:
        subjects = st.sampled_from([*nodes, *edges])
        keys = st.tuples(subjects, st.sampled_from(["p", "q"]), st.integers(0, 3))
        for subject, name, day in draw(st.lists(keys, max_size=3, unique_by=lambda k: (k[0].id, *k[1:]))):
            value = draw(st.one_of(st.none(), VALUES))
            dated.append(DatedValue(subject.id, name, START + timedelta(days=day), value))
    return KnowledgeGraph(nodes, edges, dated=dated, property_units={"size": "m"})


@given(graphs())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_json(tmp_path: Path, graph: KnowledgeGraph) -> None:
    file = tmp_path / "graph.json"
    file.write_text(json.dumps(graph.to_dict()), encoding="utf-8")
    assert read_graph(file).to_dict() == graph.to_dict()


@given(graphs())
def test_networkx(graph: KnowledgeGraph) -> None:
    back = read_graph(graph.to_networkx())
    assert dict(back.nodes) == dict(graph.nodes)
    assert dict(back.edges) == dict(graph.edges)
    assert set(back.dated) == set(graph.dated) and back.property_units == graph.property_units


@given(graphs())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_node_link_json(tmp_path: Path, graph: KnowledgeGraph) -> None:
    file = tmp_path / "graph.json"
    file.write_text(json.dumps(nx.node_link_data(graph.to_networkx(), edges="links")), encoding="utf-8")
    back = read_graph(file)
    assert dict(back.nodes) == dict(graph.nodes)
    assert dict(back.edges) == dict(graph.edges)
    assert set(back.dated) == set(graph.dated)


@given(graphs(columns=True))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_tables(tmp_path: Path, graph: KnowledgeGraph) -> None:
    heads = {"text": "text:text", "flag": "flag", "size": "size [m]"}

    def write(name: str, elements: list[Any], keys: list[str]) -> None:
        with (tmp_path / name).open("w", encoding="utf-8", newline="") as file:
            table = csv.writer(file)
            table.writerow([*keys, "labels", *heads.values()])
            for element in elements:
                cells = [element.properties.get(head, "") for head in heads]
                table.writerow([*(getattr(element, k) for k in keys), ";".join(element.labels), *cells])

    write("nodes.csv", list(graph.nodes.values()), ["id"])
    write("edges.csv", list(graph.edges.values()), ["id", "source", "target"])
    assert read_graph(tmp_path).to_dict() == graph.to_dict()


@given(graphs(columns=True))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_graphml_as_networkx_writes_it(tmp_path: Path, graph: KnowledgeGraph) -> None:
    flat = graph.to_networkx()
    flat.graph.clear()
    for _, attributes in (*flat.nodes(data=True), *(((u, v), a) for u, v, a in flat.edges(data=True))):
        attributes["labels"] = ";".join(attributes["labels"])
        if "size" in attributes:
            attributes["size"] = float(attributes["size"])
    nx.write_graphml(flat, tmp_path / "graph.graphml")
    back = read_graph(tmp_path / "graph.graphml")
    assert dict(back.nodes) == dict(graph.nodes)
    assert dict(back.edges) == dict(graph.edges)


def test_a_knowledge_graph_passes_through() -> None:
    graph = KnowledgeGraph([Node("a")])
    assert read_graph(graph) is graph


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
def test_every_kind_of_networkx_graph(kind: Any) -> None:
    source = kind()
    source.add_node(1, type="Pump", power=float("nan"), size=3)
    source.add_edge(1, 2, label="feeds", weight=2)
    graph = read_graph(source)
    assert graph.with_label("Pump") == ("1",) and dict(graph.node("1").properties) == {"size": 3}
    (edge,) = graph.edges.values()
    assert (edge.id, edge.source, edge.target) == ("1 feeds 2", "1", "2") and edge.properties == {"weight": 2}
