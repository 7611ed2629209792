"""Bands: how far a residual may be from 0, fitted per place and joined over places.

A band is absolute, relative to the size of the parts, or both: a residual is within it if its absolute value is at
most the larger of the two. Most sensors have relative noise, and small places need small bands. A place that needs far
more than the others does not widen the band: it is an exception. This module works on plain arrays, frames × places, in
which NaN is missing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

COVERED = (0.999, 0.995)
"""Share of the rows of a place that its band covers where it is fitted, and a lower one if that is too wide."""
MARGIN = 1.1
"""By how much the fitted band is widened, since later extremes exceed those seen."""
_JOINED = 0.9  # share of the places that always count towards the band
_FAR = 2.0  # places that need more than this times the band of the others are exceptions
_SMALL = 0.05  # share of the rows with the smallest size, which need an absolute band beside a relative one
_TINY = 1e-12
_EXACT = 0.001  # share of the size of the parts below which no band is fitted: what is computed is never exact


@dataclass(frozen=True, slots=True)
class Band:
    """How far a residual may be from 0.

    Args:
        absolute: In the unit of the law.
        relative: As a share of the size of the parts; 0 for an absolute band.

    Examples:
        >>> Band(0.5, 0.02).allowed(np.array([10.0, 100.0])).tolist()
        [0.5, 2.0]
    """

    absolute: float
    relative: float = 0.0

    def allowed(self, sizes: Floats) -> Floats:
        """Return the largest residual within the band, for the size of the parts in each row.

        Args:
            sizes: The sizes.
        """
        return np.maximum(self.relative * sizes, self.absolute)


def place_quantiles(values: Floats, share: float) -> Floats:
    """Return the smallest value of each column that at least a share of its values does not exceed; NaN if empty.

    Args:
        values: Rows × columns; NaN is missing.
        share: The share.

    Examples:
        >>> place_quantiles(np.array([[1.0, np.nan], [3.0, np.nan], [2.0, 5.0]]), 0.5).tolist()
        [2.0, 5.0]
    """
    ordered = np.sort(values, axis=0)  # NaN comes last
    counts = (~np.isnan(values)).sum(axis=0)
    at = np.maximum(np.ceil(share * counts).astype(np.int64) - 1, 0)
    picked = np.take_along_axis(ordered, at[None, :], axis=0)[0] if len(ordered) else np.full(values.shape[1], np.nan)
    return np.where(counts > 0, picked, np.nan)


def central_spread(values: Floats) -> Floats:
    """Return the distance between the first and the last decile of each column.

    Args:
        values: Rows × columns; NaN is missing.
    """
    return place_quantiles(values, 0.9) - place_quantiles(values, 0.1)


def round_up(value: float, digits: int = 2) -> float:
    """Round a number that is not negative up to a number of significant digits.

    Args:
        value: The number.
        digits: The number of digits.

    Examples:
        >>> round_up(0.02101), round_up(123.4), round_up(0.5), round_up(0.0)
        (0.022, 130.0, 0.5, 0.0)
    """
    if not value > 0 or not math.isfinite(value):
        return value
    exponent = math.floor(math.log10(value)) - digits + 1
    steps = math.ceil(value / 10.0**exponent * (1 - 1e-12))
    return float(f"{steps}e{exponent}")


def _join(needed: Floats) -> float:
    """Return what all places need but the exceptions, which need far more than the others."""
    known = np.sort(needed[np.isfinite(needed)])
    if not len(known):
        return math.inf
    most = known[math.ceil(_JOINED * len(known)) - 1]
    return float(known[known <= max(_FAR * most, _TINY)].max())


def fit_band(residuals: Floats, sizes: Floats | None, *, least: float = 0.0, covered: float = COVERED[0]) -> list[Band]:
    """Fit an absolute band and, where sizes are given, one that is relative to them.

    Args:
        residuals: Frames × places.
        sizes: The size of the parts in each row; ``None`` if a share of them has no meaning, as for temperatures.
        least: The smallest band that makes sense, such as the resolution of the readings.
        covered: Share of the rows of a place that its band covers.

    Returns:
        One or two bands.

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> sizes = rng.uniform(1, 100, (1000, 5))
        >>> absolute, relative = fit_band(0.01 * sizes * rng.uniform(-1, 1, sizes.shape), sizes)
        >>> absolute.absolute, relative.relative
        (1.1, 0.011)
    """
    distances = np.abs(residuals)
    bands = [Band(round_up(max(MARGIN * _join(place_quantiles(distances, covered)), least)))]
    if sizes is None:
        return bands
    known = ~np.isnan(distances) & ~np.isnan(sizes)
    if not known.any():
        return bands
    small = known & (sizes <= np.quantile(sizes[known], _SMALL))
    floor = round_up(max(MARGIN * float(np.quantile(distances[small], covered)), least))
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(known, np.where(distances > floor, distances / sizes, 0.0), np.nan)
    relative = round_up(max(MARGIN * _join(place_quantiles(shares, covered)), _EXACT))
    if math.isfinite(relative):
        bands.append(Band(floor, relative))
    return bands
