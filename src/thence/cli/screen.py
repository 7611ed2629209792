"""Output of commands: lines, errors, JSON, tables of facts and of rules, pages on a desktop. It computes nothing."""

from __future__ import annotations

import json
import math
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from thence.errors import UNSAFE, printable

if TYPE_CHECKING:
    from rich.console import Console

    from thence._base.progress import Progress
    from thence.runs.run import Run
    from thence.statements.rules.ruleset import RuleSet

_PIPE_WIDTH = 200
_DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY")
_FURTHER = {"assured_confidence": "assured", "p_adjusted": "adjusted p"}
"""Extra columns that are printed after the measures, if rules have them."""
_ALSO = 2
"""How many further sentences of the same fact are printed."""


def print_error(text: str) -> None:
    """Print a line on standard error in red."""
    _echo(text, colour="red", err=True)


def print_warning(text: str) -> None:
    """Print a line on standard output in yellow."""
    _echo(text, colour="yellow", err=False)


def _echo(text: str, *, colour: str, err: bool) -> None:
    """Print in colour, unless ``NO_COLOR`` is set (https://no-color.org)."""
    text = printable(text)
    typer.echo(text if os.environ.get("NO_COLOR") else typer.style(text, fg=colour), err=err)


def console() -> Console:
    """Return a console on standard output.

    Where that is not a terminal, lines are as long as ``COLUMNS`` says, and long without it.
    """
    from rich.console import Console

    class PipeAwareConsole(Console):
        def on_broken_pipe(self) -> None:
            # Rich would exit with an error.
            raise BrokenPipeError

    columns = os.environ.get("COLUMNS", "")
    width = None if sys.stdout.isatty() else int(columns) if columns.isdigit() and int(columns) else _PIPE_WIDTH
    return PipeAwareConsole(highlight=False, width=width)


@contextmanager
def progress_bars(*, quiet: bool) -> Iterator[Progress]:
    """Yield progress bars on the terminal, or a callback that ignores the progress if ``quiet``."""
    from thence._base.progress import bars

    with bars(enabled=False if quiet else None) as progress:
        yield progress


def say(text: str, *, quiet: bool = False) -> None:
    """Print a line, unless ``quiet``."""
    if not quiet:
        typer.echo(printable(text))


def print_json(data: Any) -> None:
    """Print data as JSON. NaN and infinity become null, other objects strings; terminal escapes are written as such."""
    text = json.dumps(_json_ready(data), ensure_ascii=False, indent=2, allow_nan=False)
    typer.echo(re.sub(f"[{UNSAFE}]", lambda found: f"\\u{ord(found[0]):04x}", text))


def _json_ready(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _json_ready(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_json_ready(inner) for inner in value]
    return value if value is None or isinstance(value, (str, int, bool)) else str(value)


def print_rules(
    screen: Console,
    rules: RuleSet,
    *,
    text: bool = False,
    most: int | None = None,
    numbers: Sequence[int] | None = None,
) -> int:
    """Print rules: each as a sentence, with its measures on the next line; those of one family as one entry.

    Args:
        screen: The console.
        rules: The rules.
        text: Whether to print the exact text of each rule instead of its sentence.
        most: Maximum number of entries.
        numbers: The number to print for each rule; by default they are counted from 1.

    Returns:
        How many rules were printed.
    """
    from thence._base.display.rules import format_measure

    known = {name: title for name, title in _FURTHER.items() if name in rules.extras}
    columns = {title: rules.measure(name) for name, title in known.items()}
    texts: dict[int, str] = {}
    reviews = _review_texts(rules)
    # A rule with a review is printed on its own, so that the review is nobody else's.
    entries = [part for entry in rules.entries for part in _apart(entry, reviews)][:most]
    for entry in entries:
        number = entry[0]
        rule = rules.rule(number)
        lines = [str(rule) if text else rule.english, *reviews.get(number, ())]
        further = [f"{title} {format_measure(column[number])}" for title, column in columns.items()]
        lines.append(", ".join([rules.measures_text(number), *further]))
        lines += [confirmed] if (confirmed := rule.counts.confirmation()) else []
        others = rules.also_known_as(number)
        lines += [f"also: {other}" for other in others[:_ALSO]]
        lines += [f"likewise: {other}" for other in (map(rules.rule, entry[1:]) if text else rules.likewise(entry))]
        texts[number + 1 if numbers is None else numbers[number]] = "\n".join(lines)
    screen.print()
    screen.print(_numbered(texts))
    return sum(map(len, entries))


def review_text(verdict: str, note: str) -> str:
    """Return a review in words, with a mark.

    >>> review_text("rejected", "a coincidence")
    '✗ rejected: a coincidence'
    """
    text = {"accepted": "✓ accepted", "rejected": "✗ rejected"}.get(verdict, "note")
    return f"{text}: {' '.join(note.split())}" if note else text


def _review_texts(rules: RuleSet) -> dict[int, list[str]]:
    """The reviews of rules by position, of those that have one."""
    if "review" not in rules.extras:
        return {}
    pairs = zip(rules.extras["review"].tolist(), rules.extras["review_note"].tolist(), strict=True)
    return {at: [review_text(verdict, note)] for at, (verdict, note) in enumerate(pairs) if verdict or note}


def _apart(entry: Sequence[int], alone: Mapping[int, Any]) -> list[list[int]]:
    """An entry in parts, by their first rules: those of one family, and each that stands alone."""
    together = [number for number in entry if number not in alone]
    return sorted([*([number] for number in entry if number in alone), *([together] if together else [])])


def print_logic(screen: Console, run: Run, *, remarks: Mapping[str, Mapping[int, str]] | None = None) -> None:
    """Print the laws and the controls of a run, if there are any, each as a sentence, those of controls with details.

    Args:
        screen: The console.
        run: The run.
        remarks: What to print below a sentence, by title and by the number of the sentence from 1.
    """
    details = {"controls": dict(enumerate(() if run.controls is None else run.controls.details, 1))}
    for title, sentences in run.logic.items():
        below = [details.get(title, {}), (remarks or {}).get(title, {})]
        lines = {
            at: "\n".join([text, *(one[at] for one in below if one.get(at))]) for at, text in enumerate(sentences, 1)
        }
        screen.print(f"\n{title.capitalize()}")
        screen.print(_numbered(lines))
    if run.logic and len(run.rules):
        screen.print("\nRules", end="")


def _numbered(texts: Mapping[int, str]) -> Any:
    """Return numbered texts as a table of two columns."""
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    table.add_column(justify="right", style="dim")
    table.add_column(overflow="fold")
    for number, text in texts.items():
        table.add_row(str(number), _without_markup(text))
    return table


def facts_table(pairs: Mapping[str, str] | Iterable[tuple[str, str]]) -> Any:
    """Return names and values as a table of two columns; in pairs a name may occur more than once."""
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, value in pairs.items() if isinstance(pairs, Mapping) else pairs:
        table.add_row(_without_markup(name), _without_markup(value))
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
    """Text in which rich does not take square brackets for markup, and a terminal no character for a command."""
    from rich.text import Text

    return Text(printable(text))


def page_address(page: Path) -> str:
    """Return the address of a file, to be printed and opened.

    Args:
        page: The file.

    Examples:
        >>> page_address(Path("/tmp/a b/report.html"))
        'file:///tmp/a%20b/report.html'
    """
    return page.absolute().as_uri()


def has_desktop() -> bool:
    """Return whether a person sits at a desktop: standard output is a terminal, and there is a display, and no CI."""
    if os.environ.get("CI") or not sys.stdout.isatty():
        return False
    return sys.platform in ("darwin", "win32") or any(os.environ.get(name) for name in _DISPLAYS)


def open_on_desktop(page: Path) -> bool:
    """Open a file in the browser, if there is a desktop, and return whether that was tried.

    Args:
        page: The file.
    """
    if not has_desktop():
        return False
    import webbrowser

    return webbrowser.open(page_address(page))
