"""The choice of sensors for a repeat: a random walk over the graph, as in the paper.

The walk starts at the node of a random sensor and takes the sensors of this node, of its first neighbours, of its
second neighbours and so on, until there are enough. The paper leaves two points open: here the sensors at the same
distance are taken in random order, and if the component of the graph has too few sensors, the walk continues from
another random sensor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from thence.data.graph.knowledge_graph import KnowledgeGraph

__all__ = ["choose_sensors"]


def choose_sensors(
    graph: KnowledgeGraph,
    binding: Mapping[str, str],
    sensors: Sequence[str],
    *,
    count: int,
    rng: np.random.Generator,
) -> tuple[str, ...]:
    """Choose sensors that are near each other.

    Args:
        graph: The graph.
        binding: The node of each sensor.
        sensors: Ids of the sensors to choose from.
        count: Number of sensors to choose; if there are fewer, all are chosen.
        rng: Random generator.

    Returns:
        The chosen sensors, in the order of ``sensors``.

    Examples:
        >>> import thence as th
        >>> data = th.datasets.load("toy")
        >>> chosen = choose_sensors(data.graph, data.binding, data.sensors.ids, count=3, rng=np.random.default_rng(0))
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
            # Sort first, so that the result does not depend on the order in which the graph lists neighbours.
            ring = sorted(rings[steps])
            for position in rng.permutation(len(ring)).tolist():
                if len(chosen) < count:
                    chosen.append(ring[position])
                    del left[ring[position]]
    found = set(chosen)
    return tuple(sensor for sensor in sensors if sensor in found)
