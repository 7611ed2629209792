"""One habit for all models: what models say in different ways is said in one way, before patterns are looked for.

Brick models attach points by ``hasPoint``, ``isPointOf``, ``hasPart`` or a location, store ``feeds`` forwards, back-
wards or both ways, and keep parts of equipment in either direction; Haystack has a reference per relation; 223P puts
connection points and ducts between equipment. ``in_one_habit`` folds inverse relations onto one direction, attaches
every point by one ``hasPoint`` to one holder, and folds connections to ``feeds``. Files are read as they are written
(``thence.data.loaders``); this is done for mining. Relations that no habit is known of stay as they are.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.ontology import brick_classes
from thence.data.graph.point_names import is_point, is_weather
from thence.data.graph.records import Edge, Node
from thence.data.graph.s223 import is_s223, without_connections

if TYPE_CHECKING:
    from thence.data.graph.binding import Binding

INVERSES: Mapping[str, str] = MappingProxyType(
    {
        "isPointOf": "hasPoint", "isPartOf": "hasPart", "isMemberOf": "hasPart", "isFedBy": "feeds",
        "isLocationOf": "hasLocation", "isControlledBy": "controls", "isMeteredBy": "meters",
        "isRegulatedBy": "regulates", "isServedBy": "feeds",
    }
)  # fmt: skip
"""Relations and what they are in the other direction."""
SAME: Mapping[str, str] = MappingProxyType(
    {"hasMember": "hasPart", "locatedIn": "hasLocation", "hasPhysicalLocation": "hasLocation"}
)
"""Relations that have another name here."""
_SUPPLIES = frozenset({
    "airRef", "ahuRef", "vavRef", "hotWaterRef", "chilledWaterRef", "condenserWaterRef", "domesticWaterRef", "steamRef",
    "elecRef", "naturalGasRef", "gasRef", "waterRef", "refrigRef", "blowdownWaterRef", "makeupWaterRef", "fuelOilRef",
    "hotWaterPlantRef", "chilledWaterPlantRef", "boilerPlantRef", "chillerPlantRef", "plantRef",
})  # fmt: skip
"""References of Haystack from equipment to what supplies it."""
_MOST_NAMED = 6
_SITES = frozenset({"Site", "Building"})
_EQUIPMENT, _LOCATION = "Equipment", "Location"


def in_one_habit(graph: KnowledgeGraph) -> KnowledgeGraph:
    """Return a graph in which each relation has one direction and each point one holder; the graph if it is one.

    Args:
        graph: The graph as it was read.

    Examples:
        >>> from thence.data.graph.records import Node
        >>> nodes = [Node("loop", frozenset({"Loop"})), Node("t", frozenset({"Temperature_Sensor"}))]
        >>> inverse = KnowledgeGraph(nodes, [Edge("e", "t", "loop", frozenset({"isPartOf"}))])
        >>> list(in_one_habit(inverse).edges)
        ['loop hasPoint t']
    """
    if is_s223(graph):
        graph = without_connections(graph)
    return _at_one_site(_with_attached_points(_with_one_direction(_with_plain_references(graph))))


def describe_binding(binding: Binding, graph: KnowledgeGraph) -> tuple[str, ...]:
    """Return by what sensors were bound if it was not by ids, and the points of the graph without readings, as notes.

    Args:
        binding: The binding.
        graph: The graph, in one habit.
    """
    notes = []
    if binding.ways:
        ways = Counter(binding.ways.get(sensor) or "id" for sensor in binding)
        listed = ", ".join(f"{count:,} by {way}" for way, count in ways.most_common())
        notes.append(f"{len(binding):,} sensor{'s' * (len(binding) > 1)} bound to nodes of the graph: {listed}")
    bound = set(binding.values())
    silent = [node.id for node in graph.nodes.values() if node.id not in bound and _is_unread(node, graph, bound)]
    if silent and bound:
        names = ", ".join([f"'{id}'" for id in silent[:_MOST_NAMED]] + ["…"] * (len(silent) > _MOST_NAMED))
        notes.append(f"{len(silent):,} point{'s' * (len(silent) > 1)} of the graph without readings: {names}")
    return tuple(notes)


def _is_unread(node: Node, graph: KnowledgeGraph, bound: set[str]) -> bool:
    """Whether a node is a point of a thing, and no sensor of which the readings belong to another node."""
    if not is_point(node.labels) or not graph.in_edges(node.id, "hasPoint"):
        return False
    return bound.isdisjoint(edge.target for edge in graph.out_edges(node.id))


def canonical(relation: str, direction: str) -> tuple[str, str]:
    """Return the name and the direction that a relation has in one habit.

    >>> canonical("isFedBy", "out"), canonical("feeds", "out")
    (('feeds', 'in'), ('feeds', 'out'))
    """
    if relation in INVERSES:
        return INVERSES[relation], {"out": "in", "in": "out"}.get(direction, direction)
    return SAME.get(relation, relation), direction


def _with_plain_references(graph: KnowledgeGraph) -> KnowledgeGraph:
    """The graph with the references of Haystack as relations of Brick."""
    if not {"equipRef", "siteRef", "spaceRef"} & set(graph.edge_labels):
        return graph
    said: dict[tuple[str, str, str], Edge] = {}
    kept: list[Edge] = []
    for edge in graph.edges.values():
        made = [one for label in sorted(edge.labels) if (one := _reference(graph, edge, label)) is not None]
        said |= dict.fromkeys(made, edge)
        if not made and "siteRef" not in edge.labels:
            kept.append(edge)
    taken = {*graph.nodes, *(edge.id for edge in kept)}
    return _with_edges(graph, [*kept, *(_made(*ends, taken, edge.properties) for ends, edge in said.items())])


def _reference(graph: KnowledgeGraph, edge: Edge, label: str) -> tuple[str, str, str] | None:
    """What a reference says as a relation; ``None`` if it says nothing more than others."""
    source, target = edge.source, edge.target
    if is_point(graph.node(source).labels):
        own = {name for one in graph.out_edges(source) for name in one.labels}
        nearest_first = ("equipRef", "spaceRef", "siteRef")
        holder = next((name for name in nearest_first if name in own), "")
        if label == holder:
            return target, "hasPoint", source
        return (source, "hasLocation", target) if label == "spaceRef" else None
    if label == "equipRef":
        return target, "hasPart", source
    if label == "spaceRef":
        if _LOCATION in _classes(graph, source):
            return target, "hasPart", source
        terminal = "Terminal_Unit" in _classes(graph, source)
        return (source, "feeds", target) if terminal else (source, "hasLocation", target)
    if label == "siteRef":
        return (source, "hasLocation", target) if _EQUIPMENT in _classes(graph, source) else (target, "hasPart", source)
    return (target, "feeds", source) if label in _SUPPLIES else None


def _with_one_direction(graph: KnowledgeGraph) -> KnowledgeGraph:
    named = set(graph.edge_labels)
    if named.isdisjoint(INVERSES) and named.isdisjoint(SAME):
        return graph
    edges: list[Edge] = []
    seen: set[tuple[str, str, str]] = set()
    later: list[tuple[Edge, str]] = []
    for edge in graph.edges.values():
        kept = frozenset(label for label in edge.labels if label not in INVERSES and label not in SAME)
        if kept or not edge.labels:
            edges.append(edge if kept == edge.labels else replace(edge, labels=kept))
            seen |= {(edge.source, label, edge.target) for label in kept}
        later += [(edge, label) for label in sorted(edge.labels - kept)]
    taken = {*graph.nodes, *(edge.id for edge in edges)}
    for edge, label in later:
        name = INVERSES.get(label) or SAME[label]
        ends = (edge.target, edge.source) if label in INVERSES else (edge.source, edge.target)
        if (ends[0], name, ends[1]) not in seen:
            seen.add((ends[0], name, ends[1]))
            edges.append(_made(ends[0], name, ends[1], taken, edge.properties))
    return _with_edges(graph, edges)


def _made(source: str, relation: str, target: str, taken: set[str], properties: Mapping[str, object]) -> Edge:
    name = f"{source} {relation} {target}"
    while name in taken:
        name += "'"
    taken.add(name)
    return Edge(name, source, target, frozenset({relation}), properties)  # type: ignore[arg-type]


def _with_edges(graph: KnowledgeGraph, edges: Iterable[Edge]) -> KnowledgeGraph:
    edges = list(edges)
    known = {*graph.nodes, *(edge.id for edge in edges)}
    dated = [value for value in graph.dated if value.subject in known]
    return KnowledgeGraph(graph.nodes.values(), edges, dated=dated, property_units=graph.property_units)


def _with_attached_points(graph: KnowledgeGraph) -> KnowledgeGraph:
    """The graph in which the holder of a point has it by ``hasPoint``: parts, members and places of points are folded.

    Of several holders of a point the innermost is kept, and equipment before a place; the others stay linked to it as
    its location or a whole that it is part of.
    """
    wholes = _wholes(graph)
    gone: set[str] = set()
    attached: list[tuple[str, str, str]] = []
    for node in graph.nodes.values():
        holders = list(dict.fromkeys(edge.source for edge in graph.in_edges(node.id, "hasPoint")))
        point = is_point(node.labels)
        if len(holders) == 1 or not (holders or point):
            continue
        parts = list(dict.fromkeys(edge.source for edge in graph.in_edges(node.id, "hasPart")))
        places = list(dict.fromkeys(edge.target for edge in graph.out_edges(node.id, "hasLocation")))
        chosen = _one_holder(graph, holders or parts or places, wholes)
        if chosen is None:
            continue
        old = list(graph.in_edges(node.id, ("hasPoint", "hasPart")))
        old += [edge for edge in graph.out_edges(node.id, "hasLocation") if edge.target == chosen]
        # An edge that also has another label says more than where the point is.
        gone |= {edge.id for edge in old if len(edge.labels) == 1}
        attached.append((chosen, "hasPoint", node.id))
        for other in dict.fromkeys([*holders, *parts]):
            if other != chosen and _LOCATION in _classes(graph, other):
                attached.append((node.id, "hasLocation", other))
            elif other != chosen:
                attached.append((other, "hasPart", node.id))
    if not attached:
        return graph
    edges = [edge for edge in graph.edges.values() if edge.id not in gone]
    taken = {*graph.nodes, *(edge.id for edge in edges)}
    present = {(edge.source, label, edge.target) for edge in edges for label in edge.labels}
    edges += [_made(*ends, taken, {}) for ends in dict.fromkeys(attached) if ends not in present]
    return _with_edges(graph, edges)


def _wholes(graph: KnowledgeGraph) -> dict[str, set[str]]:
    """What each node is directly a part of or located in."""
    out: dict[str, set[str]] = defaultdict(set)
    for edge in graph.edges.values():
        if "hasPart" in edge.labels:
            out[edge.target].add(edge.source)
        if "hasLocation" in edge.labels:
            out[edge.source].add(edge.target)
    return out


def _one_holder(graph: KnowledgeGraph, holders: list[str], wholes: Mapping[str, set[str]]) -> str | None:
    """The innermost of several holders; of several, the only equipment, else the only place; otherwise ``None``."""
    above = {whole for holder in holders for whole in _around(holder, wholes)}
    left = [holder for holder in holders if holder not in above] or holders
    for sort in (_EQUIPMENT, _LOCATION):
        if len(left) > 1 and len(of_sort := [holder for holder in left if sort in _classes(graph, holder)]) == 1:
            left = of_sort
    return left[0] if len(left) == 1 else None


def _around(node: str, wholes: Mapping[str, set[str]]) -> set[str]:
    found: set[str] = set()
    waiting = [node]
    while waiting:
        new = wholes.get(waiting.pop(), set()) - found - {node}
        found |= new
        waiting += new
    return found


def _at_one_site(graph: KnowledgeGraph) -> KnowledgeGraph:
    """The graph with a site around its parts, if it reads the weather in a part that is not linked to the others."""
    points = [node.id for node in graph.nodes.values() if is_weather(node.labels)]
    if not points or sum(bool(node.labels & _SITES) for node in graph.nodes.values()) > 1:
        return graph
    holders = list(dict.fromkeys(edge.source for edge in graph.edges.values() if "hasPoint" in edge.labels))
    parts: list[str] = []
    seen: set[str] = set()
    for holder in holders:
        if holder not in seen:
            parts.append(holder)
            seen |= _reachable(graph, holder)
    if len(parts) < 2:
        return graph
    site = next((node.id for node in graph.nodes.values() if node.labels & _SITES), "site")
    nodes = list(graph.nodes.values())
    while site not in graph.nodes and site in graph.edges:
        site += "'"
    if site not in graph.nodes:
        nodes.append(Node(site, frozenset({"Site"})))
    taken = {*graph.nodes, *graph.edges, site}
    own = _reachable(graph, site) if site in graph.nodes else set()
    made = [_made(site, "hasPart", part, taken, {}) for part in parts if part not in own]
    edges = [*graph.edges.values(), *made]
    return KnowledgeGraph(nodes, edges, dated=graph.dated, property_units=graph.property_units)


def _reachable(graph: KnowledgeGraph, start: str) -> set[str]:
    seen, waiting = {start}, [start]
    while waiting:
        here = waiting.pop()
        around = {e.target for e in graph.out_edges(here)} | {e.source for e in graph.in_edges(here)}
        waiting += around - seen
        seen |= around
    return seen


def _classes(graph: KnowledgeGraph, node: str) -> set[str]:
    known = brick_classes()
    return {name for label in graph.node(node).labels for name in (label, *known.get(label, ()))}
