"""Generalisation: whether rules hold at sensors and times that they were not mined on.

Some nodes are hidden together with their sensors. Rules are mined on the other nodes in the earlier part of the time
and measured on the whole system in the later part. Alternatively they are mined on one system and measured on another.

The unit of measurement is the *place-frame*: a node that carries sensors, in a frame in which one of them has a value.
A rule covers it if the antecedent holds in an embedding in which the rule reads the node. The unit is the same for
every enrichment, so that their numbers can be compared; existential rules have no place, and one that applies in a
frame covers all places of it.

Results are given for three groups of places: *seen*; *partly unseen*, which are hidden but near a seen place, so that
a rule may apply there by reading seen sensors; and *wholly unseen*, around which everything is hidden as far as a rule
reaches. No rule was mined on or chosen by a reading of either.

Of the mined rules, few are selected that together cover as much as possible, the most confident first. By default the
selection looks at seen places in the earlier part of the time only, so that no reading of a hidden sensor decides
which rules are kept. Which patterns there are, and where hidden sensors are, is known from the graph. A rank ("in its
highest tenth") needs the history of a sensor: at hidden sensors the edges of the ranks come from their own readings in
the earlier part of the time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from thence.errors import ConfigError
from thence.evaluate.generalisation.hiding import GROUPS, PARTLY, SEEN, WHOLLY, classify_places, hide_places
from thence.evaluate.generalisation.places import (
    TIERS,
    GroupResult,
    Groups,
    PlaceEvaluator,
    find_present,
    measure_frames,
    select_applicable,
    select_frame_cover,
)
from thence.evaluate.generalisation.split import SplitSettings, TimedSystem, window_system
from thence.graph.matching import GraphIndex
from thence.graph.patterns import Pattern
from thence.graph.system import System
from thence.miners.exact.miner import Exact
from thence.progress import Progress, silent
from thence.rules.ruleset import RuleSet
from thence.tables.enrich import ENRICHMENTS
from thence.tables.transactions import TransactionTable

__all__ = ["Generalisation", "GroupResult", "ModeResult", "generalisation"]

CHOICES = ("seen", "transductive")
CANDIDATES = 1500
"""Maximum number of rules that the selection considers."""


@dataclass(frozen=True)
class ModeResult:
    """Results of the rules of one enrichment, by group of places, in the later part of the time.

    Args:
        enrichment: The enrichment.
        mined: Number of rules that were mined.
        rules: Number of rules that were selected.
        seen: Result on seen places.
        partly_unseen: Result on hidden places near a seen one.
        wholly_unseen: Result on hidden places around which everything is hidden, as far as a rule reaches.
        selected: The selected rules.
    """

    enrichment: str
    mined: int
    rules: int
    seen: GroupResult
    partly_unseen: GroupResult
    wholly_unseen: GroupResult
    selected: RuleSet = field(repr=False, compare=False)

    def describe(self) -> dict[str, Any]:
        """Return the numbers as a dict that JSON can hold, without the rules."""
        counts = {"enrichment": self.enrichment, "mined": self.mined, "rules": self.rules}
        return counts | {group: getattr(self, group).describe() for group in GROUPS}


@dataclass(frozen=True)
class Generalisation:
    """Results of ``generalisation``: one per enrichment, and the split.

    Args:
        modes: The result of each enrichment.
        split: How places were split: ``"region"``, ``"random"`` or ``"another system"``.
        choose: On what rules were selected: ``"seen"`` or ``"transductive"``.
        unseen_nodes: Ids of the nodes that were hidden, or of the nodes with sensors of the other system.
        wholly_unseen_nodes: Ids of those among them that are wholly unseen.
        seen_nodes: Ids of the nodes with sensors that rules were mined on.
        later_from: Start of the part of the time that rules were measured on.
        frames: Number of frames that rules were measured on.
    """

    modes: Mapping[str, ModeResult]
    split: str
    choose: str
    unseen_nodes: tuple[str, ...]
    wholly_unseen_nodes: tuple[str, ...]
    seen_nodes: tuple[str, ...]
    later_from: str
    frames: int

    def describe(self) -> dict[str, Any]:
        """Return the result as a dict that JSON can hold, without the rules."""
        return {
            "split": self.split,
            "choose": self.choose,
            "seen_nodes": len(self.seen_nodes),
            "unseen_nodes": len(self.unseen_nodes),
            "wholly_unseen_nodes": len(self.wholly_unseen_nodes),
            "later_from": self.later_from,
            "frames": self.frames,
            "modes": {name: result.describe() for name, result in self.modes.items()},
        }

    def __str__(self) -> str:
        chosen = "seen places" if self.choose == "seen" else "all places (transductive)"
        lines = [
            f"{len(self.seen_nodes)} seen and {len(self.unseen_nodes)} unseen places ({self.split}), "
            f"{len(self.wholly_unseen_nodes)} of them wholly unseen",
            f"rules chosen on {chosen}, measured in {self.frames:,} frames from {self.later_from} on",
            f"{'':<26}" + "".join(f"{group.replace('_', ' '):>26}" for group in _SHOWN),
            f"{'enrichment':<12}{'mined':>9}{'kept':>5}" + f"{'coverage':>10}{'conf.':>7}{'sensors':>9}" * len(GROUPS),
        ]
        for name, result in self.modes.items():
            shares = [getattr(result, group) for group in _SHOWN]
            lines.append(
                f"{name:<12}{result.mined:>9,}{result.rules:>5,}"
                + "".join(
                    f"{_format_share(found.coverage):>10}{_format_share(found.confidence):>7}"
                    f"{_format_share(found.sensor_share):>9}"
                    for found in shares
                )
            )
        lines.append(
            "coverage: of the places × frames with a reading; sensors: share that the rules read; –: never applied"
        )
        return "\n".join(lines)


_SHOWN = GROUPS[::-1]


def _format_share(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def generalisation(
    system: System,
    *,
    enrich: str | Sequence[str] = ("none", "grounded", "existential", "lifted"),
    unseen: float = 0.3,
    split: str = "region",
    choose: str = "seen",
    seed: int = 0,
    windows: str = "30min",
    bins: int = 10,
    kinds: Sequence[str] | None = None,
    train_share: float = 0.7,
    min_support: float = 0.02,
    min_confidence: float = 0.8,
    max_antecedents: int = 2,
    max_rules: int = 100,
    hops: int = 2,
    min_embeddings: int = 3,
    other: System | None = None,
    progress: Progress = silent,
) -> Generalisation:
    """Mine rules at some places and times and measure them at others.

    Rules are mined by ``th.Exact`` on the sensors of the seen nodes, in the first ``train_share`` of the time, and
    measured in the rest of the time on seen, partly unseen and wholly unseen nodes. A hidden node is wholly unseen if
    all nodes with sensors within ``hops`` edges of it are hidden too.

    Args:
        system: A system with a graph and a binding.
        enrich: Enrichments to measure, one or several.
        unseen: Share of the nodes with sensors to hide, between 0 and 1 (exclusive).
        split: Hide a ``"region"``, the nodes nearest to a random one, so that some are wholly unseen; or ``"random"``
            nodes, of which hardly any is wholly unseen.
        choose: Select rules by where they apply at ``"seen"`` nodes in the earlier part of the time; or
            ``"transductive"``: at all nodes, so that readings of hidden sensors in the earlier part of the time take
            part in the choice (their consequents do not).
        seed: Random seed of the split.
        windows: Length of a window.
        bins: Number of bins.
        kinds: Kinds of sensors to use; all by default.
        train_share: Share of the time to mine on, between 0 and 1 (exclusive).
        min_support: Minimum support.
        min_confidence: Minimum confidence.
        max_antecedents: Maximum number of items in an antecedent.
        max_rules: Maximum number of rules to select and measure per enrichment.
        hops: Maximum length of a path in a pattern of lifted rules, and with it how far rules reach.
        min_embeddings: Minimum number of embeddings of a pattern of lifted rules.
        other: Another system to measure on. No node of ``system`` is hidden then, and all nodes of ``other`` are
            wholly unseen; rules about named sensors cannot apply there. ``unseen``, ``split`` and ``seed`` are not
            used.
        progress: Called with the progress.

    Returns:
        For each enrichment and group of places: coverage, confidence, the share of the sensors that rules read, and
        the counts behind them. They are ``None`` where no rule ever applies.

    Raises:
        ConfigError: An enrichment, a split, a choice or a kind is unknown, or a share is out of range.

    Examples:
        >>> import thence as th
        >>> result = th.generalisation(th.datasets.load("toy"), enrich="none", unseen=0.4, min_support=0.05)
        >>> print(result.modes["none"].wholly_unseen.coverage)
        None
    """
    wanted = [enrich] if isinstance(enrich, str) else list(enrich)
    for mode in wanted:
        ENRICHMENTS.check(mode)
    for name, share in (("unseen", unseen), ("train_share", train_share)):
        if not 0 < share < 1:
            raise ConfigError(f"{name} must be between 0 and 1 (exclusive), got {share}")
    if choose not in CHOICES:
        raise ConfigError(f"unknown choose '{choose}'", hint="use 'seen' or 'transductive'")
    here = window_system(system, kinds, windows)
    settings = SplitSettings(
        Exact(min_support=min_support, min_confidence=min_confidence, max_antecedents=max_antecedents),
        bins,
        max_rules,
        hops,
        min_embeddings,
        train_share,
        transductive=choose == "transductive",
    )
    results = {}
    there = None if other is None else window_system(other, kinds, windows)
    hidden = set() if there else hide_places(here.places, here.graph, share=unseen, split=split, seed=seed, hops=hops)
    groups = classify_places(here.places, hidden, here.graph, hops)
    for done, mode in enumerate(wanted):
        progress("generalising", done, len(wanted), mode)
        if there is None:
            results[mode] = _measure_within(mode, here, groups, settings)
        else:
            results[mode] = _measure_across(mode, here, there, settings)
    progress("generalising", len(wanted), len(wanted))
    measured = there or here
    cut = settings.split_frame(measured)
    wholly = {place for place, group in zip(here.places, groups.tolist(), strict=True) if group == WHOLLY}
    return Generalisation(
        results,
        "another system" if there else split,
        choose,
        tuple(there.places) if there else tuple(sorted(hidden)),
        tuple(there.places) if there else tuple(sorted(wholly)),
        tuple(sorted(set(here.places) - hidden)),
        str(measured.readings.times[cut].astype("datetime64[m]")) if cut < len(measured.readings) else "",
        len(measured.readings) - cut,
    )


def _measure_within(mode: str, timed: TimedSystem, groups: Groups, settings: SplitSettings) -> ModeResult:
    earlier, later = settings.split_time(timed)
    hidden = set(timed.sensors_at(groups != SEEN))
    seen = [sensor.id for sensor in timed.readings.sensors if sensor.id not in hidden]
    patterns: Any = "auto"
    if mode == "lifted":
        known = {s.kind for s in timed.readings.sensors if s.id in set(seen)}
        patterns = [p for p in timed.find_patterns(settings) if {s.kind for s in p.sensors if not s.optional} <= known]
    train = timed.table(mode, settings, patterns=patterns, sensors=seen)
    mined = settings.miner.mine(train.frames(earlier))
    candidates = _choose_candidates(mined)
    if mode == "existential":
        selected = select_frame_cover(candidates, train.frames(earlier), settings.max_rules)
        present = find_present(timed)[:, later]

        def measure(group: int) -> GroupResult:
            sensors = timed.sensors_at(groups == group)
            if not sensors:
                return GroupResult(sensors_read=None)
            table = timed.table(mode, settings, discretizer=train.discretizer, sensors=sensors)
            return measure_frames(selected, table.frames(later), present[groups == group], len(sensors))

        return ModeResult(mode, len(mined), len(selected), measure(SEEN), measure(PARTLY), measure(WHOLLY), selected)
    applied = train
    if mode == "lifted" and len(candidates):
        used = [pattern for pattern, _ in candidates.patterns]
        applied = timed.table(mode, settings, discretizer=train.discretizer, patterns=used)
    places = PlaceEvaluator(applied, timed, groups)
    if settings.transductive:
        pool = select_applicable(candidates, applied)
        selected = places.select_cover(pool, earlier, settings.max_rules, unseen=True)
    else:
        selected = PlaceEvaluator(train, timed, groups).select_cover(candidates, earlier, settings.max_rules)
    return ModeResult(mode, len(mined), len(selected), *places.measure(selected, later), selected)


def _measure_across(mode: str, here: TimedSystem, there: TimedSystem, settings: SplitSettings) -> ModeResult:
    earlier, later = settings.split_time(here)
    other_earlier, other_later = settings.split_time(there)
    patterns: Any = here.find_patterns(settings) if mode == "lifted" else "auto"
    train = here.table(mode, settings, patterns=patterns)
    mined = settings.miner.mine(train.frames(earlier))
    candidates = _choose_candidates(mined)
    seen, unseen = np.full(len(here.places), SEEN), np.full(len(there.places), WHOLLY)
    if mode == "existential":
        selected = select_frame_cover(candidates, train.frames(earlier), settings.max_rules)
        found = []
        for timed, table, frames in (
            (here, train, later),
            (there, there.table(mode, settings, discretizer=train.discretizer), other_later),
        ):
            sensors = timed.sensors_at(np.ones(len(timed.places), bool))
            found.append(measure_frames(selected, table.frames(frames), find_present(timed)[:, frames], len(sensors)))
        return ModeResult(mode, len(mined), len(selected), found[0], GroupResult(), found[1], selected)
    places = PlaceEvaluator(train, here, seen)
    common = _select_patterns([pattern for pattern, _ in candidates.patterns], there) if mode == "lifted" else []
    # Rules about named sensors apply to no other system: their table there has no blocks.
    other = (
        there.table("lifted", settings, patterns=common) if common else TransactionTable((), mode, train.discretizer)
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


def _select_patterns(patterns: Iterable[str], timed: TimedSystem) -> list[str]:
    """Return the patterns that another system can match: it has their labels, relations and kinds of sensors."""
    index = GraphIndex(timed.graph, timed.system.ontology)
    kinds = {sensor.kind for sensor in timed.readings.sensors}
    out = []
    for text in patterns:
        pattern = Pattern.parse(text)
        labels = {v.label for v in pattern.nodes} | {step.target for role in pattern.roles for step in role.steps}
        relations = {link.label for link in pattern.links} | {s.label for role in pattern.roles for s in role.steps}
        needed = {s.kind for s in pattern.sensors if not s.optional}
        if labels - {""} <= set(index.labels) and relations - {""} <= set(index.relations) and needed <= kinds:
            out.append(text)
    return out


def _choose_candidates(rules: RuleSet) -> RuleSet:
    """Return the rules that the selection considers: by tier of confidence, then short rules, then high support."""
    tier = np.digitize(rules.measure("confidence"), sorted(TIERS[:-1]))
    order = np.lexsort([-rules.measure("support"), rules.measure("antecedents"), -tier])
    return rules.take(order[:CANDIDATES])
