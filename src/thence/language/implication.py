"""When one item implies another, whatever the data: the same feature and a narrower test.

This module compares items; it looks at no table and counts nothing. Tables compare items by the codes that satisfy them
(``thence.search.refine.encoding``), which is faster and depends on the bins.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from thence.language.items import Aspect, Feature, Interval, Item, Operator, Role

__all__ = ["implies"]

IsA = Callable[[str, str], bool]


def implies(item: Item, other: Item, *, is_a: IsA | None = None) -> bool:
    """Return whether every value that satisfies an item also satisfies another.

    Args:
        item: The item that is given.
        other: The item that may follow.
        is_a: Whether a class is another one or below it, for existential items; by default if the names are equal.

    Examples:
        >>> level = Feature("level")
        >>> low, lower = Item.compare(level, "<", 5.0), Item.among(level, Interval(1, 3))
        >>> implies(lower, low), implies(low, lower)
        (True, False)
    """
    if item.feature == other.feature:
        return _is_narrower(item, other)
    if item.feature.role is Role.SOME and other.feature.role is Role.SOME:
        return _holds_of_some(item, other, is_a or str.__eq__)
    return _has_such_a_value(item, other)


def _has_such_a_value(item: Item, other: Item) -> bool:
    """Some size of a pipe is 2–3: so some size of it is below 5."""
    own, wider = item.feature, other.feature
    if own.aspect is not Aspect.PROPERTY or not (own.where and wider.where) or not _is_claimed(item):
        return False
    same = replace(own, where=()) == replace(wider, where=())
    return same and _is_claimed(other) and _is_narrower(own.where[-1], wider.where[-1])


def _is_narrower(item: Item, other: Item) -> bool:
    if item == other:
        return True
    own = item.interval
    if own is not None:
        return other.holds(own)
    value = item.value
    if item.operator is Operator.EQ and not isinstance(value, (Interval, frozenset)):
        return other.holds(value)
    if item.operator is Operator.IN and isinstance(value, frozenset):
        return all(other.holds(member) for member in value)
    # Not to be one of several values excludes each of them.
    return other.operator in (Operator.NE, Operator.NOT_IN) and _is_narrower(other.negated(), item.negated())


def _holds_of_some(item: Item, other: Item, is_a: IsA) -> bool:
    """Some sensor in a Pipe reads 23–31: so some sensor in a Link reads more than 20."""
    if not (_is_claimed(item) and _is_claimed(other)) or _kind(item.feature) != _kind(other.feature):
        return False
    host, wider = item.feature.subject, other.feature.subject
    if wider and not (host and is_a(host, wider)):
        return False
    *given, reading = item.feature.where
    *asked, claim = other.feature.where
    return _is_test_narrower(reading, claim) and all(
        any(_is_test_narrower(fact, condition) for fact in given if fact.feature.name == condition.feature.name)
        for condition in asked
    )


def _is_claimed(item: Item) -> bool:
    return item.operator is Operator.EQ and item.value is True


def _kind(feature: Feature) -> tuple[str, str, bool]:
    return feature.label, feature.name, feature.relative


def _is_test_narrower(item: Item, other: Item) -> bool:
    """The same of two tests of one quantity that stand in statements about different classes."""
    return _is_narrower(item, Item(item.feature, other.operator, other.value))
