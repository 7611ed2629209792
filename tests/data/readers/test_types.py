"""Types of sensors: states stay states, set points are numbers, and labels are no sensors."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import thence as th
from thence.data.graph.binding import Binding
from thence.data.graph.knowledge_graph import KnowledgeGraph, Node
from thence.data.graph.system import System
from thence.data.readings.sensors import Sensor, SensorData

N = 300


def frame_of(**columns: object) -> pl.DataFrame:
    times = [datetime(2031, 7, 1, tzinfo=UTC) + timedelta(minutes=10 * k) for k in range(N)]
    return pl.DataFrame({"stamp": times, **columns})


def switching(period: int) -> list[int]:
    return [k // period % 2 for k in range(N)]


def wobbling(scale: float = 1.0) -> list[float]:
    return [round(scale * (3 + np.sin(k / 9)), 3) for k in range(N)]


def states_of(data: SensorData) -> set[str]:
    return {sensor.id for sensor in data.sensors if sensor.categorical}


def station_of(**columns: object) -> SensorData:
    """Readings of pumps, each named by what it reads and its number."""
    graph = KnowledgeGraph([Node(name, frozenset({"Pump"})) for name in ("B1", "B2", "B3")])
    system = th.read_system(frame_of(**columns), graph, {id: id.split("_")[1] for id in columns})
    return system.sensors


def test_a_pump_that_never_ran_leaves_the_states_of_the_others_as_they_are() -> None:
    """Regression: a standby pump turned the states of all pumps into numbers."""
    read = station_of(S_B1=switching(7), S_B2=switching(11), S_B3=[0] * N, F_B1=wobbling(), F_B3=[0] * N)
    assert states_of(read) == {"S_B1", "S_B2", "S_B3"}
    assert read.sensor("S_B3").kind == "status"


def test_a_status_is_a_state_by_its_kind_though_nothing_ever_changed() -> None:
    read = station_of(S_B1=[1] * N, S_B2=[1] * N, F_B1=wobbling(), F_B2=[0] * N)
    assert states_of(read) == {"S_B1", "S_B2"}


@pytest.mark.parametrize(
    ("column", "cells", "is_state"),
    [
        ("boiler_alarm", [0] * N, True),
        ("Door.contact", [1] * N, True),
        ("valve_position_command", [0] * N, False),
        ("pressure", [0] * N, False),
        ("room.zsp", [18 + 4 * (k // 50 % 2) for k in range(N)], False),
        ("cooling setpoint", switching(40), False),
        ("AV-11", [18 + 4 * (k // 50 % 2) for k in range(N)], False),
        ("mode", [k // 30 % 4 for k in range(N)], True),
        ("occupied", switching(30), True),
    ],
)
def test_names_decide_where_readings_leave_it_open(column: str, cells: list[int], is_state: bool) -> None:
    data = th.read_sensors(frame_of(**{column: cells, "flow": wobbling()}))
    assert data.sensor(column).categorical is is_state


def test_what_never_changes_reads_as_those_that_are_named_like_it() -> None:
    data = th.read_sensors(frame_of(R1_lights=switching(9), R2_lights=switching(8), R3_lights=[0] * N, R3_temp=[0] * N))
    assert states_of(data) == {"R1_lights", "R2_lights", "R3_lights"}
    other = th.read_sensors(frame_of(R1_x=switching(9), R2_x=wobbling(), R3_x=[0] * N))
    assert states_of(other) == {"R1_x"}


def test_the_word_of_the_user_stays() -> None:
    data = th.read_sensors(frame_of(fan_status=[0] * N, zsp=[20] * 200 + [22] * 100), numeric="fan*", categorical="zsp")
    assert states_of(data) == {"zsp"}


def test_set_points_are_no_conclusions_unless_asked_for() -> None:
    """Regression: "if the room is below 18.4 °C, then its target is 18 °C"."""
    setting = [18.0 + 4 * (k // 25 % 2) for k in range(N)]
    frame = frame_of(room_target=setting, room_temp=[x - 0.5 + k % 3 / 10 for k, x in enumerate(setting)])
    table = th.transactions(frame, windows="10min", bins=2)
    found = {rule.consequent.feature.subject for rule in th.Exact(max_antecedents=1).mine(table)}
    assert found == {"room_temp"}
    asked = th.Exact(max_antecedents=1, consequent="room_target").mine(table)
    assert {rule.consequent.feature.subject for rule in asked} == {"room_target"}
    plain = th.TransactionTable.from_frame(pl.DataFrame({"target": ["a", "b"] * 50, "x": ["c", "d"] * 50}))
    assert "target" in {rule.consequent.feature.subject for rule in th.Exact().mine(plain)}


def site_of(name: str, cells: list[float] | list[int]) -> System:
    data = SensorData.from_wide(frame_of(x=cells).rename({"stamp": "time"}), sensors=[Sensor("x", "burner_status")])
    return System(data, KnowledgeGraph([Node("n")]), Binding({"x": "n"}), name=name)


def test_a_class_has_one_type_at_all_sites() -> None:
    active = site_of("north", switching(9))
    active = System(active.sensors.with_states(["x"]), active.graph, active.binding, name="north")
    still = site_of("south", [0] * N)
    both = System.of_sites([active, still])
    assert states_of(both.sensors) == {"north/x", "south/x"}
    measured = System.of_sites([active, site_of("south", wobbling())])
    assert states_of(measured.sensors) == set()


@pytest.mark.parametrize(
    ("column", "cells", "is_label"),
    [
        ("anomaly", [float(k > 250) for k in range(N)], True),
        ("ATT_FLAG", [-999] * 250 + [1] * 50, True),
        ("Label", ["fine"] * 200 + ["leak"] * 100, True),
        ("is_fault", [k > 200 for k in range(N)], True),
        ("fault", wobbling(), False),
        ("weather", ["rain"] * 100 + ["sun"] * 200, False),
        ("fault_current", switching(9), False),
    ],
)
def test_labels_are_no_sensors(tmp_path: Path, column: str, cells: list[object], is_label: bool) -> None:
    path = tmp_path / "bench.csv"
    frame_of(speed=wobbling(), load=wobbling(2), **{column: cells}).write_csv(path, separator="\t")
    data = th.read_sensors(path)
    assert (column in data.ids) is not is_label
    offered = [note for note in data.report.notes if f"target='{column}'" in note]
    assert bool(offered) is is_label
    assert column in th.read_sensors(path, categorical=[column]).ids
