"""Preparation: from a system to windows and transactions, everything before mining.

Each step is a function of its own elsewhere. Here the steps get their part of the configuration and run in order;
``runs.pipeline``, ``generalisation``, ``compare`` and the experiments call them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, Literal

import numpy as np

from thence._base.memory.workspace import Workspace, open_workspace
from thence.data.graph.system import System
from thence.data.graph.units import find_units
from thence.data.readings.pooling import cut_sites, pool_readings
from thence.data.readings.sensors import as_utc
from thence.data.readings.steps import format_duration
from thence.data.readings.windows import WindowedReadings, window
from thence.errors import ConfigError, InputError, nearest
from thence.language.patterns import Pattern
from thence.runs.configuration import (
    AUTO,
    Config,
    DiscretizeConfig,
    EnrichConfig,
    WindowsConfig,
)
from thence.runs.inputs import gather_system
from thence.runs.planning import bins_of, scope_of
from thence.runs.run import Run
from thence.search.base import BaseMiner
from thence.search.refine import Null
from thence.search.refine.significance.nulls import require_permutations
from thence.tables.discretization import Discretizer
from thence.tables.enrich import build, features
from thence.tables.enrich.base import Frames
from thence.tables.later import describe_unseen, read_alike, remember, reuse_bins
from thence.tables.transactions import FeatureTable, TransactionTable

__all__ = [
    "Like",
    "Table",
    "build_features",
    "build_table",
    "feature_table",
    "prepare",
    "table_for",
    "transactions",
    "window_readings",
    "window_text",
    "with_clock",
]

_SOME_DAYS = timedelta(days=3)

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
    derive: str | Iterable[str] | None = None,
    origin: str = "epoch",
    timezone: str | None = None,
    empty: Literal["drop", "keep"] = "drop",
    method: str = "frequency",
    bin_edges: Mapping[str, Sequence[float]] | None = None,
    fit_until: str | None = None,
    towards: str | None = None,
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
            ``"within:30min"`` and ``"hour"`` (see ``window``); by default those of ``like``, if it is a run.
        origin: The moment at which windows are aligned.
        timezone: The time zone of calendar features; by default that of ``like``, if it is a run, or UTC.
        empty: Whether to ``"drop"`` or ``"keep"`` windows in which no sensor reads.
        method: The binning method.
        bin_edges: Given edges by kind, instead of fitted ones.
        fit_until: Fit the bins on the readings before this time only.
        towards: For the method ``entropy``: the sensor or kind whose states the bins of the others tell apart.
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
    before = like.config.windows if isinstance(like, Run) else WindowsConfig()
    if derive is None:
        derive = before.derive or ()
    config = Config(
        windows=WindowsConfig(
            every=windows,
            aggregate=aggregate,
            derive=(derive,) if isinstance(derive, str) else tuple(derive),
            origin=origin,
            timezone=timezone or before.timezone,
            empty=empty,
        ),
        discretize=DiscretizeConfig(
            bins=bins,
            scope=scope,
            method=method,
            bin_edges={key: tuple(cuts) for key, cuts in (bin_edges or {}).items()},
            fit_until=fit_until,
            towards=towards,
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
    if earlier is not None and len(system.sites) == 1:
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


def prepare(system: System, config: Config, miner: BaseMiner) -> tuple[WindowedReadings, Table]:
    """Return the windows, and the table that a miner will read: everything before mining.

    >>> from thence.runs.configuration import InputConfig
    >>> from thence.runs.inputs import load_job
    >>> from thence.runs.planning import plan
    >>> config, miner = plan(Config(input=InputConfig(dataset="toy")))
    >>> readings, table = prepare(load_job(config), config, miner)
    >>> len(readings), table.n_rows
    (96, 288)
    """
    config = with_clock(config, system)
    readings = window_readings(system, config)
    return readings, table_for(miner, readings, system, config)


def window_readings(system: System, config: Config, *, workspace: Workspace | None = None) -> WindowedReadings:
    """Return the readings of a system in windows; of several, in windows of one length that suits all of them.

    Args:
        system: The system, or several.
        config: The configuration, of which ``windows``, ``input`` and ``resources`` are used.
        workspace: Where large arrays lie; by default one with the limit of the configuration.
    """
    space = workspace or open_workspace(config.resources.memory_limit)
    parts = {site.name: _window_site(site, config, space) for site in system.sites}
    longest = window_text(max(parts.values(), key=lambda part: part.every))
    common = replace(config, windows=replace(config.windows, every=longest))
    for site in system.sites:
        if window_text(parts[site.name]) != longest:
            parts[site.name] = _window_site(site, common, space)
    return pool_readings(parts)


def _window_site(system: System, config: Config, workspace: Workspace) -> WindowedReadings:
    chosen, given = config.windows, config.input
    readings = window(
        system.sensors,
        chosen.every,
        aggregate=chosen.aggregate,
        derive=chosen.derive or (),
        origin=chosen.origin,
        timezone=chosen.timezone,
        empty=chosen.empty,
        workspace=workspace,
    )
    if not len(readings) and (given.start or given.end):
        period = f"between {given.start} and {given.end}" if given.start and given.end else ""
        period = period or (f"from {given.start} on" if given.start else f"before {given.end}")
        raise InputError(f"there are no readings {period}", where="[input]", hint="change 'start' or 'end'")
    return readings


def with_clock(config: Config, system: System) -> Config:
    """Return the configuration with what is derived from windows written out: the hour of day for buildings.

    What the points of a unit do is often what its schedule says. Pipes have no schedule, and their hour would only
    repeat what their readings say.

    Args:
        config: The configuration.
        system: The system, or several.
    """
    if config.windows.derive is not None:
        return config
    discovers = config.enrich.mode == "lifted" and config.enrich.patterns == AUTO
    follows = discovers and any(map(_runs_by_clock, system.sites))
    return replace(config, windows=replace(config.windows, derive=("hour",) if follows else ()))


def _runs_by_clock(system: System) -> bool:
    """Whether most sensors of a system are points of units, and were read for some days."""
    graph, binding = system.graph, system.binding
    if graph is None or not binding:
        return False
    bound = {sensor.id: sensor.kind for sensor in system.sensors.sensors if sensor.id in binding}
    points = find_units(graph, dict(binding), bound, system.ontology)
    span = system.sensors.span if 2 * len(points) > len(bound) else None
    return span is not None and span[1] - span[0] >= _SOME_DAYS


def build_table(
    readings: WindowedReadings,
    system: System,
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
    names = system.names

    def node_of(sensor: str) -> str:
        return "" if system.binding is None else str(system.binding.get(sensor, ""))

    if discretizer is None and fit_frames is None and readings.site_times:
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
    readings: WindowedReadings, system: System, config: Config, discretizer: Discretizer | None, fit_frames: Frames
) -> TransactionTable:
    bins, chosen = config.discretize, config.enrich
    if len(system.sites) > 1 and chosen.mode != "lifted":
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
        discretizer=discretizer
        or Discretizer(bins.method, bins_of(config), scope_of(config), bins.bin_edges, towards=bins.towards or ""),
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


def _readings_to_fit(readings: WindowedReadings, config: Config) -> WindowedReadings:
    """The readings of each system before ``fit_until``."""
    until = config.discretize.fit_until
    if until is None:
        return readings
    end = np.datetime64(as_utc(until).replace(tzinfo=None), "us")
    frames = {name: int((times < end).sum()) for name, times in readings.site_times.items()}
    for name, number in frames.items():
        if not number:
            raise ConfigError(f"no window of '{name}' lies before fit_until = {until}", where="[discretize]")
    return cut_sites(readings, {name: (0, number) for name, number in frames.items()})


def _frames_to_fit(readings: WindowedReadings, config: Config) -> Frames:
    until = config.discretize.fit_until
    if until is None:
        return slice(None)
    frames = np.asarray(readings.times < np.datetime64(as_utc(until).replace(tzinfo=None), "us"))
    if not frames.any():
        raise ConfigError(f"no window lies before fit_until = {until}", where="[discretize]")
    return frames


def _refuse_unknown_properties(system: System, config: Config) -> None:
    """A misspelt property would silently leave out its items."""
    wanted, graph = config.enrich.properties, system.graph
    if not wanted or graph is None or config.enrich.mode == "none":
        return
    known = {name for node in graph.nodes.values() for name in node.properties}
    known |= {name for edge in graph.edges.values() for name in edge.properties}
    known |= {value.property for value in graph.dated}
    for name in wanted:
        if name not in known:
            hint = nearest(name, known) or "known: " + (", ".join(sorted(known)) or "none")
            raise ConfigError(f"no node or edge of the graph has a property '{name}'", where="[enrich]", hint=hint)


def _refuse_unused_bin_edges(table: TransactionTable, readings: WindowedReadings, config: Config) -> None:
    """Bin edges that no bins use belong to a misspelt kind, or to bins that do not exist."""
    lifted, kinds = config.enrich.mode == "lifted", {sensor.kind for sensor in readings.sensors}
    if config.discretize.bin_edges and lifted and scope_of(config) == "sensor":
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


def build_features(readings: WindowedReadings, system: System, config: Config) -> FeatureTable:
    """Return the undiscretized transactions of windowed readings."""
    system.require_one_site(
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


def table_for(miner: BaseMiner, readings: WindowedReadings, system: System, config: Config) -> Table:
    """The table that a miner reads: codes, or numbers."""
    if miner.wants == "numbers":
        return build_features(readings, system, config)
    table = build_table(readings, system, config)
    if config.refine.significance is not None:
        # Better to refuse before an hour of mining than after it.
        require_permutations(table, Null(**config.refine.null))
    # Readings that nobody will look at again are not kept in memory.
    return table if config.refine.sharpen else replace(table, finer=None)


def window_text(readings: WindowedReadings) -> str:
    """Return the length of windows as in a configuration, such as ``"30min"``."""
    return format_duration(readings.every).replace(" ", "")
