"""What all commands share on the screen: consoles, errors, JSON, and values given as text."""

from __future__ import annotations

import json
import math
import os
import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperGroup

from thence.errors import ConfigError, ThenceError

if TYPE_CHECKING:
    from rich.console import Console

    from thence.rules.ruleset import RuleSet

__all__ = ["Guarded", "assignments", "complain", "console", "facts", "numbers", "print_json", "print_rules", "say"]

_PIPE_WIDTH = 200
# A sentence in a narrower column than this is hard to read.
_SENTENCE_WIDTH = 50
_COLUMNS = {
    "support": "support",
    "confidence": "confidence",
    "assured_confidence": "assured",
    "rule_coverage": "coverage",
    "zhang": "Zhang",
    "lift": "lift",
    "support_time": "support time",
    "support_embeddings": "support embeddings",
}


class Guarded(TyperGroup):
    """The commands, with every expected failure turned into one line and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        debug = ctx.params.get("debug")
        try:
            out = super().invoke(ctx)
            sys.stdout.flush()
            return out
        except ThenceError as error:
            if debug:
                raise
            complain(f"thence: {error}{_in_a_file(error)}")
            raise typer.Exit(1) from error
        except KeyboardInterrupt:
            if debug:
                raise
            complain("thence: interrupted")
            raise typer.Exit(130) from None
        except BrokenPipeError:
            # Somebody read enough (`thence show … | head`).
            _silence()
            raise typer.Exit(0) from None
        except OSError as error:
            if debug:
                raise
            _silence()
            complain(f"thence: {error.filename or 'the output'}: {error.strerror or error}")
            raise typer.Exit(1) from error


def _silence() -> None:
    """Python must not try at its end to flush what could not be written."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _in_a_file(error: ThenceError) -> str:
    """Where a keyword of Python that an error advises stands in a configuration file."""
    if "on_error='repair'" not in (error.hint or ""):
        return ""
    return '; in a CONFIG.toml: [input.read_sensors] on_error = "repair"'


def complain(text: str, *, colour: str = "red", err: bool = True) -> None:
    """A line that stands out, unless colours are not wanted (https://no-color.org)."""
    typer.echo(text if os.environ.get("NO_COLOR") else typer.style(text, fg=colour), err=err)


def console() -> Console:
    """A console on standard output; where nobody looks, lines are long instead of wrapped."""
    from rich.console import Console

    class Screen(Console):
        def on_broken_pipe(self) -> None:
            # Rich would end the program with an error.
            raise BrokenPipeError

    return Screen(highlight=False) if sys.stdout.isatty() else Screen(highlight=False, width=_PIPE_WIDTH)


def say(text: str, *, quiet: bool = False) -> None:
    """A line of text, unless it is to be quiet."""
    if not quiet:
        typer.echo(text)


def print_json(data: Any) -> None:
    """Data for machines."""
    typer.echo(json.dumps(_clean(data), ensure_ascii=False, indent=2, allow_nan=False))


def _clean(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _clean(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clean(inner) for inner in value]
    return value if value is None or isinstance(value, (str, int, bool)) else str(value)


def assignments(given: Iterable[str], *, flag: str) -> dict[str, Any]:
    """``key=value`` texts as a mapping; values are TOML where they can be, texts otherwise.

    >>> assignments(["days=3", "leaks=true", "name=a b"], flag="--option")
    {'days': 3, 'leaks': True, 'name': 'a b'}
    """
    out: dict[str, Any] = {}
    for text in given:
        key, found, value = text.partition("=")
        if not found or not key.strip():
            raise ConfigError(f"{flag} takes key=value, got '{text}'")
        try:
            out[key.strip()] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            out[key.strip()] = value
    return out


def numbers(given: Iterable[str], *, flag: str) -> dict[str, float]:
    """The same where only numbers make sense.

    >>> numbers(["min_lift=2"], flag="--bound")
    {'min_lift': 2}
    """
    out = assignments(given, flag=flag)
    for name, value in out.items():
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            raise ConfigError(f"{flag} {name} takes a number, got {value!r}")
    return out


def print_rules(screen: Console, rules: RuleSet, *, text: bool = False) -> None:
    """Rules in plain English or in their exact text: a table, or two lines each where a table would be too narrow."""
    from thence.rules.measures import MEASURES

    known = {name: title for name, title in _COLUMNS.items() if name in MEASURES or name in rules.extras}
    columns = [rules.measure(name) for name in known]
    lines = [
        (str(rule) if text else rule.english, [f"{column[r]:.3f}" for column in columns])
        for r, rule in enumerate(rules)
    ]
    titles = list(known.values())
    widths = [max([len(title), *(len(numbers[at]) for _, numbers in lines)]) for at, title in enumerate(titles)]
    if screen.width - sum(width + 2 for width in widths) - len(str(len(lines))) - 2 >= _SENTENCE_WIDTH:
        screen.print(_rule_table(titles, lines))
    else:
        screen.print()
        screen.print(_rule_list(titles, lines))


def _rule_table(titles: Sequence[str], lines: Sequence[tuple[str, Sequence[str]]]) -> Any:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("#", justify="right", style="dim")
    table.add_column("rule", ratio=1, overflow="fold")
    for title in titles:
        table.add_column(title, justify="right", no_wrap=True)
    for number, (words, numbers) in enumerate(lines, start=1):
        table.add_row(str(number), _plain(words), *numbers)
    return table


def _rule_list(titles: Sequence[str], lines: Sequence[tuple[str, Sequence[str]]]) -> Any:
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    table.add_column(justify="right", style="dim")
    table.add_column(overflow="fold")
    for number, (words, numbers) in enumerate(lines, start=1):
        measured = ", ".join(f"{title} {value}" for title, value in zip(titles, numbers, strict=True))
        table.add_row(str(number), _plain(f"{words}\n{measured}"))
    return table


def facts(pairs: Mapping[str, str] | Iterable[tuple[str, str]]) -> Any:
    """Names and values as two columns for the screen; a name may stand more than once in pairs."""
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, value in pairs.items() if isinstance(pairs, Mapping) else pairs:
        table.add_row(name, _plain(value))
    return table


def _plain(text: str) -> Any:
    """Text in which square brackets are just brackets."""
    from rich.text import Text

    return Text(text)
