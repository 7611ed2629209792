"""Where rules apply and hold, by place and frame, and a greedy selection of few rules that apply almost everywhere.

The selection reads antecedents only; consequents are read when the selected rules are measured.
"""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np
import numpy.typing as npt

from thence.counting.recount import rule_rows
from thence.evaluate.generalisation.split import TimedSystem
from thence.graph.discovery import Carriers
from thence.graph.matching import GraphIndex, find_role_members
from thence.rules.items import Role
from thence.rules.ruleset import Rule, RuleSet
from thence.tables.blocks import Block
from thence.tables.transactions import TransactionTable

__all__ = ["TIERS", "PlaceEvaluator", "measure_frames", "select_frame_cover"]

Bools = npt.NDArray[np.bool_]

TIERS = (0.99, 0.95, 0.9, 0.8, 0.5, 0.0)
"""Rules are selected by tiers of confidence: a rule of a lower tier only where no rule of a higher one applies."""
MASK_BYTES = 1 << 29


class PlaceEvaluator:
    """Selects and measures rules of a table by place-frames.

    Args:
        table: The table to apply rules to.
        timed: The system of the table.
        hidden: Ids of the unseen places.
    """

    def __init__(self, table: TransactionTable, timed: TimedSystem, hidden: set[str]) -> None:
        self.table = table
        self.number = {place: i for i, place in enumerate(timed.places)}
        self.hidden = np.array([place in hidden for place in timed.places], bool)
        self.index = GraphIndex(timed.graph, timed.system.ontology)
        # Roles aggregate numeric sensors only.
        kinds = {sensor.id: sensor.kind for sensor in timed.readings.numeric}
        self.carriers = Carriers.of(self.index, kinds, dict(timed.binding))
        self.present = _find_present(timed)
        self._reads: dict[tuple[str, str], list[tuple[int, ...]]] = {}

    def places_read(self, rule: Rule) -> list[tuple[int, ...]]:
        """Return, for each embedding, the numbers of the places whose readings ``rule`` uses."""
        block = self._find_block(rule)
        parts = [self._places_of(block, item.feature) for item in (*rule.antecedent, rule.consequent)]
        return [tuple(sorted(set().union(*(part[e] for part in parts)))) for e in range(block.n_embeddings)]

    def _find_block(self, rule: Rule) -> Block:
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
                    origin, members = find_role_members(role.steps, focus, self.index)
                    for e, node in zip(origin.tolist(), members.tolist(), strict=True):
                        if node in self.carriers.sensors[role.kind]:
                            out[e].add(self.number[self.index.ids[node]])
            return [tuple(sorted(found)) for found in out]
        at = [v.name for v in block.pattern.nodes].index(feature.place)
        return [(self.number[names[at]],) if names[at] in self.number else () for names in block.embeddings]

    def mark_covered(self, table: TransactionTable, rule: Rule, places: list[tuple[int, ...]]) -> Bools:
        """Return places × frames: whether the antecedent of ``rule`` holds in an embedding that reads the place."""
        antecedent, _ = rule_rows(rule, table)
        out = np.zeros((len(self.number), antecedent.shape[1]), bool)
        for e, read in enumerate(places):
            for place in read:
                out[place] |= antecedent[e]
        return out

    def select_cover(self, candidates: RuleSet, frames: slice, limit: int) -> RuleSet:
        """Select few rules that cover the place-frames, greedily and by tiers of confidence.

        Args:
            candidates: Rules to select from.
            frames: Frames to cover.
            limit: Maximum number of rules.
        """
        table = self.table.frames(frames)
        n_frames = max((block.n_frames for block in table.blocks), default=0)
        bits = len(candidates) * len(self.number) * max(n_frames, 1)
        step = max(1, bits // 8 // MASK_BYTES)
        table = table.frames(slice(None, None, step))
        confidence = candidates.measure("confidence")
        listed = list(candidates)
        reads = [self.places_read(rule) for rule in listed]
        masks = [np.packbits(self.mark_covered(table, rule, read)) for rule, read in zip(listed, reads, strict=True)]
        open_bits = np.packbits(self.present[:, frames][:, ::step])
        total = int(np.bitwise_count(open_bits).sum())
        chosen: list[int] = []
        for low in TIERS:
            pool = [r for r in range(len(listed)) if confidence[r] >= low and r not in set(chosen)]
            chosen += _greedy(pool, masks, open_bits, total, limit - len(chosen), confidence)
            if int(np.bitwise_count(open_bits).sum()) <= 0.001 * total or len(chosen) >= limit:
                break
        return candidates.take(np.array(chosen, np.int64))

    def measure(self, rules: RuleSet, frames: slice) -> tuple[float, float | None, float, float | None]:
        """Measure rules on seen and unseen places.

        Args:
            rules: Rules to measure.
            frames: Frames to measure in.

        Returns:
            Coverage and confidence on seen places, then coverage and confidence on unseen places. A confidence is
            ``None`` if no rule applies.
        """
        table = self.table.frames(frames)
        n_frames = max((block.n_frames for block in table.blocks), default=0)
        covered = np.zeros((len(self.number), n_frames), bool)
        held, right = np.zeros(2, np.int64), np.zeros(2, np.int64)
        for rule in rules:
            places = self.places_read(rule)
            covered |= self.mark_covered(table, rule, places)
            antecedent, both = rule_rows(rule, table)
            unseen = np.array([bool(self.hidden[list(read)].any()) if read else False for read in places])
            for side in (0, 1):
                held[side] += int(antecedent[unseen == bool(side)].sum())
                right[side] += int(both[unseen == bool(side)].sum())
        present = self.present[:, frames]
        share = [_share(covered[self.hidden == bool(side)], present[self.hidden == bool(side)]) for side in (0, 1)]
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


def _find_present(timed: TimedSystem) -> Bools:
    """Return places × frames: whether some sensor of the place has a value."""
    out = np.zeros((len(timed.places), len(timed.readings)), bool)
    number = {place: i for i, place in enumerate(timed.places)}
    for i, sensor in enumerate(timed.readings.numeric):
        if sensor.id in timed.binding:
            out[number[timed.binding[sensor.id]]] |= ~np.isnan(timed.readings.values[:, i])
    for name, (codes, _) in timed.readings.states.items():
        if name in timed.binding:
            out[number[timed.binding[name]]] |= codes >= 0
    return out


def _share(covered: Bools, present: Bools) -> float:
    return float((covered & present).sum() / present.sum()) if present.any() else 0.0


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


def measure_frames(rules: RuleSet, table: TransactionTable) -> tuple[float, float | None]:
    """Measure rules over the frames of a table; rules with features that the table does not have never apply.

    Args:
        rules: Rules to measure.
        table: The table to measure on.

    Returns:
        Coverage and confidence; the confidence is ``None`` if no rule applies.
    """
    features = set(table.features)
    frames = table.blocks[0].n_frames if table.blocks else 0
    covered = np.zeros(frames, bool)
    held = right = 0
    for rule in rules:
        if all(item.feature in features for item in (*rule.antecedent, rule.consequent)):
            applies, holds = rule_rows(rule, table)
            covered |= applies[0]
            held += int(applies.sum())
            right += int(holds.sum())
    return (float(covered.mean()) if frames else 0.0), (right / held if held else None)
