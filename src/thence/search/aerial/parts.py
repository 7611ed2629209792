"""Rules of a network in parts that depend on the search alone, here or on an executor.

The last digit of a probability depends on which queries are made together. A long search is therefore cut in the same
places wherever its parts are searched, and the parts are put together in the same order.
"""

from __future__ import annotations

import math
from contextlib import closing
from copy import deepcopy
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from thence._base.cluster.executors import Executor
from thence.search.aerial.autoencoder import Autoencoder
from thence.search.aerial.extraction import (
    QueryProgress,
    RuleArrays,
    estimate_queries,
    extract_rules,
    extract_top_rules,
    select_top_rules,
    split_search,
)
from thence.search.aerial.settings import SearchSettings

__all__ = ["QUERIES_PER_PART", "extract_in_parts"]

QUERIES_PER_PART = 1 << 24
"""About how many queries a part of a long search makes: some ten seconds of one processor."""


def extract_in_parts(
    model: Autoencoder,
    *,
    search: SearchSettings,
    k: int | None = None,
    progress: QueryProgress | None = None,
    executor: Executor | None = None,
    queries_per_part: int | None = None,
) -> RuleArrays:
    """Return the rules of a network, or the most probable ones.

    Args:
        model: The trained network.
        search: Which rules to look for.
        k: The number of rules to keep; all by default.
        progress: Called after each batch of queries, on an executor after each part.
        executor: Where to search; by default in this process.
        queries_per_part: About how many queries a part makes, by default ``QUERIES_PER_PART``. On a graphics processor
            there is one part.

    Returns:
        The rules of one part after the other, each in the order of ``extract_rules``; or the most probable first.

    Examples:
        >>> from thence.search.aerial.autoencoder import initialise
        >>> rules = extract_in_parts(initialise([2, 2]), search=SearchSettings(similarity=0.1))
        >>> rules.antecedents[0].tolist(), int(rules.consequents[0])
        ([0, -1], 2)
    """
    weights = estimate_queries(model.layout, search)
    total = int(weights.sum())
    count = math.ceil(total / (queries_per_part or QUERIES_PER_PART)) if model.device.type == "cpu" else 1
    parts = split_search(model, count=count, search=search) if count > 1 else [search]
    done = [0]

    def tell(asked: int, _: int) -> None:
        if progress is not None:
            progress(done[0] + asked, max(total, done[0] + asked))

    found = []
    if executor is None or executor.is_local:
        for part in parts:
            found.append(_extract(model, part, k, tell))
            done[0] += _queries(weights, part)
    else:
        ranges = [part.first_features for part in parts]
        with closing(executor.map(_extract_range, ranges, shared=(model, search, k))) as results:
            for part, rules in zip(parts, results, strict=True):
                found.append(rules)
                tell(_queries(weights, part), 0)
                done[0] += _queries(weights, part)
    if len(found) == 1:
        return found[0]
    if k is not None:
        return select_top_rules(found, k=k)
    return RuleArrays.concat(found, max_antecedents=search.max_antecedents)


def _extract_range(shared: tuple[Autoencoder, SearchSettings, int | None], first: range | None) -> RuleArrays:
    # torch does not share arrays that cannot be written.
    model, search, k = deepcopy(shared)
    return _extract(model, replace(search, first_features=first), k, None)


def _extract(model: Autoencoder, part: SearchSettings, k: int | None, progress: QueryProgress | None) -> RuleArrays:
    if k is not None:
        return extract_top_rules(model, k=k, search=part, progress=progress)
    chunks = extract_rules(model, search=part, progress=progress)
    return RuleArrays.concat(chunks, max_antecedents=part.max_antecedents)


def _queries(weights: NDArray[np.float64], part: SearchSettings) -> int:
    first = range(len(weights)) if part.first_features is None else part.first_features
    return int(weights[first.start : first.stop].sum())
