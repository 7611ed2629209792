"""The commands ``mine`` and ``check`` as functions of their options, and the configuration that these result in."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Protocol

import typer
from typer.models import ArgumentInfo

from thence.cli.job_options import JOB_OPTIONS, JobOption, settings_of_options
from thence.cli.options import AsJson, Quiet
from thence.data.stores.urls import is_url, without_credentials
from thence.errors import ConfigError, show_path
from thence.runs.configuration import Config

__all__ = ["default_folder", "with_input_options", "with_job_options"]

_SOURCE_KEYS = ("sensors", "graph", "binding", "ontology", "dataset", "options")
_READER_KEYS = ("read_sensors", "read_graph", "read_binding", "bind")
_AFTER_REFINING = ("by", "top", "min", "max")
# A table of options belongs to one data set and is replaced; other tables are merged key by key.
_REPLACED = ("input.options",)
# The options that say what is read, and those among them that other commands than mine and check do not take.
_INPUT_PANELS, _NO_INPUT = ("Input", "Reading", "Binding"), ("target",)

ConfigFile = Annotated[
    Path | None,
    typer.Argument(metavar="CONFIG.toml", help="Configuration file; options override it.", show_default=False),
]
Strict = Annotated[
    bool, typer.Option("--strict", help="Fail if the graph violates its ontology.", rich_help_panel="Input")
]


class Action(Protocol):
    """What a command does with its configuration."""

    def __call__(self, config: Config, *, as_json: bool, quiet: bool, strict: bool) -> None: ...


def with_job_options(action: Action) -> Callable[..., None]:
    """Return a command that takes the options of a job and calls ``action`` with the resulting configuration."""

    def job(
        *, config: Path | None = None, strict: bool = False, as_json: bool = False, quiet: bool = False, **given: Any
    ) -> None:
        action(configure(config, given), as_json=as_json, quiet=quiet, strict=strict)

    # Typer reads the options of a command from the signature of its function.
    parameters = [
        _parameter("config", ConfigFile, None),
        *(_parameter(option.name, _annotation(option), _default(option)) for option in JOB_OPTIONS),
        _parameter("strict", Strict, False),
        _parameter("as_json", AsJson, False),
        _parameter("quiet", Quiet, False),
    ]
    job.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    job.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return job


def with_input_options(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that also takes a configuration file and the options of ``mine`` that say what is read.

    Args:
        command: A command; its parameter ``source`` is the resulting configuration. Its own arguments come before the
            configuration file.
    """
    own = [p for p in inspect.signature(command, eval_str=True).parameters.values() if p.name != "source"]
    inputs = [option for option in JOB_OPTIONS if option.panel in _INPUT_PANELS and option.name not in _NO_INPUT]

    @functools.wraps(command)
    def wrapped(*, config: Path | None = None, **given: Any) -> None:
        values = {option.name: given.pop(option.name) for option in inputs}
        command(source=configure(config, values), **given)

    own = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own]
    parameters = [
        *(p for p in own if _is_argument(p)),
        _parameter("config", ConfigFile, None),
        *(_parameter(option.name, _annotation(option), _default(option)) for option in inputs),
        *(p for p in own if not _is_argument(p)),
    ]
    wrapped.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return wrapped


def _is_argument(parameter: inspect.Parameter) -> bool:
    """Whether a parameter is an argument by its position, not an option."""
    metadata = getattr(parameter.annotation, "__metadata__", ())
    return any(isinstance(one, ArgumentInfo) for one in metadata)


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


def _annotation(option: JobOption) -> Any:
    return Annotated[option.type, typer.Option(option.spelling, help=option.help, rich_help_panel=option.panel)]


def _default(option: JobOption) -> Any:
    return False if option.type is bool else None


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
        recorded = path / "config.toml"
        hint = f"pass {recorded}" if recorded.is_file() else f"for readings, pass --sensors {path}"
        raise ConfigError("a configuration file ends in .toml", where=show_path(path), hint=hint)
    _refuse_contradiction(given)
    config = _combine(path, settings_of_options(given))
    if config.output.force and config.output.path is None:
        raise ConfigError(
            "--force replaces the run at --out, which is not given", hint="pass --out FOLDER, or leave out --force"
        )
    return config


def _refuse_contradiction(given: Mapping[str, Any]) -> None:
    """Raise if all rules are asked for together with a setting that selects some."""
    steps = [option for option in JOB_OPTIONS if option.sets[0].startswith("refine.") and option.name != "refine"]
    chosen = [option.spelling for option in steps if given.get(option.name) and option.name not in _AFTER_REFINING]
    if given.get("refine") is False and chosen:
        raise ConfigError(
            f"--all keeps all rules, but {chosen[0]} selects some", hint=f"leave out --all or {chosen[0]}"
        )


def _combine(path: Path | None, given: dict[str, Any]) -> Config:
    config = Config() if path is None else Config.from_toml(path)
    if (seed := given.pop("seed", None)) is not None:
        config = config.with_seed(seed)
    if (mode := given.get("enrich", {}).get("mode")) is not None:
        recorded = path is not None and (path.parent / "provenance.json").exists()
        config = config.with_enrichment(mode, recorded=recorded)
    in_file = config.to_mapping()
    asked, source = given.get("miner", {}), given.get("input", {})
    if asked.get("name", in_file["miner"]["name"]) != in_file["miner"]["name"]:
        del in_file["miner"]
    if given.get("executor", {}).get("name", config.executor.name) != config.executor.name:
        in_file.pop("executor", None)
    if "dataset" in source or "sensors" in source or "system" in given:
        in_file.pop("system", None)
        # Another source replaces all parts of the one in the file; the options of the readers stay, if it has readers.
        replaced = (*_SOURCE_KEYS, *_READER_KEYS) if "dataset" in source else _SOURCE_KEYS
        kept = {key: value for key, value in in_file.get("input", {}).items() if key not in replaced}
        in_file["input"] = kept
    if given.get("refine", {}).get("apply") is False:
        # All rules: the steps of the refinement that the file asks for, or that a run has recorded, are left out.
        kept = {key: value for key, value in in_file.get("refine", {}).items() if key in _AFTER_REFINING}
        in_file["refine"] = kept
    return Config.from_mapping(_overridden(in_file, given))


def _overridden(base: Mapping[str, Any], changes: Mapping[str, Any], place: str = "") -> dict[str, Any]:
    """A nested mapping with the values of another one in their places."""
    out = dict(base)
    for name, value in changes.items():
        path = f"{place}{name}"
        inner = base.get(name)
        both = isinstance(value, Mapping) and isinstance(inner, Mapping) and path not in _REPLACED
        out[name] = _overridden(inner, value, f"{path}.") if both else value  # type: ignore[arg-type]
    return out


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
