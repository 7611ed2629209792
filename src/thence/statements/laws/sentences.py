"""Laws as English sentences, with units, bands and counts. This module only formats text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from thence._base.display.percent import percent
from thence.language.english import format_number, format_state, format_unit
from thence.language.patterns import Pattern
from thence.statements.laws.terms import ON_OFF, Combination, Term

if TYPE_CHECKING:
    from thence.statements.laws.law import Law

_MOST_NAMED = 3  # exceptions that a sentence names


def format_statement(law: Law) -> str:
    """Format a law as a sentence without its counts.

    Args:
        law: The law.
    """
    pattern = Pattern.parse(law.pattern)
    body = law.definition.words(law, pattern, format_sum(law.left, pattern), format_sum(law.right, pattern))
    if law.names_sensors:
        return f"{_named_scope(law)}{_guard(law)}{body}{f' ({law.remark})' if law.remark else ''}"
    if law.condition is not None and law.condition.form == "state":
        name, state = law.condition.name, str(law.condition.value)
        body = f"while {format_state(name, state) or f'its {spell(name)} is {state}'}, {body}"
    return f"{_scope(law, pattern)}: {body}"


def _named_scope(law: Law) -> str:
    """The places of a law that names its sensors, unless there is one that has no name of its own."""
    places = [one for one in law.by_place if one.rows] or list(law.by_place)
    if len(places) != 1:
        return f"at {len(places):,} places: "
    return "" if places[0].place in places[0].sensors else f"at {places[0].place}: "


def _guard(law: Law) -> str:
    """The state in which a law that names its sensors holds."""
    condition = law.condition
    if condition is None:
        return ""
    name = call(law, condition.name)
    named = name + (f" of {condition.at}" if condition.at else "")
    limit = ON_OFF if condition.form == "state" else float(condition.value)
    if limit == ON_OFF:
        state = str(condition.value) if condition.form == "state" else "1"
        kind = name.removeprefix("the ")
        said = format_state(kind, state, condition.at, whose="the") if kind != name else ""
        return f"while {said or f'{named} is {state}'}, "
    return (
        f"while {named} is above {format_number(limit)}{f' {format_unit(condition.unit)}' if condition.unit else ''}, "
    )


def call(law: Law, name: str) -> str:
    """Return what a sensor is called: by its kind, or by its id where it has none.

    Args:
        law: The law.
        name: The name of a term, or of the condition.
    """
    is_id = any(id == name or _LOCAL.sub("", id) == name for one in law.by_place for id in one.sensors)
    return name if is_id else f"the {spell(name)}"


_LOCAL = re.compile(r"^.*[./: |]")
"""What the name of a sensor begins with, before its own part."""


def _scope(law: Law, pattern: Pattern) -> str:
    label = spell(pattern.nodes[0].label) or "node"
    with_value = ""
    if law.condition is not None and law.condition.form == "property":
        with_value = f" with {spell(law.condition.name)} {law.condition.value}"
    elif law.condition is not None and law.condition.form == "without":
        with_value = f" without a {spell(law.condition.name)} sensor"
    places = [one.place for one in law.by_place if one.rows]
    if len(places) == 1:
        name = f"the {label}" if places[0].lower() == label.lower() else places[0]
        return f"for {name}{with_value} (one place)"
    return f"for every {label}{with_value}"


def spell(name: str) -> str:
    """Return a name in words.

    Args:
        name: The name.
    """
    return name.replace("_", " ")


def _noun(term: Term) -> str:
    """What a term is of a node: ``flow``, ``total flow``, ``pressure plus elevation``."""
    noun = spell(term.name)
    if term.form == "total":
        return f"total {noun}"
    return f"{noun} plus {spell(term.plus)}" if term.plus else noun


def _owner(term: Term, pattern: Pattern) -> str:
    """The nodes that a term is about, if it is not the place itself."""
    role = next((role for role in pattern.roles if role.name == term.role), None)
    if role is None or term.form == "total":
        return term.role
    return role.name_of_one


def format_term(term: Term, pattern: Pattern, before: Term | None = None) -> str:
    """Format a term: ``the total flow of the Pipes that end there``, or ``its level`` of the place itself.

    Args:
        term: The term.
        pattern: The pattern of the law.
        before: The term before it; the noun is not repeated after a term with the same noun.
    """
    noun, owner = _noun(term), _owner(term, pattern)
    if term.change:
        of = f"the {noun} of the {owner}" if owner else f"its {noun}"
        return f"the change of {of} per hour"
    if not owner:
        return f"its {noun}"
    same = before is not None and _noun(before) == noun and before.role and not before.change
    return f"that of the {owner}" if same else f"the {noun} of the {owner}"


def format_sum(combination: Combination, pattern: Pattern, before: Term | None = None) -> str:
    """Format a signed sum of terms.

    Args:
        combination: The sum.
        pattern: The pattern of the law.
        before: The term before it.
    """
    ordered = sorted(combination, key=lambda part: -part[0])  # stable: what is added comes first
    text = ""
    for sign, term in ordered:
        joint = (" plus " if sign > 0 else " minus ") if text else ("" if sign > 0 else "minus ")
        text += joint + format_term(term, pattern, before)
        before = term
    return text


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
