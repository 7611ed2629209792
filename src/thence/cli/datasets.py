"""``thence datasets``: list and describe named data sets, and write one as files that ``thence mine`` reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thence.cli.options import AsJson, DatasetOptions, Quiet, parse_assignments
from thence.cli.screen import console, facts_table, print_json, progress_bars, say

if TYPE_CHECKING:
    from thence.graph.system import System

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, help="List and describe named data sets, or write one as files.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of a data set.", show_default=False)]


@app.command("list")
def list_datasets(as_json: AsJson = False) -> None:
    """List the data sets."""
    from thence import datasets

    known = [datasets.info(name) for name in datasets.names()]
    if as_json:
        print_json([{"name": one.name, "summary": one.summary, "needs": one.needs} for one in known])
    else:
        console().print(facts_table({one.name: f"{one.summary} (needs {one.needs})" for one in known}))


@app.command("info")
def describe_dataset(name: Name, as_json: AsJson = False) -> None:
    """Describe a data set: what it is, what it needs and which options it takes."""
    from thence import datasets

    found = datasets.info(name)
    if as_json:
        print_json(found.describe())
    else:
        say(str(found))


@app.command("make")
def make_dataset(
    name: Name,
    out: Annotated[Path | None, typer.Option(help="Folder to write the data set to.")] = None,
    option: DatasetOptions = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the files of a data set.")] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Simulate or read a data set and describe it; with --out, write it as files that 'thence mine' reads."""
    from thence import datasets

    with progress_bars(quiet=quiet or as_json) as progress:
        system = datasets.load(name, progress=progress, **parse_assignments(option, flag="--option"))
    files = {} if out is None else _write(system, out, force=force)
    if as_json:
        print_json({**system.describe(), **system.sensors.describe(), "files": files})
        return
    say(repr(system), quiet=quiet)
    say(system.sensors.summary(), quiet=quiet)
    if out is not None:
        say(f"written to {out}; to mine it, run: thence mine {out / 'config.toml'}", quiet=quiet)


def _write(system: System, out: Path, *, force: bool) -> dict[str, str]:
    """Write readings, kinds, graph, ontology, binding and labels, and a configuration that names them."""
    import polars as pl

    from thence.atomic import new_folder
    from thence.runs.run import refuse_foreign
    from thence.settings.toml import toml_text

    target = out.absolute()
    refuse_foreign(target, force=force, mark="dataset.json")
    with new_folder(target, force=force) as folder:
        given: dict[str, Any] = {"sensors": "sensors.parquet"}
        system.sensors.to_polars().write_parquet(folder / "sensors.parquet")
        for name, part in (("graph", system.graph), ("ontology", system.ontology)):
            if part is not None:
                given[name] = f"{name}.json"
                _write_json(folder / f"{name}.json", part.to_dict(), indent=1)
        if system.binding is not None:
            given["binding"] = "binding.csv"
            pairs = list(system.binding.items())
            pl.DataFrame(pairs, schema=["sensor", "node"], orient="row").write_csv(folder / "binding.csv")
        if system.labels is not None:
            system.labels.write_csv(folder / "labels.csv")
        given["read_sensors"] = {"kinds": "kinds.csv"}
        kinds = [(sensor.id, sensor.kind, sensor.unit) for sensor in system.sensors.sensors]
        pl.DataFrame(kinds, schema=["sensor", "kind", "unit"], orient="row").write_csv(folder / "kinds.csv")
        (folder / "config.toml").write_text(toml_text({"input": given}), encoding="utf-8")
        about = {"name": system.name, "source": system.source, "description": system.description}
        _write_json(folder / "dataset.json", about, indent=2)
    return {path.stem: str(path) for path in sorted(target.iterdir())}


def _write_json(path: Path, content: Any, *, indent: int) -> None:
    path.write_text(json.dumps(content, ensure_ascii=False, indent=indent), encoding="utf-8")
