"""``thence show``: print the rules of a run."""

from __future__ import annotations

from typing import Annotated

import typer

from thence.cli.options import AsJson, RunFolder
from thence.cli.screen import console, facts_table, print_json, print_logic, print_rules, print_warning, say
from thence.cli.selection import Selection, with_selection

__all__ = ["show"]


@with_selection(top=20)
def show(
    run: RunFolder,
    selection: Selection,
    text: Annotated[
        bool, typer.Option("--text/--english", help="Print the exact text of each rule, or a sentence.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show the rules of a run, filtered and sorted."""
    from thence.cli.mine import summary_lines
    from thence.export.rules_json import records
    from thence.runs.run import load_run

    loaded = load_run(run)
    rules, matching = selection.apply(loaded.rules)
    if as_json:
        print_json({"path": str(loaded.path), "summary": loaded.summary, "matching": matching, "rules": records(rules)})
        return
    screen = console()
    screen.print(facts_table(summary_lines(loaded)))
    if not loaded.complete:
        print_warning("This run was interrupted; rules may be missing.")
    print_logic(screen, loaded)
    if len(rules):
        print_rules(screen, rules, text=text)
    if matching != len(loaded.rules) or len(rules) < matching:
        say(f"{len(rules):,} of {matching:,} matching rules, {len(loaded.rules):,} in the run")
