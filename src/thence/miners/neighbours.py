"""Which features may stand together in a rule, as sparse lists.

Graph locality, for one, allows only features of sensors within k hops of each other. Memory grows with the number of
pairs that are listed, never with the square of the number of features. This module must not know about networks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thence.errors import ConfigError

__all__ = ["Neighbours", "near_columns", "require_near"]


@dataclass(frozen=True, eq=False)
class Neighbours:
    """For feature ``f``, ``members[starts[f] : starts[f + 1]]`` are the features that may stand beside it, ascending.

    The relation is symmetric and no feature is its own neighbour.

    >>> near = Neighbours.of([[1], [2], []])
    >>> [near.of_feature(feature).tolist() for feature in range(3)]
    [[1], [0, 2], [1]]
    """

    starts: NDArray[np.int64]
    members: NDArray[np.int64]

    @staticmethod
    def of(relation: Neighbours | Sequence[ArrayLike] | NDArray[np.bool_]) -> Neighbours:
        """From one list of features per feature, or a square boolean matrix; one direction of a pair is enough."""
        if isinstance(relation, Neighbours):
            return relation
        if isinstance(relation, np.ndarray) and relation.dtype == np.bool_:
            if relation.ndim != 2 or relation.shape[0] != relation.shape[1]:
                raise ConfigError(f"a matrix of compatible features must be square, got shape {relation.shape}")
            left, right = np.nonzero(relation)
            return _symmetric(len(relation), left, right)
        lists = [_numbers(members) for members in relation]
        left = np.repeat(np.arange(len(lists)), [len(members) for members in lists])
        right = np.concatenate(lists) if lists else np.empty(0, np.int64)
        if len(right) and (right.min() < 0 or right.max() >= len(lists)):
            raise ConfigError(f"neighbours must be features from 0 to {len(lists) - 1}")
        return _symmetric(len(lists), left, right)

    @property
    def n_features(self) -> int:
        return len(self.starts) - 1

    def of_feature(self, feature: int) -> NDArray[np.int64]:
        """The features that may stand beside this one."""
        return self.members[self.starts[feature] : self.starts[feature + 1]]

    @cached_property
    def ends(self) -> NDArray[np.int64]:
        """The feature that each entry of ``members`` is listed for."""
        return np.repeat(np.arange(self.n_features, dtype=np.int64), np.diff(self.starts))

    @cached_property
    def first_later(self) -> NDArray[np.int64]:
        """For each feature, where its neighbours with larger numbers begin in ``members``."""
        earlier = np.bincount(self.ends[self.members < self.ends], minlength=self.n_features)
        return self.starts[:-1] + earlier

    @cached_property
    def _keys(self) -> NDArray[np.int64]:
        return self.ends * self.n_features + self.members

    def together(self, left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether each pair of features may stand together."""
        asked = left * np.int64(self.n_features) + right
        if not len(self._keys):
            return np.zeros(asked.shape, np.bool_)
        place = np.minimum(np.searchsorted(self._keys, asked), len(self._keys) - 1)
        return np.asarray(self._keys[place] == asked)

    def restricted_to(self, features: NDArray[np.int64]) -> Neighbours:
        """The same relation among some features (ascending), numbered anew from 0."""
        number = np.full(self.n_features, -1, dtype=np.int64)
        number[features] = np.arange(len(features))
        left, right = number[self.ends], number[self.members]
        both = (left >= 0) & (right >= 0)
        starts = np.searchsorted(left[both], np.arange(len(features) + 1))
        return Neighbours(starts.astype(np.int64), right[both])


def _numbers(members: ArrayLike) -> NDArray[np.int64]:
    """A list of features as an array; what is no whole number is an error, and not cut down to one."""
    try:
        found = np.asarray(members).reshape(-1)
    except (TypeError, ValueError):
        found = np.array(["?"])
    if found.size and not np.issubdtype(found.dtype, np.integer):
        raise ConfigError(f"neighbours must be lists of features by number, got {members!r}")
    return found.astype(np.int64)


def require_near(near: Any) -> None:
    """Refuse a ``near`` that is neither a number of hops nor neighbours for each block of a table."""
    hops = isinstance(near, Integral) and not isinstance(near, bool) and int(near) >= 0
    if near is None or hops or (isinstance(near, (Sequence, np.ndarray)) and not isinstance(near, (str, bytes))):
        return
    raise ConfigError(
        f"'near' must be a whole number of hops or the neighbours of each block, got {near!r}",
        hint="make it with th.within_hops(table, graph, hops=2)",
    )


def _symmetric(n_features: int, left: NDArray[np.int64], right: NDArray[np.int64]) -> Neighbours:
    apart = left != right
    left, right = left[apart].astype(np.int64), right[apart].astype(np.int64)
    keys = np.unique(np.concatenate([left * n_features + right, right * n_features + left]))
    ends = keys // n_features if n_features else keys
    starts = np.searchsorted(ends, np.arange(n_features + 1))
    return Neighbours(starts.astype(np.int64), keys - ends * n_features)


def near_columns(near: Sequence[Any] | int, block: int, n_columns: int) -> Neighbours:
    """The neighbours that a miner was given for one block of a table, checked."""
    require_near(near)
    if isinstance(near, int):
        raise ConfigError(
            "'near' as a number of hops needs a graph",
            hint=f"near=th.within_hops(table, graph, hops={near})",
        )
    found = Neighbours.of(near[block]) if block < len(near) else None
    if found is None or found.n_features != n_columns:
        listed = "nothing" if found is None else f"{found.n_features} features"
        raise ConfigError(
            f"'near' lists {listed} for block {block + 1}, which has {n_columns}",
            hint="make it with th.within_hops from the same table",
        )
    return found
