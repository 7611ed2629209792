"""What the graph says of a node, over the frames of a table: one value, or the value in force at the start of each.

A property without dates has one value for all frames. One with dates has the value that holds at the start of each
window, and none where nothing is known yet or any more. This module looks values up; it makes no columns.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from thence.graph.knowledge_graph import KnowledgeGraph
from thence.rules.items import Value
from thence.tables.blocks import Codes, as_codes

__all__ = ["Fact", "are_numbers", "category_codes", "property_fact"]

_THE_ONLY_ONE = np.zeros(1, np.int64)


@dataclass(frozen=True)
class Fact:
    """A property of a node: the values that it takes, and which of them holds (one entry, or one per frame)."""

    values: tuple[Value | None, ...]
    which: npt.NDArray[np.int64]

    @property
    def is_known(self) -> bool:
        """Whether there is a value in any frame."""
        return any(value is not None for value in self.values)

    @property
    def series(self) -> npt.NDArray[Any]:
        """The value, or one per frame: numbers with NaN for none, or texts and truth values with ``None``."""
        if are_numbers(self.values):
            return np.array([np.nan if v is None else float(v) for v in self.values])[self.which]
        plain = np.empty(len(self.values), dtype=object)
        plain[:] = [_category(value) for value in self.values]
        return np.asarray(plain[self.which])


def property_fact(graph: KnowledgeGraph, node: str, name: str, times: npt.NDArray[np.datetime64]) -> Fact:
    """A property of a node over frames that start at these times.

    >>> from thence.graph.knowledge_graph import DatedValue, Node
    >>> graph = KnowledgeGraph([Node("p")], dated=[DatedValue("p", "roughness", "2024-03-01", 110.0)])
    >>> fact = property_fact(graph, "p", "roughness", np.array(["2024-02-29", "2024-03-01"], "datetime64[us]"))
    >>> fact.series.tolist()
    [nan, 110.0]
    """
    undated = graph.node(node).properties.get(name)
    history = graph.histories(node).get(name)
    if history is None:
        return Fact((undated,), _THE_ONLY_ONE)
    starts, values = history
    moments = np.array([start.replace(tzinfo=None) for start in starts], "datetime64[us]")
    used, which = np.unique(np.searchsorted(moments, times, side="right"), return_inverse=True)
    held = (undated, *values)
    return Fact(tuple(held[at] for at in used.tolist()), which.reshape(-1).astype(np.int64))


def are_numbers(values: Iterable[Value | None]) -> bool:
    """Whether these are numbers where they are anything."""
    return all(v is None or (isinstance(v, (int, float)) and not isinstance(v, bool)) for v in values)


def category_codes(values: Iterable[Value | None], name: str) -> tuple[Codes, tuple[Value, ...]]:
    """Codes of the values of a property as categories, −1 for none, and the categories in order."""
    plain = [_category(value) for value in values]
    known = tuple(sorted({v for v in plain if v is not None}, key=str))
    position = {value: code for code, value in enumerate(known)}
    codes = np.array([-1 if v is None else position[v] for v in plain], np.int64)
    return as_codes(codes, len(known), of=f"the property '{name}'", hint="properties=[…] names those to use"), known


def _category(value: Value | None) -> str | bool | None:
    return value if value is None or isinstance(value, (str, bool)) else str(value)
