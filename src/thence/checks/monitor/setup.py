"""What a monitor needs before the first reading: the sensors, the bins and patterns of the run, the rules that bind.

A few readings, or the readings of a reference period, say which sensors there are and of which kind. This module wires
the run and the system; it watches nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from thence.checks.application.later import prepare_later
from thence.checks.monitor.alerts import Watched
from thence.checks.monitor.batches import MOST_STATES, Roster
from thence.checks.monitor.history import History
from thence.checks.monitor.rule_frames import RuleFrames
from thence.data.graph.system import System
from thence.data.readings.cleaning import quote_names
from thence.data.readings.derived import MAX_STATES, RESTING, name_derived
from thence.data.readings.durations import MICROSECOND, parse_duration
from thence.data.readings.scanning import time_bounds
from thence.data.readings.sensors import Sensor, as_utc
from thence.errors import ConfigError
from thence.language.time_names import TimeForm
from thence.runs.preparation import window_like
from thence.runs.reviews import Reviewed, describe_left_out
from thence.runs.run import Run, find_left_out
from thence.statements.constants import Constants
from thence.statements.rules.ruleset import RuleSet
from thence.statements.statement import Kind, Statement
from thence.tables.transactions import TransactionTable


@dataclass(frozen=True, eq=False)
class MonitorParts:
    """The parts of a monitor.

    Args:
        rules: The rules.
        others: The laws and controls to watch.
        same_system: Whether the data are of the system that was mined.
        roster: The sensors.
        frames: The rules, ready to be counted on windows.
        history: What is derived from windows.
        aggregates: The aggregate of each sensor.
        every: Length of a window in microseconds.
        anchor: A moment at which a window starts; ``None`` for the first reading.
        keep_empty: Whether windows in which no sensor reads are counted.
        notes: What was not seen before; one sentence each.
        constants: What never changed in the data that were mined.
    """

    rules: RuleSet
    others: tuple[Watched, ...]
    same_system: bool
    roster: Roster
    frames: RuleFrames
    history: History
    aggregates: tuple[str, ...]
    every: int
    anchor: int | None
    keep_empty: bool
    notes: tuple[str, ...]
    constants: Constants = field(default_factory=Constants)


def set_up(
    run: Run,
    system: System,
    *,
    reference: bool = False,
    reviewed: Reviewed = "not-rejected",
    kinds: Sequence[Kind] = ("rule",),
) -> MonitorParts:
    """Prepare a run for the readings of a system.

    Args:
        run: The run.
        system: Its readings say which sensors there are.
        reference: Whether these readings are of a normal period, so that bins of sensors that the run has not seen are
            fitted on all of them. Without it, such sensors are left out.
        reviewed: What to watch, given its reviews: ``"not-rejected"``, ``"accepted"`` or ``"all"``.
        kinds: The kinds of statements to watch.

    Raises:
        ConfigError: If the run has no bins or nothing to watch, or there are several systems.
    """
    system.require_one_site("a monitor watches one system", hint="start one monitor for each system")
    bins = run.discretizer
    if bins is None:
        raise ConfigError(
            "the rules of this run have intervals of their own and no bins, so they cannot be monitored",
            hint="mine with a miner that uses bins, such as exact",
        )
    found, out = run.findings.filter(kind=",".join(kinds)), find_left_out(run, reviewed)
    if not len(found):
        raise ConfigError(
            f"the run has no {' or '.join(f'{kind}s' for kind in kinds)}, so there is nothing to monitor",
            hint="mine again with lower thresholds",
        )
    rules = found.rules
    lost = {"control": out.controls, "law": out.laws, "rule": out.rules}
    parts: tuple[Sequence[Statement], ...] = (found.laws, found.controls)
    others = tuple(
        Watched(number, one, is_used=number - 1 not in lost[one.kind])
        for part in parts
        for number, one in enumerate(part, start=1)
    )
    if sum(len(lost[kind]) for kind in kinds) == len(found):
        noun = kinds[0] if len(kinds) == 1 else "statement"
        raise ConfigError(
            f"there is nothing to monitor: {describe_left_out(len(found), noun, reviewed)}",
            hint="'thence review RUN --list' prints the reviews",
        )
    every = parse_duration(window_like(run))
    later = prepare_later(rules, run, system if reference else _shortened(system, every))
    readings, config = later.data.readings, later.data.config
    if reference and isinstance(later.table, TransactionTable) and later.table.discretizer is not None:
        fitted = later.table.discretizer
    else:
        fitted = later.data.reuse(bins).discretizer
    derived = name_derived(config.windows.derive or (), every)
    timed = any(name.partition(":")[0] in ("duration", "within") for name in derived)
    roster = Roster(readings.sensors, bins.states, most_states=MAX_STATES if timed else MOST_STATES)
    history = History(
        roster,
        derived,
        every=every,
        timezone=config.windows.timezone,
        resting=_resting(rules, readings.sensors) if timed or "switch" in derived else frozenset(),
    )
    frames = RuleFrames(
        rules,
        roster,
        replace(later.data.system, sensors=system.sensors),
        fitted,
        config,
        every=every,
        aggregates=readings.aggregates,
        same_system=later.same_system,
        mined=" and ".join(name for name in bins.systems if name),
        left_out=out.rules if "rule" in kinds else (),
    )
    origin = config.windows.origin
    anchor = {"epoch": 0, "start": None}.get(origin, 0)
    if origin not in ("epoch", "start"):
        anchor = (as_utc(origin) - datetime(1970, 1, 1, tzinfo=UTC)) // MICROSECOND
    frames.bind(history.nothing(anchor or 0), anchor or 0)
    aggregates = tuple(readings.aggregates[sensor.id] for sensor in readings.sensors)
    told = [describe_left_out(len(lost[kind]), kind, reviewed) for kind in kinds if lost[kind]]
    keep_empty = config.windows.empty == "keep"
    notes = (*told, *_of_counters(run, roster), *(() if reference else _without_bins(frames)))
    constants = run.constants if later.same_system else Constants()
    same = later.same_system
    return MonitorParts(
        rules, others, same, roster, frames, history, aggregates, every, anchor, keep_empty, notes, constants
    )


def _shortened(system: System, every: int) -> System:
    """Return a system with the readings of its first windows only: they name the sensors."""
    bounds = time_bounds(system.sensors.readings)
    if bounds is None:
        return system
    start = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=bounds[0])
    return replace(system, sensors=system.sensors.between(start, start + timedelta(microseconds=4 * every)))


def _resting(rules: RuleSet, sensors: tuple[Sensor, ...]) -> frozenset[str]:
    """Return the kinds of numbers whose rest the rules are about."""
    kind_of = {sensor.id: sensor.kind or sensor.id for sensor in sensors if not sensor.categorical}
    kinds = set(kind_of.values())
    out: set[str] = set()
    for item in rules.items:
        time = item.feature.time
        if time is None or time.form is TimeForm.LAG or time.state not in RESTING:
            continue
        named = {item.feature.label, kind_of.get(item.feature.subject, "")} & kinds
        # A sensor may be known by its role in a unit: then any kind may be meant, and further columns do no harm.
        out |= named or kinds
    return frozenset(out)


def _of_counters(run: Run, roster: Roster) -> tuple[str, ...]:
    """Say which sensors were counters: what arrives is compared with their rates."""
    given = run.config.input.read_sensors.get("counters") or ()
    counters = [id for id in ((given,) if isinstance(given, str) else given) if id in roster.position]
    if not counters:
        return ()
    return (f"counters were mined as rates, so that these must arrive as rates per hour: {quote_names(counters)}",)


def _without_bins(frames: RuleFrames) -> tuple[str, ...]:
    """Say which sensors are left out, since the run has not seen them."""
    bins = frames.bins
    known = {sensor.id for sensor in frames.roster.sensors if not sensor.categorical}
    lost = [
        sensor.id
        for sensor in frames.roster.sensors
        if sensor.id in known and bins.group(kind=sensor.kind, sensor=sensor.id) not in bins.binnings
    ]
    if not lost:
        return ()
    one = len(lost) == 1
    named = ", ".join(lost[:5]) + (f" and {len(lost) - 5} more" if len(lost) > 5 else "")
    return (
        f"{len(lost):,} sensor{'' if one else 's'} {'has' if one else 'have'} no bins in the run and "
        f"{'is' if one else 'are'} left out: {named}; pass readings of a normal period as reference to fit them",
    )
