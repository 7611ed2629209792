"""``thence generalise``: do rules hold at places and times that they were not mined on?"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from thence.cli.options import AsJson, Bins, DatasetName, DatasetOptions, Quiet, Windows, parse_assignments
from thence.cli.screen import print_json, progress_bars, say
from thence.errors import ConfigError

__all__ = ["generalise"]

_SHOWN = 5


def generalise(
    dataset: DatasetName,
    enrich: Annotated[
        list[str] | None, typer.Option(help="none, grounded, existential or lifted; may be repeated (default: all).")
    ] = None,
    unseen: Annotated[float, typer.Option(help="Share of the nodes to hide.")] = 0.3,
    split: Annotated[str, typer.Option(help="Hide a 'region', or 'random' nodes.")] = "region",
    choose: Annotated[
        str, typer.Option(help="Choose rules on 'seen' nodes; 'transductive': on the antecedents at hidden nodes too.")
    ] = "seen",
    seed: Annotated[int, typer.Option(help="Random seed of the split.", min=0)] = 0,
    other: Annotated[str | None, typer.Option(help="Measure on this data set instead of hidden nodes.")] = None,
    kind: Annotated[list[str] | None, typer.Option(help="Only sensors of this kind; may be repeated.")] = None,
    windows: Windows = "30min",
    bins: Bins = 10,
    min_support: Annotated[float, typer.Option(help="Minimum support.")] = 0.02,
    min_confidence: Annotated[float, typer.Option(help="Minimum confidence.")] = 0.8,
    max_antecedents: Annotated[int, typer.Option(help="Maximum number of items in an antecedent.")] = 2,
    max_rules: Annotated[int, typer.Option(help="Maximum number of rules to keep.")] = 100,
    hops: Annotated[int, typer.Option(help="Maximum length of a path in a pattern, in edges.", min=0)] = 2,
    min_embeddings: Annotated[int, typer.Option(help="Minimum number of embeddings of a pattern.")] = 3,
    option: DatasetOptions = None,
    other_option: Annotated[
        list[str] | None, typer.Option(help="Option of the other data set as key=value; may be repeated.")
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Mine at some places and times and measure the rules at others."""
    from thence import datasets
    from thence.evaluate.generalisation import generalisation

    other_options = parse_assignments(other_option, flag="--other-option")
    if other is None and other_options:
        raise ConfigError("--other-option is given without --other", hint="add --other NAME")
    modes: dict[str, Any] = {"enrich": enrich} if enrich else {}
    with progress_bars(quiet=quiet or as_json) as progress:
        system = datasets.load(dataset, progress=progress, **parse_assignments(option, flag="--option"))
        unseen_system = None if other is None else datasets.load(other, progress=progress, **other_options)
    with progress_bars(quiet=quiet or as_json) as progress:
        result = generalisation(
            system,
            other=unseen_system,
            progress=progress,
            unseen=unseen,
            split=split,
            choose=choose,
            seed=seed,
            kinds=kind or None,
            windows=windows,
            bins=bins,
            min_support=min_support,
            min_confidence=min_confidence,
            max_antecedents=max_antecedents,
            max_rules=max_rules,
            hops=hops,
            min_embeddings=min_embeddings,
            **modes,
        )
    if as_json:
        print_json({"dataset": dataset, "other": other, **result.describe()})
        return
    say(str(result), quiet=quiet)
    for mode, found in result.modes.items():
        if found.rules:
            say(f"\n{mode}, the first rules:", quiet=quiet)
            say("\n".join(found.selected.lines(_SHOWN)), quiet=quiet)
