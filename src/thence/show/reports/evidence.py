"""What evidence cards look up of a run: sensors, series, neighbours in the graph. Each is found once.

This module looks things up; it chooses, counts and draws nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from thence.data.graph.discovery import Carriers
from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.matching import GraphIndex
from thence.data.readings.sensors import Sensor
from thence.data.readings.windows import WindowedReadings
from thence.language.patterns import Pattern
from thence.search.refine.counterexamples import confidence_bound
from thence.show.reports.material import Material
from thence.tables.discretization import Discretizer
from thence.tables.transactions import TransactionTable

_MOST_BETWEEN = 6  # nodes of a path that is shown between two nodes, its ends included
_MOST_SEEN = 5_000  # nodes that are looked at for such paths
_DISCOVERED = ("auto", "stars", "paths")


@dataclass(frozen=True, eq=False)
class Evidence:
    """The data behind a run, ready to be looked up.

    Args:
        material: The run with its readings and its table.
        readings: The readings as they were mined.
    """

    material: Material
    readings: WindowedReadings

    @cached_property
    def sensor_of(self) -> Mapping[str, Sensor]:
        """The sensors by id."""
        return {sensor.id: sensor for sensor in self.readings.sensors}

    @cached_property
    def column_of(self) -> Mapping[str, int]:
        """The column of each numeric sensor in the values of the readings."""
        return {sensor.id: at for at, sensor in enumerate(self.readings.numeric)}

    @property
    def graph(self) -> KnowledgeGraph | None:
        """The graph, if there is one."""
        return None if self.material.system is None else self.material.system.graph

    @cached_property
    def node_of(self) -> Mapping[str, str]:
        """The node of each sensor that is bound to one."""
        system = self.material.system
        return {} if system is None or system.binding is None else dict(system.binding)

    @cached_property
    def index(self) -> GraphIndex:
        """The graph, ready for patterns."""
        system = self.material.system
        assert system is not None and system.graph is not None
        return GraphIndex(system.graph, system.ontology)

    @cached_property
    def carriers(self) -> Carriers:
        """The nodes that carry sensors, found as for the table that was mined."""
        given = self.material.run.config.enrich.patterns
        if given is None or (isinstance(given, str) and given in _DISCOVERED):
            return self.all_carriers
        parsed = [Pattern.parse(one) for one in ([given] if isinstance(given, str) else given)]
        return Carriers.of(self.index, self._kind_of, self.node_of, patterns=parsed)

    @cached_property
    def all_carriers(self) -> Carriers:
        """The nodes that carry sensors, found as for laws."""
        return Carriers.of(self.index, self._kind_of, self.node_of)

    @property
    def _kind_of(self) -> dict[str, str]:
        return {sensor.id: sensor.kind for sensor in self.readings.sensors}

    def times_at(self, node: str) -> npt.NDArray[np.datetime64]:
        """Return the start of each frame at a node: that of its site, if there are several.

        Args:
            node: The id of the node.
        """
        return self.readings.by_site.get(self.readings.site_of(node), self.readings.times)

    @cached_property
    def bins(self) -> Discretizer | None:
        """The bins of the table, or else of the run."""
        table = self.material.table
        return table.discretizer if isinstance(table, TransactionTable) else self.material.run.discretizer

    @cached_property
    def bound(self) -> float:
        """The confidence below which a rule fails in a place."""
        return confidence_bound(self.material.run.rules)

    @cached_property
    def denominator(self) -> str:
        """Whether rules were counted over the rows with all their features, or over all rows."""
        return str(self.material.run.config.miner.settings.get("denominator", "present"))

    def edges_among(self, nodes: Iterable[str]) -> list[list[str]]:
        """Return the edges between some nodes, as pairs of ids, each once.

        Args:
            nodes: The nodes.
        """
        graph = self.graph
        if graph is None:
            return []
        inside = {node: None for node in nodes if node in graph}
        pairs = {(node, edge.target): None for node in inside for edge in graph.out_edges(node)}
        return [list(pair) for pair in pairs if pair[1] in inside and pair[0] != pair[1]]

    def linked(self, nodes: Iterable[str]) -> list[str]:
        """Return nodes with those between them: on the shortest paths from each to the first, if these are short.

        Args:
            nodes: The nodes; those that are not in the graph are left out.
        """
        graph = self.graph
        if graph is None:
            return []
        own = list(dict.fromkeys(node for node in nodes if node in graph))
        found = dict.fromkeys(own)
        before = _nearby(graph, own[0], until=set(own)) if len(own) > 1 else {}
        for other in own[1:]:
            at = before.get(other, "")
            while at:
                found[at] = None
                at = before[at]
        return list(found)


def _nearby(graph: KnowledgeGraph, start: str, *, until: set[str]) -> dict[str, str]:
    """The nodes within a few edges of a node, each with the one before it on a shortest path; "" before the first."""
    before = {start: ""}
    front, left = [start], until - {start}
    for _ in range(_MOST_BETWEEN - 1):
        reached = []
        for here in front:
            for other in graph.neighbours(here):
                if other not in before:
                    before[other] = here
                    reached.append(other)
        left = left.difference(reached)
        if not left or len(before) > _MOST_SEEN:
            break
        front = reached
    return before
