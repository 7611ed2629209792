"""``thence show``: print the rules of a run."""

from __future__ import annotations

from typing import Annotated

import typer

from thence.cli.options import AsJson, RunFolder
from thence.cli.screen import console, facts_table, print_json, print_logic, print_rules, print_warning, say
from thence.cli.selection import Selection, with_selection


@with_selection(top=20, reviewed="all")
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
    from thence.cli.review import logic_remarks
    from thence.runs.reviews import describe_left_out
    from thence.runs.run import load_run
    from thence.statements.files.rules_json import records
    from thence.statements.keys import key_text

    loaded = load_run(run)
    rules, numbers, matching, left_out = selection.apply(loaded)
    if as_json:
        listed = [
            {"number": number, "key": key_text(key), **record}
            for number, key, record in zip(numbers, rules.keys, records(rules), strict=True)
        ]
        print_json({"path": str(loaded.path), "summary": loaded.summary, "matching": matching, "rules": listed})
        return
    screen = console()
    screen.print(facts_table(summary_lines(loaded)))
    if not loaded.complete:
        print_warning("This run was interrupted; rules may be missing.")
    print_logic(screen, loaded, remarks=logic_remarks(loaded))
    if len(rules):
        print_rules(screen, rules, text=text, numbers=numbers)
    if left_out:
        say(f"\n{describe_left_out(left_out, 'rule', selection.reviewed)}")
    if matching != len(loaded.rules) or len(rules) < matching:
        say(f"{len(rules):,} of {matching:,} matching rules, {len(loaded.rules):,} in the run")
