"""Sensors in a water network: their ids, their nodes in the graph, and the ``System`` they belong to.

Water data sets name a sensor by its kind and EPANET's name of the element: ``pressure_12`` at junction 12, ``flow_5``
in pipe 5, ``demand_12`` of junction 12 (of a reservoir: the negative of its supply), ``level_T1`` in tank T1,
``status_10`` of pump 10. Pressures and levels are in m, flows and demands in m³/h; a flow is positive from the start of
its link to the end; a status is ``open`` or ``closed``. This module must not simulate.
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

from thence.data.graph.binding import Binding
from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.system import System
from thence.data.loaders import read_graph, read_ontology
from thence.data.readings.sensors import Sensor, SensorData
from thence.errors import GraphError
from thence.lab.datasets.epanet import Probe, Quantity

__all__ = ["Gauge", "build_system", "find_node", "frame_of_readings"]

Kind = Literal["pressure", "flow", "demand", "level", "status"]
_UNITS: dict[Kind, str] = {"pressure": "m", "flow": "m3/h", "demand": "m3/h", "level": "m", "status": ""}


@dataclass(frozen=True)
class Gauge:
    """A sensor of one kind at one element of the network.

    Args:
        kind: What the sensor measures.
        name: EPANET's name of the element.

    Examples:
        >>> Gauge("pressure", "12").id, Gauge.from_id("level_T1")
        ('pressure_12', Gauge(kind='level', name='T1'))
    """

    kind: Kind
    name: str

    @classmethod
    def from_id(cls, sensor_id: str) -> Gauge:
        """The gauge with this sensor id."""
        kind, _, name = sensor_id.partition("_")
        return cls(cast(Kind, kind), name)

    @property
    def id(self) -> str:
        """The id of the sensor."""
        return f"{self.kind}_{self.name}"

    @property
    def probe(self) -> Probe:
        """What to read from a simulation."""
        # EPANET reports the water level of a tank as the pressure at its bottom.
        return Probe(cast(Quantity, "pressure" if self.kind == "level" else self.kind), self.name)

    @property
    def sensor(self) -> Sensor:
        """The sensor with its kind and unit."""
        return Sensor(self.id, kind=self.kind, unit=_UNITS[self.kind], categorical=self.kind == "status")

    @property
    def in_link(self) -> bool:
        """Whether the element is a link (pipe, pump, valve) and not a node (junction, reservoir, tank)."""
        return self.kind in ("flow", "status")


def frame_of_readings(
    table: NDArray[np.float64], gauges: Sequence[Gauge], *, start: datetime, step: timedelta
) -> pl.DataFrame:
    """Return the wide frame of a simulation: ``time`` in UTC and one column per gauge.

    Args:
        table: The readings, one row per step and one column per gauge; the status of a link is 0 if it is closed.
        gauges: The gauges.
        start: The time of the first row.
        step: The interval between rows.
    """
    times = pl.datetime_range(start, start + (len(table) - 1) * step, interval=step, time_unit="us", eager=True).alias(
        "time"
    )
    columns = [_series(gauge, table[:, column]) for column, gauge in enumerate(gauges)]
    return pl.DataFrame([times, *columns])


def _series(gauge: Gauge, values: NDArray[np.float64]) -> pl.Series:
    if gauge.kind != "status":
        return pl.Series(gauge.id, values)
    return pl.Series(gauge.id, np.where(values > 0, "open", "closed"), dtype=pl.String)


def find_node(graph: KnowledgeGraph, name: str, *, link: bool) -> str:
    """Return the id of the graph node of a network element.

    Args:
        graph: The graph of the network.
        name: EPANET's name of the element.
        link: Whether the element is a link (pipe, pump, valve) and not a node (junction, reservoir, tank).
    """
    classes = ("Pipe", "Pump", "Valve") if link else ("Junction", "Reservoir", "Tank")
    for label in classes:
        if f"{label} {name}" in graph.nodes:
            return f"{label} {name}"
    raise GraphError(f"the graph has no {'link' if link else 'node'} for '{name}'")


def build_system(
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
    """Return the system of a water network.

    Args:
        name: The name of the data set.
        inp: The EPANET file of the network.
        gauges: The sensors to include.
        frame: Readings with the column ``time`` and at least one column per gauge.
        leaks: Labelled periods whose subjects are EPANET's names.
        leaks_in_links: Whether the subjects of ``leaks`` are links and not nodes.
        description: What the data are.
        source: Where they come from.
    """
    graph = read_graph(inp)
    binding = Binding({gauge.id: find_node(graph, gauge.name, link=gauge.in_link) for gauge in gauges})
    if leaks is not None:
        subjects = [find_node(graph, subject, link=leaks_in_links) for subject in leaks["subject"]]
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
