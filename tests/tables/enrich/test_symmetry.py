"""Symmetric patterns: a sentence over ordered variables is counted over every ordered match."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import thence as th
from tests.helpers.examples import examples
from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.records import Edge, Node
from thence.data.readings.sensors import Sensor, SensorData

PATTERN = "(s:temperature)-[in]->(p:Room)-[connected]-(q:Room)<-[in]-(t:temperature)"


def rooms(order: Sequence[str], hot: dict[str, list[bool]], links: Sequence[tuple[str, str]]) -> th.System:
    """Rooms in the given order of the file, each with a temperature that is hot or cold."""
    frames = len(next(iter(hot.values())))
    times = pl.datetime_range(
        pl.datetime(2024, 1, 1), pl.datetime(2024, 1, 1) + pl.duration(minutes=30 * (frames - 1)), "30m", eager=True
    )
    frame = pl.DataFrame({"time": times, **{f"t_{r}": ["hot" if x else "cold" for x in hot[r]] for r in order}})
    sensors = SensorData.from_wide(frame, sensors=[Sensor(f"t_{r}", "temperature", categorical=True) for r in order])
    nodes = [Node(r, frozenset(["Room"])) for r in order]
    edges = [Edge(f"{a}{b}", a, b, frozenset(["connected"])) for a, b in links]
    return th.System(sensors, KnowledgeGraph(nodes, edges), th.graph.Binding({f"t_{r}": r for r in order}))


def mined(system: th.System) -> dict[th.Rule, tuple[int, ...]]:
    table = th.transactions(system, enrich="lifted", patterns=PATTERN)
    rules = th.Exact(min_support=0, min_confidence=0, max_antecedents=2).mine(table)
    counts = rules.counts
    columns = np.stack([counts.n, counts.n_antecedent, counts.n_consequent, counts.n_both], axis=1).tolist()
    return {rule: tuple(row) for rule, row in zip(rules, columns, strict=True)}


HUB = [("hub", "a"), ("hub", "b"), ("hub", "c")]
HOT = {
    "hub": [True] * 4 + [False] * 6,
    "a": [True] * 5 + [False] * 5,
    "b": [True] * 6 + [False] * 4,
    "c": [True] * 8 + [False] * 2,
}


@pytest.mark.parametrize("order", list(permutations(HOT)))
def test_a_hub_is_counted_in_both_directions(order: tuple[str, ...]) -> None:
    """Regression: listed first, the hub was always p and the rule had confidence 1; listed last it was always q."""
    rules = mined(rooms(order, HOT, HUB))
    (counts,) = [
        c
        for rule, c in rules.items()
        if rule.english.endswith("if the temperature of p is hot, then the temperature of q is hot")
    ]
    # From the hub 12 of 12 rows, towards it 12 of 19.
    assert counts == (60, 31, 31, 24)


@settings(max_examples=examples(60))
@given(
    st.permutations("abcd"),
    st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("abcd")).filter(lambda e: e[0] != e[1]), min_size=1),
    st.lists(st.booleans(), min_size=24, max_size=24),
)
def test_the_order_of_a_file_decides_nothing(order: list[str], links: list[tuple[str, str]], bits: list[bool]) -> None:
    hot = {room: bits[6 * k : 6 * k + 6] for k, room in enumerate("abcd")}
    edges = list(dict.fromkeys(links))
    first, second = mined(rooms("abcd", hot, edges)), mined(rooms(order, hot, edges[::-1]))
    assert first == second


def test_mirror_images_have_equal_counts_and_are_told_once() -> None:
    system = rooms(list(HOT), HOT, HUB)
    table = th.transactions(system, enrich="lifted", patterns=PATTERN)
    rules = th.Exact(min_support=0, min_confidence=0.5, max_antecedents=1).mine(table)
    refined = th.refine(rules, table, merge=False)
    sentences = [rule.english.split(": ")[1] for rule in rules]
    swapped = {s.replace(" in p ", " in # ").replace(" in q ", " in p ").replace(" in # ", " in q ") for s in sentences}
    assert swapped == set(sentences)
    assert 2 * len(refined) == len(rules)


@pytest.mark.parametrize("flipped", [(0,), (1, 2), (0, 1, 2)])
def test_the_direction_of_a_symmetric_relation_means_nothing(flipped: tuple[int, ...]) -> None:
    """Regression: edges of a relation that the ontology calls symmetric were followed as they stood in the file."""
    ontology = th.graph.Ontology.from_dict({"classes": {"Room": {}}, "relations": {"connected": {"symmetric": True}}})

    def found(links: Sequence[tuple[str, str]]) -> dict[str, tuple[int, ...]]:
        system = replace(rooms(list(HOT), HOT, links), ontology=ontology)
        table = th.transactions(system, enrich="lifted", min_embeddings=1)
        assert "(r:Room)-[connected]-(s:Room)" in str(table.blocks[1].pattern)
        assert table.blocks[1].n_embeddings == 6
        rules = th.Exact(min_support=0, min_confidence=0, max_antecedents=1).mine(table)
        rows = rules.to_polars().select("n", "n_antecedent", "n_consequent", "n_both").rows()
        return dict(zip(map(str, rules), rows, strict=True))

    assert found([(b, a) if k in flipped else (a, b) for k, (a, b) in enumerate(HUB)]) == found(HUB)
