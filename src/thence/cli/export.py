"""``thence export``: write the rules of a run in another format."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from thence.cli.options import AsJson, Quiet, RunFolder, parse_assignments
from thence.cli.screen import print_json, say
from thence.cli.selection import Selection, with_selection
from thence.errors import ConfigError

__all__ = ["export"]


@with_selection(top=0, reviewed="not-rejected")
def export(
    run: RunFolder,
    to: Annotated[Path, typer.Option("--to", help="File to write; its suffix selects the format.", show_default=False)],
    selection: Selection,
    format: Annotated[
        str | None,
        typer.Option(help="json, parquet, csv, markdown, pmml, sparql, shacl, or a format of another package."),
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option(help="Option of the format as key=value; may be repeated.")
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Write the rules of a run in another format."""
    from thence.export import find_format, write_rules
    from thence.runs.reviews import tell_left_out
    from thence.runs.run import load_run

    chosen = find_format(to, format)
    options = parse_assignments(option, flag="--option")
    selected = selection.apply(load_run(run))
    told = [tell_left_out(selected.left_out, "rule", selection.reviewed)] if selected.left_out else []
    rules = replace(selected.rules, notes=(*selected.rules.notes, *told))
    try:
        write_rules(rules, to, format=chosen.name, **options)
    except TypeError as error:
        if not options:
            raise
        raise ConfigError(f"the format '{chosen.name}' does not take these options ({error})") from error
    if as_json:
        counted = {"rules": len(rules), "left_out": selected.left_out}
        print_json({"path": str(to), "format": chosen.name, **counted})
    else:
        say(f"{len(rules):,} rules as {chosen.name} in {to}", quiet=quiet)
        for note in told:
            say(note, quiet=quiet)
