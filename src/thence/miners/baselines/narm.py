"""TS-NARM: numerical association rules without bins, found by an optimiser (Fister et al. 2023).

The optimisers are NiaPy's, the encoding of rules is NiaARM's, and the fitness is compiled code of our own. The miner
reads the raw ``FeatureTable``, and its rules have real-valued ranges. A closed range [low, high] of the encoding is
written half-open, with the shortest decimal numbers that contain the same values.

Consequents of NiaARM may have several items, a rule here has one: see ``TSNARM.consequents``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from thence.bitmaps.bits import popcount
from thence.bitmaps.ranges import Ranges, Ranks, count_ranges, cover_ranges
from thence.counting.recount import data_coverage
from thence.errors import ConfigError, MiningError, require
from thence.miners.base import BaseMiner
from thence.miners.baselines.narm_fitness import DecodedRule, encode
from thence.progress import Progress, silent
from thence.rules.constraints import Constraint, Where, list_alternatives
from thence.rules.items import Feature, Interval, Item
from thence.rules.measures import Counts
from thence.rules.ruleset import Ending, RuleSet
from thence.tables.cuts import shorten_cut
from thence.tables.transactions import FeatureTable

__all__ = ["TSNARM"]

ALGORITHMS = ("de", "ga", "pso", "lshade", "jde")


@dataclass(frozen=True, kw_only=True)
class TSNARM(BaseMiner):
    """Mine numerical association rules by maximising their confidence with an optimiser (Fister et al. 2023).

    Every rule that the search encounters and that holds in at least one row is kept once. The miner reads a raw
    ``FeatureTable``. Needs NiaPy (``pip install 'thence[baselines]'``).

    Args:
        algorithm: The optimiser: ``"de"``, ``"ga"``, ``"pso"``, ``"lshade"`` or ``"jde"``, with the parameters of the
            published comparison.
        population: The size of the optimiser's population, at least 5.
        evaluations: The number of rules to evaluate.
        consequents: ``"split"`` turns p → q ∧ r into p → q and p → r, each at least as confident as the whole;
            ``"single"`` keeps only the rules whose consequent has one item. The confidence of the whole, which the
            search maximises, is in the column ``joint_confidence``.
        antecedent: Which features may be in an antecedent. Constraints on values are refused, since the search chooses
            the ranges itself.
        consequent: Which features may be a consequent. Constraints on values are refused.
        context_consequents: Whether constants and graph context may be consequents.
        time_limit: The search ends after this many seconds. Its result may then not be reproducible.
        seed: Random seed.

    Raises:
        ConfigError: If a setting has an impossible value.

    Examples:
        >>> import polars as pl
        >>> from thence.tables.frames import raw_columns
        >>> flow = [float(i % 24) for i in range(240)]
        >>> table = FeatureTable(*raw_columns(pl.DataFrame({"flow": flow, "double": [2 * x for x in flow]}), units={}))
        >>> miner = TSNARM(population=20, evaluations=400, seed=1)
        >>> list(miner.mine(table)) == list(miner.mine(table))
        True
    """

    name: ClassVar[str] = "ts-narm"
    wants: ClassVar[str] = "numbers"
    columns: ClassVar[tuple[str, ...]] = ("joint_confidence",)
    order_free: ClassVar[bool] = True

    algorithm: Literal["de", "ga", "pso", "lshade", "jde"] = "de"
    population: int = 200
    evaluations: int = 50_000
    consequents: Literal["split", "single"] = "split"
    antecedent: Constraint = None
    consequent: Constraint = None
    context_consequents: bool = False
    time_limit: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.algorithm not in ALGORITHMS:
            raise ConfigError(f"unknown optimiser '{self.algorithm}'", hint="known: " + ", ".join(ALGORITHMS))
        if self.consequents not in ("split", "single"):
            raise ConfigError(f"consequents must be 'split' or 'single', got '{self.consequents}'")
        if self.population < 5:
            raise ConfigError(f"population must be at least 5, got {self.population}")
        if self.evaluations < 1:
            raise ConfigError(f"evaluations must be at least 1, got {self.evaluations}")
        if self.time_limit is not None and self.time_limit <= 0:
            raise ConfigError(f"time_limit must be positive, got {self.time_limit}")

    @property
    def label(self) -> str:
        """The name of the method in tables of results."""
        return {"jde": "jDE"}.get(self.algorithm, self.algorithm.upper())

    def mine(self, table: FeatureTable, *, progress: Progress = silent) -> RuleSet:
        """Return the rules that the search finds in a raw table, in the order of discovery, with exact counts.

        Args:
            table: A raw table.
            progress: Called as the search advances.

        Raises:
            MissingExtraError: If NiaPy is not installed.
            MiningError: If the table is of another kind, or a constraint names a value.
        """
        if not isinstance(table, FeatureTable):
            raise MiningError(
                f"{self.name} finds ranges itself and reads raw numbers, not a {type(table).__name__}",
                hint="pass th.feature_table(…)",
            )
        left, right = self._sides(table)
        chosen = _usable(table, left | right)
        if len(chosen) < 2 or not (left[chosen].any() and right[chosen].any()):
            return RuleSet.empty("a rule needs two features with values, one of which may be a consequent")
        require("niapy", extra="baselines")
        from thence.miners.baselines import narm_search as _narm_search

        encoding = encode(
            table.numbers[:, chosen],
            np.array([table.categories[at] is not None for at in chosen], bool),
            antecedent_ok=left[chosen],
            consequent_ok=right[chosen],
        )
        found = _narm_search.search(
            encoding,
            _narm_search.make_algorithm(self.algorithm, population=self.population, seed=self.seed),
            evaluations=self.evaluations,
            seconds=self.time_limit,
            progress=progress,
        )
        notes = [f"{self.label}: {found.evaluations:,} evaluations, {len(found.rules):,} rules before the split"]
        if found.out_of_time:
            notes.append(f"stopped by the time limit after {found.evaluations:,} of {self.evaluations:,} evaluations")
        kept = [r for r, rule in enumerate(found.rules) if self.consequents == "split" or _n_consequents(rule) == 1]
        rules = _Collected.of([found.rules[r] for r in kept], found.confidences[kept])
        counted = rules.counted(table, chosen, encoding.ranks, notes)
        return replace(counted, ending=Ending.LIMIT if found.out_of_time else Ending.COMPLETE)

    def _sides(self, table: FeatureTable) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Return which features may be in an antecedent, and which may be a consequent."""
        left = _matching(table.features, self.antecedent, "antecedent")
        right = _matching(table.features, self.consequent, "consequent")
        if not self.context_consequents:
            right &= ~np.array([_is_constant(table.numbers[:, at]) for at in range(len(table.features))], bool)
            if table.context:
                right &= ~np.array(table.context, bool)
        return left, right


def _matching(features: tuple[Feature, ...], constraint: Constraint, side: str) -> npt.NDArray[np.bool_]:
    choices = list_alternatives(constraint)
    if choices is None:
        return np.ones(len(features), bool)
    if any(choice.tests_values() for choice in choices):
        raise MiningError(
            f"ts-narm chooses the ranges of a rule itself and cannot apply the value in the constraint on the {side}",
            hint="leave out 'value' and filter the rules afterwards, or use a miner that reads bins",
        )
    return np.array([_fits(choices, feature) for feature in features], bool)


def _fits(choices: tuple[Where, ...], feature: Feature) -> bool:
    anything = Item.is_(feature, 0.0)
    return any(choice.matches(anything) for choice in choices)


def _is_constant(values: npt.NDArray[np.float64]) -> bool:
    present = values[~np.isnan(values)]
    return bool(len(present) == 0 or (present == present[0]).all())


def _usable(table: FeatureTable, allowed: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Return the allowed features that have values, in an order that does not depend on that of the columns."""
    known = ~np.isnan(table.numbers).all(axis=0) if table.n_rows else np.zeros(len(table.features), bool)
    chosen = np.flatnonzero(known & allowed)
    return np.array(sorted(chosen, key=lambda at: table.features[at].key), np.int64)


def _n_consequents(rule: DecodedRule) -> int:
    return len(rule.features) - rule.n_antecedent


@dataclass(frozen=True)
class _Collected:
    """Rules with one consequent over distinct ranges; ranges with the same values keep the bounds found first."""

    ranges: Ranges
    low: npt.NDArray[np.float64]
    high: npt.NDArray[np.float64]
    antecedents: npt.NDArray[np.int32]
    consequents: npt.NDArray[np.int32]
    joint_confidence: npt.NDArray[np.float64]

    @staticmethod
    def of(rules: list[DecodedRule], confidences: npt.NDArray[np.float64]) -> _Collected:
        """Split the consequents, number the ranges and drop duplicates, in the order of discovery."""
        if not rules:
            none, nowhere, nothing = np.zeros(0, np.int64), np.zeros(0), np.zeros((0, 1), np.int32)
            return _Collected(Ranges(none, none, none), nowhere, nowhere, nothing, nothing[:, 0], nowhere)
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
        whole = np.concatenate([antecedents[owner], consequents[:, None]], axis=1)
        kept = np.sort(np.unique(whole, axis=0, return_index=True)[1])
        return _Collected(
            Ranges(distinct[0], distinct[1], distinct[2]),
            low,
            high,
            whole[kept, :-1],
            whole[kept, -1],
            confidences[owner[kept]],
        )

    def counted(self, table: FeatureTable, chosen: npt.NDArray[np.int64], ranks: Ranks, notes: list[str]) -> RuleSet:
        """Return the rule set, with exact counts over the rows in which all features of a rule are present."""
        items = tuple(
            _item(table, int(chosen[column]), ranks.levels_of(int(column)), float(low), float(high))
            for column, low, high in zip(self.ranges.columns, self.low, self.high, strict=True)
        )
        counted = count_ranges(ranks, self.ranges, self.antecedents, self.consequents)
        counts = Counts(*counted, n_rows=np.asarray(table.n_rows))
        return RuleSet(
            items,
            self.antecedents,
            self.consequents,
            counts,
            extras={"joint_confidence": self.joint_confidence},
            facts={"n_transactions": table.n_rows, "n_features": len(table.features), "n_items": None},
            notes=tuple(notes),
            coverage_of=_Coverage(table, items, ranks, self.ranges),
        )


def _item(table: FeatureTable, at: int, levels: npt.NDArray[np.float64], low: float, high: float) -> Item:
    """Return the item for a closed range; ``levels`` are the values of the feature in increasing order."""
    known = table.categories[at]
    if known is not None:
        return Item.is_(table.features[at], known[int(low)])
    after = math.nextafter(high, math.inf)
    # The range has values, so at least one lies at or above its low end, and one below its high end.
    starts, ends = np.searchsorted(levels, [low, after]).tolist()
    # Beyond the outer values there is room for as much as lies between them and their neighbours.
    below = float(levels[starts - 1]) if starts else low - float(np.diff(levels[:2]).sum())
    above = float(levels[ends]) if ends < len(levels) else after + float(np.diff(levels[-2:]).sum())
    short = shorten_cut(low, below, float(levels[starts])), shorten_cut(after, float(levels[ends - 1]), above)
    return Item.among(table.features[at], Interval(*short))


@dataclass(frozen=True, eq=False)
class _Coverage:
    """Computes the data coverage of the rules of this search, or a selection of them, from the ranks."""

    table: FeatureTable
    items: tuple[Item, ...]
    ranks: Ranks
    ranges: Ranges

    def __call__(self, rules: RuleSet) -> float:
        if rules.items is self.items:
            return int(popcount(cover_ranges(self.ranks, self.ranges, rules.antecedents))) / self.table.n_rows
        return data_coverage(rules, self.table)
