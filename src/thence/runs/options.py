"""The table of options: what a job can be asked for, in Python, on the command line and in a configuration file.

The rows are the settings of the configuration, which its sections declare, and those keywords of readers and miners
that have an option of their own. From the table come the keywords of ``mine`` and ``transactions``, the options of the
command line, the hints of errors and ``docs/guide/options.md``.
"""

from __future__ import annotations

import inspect
import re
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, TypedDict, TypeVar, get_args, get_type_hints

from thence._base.settings.numbers import MOST_ANTECEDENTS, shown
from thence._base.settings.typed import Location, build, converted
from thence.errors import ConfigError
from thence.language.patterns import Pattern
from thence.runs.configuration import INPUT_FILES, READERS, SECTIONS, Config, Paths, absolute_path, miner_table

COMMON = (
    *("sensors", "graph", "binding", "dataset", "options", "windows", "enrich", "bins"),
    *("min_support", "min_confidence", "consequent", "refine", "digest", "out", "force"),
)
"""The options that most people need, which are on the first help page."""
OTHER_DEFAULTS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        # A table of the readings alone, unless an enrichment is asked for.
        "transactions": {"enrich": "none"},
        # Those of the published measurements: enrichments are compared on the same windows and bins.
        "evaluate.generalise": {"windows": "30min", "bins": 10, "min_support": 0.02, "hops": 2},
    }
)
"""The defaults of functions and commands that are not those of the table, with the reason for each."""
AFTER_REFINING = ("max_consequents", "by", "top", "min", "max")
"""The settings of ``[refine]`` that hold for all rules too."""
_PANELS = {
    "input.read_": "Reading",
    "input.bind.": "Binding",
    "input": "Input",
    "system": "Input",
    **dict.fromkeys(("windows", "discretize", "enrich"), "Transactions"),
    **dict.fromkeys(("miner", "known", "seed", "executor", "resources"), "Mining"),
    **dict.fromkeys(("refine", "logic", "output"), "Result"),
}


@dataclass(frozen=True)
class Option:
    """A row of the table.

    Args:
        name: The keyword in Python.
        places: The settings that it sets, each as a path in a TOML file such as ``windows.every``. A path that ends in
            a dot is a table into which a mapping is merged.
        type: The type of the setting.
        help: What it is, in a sentence without its full stop.
        default: The default; ``None`` if it depends on the data, the reader or the miner.
        flag: The option on the command line, where it is not the name; with its opposite after a slash.
        in_python: Whether ``mine`` has a keyword for it.
    """

    name: str
    places: tuple[str, ...]
    type: Any
    help: str
    default: Any = None
    flag: str = ""
    in_python: bool = True

    @property
    def flags(self) -> list[str]:
        """The option on the command line, and its opposite if it has one."""
        plain = self.name.replace("_", "-")
        both = self.is_switch and self.default is not False
        return self.flag.split("/") if self.flag else [f"--{plain}", *([f"--no-{plain}"] if both else [])]

    @property
    def is_switch(self) -> bool:
        """Whether it is either on or off."""
        return self.type in (bool, bool | None)

    @property
    def is_listed(self) -> bool:
        """Whether it takes several texts or a table, so that it may be repeated on the command line."""
        return any(typing.get_origin(one) in (tuple, Mapping) for one in alternatives(self.type))

    @property
    def panel(self) -> str:
        """Where it stands on the help page."""
        return next(title for start, title in _PANELS.items() if self.places[-1].startswith(start))


def alternatives(annotation: Any) -> tuple[Any, ...]:
    """Return the members of a union, and any other type alone."""
    union = typing.get_origin(annotation) in (typing.Union, types.UnionType)
    return get_args(annotation) if union else (annotation,)


def _rows_of(section: str) -> list[Option]:
    """The rows of the settings that a section declares with an option."""
    hints, out = get_type_hints(SECTIONS[section]), []
    for one in fields(SECTIONS[section]):
        given, default = one.metadata, None if one.default is MISSING else one.default
        if given["name"] is not None:
            places = tuple(place for place in (f"{section}.{one.name}", given["also"]) if place)
            out.append(
                Option(given["name"] or one.name, places, hints[one.name], given["help"], default, given["flag"])
            )
    return out


def _rows_in(place: str, *declared: tuple[Any, ...]) -> list[Option]:
    """Rows for the settings of a table that is no section: those of readers and miners."""
    return [Option(name, (f"{place}.{name}",), *rest) for name, *rest in declared]


_TEXTS, _TABLE = tuple[str, ...], Mapping[str, Any]
OPTIONS: tuple[Option, ...] = (
    *_rows_of("input"),
    Option("system", ("system",), Mapping[str, str], "Folders of several systems to mine together, as NAME=FOLDER"),
    *_rows_in(
        "input.read_sensors",
        ("ignore", _TEXTS, "Columns or sensors to leave out; names or glob patterns"),
        ("time", str, "Name of the time column"),
        ("time_format", str, "Format of the times: %d/%m/%y %H:%M, day-first, month-first; s, ms, us or ns of Unix"),
        ("step", str, "Time between rows of tables without times, such as 3min"),
        ("kinds", str | _TABLE, "Kinds of sensors: a CSV file, or sensor=kind"),
        ("units", Mapping[str, str], "Units of kinds or sensors, such as flow=m³/h"),
        ("categorical", _TEXTS, "Sensors whose numbers are states; names or glob patterns"),
        ("numeric", _TEXTS, "Sensors whose numbers are numbers, not states; names or glob patterns"),
        ("counters", _TEXTS, "Meters to read as rates per hour: auto finds them, none keeps what they show; or names"),
        ("codes", bool, "Leave out numbers that several sensors write where there is no reading, such as -999", True),
    ),
    Option("read_sensors", ("input.read_sensors.",), _TABLE, "Other options of read_sensors, such as on_error=repair"),
    Option("read_graph", ("input.read_graph.",), _TABLE, "Options of read_graph, such as format=rdf"),
    Option("read_binding", ("input.read_binding.",), _TABLE, "Options of read_binding, such as node=room"),
    Option("bind", ("input.bind.table",), Mapping[str, str], "Nodes of single sensors, before all others: SENSOR=NODE"),
    Option("bind_rule", ("input.bind.rule",), Paths, "How names of sensors lead to nodes, such as '{kind}_{node}'"),
    Option("partial", ("input.bind.partial",), bool, "Leave out all sensors that match no node, however many", False),
    *_rows_of("windows"),
    *_rows_of("enrich"),
    *_rows_of("discretize"),
    *_rows_of("miner"),
    *_rows_in(
        "miner",
        ("min_support", float, "Minimum support: share of the rows in which a rule holds"),
        ("min_confidence", float, "Minimum confidence: share of the rows of the antecedent in which the rule holds"),
        ("consequent", str, "Only rules that conclude this: a column, sensor or kind, or an item: 'state = open'"),
        ("antecedent", str, "Only rules with such items on the left: a column, sensor or kind, or an item"),
        (
            "max_antecedents",
            int,
            f"Maximum number of items in an antecedent; None in Python or {MOST_ANTECEDENTS}: any",
            2,
        ),
        ("similarity", float, "Similarity threshold of a neural miner"),
    ),
    Option("setting", ("miner.",), _TABLE, "Any settings of the miner as key=value", flag="--set", in_python=False),
    Option("known", ("known",), _TEXTS, "Known rules: a TOML file, a run, or a rule such as 'a < 3 => b = on'"),
    Option("seed", ("seed",), int, "Random seed", 0),
    *_rows_of("executor"),
    *_rows_of("resources"),
    *_rows_of("refine"),
    Option("refine_set", ("refine.",), _TABLE, "Other settings of [refine], as improvement=0.02", in_python=False),
    *_rows_of("logic"),
    *_rows_of("output"),
)
"""All options, in the order of the help page."""


class FeatureOptions(TypedDict, total=False):
    """The keywords of ``feature_table``, which are options of the table."""

    windows: str | None
    aggregate: str | Mapping[str, str] | None
    derive: str | Iterable[str] | None
    origin: str | None
    empty: Literal["drop", "keep"] | None
    hold: str | None
    keep_unhealthy: bool | None
    timezone: str | None
    enrich: str | None
    hops: int | None
    properties: str | Iterable[str] | None


class TableOptions(FeatureOptions, total=False):
    """The keywords of ``transactions``, which are options of the table."""

    edges: bool | None
    patterns: str | Pattern | Iterable[str | Pattern] | None
    min_embeddings: int | None
    max_embeddings: int | None
    bins: int | None
    scope: str | None
    method: str | None
    bin_edges: Mapping[str, Sequence[float]] | None
    fit_until: str | None
    towards: str | None


class MineOptions(TableOptions, total=False):
    """The keywords of ``mine``, which are options of the table."""

    dataset: str | None
    options: Mapping[str, Any] | None
    system: Mapping[str, str | Path] | None
    target: str | None
    basket: bool | None
    select: str | Iterable[str] | None
    start: str | None
    end: str | None
    ignore: str | Iterable[str] | None
    time: str | None
    time_format: str | None
    step: str | None
    kinds: str | Path | Mapping[str, Any] | None
    units: Mapping[str, str] | None
    categorical: str | Iterable[str] | None
    numeric: str | Iterable[str] | None
    codes: bool | None
    counters: str | Iterable[str] | None
    read_sensors: Mapping[str, Any] | None
    read_graph: Mapping[str, Any] | None
    read_binding: Mapping[str, Any] | None
    bind: Mapping[str, str] | None
    bind_rule: str | Iterable[str] | None
    partial: bool | None
    min_support: float | None
    min_confidence: float | None
    max_antecedents: int | None
    consequent: Any
    antecedent: Any
    similarity: float | None
    known: Any
    seed: int | None
    address: str | None
    memory_limit: str | None
    digest: int | None
    confirm: bool | None
    sharpen: bool | None
    assurance: float | None
    significance: float | None
    cover: bool | float | None
    max_consequents: int | None
    top: int | None
    by: str | None
    laws: bool | None
    controls: bool | None
    formulas: str | Iterable[str] | None
    out: str | Path | None
    force: bool | None
    also: str | Iterable[str] | None
    report: bool | None


F = TypeVar("F", bound=Callable[..., Any])


def with_keywords(keywords: type, **defaults: Any) -> Callable[[F], F]:
    """Write the options of ``keywords`` into the signature and the docstring of a function that takes ``**options``.

    Args:
        keywords: ``FeatureOptions``, ``TableOptions`` or ``MineOptions``.
        **defaults: Defaults that are not those of the table.
    """
    rows = [option for option in OPTIONS if option.name in keywords.__annotations__]

    def write(function: F) -> F:
        before = inspect.signature(function)
        own = [one for one in before.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
        more = [
            inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, default=defaults.get(one.name, one.default))
            for one in rows
        ]
        function.__signature__ = before.replace(parameters=[*own, *more])  # type: ignore[attr-defined]
        entries = "".join(f"        {one.name}: {one.help}.\n" for one in rows)
        function.__doc__ = re.sub(r" +\*\*options:.*\n( {12}.*\n)*", lambda _: entries, function.__doc__ or "")
        return function

    return write


def with_options(config: Config, given: Mapping[str, Any], *, recorded: bool = False) -> Config:
    """Return a configuration with options in the place of its values.

    Another source replaces all parts of the one that it has, another miner the settings, another executor the address,
    and ``refine=False`` the steps of the refinement. Tables are merged key by key.

    Args:
        config: The configuration.
        given: Values by the name of the option; what is ``None`` is not given.
        recorded: As in ``Config.with_enrichment``.

    Examples:
        >>> with_options(Config(), {"windows": "1h", "digest": 20}).refine.digest
        20
    """
    asked = _settings_of(given)
    chosen = {name: asked.get(name, {}) for name in SECTIONS}
    if "seed" in asked:
        config = config.with_seed(asked["seed"])
    if "mode" in chosen["enrich"]:
        config = config.with_enrichment(chosen["enrich"]["mode"], recorded=recorded)
    if "system" in asked or {"dataset", "sensors"} & chosen["input"].keys():
        config = replace(config, system=(), input=config.input.without_source())
        if "dataset" in chosen["input"]:
            readers: dict[str, Any] = {name: {} for name in READERS}
            config = replace(config, input=replace(config.input, **readers))
    for name in ("miner", "executor"):
        if "name" in chosen[name] and chosen[name]["name"] != getattr(config, name).name:
            config = replace(config, **{name: SECTIONS[name]()})
    if chosen["refine"].get("apply") is False:
        config = replace(config, refine=config.refine.without_steps())
    changed: dict[str, Any] = {name: asked[name] for name in ("system", "known") if name in asked}
    for name, values in chosen.items():
        if values:
            before = {one.name: getattr(getattr(config, name), one.name) for one in fields(SECTIONS[name])}
            table = _merged(before, miner_table(values) if name == "miner" else values)
            changed[name] = build(SECTIONS[name], table, Location(path=(name,)))
    return replace(config, **changed)


def _settings_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """The nested settings that options set."""
    out: dict[str, Any] = {}
    for option in OPTIONS:
        if given.get(option.name) is None:
            continue
        value = _stored(option, given[option.name])
        if option.name not in ("system", "known"):
            converted(option.name, value, option.type)
        for place in option.places:
            if len(option.places) > 1 and place.startswith("input.read_") and given.get("dataset") is not None:
                continue  # a data set has no files to read
            *sections, last = place.split(".")
            table = out
            for name in sections:
                table = table.setdefault(name, {})
            table |= {last: value} if last else value
    return out


def _stored(option: Option, value: Any) -> Any:
    """A value of Python as a configuration stores it."""
    is_path, kinds = isinstance(value, (str, Path)), alternatives(option.type)
    if option.name in INPUT_FILES:
        paths = [absolute_path(option.name, str(one), Path.cwd()) for one in ([value] if is_path else value)]
        return paths[0] if len(paths) == 1 else paths
    if option.name == "kinds" and is_path:
        return str(Path(value).expanduser().absolute())
    if option.name == "out":
        return str(value)
    if option.name == "patterns" and not isinstance(value, str):
        return [str(one) for one in ([value] if isinstance(value, Pattern) else value)]
    if option.name == "bin_edges" and isinstance(value, Mapping):
        return {kind: list(edges) for kind, edges in value.items()}
    if option.name == "system":
        from thence.runs.folders import find_system_files

        pairs = value.items() if isinstance(value, Mapping) else value
        return tuple(find_system_files(name, Path(folder).expanduser()) for name, folder in pairs)
    if option.name == "known":
        from thence.runs.known import read_known

        return tuple(read_known(value))
    if _TEXTS not in kinds or (isinstance(value, str) and str in kinds):
        return value
    several = [value] if isinstance(value, str) else value
    if isinstance(several, Mapping) or not isinstance(several, Iterable):
        raise ConfigError(f"'{option.name}' must be a name or a list of names, got {shown(value)}")
    out = list(several)
    for one in out:
        if not isinstance(one, str):
            raise ConfigError(f"'{option.name}' must be a name or a list of names, got {shown(one)} in it")
    return out


def _merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """A nested mapping with the values of another one in their places; the options of a data set are replaced."""
    out = dict(base)
    for name, value in changes.items():
        both = isinstance(value, Mapping) and isinstance(base.get(name), Mapping) and name != "options"
        out[name] = _merged(base[name], value) if both else value
    return out
