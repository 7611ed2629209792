"""Lists of points, entities, devices and equipment are graphs."""

from __future__ import annotations

from pathlib import Path

import pytest

from thence.data.graph.binding import bind
from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.records import Node
from thence.data.loaders import read_graph
from thence.data.loaders.bindings import match_table
from thence.errors import BindingError, GraphError
from thence.runs.inputs import read_system


def read(folder: Path, *texts: str) -> KnowledgeGraph:
    paths = []
    for number, text in enumerate(texts):
        paths.append(folder / f"table{number}.csv")
        paths[-1].write_text(text, encoding="utf-8")
    return read_graph(paths if len(paths) > 1 else paths[0])


def said(graph: KnowledgeGraph) -> set[str]:
    return {f"{e.source} {'/'.join(e.labels)} {e.target}" for e in graph.edges.values()}


def test_registers_and_equipment(tmp_path: Path) -> None:
    graph = read(
        tmp_path,
        "register,name,unit,equip,class\n40001,OutTemp,degC,AHU1,Outside_Air_Temperature_Sensor\n"
        "40002,Damper,%,VAV-2,Damper_Position_Command\n",
        "source,relation,target\nAHU1,serves,VAV 2\n",
    )
    assert said(graph) == {"AHU1 hasPoint OutTemp", "VAV-2 hasPoint Damper", "AHU1 feeds VAV-2"}
    assert {name: set(graph.node(name).labels) for name in ("AHU1", "VAV-2", "OutTemp")} == {
        "AHU1": {"AHU"}, "VAV-2": {"VAV"}, "OutTemp": {"Outside_Air_Temperature_Sensor"},
    }  # fmt: skip
    assert dict(bind(["40001", "damper"], graph)) == {"40001": "OutTemp", "damper": "Damper"}
    assert graph.value("OutTemp", "unit") == "degC"


def test_descriptions_and_files_of_histories(tmp_path: Path) -> None:
    graph = read(
        tmp_path,
        "Point Path;File;Equipment;Description;Units\n"
        "/School/AHU_1/DaTemp;School_AHU_1_DaTemp.csv;AHU_1;Supply air temperature;°F\n"
        "/School/VAV_3/Dmpr;School_VAV_3_Dmpr.csv;VAV_3;Damper position;%\n",
    )
    point = bind(["School_AHU_1_DaTemp"], graph)["School_AHU_1_DaTemp"]
    assert graph.node(point).labels == {"Supply_Air_Temperature_Sensor"}
    assert bind(["School AHU 1 DATEMP"], graph)["School AHU 1 DATEMP"] == point


def test_entities_in_areas(tmp_path: Path) -> None:
    graph = read(
        tmp_path,
        "entity_id,area,device_class,unit_of_measurement\nsensor.hall_lux,Hallway,illuminance,lx\n"
        "climate.hall,Hallway,temperature set point,°C\n",
    )
    assert graph.node("Hallway").labels == {"Room"}
    assert graph.node("sensor.hall_lux").labels == {"Illuminance_Sensor"}
    assert graph.node("climate.hall").labels == {"Temperature_Setpoint"}


def test_sensors_are_bound_to_devices_by_a_part_of_their_names(tmp_path: Path) -> None:
    graph = read(tmp_path, "topic,room\nz2m/desk_climate,Office\nz2m/plug,Office\n")
    binding = bind(["z2m/desk_climate.humidity", "z2m/plug.power"], graph)
    assert dict(binding) == {"z2m/desk_climate.humidity": "z2m/desk_climate", "z2m/plug.power": "z2m/plug"}
    assert set(binding.ways.values()) == {"part of their names"}


def test_a_list_of_equipment_alone(tmp_path: Path) -> None:
    graph = read(tmp_path, "Equipment,Type,Fed by\nVAV-1,VAV,AHU-1\nVAV-2,VAV,AHU-1\nAHU-1,AHU,\n")
    assert said(graph) == {"VAV-1 isFedBy AHU-1", "VAV-2 isFedBy AHU-1"}
    assert graph.with_label("VAV") == ("VAV-1", "VAV-2")


def test_a_point_and_an_equipment_of_one_name_are_two_nodes(tmp_path: Path) -> None:
    graph = read(tmp_path, "name,equipment,description\nBoiler,Boiler,gas flow\nPump,Boiler,pump status\n")
    assert said(graph) == {"Boiler (equipment) hasPoint Boiler", "Boiler (equipment) hasPoint Pump"}


def test_a_table_of_nodes_without_ids_is_still_an_error(tmp_path: Path) -> None:
    with pytest.raises(GraphError, match="missing column 'id'"):
        read(tmp_path, "colour,weight\nred,3\n")


def test_points_without_names_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(GraphError, match="no column names the points"):
        read(tmp_path, "equipment,unit\nA,degC\nA,degC\n")
    with pytest.raises(GraphError, match="line 2: source and target must not be empty"):
        read(tmp_path, "source,target\nA,\n")


def test_a_binding_may_have_columns_with_other_heads(tmp_path: Path) -> None:
    nodes = [Node(name, frozenset({"Pump"}), {"name": f"pump {name}"}) for name in ("p1", "p2", "p3")]
    (tmp_path / "list.csv").write_text("tag;remark;asset\nF-001;old;PUMP P1\nF-002;;p2\nF-003;new;Pump-P3\n")
    binding = match_table(tmp_path / "list.csv", ["F-001", "F-002", "F-003"], KnowledgeGraph(nodes))
    assert dict(binding) == {"F-001": "p1", "F-002": "p2", "F-003": "p3"}
    with pytest.raises(BindingError, match="no two columns name sensors and nodes"):
        match_table(tmp_path / "list.csv", ["X1", "X2", "X3"], KnowledgeGraph(nodes))


def test_a_system_is_read_with_such_a_binding(tmp_path: Path) -> None:
    (tmp_path / "readings.csv").write_text("time,F-001\n2024-01-01 00:00,1.5\n2024-01-01 01:00,2.5\n")
    (tmp_path / "list.csv").write_text("tag,asset\nF-001,p1\n")
    graph = KnowledgeGraph([Node("p1", frozenset({"Pump"}))])
    system = read_system(tmp_path / "readings.csv", graph, tmp_path / "list.csv")
    assert dict(system.binding or {}) == {"F-001": "p1"}
