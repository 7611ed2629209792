"""Candidates: which terms a pattern offers, and which sums of them may be a law.

Terms of one unit are added and subtracted; terms of different units are compared by a factor or by their signs;
``thence.search.laws.quantities`` says what has the same dimension. Nothing here knows a law of physics. This module
looks at sensors, properties and units; it must not look at readings.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product

from thence.language.patterns import Pattern
from thence.search.laws.quantities import has_zero, is_additive, is_height_for, is_sum, is_value_of
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
        values: For each reading, the numeric properties of the place that are values of its quantity.
        added: For each reading, the properties of the same node and unit that may be added to it.
    """

    readings: tuple[Term, ...]
    totals: tuple[Term, ...]
    values: dict[Term, tuple[Term, ...]]
    added: dict[Term, tuple[str, ...]]

    @property
    def own(self) -> tuple[Term, ...]:
        """The readings of the place itself."""
        return tuple(term for term in self.readings if not term.role)

    @property
    def measured(self) -> tuple[Term, ...]:
        """All terms that are read."""
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
    seen = set()
    for role in sorted(pattern.roles, key=lambda role: (len(role.name), role.name)):
        # An edge that is stored both ways gives two roles of the same nodes; the one with the shorter name is used.
        members = (role.kind, *places.members_key(role.name)) if len(role.steps) == 1 else None
        if members is None or members in seen or role.kind not in units:
            continue
        seen.add(members)
        if places.has_one_each(role.name):
            readings.append(Term("reading", role.kind, role=role.name, unit=units[role.kind]))
        elif is_additive(total := Term("total", role.kind, role=role.name, unit=units[role.kind])):
            totals.append(total)
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
                if unit
                and unit == term.unit
                and is_height_for(name, term)
                and places.has_all(((1, replace(term, plus=name)),)).any()
            )
        )
        for term in known
    }
    return Vocabulary(
        tuple(known),
        tuple(term for term in totals if places.has_all(((1, term),)).any()),
        {term: tuple(fact for fact in properties if is_value_of(fact, term)) for term in known},
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
                yield from filter(is_sum, _signs(chosen))
    for term in words.readings:
        for fact in words.values[term]:
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
                    if not all(has_zero(term) for _, term in right) and sum(sign for sign, _ in right) != 0:
                        continue  # a share of a temperature has no meaning, one of a difference has
                    yield ((1, replace(left, change=True)),), right
        for right_term in others:
            if right_term.role or not left < right_term or not (left.unit and right_term.unit):
                continue
            if has_zero(left) and has_zero(right_term):
                yield ((1, left),), ((1, right_term),)


def sign_pairs(words: Vocabulary) -> Iterator[tuple[Combination, Combination]]:
    """Yield pairs of a reading and a difference of another unit that may have the same sign.

    Args:
        words: The terms.
    """
    for left in filter(has_zero, (*words.own, *words.totals)):
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
