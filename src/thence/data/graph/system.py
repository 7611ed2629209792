"""A system: what a user brings, in one object. Sensor data, knowledge graph, binding, ontology and labels.

Holds the type and what is derived from it. Files are read by ``thence.runs.inputs.read_system``, named data sets by
``thence.data.datasets.load``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

import polars as pl

from thence._base.display.data import system_html
from thence.errors import ConfigError

if TYPE_CHECKING:
    from thence.data.graph.binding import Binding
    from thence.data.graph.knowledge_graph import KnowledgeGraph
    from thence.data.graph.ontology import Ontology
    from thence.data.readings.sensors import SensorData

__all__ = ["System", "label_frame"]


@dataclass(frozen=True, repr=False, eq=False)
class System:
    """Sensor data with the knowledge graph around the sensors, ready to be mined.

    Args:
        sensors: The readings.
        graph: The knowledge graph.
        binding: Which sensor sits at which node of the graph.
        ontology: The classes and relations of the graph.
        labels: One row per labelled period, ``start`` ≤ t < ``end`` (UTC), with ``label`` ("leak", "fault"),
            ``subject`` (the id of a node, if known) and ``details``. ``None`` if the data are not labelled; a frame
            without rows if they are known to hold no such period.
        name: A short name, for messages and tables of results.
        description: What the data are, in a sentence.
        source: Where they come from.

    Examples:
        >>> import thence as th
        >>> th.datasets.load("toy")
        System 'toy': 5 sensors, 5 nodes, 4 edges, 0 labelled periods; made by hand for Thence
    """

    sensors: SensorData
    graph: KnowledgeGraph | None = None
    binding: Binding | None = None
    ontology: Ontology | None = None
    labels: pl.DataFrame | None = None
    name: str = ""
    description: str = ""
    source: str = ""

    def require_graph(self) -> tuple[KnowledgeGraph, Binding]:
        """Return the graph and the binding, or raise a ``ConfigError`` if one is missing."""
        if self.graph is None or self.binding is None:
            raise ConfigError(
                "a knowledge graph and a binding are needed", where=self.name or None, hint="pass both with the sensors"
            )
        return self.graph, self.binding

    def select(self, sensors: Iterable[str]) -> System:
        """Return the system with some of its sensors only.

        Args:
            sensors: The ids of the sensors to keep.
        """
        return self._with_sensors(self.sensors.select(list(sensors)))

    def select_kinds(self, kinds: Iterable[str]) -> System:
        """Return the system with the sensors of some kinds only.

        Args:
            kinds: The kinds to keep, such as ``"pressure"``; a kind that no sensor has is an error.
        """
        from thence.errors import nearest

        wanted = list(kinds)
        known = {sensor.kind for sensor in self.sensors.sensors}
        for kind in wanted:
            if kind not in known:
                raise ConfigError(f"no sensor is of the kind '{kind}'", hint=nearest(kind, known))
        return self.select(sensor.id for sensor in self.sensors.sensors if sensor.kind in wanted)

    def between(self, start: Any = None, end: Any = None) -> System:
        """Return the system with the readings of a period only; labels are kept as they are.

        Args:
            start: The first moment, or ``None`` for the beginning.
            end: The moment after the last, or ``None`` for the end.
        """
        return self._with_sensors(self.sensors.between(start, end))

    def _with_sensors(self, sensors: SensorData) -> System:
        binding = None if self.binding is None else self.binding.select(sensors)
        return replace(self, sensors=sensors, binding=binding)

    def describe(self) -> dict[str, Any]:
        """Return the sizes of the parts and where the data come from, ready for JSON."""
        return {
            "name": self.name,
            "sensors": len(self.sensors.sensors),
            "nodes": None if self.graph is None else len(self.graph.nodes),
            "edges": None if self.graph is None else len(self.graph.edges),
            "labelled_periods": None if self.labels is None else self.labels.height,
            "description": self.description,
            "source": self.source,
        }

    def _repr_html_(self) -> str:
        return system_html(self)

    def __repr__(self) -> str:
        graph = "no graph" if self.graph is None else f"{len(self.graph.nodes)} nodes, {len(self.graph.edges)} edges"
        labelled = "no labels" if self.labels is None else f"{self.labels.height} labelled periods"
        source = f"; {self.source}" if self.source else ""
        return f"System '{self.name}': {len(self.sensors.sensors)} sensors, {graph}, {labelled}{source}"


def label_frame(rows: Iterable[Mapping[str, datetime | str | None]]) -> pl.DataFrame:
    """Return labelled periods as a frame with the columns of ``System.labels``, whatever the number of rows.

    >>> label_frame([]).columns
    ['start', 'end', 'label', 'subject', 'details']
    """
    moment = pl.Datetime("us", "UTC")
    schema: dict[str, pl.DataType | type[pl.DataType]] = {
        "start": moment,
        "end": moment,
        "label": pl.String,
        "subject": pl.String,
        "details": pl.String,
    }
    return pl.DataFrame(list(rows), schema=schema, orient="row")
