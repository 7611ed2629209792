"""Output of commands: lines, errors, JSON, tables of facts and of rules. Must not load or compute anything."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from thence.progress import Progress
    from thence.rules.ruleset import RuleSet

__all__ = [
    "console",
    "facts_table",
    "number_notes",
    "print_error",
    "print_json",
    "print_rules",
    "print_warning",
    "progress_bars",
    "say",
]

_PIPE_WIDTH = 200
# Narrower columns make a sentence hard to read.
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


def print_error(text: str) -> None:
    """Print a line on standard error in red."""
    _echo(text, colour="red", err=True)


def print_warning(text: str) -> None:
    """Print a line on standard output in yellow."""
    _echo(text, colour="yellow", err=False)


def _echo(text: str, *, colour: str, err: bool) -> None:
    """Print in colour, unless ``NO_COLOR`` is set (https://no-color.org)."""
    typer.echo(text if os.environ.get("NO_COLOR") else typer.style(text, fg=colour), err=err)


def console() -> Console:
    """Return a console on standard output; lines are long instead of wrapped where that is not a terminal."""
    from rich.console import Console

    class PipeAwareConsole(Console):
        def on_broken_pipe(self) -> None:
            # Rich would exit with an error.
            raise BrokenPipeError

    width = None if sys.stdout.isatty() else _PIPE_WIDTH
    return PipeAwareConsole(highlight=False, width=width)


@contextmanager
def progress_bars(*, quiet: bool) -> Iterator[Progress]:
    """Yield progress bars on the terminal, or a callback that ignores the progress if ``quiet``."""
    from thence.progress import bars

    with bars(enabled=False if quiet else None) as progress:
        yield progress


def say(text: str, *, quiet: bool = False) -> None:
    """Print a line, unless ``quiet``."""
    if not quiet:
        typer.echo(text)


def print_json(data: Any) -> None:
    """Print data as JSON. NaN and infinity become null, other objects strings."""
    typer.echo(json.dumps(_json_ready(data), ensure_ascii=False, indent=2, allow_nan=False))


def _json_ready(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _json_ready(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_json_ready(inner) for inner in value]
    return value if value is None or isinstance(value, (str, int, bool)) else str(value)


def print_rules(screen: Console, rules: RuleSet, *, text: bool = False) -> None:
    """Print rules as a table, or on two lines each where a table would be too narrow.

    Args:
        screen: The console.
        rules: The rules.
        text: Whether to print the exact text of each rule instead of its sentence.
    """
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
        table.add_row(str(number), _without_markup(words), *numbers)
    return table


def _rule_list(titles: Sequence[str], lines: Sequence[tuple[str, Sequence[str]]]) -> Any:
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    table.add_column(justify="right", style="dim")
    table.add_column(overflow="fold")
    for number, (words, numbers) in enumerate(lines, start=1):
        measured = ", ".join(f"{title} {value}" for title, value in zip(titles, numbers, strict=True))
        table.add_row(str(number), _without_markup(f"{words}\n{measured}"))
    return table


def facts_table(pairs: Mapping[str, str] | Iterable[tuple[str, str]]) -> Any:
    """Return names and values as a table of two columns; in pairs a name may occur more than once."""
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, value in pairs.items() if isinstance(pairs, Mapping) else pairs:
        table.add_row(name, _without_markup(value))
    return table


def number_notes(notes: Iterable[str], *, indent: str = "") -> list[tuple[str, str]]:
    """Return notes as facts called ``note``, ``note 2``, ``note 3`` and so on.

    >>> number_notes(["a", "b"])
    [('note', 'a'), ('note 2', 'b')]
    """
    return [
        (f"{indent}note" if number == 1 else f"{indent}note {number}", note)
        for number, note in enumerate(notes, start=1)
    ]


def _without_markup(text: str) -> Any:
    """Text in which rich does not take square brackets for markup."""
    from rich.text import Text

    return Text(text)
