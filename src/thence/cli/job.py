"""The options of ``mine`` and ``check``, and the configuration that they and a configuration file result in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Protocol

import typer

from thence.cli.options import AsJson, Quiet, parse_assignments
from thence.errors import ConfigError
from thence.runs.configuration import Config, absolute_paths

__all__ = ["default_folder", "with_job_options"]

_INPUT, _TABLE, _SEARCH, _RESULT = "Input", "Transactions", "Mining", "Result"
_SOURCE_KEYS = ("sensors", "graph", "binding", "ontology", "dataset", "options")


class Action(Protocol):
    """What a command does with its configuration."""

    def __call__(self, config: Config, *, as_json: bool, quiet: bool, strict: bool) -> None: ...


def with_job_options(action: Action) -> Callable[..., None]:
    """Return a command that takes the options of a job and calls ``action`` with the resulting configuration."""

    def job(
        config: Annotated[
            Path | None,
            typer.Argument(metavar="CONFIG.toml", help="Configuration file; options override it.", show_default=False),
        ] = None,
        sensors: Annotated[
            list[str] | None,
            typer.Option(help="Readings: a file, folder or glob pattern; may be repeated.", rich_help_panel=_INPUT),
        ] = None,
        graph: Annotated[
            list[str] | None,
            typer.Option(help="Knowledge graph (.inp, .ttl, .json, …); may be repeated.", rich_help_panel=_INPUT),
        ] = None,
        binding: Annotated[
            str | None,
            typer.Option(help="Node of each sensor (.csv, .json, .ttl).", rich_help_panel=_INPUT),
        ] = None,
        ontology: Annotated[
            list[str] | None,
            typer.Option(
                help="Ontology file, or 'water' for the built-in one; may be repeated.", rich_help_panel=_INPUT
            ),
        ] = None,
        dataset: Annotated[
            str | None, typer.Option(help="Name of a data set, instead of files.", rich_help_panel=_INPUT)
        ] = None,
        option: Annotated[
            list[str] | None,
            typer.Option(help="Option of the data set as key=value; may be repeated.", rich_help_panel=_INPUT),
        ] = None,
        select: Annotated[
            list[str] | None, typer.Option(help="Only this sensor; may be repeated.", rich_help_panel=_INPUT)
        ] = None,
        start: Annotated[
            str | None, typer.Option(help="Only readings from this time on.", rich_help_panel=_INPUT)
        ] = None,
        end: Annotated[str | None, typer.Option(help="Only readings before this time.", rich_help_panel=_INPUT)] = None,
        windows: Annotated[
            str | None, typer.Option(help="Length of a window (default: 30min).", rich_help_panel=_TABLE)
        ] = None,
        aggregate: Annotated[
            str | None,
            typer.Option(help="Aggregation of the readings in a window (default: mean).", rich_help_panel=_TABLE),
        ] = None,
        derive: Annotated[
            list[str] | None,
            typer.Option(help="Derived column: change, hour or weekday; may be repeated.", rich_help_panel=_TABLE),
        ] = None,
        enrich: Annotated[
            str | None,
            typer.Option(help="none, grounded, existential or lifted (default: none).", rich_help_panel=_TABLE),
        ] = None,
        hops: Annotated[
            int | None, typer.Option(help="Distance in the graph around a sensor, in edges.", rich_help_panel=_TABLE)
        ] = None,
        pattern: Annotated[
            list[str] | None,
            typer.Option(help="Graph pattern for lifted rules; may be repeated.", rich_help_panel=_TABLE),
        ] = None,
        bins: Annotated[int | None, typer.Option(help="Number of bins (default: 10).", rich_help_panel=_TABLE)] = None,
        scope: Annotated[
            str | None, typer.Option(help="Bin per 'kind' of sensor or per 'sensor'.", rich_help_panel=_TABLE)
        ] = None,
        method: Annotated[
            str | None, typer.Option(help="Binning method (default: frequency).", rich_help_panel=_TABLE)
        ] = None,
        miner: Annotated[
            str | None, typer.Option(help="Name of the miner (default: exact).", rich_help_panel=_SEARCH)
        ] = None,
        min_support: Annotated[
            float | None,
            typer.Option(help="Minimum support: share of the rows in which a rule holds.", rich_help_panel=_SEARCH),
        ] = None,
        min_confidence: Annotated[
            float | None,
            typer.Option(
                help="Minimum confidence: share of the rows of the antecedent in which the rule holds.",
                rich_help_panel=_SEARCH,
            ),
        ] = None,
        max_antecedents: Annotated[
            int | None, typer.Option(help="Maximum number of items in an antecedent.", rich_help_panel=_SEARCH)
        ] = None,
        similarity: Annotated[
            float | None, typer.Option(help="Similarity threshold of a neural miner.", rich_help_panel=_SEARCH)
        ] = None,
        setting: Annotated[
            list[str] | None,
            typer.Option("--set", help="Setting of the miner as key=value; may be repeated.", rich_help_panel=_SEARCH),
        ] = None,
        seed: Annotated[int | None, typer.Option(help="Random seed (default: 0).", rich_help_panel=_SEARCH)] = None,
        refine: Annotated[
            bool, typer.Option("--refine", help="Drop trivial and redundant rules.", rich_help_panel=_RESULT)
        ] = False,
        assurance: Annotated[
            float | None,
            typer.Option(
                help="Refine, and keep rules whose lower confidence bound (at 0.95, say) reaches the minimum.",
                rich_help_panel=_RESULT,
            ),
        ] = None,
        significance: Annotated[
            float | None,
            typer.Option(
                help="Refine, and keep rules that are significant at this level, such as 0.05.", rich_help_panel=_RESULT
            ),
        ] = None,
        cover: Annotated[
            float | None,
            typer.Option(
                help="Refine, and keep the fewest rules that cover this share of the rows; 1 for all.",
                rich_help_panel=_RESULT,
            ),
        ] = None,
        top: Annotated[
            int | None, typer.Option(help="Maximum number of rules to keep.", rich_help_panel=_RESULT)
        ] = None,
        by: Annotated[
            str | None,
            typer.Option(help="Measure to sort by (default: zhang).", rich_help_panel=_RESULT),
        ] = None,
        out: Annotated[Path | None, typer.Option(help="Run folder to write.", rich_help_panel=_RESULT)] = None,
        force: Annotated[
            bool, typer.Option("--force", help="Replace an existing run.", rich_help_panel=_RESULT)
        ] = False,
        also: Annotated[
            list[str] | None,
            typer.Option(
                help="Additional file in the run, such as rules.md; may be repeated.", rich_help_panel=_RESULT
            ),
        ] = None,
        strict: Annotated[
            bool, typer.Option("--strict", help="Fail if the graph violates its ontology.", rich_help_panel=_INPUT)
        ] = False,
        as_json: AsJson = False,
        quiet: Quiet = False,
    ) -> None:
        given: dict[str, dict[str, Any]] = {
            "input": {
                "sensors": _paths("sensors", sensors),
                "graph": _paths("graph", graph),
                "binding": _paths("binding", None if binding is None else [binding]),
                "ontology": _paths("ontology", ontology),
                "dataset": dataset,
                "options": parse_assignments(option, flag="--option") or None,
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
                **parse_assignments(setting, flag="--set"),
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
            raise ConfigError("no input is given", hint="pass a CONFIG.toml, --dataset NAME or --sensors FILE")
        action(_combine(config, given, seed), as_json=as_json, quiet=quiet, strict=strict)

    return job


def _paths(name: str, given: list[str] | None) -> str | list[str] | None:
    return _one_or_several([str(absolute_paths(name, path, Path.cwd())) for path in given or ()])


def _one_or_several(given: list[str] | None) -> str | list[str] | None:
    return given[0] if given and len(given) == 1 else given or None


def _combine(path: Path | None, given: dict[str, dict[str, Any]], seed: int | None) -> Config:
    """The configuration of a file, overridden by options."""
    config = Config() if path is None else Config.from_toml(path)
    if seed is not None:
        config = config.with_seed(seed)
    if (mode := given["enrich"]["mode"]) is not None:
        recorded = path is not None and (path.parent / "provenance.json").exists()
        config = config.with_enrichment(mode, recorded=recorded)
    combined = config.to_mapping()
    for section, values in given.items():
        overriding = {key: value for key, value in values.items() if value is not None}
        in_file = combined.get(section, {})
        if section == "miner" and overriding.get("name", in_file.get("name")) != in_file.get("name"):
            in_file = {}
        if section == "input" and ("dataset" in overriding or "sensors" in overriding):
            # Another source replaces all parts of the one in the file; the options of the readers stay.
            in_file = {key: value for key, value in in_file.items() if key not in _SOURCE_KEYS}
        if overriding or in_file:
            combined[section] = {**in_file, **overriding}
    return Config.from_mapping(combined)


def default_folder(config: Config) -> Path:
    """Return an unused run folder in ``runs``, named after the data set or the first file of readings."""
    sensors = config.input.sensors
    first = sensors if isinstance(sensors, str) else sensors[0] if sensors else "run"
    name = config.input.dataset or Path(first).stem.strip("*?[].") or "run"
    folder, number = Path("runs") / name, 1
    while folder.exists():
        number += 1
        folder = Path("runs") / f"{name}-{number}"
    return folder.absolute()
