"""Signs that a node, an edge or a binding is meant for a part of the time only.

Property values may change over time; nodes, edges and bindings hold at all times (decision 0013). What looks as if it
were dated is told, so that nothing is counted where it is not meant. This module looks at names and values; it changes
nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.records import Edge, Node, as_instant, list_values
from thence.errors import GraphError

__all__ = ["EACH_PERIOD", "is_date_name", "note_dated_structure"]

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
