"""Item constraints: which items may stand on which side of a rule.

A ``Where`` describes items by what they are about; miners turn constraints into masks over a block's items
*before* they search. Classes match through subclass-of, since features carry the ancestors of their classes.
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
    "alternatives",
    "is_constraint",
    "settled",
    "why_nothing_fits",
]


@dataclass(frozen=True, kw_only=True)
class Where:
    """A description of items; every given field must match, each field accepts one text or several.

    ``feature`` is a pattern (``*`` and ``?``) over the text of the feature, ``sensor`` over the id of the sensor,
    ``node`` over the node that a feature is about or sits in; ``kind`` is the quantity, ``cls`` the class of the node
    (subclasses included), ``property`` the name of a property; ``value`` is a category, or a range ``(low, high)`` in
    which the item's range must lie.

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
                raise ConfigError(f"'{field.name}' of a constraint must be a text or several, got {given!r}")
            object.__setattr__(self, field.name, several)

    @staticmethod
    def from_mapping(data: Mapping[str, Any]) -> Where:
        """From a table of a configuration file; lists become tuples, ``class`` is accepted for ``cls``."""
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
        """Whether an item fits the description."""
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


def settled(constraint: Constraint) -> Constraint:
    """A constraint of the right kind, which can be read any number of times; anything else is an error.

    >>> len(settled(Where(sensor=name) for name in ("s1", "s2")))
    2
    """
    if constraint is None or isinstance(constraint, (Where, Mapping)):
        alternatives(constraint)
        return constraint
    if isinstance(constraint, (str, bytes)) or not isinstance(constraint, Iterable):
        raise _no_constraint(constraint)
    several = tuple(constraint)
    alternatives(several)
    return several


def is_constraint(given: Any) -> bool:
    """Whether something is a constraint, or ``None``.

    >>> is_constraint({"kind": "flow"}), is_constraint("flow")
    (True, False)
    """
    try:
        alternatives(given)
    except ConfigError:
        return False
    return True


def alternatives(constraint: Constraint) -> tuple[Where, ...] | None:
    """A constraint as a tuple of alternatives, or ``None`` when everything is allowed."""
    if constraint is None:
        return None
    if isinstance(constraint, (Where, Mapping)):
        return (_where(constraint),)
    if isinstance(constraint, Iterator):
        # It would be used up by the first block, and the next one would see a constraint that nothing fits.
        raise ConfigError("a constraint that can be read only once is none", hint="give a list instead of a generator")
    if isinstance(constraint, (str, bytes)) or not isinstance(constraint, Iterable):
        raise _no_constraint(constraint)
    return tuple(_where(one) for one in constraint)


def _where(given: Any) -> Where:
    if isinstance(given, Where):
        return given
    if isinstance(given, Mapping):
        return Where.from_mapping(given)
    raise _no_constraint(given)


def _no_constraint(given: Any) -> ConfigError:
    hint = "for example th.Where(sensor=…)"
    if isinstance(given, Item):
        hint = "th.Where(feature=…, value=…) describes an item"
    shown = f"'{given}'" if isinstance(given, (str, Item)) else repr(given)
    return ConfigError(f"a constraint must be a th.Where or a list of them, got {shown}", hint=hint)


def why_nothing_fits(items: Iterable[Item], side: str, constraint: Constraint) -> str | None:
    """Why no item of a table fits the constraint on one side of rules; ``None`` where one does.

    >>> why_nothing_fits([], "antecedent", Where(sensor="s1"))
    'no item of the table fits the constraint on the antecedent (nothing here has a sensor)'
    """
    choices = alternatives(constraint)
    if choices is None:
        return None
    if not choices:
        return f"the constraint on the {side} is an empty list, which no item fits (leave it out to allow every item)"
    listed = list(items)
    if any(choice.matches(item) for item in listed for choice in choices):
        return None
    hint = _nearest_of(choices[0], listed)
    return f"no item of the table fits the constraint on the {side}" + (f" ({hint})" if hint else "")


def _nearest_of(choice: Where, items: Sequence[Item]) -> str | None:
    """What the table has that is closest to the first field of a constraint that nothing fits."""
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
        return close or (f"{title} may be {shown}" if listed else f"nothing here has a {title}")
    others = replace(choice, value=None)
    values = [f"{item.value!r}" for item in items if others.matches(item)]
    return f"value may be {', '.join(values[:3])}" + (" …" if len(values) > 3 else "") if values else None
