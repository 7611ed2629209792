"""Patterns: the text form and its errors, automorphisms, embeddings and discovery."""

from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.examples import examples
from tests.helpers.networks import graph
from thence.data.graph.discovery import Carriers, discover
from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.matching import GraphIndex, find_embeddings, find_role_members
from thence.data.graph.ontology import Ontology
from thence.data.graph.records import Edge, Node
from thence.errors import BindingError, PatternError
from thence.language.patterns import Link, NodeVariable, Pattern, SensorVariable, StarRole, Step


@pytest.mark.parametrize(
    "text",
    [
        "(f:flow)-[in]->(p:Pipe)-[connected]-(j:Junction)<-[in]-(g:pressure)",
        "(a:X)-[r]->(b:Y), (b)-[s]->(c:Z), (a)-[t]-(c)",
        "(j:Junction)<-[in?]-(d:demand) | arriving: <-[ends_at]-(Pipe).flow | `far off`: -[to]-(A)-[to]-(B).level",
        "(`a b`:`Class-1`)-[]->(c)",
        "(s:`air temperature`)-[in*?]->(a:AHU)<-[in*]-(v:valve) | fed: -[feeds]->(VAV).flow* | by: -[]-(Fan).speed",
        "(j:J)<-[in]-(p:pressure) | around: nearest 3 -[connected*]-(J).pressure | up: nearest 1 <-[*]-().flow*",
        "(n) | nearest: -[`a b`]->(X).flow | `nearest 2`: nearest 100 -[`a b*`*]->(`3X`).`air flow`",
        "(n)",
    ],
)
def test_text_reads_back(text: str) -> None:
    pattern = Pattern.parse(text)
    assert Pattern.parse(str(pattern)) == pattern


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        ("(a:X)-[r->(b)", "character 7"),
        ("(a:X", "character 1"),
        ("(a:X)-[r]->(b:Y) nonsense", "character 18"),
        ("(a:X)<-[r]->(b:Y)", "one way only"),
        ("(a:X)-[r]->(a:Y)", "already has the label 'X'"),
        ("(s:flow)-[in]-(p:Pipe)", "from the sensor to its node"),
        ("(s:flow)-[in]->(p:Pipe), (s)-[r]->(q:Pipe)", "is a sensor"),
        ("(a:X)-[r?]->(b:Y)", "only \\[in\\?\\] can be optional"),
        ("(a:X)-[r*]->(b:Y)", "only \\[in\\*\\] can have an asterisk"),
        ("(a:X) | role:", "needs a path"),
        ("(a:X) | role: -[r*]->(Y).flow", "plain edges"),
        ("(a:X) | role: nearest -[r*]-(Y).flow", "a number of nodes such as nearest 3"),
        ("(a:X) | role: nearest 0 -[r*]-(Y).flow", "from 1 to 100, got 0 at character 15"),
        ("(a:X) | role: nearest 101 -[r*]-(Y).flow", "from 1 to 100"),
        ("(a:X) | role: nearest 3 -[r]-(Y).flow", "one edge with an asterisk"),
        ("(a:X) | role: nearest 3 -[r*?]-(Y).flow", "one edge with an asterisk"),
        ("(a:X) | role: nearest 3 -[r*]-(Y)-[r*]-(Z).flow", "one edge with an asterisk"),
        ("(a:X) | role: nearest 3 .flow", "needs a path such as -\\[connected\\*\\]-"),
    ],
)
def test_errors_say_where(text: str, message: str) -> None:
    with pytest.raises(PatternError, match=message):
        Pattern.parse(text)


def test_a_sensor_bound_in_capitals_is_explained() -> None:
    """``[IN]`` is an edge of the graph; the message only said that no node is a 'flow'."""
    index = GraphIndex(graph())
    for text in ("(f:flow)-[IN]->(p:Pipe)", "(f:flow)-[:IN]->(p:Pipe)"):
        with pytest.raises(
            PatternError, match=r"no node of the graph has the label 'flow' .*bind a sensor with \[in\] in lower case"
        ):
            find_embeddings(Pattern.parse(text), index)
    with pytest.raises(PatternError) as caught:
        find_embeddings(Pattern.parse("(f:flow)-[ends_at]->(p:Pipe)"), index)
    assert "lower case" not in str(caught.value)


def test_unknown_labels_name_the_nearest() -> None:
    index = GraphIndex(graph())
    with pytest.raises(PatternError, match="did you mean 'Pipe'"):
        find_embeddings(Pattern.parse("(p:Pip)"), index)
    with pytest.raises(PatternError, match="did you mean 'ends_at'"):
        find_embeddings(Pattern.parse("(p:Pipe)-[end_at]->(j:Junction)"), index)
    with pytest.raises(PatternError, match="not connected"):
        find_embeddings(Pattern.parse("(p:Pipe), (q:Pipe)"), index)
    with pytest.raises(PatternError, match="more than 2 embeddings"):
        find_embeddings(Pattern.parse("(p:Pipe)-[ends_at]->(j:Junction)"), index, limit=2)


def test_labels_and_relations_match_through_the_ontology() -> None:
    index = GraphIndex(graph(), Ontology.water())
    assert len(find_embeddings(Pattern.parse("(p:Pipe)-[starts_at]->(n:Node)"), index)) == 6
    assert len(find_embeddings(Pattern.parse("(p:Pipe)-[starts_at]->(n:Junction)"), index)) == 5
    assert len(find_embeddings(Pattern.parse("(p:Link)-[connected]-(n:Node)"), index)) == 12


def test_symmetric_patterns_have_an_embedding_for_each_order() -> None:
    # One order only was counted, and the order of the nodes in the file decided which.
    index = GraphIndex(graph(), Ontology.water())
    across = Pattern.parse("(a:Junction)-[connected]-(p:Pipe)-[connected]-(b:Junction)")
    assert len(list(across.automorphisms())) == 2
    assert len(find_embeddings(across, index)) == 10
    directed = Pattern.parse("(a:Junction)<-[starts_at]-(p:Pipe)-[ends_at]->(b:Junction)")
    assert len(list(directed.automorphisms())) == 1
    assert len(find_embeddings(directed, index)) == 5


def _naive(pattern: Pattern, g: KnowledgeGraph) -> set[tuple[str, ...]]:
    """Every injective assignment that satisfies all links."""
    names = [v.name for v in pattern.nodes]
    edges = {(e.source, e.target, label) for e in g.edges.values() for label in e.labels}
    found = set()
    for nodes in permutations(g.nodes, len(names)):
        at = dict(zip(names, nodes, strict=True))
        if any(v.label and v.label not in g.nodes[at[v.name]].labels for v in pattern.nodes):
            continue
        if all(
            (at[k.source], at[k.target], k.label) in edges
            or (not k.directed and (at[k.target], at[k.source], k.label) in edges)
            for k in pattern.links
        ):
            found.add(nodes)
    return found


@st.composite
def small_graphs(draw: st.DrawFn) -> KnowledgeGraph:
    n = draw(st.integers(2, 6))
    nodes = [Node(f"n{i}", frozenset([draw(st.sampled_from("AB"))]), {}) for i in range(n)]
    pairs = draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1), st.sampled_from("rs")), max_size=10))
    edges = [Edge(f"e{k}", f"n{a}", f"n{b}", frozenset([r]), {}) for k, (a, b, r) in enumerate(pairs)]
    used = {label for node in nodes for label in node.labels}
    if used != {"A", "B"}:
        nodes += [Node("extra", frozenset({"A", "B"} - used), {})]
    edges += [Edge("er", "n0", "n1", frozenset(["r"]), {}), Edge("es", "n1", "n0", frozenset(["s"]), {})]
    return KnowledgeGraph(nodes, edges)


@settings(max_examples=examples(200))
@given(
    small_graphs(),
    st.sampled_from(
        [
            "(a:A)-[r]->(b:B)",
            "(a:A)-[r]-(b:A)",
            "(a:A)-[r]->(b)-[s]->(c:A)",
            "(a:A)-[r]-(b:B)-[r]-(c:A)",
            "(a)-[r]->(b)-[r]->(c), (a)-[s]-(c)",
        ]
    ),
)
def test_embeddings_equal_those_of_nested_loops(g: KnowledgeGraph, text: str) -> None:
    pattern, index = Pattern.parse(text), GraphIndex(g)
    rows = find_embeddings(pattern, index)
    found = [tuple(index.ids[i] for i in row) for row in rows.tolist()]
    assert len(found) == len(set(found))
    assert set(found) == _naive(pattern, g)


def test_members_of_a_role_are_never_the_focus_itself() -> None:
    index = GraphIndex(graph(), Ontology.water())
    focus = np.array([index.number["A"]])
    steps = (Step("connected", "any", "Pipe"), Step("connected", "any", "Node"))
    _, members = find_role_members(steps, focus, index)
    assert sorted(index.ids[m] for m in members) == ["B", "C", "R"]


def test_discovery_finds_paths_and_stars() -> None:
    index = GraphIndex(graph(), Ontology.water())
    kinds = {f"pressure_{j}": "pressure" for j in "ABCD"} | {f"flow_P{k}": "flow" for k in range(1, 7)}
    places = {name: name.split("_")[1] for name in kinds}
    patterns, notes = discover(Carriers.of(index, kinds, places), min_embeddings=2)
    assert notes == []
    texts = [str(p) for p in patterns]
    assert any(p.is_star and p.nodes[0].label == "Junction" for p in patterns)
    stars = [p for p in patterns if p.is_star and p.nodes[0].label == "Junction"]
    assert {r.name for r in stars[0].roles} >= {"Pipes that end there", "Pipes that start there"}
    assert any("ends_at" in t and "starts_at" in t and t.count("Junction") == 2 for t in texts)
    assert len(texts) == len(set(texts))
    for pattern in patterns:
        assert Pattern.parse(str(pattern)) == pattern


def test_discovery_leaves_out_frequent_paths_with_a_note() -> None:
    index = GraphIndex(graph(), Ontology.water())
    kinds = {f"flow_P{k}": "flow" for k in range(1, 7)}
    places = {name: name.split("_")[1] for name in kinds}
    _, notes = discover(Carriers.of(index, kinds, places), max_embeddings=4, stars=False)
    assert any("left out" in note and "more than 4" in note for note in notes)


@pytest.mark.parametrize("relation", ["IN", "In", "`in`"])
def test_only_the_bare_word_in_binds_a_sensor(relation: str) -> None:
    """A relation called IN, as in Neo4j graphs, was taken for the binding, even in backticks."""
    pattern = Pattern.parse(f"(t:Temperature)-[in]->(a:Room)-[{relation}]->(b:Floor)")
    assert [(s.kind, s.host) for s in pattern.sensors] == [("Temperature", "a")]
    assert [(k.source, k.target, k.label) for k in pattern.links] == [("a", "b", relation.strip("`"))]
    assert Pattern.parse(str(pattern)) == pattern


_NAMES = st.sampled_from(["in", "IN", "Temperature", "relative humidity", "a`b", "", "Über", "value", "1st", "p:q"])


@settings(max_examples=examples(100))
@given(st.lists(_NAMES, min_size=6, max_size=6), st.lists(_NAMES.filter(bool), min_size=5, max_size=5), _NAMES, _NAMES)
def test_every_discovered_pattern_reads_back(labels: list[str], relations: list[str], warm: str, wet: str) -> None:
    """Kinds were parsed in lower case, so a pattern of a kind with capitals was not equal to its parsed text."""
    nodes = [Node(f"n{i}", frozenset([label] if label else [])) for i, label in enumerate(labels)]
    edges = [Edge(f"e{i}", f"n{i}", f"n{i + 1}", frozenset([r])) for i, r in enumerate(relations)]
    kinds = {f"{kind}{i}": kind for i in range(6) for kind in (warm, wet)}
    carriers = Carriers.of(GraphIndex(KnowledgeGraph(nodes, edges)), kinds, {s: f"n{s[-1]}" for s in kinds})
    found, _ = discover(carriers, min_embeddings=1)
    assert found
    for pattern in found:
        assert Pattern.parse(str(pattern)) == pattern


def test_a_sensor_at_an_unknown_node_is_named() -> None:
    """It raised a KeyError."""
    with pytest.raises(BindingError, match=r"sensor 's' is bound to 'P11', which is not a node .*did you mean 'P1'"):
        Carriers.of(GraphIndex(graph()), {"s": "flow"}, {"s": "P11"})


def _all_symmetries(pattern: Pattern) -> list[dict[str, str]]:
    """Every renaming that leaves the pattern unchanged, by brute force."""

    def content(mapping: dict[str, str]) -> tuple[object, ...]:
        return (
            {(mapping[v.name], v.label) for v in pattern.nodes},
            {
                (k.label, ends if k.directed else frozenset(ends))
                for k in pattern.links
                for ends in [(mapping[k.source], mapping[k.target])]
            },
            sorted((s.kind, mapping[s.host]) for s in pattern.sensors),
            mapping[pattern.nodes[0].name] if pattern.roles else "",
        )

    names = [v.name for v in pattern.nodes]
    same = dict(zip(names, names, strict=True))
    tried = (dict(zip(names, order, strict=True)) for order in permutations(names))
    return [mapping for mapping in tried if content(mapping) == content(same)]


_LINKS = st.lists(
    st.tuples(st.sampled_from("abcde"), st.sampled_from("abcde"), st.sampled_from("rs"), st.booleans()), max_size=7
)


@settings(max_examples=examples(200))
@given(
    _LINKS,
    st.lists(st.sampled_from(["X", "X", "Y"]), min_size=5, max_size=5),
    st.lists(st.sampled_from("abc")),
    st.booleans(),
)
def test_symmetries_are_all_found_and_no_others(links: list, labels: list[str], hosts: list[str], star: bool) -> None:
    pattern = Pattern(
        tuple(NodeVariable(name, label) for name, label in zip("abcde", labels, strict=True)),
        tuple(Link(*link) for link in links if link[0] != link[1]),
        tuple(SensorVariable(f"s{i}", "flow", host) for i, host in enumerate(hosts)),
        (StarRole("near", (Step("r", "out", ""),), "flow"),) if star else (),
    )
    assert list(pattern.automorphisms()) == _all_symmetries(pattern)


def test_long_patterns_are_matched() -> None:
    """All permutations of the variables were tried: 479 million for twelve variables."""
    names = "abcdefghijkl"
    chain = ", ".join(f"({a}:X)-[to]-({b}:X)" for a, b in pairwise(names))
    nodes = [Node(f"n{i}", frozenset({"X"})) for i in range(13)]
    edges = [Edge(f"e{i}", f"n{i}", f"n{i + 1}", frozenset({"to"})) for i in range(12)]
    pattern = Pattern.parse(chain)
    assert len(list(pattern.automorphisms())) == 2
    assert len(find_embeddings(pattern, GraphIndex(KnowledgeGraph(nodes, edges)))) == 4


@pytest.mark.parametrize("order", [("a", "b", "c", "d"), ("a", "c", "b", "d"), ("d", "b", "c", "a")])
def test_a_path_is_not_taken_for_a_star_of_the_same_nodes(order: tuple[str, ...]) -> None:
    """Regression: two pairs of nodes had the same key as a star of the four, where the file listed them in order."""
    nodes = [Node(name, frozenset({"Fan"})) for name in order]
    edges = [Edge("1", "a", "b", frozenset({"leads"})), Edge("2", "c", "d", frozenset({"leads"}))]
    sensors = {"fa": ("flow", "a"), "fc": ("flow", "c"), "vb": ("valve", "b"), "vd": ("valve", "d")}
    carriers = Carriers.of(
        GraphIndex(KnowledgeGraph(nodes, edges)),
        {name: kind for name, (kind, _) in sensors.items()},
        {name: node for name, (_, node) in sensors.items()},
    )
    found, _ = discover(carriers, hops=1, min_embeddings=1)
    assert [len(pattern.nodes) for pattern in found] == [1, 2]
