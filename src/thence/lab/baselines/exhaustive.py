"""The exhaustive baselines: FP-Growth and H-Mine of mlxtend behind the common protocol of miners.

mlxtend finds frequent itemsets; this module makes rules with one consequent from them, counts them exactly and then
applies the thresholds. ``Exact`` finds the same rules much faster: these miners exist for comparison.

**Missing values.** For mlxtend, a missing item is absent from its row, and support is over all rows. The exact counts
are over the rows in which all features of a rule are present, so a rule can reach ``min_support`` although mlxtend's
support does not. mlxtend is therefore called with a lower threshold, and ``min_support`` is applied to the exact
counts.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from thence._base.progress import Progress, silent
from thence._base.settings.numbers import MOST_ANTECEDENTS
from thence._base.settings.typed import number
from thence.errors import ConfigError, require
from thence.language.constraints import Constraint
from thence.search.base import BaseMiner
from thence.search.codes import MAX_ROWS, encode_one_hot, expand_codes, require_codes
from thence.statements.counting.recount import recount
from thence.statements.rules.bounds import exact_threshold
from thence.statements.rules.ruleset import RuleSet
from thence.tables.admissibility import item_masks, trivial_pairs, without_trivial
from thence.tables.blocks import Block
from thence.tables.transactions import TransactionTable

Itemsets = dict[tuple[int, ...], int]
"""Frequent itemsets (ascending item numbers) and the number of rows that have all their items."""


def half_mean_support(rules: RuleSet) -> float:
    """Return half of the mean support of a rule set, the threshold of exhaustive methods in the published comparison.

    Args:
        rules: The rule set to compare with.

    Raises:
        ConfigError: If there are no rules.

    Examples:
        >>> half_mean_support(RuleSet.empty())
        Traceback (most recent call last):
        ...
        thence.errors.ConfigError: a rule set without rules has no mean support (pass min_support as a number)
    """
    if len(rules) == 0:
        raise ConfigError("a rule set without rules has no mean support", hint="pass min_support as a number")
    return float(rules.measure("support").mean()) / 2


@dataclass(frozen=True, kw_only=True)
class ItemsetMiner(BaseMiner):
    """The settings of miners of frequent itemsets, whose ``min_support`` can be taken from the rules of another one."""

    exhaustive: ClassVar[bool] = True

    min_support: float = number(0.01, above=0, most=1)
    min_confidence: float = number(0.8, least=0, most=1)
    max_antecedents: int | None = number(2, least=1, most=MOST_ANTECEDENTS)
    antecedent: Constraint = None
    consequent: Constraint = None
    consequents: Literal["one", "cut"] = "one"
    duplicates: Literal["drop", "keep"] = "drop"
    implied: Literal["drop", "keep"] = "drop"

    @classmethod
    def half_of(cls, rules: RuleSet, **settings: Any) -> Self:
        """Make a miner whose ``min_support`` is half of the mean support of some rules, as in the published comparison.

        Args:
            rules: The rules to compare with.
            **settings: Other settings of the miner.

        Raises:
            ConfigError: If there are no rules, or a setting has an impossible value.
        """
        return cls(min_support=half_mean_support(rules), **settings)


@dataclass(frozen=True, kw_only=True)
class _Exhaustive(ItemsetMiner):
    name: ClassVar[str]

    context_consequents: bool = False
    denominator: str = "present"
    max_rows: int = MAX_ROWS

    def mine(self, table: TransactionTable, *, progress: Progress = silent) -> RuleSet:
        """Return all rules of a table that meet the thresholds, each once, with exact counts.

        Args:
            table: A discretized table.
            progress: Called as mining advances.

        Raises:
            MissingExtraError: If mlxtend is not installed.
            MiningError: If the table is of another kind, or has too many rows.
        """
        require_codes(table, self.name)
        if table.n_rows == 0:
            return RuleSet.empty("the table has no rows to mine", *table.notes)
        parts = [self._mine_block(table, at, progress) for at in range(len(table.blocks))]
        rules = RuleSet.concat(parts)
        if len(rules) == 0:
            thresholds = f"support ≥ {float(self.min_support):g} and confidence ≥ {float(self.min_confidence):g}"
            return RuleSet.empty(f"no rule has {thresholds}: lower one of them", *table.notes, facts=parts[0].facts)
        return rules

    def _mine_block(self, table: TransactionTable, at: int, progress: Progress) -> RuleSet:
        block = table.blocks[at]
        left, right = item_masks(
            block, antecedent=self.antecedent, consequent=self.consequent, context_consequents=self.context_consequents
        )
        stage = f"{self.name} {at + 1}/{len(table.blocks)}" if len(table.blocks) > 1 else self.name
        progress(stage, 0, 2, "frequent itemsets")
        sets = find_frequent_sets(
            block,
            np.flatnonzero(left | right),
            algorithm=self.name,
            min_support=self.min_support,
            max_length=self.longest(table) + 1,
            denominator=self.denominator,
            max_rows=self.max_rows,
        )
        progress(stage, 1, 2, f"{len(sets):,} frequent itemsets")
        antecedents, consequents = self._make_rules(sets, left, right, block.n_rows, width=self.longest(table))
        trivial = trivial_pairs(block) if self.implied == "drop" else None
        if trivial is not None:
            keep = without_trivial(antecedents, consequents, trivial)
            antecedents, consequents = antecedents[keep], consequents[keep]
        rules = recount(antecedents, consequents, table, block=at, notes=self._notes(), denominator=self.denominator)
        rules = rules.take(reaches(rules, "n", self.min_support) & reaches(rules, "n_antecedent", self.min_confidence))
        progress(stage, 2, 2, f"{len(rules):,} rules")
        return rules

    def _make_rules(
        self, sets: Itemsets, left: npt.NDArray[np.bool_], right: npt.NDArray[np.bool_], n_rows: int, *, width: int
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        if self.consequents == "one":
            return make_one_consequent_rules(sets, left, right, width=width)
        threshold = exact_threshold(self.min_confidence, max_denominator=max(n_rows, 1))
        antecedents, consequents = make_first_consequent_rules(
            sets, left, right, width=width, least=(threshold.numerator, threshold.denominator)
        )
        if self.duplicates == "keep" or not len(consequents):
            return antecedents, consequents
        _, first = np.unique(np.column_stack([antecedents, consequents]), axis=0, return_index=True)
        return antecedents[np.sort(first)], consequents[np.sort(first)]

    def _notes(self) -> tuple[str, ...]:
        known = {
            "implied items": self.implied == "keep",
            "the first item of long consequents": self.consequents == "cut",
            "duplicates": self.duplicates == "keep" and self.consequents == "cut",
        }
        kept = [name for name, is_kept in known.items() if is_kept]
        return (f"published encoding: {', '.join(kept)}: kept",) if kept else ()


@dataclass(frozen=True, kw_only=True)
class FPGrowth(_Exhaustive):
    """Mine every rule that meets the thresholds with FP-Growth (Han, Pei & Yin 2000), as mlxtend implements it.

    Needs mlxtend (``pip install 'thence[baselines]'``). ``Exact`` finds the same rules much faster.

    Args:
        min_support: The lowest support of a rule, above 0 and at most 1.
        min_confidence: The lowest confidence of a rule, from 0 to 1.
        max_antecedents: The largest number of antecedent items; ``None`` for no limit.
        antecedent: Which items may be in an antecedent.
        consequent: Which items may be a consequent.
        context_consequents: Whether constants and graph context may be consequents.
        denominator: Which rows a rule is counted over: ``"present"`` are those in which all its features are present,
            ``"all"`` are all rows.
        max_rows: The largest number of rows of a block to write out; longer tables are refused.
        consequents: ``"one"`` makes rules with one consequent. ``"cut"`` makes rules with consequents of any length,
            applies ``min_confidence`` to them and keeps the first item of the consequent, as the published code does.
        duplicates: Whether to ``"drop"`` or ``"keep"`` the duplicates that result from ``consequents="cut"``.
        implied: Whether to ``"drop"`` or ``"keep"`` rules in which one item implies another.

    Raises:
        ConfigError: If a setting has an impossible value.

    Examples:
        >>> import polars as pl
        >>> table = TransactionTable.from_frame(pl.DataFrame({"a": ["x", "x", "y", "y"], "b": ["u", "u", "v", "v"]}))
        >>> print(FPGrowth(min_support=0.1).mine(table).take(np.arange(1)))
        1 rule
          1. if b is u, then a is x  [confidence 1.000 (2 of 2 rows; 0.500 overall), support 0.500, Zhang 1.000]
    """

    name: ClassVar[str] = "fpgrowth"


@dataclass(frozen=True, kw_only=True)
class HMine(_Exhaustive):
    """Mine every rule that meets the thresholds with H-Mine (Pei et al. 2001), as mlxtend implements it.

    Needs mlxtend (``pip install 'thence[baselines]'``). It finds the rules of ``FPGrowth`` with another algorithm.

    Args:
        min_support: The lowest support of a rule, above 0 and at most 1.
        min_confidence: The lowest confidence of a rule, from 0 to 1.
        max_antecedents: The largest number of antecedent items; ``None`` for no limit.
        antecedent: Which items may be in an antecedent.
        consequent: Which items may be a consequent.
        context_consequents: Whether constants and graph context may be consequents.
        denominator: Which rows a rule is counted over: ``"present"`` are those in which all its features are present,
            ``"all"`` are all rows.
        max_rows: The largest number of rows of a block to write out; longer tables are refused.
        consequents: ``"one"`` makes rules with one consequent. ``"cut"`` makes rules with consequents of any length,
            applies ``min_confidence`` to them and keeps the first item of the consequent, as the published code does.
        duplicates: Whether to ``"drop"`` or ``"keep"`` the duplicates that result from ``consequents="cut"``.
        implied: Whether to ``"drop"`` or ``"keep"`` rules in which one item implies another.

    Raises:
        ConfigError: If a setting has an impossible value.

    Examples:
        >>> HMine(min_support=0.1).max_antecedents
        2
    """

    name: ClassVar[str] = "hmine"


def _mlxtend(algorithm: str) -> Callable[..., Any]:
    with warnings.catch_warnings():
        # mlxtend changes the warning filters of the whole process when it is imported; this undoes it.
        warnings.simplefilter("ignore")
        module = require("mlxtend.frequent_patterns", extra="baselines")
    return getattr(module, algorithm)  # type: ignore[no-any-return]


def find_frequent_sets(
    block: Block,
    items: npt.NDArray[np.int64],
    *,
    algorithm: str,
    min_support: float,
    max_length: int,
    denominator: str,
    max_rows: int = MAX_ROWS,
) -> Itemsets:
    """Find the itemsets of a block that a rule with this support can consist of, with mlxtend.

    Args:
        block: A block of a table.
        items: The items to combine.
        algorithm: ``"fpgrowth"`` or ``"hmine"``.
        min_support: The lowest support of a rule.
        max_length: The largest number of items of an itemset.
        denominator: ``"present"`` or ``"all"``.
        max_rows: The largest number of rows to write out.

    Returns:
        The itemsets and the number of rows that have all their items.
    """
    codes = expand_codes(block, max_rows=max_rows, miner=algorithm)
    held = encode_one_hot(block, codes, items)
    least = _least_rows(codes, min_support, max_length, denominator)
    items, held = items[held.sum(axis=0) >= least], held[:, held.sum(axis=0) >= least]
    if held.shape[0] == 0 or held.shape[1] == 0:
        return {}
    pandas = require("pandas", extra="baselines")
    # Half a row less: mlxtend rounds min_support × rows up, and the product may be slightly above the exact number.
    found = _mlxtend(algorithm)(
        pandas.DataFrame(held), min_support=(least - 0.5) / len(held), use_colnames=False, max_len=max_length
    )
    return {
        tuple(sorted(int(items[i]) for i in members)): round(float(support) * len(held))
        for members, support in zip(found["itemsets"], found["support"], strict=True)
    }


def _least_rows(codes: npt.NDArray[np.int16], min_support: float, max_length: int, denominator: str) -> int:
    """Return the smallest number of rows that can have all items of a rule with this support."""
    fewest = len(codes)
    if denominator == "present":
        # A rule of k features is counted over the rows that have them all. At worst no two are missing in one row.
        fewest -= int(np.sort((codes < 0).sum(axis=0))[-max_length:].sum())
    threshold = exact_threshold(min_support, max_denominator=max(len(codes), 1))
    return max(math.ceil(threshold * max(fewest, 0)), 1)


def make_one_consequent_rules(
    sets: Mapping[tuple[int, ...], int], left: npt.NDArray[np.bool_], right: npt.NDArray[np.bool_], *, width: int
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Make all rules "all items but one → that item" from itemsets.

    Args:
        sets: The itemsets.
        left: For each item, whether it may be in an antecedent.
        right: For each item, whether it may be a consequent.
        width: The number of antecedent columns of the result, which are padded with −1.

    Returns:
        The antecedents and the consequents.

    Examples:
        >>> left, right = np.array([True, True]), np.array([False, True])
        >>> make_one_consequent_rules({(0,): 5, (0, 1): 3}, left, right, width=1)
        (array([[0]], dtype=int32), array([1], dtype=int32))
    """
    antecedents, consequents = [np.zeros((0, width), np.int32)], [np.zeros(0, np.int32)]
    for size, group in itertools.groupby(sorted(sets, key=lambda members: (len(members), members)), key=len):
        members = np.array(list(group), np.int32)
        for at in range(size if size > 1 else 0):
            others = np.delete(members, at, axis=1)
            allowed = right[members[:, at]] & left[others].all(axis=1)
            antecedents.append(np.pad(others, ((0, 0), (0, width - size + 1)), constant_values=-1)[allowed])
            consequents.append(members[allowed, at])
    return np.concatenate(antecedents), np.concatenate(consequents)


def make_first_consequent_rules(
    sets: Mapping[tuple[int, ...], int],
    left: npt.NDArray[np.bool_],
    right: npt.NDArray[np.bool_],
    *,
    width: int,
    least: tuple[int, int],
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Make rules from all splits of itemsets that are confident as a whole, and keep the first item of the consequent.

    The published code takes the first item in the order of a hash; here it is the one with the lowest number.

    Args:
        sets: The itemsets and their numbers of rows.
        left: For each item, whether it may be in an antecedent.
        right: For each item, whether it may be a consequent.
        width: The number of antecedent columns of the result, which are padded with −1.
        least: The lowest confidence, as numerator and denominator.

    Returns:
        The antecedents and the consequents.

    Examples:
        >>> both = np.ones(3, bool)
        >>> sets = {(0,): 4, (1,): 4, (2,): 4, (0, 1): 4, (0, 2): 4, (1, 2): 4, (0, 1, 2): 4}
        >>> antecedents, consequents = make_first_consequent_rules(sets, both, both, width=2, least=(4, 5))
        >>> len(consequents), len({(*a, c) for a, c in zip(antecedents.tolist(), consequents.tolist())})
        (12, 9)
    """
    antecedents, consequents = [], []
    numerator, denominator = least
    for members in sorted(sets, key=lambda members: (len(members), members)):
        for size in range(1, len(members)):
            for chosen in itertools.combinations(members, size):
                rest = [item for item in members if item not in chosen]
                confident = sets[members] * denominator >= sets[chosen] * numerator
                if confident and left[list(chosen)].all() and right[rest].all():
                    antecedents.append([*chosen, *[-1] * (width - size)])
                    consequents.append(rest[0])
    return np.array(antecedents, np.int32).reshape(-1, width), np.array(consequents, np.int32)


def reaches(rules: RuleSet, base: str, least: float) -> npt.NDArray[np.bool_]:
    """Return which rules have ``n_both / base ≥ least``, compared in integers; ``base`` is the name of a count."""
    rows = np.asarray(getattr(rules.counts, base))
    threshold = exact_threshold(least, max_denominator=max(int(rows.max(initial=1)), 1))
    both = rules.counts.n_both
    return np.asarray((both > 0) & (both * threshold.denominator >= rows * threshold.numerator))
