"""Items in a short form that people read and write: ``shape = flat``, ``4.5 ≤ petal length < 5``.

The exact form of an item is ``str(item)``. The short form names a column or a sensor by its id and leaves out quotes;
items that are not about a sensor are given as a clause of a sentence. This module formats and splits text; it does not
look up features.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from thence.language.english import format_clause, format_number
from thence.language.items import Aspect, Interval, Item, Operator, Role, Value, just_below

_SYMBOL = r"(!=|<=|>=|==|[=≠<≤>≥])"
_NUMBER = r"([+\-−]?(?:\d[\d,]*(?:\.\d*)?(?:[eE][+\-−]?\d+)?|\.\d+|inf|∞))"
_BETWEEN = re.compile(rf"\s*{_NUMBER}\s*(<=|≤|<)\s*(\S|\S.*?\S)\s*(<=|≤|<)\s*{_NUMBER}\s*")
_COMPARED = re.compile(rf"\s*(\S|\S.*?\S)\s*{_SYMBOL}\s*(.+)", re.S)

_TYPOGRAPHIC_MINUS = re.compile(r"−(?=[\d.∞])")


class ShortTest(NamedTuple):
    """A short form, taken apart: a name, and one or two comparisons that must hold."""

    name: str
    comparisons: tuple[tuple[Operator, str], ...]


def short_item(item: Item) -> str:
    """Return an item in its short form.

    Examples:
        >>> from thence.language.items import Feature
        >>> short_item(Item.is_(Feature("shape"), "flat")), short_item(Item.is_(Feature("petal"), Interval(4.5, 5)))
        ('shape = flat', '4.5 ≤ petal < 5')
        >>> short_item(Item.compare(Feature("outside"), "<", -2.5))
        'outside < -2.5'
    """
    feature = item.feature
    if feature.aspect is not Aspect.MEASUREMENT or feature.role is not Role.SENSOR or feature.relative or feature.where:
        return plain_minus(format_clause(item))
    if item.is_presence:
        return feature.subject
    name = f"{feature.name} of {feature.subject}" if feature.name else feature.subject
    value = item.value
    if isinstance(value, Interval):
        inside = item.operator is Operator.IN
        if value.at is not None:
            return f"{name} {'=' if inside else '≠'} {_number(value.at)}"
        after, last = just_below(value.low), just_below(value.high)
        low = f"{_number(value.low)} ≤" if after is None else f"{_number(after)} <"
        high = f"< {_number(value.high)}" if last is None else f"≤ {_number(last)}"
        text = f"{low} {name} {high}"
        return text if inside else f"not {text}"
    if isinstance(value, frozenset):
        word = "in" if item.operator is Operator.IN else "not in"
        return f"{name} {word} {{{', '.join(sorted(_value_text(one) for one in value))}}}"
    return f"{name} {item.operator} {_value_text(value)}"


def short_items(items: Sequence[Item]) -> list[str]:
    """Return several items in their short form; items that would look alike keep their exact form.

    Examples:
        >>> from thence.language.items import Feature
        >>> short_items([Item.is_(Feature("a"), "1"), Item.is_(Feature("a"), 1.0)])
        ["(a).value = '1'", '(a).value = 1.0']
    """
    short = [short_item(item) for item in items]
    seen: dict[str, Item] = {}
    alike = {text for text, item in zip(short, items, strict=True) if seen.setdefault(text, item) != item}
    return [str(item) if text in alike else text for text, item in zip(short, items, strict=True)]


def plain_minus(text: str) -> str:
    """Return a text with the minus of the keyboard before its numbers.

    Examples:
        >>> plain_minus("inflow − demand is below −0.5")
        'inflow − demand is below -0.5'
    """
    return _TYPOGRAPHIC_MINUS.sub("-", text)


def _number(value: float) -> str:
    """A number as people paste it into code, with the minus of the keyboard."""
    return format_number(value, minus="-")


def _value_text(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return _number(value) if isinstance(value, float) else value


def split_short(text: str) -> ShortTest | None:
    """Take a short form apart, or return ``None`` if the text is not one.

    Examples:
        >>> split_short("4.5 <= petal < 5").comparisons
        ((<Operator.GE: '≥'>, '4.5'), (<Operator.LT: '<'>, '5'))
        >>> split_short("petal") is None
        True
    """
    between = _BETWEEN.fullmatch(text)
    if between is not None:
        low, left, name, right, high = between.groups()
        lower = Operator.GT if left == "<" else Operator.GE
        return ShortTest(name.strip("`"), ((lower, low), (Operator(right), high)))
    compared = _COMPARED.fullmatch(text.strip())
    if compared is None:
        return None
    name, symbol, value = compared.groups()
    return ShortTest(name.strip().strip("`"), ((Operator(symbol), value.strip().strip("'\"")),))
