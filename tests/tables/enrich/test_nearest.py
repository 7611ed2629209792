"""Readings of the nearest nodes with a sensor: their aggregates, what they share, and another system."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np
import polars as pl

import thence as th
from thence.data.graph.binding import Binding
from thence.data.graph.discovery import Carriers
from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.matching import GraphIndex
from thence.data.graph.records import Edge, Node
from thence.data.readings.sensors import Sensor, SensorData
from thence.data.readings.windows import window
from thence.language.patterns import Pattern
from thence.tables.enrich.stars import star_series

AT = (0, 4, 9, 16, 22, 31, 36, 44, 48)
"""Where the sensors are on a line of nodes."""


def line(at: tuple[int, ...] = AT, *, seed: int = 0, frames: int = 60) -> th.System:
    """A line of junctions with some pressures, each of which follows one quantity with an error of its own."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=frames)
    nodes = [Node(f"n{i:03}", frozenset({"Junction"})) for i in range(at[-1] + 1)]
    edges = [Edge(f"e{i}", f"n{i:03}", f"n{i + 1:03}", frozenset({"connected"})) for i in range(at[-1])]
    names = [f"p{i:03}" for i in at]
    start = datetime(2024, 1, 1)
    frame = pl.DataFrame(
        {"time": [start + timedelta(hours=i) for i in range(frames)]}
        | {name: (common + 0.05 * rng.normal(size=frames)).round(3) for name in names}
    )
    sensors = SensorData.from_wide(frame, sensors=[Sensor(name, "pressure", "m") for name in names])
    binding = Binding({name: f"n{name[1:]}" for name in names})
    return th.System(sensors, graph=KnowledgeGraph(nodes, edges), binding=binding)


def series(system: th.System, pattern: str) -> dict[str, tuple[np.ndarray, frozenset[str]]]:
    readings = window(system.sensors, "1h")
    index = GraphIndex(system.graph)
    parsed = Pattern.parse(pattern)
    carriers = Carriers.of(index, {s.id: s.kind for s in readings.sensors}, dict(system.binding), patterns=[parsed])
    focus = np.array([index.number["n000"]])
    found = star_series(parsed, focus, readings, carriers)
    return {one.feature.name: (one.rows(0, 1)[0], one.feature.reads) for one in found}


def test_they_have_a_mean_a_lowest_and_a_highest_but_no_total() -> None:
    system = line()
    found = series(system, "(j:Junction)<-[in]-(p:pressure) | near: nearest 3 -[connected*]-(Junction).pressure")
    values = system.sensors.to_polars().select("p004", "p009", "p016").to_numpy()
    assert list(found) == ["mean of the near", "lowest of the near", "highest of the near"]
    np.testing.assert_allclose(found["mean of the near"][0], values.mean(axis=1))
    np.testing.assert_allclose(found["lowest of the near"][0], values.min(axis=1))
    np.testing.assert_allclose(found["highest of the near"][0], values.max(axis=1))


def test_one_is_the_nearest() -> None:
    role = "`1 nearest Junctions with a sensor`: nearest 1 -[*]-(Junction).pressure"
    found = series(line(), f"(j:Junction)<-[in]-(p:pressure) | {role}")
    assert list(found) == ["value of the nearest Junction with a sensor"]


def test_aggregates_of_the_same_sensors_are_marked() -> None:
    """A rule between the nearest three and the nearest five would say little."""
    roles = " | ".join(f"near{k}: nearest {k} -[connected*]-(Junction).pressure" for k in (3, 5))
    found = series(line(), f"(j:Junction)<-[in]-(p:pressure) | {roles}")
    assert found["mean of the near3"][1] & found["mean of the near5"][1]


def test_a_total_over_an_edge_is_not_set_against_the_nearest() -> None:
    roles = "on: -[connected]-(Junction).pressure | near: nearest 3 -[connected*]-(Junction).pressure"
    found = series(line((0, 1, 3, 9)), f"(j:Junction)<-[in]-(p:pressure) | {roles}")
    assert not any(name.startswith(("net", "difference")) for name in found)


def test_rules_of_sparse_sensors_apply_to_another_system() -> None:
    here = line()
    table = th.transactions(here.sensors, here.graph, here.binding, enrich="lifted", bins=3)
    rules = th.Exact(min_support=0.1, min_confidence=0.6, max_antecedents=1).mine(table)
    near = rules.filter(where=lambda rule: "nearest 3" in rule.pattern)
    assert len(near) > 0
    assert "the mean pressure of the 3 nearest Junctions with a pressure sensor is in its" in str(near)
    patterns = [pattern for pattern, _ in near.patterns]
    there = line((0, 3, 9, 15, 26, 33), seed=1)
    other = th.transactions(there.sensors, there.graph, there.binding, enrich="lifted", like=table, patterns=patterns)
    assert [len(block.embeddings) for block in other.blocks] == [6]
    assert th.evaluate.count_rules(near, other).measure("confidence").min() > 0.5


def test_where_no_edge_leads_to_another_sensor_there_are_none() -> None:
    here = line()
    table = th.transactions(here.sensors, here.graph, here.binding, enrich="lifted", bins=3)
    edge = Edge("e", "a", "b", frozenset({"feeds"}))
    graph = KnowledgeGraph([Node(name, frozenset({"Junction"})) for name in "ab"], [edge])
    sensors = here.sensors.select(["p000", "p004"])
    patterns = [str(block.pattern) for block in table.blocks]
    binding = {"p000": "a", "p004": "b"}
    other = th.transactions(sensors, graph, binding, enrich="lifted", like=table, patterns=patterns)
    assert not any(column.feature.reads for block in other.blocks for column in block.columns)


def test_the_nearest_of_a_site_are_in_the_site() -> None:
    sites = [replace(line(seed=seed), name=name) for seed, name in enumerate(("north", "south"))]
    table = th.transactions(sites, enrich="lifted", bins=3)
    (block,) = [block for block in table.blocks if block.pattern and any(r.nearest for r in block.pattern.roles)]
    assert block.n_embeddings == 2 * len(AT)
    alone = th.transactions(sites[0], enrich="lifted", bins=3).blocks[-1]
    (both,) = [c for c in block.columns if c.feature.name.startswith("mean of")]
    (own,) = [c for c in alone.columns if c.feature.name.startswith("mean of")]
    assert np.array_equal(both.codes[: len(AT)], own.codes)
