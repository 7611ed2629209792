"""From statistics under permutations to p-values: how often each is exceeded, and how strong the strongest rule is.

Bookkeeping over arrays. Which permutations there are, and what is tested under them, is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from thence.search.refine.significance.kernels import TOLERANCE
from thence.search.refine.significance.statistics import PreparedBank, Tests
from thence.tables.bitmaps.bits import Words

__all__ = ["Levels", "Tally", "benjamini_hochberg", "count_levels_reached"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass
class Tally:
    """Tests, their observed statistics, and under how many permutations each of these is exceeded.

    Args:
        tests: Groups of tests, each with the bank that it reads.
        rules: Position of the tested rule of each test.
        observed: The observed statistic of each test.
        exceeded: Number of permutations with at least the observed statistic.
        n_draws: Number of permutations.
        permuted: Statistics under all permutations (tests × permutations), needed by ``family_wise``, or ``None``.
    """

    tests: Sequence[tuple[PreparedBank, Tests]]
    rules: Ints
    observed: Floats
    exceeded: Ints
    n_draws: int
    permuted: npt.NDArray[np.float32] | None

    @staticmethod
    def of(tests: Sequence[tuple[PreparedBank, Tests]], n_draws: int, *, store: bool) -> Tally:
        """Compute the observed statistics of tests, and start counting.

        Args:
            tests: Groups of tests, each with the bank that it reads.
            n_draws: Number of permutations.
            store: Whether to store the statistics under all permutations.
        """
        observed = np.concatenate([np.zeros(0), *(own.statistics(None, -1) for _, own in tests)])
        rules = np.concatenate([np.zeros(0, np.int64), *(own.rules for _, own in tests)])
        permuted = np.empty((len(observed), n_draws), np.float32) if store else None
        return Tally(tests, rules, observed, np.zeros(len(observed), np.int64), n_draws, permuted)

    def statistics(self, permuted: Mapping[int, Words], draw: int) -> Floats:
        """Compute the statistics under permutation ``draw``, given the permuted words of each bank by its id."""
        return np.concatenate([np.zeros(0), *(own.statistics(permuted[id(bank)], draw) for bank, own in self.tests)])

    def add(self, draw: int, statistics: Floats) -> None:
        """Add the statistics under permutation ``draw``."""
        self.exceeded += statistics >= self.observed - TOLERANCE * np.maximum(1.0, np.abs(self.observed))
        if self.permuted is not None:
            self.permuted[:, draw] = statistics

    @property
    def p_values(self) -> Floats:
        """The p-value of each test by itself; the observed data count as one permutation."""
        return (1 + self.exceeded) / (1 + self.n_draws)

    def family_wise(self) -> Floats:
        """Return p-values adjusted over all tests: the share of permutations with *any* statistic as extreme.

        The null distributions of the tests differ in location and spread. Statistics are therefore standardised per
        test, by mean and standard deviation over all permutations and the observed data, which treats all alike.
        """
        assert self.permuted is not None
        every = np.column_stack([self.observed.astype(np.float32), self.permuted])
        mean, spread = every.mean(axis=1, keepdims=True), every.std(axis=1, keepdims=True)
        constant = spread <= TOLERANCE
        every = np.where(constant, np.float32(0), (every - mean) / np.where(constant, np.float32(1), spread))
        strongest = np.sort(every[:, 1:].max(axis=0, initial=-np.inf))
        above = len(strongest) - np.searchsorted(strongest, every[:, 0] * (1 - 1e-6), side="left")
        return np.asarray(np.where(constant[:, 0], 1.0, (1 + above) / (1 + self.n_draws)))


def count_levels_reached(levels: Floats, values: Floats) -> Ints:
    """Count, for each statistic in ``values``, how many of the ascending ``levels`` it reaches, within tolerance.

    Examples:
        >>> count_levels_reached(np.array([1.0, 2.0]), np.array([0.5, 1.0, 3.0])).tolist()
        [0, 1, 2]
    """
    finite = np.maximum(values, -1.0)  # levels are positive
    return np.searchsorted(levels, finite + TOLERANCE * np.maximum(1.0, finite), side="right")


@dataclass
class Levels:
    """The distinct positive statistics of the tested rules, and how many rules of the family reach them.

    Args:
        levels: The statistics, ascending.
        highest: Number of levels that the strongest rule reaches, per permutation.
        pooled: Number of rules that reach each level and not the next, summed over all permutations.
        observed: The same in the observed data.
    """

    levels: Floats
    highest: Ints
    pooled: Ints
    observed: Ints

    @staticmethod
    def of(observed: Floats, n_draws: int) -> Levels:
        """Take the levels from observed statistics, with counts of zero for ``n_draws`` permutations."""
        levels = np.unique(observed)
        levels = levels[levels > 0]
        return Levels(levels, np.zeros(n_draws, np.int64), *(np.zeros(len(levels), np.int64) for _ in range(2)))

    @property
    def lowest(self) -> float:
        """The lowest level; weaker rules are irrelevant."""
        return float(self.levels[0]) if len(self.levels) else np.inf

    def histogram(self, statistics: Floats) -> Ints:
        """Count the statistics that reach each level and not the next."""
        return np.bincount(count_levels_reached(self.levels, statistics), minlength=len(self.levels) + 1)[1:]

    def add(self, draw: int, reached: Ints) -> None:
        """Add the histogram of permutation ``draw``."""
        hit = np.flatnonzero(reached)
        self.highest[draw] = max(self.highest[draw], int(hit[-1]) + 1 if len(hit) else 0)
        self.pooled += reached

    @property
    def family_wise(self) -> Floats:
        """Per level, the share of permutations in which any rule is as strong; the observed data count as one."""
        above = np.bincount(self.highest, minlength=len(self.levels) + 1)[::-1].cumsum()[::-1]
        return (1 + above[1:]) / (1 + len(self.highest))

    @property
    def false_discovery_rate(self) -> Floats:
        """Per level, the expected share of false rules among those as strong."""
        by_chance = np.cumsum(self.pooled[::-1])[::-1] / len(self.highest)
        found = np.maximum(np.cumsum(self.observed[::-1])[::-1], 1)
        # A rule counts at the best rate of any level that it reaches.
        return np.minimum(np.minimum.accumulate(by_chance / found), 1.0)

    def look_up(self, values: Floats, per_level: Floats) -> Floats:
        """Return, for each statistic, the entry of its level; 1 for statistics that reach no level."""
        place = count_levels_reached(self.levels, values) - 1
        return np.where(place >= 0, np.append(per_level, 1.0)[place], 1.0)


def benjamini_hochberg(p: Floats) -> Floats:
    """Adjust p-values to control the false discovery rate.

    Examples:
        >>> benjamini_hochberg(np.array([0.01, 0.04, 0.03])).round(3).tolist()
        [0.03, 0.04, 0.04]
    """
    order = np.argsort(p)[::-1]
    out = np.empty(len(p))
    out[order] = np.minimum(np.minimum.accumulate(p[order] * len(p) / np.arange(len(p), 0, -1)), 1.0)
    return out
