from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import thence.data.datasets as datasets
from thence.data.graph.system import System
from thence.errors import ConfigError


def residuals(dataset: System, junctions: list[str]) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Inflow less outflow less demand of each junction, over time."""
    frame = dataset.sensors.to_polars()
    table = []
    for junction in junctions:
        name = str(dataset.graph.nodes[junction].properties["name"])
        balance = np.zeros(frame.height)
        for edge in dataset.graph.in_edges(junction):
            flow = frame[f"flow_{dataset.graph.nodes[edge.source].properties['name']}"].to_numpy()
            balance += flow if "ends_at" in edge.labels else -flow
        if f"demand_{name}" in frame.columns:
            balance -= frame[f"demand_{name}"].to_numpy()
        table.append(balance)
    return np.array(table).T


def test_every_element_carries_its_sensors(own_cache: Path) -> None:
    net3 = datasets.load("net3", days=2)
    net3.binding.check(net3.sensors, net3.graph)
    assert net3.ontology.validate(net3.graph) == ()
    kinds = [sensor.kind for sensor in net3.sensors.sensors]
    assert {kind: kinds.count(kind) for kind in sorted(set(kinds))} == {
        "demand": 61,
        "flow": 119,
        "level": 3,
        "pressure": 92,
        "status": 3,
    }
    assert net3.binding["pressure_105"] == "Junction 105"
    assert (net3.binding["flow_10"], net3.binding["flow_20"]) == ("Pump 10", "Pipe 20")
    assert (net3.binding["level_1"], net3.binding["demand_Lake"]) == ("Tank 1", "Reservoir Lake")
    frame = net3.sensors.to_polars()
    assert frame.shape == (96, 279) and frame.null_count().sum_horizontal().item() == 0
    assert net3.labels is not None and net3.labels.height == 0


def test_water_is_conserved_at_every_junction() -> None:
    net3 = datasets.load("net3", days=2)
    junctions = list(net3.graph.with_label("Junction"))
    assert len(junctions) == 92
    assert np.abs(residuals(net3, junctions)).max() < 0.5  # of flows up to 3000 m³/h


def test_the_pump_keeps_its_daily_hours_beyond_the_week_that_the_network_schedules() -> None:
    """EPANET's schedule ends after day seven; without the repeated one the pump would stand still from then on."""
    net3 = datasets.load("net3", days=10, step_minutes=60)
    running = (
        net3.sensors.to_polars()
        .filter(pl.col("flow_10") > 1)
        .group_by(pl.col("time").dt.day())
        .agg(pl.col("time").dt.hour().sort().alias("hours"))
    )
    assert sorted(running["time"]) == list(range(1, 11))
    assert all(hours == list(range(1, 15)) for hours in running["hours"].to_list())


def test_the_states_of_pumps_and_controlled_pipes_are_read() -> None:
    """The pump 335 and the pipe 330 around it are switched by the level of tank 1, one against the other."""
    net3 = datasets.load("net3", days=7)
    states = [sensor for sensor in net3.sensors.sensors if sensor.kind == "status"]
    assert [sensor.id for sensor in states] == ["status_330", "status_10", "status_335"]
    assert all(sensor.categorical and sensor.unit == "" for sensor in states)
    assert (net3.binding["status_10"], net3.binding["status_330"]) == ("Pump 10", "Pipe 330")
    frame = net3.sensors.to_polars()
    assert set(frame["status_10"]) == {"open", "closed"}
    for link in ("330", "10", "335"):
        assert frame.filter(pl.col(f"status_{link}") == "closed")[f"flow_{link}"].abs().max() < 1e-3  # type: ignore[operator]
    assert (frame["status_330"] != frame["status_335"]).mean() > 0.9  # type: ignore[operator]


def test_states_have_no_noise_and_leave_the_noise_of_numbers_as_it_is() -> None:
    """The factors of a reading depend on its position among the numbers: states come after them."""
    exact, noisy = (datasets.load("net3", days=2, noise=noise).sensors.to_polars() for noise in (0.0, 0.01))
    assert noisy.select("^status_.*$").equals(exact.select("^status_.*$"))
    few = datasets.load("net3", days=2, noise=0.01, sensors=("level", "pressure")).sensors.to_polars()
    assert few.equals(noisy.select(few.columns))
    assert {name.partition("_")[0] for name in few.columns} == {"time", "level", "pressure"}


def test_days_differ_by_the_noise_of_demands_and_only_by_it() -> None:
    quiet = datasets.load("net3", days=2, demand_noise=0.0).sensors.to_polars()["demand_105"].to_numpy()
    assert quiet[:48] == pytest.approx(quiet[48:])
    noisy = datasets.load("net3", days=2).sensors.to_polars()["demand_105"].to_numpy()
    assert 0.02 < np.std(noisy / quiet) < 0.12


def test_a_seed_is_a_data_set(own_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = datasets.load("net3", days=1, seed=3).sensors.to_polars()
    monkeypatch.setenv("THENCE_CACHE", str(tmp_path / "fresh"))
    again = datasets.load("net3", days=1, seed=3).sensors.to_polars()
    other = datasets.load("net3", days=1, seed=4).sensors.to_polars()
    assert first.equals(again)
    assert not first.equals(other)
    assert len(list((tmp_path / "fresh" / "net3").glob("*/readings.parquet"))) == 2


def test_a_short_period_is_the_beginning_of_a_longer_one() -> None:
    short, longer = (datasets.load("net3", days=days).sensors.to_polars() for days in (1, 2))
    assert short.equals(longer.head(48))


def test_it_says_how_far_it_is() -> None:
    heard: list[tuple[str, float, float]] = []
    datasets.load(
        "net3", days=8, seed=9, progress=lambda stage, done, total, note="": heard.append((stage, done, total))
    )
    assert heard[0] == ("simulating", 0, 384)
    assert [done for _, done, _ in heard] == sorted(done for _, done, _ in heard)
    assert heard[-1][1] >= 256


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"days": 0}, "days must be an integer >= 1"),
        ({"step_minutes": 45}, "must divide an hour"),
        ({"demand_noise": 1.5}, "demand_noise must be >= 0"),
        ({"noise": 1.0}, "noise must be >= 0"),
        ({"noise": -0.01}, "noise must be >= 0"),
        ({"sensors": "levels"}, "no 'levels' sensors; kinds are pressure, flow, demand, level, status"),
    ],
)
def test_impossible_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        datasets.load("net3", **options)
