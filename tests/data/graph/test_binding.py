"""Bindings: rules over names, series references in the graph, and errors that list every problem."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thence.data.graph.binding import Binding, bind
from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.records import Edge, Node
from thence.errors import BindingError, ConfigError


def names(*words: str) -> frozenset[str]:
    return frozenset(words)


@dataclass(frozen=True)
class Readings:
    """A stand-in for SensorData: bindings use only its ids."""

    ids: tuple[str, ...]


def epanet(*elements: str) -> KnowledgeGraph:
    return KnowledgeGraph([Node(e, names(e.split()[0]), {"name": e.split()[1]}) for e in elements])


@pytest.fixture
def network() -> KnowledgeGraph:
    return epanet("Junction 12", "Pipe 12", "Tank 1", "Pump 1", "Junction n_5", "Valve v1")


@pytest.mark.parametrize(
    ("sensor", "node"),
    [
        ("Pipe 12", "Pipe 12"),
        ("v1", "Valve v1"),
        ("n_5", "Junction n_5"),
        ("Node_12_pressure", "Junction 12"),
        ("Link_12_flow", "Pipe 12"),
        ("Node_n_5_pressure", "Junction n_5"),
        ("Pipe_12_flow", "Pipe 12"),
        ("pipe_12", "Pipe 12"),
        ("Tank_1_level", "Tank 1"),
        ("flow_12", "Pipe 12"),
        ("pressure_12", "Junction 12"),
        ("pressure_n_5", "Junction n_5"),
        ("flow_1", "Pump 1"),
        ("level_1", "Tank 1"),
    ],
)
def test_default_rules(network: KnowledgeGraph, sensor: str, node: str) -> None:
    assert dict(bind([sensor], network)) == {sensor: node}


def test_takes_anything_with_ids(network: KnowledgeGraph) -> None:
    assert bind(Readings(("flow_12",)), network)["flow_12"] == "Pipe 12"
    with pytest.raises(BindingError, match="must be a list of sensor ids, got the string 'flow_12'"):
        bind("flow_12", network)


@pytest.mark.parametrize(
    ("rule", "sensor", "node"),
    [
        ("{node}.{kind}", "n_5.pressure", "Junction n_5"),
        ("plant/{label}/{node}", "plant/Pump/1", "Pump 1"),
        (r"S(?P<node>\d+)-(?P<label>\w+)", "S12-Pipe", "Pipe 12"),
        (re.compile(r"(?P<kind>\w+) at (?P<node>\w+)"), "flow at 12", "Pipe 12"),
        ({r"q(?P<n>\d+)": "Pipe {n}"}, "q12", "Pipe 12"),
        ({r"q(?P<n>\d+)": ["Turbine {n}", "Pump {n}", "Pipe {n}"]}, "q1", "Pump 1"),
        ({"nothing": "Tank 1", "q.*": "Tank 1"}, "q1", "Tank 1"),
        (lambda sensor: f"Pipe {sensor[1:]}", "q12", "Pipe 12"),
        (["{node}!", lambda sensor: None, {"x": "Tank 1"}], "x", "Tank 1"),
    ],
)
def test_rules_of_every_form(network: KnowledgeGraph, rule: object, sensor: str, node: str) -> None:
    assert dict(bind([sensor], network, rule=rule)) == {sensor: node}  # type: ignore[arg-type]


@given(
    st.lists(st.text("ab_", min_size=1, max_size=4), min_size=1, max_size=4, unique=True), st.text("ab_", min_size=1)
)
def test_a_template_finds_exactly_the_nodes_that_match(ids: list[str], sensor: str) -> None:
    graph = KnowledgeGraph([Node(i) for i in ids])
    cuts = [i for i in range(1, len(sensor) - 1) if sensor[i] == "_"]
    matching = {sensor[cut + 1 :] for cut in cuts if sensor[cut + 1 :] in ids}
    bound = bind([sensor], graph, rule="{kind}_{node}", partial=True)
    assert dict(bound) == ({sensor: matching.pop()} if len(matching) == 1 else {})


def test_a_table_comes_first_and_is_enough(network: KnowledgeGraph) -> None:
    assert dict(bind(["a", "b"], network, table={"a": "Pipe 12", "b": "v1"})) == {"a": "Pipe 12", "b": "Valve v1"}
    mixed = bind(["a", "flow_12"], network, table={"a": "Tank 1"}, rule="{kind}_{node}")
    assert dict(mixed) == {"a": "Tank 1", "flow_12": "Pipe 12"}
    with pytest.raises(BindingError, match="flow_12: no node has this name"):
        bind(["a", "flow_12"], network, table={"a": "Tank 1"})


def test_every_sensor_that_fails_is_listed(network: KnowledgeGraph) -> None:
    with pytest.raises(BindingError) as caught:
        bind(["12", "flow_12", "Node_99_pressure", "Node_n5_level", "zzz"], network)
    text = str(caught.value)
    assert "4 of 5 sensors cannot be bound" in text
    assert "12: matches several nodes: Junction 12, Pipe 12" in text
    assert "Node_99_pressure: there is no node '99'" in text
    assert "Node_n5_level: there is no node 'n5'" in text and "did you mean 'n_5'?" in text
    assert "zzz: no node has this name\n" in text
    assert "partial=True" in text and "flow_12:" not in text


def test_every_wrong_row_of_a_table_is_listed(network: KnowledgeGraph) -> None:
    with pytest.raises(BindingError) as caught:
        bind(["flow"], network, table={"flow": "Pip 12", "flov": "Pipe 12"})
    assert "flow: there is no node 'Pip 12' (did you mean 'Pipe 12'?)" in str(caught.value)
    assert "flov: is in the table but not in the data (did you mean 'flow'?)" in str(caught.value)


def test_partial_binds_the_rest_and_says_so(network: KnowledgeGraph) -> None:
    bound = bind(["flow_12", "12", "zzz"], network, partial=True, table={"ghost": "Tank 1"}, rule="{kind}_{node}")
    assert dict(bound) == {"flow_12": "Pipe 12"}
    assert set(bound.left_out) == {"12", "zzz", "ghost"}
    assert bound.summary().splitlines()[0] == "1 sensors bound to 1 nodes, 3 left out:"
    assert "  ghost: is in the table but not in the data" in bound.summary()
    assert repr(bound) == "Binding(1 sensors at 1 nodes, 3 left out)"
    with pytest.raises(BindingError, match="sensor 'zzz' is not bound to a node \\(no node has this name"):
        bound["zzz"]


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("{kind}", "use {node} once"),
        ("{node}{node}", "use {node} once"),
        ("{node}_{room}", "optionally {kind} and {label}"),
        ("{node", "is not a valid template"),
        (r"(?P<x>\d+)", "has no group 'node'"),
        (r"(?P<node>\d+", "is not a valid regular expression"),
        ({r"q(?P<n>\d+)": "Pipe {m}"}, "uses m, which is not a group of"),
        (7, "a rule cannot be of type int"),
    ],
)
def test_a_rule_that_cannot_work_is_refused(network: KnowledgeGraph, rule: object, message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        bind(["x"], network, rule=rule)  # type: ignore[arg-type]


def test_a_function_must_return_names(network: KnowledgeGraph) -> None:
    with pytest.raises(BindingError, match="must return a string or None, got 5 for sensor 'x'"):
        bind(["x"], network, rule=lambda sensor: 5)  # type: ignore[arg-type, return-value]


def test_a_graph_may_name_its_own_series() -> None:
    graph = KnowledgeGraph(
        [
            Node("zone_temp", names("Point")),
            Node("ref", names("TimeseriesReference"), {"hasTimeseriesId": "ts-1"}),
            Node("old_point", names("Point")),
            Node("old_ref", properties={"hasTimeseriesId": 42}),
            Node("plain", names("Point"), {"timeseries": "ts-3"}),
            Node("probe", names("Sensor"), {"identifier": "P7"}),
            Node("valve", names("Actuator")),
            Node("plug", properties={"identifier": "V7"}),
        ],
        [
            Edge("1", "zone_temp", "ref", names("hasExternalReference")),
            Edge("2", "old_point", "old_ref", names("timeseries")),
            Edge("3", "valve", "plug", names("connectsAt")),
        ],
    )
    assert dict(bind(["ts-1", "42", "ts-3", "P7", "V7", "probe"], graph)) == {
        "ts-1": "zone_temp",
        "42": "old_point",
        "ts-3": "plain",
        "P7": "probe",
        "V7": "valve",
        "probe": "probe",
    }


def test_a_binding_is_a_mapping_with_a_way_back() -> None:
    binding = Binding({"a": "n1", "b": "n1", "c": "n2"})
    assert binding == {"a": "n1", "b": "n1", "c": "n2"} and len(binding) == 3 and list(binding) == ["a", "b", "c"]
    assert binding.sensors_at("n1") == ("a", "b") and binding.sensors_at("n9") == ()
    assert binding.nodes == ("n1", "n2")
    assert binding.select(["c", "z"]) == {"c": "n2"}
    assert "a" in binding and "z" not in binding and binding.get("z") is None
    with pytest.raises(KeyError):
        binding["z"]
    with pytest.raises(BindingError, match="sensor 'z' is not bound"):
        binding["z"]


def test_check_lists_both_directions() -> None:
    graph = KnowledgeGraph([Node("n1")])
    Binding({"a": "n1"}).check(["a"], graph)
    with pytest.raises(BindingError) as caught:
        Binding({"aa": "n1", "b": "n2", "c": "n2"}).check(["a", "b", "c"], graph)
    for part in (
        "4 problems",
        "sensor 'a' is not bound to a node (did you mean 'aa'?)",
        "'aa' is bound to 'n1' but is not in the data (did you mean 'a'?)",
        "sensor 'b' is bound to 'n2', which is not a node of the graph",
        "sensor 'c' is bound to 'n2', which is not a node of the graph",
    ):
        assert part in str(caught.value)
    Binding({"a": "n1", "other": "n2"}).check(["a"], graph, allow_extra=True)


def test_tables_with_anything_but_strings_are_refused(network: KnowledgeGraph) -> None:
    """Numbers, None and NaN in a table raised built-in exceptions."""
    with pytest.raises(BindingError) as caught:
        bind(["a", "b", "c"], network, table={"a": 12, "b": None, "c": float("nan")})  # type: ignore[dict-item]
    assert "a: the node id in the table must be a string, got 12" in str(caught.value)
    for sensor in "bc":
        assert f"{sensor}: the node id in the table is missing" in str(caught.value)
    with pytest.raises(BindingError, match="12: is in the table but not in the data"):
        bind(["a"], network, table={"a": "Pipe 12", 12: "Pipe 12"})  # type: ignore[dict-item]
    with pytest.raises(BindingError, match="sensor id must be a string, got 12"):
        bind([12], network)  # type: ignore[list-item]
    with pytest.raises(BindingError, match="bound to '12', which is not a node"):
        Binding({"a": 12}).check(["a"], network)  # type: ignore[dict-item]


def test_table_rows_for_unknown_sensors_are_counted_apart(network: KnowledgeGraph) -> None:
    """The message was '0 of 1 sensors cannot be bound'."""
    with pytest.raises(BindingError, match="the table names 1 sensor that the data does not have:") as caught:
        bind(["a"], network, table={"a": "Pipe 12", "b": "Pipe 12"})
    assert "0 of 1" not in str(caught.value)
