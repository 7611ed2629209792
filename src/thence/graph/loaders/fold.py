"""Values that RDF writes as nodes, folded into properties.

``:room :area [ qudt:value 12.5 ; qudt:unit unit:M2 ]`` says in three statements that the area is 12.5 m². A node is
such a value when exactly one statement leads to it, it carries one number or text under a predicate of
``VALUE_PREDICATES``, at most a unit besides, and no type other than those of ``VALUE_CLASSES``. Chains fold
too (seas and OPM put an evaluation between the property and its value). Anything richer stays a node.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from thence.graph.loaders.triples import Subject, local_name

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
    """What RDF says about one resource: labels, literals by predicate, links (predicate, target) in order."""

    labels: dict[str, None] = field(default_factory=dict)
    literals: dict[str, list[ox.Literal]] = field(default_factory=dict)
    links: dict[tuple[str, Subject], None] = field(default_factory=dict)

    def is_empty(self) -> bool:
        return not (self.labels or self.literals or self.links)


def fold_values(described: dict[Subject, Description]) -> dict[str, str]:
    """Fold value nodes into the properties they are values of, in place; returns the unit of each property.

    A property whose values come in several units has no unit of its own: each node gets a ``<property>_unit``.
    """
    import pyoxigraph as ox

    arriving = Counter(target for content in described.values() for _, target in content.links)
    units: dict[str, dict[Subject, str]] = defaultdict(dict)
    carried: dict[Subject, str] = {}
    folded: set[Subject] = set()
    before = -1
    while len(folded) > before:
        before = len(folded)
        for source, content in described.items():
            for predicate, target in list(content.links):
                value = described[target]
                if arriving[target] != 1 or not _is_value(value, predicate):
                    continue
                unit = _unit(value) or carried.get(target)
                content.literals.setdefault(predicate, []).append(_only_value(value))
                del content.links[predicate, target]
                folded.add(target)
                if unit and predicate in VALUE_PREDICATES:
                    carried[source] = unit
                elif unit:
                    units[predicate][source] = unit
    for term in folded:
        del described[term]
    settled: dict[str, str] = {}
    for predicate, by_node in units.items():
        if len(set(by_node.values())) == 1:
            settled[predicate] = next(iter(by_node.values()))
        else:
            for node, unit in by_node.items():
                described[node].literals[f"{predicate}_unit"] = [ox.Literal(unit)]
    return settled


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
