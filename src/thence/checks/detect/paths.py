"""Paths and neighbourhoods in the graph: how evidence at one node speaks about another."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from thence.data.graph.knowledge_graph import KnowledgeGraph


def hops_from(graph: KnowledgeGraph, node: str, *, most: int) -> dict[str, int]:
    """Return the nodes within some edges of a node, and how many edges away they are.

    Args:
        graph: The graph.
        node: The node.
        most: Most edges.

    Examples:
        >>> import thence as th
        >>> graph = th.datasets.load("toy").graph
        >>> sorted(hops_from(graph, sorted(graph.nodes)[0], most=1).values())
        [0, 1]
    """
    found = {node: 0}
    queue = deque([node])
    while queue:
        at = queue.popleft()
        if found[at] < most:
            for neighbour in graph.neighbours(at):
                if neighbour not in found:
                    found[neighbour] = found[at] + 1
                    queue.append(neighbour)
    return found


def path_between(graph: KnowledgeGraph | None, start: str, end: str) -> tuple[str, ...]:
    """Return the nodes of a shortest path, ends included; empty if there is none.

    Args:
        graph: The graph, if there is one.
        start: The first node.
        end: The last node.
    """
    if graph is None or start not in graph or end not in graph:
        return ()
    before: dict[str, str] = {start: ""}
    queue = deque([start])
    while queue and end not in before:
        at = queue.popleft()
        for neighbour in graph.neighbours(at):
            if neighbour not in before:
                before[neighbour] = at
                queue.append(neighbour)
    if end not in before:
        return ()
    path = [end]
    while path[-1] != start:
        path.append(before[path[-1]])
    return tuple(reversed(path))


def spread(evidence: Mapping[str, float], graph: KnowledgeGraph, *, hops: int, fade: float = 0.5) -> dict[str, float]:
    """Return the evidence at each node and around it, the largest first.

    Args:
        evidence: What speaks for each node by itself.
        graph: The graph.
        hops: How many edges evidence reaches.
        fade: What is left of it after each edge.
    """
    out: dict[str, float] = {}
    for node, amount in evidence.items():
        reached = hops_from(graph, node, most=hops) if node in graph else {node: 0}
        for other, distance in reached.items():
            out[other] = out.get(other, 0.0) + amount * fade**distance
    return dict(sorted(out.items(), key=lambda one: (-one[1], one[0])))
