"""Small made-up systems for the tests of reports: hostile names, missing values, gaps in time, states and numbers."""

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
HOSTILE = ("<script>alert(1)</script>", "Room \"2\" {x} & 'y'", "غرفة ٣", "Room\n4")


def world(seed: int = 0, *, frames: int = 60, missing: float = 0.2, name: str = "world") -> System:
    """Rooms in a row, each with a temperature, a number of people and a window that is open or shut."""
    rng = np.random.default_rng(seed)
    kept = np.sort(rng.choice(frames + frames // 4, frames, replace=False))  # windows without any reading are gaps
    times = [START + timedelta(hours=int(hour)) for hour in kept]
    day = np.sin(kept * 2 * np.pi / 24)
    columns: dict[str, object] = {}
    kinds, bound = {}, {}
    for at, room in enumerate(HOSTILE):
        warm = np.round(20 + 4 * day + rng.normal(0, 1, frames), 1)
        people = np.round(np.maximum(day * 4 + rng.normal(0, 1, frames), 0))
        shut = np.where(warm + rng.normal(0, 1, frames) > 21, "open", "shut")
        for kind, unit, values in (("temperature", "degC", warm), ("people", "", people), ("window", "", shut)):
            sensor = f"{kind} {at} <b>"
            gone = rng.random(frames) < missing
            columns[sensor] = pl.Series(
                [None if lost else one for lost, one in zip(gone, values.tolist(), strict=True)]
            )
            kinds[sensor] = (kind, unit)
            bound[sensor] = room
    data = SensorData.from_wide(pl.DataFrame({"time": times, **columns})).with_kinds(kinds)
    nodes = [Node(room, frozenset(["Room"]), {"area": 10.0 + 5 * (at % 2)}) for at, room in enumerate(HOSTILE)]
    edges = [Edge(f"e{at}", HOSTILE[at], HOSTILE[at + 1], frozenset(["beside"])) for at in range(len(HOSTILE) - 1)]
    return System(data, KnowledgeGraph(nodes, edges), Binding(bound), name=name)
