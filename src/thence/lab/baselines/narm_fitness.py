"""The fitness of numerical association rules: vector → rule → confidence, in compiled code.

A vector of numbers in [0, 1] represents a rule in NiaARM's encoding (Stupan & Fister 2022). A numerical feature has
three entries (one bound, the other bound, a threshold), a categorical feature two (the category, a threshold). One
entry per feature follows, which gives the order of the features in the rule, and the last entry splits that order into
antecedent and consequent. A feature is part of the rule if its first entry exceeds its threshold. A vector gives
exactly the rule that it gives in NiaARM.

Numbers are replaced by their ranks once, so that a closed range of numbers is a range of small integers and one
comparison tests dozens of rows at a time. This module works on plain arrays; it must not know tables, items or
optimisers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from thence.tables.bitmaps.bits import Floats, Ints, kernel
from thence.tables.bitmaps.ranges import Ranks, rank_columns

Flags = npt.NDArray[np.bool_]

# Rows per round: the mask of a round stays in the first-level cache while all features are applied to it.
_ROUND = 4096


@dataclass(frozen=True)
class RankedTable:
    """A raw table in ranks, ready to be searched. Every column has at least one value.

    Args:
        ranks: The ranks of the values.
        is_category: Whether each feature is categorical.
        antecedent_ok: Whether each feature may be in an antecedent.
        consequent_ok: Whether each feature may be a consequent.
        has_missing: Whether each feature has missing values.
    """

    ranks: Ranks
    is_category: Flags
    antecedent_ok: Flags
    consequent_ok: Flags
    has_missing: Flags

    @property
    def n_features(self) -> int:
        """The number of features."""
        return len(self.is_category)

    @cached_property
    def positions(self) -> Ints:
        """Where the entries of each feature begin."""
        sizes = np.where(self.is_category, 2, 3)
        return np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64) if len(sizes) else np.zeros(0, np.int64)

    @cached_property
    def varies(self) -> Flags:
        """Whether a feature can be out of its range: a column with one value and no gaps never is."""
        return np.asarray((self.ranks.codes != 0).any(axis=1))

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return int(np.where(self.is_category, 2, 3).sum()) + self.n_features + 1


@dataclass(frozen=True)
class DecodedRule:
    """A rule: features in order with their closed ranges.

    Args:
        features: The features.
        low: Lower bounds, or codes of categorical features.
        high: Upper bounds, or codes of categorical features.
        first: Lower bounds in ranks.
        last: Upper bounds in ranks; a range is empty if ``first > last``.
        n_antecedent: How many of the features, from the first on, are the antecedent.
    """

    features: Ints
    low: Floats
    high: Floats
    first: Ints
    last: Ints
    n_antecedent: int


def encode(
    numbers: Floats, is_category: Flags, *, antecedent_ok: Flags | None = None, consequent_ok: Flags | None = None
) -> RankedTable:
    """Rank every column of a matrix.

    Args:
        numbers: Values, rows × features, NaN where missing. Every column needs at least one value.
        is_category: Whether each feature is categorical; its values are then codes.
        antecedent_ok: Whether each feature may be in an antecedent. By default every feature may.
        consequent_ok: Whether each feature may be a consequent. By default every feature may.

    Examples:
        >>> encode(np.array([[5.0, 0.0], [7.0, 1.0], [5.0, np.nan]]), np.array([False, True])).dimension
        8
    """
    everything = np.ones(numbers.shape[1], bool)
    return RankedTable(
        rank_columns(numbers, is_category),
        np.asarray(is_category, bool),
        everything if antecedent_ok is None else np.asarray(antecedent_ok, bool),
        everything if consequent_ok is None else np.asarray(consequent_ok, bool),
        np.asarray(np.isnan(numbers).any(axis=0)),
    )


def decode(encoding: RankedTable, vector: Floats) -> DecodedRule | None:
    """Return the rule that a vector represents, or ``None`` if one of its sides is empty.

    >>> encoding = encode(np.array([[5.0, 0.0], [7.0, 1.0]]), np.array([False, True]))
    >>> rule = decode(encoding, np.array([0.9, 0.2, 0.1, 1.0, 0.0, 0.3, 0.6, 0.0]))
    >>> rule.features.tolist(), rule.low.tolist(), rule.high.tolist(), rule.n_antecedent
    ([0, 1], [5.4, 1.0], [6.8, 1.0], 1)
    """
    features, low, high, first, last, n_antecedent = _decode(
        vector,
        encoding.positions,
        encoding.is_category,
        encoding.ranks.levels,
        encoding.ranks.starts,
        encoding.antecedent_ok,
        encoding.consequent_ok,
    )
    if n_antecedent == 0 or n_antecedent == len(features):
        return None
    return DecodedRule(features, low, high, first, last, int(n_antecedent))


def count_rule(encoding: RankedTable, rule: DecodedRule) -> tuple[int, int]:
    """Count the rows in which the antecedent holds and the consequent is present, and those in which the rule holds.

    >>> encoding = encode(np.array([[5.0, 0.0], [7.0, 1.0], [6.0, np.nan]]), np.array([False, True]))
    >>> rule = decode(encoding, np.array([1.0, 0.2, 0.1, 1.0, 0.0, 0.3, 0.6, 0.0]))
    >>> count_rule(encoding, rule)
    (1, 1)
    """
    n_antecedent, n_both = _count(
        encoding.ranks.codes,
        rule.features,
        rule.first,
        rule.last,
        rule.n_antecedent,
        encoding.has_missing,
        encoding.varies,
    )
    return int(n_antecedent), int(n_both)


def count_consequent(encoding: RankedTable, rule: DecodedRule) -> tuple[int, int]:
    """Count the rows in which every feature of a rule is present, and those of them in which its consequent holds.

    >>> encoding = encode(np.array([[5.0, 0.0], [7.0, 1.0], [6.0, np.nan]]), np.array([False, True]))
    >>> rule = decode(encoding, np.array([1.0, 0.2, 0.1, 1.0, 0.0, 0.3, 0.6, 0.0]))
    >>> count_consequent(encoding, rule)
    (2, 1)
    """
    # As if the antecedent held wherever its features are present: the largest code is that of a missing value.
    present = np.iinfo(encoding.ranks.codes.dtype).max - 1
    before = np.arange(len(rule.features)) < rule.n_antecedent
    anywhere = replace(rule, first=np.where(before, 0, rule.first), last=np.where(before, present, rule.last))
    return count_rule(encoding, anywhere)


def cover_as_released(encoding: RankedTable, rules: Sequence[DecodedRule]) -> int:
    """Count the rows that the released code of the paper calls covered by some rules.

    An antecedent counts as met at its first numeric item in range, whatever follows, unless a category did not match
    before it. An antecedent of categories only is never met.

    Args:
        encoding: The table.
        rules: The rules, with their items in order.

    Examples:
        >>> encoding = encode(np.array([[5.0, 0.0], [7.0, 1.0], [6.0, 0.0]]), np.array([False, True]))
        >>> rule = decode(encoding, np.array([1.0, 0.2, 0.1, 1.0, 0.0, 0.3, 0.6, 0.0]))
        >>> cover_as_released(encoding, [rule])
        2
    """
    covered = np.zeros(encoding.ranks.n_rows, np.uint8)
    for rule in rules:
        _cover_as_released(
            encoding.ranks.codes,
            rule.features[: rule.n_antecedent],
            rule.first,
            rule.last,
            encoding.is_category,
            covered,
        )
        if covered.all():
            break
    return int(covered.sum())


@kernel
def _cut(share: float, n_features: int) -> int:
    """Return NiaARM's cut point, which at the upper end is two less than the number of features."""
    cut = int(share * n_features)
    if cut == 0:
        cut = 1
    if cut > n_features - 1:
        cut = n_features - 2
    return max(cut, 0)


@kernel
def _decode(
    vector: Floats,
    positions: Ints,
    is_category: Flags,
    levels: Floats,
    starts: Ints,
    antecedent_ok: Flags,
    consequent_ok: Flags,
) -> tuple[Ints, Floats, Floats, Ints, Ints, int]:
    n_features = len(positions)
    order = np.argsort(vector[len(vector) - 1 - n_features : len(vector) - 1], kind="mergesort")
    cut = _cut(vector[-1], n_features)
    features = np.empty(n_features, np.int64)
    low, high = np.empty(n_features), np.empty(n_features)
    first, last = np.empty(n_features, np.int64), np.empty(n_features, np.int64)
    used = n_antecedent = 0
    for at in range(n_features):
        f = order[at]
        allowed = antecedent_ok[f] if at < cut else consequent_ok[f]
        position = positions[f]
        threshold = vector[position + (1 if is_category[f] else 2)]
        if not allowed or not vector[position] > threshold:
            continue
        known = levels[starts[f] : starts[f + 1]]
        if is_category[f]:
            code = np.rint(vector[position] * (len(known) - 1))
            a = b = code
            first[used] = last[used] = int(code)
        else:
            span = known[-1] - known[0]
            a = vector[position] * span + known[0]
            b = vector[position + 1] * span + known[0]
            if a > b:
                a, b = b, a
            first[used] = np.searchsorted(known, a, side="left")
            last[used] = np.searchsorted(known, b, side="right") - 1
        features[used], low[used], high[used] = f, a, b
        used += 1
        if at < cut:
            n_antecedent += 1
    return features[:used], low[:used], high[:used], first[:used], last[:used], n_antecedent


@kernel
def _narrow(mask: npt.NDArray[np.uint8], column: npt.NDArray[Any], first: int, last: int) -> None:
    for r in range(len(column)):
        mask[r] &= np.uint8((column[r] >= first) & (column[r] <= last))


@kernel
def _total(mask: npt.NDArray[np.uint8], size: int) -> int:
    total = 0
    for r in range(size):
        total += int(mask[r])
    return total


@kernel
def _count(
    ranks: npt.NDArray[Any],
    features: Ints,
    first: Ints,
    last: Ints,
    n_antecedent: int,
    has_missing: Flags,
    varies: Flags,
) -> tuple[int, int]:
    n_rows = ranks.shape[1]
    for k in range(n_antecedent):
        if first[k] > last[k]:
            return 0, 0
    missing = ranks.dtype.type(-1)
    mask = np.empty(_ROUND, np.uint8)
    held = both = 0
    for start in range(0, n_rows, _ROUND):
        size = min(_ROUND, n_rows - start)
        mask[:size] = 1
        for k in range(len(features)):
            column = ranks[features[k], start : start + size]
            if k == n_antecedent:
                for c in range(n_antecedent, len(features)):
                    if has_missing[features[c]]:
                        _narrow(mask, ranks[features[c], start : start + size], 0, missing - 1)
                found = _total(mask, size)
                held += found
                if found == 0:
                    break
            if varies[features[k]] or first[k] != 0:
                _narrow(mask, column, ranks.dtype.type(first[k]), ranks.dtype.type(last[k]))
        both += _total(mask, size)
    return held, both


@kernel
def _cover_as_released(
    ranks: npt.NDArray[Any],
    features: Ints,
    first: Ints,
    last: Ints,
    is_category: Flags,
    covered: npt.NDArray[np.uint8],
) -> None:
    for row in range(ranks.shape[1]):
        if covered[row]:
            continue
        for k in range(len(features)):
            rank = np.int64(ranks[features[k], row])
            inside = first[k] <= rank and rank <= last[k]
            if is_category[features[k]]:
                if not inside:
                    break
            elif inside:
                covered[row] = 1
                break
