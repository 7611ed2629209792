"""The names that SPARQL, SHACL and RDF exports share: how ids, classes, properties and readings are written as IRIs.

Ids are put behind a namespace and percent-encoded, so ``Pipe 28`` becomes ``<urn:thence:node:Pipe%2028>``. Give other
namespaces to address a graph that has its own, such as Brick's. Sensors and readings are written with SOSA:
a sensor ``sosa:observes`` a kind and ``sosa:isHostedBy`` a node; an observation has ``sosa:madeBySensor``,
``sosa:resultTime`` and ``sosa:hasSimpleResult``, and under ``urn:thence:reading:`` what is derived from it (``rank``,
``change``). An edge that is more than a link is a ``rdf:Statement``.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

from thence.rules.items import Value

__all__ = ["PREFIXES", "Vocabulary", "literal"]

PREFIXES = {
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "sosa": "http://www.w3.org/ns/sosa/",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}


@dataclass(frozen=True, kw_only=True)
class Vocabulary:
    """The namespace of each sort of name.

    >>> Vocabulary().node("Pipe 28"), Vocabulary(classes="https://brickschema.org/schema/Brick#").cls("AHU")
    ('<urn:thence:node:Pipe%2028>', '<https://brickschema.org/schema/Brick#AHU>')
    """

    nodes: str = "urn:thence:node:"
    edges: str = "urn:thence:edge:"
    sensors: str = "urn:thence:sensor:"
    classes: str = "urn:thence:class:"
    relations: str = "urn:thence:relation:"
    properties: str = "urn:thence:property:"
    kinds: str = "urn:thence:kind:"
    readings: str = "urn:thence:reading:"

    def node(self, name: str) -> str:
        """The IRI of a node."""
        return _iri(self.nodes, name)

    def edge(self, name: str) -> str:
        """The IRI of an edge that is described on its own."""
        return _iri(self.edges, name)

    def sensor(self, name: str) -> str:
        """The IRI of a sensor."""
        return _iri(self.sensors, name)

    def cls(self, name: str) -> str:
        """The IRI of a class of nodes."""
        return _iri(self.classes, name)

    def relation(self, name: str) -> str:
        """The IRI of a relation, the label of an edge."""
        return _iri(self.relations, name)

    def property(self, name: str) -> str:
        """The IRI of a property."""
        return _iri(self.properties, name)

    def kind(self, name: str) -> str:
        """The IRI of a kind of sensor."""
        return _iri(self.kinds, name)

    def reading(self, name: str) -> str:
        """The predicate from an observation to a reading: its plain result, or something derived from it."""
        return "sosa:hasSimpleResult" if name == "value" else _iri(self.readings, name)


def _iri(namespace: str, name: str) -> str:
    return f"<{namespace}{quote(name, safe='')}>"


def literal(value: Value | int) -> str:
    """A value as it stands in SPARQL, Turtle and, but for numbers, N-Triples; numbers are always doubles.

    >>> literal(0.3), literal("a\\"b"), literal(True)
    ('0.3e0', '"a\\\\"b"', 'true')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        text = repr(float(value))
        return text if "e" in text else f"{text}e0"
    escapes = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    return '"' + "".join(escapes.get(c, c) for c in value) + '"'
