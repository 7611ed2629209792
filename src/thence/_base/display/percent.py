"""Shares in percent. One function, and every use says how it rounds."""

from __future__ import annotations

import math
from typing import Literal

Rounding = Literal["nearest", "digits", "down", "inside"]
"""``"nearest"`` rounds to decimals and ``"digits"`` to significant digits.

``"down"`` cuts decimals off, so that a share that is too low never looks as if it were enough. ``"inside"`` shows as
many decimals as are needed for something that occurs not to be 0 %, and for something that does not always occur not to
be 100 %.
"""


def percent(share: float, rounding: Rounding = "nearest", digits: int = 0, *, unknown: str = "no") -> str:
    """Format a share in percent.

    Args:
        share: The share.
        rounding: How it is rounded; see ``Rounding``.
        digits: Number of decimals, or of significant digits; not used by ``"inside"``.
        unknown: The text for NaN and infinity.

    Examples:
        >>> percent(0.4567), percent(0.4567, digits=1), percent(0.0004567, "digits", 2)
        ('46 %', '45.7 %', '0.046 %')
        >>> percent(0.99996, "down", 2), percent(1.0, "down", 2), percent(0.5, "down", 2)
        ('99.99 %', '100 %', '50 %')
        >>> percent(0.9999, "inside"), percent(0.0004, "inside"), percent(1.0, "inside")
        ('99.9 %', '0.04 %', '100 %')
    """
    if not math.isfinite(share):
        return unknown
    if rounding == "inside":
        if 0 < share < 0.005:
            return percent(share, "digits", 2)
        return percent(min(share, 0.999), digits=1) if 0.995 <= share < 1 else percent(share)
    if rounding == "down":
        unit = 10**digits
        cut = min(math.floor(share * (100 * unit) + 1e-9), 100 * unit - (share < 1))
        return f"{cut // unit}{f'.{cut % unit:0{digits}}'.rstrip('0') if cut % unit else ''} %"
    return f"{100 * share:.{digits}{'g' if rounding == 'digits' else 'f'}} %"
