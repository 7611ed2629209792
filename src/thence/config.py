"""The whole configuration of a run, section by section, from and to TOML.

A configuration is data: it checks its own spelling and the kinds of its values, and nothing here reads sensors or
mines. A misspelt key is refused with the nearest valid one and its line in the file. ``docs/guide/command-line.md``
lists every section with an example.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

from ._settings import Place, build, check_keywords, refuse_unknown
from ._toml import dumps
from .errors import ConfigError

__all__ = [
    "Config",
    "DiscretizeConfig",
    "EnrichConfig",
    "InputConfig",
    "MinerConfig",
    "OutputConfig",
    "RefineConfig",
    "WindowsConfig",
]

Paths = str | tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class InputConfig:
    """What is read: files, or a data set by name with its options; which sensors and which period of it.

    ``read_sensors``, ``read_graph`` and ``bind`` hold further keywords of the functions of the same names.
    """

    sensors: Paths | None = None
    graph: Paths | None = None
    ontology: Paths | None = None
    binding: Paths | None = None
    dataset: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    read_sensors: Mapping[str, Any] = field(default_factory=dict)
    read_graph: Mapping[str, Any] = field(default_factory=dict)
    bind: Mapping[str, Any] = field(default_factory=dict)
    select: tuple[str, ...] = ()
    start: str | None = None
    end: str | None = None

    def __post_init__(self) -> None:
        given = [name for name in ("sensors", "graph", "ontology", "binding") if getattr(self, name) is not None]
        if self.dataset is not None and given:
            raise ConfigError(f"a data set brings its own {given[0]}", hint=f"give 'dataset' or '{given[0]}', not both")
        if self.options and self.dataset is None:
            raise ConfigError("'options' are for a data set, and none is named", hint="set 'dataset'")


@dataclass(frozen=True, kw_only=True)
class WindowsConfig:
    """How readings are put into windows; see :func:`thence.windows.window`."""

    every: str = "30min"
    aggregate: str | Mapping[str, str] = "mean"
    derive: tuple[str, ...] = ()
    origin: str = "epoch"
    timezone: str = "UTC"


@dataclass(frozen=True, kw_only=True)
class DiscretizeConfig:
    """How numbers become bins; ``scope`` is ``kind`` unless the enrichment is ``lifted``, then ``sensor``.

    ``fit_until`` fits the bins on what was read before that time alone.
    """

    bins: int = 10
    scope: str | None = None
    method: str = "frequency"
    edges: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    fit_until: str | None = None


@dataclass(frozen=True, kw_only=True)
class EnrichConfig:
    """What the graph adds; see :func:`thence.enrich.build`."""

    mode: str = "none"
    hops: int = 0
    edges: bool = False
    properties: tuple[str, ...] | None = None
    patterns: Paths = "auto"
    min_embeddings: int = 3
    max_embeddings: int = 200_000


@dataclass(frozen=True, kw_only=True)
class MinerConfig:
    """Which miner, and its settings. In a file the settings stand beside the name."""

    name: str = "exact"
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class RefineConfig:
    """Which of the rules found are kept, and in which order.

    ``apply``, or any of the settings of :func:`thence.refine.refine` from ``trivia`` to ``null``, runs the refinement.
    After it ``min`` and ``max`` bound any measure, and ``top`` keeps the best by the measure ``by``.
    """

    apply: bool = False
    trivia: bool | None = None
    redundancy: bool | None = None
    improvement: float | None = None
    assurance: float | None = None
    significance: float | None = None
    merge: bool | None = None
    cover: bool | float | None = None
    min_confidence: float | None = None
    null: Mapping[str, Any] = field(default_factory=dict)
    by: str = "zhang"
    top: int | None = None
    min: Mapping[str, float] = field(default_factory=dict)
    max: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.top is not None and self.top < 1:
            raise ConfigError(f"'top' must be at least 1, got {self.top}")
        if self.assurance:
            from .assurance import require_assurance

            require_assurance(self.assurance)

    @property
    def steps(self) -> dict[str, Any] | None:
        """The settings of the refinement that are given, or ``None`` where there is to be none."""
        names = ("trivia", "redundancy", "improvement", "assurance", "significance", "merge", "cover", "min_confidence")
        given = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        if self.null:
            given["null"] = dict(self.null)
        return given if self.apply or given else None


@dataclass(frozen=True, kw_only=True)
class OutputConfig:
    """Where the run goes, whether it replaces one that is there, and further files beside the rules.

    ``also`` names files to be written into the run folder, such as ``rules.md`` or ``rules.pmml``.
    """

    path: str | None = None
    force: bool = False
    also: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in self.also:
            if not re.fullmatch(r"\w[\w. -]*", name):
                raise ConfigError(f"'also' names files inside the run folder, got '{name}'")


_SECTIONS: dict[str, type] = {
    "input": InputConfig,
    "windows": WindowsConfig,
    "discretize": DiscretizeConfig,
    "enrich": EnrichConfig,
    "miner": MinerConfig,
    "refine": RefineConfig,
    "output": OutputConfig,
}


@dataclass(frozen=True, kw_only=True)
class Config:
    """Everything that decides what a run does.

    >>> config = Config.from_mapping({"windows": {"every": "1h"}, "miner": {"name": "exact", "min_support": 0.05}})
    >>> config.windows.every, config.miner.settings
    ('1h', {'min_support': 0.05})
    >>> Config.from_mapping({"windows": {"evry": "1h"}})
    Traceback (most recent call last):
    thence.errors.ConfigError: [windows]: unknown setting 'evry' (did you mean 'every'?)
    """

    seed: int = 0
    input: InputConfig = field(default_factory=InputConfig)
    windows: WindowsConfig = field(default_factory=WindowsConfig)
    discretize: DiscretizeConfig = field(default_factory=DiscretizeConfig)
    enrich: EnrichConfig = field(default_factory=EnrichConfig)
    miner: MinerConfig = field(default_factory=MinerConfig)
    refine: RefineConfig = field(default_factory=RefineConfig)
    output: OutputConfig = field(default_factory=OutputConfig)

    @staticmethod
    def from_toml(path: str | Path, *, check: bool = True) -> Config:
        """Read a file; relative paths in it start at its folder. ``check`` also checks what the miner knows."""
        path = Path(path)
        try:
            text = path.read_text(encoding="utf-8")
        except OSError as error:
            raise ConfigError(f"cannot be read ({error.strerror or error})", where=str(path)) from error
        except UnicodeDecodeError as error:
            raise ConfigError("this is not text in UTF-8", where=str(path)) from error
        try:
            data = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise ConfigError(f"this is not TOML: {error}", where=str(path)) from error
        place = Place(str(path), text)
        config = _build(data, place)._relative_to(path.parent.absolute())
        return config.check(place=place) if check else config

    @staticmethod
    def from_mapping(data: Mapping[str, Any]) -> Config:
        """From nested mappings with the names of the TOML form."""
        return _build(data, Place()).check()

    def to_mapping(self) -> dict[str, Any]:
        """The inverse of :meth:`from_mapping`; what is not set is left out."""
        out: dict[str, Any] = {"seed": self.seed}
        for name in _SECTIONS:
            section = getattr(self, name)
            values = {f.name: _plain(getattr(section, f.name)) for f in fields(section)}
            if name == "miner":
                values = {"name": section.name, **values["settings"]}
            kept = {key: value for key, value in values.items() if value is not None and value not in ({}, [])}
            for flag in ("force", "apply"):
                # A flag that is not raised needs no line.
                if kept.get(flag) is False:
                    del kept[flag]
            if kept:
                out[name] = kept
        return out

    def to_toml(self) -> str:
        """The configuration as TOML, every value in use written out."""
        return dumps(self.to_mapping())

    def check(self, *, place: Place | None = None) -> Config:
        """Check what only other modules know: the settings of the miner, the readers and the data set."""
        place = place or Place()
        _check_miner(self.miner, place.inside("miner"))
        _check_readers(self.input, place.inside("input"))
        if self.refine.null:
            from .refine import Null

            check_keywords(Null, self.refine.null, place.inside("refine").inside("null"), without=())
        return self

    def _relative_to(self, folder: Path) -> Config:
        def absolute(given: Paths | None) -> Paths | None:
            if given is None:
                return None
            if isinstance(given, str):
                # The ontology that ships with the package has a name, not a path.
                return given if given == "water" else str(folder / given)
            return tuple(str(folder / one) for one in given)

        changed: dict[str, Any] = {
            name: absolute(getattr(self.input, name)) for name in ("sensors", "graph", "ontology", "binding")
        }
        if isinstance(kinds := self.input.read_sensors.get("kinds"), str):
            changed["read_sensors"] = {**self.input.read_sensors, "kinds": absolute(kinds)}
        output = self.output if self.output.path is None else replace(self.output, path=str(folder / self.output.path))
        return replace(self, input=replace(self.input, **changed), output=output)


def _build(data: Mapping[str, Any], place: Place) -> Config:
    refuse_unknown(data, ["seed", *_SECTIONS], place, says="unknown section or setting '{}'")
    seed = data.get("seed", 0)
    if not isinstance(seed, int) or isinstance(seed, bool):
        raise place.error("seed", f"'seed' must be a whole number, got {seed!r}")
    sections: dict[str, Any] = {}
    for name, cls in _SECTIONS.items():
        table = data.get(name, {})
        if name == "miner" and isinstance(table, Mapping):
            settings = {key: value for key, value in table.items() if key != "name"}
            table = {"settings": settings, **({"name": table["name"]} if "name" in table else {})}
        sections[name] = build(cls, table, place.inside(name))
    return Config(seed=seed, **sections)


def _check_miner(miner: MinerConfig, place: Place) -> None:
    from .miners.base import make_miner

    try:
        default = make_miner(miner.name)
        known = [f.name for f in fields(default)] if is_dataclass(default) else None
        if known is not None:
            refuse_unknown(miner.settings, known, place, says=f"the miner '{miner.name}' has no setting '{{}}'")
        make_miner(miner.name, **miner.settings)
    except ConfigError as error:
        key = next((name for name in miner.settings if name in error.message), "name")
        raise ConfigError(error.message, where=error.where or place.of(key), hint=error.hint) from error


def _check_readers(given: InputConfig, place: Place) -> None:
    if given.dataset is not None:
        from . import datasets

        try:
            known = datasets.info(given.dataset).options
        except ConfigError as error:
            raise ConfigError(error.message, where=place.of("dataset"), hint=error.hint) from error
        refuse_unknown(
            given.options, known, place.inside("options"), says=f"the data set '{given.dataset}' has no option '{{}}'"
        )
    if given.read_sensors:
        from .sources import read_sensors

        check_keywords(read_sensors, given.read_sensors, place.inside("read_sensors"), without=["source"])
    if given.read_graph:
        from .loaders import read_graph

        check_keywords(read_graph, given.read_graph, place.inside("read_graph"), without=["source"])
    if given.bind:
        from .binding import bind

        check_keywords(bind, given.bind, place.inside("bind"), without=["sensors", "graph"])


def _plain(value: Any) -> Any:
    """A setting in the types of TOML; objects are written by their fields, leaving out what is empty."""
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        members = sorted(value) if isinstance(value, (set, frozenset)) else value
        return [_plain(member) for member in members]
    if is_dataclass(value) and not isinstance(value, type):
        inner = {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
        return {key: content for key, content in inner.items() if content is not None and content not in ([], {})}
    if type(value).__module__ == "numpy":
        # A number is written; an array is not a setting that a person would write down, and is only named.
        return value.item() if value.ndim == 0 else f"array of shape {value.shape}"
    return value if value is None or isinstance(value, (str, bool, int, float)) else str(value)
