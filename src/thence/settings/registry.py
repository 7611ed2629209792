"""Parts chosen by name: those of the package, and those that installed packages add through entry points.

A registry is read-only. A part of the package is one line in its table; a part of another package is one entry point.
Nothing is imported before it is asked for.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from importlib.metadata import entry_points
from typing import Any

from thence.errors import ConfigError, nearest

__all__ = ["Registry"]


class Registry:
    """Names of parts of one kind and where each is defined.

    Args:
        kind: What the parts are, for messages: ``"miner"``.
        built_in: Name to ``"module:attribute"`` for the parts of this package.
        group: The entry point group in which other packages register parts of this kind.

    Examples:
        >>> registry = Registry("codec", {"json": "json:dumps"}, group="example.codecs")
        >>> registry.load("json")([1])
        '[1]'
        >>> registry.load("jason")
        Traceback (most recent call last):
        thence.errors.ConfigError: unknown codec 'jason' (did you mean 'json'?)
    """

    def __init__(self, kind: str, built_in: Mapping[str, str], *, group: str) -> None:
        self.kind = kind
        self.built_in = dict(built_in)
        self.group = group

    def _plugins(self) -> dict[str, str]:
        return {point.name: point.value for point in entry_points(group=self.group)}

    def names(self) -> tuple[str, ...]:
        """All names: those of the package first, then those of other packages."""
        return tuple({**self.built_in, **self._plugins()})

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def __contains__(self, name: object) -> bool:
        return name in self.built_in or name in self._plugins()

    def check(self, name: str) -> None:
        """Raise a ``ConfigError`` that suggests the nearest name if ``name`` is unknown."""
        if name not in self:
            known = self.names()
            raise ConfigError(
                f"unknown {self.kind} '{name}'", hint=nearest(name, known) or "known: " + ", ".join(sorted(known))
            )

    def load(self, name: str) -> Any:
        """Import and return the part with this name. A name of the package wins over a plug-in's."""
        self.check(name)
        target = self.built_in.get(name) or self._plugins()[name]
        module, _, attribute = target.partition(":")
        return getattr(importlib.import_module(module), attribute)
