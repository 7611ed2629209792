"""Parameters of the optimisers of TS-NARM: those that the paper states, and those with which its released code runs.

Only names and numbers; this module must not import NiaPy.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from thence.errors import ConfigError, nearest

__all__ = ["OPTIONS", "RELEASED", "complete_options"]

OPTIONS: Mapping[str, Mapping[str, float]] = MappingProxyType(
    {
        "de": {"weight": 0.5, "crossover": 0.9},
        "ga": {"mutation": 0.01, "crossover": 0.8, "selection": 0.0},
        "pso": {"cognitive": 0.1, "social": 0.1, "inertia": 0.8, "velocity": 1.5},
        "lshade": {"memory": 5.0, "best": 0.1, "archive": 2.0},
        "shade": {"memory": 6.0, "best": 0.11, "archive": 2.6},
        "jde": {
            "weight": 0.5,
            "crossover": 0.9,
            "lowest_weight": 0.0,
            "highest_weight": 1.0,
            "redraw_weight": 0.1,
            "redraw_crossover": 0.1,
        },
    }
)
"""The parameters of each optimiser and their defaults, which are those of the paper where it states them."""

RELEASED: Mapping[str, Mapping[str, float]] = MappingProxyType(
    {
        "pso": {"inertia": 1.0, "velocity": 0.0},
        "jde": {
            "weight": 2.0,
            "crossover": 0.5,
            "lowest_weight": 200.0,
            "highest_weight": 1.0,
            "redraw_weight": 0.1,
            "redraw_crossover": 0.2,
        },
    }
)
"""Parameters that the released code of the paper sets or implies, where they differ from ``OPTIONS``."""

_COUNTS = ("memory",)
_SHARES = ("mutation", "crossover", "best", "redraw_weight", "redraw_crossover", "selection")


def complete_options(algorithm: str, given: Mapping[str, float] | None = None) -> dict[str, float]:
    """Return all parameters of an optimiser.

    Args:
        algorithm: A name of ``OPTIONS``.
        given: Parameters that replace the defaults.

    Raises:
        ConfigError: If the optimiser or a parameter is unknown, or a value is impossible.

    Examples:
        >>> complete_options("pso", {"inertia": 1.0})
        {'cognitive': 0.1, 'social': 0.1, 'inertia': 1.0, 'velocity': 1.5}
    """
    if algorithm not in OPTIONS:
        raise ConfigError(f"unknown optimiser '{algorithm}'", hint="use one of: " + ", ".join(OPTIONS))
    known = OPTIONS[algorithm]
    for name, value in (given or {}).items():
        if name not in known:
            hint = nearest(name, tuple(known)) or "known: " + ", ".join(known)
            raise ConfigError(f"the optimiser '{algorithm}' has no parameter '{name}'", hint=hint)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
            raise ConfigError(f"the optimiser's parameter '{name}' must be a number of at least 0, got {value!r}")
        if name in _SHARES and value > 1:
            raise ConfigError(f"the optimiser's parameter '{name}' must be from 0 to 1, got {value!r}")
        if name in _COUNTS and (value < 1 or value != int(value)):
            raise ConfigError(f"the optimiser's parameter '{name}' must be an integer of at least 1, got {value!r}")
    return {**known, **{name: float(value) for name, value in (given or {}).items()}}
