"""Laws: statements about quantities at every place of a pattern, with exact counts of the rows in which they hold.

A law relates a left and a right signed sum of terms: they are equal within a band, proportional, of the same sign, or
one is never below or above the other. Counts are integers, per place and in all. This module holds the types; fitting
is in ``thence.search.laws.search``, counting in ``thence.statements.laws.counting``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, overload

import polars as pl

from thence.language.patterns import Pattern
from thence.statements.keys import key_of_data
from thence.statements.laws.bands import Band
from thence.statements.laws.forms import FORMS, Form
from thence.statements.laws.formula import Formula
from thence.statements.laws.sentences import format_counts, format_statement
from thence.statements.laws.terms import Combination, Condition, Term
from thence.statements.statement import PLAIN, Data, Features, HeldCounts, Kind, SearchTexts, States, Trace, Words

_FEW_PLACES = 12  # that a search of text finds


@dataclass(frozen=True, slots=True)
class PlaceCounts:
    """The counts of a law at one place.

    Args:
        place: Id of the node.
        rows: Rows in which all parts are known and the law applies.
        held: Rows of these in which it holds.
        later_rows: Rows of these in the later part of the time, on which nothing was fitted.
        later_held: Rows of these in which it holds.
        apart: Rows in which all parts are known but the law does not apply, such as those with a zero.
        factor: The factor of a proportion at this place, if each place has its own.
        parameters: The parameters of a formula at this place, in the order of ``Law.parameters``.
        sensors: The sensors of the terms of a law that names them, followed by that of its condition.
    """

    place: str
    rows: int
    held: int
    later_rows: int
    later_held: int
    apart: int = 0
    factor: float | None = None
    parameters: tuple[float, ...] = ()
    sensors: tuple[str, ...] = ()

    @property
    def share(self) -> float:
        """Share of the rows in which the law holds; NaN without rows."""
        return self.held / self.rows if self.rows else float("nan")

    def to_list(self) -> list[Any]:
        """Return the fields, ready for JSON; parameters and sensors only if there are any."""
        fixed = [self.place, self.rows, self.held, self.later_rows, self.later_held, self.apart, self.factor]
        named = bool(self.parameters or self.sensors)
        return [*fixed, list(self.parameters), list(self.sensors)] if named else fixed

    @staticmethod
    def from_list(record: Sequence[Any]) -> PlaceCounts:
        """Return the counts of ``to_list``.

        Args:
            record: The fields.
        """
        fixed, named = record[:7], [tuple(one) for one in record[7:]]
        return PlaceCounts(*fixed, *named)


@dataclass(frozen=True)
class Law:
    """A law of the plant: what holds at every place of a pattern.

    Args:
        form: ``"equal"``, ``"proportional"``, ``"sign"``, ``"at_least"``, ``"at_most"``, or another name in ``FORMS``.
        pattern: Where it applies, as the text of a ``Pattern``.
        left: The left side: signed terms.
        right: The right side; empty for 0.
        band: How far the sides may be apart; of a sign, how far ``right`` must be from 0.
        zero: Of a sign: rows in which ``left`` is within ± ``zero`` are counted apart.
        factor: Of a proportion: the factor, if all places share it.
        condition: Which rows or places the law is about; ``None`` for all.
        min_confidence: The law holds at a place if its share there reaches this.
        later_bound: Lower bound of the share of later rows in which it holds, at the places that kept it
            before; ``None`` if there are none.
        by_place: The counts at each place.
        formula: The formula of a law of the form ``"formula"``, as it was written.
        remark: What else is known of the law, added to its sentence, such as the range that was seen.

    Raises:
        ConfigError: If the form is unknown.

    Examples:
        >>> import thence as th
        >>> from thence.search.laws.search import search_laws
        >>> from thence.data.readings.windows import window
        >>> data = th.datasets.load("net3", days=7)
        >>> law = search_laws(window(data.sensors), data)[0]
        >>> law.share >= 0.99, law.rows == sum(one.rows for one in law.by_place)
        (True, True)
        >>> Law.from_dict(law.to_dict()) == law
        True
    """

    form: str
    pattern: str
    left: Combination
    right: Combination = ()
    band: Band = field(default_factory=lambda: Band(0.0))
    zero: float = 0.0
    factor: float | None = None
    condition: Condition | None = None
    min_confidence: float = 0.99
    later_bound: float | None = None
    by_place: tuple[PlaceCounts, ...] = ()
    formula: str = ""
    remark: str = ""

    def __post_init__(self) -> None:
        FORMS.check(self.form)

    @cached_property
    def definition(self) -> Form:
        """What laws of this form say, and how rows are checked."""
        return FORMS.load(self.form)

    @cached_property
    def expression(self) -> Formula | None:
        """The formula of the right side; ``None`` where that is a signed sum."""
        text = self.formula or self.definition.formula
        return Formula(text) if text else None

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        """The names of the parameters of its formula."""
        if self.expression is None:
            return ()
        roles = {term.role for term in self.terms}
        return tuple(name for name in self.expression.names if name not in roles)

    @property
    def names_sensors(self) -> bool:
        """Whether each place names the sensors of the terms, instead of a pattern of the graph."""
        return any(term.form == "sensor" for term in self.terms)

    def values(self, parameter: str) -> tuple[float, ...]:
        """Return the values of a parameter at the places that keep the law.

        Args:
            parameter: Its name.
        """
        at = self.parameters.index(parameter)
        kept = [one for one in self.by_place if not one.rows or one.share >= self.min_confidence] or self.by_place
        return tuple(one.parameters[at] for one in kept if one.parameters)

    def to_python(self, place: str | None = None) -> str:
        """Return a Python function that computes what the law says, without imports.

        Args:
            place: The place whose parameters are used; by default the first that keeps the law.

        Raises:
            ConfigError: If the law is no formula, or there is no such place.
        """
        from thence.statements.laws.python_text import law_to_python

        return law_to_python(self, place)

    @property
    def terms(self) -> tuple[Term, ...]:
        """All terms, those of the left side first."""
        return tuple(term for _, term in (*self.left, *self.right))

    @property
    def unit(self) -> str:
        """The unit of the left side; a change is per hour."""
        unit = next((term.unit for _, term in self.left if term.unit), "")
        return f"{unit}/h" if self.left and self.left[0][1].change else unit

    @property
    def rows(self) -> int:
        """Rows in which the law applies: frames × places with all parts known."""
        return sum(one.rows for one in self.by_place)

    @property
    def held(self) -> int:
        """Rows in which the law holds."""
        return sum(one.held for one in self.by_place)

    @property
    def apart(self) -> int:
        """Rows that are counted apart, such as those in which a sign is 0."""
        return sum(one.apart for one in self.by_place)

    @property
    def share(self) -> float:
        """Share of the rows in which the law holds."""
        return self.held / self.rows if self.rows else float("nan")

    @property
    def later_share(self) -> float:
        """Share of the later rows in which the law holds."""
        rows = sum(one.later_rows for one in self.by_place)
        return sum(one.later_held for one in self.by_place) / rows if rows else float("nan")

    @property
    def places(self) -> int:
        """Number of places with at least one row."""
        return sum(one.rows > 0 for one in self.by_place)

    @property
    def places_held(self) -> int:
        """Number of places at which the share reaches ``min_confidence``."""
        return sum(one.rows > 0 and one.share >= self.min_confidence for one in self.by_place)

    @property
    def exceptions(self) -> tuple[PlaceCounts, ...]:
        """The places at which the share does not reach ``min_confidence``, the lowest first."""
        broken = [one for one in self.by_place if one.rows and one.share < self.min_confidence]
        return tuple(sorted(broken, key=lambda one: (one.share, one.place)))

    @property
    def statement(self) -> str:
        """The law as a sentence, without counts."""
        return format_statement(self)

    @property
    def english(self) -> str:
        """The law as a sentence, with its counts."""
        return f"{format_statement(self)} ({format_counts(self)})"

    def __str__(self) -> str:
        return self.english

    @property
    def key(self) -> str:
        """What identifies the law: what it relates, where, and under which condition, without the fitted numbers."""
        sides = [[[sign, term.to_dict()] for sign, term in side] for side in (self.left, self.right)]
        condition = None if self.condition is None else self.condition.to_dict()
        written = [self.formula] if self.formula else []
        return key_of_data("law", [self.form, self.pattern, *sides, condition, *written])

    @property
    def kind(self) -> Kind:
        """``"law"``."""
        return "law"

    @property
    def about(self) -> Features:
        """The kinds and properties of its terms, the classes of its pattern, and its places."""
        condition, pattern = self.condition, Pattern.parse(self.pattern)
        of_state = condition is not None and condition.form != "property"
        named = [one.sensors for one in self.by_place if one.sensors]
        kinds = [term.name for term in self.terms if term.form != "property"]
        properties = [term.name for term in self.terms if term.form == "property"]
        of = [] if condition is None else [condition.name]
        return Features(
            kinds=(*kinds, *(of if of_state else ())),
            sensors=tuple(id for one in named for id in one),
            places=tuple(one.place for one in self.by_place),
            classes=tuple(node.label for node in pattern.nodes),
            properties=(*properties, *(term.plus for term in self.terms), *(() if of_state else of)),
        )

    @property
    def counts(self) -> HeldCounts:
        """Rows in which the law applies and holds, in all, in the later part, and by place."""
        rows, held = (sum(getattr(one, name) for one in self.by_place) for name in ("later_rows", "later_held"))
        return HeldCounts(
            self.rows, self.held, rows, held, by_place={one.place: (one.rows, one.held) for one in self.by_place}
        )

    @property
    def search_texts(self) -> SearchTexts:
        """The sentence, the exceptions, and the places if they are few."""
        places = [one.place for one in self.by_place if one.rows]
        named = [one.place for one in self.exceptions] if len(places) > _FEW_PLACES else places
        return SearchTexts.of(whole=[self.statement, *named])

    def sentence(self, words: Words = PLAIN) -> str:
        """Return the law as a sentence.

        Args:
            words: How to write it.
        """
        return self.english if words.counts else self.statement

    def check(self, data: Data) -> States:
        """Return the state of the law at each of its places in each window.

        Args:
            data: The data.

        Raises:
            ConfigError: If the data have no graph.
        """
        from thence.statements.laws.counting import law_states

        return law_states(self, data.readings, data.system)

    def traces(self, data: Data, place: str) -> tuple[Trace, ...]:
        """Return the readings that the law is about at a place.

        Args:
            data: The data.
            place: The id of the node.
        """
        from thence.statements.laws.counting import law_sensors

        return data.traces(law_sensors(self, data.readings, data.system, place))

    def to_dict(self) -> dict[str, Any]:
        """Return the law with all its counts, ready for JSON."""
        return {
            "kind": self.kind,
            "key": self.key,
            "form": self.form,
            "pattern": self.pattern,
            "left": _combination_dict(self.left),
            "right": _combination_dict(self.right),
            "band": {"absolute": self.band.absolute, "relative": self.band.relative},
            "zero": self.zero,
            "factor": self.factor,
            "condition": None if self.condition is None else self.condition.to_dict(),
            "min_confidence": self.min_confidence,
            "later_bound": self.later_bound,
            "counts": [one.to_list() for one in self.by_place],
            **{name: text for name, text in (("formula", self.formula), ("remark", self.remark)) if text},
        }

    @staticmethod
    def from_dict(record: Mapping[str, Any]) -> Law:
        """Return the law of ``to_dict``.

        Args:
            record: The fields.
        """
        condition = record["condition"]
        return Law(
            form=record["form"],
            pattern=record["pattern"],
            left=_combination(record["left"]),
            right=_combination(record["right"]),
            band=Band(**record["band"]),
            zero=record["zero"],
            factor=record["factor"],
            condition=None if condition is None else Condition.from_dict(condition),
            min_confidence=record["min_confidence"],
            later_bound=record["later_bound"],
            by_place=tuple(map(PlaceCounts.from_list, record["counts"])),
            formula=record.get("formula", ""),
            remark=record.get("remark", ""),
        )


def _combination_dict(combination: Combination) -> list[dict[str, Any]]:
    return [{"sign": sign, **term.to_dict()} for sign, term in combination]


def _combination(records: Sequence[Mapping[str, Any]]) -> Combination:
    return tuple(
        (int(record["sign"]), Term.from_dict({key: value for key, value in record.items() if key != "sign"}))
        for record in records
    )


@dataclass(frozen=True, eq=False)
class Laws(Sequence[Law]):
    """The laws of a plant, the best first.

    Args:
        laws: The laws.
        notes: What was left out and why; one sentence each.

    Examples:
        >>> Laws(()).to_polars().height
        0
        >>> print(Laws(()))
        no law was found
    """

    laws: tuple[Law, ...]
    notes: tuple[str, ...] = ()

    @overload
    def __getitem__(self, at: int) -> Law: ...
    @overload
    def __getitem__(self, at: slice) -> Laws: ...
    def __getitem__(self, at: int | slice) -> Law | Laws:
        return Laws(self.laws[at], self.notes) if isinstance(at, slice) else self.laws[at]

    def __len__(self) -> int:
        return len(self.laws)

    def __iter__(self) -> Iterator[Law]:
        return iter(self.laws)

    def __str__(self) -> str:
        lines = [f"{number:>2}. {law.english}" for number, law in enumerate(self.laws, start=1)]
        return "\n".join(lines) if lines else "no law was found"

    def __repr__(self) -> str:
        return f"Laws({len(self.laws)})"

    @cached_property
    def _schema(self) -> dict[str, Any]:
        return {
            "law": pl.Int64,
            "form": pl.String,
            "pattern": pl.String,
            "statement": pl.String,
            "band": pl.Float64,
            "relative_band": pl.Float64,
            "factor": pl.Float64,
            "unit": pl.String,
            "rows": pl.Int64,
            "held": pl.Int64,
            "apart": pl.Int64,
            "share": pl.Float64,
            "later_share": pl.Float64,
            "later_bound": pl.Float64,
            "places": pl.Int64,
            "places_held": pl.Int64,
        }

    def to_polars(self) -> pl.DataFrame:
        """Return one row per law."""
        rows = [
            (
                number,
                law.form,
                law.pattern,
                law.statement,
                law.band.absolute,
                law.band.relative,
                law.factor,
                law.unit,
                law.rows,
                law.held,
                law.apart,
                law.share,
                law.later_share,
                law.later_bound,
                law.places,
                law.places_held,
            )
            for number, law in enumerate(self.laws)
        ]
        return pl.DataFrame(rows, schema=self._schema, orient="row")

    def exceptions(self) -> pl.DataFrame:
        """Return the places that break a law that the others keep: one row per law and place, the lowest share first.

        Columns: ``law`` (its number from 0), ``statement``, ``place``, ``rows``, ``held`` and ``share``.
        """
        rows = [
            (number, law.statement, one.place, one.rows, one.held, one.share)
            for number, law in enumerate(self.laws)
            for one in law.exceptions
        ]
        schema = {"law": pl.Int64, "statement": pl.String, "place": pl.String}
        schema |= {"rows": pl.Int64, "held": pl.Int64, "share": pl.Float64}
        return pl.DataFrame(rows, schema=schema, orient="row")

    def to_dict(self) -> dict[str, Any]:
        """Return all laws with their counts, ready for JSON."""
        return {"laws": [law.to_dict() for law in self.laws], "notes": list(self.notes)}

    @staticmethod
    def from_dict(record: Mapping[str, Any]) -> Laws:
        """Return the laws of ``to_dict``.

        Args:
            record: The laws and notes.
        """
        return Laws(tuple(Law.from_dict(one) for one in record["laws"]), tuple(record["notes"]))
