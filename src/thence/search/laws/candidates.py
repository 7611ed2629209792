"""Candidates: which terms a pattern offers, and which sums of them may be a law.

Terms of one unit are added and subtracted; terms of different units are compared by a factor or by their signs. Nothing
here knows a law of physics. This module looks at sensors, properties and units; it must not look at readings.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product

from thence.language.patterns import Pattern
from thence.statements.laws.places import Places
from thence.statements.laws.terms import Combination, Term
from thence.tables.enrich.surroundings import NAMING_PROPERTIES

_MOST_TERMS = 12
"""Terms of one unit at a place beyond which only pairs are compared."""


@dataclass(frozen=True)
class Vocabulary:
    """The terms of a pattern.

    Args:
        readings: Readings of the place and of its one neighbour in a role.
        totals: Totals over the neighbours in a role.
        properties: Numeric properties of the place.
        added: For each reading, the properties of the same node and unit that may be added to it.
    """

    readings: tuple[Term, ...]
    totals: tuple[Term, ...]
    properties: tuple[Term, ...]
    added: dict[Term, tuple[str, ...]]

    @property
    def own(self) -> tuple[Term, ...]:
        """The readings of the place itself."""
        return tuple(term for term in self.readings if not term.role)

    @property
    def measured(self) -> tuple[Term, ...]:
        """All terms but the properties."""
        return (*self.readings, *self.totals)


def vocabulary(places: Places) -> Vocabulary:
    """Return the terms that at least one place of a pattern knows.

    Args:
        places: The places.
    """
    pattern, units = places.pattern, places.unit_of
    kinds = sorted({sensor.kind for sensor in pattern.sensors if sensor.kind in units})
    readings = [Term("reading", kind, unit=units[kind]) for kind in kinds]
    totals = []
    for role in pattern.roles:
        if len(role.steps) != 1 or role.kind not in units:
            continue
        if places.has_one_each(role.name):
            readings.append(Term("reading", role.kind, role=role.name, unit=units[role.kind]))
        else:
            totals.append(Term("total", role.kind, role=role.name, unit=units[role.kind]))
    named = {name: unit for name, unit in places.index.graph.property_units.items() if name not in NAMING_PROPERTIES}
    found = {
        name for id in places.ids for name, value in places.index.graph.node(id).properties.items() if _number(value)
    }
    properties = [Term("property", name, unit=named.get(name, "")) for name in sorted(found - NAMING_PROPERTIES)]
    known = [term for term in readings if places.has_all(((1, term),)).any()]
    added = {
        term: tuple(
            sorted(
                name
                for name, unit in named.items()
                if unit and unit == term.unit and places.has_all(((1, replace(term, plus=name)),)).any()
            )
        )
        for term in known
    }
    return Vocabulary(
        tuple(known),
        tuple(term for term in totals if places.has_all(((1, term),)).any()),
        tuple(properties),
        added,
    )


def _number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def signed_sums(words: Vocabulary, *, most: int) -> Iterator[Combination]:
    """Yield the sums that may be 0: of two or more terms of one unit, at most one of them a property.

    Args:
        words: The terms.
        most: Greatest number of terms.
    """
    for unit in sorted({term.unit for term in words.measured}):
        terms = [term for term in words.measured if term.unit == unit]
        longest = most if unit and len(terms) <= _MOST_TERMS else 2
        for size in range(2, longest + 1):
            for chosen in combinations(terms, size):
                yield from _signs(chosen)
        for term in terms:
            for fact in words.properties:
                # The unit of a property is often not known; then only an equality is possible.
                if fact.unit == unit or not fact.unit:
                    yield ((1, term), (-1, fact))


def _signs(chosen: Sequence[Term]) -> Iterator[Combination]:
    for signs in product((1, -1), repeat=len(chosen) - 1):
        yield tuple(zip((1, *signs), chosen, strict=True))


def proportions(words: Vocabulary, *, most: int) -> Iterator[tuple[Combination, Combination]]:
    """Yield pairs of quantities of different units that may be proportional.

    The left one is a reading of the place or its change per hour; the right one is a reading or a sum of totals.

    Args:
        words: The terms.
        most: Greatest number of terms on the right side.
    """
    for left in words.own:
        others = [term for term in words.measured if term.unit != left.unit and (term.unit or term.name != left.name)]
        for size in range(1, most + 1):
            for chosen in combinations(others, size):
                if len({term.unit for term in chosen}) > 1:
                    continue
                for right in _signs(chosen):
                    yield ((1, replace(left, change=True)),), right
        for right_term in others:
            if not right_term.role and left < right_term and left.unit and right_term.unit:
                yield ((1, left),), ((1, right_term),)


def sign_pairs(words: Vocabulary) -> Iterator[tuple[Combination, Combination]]:
    """Yield pairs of a reading and a difference of another unit that may have the same sign.

    Args:
        words: The terms.
    """
    for left in (*words.own, *words.totals):
        for first, second in combinations(words.readings, 2):
            if first.unit != second.unit or first.unit == left.unit or (first.role == "" and second.role == ""):
                continue
            common = sorted(set(words.added[first]) & set(words.added[second]))
            for plus in ("", *common):
                high, low = replace(first, plus=plus), replace(second, plus=plus)
                yield ((1, left),), ((1, high), (-1, low))
                yield ((1, left),), ((1, low), (-1, high))


def narrow(pattern: Pattern, terms: Sequence[Term], states: Sequence[str] = ()) -> Pattern:
    """Return a pattern with the sensors and roles only that terms are about.

    Args:
        pattern: The pattern.
        terms: The terms.
        states: Kinds of states that the law is about.
    """
    own = {term.name for term in terms if term.form == "reading" and not term.role} | set(states)
    roles = {(term.role, term.name) for term in terms if term.role}
    sensors = tuple(replace(sensor, optional=False) for sensor in pattern.sensors if sensor.kind in own)
    return replace(
        pattern, sensors=sensors, roles=tuple(role for role in pattern.roles if (role.name, role.kind) in roles)
    )
