"""Where rules apply and hold, by place and frame, and a greedy selection of few rules that apply almost everywhere.

The selection reads antecedents only; consequents are read when the selected rules are measured.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from thence.lab.evaluate.generalisation.hiding import GROUPS, PARTLY, SEEN, WHOLLY
from thence.lab.evaluate.generalisation.split import carriers_of
from thence.language.items import Aspect, Feature, Role
from thence.runs.preparation import Prepared
from thence.statements.counting.recount import rule_rows
from thence.statements.rules.ruleset import Rule, RuleSet
from thence.tables.blocks import Block
from thence.tables.transactions import TransactionTable

__all__ = [
    "TIERS",
    "GroupResult",
    "PlaceEvaluator",
    "find_present",
    "measure_frames",
    "select_applicable",
    "select_frame_cover",
]

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
