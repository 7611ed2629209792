"""Rules of some systems on another one: mined on one system or on several sites, measured on a system not mined on.

Ranges of kinds and properties are those that the rules were mined with; ranks of the sensors of the other system come
from their own readings in the earlier part of the time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from thence.lab.evaluate.generalisation.hiding import SEEN, WHOLLY
from thence.lab.evaluate.generalisation.places import (
    TIERS,
    GroupResult,
    PlaceEvaluator,
    find_present,
    measure_frames,
    select_applicable,
    select_frame_cover,
)
from thence.lab.evaluate.generalisation.results import ModeResult
from thence.lab.evaluate.generalisation.split import SplitSettings, carriers_of, sensors_at
from thence.language.patterns import Pattern
from thence.runs.preparation import Prepared
from thence.statements.rules.ruleset import RuleSet
from thence.tables.transactions import TransactionTable

__all__ = ["choose_candidates", "measure_across", "measure_left_out"]

CANDIDATES = 1500
"""Maximum number of rules that the selection considers."""


def measure_across(mode: str, here: Prepared, there: Prepared, settings: SplitSettings) -> ModeResult:
    """Mine rules on one system, and measure them on it and on another, in the later part of the time of each.

    Args:
        mode: The enrichment.
        here: The system to mine on.
        there: The other system.
        settings: The settings of the measurement.
    """
    earlier, later = settings.split_time(here)
    other_earlier, other_later = settings.split_time(there)
    patterns: Any = settings.find_patterns(here) if mode == "lifted" else "auto"
    train = settings.table(here, mode, patterns=patterns)
    mined = settings.miner.mine(train.frames(earlier))
    candidates = choose_candidates(mined)
    seen, unseen = np.full(len(here.places), SEEN), np.full(len(there.places), WHOLLY)
    if mode == "existential":
        selected = select_frame_cover(candidates, train.frames(earlier), settings.max_rules)
        found = []
        for timed, table, frames in (
            (here, train, later),
            (there, settings.table(there, mode, bins=train.discretizer, same_system=False), other_later),
        ):
            sensors = sensors_at(timed, np.ones(len(timed.places), bool))
            found.append(measure_frames(selected, table.frames(frames), find_present(timed)[:, frames], len(sensors)))
        return ModeResult(mode, len(mined), len(selected), found[0], GroupResult(), found[1], selected)
    places = PlaceEvaluator(train, here, seen)
    common = select_patterns([pattern for pattern, _ in candidates.patterns], there) if mode == "lifted" else []
    # Rules about named sensors apply to no other system: their table there has no blocks.
    other = (
        settings.table(there, "lifted", patterns=common, bins=train.discretizer, same_system=False)
        if common
        else TransactionTable((), mode, train.discretizer)
    )
    other_places = PlaceEvaluator(other, there, unseen)
    if mode == "lifted":
        candidates = candidates.filter(where=lambda rule: rule.pattern in set(common))
    if mode == "lifted" and settings.transductive:
        pool = select_applicable(candidates, other)
        selected = other_places.select_cover(pool, other_earlier, settings.max_rules, unseen=True)
    else:
        selected = places.select_cover(candidates, earlier, settings.max_rules)
    results = places.measure(selected, later)[SEEN], GroupResult(), other_places.measure(selected, other_later)[WHOLLY]
    return ModeResult(mode, len(mined), len(selected), *results, selected)


def select_patterns(patterns: Iterable[str], timed: Prepared) -> list[str]:
    """Return the patterns that another system can match: it has their labels, relations and kinds of sensors."""
    parsed = {text: Pattern.parse(text) for text in patterns}
    carriers = carriers_of(timed, patterns=list(parsed.values()))
    index = carriers.index
    out = []
    for text, pattern in parsed.items():
        labels = {v.label for v in pattern.nodes} | {step.target for role in pattern.roles for step in role.steps}
        relations = {link.label for link in pattern.links} | {s.label for role in pattern.roles for s in role.steps}
        known = labels - {""} <= set(index.labels) and relations - {""} <= set(index.relations)
        if known and not carriers.lacking(pattern):
            out.append(text)
    return out


def choose_candidates(rules: RuleSet) -> RuleSet:
    """Return the rules that the selection considers: by tier of confidence, then short rules, then high support."""
    tier = np.digitize(rules.measure("confidence"), sorted(TIERS[:-1]))
    order = np.lexsort([-rules.measure("support"), rules.measure("antecedents"), -tier])
    return rules.take(order[:CANDIDATES])


def measure_left_out(earlier: Prepared, later: Prepared, there: Prepared, settings: SplitSettings) -> ModeResult:
    """Mine lifted rules on several sites in the earlier part of their time, and measure them on a site left out.

    Args:
        earlier: The sites to mine on, in the earlier part of the time of each.
        later: The same sites in the later part.
        there: The site that was left out.
        settings: The settings of the measurement.
    """
    whole = replace(settings, train_share=1.0)  # both parts are split already
    train = whole.table(earlier, "lifted", patterns=settings.find_patterns(earlier))
    mined = settings.miner.mine(train)
    candidates = choose_candidates(mined)
    common = select_patterns([pattern for pattern, _ in candidates.patterns], there)
    candidates = candidates.filter(where=lambda rule: rule.pattern in set(common))
    unseen = np.full(len(there.places), WHOLLY)
    seen = np.full(len(earlier.places), SEEN)
    if not common:
        nothing = TransactionTable((), "lifted", train.discretizer)
        results = (PlaceEvaluator(nothing, timed, groups) for timed, groups in ((later, seen), (there, unseen)))
        found = [one.measure(candidates, slice(None)) for one in results]
        return ModeResult("lifted", len(mined), 0, found[0][SEEN], GroupResult(), found[1][WHOLLY], candidates)
    bins = train.discretizer
    other = settings.table(there, "lifted", patterns=common, bins=bins, same_system=False)
    other_places = PlaceEvaluator(other, there, unseen)
    other_earlier, other_later = settings.split_time(there)
    if settings.transductive:
        pool = select_applicable(candidates, other)
        selected = other_places.select_cover(pool, other_earlier, settings.max_rules, unseen=True)
    else:
        selected = PlaceEvaluator(train, earlier, seen).select_cover(candidates, slice(None), settings.max_rules)
    own = whole.table(later, "lifted", patterns=common, bins=bins)
    here = PlaceEvaluator(own, later, seen).measure(selected, slice(None))[SEEN]
    left_out = other_places.measure(selected, other_later)[WHOLLY]
    return ModeResult("lifted", len(mined), len(selected), here, GroupResult(), left_out, selected)
