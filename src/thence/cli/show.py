"""``thence show``: print the rules of a run."""

from __future__ import annotations

from typing import Annotated

import typer

from thence.cli.options import AsJson, Bounds, By, FeatureText, Kind, RunFolder, Top, parse_numbers
from thence.cli.screen import console, facts_table, print_json, print_rules, print_warning, say
from thence.cli.selection import Selection

__all__ = ["show"]


def show(
    run: RunFolder,
    top: Top = 20,
    by: By = None,
    min_support: Annotated[float | None, typer.Option(help="Lower bound on the support.")] = None,
    min_confidence: Annotated[float | None, typer.Option(help="Lower bound on the confidence.")] = None,
    min_zhang: Annotated[float | None, typer.Option(help="Lower bound on Zhang's metric.")] = None,
    min_lift: Annotated[float | None, typer.Option(help="Lower bound on the lift.")] = None,
    bound: Bounds = None,
    feature: FeatureText = None,
    antecedent: Annotated[str | None, typer.Option(help="Only rules with this text in the antecedent.")] = None,
    consequent: Annotated[str | None, typer.Option(help="Only rules with this text in the consequent.")] = None,
    kind: Kind = None,
    text: Annotated[
        bool, typer.Option("--text/--english", help="Print the exact text of each rule, or a sentence.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show the rules of a run, filtered and sorted."""
    from thence.cli.mine import summary_lines
    from thence.export.rules_json import records
    from thence.runs.run import load_run

    named = {"min_support": min_support, "min_confidence": min_confidence, "min_zhang": min_zhang, "min_lift": min_lift}
    selection = Selection(
        top=top,
        by=by,
        bounds={**{k: v for k, v in named.items() if v is not None}, **parse_numbers(bound, flag="--bound")},
        feature=feature,
        antecedent=antecedent,
        consequent=consequent,
        kind=kind,
    )
    loaded = load_run(run)
    rules, matching = selection.apply(loaded.rules)
    if as_json:
        print_json({"path": str(loaded.path), "summary": loaded.summary, "matching": matching, "rules": records(rules)})
        return
    screen = console()
    screen.print(facts_table(summary_lines(loaded)))
    if not loaded.complete:
        print_warning("This run was interrupted; rules may be missing.")
    if len(rules):
        print_rules(screen, rules, text=text)
    if matching != len(loaded.rules) or len(rules) < matching:
        say(f"{len(rules):,} of {matching:,} matching rules, {len(loaded.rules):,} in the run")
