"""Which sensors take part in a repeat: a random walk over the graph, as in the paper.

A random node with a sensor is picked, then its first neighbours, second neighbours and so on, until there are enough
sensors. What the paper leaves open is settled here: within a ring the order is random, so the last ring is cut at
random; and where the graph ends before there are enough sensors the walk goes on from another random node.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from thence.graph.knowledge_graph import KnowledgeGraph

__all__ = ["walk"]


def walk(
    graph: KnowledgeGraph,
    binding: Mapping[str, str],
    sensors: Sequence[str],
    *,
    count: int,
    rng: np.random.Generator,
) -> tuple[str, ...]:
    """So many of the sensors, near each other; all of them, in their own order, where there are no more.

    >>> import thence as th
    >>> data = th.datasets.load("toy")
    >>> chosen = walk(data.graph, data.binding, data.sensors.ids, count=3, rng=np.random.default_rng(0))
    >>> len(chosen), set(chosen) <= set(data.sensors.ids)
    (3, True)
    """
    if count >= len(sensors):
        return tuple(sensors)
    at: dict[str, list[str]] = {}
    for sensor in sensors:
        at.setdefault(binding[sensor], []).append(sensor)
    chosen: list[str] = []
    left = dict.fromkeys(sensors)
    while len(chosen) < count:
        waiting = list(left)
        start = binding[waiting[int(rng.integers(len(waiting)))]]
        distance = {start: 0, **graph.neighbours(start, hops=len(graph.nodes))}
        rings: dict[int, list[str]] = {}
        for node, steps in distance.items():
            rings.setdefault(steps, []).extend(s for s in at.get(node, ()) if s in left)
        for steps in sorted(rings):
            # Sorted first: the order in which a graph lists its neighbours is not part of the experiment.
            ring = sorted(rings[steps])
            for position in rng.permutation(len(ring)).tolist():
                if len(chosen) < count:
                    chosen.append(ring[position])
                    del left[ring[position]]
    kept = set(chosen)
    return tuple(sensor for sensor in sensors if sensor in kept)
