"""The few sentences worth knowing: the first laws, controls and rules that are about different things.

Laws, controls and rules are in the order of their runs, the most informative first; of two about the same thing the
first is shown, and none that a person rejected. The three take turns, so that the first lines show what was found of
each. Must not count anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest

from thence.language.items import Aspect, Feature, Role
from thence.runs.configuration import AUTO
from thence.runs.reviews import Review
from thence.runs.run import Run
from thence.show.reports.rows import review_of, shown_together
from thence.show.reports.schema import Fact
from thence.statements.controls.control import Control, Controls
from thence.statements.controls.sentences import format_controls
from thence.statements.laws.law import Law
from thence.statements.laws.sentences import format_counts
from thence.statements.rules.ruleset import RuleSet

MOST = 10
_MOST_LAWS, _MOST_CONTROLS = 4, 3
_LOOKED_AT = 200
"""Rules that are looked at for facts."""


def choose_facts(run: Run, *, most: int = MOST, reviews: Mapping[str, Review] | None = None) -> list[Fact]:
    """Return the sentences worth knowing, at most ``most`` of them.

    Args:
        run: The run.
        most: The largest number of sentences.
        reviews: What people said, by key.

    Examples:
        >>> import thence as th
        >>> run = th.mine(th.datasets.load("toy"), windows="1h", bins=3, progress="off", confirm=False)
        >>> fact = choose_facts(run)[0]
        >>> fact["kind"], fact["sentence"] == run.rules.rule(fact["id"]).english
        ('rule', True)
    """
    said = reviews or {}
    laws = _law_facts(run.laws or (), said)[:_MOST_LAWS]
    controls = _control_facts(run.controls, said)[:_MOST_CONTROLS]
    by_laws = [_states_of(run.laws[fact["id"]]) for fact in laws] if run.laws else []
    rules = _rule_facts(run, said, by_laws=by_laws)[: most - len(laws) - len(controls)]
    turns = [fact for turn in zip_longest(laws, controls, rules) for fact in turn if fact is not None]
    return turns[:most]


def _is_rejected(key: str, reviews: Mapping[str, Review]) -> bool:
    return key in reviews and reviews[key].verdict == "rejected"


def _law_facts(laws: Iterable[Law], reviews: Mapping[str, Review]) -> list[Fact]:
    out, seen = [], set()
    for number, law in enumerate(laws):
        key = law.key
        if _is_rejected(key, reviews):
            continue
        condition = "" if law.condition is None else law.condition.form
        about = (frozenset(term.name for term in law.terms), condition)
        if about not in seen:
            seen.add(about)
            review = review_of(key, reviews)
            figures = format_counts(law)
            fact = Fact(kind="law", id=number, sentence=law.statement, figures=figures, review=review, card=None)
            out.append(fact)
    return out


def _control_facts(controls: Controls | None, reviews: Mapping[str, Review]) -> list[Fact]:
    """The changes of one actuator that depend on one reading, in one sentence; an actuator occurs once."""
    groups: dict[tuple[str, str], list[int]] = {}
    for number, control in enumerate(controls or ()):
        if not _is_rejected(control.key, reviews):
            groups.setdefault((control.actuator, control.sensor), []).append(number)
    out: list[Fact] = []
    seen: set[str] = set()
    for (actuator, _), members in groups.items():
        assert controls is not None
        own = [controls[number] for number in members]
        place = own[0].actuator_feature.place or actuator
        if actuator in seen or place in seen:
            continue
        seen.update((actuator, place, *(other for control in own for other in control.together)))
        (sentence,) = format_controls(own, counts=False)
        # A sentence of several controls has a review only if they all have the same one.
        said = [review_of(control.key, reviews) for control in own]
        review = said[0] if all(one == said[0] for one in said) else None
        figures = _control_figures(own)
        fact = Fact(kind="control", id=members[0], sentence=sentence, figures=figures, review=review, card=None)
        out.append(fact)
    return out


def _control_figures(controls: Sequence[Control]) -> str:
    """How many switches the controls explain, in all and later, and how many crossings are followed by a switch."""

    def total(part: str, count: str) -> int:
        return sum(int(getattr(getattr(control, part), count)) for control in controls)

    text = f"{total('tally', 'explained'):,} of {total('tally', 'switches'):,} switches"
    if total("later", "switches"):
        later = f"{total('later', 'explained'):,} of {total('later', 'switches'):,}"
        text += f"; found on the earlier part of the time alone, {later} of the later ones"
    if controls[0].sensor_feature is None:
        return text
    return f"{text}; {total('tally', 'followed'):,} of {total('tally', 'crossings'):,} crossings are followed by one"


def _states_of(law: Law) -> frozenset[str]:
    """The two quantities of a law about one while another is in a state; empty for other laws."""
    if law.condition is None or law.condition.form != "state" or len(law.terms) != 1:
        return frozenset()
    return frozenset((law.terms[0].name, law.condition.name))


def _rule_facts(run: Run, reviews: Mapping[str, Review], *, by_laws: Sequence[frozenset[str]]) -> list[Fact]:
    rules = run.rules
    out: list[Fact] = []
    seen: list[frozenset[str]] = []
    for entry in shown_together(rules, most=_LOOKED_AT):
        rule = rules.rule(entry[0])
        key = rule.key if reviews else ""
        if _is_rejected(key, reviews):
            continue
        features = [item.feature for item in (*rule.antecedent, rule.consequent)]
        about = frozenset(_subject(one) for one in features if one.aspect is Aspect.MEASUREMENT)
        # A reading and a state at one place: the law says it.
        if about in by_laws and not any(one.reads for one in features):
            continue
        # A rule about single sensors adds nothing if all of them have been mentioned.
        if about in seen if rule.pattern else about <= frozenset().union(*seen):
            continue
        seen.append(about)
        figures = figures_of_rule(rules, entry[0], rows=_rows_of(run))
        review = review_of(key, reviews)
        fact = Fact(kind="rule", id=entry[0], sentence=rule.english, figures=figures, review=review, card=None)
        out.append(fact)
    return out


def _subject(feature: Feature) -> str:
    """What a feature is about: a kind of reading in lifted rules, a sensor in others."""
    if feature.role in (Role.VARIABLE, Role.SOME, Role.TIME):
        return feature.label or feature.name
    return feature.subject


def _rows_of(run: Run) -> str:
    """What the rows of the table are called."""
    if run.rules.pattern_of is not None:
        return "cases"
    every = run.config.windows.every
    if run.config.input.has_rows or every == AUTO:
        return "rows"
    return f"windows of {re.sub(r'(?<=[0-9])(?=[a-z])', ' ', every)}"


def figures_of_rule(rules: RuleSet, number: int, *, rows: str = "rows") -> str:
    """Return how often a rule applied and held, and in which places, in words.

    Args:
        rules: The rules.
        number: The position of the rule.
        rows: What rows are called.

    Examples:
        >>> import thence as th
        >>> run = th.mine(th.datasets.load("toy"), windows="1h", bins=3, progress="off", confirm=False)
        >>> figures_of_rule(run.rules, 0, rows="hours")  # doctest: +ELLIPSIS
        'in ... of ... hours (... %)...'
    """
    held, applied = int(rules.counts.n_both[number]), int(rules.counts.n_antecedent[number])
    if not applied:
        return "never applied"
    text = f"in {held:,} of {applied:,} {rows} ({_percent(held, applied)})"
    if "both_ways" in rules.extras and rules.extras["both_ways"][number]:
        back = int(rules.counts.n_consequent[number])
        text += f", and the other way round in {held:,} of {back:,}" if back != applied else ", and the other way round"
    places = rules.places_text(number)
    return f"{text}; {places}" if places else text


def _percent(part: int, whole: int) -> str:
    """A share in percent, rounded as the page rounds it, but never up to all or down to none."""
    tenths = (2000 * part + whole) // (2 * whole)
    if 0 < part < whole:
        tenths = min(max(tenths, 1), 999)
    return f"{tenths // 10} %" if tenths % 10 == 0 else f"{tenths / 10:.1f} %"
