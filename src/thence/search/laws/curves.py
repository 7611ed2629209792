"""Curves of one driver: a line, a line with a knee, and one that is clipped on both sides.

All are fitted by least squares of a constant and one basis: the driver, clipped at knees that a grid finds. The
simplest whose error on blocks of time that it was not fitted on is near the best is chosen. Plain arrays only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

SIMPLE = 1.05
"""A simpler curve is chosen if its error is at most this times the least."""
_BINS, _PER_BIN, _KNEES, _ROUNDS = 200, 5, 14, 4
_FAR = 5.0  # residuals beyond this times the median are left out of the second fit


@dataclass(frozen=True)
class Curve:
    """A constant plus a slope times the driver, which is clipped at knees.

    Args:
        form: ``"constant"``, ``"line"``, ``"hinge"`` or ``"clipped"``.
        base: The value where the clipped driver is 0.
        slope: The slope between the knees.
        low: The lower knee; −∞ for none.
        high: The upper knee; ∞ for none.
    """

    form: str
    base: float
    slope: float = 0.0
    low: float = -np.inf
    high: float = np.inf

    def predict(self, driver: Floats) -> Floats:
        """Return the values at a driver.

        Args:
            driver: The driver.
        """
        return np.asarray(self.base + self.slope * np.clip(driver, self.low, self.high) if self.slope else
                          np.full(driver.shape, self.base))  # fmt: skip

    @property
    def parameters(self) -> tuple[float, ...]:
        """The parameters of the form of laws of the same name."""
        if self.form == "line":
            return self.base, self.slope
        ends = sorted((self.base + self.slope * self.low, self.base + self.slope * self.high))
        if self.form == "clipped":
            return self.base, self.slope, ends[0], ends[1]
        if np.isfinite(self.high):
            return self.base + self.slope * self.high, self.slope, self.high, 0.0
        return self.base + self.slope * self.low, 0.0, self.low, self.slope


def fit_curve(driver: Floats, values: Floats, form: str) -> Curve | None:
    """Fit a curve of one form, leaving out what is far from it; ``None`` if the driver does not vary.

    Args:
        driver: The driver, without missing values.
        values: The values.
        form: ``"constant"``, ``"line"``, ``"hinge"`` or ``"clipped"``.

    Examples:
        >>> driver = np.linspace(-10, 20, 301)
        >>> curve = fit_curve(driver, np.clip(65 - 1.25 * driver, 50, 70), "clipped")
        >>> [round(value, 2) for value in curve.parameters]
        [65.0, -1.25, 50.0, 70.0]
    """
    if not len(driver):
        return None
    if form == "constant":
        return Curve("constant", float(np.median(values)))
    curve = _fit_once(driver, values, form)
    if curve is None:
        return None
    apart = np.abs(values - curve.predict(driver))
    typical = float(np.median(apart))
    near = apart <= max(_FAR * typical, float(np.quantile(apart, 0.9)))
    if near.all() or near.sum() < 10:
        return curve
    return _fit_once(driver[near], values[near], form) or curve


def _fit_once(driver: Floats, values: Floats, form: str) -> Curve | None:
    if np.ptp(driver) <= 0:
        return None
    if form == "line":
        return _line(driver, values, -np.inf, np.inf, form)
    x, y, weight = _binned(driver, values)
    if len(x) < 6:
        return None
    best = _best_knees(x, y, weight, form)
    return None if best is None else _line(driver, values, *best, form)


def _binned(driver: Floats, values: Floats) -> tuple[Floats, Floats, Floats]:
    """Means of the driver and medians of the values in bins of equal counts.

    Knees are found in a few numbers, and rows that are far off, such as those of starts, move none.
    """
    order = np.argsort(driver, kind="stable")
    parts = np.array_split(order, min(_BINS, max(len(order) // _PER_BIN, 1)))
    x = np.array([driver[part].mean() for part in parts])
    y = np.array([np.median(values[part]) for part in parts])
    return x, y, np.array([float(len(part)) for part in parts])


def _best_knees(x: Floats, y: Floats, weight: Floats, form: str) -> tuple[float, float] | None:
    """The knees with the least error: on a grid, then on finer ones around the best."""
    start, stop = float(np.quantile(x, 0.01)), float(np.quantile(x, 0.99))
    width = (stop - start) / 2
    if width <= 0:
        return None
    least, low, high = np.inf, -np.inf, np.inf
    centre = [(start + stop) / 2] * 2
    for _ in range(_ROUNDS):
        grids = [np.clip(np.linspace(c - width, c + width, _KNEES), start, stop) for c in centre]
        for pair in _pairs(grids, form):
            error = _error(x, y, weight, *pair)
            if error < least * (1 - 1e-12):
                least, (low, high) = error, pair
        if not np.isfinite(least):
            return None
        centre = [low if np.isfinite(low) else high, high if np.isfinite(high) else low]
        width *= 2.5 / _KNEES
    return low, high


def _pairs(grids: list[Floats], form: str) -> Iterator[tuple[float, float]]:
    if form == "hinge":
        for knee in grids[0].tolist():
            yield -np.inf, knee
        for knee in grids[1].tolist():
            yield knee, np.inf
        return
    for low in grids[0].tolist():
        for high in grids[1].tolist():
            if low < high:
                yield low, high


def _error(x: Floats, y: Floats, weight: Floats, low: float, high: float) -> float:
    basis = np.clip(x, low, high)
    total = weight.sum()
    mean_b, mean_y = (weight * basis).sum() / total, (weight * y).sum() / total
    variance = (weight * (basis - mean_b) ** 2).sum()
    spread = (weight * (y - mean_y) ** 2).sum()
    if variance <= 0:
        return float(spread)
    shared = (weight * (basis - mean_b) * (y - mean_y)).sum()
    return float(max(spread - shared**2 / variance, 0.0))


def _line(driver: Floats, values: Floats, low: float, high: float, form: str) -> Curve | None:
    basis = np.clip(driver, low, high)
    centred = basis - basis.mean()
    variance = float(centred @ centred)
    if variance <= 0:
        return None
    slope = float(centred @ (values - values.mean())) / variance
    return Curve(form, float(values.mean() - slope * basis.mean()), slope, low, high)


def choose_curve(driver: Floats, values: Floats, blocks: Ints) -> Curve | None:
    """Return the simplest curve whose error on blocks that it was not fitted on is near the least.

    Args:
        driver: The driver, without missing values.
        values: The values.
        blocks: The number of the block of time of each row.
    """
    folds = blocks % 4
    errors: dict[str, float] = {}
    for form in ("constant", "line", "hinge", "clipped"):
        total = 0.0
        for fold in range(4):
            held = folds == fold
            curve = fit_curve(driver[~held], values[~held], form) if held.any() and (~held).any() else None
            if curve is None and held.any():
                total = np.inf
            elif curve is not None:
                total += float(np.abs(values[held] - curve.predict(driver[held])).sum())
        errors[form] = total
    least = min(errors.values())
    if not np.isfinite(least):
        return None
    floor = 1e-9 * float(np.abs(values).sum())
    chosen = next(form for form, error in errors.items() if error <= SIMPLE * least + floor)
    return fit_curve(driver, values, chosen)
