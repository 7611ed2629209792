"""No control in noise, the planted ones in made systems, and no control that cannot be."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.search.controls.systems import noise_system, planted_system, telegraph, walk_of
from tests.statements.controls.plants import tank, windows
from thence.data.graph.binding import Binding
from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.records import Edge, Node
from thence.data.graph.system import System
from thence.data.readings.windows import WindowedReadings
from thence.search.controls import search
from thence.search.controls.search import search_controls
from thence.statements.controls.control import Control
from thence.statements.controls.counting import count_controls, explain_switches
from thence.statements.controls.switches import find_switches


def system_of(nodes: dict[str, str], edges: list[tuple[str, str]]) -> System:
    """A graph of the nodes of sensors."""
    names = {*nodes.values(), *(end for edge in edges for end in edge)}
    graph = KnowledgeGraph(
        [Node(name, frozenset({name.split()[0]})) for name in sorted(names)],
        [Edge(f"e{at}", one, other) for at, (one, other) in enumerate(edges)],
    )
    return System(sensors=None, graph=graph, binding=Binding(nodes))  # type: ignore[arg-type]


def is_within(control: Control, readings: WindowedReadings) -> bool:
    """Whether the numbers of a control lie within what was read."""
    if not control.sensor:
        return True
    column = [sensor.id for sensor in readings.numeric].index(control.sensor)
    row = readings.values[:, column]
    low, high = np.nanmin(row), np.nanmax(row)
    return bool(low <= control.low <= control.threshold <= control.high <= high)


@pytest.mark.parametrize(
    "first", [30, pytest.param(0, marks=pytest.mark.slow), pytest.param(40, marks=pytest.mark.slow)]
)
def test_nothing_is_found_in_noise(first: int) -> None:
    """A state of one window made every hour with six pulses a schedule: up to 480 controls of one system."""
    seeds = range(first, first + (6 if first == 30 else 40))
    found = {seed: search_controls(noise_system(seed)) for seed in seeds}
    assert sum(len(controls) > 0 for controls in found.values()) <= len(seeds) / 20


@pytest.mark.parametrize("seeds", [(3, 4), pytest.param(range(9, 18), marks=pytest.mark.slow)])
def test_planted_controls_are_found_and_no_others(seeds: range) -> None:
    """With noise of 1 % of the span, a quarter of the controls of tanks, rooms and dampers was missed."""
    known = recalled = 0
    for seed in seeds:
        readings, truth = planted_system(seed)
        controls = search_controls(readings)
        assert all(is_within(one, readings) for one in controls)
        for one in truth:
            known += 1
            recalled += any(
                (control.actuator, control.to_state, control.sensor) == (one.actuator, one.to_state, one.sensor)
                and abs(control.threshold - one.threshold) <= one.tolerance
                for control in controls
            )
        named = {(one.actuator, one.to_state, one.sensor) for one in truth}
        assert {(one.actuator, one.to_state, one.sensor) for one in controls} <= named
    assert recalled >= 0.85 * known


def air_handler(seed: int = 0) -> WindowedReadings:
    """A fan that runs in working hours, give or take some minutes; its duct pressure collapses before its status."""
    rng = np.random.default_rng(seed)
    minutes = 1440 * 15
    runs, pressure = np.zeros(minutes, bool), np.zeros(minutes)
    for day in range(15):
        start, end = (1440 * day + at + int(rng.integers(-25, 25)) for at in (360, 1080))
        runs[start:end] = True
        pressure[start + 1 : end - 2] = 1.4
    pressure = np.where(pressure > 0, pressure + 0.03 * rng.normal(size=minutes), 0.0)
    states = ["on" if one else "off" for one in runs]
    speed = np.where(runs, 0.8 + 0.01 * rng.normal(size=minutes), 0.2)
    return windows(
        {"pressure": np.round(pressure, 2), "speed": np.round(speed, 2), "air": 20 + walk_of(rng, minutes, 0.99) / 9},
        {"fan": states},
        minutes=1,
        kinds={"pressure": "pressure", "speed": "speed", "air": "temperature"},
    )


@pytest.mark.parametrize("seed", range(3))
def test_a_fan_does_not_stop_because_its_own_pressure_fell(seed: int) -> None:
    """A fan stopped "when the static pressure falls below -0.01 psi": its effect, and below all readings."""
    readings = air_handler(seed)
    found = search_controls(readings)
    assert not [one.english for one in found if one.sensor]
    placed = system_of({"pressure": "Duct 1", "speed": "Fan 1", "air": "Room 1", "fan": "Fan 1"}, [("Fan 1", "Duct 1")])
    assert not [one.english for one in search_controls(readings, placed) if one.sensor]


def test_status_and_command_are_one_actuator_and_a_pipe_is_none() -> None:
    """The status of a pump, its command and its flow gave three times the same sentence."""
    level, pump = tank()
    runs = np.array([state == "open" for state in pump])
    rng = np.random.default_rng(1)
    numbers = {
        "level": level,
        "flow": np.where(runs, 50 + rng.normal(size=level.size), 0.0),
        **{f"pipe{at}": 9 + rng.normal(size=level.size) for at in range(3)},
        "pipe3": np.where(runs, 40 + rng.normal(size=level.size), 0.0),
    }
    kinds = {"level": "level", "flow": "flow", **{f"pipe{at}": "flow" for at in range(4)}}
    nodes = {"level": "Tank 1", "flow": "Pump 1", **{f"pipe{at}": f"Pipe {at}" for at in range(4)}}
    edges = [("Pump 1", "Pipe 3"), ("Pipe 3", "Tank 1"), *((f"Pipe {at}", "Tank 1") for at in range(3))]
    states = {"status": pump, "command": [*pump[1:], pump[-1]]}
    with_states = search_controls(
        windows(numbers, states, kinds={**kinds, "command": "command"}),
        system_of({**nodes, "status": "Pump 1", "command": "Pump 1"}, edges),
    )
    assert sorted((one.actuator, one.to_state) for one in with_states) == [("command", "closed"), ("command", "open")]
    assert {one.sensor for one in with_states} == {"level"}
    by_flow = search_controls(windows(numbers, {}, kinds=kinds), system_of(nodes, edges))
    assert {one.actuator for one in by_flow} == {"flow"}


def resting(seed: int, draw: float) -> WindowedReadings:
    """A tank that rests full for one to three hours, is drawn on, and filled from 3.0 to 4.5."""
    rng = np.random.default_rng(seed)
    level, pump, rest, levels, states = 4.0, "off", 0, [], []
    for _ in range(6000):
        levels.append(level + 0.02 * rng.normal())
        states.append(pump)
        if pump == "on":
            level = min(level + 0.5, 4.5)
            if level >= 4.5:
                pump, rest = "off", int(rng.integers(4, 13))
        elif rest:
            rest -= 1
        else:
            level = max(level - draw * rng.uniform(0.5, 1.5), 2.9)
            pump = "on" if level <= 3.0 else "off"
    return windows({"level": levels}, {"pump": states}, minutes=15, kinds={"level": "level"})


@pytest.mark.parametrize("draw", [0.1, 0.4, 1.6, 3.2])
@pytest.mark.parametrize("seed", range(3))
def test_start_and_stop_make_sense_together(seed: int, draw: float) -> None:
    """A pump started below 4.53 and stopped above 4.50: the level rests there, and passed both all the time."""
    found = search_controls(resting(seed, draw))
    thresholds = {one.to_state: one.threshold for one in found}
    assert thresholds.get("on", 3.0) == pytest.approx(3.0, abs=0.2)
    assert thresholds.get("off", 4.5) > thresholds.get("on", 3.0)
    if draw < 1:
        (sentence,) = found.sentences
        assert "switches on when level falls below" in sentence
        assert "and switches off when it rises above" in sentence


def test_of_two_controls_that_contradict_each_other_one_is_left_out() -> None:
    """Start below 4.53 and stop above 4.50 cannot both be: the one with the wider band was reported as well."""
    level, pump = tank()
    readings = windows({"level": level}, {"pump": pump}, kinds={"level": "level"})
    (switch, other) = find_switches(readings, least=6)[0]
    stops, starts = sorted(search_controls(readings), key=lambda one: one.direction)
    assert (stops.direction, starts.direction) == ("above", "below")
    wrong = replace(starts, threshold=4.53, low=4.52, high=4.54)
    hits = np.zeros(0, bool)
    kept = search._drop_contradictions(
        [search._Found(stops, switch, hits, band=0.1), search._Found(wrong, other, hits, band=0.5)]
    )
    assert [one.control for one in kept] == [stops]
    both = [search._Found(stops, switch, hits, band=0.1), search._Found(starts, other, hits, band=0.5)]
    assert search._drop_contradictions(both) == both


@pytest.mark.parametrize("seed", range(2))
def test_the_order_of_columns_changes_nothing(seed: int) -> None:
    """Two readings that agree equally well: the one in the earlier column was named."""
    level, pump = tank(seed=seed)
    rng = np.random.default_rng(seed)
    names = ["twin", "level", "copy", *(f"other{at}" for at in range(8))]
    numbers = {name: level if name in ("twin", "level", "copy") else walk_of(rng, level.size, 0.98) for name in names}
    states = {"pump": pump, "idle": telegraph(rng, level.size, (20, 20))}
    found = [
        search_controls(windows({name: numbers[name] for name in order}, states)).to_dict()
        for order in (names, names[::-1], sorted(names))
    ]
    assert found[0]["controls"]
    assert found[0] == found[1] == found[2]


def test_switches_within_one_step_are_counted_apart() -> None:
    """27 of 27 crossings were counted where one was read and 26 were due at the pace of the reading."""
    level, pump = tank()
    found = search_controls(windows({"level": level}, {"pump": pump}, kinds={"level": "level"}))
    assert "of the switches within one step of the threshold" in found.details[0]
    for one in found:
        beyond = level > one.threshold if one.direction == "above" else level < one.threshold
        assert one.tally.explained - one.tally.near <= beyond.sum()
        assert one.tally.near > 0


def test_longer_windows_are_tried_and_named() -> None:
    """Where noise is far larger than a step of the log, no control was found."""
    rng = np.random.default_rng(2)
    level, on, levels, states = 2.0, True, [], []
    for _ in range(40_000):
        levels.append(level + 0.03 * rng.normal())
        states.append("on" if on else "off")
        level += 0.005 if on else -0.004
        on = True if level <= 1.0 else False if level >= 3.0 else on
    readings = windows({"level": levels}, {"pump": states}, minutes=1, kinds={"level": "level"})
    found = search_controls(readings)
    assert {one.to_state: round(one.threshold, 1) for one in found} == {"on": 1.0, "off": 3.0}
    assert all(one.smoothed > 1 and f"averaged over {one.smoothed} windows" in one.english for one in found)
    assert count_controls(found, readings) == [one.tally for one in found]
    for one in found:
        after, known = explain_switches(one, readings)
        assert (after.size, int(known.sum())) == (one.tally.switches, one.tally.explained)
        assert one.rule is None
        assert replace(Control.from_dict(one.to_dict())) == one


def test_a_thousand_switches_are_no_error() -> None:
    """The chance of more than about 1,000 switches was an integer too large for a number."""
    rng = np.random.default_rng(0)
    x = walk_of(rng, 24_000, 0.9)
    on, states = False, []
    for value in x:
        on = not on if rng.random() < (0.5 if value > 0 else 0.15) else on
        states.append("on" if on else "off")
    assert len(search_controls(windows({"x": x}, {"s": states}, minutes=15))) == 0
