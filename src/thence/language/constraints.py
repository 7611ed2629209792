"""Item constraints: which items are allowed on which side of a rule.

An ``ItemFilter`` describes items by their feature and value; a string is short for ``ItemFilter(item=…)``. Miners turn
constraints into masks over the items of a block *before* they search (``thence.tables.admissibility``). Classes match
subclasses too, since features carry the ancestors of their classes. This module does not search or count.
"""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any

from thence.errors import ConfigError, InputError, nearest
from thence.language.items import Aspect, Feature, Interval, Item, Operator, Role
from thence.language.short_text import ShortTest, plain_minus, short_item, split_short
from thence.language.states import state_key


@dataclass(frozen=True, kw_only=True)
class ItemFilter:
    """A description of items.

    An item matches if every given field matches. Each field except ``value`` takes a string or several strings, of
    which one must match.

    Args:
        feature: Pattern (with ``*`` and ``?``) for the text of the feature.
        sensor: Pattern for the id of the sensor.
        node: Pattern for the id of the node that the feature is about, or to which its sensor is bound.
        kind: Kind of the sensor.
        cls: Class of the node; subclasses match too.
        property: Name of a property.
        value: A category, several categories, or a range ``(low, high)`` that must contain the range of the item.
        item: The name of a column, sensor, kind or property (with ``*`` and ``?``), or an item as text, such as
            ``"shape = flat"`` or ``"4.5 <= length < 5"``: ranges match if they lie within.

    Raises:
        ConfigError: If a field is neither a string nor several strings.

    Examples:
        >>> from thence.language.items import Feature
        >>> flow = Item.among(Feature("s1", label="flow"), Interval(23, 31))
        >>> [one.matches(flow) for one in (ItemFilter(kind="flow"), ItemFilter(item="s1"), ItemFilter(item="s1 >= 20"))]
        [True, True, True]
    """

    feature: str | tuple[str, ...] = ()
    sensor: str | tuple[str, ...] = ()
    node: str | tuple[str, ...] = ()
    kind: str | tuple[str, ...] = ()
    cls: str | tuple[str, ...] = ()
    property: str | tuple[str, ...] = ()
    value: Any = None
    item: str | tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for field in fields(self):
            given = getattr(self, field.name)
            if field.name == "value" or isinstance(given, str):
                continue
            several = () if given is None else tuple(given) if isinstance(given, Iterable) else (given,)
            if not all(isinstance(one, str) for one in several):
                raise ConfigError(f"'{field.name}' of a constraint must be a string or several strings, got {given!r}")
            object.__setattr__(self, field.name, several)

    @staticmethod
    def from_mapping(data: Mapping[str, Any]) -> ItemFilter:
        """Create a constraint from a table of a configuration file.

        Args:
            data: Field names and values; ``class`` is accepted for ``cls``, and lists become tuples.

        Raises:
            ConfigError: If a field is unknown.
        """
        known = [field.name for field in fields(ItemFilter)]
        cleaned: dict[str, Any] = {}
        for key, value in data.items():
            name = "cls" if key == "class" else key
            if name not in known:
                raise ConfigError(
                    f"unknown constraint '{key}'", hint=nearest(key, known) or "known: " + ", ".join(known)
                )
            cleaned[name] = tuple(value) if isinstance(value, list) else value
        return ItemFilter(**cleaned)

    def matches(self, item: Item) -> bool:
        """Return whether an item fits the description.

        Args:
            item: The item.
        """
        feature = item.feature
        is_reading = feature.aspect is Aspect.MEASUREMENT
        node = feature.place if is_reading else feature.subject
        return (
            _like(self.feature, str(feature))
            and _like(self.sensor, feature.subject if is_reading and feature.role is Role.SENSOR else "")
            and _like(self.node, node)
            and (not self.kind or (is_reading and feature.label in _several(self.kind)))
            and (not self.cls or bool(feature.classes.intersection(_several(self.cls))))
            and (not self.property or (not is_reading and feature.name in _several(self.property)))
            and (self.value is None or _value_fits(item, self.value))
            and (not self.item or any(_text_fits(item, text) for text in _several(self.item)))
        )

    def tests_values(self) -> bool:
        """Return whether the description is about values, and not about features only."""
        texts = _several(self.item)
        return self.value is not None or any(_parse_exact(text) or split_short(text) for text in texts)


Constraint = str | ItemFilter | Iterable[str | ItemFilter] | Mapping[str, Any] | None


def _names(feature: Feature) -> set[str]:
    """The names that people call a feature by."""
    names = {str(feature), feature.label, feature.name, feature.place if feature.role is Role.SENSOR else ""}
    if feature.role in (Role.SENSOR, Role.NODE, Role.EDGE):
        names.add(feature.subject)
    return names - {""}


def _is_called(feature: Feature, name: str) -> bool:
    names = _names(feature)
    # A name may hold characters that a pattern gives a meaning to.
    return name in names or any(fnmatch.fnmatchcase(one, name) for one in names)


def _text_fits(item: Item, text: str) -> bool:
    """Whether an item is what a text says: a name, the exact form of the item, or a short form that it implies."""
    if _is_called(item.feature, text):
        return True
    exact = _parse_exact(text)
    if exact is not None:
        return exact == item
    short = split_short(text)
    return short_item(item) in (text, plain_minus(text)) or (short is not None and _short_fits(item, short))


@lru_cache(maxsize=256)
def _parse_exact(text: str) -> Item | None:
    try:
        return Item.parse(text)
    except InputError:
        return None


def _short_fits(item: Item, short: ShortTest) -> bool:
    if not _is_called(item.feature, short.name):
        return False
    return all(_implies(item, operator, value) for operator, value in short.comparisons)


def _implies(item: Item, operator: Operator, value: str) -> bool:
    """Whether every value that satisfies an item also satisfies a comparison."""
    if operator in (Operator.EQ, Operator.NE):
        same = _says(item, value)
        if operator is Operator.EQ:
            return same is True
        return same is False or (item.operator is Operator.NE and _says(item.negated(), value) is True)
    own, limit = item.interval, _number(value)
    if own is None and isinstance(item.value, float) and item.operator is Operator.EQ:
        own = Interval(item.value, math.nextafter(item.value, math.inf))
    if own is None or limit is None:
        return False
    wanted = Item.compare(item.feature, operator, limit).interval
    return wanted is not None and wanted.low <= own.low and own.high <= wanted.high


def _number(text: str) -> float | None:
    """The number that a text is, as sentences write it."""
    try:
        return float(text.replace(",", "").replace("−", "-").replace("∞", "inf"))
    except ValueError:
        return None


def _says(item: Item, value: str) -> bool | None:
    """Whether an item says that a feature has a state; ``None`` if it leaves that open."""
    own = item.interval
    if own is not None:
        number = _number(value)
        if own.at is not None and number == own.at:
            return True
        return None if number is not None and own.contains(number) else False
    if item.operator not in (Operator.EQ, Operator.IN):
        return None
    members = item.value if isinstance(item.value, frozenset) else {item.value}
    keys = {state_key(member) for member in members}
    return None if state_key(value) in keys and len(keys) > 1 else state_key(value) in keys


def _several(value: str | tuple[str, ...]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _like(patterns: str | tuple[str, ...], text: str) -> bool:
    return not patterns or any(fnmatch.fnmatchcase(text, pattern) for pattern in _several(patterns))


def _value_fits(item: Item, value: Any) -> bool:
    if isinstance(value, Interval):
        value = (value.low, value.high)
    if isinstance(value, (tuple, list)) and len(value) == 2 and all(isinstance(v, (int, float)) for v in value):
        own = item.interval
        return own is not None and value[0] <= own.low and own.high <= value[1]
    wanted = list(value) if isinstance(value, (tuple, list, set, frozenset)) else [value]
    if isinstance(item.value, frozenset):
        return item.value.issubset(wanted)
    return item.value in wanted


def prepare_constraint(constraint: Constraint) -> Constraint:
    """Check a constraint and return it in a form that can be iterated over any number of times.

    Raises:
        ConfigError: If ``constraint`` is not a constraint.

    Examples:
        >>> len(prepare_constraint(ItemFilter(sensor=name) for name in ("s1", "s2")))
        2
    """
    if constraint is None or isinstance(constraint, (str, ItemFilter, Mapping)):
        list_alternatives(constraint)
        return constraint
    if isinstance(constraint, bytes) or not isinstance(constraint, Iterable):
        raise _wrong_type(constraint)
    several = tuple(constraint)
    list_alternatives(several)
    return several


def is_constraint(given: Any) -> bool:
    """Return whether ``given`` is a valid constraint; ``None`` is one.

    Examples:
        >>> is_constraint({"kind": "flow"}), is_constraint("flow"), is_constraint(3)
        (True, True, False)
    """
    try:
        list_alternatives(given)
    except ConfigError:
        return False
    return True


def list_alternatives(constraint: Constraint) -> tuple[ItemFilter, ...] | None:
    """Return the alternatives of a constraint, one of which an item must match; ``None`` if every item is allowed.

    Raises:
        ConfigError: If ``constraint`` is not a constraint, or is an iterator.
    """
    if constraint is None:
        return None
    if isinstance(constraint, (str, ItemFilter, Mapping)):
        return (_as_filter(constraint),)
    if isinstance(constraint, Iterator):
        # The first block would exhaust it, and the next one would see a constraint that no item matches.
        raise ConfigError("a constraint must not be an iterator", hint="pass a list instead of a generator")
    if isinstance(constraint, bytes) or not isinstance(constraint, Iterable):
        raise _wrong_type(constraint)
    return tuple(_as_filter(one) for one in constraint)


def _as_filter(given: Any) -> ItemFilter:
    if isinstance(given, ItemFilter):
        return given
    if isinstance(given, Mapping):
        return ItemFilter.from_mapping(given)
    if isinstance(given, str):
        if not given.strip():
            raise ConfigError("a constraint must not be empty text", hint="name a column, sensor or kind")
        return ItemFilter(item=given.strip())
    raise _wrong_type(given)


def _wrong_type(given: Any) -> ConfigError:
    hint = "pass, for example, 'pump', 'pump = on' or th.ItemFilter(sensor=…)"
    if isinstance(given, Item):
        hint = "pass str(item), or describe it with th.ItemFilter(feature=…, value=…)"
    shown = f"'{given}'" if isinstance(given, Item) else repr(given)
    return ConfigError(f"a constraint must be text, a th.ItemFilter or a list of them, got {shown}", hint=hint)


def explain_no_match(items: Iterable[Item], side: str, constraint: Constraint) -> str | None:
    """Explain why no item of a table matches a constraint.

    Args:
        items: The items of the table.
        side: ``"antecedent"`` or ``"consequent"``, for the message.
        constraint: The constraint on that side.

    Returns:
        The explanation, or ``None`` if an item matches.

    Examples:
        >>> explain_no_match([], "antecedent", ItemFilter(sensor="s1"))
        'no item of the table matches the constraint on the antecedent (no feature of the table has a sensor)'
    """
    choices = list_alternatives(constraint)
    if choices is None:
        return None
    if not choices:
        return f"the constraint on the {side} is an empty list, which no item matches (pass None to allow every item)"
    listed = list(items)
    if any(choice.matches(item) for item in listed for choice in choices):
        return None
    hint = _nearest_of(choices[0], listed)
    return f"no item of the table matches the constraint on the {side}" + (f" ({hint})" if hint else "")


def _nearest_of(choice: ItemFilter, items: Sequence[Item]) -> str | None:
    """Suggest values for the first field of a constraint that no item matches."""
    features = dict.fromkeys(item.feature for item in items)
    readings = [f for f in features if f.aspect is Aspect.MEASUREMENT]
    known: dict[str, Iterable[str]] = {
        "feature": map(str, features),
        "sensor": (f.subject for f in readings if f.role is Role.SENSOR),
        "node": (f.place if f.aspect is Aspect.MEASUREMENT else f.subject for f in features),
        "kind": (f.label for f in readings),
        "cls": (name for f in features for name in f.classes),
        "property": (f.name for f in features if f.aspect is not Aspect.MEASUREMENT),
    }
    for name, there in known.items():
        wanted = _several(getattr(choice, name))
        if not wanted or any(ItemFilter(**{name: wanted}).matches(item) for item in items):
            continue
        listed = sorted({text for text in there if text})
        holding = [text for text in listed if wanted[0].strip("*") in text]
        close = nearest(wanted[0], listed) or (f"did you mean '{holding[0]}'?" if holding else None)
        title = "class" if name == "cls" else name
        shown = ", ".join(f"'{text}'" for text in listed[:3]) + (" …" if len(listed) > 3 else "")
        return close or (f"{title} can be {shown}" if listed else f"no feature of the table has a {title}")
    texts = _several(choice.item)
    if texts and not any(ItemFilter(item=texts).matches(item) for item in items):
        return _nearest_text(texts[0], items)
    others = replace(choice, value=None)
    values = [f"{item.value!r}" for item in items if others.matches(item)]
    return f"value can be {', '.join(values[:3])}" + (" …" if len(values) > 3 else "") if values else None


def _nearest_text(text: str, items: Sequence[Item]) -> str:
    """Suggest a name or an item instead of a text that no item matches."""
    short = split_short(text)
    name = text if short is None else short.name
    about = [item for item in items if _is_called(item.feature, name)]
    if short is not None and about:
        tests = [f"'{short_item(item)}'" for item in about]
        return f"items about '{name}' are {', '.join(tests[:5])}" + (" …" if len(tests) > 5 else "")
    names = sorted({one for item in items for one in _names(item.feature) - {str(item.feature)}})
    holding = [one for one in names if name.strip("*").lower() in one.lower()]
    shown = ", ".join(f"'{one}'" for one in names[:5]) + (" …" if len(names) > 5 else "")
    return nearest(name, names) or (f"did you mean '{holding[0]}'?" if holding else f"names are {shown}")
