"""The commands and their options; what they do is in the modules beside this one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import job
from .screen import Guarded, assignments, print_json, say

__all__ = ["app"]

app = typer.Typer(
    cls=Guarded,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Semantic association rules from sensor data and the knowledge graph around the sensors.",
)
datasets_app = typer.Typer(
    no_args_is_help=True, help="Built-in data sets: list them, describe one, or write one as files."
)
app.add_typer(datasets_app, name="datasets")

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
Options = Annotated[list[str] | None, typer.Option(help="key=value, may be repeated.")]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.", show_default=False)]


def _version(wanted: bool) -> None:
    if wanted:
        from .. import __version__

        typer.echo(f"thence {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Semantic association rules from sensor data and the knowledge graph around the sensors."""


@app.command()
def demo(
    out: Annotated[Path | None, typer.Option(help="The run folder to write [default: runs/demo].")] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Mine a simulated water network and print the ten best rules in plain English."""
    from .demo import demo as show_demo

    show_demo(out, as_json=as_json, quiet=quiet)


def _mine(config: object, as_json: bool, quiet: bool, strict: bool) -> None:
    from .mine import mine

    mine(config, as_json=as_json, quiet=quiet, strict=strict)  # type: ignore[arg-type]


def _check(config: object, as_json: bool, quiet: bool, strict: bool) -> None:
    from .check import check

    check(config, as_json=as_json, quiet=quiet, strict=strict)  # type: ignore[arg-type]


app.command("mine", help="Mine rules and write a run: from a CONFIG.toml, from files, or from a data set by name.")(
    job.command(_mine)
)
app.command("check", help="Read and check all inputs and say what 'mine' would do, without mining.")(
    job.command(_check)
)


@app.command()
def show(
    run: RunFolder,
    top: Annotated[int, typer.Option("--top", "-n", help="How many rules; 0 for all.")] = 20,
    by: Annotated[str, typer.Option(help="The measure to order by.")] = "zhang",
    min_support: Annotated[float | None, typer.Option(show_default=False)] = None,
    min_confidence: Annotated[float | None, typer.Option(show_default=False)] = None,
    min_zhang: Annotated[float | None, typer.Option(show_default=False)] = None,
    min_lift: Annotated[float | None, typer.Option(show_default=False)] = None,
    bound: Annotated[list[str] | None, typer.Option(help="Any bound, e.g. max_leverage=0.2.")] = None,
    feature: Annotated[str | None, typer.Option(help="A part of the text of some item.")] = None,
    antecedent: Annotated[str | None, typer.Option(help="The same, in the antecedent.")] = None,
    consequent: Annotated[str | None, typer.Option(help="The same, in the consequent.")] = None,
    kind: Annotated[str | None, typer.Option(help="A kind of sensor or a class of node.")] = None,
    text: Annotated[bool, typer.Option("--text/--english", help="Exact text instead of plain English.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show the rules of a run, filtered and ordered."""
    from .show import Selection
    from .show import show as show_run

    named = {"min_support": min_support, "min_confidence": min_confidence, "min_zhang": min_zhang, "min_lift": min_lift}
    bounds = {**{k: v for k, v in named.items() if v is not None}, **assignments(bound or (), flag="--bound")}
    show_run(run, Selection(top, by, bounds, feature, antecedent, consequent, kind), text=text, as_json=as_json)


@app.command()
def export(
    run: RunFolder,
    to: Annotated[
        Path, typer.Option("--to", help="The file to write; its suffix says the format.", show_default=False)
    ],
    format: Annotated[
        str | None, typer.Option(help="json, parquet, csv, markdown, pmml, sparql or shacl.", show_default=False)
    ] = None,
    top: Annotated[int, typer.Option("--top", "-n", help="How many rules; 0 for all.")] = 0,
    by: Annotated[str, typer.Option(help="The measure to order by.")] = "zhang",
    bound: Annotated[list[str] | None, typer.Option(help="Any bound, e.g. min_confidence=0.95.")] = None,
    feature: Annotated[str | None, typer.Option(help="A part of the text of some item.")] = None,
    kind: Annotated[str | None, typer.Option(help="A kind of sensor or a class of node.")] = None,
    option: Annotated[list[str] | None, typer.Option(help="key=value, an option of the format.")] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Write the rules of a run in another format."""
    from .show import Selection
    from .show import export as export_run

    chosen = Selection(top, by, assignments(bound or (), flag="--bound"), feature, None, None, kind)
    written = export_run(run, to, chosen, format=format, options=assignments(option or (), flag="--option"))
    if as_json:
        print_json(written)
    else:
        say(f"{written['rules']:,} rules as {written['format']} in {written['path']}", quiet=quiet)


@datasets_app.command("list")
def datasets_list(as_json: AsJson = False) -> None:
    """List the data sets."""
    from .datasets import show_all

    show_all(as_json=as_json)


@datasets_app.command("info")
def datasets_info(name: Annotated[str, typer.Argument(show_default=False)], as_json: AsJson = False) -> None:
    """Say what a data set is, what it needs and which options it takes."""
    from .datasets import show_one

    show_one(name, as_json=as_json)


@datasets_app.command("make")
def datasets_make(
    name: Annotated[str, typer.Argument(show_default=False)],
    out: Annotated[Path | None, typer.Option(help="Write it as files into this folder.")] = None,
    option: Options = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a folder written before.")] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Make or read a data set and describe it; with --out, write it as files that 'thence mine' takes."""
    from .datasets import make

    chosen = assignments(option or (), flag="--option")
    make(name, chosen, out, force=force, as_json=as_json, quiet=quiet)
