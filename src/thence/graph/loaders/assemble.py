"""From records with a place in a file to a knowledge graph, with every mistake listed at once.

The loaders of tabular and JSON formats share it, so that a misspelt node id reads the same wherever it was written.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

from thence.errors import GraphError, nearest
from thence.graph.knowledge_graph import KnowledgeGraph
from thence.graph.records import DatedValue, Edge, Node, Value, as_instant, is_value

__all__ = ["Draft", "as_labels", "fail", "plain"]


@dataclass
class Draft:
    """Nodes, edges and dated values on their way into a graph, each with the place it was read from."""

    where: str
    nodes: list[tuple[Node, str]] = field(default_factory=list)
    edges: list[tuple[Edge, str]] = field(default_factory=list)
    unnamed: set[int] = field(default_factory=set)
    dated: list[tuple[DatedValue, str]] = field(default_factory=list)
    property_units: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def add_node(self, node_id: str, *, labels: Iterable[str], properties: Mapping[str, Any], place: str) -> None:
        self.nodes.append((Node(node_id, frozenset(labels), self._static(node_id, properties, place=place)), place))

    def add_edge(
        self,
        edge_id: str | None,
        source: str,
        target: str,
        *,
        labels: Iterable[str],
        properties: Mapping[str, Any],
        place: str,
    ) -> None:
        """Add an edge; without an id it is named after what it says, such as ``Pipe 1 ends_at Junction 2``."""
        labels = frozenset(labels)
        if not edge_id:
            edge_id = f"{source} {'/'.join(sorted(labels)) or '→'} {target}"
            self.unnamed.add(len(self.edges))
        static = self._static(edge_id, properties, place=place)
        self.edges.append((Edge(edge_id, source, target, labels, static), place))

    def add_dated(self, subject: str, name: str, start: Any, value: Any, *, place: str) -> None:
        try:
            moment = as_instant(start)
        except GraphError as error:
            self.problems.append(f"{place}: {subject}, '{name}': {error}")
            return
        except (AttributeError, TypeError):
            self.problems.append(f"{place}: {subject}, '{name}': 'from' is {start!r}, not a date")
            return
        if value is not None and not is_value(value):
            self.problems.append(f"{place}: {subject}, '{name}': value is {value!r}")
            return
        self.dated.append((DatedValue(subject, name, moment, value), place))

    def _static(self, subject: str, properties: Mapping[str, Any], *, place: str) -> dict[str, Value]:
        static: dict[str, Value] = {}
        for name, raw in properties.items():
            value = plain(raw)
            if is_history(value):
                for entry in value:
                    if entry["from"] is None:
                        static[name] = entry["value"]
                    else:
                        self.add_dated(subject, name, entry["from"], entry["value"], place=place)
            elif is_value(value):
                static[name] = value
            elif value is not None:
                self.problems.append(
                    f"{place}: {subject}: property '{name}' is {raw!r}, not a text, a finite number or a truth value"
                )
        return static

    def graph(self) -> KnowledgeGraph:
        """The graph, or one error that lists every problem with its place."""
        problems = list(self.problems)
        places: dict[str, str] = {}
        for node, place in self.nodes:
            if node.id in places:
                problems.append(f"{place}: node '{node.id}' exists already ({places[node.id]})")
            places.setdefault(node.id, place)
        node_ids = frozenset(places)
        edges: list[Edge] = []
        for position, (edge, place) in enumerate(self.edges):
            for end in dict.fromkeys((edge.source, edge.target)):
                if end not in node_ids:
                    # Near misses are a search over all ids: worth it for some, not for thousands.
                    advice = nearest(end, node_ids) if len(problems) < 25 else None
                    advice = f" ({advice})" if advice else ""
                    problems.append(f"{place}: edge '{edge.id}' leads to '{end}', which is not a node{advice}")
            if edge.id in places and position in self.unnamed:
                edge = replace(edge, id=_numbered(edge.id, places))
            elif edge.id in places:
                problems.append(f"{place}: id '{edge.id}' exists already ({places[edge.id]})")
            places.setdefault(edge.id, place)
            edges.append(edge)
        problems += [
            f"{place}: a dated '{item.property}' is about '{item.subject}', which is neither node nor edge"
            for item, place in self.dated
            if item.subject not in places
        ]
        if problems:
            fail(problems, where=self.where, hint="correct these places; nothing was loaded")
        try:
            return KnowledgeGraph(
                [node for node, _ in self.nodes],
                edges,
                dated=[item for item, _ in self.dated],
                property_units=self.property_units,
            )
        except GraphError as error:
            raise GraphError(error.message, where=self.where, hint=error.hint) from error


def _numbered(name: str, taken: Mapping[str, str]) -> str:
    return next(candidate for n in itertools.count(2) if (candidate := f"{name} #{n}") not in taken)


def plain(value: Any) -> Any:
    """A numpy scalar as the Python value it holds; NaN, which says that a value is missing, as ``None``.

    >>> plain(float("nan")) is None, plain(3)
    (True, 3)
    """
    item = getattr(value, "item", None)
    if callable(item) and not isinstance(value, str | int | float) and getattr(value, "shape", None) == ():
        value = item()
    return None if isinstance(value, float) and math.isnan(value) else value


def is_history(value: Any) -> bool:
    """Whether a property is written as dated values: ``[{"from": "2020-01-01", "value": 3}, …]``."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(entry, dict) and entry.keys() == {"from", "value"} for entry in value)
    )


def as_labels(raw: Any, *, place: str = "") -> frozenset[str]:
    """Labels from a list, or from text that separates them by ``;`` (or, as Neo4j exports them, by ``:``).

    A number stands for the label of that text.

    >>> sorted(as_labels("Pipe; Asset")), sorted(as_labels(":Pipe:Asset")), sorted(as_labels(3))
    (['Asset', 'Pipe'], ['Asset', 'Pipe'], ['3'])
    """
    raw = plain(raw)
    if raw is None:
        return frozenset()
    if isinstance(raw, str):
        separator = ":" if raw.startswith(":") else ";"
        return frozenset(part.strip() for part in raw.split(separator) if part.strip())
    if is_value(raw):
        return frozenset((str(raw),))
    if isinstance(raw, Mapping) or not isinstance(raw, Iterable):
        raise GraphError(f"the labels are {raw!r}", where=place or None, hint="write a text or a list of texts")
    return frozenset(str(part) for part in raw)


def fail(problems: list[str], *, where: str, hint: str) -> NoReturn:
    """Raise one error that lists all problems of a file."""
    count = f"{len(problems)} problem{'s' * (len(problems) > 1)}"
    raise GraphError("\n  ".join([count, *problems, hint]), where=where)
