"""Applied rules as text and HTML: the period, what changed, where, and what could not be applied.

Knows results by a protocol only; computes nothing but the order in which to tell.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

import polars as pl

from thence._base.display.html import Html, notes, pairs, panel, small, table
from thence.checks.application.verdicts import Verdict
from thence.data.readings.durations import format_duration
from thence.statements.counting.assurance import wilson_bounds

if TYPE_CHECKING:
    from thence.statements.rules.ruleset import RuleSet

_VERBS: Mapping[Verdict, tuple[str, str]] = {
    Verdict.BROKEN: ("no longer holds", "no longer hold"),
    Verdict.WEAKER: ("is weaker", "are weaker"),
    Verdict.HOLDS: ("holds", "hold"),
    Verdict.UNCLEAR: ("has too little data", "have too little data"),
    Verdict.SILENT: ("never applied", "never applied"),
    Verdict.NOT_BOUND: ("is not bound", "are not bound"),
    Verdict.LEFT_OUT: ("is left out", "are left out"),
}
_SHOWN = 10
_PLACES = 5
_NORMAL = 1.96
"""Of an interval that covers 95 %."""


class Told(Protocol):
    """What is told of applied rules."""

    @property
    def rules(self) -> RuleSet: ...
    @property
    def notes(self) -> tuple[str, ...]: ...
    @property
    def never_before(self) -> tuple[str, ...]: ...
    @property
    def period(self) -> tuple[datetime, datetime] | None: ...
    @property
    def verdicts(self) -> Mapping[str, int]: ...
    @property
    def later(self) -> Any: ...
    def by_rule(self) -> pl.DataFrame: ...
    def changed(self) -> pl.DataFrame: ...
    def by_place(self) -> pl.DataFrame: ...
    def not_bound(self) -> pl.DataFrame: ...
    def laws(self) -> pl.DataFrame: ...
    def controls(self) -> pl.DataFrame: ...


def tell_applied(applied: Told) -> str:
    """Return the report as text.

    Args:
        applied: The applied rules.
    """
    lines = [f"{name}: {value}" for name, value in tell_facts(applied).items()]
    for title, texts in tell_sections(applied).items():
        lines += [title, *(f"  {text}" for text in texts)]
    lines += [f"note: {note}" for note in applied.notes]
    return "\n".join(lines)


def tell_facts(applied: Told) -> dict[str, str]:
    """Return the period and the verdicts, each as one line.

    Args:
        applied: The applied rules.
    """
    period, readings = applied.period, applied.later.data.readings
    length = format_duration(readings.every)
    facts = {}
    if period is None:
        facts["period"] = "no windows"
    else:
        start, end = (f"{moment:%Y-%m-%d %H:%M}" for moment in period)
        facts["period"] = f"{start} to {end} UTC, {_count(len(readings), 'window')} of {length}"
    facts["rules"] = _tell_verdicts(len(applied.rules), applied.verdicts) or "none"
    for name, frame in (("laws", applied.laws()), ("controls", applied.controls())):
        if frame.height:
            facts[name] = _tell_verdicts(frame.height, dict(frame["verdict"].value_counts().rows()))
    return facts


def _tell_verdicts(total: int, verdicts: Mapping[str, int]) -> str:
    """Say how many rules, laws or controls have which verdict: ``26: 4 are weaker, 22 hold``."""
    told = [(verdicts[str(one)], _VERBS[one]) for one in Verdict if str(one) in verdicts]
    return f"{total:,}: " + ", ".join(f"{n:,} {verb[n != 1]}" for n, verb in told) if told else ""


def tell_sections(applied: Told, *, shown: int = _SHOWN) -> dict[str, list[str]]:
    """Return what changed, where, and what could not be applied: sentences by title, those without any left out.

    Args:
        applied: The applied rules.
        shown: Maximum number of rules told.
    """
    changed = applied.changed()
    sections = {
        "never seen before": list(applied.never_before),
        "rules that changed": _cut([_tell_rule(row) for row in changed.head(shown).to_dicts()], changed.height),
        "laws that changed": _tell_laws(applied.laws()),
        "controls that changed": _tell_controls(applied.controls()),
        **_tell_places(applied.by_place()),
        "not applied": _tell_missing(applied.not_bound()),
    }
    return {title: texts for title, texts in sections.items() if texts}


def _cut(texts: list[str], number: int) -> list[str]:
    return [*texts, f"… and {number - len(texts):,} more"] if number > len(texts) else texts


def _tell_rule(row: Mapping[str, Any]) -> str:
    interval = f" ({row['low']:.3f}–{row['high']:.3f})" if row["low"] is not None else ""
    return (
        f"{row['sentence']} [{row['verdict']}: confidence {row['then']:.3f} then, {row['now']:.3f}{interval} now; "
        f"violated in {row['violated']:,} of {_count(row['applied'], 'row')}]"
    )


def _tell_laws(frame: pl.DataFrame) -> list[str]:
    rows = frame.filter(pl.col("verdict").is_in(["no longer holds", "weaker"])).to_dicts()
    return [
        f"{row['statement']} [{row['verdict']}: {row['then']:.3f} then, {row['now']:.3f} now; broken at "
        f"{_count(row['broken_places'], 'place')} of {row['places']:,}: {', '.join(row['broken_at'][:_PLACES])}]"
        for row in rows
    ]


def _tell_controls(frame: pl.DataFrame) -> list[str]:
    rows = frame.filter(pl.col("verdict").is_in(["no longer holds", "weaker"])).to_dicts()
    return [
        f"{row['sentence']} [{row['verdict']}: {row['explained']:,} of {row['switches']:,} switches explained now, "
        f"{row['followed']:,} of {row['crossings']:,} crossings followed]"
        for row in rows
    ]


def _tell_places(frame: pl.DataFrame) -> dict[str, list[str]]:
    """Return the places with clearly more violations than then; if nothing is known of then, those with most."""
    known = frame.filter(pl.col("then").is_not_null())
    if known.height:
        # A sieve only, since readings depend on each other.
        low, _ = wilson_bounds(known["share"].to_numpy(), known["applied"].to_numpy(), _NORMAL)
        rows = known.filter(low > known["then"].to_numpy()).head(_PLACES).to_dicts()
        title = "places with more violations than when the rules were mined"
        return {title: [f"{_violated(row)} ({row['then']:.3f} then)" for row in rows]}
    most = frame.filter(pl.col("violated") > 0).sort("violated", descending=True, maintain_order=True).head(_PLACES)
    return {"places with most violations": [_violated(row) for row in most.to_dicts()]}


def _violated(row: Mapping[str, Any]) -> str:
    counted = f"{_count(row['violated'], 'violation')} in {row['applied']:,} applications of rules"
    return f"{_place(row)}: {counted}, {row['share']:.3f}"


def _place(row: Mapping[str, Any]) -> str:
    if row["node"] and row["sensor"]:
        return f"{row['node']} (sensor {row['sensor']})"
    return str(row["node"] or row["sensor"] or "statements about some place")


def _tell_missing(frame: pl.DataFrame) -> list[str]:
    counts = frame.group_by("reason", maintain_order=True).len().sort("len", descending=True, maintain_order=True)
    texts = [f"{_count(number, 'rule')}: {reason}" for reason, number in counts.head(_SHOWN).rows()]
    return _cut(texts, counts.height)


def applied_html(applied: Told) -> str:
    """Return a short report as HTML.

    Args:
        applied: The applied rules.
    """
    changed = applied.changed().head(_SHOWN).to_dicts()
    parts: list[Html] = [pairs(tell_facts(applied)), *map(small, applied.never_before)]
    if changed:
        rows = [
            (row["sentence"], row["verdict"], f"{row['then']:.3f}", f"{row['now']:.3f}", f"{row['violated']:,}")
            for row in changed
        ]
        parts.append(table(["rule", "verdict", "then", "now", "violated"], rows, numbers=(2, 3, 4)))
    else:
        parts.append(small("no rule changed"))
    return panel("Rules on other data", *parts, notes(applied.notes))


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
