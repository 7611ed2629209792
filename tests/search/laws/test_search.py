"""Laws that are found, and those that are not: on plants whose laws are known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from tests.statements.laws.plants import network, smooth, system_of
from thence.data.graph.system import System
from thence.data.readings.windows import window
from thence.errors import ConfigError
from thence.search.laws.search import search_laws
from thence.search.laws.settings import LawSettings
from thence.statements.laws.law import Law, Laws


def laws_of(system: System, **settings: float) -> Laws:
    return search_laws(window(system.sensors), system, settings=LawSettings(**settings))  # type: ignore[arg-type]


def forms(laws: Laws) -> dict[str, list[Law]]:
    out: dict[str, list[Law]] = {}
    for law in laws:
        out.setdefault(law.form, []).append(law)
    return out


@pytest.fixture(scope="module")
def plant() -> Laws:
    return laws_of(network())


def test_the_balance_of_junctions_is_told_once(plant: Laws) -> None:
    (balance,) = (law for law in forms(plant)["equal"] if not law.condition)
    assert {term.name for term in balance.terms} == {"demand", "flow"}
    assert [term.form for term in balance.terms] == ["reading", "total", "total"]
    assert balance.share == balance.later_share == 1.0
    assert balance.places == 16 and balance.places_held == 16
    assert balance.statement.startswith(
        "for every Junction: its demand equals the total flow of the Pipes that end there minus that of the Pipes that "
        "start there, within ± "
    )


def test_the_level_of_a_tank_changes_with_its_inflow(plant: Laws) -> None:
    (law,) = forms(plant)["proportional"]
    assert law.left[0][1].change and law.left[0][1].name == "level"
    (counts,) = law.by_place
    assert counts.place == "T" and counts.factor == pytest.approx(1 / 500, rel=0.01)
    assert law.share == 1.0
    assert "m/h per m³/h times the flow of the Pipe that ends there" in law.statement


def test_water_flows_from_the_higher_head_to_the_lower(plant: Laws) -> None:
    (law,) = forms(plant)["sign"]
    assert [term.plus for term in law.terms] == ["", "elevation", "elevation"]
    assert law.share >= 0.999 and law.rows + law.apart == sum(one.rows + one.apart for one in law.by_place)
    assert "its flow is positive where the pressure plus elevation of the Node it starts at is" in law.statement


def test_check_valves_are_crossed_one_way_only(plant: Laws) -> None:
    one_way = [law for law in forms(plant)["at_least"] if law.terms[0].name == "flow"]
    assert [(law.condition.name, law.condition.value) for law in one_way if law.condition] == [("check_valve", "true")]
    assert one_way[0].places == 4
    assert "for every Pipe with check valve true: its flow is never negative" in one_way[0].statement


def test_noise_on_every_reading_gives_a_relative_band() -> None:
    laws = laws_of(network(frames=2000, noise=0.01))
    (balance,) = (law for law in forms(laws)["equal"] if not law.condition)
    assert 0.01 < balance.band.relative < 0.08
    assert balance.later_share >= 0.99
    assert "% of the flow through it" in balance.statement


def test_a_place_that_breaks_a_law_is_an_exception() -> None:
    system = network()
    frame = system.sensors.to_polars().with_columns(pl.col("demand_J05") + 3.0)
    broken = type(system.sensors).from_wide(frame, sensors=system.sensors.sensors)
    laws = laws_of(replace(system, sensors=broken))
    (balance,) = (law for law in forms(laws)["equal"] if not law.condition)
    assert [one.place for one in balance.exceptions] == ["J05"]
    assert balance.band.absolute < 1
    assert balance.places_held == balance.places - 1
    assert "not at J05 (0 %)" in balance.english
    found = laws.exceptions()
    assert found.filter(pl.col("law") == list(laws).index(balance))["place"].to_list() == ["J05"]


def test_independent_series_obey_no_law() -> None:
    rng = np.random.default_rng(1)
    system = network()
    ids = system.sensors.ids
    walks = {id: np.cumsum(rng.standard_normal(1000)) for id in ids}
    times = system.sensors.to_polars()["time"]
    data = type(system.sensors).from_wide(pl.DataFrame({"time": times, **walks}), sensors=system.sensors.sensors)
    assert list(laws_of(replace(system, sensors=data))) == []


def test_constants_obey_no_law() -> None:
    system = network()
    times = system.sensors.to_polars()["time"]
    constant = {id: np.full(1000, 2.0) for id in system.sensors.ids}
    data = type(system.sensors).from_wide(pl.DataFrame({"time": times, **constant}), sensors=system.sensors.sensors)
    assert list(laws_of(replace(system, sensors=data))) == []


def test_a_law_that_ends_before_the_later_part_is_not_told() -> None:
    system = network()
    late = pl.int_range(pl.len()) >= 700
    frame = system.sensors.to_polars().with_columns(
        pl.when(late).then(pl.col("^demand_.*$") * 2).otherwise(pl.col("^demand_.*$"))
    )
    data = type(system.sensors).from_wide(frame, sensors=system.sensors.sensors)
    laws = laws_of(replace(system, sensors=data))
    assert not [law for law in laws if law.form == "equal" and {term.name for term in law.terms} >= {"demand", "flow"}]


def test_what_is_closed_has_no_flow() -> None:
    rng = np.random.default_rng(0)
    nodes = {f"P{k}": ("Pump", {}) for k in range(3)}
    series = {}
    for pump in nodes:
        closed = rng.random(1500) < 0.3
        series[f"flow_{pump}"] = np.where(closed, 0.0, rng.uniform(5, 10, 1500))
        series[f"status_{pump}"] = np.where(closed, "closed", "open")
    (law,) = (law for law in laws_of(system_of(nodes, [], series)) if law.condition)
    assert law.statement == "for every Pump: while it is closed, its flow is 0, within ± 0.00093 m³/h"
    assert law.rows == sum(int((values == "closed").sum()) for id, values in series.items() if id.startswith("status"))


def test_the_pressure_behind_a_valve_equals_its_setting() -> None:
    rng = np.random.default_rng(0)
    nodes, edges, series = {}, [], {}
    for k in range(6):
        nodes |= {f"V{k}": ("Valve", {"setting": 30.0 + 5 * k}), f"J{k}": ("Junction", {})}
        nodes[f"A{k}"] = ("Junction", {})
        edges += [(f"V{k}", "ends_at", f"J{k}"), (f"V{k}", "starts_at", f"A{k}")]
        series[f"pressure_J{k}"] = 30.0 + 5 * k + rng.normal(0, 0.05, 600)
        series[f"pressure_A{k}"] = smooth(rng, 600, 70, 90)
        series[f"flow_V{k}"] = smooth(rng, 600, 1, 9)
    laws = laws_of(system_of(nodes, edges, series))
    assert "for every Valve: the pressure of the Junction it ends at equals its setting, within ± " in laws[0].statement


def test_a_bound_may_hold_while_a_state_does() -> None:
    rng = np.random.default_rng(0)
    nodes, edges, series = {}, [], {}
    for k in range(5):
        setting = 30.0 + 5 * k
        nodes |= {f"V{k}": ("Valve", {"setting": setting}), f"J{k}": ("Junction", {}), f"A{k}": ("Junction", {})}
        edges += [(f"V{k}", "ends_at", f"J{k}"), (f"V{k}", "starts_at", f"A{k}")]
        closed = np.arange(900) % 300 < 60
        offered = smooth(rng, 900, setting - 15, setting + 15)
        series[f"pressure_J{k}"] = np.where(closed, offered + 20, np.minimum(offered, setting))
        series[f"pressure_A{k}"] = offered + 20
        series[f"flow_V{k}"] = np.where(closed, 0.0, smooth(rng, 900, 1, 9))
        series[f"status_V{k}"] = np.where(closed, "closed", "open")
    told = [law.statement for law in laws_of(system_of(nodes, edges, series))]
    bounds = [text for text in told if "never above its setting" in text]
    assert len(bounds) == 1
    assert "for every Valve: while it is open, the pressure of the Junction it ends at is never above" in bounds[0]


def test_an_equality_that_follows_from_two_others_is_not_told() -> None:
    rng = np.random.default_rng(0)
    nodes = {f"R{k}": ("Tank", {}) for k in range(4)}
    series = {}
    for tank in nodes:
        common = smooth(rng, 600, 10, 20)
        for kind in ("flow", "demand", "supply"):
            series[f"{kind}_{tank}"] = common + rng.normal(0, 0.01, 600)
    laws = laws_of(system_of(nodes, [], series))
    assert len([law for law in laws if law.form == "equal"]) == 2


def test_laws_are_a_sequence_with_a_frame() -> None:
    laws = laws_of(network())
    assert laws.to_polars()["statement"].to_list() == [law.statement for law in laws]
    assert str(laws).count("\n") == len(laws) - 1 and len(laws[:1]) == 1


def test_at_most_as_many_laws_as_asked() -> None:
    assert len(laws_of(network(), max_laws=1)) == 1


@pytest.mark.parametrize(
    ("name", "value"), [("fit_share", 1.0), ("max_spread", 0), ("max_parts", 1), ("max_laws", 0), ("min_confidence", 2)]
)
def test_a_wrong_setting_is_refused(name: str, value: float) -> None:
    with pytest.raises(ConfigError, match=name):
        LawSettings(**{name: value})  # type: ignore[arg-type]


def test_of_states_that_come_and_go_together_one_is_told() -> None:
    rng = np.random.default_rng(0)
    nodes = {f"U{k}": ("AHU", {}) for k in range(3)}
    series = {}
    for unit in nodes:
        off = np.arange(1500) % 100 < 40
        late = np.roll(off, 1) if unit == "U0" else off  # the return fan follows the supply fan
        series[f"valve_{unit}"] = np.where(off, 0.0, rng.uniform(5, 10, 1500))
        series[f"supply_{unit}"] = np.where(off, "off", "on")
        series[f"return_{unit}"] = np.where(
            np.arange(1500) < 1200, np.where(off, "off", "on"), np.where(late, "off", "on")
        )
        series[f"mode_{unit}"] = np.where(rng.random(1500) < 0.5, "night", "day")
    told = [law.statement for law in laws_of(system_of(nodes, [], series)) if law.condition]
    assert [text.partition(", within")[0] for text in told] == [
        "for every AHU: while its supply is off, its valve is 0"
    ]
