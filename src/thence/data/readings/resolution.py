"""The resolution of numbers: the step between the values that a series can take, its noise, and how long it holds.

A meter that writes two decimals has the resolution 0.01. Numbers that are computed, such as means, use all the digits
of a float and have none. This module works on plain arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

MOST_DECIMALS = 6
"""Numbers with more decimals than this count as computed."""
EXCEPTIONS = 0.01
"""The share of the different values that may have more decimals, such as some interpolated ones."""
_SAMPLE = 10_000
_NOISE = 1e-12
_FEWEST, _LEVELS = 100, 8  # readings, and different ones, that show the resolution of a sensor


@dataclass(frozen=True)
class Resolution:
    """How finely a sensor reads.

    Args:
        decimals: With how many decimals its readings are written; ``None`` if they have all digits of a float, or are
            too few to tell.
        step: The smallest difference between two of its readings that decimals allow; 0 if it is not known.
        noise: The size of its usual change from one reading to the next: the median of those that are not 0.
        hold: The longest run of equal readings.

    Examples:
        >>> learn_resolution(np.round(20 + np.sin(np.arange(200) / 9), 2))
        Resolution(decimals=2, step=0.01, noise=0.08, hold=2)
        >>> learn_resolution(np.array([1.0, 2.0])).decimals is None
        True
    """

    decimals: int | None
    step: float
    noise: float
    hold: int


def learn_resolution(values: npt.NDArray[np.floating]) -> Resolution:
    """Learn the resolution of a sensor from its readings.

    Args:
        values: The readings in the order of their times; NaN is missing.
    """
    known = np.asarray(values, np.float64)
    known = known[np.isfinite(known)]
    if not known.size:
        return Resolution(None, 0.0, 0.0, 0)
    change = np.abs(np.diff(known))
    moved = np.flatnonzero(change)
    ends = np.concatenate([[-1], moved, [known.size - 1]])
    enough = known.size >= _FEWEST and np.unique(known[:_SAMPLE]).size >= _LEVELS
    decimals = find_decimals(known) if enough else None
    step = 0.0 if decimals is None else float(f"1e-{decimals}")
    noise = float(np.median(change[moved])) if moved.size else 0.0
    return Resolution(
        decimals, step, noise if decimals is None else round(noise, decimals + 1), int(np.diff(ends).max())
    )


def find_decimals(values: npt.NDArray[np.floating]) -> int | None:
    """Find how many decimals numbers are written with.

    Args:
        values: The numbers; NaN and infinite values are ignored.

    Returns:
        The fewest decimals with which 99 % of the different values can be written, or ``None`` if six are too few.

    Examples:
        >>> [find_decimals(np.array(numbers)) for numbers in ([20.5, 21.25], [0.0, 3.0], [1 / 3])]
        [2, 0, None]
    """
    finite = np.asarray(values, np.float64).reshape(-1)
    finite = finite[np.isfinite(finite)]
    if not finite.size:
        return None
    largest = float(np.abs(finite).max())
    return find_decimals_of(finite.size, largest, lambda step: finite[::step], lambda: np.unique(finite))


def find_decimals_of(
    size: int, largest: float, every: Callable[[int], FloatArray], levels_of: Callable[[], FloatArray]
) -> int | None:
    """Find how many decimals numbers are written with, given some views of them.

    Args:
        size: How many there are, at least one.
        largest: The largest absolute value.
        every: Returns each n-th number.
        levels_of: Returns the different numbers in increasing order; called only if they are needed.

    Returns:
        As ``find_decimals``.
    """
    if _is_computed(size, largest, every):
        return None
    levels = levels_of()
    if levels.size > _SAMPLE:
        levels = levels[np.linspace(0, levels.size - 1, _SAMPLE).astype(np.int64)]
    noise = _NOISE * float(np.abs(levels).max())
    for decimals in range(MOST_DECIMALS + 1):
        if 10.0**-decimals <= 1000 * noise:
            break  # the digits of a float do not reach further
        off = np.abs(np.round(levels, decimals) - levels) > noise
        if off.sum() <= EXCEPTIONS * levels.size:
            return decimals
    return None


def _is_computed(size: int, largest: float, every: Callable[[int], FloatArray]) -> bool:
    """Whether a few numbers show that too many of all have more decimals, so that these need not be sorted."""
    exceptions = EXCEPTIONS * size
    noise = _NOISE * largest
    if 1000 * noise >= 10.0**-MOST_DECIMALS:
        return False
    some = every(_step_of(size))
    off = some[np.abs(np.round(some, MOST_DECIMALS) - some) > noise]
    return off.size > exceptions and np.unique(off).size > exceptions


def are_computed(values: FloatArray) -> npt.NDArray[np.bool_]:
    """Return for each row whether a few of its numbers show that it is computed: it has no resolution then.

    Args:
        values: Finite numbers, one series per row.

    Examples:
        >>> are_computed(np.array([np.arange(200.0) / 7, np.arange(200.0)])).tolist()
        [True, False]
    """
    size = values.shape[1]
    if not size:
        return np.zeros(len(values), np.bool_)
    exceptions = EXCEPTIONS * size
    noise = _NOISE * np.maximum(values.max(axis=1), -values.min(axis=1))
    some = np.sort(values[:, :: _step_of(size)], axis=1)
    with np.errstate(over="ignore", invalid="ignore"):  # of numbers so large that they do not count
        off = np.abs(np.round(some, MOST_DECIMALS) - some) > noise[:, None]
    off[:, 1:] &= some[:, 1:] != some[:, :-1]
    return np.asarray((off.sum(axis=1) > exceptions) & (1000 * noise < 10.0**-MOST_DECIMALS))


def _step_of(size: int) -> int:
    """The distance between the numbers that are looked at first."""
    return max(1, size // (4 * int(EXCEPTIONS * size) + 64))


def find_resolution(values: npt.NDArray[np.floating]) -> float:
    """Find the resolution of numbers; 0 if they have none.

    Args:
        values: The numbers; NaN and infinite values are ignored.

    Examples:
        >>> find_resolution(np.array([20.5, 21.25, 21.0])), find_resolution(np.array([1 / 3, 2 / 3]))
        (0.01, 0.0)
    """
    decimals = find_decimals(values)
    return 0.0 if decimals is None else float(f"1e-{decimals}")


def snap(values: FloatArray, decimals: int | None) -> FloatArray:
    """Round numbers to the decimals that they are written with: 0.30000000000000004 becomes 0.3.

    Args:
        values: The numbers.
        decimals: The number of decimals; ``None`` leaves the numbers as they are.

    Examples:
        >>> snap(np.array([0.1 + 0.2, -0.0]), 1).tolist()
        [0.3, 0.0]
    """
    return values if decimals is None else np.round(values, decimals) + 0.0
