"""The configuration of a run, section by section, from and to TOML.

A configuration is data: it checks spelling, types and ranges, and nothing here reads sensors or mines. An unknown key
is refused with the nearest valid one and its line in the file. ``docs/guide/command-line.md`` lists every section.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import partial
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Literal, TypeVar

from thence._base.memory.sizes import parse_size
from thence._base.settings.documents import parse_toml, read_text
from thence._base.settings.toml import toml_text
from thence._base.settings.typed import Location, build, check_keywords, find_refused, refuse_unknown
from thence._base.settings.values import require_zone
from thence.data.stores.urls import is_url, without_credentials
from thence.errors import ConfigError, PatternError, nearest, quote
from thence.language.known import KnownRule
from thence.statements.files import find_format
from thence.statements.rules.extra_columns import columns_from
from thence.statements.rules.measures import MEASURES
from thence.tables.enrich import ENRICHMENTS, find_enrichment

__all__ = [
    "AUTO",
    "BUILT_IN_ONTOLOGY",
    "DIGEST",
    "REFINE_STEPS",
    "Config",
    "DiscretizeConfig",
    "EnrichConfig",
    "ExecutorConfig",
    "InputConfig",
    "MinerConfig",
    "OutputConfig",
    "RefineConfig",
    "ResourcesConfig",
    "SystemConfig",
    "WindowsConfig",
    "absolute_paths",
]

Paths = str | tuple[str, ...]

DIGEST = 50
"""The most rules of a digest, unless another number is given."""
REFINE_STEPS = (
    *("trivia", "redundancy", "improvement", "assurance", "significance", "merge", "cover", "digest", "sharpen"),
    "min_confidence",
)
"""The settings of ``[refine]`` that are settings of ``refine``."""
AUTO = "auto"
"""The value of a setting that is chosen for the data when it is read."""
BUILT_IN_ONTOLOGY = "water"
INPUT_FILES = ("sensors", "graph", "ontology", "binding")
"""The settings of ``[input]`` that name files."""
DESCRIBING = ("ignore", "kinds", "units", "kind_pattern", "categorical", "numeric")
"""The keywords of ``read_sensors`` that say what sensors are, which also apply to the sensors of a data set."""
# Written after the further files of a run, so a further file with such a name would be lost.
_RESERVED = (
    *("summary.json", "provenance.json", "discretizer.json", "report.json", "report.html"),
    *("laws.json", "controls.json", "known.json", "places.parquet", "reviews.json", "manifest.json"),
)
_DEFAULT_FLAGS = (("force", False), ("report", True))


def _refuse_empty(section: Any, names: Iterable[str]) -> None:
    """Raise for a setting that is an empty string: it is neither set nor left out."""
    for name in names:
        if getattr(section, name) == "":
            raise ConfigError(f"'{name}' must not be empty", hint=f"set '{name}' or leave it out")


@dataclass(frozen=True, kw_only=True)
class InputConfig:
    """What is read: files, or a data set by name.

    Args:
        sensors: Files with readings.
        graph: Files with the knowledge graph.
        ontology: Files with the ontology, or ``"water"`` for the one of the package.
        binding: The file that says which sensor sits at which node.
        dataset: The name of a data set, instead of files.
        options: Options of the data set.
        read_sensors: Further keywords of ``read_sensors``.
        read_graph: Further keywords of ``read_graph``.
        read_binding: Further keywords of ``read_binding``.
        bind: Further keywords of ``bind``.
        select: The ids of the sensors to keep; all by default.
        start: Keep readings from this time on.
        end: Keep readings before this time.
        target: The column that rules conclude about. The rows of ``sensors`` are then transactions, without times.
    """

    sensors: Paths | None = None
    graph: Paths | None = None
    ontology: Paths | None = None
    binding: Paths | None = None
    dataset: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    read_sensors: Mapping[str, Any] = field(default_factory=dict)
    read_graph: Mapping[str, Any] = field(default_factory=dict)
    read_binding: Mapping[str, Any] = field(default_factory=dict)
    bind: Mapping[str, Any] = field(default_factory=dict)
    select: tuple[str, ...] = ()
    start: str | None = None
    end: str | None = None
    target: str | None = None

    def __post_init__(self) -> None:
        _refuse_empty(self, ("dataset", "start", "end", "target", *INPUT_FILES))
        given = [name for name in INPUT_FILES if getattr(self, name) is not None]
        if self.dataset is not None and given:
            raise ConfigError(
                f"'dataset' and '{given[0]}' exclude each other: a data set has its own {given[0]}",
                hint=f"set 'dataset' or '{given[0]}', not both",
            )
        if self.options and self.dataset is None:
            raise ConfigError("'options' are for a data set, but 'dataset' is not set", hint="set 'dataset'")
        if self.target is not None and (self.dataset is not None or self.graph is not None):
            raise ConfigError(
                "'target' is for a table whose rows are transactions, without a graph",
                hint="for sensor data, set 'consequent' of the miner instead",
            )


@dataclass(frozen=True, kw_only=True)
class SystemConfig(InputConfig):
    """One of several systems that are mined together: a table ``[[system]]``.

    Args:
        name: The name of the system.
        sensors: Files with readings.
        graph: Files with the knowledge graph.
        ontology: Files with the ontology, or ``"water"`` for the one of the package.
        binding: The file that says which sensor sits at which node.
        dataset: The name of a data set, instead of files.
        options: Options of the data set.
        read_sensors: Further keywords of ``read_sensors``.
        read_graph: Further keywords of ``read_graph``.
        read_binding: Further keywords of ``read_binding``.
        bind: Further keywords of ``bind``.
        select: The ids of the sensors to keep; all by default.
        start: Keep readings from this time on.
        end: Keep readings before this time.
    """

    name: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.name:
            raise ConfigError("a system needs a 'name'", hint="name each [[system]]")
        if self.dataset is None and self.sensors is None:
            raise ConfigError(f"the system '{self.name}' has no readings", hint="set 'sensors' or 'dataset'")


@dataclass(frozen=True, kw_only=True)
class WindowsConfig:
    """How readings are aggregated into windows.

    Args:
        every: The length of a window, such as ``"30min"``, or ``"auto"`` for the step of the readings.
        aggregate: How a window becomes one value, for all sensors or by kind.
        derive: Further features per window: ``"change"``, ``"previous"``, ``"lag:30min"``, ``"switch"``,
            ``"duration"``, ``"next"``, ``"within:30min"``, ``"hour"``, ``"weekday"``; ``"none"`` for none. By default
            the hour, if lifted rules are about the points of units (buildings run by the clock), otherwise none.
        origin: The moment at which windows are aligned.
        timezone: The time zone of calendar features.
        empty: ``"drop"`` leaves out windows in which no sensor reads, ``"keep"`` keeps them.
    """

    every: str = "auto"
    aggregate: str | Mapping[str, str] = "mean"
    derive: tuple[str, ...] | None = None
    origin: str = "epoch"
    timezone: str = "UTC"
    empty: Literal["drop", "keep"] = "drop"

    def __post_init__(self) -> None:
        require_zone(self.timezone)
        if self.derive == ("none",):
            object.__setattr__(self, "derive", ())
        if self.derive:
            from thence.data.readings.derived import check_derived

            check_derived(self.derive)


@dataclass(frozen=True, kw_only=True)
class DiscretizeConfig:
    """How numbers become bins.

    Args:
        bins: The number of bins. The default depends on the enrichment: 5 for lifted tables (3 if 5 give very few
            rules), and 10 for others.
        scope: Whether bins are fitted per ``"kind"`` of sensor or per ``"sensor"``; the default depends on the
            enrichment.
        method: The binning method.
        bin_edges: Given edges by kind, instead of fitted ones.
        fit_until: Fit the bins on the readings before this time only.
        towards: For the method ``entropy``: the column, sensor or kind whose states the bins tell apart. The default
            is the target of a plain table.
    """

    bins: int | None = None
    scope: str | None = None
    method: str = "frequency"
    bin_edges: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    fit_until: str | None = None
    towards: str | None = None

    def __post_init__(self) -> None:
        _refuse_empty(self, ("scope", "method", "fit_until", "towards"))


@dataclass(frozen=True, kw_only=True)
class EnrichConfig:
    """What the graph adds to the transactions.

    Args:
        mode: The name of the enrichment, or ``"auto"``: ``lifted`` with a graph and ``none`` without.
        hops: How many edges away from a sensor's node the graph is used; the default depends on the enrichment.
        edges: Whether labels and edges of the graph become items.
        properties: The properties to use; all by default.
        patterns: The patterns of lifted rules: ``"auto"``, ``"stars"``, ``"paths"``, or patterns as text.
        min_embeddings: The fewest places at which a discovered pattern must match.
        max_embeddings: The most places of one pattern.
    """

    mode: str = "auto"
    hops: int | None = None
    edges: bool = False
    properties: tuple[str, ...] | None = None
    patterns: Paths = "auto"
    min_embeddings: int = 3
    max_embeddings: int = 200_000

    def __post_init__(self) -> None:
        for name, least in (("hops", 0), ("min_embeddings", 1), ("max_embeddings", 1)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise ConfigError(f"'{name}' must be at least {least}, got {value}")

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
class MinerConfig:
    """Which miner, and its settings. In a file the settings stand beside the name.

    Args:
        name: The name of the miner.
        settings: Its settings by name.
    """

    name: str = "exact"
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class LogicConfig:
    """What is searched beside rules: the laws of the plant, and what makes its actuators switch.

    Args:
        laws: Whether to search laws, which needs a graph. The default is to do so whenever a digest of the rules is
            made and neither side of the rules is constrained.
        controls: Whether to search controls, in one system. The default is as for laws, but needs no graph.
    """

    laws: bool | None = None
    controls: bool | None = None

    def resolved(self, *, graph: bool, several: bool, wanted: bool) -> LogicConfig:
        """Return the section with its defaults written out.

        Args:
            graph: Whether there is a graph.
            several: Whether several systems are mined together.
            wanted: Whether a digest of all rules is made.

        Raises:
            ConfigError: If laws are asked for without a graph, or controls of several systems.
        """
        if self.laws and not graph:
            raise ConfigError("laws need a graph and a binding", where="[logic]", hint="pass both, or leave out 'laws'")
        if self.controls and several:
            raise ConfigError(
                "controls are searched in one system at a time",
                where="[logic]",
                hint="leave out 'controls', or mine the systems one by one",
            )
        return LogicConfig(
            laws=wanted and graph if self.laws is None else self.laws,
            controls=wanted and not several if self.controls is None else self.controls,
        )


@dataclass(frozen=True, kw_only=True)
class RefineConfig:
    """Which of the rules found are kept, and in which order.

    Refinement runs unless ``apply`` is ``False``; see ``refine`` for what its settings do. Afterwards ``min`` and
    ``max`` filter, and ``top`` keeps the best.

    Args:
        apply: Whether to refine. The default is to refine the rules of miners that read bins, and to keep the rules of
            others as they are.
        trivia: Drop rules that are true by construction.
        redundancy: Drop rules that follow from simpler or more general ones.
        improvement: How much a longer rule must improve on a simpler one.
        assurance: Keep rules whose lower confidence bound at this level reaches ``min_confidence``.
        significance: Keep rules that are significant at this level.
        merge: Merge bins that carry the same rule.
        cover: Keep the fewest rules that cover all covered rows (``True``) or this share of them.
        digest: Keep at most this many rules: the most informative ones, each fact once. The default is 50, or all
            rules if ``cover`` is given; 0 keeps all.
        sharpen: Replace the bins of the rules that are kept by sharper ranges, where later time confirms them.
        min_confidence: The confidence that merged and simplified rules must reach.
        null: Settings of the null model of ``significance``.
        by: The measure by which rules are sorted. By default those of a digest are in an order to be read in, and
            others are sorted by Zhang's metric.
        top: Keep this many rules.
        min: Lower bounds by measure.
        max: Upper bounds by measure.
    """

    apply: bool | None = None
    trivia: bool | None = None
    redundancy: bool | None = None
    improvement: float | None = None
    assurance: float | None = None
    significance: float | None = None
    merge: bool | None = None
    cover: bool | float | None = None
    digest: int | None = None
    sharpen: bool | None = None
    min_confidence: float | None = None
    null: Mapping[str, Any] = field(default_factory=dict)
    by: str | None = None
    top: int | None = None
    min: Mapping[str, float] = field(default_factory=dict)
    max: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.top is not None and self.top < 1:
            raise ConfigError(f"'top' must be at least 1, got {self.top}")
        if self.digest is not None and self.digest < 0:
            raise ConfigError(f"'digest' must be at least 0, got {self.digest}", hint="use 0 to keep all rules")
        for measure, bound in (*self.min.items(), *self.max.items()):
            if bound != bound:
                raise ConfigError(f"the bound on {quote(measure)} must be a number, got nan")
        if self.apply is False and self._given:
            name = next(iter(self._given))
            raise ConfigError(
                f"'{name}' is a setting of the refinement, which is switched off", hint=f"leave out '{name}' or 'apply'"
            )
        if self.assurance:
            from thence.statements.counting.assurance import require_assurance

            require_assurance(self.assurance)
        for name in ("improvement", "cover", "min_confidence"):
            share = getattr(self, name)
            if share is not None and not (isinstance(share, Real) and 0 <= float(share) <= 1):
                raise ConfigError(f"'{name}' must lie between 0 and 1, got {share!r}")
        level = self.significance
        if level is not None and not (isinstance(level, Real) and 0 < float(level) < 1):
            raise ConfigError(f"'significance' must lie between 0 and 1, got {level!r}")

    @property
    def columns(self) -> tuple[str, ...]:
        """The extra columns that the chosen steps add to the rules."""
        if self.apply is False:
            return ()
        of_steps = columns_from("redundancy") if self.redundancy is not False else ()
        of_digest = columns_from("digest") if self.most else ()
        of_assurance = columns_from("assurance") if self.assurance else ()
        of_tests = () if self.significance is None else columns_from("significance")
        return (*of_steps, *of_digest, *of_assurance, *of_tests)

    @property
    def most(self) -> int:
        """The most rules of the digest; 0 if there is none."""
        return self.digest if self.digest is not None else 0 if self.cover else DIGEST

    @property
    def _given(self) -> dict[str, Any]:
        given = {name: getattr(self, name) for name in REFINE_STEPS if getattr(self, name) is not None}
        return {**given, "null": dict(self.null)} if self.null else given

    @property
    def steps(self) -> dict[str, Any] | None:
        """The given settings of the refinement, or ``None`` if there is no refinement."""
        return None if self.apply is False else self._given


@dataclass(frozen=True, kw_only=True)
class OutputConfig:
    """Where the run is written.

    Args:
        path: The run folder.
        force: Replace a run that already exists there.
        also: Further files to write into the run folder, such as ``rules.md`` or ``rules.csv``.
        report: Whether to write ``report.html`` and ``report.json`` into the run folder.
    """

    path: str | None = None
    force: bool = False
    also: tuple[str, ...] = ()
    report: bool = True

    def __post_init__(self) -> None:
        _refuse_empty(self, ("path",))
        for name in self.also:
            if not re.fullmatch(r"\w[\w. -]*", name):
                raise ConfigError(f"'also' must name files inside the run folder, got '{name}'")
            if name.lower() in _RESERVED:
                raise ConfigError(f"'also' names '{name}', which every run writes itself", hint="choose another name")
            try:
                find_format(name)
            except ConfigError as error:
                raise ConfigError(f"'also' names '{name}': {error.message}", hint=error.hint) from error


@dataclass(frozen=True, kw_only=True)
class ExecutorConfig:
    """Where the work is done. The rules are the same everywhere.

    Args:
        name: ``"local"`` for this machine, ``"ray"`` for a Ray cluster.
        address: The address of the head of the cluster, such as ``"10.0.0.4:6379"``; by default that in the environment
            variable ``RAY_ADDRESS``, or else the cluster to which this machine belongs.
    """

    name: str = "local"
    address: str | None = None

    def __post_init__(self) -> None:
        from thence._base.cluster.opening import require_executor

        require_executor(self.name, self.address)


@dataclass(frozen=True, kw_only=True)
class ResourcesConfig:
    """What a run may use of the machine. The rules are the same whatever it is.

    Args:
        memory_limit: The memory, such as ``"12GiB"``. Arrays that do not fit lie in temporary files. The default is a
            share of the memory that is available when the run starts.
    """

    memory_limit: str | None = None

    def __post_init__(self) -> None:
        if self.memory_limit is not None:
            parse_size(self.memory_limit)


_DEFAULT_EXECUTOR = ExecutorConfig()

_SECTIONS: dict[str, type] = {
    "input": InputConfig,
    "windows": WindowsConfig,
    "discretize": DiscretizeConfig,
    "enrich": EnrichConfig,
    "miner": MinerConfig,
    "refine": RefineConfig,
    "logic": LogicConfig,
    "output": OutputConfig,
    "executor": ExecutorConfig,
    "resources": ResourcesConfig,
}


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
        for name in _SECTIONS:
            section = getattr(self, name)
            values = {f.name: _plain(getattr(section, f.name)) for f in fields(section)}
            if name == "miner":
                values = {"name": section.name, **values["settings"]}
            empty: tuple[Any, ...] = (
                ({},) if name == "windows" else ({}, [])
            )  # no derived values is another thing than those by default
            given = {key: value for key, value in values.items() if value is not None and value not in empty}
            # A flag that has its default needs no line.
            given = {key: value for key, value in given.items() if (key, value) not in _DEFAULT_FLAGS}
            if given and section != _DEFAULT_EXECUTOR:
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
        systems = tuple(_without_credentials(one) for one in self.system)
        return replace(self, input=_without_credentials(self.input), system=systems)

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
        systems = tuple(_with_absolute_paths(one, folder) for one in self.system)
        return replace(self, input=_with_absolute_paths(self.input, folder), system=systems, output=output)


Input = TypeVar("Input", bound=InputConfig)


def _with_absolute_paths(given: Input, folder: Path) -> Input:
    paths = {name: getattr(given, name) for name in INPUT_FILES}
    changed: dict[str, Any] = {
        name: absolute_paths(name, listed, folder) for name, listed in paths.items() if listed is not None
    }
    if isinstance(kinds := given.read_sensors.get("kinds"), str):
        changed["read_sensors"] = {**given.read_sensors, "kinds": str(folder / kinds)}
    return replace(given, **changed)


def _without_credentials(given: Input) -> Input:
    changed: dict[str, Any] = {}
    for name in INPUT_FILES:
        paths = getattr(given, name)
        if paths is not None:
            one = isinstance(paths, str)
            changed[name] = without_credentials(paths) if one else tuple(map(without_credentials, paths))
    return replace(given, **changed)


def _listed_section(section: Any) -> dict[str, Any]:
    """A table of a list of tables, with its name first and what is not set left out."""
    values = {"name": section.name} | {f.name: _plain(getattr(section, f.name)) for f in fields(section)}
    return {key: value for key, value in values.items() if value is not None and value not in ({}, [])}


def absolute_paths(name: str, given: Paths, folder: Path) -> Paths:
    """Return the paths of the input ``name``, relative ones starting at ``folder``.

    The ontology of the package has a name instead of a path, and a store has a URL.

    >>> absolute_paths("ontology", "water", Path("/data")), absolute_paths("sensors", "water", Path("/data"))
    ('water', '/data/water')
    """
    if not isinstance(given, str):
        return tuple(str(absolute_paths(name, one, folder)) for one in given)
    if is_url(given):
        scheme, _, path = given.partition(":///")
        return f"{scheme}:///{folder / path}" if scheme == "duckdb" else given
    return given if name == "ontology" and given == BUILT_IN_ONTOLOGY else str(folder / given)


def _build(data: Mapping[str, Any], place: Location) -> Config:
    refuse_unknown(data, ["seed", "system", "known", *_SECTIONS], place, says="unknown section or setting '{}'")
    seed = data.get("seed", 0)
    if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
        raise place.error("seed", f"'seed' must be an integer >= 0, got {seed!r}")
    sections: dict[str, Any] = {}
    for name, cls in _SECTIONS.items():
        table = data.get(name, {})
        if name == "miner" and isinstance(table, Mapping):
            settings = {key: value for key, value in table.items() if key != "name"}
            table = {"settings": settings, **({"name": table["name"]} if "name" in table else {})}
        sections[name] = build(cls, table, place.inside(name))
    systems = data.get("system", ())
    if not isinstance(systems, (list, tuple)) or not all(isinstance(one, Mapping) for one in systems):
        raise place.error("system", "'system' must be a list of tables", hint="write [[system]] above each")
    return Config(
        seed=seed,
        system=tuple(build(SystemConfig, one, place.inside("system")) for one in systems),
        known=tuple(_known_rules(data.get("known", ()), place)),
        **sections,
    )


def _known_rules(listed: Any, place: Location) -> Iterable[KnownRule]:
    if not isinstance(listed, (list, tuple)) or not all(isinstance(one, Mapping) for one in listed):
        raise place.error("known", "'known' must be a list of tables", hint="write [[known]] above each")
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
    from thence.language.patterns import Pattern

    given = [patterns] if isinstance(patterns, str) else patterns
    if given not in (["auto"], ["stars"], ["paths"]):
        try:
            for text in given:
                Pattern.parse(text)
        except PatternError as error:
            raise PatternError(error.message, where=error.where or place.of(key), hint=error.hint) from error


def _check_readers(given: InputConfig, place: Location) -> None:
    if given.dataset is not None:
        from thence.data import datasets

        try:
            known = datasets.info(given.dataset).options
        except ConfigError as error:
            raise ConfigError(error.message, where=place.of("dataset"), hint=error.hint) from error
        refuse_unknown(
            given.options, known, place.inside("options"), says=f"the data set '{given.dataset}' has no option '{{}}'"
        )
        datasets.check_options(given.dataset, given.options, location=place.inside("options"))
        _refuse_for_files(given, place)
    if given.read_sensors:
        from thence.data.readers import read_sensors

        inside = place.inside("read_sensors")
        check_keywords(read_sensors, given.read_sensors, inside, without=["source"])
        if isinstance(zone := given.read_sensors.get("timezone"), str):
            try:
                require_zone(zone)
            except ConfigError as error:
                raise inside.error("timezone", error.message, hint=error.hint) from error
    if given.read_graph:
        from thence.data.loaders import read_graph

        check_keywords(read_graph, given.read_graph, place.inside("read_graph"), without=["source"])
    if given.read_binding:
        from thence.data.loaders import read_binding

        check_keywords(read_binding, given.read_binding, place.inside("read_binding"), without=["source"])
    if given.bind:
        from thence.data.graph.binding import bind

        check_keywords(bind, given.bind, place.inside("bind"), without=["sensors", "graph"])


def _refuse_for_files(given: InputConfig, place: Location) -> None:
    """Raise if there is an option that only files have beside a data set, which would be passed over."""
    for section in ("read_sensors", "read_graph", "read_binding", "bind"):
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
