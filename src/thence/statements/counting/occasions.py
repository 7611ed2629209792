"""Separate occasions: how much of what was seen counts as independent evidence for a statement.

Consecutive frames resemble each other, and places move together: a thousand rows may be three witnesses. A statement
of any kind is confirmed by time that its search did not see if it holds there often enough, on at least
``FEWEST_OCCASIONS`` separate occasions, and on so many that chance alone would confirm none of all that were tried.
Works on arrays; knows no kind of statement.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thence.tables.bitmaps.bits import Bools, Floats, Ints

FEWEST_OCCASIONS = 3
"""Separate occasions in the time that was not searched, for a statement to be confirmed."""
FALSE_STATEMENTS = 0.05
"""Probability that chance confirms any of the candidates of one search."""


def divergence(share: npt.ArrayLike, base: npt.ArrayLike) -> Floats:
    """Return the divergence of shares from base rates in nats; 0 where a share is not above its base rate.

    exp(−k · divergence) bounds the chance of at least such a share in k independent trials.

    Args:
        share: The shares that were seen.
        base: The shares to be expected without any relation.

    Examples:
        >>> divergence(np.array([1.0, 0.5]), np.array([0.5, 0.5])).round(4).tolist()
        [0.6931, 0.0]
    """
    p, q = (np.asarray(one, np.float64) for one in (share, base))
    with np.errstate(divide="ignore", invalid="ignore"):
        held = np.where(p > 0, p * np.log(p / q), 0.0)
        failed = np.where(p < 1, (1 - p) * np.log((1 - p) / (1 - q)), 0.0)
    return np.where(p > q, np.nan_to_num(held + failed, nan=0.0), 0.0)


def is_evident(share: npt.ArrayLike, base: npt.ArrayLike, occasions: npt.ArrayLike, candidates: int) -> Bools:
    """Return which statements rest on enough separate occasions, with a share that chance does not give.

    Args:
        share: Share of the occasions on which each statement held, in time that was not searched.
        base: Share to be expected without any relation.
        occasions: Number of separate occasions.
        candidates: Number of all statements that were tried.

    Examples:
        >>> is_evident([1.0, 1.0, 0.9], [0.5, 0.5, 0.8], [4, 20, 20], candidates=50).tolist()
        [False, True, False]
    """
    number = np.asarray(occasions, np.float64)
    chance = candidates * np.exp(-number * divergence(share, base))
    return np.asarray((number >= FEWEST_OCCASIONS) & (chance <= FALSE_STATEMENTS))


def count_occasions(held: Bools, memory: float) -> Ints:
    """Count the episodes of each line that begin at least ``memory`` frames after the end of the one before.

    Args:
        held: Lines × frames: where a statement applies.
        memory: For how many frames what it concludes may resemble itself.

    Examples:
        >>> count_occasions(np.array([[1, 1, 0, 1, 0, 0, 0, 1]], bool), memory=2.0).tolist()
        [2]
    """
    frames = np.arange(held.shape[1])
    last = np.maximum.accumulate(np.where(held, frames, -1), axis=1)
    before = np.concatenate([np.full((len(held), 1), -1), last[:, :-1]], axis=1)
    gap = np.where(before < 0, np.inf, frames - before - 1)
    return np.asarray((held & (gap >= max(memory, 1.0))).sum(axis=1))


def likeness(lines: Bools, inside: Bools) -> float:
    """Return the mean correlation between lines, from 0 to 1: how far their mean moves as one of them does.

    With likeness r, n lines count as n / (1 + (n − 1) r).

    Args:
        lines: Lines × frames.
        inside: Which of these cells are known.

    Examples:
        >>> same = np.tile(np.arange(8) % 2 == 0, (3, 1))
        >>> likeness(same, np.ones_like(same))
        1.0
    """
    used = inside.any(axis=0)
    known = inside[:, used]
    mean = (lines[:, used] & known).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    shares = lines[:, used].sum(axis=1) / np.maximum(known.sum(axis=1), 1)
    own = float((shares * (1 - shares)).mean())
    if own <= 0:
        return 1.0  # they do not move at all
    number = len(lines)
    return float(np.clip((mean.var() / own * number - 1) / max(number - 1, 1), 0.0, 1.0))
