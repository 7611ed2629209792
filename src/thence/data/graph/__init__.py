"""The knowledge graph around the sensors: nodes and edges, ontology, binding of sensors to nodes, and patterns.

Examples:
    >>> import thence as th
    >>> toy = th.datasets.load("toy")
    >>> th.graph.bind(toy.sensors, toy.graph) == toy.binding
    True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from thence._base.lazy import lazy_names

if TYPE_CHECKING:
    from thence.data.graph.binding import Binding as Binding
    from thence.data.graph.binding import bind as bind
    from thence.data.graph.knowledge_graph import KnowledgeGraph as KnowledgeGraph
    from thence.data.graph.ontology import Ontology as Ontology

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "data.graph.binding": ("Binding", "bind"),
        "data.graph.knowledge_graph": ("KnowledgeGraph",),
        "data.graph.ontology": ("Ontology",),
    },
)
