"""``thence datasets``: list, describe and download named data sets, and write one as files for ``thence mine``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thence.cli.options import AsJson, DatasetOptions, Quiet, parse_assignments
from thence.cli.screen import console, facts_table, print_error, print_json, progress_bars, say
from thence.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from thence.data.datasets.published import Published
    from thence.data.graph.system import System

app = typer.Typer(no_args_is_help=True, help="List, describe and download named data sets, or write one as files.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of a data set.", show_default=False)]


@app.command("list")
def list_datasets(as_json: AsJson = False) -> None:
    """List the data sets."""
    from thence.data import datasets

    known = [datasets.info(name) for name in datasets.names()]
    if as_json:
        print_json([{"name": one.name, "summary": one.summary, "needs": one.needs} for one in known])
    else:
        console().print(facts_table({one.name: f"{one.summary} (needs {one.needs})" for one in known}))


@app.command("show")
def describe_dataset(name: Name, as_json: AsJson = False) -> None:
    """Describe a data set: what it is, what it needs, its options, and its files with licence and citation."""
    from thence.data import datasets
    from thence.lab.datasets.folders import search_folder

    found = datasets.info(name)
    folders = [
        {file.name: search_folder(publication, [file.name]) for file in publication.files}
        for publication in found.published
    ]
    if as_json:
        about = found.describe()
        for publication, places in zip(about["published"], folders, strict=True):
            for file in publication["files"]:
                file["folder"] = places[file["name"]]
        print_json(about)
        return
    say(str(found))
    for publication, places in zip(found.published, folders, strict=True):
        say("")
        console().print(facts_table(_describe_files(publication, places)))


@app.command("get")
def get_datasets(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Names of data sets, or 'all'.")],
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Download the files of data sets to the cache and check those that are there, so that they can be used offline."""
    from thence.data import datasets
    from thence.data.datasets.published import show_size
    from thence.lab.datasets.folders import get_files

    chosen = datasets.names() if "all" in names else tuple(dict.fromkeys(names))
    pairs = [(one.name, part) for one in map(datasets.info, chosen) for part in one.published]
    if not pairs:
        say(f"{', '.join(chosen)}: no files needed", quiet=quiet or as_json)
    got: list[dict[str, Any]] = []
    failed = False
    for name, part in pairs:
        try:
            with progress_bars(quiet=quiet or as_json) as progress:
                folder, downloaded = get_files(name, part, progress=progress)
        except InputError as error:
            print_error(f"thence: {error}")
            failed = True
            continue
        size = sum((folder / file.name).stat().st_size for file in part.files)
        got.append({"dataset": name, "folder": folder, "size": size, "downloaded": downloaded})
        new = f"{len(downloaded)} downloaded" if downloaded else "all were there"
        files = f"{len(part.files)} file{'s' * (len(part.files) > 1)}"
        say(f"{name}: {files}, {show_size(size)}, {new}: {folder}", quiet=quiet or as_json)
    if as_json:
        print_json(got)
    if failed:
        raise typer.Exit(1)


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
    from thence.data import datasets

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


def _describe_files(publication: Published, places: Mapping[str, Path | None]) -> Iterator[tuple[str, str]]:
    """Facts about files of a publisher, and where they are."""
    from thence.data.datasets.published import show_size

    for number, file in enumerate(publication.files):
        place = places[file.name]
        size = "made from the archive" if file.make else show_size(file.size)
        yield "" if number else "files", f"{file.name}, {size}, {'not here' if place is None else f'in {place}'}"
    yield "publisher", f"{publication.publisher}, {publication.page}"
    yield "licence", publication.licence
    yield "citation", publication.citation


def _write(system: System, out: Path, *, force: bool) -> dict[str, str]:
    """Write readings, kinds, graph, ontology, binding and labels, and a configuration that names them."""
    from thence._base.atomic import new_folder
    from thence._base.settings.documents import toml_text
    from thence.data.stores.local_copy import write_copy
    from thence.runs.run import refuse_foreign

    target = out.absolute()
    refuse_foreign(target, force=force, mark="dataset.json")
    with new_folder(target, force=force) as folder:
        (folder / "config.toml").write_text(toml_text({"input": write_copy(system, folder)}), encoding="utf-8")
        about = {"name": system.name, "source": system.source, "description": system.description}
        (folder / "dataset.json").write_text(json.dumps(about, ensure_ascii=False, indent=2), encoding="utf-8")
    return {path.stem: str(path) for path in sorted(target.iterdir())}
