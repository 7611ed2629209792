"""The records of a knowledge graph: nodes, edges and dated property values.

Frozen dataclasses without look-ups. ``thence.data.graph.knowledge_graph`` checks and indexes them; this module must not
import it.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from types import MappingProxyType
from typing import Any, TypeAlias

from thence.errors import GraphError

Value: TypeAlias = str | float | int | bool
Values: TypeAlias = Value | tuple[Value, ...]
"""What a property has: a value, or several different ones in a fixed order."""
Moment: TypeAlias = str | date | datetime
_LARGEST = int(sys.float_info.max)
VALUE_RULE = "must be a string, a finite number or a boolean, or a list of these"
"""What ``is_value`` checks, for messages."""
_SEVERAL = (list, tuple, set, frozenset)


def _freeze(record: Node | Edge) -> None:
    """Store the labels as a frozen set and the properties as a read-only copy."""
    labels = record.labels
    object.__setattr__(record, "labels", frozenset((labels,) if isinstance(labels, str) else labels))
    held = {name: as_values(value) for name, value in record.properties.items()}
    object.__setattr__(record, "properties", MappingProxyType({name: v for name, v in held.items() if v != ()}))


@dataclass(frozen=True, slots=True)
class Node:
    """A node of the graph, such as a pipe, a room or a sensor.

    Args:
        id: Unique among all nodes and edges of a graph.
        labels: The classes of the node.
        properties: Property values by name: strings, finite numbers or booleans, or several of these.

    Examples:
        >>> Node("Pipe 12", frozenset({"Pipe"}), {"length": 820.0}).properties["length"]
        820.0
        >>> Node("Room 1", frozenset({"Room"}), {"use": ["office", "laboratory"]}).properties["use"]
        ('laboratory', 'office')
    """

    id: str
    labels: frozenset[str] = frozenset()
    properties: Mapping[str, Values] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        _freeze(self)

    def __reduce__(self) -> tuple[Any, ...]:
        # A mapping proxy cannot be pickled.
        return Node, (self.id, self.labels, dict(self.properties))


@dataclass(frozen=True, slots=True)
class Edge:
    """A directed edge between two nodes.

    Args:
        id: Unique among all nodes and edges of a graph.
        source: Id of the node where the edge starts.
        target: Id of the node where the edge ends.
        labels: The relations that the edge stands for.
        properties: Property values by name: strings, finite numbers or booleans, or several of these.

    Examples:
        >>> Edge("e1", "Pipe 12", "Junction 7", frozenset({"starts_at"})).target
        'Junction 7'
    """

    id: str
    source: str
    target: str
    labels: frozenset[str] = frozenset()
    properties: Mapping[str, Values] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        _freeze(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return Edge, (self.id, self.source, self.target, self.labels, dict(self.properties))


@dataclass(frozen=True, slots=True)
class DatedValue:
    """A property value of a node or edge that is valid from ``start`` until the next dated value.

    Args:
        subject: Id of the node or edge.
        property: Name of the property.
        start: When the value becomes valid; stored in UTC.
        value: The value, or several of them; ``None`` means that the property is unknown from ``start`` on.

    Examples:
        >>> DatedValue("Pipe 12", "roughness", as_instant("2024-03-01"), 110.0).start.year
        2024
    """

    subject: str
    property: str
    start: datetime
    value: Values | None

    def __post_init__(self) -> None:
        object.__setattr__(self, "start", as_instant(self.start))
        value = as_values(self.value)
        object.__setattr__(self, "value", None if value == () else value)


def as_instant(moment: Moment) -> datetime:
    """Convert an ISO 8601 string, a date (its midnight) or a datetime to a datetime in UTC.

    Args:
        moment: The moment; without a time zone it is taken as UTC.

    Raises:
        GraphError: If a string is not an ISO 8601 date or time.

    Examples:
        >>> as_instant("2024-03-01").isoformat()
        '2024-03-01T00:00:00+00:00'
    """
    if isinstance(moment, str):
        try:
            moment = datetime.fromisoformat(moment.strip())
        except ValueError as error:
            raise GraphError(f"'{moment}' is not a date", hint="write 2024-03-01 or 2024-03-01T12:00:00Z") from error
    if not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def as_values(value: Any) -> Any:
    """Return a list or set of values as a tuple in a fixed order, each once; one value as itself.

    Anything else, and a list of something else, is returned as it is, for ``is_value`` to refuse.

    Examples:
        >>> as_values(["b", "a", "b"]), as_values([3.0]), as_values("a")
        (('a', 'b'), 3.0, 'a')
    """
    if not isinstance(value, _SEVERAL):
        return value
    if not all(_is_single(one) for one in value):
        return value
    known = {(isinstance(one, bool), one): one for one in value}
    ordered = sorted(known.values(), key=lambda one: (isinstance(one, str), isinstance(one, bool), one))
    return ordered[0] if len(ordered) == 1 else tuple(ordered)


def list_values(value: Values | None) -> tuple[Value, ...]:
    """Return the values of a property: none, one or several.

    Examples:
        >>> list_values(None), list_values(3.0), list_values(("a", "b"))
        ((), (3.0,), ('a', 'b'))
    """
    return () if value is None else value if isinstance(value, tuple) else (value,)


def join_values(values: Iterable[Value]) -> str:
    """Return values as one text, separated by semicolons.

    Examples:
        >>> join_values(["Plant room", True])
        'Plant room; true'
    """
    return "; ".join(str(one).lower() if isinstance(one, bool) else str(one) for one in values)


def is_value(value: object) -> bool:
    """Whether ``value`` can be a property value: a string, a finite number or a boolean, or a tuple of these.

    Examples:
        >>> is_value(2.5), is_value(float("nan")), is_value((1, "a")), is_value([1]), is_value(())
        (True, False, True, False, False)
    """
    if isinstance(value, tuple):
        return bool(value) and all(_is_single(one) for one in value)
    return _is_single(value)


def _is_single(value: object) -> bool:
    if isinstance(value, int) and abs(value) > _LARGEST:
        return False
    return isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))
