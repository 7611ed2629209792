"""What a knowledge graph is made of: nodes, edges and values that hold from a date on.

Plain frozen records with no look-ups; ``thence.graph.knowledge_graph`` puts them together and checks them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from types import MappingProxyType
from typing import Any, TypeAlias

from thence.errors import GraphError

__all__ = ["DatedValue", "Edge", "Moment", "Node", "Value", "as_instant", "is_value"]

Value: TypeAlias = str | float | int | bool
Moment: TypeAlias = str | date | datetime


def _freeze(element: Node | Edge) -> None:
    labels = element.labels
    object.__setattr__(element, "labels", frozenset((labels,) if isinstance(labels, str) else labels))
    object.__setattr__(element, "properties", MappingProxyType(dict(element.properties)))


@dataclass(frozen=True, slots=True)
class Node:
    """A thing in the graph: a pipe, a room, a sensor.

    >>> Node("Pipe 12", frozenset({"Pipe"}), {"length": 820.0}).properties["length"]
    820.0
    """

    id: str
    labels: frozenset[str] = frozenset()
    properties: Mapping[str, Value] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        _freeze(self)

    def __reduce__(self) -> tuple[Any, ...]:
        # A mapping proxy cannot be pickled.
        return Node, (self.id, self.labels, dict(self.properties))


@dataclass(frozen=True, slots=True)
class Edge:
    """A directed relation between two nodes.

    >>> Edge("e1", "Pipe 12", "Junction 7", frozenset({"starts_at"})).target
    'Junction 7'
    """

    id: str
    source: str
    target: str
    labels: frozenset[str] = frozenset()
    properties: Mapping[str, Value] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        _freeze(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return Edge, (self.id, self.source, self.target, self.labels, dict(self.properties))


@dataclass(frozen=True, slots=True)
class DatedValue:
    """A property value of a node or edge that holds from ``start`` until the next one.

    ``start`` is kept in UTC. The value ``None`` says that from then on the property is unknown.

    >>> DatedValue("Pipe 12", "roughness", as_instant("2024-03-01"), 110.0).start.year
    2024
    """

    subject: str
    property: str
    start: datetime
    value: Value | None

    def __post_init__(self) -> None:
        object.__setattr__(self, "start", as_instant(self.start))


def as_instant(moment: Moment) -> datetime:
    """A moment in UTC from ISO text, a date (its midnight) or a datetime; without a zone it is taken as UTC.

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


def is_value(value: object) -> bool:
    """Whether this can be the value of a property: text, a finite number or a truth value.

    >>> is_value(2.5), is_value(float("nan")), is_value([1])
    (True, False, False)
    """
    return isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))
