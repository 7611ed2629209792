"""Fitting of ranges on normal readings. Plain arrays only; this module knows neither graphs nor windows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from thence.statements.ranges import Ranges
from thence.tables.cuts import shorten_cuts

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

_CANDIDATES = 20  # sensors that are tried for each sensor, by their rank correlation with it
_SAMPLE = 2_000  # frames on which rank correlations are computed
_ROWS_PER_BIN = 50


def fit_ranges(
    values: Floats, ids: Sequence[str], *, bins: int = 20, share: float = 0.98, partners: int = 5, spread: float = 0.7
) -> tuple[Ranges, ...]:
    """Fit, for each sensor, its ranges given those other sensors that tell most about it.

    Args:
        values: Frames × sensors; NaN where there is no reading.
        ids: The ids of the sensors.
        bins: Most bins of a given sensor; each has at least 50 frames.
        share: Share of the frames of a bin that a range holds; the others are below or above it in equal parts.
        partners: Most sensors that are given, for each sensor.
        spread: Ranges are kept if they are on average at most this share of what the sensor reads overall.

    Examples:
        >>> x = np.linspace(0, 1, 1000)
        >>> found = fit_ranges(np.stack([x, 2 * x], axis=1), ["a", "b"], bins=4)
        >>> [(one.given, one.sensor, len(one.low)) for one in found]
        [('b', 'a', 4), ('a', 'b', 4)]
    """
    near = _rank_correlations(values)
    tail = (1 - share) / 2
    out = []
    for column, sensor in enumerate(ids):
        own = values[:, column]
        known = own[~np.isnan(own)]
        if len(known) < 2 * _ROWS_PER_BIN:
            continue
        overall = float(np.quantile(known, 1 - tail) - np.quantile(known, tail))
        if overall <= 0:
            continue
        order = [
            at for at in np.argsort(-near[column], kind="stable").tolist() if at != column and near[column, at] > 0
        ]
        found = []
        for at in order[:_CANDIDATES]:
            fitted = _fit_pair(values[:, at], own, bins, tail)
            if fitted is not None and fitted[0] <= spread * overall:
                found.append((fitted[0], at, fitted[1:]))
        for _, at, (edges, low, high) in sorted(found, key=lambda one: one[:2])[:partners]:
            out.append(Ranges(ids[at], sensor, edges, low, high))
    return tuple(out)


def _rank_correlations(values: Floats) -> Floats:
    """Absolute rank correlations of all pairs of sensors; 0 where there are too few readings."""
    some = values[:: max(len(values) // _SAMPLE, 1)]
    known = ~np.isnan(some)
    ranks = np.argsort(np.argsort(np.where(known, some, np.inf), axis=0, kind="stable"), axis=0).astype(np.float64)
    counts = known.sum(axis=0)
    centred = np.where(known, ranks - (counts[None, :] - 1) / 2, 0.0)
    constant = np.array([len(np.unique(column[on])) < 2 for column, on in zip(some.T, known.T, strict=True)], bool)
    size = np.sqrt((centred**2).sum(axis=0))
    size[constant | (size == 0)] = np.inf
    return np.asarray(np.abs(centred.T @ centred) / size[:, None] / size[None, :])


Tuples = tuple[float, ...]


def _fit_pair(given: Floats, own: Floats, bins: int, tail: float) -> tuple[float, Tuples, Tuples, Tuples] | None:
    """Mean width of the ranges, the edges of the bins, and the ends of the ranges."""
    both = ~np.isnan(given) & ~np.isnan(own)
    x, y = given[both], own[both]
    most = min(bins, len(x) // _ROWS_PER_BIN)
    if most < 2:
        return None
    edges = np.unique(shorten_cuts(np.quantile(x, np.linspace(0, 1, most + 1)[1:-1]), x))
    edges = edges[edges > x.min()]
    codes = np.searchsorted(edges, x, side="right")
    order = np.argsort(codes, kind="stable")
    parts = np.split(y[order], np.searchsorted(codes[order], np.arange(1, len(edges) + 1)))
    if not len(edges) or min(map(len, parts)) < 2:
        return None
    # Readings, and not numbers between them, which later readings of the same sensor could not have.
    ends = np.array(
        [[np.quantile(part, tail, method="lower"), np.quantile(part, 1 - tail, method="higher")] for part in parts]
    )
    width = float(np.average(ends[:, 1] - ends[:, 0], weights=[len(part) for part in parts]))
    return width, tuple(edges.tolist()), tuple(ends[:, 0].tolist()), tuple(ends[:, 1].tolist())
