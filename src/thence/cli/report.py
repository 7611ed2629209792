"""``thence report``: the report of a run as one page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from thence.cli.options import Quiet, RunFolder
from thence.cli.screen import page_address, print_error, print_json, progress_bars, say


def report(
    run: RunFolder,
    out: Annotated[
        Path | None,
        typer.Option(
            help="File to write, .html or .json (default: report.html and report.json in the run).", show_default=False
        ),
    ] = None,
    applied: Annotated[
        list[Path] | None,
        typer.Option(help="Folder that 'thence apply --out' wrote; may be repeated.", show_default=False),
    ] = None,
    detected: Annotated[
        list[Path] | None,
        typer.Option(help="File that 'thence detect --out' wrote; may be repeated.", show_default=False),
    ] = None,
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON, and write nothing.")] = False,
    quiet: Quiet = False,
) -> None:
    """Make the report of a run: one page with what went in, the rules and their evidence. It works offline."""
    from thence.errors import ConfigError
    from thence.runs.run import load_run
    from thence.show.reports.at_work import read_applied, read_detected
    from thence.show.reports.run_report import DATA, PAGE
    from thence.show.reports.run_report import report as make_report

    if as_json and (out is not None or open_page):
        raise ConfigError("--json prints the report and writes no page", hint="leave out --json, or --out and --open")
    if open_page and out is not None and out.suffix.lower() == ".json":
        raise ConfigError("--open shows a page, but --out names a JSON file", hint="let the name end in .html")
    loaded = load_run(run)
    parts = [read_applied(folder) for folder in applied or ()]
    found = [read_detected(file) for file in detected or ()]
    with progress_bars(quiet=quiet or as_json) as progress:
        made = make_report(loaded, applied=parts, detected=found, progress=progress)
    if as_json:
        print_json(made.data)
        return
    assert loaded.path is not None
    if out is None:
        made.save(loaded.path / DATA)
    page = made.save(loaded.path / PAGE if out is None else out)
    if not quiet:
        for note in made.data["notes"]:
            print_error(f"note: {note}")
        say(f"report: {page_address(page)}")
    if open_page:
        import webbrowser

        webbrowser.open(page_address(page))
