"""IRIs of ids, classes, properties and readings, shared by the SPARQL, SHACL and RDF exporters.

An IRI is a namespace followed by the percent-encoded name: ``Pipe 28`` becomes ``<urn:thence:node:Pipe%2028>``. Pass
other namespaces to address a graph that has its own, such as Brick's. Sensors and readings use SOSA: a sensor
``sosa:observes`` a kind and ``sosa:isHostedBy`` a node; an observation has ``sosa:madeBySensor``, ``sosa:resultTime``
and ``sosa:hasSimpleResult``, and derived values (``rank``, ``change``) under ``urn:thence:reading:``. A frame has its
start under ``urn:thence:reading:frame``. A value of a dated property is a resource under ``urn:thence:dated:`` with
``rdf:value`` and the times between which it is valid, ``prov:generatedAtTime`` (included) and
``prov:invalidatedAtTime`` (not included); one without the first is valid from ever, one without the second until
further notice. An edge with an id or properties of its own is an ``rdf:Statement``.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

from thence.language.items import Value
from thence.statements.rules.ruleset import RuleSet

PREFIXES = {
    "owl": "http://www.w3.org/2002/07/owl#",
    "prov": "http://www.w3.org/ns/prov#",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "sosa": "http://www.w3.org/ns/sosa/",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}


@dataclass(frozen=True, kw_only=True)
class Namespaces:
    """The namespaces, and the IRI of each name.

    Args:
        nodes: Namespace of node ids.
        edges: Namespace of edge ids.
        sensors: Namespace of sensor ids.
        classes: Namespace of classes, the labels of nodes.
        relations: Namespace of relations, the labels of edges.
        properties: Namespace of properties.
        dated: Namespace of properties whose values are dated.
        kinds: Namespace of kinds of sensors.
        readings: Namespace of values derived from a reading.

    Examples:
        >>> Namespaces().node("Pipe 28"), Namespaces(classes="https://brickschema.org/schema/Brick#").cls("AHU")
        ('<urn:thence:node:Pipe%2028>', '<https://brickschema.org/schema/Brick#AHU>')
    """

    nodes: str = "urn:thence:node:"
    edges: str = "urn:thence:edge:"
    sensors: str = "urn:thence:sensor:"
    classes: str = "urn:thence:class:"
    relations: str = "urn:thence:relation:"
    properties: str = "urn:thence:property:"
    dated: str = "urn:thence:dated:"
    kinds: str = "urn:thence:kind:"
    readings: str = "urn:thence:reading:"

    def node(self, name: str) -> str:
        """The IRI of a node."""
        return _iri(self.nodes, name)

    def edge(self, name: str) -> str:
        """The IRI of an edge."""
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

    def dated_property(self, name: str) -> str:
        """The IRI from a node to the dated values of a property."""
        return _iri(self.dated, name)

    def kind(self, name: str) -> str:
        """The IRI of a kind of sensor."""
        return _iri(self.kinds, name)

    def reading(self, name: str) -> str:
        """The predicate from an observation to its result (``"value"``) or to a derived value."""
        return "sosa:hasSimpleResult" if name == "value" else _iri(self.readings, name)


def _iri(namespace: str, name: str) -> str:
    return f"<{namespace}{quote(name, safe='')}>"


def literal(value: Value | int) -> str:
    """A value as a literal of SPARQL and Turtle; all numbers are doubles. Strings are valid N-Triples too.

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


def comment_notes(rules: RuleSet) -> str:
    """Return the notes of rules as comments of SPARQL and Turtle, a line each.

    Args:
        rules: The rules.

    Examples:
        >>> comment_notes(RuleSet.empty("nothing was mined"))
        '# nothing was mined\\n'
    """
    return "".join(f"# {' '.join(note.split())}\n" for note in rules.notes)
