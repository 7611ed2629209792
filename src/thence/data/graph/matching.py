"""The embeddings of a pattern in a graph, found by joining index arrays.

Embeddings are injective: two variables never match the same node. With an ontology, labels also match subclasses and
sub-relations. A sentence over ordered variables speaks of every ordered match, so a symmetric pattern has an embedding
for each order of its interchangeable variables, and nothing depends on the order of the nodes in a file. This module
reads graphs and returns arrays of node numbers; it must not depend on readings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from thence.data.graph.habits import canonical
from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.ontology import Ontology
from thence.errors import PatternError, nearest
from thence.language.patterns import BINDING, Link, Pattern, Step

Ints = npt.NDArray[np.int64]

_USES = frozenset({"FeatureOfInterest", "Platform"})
"""Classes of SOSA that many things have besides what they are."""


def with_ancestors(labels: Iterable[str], ontology: Ontology | None) -> frozenset[str]:
    """Return node ``labels`` and their superclasses; labels that ``ontology`` does not declare have none."""
    found = set(labels)
    if ontology is not None:
        for label in tuple(found):
            if label in ontology.classes:
                found |= ontology.ancestors(label)
    return frozenset(found)


def most_specific_label(labels: Iterable[str], ontology: Ontology | None) -> str:
    """Return the label in ``labels`` that ``ontology`` does not place above another; of several the first by name.

    Classes that say how a node is used and not what it is come last: a kitchen with observations is a kitchen.
    """
    ordered = sorted(labels)
    ordered = [label for label in ordered if label not in _USES] or ordered
    return _lowest(ordered, lambda label: with_ancestors([label], ontology))


def most_specific_relation(labels: Iterable[str], ontology: Ontology | None) -> str:
    """Return the label of an edge that ``ontology`` does not place above another; of several the first by name."""
    return _lowest(sorted(labels), lambda label: with_general_relations([label], ontology))


def _lowest(ordered: list[str], above: Callable[[str], frozenset[str]]) -> str:
    """The first label that is not above another one."""
    below = [x for x in ordered if not any(x in above(y) for y in ordered if y != x)]
    return (below or ordered or [""])[0]


def with_general_relations(labels: Iterable[str], ontology: Ontology | None) -> frozenset[str]:
    """Return edge ``labels`` and all more general relations of ``ontology``."""
    found = set(labels)
    if ontology is not None:
        for label in tuple(found):
            found |= {relation for relation in ontology.relations if ontology.is_relation(label, relation)}
    return frozenset(found)


@dataclass(frozen=True)
class _Adjacency:
    """Compressed sparse rows: the neighbours of node ``v`` are ``targets[starts[v] : starts[v + 1]]``."""

    starts: Ints
    targets: Ints

    def expand(self, nodes: Ints) -> tuple[Ints, Ints]:
        """Return the neighbours of ``nodes``: the position of each in ``nodes``, and the neighbour."""
        counts = self.starts[nodes + 1] - self.starts[nodes]
        origin = np.repeat(np.arange(len(nodes)), counts)
        within = np.arange(len(origin)) - np.repeat(np.cumsum(counts) - counts, counts)
        return origin, self.targets[np.repeat(self.starts[nodes], counts) + within]


@dataclass(frozen=True)
class GraphIndex:
    """A graph as arrays: nodes are numbers, labels are boolean masks, relations are adjacency lists.

    Args:
        graph: The knowledge graph.
        ontology: Superclasses and general relations to add to the labels.
    """

    graph: KnowledgeGraph
    ontology: Ontology | None = None

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The node ids, in the order of the graph."""
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
                closed[node.labels] = with_ancestors(node.labels, self.ontology)
            for label in closed[node.labels]:
                if label not in masks:
                    masks[label] = np.zeros(len(self.ids), bool)
                masks[label][i] = True
        return masks

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of all nodes, including superclasses."""
        return tuple(sorted(self._label_masks))

    def has_label(self, label: str) -> npt.NDArray[np.bool_]:
        """Return which nodes have a label, directly or through a subclass.

        Args:
            label: The label; an empty string for all nodes.

        Raises:
            PatternError: If neither the graph nor the ontology has the label.
        """
        if not label:
            return np.ones(len(self.ids), bool)
        found = self._label_masks.get(label)
        if found is None:
            if self.ontology is not None and label in self.ontology.classes:
                return np.zeros(len(self.ids), bool)
            raise PatternError(f"no node of the graph has the label '{label}'", hint=nearest(label, self._label_masks))
        return found

    @cached_property
    def _edges(self) -> dict[str, tuple[Ints, Ints]]:
        pairs: dict[str, tuple[list[int], list[int]]] = {}
        closed: dict[frozenset[str], frozenset[str]] = {}
        for edge in self.graph.edges.values():
            if edge.labels not in closed:
                closed[edge.labels] = with_general_relations(edge.labels, self.ontology)
            for label in [*closed[edge.labels], ""]:
                sources, targets = pairs.setdefault(label, ([], []))
                sources.append(self.number[edge.source])
                targets.append(self.number[edge.target])
        return {label: (np.array(s, np.int64), np.array(t, np.int64)) for label, (s, t) in pairs.items()}

    @property
    def relations(self) -> tuple[str, ...]:
        """The labels of all edges, including more general relations."""
        return tuple(sorted(label for label in self._edges if label))

    def is_symmetric(self, label: str) -> bool:
        """Return whether the ontology declares a relation symmetric: the direction of its edges means nothing."""
        relation = None if self.ontology is None else self.ontology.relations.get(label)
        return relation is not None and relation.symmetric

    def adjacency(self, label: str, direction: str) -> _Adjacency:
        """Return the neighbours along a relation.

        Args:
            label: The relation; an empty string for all edges.
            direction: ``"out"``, ``"in"`` or ``"any"``; a symmetric relation is always ``"any"``.

        Raises:
            PatternError: If neither the graph nor the ontology has the relation.
        """
        if label and label not in self._edges:
            # A pattern may name a relation as the file does, of which the graph has the inverse.
            label, direction = canonical(label, direction)
        key = (label, direction)
        if key not in self._adjacencies:
            self._adjacencies[key] = self._make_adjacency(label, direction)
        return self._adjacencies[key]

    @cached_property
    def _adjacencies(self) -> dict[tuple[str, str], _Adjacency]:
        return {}

    def _make_adjacency(self, label: str, direction: str) -> _Adjacency:
        if label not in self._edges:
            # A graph without edges has none for the empty label either, which stands for all of them.
            if not label or (self.ontology is not None and label in self.ontology.relations):
                sources = targets = np.zeros(0, np.int64)
            else:
                raise PatternError(f"no edge of the graph has the label '{label}'", hint=nearest(label, self.relations))
        else:
            sources, targets = self._edges[label]
        if direction == "any" or self.is_symmetric(label):
            sources, targets = np.concatenate([sources, targets]), np.concatenate([targets, sources])
        elif direction == "in":
            sources, targets = targets, sources
        pairs = np.unique(np.stack([sources, targets], axis=1), axis=0)
        starts = np.searchsorted(pairs[:, 0], np.arange(len(self.ids) + 1))
        return _Adjacency(starts, pairs[:, 1])


def find_embeddings(
    pattern: Pattern,
    index: GraphIndex,
    *,
    allowed: Mapping[str, npt.NDArray[np.bool_]] | None = None,
    limit: int = 10_000_000,
) -> Ints:
    """Find all embeddings of a pattern.

    Args:
        pattern: The pattern.
        index: The graph.
        allowed: For some node variables, which nodes they may match (those with the required sensors).
        limit: The greatest number of embeddings.

    Returns:
        Node numbers in ascending order: a row per embedding, a column per node variable (``pattern.nodes``).

    Raises:
        PatternError: If a label is unknown, the pattern is not connected, or there are more than ``limit`` embeddings.

    Examples:
        >>> from thence.data.graph.knowledge_graph import Edge, KnowledgeGraph, Node
        >>> def node(name, label): return Node(name, frozenset([label]), {})
        >>> def edge(name, a, b): return Edge(name, a, b, frozenset(["to"]), {})
        >>> nodes = [node("p", "Pipe"), node("j", "J"), node("k", "J")]
        >>> g = KnowledgeGraph(nodes, [edge("1", "p", "j"), edge("2", "p", "k")])
        >>> find_embeddings(Pattern.parse("(a:J)<-[to]-(p:Pipe)-[to]->(b:J)"), GraphIndex(g)).tolist()
        [[0, 1, 2], [0, 2, 1]]
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
                f"the pattern {pattern} has more than {limit:,} embeddings",
                hint="use more specific labels or a shorter pattern",
            )
    for name in names:
        if name not in bound:
            raise PatternError(f"variable '{name}' is not connected to the rest of the pattern {pattern}")
    rows = rows[:, [bound[name] for name in names]]
    return np.asarray(np.unique(rows, axis=0)) if len(rows) else rows


def _label_masks(pattern: Pattern, index: GraphIndex) -> dict[str, npt.NDArray[np.bool_]]:
    """Which nodes each variable may match by its label."""
    try:
        return {v.name: index.has_label(v.label) for v in pattern.nodes}
    except PatternError as error:
        # (f:flow)-[IN]->(p:Pipe) requires an edge between two nodes, but its author may have meant a sensor.
        capital = next((x.label for x in pattern.links if x.label != BINDING and x.label.lower() == BINDING), None)
        if capital is not None:
            advice = f"[{capital}] is an edge of the graph; bind a sensor with [{BINDING}] in lower case"
            error.hint = "; ".join(filter(None, (error.hint, advice)))
        raise


def _join_order(pattern: Pattern, masks: Mapping[str, npt.NDArray[np.bool_]]) -> tuple[str, list[Link]]:
    """The variable with the fewest nodes, and the links in an order that always extends the variables bound so far."""
    first = min((v.name for v in pattern.nodes), key=lambda name: int(masks[name].sum()))
    bound, remaining, order = {first}, list(pattern.links), []
    while remaining:
        ready = next((link for link in remaining if link.source in bound or link.target in bound), None)
        if ready is None:
            break
        remaining.remove(ready)
        order.append(ready)
        bound |= {ready.source, ready.target}
    return first, order


def _join(
    rows: Ints, bound: dict[str, int], link: Link, masks: Mapping[str, npt.NDArray[np.bool_]], index: GraphIndex
) -> Ints:
    """Extend rows by the variable at the other end of a link, or filter them if both ends are bound already."""
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


def find_role_members(steps: Iterable[Step], focus: Ints, index: GraphIndex) -> tuple[Ints, Ints]:
    """Find the nodes that each focus reaches along a path, each once and without the focus itself.

    Args:
        steps: The path.
        focus: The numbers of the focus nodes.
        index: The graph.

    Returns:
        For each node reached, the position of its focus in ``focus``, and its number.
    """
    origin, at = np.arange(len(focus)), focus
    for step in steps:
        where, reached = index.adjacency(step.label, step.direction).expand(at)
        keep = index.has_label(step.target)[reached]
        origin, at = origin[where[keep]], reached[keep]
        pairs = np.unique(np.stack([origin, at], axis=1), axis=0)
        origin, at = pairs[:, 0], pairs[:, 1]
    other = at != focus[origin]
    return origin[other], at[other]
