"""Labels and alarms as arrays, and the events in them: stretches of steps that are on."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from thence.errors import InputError

__all__ = ["Bools", "as_flags", "flag_pair", "share", "stretches"]

Bools: TypeAlias = npt.NDArray[np.bool_]


def as_flags(values: Any, *, name: str) -> Bools:
    """Return values as booleans; refuse anything but 0 and 1 in one dimension.

    Args:
        values: Booleans, or numbers 0 and 1.
        name: What they are, for the error.
    """
    array = np.asarray(values)
    if array.ndim != 1:
        raise InputError(f"{name} must be one value per step, got an array of {array.ndim} dimensions")
    if array.dtype == np.bool_:
        return array
    try:
        numbers = array.astype(np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be 0 or 1 (or booleans), got {array.dtype}") from None
    wrong = ~np.isin(numbers, (0.0, 1.0))
    if wrong.any():
        at = int(np.argmax(wrong))
        raise InputError(f"{name} must be 0 or 1 (or booleans), got {array[at]} at step {at}")
    return np.asarray(numbers == 1.0)


def flag_pair(labels: Any, alarms: Any) -> tuple[Bools, Bools]:
    """Return labels and alarms as booleans of the same length.

    Args:
        labels: 1 where there is an event.
        alarms: 1 where there is an alarm.
    """
    y, a = as_flags(labels, name="labels"), as_flags(alarms, name="alarms")
    if len(y) != len(a):
        raise InputError(f"labels and alarms must have the same number of steps, got {len(y)} and {len(a)}")
    return y, a


def stretches(flags: Bools) -> list[tuple[int, int]]:
    """Return the stretches of steps that are on, as (first, last), both included.

    Args:
        flags: One boolean per step.

    Examples:
        >>> stretches(np.array([True, False, True, True]))
        [(0, 0), (2, 3)]
    """
    padded = np.concatenate(([False], flags, [False]))
    change = np.flatnonzero(padded[1:] != padded[:-1])
    return [(int(first), int(after) - 1) for first, after in zip(change[::2], change[1::2], strict=True)]


def share(part: float, whole: float) -> float:
    """Return ``part / whole``; NaN where ``whole`` is 0.

    Args:
        part: The numerator.
        whole: The denominator.
    """
    return part / whole if whole else float("nan")
