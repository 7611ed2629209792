"""Models of different habits are one graph: inverse relations, points and their holders, 223P, sites."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from thence.data.graph.discovery import Carriers, discover
from thence.data.graph.habits import in_one_habit
from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.matching import GraphIndex, find_embeddings
from thence.data.graph.ontology import Ontology
from thence.data.graph.point_names import class_of_point, words_of
from thence.data.graph.records import DatedValue, Edge, Node
from thence.data.graph.units import find_units
from thence.data.loaders import read_graph
from thence.language.patterns import Pattern


def graph_of(classes: Mapping[str, str], links: Iterable[str], **options: object) -> KnowledgeGraph:
    nodes = [Node(name, frozenset({label} if label else ())) for name, label in classes.items()]
    edges = [Edge(link, (words := link.split())[0], words[2], frozenset({words[1]})) for link in links]
    return KnowledgeGraph(nodes, edges, **options)  # type: ignore[arg-type]


def said(graph: KnowledgeGraph) -> set[str]:
    return {f"{edge.source} {label} {edge.target}" for edge in graph.edges.values() for label in edge.labels}


THINGS = {"a": "AHU", "v": "VAV", "r": "Room", "t": "Zone_Air_Temperature_Sensor", "s": "Supply_Air_Temperature_Sensor"}
ONE = {"a feeds v", "v feeds r", "r hasPoint t", "a hasPoint s"}


@pytest.mark.parametrize(
    "links",
    [
        ONE,
        {"v isFedBy a", "r isFedBy v", "t isPointOf r", "s isPointOf a"},
        {"a feeds v", "v isFedBy a", "v feeds r", "r isFedBy v", "r hasPoint t", "t isPointOf r", "a hasPoint s"},
        {"a feeds v", "v feeds r", "r hasPart t", "s isPartOf a"},
        {"a feeds v", "v feeds r", "t hasLocation r", "a hasMember s"},
        {"a feeds v", "v feeds r", "r isLocationOf t", "s isMemberOf a"},
    ],
)
def test_all_habits_of_brick_are_one(links: set[str]) -> None:
    assert said(in_one_habit(graph_of(THINGS, sorted(links)))) == ONE


def test_a_graph_of_one_habit_stays_the_same_object() -> None:
    graph = graph_of(THINGS, sorted(ONE))
    assert in_one_habit(graph) is graph


def test_other_relations_and_properties_of_edges_are_kept() -> None:
    nodes = [Node("a", frozenset({"AHU"})), Node("v", frozenset({"VAV"}))]
    edges = [
        Edge("e1", "v", "a", frozenset({"isFedBy", "near"}), {"length": 3.0}),
        Edge("e2", "a", "v", frozenset({"starts_at"})),
    ]
    graph = in_one_habit(KnowledgeGraph(nodes, edges, dated=[DatedValue("e2", "open", "2024-01-01", True)]))
    assert said(graph) == {"v near a", "a starts_at v", "a feeds v"}
    assert [edge.properties["length"] for edge in graph.edges.values() if "feeds" in edge.labels] == [3.0]
    assert len(graph.dated) == 1


def test_of_several_holders_a_point_belongs_to_the_equipment_or_to_the_innermost() -> None:
    classes = {**THINGS, "b": "Building"}
    links = ["v hasPoint t", "r hasPoint t", "b hasPoint s", "b hasPart a", "a hasPart s"]
    assert said(in_one_habit(graph_of(classes, links))) >= {"v hasPoint t", "t hasLocation r", "b hasPoint s"}
    links = ["b hasPoint t", "r hasPoint t", "b hasPart r"]
    assert "r hasPoint t" in said(in_one_habit(graph_of(classes, links)))


def test_a_point_of_two_equal_holders_stays_as_it_is() -> None:
    graph = graph_of({"v1": "VAV", "v2": "VAV", "t": "Temperature_Sensor"}, ["v1 hasPoint t", "v2 hasPoint t"])
    assert in_one_habit(graph) is graph


def test_parts_that_are_no_points_stay_parts() -> None:
    graph = graph_of({"b": "Building", "r": "Room", "m": "IAQ_Sensor_Equipment"}, ["b hasPart r", "r hasPart m"])
    assert in_one_habit(graph) is graph


def test_patterns_may_name_a_relation_as_the_file_does() -> None:
    index = GraphIndex(in_one_habit(graph_of(THINGS, ["v isFedBy a", "t isPointOf r"])))
    (row,) = find_embeddings(Pattern.parse("(v:VAV)-[isFedBy]->(a:AHU)"), index).tolist()
    assert [index.ids[node] for node in row] == ["v", "a"]


def test_subclasses_are_known_without_an_ontology() -> None:
    graph = graph_of({**THINGS, "x": "My_Own_Class"}, ["a feeds v", "x near a"])
    ontology = Ontology.brick(graph)
    assert ontology is not None
    assert ontology.is_a("VAV", "Equipment")
    assert not ontology.validate(graph)
    assert Ontology.brick(graph_of({"j": "Junction"}, [])) is None


def test_parts_of_equipment_count_as_the_equipment_without_an_ontology_of_the_user() -> None:
    classes = {"a": "AHU", "f": "Supply_Fan", "s": "Fan_Status", "t": "Supply_Air_Temperature_Sensor"}
    graph = in_one_habit(graph_of(classes, ["a hasPart f", "f hasPart s", "t isPointOf a"]))
    units = find_units(graph, {"s": "s", "t": "t"}, {"s": "fan_status", "t": "temperature"}, Ontology.brick(graph))
    assert dict(units.node_of) == {"s": "a", "t": "a"}


def test_the_weather_is_near_everything_at_its_site_and_at_no_other() -> None:
    classes = {"w": "Weather_Station", "o": "Outside_Air_Temperature_Sensor", **THINGS, "s2": "Fan_Status"}
    graph = in_one_habit(graph_of(classes, [*sorted(ONE), "w hasPoint o", "a hasPoint s2"]))
    (site,) = graph.with_label("Site")
    assert {edge.target for edge in graph.out_edges(site)} == {"w", "a"} or len(graph.out_edges(site, "hasPart")) == 2
    kinds = {"o": "outside_air_temperature", "s": "supply_air_temperature", "t": "zone_air_temperature", "s2": "fan"}
    found, _ = discover(Carriers.of(GraphIndex(graph), kinds, {name: name for name in kinds}), min_embeddings=1)
    with_weather = {p.nodes[0].label for p in found if any(r.kind == "outside_air_temperature" for r in p.roles)}
    assert with_weather == {"AHU", "Room"}


def test_a_model_of_several_buildings_gets_no_site() -> None:
    classes = {
        "w": "Weather_Station",
        "o": "Outside_Air_Temperature_Sensor",
        **THINGS,
        "b": "Building",
        "c": "Building",
    }
    graph = in_one_habit(graph_of(classes, [*sorted(ONE), "w hasPoint o"]))
    assert not graph.with_label("Site")


def test_blank_nodes_are_called_as_people_call_them(tmp_path: Path) -> None:
    text = """@prefix brick: <https://brickschema.org/schema/Brick#> . @prefix : <urn:x#> .
    @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
    :A a brick:AHU ; brick:hasPart [ a brick:Fan ; brick:hasPoint [ a brick:Fan_Status ; rdfs:label "SF-S" ] ],
        [ a brick:Heating_Coil ; rdfs:label "coil" ] ; brick:area [ brick:value 3 ] ."""
    (tmp_path / "a.ttl").write_text(text, encoding="utf-8")
    assert sorted(in_one_habit(read_graph(tmp_path / "a.ttl", fold=False)).nodes) == [
        "A", "A/area", "Fan of A", "SF-S", "coil",
    ]  # fmt: skip


def test_223p_becomes_equipment_with_points() -> None:
    classes = {
        "a": "AirHandlingUnit", "fan": "Fan", "out": "OutletConnectionPoint", "duct": "Duct", "air": "Fluid-Air",
        "in": "InletConnectionPoint", "v": "SingleDuctTerminal", "vout": "OutletConnectionPoint", "d2": "Duct",
        "rin": "InletConnectionPoint", "zone": "DomainSpace", "r": "PhysicalSpace", "sensor": "TemperatureSensor",
        "sat": "QuantifiableObservableProperty", "zt": "QuantifiableObservableProperty",
        "sp": "QuantifiableActuatableProperty", "run": "EnumeratedObservableProperty", "Temperature": "",
        "EnumerationKind-RunStatus": "", "Aspect-Setpoint": "",
    }  # fmt: skip
    links = [
        "a contains fan", "a hasConnectionPoint out", "out cnx duct", "duct cnx in", "in isConnectionPointOf v",
        "v cnx vout", "vout cnx d2", "d2 cnx rin", "zone cnx rin", "r encloses zone", "duct hasMedium air",
        "out hasMedium air", "out hasProperty sat", "zone hasProperty zt", "zone hasProperty sp", "fan hasProperty run",
        "sat hasQuantityKind Temperature", "zt hasQuantityKind Temperature", "sp hasQuantityKind Temperature",
        "sp hasAspect Aspect-Setpoint", "run hasEnumerationKind EnumerationKind-RunStatus", "sensor observes zt",
    ]  # fmt: skip
    graph = in_one_habit(graph_of(classes, links))
    assert {name: set(graph.node(name).labels) for name in ("a", "v", "r", "sat", "zt", "sp", "run")} == {
        "a": {"AHU"}, "v": {"VAV"}, "r": {"Room"}, "sat": {"Supply_Air_Temperature_Sensor"},
        "zt": {"Zone_Air_Temperature_Sensor"}, "sp": {"Zone_Air_Temperature_Setpoint"}, "run": {"Fan_Status"},
    }  # fmt: skip
    assert said(graph) == {
        "a feeds v", "v feeds r", "a hasPart fan", "fan hasPoint run", "a hasPoint sat", "r hasPoint zt",
        "r hasPoint sp", "sensor observes zt",
    }  # fmt: skip


def test_223p_with_plain_connections_and_observation_places() -> None:
    classes = {"p": "Pump", "h": "HeatExchanger", "x": "QuantifiableObservableProperty", "s": "FlowSensor"}
    links = ["p connectedTo h", "h connectedFrom p", "s observes x", "s hasObservationLocation h", "h hasProperty x"]
    assert {"p feeds h", "h hasPoint x"} <= said(in_one_habit(graph_of(classes, links)))


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("zone air temp sensor", "Zone_Air_Temperature_Sensor"),
        ("discharge air temp sp", "Supply_Air_Temperature_Setpoint"),
        ("Room temperature", "Zone_Air_Temperature_Sensor"),
        ("return chilled water temp", "Chilled_Water_Return_Temperature_Sensor"),
        ("hot water flow", "Hot_Water_Flow_Sensor"),
        ("outdoor air damper position cmd", "Damper_Position_Command"),
        ("cooling valve cmd", "Cooling_Command"),
        ("fan run cmd", "Fan_Command"),
        ("Pump status", "Pump_Status"),
        ("electric power", "Electric_Power_Sensor"),
        ("motion", "Motion_Sensor"),
        ("vibration of bearing", "Vibration_Bearing_Sensor"),
    ],
)
def test_words_about_a_point_give_its_class(words: str, expected: str) -> None:
    assert class_of_point(words_of(words)) == expected


def test_no_words_give_no_class() -> None:
    assert class_of_point([]) == ""


@pytest.mark.parametrize(
    ("links", "name", "of_one"),
    [
        (["b hasPart r"], "Buildings that it is part of", "Building that it is part of"),
        (["r hasPart b"], "Buildings that are part of it", "Building that is part of it"),
        (["b feeds r"], "Buildings that feed it", "Building that feeds it"),
    ],
)
def test_roles_are_named_in_english(links: list[str], name: str, of_one: str) -> None:
    index = GraphIndex(graph_of({"b": "Building", "r": "Room"}, links))
    found, _ = discover(Carriers.of(index, {"p": "power", "t": "temp"}, {"p": "b", "t": "r"}), min_embeddings=1)
    (role,) = next(pattern.roles for pattern in found if pattern.nodes[0].label == "Room")
    assert (role.name, role.name_of_one) == (name, of_one)
