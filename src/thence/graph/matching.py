"""Where a pattern occurs in a graph: its embeddings, found by joining index arrays.

Variables are injective: two variables never stand for the same node. Labels match through subclass-of when an ontology
is given. Embeddings that a symmetry of the pattern turns into one another are counted once. This module reads graphs
and returns arrays of node numbers; it knows nothing of readings.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from thence.errors import PatternError, nearest
from thence.graph.knowledge_graph import KnowledgeGraph
from thence.graph.ontology import Ontology
from thence.graph.patterns import BINDING, Link, Pattern, Step

__all__ = ["GraphIndex", "embeddings", "most_specific", "role_members", "upward", "upward_relations"]

Ints = npt.NDArray[np.int64]


def upward(labels: Iterable[str], ontology: Ontology | None) -> frozenset[str]:
    """Labels of a node with all their ancestors; labels that the ontology does not know stand for themselves."""
    found = set(labels)
    if ontology is not None:
        for label in tuple(found):
            if label in ontology.classes:
                found |= ontology.ancestors(label)
    return frozenset(found)


def most_specific(labels: Iterable[str], ontology: Ontology | None) -> str:
    """The label of a node that is not above another one; the first by name where several are."""
    ordered = sorted(labels)
    below = [x for x in ordered if not any(x in upward([y], ontology) for y in ordered if y != x)]
    return (below or ordered or [""])[0]


def upward_relations(labels: Iterable[str], ontology: Ontology | None) -> frozenset[str]:
    """Labels of an edge with all relations above them."""
    found = set(labels)
    if ontology is not None:
        for label in tuple(found):
            found |= {relation for relation in ontology.relations if ontology.is_relation(label, relation)}
    return frozenset(found)


@dataclass(frozen=True)
class _Adjacency:
    """Compressed rows: the neighbours of node ``v`` are ``targets[starts[v] : starts[v + 1]]``."""

    starts: Ints
    targets: Ints

    def expand(self, nodes: Ints) -> tuple[Ints, Ints]:
        """For each node its neighbours: positions into ``nodes`` and the neighbours themselves."""
        counts = self.starts[nodes + 1] - self.starts[nodes]
        origin = np.repeat(np.arange(len(nodes)), counts)
        within = np.arange(len(origin)) - np.repeat(np.cumsum(counts) - counts, counts)
        return origin, self.targets[np.repeat(self.starts[nodes], counts) + within]


@dataclass(frozen=True)
class GraphIndex:
    """A graph as arrays: nodes are numbers, labels are masks, each relation is an adjacency."""

    graph: KnowledgeGraph
    ontology: Ontology | None = None

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """Node ids in order."""
        return tuple(self.graph.nodes)

    @cached_property
    def number(self) -> Mapping[str, int]:
        """The number of each node id."""
        return {node: i for i, node in enumerate(self.ids)}

    @cached_property
    def _label_masks(self) -> dict[str, npt.NDArray[np.bool_]]:
        masks: dict[str, npt.NDArray[np.bool_]] = {}
        closed: dict[frozenset[str], frozenset[str]] = {}
        for i, node in enumerate(self.graph.nodes.values()):
            if node.labels not in closed:
                closed[node.labels] = upward(node.labels, self.ontology)
            for label in closed[node.labels]:
                if label not in masks:
                    masks[label] = np.zeros(len(self.ids), bool)
                masks[label][i] = True
        return masks

    @property
    def labels(self) -> tuple[str, ...]:
        """All labels that some node has, ancestors included."""
        return tuple(sorted(self._label_masks))

    def has_label(self, label: str) -> npt.NDArray[np.bool_]:
        """Which nodes have a label, directly or through a subclass; an unknown label is an error."""
        if not label:
            return np.ones(len(self.ids), bool)
        found = self._label_masks.get(label)
        if found is None:
            if self.ontology is not None and label in self.ontology.classes:
                return np.zeros(len(self.ids), bool)
            raise PatternError(f"no node of the graph is a '{label}'", hint=nearest(label, self._label_masks))
        return found

    @cached_property
    def _edges(self) -> dict[str, tuple[Ints, Ints]]:
        pairs: dict[str, tuple[list[int], list[int]]] = {}
        closed: dict[frozenset[str], frozenset[str]] = {}
        for edge in self.graph.edges.values():
            if edge.labels not in closed:
                closed[edge.labels] = upward_relations(edge.labels, self.ontology)
            for label in [*closed[edge.labels], ""]:
                sources, targets = pairs.setdefault(label, ([], []))
                sources.append(self.number[edge.source])
                targets.append(self.number[edge.target])
        return {label: (np.array(s, np.int64), np.array(t, np.int64)) for label, (s, t) in pairs.items()}

    @property
    def relations(self) -> tuple[str, ...]:
        """All edge labels, ancestors included."""
        return tuple(sorted(label for label in self._edges if label))

    def adjacency(self, label: str, direction: str) -> _Adjacency:
        """The neighbours along a relation: ``out``, ``in`` or ``any``."""
        key = (label, direction)
        if key not in self._adjacencies:
            self._adjacencies[key] = self._make_adjacency(label, direction)
        return self._adjacencies[key]

    @cached_property
    def _adjacencies(self) -> dict[tuple[str, str], _Adjacency]:
        return {}

    def _make_adjacency(self, label: str, direction: str) -> _Adjacency:
        if label not in self._edges:
            if self.ontology is not None and label in self.ontology.relations:
                sources = targets = np.zeros(0, np.int64)
            else:
                raise PatternError(f"no edge of the graph is labelled '{label}'", hint=nearest(label, self.relations))
        else:
            sources, targets = self._edges[label]
        if direction == "in":
            sources, targets = targets, sources
        elif direction == "any":
            sources, targets = np.concatenate([sources, targets]), np.concatenate([targets, sources])
        pairs = np.unique(np.stack([sources, targets], axis=1), axis=0)
        starts = np.searchsorted(pairs[:, 0], np.arange(len(self.ids) + 1))
        return _Adjacency(starts, pairs[:, 1])


def embeddings(
    pattern: Pattern,
    index: GraphIndex,
    *,
    allowed: Mapping[str, npt.NDArray[np.bool_]] | None = None,
    limit: int = 10_000_000,
) -> Ints:
    """All embeddings of a pattern: a row per match, a column per node variable (``pattern.nodes``), node numbers in it.

    ``allowed`` narrows variables to some nodes (those that carry the sensors that the pattern asks for).

    >>> from thence.graph.knowledge_graph import Edge, KnowledgeGraph, Node
    >>> def node(name, label): return Node(name, frozenset([label]), {})
    >>> def edge(name, a, b): return Edge(name, a, b, frozenset(["to"]), {})
    >>> nodes = [node("p", "Pipe"), node("j", "J"), node("k", "J")]
    >>> g = KnowledgeGraph(nodes, [edge("1", "p", "j"), edge("2", "p", "k")])
    >>> embeddings(Pattern.parse("(a:J)<-[to]-(p:Pipe)-[to]->(b:J)"), GraphIndex(g)).tolist()
    [[0, 1, 2]]
    """
    names = [v.name for v in pattern.nodes]
    masks = _label_masks(pattern, index)
    for name, mask in (allowed or {}).items():
        masks[name] = masks[name] & mask
    first, order = _join_order(pattern, masks)
    bound = {first: 0}
    rows = np.flatnonzero(masks[first])[:, None]
    for link in order:
        rows = _join(rows, bound, link, masks, index)
        if len(rows) > limit:
            raise PatternError(
                f"the pattern {pattern} has more than {limit:,} embeddings", hint="make it more specific, or shorter"
            )
    for name in names:
        if name not in bound:
            raise PatternError(f"variable '{name}' is not linked to the rest of the pattern {pattern}")
    rows = rows[:, [bound[name] for name in names]]
    return _once(rows, pattern, names)


def _label_masks(pattern: Pattern, index: GraphIndex) -> dict[str, npt.NDArray[np.bool_]]:
    """Which nodes each variable may stand for by its label."""
    try:
        return {v.name: index.has_label(v.label) for v in pattern.nodes}
    except PatternError as error:
        # (f:flow)-[IN]->(p:Pipe) asks for an edge between two nodes; who wrote it may have meant a sensor.
        capital = next((x.label for x in pattern.links if x.label != BINDING and x.label.lower() == BINDING), None)
        if capital is not None:
            bound = f"[{capital}] is an edge of the graph; a sensor is bound by [{BINDING}], in small letters"
            error.hint = "; ".join(filter(None, (error.hint, bound)))
        raise


def _join_order(pattern: Pattern, masks: Mapping[str, npt.NDArray[np.bool_]]) -> tuple[str, list[Link]]:
    """Start at the rarest variable and follow links that touch what is bound already."""
    first = min((v.name for v in pattern.nodes), key=lambda name: int(masks[name].sum()))
    bound, left, order = {first}, list(pattern.links), []
    while left:
        ready = next((link for link in left if link.source in bound or link.target in bound), None)
        if ready is None:
            break
        left.remove(ready)
        order.append(ready)
        bound |= {ready.source, ready.target}
    return first, order


def _join(
    rows: Ints, bound: dict[str, int], link: Link, masks: Mapping[str, npt.NDArray[np.bool_]], index: GraphIndex
) -> Ints:
    forward = link.source in bound
    known, new = (link.source, link.target) if forward else (link.target, link.source)
    direction = "any" if not link.directed else "out" if forward else "in"
    adjacency = index.adjacency(link.label, direction)
    origin, reached = adjacency.expand(rows[:, bound[known]])
    if new in bound:
        hits = origin[reached == rows[origin, bound[new]]]
        return np.asarray(rows[np.unique(hits)])
    keep = masks[new][reached] & ~(rows[origin] == reached[:, None]).any(axis=1)
    bound[new] = rows.shape[1]
    return np.column_stack([rows[origin[keep]], reached[keep]])


def _once(rows: Ints, pattern: Pattern, names: list[str]) -> Ints:
    """Of rows that a symmetry turns into one another keep the smallest; all rows in order."""
    for mapping in pattern.automorphisms():
        moved = rows[:, [names.index(mapping[name]) for name in names]]
        smaller = np.zeros(len(rows), bool)
        decided = np.zeros(len(rows), bool)
        for column in range(rows.shape[1]):
            smaller |= ~decided & (moved[:, column] < rows[:, column])
            decided |= moved[:, column] != rows[:, column]
        rows = rows[~smaller]
    return np.asarray(np.unique(rows, axis=0)) if len(rows) else rows


def role_members(steps: Iterable[Step], focus: Ints, index: GraphIndex) -> tuple[Ints, Ints]:
    """The nodes that each focus reaches by a path, once each and never itself: positions into ``focus``, and nodes."""
    origin, at = np.arange(len(focus)), focus
    for step in steps:
        where, reached = index.adjacency(step.label, step.direction).expand(at)
        keep = index.has_label(step.target)[reached]
        origin, at = origin[where[keep]], reached[keep]
        pairs = np.unique(np.stack([origin, at], axis=1), axis=0)
        origin, at = pairs[:, 0], pairs[:, 1]
    other = at != focus[origin]
    return origin[other], at[other]
