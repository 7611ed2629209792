"""What the graph says around a sensor: its node, the node's classes, properties and neighbours."""

from __future__ import annotations

from dataclasses import dataclass

from thence.graph.binding import Binding
from thence.graph.knowledge_graph import KnowledgeGraph
from thence.graph.matching import most_specific, upward
from thence.graph.ontology import Ontology
from thence.readings.sensors import Sensor
from thence.rules.items import Aspect, Feature, Role

__all__ = ["ADMINISTRATIVE", "Surroundings"]

ADMINISTRATIVE = frozenset({"name", "iri", "label", "x", "y", "comment"})
"""Properties that name or place a node instead of describing it: never items unless they are asked for."""


@dataclass(frozen=True)
class Surroundings:
    """Graph, binding and ontology together, and which properties are looked at."""

    graph: KnowledgeGraph | None
    binding: Binding | None
    ontology: Ontology | None = None
    properties: tuple[str, ...] | None = None

    def node_of(self, sensor_id: str) -> str:
        """The node that a sensor is bound to, or an empty text where nothing is bound."""
        return "" if self.binding is None else self.binding.get(sensor_id, "")

    def classes_of(self, node_id: str) -> frozenset[str]:
        """The labels of a node with all their ancestors."""
        if self.graph is None or not node_id:
            return frozenset()
        return upward(self.graph.node(node_id).labels, self.ontology)

    def label_of(self, node_id: str) -> str:
        """The most specific label of a node, the first by name where several are."""
        assert self.graph is not None
        return most_specific(self.graph.node(node_id).labels, self.ontology)

    def properties_of(self, node_id: str) -> list[str]:
        """The properties of a node that describe it, those that it has from some date on included, in order of name."""
        assert self.graph is not None
        names = sorted({*self.graph.node(node_id).properties, *self.graph.histories(node_id)})
        if self.properties is not None:
            return [name for name in names if name in self.properties]
        return [name for name in names if name not in ADMINISTRATIVE]

    def nodes_around(self, sensor_ids: tuple[str, ...], hops: int) -> list[str]:
        """The nodes of these sensors and their neighbours up to so many hops, in a fixed order."""
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

    def reading(self, sensor: Sensor, name: str = "") -> Feature:
        """The feature of a sensor's reading (or of something derived from it)."""
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
        """The feature of a node's property."""
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
