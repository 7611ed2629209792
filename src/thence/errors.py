"""Errors that a user can cause. Each says what was wrong, where, and what to do.

Every error that Thence raises on purpose derives from ``ThenceError``; the command line prints these without a
traceback. This module must not import other modules of the package.
"""

from __future__ import annotations

import difflib
import importlib
import logging
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import TypeVar

_log = logging.getLogger(__name__)
_T = TypeVar("_T")

LONGEST_NAME = 80  # characters of a name that a message quotes
LONGEST_PATH = 255  # characters of a path
LONGEST_WHERE = 400  # characters of a place
MOST_LINES, LONGEST_LINE = 60, 1000  # lines of a message, and characters of a line
LONGEST_TEXT = 4_000  # characters of a message
LONGEST_REASON = 200  # characters of a foreign message
LONGEST_COMPARED, MOST_COMPARED = 200, 20_000  # of names that may have been meant
# What changes a terminal or the direction of text, and halves of surrogate pairs, which no encoding can write.
UNSAFE = r"\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff"


class ThenceError(Exception):
    """Base class of all errors that Thence raises on purpose.

    Args:
        message: What was wrong.
        where: Where it was: a file, a row, a sensor, a node.
        hint: What to do about it.

    Examples:
        >>> str(ThenceError("no such column 'tme'", where="data.csv", hint="did you mean 'time'?"))
        "data.csv: no such column 'tme' (did you mean 'time'?)"
    """

    def __init__(self, message: str, *, where: str | None = None, hint: str | None = None) -> None:
        self.message = _escape(_shorten(message), UNSAFE)
        self.where = where if where is None else _escape(_clip(where, LONGEST_WHERE), UNSAFE + "\\n\\t")
        self.hint = hint if hint is None else _escape(_shorten(hint), UNSAFE)
        super().__init__(self.message)

    def __str__(self) -> str:
        where = f"{self.where}: " if self.where else ""
        hint = f" ({self.hint})" if self.hint else ""
        return f"{where}{self.message}{hint}"


class InputError(ThenceError):
    """A file, frame or reading cannot be used."""


class GraphError(ThenceError):
    """A knowledge graph or ontology cannot be read, or a node does not exist."""


class BindingError(ThenceError):
    """A sensor has no node, or a sensor or node of a binding does not exist."""


class ConfigError(ThenceError):
    """A setting does not exist or has a value that is not allowed."""


class PatternError(ThenceError):
    """A graph pattern cannot be parsed or matched."""


class MiningError(ThenceError):
    """A miner cannot mine the table with its settings."""


class RunError(ThenceError):
    """A run folder cannot be read or written, is incomplete, or is not a run folder."""


class ClusterError(ThenceError):
    """A cluster cannot be reached, was lost, or has another version of a package."""


class MissingExtraError(ThenceError):
    """An optional package is needed but not installed."""


def require(module: str, *, extra: str) -> ModuleType:
    """Import an optional module, or raise an error that names the extra to install.

    Args:
        module: The name of the module.
        extra: The extra of Thence that installs it.

    Raises:
        MissingExtraError: If the module cannot be imported.

    Examples:
        >>> require("json", extra="water").dumps([1])
        '[1]'
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"the package '{module.partition('.')[0]}' is needed but cannot be imported ({error})",
            hint=f"pip install 'thence[{extra}]'",
        ) from error


@contextmanager
def reported_as(
    error: type[ThenceError], message: str = "cannot be read", *, where: str | None = None, hint: str | None = None
) -> Iterator[None]:
    """Turn whatever a library raises within the block into an error of ours; our own errors pass.

    Panics of compiled libraries, which are no ``Exception``, are turned as well; interrupts are not.

    Args:
        error: The class of the error to raise.
        message: What was wrong; the first line of the foreign message follows.
        where: Where it was.
        hint: What to do about it.

    Examples:
        >>> with reported_as(InputError, where="a.csv"):
        ...     int("x")
        Traceback (most recent call last):
        thence.errors.InputError: a.csv: cannot be read: invalid literal for int() with base 10: 'x'
    """
    try:
        yield
    except (ThenceError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as foreign:
        if (interrupt := interrupt_behind(foreign)) is not None:
            raise interrupt from None
        raise error(f"{message}: {reason_of(foreign)}", where=where, hint=hint) from foreign


def attempt(what: str, make: Callable[[], _T], instead: Callable[[str], _T]) -> _T:
    """Return what a function returns; if it fails, log its traceback as an error and return something instead.

    This is for what comes after a verdict, such as the explanation of an alarm: the verdict counts without it, and a
    command that runs for months must not end because of it. Nothing that decides belongs here.

    Args:
        what: What is made, for the log: ``"the explanation of an alarm"``.
        make: Makes it.
        instead: Makes what is returned if that fails, from the reason.

    Examples:
        >>> attempt("a half", lambda: 1 / 2, lambda reason: 0.0)
        0.5
    """
    try:
        return make()
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        if (interrupt := interrupt_behind(error)) is not None:
            raise interrupt from None
        reason = _escape(reason_of(error), UNSAFE)
        _log.exception("%s failed: %s", what, reason)
        return instead(reason)


def interrupt_behind(error: BaseException) -> KeyboardInterrupt | None:
    """Return the Ctrl-C that an error comes from, or ``None``: Python turns one while a class is made into an error.

    Args:
        error: The error.

    Examples:
        >>> try:
        ...     raise RuntimeError("a class could not be made") from KeyboardInterrupt()
        ... except RuntimeError as caught:
        ...     interrupt_behind(caught)
        KeyboardInterrupt()
    """
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, KeyboardInterrupt):
        cause = cause.__cause__
    return cause


def reason_of(error: BaseException) -> str:
    """Return why something failed: the beginning of the first line of a message, or the name of an error without one.

    Args:
        error: The error.
    """
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, MemoryError):
        return "not enough memory"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    line = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__).strip()
    return line if len(line) <= LONGEST_REASON else line[: LONGEST_REASON - 1] + "…"


def quote(name: object) -> str:
    """Return a name that comes from data as it may stand in a message: quoted, escaped, and not too long.

    Args:
        name: The name.

    Returns:
        At most 80 of its characters, in quotes; line ends, terminal escapes and the like are written as ``\\n``,
        ``\\x1b``.

    Examples:
        >>> print(quote("flow\\x1b[31m"), quote("n" * 1000)[-6:])
        'flow\\x1b[31m' nnnn…'
    """
    text = str(name)
    short = text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…"
    return f"'{_escape(short, UNSAFE + chr(10) + chr(9))}'"


def show_path(path: object) -> str:
    """Return a path as it may stand in a message: escaped, and if it is very long, its end.

    Args:
        path: The path.

    Examples:
        >>> print(show_path("data/net.inp"), show_path("x" * 1000 + "/net.inp")[:1], len(show_path("x" * 1000)))
        data/net.inp … 255
    """
    text = str(path)
    short = text if len(text) <= LONGEST_PATH else "…" + text[1 - LONGEST_PATH :]
    return _escape(short, UNSAFE + chr(10) + chr(9))


def printable(text: str) -> str:
    """Return text as it may go to a terminal: what changes a terminal or the direction of text is escaped.

    Args:
        text: The text; its line ends and tabs stay.

    Examples:
        >>> print(printable("flow\\x1b[31m"))
        flow\\x1b[31m
    """
    return _escape(text, UNSAFE)


def _shorten(text: str) -> str:
    """A message of bounded size: the first lines, the last one, and how many are left out; of endless words a part."""
    text = re.sub(rf"\S{{{LONGEST_PATH + 1},}}", lambda word: f"{word[0][: LONGEST_NAME - 1]}…{word[0][-1]}", text)
    *lines, last = text.split("\n")
    last = _clip(last)
    kept: list[str] = []
    size = len(last)
    for line in map(_clip, lines[: MOST_LINES - 1]):
        size += len(line)
        if kept and size > LONGEST_TEXT:
            break
        kept.append(line)
    left_out = len(lines) - len(kept)
    return "\n".join([*kept, *([f"  … and {left_out:,} more"] if left_out else []), last])


def _clip(line: str, longest: int = LONGEST_LINE) -> str:
    """A line of bounded size: its beginning and its end."""
    return line if len(line) <= longest else f"{line[: longest // 2]} … {line[-longest // 2 :]}"


def _escape(text: str, unsafe: str) -> str:
    return re.sub(f"[{unsafe}]", lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def nearest(name: str, known: Iterable[str], *, say: str = "did you mean {}?") -> str | None:
    """Return a hint with the known name that is closest to a misspelt one.

    Args:
        name: The misspelt name.
        known: The names to choose from.
        say: The hint, with ``{}`` for the quoted name.

    Returns:
        The hint, or ``None`` if no known name is similar.

    Examples:
        >>> nearest("min_suport", ["min_support", "min_confidence"])
        "did you mean 'min_support'?"
    """
    close = difflib.get_close_matches(name[:LONGEST_COMPARED], list(known)[:MOST_COMPARED], n=1, cutoff=0.6)
    return say.format(quote(close[0])) if close else None
