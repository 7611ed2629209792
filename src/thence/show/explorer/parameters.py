"""Parameters of requests: what a client sent, checked, or a problem that says what was expected.

Everything that a client sends goes through here. Must not look anything up or open anything.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from thence.show.explorer.problems import RequestError
from thence.show.explorer.rule_index import RuleFilter
from thence.statements.rules.measures import MEASURES
from thence.statements.search import split_words

_LONGEST = 2_000
_MOST = 100
_MOST_WORDS = 20
_MOST_NUMBERS = 5_000
_LARGEST = 1 << 53
"""Integers up to this one are exact in JavaScript."""


class Multi(Protocol):
    """Names with one or more values each."""

    def getlist(self, key: Any) -> list[str]:
        """The values of a name."""
        ...

    def keys(self) -> Any:
        """The names."""
        ...


class QueryParameters:
    """The query of a request.

    Args:
        given: The names and values.
        known: The names that the end point understands; others are refused, so that a typing error is noticed.
    """

    def __init__(self, given: Multi, known: Sequence[str]) -> None:
        self._given = given
        for name in given.keys():  # noqa: SIM118
            if name not in known:
                listed = ", ".join(known) or "none"
                raise RequestError(f"unknown parameter '{name[:60]}'", hint=f"known: {listed}", status=422)

    def text(self, name: str, default: str = "") -> str:
        """Return a text.

        Args:
            name: The parameter.
            default: What an absent one is.
        """
        values = self._given.getlist(name)
        if not values:
            return default
        if len(values) > 1:
            raise RequestError(f"'{name}' was given {len(values)} times", hint="give it once", status=422)
        return _text(name, values[0])

    def texts(self, name: str, *, most: int = _MOST) -> tuple[str, ...]:
        """Return all texts of a parameter that may be repeated.

        Args:
            name: The parameter.
            most: How often it may be given.
        """
        values = self._given.getlist(name)
        if len(values) > most:
            raise RequestError(f"'{name}' may be given {most:,} times, got {len(values):,}", status=422)
        return tuple(dict.fromkeys(_text(name, value) for value in values))

    def integer(self, name: str, default: int | None, *, low: int = 0, high: int = _LARGEST) -> int | None:
        """Return an integer.

        Args:
            name: The parameter.
            default: What an absent one is.
            low: The lowest value that is allowed.
            high: The highest value that is allowed.
        """
        text = self.text(name)
        return default if not text else as_integer(name, text, low=low, high=high)

    def number(self, name: str) -> float | None:
        """Return a finite number, or ``None`` if it was not given.

        Args:
            name: The parameter.
        """
        text = self.text(name)
        if not text:
            return None
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value) or "_" in text:
            raise RequestError(f"'{name}' must be a finite number, got '{text[:40]}'", status=422)
        return value

    def boolean(self, name: str, *, default: bool) -> bool:
        """Return a boolean.

        Args:
            name: The parameter.
            default: What an absent one is.
        """
        text = self.text(name).lower()
        if text in ("", "1", "true", "0", "false"):
            return default if not text else text in ("1", "true")
        raise RequestError(f"'{name}' must be true or false, got '{text[:40]}'", status=422)

    def rule_filter(self) -> RuleFilter:
        """Return the conditions on rules."""
        words = split_words(self.text("q"))
        if len(words) > _MOST_WORDS:
            raise RequestError(f"at most {_MOST_WORDS} words can be searched, got {len(words)}", status=422)
        bounds = [(name, self.number(name)) for name in bound_names()]
        return RuleFilter(
            words=words,
            kind=self.texts("kind"),
            cls=self.texts("class"),
            property=self.texts("property"),
            pattern=self.texts("pattern"),
            conclusion=self.texts("conclusion"),
            review=self.texts("review"),
            bounds=tuple((name, value) for name, value in bounds if value is not None),
            node=self.text("node") or None,
        )


def bound_names() -> tuple[str, ...]:
    """Return the bounds on measures that a client can give."""
    return tuple(f"{side}_{name}" for side in ("min", "max") for name in MEASURES)


def filter_names() -> tuple[str, ...]:
    """Return the parameters that ``rule_filter`` reads."""
    return ("q", "kind", "class", "property", "pattern", "conclusion", "review", "node", *bound_names())


def as_integer(name: str, text: str, *, low: int = 0, high: int = _LARGEST) -> int:
    """Return a text as an integer, or raise.

    Args:
        name: What it is, for the message.
        text: The text.
        low: The lowest value that is allowed.
        high: The highest value that is allowed.

    Examples:
        >>> as_integer("limit", "50")
        50
    """
    digits = text.removeprefix("-")
    if digits.isascii() and digits.isdigit() and len(digits) < 20 and low <= int(text) <= high:
        return int(text)
    most = "" if high == _LARGEST else f" to {high:,}"
    raise RequestError(f"'{name}' must be an integer from {low:,}{most}, got '{text[:40]}'", status=422)


def read_json(body: bytes) -> dict[str, Any]:
    """Return the body of a request as a dict.

    Args:
        body: The body.

    Examples:
        >>> read_json(b'{"key": "a"}')
        {'key': 'a'}
    """
    try:
        data = json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError):
        raise RequestError("the body is not valid JSON", hint="send a JSON object") from None
    if not isinstance(data, dict):
        raise RequestError("the body must be a JSON object", hint='send, for example, {"key": "…"}', status=422)
    return data


def read_mapping(data: Mapping[str, Any], kinds: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a mapping whose types are known, or raise.

    Args:
        data: What was sent.
        kinds: The known fields with their types: ``str`` or ``list[int]``.

    Examples:
        >>> read_mapping({"format": "csv"}, {"format": str, "rules": list[int]})
        {'format': 'csv'}
    """
    for name, value in data.items():
        if name not in kinds:
            known = ", ".join(kinds) or "none"
            raise RequestError(f"unknown field '{name[:60]}'", hint=f"known: {known}", status=422)
        _check_type(name, value, kinds[name])
    return dict(data)


def _check_type(name: str, value: Any, kind: Any) -> None:
    """Raise unless a value of a body has the type that is expected."""
    if kind is str and not isinstance(value, str):
        raise RequestError(f"'{name}' must be a string", status=422)
    if kind == list[int] and not (
        isinstance(value, list) and len(value) <= _MOST_NUMBERS and all(map(_is_position, value))
    ):
        raise RequestError(f"'{name}' must be a list of at most {_MOST_NUMBERS:,} integers from 0", status=422)


def _is_position(value: Any) -> bool:
    return type(value) is int and 0 <= value <= _LARGEST


def _text(name: str, value: str) -> str:
    if len(value) > _LONGEST:
        raise RequestError(f"'{name}' may have {_LONGEST:,} characters, got {len(value):,}", status=422)
    return value
