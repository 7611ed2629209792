"""Generalisation: whether rules hold at sensors and times that they were not mined on.

Some nodes are hidden together with their sensors. Rules are mined on the other nodes in the earlier part of the time
and measured on the whole system in the later part. Alternatively they are mined on one system and measured on another.

The unit of measurement is the *place-frame*: a node that carries sensors, in a frame in which one of them has a value.
A rule covers it if the antecedent holds in an embedding in which the rule reads the node. The unit is the same for
every enrichment, so that their numbers can be compared; existential rules have no place and are measured by frames.

Of the mined rules, few are selected that together cover as much as possible, the most confident first. The selection
looks at antecedents in the earlier part of the time only; it must never see a consequent of an unseen sensor.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from thence.errors import ConfigError
from thence.evaluate.generalisation.places import TIERS, PlaceEvaluator, measure_frames, select_frame_cover
from thence.evaluate.generalisation.split import SplitSettings, TimedSystem, window_system
from thence.graph.knowledge_graph import KnowledgeGraph
from thence.graph.matching import GraphIndex
from thence.graph.patterns import Pattern
from thence.graph.system import System
from thence.miners.exact.miner import Exact
from thence.progress import Progress, silent
from thence.rules.ruleset import RuleSet
from thence.tables.enrich import ENRICHMENTS
from thence.tables.transactions import TransactionTable

__all__ = ["Generalisation", "ModeResult", "generalisation"]

CANDIDATES = 1500
"""Maximum number of rules that the selection considers."""


@dataclass(frozen=True)
class ModeResult:
    """Coverage and confidence of the rules of one enrichment, on seen and unseen places, in the later part of the time.

    Args:
        enrichment: The enrichment.
        mined: Number of rules that were mined.
        rules: Number of rules that were selected.
        seen_coverage: Share of the seen place-frames that the selected rules cover.
        seen_confidence: Confidence of the selected rules on seen places; ``None`` if none applies.
        unseen_coverage: Share of the unseen place-frames that the selected rules cover.
        unseen_confidence: Confidence of the selected rules on unseen places; ``None`` if none applies.
        selected: The selected rules.
    """

    enrichment: str
    mined: int
    rules: int
    seen_coverage: float
    seen_confidence: float | None
    unseen_coverage: float
    unseen_confidence: float | None
    selected: RuleSet = field(repr=False, compare=False)

    def describe(self) -> dict[str, Any]:
        """Return the numbers as a dict that JSON can hold, without the rules."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "selected"}


@dataclass(frozen=True)
class Generalisation:
    """Results of ``generalisation``: one per enrichment, and the split.

    Args:
        modes: The result of each enrichment.
        split: How places were split: ``"random"``, ``"region"`` or ``"another system"``.
        unseen_nodes: Ids of the nodes that were hidden, or of the nodes with sensors of the other system.
        seen_nodes: Ids of the nodes with sensors that rules were mined on.
        later_from: Start of the part of the time that rules were measured on.
    """

    modes: Mapping[str, ModeResult]
    split: str
    unseen_nodes: tuple[str, ...]
    seen_nodes: tuple[str, ...]
    later_from: str

    def describe(self) -> dict[str, Any]:
        """Return the result as a dict that JSON can hold, without the rules."""
        return {
            "split": self.split,
            "seen_nodes": len(self.seen_nodes),
            "unseen_nodes": len(self.unseen_nodes),
            "later_from": self.later_from,
            "modes": {name: result.describe() for name, result in self.modes.items()},
        }

    def __str__(self) -> str:
        lines = [
            f"{len(self.seen_nodes)} seen and {len(self.unseen_nodes)} unseen nodes ({self.split}), "
            f"measured from {self.later_from} on",
            f"{'enrichment':<12}{'mined':>10}{'rules':>8}{'seen cov.':>11}{'conf.':>8}{'unseen cov.':>13}{'conf.':>8}",
        ]
        for name, r in self.modes.items():
            lines.append(
                f"{name:<12}{r.mined:>10,}{r.rules:>8,}{r.seen_coverage:>11.3f}{_format_share(r.seen_confidence):>8}"
                f"{r.unseen_coverage:>13.3f}{_format_share(r.unseen_confidence):>8}"
            )
        return "\n".join(lines)


def _format_share(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def generalisation(
    system: System,
    *,
    enrich: str | Sequence[str] = ("none", "grounded", "existential", "lifted"),
    unseen: float = 0.3,
    split: str = "random",
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
    measured on seen and unseen nodes in the rest of the time.

    Args:
        system: A system with a graph and a binding.
        enrich: Enrichments to measure, one or several.
        unseen: Share of the nodes with sensors to hide, between 0 and 1 (exclusive).
        split: Hide ``"random"`` nodes, or a connected ``"region"``.
        seed: Random seed of the split.
        windows: Length of a window.
        bins: Number of bins.
        kinds: Kinds of sensors to use; all by default.
        train_share: Share of the time to mine on, between 0 and 1 (exclusive).
        min_support: Minimum support.
        min_confidence: Minimum confidence.
        max_antecedents: Maximum number of items in an antecedent.
        max_rules: Maximum number of rules to select and measure per enrichment.
        hops: Maximum length of a path in a pattern of lifted rules.
        min_embeddings: Minimum number of embeddings of a pattern of lifted rules.
        other: Another system to measure on. No node of ``system`` is hidden then, and all nodes of ``other`` are
            unseen; rules about named sensors cannot apply there. ``unseen``, ``split`` and ``seed`` are not used.
        progress: Called with the progress.

    Returns:
        Coverage and confidence on seen and unseen places for each enrichment.

    Raises:
        ConfigError: An enrichment, a split or a kind is unknown, or a share is out of range.

    Examples:
        >>> import thence as th
        >>> result = th.generalisation(th.datasets.load("toy"), enrich="none", unseen=0.4, min_support=0.05)
        >>> result.modes["none"].unseen_coverage
        0.0
    """
    wanted = [enrich] if isinstance(enrich, str) else list(enrich)
    for mode in wanted:
        ENRICHMENTS.check(mode)
    for name, share in (("unseen", unseen), ("train_share", train_share)):
        if not 0 < share < 1:
            raise ConfigError(f"{name} must be between 0 and 1 (exclusive), got {share}")
    here = window_system(system, kinds, windows)
    settings = SplitSettings(
        Exact(min_support=min_support, min_confidence=min_confidence, max_antecedents=max_antecedents),
        bins,
        max_rules,
        hops,
        min_embeddings,
        train_share,
    )
    results = {}
    there = None if other is None else window_system(other, kinds, windows)
    hidden = set() if there else _choose_hidden(here.places, here.graph, unseen, split, seed)
    for done, mode in enumerate(wanted):
        progress("generalising", done, len(wanted), mode)
        if there is None:
            results[mode] = _measure_within(mode, here, hidden, settings)
        else:
            results[mode] = _measure_across(mode, here, there, settings)
    progress("generalising", len(wanted), len(wanted))
    measured = there or here
    cut = settings.split_frame(measured)
    return Generalisation(
        results,
        "another system" if there else split,
        tuple(there.places) if there else tuple(sorted(hidden)),
        tuple(sorted(set(here.places) - hidden)),
        str(measured.readings.times[cut].astype("datetime64[m]")) if cut < len(measured.readings) else "",
    )


def _choose_hidden(places: list[str], graph: KnowledgeGraph, share: float, split: str, seed: int) -> set[str]:
    rng = np.random.default_rng(seed)
    count = max(1, round(share * len(places)))
    if split == "random":
        return {places[i] for i in rng.choice(len(places), count, replace=False)}
    if split != "region":
        raise ConfigError(f"unknown split '{split}'", hint="use 'random' or 'region'")
    start = places[int(rng.integers(len(places)))]
    reach = graph.neighbours(start, hops=len(graph.nodes))
    near = sorted((p for p in places if p == start or p in reach), key=lambda p: (reach.get(p, 0), p))
    return set((near + [p for p in places if p not in near])[:count])


def _measure_within(mode: str, timed: TimedSystem, hidden: set[str], settings: SplitSettings) -> ModeResult:
    binding, readings = timed.binding, timed.readings
    cut = settings.split_frame(timed)
    seen = [s.id for s in readings.sensors if binding.get(s.id) not in hidden]
    patterns: Any = "auto"
    if mode == "lifted":
        known = {s.kind for s in readings.sensors if s.id in set(seen)}
        patterns = [p for p in timed.find_patterns(settings) if {s.kind for s in p.sensors if not s.optional} <= known]
    train = timed.table(mode, settings, patterns=patterns, sensors=seen)
    mined = settings.miner.mine(train.frames(slice(0, cut)))
    if len(mined) == 0:
        return ModeResult(mode, 0, 0, 0.0, None, 0.0, None, mined)
    candidates = _choose_candidates(mined)
    if mode == "existential":
        unseen_ids = [s.id for s in readings.sensors if binding.get(s.id) in hidden]
        unseen = timed.table(mode, settings, discretizer=train.discretizer, sensors=unseen_ids)
        selected = select_frame_cover(candidates, train.frames(slice(0, cut)), settings.max_rules)
        here = measure_frames(selected, train.frames(slice(cut, None)))
        return ModeResult(
            mode, len(mined), len(selected), *here, *measure_frames(selected, unseen.frames(slice(cut, None))), selected
        )
    used = [pattern for pattern, _ in candidates.patterns]
    applied = timed.table(mode, settings, discretizer=train.discretizer, patterns=used) if mode == "lifted" else train
    places = PlaceEvaluator(applied, timed, hidden)
    selected = places.select_cover(_select_applicable(candidates, applied), slice(0, cut), settings.max_rules)
    return ModeResult(mode, len(mined), len(selected), *places.measure(selected, slice(cut, None)), selected)


def _measure_across(mode: str, here: TimedSystem, there: TimedSystem, settings: SplitSettings) -> ModeResult:
    cut, other_cut = settings.split_frame(here), settings.split_frame(there)
    patterns: Any = here.find_patterns(settings) if mode == "lifted" else "auto"
    train = here.table(mode, settings, patterns=patterns)
    mined = settings.miner.mine(train.frames(slice(0, cut)))
    if len(mined) == 0:
        return ModeResult(mode, 0, 0, 0.0, None, 0.0, None, mined)
    candidates = _choose_candidates(mined)
    if mode == "existential":
        selected = select_frame_cover(candidates, train.frames(slice(0, cut)), settings.max_rules)
        seen = measure_frames(selected, train.frames(slice(cut, None)))
        other = there.table(mode, settings, discretizer=train.discretizer)
        return ModeResult(
            mode,
            len(mined),
            len(selected),
            *seen,
            *measure_frames(selected, other.frames(slice(other_cut, None))),
            selected,
        )
    places = PlaceEvaluator(train, here, set())
    if mode != "lifted":
        selected = places.select_cover(candidates, slice(0, cut), settings.max_rules)
        coverage, confidence, _, _ = places.measure(selected, slice(cut, None))
        return ModeResult(mode, len(mined), len(selected), coverage, confidence, 0.0, None, selected)
    common = _select_patterns([pattern for pattern, _ in candidates.patterns], there)
    other = there.table(mode, settings, patterns=common)
    other_places = PlaceEvaluator(other, there, set(there.places))
    selected = other_places.select_cover(_select_applicable(candidates, other), slice(0, other_cut), settings.max_rules)
    coverage, confidence, _, _ = places.measure(selected, slice(cut, None))
    return ModeResult(
        mode,
        len(mined),
        len(selected),
        coverage,
        confidence,
        *other_places.measure(selected, slice(other_cut, None))[2:],
        selected,
    )


def _select_applicable(rules: RuleSet, table: TransactionTable) -> RuleSet:
    """Return the rules whose features are all in a table."""
    known = {(str(block.pattern or ""), column.feature) for block in table.blocks for column in block.columns}
    return rules.filter(
        where=lambda rule: all((rule.pattern, item.feature) in known for item in (*rule.antecedent, rule.consequent))
    )


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
