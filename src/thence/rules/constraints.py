"""Item constraints: which items are allowed on which side of a rule.

A ``Where`` describes items by their feature and value. Miners turn constraints into masks over the items of a block
*before* they search (``thence.tables.admissibility``). Classes match subclasses too, since features carry the ancestors
of their classes. This module does not search or count.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from thence.errors import ConfigError, nearest
from thence.rules.items import Aspect, Interval, Item, Role

__all__ = [
    "Constraint",
    "Where",
    "explain_no_match",
    "is_constraint",
    "list_alternatives",
    "prepare_constraint",
]


@dataclass(frozen=True, kw_only=True)
class Where:
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

    Raises:
        ConfigError: If a field is neither a string nor several strings.

    Examples:
        >>> from thence.rules.items import Feature
        >>> Where(kind="flow").matches(Item.among(Feature("s1", label="flow"), Interval(23, 31)))
        True
    """

    feature: str | tuple[str, ...] = ()
    sensor: str | tuple[str, ...] = ()
    node: str | tuple[str, ...] = ()
    kind: str | tuple[str, ...] = ()
    cls: str | tuple[str, ...] = ()
    property: str | tuple[str, ...] = ()
    value: Any = None

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
    def from_mapping(data: Mapping[str, Any]) -> Where:
        """Create a constraint from a table of a configuration file.

        Args:
            data: Field names and values; ``class`` is accepted for ``cls``, and lists become tuples.

        Raises:
            ConfigError: If a field is unknown.
        """
        known = [field.name for field in fields(Where)]
        cleaned: dict[str, Any] = {}
        for key, value in data.items():
            name = "cls" if key == "class" else key
            if name not in known:
                raise ConfigError(
                    f"unknown constraint '{key}'", hint=nearest(key, known) or "known: " + ", ".join(known)
                )
            cleaned[name] = tuple(value) if isinstance(value, list) else value
        return Where(**cleaned)

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
        )


Constraint = Where | Iterable[Where] | Mapping[str, Any] | None


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
        >>> len(prepare_constraint(Where(sensor=name) for name in ("s1", "s2")))
        2
    """
    if constraint is None or isinstance(constraint, (Where, Mapping)):
        list_alternatives(constraint)
        return constraint
    if isinstance(constraint, (str, bytes)) or not isinstance(constraint, Iterable):
        raise _wrong_type(constraint)
    several = tuple(constraint)
    list_alternatives(several)
    return several


def is_constraint(given: Any) -> bool:
    """Return whether ``given`` is a valid constraint; ``None`` is one.

    Examples:
        >>> is_constraint({"kind": "flow"}), is_constraint("flow")
        (True, False)
    """
    try:
        list_alternatives(given)
    except ConfigError:
        return False
    return True


def list_alternatives(constraint: Constraint) -> tuple[Where, ...] | None:
    """Return the alternatives of a constraint, one of which an item must match; ``None`` if every item is allowed.

    Raises:
        ConfigError: If ``constraint`` is not a constraint, or is an iterator.
    """
    if constraint is None:
        return None
    if isinstance(constraint, (Where, Mapping)):
        return (_where(constraint),)
    if isinstance(constraint, Iterator):
        # The first block would exhaust it, and the next one would see a constraint that no item matches.
        raise ConfigError("a constraint must not be an iterator", hint="pass a list instead of a generator")
    if isinstance(constraint, (str, bytes)) or not isinstance(constraint, Iterable):
        raise _wrong_type(constraint)
    return tuple(_where(one) for one in constraint)


def _where(given: Any) -> Where:
    if isinstance(given, Where):
        return given
    if isinstance(given, Mapping):
        return Where.from_mapping(given)
    raise _wrong_type(given)


def _wrong_type(given: Any) -> ConfigError:
    hint = "pass, for example, th.Where(sensor=…)"
    if isinstance(given, Item):
        hint = "describe the item with th.Where(feature=…, value=…)"
    shown = f"'{given}'" if isinstance(given, (str, Item)) else repr(given)
    return ConfigError(f"a constraint must be a th.Where or a list of them, got {shown}", hint=hint)


def explain_no_match(items: Iterable[Item], side: str, constraint: Constraint) -> str | None:
    """Explain why no item of a table matches a constraint.

    Args:
        items: The items of the table.
        side: ``"antecedent"`` or ``"consequent"``, for the message.
        constraint: The constraint on that side.

    Returns:
        The explanation, or ``None`` if an item matches.

    Examples:
        >>> explain_no_match([], "antecedent", Where(sensor="s1"))
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


def _nearest_of(choice: Where, items: Sequence[Item]) -> str | None:
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
        if not wanted or any(Where(**{name: wanted}).matches(item) for item in items):
            continue
        listed = sorted({text for text in there if text})
        holding = [text for text in listed if wanted[0].strip("*") in text]
        close = nearest(wanted[0], listed) or (f"did you mean '{holding[0]}'?" if holding else None)
        title = "class" if name == "cls" else name
        shown = ", ".join(f"'{text}'" for text in listed[:3]) + (" …" if len(listed) > 3 else "")
        return close or (f"{title} can be {shown}" if listed else f"no feature of the table has a {title}")
    others = replace(choice, value=None)
    values = [f"{item.value!r}" for item in items if others.matches(item)]
    return f"value can be {', '.join(values[:3])}" + (" …" if len(values) > 3 else "") if values else None
