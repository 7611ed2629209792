"""Drawings: which nodes are drawn, where, in which groups, and what is said of the others."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

import thence as th
from tests.show.reports.worlds import HOSTILE, world
from thence.data.graph.binding import Binding
from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.ontology import Ontology
from thence.data.graph.records import Edge, Node
from thence.data.graph.system import System
from thence.show.reports.drawing import draw, group_nodes
from thence.show.reports.schema import Drawing

SENSORS = th.datasets.load("toy").sensors


def system_of(nodes: list[Node], edges: list[tuple[str, str]], bound: dict[str, str]) -> System:
    linked = [Edge(f"e{at}", a, b, frozenset(["to"])) for at, (a, b) in enumerate(edges)]
    return System(SENSORS, KnowledgeGraph(nodes, linked), Binding(bound))


def placed(drawing: Drawing) -> dict[str, tuple[float, float]]:
    return {node["id"]: (node["x"], node["y"]) for node in drawing["nodes"]}


def test_names_are_drawn_as_they_are() -> None:
    drawing = draw(world())
    assert drawing is not None
    assert [node["id"] for node in drawing["nodes"]] == list(HOSTILE)
    assert drawing["nodes"][0]["kinds"] == ["people", "temperature", "window"]
    assert len(drawing["nodes"][0]["sensors"]) == 3
    assert drawing["left_out"] == 0
    assert drawing["why"] == ""


def test_coordinates_decide_and_north_is_up() -> None:
    nodes = [Node("a", properties={"x": 0.0, "y": 0.0}), Node("b", properties={"x": 10.0, "y": 5.0}), Node("between")]
    drawing = draw(system_of(nodes, [("a", "between"), ("between", "b")], {}))
    assert drawing is not None
    assert drawing["placed_by"] == "coordinates"
    assert drawing["aspect"] == 2.0
    assert placed(drawing) == {"a": (0.0, 1.0), "b": (1.0, 0.0), "between": (0.5, 0.5)}


def test_degrees_of_longitude_are_shorter_in_the_north() -> None:
    nodes = [
        Node("a", properties={"latitude": 60.0, "longitude": 10.0}),
        Node("b", properties={"latitude": 61.0, "longitude": 12.0}),
    ]
    drawing = draw(system_of(nodes, [("a", "b")], {}))
    assert drawing is not None
    assert drawing["aspect"] == pytest.approx(1.0, abs=0.05)


def test_one_node_with_coordinates_does_not_decide() -> None:
    nodes = [Node("a", properties={"lat": 60.0, "long": 10.0}), Node("b"), Node("c")]
    drawing = draw(system_of(nodes, [("a", "b"), ("b", "c")], {}))
    assert drawing is not None
    assert drawing["placed_by"] == "layout"


def test_nodes_without_a_place_are_drawn_below_the_others() -> None:
    nodes = [Node("a", properties={"x": 0.0, "y": 0.0}), Node("b", properties={"x": 4.0, "y": 3.0}), Node("lonely")]
    drawing = draw(system_of(nodes, [("a", "b")], {}))
    assert drawing is not None
    places = placed(drawing)
    assert places["lonely"][1] > max(places["a"][1], places["b"][1])


def test_what_no_path_connects_with_a_sensor_is_left_out_and_said() -> None:
    sensor = SENSORS.ids[0]
    nodes = [Node(name) for name in "abcde"]
    drawing = draw(system_of(nodes, [("a", "b"), ("c", "d")], {sensor: "a"}))
    assert drawing is not None
    assert [node["id"] for node in drawing["nodes"]] == ["a", "b"]
    assert drawing["left_out"] == 3
    assert drawing["why"] == "3 nodes that no path connects with a sensor are left out."
    whole = draw(system_of(nodes, [("a", "b"), ("c", "d")], {sensor: "a"}), most=None)
    assert whole is not None
    assert len(whole["nodes"]) == 5


def test_pipes_of_a_large_network_become_lines() -> None:
    water = th.datasets.load("toy")
    assert water.graph is not None
    # Pipes have sensors in the toy network; without them they are lines between junctions.
    pressures = [sensor.id for sensor in water.sensors.sensors if sensor.kind == "pressure"]
    drawing = draw(water.select(pressures), most=4)
    assert drawing is not None
    assert {node["group"] for node in drawing["nodes"]} == {"Junction"}
    assert len(drawing["edges"]) == 2
    assert drawing["left_out"] == 2
    assert "drawn as lines" in drawing["why"]


@pytest.mark.parametrize("most", [1, 3, 7, 20])
def test_a_drawing_has_no_more_nodes_than_asked_for_and_counts_the_others(most: int) -> None:
    nodes = [Node(str(at)) for at in range(25)]
    edges = [(str(at), str(at + 1)) for at in range(24)] + [("0", str(at)) for at in range(3, 25, 5)]
    drawing = draw(system_of(nodes, edges, {SENSORS.ids[0]: "7", SENSORS.ids[1]: "12"}), most=most)
    assert drawing is not None
    assert len(drawing["nodes"]) <= most
    assert drawing["left_out"] == 25 - len(drawing["nodes"])
    assert drawing["why"]
    for edge in drawing["edges"]:
        assert 0 <= edge["source"] < len(drawing["nodes"])
        assert 0 <= edge["target"] < len(drawing["nodes"])
    if most >= 2:
        assert {"7", "12"} <= {node["id"] for node in drawing["nodes"]}


def test_sites_are_drawn_side_by_side() -> None:
    toy = th.datasets.load("toy")
    drawing = draw(th.System.of_sites([replace(toy, name="north"), replace(toy, name="south")]))
    assert drawing is not None
    north = [node for node in drawing["nodes"] if node["id"].startswith("north/")]
    south = [node for node in drawing["nodes"] if node["id"].startswith("south/")]
    assert len(north) == len(south) == 5
    apart_across = max(n["x"] for n in north) < min(s["x"] for s in south)
    apart_down = max(n["y"] for n in north) < min(s["y"] for s in south)
    assert apart_across or apart_down
    assert all(node["kinds"] for node in drawing["nodes"])


def test_a_system_without_a_graph_has_no_drawing() -> None:
    assert draw(System(SENSORS)) is None


def test_few_groups_of_many_classes() -> None:
    classes = {f"Kind{at}": {"parents": ["Sensor" if at % 2 else "Actuator"]} for at in range(12)}
    schema = {"classes": {"Sensor": {}, "Actuator": {}, **classes}}
    nodes = [Node(str(at), frozenset([f"Kind{at}"])) for at in range(12)]
    groups = group_nodes(nodes, Ontology.from_dict(schema), most=4)
    assert len(set(groups)) <= 4
    assert {"Sensor", "Actuator"} & set(groups)
    alone = group_nodes(nodes, most=4)
    assert Counter(alone)["other"] == 9


def test_connection_points_and_references_of_a_model_are_folded_away() -> None:
    nodes = [Node("fan", frozenset({"Fan"})), Node("coil", frozenset({"Coil"})), Node("sensor", frozenset({"Sensor"}))]
    points = ["OutletConnectionPoint", "Connection", "InletConnectionPoint", "TimeseriesReference"]
    nodes += [Node(f"p{at}", frozenset({name})) for at, name in enumerate(points)]
    pairs = [("fan", "p0"), ("p0", "p1"), ("p1", "p2"), ("p2", "coil"), ("coil", "sensor"), ("sensor", "p3")]
    drawing = draw(system_of(nodes, pairs, {"flow_AB": "sensor"}))
    assert drawing is not None
    assert [node["id"] for node in drawing["nodes"]] == ["fan", "coil", "sensor"]
    assert {(edge["source"], edge["target"]) for edge in drawing["edges"]} == {(0, 1), (1, 2)}
    assert drawing["why"] == "4 connection points and references of the model are drawn as lines or left out."
    assert drawing["left_out"] == 4
