"""Places in the graph: where a rule applies, what is known of a node, and which patterns match there.

Reads the material of a run. Must not know requests, and draws nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from thence.data.graph.records import Value, list_values
from thence.data.graph.system import System
from thence.errors import ThenceError
from thence.language.english import format_number, format_unit
from thence.language.items import Feature, Role
from thence.show.explorer.schema import Places
from thence.statements.counting.by_place import count_by_place
from thence.statements.rules.ruleset import RuleSet

if TYPE_CHECKING:
    from thence.data.graph.records import Node
    from thence.show.reports.material import Material
    from thence.tables.transactions import TransactionTable

MOST_NEIGHBOURS = 200


def places_of(material: Material, position: int) -> Places:
    """Return the nodes of the places where a rule applies at least once.

    Args:
        material: The run and its data.
        position: The position of the rule.

    Examples:
        >>> import thence as th
        >>> from thence.show.reports.material import material_of
        >>> run = th.mine(th.datasets.load("toy"), windows="1h", enrich="grounded", confirm=False, progress="off")
        >>> places_of(material_of(run), 0)["n_places"]
        1
    """
    one = material.run.rules.take(np.array([position]))
    if one.pattern_of is None or one.pattern_of[0] < 0:
        nodes = list(dict.fromkeys(node for item in _items(one) for node in _nodes(item)))
        why = "" if nodes else "The rule names no node: it speaks of the whole system."
        return {"rule": position, "n_places": 1 if nodes else 0, "nodes": nodes, "why": why}
    if material.transactions is None:
        why = material.why or "The table that was mined is not available."
        return {"rule": position, "n_places": 0, "nodes": [], "why": why}
    try:
        (counted,) = count_by_place(one, material.transactions)
    except ThenceError as error:
        return {"rule": position, "n_places": 0, "nodes": [], "why": error.message}
    applies = np.flatnonzero(counted.n_antecedent).tolist()
    width = 0 if counted.block.pattern is None else len(counted.block.pattern.nodes)
    names = (name for at in applies for name in counted.block.embeddings[at][:width])
    return {"rule": position, "n_places": len(applies), "nodes": list(dict.fromkeys(names)), "why": ""}


def _items(one: RuleSet) -> Iterable[Feature]:
    rule = one.rule(0)
    return [one for item in (*rule.antecedent, rule.consequent) for one in item.feature.parts]


def _nodes(feature: Feature) -> list[str]:
    if feature.role is Role.SENSOR:
        return [feature.place] if feature.place else []
    if feature.role is Role.NODE:
        return [name for name in (feature.subject, feature.other) if name]
    return []


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
