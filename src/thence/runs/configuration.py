"""The configuration of a run, section by section, from and to TOML.

A configuration is data: it checks spelling, types and ranges, and nothing here reads sensors or mines. Each setting is
declared once, as a field of its section; ``runs.options`` makes the table of options from these fields. An unknown key
is refused with the nearest valid one and its line in the file. ``docs/guide/command-line.md`` lists every section.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from functools import partial
from numbers import Integral
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, Self

from thence._base.memory import parse_size
from thence._base.settings.documents import parse_toml, read_text, toml_text
from thence._base.settings.numbers import require_zone
from thence._base.settings.typed import (
    Location,
    Section,
    at_least,
    between,
    build,
    check_keywords,
    find_refused,
    refuse_unknown,
    setting,
)
from thence.data.stores.urls import is_url, without_credentials
from thence.errors import ConfigError, nearest, quote
from thence.language.known import KnownRule
from thence.language.patterns import Pattern
from thence.statements.files import find_format
from thence.statements.laws.formula import Formula
from thence.statements.rules.extra_columns import columns_from
from thence.statements.rules.measures import MEASURES
from thence.tables.enrich import ENRICHMENTS, find_enrichment

Paths = str | tuple[str, ...]

AUTO = "auto"
"""The value of a setting that is chosen for the data when it is read."""
DIGEST = 50
"""The most rules of a digest, unless another number is given."""
REFINE_STEPS = (
    *("trivia", "redundancy", "improvement", "assurance", "significance", "merge", "cover", "digest", "sharpen"),
    "min_confidence",
)
"""The settings of ``[refine]`` that are settings of ``refine``."""
INPUT_FILES = ("sensors", "graph", "ontology", "binding")
"""The settings of ``[input]`` that name files."""
# Written after the further files of a run, so a further file with such a name would be lost.
_RESERVED = (
    *("summary.json", "provenance.json", "discretizer.json", "report.json", "report.html"),
    *("laws.json", "controls.json", "constants.json", "known.json", "places.parquet", "reviews.json", "manifest.json"),
)
BUILT_IN_ONTOLOGY = "water"
DESCRIBING = ("ignore", "kinds", "units", "kind_pattern", "categorical", "numeric")
"""The keywords of ``read_sensors`` that say what sensors are, which also apply to the sensors of a data set."""
READERS = ("read_sensors", "read_graph", "read_binding", "bind")
_DEFAULT_FLAGS = (("force", False), ("report", True))


def _is_derived(_: str, value: Any) -> None:
    from thence.data.readings.derived import check_derived

    check_derived(value)


def _is_assurance(_: str, value: Any) -> None:
    from thence.statements.counting.assurance import require_assurance

    if value:
        require_assurance(value)


def _are_bounds(_: str, value: Mapping[str, float]) -> None:
    for measure, bound in value.items():
        if bound != bound:
            raise ConfigError(f"the bound on {quote(measure)} must be a number, got nan")


def _are_formulas(name: str, value: Sequence[str]) -> None:
    for text in value:
        Formula(text)


def _are_files(name: str, value: Sequence[str]) -> None:
    for file in value:
        if not re.fullmatch(r"\w[\w. -]*", file):
            raise ConfigError(f"'{name}' must name files inside the run folder, got '{file}'")
        if file.lower() in _RESERVED:
            raise ConfigError(f"'{name}' names '{file}', which every run writes itself", hint="choose another name")
        try:
            find_format(file)
        except ConfigError as error:
            raise ConfigError(f"'{name}' names '{file}': {error.message}", hint=error.hint) from error


@dataclass(frozen=True, kw_only=True)
class InputConfig(Section):
    """What is read: files, or a data set by name."""

    sensors: str | tuple[str, ...] | None = setting(None, "Readings: files, folders, glob patterns, URL of a database")
    graph: str | tuple[str, ...] | None = setting(None, "Knowledge graph: .inp, .ttl, .json, …, URL of a graph server")
    ontology: str | tuple[str, ...] | None = setting(None, "Ontology files, or 'water' for the built-in one")
    binding: str | tuple[str, ...] | None = setting(None, "Node of each sensor: .csv, .json, .ttl, URL of a server")
    dataset: str | None = setting(None, "Name of a data set, instead of files")
    options: Mapping[str, Any] = setting({}, "Options of the data set, such as days=7", flag="--option")
    read_sensors: Mapping[str, Any] = setting({}, "Keywords of read_sensors", name=None)
    read_graph: Mapping[str, Any] = setting({}, "Keywords of read_graph", name=None)
    read_binding: Mapping[str, Any] = setting({}, "Keywords of read_binding", name=None)
    bind: Mapping[str, Any] = setting({}, "Keywords of bind", name=None)
    select: tuple[str, ...] = setting((), "Only these sensors")
    start: str | None = setting(None, "Only readings from this time on")
    end: str | None = setting(None, "Only readings before this time")
    target: str | None = setting(None, "Column that rules conclude about; rows are then transactions, without times")
    basket: bool | None = setting(
        None, "Rows are baskets: what is false or 0 is no item (default: if all columns are truth values or one-hot)"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        given = [name for name in INPUT_FILES if getattr(self, name) is not None]
        if self.dataset is not None and given:
            raise ConfigError(
                f"'dataset' and '{given[0]}' exclude each other: a data set has its own {given[0]}",
                hint=f"set 'dataset' or '{given[0]}', not both",
            )
        if self.options and self.dataset is None:
            raise ConfigError("'options' are for a data set, but 'dataset' is not set", hint="set 'dataset'")
        if self.has_rows and (self.dataset is not None or self.graph is not None):
            name = "basket" if self.target is None else "target"
            raise ConfigError(
                f"'{name}' is for a table whose rows are transactions, without a graph",
                hint="for sensor data, set 'consequent' of the miner instead",
            )

    @property
    def has_rows(self) -> bool:
        """Whether what is read is a plain table, whatever its columns are."""
        return self.target is not None or self.basket is not None

    def with_paths(self, change: Callable[[str, str], str]) -> Self:
        """Return the section with other paths of its files.

        Args:
            change: From the name of the setting and a path to another path.
        """
        changed: dict[str, Any] = {}
        for name in INPUT_FILES:
            if (paths := getattr(self, name)) is not None:
                one = isinstance(paths, str)
                changed[name] = change(name, paths) if one else tuple(change(name, path) for path in paths)
        return replace(self, **changed)

    def relative_to(self, folder: Path) -> Self:
        """Return the section with relative paths starting at a folder."""
        out = self.with_paths(lambda name, path: absolute_path(name, path, folder))
        kinds = self.read_sensors.get("kinds")
        more = {"kinds": str(folder / kinds)} if isinstance(kinds, str) else {}
        return replace(out, read_sensors={**self.read_sensors, **more})

    def without_credentials(self) -> Self:
        """Return the section with URLs of stores that hold no credentials."""
        return self.with_paths(lambda _, path: without_credentials(path))

    def without_source(self) -> Self:
        """Return the section without files and data set; how they are read, and which part, stays."""
        return replace(self, sensors=None, graph=None, ontology=None, binding=None, dataset=None, options={})


@dataclass(frozen=True, kw_only=True)
class SystemConfig(InputConfig):
    """One of several systems that are mined together: a table ``[[system]]`` with a name."""

    name: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.name:
            raise ConfigError("a system needs a 'name'", hint="name each [[system]]")
        if self.dataset is None and self.sensors is None:
            raise ConfigError(f"the system '{self.name}' has no readings", hint="set 'sensors' or 'dataset'")


@dataclass(frozen=True, kw_only=True)
class WindowsConfig(Section):
    """How readings are aggregated into windows."""

    every: str = setting(AUTO, "Length of a window, such as 30min; auto is the step of the readings", name="windows")
    aggregate: str | Mapping[str, str] = setting("mean", "Aggregation of the readings in a window, for all or by kind")
    derive: tuple[str, ...] | None = setting(
        None,
        "Derived columns: change, previous, lag:30min, switch, duration, next, within:30min, hour, weekday; none for "
        "none (default: hour for the points of units of a building)",
        check=_is_derived,
    )
    origin: str = setting("epoch", "Time at which a window begins; the others follow before and after it")
    timezone: str = setting(
        "UTC",
        "Time zone of times without one, and of the derived hour and weekday",
        also="input.read_sensors.timezone",
        check=lambda _, value: require_zone(value),
    )
    empty: Literal["drop", "keep"] = setting("drop", "Windows without any reading: drop or keep")
    hold: str = setting(
        AUTO,
        "How long the last reading lasts: auto for sensors that read when something changes, none, or a time like 2h",
    )
    keep_unhealthy: bool = setting(False, "Also mine readings of sensors that are dead, stuck, drifting or the like")

    def __post_init__(self) -> None:
        if self.derive == ("none",):
            object.__setattr__(self, "derive", ())
        super().__post_init__()


@dataclass(frozen=True, kw_only=True)
class EnrichConfig(Section):
    """What the graph adds to the transactions."""

    mode: str = setting(AUTO, "none, grounded, existential or lifted; auto is lifted with a graph", name="enrich")
    hops: int | None = setting(None, "Distance around a sensor in edges (default: 0; lifted: 2)", check=at_least(0))
    edges: bool = setting(False, "Also use labels and edges of the graph as items")
    properties: tuple[str, ...] | None = setting(None, "Only these properties of nodes")
    patterns: str | tuple[str, ...] = setting(AUTO, "Patterns of lifted rules; or auto, stars, paths", flag="--pattern")
    min_embeddings: int = setting(3, "Fewest places at which a discovered pattern must match", check=at_least(1))
    max_embeddings: int = setting(200_000, "Most places of one pattern", check=at_least(1))

    def for_mode(self, mode: str) -> EnrichConfig:
        """Return this section for another enrichment; settings that it does not use are reset to their defaults."""
        unused = {name: getattr(_DEFAULT_ENRICH, name) for name in self._unused_by(mode)}
        return replace(self, mode=mode, **unused)

    def for_graph(self, graph: bool) -> EnrichConfig:
        """Return this section with ``"auto"`` replaced by the enrichment for systems with or without a graph."""
        return replace(self, mode="lifted" if graph else "none") if self.mode == AUTO else self

    def refuse_unused(self) -> None:
        """Raise if the enrichment is unknown, or a setting is given that it does not use."""
        ENRICHMENTS.check(self.mode)
        for name in self._unused_by(self.mode):
            using = [mode for mode in ENRICHMENTS if name in find_enrichment(mode).settings]
            raise ConfigError(
                f"the enrichment '{self.mode}' does not use '{name}'", hint=f"only {', '.join(using)} use it"
            )

    def _unused_by(self, mode: str) -> list[str]:
        used = ("mode", *find_enrichment(mode).settings) if mode in ENRICHMENTS else [f.name for f in fields(self)]
        given = [f.name for f in fields(self) if getattr(self, f.name) != getattr(_DEFAULT_ENRICH, f.name)]
        return [name for name in given if name not in used]

    def resolved(self) -> EnrichConfig:
        """Return this section with the default number of hops of the enrichment written out, if it uses hops."""
        chosen = find_enrichment(self.mode)
        return replace(self, hops=chosen.hops) if self.hops is None and "hops" in chosen.settings else self


_DEFAULT_ENRICH = EnrichConfig()


@dataclass(frozen=True, kw_only=True)
class DiscretizeConfig(Section):
    """How numbers become bins."""

    bins: int | None = setting(None, "Number of bins (default: 10; lifted: 5, or 3 if 5 give very few rules)")
    scope: str | None = setting(None, "Bin per 'kind' of sensor or per 'sensor' (default: kind; lifted: sensor)")
    method: str = setting("frequency", "Binning method")
    bin_edges: Mapping[str, tuple[float, ...]] = setting({}, "Given edges of the bins of kinds, such as flow=[10,20]")
    fit_until: str | None = setting(None, "Fit the bins on readings before this time only")
    towards: str | None = setting(
        None, "For the methods entropy, chimerge and tree: whose states bins separate (default: the target)"
    )


@dataclass(frozen=True, kw_only=True)
class MinerConfig(Section):
    """Which miner, and its settings. In a file the settings stand beside the name."""

    name: str = setting("exact", "Name of the miner", name="miner")
    settings: Mapping[str, Any] = setting({}, "Settings of the miner by name", name=None)


@dataclass(frozen=True, kw_only=True)
class RefineConfig(Section):
    """Which of the rules found are kept, and in which order.

    Refinement runs unless ``apply`` is ``False``; see ``refine`` for what its settings do. Afterwards ``min`` and
    ``max`` filter, and ``top`` keeps the best.
    """

    apply: bool | None = setting(
        None,
        "Keep the rules worth reading (the default, if the miner reads bins), or all that were found",
        name="refine",
        flag="--refine/--all",
    )
    trivia: bool | None = setting(None, "Drop rules that are true by construction", name=None)
    redundancy: bool | None = setting(None, "Drop rules that follow from simpler or more general ones", name=None)
    improvement: float | None = setting(None, "Least gain over a simpler rule", name=None, check=between(0, 1))
    assurance: float | None = setting(
        None, "Keep rules whose lower confidence bound at this level, such as 0.95, is high enough", check=_is_assurance
    )
    significance: float | None = setting(
        None, "Keep rules that are significant at this level, such as 0.05", check=between(0, 1, open=True)
    )
    merge: bool | None = setting(None, "Merge bins that carry the same rule", name=None)
    cover: bool | float | None = setting(
        None, "Keep the fewest rules that cover this share of the rows; 1 for all", check=between(0, 1)
    )
    digest: int | None = setting(
        None,
        "Most rules to keep: the most informative ones, each fact once (default: 50); 0 for no limit",
        check=at_least(0, hint="use 0 to keep all rules"),
    )
    confirm: bool | None = setting(
        None, "Keep rules of the digest that the last third of the time, not searched, confirms (the default), or all"
    )
    sharpen: bool | None = setting(None, "Sharper ranges instead of bins, where later time confirms them (default: no)")
    min_confidence: float | None = setting(None, "Least confidence of merged rules", name=None, check=between(0, 1))
    null: Mapping[str, Any] = setting({}, "Settings of the null model of the significance", name=None)
    max_consequents: int = setting(
        1,
        "Maximum number of items in a consequent: kept rules with the same antecedent are joined",
        check=at_least(1),
    )
    by: str | None = setting(None, "Measure to sort by (default: an order to be read in)")
    top: int | None = setting(None, "Maximum number of rules to keep", check=at_least(1))
    min: Mapping[str, float] = setting({}, "Lower bounds by measure", name=None, check=_are_bounds)
    max: Mapping[str, float] = setting({}, "Upper bounds by measure", name=None, check=_are_bounds)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.apply is False and self._given:
            name = next(iter(self._given))
            raise ConfigError(
                f"'{name}' is a setting of the refinement, which is switched off", hint=f"leave out '{name}' or 'apply'"
            )

    def without_steps(self) -> RefineConfig:
        """Return the section without refinement; what holds for all rules stays."""
        after = {name: getattr(self, name) for name in ("max_consequents", "by", "top", "min", "max")}
        return RefineConfig(apply=False, **after)

    @property
    def columns(self) -> tuple[str, ...]:
        """The extra columns that the chosen steps add to the rules."""
        if self.apply is False:
            return ()
        of_steps = columns_from("redundancy") if self.redundancy is not False else ()
        of_digest = columns_from("digest") if self.most else ()
        of_assurance = columns_from("assurance") if self.assurance or self.confirms else ()
        of_digest += columns_from("confirmation") if self.confirms else ()
        of_tests = () if self.significance is None else columns_from("significance")
        return (*of_steps, *of_digest, *of_assurance, *of_tests)

    @property
    def most(self) -> int:
        """The most rules of the digest; 0 if there is none."""
        return self.digest if self.digest is not None else 0 if self.cover else DIGEST

    @property
    def confirms(self) -> bool:
        """Whether rules are searched on two thirds of the time, and confirmed on the rest."""
        return self.apply is not False and self.confirm is not False and self.most > 0

    @property
    def _given(self) -> dict[str, Any]:
        given = {name: getattr(self, name) for name in REFINE_STEPS if getattr(self, name) is not None}
        return {**given, "null": dict(self.null)} if self.null else given

    @property
    def steps(self) -> dict[str, Any] | None:
        """The given settings of the refinement, or ``None`` if there is no refinement."""
        return None if self.apply is False else self._given


@dataclass(frozen=True, kw_only=True)
class LogicConfig(Section):
    """What is searched beside rules: the laws of the plant, and what makes its actuators switch."""

    laws: bool | None = setting(None, "Search laws of the plant too, or not (default: with a digest)")
    controls: bool | None = setting(None, "Search what makes actuators switch too, or not (default: with a digest)")
    formulas: tuple[str, ...] = setting(
        (),
        "Formulas to try as laws, such as 'power = k * flow * (supply - return)'; names are kinds or parts of them",
        flag="--form",
        check=_are_formulas,
    )

    def resolved(self, *, several: bool, wanted: bool) -> LogicConfig:
        """Return the section with its defaults written out.

        Args:
            several: Whether several systems are mined together.
            wanted: Whether a digest of all rules is made.

        Raises:
            ConfigError: If controls of several systems are asked for.
        """
        if self.controls and several:
            raise ConfigError(
                "controls are searched in one system at a time",
                where="[logic]",
                hint="leave out 'controls', or mine the systems one by one",
            )
        return LogicConfig(
            laws=(wanted or bool(self.formulas)) if self.laws is None else self.laws,
            formulas=self.formulas,
            controls=wanted and not several if self.controls is None else self.controls,
        )


@dataclass(frozen=True, kw_only=True)
class OutputConfig(Section):
    """Where the run is written."""

    path: str | None = setting(None, "Run folder to write", name="out")
    force: bool = setting(False, "Replace an existing run there")
    also: tuple[str, ...] = setting((), "Additional files in the run, such as rules.md", check=_are_files)
    report: bool = setting(True, "Write report.html and report.json into the run, or not")


@dataclass(frozen=True, kw_only=True)
class ExecutorConfig(Section):
    """Where the work is done. The rules are the same everywhere."""

    name: str = setting("local", "Where to mine and count: local, or ray for a Ray cluster", name="executor")
    address: str | None = setting(None, "Address of the Ray cluster, such as 10.0.0.4:6379 (default: RAY_ADDRESS)")

    def __post_init__(self) -> None:
        from thence._base.cluster import require_executor

        super().__post_init__()
        require_executor(self.name, self.address)


@dataclass(frozen=True, kw_only=True)
class ResourcesConfig(Section):
    """What a run may use of the machine. The rules are the same whatever it is."""

    memory_limit: str | None = setting(
        None,
        "Memory to use, such as 12GiB; what does not fit lies in temporary files (default: 80 % of what is free)",
        check=lambda _, value: parse_size(value),
    )


@dataclass(frozen=True, kw_only=True)
class Config:
    """Everything that decides what a run does.

    Args:
        seed: The random seed.
        input: What is read.
        system: Several systems to mine together, instead of one in ``input``.
        known: Rules that are known: counted, and left out of what is found with all that follows from them.
        windows: How readings are aggregated into windows.
        discretize: How numbers become bins.
        enrich: What the graph adds.
        miner: Which miner, and its settings.
        refine: Which rules are kept, and in which order.
        logic: What is searched beside rules: laws and controls.
        output: Where the run is written.
        executor: Where the work is done.
        resources: What the run may use of the machine.

    Examples:
        >>> config = Config.from_mapping({"windows": {"every": "1h"}, "miner": {"name": "exact", "min_support": 0.05}})
        >>> config.windows.every, config.miner.settings
        ('1h', {'min_support': 0.05})
        >>> Config.from_mapping({"windows": {"evry": "1h"}})
        Traceback (most recent call last):
        thence.errors.ConfigError: [windows]: unknown setting 'evry' (did you mean 'every'?)
    """

    seed: int = 0
    input: InputConfig = field(default_factory=InputConfig)
    system: tuple[SystemConfig, ...] = ()
    known: tuple[KnownRule, ...] = ()
    windows: WindowsConfig = field(default_factory=WindowsConfig)
    discretize: DiscretizeConfig = field(default_factory=DiscretizeConfig)
    enrich: EnrichConfig = field(default_factory=EnrichConfig)
    miner: MinerConfig = field(default_factory=MinerConfig)
    refine: RefineConfig = field(default_factory=RefineConfig)
    logic: LogicConfig = field(default_factory=LogicConfig)
    output: OutputConfig = field(default_factory=OutputConfig)
    executor: ExecutorConfig = field(default_factory=ExecutorConfig)
    resources: ResourcesConfig = field(default_factory=ResourcesConfig)

    def __post_init__(self) -> None:
        if not isinstance(self.seed, Integral) or isinstance(self.seed, bool) or self.seed < 0:
            raise ConfigError(f"'seed' must be an integer >= 0, got {self.seed!r}")
        names = [one.name for one in self.system]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ConfigError(f"two systems are named '{twice}'", hint="name each [[system]] differently")
        given = [name for name in ("dataset", *INPUT_FILES) if getattr(self.input, name) is not None]
        if self.system and given:
            raise ConfigError(
                f"[[system]] and '{given[0]}' of [input] exclude each other", hint=f"move '{given[0]}' to a [[system]]"
            )

    @staticmethod
    def from_toml(path: str | Path, *, check: bool = True) -> Config:
        """Read a configuration file.

        Args:
            path: The file; relative paths in it start at its folder.
            check: Also check the settings of the miner, the readers and the data set.
        """
        path = Path(path)
        text = read_text(path, error=ConfigError)
        data = parse_toml(text, where=str(path), error=ConfigError)
        place = Location(str(path), text)
        config = _build(data, place)._relative_to(path.parent.absolute())
        return config.check(place=place) if check else config

    @staticmethod
    def from_mapping(data: Mapping[str, Any]) -> Config:
        """Build a configuration from nested mappings.

        Args:
            data: Sections and settings by the names of the TOML form.
        """
        return _build(data, Location()).check()

    def to_mapping(self) -> dict[str, Any]:
        """Return the inverse of ``from_mapping``; what is not set is left out."""
        out: dict[str, Any] = {"seed": self.seed}
        for name in SECTIONS:
            section = getattr(self, name)
            values = {f.name: _plain(getattr(section, f.name)) for f in fields(section)}
            if name == "miner":
                values = {"name": section.name, **values["settings"]}
            # No derived values is another thing than those by default, and a flag that has its default needs no line.
            empty: tuple[Any, ...] = (None, {}) if name == "windows" else (None, {}, [])
            given = {key: value for key, value in values.items() if value not in empty}
            given = {key: value for key, value in given.items() if (key, value) not in _DEFAULT_FLAGS}
            if given and section != ExecutorConfig():
                out[name] = given
            if name == "input" and self.system:
                out["system"] = [_listed_section(one) for one in self.system]
        if self.known:
            out["known"] = [one.to_mapping() for one in self.known]
        return out

    def to_toml(self) -> str:
        """Return the configuration as TOML, with every value in use written out; credentials are left out."""
        return toml_text(self.without_credentials().to_mapping())

    def without_credentials(self) -> Config:
        """Return the configuration with URLs of stores that hold no credentials."""
        systems = tuple(one.without_credentials() for one in self.system)
        return replace(self, input=self.input.without_credentials(), system=systems)

    def check(self, *, place: Location | None = None) -> Config:
        """Check what only other modules know: the settings of the miner, the readers and the data set.

        Args:
            place: Where the configuration comes from, for messages.
        """
        place = place or Location()
        _check_miner(self.miner, place.inside("miner"))
        _check_readers(self.input, place.inside("input"))
        for one in self.system:
            _check_readers(one, place.inside("system"))
        _check_patterns(self.enrich.patterns, place.inside("enrich"), "patterns")
        for rule in self.known:
            if rule.pattern:
                _check_patterns((rule.pattern,), place.inside("known"), "pattern")
        self.check_refine(place=place)
        return self

    def check_refine(self, *, place: Location | None = None) -> None:
        """Check the section ``refine``: the null model, and measures that the rules will have.

        Args:
            place: Where the configuration comes from, for messages.
        """
        place = (place or Location()).inside("refine")
        if self.refine.null:
            from thence.search.refine import Null

            build(Null, self.refine.null, place.inside("null"))
        known = _columns_of_result(self)
        if known is None:
            return
        if self.refine.by is not None and self.refine.by not in known:
            hint = nearest(self.refine.by, known) or "known: " + ", ".join(known)
            raise place.error("by", f"unknown measure '{self.refine.by}'", hint=hint)
        for side in ("min", "max"):
            refuse_unknown(getattr(self.refine, side), known, place.inside(side), says="unknown measure '{}'")

    def with_seed(self, seed: int) -> Config:
        """Return the configuration with another seed, also for the miner.

        Args:
            seed: The random seed; it replaces one that a run has recorded for its miner.
        """
        settings = {name: _seedless(value) for name, value in self.miner.settings.items() if name != "seed"}
        return replace(self, seed=seed, miner=replace(self.miner, settings=settings))

    def with_enrichment(self, mode: str, *, recorded: bool = False) -> Config:
        """Return the configuration with another enrichment; settings that it does not use are reset.

        Args:
            mode: The name of the enrichment.
            recorded: Whether this configuration was recorded by a run, which writes out defaults that depend on the
                enrichment; these are reset too.
        """
        if mode == self.enrich.mode:
            return self
        bins, enrich = self.discretize, self.enrich
        if recorded and enrich.mode != AUTO:
            before = find_enrichment(enrich.mode)
            bins = replace(bins, scope=None) if bins.scope == before.scope else bins
            bins = replace(bins, bins=None) if bins.bins == before.bins else bins
            enrich = replace(enrich, hops=None) if enrich.hops == before.hops else enrich
        return replace(self, enrich=enrich.for_mode(mode), discretize=bins)

    def _relative_to(self, folder: Path) -> Config:
        output = self.output if self.output.path is None else replace(self.output, path=str(folder / self.output.path))
        systems = tuple(one.relative_to(folder) for one in self.system)
        return replace(self, input=self.input.relative_to(folder), system=systems, output=output)


SECTIONS: Mapping[str, Any] = MappingProxyType(
    {one.name: one.default_factory for one in fields(Config) if one.default_factory is not MISSING}
)
"""The sections of the configuration by name, in the order of a file."""


def miner_table(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the section of the miner, in which its settings stand beside its name, as fields of ``MinerConfig``."""
    settings = {key: value for key, value in table.items() if key != "name"}
    return {"settings": settings, **({"name": table["name"]} if "name" in table else {})}


def _listed_section(section: Any) -> dict[str, Any]:
    """A table of a list of tables, with its name first and what is not set left out."""
    values = {"name": section.name} | {f.name: _plain(getattr(section, f.name)) for f in fields(section)}
    return {key: value for key, value in values.items() if value is not None and value not in ({}, [])}


def absolute_path(name: str, given: str, folder: Path) -> str:
    """Return a path of the input ``name``; a relative one starts at ``folder``.

    The ontology of the package has a name instead of a path, and a store has a URL.

    >>> absolute_path("ontology", "water", Path("/data")), absolute_path("sensors", "water", Path("/data"))
    ('water', '/data/water')
    """
    if is_url(given):
        scheme, _, path = given.partition(":///")
        return f"{scheme}:///{folder / path}" if scheme == "duckdb" else given
    return given if name == "ontology" and given == BUILT_IN_ONTOLOGY else str(folder / given)


def _build(data: Mapping[str, Any], place: Location) -> Config:
    refuse_unknown(data, ["seed", "system", "known", *SECTIONS], place, says="unknown section or setting '{}'")
    seed = data.get("seed", 0)
    if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
        raise place.error("seed", f"'seed' must be an integer >= 0, got {seed!r}")
    sections: dict[str, Any] = {}
    for name, cls in SECTIONS.items():
        table = data.get(name, {})
        if name == "miner" and isinstance(table, Mapping):
            table = miner_table(table)
        sections[name] = build(cls, table, place.inside(name))
    for name in ("system", "known"):
        listed = data.get(name, ())
        if not isinstance(listed, (list, tuple)) or not all(isinstance(one, Mapping) for one in listed):
            raise place.error(name, f"'{name}' must be a list of tables", hint=f"write [[{name}]] above each")
    return Config(
        seed=seed,
        system=tuple(build(SystemConfig, one, place.inside("system")) for one in data.get("system", ())),
        known=tuple(_known_rules(data.get("known", ()), place)),
        **sections,
    )


def _known_rules(listed: Iterable[Mapping[str, Any]], place: Location) -> Iterable[KnownRule]:
    for number, one in enumerate(listed, start=1):
        try:
            yield KnownRule.from_mapping(one)
        except ConfigError as error:
            where = f"{place.file + ', ' if place.file else ''}[[known]] {number}"
            raise ConfigError(error.message, where=where, hint=error.hint) from error


def _seedless(setting: Any) -> Any:
    """A setting without a seed of its own, if it is a table."""
    if not isinstance(setting, Mapping):
        return setting
    return {name: value for name, value in setting.items() if name != "seed"}


def _columns_of_result(config: Config) -> list[str] | None:
    """What the rules of a run can be sorted and filtered by; ``None`` if only the miner's own package knows."""
    from thence.search.base import MINERS

    if config.miner.name not in MINERS.built_in:
        return None
    of_miner = MINERS.load(config.miner.name).columns
    of_places = columns_from("lifted") if config.enrich.mode in ("lifted", AUTO) else ()
    return [*MEASURES, "antecedents", *config.refine.columns, *of_places, *of_miner]


def _check_miner(miner: MinerConfig, place: Location) -> None:
    from thence.search.base import MINERS, make_miner

    try:
        default = make_miner(miner.name)
        known = [f.name for f in fields(default)] if is_dataclass(default) else None
        if known is not None:
            refuse_unknown(miner.settings, known, place, says=f"the miner '{miner.name}' has no setting '{{}}'")
        make_miner(miner.name, **miner.settings)
    except ConfigError as error:
        known_name = miner.name in MINERS
        key = find_refused(partial(make_miner, miner.name), miner.settings) if known_name else None
        raise ConfigError(error.message, where=error.where or place.of(key or "name"), hint=error.hint) from error


def _check_patterns(patterns: Paths, place: Location, key: str) -> None:
    given = [patterns] if isinstance(patterns, str) else patterns
    if given not in (["auto"], ["stars"], ["paths"]):
        with place.located(key):
            for text in given:
                Pattern.parse(text)


def _check_readers(given: InputConfig, place: Location) -> None:
    if given.dataset is not None:
        from thence.data import datasets

        with place.located("dataset"):
            known = datasets.info(given.dataset).options
        refuse_unknown(
            given.options, known, place.inside("options"), says=f"the data set '{given.dataset}' has no option '{{}}'"
        )
        datasets.check_options(given.dataset, given.options, location=place.inside("options"))
        _refuse_for_files(given, place)
    if not any(getattr(given, name) for name in READERS):
        return
    from thence.data.graph.binding import bind
    from thence.data.loaders import read_binding, read_graph
    from thence.data.readers import read_sensors

    for function in (read_sensors, read_graph, read_binding):
        check_keywords(function, getattr(given, function.__name__), place.inside(function.__name__), without=["source"])
    check_keywords(bind, given.bind, place.inside("bind"), without=["sensors", "graph"])
    if isinstance(zone := given.read_sensors.get("timezone"), str):
        with place.inside("read_sensors").located("timezone"):
            require_zone(zone)


def _refuse_for_files(given: InputConfig, place: Location) -> None:
    """Raise if there is an option that only files have beside a data set, which would be passed over."""
    for section in READERS:
        for name in getattr(given, section):
            if section != "read_sensors" or name not in DESCRIBING:
                raise place.inside(section).error(
                    name, f"'{name}' is for files, but a data set is given", hint=f"leave out '{name}'"
                )


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
