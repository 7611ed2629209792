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

**One search, a neighbourhood and a place to run.** ``mine_exact`` searches all features, or among neighbours one
neighbourhood after the other: a rule is found in the neighbourhood of the first of its features, and all others are
later neighbours of that one. The time then grows with the number of features and the size of their neighbourhoods. It
runs in threads of this process, on an executor in ranges of first items or first features, or on a device of torch
(``thence.search.exact.device``), always with the same rules in the same order.

This module works on plain arrays only. It must not know tables or rules as objects, nor print, nor compute measures.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thence._base.cluster.executors import Executor
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
from thence.search.neighbours import Neighbours
from thence.statements.rules.bounds import as_fraction, exact_threshold
from thence.tables.bitmaps.bits import (
    SMALL_WORK,
    Words,
    as_kernel_array,
    check_bitmaps,
    full_mask,
    popcount,
    read_only,
    run_threads,
)

if TYPE_CHECKING:
    import torch

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

# Ranges of first features per worker of an executor: enough that a slow one does not keep the others waiting.
_RANGES = 16

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

    def select(self, chosen: NDArray[np.bool_] | slice) -> RuleBlock:
        """Return the chosen rules as a block with the same progress."""
        return replace(
            self,
            antecedents=self.antecedents[chosen],
            consequents=self.consequents[chosen],
            counts=self.counts[chosen],
        )


@dataclass(frozen=True, eq=False)
class SearchInput:
    """What is searched: the items, on which side of a rule each may be, and the thresholds.

    Args:
        bitmaps: One bitmap per item.
        feature: The feature of each item, ascending.
        n_item: The number of rows in which each item holds.
        n_rows: The number of rows.
        leads: For each item, whether it may be in an antecedent.
        follows: For each item, whether it may be a consequent.
        present: One bitmap per feature of the rows in which it is not missing, or ``None``.
        max_antecedents: The largest number of antecedent items.
        support: The lowest support.
        confidence: The lowest confidence.
    """

    bitmaps: Words
    feature: NDArray[np.int32]
    n_item: NDArray[np.int64]
    n_rows: int
    leads: NDArray[np.bool_]
    follows: NDArray[np.bool_]
    present: Words | None
    max_antecedents: int
    support: Fraction
    confidence: Fraction

    @staticmethod
    def of(
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
    ) -> SearchInput:
        """Check what is to be searched.

        Args:
            bitmaps: One bitmap per item. Items are numbered feature by feature, and the items of a feature exclude each
                other.
            feature_of_item: The feature of each item.
            n_rows: The number of rows.
            antecedent_ok: For each item, whether it may be in an antecedent. By default every item may.
            consequent_ok: For each item, whether it may be a consequent. By default every item may.
            present: One bitmap per feature of the rows in which it is not missing. A rule is then counted over the rows
                in which all its features are present; without it, over all rows.
            max_antecedents: The largest number of antecedent items.
            min_support: The lowest support.
            min_confidence: The lowest confidence.

        Raises:
            ConfigError: If a threshold is impossible.
            InputError: If the arrays do not match each other.
            MiningError: If there are too many rows.
        """
        bitmaps = check_bitmaps(bitmaps, n_rows, "bitmaps")
        present = None if present is None else check_bitmaps(present, n_rows, "present")
        n_items = len(bitmaps)
        feature = np.ascontiguousarray(feature_of_item, dtype=np.int32).ravel()
        leads, follows = (
            np.ones(n_items, dtype=bool) if allowed is None else np.asarray(allowed, dtype=bool)
            for allowed in (antecedent_ok, consequent_ok)
        )
        if not (len(feature) == len(leads) == len(follows) == n_items):
            raise InputError(
                f"feature_of_item, antecedent_ok and consequent_ok must have one entry for each of {n_items} items"
            )
        if n_items and (feature[0] < 0 or (np.diff(feature) < 0).any()):
            raise InputError("items must be numbered feature by feature, but feature_of_item is not ascending")
        n_item = popcount(bitmaps)
        starts = np.flatnonzero(np.diff(feature, prepend=-1))
        if n_items and popcount(np.bitwise_or.reduceat(bitmaps, starts, axis=0)).sum() != n_item.sum():
            raise InputError("the items of a feature must exclude each other, but two of them hold in the same row")
        if present is not None and (present.shape[1:] != bitmaps.shape[1:] or len(present) <= feature.max(initial=-1)):
            raise InputError(f"present of shape {present.shape} does not match bitmaps of shape {bitmaps.shape}")
        if max_antecedents < 1:
            raise ConfigError(f"max_antecedents must be at least 1, got {max_antecedents}")
        if n_rows >= 1 << 31:
            raise MiningError(
                f"{n_rows} rows are too many for one search", hint="mine a sample, then count its rules on all rows"
            )
        support = _threshold(min_support, "min_support", n_rows)
        confidence = _threshold(min_confidence, "min_confidence", n_rows)
        return SearchInput(
            bitmaps, feature, n_item, n_rows, leads, follows, present, max_antecedents, support, confidence
        )

    def around(
        self, first: int, near: Neighbours, *, block_rules: int = 1 << 16, threads: int | None = None
    ) -> Generator[RuleBlock]:
        """Yield the rules whose first feature is ``first`` and whose features are all neighbours of each other."""
        later = near.members[near.first_later[first] : near.starts[first + 1]]
        if not len(later):
            return
        features = np.concatenate([[first], later])
        low, high = np.searchsorted(self.feature, features), np.searchsorted(self.feature, features + 1)
        items = np.concatenate([np.arange(*bounds) for bounds in zip(low.tolist(), high.tolist(), strict=True)])
        part = replace(
            self,
            bitmaps=self.bitmaps[items],
            feature=np.repeat(np.arange(len(features), dtype=np.int32), high - low),
            n_item=self.n_item[items],
            leads=self.leads[items],
            follows=self.follows[items],
            present=None if self.present is None else self.present[features],
        )
        numbers, owner = np.append(items, -1).astype(np.int32), np.append(self.feature, -1).astype(np.int64)
        for block in _search(part.problem(threads=threads), block_rules=block_rules, threads=threads):
            named = replace(block, antecedents=numbers[block.antecedents], consequents=numbers[block.consequents])
            members = owner[np.concatenate([named.antecedents, named.consequents[:, None]], axis=1)]
            keep = (members == first).any(axis=1)
            for one, other in combinations(members.T, 2):
                keep &= (one < 0) | (other < 0) | near.together(one, other)
            yield named.select(keep)

    def problem(self, *, threads: int | None = None, count_pairs: bool = True) -> SearchProblem:
        """Keep the items that can occur in a rule, and count their pairs if these are few enough."""
        n_rows, present, most = self.n_rows, self.present, self.max_antecedents
        wanted = (self.leads | self.follows) & (self.n_item > 0)
        features = np.unique(self.feature[wanted])
        n_complete, missing, known = n_rows, np.zeros(0, np.int64), np.zeros((0, self.bitmaps.shape[1]), np.uint64)
        if present is not None:
            missing = n_rows - popcount(present)
            if missing[features].any():
                known = np.ascontiguousarray(present)
                n_complete = int(popcount(np.bitwise_and.reduce(present[features], axis=0)))
        has_missing = np.zeros(int(self.feature.max(initial=-1)) + 1, dtype=bool)
        has_missing[: len(missing)] = missing[: len(has_missing)] > 0
        worst = -np.sort(-missing[features]) if len(missing) else missing
        top_missing = np.array([int(worst[:count].sum()) for count in range(most + 2)], np.int64)
        least_n = max(n_complete, n_rows - int(top_missing[-1]))
        floor = max(1, -(-self.support.numerator * least_n // self.support.denominator))
        items = np.flatnonzero(wanted & (self.n_item >= floor)).astype(np.int32)
        problem = SearchProblem(
            name=as_kernel_array(items, np.int32),
            bitmaps=as_kernel_array(self.bitmaps, np.uint64),
            feature=as_kernel_array(self.feature[items], np.int32),
            n_item=as_kernel_array(self.n_item[items], np.int32),
            antecedent_ok=as_kernel_array(self.leads[items], np.bool_),
            consequent_ok=as_kernel_array(self.follows[items], np.bool_),
            pairs=as_kernel_array(np.zeros((0, 0)), np.int32),
            present=as_kernel_array(known, np.uint64),
            has_missing=as_kernel_array(has_missing, np.bool_),
            top_missing=as_kernel_array(top_missing, np.int64),
            n_rows=n_rows,
            n_complete=n_complete,
            max_antecedents=most,
            support_p=self.support.numerator,
            support_q=self.support.denominator,
            confidence_p=self.confidence.numerator,
            confidence_q=self.confidence.denominator,
        )
        if count_pairs and 0 < len(items) <= _MAX_PAIR_ITEMS:
            problem = problem._replace(pairs=_count_pairs(problem, threads))
        return problem


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
    given: SearchInput,
    *,
    near: Neighbours | None = None,
    executor: Executor | None = None,
    device: torch.device | None = None,
    max_rules: int | None = None,
    block_rules: int = 1 << 16,
    threads: int | None = None,
) -> Generator[RuleBlock]:
    """Find all rules with one consequent that meet the thresholds, block by block.

    A rule has at most one item per feature, holds in at least one row, and has ``n_both / n ≥ min_support`` and
    ``n_both / n_antecedent ≥ min_confidence``, exactly. Each rule is returned once, with its antecedent in increasing
    order, and the order of the rules depends neither on the place nor on the number of threads. A few blocks per thread
    are in memory at a time; the search continues while the caller uses a block, and ends when the caller closes the
    generator.

    Args:
        given: What is searched.
        near: The neighbours of each feature, if all features of a rule must be neighbours of each other.
        executor: Where to search; by default, and if it is local, in threads of this process. Bitmaps are sent to each
            machine once, and a task returns at most one rule more than ``max_rules``.
        device: The device of torch to search on; by default none.
        max_rules: The search ends after this many rules, with a block that is marked as ``capped``.
        block_rules: About how many rules a block has.
        threads: The number of threads, by default one per processor.

    Returns:
        A generator of blocks of rules.

    Raises:
        ConfigError: If a limit is impossible.

    Examples:
        >>> from thence.tables.bitmaps.bits import pack_codes
        >>> bitmaps, present = pack_codes([[0, 0], [0, 0], [1, 0], [1, 1]], cardinalities=[2, 2])
        >>> given = SearchInput.of(bitmaps, feature_of_item=[0, 0, 1, 1], n_rows=4, min_support=0.25)
        >>> for block in mine_exact(given):
        ...     for left, right, counts in zip(block.antecedents, block.consequents, block.counts, strict=True):
        ...         print(left.tolist(), int(right), counts.tolist())
        [0, -1] 2 [4, 2, 3, 2]
        [3, -1] 1 [4, 1, 2, 1]
    """
    if max_rules is not None and max_rules < 0:
        raise ConfigError(f"max_rules must not be negative, got {max_rules}")
    if block_rules < 1:
        raise ConfigError(f"block_rules must be at least 1, got {block_rules}")
    if device is not None:
        from thence.search.exact.device import search_on_device

        blocks = search_on_device(given.problem(count_pairs=False), near, device, block_rules)
    elif executor is not None and not executor.is_local:
        blocks = _search_elsewhere(given, near, executor, max_rules, block_rules)
    elif near is None:
        blocks = _search(given.problem(threads=threads), block_rules=block_rules, threads=threads)
    else:
        blocks = _search_near(given, near, range(near.n_features), block_rules=block_rules, threads=threads)
    return blocks if max_rules is None else _cap(blocks, max_rules)


def _search(problem: SearchProblem, *, block_rules: int, threads: int | None) -> Generator[RuleBlock]:
    """Search all features, in threads of this process."""
    if _finds_pairs_only(problem):
        return _select_pairs(problem, block_rules=block_rules)
    return _stream(problem, block_rules=block_rules, workers=threads or default_threads())


def _search_near(
    given: SearchInput, near: Neighbours, features: range, *, block_rules: int, threads: int | None
) -> Generator[RuleBlock]:
    """Search the neighbourhoods of some features, one after the other."""
    for first in features:
        for block in given.around(first, near, block_rules=block_rules, threads=threads):
            yield replace(block, progress=(first + block.progress) / near.n_features)


def _search_elsewhere(
    given: SearchInput, near: Neighbours | None, executor: Executor, max_rules: int | None, block_rules: int
) -> Generator[RuleBlock]:
    """Search on an executor, in ranges of first items or of first features.

    The antecedents of a rule are in increasing order, so the rules that begin with some items are found without knowing
    the others, and the ranges give, one after the other, the rules in the order of one search. Pairs of items are
    counted here; that is all there is to do if rules have one antecedent and there are few items.
    """
    if near is None:
        problem = given.problem()
        if _finds_pairs_only(problem):
            yield from _select_pairs(problem, block_rules=block_rules)
            return
        runs = _split_runs(problem, executor.workers)
        found = executor.map(_search_run, runs, shared=(problem, max_rules, block_rules))
    else:
        runs = _split_features(near, given.max_antecedents, _RANGES * executor.workers)
        found = executor.map(_search_around, runs, shared=(given, near, max_rules, block_rules))
    with closing(found):
        for done, rules in enumerate(found, start=1):
            yield RuleBlock(*rules, progress=done / len(runs))


def _search_run(shared: tuple[SearchProblem, int | None, int], run: tuple[int, int]) -> _Rules:
    """Return the rules whose antecedents begin with a run of items, or enough of them to exceed the limit."""
    problem, most, block_rules = shared
    # An empty array may have become writable on its way to another machine: a kernel would be compiled for it.
    search = Search(SearchProblem(*map(read_only, problem)), block_rules).begin(*run)
    never = threading.Event()
    parts: list[_Rules] = []
    while not search.finished and (most is None or sum(len(part[1]) for part in parts) <= most):
        parts.append(search.advance(never))
    return _join(parts, problem.max_antecedents)


def _search_around(shared: tuple[SearchInput, Neighbours, int | None, int], run: tuple[int, int]) -> _Rules:
    """Return the rules whose first feature is in a range, or enough of them to exceed the limit."""
    given, near, most, block_rules = shared
    blocks = _search_near(given, near, range(*run), block_rules=block_rules, threads=1)
    if most is not None:
        blocks = _cap(blocks, most + 1)
    with closing(blocks):
        parts = [(block.antecedents, block.consequents, block.counts) for block in blocks]
    return _join(parts, given.max_antecedents)


def _join(parts: Iterable[_Rules], width: int) -> _Rules:
    nothing = (np.zeros((0, width), np.int32), np.zeros(0, np.int32), np.zeros((0, 4), np.int64))
    antecedents, consequents, counts = (np.concatenate(columns) for columns in zip(nothing, *parts, strict=True))
    return antecedents, consequents, counts


def _split_features(near: Neighbours, max_antecedents: int, pieces: int) -> list[tuple[int, int]]:
    """Split the features into ranges of about equal work, which grows with a power of the later neighbours."""
    later = near.starts[1:] - near.first_later
    work = np.cumsum((1.0 + later) ** (max_antecedents + 1))
    if not len(work):
        return []
    cuts = np.searchsorted(work, work[-1] * np.arange(1, pieces) / pieces)
    return list(pairwise(np.unique(np.concatenate([[0], cuts, [len(work)]])).tolist()))


def _finds_pairs_only(problem: SearchProblem) -> bool:
    """Return whether the counts of pairs are all that a search needs, so that nothing is left to search."""
    return problem.max_antecedents == 1 and len(problem.pairs) > 0 and not len(problem.present)


def _select_pairs(problem: SearchProblem, *, block_rules: int) -> Generator[RuleBlock]:
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


def _split_runs(problem: SearchProblem, workers: int) -> list[tuple[int, int]]:
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


def _stream(problem: SearchProblem, *, block_rules: int, workers: int) -> Generator[RuleBlock]:
    """Yield blocks in the order of their first items, while later runs are searched ahead by at most one block each."""
    runs = deque(_split_runs(problem, workers))
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


def _cap(blocks: Generator[RuleBlock], max_rules: int) -> Generator[RuleBlock]:
    """Yield the first ``max_rules`` rules; if there are more, the last block is marked as capped."""
    left = max_rules
    with closing(blocks):
        for block in blocks:
            if len(block) > left:
                yield replace(block.select(slice(left)), capped=True)
                return
            left -= len(block)
            yield block
