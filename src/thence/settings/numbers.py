"""Settings of the right kind: numbers that are whole, within bounds, or a share, with an error that names the setting.

Values come from callers and from configuration files, and a wrong one should be told when a miner is made, not after
an hour of work.
"""

from __future__ import annotations

import math
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

from thence.errors import ConfigError

__all__ = ["LARGEST_SEED", "require_number", "require_seed", "require_share", "require_whole"]

LARGEST_SEED = 2**64 - 1


def require_whole(name: str, value: Any, *, least: int = 1, most: int | None = None) -> None:
    """Refuse everything but a whole number within bounds.

    >>> require_whole("epochs", 2.5)
    Traceback (most recent call last):
    ...
    thence.errors.ConfigError: epochs must be a whole number from 1 on, got 2.5
    """
    fits = isinstance(value, Integral) and not isinstance(value, bool)
    if not fits or value < least or (most is not None and value > most):
        bounds = f"from {least} on" if most is None else f"from {least} to {most}"
        raise ConfigError(f"{name} must be a whole number {bounds}, got {value!r}")


def require_number(name: str, value: Any) -> None:
    """Refuse everything but a number that is not infinite."""
    if not isinstance(value, (Real, Decimal)) or isinstance(value, bool) or not math.isfinite(value):
        raise ConfigError(f"{name} must be a number, got {value!r}")


def require_share(name: str, value: Any) -> None:
    """Refuse everything but a number from 0 to 1."""
    require_number(name, value)
    if not 0 <= value <= 1:
        raise ConfigError(f"{name} must lie between 0 and 1, got {value!r}")


def require_seed(value: Any) -> None:
    """Refuse everything but a seed of the random generators."""
    require_whole("seed", value, least=0, most=LARGEST_SEED)
