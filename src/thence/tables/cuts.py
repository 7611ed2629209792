"""Cuts between numbers: the shortest decimal number that separates the same values as a given cut.

A cut ``c`` separates the values below ``c`` from those at ``c`` and above. Between two neighbouring values every cut
separates the same, and a short one can be printed as it is: 20.5 instead of 20.481739246. This module works on plain
numbers.
"""

from __future__ import annotations

import math
from decimal import ROUND_FLOOR, Context, Decimal

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

_SHORT_DIGITS = 3
_EXACT = Context(prec=1200)
_NOTHING, _HALF = Decimal(0), Decimal("0.5")


def shorten_cut(cut: float, low: float, high: float) -> float:
    """Return the shortest decimal number above ``low`` and at most ``high``; of several, the one nearest to ``cut``.

    A cut of up to three digits is short enough and stays.

    Args:
        cut: A finite number in the same range.
        low: The value below the cut, or −∞.
        high: The value at the cut or above it, or ∞.

    Examples:
        >>> shorten_cut(999.98712345, 999.9812, 999.98712345), shorten_cut(250.0, 120.0, 250.0)
        (999.987, 250.0)
        >>> shorten_cut(-0.123456, -3.0, 2.0), shorten_cut(0.1 + 0.2, 0.29, 0.1 + 0.2)
        (0.0, 0.3)
    """
    if _count_digits(cut) <= _SHORT_DIGITS:
        return cut
    exact = _decimal(cut)
    below = _decimal(low) if math.isfinite(low) else exact - abs(exact)
    above = _decimal(high) if math.isfinite(high) else exact + abs(exact)
    # From coarse to fine: multiples of 100, of 10, of 1, of 0.1 and so on.
    for exponent in range(max(below.adjusted(), above.adjusted()), exact.adjusted() - 17, -1):
        first, last = _floor(below, exponent) + 1, _floor(above, exponent)
        if first > last:
            continue
        nearest = min(max(_floor(exact, exponent, offset=_HALF), first), last)
        found = float(f"{nearest}e{exponent}") + 0.0
        if low < found <= high:
            return found
    return cut


def shorten_cuts(cuts: FloatArray, values: npt.NDArray[np.float64]) -> FloatArray:
    """Shorten cuts so that they separate the same values as before.

    Args:
        cuts: Cuts in increasing order.
        values: The finite values that they separate, in any order.

    Returns:
        The cuts. One that no value reaches stays, and so do several between the same two values.

    Examples:
        >>> shorten_cuts(np.array([2.71828, 7.38905609]), np.array([1.0, 2.71828, 3.3, 6.98, 7.38905609])).tolist()
        [2.0, 7.0]
    """
    levels = np.unique(values)
    padded = np.concatenate([[-np.inf], levels, [np.inf]])
    places = np.searchsorted(levels, cuts)
    return shorten_between(cuts, padded[places], padded[places + 1])


def shorten_between(cuts: FloatArray, below: FloatArray, above: FloatArray) -> FloatArray:
    """Shorten cuts as ``shorten_cuts`` does, given the values next to them.

    Args:
        cuts: Cuts in increasing order.
        below: The highest value below each cut; −∞ if there is none.
        above: The lowest value at each cut or above it; ∞ if there is none.
    """
    out = np.array(cuts, np.float64)
    inside = np.isfinite(below) & np.isfinite(above)
    same = (below[1:] == below[:-1]) & (above[1:] == above[:-1])
    alone = ~(np.append(same, False) | np.append(False, same)) if len(out) else inside
    for at in np.flatnonzero(alone & inside).tolist():
        out[at] = shorten_cut(float(cuts[at]), float(below[at]), float(above[at]))
    return out


def _decimal(number: float) -> Decimal:
    """The shortest decimal number that is read as this number."""
    return Decimal(repr(float(number)))


def _count_digits(number: float) -> int:
    """The number of digits of the shortest decimal form, without zeros at either end."""
    return len("".join(map(str, _decimal(number).as_tuple().digits)).strip("0"))


def _floor(number: Decimal, exponent: int, offset: Decimal = _NOTHING) -> int:
    """The largest multiple of a power of ten that does not exceed a number, as a factor; ``offset`` is in that unit."""
    return int(_EXACT.add(_EXACT.scaleb(number, -exponent), offset).to_integral_value(ROUND_FLOOR))
