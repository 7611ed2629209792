"""``thence reproduce``: the experiments of the paper, with its numbers beside ours."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from thence.cli.options import AsJson, Quiet, parse_assignments
from thence.cli.screen import print_json, say


def reproduce(
    experiment: Annotated[
        str,
        typer.Argument(
            metavar="EXPERIMENT",
            help="1.1, 1.2, 2.1, 2.2, 3, 4, 5, 6, ablation, complexity or all.",
            show_default=False,
        ),
    ],
    dataset: Annotated[
        str, typer.Option(help="hanoi, ltown, lbnl-ahu, another data set, a configuration file, or all.")
    ] = "all",
    repeats: Annotated[int, typer.Option(help="Number of repeats of each experiment.")] = 20,
    quick: Annotated[bool, typer.Option("--quick", help="Small settings: a few minutes on two cores.")] = False,
    out: Annotated[Path, typer.Option(help="Folder for repeats and tables.")] = Path("reproduction"),
    jobs: Annotated[int, typer.Option(help="Number of repeats to run at the same time.")] = 1,
    executor: Annotated[str, typer.Option(help="Where repeats run: local, or ray for a Ray cluster.")] = "local",
    address: Annotated[
        str | None, typer.Option(help="Address of the head of the Ray cluster, such as 10.0.0.4:6379.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Random seed of the first repeat.", min=0)] = 0,
    parameter: Annotated[
        list[str] | None, typer.Option(help="Parameter to override as key=value; may be repeated.")
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Repeat the experiments of the paper and print its numbers beside ours; a second call continues the first."""
    from thence.lab.experiments import reproduce as run_experiments

    result = run_experiments(
        experiment,
        dataset=dataset,
        repeats=repeats,
        quick=quick,
        out=out,
        jobs=jobs,
        executor=executor,
        address=address,
        seed=seed,
        parameters=parse_assignments(parameter, flag="--parameter"),
        progress=False if quiet or as_json else "auto",
    )
    if as_json:
        verdicts = {name: [asdict(verdict) for verdict in found] for name, found in result.verdicts.items()}
        print_json({"folder": str(result.folder), "page": str(result.page), "verdicts": verdicts})
    else:
        say(str(result), quiet=quiet)
