"""Preparation: from a system to windows and transactions, everything before mining.

``prepare`` makes a ``Prepared`` of a system, as a configuration says or as a run prepared its own; mining, applying,
detecting, monitoring, reports and experiments start from it. Each step is a function of its own elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cached_property
from typing import Any, Unpack

import numpy as np

from thence._base.memory import Workspace, open_workspace
from thence.data.graph.common_units import with_common_units
from thence.data.graph.system import System
from thence.data.graph.units import find_units
from thence.data.readings.durations import format_duration
from thence.data.readings.health.checking import cleaner
from thence.data.readings.pooling import cut_sites, pool_readings
from thence.data.readings.sensors import as_utc
from thence.data.readings.windows import WindowedReadings, window
from thence.errors import ConfigError, InputError, nearest
from thence.language.items import Aspect, Role
from thence.runs.configuration import AUTO, Config, InputConfig, WindowsConfig
from thence.runs.inputs import gather_system
from thence.runs.options import OTHER_DEFAULTS, FeatureOptions, TableOptions, with_keywords, with_options
from thence.runs.planning import bins_of, has_graph, scope_of
from thence.runs.run import Run
from thence.search.base import BaseMiner
from thence.search.refine import Null
from thence.search.refine.significance.nulls import require_permutations
from thence.statements.counting.by_place import name_places
from thence.statements.counting.encoding import EncodedBlock, encode_blocks
from thence.statements.counting.states import find_states
from thence.statements.rules.measures import Counts
from thence.statements.rules.ruleset import Rule, RuleSet
from thence.statements.statement import States, Trace
from thence.tables.bitmaps.bits import unpack
from thence.tables.blocks import Block
from thence.tables.discretization import Discretizer
from thence.tables.enrich import build, features
from thence.tables.enrich.base import Frames
from thence.tables.later import Reused, describe_unseen, read_alike, remember, reuse_bins
from thence.tables.transactions import FeatureTable, TransactionTable

_SOME_DAYS = timedelta(days=3)

Like = TransactionTable | Run | Discretizer | None
Table = TransactionTable | FeatureTable


@with_keywords(TableOptions, **OTHER_DEFAULTS["transactions"])
def transactions(
    sensors: Any,
    graph: Any = None,
    binding: Any = None,
    *,
    ontology: Any = None,
    like: Like = None,
    same_system: bool | None = None,
    **options: Unpack[TableOptions],
) -> TransactionTable:
    """Build transactions from readings: windows, enrichment, bins.

    Args:
        sensors: A ``System``, several of them, ``SensorData``, or whatever ``read_sensors`` takes.
        graph: A ``KnowledgeGraph``, or whatever ``read_graph`` takes. All enrichments but ``none`` need one.
        binding: A ``Binding``, a mapping from sensors to nodes, or whatever ``read_binding`` takes.
        ontology: An ``Ontology``, or whatever ``read_ontology`` takes.
        like: Use the bins of an earlier table, run or discretizer, so that later data are cut at the same edges; lifted
            tables also use the patterns of its rules. Bins of single sensors are used for the same sensor of the same
            system only. Notes of the table say what was not seen before: states, values and sensors. Windows are those
            of ``like``; enrichment, derived columns and the time zone too if it is a run, unless others are given.
        same_system: Whether the data are of the system that ``like`` was made of; by default decided by the names of
            the systems and the nodes of the sensors.
        **options: Options of windows, bins and enrichment, as in ``mine``.

    Examples:
        >>> import thence as th
        >>> th.transactions(th.datasets.load("toy"), windows="1h", bins=3).n_features
        5
    """
    earlier = _bins_of(like)
    if isinstance(like, Run) and options.get("enrich") is None:
        options["enrich"] = like.config.enrich.mode
    config = _config_of(options, sensors, graph)
    chosen = config.windows
    if earlier is not None and earlier.window_seconds and chosen.every == AUTO:
        chosen = replace(chosen, every=format_duration(timedelta(seconds=earlier.window_seconds)).replace(" ", ""))
    if isinstance(like, Run):
        before = like.config.windows
        chosen = replace(
            chosen,
            derive=before.derive if options.get("derive") is None else chosen.derive,
            timezone=before.timezone if options.get("timezone") is None else chosen.timezone,
        )
    patterns = (config.enrich.patterns == AUTO and _patterns_like(like, config.enrich.mode)) or config.enrich.patterns
    config = replace(config, windows=chosen, enrich=replace(config.enrich, patterns=patterns))
    system = gather_system(sensors, graph, binding, ontology, config.input, config.enrich.mode)
    if earlier is not None and len(system.sites) == 1:
        system = replace(system, sensors=read_alike(system.sensors, earlier))
    readings = window_readings(system, config, clean=earlier is None)
    return Prepared(system, config, readings, earlier, same_system=same_system).table


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


def _config_of(options: Mapping[str, Any], sensors: Any, graph: Any) -> Config:
    given = {name: value for name, value in options.items() if value is not None}
    config = with_options(Config(), {**OTHER_DEFAULTS["transactions"], **given})
    return replace(config, enrich=config.enrich.for_graph(has_graph(config.input, sensors, graph)))


@with_keywords(FeatureOptions, **OTHER_DEFAULTS["transactions"])
def feature_table(
    sensors: Any,
    graph: Any = None,
    binding: Any = None,
    *,
    ontology: Any = None,
    **options: Unpack[FeatureOptions],
) -> FeatureTable:
    """Build the undiscretized transactions, for miners that find their own intervals.

    Args:
        sensors: A ``System``, ``SensorData``, or whatever ``read_sensors`` takes.
        graph: A ``KnowledgeGraph``, or whatever ``read_graph`` takes.
        binding: A ``Binding``, a mapping from sensors to nodes, or whatever ``read_binding`` takes.
        ontology: An ``Ontology``, or whatever ``read_ontology`` takes.
        **options: Options of windows and enrichment (``"none"`` or ``"grounded"``), as in ``mine``.

    Examples:
        >>> import thence as th
        >>> th.baselines.feature_table(th.datasets.load("toy"), windows="1h").numbers.shape[1]
        5
    """
    config = _config_of(options, sensors, graph)
    system = gather_system(sensors, graph, binding, ontology, config.input, config.enrich.mode)
    return Prepared(system, config, window_readings(system, config, clean=True)).numbers


@dataclass(frozen=True, eq=False)
class Prepared:
    """A system with its readings in windows, and the tables that are built of them when they are first asked for.

    Any statement can be checked on it (``thence.statements.statement.Data``).

    Args:
        system: The system.
        config: How it was prepared, with what was decided for it.
        readings: The readings in windows.
        bins: Earlier bins to use where they apply; otherwise bins are fitted.
        fit_frames: The frames on which bins are fitted; by default those before ``discretize.fit_until``, or all.
        same_system: Whether ``bins`` were fitted on the same system; by default decided by names and nodes.

    Examples:
        >>> import thence as th
        >>> from thence.runs.configuration import EnrichConfig, WindowsConfig
        >>> config = Config(windows=WindowsConfig(every="1h"), enrich=EnrichConfig(mode="none"))
        >>> data = prepare(th.datasets.load("toy"), config)
        >>> len(data.readings), data.table.n_rows, data.places[:2]
        (48, 48, ('Junction A', 'Junction B'))
    """

    system: System
    config: Config
    readings: WindowedReadings
    bins: Discretizer | None = None
    fit_frames: Frames | None = None
    same_system: bool | None = None

    @cached_property
    def table(self) -> TransactionTable:
        """The transactions, in bins."""
        return _build_table(self)

    @cached_property
    def numbers(self) -> FeatureTable:
        """The transactions before discretization, for miners that find their own intervals."""
        return _build_features(self)

    @property
    def known(self) -> Table:
        """The table that rules with these bins can be counted on; that of the numbers, if there are no bins."""
        return self.numbers if self.bins is None else self.table

    @cached_property
    def places(self) -> tuple[str, ...]:
        """The ids of the nodes that carry sensors, sorted."""
        return tuple(sorted({node for sensor in self.readings.sensors if (node := self.node_of(sensor.id))}))

    def node_of(self, sensor: str) -> str:
        """Return the node of a sensor; an empty string if it has none.

        Args:
            sensor: The id of the sensor.
        """
        return "" if self.system.binding is None else str(self.system.binding.get(sensor, ""))

    @staticmethod
    def of_run(run: Run) -> Prepared:
        """Return the data that a run was mined from, if it was mined in this process.

        Args:
            run: The run; one of a plain table has neither a system nor readings.

        Examples:
            >>> import thence as th
            >>> run = th.mine(th.datasets.load("toy"), windows="1h", bins=3, confirm=False, progress="off")
            >>> data = Prepared.of_run(run)
            >>> states = run.findings[0].check(data)
            >>> states.counts.applies, states.counts.holds == run.findings[0].counts.holds
            (32, True)
            >>> [trace.sensor for trace in run.findings[0].traces(data, "Pipe BC")]
            ['flow_BC']
        """
        system: Any = run.system
        readings: Any = run.readings
        out = Prepared(system, run.config, readings, run.discretizer)
        out.__dict__["table"] = run.table
        return out

    @property
    def timezone(self) -> str:
        """The time zone of times of day."""
        return self.config.windows.timezone

    def rule_states(self, rule: Rule) -> States:
        """Return the states of a rule, found with the bitmaps of the table.

        Args:
            rule: The rule.

        Raises:
            ConfigError: If there is no table of bins.
            MiningError: If the table lacks the pattern or a feature of the rule.
        """
        part, block = self._find(rule)
        bank = part.bank
        found = find_states(bank, antecedent=part.antecedents[0], consequent=int(part.consequents[0]))
        holds, violated, missing = (
            unpack(words, n_rows=bank.n_frames) for words in (found.satisfied, found.violated, found.missing)
        )
        return States.of(_names(block), applies=holds | violated, holds=holds, missing=missing)

    def rule_sensors(self, rule: Rule, place: str) -> tuple[str, ...]:
        """Return the ids of the sensors that a rule reads at a place.

        Args:
            rule: The rule.
            place: The name of the place; empty for a rule about the whole system.
        """
        features = [one for item in (*rule.antecedent, rule.consequent) for one in item.feature.parts]
        named = [one.subject for one in features if one.role is Role.SENSOR]
        if not rule.pattern:
            return tuple(dict.fromkeys(named))
        _, block = self._find(rule)
        names = _names(block)
        if block.pattern is None or place not in names:
            return ()
        nodes = len(block.pattern.nodes)
        return tuple(filter(None, block.embeddings[names.index(place)][nodes:]))

    def traces(self, sensors: Iterable[str]) -> tuple[Trace, ...]:
        """Return the readings of sensors, window by window; those that have none are left out.

        Args:
            sensors: Their ids.
        """
        readings: WindowedReadings | None = self.readings
        if readings is None:
            return ()
        column = {sensor.id: at for at, sensor in enumerate(readings.numeric)}
        unit = {sensor.id: sensor.unit for sensor in readings.sensors}
        out = []
        for id in sensors:
            if id in column:
                out.append(Trace(id, unit[id], readings.values[:, column[id]]))
            elif id in readings.states:
                codes, known = readings.states[id]
                out.append(Trace(id, unit[id], np.where(codes < 0, np.nan, codes), tuple(known)))
        return tuple(out)

    def _find(self, rule: Rule) -> tuple[EncodedBlock, Block]:
        """The rule as item numbers, and the block of the table that it is about."""
        table: Table | None = self.table
        if not isinstance(table, TransactionTable):
            raise ConfigError("a rule is checked on a table of bins, and there is none", hint="use th.apply")
        rules = RuleSet.from_rules([rule], Counts.from_matrix([[0, 0, 0, 0]]))
        (part,) = encode_blocks(rules, table)
        assert part.block is not None
        return part, part.block

    def reuse(self, bins: Discretizer) -> Reused:
        """Return the part of earlier bins that applies to these readings.

        Args:
            bins: The earlier bins.
        """
        return reuse_bins(bins, self.readings, self.node_of, self.system.names, same_system=self.same_system)


def _names(block: Block) -> list[str]:
    return name_places(block, range(block.n_embeddings)) if block.is_lifted else [""] * block.n_embeddings


def prepare(
    system: System, like: Config | Run, *, rules: RuleSet | None = None, same_system: bool | None = None
) -> Prepared:
    """Put the readings of a system into windows, as a configuration says or as a run prepared its own.

    Args:
        system: The system.
        like: A configuration; or a run, whose windows, bins, states and patterns are used.
        rules: Some of the rules of the run, if only their patterns are needed.
        same_system: Whether it is the system that the run was mined on; by default decided by names and nodes.

    Examples:
        >>> import thence as th
        >>> toy = th.datasets.load("toy")
        >>> run = th.mine(toy, windows="1h", bins=3, confirm=False, progress="off")
        >>> prepare(toy.between("2024-01-02"), run).table.discretizer.binnings.keys() == run.discretizer.binnings.keys()
        True
    """
    if isinstance(like, Config):
        config = with_clock(with_zone(like, system), system)
        return Prepared(system, config, window_readings(system, config, clean=True))
    bins, chosen = like.discretizer, like.rules if rules is None else rules
    system = with_common_units(system, wanted=_units_of(like))
    sensors = [sensor for site in system.sites for sensor in site.sensors.sensors]
    if same_system is None and not _is_same_system(chosen, bins, system, [sensor.id for sensor in sensors]):
        same_system = False
    if bins is not None and len(system.sites) == 1:
        system = replace(system, sensors=read_alike(system.sensors, bins))
    config = _config_like(chosen, like, {sensor.kind for sensor in sensors})
    return Prepared(system, config, window_readings(system, config), bins, same_system=same_system)


def _units_of(run: Run) -> dict[str, str]:
    """The unit of each kind in the rules of a run."""
    features = [item.feature for item in run.rules.items]
    return {one.label: one.unit for one in features if one.label and one.unit and one.aspect is Aspect.MEASUREMENT}


def _is_same_system(rules: RuleSet, earlier: Discretizer | None, here: System, sensors: Sequence[str]) -> bool:
    """Whether data are of the system that rules were mined on.

    They are not if both have names and none is the same, if they have none of the sensors that are known from then, or
    if most of those sit at other nodes.
    """
    before, now = {name for name in (earlier.systems if earlier else ()) if name}, {name for name in here.names if name}
    if before and now and not before & now:
        return False
    placed = {item.feature.subject: item.feature.place for item in rules.items if item.feature.role is Role.SENSOR}
    placed |= dict(earlier.places) if earlier else {}
    if not placed or (earlier is not None and len(earlier.systems) != len(here.names)):
        return True
    known = [sensor for sensor in sensors if sensor in placed]
    node_of: Mapping[str, str] = here.binding or {}
    moved = [s for s in known if placed[s] and node_of.get(s) and str(node_of[s]) != placed[s]]
    return bool(known) and 2 * len(moved) <= len(known)


def _config_like(rules: RuleSet, run: Run, kinds: set[str]) -> Config:
    """The configuration of a run for other data: its windows and enrichment, and the patterns of its rules."""
    config, windows = run.config, run.config.windows
    if not isinstance(windows.aggregate, str):
        known = {kind: how for kind, how in windows.aggregate.items() if kind in kinds}
        windows = replace(windows, aggregate=known or "mean")
    windows, enrich = replace(windows, every=window_like(run)), config.enrich
    if enrich.mode == "lifted":
        enrich = replace(enrich, patterns=tuple(dict.fromkeys(text for text, _ in rules.patterns)), properties=None)
    return replace(config, input=InputConfig(), system=(), windows=windows, enrich=enrich)


def window_readings(
    system: System, config: Config, *, clean: bool = False, workspace: Workspace | None = None
) -> WindowedReadings:
    """Return the readings of a system in windows; of several, in windows of one length that suits all of them.

    Args:
        system: The system, or several.
        config: The configuration, of which ``windows``, ``input`` and ``resources`` are used.
        clean: Whether to leave out readings that cannot be trusted, unless the configuration keeps them: true where
            something is learned of them, not where they are checked.
        workspace: Where large arrays lie; by default one with the limit of the configuration.
    """
    space = workspace or open_workspace(config.resources.memory_limit)
    parts = {site.name: _window_site(site, config, space, clean) for site in system.sites}
    longest = window_text(max(parts.values(), key=lambda part: part.every))
    common = replace(config, windows=replace(config.windows, every=longest))
    for site in system.sites:
        if window_text(parts[site.name]) != longest:
            parts[site.name] = _window_site(site, common, space, clean)
    return pool_readings(parts)


def _window_site(system: System, config: Config, workspace: Workspace, clean: bool) -> WindowedReadings:
    chosen, given = config.windows, config.input
    readings = window(
        system.sensors,
        chosen.every,
        aggregate=chosen.aggregate,
        derive=chosen.derive or (),
        origin=chosen.origin,
        timezone=chosen.timezone,
        empty=chosen.empty,
        hold=chosen.hold,
        workspace=workspace,
        clean=cleaner(system.binding or {}) if clean and not chosen.keep_unhealthy else None,
    )
    if not len(readings) and (given.start or given.end):
        period = f"between {given.start} and {given.end}" if given.start and given.end else ""
        period = period or (f"from {given.start} on" if given.start else f"before {given.end}")
        raise InputError(f"there are no readings {period}", where="[input]", hint="change 'start' or 'end'")
    return readings


def with_zone(config: Config, system: System) -> Config:
    """Return the configuration with the time zone of the readings, if all of them have one and no other is given.

    Args:
        config: The configuration.
        system: The system, or several.
    """
    zones = {site.sensors.timezone for site in system.sites}
    if config.windows.timezone != WindowsConfig.timezone or len(zones) != 1 or zones == {""}:
        return config
    return replace(config, windows=replace(config.windows, timezone=zones.pop()))


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


def _build_table(data: Prepared) -> TransactionTable:
    readings, system, config = data.readings, data.system, data.config

    def remembered(table: TransactionTable, fitted_on: WindowedReadings) -> TransactionTable:
        return replace(table, discretizer=remember(table.discretizer, fitted_on, data.node_of, system.names))

    if data.bins is not None:
        reused = data.reuse(data.bins)
        frames = slice(None) if data.fit_frames is None else data.fit_frames
        table = _build(readings, system, config, reused.discretizer, frames)
        unseen = describe_unseen(reused.discretizer, table.discretizer, readings, reused.refused)
        return remembered(replace(table, notes=(*table.notes, *reused.notes, *unseen)), readings)
    if data.fit_frames is None and readings.site_times:
        earlier = _readings_to_fit(readings, config)
        if earlier is not readings:
            fitted = _build(earlier, system, config, None, slice(None)).discretizer
            return remembered(_build(readings, system, config, fitted, slice(None)), earlier)
    frames = _frames_to_fit(readings, config) if data.fit_frames is None else data.fit_frames
    return remembered(_build(readings, system, config, None, frames), readings)


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


def _build_features(data: Prepared) -> FeatureTable:
    system, config = data.system, data.config
    system.require_one_site(
        "a table of several systems has bins: there is none with the raw numbers", hint="use a miner of bins"
    )
    _refuse_unknown_properties(system, config)
    chosen = config.enrich
    return features(
        data.readings,
        mode=chosen.mode,
        graph=system.graph,
        binding=system.binding,
        ontology=system.ontology,
        hops=chosen.hops,
        properties=chosen.properties,
    )


def table_for(miner: BaseMiner, data: Prepared) -> Table:
    """The table that a miner reads: codes, or numbers."""
    if miner.wants == "numbers":
        return data.numbers
    table, config = data.table, data.config
    if config.refine.significance is not None:
        # Better to refuse before an hour of mining than after it.
        require_permutations(table, Null(**config.refine.null))
    # Readings that nobody will look at again are not kept in memory.
    return table if config.refine.sharpen else replace(table, finer=None)


def window_like(run: Run) -> str:
    """Return the length of the windows of a run, as in a configuration."""
    every = run.config.windows.every
    return _window_of(run.discretizer) if every == AUTO else every


def _window_of(bins: Discretizer | None) -> str:
    """The length of the windows that bins were fitted on; ``"auto"`` if it is not known."""
    if bins is None or not bins.window_seconds:
        return AUTO
    return format_duration(timedelta(seconds=bins.window_seconds)).replace(" ", "")


def window_text(readings: WindowedReadings) -> str:
    """Return the length of windows as in a configuration, such as ``"30min"``."""
    return format_duration(readings.every).replace(" ", "")
