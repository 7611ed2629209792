"""Small plants with known laws: a network of pipes with a tank and check valves, and systems made from plain series."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from thence.data.graph.binding import Binding
from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.ontology import Ontology
from thence.data.graph.records import Edge, Node
from thence.data.graph.system import System
from thence.data.readings.sensors import Sensor, SensorData

UNITS = {
    "flow": "m3/h",
    "demand": "m3/h",
    "supply": "m3/h",
    "gasflow": "W",
    "pressure": "m",
    "level": "m",
    "status": "",
    "temperature": "°C",
}
Floats = np.ndarray[Any, np.dtype[np.float64]]


def system_of(
    nodes: Mapping[str, tuple[str, Mapping[str, Any]]],
    edges: Sequence[tuple[str, str, str]],
    series: Mapping[str, Any],
    *,
    minutes: int = 30,
    property_units: Mapping[str, str] | None = None,
) -> System:
    """A system from plain parts; a series is called by its kind and its node, with an underscore between."""
    graph = KnowledgeGraph(
        [Node(id, frozenset([label]), dict(properties)) for id, (label, properties) in nodes.items()],
        [Edge(f"e{at}", a, b, frozenset([relation])) for at, (a, relation, b) in enumerate(edges)],
        property_units=dict(property_units or {}),
    )
    frames = len(next(iter(series.values())))
    start = pl.datetime(2024, 1, 1)
    times = pl.datetime_range(start, start + pl.duration(minutes=minutes * (frames - 1)), f"{minutes}m", eager=True)
    sensors = [
        Sensor(id, kind, UNITS.get(kind, ""), categorical=isinstance(series[id][0], str))
        for id in series
        for kind in [id.partition("_")[0]]
    ]
    data = SensorData.from_wide(pl.DataFrame({"time": times, **series}), sensors=sensors)
    binding = Binding({id: id.partition("_")[2] for id in series})
    return System(data, graph, binding, Ontology.water())


def smooth(rng: np.random.Generator, frames: int, low: float, high: float) -> Floats:
    """A daily cycle with noise, from low to high."""
    hours = np.arange(frames) / 2
    cycle = 0.5 + 0.3 * np.sin(2 * np.pi * (hours + rng.uniform(0, 24)) / 24) + rng.uniform(-0.2, 0.2, frames)
    return low + (high - low) * np.clip(cycle, 0, 1)


def network(count: int = 12, frames: int = 1000, seed: int = 0, noise: float = 0.0) -> System:
    """Junctions in a row between a reservoir and a tank, whose pipes are crossed both ways.

    The heads fall in the direction of the flow. Every third pipe has a check valve in a branch of its own.
    """
    rng = np.random.default_rng(seed)
    junctions = [f"J{k:02}" for k in range(count)]
    demand = {j: smooth(rng, frames, 1, 5) for j in junctions}
    supply = smooth(rng, frames, 0, 6 * count)
    elevation = {j: float(rng.integers(0, 40)) for j in junctions}
    nodes: dict[str, tuple[str, dict[str, Any]]] = {"R": ("Reservoir", {"head": 90.0})}
    nodes |= {j: ("Junction", {"elevation": elevation[j]}) for j in junctions}
    nodes["T"] = ("Tank", {"elevation": 60.0, "diameter": 20.0, "max_level": 30.0})
    edges, series = [], {}
    flow, head = supply, 90 - 0.01 * supply
    row = ["R", *junctions, "T"]
    for k in range(count + 1):
        pipe = f"P{k:02}"
        nodes[pipe] = ("Pipe", {"check_valve": False})
        forward = k % 2 == 0 or k in (0, count)
        edges += [(pipe, "starts_at", row[k + 1 - forward]), (pipe, "ends_at", row[k + forward])]
        series[f"flow_{pipe}"] = flow if forward else -flow
        if k < count:
            junction = junctions[k]
            series[f"demand_{junction}"] = demand[junction]
            series[f"pressure_{junction}"] = head - elevation[junction]
            flow = flow - demand[junction]
            head = head - 0.05 * flow
    level = 10 + np.concatenate([[0.0], np.cumsum(flow[:-1])]) * 0.5 / 500
    series["level_T"] = level
    for k in range(0, count, 3):
        # A branch to a dead end with a demand: water never comes back through its check valve.
        end, pipe, junction = f"E{k:02}", f"V{k:02}", junctions[k]
        nodes |= {end: ("Junction", {"elevation": 5.0}), pipe: ("Pipe", {"check_valve": True})}
        edges += [(pipe, "starts_at", junction), (pipe, "ends_at", end)]
        taken = 0.5 * demand[junction]
        series |= {f"flow_{pipe}": taken, f"demand_{end}": taken, f"demand_{junction}": demand[junction] - taken}
        series[f"pressure_{end}"] = series[f"pressure_{junction}"] + elevation[junction] - 5.0 - 0.05 * taken
    if noise:
        series = {id: values * (1 + noise * rng.standard_normal(frames)) for id, values in series.items()}
    return system_of(nodes, edges, series, property_units={"elevation": "m", "head": "m", "max_level": "m"})
