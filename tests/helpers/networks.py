"""A small water network by hand: a reservoir, three junctions in a row, and a loop, with readings that balance."""

from __future__ import annotations

import numpy as np
import polars as pl

from thence.data.graph.binding import Binding
from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.ontology import Ontology
from thence.data.graph.records import Edge, Node
from thence.data.graph.system import System
from thence.data.readings.sensors import Sensor, SensorData

PIPES = {"P1": ("R", "A"), "P2": ("A", "B"), "P3": ("B", "C"), "P4": ("A", "C"), "P5": ("C", "D"), "P6": ("B", "D")}
LENGTHS = {"P1": 100.0, "P2": 250.0, "P3": 300.0, "P4": 410.0, "P5": 90.0, "P6": 120.0}


def graph() -> KnowledgeGraph:
    """The graph alone."""
    nodes = [Node("R", frozenset(["Reservoir"]), {"elevation": 50.0})]
    nodes += [Node(j, frozenset(["Junction"]), {"elevation": 10.0 * k}) for k, j in enumerate("ABCD")]
    nodes += [Node(p, frozenset(["Pipe"]), {"length": LENGTHS[p], "name": p}) for p in PIPES]
    edges = []
    for pipe, (start, end) in PIPES.items():
        edges.append(Edge(f"{pipe}s", pipe, start, frozenset(["starts_at"]), {}))
        edges.append(Edge(f"{pipe}e", pipe, end, frozenset(["ends_at"]), {}))
    return KnowledgeGraph(nodes, edges, property_units={"length": "m", "elevation": "m"})


def network(frames: int = 200, seed: int = 0) -> System:
    """Random demands; flows split at random and balance at every junction; pressures fall along the way."""
    rng = np.random.default_rng(seed)
    demand = {j: rng.uniform(1, 5, frames) for j in "ABCD"}
    share = rng.uniform(0.3, 0.7, frames)
    flow = {"P5": share * demand["D"], "P6": (1 - share) * demand["D"]}
    into_c = demand["C"] + flow["P5"]
    flow["P3"], flow["P4"] = 0.5 * into_c, 0.5 * into_c
    flow["P2"] = demand["B"] + flow["P3"] + flow["P6"]
    flow["P1"] = demand["A"] + flow["P2"] + flow["P4"]
    pressure = {"A": 50 - flow["P1"]}
    pressure["B"] = pressure["A"] - flow["P2"]
    pressure["C"] = pressure["B"] - flow["P3"]
    pressure["D"] = pressure["C"] - flow["P5"]
    series: dict[str, np.ndarray] = {}
    sensors, binding = [], {}
    for kind, unit, values in (("demand", "m3/h", demand), ("pressure", "m", pressure), ("flow", "m3/h", flow)):
        for place, readings in values.items():
            series[f"{kind}_{place}"] = readings
            sensors.append(Sensor(f"{kind}_{place}", kind, unit))
            binding[f"{kind}_{place}"] = place
    times = pl.datetime_range(
        pl.datetime(2024, 1, 1), pl.datetime(2024, 1, 1) + pl.duration(minutes=30 * (frames - 1)), "30m", eager=True
    )
    frame = pl.DataFrame({"time": times, **series})
    return System(SensorData.from_wide(frame, sensors=sensors), graph(), Binding(binding), Ontology.water())


def row_of_junctions(count: int = 12, frames: int = 300, seed: int = 0) -> System:
    """Junctions in a row behind a reservoir, with random demands and the flows that supply them."""
    rng = np.random.default_rng(seed)
    demand = rng.uniform(1, 5, (frames, count))
    flow = demand[:, ::-1].cumsum(axis=1)[:, ::-1]
    names = ["R", *(f"J{k:02}" for k in range(count))]
    nodes = [Node(name, frozenset(["Junction" if name[0] == "J" else "Reservoir"]), {}) for name in names]
    nodes += [Node(f"P{k:02}", frozenset(["Pipe"]), {}) for k in range(count)]
    edges = [Edge(f"s{k}", f"P{k:02}", names[k], frozenset(["starts_at"]), {}) for k in range(count)]
    edges += [Edge(f"e{k}", f"P{k:02}", names[k + 1], frozenset(["ends_at"]), {}) for k in range(count)]
    times = pl.datetime_range(
        pl.datetime(2024, 1, 1), pl.datetime(2024, 1, 1) + pl.duration(minutes=30 * (frames - 1)), "30m", eager=True
    )
    series = {f"demand_{names[k + 1]}": demand[:, k] for k in range(count)}
    series |= {f"flow_P{k:02}": flow[:, k] for k in range(count)}
    sensors = [Sensor(name, name.partition("_")[0], "m3/h") for name in series]
    binding = Binding({name: name.partition("_")[2] for name in series})
    data = SensorData.from_wide(pl.DataFrame({"time": times, **series}), sensors=sensors)
    return System(data, KnowledgeGraph(nodes, edges), binding, Ontology.water())
