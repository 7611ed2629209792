"""The options that describe a job, shared by ``mine`` and ``check``, and the configuration they add up to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from thence.cli.screen import assignments
from thence.errors import ConfigError
from thence.runs.configuration import Config, absolute_paths

__all__ = ["command", "default_folder"]

_INPUT, _TABLE, _SEARCH, _RESULT = "Input", "Transactions", "Mining", "Result"
Action = Callable[[Config, bool, bool, bool], None]


def command(action: Action) -> Callable[..., None]:
    """A command with all options of a job; ``action`` gets the configuration and ``as_json``, ``quiet``, ``strict``."""

    def job(
        config: Annotated[
            Path | None,
            typer.Argument(metavar="[CONFIG.toml]", help="A TOML file; options overrule it.", show_default=False),
        ] = None,
        sensors: Annotated[
            list[str] | None,
            typer.Option(help="Readings: a file, folder or pattern; may be repeated.", rich_help_panel=_INPUT),
        ] = None,
        graph: Annotated[
            list[str] | None, typer.Option(help="Knowledge graph (.inp, .ttl, .json, …).", rich_help_panel=_INPUT)
        ] = None,
        binding: Annotated[
            str | None,
            typer.Option(help="Which sensor sits at which node (.csv, .json, .ttl).", rich_help_panel=_INPUT),
        ] = None,
        ontology: Annotated[
            list[str] | None, typer.Option(help="Ontology files, or 'water'.", rich_help_panel=_INPUT)
        ] = None,
        dataset: Annotated[
            str | None, typer.Option(help="A built-in data set instead of files.", rich_help_panel=_INPUT)
        ] = None,
        option: Annotated[
            list[str] | None, typer.Option(help="key=value, an option of the data set.", rich_help_panel=_INPUT)
        ] = None,
        select: Annotated[
            list[str] | None, typer.Option(help="Only this sensor; may be repeated.", rich_help_panel=_INPUT)
        ] = None,
        start: Annotated[str | None, typer.Option(help="Only readings from here on.", rich_help_panel=_INPUT)] = None,
        end: Annotated[str | None, typer.Option(help="Only readings before this time.", rich_help_panel=_INPUT)] = None,
        windows: Annotated[
            str | None, typer.Option(help="Length of a window (default: 30min).", rich_help_panel=_TABLE)
        ] = None,
        aggregate: Annotated[
            str | None, typer.Option(help="How a window becomes one value (default: mean).", rich_help_panel=_TABLE)
        ] = None,
        derive: Annotated[
            list[str] | None, typer.Option(help="Also: change, hour, weekday.", rich_help_panel=_TABLE)
        ] = None,
        enrich: Annotated[
            str | None,
            typer.Option(help="none, grounded, existential or lifted (default: none).", rich_help_panel=_TABLE),
        ] = None,
        hops: Annotated[
            int | None, typer.Option(help="How far around a sensor the graph is looked at.", rich_help_panel=_TABLE)
        ] = None,
        pattern: Annotated[
            list[str] | None, typer.Option(help="A graph pattern for lifted rules.", rich_help_panel=_TABLE)
        ] = None,
        bins: Annotated[
            int | None, typer.Option(help="Bins per quantity (default: 10).", rich_help_panel=_TABLE)
        ] = None,
        scope: Annotated[
            str | None, typer.Option(help="Bins per 'kind' or per 'sensor'.", rich_help_panel=_TABLE)
        ] = None,
        method: Annotated[
            str | None, typer.Option(help="How bins are found (default: frequency).", rich_help_panel=_TABLE)
        ] = None,
        miner: Annotated[
            str | None, typer.Option(help="Which miner (default: exact).", rich_help_panel=_SEARCH)
        ] = None,
        min_support: Annotated[
            float | None, typer.Option(help="Least share of the rows in which a rule holds.", rich_help_panel=_SEARCH)
        ] = None,
        min_confidence: Annotated[
            float | None,
            typer.Option(help="Least share of its antecedent in which a rule holds.", rich_help_panel=_SEARCH),
        ] = None,
        max_antecedents: Annotated[
            int | None, typer.Option(help="Most items on the left of a rule.", rich_help_panel=_SEARCH)
        ] = None,
        similarity: Annotated[
            float | None, typer.Option(help="The threshold of a neural miner.", rich_help_panel=_SEARCH)
        ] = None,
        setting: Annotated[
            list[str] | None, typer.Option("--set", help="key=value, a setting of the miner.", rich_help_panel=_SEARCH)
        ] = None,
        seed: Annotated[
            int | None, typer.Option(help="Of everything random (default: 0).", rich_help_panel=_SEARCH)
        ] = None,
        refine: Annotated[
            bool, typer.Option("--refine", help="Keep the rules worth reading.", rich_help_panel=_RESULT)
        ] = False,
        assurance: Annotated[
            float | None,
            typer.Option(
                help="Refine, and keep what surely reaches its confidence, e.g. 0.95.", rich_help_panel=_RESULT
            ),
        ] = None,
        significance: Annotated[
            float | None, typer.Option(help="Refine, and keep what is more than chance.", rich_help_panel=_RESULT)
        ] = None,
        cover: Annotated[
            float | None,
            typer.Option(help="Refine to the fewest rules that cover this share, 1 for all.", rich_help_panel=_RESULT),
        ] = None,
        top: Annotated[int | None, typer.Option(help="Keep the best only.", rich_help_panel=_RESULT)] = None,
        by: Annotated[
            str | None,
            typer.Option(help="The measure that rules are ordered by (default: zhang).", rich_help_panel=_RESULT),
        ] = None,
        out: Annotated[Path | None, typer.Option(help="The run folder to write.", rich_help_panel=_RESULT)] = None,
        force: Annotated[
            bool, typer.Option("--force", help="Replace a run that is there.", rich_help_panel=_RESULT)
        ] = False,
        also: Annotated[
            list[str] | None, typer.Option(help="A further file in the run, e.g. rules.md.", rich_help_panel=_RESULT)
        ] = None,
        strict: Annotated[
            bool, typer.Option("--strict", help="Fail when the graph breaks its ontology.", rich_help_panel=_INPUT)
        ] = False,
        as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
        quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
    ) -> None:
        given: dict[str, dict[str, Any]] = {
            "input": {
                "sensors": _paths("sensors", sensors),
                "graph": _paths("graph", graph),
                "binding": _paths("binding", None if binding is None else [binding]),
                "ontology": _paths("ontology", ontology),
                "dataset": dataset,
                "options": assignments(option or (), flag="--option") or None,
                "select": select,
                "start": start,
                "end": end,
            },
            "windows": {"every": windows, "aggregate": aggregate, "derive": derive},
            "enrich": {"mode": enrich, "hops": hops, "patterns": _one_or_several(pattern)},
            "discretize": {"bins": bins, "scope": scope, "method": method},
            "miner": {
                "name": miner,
                "min_support": min_support,
                "min_confidence": min_confidence,
                "max_antecedents": max_antecedents,
                "similarity": similarity,
                **assignments(setting or (), flag="--set"),
            },
            "refine": {
                "apply": refine or None,
                "assurance": assurance,
                "significance": significance,
                "cover": cover,
                "top": top,
                "by": by,
            },
            "output": {"path": None if out is None else str(out.absolute()), "force": force or None, "also": also},
        }
        if config is None and dataset is None and sensors is None:
            raise ConfigError("there is nothing to read", hint="give a CONFIG.toml, --dataset NAME or --sensors FILE")
        action(_combined(config, given, seed), as_json, quiet, strict)

    return job


def _paths(name: str, given: list[str] | None) -> str | list[str] | None:
    return _one_or_several([str(absolute_paths(name, path, Path.cwd())) for path in given or ()])


def _one_or_several(given: list[str] | None) -> str | list[str] | None:
    return given[0] if given and len(given) == 1 else given or None


def _combined(path: Path | None, given: dict[str, dict[str, Any]], seed: int | None) -> Config:
    known_before = Config() if path is None else Config.from_toml(path)
    if seed is not None:
        known_before = known_before.with_seed(seed)
    if (mode := given["enrich"]["mode"]) is not None:
        recorded = path is not None and (path.parent / "provenance.json").exists()
        known_before = known_before.with_enrichment(mode, recorded=recorded)
    base = known_before.to_mapping()
    for section, values in given.items():
        told = {key: value for key, value in values.items() if value is not None}
        known = base.get(section, {})
        if section == "miner" and told.get("name", known.get("name")) != known.get("name"):
            known = {}
        if section == "input" and ("dataset" in told or "sensors" in told):
            # Another source replaces the one of the file altogether; how it is read stays.
            known = {
                k: v
                for k, v in known.items()
                if k not in ("sensors", "graph", "binding", "ontology", "dataset", "options")
            }
        if told or known:
            base[section] = {**known, **told}
    return Config.from_mapping(base)


def default_folder(config: Config) -> Path:
    """A run folder that is free, named after what is mined."""
    sensors = config.input.sensors
    first = sensors if isinstance(sensors, str) else sensors[0] if sensors else "run"
    name = config.input.dataset or Path(first).stem.strip("*?[].") or "run"
    folder, number = Path("runs") / name, 1
    while folder.exists():
        number += 1
        folder = Path("runs") / f"{name}-{number}"
    return folder.absolute()
