"""Numbers and times as ``report.json`` holds them: rounded, finite, whole milliseconds. Knows nothing of runs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

DIGITS = 6
"""Significant digits of numbers that are drawn; counts are never rounded."""


def finite(value: Any, *, decimals: int = 6) -> float | None:
    """Return a number with a fixed number of decimals, ``None`` if it is missing or infinite.

    Args:
        value: The number.
        decimals: How many decimals to keep.

    Examples:
        >>> finite(0.123456789), finite(float("nan")), finite(None)
        (0.123457, None, None)
    """
    if value is None or not math.isfinite(number := float(value)):
        return None
    return round(number, decimals) + 0.0


def shorter(value: Any, *, digits: int = DIGITS) -> float | None:
    """Return a number with a fixed number of significant digits, ``None`` if it is missing or infinite.

    Args:
        value: The number.
        digits: How many digits to keep.

    Examples:
        >>> shorter(123456.789), shorter(-0.000123456789), shorter(float("inf"))
        (123457.0, -0.000123457, None)
    """
    if value is None or not math.isfinite(number := float(value)):
        return None
    return float(f"{number:.{digits}g}") + 0.0


def milliseconds(times: npt.ArrayLike) -> list[int]:
    """Return times as whole milliseconds since 1970.

    Args:
        times: Times in UTC.

    Examples:
        >>> milliseconds(np.array(["1970-01-01T00:00:01.5"], "datetime64[us]"))
        [1500]
    """
    # Casting to milliseconds rounds down, so that a window never begins after its first reading.
    return [int(time) for time in np.asarray(times, "datetime64[us]").astype("datetime64[ms]").astype(np.int64).ravel()]
