"""Levels that normal time reaches at most so often, from the greatest value of each day.

Frames of one day are alike, and days differ: what counts is how far a day goes, and how much days differ in it. Plain
arrays only: targets × frames, targets × days.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_TINY = 1e-6
_STUDENT_STEPS = 4000
_QUIET_SHARE = 0.2  # of the days


def day_maxima(values: Floats, blocks: Ints, days: Ints) -> Floats:
    """Return the greatest value of each day, targets × days.

    Args:
        values: Targets × frames.
        blocks: The number of the day of each frame, increasing.
        days: The days that count.

    Examples:
        >>> day_maxima(np.array([[1.0, 3.0, 2.0, 9.0]]), np.array([0, 0, 1, 2]), np.array([0, 1])).tolist()
        [[3.0, 2.0]]
    """
    if not len(blocks):
        return np.zeros((len(values), 0))
    starts = np.flatnonzero(np.r_[True, np.diff(blocks) != 0])
    found = np.fmax.reduceat(values, starts, axis=1)
    return np.asarray(found[:, np.isin(blocks[starts], days)])


def jackknife_levels(maxima: Floats, rate: float, *, least: float = _TINY) -> tuple[Floats, Floats]:
    """Return the level of each target that a day exceeds at the given rate, and the same without the day it judges.

    Maxima of days are taken as log-normal with unknown mean and variance: with few days the level is far out.

    Args:
        maxima: Targets × days.
        rate: The share of days that may exceed it.
        least: What lower maxima count as; days on which nothing happens say nothing about those on which it does.

    Returns:
        Levels of targets, and levels of targets × days, each learned without that day.
    """
    logs = np.log(np.maximum(maxima, least))
    n = logs.shape[1]
    total, squares = logs.sum(axis=1, keepdims=True), (logs**2).sum(axis=1, keepdims=True)
    return _level(total, squares, n, rate)[:, 0], _level(total - logs, squares - logs**2, n - 1, rate)


def _level(total: Floats, squares: Floats, n: int, rate: float) -> Floats:
    """The prediction limit of log-normal values, from sums of their logarithms."""
    mean = total / n
    variance = np.maximum(squares / n - mean**2, 0.0) * n / max(n - 1, 1)
    return np.asarray(np.exp(mean + student_quantile(1 - rate, n - 1) * np.sqrt(variance * (1 + 1 / n))))


def exceeded_at(maxima: Floats, rate: float, *, least: float = _TINY) -> float:
    """Return the level that the greatest value of a day exceeds at the given rate.

    With enough days it is between two of them; with less it is extrapolated: as log-normal, or, if nothing happens on
    many days, by how far the others go beyond it on average.

    Args:
        maxima: One value per day.
        rate: The share of days that may exceed it.
        least: What lower maxima count as.

    Examples:
        >>> round(exceeded_at(np.arange(1.0, 101.0), 0.02), 1)
        99.0
        >>> exceeded_at(np.array([1.0, 1.1, 0.9, 1.0]), 0.02) > 1.1
        True
    """
    n = len(maxima)
    allowed = n * rate
    if allowed < 1:
        if np.mean(maxima <= least) > _QUIET_SHARE:
            return _beyond(maxima, rate, least)
        return float(jackknife_levels(maxima[None], rate, least=least)[0][0])
    ordered = np.sort(np.maximum(maxima, least))[::-1]
    whole = int(allowed)
    # With k days allowed the level is the greatest value but k - 1: exactly k - 1 lie above it, and k reach it.
    first, second = math.log(ordered[whole - 1]), math.log(ordered[min(whole, n - 1)])
    return math.exp(first + (second - first) * (allowed - whole))


def _beyond(maxima: Floats, rate: float, least: float) -> float:
    """The level by an exponential tail of those days on which anything happens; never below the greatest of them."""
    some = np.sort(maxima[maxima > least])[::-1]
    if not len(some):
        return least
    # One more is added to the days: what never happened in n days may happen once in the next.
    excess = (some.sum() - len(some) * least) / len(some) * (1 + 1 / len(some))
    share = (len(some) + 1) / (len(maxima) + 1)
    return float(max(least + excess * math.log(max(share / rate, 1.0)), some[0]))


def would_have_alarmed(maxima: Floats, rate: float, *, least: float = _TINY) -> Bools:
    """Return which days exceed the level that is learned without them.

    Args:
        maxima: One value per day, already compared with levels that were learned without it.
        rate: The share of days that may exceed it.
        least: What lower maxima count as; also the lowest level.
    """
    rest = [np.delete(maxima, day) for day in range(len(maxima))]
    return np.array(
        [
            value > max(exceeded_at(one, rate, least=least), least)
            for value, one in zip(maxima.tolist(), rest, strict=True)
        ],
        bool,
    )


def student_quantile(share: float, freedom: int) -> float:
    """Return a quantile of Student's distribution, above a half.

    Args:
        share: The share below it.
        freedom: Degrees of freedom.

    Examples:
        >>> round(student_quantile(0.975, 10), 3), round(student_quantile(0.99, 3), 3)
        (2.228, 4.541)
    """
    # By t = √n tan a the integral of the density over a bounded angle, cos^(n-1), is smooth: Simpson's rule is exact
    # enough, and one halving after the other finds the angle.
    n = max(freedom, 1)
    angles = np.linspace(0.0, math.pi / 2, _STUDENT_STEPS + 1)
    density = np.cos(angles) ** (n - 1)
    pieces = (density[:-2:2] + 4 * density[1:-1:2] + density[2::2]) * (angles[2] / 6)
    below = np.r_[0.0, np.cumsum(pieces)]
    angle = float(np.interp((2 * share - 1) * below[-1], below, angles[::2]))
    return math.sqrt(n) * math.tan(min(angle, math.pi / 2 - 1e-9))
