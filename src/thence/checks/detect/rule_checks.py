"""Mined rules as evidence: where they are violated in each frame, and a violated one in words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from thence._base.progress import Progress
from thence.checks.detect.evidence import Broken, EvidenceTally, EvidenceTarget, readings_at, take_frames, tell_change
from thence.checks.detect.paths import path_between
from thence.data.graph.system import System
from thence.data.readings.windows import WindowedReadings
from thence.language.items import Feature, Interval, Item, Role
from thence.runs.configuration import Config
from thence.runs.pipeline import mine_rules
from thence.runs.preparation import Prepared
from thence.search.base import BaseMiner
from thence.statements.counting.by_place import name_places
from thence.statements.counting.encoding import encode_blocks, find_countable
from thence.statements.counting.recount import count_rules
from thence.statements.counting.states import find_states, violations_per_frame
from thence.statements.rules.measures import Counts
from thence.statements.rules.ruleset import Rule, RuleSet
from thence.tables.blocks import Block
from thence.tables.discretization import Binning, Discretizer
from thence.tables.transactions import TransactionTable

_TRIED = 20_000  # rules that are counted on held-out time
_LEAST_ROWS = 20


@dataclass(frozen=True, eq=False)
class RuleChecks:
    """Rules with what they did in held-out normal time.

    Args:
        rules: The rules; their counts are those of held-out normal time.
        bins: The bins that they were mined with.
        config: The configuration of the tables that they can be counted on.
    """

    rules: RuleSet
    bins: Discretizer
    config: Config
    _tables: WeakKeyDictionary[WindowedReadings, TransactionTable] = field(
        default_factory=WeakKeyDictionary, init=False, repr=False
    )

    @staticmethod
    def fit(
        readings: WindowedReadings, system: System, config: Config, miner: BaseMiner, *, progress: Progress
    ) -> RuleChecks:
        """Mine rules in normal readings.

        Args:
            readings: The readings.
            system: The system that they belong to.
            config: The configuration, with every default written out.
            miner: The miner.
            progress: Callback that reports progress.
        """
        table = Prepared(system, config, readings).table
        rules, _ = mine_rules(miner, table, system, progress=progress)
        if len(rules) > _TRIED:
            rules = rules.top(_TRIED, by=["zhang", "support"])
        if config.enrich.mode == "lifted":
            patterns = tuple(dict.fromkeys(text for text, _ in rules.patterns))
            config = replace(config, enrich=replace(config.enrich, patterns=patterns or "auto"))
        return RuleChecks(rules, table.discretizer, config)

    def _table(self, readings: WindowedReadings, system: System) -> TransactionTable:
        return Prepared(system, self.config, readings, self.bins, same_system=True).table

    def judged(
        self, readings: WindowedReadings, system: System, *, most: float, per_feature: int, max_rules: int
    ) -> RuleChecks:
        """Return the rules that held-out normal readings violate least, with their counts there.

        Args:
            readings: The held-out readings.
            system: The system that they belong to.
            most: Greatest share of violated rows.
            per_feature: Most rules with the same feature as consequent.
            max_rules: Most rules in all.
        """
        if not len(self.rules):
            return self
        table = self._table(readings, system)
        known, _ = find_countable(self.rules, table)
        counted = count_rules(self.rules.take(np.flatnonzero(known)), table)
        rows = np.asarray(counted.counts.n_antecedent)
        violated = rows - np.asarray(counted.counts.n_both)
        weights = _weights(rows, violated)
        good = np.flatnonzero((rows >= _LEAST_ROWS) & (violated <= most * rows))
        order = good[np.lexsort((-rows[good], -weights[good].round(1)))]
        taken: dict[tuple[str, Feature], int] = {}
        kept = []
        for number in order.tolist():
            rule = counted.rule(number)
            key = rule.pattern, rule.consequent.feature
            taken[key] = taken.get(key, 0) + 1
            if taken[key] <= per_feature:
                kept.append(number)
            if len(kept) == max_rules:
                break
        return replace(self, rules=counted.take(np.array(kept, np.int64)))

    @property
    def weights(self) -> npt.NDArray[np.float64]:
        """How surprising a violation of each rule is: minus the logarithm of its rate in held-out normal time."""
        rows = np.asarray(self.rules.counts.n_antecedent)
        return _weights(rows, rows - np.asarray(self.rules.counts.n_both))

    def tally(self, readings: WindowedReadings, system: System) -> EvidenceTally:
        """Return the evidence of all frames, by what the rules conclude about.

        Args:
            readings: The readings.
            system: The system that they belong to.
        """
        empty = np.zeros((0, len(readings)))
        if not len(self.rules):
            return EvidenceTally((), empty, empty)
        table = self._table(readings, system)
        rules, weights = self._countable(table)
        number_of: dict[EvidenceTarget, int] = {}
        parts: list[tuple[npt.NDArray[Any], npt.NDArray[Any], list[int]]] = []
        for part in encode_blocks(rules, table):
            assert part.block is not None
            concluded = [rules.items[item].feature for item in rules.consequents[part.rules].tolist()]
            features = list(dict.fromkeys(concluded))
            targets = [_targets(feature, part.block, system) for feature in features]
            local: dict[EvidenceTarget, int] = {}
            matrix = np.array([[local.setdefault(one, len(local)) for one in row] for row in targets], np.int32)
            applicable, violated = violations_per_frame(
                part.bank,
                antecedents=part.antecedents,
                consequents=part.consequents,
                slots=np.array([features.index(one) for one in concluded], np.int32),
                targets=matrix,
                n_targets=len(local),
                weights=weights[part.rules],
            )
            rows = [number_of.setdefault(one, len(number_of)) for one in local]
            parts.append((applicable, violated, rows))
        total, broken = (np.zeros((len(number_of), len(readings))) for _ in range(2))
        for applicable, violated, rows in parts:
            total[rows] += applicable
            broken[rows] += violated
        return EvidenceTally(tuple(number_of), total, broken)

    def _countable(self, table: TransactionTable) -> tuple[RuleSet, npt.NDArray[np.float64]]:
        known = np.flatnonzero(find_countable(self.rules, table)[0])
        return self.rules.take(known), self.weights[known]

    def broken_at(self, readings: WindowedReadings, system: System, frame: int) -> list[Broken]:
        """Return the rules that are violated in a frame, in words.

        Args:
            readings: The readings.
            system: The system that they belong to.
            frame: The number of the frame.
        """
        if not len(self.rules):
            return []
        one = take_frames(readings, np.array([frame]))
        # Columns that are the same in all frames are one column, so a table of one frame does not have all of them.
        if readings not in self._tables:
            self._tables[readings] = self._table(readings, system)
        table = self._tables[readings].frames(slice(frame, frame + 1))
        rules, _ = self._countable(table)
        out = []
        for part in encode_blocks(rules, table):
            assert part.block is not None
            for at, number in enumerate(part.rules.tolist()):
                states = find_states(part.bank, antecedent=part.antecedents[at], consequent=int(part.consequents[at]))
                violated = states.violated[:, 0] & np.uint64(1)
                out += [
                    self._broken(rules, number, part.block, embedding, one, system)
                    for embedding in np.flatnonzero(violated).tolist()
                ]
        return out

    def _broken(
        self, rules: RuleSet, number: int, block: Block, embedding: int, one: WindowedReadings, system: System
    ) -> Broken:
        rule = rules.rule(number)
        rows, both = int(rules.counts.n_antecedent[number]), int(rules.counts.n_both[number])
        target = _targets(rule.consequent.feature, block, system)[embedding]
        items = (*rule.antecedent, rule.consequent)
        sensors = [id for item in items for id in _sensors(item.feature, block, embedding, one, system)]
        nodes = [node for node in (_node_of(id, system) for id in sensors) if node]
        place = name_places(block, [embedding])[0] if block.is_lifted else target.node or target.subject
        path = path_between(system.graph, nodes[0], nodes[-1]) if len(nodes) > 1 else tuple(nodes)
        return Broken(
            "rule",
            rule.english,
            place,
            readings_at(one, 0, sensors),
            self._change(rule.consequent, sensors[-1] if sensors else "", block, one),
            rows,
            rows - both,
            path,
            target,
        )

    def _change(self, item: Item, sensor: str, block: Block, one: WindowedReadings) -> str:
        """What the reading of the consequent would have to be, if it is a number with bins or ranks of its own."""
        column = {numeric.id: at for at, numeric in enumerate(one.numeric)}
        if sensor not in column or item.feature.name or item.feature.reads:
            return ""
        kind = one.numeric[column[sensor]]
        binning = self.bins.binnings.get(self.bins.group(kind=kind.kind, sensor=sensor))
        values = next(c for c in block.columns if c.feature == item.feature)
        value = float(one.values[0, column[sensor]])
        if binning is None or binning.categories is not None or math.isnan(value):
            return ""
        n_bins = len(binning.bin_edges) + 1
        # The codes after those of the ranks are values of their own, named by the value.
        if values.n_codes < n_bins or any(isinstance(one, Interval) for one in values.values[n_bins:]):
            return ""
        gaps = [_gap(value, binning, code) for code in values.codes_of(item) if code < n_bins]
        needed = min((gap for gap in gaps if gap), key=abs, default=0.0)
        return tell_change(sensor, needed, kind.unit) if needed else ""

    def to_dict(self) -> dict[str, Any]:
        """Return rules, counts and bins, ready for JSON."""
        counts = self.rules.counts
        return {
            "rules": [rule.to_dict() for rule in self.rules],
            "counts": [
                np.asarray(column).tolist()
                for column in (counts.n, counts.n_antecedent, counts.n_consequent, counts.n_both)
            ],
            "bins": self.bins.to_dict(),
            "config": self.config.to_mapping(),
        }

    @staticmethod
    def from_dict(record: Mapping[str, Any]) -> RuleChecks:
        """Return the rules of ``to_dict``.

        Args:
            record: The fields.
        """
        counts = Counts(*(np.array(column, np.int64) for column in record["counts"]))
        listed = [Rule.from_dict(one) for one in record["rules"]]
        if len(listed) != len(counts):
            raise ValueError(f"{len(listed)} rules have the counts of {len(counts)}")
        rules = RuleSet.from_rules(listed, counts)
        return RuleChecks(rules, Discretizer.from_dict(record["bins"]), Config.from_mapping(record["config"]))


def _weights(rows: npt.NDArray[Any], violated: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    return np.asarray(-np.log((violated + 0.5) / (rows + 1.0)), np.float64)


def _gap(value: float, binning: Binning, code: int) -> float:
    """How far a number is from a bin or rank: positive if it would have to be higher; 0 if it cannot be said.

    Next to a rank may lie a frequent value, which has no rank.
    """
    low, high = binning.range_of(code) or (-math.inf, math.inf)
    if low <= value < high:
        return 0.0
    end, nearest = (low, low) if value < low else (high, math.nextafter(high, -math.inf))
    return end - value if binning.encode(np.array([nearest]))[0] == code else 0.0


def _node_of(sensor: str, system: System) -> str:
    return "" if system.binding is None else str(system.binding.get(sensor, ""))


def _targets(feature: Feature, block: Block, system: System) -> list[EvidenceTarget]:
    """What a feature is about in each embedding."""
    if block.pattern is None or feature.role is not Role.VARIABLE:
        node = _node_of(feature.subject, system) or feature.place
        return [EvidenceTarget("rule", str(feature.subject or feature), node)] * block.n_embeddings
    at = _position(feature.subject, block)
    names = [names[at] for names in block.embeddings]
    label = f"{feature.label} of " if feature.label and at < len(block.pattern.nodes) else ""
    return [EvidenceTarget("rule", f"{label}{name}", _node_of(name, system) or name) for name in names]


def _position(variable: str, block: Block) -> int:
    assert block.pattern is not None
    names = [*(node.name for node in block.pattern.nodes), *(sensor.name for sensor in block.pattern.sensors)]
    return names.index(variable) if variable in names else 0


def _sensors(feature: Feature, block: Block, embedding: int, one: WindowedReadings, system: System) -> Sequence[str]:
    """The sensors that a feature reads in an embedding, as far as they can be named."""
    known = {sensor.id: sensor.kind for sensor in one.sensors}
    if block.pattern is None or feature.role is not Role.VARIABLE:
        return [feature.subject] if feature.subject in known else []
    name = block.embeddings[embedding][_position(feature.subject, block)]
    if name in known:
        return [name]
    at_node = () if system.binding is None else system.binding.sensors_at(name)
    return [id for id in at_node if id in known and (not feature.label or known[id] == feature.label)]
