"""The pipeline: from a system to windows, transactions, rules and a run. The only module that wires the parts together.

Each step is a function of its own elsewhere. Here the steps get their part of the configuration, run in order, and are
timed and recorded; ``generalisation``, ``compare`` and the experiments call the same steps.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields, is_dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from thence.atomic import require_writable
from thence.counting.by_site import with_site_columns
from thence.errors import ConfigError, InputError, nearest
from thence.graph.patterns import Pattern
from thence.graph.sites import AnySystem, Sites
from thence.graph.system import System
from thence.miners.base import BaseMiner, Miner, as_miner, make_miner, settings_of
from thence.progress import Progress, show_progress
from thence.readings.pooling import PooledReadings, pool_readings
from thence.readings.sensors import as_utc
from thence.readings.steps import format_duration
from thence.readings.windows import WindowedReadings, window
from thence.refinement import Null, refine
from thence.refinement.significance.nulls import require_permutations
from thence.rules.extra_columns import EXTRA_COLUMNS
from thence.rules.measures import MEASURES
from thence.rules.ruleset import Ending, RuleSet
from thence.runs.configuration import (
    AUTO,
    BUILT_IN_ONTOLOGY,
    REFINE_STEPS,
    Config,
    DiscretizeConfig,
    EnrichConfig,
    InputConfig,
    MinerConfig,
    RefineConfig,
    WindowsConfig,
)
from thence.runs.frames import build_row_features, build_rows, is_plain_table, read_rows
from thence.runs.inputs import gather_system, load_job, recorded_input
from thence.runs.provenance import environment, hash_files, hash_table
from thence.runs.run import FORMAT, Run, refuse_foreign
from thence.tables.admissibility import require_matches
from thence.tables.discretization import Discretizer
from thence.tables.enrich import build, features, find_enrichment
from thence.tables.enrich.base import Frames
from thence.tables.later import describe_unseen, read_alike, remember, reuse_bins
from thence.tables.transactions import FeatureTable, TransactionTable

__all__ = [
    "build_features",
    "build_table",
    "feature_table",
    "mine",
    "mine_rules",
    "plan",
    "prepare",
    "refine_rules",
    "run_config",
    "transactions",
    "window_readings",
]

FEW_RULES = 10
"""With fewer rules than this, a table with fewer bins is tried."""
LARGE = float(1 << 36)
"""Items × rows of a table that is not built again with fewer bins."""
HARDLY_ANY = 10
"""With fewer lifted rules than this, rules about single sensors are mined, unless lifted ones were asked for."""

Like = TransactionTable | Run | Discretizer | None
Table = TransactionTable | FeatureTable


def transactions(
    sensors: Any,
    graph: Any = None,
    binding: Any = None,
    *,
    ontology: Any = None,
    windows: str = "auto",
    enrich: str = "none",
    bins: int | None = None,
    scope: str | None = None,
    aggregate: str | Mapping[str, str] = "mean",
    derive: str | Iterable[str] = (),
    origin: str = "epoch",
    timezone: str = "UTC",
    empty: Literal["drop", "keep"] = "drop",
    method: str = "frequency",
    bin_edges: Mapping[str, Sequence[float]] | None = None,
    fit_until: str | None = None,
    hops: int | None = None,
    edges: bool = False,
    properties: Iterable[str] | None = None,
    patterns: str | Pattern | Iterable[str | Pattern] = "auto",
    min_embeddings: int = 3,
    max_embeddings: int = 200_000,
    like: Like = None,
    same_system: bool | None = None,
) -> TransactionTable:
    """Build transactions from readings: windows, enrichment, bins.

    Args:
        sensors: A ``System``, several of them, ``SensorData``, or whatever ``read_sensors`` takes.
        graph: A ``KnowledgeGraph``, or whatever ``read_graph`` takes. All enrichments but ``none`` need one.
        binding: A ``Binding``, a mapping from sensors to nodes, or whatever ``read_binding`` takes.
        ontology: An ``Ontology``, or whatever ``read_ontology`` takes.
        windows: The length of a window; by default that of ``like``, or the step of the readings.
        enrich: The enrichment: ``"none"``, ``"grounded"``, ``"existential"`` or ``"lifted"``.
        bins: The number of bins per quantity. The default is 10, and 5 for lifted tables.
        scope: Fit bins per ``"kind"`` of sensor or per ``"sensor"``. The default is ``"kind"``, and ``"sensor"`` for
            lifted tables.
        aggregate: How a window becomes one value, for all sensors or by kind.
        derive: Further features per window, such as ``"change"``, ``"lag:30min"``, ``"switch"``, ``"duration"``,
            ``"within:30min"`` and ``"hour"`` (see ``window``).
        origin: The moment at which windows are aligned.
        timezone: The time zone of calendar features.
        empty: Whether to ``"drop"`` or ``"keep"`` windows in which no sensor reads.
        method: The binning method.
        bin_edges: Given edges by kind, instead of fitted ones.
        fit_until: Fit the bins on the readings before this time only.
        hops: How many edges away from a sensor's node the graph is used. The default is 0, and 2 for lifted tables.
        edges: Whether labels and edges of the graph become items.
        properties: The properties of nodes to use; all by default.
        patterns: The patterns of lifted tables: ``"auto"``, ``"stars"``, ``"paths"``, or patterns.
        min_embeddings: The fewest places at which a discovered pattern must match.
        max_embeddings: The most places of one pattern.
        like: Use the bins of an earlier table, run or discretizer, so that later data are cut at the same edges; lifted
            tables also use the patterns of its rules. Bins of single sensors are used for the same sensor of the same
            system only. Notes of the table say what was not seen before: states, values and sensors.
        same_system: Whether the data are of the system that ``like`` was made of; by default decided by the names of
            the systems and the nodes of the sensors.

    Examples:
        >>> import thence as th
        >>> th.transactions(th.datasets.load("toy"), windows="1h", bins=3).n_features
        5
    """
    earlier = _bins_of(like)
    if earlier is not None and earlier.window_seconds and windows == AUTO:
        windows = format_duration(timedelta(seconds=earlier.window_seconds)).replace(" ", "")
    config = Config(
        windows=WindowsConfig(
            every=windows,
            aggregate=aggregate,
            derive=(derive,) if isinstance(derive, str) else tuple(derive),
            origin=origin,
            timezone=timezone,
            empty=empty,
        ),
        discretize=DiscretizeConfig(
            bins=bins,
            scope=scope,
            method=method,
            bin_edges={key: tuple(cuts) for key, cuts in (bin_edges or {}).items()},
            fit_until=fit_until,
        ),
        enrich=EnrichConfig(
            mode=enrich,
            hops=hops,
            edges=edges,
            properties=None if properties is None else tuple(properties),
            patterns=(patterns == AUTO and _patterns_like(like, enrich)) or _pattern_texts(patterns),
            min_embeddings=min_embeddings,
            max_embeddings=max_embeddings,
        ),
    )
    system = gather_system(sensors, graph, binding, ontology, config.input, enrich)
    earlier = _bins_of(like)
    if earlier is not None and isinstance(system, System):
        system = replace(system, sensors=read_alike(system.sensors, earlier))
    readings = window_readings(system, config)
    return build_table(readings, system, config, discretizer=earlier, same_system=same_system)


def _bins_of(like: Like) -> Discretizer | None:
    if like is None or isinstance(like, Discretizer):
        return like
    if like.discretizer is None:
        raise ConfigError("that run has no bins: its miner found its own intervals", hint="leave out 'like'")
    return like.discretizer


def _patterns_like(like: Like, enrich: str) -> tuple[str, ...]:
    """The patterns of earlier rules, or of an earlier table, so that rules of one system can be counted in another."""
    if enrich != "lifted" or like is None or isinstance(like, Discretizer):
        return ()
    if isinstance(like, TransactionTable):
        return tuple(str(block.pattern) for block in like.blocks if block.pattern is not None)
    return tuple(text for text, _ in like.rules.patterns)


def _pattern_texts(patterns: str | Pattern | Iterable[str | Pattern]) -> str | tuple[str, ...]:
    if isinstance(patterns, str):
        return patterns
    return tuple(str(pattern) for pattern in ([patterns] if isinstance(patterns, Pattern) else patterns))


def feature_table(
    sensors: Any,
    graph: Any = None,
    binding: Any = None,
    *,
    ontology: Any = None,
    windows: str = "auto",
    enrich: str = "none",
    aggregate: str | Mapping[str, str] = "mean",
    derive: str | Iterable[str] = (),
    origin: str = "epoch",
    timezone: str = "UTC",
    empty: Literal["drop", "keep"] = "drop",
    hops: int | None = None,
    properties: Iterable[str] | None = None,
) -> FeatureTable:
    """Build the undiscretized transactions, for miners that find their own intervals.

    Args:
        sensors: A ``System``, ``SensorData``, or whatever ``read_sensors`` takes.
        graph: A ``KnowledgeGraph``, or whatever ``read_graph`` takes.
        binding: A ``Binding``, a mapping from sensors to nodes, or whatever ``read_binding`` takes.
        ontology: An ``Ontology``, or whatever ``read_ontology`` takes.
        windows: The length of a window; by default the step of the readings.
        enrich: The enrichment: ``"none"`` or ``"grounded"``.
        aggregate: How a window becomes one value, for all sensors or by kind.
        derive: Further features per window.
        origin: The moment at which windows are aligned.
        timezone: The time zone of calendar features.
        empty: Whether to ``"drop"`` or ``"keep"`` windows in which no sensor reads.
        hops: How many edges away from a sensor's node the graph is used.
        properties: The properties of nodes to use; all by default.

    Examples:
        >>> import thence as th
        >>> th.feature_table(th.datasets.load("toy"), windows="1h").numbers.shape[1]
        5
    """
    config = Config(
        windows=WindowsConfig(
            every=windows,
            aggregate=aggregate,
            derive=(derive,) if isinstance(derive, str) else tuple(derive),
            origin=origin,
            timezone=timezone,
            empty=empty,
        ),
        enrich=EnrichConfig(mode=enrich, hops=hops, properties=None if properties is None else tuple(properties)),
    )
    system = gather_system(sensors, graph, binding, ontology, config.input, enrich)
    return build_features(window_readings(system, config), system, config)


def mine(
    sensors: Any = None,
    graph: Any = None,
    binding: Any = None,
    *,
    ontology: Any = None,
    target: str | None = None,
    windows: str | None = None,
    enrich: str | None = None,
    bins: int | None = None,
    scope: str | None = None,
    categorical: str | Iterable[str] | None = None,
    numeric: str | Iterable[str] | None = None,
    miner: str | type | Miner | None = None,
    refine: RefineConfig | Mapping[str, Any] | bool | str | None = "auto",
    seed: int | None = None,
    out: str | Path | None = None,
    force: bool = False,
    progress: str | bool | Progress = "auto",
    config: Config | None = None,
    **settings: Any,
) -> Run:
    """Mine rules: the whole way from readings to a run.

    Told nothing but the data, it finds lifted rules if there is a graph, over windows of the readings' own step, and
    returns a digest: at most 50 rules worth reading, each fact once. ``refine=None`` returns all rules.

    A data frame without a time column is a plain table: its rows are the transactions. So is any frame, CSV or Parquet
    file for which a ``target`` is given.

    Ctrl-C keeps what the miner ``exact`` has found so far, and what any miner has found if it comes during refinement,
    in a run that says so; other searches leave nothing.

    Args:
        sensors: A ``System``, several of them, ``SensorData``, or whatever ``read_sensors`` takes.
        graph: A ``KnowledgeGraph``, or whatever ``read_graph`` takes.
        binding: A ``Binding``, a mapping from sensors to nodes, or whatever ``read_binding`` takes.
        ontology: An ``Ontology``, or whatever ``read_ontology`` takes.
        target: The column of a plain table that rules conclude about, such as a class.
        windows: The length of a window; by default the step of the readings.
        enrich: The enrichment: ``"none"``, ``"grounded"``, ``"existential"`` or ``"lifted"``. The default is
            ``"lifted"`` with a graph and ``"none"`` without.
        bins: The number of bins per quantity. The default is 10; for lifted rules 5, or 3 if 5 give very few rules.
        scope: Fit bins per ``"kind"`` of sensor or per ``"sensor"``.
        categorical: Names or patterns (with ``*`` and ``?``) of sensors or columns that hold states, not numbers.
        numeric: Names or patterns of sensors or columns that hold numbers, not states.
        miner: The name of a miner, a miner class, or a miner.
        refine: Settings of the refinement, such as ``{"significance": 0.05, "digest": 100}`` (see ``refine``);
            ``None`` or ``False`` to return all rules as they are found.
        seed: The random seed.
        out: The folder to write the run to, in one step when it is complete.
        force: Replace a run that already exists at ``out``.
        progress: ``"auto"`` (bars on a terminal), ``"on"``, ``"off"``, or a function.
        config: A configuration; the other keywords override its values.
        **settings: Settings of the miner.

    Returns:
        The run: rules, configuration, summary and provenance.

    Examples:
        >>> import thence as th
        >>> run = th.mine(th.datasets.load("toy"), windows="1h", bins=3, min_confidence=0.9, progress="off")
        >>> print(run.rules.top(1).rule(0).english)  # doctest: +ELLIPSIS
        if ..., then ...
    """
    base = config or Config()
    if seed is not None:
        base = base.with_seed(seed)
    if enrich is not None:
        base = base.with_enrichment(enrich)
    given = (sensors, graph, binding, ontology)
    read = recorded_input(base.input, *given) if any(part is not None for part in given) else base.input
    asked = replace(
        base,
        input=_read_as(_given(read, target=target), categorical=categorical, numeric=numeric),
        windows=_given(base.windows, every=windows),
        discretize=_given(base.discretize, bins=bins, scope=scope),
        refine=_refinement(refine, base.refine),
        output=_given(base.output, path=None if out is None else str(out), force=force or None),
    )
    if asked.input.target is not None or (graph is None and binding is None and is_plain_table(sensors)):
        if any(part is not None for part in (graph, binding, ontology)):
            raise ConfigError(
                "'target' is for a table whose rows are transactions, without a graph",
                hint="for sensor data, give 'consequent' instead",
            )
        source = asked.input.sensors if sensors is None else sensors
        with show_progress(progress) as tell:
            return _run_rows(asked, miner, settings, source, tell)
    planned, made = plan(asked, miner, settings, graph=_has_graph(asked.input, *given) or _names_graph(asked))

    def load(tell: Progress) -> AnySystem:
        if all(part is None for part in given):
            return load_job(planned, progress=tell)
        return gather_system(*given, planned.input, planned.enrich.mode)

    with show_progress(progress) as tell:
        given_settings = _given_settings(asked, miner, settings)
        return _run(planned, made, load, tell, given=given_settings, fallback=_fallback(asked, planned))


def _read_as(given: InputConfig, **patterns: str | Iterable[str] | None) -> InputConfig:
    """The section with names of columns added to the options of reading."""
    named = {
        option: [several] if isinstance(several, str) else list(several)
        for option, several in patterns.items()
        if several is not None
    }
    return replace(given, read_sensors={**given.read_sensors, **named}) if named else given


def _has_graph(given: InputConfig, sensors: Any, graph: Any, *_: Any) -> bool:
    """Whether what a caller passed, or what a configuration names, has a knowledge graph."""
    if isinstance(sensors, System):
        return sensors.graph is not None
    if isinstance(sensors, (list, tuple)) and any(isinstance(one, System) for one in sensors):
        return any(isinstance(one, System) and one.graph is not None for one in sensors)
    return graph is not None or given.graph is not None or given.dataset is not None


def _names_graph(config: Config) -> bool:
    return any(_has_graph(one, None, None) for one in (config.input, *config.system))


def plan(
    config: Config,
    miner: str | type | Miner | None = None,
    settings: Mapping[str, Any] | None = None,
    *,
    graph: bool | None = None,
) -> tuple[Config, BaseMiner]:
    """Return the miner, and the configuration with every default written out, so that the run can be repeated.

    Defaults that depend on the readings stay open: the length of windows, and the number of bins of lifted tables.

    Args:
        config: The configuration.
        miner: A miner to use instead of the one in the configuration.
        settings: Settings of the miner, instead of those in the configuration.
        graph: Whether there is a graph; by default if the configuration names a graph or a data set.

    Examples:
        >>> config, miner = plan(Config())
        >>> config.discretize.scope, config.miner.settings["min_support"]
        ('kind', 0.01)
    """
    made, described = _make_miner(miner, settings or {}, config)
    if graph is None:
        graph = _names_graph(config)
    # Some miners are made for one enrichment, and those that find intervals of their own cannot read lifted tables.
    chosen = config.enrich.for_graph(graph and made.wants == "codes")
    if config.enrich.mode in ("none", AUTO) and made.enrichment:
        chosen = replace(chosen, mode=made.enrichment)
    config = replace(config, miner=described, enrich=chosen)
    config.enrich.refuse_unused()
    config.check_refine()
    _refuse_raw(made, config)
    resolved = replace(
        config,
        enrich=config.enrich.resolved(),
        discretize=replace(config.discretize, scope=_scope_of(config), bins=_planned_bins(config)),
        refine=_resolved_refinement(config.refine, made),
    )
    return resolved, made


def _planned_bins(config: Config) -> int | None:
    """The number of bins, unless several are to be tried."""
    chosen = find_enrichment(config.enrich.mode)
    return config.discretize.bins if config.discretize.bins is not None or chosen.fewer_bins else chosen.bins


def _resolved_refinement(given: RefineConfig, miner: BaseMiner) -> RefineConfig:
    """The section with the defaults of ``refine`` and the bounds of the miner written out, if refinement runs."""
    if given.apply is None and given.steps == {} and miner.wants == "numbers":
        return replace(given, apply=False)
    steps = given.steps
    if steps is None:
        return given
    parameters = inspect.signature(refine).parameters
    known = {name: steps.get(name, parameters[name].default) for name in REFINE_STEPS}
    known["assurance"] = steps.get("assurance", miner.assurance)
    known["digest"] = given.most
    if known["min_confidence"] is None:
        known["min_confidence"] = miner.least_confidence
    null = {} if known["significance"] is None else asdict(Null(**given.null))
    return replace(given, apply=True, null={key: value for key, value in null.items() if value is not None}, **known)


def run_config(
    config: Config, *, progress: str | bool | Progress = "auto", check: Callable[[AnySystem], None] | None = None
) -> Run:
    """Do what a configuration says.

    Args:
        config: The configuration.
        progress: As in ``mine``.
        check: Called with the system once it is read; it may raise to stop the run.

    Examples:
        >>> config = Config.from_mapping({"input": {"dataset": "toy"}, "windows": {"every": "1h"}})
        >>> run_config(config, progress="off").complete
        True
    """
    if config.input.target is not None:
        with show_progress(progress) as tell:
            return _run_rows(config, None, {}, config.input.sensors, tell)
    planned, miner = plan(config)

    def load(tell: Progress) -> AnySystem:
        system = load_job(planned, progress=tell)
        if check is not None:
            check(system)
        return system

    with show_progress(progress) as tell:
        given = _given_settings(config, None, {})
        return _run(planned, miner, load, tell, given=given, fallback=_fallback(config, planned))


def prepare(system: AnySystem, config: Config, miner: BaseMiner) -> tuple[WindowedReadings, Table]:
    """Return the windows, and the table that a miner will read: everything before mining.

    >>> config, miner = plan(Config(input=InputConfig(dataset="toy")))
    >>> readings, table = prepare(load_job(config), config, miner)
    >>> len(readings), table.n_rows
    (96, 288)
    """
    readings = window_readings(system, config)
    return readings, _table_for(miner, readings, system, config)


def window_readings(system: AnySystem, config: Config) -> WindowedReadings:
    """Return the readings of a system in windows; of several, in windows of one length that suits all of them."""
    if isinstance(system, Sites):
        return _window_sites(system, config)
    chosen, given = config.windows, config.input
    readings = window(
        system.sensors,
        chosen.every,
        aggregate=chosen.aggregate,
        derive=chosen.derive,
        origin=chosen.origin,
        timezone=chosen.timezone,
        empty=chosen.empty,
    )
    if not len(readings) and (given.start or given.end):
        period = f"between {given.start} and {given.end}" if given.start and given.end else ""
        period = period or (f"from {given.start} on" if given.start else f"before {given.end}")
        raise InputError(f"there are no readings {period}", where="[input]", hint="change 'start' or 'end'")
    return readings


def _window_sites(sites: Sites, config: Config) -> WindowedReadings:
    parts = {system.name: window_readings(system, config) for system in sites}
    longest = window_text(max(parts.values(), key=lambda part: part.every))
    common = replace(config, windows=replace(config.windows, every=longest))
    for system in sites:
        if window_text(parts[system.name]) != longest:
            parts[system.name] = window_readings(system, common)
    return pool_readings(parts)


def build_table(
    readings: WindowedReadings,
    system: AnySystem,
    config: Config,
    *,
    discretizer: Discretizer | None = None,
    fit_frames: Frames | None = None,
    same_system: bool | None = None,
) -> TransactionTable:
    """Return the transactions of windowed readings.

    Args:
        readings: The readings in windows.
        system: The system that they belong to.
        config: The configuration, of which ``discretize`` and ``enrich`` are used.
        discretizer: Earlier bins to use where they apply; otherwise bins are fitted.
        fit_frames: The frames on which bins are fitted; by default those before ``discretize.fit_until``, or all.
        same_system: Whether ``discretizer`` was fitted on the same system; by default decided by names and nodes.
    """
    names = system.names if isinstance(system, Sites) else (system.name,)

    def node_of(sensor: str) -> str:
        return "" if system.binding is None else str(system.binding.get(sensor, ""))

    if discretizer is None and fit_frames is None and isinstance(readings, PooledReadings):
        earlier = _readings_to_fit(readings, config)
        if earlier is not readings:
            fitted = _build(earlier, system, config, None, slice(None)).discretizer
            table = _build(readings, system, config, fitted, slice(None))
            return replace(table, discretizer=remember(table.discretizer, earlier, node_of, names))
    if discretizer is None:
        frames = _frames_to_fit(readings, config) if fit_frames is None else fit_frames
        table = _build(readings, system, config, None, frames)
        return replace(table, discretizer=remember(table.discretizer, readings, node_of, names))
    reused = reuse_bins(discretizer, readings, node_of, names, same_system=same_system)
    table = _build(readings, system, config, reused.discretizer, slice(None) if fit_frames is None else fit_frames)
    unseen = describe_unseen(reused.discretizer, table.discretizer, readings, reused.refused)
    bins = remember(table.discretizer, readings, node_of, names)
    return replace(table, discretizer=bins, notes=(*table.notes, *reused.notes, *unseen))


def _build(
    readings: WindowedReadings, system: AnySystem, config: Config, discretizer: Discretizer | None, fit_frames: Frames
) -> TransactionTable:
    bins, chosen = config.discretize, config.enrich
    if isinstance(system, Sites) and chosen.mode != "lifted":
        raise ConfigError(
            f"several systems cannot be mined together with the enrichment '{chosen.mode}': its rules are about the "
            "sensors of one system",
            hint="use enrich='lifted', or mine the systems one by one",
        )
    _refuse_unknown_properties(system, config)
    table = build(
        readings,
        mode=chosen.mode,
        graph=system.graph,
        binding=system.binding,
        ontology=system.ontology,
        discretizer=discretizer or Discretizer(bins.method, _bins_of_config(config), _scope_of(config), bins.bin_edges),
        fit_frames=fit_frames,
        hops=chosen.hops,
        edges=chosen.edges,
        properties=chosen.properties,
        patterns=chosen.patterns if isinstance(chosen.patterns, str) else list(chosen.patterns),
        min_embeddings=chosen.min_embeddings,
        max_embeddings=chosen.max_embeddings,
    )
    if discretizer is None:
        _refuse_unused_bin_edges(table, readings, config)
    return table


def _bins_of_config(config: Config) -> int:
    bins = config.discretize.bins
    return find_enrichment(config.enrich.mode).bins if bins is None else bins


def _scope_of(config: Config) -> str:
    return config.discretize.scope or find_enrichment(config.enrich.mode).scope


def _readings_to_fit(readings: PooledReadings, config: Config) -> PooledReadings:
    """The readings of each system before ``fit_until``."""
    until = config.discretize.fit_until
    if until is None:
        return readings
    end = np.datetime64(as_utc(until).replace(tzinfo=None), "us")
    frames = {name: int((times < end).sum()) for name, times in readings.site_times.items()}
    for name, number in frames.items():
        if not number:
            raise ConfigError(f"no window of '{name}' lies before fit_until = {until}", where="[discretize]")
    return readings.cut({name: (0, number) for name, number in frames.items()})


def _frames_to_fit(readings: WindowedReadings, config: Config) -> Frames:
    until = config.discretize.fit_until
    if until is None:
        return slice(None)
    frames = np.asarray(readings.times < np.datetime64(as_utc(until).replace(tzinfo=None), "us"))
    if not frames.any():
        raise ConfigError(f"no window lies before fit_until = {until}", where="[discretize]")
    return frames


def _refuse_unknown_properties(system: AnySystem, config: Config) -> None:
    """A misspelt property would silently leave out its items."""
    wanted, graph = config.enrich.properties, system.graph
    if not wanted or graph is None or config.enrich.mode == "none":
        return
    known = {name for node in graph.nodes.values() for name in node.properties} | {
        value.property for value in graph.dated
    }
    for name in wanted:
        if name not in known:
            hint = nearest(name, known) or "known: " + (", ".join(sorted(known)) or "none")
            raise ConfigError(f"no node of the graph has a property '{name}'", where="[enrich]", hint=hint)


def _refuse_unused_bin_edges(table: TransactionTable, readings: WindowedReadings, config: Config) -> None:
    """Bin edges that no bins use belong to a misspelt kind, or to bins that do not exist."""
    lifted, kinds = config.enrich.mode == "lifted", {sensor.kind for sensor in readings.sensors}
    if config.discretize.bin_edges and lifted and _scope_of(config) == "sensor":
        raise ConfigError(
            "'bin_edges' are values of readings, but the bins of lifted tables are ranks in each sensor's history",
            where="[discretize]",
            hint="set scope = 'kind'",
        )
    known = {*(table.discretizer.binnings if table.discretizer else ()), *(kinds if lifted else ())}
    for name in config.discretize.bin_edges:
        if name not in known:
            hint = nearest(name, known) or "known: " + ", ".join(sorted(known))
            raise ConfigError(f"'bin_edges' are given for '{name}', which has no bins", where="[discretize]", hint=hint)


def build_features(readings: WindowedReadings, system: AnySystem, config: Config) -> FeatureTable:
    """Return the undiscretized transactions of windowed readings."""
    if isinstance(system, Sites):
        raise ConfigError(
            "a table of several systems has bins: there is none with the raw numbers", hint="use a miner of bins"
        )
    _refuse_unknown_properties(system, config)
    chosen = config.enrich
    return features(
        readings,
        mode=chosen.mode,
        graph=system.graph,
        binding=system.binding,
        ontology=system.ontology,
        hops=chosen.hops,
        properties=chosen.properties,
    )


def _table_for(miner: BaseMiner, readings: WindowedReadings, system: AnySystem, config: Config) -> Table:
    """The table that a miner reads: codes, or numbers."""
    if miner.wants == "numbers":
        return build_features(readings, system, config)
    table = build_table(readings, system, config)
    if config.refine.significance is not None:
        # Better to refuse before an hour of mining than after it.
        require_permutations(table, Null(**config.refine.null))
    return table


def mine_rules(miner: BaseMiner, table: Table, system: AnySystem | None, *, progress: Progress) -> tuple[RuleSet, Any]:
    """Return the rules of a table, and the model behind them if the miner learns one."""
    graph = None if system is None else system.graph
    return miner.within(table, graph).mine_with_model(table, progress=progress)


def _refuse_raw(miner: BaseMiner, config: Config) -> None:
    if miner.wants == "numbers" and (config.refine.apply or config.refine.steps):
        raise ConfigError(
            f"rules of the miner '{miner.name}' have intervals of their own and cannot be refined",
            hint="in [refine], set only min, max, top and by",
        )


def refine_rules(
    rules: RuleSet, table: Table, miner: BaseMiner, system: AnySystem | None, config: Config, *, progress: Progress
) -> RuleSet:
    """Return the rules worth reading, if refinement is asked for; otherwise the rules as they are."""
    _refuse_raw(miner, config)
    steps = _resolved_refinement(config.refine, miner).steps
    if steps is None:
        return rules
    assert isinstance(table, TransactionTable)
    if "null" in steps:
        steps["null"] = Null(**steps["null"])
    # The miner's own bounds: merged rules keep them, and no rule that it could not have found competes in a test.
    return refine(
        rules,
        table,
        min_support=miner.min_support,
        antecedent=miner.antecedent,
        consequent=miner.consequent,
        ontology=None if system is None else system.ontology,
        denominator=miner.denominator,
        seed=config.seed,
        progress=progress,
        **steps,
    )


def select_rules(rules: RuleSet, refine: RefineConfig) -> RuleSet:
    """Return the rules within the bounds of ``refine``, sorted, and the best only if ``top`` is set.

    An extra column that steps or miners may add, but these rules do not have, is ignored, and a note says so.
    """
    bounds: dict[str, Any] = {f"min_{name}": bound for name, bound in refine.min.items()}
    bounds |= {f"max_{name}": bound for name, bound in refine.max.items()}
    known = {*MEASURES, *rules.extras, "antecedents"}
    absent = sorted({*([refine.by] if refine.by else ()), *refine.min, *refine.max} - known)
    for name in absent if len(rules) else ():
        if name not in EXTRA_COLUMNS:
            rules.measure(name)  # raises, and suggests the nearest
    if absent and len(rules):
        note = f"the rules have no column {', '.join(absent)}: they are neither filtered nor sorted by it"
        rules = replace(rules, notes=(*rules.notes, note))
    bounds = {name: bound for name, bound in bounds.items() if name[4:] in known}
    if bounds:
        rules = rules.filter(**bounds)
    if refine.by is not None or not rules.ordered:
        rules = rules.sort([refine.by if refine.by in known else "zhang", "support"])
    return rules if refine.top is None else rules.top(refine.top)


def _given_settings(asked: Config, miner: str | type | Miner | None, settings: Mapping[str, Any]) -> frozenset[str]:
    """The settings of the miner that somebody chose; those of a miner that was passed as an object are all chosen."""
    if miner is not None and not isinstance(miner, (str, type)):
        return frozenset(settings_of(miner))
    return frozenset({*asked.miner.settings, *settings})


def _fallback(asked: Config, planned: Config) -> Config | None:
    """The configuration to use if lifted rules, which nobody asked for by name, are hardly any."""
    if asked.enrich.mode != AUTO or planned.enrich.mode != "lifted" or planned.refine.steps is None:
        return None
    plain = planned.with_enrichment("none", recorded=True)
    bins = find_enrichment("none").bins if asked.discretize.bins is None else asked.discretize.bins
    scope = asked.discretize.scope or find_enrichment("none").scope
    return replace(plain, discretize=replace(plain.discretize, bins=bins, scope=scope))


def _run(
    config: Config,
    miner: BaseMiner,
    load: Callable[[Progress], AnySystem],
    tell: Progress,
    *,
    given: frozenset[str],
    fallback: Config | None = None,
) -> Run:
    _refuse_target(config)
    seconds: dict[str, float] = {}
    with _timed("read", seconds):
        system = load(tell)
    with _timed("windows", seconds):
        readings = window_readings(system, config)
        config = replace(config, windows=replace(config.windows, every=window_text(readings)))
    tried: list[_Searched] = []
    for n_bins in _bins_to_try(config):
        tried.append(_search(_with_bins(config, n_bins), miner, readings, system, tell, seconds, given))
        # A rule that nobody finds about fifths may be one about thirds.
        if len(tried[-1].rules) >= FEW_RULES or tried[-1].rules.ending is not Ending.COMPLETE or _is_large(tried[-1]):
            break
    best = max(tried, key=lambda one: len(one.rules))
    hardly_any = len(best.rules) < HARDLY_ANY and best.rules.ending is Ending.COMPLETE
    if fallback is not None and hardly_any and not isinstance(system, Sites):
        plain = replace(fallback, windows=config.windows)
        best = _with_fallback(best, _search(plain, miner, readings, system, tell, seconds, given))
    return _finish(best, miner, readings.notes, _hashes(best.config, readings, best.table), seconds)


def _run_rows(
    config: Config, miner: str | type | Miner | None, settings: Mapping[str, Any], source: Any, tell: Progress
) -> Run:
    """Mine a table whose rows are transactions."""
    target = config.input.target
    if target is not None:
        # The configuration of an earlier run has both.
        if {**config.miner.settings, **settings}.get("consequent") not in (None, target):
            raise ConfigError("'target' and 'consequent' exclude each other", hint="give one of them")
        if miner is None or isinstance(miner, (str, type)):
            settings = {**settings, "consequent": target}
        elif is_dataclass(miner) and not isinstance(miner, type):
            miner = replace(miner, consequent=target)
    if config.enrich.mode not in ("none", AUTO) or config.discretize.fit_until is not None:
        name = "fit_until" if config.discretize.fit_until is not None else "enrich"
        raise ConfigError(f"'{name}' does not apply to a table whose rows are transactions", hint="leave it out")
    planned, made = plan(config, miner, settings, graph=False)
    _refuse_target(planned)
    seconds: dict[str, float] = {}
    with _timed("read", seconds):
        frame = read_rows(source, planned.input)
    with _timed("transactions", seconds):
        raw = made.wants == "numbers"
        table: Table = (
            build_row_features(frame, planned.input) if raw else build_rows(frame, planned.input, planned.discretize)
        )
    searched = _mine_table(planned, made, table, None, tell, seconds, _given_settings(config, miner, settings))
    inputs: dict[str, Any] = {"table_sha256": hash_table(table)}
    if planned.input.sensors is not None:
        inputs["sensors"] = hash_files(_several_paths(planned.input.sensors))
    return _finish(searched, made, (), inputs, seconds)


def _several_paths(paths: str | tuple[str, ...]) -> tuple[str, ...]:
    return (paths,) if isinstance(paths, str) else paths


def _refuse_target(config: Config) -> None:
    """Better to refuse a folder before an hour of mining than after it."""
    if config.output.path is not None:
        target = Path(config.output.path).absolute()
        refuse_foreign(target, force=config.output.force)
        require_writable(target)


def _finish(
    searched: _Searched,
    miner: BaseMiner,
    notes: Sequence[str],
    inputs: Mapping[str, Any],
    seconds: Mapping[str, float],
) -> Run:
    """The run of what was found, written if the configuration says where."""
    config, table, found, rules, model = searched
    described = rules.describe()
    interrupted = rules.ending is Ending.INTERRUPTED
    summary = {
        "format": FORMAT,
        "complete": not interrupted,
        "interrupted": interrupted,
        "ending": rules.ending.value,
        **described,
        "miner": miner.name,
        "enrichment": config.enrich.mode,
        "rules_found": len(found),
        "refine": rules.facts.get("refine"),
        "notes": list(dict.fromkeys([*notes, *table.notes, *rules.notes])),
        "seconds": {stage: round(spent, 4) for stage, spent in seconds.items()},
    }
    provenance = {**environment(seed=config.seed), "inputs": inputs}
    final = replace(rules, facts={**rules.facts, "data_coverage": described["data_coverage"]})
    bins = table.discretizer if isinstance(table, TransactionTable) else None
    run = Run(final, config, summary, provenance, bins, None, table, model)
    return run if config.output.path is None else run.save(config.output.path, force=config.output.force)


class _Searched(NamedTuple):
    """What came of mining one table: the configuration, the table, rules as found and as kept, and the model."""

    config: Config
    table: Table
    found: RuleSet
    rules: RuleSet
    model: Any


def _search(
    config: Config,
    miner: BaseMiner,
    readings: WindowedReadings,
    system: AnySystem,
    tell: Progress,
    seconds: dict[str, float],
    given: frozenset[str],
) -> _Searched:
    """Build the table, mine and refine; the seconds of each step are added up."""
    with _timed("transactions", seconds):
        table = _table_for(miner, readings, system, config)
    return _mine_table(config, miner, table, system, tell, seconds, given)


def _mine_table(
    config: Config,
    miner: BaseMiner,
    table: Table,
    system: AnySystem | None,
    tell: Progress,
    seconds: dict[str, float],
    given: frozenset[str],
) -> _Searched:
    """Mine and refine."""
    with _timed("mine", seconds):
        if isinstance(table, TransactionTable):
            context = bool(getattr(miner, "context_consequents", False))
            require_matches(
                table, antecedent=miner.antecedent, consequent=miner.consequent, context_consequents=context
            )
        config, miner, notes = _eased(config, miner, table, given)
        found, model = mine_rules(miner, table, system, progress=tell)
        found = replace(found, notes=(*notes, *found.notes))
    with _timed("refine", seconds):
        # After an interrupt nobody wants to wait for refinement.
        refined = found
        if found.ending is not Ending.INTERRUPTED:
            try:
                refined = refine_rules(found, table, miner, system, config, progress=tell)
            except KeyboardInterrupt:
                note = "interrupted: these are the rules before refinement"
                refined = replace(found, notes=(*found.notes, note), ending=Ending.INTERRUPTED)
        kept = select_rules(refined, config.refine)
        if isinstance(system, Sites) and isinstance(table, TransactionTable):
            kept = with_site_columns(kept, table, denominator=miner.denominator)
        return _Searched(config, table, found, kept, model)


def _eased(
    config: Config, miner: BaseMiner, table: Table, given: frozenset[str]
) -> tuple[Config, BaseMiner, tuple[str, ...]]:
    """The miner with settings that suit the size of the table, if only a digest of its rules is wanted."""
    if config.refine.steps is None or not config.refine.most or not isinstance(table, TransactionTable):
        return config, miner, ()
    eased, note = miner.eased(table, given=given)
    if not note:
        return config, miner, ()
    settings = {name: value for name, value in settings_of(eased).items() if _is_set(value)}
    return replace(config, miner=replace(config.miner, settings=settings)), eased, (note,)


def _with_fallback(lifted: _Searched, plain: _Searched) -> _Searched:
    """Rules about single sensors, if there are more of them, with a note that says why."""
    if len(plain.rules) <= len(lifted.rules):
        return lifted
    count = len(lifted.rules)
    note = (
        f"{f'only {count}' if count else 'no'} rule{'' if count == 1 else 's'} for all places of a pattern met the"
        " thresholds: these are rules about single sensors (enrich='lifted' tells more)"
    )
    notes = tuple(dict.fromkeys([note, *lifted.table.notes, *plain.rules.notes]))
    return plain._replace(rules=replace(plain.rules, notes=notes))


def _is_large(searched: _Searched) -> bool:
    """Whether another search of the same size would take too long for something that nobody asked for."""
    table = searched.table
    return isinstance(table, TransactionTable) and float(table.n_items) * table.n_rows > LARGE


def _bins_to_try(config: Config) -> tuple[int, ...]:
    """The numbers of bins to mine with, until there are enough rules to read."""
    chosen = find_enrichment(config.enrich.mode)
    if config.discretize.bins is not None:
        return (config.discretize.bins,)
    fewer = chosen.fewer_bins if config.refine.steps is not None and config.refine.most else ()
    return (chosen.bins, *fewer)


def _with_bins(config: Config, bins: int) -> Config:
    return replace(config, discretize=replace(config.discretize, bins=bins))


def window_text(readings: WindowedReadings) -> str:
    """Return the length of windows as in a configuration, such as ``"30min"``."""
    return format_duration(readings.every).replace(" ", "")


def _hashes(config: Config, readings: WindowedReadings, table: Table) -> dict[str, Any]:
    out = _hash_inputs(config.input)
    if config.system:
        out["systems"] = {one.name: _hash_inputs(one) for one in config.system}
    out["report"] = readings.report.to_dict()
    out["table_sha256"] = hash_table(table)
    return out


def _hash_inputs(given: InputConfig) -> dict[str, Any]:
    out: dict[str, Any] = {}
    if given.dataset is not None:
        out["dataset"] = {"name": given.dataset, "options": dict(given.options)}
    for name in ("sensors", "graph", "binding", "ontology"):
        paths = getattr(given, name)
        if paths is not None:
            listed = [paths] if isinstance(paths, str) else paths
            out[name] = hash_files(path for path in listed if name != "ontology" or path != BUILT_IN_ONTOLOGY)
    return out


def _make_miner(
    miner: str | type | Miner | None, settings: Mapping[str, Any], config: Config
) -> tuple[BaseMiner, MinerConfig]:
    """The miner, and its configuration with every setting written out."""
    if miner is None or miner == config.miner.name:
        miner, settings = config.miner.name, {**config.miner.settings, **settings}
    made = make_miner(miner, **settings)
    known = settings_of(made)
    if "seed" in known and "seed" not in settings and isinstance(miner, (str, type)):
        made = replace(made, seed=config.seed)  # type: ignore[type-var]
    base = as_miner(made)
    known = settings_of(base.resolved()) or settings_of(made) or dict(settings)
    return base, MinerConfig(name=base.name, settings={name: value for name, value in known.items() if _is_set(value)})


def _is_set(value: Any) -> bool:
    """TOML has no null, so what is not set is not recorded."""
    return value is not None and not (isinstance(value, (Mapping, list, tuple)) and not value)


def _refinement(given: RefineConfig | Mapping[str, Any] | bool | str | None, base: RefineConfig) -> RefineConfig:
    if isinstance(given, RefineConfig):
        return given
    if isinstance(given, str):
        if given != AUTO:
            raise ConfigError(f"unknown value '{given}' of refine", hint="use settings, True, or None for all rules")
        return base
    if not given:
        return RefineConfig(apply=False, by=base.by, top=base.top, min=base.min, max=base.max)
    changes = {"apply": True} if given is True else given
    known = [field.name for field in fields(base)]
    for name in changes:
        if name not in known:
            raise ConfigError(
                f"unknown setting '{name}' of refine", hint=nearest(name, known) or "known: " + ", ".join(known)
            )
    return replace(base, **changes)


def _given(section: Any, **values: Any) -> Any:
    """A section in which the values that are not ``None`` are replaced."""
    return replace(section, **{name: value for name, value in values.items() if value is not None})


@contextmanager
def _timed(stage: str, seconds: dict[str, float]) -> Iterator[None]:
    begin = time.perf_counter()
    yield
    seconds[stage] = seconds.get(stage, 0.0) + time.perf_counter() - begin
