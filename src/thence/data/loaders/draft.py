"""A graph under construction: records with their place in a file, and all problems found so far.

The loaders of tables, JSON, GraphML and networkx share it, so that the same mistake gives the same message in every
format. This module must not read files.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, cast

from thence.data.graph.knowledge_graph import EACH_PERIOD, KnowledgeGraph
from thence.data.graph.records import (
    VALUE_RULE,
    DatedValue,
    Edge,
    Node,
    Value,
    Values,
    as_instant,
    as_values,
    is_value,
    list_values,
)
from thence.errors import GraphError, nearest, quote

Record = TypeVar("Record", Node, Edge)
MISSING_WORDS = frozenset({"na", "n/a", "nan", "null", "none", "#n/a"})
"""What stands for a missing value among numbers, in lower case."""


@dataclass
class Draft:
    """Nodes, edges and dated values of a graph under construction, each with the place it was read from.

    Args:
        where: The file or object, for messages.
        nodes: The nodes so far.
        edges: The edges so far.
        unnamed: The positions of edges without an id of their own.
        dated: The dated values so far.
        property_units: The unit of each property where it is known.
        problems: The problems so far, each with its place.
    """

    where: str
    nodes: list[tuple[Node, str]] = field(default_factory=list)
    edges: list[tuple[Edge, str]] = field(default_factory=list)
    unnamed: set[int] = field(default_factory=set)
    dated: list[tuple[DatedValue, str]] = field(default_factory=list)
    property_units: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def add_node(self, node_id: str, *, labels: Iterable[str], properties: Mapping[str, Any], place: str) -> None:
        """Add a node that was read from ``place``."""
        self.nodes.append(
            (Node(node_id, frozenset(labels), self._split_dated(node_id, properties, place=place)), place)
        )

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
        """Add an edge that was read from ``place``; without an id it is called ``Pipe 1 ends_at Junction 2``."""
        labels = frozenset(labels)
        if not edge_id:
            edge_id = f"{source} {'/'.join(sorted(labels)) or '→'} {target}"
            self.unnamed.add(len(self.edges))
        static = self._split_dated(edge_id, properties, place=place)
        self.edges.append((Edge(edge_id, source, target, labels, static), place))

    def add_dated(self, subject: str, name: str, start: Any, value: Any, *, place: str) -> None:
        """Add a value of the property ``name`` of ``subject`` that was read from ``place``."""
        try:
            moment = as_instant(start)
        except GraphError as error:
            self.problems.append(f"{place}: {quote(subject)[1:-1]}, {quote(name)}: {error}")
            return
        except (AttributeError, TypeError):
            self.problems.append(
                f"{place}: {quote(subject)[1:-1]}, {quote(name)}: 'from' must be a date, got {_show(start)}"
            )
            return
        value = _listed(value)
        if value is not None and not is_value(value):
            self.problems.append(
                f"{place}: {quote(subject)[1:-1]}, {quote(name)}: value {VALUE_RULE}, got {_show(value)}"
            )
            return
        self.dated.append((DatedValue(subject, name, moment, value), place))

    def _split_dated(self, subject: str, properties: Mapping[str, Any], *, place: str) -> dict[str, Values]:
        """Add the dated values among some properties and return the others."""
        static: dict[str, Values] = {}
        for name, raw in properties.items():
            value = _listed(as_plain_value(raw))
            if is_history(value):
                for entry in value:
                    if entry["from"] is None:
                        static[name] = _listed(entry["value"])
                    else:
                        self.add_dated(subject, name, entry["from"], entry["value"], place=place)
            elif is_value(value):
                static[name] = value
            elif value is not None:
                self.problems.append(
                    f"{place}: {quote(subject)[1:-1]}: property {quote(name)} {VALUE_RULE}, got {_show(raw)}"
                )
        return static

    def graph(self) -> KnowledgeGraph:
        """Return the graph, or raise one error that lists every problem with its place."""
        problems = list(self.problems)
        places: dict[str, str] = {}
        for node, place in self.nodes:
            if node.id in places:
                problems.append(f"{place}: duplicate node id {quote(node.id)} (first at {places[node.id]})")
            places.setdefault(node.id, place)
        node_ids = frozenset(places)
        edges: list[Edge] = []
        numbers: dict[str, int] = {}
        for position, (edge, place) in enumerate(self.edges):
            for end in dict.fromkeys((edge.source, edge.target)):
                if end not in node_ids:
                    # Suggestions search all ids, which is too slow for thousands of problems.
                    advice = nearest(end, node_ids) if len(problems) < 25 else None
                    advice = f" ({advice})" if advice else ""
                    problems.append(
                        f"{place}: edge {quote(edge.id)} refers to {quote(end)}, which is not a node{advice}"
                    )
            if edge.id in places and position in self.unnamed:
                edge = replace(edge, id=_number_name(edge.id, places, numbers))
            elif edge.id in places:
                problems.append(f"{place}: duplicate id {quote(edge.id)} (first at {places[edge.id]})")
            places.setdefault(edge.id, place)
            edges.append(edge)
        problems += [
            f"{place}: dated value of {quote(item.property)}: {quote(item.subject)} is not a node or edge"
            for item, place in self.dated
            if item.subject not in places
        ]
        if problems:
            count = f"{len(problems)} problem{'s' * (len(problems) > 1)}"
            raise GraphError("\n  ".join([count, *problems, "correct these; nothing was loaded"]), where=self.where)
        try:
            return KnowledgeGraph(
                _without_words([node for node, _ in self.nodes]),
                _without_words(edges),
                dated=[item for item, _ in self.dated],
                property_units=self.property_units,
            )
        except GraphError as error:
            raise GraphError(error.message, where=self.where, hint=error.hint) from error


def _without_words(records: list[Record]) -> list[Record]:
    """The records without words for missing values of properties that are numbers elsewhere."""
    numeric: set[str] = set()
    words: set[str] = set()
    for record in records:
        for name, value in record.properties.items():
            for one in list_values(value):
                if isinstance(one, str):
                    if one.strip().lower() in MISSING_WORDS:
                        words.add(name)
                elif not isinstance(one, bool):
                    numeric.add(name)
    mixed = numeric & words
    if not mixed:
        return records

    def known(name: str, value: Values) -> Values:
        if name not in mixed:
            return value
        kept = [v for v in list_values(value) if not (isinstance(v, str) and v.strip().lower() in MISSING_WORDS)]
        return cast(Values, as_values(kept))

    return [
        replace(record, properties={n: v for n, value in record.properties.items() if (v := known(n, value)) != ()})
        for record in records
    ]


def _number_name(name: str, taken: Mapping[str, str], numbers: dict[str, int]) -> str:
    """The name with the first number that is free: ``a to b #2``; ``numbers`` keeps the last of each name."""
    for n in itertools.count(numbers.get(name, 1) + 1):
        numbers[name] = n
        if (candidate := f"{name} #{n}") not in taken:
            break
    return candidate


def as_plain_value(value: Any) -> Any:
    """Convert a numpy scalar to a Python value, and NaN (a missing value) to ``None``.

    Examples:
        >>> as_plain_value(float("nan")) is None, as_plain_value(3)
        (True, 3)
    """
    item = getattr(value, "item", None)
    if callable(item) and not isinstance(value, str | int | float) and getattr(value, "shape", None) == ():
        value = item()
    return None if isinstance(value, float) and math.isnan(value) else value


def parse_value(text: str, kind: str) -> Value | None:
    """Return text as a value, or ``None`` if it is not one.

    Args:
        text: The text.
        kind: ``"integer"``, ``"number"`` or ``"boolean"``.

    Examples:
        >>> parse_value("12", "integer"), parse_value("1_000", "integer"), parse_value("TRUE", "boolean")
        (12, None, True)
    """
    plain = text.strip()
    if kind == "boolean":
        return {"true": True, "1": True, "false": False, "0": False}.get(plain.lower())
    try:
        # Python reads 1_000 as a number.
        return None if "_" in plain else int(plain) if kind == "integer" else float(plain)
    except ValueError:
        return None


def _listed(value: Any) -> Any:
    """Several values in a fixed order, without missing ones; none of them is a missing value."""
    if not isinstance(value, list | tuple | set | frozenset) or is_history(value):
        return value
    known = as_values([one for one in map(as_plain_value, value) if one is not None])
    return known if known != () else None


def _show(value: Any) -> str:
    """A value in a message: strings in quotes, others as Python writes them, both of bounded length."""
    return quote(value) if isinstance(value, str) else quote(repr(value))[1:-1]


def is_history(value: Any) -> bool:
    """Whether ``value`` is a list of dated values: ``[{"from": "2020-01-01", "value": 3}, …]``."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(entry, dict) and entry.keys() == {"from", "value"} for entry in value)
    )


def as_labels(raw: Any, *, place: str = "") -> frozenset[str]:
    """Convert a list, or a string separated by ``;`` (or by ``:``, as Neo4j exports it), to a set of labels.

    A number or boolean becomes the label of its string form.

    Args:
        raw: The labels as they were read.
        place: Where they were read, for messages.

    Raises:
        GraphError: If ``raw`` is neither a string, a number nor a list.

    Examples:
        >>> sorted(as_labels("Pipe; Asset")), sorted(as_labels(":Pipe:Asset")), sorted(as_labels(3))
        (['Asset', 'Pipe'], ['Asset', 'Pipe'], ['3'])
    """
    raw = as_plain_value(raw)
    if raw is None:
        return frozenset()
    if isinstance(raw, str):
        separator = ":" if raw.startswith(":") else ";"
        return frozenset(part.strip() for part in raw.split(separator) if part.strip())
    if is_value(raw):
        return frozenset((str(raw),))
    if isinstance(raw, Mapping) or not isinstance(raw, Iterable):
        raise GraphError(f"labels must be a string or a list of strings, got {raw!r}", where=place or None)
    parts = [as_plain_value(part) for part in raw]
    for part in parts:
        if isinstance(part, Mapping):
            raise GraphError(
                f"a label must be a string, got {quote(repr(part))[1:-1]}",
                where=place or None,
                hint=f"labels hold at all times; {EACH_PERIOD}" if "from" in part else None,
            )
    return frozenset(str(part) for part in parts if part is not None)
