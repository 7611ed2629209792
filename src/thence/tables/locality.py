"""Features that are near each other in a graph, for miners that combine only neighbours.

This module looks up distances; the miners decide what to do with them.
"""

from __future__ import annotations

from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.errors import ConfigError
from thence.language.items import Aspect, Feature, Role
from thence.tables.blocks import Block
from thence.tables.transactions import TransactionTable

__all__ = ["within_hops"]


def within_hops(table: TransactionTable, graph: KnowledgeGraph, *, hops: int = 2) -> list[list[list[int]]]:
    """Find, for each column of a table, the columns whose nodes are near in the graph.

    Pass the result to a miner as ``near``: rules then combine only features that are close in the graph.

    Args:
        table: The table.
        graph: The knowledge graph.
        hops: Maximum number of edges between the nodes.

    Returns:
        For each block and column the positions of the near columns. A column without a node is near all others.

    Raises:
        ConfigError: If ``hops`` is not an integer of at least 0.

    Examples:
        >>> import thence as th
        >>> data = th.datasets.load("toy")
        >>> table = th.transactions(data.sensors, data.graph, data.binding)
        >>> near = th.within_hops(table, data.graph, hops=1)
        >>> len(near) == len(table.blocks), len(near[0]) == table.n_features
        (True, True)
    """
    if not isinstance(hops, int) or hops < 0:
        raise ConfigError(f"hops must be an integer of at least 0, got {hops!r}")
    return [_near(block, graph, hops) for block in table.blocks]


def _near(block: Block, graph: KnowledgeGraph, hops: int) -> list[list[int]]:
    places = [_places(column.feature, graph) for column in block.columns]
    everywhere = [c for c, own in enumerate(places) if not own]
    at: dict[str, list[int]] = {}
    for c, own in enumerate(places):
        for place in own:
            at.setdefault(place, []).append(c)
    reach = {place: graph.neighbours(place, hops=hops) if hops else {} for place in at}
    out = []
    for c, own in enumerate(places):
        if not own:
            out.append([other for other in range(len(places)) if other != c])
            continue
        found = [other for place in own for node in (place, *reach[place]) for other in at.get(node, ())]
        out.append(sorted(set(found + everywhere) - {c}))
    return out


def _places(feature: Feature, graph: KnowledgeGraph) -> tuple[str, ...]:
    """The node of a feature; an edge is at both its ends."""
    edge = graph.edges.get(feature.subject) if feature.role is Role.EDGE else None
    if edge is not None:
        return edge.source, edge.target
    node = feature.place if feature.aspect is Aspect.MEASUREMENT else feature.subject
    return (node,) if node in graph else ()
