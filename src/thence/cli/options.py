"""Options that several commands share, how commands get them, and the parsing of ``key=value`` options."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from thence._base.settings.documents import parse_toml
from thence._base.settings.numbers import shown
from thence.errors import ConfigError

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]

RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.", show_default=False)]
Top = Annotated[int, typer.Option("--top", "-n", min=0, help="Number of rules; 0 for all.")]
By = Annotated[str | None, typer.Option(help="Measure to sort by (default: the order of the run).", show_default=False)]
Bounds = Annotated[
    list[str] | None, typer.Option(help="Bound on a measure, such as max_leverage=0.2; may be repeated.")
]
FeatureText = Annotated[str | None, typer.Option(help="Only rules with this text in an item.")]
Statements = Annotated[
    str, typer.Option(help="Kinds of statements: rules, laws, controls, several of them with commas, or all.")
]
Kind = Annotated[str | None, typer.Option(help="Only rules about this kind of sensor or class of node.")]

Reviewed = Annotated[
    Literal["not-rejected", "accepted", "all"],
    typer.Option("--reviewed", help="Which rules to use, given their reviews ('thence review')."),
]

DatasetOptions = Annotated[list[str] | None, typer.Option(help="Option of the data set as key=value; may be repeated.")]


def parameters_of(command: Callable[..., None]) -> list[inspect.Parameter]:
    """Return the parameters of a command, as keywords with their annotations."""
    listed = inspect.signature(command, eval_str=True).parameters.values()
    return [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in listed]


def set_parameters(command: Callable[..., None], parameters: Sequence[inspect.Parameter]) -> None:
    """Give a command other parameters: Typer reads its options from the signature of its function."""
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in parameters}


def parse_assignments(given: Iterable[str] | None, *, flag: str) -> dict[str, Any]:
    """Parse ``key=value`` strings; a value that is not valid TOML is taken as a string.

    Args:
        given: The strings.
        flag: The option they were given for, for messages.

    Examples:
        >>> parse_assignments(["days=3", "leaks=true", "name=a b"], flag="--option")
        {'days': 3, 'leaks': True, 'name': 'a b'}
    """
    out: dict[str, Any] = {}
    for text in given or ():
        key, found, value = text.partition("=")
        if not found or not key.strip():
            raise ConfigError(f"{flag} takes key=value, got '{text}'")
        try:
            out[key.strip()] = parse_toml(f"value = {value}", where=flag, error=ConfigError)["value"]
        except ConfigError:
            out[key.strip()] = value
    return out


def parse_numbers(given: Iterable[str] | None, *, flag: str) -> dict[str, float]:
    """Parse ``key=value`` strings whose values must be numbers.

    >>> parse_numbers(["min_lift=2"], flag="--bound")
    {'min_lift': 2}
    """
    out = parse_assignments(given, flag=flag)
    for name, value in out.items():
        if not isinstance(value, (int, float)) or isinstance(value, bool) or value != value:
            raise ConfigError(f"{flag} {name} takes a number, got {shown(value)}")
    return out
