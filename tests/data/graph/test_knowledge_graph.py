"""The knowledge graph: look-ups against brute force, dated values, and every error that it raises."""

from __future__ import annotations

import json
import pickle
from datetime import UTC, date, datetime, timedelta, timezone

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.records import DatedValue, Edge, Node, as_instant
from thence.errors import GraphError

DAY = timedelta(days=1)
START = datetime(2024, 1, 1, tzinfo=UTC)


def labels(*names: str) -> frozenset[str]:
    return frozenset(names)


@pytest.fixture
def line() -> KnowledgeGraph:
    """A tank, two pipes and two junctions in a line: T <- p1 -> j1 <- p2 -> j2."""
    return KnowledgeGraph(
        [
            Node("T", labels("Tank"), {"level": 3.5, "open": True}),
            Node("p1", labels("Pipe", "Asset"), {"length": 100}),
            Node("j1", labels("Junction"), {"level": 1}),
            Node("p2", labels("Pipe"), {"length": 50.0}),
            Node("j2", labels("Junction")),
        ],
        [
            Edge("a", "p1", "T", labels("starts_at")),
            Edge("b", "p1", "j1", labels("ends_at")),
            Edge("c", "p2", "j1", labels("starts_at")),
            Edge("d", "p2", "j2", labels("ends_at"), {"weight": 2}),
        ],
        property_units={"length": "m"},
    )


def test_looks_up_by_label_and_property(line: KnowledgeGraph) -> None:
    assert line.with_label("Pipe") == ("p1", "p2")
    assert line.with_label("Asset") == ("p1",)
    assert line.with_label("Pump") == ()
    assert line.with_property("length") == ("p1", "p2")
    assert line.with_property("length", 50) == ("p2",)
    assert line.with_property("depth") == ()
    assert line.labels == ("Asset", "Junction", "Pipe", "Tank")
    assert line.edge_labels == ("ends_at", "starts_at")
    assert line.property_units == {"length": "m"}
    assert len(line) == 5 and "T" in line and "X" not in line


def test_true_is_not_one(line: KnowledgeGraph) -> None:
    assert line.with_property("level", 1) == ("j1",)
    assert line.with_property("level", True) == ()
    assert line.with_property("open", True) == ("T",)
    assert line.with_property("open", 1) == ()


def test_edges_by_direction_and_label(line: KnowledgeGraph) -> None:
    assert [e.id for e in line.out_edges("p1")] == ["a", "b"]
    assert [e.id for e in line.out_edges("p1", "ends_at")] == ["b"]
    assert [e.id for e in line.in_edges("j1", ("starts_at", "ends_at"))] == ["b", "c"]
    assert line.in_edges("p1") == ()


def test_neighbours_by_hop_label_and_direction(line: KnowledgeGraph) -> None:
    assert line.neighbours("T") == {"p1": 1}
    assert line.neighbours("T", hops=3) == {"p1": 1, "j1": 2, "p2": 3}
    assert line.neighbours("T", direction="out") == {}
    assert line.neighbours("p1", hops=9, direction="out") == {"T": 1, "j1": 1}
    assert line.neighbours("j1", hops=9, label="ends_at") == {"p1": 1}
    assert line.neighbours("j1", hops=0) == {}


@given(
    edges=st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7), st.sampled_from(["x", "y"])), max_size=20),
    hops=st.integers(0, 4),
    direction=st.sampled_from(["any", "out", "in"]),
    label=st.sampled_from([None, "x", "y"]),
)
def test_neighbours_are_shortest_paths(
    edges: list[tuple[int, int, str]], hops: int, direction: str, label: str | None
) -> None:
    graph = KnowledgeGraph(
        [Node(str(i)) for i in range(8)],
        [Edge(f"e{n}", str(a), str(b), labels(kind)) for n, (a, b, kind) in enumerate(edges)],
    )
    reference = nx.DiGraph() if direction != "any" else nx.Graph()
    reference.add_nodes_from(str(i) for i in range(8))
    for a, b, kind in edges:
        if label in (None, kind):
            reference.add_edge(*((str(b), str(a)) if direction == "in" else (str(a), str(b))))
    expected = dict(nx.single_source_shortest_path_length(reference, "0", cutoff=hops))
    del expected["0"]
    assert graph.neighbours("0", hops=hops, label=label, direction=direction) == expected  # type: ignore[arg-type]


@given(
    steps=st.lists(st.tuples(st.integers(0, 30), st.one_of(st.none(), st.integers())), unique_by=lambda s: s[0]),
    base=st.one_of(st.none(), st.integers()),
    at=st.integers(-2, 32),
)
def test_the_value_in_force_is_the_last_that_began(
    steps: list[tuple[int, int | None]], base: int | None, at: int
) -> None:
    dated = [DatedValue("n", "p", START + day * DAY, value) for day, value in steps]
    graph = KnowledgeGraph([Node("n", properties={} if base is None else {"p": base})], dated=dated)
    begun = [value for day, value in sorted(steps) if day <= at]
    expected = begun[-1] if begun else base
    assert graph.value("n", "p", START + at * DAY) == expected
    holders = ("n",) if expected is not None else ()
    assert graph.with_property("p", 0 if expected is None else expected, at=START + at * DAY) == holders
    assert graph.value("n", "p") == (sorted(steps)[-1][1] if steps else base)


def test_dated_values_of_edges_and_zones() -> None:
    graph = KnowledgeGraph(
        [Node("a"), Node("b")],
        [Edge("e", "a", "b", properties={"open": True})],
        dated=[DatedValue("e", "open", as_instant("2024-06-01T00:00:00+02:00"), False)],
    )
    assert graph.value("e", "open", "2024-05-31T21:59:59Z") is True
    assert graph.value("e", "open", "2024-05-31T22:00:00") is False
    assert graph.value("e", "open", date(2024, 6, 1)) is False
    assert graph.value("e", "open", datetime(2024, 6, 1, tzinfo=timezone(timedelta(hours=2)))) is False
    assert graph.dated == (DatedValue("e", "open", datetime(2024, 5, 31, 22, tzinfo=UTC), False),)
    assert "dated:      1 values" in graph.summary()


def test_nothing_can_be_changed(line: KnowledgeGraph) -> None:
    for change in (
        lambda: line.nodes.__setitem__("X", Node("X")),  # type: ignore[attr-defined]
        lambda: line.nodes["T"].properties.__setitem__("level", 1),  # type: ignore[attr-defined]
        lambda: line.property_units.__setitem__("level", "m"),  # type: ignore[attr-defined]
        lambda: setattr(line.nodes["T"], "id", "U"),
    ):
        with pytest.raises((TypeError, AttributeError)):
            change()


def test_the_callers_dictionary_stays_apart() -> None:
    mine: dict[str, str | float | int | bool] = {"length": 1}
    node = Node("n", labels("A"), mine)
    mine["length"] = 2
    assert node.properties == {"length": 1}
    assert Node("n", "Pipe").labels == labels("Pipe")  # type: ignore[arg-type]
    assert hash(node) == hash(Node("n", labels("A"), {"length": 1}))


def test_survives_pickling(line: KnowledgeGraph) -> None:
    line.with_property("length", 100)
    assert pickle.loads(pickle.dumps(line)).to_dict() == line.to_dict()


def test_subgraph_keeps_what_is_inside() -> None:
    graph = KnowledgeGraph(
        [Node("a"), Node("b"), Node("c")],
        [Edge("ab", "a", "b"), Edge("bc", "b", "c")],
        dated=[DatedValue("ab", "w", START, 1), DatedValue("c", "w", START, 2)],
        property_units={"w": "kg"},
    )
    part = graph.subgraph(["b", "a"])
    assert list(part.nodes) == ["b", "a"] and list(part.edges) == ["ab"]
    assert [d.subject for d in part.dated] == ["ab"] and part.property_units == {"w": "kg"}
    with pytest.raises(GraphError, match="there is no node 'z'"):
        graph.subgraph(["z"])


def test_an_unknown_node_is_named_with_the_nearest(line: KnowledgeGraph) -> None:
    with pytest.raises(GraphError, match=r"there is no node 'p11' \(did you mean 'p1'\?\)"):
        line.node("p11")
    for call in (line.out_edges, line.in_edges, line.neighbours):
        with pytest.raises(GraphError, match="there is no node 'zz'"):
            call("zz")
    with pytest.raises(GraphError, match="use 'any', 'out' or 'in'"):
        line.neighbours("T", direction="up")  # type: ignore[arg-type]


def test_every_flaw_is_listed_at_once() -> None:
    with pytest.raises(GraphError) as caught:
        KnowledgeGraph(
            [Node("a"), Node("a"), Node("b", properties={"x": float("nan"), "y": [{}]}), Node("e")],  # type: ignore[dict-item]
            [Edge("e", "a", "nowhere"), Edge("f", "no", "b"), Edge("f", "a", "b")],
            dated=[
                DatedValue("ghost", "p", START, 1),
                DatedValue("a", "p", START, 1),
                DatedValue("a", "p", START, 2),
                DatedValue("a", "q", START, {}),  # type: ignore[arg-type]
            ],
        )
    text = str(caught.value)
    for part in (
        "10 problems",
        "2 nodes have the id 'a'",
        "2 edges have the id 'f'",
        "'e' is the id of a node and of an edge",
        "edge 'e' ends at 'nowhere', which is not a node",
        "edge 'f' starts at 'no', which is not a node",
        "b: property 'x' must be a string, a finite number or a boolean, or a list of these, got nan",
        "b: property 'y' must be a string, a finite number or a boolean, or a list of these, got [{}]",
        "dated value of 'p': 'ghost' is not a node or edge",
        "a: 'p' has two values from 2024-01-01T00:00:00+00:00 on: 1 and 2",
        "a: dated 'q' must be a string, a finite number or a boolean, or a list of these, got {}",
    ):
        assert part in text


def test_a_bad_date_says_how_to_write_one(line: KnowledgeGraph) -> None:
    with pytest.raises(GraphError, match="'yesterday' is not a date \\(write 2024-03-01"):
        as_instant("yesterday")


def test_describe_summary_and_repr(line: KnowledgeGraph) -> None:
    assert repr(line) == "KnowledgeGraph(5 nodes, 4 edges)"
    content = line.describe()
    assert content == {
        "nodes": 5,
        "edges": 4,
        "labels": {"Pipe": 2, "Junction": 2, "Tank": 1, "Asset": 1},
        "edge_labels": {"starts_at": 2, "ends_at": 2},
        "properties": {"level": 2, "length": 2, "open": 1},
        "dated_values": 0,
    }
    assert json.loads(json.dumps(content)) == content
    assert "labels:     Pipe 2, Junction 2, Tank 1, Asset 1" in line.summary()
    assert "none" in KnowledgeGraph([]).summary()


def test_networkx_reserves_the_name_labels() -> None:
    with pytest.raises(GraphError, match=r"the property name 'labels' is reserved.*: n"):
        KnowledgeGraph([Node("n", properties={"labels": "x"})]).to_networkx()
