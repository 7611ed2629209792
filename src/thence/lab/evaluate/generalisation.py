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

With ``by="site"`` there are several systems: each is left out once, rules are mined on the others together, and
measured on the one left out.

Of the mined rules, few are selected that together cover as much as possible, the most confident first. By default the
selection looks at seen places in the earlier part of the time only, so that no reading of a hidden sensor decides
which rules are kept. Which patterns there are, and where hidden sensors are, is known from the graph. A rank ("in its
highest tenth") needs the history of a sensor: at hidden sensors the edges of the ranks come from their own readings in
the earlier part of the time.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, overload

import numpy as np
import numpy.typing as npt

from thence._base.progress import Progress, silent
from thence._base.settings.numbers import require_integer, require_seed
from thence.data.graph.discovery import Carriers, discover
from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.matching import GraphIndex
from thence.data.graph.system import System
from thence.data.readings.pooling import cut_sites
from thence.errors import ConfigError, nearest
from thence.language.items import Aspect, Feature, Role
from thence.language.patterns import Pattern
from thence.runs.configuration import Config, DiscretizeConfig, EnrichConfig, WindowsConfig
from thence.runs.options import OTHER_DEFAULTS
from thence.runs.preparation import Prepared, prepare
from thence.search.exact.miner import Exact
from thence.statements.counting.recount import rule_rows
from thence.statements.rules.ruleset import Rule, RuleSet
from thence.tables.blocks import Block
from thence.tables.discretization import Discretizer
from thence.tables.enrich import ENRICHMENTS
from thence.tables.enrich.lifted import find_places
from thence.tables.transactions import TransactionTable

GROUPS = ("seen", "partly_unseen", "wholly_unseen")
"""Names of the three groups of places; a group is the index of its name."""
SEEN, PARTLY, WHOLLY = range(3)


def hide_places(
    places: Sequence[str], graph: KnowledgeGraph, *, share: float, split: str, seed: int, hops: int
) -> set[str]:
    """Choose the places to hide.

    A region consists of the places nearest to a random one. Starts are tried in random order; the first region with a
    wholly unseen place is taken, or the first region of all if none has one.

    Args:
        places: Ids of the nodes that carry sensors.
        graph: The graph.
        share: Share of the places to hide.
        split: ``"region"`` or ``"random"``.
        seed: Random seed.
        hops: How far rules reach, in edges.

    Raises:
        ConfigError: If the split is unknown.
    """
    rng = np.random.default_rng(seed)
    count = max(1, min(round(share * len(places)), len(places) - 1))
    if split == "random":
        return {places[i] for i in rng.choice(len(places), count, replace=False)}
    if split != "region":
        raise ConfigError(f"unknown split '{split}'", hint="use 'random' or 'region'")
    first: set[str] = set()
    for start in rng.permutation(len(places)).tolist():
        region = _grow_region(places, graph, places[start], count)
        if (classify_places(places, region, graph, hops) == WHOLLY).any():
            return region
        first = first or region
    return first


def _grow_region(places: Sequence[str], graph: KnowledgeGraph, start: str, count: int) -> set[str]:
    """Return the ``count`` places nearest to ``start``; places that it does not reach come last."""
    distance = {start: 0, **graph.neighbours(start, hops=len(graph.nodes))}
    return set(sorted(places, key=lambda place: (distance.get(place, len(graph.nodes)), place))[:count])


def classify_places(places: Sequence[str], hidden: set[str], graph: KnowledgeGraph, hops: int) -> npt.NDArray[np.int64]:
    """Return the group of each place: ``SEEN``, ``PARTLY`` or ``WHOLLY``.

    Args:
        places: Ids of the nodes that carry sensors.
        hidden: Ids of the hidden ones.
        graph: The graph.
        hops: How far rules reach, in edges.

    Examples:
        >>> from thence.data.graph.knowledge_graph import Edge, KnowledgeGraph, Node
        >>> edges = [Edge(a + b, a, b, frozenset(["to"])) for a, b in ("ab", "bc", "cd")]
        >>> row = KnowledgeGraph([Node(name) for name in "abcd"], edges)
        >>> [GROUPS[group] for group in classify_places("abcd", {"c", "d"}, row, 1)]
        ['seen', 'seen', 'partly_unseen', 'wholly_unseen']
    """
    visible = set(places) - hidden
    groups = []
    for place in places:
        if place not in hidden:
            groups.append(SEEN)
        else:
            groups.append(WHOLLY if visible.isdisjoint(graph.neighbours(place, hops=hops)) else PARTLY)
    return np.array(groups, np.int64)


@dataclass(frozen=True)
class SplitSettings:
    """Settings of a measurement of generalisation.

    Args:
        miner: The miner, with its thresholds.
        bins: Number of bins.
        max_rules: Maximum number of rules to select.
        hops: Maximum length of a path in a pattern.
        min_embeddings: Minimum number of embeddings of a pattern.
        train_share: Share of the frames to mine on.
        transductive: Whether unseen places take part in the selection of rules.
    """

    miner: Exact
    bins: int
    max_rules: int
    hops: int
    min_embeddings: int
    train_share: float
    transductive: bool = False

    def split_frame(self, data: Prepared) -> int:
        """Return the number of the first frame that ``data`` is measured on."""
        return int(len(data.readings) * self.train_share)

    def split_time(self, data: Prepared) -> tuple[slice, slice]:
        """Return the frames of ``data`` to mine on, and those to measure on."""
        cut = self.split_frame(data)
        return slice(0, cut), slice(cut, None)

    def table(
        self,
        data: Prepared,
        mode: str,
        *,
        bins: Discretizer | None = None,
        patterns: str | Sequence[str | Pattern] = "auto",
        sensors: Iterable[str] | None = None,
        same_system: bool | None = None,
    ) -> TransactionTable:
        """Build a table.

        Args:
            data: The system with its readings in windows.
            mode: The enrichment.
            bins: Bins to use; by default they are fitted on the earlier part.
            patterns: Patterns of lifted rules, or ``"auto"``.
            sensors: Ids of the sensors to use; all by default.
            same_system: Whether ``bins`` were fitted on the same system; by default decided by names and nodes.
        """
        texts = patterns if isinstance(patterns, str) else tuple(map(str, patterns))
        return replace(
            data,
            config=Config(discretize=DiscretizeConfig(bins=self.bins), enrich=EnrichConfig(mode=mode, patterns=texts)),
            readings=data.readings if sensors is None else data.readings.select(sensors),
            bins=bins,
            fit_frames=slice(0, self.split_frame(data)),
            same_system=same_system,
        ).table

    def find_patterns(self, data: Prepared) -> list[Pattern]:
        """Discover the patterns of the whole graph; the places of unseen sensors are known, their readings are not."""
        numbers = [sensor.id for sensor in data.readings.numeric]
        carriers = carriers_of(data)
        found, _ = discover(carriers, hops=self.hops, min_embeddings=self.min_embeddings, nearest=numbers)
        return found


def carriers_of(
    data: Prepared, *, patterns: Sequence[Pattern] | None = None, sensors: Iterable[str] | None = None
) -> Carriers:
    """Return the nodes that carry sensors.

    Args:
        data: The system with its readings in windows.
        patterns: The patterns that are asked for; all by default.
        sensors: Ids of the sensors; all by default.
    """
    graph, binding = data.system.require_graph()
    wanted = None if sensors is None else set(sensors)
    kinds = {sensor.id: sensor.kind for sensor in data.readings.sensors if wanted is None or sensor.id in wanted}
    return Carriers.of(GraphIndex(graph, data.system.ontology), kinds, dict(binding), patterns=patterns)


def sensors_at(data: Prepared, chosen: npt.NDArray[np.bool_]) -> list[str]:
    """Return the ids of the sensors at some places.

    Args:
        data: The system with its readings in windows.
        chosen: Which of its places.
    """
    wanted = {place for place, is_chosen in zip(data.places, chosen.tolist(), strict=True) if is_chosen}
    return [sensor.id for sensor in data.readings.sensors if data.node_of(sensor.id) in wanted]


def window_system(system: System, kinds: Sequence[str] | None, windows: str) -> Prepared:
    """Put the readings of a system into windows.

    Args:
        system: The system; it must have a graph and a binding.
        kinds: Kinds of sensors to use; all by default.
        windows: Length of a window.
    """
    _, binding = system.require_graph()
    if kinds is not None:
        # Keep the whole binding: it also has the places of sensors of other kinds.
        system = replace(system.select_kinds(kinds), binding=binding)
    data = prepare(system, Config(windows=WindowsConfig(every=windows, derive=())))
    return replace(data, readings=data.readings.without_empty())


def window_sites(
    systems: Sequence[System], kinds: Sequence[str] | None, windows: str, train_share: float
) -> tuple[Prepared, Prepared]:
    """Put the readings of several systems into windows, and split the time of each into an earlier and a later part.

    Args:
        systems: The systems; each must have a name, a graph and a binding.
        kinds: Kinds of sensors to use; all by default.
        windows: Length of a window.
        train_share: Share of the frames of each system in the earlier part.
    """
    known = {sensor.kind for system in systems for sensor in system.sensors.sensors}
    for kind in kinds or ():
        if kind not in known:
            raise ConfigError(f"no sensor is of the kind '{kind}'", hint=nearest(kind, known))
    chosen = []
    for system in systems:
        own = {sensor.kind for sensor in system.sensors.sensors}
        wanted = own if kinds is None else own & set(kinds)
        # Keep the whole binding: it also has the places of sensors of other kinds.
        chosen.append(system if wanted == own else replace(system.select_kinds(wanted), binding=system.binding))
    data = prepare(System.of_sites(chosen), Config(windows=WindowsConfig(every=windows, derive=())))
    readings = data.readings
    frames = {name: len(times) for name, times in readings.by_site.items()}
    cuts = {name: int(number * train_share) for name, number in frames.items()}
    earlier = cut_sites(readings, {name: (0, cut) for name, cut in cuts.items()})
    later = cut_sites(readings, {name: (cut, frames[name]) for name, cut in cuts.items()})
    return replace(data, readings=earlier), replace(data, readings=later)


Bools = npt.NDArray[np.bool_]
Groups = npt.NDArray[np.int64]

TIERS = (0.99, 0.95, 0.9, 0.8, 0.5, 0.0)
"""Rules are selected by tiers of confidence: a rule of a lower tier only where no rule of a higher one applies."""
MASK_BYTES = 1 << 29


@dataclass(frozen=True)
class GroupResult:
    """Counts of the selected rules in one group of places, in the later part of the time.

    Args:
        places: Number of places in the group.
        place_frames: Number of place-frames: frames of these places in which one of their sensors has a value.
        covered: Number of place-frames that the rules cover.
        applications: How often a rule applies: rules × embeddings × frames in which the antecedent holds and the
            consequent can be checked.
        correct: In how many of the ``applications`` the consequent holds.
        sensors: Number of sensors at the places.
        sensors_read: Number of sensors that are read by a rule which applies at least once; ``None`` for existential
            rules, which are about *some* sensor.
    """

    places: int = 0
    place_frames: int = 0
    covered: int = 0
    applications: int = 0
    correct: int = 0
    sensors: int = 0
    sensors_read: int | None = 0

    @property
    def coverage(self) -> float | None:
        """Share of the place-frames that the rules cover; ``None`` if no rule ever applies."""
        return self.covered / self.place_frames if self.applications and self.place_frames else None

    @property
    def confidence(self) -> float | None:
        """Share of the applications in which the consequent holds; ``None`` if no rule ever applies."""
        return self.correct / self.applications if self.applications else None

    @property
    def sensor_share(self) -> float | None:
        """Share of the sensors that the rules read; ``None`` if no rule ever applies, or for existential rules."""
        if self.sensors_read is None or not self.applications or not self.sensors:
            return None
        return self.sensors_read / self.sensors

    def describe(self) -> dict[str, Any]:
        """Return the shares and the counts as a dict that JSON can hold."""
        shares = {name: getattr(self, name) for name in ("coverage", "confidence", "sensor_share")}
        return shares | {f.name: getattr(self, f.name) for f in fields(self)}


class PlaceEvaluator:
    """Selects and measures rules of a table by place-frames.

    Args:
        table: The table to apply rules to.
        timed: The system of the table.
        groups: The group of each place of ``timed``.
    """

    def __init__(self, table: TransactionTable, timed: Prepared, groups: Groups) -> None:
        self.table = table
        self.groups = groups
        number = {place: i for i, place in enumerate(timed.places)}
        bound = [sensor for sensor in timed.readings.sensors if timed.node_of(sensor.id)]
        self.sensor = {sensor.id: i for i, sensor in enumerate(bound)}
        self.place_of = np.array([number[timed.node_of(sensor.id)] for sensor in bound], np.int64)
        patterns = [block.pattern for block in table.blocks if block.pattern is not None]
        self.carriers = carriers_of(timed, patterns=patterns)
        self.index = self.carriers.index
        self.numeric = {sensor.id for sensor in timed.readings.numeric}
        self.present = find_present(timed)
        self._reads: dict[tuple[str, str], list[frozenset[int]]] = {}

    def sensors_read(self, rule: Rule) -> list[npt.NDArray[np.int64]]:
        """Return, for each embedding, the numbers of the sensors that ``rule`` reads, in ascending order."""
        block = self._find_block(rule)
        parts = [self._sensors_of(block, item.feature) for item in (*rule.antecedent, rule.consequent)]
        return [
            np.array(sorted(frozenset().union(*(part[e] for part in parts))), np.int64)
            for e in range(block.n_embeddings)
        ]

    def _find_block(self, rule: Rule) -> Block:
        return next(block for block in self.table.blocks if str(block.pattern or "") == rule.pattern)

    def _sensors_of(self, block: Block, feature: Feature) -> list[frozenset[int]]:
        key = (str(block.pattern or ""), str(feature))
        if key not in self._reads:
            self._reads[key] = self._find_sensors(block, feature)
        return self._reads[key]

    def _find_sensors(self, block: Block, feature: Feature) -> list[frozenset[int]]:
        if feature.role is Role.SENSOR:
            return [self._numbers([feature.subject])]
        if feature.role is not Role.VARIABLE or feature.aspect is not Aspect.MEASUREMENT or block.pattern is None:
            return [frozenset()] * block.n_embeddings
        if feature.reads:
            focus = np.array([self.index.number[names[0]] for names in block.embeddings])
            out: list[set[int]] = [set() for _ in range(block.n_embeddings)]
            for role in block.pattern.roles:
                if str(role) in feature.reads:
                    origin, members = self.carriers.members_of(role, focus, block.pattern, numeric=self.numeric)
                    carried = self.carriers.matched_by(block.pattern).get(role.kind, {})
                    for e, node in zip(origin.tolist(), members.tolist(), strict=True):
                        # Roles aggregate numeric sensors only.
                        out[e] |= self._numbers([s for s in carried.get(node, ()) if s in self.numeric])
            return [frozenset(found) for found in out]
        at = len(block.pattern.nodes) + [v.name for v in block.pattern.sensors].index(feature.subject)
        return [self._numbers([names[at]]) for names in block.embeddings]

    def _numbers(self, ids: Sequence[str]) -> frozenset[int]:
        return frozenset(self.sensor[name] for name in ids if name in self.sensor)

    def _group_of(self, sensors: npt.NDArray[np.int64]) -> int:
        """Return the group of an embedding, given the sensors that a rule reads in it."""
        groups = self.groups[self.place_of[sensors]]
        if (groups == SEEN).all():
            return SEEN
        return WHOLLY if (groups == WHOLLY).any() and not (groups == SEEN).any() else PARTLY

    def _reached(self, sensors: npt.NDArray[np.int64], group: int) -> npt.NDArray[np.int64]:
        """Return the sensors that count as read: not those of a wholly unseen place if the rule reads a seen one."""
        return sensors if group == WHOLLY else sensors[self.groups[self.place_of[sensors]] != WHOLLY]

    def _mark_covered(self, applies: Bools, read: Sequence[npt.NDArray[np.int64]]) -> Bools:
        """Return places × frames: whether a rule applies in an embedding that reads the place."""
        out = np.zeros((len(self.groups), applies.shape[1]), bool)
        for e, sensors in enumerate(read):
            for place in set(self.place_of[sensors].tolist()):
                out[place] |= applies[e]
        return out

    def select_cover(self, candidates: RuleSet, frames: slice, limit: int, *, unseen: bool = False) -> RuleSet:
        """Select few rules that cover the place-frames, greedily and by tiers of confidence.

        Args:
            candidates: Rules to select from.
            frames: Frames to cover.
            limit: Maximum number of rules.
            unseen: Whether the place-frames of unseen places are to be covered too.
        """
        table = self.table.frames(frames)
        n_frames = max((block.n_frames for block in table.blocks), default=0)
        bits = len(candidates) * len(self.groups) * max(n_frames, 1)
        step = max(1, bits // 8 // MASK_BYTES)
        table = table.frames(slice(None, None, step))
        wanted = np.ones(len(self.groups), bool) if unseen else self.groups == SEEN
        masks = [
            np.packbits(self._mark_covered(rule_rows(rule, table)[0], self.sensors_read(rule))[wanted])
            for rule in candidates
        ]
        open_bits = np.packbits(self.present[wanted, frames][:, ::step])
        total = int(np.bitwise_count(open_bits).sum())
        confidence = candidates.measure("confidence")
        chosen: list[int] = []
        for low in TIERS:
            pool = [r for r in range(len(candidates)) if confidence[r] >= low and r not in set(chosen)]
            chosen += _greedy(pool, masks, open_bits, total, limit - len(chosen), confidence)
            if int(np.bitwise_count(open_bits).sum()) <= 0.001 * total or len(chosen) >= limit:
                break
        return candidates.take(np.array(chosen, np.int64))

    def measure(self, rules: RuleSet, frames: slice) -> tuple[GroupResult, GroupResult, GroupResult]:
        """Measure rules in each group of places; rules with features that the table does not have never apply.

        An application of a rule belongs to the group of what it reads: ``SEEN`` if it reads seen sensors only,
        ``WHOLLY`` if it reads a wholly unseen place and no seen sensor, otherwise ``PARTLY``. A wholly unseen place
        counts as covered only where a rule applies that reads no seen sensor.

        Args:
            rules: Rules to measure.
            frames: Frames to measure in.

        Returns:
            The result of each group, in the order of ``GROUPS``.
        """
        table = self.table.frames(frames)
        present = self.present[:, frames]
        covered = np.zeros_like(present)
        applications, correct = np.zeros(len(GROUPS), np.int64), np.zeros(len(GROUPS), np.int64)
        spoken = np.zeros(len(self.sensor), bool)
        for rule in select_applicable(rules, table):
            applies, holds = rule_rows(rule, table)
            read = self.sensors_read(rule)
            group = np.array([self._group_of(sensors) for sensors in read])
            np.add.at(applications, group, applies.sum(axis=1))
            np.add.at(correct, group, holds.sum(axis=1))
            read = [self._reached(sensors, g) for sensors, g in zip(read, group.tolist(), strict=True)]
            covered |= self._mark_covered(applies, read)
            for e in np.flatnonzero(applies.any(axis=1)).tolist():
                spoken[read[e]] = True

        def count(group: int) -> GroupResult:
            at = self.groups == group
            return GroupResult(
                places=int(at.sum()),
                place_frames=int(present[at].sum()),
                covered=int((covered & present)[at].sum()),
                applications=int(applications[group]),
                correct=int(correct[group]),
                sensors=int(at[self.place_of].sum()),
                sensors_read=int(spoken[at[self.place_of]].sum()),
            )

        return count(SEEN), count(PARTLY), count(WHOLLY)


def select_applicable(rules: RuleSet, table: TransactionTable) -> RuleSet:
    """Return the rules whose features are all in a table.

    Args:
        rules: Rules to select from.
        table: The table to apply them to.
    """
    known = {(str(block.pattern or ""), column.feature) for block in table.blocks for column in block.columns}
    return rules.filter(
        where=lambda rule: all((rule.pattern, item.feature) in known for item in (*rule.antecedent, rule.consequent))
    )


def _greedy(
    pool: list[int],
    masks: list[npt.NDArray[np.uint8]],
    open_bits: npt.NDArray[np.uint8],
    total: int,
    limit: int,
    confidence: npt.NDArray[np.float64],
) -> list[int]:
    """Lazy greedy cover: gains never grow, so only the rule with the largest known gain is counted again."""
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


def find_present(timed: Prepared) -> Bools:
    """Return places × frames: whether some sensor of the place has a value.

    Args:
        timed: The system in windows.
    """
    out = np.zeros((len(timed.places), len(timed.readings)), bool)
    number = {place: i for i, place in enumerate(timed.places)}
    for i, sensor in enumerate(timed.readings.numeric):
        if node := timed.node_of(sensor.id):
            out[number[node]] |= ~np.isnan(timed.readings.values[:, i])
    for name, (codes, _) in timed.readings.states.items():
        if node := timed.node_of(name):
            out[number[node]] |= codes >= 0
    return out


def select_frame_cover(candidates: RuleSet, table: TransactionTable, limit: int) -> RuleSet:
    """Select few rules that cover the frames of a table, for rules without places (existential ones).

    Args:
        candidates: Rules to select from.
        table: A table with one block.
        limit: Maximum number of rules.
    """
    listed = list(candidates)
    masks = [np.packbits(rule_rows(rule, table)[0][0]) for rule in listed]
    frames = table.blocks[0].n_frames
    open_bits = np.packbits(np.ones(frames, bool))
    confidence = candidates.measure("confidence")
    chosen: list[int] = []
    for low in TIERS:
        pool = [r for r in range(len(listed)) if confidence[r] >= low and r not in set(chosen)]
        chosen += _greedy(pool, masks, open_bits, frames, limit - len(chosen), confidence)
        if not open_bits.any() or len(chosen) >= limit:
            break
    return candidates.take(np.array(chosen, np.int64))


def measure_frames(rules: RuleSet, table: TransactionTable, present: Bools, sensors: int) -> GroupResult:
    """Measure rules without places: a rule that applies in a frame covers all places that have a value in it.

    Args:
        rules: Rules to measure; those with features that the table does not have never apply.
        table: The table to measure on, of the sensors of one group of places.
        present: These places × the frames of the table: whether a sensor of the place has a value.
        sensors: Number of these sensors.
    """
    covered = np.zeros(present.shape[1], bool)
    applications = correct = 0
    for rule in select_applicable(rules, table):
        applies, holds = rule_rows(rule, table)
        covered |= applies[0]
        applications += int(applies.sum())
        correct += int(holds.sum())
    return GroupResult(
        len(present), int(present.sum()), int(present[:, covered].sum()), applications, correct, sensors, None
    )


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


@dataclass(frozen=True)
class SiteGeneralisation:
    """Results of ``generalisation`` with ``by="site"``: one per site that was left out.

    Args:
        sites: The result of leaving out each site, by its name: its places are the wholly unseen ones.
    """

    sites: Mapping[str, Generalisation]

    def describe(self) -> dict[str, Any]:
        """Return the results as a dict that JSON can hold, without the rules."""
        return {"split": "site", "sites": {name: result.describe() for name, result in self.sites.items()}}

    def __str__(self) -> str:
        lines = [
            f"rules of {len(self.sites) - 1} site{'' if len(self.sites) == 2 else 's'}, measured on the site left out",
            f"{'site left out':<16}{'places':>7}{'frames':>8}{'mined':>9}{'kept':>5}"
            f"{'coverage':>10}{'conf.':>7}{'sensors':>9}{'others: coverage':>18}{'conf.':>7}",
        ]
        for name, result in self.sites.items():
            for found in result.modes.values():
                there, here = found.wholly_unseen, found.seen
                lines.append(
                    f"{name:<16}{there.places:>7,}{result.frames:>8,}{found.mined:>9,}{found.rules:>5,}"
                    f"{_format_share(there.coverage):>10}{_format_share(there.confidence):>7}"
                    f"{_format_share(there.sensor_share):>9}"
                    f"{_format_share(here.coverage):>18}{_format_share(here.confidence):>7}"
                )
        lines.append(
            "coverage: of the places × frames with a reading; sensors: share that the rules read; –: never applied"
        )
        return "\n".join(lines)


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


CHOICES = ("seen", "transductive")
_DEFAULTS = OTHER_DEFAULTS["evaluate.generalise"]
ENRICHED = ("none", "grounded", "existential", "lifted")


@overload
def generalise(system: System, *, by: Literal["place"] = ..., **settings: Any) -> Generalisation: ...


@overload
def generalise(system: System | Sequence[System], *, by: Literal["site"], **settings: Any) -> SiteGeneralisation: ...


def generalise(  # type: ignore[misc]  # the overloads leave the keywords to this signature
    system: System | Sequence[System],
    *,
    by: Literal["place", "site"] = "place",
    enrich: str | Sequence[str] | None = None,
    unseen: float = 0.3,
    split: str = "region",
    choose: str = "seen",
    seed: int = 0,
    windows: str = _DEFAULTS["windows"],
    bins: int = _DEFAULTS["bins"],
    kinds: Sequence[str] | None = None,
    train_share: float = 0.7,
    min_support: float = _DEFAULTS["min_support"],
    min_confidence: float = Exact.min_confidence,
    max_antecedents: int | None = Exact.max_antecedents,
    max_rules: int = 100,
    hops: int = _DEFAULTS["hops"],
    min_embeddings: int = EnrichConfig.min_embeddings,
    other: System | None = None,
    progress: Progress = silent,
) -> Generalisation | SiteGeneralisation:
    """Mine rules at some places and times and measure them at others.

    Rules are mined by ``th.Exact`` on the sensors of the seen nodes, in the first ``train_share`` of the time, and
    measured in the rest of the time on seen, partly unseen and wholly unseen nodes. A hidden node is wholly unseen if
    all nodes with sensors within ``hops`` edges of it are hidden too.

    Args:
        system: A system with a graph and a binding; one of several sites, or several systems, for ``by="site"``.
        by: Hide places of one system (``"place"``), or leave out one of several systems at a time (``"site"``). Sites
            have lifted rules only; ``unseen``, ``split``, ``seed`` and ``other`` are not used.
        enrich: Enrichments to measure, one or several; by default all that there are, and ``"lifted"`` for sites.
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
        >>> result = th.evaluate.generalise(th.datasets.load("toy"), enrich="none", unseen=0.4, min_support=0.05)
        >>> print(result.modes["none"].wholly_unseen.coverage)
        None
    """
    wanted = [enrich] if isinstance(enrich, str) else list(enrich or (ENRICHED if by == "place" else ("lifted",)))
    for mode in wanted:
        ENRICHMENTS.check(mode)
    for name, share in (("unseen", unseen), ("train_share", train_share)):
        if not 0 < share < 1:
            raise ConfigError(f"{name} must be between 0 and 1 (exclusive), got {share}")
    require_seed(seed)
    require_integer("max_rules", max_rules)
    require_integer("min_embeddings", min_embeddings)
    require_integer("hops", hops, least=0)
    if choose not in CHOICES:
        raise ConfigError(f"unknown choose '{choose}'", hint="use 'seen' or 'transductive'")
    settings = SplitSettings(
        Exact(min_support=min_support, min_confidence=min_confidence, max_antecedents=max_antecedents, on_limit="stop"),
        bins,
        max_rules,
        hops,
        min_embeddings,
        train_share,
        transductive=choose == "transductive",
    )
    whole = system if isinstance(system, System) else System.of_sites(system)
    if by == "site":
        _require_several(whole, wanted)
        return _leave_out_sites(whole.sites, settings, kinds, windows, choose, progress)
    if by != "place":
        raise ConfigError(f"unknown by '{by}'", hint="use 'place' or 'site'")
    whole.require_one_site("several systems are given", hint="pass by='site' to leave out one at a time")
    graph, _ = whole.require_graph()
    here = window_system(whole, kinds, windows)
    results = {}
    there = None if other is None else window_system(other, kinds, windows)
    hidden = set() if there else hide_places(list(here.places), graph, share=unseen, split=split, seed=seed, hops=hops)
    groups = classify_places(list(here.places), hidden, graph, hops)
    for done, mode in enumerate(wanted):
        progress("generalising", done, len(wanted), mode)
        if there is None:
            results[mode] = _measure_within(mode, here, groups, settings)
        else:
            results[mode] = measure_across(mode, here, there, settings)
    progress("generalising", len(wanted), len(wanted))
    measured = there or here
    cut = settings.split_frame(measured)
    wholly = {place for place, group in zip(here.places, groups.tolist(), strict=True) if group == WHOLLY}
    return Generalisation(
        results,
        "another system" if there else split,
        choose,
        there.places if there else tuple(sorted(hidden)),
        there.places if there else tuple(sorted(wholly)),
        tuple(sorted(set(here.places) - hidden)),
        str(measured.readings.times[cut].astype("datetime64[m]")) if cut < len(measured.readings) else "",
        len(measured.readings) - cut,
    )


def _measure_within(mode: str, timed: Prepared, groups: Groups, settings: SplitSettings) -> ModeResult:
    earlier, later = settings.split_time(timed)
    hidden = set(sensors_at(timed, groups != SEEN))
    seen = [sensor.id for sensor in timed.readings.sensors if sensor.id not in hidden]
    patterns: Any = "auto"
    if mode == "lifted":
        every = settings.find_patterns(timed)
        carriers = carriers_of(timed, patterns=every, sensors=seen)
        limit = EnrichConfig().max_embeddings
        known = [pattern for pattern in every if not carriers.lacking(pattern)]
        patterns = [pattern for pattern in known if len(find_places(pattern, carriers, limit)[0])]
    train = settings.table(timed, mode, patterns=patterns, sensors=seen)
    mined = settings.miner.mine(train.frames(earlier))
    candidates = choose_candidates(mined)
    if mode == "existential":
        selected = select_frame_cover(candidates, train.frames(earlier), settings.max_rules)
        present = find_present(timed)[:, later]

        def measure(group: int) -> GroupResult:
            sensors = sensors_at(timed, groups == group)
            if not sensors:
                return GroupResult(sensors_read=None)
            table = settings.table(timed, mode, bins=train.discretizer, sensors=sensors)
            return measure_frames(selected, table.frames(later), present[groups == group], len(sensors))

        return ModeResult(mode, len(mined), len(selected), measure(SEEN), measure(PARTLY), measure(WHOLLY), selected)
    applied = train
    if mode == "lifted" and len(candidates):
        used = [pattern for pattern, _ in candidates.patterns]
        applied = settings.table(timed, mode, bins=train.discretizer, patterns=used)
    places = PlaceEvaluator(applied, timed, groups)
    if settings.transductive:
        pool = select_applicable(candidates, applied)
        selected = places.select_cover(pool, earlier, settings.max_rules, unseen=True)
    else:
        selected = PlaceEvaluator(train, timed, groups).select_cover(candidates, earlier, settings.max_rules)
    return ModeResult(mode, len(mined), len(selected), *places.measure(selected, later), selected)


def _require_several(system: System, enrich: Sequence[str]) -> None:
    if len(system.sites) < 2:
        raise ConfigError("leaving out a site needs at least two", hint="pass several systems: generalise([a, b])")
    unfit = [mode for mode in enrich if mode != "lifted"]
    if unfit:
        raise ConfigError(
            f"rules with the enrichment '{unfit[0]}' are about one site and cannot be measured on another",
            hint="use enrich='lifted'",
        )


def _leave_out_sites(
    systems: Sequence[System],
    settings: SplitSettings,
    kinds: Sequence[str] | None,
    windows: str,
    choose: str,
    progress: Progress,
) -> SiteGeneralisation:
    """Leave out each system once: mine on the others together, and measure on the one left out."""
    out = {}
    # A pattern with one place in each of several sites is worth as much as one with several places in one.
    settings = replace(settings, min_embeddings=min(settings.min_embeddings, max(2, len(systems) - 1)))
    for done, left in enumerate(systems):
        progress("generalising", done, len(systems), left.name)
        others = [system for system in systems if system is not left]
        earlier, later = window_sites(others, kinds, windows, settings.train_share)
        there = window_system(left, kinds, windows)
        found = measure_left_out(earlier, later, there, settings)
        cut = settings.split_frame(there)
        times = there.readings.times
        out[left.name] = Generalisation(
            {"lifted": found},
            f"site '{left.name}' left out",
            choose,
            there.places,
            there.places,
            earlier.places,
            str(times[cut].astype("datetime64[m]")) if cut < len(times) else "",
            len(times) - cut,
        )
    progress("generalising", len(systems), len(systems))
    return SiteGeneralisation(out)
