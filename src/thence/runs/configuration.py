"""The whole configuration of a run, section by section, from and to TOML.

A configuration is data: it checks its own spelling and the kinds of its values, and nothing here reads sensors or
mines. A misspelt key is refused with the nearest valid one and its line in the file. ``docs/guide/command-line.md``
lists every section with an example.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from numbers import Integral
from pathlib import Path
from typing import Any

from thence.errors import ConfigError, PatternError, nearest
from thence.runs.sections import (
    DiscretizeConfig,
    EnrichConfig,
    InputConfig,
    MinerConfig,
    OutputConfig,
    RefineConfig,
    WindowsConfig,
    absolute,
    require_zone,
    usual_scope,
)
from thence.settings.toml import toml_text
from thence.settings.typed import Place, build, check_keywords, refuse_unknown

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

    def __post_init__(self) -> None:
        if not isinstance(self.seed, Integral) or isinstance(self.seed, bool) or self.seed < 0:
            raise ConfigError(f"'seed' must be a whole number from 0 on, got {self.seed!r}")

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
        """The inverse of ``from_mapping``; what is not set is left out."""
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
        return toml_text(self.to_mapping())

    def check(self, *, place: Place | None = None) -> Config:
        """Check what only other modules know: the settings of the miner, the readers and the data set."""
        place = place or Place()
        _check_miner(self.miner, place.inside("miner"))
        _check_readers(self.input, place.inside("input"))
        _check_patterns(self.enrich, place.inside("enrich"))
        self.check_result(place=place)
        return self

    def check_result(self, *, place: Place | None = None) -> None:
        """Check what is wanted of the rules: measures that there will be, and worlds that can be drawn."""
        place = (place or Place()).inside("refine")
        if self.refine.null:
            from thence.refinement import Null

            build(Null, self.refine.null, place.inside("null"))
        known = _measures(self)
        if known is None:
            return
        if self.refine.by not in known:
            hint = nearest(self.refine.by, known) or "there are: " + ", ".join(known)
            raise place.error("by", f"unknown measure '{self.refine.by}'", hint=hint)
        for side in ("min", "max"):
            refuse_unknown(getattr(self.refine, side), known, place.inside(side), says="unknown measure '{}'")

    def with_seed(self, seed: int) -> Config:
        """With another seed, also of the miner: what a run has recorded for it gives way."""
        settings = {name: _seedless(value) for name, value in self.miner.settings.items() if name != "seed"}
        return replace(self, seed=seed, miner=replace(self.miner, settings=settings))

    def with_enrichment(self, mode: str, *, recorded: bool = False) -> Config:
        """With another enrichment: what the one before alone made use of gives way.

        A run has ``recorded`` the scope of its bins; where that is the usual one of its enrichment, it gives way too.
        """
        if mode == self.enrich.mode:
            return self
        usual = recorded and self.discretize.scope == usual_scope(self.enrich.mode)
        bins = replace(self.discretize, scope=None) if usual else self.discretize
        return replace(self, enrich=self.enrich.used_by(mode), discretize=bins)

    def _relative_to(self, folder: Path) -> Config:
        given = {name: getattr(self.input, name) for name in ("sensors", "graph", "ontology", "binding")}
        changed: dict[str, Any] = {
            name: absolute(name, paths, folder) for name, paths in given.items() if paths is not None
        }
        if isinstance(kinds := self.input.read_sensors.get("kinds"), str):
            changed["read_sensors"] = {**self.input.read_sensors, "kinds": str(folder / kinds)}
        output = self.output if self.output.path is None else replace(self.output, path=str(folder / self.output.path))
        return replace(self, input=replace(self.input, **changed), output=output)


def _build(data: Mapping[str, Any], place: Place) -> Config:
    refuse_unknown(data, ["seed", *_SECTIONS], place, says="unknown section or setting '{}'")
    seed = data.get("seed", 0)
    if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
        raise place.error("seed", f"'seed' must be a whole number from 0 on, got {seed!r}")
    sections: dict[str, Any] = {}
    for name, cls in _SECTIONS.items():
        table = data.get(name, {})
        if name == "miner" and isinstance(table, Mapping):
            settings = {key: value for key, value in table.items() if key != "name"}
            table = {"settings": settings, **({"name": table["name"]} if "name" in table else {})}
        sections[name] = build(cls, table, place.inside(name))
    return Config(seed=seed, **sections)


def _seedless(setting: Any) -> Any:
    """A setting without a seed of its own, where it is a table."""
    if not isinstance(setting, Mapping):
        return setting
    return {name: value for name, value in setting.items() if name != "seed"}


def _measures(config: Config) -> list[str] | None:
    """What the rules of a run can be ordered and bounded by; ``None`` where that is for the miner of others to say."""
    from thence.counting.recount import SUPPORTS
    from thence.miners.base import BUILT_IN
    from thence.rules.measures import MEASURES

    if config.miner.name not in BUILT_IN:
        return None
    of_miner = {"aerial": ("probability", "assured_confidence"), "ts-narm": ("joint_confidence",)}
    of_places = SUPPORTS if config.enrich.mode == "lifted" else ()
    return [*MEASURES, "antecedents", *config.refine.columns, *of_places, *of_miner.get(config.miner.name, ())]


def _check_miner(miner: MinerConfig, place: Place) -> None:
    from thence.miners.base import make_miner

    try:
        default = make_miner(miner.name)
        known = [f.name for f in fields(default)] if is_dataclass(default) else None
        if known is not None:
            refuse_unknown(miner.settings, known, place, says=f"the miner '{miner.name}' has no setting '{{}}'")
        make_miner(miner.name, **miner.settings)
    except ConfigError as error:
        key = next((name for name in miner.settings if name in error.message), "name")
        raise ConfigError(error.message, where=error.where or place.of(key), hint=error.hint) from error


def _check_patterns(enrich: EnrichConfig, place: Place) -> None:
    from thence.graph.patterns import Pattern

    given = [enrich.patterns] if isinstance(enrich.patterns, str) else enrich.patterns
    if given not in (["auto"], ["stars"], ["paths"]):
        try:
            for text in given:
                Pattern.parse(text)
        except PatternError as error:
            raise PatternError(error.message, where=error.where or place.of("patterns"), hint=error.hint) from error


def _check_readers(given: InputConfig, place: Place) -> None:
    if given.dataset is not None:
        from thence import datasets

        try:
            known = datasets.info(given.dataset).options
        except ConfigError as error:
            raise ConfigError(error.message, where=place.of("dataset"), hint=error.hint) from error
        refuse_unknown(
            given.options, known, place.inside("options"), says=f"the data set '{given.dataset}' has no option '{{}}'"
        )
        datasets.check_options(given.dataset, given.options, place=place.inside("options"))
    if given.read_sensors:
        from thence.readings.readers import read_sensors

        inside = place.inside("read_sensors")
        check_keywords(read_sensors, given.read_sensors, inside, without=["source"])
        if isinstance(zone := given.read_sensors.get("timezone"), str):
            try:
                require_zone(zone)
            except ConfigError as error:
                raise inside.error("timezone", error.message, hint=error.hint) from error
    if given.read_graph:
        from thence.graph.loaders import read_graph

        check_keywords(read_graph, given.read_graph, place.inside("read_graph"), without=["source"])
    if given.bind:
        from thence.graph.binding import bind

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
