"""The search for controls: every change of every actuator, explained by a threshold of a reading or by the clock."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import combinations

import numpy as np
import numpy.typing as npt

from thence._base.progress import Progress, silent
from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.system import System
from thence.data.readings.sensors import Sensor
from thence.data.readings.windows import WindowedReadings
from thence.language.english import names_a_point
from thence.language.items import Feature
from thence.search.controls.candidates import (
    SIDES,
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
from thence.statements.controls.clock import Clock, Schedule, find_schedule, local_clock
from thence.statements.controls.control import Control, Controls
from thence.statements.controls.signals import Signals, coarsen
from thence.statements.controls.switches import ON, Switch, find_switches, follows
from thence.statements.controls.thresholds import (
    WITHIN,
    count_crossings,
    estimate_threshold,
    explained,
    moves_with,
    reach_of,
    relative_band,
)
from thence.statements.counting.occasions import FEWEST_OCCASIONS, is_evident

_MOST_OFTEN = 0.1  # share of the windows in which a number of an actuator may start or stop
_MOST_NUMBERS = 100  # changes of numbers that are searched without being asked for
_ROUNDS = 3  # causes of one change: the switches that one control does not explain may have another
_REST = 0.2  # share of the switches that must be left for another cause
_CLOCK = 0.02  # the clock explains a change if its agreement is lower than that of a reading by at most this
_COMPARED = 30  # readings that agree about equally well, of which the best is chosen
_MOST_SWITCHED = 0.8  # share of the moments at which an actuator may switch; beyond, no reading is needed for it
_BAND = 0.4  # widest band of a threshold, relative to how far the reading comes between switches
_FINE, _NARROW = 0.05, 2.0  # bands up to this, or this number of times as wide as the narrowest, are equally narrow
_JUMP, _OWN_JUMP = 4.0, 2.0  # a reading that moves so many times as far as usual around switches is an effect
_COARSER = (3, 9)  # windows that become one where the readings in the windows themselves explain nothing
_LONGEST = timedelta(hours=1)  # longest of such windows
_COARSE = 500  # readings of a larger system that are looked at in longer windows: those nearest to the actuators
_ACTUATORS = 0.5  # share of the sensors of one kind at one kind of place that start and stop, if they are actuators
_TIE = 0.1  # readings whose shares of explained switches and followed crossings differ by less are equally good
_GAIN = 0.1  # by which a premise must raise the share of the crossings that are followed
_TRIED = 5  # other readings that are tried for one change
_NEAREST = 10_000  # readings of a larger system that are compared with an actuator: those nearest to it
_SAME_MOMENTS = 0.9  # share of common moments from which two actuators switch together

Moments = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class _Found:
    """A control, its change, the moments of the switches that it explains, and the relative band of its threshold."""

    control: Control
    switch: Switch
    explained: npt.NDArray[np.bool_]
    band: float = 0.0


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
    whole, switches = switches, _merge_sisters(switches, around)
    clock = local_clock(readings, chosen.timezone)
    search = _Search(signals, clock, around, chosen, changes=len(switches))
    found = search.explain_all(switches, progress)
    found = search.pair_up(switches, found)
    remaining = _without(switches, found)
    found += search.add_premises(remaining)
    for size in _COARSER:
        remaining = _without(remaining, found)
        found += search.explain_coarsely(remaining, size)
    found += search.explain_roughly(_without(remaining, found))
    progress("controls", _ROUNDS, _ROUNDS)
    found = _drop_contradictions(found)
    sizes = {_key(switch): len(switch) for switch in switches}
    controls = [_of_all(one, sizes[_key(one.switch)]) for one in found]
    controls = [replace(one, together=_together(one, whole, around)) for one in controls]
    controls.sort(key=lambda one: (-_worth(one), -one.tally.switches, one.actuator, one.to_state, one.threshold))
    unexplained = len(switches) - len({(one.actuator, one.from_state, one.to_state) for one in controls})
    if around.looks_near:
        many = f"{len(signals.sensors):,} readings"
        notes.append(f"each actuator was compared with about {_NEAREST:,} of {many}, the nearest to it in the graph")
    if len(whole) > len(switches):
        notes.append(f"{len(whole) - len(switches):,} changes are those of another sensor of the same device")
    if unexplained:
        notes.append(f"no control was found for {unexplained:,} of {len(switches):,} changes of actuators")
    return Controls(controls, notes=notes)


class _Surroundings:
    """Names and distances in the graph, as far as they are known."""

    def __init__(self, readings: WindowedReadings, system: System | None) -> None:
        self.system = system
        self._binding = None if system is None else system.binding
        self._graph = None if system is None else system.graph
        self._numeric = readings.numeric
        self._distances: dict[str, dict[str, int]] = {}
        self._near: dict[str, Bools | None] = {}
        self._devices: dict[str, str] = {}
        self._kinds = {sensor.id: sensor.kind for sensor in readings.sensors}
        self._columns: dict[str, list[int]] = {}
        if self._graph is not None and len(self._numeric) > min(_NEAREST, _COARSE):
            for column, sensor in enumerate(self._numeric):
                self._columns.setdefault(self.place(sensor.id), []).append(column)

    @property
    def looks_near(self) -> bool:
        """Whether an actuator was compared with the readings near it only."""
        return any(mask is not None for mask in self._near.values())

    def nearest(self, actuator: str, most: int | None = None) -> Bools | None:
        """Return which readings of a large system are nearest to an actuator in the graph; ``None`` for all.

        Args:
            actuator: The sensor of the actuator.
            most: The number of readings from which a system is large; by default ``_NEAREST``.
        """
        node = self.place(actuator)
        large = _NEAREST if most is None else most
        if len(self._numeric) <= large or self._graph is None or node not in self._graph.nodes:
            return None
        if most is not None:
            return self._look_around(self._graph, node, most)
        if node not in self._near:
            self._near[node] = self._look_around(self._graph, node, large)
        return self._near[node]

    def _look_around(self, graph: KnowledgeGraph, node: str, most: int) -> Bools | None:
        """The readings around a node, one step further until there are enough; ``None`` if there are none."""
        found: list[int] = []
        seen, edge = {node}, [node]
        while edge and len(found) < most:
            found += [column for one in edge for column in self._columns.get(one, ())]
            edge = sorted(self._neighbours(graph, edge) - seen)
            seen.update(edge)
        mask = np.zeros(len(self._numeric), bool)
        mask[found] = True
        return mask if found else None

    @staticmethod
    def _neighbours(graph: KnowledgeGraph, nodes: Iterable[str]) -> set[str]:
        found = {edge.target for node in nodes for edge in graph.out_edges(node)}
        return found | {edge.source for node in nodes for edge in graph.in_edges(node)}

    def device(self, sensor: str) -> str:
        """Return the device of a sensor: its node, or the only neighbour of a node that is a point itself."""
        node = self.place(sensor)
        if self._graph is None or node not in self._graph.nodes:
            return node
        if sensor not in self._devices:
            around = self._neighbours(self._graph, [node]) - {node}
            is_point = len(around) == 1 and names_a_point(node, self._kinds.get(sensor, "").replace("_", " "))
            self._devices[sensor] = next(iter(around)) if is_point else node
        return self._devices[sensor]

    def sort_of(self, sensor: Sensor) -> tuple[str, tuple[str, ...]] | None:
        """Return the kind of a sensor and the labels of its node; ``None`` without a graph."""
        node = self.place(sensor.id)
        if self._graph is None or node not in self._graph.nodes:
            return None
        return sensor.kind, tuple(sorted(self._graph.nodes[node].labels))

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
    switches = _without_streams(switches, readings, around)
    if rare:
        notes.append(f"{rare:,} changes of actuators occur fewer than {settings.min_switches} times and were left out")
    return switches, notes


def _without_streams(switches: Sequence[Switch], readings: WindowedReadings, around: _Surroundings) -> list[Switch]:
    """Leave out numbers that start and stop where most of their sort do not: the flow of one pipe among many."""
    members = Counter(around.sort_of(sensor) for sensor in readings.numeric)
    on_and_off = {switch.actuator for switch in switches if not switch.actuator.categorical}
    own = Counter(around.sort_of(sensor) for sensor in on_and_off)

    def acts(sensor: Sensor) -> bool:
        sort = around.sort_of(sensor)
        return sensor.categorical or sort is None or own[sort] >= _ACTUATORS * members[sort]

    return [switch for switch in switches if acts(switch.actuator)]


def _merge_sisters(switches: Sequence[Switch], around: _Surroundings) -> list[Switch]:
    """Leave out what switches at the moments of another sensor of the same device: command and status are one."""
    order = sorted(switches, key=lambda one: (not one.actuator.categorical, one.actuator.kind == "flow", _key(one)))
    kept: dict[str, list[Switch]] = {}
    for switch in order:
        family = kept.setdefault(around.device(switch.actuator.id), [])
        others = [one for one in family if one.actuator.id != switch.actuator.id]
        if not any(_is_together(switch.times, one.times, within=WITHIN) for one in others):
            family.append(switch)
    left = {_key(switch) for family in kept.values() for switch in family}
    return [switch for switch in switches if _key(switch) in left]


def _is_together(one: Moments, other: Moments, *, within: int = 0) -> bool:
    """Whether nearly all switches of two changes happen at the same moments."""
    if not one.size or not other.size:
        return False
    after = np.clip(np.searchsorted(other, one), 0, other.size - 1)
    apart = np.minimum(np.abs(other[after] - one), np.abs(other[np.maximum(after - 1, 0)] - one))
    common = int((apart <= within).sum())
    return common >= _SAME_MOMENTS * (one.size + other.size - common)


@dataclass(frozen=True, eq=False)
class _Search:
    """What all changes are explained with."""

    signals: Signals
    clock: Clock
    around: _Surroundings
    settings: ControlSettings
    changes: int

    def explain_all(self, switches: Sequence[Switch], progress: Progress) -> list[_Found]:
        """Return the controls of all changes, by one condition each."""
        found: list[_Found] = []
        todo = list(switches)
        for number in range(_ROUNDS):
            if not todo:
                break
            progress("controls", number, _ROUNDS)
            rest = []
            for switch, score in zip(todo, self.screen(todo), strict=True):
                causes = self._explain(switch, score)
                found += causes
                if causes and (left := _unexplained(switch, causes, self.settings)) is not None:
                    rest.append(left)
            todo = rest
        return found

    def pair_up(self, switches: Sequence[Switch], found: Sequence[_Found]) -> list[_Found]:
        """Explain the change back by the reading of the change, if that does about as well as another reading."""
        changes = {_key(switch): switch for switch in switches}
        out = {id(one): one for one in found}
        columns = {sensor.id: at for at, sensor in enumerate(self.signals.sensors)}
        by_reading = [one for one in found if one.control.sensor]
        rough = {id(one): self.signals.kind_roughness(columns[one.control.sensor]) for one in by_reading}
        for one in sorted(by_reading, key=lambda one: (rough[id(one)], one.band, one.control.sensor)):
            if id(one) not in out:
                continue
            control = one.control
            back = (control.actuator, control.to_state, control.from_state)
            known = [other for other in out.values() if _key(other.switch) == back]
            sensors = {other.control.sensor for other in known}
            if back not in changes or sensors & {control.sensor, ""} or len(known) > 1:
                continue
            scores = np.zeros((len(columns), 2))
            scores[columns[control.sensor], int(control.direction == "above")] = 1.0
            candidates = self._confirm(changes[back], scores)
            result = self._from_reading(changes[back], candidates[0], candidates) if candidates else None
            if result is None or any(_shares(result.control) < _shares(other.control) - _TIE for other in known):
                continue
            for other in known:
                del out[id(other)]
            out[id(result)] = result
        return list(out.values())

    def explain_coarsely(self, switches: Sequence[Switch], size: int) -> list[_Found]:
        """Return the controls by readings in longer windows, which are less noisy.

        Args:
            switches: The changes.
            size: How many windows become one.
        """
        slow = {_key(one) for one in switches if len(one) <= _MOST_SWITCHED * one.moments.size}
        readings = self.signals.readings
        if not slow or readings.every * size > _LONGEST:
            return []
        masks = [self.around.nearest(actuator, _COARSE) for actuator, _, _ in sorted(slow)]
        if not any(mask is None for mask in masks):
            near = np.logical_or.reduce([mask for mask in masks if mask is not None])
            chosen = {sensor.id for sensor, use in zip(self.signals.sensors, near, strict=True) if use}
            readings = readings.select([one.id for one in readings.sensors if one.categorical or one.id in chosen])
        coarse = coarsen(readings, size)
        found, _ = find_switches(coarse, least=self.settings.min_switches, numbers=any(key[2] == ON for key in slow))
        again = [switch for switch in found if _key(switch) in slow]
        if not again:
            return []
        signals = Signals(coarse, follows(coarse))
        search = replace(self, signals=signals, around=_Surroundings(coarse, self.around.system))
        results = (search._best_reading(*pair) for pair in zip(again, search.screen(again), strict=True))
        return [replace(one, control=replace(one.control, smoothed=size)) for one in results if one is not None]

    def screen(self, switches: Sequence[Switch]) -> list[npt.NDArray[np.float64]]:
        """Return how well each reading agrees with each change."""
        return screen_all(self.signals, switches, min_share=self.settings.min_explained, within=self.around.nearest)

    def _explain(self, switch: Switch, scores: npt.NDArray[np.float64]) -> list[_Found]:
        """Return the controls that explain one change: a reading, or the times of a schedule."""
        schedule = self._by_clock(switch)
        confirmed = self._confirm(switch, scores)
        best = max((one.agreement for one in confirmed), default=0.0)
        if schedule is not None and schedule.agreement >= best - _CLOCK:
            return self._from_schedule(switch, schedule)
        reading = self._best_confirmed(switch, confirmed)
        if reading is not None:
            return [reading]
        return [] if schedule is None else self._from_schedule(switch, schedule)

    def explain_roughly(self, switches: Sequence[Switch]) -> list[_Found]:
        """Return the controls by times of day that vary by a few windows: what repeats daily does so, too."""
        schedules = ((switch, self._schedule(switch, exact=False)) for switch in switches)
        return [one for switch, found in schedules if found is not None for one in self._from_schedule(switch, found)]

    def _by_clock(self, switch: Switch) -> Schedule | None:
        """Return an exact schedule, or, if it explains clearly more, one whose times vary by a few windows."""
        schedule = self._schedule(switch, exact=True)
        if schedule is None or schedule.agreement >= 1 - _CLOCK:
            return schedule
        rough = self._schedule(switch, exact=False)
        return rough if rough is not None and rough.agreement > schedule.agreement + _CLOCK else schedule

    def _schedule(self, switch: Switch, *, exact: bool) -> Schedule | None:
        settings = self.settings
        return find_schedule(
            switch,
            self.clock,
            changes=self.changes,
            min_explained=settings.min_explained,
            min_followed=settings.min_followed,
            exact=exact,
        )

    def _best_reading(self, switch: Switch, scores: npt.NDArray[np.float64]) -> _Found | None:
        return self._best_confirmed(switch, self._confirm(switch, scores))

    def _confirm(self, switch: Switch, scores: npt.NDArray[np.float64]) -> list[Candidate]:
        # What ends after one window ends whatever is read.
        if len(switch) > _MOST_SWITCHED * switch.moments.size:
            return []
        return confirm(self.signals, switch, scores)

    def _best_confirmed(self, switch: Switch, confirmed: Sequence[Candidate]) -> _Found | None:
        """Return the control by the reading that explains a change best.

        Of the readings that explain it about equally well, those with the narrowest band relative to their way are
        chosen, of these one of the smoothest kind, then the one that explains most, then the nearest in the graph.
        """
        signals = self.signals
        near = near_best(signals, confirmed)
        others = [one for one in confirmed if one not in near]
        distance = self.around.distance_from(switch.actuator.id)
        coincidences: dict[str, float] = {}
        for group in (near[:_COMPARED], others[:_TRIED]):
            results = []
            for one in group:
                result = self._from_reading(switch, one, confirmed)
                if result is not None:
                    results.append((one, result))
            best = max((_shares(result.control) for _, result in results), default=0.0)
            results = [(one, result) for one, result in results if _shares(result.control) >= best - _TIE]
            narrow = max(_FINE, _NARROW * min((result.band for _, result in results), default=0.0))
            results.sort(
                key=lambda pair: (
                    pair[1].band > narrow,
                    signals.kind_roughness(pair[0].column),
                    -round(_worth(pair[1].control), 9),
                    distance(pair[0].column),
                    pair[1].control.sensor,
                )
            )
            for one, result in results[:_TRIED]:
                if beats_other_days(signals, switch, one, coincidences):
                    return result
        return None

    def _from_reading(self, switch: Switch, candidate: Candidate, confirmed: Sequence[Candidate]) -> _Found | None:
        """Return the control by a threshold of a reading, or ``None`` if it explains too little or is an effect."""
        signals, settings, around = self.signals, self.settings, self.around
        row, pace = signals.row(candidate.column)
        above = candidate.above
        numeric = signals.sensors
        own = around.device(numeric[candidate.column].id) == around.device(switch.actuator.id)
        moments, switched = switch.moments, switch.switched
        if moves_with(row, moments, switched, above=above, jump=_OWN_JUMP if own else _JUMP):
            return None
        reach = reach_of(row, pace, signals.linked, above=above)
        before, after = earlier(switch), later(switch)
        first = estimate_threshold(row, reach, before.moments, before.switched, above=above)
        threshold = estimate_threshold(row, reach, moments, switched, above=above)
        if first is None or threshold is None:
            return None
        tally = count_crossings(row, reach, moments, switched, threshold=threshold.value, above=above)
        held = count_crossings(row, reach, after.moments, after.switched, threshold=first.value, above=above)
        for counts in (tally, held):
            if counts.explained_share < settings.min_explained or counts.followed_share < settings.min_followed:
                return None
        hits = explained(row, reach, moments, switched, threshold=threshold.value, above=above)
        band = relative_band(row, reach, moments, hits, threshold=threshold, above=above)
        if band > _BAND:
            return None
        # How often a switch would be explained if it happened at any moment.
        everywhere = np.ones(after.moments.size, bool)
        base = explained(row, reach, after.moments, everywhere, threshold=first.value, above=above).mean()
        tested = SIDES * len(numeric) * self.changes * (1 + len(_COARSER))
        if held.explained < FEWEST_OCCASIONS or not is_evident(held.explained_share, base, held.switches, tested):
            return None
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
        return _Found(control, switch, hits, band)

    def add_premises(self, switches: Sequence[Switch]) -> list[_Found]:
        """Return controls of two conditions for changes that no single condition explains."""
        around, least, hours = self.around, self.settings.min_switches, self.clock.seconds // 3600
        tried = [
            (switch, premise, premise.restrict(switch))
            for switch in switches
            for premise in find_premises(
                switch, self.signals.readings, hours, feature=around.feature, device=around.device
            )
        ]
        tried = [one for one in tried if len(one[2]) >= least]
        best: dict[tuple[str, str, str], _Found] = {}
        scores = self.screen([part for _, _, part in tried])
        for (switch, premise, part), score in zip(tried, scores, strict=True):
            found = self._best_reading(part, score)
            if found is None or not _is_needed(self.signals, switch, found.control):
                continue
            key = _key(switch)
            if key not in best or _worth(found.control) > _worth(best[key].control):
                best[key] = replace(found, control=replace(found.control, premise=premise.item))
        return list(best.values())

    def _from_schedule(self, switch: Switch, schedule: Schedule) -> list[_Found]:
        """Return one control per time of the schedule."""
        found = []
        parts = zip(schedule.times, schedule.tallies, schedule.later, schedule.explained, strict=True)
        for time, tally, held, hits in parts:
            control = Control(
                actuator_feature=self.around.feature(switch.actuator),
                from_state=switch.from_state,
                to_state=switch.to_state,
                sensor_feature=None,
                direction="at",
                threshold=float(time.usual),
                low=float(time.first),
                high=float(time.last),
                tally=tally,
                later=held,
                agreement=schedule.agreement,
                premise=time.premise,
            )
            found.append(_Found(control, switch, hits))
        return found


def _is_needed(signals: Signals, switch: Switch, control: Control) -> bool:
    """Whether a control is clearly worse without its premise: fewer of all crossings are followed by the switch.

    A premise must not hide that the reading rests at the end of its range.
    """
    column = next(at for at, sensor in enumerate(signals.sensors) if sensor.id == control.sensor)
    row, pace = signals.row(column)
    above = control.direction == "above"
    reach = reach_of(row, pace, signals.linked, above=above)
    if estimate_threshold(row, reach, switch.moments, switch.switched, above=above) is None:
        return False
    alone = count_crossings(row, reach, switch.moments, switch.switched, threshold=control.threshold, above=above)
    return control.tally.followed_share >= alone.followed_share + _GAIN and control.tally.explained >= alone.explained


def _drop_contradictions(found: Sequence[_Found]) -> list[_Found]:
    """Leave out the worse of two controls that cannot both be: an actuator starts below 4.5 and stops above 4.4."""
    dropped: set[int] = set()
    for (at, one), (to, other) in combinations(enumerate(found), 2):
        pair = {one.control.direction: one.control, other.control.direction: other.control}
        same = (one.control.actuator, one.control.sensor) == (other.control.actuator, other.control.sensor)
        back = (one.control.from_state, one.control.to_state) == (other.control.to_state, other.control.from_state)
        if same and back and set(pair) == {"above", "below"} and pair["above"].high < pair["below"].low:
            dropped.add(at if one.band > other.band else to)
    return [one for at, one in enumerate(found) if at not in dropped]


def _without(switches: Sequence[Switch], found: Sequence[_Found]) -> list[Switch]:
    """Return the changes that no control explains."""
    explained_ones = {_key(one.switch) for one in found}
    return [switch for switch in switches if _key(switch) not in explained_ones]


def _unexplained(switch: Switch, controls: Sequence[_Found], settings: ControlSettings) -> Switch | None:
    """Return the change without the switches that controls explain, if enough are left for another cause."""
    keep = ~np.logical_or.reduce([one.explained for one in controls])
    left = Switch(switch.actuator, switch.from_state, switch.to_state, switch.moments[keep], switch.switched[keep])
    return left if len(left) >= max(settings.min_switches, _REST * len(switch)) else None


def _key(switch: Switch) -> tuple[str, str, str]:
    return switch.actuator.id, switch.from_state, switch.to_state


def _of_all(one: _Found, switches: int) -> Control:
    """Return a control with all switches of the change counted, also those that another control explains."""
    if one.control.smoothed > 1:
        return replace(one.control, tally=replace(one.control.tally, switches=len(one.switch)))
    return replace(one.control, tally=replace(one.control.tally, switches=switches))


def _together(control: Control, switches: Sequence[Switch], around: _Surroundings) -> tuple[str, ...]:
    """Return the places of the other actuators that switch at the same moments."""
    times = {_key(switch): switch.times for switch in switches}
    own = times[control.actuator, control.from_state, control.to_state]
    place = around.place(control.actuator)
    device = around.device(control.actuator)
    names = set()
    for (actuator, _, _), other in times.items():
        if around.place(actuator) == place:
            continue
        if _is_together(own, other, within=WITHIN if around.device(actuator) == device else 0):
            names.add(around.place(actuator))
    return tuple(sorted(names))


def _worth(control: Control) -> float:
    return control.agreement * _shares(control)


def _shares(control: Control) -> float:
    return control.tally.explained_share * control.tally.followed_share
