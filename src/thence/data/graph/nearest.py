"""The nearest nodes along edges: for each focus, the few of some nodes that the fewest edges lead to.

All foci are served by one search that starts at the wanted nodes and passes each of them on from node to node. A node
keeps the few that reach it first, so the work grows with the edges and not with the distances. Of nodes at the same
distance the first by id counts as nearer: nothing depends on the order of a file. This module must not know about
sensors or readings.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from thence.data.graph.matching import GraphIndex, Ints

__all__ = ["Nearest", "find_nearest"]

_OPPOSITE = {"out": "in", "in": "out", "any": "any"}


@dataclass(frozen=True)
class Nearest:
    """The nearest nodes of several foci, by focus and then by distance.

    Args:
        origin: The position of the focus of each, in the order of the foci.
        nodes: The number of each node.
        distances: The number of edges from the focus to each.
    """

    origin: Ints
    nodes: Ints
    distances: Ints


def find_nearest(
    index: GraphIndex,
    focus: Ints,
    wanted: npt.NDArray[np.bool_],
    *,
    count: int,
    label: str = "",
    direction: str = "any",
) -> Nearest:
    """Find the nearest nodes of each focus, without the focus itself.

    Args:
        index: The graph.
        focus: The numbers of the focus nodes.
        wanted: Which nodes to find.
        count: How many nodes to find for each focus; fewer if no others can be reached.
        label: The relation to follow; an empty string follows every edge.
        direction: ``"out"`` follows edges forward, ``"in"`` backward, ``"any"`` both ways.

    Raises:
        PatternError: If neither the graph nor the ontology has the relation.

    Examples:
        >>> from thence.data.graph.knowledge_graph import Edge, KnowledgeGraph, Node
        >>> edges = [Edge(f"{a}{b}", a, b, frozenset(["to"])) for a, b in ("ab", "bc", "cd")]
        >>> index = GraphIndex(KnowledgeGraph([Node(name) for name in "abcd"], edges))
        >>> found = find_nearest(index, np.array([0]), np.array([True, False, True, True]), count=1)
        >>> [index.ids[node] for node in found.nodes], found.distances.tolist()
        (['c'], [2])
    """
    near, far = _reached_first(index, np.flatnonzero(wanted), count + 1, label, _OPPOSITE[direction])
    origin: list[int] = []
    nodes: list[int] = []
    distances: list[int] = []
    for at, node in enumerate(focus.tolist()):
        others = [pair for pair in zip(near[node], far[node], strict=True) if pair[0] != node][:count]
        origin += [at] * len(others)
        nodes += [other for other, _ in others]
        distances += [distance for _, distance in others]
    return Nearest(np.array(origin, np.int64), np.array(nodes, np.int64), np.array(distances, np.int64))


def _reached_first(
    index: GraphIndex, sources: Ints, most: int, label: str, direction: str
) -> tuple[list[list[int]], list[list[int]]]:
    """For each node, the first ``most`` sources that reach it, and the distance of each.

    Sources are passed on in order of distance and, within a distance, of their ids. A source that is not among the
    first at a node cannot be among the first at a node behind it, so it is not passed on.
    """
    adjacency = index.adjacency(label, direction)
    starts, targets = adjacency.starts.tolist(), adjacency.targets.tolist()
    near: list[list[int]] = [[] for _ in index.ids]
    far: list[list[int]] = [[] for _ in index.ids]
    ring = [(source, source) for source in sorted(sources.tolist(), key=index.ids.__getitem__)]
    for node, source in ring:
        near[node].append(source)
        far[node].append(0)
    distance = 0
    while ring:
        distance += 1
        following: list[tuple[int, int]] = []
        for node, source in ring:
            for other in targets[starts[node] : starts[node + 1]]:
                known = near[other]
                if len(known) < most and source not in known:
                    known.append(source)
                    far[other].append(distance)
                    following.append((other, source))
        ring = following
    return near, far
