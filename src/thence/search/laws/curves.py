"""Curves of one driver: a line, a line with a knee, and one that is clipped on both sides.

All are fitted by least squares of a constant and one basis: the driver, clipped at knees that a grid finds. The
simplest whose error on blocks of time that it was not fitted on is near the best is chosen. Plain arrays only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

SIMPLE = 1.05
"""A simpler curve is chosen if its error is at most this times the least."""
_MOST, _FEWEST = 4_000, 40  # rows that show knees
_KNEES, _ROUNDS, _NARROWER = 16, 9, 0.4
_FAR, _MOST_FAR = 5.0, 0.1  # residuals beyond this times the median are left out of the second fit, at most a tenth
_TINY = 1e-3  # of the range of the values: what is less apart is not far


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
            return self.base, self.slope, round(ends[0], 10), round(ends[1], 10)
        if np.isfinite(self.high):
            return round(self.base + self.slope * self.high, 10), self.slope, self.high, 0.0
        return round(self.base + self.slope * self.low, 10), 0.0, self.low, self.slope


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
    limit = max(_FAR * float(np.median(apart)), _TINY * float(np.ptp(values)))
    near = apart <= max(limit, float(np.quantile(apart, 0.9)) if (apart > limit).mean() > _MOST_FAR else 0.0)
    if near.all() or near.sum() < 10:
        return curve
    return _fit_once(driver[near], values[near], form) or curve


def _fit_once(driver: Floats, values: Floats, form: str) -> Curve | None:
    if np.ptp(driver) <= 0:
        return None
    if form == "line":
        return _line(driver, values, -np.inf, np.inf, form)
    order = np.argsort(driver, kind="stable")
    if len(order) < _FEWEST:
        return None
    some = order[np.unique(np.linspace(0, len(order) - 1, min(_MOST, len(order))).astype(np.int64))]
    best = _best_knees(driver[some], values[some], form)
    return None if best is None else _line(driver, values, *best, form)


def _best_knees(x: Floats, y: Floats, form: str) -> tuple[float, float] | None:
    """The knees with the least error: on a grid, then on finer ones around the best. The driver is sorted."""
    start, stop = float(x[_FEWEST // 4]), float(x[-1 - _FEWEST // 4])
    width = (stop - start) / 2
    if width <= 0:
        return None
    sums = _Sums.of(x, y)
    least, best = np.inf, (-np.inf, np.inf)
    centre = [start + width] * 2
    for _ in range(_ROUNDS):
        grids = [np.clip(np.linspace(c - width, c + width, _KNEES), start, stop) for c in centre]
        low, high = _pairs(grids, form)
        errors = sums.errors(low, high)
        at = int(np.argmin(errors))
        if errors[at] < least * (1 - 1e-12):
            least, best = float(errors[at]), (float(low[at]), float(high[at]))
        if not np.isfinite(least):
            return None
        centre = [best[0] if np.isfinite(best[0]) else best[1], best[1] if np.isfinite(best[1]) else best[0]]
        width *= _NARROWER
    return best


def _pairs(grids: list[Floats], form: str) -> tuple[Floats, Floats]:
    """The lower and upper knees that are tried."""
    if form == "hinge":
        none = np.full(len(grids[0]), np.inf)
        return np.concatenate([-none, grids[1]]), np.concatenate([grids[0], none])
    low, high = (one.ravel() for one in np.meshgrid(*grids))
    return low[low < high], high[low < high]


@dataclass(frozen=True)
class _Sums:
    """Running sums over the sorted driver, from which the error at any knees follows at once.

    Args:
        x: The driver, sorted; its mean is 0.
        sums: The sums of 1, x, x², y and xy over the first rows.
        spread: The sum of the squares of the values.
    """

    x: Floats
    sums: Floats
    spread: float

    @staticmethod
    def of(x: Floats, y: Floats) -> _Sums:
        y = y - y.mean()
        parts = np.stack([np.ones(len(x)), x, x * x, y, x * y])
        return _Sums(x, np.concatenate([np.zeros((5, 1)), np.cumsum(parts, axis=1)], axis=1), float((y * y).sum()))

    def errors(self, low: Floats, high: Floats) -> Floats:
        """The sum of squares that the best line of the driver, clipped at knees, leaves."""
        first, last = np.searchsorted(self.x, low), np.searchsorted(self.x, high)
        below, inside = self.sums[:, first], self.sums[:, last] - self.sums[:, first]
        above = self.sums[:, -1:] - self.sums[:, last]
        low, high = np.where(np.isfinite(low), low, 0.0), np.where(np.isfinite(high), high, 0.0)
        total = self.sums[0, -1]
        mean = (low * below[0] + inside[1] + high * above[0]) / total
        variance = low**2 * below[0] + inside[2] + high**2 * above[0] - total * mean**2
        shared = low * below[3] + inside[4] + high * above[3]
        with np.errstate(divide="ignore", invalid="ignore"):
            gained = np.where(variance > 1e-12 * self.sums[2, -1], shared**2 / variance, 0.0)
        return np.asarray(np.maximum(self.spread - gained, 0.0))


def _line(driver: Floats, values: Floats, low: float, high: float, form: str) -> Curve | None:
    basis = np.clip(driver, low, high)
    centred = basis - basis.mean()
    variance = float((centred * centred).sum())
    if variance <= 0:
        return None
    slope = float((centred * (values - values.mean())).sum()) / variance
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
