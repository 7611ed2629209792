"""Hidden places: which places a split hides, and which of the hidden ones are wholly unseen.

A hidden place is *wholly unseen* if every place within ``hops`` edges of it is hidden too, as far as a rule reaches
from its first node; otherwise it is *partly unseen*: a rule about it may read the sensors of a seen neighbour. This
module looks at the graph only, never at readings.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.errors import ConfigError

__all__ = ["GROUPS", "PARTLY", "SEEN", "WHOLLY", "classify_places", "hide_places"]

GROUPS = ("seen", "partly_unseen", "wholly_unseen")
"""Names of the three groups of places; a group is the index of its name."""
SEEN, PARTLY, WHOLLY = range(3)


def hide_places(
    places: Sequence[str], graph: KnowledgeGraph, *, share: float, split: str, seed: int, hops: int
) -> set[str]:
    """Choose the places to hide.

    A region consists of the places nearest to a random one. Starts are tried in random order; the first region with a
    wholly unseen place is taken, or the first region of all if none has one.

    Args:
        places: Ids of the nodes that carry sensors.
        graph: The graph.
        share: Share of the places to hide.
        split: ``"region"`` or ``"random"``.
        seed: Random seed.
        hops: How far rules reach, in edges.

    Raises:
        ConfigError: If the split is unknown.
    """
    rng = np.random.default_rng(seed)
    count = max(1, min(round(share * len(places)), len(places) - 1))
    if split == "random":
        return {places[i] for i in rng.choice(len(places), count, replace=False)}
    if split != "region":
        raise ConfigError(f"unknown split '{split}'", hint="use 'random' or 'region'")
    first: set[str] = set()
    for start in rng.permutation(len(places)).tolist():
        region = _grow_region(places, graph, places[start], count)
        if (classify_places(places, region, graph, hops) == WHOLLY).any():
            return region
        first = first or region
    return first


def _grow_region(places: Sequence[str], graph: KnowledgeGraph, start: str, count: int) -> set[str]:
    """Return the ``count`` places nearest to ``start``; places that it does not reach come last."""
    distance = {start: 0, **graph.neighbours(start, hops=len(graph.nodes))}
    return set(sorted(places, key=lambda place: (distance.get(place, len(graph.nodes)), place))[:count])


def classify_places(places: Sequence[str], hidden: set[str], graph: KnowledgeGraph, hops: int) -> npt.NDArray[np.int64]:
    """Return the group of each place: ``SEEN``, ``PARTLY`` or ``WHOLLY``.

    Args:
        places: Ids of the nodes that carry sensors.
        hidden: Ids of the hidden ones.
        graph: The graph.
        hops: How far rules reach, in edges.

    Examples:
        >>> from thence.data.graph.knowledge_graph import Edge, KnowledgeGraph, Node
        >>> edges = [Edge(a + b, a, b, frozenset(["to"])) for a, b in ("ab", "bc", "cd")]
        >>> row = KnowledgeGraph([Node(name) for name in "abcd"], edges)
        >>> [GROUPS[group] for group in classify_places("abcd", {"c", "d"}, row, 1)]
        ['seen', 'seen', 'partly_unseen', 'wholly_unseen']
    """
    visible = set(places) - hidden
    groups = []
    for place in places:
        if place not in hidden:
            groups.append(SEEN)
        else:
            groups.append(WHOLLY if visible.isdisjoint(graph.neighbours(place, hops=hops)) else PARTLY)
    return np.array(groups, np.int64)
