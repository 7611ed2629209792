"""The random walk that chooses sensors for a repeat."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.records import Edge, Node
from thence.lab.experiments.samples import choose_sensors


def chain(length: int, *, cut: int | None = None) -> KnowledgeGraph:
    """Nodes 0 – 1 – 2 – …, without the edge after the node ``cut``."""
    nodes = [Node(str(i), frozenset({"Thing"}), {}) for i in range(length)]
    edges = [Edge(f"e{i}", str(i), str(i + 1), frozenset({"next"}), {}) for i in range(length - 1) if i != cut]
    return KnowledgeGraph(nodes, edges)


def sensors_of(length: int, each: int = 1) -> dict[str, str]:
    return {f"s{i:02d}{'abc'[k]}": str(i) for i in range(length) for k in range(each)}


@given(seed=st.integers(0, 1000), count=st.integers(1, 12))
def test_chosen_sensors_of_a_chain_are_contiguous(seed: int, count: int) -> None:
    binding = sensors_of(12)
    chosen = choose_sensors(chain(12), binding, list(binding), count=count, rng=np.random.default_rng(seed))
    places = sorted(int(binding[s]) for s in chosen)
    assert len(chosen) == count
    # The sensors nearest to a start: no node between two chosen ones is left out …
    assert places == list(range(places[0], places[0] + count))
    # … and they have the order of the data set, not of the walk.
    assert list(chosen) == [s for s in binding if s in chosen]


def test_nearer_sensors_come_first() -> None:
    graph = chain(9)
    binding = sensors_of(9)
    for seed in range(30):
        four = set(choose_sensors(graph, binding, list(binding), count=4, rng=np.random.default_rng(seed)))
        five = set(choose_sensors(graph, binding, list(binding), count=5, rng=np.random.default_rng(seed)))
        assert four < five


def test_all_sensors_of_a_node_have_the_same_distance() -> None:
    binding = sensors_of(5, each=3)
    chosen = choose_sensors(chain(5), binding, list(binding), count=3, rng=np.random.default_rng(1))
    assert len({binding[s] for s in chosen}) == 1


def test_continues_in_another_component() -> None:
    binding = sensors_of(6)
    for seed in range(10):
        chosen = choose_sensors(chain(6, cut=2), binding, list(binding), count=5, rng=np.random.default_rng(seed))
        assert len(set(chosen)) == 5


def test_all_sensors_are_chosen_if_there_are_too_few() -> None:
    binding = sensors_of(4)
    assert choose_sensors(chain(4), binding, list(binding), count=20, rng=np.random.default_rng(0)) == tuple(binding)


@pytest.mark.parametrize("seed", [0, 7])
def test_same_seed_same_sensors(seed: int) -> None:
    binding = sensors_of(10)
    one, two = (
        choose_sensors(chain(10), binding, list(binding), count=4, rng=np.random.default_rng(seed)) for _ in range(2)
    )
    assert one == two
    starts = {
        choose_sensors(chain(10), binding, list(binding), count=1, rng=np.random.default_rng(s)) for s in range(60)
    }
    assert len(starts) == 10
