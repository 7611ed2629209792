"""What each column is expected to read given all others and the hour: one inverted covariance for all of them.

Plain arrays only: frames × columns, NaN where there is no reading. This module knows neither sensors nor alarms.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_RIDGE = 0.001  # in standardised units, on the diagonal
_HOURS = 24
_FINEST = 6  # decimals that are looked at
_ON_GRID = 0.99
_FEW = 10  # different values
_SPREAD = 1e-3  # no unit is finer than this share of what a column has read
_CONSTANT = 1e-9  # relative


@dataclass(frozen=True, eq=False)
class Expected:
    """Each column's expected value given all others and the hour: linear, by ridge regression.

    Args:
        mean: Mean of each column.
        scale: Standard deviation of each column; 0 if it is constant.
        low: Least value of each column; conditions below it count as it.
        high: Greatest value of each column.
        moments: Covariance of the standardised columns, their squares if they are used, and the hours.
        centre: Mean of these.
        squares: Standard deviation of the squares of the standardised columns; empty if they are not used.
        steps: The step that the readings of each column are rounded to; 0 if none is seen.
        unit: The usual error of each column: the root mean square out of fold, and not less than half a step.
        hours: Whether the hour is a condition.
    """

    mean: Floats
    scale: Floats
    low: Floats
    high: Floats
    moments: Floats
    centre: Floats
    squares: Floats
    steps: Floats
    unit: Floats
    hours: bool

    @cached_property
    def _precision(self) -> Floats:
        return _inverted(self.moments, self._noise(self.steps))

    def _noise(self, steps: Floats) -> Floats:
        """The variance by rounding, standardised, of all conditions."""
        noise = np.zeros(len(self.moments))
        noise[: len(self.mean)] = (steps / _divisor(self.scale)) ** 2 / 12
        return noise

    def at_steps(self, steps: Floats) -> Expected:
        """Return the same expectation for readings that are rounded more coarsely.

        A relation that fine readings kept to a tenth of a step cannot be checked on coarse ones: conditions count for
        less, and the usual error grows by what the conditions no longer say.

        Args:
            steps: The step of each column in the readings to check.
        """
        coarser = np.maximum(steps, self.steps)
        if (coarser <= self.steps).all():
            return self
        before, p = np.diagonal(self._precision), len(self.mean)
        found = replace(self, steps=coarser)
        wider = np.sqrt(np.maximum(before[:p] / np.diagonal(found._precision)[:p], 1.0))
        return replace(found, unit=np.maximum(self.unit * wider, coarser / 2))

    def errors(self, values: Floats, clock: Floats) -> tuple[Floats, Floats]:
        """Return what is read minus what is expected, NaN where nothing is read, and the usual error.

        Where conditions are missing, the others have to do, and the usual error is that much greater.

        Args:
            values: Frames × columns.
            clock: The time of day of each frame in hours.
        """
        out, units = np.full(values.shape, np.nan), np.ones(values.shape) * self.unit
        known = ~np.isnan(values)
        patterns, of_frame = np.unique(np.packbits(known, axis=1), axis=0, return_inverse=True)
        order = np.argsort(of_frame.ravel(), kind="stable")
        ends = np.cumsum(np.bincount(of_frame.ravel(), minlength=len(patterns)))
        for first, last in zip(np.r_[0, ends[:-1]].tolist(), ends.tolist(), strict=True):
            rows = order[first:last]
            if len(rows):
                out[rows], wider = self._of_pattern(values[rows], clock[rows], known[rows[0]])
                units[rows] = self.unit * wider
        return out, units

    def residuals(self, values: Floats, clock: Floats) -> Floats:
        """Return the errors in units of the usual error; NaN where nothing is read.

        Args:
            values: Frames × columns.
            clock: The time of day of each frame in hours.
        """
        errors, units = self.errors(values, clock)
        return np.asarray(errors / units)

    def _of_pattern(self, values: Floats, clock: Floats, known: npt.NDArray[np.bool_]) -> tuple[Floats, Floats]:
        """The errors of frames in which the same columns are known, and by how much they are usually greater."""
        p, precision = len(self.mean), self._precision
        plain = np.diagonal(precision)[:p]
        missing = np.flatnonzero(self._conditions_of(~known))
        if len(missing):
            across = precision[:, missing]
            precision = precision - across @ np.linalg.solve(precision[np.ix_(missing, missing)], across.T)
        conditions = self._conditions(np.where(known, values, self.mean), clock)
        conditions[:, missing] = 0.0
        product = conditions @ precision[:, : p + len(self.squares)]
        own, diagonal = product[:, :p], np.diagonal(precision)[:p].copy()
        if len(self.squares):  # a column is no condition of itself, and neither is its square
            at, square = np.arange(p), np.arange(p, 2 * p)
            own_square = np.where(known, np.diagonal(precision)[square], 1.0)
            share = np.where(known, precision[at, square] / own_square, 0.0)
            own = own - share * product[:, p:]
            diagonal -= share * precision[at, square]
            whole = self._precision
            plain = plain - whole[at, square] ** 2 / np.diagonal(whole)[square]
        diagonal = np.where(known, diagonal, 1.0)
        divisor = _divisor(self.scale)
        # Conditions are clipped to what was read in normal time, but what is judged is not.
        beyond = (values - np.clip(values, self.low, self.high)) / divisor
        error = (own / diagonal + beyond) * divisor
        # The variance ratio, not its root: nobody has checked how far off what is left is, and it is never as linear.
        wider = np.maximum(plain / diagonal, 1.0)
        return np.where(known, error, np.nan), wider

    def _conditions_of(self, flags: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Flags of columns as flags of conditions."""
        parts = [flags, flags] if len(self.squares) else [flags]
        return np.concatenate([*parts, np.zeros(_HOURS if self.hours else 0, bool)])

    def _conditions(self, values: Floats, clock: Floats) -> Floats:
        clipped = np.clip(values, self.low, self.high)
        return _stacked(clipped, clock, self.mean, self.scale, self.squares, hours=self.hours) - self.centre

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the fields as arrays."""
        names = ("mean", "scale", "low", "high", "moments", "centre", "squares", "steps", "unit")
        return {**{name: getattr(self, name) for name in names}, "hours": np.array(self.hours)}

    @staticmethod
    def from_arrays(arrays: Mapping[str, npt.NDArray[Any]]) -> Expected:
        """Return the expectation of ``to_arrays``.

        Args:
            arrays: The fields.
        """
        known = dict(arrays)
        hours = bool(known.pop("hours"))
        return Expected(**{name: np.asarray(one, np.float64) for name, one in known.items()}, hours=hours)


def fit_expected(
    values: Floats, clock: Floats, folds: Ints, *, hours: bool, squares: bool, ridge: float = _RIDGE
) -> tuple[Expected, Floats]:
    """Fit each column on all others, and return the fit with the residuals out of fold, in usual errors.

    Args:
        values: Frames × columns of normal time.
        clock: The time of day of each frame in hours.
        folds: The fold of each frame, from 0; what a fold is judged by was learned on the others.
        hours: Whether the hour is a condition.
        squares: Whether squares of the other columns are conditions.
        ridge: Added to the diagonal of the covariance.

    Examples:
        >>> x = np.sin(np.arange(400.0))
        >>> values = np.stack([x, 2 * x + 1], axis=1)
        >>> fitted, errors = fit_expected(values, np.zeros(400), np.arange(400) % 5, hours=False, squares=False)
        >>> bool(abs(fitted.residuals(np.array([[0.5, 2.0], [0.5, 3.0]]), np.zeros(2))[0]).max() < 1)
        True
    """
    known = ~np.isnan(values)
    counts = np.maximum(known.sum(axis=0), 1)
    mean = np.where(known, values, 0.0).sum(axis=0) / counts
    scale = np.sqrt((np.where(known, values - mean, 0.0) ** 2).sum(axis=0) / counts)
    low = np.where(known, values, np.inf).min(axis=0, initial=np.inf)
    high = np.where(known, values, -np.inf).max(axis=0, initial=-np.inf)
    empty = ~known.any(axis=0)
    low, high = np.where(empty, 0.0, low), np.where(empty, 0.0, high)
    constant = high - low <= _CONSTANT * np.maximum(np.abs(high), np.abs(low))
    scale = np.where(constant, 0.0, scale)
    steps = np.array([find_step(column) for column in values.T])
    spread = np.zeros(0)
    if squares:
        square = np.where(known, ((values - mean) / _divisor(scale)) ** 2, np.nan)
        spread = np.nan_to_num(np.nanstd(np.where(known.any(axis=0), square, 0.0), axis=0))
    whole = Expected(mean, scale, low, high, np.zeros((0, 0)), np.zeros(0), spread, steps, np.ones(len(mean)), hours)
    stacked = _stacked(np.where(known, values, mean), clock, mean, scale, spread, hours=hours)
    weights = np.stack([whole._conditions_of(one) for one in known]) if len(known) else np.zeros(stacked.shape, bool)
    weights[:, len(weights[0]) - (_HOURS if hours else 0) :] = True
    numbers = np.unique(folds)
    sums = [_sums(stacked[folds == fold], weights[folds == fold]) for fold in numbers.tolist()]
    errors = np.full(values.shape, np.nan)
    for at, fold in enumerate(numbers.tolist()):
        others = [one for other, one in enumerate(sums) if other != at] or sums
        rest = values[folds != fold] if len(numbers) > 1 else values
        fitted = _from_sums(whole, others, ridge)
        seen_low, seen_high = _nan_ends(rest, mean)
        fitted = replace(fitted, low=np.maximum(seen_low, low), high=np.minimum(seen_high, high))
        errors[folds == fold] = fitted.residuals(values[folds == fold], clock[folds == fold])
    usual = np.sqrt(np.nan_to_num(np.nanmean(np.vstack([errors, np.zeros(len(mean))]) ** 2, axis=0)))
    finest = np.where(constant, _CONSTANT * np.maximum(np.abs(high), 1.0), _SPREAD * (high - low))
    unit = np.maximum.reduce([usual, steps / 2, finest])
    return replace(_from_sums(whole, sums, ridge), unit=unit), errors / unit


def _nan_ends(values: Floats, otherwise: Floats) -> tuple[Floats, Floats]:
    """The least and greatest value of each column, ``otherwise`` where it has none."""
    known = ~np.isnan(values)
    low = np.where(known, values, np.inf).min(axis=0, initial=np.inf)
    high = np.where(known, values, -np.inf).max(axis=0, initial=-np.inf)
    return np.where(np.isinf(low), otherwise, low), np.where(np.isinf(high), otherwise, high)


def _divisor(scale: Floats) -> Floats:
    return np.where(scale > 0, scale, 1.0)


def _stacked(values: Floats, clock: Floats, mean: Floats, scale: Floats, squares: Floats, *, hours: bool) -> Floats:
    """Standardised columns, their squares if wanted, and the hours; those of constants are 0."""
    standard = np.where(scale > 0, (values - mean) / _divisor(scale), 0.0)
    parts = [standard]
    if len(squares):
        parts.append(np.where(squares > 0, standard**2 / _divisor(squares), 0.0))
    if hours:
        parts.append((np.floor(clock).astype(np.int64)[:, None] % _HOURS == np.arange(_HOURS)) * np.sqrt(_HOURS))
    return np.concatenate(parts, axis=1)


def _sums(stacked: Floats, weights: npt.NDArray[np.bool_]) -> tuple[Floats, Floats, Floats]:
    """Counts, sums and sums of products of pairs of columns, each over the frames in which both are known."""
    known = weights.astype(np.float64)
    filled = np.where(weights, stacked, 0.0)
    return known.T @ known, filled.T @ known, filled.T @ filled


def _from_sums(whole: Expected, sums: list[tuple[Floats, Floats, Floats]], ridge: float) -> Expected:
    counts, first, products = (np.sum([one[at] for one in sums], axis=0) for at in range(3))
    counts = np.maximum(counts, 1.0)
    first = first / counts  # the mean of a column (row) over the frames in which another (column) is known too
    moments = products / counts - first * first.T
    if (counts < counts.max()).any():
        # Covariances of pairs, each over its own frames, need not belong to any one distribution.
        amounts, vectors = np.linalg.eigh(moments)
        moments = (vectors * np.maximum(amounts, 0.0)) @ vectors.T
    moments[np.diag_indices(len(moments))] += ridge
    return replace(whole, moments=moments, centre=np.diagonal(first).copy())


def _inverted(moments: Floats, noise: Floats) -> Floats:
    covariance = moments.copy()
    covariance[np.diag_indices(len(covariance))] += noise
    return np.asarray(np.linalg.inv(covariance))


def find_step(values: Floats) -> float:
    """Return the step that readings are rounded to; 0 if they are not rounded to six decimals or coarser.

    Args:
        values: Readings; NaN where there is none.

    Examples:
        >>> find_step(np.arange(40) / 2)
        0.5
        >>> find_step(np.sqrt(np.arange(50.0)))
        0.0
    """
    known = np.unique(values[~np.isnan(values)])
    if len(known) < 2 or np.abs(known).max() > 1e9:
        return 0.0
    for decimals in range(_FINEST + 1):
        whole = np.round(known * 10.0**decimals)
        close = np.abs(known * 10.0**decimals - whole) <= 1e-6 + 1e-14 * np.abs(whole)
        if np.mean(close) >= _ON_GRID and np.abs(whole).max() < 2**53:
            rounded = whole[close].astype(np.int64)
            # A few values, such as two set points, may be far apart by chance.
            coarsest = int(np.gcd.reduce(rounded - rounded[0])) if len(rounded) >= _FEW else 1
            return float(coarsest / 10.0**decimals)
    return 0.0
