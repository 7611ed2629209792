"""``thence export``: write the rules, laws and controls of a run in another format."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thence.cli.options import AsJson, Quiet, RunFolder, Statements, parse_assignments
from thence.cli.screen import print_json, say
from thence.cli.selection import Selection, with_selection
from thence.data.stores.urls import is_url, without_credentials
from thence.errors import ConfigError

if TYPE_CHECKING:
    from thence.show.export.bolt_rules import StoredRules
    from thence.statements.findings import Findings
    from thence.statements.rules.ruleset import RuleSet


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
    statements: Statements = "rules",
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Write the rules of a run in another format, and with --statements its laws and controls."""
    from thence.runs.reviews import describe_left_out
    from thence.runs.run import load_run
    from thence.statements.files import find_format, write_rules
    from thence.statements.statement import parse_kinds

    chosen = None if is_url(to) else find_format(to, format)
    if chosen is None and format is not None:
        raise ConfigError("a server has no format", hint="leave out --format, or pass a file to --to")
    options = parse_assignments(option, flag="--option")
    kinds = parse_kinds(statements)
    found, lost = selection.select_statements(load_run(run), kinds)
    notes = [describe_left_out(number, kind, selection.reviewed) for kind, number in lost.items() if number]
    left_out, rules = sum(lost.values()), found.rules
    found = replace(found, rules=replace(rules, notes=(*rules.notes, *notes)))
    counted = {name: len(part) for name, part in found.by_kind.items() if name.removesuffix("s") in kinds}
    told = ", ".join(f"{number:,} {name}" for name, number in counted.items())
    if chosen is None:
        stored = _store(found.rules if kinds == ("rule",) else found, to, {"name": run.absolute().name, **options})
        if as_json:
            print_json({"url": without_credentials(to), **stored.describe(), **counted, "left_out": left_out})
            return
        say(f"{told} with {stored.links:,} links as '{stored.run}' in {stored.place}", quiet=quiet)
        if stored.missing:
            shown = ", ".join(stored.missing[:5]) + (", …" if len(stored.missing) > 5 else "")
            say(f"not linked, since the server has no such node: {len(stored.missing):,} ({shown})", quiet=quiet)
    else:
        unsaid = [] if kinds == ("rule",) else found.unsaid(chosen)
        try:
            if kinds == ("rule",):
                write_rules(found.rules, to, format=chosen.name, **options)
            else:
                found.export(to, chosen.name, **options)
        except TypeError as error:
            if not options:
                raise
            raise ConfigError(f"the format '{chosen.name}' does not take these options ({error})") from error
        if as_json:
            more = {"not_written": unsaid} if unsaid else {}
            print_json({"path": str(to), "format": chosen.name, **counted, "left_out": left_out, **more})
            return
        say(f"{told} as {chosen.name} in {to}", quiet=quiet)
        notes = [*notes, *unsaid]
    for note in notes:
        say(note, quiet=quiet)


def _store(rules: RuleSet | Findings, url: str, options: dict[str, Any]) -> StoredRules:
    """Write statements to a server, with options that are checked."""
    from thence._base.settings.typed import Location, check_keywords
    from thence.show.export.stores import store_rules

    check_keywords(store_rules, options, Location(), without=["rules", "url"])
    return store_rules(rules, url, **options)
