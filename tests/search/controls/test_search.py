"""The search on plants whose controls are known, and on plants that have none."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise

import numpy as np
import polars as pl
import pytest

from tests.statements.controls.plants import tank, walk, windows
from thence.data.graph.binding import Binding
from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.records import Edge, Node
from thence.data.graph.system import System
from thence.data.readings.sensors import SensorData
from thence.data.readings.windows import WindowedReadings, window
from thence.search.controls import search
from thence.search.controls.search import search_controls
from thence.search.controls.settings import ControlSettings

STEPS = 2000


def plant(*, seed: int = 0, others: int = 20) -> WindowedReadings:
    """A tank and its pump, among other readings and the effects of the pump."""
    level, pump = tank(steps=STEPS, seed=seed)
    rng = np.random.default_rng(seed)
    runs = np.array([state == "open" for state in pump])
    numbers = {
        "flow": np.where(runs, 50 + rng.normal(size=STEPS), 0.0),
        "pressure": 30 + level + np.where(runs, 5.0, 0.0) + 0.3 * rng.normal(size=STEPS),
        **{f"other{number}": walk(STEPS, 100 * seed + number) for number in range(others)},
        "level": level,
    }
    kinds = {name: name.rstrip("0123456789") for name in numbers}
    return windows(numbers, {"pump": pump}, kinds=kinds)


@pytest.mark.parametrize("seed", range(3))
def test_both_thresholds_of_a_tank_are_found(seed: int) -> None:
    found = search_controls(plant(seed=seed))
    told = {(one.to_state, one.sensor, one.direction): one for one in found}
    assert set(told) == {("closed", "level", "above"), ("open", "level", "below")}
    assert told["closed", "level", "above"].threshold == pytest.approx(4.0, abs=0.03)
    assert told["open", "level", "below"].threshold == pytest.approx(2.0, abs=0.03)
    for one in found:
        assert one.tally.explained >= 0.9 * one.tally.switches
        assert one.later.followed >= 0.9 * one.later.crossings
        assert one.low <= one.threshold <= one.high


def test_the_search_is_repeatable_and_changes_nothing() -> None:
    readings = plant()
    before = readings.values.copy()
    first, second = search_controls(readings), search_controls(readings)
    assert first.to_dict() == second.to_dict()
    np.testing.assert_array_equal(readings.values, before)


def test_missing_readings_and_gaps_do_not_hide_a_control() -> None:
    whole = plant()
    values = whole.values.copy()
    values[np.random.default_rng(1).random(values.shape) < 0.03] = np.nan
    keep = np.setdiff1d(np.arange(STEPS), [*range(300, 330), *range(900, 905)])
    readings = replace(
        whole,
        times=whole.times[keep],
        values=values[keep],
        states={name: (codes[keep], known) for name, (codes, known) in whole.states.items()},
    )
    assert {(one.to_state, one.sensor) for one in search_controls(readings)} == {("closed", "level"), ("open", "level")}


@pytest.mark.parametrize("seed", range(3))
def test_switches_at_random_have_no_control(seed: int) -> None:
    rng = np.random.default_rng(seed)
    times = np.sort(rng.choice(STEPS, 60, replace=False))
    states = [("on", "off")[number % 2] for number in np.searchsorted(times, np.arange(STEPS), "right")]
    numbers = {f"walk{number}": walk(STEPS, 1000 * seed + number) for number in range(100)}
    found = search_controls(windows(numbers, {"fan": states}))
    assert list(found) == []
    assert found.notes == ("no control was found for 2 of 2 changes of actuators",)


@pytest.mark.parametrize("seed", range(3))
def test_readings_that_follow_the_time_of_day_are_not_causes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    days, hours = 40, np.arange(40 * 24)
    # Turned on every day around 6:00 and off around 18:00, give or take an hour; no reading has to do with it.
    edges = np.sort(np.concatenate([24 * np.arange(days) + at + rng.integers(-1, 2, days) for at in (6, 18)]))
    states = [("off", "on")[number % 2] for number in np.searchsorted(edges, hours, "right")]
    numbers = {
        f"r{number}": np.sin(2 * np.pi * (hours / 24 + number / 50)) + 0.1 * rng.normal(size=hours.size)
        for number in range(50)
    }
    found = search_controls(windows(numbers, {"fan": states}, minutes=60))
    assert not [one for one in found if one.sensor]


def test_a_schedule_is_told_by_the_clock() -> None:
    steps = 24 * 30
    states = ["on" if 6 <= hour % 24 < 18 else "off" for hour in range(steps)]
    numbers = {"daylight": np.sin(2 * np.pi * (np.arange(steps) - 6) / 24)}
    found = search_controls(windows(numbers, {"lamp": states}, minutes=60))
    assert sorted(found.sentences) == [
        "lamp switches on at 06:00 (30 of 30 days) and switches off at 18:00 (30 of 30 days)"
    ]


def test_two_causes_of_one_change_are_both_told() -> None:
    first, second = (tank(steps=6000, seed=seed)[0] for seed in (1, 2))
    state, states = "open", []
    low = 0
    for a, b in zip(first, second, strict=True):
        # It closes when either level is nearly full, and opens again after an hour.
        low = 0 if state == "open" else low + 1
        state = "closed" if state == "open" and (a > 3.9 or b > 3.9) else "open" if low > 12 else state
        states.append(state)
    found = search_controls(windows({"a": first, "b": second}, {"valve": states}, kinds={"a": "level", "b": "level"}))
    closing = {one.sensor: one for one in found if one.to_state == "closed"}
    assert set(closing) == {"a", "b"}
    total = closing["a"].tally.switches
    assert closing["b"].tally.switches == total
    assert closing["a"].tally.explained + closing["b"].tally.explained >= 0.8 * total


def test_flows_are_actuators_only_without_states() -> None:
    readings = plant(others=0)
    without = replace(
        readings, sensors=tuple(sensor for sensor in readings.sensors if not sensor.categorical), states={}
    )
    told = {(one.actuator, one.from_state, one.sensor) for one in search_controls(without)}
    assert told == {("flow", "0", "level"), ("flow", "not 0", "level")}
    assert {one.actuator for one in search_controls(readings)} == {"pump"}
    both = search_controls(readings, settings=ControlSettings(numbers=True))
    assert {one.actuator for one in both} == {"pump", "flow"}
    assert list(search_controls(without, settings=ControlSettings(numbers=False))) == []


def test_places_and_sister_actuators_are_named() -> None:
    level, pump = tank(steps=STEPS)
    valve = ["closed" if state == "open" else "open" for state in pump]
    readings = windows({"l": level}, {"p": pump, "v": valve}, kinds={"l": "level"})
    graph = KnowledgeGraph(
        [Node("Tank 1"), Node("Pump 1"), Node("Valve 1")],
        [Edge("e1", "Pump 1", "Tank 1"), Edge("e2", "Valve 1", "Tank 1")],
    )
    binding = Binding({"l": "Tank 1", "p": "Pump 1", "v": "Valve 1"})
    system = System(sensors=None, graph=graph, binding=binding)  # type: ignore[arg-type]
    sentences = search_controls(readings, system).sentences
    assert len(sentences) == 2
    assert any(
        text.startswith("Pump 1 ") and text.endswith("Valve 1 switches at the same moments") for text in sentences
    )
    assert all("the level of Tank 1" in text for text in sentences)


def test_of_two_equal_readings_the_nearer_is_told() -> None:
    level, pump = tank(steps=STEPS)
    readings = windows({"far": level, "near": level}, {"p": pump}, kinds={"far": "level", "near": "level"})
    graph = KnowledgeGraph([Node("P"), Node("N"), Node("F")], [Edge("e1", "P", "N"), Edge("e2", "N", "F")])
    system = System(sensors=None, graph=graph, binding=Binding({"far": "F", "near": "N", "p": "P"}))  # type: ignore[arg-type]
    found = search_controls(readings, system)
    assert {one.sensor for one in found} == {"near"}
    assert {one.alternatives for one in found} == {("far",)}


def test_in_a_large_system_the_readings_around_an_actuator_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    readings = plant(others=20)
    names = [sensor.id for sensor in readings.numeric]
    # The pump, then 21 readings one step further each, the level third; one reading in a graph of its own.
    row = ["pump", "flow", "pressure", "level", *(name for name in names if name.startswith("other"))]
    nodes = {name: f"node of {name}" for name in (*row, "other19")}
    edges = [Edge(f"e{at}", nodes[one], nodes[two]) for at, (one, two) in enumerate(pairwise(row[:-1]))]
    graph = KnowledgeGraph([Node(node) for node in nodes.values()], edges)
    system = System(sensors=None, graph=graph, binding=Binding(nodes))  # type: ignore[arg-type]
    everywhere = search_controls(readings, system)
    for nearest, found in ((3, True), (2, False), (len(names), True)):
        monkeypatch.setattr(search, "_NEAREST", nearest)
        controls = search_controls(readings, system)
        assert ({one.sensor for one in controls} == {"level"}) is found
        told = any(f"compared with about {nearest:,} of {len(names):,} readings" in note for note in controls.notes)
        assert told is (nearest < len(names))
        if found:
            assert [(one.sensor, one.threshold, one.tally) for one in controls] == [
                (one.sensor, one.threshold, one.tally) for one in everywhere
            ]


def test_without_actuators_or_readings_nothing_is_found() -> None:
    assert list(search_controls(windows({"x": walk(100, 0)}, {}))) == []
    assert list(search_controls(windows({}, {"s": ["on", "off"] * 20}))) == []
    few = search_controls(windows({"x": walk(4, 0)}, {"s": ["on", "off", "on", "on"]}))
    assert few.notes == ("2 changes of actuators occur fewer than 6 times and were left out",)


def off_peak(*, by_state: bool) -> WindowedReadings:
    """A pump that opens below 2 m at night only, or only while another pump stands, and closes above 4 m."""
    rng = np.random.default_rng(3)
    steps = 288 * 60
    level, pump, levels, pumps, others = 3.0, "closed", [], [], []
    other, pace = "off", 1.0
    for step in range(steps):
        hour = step // 12 % 24
        if rng.random() < 0.02:
            other = "on" if other == "off" else "off"
        allowed = other == "off" if by_state else (hour >= 22 or hour < 6)
        levels.append(level)
        pumps.append(pump)
        others.append(other)
        pace = rng.uniform(0.15, 1.2) if pump == "open" else pace
        level += (0.09 if pump == "open" else -0.012 * pace) * rng.uniform(0.7, 1.3)
        level = max(level, 0.0)
        pump = "open" if level < 2 and allowed else "closed" if level > 4 else pump
    return windows(
        {"level": levels, "noise": walk(steps, 5)}, {"pump": pumps, "other": others}, kinds={"level": "level"}
    )


def test_a_control_at_night_only_is_told_with_its_hours() -> None:
    found = search_controls(off_peak(by_state=False))
    (opens,) = [one for one in found if one.actuator == "pump" and one.to_state == "open"]
    assert opens.sensor == "level"
    assert opens.threshold == pytest.approx(2.0, abs=0.1)
    assert " m from 22:00 to 06:00 (" in opens.english
    assert opens.rule is not None
    assert opens.premise in opens.rule.antecedent


def test_a_control_that_depends_on_another_actuator_is_told_with_its_state() -> None:
    found = search_controls(off_peak(by_state=True))
    (opens,) = [one for one in found if one.actuator == "pump" and one.to_state == "open"]
    assert opens.sensor == "level"
    assert opens.threshold == pytest.approx(2.0, abs=0.1)
    assert " while other is off (" in opens.english


def test_numbers_that_start_and_stop_all_the_time_are_no_actuators() -> None:
    rng = np.random.default_rng(5)
    times = [datetime(2024, 1, 1) + k * timedelta(minutes=5) for k in range(600)]
    counts = np.where(rng.random(600) < 0.5, 0.0, rng.integers(5, 9, 600))
    data = SensorData.from_wide(
        pl.DataFrame({"time": times, "vehicles": counts, "level": np.cumsum(rng.normal(size=600))})
    )
    found = search_controls(window(data))
    assert not len(found)
    assert any("too frequent or too many" in note for note in found.notes)
    asked = search_controls(window(data), settings=ControlSettings(numbers=True))
    assert not any("too frequent" in note for note in asked.notes)
