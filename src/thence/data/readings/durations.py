"""Durations as text, read and written: ``30min``, ``1h30min``, ``1d``."""

from __future__ import annotations

import re
from datetime import timedelta

from thence.errors import ConfigError, quote

MICROSECOND = timedelta(microseconds=1)
UNITS = {
    "us": 1,
    "ms": 10**3,
    "s": 10**6,
    "min": 60 * 10**6,
    "h": 3600 * 10**6,
    "d": 86400 * 10**6,
    "w": 604800 * 10**6,
}
LONGEST, LONGEST_TEXT = 36_525 * UNITS["d"], 100
ALIASES = {"m": "min", "sec": "s", "hour": "h", "hours": "h", "day": "d", "days": "d", "week": "w"}


def parse_duration(text: str | timedelta) -> int:
    """Return a duration such as ``"30min"``, ``"1h30min"``, ``"1d"``, or a ``timedelta``, in microseconds.

    Args:
        text: The duration.

    Raises:
        ConfigError: If it is not a duration, or not positive.

    Examples:
        >>> parse_duration("1h30min") == parse_duration("90 min") == 5_400_000_000
        True
    """
    if isinstance(text, timedelta):
        total = text // MICROSECOND
    elif not isinstance(text, str) or len(text) > LONGEST_TEXT:
        raise ConfigError(f"invalid duration {quote(text)}", hint="write it as 30min, 1h, 1h30min or 1d")
    else:
        compact = text.replace(" ", "")
        parts = re.findall(r"([0-9]+)([a-z]+)", compact)
        units = [ALIASES.get(unit, unit) for _, unit in parts]
        if not parts or "".join(n + unit for n, unit in parts) != compact or not set(units) <= set(UNITS):
            raise ConfigError(f"invalid duration {quote(text)}", hint="write it as 30min, 1h, 1h30min or 1d")
        total = sum(int(n) * UNITS[unit] for (n, _), unit in zip(parts, units, strict=True))
    if total <= 0:
        raise ConfigError(f"duration must be positive, got {text}", hint="for example 30min")
    if total > LONGEST:
        raise ConfigError(f"a duration must be at most 36525d (100 years), got {quote(text)}", hint="for example 30min")
    return int(total)


def format_duration(duration: timedelta | int) -> str:
    """Return a duration in its largest units; ``parse_duration`` reads it back.

    Args:
        duration: A positive ``timedelta``, or a number of microseconds.

    Examples:
        >>> format_duration(timedelta(minutes=90)), format_duration(timedelta(days=7)), format_duration(250_000)
        ('1 h 30 min', '7 d', '250 ms')
    """
    rest = duration // MICROSECOND if isinstance(duration, timedelta) else duration
    parts = []
    for name, size in reversed(UNITS.items()):
        if name != "w" and rest >= size:
            count, rest = divmod(rest, size)
            parts.append(f"{count} {name}")
    return " ".join(parts)
