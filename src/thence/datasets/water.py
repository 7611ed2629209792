"""Sensors in a water network: how they are called, where they sit, and the data set that they make.

Every water data set names its sensors ``kind_name`` after EPANET's name of the element: ``pressure_12`` at junction
12, ``flow_5`` in pipe 5, ``demand_12`` of junction 12 (of a reservoir: minus what it supplies), ``level_T1`` in
tank T1. Pressures and levels are in m, flows and demands in m³/h; a flow is positive from the start of its link to
the end. Simulates nothing itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from thence.datasets.epanet import Quantity, Read
from thence.errors import GraphError
from thence.graph.binding import Binding
from thence.graph.knowledge_graph import KnowledgeGraph
from thence.graph.loaders import read_graph, read_ontology
from thence.graph.system import System
from thence.readings.sensors import Sensor, SensorData

__all__ = ["Gauge", "assemble", "node_of", "readings"]

Kind = Literal["pressure", "flow", "demand", "level"]
_UNITS: dict[Kind, str] = {"pressure": "m", "flow": "m3/h", "demand": "m3/h", "level": "m"}


@dataclass(frozen=True)
class Gauge:
    """A sensor of one kind at one element of the network.

    >>> Gauge("pressure", "12").id, Gauge.from_id("level_T1")
    ('pressure_12', Gauge(kind='level', name='T1'))
    """

    kind: Kind
    name: str

    @classmethod
    def from_id(cls, sensor_id: str) -> Gauge:
        kind, _, name = sensor_id.partition("_")
        return cls(cast(Kind, kind), name)

    @property
    def id(self) -> str:
        return f"{self.kind}_{self.name}"

    @property
    def read(self) -> Read:
        # EPANET gives the water level of a tank as the pressure at its bottom.
        return Read(cast(Quantity, "pressure" if self.kind == "level" else self.kind), self.name)

    @property
    def sensor(self) -> Sensor:
        return Sensor(self.id, kind=self.kind, unit=_UNITS[self.kind])


def readings(table: NDArray[np.float64], gauges: Sequence[Gauge], *, start: datetime, step: timedelta) -> pl.DataFrame:
    """The wide frame of a simulation: ``time`` in UTC and one column per gauge."""
    times = pl.datetime_range(start, start + (len(table) - 1) * step, interval=step, time_unit="us", eager=True).alias(
        "time"
    )
    columns = [pl.Series(gauge.id, table[:, column]) for column, gauge in enumerate(gauges)]
    return pl.DataFrame([times, *columns])


def node_of(graph: KnowledgeGraph, name: str, *, link: bool) -> str:
    """The id of the graph node that stands for an element of the network, by its EPANET name."""
    classes = ("Pipe", "Pump", "Valve") if link else ("Junction", "Reservoir", "Tank")
    for label in classes:
        if f"{label} {name}" in graph.nodes:
            return f"{label} {name}"
    raise GraphError(f"the graph has no {'link' if link else 'node'} for '{name}'")


def assemble(
    name: str,
    *,
    inp: Path,
    gauges: Sequence[Gauge],
    frame: pl.DataFrame,
    leaks: pl.DataFrame | None,
    leaks_in_links: bool = False,
    description: str,
    source: str,
) -> System:
    """A data set of a network, its gauges and their readings; subjects of ``leaks`` are EPANET names."""
    graph = read_graph(inp)
    binding = Binding({gauge.id: node_of(graph, gauge.name, link=gauge.kind == "flow") for gauge in gauges})
    if leaks is not None:
        subjects = [node_of(graph, subject, link=leaks_in_links) for subject in leaks["subject"]]
        leaks = leaks.with_columns(pl.Series("subject", subjects, dtype=pl.String))
    sensors = SensorData.from_wide(
        frame.select("time", *(gauge.id for gauge in gauges)), sensors=[gauge.sensor for gauge in gauges], source=name
    )
    return System(
        name=name,
        sensors=sensors,
        graph=graph,
        ontology=read_ontology("water"),
        binding=binding,
        labels=leaks,
        description=description,
        source=source,
    )
