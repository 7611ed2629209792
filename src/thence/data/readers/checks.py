"""Checks of the options of ``read_sensors``: of the right type, and no text that cannot be written as UTF-8.

Whether a value makes sense (a separator of one character, a time zone that exists) is checked where it is used.
"""

from __future__ import annotations

import codecs
import string
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from thence.errors import ConfigError, quote

__all__ = ["check_encoding", "check_options", "check_template"]

TEXTS = ("sensor", "value", "separator", "decimal", "encoding", "time_format", "timezone", "name")
NAMES = ("sheet", "categorical", "numeric", "ignore")
MOST_SKIPPED = 10_000
FIELDS = ("column", "file", "sheet", "kind")


def check_options(options: Mapping[str, Any]) -> None:
    """Raise a ``ConfigError`` for the first option that has a value of the wrong type.

    Args:
        options: The options of ``read_sensors`` as they were given.

    Examples:
        >>> check_options({"separator": 5})
        Traceback (most recent call last):
        thence.errors.ConfigError: 'separator' must be a string, got 5 (an int)
    """
    for option, value in options.items():
        if option in ("layout", "time", "on_error"):
            _require_text(option, value)
        elif value is None and option not in ("missing", "max_loss"):
            continue
        elif option in TEXTS:
            _require_text(option, value)
        elif option in NAMES:
            _require_names(option, value)
        elif option == "missing":
            _require_words(option, value)
        elif option == "header":
            _require(option, value, bool, "true or false")
        elif option == "skip_rows":
            _require(option, value, int, "a whole number")
            if isinstance(value, bool) or not 0 <= value <= MOST_SKIPPED:
                raise _wrong(option, value, f"between 0 and {MOST_SKIPPED:,}")
        elif option == "max_loss":
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise _wrong(option, value, "a number")
        elif option == "units":
            _require(option, value, Mapping, "a mapping from sensors or kinds to units")
            _require_texts(option, [*value, *value.values()])
        elif option == "kind_pattern":
            _require(option, value, (str, Mapping), "a regular expression, or a mapping from expressions to kinds")
            _require_texts(option, [value] if isinstance(value, str) else value)
        elif option == "kinds" and isinstance(value, (str, Path, Mapping)):  # others are refused where kinds are read
            _require_texts(option, value if isinstance(value, Mapping) else [str(value)])


def check_encoding(encoding: str | None) -> None:
    """Raise a ``ConfigError`` unless an encoding is one of text.

    Args:
        encoding: Name of the encoding; ``None`` means that it is detected.
    """
    if encoding is None:
        return
    try:
        known = codecs.lookup(encoding)._is_text_encoding and encoding.isascii()
    except (LookupError, ValueError, UnicodeError):
        known = False
    if not known or codecs.lookup(encoding).name in ("idna", "punycode", "undefined"):
        raise ConfigError(f"unknown encoding {quote(encoding)}", hint="for example 'utf-8', 'cp1252' or 'utf-16'")


def check_template(name: str | None) -> None:
    """Raise a ``ConfigError`` unless a template of sensor ids holds known fields in braces and nothing else in them.

    Args:
        name: The template; ``None`` means the name of the column.

    Examples:
        >>> check_template("{file}/{column:>9}")
        Traceback (most recent call last):
        thence.errors.ConfigError: invalid name='{file}/{column:>9}' (use {column}, {file}, {sheet} and {kind})
    """
    if name is None:
        return
    try:
        parts = list(string.Formatter().parse(name))
    except ValueError:
        parts = [("", "?", "", None)]
    if any(field is not None and (field not in FIELDS or form or how) for _, field, form, how in parts):
        raise ConfigError(f"invalid name={quote(name)}", hint="use {column}, {file}, {sheet} and {kind}")
    if not name:
        raise ConfigError("name is empty", hint="use {column}, {file}, {sheet} and {kind}")


def _require(option: str, value: object, of: type | tuple[type, ...], wanted: str) -> None:
    if not isinstance(value, of):
        raise _wrong(option, value, wanted)


def _require_text(option: str, value: object) -> None:
    _require(option, value, str, "a string")
    _require_texts(option, [value])


def _require_texts(option: str, values: Iterable[object]) -> None:
    for value in values:
        if not isinstance(value, str):
            raise _wrong(option, value, "made of strings")
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise ConfigError(
                f"'{option}' holds {quote(value)}, which is no text: half of a surrogate pair",
                hint="pass text that can be written as UTF-8",
            ) from error


def _require_names(option: str, value: object) -> None:
    if isinstance(value, (bytes, Mapping)) or not isinstance(value, Iterable):
        raise _wrong(option, value, "a name or a list of names")
    if not isinstance(value, (str, list, tuple, set, frozenset)):
        return  # read once, where it is used
    _require_texts(option, [value] if isinstance(value, str) else value)


def _require_words(option: str, value: object) -> None:
    if isinstance(value, (str, int, float)):
        words: Iterable[object] = [value]
    elif isinstance(value, Iterable) and not isinstance(value, (bytes, Mapping)):
        words = value if isinstance(value, (list, tuple, set, frozenset)) else ()
    else:
        raise _wrong(option, value, "strings or numbers")
    for word in words:
        if not isinstance(word, (str, int, float)):
            raise _wrong(option, word, "made of strings or numbers")
    _require_texts(option, [word for word in words if isinstance(word, str)])


def _wrong(option: str, value: object, wanted: str) -> ConfigError:
    kind = type(value).__name__
    article = "an" if kind[:1].lower() in "aeiou" else "a"
    return ConfigError(f"'{option}' must be {wanted}, got {quote(repr(value))[1:-1]} ({article} {kind})")
