"""networkx graphs as knowledge graphs, read through their public methods so that networkx need not be imported.

Attributes are properties, except the one that holds the labels (``labels``, else ``label``, else ``type``, or the one
named). An undirected edge keeps the direction in which networkx lists it; a text key of a multigraph is the edge's id.
"""

from __future__ import annotations

from typing import Any

from thence.errors import GraphError
from thence.graph.knowledge_graph import KnowledgeGraph
from thence.graph.loaders.assemble import Draft
from thence.graph.loaders.propertyjson import add_graph_attributes, take_labels

__all__ = ["from_networkx", "is_networkx"]


def is_networkx(source: object) -> bool:
    """Whether this is a networkx graph of any kind."""
    return any(cls.__module__.split(".")[0] == "networkx" and cls.__name__ == "Graph" for cls in type(source).__mro__)


def from_networkx(source: Any, *, labels: str | None = None) -> KnowledgeGraph:
    """The knowledge graph of a networkx graph; ids become text."""
    draft = Draft("networkx graph")
    add_graph_attributes(draft, source.graph)
    texts: dict[str, Any] = {}
    for name, attributes in source.nodes(data=True):
        text = str(name)
        if text in texts:
            raise GraphError(
                f"nodes {texts[text]!r} and {name!r} both become '{text}'",
                where=draft.where,
                hint="relabel one of them (networkx.relabel_nodes)",
            )
        texts[text] = name
        place = f"node {name!r}"
        found, properties = take_labels(attributes, besides=set(), key=labels, place=place)
        draft.add_node(text, labels=found, properties=properties, place=place)
    keyed = source.edges(keys=True, data=True) if source.is_multigraph() else source.edges(data=True)
    for start, end, *key, attributes in keyed:
        place = f"edge {start!r} – {end!r}"
        found, properties = take_labels(attributes, besides=set(), key=labels, place=place)
        name = key[0] if key and isinstance(key[0], str) else None
        draft.add_edge(name, str(start), str(end), labels=found, properties=properties, place=place)
    return draft.graph()
