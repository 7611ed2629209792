"""Exhaustive search for rules with one consequent, depth first over packed bitmaps.

The search visits antecedents (sets of items, at most one per feature) in lexicographic order and keeps, for each item
that may still matter, the number of rows that it shares with the antecedent. It is fast because it avoids most counts:
given the counts of all pairs of items, ``n(P, j, i) ≤ min(n(P, i), n(j, i))`` rejects nearly every consequent ``i`` of
the antecedent ``P ∪ {j}`` before a bitmap is read, because a rule needs
``max(min_support · n, min_confidence · n(P, j))`` rows.

**Thresholds are exact.** ``min_support`` and ``min_confidence`` mean the decimal number that was written (0.8 is 4/5,
not the nearest binary number), and are compared with ratios of integers in integers
(``thence.statements.rules.bounds``).

**Missing values.** With ``present`` given, support and confidence of a rule are taken over the rows in which all its
features are present (see ``thence.tables.bitmaps.counts``). Then ``n`` shrinks as features are added and support is no
longer anti-monotone: a rule may be frequent among few complete rows although its antecedent is rare among all rows. The
search prunes with the smallest ``n`` that is still possible instead. Let ``F`` be the features of a node, ``n(F)`` the
rows in which all of ``F`` are present, ``r`` the number of features that a rule below the node may still add, and ``m₁
≥ m₂ ≥ …`` the numbers of rows in which each feature is missing, sorted. A rule with features ``G ⊇ F`` below the node
has ``n(G) ≥ n(F) − (m₁ + … + m_r)`` by the union bound, and ``n(G) ≥ n(all features)``; let ``b`` be the larger of the
two. A rule that passes has ``n_both ≥ ⌈min_support · n(G)⌉ ≥ ⌈min_support · b⌉``, and every subset of its items holds
in at least ``n_both`` rows; so a set of items that holds in fewer than ``⌈min_support · b⌉`` rows can be pruned. The
remaining rules are decided by their own exact counts. If nothing is missing, ``b = n`` and this is the usual pruning.

This module works on plain arrays only. It must not know tables or rules as objects, nor print, nor compute measures.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thence._base.settings.threads import default_threads
from thence.errors import ConfigError, InputError, MiningError
from thence.search.exact.kernels import (
    FILLED,
    PROCESSED,
    SearchProblem,
    SearchState,
    continue_search,
    count_pairs_of,
)
from thence.statements.rules.bounds import as_fraction, exact_threshold
from thence.tables.bitmaps.bits import (
    SMALL_WORK,
    Words,
    as_kernel_array,
    check_bitmaps,
    full_mask,
    popcount,
    run_threads,
)

__all__ = [
    "RuleBlock",
    "Search",
    "cap_blocks",
    "finds_pairs_only",
    "mine_exact",
    "prepare_search",
    "select_pairs",
    "split_runs",
]

# Pair counts are stored for up to this many frequent items (256 MB); with more, only the bound n(P, i) prunes.
_MAX_PAIR_ITEMS = 8192
# The words of all items that should stay in the second-level cache while pairs are counted (1 MB).
_CACHE_WORDS = 1 << 17
# Pair counts are mirrored in tiles of this many items, so that the copies stay small.
_TILE = 512
# The words that a run of first items would process if nothing were pruned; smaller runs are not worth a task.
_RUN_WORK = 1 << 27
# Words processed between two checks of the stop signal: a few hundredths of a second.
_BUDGET = 1 << 27

_Rules = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]


@dataclass(frozen=True, slots=True)
class RuleBlock:
    """Consecutive rules in search order.

    Args:
        antecedents: Items, one row per rule, padded with −1.
        consequents: Items, one per rule.
        counts: The columns n, n_antecedent, n_consequent, n_both.
        progress: The share of the search that is done after this block.
        capped: Whether ``max_rules`` ended the search after this block although there are more rules.
    """

    antecedents: NDArray[np.int32]
    consequents: NDArray[np.int32]
    counts: NDArray[np.int64]
    progress: float
    capped: bool = False

    def __len__(self) -> int:
        return len(self.consequents)


class Search:
    """A search over runs of first items, one run after the other; rules are copied from a buffer of fixed size.

    Args:
        problem: The input.
        room: Number of rules in the buffer.
    """

    def __init__(self, problem: SearchProblem, room: int) -> None:
        levels = problem.max_antecedents + 1
        n_items, width = len(problem.name), problem.bitmaps.shape[1]
        state = SearchState(
            control=np.zeros(4, dtype=np.int64),
            chosen=np.full(levels, -1, dtype=np.int32),
            cursor=np.zeros(levels, dtype=np.int64),
            counts=np.zeros((levels, n_items), dtype=np.int32),
            candidates=np.zeros((levels, n_items), dtype=np.int32),
            n_candidates=np.zeros(levels, dtype=np.int64),
            words=np.zeros((levels, width), dtype=np.uint64),
            places=np.zeros((levels, width), dtype=np.int32),
            n_places=np.full(levels, -1, dtype=np.int64),
            known=np.zeros((levels if len(problem.present) else 1, width), dtype=np.uint64),
            known_at=np.zeros(levels, dtype=np.int64),
            n_known=np.full(levels, problem.n_rows, dtype=np.int64),
            survivors=np.zeros(n_items + 1, dtype=np.int32),
            out_antecedents=np.empty((room + n_items, problem.max_antecedents), dtype=np.int32),
            out_consequents=np.empty(room + n_items, dtype=np.int32),
            out_counts=np.empty((room + n_items, 4), dtype=np.int64),
        )
        state.counts[0] = problem.n_item
        state.candidates[0] = np.arange(n_items)
        state.n_candidates[0] = n_items
        state.words[0] = state.known[0] = full_mask(problem.n_rows)
        self._problem = problem
        self._state = state
        self.finished = True
        self.processed = 0

    def begin(self, first: int, last: int) -> Search:
        """Start with the antecedents that begin with one of the items ``first … last − 1``."""
        self._state.control[:] = (0, last, 0, 0)
        self._state.cursor[0] = first
        self.finished = False
        return self

    @property
    def next_item(self) -> int:
        """The first item that has not been started."""
        return int(self._state.cursor[0])

    def advance(self, stop: threading.Event) -> _Rules:
        """Return the next rules: none only if the run is finished or the search is stopped."""
        state = self._state
        filled = 0
        while not (self.finished or filled or stop.is_set()):
            self.finished = bool(continue_search(self._problem, state, _BUDGET))
            filled = int(state.control[FILLED])
            self.processed += int(state.control[PROCESSED])
        return (
            state.out_antecedents[:filled].copy(),
            state.out_consequents[:filled].copy(),
            state.out_counts[:filled].copy(),
        )


def mine_exact(
    bitmaps: Words,
    *,
    feature_of_item: ArrayLike,
    n_rows: int,
    antecedent_ok: ArrayLike | None = None,
    consequent_ok: ArrayLike | None = None,
    present: Words | None = None,
    max_antecedents: int = 2,
    min_support: float | str | Fraction = 0.01,
    min_confidence: float | str | Fraction = 0.8,
    max_rules: int | None = None,
    block_rules: int = 1 << 16,
    threads: int | None = None,
) -> Generator[RuleBlock, None, None]:
    """Find all rules with one consequent that meet the thresholds, block by block.

    A rule has at most one item per feature, holds in at least one row, and has ``n_both / n ≥ min_support`` and
    ``n_both / n_antecedent ≥ min_confidence``, exactly. Each rule is returned once, with its antecedent in increasing
    order, and the order of the rules does not depend on the number of threads. A few blocks per thread are in memory at
    a time; the search continues while the caller uses a block, and ends when the caller closes the generator.

    Args:
        bitmaps: One bitmap per item. Items are numbered feature by feature, and the items of a feature exclude each
            other.
        feature_of_item: The feature of each item.
        n_rows: The number of rows.
        antecedent_ok: For each item, whether it may be in an antecedent. By default every item may.
        consequent_ok: For each item, whether it may be a consequent. By default every item may.
        present: One bitmap per feature of the rows in which it is not missing. A rule is then counted over the rows in
            which all its features are present; without it, over all rows.
        max_antecedents: The largest number of antecedent items.
        min_support: The lowest support.
        min_confidence: The lowest confidence.
        max_rules: The search ends after this many rules, with a block that is marked as ``capped``.
        block_rules: About how many rules a block has.
        threads: The number of threads, by default one per processor.

    Returns:
        A generator of blocks of rules.

    Raises:
        ConfigError: If a threshold or limit is impossible.
        InputError: If the arrays do not match each other.
        MiningError: If there are too many rows.

    Examples:
        >>> from thence.tables.bitmaps.bits import pack_codes
        >>> bitmaps, present = pack_codes([[0, 0], [0, 0], [1, 0], [1, 1]], cardinalities=[2, 2])
        >>> for block in mine_exact(bitmaps, feature_of_item=[0, 0, 1, 1], n_rows=4, min_support=0.25):
        ...     for left, right, counts in zip(block.antecedents, block.consequents, block.counts, strict=True):
        ...         print(left.tolist(), int(right), counts.tolist())
        [0, -1] 2 [4, 2, 3, 2]
        [3, -1] 1 [4, 1, 2, 1]
    """
    problem = prepare_search(
        bitmaps,
        feature_of_item=np.ascontiguousarray(feature_of_item, dtype=np.int32).ravel(),
        n_rows=n_rows,
        antecedent_ok=antecedent_ok,
        consequent_ok=consequent_ok,
        present=present,
        max_antecedents=max_antecedents,
        min_support=min_support,
        min_confidence=min_confidence,
        threads=threads,
    )
    if max_rules is not None and max_rules < 0:
        raise ConfigError(f"max_rules must not be negative, got {max_rules}")
    if block_rules < 1:
        raise ConfigError(f"block_rules must be at least 1, got {block_rules}")
    workers = threads or default_threads()
    if finds_pairs_only(problem):
        blocks = select_pairs(problem, block_rules=block_rules)
    else:
        blocks = _stream(problem, block_rules=block_rules, workers=workers)
    return blocks if max_rules is None else cap_blocks(blocks, max_rules)


def prepare_search(
    bitmaps: Words,
    *,
    feature_of_item: NDArray[np.int32],
    n_rows: int,
    antecedent_ok: ArrayLike | None,
    consequent_ok: ArrayLike | None,
    present: Words | None,
    max_antecedents: int,
    min_support: float | str | Fraction,
    min_confidence: float | str | Fraction,
    threads: int | None = None,
    count_pairs: bool = True,
) -> SearchProblem:
    """Check the input, keep the items that can occur in a rule, and count their pairs if these are few enough."""
    bitmaps = check_bitmaps(bitmaps, n_rows, "bitmaps")
    present = None if present is None else check_bitmaps(present, n_rows, "present")
    n_items = bitmaps.shape[0]
    may_lead = np.ones(n_items, dtype=bool) if antecedent_ok is None else np.asarray(antecedent_ok, dtype=bool)
    may_follow = np.ones(n_items, dtype=bool) if consequent_ok is None else np.asarray(consequent_ok, dtype=bool)
    n_of_item = popcount(bitmaps)
    _check(bitmaps, feature_of_item, n_of_item, n_rows, may_lead, may_follow, present, max_antecedents)
    support = _threshold(min_support, "min_support", n_rows)
    confidence = _threshold(min_confidence, "min_confidence", n_rows)
    wanted = (may_lead | may_follow) & (n_of_item > 0)
    features = np.unique(feature_of_item[wanted])
    n_complete, missing, known = n_rows, np.zeros(0, dtype=np.int64), np.zeros((0, bitmaps.shape[1]), dtype=np.uint64)
    if present is not None:
        missing = n_rows - popcount(present)
        if missing[features].any():
            known = np.ascontiguousarray(present)
            n_complete = int(popcount(np.bitwise_and.reduce(present[features], axis=0)))
    has_missing = np.zeros(int(feature_of_item.max(initial=-1)) + 1, dtype=bool)
    has_missing[: len(missing)] = missing[: len(has_missing)] > 0
    most = np.zeros(max_antecedents + 2, dtype=np.int64)
    worst = -np.sort(-missing[features]) if len(missing) else missing
    most[1:] = [int(worst[:count].sum()) for count in range(1, max_antecedents + 2)]
    least_n = max(n_complete, n_rows - int(most[-1]))
    floor = max(1, -(-support.numerator * least_n // support.denominator))
    items = np.flatnonzero(wanted & (n_of_item >= floor)).astype(np.int32)
    problem = SearchProblem(
        name=as_kernel_array(items, np.int32),
        bitmaps=as_kernel_array(bitmaps, np.uint64),
        feature=as_kernel_array(feature_of_item[items], np.int32),
        n_item=as_kernel_array(n_of_item[items], np.int32),
        antecedent_ok=as_kernel_array(may_lead[items], np.bool_),
        consequent_ok=as_kernel_array(may_follow[items], np.bool_),
        pairs=as_kernel_array(np.zeros((0, 0)), np.int32),
        present=as_kernel_array(known, np.uint64),
        has_missing=as_kernel_array(has_missing, np.bool_),
        top_missing=as_kernel_array(most, np.int64),
        n_rows=n_rows,
        n_complete=n_complete,
        max_antecedents=max_antecedents,
        support_p=support.numerator,
        support_q=support.denominator,
        confidence_p=confidence.numerator,
        confidence_q=confidence.denominator,
    )
    if count_pairs and 0 < len(items) <= _MAX_PAIR_ITEMS:
        problem = problem._replace(pairs=_count_pairs(problem, threads))
    return problem


def _check(
    bitmaps: Words,
    feature_of_item: NDArray[np.int32],
    n_of_item: NDArray[np.int64],
    n_rows: int,
    may_lead: NDArray[np.bool_],
    may_follow: NDArray[np.bool_],
    present: Words | None,
    max_antecedents: int,
) -> None:
    n_items = bitmaps.shape[0]
    if not (len(feature_of_item) == len(may_lead) == len(may_follow) == n_items):
        raise InputError(
            f"feature_of_item, antecedent_ok and consequent_ok must have one entry for each of {n_items} items"
        )
    if n_items and (feature_of_item[0] < 0 or (np.diff(feature_of_item) < 0).any()):
        raise InputError("items must be numbered feature by feature, but feature_of_item is not ascending")
    starts = np.flatnonzero(np.diff(feature_of_item, prepend=-1))
    if n_items and popcount(np.bitwise_or.reduceat(bitmaps, starts, axis=0)).sum() != n_of_item.sum():
        raise InputError("the items of a feature must exclude each other, but two of them hold in the same row")
    if present is not None and (
        present.shape[1:] != bitmaps.shape[1:] or len(present) <= feature_of_item.max(initial=-1)
    ):
        raise InputError(f"present of shape {present.shape} does not match bitmaps of shape {bitmaps.shape}")
    if max_antecedents < 1:
        raise ConfigError(f"max_antecedents must be at least 1, got {max_antecedents}")
    if n_rows >= 1 << 31:
        raise MiningError(
            f"{n_rows} rows are too many for one search", hint="mine a sample, then count its rules on all rows"
        )


def _threshold(value: float | str | Fraction, name: str, n_rows: int) -> Fraction:
    try:
        wanted = as_fraction(value)
    except ConfigError:
        raise ConfigError(f"{name} must be a number from 0 to 1, got {value!r}") from None
    if not 0 <= wanted <= 1:
        raise ConfigError(f"{name} must be from 0 to 1, got {value}")
    return exact_threshold(wanted, max_denominator=max(n_rows, 1))


def _count_pairs(problem: SearchProblem, threads: int | None) -> NDArray[np.int32]:
    """Count the rows that each two items share: the counts of rules with one antecedent, and a bound for others."""
    n_items, width = len(problem.name), problem.bitmaps.shape[1]
    pairs = np.zeros((n_items, n_items), dtype=np.int32)
    block = int(min(4096, max(64, _CACHE_WORDS // max(n_items, 1))))
    # A task counts every step-th item, so that tasks are equally long, and short enough to stop between them.
    step = 1 if n_items * n_items * width < 2 * SMALL_WORK else max(4 * (threads or default_threads()), n_items // 32)
    run_threads(
        lambda first: count_pairs_of(problem, first, step, block, pairs),
        range(step),
        threads=threads,
    )
    for low in range(0, n_items, _TILE):  # copy the upper triangle to the lower one
        high = min(low + _TILE, n_items)
        pairs[low:, low:high] |= pairs[low:high, low:].T
    return as_kernel_array(pairs, np.int32)


def finds_pairs_only(problem: SearchProblem) -> bool:
    """Return whether the counts of pairs are all that a search needs, so that nothing is left to search."""
    return problem.max_antecedents == 1 and len(problem.pairs) > 0 and not len(problem.present)


def select_pairs(problem: SearchProblem, *, block_rules: int) -> Generator[RuleBlock, None, None]:
    """Yield the rules with one antecedent, which are pairs of items, in the order of the search.

    The counts of all pairs are known, so nothing is left to search and no further kernel has to be compiled.
    """
    n_items, n_of_item = len(problem.name), problem.n_item.astype(np.int64)
    floor = max(1, -(-problem.support_p * problem.n_rows // problem.support_q))
    confident = -(-problem.confidence_p * n_of_item // problem.confidence_q)
    least = np.where(problem.antecedent_ok, np.maximum(confident, floor), problem.n_rows + 1)
    for low in range(0, n_items, _TILE):
        pairs = problem.pairs[low : low + _TILE]
        passed = (pairs >= least[low : low + _TILE, None]) & problem.consequent_ok
        left, right = np.nonzero(passed)
        both = pairs[left, right]
        left += low
        counts = np.stack([np.full(len(left), problem.n_rows), n_of_item[left], n_of_item[right], both], axis=1)
        for start in range(0, max(len(left), 1), block_rules):
            some = slice(start, start + block_rules)
            antecedents, consequents = problem.name[left[some], None], problem.name[right[some]]
            yield RuleBlock(antecedents, consequents, counts[some], progress=min(low + _TILE, n_items) / n_items)


def split_runs(problem: SearchProblem, workers: int) -> list[tuple[int, int]]:
    """Split the first items into runs of about equal work; an early item has more later items than a late one."""
    n_items, width = len(problem.name), problem.bitmaps.shape[1]
    leading = problem.antecedent_ok.astype(np.float64)
    antecedents = np.cumsum(leading * np.cumsum(leading[::-1])[::-1] ** (problem.max_antecedents - 1))
    if not n_items:
        return []
    pieces = int(min(antecedents[-1] * n_items * width / _RUN_WORK, workers * 16, n_items))
    cuts = np.searchsorted(antecedents, antecedents[-1] * np.arange(1, pieces) / max(pieces, 1))
    bounds = [0, *np.unique(cuts).tolist(), n_items]
    return [(low, high) for low, high in pairwise(bounds) if high > low]


def _stream(problem: SearchProblem, *, block_rules: int, workers: int) -> Generator[RuleBlock, None, None]:
    """Yield blocks in the order of their first items, while later runs are searched ahead by at most one block each."""
    runs = deque(split_runs(problem, workers))
    workers = min(workers, len(runs))
    n_items = len(problem.name)
    stop = threading.Event()
    if workers <= 1:
        search = Search(problem, block_rules)
        for run in runs:
            search.begin(*run)
            while not search.finished:
                rules = search.advance(stop)
                yield RuleBlock(*rules, progress=search.next_item / n_items)
        return
    waiting: deque[tuple[Search, Future[_Rules]]] = deque()
    spare = [Search(problem, block_rules) for _ in range(2 * workers)]
    pool = ThreadPoolExecutor(workers)
    try:
        while runs or waiting:
            while runs and spare:
                search = spare.pop().begin(*runs.popleft())
                waiting.append((search, pool.submit(search.advance, stop)))
            search, future = waiting.popleft()
            rules = future.result()
            progress = search.next_item / n_items
            if search.finished:
                spare.append(search)
            else:
                waiting.appendleft((search, pool.submit(search.advance, stop)))
            yield RuleBlock(*rules, progress=progress)
    finally:
        stop.set()
        pool.shutdown(wait=True, cancel_futures=True)


def cap_blocks(blocks: Generator[RuleBlock, None, None], max_rules: int) -> Generator[RuleBlock, None, None]:
    """Yield the first ``max_rules`` rules; if there are more, the last block is marked as capped."""
    left = max_rules
    with closing(blocks):
        for block in blocks:
            if len(block) > left:
                yield RuleBlock(
                    block.antecedents[:left], block.consequents[:left], block.counts[:left], block.progress, capped=True
                )
                return
            left -= len(block)
            yield block
