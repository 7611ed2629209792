"""What is no law: sensors compared with themselves, chance, and quantities of different dimension."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.search.laws.noise import autoregressive, flag, noise_system
from tests.statements.laws.plants import network, smooth, system_of
from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.records import Edge
from thence.data.graph.system import System
from thence.data.readings.windows import window
from thence.search.laws.evidence import memories, split_places
from thence.search.laws.quantities import has_zero, is_additive, is_sum, is_value_of
from thence.search.laws.search import search_laws
from thence.statements.laws.law import Laws
from thence.statements.laws.terms import Term


def laws_of(system: System) -> Laws:
    return search_laws(window(system.sensors), system)


def with_inverses(system: System) -> System:
    """The system with every edge stored the other way round, too."""
    graph = system.graph
    assert graph is not None
    more = [
        Edge(f"inverse {id}", edge.target, edge.source, frozenset(f"zz_inverse_{label}" for label in edge.labels))
        for id, edge in graph.edges.items()
    ]
    edges = [*graph.edges.values(), *more]
    return replace(
        system, graph=KnowledgeGraph(list(graph.nodes.values()), edges, property_units=dict(graph.property_units))
    )


def test_a_sensor_is_not_compared_with_itself() -> None:
    """Where an edge is stored both ways, both roles were one node: its temperature "equals" that of the same box."""
    rng = np.random.default_rng(0)
    nodes = {"A": ("AHU", {})} | {f"V{k}": ("VAV", {}) for k in range(6)} | {f"Z{k}": ("Zone", {}) for k in range(6)}
    edges = [edge for k in range(6) for edge in (("A", "feeds", f"V{k}"), (f"V{k}", "isFedBy", "A"))]
    edges += [edge for k in range(6) for edge in ((f"V{k}", "feeds", f"Z{k}"), (f"Z{k}", "isFedBy", f"V{k}"))]
    series = {f"{kind}_{id}": autoregressive(rng, 900, 0.98) for id in nodes for kind in ("temperature", "flow")}
    assert list(laws_of(system_of(nodes, edges, series))) == []


def test_an_inverse_edge_changes_no_law() -> None:
    """An inverse edge gave every neighbour a second role, which was compared with the first."""
    system = network(frames=600)

    def found(laws: Laws) -> list[Any]:
        return sorted(repr((law.form, law.condition, law.band, law.by_place)) for law in laws)

    plain = laws_of(system)
    assert plain and found(laws_of(with_inverses(system))) == found(plain)


@pytest.mark.parametrize("seed", [200, 201, 202, 204, 205, 206])
def test_noise_obeys_no_law(seed: int) -> None:
    """Sixty systems (seeds 0 to 59) had 358 laws: of sensors and themselves, of few places, of few episodes."""
    assert list(laws_of(noise_system(seed)[1])) == []


@pytest.mark.slow
def test_noise_obeys_hardly_any_law() -> None:
    assert sum(len(laws_of(noise_system(seed)[1])) for seed in range(220, 260)) <= 2


def test_one_odd_sensor_among_few_gives_no_one_sided_law() -> None:
    """With one other sensor the chance was 0 to the power of the number of places, so one place sufficed."""
    rng = np.random.default_rng(1)
    nodes = {"P": ("Pump", {}), "Q": ("Pump", {}), "V": ("Valve", {})}
    series = {f"flow_{id}": 5 + autoregressive(rng, 900, 0.5) for id in "PQ"}
    series["flow_V"] = autoregressive(rng, 900, 0.5)
    assert list(laws_of(system_of(nodes, [], series))) == []


def test_many_against_several_give_a_one_sided_law() -> None:
    rng = np.random.default_rng(1)
    nodes = {f"P{k}": ("Pump", {}) for k in range(8)} | {f"V{k}": ("Valve", {}) for k in range(4)}
    series = {f"flow_P{k}": 5 + autoregressive(rng, 900, 0.5) for k in range(8)}
    series |= {f"flow_V{k}": autoregressive(rng, 900, 0.5) for k in range(4)}
    (law,) = laws_of(system_of(nodes, [], series))
    assert law.statement.startswith("for every Pump: its flow is never negative")


def test_copies_of_a_meter_are_one() -> None:
    values = np.random.default_rng(0).standard_normal((50, 9))
    true = np.ones(8, bool)
    apart = split_places(true, true, np.array([False]), values)
    copies = split_places(true, true, np.array([False]), np.column_stack([*[values[:, 0]] * 8, values[:, 8]]))
    assert apart is not None and copies is not None
    assert (apart.chance, copies.chance) == (pytest.approx(1 / 9), pytest.approx(1 / 2))


def test_a_statement_and_its_reverse_are_one_split() -> None:
    values = np.random.default_rng(0).standard_normal((50, 5))
    keeps = np.array([True, True, True])
    one = split_places(keeps, keeps, np.array([False, False]), values)
    other = split_places(np.array([True, True]), np.ones(2, bool), ~keeps, values[:, [3, 4, 0, 1, 2]])
    assert one is not None and other is not None
    assert (one.groups, one.sides) == (other.groups, other.sides)


def test_rows_of_few_episodes_are_no_evidence() -> None:
    """While flag 2 is on, valve 8 is 0 (100 % of 678 rows): three episodes were counted as 678 witnesses."""
    rng = np.random.default_rng(0)
    frame = np.arange(2000)
    on = np.isin(frame // 250, [1, 4, 6])
    valve = np.where(np.isin(frame // 250, [1, 2, 4, 6]), 0.0, rng.uniform(5, 10, 2000))
    series = {"valve_A": valve, "flag_A": np.where(on, "on", "off")}
    assert list(laws_of(system_of({"A": ("AHU", {})}, [], series))) == []


def test_many_episodes_are_evidence() -> None:
    rng = np.random.default_rng(0)
    on = flag(rng, 2000, 40)
    series = {"valve_A": np.where(on, 0.0, rng.uniform(5, 10, 2000)), "flag_A": np.where(on, "on", "off")}
    (law,) = laws_of(system_of({"A": ("AHU", {})}, [], series))
    assert "while its flag is on, its valve is 0" in law.statement


def test_one_meter_at_several_places_is_one_place() -> None:
    """The law of two meters upstream was reported with as many places as there are boxes below."""
    rng = np.random.default_rng(0)
    nodes = {"A": ("AHU", {}), "B": ("Fan", {})} | {f"V{k}": ("VAV", {}) for k in range(6)}
    edges = [edge for k in range(6) for edge in ((f"V{k}", "is_fed_by", "A"), (f"V{k}", "is_blown_by", "B"))]
    series = {f"pressure_V{k}": smooth(rng, 900, 20, 40) for k in range(6)}
    series["flow_A"] = smooth(rng, 900, 1, 9)
    series["flow_B"] = series["flow_A"] + rng.normal(0, 0.01, 900)
    for law in laws_of(system_of(nodes, edges, series)):
        assert law.form != "equal" or law.places == 1


def test_a_property_of_another_quantity_bounds_nothing() -> None:
    """The natural gas flow is never below its nominal efficiency (by more than 55 W); its status … its speed."""
    rng = np.random.default_rng(0)
    nodes, series = {}, {}
    for k in range(6):
        least = float(rng.integers(5, 60))
        nodes[f"B{k}"] = ("Boiler", {"nominal_efficiency": least, "speed": 1.0, "min_gasflow": least})
        series[f"gasflow_B{k}"] = np.maximum(least, least + 20 * rng.standard_normal(900))
        series[f"status_B{k}"] = flag(rng, 900, 30).astype(float)
    laws = laws_of(system_of(nodes, [], series))
    assert {law.right[0][1].name for law in laws if law.right} == {"min_gasflow"}


def test_temperatures_and_states_are_never_summed() -> None:
    """The total temperature of the loops was equal to the sum of others."""
    warm, flow = Term("reading", "temperature", unit="°C"), Term("reading", "flow", unit="m3/h")
    there = replace(warm, role="Loops it feeds")
    assert not is_additive(warm) and not is_additive(Term("reading", "status")) and is_additive(flow)
    assert is_sum(((1, warm), (-1, there))) and not is_sum(((1, warm), (1, there)))
    assert not is_sum(((1, warm), (-1, there), (1, replace(warm, role="a"))))
    assert not has_zero(warm) and has_zero(replace(warm, change=True))
    assert not is_sum(((1, Term("reading", "status")), (-1, Term("reading", "speed"))))


@pytest.mark.parametrize(
    ("name", "kind", "agrees"),
    [
        ("setting", "pressure", True),
        ("zone_temperature_setpoint", "zone_temperature", True),
        ("max_level", "level", True),
        ("ratedPower", "power", True),
        ("nominal_efficiency", "natural_gas_flow", False),
        ("speed", "status", False),
        ("diameter", "level", False),
        ("max_flow", "pressure", False),
        ("area", "temperature", False),
    ],
)
def test_a_reading_is_compared_with_values_of_its_quantity(name: str, kind: str, agrees: bool) -> None:
    assert is_value_of(Term("property", name), Term("reading", kind)) == agrees


def test_the_memory_of_a_series_grows_with_its_persistence() -> None:
    rng = np.random.default_rng(0)
    found = memories(np.column_stack([autoregressive(rng, 20_000, memory) for memory in (0.5, 0.9, 0.98)]))
    assert found == pytest.approx([3, 19, 99], rel=0.35)
