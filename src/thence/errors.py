"""Errors that a user can cause, each saying what was wrong, where, and what to do.

Everything that Thence raises on purpose derives from ``ThenceError``; the command line prints these without
a traceback. This module must not import anything else of the package.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable
from types import ModuleType

__all__ = [
    "BindingError",
    "ConfigError",
    "GraphError",
    "InputError",
    "MiningError",
    "MissingExtraError",
    "PatternError",
    "RunError",
    "ThenceError",
    "nearest",
    "require",
]


class ThenceError(Exception):
    """Base of all errors that Thence raises on purpose.

    >>> str(ThenceError("no such column 'tme'", where="data.csv", hint="did you mean 'time'?"))
    "data.csv: no such column 'tme' (did you mean 'time'?)"
    """

    def __init__(self, message: str, *, where: str | None = None, hint: str | None = None) -> None:
        self.message = message
        self.where = where
        self.hint = hint
        super().__init__(message)

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        advice = f" ({self.hint})" if self.hint else ""
        return f"{place}{self.message}{advice}"


class InputError(ThenceError):
    """A file, frame or reading that cannot be used as it is."""


class GraphError(ThenceError):
    """A knowledge graph or ontology that cannot be read, or a node that does not exist."""


class BindingError(ThenceError):
    """Sensors without a node, or nodes and sensors that do not exist."""


class ConfigError(ThenceError):
    """A setting that does not exist or has an impossible value."""


class PatternError(ThenceError):
    """A graph pattern that cannot be parsed or matched."""


class MiningError(ThenceError):
    """A miner that cannot do what was asked of it."""


class RunError(ThenceError):
    """A run folder that is incomplete, foreign or unreadable."""


class MissingExtraError(ThenceError):
    """An optional package that is needed now and is not installed."""


def require(module: str, *, extra: str) -> ModuleType:
    """Import an optional module, or say which extra brings it.

    >>> require("json", extra="water").dumps([1])
    '[1]'
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"this needs the package '{module.partition('.')[0]}', which cannot be imported ({error})",
            hint=f"pip install 'thence[{extra}]'",
        ) from error


def nearest(name: str, known: Iterable[str], *, say: str = "did you mean {}?") -> str | None:
    """A hint with the known name closest to a misspelt one, or ``None`` when nothing is close.

    >>> nearest("min_suport", ["min_support", "min_confidence"])
    "did you mean 'min_support'?"
    """
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return say.format(f"'{close[0]}'") if close else None
