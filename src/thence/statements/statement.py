"""Statements: what rules, laws, controls and ranges have in common.

A statement is a sentence about the readings of a system that can be checked window by window and counted. Whatever
lists, searches, stores, checks or shows statements knows this protocol and not the four kinds. This module holds types;
it computes nothing from data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from thence._base.display.percent import percent
from thence.errors import ConfigError, nearest
from thence.language.english import format_clause
from thence.language.items import Aspect, Feature, Item, Role

Kind = Literal["rule", "law", "control", "range"]

NOT_APPLICABLE, HOLDS, VIOLATED, MISSING = 0, 1, 2, 3
"""The state of a statement at a place in a window."""


def parse_kinds(given: str | Iterable[str]) -> tuple[Kind, ...]:
    """Return the kinds of statements that a person named, each once, in the order of a run's findings.

    Args:
        given: Kinds in the singular or the plural, as a list or separated by commas; ``"all"`` for every kind of a run.

    Raises:
        ConfigError: If there is no such kind, or none was named.

    Examples:
        >>> parse_kinds("rules, laws"), parse_kinds("all")
        (('law', 'rule'), ('control', 'law', 'rule'))
    """
    known: tuple[Kind, ...] = ("control", "law", "rule")
    named = [name.strip().lower() for name in (given.split(",") if isinstance(given, str) else given) if name.strip()]
    wanted = {*known} if named == ["all"] else {name.removesuffix("s") for name in named}
    for name in wanted - {*known}:
        hint = nearest(name, known) or "use rules, laws, controls or all"
        raise ConfigError(f"there is no kind of statement '{name[:40]}' in a run", hint=hint)
    if not wanted:
        raise ConfigError("no kind of statement was named", hint="use rules, laws, controls or all")
    return tuple(kind for kind in known if kind in wanted)


@dataclass(frozen=True, slots=True)
class Features:
    """What a statement is about: names, each once and in alphabetical order.

    Args:
        kinds: Kinds of sensors, such as ``"flow"``; a column of a plain table is its own kind.
        sensors: Ids of sensors that it names.
        places: Ids of nodes that it names, or at which it was counted.
        classes: Classes of nodes.
        properties: Names of properties.

    Examples:
        >>> level = Feature("l2", label="level", place="Tank 2", classes=frozenset({"Tank"}))
        >>> Features.of([level])
        Features(kinds=('level',), sensors=('l2',), places=('Tank 2',), classes=('Tank',), properties=())
    """

    kinds: tuple[str, ...] = ()
    sensors: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    properties: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for one in fields(self):
            object.__setattr__(self, one.name, tuple(sorted({name for name in getattr(self, one.name) if name})))

    @staticmethod
    def of(features: Iterable[Feature]) -> Features:
        """Return what features are about.

        Args:
            features: The features.
        """
        listed = list(features)
        return Features(
            kinds=tuple(one.label or one.subject for one in listed if _is_reading(one)),
            sensors=tuple(one.subject for one in listed if one.role is Role.SENSOR),
            places=tuple(name for one in listed for name in _places(one)),
            classes=tuple(name for one in listed for name in _classes(one)),
            properties=tuple(name for one in listed for name in _properties(one)),
        )

    def named(self, facet: str) -> tuple[str, ...]:
        """Return the names of a facet.

        Args:
            facet: ``"kind"``, ``"class"`` or ``"property"``.
        """
        return tuple(getattr(self, FACETS[facet]))


FACETS = {"kind": "kinds", "class": "classes", "property": "properties"}
"""Names of facets, and the fields of ``Features`` with their names."""


def _is_reading(feature: Feature) -> bool:
    return feature.aspect is Aspect.MEASUREMENT and feature.role is not Role.TIME


def _places(feature: Feature) -> Iterator[str]:
    if feature.role is Role.SENSOR:
        yield feature.place
    if feature.role is Role.NODE:
        yield feature.subject
    if feature.role in (Role.NODE, Role.EDGE):
        yield feature.other


def _classes(feature: Feature) -> Iterator[str]:
    yield from feature.classes
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


class HeldCounts(NamedTuple):
    """How often a statement applied and held.

    Args:
        applies: Windows × places in which it applies; of a control, switches.
        holds: Those of these in which it holds; of a control, switches that it explains.
        later_applies: Those in the later part of the time, which was not searched; ``None`` if there is no such part.
        later_holds: Those of these in which it holds.
        occasions: Separate occasions on which it applies in that part, if they were counted.
        by_place: (applies, holds) by place, as far as the statement itself knows them; ``Findings.by_place`` has those
            of rules.

    Examples:
        >>> HeldCounts(28, 27).share
        0.9642857142857143
    """

    applies: int = 0
    holds: int = 0
    later_applies: int | None = None
    later_holds: int | None = None
    occasions: int | None = None
    by_place: Mapping[str, tuple[int, int]] = {}

    @property
    def share(self) -> float:
        """Share of what applies in which it holds; NaN if it never applied."""
        return self.holds / self.applies if self.applies else float("nan")

    def confirmation(self, of: str = "rows") -> str:
        """Say how the statement held in the time that was not searched; an empty string if that is not known.

        Args:
            of: What was counted.

        Examples:
            >>> HeldCounts(90, 88, 30, 29, 11).confirmation()
            'held in 29 of the 30 rows (96 %) of the time that was not searched, on 11 separate occasions'
        """
        if not self.later_applies or self.later_holds is None:
            return ""
        share = percent(self.later_holds / self.later_applies, "down", 0)
        held = f"held in {self.later_holds:,} of the {self.later_applies:,} {of} ({share})"
        occasions = "" if self.occasions is None else f", on {self.occasions:,} separate occasions"
        return f"{held} of the time that was not searched{occasions}"

    def to_dict(self) -> dict[str, int]:
        """Return the numbers that are known, without those by place, ready for JSON."""
        known = self._asdict().items()
        return {name: number for name, number in known if number is not None and name != "by_place"}


@dataclass(frozen=True, slots=True)
class Words:
    """How a sentence is to be written.

    Args:
        counts: Whether it also says how often the statement held.
        features: What sensors are: their kinds, units and places, by id; for statements that know only ids.
    """

    counts: bool = False
    features: Mapping[str, Feature] = field(default_factory=dict)


PLAIN = Words()
"""A sentence without counts."""


class SearchTexts(NamedTuple):
    """The texts in which words are looked up, in lower case: what is given, what follows, and the rest.

    Args:
        left: Conditions, which ``if:`` searches.
        right: Conclusions, which ``then:`` searches.
        whole: What belongs to neither, such as names of places.
    """

    left: tuple[str, ...] = ()
    right: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()

    @staticmethod
    def of(left: Iterable[str] = (), right: Iterable[str] = (), whole: Iterable[str] = ()) -> SearchTexts:
        """Return texts in lower case, without empty ones.

        Args:
            left: Conditions.
            right: Conclusions.
            whole: The rest.
        """
        return SearchTexts(*(tuple(text.casefold() for text in texts if text) for texts in (left, right, whole)))


def item_texts(item: Item) -> str:
    """Return the texts of an item for searching: with a variable, with "its", and the exact one.

    Args:
        item: The item.

    Examples:
        >>> item_texts(Item.is_(Feature("p1", label="flow"), "on")).splitlines()[0]
        'p1 reads on'
    """
    alone = f"for every node {item.feature.place or item.feature.subject}"
    return "\n".join(dict.fromkeys((format_clause(item), format_clause(item, alone), str(item))))


@dataclass(frozen=True, eq=False)
class States:
    """The state of a statement at each place in each window.

    Args:
        places: The names of the places; one empty name for the whole system.
        codes: Places × windows: ``NOT_APPLICABLE``, ``HOLDS``, ``VIOLATED`` or ``MISSING``.

    Examples:
        >>> applies, holds = np.array([[True, True, False]]), np.array([[True, False, False]])
        >>> states = States.of(("Pump 1",), applies=applies, holds=holds)
        >>> states.codes.tolist(), states.counts.by_place
        ([[1, 2, 0]], {'Pump 1': (2, 1)})
    """

    places: tuple[str, ...]
    codes: npt.NDArray[np.int8]

    @staticmethod
    def of(
        places: Sequence[str],
        *,
        applies: npt.NDArray[np.bool_],
        holds: npt.NDArray[np.bool_],
        missing: npt.NDArray[np.bool_] | None = None,
    ) -> States:
        """Return states from masks, each places × windows.

        Args:
            places: The names of the places.
            applies: Where the statement applies.
            holds: Where it holds.
            missing: Where a reading is missing.
        """
        codes = np.where(applies, np.where(holds, HOLDS, VIOLATED), NOT_APPLICABLE).astype(np.int8)
        if missing is not None:
            codes[missing & ~applies] = MISSING
        return States(tuple(places), codes)

    @property
    def applies(self) -> npt.NDArray[np.bool_]:
        """Where the statement applies, places × windows."""
        return np.asarray((self.codes == HOLDS) | (self.codes == VIOLATED))

    @property
    def counts(self) -> HeldCounts:
        """How often the statement applied and held, in all and by place."""
        holds, violated = ((self.codes == code).sum(axis=1) for code in (HOLDS, VIOLATED))
        by_place = {name: (int(h + v), int(h)) for name, h, v in zip(self.places, holds, violated, strict=True)}
        return HeldCounts(int(holds.sum() + violated.sum()), int(holds.sum()), by_place=by_place)


class Trace(NamedTuple):
    """The readings of one sensor, window by window.

    Args:
        sensor: Its id.
        unit: Its unit.
        values: Numbers, NaN where there is no reading; of a sensor of states, positions in ``states``.
        states: The names of the states; empty for numbers.
    """

    sensor: str
    unit: str
    values: npt.NDArray[np.float64]
    states: tuple[str, ...] = ()


class Data(Protocol):
    """Readings in windows, with the table and the graph behind them, on which statements are checked."""

    @property
    def system(self) -> Any:
        """The ``System`` that the readings belong to; ``None`` for a plain table."""
        ...

    @property
    def readings(self) -> Any:
        """The readings in windows (``WindowedReadings``); ``None`` for a plain table."""
        ...

    @property
    def timezone(self) -> str:
        """The time zone of times of day."""
        ...

    def rule_states(self, rule: Any) -> States:
        """Return the states of a rule, found with the bitmaps of its table."""
        ...

    def rule_sensors(self, rule: Any, place: str) -> tuple[str, ...]:
        """Return the ids of the sensors that a rule reads at a place."""
        ...

    def traces(self, sensors: Iterable[str]) -> tuple[Trace, ...]:
        """Return the readings of sensors; those that have none are left out."""
        ...


class Statement(Protocol):
    """What a run can find and a person can check: a rule, a law, a control or a range."""

    @property
    def key(self) -> str:
        """A short text that is the same in every run, process and version."""
        ...

    @property
    def kind(self) -> Kind:
        """``"rule"``, ``"law"``, ``"control"`` or ``"range"``."""
        ...

    @property
    def about(self) -> Features:
        """The quantities, sensors, places, classes and properties that it is about."""
        ...

    @property
    def counts(self) -> HeldCounts:
        """How often it applied and held."""
        ...

    @property
    def search_texts(self) -> SearchTexts:
        """The texts in which words are looked up."""
        ...

    def sentence(self, words: Words = PLAIN) -> str:
        """Return the statement as an English sentence."""
        ...

    def check(self, data: Data) -> States:
        """Return its state at each place in each window."""
        ...

    def traces(self, data: Data, place: str) -> tuple[Trace, ...]:
        """Return the readings that it is about at a place."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Return it as a dict that JSON can hold (``thence.statements.schema``)."""
        ...
