"""A knowledge graph as property-graph JSON, in the layout that ``read_graph`` reads back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..elements import Edge, Node
from ..graph import KnowledgeGraph

__all__ = ["content"]


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
