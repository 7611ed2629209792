"""How many rules a search would find, from a sample of its first items.

The antecedents that begin with one item are a subtree of the search. Subtrees in random order are searched in full,
until a limit on the work; the number of rules per pair of frequent items in them, times all such pairs, is the
estimate (a ratio estimator). If all subtrees fit, the number is exact. This module works on plain arrays only.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thence.search.exact.kernels import SearchProblem
from thence.search.exact.neighbourhoods import mine_around
from thence.search.exact.search import RuleBlock, Search
from thence.search.neighbours import Neighbours

__all__ = ["Sample", "sample_near", "sample_search"]

Keep = Callable[[NDArray[np.int32], NDArray[np.int32]], NDArray[np.bool_]]

# A sample has at least this many first items, or all.
_LEAST_UNITS = 12
# The most work of a sample, relative to its limit, whatever the number of its first items.
_MOST = 4
# Rules in the buffer of the search.
_ROOM = 1 << 16
# Writing a rule takes about as long as processing this many words.
_WORDS_PER_RULE = 16


@dataclass(frozen=True)
class Sample:
    """Rules per subtree of a search, for several minimum supports.

    Args:
        weights: Expected size of each subtree that was searched.
        counts: Its rules that reach each minimum support: subtrees × supports.
        total_weight: Expected size of all subtrees.
        n_units: Number of all subtrees.
        words: Number of words processed in the subtrees that were searched.
        cut: Whether the search of a subtree was ended before it was complete, so that the estimate is too low.
    """

    weights: NDArray[np.float64]
    counts: NDArray[np.float64]
    total_weight: float
    n_units: int
    words: float = 0.0
    cut: bool = False

    @property
    def exact(self) -> bool:
        """Whether every subtree was searched."""
        return len(self.weights) == self.n_units and not self.cut

    @property
    def total_words(self) -> float:
        """Estimated number of words that the whole search processes."""
        return self.words if self.exact else self.words * self.total_weight / max(float(self.weights.sum()), 1.0)

    def totals(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Estimate the number of rules for each minimum support, and the variance of the estimate."""
        found = self.counts.sum(axis=0)
        if self.exact:
            return found, np.zeros_like(found)
        sampled = len(self.weights)
        ratio = found / self.weights.sum()
        residuals = self.counts - self.weights[:, None] * ratio
        spread = (residuals**2).sum(axis=0) / max(sampled - 1, 1)
        share = sampled / self.n_units
        scale = self.total_weight / self.weights.sum() * sampled
        return ratio * self.total_weight, scale**2 * (1 - share) * spread / sampled


def sample_search(
    problem: SearchProblem, *, supports: Sequence[Fraction], limit: float, keep: Keep | None = None
) -> Sample:
    """Search some of the first items of a problem, in random order.

    Args:
        problem: The problem, as ``prepare_search`` returns it.
        supports: Minimum supports for which rules are counted, none below that of the problem.
        limit: Number of words to process.
        keep: Which rules count, given antecedents and consequents; all by default.

    Returns:
        The rules per first item.
    """
    weights = _subtree_sizes(problem)
    units = np.flatnonzero(weights > 0)
    search = Search(problem, min(_ROOM, max(len(problem.name) ** 2, 1)))
    stop = threading.Event()
    rows: list[NDArray[np.float64]] = []
    work = 0.0
    order = np.random.default_rng(0).permutation(units)
    for first in order.tolist():
        if work > limit and (len(rows) >= _LEAST_UNITS or work > _MOST * limit):
            break
        search.begin(first, first + 1)
        row = np.zeros(len(supports))
        before = search.processed
        while not search.finished and work < 2 * _MOST * limit:
            block = RuleBlock(*search.advance(stop), progress=0.0)
            row += _count_by_support(block, supports, keep)
            work += len(block) * _WORDS_PER_RULE + search.processed - before
            before = search.processed
        rows.append(row)
    return Sample(
        weights[order[: len(rows)]].astype(np.float64),
        np.array(rows).reshape(len(rows), len(supports)),
        float(weights[units].sum()),
        len(units),
        work,
        cut=not search.finished,
    )


def sample_near(
    *, near: Neighbours, supports: Sequence[Fraction], limit: float, keep: Keep | None = None, **search: Any
) -> Sample:
    """Search some of the neighbourhoods of ``mine_near``, in random order.

    Args:
        near: The neighbours of each feature.
        supports: Minimum supports for which rules are counted, none below that of the search.
        limit: Number of words to process.
        keep: Which rules count, given antecedents and consequents; all by default.
        **search: The other arguments of ``mine_around``.

    Returns:
        The rules per neighbourhood.
    """
    later = near.starts[1:] - near.first_later
    weights = later.astype(np.float64) ** search["max_antecedents"]
    units = np.flatnonzero(weights > 0)
    rows: list[NDArray[np.float64]] = []
    work = 0.0
    order = np.random.default_rng(0).permutation(units)
    for first in order.tolist():
        if work > limit and (len(rows) >= _LEAST_UNITS or work > _MOST * limit):
            break
        row = np.zeros(len(supports))
        for block in mine_around(first, near=near, **search):
            row += _count_by_support(block, supports, keep)
            work += len(block) * _WORDS_PER_RULE
        work += float(later[first]) ** 2 * search["bitmaps"].shape[1]
        rows.append(row)
    return Sample(
        weights[order[: len(rows)]],
        np.array(rows).reshape(len(rows), len(supports)),
        float(weights.sum()),
        len(units),
        work,
    )


def _subtree_sizes(problem: SearchProblem) -> NDArray[np.float64]:
    """The number of antecedents that may begin with each item: pairs of frequent items, to the power of the levels."""
    n_items, may_lead = len(problem.name), problem.antecedent_ok
    if not n_items:
        return np.zeros(0)
    if len(problem.pairs):
        worst = int(problem.top_missing[min(problem.max_antecedents + 1, len(problem.top_missing) - 1)])
        least_n = max(problem.n_complete, problem.n_rows - worst)
        floor = max(1, -(-problem.support_p * least_n // problem.support_q))
        later = np.fromiter(_count_later(problem, floor), np.float64, n_items)
    else:
        later = np.cumsum(may_lead[::-1])[::-1].astype(np.float64)
    return np.where(may_lead, (1.0 + later) ** (problem.max_antecedents - 1), 0.0)


def _count_later(problem: SearchProblem, floor: int) -> Iterator[int]:
    for item in range(len(problem.name)):
        yield int(np.count_nonzero((problem.pairs[item, item:] >= floor) & problem.antecedent_ok[item:]))


def _count_by_support(block: RuleBlock, supports: Sequence[Fraction], keep: Keep | None) -> NDArray[np.float64]:
    counts = block.counts if keep is None else block.counts[keep(block.antecedents, block.consequents)]
    n, both = counts[:, 0], counts[:, 3]
    return np.array([np.count_nonzero(both * s.denominator >= n * s.numerator) for s in supports], np.float64)
