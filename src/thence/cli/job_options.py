"""The table of the options of ``mine`` and ``check``: how each is spelled, what it sets, and its help text.

A row names the settings of the configuration that its option sets, as in a TOML file (``windows.every``).
``thence.cli.job`` makes the parameters of the commands from the table and the configuration from what was given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from thence.cli.options import parse_assignments
from thence.errors import ConfigError
from thence.runs.configuration import DESCRIBING, absolute_paths

__all__ = ["JOB_OPTIONS", "JobOption", "settings_of_options"]

_INPUT, _READING, _BINDING = "Input", "Reading", "Binding"
_TABLE, _SEARCH, _RESULT = "Transactions", "Mining", "Result"
_TEXT, _TEXTS, _WHOLE, _SHARE = str | None, list[str] | None, int | None, float | None
_FOR_FILES = ("input.read_sensors.", "input.read_graph.", "input.read_binding.", "input.bind.")
# These also apply to the sensors of a data set.
_FOR_ALL = tuple(f"input.read_sensors.{name}" for name in DESCRIBING)


def _same(given: Any) -> Any:
    return given


@dataclass(frozen=True, kw_only=True)
class JobOption:
    """One option of ``mine`` and ``check``.

    Args:
        name: The name of the parameter; the flag is ``--name`` with dashes.
        sets: The settings of the configuration that it sets, each as a path such as ``windows.every``. A path that ends
            in a dot is a table into which the option's mapping is merged.
        type: The type of the parameter, for typer.
        help: The help text.
        panel: The panel of the help page.
        flag: The flag, where it is not ``--name``.
        convert: From what was given to the value of the setting.
    """

    name: str
    sets: tuple[str, ...]
    type: Any
    help: str
    panel: str
    flag: str = ""
    convert: Callable[[Any], Any] = _same

    @property
    def spelling(self) -> str:
        """The flag as a user writes it."""
        return self.flag or f"--{self.name.replace('_', '-')}"


def settings_of_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the nested settings that the given options set.

    Args:
        given: The values of the options by parameter name; what was not given is ``None``, an empty list, or for a flag
            without an opposite ``False``, and sets nothing.

    Examples:
        >>> settings_of_options({"windows": "1h", "partial": True, "bins": None})
        {'input': {'bind': {'partial': True}}, 'windows': {'every': '1h'}}
    """
    out: dict[str, Any] = {}
    for option in JOB_OPTIONS:
        value = given.get(option.name)
        if value is None or value == [] or (value is False and option.type is bool):
            continue
        if value == "" or (isinstance(value, list) and "" in value):
            raise ConfigError(f"{option.spelling} must not be empty", hint=f"leave out {option.spelling}")
        for path in option.sets:
            if path.startswith(_FOR_FILES) and path not in _FOR_ALL and given.get("dataset") is not None:
                if len(option.sets) > 1:
                    continue
                raise ConfigError(
                    f"{option.spelling} is for files, but --dataset is given", hint=f"leave out {option.spelling}"
                )
            _put(out, path, option.convert(value))
    return out


def _put(settings: dict[str, Any], path: str, value: Any) -> None:
    *sections, last = path.split(".")
    for name in sections:
        settings = settings.setdefault(name, {})
    if last:
        settings[last] = value
    else:
        settings.update(value)


def _one_or_several(given: list[str]) -> str | list[str]:
    return given[0] if len(given) == 1 else given


def _paths(name: str, given: list[str]) -> str | list[str]:
    return _one_or_several([str(absolute_paths(name, path, Path.cwd())) for path in given])


def _path(name: str, given: str) -> str | list[str]:
    return _paths(name, [given])


def _kinds(given: list[str]) -> str | dict[str, Any]:
    """One file with kinds, or kinds by sensor."""
    pairs = [text for text in given if "=" in text]
    if len(pairs) == len(given):
        kinds = parse_assignments(pairs, flag="--kinds")
        return {sensor: kind if isinstance(kind, list) else str(kind) for sensor, kind in kinds.items()}
    if len(given) > 1:
        raise ConfigError("--kinds takes one file, or sensor=kind, which may be repeated", hint="give one of the two")
    return str(Path(given[0]).expanduser().absolute())


def _units(given: list[str]) -> dict[str, str]:
    return {name: str(unit) for name, unit in parse_assignments(given, flag="--units").items()}


def _nodes(given: list[str]) -> dict[str, str]:
    """The node of each sensor. Ids are strings even if they look like numbers."""
    out: dict[str, str] = {}
    for text in given:
        sensor, found, node = (part.strip() for part in text.rpartition("="))
        if not found or not sensor or not node:
            raise ConfigError(f"--bind takes SENSOR=NODE, got '{text}'")
        if out.setdefault(sensor, node) != node:
            raise ConfigError(f"--bind gives two nodes for the sensor '{sensor}': '{out[sensor]}' and '{node}'")
    return out


def _systems(given: list[str]) -> list[dict[str, Any]]:
    """The files of several systems, each given as NAME=FOLDER."""
    from thence.runs.configuration import Config
    from thence.runs.folders import find_system_files

    systems = []
    for text in given:
        name, found, folder = (part.strip() for part in text.partition("="))
        if not found or not name or not folder:
            raise ConfigError(f"--system takes NAME=FOLDER, got '{text}'")
        systems.append(find_system_files(name, Path(folder).expanduser()))
    listed: list[dict[str, Any]] = Config(system=tuple(systems)).to_mapping()["system"]
    return listed


def _known(given: list[str]) -> list[dict[str, Any]]:
    from thence.runs.known import read_known

    return [rule.to_mapping() for rule in read_known(given)]


def _edges(given: list[str]) -> dict[str, Any]:
    out = parse_assignments(given, flag="--bin-edges")
    for kind, edges in out.items():
        if not isinstance(edges, list):
            raise ConfigError(f"--bin-edges takes KIND=[NUMBER,…], got '{kind}={edges}'", hint="such as flow=[10,20]")
    return out


def _absolute(path: Path) -> str:
    return str(path.absolute())


_SOURCES = (
    JobOption(
        name="sensors",
        sets=("input.sensors",),
        type=_TEXTS,
        help="Readings: a file, folder, glob pattern or URL of a database; may be repeated.",
        panel=_INPUT,
        convert=partial(_paths, "sensors"),
    ),
    JobOption(
        name="graph",
        sets=("input.graph",),
        type=_TEXTS,
        help="Knowledge graph (.inp, .ttl, .json, …), may be repeated; or the URL of a graph server.",
        panel=_INPUT,
        convert=partial(_paths, "graph"),
    ),
    JobOption(
        name="binding",
        sets=("input.binding",),
        type=_TEXT,
        help="Node of each sensor (.csv, .json, .ttl), or the URL of a graph server.",
        panel=_INPUT,
        convert=partial(_path, "binding"),
    ),
    JobOption(
        name="ontology",
        sets=("input.ontology",),
        type=_TEXTS,
        help="Ontology file, or 'water' for the built-in one; may be repeated.",
        panel=_INPUT,
        convert=partial(_paths, "ontology"),
    ),
    JobOption(
        name="dataset",
        sets=("input.dataset",),
        type=_TEXT,
        help="Name of a data set, instead of files.",
        panel=_INPUT,
    ),
    JobOption(
        name="option",
        sets=("input.options",),
        type=_TEXTS,
        help="Option of the data set as key=value; may be repeated.",
        panel=_INPUT,
        convert=partial(parse_assignments, flag="--option"),
    ),
    JobOption(
        name="system",
        sets=("system",),
        type=_TEXTS,
        help="One of several systems to mine together, as NAME=FOLDER with its files; may be repeated.",
        panel=_INPUT,
        convert=_systems,
    ),
    JobOption(
        name="target",
        sets=("input.target",),
        type=_TEXT,
        help="Column that rules conclude about; the rows of --sensors are then transactions, without times.",
        panel=_INPUT,
    ),
    JobOption(
        name="select",
        sets=("input.select",),
        type=_TEXTS,
        help="Only this sensor; may be repeated.",
        panel=_INPUT,
    ),
    JobOption(name="start", sets=("input.start",), type=_TEXT, help="Only readings from this time on.", panel=_INPUT),
    JobOption(name="end", sets=("input.end",), type=_TEXT, help="Only readings before this time.", panel=_INPUT),
)

_READERS = (
    JobOption(
        name="ignore",
        sets=("input.read_sensors.ignore",),
        type=_TEXTS,
        help="Leave out this column or sensor; a name or a glob pattern; may be repeated.",
        panel=_READING,
    ),
    JobOption(
        name="time", sets=("input.read_sensors.time",), type=_TEXT, help="Name of the time column.", panel=_READING
    ),
    JobOption(
        name="time_format",
        sets=("input.read_sensors.time_format",),
        type=_TEXT,
        help="Format of the times, such as '%d/%m/%y %H:%M'; day-first or month-first; s, ms, us or ns for Unix times.",
        panel=_READING,
    ),
    JobOption(
        name="timezone",
        sets=("input.read_sensors.timezone", "windows.timezone"),
        type=_TEXT,
        help="Time zone of times without one, and of the derived hour and weekday.",
        panel=_READING,
    ),
    JobOption(
        name="kinds",
        sets=("input.read_sensors.kinds",),
        type=_TEXTS,
        help="Kinds of sensors: a CSV file, or sensor=kind, which may be repeated.",
        panel=_READING,
        convert=_kinds,
    ),
    JobOption(
        name="units",
        sets=("input.read_sensors.units",),
        type=_TEXTS,
        help="Unit of a kind or sensor, such as flow=m³/h; may be repeated.",
        panel=_READING,
        convert=_units,
    ),
    JobOption(
        name="categorical",
        sets=("input.read_sensors.categorical",),
        type=_TEXTS,
        help="Read the numbers of this sensor as states; a name or a glob pattern; may be repeated.",
        panel=_READING,
    ),
    JobOption(
        name="numeric",
        sets=("input.read_sensors.numeric",),
        type=_TEXTS,
        help="Read the numbers of this sensor as numbers, not as states; may be repeated.",
        panel=_READING,
    ),
    JobOption(
        name="read_sensors",
        sets=("input.read_sensors.",),
        type=_TEXTS,
        help="Another option of the reader of sensors as key=value, such as on_error=repair; may be repeated.",
        panel=_READING,
        convert=partial(parse_assignments, flag="--read-sensors"),
    ),
    JobOption(
        name="read_graph",
        sets=("input.read_graph.",),
        type=_TEXTS,
        help="Option of the reader of graphs as key=value, such as format=rdf; may be repeated.",
        panel=_READING,
        convert=partial(parse_assignments, flag="--read-graph"),
    ),
    JobOption(
        name="read_binding",
        sets=("input.read_binding.",),
        type=_TEXTS,
        help="Option of the reader of bindings as key=value, such as node=room; may be repeated.",
        panel=_READING,
        convert=partial(parse_assignments, flag="--read-binding"),
    ),
)

_BINDINGS = (
    JobOption(
        name="bind",
        sets=("input.bind.table",),
        type=_TEXTS,
        help="Node of a sensor as SENSOR=NODE, before all other ways to find it; may be repeated.",
        panel=_BINDING,
        convert=_nodes,
    ),
    JobOption(
        name="bind_rule",
        sets=("input.bind.rule",),
        type=_TEXTS,
        help="How names of sensors lead to nodes, such as '{kind}_{node}'; may be repeated.",
        panel=_BINDING,
        convert=_one_or_several,
    ),
    JobOption(
        name="partial",
        sets=("input.bind.partial",),
        type=bool,
        help="Leave out every sensor that matches no node, however many there are.",
        panel=_BINDING,
    ),
)

_WINDOWS = (
    JobOption(
        name="windows",
        sets=("windows.every",),
        type=_TEXT,
        help="Length of a window, such as 30min; auto is the step of the readings (default: auto).",
        panel=_TABLE,
    ),
    JobOption(
        name="aggregate",
        sets=("windows.aggregate",),
        type=_TEXT,
        help="Aggregation of the readings in a window (default: mean).",
        panel=_TABLE,
    ),
    JobOption(
        name="derive",
        sets=("windows.derive",),
        type=_TEXTS,
        help="Derived columns: change, previous, lag:30min, switch, duration, next, within:30min, hour or weekday; "
        "may be repeated; none for none (default: hour for buildings).",
        panel=_TABLE,
    ),
    JobOption(
        name="origin",
        sets=("windows.origin",),
        type=_TEXT,
        help="Time at which a window begins; the others follow before and after it.",
        panel=_TABLE,
    ),
    JobOption(
        name="empty",
        sets=("windows.empty",),
        type=_TEXT,
        help="Windows without any reading: drop or keep (default: drop).",
        panel=_TABLE,
    ),
)

_ENRICHMENT = (
    JobOption(
        name="enrich",
        sets=("enrich.mode",),
        type=_TEXT,
        help="none, grounded, existential or lifted; auto is lifted with a graph (default: auto).",
        panel=_TABLE,
    ),
    JobOption(
        name="hops",
        sets=("enrich.hops",),
        type=_WHOLE,
        help="Distance in the graph around a sensor, in edges.",
        panel=_TABLE,
    ),
    JobOption(
        name="edges",
        sets=("enrich.edges",),
        type=bool,
        help="Also use labels and edges of the graph as items.",
        panel=_TABLE,
    ),
    JobOption(
        name="properties",
        sets=("enrich.properties",),
        type=_TEXTS,
        help="Only this property of nodes; may be repeated.",
        panel=_TABLE,
    ),
    JobOption(
        name="pattern",
        sets=("enrich.patterns",),
        type=_TEXTS,
        help="Graph pattern for lifted rules; may be repeated.",
        panel=_TABLE,
        convert=_one_or_several,
    ),
    JobOption(
        name="min_embeddings",
        sets=("enrich.min_embeddings",),
        type=_WHOLE,
        help="Fewest places at which a discovered pattern must match.",
        panel=_TABLE,
    ),
    JobOption(
        name="max_embeddings",
        sets=("enrich.max_embeddings",),
        type=_WHOLE,
        help="Most places of one pattern.",
        panel=_TABLE,
    ),
)

_BINS = (
    JobOption(
        name="bins",
        sets=("discretize.bins",),
        type=_WHOLE,
        help="Number of bins (default: 5 for lifted rules, 10 for others).",
        panel=_TABLE,
    ),
    JobOption(
        name="scope",
        sets=("discretize.scope",),
        type=_TEXT,
        help="Bin per 'kind' of sensor or per 'sensor'.",
        panel=_TABLE,
    ),
    JobOption(
        name="method",
        sets=("discretize.method",),
        type=_TEXT,
        help="Binning method (default: frequency).",
        panel=_TABLE,
    ),
    JobOption(
        name="bin_edges",
        sets=("discretize.bin_edges",),
        type=_TEXTS,
        help="Given edges of the bins of a kind, such as flow=[10,20]; may be repeated.",
        panel=_TABLE,
        convert=_edges,
    ),
    JobOption(
        name="fit_until",
        sets=("discretize.fit_until",),
        type=_TEXT,
        help="Fit the bins on readings before this time only.",
        panel=_TABLE,
    ),
    JobOption(
        name="towards",
        sets=("discretize.towards",),
        type=_TEXT,
        help="With --method entropy: the column, sensor or kind whose states the bins tell apart.",
        panel=_TABLE,
    ),
)

_MINERS = (
    JobOption(
        name="miner",
        sets=("miner.name",),
        type=_TEXT,
        help="Name of the miner (default: exact).",
        panel=_SEARCH,
    ),
    JobOption(
        name="min_support",
        sets=("miner.min_support",),
        type=_SHARE,
        help="Minimum support: share of the rows in which a rule holds.",
        panel=_SEARCH,
    ),
    JobOption(
        name="min_confidence",
        sets=("miner.min_confidence",),
        type=_SHARE,
        help="Minimum confidence: share of the rows of the antecedent in which the rule holds.",
        panel=_SEARCH,
    ),
    JobOption(
        name="max_antecedents",
        sets=("miner.max_antecedents",),
        type=_WHOLE,
        help="Maximum number of items in an antecedent.",
        panel=_SEARCH,
    ),
    JobOption(
        name="consequent",
        sets=("miner.consequent",),
        type=_TEXT,
        help="Only rules that conclude this: a column, sensor or kind, or an item such as 'state = open'.",
        panel=_SEARCH,
    ),
    JobOption(
        name="antecedent",
        sets=("miner.antecedent",),
        type=_TEXT,
        help="Only rules with such items on the left: a column, sensor or kind, or an item.",
        panel=_SEARCH,
    ),
    JobOption(
        name="known",
        sets=("known",),
        type=_TEXTS,
        help="Known rules: a TOML file with tables 'known', a run, or a rule 'a < 3 => b = on'; may be repeated.",
        panel=_SEARCH,
        convert=_known,
    ),
    JobOption(
        name="similarity",
        sets=("miner.similarity",),
        type=_SHARE,
        help="Similarity threshold of a neural miner.",
        panel=_SEARCH,
    ),
    JobOption(
        name="setting",
        sets=("miner.",),
        type=_TEXTS,
        help="Setting of the miner as key=value; may be repeated.",
        panel=_SEARCH,
        flag="--set",
        convert=partial(parse_assignments, flag="--set"),
    ),
    JobOption(name="seed", sets=("seed",), type=_WHOLE, help="Random seed (default: 0).", panel=_SEARCH),
    JobOption(
        name="executor",
        sets=("executor.name",),
        type=_TEXT,
        help="Where to mine and count: local (default), or ray for a Ray cluster. The rules are the same.",
        panel=_SEARCH,
    ),
    JobOption(
        name="address",
        sets=("executor.address",),
        type=_TEXT,
        help="Address of the head of the Ray cluster, such as 10.0.0.4:6379 (default: RAY_ADDRESS).",
        panel=_SEARCH,
    ),
    JobOption(
        name="memory_limit",
        sets=("resources.memory_limit",),
        type=_TEXT,
        help="Memory to use, such as 12GiB; what does not fit lies in temporary files (default: 80 % of what is free).",
        panel=_SEARCH,
    ),
)

_RESULTS = (
    JobOption(
        name="refine",
        sets=("refine.apply",),
        type=bool | None,
        help="Keep the rules worth reading (the default), or all that were found.",
        panel=_RESULT,
        flag="--refine/--all",
    ),
    JobOption(
        name="digest",
        sets=("refine.digest",),
        type=_WHOLE,
        help="Most rules to keep: the most informative ones, each fact once (default: 50); 0 for no limit.",
        panel=_RESULT,
    ),
    JobOption(
        name="sharpen",
        sets=("refine.sharpen",),
        type=bool | None,
        help="Replace the bins of rules by sharper ranges, where later time confirms them.",
        panel=_RESULT,
        flag="--sharpen/--no-sharpen",
    ),
    JobOption(
        name="assurance",
        sets=("refine.assurance",),
        type=_SHARE,
        help="Keep rules whose lower confidence bound (at 0.95, say) reaches the minimum.",
        panel=_RESULT,
    ),
    JobOption(
        name="significance",
        sets=("refine.significance",),
        type=_SHARE,
        help="Keep rules that are significant at this level, such as 0.05.",
        panel=_RESULT,
    ),
    JobOption(
        name="cover",
        sets=("refine.cover",),
        type=_SHARE,
        help="Keep the fewest rules that cover this share of the rows; 1 for all.",
        panel=_RESULT,
    ),
    JobOption(
        name="refine_set",
        sets=("refine.",),
        type=_TEXTS,
        help="Another setting of the refinement as key=value, such as improvement=0.02; may be repeated.",
        panel=_RESULT,
        convert=partial(parse_assignments, flag="--refine-set"),
    ),
    JobOption(
        name="top",
        sets=("refine.top",),
        type=_WHOLE,
        help="Maximum number of rules to keep.",
        panel=_RESULT,
    ),
    JobOption(
        name="by",
        sets=("refine.by",),
        type=_TEXT,
        help="Measure to sort by (default: an order to be read in).",
        panel=_RESULT,
    ),
    JobOption(
        name="laws",
        sets=("logic.laws",),
        type=bool | None,
        help="Search the laws of the plant too (default: with a graph and a digest), or not.",
        panel=_RESULT,
        flag="--laws/--no-laws",
    ),
    JobOption(
        name="controls",
        sets=("logic.controls",),
        type=bool | None,
        help="Search what makes actuators switch too (default: with a digest), or not.",
        panel=_RESULT,
        flag="--controls/--no-controls",
    ),
    JobOption(
        name="out",
        sets=("output.path",),
        type=Path | None,
        help="Run folder to write.",
        panel=_RESULT,
        convert=_absolute,
    ),
    JobOption(
        name="force",
        sets=("output.force",),
        type=bool,
        help="Replace an existing run at --out.",
        panel=_RESULT,
    ),
    JobOption(
        name="also",
        sets=("output.also",),
        type=_TEXTS,
        help="Additional file in the run, such as rules.md; may be repeated.",
        panel=_RESULT,
    ),
    JobOption(
        name="report",
        sets=("output.report",),
        type=bool | None,
        help="Write report.html and report.json into the run (default), or not.",
        panel=_RESULT,
        flag="--report/--no-report",
    ),
)

JOB_OPTIONS: tuple[JobOption, ...] = (
    *_SOURCES,
    *_READERS,
    *_BINDINGS,
    *_WINDOWS,
    *_ENRICHMENT,
    *_BINS,
    *_MINERS,
    *_RESULTS,
)
"""All options that set something in the configuration, in the order of the help page."""
