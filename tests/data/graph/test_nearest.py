"""The nearest nodes along edges, against distances found one focus at a time, and when they become roles of stars."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import thence as th
from tests.helpers.examples import examples
from thence.data.graph.discovery import Carriers, discover, find_nearest
from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.matching import GraphIndex
from thence.data.graph.records import Edge, Node
from thence.errors import PatternError
from thence.language.patterns import Pattern, StarRole, Step

_N = 9


def _graph(edges: list[tuple[int, int]], *, labels: str = "", relation: str = "to", seed: int = 0) -> KnowledgeGraph:
    """Nodes ``n0``, ``n1``, …, listed in an order of their own."""
    count = len(labels) or _N
    nodes = [Node(f"n{i}", frozenset(labels[i : i + 1])) for i in range(count)]
    random.Random(seed).shuffle(nodes)
    return KnowledgeGraph(
        nodes, [Edge(f"e{i}", f"n{a}", f"n{b}", frozenset([relation])) for i, (a, b) in enumerate(edges)]
    )


def _expected(
    edges: list[tuple[int, int]], focus: int, wanted: set[int], count: int, direction: str
) -> list[tuple[int, int]]:
    """Distance and node of the nearest ones, by a search of its own from the focus."""
    far, ring = {focus: 0}, {focus}
    while ring:
        out = {b for a, b in edges if a in ring} if direction != "in" else set()
        back = {a for a, b in edges if b in ring} if direction != "out" else set()
        distance = max(far.values()) + 1
        ring = (out | back) - set(far)
        far |= dict.fromkeys(ring, distance)
    return sorted((far[node], node) for node in wanted - {focus} if node in far)[:count]


_EDGES = st.lists(st.tuples(st.integers(0, _N - 1), st.integers(0, _N - 1)), max_size=18)


@settings(max_examples=examples(200), deadline=None)
@given(
    _EDGES,
    st.sets(st.integers(0, _N - 1)),
    st.integers(1, 4),
    st.sampled_from(["out", "in", "any"]),
    st.integers(0, 3),
)
def test_they_are_the_nearest_and_of_equals_the_first_by_id(
    edges: list[tuple[int, int]], wanted: set[int], count: int, direction: str, seed: int
) -> None:
    index = GraphIndex(_graph(edges, seed=seed))
    focus = np.arange(_N)
    mask = np.array([int(name[1:]) in wanted for name in index.ids])
    found = find_nearest(index, focus, mask, count=count, direction=direction)
    for at in range(_N):
        own = found.origin == at
        nodes = [int(index.ids[node][1:]) for node in found.nodes[own]]
        expected = _expected(edges, int(index.ids[at][1:]), wanted, count, direction)
        assert list(zip(found.distances[own].tolist(), nodes, strict=True)) == expected


def test_a_relation_that_no_edge_has_is_named() -> None:
    index = GraphIndex(_graph([(0, 1)]))
    with pytest.raises(PatternError, match="no edge of the graph has the label 'fro'"):
        find_nearest(index, np.array([0]), np.ones(_N, bool), count=1, label="fro")


_UNEVEN = (4, 5, 7, 6, 9, 5, 8, 4)


def _chain(gaps: tuple[int, ...], *, relation: str = "to") -> Carriers:
    """A line of nodes, of which some have a level: the first, and the others after the given numbers of edges."""
    places = [sum(gaps[:i]) for i in range(len(gaps) + 1)]
    graph = _graph([(i, i + 1) for i in range(places[-1])], labels="J" * (places[-1] + 1), relation=relation)
    kinds = {f"s{i}": "level" for i in range(len(places))}
    return Carriers.of(GraphIndex(graph), kinds, {f"s{i}": f"n{n}" for i, n in enumerate(places)})


def _nearest_stars(carriers: Carriers, **settings: int) -> list[Pattern]:
    ids = [s for at in carriers.sensors.values() for own in at.values() for s in own]
    plain, _ = discover(carriers, **settings)
    found, _ = discover(carriers, nearest=ids, **settings)
    assert found[: len(plain)] == plain  # other patterns stay as they are
    assert not any(role.nearest for pattern in plain for role in pattern.roles)
    return found[len(plain) :]


def test_sparse_sensors_have_a_role_of_the_nearest() -> None:
    (star,) = _nearest_stars(_chain(_UNEVEN))
    assert str(star) == (
        "(j:J), (level_j:level)-[in]->(j) | `3 nearest Js with a level sensor`: nearest 3 -[to*]-(J).level"
    )
    assert Pattern.parse(str(star)) == star


@pytest.mark.parametrize(
    ("gaps", "reason"),
    [
        ((1, 2, 1, 2, 2, 1, 5, 9), "most have another within two edges"),
        ((4, 5, 7), "the three nearest would be all others"),
        ((4,), "too few"),
    ],
)
def test_others_have_none(gaps: tuple[int, ...], reason: str) -> None:
    assert not _nearest_stars(_chain(gaps)), reason


def test_parts_of_a_whole_are_not_near_each_other() -> None:
    assert not _nearest_stars(_chain(_UNEVEN, relation="hasPart"))


def test_ids_do_not_decide_what_is_near() -> None:
    """Nine spokes of three edges around a hub: all sensors are equally far from each other."""
    edges = [pair for k in range(9) for pair in ((0, 3 * k + 1), (3 * k + 1, 3 * k + 2), (3 * k + 2, 3 * k + 3))]
    index = GraphIndex(_graph(edges, labels="J" * 28))
    carriers = Carriers.of(index, {f"s{k}": "level" for k in range(9)}, {f"s{k}": f"n{3 * k + 3}" for k in range(9)})
    assert not _nearest_stars(carriers)


def test_states_are_not_asked_for() -> None:
    found, _ = discover(_chain(_UNEVEN), nearest=["another"])
    assert not any(role.nearest for pattern in found for role in pattern.roles)


def test_the_nearest_have_the_class_and_a_sensor_that_counts() -> None:
    index = GraphIndex(_graph([(0, 1), (1, 2), (2, 3), (3, 4)], labels="JJTJJ"))
    carriers = Carriers.of(index, dict.fromkeys("abcd", "level"), {"a": "n0", "b": "n1", "c": "n2", "d": "n4"})
    pattern = Pattern.parse("(j:J)<-[in]-(l:level) | near: nearest 2 -[to*]-(J).level")
    focus = np.array([index.number["n0"]])

    def members(numeric: list[str] | None) -> list[str]:
        _, nodes = carriers.members_of(pattern.roles[0], focus, pattern, numeric=numeric)
        return [index.ids[node] for node in nodes]

    assert members(None) == ["n1", "n4"]
    assert members(["a", "c", "d"]) == ["n4"]


def test_a_role_of_nearest_nodes_has_one_step() -> None:
    with pytest.raises(PatternError, match="must have one step, got 2"):
        StarRole("near", (Step("to", "any", "J"),) * 2, "level", nearest=3)


@pytest.mark.parametrize("name", ["net1", "net3"])
def test_networks_with_many_sensors_keep_their_patterns(name: str) -> None:
    data = th.datasets.load(name, days=1)
    found = data.discover_patterns()
    assert found and not any(role.nearest for pattern in found for role in pattern.roles)


def test_the_pressures_of_l_town_have_neighbours() -> None:
    """No two of them are within two edges, so lifted rules were about demands only."""
    pytest.importorskip("epyt", reason="the package epyt, which brings L-TOWN.inp, is not installed")
    data = th.datasets.load("ltown", days=1, leaks=False)
    found = data.discover_patterns()
    (star,) = [pattern for pattern in found if any(role.nearest for role in pattern.roles)]
    assert [role.name for role in star.roles] == ["3 nearest Junctions with a pressure sensor"]
    assert str(star.roles[0]).endswith("nearest 3 -[connected*]-(Junction).pressure")
    plain = data.discover_patterns(stars=False)
    assert not any(role.nearest for pattern in plain for role in pattern.roles)
