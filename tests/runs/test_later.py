"""Later data and other systems with earlier bins: the same sensor keeps its bins, and what is new is said."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import thence as th
from tests.helpers.buildings import START
from tests.helpers.networks import network
from thence.data.graph.system import System
from thence.data.readings.sensors import Sensor
from thence.errors import MiningError

LIFTED: dict[str, Any] = {"enrich": "lifted", "windows": "30min", "bins": 3}


def rebuilt(system: System, change: Any, **parts: Any) -> System:
    """The system with other readings."""
    frame = change(system.sensors.to_polars())
    known = {sensor.id: sensor for sensor in system.sensors.sensors}
    sensors = [known.get(name, Sensor(name, name.partition("_")[0])) for name in frame.columns if name != "time"]
    return replace(system, sensors=th.SensorData.from_wide(frame, sensors=sensors), **parts)


def codes_by_sensor(table: th.TransactionTable) -> dict[tuple[str, str], list[int]]:
    """The codes of the readings of each sensor, by kind of the quantity, wherever the table has them."""
    out: dict[tuple[str, str], list[int]] = {}
    for block in table.blocks:
        assert block.pattern is not None
        first = len(block.pattern.nodes)
        for at, variable in enumerate(block.pattern.sensors):
            for column in block.columns:
                if column.feature.subject != variable.name or column.feature.name:
                    continue
                for names, series in zip(block.embeddings, column.series.tolist(), strict=True):
                    if series >= 0:
                        out[names[first + at], str(column.feature)] = column.codes[series].tolist()
    return {(sensor, text.partition(":")[2]): codes for (sensor, text), codes in out.items()}


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 1000), st.integers(1, 40))
def test_shuffled_and_extended_data_get_the_same_codes(seed: int, more: int) -> None:
    system = replace(network(60, seed % 5), name="net")
    earlier = th.transactions(system, **LIFTED)
    later = network(60 + more, seed % 7)

    def change(frame: pl.DataFrame) -> pl.DataFrame:
        columns = [name for name in frame.columns if name != "time"]
        random.Random(seed).shuffle(columns)
        old = system.sensors.to_polars()
        # The first rows are those of before; then come others, and one sensor more.
        joined = pl.concat([old, frame.slice(60)]).sample(fraction=1.0, shuffle=True, seed=seed)
        return (
            joined.select("time", *columns).sort("time").with_columns(level_R=pl.int_range(pl.len()).cast(pl.Float64))
        )

    longer = rebuilt(later, change, name="net")
    assert longer.binding is not None
    longer = replace(longer, binding=th.graph.Binding({**longer.binding, "level_R": "R"}))
    table = th.transactions(longer, **LIFTED, like=earlier)
    before, after = codes_by_sensor(earlier), codes_by_sensor(table)
    for (sensor, kind), codes in before.items():
        assert after[sensor, kind][:60] == codes
    assert any("1 sensor had no bins" in note and "level_R" in note for note in table.notes)
    for sensor in system.sensors.ids:
        edges = [one.discretizer.binnings[sensor].bin_edges.tolist() for one in (earlier, table)]
        assert edges[0] == edges[1]


@settings(max_examples=10, deadline=None)
@given(
    st.sampled_from([("0", "1"), ("0.0", "1.0"), ("0.00", "1.00"), (0, 1), (0.0, 1.0), (False, True)]),
    st.integers(0, 99),
)
def test_states_spelled_otherwise_are_the_same_states(spelled: tuple[Any, Any], seed: int) -> None:
    rng = np.random.default_rng(seed)
    on = rng.random(80) < 0.5
    hours = [timedelta(hours=h) for h in range(80)]
    times = [START + hour for hour in hours]
    first = pl.DataFrame({"time": times, "pump": on.astype(int), "flow": np.where(on, 5.0, 1.0) + rng.random(80)})
    again = first.with_columns(pump=pl.Series([spelled[int(x)] for x in on]))
    tables = []
    for frame in (first, again):
        data = th.read_sensors(frame, categorical=["pump"])
        tables.append(th.transactions(data, windows="1h", bins=2, like=tables[0] if tables else None))
    assert not any("not seen" in note for note in tables[1].notes)
    rules = th.Exact(max_antecedents=1).mine(tables[0])
    assert th.evaluate.count_rules(rules, tables[1]).counts == rules.counts


def test_new_states_are_counted_and_said() -> None:
    times = [START + timedelta(hours=h) for h in range(6)]
    before = pl.DataFrame({"time": times, "door": ["open", "shut"] * 3, "lamp": ["on", "off"] * 3})
    after = before.with_columns(door=pl.Series(["open", "ajar", "ajar", "broken", "open", "shut"]))
    table = th.transactions(th.read_sensors(before), windows="1h")
    later = th.transactions(th.read_sensors(after), windows="1h", like=table)
    (note,) = [note for note in later.notes if "not seen" in note]
    assert note.startswith(
        "2 states of 1 sensor were not seen when the bins were fitted ('ajar', 'broken'): 3 readings"
    )
    rules = th.Exact(max_antecedents=1, min_confidence=0.5).mine(table)
    counted = th.evaluate.count_rules(rules, later)
    at = [str(rule) for rule in counted].index("(lamp).value = 'on' → (door).value = 'open'")
    # A state that was not seen is known, and the rule fails there.
    assert (counted.counts.n_antecedent[at], counted.counts.n_both[at]) == (3, 2)


def test_values_that_are_categories_are_counted_and_missing() -> None:
    times = [START + timedelta(hours=h) for h in range(6)]
    frame = pl.DataFrame({"time": times, "speed": [1.5, 2.5] * 3, "flow": [1.25, 7.5] * 3})
    given = {"windows": "1h", "method": "distinct"}
    table = th.transactions(th.read_sensors(frame), **given)
    other = frame.with_columns(speed=pl.Series([1.5, 2.5, 3.5, 3.5, 1.5, 2.5]))
    later = th.transactions(th.read_sensors(other), **given, like=table)
    assert any("2 readings of 1 sensor (speed) have a value that was not seen" in note for note in later.notes)


def test_equal_ids_of_another_system_do_not_share_bins() -> None:
    north = replace(network(60), name="north")
    louder = rebuilt(network(60, 1), lambda f: f.with_columns(pl.exclude("time") * 10), name="south")
    table = th.transactions(north, **LIFTED)
    own = th.transactions(louder, **LIFTED)
    other = th.transactions(louder, **LIFTED, like=table)
    for sensor in louder.sensors.ids:
        assert np.array_equal(other.discretizer.binnings[sensor].bin_edges, own.discretizer.binnings[sensor].bin_edges)
    assert any("14 sensors here have the same id as others of 'north'" in note for note in other.notes)
    # Ranges of properties hold anywhere.
    assert other.discretizer.binnings["Pipe.length"] is not own.discretizer.binnings["Pipe.length"]
    same = th.transactions(louder, **LIFTED, like=table, same_system=True)
    assert np.array_equal(
        same.discretizer.binnings["flow_P1"].bin_edges, table.discretizer.binnings["flow_P1"].bin_edges
    )
    refused = th.transactions(replace(north), **LIFTED, like=table, same_system=False)
    assert any("same id" in note for note in refused.notes)
    # Without names, the node of a sensor decides.
    assert louder.binding is not None
    moved = {**louder.binding, "flow_P1": "P2", "flow_P2": "P1"}
    unnamed = th.transactions(replace(louder, name="", binding=th.graph.Binding(moved)), **LIFTED, like=table)
    assert any("2 sensors here have the same id" in note and "flow_P1" in note for note in unnamed.notes)


def test_bins_of_a_pool_belong_to_its_sites_and_those_of_a_site_to_the_pool() -> None:
    sites = [replace(network(60, seed), name=name) for seed, name in enumerate(("north", "south"))]
    pool = th.transactions(sites, **LIFTED)
    alone = th.transactions(sites[1], **LIFTED, like=pool)
    assert not alone.notes
    edges = [pool.discretizer.binnings["south/flow_P1"], alone.discretizer.binnings["flow_P1"]]
    assert np.array_equal(edges[0].bin_edges, edges[1].bin_edges)
    first = th.transactions(sites[0], **LIFTED)
    grown = th.transactions(sites, **LIFTED, like=first)
    assert np.array_equal(
        grown.discretizer.binnings["north/flow_P1"].bin_edges, first.discretizer.binnings["flow_P1"].bin_edges
    )
    stranger = th.transactions(replace(network(60, 5), name="west"), **LIFTED, like=pool)
    assert any("14 sensors had no bins" in note for note in stranger.notes)


def test_the_bins_of_a_saved_run_remember_their_system(tmp_path: Path) -> None:
    north = replace(network(60), name="north")
    th.mine(north, windows="30min", bins=3, progress="off", out=tmp_path / "run")
    run = th.load_run(tmp_path / "run")
    other = th.transactions(replace(network(60, 1), name="south"), **LIFTED, like=run)
    assert any("of 'north'" in note for note in other.notes)
    assert not th.transactions(network(60), **LIFTED, like=run).notes


def test_rules_that_another_system_cannot_count_are_left_out_and_listed() -> None:
    net = network(80)
    both = [
        "(d:demand)-[in]->(j:Junction)<-[in]-(s:pressure)",
        "(f:flow)-[in]->(p:Pipe)-[ends_at]->(j:Junction)<-[in]-(s:pressure)",
    ]
    table = th.transactions(net, **LIFTED, patterns=both)
    rules = th.Exact(max_antecedents=1, min_confidence=0.3).mine(table)
    small = net.select_kinds(["pressure", "demand"])
    other = th.transactions(small, **LIFTED, patterns=both[:1], properties=[])
    counted = th.evaluate.count_rules(rules, other)
    assert 0 < len(counted) < len(rules)
    left = counted.facts["left_out"]
    assert sum(one["rules"] for one in left) == len(rules) - len(counted)
    assert any("no rows for the pattern" in one["reason"] for one in left)
    assert any("are left out" in note for note in counted.notes)
    with pytest.raises(MiningError, match="none of the rules can be counted"):
        th.evaluate.count_rules(rules, th.transactions(net, windows="30min", enrich="none"))


def test_a_rule_that_never_applied_has_no_confidence() -> None:
    before = pl.DataFrame({"a": ["x", "x", "y", "y"], "b": ["u", "u", "v", "v"]})
    table = th.TransactionTable.from_frame(before)
    rules = th.Exact(max_antecedents=1).mine(table)
    counted = th.evaluate.count_rules(rules, th.TransactionTable.from_frame(before.filter(pl.col("a") == "y")))
    never = counted.counts.n_antecedent == 0
    assert never.any() and np.isnan(counted.measure("confidence")[never]).all()
    assert not np.isnan(counted.measure("confidence")[~never]).any()
    assert counted.take(never).lines(1)[0].endswith("[never applied]")
    assert counted.describe()["mean_confidence"] == 1.0 and counted.take(never).describe()["mean_confidence"] is None
    assert len(counted.filter(min_confidence=0.1)) == (~never).sum()


def test_later_data_get_windows_of_the_same_length() -> None:
    net = network(60)
    table = th.transactions(net, enrich="lifted", windows="1h", bins=3)
    assert len(table.blocks[0].times) == 30
    later = th.transactions(network(60, 1), enrich="lifted", like=table)
    assert len(later.blocks[0].times) == 30 and not later.notes
    other = th.transactions(net, enrich="lifted", windows="30min", like=table)
    assert any(
        note.startswith("windows are 30 min long, but the bins were fitted on windows of 1 h") for note in other.notes
    )
