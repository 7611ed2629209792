"""Kinds and units of sensors from the graph and from names; sensors of which nothing is known are never mixed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thence as th
from thence.data.graph.binding import Binding
from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.records import Edge, Node
from thence.data.graph.sensor_kinds import find_kinds, with_kinds_of
from thence.data.readings.sensors import Sensor, SensorData


def graph_of(*nodes: Node, edges: tuple[tuple[str, str, str], ...] = ()) -> KnowledgeGraph:
    links = [Edge(f"e{k}", a, b, frozenset({label})) for k, (a, label, b) in enumerate(edges)]
    return KnowledgeGraph(nodes, links)


def node(id: str, *labels: str, **properties: str) -> Node:
    return Node(id, frozenset(labels), properties)


def kinds_of(graph: KnowledgeGraph, binding: dict[str, str]) -> dict[str, tuple[str, str]]:
    return dict(find_kinds([Sensor(id) for id in binding], graph, binding).kinds)


def test_brick_points_have_the_kind_of_their_class_and_their_unit() -> None:
    graph = graph_of(
        node("zt", "Zone_Air_Temperature_Sensor", hasUnit="DEG_F"),
        node("sp", "Zone_Air_Temperature_Setpoint", hasUnit="http://qudt.org/vocab/unit/DEG_C"),
        node("fan", "Fan_On_Off_Status"),
    )
    assert kinds_of(graph, {"1": "zt", "2": "sp", "3": "fan"}) == {
        "1": ("zone_air_temperature", "degF"),
        "2": ("zone_air_temperature_setpoint", "degC"),
        "3": ("fan_on_off_status", ""),
    }


def test_sosa_sensors_have_the_kind_of_what_they_observe() -> None:
    graph = graph_of(
        node("s1", "Sensor"),
        node("s2", "Sensor"),
        node("kitchen-air", "ObservableProperty", "Temperature", hasUnit="DEG_C"),
        node("kitchen-humidity", "ObservableProperty"),
        edges=(("s1", "observes", "kitchen-air"), ("s2", "observes", "kitchen-humidity")),
    )
    assert kinds_of(graph, {"a": "s1", "b": "s2"}) == {"a": ("temperature", "degC"), "b": ("humidity", "")}


@pytest.mark.parametrize(
    ("sensor", "label", "kind"),
    [
        ("P_J280", "Junction", "pressure"),
        ("J280_pressure", "Junction", "pressure"),
        ("Node_J280_pressure", "Junction", "pressure"),
        ("L_J280", "Tank", "level"),
        ("F_J280", "Pump", "flow"),
        ("S_J280", "Pump", "status"),
        ("F_J280", "Room", "f"),
        ("Junction J280 head", "Junction", "head"),
        ("J280", "Junction", "junction_reading"),
    ],
)
def test_names_in_a_water_network(sensor: str, label: str, kind: str) -> None:
    graph = graph_of(node("J280", label))
    assert kinds_of(graph, {sensor: "J280"}) == {sensor: (kind, "")}


def test_a_word_for_a_quantity_and_nothing_at_all() -> None:
    graph = graph_of(node("r1", "Room"), node("r2", "Room"))
    found = find_kinds(
        [Sensor("tag 7 Temperature"), Sensor("AI_0017")], graph, {"tag 7 Temperature": "r1", "AI_0017": "r2"}
    )
    assert dict(found.kinds) == {"tag 7 Temperature": ("temperature", ""), "AI_0017": ("AI_0017", "")}
    assert found.notes[1] == "1 sensor without a kind, each a kind of its own (pass kinds=): 'AI_0017'"


def test_what_is_given_stays() -> None:
    graph = graph_of(node("zt", "Zone_Air_Temperature_Sensor", hasUnit="DEG_F"))
    given_unit = find_kinds([Sensor("a", "", "K")], graph, {"a": "zt"})
    assert given_unit.kinds["a"] == ("zone_air_temperature", "K")
    given_kind = find_kinds([Sensor("a", "temp")], graph, {"a": "zt"})
    assert given_kind.kinds["a"] == ("temp", "degF")
    assert find_kinds([Sensor("a", "temp", "K"), Sensor("unbound")], graph, {"a": "zt"}).kinds == {}


@given(st.lists(st.text("ABQZ0123_", min_size=1, max_size=6), unique=True, min_size=1, max_size=8))
def test_sensors_of_which_nothing_is_known_are_never_mixed(ids: list[str]) -> None:
    graph = graph_of(*(node(f"n{k}", "Junction") for k in range(len(ids))))
    found = find_kinds([Sensor(id) for id in ids], graph, {id: f"n{k}" for k, id in enumerate(ids)})
    assert len({kind for kind, _ in found.kinds.values()}) == len(ids)


def test_levels_and_pressures_are_two_kinds_of_a_lifted_table() -> None:
    """Regression: "net reading of the Junctions" was the net of levels and pressures."""
    nodes = [node(f"J{k}", "Junction") for k in range(4)] + [node(f"T{k}", "Tank") for k in range(3)]
    edges = tuple((f"T{k}", "feeds", f"J{k}") for k in range(3))
    graph = graph_of(*nodes, edges=edges)
    times = [datetime(2024, 1, 1, tzinfo=UTC) + timedelta(hours=h) for h in range(48)]
    columns = {f"P_J{k}": [40 + (h * (k + 3)) % 7 / 4 for h in range(48)] for k in range(4)}
    columns |= {f"L_T{k}": [(h * (k + 2)) % 11 / 4 for h in range(48)] for k in range(3)}
    data = SensorData.from_wide(pl.DataFrame({"time": times, **columns}))
    table = th.transactions(data, graph, enrich="lifted", windows="1h", bins=3)
    kinds = {f.label for f in table.features if f.subject and not f.reads and f.aspect == "measurement"}
    assert kinds == {"pressure", "level"}


def test_states_of_a_kind_that_others_read_as_numbers_are_numbers_and_told() -> None:
    times = [datetime(2024, 1, 1, tzinfo=UTC) + timedelta(minutes=k) for k in range(60)]
    frame = pl.DataFrame(
        {
            "time": times,
            "v1": [k + 0.5 for k in range(60)],
            "v2": [k % 2 for k in range(60)],
            "on": [k % 2 for k in range(60)],
        }
    )
    data = th.read_sensors(frame)
    assert [sensor.categorical for sensor in data.sensors] == [False, True, True]
    graph = graph_of(node("a", "Valve_Command"), node("b", "Valve_Command"), node("c", "On_Off_Status"))
    read = with_kinds_of(data, graph, Binding({"v1": "a", "v2": "b", "on": "c"}))
    assert [sensor.categorical for sensor in read.sensors] == [False, False, True]
    assert [note for note in read.report.notes if "after all" in note] == [
        "read as numbers after all, since they have a unit, or others of their kind read numbers: 'v2'"
    ]
    kept = with_kinds_of(data, graph, Binding({"v1": "a", "v2": "b", "on": "c"}), given=["v*"])
    assert kept.sensor("v2").categorical and not any("after all" in note for note in kept.report.notes)
