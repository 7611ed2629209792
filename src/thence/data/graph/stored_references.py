"""Time series references that name the file in which a series is stored (``ref:storedAt``).

Graphs of several buildings may refer to series with the same id in different files. When the readings of one file are
bound, references to other files do not count. This module looks at names; it reads no files.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import PurePath

from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.records import join_values, list_values

__all__ = ["references_in"]

_STORED_AT = "storedAt"


def references_in(graph: KnowledgeGraph, files: Iterable[str]) -> KnowledgeGraph:
    """Return a graph without the time series references to other files.

    A reference without ``storedAt`` is kept. If no reference names one of the files, nothing is left out.

    Args:
        graph: The knowledge graph.
        files: The paths of the files that are read.

    Examples:
        >>> from thence.data.graph.knowledge_graph import Node
        >>> both = [Node(x, properties={"timeseries": "1", "storedAt": f"{x}.csv"}) for x in ("north", "south")]
        >>> [sorted(node.properties) for node in references_in(KnowledgeGraph(both), ["data/south.csv"]).nodes.values()]
        [['storedAt'], ['storedAt', 'timeseries']]
    """
    from thence.data.graph.name_rules import SERIES_PROPERTIES

    wanted = {name for path in files for name in _names(path)}
    stored = {id: set(_names(text)) for id in graph.nodes if (text := _stored_at(graph, id))}
    if not any(names & wanted for names in stored.values()):
        return graph
    nodes = []
    for node in graph.nodes.values():
        if node.id in stored and not stored[node.id] & wanted:
            kept = {name: value for name, value in node.properties.items() if name not in SERIES_PROPERTIES}
            node = replace(node, properties=kept)
        nodes.append(node)
    return KnowledgeGraph(nodes, graph.edges.values(), dated=graph.dated, property_units=graph.property_units)


def _stored_at(graph: KnowledgeGraph, id: str) -> str:
    """Return where the series of a reference is stored: a value, or the name of the node that it links to."""
    value = graph.nodes[id].properties.get(_STORED_AT)
    if value is not None:
        return join_values(list_values(value))
    linked = [edge.target for edge in graph.out_edges(id, _STORED_AT)]
    return join_values(list_values(graph.value(linked[0], "name"))) or linked[0] if linked else ""


def _names(path: str) -> tuple[str, str]:
    """Return the name of a file with and without its suffix, whatever the case and the folder."""
    name = PurePath(path.replace("\\", "/")).name.casefold()
    return name, PurePath(name).stem
