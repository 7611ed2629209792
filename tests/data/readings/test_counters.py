"""Counters are read as rates, without spikes at resets and roll-overs; what is no counter stays as it is."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import thence as th
from thence.data.graph.binding import Binding
from thence.data.graph.knowledge_graph import KnowledgeGraph, Node
from thence.data.graph.sensor_kinds import with_kinds_of
from thence.data.readings.counters import find_counters, is_counter

N = 24 * 40
HOURS = [datetime(2036, 2, 1, tzinfo=UTC) + timedelta(hours=k) for k in range(N)]
STAMPS = 3_600_000_000 * np.arange(N)
LOAD = np.round(4 + 3 * (np.arange(N) % 24 > 7) + (np.arange(N) * 7 % 5) / 10, 1)


def meter(*, start: float = 0.0, capacity: float = np.inf, reset_at: int = -1) -> list[float]:
    shown = start + np.concatenate([[0.0], np.cumsum(LOAD)[:-1]])
    if reset_at >= 0:
        shown[reset_at:] -= shown[reset_at]
    return [round(float(x), 1) for x in (shown % capacity if np.isfinite(capacity) else shown)]


def plant(**columns: object) -> pl.DataFrame:
    return pl.DataFrame({"time": HOURS, **columns})


def test_a_meter_becomes_its_rate_with_its_unit() -> None:
    data = th.read_sensors(plant(dryer_kWh=meter(start=120), temp=np.sin(np.arange(N))))
    assert (data.sensor("dryer_kWh").unit, data.readings.counters) == ("kWh/h", {"dryer_kWh"})
    read = data.to_polars()["dryer_kWh"].to_list()
    assert read[:-1] == LOAD[:-1].tolist()
    assert read[-1] is None
    kept = th.read_sensors(plant(dryer_kWh=meter(start=120)), counters="none")
    assert kept.to_polars()["dryer_kWh"][0] == 120


@pytest.mark.parametrize(("options", "lost"), [({"start": 9500, "capacity": 10_000}, 0), ({"reset_at": 500}, 1)])
def test_roll_overs_go_on_and_resets_have_no_rate(options: dict[str, float], lost: int) -> None:
    data = th.read_sensors(plant(energy_total=meter(**options)))  # type: ignore[arg-type]
    read = data.to_polars()["energy_total"][:-1]
    assert read.null_count() == lost
    right = np.where(np.arange(N - 1) == 499, np.nan, LOAD[:-1]) if lost else LOAD[:-1]
    assert np.allclose(read.to_numpy(), right, equal_nan=True)
    assert f"'energy_total' (1 {'reset' if lost else 'roll-over'})" in str(data.report)


def test_a_long_table_and_a_gap() -> None:
    rows = [(time, "gas.m3", shown) for time, shown in zip(HOURS, meter(), strict=True)]
    rows = [row for k, row in enumerate(rows) if not 200 <= k < 240]
    rows += [(time, "door", float(k % 9 == 0)) for k, time in enumerate(HOURS)]
    data = th.read_sensors(pl.DataFrame(rows, schema=["time", "sensor", "value"], orient="row"))
    read = data.to_polars()["gas.m3"]
    assert data.sensor("gas.m3").unit == "m3/h"
    assert [k for k in range(N - 1) if read[k] is None] == list(range(199, 240))
    assert read[250] == LOAD[250]
    assert data.sensor("door").categorical


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("energy", np.sin(np.arange(N)) + 2),
        ("kwh_interval", LOAD),
        ("sump_level", np.arange(N) % 40 / 10),  # fills, and is pumped out
        ("total_flow", np.full(N, 31.0)),  # stuck
        ("position", np.arange(N) / 10),  # a ramp has one rate only
        ("ramp", np.where(np.arange(N) % 11 == 3, np.nan, np.arange(N) * 1.5)),
        ("slow", np.cumsum(np.arange(N) % 50 == 0) * LOAD),
        ("temperature", 20 + np.cumsum(np.sin(np.arange(N)))),
    ],
)
def test_what_is_no_counter_stays(name: str, values: np.ndarray) -> None:  # type: ignore[type-arg]
    assert find_counters(th.read_sensors(plant(**{name: values}), counters="none")) == ()


def test_rain_that_is_counted_anew_each_day_is_a_counter() -> None:
    daily = np.concatenate([np.cumsum(day) for day in LOAD.reshape(40, 24)])
    assert not is_counter(STAMPS, daily, named=True)  # it never comes near 0
    daily[::24] = 0
    assert not is_counter(STAMPS, daily, named=True)
    assert is_counter(STAMPS, np.repeat(np.cumsum(LOAD), 2)[:N], named=True)


def test_the_graph_gives_the_unit_and_the_kind() -> None:
    data = th.read_sensors(plant(ME_17=meter(), kitchen=np.sin(np.arange(N))))
    assert data.sensor("ME_17").unit == "per hour"
    graph = KnowledgeGraph([Node("m", frozenset({"Electrical_Energy_Usage_Sensor"}), {"hasUnit": "KiloW-HR"})])
    read = with_kinds_of(data, graph, Binding({"ME_17": "m"}))
    assert (read.sensor("ME_17").kind, read.sensor("ME_17").unit) == ("electrical_energy_usage_per_hour", "kWh/h")


def test_later_files_are_read_as_the_run_read_its_own(tmp_path: Path) -> None:
    path = tmp_path / "mill.csv"
    noise = np.random.default_rng(0).normal(0, 0.1, N)
    plant(mill_kWh=meter(), draw=LOAD + noise.round(3)).write_csv(path)
    run = th.mine(path, confirm=False, progress="off")
    assert list(run.config.input.read_sensors["counters"]) == ["mill_kWh"]
    assert any(
        "must arrive as rates per hour: 'mill_kWh'" in note for note in th.Monitor(run, th.read_system(path)).notes
    )
    later = tmp_path / "later.csv"
    plant(mill_kWh=meter(start=9e5), draw=LOAD)[:60].write_csv(later)  # too short to find a counter in it
    found = th.apply(th.load_run(run.save(tmp_path / "run").path or ""), later)
    assert found.later.data.readings.values[:50, 0].max() < 10
