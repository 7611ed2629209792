"""``thence demo``: mine rules from a simulated water network with nothing but defaults."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from thence.cli.desktop import open_on_desktop, page_address
from thence.cli.options import AsJson, Quiet
from thence.cli.screen import console, facts_table, print_json, print_logic, print_rules, progress_bars, say
from thence.runs.configuration import Config

__all__ = ["SETTINGS", "demo"]

SETTINGS: dict[str, Any] = {"input": {"dataset": "net3"}, "output": {"also": ["rules.md"]}}
_SHOWN = 10


def demo(
    out: Annotated[
        Path | None, typer.Option(help="Run folder to write (default: runs/demo, which is replaced if it exists).")
    ] = None,
    open_page: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the report in the browser, if there is a desktop.")
    ] = True,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Mine a simulated water network, print the ten best rules in plain English, and open the report."""
    from thence.cli.mine import require_report, summary_lines, write_report
    from thence.runs.pipeline import run_config

    target = out or Path("runs") / "demo"
    output = {**SETTINGS["output"], "path": str(target), "force": out is None}
    config = Config.from_mapping({**SETTINGS, "output": output})
    say("Simulating the water network Net3, 28 days, and mining rules …", quiet=quiet or as_json)
    with progress_bars(quiet=quiet or as_json) as progress:
        run = run_config(config, progress=progress)
        run, page = write_report(run, progress=progress)
    if as_json:
        best = run.rules.top(_SHOWN)
        told = {"path": str(run.path), "report": None if page is None else str(page), "summary": run.summary}
        print_json({**told, "rules": [rule.english for rule in best]})
    elif not quiet:
        screen = console()
        screen.print(facts_table(summary_lines(run)))
        print_logic(screen, run)
        print_rules(screen, run.rules, most=_SHOWN)
        say(f"\nThe run is in {run.path}. To see all its rules, run: thence show {target}")
        if page is not None:
            say(f"Report: {page_address(page)}")
            if open_page:
                open_on_desktop(page)
    require_report(run, page)
