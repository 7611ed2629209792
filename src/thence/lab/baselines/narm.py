"""TS-NARM: numerical association rules without bins, found by an optimiser (Fister et al. 2023).

The optimisers are NiaPy's, the encoding of rules is NiaARM's, and the fitness is compiled code of our own. The miner
reads the raw ``FeatureTable``, and its rules have real-valued ranges. A closed range [low, high] of the encoding is
written half-open, with the shortest decimal numbers that contain the same values. Items are written out only when a
rule set is asked for, which for tens of thousands of different ranges takes longer than to count them.

Consequents of NiaARM may have several items, a rule here has one: see ``TSNARM.consequents``. This module must not
import NiaPy before a search starts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from thence._base.progress import Progress, silent
from thence._base.settings.typed import number
from thence.errors import ConfigError, MiningError, nearest, require
from thence.lab.baselines.narm_fitness import (
    DecodedRule,
    Flags,
    RankedTable,
    count_consequent,
    cover_as_released,
    encode,
)
from thence.language.constraints import Constraint, ItemFilter, list_alternatives
from thence.language.items import Feature, Interval, Item, Value
from thence.search.base import BaseMiner
from thence.statements.counting.recount import data_coverage
from thence.statements.rules.measures import MEASURES, Counts
from thence.statements.rules.ruleset import RuleSet, SearchStatus
from thence.tables.bitmaps.bits import Floats, Ints, popcount
from thence.tables.bitmaps.ranges import RankRanges, count_ranges, cover_ranges
from thence.tables.cuts import shorten_cut
from thence.tables.transactions import FeatureTable

OPTIONS: Mapping[str, Mapping[str, float]] = MappingProxyType(
    {
        "de": {"weight": 0.5, "crossover": 0.9},
        "ga": {"mutation": 0.01, "crossover": 0.8, "selection": 0.0},
        "pso": {"cognitive": 0.1, "social": 0.1, "inertia": 0.8, "velocity": 1.5},
        "lshade": {"memory": 5.0, "best": 0.1, "archive": 2.0},
        "shade": {"memory": 6.0, "best": 0.11, "archive": 2.6},
        "jde": {
            "weight": 0.5,
            "crossover": 0.9,
            "lowest_weight": 0.0,
            "highest_weight": 1.0,
            "redraw_weight": 0.1,
            "redraw_crossover": 0.1,
        },
    }
)
"""The parameters of each optimiser and their defaults, which are those of the paper where it states them."""

RELEASED: Mapping[str, Mapping[str, float]] = MappingProxyType(
    {
        "pso": {"inertia": 1.0, "velocity": 0.0},
        "jde": {
            "weight": 2.0,
            "crossover": 0.5,
            "lowest_weight": 200.0,
            "highest_weight": 1.0,
            "redraw_weight": 0.1,
            "redraw_crossover": 0.2,
        },
    }
)
"""Parameters that the released code of the paper sets or implies, where they differ from ``OPTIONS``."""

_COUNTS = ("memory",)
_SHARES = ("mutation", "crossover", "best", "redraw_weight", "redraw_crossover", "selection")


def complete_options(algorithm: str, given: Mapping[str, float] | None = None) -> dict[str, float]:
    """Return all parameters of an optimiser.

    Args:
        algorithm: A name of ``OPTIONS``.
        given: Parameters that replace the defaults.

    Raises:
        ConfigError: If the optimiser or a parameter is unknown, or a value is impossible.

    Examples:
        >>> complete_options("pso", {"inertia": 1.0})
        {'cognitive': 0.1, 'social': 0.1, 'inertia': 1.0, 'velocity': 1.5}
    """
    if algorithm not in OPTIONS:
        raise ConfigError(f"unknown optimiser '{algorithm}'", hint="use one of: " + ", ".join(OPTIONS))
    known = OPTIONS[algorithm]
    for name, value in (given or {}).items():
        if name not in known:
            hint = nearest(name, tuple(known)) or "known: " + ", ".join(known)
            raise ConfigError(f"the optimiser '{algorithm}' has no parameter '{name}'", hint=hint)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
            raise ConfigError(f"the optimiser's parameter '{name}' must be a number of at least 0, got {value!r}")
        if name in _SHARES and value > 1:
            raise ConfigError(f"the optimiser's parameter '{name}' must be from 0 to 1, got {value!r}")
        if name in _COUNTS and (value < 1 or value != int(value)):
            raise ConfigError(f"the optimiser's parameter '{name}' must be an integer of at least 1, got {value!r}")
    return {**known, **{name: float(value) for name, value in (given or {}).items()}}


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
    encoding: RankedTable
    rules: tuple[DecodedRule, ...]
    n_antecedent: Ints
    n_both: Ints
    notes: tuple[str, ...] = ()
    ending: SearchStatus = SearchStatus.COMPLETE

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
    ranges: RankRanges
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
            return SplitRules(whole, RankRanges(none, none, none), nowhere, nowhere, nothing, nothing[:, 0], nowhere)
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
            RankRanges(distinct[0], distinct[1], distinct[2]),
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
    encoding: RankedTable
    ranges: RankRanges

    def __call__(self, rules: RuleSet) -> float:
        if rules.items is self.items:
            held = cover_ranges(self.encoding.ranks, self.ranges, rules.antecedents)
            return int(popcount(held)) / self.table.n_rows
        return data_coverage(rules, self.table)


@dataclass(frozen=True, kw_only=True)
class TSNARM(BaseMiner):
    """Mine numerical association rules by maximising their confidence with an optimiser (Fister et al. 2023).

    Every rule that the search encounters and that holds in at least one row is kept once. The miner reads a raw
    ``FeatureTable``. Needs NiaPy (``pip install 'thence[baselines]'``).

    Args:
        algorithm: The optimiser: ``"de"``, ``"ga"``, ``"pso"``, ``"lshade"``, ``"jde"`` or ``"shade"``, with the
            parameters of the published comparison.
        population: The size of the optimiser's population, at least 5.
        evaluations: The number of rules to evaluate.
        objective: What the search maximises: ``"confidence"``, or ``"support-confidence"``, the mean of support (over
            all rows) and confidence.
        optimiser: Parameters of the optimiser that replace its defaults, such as ``{"inertia": 1.0}`` for ``"pso"``.
            The guide to the baselines lists them.
        consequents: ``"split"`` turns p → q ∧ r into p → q and p → r, each at least as confident as the whole;
            ``"single"`` keeps only the rules whose consequent has one item. The confidence of the whole, which the
            search maximises, is in the column ``joint_confidence``.
        distinct: When two rules are the same: if their ranges contain the same ``"values"`` of the data, or if they
            have the same items in the same order, with the same ``"borders"`` within one millionth, as in NiaARM.
        constants: Whether a numeric column with a single value is encoded like other ``"numbers"``, with three entries
            of the vector, or as one of the ``"labels"``, a category with two entries.
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

    algorithm: Literal["de", "ga", "pso", "lshade", "jde", "shade"] = "de"
    population: int = number(200, least=5)
    evaluations: int = number(50_000, least=1)
    objective: Literal["confidence", "support-confidence"] = "confidence"
    optimiser: Mapping[str, float] = field(default_factory=dict)
    consequents: Literal["split", "single"] = "split"
    distinct: Literal["values", "borders"] = "values"
    constants: Literal["numbers", "labels"] = "numbers"
    antecedent: Constraint = None
    consequent: Constraint = None
    context_consequents: bool = False
    time_limit: float | None = number(None, above=0)
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        complete_options(self.algorithm, self.optimiser)

    @classmethod
    def published(cls, algorithm: str = "de", **changes: Any) -> Self:
        """Make a miner that searches as the released code of the paper does, which differs from the paper's text.

        The goal is the mean of support and confidence; constants are labels; rules with different borders are
        different; there are 1,000 evaluations. ``"lshade"`` is SHADE with a constant population, ``"pso"`` has no
        damping and no limit of velocity, and ``"jde"`` has 50 individuals and weights from 1 to 200. The measures of
        that code are those of the rules before they are split: see ``search``.

        Args:
            algorithm: The optimiser, by the name that the paper uses.
            **changes: Settings that override all others, so that the effect of each can be measured alone.

        Raises:
            ConfigError: If a setting has an impossible value.

        Examples:
            >>> TSNARM.published("lshade").algorithm
            'shade'
            >>> TSNARM.published("jde", evaluations=50_000).population
            50
        """
        chosen: dict[str, Any] = {
            "algorithm": "shade" if algorithm == "lshade" else algorithm,
            "population": 50 if algorithm == "jde" else 200,
            "evaluations": 1_000,
            "objective": "support-confidence",
            "optimiser": dict(RELEASED.get(algorithm, {})),
            "distinct": "borders",
            "constants": "labels",
            "context_consequents": True,
        }
        return cls(**(chosen | changes))

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
        found = self.search(table, progress=progress)
        if not found.notes:
            return RuleSet.empty("a rule needs two features with values, one of which may be a consequent")
        return found.split(single=self.consequents == "single").to_rule_set()

    def search(self, table: FeatureTable, *, progress: Progress = silent) -> WholeRules:
        """Return the rules of the search before they are split: a consequent may have several items.

        These are the rules that the paper counts and measures for TS-NARM.

        Args:
            table: A raw table.
            progress: Called as the search advances.

        Raises:
            MissingExtraError: If NiaPy is not installed.
            MiningError: If the table is of another kind, or a constraint names a value.

        Examples:
            >>> import polars as pl
            >>> table = FeatureTable.from_frame(pl.DataFrame({"a": [1.0, 2.0, 3.0], "b": [2.0, 4.0, 6.0]}))
            >>> found = TSNARM(population=10, evaluations=100, seed=1).search(table)
            >>> bool((found.measure("support") > 0).all())
            True
        """
        if not isinstance(table, FeatureTable):
            raise MiningError(
                f"{self.name} finds ranges itself and reads raw numbers, not a {type(table).__name__}",
                hint="pass th.baselines.feature_table(…)",
            )
        left, right = self._sides(table)
        chosen = _usable(table, left | right)
        numbers, categories = _columns(table, chosen, as_labels=self.constants == "labels")
        encoding = encode(
            numbers,
            np.array([known is not None for known in categories], bool),
            antecedent_ok=left[chosen],
            consequent_ok=right[chosen],
        )
        if len(chosen) < 2 or not (left[chosen].any() and right[chosen].any()):
            return _nothing(table, chosen, categories, encoding)
        require("niapy.algorithms.modified.shade", extra="baselines")
        from thence.lab.baselines import narm_search as _narm_search

        found = _narm_search.search(
            encoding,
            _narm_search.make_algorithm(
                self.algorithm, population=self.population, seed=self.seed, options=self.optimiser
            ),
            evaluations=self.evaluations,
            seconds=self.time_limit,
            progress=progress,
            objective=self.objective,
            distinct=self.distinct,
        )
        notes = [f"{self.label}: {found.evaluations:,} evaluations, {len(found.rules):,} rules before the split"]
        if found.out_of_time:
            notes.append(f"stopped by the time limit after {found.evaluations:,} of {self.evaluations:,} evaluations")
        return WholeRules(
            table,
            chosen,
            categories,
            encoding,
            found.rules,
            found.n_antecedent,
            found.n_both,
            tuple(notes),
            SearchStatus.LIMIT if found.out_of_time else SearchStatus.COMPLETE,
        )

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


def _fits(choices: tuple[ItemFilter, ...], feature: Feature) -> bool:
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


def _columns(
    table: FeatureTable, chosen: npt.NDArray[np.int64], *, as_labels: bool
) -> tuple[npt.NDArray[np.float64], tuple[tuple[Value, ...] | None, ...]]:
    """Return the chosen columns and their categories; constants become categories of one value if ``as_labels``."""
    numbers = table.numbers[:, chosen]
    categories = [table.categories[at] for at in chosen]
    if as_labels:
        numbers = numbers.copy()
        for column, known in enumerate(categories):
            present = ~np.isnan(numbers[:, column])
            if known is None and _is_constant(numbers[:, column]):
                categories[column] = (float(numbers[present, column][0]),)
                numbers[present, column] = 0.0
    return numbers, tuple(categories)


def _nothing(
    table: FeatureTable,
    chosen: npt.NDArray[np.int64],
    categories: tuple[tuple[Value, ...] | None, ...],
    encoding: RankedTable,
) -> WholeRules:
    none = np.zeros(0, np.int64)
    return WholeRules(table, chosen, categories, encoding, (), none, none)
