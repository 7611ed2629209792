"""Frozen dataclasses from tables of a configuration file, with errors that name the file, the line and the nearest key.

Works from the annotations of a dataclass; it knows nothing of what the settings are for.
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, fields
from numbers import Integral, Real
from typing import Any, TypeVar

from thence.errors import ConfigError, nearest
from thence.settings.toml import line_of

__all__ = ["Place", "build", "check_keywords", "check_kinds", "refuse_unknown"]

T = TypeVar("T")

_WORDS = {str: "a text", int: "a whole number", float: "a number", bool: "true or false", type(None): "nothing"}


@dataclass(frozen=True)
class Place:
    """Where a table stands: in which file, under which path of keys."""

    file: str = ""
    text: str = ""
    path: tuple[str, ...] = ()

    def inside(self, key: str) -> Place:
        """The table under a key of this one."""
        return Place(self.file, self.text, (*self.path, key))

    def of(self, key: str) -> str | None:
        """A key in words: file, line and table."""
        line = line_of(self.text, (*self.path, key)) if self.text else None
        parts = [self.file, f"line {line}" if line else "", f"[{'.'.join(self.path)}]" if self.path else ""]
        return ", ".join(part for part in parts if part) or None

    def error(self, key: str, message: str, *, hint: str | None = None) -> ConfigError:
        """An error about a key of this table."""
        return ConfigError(message, where=self.of(key), hint=hint)


def refuse_unknown(
    table: Mapping[str, Any], known: Iterable[str], place: Place, *, says: str = "unknown setting '{}'"
) -> None:
    """Raise for the first key that is not known, naming the nearest one that is."""
    names = list(known)
    for key in table:
        if key not in names:
            hint = nearest(key, names) or ("there are: " + ", ".join(names) if names else None)
            raise place.error(key, says.format(key), hint=hint)


def check_keywords(
    function: Callable[..., Any], table: Mapping[str, Any], place: Place, *, without: Iterable[str]
) -> None:
    """Raise for a key that is not a keyword of a function (``without`` those that are given by other means)."""
    parameters = inspect.signature(function).parameters
    if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values()):
        return
    refuse_unknown(table, [name for name in parameters if name not in set(without)], place)
    check_kinds(function, table, place)


def check_kinds(annotated: Any, table: Mapping[str, Any], place: Place | None = None) -> None:
    """Raise for a value that is not of the kind that a function or dataclass says of its setting.

    Only plain kinds are looked at: what takes objects says for itself what it makes of them.

    >>> def wait(*, hours: int = 1) -> None: ...
    >>> check_kinds(wait, {"hours": "two"})
    Traceback (most recent call last):
    thence.errors.ConfigError: 'hours' must be a whole number, got 'two'
    """
    try:
        hints = typing.get_type_hints(annotated)
    except (NameError, TypeError):
        # Some kinds are known to type checkers alone.
        return
    place = place or Place()
    for name, value in table.items():
        kind = hints.get(name)
        if kind is not None and _is_plain(kind) and not _fit(value, kind)[0]:
            raise place.error(name, f"'{name}' must be {_words(kind)}, got {value!r}")
        if name == "seed" and isinstance(value, Integral) and value < 0:
            raise place.error(name, f"'seed' must be a whole number from 0 on, got {value!r}")


def _is_plain(kind: Any) -> bool:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return all(_is_plain(choice) for choice in arguments)
    if origin is tuple:
        return len(arguments) == 2 and arguments[1] is ... and _is_plain(arguments[0])
    if origin is Mapping:
        return _is_plain(arguments[1])
    return origin is typing.Literal or kind in _WORDS


def build(cls: type[T], table: Any, place: Place) -> T:
    """A dataclass from a table: unknown keys and values of the wrong kind are refused, lists become tuples."""
    if not isinstance(table, Mapping):
        raise ConfigError(f"'{place.path[-1]}' must be a table, got {table!r}", where=place.of(""))
    hints = typing.get_type_hints(cls)
    declared = [field for field in fields(cls) if field.init]  # type: ignore[arg-type]
    refuse_unknown(table, [field.name for field in declared], place)
    values: dict[str, Any] = {}
    for field in declared:
        if field.name in table:
            fitting, value = _fit(table[field.name], hints[field.name])
            if not fitting:
                raise place.error(
                    field.name,
                    f"'{field.name}' must be {_words(hints[field.name])}, got {table[field.name]!r}",
                )
            values[field.name] = value
        elif field.default is MISSING and field.default_factory is MISSING:
            raise place.error(field.name, f"'{field.name}' is missing")
    try:
        return cls(**values)
    except ConfigError as error:
        key = next((name for name in values if f"'{name}'" in error.message), "")
        raise ConfigError(error.message, where=error.where or place.of(key), hint=error.hint) from error


def _fit(value: Any, kind: Any) -> tuple[bool, Any]:
    """Whether a value is of a kind, and the value in the form that the dataclass wants."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if kind is Any:
        return True, value
    if origin in (typing.Union, types.UnionType):
        for choice in arguments:
            fitting, fitted = _fit(value, choice)
            if fitting:
                return True, fitted
        return False, value
    if origin is typing.Literal:
        return value in arguments, value
    if origin is tuple:
        if not isinstance(value, (list, tuple)):
            return False, value
        members = [_fit(member, arguments[0]) for member in value]
        return all(fitting for fitting, _ in members), tuple(fitted for _, fitted in members)
    if origin is not None and issubclass(origin, Mapping):
        if not isinstance(value, Mapping):
            return False, value
        inner = {key: _fit(member, arguments[1]) for key, member in value.items()}
        return all(fitting for fitting, _ in inner.values()), {key: fitted for key, (_, fitted) in inner.items()}
    if kind is float:
        fitting = isinstance(value, Real) and not isinstance(value, bool)
        return fitting, float(value) if fitting else value
    if kind is int:
        return isinstance(value, Integral) and not isinstance(value, bool), value
    return isinstance(value, kind), value


def _words(kind: Any) -> str:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(_words(choice) for choice in arguments if choice is not type(None))
    if origin is typing.Literal:
        return "one of " + ", ".join(repr(choice) for choice in arguments)
    if origin is tuple:
        return f"a list, each member {_words(arguments[0])}"
    if origin is not None and issubclass(origin, Mapping):
        return "a table"
    return _WORDS.get(kind, "a value")
