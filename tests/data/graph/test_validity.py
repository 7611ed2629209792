"""Nodes, edges and bindings hold at all times: what looks dated is told, and a change is mined as two periods."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import thence as th
from thence.data.graph.knowledge_graph import KnowledgeGraph, note_dated_structure
from thence.data.graph.records import Edge, Node
from thence.data.readings.windows import window
from thence.errors import BindingError, GraphError
from thence.runs.configuration import Config
from thence.search.exact.miner import Exact


def test_dates_of_nodes_and_edges_are_told() -> None:
    nodes = [Node("a", properties={"valid from": "2024-01-01"}), Node("b", properties={"from": "the north"})]
    edges = [Edge("e", "a", "b", properties={"until": "2024-02-01T00:00Z"}), Edge("f", "b", "a", properties={"to": 3})]
    (note,) = note_dated_structure(KnowledgeGraph(nodes, edges))
    assert note.startswith("1 node and 1 edge have dates ('valid from'), but nodes and edges count at all times: make")
    assert not note_dated_structure(KnowledgeGraph([nodes[1], Node("a")], [edges[1]]))


@pytest.mark.parametrize("enrich", ["grounded", "existential", "lifted"])
def test_a_table_has_the_note(enrich: str) -> None:
    toy = th.datasets.load("toy")
    assert toy.graph is not None
    first, *others = toy.graph.edges.values()
    dated = replace(first, properties={"valid_until": "2024-01-02"})
    graph = KnowledgeGraph(toy.graph.nodes.values(), [dated, *others])
    options = {"min_embeddings": 1} if enrich == "lifted" else {}
    table = th.transactions(toy.sensors, graph, toy.binding, ontology=toy.ontology, enrich=enrich, **options)
    assert any(note.startswith("1 edge has a date ('valid_until')") for note in table.notes)


def test_a_dated_binding_is_refused(tmp_path: Path) -> None:
    csv, listed = tmp_path / "b.csv", tmp_path / "b.json"
    csv.write_text("sensor,node,valid_from\ns,a,2024-01-01\ns,b,2024-02-01\n")
    with pytest.raises(BindingError, match=r"'valid_from' says when a sensor is at a node.*system of each period"):
        th.read_binding(csv)
    listed.write_text(json.dumps([{"sensor": "s", "node": "a", "from": "2024-01-01"}]))
    with pytest.raises(BindingError, match="'from' says when a sensor is at a node"):
        th.read_binding(listed)
    csv.write_text("sensor,node,until,note\ns,a,,x\n")
    assert dict(th.read_binding(csv)) == {"s": "a"}


def test_dated_labels_are_refused(tmp_path: Path) -> None:
    """Regression: the label was the text of the whole entry."""
    labels = [{"from": "2024-01-01", "value": "Pipe"}]
    (tmp_path / "g.json").write_text(json.dumps({"nodes": [{"id": "p", "labels": labels}]}))
    with pytest.raises(GraphError, match=r"a label must be a string.*labels hold at all times"):
        th.read_graph(tmp_path / "g.json")


def test_a_change_of_the_graph_is_mined_as_two_periods() -> None:
    """A valve is opened at noon: from then on Pipe AB ends at another junction. Counted row by row in plain Python."""
    toy = th.datasets.load("toy")
    assert toy.graph is not None and toy.binding is not None
    moved = [e for e in toy.graph.edges.values() if e.source == "Pipe AB" and e.labels == {"ends_at"}]
    assert len(moved) == 1 and moved[0].target == "Junction B"
    edges = [replace(e, target="Junction C") if e == moved[0] else e for e in toy.graph.edges.values()]
    changed = KnowledgeGraph(toy.graph.nodes.values(), edges, property_units=toy.graph.property_units)
    noon = "2024-01-01T12:00"
    before = replace(toy.between(end=noon), name="before")
    after = replace(toy.between(noon), graph=changed, name="after")
    pattern = "(f:flow)-[in]->(p:Pipe)-[ends_at]->(j:Junction)<-[in]-(g:pressure)"
    run = th.mine(
        [before, after], windows="1h", bins=2, scope="kind", refine=None, progress="off",
        config=Config.from_mapping({"enrich": {"mode": "lifted", "patterns": [pattern]}}),
        miner=Exact(min_support=0.0, min_confidence=0.0),
    )  # fmt: skip
    rows: list[dict[str, float]] = []
    for system in (before, after):
        readings = window(system.sensors, "1h")
        values = {s.id: readings.values[:, at] for at, s in enumerate(readings.numeric)}
        assert system.graph is not None
        for flow, pipe in toy.binding.items():
            ends = [e.target for e in system.graph.out_edges(pipe, "ends_at")] if pipe.startswith("Pipe") else []
            for end in ends:
                (pressure,) = [s for s in toy.binding.sensors_at(end) if s.startswith("pressure")]
                rows += [{"f": x, "g": y} for x, y in zip(values[flow], values[pressure], strict=True)]
    compared = 0
    for number, rule in enumerate(run.rules):
        items = (*rule.antecedent, rule.consequent)
        if len(items) == 2 and {item.feature.subject for item in items} == {"f", "g"}:
            left = [row for row in rows if items[0].holds(row[items[0].feature.subject])]
            both = [row for row in left if items[1].holds(row[items[1].feature.subject])]
            assert int(run.rules.counts.n_antecedent[number]) == len(left)
            assert int(run.rules.counts.n_both[number]) == len(both)
            compared += 1
    assert compared >= 4
