"""Pumps that move water while they run, and one that does not: a law with a planted exception."""

from __future__ import annotations

import numpy as np
import polars as pl

from thence.data.graph.binding import Binding
from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.records import Node
from thence.data.graph.system import System
from thence.data.readings.sensors import Sensor, SensorData


def pumps(count: int = 8, *, broken: str = "PU-2", share: float = 0.3, frames: int = 600, seed: int = 0) -> System:
    """Pumps with a status and a flow; the flow is high while a pump runs.

    Args:
        count: Number of pumps.
        broken: The pump whose flow is high in a share of the time in which it runs only.
        share: That share.
        frames: Number of readings, 10 minutes apart.
        seed: Random seed.
    """
    rng = np.random.default_rng(seed)
    names = [f"PU-{k}" for k in range(count)]
    series: dict[str, object] = {}
    for name in names:
        runs = np.repeat(rng.random(frames // 5) < 0.5, 5)
        flow = np.where(runs, rng.uniform(80.0, 100.0, frames), rng.uniform(0.0, 20.0, frames))
        if name == broken:
            flow = np.where(runs & (rng.random(frames) > share), rng.uniform(0.0, 20.0, frames), flow)
        series[f"status_{name}"] = np.where(runs, "on", "off")
        series[f"flow_{name}"] = flow.round(2)
    start = pl.datetime(2024, 1, 1)
    times = pl.datetime_range(start, start + pl.duration(minutes=10 * (frames - 1)), "10m", eager=True)
    kinds = {"status": "", "flow": "m3/h"}
    sensors = [
        Sensor(name, kind, kinds[kind], categorical=kind == "status")
        for name in series
        for kind in [name.partition("_")[0]]
    ]
    nodes = [Node(name, frozenset(["Pump"]), {}) for name in names]
    binding = Binding({name: name.partition("_")[2] for name in series})
    data = SensorData.from_wide(pl.DataFrame({"time": times, **series}), sensors=sensors)
    return System(data, KnowledgeGraph(nodes, []), binding)
