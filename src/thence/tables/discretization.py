"""Discretization: bins that are fitted on one period and applied to any other.

Bins are half-open and the outer ones are unbounded, so every number falls into exactly one bin, later values beyond the
fitted range included. A value that is more frequent than a bin should be has a bin of its own, which is named by the
value ("is 0"); the other values are cut into bins of equal count. The bin of such a value reaches half a step of the
data's resolution to both sides (``thence.data.readings.resolution``), so that rounding moves no reading into or out of
it; for numbers without a resolution it holds the value alone. Bins beside it may be empty: they are for later values.
Other bins hold at least one value of the data. Their edges are the shortest decimal numbers between two values of the
data, so that they can be printed as they are (``thence.tables.cuts``); edges that are given, or that come from another
package, stay as they are.

A binning method is a function from numbers to inner bin edges, registered in ``METHODS``:

    def find_edges(values, bins): ...

``values`` is a one-dimensional float array of at least one number, all finite, in any order; ``bins`` is the number of
bins asked for. The function returns the inner edges in increasing order (``bins − 1`` of them, or fewer), or a
``Binning``. It must not modify ``values``. A method that needs numbers from the user takes a third parameter,
``bin_edges``; the other methods refuse them. A method that tells the states of a target apart takes a third parameter,
``classes``: a matrix (targets × values) of integers, −1 for missing. Adding a method to the package takes such a
function and a line in ``METHODS``; another package adds one with an entry point in the group ``thence.discretizers``.

This module works on plain arrays. ``Discretizer`` decides which readings share a binning; the enrichments decide what
becomes of the codes.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from thence._base.settings.registry import Registry
from thence.data.readings.resolution import are_computed, find_decimals, snap
from thence.errors import ConfigError
from thence.language.items import Interval
from thence.tables.cuts import shorten_between, shorten_cut, shorten_cuts
from thence.tables.pools import Pool

METHODS: Registry[Any] = Registry(
    "binning method",
    {
        "frequency": "thence.tables.discretization:cut_by_frequency",
        "width": "thence.tables.discretization:cut_by_width",
        "kmeans": "thence.tables.discretization:cut_by_kmeans",
        "quantiles": "thence.tables.discretization:cut_at_quantiles",
        "edges": "thence.tables.discretization:cut_at_edges",
        "distinct": "thence.tables.discretization:keep_distinct",
        "entropy": "thence.tables.entropy_cuts:cut_towards",
        "chimerge": "thence.tables.chi_merge:cut_by_chi_merge",
        "tree": "thence.tables.tree_cuts:cut_by_tree",
    },
    group="thence.discretizers",
    of=object,
)
"""The binning methods by name."""

MAX_BINS = 32_000
MAX_DISTINCT = 20
_LONGEST_WINDOW = 1e11  # seconds: three thousand years
FINE_BINS, FINE_RANKS = 1000, 100
"""Number of bins, and of ranks, for thresholds that are sharper than the bins of the search."""
POOLED = 1 << 22
"""Numbers from which on those of a pool are not joined to fit bins."""
_FEW = 16  # edges that are compared one by one, and bins whose frequent values are found without sorting

FloatArray = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int16]


@dataclass(frozen=True)
class Binning:
    """The fitted bins of one quantity.

    Args:
        bin_edges: Inner edges of the bins, in increasing order. Edges of ranks may be equal: no number has the rank
            between them. NaN edges mean that every value is coded as missing.
        categories: Distinct values that are kept as categories; if given, there are no bins.
        ties: Values without a rank, in increasing order, with codes of their own after the codes of the ranks.
        named: Values that have a bin of their own, in increasing order; the bin is named by the value.
        resolution: The step between the values that the bins were fitted on; 0 if they have none.

    Examples:
        >>> b = fit_binning(np.arange(10.0), bins=5)
        >>> b.bin_edges.tolist()
        [2.0, 4.0, 6.0, 8.0]
        >>> b.encode(np.array([-5.0, 2.0, 99.0, np.nan])).tolist()
        [0, 1, 4, -1]
        >>> str(b.intervals[1])
        '[2.0, 4.0)'
    """

    bin_edges: FloatArray
    categories: FloatArray | None = None
    ties: FloatArray | None = None
    named: FloatArray | None = None
    resolution: float = 0.0

    @property
    def values(self) -> tuple[Interval, ...] | tuple[float, ...]:
        """The bin or category of each code."""
        if self.categories is not None:
            return tuple(float(value) for value in self.categories)
        return self.intervals

    @property
    def intervals(self) -> tuple[Interval, ...]:
        """The bins; the outer ones are unbounded, and those of frequent values are named by the value.

        Ranks may be empty and then have no interval: use ``range_of``.
        """
        bounds = [-math.inf, *self.bin_edges.tolist(), math.inf]
        names: dict[int, float] = {}
        if self.named is not None:
            codes = np.searchsorted(self.bin_edges, self.named, side="right").tolist()
            names = dict(zip(codes, self.named.tolist(), strict=True))
        return tuple(Interval(low, high, names.get(code)) for code, (low, high) in enumerate(pairwise(bounds)))

    @cached_property
    def has_ranks(self) -> bool:
        """Whether the edges tell ranks apart; those of a series that never changes do not."""
        return not bool(np.isnan(self.bin_edges).any())

    def range_of(self, code: int) -> tuple[float, float] | None:
        """Return the half-open range of the numbers of a bin or rank; ``None`` if no number has this code.

        Args:
            code: The code of a bin or rank, not that of a category or of one of the ``ties``.

        Examples:
            >>> ranks = Binning(np.array([1.0, 4.0, 4.0]))
            >>> ranks.range_of(1), ranks.range_of(2), ranks.range_of(3)
            ((1.0, 4.0), None, (4.0, inf))
        """
        if not self.has_ranks or self.categories is not None:
            return None
        low = -math.inf if code == 0 else float(self.bin_edges[code - 1])
        high = math.inf if code == len(self.bin_edges) else float(self.bin_edges[code])
        return (low, high) if low < high else None

    def encode(self, values: npt.NDArray[Any]) -> Codes:
        """Return the codes of ``values``; NaN is −1, and so is a number that is not among ``categories``."""
        values = np.asarray(values, dtype=np.float64)
        if self.categories is not None:
            at = np.searchsorted(self.categories, values)
            at[at == len(self.categories)] = 0
            known = self.categories[at] == values if len(self.categories) else np.zeros(values.shape, bool)
            return np.where(known, at, -1).astype(np.int16)
        if self.has_ranks:
            codes = _count_edges(self.bin_edges, values)
            codes[np.isnan(values)] = -1
        else:
            codes = np.full(values.shape, -1, np.int16)
        if self.ties is not None:
            for number, tie in enumerate(self.ties.tolist(), start=len(self.bin_edges) + 1):
                low, high = _bounds_of(tie, self.resolution)
                codes[(values >= low) & (values < high)] = number
        return codes

    def to_dict(self) -> dict[str, Any]:
        """Return a dict that JSON can hold, with exact numbers."""
        out: dict[str, Any] = {"edges": [None if np.isnan(edge) else edge for edge in self.bin_edges.tolist()]}
        if self.categories is not None:
            out["categories"] = self.categories.tolist()
        for name in ("ties", "named"):
            values = getattr(self, name)
            if values is not None and len(values):
                out[name] = values.tolist()
        if self.resolution:
            out["resolution"] = self.resolution
        return out

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Binning:
        """Create a binning from the ``data`` that ``to_dict`` returned."""
        given = {name: data.get(name) for name in ("categories", "ties", "named")}
        arrays = {name: None if some is None else np.asarray(some, np.float64) for name, some in given.items()}
        edges = np.array([np.nan if edge is None else edge for edge in data["edges"]], dtype=np.float64)
        for name, some in (("edges", edges), *arrays.items()):
            if some is not None and some.ndim != 1:
                raise ValueError(f"the {name} of a binning must be a list of numbers")
            if some is not None and not (np.isnan(some).all() or np.all(some[1:] >= some[:-1])):
                raise ValueError(f"the {name} of a binning must be in increasing order")
        return Binning(edges, **arrays, resolution=float(data.get("resolution", 0.0)))


BinningMethod = Callable[..., FloatArray | Binning]
"""A function of ``values`` and ``bins``, and perhaps of ``bin_edges`` or ``classes``, as described at the top."""


def fit_binning(
    values: npt.NDArray[Any],
    *,
    method: str = "frequency",
    bins: int = 10,
    bin_edges: Sequence[float] | None = None,
    classes: npt.NDArray[Any] | None = None,
) -> Binning:
    """Fit bins to numbers.

    Args:
        values: The numbers; NaN and infinite values are ignored.
        method: Name of a binning method:

            - ``frequency``: bins of equal count. A value that makes up more than one share of ``bins`` has a bin of
              its own, and the others are cut into ``bins`` bins. Equal values stay together, so there may be fewer.
            - ``quantiles``: the same at given quantiles.
            - ``width``: bins of equal width between minimum and maximum; empty bins are joined to the bin below.
            - ``kmeans``: one-dimensional k-means, with edges midway between neighbouring centres.
            - ``edges``: given inner edges.
            - ``distinct``: the values as categories if there are at most 20, otherwise ``frequency``.
            - ``entropy``: where ``classes`` differ most, as far as each cut pays for its own description (MDL).
            - ``chimerge``: intervals are merged until neighbours differ in ``classes`` (ChiMerge, at the level 0.05).
            - ``tree``: the thresholds of a decision tree for ``classes``.
        bins: Number of bins, ignored by ``quantiles`` and ``edges``.
        bin_edges: Increasing numbers for ``quantiles`` (between 0 and 1) and ``edges``; refused by other methods.
        classes: For the last three: the class of each number as an integer, −1 for missing, or a matrix (targets ×
            numbers) of them; refused by other methods.

    Raises:
        ConfigError: If the method is unknown, or ``bins``, ``bin_edges`` or ``classes`` do not suit it.

    Examples:
        >>> [str(interval) for interval in fit_binning(np.array([0, 0, 0, 0, 1.5, 2.5]), bins=2).intervals]
        ['[-inf, -0.05)', '[-0.05, 0.05)', '[0.05, 2.5)', '[2.5, inf)']
        >>> fit_binning(np.array([1.0, 2.0, 2.0]), method="distinct").values
        (1.0, 2.0)
    """
    return _fit(method, METHODS.load(method), values, bins, bin_edges, classes)


def _fit(
    method: str,
    find: BinningMethod,
    values: npt.NDArray[Any],
    bins: int,
    bin_edges: Sequence[float] | None,
    classes: npt.NDArray[Any] | None = None,
) -> Binning:
    _check_bins(bins)
    if (classes is not None) != _takes(find, "classes"):
        raise ConfigError(
            f"method '{method}' {'takes no' if classes is not None else 'needs the'} classes of a target",
            hint=f"use {_supervised_text()} with towards='…', the name of a column, a sensor or a kind",
        )
    given = None if bin_edges is None else np.asarray(bin_edges, dtype=np.float64)
    if _takes(find, "bin_edges"):
        if given is None or given.ndim != 1 or not np.all(np.diff(given) > 0) or np.isnan(given).any():
            raise ConfigError(f"method '{method}' requires bin_edges in increasing order, got {bin_edges!r}")
    elif given is not None:
        raise ConfigError(f"method '{method}' does not take bin_edges", hint="use method='edges' to give them")
    every = np.asarray(values, dtype=np.float64)
    finite = every[np.isfinite(every)]
    if finite.size == 0 and method != "edges":
        return Binning(np.empty(0))
    if method in METHODS.built_in and method not in ("edges", "distinct") and finite.min() == finite.max():
        return cut_by_frequency(finite, 2)  # a single value is named, whatever the method
    third = [] if given is None else [given]
    if classes is not None:
        third = [np.atleast_2d(np.asarray(classes))[:, np.isfinite(every).ravel()]]
    found = find(finite, bins, *third)
    if isinstance(found, Binning):
        fitted = found
    elif method not in METHODS.built_in:
        fitted = Binning(np.asarray(found, dtype=np.float64))
    else:
        fitted = Binning(found if method == "edges" else shorten_cuts(found, finite))
    edges = fitted.bin_edges
    if edges.ndim != 1 or not np.isfinite(edges).all() or not np.all(edges[1:] > edges[:-1]):
        raise ConfigError(f"binning method '{method}' must return finite edges in increasing order, got {edges!r}")
    return fitted


def _takes(find: BinningMethod, parameter: str) -> bool:
    return parameter in inspect.signature(find).parameters


def is_supervised(method: str) -> bool:
    """Return whether a binning method tells the states of a target apart.

    Args:
        method: Its name.

    Examples:
        >>> [name for name in METHODS.built_in if is_supervised(name)]
        ['entropy', 'chimerge', 'tree']
    """
    return _takes(METHODS.load(method), "classes")


def _supervised_text() -> str:
    return " or ".join(f"method='{name}'" for name in METHODS.built_in if is_supervised(name))


def _check_bins(bins: Any) -> None:
    if not isinstance(bins, int) or isinstance(bins, bool) or not 1 <= bins <= MAX_BINS:
        raise ConfigError(f"bins must be an integer between 1 and {MAX_BINS}, got {bins!r}")


def cut_by_frequency(values: FloatArray, bins: int) -> Binning:
    """Method ``frequency``: a bin for each frequent value, and bins of equal count for the others."""
    decimals = find_decimals(values)
    values = snap(values, decimals)
    frequent = _find_frequent(values, bins)
    resolution = 0.0 if decimals is None else float(f"1e-{decimals}")
    rest = values[~np.isin(values, frequent)] if len(frequent) else values
    edges = _data_quantiles(rest, np.arange(1, bins) / bins) if len(rest) else np.empty(0)
    if not len(frequent):
        return Binning(shorten_cuts(edges, rest), resolution=resolution)
    if len(edges):
        # Values on both sides of a frequent one are already separated by its bin.
        levels = np.unique(rest)
        before = levels[np.searchsorted(levels, edges) - 1]
        edges = edges[np.searchsorted(frequent, before) == np.searchsorted(frequent, edges)]
    bounds = [bound for value in frequent.tolist() for bound in _bounds_of(value, resolution)]
    cuts = np.unique(np.concatenate([shorten_cuts(edges, rest), bounds]))
    return Binning(cuts, named=frequent, resolution=resolution)


def cut_pool(pool: Pool, bins: int) -> Binning:
    """Fit bins by the method ``frequency`` to a pool, as ``fit_binning`` does to the joined numbers.

    Args:
        pool: The numbers.
        bins: Number of bins.

    Examples:
        >>> cut_pool(Pool(lambda: [np.array([1.0, 2.0]), np.array([3.0, 4.0])]), 2).bin_edges.tolist()
        [3.0]
    """
    _check_bins(bins)
    if not pool.size:
        return Binning(np.empty(0))
    if pool.lowest == pool.highest:
        return cut_by_frequency(np.array([pool.lowest]), 2)
    decimals = pool.decimals
    values = pool.snapped(decimals)
    levels = np.unique(values.order_statistics(_ends_of_shares(values.size, bins)))
    frequent = levels[values.count(levels) * bins > values.size] + 0.0
    resolution = 0.0 if decimals is None else float(f"1e-{decimals}")
    rest = values.without(frequent)
    edges = _pool_quantiles(rest, np.arange(1, bins) / bins) if rest.size else np.empty(0)
    if not len(frequent):
        return Binning(shorten_between(edges, *rest.neighbours(edges)), resolution=resolution)
    if len(edges):
        before, _ = rest.neighbours(edges)
        edges = edges[np.searchsorted(frequent, before) == np.searchsorted(frequent, edges)]
    bounds = [bound for value in frequent.tolist() for bound in _bounds_of(value, resolution)]
    cuts = np.unique(np.concatenate([shorten_between(edges, *rest.neighbours(edges)), bounds]))
    return Binning(cuts, named=frequent, resolution=resolution)


def _pool_quantiles(pool: Pool, fractions: FloatArray) -> FloatArray:
    """As ``_data_quantiles``."""
    found = pool.order_statistics(_places_of(fractions, pool.size))
    edges, hits = np.unique(found, return_counts=True)
    heavy = edges[(hits > 1) | (edges == pool.lowest)]
    _, closing = pool.neighbours(np.nextafter(heavy, np.inf))
    edges = np.unique(np.concatenate([edges, closing[np.isfinite(closing)]]))
    return np.asarray(edges[edges > pool.lowest])


def _count_edges(edges: FloatArray, values: FloatArray) -> Codes:
    """How many edges each value reaches; NaN may have any code."""
    if len(edges) > _FEW:
        return np.searchsorted(edges, values, side="right").astype(np.int16)
    codes = np.zeros(values.shape, np.int16)
    for edge in edges.tolist():
        codes += values >= edge
    return codes


def _find_frequent(values: FloatArray, bins: int) -> FloatArray:
    """The values that make up more than one share of ``bins``, in increasing order."""
    if bins > _FEW:
        levels, counts = np.unique(values, return_counts=True)
        return np.asarray(levels[counts * bins > values.size] + 0.0)
    ends = _ends_of_shares(values.size, bins)
    return _frequent_of(np.partition(values, ends)[ends] if len(ends) else np.empty(0), values, bins)


def _ends_of_shares(size: int, bins: int) -> npt.NDArray[np.int64]:
    """The places in sorted order at which equal shares end; a value with more than a share is at one of them."""
    return np.unique(np.arange(1, bins) * size // bins)


def _frequent_of(levels: FloatArray, values: FloatArray, bins: int) -> FloatArray:
    """Those of some levels that make up more than one share of ``bins`` of all values."""
    found = [level for level in np.unique(levels).tolist() if np.count_nonzero(values == level) * bins > values.size]
    return np.array(found, np.float64) + 0.0


def _bounds_of(value: float, resolution: float) -> tuple[float, float]:
    """The half-open range of the numbers that are rounded to a value.

    Without a resolution, and for a value that is not a multiple of it, which is a frequent value of another series, it
    is the value alone: where readings are whole numbers, none of them is rounded to 0.25.
    """
    if not resolution or round(value, -round(math.log10(resolution))) != value:
        return value, math.nextafter(value, math.inf)
    decimals = 1 - round(math.log10(resolution))
    return round(value - resolution / 2, decimals), round(value + resolution / 2, decimals)


def cut_at_quantiles(values: FloatArray, bins: int, bin_edges: FloatArray) -> FloatArray:
    """Method ``quantiles``: edges at given quantiles."""
    if len(bin_edges) and (bin_edges.min() <= 0 or bin_edges.max() >= 1):
        raise ConfigError(f"quantiles must lie between 0 and 1, got {bin_edges.tolist()!r}")
    return _data_quantiles(values, bin_edges)


def cut_at_edges(values: FloatArray, bins: int, bin_edges: FloatArray) -> FloatArray:
    """Method ``edges``: given edges."""
    return bin_edges[np.isfinite(bin_edges)]


def cut_by_width(values: FloatArray, bins: int) -> FloatArray:
    """Method ``width``: bins of equal width."""
    low, high = float(values.min()), float(values.max())
    if low == high:
        return np.empty(0)
    edges = np.unique(np.linspace(low, high, bins + 1)[1:-1])
    return _drop_empty(edges, values)


def cut_by_kmeans(values: FloatArray, bins: int) -> FloatArray:
    """Method ``kmeans``: Lloyd's algorithm on sorted data, where clusters are runs and prefix sums give every mean."""
    ordered = np.sort(values)
    sums = np.concatenate([[0.0], np.cumsum(ordered)])
    edges = _data_quantiles(ordered, np.arange(1, bins) / bins)
    for _ in range(100):
        cuts = np.concatenate([[0], np.searchsorted(ordered, edges), [len(ordered)]])
        cuts = np.unique(cuts)
        centres = np.diff(sums[cuts]) / np.diff(cuts)
        moved = (centres[:-1] + centres[1:]) / 2
        if len(moved) == len(edges) and np.allclose(moved, edges, rtol=0, atol=0):
            break
        edges = moved
    return _drop_empty(edges, ordered)


def keep_distinct(values: FloatArray, bins: int) -> Binning:
    """Method ``distinct``: the values themselves if there are few, otherwise bins of equal count."""
    distinct = np.unique(values)
    return Binning(np.empty(0), distinct) if len(distinct) <= MAX_DISTINCT else cut_by_frequency(values, bins)


def _drop_empty(edges: FloatArray, values: FloatArray) -> FloatArray:
    """Join empty bins to the bin below."""
    filled = np.unique(np.searchsorted(edges, values, side="right"))
    return edges[filled[filled > 0] - 1]


def split_bins(binning: Binning, values: npt.NDArray[Any], parts: int) -> Binning:
    """Cut each bin into finer bins of equal count, so that every bin is a union of finer ones.

    Bins that are named by a value, and values that are kept as categories, stay as they are.

    Args:
        binning: The bins.
        values: The numbers that they were fitted on; NaN and infinite values are ignored.
        parts: Number of finer bins per bin; fewer where a bin holds fewer different values. Their edges are short
            decimal numbers, within half a finer bin of equal counts.

    Examples:
        >>> halves = fit_binning(np.arange(8.0), bins=2)
        >>> halves.bin_edges.tolist(), split_bins(halves, np.arange(8.0), 2).bin_edges.tolist()
        ([4.0], [2.0, 4.0, 6.0])
    """
    if binning.categories is not None or parts < 2:
        return binning
    finite = np.asarray(values, np.float64)
    finite = np.sort(snap(finite[np.isfinite(finite)], find_decimals(finite)))
    cuts = [binning.bin_edges]
    for interval in binning.intervals:
        inside = finite[np.searchsorted(finite, interval.low) : np.searchsorted(finite, interval.high)]
        if interval.at is None and len(inside) > 1 and inside[0] < inside[-1]:
            cuts.append(_short_quantiles(inside, parts))
    return replace(binning, bin_edges=np.unique(np.concatenate(cuts)))


def _short_quantiles(ordered: FloatArray, parts: int) -> FloatArray:
    """Return cuts into about equal shares, each the shortest decimal number within half a share of the exact one."""
    exact = _data_quantiles(ordered, np.arange(1, parts) / parts)
    first = np.searchsorted(ordered, exact)
    half = len(ordered) // (2 * parts)
    low, high = ordered[np.maximum(first - max(half, 1), 0)], ordered[np.minimum(first + half, len(ordered) - 1)]
    ends = zip(exact.tolist(), low.tolist(), high.tolist(), strict=True)
    return np.array([shorten_cut(*bounds) for bounds in ends])


def fit_ranks(values: npt.NDArray[Any], *, bins: int = 10, parts: int = 1) -> Binning:
    """Fit the bins that split a sensor's own history into ranks.

    The number of bins is the same for every sensor, so that code ``q`` means "rank q of ``bins``" for all of them. A
    rank is the share of all readings that are not larger, so that it is true of the reading as it is worded. A value
    that makes up more than one share of ``bins`` cannot be given a rank that is true of it: it gets a code of its own,
    after those of the ranks, and the ranks that it would fill stay empty. Edges lie half a step of the readings'
    resolution below a reading, so that rounding changes no rank.

    Args:
        values: The readings of one sensor; NaN and infinite values are ignored.
        bins: Number of ranks.
        parts: Number of finer ranks that each of them is cut into. Which values are frequent depends on ``bins`` alone.

    Returns:
        The bins, with the frequent values as ``ties``. The edges are NaN if the sensor has no readings or never
        changes, since it then has no ranks; the value that never changes is a tie.

    Examples:
        >>> fit_ranks(np.arange(10.0), bins=5).bin_edges.tolist()
        [1.5, 3.5, 5.5, 7.5]
        >>> pump = fit_ranks(np.array([0.0, 0.0, 0.0, 0.0, 7.0, 8.0, 9.0, 9.5]), bins=4)
        >>> pump.encode(np.array([0.0, 7.0, 9.5])).tolist()
        [4, 2, 3]
    """
    finite = np.asarray(values, dtype=np.float64)
    finite = finite[np.isfinite(finite)]
    ranks = bins * parts
    if finite.size == 0:
        return Binning(np.full(ranks - 1, np.nan))
    decimals = find_decimals(finite)
    finite = snap(finite, decimals)
    resolution = 0.0 if decimals is None else float(f"1e-{decimals}")
    if finite.min() == finite.max():
        return Binning(np.full(ranks - 1, np.nan), ties=finite[:1] + 0.0, resolution=resolution)
    at = _places_of(np.arange(1, ranks) / ranks, finite.size)
    if bins > _FEW:
        ordered, ties = np.sort(finite), _find_frequent(finite, bins)
    else:
        ends = _ends_of_shares(finite.size, bins)
        ordered = np.partition(finite, np.union1d(at, ends)) if ranks > 1 else finite
        ties = _frequent_of(ordered[ends], finite, bins)
    edges = ordered[at]
    if decimals is not None:
        edges = np.array([_bounds_of(edge, resolution)[0] for edge in edges.tolist()])
    return Binning(edges, ties=ties if len(ties) else None, resolution=resolution)


def fit_plain_ranks(values: FloatArray, *, bins: int, parts: int = 1) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
    """Fit the ranks of many series at once, as far as they are plain, as most of a large plant are.

    A plain series has no gaps, no resolution and no frequent values. ``fit_ranks`` finds the same edges for each series
    alone.

    Args:
        values: The readings, series × frames.
        bins: Number of ranks.
        parts: Number of finer ranks that each of them is cut into.

    Returns:
        The edges of each series, and which series are plain. The edges of the others mean nothing.

    Examples:
        >>> edges, plain = fit_plain_ranks(np.array([np.arange(80.0) / 7, np.arange(80.0)]), bins=2)
        >>> edges[0].round(3).tolist(), plain.tolist()
        ([5.714], [True, False])
    """
    ranks, size = bins * parts, values.shape[1]
    edges = np.full((len(values), ranks - 1), np.nan)
    if not 2 <= bins <= _FEW or not values.size:
        return edges, np.zeros(len(values), np.bool_)
    plain = np.asarray(np.isfinite(values).all(axis=1))
    plain[plain] = are_computed(values[plain])
    some = values[plain]
    at, ends = _places_of(np.arange(1, ranks) / ranks, size), _ends_of_shares(size, bins)
    ordered = np.partition(some, np.union1d(at, ends), axis=1)
    frequent = np.zeros(len(some), np.bool_)
    for level in ordered[:, ends].T:
        frequent |= np.count_nonzero(some == level[:, None], axis=1) * bins > size
    # A series that never changes has a frequent value.
    edges[plain] = ordered[:, at]
    plain[plain] = ~frequent
    return edges, plain


def encode_ranks(values: FloatArray, edges: FloatArray) -> Codes:
    """Return the codes of many series, each by its own edges; NaN is −1.

    Args:
        values: The readings, series × frames.
        edges: The edges, series × (ranks − 1).

    Examples:
        >>> encode_ranks(np.array([[1.0, 5.0], [1.0, np.nan]]), np.array([[2.0], [0.5]])).tolist()
        [[0, 1], [1, -1]]
    """
    codes = np.zeros(values.shape, np.int16)
    if edges.shape[1] > _FEW:
        for row, own in enumerate(edges):
            codes[row] = _count_edges(own, values[row])
    else:
        for edge in edges.T:
            codes += values >= edge[:, None]
    codes[np.isnan(values)] = -1
    return codes


def _places_of(fractions: FloatArray, size: int) -> npt.NDArray[np.int64]:
    """The places in sorted order of fractions of all values."""
    return np.minimum((fractions * size + 1e-9).astype(np.int64), size - 1)


def _order_statistics(values: FloatArray, fractions: FloatArray) -> FloatArray:
    at = _places_of(fractions, len(values))
    return np.asarray(np.partition(values, np.unique(at))[at]) if len(at) else np.empty(0)


def _data_quantiles(values: FloatArray, fractions: FloatArray) -> FloatArray:
    """Return edges that are values of the data above its minimum, so that no bin is empty.

    A value so frequent that two edges fall on it, or that the first edge falls on the minimum, gets a further edge at
    the next larger value: a signal that is mostly 0 keeps the difference between 0 and the rest.
    """
    lowest = values.min()
    edges, hits = np.unique(_order_statistics(values, fractions), return_counts=True)
    heavy = edges[(hits > 1) | (edges == lowest)]
    closing = [above.min() for value in heavy if (above := values[values > value]).size]
    edges = np.unique(np.concatenate([edges, closing]))
    return np.asarray(edges[edges > lowest])


@dataclass(frozen=True)
class Discretizer:
    """How readings and properties become codes, and, once fitted, the bins.

    A fitted discretizer is part of its table, so that later data get the same bins.

    Args:
        method: Name of a binning method, see ``fit_binning``.
        bins: Number of bins.
        scope: ``"kind"`` pools all sensors of a kind, ``"sensor"`` bins each sensor separately.
        bin_edges: Inner edges by key, usually the kind of a sensor or ``"Class.property"``; they override the method.
        binnings: The fitted bins by key.
        systems: The names of the systems whose sensors the bins belong to.
        places: The node of each sensor with bins of its own; empty where it is not bound.
        states: The states that were seen, by kind, or by sensor where it has no kind.
        window_seconds: Length of the windows that the bins were fitted on; 0 if it is not known.
        parts: Number of finer bins that each bin is cut into, for thresholds sharper than the bins of the search.
        towards: For a method that has a target: a column, sensor or kind, whose states the bins of others tell apart.

    Raises:
        ConfigError: If ``method``, ``bins``, ``scope``, ``parts`` or ``towards`` is invalid.

    Examples:
        >>> d = Discretizer(bins=2).fit({"flow": np.array([1.0, 2.0, 3.0, 4.0])})
        >>> d.binnings["flow"].bin_edges.tolist()
        [3.0]
    """

    method: str = "frequency"
    bins: int = 10
    scope: str = "kind"
    bin_edges: Mapping[str, Sequence[float]] = field(default_factory=dict)
    binnings: Mapping[str, Binning] = field(default_factory=dict)
    systems: tuple[str, ...] = ()
    places: Mapping[str, str] = field(default_factory=dict)
    states: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    window_seconds: float = 0.0
    parts: int = 1
    towards: str = ""

    def __post_init__(self) -> None:
        if self.scope not in ("kind", "sensor"):
            raise ConfigError(
                f"unknown scope '{self.scope}'",
                hint="use 'kind' to pool all sensors of a kind, or 'sensor' to bin each sensor separately",
            )
        METHODS.check(self.method)
        _check_bins(self.bins)
        if not isinstance(self.parts, int) or not 1 <= self.parts * self.bins <= MAX_BINS:
            raise ConfigError(f"parts must be an integer from 1 to {MAX_BINS // self.bins}, got {self.parts!r}")
        if self.towards and not is_supervised(self.method):
            raise ConfigError(
                f"'towards' does not apply to the method '{self.method}'",
                hint=f"use {_supervised_text()}, or leave it out",
            )

    @property
    def n_ranks(self) -> int:
        """Number of ranks that the history of a sensor is cut into."""
        return self.bins * self.parts

    def finer(self, n_bins: int) -> Discretizer:
        """Return the same discretizer, not yet fitted, with each bin cut into so many parts that there are ``n_bins``.

        Args:
            n_bins: Least number of bins.

        Examples:
            >>> Discretizer(bins=5).finer(100).parts
            20
        """
        parts = min(max(-(-n_bins // self.bins), 1), MAX_BINS // self.bins)
        return replace(self, parts=parts, binnings={}, places={}, states={})

    def group(self, *, kind: str, sensor: str, name: str = "") -> str:
        """Return the key of the binning that a reading belongs to.

        Args:
            kind: Kind of the sensor; the sensor's id is used if it is empty.
            sensor: Id of the sensor.
            name: Name of a quantity derived from the readings, such as ``"change"``.
        """
        base = sensor if self.scope == "sensor" or not kind else kind
        return f"{base}.{name}" if name else base

    def fit(
        self, groups: Mapping[str, npt.NDArray[Any] | Pool], *, classes: Mapping[str, npt.NDArray[Any]] | None = None
    ) -> Discretizer:
        """Fit bins to groups of numbers.

        Args:
            groups: Numbers by key. Those of a large pool are not joined if the method is ``frequency``.
            classes: For a method that has a target: classes by key, each a matrix (targets × numbers), −1 for missing.
                Keys without classes, such as that of the target itself, get bins of equal count.

        Returns:
            A discretizer with these bins added to those that it already has.
        """
        find = METHODS.load(self.method)
        fitted = dict(self.binnings)
        for key, group in groups.items():
            given = self.bin_edges.get(key)
            if isinstance(group, Pool) and self._streams(group, given):
                fitted[key] = cut_pool(group, self.bins)
                continue
            values = group.joined() if isinstance(group, Pool) else group
            if given is None and classes is not None:
                own = classes.get(key)
                method = "frequency" if own is None else self.method
                fitted[key] = fit_binning(values, method=method, bins=self.bins, classes=own)
            elif given is None or _takes(find, "bin_edges"):
                fitted[key] = _fit(self.method, find, values, self.bins, given)
            else:
                fitted[key] = fit_binning(values, method="edges", bins=self.bins, bin_edges=given)
            fitted[key] = split_bins(fitted[key], values, self.parts)
        return replace(self, binnings=fitted)

    def _streams(self, pool: Pool, given: Sequence[float] | None) -> bool:
        """Whether bins are fitted to a pool part by part; few numbers are joined, which is faster."""
        return self.method == "frequency" and given is None and self.parts == 1 and pool.size > POOLED

    def to_dict(self) -> dict[str, Any]:
        """Return a dict that JSON can hold."""
        return {
            "method": self.method,
            "bins": self.bins,
            "scope": self.scope,
            "edges": {key: list(map(float, values)) for key, values in self.bin_edges.items()},
            "binnings": {key: binning.to_dict() for key, binning in self.binnings.items()},
            "systems": list(self.systems),
            "places": dict(self.places),
            "states": {kind: list(states) for kind, states in self.states.items()},
            "window_seconds": self.window_seconds,
            **({"parts": self.parts} if self.parts > 1 else {}),
            **({"towards": self.towards} if self.towards else {}),
        }

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Discretizer:
        """Create a discretizer from a dict.

        Args:
            data: The dict that ``to_dict`` returned.
        """
        places, seconds = dict(data.get("places", {})), data.get("window_seconds", 0.0)
        states = {kind: tuple(known) for kind, known in data.get("states", {}).items()}
        if not all(isinstance(one, (str, bool, int, float)) for known in states.values() for one in known):
            raise TypeError("states must be text, numbers or truth values")
        if not all(isinstance(one, str) for one in places.values()):
            raise TypeError("the nodes of sensors must be text")
        if isinstance(seconds, str) or not 0 <= float(seconds) <= _LONGEST_WINDOW:
            raise ValueError(f"windows of {seconds!r} seconds")
        binnings = {key: Binning.from_dict(value) for key, value in data["binnings"].items()}
        # Only the ranks of single sensors may be empty.
        for key, binning in binnings.items() if data["scope"] == "kind" else ():
            if np.any(binning.bin_edges[1:] == binning.bin_edges[:-1]):
                raise ValueError(f"the bins of {key!r} have equal edges")
        return Discretizer(
            data["method"],
            data["bins"],
            data["scope"],
            data["edges"],
            binnings,
            tuple(data.get("systems", ())),
            places,
            states,
            float(seconds),
            data.get("parts", 1),
            data.get("towards", ""),
        )
