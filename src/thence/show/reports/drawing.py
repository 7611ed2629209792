"""The graph of a system as a drawing: which nodes are drawn, where, and in which group.

Nodes are placed by their coordinates if they have any, otherwise by ``reports.layout``. A graph that is too large
for a page is reduced: nodes without sensors become lines between their neighbours, or are left out, and the drawing
says which. Must not look at readings or rules.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.ontology import Ontology
from thence.data.graph.records import Node
from thence.data.graph.system import System
from thence.data.readings.sensors import site_of_id
from thence.show.reports.layout import arrange, find_parts, fit_unit_square, pack, place_between
from thence.show.reports.schema import Count, Drawing, DrawnEdge, DrawnNode

MOST = 1_500
"""Nodes that a report draws."""
MOST_GROUPS = 8
"""Colours that people can distinguish."""
OTHER = "other"
_COORDINATES = (("x", "y"), ("longitude", "latitude"), ("lon", "lat"), ("long", "lat"), ("lng", "lat"))
_ENOUGH = 0.05
"""The share of nodes with coordinates from which on these decide where nodes are drawn."""
_PLUMBING = re.compile(r"ConnectionPoint$|^Connection$|Reference$|^Connectable$|^Concept$")
"""Classes of nodes that connect or refer and are nothing that one can walk to."""
_EARTH = {name for pair in _COORDINATES[1:] for name in pair}


def draw(system: System, *, most: int | None = MOST, groups: int = MOST_GROUPS) -> Drawing | None:
    """Return the drawing of the graph of a system; ``None`` if it has no graph or no nodes.

    Args:
        system: The system.
        most: The largest number of nodes; ``None`` draws all.
        groups: The largest number of groups.

    Examples:
        >>> import thence as th
        >>> drawing = draw(th.datasets.load("toy"))
        >>> len(drawing["nodes"]), len(drawing["edges"]), drawing["groups"]
        (5, 4, [{'name': 'Junction', 'count': 3}, {'name': 'Pipe', 'count': 2}])
    """
    graph = system.graph
    if graph is None or not graph.nodes:
        return None
    sensors: dict[str, list[str]] = {}
    for sensor, node in (system.binding or {}).items():
        if node in graph.nodes:
            sensors.setdefault(node, []).append(sensor)
    kinds = {sensor.id: sensor.kind for sensor in system.sensors.sensors}
    part = _reduce(_whole(graph), graph, sensors, most)
    points, by_coordinates = _place(part, graph, several=len(system.sites) > 1)
    points, aspect = fit_unit_square(points)
    group = group_nodes([graph.nodes[one] for one in part.nodes], system.ontology, most=groups)
    nodes = [
        DrawnNode(
            id=one,
            x=round(float(x), 4),
            y=round(float(y), 4),
            name=one,
            group=group[at],
            classes=sorted(graph.nodes[one].labels),
            sensors=sorted(sensors.get(one, ())),
            kinds=sorted({kinds[sensor] for sensor in sensors.get(one, ()) if kinds.get(sensor)}),
        )
        for at, (one, (x, y)) in enumerate(zip(part.nodes, points.tolist(), strict=True))
    ]
    number = {one: at for at, one in enumerate(part.nodes)}
    counted = sorted(Counter(group).items(), key=lambda pair: (pair[0] == OTHER, -pair[1], pair[0]))
    return Drawing(
        nodes=nodes,
        edges=[
            DrawnEdge(source=number[source], target=number[target], relation=relation)
            for source, target, relation in part.edges
        ],
        groups=[Count(name=name, count=count) for name, count in counted],
        aspect=round(aspect, 4),
        placed_by="coordinates" if by_coordinates else "layout",
        left_out=len(graph.nodes) - len(part.nodes),
        why=" ".join(part.why),
    )


@dataclass(frozen=True)
class _DrawnPart:
    """The nodes and edges that are drawn, and what was done to the others."""

    nodes: tuple[str, ...]
    edges: tuple[tuple[str, str, str], ...]
    why: tuple[str, ...] = field(default=())


def _whole(graph: KnowledgeGraph) -> _DrawnPart:
    edges = {
        (edge.source, edge.target, ", ".join(sorted(edge.labels))): None
        for edge in graph.edges.values()
        if edge.source != edge.target
    }
    return _DrawnPart(tuple(graph.nodes), tuple(edges))


# Which nodes are drawn


def _reduce(
    part: _DrawnPart, graph: KnowledgeGraph, sensors: Mapping[str, Sequence[str]], most: int | None
) -> _DrawnPart:
    """The part of a graph that fits on a page; nodes with sensors and with coordinates stay as long as possible."""
    if most is None:
        return part
    kept = {one for one in part.nodes if one in sensors}
    part = _connected(part, kept)
    plumbing = {one for one in part.nodes if one not in kept and _is_plumbing(graph.nodes[one])}
    part = _as_lines(part, set(part.nodes) - plumbing, "connection points and references of the model")
    if len(part.nodes) <= most:
        return part
    placed = {one for one in part.nodes if one in kept or _coordinates(graph.nodes[one]) is not None}
    part = _as_lines(part, placed, "nodes without a sensor and with at most two neighbours")
    if len(part.nodes) > most:
        part = _without_ends(part, kept, most)
    return part if len(part.nodes) <= most else _nearest(part, kept, most)


def _connected(part: _DrawnPart, kept: set[str]) -> _DrawnPart:
    """Leave out what no path connects with a sensor, if there are sensors."""
    number = {one: at for at, one in enumerate(part.nodes)}
    pairs = np.array([(number[source], number[target]) for source, target, _ in part.edges], np.int64).reshape(-1, 2)
    bound = np.array([one in kept for one in part.nodes], bool)
    lost = {part.nodes[at] for members in find_parts(len(number), pairs) if not bound[members].any() for at in members}
    if not kept or not lost:
        return part
    nodes = tuple(one for one in part.nodes if one not in lost)
    edges = tuple(edge for edge in part.edges if edge[0] not in lost)
    many = f"{len(lost):,} nodes that no path connects" if len(lost) > 1 else "1 node that no path connects"
    return _DrawnPart(nodes, edges, (*part.why, f"{many} with a sensor {'are' if len(lost) > 1 else 'is'} left out."))


def _is_plumbing(node: Node) -> bool:
    """Whether a node is there for the model alone, such as the connection points of ASHRAE 223P."""
    return bool(node.labels) and all(_PLUMBING.search(label) for label in node.labels)


def _as_lines(part: _DrawnPart, kept: set[str], what: str) -> _DrawnPart:
    """Draw nodes with two neighbours as lines between them; a chain that ends where it began is left out."""
    around: dict[str, dict[str, str]] = {one: {} for one in part.nodes}
    for source, target, relation in part.edges:
        around[source].setdefault(target, relation)
        around[target].setdefault(source, relation)
    gone = []
    for one in part.nodes:
        if one in kept or len(around[one]) > 2:
            continue
        if len(around[one]) == 2:
            (a, relation), (b, _) = around[one].items()
            around[a].setdefault(b, relation)
            around[b].setdefault(a, relation)
        elif not around[one]:
            continue
        for other in around.pop(one):
            del around[other][one]
        gone.append(one)
    if not gone:
        return part
    nodes = tuple(one for one in part.nodes if one in around)
    number = {one: at for at, one in enumerate(nodes)}
    edges = tuple(
        (one, other, relation)
        for one in nodes
        for other, relation in around[one].items()
        if number[one] < number[other]
    )
    why = f"{len(gone):,} {what} are drawn as lines or left out."
    return _DrawnPart(nodes, edges, (*part.why, why))


def _without_ends(part: _DrawnPart, kept: set[str], most: int) -> _DrawnPart:
    """Leave out ends without a sensor, again and again."""
    nodes, edges = list(part.nodes), list(part.edges)
    before = len(nodes)
    while len(nodes) > most:
        degree = Counter(end for source, target, _ in edges for end in (source, target))
        ends = {one for one in nodes if one not in kept and degree[one] <= 1}
        if not ends:
            break
        nodes = [one for one in nodes if one not in ends]
        edges = [edge for edge in edges if edge[0] not in ends and edge[1] not in ends]
    if len(nodes) == before:
        return part
    why = f"{before - len(nodes):,} nodes without a sensor at the ends of the graph are left out."
    return _DrawnPart(tuple(nodes), tuple(edges), (*part.why, why))


def _nearest(part: _DrawnPart, kept: set[str], most: int) -> _DrawnPart:
    """Keep the nodes with sensors and those nearest to them, in the order of the graph."""
    around: dict[str, list[str]] = {one: [] for one in part.nodes}
    for source, target, _ in part.edges:
        around[source].append(target)
        around[target].append(source)
    found = [one for one in part.nodes if one in kept] or list(part.nodes[:1])
    seen = set(found)
    for one in found:
        if len(found) >= most:
            break
        for other in around[one]:
            if other not in seen:
                seen.add(other)
                found.append(other)
    chosen = set(found[:most])
    nodes = tuple(one for one in part.nodes if one in chosen)
    edges = tuple(edge for edge in part.edges if edge[0] in chosen and edge[1] in chosen)
    lost = len(part.nodes) - len(nodes)
    why = f"{lost:,} nodes that are farthest from the sensors are left out."
    if len(kept) > most:
        why = f"{lost:,} nodes are left out, {len(kept & set(part.nodes)) - len(kept & chosen):,} of them with sensors."
    return _DrawnPart(nodes, edges, (*part.why, why))


# Where they are drawn


def _place(part: _DrawnPart, graph: KnowledgeGraph, *, several: bool) -> tuple[npt.NDArray[np.float64], bool]:
    """Positions of the nodes, downwards, and whether these are coordinates; sites are put side by side."""
    if not several:
        return _place_one(part.nodes, part.edges, graph)
    sites: dict[str, list[int]] = {}
    for at, one in enumerate(part.nodes):
        sites.setdefault(site_of_id(one), []).append(at)
    boxes, known = [], []
    for members in sites.values():
        own = {part.nodes[at] for at in members}
        edges = [edge for edge in part.edges if edge[0] in own]
        points, by_coordinates = _place_one([part.nodes[at] for at in members], edges, graph)
        boxes.append(fit_unit_square(points)[0] * 100)
        known.append(by_coordinates)
    out = np.zeros((len(part.nodes), 2))
    for members, box in zip(sites.values(), pack(boxes, gap=12.0), strict=True):
        out[members] = box
    return out, all(known)


def _place_one(
    nodes: Sequence[str], edges: Iterable[tuple[str, str, str]], graph: KnowledgeGraph
) -> tuple[npt.NDArray[np.float64], bool]:
    number = {one: at for at, one in enumerate(nodes)}
    pairs = np.array([(number[source], number[target]) for source, target, _ in edges], np.int64).reshape(-1, 2)
    known = [_coordinates(graph.nodes[one]) for one in nodes]
    points = np.array([(math.nan, math.nan) if one is None else one for one in known])
    given = ~np.isnan(points).any(axis=1)
    distinct = len(np.unique(points[given], axis=0)) if given.any() else 0
    if distinct < 2 or given.mean() < _ENOUGH:
        return arrange(len(nodes), pairs), False
    if any(name in graph.nodes[one].properties for one in nodes[:50] for name in _EARTH):
        points[:, 0] *= math.cos(math.radians(float(np.nanmean(points[:, 1]))))
    points[:, 1] *= -1  # north is up
    points = place_between(points, pairs)
    lost = np.asarray(np.isnan(points).any(axis=1))
    if lost.any():
        points[lost] = _beside(points[~lost], arrange(int(lost.sum()), _inside(pairs, lost)))
    return points, True


def _inside(pairs: npt.NDArray[np.int64], chosen: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    renumber = np.cumsum(chosen) - 1
    return np.asarray(renumber[pairs[chosen[pairs].all(axis=1)]])


def _beside(known: npt.NDArray[np.float64], others: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Nodes that nothing says where to draw, as a strip below the others."""
    low, size = known.min(axis=0), np.ptp(known, axis=0)
    extent = np.maximum(np.ptp(others, axis=0), 1e-9)
    scale = min(float(size[0] or size.max()) / float(extent[0]), 0.25 * float(size.max()) / float(extent[1]))
    corner = np.array([low[0], low[1] + size[1] + 0.08 * float(size.max())])
    return np.asarray((others - others.min(axis=0)) * scale + corner)


def _coordinates(node: Node) -> tuple[float, float] | None:
    for across, up in _COORDINATES:
        pair = node.properties.get(across), node.properties.get(up)
        if all(isinstance(one, (int, float)) and not isinstance(one, bool) and math.isfinite(one) for one in pair):
            return float(pair[0]), float(pair[1])  # type: ignore[arg-type]
    return None


# How they are coloured


def group_nodes(nodes: Sequence[Node], ontology: Ontology | None = None, *, most: int = MOST_GROUPS) -> list[str]:
    """Return a class for each node, of few classes in all.

    A node is in its most special class. While there are too many classes, the smallest is joined with its nearest
    relatives under a class above them; those that have none become "other".

    Args:
        nodes: The nodes.
        ontology: Which class is above which.
        most: The largest number of classes.

    Examples:
        >>> group_nodes([Node("a", frozenset({"Pipe"})), Node("b", frozenset())])
        ['Pipe', 'other']
    """
    known = frozenset() if ontology is None else frozenset(ontology.classes)

    def above(name: str) -> frozenset[str]:
        return ontology.ancestors(name) if ontology is not None and name in known else frozenset()

    often = Counter(label for node in nodes for label in node.labels)
    out = [
        min(node.labels, key=lambda label: (-len(above(label)), -often[label], label)) if node.labels else OTHER
        for node in nodes
    ]
    counts = Counter(out)
    new_name = {name: name for name in counts}
    while len(counts) > most:
        joined = _join_smallest(counts, above)
        if joined is None:
            break
        members, name = joined
        for old, current in new_name.items():
            if current in members:
                new_name[old] = name
        counts = Counter(new_name[one] for one in out)
    if len(counts) > most:
        kept = {name for name, _ in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[: most - 1]}
        new_name = {old: name if name in kept else OTHER for old, name in new_name.items()}
    return [new_name[one] for one in out]


def _join_smallest(counts: Counter[str], above: Callable[[str], frozenset[str]]) -> tuple[set[str], str] | None:
    """The classes to join with the smallest that has relatives, and the class above them."""
    reach = {name: above(name) | {name} for name in counts}
    for name, _ in sorted(counts.items(), key=lambda pair: (pair[1], pair[0])):
        shared = []
        for upper in reach[name] - {name}:
            members = {other for other, uppers in reach.items() if upper in uppers}
            if 1 < len(members) <= max(2, len(counts) // 2):
                shared.append((-len(above(upper)), len(members), upper, members))
        if shared:
            _, _, upper, members = min(shared, key=lambda entry: entry[:3])
            return members, upper
    return None
