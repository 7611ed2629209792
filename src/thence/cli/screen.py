"""What all commands share on the screen: consoles, errors, JSON, and values given as text."""

from __future__ import annotations

import json
import math
import os
import sys
import tomllib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperGroup

from ..errors import ConfigError, ThenceError

if TYPE_CHECKING:
    from rich.console import Console

    from ..rules import RuleSet

__all__ = ["Guarded", "assignments", "console", "facts", "print_json", "rule_table", "say"]

_PIPE_WIDTH = 200
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
        try:
            return super().invoke(ctx)
        except ThenceError as error:
            if ctx.params.get("debug"):
                raise
            typer.secho(f"thence: {error}", fg="red", err=True)
            raise typer.Exit(1) from error
        except KeyboardInterrupt:
            if ctx.params.get("debug"):
                raise
            typer.secho("thence: interrupted", fg="red", err=True)
            raise typer.Exit(130) from None
        except BrokenPipeError:
            # Somebody read enough (`thence show … | head`); Python must not try to flush into the pipe at its end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None


def console() -> Console:
    """A console on standard output; where nobody looks, lines are long instead of wrapped."""
    from rich.console import Console

    return Console(highlight=False) if sys.stdout.isatty() else Console(highlight=False, width=_PIPE_WIDTH)


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


def rule_table(rules: RuleSet, *, text: bool = False) -> Any:
    """Rules as a table for the screen, in plain English or in their exact text."""
    from rich import box
    from rich.table import Table

    from ..measures import MEASURES

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("#", justify="right", style="dim")
    table.add_column("rule", ratio=1, overflow="fold")
    known = [name for name in _COLUMNS if name in MEASURES or name in rules.extras]
    for name in known:
        table.add_column(_COLUMNS[name], justify="right")
    columns = [rules.measure(name) for name in known]
    for r, rule in enumerate(rules):
        words = str(rule) if text else rule.english
        table.add_row(str(r + 1), _plain(words), *(f"{column[r]:.3f}" for column in columns))
    return table


def facts(pairs: Mapping[str, str]) -> Any:
    """Names and values as two columns for the screen."""
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, value in pairs.items():
        table.add_row(name, _plain(value))
    return table


def _plain(text: str) -> Any:
    """Text in which square brackets are just brackets."""
    from rich.text import Text

    return Text(text)
