"""Do rules hold where they were not learnt? On sensors never seen, and later in time.

Some nodes are hidden together with their sensors, rules are mined on the rest and on the first part of the time, and
are then applied to the whole system in the later part. What counts is the *place-frame*: a node that carries sensors,
in one time frame. It is covered when the antecedent of some rule holds in an embedding in which the rule reads that
node. Seen and unseen places are told apart, and the same unit serves every enrichment, so their numbers compare.

Of all mined rules the fewest are kept that cover the system, the most confident first. That choice looks at where
antecedents hold in the first part of the time; it never looks at a consequent of an unseen sensor.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from .binding import Binding
from .counting import rule_rows
from .discovery import Carriers, discover
from .discretize import Discretizer
from .enrich import MODES, build
from .errors import ConfigError, nearest
from .graph import KnowledgeGraph
from .items import Role
from .matching import GraphIndex, role_members
from .miners.exact import Exact
from .ontology import Ontology
from .progress import Progress, silent
from .rules import Rule, RuleSet
from .sensors import SensorData
from .transactions import Block, TransactionTable
from .windows import WindowedReadings, window

__all__ = ["Generalisation", "ModeResult", "System", "generalisation"]

Bools = npt.NDArray[np.bool_]

TIERS = (0.99, 0.95, 0.9, 0.8, 0.5, 0.0)
CANDIDATES = 1500
MASK_BYTES = 1 << 29


@dataclass(frozen=True)
class System:
    """What a data set has of the world: readings, graph, binding, ontology."""

    sensors: SensorData
    graph: KnowledgeGraph
    binding: Binding
    ontology: Ontology | None = None


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
    system: Any,
    *,
    enrich: str | Sequence[str] = MODES,
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
    progress: Progress = silent,
) -> Generalisation:
    """Mine on some places and the first part of the time; measure on the others, later.

    ``system`` is a data set (anything with ``sensors``, ``graph``, ``binding`` and ``ontology``). ``split="random"``
    hides nodes at random, ``"region"`` hides a connected region. ``kinds`` limits the sensors that take part.

    >>> import thence as th
    >>> result = th.generalisation(th.datasets.load("toy"), enrich="none", unseen=0.4, min_support=0.05)
    >>> result.modes["none"].unseen_coverage
    0.0
    """
    wanted = [enrich] if isinstance(enrich, str) else list(enrich)
    for mode in wanted:
        if mode not in MODES:
            raise ConfigError(f"unknown enrichment '{mode}'", hint=nearest(mode, MODES) or "one of " + ", ".join(MODES))
    if not 0 < unseen < 1 or not 0 < train_share < 1:
        raise ConfigError("unseen and train_share are shares: between 0 and 1, both ends excluded")
    system = System(system.sensors, system.graph, system.binding, getattr(system, "ontology", None))
    if kinds is not None:
        known = {sensor.kind for sensor in system.sensors.sensors}
        for kind in kinds:
            if kind not in known:
                raise ConfigError(f"no sensor is of the kind '{kind}'", hint=nearest(kind, known))
        chosen = [s.id for s in system.sensors.sensors if s.kind in kinds]
        system = System(system.sensors.select(chosen), system.graph, system.binding, system.ontology)
    readings = window(system.sensors, windows)
    places = _places(readings, system.binding)
    hidden = _hide(places, system.graph, unseen, split, seed)
    cut = int(len(readings) * train_share)
    settings = Exact(min_support=min_support, min_confidence=min_confidence, max_antecedents=max_antecedents)
    results = {}
    for done, mode in enumerate(wanted):
        progress("generalising", done, len(wanted), mode)
        results[mode] = _measure(mode, system, readings, places, hidden, cut, bins, settings, max_rules)
    progress("generalising", len(wanted), len(wanted))
    return Generalisation(
        results,
        split,
        tuple(sorted(hidden)),
        tuple(sorted(set(places) - hidden)),
        str(readings.times[cut].astype("datetime64[m]")) if len(readings) else "",
    )


def _places(readings: WindowedReadings, binding: Binding) -> list[str]:
    """The nodes that carry a sensor, in order."""
    return sorted({binding[s.id] for s in readings.sensors if s.id in binding})


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


def _without(readings: WindowedReadings, hidden: set[str], binding: Binding) -> tuple[str, ...]:
    return tuple(s.id for s in readings.sensors if binding.get(s.id) not in hidden)


def _measure(
    mode: str,
    system: System,
    readings: WindowedReadings,
    places: list[str],
    hidden: set[str],
    cut: int,
    bins: int,
    settings: Exact,
    max_rules: int,
) -> ModeResult:
    discretizer = Discretizer(bins=bins, scope="sensor" if mode in ("none", "lifted") else "kind")

    def table(chosen: WindowedReadings, fitted: Discretizer, patterns: Any = "auto") -> TransactionTable:
        return build(
            chosen,
            mode=mode,
            graph=system.graph,
            binding=system.binding,
            ontology=system.ontology,
            discretizer=fitted,
            fit_frames=slice(0, cut),
            patterns=patterns,
        )

    seen_readings = _select(readings, _without(readings, hidden, system.binding))
    # Where sensors sit is known of unseen ones too, so patterns come from the whole graph; their readings do not.
    patterns: Any = "auto"
    if mode == "lifted":
        index = GraphIndex(system.graph, system.ontology)
        kinds = {sensor.id: sensor.kind for sensor in readings.sensors}
        patterns, _ = discover(Carriers.of(index, kinds, dict(system.binding)))
    train = table(seen_readings, discretizer, patterns)
    mined = settings.mine(train.frames(slice(0, cut)))
    if len(mined) == 0:
        return ModeResult(mode, 0, 0, 0.0, None, 0.0, None, mined)
    candidates = _candidates(mined)
    used = [pattern for pattern, _ in candidates.patterns]
    applied = table(readings, train.discretizer, used) if mode == "lifted" else train
    if mode == "existential":
        unseen_readings = _select(readings, tuple(s.id for s in readings.sensors if system.binding.get(s.id) in hidden))
        return _existential(mined, candidates, train, table(unseen_readings, train.discretizer), cut, max_rules)
    ground = _Ground(applied, system, readings, places, hidden)
    kept = ground.fewest(candidates, slice(0, cut), max_rules)
    later = ground.outcome(kept, slice(cut, None))
    return ModeResult(mode, len(mined), len(kept), *later, kept)


def _select(readings: WindowedReadings, ids: Iterable[str]) -> WindowedReadings:
    """The same windows with some of the sensors only."""
    wanted = set(ids)
    columns = [i for i, s in enumerate(readings.numeric) if s.id in wanted]
    return WindowedReadings(
        times=readings.times,
        sensors=tuple(s for s in readings.sensors if s.id in wanted),
        values=readings.values[:, columns],
        states={name: state for name, state in readings.states.items() if name in wanted},
        derived={k: v[:, columns] if v.ndim == 2 else v for k, v in readings.derived.items()},
        every=readings.every,
        aggregates=readings.aggregates,
        report=readings.report,
    )


def _candidates(rules: RuleSet) -> RuleSet:
    """The most confident rules first, short ones before long ones; as many as are looked at one by one."""
    tier = np.digitize(rules.measure("confidence"), sorted(TIERS[:-1]))
    order = np.lexsort([-rules.measure("support"), rules.measure("antecedents"), -tier])
    return rules.take(order[:CANDIDATES])


class _Ground:
    """A table whose rows are known by the places that rules read there."""

    def __init__(
        self,
        table: TransactionTable,
        system: System,
        readings: WindowedReadings,
        places: list[str],
        hidden: set[str],
    ) -> None:
        self.table = table
        self.number = {place: i for i, place in enumerate(places)}
        self.hidden = np.array([place in hidden for place in places])
        self.index = GraphIndex(system.graph, system.ontology)
        kinds = {sensor.id: sensor.kind for sensor in readings.sensors}
        self.carriers = Carriers.of(self.index, kinds, dict(system.binding))
        self._reads: dict[tuple[str, str], list[tuple[int, ...]]] = {}

    def places_read(self, rule: Rule) -> list[tuple[int, ...]]:
        """For each embedding the places whose readings the rule looks at."""
        block = self._block(rule)
        parts = [self._places_of(block, item.feature) for item in (*rule.antecedent, rule.consequent)]
        return [tuple(sorted(set().union(*(part[e] for part in parts)))) for e in range(block.n_embeddings)]

    def _block(self, rule: Rule) -> Block:
        return next(block for block in self.table.blocks if str(block.pattern or "") == rule.pattern)

    def _places_of(self, block: Block, feature: Any) -> list[tuple[int, ...]]:
        key = (str(block.pattern or ""), str(feature))
        if key not in self._reads:
            self._reads[key] = self._find_places(block, feature)
        return self._reads[key]

    def _find_places(self, block: Block, feature: Any) -> list[tuple[int, ...]]:
        if feature.role is Role.SENSOR:
            return [(self.number[feature.place],)] if feature.place in self.number else [()]
        if feature.role is not Role.VARIABLE or block.pattern is None or not feature.place:
            return [()] * block.n_embeddings
        if feature.reads:
            focus = np.array([self.index.number[names[0]] for names in block.embeddings])
            out: list[set[int]] = [set() for _ in range(block.n_embeddings)]
            for role in block.pattern.roles:
                if str(role) in feature.reads:
                    origin, members = role_members(role.steps, focus, self.index)
                    for e, node in zip(origin.tolist(), members.tolist(), strict=True):
                        if node in self.carriers.sensors[role.kind]:
                            out[e].add(self.number[self.index.ids[node]])
            return [tuple(sorted(found)) for found in out]
        at = [v.name for v in block.pattern.nodes].index(feature.place)
        return [(self.number[names[at]],) if names[at] in self.number else () for names in block.embeddings]

    def covered(self, table: TransactionTable, rule: Rule, places: list[tuple[int, ...]]) -> Bools:
        """Places × frames in which the antecedent holds."""
        antecedent, _ = rule_rows(table, rule)
        out = np.zeros((len(self.number), antecedent.shape[1]), bool)
        for e, read in enumerate(places):
            for place in read:
                out[place] |= antecedent[e]
        return out

    def fewest(self, candidates: RuleSet, frames: slice, limit: int) -> RuleSet:
        """A greedy cover of all place-frames, tier by tier of confidence."""
        table = self.table.frames(frames)
        n_frames = max((block.n_frames for block in table.blocks), default=0)
        bits = len(candidates) * len(self.number) * max(n_frames, 1)
        step = max(1, bits // 8 // MASK_BYTES)
        table = table.frames(slice(None, None, step))
        confidence = candidates.measure("confidence")
        listed = list(candidates)
        reads = [self.places_read(rule) for rule in listed]
        masks = [np.packbits(self.covered(table, rule, read)) for rule, read in zip(listed, reads, strict=True)]
        open_bits = np.packbits(np.ones((len(self.number), max((b.n_frames for b in table.blocks), default=0)), bool))
        total = int(np.bitwise_count(open_bits).sum())
        chosen: list[int] = []
        for low in TIERS:
            pool = [r for r in range(len(listed)) if confidence[r] >= low and r not in set(chosen)]
            chosen += _greedy(pool, masks, open_bits, total, limit - len(chosen), confidence)
            if int(np.bitwise_count(open_bits).sum()) <= 0.001 * total or len(chosen) >= limit:
                break
        return candidates.take(np.array(chosen, np.int64))

    def outcome(self, rules: RuleSet, frames: slice) -> tuple[float, float | None, float, float | None]:
        """Coverage and confidence on seen and unseen places: (seen, seen, unseen, unseen)."""
        table = self.table.frames(frames)
        n_frames = max((block.n_frames for block in table.blocks), default=0)
        covered = np.zeros((len(self.number), n_frames), bool)
        held, right = np.zeros(2, np.int64), np.zeros(2, np.int64)
        for rule in rules:
            places = self.places_read(rule)
            covered |= self.covered(table, rule, places)
            antecedent, both = rule_rows(table, rule)
            strange = np.array([bool(self.hidden[list(read)].any()) if read else False for read in places])
            for side in (0, 1):
                held[side] += int(antecedent[strange == bool(side)].sum())
                right[side] += int(both[strange == bool(side)].sum())
        share = [float(covered[self.hidden == bool(side)].mean()) if covered.size else 0.0 for side in (0, 1)]
        confidence = [float(right[side] / held[side]) if held[side] else None for side in (0, 1)]
        return share[0], confidence[0], share[1], confidence[1]


def _greedy(
    pool: list[int],
    masks: list[npt.NDArray[np.uint8]],
    open_bits: npt.NDArray[np.uint8],
    total: int,
    limit: int,
    confidence: npt.NDArray[np.float64],
) -> list[int]:
    """Lazy greedy cover: gains only shrink, so a rule whose old gain is not the best need not be counted again."""
    least = max(1, total // 10_000)
    heap = [(-int(np.bitwise_count(masks[r] & open_bits).sum()), -confidence[r], r) for r in pool]
    heapq.heapify(heap)
    chosen: list[int] = []
    while heap and len(chosen) < limit:
        gain, quality, rule = heapq.heappop(heap)
        fresh = -int(np.bitwise_count(masks[rule] & open_bits).sum())
        if fresh != gain:
            heapq.heappush(heap, (fresh, quality, rule))
            continue
        if -gain < least:
            break
        open_bits &= ~masks[rule]
        chosen.append(rule)
    return chosen


def _existential(
    mined: RuleSet, candidates: RuleSet, train: TransactionTable, unseen: TransactionTable, cut: int, limit: int
) -> ModeResult:
    """Existential rules have no place: an antecedent that holds covers every place of its frame (generously)."""
    first, later = train.frames(slice(0, cut)), train.frames(slice(cut, None))
    listed = list(candidates)
    masks = [np.packbits(rule_rows(first, rule)[0][0]) for rule in listed]
    open_bits = np.packbits(np.ones(first.blocks[0].n_frames, bool))
    confidence = candidates.measure("confidence")
    chosen: list[int] = []
    for low in TIERS:
        pool = [r for r in range(len(listed)) if confidence[r] >= low and r not in set(chosen)]
        chosen += _greedy(pool, masks, open_bits, first.blocks[0].n_frames, limit - len(chosen), confidence)
        if not open_bits.any() or len(chosen) >= limit:
            break
    kept = candidates.take(np.array(chosen, np.int64))
    seen = _flat_outcome(kept, later)
    applicable = kept.filter(where=lambda rule: _fits(rule, unseen))
    there = _flat_outcome(applicable, unseen.frames(slice(cut, None)))
    return ModeResult("existential", len(mined), len(kept), *seen, *there, kept)


def _fits(rule: Rule, table: TransactionTable) -> bool:
    features = set(table.features)
    return all(item.feature in features for item in (*rule.antecedent, rule.consequent))


def _flat_outcome(rules: RuleSet, table: TransactionTable) -> tuple[float, float | None]:
    n_frames = table.blocks[0].n_frames if table.blocks else 0
    covered = np.zeros(n_frames, bool)
    held = right = 0
    for rule in rules:
        antecedent, both = rule_rows(table, rule)
        covered |= antecedent[0]
        held += int(antecedent.sum())
        right += int(both.sum())
    return (float(covered.mean()) if n_frames else 0.0), (right / held if held else None)
