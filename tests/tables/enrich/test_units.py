"""Lifted tables of units with points: rows, bins, patterns given as text, later data and several systems."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import numpy as np
import polars as pl

import thence as th
from tests.helpers.buildings import START
from thence.data.graph.binding import Binding
from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.records import Edge, Node
from thence.data.graph.system import System
from thence.data.readings.sensors import Sensor, SensorData
from thence.language.patterns import SensorVariable
from thence.tables.enrich.lifted import _choices

CLASSES = {
    "supply": "Supply_Air_Temperature_Sensor",
    "return": "Return_Air_Temperature_Sensor",
    "valve": "Cooling_Valve_Command",
}


def plant(units: int, *, frames: int = 40, name: str = "", kinds: bool = True, seed: int = 1) -> System:
    """Units whose valve opens when the return air is warm; the two temperatures have the same kind, if any."""
    rng = np.random.default_rng(seed)
    nodes, edges, sensors, series, binding = [], [], [], {}, {}
    for at in range(units):
        unit = f"AHU{at}"
        nodes.append(Node(unit, frozenset({"AHU"})))
        warm = np.round(rng.normal(22, 2, frames), 1)
        readings = {"supply": warm - 5, "return": warm, "valve": np.where(warm > 22, 100.0, 0.0)}
        for point, values in readings.items():
            id = f"{unit}.{point}"
            nodes.append(Node(id, frozenset({CLASSES[point]})))
            edges.append(Edge(f"e{id}", unit, id, frozenset({"hasPoint"})))
            kind = "valve" if point == "valve" else "temperature"
            sensors.append(Sensor(id, kind if kinds else "", "", categorical=False))
            series[id], binding[id] = values, id
    frame = pl.DataFrame({"time": [START + timedelta(hours=at) for at in range(frames)], **series})
    return System(
        SensorData.from_wide(frame, sensors=sensors), KnowledgeGraph(nodes, edges), Binding(binding), name=name
    )


def table_of(net: System, **options: object) -> th.TransactionTable:
    return th.transactions(net.sensors, net.graph, net.binding, enrich="lifted", windows="1h", **options)  # type: ignore[arg-type]


def test_a_row_is_a_time_and_a_unit() -> None:
    for units in (1, 4):
        (block,) = table_of(plant(units)).blocks
        assert (block.n_embeddings, block.n_frames) == (units, 40)
        assert [c.feature.label for c in block.columns] == ["return_air_temperature", "supply_air_temperature", "valve"]
        assert {names[0] for names in block.embeddings} == {f"AHU{at}" for at in range(units)}


def test_one_unit_has_rules_between_its_points() -> None:
    run = th.mine(plant(1, frames=200), enrich="lifted", windows="1h", bins=2, refine=None)
    assert any("for the AHU (one place): if its " in rule.english and "valve" in rule.english for rule in run.rules)
    assert any("3 points belong to 1 AHU" in note for note in run.table.notes)


def test_units_run_by_the_clock_unless_told_otherwise() -> None:
    net = plant(3, frames=300)
    run = th.mine(net, windows="1h", bins=2, laws=False, controls=False)
    assert run.config.windows.derive == ("hour",)
    assert any("hour of day, in the time zone UTC" in note for note in run.summary["notes"])
    again = th.transactions(net, enrich="lifted", like=run)
    assert {c.feature.name for block in again.blocks for c in block.columns} >= {"hour"}
    for asked, derived in (("none", ()), ((), ()), ("change", ("change",))):
        other = th.mine(net, windows="1h", bins=2, laws=False, controls=False, derive=asked)
        assert other.config.windows.derive == derived
        assert not any("hour of day" in note for note in other.summary["notes"])
    for system, options in (
        (plant(3, frames=60), {}),  # too short
        (net, {"enrich": "none"}),
        (th.datasets.load("toy"), {}),
    ):
        assert th.mine(system, laws=False, controls=False, **options).config.windows.derive == ()


def test_the_user_s_system_is_not_changed() -> None:
    net = plant(2)
    before = dict(net.binding or {}), net.sensors.sensors
    table_of(net)
    assert (dict(net.binding or {}), net.sensors.sensors) == before


def test_edges_given_for_a_kind_are_those_of_its_roles() -> None:
    table = table_of(plant(2), scope="kind", bin_edges={"temperature": [18.0, 21.0]})
    for column in table.blocks[0].columns[:2]:
        assert [str(value) for value in column.values] == ["[-inf, 18.0)", "[18.0, 21.0)", "[21.0, inf)"]
    assert table.discretizer is not None and set(table.discretizer.bin_edges) == {"temperature"}


def test_discovered_patterns_give_the_same_table_as_text() -> None:
    net = plant(3)
    found = table_of(net)
    again = table_of(net, patterns=[str(block.pattern) for block in found.blocks])
    assert [b.embeddings for b in again.blocks] == [b.embeddings for b in found.blocks]
    for left, right in zip(found.blocks[0].columns, again.blocks[0].columns, strict=True):
        assert left.feature == right.feature and (left.codes == right.codes).all()


def test_plain_patterns_find_sensors_at_their_points() -> None:
    table = table_of(plant(3), patterns=["(t:temperature)-[in]->(p)<-[hasPoint]-(a:AHU)"])
    assert table.blocks[0].n_embeddings == 6 and not any("belong" in note for note in table.notes)


def test_roles_carry_rules_to_a_system_with_other_kinds() -> None:
    """The kinds of one system tell its points apart, those of the other do not."""
    here, there = plant(2, kinds=False), plant(3, seed=2)
    kinds = {s.id: (CLASSES[s.id.split(".")[1]].removesuffix("_Sensor").lower(), "") for s in here.sensors.sensors}
    here = replace(here, sensors=here.sensors.with_kinds(kinds))
    train = table_of(here, bins=2)
    later = table_of(there, bins=2, patterns=[str(block.pattern) for block in train.blocks], like=train)
    assert {f.label for f in train.features} == {f.label for f in later.features}
    assert later.blocks[0].n_embeddings == 3


def test_several_systems_share_their_units() -> None:
    run = th.mine([plant(1, name="north", frames=100), plant(1, name="south", seed=2, frames=100)], refine=None)
    (block,) = run.table.blocks
    assert {names[0].split("/")[0].split(":")[0] for names in block.embeddings} == {"north", "south"}
    assert len(run.rules)


def test_many_optional_sensors_are_chosen_at_once() -> None:
    """Regression: each optional sensor doubled the work, which was too much for a unit with 40 points."""
    slots = [SensorVariable(f"s{at}", f"k{at}", "a", True) for at in range(60)]
    options = [[f"x{at}"] if at % 2 else [] for at in range(60)]
    (choice,) = _choices(slots, options)
    assert [bool(name) for name in choice] == [bool(at % 2) for at in range(60)]
