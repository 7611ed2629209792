"""Rules from a trained network: Algorithm 1 of the paper, as algebra.

The result is exactly what the paper's loop over test vectors gives, for any number of antecedents. The last digit of a
probability depends on which queries are made together, so a long search is cut in the same places wherever its parts
are searched, here or on an executor, and the parts are put together in the same order. This module must not look at
the data: exact counts are made elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thence._base.cluster.executors import Executor
from thence._base.settings.numbers import require_integer
from thence.errors import ConfigError
from thence.search.aerial.antecedents import PassedBatch, find_antecedents, find_mutual_antecedents
from thence.search.aerial.autoencoder import UNSURE, Autoencoder, Layout, QueryNetwork
from thence.search.aerial.consequents import Consequents, ConsequentSearch
from thence.search.aerial.settings import SearchSettings

QueryProgress = Callable[[int, int], None]
"""Called with the number of queries made so far and the number that a full search would make."""

BATCH_BYTES_CPU = 16 << 20
BATCH_BYTES_CUDA = 1 << 30

FIRST_PIECE = 128
"""On a graphics processor, a search for the most probable rules begins with this many combinations and doubles them: it
then knows what it may leave out before it has read millions of rules."""


@dataclass(frozen=True, eq=False)
class RuleArrays:
    """Rules as arrays, one entry per rule.

    Args:
        antecedents: Antecedent items (rules × max_antecedents), ascending and padded with −1.
        consequents: Consequent items.
        probability: The network's probability of each consequent.
    """

    antecedents: NDArray[np.int32]
    consequents: NDArray[np.int32]
    probability: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.consequents)

    @staticmethod
    def concat(chunks: Iterable[RuleArrays], *, max_antecedents: int) -> RuleArrays:
        """Concatenate chunks of rules that all have ``max_antecedents`` antecedent columns."""
        known = [RuleArrays.empty(max_antecedents), *chunks]
        return RuleArrays(
            np.concatenate([chunk.antecedents for chunk in known]),
            np.concatenate([chunk.consequents for chunk in known]),
            np.concatenate([chunk.probability for chunk in known]),
        )

    @staticmethod
    def empty(max_antecedents: int) -> RuleArrays:
        """Return arrays without rules, with ``max_antecedents`` antecedent columns."""
        return RuleArrays(np.empty((0, max_antecedents), np.int32), np.empty(0, np.int32), np.empty(0, np.float32))


def extract_rules(
    model: Autoencoder, *, search: SearchSettings | None = None, progress: QueryProgress | None = None
) -> Iterator[RuleArrays]:
    """Stream the rules of a network, in a fixed order.

    Args:
        model: The trained network.
        search: Which rules to look for.
        progress: Called after each batch of queries.

    Examples:
        >>> from thence.search.aerial.autoencoder import initialise
        >>> search = SearchSettings(similarity=0.1)
        >>> rules = RuleArrays.concat(extract_rules(initialise([2, 2]), search=search), max_antecedents=2)
        >>> rules.antecedents[0].tolist(), int(rules.consequents[0])
        ([0, -1], 2)
    """
    wanted = SearchSettings() if search is None else search
    threshold = wanted.consequent_threshold
    network, consequents = _prepare(model, wanted)
    for batch in _find_antecedents(network, wanted, progress):
        found = consequents.find(batch, threshold)
        if len(found.rows):
            yield _make_rules(batch, found, wanted.max_antecedents)


def extract_top_rules(
    model: Autoencoder, *, k: int, search: SearchSettings | None = None, progress: QueryProgress | None = None
) -> RuleArrays:
    """Return the ``k`` rules with the highest probability; ties go to the smaller item numbers.

    At most a quarter more than ``k`` rules and one batch are in memory: rules below the ``k``-th are not kept.

    Args:
        model: The trained network.
        k: The number of rules.
        search: Which rules to look for.
        progress: Called after each batch of queries.
    """
    require_integer("k", k)
    wanted = SearchSettings() if search is None else search
    top, more, floor = RuleArrays.empty(wanted.max_antecedents), list[RuleArrays](), 0.0
    network, consequents = _prepare(model, wanted)
    pieces = FIRST_PIECE if network.device.type == "cuda" else None
    for batch in _in_pieces(_find_antecedents(network, wanted, progress), pieces):
        threshold, raised = wanted.consequent_threshold, False
        if len(top) == k:
            # Results close to the threshold are computed in double precision but stored in single: leave room for both.
            raised = floor - 2 * UNSURE > threshold
            threshold = max(threshold, floor - 2 * UNSURE)
            consequents = consequents.with_sketches(batch, threshold)
        # Values close to a threshold that was raised are below the floor, so that nothing depends on them.
        found = consequents.find(batch, threshold, settle=not raised, floor=floor, keep=k)
        high = found.probability >= floor
        found = Consequents(found.rows[high], found.items[high], found.probability[high])
        if not len(found.rows):
            continue
        more.append(_make_rules(batch, found, wanted.max_antecedents))
        # Sorting is not free, and the floor rises slowly.
        if sum(map(len, more)) >= (k - len(top) or k // 4):
            top, more = select_top_rules([top, *more], k=k), []
            floor = float(top.probability[-1]) if len(top) == k else 0.0
    return select_top_rules([top, *more], k=k)


def _in_pieces(batches: Iterable[PassedBatch], first: int | None) -> Iterator[PassedBatch]:
    """Cut batches into a piece of ``first`` combinations and pieces that double; by default they stay as they are."""
    piece = first
    for batch in batches:
        low = 0
        while piece is not None and len(batch.items) - low > piece:
            yield batch.part(slice(low, low + piece))
            low, piece = low + piece, 2 * piece
        yield batch.part(slice(low, None)) if low else batch


def select_top_rules(chunks: Iterable[RuleArrays], *, k: int) -> RuleArrays:
    """Return the ``k`` most probable rules of several chunks, most probable first."""
    known = list(chunks)
    if not known:
        raise ConfigError("no chunks of rules were given")
    rules = RuleArrays.concat(known, max_antecedents=known[0].antecedents.shape[1])
    if len(rules) > k > 0:
        # Sorting takes longer than finding what is below the k-th.
        least = np.partition(rules.probability, len(rules) - k)[len(rules) - k]
        high = rules.probability >= least
        rules = RuleArrays(rules.antecedents[high], rules.consequents[high], rules.probability[high])
    keys = (rules.consequents, *rules.antecedents.T[::-1], -rules.probability)
    order = np.lexsort(keys)[:k]
    return RuleArrays(rules.antecedents[order], rules.consequents[order], rules.probability[order])


def extract_itemsets(
    model: Autoencoder, *, search: SearchSettings | None = None, progress: QueryProgress | None = None
) -> Iterator[PassedBatch]:
    """Stream the itemsets that pass the gate, which the network takes to be frequent.

    Args:
        model: The trained network.
        search: Which items to combine and which threshold to apply.
        progress: Called after each batch of queries.
    """
    wanted = SearchSettings() if search is None else search
    for batch in _find_antecedents(_prepare(model, wanted)[0], wanted, progress):
        if len(batch.items):
            yield batch


def split_search(model: Autoencoder, *, count: int, search: SearchSettings | None = None) -> list[SearchSettings]:
    """Split a search into independent parts with about equally many queries.

    Args:
        model: The network to search.
        count: The largest number of parts.
        search: The search to split.

    Returns:
        One search per part, each limited to a range of first features. Together they find the rules of the whole.
    """
    wanted = SearchSettings() if search is None else search
    weights = estimate_queries(model.layout, wanted)
    total = np.cumsum(weights)
    if not len(total) or total[-1] == 0:
        return []
    cuts = np.searchsorted(total, total[-1] * np.arange(1, count) / count, side="left") + 1
    bounds = np.unique(np.concatenate([[0], np.minimum(cuts, len(weights)), [len(weights)]]))
    return [replace(wanted, first_features=range(int(low), int(high))) for low, high in pairwise(bounds)]


def _prepare(model: Autoencoder, wanted: SearchSettings) -> tuple[QueryNetwork, ConsequentSearch]:
    """Check the settings; return the network laid out for queries, and the search for consequents."""
    _check(model.layout, wanted)
    network = QueryNetwork.of(model)
    ok = np.ones(model.layout.n_items, np.bool_) if wanted.consequent_ok is None else wanted.consequent_ok
    return network, ConsequentSearch(
        network,
        ok,
        wanted.neighbours,
        _batch_bytes(network, wanted),
        as_released=wanted.as_released,
    )


def _batch_bytes(network: QueryNetwork, wanted: SearchSettings) -> int:
    return wanted.batch_bytes or (BATCH_BYTES_CUDA if network.device.type == "cuda" else BATCH_BYTES_CPU)


def _find_antecedents(
    network: QueryNetwork, wanted: SearchSettings, progress: QueryProgress | None
) -> Iterator[PassedBatch]:
    """Stream the combinations that pass the gate, and report progress."""
    layout = network.layout
    first = range(layout.n_features) if wanted.first_features is None else wanted.first_features
    weights = estimate_queries(layout, wanted)
    total, asked = int(weights[first.start : first.stop].sum()), 0
    common: dict[str, Any] = {
        "antecedent_ok": np.ones(layout.n_items, np.bool_) if wanted.antecedent_ok is None else wanted.antecedent_ok,
        "near": wanted.neighbours,
        "gate": wanted.gate_threshold,
        "most": wanted.max_antecedents,
        "first": first,
        "batch_bytes": _batch_bytes(network, wanted),
    }
    if wanted.search == "mutual":
        batches = find_mutual_antecedents(network, weights=weights, **common)
    else:
        batches = find_antecedents(network, search=wanted.search, **common)
    for batch in batches:
        yield batch
        asked += batch.asked
        if progress is not None:
            progress(asked, max(total, asked))


def _check(layout: Layout, wanted: SearchSettings) -> None:
    for name, mask in (("antecedent_ok", wanted.antecedent_ok), ("consequent_ok", wanted.consequent_ok)):
        if mask is not None and (mask.dtype != np.bool_ or mask.shape != (layout.n_items,)):
            raise ConfigError(f"{name} must have one boolean for each of {layout.n_items} items")
    if wanted.neighbours is not None and wanted.neighbours.n_features != layout.n_features:
        raise ConfigError(
            f"neighbours were given for {wanted.neighbours.n_features} features, but the network has"
            f" {layout.n_features}"
        )


def estimate_queries(layout: Layout, wanted: SearchSettings) -> NDArray[np.float64]:
    """Estimate how many queries begin with each feature: exact for one and two antecedents."""
    ok = wanted.antecedent_ok
    items = layout.feature_of_item if ok is None else layout.feature_of_item[ok]
    counts = np.bincount(items, minlength=layout.n_features).astype(np.float64)
    if wanted.neighbours is None:
        later = counts.sum() - np.cumsum(counts)
    else:
        near = wanted.neighbours
        after = near.members > near.ends
        later = np.bincount(near.ends[after], counts[near.members[after]], minlength=layout.n_features)
    weights, term = np.ones(layout.n_features), np.ones(layout.n_features)
    for size in range(2, wanted.max_antecedents + 1):
        term = term * later / (size - 1)
        weights = weights + term
    return weights * counts


def _make_rules(batch: PassedBatch, found: Consequents, most: int) -> RuleArrays:
    return RuleArrays(_pad(batch.items[found.rows], most), found.items.astype(np.int32), found.probability)


def _pad(items: NDArray[np.int64], most: int) -> NDArray[np.int32]:
    padded = np.full((len(items), most), -1, np.int32)
    padded[:, : items.shape[1]] = items
    return padded


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

    def report(asked: int, _: int) -> None:
        if progress is not None:
            progress(done[0] + asked, max(total, done[0] + asked))

    found = []
    if executor is None or executor.is_local:
        for part in parts:
            found.append(_extract(model, part, k, report))
            done[0] += _queries(weights, part)
    else:
        ranges = [part.first_features for part in parts]
        with closing(executor.map(_extract_range, ranges, shared=(model, search, k))) as results:
            for part, rules in zip(parts, results, strict=True):
                found.append(rules)
                report(_queries(weights, part), 0)
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
