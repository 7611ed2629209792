"""Do rules hold where they were not learnt? On sensors never seen, and later in time.

Some nodes are hidden together with their sensors, rules are mined on the rest and on the first part of the time, and
are then applied to the whole system in the later part; or they are mined on one system and applied to another. What
counts is the *place-frame*: a node that carries sensors, in a time frame in which one of them reads. It is covered when
a rule applies in an embedding in which it reads that node. Seen and unseen places are told apart, and the same unit
serves every enrichment, so their numbers compare.

Of all mined rules the fewest are kept that cover the system, the most confident first. That choice looks at where
antecedents hold in the first part of the time; it never looks at a consequent of an unseen sensor.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from thence.errors import ConfigError
from thence.evaluate.generalisation.judge import TIERS, Judge, fewest_frames, frame_outcome
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
"""As many of the best rules are looked at one by one."""


@dataclass(frozen=True)
class ModeResult:
    """How rules of one enrichment do on the places and time they were mined on, and on those they were not."""

    enrichment: str
    mined: int
    rules: int
    seen_coverage: float
    seen_confidence: float | None
    unseen_coverage: float
    unseen_confidence: float | None
    kept: RuleSet = field(repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON, without the rules themselves."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "kept"}


@dataclass(frozen=True)
class Generalisation:
    """A result per enrichment, and how the split was made."""

    modes: Mapping[str, ModeResult]
    split: str
    unseen_nodes: tuple[str, ...]
    seen_nodes: tuple[str, ...]
    later_from: str

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "split": self.split,
            "seen_nodes": len(self.seen_nodes),
            "unseen_nodes": len(self.unseen_nodes),
            "later_from": self.later_from,
            "modes": {name: result.to_dict() for name, result in self.modes.items()},
        }

    def __str__(self) -> str:
        lines = [
            f"{len(self.seen_nodes)} seen and {len(self.unseen_nodes)} unseen nodes ({self.split}), "
            f"measured from {self.later_from} on",
            f"{'enrichment':<12}{'mined':>10}{'rules':>8}{'seen cov.':>11}{'conf.':>8}{'unseen cov.':>13}{'conf.':>8}",
        ]
        for name, r in self.modes.items():
            lines.append(
                f"{name:<12}{r.mined:>10,}{r.rules:>8,}{r.seen_coverage:>11.3f}{_number(r.seen_confidence):>8}"
                f"{r.unseen_coverage:>13.3f}{_number(r.unseen_confidence):>8}"
            )
        return "\n".join(lines)


def _number(value: float | None) -> str:
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
    """Mine on some places and the first part of the time; measure on the others, later.

    ``system`` is a data set (anything with ``sensors``, ``graph``, ``binding`` and ``ontology``). ``split="random"``
    hides nodes at random, ``"region"`` hides a connected region. ``kinds`` limits the sensors that take part. ``hops``
    and ``min_embeddings`` shape the patterns of lifted rules. With ``other``, all of ``system`` is seen and all of the
    other system is unseen: rules about named sensors cannot apply there.

    >>> import thence as th
    >>> result = th.generalisation(th.datasets.load("toy"), enrich="none", unseen=0.4, min_support=0.05)
    >>> result.modes["none"].unseen_coverage
    0.0
    """
    wanted = [enrich] if isinstance(enrich, str) else list(enrich)
    for mode in wanted:
        ENRICHMENTS.check(mode)
    if not 0 < unseen < 1 or not 0 < train_share < 1:
        raise ConfigError("unseen and train_share are shares: between 0 and 1, both ends excluded")
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
    hidden = set() if there else _hide(here.places, here.graph, unseen, split, seed)
    for done, mode in enumerate(wanted):
        progress("generalising", done, len(wanted), mode)
        if there is None:
            results[mode] = _within(mode, here, hidden, settings)
        else:
            results[mode] = _across(mode, here, there, settings)
    progress("generalising", len(wanted), len(wanted))
    measured = there or here
    cut = settings.cut(measured)
    return Generalisation(
        results,
        "another system" if there else split,
        tuple(there.places) if there else tuple(sorted(hidden)),
        tuple(sorted(set(here.places) - hidden)),
        str(measured.readings.times[cut].astype("datetime64[m]")) if cut < len(measured.readings) else "",
    )


def _hide(places: list[str], graph: KnowledgeGraph, share: float, split: str, seed: int) -> set[str]:
    rng = np.random.default_rng(seed)
    count = max(1, round(share * len(places)))
    if split == "random":
        return {places[i] for i in rng.choice(len(places), count, replace=False)}
    if split != "region":
        raise ConfigError(f"unknown split '{split}'", hint="'random' nodes or a connected 'region'")
    start = places[int(rng.integers(len(places)))]
    reach = graph.neighbours(start, hops=len(graph.nodes))
    near = sorted((p for p in places if p == start or p in reach), key=lambda p: (reach.get(p, 0), p))
    return set((near + [p for p in places if p not in near])[:count])


def _within(mode: str, timed: TimedSystem, hidden: set[str], settings: SplitSettings) -> ModeResult:
    binding, readings = timed.binding, timed.readings
    cut = settings.cut(timed)
    seen = [s.id for s in readings.sensors if binding.get(s.id) not in hidden]
    patterns: Any = "auto"
    if mode == "lifted":
        known = {s.kind for s in readings.sensors if s.id in set(seen)}
        patterns = [p for p in timed.patterns(settings) if {s.kind for s in p.sensors if not s.optional} <= known]
    train = timed.table(mode, settings, patterns=patterns, sensors=seen)
    mined = settings.miner.mine(train.frames(slice(0, cut)))
    if len(mined) == 0:
        return ModeResult(mode, 0, 0, 0.0, None, 0.0, None, mined)
    candidates = _candidates(mined)
    if mode == "existential":
        strange = [s.id for s in readings.sensors if binding.get(s.id) in hidden]
        unseen = timed.table(mode, settings, discretizer=train.discretizer, sensors=strange)
        kept = fewest_frames(candidates, train.frames(slice(0, cut)), settings.max_rules)
        here = frame_outcome(kept, train.frames(slice(cut, None)))
        return ModeResult(
            mode, len(mined), len(kept), *here, *frame_outcome(kept, unseen.frames(slice(cut, None))), kept
        )
    used = [pattern for pattern, _ in candidates.patterns]
    applied = timed.table(mode, settings, discretizer=train.discretizer, patterns=used) if mode == "lifted" else train
    judge = Judge(applied, timed, hidden)
    kept = judge.fewest(_with_features_of(candidates, applied), slice(0, cut), settings.max_rules)
    return ModeResult(mode, len(mined), len(kept), *judge.outcome(kept, slice(cut, None)), kept)


def _across(mode: str, here: TimedSystem, there: TimedSystem, settings: SplitSettings) -> ModeResult:
    cut, far_cut = settings.cut(here), settings.cut(there)
    patterns: Any = here.patterns(settings) if mode == "lifted" else "auto"
    train = here.table(mode, settings, patterns=patterns)
    mined = settings.miner.mine(train.frames(slice(0, cut)))
    if len(mined) == 0:
        return ModeResult(mode, 0, 0, 0.0, None, 0.0, None, mined)
    candidates = _candidates(mined)
    if mode == "existential":
        kept = fewest_frames(candidates, train.frames(slice(0, cut)), settings.max_rules)
        seen = frame_outcome(kept, train.frames(slice(cut, None)))
        far = there.table(mode, settings, discretizer=train.discretizer)
        return ModeResult(
            mode, len(mined), len(kept), *seen, *frame_outcome(kept, far.frames(slice(far_cut, None))), kept
        )
    judge = Judge(train, here, set())
    if mode != "lifted":
        kept = judge.fewest(candidates, slice(0, cut), settings.max_rules)
        coverage, confidence, _, _ = judge.outcome(kept, slice(cut, None))
        return ModeResult(mode, len(mined), len(kept), coverage, confidence, 0.0, None, kept)
    common = _patterns_known_to([pattern for pattern, _ in candidates.patterns], there)
    far = there.table(mode, settings, patterns=common)
    strange = Judge(far, there, set(there.places))
    kept = strange.fewest(_with_features_of(candidates, far), slice(0, far_cut), settings.max_rules)
    coverage, confidence, _, _ = judge.outcome(kept, slice(cut, None))
    return ModeResult(
        mode, len(mined), len(kept), coverage, confidence, *strange.outcome(kept, slice(far_cut, None))[2:], kept
    )


def _with_features_of(rules: RuleSet, table: TransactionTable) -> RuleSet:
    """The rules whose features a table has."""
    known = {(str(block.pattern or ""), column.feature) for block in table.blocks for column in block.columns}
    return rules.filter(
        where=lambda rule: all((rule.pattern, item.feature) in known for item in (*rule.antecedent, rule.consequent))
    )


def _patterns_known_to(patterns: Iterable[str], timed: TimedSystem) -> list[str]:
    """The patterns that can be asked of another system: its graph knows their labels, it has sensors of their kinds."""
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


def _candidates(rules: RuleSet) -> RuleSet:
    """The most confident rules first, short ones before long ones; as many as are looked at one by one."""
    tier = np.digitize(rules.measure("confidence"), sorted(TIERS[:-1]))
    order = np.lexsort([-rules.measure("support"), rules.measure("antecedents"), -tier])
    return rules.take(order[:CANDIDATES])
