"""``thence mine``: run a configuration and say what came out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import typer

from thence.cli.check import refuse_breaches
from thence.cli.job import default_folder
from thence.cli.screen import complain, console, facts, print_json, print_rules, say

if TYPE_CHECKING:
    from thence.runs.configuration import Config
    from thence.runs.run import Run

__all__ = ["mine", "summary_lines"]

_BEST = 5


def mine(config: Config, *, as_json: bool, quiet: bool, strict: bool) -> None:
    """Mine, write the run, and print its summary and its best rules."""
    from thence.runs.pipeline import run_config

    if config.output.path is None:
        config = replace(config, output=replace(config.output, path=str(default_folder(config))))
    run = run_config(config, progress="off" if quiet or as_json else "auto", check=refuse_breaches if strict else None)
    if as_json:
        print_json({"path": str(run.path), **run.summary})
    elif not quiet:
        report(run, best=_BEST)
    if run.interrupted:
        complain(f"thence: {summary_lines(run)['state']}")
        raise typer.Exit(130)


def report(run: Run, *, best: int) -> None:
    """The summary and the best rules of a run."""
    screen = console()
    screen.print(facts(summary_lines(run)))
    if len(run.rules):
        # They are in the order asked for already.
        print_rules(screen, run.rules.take(np.arange(min(best, len(run.rules)))))
    if run.path is not None:
        say(f"thence show {run.path}")


def summary_lines(run: Run) -> dict[str, str]:
    """What there is to say about a run, by name."""
    summary = run.summary
    out = {"run": str(run.path or "in memory")}
    if not run.complete:
        told = (note for note in summary["notes"] if note.startswith("interrupted"))
        out["state"] = next(told, "interrupted") if run.interrupted else "incomplete"
    out["rules"] = f"{summary['rules']:,}" + (
        f" of {summary['rules_found']:,} found" if summary["rules_found"] != summary["rules"] else ""
    )
    sizes = [
        (summary["n_transactions"], "transactions"),
        (summary["n_features"], "features"),
        (summary["n_items"], "items"),
    ]
    out["table"] = ", ".join(f"{count:,} {noun}" for count, noun in sizes if count is not None)
    out["means"] = ", ".join(
        f"{name.removeprefix('mean_').replace('_', ' ').replace('zhang', 'Zhang')} {summary[name]:.3f}"
        for name in ("mean_support", "mean_rule_coverage", "mean_confidence", "mean_zhang")
        if summary[name] is not None
    )
    if summary["data_coverage"] is not None:
        out["covered"] = f"{100 * summary['data_coverage']:.1f} % of the transactions"
    out["miner"] = f"{summary['miner']}, enrichment {summary['enrichment']}"
    out["seconds"] = ", ".join(f"{stage} {spent:.2f}" for stage, spent in summary["seconds"].items())
    for number, note in enumerate(summary["notes"], start=1):
        out["note" if number == 1 else f"note {number}"] = note
    return {name: value for name, value in out.items() if value}
