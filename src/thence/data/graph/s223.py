"""ASHRAE 223P without its connections: equipment feeds equipment and spaces, and has the properties read there.

223P describes pipes and ducts: equipment has connection points, connections join them, and a property belongs to an
equipment, a connection point, a duct or a space. For rules this is one edge: an air handling unit *feeds* a terminal
unit and *has the point* supply air temperature. Kinds come from the quantity kind, the medium and the aspect of a
property, and from where it is; the text of its label counts only where these do not decide. Classes get the names of
Brick, so that models of both kinds can be mined together. Relations that are not of 223P stay as they are.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property

from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.ontology import brick_classes
from thence.data.graph.point_names import class_of_point, words_of
from thence.data.graph.records import Edge, Node, list_values

_CONNECTIONS = frozenset({"Connection", "Duct", "Pipe", "Conductor", "Wire", "ElectricWire", "Junction"})
_CONNECTION_POINT = "ConnectionPoint"
_PROPERTY = "Property"
_CLASSES = {
    "AirHandlingUnit": "AHU", "SingleDuctTerminal": "VAV", "DualDuctTerminal": "VAV", "TerminalUnit": "Terminal_Unit",
    "FanPoweredTerminal": "VAV", "PhysicalSpace": "Room", "DomainSpace": "Space", "Zone": "Zone",
    "VariableFrequencyDrive": "VFD", "HotWaterBoiler": "Boiler",
}  # fmt: skip
_QUANTITIES = {
    "Temperature": "temperature", "VolumeFlowRate": "flow", "MassFlowRate": "flow", "Pressure": "pressure",
    "StaticPressure": "static pressure", "RelativeHumidity": "humidity", "Power": "power",
    "ElectricPower": "electric power", "ActivePower": "electric power", "ThermalPower": "thermal power",
    "HeatFlowRate": "thermal power",
    "Energy": "energy", "Illuminance": "illuminance", "MoleFraction": "co2", "AmountOfSubstanceFraction": "co2",
    "Concentration": "co2", "Speed": "speed", "AngularVelocity": "speed", "Frequency": "speed",
    "Occupancy": "occupancy",
}  # fmt: skip
_MEDIA = {"Air": "air", "HotWater": "hot water", "ChilledWater": "chilled water", "Water": "water", "NaturalGas": "gas"}
_JOINS = ("cnx", "hasConnectionPoint", "isConnectionPointOf", "connectsAt", "connectsThrough", "connectsTo",
          "connectsFrom", "mapsTo", "pairedConnectionPoint")  # fmt: skip
_DESCRIBES = frozenset({"hasQuantityKind", "hasMedium", "ofMedium", "hasAspect", "hasEnumerationKind", "hasDomain",
                        "hasRole"})  # fmt: skip
"""Relations to terms that describe a thing, and are no things of the building."""
_FED = {"connectedTo": False, "connectedFrom": True}
_PLACES = frozenset({"outside", "outdoor", "return", "mixed", "supply", "discharge", "exhaust", "zone"})
_OWN_RELATIONS = frozenset({"cnx", "hasProperty", "hasConnectionPoint", "encloses"})


def is_s223(graph: KnowledgeGraph) -> bool:
    """Return whether a graph is a model of 223P: it has properties of things, and connection points or equipment."""
    return not _OWN_RELATIONS.isdisjoint(graph.edge_labels) and any(
        label.endswith((_CONNECTION_POINT, "ObservableProperty", "ActuatableProperty")) for label in graph.labels
    )


def without_connections(graph: KnowledgeGraph) -> KnowledgeGraph:
    """Return a model of 223P as equipment, spaces and points, with the relations and classes of Brick.

    Args:
        graph: The model as it was read.

    Examples:
        >>> labels = {"A": "AirHandlingUnit", "out": "OutletConnectionPoint", "d": "Duct", "in": "InletConnectionPoint"}
        >>> labels |= {"V": "SingleDuctTerminal", "t": "QuantifiableObservableProperty", "Temperature": ""}
        >>> links = ["A cnx out", "out cnx d", "d cnx in", "V cnx in", "out hasProperty t"]
        >>> links.append("t hasQuantityKind Temperature")
        >>> edges = [Edge(text, (p := text.split())[0], p[2], frozenset({p[1]})) for text in links]
        >>> plain = without_connections(KnowledgeGraph([Node(n, frozenset({c})) for n, c in labels.items()], edges))
        >>> sorted(plain.edges), sorted(plain.node("t").labels)
        (['A feeds V', 'A hasPoint t'], ['Supply_Air_Temperature_Sensor'])
    """
    return _Model(graph).plain()


@dataclass
class _Model:
    """A model of 223P, with what is found in it."""

    graph: KnowledgeGraph
    edges: dict[tuple[str, str, str], None] = field(default_factory=dict)

    def plain(self) -> KnowledgeGraph:
        """Return the model without connections."""
        gone = {*self._points, *self._pipes, *self._spaces}
        for source, target in self._flows():
            self._add(source, "feeds", target)
        properties: dict[str, str] = {}
        for node in self.graph.nodes.values():
            if (holder := self._holder(node)) is not None:
                properties[node.id] = holder
                self._add(self._owner(holder) or holder, "hasPoint", node.id)
        for edge in self.graph.edges.values():
            if "contains" in edge.labels:
                self._add(edge.source, "hasPart", edge.target)
            for label in edge.labels & _FED.keys():
                ends = (edge.target, edge.source) if _FED[label] else (edge.source, edge.target)
                self._add(ends[0], "feeds", ends[1])
        own = {*_JOINS, *_FED, *_DESCRIBES, "contains", "encloses", "hasProperty", "connected"}
        kept = [e for e in self.graph.edges.values() if not e.labels & own and not {e.source, e.target} & gone]
        gone |= {e.target for e in self.graph.edges.values() if e.labels & _DESCRIBES}
        made = (Edge(" ".join(ends), ends[0], ends[2], frozenset({ends[1]})) for ends in self.edges)
        nodes = [self._translated(node, properties) for node in self.graph.nodes.values() if node.id not in gone]
        ids = {node.id for node in nodes} | {edge.id for edge in kept}
        dated = [value for value in self.graph.dated if value.subject in ids]
        edges = [*kept, *(edge for edge in made if edge.id not in ids)]
        return KnowledgeGraph(nodes, edges, dated=dated, property_units=self.graph.property_units)

    def _add(self, source: str, relation: str, target: str) -> None:
        source, target = (self._spaces.get(node, node) for node in (source, target))
        if source != target and not {source, target} & {*self._points, *self._pipes}:
            self.edges.setdefault((source, relation, target))

    @cached_property
    def _points(self) -> dict[str, str]:
        """The connection points, each as ``in``, ``out`` or ``""``."""
        found = {}
        for node in self.graph.nodes.values():
            label = next((label for label in sorted(node.labels) if label.endswith(_CONNECTION_POINT)), "")
            if label:
                found[node.id] = {"I": "in", "O": "out"}.get(label[0], "")
        return found

    @cached_property
    def _pipes(self) -> frozenset[str]:
        """The connections."""
        return frozenset(n.id for n in self.graph.nodes.values() if n.labels & _CONNECTIONS)

    @cached_property
    def _spaces(self) -> dict[str, str]:
        """Domain spaces that are the only one of the physical space around them."""
        inside: dict[str, list[str]] = defaultdict(list)
        for edge in self.graph.edges.values():
            if "encloses" in edge.labels:
                inside[edge.source].append(edge.target)
        return {spaces[0]: whole for whole, spaces in inside.items() if len(set(spaces)) == 1}

    @cached_property
    def _joined(self) -> dict[str, set[str]]:
        """What is joined to each connection point and connection, and each other node, whatever the direction."""
        out: dict[str, set[str]] = defaultdict(set)
        for edge in self.graph.edges.values():
            if edge.labels & set(_JOINS):
                out[edge.source].add(edge.target)
                out[edge.target].add(edge.source)
        return out

    def _owner(self, node: str) -> str | None:
        """The equipment or space of a connection point, or the equipment from whose outlet a connection comes."""
        if node in self._pipes:
            sources = [p for p in self._joined[node] if self._points.get(p) == "out"]
            owners = {owner for point in sources if (owner := self._owner(point)) is not None}
            return owners.pop() if len(owners) == 1 else None
        if node not in self._points:
            return None
        owners = {one for one in self._joined[node] if one not in self._points and one not in self._pipes}
        return min(owners) if len(owners) == 1 else None

    def _flows(self) -> Iterable[tuple[str, str]]:
        """Pairs of equipment or spaces, the second at the end of a connection from an outlet of the first."""
        for outlet, way in self._points.items():
            source = self._owner(outlet)
            if way != "out" or source is None:
                continue
            seen, waiting = {outlet}, [outlet]
            while waiting:
                for near in sorted(self._joined[waiting.pop()] - seen):
                    seen.add(near)
                    if near in self._pipes:
                        waiting.append(near)
                    elif self._points.get(near) == "in" and (target := self._owner(near)) is not None:
                        yield source, target

    def _holder(self, node: Node) -> str | None:
        """The node that has a property, or where a sensor observes it."""
        graph = self.graph
        if not any(label.endswith(_PROPERTY) for label in node.labels):
            return None
        holders = [edge.source for edge in graph.in_edges(node.id, "hasProperty")]
        holders += [
            place.target
            for edge in graph.in_edges(node.id, "observes")
            for place in graph.out_edges(edge.source, ("hasObservationLocation", "hasPhysicalLocation"))
        ]
        return holders[0] if holders else None

    def _translated(self, node: Node, properties: dict[str, str]) -> Node:
        if node.id in properties:
            name = self._property_class(node, properties[node.id])
            return replace(node, labels=frozenset({name})) if name else node
        labels = frozenset(_class_name(label) for label in node.labels)
        if "PhysicalSpace" in node.labels and any(
            "PhysicalSpace" in self.graph.node(edge.target).labels for edge in self.graph.out_edges(node.id, "contains")
        ):
            labels = frozenset({"Space"})
        return node if labels == node.labels else replace(node, labels=labels)

    def _property_class(self, node: Node, holder: str) -> str:
        """The class of a property: what is measured of which medium, where, and whether it is read or set."""
        told = [word for value in list_values(node.properties.get("label")) for word in words_of(str(value))]
        stated = [
            word for text in self._terms(node.id, "hasQuantityKind") for word in _QUANTITIES.get(text, "").split()
        ]
        if any("Command" in label for label in node.labels) or "ActuatableProperty" in "".join(sorted(node.labels)):
            role = "Command"
        else:
            role = "Sensor"
        aspects = self._terms(node.id, "hasAspect")
        if any("Setpoint" in aspect for aspect in aspects) or "setpoint" in told:
            stated.append("setpoint")
        if any("RunStatus" in kind or "OnOff" in kind for kind in self._terms(node.id, "hasEnumerationKind")):
            stated.append("status" if role == "Sensor" else "command")
        if not stated or stated in (["setpoint"], ["status"], ["command"]):
            # A ratio may be the position of anything: of what, its holder and its label say.
            machine = [word for label in self.graph.node(holder).labels for word in words_of(label)]
            return class_of_point([*stated, *(told or (machine if stated else [*machine, "position"]))], role=role)
        media = [
            *self._terms(node.id, "ofMedium"),
            *self._terms(node.id, "hasMedium"),
            *self._terms(holder, "hasMedium"),
        ]
        medium = [word for text in media[:1] for word in _MEDIA.get(text, "").split()]
        return class_of_point([*stated, *medium, *self._where(holder, told)], role=role)

    def _where(self, holder: str, told: list[str]) -> list[str]:
        """Where a property is: in a zone, or at an inlet or outlet."""
        labels = self.graph.node(holder).labels
        if labels & {"DomainSpace", "PhysicalSpace", "Zone"}:
            return ["zone", "air"]
        roles = [word for role in self._terms(holder, "hasRole") for word in words_of(role)]
        said = [word for word in (*roles, *told, *words_of(holder)) if word in _PLACES]
        if said:
            return said[:1]
        return ["supply"] if self._points.get(holder) == "out" or holder in self._pipes or told[-1:] == ["flow"] else []

    def _terms(self, node: str, relation: str) -> list[str]:
        """The names that a node has for a relation, without their families: ``Air`` for ``Fluid-Air``."""
        found = [edge.target for edge in self.graph.out_edges(node, relation)]
        found += [str(value) for value in list_values(self.graph.value(node, relation))]
        return [re.split(r"[-:/#]", name)[-1] for name in found]


def _class_name(label: str) -> str:
    """The name that a class of 223P has in Brick; itself if it has none."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", label)
    return _CLASSES.get(label) or (spaced if spaced in brick_classes() else label)
