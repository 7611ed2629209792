"""Units and their points: which sensors count as those of a unit, their roles, and patterns of units."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.examples import examples
from thence.data.graph.discovery import Carriers, discover
from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.matching import GraphIndex
from thence.data.graph.ontology import Ontology
from thence.data.graph.records import Edge, Node
from thence.data.graph.units import Units, find_units

BRICK = Ontology.from_dict(
    {
        "classes": {"Equipment": {}, "Location": {}, "Sensor": {}}
        | {name: {"parents": ["Equipment"]} for name in ("AHU", "Fan", "Damper", "Chiller", "Compressor")}
        | {name: {"parents": ["Fan"]} for name in ("Supply_Fan", "Return_Fan")}
        | {name: {"parents": ["Location"]} for name in ("Floor", "Room")},
        "relations": {name: {} for name in ("hasPoint", "hasPart", "feeds", "hasLocation")},
    }
)


def make(nodes: dict[str, str], edges: list[tuple[str, str, str]]) -> KnowledgeGraph:
    return KnowledgeGraph(
        [Node(name, frozenset(filter(None, label.split()))) for name, label in nodes.items()],
        [Edge(f"e{at}", a, b, frozenset({relation})) for at, (a, relation, b) in enumerate(edges)],
    )


def units_of(
    nodes: dict[str, str], edges: list[tuple[str, str, str]], kinds: dict[str, str], names: frozenset[str] = frozenset()
) -> Units:
    """Sensors are named like their nodes."""
    return find_units(make(nodes, edges), {name: name for name in kinds}, kinds, BRICK, names=names)


def test_points_belong_to_their_unit_in_either_direction() -> None:
    nodes = {"A": "AHU", "t": "Temperature_Sensor", "v": "Valve_Command", "f": "Fan_Status"}
    edges = [("A", "hasPoint", "t"), ("v", "isPointOf", "A"), ("A", "hasPoint", "f"), ("f", "isPointOf", "A")]
    found = units_of(nodes, edges, {"t": "temperature", "v": "valve", "f": "status"})
    assert found.node_of == {"t": "A", "v": "A", "f": "A"}
    assert found.role_of == {"t": "temperature", "v": "valve", "f": "status"}
    assert found.notes == ("3 points belong to 1 AHU: their readings are those of the unit",)


def test_what_is_in_a_room_is_a_point_only_if_its_class_says_so() -> None:
    nodes = {"R": "Room", "s": "TemperatureSensor", "a": "Actuator", "r": "Radiator"}
    edges = [("R", "containsElement", "s"), ("a", "isHostedBy", "R"), ("R", "containsElement", "r")]
    found = units_of(nodes, edges, {"s": "temperature", "a": "valve", "r": "heat"})
    assert found.node_of == {"s": "R", "a": "R"}


def test_no_guess_between_two_units_and_no_unit_for_a_node_with_other_neighbours() -> None:
    nodes = {"A": "AHU", "B": "AHU", "p": "X_Sensor", "q": "Y_Sensor", "r": "Z_Sensor"}
    shared = [("A", "hasPoint", "p"), ("B", "hasPoint", "p"), ("A", "hasPoint", "q")]
    assert units_of(nodes, shared, {"p": "x", "q": "y"}).node_of == {"q": "A"}
    near = [("A", "hasPoint", "q"), ("A", "hasPoint", "r"), ("q", "isNear", "r")]
    assert not units_of(nodes, near, {"q": "y", "r": "z"})


def test_kinds_that_do_not_tell_points_apart_become_classes() -> None:
    nodes = {"A": "AHU", "B": "AHU"} | {"s": "Supply_Air_Temperature_Sensor", "r": "Return_Air_Temperature_Sensor"}
    nodes |= {"only": "Supply_Air_Temperature_Sensor", "p": "Pressure_Sensor"}
    edges = [("A", "hasPoint", "s"), ("A", "hasPoint", "r"), ("B", "hasPoint", "only"), ("A", "hasPoint", "p")]
    found = units_of(nodes, edges, {"s": "temperature", "r": "temperature", "only": "temperature", "p": "static"})
    # A role is the same in all units, so that a rule about it holds for all.
    assert found.role_of == {
        "s": "supply_air_temperature",
        "r": "return_air_temperature",
        "only": "supply_air_temperature",
        "p": "static",
    }
    assert any("told apart" in note and "supply_air_temperature" in note for note in found.notes)


def test_points_that_cannot_be_told_apart_stay_where_they_are() -> None:
    nodes = {"R": "Room", "Q": "Room", "l": "Thermostat_Sensor", "r": "Thermostat_Sensor", "h": "Humidity_Sensor"}
    nodes |= {"one": "Thermostat_Sensor"}
    edges = [("R", "hasPoint", name) for name in "lrh"] + [("Q", "hasPoint", "one")]
    found = units_of(nodes, edges, {"l": "temperature", "r": "temperature", "h": "humidity", "one": "temperature"})
    assert found.role_of == {"h": "humidity", "one": "temperature"}
    assert "2 sensors at points of a unit cannot be told apart" in found.notes[-1]


def test_a_sensor_at_the_unit_itself_takes_its_kind() -> None:
    nodes = {"A": "AHU", "t": "Zone_Air_Temperature_Sensor"}
    found = units_of(nodes, [("A", "hasPoint", "t")], {"A": "temperature", "t": "temperature"})
    assert found.role_of == {"t": "zone_air_temperature"}
    assert units_of(
        nodes, [("A", "hasPoint", "t")], {"A": "zone_air_temperature", "t": "zone_air_temperature"}
    ).role_of == ({"t": "ahu_zone_air_temperature"})


def test_parts_of_an_equipment_count_as_the_equipment_if_their_classes_differ() -> None:
    nodes = {"A": "AHU", "S": "Supply_Fan", "R": "Return_Fan", "s": "Fan_Status", "r": "Fan_Status", "t": "T_Sensor"}
    edges = [("A", "hasPart", "S"), ("R", "isPartOf", "A"), ("S", "hasPoint", "s"), ("R", "hasPoint", "r")]
    edges += [("A", "hasPoint", "t")]
    found = units_of(nodes, edges, {"s": "status", "r": "status", "t": "temperature"})
    assert set(found.node_of.values()) == {"A"}
    assert found.role_of == {"s": "supply_fan_status", "r": "return_fan_status", "t": "temperature"}
    twins = {"C": "Chiller", "1": "Compressor", "2": "Compressor", "a": "P_Sensor", "b": "P_Sensor"}
    edges = [("C", "hasPart", "1"), ("C", "hasPart", "2"), ("1", "hasPoint", "a"), ("2", "hasPoint", "b")]
    assert units_of(twins, edges, {"a": "power", "b": "power"}).node_of == {"a": "1", "b": "2"}


def test_rooms_are_no_parts_of_a_floor_in_this_sense() -> None:
    nodes = {"F": "Floor", "R": "Room", "t": "T_Sensor"}
    edges = [("F", "hasPart", "R"), ("R", "hasPoint", "t")]
    assert units_of(nodes, edges, {"t": "temperature"}).node_of == {"t": "R"}


def test_earlier_roles_are_preferred() -> None:
    nodes = {"A": "AHU", "s": "Supply_Air_Temperature_Sensor"}
    edges = [("A", "hasPoint", "s")]
    assert units_of(nodes, edges, {"s": "temperature"}).role_of == {"s": "temperature"}
    wanted = frozenset({"supply_air_temperature"})
    assert units_of(nodes, edges, {"s": "temperature"}, wanted).role_of == {"s": "supply_air_temperature"}


LABELS = ("A_Sensor", "B_Sensor", "B_Command", "")


@settings(max_examples=examples(200))
@given(st.lists(st.tuples(st.sampled_from("PQR"), st.sampled_from(LABELS), st.sampled_from("xyz")), max_size=8))
def test_every_role_is_the_only_one_of_its_unit(points: list[tuple[str, str, str]]) -> None:
    nodes = {"P": "AHU", "Q": "Supply_Fan", "R": "Room"} | {f"p{at}": label for at, (_, label, _) in enumerate(points)}
    edges = [("P", "hasPart", "Q"), *((unit, "hasPoint", f"p{at}") for at, (unit, _, _) in enumerate(points))]
    kinds = {f"p{at}": kind for at, (_, _, kind) in enumerate(points)}
    found = units_of(nodes, edges, kinds)
    assert found.node_of.keys() == found.role_of.keys() <= kinds.keys()
    assert all(found.role_of.values())
    assert max(Counter((found.node_of[s], found.role_of[s]) for s in found.role_of).values(), default=1) == 1
    # The order of the sensors decides nothing.
    again = find_units(make(nodes, edges), {s: s for s in kinds}, dict(reversed(kinds.items())), BRICK)
    assert (again.node_of, again.role_of) == (found.node_of, found.role_of)


def carriers_of(units: int, *, building: bool = False) -> Carriers:
    nodes = {f"A{at}": "AHU" for at in range(units)} | {"B": "Building"}
    edges, kinds = [], {}
    for at in range(units):
        for name in ("T_Sensor", "V_Command"):
            nodes[f"{name}{at}"] = name
            edges.append((f"A{at}", "hasPoint", f"{name}{at}"))
            kinds[f"{name}{at}"] = name[0].lower()
        if building:
            edges.append((f"A{at}", "hasLocation", "B"))
    return Carriers.of(GraphIndex(make(nodes, edges), BRICK), kinds, {name: name for name in kinds})


def test_one_unit_is_enough_for_a_pattern() -> None:
    for units in (1, 4):
        patterns, _ = discover(carriers_of(units), min_embeddings=3)
        assert list(map(str, patterns)) == ["(a:AHU), (t_a:t)-[in*?]->(a), (v_a:v)-[in*?]->(a)"]


def test_units_of_one_building_make_no_pattern_of_their_own() -> None:
    patterns, _ = discover(carriers_of(4, building=True), min_embeddings=3)
    assert [len(pattern.nodes) for pattern in patterns] == [1] and not patterns[0].is_star


def test_patterns_without_an_asterisk_find_sensors_at_their_points() -> None:
    carriers = carriers_of(2)
    (pattern,) = discover(carriers)[0]
    plain = carriers.index.graph
    assert {carriers.index.ids[n] for n in carriers.matched_by(pattern)["t"]} == {"A0", "A1"}
    given_text = Carriers.of(GraphIndex(plain, BRICK), {"T_Sensor0": "t"}, {"T_Sensor0": "T_Sensor0"}, patterns=[])
    assert given_text.own is None and list(given_text.sensors["t"]) == [given_text.index.number["T_Sensor0"]]
