"""Random buildings: rooms of several classes with dated properties, doors, and sensors with gaps and states."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl

from thence.data.graph.binding import Binding
from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.ontology import Ontology
from thence.data.graph.records import DatedValue, Edge, Node
from thence.data.graph.system import System
from thence.data.readings.sensors import Sensor, SensorData

START = datetime(2024, 1, 1, tzinfo=UTC)
CLASSES = ("Space", "Room", "Office", "Lab", "Hall")
ONTOLOGY = Ontology.from_dict(
    {
        "classes": {"Space": {}, "Room": {"parents": ["Space"]}, "Hall": {"parents": ["Space"]}}
        | {name: {"parents": ["Room"]} for name in ("Office", "Lab")},
        "relations": {"connected": {}, "leads_to": {"parents": ["connected"]}},
    }
)


def building(seed: int, *, frames: int = 24, rooms: int = 7, decimals: int = 1) -> System:
    """Make a building.

    Args:
        seed: Random seed.
        frames: Number of frames, one per hour.
        rooms: Number of rooms.
        decimals: Decimals of readings and properties.
    """
    rng = np.random.default_rng(seed)
    names = [f"R{at}" for at in range(rooms)]
    nodes, dated, edges = [], [], []
    for name in names:
        labels = {str(label) for label in rng.choice(CLASSES, rng.integers(1, 3), replace=False)}
        properties: dict[str, float | str | bool] = {}
        if rng.random() < 0.8:
            properties["area"] = float(np.round(rng.uniform(10, 40), decimals))
        if rng.random() < 0.5:
            properties["use"] = str(rng.choice(["meeting", "desk"]))
        nodes.append(Node(name, frozenset(labels), properties))
        for _ in range(rng.integers(0, 3)):
            moment = START + timedelta(minutes=int(rng.integers(0, frames * 2)) * 30)
            value = None if rng.random() < 0.25 else float(np.round(rng.uniform(10, 40), decimals))
            dated.append(DatedValue(name, "area", moment, value))
        if rng.random() < 0.5:
            moment = START + timedelta(hours=int(rng.integers(0, frames)))
            dated.append(DatedValue(name, "use", moment, str(rng.choice(["desk", "store"]))))
    distinct = {(value.subject, value.property, value.start): value for value in dated}
    for at in range(rooms + 2):
        a, b = (str(name) for name in rng.choice(names, 2, replace=False))
        edges.append(Edge(f"d{at}", a, b, frozenset({str(rng.choice(["leads_to", "connected"]))})))
    sensors, series, binding = [], {}, {}
    for name in names:
        for kind, unit in (("temperature", "degC"), ("co2", "ppm"), ("door", "")):
            for copy in range(int(rng.integers(0, 3)) if kind == "temperature" else int(rng.random() < 0.6)):
                sensor = f"{kind}_{name}_{copy}"
                gaps = rng.random(frames) < 0.2
                if kind == "door":
                    made = rng.choice(["open", "shut"], frames).tolist()
                else:
                    made = np.round(rng.normal(20, 3, frames), decimals).tolist()
                values = [None if gap else value for gap, value in zip(gaps, made, strict=True)]
                sensors.append(Sensor(sensor, kind, unit, categorical=kind == "door"))
                series[sensor] = values
                binding[sensor] = name
    frame = pl.DataFrame({"time": [START + timedelta(hours=at) for at in range(frames)], **series})
    graph = KnowledgeGraph(nodes, edges, dated=list(distinct.values()), property_units={"area": "m2"})
    return System(SensorData.from_wide(frame, sensors=sensors), graph, Binding(binding), ONTOLOGY)
