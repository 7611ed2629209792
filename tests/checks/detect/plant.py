"""A made-up plant: a source, three junctions in a row, flow, pressure and demand everywhere; leaks on request."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl

from thence.data.graph.binding import Binding
from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.records import Edge, Node
from thence.data.graph.system import System
from thence.data.readings.sensors import SensorData

START = datetime(2024, 1, 1, tzinfo=UTC)


def plant(days: int = 30, *, seed: int = 0, leak: tuple[int, int, int, float] | None = None) -> System:
    """``leak`` is junction (1–3), first and last step (of 30 minutes), and m³/h."""
    rng = np.random.default_rng(seed)
    n = days * 48
    daily = 10 + 4 * np.sin(np.arange(n) * 2 * np.pi / 48)
    demand = daily[:, None] * (1 + 0.1 * rng.normal(size=(n, 3)))
    lost = np.zeros((n, 3))
    if leak is not None:
        at, first, last, amount = leak
        lost[first : last + 1, at - 1] = amount
    need = demand + lost
    flow = np.stack([need.sum(axis=1), need[:, 1:].sum(axis=1), need[:, 2]], axis=1)
    head = 60 - np.cumsum(0.005 * flow**2, axis=1)
    columns = {f"flow_{i + 1}": flow[:, i] for i in range(3)}
    columns |= {f"pressure_{i + 1}": head[:, i] for i in range(3)}
    columns |= {f"demand_{i + 1}": demand[:, i] for i in range(3)}
    times = [START + timedelta(minutes=30 * step) for step in range(n)]
    kinds = {id: (id.partition("_")[0], "m" if id.startswith("pressure") else "m³/h") for id in columns}
    sensors = SensorData.from_wide(pl.DataFrame({"time": times, **columns})).with_kinds(kinds)
    nodes = [Node("Source", frozenset({"Reservoir"}))]
    nodes += [Node(f"J{i}", frozenset({"Junction"})) for i in (1, 2, 3)]
    nodes += [Node(f"P{i}", frozenset({"Pipe"})) for i in (1, 2, 3)]
    edges = []
    for i in (1, 2, 3):
        edges += [
            Edge(f"s{i}", f"P{i}", "Source" if i == 1 else f"J{i - 1}", frozenset({"starts_at"})),
            Edge(f"e{i}", f"P{i}", f"J{i}", frozenset({"ends_at"})),
        ]
    bound = {id: ("P" if id.startswith("flow") else "J") + id[-1] for id in columns}
    return System(sensors, KnowledgeGraph(nodes, edges), Binding(bound), name="plant")
