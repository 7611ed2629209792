"""The knowledge graph: nodes and edges with labels and properties, read-only once built.

This is the paper's property graph G. Properties may change over time: a ``DatedValue`` is valid from a moment on.
Nodes, edges and bindings hold at all times (decision 0013); names and values that look as if they were dated are
noted. This module checks and indexes the records and answers look-ups. It must not read files (see
``thence.data.loaders``) and must not depend on ontologies, sensors or rules.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from thence.data.graph.records import (
    VALUE_RULE,
    DatedValue,
    Edge,
    Moment,
    Node,
    Value,
    Values,
    as_instant,
    is_value,
    list_values,
)
from thence.data.notebook import graph_html
from thence.errors import GraphError, nearest, require

if TYPE_CHECKING:
    import networkx as nx

Direction: TypeAlias = Literal["any", "out", "in"]
Labels: TypeAlias = str | Iterable[str] | None
History: TypeAlias = tuple[tuple[datetime, ...], tuple[Values | None, ...]]
_NO_HISTORY: Mapping[str, History] = MappingProxyType({})


class KnowledgeGraph:
    """A property graph: nodes and edges with labels and properties, indexed for look-ups.

    A graph is read-only; build a new one to change it.

    Args:
        nodes: The nodes.
        edges: The edges between them.
        dated: Property values of nodes and edges that change over time.
        property_units: The unit of each property where it is known, such as ``{"length": "m"}``.

    Raises:
        GraphError: If ids are duplicate, an edge refers to a missing node, or a property value is not a string, a
            finite number, a boolean or several of these. The error lists every problem.

    Examples:
        >>> graph = KnowledgeGraph(
        ...     [Node("Pipe 1", frozenset({"Pipe"}), {"length": 820.0}), Node("Junction 2", frozenset({"Junction"}))],
        ...     [Edge("e1", "Pipe 1", "Junction 2", frozenset({"ends_at"}))],
        ...     property_units={"length": "m"},
        ... )
        >>> graph.with_label("Pipe"), graph.neighbours("Junction 2"), graph.value("Pipe 1", "length")
        (('Pipe 1',), {'Pipe 1': 1}, 820.0)
    """

    def __init__(
        self,
        nodes: Iterable[Node],
        edges: Iterable[Edge] = (),
        *,
        dated: Iterable[DatedValue] = (),
        property_units: Mapping[str, str] | None = None,
    ) -> None:
        node_list, edge_list, dated_list = list(nodes), list(edges), list(dated)
        self._nodes = {node.id: node for node in node_list}
        self._edges = {edge.id: edge for edge in edge_list}
        problems = [
            *_identity_problems(node_list, edge_list),
            *_value_problems([*node_list, *edge_list]),
            *self._dated_problems(dated_list),
        ]
        if problems:
            raise GraphError(_list_problems("the graph is not valid", problems))
        self._units = dict(property_units or {})
        self._out: dict[str, list[Edge]] = defaultdict(list)
        self._in: dict[str, list[Edge]] = defaultdict(list)
        for edge in edge_list:
            self._out[edge.source].append(edge)
            self._in[edge.target].append(edge)
        by_label: dict[str, list[str]] = defaultdict(list)
        for node in node_list:
            for label in node.labels:
                by_label[label].append(node.id)
        self._by_label = {label: tuple(ids) for label, ids in by_label.items()}
        self._histories = _histories(dated_list)
        self._by_property: dict[str, tuple[str, ...]] | None = None
        self._by_value: dict[str, dict[tuple[bool, Value], tuple[str, ...]]] = {}

    def _dated_problems(self, dated: list[DatedValue]) -> list[str]:
        problems = []
        seen: dict[tuple[str, str, datetime], Values | None] = {}
        for item in dated:
            if item.subject not in self._nodes and item.subject not in self._edges:
                problems.append(f"dated value of '{item.property}': '{item.subject}' is not a node or edge")
            if item.value is not None and not is_value(item.value):
                problems.append(f"{item.subject}: dated '{item.property}' {VALUE_RULE}, got {item.value!r}")
            key = (item.subject, item.property, item.start)
            if key in seen:
                problems.append(
                    f"{item.subject}: '{item.property}' has two values from {item.start.isoformat()} on: "
                    f"{seen[key]!r} and {item.value!r}"
                )
            seen[key] = item.value
        return problems

    @property
    def nodes(self) -> Mapping[str, Node]:
        """All nodes by id, in the order given."""
        return MappingProxyType(self._nodes)

    @property
    def edges(self) -> Mapping[str, Edge]:
        """All edges by id, in the order given."""
        return MappingProxyType(self._edges)

    @property
    def property_units(self) -> Mapping[str, str]:
        """The unit of each property where it is known, such as ``{"length": "m"}``."""
        return MappingProxyType(self._units)

    @property
    def dated(self) -> tuple[DatedValue, ...]:
        """All dated values, ordered by subject and property as first given, then by start."""
        return tuple(
            DatedValue(subject, name, start, value)
            for subject, properties in self._histories.items()
            for name, (starts, values) in properties.items()
            for start, value in zip(starts, values, strict=True)
        )

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the nodes, sorted."""
        return tuple(sorted(self._by_label))

    @property
    def edge_labels(self) -> tuple[str, ...]:
        """The labels of the edges, sorted."""
        return tuple(sorted({label for edge in self._edges.values() for label in edge.labels}))

    def node(self, node_id: str) -> Node:
        """Return a node by its id.

        Args:
            node_id: The id of the node.

        Raises:
            GraphError: If there is no such node; the hint names the nearest id.
        """
        try:
            return self._nodes[node_id]
        except KeyError:
            raise GraphError(f"there is no node '{node_id}'", hint=nearest(node_id, self._nodes)) from None

    def with_label(self, label: str) -> tuple[str, ...]:
        """Return the ids of the nodes that have a label.

        Args:
            label: The label itself; ``Ontology.instances`` also finds nodes of its subclasses.
        """
        return self._by_label.get(label, ())

    def with_property(self, name: str, value: Value | None = None, *, at: Moment | None = None) -> tuple[str, ...]:
        """Return the ids of the nodes that have a property.

        Args:
            name: The property.
            value: Only nodes where this is a value of the property; ``None`` for any value. ``True`` does not match 1.
            at: The moment at which dated values are read; ``None`` for the last known value.
        """
        if self._by_property is None:
            by_property: dict[str, dict[str, None]] = defaultdict(dict)
            for node in self._nodes.values():
                for key in node.properties:
                    by_property[key][node.id] = None
            for subject, histories in self._histories.items():
                if subject in self._nodes:
                    for key in histories:
                        by_property[key][subject] = None
            self._by_property = {key: tuple(ids) for key, ids in by_property.items()}
        holders = self._by_property.get(name, ())
        if value is None:
            return holders
        wanted = _typed_key(value)
        if at is not None and self._histories:
            return tuple(i for i in holders if wanted in map(_typed_key, list_values(self.value(i, name, at))))
        if name not in self._by_value:
            index: dict[tuple[bool, Value], list[str]] = defaultdict(list)
            for holder in holders:
                for held in list_values(self.value(holder, name)):
                    index[_typed_key(held)].append(holder)
            self._by_value[name] = {key: tuple(ids) for key, ids in index.items()}
        return self._by_value[name].get(wanted, ())

    def out_edges(self, node_id: str, label: Labels = None) -> tuple[Edge, ...]:
        """Return the edges that start at a node.

        Args:
            node_id: The id of the node.
            label: Only edges with this label, or with one of these labels; ``None`` for all edges.
        """
        return _labelled(self._out.get(self.node(node_id).id, ()), label)

    def in_edges(self, node_id: str, label: Labels = None) -> tuple[Edge, ...]:
        """Return the edges that end at a node.

        Args:
            node_id: The id of the node.
            label: Only edges with this label, or with one of these labels; ``None`` for all edges.
        """
        return _labelled(self._in.get(self.node(node_id).id, ()), label)

    def neighbours(
        self,
        node_id: str,
        *,
        hops: int = 1,
        label: Labels = None,
        direction: Direction = "any",
    ) -> dict[str, int]:
        """Return the nodes within a number of hops and their distances, nearest first.

        Args:
            node_id: The node to start from; it is not part of the result.
            hops: The greatest distance, in edges.
            label: Follow only edges with this label, or with one of these labels; ``None`` for all edges.
            direction: Follow edges ``"out"`` (forward), ``"in"`` (backward), or ``"any"`` (both).

        Returns:
            Node id to distance.
        """
        if direction not in ("any", "out", "in"):
            raise GraphError(f"unknown direction '{direction}'", hint="use 'any', 'out' or 'in'")
        wanted = None if label is None else frozenset((label,) if isinstance(label, str) else label)
        distance = {self.node(node_id).id: 0}
        frontier = [node_id]
        for step in range(1, hops + 1):
            reached = []
            for here in frontier:
                ends = [(e, e.target) for e in self._out.get(here, ())] if direction != "in" else []
                ends += [(e, e.source) for e in self._in.get(here, ())] if direction != "out" else []
                for edge, end in ends:
                    if end not in distance and (wanted is None or wanted & edge.labels):
                        distance[end] = step
                        reached.append(end)
            if not reached:
                break
            frontier = reached
        del distance[node_id]
        return distance

    def value(self, subject_id: str, name: str, at: Moment | None = None) -> Values | None:
        """Return the value of a property, a tuple if there are several, or ``None`` if there is none.

        Before the first dated value, the undated value applies.

        Args:
            subject_id: The id of a node or edge.
            name: The property.
            at: The moment at which dated values are read; ``None`` for the last known value.

        Examples:
            >>> graph = KnowledgeGraph(
            ...     [Node("p", properties={"roughness": 130.0})],
            ...     dated=[DatedValue("p", "roughness", as_instant("2024-03-01"), 110.0)],
            ... )
            >>> graph.value("p", "roughness", "2023-12-31"), graph.value("p", "roughness")
            (130.0, 110.0)
        """
        record = self._edges.get(subject_id) or self.node(subject_id)
        history = self._histories.get(subject_id, {}).get(name)
        if history is None:
            return record.properties.get(name)
        starts, values = history
        position = len(starts) if at is None else bisect_right(starts, as_instant(at))
        return record.properties.get(name) if position == 0 else values[position - 1]

    def histories(self, subject_id: str) -> Mapping[str, History]:
        """Return the properties of a node or edge that change over time.

        Args:
            subject_id: The id of a node or edge.

        Returns:
            For each property its start times in order, and the value from each start time on.
        """
        return self._histories.get(subject_id, _NO_HISTORY)

    def subgraph(self, ids: Iterable[str]) -> KnowledgeGraph:
        """Return the graph of some nodes and of the edges between them.

        Args:
            ids: The ids of the nodes.
        """
        nodes = {node_id: self.node(node_id) for node_id in ids}
        edges = [e for e in self._edges.values() if e.source in nodes and e.target in nodes]
        subjects = nodes.keys() | {edge.id for edge in edges}
        dated = [item for item in self.dated if item.subject in subjects]
        return KnowledgeGraph(nodes.values(), edges, dated=dated, property_units=self._units)

    def to_dict(self) -> dict[str, Any]:
        """Return the graph as property-graph JSON, which ``read_graph`` reads back."""

        def plain(value: Values | None) -> Any:
            return list(value) if isinstance(value, tuple) else value

        def properties(record: Node | Edge) -> dict[str, Any]:
            content: dict[str, Any] = {name: plain(value) for name, value in record.properties.items()}
            for name, (starts, values) in self._histories.get(record.id, {}).items():
                undated = [{"from": None, "value": content[name]}] if name in content else []
                dated = [{"from": s.isoformat(), "value": plain(v)} for s, v in zip(starts, values, strict=True)]
                content[name] = undated + dated
            return content

        return {
            "nodes": [
                {"id": n.id, "labels": sorted(n.labels), "properties": properties(n)} for n in self._nodes.values()
            ],
            "edges": [
                {
                    "id": e.id,
                    "source": e.source,
                    "target": e.target,
                    "labels": sorted(e.labels),
                    "properties": properties(e),
                }
                for e in self._edges.values()
            ],
            "property_units": dict(self._units),
        }

    def to_networkx(self) -> nx.MultiDiGraph[str]:
        """Return the graph as a networkx multigraph.

        Labels (as ``labels``) and properties become attributes, edge ids become keys. Dated values and units become the
        graph attributes ``dated`` and ``property_units``.

        Raises:
            GraphError: If a property is called ``labels``.
            MissingExtraError: If networkx is not installed.
        """
        networkx = require("networkx", extra="networkx")
        taken = [n.id for n in self._nodes.values() if "labels" in n.properties]
        taken += [e.id for e in self._edges.values() if "labels" in e.properties]
        if taken:
            raise GraphError(
                f"the property name 'labels' is reserved for the labels in networkx, used by: {', '.join(taken)}",
                hint="rename the property, or use to_dict()",
            )
        result: nx.MultiDiGraph[str] = networkx.MultiDiGraph()
        for node in self._nodes.values():
            result.add_node(node.id)
            result.nodes[node.id].update(labels=sorted(node.labels), **node.properties)
        for edge in self._edges.values():
            result.add_edge(edge.source, edge.target, key=edge.id)
            result.edges[edge.source, edge.target, edge.id].update(labels=sorted(edge.labels), **edge.properties)
        result.graph["property_units"] = dict(self._units)
        result.graph["dated"] = [
            {"subject": d.subject, "property": d.property, "from": d.start.isoformat(), "value": d.value}
            for d in self.dated
        ]
        return result

    def describe(self) -> dict[str, Any]:
        """Return the size of the graph as a dict that JSON can hold.

        Returns:
            The numbers of ``nodes``, ``edges`` and ``dated_values``; and for ``labels``, ``edge_labels`` and
            ``properties`` (of nodes) the number of nodes or edges that have each, the most frequent first.

        Examples:
            >>> KnowledgeGraph([Node("Pipe 1", frozenset({"Pipe"}), {"length": 820.0})]).describe()["labels"]
            {'Pipe': 1}
        """
        labels = Counter(label for node in self._nodes.values() for label in node.labels)
        edge_labels = Counter(label for edge in self._edges.values() for label in edge.labels)
        properties = Counter(name for node in self._nodes.values() for name in node.properties)
        return {
            "nodes": len(self._nodes),
            "edges": len(self._edges),
            "labels": dict(labels.most_common()),
            "edge_labels": dict(edge_labels.most_common()),
            "properties": dict(properties.most_common()),
            "dated_values": len(self.dated),
        }

    def summary(self) -> str:
        """Return what ``describe`` returns, as text for people."""

        def tally(counts: Mapping[str, int]) -> str:
            return ", ".join(f"{name} {count}" for name, count in counts.items()) or "none"

        content = self.describe()
        lines = [
            f"{content['nodes']} nodes, {content['edges']} edges",
            f"  labels:     {tally(content['labels'])}",
            f"  edges:      {tally(content['edge_labels'])}",
            f"  properties: {tally(content['properties'])}",
        ]
        if content["dated_values"]:
            lines.append(f"  dated:      {content['dated_values']} values")
        return "\n".join(lines)

    def __len__(self) -> int:
        return len(self._nodes)

    def __contains__(self, node_id: object) -> bool:
        return node_id in self._nodes

    def _repr_html_(self) -> str:
        return graph_html(self)

    def __repr__(self) -> str:
        return f"KnowledgeGraph({len(self._nodes)} nodes, {len(self._edges)} edges)"


def _typed_key(value: Value) -> tuple[bool, Value]:
    """A look-up key that keeps ``True`` apart from 1 and 1.0, which are equal in Python."""
    return isinstance(value, bool), value


def _histories(dated: list[DatedValue]) -> dict[str, dict[str, History]]:
    """Dated values by subject and property, in order of time."""
    grouped: dict[str, dict[str, list[tuple[datetime, Values | None]]]] = defaultdict(lambda: defaultdict(list))
    for item in dated:
        grouped[item.subject][item.property].append((item.start, item.value))
    result: dict[str, dict[str, History]] = {}
    for subject, properties in grouped.items():
        result[subject] = {}
        for name, items in properties.items():
            items.sort(key=lambda item: item[0])
            result[subject][name] = (tuple(start for start, _ in items), tuple(value for _, value in items))
    return result


def _labelled(edges: Iterable[Edge], label: Labels) -> tuple[Edge, ...]:
    if label is None:
        return tuple(edges)
    wanted = frozenset((label,) if isinstance(label, str) else label)
    return tuple(edge for edge in edges if wanted & edge.labels)


def _list_problems(headline: str, problems: list[str]) -> str:
    return "\n  ".join([f"{headline}: {len(problems)} problem{'s' * (len(problems) > 1)}", *problems])


def _identity_problems(nodes: list[Node], edges: list[Edge]) -> list[str]:
    node_ids, edge_ids = Counter(n.id for n in nodes), Counter(e.id for e in edges)
    problems = [f"{count} nodes have the id '{i}'" for i, count in node_ids.items() if count > 1]
    problems += [f"{count} edges have the id '{i}'" for i, count in edge_ids.items() if count > 1]
    problems += [f"'{i}' is the id of a node and of an edge" for i in edge_ids if i in node_ids]
    for edge in edges:
        problems += [
            f"edge '{edge.id}' {verb} '{end}', which is not a node"
            for verb, end in (("starts at", edge.source), ("ends at", edge.target))
            if end not in node_ids
        ]
    return problems


def _value_problems(records: list[Node | Edge]) -> list[str]:
    return [
        f"{record.id}: property '{name}' {VALUE_RULE}, got {value!r}"
        for record in records
        for name, value in record.properties.items()
        if not is_value(value)
    ]


EACH_PERIOD = "make a system of each period, and mine them together"
"""What to do instead, for messages."""

_NAMES = frozenset(
    {
        *("from", "to", "until", "since", "start", "end", "begin"),
        *("validfrom", "validto", "validuntil", "validsince"),
        *("startdate", "enddate", "starttime", "endtime", "datefrom", "dateto"),
    }
)


def is_date_name(name: str) -> bool:
    """Return whether a property or column with this name usually says when something begins or ends.

    Examples:
        >>> is_date_name("valid_from"), is_date_name("length")
        (True, False)
    """
    return name.lower().replace("_", "").replace(" ", "").replace("-", "") in _NAMES


def note_dated_structure(graph: KnowledgeGraph) -> tuple[str, ...]:
    """Return a note if nodes or edges have dates of their own, which do not count.

    Args:
        graph: The graph.

    Examples:
        >>> pipe = Node("p", frozenset({"Pipe"}), {"valid_from": "2024-03-01"})
        >>> note_dated_structure(KnowledgeGraph([pipe]))[0].partition(":")[0]
        "1 node has a date ('valid_from'), but nodes and edges count at all times"
    """
    found = [
        (len(names), what, names[0])
        for what, names in (
            ("node", _date_names(graph.nodes.values())),
            ("edge", _date_names(graph.edges.values())),
        )
        if names
    ]
    if not found:
        return ()
    parts = [f"{count:,} {what}{'' if count == 1 else 's'}" for count, what, _ in found]
    one = len(found) == 1 and found[0][0] == 1
    dates = f"{'has a date' if one else 'have dates'} ('{found[0][2]}')"
    return (f"{' and '.join(parts)} {dates}, but nodes and edges count at all times: {EACH_PERIOD}",)


def _date_names(records: Iterable[Node | Edge]) -> list[str]:
    """The first such property of each record that has one."""
    named = [[name for name, value in record.properties.items() if _is_date(name, value)] for record in records]
    return [names[0] for names in named if names]


def _is_date(name: str, value: object) -> bool:
    if not is_date_name(name):
        return False
    try:
        return any(isinstance(one, str) and bool(as_instant(one)) for one in list_values(value))  # type: ignore[arg-type]
    except GraphError:
        return False
