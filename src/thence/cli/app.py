"""The commands and their options; what they do is in the modules beside this one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from thence.cli import job
from thence.cli.screen import Guarded, assignments, numbers, print_json, say

__all__ = ["app"]

app = typer.Typer(
    cls=Guarded,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Semantic association rules from sensor data and the knowledge graph around the sensors.",
)
datasets_app = typer.Typer(
    no_args_is_help=True, help="Built-in data sets: list them, describe one, or write one as files."
)
app.add_typer(datasets_app, name="datasets")

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
Options = Annotated[list[str] | None, typer.Option(help="key=value, may be repeated.")]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.", show_default=False)]


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"thence {version('thence')}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Semantic association rules from sensor data and the knowledge graph around the sensors."""


@app.command()
def demo(
    out: Annotated[Path | None, typer.Option(help="The run folder to write (default: runs/demo).")] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Mine a simulated water network and print the ten best rules in plain English."""
    from thence.cli.demo import demo as show_demo

    show_demo(out, as_json=as_json, quiet=quiet)


def _mine(config: object, as_json: bool, quiet: bool, strict: bool) -> None:
    from thence.cli.mine import mine

    mine(config, as_json=as_json, quiet=quiet, strict=strict)  # type: ignore[arg-type]


def _check(config: object, as_json: bool, quiet: bool, strict: bool) -> None:
    from thence.cli.check import check

    check(config, as_json=as_json, quiet=quiet, strict=strict)  # type: ignore[arg-type]


app.command("mine", help="Mine rules and write a run: from a CONFIG.toml, from files, or from a data set by name.")(
    job.command(_mine)
)
app.command("check", help="Read and check all inputs and say what 'mine' would do, without mining.")(
    job.command(_check)
)


@app.command()
def show(
    run: RunFolder,
    top: Annotated[int, typer.Option("--top", "-n", help="How many rules; 0 for all.")] = 20,
    by: Annotated[str, typer.Option(help="The measure to order by.")] = "zhang",
    min_support: Annotated[float | None, typer.Option(show_default=False)] = None,
    min_confidence: Annotated[float | None, typer.Option(show_default=False)] = None,
    min_zhang: Annotated[float | None, typer.Option(show_default=False)] = None,
    min_lift: Annotated[float | None, typer.Option(show_default=False)] = None,
    bound: Annotated[list[str] | None, typer.Option(help="Any bound, e.g. max_leverage=0.2.")] = None,
    feature: Annotated[str | None, typer.Option(help="A part of the text of some item.")] = None,
    antecedent: Annotated[str | None, typer.Option(help="The same, in the antecedent.")] = None,
    consequent: Annotated[str | None, typer.Option(help="The same, in the consequent.")] = None,
    kind: Annotated[str | None, typer.Option(help="A kind of sensor or a class of node.")] = None,
    text: Annotated[bool, typer.Option("--text/--english", help="Exact text instead of plain English.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show the rules of a run, filtered and ordered."""
    from thence.cli.show import Selection
    from thence.cli.show import show as show_run

    named = {"min_support": min_support, "min_confidence": min_confidence, "min_zhang": min_zhang, "min_lift": min_lift}
    bounds = {**{k: v for k, v in named.items() if v is not None}, **numbers(bound or (), flag="--bound")}
    show_run(run, Selection(top, by, bounds, feature, antecedent, consequent, kind), text=text, as_json=as_json)


@app.command()
def export(
    run: RunFolder,
    to: Annotated[
        Path, typer.Option("--to", help="The file to write; its suffix says the format.", show_default=False)
    ],
    format: Annotated[
        str | None, typer.Option(help="json, parquet, csv, markdown, pmml, sparql or shacl.", show_default=False)
    ] = None,
    top: Annotated[int, typer.Option("--top", "-n", help="How many rules; 0 for all.")] = 0,
    by: Annotated[str, typer.Option(help="The measure to order by.")] = "zhang",
    bound: Annotated[list[str] | None, typer.Option(help="Any bound, e.g. min_confidence=0.95.")] = None,
    feature: Annotated[str | None, typer.Option(help="A part of the text of some item.")] = None,
    kind: Annotated[str | None, typer.Option(help="A kind of sensor or a class of node.")] = None,
    option: Annotated[list[str] | None, typer.Option(help="key=value, an option of the format.")] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Write the rules of a run in another format."""
    from thence.cli.show import Selection
    from thence.cli.show import export as export_run

    chosen = Selection(top, by, numbers(bound or (), flag="--bound"), feature, None, None, kind)
    written = export_run(run, to, chosen, format=format, options=assignments(option or (), flag="--option"))
    if as_json:
        print_json(written)
    else:
        say(f"{written['rules']:,} rules as {written['format']} in {written['path']}", quiet=quiet)


Dataset = Annotated[str, typer.Option("--dataset", help="A built-in data set.", show_default=False)]


@app.command()
def generalise(
    dataset: Dataset,
    enrich: Annotated[
        list[str] | None, typer.Option(help="none, grounded, existential or lifted; may be repeated (default: all).")
    ] = None,
    unseen: Annotated[float, typer.Option(help="The share of nodes that are hidden.")] = 0.3,
    split: Annotated[str, typer.Option(help="Hide 'random' nodes or a connected 'region'.")] = "random",
    seed: Annotated[int, typer.Option(help="The seed of the split.", min=0)] = 0,
    other: Annotated[str | None, typer.Option(help="Measure on this data set instead.", show_default=False)] = None,
    kind: Annotated[list[str] | None, typer.Option(help="Only sensors of this kind; may be repeated.")] = None,
    windows: Annotated[str, typer.Option(help="The length of a window.")] = "30min",
    bins: Annotated[int, typer.Option(help="The number of ranges.")] = 10,
    min_support: Annotated[float, typer.Option()] = 0.02,
    min_confidence: Annotated[float, typer.Option()] = 0.8,
    max_antecedents: Annotated[int, typer.Option()] = 2,
    max_rules: Annotated[int, typer.Option(help="The most rules that are kept.")] = 100,
    hops: Annotated[int, typer.Option(help="The longest path of a pattern.", min=0)] = 2,
    min_embeddings: Annotated[int, typer.Option(help="The fewest places of a pattern.")] = 3,
    option: Options = None,
    other_option: Annotated[list[str] | None, typer.Option(help="key=value for the other data set.")] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Mine on some places and times, measure on others: do the rules hold where they were not learnt?"""
    from thence.cli.questions import generalise as ask

    settings: dict[str, object] = {
        "unseen": unseen,
        "split": split,
        "seed": seed,
        "kinds": kind or None,
        "windows": windows,
        "bins": bins,
        "min_support": min_support,
        "min_confidence": min_confidence,
        "max_antecedents": max_antecedents,
        "max_rules": max_rules,
        "hops": hops,
        "min_embeddings": min_embeddings,
    }
    if enrich:
        settings["enrich"] = enrich
    ask(
        dataset,
        assignments(option or (), flag="--option"),
        other=other,
        other_options=assignments(other_option or (), flag="--other-option"),
        settings=settings,
        as_json=as_json,
        quiet=quiet,
    )


@app.command()
def compare(
    dataset: Dataset,
    method: Annotated[
        list[str] | None, typer.Option(help="A miner or an optimiser of TS-NARM; may be repeated (default: all nine).")
    ] = None,
    evaluations: Annotated[int, typer.Option(help="Fitness evaluations of TS-NARM.")] = 50_000,
    population: Annotated[int, typer.Option(help="Population of TS-NARM.")] = 200,
    windows: Annotated[str, typer.Option(help="The length of a window.")] = "30min",
    bins: Annotated[int, typer.Option(help="The number of ranges.")] = 10,
    enrich: Annotated[str, typer.Option(help="none or grounded; Naive SemRL makes its own table.")] = "none",
    seed: Annotated[int, typer.Option(help="The seed of every method.", min=0)] = 0,
    csv: Annotated[Path | None, typer.Option(help="Write the table here as CSV.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw it here (.svg, .png or .html).")] = None,
    isolate: Annotated[bool, typer.Option("--isolate", help="A process of its own for each method.")] = False,
    option: Options = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Put miners side by side on the same data: rules, measures, time, memory, overlap."""
    from thence.cli.questions import compare as ask

    ask(
        dataset,
        assignments(option or (), flag="--option"),
        method or (),
        evaluations=evaluations,
        population=population,
        seed=seed,
        settings={"windows": windows, "bins": bins, "enrich": enrich},
        csv=csv,
        plot=plot,
        isolate=isolate,
        as_json=as_json,
        quiet=quiet,
    )


@app.command()
def reproduce(
    experiment: Annotated[str, typer.Argument(help="1.1, 1.2, 2.1, 2.2, 3, 4, 5, 6 or all.", show_default=False)],
    dataset: Annotated[str, typer.Option(help="hanoi, ltown, lbnl-ahu, another data set, or all.")] = "all",
    repeats: Annotated[int, typer.Option(help="How often each experiment is repeated.")] = 20,
    quick: Annotated[bool, typer.Option("--quick", help="Small settings: a few minutes on two cores.")] = False,
    out: Annotated[Path, typer.Option(help="Where repeats and tables are stored.")] = Path("reproduction"),
    jobs: Annotated[int, typer.Option(help="Repeats that run at the same time.")] = 1,
    seed: Annotated[int, typer.Option(help="The seed of the first repeat.", min=0)] = 0,
    parameter: Annotated[list[str] | None, typer.Option(help="key=value, replaces a parameter.")] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Run the paper's experiments again, its numbers beside ours; a second call continues."""
    from thence.cli.questions import reproduce as ask

    ask(
        experiment,
        dataset=dataset,
        repeats=repeats,
        quick=quick,
        out=out,
        jobs=jobs,
        seed=seed,
        parameters=assignments(parameter or (), flag="--parameter"),
        as_json=as_json,
        quiet=quiet,
    )


@datasets_app.command("list")
def datasets_list(as_json: AsJson = False) -> None:
    """List the data sets."""
    from thence.cli.datasets import show_all

    show_all(as_json=as_json)


@datasets_app.command("info")
def datasets_info(name: Annotated[str, typer.Argument(show_default=False)], as_json: AsJson = False) -> None:
    """Say what a data set is, what it needs and which options it takes."""
    from thence.cli.datasets import show_one

    show_one(name, as_json=as_json)


@datasets_app.command("make")
def datasets_make(
    name: Annotated[str, typer.Argument(show_default=False)],
    out: Annotated[Path | None, typer.Option(help="Write it as files into this folder.")] = None,
    option: Options = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a folder written before.")] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Make or read a data set and describe it; with --out, write it as files that 'thence mine' takes."""
    from thence.cli.datasets import make

    chosen = assignments(option or (), flag="--option")
    make(name, chosen, out, force=force, as_json=as_json, quiet=quiet)
