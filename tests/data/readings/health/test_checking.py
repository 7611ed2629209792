"""Findings about sensors: times, sentences, and which readings are left out."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
import pytest

from thence.data.readings.health.checking import check_series, cleaner, is_set
from thence.data.readings.health.findings import MEANING, Health, HealthFinding, Series
from thence.data.readings.sensors import Sensor, SensorData
from thence.data.readings.windows import window

START = np.datetime64("2024-01-01", "us")
N = 2000


def series(columns: dict[str, np.ndarray], kinds: dict[str, str] | None = None) -> Series:
    sensors = [Sensor(id, (kinds or {}).get(id, "")) for id in columns]
    times = START + np.arange(N) * np.timedelta64(900_000_000, "us")
    return Series(times, sensors, np.column_stack(list(columns.values())), timedelta(minutes=15))


def walk(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    out = np.zeros(N)
    for at in range(1, N):
        out[at] = 0.95 * out[at - 1] + rng.normal()
    return np.round(50 + out, 2)


def noise(seed: int) -> dict[str, np.ndarray]:
    """Healthy sensors of many habits, none of which has anything to do with another."""
    rng = np.random.default_rng(seed)
    on = (np.arange(N) % 96 > 30) & (np.arange(N) % 96 < 70)
    return {
        **{f"walk {k}": walk(seed + k) for k in range(4)},
        "integrated": np.round(np.cumsum(rng.normal(size=N)), 1),
        "white": rng.normal(size=N),
        "heavy": rng.standard_t(3, size=N),
        "held": np.repeat(np.round(rng.normal(20, 2, N // 20), 1), 20),
        "sticky": np.round(np.cumsum(rng.normal(size=N) * 0.1)),
        "rare": np.repeat(rng.integers(0, 3, N // 200), 200).astype(float),
        "set point": np.full(N, 21.5),
        "flow": np.where(on, np.round(6 + rng.normal(size=N) / 3, 2), 0.0),
        "gappy": np.where(rng.random(N) < 0.1, np.nan, walk(seed + 90)),
    }


@pytest.mark.parametrize("seed", [0, 100, 200])
def test_nothing_is_wrong_with_healthy_sensors(seed: int) -> None:
    assert [one.finding.sentence for one in check_series(series(noise(seed)))] == []


def test_a_finding_says_when() -> None:
    columns = {"a": walk(0), "b": walk(1), "c": walk(2)}
    columns["b"][400:700] = columns["b"][399]
    (found,) = check_series(series(columns))
    assert found.finding.what == "stuck" and found.finding.readings == 301
    assert found.finding.start == START + np.timedelta64(399 * 15, "m")
    assert "from 2024-01-05 03:45 to 2024-01-08 06:45" in found.finding.sentence


def test_the_whole_system_at_rest_is_not_stuck() -> None:
    columns = {name: walk(k) for k, name in enumerate("abcd")}
    for values in columns.values():
        values[400:700] = values[399]
    assert check_series(series(columns)) == []


def test_what_changes_everywhere_is_an_event_and_not_a_spike() -> None:
    columns = {name: walk(k) for k, name in enumerate("abcde")}
    for values in columns.values():
        values[600] += 30
    assert check_series(series(columns)) == []
    columns["a"][900] += 30
    assert [(one.finding.what, one.start) for one in check_series(series(columns))] == [("spiking", 900)]


def test_sensors_without_readings_and_with_only_0() -> None:
    columns = {name: walk(k) for k, name in enumerate("abc")}
    columns |= {"silent": np.full(N, np.nan), "zero": np.zeros(N)}
    kinds = dict.fromkeys(("a", "b", "c", "zero"), "pressure")
    found = {one.finding.sensor: one.finding.what for one in check_series(series(columns, kinds))}
    assert found == {"silent": "dead", "zero": "dead"}
    columns["a"] = np.where(columns["a"] > 50, columns["a"], 0.0)  # then 0 is a usual value of the kind
    assert "zero" not in {one.finding.sensor for one in check_series(series(columns, kinds))}


def test_unhealthy_readings_are_left_out_before_anything_is_derived() -> None:
    values = walk(0)
    values[400:700] = values[399]
    times = [datetime(2024, 1, 1, tzinfo=UTC) + timedelta(minutes=15 * k) for k in range(N)]
    frame = pl.DataFrame({"time": times, "a": values, "b": walk(1)})
    data = SensorData.from_wide(frame)
    plain, clean = window(data, "15min", derive="change"), window(data, "15min", derive="change", clean=cleaner({}))
    assert np.isnan(clean.values[399:700, 0]).all() and not np.isnan(clean.values[:399, 0]).any()
    assert np.isnan(clean.derived["change"][399:701, 0]).all()
    assert np.array_equal(plain.values[:, 1], clean.values[:, 1])
    assert [one.what for one in clean.health] == ["stuck"] and plain.health == ()
    (note,) = [note for note in clean.notes if "cannot be trusted" in note]
    assert note.startswith("left out 301 readings of 1 sensor that cannot be trusted (1 stuck;")


def test_a_copy_is_left_out_where_it_is_at_the_node_of_the_original() -> None:
    columns = {"a": walk(0), "b": walk(1)}
    columns["copy"] = columns["a"].copy()
    for node_of, lost in (({}, True), ({"a": "n", "copy": "n"}, True), ({"a": "n", "copy": "m"}, False)):
        given = series({name: values.copy() for name, values in columns.items()})
        found, _ = cleaner(node_of)(given)
        assert [(one.sensor, one.what, one.other) for one in found] == [("copy", "copy", "a")]
        assert np.isnan(given.values[:, 2]).all() == lost


def test_equal_simulated_series_at_two_nodes_are_no_copies() -> None:
    rng = np.random.default_rng(0)
    flow = rng.normal(size=N).cumsum()
    given = series({"pipe 1": flow, "pipe 2": flow.copy(), "other": walk(1)})
    assert check_series(given, {"pipe 1": "1", "pipe 2": "2"}) == []


@pytest.mark.parametrize("name", ["AHU1_DaTempSp", "VAV-1 DMPR-CMD", "zone_temperature_setpoint", "HTG-VLV"])
def test_set_points_are_known_by_their_names(name: str) -> None:
    assert is_set(Sensor(name))


def test_findings_as_a_frame() -> None:
    one = HealthFinding("a", "stuck", START, START + np.timedelta64(1, "h"), 5, 1.0, 4.5, "holds 1")
    health = Health((one, HealthFinding("b", "dead", None, None, 0, 0.0, 0.0, "has no readings")), 3)
    frame = health.to_polars()
    assert frame.height == 2 and frame["start"].null_count() == 1
    assert [len(health.filter(what=what)) for what in ("stuck", "clock")] == [1, 0]
    assert len(health.filter(sensor="b")) == 1
    assert repr(health) == "Health(2 findings in 2 of 3 sensors)"
    assert str(Health((), 3)) == "nothing wrong with 3 sensors"
    assert health.to_dicts()[1]["sentence"] == "b has no readings"
    with pytest.raises(KeyError, match="unknown finding"):
        health.filter(what="ill")
    assert one.at_site("north").sensor == "north/a"
    assert set(MEANING) >= {one.what for one in health}
