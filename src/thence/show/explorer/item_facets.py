"""What the items of rules are about: kinds of sensors, classes of nodes, properties, and the nodes themselves.

One row per distinct item, never per rule. Must not know counts, requests or files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from thence._base.display.plots import quantity
from thence.language.english import format_clause
from thence.language.items import Aspect, Feature, Item, Role

__all__ = ["SIGNED", "ItemFacets", "feature_names"]

SIGNED = ("kind", "class", "property")
"""The facets of which a rule can have several choices."""


@dataclass(frozen=True, eq=False)
class ItemFacets:
    """The distinct items of some rules, and what each of them is about.

    Args:
        items: The items.

    Examples:
        >>> from thence.language.items import Feature
        >>> facets = ItemFacets([Item.is_(Feature("p1", label="flow", classes=frozenset({"Pump"})), "on")])
        >>> facets.names("kind"), facets.names("class"), facets.texts[0].splitlines()[0]
        ([('flow',)], [('Pump',)], 'p1 reads on')
    """

    items: Sequence[Item]

    def names(self, facet: str) -> list[tuple[str, ...]]:
        """Return the names of a facet that each item has.

        Args:
            facet: ``"kind"``, ``"class"`` or ``"property"``.
        """
        return [feature_names(item.feature, facet) for item in self.items]

    @cached_property
    def conclusions(self) -> list[str]:
        """What each item says something about, in words."""
        names: dict[Feature, str] = {}
        return [names.setdefault(item.feature, quantity(item.feature)) for item in self.items]

    @cached_property
    def texts(self) -> list[str]:
        """The texts of each item, in lower case, for searching: with a variable, with "its", and the exact one."""
        return ["\n".join(dict.fromkeys((*_clauses(item), str(item)))).casefold() for item in self.items]

    def about_node(self, node: str, sensors: frozenset[str]) -> list[bool]:
        """Return which items name a node, or a sensor there.

        Args:
            node: The id of the node.
            sensors: The ids of its sensors.
        """
        return [_is_about(item.feature, node, sensors) for item in self.items]


def feature_names(feature: Feature, facet: str) -> tuple[str, ...]:
    """Return the kinds, classes or properties that a feature is about, each once.

    Args:
        feature: The feature.
        facet: ``"kind"``, ``"class"`` or ``"property"``.

    Examples:
        >>> feature_names(Feature("p", Aspect.PROPERTY, "length", role=Role.VARIABLE, label="Pipe"), "property")
        ('length',)
    """
    found = {"kind": _kinds, "class": _classes, "property": _properties}[facet](feature)
    return tuple(dict.fromkeys(name for name in found if name))


def _kinds(feature: Feature) -> Iterator[str]:
    if feature.aspect is Aspect.MEASUREMENT and feature.role is not Role.TIME:
        yield feature.label or feature.subject  # a column of a plain table is its own kind


def _classes(feature: Feature) -> Iterator[str]:
    yield from sorted(feature.classes)
    if feature.aspect is Aspect.LABEL:
        yield feature.name
    if feature.aspect is Aspect.PROPERTY and feature.role is not Role.EDGE and not feature.is_link:
        yield feature.label
    if feature.role is Role.SOME:
        yield feature.subject


def _properties(feature: Feature) -> Iterator[str]:
    if feature.aspect is Aspect.PROPERTY:
        yield feature.name
    for item in feature.where:
        yield from _properties(item.feature)


def _is_about(feature: Feature, node: str, sensors: frozenset[str]) -> bool:
    if feature.role is Role.SENSOR:
        return feature.place == node or feature.subject in sensors
    if feature.role is Role.NODE:
        return node in (feature.subject, feature.other)
    return feature.role is Role.EDGE and feature.other == node


def _clauses(item: Item) -> tuple[str, str]:
    """What an item says where its variable is named, and where it is the only one of a rule."""
    alone = f"for every node {item.feature.place or item.feature.subject}"
    return format_clause(item), format_clause(item, alone)
