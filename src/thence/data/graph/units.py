"""Units and their points: which sensors are readings of an equipment, room or zone, and what each of them is there.

Brick, SOSA, BOT and SAREF bind a reading to a node of its own, a *point*, which belongs to a unit: an air handling
unit has the points supply air temperature and cooling valve command. A row of a lifted table is best about the unit,
so that rules join any of its points. A sensor counts as one of a unit if its node belongs to exactly one unit and has
no edge to another node with sensors. The parts of an equipment (Brick) count as the equipment, if their classes
differ.

The *role* of a sensor is its kind, if the kind distinguishes the points of every unit; otherwise the class of the
point; otherwise the class of the part and of the point. Sensors that cannot be distinguished stay at their own nodes.
This module finds units and roles; it changes neither the graph nor the binding.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.matching import most_specific_label, with_ancestors
from thence.data.graph.ontology import Ontology
from thence.data.graph.point_names import is_point
from thence.data.graph.sensor_kinds import plain_name

CONTAINS = frozenset({
    "isLocationOf", "hasPart", "hasSite", "hasBuilding", "hasStorey", "hasSpace", "hasFloor", "hasRoom", "containsZone",
    "containsElement", "contains", "hosts",
})  # fmt: skip
"""Relations from a larger whole to what is in it."""
IS_WITHIN = frozenset({"hasLocation", "isPartOf", "isHostedBy", "isContainedIn", "isLocatedIn"})
"""Relations from a thing to the larger whole that it is in."""

_HAS_POINT = ("hasPoint", "hasSensor", "hasActuator")
_IS_POINT_OF = ("isPointOf", "isSensorOf", "isActuatorOf")
_HOLDS = ("hosts", "containsElement", "contains")
"""Relations from a unit to all kinds of things, of which some are points."""
_IS_HELD_BY = ("isHostedBy", "isContainedIn")
_POINT_RELATIONS = frozenset({*_HAS_POINT, *_IS_POINT_OF, *_HOLDS, *_IS_HELD_BY})
_HAS_PART = ("hasPart",)
_IS_PART_OF = ("isPartOf",)
_EQUIPMENT = "Equipment"


@dataclass(frozen=True)
class Units:
    """The sensors that count as those of a unit.

    Args:
        node_of: The unit of each such sensor.
        role_of: The role of each such sensor: what it is called among the sensors of its unit.
        notes: How many points belong to which units, and how they are called; one sentence each.
    """

    node_of: Mapping[str, str] = field(default_factory=dict)
    role_of: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.node_of)


def find_units(
    graph: KnowledgeGraph,
    node_of: Mapping[str, str],
    kind_of: Mapping[str, str],
    ontology: Ontology | None = None,
    *,
    names: Collection[str] = (),
) -> Units:
    """Find the sensors whose nodes are points of a unit, and their roles there.

    Args:
        graph: The knowledge graph.
        node_of: The node of each sensor; sensors at nodes that are not in the graph are ignored.
        kind_of: The kind of each sensor to consider.
        ontology: The ontology, for subclasses.
        names: Roles that are preferred where a sensor has several, such as those that earlier rules are about.

    Examples:
        >>> from thence.data.graph.knowledge_graph import Edge, Node
        >>> points = {"t1": "Supply_Air_Temperature_Sensor", "t2": "Return_Air_Temperature_Sensor"}
        >>> nodes = [Node("A", frozenset({"AHU"})), *(Node(p, frozenset({c})) for p, c in points.items())]
        >>> graph = KnowledgeGraph(nodes, [Edge(f"e{p}", "A", p, frozenset({"hasPoint"})) for p in points])
        >>> units = find_units(graph, {"s1": "t1", "s2": "t2"}, {"s1": "temperature", "s2": "temperature"})
        >>> units.node_of["s1"], units.role_of["s1"], units.role_of["s2"]
        ('A', 'supply_air_temperature', 'return_air_temperature')
        >>> print(units.notes[0])
        2 points belong to 1 AHU: their readings are those of the unit
    """
    if all(_POINT_RELATIONS.isdisjoint(edge.labels) for edge in graph.edges.values()):
        return Units()  # a network of pipes has many nodes to look at, and no points
    bound = {s: node_of[s] for s in kind_of if node_of.get(s) in graph}
    owners = _owners(graph, frozenset(bound.values()))
    wholes = _wholes(graph, frozenset(owners.values()), ontology)
    unit_of = {s: _top(owners[point], wholes) for s, point in bound.items() if point in owners}
    if not unit_of:
        return Units()
    known = {s: _names(kind_of[s], point, owners[point], graph, ontology) for s, point in bound.items() if s in unit_of}
    fixed = [(node, kind_of[s]) for s, node in bound.items() if s not in unit_of]
    roles = _roles(unit_of, known, fixed)
    if names:
        roles = _preferred(roles, unit_of, known, fixed, names)
    for sensor in _alike(roles, unit_of, fixed):
        del roles[sensor]
    units = {sensor: unit_of[sensor] for sensor in roles}
    return Units(units, roles, _notes(units, roles, kind_of, len(unit_of) - len(roles), graph, ontology))


def _owners(graph: KnowledgeGraph, carrying: frozenset[str]) -> dict[str, str]:
    """The unit of each node that is a point."""
    out = {}
    for node in sorted(carrying):
        holders = _linked(graph, node, _HAS_POINT, _IS_POINT_OF)
        if not holders and is_point(graph.node(node).labels):
            holders = _linked(graph, node, _HOLDS, _IS_HELD_BY)
        holds = {e.target for e in graph.out_edges(node, _HAS_POINT + _HOLDS)}
        holds |= {e.source for e in graph.in_edges(node, _IS_POINT_OF + _IS_HELD_BY)}
        around = {e.target for e in graph.out_edges(node)} | {e.source for e in graph.in_edges(node)}
        if len(holders) == 1 and not holds and not (around - holders - {node}) & carrying:
            (out[node],) = holders
    # What is itself a point is no unit.
    return {node: unit for node, unit in out.items() if unit not in out and unit != node}


def _linked(graph: KnowledgeGraph, node: str, into: tuple[str, ...], out_of: tuple[str, ...]) -> set[str]:
    """The nodes with an edge ``into`` a node, or that an edge ``out_of`` it leads to."""
    return {e.source for e in graph.in_edges(node, into)} | {e.target for e in graph.out_edges(node, out_of)}


def _wholes(graph: KnowledgeGraph, units: frozenset[str], ontology: Ontology | None) -> dict[str, str]:
    """The equipment of which a unit is a part that no other part with points has the class of."""

    def is_equipment(node: str) -> bool:
        return _EQUIPMENT in with_ancestors(graph.node(node).labels, ontology)

    parts: dict[str, list[str]] = defaultdict(list)
    for unit in sorted(units):
        wholes = _linked(graph, unit, _HAS_PART, _IS_PART_OF) - {unit}
        if len(wholes) == 1 and is_equipment(unit) and all(map(is_equipment, wholes)):
            parts[wholes.pop()].append(unit)
    out: dict[str, str] = {}
    for whole, members in parts.items():
        classes = Counter(most_specific_label(graph.node(part).labels, ontology) for part in members)
        out |= {part: whole for part in members if classes[most_specific_label(graph.node(part).labels, ontology)] == 1}
    return out


def _top(unit: str, wholes: Mapping[str, str]) -> str:
    """The equipment that a unit is a part of, directly or through others; itself if the parts go round in circles."""
    seen = [unit]
    while seen[-1] in wholes:
        if wholes[seen[-1]] in seen:
            return unit
        seen.append(wholes[seen[-1]])
    return seen[-1]


def _names(kind: str, point: str, owner: str, graph: KnowledgeGraph, ontology: Ontology | None) -> tuple[str, str, str]:
    """What a sensor may be called: its kind, the class of its point, and the class of the part before it."""
    cls = _words(graph.node(point).labels, ontology)
    part = _words(graph.node(owner).labels, ontology)
    return kind, cls or kind, _joined(part, cls or kind)


def _words(labels: frozenset[str], ontology: Ontology | None) -> str:
    name = plain_name(most_specific_label(labels, ontology))
    return name.removesuffix("_sensor")


def _joined(part: str, point: str) -> str:
    """The class of a part before that of its point, with common words once: supply fan, fan status."""
    first, second = part.split("_"), point.split("_")
    for common in range(min(len(first), len(second)), 0, -1):
        if first[-common:] == second[:common]:
            return "_".join([*first, *second[common:]])
    return f"{part}_{point}" if part else point


def _alike(roles: Mapping[str, str], unit_of: Mapping[str, str], fixed: Iterable[tuple[str, str]]) -> set[str]:
    """The sensors whose role another sensor of the unit has, and those without a role."""
    taken = Counter((unit_of[s], role) for s, role in roles.items()) + Counter(set(fixed))
    return {s for s, role in roles.items() if not role or taken[unit_of[s], role] > 1}


def _roles(
    unit_of: Mapping[str, str], names: Mapping[str, tuple[str, str, str]], fixed: Collection[tuple[str, str]]
) -> dict[str, str]:
    """The role of each sensor: its kind or, for all sensors of a kind that is not enough, a longer name."""
    roles = {sensor: known[0] for sensor, known in names.items()}

    def lengthen(level: int, group_of: Callable[[str], object]) -> None:
        alike = _alike(roles, unit_of, fixed)
        for group in sorted({str(group_of(s)) for s in alike}):
            longer = {s: names[s][level] for s in roles if str(group_of(s)) == group}
            found = _alike({**roles, **longer}, unit_of, fixed)
            if len(found) < len(alike):
                roles.update(longer)
                alike = found

    lengthen(1, lambda sensor: names[sensor][0])
    lengthen(2, lambda sensor: names[sensor][:2])
    return roles


def _preferred(
    roles: Mapping[str, str],
    unit_of: Mapping[str, str],
    names: Mapping[str, tuple[str, str, str]],
    fixed: Collection[tuple[str, str]],
    wanted: Collection[str],
) -> dict[str, str]:
    """The roles, with a wanted name instead where only one sensor of the unit can have it."""
    possible = Counter((unit_of[s], name) for s, known in names.items() for name in set(known))
    possible.update(set(fixed))
    out = dict(roles)
    for sensor, role in roles.items():
        if role in wanted:
            continue
        fitting = [n for n in names[sensor] if n and n in wanted and possible[unit_of[sensor], n] == 1]
        if fitting:
            out[sensor] = fitting[0]
    return out


def _notes(
    units: Mapping[str, str],
    roles: Mapping[str, str],
    kind_of: Mapping[str, str],
    left: int,
    graph: KnowledgeGraph,
    ontology: Ontology | None,
) -> tuple[str, ...]:
    notes = []
    points: Counter[str] = Counter()
    members: dict[str, set[str]] = defaultdict(set)
    for unit in units.values():
        label = most_specific_label(graph.node(unit).labels, ontology) or "node"
        points[label] += 1
        members[label].add(unit)
    total = points.total()
    if total:
        listed = [f"{len(members[label]):,} {label}{'s' * (len(members[label]) > 1)}" for label in points]
        notes.append(
            f"{total:,} point{'s' * (total > 1)} belong{'s' * (total == 1)} to {_join(listed)}: "
            f"{'their' if total > 1 else 'its'} readings are those of the unit"
        )
    renamed: dict[str, set[str]] = defaultdict(set)
    for sensor, role in roles.items():
        if role != kind_of[sensor]:
            renamed[kind_of[sensor]].add(role)
    if renamed:
        kind, found = max(sorted(renamed.items()), key=lambda pair: len(pair[1]))
        several = f"sensors of {len(renamed):,} kinds" if len(renamed) > 1 else "sensors"
        of_kind = f" of the kind {kind}" if kind else ""
        notes.append(f"{several} are told apart by their class, those{of_kind} as {_join(sorted(found))}")
    if left:
        notes.append(
            f"{left:,} sensor{'s' * (left > 1)} at points of a unit cannot be told apart from others and "
            f"{'stay' if left > 1 else 'stays'} at {'their' if left > 1 else 'its'} own node{'s' * (left > 1)}: "
            "give them different kinds to use them as those of the unit"
        )
    return tuple(notes)


def _join(names: Sequence[str]) -> str:
    """Names as a list in a sentence, at most six of them."""
    shown = [*names[:6], f"{len(names) - 6} more"] if len(names) > 6 else list(names)
    return " and ".join(filter(None, (", ".join(shown[:-1]), shown[-1])))
