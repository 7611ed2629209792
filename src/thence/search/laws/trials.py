"""Trials of formulas: whether one fits, holds later, beats simpler ones, and would not hold at another time.

A formula that also fits when one of its quantities is read some weeks earlier or later says nothing but that hours and
seasons return. So one slot is shifted by whole weeks (whole days where a system is short), and the formula has to fit
far better than at the best of these shifts. Plain arrays only; what is tried is decided in
``thence.search.laws.physics``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from thence.data.readings.resolution import find_resolution
from thence.statements.laws.bands import MARGIN, round_up
from thence.statements.laws.formula import Formula

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
Values: TypeAlias = Mapping[str, Floats]
"""The values of each slot by its name in the formula; those of the left side are ``"left"``."""
Parameters: TypeAlias = tuple[float, ...]

COVERED = 0.9
"""Share of the rows that a band covers where it is fitted."""
HALF = 0.5
"""Greatest error, as a share of that of a simpler or a shifted formula."""
FINEST = 1e-4
"""Smallest band as a share of the spread of the left side."""
MIN_ROWS, MIN_LATER, MIN_DAYS = 300, 100, 5
_TRIM = 0.98  # share of the rows, those with the smallest residuals, that errors are of
_DAY = np.timedelta64(1, "D")
_HELD_LEAST, _HELD_MOST = 0.2, 0.9  # shares of repeated readings between which a repeated one counts as held
_FRESH_ROWS = 150


@dataclass(frozen=True, eq=False)
class Times:
    """The times of the rows of a site.

    Args:
        times: The start of each row.
        later: The first row of the later part.
    """

    times: npt.NDArray[np.datetime64]
    later: int

    @cached_property
    def days(self) -> Ints:
        """The number of the day of each row."""
        return self.times.astype("datetime64[D]").astype(np.int64)

    @cached_property
    def is_later(self) -> Bools:
        """Which rows are in the later part."""
        return np.arange(len(self.times)) >= self.later

    @property
    def span_days(self) -> int:
        """The number of days from the first row to the last."""
        return int(self.days[-1] - self.days[0]) + 1 if len(self.times) else 0

    @cached_property
    def shifts(self) -> tuple[Ints, ...]:
        """For each shift, the row that is read in place of each row, negative for none.

        Whole weeks from two to eight, so that the hour, the weekday and the season stay; whole days where less than
        twelve weeks are known.
        """
        if self.span_days >= 84:
            days = [7 * weeks for weeks in range(2, 9) if 21 * weeks <= self.span_days]
        else:
            days = list(range(2, max(self.span_days // 3, 2) + 1))[:10]
        return tuple(self._moved(sign * day) for day in days for sign in (1, -1))

    def _moved(self, days: int) -> Ints:
        wanted = self.times + days * _DAY
        at = np.searchsorted(self.times, wanted)
        at = np.minimum(at, len(self.times) - 1)
        return np.where(self.times[at] == wanted, at, -1).astype(np.int64)

    def blocks(self, days: int) -> Ints:
        """Return the number of the block of some days that each row is in.

        Args:
            days: The length of a block.
        """
        return (self.days - self.days[0]) // max(days, 1) if len(self.times) else np.zeros(0, np.int64)


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A form to be tried on sensors.

    Args:
        form: The name of the form of laws.
        formula: Its formula.
        fit: Returns the parameters from the values in rows without missing ones; ``None`` if there are none.
        shifted: The slot that is shifted.
        rivals: Return the residuals of simpler formulas, which have to be clearly larger.
        min_r2: Smallest share of the variance that is explained, where it is fitted and later.
        max_band: Greatest band as a share of the spread of the left side.
        min_later: Smallest share of later rows in the band.
        min_near: Smallest share of all rows within three times the band: what repeats another reading never strays.
        is_physical: Whether it holds at all times, so that no condition is tried.
    """

    form: str
    formula: Formula
    fit: Callable[[Values], Parameters | None]
    shifted: str
    rivals: Callable[[Values], Sequence[Floats]] = field(default=lambda values: ())
    min_r2: float = 0.9
    max_band: float = 0.5
    min_later: float = 0.8
    min_near: float = 0.0
    is_physical: bool = False

    def parameters(self, slots: Values) -> tuple[str, ...]:
        """Return the names of the parameters, given the slots.

        Args:
            slots: The values of each slot.
        """
        return tuple(name for name in self.formula.names if name not in slots)

    def predict(self, values: Values, fitted: Parameters) -> Floats:
        """Return what the formula gives.

        Args:
            values: The values of each slot.
            fitted: The parameters.
        """
        given = dict(zip(self.parameters(values), fitted, strict=True))
        out = np.asarray(self.formula.evaluate({**values, **given}), np.float64)
        return np.broadcast_to(out, values["left"].shape)


@dataclass(frozen=True)
class Passed:
    """A formula that passed its trial.

    Args:
        parameters: The fitted parameters.
        band: How far a reading may be from it.
        r2: Share of the variance that it explains in the later part.
        later_share: Share of later rows in the band.
        is_computed: Whether it is exact but for rounding.
        rows: Number of rows.
    """

    parameters: Parameters
    band: float
    r2: float
    later_share: float
    is_computed: bool
    rows: int


def error_of(residuals: Floats) -> float:
    """Return the mean square of residuals without the largest, which are those of starts and of spikes.

    Args:
        residuals: The residuals, without missing values.
    """
    if not len(residuals):
        return float("nan")
    squares = np.sort(residuals**2)
    return float(squares[: max(int(np.ceil(_TRIM * len(squares))), 1)].mean())


def explained(values: Floats, residuals: Floats) -> float:
    """Return the share of the variance that is explained, without the largest residuals; NaN if nothing varies.

    Args:
        values: The values.
        residuals: What is left of them.
    """
    variance = error_of(values - values.mean()) if len(values) else 0.0
    return 1 - error_of(residuals) / variance if variance > 0 else float("nan")


def try_formula(trial: Trial, values: Values, times: Times, met: Bools) -> Passed | None:
    """Return what a formula says if it passes: it fits, holds later, beats simpler ones, and its shifts.

    Args:
        trial: What to try.
        values: The values of each slot, a row each; NaN is missing.
        times: The times of the rows.
        met: In which rows the condition of the formula is met.
    """
    known = met & known_rows(values)
    early, late = known & ~times.is_later, known & times.is_later
    if not has_enough(early, late, times):
        return None
    fitted_on = early & fresh_rows(values, early)
    first = _take(values, fitted_on)
    fitted = trial.fit(first)
    if fitted is None or not np.isfinite(fitted).all():
        return None
    fitted = rounded(fitted)
    left = values["left"]
    residuals = left - trial.predict(values, fitted)
    spread = central(left[~np.isnan(left)])
    if not spread > 0:
        return None
    own = error_of(residuals[fitted_on])
    if not explained(left[fitted_on], residuals[fitted_on]) >= trial.min_r2:
        return None
    fine = find_resolution(left[early][:20_000])
    band = round_up(max(MARGIN * float(np.quantile(np.abs(residuals[early]), COVERED)), fine, FINEST * spread))
    share = float((np.abs(residuals[late]) <= band).mean())
    if band > trial.max_band * spread or share < trial.min_later:
        return None
    if float((np.abs(residuals[known]) <= 3 * band).mean()) < trial.min_near:
        return None
    # What is simpler, and what is read at another time, must be clearly worse.
    floor = (fine / 2) ** 2
    rivals = [error_of(one) for one in trial.rivals(first)]
    if any(max(own, floor) > HALF * rival for rival in rivals):
        return None
    if not max(own, floor) <= HALF * shifted_error(trial, values, times, early):
        return None
    r2 = explained(left[late], residuals[late])
    exact = float(np.quantile(np.abs(residuals[known]), 0.99)) <= max(2 * fine, 1e-4 * spread)
    return Passed(fitted, band, r2, share, exact, int(known.sum()))


def shifted_error(trial: Trial, values: Values, times: Times, rows: Bools) -> float:
    """Return the least error with one slot read at another time, each fitted anew.

    Args:
        trial: What to try.
        values: The values of each slot.
        times: The times of the rows.
        rows: The rows on which it is fitted.
    """
    least = np.inf
    for at in times.shifts:
        moved = np.where(at >= 0, values[trial.shifted][at], np.nan)
        other = {**values, trial.shifted: moved}
        used = rows & ~np.isnan(moved)
        if used.sum() < MIN_ROWS // 3:
            continue
        taken = _take(other, used)
        fitted = trial.fit(taken)
        if fitted is None or not np.isfinite(fitted).all():
            continue
        least = min(least, error_of(taken["left"] - trial.predict(taken, fitted)))
    return least if np.isfinite(least) else 0.0


def known_rows(values: Values) -> Bools:
    """Return in which rows all slots are known.

    Args:
        values: The values of each slot.
    """
    out = np.ones(len(values["left"]), bool)
    for one in values.values():
        out &= ~np.isnan(one)
    return out


def has_enough(early: Bools, late: Bools, times: Times) -> bool:
    """Return whether there are enough rows and days before the later part and in it.

    Args:
        early: The rows before the later part.
        late: Those in it.
        times: The times of the rows.
    """
    if early.sum() < MIN_ROWS or late.sum() < MIN_LATER:
        return False
    return len(np.unique(times.days[early])) >= MIN_DAYS and len(np.unique(times.days[late])) >= MIN_DAYS - 2


def fresh_rows(values: Values, rows: Bools) -> Bools:
    """Return the rows in which no slot holds an old reading, all rows if they are too few.

    A sensor that often repeats its last reading, and often does not, holds it while nothing is sent.

    Args:
        values: The values of each slot.
        rows: The rows that count.
    """
    fresh = np.ones(len(rows), bool)
    for one in values.values():
        repeated = np.zeros(len(rows), bool)
        repeated[1:] = one[1:] == one[:-1]
        share = float(repeated[rows].mean())
        moves = float((np.diff(one[rows]) != 0).mean()) if rows.sum() > 1 else 0.0
        if _HELD_LEAST <= share <= _HELD_MOST and moves > 1 - _HELD_MOST:
            fresh &= ~repeated
    return fresh if (fresh & rows).sum() >= _FRESH_ROWS else np.ones(len(rows), bool)


def rounded(parameters: Parameters) -> Parameters:
    """Return parameters with the digits that a sentence has.

    Args:
        parameters: The parameters.

    Examples:
        >>> rounded((4.186049, -1.25003, 0.0))
        (4.186, -1.25, 0.0)
    """
    return tuple(float(f"{value:.4g}") + 0.0 for value in parameters)


def central(values: Floats) -> float:
    """Return the distance between the 5 % and the 95 % quantile; NaN without values.

    Args:
        values: The values, without missing ones.
    """
    return float(np.quantile(values, 0.95) - np.quantile(values, 0.05)) if len(values) else float("nan")


def _take(values: Values, rows: Bools) -> dict[str, Floats]:
    return {name: one[rows] for name, one in values.items()}
