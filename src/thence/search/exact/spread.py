"""Exact mining on an executor: ranges of first items, or of first features, as independent tasks.

The antecedents of a rule are in increasing order, so the rules that begin with some items are found without knowing the
others: the ranges give, one after the other, the rules of ``mine_exact`` and ``mine_near`` in the same order. Bitmaps
are sent to each machine once. A task returns at most one rule more than the caller wants, however many there are.
"""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterable
from contextlib import closing
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thence._base.cluster.executors import Executor
from thence.search.exact.kernels import SearchProblem
from thence.search.exact.neighbourhoods import mine_near
from thence.search.exact.search import (
    RuleBlock,
    Search,
    cap_blocks,
    finds_pairs_only,
    prepare_search,
    select_pairs,
    split_runs,
)
from thence.search.neighbours import Neighbours
from thence.tables.bitmaps.bits import read_only

__all__ = ["spread_exact", "spread_near"]

# About how many rules a search keeps before they are copied.
_BLOCK_RULES = 1 << 16
# Ranges per worker: enough that a slow one does not keep the others waiting.
_RANGES = 16

Rules = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]


def spread_exact(
    bitmaps: NDArray[np.uint64],
    *,
    executor: Executor,
    feature_of_item: ArrayLike,
    max_rules: int,
    max_antecedents: int,
    antecedent_ok: ArrayLike | None = None,
    consequent_ok: ArrayLike | None = None,
    present: NDArray[np.uint64] | None = None,
    **others: Any,
) -> Generator[RuleBlock]:
    """Find the rules of ``mine_exact`` on an executor, in the same order.

    Pairs of items are counted here; that is all there is to do if rules have one antecedent and few items.

    Args:
        bitmaps: One bitmap per item.
        executor: Where to search.
        feature_of_item: The feature of each item.
        max_rules: The search ends after this many rules.
        max_antecedents: The largest number of antecedent items.
        antecedent_ok: For each item, whether it may be in an antecedent.
        consequent_ok: For each item, whether it may be a consequent.
        present: One bitmap per feature of the rows in which it is not missing.
        **others: Further arguments of ``mine_exact``: the number of rows and the thresholds.

    Yields:
        Blocks of rules.
    """
    problem = prepare_search(
        bitmaps,
        feature_of_item=np.ascontiguousarray(feature_of_item, dtype=np.int32).ravel(),
        max_antecedents=max_antecedents,
        antecedent_ok=antecedent_ok,
        consequent_ok=consequent_ok,
        present=present,
        **others,
    )
    if finds_pairs_only(problem):
        yield from cap_blocks(select_pairs(problem, block_rules=_BLOCK_RULES), max_rules)
        return
    runs = split_runs(problem, executor.workers)
    with closing(executor.map(_search_run, runs, shared=(problem, max_rules))) as found:
        yield from cap_blocks(_as_blocks(found, len(runs)), max_rules)


def _search_run(shared: tuple[SearchProblem, int], run: tuple[int, int]) -> Rules:
    """Return the rules whose antecedents begin with a run of items, or enough of them to exceed the limit."""
    problem, most = shared
    # An empty array may have become writable on its way to another machine: a kernel would be compiled for it.
    search = Search(SearchProblem(*map(read_only, problem)), _BLOCK_RULES).begin(*run)
    never = threading.Event()
    parts: list[Rules] = []
    while not search.finished and sum(len(part[1]) for part in parts) <= most:
        parts.append(search.advance(never))
    return _join(parts, problem.max_antecedents)


def spread_near(
    bitmaps: NDArray[np.uint64],
    *,
    executor: Executor,
    near: Neighbours,
    max_rules: int,
    max_antecedents: int,
    **others: Any,
) -> Generator[RuleBlock]:
    """Find the rules of ``mine_near`` on an executor, in the same order.

    Args:
        bitmaps: One bitmap per item.
        executor: Where to search.
        near: The neighbours of each feature.
        max_rules: The search ends after this many rules.
        max_antecedents: The largest number of antecedent items.
        **others: Further arguments of ``mine_near``.

    Yields:
        Blocks of rules.
    """
    arguments = {"bitmaps": bitmaps, "near": near, "max_antecedents": max_antecedents, **others}
    # One more than the limit tells that there are more.
    shared = {**arguments, "max_rules": max_rules + 1, "threads": 1}
    ranges = _split_features(near, max_antecedents, _RANGES * executor.workers)
    with closing(executor.map(_search_around, ranges, shared=shared)) as found:
        yield from cap_blocks(_as_blocks(found, len(ranges)), max_rules)


def _search_around(shared: dict[str, Any], features: range) -> Rules:
    """Return the rules whose first feature is one of some."""
    with closing(mine_near(**shared, first_features=features)) as blocks:
        parts = [(block.antecedents, block.consequents, block.counts) for block in blocks]
    return _join(parts, shared["max_antecedents"])


def _split_features(near: Neighbours, max_antecedents: int, pieces: int) -> list[range]:
    """Split the features into ranges of about equal work, which grows with a power of the later neighbours."""
    later = near.starts[1:] - near.first_later
    work = np.cumsum((1.0 + later) ** (max_antecedents + 1))
    if not len(work):
        return []
    cuts = np.searchsorted(work, work[-1] * np.arange(1, pieces) / pieces)
    bounds = np.unique(np.concatenate([[0], cuts, [len(work)]]))
    return [range(int(low), int(high)) for low, high in pairwise(bounds)]


def _as_blocks(found: Iterable[Rules], total: int) -> Generator[RuleBlock]:
    for done, rules in enumerate(found, start=1):
        yield RuleBlock(*rules, progress=done / total)


def _join(parts: list[Rules], width: int) -> Rules:
    nothing = (np.zeros((0, width), np.int32), np.zeros(0, np.int32), np.zeros((0, 4), np.int64))
    antecedents, consequents, counts = (np.concatenate(columns) for columns in zip(nothing, *parts, strict=True))
    return antecedents, consequents, counts
