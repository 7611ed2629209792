"""The random walk that chooses sensors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thence.experiments.walk import walk
from thence.graph.knowledge_graph import Edge, KnowledgeGraph, Node


def chain(length: int, *, cut: int | None = None) -> KnowledgeGraph:
    """Nodes 0 – 1 – 2 – …; ``cut`` leaves out the edge after a node."""
    nodes = [Node(str(i), frozenset({"Thing"}), {}) for i in range(length)]
    edges = [Edge(f"e{i}", str(i), str(i + 1), frozenset({"next"}), {}) for i in range(length - 1) if i != cut]
    return KnowledgeGraph(nodes, edges)


def sensors_of(length: int, each: int = 1) -> dict[str, str]:
    return {f"s{i:02d}{'abc'[k]}": str(i) for i in range(length) for k in range(each)}


@given(seed=st.integers(0, 1000), count=st.integers(1, 12))
def test_sensors_are_a_run_of_a_chain(seed: int, count: int) -> None:
    binding = sensors_of(12)
    chosen = walk(chain(12), binding, list(binding), count=count, rng=np.random.default_rng(seed))
    places = sorted(int(binding[s]) for s in chosen)
    assert len(chosen) == count
    # Whole rings around a start, the last one cut at random: no place between two chosen ones is left out …
    assert places == list(range(places[0], places[0] + count))
    # … and their order is that of the data set, so that a sample does not depend on the order of the walk.
    assert list(chosen) == [s for s in binding if s in chosen]


def test_nearer_rings_come_first() -> None:
    graph = chain(9)
    binding = sensors_of(9)
    for seed in range(30):
        four = set(walk(graph, binding, list(binding), count=4, rng=np.random.default_rng(seed)))
        five = set(walk(graph, binding, list(binding), count=5, rng=np.random.default_rng(seed)))
        assert four < five


def test_all_sensors_of_a_node_belong_to_one_ring() -> None:
    binding = sensors_of(5, each=3)
    chosen = walk(chain(5), binding, list(binding), count=3, rng=np.random.default_rng(1))
    assert len({binding[s] for s in chosen}) == 1


def test_goes_on_elsewhere_where_the_graph_ends() -> None:
    binding = sensors_of(6)
    for seed in range(10):
        chosen = walk(chain(6, cut=2), binding, list(binding), count=5, rng=np.random.default_rng(seed))
        assert len(set(chosen)) == 5


def test_asking_for_more_gives_all() -> None:
    binding = sensors_of(4)
    assert walk(chain(4), binding, list(binding), count=20, rng=np.random.default_rng(0)) == tuple(binding)


@pytest.mark.parametrize("seed", [0, 7])
def test_same_seed_same_sensors(seed: int) -> None:
    binding = sensors_of(10)
    one, two = (walk(chain(10), binding, list(binding), count=4, rng=np.random.default_rng(seed)) for _ in range(2))
    assert one == two
    starts = {walk(chain(10), binding, list(binding), count=1, rng=np.random.default_rng(s)) for s in range(60)}
    assert len(starts) == 10
