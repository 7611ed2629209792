"""Exact mining among neighbours: one neighbourhood after the other, each rule once.

A rule is found in the neighbourhood of the first of its features; all others are later neighbours of that one. The time
grows with the number of features and the size of their neighbourhoods, while the time of a search over all features
grows with the number of features to the power of the length of a rule. This module must not know about tables or
graphs.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thence.search.exact.search import RuleBlock, mine_exact
from thence.search.neighbours import Neighbours

__all__ = ["mine_around", "mine_near"]


def mine_near(
    bitmaps: NDArray[np.uint64],
    *,
    near: Neighbours,
    feature_of_item: ArrayLike,
    antecedent_ok: NDArray[np.bool_],
    consequent_ok: NDArray[np.bool_],
    present: NDArray[np.uint64] | None = None,
    max_rules: int,
    first_features: range | None = None,
    **thresholds: Any,
) -> Generator[RuleBlock]:
    """Find the rules of ``mine_exact`` whose features are all neighbours of each other.

    Args:
        bitmaps: One bitmap per item.
        near: The neighbours of each feature.
        feature_of_item: The feature of each item.
        antecedent_ok: For each item, whether it may be in an antecedent.
        consequent_ok: For each item, whether it may be a consequent.
        present: One bitmap per feature of the rows in which it is not missing.
        max_rules: The search ends after this many rules.
        first_features: Only rules whose first feature is one of these; all by default.
        **thresholds: Further arguments of ``mine_exact``.

    Yields:
        Blocks of rules.

    Examples:
        >>> from thence.tables.bitmaps.bits import pack_codes
        >>> bitmaps, _ = pack_codes([[0, 0, 0], [1, 1, 1]], cardinalities=[2, 2, 2])
        >>> near, every = Neighbours.of([[1], [], []]), np.ones(6, bool)
        >>> allowed = {"antecedent_ok": every, "consequent_ok": every}
        >>> owner = [0, 0, 1, 1, 2, 2]
        >>> (found,) = mine_near(bitmaps, near=near, feature_of_item=owner, n_rows=2, max_rules=9, **allowed)
        >>> found.antecedents[:, 0].tolist(), found.consequents.tolist()
        ([0, 1, 2, 3], [2, 3, 0, 1])
    """
    room = max_rules
    shared: dict[str, Any] = {
        "feature_of_item": feature_of_item,
        "antecedent_ok": antecedent_ok,
        "consequent_ok": consequent_ok,
        **thresholds,
    }
    for first in range(near.n_features) if first_features is None else first_features:
        for block in mine_around(first, near=near, bitmaps=bitmaps, present=present, **shared):
            capped = len(block) > room
            head = slice(room if capped else None)
            room -= len(block)
            yield replace(
                block,
                antecedents=block.antecedents[head],
                consequents=block.consequents[head],
                counts=block.counts[head],
                progress=(first + block.progress) / near.n_features,
                capped=capped,
            )
            if capped:
                return


def mine_around(
    first: int,
    *,
    near: Neighbours,
    bitmaps: NDArray[np.uint64],
    feature_of_item: ArrayLike,
    antecedent_ok: NDArray[np.bool_],
    consequent_ok: NDArray[np.bool_],
    present: NDArray[np.uint64] | None = None,
    **thresholds: Any,
) -> Iterator[RuleBlock]:
    """Find the rules of ``mine_near`` whose first feature is the given one; the arguments are the same."""
    owner = np.asarray(feature_of_item, np.int64)
    starts = np.searchsorted(owner, np.arange(near.n_features + 1))
    later = near.members[near.first_later[first] : near.starts[first + 1]]
    if not len(later):
        return
    features = np.concatenate([[first], later])
    items = np.concatenate([np.arange(starts[feature], starts[feature + 1]) for feature in features.tolist()])
    for block in mine_exact(
        bitmaps[items],
        feature_of_item=np.repeat(np.arange(len(features)), np.diff(starts)[features]),
        antecedent_ok=antecedent_ok[items],
        consequent_ok=consequent_ok[items],
        present=None if present is None else present[features],
        **thresholds,
    ):
        yield _keep_neighbours(block, items, owner, first, near)


def _keep_neighbours(
    block: RuleBlock, items: NDArray[np.int64], owner: NDArray[np.int64], first: int, near: Neighbours
) -> RuleBlock:
    """Keep the rules with the first feature of a neighbourhood whose features are all neighbours of each other."""
    numbers = np.append(items, -1).astype(np.int32)
    antecedents, consequents = numbers[block.antecedents], numbers[block.consequents]
    features = np.append(owner, -1)[np.concatenate([antecedents, consequents[:, None]], axis=1)]
    keep = (features == first).any(axis=1)
    for one, other in combinations(features.T, 2):
        keep &= (one < 0) | (other < 0) | near.together(one, other)
    return replace(block, antecedents=antecedents[keep], consequents=consequents[keep], counts=block.counts[keep])
