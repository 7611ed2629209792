"""Graphs from networkx objects, read through their public methods; this module must not import networkx.

Attributes become properties, except the one that holds the labels (``labels``, else ``label``, else ``type``, or the
one named by the caller). An undirected edge gets the direction in which networkx lists it. A string key of a multigraph
becomes the id of the edge.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.loaders.draft import Draft
from thence.data.loaders.loader import Loader, LoadOptions
from thence.data.loaders.propertyjson import add_graph_attributes, split_labels
from thence.errors import GraphError

__all__ = ["LOADER", "from_networkx", "is_networkx", "read"]


def is_networkx(source: object) -> bool:
    """Whether ``source`` is a networkx graph of any type."""
    return any(cls.__module__.split(".")[0] == "networkx" and cls.__name__ == "Graph" for cls in type(source).__mro__)


def read(paths: Sequence[Path], options: LoadOptions) -> KnowledgeGraph:
    """Refuse files: the format is for objects."""
    raise GraphError("the format 'networkx' is for networkx graphs, not for files", where=", ".join(map(str, paths)))


def from_networkx(source: Any, options: LoadOptions) -> KnowledgeGraph:
    """Convert a networkx graph; ids become strings and ``options.labels`` is the attribute with the labels."""
    draft = Draft("networkx graph")
    add_graph_attributes(draft, source.graph)
    names: dict[str, Any] = {}
    for name, attributes in source.nodes(data=True):
        node_id = str(name)
        if node_id in names:
            raise GraphError(
                f"nodes {names[node_id]!r} and {name!r} both become '{node_id}'",
                where=draft.where,
                hint="relabel one of them (networkx.relabel_nodes)",
            )
        names[node_id] = name
        place = f"node {name!r}"
        found, properties = split_labels(attributes, besides=set(), key=options.labels, place=place)
        draft.add_node(node_id, labels=found, properties=properties, place=place)
    keyed = source.edges(keys=True, data=True) if source.is_multigraph() else source.edges(data=True)
    for start, end, *key, attributes in keyed:
        place = f"edge {start!r} – {end!r}"
        found, properties = split_labels(attributes, besides=set(), key=options.labels, place=place)
        name = key[0] if key and isinstance(key[0], str) else None
        draft.add_edge(name, str(start), str(end), labels=found, properties=properties, place=place)
    return draft.graph()


LOADER = Loader(read, accepts=is_networkx, convert=from_networkx)
