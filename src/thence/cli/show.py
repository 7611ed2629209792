"""``thence show`` and ``thence export``: the rules of a run, filtered and ordered, on the screen or in a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thence.cli.screen import complain, console, facts, print_json, print_rules, say
from thence.errors import ConfigError, nearest

if TYPE_CHECKING:
    from thence.rules.items import Item
    from thence.rules.ruleset import RuleSet

__all__ = ["Selection", "export", "show"]

_LISTED = 20


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
            kind=None if self.kind is None else _known_kind(rules, self.kind),
            **self.bounds,
        )
        return met.top(self.top if self.top > 0 else len(met), by=self.by), len(met)


def _known_kind(rules: RuleSet, kind: str) -> str:
    """A kind or class as the rules spell it, whatever the case it is asked for in."""
    known = sorted({name for item in rules.items for name in _kinds(item)})
    close = [name for name in known if name.lower() == kind.lower()]
    if not close and known:
        hint = nearest(kind, known) or "there are: " + ", ".join(known[:_LISTED])
        raise ConfigError(f"no rule is about '{kind}'", hint=hint)
    return kind if kind in close or not close else close[0]


def _kinds(item: Item) -> Iterator[str]:
    yield from (name for name in (item.feature.label, item.feature.name) if name)
    for inner in item.feature.where:
        yield from _kinds(inner)


def show(path: Path, selection: Selection, *, text: bool, as_json: bool) -> None:
    """Print the rules of a run."""
    from thence.cli.mine import summary_lines
    from thence.export.rules_json import records
    from thence.runs.run import load_run

    run = load_run(path)
    rules, met = selection.of(run.rules)
    if as_json:
        print_json({"path": str(run.path), "summary": run.summary, "matching": met, "rules": records(rules)})
        return
    screen = console()
    screen.print(facts(summary_lines(run)))
    if not run.complete:
        complain("This run was interrupted: it does not hold what a whole one would.", colour="yellow", err=False)
    if len(rules):
        print_rules(screen, rules, text=text)
    if met != len(run.rules) or len(rules) < met:
        say(f"{len(rules):,} of {met:,} matching rules, {len(run.rules):,} in the run")


def export(
    path: Path, target: Path, selection: Selection, *, format: str | None, options: Mapping[str, Any]
) -> dict[str, Any]:
    """Write the rules of a run to a file and say what was written."""
    from thence.export import format_of, write_rules
    from thence.runs.run import load_run

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
