"""Laws as English sentences, with units, bands and counts. This module only formats text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thence._base.display.percent import percent
from thence.language.english import format_number, format_unit
from thence.language.patterns import Pattern
from thence.statements.laws.terms import Combination, Term

if TYPE_CHECKING:
    from thence.statements.laws.law import Law

__all__ = ["format_counts", "format_statement", "format_term"]

_MOST_NAMED = 3  # exceptions that a sentence names


def format_statement(law: Law) -> str:
    """Format a law as a sentence without its counts.

    Args:
        law: The law.
    """
    pattern = Pattern.parse(law.pattern)
    left = _sum(law.left, pattern)
    right = _sum(law.right, pattern, law.left[-1][1] if law.form == "equal" else None)
    unit = format_unit(law.unit)
    space = f" {unit}" if unit else ""
    body = ""
    if law.form == "equal":
        body = f"{left} {f'equals {right}' if law.right else 'is 0'}, {_band(law, space)}"
    elif law.form == "proportional":
        between = " (as read in this window, in the next, or between)" if law.left[0][1].change else ""
        body = f"{left} is {_factor(law, pattern)}{between}, {_band(law, space)}"
    elif law.form == "sign":
        body = _sign(law, pattern, left, right)
    else:
        never = "below" if law.form == "at_least" else "above"
        tolerance = f" (by more than {format_number(law.band.absolute)}{space})" if law.band.absolute else ""
        zero = "negative" if law.form == "at_least" else "positive"
        body = f"{left} is never {f'{never} {right}' if law.right else zero}{tolerance}"
    if law.condition is not None and law.condition.form == "state":
        body = f"while its {_words(law.condition.name)} is {law.condition.value}, {body}"
    return f"{_scope(law, pattern)}: {body}"


def _scope(law: Law, pattern: Pattern) -> str:
    label = _words(pattern.nodes[0].label) or "node"
    with_value = ""
    if law.condition is not None and law.condition.form == "property":
        with_value = f" with {_words(law.condition.name)} {law.condition.value}"
    elif law.condition is not None and law.condition.form == "without":
        with_value = f" without a {_words(law.condition.name)} sensor"
    places = [one.place for one in law.by_place if one.rows]
    if len(places) == 1:
        name = f"the {label}" if places[0].lower() == label.lower() else places[0]
        return f"for {name}{with_value} (one place)"
    return f"for every {label}{with_value}"


def _words(name: str) -> str:
    return name.replace("_", " ")


def _noun(term: Term) -> str:
    """What a term is of a node: ``flow``, ``total flow``, ``pressure plus elevation``."""
    noun = _words(term.name)
    if term.form == "total":
        return f"total {noun}"
    return f"{noun} plus {_words(term.plus)}" if term.plus else noun


def _owner(term: Term, pattern: Pattern) -> str:
    """The nodes that a term is about, if it is not the place itself."""
    role = next((role for role in pattern.roles if role.name == term.role), None)
    if role is None or term.form == "total":
        return term.role
    return role.name_of_one


def format_term(term: Term, pattern: Pattern) -> str:
    """Format a term: ``the total flow of the Pipes that end there``, or ``its level`` of the place itself.

    Args:
        term: The term.
        pattern: The pattern of the law.
    """
    return _term(term, pattern)


def _term(term: Term, pattern: Pattern, before: Term | None = None) -> str:
    """A term in words; the noun is not repeated after a term with the same noun."""
    noun, owner = _noun(term), _owner(term, pattern)
    if term.change:
        of = f"the {noun} of the {owner}" if owner else f"its {noun}"
        return f"the change of {of} per hour"
    if not owner:
        return f"its {noun}"
    same = before is not None and _noun(before) == noun and before.role and not before.change
    return f"that of the {owner}" if same else f"the {noun} of the {owner}"


def _sum(combination: Combination, pattern: Pattern, before: Term | None = None) -> str:
    ordered = sorted(combination, key=lambda part: -part[0])  # stable: what is added comes first
    text = ""
    for sign, term in ordered:
        joint = (" plus " if sign > 0 else " minus ") if text else ("" if sign > 0 else "minus ")
        text += joint + _term(term, pattern, before)
        before = term
    return text


def _band(law: Law, unit: str) -> str:
    absolute = f"± {format_number(law.band.absolute)}{unit}"
    if not law.band.relative:
        return f"within {absolute}"
    totals = [term for term in law.terms if term.form == "total"]
    of = f"the {_words(totals[0].name)} through it" if totals and law.form == "equal" else "their mean size"
    share = f"within {format_number(float(f'{100 * law.band.relative:.3g}'))} % of {of}"
    return f"{share} (at least {absolute})" if law.band.absolute else share


def _factor(law: Law, pattern: Pattern) -> str:
    right = _sum(law.right, pattern)
    other = format_unit(next((term.unit for _, term in law.right if term.unit), ""))
    own = format_unit(law.unit)
    unit = f" {own or '1'} per {other or '1'}" if own or other else ""
    if law.factor is not None:
        return f"{format_number(float(f'{law.factor:.3g}'))}{unit} times {right}"
    known = [one.factor for one in law.by_place if one.factor is not None and one.rows]
    if len(known) == 1:
        return f"{format_number(float(f'{known[0]:.3g}'))}{unit} times {right}"
    low, high = (format_number(float(f"{value:.3g}")) for value in (min(known), max(known))) if known else ("?", "?")
    return f"proportional to {right} (factor of each place {low} to {high}{unit})"


def _sign(law: Law, pattern: Pattern, left: str, right: str) -> str:
    unit = format_unit(next((term.unit for _, term in law.right if term.unit), ""))
    beyond = (
        f" by more than {format_number(law.band.absolute)}{f' {unit}' if unit else ''}" if law.band.absolute else ""
    )
    if len(law.right) == 2 and [sign for sign, _ in law.right] == [1, -1]:
        first = law.right[0][1]
        high, low = _term(first, pattern), _term(law.right[1][1], pattern, first)
        return (
            f"{left} is positive where {high} is{beyond.replace(' by', '', 1)} above {low}, negative where it is below"
        )
    return f"{left} has the sign of {right}{f', where that is not 0{beyond}' if beyond else ''}"


def format_counts(law: Law) -> str:
    """Format the counts of a law: the share of rows, of later rows, and the places.

    Args:
        law: The law.
    """
    parts = [f"{percent(law.share, 'down', 2)} of {law.rows:,} rows"]
    if law.later_share == law.later_share:
        parts[0] += f", {percent(law.later_share, 'down', 2)} of the later ones"
    if law.apart:
        parts.append(f"{law.apart:,} rows with a value near 0 counted apart")
    parts.append(f"{law.places_held:,} of {law.places:,} place{'s' * (law.places != 1)}")
    broken = law.exceptions
    if broken:
        named = ", ".join(f"{one.place} ({percent(one.share, 'down', 2)})" for one in broken[:_MOST_NAMED])
        more = f" and {len(broken) - _MOST_NAMED:,} more" if len(broken) > _MOST_NAMED else ""
        parts.append(f"not at {named}{more}")
    return "; ".join(parts)
