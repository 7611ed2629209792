"""A knowledge graph and its ontology as JSON, in the layouts that ``read_graph`` and ``read_ontology`` read back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from thence.graph.knowledge_graph import KnowledgeGraph
from thence.graph.ontology import Ontology
from thence.graph.records import Edge, Node

__all__ = ["content", "schema"]


def content(graph: KnowledgeGraph) -> dict[str, Any]:
    """The graph as plain data; a property with dated values is a list of them, the undated one first.

    >>> content(KnowledgeGraph([Node("Pipe 1", frozenset({"Pipe"}), {"length": 820.0})]))["nodes"]
    [{'id': 'Pipe 1', 'labels': ['Pipe'], 'properties': {'length': 820.0}}]
    """
    dated: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for entry in graph.dated:
        history = dated.setdefault(entry.subject, {}).setdefault(entry.property, [])
        history.append({"from": entry.start.isoformat(), "value": entry.value})
    return {
        "nodes": [{"id": node.id, **_described(node, dated)} for node in graph.nodes.values()],
        "edges": [
            {"id": edge.id, "source": edge.source, "target": edge.target, **_described(edge, dated)}
            for edge in graph.edges.values()
        ],
        "property_units": dict(graph.property_units),
    }


def _described(element: Node | Edge, dated: Mapping[str, Mapping[str, list[dict[str, Any]]]]) -> dict[str, Any]:
    properties: dict[str, Any] = dict(element.properties)
    for name, history in dated.get(element.id, {}).items():
        undated = [{"from": None, "value": properties[name]}] if name in properties else []
        properties[name] = [*undated, *history]
    return {"labels": sorted(element.labels), "properties": properties}


def schema(ontology: Ontology) -> dict[str, Any]:
    """The ontology as the small schema; ranges that hold for one class only have no place in it and are left out.

    >>> schema(Ontology({"Asset": [], "Pump": ["Asset"]}))["classes"]["Pump"]
    {'parents': ['Asset']}
    """
    classes: dict[str, dict[str, Any]] = {name: _names(parents=own) for name, own in ontology.classes.items()}
    for name, instead in ontology.deprecated.items():
        classes.setdefault(name, {})["deprecated"] = instead
    relations: dict[str, dict[str, Any]] = {}
    for name, relation in ontology.relations.items():
        relations[name] = _names(domain=relation.domain, range=relation.range, parents=relation.parents)
        if relation.inverse:
            relations[name]["inverse"] = relation.inverse
        if relation.symmetric:
            relations[name]["symmetric"] = True
    properties: dict[str, dict[str, Any]] = {name: _names(owners=own) for name, own in ontology.properties.items()}
    for name, unit in ontology.units.items():
        if name in properties:
            properties[name]["unit"] = unit
    return {"name": ontology.name, "classes": classes, "relations": relations, "properties": properties}


def _names(**sets: Iterable[str]) -> dict[str, Any]:
    return {key: listed for key, values in sets.items() if (listed := sorted(values))}
