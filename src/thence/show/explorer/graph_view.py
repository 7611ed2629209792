"""Places in the graph: what is known of a node, and which patterns match there.

Reads the material of a run. Must not know requests, and draws nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from thence.data.graph.records import Value, list_values
from thence.data.graph.system import System
from thence.language.english import format_number, format_unit

if TYPE_CHECKING:
    from thence.data.graph.records import Node
    from thence.tables.transactions import TransactionTable

MOST_NEIGHBOURS = 200


def patterns_at(table: TransactionTable | None) -> dict[str, frozenset[str]]:
    """Return for every node the texts of the patterns that match there.

    Args:
        table: The table that was mined, if it is available.
    """
    found: dict[str, set[str]] = {}
    for block in () if table is None else table.blocks:
        if block.pattern is None:
            continue
        text, width = str(block.pattern), len(block.pattern.nodes)
        for name in {name for embedding in block.embeddings for name in embedding[:width]}:
            found.setdefault(name, set()).add(text)
    return {name: frozenset(texts) for name, texts in found.items()}


def sensors_at(system: System | None, node: str) -> tuple[str, ...]:
    """Return the ids of the sensors at a node.

    Args:
        system: The system, if it is available.
        node: The id of the node.
    """
    return () if system is None or system.binding is None else system.binding.sensors_at(node)


def node_properties(system: System, node: Node) -> list[list[str]]:
    """Return the properties of a node as names and texts, with units.

    Args:
        system: The system.
        node: The node.
    """
    units = {} if system.graph is None else system.graph.property_units
    out = []
    for name, value in sorted(node.properties.items()):
        text = "; ".join(map(_text, list_values(value)))
        unit = f" {format_unit(units[name])}" if units.get(name) else ""
        out.append([name, text + unit])
    return out


def _text(value: Value) -> str:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return format_number(float(value)) if number else str(value)
