"""Rules, laws and controls as the rows of a report: sentences, measures and exact counts.

Sentences are those of ``thence.statements.rules``, ``thence.statements.laws`` and ``thence.statements.controls``. A few
rows of a million rules cost as much as a few rows of ten. Must not select or count anything.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence

import numpy as np

from thence._base.display.plots import quantity
from thence.language.english import format_clause
from thence.runs.reviews import Review as Reviewed
from thence.show.reports.numbers import finite
from thence.show.reports.schema import ControlRow, KnownRow, LawRow, MeasureColumn, Review, RuleRow
from thence.statements.controls.control import Control
from thence.statements.laws.law import Law
from thence.statements.rules.measures import MEASURES
from thence.statements.rules.ruleset import RuleSet

_MOST_GROUPED = 5_000
"""With more rules than this, families are not shown together: that needs a look at every rule."""


def measure_columns() -> list[MeasureColumn]:
    """Return the measures that pages show of each rule."""
    return [
        {
            "name": measure.name,
            "label": measure.label,
            "help": measure.description,
            "percent": measure.percent,
        }
        for measure in MEASURES.shown("page")
    ]


def rule_rows(
    rules: RuleSet,
    positions: Iterable[int],
    *,
    reviews: Mapping[str, Reviewed] | None = None,
    entries: Sequence[Sequence[int]] | None = None,
) -> list[RuleRow]:
    """Return rules as rows.

    Args:
        rules: The rules.
        positions: The positions of those that are wanted, in the order of the rows.
        reviews: What people said of rules, by key.
        entries: The positions of rules that are shown together, as ``shown_together`` gives them.

    Examples:
        >>> import thence as th
        >>> rules = th.mine(th.datasets.load("toy"), windows="1h", bins=3, progress="off", confirm=False).rules
        >>> row, = rule_rows(rules, [0])
        >>> row["sentence"] == rules.rule(0).english, row["n_both"] == int(rules.counts.n_both[0])
        (True, True)
    """
    chosen = [int(position) for position in positions]
    if entries is None:
        entries = shown_together(rules) if rules.grouped else ()
    entry_of = {number: list(entry) for entry in entries if len(entry) > 1 for number in entry}
    taken = rules.take(np.array(chosen, np.int64))
    columns = {measure.name: taken.measure(measure.name) for measure in MEASURES.shown("page")}
    counts = taken.counts
    rows: list[RuleRow] = []
    for at, number in enumerate(chosen):
        rule = rules.rule(number)
        key = rule.key
        entry = entry_of.get(number, [number])
        applied = int(counts.n_antecedent[at]) > 0  # if it never did, it has a support only
        rows.append(
            RuleRow(
                id=number,
                key=key,
                sentence=rule.english,
                formal=str(rule),
                conditions=[format_clause(item, rule.place) for item in rule.antecedent],
                conclusion=format_clause(rule.consequent, rule.place),
                likewise=rules.likewise(entry) if entry[0] == number and len(entry) > 1 else [],
                shown_with=None if entry[0] == number else entry[0],
                also=list(rules.also_known_as(number)),
                place=rule.place,
                pattern=rule.pattern,
                quantities_if=list(dict.fromkeys(quantity(item.feature) for item in rule.antecedent)),
                quantity_then=quantity(rule.consequent.feature),
                kinds=list(rule.about.kinds),
                measures={
                    name: finite(values[at]) if applied or name == "support" else None
                    for name, values in columns.items()
                },
                n=int(counts.n[at]),
                n_antecedent=int(counts.n_antecedent[at]),
                n_consequent=int(counts.n_consequent[at]),
                n_both=int(counts.n_both[at]),
                places=rules.places_text(number),
                review=review_of(key, reviews),
                card=None,
            )
        )
    return rows


def shown_together(rules: RuleSet, *, most: int | None = None) -> Sequence[Sequence[int]]:
    """Return the positions of rules that are shown together; each alone where there are too many to look at all.

    Args:
        rules: The rules.
        most: How many entries at most.

    Examples:
        >>> shown_together(RuleSet.empty())
        []
    """
    if rules.grouped and len(rules) <= _MOST_GROUPED:
        return rules.entries[:most]
    return [[number] for number in range(len(rules))[:most]]


def known_rows(known: RuleSet | None) -> list[KnownRow]:
    """Return known rules as rows.

    Args:
        known: The known rules of a run, if there are any.

    Examples:
        >>> known_rows(None)
        []
    """
    if known is None:
        return []
    confidence = known.measure("confidence")
    return [
        KnownRow(
            name=str(known.extras["name"][number]) if "name" in known.extras else "",
            sentence=rule.english,
            formal=str(rule),
            confidence=finite(confidence[number]),
            n_antecedent=int(known.counts.n_antecedent[number]),
            n_both=int(known.counts.n_both[number]),
        )
        for number, rule in enumerate(known)
    ]


def law_rows(
    laws: Iterable[Law], *, reviews: Mapping[str, Reviewed] | None = None, chosen: Container[str] | None = None
) -> list[LawRow]:
    """Return laws as rows.

    Args:
        laws: The laws, in their order.
        reviews: What people said of laws, by key.
        chosen: The keys of those that are wanted; all by default.

    Examples:
        >>> law_rows([])
        []
    """
    return [
        LawRow(
            id=number,
            key=key,
            sentence=law.english,
            statement=law.statement,
            rows=law.rows,
            held=law.held,
            share=finite(law.share),
            later_share=finite(law.later_share),
            places=law.places,
            places_held=law.places_held,
            exceptions=[one.place for one in law.exceptions],
            review=review_of(key, reviews),
            card=None,
        )
        for number, law in enumerate(laws)
        for key in [law.key]
        if chosen is None or key in chosen
    ]


def control_rows(
    controls: Iterable[Control], *, reviews: Mapping[str, Reviewed] | None = None, chosen: Container[str] | None = None
) -> list[ControlRow]:
    """Return controls as rows.

    Args:
        controls: The controls, in their order.
        reviews: What people said of controls, by key.
        chosen: The keys of those that are wanted; all by default.

    Examples:
        >>> control_rows([])
        []
    """
    return [
        ControlRow(
            id=number,
            key=key,
            sentence=one.english,
            actuator=one.actuator,
            sensor=one.sensor,
            review=review_of(key, reviews),
            card=None,
        )
        for number, one in enumerate(controls)
        for key in [one.key]
        if chosen is None or key in chosen
    ]


def review_of(key: str, reviews: Mapping[str, Reviewed] | None) -> Review | None:
    """Return what was said of something, if anything.

    Args:
        key: The key of the rule, law or control.
        reviews: The reviews by key.

    Examples:
        >>> review_of("a2f7948fbaa200d3", {"a2f7948fbaa200d3": Reviewed("accepted", "seen")})
        {'verdict': 'accepted', 'note': 'seen'}
    """
    found = None if reviews is None else reviews.get(key)
    return None if found is None else Review(verdict=found.verdict, note=found.note)
