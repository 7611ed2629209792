"""Changes of a system that change nothing of what is true of it: order, names, weeks, units, further sensors and edges.

Each is a function from a system to a system, and a ``Change`` says how statements correspond. This module makes data;
it neither mines nor judges.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl

import thence as th
from thence.data.graph.binding import Binding
from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.records import Edge
from thence.data.readings.sensors import Sensor, SensorData

SCALED = ("level", "current", "temperature")
"""Kinds whose readings are scaled."""
FACTOR = 1000
_UNITS = {"m": "mm", "A": "mA", "degC": "degC"}


def _with_readings(system: th.System, frame: pl.DataFrame, sensors: tuple[Sensor, ...] | None = None) -> th.System:
    return replace(system, sensors=SensorData.from_wide(frame, sensors=sensors or system.sensors.sensors))


def reorder_rows(system: th.System, folder: Path) -> th.System:
    """Put the rows in a random order."""
    return _with_readings(system, system.sensors.to_polars().sample(fraction=1.0, shuffle=True, seed=1))


def reorder_columns(system: th.System, folder: Path) -> th.System:
    """Put the columns and the sensors in a random order, and the binding in the opposite one."""
    order = [system.sensors.sensors[at] for at in np.random.default_rng(1).permutation(len(system.sensors.sensors))]
    frame = system.sensors.to_polars().select("time", *(sensor.id for sensor in order))
    changed = _with_readings(system, frame, tuple(order))
    if system.binding is None:
        return changed
    return replace(changed, binding=Binding(dict(reversed(list(system.binding.items())))))


def reorder_graph(system: th.System, folder: Path) -> th.System:
    """Put the nodes and the edges in the opposite order, with other ids of edges."""
    if system.graph is None:
        return system
    nodes, edges = reversed(system.graph.nodes.values()), reversed(system.graph.edges.values())
    named = [replace(edge, id=f"z{at}") for at, edge in enumerate(edges)]
    return replace(system, graph=KnowledgeGraph(list(nodes), named))


def new_names(system: th.System) -> Mapping[str, str]:
    """Return other names of all sensors and nodes, which sort in another order."""
    nodes = () if system.graph is None else tuple(system.graph.nodes)
    names = sorted({*system.sensors.ids, *nodes})
    order = np.random.default_rng(2).permutation(len(names))
    return {name: f"Q{at:03d}x" for name, at in zip(names, order.tolist(), strict=True)}


def rename(system: th.System, folder: Path) -> th.System:
    """Rename all sensors and nodes."""
    names = new_names(system)
    frame = system.sensors.to_polars().rename({id: names[id] for id in system.sensors.ids})
    changed = _with_readings(
        system, frame, tuple(replace(sensor, id=names[sensor.id]) for sensor in system.sensors.sensors)
    )
    if system.graph is None or system.binding is None:
        return changed
    nodes = [replace(node, id=names[node.id]) for node in system.graph.nodes.values()]
    edges = [replace(e, source=names[e.source], target=names[e.target]) for e in system.graph.edges.values()]
    binding = Binding({names[sensor]: names[node] for sensor, node in system.binding.items()})
    return replace(changed, graph=KnowledgeGraph(nodes, edges), binding=binding)


def shift_weeks(system: th.System, folder: Path) -> th.System:
    """Let everything happen five weeks later."""
    return _with_readings(system, system.sensors.to_polars().with_columns(pl.col("time") + timedelta(weeks=5)))


def scale(system: th.System, folder: Path) -> th.System:
    """Multiply readings by 1000, with a converted unit or the same."""
    ids = [sensor.id for sensor in system.sensors.sensors if sensor.kind in SCALED]
    frame = system.sensors.to_polars().with_columns((pl.col(ids) * FACTOR).round(0))
    sensors = tuple(
        replace(sensor, unit=_UNITS[sensor.unit]) if sensor.kind in SCALED else sensor
        for sensor in system.sensors.sensors
    )
    return _with_readings(system, frame, sensors)


def _add_sensor(system: th.System, sensor: Sensor, values: pl.Series, like: str) -> th.System:
    frame = system.sensors.to_polars().with_columns(values.alias(sensor.id))
    changed = _with_readings(system, frame, (*system.sensors.sensors, sensor))
    if system.binding is None:
        return changed
    return replace(changed, binding=Binding({**system.binding, sensor.id: system.binding[like]}))


def add_constant(system: th.System, folder: Path) -> th.System:
    """Add a sensor that always reads the same, of a kind of its own."""
    height = system.sensors.to_polars().height
    return _add_sensor(system, Sensor("spare_voltage", "voltage", "V"), pl.Series([5.0] * height), "room1_temperature")


def add_duplicate(system: th.System, folder: Path) -> th.System:
    """Add a copy of the sensor of the tank, at the same place."""
    (sensor,) = (one for one in system.sensors.sensors if one.id == "tank1_level")
    return _add_sensor(
        system, replace(sensor, id="tank1_level_copy"), system.sensors.to_polars()[sensor.id], "tank1_level"
    )


def split_files(system: th.System, folder: Path) -> th.System:
    """Write the readings to four files, each with half of the time and half of the sensors, and read the folder."""
    frame, ids = system.sensors.to_polars(), list(system.sensors.ids)
    frame = frame.with_columns(pl.col("time").dt.strftime("%Y-%m-%dT%H:%M:%SZ"))
    middle = frame.height // 2
    for row, rows in enumerate((frame[:middle], frame[middle:])):
        for column, own in enumerate((ids[::2], ids[1::2])):
            rows.select("time", *own).write_csv(folder / f"readings_{row}_{column}.csv")
    kinds = {sensor.id: (sensor.kind, sensor.unit) for sensor in system.sensors.sensors}
    return replace(system, sensors=th.read_sensors(folder, kinds=kinds))


def add_inverse_edges(system: th.System, folder: Path) -> th.System:
    """Store every edge in both directions, the other one with a label of its own."""
    if system.graph is None:
        return system
    edges = list(system.graph.edges.values())
    inverse = {"serves": "isServedBy", "supplies": "isSuppliedBy", "fills": "isFilledBy", "adjacent": "isNextTo"}
    back = [Edge(f"{e.id}_back", e.target, e.source, frozenset(inverse[one] for one in e.labels)) for e in edges]
    return replace(system, graph=KnowledgeGraph(list(system.graph.nodes.values()), [*edges, *back]))


@dataclass(frozen=True)
class Change:
    """A change of a system, and what it means for statements.

    Args:
        apply: The change; its second argument is an empty folder.
        expects: ``"same"`` statements, or that the earlier ones ``"stay"`` among others.
        numbers: Whether numbers in sentences stay as they are.
        words: Maps a sentence about the system before to the one after.
    """

    apply: Callable[[th.System, Path], th.System]
    expects: Literal["same", "stay"] = "same"
    numbers: bool = True
    words: Callable[[th.System, str], str] = lambda system, sentence: sentence


def _renamed_words(system: th.System, sentence: str) -> str:
    names = new_names(system)
    pattern = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    return re.sub(rf"\b(?:{pattern})\b", lambda found: names[found[0]], sentence)


CHANGES = {
    "rows in another order": Change(reorder_rows),
    "columns in another order": Change(reorder_columns),
    "graph in another order": Change(reorder_graph),
    "other names": Change(rename, words=_renamed_words),
    "five weeks later": Change(shift_weeks),
    "other units": Change(scale, numbers=False),
    "a constant sensor": Change(add_constant),
    "a duplicated sensor": Change(add_duplicate, expects="stay"),
    "four files": Change(split_files),
    "inverse edges": Change(add_inverse_edges, expects="stay"),
}
