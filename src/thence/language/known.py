"""Known rules: what somebody knows before anything is mined, as text.

A known rule is written by a person, or comes from an earlier run. It names columns, sensors, kinds and variables as
text, because the table that it will be counted on is not at hand yet. This module parses the text and finds the
features that it names; it counts nothing (``thence.runs.known`` does).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from thence.errors import ConfigError, InputError, nearest
from thence.language.items import Aspect, Feature, Interval, Item, Operator, Role, Value
from thence.language.short_text import ShortTest, split_short
from thence.language.states import state_key

FoundFeatures = Mapping[Feature, tuple[Value | Interval, ...]]
"""The features of a table, with the values that each can take."""

_AND = (" ∧ ", " and ")
_THEN = (" → ", " => ")
_WHERE = (" ⊢ ", " |- ")
_QUOTES = "'\"`"
_EXACT = tuple(f"{start}{bracket}" for start in ("", "not ", "some ", "not some ") for bracket in "([")
_KEYS = ("if", "then", "pattern", "name")


class _Parts(Protocol):
    """A rule object, as far as a known rule needs it."""

    @property
    def antecedent(self) -> tuple[Item, ...]: ...
    @property
    def consequent(self) -> Item: ...
    @property
    def pattern(self) -> str: ...


@dataclass(frozen=True, kw_only=True)
class KnownRule:
    """A rule that is known before anything is mined.

    Items are written as in ``th.Item.parse``, or in the short form: ``level < 3.3``, ``pump = on``,
    ``4.5 <= petal length < 5``. The short form names a column, a sensor, a variable or a kind.

    Args:
        antecedent: The items on the left.
        consequent: The item on the right.
        pattern: Where the rule applies, as text; empty for a rule about the whole system.
        name: What people call the rule, such as the number of a paragraph; may be empty.

    Raises:
        ConfigError: If an item or the pattern is empty or cannot be parsed.

    Examples:
        >>> rule = KnownRule.parse("level < 3.3 and valve = open => pump = on", name="manual, 4.2")
        >>> rule.antecedent, rule.consequent
        (('level < 3.3', 'valve = open'), 'pump = on')
        >>> str(rule)
        'level < 3.3 ∧ valve = open → pump = on'
    """

    antecedent: tuple[str, ...]
    consequent: str
    pattern: str = ""
    name: str = ""

    def __post_init__(self) -> None:
        given = (self.antecedent,) if isinstance(self.antecedent, str) else tuple(self.antecedent)
        for text in (*given, self.consequent, self.pattern, self.name):
            if not isinstance(text, str):
                raise ConfigError(f"the parts of a known rule must be strings, got {text!r}")
        object.__setattr__(self, "antecedent", tuple(text.strip() for text in given))
        for field in ("consequent", "pattern", "name"):
            object.__setattr__(self, field, getattr(self, field).strip())
        if not self.antecedent:
            raise ConfigError("a known rule needs an item on the left", hint="write 'if' and 'then'")
        for text in (*self.antecedent, self.consequent):
            _read_item(text)

    @staticmethod
    def parse(text: str, *, name: str = "") -> KnownRule:
        """Parse a rule from text: items joined by ``and``, then ``=>``, then one item.

        ``∧`` and ``→`` are accepted too, and a pattern before ``⊢`` (or ``|-``), as ``str(rule)`` writes a lifted rule.

        Args:
            text: The rule.
            name: What people call it.

        Raises:
            ConfigError: If the text is not a rule.

        Examples:
            >>> KnownRule.parse("(f:flow)-[in]->(p:Pump) |- f = 0 => (?p:Pump).power = 0").pattern
            '(f:flow)-[in]->(p:Pump)'
        """
        pattern, *rest = _split(text, _WHERE)
        sides = _split(rest[0] if rest else pattern, _THEN)
        if len(rest) > 1 or len(sides) != 2:
            raise ConfigError(
                f"a known rule has one '=>' between what is given and what follows, got {text!r}",
                hint="such as 'level < 3.3 and valve = open => pump = on'",
            )
        return KnownRule(
            antecedent=tuple(_split(sides[0], _AND)), consequent=sides[1], pattern=pattern if rest else "", name=name
        )

    @staticmethod
    def of(rule: _Parts, *, name: str = "") -> KnownRule:
        """Return a rule object, such as one of an earlier run, as a known rule.

        Args:
            rule: The rule.
            name: What people call it.
        """
        items = tuple(str(item) for item in rule.antecedent)
        return KnownRule(antecedent=items, consequent=str(rule.consequent), pattern=rule.pattern, name=name)

    @staticmethod
    def from_mapping(data: Mapping[str, Any]) -> KnownRule:
        """Create a known rule from a table of a file.

        Args:
            data: ``if`` (an item, several joined by ``and``, or a list of items), ``then``, and perhaps ``pattern`` and
                ``name``.

        Raises:
            ConfigError: If a key is unknown or missing, or a value cannot be parsed.

        Examples:
            >>> str(KnownRule.from_mapping({"if": ["level < 3.3"], "then": "pump = on"}))
            'level < 3.3 → pump = on'
        """
        for key in data:
            if key not in _KEYS:
                raise ConfigError(
                    f"unknown key '{key}' of a known rule", hint=nearest(key, _KEYS) or "known: " + ", ".join(_KEYS)
                )
        for key in ("if", "then"):
            if key not in data:
                raise ConfigError(f"a known rule needs '{key}'", hint="such as if = 'level < 3.3', then = 'pump = on'")
        left = data["if"]
        if isinstance(left, (list, tuple)):
            antecedent = tuple(left)
        elif isinstance(left, str):
            antecedent = tuple(_split(left, _AND))
        else:
            raise ConfigError(f"'if' of a known rule must be a string or a list of strings, got {left!r}")
        return KnownRule(
            antecedent=antecedent,
            consequent=data["then"],
            pattern=data.get("pattern", ""),
            name=data.get("name", ""),
        )

    def to_mapping(self) -> dict[str, Any]:
        """Return the table that ``from_mapping`` reads; what is empty is left out."""
        given: dict[str, Any] = {"name": self.name, "pattern": self.pattern}
        return {key: text for key, text in given.items() if text} | {
            "if": list(self.antecedent),
            "then": self.consequent,
        }

    def __str__(self) -> str:
        text = f"{' ∧ '.join(self.antecedent)} → {self.consequent}"
        return f"{self.pattern} ⊢ {text}" if self.pattern else text

    @property
    def exact_items(self) -> tuple[Item, ...]:
        """The items that are written in their exact form, so that their features are known without a table."""
        parsed = (_read_item(text) for text in (*self.antecedent, self.consequent))
        return tuple(item for item in parsed if isinstance(item, Item))

    def resolve(self, features: FoundFeatures) -> tuple[tuple[Item, ...], Item]:
        """Return the antecedent and the consequent with the features of a table.

        Args:
            features: The features of the table, with their values.

        Raises:
            InputError: If the table has no such feature.
            ConfigError: If a name stands for several features, or a value does not suit its feature.
        """
        left = tuple(resolve_item(text, features) for text in self.antecedent)
        return left, resolve_item(self.consequent, features)


def resolve_item(text: str, features: FoundFeatures) -> Item:
    """Return the item that a text stands for in a table.

    Args:
        text: The item, in its exact or its short form.
        features: The features of the table, with their values.

    Raises:
        InputError: If the table has no such feature.
        ConfigError: If a name stands for several features, or a value does not suit its feature.

    Examples:
        >>> known = {Feature("level"): (Interval(0, 5),), Feature("pump"): ("on", "off")}
        >>> str(resolve_item("level <= 3.3", known)), str(resolve_item("pump = on", known))
        ('(level).value ≤ 3.3', "(pump).value = 'on'")
    """
    read = _read_item(text)
    if isinstance(read, Item):
        feature = _same_feature(read.feature, features)
        return Item(feature, read.operator, read.value)
    feature = _called(read.name, features)
    return _test(feature, read, features[feature])


def _read_item(text: str) -> Item | ShortTest:
    """An item in its exact form, or the parts of a short form."""
    if text.startswith(_EXACT):
        try:
            return Item.parse(text)
        except InputError as error:
            raise ConfigError(f"in a known rule: {error.message}", hint=error.hint) from error
    short = split_short(text)
    if short is None:
        raise ConfigError(
            f"in a known rule: {text!r} is no item", hint="write it as 'level < 3.3', 'pump = on' or in its exact form"
        )
    return short


def _same_feature(wanted: Feature, features: FoundFeatures) -> Feature:
    """The feature of a table that an exact item is about, with what the table knows of it."""
    for feature in features:
        if feature == wanted:
            return feature
    # The kind of a sensor, or the class of a node, may be left out.
    alike = [one for one in features if not wanted.label and _without_label(one) == _without_label(wanted)]
    if len(alike) == 1:
        return alike[0]
    raise InputError(
        f"there is no '{wanted}' in these data", hint=nearest(str(wanted), [str(feature) for feature in features])
    )


def _without_label(feature: Feature) -> tuple[Any, ...]:
    return (
        *(feature.subject, feature.aspect, feature.name, feature.role),
        *(feature.other, feature.where, feature.relative),
    )


def _called(name: str, features: FoundFeatures) -> Feature:
    """The one feature that people call by a name."""
    for rank in range(4):
        found = [feature for feature in features if name in _names(feature)[rank]]
        if len(found) == 1:
            return found[0]
        if found:
            listed = ", ".join(f"'{feature}'" for feature in found[:4]) + (", …" if len(found) > 4 else "")
            raise ConfigError(
                f"in a known rule: '{name}' can be several things", hint=f"write the one that is meant: {listed}"
            )
    names = sorted({one for feature in features for several in _names(feature) for one in several})
    raise InputError(f"there is no '{name}' in these data", hint=nearest(name, names))


def _names(feature: Feature) -> tuple[tuple[str, ...], ...]:
    """What a feature is called, the most specific names first."""
    if feature.role is Role.SOME:
        return (str(feature),), (), (), ()
    if feature.aspect is not Aspect.MEASUREMENT or feature.role is Role.TIME:
        owned = f"{feature.name} of {feature.subject}" if feature.subject else feature.name
        return (str(feature),), (owned,), (feature.name,), ()
    if feature.name:
        return (str(feature),), (f"{feature.name} of {feature.subject}",), (f"{feature.name} of {feature.label}",), ()
    return (str(feature),), (feature.subject,), (feature.place,), (feature.label,)


def _test(feature: Feature, short: ShortTest, values: tuple[Value | Interval, ...]) -> Item:
    """The item of a short form: a comparison of a number, a range, or a state."""
    numeric = any(isinstance(one, (Interval, float)) and not isinstance(one, bool) for one in values)
    items = [_compared(feature, operator, value, values, numeric) for operator, value in short.comparisons]
    if len(items) == 1:
        return items[0]
    lower, upper = (item.interval for item in items)
    if lower is None or upper is None or not lower.low < upper.high:
        raise ConfigError(f"in a known rule: no value of '{short.name}' is in that range")
    return Item.among(feature, Interval(lower.low, upper.high))


def _compared(
    feature: Feature, operator: Operator, value: str, values: tuple[Value | Interval, ...], numeric: bool
) -> Item:
    states = {state_key(one): one for one in values if isinstance(one, (str, bool))}
    if operator in (Operator.EQ, Operator.NE) and (not numeric or state_key(value) in states):
        return Item.compare(feature, operator, states.get(state_key(value), value))
    number = value.replace(",", "").replace("−", "-").replace("∞", "inf")
    try:
        return Item.compare(feature, operator, float(number))
    except ValueError as error:
        what = f"'{feature}' {operator} '{value}'"
        raise ConfigError(
            f"in a known rule: {what} is no comparison of numbers",
            hint="compare numbers with numbers, and states with = or !=",
        ) from error


def _split(text: str, marks: tuple[str, ...]) -> list[str]:
    """Split a text at some marks, but not within quotes."""
    parts, begin, at, quoted = [], 0, 0, ""
    while at < len(text):
        if quoted:
            if text[at] == "\\" and quoted != "`":
                at += 2
                continue
            quoted = "" if text[at] == quoted else quoted
            at += 1
            continue
        # An apostrophe within a word opens no quotes.
        if text[at] == "`" or (text[at] in _QUOTES and not text[max(at - 1, 0) : at].isalnum()):
            quoted = text[at]
        mark = next((one for one in marks if text.startswith(one, at)), "")
        if mark:
            parts.append(text[begin:at].strip())
            begin = at = at + len(mark)
        else:
            at += 1
    return [*parts, text[begin:].strip()]
