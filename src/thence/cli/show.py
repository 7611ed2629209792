"""``thence show`` and ``thence export``: the rules of a run, filtered and ordered, on the screen or in a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from .screen import console, facts, print_json, rule_table, say

if TYPE_CHECKING:
    from ..rules import RuleSet

__all__ = ["Selection", "export", "show"]


@dataclass(frozen=True)
class Selection:
    """Which rules, and in which order."""

    top: int = 0
    by: str = "zhang"
    bounds: Mapping[str, Any] = field(default_factory=dict)
    feature: str | None = None
    antecedent: str | None = None
    consequent: str | None = None
    kind: str | None = None

    def of(self, rules: RuleSet) -> tuple[RuleSet, int]:
        """The rules to show, and how many meet the conditions."""
        met = rules.filter(
            feature=self.feature,
            antecedent=self.antecedent,
            consequent=self.consequent,
            kind=self.kind,
            **self.bounds,
        )
        return met.top(self.top if self.top > 0 else len(met), by=self.by), len(met)


def show(path: Path, selection: Selection, *, text: bool, as_json: bool) -> None:
    """Print the rules of a run."""
    from ..export.rules_json import records
    from ..run import load_run
    from .mine import summary_lines

    run = load_run(path)
    rules, met = selection.of(run.rules)
    if as_json:
        print_json({"path": str(run.path), "summary": run.summary, "matching": met, "rules": records(rules)})
        return
    screen = console()
    screen.print(facts(summary_lines(run)))
    if not run.complete:
        typer.secho("This run was interrupted: it holds the rules found by then, not all of them.", fg="yellow")
    if len(rules):
        screen.print(rule_table(rules, text=text))
    if met != len(run.rules) or len(rules) < met:
        say(f"{len(rules):,} of {met:,} matching rules, {len(run.rules):,} in the run")


def export(
    path: Path, target: Path, selection: Selection, *, format: str | None, options: Mapping[str, Any]
) -> dict[str, Any]:
    """Write the rules of a run to a file and say what was written."""
    from ..errors import ConfigError
    from ..export import format_of, write_rules
    from ..run import load_run

    chosen = format_of(target, format)
    run = load_run(path)
    rules, _ = selection.of(run.rules)
    try:
        write_rules(rules, target, format=chosen.name, **options)
    except TypeError as error:
        if not options:
            raise
        raise ConfigError(f"the format '{chosen.name}' does not take these options ({error})") from error
    return {"path": str(target), "format": chosen.name, "rules": len(rules)}
