"""The commands whose options come from the table of options: their parameters, and the configuration that they give."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand
from typer.models import ArgumentInfo

from thence.cli.options import parameters_of, parse_assignments, set_parameters
from thence.data.stores.urls import is_url, without_credentials
from thence.errors import ConfigError, show_path
from thence.runs.configuration import DESCRIBING, Config
from thence.runs.options import AFTER_REFINING, COMMON, OPTIONS, OTHER_DEFAULTS, Option, alternatives, with_options

# The options that say what is read, and those among them that other commands than mine and check do not take.
_INPUT_PANELS, _NO_INPUT = ("Input", "Reading", "Binding"), ("target",)
_ADVANCED = {(option.name, option.panel) for option in OPTIONS if option.name not in COMMON} | {("strict", "Input")}

ConfigFile = Annotated[
    Path | None,
    typer.Argument(metavar="CONFIG.toml", help="Configuration file; options override it.", show_default=False),
]
Strict = Annotated[
    bool, typer.Option("--strict", help="Fail if the graph violates its ontology.", rich_help_panel="Input")
]


def _print_all(ctx: typer.Context, wanted: bool) -> None:
    if wanted:
        ctx.meta[_HELP_ALL] = True
        typer.echo(ctx.get_help())
        raise typer.Exit


_HELP_ALL = "thence.help_all"
HelpAll = Annotated[bool, typer.Option("--help-all", callback=_print_all, is_eager=True, help="Show all options.")]


class JobCommand(TyperCommand):
    """A command with options of the table; its help page shows the common ones, unless all are asked for."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help page."""
        everything = self.params
        if not ctx.meta.get(_HELP_ALL):
            named = {one: (one.name, getattr(one, "rich_help_panel", None)) for one in everything}
            self.params = [one for one in everything if named[one] not in _ADVANCED]
        try:
            super().format_help(ctx, formatter)
        finally:
            self.params = everything


def with_table(
    *names: str, reads: str = "input", like: str = "", panel: str | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command options of the table.

    Args:
        *names: Single options; the parameter ``settings`` of the command has the values of those given.
        reads: The options that make a configuration, together with a configuration file: those of a whole ``"job"``,
            those of its ``"input"``, or ``"nothing"``. The configuration is the parameter ``source`` of the command,
            whose own arguments come before the file.
        like: The function whose defaults the single options have, if it is one of ``OTHER_DEFAULTS``.
        panel: The panel of the single options on the help page.
    """
    other = OTHER_DEFAULTS.get(like, {})
    single = [replace(one, default=other.get(one.name, one.default)) for one in OPTIONS if one.name in names]
    inputs = [one for one in OPTIONS if one.panel in _INPUT_PANELS and one.name not in _NO_INPUT]
    rows = {"job": list(OPTIONS), "input": inputs, "nothing": []}[reads]

    def give(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def wrapped(*, help_all: bool = False, **given: Any) -> None:
            if single:
                given["settings"] = read_values({one.name: given.pop(one.name) for one in single})
            if rows:
                values = {one.name: given.pop(one.name) for one in rows}
                given["source"] = configure(given.pop("config"), values)
            command(**given)

        own = [one for one in parameters_of(command) if one.name not in ("source", "settings")]
        parameters = [
            *(one for one in own if _is_argument(one)),
            *([_parameter("config", ConfigFile, None)] if rows else []),
            *(_option(one, one.panel) for one in rows),
            *(_option(one, panel) for one in single),
            *(one for one in own if not _is_argument(one)),
            *([_parameter("help_all", HelpAll, False)] if rows else []),
        ]
        set_parameters(wrapped, parameters)
        return wrapped

    return give


def _is_argument(parameter: inspect.Parameter) -> bool:
    """Whether a parameter is an argument by its position, not an option."""
    metadata = getattr(parameter.annotation, "__metadata__", ())
    return any(isinstance(one, ArgumentInfo) for one in metadata)


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


def _option(option: Option, panel: str | None) -> inspect.Parameter:
    """A row of the table as a parameter; what is not given is ``None``, or ``False`` for a flag without an opposite."""
    text = f"{option.help}; may be repeated" if option.is_listed else option.help
    if option.default not in (None, ()) and not isinstance(option.default, bool):
        text = re.sub(r" \(default: .*?\)", "", text) + f" (default: {option.default})"
    described = typer.Option("/".join(option.flags), help=f"{text}.", rich_help_panel=panel, show_default=False)
    if option.is_switch and len(option.flags) == 1:
        return _parameter(option.name, Annotated[bool, described], False)
    return _parameter(option.name, Annotated[_type(option) | None, described], None)


def _type(option: Option) -> Any:
    """The type on the command line: texts for a list or a table, a number where one is possible."""
    if option.is_listed:
        return list[str]
    kinds = alternatives(option.type)
    return Path if option.name == "out" else next((one for one in (float, int, bool) if one in kinds), str)


def configure(path: Path | None, given: Mapping[str, Any]) -> Config:
    """Return the configuration of a file, overridden by options.

    Args:
        path: The configuration file, if any.
        given: The values of the options by parameter name.

    Examples:
        >>> configure(None, {"dataset": "toy", "bins": 3}).discretize.bins
        3
    """
    if path is None and given.get("dataset") is None and not given.get("sensors") and not given.get("system"):
        raise ConfigError("no input is given", hint="pass a CONFIG.toml, --dataset NAME or --sensors FILE")
    if path is not None and path.suffix.lower() != ".toml":
        of_run = path / "config.toml"
        hint = f"pass {of_run}" if of_run.is_file() else f"for readings, pass --sensors {path}"
        raise ConfigError("a configuration file ends in .toml", where=show_path(path), hint=hint)
    _refuse_contradiction(given)
    recorded = path is not None and (path.parent / "provenance.json").exists()
    base = Config() if path is None else Config.from_toml(path)
    config = with_options(base, read_values(given), recorded=recorded)
    if config.output.force and config.output.path is None:
        raise ConfigError(
            "--force replaces the run at --out, which is not given", hint="pass --out FOLDER, or leave out --force"
        )
    return config.check()


def _refuse_contradiction(given: Mapping[str, Any]) -> None:
    """Raise if all rules are asked for together with a setting that selects some."""
    steps = [option for option in OPTIONS if option.places[0].startswith("refine.") and option.name != "refine"]
    chosen = [one.flags[0] for one in steps if given.get(one.name) and one.name not in AFTER_REFINING]
    if given.get("refine") is False and chosen:
        raise ConfigError(
            f"--all keeps all rules, but {chosen[0]} selects some", hint=f"leave out --all or {chosen[0]}"
        )


def read_values(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of options as Python takes them, without those that were not given.

    Args:
        given: What was given on the command line, by the name of the option; ``None``, an empty list, or ``False`` for
            a flag without an opposite, is not given.

    Raises:
        ConfigError: If a value is empty or has the wrong form, or an option for files is given beside a data set.

    Examples:
        >>> read_values({"windows": "1h", "partial": True, "bins": None, "units": ["flow=l/s"]})
        {'units': {'flow': 'l/s'}, 'partial': True, 'windows': '1h'}
    """
    out: dict[str, Any] = {}
    for option in OPTIONS:
        value, flag = given.get(option.name), option.flags[0]
        if value is None or value == [] or (value is False and len(option.flags) == 1):
            continue
        if value == "" or (isinstance(value, list) and "" in value):
            raise ConfigError(f"{flag} must not be empty", hint=f"leave out {flag}")
        if given.get("dataset") is not None and all(map(_is_for_files, option.places)):
            raise ConfigError(f"{flag} is for files, but --dataset is given", hint=f"leave out {flag}")
        out[option.name] = _FORMS.get(option.name, _read)(option, value)
    return out


def _is_for_files(place: str) -> bool:
    section, _, name = place.rpartition(".")
    return section.startswith(("input.read_", "input.bind")) and not (
        section.endswith("sensors") and name in DESCRIBING
    )


def _read(option: Option, given: Any) -> Any:
    """A table if the option takes one, otherwise one text or several."""
    if not option.is_listed:
        return str(given.absolute()) if isinstance(given, Path) else given
    kinds = alternatives(option.type)
    if tuple[str, ...] in kinds:
        return given[0] if len(given) == 1 and str in kinds else given
    if str in kinds and len(given) == 1 and "=" not in given[0]:
        return given[0]
    return parse_assignments(given, flag=option.flags[0])


def _read_kinds(option: Option, given: list[str]) -> Any:
    if len(given) > 1 and not all("=" in text for text in given):
        raise ConfigError("--kinds takes one file, or sensor=kind, which may be repeated", hint="give one of the two")
    read = _read(option, given)
    if isinstance(read, str):
        return read
    return {sensor: kind if isinstance(kind, list) else str(kind) for sensor, kind in read.items()}


def _read_units(option: Option, given: list[str]) -> dict[str, str]:
    return {name: str(unit) for name, unit in _read(option, given).items()}


def _read_nodes(option: Option, given: list[str]) -> dict[str, str]:
    """The node of each sensor. Ids are strings even if they look like numbers."""
    out: dict[str, str] = {}
    for sensor, node in _pairs("--bind", "SENSOR=NODE", given, str.rpartition):
        if out.setdefault(sensor, node) != node:
            raise ConfigError(f"--bind gives two nodes for the sensor '{sensor}': '{out[sensor]}' and '{node}'")
    return out


def _read_systems(option: Option, given: list[str]) -> list[tuple[str, str]]:
    return list(_pairs("--system", "NAME=FOLDER", given, str.partition))


def _pairs(
    flag: str, form: str, given: list[str], cut: Callable[[str, str], tuple[str, ...]]
) -> Iterable[tuple[str, str]]:
    for text in given:
        name, found, value = (part.strip() for part in cut(text, "="))
        if not found or not name or not value:
            raise ConfigError(f"{flag} takes {form}, got '{text}'")
        yield name, value


def _read_edges(option: Option, given: list[str]) -> dict[str, Any]:
    out: dict[str, Any] = _read(option, given)
    for kind, edges in out.items():
        if not isinstance(edges, list):
            raise ConfigError(f"--bin-edges takes KIND=[NUMBER,…], got '{kind}={edges}'", hint="such as flow=[10,20]")
    return out


_FORMS: dict[str, Callable[[Option, Any], Any]] = {
    "kinds": _read_kinds,
    "units": _read_units,
    "bind": _read_nodes,
    "system": _read_systems,
    "bin_edges": _read_edges,
}


def default_folder(config: Config) -> Path:
    """Return an unused run folder in ``runs``, named after the data set or the first file of readings."""
    sensors = config.input.sensors
    first = without_credentials(sensors if isinstance(sensors, str) else sensors[0] if sensors else "run")
    if is_url(first):
        first = re.sub(r"[^\w.-]+", "-", first.partition("?")[0].rpartition("/")[2]) or "run"
    named = "-".join(one.name for one in config.system)
    name = named or config.input.dataset or Path(first).stem.strip("*?[].") or "run"
    folder, number = Path("runs") / name, 1
    while folder.exists():
        number += 1
        folder = Path("runs") / f"{name}-{number}"
    return folder.absolute()
