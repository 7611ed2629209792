"""``thence export``: write the rules of a run in another format."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thence.cli.options import AsJson, Quiet, RunFolder, parse_assignments
from thence.cli.screen import print_json, say
from thence.cli.selection import Selection, with_selection
from thence.data.stores.urls import is_url, without_credentials
from thence.errors import ConfigError

if TYPE_CHECKING:
    from thence.show.export.bolt_rules import StoredRules
    from thence.statements.rules.ruleset import RuleSet

__all__ = ["export"]


@with_selection(top=0, reviewed="not-rejected")
def export(
    run: RunFolder,
    to: Annotated[
        str,
        typer.Option(
            "--to",
            help="File to write; its suffix selects the format. Or the URL of a Bolt server (bolt://host:7687), to "
            "write rules beside the graph.",
            show_default=False,
        ),
    ],
    selection: Selection,
    format: Annotated[
        str | None,
        typer.Option(help="json, parquet, csv, markdown, sparql, shacl, or a format of another package."),
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option(help="Option of the format as key=value; may be repeated.")
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Write the rules of a run in another format."""
    from thence.runs.reviews import describe_left_out
    from thence.runs.run import load_run
    from thence.statements.files import find_format, write_rules

    chosen = None if is_url(to) else find_format(to, format)
    if chosen is None and format is not None:
        raise ConfigError("a server has no format", hint="leave out --format, or pass a file to --to")
    options = parse_assignments(option, flag="--option")
    selected = selection.apply(load_run(run))
    notes = [describe_left_out(selected.left_out, "rule", selection.reviewed)] if selected.left_out else []
    rules = replace(selected.rules, notes=(*selected.rules.notes, *notes))
    if chosen is None:
        stored = _store(rules, to, {"name": run.absolute().name, **options})
        if as_json:
            print_json({"url": without_credentials(to), **stored.describe(), "left_out": selected.left_out})
            return
        say(f"{stored.rules:,} rules with {stored.links:,} links as '{stored.run}' in {stored.place}", quiet=quiet)
        if stored.missing:
            shown = ", ".join(stored.missing[:5]) + (", …" if len(stored.missing) > 5 else "")
            say(f"not linked, since the server has no such node: {len(stored.missing):,} ({shown})", quiet=quiet)
        for note in notes:
            say(note, quiet=quiet)
        return
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
        for note in notes:
            say(note, quiet=quiet)


def _store(rules: RuleSet, url: str, options: dict[str, Any]) -> StoredRules:
    """Write rules to a server, with options that are checked."""
    from thence._base.settings.typed import Location, check_keywords
    from thence.show.export.stores import store_rules

    check_keywords(store_rules, options, Location(), without=["rules", "url"])
    return store_rules(rules, url, **options)
