"""Patterns that a graph has by itself: paths between nodes that carry sensors, and stars around them.

Paths are sequences of classes and relations between two sensor-carrying nodes. Stars gather, around a focus, the
readings of its neighbours by role (relation, direction, class). Which patterns are worth a rule is decided later, by
counting; here everything with enough embeddings is kept. This module looks at the graph and at which node carries
which kind of sensor, never at readings.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from thence.errors import BindingError, PatternError, nearest
from thence.graph.knowledge_graph import KnowledgeGraph
from thence.graph.matching import GraphIndex, most_specific, role_members, upward
from thence.graph.ontology import Ontology
from thence.graph.patterns import Link, NodeVariable, Pattern, Role, SensorVariable, Step
from thence.readings.sensors import SensorData

__all__ = ["Carriers", "discover", "discover_patterns"]

Ints = npt.NDArray[np.int64]

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_DIRECTIONS = ("out", "in")


@dataclass(frozen=True)
class Carriers:
    """Which nodes carry which kinds of sensors: ``sensors[kind][node number]`` lists sensor ids."""

    index: GraphIndex
    sensors: Mapping[str, Mapping[int, tuple[str, ...]]]

    @staticmethod
    def of(index: GraphIndex, kind_of: Mapping[str, str], node_of: Mapping[str, str]) -> Carriers:
        """From the kind of each sensor and the node it is bound to."""
        found: dict[str, dict[int, list[str]]] = {}
        for sensor, kind in kind_of.items():
            node = node_of.get(sensor)
            if node is not None:
                if node not in index.number:
                    raise BindingError(
                        f"sensor '{sensor}' is bound to '{node}', which is no node of the graph",
                        hint=nearest(str(node), index.ids),
                    )
                found.setdefault(kind, {}).setdefault(index.number[node], []).append(sensor)
        frozen = {k: {n: tuple(ids) for n, ids in nodes.items()} for k, nodes in sorted(found.items())}
        return Carriers(index, frozen)

    def with_known_kinds(self, pattern: Pattern) -> Pattern:
        """The pattern with its kinds as the sensors spell them, where only capitals differ."""
        return replace(
            pattern,
            sensors=tuple(replace(s, kind=self._known_kind(s.kind)) for s in pattern.sensors),
            roles=tuple(replace(role, kind=self._known_kind(role.kind)) for role in pattern.roles),
        )

    def _known_kind(self, kind: str) -> str:
        alike = [known for known in self.sensors if known.casefold() == kind.casefold()]
        if kind in alike or not alike:
            return kind
        if len(alike) > 1:
            raise PatternError(f"the kind '{kind}' may be {' or '.join(alike)}", hint="write it with its capitals")
        return alike[0]

    def mask(self, kind: str | None = None) -> npt.NDArray[np.bool_]:
        """The nodes that carry a kind, or any sensor."""
        out = np.zeros(len(self.index.ids), bool)
        for name, nodes in self.sensors.items():
            if kind is None or name == kind:
                out[list(nodes)] = True
        return out

    def kinds_at(self, nodes: Iterable[int]) -> tuple[str, ...]:
        """The kinds that some of these nodes carry."""
        wanted = set(map(int, nodes))
        return tuple(kind for kind, where in self.sensors.items() if not wanted.isdisjoint(where))


@dataclass
class _Found:
    """Patterns so far, without those that match the same nodes."""

    patterns: list[Pattern] = field(default_factory=list)
    seen: set[bytes] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)

    def add(self, pattern: Pattern, rows: Ints) -> None:
        # A relation and its inverse describe the same embeddings; the first description is enough.
        ordered = np.sort(rows, axis=1)
        key = np.unique(ordered, axis=0).tobytes() + str(sorted(s.kind for s in pattern.sensors)).encode()
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
) -> tuple[list[Pattern], list[str]]:
    """All patterns up to ``hops`` edges with enough embeddings, and notes on what was left out and why."""
    found = _Found()
    if stars:
        _stars(carriers, hops, min_embeddings, found)
    if paths:
        _paths(carriers, hops, min_embeddings, max_embeddings, found)
    return found.patterns, found.notes


def discover_patterns(
    graph: KnowledgeGraph,
    sensors: SensorData,
    binding: Mapping[str, str],
    *,
    ontology: Ontology | None = None,
    hops: int = 2,
    min_embeddings: int = 3,
    max_embeddings: int = 200_000,
    paths: bool = True,
    stars: bool = True,
) -> tuple[Pattern, ...]:
    """The patterns that a graph has by itself: label paths between sensors, and stars around them.

    >>> import thence as th
    >>> data = th.datasets.load("toy")
    >>> found = th.discover_patterns(data.graph, data.sensors, data.binding, ontology=data.ontology, min_embeddings=2)
    >>> all(isinstance(pattern, th.Pattern) for pattern in found)
    True
    """
    index = GraphIndex(graph, ontology)
    kinds = {sensor.id: sensor.kind for sensor in sensors.sensors}
    carriers = Carriers.of(index, kinds, dict(binding))
    patterns, _ = discover(
        carriers,
        hops=hops,
        min_embeddings=min_embeddings,
        max_embeddings=max_embeddings,
        paths=paths,
        stars=stars,
    )
    return tuple(patterns)


def _specific_labels(index: GraphIndex) -> npt.NDArray[np.object_]:
    known: dict[frozenset[str], str] = {}
    for node in index.graph.nodes.values():
        if node.labels not in known:
            known[node.labels] = most_specific(node.labels, index.ontology)
    return np.array([known[node.labels] for node in index.graph.nodes.values()], dtype=object)


def _base_relations(graph: KnowledgeGraph) -> list[str]:
    return sorted({label for edge in graph.edges.values() for label in edge.labels})


def _name(label: str, taken: Iterable[str]) -> str:
    """A short variable name: the first letter of the class, or the next one that is free."""
    used = set(taken)
    first = (label[:1] or "n").lower()
    if first not in _LETTERS:
        first = "n"
    for offset in range(len(_LETTERS)):
        name = _LETTERS[(_LETTERS.index(first) + offset) % len(_LETTERS)]
        if name not in used:
            return name
    return f"v{len(used)}"


def _sensor_variables(host: str, kinds: tuple[str, ...]) -> list[SensorVariable]:
    """A variable for each kind; where there are several, a node may lack some of them."""
    return [SensorVariable(f"{kind}_{host}", kind, host, optional=len(kinds) > 1) for kind in kinds]


@dataclass(frozen=True)
class _Path:
    """A sequence of classes joined by (relation, direction), and the node numbers that follow it."""

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
        flipped = tuple((r, "in" if d == "out" else "out") for r, d in reversed(self.steps))
        return _Path(self.labels[::-1], flipped, self.rows).key


def _paths(carriers: Carriers, hops: int, least: int, most: int, found: _Found) -> None:
    index = carriers.index
    labels = _specific_labels(index)
    carrying = carriers.mask()
    relations = _base_relations(index.graph)
    frontier = [
        _Path((str(label),), (), np.flatnonzero(carrying & (labels == label))[:, None])
        for label in sorted(set(labels[carrying]))
    ]
    for _ in range(hops):
        longer: list[_Path] = []
        for path in frontier:
            for relation in relations:
                for direction in _DIRECTIONS:
                    longer += _extend(path, relation, direction, labels, index, least, most, found)
        for path in longer:
            ends = path.rows[carrying[path.rows[:, -1]]]
            if len(ends) >= least and path.key <= path.mirrored_key:
                found.add(_path_pattern(path, ends, carriers), ends)
        frontier = longer


def _extend(
    path: _Path,
    relation: str,
    direction: str,
    labels: npt.NDArray[np.object_],
    index: GraphIndex,
    least: int,
    most: int,
    found: _Found,
) -> list[_Path]:
    origin, reached = index.adjacency(relation, direction).expand(path.rows[:, -1])
    fresh = ~(path.rows[origin] == reached[:, None]).any(axis=1)
    origin, reached = origin[fresh], reached[fresh]
    out = []
    for label in sorted(set(labels[reached])):
        chosen = labels[reached] == label
        count = int(chosen.sum())
        if count > most:
            found.notes.append(f"a path over {relation} to {label} has {count:,} matches, more than {most:,}: left out")
        elif count >= least:
            rows = np.column_stack([path.rows[origin[chosen]], reached[chosen]])
            out.append(_Path((*path.labels, str(label)), (*path.steps, (relation, direction)), rows))
    return out


def _path_pattern(path: _Path, rows: Ints, carriers: Carriers) -> Pattern:
    names: list[str] = []
    for label in path.labels:
        names.append(_name(label, names))
    links = []
    for at, (relation, direction) in enumerate(path.steps):
        ends = (names[at], names[at + 1]) if direction == "out" else (names[at + 1], names[at])
        links.append(Link(*ends, relation))
    sensors: list[SensorVariable] = []
    for at, name in enumerate(names):
        kinds = carriers.kinds_at(rows[:, at])
        inner = 0 < at < len(names) - 1
        made = _sensor_variables(name, kinds)
        carried = carriers.mask()[rows[:, at]].all()
        if not inner or carried:
            sensors += made
    nodes = tuple(NodeVariable(n, label) for n, label in zip(names, path.labels, strict=True))
    return Pattern(nodes, tuple(links), tuple(sensors))


def _focus_classes(carriers: Carriers, labels: npt.NDArray[np.object_]) -> list[tuple[str, Ints]]:
    """Classes whose members are alike: same relations around them, a kind in common. Each with its nodes.

    Junctions, tanks and reservoirs all have pipes that start and end there and a pressure, so they are one class of
    foci: their nearest common ancestor. Without an ontology every class stands for itself.
    """
    index = carriers.index
    around: dict[str, set[tuple[str, str]]] = {}
    for edge in index.graph.edges.values():
        for relation in {_highest(label, index.ontology) for label in edge.labels}:
            around.setdefault(str(labels[index.number[edge.source]]), set()).add((relation, "out"))
            around.setdefault(str(labels[index.number[edge.target]]), set()).add((relation, "in"))
    carrying = carriers.mask()
    groups: list[list[str]] = []
    for label in sorted(set(map(str, labels[carrying]))):
        kinds = set(carriers.kinds_at(np.flatnonzero(labels == label)))
        for group in groups:
            member = group[0]
            alike = around.get(member) == around.get(label)
            shared = kinds & set(carriers.kinds_at(np.flatnonzero(np.isin(labels, group))))
            if alike and shared and _common_ancestor([*group, label], index.ontology):
                group.append(label)
                break
        else:
            groups.append([label])
    return [
        (_common_ancestor(group, index.ontology) or group[0], np.flatnonzero(np.isin(labels, group)))
        for group in groups
    ]


def _common_ancestor(labels: list[str], ontology: Ontology | None) -> str | None:
    if len(labels) == 1:
        return labels[0]
    shared = frozenset.intersection(*(upward([label], ontology) for label in labels))
    if not shared or ontology is None:
        return None
    return min(shared, key=lambda name: (len(ontology.descendants(name)) if name in ontology.classes else 0, name))


def _stars(carriers: Carriers, hops: int, least: int, found: _Found) -> None:
    labels = _specific_labels(carriers.index)
    for label, nodes in _focus_classes(carriers, labels):
        if len(nodes) < least:
            continue
        roles = _roles(carriers, labels, label, nodes, hops, least)
        kinds = carriers.kinds_at(nodes)
        if not roles or not kinds:
            continue
        name = _name(label, ())
        pattern = Pattern((NodeVariable(name, label),), (), tuple(_sensor_variables(name, kinds)), tuple(roles))
        found.add(pattern, nodes[:, None])


def _roles(
    carriers: Carriers, labels: npt.NDArray[np.object_], focus: str, nodes: Ints, hops: int, least: int
) -> list[Role]:
    """Roles one edge away by relation and direction; two edges away along a relation as general as the ontology has."""
    index = carriers.index
    made: list[Role] = []
    taken: set[tuple[str, str]] = set()

    def consider(steps: tuple[Step, ...]) -> None:
        origin, members = role_members(steps, nodes, index)
        for kind in carriers.kinds_at(members):
            carried = carriers.mask(kind)[members]
            if len(np.unique(origin[carried])) < least:
                continue
            name = _role_name(steps, focus)
            if (name, kind) not in taken:
                taken.add((name, kind))
                made.append(Role(name, steps, kind))

    first: list[Step] = []
    for relation in _base_relations(index.graph):
        for direction in _DIRECTIONS:
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
            if np.isin(reached, nodes).any():
                between = Step(relation, "any", _covering_class(labels[middle], index.ontology))
                consider((between, Step(relation, "any", focus)))
    return made


def _covering_class(labels: npt.NDArray[np.object_], ontology: Ontology | None) -> str:
    """The most specific class that all of these are; any node where there is none."""
    return _common_ancestor(sorted(set(map(str, labels))), ontology) or ""


def _general_relations(index: GraphIndex) -> list[str]:
    """Each relation by its highest ancestor, once: ``starts_at`` and ``ends_at`` are both ``connected``."""
    return sorted({_highest(relation, index.ontology) for relation in _base_relations(index.graph)})


def _highest(relation: str, ontology: Ontology | None) -> str:
    if ontology is None:
        return relation
    above = [name for name in ontology.relations if ontology.is_relation(relation, name)]
    return max(above, key=lambda name: (len(ontology.relations_within(name)), name), default=relation)


def _role_name(steps: tuple[Step, ...], focus: str) -> str:
    """A role in words, from the point of view of the focus: ``Pipes that end there``, ``Junctions one Pipe away``."""
    if len(steps) == 2 and all(step.direction == "any" for step in steps):
        return f"{steps[1].target or 'node'}s one {steps[0].target or 'node'} away"
    return " by ".join(_step_name(step) for step in reversed(steps))


def _step_name(step: Step) -> str:
    plural = f"{step.target or 'node'}s".replace("_", " ")
    words = _words(step.label)
    if step.direction == "any":
        return f"{plural} {' '.join(words)} there" if words else f"{plural} next to it"
    if step.direction == "out":
        return f"{plural} it {' '.join(words)}"
    verb = {"has": "have", "is": "are"}.get(words[0], words[0].removesuffix("s"))
    rest = words[1:]
    if rest and rest[-1] in ("at", "in", "on"):
        return f"{plural} that {' '.join([verb, *rest[:-1]])} there"
    return f"{plural} that {' '.join([verb, 'it', *rest])}"


def _words(relation: str) -> list[str]:
    """``hasPoint`` and ``has_point`` are both "has point"."""
    spaced = "".join(f" {c.lower()}" if c.isupper() else c for c in relation).replace("_", " ")
    return spaced.split() or ["linked"]
