"""Checks of single values that several parts of the package take as settings.

Each check raises a ``ConfigError`` that names the setting. Checks of numbers are in ``thence._base.settings.numbers``.
"""

from __future__ import annotations

from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from thence.errors import ConfigError

__all__ = ["require_zone"]


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
