"""Discovery of patterns in a graph: paths between nodes with sensors, stars around such nodes, and units.

A path is a sequence of classes and relations between two nodes with sensors. A star aggregates, around a focus node,
the readings of its neighbours by role (relation, direction, class). All of them with enough embeddings are returned;
which of them give rules is decided later, by counting. A unit is a node with the sensors of its points
(``thence.data.graph.units``); one embedding is enough. Where most sensors of a kind have no other of the kind nearby,
a star has the nearest of them as a role: all foci are served by one search that starts at the wanted nodes and passes
each of them on from node to node, and of nodes at the same distance the first by id counts as nearer. This module
looks at the graph and at which nodes have which kinds of sensors. It must not look at readings.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from thence.data.graph.matching import GraphIndex, Ints, find_role_members, most_specific_label, with_ancestors
from thence.data.graph.ontology import Ontology
from thence.data.graph.point_names import reads_weather
from thence.data.graph.units import CONTAINS, IS_WITHIN, Units, find_units
from thence.errors import BindingError, PatternError, nearest
from thence.language.english import with_article
from thence.language.patterns import Link, NodeVariable, Pattern, SensorVariable, StarRole, Step


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


_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_OPPOSITE = {"out": "in", "in": "out", "any": "any"}
_NEAREST = 3
"""The number of nodes in a discovered role of nearest nodes: one of them may miss a reading or be an odd one."""

SensorsAt = Mapping[str, Mapping[int, tuple[str, ...]]]
"""Sensor ids by kind and node number."""


@dataclass(frozen=True)
class Carriers:
    """The nodes that carry sensors.

    Args:
        index: The graph.
        sensors: Sensor ids by kind and node number, ``sensors[kind][node]``; sensors at points count as those of their
            unit, with their role as kind.
        own: The same with every sensor at its own node; by default there are no points.
        units: The sensors at points of a unit.
    """

    index: GraphIndex
    sensors: SensorsAt
    own: SensorsAt | None = None
    units: Units = field(default_factory=Units)

    @staticmethod
    def of(
        index: GraphIndex,
        kind_of: Mapping[str, str],
        node_of: Mapping[str, str],
        *,
        patterns: Iterable[Pattern] | None = None,
    ) -> Carriers:
        """Group sensors by kind and node, and by role and unit.

        Args:
            index: The graph.
            kind_of: Sensor id to kind.
            node_of: Sensor id to node id; sensors without a node are ignored.
            patterns: The patterns that are to be matched, whose roles are preferred; by default none are known yet.

        Raises:
            BindingError: If a node is not in the graph.
        """
        for sensor in kind_of:
            node = node_of.get(sensor)
            if node is not None and node not in index.number:
                raise BindingError(
                    f"sensor '{sensor}' is bound to '{node}', which is not a node of the graph",
                    hint=nearest(str(node), index.ids),
                )
        own = _group(index, kind_of, node_of)
        known = None if patterns is None else list(patterns)
        if known is not None and not any(pattern.has_points for pattern in known):
            return Carriers(index, own)
        names = {sensor.kind for pattern in known or () for sensor in pattern.sensors if sensor.points}
        names |= {role.kind for pattern in known or () for role in pattern.roles if role.points}
        units = find_units(index.graph, node_of, kind_of, index.ontology, names=names)
        if not units:
            return Carriers(index, own)
        roles = {sensor: units.role_of.get(sensor, kind) for sensor, kind in kind_of.items()}
        return Carriers(index, _group(index, roles, {**node_of, **units.node_of}), own, units)

    def matched_by(self, pattern: Pattern) -> SensorsAt:
        """Return sensor ids by kind and node number, as a pattern matches them.

        A pattern with points finds a sensor at its unit only, so that no rule is about a sensor and itself.

        Args:
            pattern: The pattern.
        """
        return self.sensors if pattern.has_points or self.own is None else self.own

    def are_points(self, kind: str, nodes: Iterable[int]) -> bool:
        """Return whether a sensor of a kind is at a point of one of ``nodes``."""
        if self.own is None:
            return False
        own, all_at = self.own.get(kind, {}), self.sensors.get(kind, {})
        return any(node in all_at and all_at[node] != own.get(node) for node in set(map(int, nodes)))

    def are_units(self, nodes: Iterable[int]) -> bool:
        """Return whether all ``nodes`` that carry sensors are units with points."""
        units = {self.index.number[node] for node in self.units.node_of.values()}
        return bool(units) and all(node in units for node in set(map(int, nodes)) if self._carrying[node])

    @cached_property
    def _carrying(self) -> npt.NDArray[np.bool_]:
        return self.mask()

    def lacking(self, pattern: Pattern) -> list[str]:
        """Return the kinds that a pattern requires and no sensor has."""
        known = self.matched_by(pattern)
        return [s.kind for s in pattern.sensors if s.kind and not s.optional and s.kind not in known]

    def with_known_kinds(self, pattern: Pattern) -> Pattern:
        """Return a pattern whose kinds have the case of the sensors' kinds.

        Args:
            pattern: The pattern.

        Raises:
            PatternError: If a kind differs from several known kinds by its case only.
        """
        known = self.matched_by(pattern)
        return replace(
            pattern,
            sensors=tuple(replace(s, kind=_known_kind(s.kind, known)) for s in pattern.sensors),
            roles=tuple(replace(role, kind=_known_kind(role.kind, known)) for role in pattern.roles),
        )

    def mask(self, kind: str | None = None, *, pattern: Pattern | None = None) -> npt.NDArray[np.bool_]:
        """Return which nodes carry a sensor of ``kind``, or any sensor if it is ``None``.

        Args:
            kind: The kind.
            pattern: The pattern that is to match the sensors; by default sensors at points are at their unit.
        """
        out = np.zeros(len(self.index.ids), bool)
        for name, nodes in (self.sensors if pattern is None else self.matched_by(pattern)).items():
            if kind is None or name == kind:
                out[list(nodes)] = True
        return out

    def members_of(
        self, role: StarRole, focus: Ints, pattern: Pattern, *, numeric: Collection[str] | None = None
    ) -> tuple[Ints, Ints]:
        """Find the nodes in a role of a star around each focus.

        Args:
            role: The role.
            focus: The numbers of the focus nodes.
            pattern: The star.
            numeric: Ids of the sensors that count for the nearest nodes; all by default.

        Returns:
            For each node, the position of its focus in ``focus``, and its number.

        Raises:
            PatternError: If neither the graph nor the ontology has a label of the role.
        """
        if not role.nearest:
            return find_role_members(role.steps, focus, self.index)
        (step,) = role.steps
        wanted = np.zeros(len(self.index.ids), bool)
        for node, sensors in self.matched_by(pattern).get(role.kind, {}).items():
            wanted[node] = numeric is None or any(sensor in numeric for sensor in sensors)
        wanted &= self.index.has_label(step.target)
        found = find_nearest(self.index, focus, wanted, count=role.nearest, label=step.label, direction=step.direction)
        return found.origin, found.nodes

    def kinds_at(self, nodes: Iterable[int]) -> tuple[str, ...]:
        """Return the kinds of sensors that at least one of ``nodes`` carries."""
        wanted = set(map(int, nodes))
        return tuple(kind for kind, where in self.sensors.items() if not wanted.isdisjoint(where))


def _known_kind(kind: str, kinds: Iterable[str]) -> str:
    alike = [known for known in kinds if known.casefold() == kind.casefold()]
    if kind in alike or not alike:
        return kind
    if len(alike) > 1:
        raise PatternError(
            f"the kind '{kind}' is ambiguous: {' or '.join(alike)}",
            hint="write the kind in the case of the sensors",
        )
    return alike[0]


def _group(index: GraphIndex, kind_of: Mapping[str, str], node_of: Mapping[str, str]) -> SensorsAt:
    found: dict[str, dict[int, list[str]]] = {}
    for sensor, kind in kind_of.items():
        node = node_of.get(sensor)
        if node is not None:
            found.setdefault(kind, {}).setdefault(index.number[node], []).append(sensor)
    return {k: {n: tuple(ids) for n, ids in nodes.items()} for k, nodes in sorted(found.items())}


@dataclass
class _Discoveries:
    """The patterns found so far, without duplicates that match the same nodes."""

    patterns: list[Pattern] = field(default_factory=list)
    seen: set[tuple[int, bytes, tuple[str, ...], bool]] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)
    only: frozenset[int] | None = None

    def add(self, pattern: Pattern, rows: Ints) -> None:
        if self.only is not None and self.only.isdisjoint(rows[:, [0, -1]].ravel().tolist()):
            return
        # A relation and its inverse give the same embeddings; only the first pattern is kept.
        ordered = np.unique(np.sort(rows, axis=1), axis=0)
        # Four nodes and two pairs of them have the same bytes, so the width is part of the key.
        kinds = tuple(sorted(s.kind for s in pattern.sensors))
        key = (ordered.shape[1], ordered.tobytes(), kinds, any(role.nearest for role in pattern.roles))
        if key not in self.seen:
            self.seen.add(key)
            self.patterns.append(pattern)


def discover(
    carriers: Carriers,
    *,
    hops: int = 2,
    min_embeddings: int = 3,
    max_embeddings: int = 200_000,
    paths: bool = True,
    stars: bool = True,
    nearest: Collection[str] = (),
    only: Collection[int] | None = None,
) -> tuple[list[Pattern], list[str]]:
    """Find all paths and stars with enough embeddings, and all units with points.

    What is read of the weather at a site is a role around every place of the site, however far away it is measured.

    Args:
        carriers: The graph and the nodes that carry sensors.
        hops: The greatest length of a path, in edges.
        min_embeddings: The smallest number of embeddings of a pattern; of a unit with its points, one is enough.
        max_embeddings: The greatest number of embeddings of a path; paths with more are left out, with a note.
        paths: Whether to find paths.
        stars: Whether to find stars.
        nearest: Ids of the sensors, those with numbers, of which the nearest may be a role of a star if they are
            sparse; none by default.
        only: Numbers of nodes; patterns of which none of them is an end or a focus are left out.

    Returns:
        The patterns, and notes on what was left out and why.
    """
    found = _Discoveries(only=None if only is None else frozenset(only))
    if stars:
        _find_stars(carriers, hops, min_embeddings, found)
    _find_units(carriers, found)
    if stars:
        _add_weather(carriers, min_embeddings, found)
    if paths:
        _find_paths(carriers, hops, min_embeddings, max_embeddings, found)
    if stars and nearest:
        _find_nearest_stars(carriers, hops, min_embeddings, frozenset(nearest), found)
    return found.patterns, found.notes


def _specific_labels(index: GraphIndex) -> npt.NDArray[np.object_]:
    """The most specific label of each node."""
    known: dict[frozenset[str], str] = {}
    for node in index.graph.nodes.values():
        if node.labels not in known:
            known[node.labels] = most_specific_label(node.labels, index.ontology)
    return np.array([known[node.labels] for node in index.graph.nodes.values()], dtype=object)


def _directions(relation: str, index: GraphIndex) -> tuple[str, ...]:
    """The directions in which a relation is followed: a symmetric one has none of its own."""
    return ("any",) if index.is_symmetric(relation) else ("out", "in")


def _variable_name(label: str, taken: Iterable[str]) -> str:
    """A short variable name: the first letter of the class, or the next letter that is free."""
    used = set(taken)
    first = (label[:1] or "n").lower()
    if first not in _LETTERS:
        first = "n"
    for offset in range(len(_LETTERS)):
        name = _LETTERS[(_LETTERS.index(first) + offset) % len(_LETTERS)]
        if name not in used:
            return name
    return f"v{len(used)}"


def _sensor_variables(host: str, nodes: Ints, carriers: Carriers) -> list[SensorVariable]:
    """A sensor variable for each kind that one of ``nodes`` carries; optional if there are several kinds."""
    kinds = carriers.kinds_at(nodes)
    several = len(kinds) > 1
    return [
        SensorVariable(f"{kind}_{host}", kind, host, several, carriers.are_points(kind, nodes.tolist()))
        for kind in kinds
    ]


@dataclass(frozen=True)
class _Path:
    """A sequence of classes and (relation, direction) steps, and its embeddings as rows of node numbers."""

    labels: tuple[str, ...]
    steps: tuple[tuple[str, str], ...]
    rows: Ints

    @property
    def key(self) -> tuple[str, ...]:
        out = [self.labels[0]]
        for (relation, direction), label in zip(self.steps, self.labels[1:], strict=True):
            out += [relation, direction, label]
        return tuple(out)

    @property
    def mirrored_key(self) -> tuple[str, ...]:
        flipped = tuple((r, _OPPOSITE[d]) for r, d in reversed(self.steps))
        return _Path(self.labels[::-1], flipped, self.rows).key


def _find_paths(carriers: Carriers, hops: int, least: int, most: int, found: _Discoveries) -> None:
    index = carriers.index
    labels = _specific_labels(index)
    carrying = carriers.mask()
    relations = index.graph.edge_labels
    frontier = [
        _Path((str(label),), (), np.flatnonzero(carrying & (labels == label))[:, None])
        for label in sorted(set(labels[carrying]))
    ]
    for _ in range(hops):
        longer: list[_Path] = []
        for path in frontier:
            for relation in relations:
                for direction in _directions(relation, index):
                    longer += _extend(path, relation, direction, labels, index, least, most, found)
        for path in longer:
            ends = path.rows[carrying[path.rows[:, -1]]]
            if len(ends) >= least and path.key <= path.mirrored_key and not _is_same_whole(path, ends, carriers):
                found.add(_path_pattern(path, ends, carriers), ends)
        frontier = longer


def _is_same_whole(path: _Path, rows: Ints, carriers: Carriers) -> bool:
    """Whether a path says only that two units are in the same building, storey or other whole without sensors."""
    if len(path.steps) != 2 or carriers.mask()[rows[:, 1]].any():
        return False
    (first, forward), (second, backward) = path.steps
    into = first in (IS_WITHIN if forward == "out" else CONTAINS)
    out_of = second in (IS_WITHIN if backward == "in" else CONTAINS)
    return into and out_of and carriers.are_units(rows[:, 0]) and carriers.are_units(rows[:, 2])


def _extend(
    path: _Path,
    relation: str,
    direction: str,
    labels: npt.NDArray[np.object_],
    index: GraphIndex,
    least: int,
    most: int,
    found: _Discoveries,
) -> list[_Path]:
    """The path extended by one step, once for each class that the step reaches."""
    origin, reached = index.adjacency(relation, direction).expand(path.rows[:, -1])
    fresh = ~(path.rows[origin] == reached[:, None]).any(axis=1)
    origin, reached = origin[fresh], reached[fresh]
    out = []
    for label in sorted(set(labels[reached])):
        chosen = labels[reached] == label
        count = int(chosen.sum())
        if count > most:
            found.notes.append(f"path over {relation} to {label} left out: {count:,} matches, more than {most:,}")
        elif count >= least:
            rows = np.column_stack([path.rows[origin[chosen]], reached[chosen]])
            out.append(_Path((*path.labels, str(label)), (*path.steps, (relation, direction)), rows))
    return out


def _path_pattern(path: _Path, rows: Ints, carriers: Carriers) -> Pattern:
    names: list[str] = []
    for label in path.labels:
        names.append(_variable_name(label, names))
    links = []
    for at, (relation, direction) in enumerate(path.steps):
        ends = (names[at + 1], names[at]) if direction == "in" else (names[at], names[at + 1])
        links.append(Link(*ends, relation, directed=direction != "any"))
    sensors: list[SensorVariable] = []
    for at, name in enumerate(names):
        inner = 0 < at < len(names) - 1
        made = _sensor_variables(name, rows[:, at], carriers)
        carried = carriers.mask()[rows[:, at]].all()
        if not inner or carried:
            sensors += made
    nodes = tuple(NodeVariable(n, label) for n, label in zip(names, path.labels, strict=True))
    return Pattern(nodes, tuple(links), tuple(sensors))


def _focus_classes(carriers: Carriers, labels: npt.NDArray[np.object_]) -> list[tuple[str, Ints]]:
    """The classes of focus nodes, each with its nodes.

    Classes with the same relations around their nodes, a kind of sensor in common and a common ancestor are treated as
    that ancestor: junctions, tanks and reservoirs all have a pressure and pipes that start and end there. What is
    linked to each other is not alike: an air handling unit feeds terminal units. Without an ontology every class is
    its own.
    """
    index = carriers.index
    around: dict[str, set[tuple[str, str]]] = {}
    linked: set[tuple[str, str]] = set()
    for edge in index.graph.edges.values():
        for label in edge.labels:
            relation = _most_general_relation(label, index.ontology)
            forward, backward = ("any", "any") if index.is_symmetric(label) else ("out", "in")
            ends = str(labels[index.number[edge.source]]), str(labels[index.number[edge.target]])
            around.setdefault(ends[0], set()).add((relation, forward))
            around.setdefault(ends[1], set()).add((relation, backward))
            if forward != "any":
                linked |= {ends, ends[::-1]}
    carrying = carriers.mask()
    groups: list[list[str]] = []
    for label in sorted(set(map(str, labels[carrying]))):
        kinds = set(carriers.kinds_at(np.flatnonzero(labels == label)))
        for group in groups:
            member = group[0]
            alike = around.get(member) == around.get(label) and all((label, one) not in linked for one in group)
            common_kinds = kinds & set(carriers.kinds_at(np.flatnonzero(np.isin(labels, group))))
            if alike and common_kinds and _common_ancestor([*group, label], index.ontology):
                group.append(label)
                break
        else:
            groups.append([label])
    return [
        (_common_ancestor(group, index.ontology) or group[0], np.flatnonzero(np.isin(labels, group)))
        for group in groups
    ]


def _common_ancestor(labels: list[str], ontology: Ontology | None) -> str | None:
    """The most specific class that includes all ``labels``, or ``None``."""
    if len(labels) == 1:
        return labels[0]
    common = frozenset.intersection(*(with_ancestors([label], ontology) for label in labels))
    if not common or ontology is None:
        return None
    return min(common, key=lambda name: (len(ontology.descendants(name)) if name in ontology.classes else 0, name))


def _points_of_units(carriers: Carriers) -> npt.NDArray[np.bool_]:
    """Which nodes have sensors that all count as those of a unit."""
    left = np.zeros(len(carriers.index.ids), bool)
    for at in (carriers.own or {}).values():
        left[list(at)] = True
    return left & ~carriers.mask()


def _find_stars(carriers: Carriers, hops: int, least: int, found: _Discoveries) -> None:
    labels = _specific_labels(carriers.index)
    left = _points_of_units(carriers)
    for label, nodes in _focus_classes(carriers, labels):
        # Points whose sensors are those of their unit are no foci, and neither are the few others of their class.
        if len(nodes) < least or left[nodes].any():
            continue
        roles = _roles(carriers, labels, label, nodes, hops, least)
        name = _variable_name(label, ())
        sensors = tuple(_sensor_variables(name, nodes, carriers))
        if roles and sensors:
            found.add(Pattern((NodeVariable(name, label),), (), sensors, tuple(roles)), nodes[:, None])


def _find_nearest_stars(
    carriers: Carriers, hops: int, least: int, allowed: frozenset[str], found: _Discoveries
) -> None:
    """Find stars of sparse sensors: around each node with a sensor of such a kind, the nearest others with one.

    A kind is sparse if more than half of its nodes have no other within the reach of paths and other stars. Its nearest
    nodes are a role if for more than half of its nodes they are nearer than all others: among equals, ids decide.
    """
    index = carriers.index
    relation = _relation_of_distance(index)
    kinds = [kind for kind, at in carriers.sensors.items() if any(s in allowed for own in at.values() for s in own)]
    sparse = [kind for kind in kinds if kind and _is_sparse(kind, carriers, max(hops, 2))]
    if relation is None or not sparse:
        return
    left = _points_of_units(carriers)
    for label, nodes in _focus_classes(carriers, _specific_labels(index)):
        if left[nodes].any():
            continue
        foci, roles = {}, []
        for kind in sparse:
            own = nodes[carriers.mask(kind)[nodes]]
            if len(own) >= least and _is_distinct_by_distance(own, relation, index):
                foci[kind] = own
                name = f"{_NEAREST} nearest {label or 'node'}s with {with_article(kind.replace('_', ' '))} sensor"
                points = carriers.are_points(kind, own.tolist())
                roles.append(StarRole(name, (Step(relation, "any", label),), kind, points, _NEAREST))
        name = _variable_name(label, ())
        for own in foci.values():
            sensors = tuple(
                replace(variable, optional=not carriers.mask(variable.kind)[own].all())
                for variable in _sensor_variables(name, own, carriers)
            )
            found.add(Pattern((NodeVariable(name, label),), (), sensors, tuple(roles)), own[:, None])


def _relation_of_distance(index: GraphIndex) -> str | None:
    """The relation along which distances mean something, "" for all edges, or ``None``.

    That two rooms are in one building says nothing of how near they are, so relations of parts to their whole do not
    count; of several others next to these, none is clearly the one.
    """
    general = _general_relations(index)
    remaining = [relation for relation in general if relation not in CONTAINS | IS_WITHIN]
    if len(remaining) == 1:
        return remaining[0]
    return "" if remaining == general and remaining else None


def _is_sparse(kind: str, carriers: Carriers, reach: int) -> bool:
    """Whether more than half of the nodes with a sensor of a kind have no other one within ``reach`` edges."""
    carrying = carriers.mask(kind)
    nearest = find_nearest(carriers.index, np.flatnonzero(carrying), carrying, count=1)
    return 2 * int((nearest.distances <= reach).sum()) < int(carrying.sum())


def _is_distinct_by_distance(own: Ints, relation: str, index: GraphIndex) -> bool:
    """Whether more than half of the nodes have a set of nearest ones that are nearer than the next."""
    wanted = np.zeros(len(index.ids), bool)
    wanted[own] = True
    nearest = find_nearest(index, own, wanted, count=_NEAREST + 1, label=relation)
    counts = np.bincount(nearest.origin, minlength=len(own))
    last = (np.cumsum(counts) - 1)[counts > _NEAREST]
    distinct = nearest.distances[last - 1] < nearest.distances[last]
    return 2 * int(distinct.sum()) > len(own)


def _find_units(carriers: Carriers, found: _Discoveries) -> None:
    """Find the classes of nodes with points; a star around nodes of the class has the same sensors."""
    units = {carriers.index.number[node] for node in carriers.units.node_of.values()}
    stars = {pattern.nodes[0].label for pattern in found.patterns}
    for label, nodes in _focus_classes(carriers, _specific_labels(carriers.index)) if units else ():
        own = np.array([node for node in nodes.tolist() if node in units], np.int64)
        name = _variable_name(label, ())
        sensors = tuple(_sensor_variables(name, nodes, carriers))
        if len(own) and len(sensors) > 1 and label not in stars:
            found.add(Pattern((NodeVariable(name, label),), (), sensors), own[:, None])


def _add_weather(carriers: Carriers, least: int, found: _Discoveries) -> None:
    """Add what is read of the weather to the patterns about one place, as roles; also to places with nothing else."""
    weather = {kind: at for kind, at in carriers.sensors.items() if reads_weather(kind)}
    if not weather:
        return
    known = {pattern.nodes[0].label: at for at, pattern in enumerate(found.patterns) if len(pattern.nodes) == 1}
    left = _points_of_units(carriers)
    for label, nodes in _focus_classes(carriers, _specific_labels(carriers.index)):
        if label in known:
            pattern = found.patterns[known[label]]
            roles = _weather_roles(carriers, weather, pattern, nodes)
            found.patterns[known[label]] = replace(pattern, roles=(*pattern.roles, *roles))
        elif len(nodes) >= least and not left[nodes].any():
            name = _variable_name(label, ())
            pattern = Pattern((NodeVariable(name, label),), (), tuple(_sensor_variables(name, nodes, carriers)))
            if roles := _weather_roles(carriers, weather, pattern, nodes):
                found.add(replace(pattern, roles=roles), nodes[:, None])


def _weather_roles(
    carriers: Carriers, weather: Mapping[str, Mapping[int, object]], pattern: Pattern, focus: Ints
) -> tuple[StarRole, ...]:
    """What is read of the weather around some places and not at them: the nearest node that reads each kind."""
    known = {sensor.kind for sensor in pattern.sensors} | {role.kind for role in pattern.roles}
    names: dict[frozenset[int], str] = {}
    roles = []
    for kind, at in weather.items():
        near = find_nearest(carriers.index, focus, carriers.mask(kind), count=1)
        if kind not in known and 2 * len(near.origin) > len(focus):
            # Kinds that are measured at the same nodes are of one station; another one needs another name.
            name = names.setdefault(frozenset(at), f"site ({kind.replace('_', ' ')})" if names else "site")
            roles.append(StarRole(name, (Step("", "any", ""),), kind, carriers.are_points(kind, at), nearest=1))
    return tuple(roles)


def _roles(
    carriers: Carriers, labels: npt.NDArray[np.object_], focus: str, nodes: Ints, hops: int, least: int
) -> list[StarRole]:
    """Roles one edge away, by relation and direction, and two edges away, along the most general relations."""
    index = carriers.index
    roles: list[StarRole] = []
    taken: set[tuple[str, str]] = set()

    def consider(steps: tuple[Step, ...]) -> None:
        origin, members = find_role_members(steps, nodes, index)
        for kind in carriers.kinds_at(members):
            carried = carriers.mask(kind)[members]
            if len(np.unique(origin[carried])) < least:
                continue
            name = _role_name(steps)
            if (name, kind) not in taken:
                taken.add((name, kind))
                roles.append(StarRole(name, steps, kind, carriers.are_points(kind, members.tolist())))

    first: list[Step] = []
    for relation in index.graph.edge_labels:
        for direction in _directions(relation, index):
            _, reached = index.adjacency(relation, direction).expand(nodes)
            if len(reached):
                first.append(Step(relation, direction, _covering_class(labels[reached], index.ontology)))
    for step in first:
        consider((step,))
    if hops >= 2:
        for relation in _general_relations(index):
            _, middle = index.adjacency(relation, "any").expand(nodes)
            middle = np.unique(middle)
            _, reached = index.adjacency(relation, "any").expand(middle)
            within = {r for r in index.graph.edge_labels if _most_general_relation(r, index.ontology) == relation}
            # That two units are in the same building says little of either.
            same_whole = within <= CONTAINS | IS_WITHIN and not carriers.mask()[middle].any()
            if np.isin(reached, nodes).any() and not (same_whole and carriers.are_units(nodes)):
                between = Step(relation, "any", _covering_class(labels[middle], index.ontology))
                consider((between, Step(relation, "any", focus)))
    return roles


def _covering_class(labels: npt.NDArray[np.object_], ontology: Ontology | None) -> str:
    """The most specific class that includes all ``labels``, or an empty string, which matches every node."""
    return _common_ancestor(sorted(set(map(str, labels))), ontology) or ""


def _general_relations(index: GraphIndex) -> list[str]:
    """The most general relations of the edges, each once: ``connected`` for both ``starts_at`` and ``ends_at``."""
    return sorted({_most_general_relation(relation, index.ontology) for relation in index.graph.edge_labels})


def _most_general_relation(relation: str, ontology: Ontology | None) -> str:
    if ontology is None:
        return relation
    above = [name for name in ontology.relations if ontology.is_relation(relation, name)]
    return max(above, key=lambda name: (len(ontology.relations_within(name)), name), default=relation)


def _role_name(steps: tuple[Step, ...]) -> str:
    """The name of a role as seen from the focus: ``Pipes that end there``, ``Junctions one Pipe away``."""
    if len(steps) == 2 and all(step.direction == "any" for step in steps):
        return f"{steps[1].target or 'node'}s one {steps[0].target or 'node'} away"
    return " by ".join(_step_name(step) for step in reversed(steps))


def _step_name(step: Step) -> str:
    plural = f"{step.target or 'node'}s".replace("_", " ")
    words = _words(step.label)
    if step.direction == "any":
        return f"{plural} {' '.join(words)} there" if words else f"{plural} next to it"
    if step.label == "hasPart" and step.direction != "any":
        return f"{plural} that are part of it" if step.direction == "out" else f"{plural} that it is part of"
    if step.direction == "out":
        return f"{plural} it {' '.join(words)}"
    verb = {"has": "have", "is": "are"}.get(words[0], words[0].removesuffix("s"))
    rest = words[1:]
    if rest and rest[-1] in ("at", "in", "on"):
        return f"{plural} that {' '.join([verb, *rest[:-1]])} there"
    return f"{plural} that {' '.join([verb, 'it', *rest])}"


def _words(relation: str) -> list[str]:
    """The words of a relation: both ``hasPoint`` and ``has_point`` are "has point"."""
    spaced = "".join(f" {c.lower()}" if c.isupper() else c for c in relation).replace("_", " ")
    return spaced.split() or ["linked"]
