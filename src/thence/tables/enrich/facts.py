"""Property values of nodes and edges over the frames of a table.

A property without dates has one value for all frames, or several. One with dates has, in each frame, what is valid at
the start of the window, or nothing. This module looks up values and encodes them; it builds no columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.records import Values, as_values, list_values
from thence.language.items import Value
from thence.tables.blocks import Codes, as_codes

_FIRST = np.zeros(1, np.int64)


@dataclass(frozen=True)
class Fact:
    """The values of a property of a node or an edge.

    Args:
        values: The values that the property takes, one after the other: ``None`` for none, a tuple for several.
        which: Position of what is valid: one entry, or one per frame.
    """

    values: tuple[Values | None, ...]
    which: npt.NDArray[np.int64]

    @property
    def is_known(self) -> bool:
        """Whether there is a value in some frame."""
        return any(value is not None for value in self.values)

    @property
    def has_several(self) -> bool:
        """Whether there are several values at the same time."""
        return any(isinstance(value, tuple) for value in self.values)

    @property
    def members(self) -> tuple[Value, ...]:
        """All values that there are."""
        return tuple(one for value in self.values for one in list_values(value))

    @property
    def series(self) -> npt.NDArray[Any]:
        """The value, or one per frame: numbers with NaN for no value, or strings and booleans with ``None``.

        Only of a property that never has several values.
        """
        single = [next(iter(list_values(value)), None) for value in self.values]
        if are_numbers(single):
            return np.array([np.nan if v is None else float(v) for v in single])[self.which]
        plain = np.empty(len(single), dtype=object)
        plain[:] = [_category(value) for value in single]
        return np.asarray(plain[self.which])


def property_fact(graph: KnowledgeGraph, subject: str, name: str, times: npt.NDArray[np.datetime64]) -> Fact:
    """Look up a property of a node or an edge.

    Args:
        graph: The graph.
        subject: Id of the node or edge.
        name: Name of the property.
        times: Start of each frame.

    Examples:
        >>> from thence.data.graph.knowledge_graph import DatedValue, Node
        >>> graph = KnowledgeGraph([Node("p")], dated=[DatedValue("p", "roughness", "2024-03-01", 110.0)])
        >>> fact = property_fact(graph, "p", "roughness", np.array(["2024-02-29", "2024-03-01"], "datetime64[us]"))
        >>> fact.series.tolist()
        [nan, 110.0]
    """
    record = graph.edges.get(subject) or graph.node(subject)
    undated = record.properties.get(name)
    history = graph.histories(subject).get(name)
    if history is None:
        return Fact((undated,), _FIRST)
    starts, values = history
    moments = np.array([start.replace(tzinfo=None) for start in starts], "datetime64[us]")
    used, which = np.unique(np.searchsorted(moments, times, side="right"), return_inverse=True)
    held = (undated, *values)
    return Fact(tuple(held[at] for at in used.tolist()), which.reshape(-1).astype(np.int64))


def join_facts(facts: Sequence[Fact]) -> Fact:
    """Return the values of a property of several edges together, frame by frame.

    Args:
        facts: The values of the property of each edge; none for no edge.

    Examples:
        >>> one, other = Fact((3.0,), _FIRST), Fact((None, 3.0, 4.0), np.array([0, 1, 2]))
        >>> joined = join_facts([one, other])
        >>> [joined.values[at] for at in joined.which.tolist()]
        [3.0, 3.0, (3.0, 4.0)]
    """
    if len(facts) == 1:
        return facts[0]
    if not facts:
        return Fact((None,), _FIRST)
    frames = max(len(fact.which) for fact in facts)
    both = np.stack([np.broadcast_to(fact.which, (frames,)) for fact in facts], axis=1)
    used, which = np.unique(both, axis=0, return_inverse=True)
    joined = [
        as_values([one for fact, at in zip(facts, row, strict=True) for one in list_values(fact.values[at])])
        for row in used.tolist()
    ]
    return Fact(tuple(value if value != () else None for value in joined), which.reshape(-1).astype(np.int64))


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


def member_codes(facts: Sequence[Fact], codes: Codes, code: int, n_frames: int) -> Codes:
    """Return whether a value is among those of each fact: 1, 0, or −1 where nothing is known.

    Args:
        facts: The facts.
        codes: The code of each of their members, one fact after the other.
        code: The code of the value.
        n_frames: The number of frames.

    Returns:
        A matrix, facts × 1, or facts × frames if one of them is dated.
    """
    rows, at = [], 0
    for fact in facts:
        held = []
        for value in fact.values:
            own = codes[at : at + len(list_values(value))]
            at += len(own)
            held.append(int((own == code).any()) if (own >= 0).any() else -1)
        rows.append(np.array(held, np.int16)[fact.which])
    static = all(len(row) == 1 for row in rows)
    return np.stack(rows if static else [np.broadcast_to(row, (n_frames,)) for row in rows])


def _category(value: Value | None) -> str | bool | None:
    return value if value is None or isinstance(value, (str, bool)) else str(value)
