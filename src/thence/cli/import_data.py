"""``thence import``: a local copy of readings, graph, binding and ontology, with hashes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from thence.cli.job import with_table
from thence.cli.options import AsJson, Quiet
from thence.cli.screen import print_json, progress_bars, say
from thence.runs.configuration import Config


@with_table()
def import_data(
    source: Config,
    out: Annotated[Path, typer.Option(help="Folder to write the copy to.", show_default=False)],
    force: Annotated[bool, typer.Option("--force", help="Replace the files of an earlier copy.")] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Copy what 'thence mine' would read into files with hashes, so that runs need no server."""
    from thence._base.atomic import new_folder
    from thence._base.integrity.manifest import MANIFEST
    from thence._base.settings.documents import toml_text
    from thence.data.stores.local_copy import finish_copy, write_copy
    from thence.runs.inputs import load_job
    from thence.runs.run import refuse_foreign

    target = out.absolute()
    refuse_foreign(target, force=force, mark=MANIFEST)
    with progress_bars(quiet=quiet or as_json) as progress:
        system = load_job(source, progress=progress)
    system.require_one_site("one system is copied at a time", hint="import each [[system]] into a folder of its own")
    with new_folder(target, force=force) as folder:
        given = write_copy(system, folder, options=source.input.read_sensors)
        others = replace(source, input=type(source.input)(), system=()).without_credentials().to_mapping()
        others.pop("output", None)
        (folder / "config.toml").write_text(toml_text({**others, "input": given}), encoding="utf-8")
        written = finish_copy(folder, sources=system.sensors.report.sources)
    if as_json:
        print_json({"folder": str(target), **written})
        return
    say(repr(system), quiet=quiet)
    for one in written["sources"]:
        say(f"{one['rows']:,} rows from {one['store']} ({one['server']}), hash {one['content_hash']}", quiet=quiet)
    say(f"written to {out}; to mine it, run: thence mine {out / 'config.toml'}", quiet=quiet)
