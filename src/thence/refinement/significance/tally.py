"""Adding up what rearranged worlds say: how often a statistic is exceeded, and how strong the strongest is.

Plain bookkeeping over arrays; which worlds there are and what is tested in them is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from thence.bitmaps.bits import Words
from thence.refinement.significance.family import levels_reached
from thence.refinement.significance.family_kernels import TOLERANCE
from thence.refinement.significance.trials import Board, Tests

__all__ = ["Levels", "Tally", "benjamini_hochberg"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass
class Tally:
    """Some tests, the statistics of the real world, and how many worlds exceeded each.

    With ``worlds`` the statistics of all worlds are kept (tests × worlds), for adjusted p-values over these tests.
    """

    tests: Sequence[tuple[Board, Tests]]
    rules: Ints
    observed: Floats
    exceeded: Ints
    n_draws: int
    worlds: npt.NDArray[np.float32] | None

    @staticmethod
    def of(tests: Sequence[tuple[Board, Tests]], n_draws: int, *, keep: bool) -> Tally:
        observed = np.concatenate([np.zeros(0), *(own.statistics(None, -1) for _, own in tests)])
        rules = np.concatenate([np.zeros(0, np.int64), *(own.rules for _, own in tests)])
        worlds = np.empty((len(observed), n_draws), np.float32) if keep else None
        return Tally(tests, rules, observed, np.zeros(len(observed), np.int64), n_draws, worlds)

    def look(self, drawn: Mapping[int, Words], draw: int) -> Floats:
        """The statistics in one world, given the rearranged bitmaps of each board."""
        return np.concatenate([np.zeros(0), *(own.statistics(drawn[id(board)], draw) for board, own in self.tests)])

    def add(self, draw: int, statistics: Floats) -> None:
        """Add up what a world says."""
        self.exceeded += statistics >= self.observed - TOLERANCE * np.maximum(1.0, np.abs(self.observed))
        if self.worlds is not None:
            self.worlds[:, draw] = statistics

    @property
    def p_values(self) -> Floats:
        """The share of worlds, the real one included, that are at least as extreme, test by test."""
        return (1 + self.exceeded) / (1 + self.n_draws)

    def family_wise(self) -> Floats:
        """The share of worlds in which *any* of the tests is as extreme, after each is standardised.

        Tests differ in how far chance alone carries them. So each is measured against its own mean and spread over all
        worlds, the real one among them, which treats all worlds alike.
        """
        assert self.worlds is not None
        every = np.column_stack([self.observed.astype(np.float32), self.worlds])
        mean, spread = every.mean(axis=1, keepdims=True), every.std(axis=1, keepdims=True)
        flat = spread <= TOLERANCE
        every = np.where(flat, np.float32(0), (every - mean) / np.where(flat, np.float32(1), spread))
        strongest = np.sort(every[:, 1:].max(axis=0, initial=-np.inf))
        above = len(strongest) - np.searchsorted(strongest, every[:, 0] * (1 - 1e-6), side="left")
        return np.asarray(np.where(flat[:, 0], 1.0, (1 + above) / (1 + self.n_draws)))


@dataclass
class Levels:
    """Levels of a statistic, ascending, and which of them the rules of each world reach.

    ``highest[w]`` is how many levels the strongest rule of world ``w`` reaches; ``pooled`` is how many rules of all
    worlds reach each level and not the next, ``real`` the same in the real world.
    """

    levels: Floats
    highest: Ints
    pooled: Ints
    real: Ints

    @staticmethod
    def of(observed: Floats, n_draws: int) -> Levels:
        levels = np.unique(observed)
        levels = levels[levels > 0]
        return Levels(levels, np.zeros(n_draws, np.int64), *(np.zeros(len(levels), np.int64) for _ in range(2)))

    @property
    def lowest(self) -> float:
        """The level below which nothing matters."""
        return float(self.levels[0]) if len(self.levels) else np.inf

    def nothing(self) -> Ints:
        """No rule at any level."""
        return np.zeros(len(self.levels), np.int64)

    def histogram(self, statistics: Floats) -> Ints:
        """How many statistics reach each level and not the next."""
        return np.bincount(levels_reached(self.levels, statistics), minlength=len(self.levels) + 1)[1:]

    def add(self, draw: int, reached: Ints) -> None:
        """Add up what a world says."""
        hit = np.flatnonzero(reached)
        self.highest[draw] = max(self.highest[draw], int(hit[-1]) + 1 if len(hit) else 0)
        self.pooled += reached

    @property
    def family_wise(self) -> Floats:
        """Per level the share of worlds, the real one included, in which anything is as strong."""
        above = np.bincount(self.highest, minlength=len(self.levels) + 1)[::-1].cumsum()[::-1]
        return (1 + above[1:]) / (1 + len(self.highest))

    @property
    def false_share(self) -> Floats:
        """Per level the expected share of false rules among those as strong."""
        by_chance = np.cumsum(self.pooled[::-1])[::-1] / len(self.highest)
        in_truth = np.maximum(np.cumsum(self.real[::-1])[::-1], 1)
        # A weaker rule may stand in a set with a smaller share than a stronger one; the best such set counts.
        return np.minimum(np.minimum.accumulate(by_chance / in_truth), 1.0)

    def at(self, values: Floats, per_level: Floats) -> Floats:
        """The entry of each statistic; 1 for those at or below zero, which are no levels."""
        place = levels_reached(self.levels, values) - 1
        return np.where(place >= 0, np.append(per_level, 1.0)[place], 1.0)


def benjamini_hochberg(p: Floats) -> Floats:
    """Adjusted p-values that control the share of false discoveries.

    >>> benjamini_hochberg(np.array([0.01, 0.04, 0.03])).round(3).tolist()
    [0.03, 0.04, 0.04]
    """
    order = np.argsort(p)[::-1]
    out = np.empty(len(p))
    out[order] = np.minimum(np.minimum.accumulate(p[order] * len(p) / np.arange(len(p), 0, -1)), 1.0)
    return out
