"""The search for controls: every change of every actuator, explained by a threshold of a reading or by the clock."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from thence._base.progress import Progress, silent
from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.system import System
from thence.data.readings.sensors import Sensor
from thence.data.readings.windows import WindowedReadings
from thence.language.items import Feature
from thence.search.controls.candidates import (
    Candidate,
    beats_other_days,
    confirm,
    earlier,
    later,
    near_best,
    screen_all,
)
from thence.search.controls.premises import find_premises
from thence.search.controls.settings import ControlSettings
from thence.statements.controls.clock import Schedule, find_schedule, local_seconds
from thence.statements.controls.control import Control, Controls
from thence.statements.controls.signals import Signals
from thence.statements.controls.switches import Switch, find_switches, follows
from thence.statements.controls.thresholds import Tally, count_crossings, estimate_threshold, explained, reach_of

_MOST_OFTEN = 0.1  # share of the windows in which a number of an actuator may start or stop
_MOST_NUMBERS = 100  # changes of numbers that are searched without being asked for
_ROUNDS = 3  # causes of one change: the switches that one control does not explain may have another
_REST = 0.2  # share of the switches that must be left for another cause
_CLOCK = 0.02  # the clock explains a change if its agreement is lower than that of a reading by at most this
_COMPARED = 30  # readings that agree about equally well, of which the best is chosen
_DAYS = 0.95  # least share of the days on which a clock switches
_TIE = 0.1  # readings whose shares of explained switches and followed crossings differ by less are equally good
_GAIN = 0.1  # by which a premise must raise the share of the crossings that are followed
_TRIED = 5  # other readings that are tried for one change
_NEAREST = 10_000  # readings of a larger system that are compared with an actuator: those nearest to it
_SAME_MOMENTS = 0.9  # share of common moments from which two actuators switch together

Moments = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class _Found:
    """A control, the change that it explains, and the moments of the switches that it explains."""

    control: Control
    switch: Switch
    explained: npt.NDArray[np.bool_]


def search_controls(
    readings: WindowedReadings,
    system: System | None = None,
    *,
    settings: ControlSettings | None = None,
    progress: Progress = silent,
) -> Controls:
    """Search for what makes actuators switch: a threshold of a reading, or a time of day.

    Args:
        readings: The readings in windows, ideally as short as the step of the readings.
        system: Graph and binding, for the names of places and the distance between them. Without them sensors are named
            by their ids.
        settings: The settings; ``None`` for the defaults.
        progress: Receives the progress.

    Returns:
        The controls, best first, with notes on what was left out.

    Examples:
        >>> from datetime import datetime, timedelta
        >>> import polars as pl
        >>> from thence.data.readings.sensors import SensorData
        >>> from thence.data.readings.windows import window
        >>> rng, level, pump, rows = np.random.default_rng(0), 3.0, "on", []
        >>> for step in range(2000):
        ...     rows.append((datetime(2024, 1, 1) + step * timedelta(minutes=5), level, pump))
        ...     level += (0.1 if pump == "on" else -0.07) * rng.uniform(0.6, 1.4)
        ...     pump = "on" if level < 2 else "off" if level > 4 else pump
        >>> data = SensorData.from_wide(pl.DataFrame(rows, schema=["time", "level", "pump"], orient="row"))
        >>> found = search_controls(window(data))
        >>> [(one.to_state, one.direction, round(one.threshold, 1)) for one in found]
        [('off', 'above', 4.0), ('on', 'below', 2.0)]
    """
    chosen = settings or ControlSettings()
    around = _Surroundings(readings, system)
    signals = Signals(readings, follows(readings))
    switches, notes = _actuators(readings, chosen, around)
    seconds = local_seconds(readings, chosen.timezone)
    found: list[_Found] = []
    todo = switches
    for number in range(_ROUNDS):
        if not todo:
            break
        progress("controls", number, _ROUNDS)
        scores = screen_all(signals, todo, min_share=chosen.min_explained, within=around.nearest)
        rest = []
        for switch, score in zip(todo, scores, strict=True):
            causes = _explain(signals, switch, score, seconds, around, chosen)
            found += causes
            if causes and (left := _unexplained(switch, causes, chosen)) is not None:
                rest.append(left)
        todo = rest
    told = {_key(one.switch) for one in found}
    remaining = [switch for switch in switches if _key(switch) not in told]
    found += _with_premises(signals, remaining, seconds // 3600, around, chosen)
    progress("controls", _ROUNDS, _ROUNDS)
    whole = {_key(switch): len(switch) for switch in switches}
    controls = [_of_all(one, whole[_key(one.switch)]) for one in found]
    controls = [replace(one, together=_together(one, switches, around)) for one in controls]
    controls.sort(key=lambda one: (-_worth(one), -one.tally.switches, one.actuator, one.to_state))
    unexplained = len(switches) - len({(one.actuator, one.from_state, one.to_state) for one in controls})
    if around.looks_near:
        many = f"{len(signals.sensors):,} readings"
        notes.append(f"each actuator was compared with about {_NEAREST:,} of {many}, the nearest to it in the graph")
    if unexplained:
        notes.append(f"no control was found for {unexplained:,} of {len(switches):,} changes of actuators")
    return Controls(controls, notes=notes)


class _Surroundings:
    """Names and distances in the graph, as far as they are known."""

    def __init__(self, readings: WindowedReadings, system: System | None) -> None:
        self._binding = None if system is None else system.binding
        self._graph = None if system is None else system.graph
        self._numeric = readings.numeric
        self._distances: dict[str, dict[str, int]] = {}
        self._near: dict[str, Bools | None] = {}
        self._columns: dict[str, list[int]] = {}
        if self._graph is not None and len(self._numeric) > _NEAREST:
            for column, sensor in enumerate(self._numeric):
                self._columns.setdefault(self.place(sensor.id), []).append(column)

    @property
    def looks_near(self) -> bool:
        """Whether an actuator was compared with the readings near it only."""
        return any(mask is not None for mask in self._near.values())

    def nearest(self, actuator: str) -> Bools | None:
        """Return which readings of a large system are nearest to an actuator in the graph; ``None`` for all."""
        node = self.place(actuator)
        if not self._columns or self._graph is None or node not in self._graph.nodes:
            return None
        if node not in self._near:
            self._near[node] = self._look_around(self._graph, node)
        return self._near[node]

    def _look_around(self, graph: KnowledgeGraph, node: str) -> Bools | None:
        """The readings around a node, one step further until there are enough; ``None`` if there are none."""
        found: list[int] = []
        seen, edge = {node}, [node]
        while edge and len(found) < _NEAREST:
            found += [column for one in edge for column in self._columns.get(one, ())]
            beyond = {e.target for one in edge for e in graph.out_edges(one)}
            beyond |= {e.source for one in edge for e in graph.in_edges(one)}
            edge = sorted(beyond - seen)
            seen.update(edge)
        mask = np.zeros(len(self._numeric), bool)
        mask[found] = True
        return mask if found else None

    def place(self, sensor: str) -> str:
        """Return the node of a sensor, or the sensor itself if it is not known."""
        return str(self._binding.get(sensor, sensor)) if self._binding is not None else sensor

    def feature(self, sensor: Sensor) -> Feature:
        """Return the feature of a sensor."""
        place = "" if self._binding is None else str(self._binding.get(sensor.id, ""))
        return Feature(sensor.id, label=sensor.kind, unit=sensor.unit, place=place)

    def distance_from(self, actuator: str) -> Callable[[int], float]:
        """Return a function from the number of a numeric sensor to its distance from an actuator."""
        node = self.place(actuator)
        if self._graph is None or node not in self._graph.nodes:
            return lambda column: 0.0
        if node not in self._distances:
            self._distances[node] = {node: 0, **self._graph.neighbours(node, hops=len(self._graph.nodes))}
        known = self._distances[node]
        return lambda column: known.get(self.place(self._numeric[column].id), math.inf)


def _actuators(
    readings: WindowedReadings, settings: ControlSettings, around: _Surroundings
) -> tuple[list[Switch], list[str]]:
    """Return the changes to explain, and notes on those left out."""
    least = settings.min_switches
    notes: list[str] = []
    switches, rare = find_switches(readings, least=least, numbers=settings.numbers is True, place=around.place)
    if not switches and settings.numbers is None:
        found, rare = find_switches(readings, least=least, numbers=True, place=around.place)
        # What starts and stops all the time, or everywhere, is no actuator: vehicles pass a street, or do not.
        switches = [one for one in found if len(one) <= _MOST_OFTEN * len(readings)]
        if len(switches) > _MOST_NUMBERS:
            switches, rare = [], 0
        if len(switches) < len(found):
            left = len(found) - len(switches)
            notes.append(
                f"{left:,} changes of numbers between 0 and other values are too frequent or too many to be those of"
                " actuators (find_controls(…, numbers=True) searches them)"
            )
    if rare:
        notes.append(f"{rare:,} changes of actuators occur fewer than {settings.min_switches} times and were left out")
    return switches, notes


def _explain(
    signals: Signals,
    switch: Switch,
    scores: npt.NDArray[np.float64],
    seconds: Moments,
    around: _Surroundings,
    settings: ControlSettings,
) -> list[_Found]:
    """Return the controls that explain one change: a reading, or the times of a schedule."""
    confirmed = confirm(signals, switch, scores)
    schedule = find_schedule(
        switch, seconds, least=settings.min_switches, min_followed=max(settings.min_followed, _DAYS)
    )
    if schedule is not None and schedule.explained.sum() < settings.min_explained * len(switch):
        schedule = None
    best = max((one.agreement for one in confirmed), default=0.0)
    if schedule is not None and schedule.agreement >= best - _CLOCK:
        return _from_schedule(switch, schedule, seconds, around)
    reading = _best_reading(signals, switch, confirmed, around, settings)
    if reading is not None:
        return [reading]
    return [] if schedule is None else _from_schedule(switch, schedule, seconds, around)


def _best_reading(
    signals: Signals,
    switch: Switch,
    confirmed: Sequence[Candidate],
    around: _Surroundings,
    settings: ControlSettings,
) -> _Found | None:
    """Return the control by the reading that explains a change best.

    Of the readings that explain it about equally well, one of the smoothest kind is chosen, then the one that explains
    most, then the nearest in the graph.
    """
    near = near_best(signals, confirmed)
    others = [one for one in confirmed if one not in near]
    distance = around.distance_from(switch.actuator.id)
    coincidences: dict[str, float] = {}
    for group in (near[:_COMPARED], others[:_TRIED]):
        results = []
        for one in group:
            result = _from_reading(signals, switch, one, confirmed, around, settings)
            if result is not None:
                results.append((one, result))
        best = max((_shares(result.control) for _, result in results), default=0.0)
        results = [(one, result) for one, result in results if _shares(result.control) >= best - _TIE]
        results.sort(
            key=lambda pair: (
                signals.kind_roughness(pair[0].column),
                -round(_worth(pair[1].control), 9),
                distance(pair[0].column),
            )
        )
        for one, result in results[:_TRIED]:
            if beats_other_days(signals, switch, one, coincidences):
                return result
    return None


def _from_reading(
    signals: Signals,
    switch: Switch,
    candidate: Candidate,
    confirmed: Sequence[Candidate],
    around: _Surroundings,
    settings: ControlSettings,
) -> _Found | None:
    """Return the control by a threshold of a reading, or ``None`` if it explains too little."""
    row, pace = signals.row(candidate.column)
    above = candidate.above
    reach = reach_of(row, pace, signals.linked, above=above)
    before, after = earlier(switch), later(switch)
    first = estimate_threshold(row, reach, before.moments, before.switched, above=above)
    threshold = estimate_threshold(row, reach, switch.moments, switch.switched, above=above)
    if first is None or threshold is None:
        return None
    tally = count_crossings(row, reach, switch.moments, switch.switched, threshold=threshold.value, above=above)
    held = count_crossings(row, reach, after.moments, after.switched, threshold=first.value, above=above)
    for counts in (tally, held):
        if counts.explained_share < settings.min_explained or counts.followed_share < settings.min_followed:
            return None
    numeric = signals.sensors
    others = dict.fromkeys(
        numeric[one.column].id
        for one in confirmed
        if one.column != candidate.column and one.agreement >= candidate.agreement - _CLOCK
    )
    control = Control(
        actuator_feature=around.feature(switch.actuator),
        from_state=switch.from_state,
        to_state=switch.to_state,
        sensor_feature=around.feature(numeric[candidate.column]),
        direction="above" if above else "below",
        threshold=threshold.value,
        low=threshold.low,
        high=threshold.high,
        tally=tally,
        later=held,
        agreement=candidate.agreement,
        alternatives=tuple(others),
    )
    told = explained(row, reach, switch.moments, switch.switched, threshold=threshold.value, above=above)
    return _Found(control, switch, told)


def _with_premises(
    signals: Signals,
    switches: Sequence[Switch],
    hours: Moments,
    around: _Surroundings,
    settings: ControlSettings,
) -> list[_Found]:
    """Return controls of two conditions for changes that no single condition explains."""
    tried = [
        (switch, premise)
        for switch in switches
        for premise in find_premises(switch, signals.readings, hours, feature=around.feature)
    ]
    restricted = [premise.restrict(switch) for switch, premise in tried]
    tried = [one for one, part in zip(tried, restricted, strict=True) if len(part) >= settings.min_switches]
    restricted = [part for part in restricted if len(part) >= settings.min_switches]
    best: dict[tuple[str, str, str], _Found] = {}
    scores = screen_all(signals, restricted, min_share=settings.min_explained, within=around.nearest)
    for (switch, premise), part, score in zip(tried, restricted, scores, strict=True):
        found = _best_reading(signals, part, confirm(signals, part, score), around, settings)
        if found is None or not _is_needed(signals, switch, found.control):
            continue
        key = _key(switch)
        if key not in best or _worth(found.control) > _worth(best[key].control):
            best[key] = replace(found, control=replace(found.control, premise=premise.item))
    return list(best.values())


def _is_needed(signals: Signals, switch: Switch, control: Control) -> bool:
    """Whether a control is clearly worse without its premise: fewer of all crossings are followed by the switch."""
    column = next(at for at, sensor in enumerate(signals.sensors) if sensor.id == control.sensor)
    row, pace = signals.row(column)
    above = control.direction == "above"
    reach = reach_of(row, pace, signals.linked, above=above)
    alone = count_crossings(row, reach, switch.moments, switch.switched, threshold=control.threshold, above=above)
    return control.tally.followed_share >= alone.followed_share + _GAIN and control.tally.explained >= alone.explained


def _from_schedule(switch: Switch, schedule: Schedule, seconds: Moments, around: _Surroundings) -> list[_Found]:
    """Return one control per time of the schedule."""
    after = later(switch)
    found = []
    for time, tally in zip(schedule.seconds, schedule.tallies, strict=True):
        at = seconds[after.moments + 1] == time
        hits = int((at & after.switched).sum())
        control = Control(
            actuator_feature=around.feature(switch.actuator),
            from_state=switch.from_state,
            to_state=switch.to_state,
            sensor_feature=None,
            direction="at",
            threshold=float(time),
            low=float(time),
            high=float(time),
            tally=tally,
            later=Tally(len(after), hits, int(at.sum()), hits),
            agreement=schedule.agreement,
        )
        found.append(_Found(control, switch, switch.switched & (seconds[switch.moments + 1] == time)))
    return found


def _unexplained(switch: Switch, controls: Sequence[_Found], settings: ControlSettings) -> Switch | None:
    """Return the change without the switches that controls explain, if enough are left for another cause."""
    keep = ~np.logical_or.reduce([one.explained for one in controls])
    left = Switch(switch.actuator, switch.from_state, switch.to_state, switch.moments[keep], switch.switched[keep])
    return left if len(left) >= max(settings.min_switches, _REST * len(switch)) else None


def _key(switch: Switch) -> tuple[str, str, str]:
    return switch.actuator.id, switch.from_state, switch.to_state


def _of_all(one: _Found, switches: int) -> Control:
    """Return a control with all switches of the change counted, also those that another control explains."""
    return replace(one.control, tally=replace(one.control.tally, switches=switches))


def _together(control: Control, switches: Sequence[Switch], around: _Surroundings) -> tuple[str, ...]:
    """Return the places of the other actuators that switch at the same moments."""
    times = {_key(switch): switch.times for switch in switches}
    own = times[control.actuator, control.from_state, control.to_state]
    place = around.place(control.actuator)
    names = []
    for (actuator, _, _), other in times.items():
        if around.place(actuator) == place:
            continue
        common = np.intersect1d(own, other).size
        if common >= _SAME_MOMENTS * (own.size + other.size - common):
            names.append(around.place(actuator))
    return tuple(dict.fromkeys(names))


def _worth(control: Control) -> float:
    return control.agreement * _shares(control)


def _shares(control: Control) -> float:
    return control.tally.explained_share * control.tally.followed_share
