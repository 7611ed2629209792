"""Losses: how much of the data a repair may lose, the advice that follows, and the error where it would lose more.

A few bad rows are repaired and counted. If many are bad, something else is wrong (the separator, the time column), and
dropping them would hide it. This module counts nothing itself.
"""

from __future__ import annotations

import math

from thence._base.display.percent import percent
from thence.errors import ConfigError, InputError

__all__ = ["MAX_LOSS", "advise_repair", "is_small_loss", "refuse_large_loss", "require_share"]

MAX_LOSS = 0.01
"""Share of the rows or readings that a repair may lose by default."""
FEW = 10  # so many may always be lost: a share says nothing about a short table

# Finding → what is lost, what is wrong with it, what to check.
REASONS = {
    "bad-time": ("rows", "have no usable time", "check time= and time_format="),
    "conflicting": (
        "readings",
        "have another value at the same time",
        "check time= and sensor=: together they must tell the rows apart",
    ),
    "not-a-number": ("cells", "are text in a numeric column", "check decimal=, missing= and categorical="),
    "far-time": ("rows", "are years away from all others", "check time= and time_format="),
    "no-sensor": ("rows", "have no sensor name", "check sensor="),
    "ragged": ("lines", "have too many or too few fields", "check separator= and skip_rows="),
}


def require_share(max_loss: float) -> None:
    """Raise a ``ConfigError`` unless ``max_loss`` is a share."""
    if not 0 <= max_loss <= 1:
        raise ConfigError(f"max_loss must be at least 0 and at most 1, got {max_loss!r}", hint="for example 0.05")


def is_small_loss(lost: int, total: int, max_loss: float) -> bool:
    """Return whether a repair may lose so much.

    Args:
        lost: Number of rows, readings, cells or lines that it would lose.
        total: Number of all of them.
        max_loss: The share that may be lost. Ten may always be lost, unless it is 0.

    Examples:
        >>> is_small_loss(10, 20, 0.01), is_small_loss(11, 20, 0.01), is_small_loss(11, 2000, 0.01)
        (True, False, True)
    """
    return lost <= max(FEW if max_loss else 0, max_loss * total)


def advise_repair(what: str, lost: int, total: int, *, max_loss: float, repair: str) -> str:
    """Return the hint of an error: to repair if that loses little, otherwise what to check.

    Args:
        what: Key of the finding that a repair would count.
        lost: Number that it would lose.
        total: Number of all.
        max_loss: The share that may be lost.
        repair: Advice to repair.
    """
    if is_small_loss(lost, total, max_loss):
        return repair
    unit, why, check = REASONS[what]
    return f"{lost:,} of {total:,} {unit} {why}: {check}"


def refuse_large_loss(what: str, lost: int, total: int, *, max_loss: float, where: str) -> None:
    """Raise an ``InputError`` if a repair loses more than it may.

    Args:
        what: Key of the finding.
        lost: Number lost.
        total: Number of all.
        max_loss: The share that may be lost.
        where: Name of the data.
    """
    if is_small_loss(lost, total, max_loss):
        return
    unit, why, check = REASONS[what]
    share = lost / total
    raise InputError(
        f"on_error='repair' would lose {lost:,} of {total:,} {unit} ({percent(share, digits=1)}), which {why}",
        where=where,
        hint=f"{check}; pass max_loss={math.ceil(share * 100) / 100:g} to lose them",
    )
