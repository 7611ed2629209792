"""The part of the graph around sensors: their nodes, and the classes, properties and neighbours of these.

This module looks things up and names features; it builds no columns.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from thence.data.graph.binding import Binding
from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.matching import most_specific_label, most_specific_relation, with_ancestors
from thence.data.graph.ontology import Ontology
from thence.data.graph.records import Edge
from thence.data.readings.sensors import Sensor
from thence.language.items import Aspect, Feature, Role

NAMING_PROPERTIES = frozenset({"name", "iri", "label", "x", "y", "comment"})
"""Properties that name or locate a node instead of describing it; they become items only on request."""


@dataclass(frozen=True)
class Surroundings:
    """A graph with binding and ontology, and the properties to use.

    Args:
        graph: The knowledge graph.
        binding: The node of each sensor.
        ontology: Class and relation hierarchies.
        properties: Names of the properties to use; by default all that describe a node.
    """

    graph: KnowledgeGraph | None
    binding: Binding | None
    ontology: Ontology | None = None
    properties: tuple[str, ...] | None = None

    def node_of(self, sensor_id: str) -> str:
        """Return the node to which a sensor is bound, or an empty string."""
        return "" if self.binding is None else self.binding.get(sensor_id, "")

    def classes_of(self, node_id: str) -> frozenset[str]:
        """Return the labels of a node and all their ancestors."""
        if self.graph is None or not node_id:
            return frozenset()
        return with_ancestors(self.graph.node(node_id).labels, self.ontology)

    def label_of(self, node_id: str) -> str:
        """Return the most specific label of a node; of several, the first in alphabetical order."""
        assert self.graph is not None
        return most_specific_label(self.graph.node(node_id).labels, self.ontology)

    def properties_of(self, subject_id: str) -> list[str]:
        """Return the names of the properties to use of a node or edge, including dated ones, in alphabetical order."""
        assert self.graph is not None
        record = self.graph.edges.get(subject_id) or self.graph.node(subject_id)
        names = sorted({*record.properties, *self.graph.histories(subject_id)})
        if self.properties is not None:
            return [name for name in names if name in self.properties]
        return [name for name in names if name not in NAMING_PROPERTIES]

    def nodes_around(self, sensor_ids: tuple[str, ...], hops: int) -> list[str]:
        """Return the nodes of sensors and their neighbours within ``hops`` edges, in a fixed order."""
        assert self.graph is not None
        found: dict[str, None] = {}
        for sensor_id in sensor_ids:
            node = self.node_of(sensor_id)
            if not node:
                continue
            found.setdefault(node)
            if hops:
                for neighbour in sorted(self.graph.neighbours(node, hops=hops)):
                    found.setdefault(neighbour)
        return list(found)

    @cached_property
    def described_edges(self) -> tuple[Edge, ...]:
        """The edges that have a property to use."""
        assert self.graph is not None
        return tuple(edge for edge in self.graph.edges.values() if self.properties_of(edge.id))

    def edges_among(self, nodes: Iterable[str]) -> list[Edge]:
        """Return the edges between nodes, in a fixed order."""
        assert self.graph is not None
        inside = list(nodes)
        known = set(inside)
        return [edge for node in inside for edge in self.graph.out_edges(node) if edge.target in known]

    def reading(self, sensor: Sensor, name: str = "") -> Feature:
        """Return the feature of a sensor's reading, or of the quantity ``name`` derived from it."""
        place = self.node_of(sensor.id)
        return Feature(
            sensor.id,
            Aspect.MEASUREMENT,
            name,
            label=sensor.kind,
            unit=sensor.unit,
            place=place,
            classes=self.classes_of(place),
        )

    def property(self, node_id: str, name: str, *, role: Role = Role.NODE) -> Feature:
        """Return the feature of a property of a node."""
        assert self.graph is not None
        return Feature(
            node_id,
            Aspect.PROPERTY,
            name,
            role=role,
            label=self.label_of(node_id),
            unit=self.graph.property_units.get(name, ""),
            classes=self.classes_of(node_id),
        )

    def edge_property(self, edge: Edge, name: str) -> Feature:
        """Return the feature of a property of an edge."""
        assert self.graph is not None
        return Feature(
            edge.id,
            Aspect.PROPERTY,
            name,
            role=Role.EDGE,
            label=most_specific_relation(edge.labels, self.ontology),
            unit=self.graph.property_units.get(name, ""),
        )
