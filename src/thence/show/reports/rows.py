"""Rules, laws and controls as the rows of a report: sentences, measures and exact counts.

Sentences are those of ``thence.statements.rules``, ``thence.statements.laws`` and ``thence.statements.controls``. A few
rows of a million rules cost as much as a few rows of ten. Must not select or count anything.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence

import numpy as np

from thence._base.display.plots import quantity
from thence.language.english import format_clause, format_number, format_unit
from thence.runs.reviews import Review as Reviewed
from thence.show.reports.numbers import finite
from thence.show.reports.schema import ControlRow, KnownRow, LawRow, MeasureColumn, Review, RuleRow
from thence.statements.controls.control import Control
from thence.statements.controls.sentences import format_cause, format_controls, format_event, group_controls
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
                kind="rule",
                id=number,
                members=entry,
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
            kind="law",
            id=number,
            members=[number],
            key=key,
            sentence=law.statement,
            in_full=law.english,
            kinds=list(law.about.kinds),
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
    controls: Sequence[Control], *, reviews: Mapping[str, Reviewed] | None = None, chosen: Container[str] | None = None
) -> list[ControlRow]:
    """Return controls as rows, those of one actuator and one reading as one.

    Args:
        controls: The controls, in their order.
        reviews: What people said of controls, by key.
        chosen: The keys of those that are wanted; all by default.

    Examples:
        >>> control_rows([])
        []
    """
    keys = [one.key for one in controls]
    wanted = [[at for at in group if chosen is None or keys[at] in chosen] for group in group_controls(controls)]
    return [_control_row(controls, members, reviews) for members in wanted if members]


def _control_row(controls: Sequence[Control], members: list[int], reviews: Mapping[str, Reviewed] | None) -> ControlRow:
    own = [controls[at] for at in members]
    keys = [one.key for one in own]
    # A finding of several controls has a review only if they all have the same one.
    said = [review_of(key, reviews) for key in keys]
    (sentence,) = format_controls(own, counts=False)
    name, _ = _split_event(own[0])
    # Two controls may be about one change: its switches are counted once.
    switches = {(one.from_state, one.to_state): one.tally.switches for one in own}
    total = sum(switches.values())
    reading = own[0].sensor_feature
    return ControlRow(
        kind="control",
        id=members[0],
        members=members,
        key=keys[0],
        keys=keys,
        sentence=sentence,
        name=name,
        events=[_brief(one) for one in sorted(own, key=lambda one: one.threshold)],
        where="" if reading is None else f"in {reading.place}" if reading.place else f"of {reading.subject}",
        switches=total,
        explained=min(sum(one.tally.explained for one in own), total),
        kinds=list(dict.fromkeys(kind for one in own for kind in one.about.kinds)),
        actuator=own[0].actuator,
        sensor=own[0].sensor,
        review=said[0] if all(one == said[0] for one in said) else None,
        card=None,
    )


def _split_event(control: Control) -> tuple[str, str]:
    """What switches and what it does: "Pump 335" and "opens"; nothing and all of it if that cannot be told apart."""
    event, place = format_event(control), control.actuator_feature.place or control.actuator
    before, found, verb = event.partition(f"{place} ")
    return (f"{before}{place}", verb) if found else ("", event)


def _brief(control: Control) -> str:
    """What happens when, as short as it can be said without leaving a condition out."""
    _, verb = _split_event(control)
    if control.sensor_feature is None or control.premise is not None or control.smoothed > 1:
        return f"{verb} {format_cause(control)}"
    unit = f" {format_unit(control.unit)}" if control.unit else ""
    return f"{verb} {control.direction} {format_number(control.threshold)}{unit}"


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
