"""``thence apply``: the rules of a run on later data, or on another system."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thence.cli.job import with_table
from thence.cli.options import AsJson, Quiet, Reviewed, RunFolder
from thence.cli.screen import console, facts_table, number_notes, print_json, say
from thence.errors import attempt
from thence.runs.configuration import Config

if TYPE_CHECKING:
    from thence.checks.application.applied import Applied
    from thence.data.graph.system import System
    from thence.runs.run import Run


@with_table()
def apply(
    *,
    run: RunFolder,
    source: Config,
    reference: Annotated[
        str | None,
        typer.Option(
            help="Period on which ranks of sensors are fitted that the run has not seen: START/END, or a share of the "
            "windows (default: all of them).",
            show_default=False,
        ),
    ] = None,
    same_system: Annotated[
        bool | None,
        typer.Option(
            "--same-system/--other-system",
            help="Whether the data are of the system that was mined (default: by the names of systems and nodes).",
            show_default=False,
        ),
    ] = None,
    assurance: Annotated[float, typer.Option(help="Probability with which each end of an interval holds.")] = 0.95,
    recount: Annotated[
        bool, typer.Option("--recount", help="Read the mined data again, if the run does not keep its counts by place.")
    ] = False,
    reviewed: Reviewed = "not-rejected",
    top: Annotated[int, typer.Option("--top", "-n", min=0, help="Number of changed rules to print; 0 for all.")] = 10,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the results as JSON and Parquet.", show_default=False)
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace earlier results in --out.")] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Apply the rules of a run to later data or another system: which hold, which are violated, where and when."""
    from thence.checks.application.apply import apply_to
    from thence.runs.run import find_left_out, load_run, refuse_foreign
    from thence.statements.counting.assurance import require_assurance

    require_assurance(assurance)
    if out is not None:
        refuse_foreign(out.absolute(), force=force, mark="applied.json")
    loaded = load_run(run)
    left_out = find_left_out(loaded, reviewed)
    system = _load(loaded, source)
    applied = apply_to(
        loaded.rules,
        loaded,
        system,
        reference=reference,
        same_system=same_system,
        assurance=assurance,
        recount=recount,
        left_out=left_out,
    )
    if out is not None:
        applied.write(out, force=force)
    if as_json:
        print_json({"run": str(loaded.path), "out": None if out is None else str(out.absolute()), **applied.describe()})
        return
    if not quiet:
        _print(applied, top=top)
        if out is not None:
            say(f"\nwritten to {out}")


def _load(run: Run, source: Config) -> System:
    """Read what the options name; readings without a graph belong to the graph of the run."""
    from thence.checks.application.later import gather_later
    from thence.runs.configuration import EnrichConfig
    from thence.runs.inputs import load_job

    given = source.input
    if source.system or given.dataset is not None:
        return load_job(replace(source, enrich=EnrichConfig(mode=run.config.enrich.mode)))
    return gather_later(run, given.sensors, given.graph, given.binding, given.ontology, given)


def _print(applied: Applied, *, top: int) -> None:
    from thence.checks.application.telling import tell_facts, tell_sections

    screen: Any = console()
    facts = attempt(
        "the facts of apply", lambda: tell_facts(applied), lambda why: {"facts": f"could not be described: {why}"}
    )
    screen.print(facts_table([*facts.items(), *number_notes(applied.notes)]))
    sections = attempt(
        "the sentences of apply",
        lambda: tell_sections(applied, shown=top or len(applied.rules)),
        lambda why: {"could not be described": [why]},
    )
    for title, texts in sections.items():
        say(f"\n{title[:1].upper()}{title[1:]}")
        screen.print(facts_table([("", text) for text in texts]))
