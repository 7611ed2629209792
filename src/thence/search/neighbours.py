"""Which features may appear in the same rule, as sparse lists.

Graph locality, for example, allows only features of sensors within k hops of each other. Memory grows with the number
of listed pairs, never with the square of the number of features. This module must not know about graphs or tables.
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


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The neighbours of each feature: the features that may appear in a rule with it.

    The neighbours of feature ``f`` are ``members[starts[f] : starts[f + 1]]``, ascending. The relation is symmetric and
    no feature is its own neighbour. ``Neighbours.of`` makes one from lists or a matrix.

    Args:
        starts: Where the neighbours of each feature begin in ``members``, and the end.
        members: The neighbours of all features, one feature after the other.

    Examples:
        >>> near = Neighbours.of([[1], [2], []])
        >>> [near.of_feature(feature).tolist() for feature in range(3)]
        [[1], [0, 2], [1]]
    """

    starts: NDArray[np.int64]
    members: NDArray[np.int64]

    @staticmethod
    def of(relation: Neighbours | Sequence[ArrayLike] | NDArray[np.bool_]) -> Neighbours:
        """Make neighbours from lists or a matrix.

        Args:
            relation: One list of features per feature, or a square boolean matrix. One direction of a pair is enough.

        Raises:
            ConfigError: If the relation is of another kind or names a feature that does not exist.
        """
        if isinstance(relation, Neighbours):
            return relation
        if isinstance(relation, np.ndarray) and relation.dtype == np.bool_:
            if relation.ndim != 2 or relation.shape[0] != relation.shape[1]:
                raise ConfigError(f"a matrix of neighbours must be square, got shape {relation.shape}")
            left, right = np.nonzero(relation)
            return _symmetric(len(relation), left, right)
        lists = [_numbers(members) for members in relation]
        left = np.repeat(np.arange(len(lists)), [len(members) for members in lists])
        right = np.concatenate(lists) if lists else np.empty(0, np.int64)
        if len(right) and (right.min() < 0 or right.max() >= len(lists)):
            raise ConfigError(f"neighbours must be feature numbers from 0 to {len(lists) - 1}")
        return _symmetric(len(lists), left, right)

    @property
    def n_features(self) -> int:
        """The number of features."""
        return len(self.starts) - 1

    def of_feature(self, feature: int) -> NDArray[np.int64]:
        """Return the neighbours of a feature."""
        return self.members[self.starts[feature] : self.starts[feature + 1]]

    @cached_property
    def ends(self) -> NDArray[np.int64]:
        """The feature that each entry of ``members`` is listed for."""
        return np.repeat(np.arange(self.n_features, dtype=np.int64), np.diff(self.starts))

    @cached_property
    def first_later(self) -> NDArray[np.int64]:
        """Where the neighbours of each feature with larger numbers begin in ``members``."""
        earlier = np.bincount(self.ends[self.members < self.ends], minlength=self.n_features)
        return self.starts[:-1] + earlier

    @cached_property
    def _keys(self) -> NDArray[np.int64]:
        return self.ends * self.n_features + self.members

    def together(self, left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return whether each pair of a left and a right feature are neighbours."""
        asked = left * np.int64(self.n_features) + right
        if not len(self._keys):
            return np.zeros(asked.shape, np.bool_)
        position = np.minimum(np.searchsorted(self._keys, asked), len(self._keys) - 1)
        return np.asarray(self._keys[position] == asked)

    def restricted_to(self, features: NDArray[np.int64]) -> Neighbours:
        """Return the relation among some features (ascending), which are renumbered from 0."""
        number = np.full(self.n_features, -1, dtype=np.int64)
        number[features] = np.arange(len(features))
        left, right = number[self.ends], number[self.members]
        both = (left >= 0) & (right >= 0)
        starts = np.searchsorted(left[both], np.arange(len(features) + 1))
        return Neighbours(starts.astype(np.int64), right[both])


def _numbers(members: ArrayLike) -> NDArray[np.int64]:
    """Return a list of features as an array; raise ``ConfigError`` instead of rounding other numbers."""
    try:
        found = np.asarray(members).reshape(-1)
    except (TypeError, ValueError):
        found = np.array(["?"])
    if found.size and not np.issubdtype(found.dtype, np.integer):
        raise ConfigError(f"neighbours must be lists of feature numbers, got {members!r}")
    return found.astype(np.int64)


def require_near(near: Any) -> None:
    """Raise ``ConfigError`` unless ``near`` is ``None``, a number of hops, or neighbours for each block of a table."""
    hops = isinstance(near, Integral) and not isinstance(near, bool) and int(near) >= 0
    if near is None or hops or (isinstance(near, (Sequence, np.ndarray)) and not isinstance(near, (str, bytes))):
        return
    raise ConfigError(
        f"'near' must be an integer number of hops or the neighbours of each block, got {near!r}",
        hint="pass near=table.within_hops(graph, hops=2)",
    )


def _symmetric(n_features: int, left: NDArray[np.int64], right: NDArray[np.int64]) -> Neighbours:
    apart = left != right
    left, right = left[apart].astype(np.int64), right[apart].astype(np.int64)
    keys = np.unique(np.concatenate([left * n_features + right, right * n_features + left]))
    ends = keys // n_features if n_features else keys
    starts = np.searchsorted(ends, np.arange(n_features + 1))
    return Neighbours(starts.astype(np.int64), keys - ends * n_features)


def near_columns(near: Sequence[Any] | int, block: int, n_columns: int) -> Neighbours:
    """Return the neighbours that a miner was given for one block of a table, checked.

    Args:
        near: The miner's setting.
        block: The number of the block.
        n_columns: The number of columns of the block.

    Raises:
        ConfigError: If ``near`` is a number of hops, or does not match the block.
    """
    require_near(near)
    if isinstance(near, int):
        raise ConfigError(
            "a miner without a graph cannot use 'near' as a number of hops",
            hint=f"pass near=table.within_hops(graph, hops={near})",
        )
    found = Neighbours.of(near[block]) if block < len(near) else None
    if found is None or found.n_features != n_columns:
        listed = "nothing" if found is None else f"{found.n_features} features"
        raise ConfigError(
            f"'near' has {listed} for block {block + 1}, which has {n_columns} features",
            hint="pass near=table.within_hops(graph, …) with the same table",
        )
    return found
