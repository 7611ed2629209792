"""Property values of nodes over the frames of a table.

A property without dates has one value for all frames. One with dates has, in each frame, the value that is valid at the
start of the window, or none if no value is valid then. This module looks up values; it builds no columns.
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

_FIRST = np.zeros(1, np.int64)


@dataclass(frozen=True)
class Fact:
    """The values of a property of a node.

    Args:
        values: The values that the property takes; ``None`` for no value.
        which: Position of the valid value: one entry, or one per frame.
    """

    values: tuple[Value | None, ...]
    which: npt.NDArray[np.int64]

    @property
    def is_known(self) -> bool:
        """Whether there is a value in some frame."""
        return any(value is not None for value in self.values)

    @property
    def series(self) -> npt.NDArray[Any]:
        """The value, or one per frame: numbers with NaN for no value, or strings and booleans with ``None``."""
        if are_numbers(self.values):
            return np.array([np.nan if v is None else float(v) for v in self.values])[self.which]
        plain = np.empty(len(self.values), dtype=object)
        plain[:] = [_category(value) for value in self.values]
        return np.asarray(plain[self.which])


def property_fact(graph: KnowledgeGraph, node: str, name: str, times: npt.NDArray[np.datetime64]) -> Fact:
    """Look up a property of a node.

    Args:
        graph: The graph.
        node: Id of the node.
        name: Name of the property.
        times: Start of each frame.

    Examples:
        >>> from thence.graph.knowledge_graph import DatedValue, Node
        >>> graph = KnowledgeGraph([Node("p")], dated=[DatedValue("p", "roughness", "2024-03-01", 110.0)])
        >>> fact = property_fact(graph, "p", "roughness", np.array(["2024-02-29", "2024-03-01"], "datetime64[us]"))
        >>> fact.series.tolist()
        [nan, 110.0]
    """
    undated = graph.node(node).properties.get(name)
    history = graph.histories(node).get(name)
    if history is None:
        return Fact((undated,), _FIRST)
    starts, values = history
    moments = np.array([start.replace(tzinfo=None) for start in starts], "datetime64[us]")
    used, which = np.unique(np.searchsorted(moments, times, side="right"), return_inverse=True)
    held = (undated, *values)
    return Fact(tuple(held[at] for at in used.tolist()), which.reshape(-1).astype(np.int64))


def are_numbers(values: Iterable[Value | None]) -> bool:
    """Return whether all values other than ``None`` are numbers."""
    return all(v is None or (isinstance(v, (int, float)) and not isinstance(v, bool)) for v in values)


def category_codes(values: Iterable[Value | None], name: str) -> tuple[Codes, tuple[Value, ...]]:
    """Encode the values of the property ``name`` as categories, −1 for no value; return the codes and categories."""
    plain = [_category(value) for value in values]
    known = tuple(sorted({v for v in plain if v is not None}, key=str))
    position = {value: code for code, value in enumerate(known)}
    codes = np.array([-1 if v is None else position[v] for v in plain], np.int64)
    return as_codes(
        codes, len(known), of=f"the property '{name}'", hint="name the properties to use: properties=[…]"
    ), known


def _category(value: Value | None) -> str | bool | None:
    return value if value is None or isinstance(value, (str, bool)) else str(value)
