"""From numbers to bins: fitted on one period, applied to any other.

Bins are half-open and the outer ones have no outer end, so every number falls into exactly one bin, later values
beyond the fitted range included. Ties never make dead bins: each bin of a fitted ``Binning`` holds at least one
value of the data it was fitted on. This module works on plain arrays; which readings share a binning is decided by
``Discretizer``, what becomes of the codes by the enrichers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from thence.errors import ConfigError, nearest
from thence.rules.items import Interval

__all__ = ["METHODS", "Binning", "Discretizer", "fit_binning", "rank_binning"]

Method = Literal["frequency", "width", "kmeans", "quantiles", "edges", "distinct"]
Scope = Literal["kind", "sensor"]
METHODS: tuple[str, ...] = ("frequency", "width", "kmeans", "quantiles", "edges", "distinct")

MAX_BINS = 32_000
MAX_DISTINCT = 20

FloatArray = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int16]


@dataclass(frozen=True)
class Binning:
    """The fitted bins of one quantity: inner edges, or the distinct values that are kept as categories.

    >>> b = fit_binning(np.arange(10.0), bins=5)
    >>> b.edges.tolist()
    [2.0, 4.0, 6.0, 8.0]
    >>> b.encode(np.array([-5.0, 2.0, 99.0, np.nan])).tolist()
    [0, 1, 4, -1]
    >>> str(b.intervals[1])
    '[2.0, 4.0)'
    """

    edges: FloatArray
    categories: FloatArray | None = None

    @property
    def values(self) -> tuple[Interval, ...] | tuple[float, ...]:
        """What each code stands for."""
        if self.categories is not None:
            return tuple(float(value) for value in self.categories)
        return self.intervals

    @property
    def intervals(self) -> tuple[Interval, ...]:
        """The ranges of the codes, open at both outer ends."""
        bounds = [-math.inf, *self.edges.tolist(), math.inf]
        return tuple(Interval(low, high) for low, high in pairwise(bounds))

    def encode(self, values: npt.NDArray[Any]) -> Codes:
        """Codes of numbers; NaN is −1, and so is a number that a binning of distinct values has never seen."""
        values = np.asarray(values, dtype=np.float64)
        if self.categories is not None:
            at = np.searchsorted(self.categories, values)
            at[at == len(self.categories)] = 0
            known = self.categories[at] == values if len(self.categories) else np.zeros(values.shape, bool)
            return np.where(known, at, -1).astype(np.int16)
        if np.isnan(self.edges).any():
            return np.full(values.shape, -1, np.int16)
        codes = np.searchsorted(self.edges, values, side="right").astype(np.int16)
        codes[np.isnan(values)] = -1
        return codes

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready form; Python prints floats so that they read back exactly."""
        out: dict[str, Any] = {"edges": [None if np.isnan(edge) else edge for edge in self.edges.tolist()]}
        if self.categories is not None:
            out["categories"] = self.categories.tolist()
        return out

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Binning:
        """The inverse of ``to_dict``."""
        categories = data.get("categories")
        return Binning(
            np.array([np.nan if edge is None else edge for edge in data["edges"]], dtype=np.float64),
            None if categories is None else np.asarray(categories, dtype=np.float64),
        )


def fit_binning(
    values: npt.NDArray[Any], *, method: str = "frequency", bins: int = 10, edges: Sequence[float] | None = None
) -> Binning:
    """Fit bins to numbers (NaN is ignored).

    - ``frequency``: bins of equal count, cut at values of the data. Ties stay together, so heavy ties give fewer bins.
    - ``quantiles``: ``edges`` are quantiles between 0 and 1.
    - ``width``: bins of equal width between minimum and maximum; empty ones are joined to the bin below.
    - ``kmeans``: one-dimensional k-means; edges midway between neighbouring centres.
    - ``edges``: the inner edges as given.
    - ``distinct``: the values themselves as categories where there are at most 20, ``frequency`` otherwise.

    >>> fit_binning(np.array([0, 0, 0, 0, 1.0]), bins=4).edges.tolist()
    [1.0]
    >>> fit_binning(np.array([1.0, 2.0, 2.0]), method="distinct").values
    (1.0, 2.0)
    """
    if method not in METHODS:
        raise ConfigError(f"unknown way to discretize '{method}'", hint=nearest(method, METHODS) or _choices())
    if not 1 <= bins <= MAX_BINS:
        raise ConfigError(f"the number of bins must be between 1 and {MAX_BINS}, got {bins}")
    given = None if edges is None else np.asarray(edges, dtype=np.float64)
    if method in ("edges", "quantiles"):
        if given is None or given.ndim != 1 or not np.all(np.diff(given) > 0) or np.isnan(given).any():
            raise ConfigError(f"method '{method}' needs edges: increasing numbers, got {edges!r}")
    elif given is not None:
        raise ConfigError(f"method '{method}' finds its own edges", hint="use method='edges' to give them")
    finite = np.asarray(values, dtype=np.float64)
    finite = finite[np.isfinite(finite)]
    if method == "edges":
        assert given is not None
        return Binning(given[np.isfinite(given)])
    if finite.size == 0:
        return Binning(np.empty(0))
    if method == "distinct":
        distinct = np.unique(finite)
        if len(distinct) <= MAX_DISTINCT:
            return Binning(np.empty(0), distinct)
    if method == "width":
        return Binning(_equal_width(finite, bins))
    if method == "kmeans":
        return Binning(_kmeans(finite, bins))
    fractions = np.arange(1, bins) / bins if method != "quantiles" else given
    assert fractions is not None
    if len(fractions) and (fractions.min() <= 0 or fractions.max() >= 1):
        raise ConfigError(f"quantiles must lie between 0 and 1, got {edges!r}")
    return Binning(_data_quantiles(finite, fractions))


def rank_binning(values: npt.NDArray[Any], *, bins: int = 10) -> FloatArray:
    """The ``bins − 1`` inner edges that cut a sensor's own history into ranks, ties kept as repeated edges.

    Unlike ``fit_binning`` the number of edges is always the same, so that code ``q`` means "rank q of ``bins``"
    for every sensor alike. A sensor that never reads, or never changes, has no ranks: its edges are NaN, and a binning
    with such edges codes everything as missing.

    >>> rank_binning(np.arange(10.0), bins=5).tolist()
    [2.0, 4.0, 6.0, 8.0]
    """
    finite = np.asarray(values, dtype=np.float64)
    finite = finite[np.isfinite(finite)]
    if finite.size == 0 or finite.min() == finite.max():
        return np.full(bins - 1, np.nan)
    return _order_statistics(finite, np.arange(1, bins) / bins)


def _order_statistics(values: FloatArray, fractions: FloatArray) -> FloatArray:
    at = np.minimum((fractions * len(values) + 1e-9).astype(np.int64), len(values) - 1)
    return np.asarray(np.partition(values, np.unique(at))[at]) if len(at) else np.empty(0)


def _data_quantiles(values: FloatArray, fractions: FloatArray) -> FloatArray:
    """Edges that are values of the data above its minimum: the bin that starts at an edge holds that value.

    A value so frequent that two cuts fall on it, or that the first cut falls on the minimum, is closed off by a cut at
    the next larger value: a signal that is 0 most of the time keeps the difference between 0 and the rest.
    """
    lowest = values.min()
    edges, hits = np.unique(_order_statistics(values, fractions), return_counts=True)
    heavy = edges[(hits > 1) | (edges == lowest)]
    closing = [above.min() for value in heavy if (above := values[values > value]).size]
    edges = np.unique(np.concatenate([edges, closing]))
    return np.asarray(edges[edges > lowest])


def _equal_width(values: FloatArray, bins: int) -> FloatArray:
    low, high = float(values.min()), float(values.max())
    if low == high:
        return np.empty(0)
    edges = np.unique(np.linspace(low, high, bins + 1)[1:-1])
    filled = np.unique(np.searchsorted(edges, values, side="right"))
    return edges[filled[filled > 0] - 1]


def _kmeans(values: FloatArray, bins: int, rounds: int = 100) -> FloatArray:
    """Lloyd's algorithm on sorted data: clusters are runs, so prefix sums give every mean."""
    ordered = np.sort(values)
    sums = np.concatenate([[0.0], np.cumsum(ordered)])
    edges = _data_quantiles(ordered, np.arange(1, bins) / bins)
    for _ in range(rounds):
        cuts = np.concatenate([[0], np.searchsorted(ordered, edges), [len(ordered)]])
        cuts = np.unique(cuts)
        centres = np.diff(sums[cuts]) / np.diff(cuts)
        moved = (centres[:-1] + centres[1:]) / 2
        if len(moved) == len(edges) and np.allclose(moved, edges, rtol=0, atol=0):
            break
        edges = moved
    filled = np.unique(np.searchsorted(edges, ordered, side="right"))
    return edges[filled[filled > 0] - 1]


@dataclass(frozen=True)
class Discretizer:
    """How readings and properties become codes, and, once fitted, the bins themselves.

    ``scope="kind"`` pools all sensors of a kind, ``scope="sensor"`` bins each on its own. A fitted discretizer
    travels with its table, so that later data are cut at the same edges.

    >>> d = Discretizer(bins=2).fit({"flow": np.array([1.0, 2.0, 3.0, 4.0])})
    >>> d.binnings["flow"].edges.tolist()
    [3.0]
    """

    method: str = "frequency"
    bins: int = 10
    scope: str = "kind"
    edges: Mapping[str, Sequence[float]] = field(default_factory=dict)
    binnings: Mapping[str, Binning] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.scope not in ("kind", "sensor"):
            raise ConfigError(
                f"unknown scope '{self.scope}'",
                hint="'kind' pools all sensors of a kind, 'sensor' bins each on its own",
            )
        if self.method not in METHODS:
            raise ConfigError(
                f"unknown way to discretize '{self.method}'", hint=nearest(self.method, METHODS) or _choices()
            )
        if not isinstance(self.bins, int) or isinstance(self.bins, bool) or not 1 <= self.bins <= MAX_BINS:
            raise ConfigError(f"the number of bins must be between 1 and {MAX_BINS}, got {self.bins!r}")

    @property
    def is_fitted(self) -> bool:
        """Whether there are bins to encode with."""
        return bool(self.binnings)

    def group(self, *, kind: str, sensor: str, name: str = "") -> str:
        """The key of the binning that a reading belongs to."""
        base = sensor if self.scope == "sensor" or not kind else kind
        return f"{base}.{name}" if name else base

    def fit(self, groups: Mapping[str, npt.NDArray[Any]]) -> Discretizer:
        """A discretizer with bins for these groups of numbers (added to those that it already has)."""
        fitted = dict(self.binnings)
        for key, values in groups.items():
            given = self.edges.get(key)
            method = "edges" if given is not None and self.method != "quantiles" else self.method
            fitted[key] = fit_binning(values, method=method, bins=self.bins, edges=given)
        return Discretizer(self.method, self.bins, self.scope, self.edges, fitted)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready form."""
        return {
            "method": self.method,
            "bins": self.bins,
            "scope": self.scope,
            "edges": {key: list(map(float, values)) for key, values in self.edges.items()},
            "binnings": {key: binning.to_dict() for key, binning in self.binnings.items()},
        }

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Discretizer:
        """The inverse of ``to_dict``."""
        return Discretizer(
            data["method"],
            data["bins"],
            data["scope"],
            data["edges"],
            {key: Binning.from_dict(value) for key, value in data["binnings"].items()},
        )


def _choices() -> str:
    return "one of " + ", ".join(METHODS)
