"""Checks of single settings: integers, finite numbers, shares, seeds and time zones.

Values come from callers and from configuration files. They are checked when a part is constructed, so that a wrong one
does not surface after an hour of work. Every error names the setting.
"""

from __future__ import annotations

import math
from decimal import Decimal
from numbers import Integral, Real
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from thence.errors import ConfigError

LARGEST_SEED = 2**64 - 1
MOST_ANTECEDENTS = 100
"""The most items of an antecedent: a search keeps an intersection of bitmaps for each."""
_LONGEST = 80


def require_integer(name: str, value: Any, *, least: int = 1, most: int | None = None) -> None:
    """Raise a ``ConfigError`` unless a value is an integer within bounds.

    Args:
        name: The name of the setting.
        value: The value to check; a boolean is not an integer.
        least: The smallest allowed value.
        most: The largest allowed value; ``None`` for no bound.

    Examples:
        >>> require_integer("epochs", 2.5)
        Traceback (most recent call last):
        ...
        thence.errors.ConfigError: epochs must be an integer >= 1, got 2.5
    """
    is_integer = isinstance(value, Integral) and not isinstance(value, bool)
    if not is_integer or value < least or (most is not None and value > most):
        bounds = f">= {least}" if most is None else f"from {least} to {most}"
        raise ConfigError(f"{name} must be an integer {bounds}, got {shown(value)}")


def require_number(name: str, value: Any) -> None:
    """Raise a ``ConfigError`` unless the ``value`` of the setting ``name`` is a finite number."""
    is_number = isinstance(value, (Real, Decimal)) and not isinstance(value, bool)
    if not is_number or not is_within_floats(value) or not math.isfinite(value):
        raise ConfigError(f"{name} must be a finite number, got {shown(value)}")


def require_share(name: str, value: Any) -> None:
    """Raise a ``ConfigError`` unless the ``value`` of the setting ``name`` is a number from 0 to 1."""
    require_number(name, value)
    if not 0 <= value <= 1:
        raise ConfigError(f"{name} must lie between 0 and 1, got {shown(value)}")


def require_seed(value: Any) -> None:
    """Raise a ``ConfigError`` unless ``value`` is an integer from 0 to ``LARGEST_SEED``."""
    require_integer("seed", value, least=0, most=LARGEST_SEED)


def is_within_floats(value: Any) -> bool:
    """Whether a number can be converted to a float; integers of 400 digits cannot.

    >>> is_within_floats(10**300), is_within_floats(10**400)
    (True, False)
    """
    try:
        float(value)
    except (OverflowError, ValueError):
        return False
    return True


def shown(value: Any) -> str:
    """Return a value as Python writes it, of bounded length, for messages.

    >>> len(shown("x" * 1000))
    80
    """
    try:
        text = repr(value)
    except ValueError:
        # An integer with more digits than Python writes.
        return "a number with thousands of digits"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def require_zone(name: str) -> None:
    """Raise a ``ConfigError`` unless ``name`` is a time zone of the IANA database.

    Examples:
        >>> require_zone("Europe/Berlin")
        >>> require_zone("Mars")
        Traceback (most recent call last):
        thence.errors.ConfigError: 'timezone' must be an IANA time zone, got 'Mars' (for example 'Europe/Berlin')
    """
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, TypeError, OSError) as error:
        raise ConfigError(
            f"'timezone' must be an IANA time zone, got {name!r}", hint="for example 'Europe/Berlin'"
        ) from error
