"""``thence generalise|compare|reproduce``: questions that are asked of the whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from thence.cli.screen import console, print_json, say
from thence.errors import ConfigError, MiningError

__all__ = ["compare", "generalise", "reproduce"]

_CHARTS = (".svg", ".png", ".html", ".json")


def _loaded(name: str, options: Mapping[str, Any], *, quiet: bool) -> Any:
    from thence import datasets
    from thence.progress import bars

    with bars(enabled=False if quiet else None) as progress:
        return datasets.load(name, progress=progress, **options)


def generalise(
    name: str,
    options: Mapping[str, Any],
    *,
    other: str | None,
    other_options: Mapping[str, Any],
    settings: Mapping[str, Any],
    as_json: bool,
    quiet: bool,
) -> None:
    """Print how the rules of a data set do on places and times that they were not mined on."""
    from thence.evaluate.generalisation import generalisation
    from thence.progress import bars

    if other is None and other_options:
        raise ConfigError("--other-option is for another data set, and none is named", hint="give --other NAME")
    system = _loaded(name, options, quiet=quiet or as_json)
    far = None if other is None else _loaded(other, other_options, quiet=quiet or as_json)
    with bars(enabled=False if quiet or as_json else None) as progress:
        result = generalisation(system, other=far, progress=progress, **settings)
    if as_json:
        print_json({"dataset": name, "other": other, **result.to_dict()})
        return
    say(str(result), quiet=quiet)
    for mode, found in result.modes.items():
        if found.rules:
            say(f"\n{mode}, the first rules:", quiet=quiet)
            say("\n".join(found.kept.lines(5)), quiet=quiet)


def compare(
    name: str,
    options: Mapping[str, Any],
    methods: Sequence[str],
    *,
    evaluations: int,
    population: int,
    seed: int,
    settings: Mapping[str, Any],
    csv: Path | None,
    plot: Path | None,
    isolate: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Print the table of rule qualities of several miners on the same data."""
    from thence.evaluate.comparison import METHODS, published_methods
    from thence.evaluate.comparison import compare as run
    from thence.progress import bars

    for target, suffixes in ((csv, ()), (plot, _CHARTS)):
        _require_place(target, suffixes)
    system = _loaded(name, options, quiet=quiet or as_json)
    chosen = published_methods(methods or METHODS, evaluations=evaluations, population=population, seed=seed)
    with bars(enabled=False if quiet or as_json else None) as progress:
        result = run(system, chosen, isolate=isolate, progress=progress, **settings)
    if all(row["rules"] is None for row in result.rows):
        raise MiningError("; ".join(f"{row['method']}: {row['note']}" for row in result.rows))
    if csv is not None:
        result.to_csv(csv)
    if plot is not None:
        result.plot(plot)
    if as_json:
        print_json({"dataset": name, "methods": result.to_polars().to_dicts()})
    elif not quiet:
        console().print(result.table())
        for row in result.rows:
            if row["note"]:
                say(f"{row['method']}: {row['note']}")
        console().print(result.overlap_table())


def _require_place(target: Path | None, suffixes: Sequence[str]) -> None:
    """Raise where a file cannot be written, or not in its format: better before mining than after it."""
    if target is None:
        return
    if suffixes and target.suffix.lower() not in suffixes:
        raise ConfigError(f"a chart cannot be written as '{target.suffix}'", hint="use " + ", ".join(suffixes))
    if not target.absolute().parent.is_dir():
        raise ConfigError("there is no such folder", where=str(target.parent), hint="make it first")


def reproduce(
    experiment: str,
    *,
    dataset: str,
    repeats: int,
    quick: bool,
    out: Path,
    jobs: int,
    seed: int,
    parameters: Mapping[str, Any],
    as_json: bool,
    quiet: bool,
) -> None:
    """Run the paper's experiments again and print its numbers beside ours."""
    from thence.experiments import reproduce as run

    result = run(
        experiment,
        dataset=dataset,
        repeats=repeats,
        quick=quick,
        out=out,
        jobs=jobs,
        seed=seed,
        parameters=parameters,
        progress=False if quiet or as_json else "auto",
    )
    if as_json:
        verdicts = {name: [asdict(verdict) for verdict in found] for name, found in result.verdicts.items()}
        print_json({"folder": str(result.folder), "page": str(result.page), "verdicts": verdicts})
    else:
        say(str(result), quiet=quiet)
