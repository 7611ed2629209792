"""``thence generalise``: do rules hold at places and times that they were not mined on?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thence.cli.job import with_table
from thence.cli.options import AsJson, Quiet, parse_assignments
from thence.cli.screen import print_json, progress_bars, say
from thence.errors import ConfigError
from thence.runs.configuration import Config, EnrichConfig

if TYPE_CHECKING:
    from thence._base.progress import Progress
    from thence.data.graph.system import System

_SHOWN = 5


@with_table(
    *("windows", "bins", "min_support", "min_confidence", "max_antecedents", "hops", "min_embeddings", "seed"),
    like="evaluate.generalise",
)
def generalise(
    source: Config,
    settings: dict[str, Any],
    by: Annotated[
        str, typer.Option(help="Hide places of one system ('place'), or leave out one of several at a time ('site').")
    ] = "place",
    enrich: Annotated[
        list[str] | None, typer.Option(help="none, grounded, existential or lifted; may be repeated (default: all).")
    ] = None,
    unseen: Annotated[float, typer.Option(help="Share of the nodes to hide.")] = 0.3,
    split: Annotated[str, typer.Option(help="Hide a 'region', or 'random' nodes.")] = "region",
    choose: Annotated[
        str, typer.Option(help="Choose rules on 'seen' nodes; 'transductive': on the antecedents at hidden nodes too.")
    ] = "seen",
    other: Annotated[
        str | None,
        typer.Option(help="Measure on this system instead of hidden nodes: a data set, a CONFIG.toml or a folder."),
    ] = None,
    kind: Annotated[list[str] | None, typer.Option(help="Only sensors of this kind; may be repeated.")] = None,
    max_rules: Annotated[int, typer.Option(help="Maximum number of rules to keep.")] = 100,
    other_option: Annotated[
        list[str] | None, typer.Option(help="Option of the other data set as key=value; may be repeated.")
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Mine at some places and times and measure the rules at others."""
    from thence.lab.evaluate.generalisation import generalise as generalise_rules
    from thence.runs.inputs import load_job

    other_options = parse_assignments(other_option, flag="--other-option")
    if other is None and other_options:
        raise ConfigError("--other-option is given without --other", hint="add --other NAME")
    modes: dict[str, Any] = {"enrich": enrich} if enrich else {}
    with progress_bars(quiet=quiet or as_json) as progress:
        # Rules of the mode "none" need no binding of every sensor, but these rules are measured by place.
        system = load_job(replace(source, enrich=EnrichConfig(mode="lifted")), progress=progress)
        unseen_system = None if other is None else _load_other(other, other_options, progress)
    if by != "site":
        system.require_one_site("several systems are given", hint="add --by site to leave out one at a time")
    with progress_bars(quiet=quiet or as_json) as progress:
        measure: Any = generalise_rules  # the type of its result depends on ``by``
        result = measure(
            system,
            by=by,
            other=unseen_system,
            progress=progress,
            unseen=unseen,
            split=split,
            choose=choose,
            kinds=kind or None,
            max_rules=max_rules,
            **settings,
            **modes,
        )
    if as_json:
        print_json({"dataset": source.input.dataset, "other": other, **result.describe()})
        return
    say(str(result), quiet=quiet)
    parts = {f"without {name}": part for name, part in result.sites.items()} if by == "site" else {"": result}
    for name, part in parts.items():
        for mode, found in part.modes.items():
            if found.rules:
                say(f"\n{name or mode}, the first rules:", quiet=quiet)
                say("\n".join(found.selected.lines(_SHOWN)), quiet=quiet)


def _load_other(given: str, options: dict[str, Any], progress: Progress) -> System:
    """Read another system: a data set by name, what a configuration file names, or the files of a folder."""
    from thence.runs.configuration import InputConfig
    from thence.runs.folders import find_system_files
    from thence.runs.inputs import load_job

    path = Path(given).expanduser()
    if path.suffix.lower() == ".toml":
        config = Config.from_toml(path)
    elif path.is_dir():
        config = Config(system=(find_system_files(path.name or "other", path),))
    else:
        config = Config(input=InputConfig(dataset=given, options=options)).check()
        options = {}
    if options:
        raise ConfigError("--other-option is for a data set, but --other is files", hint="leave out --other-option")
    system = load_job(replace(config, enrich=EnrichConfig(mode="lifted")), progress=progress)
    system.require_one_site("--other must be one system", hint="name one that has a single [[system]], or [input]")
    return system
