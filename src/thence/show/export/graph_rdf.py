"""A knowledge graph, its sensors and readings as RDF, with the names that exported rules use.

Node labels become types, properties become data properties, edges become triples between nodes and, with ``reify``,
also ``rdf:Statement`` resources with id and properties. A property with dated values has one resource per value with
the times between which it is valid, and no data property. The output is N-Triples, line by line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from thence._base.atomic import new_file
from thence.data.graph.discovery import Carriers
from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.matching import GraphIndex
from thence.data.graph.records import Edge, Node, list_values
from thence.data.readings.windows import WindowedReadings
from thence.show.export.observations_rdf import list_moments, observations, typed, windowed_observations
from thence.show.export.vocabulary import PREFIXES, Namespaces

if TYPE_CHECKING:
    import polars as pl

    from thence.data.graph.ontology import Ontology
    from thence.data.readings.sensors import SensorData
    from thence.tables.transactions import TransactionTable

_RDF, _RDFS, _OWL, _SOSA, _PROV = (PREFIXES[name] for name in ("rdf", "rdfs", "owl", "sosa", "prov"))


def triples(
    graph: KnowledgeGraph,
    *,
    binding: Mapping[str, str] | None = None,
    sensors: SensorData | None = None,
    ontology: Ontology | None = None,
    readings: WindowedReadings | Mapping[str, pl.DataFrame] | None = None,
    table: TransactionTable | None = None,
    reify: bool = True,
    vocabulary: Namespaces | None = None,
) -> Iterator[str]:
    """Yield the triples, one line each.

    Args:
        graph: The knowledge graph.
        binding: The node of each sensor.
        sensors: The sensors, for their kinds.
        ontology: The classes and relations, for their hierarchy.
        readings: The readings in windows; or ``"value"``, ``"rank"``, ``"change"`` and so on to a frame with the column
            ``time`` and one column per sensor.
        table: The table that rules were mined from, if they have ranks or aggregates; it needs ``readings`` in windows.
        reify: Whether to describe each edge as an ``rdf:Statement`` too.
        vocabulary: The namespaces to use.

    Examples:
        >>> from thence.data.graph.knowledge_graph import Node
        >>> graph = KnowledgeGraph([Node("Pipe 1", frozenset({"Pipe"}))])
        >>> print(*triples(graph))
        <urn:thence:node:Pipe%201> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <urn:thence:class:Pipe> .
    """
    words = vocabulary or Namespaces()
    numbers = count(1)
    for node in graph.nodes.values():
        term = words.node(node.id)
        yield from (f"{term} <{_RDF}type> {words.cls(label)} ." for label in sorted(node.labels))
        yield from _properties(term, node, graph, words, numbers)
    for edge in graph.edges.values():
        source, target = words.node(edge.source), words.node(edge.target)
        yield from (f"{source} {words.relation(label)} {target} ." for label in sorted(edge.labels))
        if reify:
            yield from _statement(edge, graph, words, numbers)
    if ontology is not None:
        yield from _hierarchy(ontology, words)
    for sensor, node_id in (binding or {}).items():
        yield f"{words.sensor(sensor)} <{_SOSA}isHostedBy> {words.node(node_id)} ."
    for described in sensors.sensors if sensors is not None else ():
        # Statements about some sensor name one without a kind by its id.
        for kind in dict.fromkeys((described.kind, described.kind or described.id)):
            yield f"{words.sensor(described.id)} <{_SOSA}observes> {words.kind(kind)} ."
    if binding is not None and sensors is not None:
        yield from _units(graph, binding, sensors, ontology, table, words)
    if isinstance(readings, WindowedReadings):
        yield from windowed_observations(
            readings, words, numbers, table=table, graph=graph, binding=binding, ontology=ontology
        )
    else:
        yield from observations(readings or {}, words, numbers)


def _units(
    graph: KnowledgeGraph,
    binding: Mapping[str, str],
    sensors: SensorData,
    ontology: Ontology | None,
    table: TransactionTable | None,
    words: Namespaces,
) -> Iterator[str]:
    """The unit of each sensor and its role there, if there are points; a sensor at no point is at its own node."""
    known = [block.pattern for block in table.blocks if block.pattern is not None] if table is not None else None
    kinds = {sensor.id: sensor.kind for sensor in sensors.sensors}
    carriers = Carriers.of(GraphIndex(graph, ontology), kinds, dict(binding), patterns=known)
    if not carriers.units and not any(pattern.has_points for pattern in known or ()):
        return
    for kind, at in carriers.sensors.items():
        for number, ids in at.items():
            for sensor in ids:
                term = words.sensor(sensor)
                yield f"{term} {words.reading('unit')} {words.node(carriers.index.ids[number])} ."
                yield f"{term} {words.reading('role')} {words.kind(kind)} ."


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


def _properties(
    term: str, record: Node | Edge, graph: KnowledgeGraph, words: Namespaces, numbers: Iterator[int]
) -> Iterator[str]:
    histories = graph.histories(record.id)
    for name, value in record.properties.items():
        if name not in histories:
            yield from (f"{term} {words.property(name)} {typed(one)} ." for one in list_values(value))
    for name, (starts, values) in histories.items():
        periods = zip((record.properties.get(name), *values), (None, *starts), (*starts, None), strict=True)
        for several, start, end in periods:
            for held in list_values(several):
                value = f"_:v{next(numbers)}"
                yield f"{term} {words.dated_property(name)} {value} ."
                yield f"{value} <{_RDF}value> {typed(held)} ."
                yield from _limit(value, "generatedAtTime", start)
                yield from _limit(value, "invalidatedAtTime", end)


def _limit(value: str, name: str, moment: datetime | None) -> Iterator[str]:
    if moment is not None:
        yield f"{value} <{_PROV}{name}> {list_moments([moment])[0]} ."


def _statement(edge: Edge, graph: KnowledgeGraph, words: Namespaces, numbers: Iterator[int]) -> Iterator[str]:
    term = words.edge(edge.id)
    yield f"{term} <{_RDF}type> <{_RDF}Statement> ."
    yield f"{term} <{_RDF}subject> {words.node(edge.source)} ."
    yield f"{term} <{_RDF}object> {words.node(edge.target)} ."
    yield from (f"{term} <{_RDF}predicate> {words.relation(label)} ." for label in sorted(edge.labels))
    yield from _properties(term, edge, graph, words, numbers)


def _hierarchy(ontology: Ontology, words: Namespaces) -> Iterator[str]:
    for name, parents in ontology.classes.items():
        yield from (f"{words.cls(name)} <{_RDFS}subClassOf> {words.cls(parent)} ." for parent in sorted(parents))
    for name, relation in ontology.relations.items():
        if relation.symmetric:
            yield f"{words.relation(name)} <{_RDF}type> <{_OWL}SymmetricProperty> ."
        for parent in sorted(relation.parents):
            yield f"{words.relation(name)} <{_RDFS}subPropertyOf> {words.relation(parent)} ."
