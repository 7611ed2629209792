"""The folding of RDF value nodes into properties.

``:room :area [ qudt:value 12.5 ; qudt:unit unit:M2 ]`` uses a node to state that the area is 12.5 m². A node is such a
value if exactly one statement refers to it, it has one number or string under a predicate in ``VALUE_PREDICATES``, at
most a unit besides, and no types other than ``VALUE_CLASSES``. Chains of value nodes are folded too (SEAS and OPM put
an evaluation between a property and its value). All other nodes stay nodes. This module must not parse files.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from thence.data.loaders.triples import Subject, local_name

if TYPE_CHECKING:
    import pyoxigraph as ox

__all__ = ["UNIT_PREDICATES", "VALUE_CLASSES", "VALUE_PREDICATES", "Description", "fold_values"]

VALUE_PREDICATES = frozenset(
    {
        *("value", "numericValue", "hasValue", "hasSimpleResult", "simpleValue", "evaluation"),
        *("hasQuantityValue", "hasNumericalValue", "hasNumericValue"),
    }
)
UNIT_PREDICATES = frozenset({"unit", "hasUnit", "unitCode", "unitText", "isMeasuredIn"})
VALUE_CLASSES = frozenset(
    {"CurrentState", "EntityPropertyValue", "Measure", "PropertyValue", "Quantity", "QuantityValue", "Result", "State"}
)
_RESULT_LINKS = frozenset({"hasResult"})


@dataclass
class Description:
    """The statements about one RDF resource.

    Args:
        labels: Its types, in order.
        literals: Its literals by predicate.
        links: Its links to other resources, as (predicate, target), in order.
    """

    labels: dict[str, None] = field(default_factory=dict)
    literals: dict[str, list[ox.Literal]] = field(default_factory=dict)
    links: dict[tuple[str, Subject], None] = field(default_factory=dict)

    def is_empty(self) -> bool:
        """Whether nothing is stated about the resource."""
        return not (self.labels or self.literals or self.links)


def fold_values(described: dict[Subject, Description]) -> dict[str, str]:
    """Fold value nodes into properties, in place.

    If the values of a property have different units, each node gets a property ``<property>_unit``.

    Args:
        described: The statements about each resource; value nodes are removed.

    Returns:
        The unit of each property whose values all have the same unit.
    """
    import pyoxigraph as ox

    in_degree = Counter(target for content in described.values() for _, target in content.links)
    units: dict[str, dict[Subject, str]] = defaultdict(dict)
    inner_units: dict[Subject, str] = {}
    folded: set[Subject] = set()
    before = -1
    while len(folded) > before:
        before = len(folded)
        for source, content in described.items():
            for predicate, target in list(content.links):
                value = described[target]
                if in_degree[target] != 1 or not _is_value(value, predicate):
                    continue
                unit = _unit(value) or inner_units.get(target)
                content.literals.setdefault(predicate, []).append(_only_value(value))
                del content.links[predicate, target]
                folded.add(target)
                if unit and predicate in VALUE_PREDICATES:
                    inner_units[source] = unit
                elif unit:
                    units[predicate][source] = unit
    for term in folded:
        del described[term]
    common_units: dict[str, str] = {}
    for predicate, by_node in units.items():
        if len(set(by_node.values())) == 1:
            common_units[predicate] = next(iter(by_node.values()))
        else:
            for node, unit in by_node.items():
                described[node].literals[f"{predicate}_unit"] = [ox.Literal(unit)]
    return common_units


def _is_value(content: Description, predicate: str) -> bool:
    values = [name for name in content.literals if name in VALUE_PREDICATES]
    return (
        len(values) == 1
        and len(content.literals[values[0]]) == 1
        and all(name in UNIT_PREDICATES for name in content.literals if name not in VALUE_PREDICATES)
        and all(name in UNIT_PREDICATES for name, _ in content.links)
        and (content.labels.keys() <= VALUE_CLASSES or predicate in _RESULT_LINKS)
    )


def _only_value(content: Description) -> ox.Literal:
    return next(values[0] for name, values in content.literals.items() if name in VALUE_PREDICATES)


def _unit(content: Description) -> str | None:
    for name, values in content.literals.items():
        if name in UNIT_PREDICATES:
            return values[0].value
    for name, target in content.links:
        if name in UNIT_PREDICATES:
            return local_name(target.value)
    return None
