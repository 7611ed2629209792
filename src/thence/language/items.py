"""Intervals, features and items, of which rules consist.

An ``Item`` is a test of a ``Feature``; together they cover the five forms of items of a semantic association rule
(property, measurement, node label, edge label, edge) and all comparison operators. Items are compared, hashed and
ordered by value, and convert to an exact text form and to JSON and back. This module must not know tables or counts;
``thence.language.english`` writes sentences.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import NoneType
from typing import Any

import numpy as np
import numpy.typing as npt

from thence.errors import InputError
from thence.language.time_names import TimeName, parse_time_name

Value = str | float | bool

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, order=True)
class Interval:
    """A half-open range of numbers ``[low, high)``; either end may be infinite.

    Args:
        low: Lower end, included.
        high: Upper end, excluded.
        at: The value that the range stands for, if it holds the numbers that are rounded to one value; sentences name
            the range by it. It is ignored in comparisons.

    Raises:
        ValueError: If ``low`` is not below ``high``.

    Examples:
        >>> Interval(23, 31).contains(31)
        False
        >>> str(Interval(-math.inf, 10.0))
        '[-inf, 10.0)'

        A range from the next number above 0 on is one that excludes 0:

        >>> str(Interval(math.nextafter(0.0, 1.0), 2.89))
        '(0.0, 2.89)'
    """

    low: float
    high: float
    at: float | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        # Adding zero turns −0.0 into 0.0, so that equal intervals have the same text.
        object.__setattr__(self, "low", float(self.low) + 0.0)
        object.__setattr__(self, "high", float(self.high) + 0.0)
        if not self.low < self.high:
            raise ValueError(f"the low end of an interval must be below its high end, got [{self.low}, {self.high})")

    def contains(self, value: float) -> bool:
        """Return whether a number lies in the range; NaN does not.

        Args:
            value: The number.
        """
        return self.low <= value < self.high

    def mask(self, values: FloatArray) -> BoolArray:
        """Return whether each of several numbers lies in the range.

        Args:
            values: The numbers.
        """
        return np.asarray((values >= self.low) & (values < self.high))

    @property
    def is_point(self) -> bool:
        """Whether the range holds a single number."""
        return self.high == math.nextafter(self.low, math.inf)

    def to_dict(self) -> dict[str, float | None]:
        """Return a dict that JSON can hold; infinite ends become null."""
        ends = {"low": _json_number(self.low), "high": _json_number(self.high)}
        return ends if self.at is None else {**ends, "at": self.at}

    @staticmethod
    def from_dict(data: Mapping[str, float | None]) -> Interval:
        """Create an interval from a dict.

        Args:
            data: The dict that ``to_dict`` returned.
        """
        low, high = data["low"], data["high"]
        for name in ("low", "high", "at"):
            end = data.get(name)
            if isinstance(end, bool) or not isinstance(end, (int, float, NoneType)):
                raise ValueError(f"the field '{name}' of an interval must be a number")
        return Interval(-math.inf if low is None else low, math.inf if high is None else high, data.get("at"))

    def __str__(self) -> str:
        # As exact as the numbers themselves: Item.parse takes the next number again.
        after, last = just_below(self.low), just_below(self.high)
        start = f"[{self.low!r}" if after is None else f"({after!r}"
        return f"{start}, {self.high!r})" if last is None else f"{start}, {last!r}]"


class Aspect(StrEnum):
    """What a feature observes of its subject."""

    MEASUREMENT = "measurement"
    PROPERTY = "property"
    LABEL = "label"
    EDGE = "edge"


class Role(StrEnum):
    """What the subject of a feature is."""

    SENSOR = "sensor"
    NODE = "node"
    EDGE = "edge"
    VARIABLE = "variable"
    SOME = "some"
    ALL = "all"
    TIME = "time"


class Operator(StrEnum):
    """Comparison operator of an item, as written in the text form."""

    EQ = "="
    NE = "≠"
    LT = "<"
    LE = "≤"
    GT = ">"
    GE = "≥"
    IN = "∈"
    NOT_IN = "∉"

    @classmethod
    def _missing_(cls, value: object) -> Operator | None:
        """Accept the ASCII spellings."""
        known = {"==": "=", "!=": "≠", "<=": "≤", ">=": "≥", "in": "∈", "not in": "∉"}
        return cls(known[value]) if isinstance(value, str) and value in known else None


_NEGATION = {
    Operator.EQ: Operator.NE,
    Operator.NE: Operator.EQ,
    Operator.LT: Operator.GE,
    Operator.GE: Operator.LT,
    Operator.LE: Operator.GT,
    Operator.GT: Operator.LE,
    Operator.IN: Operator.NOT_IN,
    Operator.NOT_IN: Operator.IN,
}


def just_below(number: float) -> float | None:
    """Return the short number of which ``number`` is the next larger float, if there is one.

    The numbers above 3 are those from the next float on, and those up to 3 end before it.

    Examples:
        >>> just_below(math.nextafter(3.0, math.inf)), just_below(3.0), just_below(math.inf)
        (3.0, None, None)
    """
    if not math.isfinite(number):
        return None
    below = math.nextafter(number, -math.inf)
    return below + 0.0 if not below or len(repr(below)) + 6 < len(repr(number)) else None


def quote(name: str) -> str:
    """Quote a name for the text form: a plain word stays as it is, anything else gets backticks.

    Examples:
        >>> quote("Pipe"), quote("AHU: Supply Air")
        ('Pipe', '`AHU: Supply Air`')
    """
    plain = name.replace("_", "a").isalnum() and name.isascii() and not name[:1].isdigit()
    return name if plain and name not in RESERVED else "`" + name.replace("`", "``") + "`"


RESERVED = frozenset({"value", "rank", "some", "in", "not", "time", "inf", "nan", "true", "false"})


@dataclass(frozen=True, slots=True)
class Feature:
    """One column of a table: a subject and what is observed of it.

    ``unit``, ``place``, ``classes``, ``reads`` and ``presence`` are metadata and are ignored in comparisons.

    Args:
        subject: Id of the sensor, node or edge, or name of the variable; of a link of a pattern, that of its source.
        aspect: What is observed: a measurement, a property, a label or an edge.
        name: Name of the property, label or relation, or of a quantity derived from a measurement (``"change"``,
            ``"lag:30min"``).
        role: What the subject is. A feature with the role ``some`` is a statement that is true or false in each frame;
            one with the role ``all`` has no subject and says that all items of ``where`` hold.
        label: Kind of the sensor, class of the node, or relation of the edge.
        other: Target of an edge, or of a link of a pattern.
        where: Conditions of a statement: those on the node and, last, the one on the reading; or the one on some value
            of a property that has several.
        relative: Whether a measurement is a rank in the sensor's own history (0 to 1), which carries over from one
            sensor to another, rather than an absolute reading.
        unit: Unit of measurement.
        place: Node to which the sensor is bound.
        classes: Classes of that node and their ancestors.
        reads: Sets of sensors that an aggregate is computed from.
        presence: Whether it is an item of baskets, of which only the presence is told.

    Examples:
        >>> str(Feature("s1", Aspect.MEASUREMENT, label="flow", unit="m3/h"))
        '(s1:flow).value'
        >>> str(Feature("p", Aspect.PROPERTY, "diameter", role=Role.VARIABLE, label="Pipe"))
        '(?p:Pipe).diameter'
        >>> str(Feature("a", Aspect.PROPERTY, "lanes", role=Role.VARIABLE, label="road", other="b"))
        '(?a)-[road]-(?b).lanes'
    """

    subject: str
    aspect: Aspect = Aspect.MEASUREMENT
    name: str = ""
    role: Role = Role.SENSOR
    label: str = ""
    other: str = ""
    where: tuple[Item, ...] = ()
    relative: bool = False
    unit: str = field(default="", compare=False)
    place: str = field(default="", compare=False)
    classes: frozenset[str] = field(default=frozenset(), compare=False)
    reads: frozenset[str] = field(default=frozenset(), compare=False)
    presence: bool = field(default=False, compare=False)

    @property
    def key(self) -> tuple[str, ...]:
        """Sort key."""
        return (
            self.role,
            self.subject,
            self.label,
            self.aspect,
            self.name,
            self.other,
            "rank" if self.relative else "",
            *(str(item) for item in self.where),
        )

    def __lt__(self, other: Feature) -> bool:
        return self.key < other.key

    @property
    def time(self) -> TimeName | None:
        """What the feature says about time, if it is an earlier reading, a switch, a duration or what follows."""
        if not self.name or self.aspect is not Aspect.MEASUREMENT or self.role is Role.TIME or self.reads:
            return None
        return parse_time_name(self.name)

    @property
    def is_statement(self) -> bool:
        """Whether the feature itself is true or false, so that the text of its items needs no test."""
        return self.aspect in (Aspect.LABEL, Aspect.EDGE) or bool(self.where)

    @property
    def parts(self) -> tuple[Feature, ...]:
        """The features that it joins; of any other than one with the role ``all``, itself."""
        return tuple(item.feature for item in self.where) if self.role is Role.ALL else (self,)

    def with_some(self, test: Item) -> Feature:
        """Return the statement that some value of a property, which may have several, satisfies a test.

        Args:
            test: A test of this feature.

        Examples:
            >>> use = Feature("Room 1", Aspect.PROPERTY, "use", role=Role.NODE)
            >>> str(Item.is_(use.with_some(Item.is_(use, "office")), True))
            "some (`Room 1`).use = 'office'"
        """
        return replace(self, where=(test,))

    @property
    def is_link(self) -> bool:
        """Whether the feature is a property of the edge between two variables."""
        return self.aspect is Aspect.PROPERTY and bool(self.other)

    @property
    def subject_text(self) -> str:
        """Text form of the subject, e.g. ``(s1:flow)``, ``(?p:Pipe)``, ``[e1]`` or ``(?a)-[road]-(?b)``."""
        if self.is_link:
            return f"(?{quote(self.subject)})-[{quote(self.label) if self.label else ''}]-(?{quote(self.other)})"
        label = f":{quote(self.label)}" if self.label else ""
        if self.role is Role.TIME:
            return "(time)"
        if self.role is Role.EDGE:
            return f"[{quote(self.subject)}{label}]"
        if self.role is Role.SOME:
            conditions = ", ".join(f"{quote(i.feature.name)} {i.test_text}" for i in self.where[:-1])
            host = f" in {quote(self.subject)}" if self.subject else ""
            return f"(some {quote(self.label)}{host}{'{' + conditions + '}' if conditions else ''})"
        mark = "?" if self.role is Role.VARIABLE else ""
        return f"({mark}{quote(self.subject)}{label})"

    def __str__(self) -> str:
        if self.role is Role.ALL:
            return " ∧ ".join(map(str, self.where))
        if self.aspect is Aspect.MEASUREMENT:
            base = "rank" if self.relative else "value"
            text = f"{self.subject_text}.{base}" + (f":{quote(self.name)}" if self.name else "")
            return f"{text} {self.where[-1].test_text}" if self.where else text
        if self.aspect is Aspect.PROPERTY:
            text = f"{self.subject_text}.{quote(self.name)}"
            return f"some {text} {self.where[-1].test_text}" if self.where else text
        if self.aspect is Aspect.LABEL:
            bracket = "[]" if self.role is Role.EDGE else "()"
            mark = "?" if self.role is Role.VARIABLE else ""
            return f"{bracket[0]}{mark}{quote(self.subject)}:{quote(self.name)}{bracket[1]}"
        mark = "?" if self.role is Role.VARIABLE else ""
        return f"({mark}{quote(self.subject)})-[{quote(self.name)}]->({mark}{quote(self.other)})"

    def to_dict(self) -> dict[str, Any]:
        """Return a dict that JSON can hold; empty fields are left out."""
        out: dict[str, Any] = {"subject": self.subject, "aspect": str(self.aspect), "role": str(self.role)}
        for name in ("name", "label", "other", "unit", "place"):
            if getattr(self, name):
                out[name] = getattr(self, name)
        for name in ("relative", "presence"):
            if getattr(self, name):
                out[name] = True
        for name in ("classes", "reads"):
            if getattr(self, name):
                out[name] = sorted(getattr(self, name))
        if self.where:
            out["where"] = [item.to_dict() for item in self.where]
        return out

    @staticmethod
    def from_dict(data: dict[str, Any]) -> Feature:
        """Create a feature from a dict.

        Args:
            data: The dict that ``to_dict`` returned.

        Raises:
            KeyError: If a field is missing.
            ValueError: If a field has another type than ``to_dict`` gives it.
        """
        _require_types(data)
        return Feature(
            subject=data["subject"],
            aspect=Aspect(data["aspect"]),
            name=data.get("name", ""),
            role=Role(data["role"]),
            label=data.get("label", ""),
            other=data.get("other", ""),
            where=tuple(Item.from_dict(item) for item in data.get("where", ())),
            relative=data.get("relative", False),
            unit=data.get("unit", ""),
            place=data.get("place", ""),
            classes=frozenset(data.get("classes", ())),
            reads=frozenset(data.get("reads", ())),
            presence=data.get("presence", False),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Item:
    """A feature and a test of it.

    Create items with ``is_``, ``among`` or ``compare``, which bring equivalent tests to one canonical form:
    ``value ∈ [10, inf)`` and ``value ≥ 10`` are the same item.

    Args:
        feature: The feature.
        operator: The comparison operator.
        value: What the feature is compared with.

    Examples:
        >>> flow = Feature("s1", label="flow")
        >>> str(Item.among(flow, Interval(23, 31)))
        '(s1:flow).value ∈ [23.0, 31.0)'
        >>> str(Item.among(flow, Interval(10, math.inf)))
        '(s1:flow).value ≥ 10.0'
        >>> str(Item.among(flow, Interval(-math.inf, math.nextafter(10, math.inf))))
        '(s1:flow).value ≤ 10.0'
        >>> str(Item.is_(Feature("P1", Aspect.LABEL, "Pipe", role=Role.NODE), True))
        '(P1:Pipe)'
    """

    feature: Feature
    operator: Operator
    value: Value | Interval | frozenset[Value]

    def __eq__(self, other: object) -> bool:
        # To Python 0.0 equals False; to a rule a number is not a truth value.
        return (
            isinstance(other, Item)
            and self.operator is other.operator
            and self.value == other.value
            and isinstance(self.value, bool) is isinstance(other.value, bool)
            and self.feature == other.feature
        )

    def __hash__(self) -> int:
        return hash((self.feature, self.operator, self.value))

    @staticmethod
    def parse(text: str) -> Item:
        """Parse an item from its text form.

        The grammar is that of ``str(item)``, plus ASCII spellings of the operators (``!=``, ``<=``, ``>=``, ``in``,
        ``not in``). A range includes the number next to a square bracket and excludes the one next to a round bracket.

        Args:
            text: The text.

        Returns:
            The item. Its feature has no metadata (unit, place, classes), which the text form does not contain.

        Raises:
            InputError: If the text does not follow the grammar; the message gives the position.

        Examples:
            >>> item = Item.parse("(?p:Pipe).diameter >= 0.4")
            >>> str(item)
            '(?p:Pipe).diameter ≥ 0.4'
            >>> Item.parse(str(item)) == item
            True
        """
        return _Parser(text).items()

    @staticmethod
    def is_(feature: Feature, value: Value | Interval) -> Item:
        """Create an item for a value of a column: equality with a category, or membership in a range.

        Args:
            feature: The feature.
            value: A category, a number or an interval.
        """
        if isinstance(value, Interval):
            return Item.among(feature, value)
        return Item(feature, Operator.EQ, _plain(value))

    @staticmethod
    def all_of(items: Iterable[Item]) -> Item:
        """Create the item that says that several items hold.

        Args:
            items: The items.

        Examples:
            >>> both = Item.all_of([Item.is_(Feature("a"), "x"), Item.is_(Feature("b"), "y")])
            >>> str(both), Item.parse(str(both)) == both
            ("(a).value = 'x' ∧ (b).value = 'y'", True)
        """
        listed = tuple(sorted({part for item in items for part in item.parts}))
        return listed[0] if len(listed) == 1 else Item.is_(Feature("", role=Role.ALL, where=listed), True)

    @property
    def parts(self) -> tuple[Item, ...]:
        """The items that it joins; of any other than one that ``all_of`` returned, itself."""
        joined = self.feature.role is Role.ALL and self.operator is Operator.EQ and self.value is True
        return self.feature.where if joined else (self,)

    @staticmethod
    def among(feature: Feature, values: Interval | Iterable[Value], *, negated: bool = False) -> Item:
        """Create an item for membership in a range or in a set of categories.

        Args:
            feature: The feature.
            values: An interval, or at least one category.
            negated: Whether to test that the value is *not* a member.

        Raises:
            ValueError: If there are no categories.
        """
        if isinstance(values, Interval):
            if values.is_point:
                item = Item(feature, Operator.EQ, values.low)
            elif math.isinf(values.low) and not math.isinf(values.high):
                last = just_below(values.high)
                item = Item(feature, *((Operator.LT, values.high) if last is None else (Operator.LE, last)))
            elif math.isinf(values.high) and not math.isinf(values.low):
                last = just_below(values.low)
                item = Item(feature, *((Operator.GE, values.low) if last is None else (Operator.GT, last)))
            else:
                item = Item(feature, Operator.IN, values)
        else:
            members = frozenset(_plain(value) for value in values)
            if not members:
                raise ValueError("values must hold at least one value")
            item = (
                Item(feature, Operator.EQ, next(iter(members)))
                if len(members) == 1
                else Item(feature, Operator.IN, members)
            )
        return item.negated() if negated else item

    @staticmethod
    def compare(feature: Feature, operator: Operator | str, value: Value) -> Item:
        """Create an item that compares the feature with one value.

        Args:
            feature: The feature.
            operator: The operator; ASCII spellings such as ``">="`` are accepted.
            value: The value; a number for ``<``, ``≤``, ``>`` and ``≥``.

        Raises:
            ValueError: If the operator is unknown, needs a number, or holds for no number.
        """
        operator = Operator(operator)
        if operator in (Operator.IN, Operator.NOT_IN):
            return Item.among(feature, [value], negated=operator is Operator.NOT_IN)
        item = Item(feature, operator, _plain(value))
        if operator in (Operator.EQ, Operator.NE):
            return item
        if isinstance(item.value, bool) or not isinstance(item.value, float):
            raise ValueError(f"'{operator}' requires a number, got {value!r}")
        try:
            _ = item.interval
        except ValueError:
            raise ValueError(f"no number is {operator} {value!r}") from None
        return item

    @property
    def is_presence(self) -> bool:
        """Whether it says that an item is in a basket, so that its name alone says it."""
        return self.feature.presence and self.operator is Operator.EQ and self.value is True

    def negated(self) -> Item:
        """Return the item that holds in exactly the rows with a known value in which this one does not."""
        return Item(self.feature, _NEGATION[self.operator], self.value)

    @property
    def is_numeric(self) -> bool:
        """Whether the test is about numbers rather than categories."""
        return isinstance(self.value, (Interval, float)) and not isinstance(self.value, bool)

    @property
    def interval(self) -> Interval | None:
        """The range of numbers that satisfy the test; ``None`` unless they form a single range."""
        if isinstance(self.value, Interval):
            return self.value if self.operator is Operator.IN else None
        if not isinstance(self.value, float):
            return None
        bounds: dict[Operator, tuple[float, float]] = {
            Operator.LT: (-math.inf, self.value),
            Operator.LE: (-math.inf, math.nextafter(self.value, math.inf)),
            Operator.GE: (self.value, math.inf),
            Operator.GT: (math.nextafter(self.value, math.inf), math.inf),
        }
        return Interval(*bounds[self.operator]) if self.operator in bounds else None

    def holds(self, value: Value | Interval | None) -> bool:
        """Return whether a value satisfies the test.

        Args:
            value: The value, or an interval of which every number must satisfy the test. ``None`` and NaN never do.
        """
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return False
        if self.operator in (Operator.NE, Operator.NOT_IN):
            return not self.negated()._meets(value) if not isinstance(value, Interval) else self._excludes(value)
        return self._meets(value)

    def _meets(self, value: Value | Interval) -> bool:
        if isinstance(value, Interval):
            if value.is_point:
                return self._meets(value.low)
            own = self.interval
            return own is not None and own.low <= value.low and value.high <= own.high
        if isinstance(self.value, frozenset):
            return value in self.value
        own = self.interval
        if own is not None:
            # To Python False is 0; to a rule a truth value is not a number.
            return isinstance(value, (int, float)) and not isinstance(value, bool) and own.contains(value)
        return value == self.value

    def _excludes(self, value: Interval) -> bool:
        positive = self.negated()
        if isinstance(positive.value, float):
            return not value.contains(positive.value)
        if isinstance(positive.value, (str, bool)):
            return True
        if isinstance(positive.value, frozenset):
            return not any(isinstance(v, float) and value.contains(v) for v in positive.value)
        own = positive.interval
        return own is not None and (own.high <= value.low or value.high <= own.low)

    def mask(self, values: FloatArray) -> BoolArray:
        """Return whether each of several numbers satisfies the test.

        Args:
            values: The numbers; NaN is missing and never satisfies it.
        """
        own = self.interval
        if own is not None:
            return own.mask(values)
        present = ~np.isnan(values)
        if self.operator in (Operator.NE, Operator.NOT_IN):
            return np.asarray(present & ~self.negated().mask(values))
        members = list(self.value) if isinstance(self.value, frozenset) else [self.value]
        return np.asarray(np.isin(values, np.array(members, dtype=np.float64)))

    @property
    def key(self) -> tuple[Any, ...]:
        """Sort key: the feature, then the lower end of the test, then its text."""
        own = self.interval
        if own is not None:
            low = own.low
        elif isinstance(self.value, Interval):
            low = self.value.low
        else:
            low = self.value if self.is_numeric and isinstance(self.value, float) else -math.inf
        return (self.feature.key, low, self.operator, self.value_text)

    def __lt__(self, other: Item) -> bool:
        return bool(self.key < other.key)

    @property
    def value_text(self) -> str:
        """Text form of the value."""
        if isinstance(self.value, Interval):
            return str(self.value)
        if isinstance(self.value, frozenset):
            return "{" + ", ".join(sorted(_literal(v) for v in self.value)) + "}"
        return _literal(self.value)

    @property
    def test_text(self) -> str:
        """Text form of operator and value, e.g. ``≥ 0.4``."""
        return f"{self.operator} {self.value_text}"

    def __str__(self) -> str:
        if self.value is True and self.feature.is_statement:
            if self.operator is Operator.EQ:
                return str(self.feature)
            if self.operator is Operator.NE:
                return f"not {self.feature}"
        return f"{self.feature} {self.test_text}"

    def to_dict(self) -> dict[str, Any]:
        """Return a dict that JSON can hold, with exact numbers."""
        value: Any = self.value
        if isinstance(value, Interval):
            value = value.to_dict()
        elif isinstance(value, frozenset):
            value = sorted(value, key=_literal)
        return {"feature": self.feature.to_dict(), "operator": str(self.operator), "value": value}

    @staticmethod
    def from_dict(data: dict[str, Any]) -> Item:
        """Create an item from a dict.

        Args:
            data: The dict that ``to_dict`` returned.
        """
        value = data["value"]
        if isinstance(value, dict):
            value = Interval.from_dict(value)
        elif isinstance(value, list):
            value = frozenset(_plain(v) for v in value)
        else:
            value = _plain(value)
        return Item(Feature.from_dict(data["feature"]), Operator(data["operator"]), value)


def _require_types(data: Mapping[str, Any]) -> None:
    """Raise if a field of a feature, as read from a file, has a type that it cannot have."""
    for name, value in data.items():
        if name in ("classes", "reads"):
            right = isinstance(value, list) and all(isinstance(member, str) for member in value)
        elif name in ("relative", "presence"):
            right = isinstance(value, bool)
        else:
            right = isinstance(value, list if name == "where" else str)
        if not right:
            raise ValueError(f"the field '{name}' of a feature has a wrong type")


def _plain(value: Value) -> Value:
    """Convert to one Python type per kind of value, so that 1 and 1.0 give the same item."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, float, np.integer, np.floating)):
        return float(value) + 0.0
    return str(value)


def _literal(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value)
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _json_number(value: float) -> float | None:
    """Replace infinity, which JSON lacks, by ``None``."""
    return None if math.isinf(value) else value


_TOKEN = re.compile(
    r"\s*(?:"
    r"(?P<quoted>`(?:[^`]|``)*`)"
    r"|(?P<string>'(?:[^'\\]|\\.)*')"
    r"|(?P<arrow>\]->|\]-|\)-\[)"
    r"|(?P<number>[+\-−]?(?:\d+(?:\.\d*)?(?:[eE][+\-−]?\d+)?|\.\d+(?:[eE][+\-−]?\d+)?|inf)(?![\w]))"
    r"|(?P<word>[^\W\d]\w*)"
    r"|(?P<op>!=|<=|>=|[=≠<≤>≥∈∉∧])"
    r"|(?P<mark>[()\[\]{}:.,?])"
    r")"
)


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[tuple[str, str, int]] = []
        position = 0
        while position < len(text.rstrip()):
            match = _TOKEN.match(text, position)
            if match is None or match.lastgroup is None:
                raise self.error("unexpected character", position)
            self.tokens.append((match.lastgroup, match.group(match.lastgroup), match.start(match.lastgroup)))
            position = match.end()
        self.at = 0

    def error(self, message: str, position: int | None = None) -> InputError:
        if position is None:
            position = self.tokens[self.at][2] if self.at < len(self.tokens) else len(self.text)
        return InputError(f"{message} at character {position + 1} of item {self.text!r}")

    def peek(self, offset: int = 0) -> str:
        at = self.at + offset
        return self.tokens[at][1] if at < len(self.tokens) else ""

    def take(self, expected: str | None = None) -> str:
        if self.at >= len(self.tokens) or (expected is not None and self.peek() != expected):
            raise self.error(f"expected '{expected}'" if expected else "unexpected end")
        self.at += 1
        return self.tokens[self.at - 1][1]

    def name(self) -> tuple[str, bool]:
        """Parse a name; return it and whether it was quoted."""
        if self.at < len(self.tokens):
            group, text, _ = self.tokens[self.at]
            if group == "quoted":
                self.at += 1
                return text[1:-1].replace("``", "`"), True
            if group == "word":
                self.at += 1
                return text, False
        raise self.error("expected a name")

    def items(self) -> Item:
        """Parse an item, or several that are joined."""
        found = [self.item()]
        while self.peek() == "∧":
            self.take()
            found.append(self.item())
        if self.at != len(self.tokens):
            raise self.error("unexpected text after the item")
        return Item.all_of(found)

    def item(self) -> Item:
        negated = self.peek() == "not"
        if negated:
            self.take()
        some = self.peek() == "some"
        if some:
            self.take()
        feature = self.feature()
        if some:
            feature = self.some_value(feature)
        if self.at == len(self.tokens) or self.peek() == "∧":
            if not feature.is_statement:
                raise self.error("expected an operator")
            item = Item.is_(feature, True)
        else:
            item = self.test(feature)
        return item.negated() if negated else item

    def some_value(self, feature: Feature) -> Feature:
        """Parse the test of some value of a property."""
        if feature.aspect is not Aspect.PROPERTY:
            raise self.error("expected a property after 'some'")
        return feature.with_some(self.test(feature))

    def test(self, feature: Feature) -> Item:
        symbol = self.take()
        if symbol == "not":
            self.take("in")
            symbol = "not in"
        try:
            operator = Operator(symbol)
        except ValueError:
            self.at -= 1
            raise self.error("expected an operator") from None
        if operator in (Operator.IN, Operator.NOT_IN):
            return Item.among(feature, self.members(), negated=operator is Operator.NOT_IN)
        at, value = self.at, self.literal()
        try:
            return Item.compare(feature, operator, value)
        except ValueError as error:
            self.at = at
            raise self.error(str(error)) from error

    def members(self) -> Interval | list[Value]:
        if self.peek() in ("[", "("):
            after = self.take() == "("
            low = self.number()
            self.take(",")
            high = self.number()
            last = self.take("]" if self.peek() == "]" else ")") == "]"
            low = math.nextafter(low, math.inf) if after else low
            high = math.nextafter(high, math.inf) if last else high
            if not low < high:
                raise self.error("the low end of an interval must be below its high end")
            return Interval(low, high)
        self.take("{")
        values = [self.literal()]
        while self.peek() == ",":
            self.take()
            values.append(self.literal())
        self.take("}")
        return values

    def number(self) -> float:
        if self.at < len(self.tokens) and self.tokens[self.at][0] == "number":
            return float(self.take().replace("−", "-"))
        if self.peek() == "inf":
            self.take()
            return math.inf
        raise self.error("expected a number")

    def literal(self) -> Value:
        if self.at >= len(self.tokens):
            raise self.error("expected a value")
        group, text, _ = self.tokens[self.at]
        if group == "string":
            self.at += 1
            return re.sub(r"\\(.)", r"\1", text[1:-1])
        if text in ("true", "false"):
            self.at += 1
            return text == "true"
        return self.number()

    def feature(self) -> Feature:
        if self.peek() == "[":
            self.take()
            subject, _ = self.name()
            label = self.label()
            self.take("]")
            return self.observed(subject, label, Role.EDGE)
        self.take("(")
        if self.peek() == "some":
            return self.existential()
        if self.peek() == "time" and self.peek(1) == ")":
            self.take()
            self.take(")")
            return self.observed("", "", Role.TIME)
        variable = self.peek() == "?"
        if variable:
            self.take()
        subject, _ = self.name()
        label = self.label()
        if self.peek() == ")-[":
            self.take()
            return self.edge(subject, Role.VARIABLE if variable else Role.NODE)
        self.take(")")
        return self.observed(subject, label, Role.VARIABLE if variable else Role.NODE)

    def edge(self, subject: str, role: Role) -> Feature:
        """Parse what follows ``(a)-[``: an edge to another node, or a property of a link between two variables."""
        relation = "" if self.peek() == "]-" else self.name()[0]
        linked = self.peek() == "]-" and role is Role.VARIABLE
        self.take("]-" if linked else "]->")
        self.take("(")
        if role is Role.VARIABLE:
            self.take("?")
        other, _ = self.name()
        self.take(")")
        if not linked:
            return Feature(subject, Aspect.EDGE, relation, role=role, other=other)
        self.take(".")
        return Feature(subject, Aspect.PROPERTY, self.name()[0], role=role, label=relation, other=other)

    def label(self) -> str:
        if self.peek() != ":":
            return ""
        self.take()
        return self.name()[0]

    def observed(self, subject: str, label: str, role: Role) -> Feature:
        """Parse what follows a subject: a measurement, a property, or nothing (then its label is the feature)."""
        if self.peek() != ".":
            if not label:
                raise self.error("expected '.' or a label")
            return Feature(subject, Aspect.LABEL, label, role=role)
        self.take()
        name, quoted = self.name()
        if quoted or name not in ("value", "rank"):
            return Feature(subject, Aspect.PROPERTY, name, role=role, label=label)
        derived = self.label()
        role = Role.SENSOR if role is Role.NODE else role
        return Feature(subject, Aspect.MEASUREMENT, derived, role=role, label=label, relative=name == "rank")

    def existential(self) -> Feature:
        self.take("some")
        kind, _ = self.name()
        host = ""
        if self.peek() == "in":
            self.take()
            host, _ = self.name()
        where: list[Item] = []
        if self.peek() == "{":
            self.take()
            while True:
                name, _ = self.name()
                where.append(self.test(Feature(host, Aspect.PROPERTY, name, role=Role.SOME)))
                if self.take() == "}":
                    break
        self.take(")")
        self.take(".")
        base, _ = self.name()
        derived = self.label()
        relative = base == "rank"
        reading = Feature(host, Aspect.MEASUREMENT, derived, role=Role.SOME, label=kind, relative=relative)
        where.append(self.test(reading))
        return Feature(
            host, Aspect.MEASUREMENT, derived, role=Role.SOME, label=kind, where=tuple(where), relative=relative
        )
