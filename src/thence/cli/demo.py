"""``thence demo``: mine rules from a simulated water network with nothing but defaults."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from thence.cli.options import AsJson, Quiet
from thence.cli.screen import console, facts_table, print_json, print_logic, print_rules, say
from thence.runs.configuration import Config

__all__ = ["SETTINGS", "demo"]

SETTINGS: dict[str, Any] = {"input": {"dataset": "net3"}, "output": {"also": ["rules.md"]}}
_SHOWN = 10


def demo(
    out: Annotated[
        Path | None, typer.Option(help="Run folder to write (default: runs/demo, which is replaced if it exists).")
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Mine a simulated water network and print the ten best rules in plain English."""
    from thence.cli.mine import summary_lines
    from thence.runs.pipeline import mine

    config = Config.from_mapping(SETTINGS)
    target = out or Path("runs") / "demo"
    say("Simulating the water network Net3, 28 days, and mining rules …", quiet=quiet or as_json)
    run = mine(config=config, out=target, force=out is None, progress="off" if quiet or as_json else "auto")
    if as_json:
        best = run.rules.top(_SHOWN)
        print_json({"path": str(run.path), "summary": run.summary, "rules": [rule.english for rule in best]})
    elif not quiet:
        screen = console()
        screen.print(facts_table(summary_lines(run)))
        print_logic(screen, run)
        print_rules(screen, run.rules, most=_SHOWN)
        say(f"\nThe run is in {run.path}. To see all its rules, run: thence show {target}")
