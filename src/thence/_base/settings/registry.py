"""Parts chosen by name: those of the package, and those that installed packages add through entry points.

A registry is read-only. A part of the package is one line in its table; a part of another package is one entry point.
Nothing is imported before it is loaded.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib.metadata import entry_points
from typing import Any, Generic, TypeVar

from thence.errors import ConfigError, ThenceError, nearest

T = TypeVar("T")


class Registry(Generic[T]):
    """Names of parts of one kind and where each is defined.

    Args:
        kind: What the parts are, for messages: ``"miner"``.
        built_in: Name to ``"module:attribute"`` for the parts of this package.
        group: The entry point group in which other packages register parts of this kind.
        of: The type that every part must be an instance of.
        error: The class of the error for an unknown name, or a part that cannot be used.

    Examples:
        >>> registry = Registry("codec", {"json": "json:dumps"}, group="example.codecs", of=object)
        >>> registry.load("json")([1])
        '[1]'
        >>> registry.load("jason")
        Traceback (most recent call last):
        thence.errors.ConfigError: unknown codec 'jason' (did you mean 'json'?)
    """

    def __init__(
        self,
        kind: str,
        built_in: Mapping[str, str],
        *,
        group: str,
        of: type[T],
        error: type[ThenceError] = ConfigError,
    ) -> None:
        self.kind = kind
        self.built_in = dict(built_in)
        self.group = group
        self.of = of
        self.error = error

    def _plugins(self) -> Mapping[str, str]:
        return _entry_points(self.group, tuple(sys.path))

    def names(self) -> tuple[str, ...]:
        """All names: those of the package first, then those of other packages."""
        return tuple({**self.built_in, **self._plugins()})

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def __contains__(self, name: object) -> bool:
        return name in self.built_in or name in self._plugins()

    def check(self, name: str) -> None:
        """Raise an error that suggests the nearest name if ``name`` is unknown."""
        if name not in self:
            known = self.names()
            raise self.error(
                f"unknown {self.kind} '{name}'", hint=nearest(name, known) or "known: " + ", ".join(sorted(known))
            )

    def load(self, name: str) -> T:
        """Import and return the part with this name; a name of the package wins over one of a plug-in.

        Raises:
            ThenceError: If the name is unknown, or the part of a plug-in cannot be imported or has the wrong type.
        """
        self.check(name)
        if name in self.built_in:
            own: T = _import(self.built_in[name])
            return own
        target = self._plugins()[name]
        where = f"entry point '{name} = {target}' of the group '{self.group}'"
        try:
            found = _import(target)
        except (ImportError, AttributeError) as error:
            raise self.error(f"cannot be imported ({error})", where=where, hint="reinstall that package") from error
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            # Code of others may raise anything when it is imported.
            reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            raise self.error(
                f"fails when it is imported ({reason})", where=where, hint="update or remove that package"
            ) from error
        if not isinstance(found, self.of):
            raise self.error(f"must be a {self.of.__name__}, got a {type(found).__name__}", where=where)
        return found


@lru_cache(maxsize=64)
def _entry_points(group: str, path: tuple[str, ...]) -> Mapping[str, str]:
    """Return the entry points of a group that are found on a path, which is that of the interpreter."""
    return {point.name: point.value for point in entry_points(group=group)}


def _import(target: str) -> Any:
    module, _, attribute = target.partition(":")
    return getattr(importlib.import_module(module), attribute)
