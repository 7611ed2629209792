"""``thence mine`` and ``thence demo``: run a configuration, and print a summary of the run and its best rules."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from thence._base.display.percent import percent
from thence.cli.check import refuse_breaches
from thence.cli.job import Strict, default_folder, with_table
from thence.cli.options import AsJson, Quiet
from thence.cli.screen import (
    console,
    facts_table,
    number_notes,
    open_on_desktop,
    page_address,
    print_error,
    print_json,
    print_logic,
    print_rules,
    progress_bars,
    say,
)
from thence.runs.configuration import Config

if TYPE_CHECKING:
    from rich.console import Console

    from thence._base.progress import Progress
    from thence.runs.run import Run

_SHOWN, _SHOWN_BY_DEMO = 20, 10
_NOTES = 3


@with_table(reads="job")
def mine(source: Config, strict: Strict = False, as_json: AsJson = False, quiet: Quiet = False) -> None:
    """Mine rules from a configuration file, data files or a named data set, and write a run."""
    from thence.runs.pipeline import run_config

    if source.output.path is None:
        source = replace(source, output=replace(source.output, path=str(default_folder(source))))
    with progress_bars(quiet=quiet or as_json) as progress:
        run = run_config(source, progress=progress, check=refuse_breaches if strict else None)
        run, page = _write_report(run, progress=progress)
    if as_json:
        print_json({"path": str(run.path), "report": None if page is None else str(page), **run.summary})
    elif not quiet:
        _print_run(run, page)
    if run.interrupted:
        print_error(f"thence: {summary_lines(run)['state']}")
        raise typer.Exit(130)
    _require_report(run, page)


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
    from thence.runs.configuration import Config
    from thence.runs.pipeline import run_config

    target = out or Path("runs") / "demo"
    output = {"also": ["rules.md"], "path": str(target), "force": out is None}
    config = Config.from_mapping({"input": {"dataset": "net3"}, "output": output})
    say("Simulating the water network Net3, 28 days, and mining rules …", quiet=quiet or as_json)
    with progress_bars(quiet=quiet or as_json) as progress:
        run = run_config(config, progress=progress)
        run, page = _write_report(run, progress=progress)
    if as_json:
        best = run.rules.top(_SHOWN_BY_DEMO)
        found = {"path": str(run.path), "report": None if page is None else str(page), "summary": run.summary}
        print_json({**found, "rules": [rule.english for rule in best]})
    elif not quiet:
        screen = console()
        screen.print(facts_table(summary_lines(run, notes=False)))
        print_logic(screen, run)
        print_rules(screen, run.rules, most=_SHOWN_BY_DEMO)
        _print_notes(screen, run)
        say(f"\nThe run is in {run.path}. To see all its rules, run: thence show {target}")
        if page is not None:
            say(f"Report: {page_address(page)}")
            if open_page:
                open_on_desktop(page)
    _require_report(run, page)


def _write_report(run: Run, *, progress: Progress) -> tuple[Run, Path | None]:
    """Write the report of a run into its folder, and return the run and the page.

    Args:
        run: The run.
        progress: Called with the progress.

    Returns:
        The run, and ``None`` for the page if the run wants none or it could not be made; then a note says why.
    """
    from thence.show.reports.run_report import PAGE, add_report

    run = add_report(run, progress=progress)
    page = None if run.path is None else run.path / PAGE
    return run, page if page is not None and page.is_file() else None


def _require_report(run: Run, page: Path | None) -> None:
    """Exit with 1, or 130 after Ctrl-C, if the run wants a report that could not be written; the message says why.

    Args:
        run: The run, as ``_write_report`` returns it.
        page: The page, as ``_write_report`` returns it.
    """
    if page is not None or run.path is None or not run.config.output.report:
        return
    note = run.summary["notes"][-1]
    print_error(f"thence: {note}; the run itself is complete: {run.path}")
    raise typer.Exit(130 if "(interrupted)" in note else 1)


def _print_run(run: Run, page: Path | None) -> None:
    screen = console()
    screen.print(facts_table(summary_lines(run, notes=False)))
    print_logic(screen, run)
    shown = print_rules(screen, run.rules, most=_SHOWN) if len(run.rules) else 0
    _print_notes(screen, run)
    if run.path is not None:
        more = len(run.rules) - shown
        say(f"\n{f'{more:,} more rules' if more > 0 else 'The run'}: thence show {run.path}")
    if page is not None:
        say(f"Report: {page_address(page)}")


def _print_notes(screen: Console, run: Run) -> None:
    """Print the first notes of a run, on how it was read, and the last ones, on what was found."""
    notes = run.summary["notes"]
    if not notes:
        return
    screen.print("\nNotes")
    many = len(notes) > 2 * _NOTES and run.path is not None
    shown = [*notes[:_NOTES], *notes[-_NOTES:]] if many else notes
    screen.print(facts_table([("", note) for note in shown]))
    if many:
        say(f"{len(notes) - len(shown):,} more: thence show {run.path}")


def summary_lines(run: Run, *, notes: bool = True) -> dict[str, str]:
    """Return the summary of a run for the screen, by name.

    Args:
        run: The run.
        notes: Whether with the notes.
    """
    summary = run.summary
    out = {"run": str(run.path or "in memory")}
    if not run.complete:
        reasons = (note for note in summary["notes"] if note.startswith("interrupted"))
        out["state"] = next(reasons, "interrupted") if run.interrupted else "incomplete"
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
        out["covered"] = f"{percent(summary['data_coverage'], digits=1)} of the transactions"
    out["miner"] = f"{summary['miner']}, enrichment {summary['enrichment']}"
    out["seconds"] = ", ".join(f"{stage} {spent:.2f}" for stage, spent in summary["seconds"].items())
    if notes:
        out |= number_notes(summary["notes"])
    return {name: value for name, value in out.items() if value}
