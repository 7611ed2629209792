"""Rules of TS-NARM: as the search finds them, with one or several consequents, and split into one consequent each.

Counts are exact. Items are written out only when a rule set is asked for, which for tens of thousands of different
ranges takes longer than to count them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from thence.lab.baselines.narm_fitness import (
    DecodedRule,
    Encoding,
    Flags,
    Floats,
    Ints,
    count_consequent,
    cover_as_released,
)
from thence.language.items import Interval, Item, Value
from thence.statements.counting.recount import data_coverage
from thence.statements.rules.measures import MEASURES, Counts
from thence.statements.rules.ruleset import Ending, RuleSet
from thence.tables.bitmaps.bits import popcount
from thence.tables.bitmaps.ranges import Ranges, count_ranges, cover_ranges
from thence.tables.cuts import shorten_cut
from thence.tables.transactions import FeatureTable

__all__ = ["SplitRules", "WholeRules"]


@dataclass(frozen=True, eq=False)
class WholeRules:
    """The rules of a search as they were found: a consequent may have several items.

    Args:
        table: The table that was searched.
        chosen: The features of the table that were searched.
        categories: The categories of these features; ``None`` for a numeric one.
        encoding: The searched columns in ranks.
        rules: Distinct rules in the order of discovery, each of which holds in at least one row.
        n_antecedent: The rows in which the antecedent of each rule holds and its consequent is present.
        n_both: The rows in which each rule holds.
        notes: What is to be said about the search.
        ending: How the search ended.
    """

    table: FeatureTable
    chosen: Ints
    categories: tuple[tuple[Value, ...] | None, ...]
    encoding: Encoding
    rules: tuple[DecodedRule, ...]
    n_antecedent: Ints
    n_both: Ints
    notes: tuple[str, ...] = ()
    ending: Ending = Ending.COMPLETE

    def __len__(self) -> int:
        return len(self.rules)

    @property
    def n_consequents(self) -> Ints:
        """The number of items in the consequent of each rule."""
        return np.array([len(rule.features) - rule.n_antecedent for rule in self.rules], np.int64)

    @cached_property
    def counts(self) -> Counts:
        """The counts of the rules, each over the rows in which all its features are present."""
        pairs = np.array([count_consequent(self.encoding, rule) for rule in self.rules], np.int64).reshape(-1, 2)
        return Counts(pairs[:, 0], self.n_antecedent, pairs[:, 1], self.n_both, n_rows=np.asarray(self.table.n_rows))

    def measure(self, name: str) -> Floats:
        """Return a measure of each rule with all its consequents.

        Args:
            name: The name of a measure, such as ``"zhang"``.
        """
        return MEASURES[name](self.counts)

    @property
    def data_coverage(self) -> float:
        """The share of rows in which at least one antecedent holds."""
        return self.split().data_coverage

    @property
    def released_coverage(self) -> float:
        """Data coverage as the released code of the paper computes it (see ``cover_as_released``), over n + 1 rows."""
        return cover_as_released(self.encoding, self.rules) / (self.table.n_rows + 1)

    def has_static(self, static: Flags) -> Flags:
        """Return which rules have a static feature in their consequent.

        Args:
            static: Whether each feature of the table is static.
        """
        marks = np.asarray(static, bool)[self.chosen]
        return np.array([marks[rule.features[rule.n_antecedent :]].any() for rule in self.rules], bool)

    def split(self, *, single: bool = False) -> SplitRules:
        """Return the rules with one consequent each: p → q ∧ r becomes p → q and p → r.

        Args:
            single: Leave out rules with several consequents instead of splitting them.
        """
        kept = np.flatnonzero(self.n_consequents == 1) if single else np.arange(len(self.rules))
        return SplitRules.of(self, kept)


@dataclass(frozen=True, eq=False)
class SplitRules:
    """Rules with one consequent over distinct ranges; ranges with the same values keep the bounds found first.

    Args:
        whole: The rules that were split.
        ranges: The distinct ranges.
        low: Lower bounds of the ranges, or codes of categories.
        high: Upper bounds of the ranges, or codes of categories.
        antecedents: Matrix (rules × items) of positions in ``ranges``, padded with −1.
        consequents: One position in ``ranges`` per rule.
        joint_confidence: The confidence of the rule with all its consequents that each rule comes from.
    """

    whole: WholeRules
    ranges: Ranges
    low: Floats
    high: Floats
    antecedents: npt.NDArray[np.int32]
    consequents: npt.NDArray[np.int32]
    joint_confidence: Floats

    @staticmethod
    def of(whole: WholeRules, kept: npt.NDArray[np.int64]) -> SplitRules:
        """Split the consequents of some rules, number the ranges and drop duplicates, in the order of discovery."""
        rules = [whole.rules[r] for r in kept]
        if not rules:
            none, nowhere, nothing = np.zeros(0, np.int64), np.zeros(0), np.zeros((0, 1), np.int32)
            return SplitRules(whole, Ranges(none, none, none), nowhere, nowhere, nothing, nothing[:, 0], nowhere)
        confidences = whole.n_both[kept] / whole.n_antecedent[kept]
        lengths = np.array([len(rule.features) for rule in rules])
        cuts = np.array([rule.n_antecedent for rule in rules])
        keys = np.stack([np.concatenate([getattr(r, field) for r in rules]) for field in ("features", "first", "last")])
        _, first_met, numbers = np.unique(keys, axis=1, return_index=True, return_inverse=True)
        low, high = (np.concatenate([getattr(r, field) for r in rules])[first_met] for field in ("low", "high"))
        distinct = keys[:, first_met]
        starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
        antecedents = np.full((len(rules), int(cuts.max())), -1, np.int32)
        for r, (start, cut) in enumerate(zip(starts, cuts, strict=True)):
            antecedents[r, :cut] = np.sort(numbers[start : start + cut])
        owner = np.repeat(np.arange(len(rules)), lengths - cuts)
        inside = np.arange(len(numbers)) - np.repeat(starts, lengths)
        consequents = numbers[inside >= np.repeat(cuts, lengths)].astype(np.int32)
        joined = np.concatenate([antecedents[owner], consequents[:, None]], axis=1)
        first = np.sort(np.unique(joined, axis=0, return_index=True)[1])
        return SplitRules(
            whole,
            Ranges(distinct[0], distinct[1], distinct[2]),
            low,
            high,
            joined[first, :-1],
            joined[first, -1],
            confidences[owner[first]],
        )

    def __len__(self) -> int:
        return len(self.consequents)

    def take(self, rows: npt.NDArray[np.int64]) -> SplitRules:
        """Return some of the rules.

        Args:
            rows: Their positions.
        """
        return SplitRules(
            self.whole,
            self.ranges,
            self.low,
            self.high,
            self.antecedents[rows],
            self.consequents[rows],
            self.joint_confidence[rows],
        )

    @cached_property
    def counts(self) -> Counts:
        """The counts of the rules, each over the rows in which all its features are present."""
        counted = count_ranges(self.whole.encoding.ranks, self.ranges, self.antecedents, self.consequents)
        return Counts(*counted, n_rows=np.asarray(self.whole.table.n_rows))

    def measure(self, name: str) -> Floats:
        """Return a measure of each rule.

        Args:
            name: The name of a measure, such as ``"zhang"``, or ``"joint_confidence"``.
        """
        return self.joint_confidence if name == "joint_confidence" else MEASURES[name](self.counts)

    @property
    def data_coverage(self) -> float:
        """The share of rows in which at least one antecedent holds."""
        if not len(self):
            return 0.0
        held = cover_ranges(self.whole.encoding.ranks, self.ranges, self.antecedents)
        return int(popcount(held)) / self.whole.table.n_rows

    def is_static(self, static: Flags) -> Flags:
        """Return which rules have a static consequent.

        Args:
            static: Whether each feature of the table is static.
        """
        return np.asarray(static, bool)[self.whole.chosen[self.ranges.columns[self.consequents]]]

    def to_rule_set(self) -> RuleSet:
        """Return the rules with their items written out."""
        whole, table = self.whole, self.whole.table
        ranks = whole.encoding.ranks
        items = tuple(
            _item(whole, int(column), ranks.levels_of(int(column)), float(low), float(high))
            for column, low, high in zip(self.ranges.columns, self.low, self.high, strict=True)
        )
        return RuleSet(
            items,
            self.antecedents,
            self.consequents,
            self.counts,
            extras={"joint_confidence": self.joint_confidence},
            facts={"n_transactions": table.n_rows, "n_features": len(table.features), "n_items": None},
            notes=whole.notes,
            coverage_of=_Coverage(table, items, whole.encoding, self.ranges),
            ending=whole.ending,
        )


def _item(whole: WholeRules, column: int, levels: Floats, low: float, high: float) -> Item:
    """Return the item for a closed range; ``levels`` are the values of the feature in increasing order."""
    feature, known = whole.table.features[int(whole.chosen[column])], whole.categories[column]
    if known is not None:
        return Item.is_(feature, known[int(low)])
    after = math.nextafter(high, math.inf)
    # The range has values, so at least one lies at or above its low end, and one below its high end.
    starts, ends = np.searchsorted(levels, [low, after]).tolist()
    # Beyond the outer values there is room for as much as lies between them and their neighbours.
    below = float(levels[starts - 1]) if starts else low - float(np.diff(levels[:2]).sum())
    above = float(levels[ends]) if ends < len(levels) else after + float(np.diff(levels[-2:]).sum())
    short = shorten_cut(low, below, float(levels[starts])), shorten_cut(after, float(levels[ends - 1]), above)
    return Item.among(feature, Interval(*short))


@dataclass(frozen=True, eq=False)
class _Coverage:
    """Computes the data coverage of the rules of this search, or a selection of them, from the ranks."""

    table: FeatureTable
    items: tuple[Item, ...]
    encoding: Encoding
    ranges: Ranges

    def __call__(self, rules: RuleSet) -> float:
        if rules.items is self.items:
            held = cover_ranges(self.encoding.ranks, self.ranges, rules.antecedents)
            return int(popcount(held)) / self.table.n_rows
        return data_coverage(rules, self.table)
