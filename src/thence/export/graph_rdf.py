"""A knowledge graph, its sensors and readings as RDF, with the names that exported rules use.

Node labels become types, properties become data properties, edges become triples between nodes and, with ``reify``,
also ``rdf:Statement`` resources with id and properties. The output is N-Triples, line by line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from thence.atomic import new_file
from thence.export.vocabulary import PREFIXES, Vocabulary, literal
from thence.graph.knowledge_graph import KnowledgeGraph
from thence.graph.records import Edge
from thence.rules.items import Value

if TYPE_CHECKING:
    import polars as pl

    from thence.graph.ontology import Ontology
    from thence.readings.sensors import SensorData

__all__ = ["triples", "write_graph"]

_RDF, _RDFS, _SOSA, _XSD = (PREFIXES[name] for name in ("rdf", "rdfs", "sosa", "xsd"))


def triples(
    graph: KnowledgeGraph,
    *,
    binding: Mapping[str, str] | None = None,
    sensors: SensorData | None = None,
    ontology: Ontology | None = None,
    readings: Mapping[str, pl.DataFrame] | None = None,
    reify: bool = True,
    vocabulary: Vocabulary | None = None,
) -> Iterator[str]:
    """Yield the triples, one line each.

    Args:
        graph: The knowledge graph.
        binding: The node of each sensor.
        sensors: The sensors, for their kinds.
        ontology: The classes and relations, for their hierarchy.
        readings: ``"value"``, ``"rank"``, ``"change"`` and so on to a frame with the column ``time`` and one column
            per sensor.
        reify: Whether to describe each edge as an ``rdf:Statement`` too.
        vocabulary: The namespaces to use.

    Examples:
        >>> from thence.graph.knowledge_graph import Node
        >>> graph = KnowledgeGraph([Node("Pipe 1", frozenset({"Pipe"}))])
        >>> print(*triples(graph))
        <urn:thence:node:Pipe%201> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <urn:thence:class:Pipe> .
    """
    words = vocabulary or Vocabulary()
    for node in graph.nodes.values():
        term = words.node(node.id)
        yield from (f"{term} <{_RDF}type> {words.cls(label)} ." for label in sorted(node.labels))
        yield from _properties(term, node.properties, words)
    for edge in graph.edges.values():
        source, target = words.node(edge.source), words.node(edge.target)
        yield from (f"{source} {words.relation(label)} {target} ." for label in sorted(edge.labels))
        if reify:
            yield from _statement(edge, words)
    if ontology is not None:
        yield from _hierarchy(ontology, words)
    for sensor, node_id in (binding or {}).items():
        yield f"{words.sensor(sensor)} <{_SOSA}isHostedBy> {words.node(node_id)} ."
    for described in sensors.sensors if sensors is not None else ():
        yield f"{words.sensor(described.id)} <{_SOSA}observes> {words.kind(described.kind)} ."
    yield from _observations(readings or {}, words)


def write_graph(graph: KnowledgeGraph, path: str | Path, **options: object) -> Path:
    """Write a graph as N-Triples.

    Args:
        graph: The knowledge graph.
        path: The file to write.
        **options: Keyword arguments of ``triples``.

    Returns:
        The path.
    """
    with new_file(Path(path)) as draft, draft.open("w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in triples(graph, **options))  # type: ignore[arg-type]
    return Path(path)


def _properties(term: str, properties: Mapping[str, Value | int], words: Vocabulary) -> Iterator[str]:
    for name, value in properties.items():
        yield f"{term} {words.property(name)} {_typed(value)} ."


def _typed(value: Value | int) -> str:
    """A typed literal; N-Triples has no short form for numbers and booleans."""
    if isinstance(value, bool):
        return f'"{str(value).lower()}"^^<{_XSD}boolean>'
    if isinstance(value, (int, float)):
        return f'"{float(value)!r}"^^<{_XSD}double>'
    return literal(value)


def _statement(edge: Edge, words: Vocabulary) -> Iterator[str]:
    term = words.edge(edge.id)
    yield f"{term} <{_RDF}type> <{_RDF}Statement> ."
    yield f"{term} <{_RDF}subject> {words.node(edge.source)} ."
    yield f"{term} <{_RDF}object> {words.node(edge.target)} ."
    yield from (f"{term} <{_RDF}predicate> {words.relation(label)} ." for label in sorted(edge.labels))
    yield from _properties(term, edge.properties, words)


def _hierarchy(ontology: Ontology, words: Vocabulary) -> Iterator[str]:
    for name, parents in ontology.classes.items():
        yield from (f"{words.cls(name)} <{_RDFS}subClassOf> {words.cls(parent)} ." for parent in sorted(parents))
    for name, relation in ontology.relations.items():
        for parent in sorted(relation.parents):
            yield f"{words.relation(name)} <{_RDFS}subPropertyOf> {words.relation(parent)} ."


def _observations(readings: Mapping[str, pl.DataFrame], words: Vocabulary) -> Iterator[str]:
    number = 0
    for name, frame in readings.items():
        predicate = f"<{_SOSA}hasSimpleResult>" if name == "value" else words.reading(name)
        moments = [f'"{moment.isoformat()}"^^<{_XSD}dateTime>' for moment in frame["time"].to_list()]
        for sensor in frame.columns:
            if sensor == "time":
                continue
            for moment, value in zip(moments, frame[sensor].to_list(), strict=True):
                if value is None or value != value:
                    continue
                number += 1
                yield f"_:o{number} <{_SOSA}madeBySensor> {words.sensor(sensor)} ."
                yield f"_:o{number} <{_SOSA}resultTime> {moment} ."
                yield f"_:o{number} {predicate} {_typed(value)} ."
