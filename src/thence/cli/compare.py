"""``thence compare``: several miners on the same data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from thence.cli.job import with_table
from thence.cli.options import AsJson, Quiet
from thence.cli.screen import console, print_json, progress_bars, say
from thence.errors import ConfigError, MiningError
from thence.runs.configuration import Config
from thence.runs.options import OTHER_DEFAULTS

_CHART_SUFFIXES = (".svg", ".png", ".html", ".json")


@with_table("windows", "bins", "enrich", like="transactions")
def compare(
    source: Config,
    settings: dict[str, Any],
    method: Annotated[
        list[str] | None, typer.Option(help="A miner or an optimiser of TS-NARM; may be repeated (default: all nine).")
    ] = None,
    evaluations: Annotated[int, typer.Option(help="Fitness evaluations of TS-NARM.")] = 50_000,
    population: Annotated[int, typer.Option(help="Population size of TS-NARM.")] = 200,
    seed: Annotated[int, typer.Option(help="Random seed of every method.", min=0)] = 0,
    csv: Annotated[Path | None, typer.Option(help="Write the table to this CSV file.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw a chart into this file (.svg, .png or .html).")] = None,
    isolate: Annotated[bool, typer.Option("--isolate", help="Run each method in a process of its own.")] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Compare miners on the same data: rules, measures, time, memory and overlap."""
    from thence.lab.evaluate.comparison import METHODS, published_methods
    from thence.lab.evaluate.comparison import compare as compare_methods
    from thence.runs.inputs import load_job

    _require_folder(csv)
    _require_folder(plot, suffixes=_CHART_SUFFIXES)
    with progress_bars(quiet=quiet or as_json) as progress:
        enrich = replace(source.enrich, mode=settings.get("enrich", OTHER_DEFAULTS["transactions"]["enrich"]))
        system = load_job(replace(source, enrich=enrich), progress=progress)
    system.require_one_site("methods are compared on one system, but several are given", hint="name one system")
    chosen = published_methods(method or METHODS, evaluations=evaluations, population=population, seed=seed)
    with progress_bars(quiet=quiet or as_json) as progress:
        result = compare_methods(system, chosen, isolate=isolate, progress=progress, **settings)
    if all(row["rules"] is None for row in result.rows):
        raise MiningError("; ".join(f"{row['method']}: {row['note']}" for row in result.rows))
    if csv is not None:
        result.to_csv(csv)
    if plot is not None:
        result.plot(plot)
    if as_json:
        print_json({"dataset": source.input.dataset, "methods": result.to_polars().to_dicts()})
    elif not quiet:
        console().print(result.table())
        for row in result.rows:
            if row["note"]:
                say(f"{row['method']}: {row['note']}")
        console().print(result.overlap_table())


def _require_folder(target: Path | None, *, suffixes: Sequence[str] = ()) -> None:
    """Raise before mining if a file cannot be written there, or not in its format."""
    if target is None:
        return
    if suffixes and target.suffix.lower() not in suffixes:
        raise ConfigError(f"a chart cannot be written as '{target.suffix}'", hint="use " + ", ".join(suffixes))
    if not target.absolute().parent.is_dir():
        raise ConfigError("no such folder", where=str(target.parent), hint="create it first")
