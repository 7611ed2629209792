"""Other data as a run prepared its own: the same windows, bins, states and patterns, and which rules bind to them.

Without a graph of their own, later readings belong to the graph of the run. This module wires reading, windows and
tables; it counts nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import numpy as np

from thence.checks.application.bound import NotBound, bind_named, bind_to_table
from thence.checks.application.reference import reference_frames
from thence.data.graph.system import System
from thence.data.readers.kinds import UncheckedUnits
from thence.data.readings.sensors import SensorData
from thence.data.readings.windows import WindowedReadings
from thence.errors import ConfigError, InputError
from thence.language.english import format_unit
from thence.language.items import Aspect
from thence.runs.configuration import InputConfig
from thence.runs.frames import is_plain_table
from thence.runs.inputs import gather_system, load_system
from thence.runs.preparation import Prepared, Table, prepare
from thence.runs.run import Run
from thence.statements.rules.ruleset import RuleSet
from thence.tables.discretization import Discretizer
from thence.tables.transactions import TransactionTable

_NAMED = 5  # sensors that a note names
_NEW = " had no bins: they are fitted on the readings here"

Reference = str | float | Sequence[str | datetime] | None


@dataclass(frozen=True, eq=False)
class Later:
    """Other data, prepared for the rules of a run.

    Args:
        data: The system with its readings in windows.
        table: The table, with the bins of the run; it has no rows if no rule binds.
        not_bound: The rules that cannot be counted on it.
        notes: What was not seen before, and what was fitted here; one sentence each.
    """

    data: Prepared
    table: Table
    not_bound: tuple[NotBound, ...]
    notes: tuple[str, ...]

    @property
    def same_system(self) -> bool:
        """Whether the data are of the system that was mined."""
        return self.data.same_system is not False


def gather_later(
    run: Run, sensors: Any, graph: Any, binding: Any, ontology: Any, given: InputConfig | None = None
) -> System:
    """Read other data for the rules of a run.

    Readings without a graph belong to the graph of the run, as far as the run records where it read it.

    Args:
        run: The run.
        sensors: A ``System``, several of them, ``SensorData``, or whatever ``read_sensors`` takes.
        graph: The graph of another system.
        binding: Its binding.
        ontology: Its ontology.
        given: Options of readers; by default those of the run.

    Raises:
        ConfigError: If the rules need a graph and there is none.
    """
    if run.config.input.has_rows or (graph is None and binding is None and is_plain_table(sensors)):
        raise ConfigError(
            "rules are applied to sensor data, and these rows have no times",
            hint="use RuleSet.applies, RuleSet.predict or RuleFeatures for a plain table",
        )
    mode, recorded = run.config.enrich.mode, run.config.input
    options = _reader_options(recorded, given, are_read=_are_read(sensors))
    if _are_read(sensors) and not isinstance(sensors, SensorData):
        return gather_system(sensors, graph, binding, ontology, options, mode)
    if graph is None and binding is None:
        if recorded.dataset is not None:
            return _with_readings(load_system(_named_only(recorded), mode), sensors, ontology, options, mode)
        graph, binding = recorded.graph, recorded.binding
        options = replace(
            options,
            read_graph=recorded.read_graph,
            read_binding=recorded.read_binding,
            bind={**recorded.bind, **options.bind},
        )
    if graph is None and mode != "none":
        raise ConfigError(
            f"the rules of the run have the enrichment '{mode}', which needs the graph, and the run does not say "
            "where it is",
            hint="pass graph=… and binding=…, or a System",
        )
    known = ontology if ontology is not None or graph is None else recorded.ontology
    return gather_system(sensors, graph, binding, known, options, mode)


def _are_read(sensors: Any) -> bool:
    return isinstance(sensors, (System, SensorData)) or _are_systems(sensors)


def _are_systems(sensors: Any) -> bool:
    return isinstance(sensors, (list, tuple)) and bool(sensors) and all(isinstance(one, System) for one in sensors)


def _reader_options(recorded: InputConfig, given: InputConfig | None, *, are_read: bool) -> InputConfig:
    """The options of readers: those of the run, overridden by those that are given; its period is not that of now.

    Readings that are read already have none of the run.
    """
    known = {} if are_read else dict(recorded.read_sensors)
    if "units" in known:
        known["units"] = UncheckedUnits(known["units"])  # other data need not have all sensors and kinds of the run
    if given is None:
        return InputConfig(read_sensors=known)
    return InputConfig(
        read_sensors={**known, **given.read_sensors},
        read_graph=given.read_graph,
        read_binding=given.read_binding,
        bind=given.bind,
        select=given.select,
        start=given.start,
        end=given.end,
    )


def _named_only(recorded: InputConfig) -> InputConfig:
    return InputConfig(dataset=recorded.dataset, options=recorded.options)


def _with_readings(system: System, sensors: Any, ontology: Any, options: InputConfig, mode: str) -> System:
    """A data set with other readings; its binding holds for the sensors that have readings now."""
    found = gather_system(sensors, system.graph, system.binding, ontology or system.ontology, options, mode)
    return replace(found, name=system.name)


def prepare_later(
    rules: RuleSet, run: Run, system: System, *, reference: Reference = None, same_system: bool | None = None
) -> Later:
    """Build the table of other data with the windows, bins and patterns of a run, and find out which rules bind.

    Args:
        rules: The rules to apply, which may be some of those of the run.
        run: The run that they come from.
        system: The data.
        reference: The period on which ranks of sensors are fitted that the run has not seen; see ``reference_frames``.
        same_system: Whether the data are of the system that was mined; by default decided by the names of the systems
            and the nodes of the sensors.

    Raises:
        InputError: If readings of a kind have another unit than those that were mined.
    """
    data = prepare(system, run, rules=rules, same_system=same_system)
    system, readings, bins, same = data.system, data.readings, data.bins, data.same_system is not False
    if not len(readings):
        raise InputError("there are no readings to apply the rules to", hint="check the period and the file")
    _refuse_other_units(rules, readings, same=same)
    named = " and ".join(name for name in (() if bins is None else bins.systems) if name)
    ids = [sensor.id for sensor in readings.sensors]
    not_bound = {one.rule: one for one in bind_named(rules, system, ids, same=same, system=named)}
    frames = None if reference is None else _frames_of(reference, readings)
    data, enrich = replace(data, fit_frames=frames), data.config.enrich
    if len(not_bound) == len(rules) or (enrich.mode == "lifted" and not enrich.patterns):
        table: Table = TransactionTable((), enrich.mode, bins or Discretizer())
    else:
        table = data.known
    for one in bind_to_table(rules, table, readings, system):
        not_bound.setdefault(one.rule, one)
    notes = list(readings.notes)
    if not same:
        notes.append(_describe_other(named, system.names))
    if isinstance(table, TransactionTable):
        known = set(bins.binnings) if bins is not None and same else set()
        fitted = _describe_reference(known, table.discretizer, readings, reference, frames)
        # Patterns without a place are told rule by rule, and what was fitted here with its period.
        notes += [note for note in table.notes if not note.startswith("the pattern ") and not (fitted and _NEW in note)]
        notes += fitted
    ordered = tuple(not_bound[rule] for rule in sorted(not_bound))
    return Later(data, table, ordered, tuple(dict.fromkeys(notes)))


def _frames_of(reference: str | float | Sequence[str | datetime], readings: WindowedReadings) -> Any:
    if readings.site_times and not isinstance(reference, (int, float)):
        raise ConfigError(
            "several systems have no common reference period: each has times of its own",
            hint="pass a share of the frames, such as reference=0.5",
        )
    return reference_frames(reference, readings.times)


def _describe_other(before: str, names: Sequence[str]) -> str:
    now = " and ".join(name for name in names if name)
    here = f"'{now}'" if now else "the data"
    was = f"'{before}'" if before else "the one that was mined"
    return f"{here} is another system than {was}: only rules about kinds, classes and patterns can bind"


def _describe_reference(
    known: set[str], fitted: Discretizer, readings: WindowedReadings, reference: Reference, frames: Any
) -> list[str]:
    """Say on which period bins were fitted that are not among the known ones of the run."""
    sensors = [s.id for s in readings.numeric if s.id in fitted.binnings and s.id not in known]
    if not sensors:
        return []
    count = f"{len(sensors):,} sensor{'' if len(sensors) == 1 else 's'} that the run has not seen"
    if reference is None:
        return [
            f"the ranks of {count} are fitted on all readings here, so a change of their level cannot show: "
            "pass reference='START/END' to fit them on a normal period"
        ]
    times = readings.times[np.asarray(frames)]
    period = f"{_day(times[0])} to {_day(times[-1])}" if len(times) else "no time"
    notes = [f"the ranks of {count} are fitted on the reference period, {period} ({len(times):,} windows)"]
    return notes + _describe_silent(known, fitted, readings, np.asarray(frames))


def _describe_silent(known: set[str], fitted: Discretizer, readings: WindowedReadings, frames: Any) -> list[str]:
    """Say which new sensors read nothing in the reference period: they have no ranks, and their readings no bins."""
    if fitted.scope != "sensor":
        return []
    silent = [
        sensor.id
        for at, sensor in enumerate(readings.numeric)
        if sensor.id not in known
        and np.isnan(readings.values[frames, at]).all()
        and not np.isnan(readings.values[:, at]).all()
    ]
    if not silent:
        return []
    which = ", ".join(silent[:_NAMED]) + (f" and {len(silent) - _NAMED:,} more" if len(silent) > _NAMED else "")
    return [f"without readings in the reference period, and so counted as missing throughout: {which}"]


def _day(moment: np.datetime64) -> str:
    return str(moment.astype("datetime64[m]")).replace("T", " ")


def _refuse_other_units(rules: RuleSet, readings: WindowedReadings, *, same: bool) -> None:
    """Bins are in the units of the run: numbers in other units would be counted wrong without anybody noticing."""
    units: dict[str, str] = {}
    for item in rules.items:
        feature = item.feature
        if feature.aspect is Aspect.MEASUREMENT and feature.unit and (same or not feature.relative):
            units.setdefault(feature.label, feature.unit)
    for sensor in readings.sensors:
        unit = units.get(sensor.kind)
        if unit and sensor.unit and sensor.unit != unit and format_unit(sensor.unit) != format_unit(unit):
            raise InputError(
                f"the sensor '{sensor.id}' reads {sensor.kind} in {format_unit(sensor.unit)}, but the rules are about "
                f"{sensor.kind} in {format_unit(unit)}",
                hint=f"convert the readings to {format_unit(unit)} first",
            )
