"""The length of windows follows the readings: regular, late, dropped, on events, mixed, many."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.examples import examples
from thence.data.readings import steps
from thence.data.readings.durations import format_duration, parse_duration
from thence.data.readings.sensors import Sensor, SensorData
from thence.data.readings.steps import CONVENTIONAL, OwnStep, own_step, typical_step
from thence.data.readings.windows import window

START = datetime(2024, 3, 1, tzinfo=UTC)
RNG = np.random.default_rng(1)


def long(series: dict[str, np.ndarray], *, lazy: bool = False) -> SensorData:
    """Readings at the given seconds, in time order."""
    rows = [(START + timedelta(seconds=float(t)), id, 1.0) for id, times in series.items() for t in times]
    rows.sort(key=lambda row: (row[0], row[1]))
    frame = pl.DataFrame(
        rows, schema={"time": pl.Datetime("us", "UTC"), "sensor": pl.String, "value": pl.Float64}, orient="row"
    )
    sensors = [Sensor(id) for id in series]
    return SensorData.from_long(frame.lazy() if lazy else frame, sensors=sensors)


def regular(step: float, n: int = 300, first: float = 0.0) -> np.ndarray:
    return first + step * np.arange(n)


@given(step=st.sampled_from(CONVENTIONAL), n=st.integers(2, 60), sensors=st.integers(1, 4), lazy=st.booleans())
@settings(max_examples=examples(60), deadline=None)
def test_conventional_steps_are_found_and_fill_every_window(step: int, n: int, sensors: int, lazy: bool) -> None:
    data = long({f"s{k}": regular(step / 1e6, n) for k in range(sensors)}, lazy=lazy)
    found = own_step(data)
    assert found.every == timedelta(microseconds=step)
    assert found.reason == f"windows of {format_duration(step)}: the step of all sensors"
    assert not np.isnan(window(data, found.text, origin="start").values).any()


@given(seconds=st.integers(1, 10**6))
@settings(max_examples=examples(200))
def test_durations_read_back(seconds: int) -> None:
    text = OwnStep(timedelta(seconds=seconds), "").text
    assert parse_duration(text) == parse_duration(format_duration(timedelta(seconds=seconds))) == seconds * 10**6


@pytest.mark.parametrize(
    ("seconds", "wanted"),
    [(37 * 60, "1h"), (61, "1min"), (70, "2min"), (602, "10min"), (5 * 3600, "6h"), (0.3, "500ms")],
)
def test_other_steps_are_rounded_up(seconds: float, wanted: str) -> None:
    assert own_step(long({"a": regular(seconds), "b": regular(seconds)})).text == wanted


def test_a_few_slow_sensors_do_not_lengthen_the_windows() -> None:
    series = {f"s{k}": regular(60, 2000) for k in range(19)} | {"lab": regular(86400, 20)}
    assert own_step(long(series)) == OwnStep(timedelta(minutes=1), "windows of 1 min: the step of 95 % of the sensors")


def test_a_fifth_of_the_sensors_counts() -> None:
    series = {f"s{k}": regular(300, 3000) for k in range(8)} | {f"t{k}": regular(3600, 250) for k in range(2)}
    found = own_step(long(series))
    assert (found.text, found.reason) == ("1h", "windows of 1 h: all sensors read at least as often")


def test_slow_sensors_that_would_leave_hardly_a_window_do_not_count() -> None:
    series = {f"s{k}": regular(60, 20_000) for k in range(2)} | {"lab": regular(86400, 14)}
    found = own_step(long(series))
    assert (found.text, found.reason) == ("1min", "windows of 1 min: the step of 67 % of the sensors")


def test_sensors_that_read_on_events_do_not_lengthen_the_windows() -> None:
    events = {f"e{k}": np.cumsum(RNG.exponential(7200, 60)) for k in range(10)}
    found = own_step(long({f"s{k}": regular(600, 700) for k in range(10)} | events))
    assert found.text == "10min"
    assert found.reason == "windows of 10 min: the step of 50 % of the sensors, 10 others at irregular times"
    alone = own_step(long(events))
    assert alone.text in ("1h", "2h") and "readings come at irregular times" in alone.reason


def test_readings_around_the_borders_of_windows_lengthen_them() -> None:
    """Readings at every full minute, some seconds early or late: half of the windows would have none or two."""
    late = {f"s{k}": regular(60, 500, first=60) + RNG.uniform(-9, 9, 500) for k in range(5)}
    assert own_step(long(late)).text == "2min"
    inside = {f"s{k}": regular(60, 500, first=30) + RNG.uniform(-9, 9, 500) for k in range(5)}
    assert own_step(long(inside)).text == "1min"


def test_pauses_do_not_matter() -> None:
    times = np.concatenate([regular(600, 200), 400 * 86400 + regular(600, 200)])
    assert own_step(long({"a": times})).text == "10min"


def test_too_many_windows_are_lengthened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "MAX_WINDOWS", 100)
    found = own_step(long({"a": regular(60, 1000)}))
    assert found.text == "10min"
    assert found.reason == "windows of 10 min, longer than the step of the readings (1 min): at most 100 windows"
    # A gap has no windows.
    assert own_step(long({"a": np.concatenate([regular(60, 50), 10**7 + regular(60, 50)])})).text == "1min"


def test_wide_frames_have_cells_without_readings() -> None:
    minutes = [START + timedelta(minutes=m) for m in range(25_000)]
    columns = {"fast": [1.0] * 25_000, "slow": [1.0 if m % 60 == 0 else None for m in range(25_000)]}
    frame = pl.DataFrame({"time": minutes, **columns})
    for data in (SensorData.from_wide(frame), SensorData.from_wide(frame.lazy())):
        assert own_step(data).text == "1h"
        assert typical_step(data) == timedelta(minutes=30.5)
    shuffled = SensorData.from_wide(frame.sample(fraction=1, shuffle=True, seed=1))
    assert own_step(shuffled).text == "1h"


def test_batches_of_a_scan_are_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "BATCH_ROWS", 7)
    series = {f"s{k}": regular(900, 40) for k in range(10)}
    assert own_step(long(series, lazy=True)).text == "15min"


def test_without_two_readings_of_any_sensor() -> None:
    found = own_step(long({"a": np.array([0.0]), "b": np.array([5.0])}))
    assert found == OwnStep(timedelta(minutes=30), "windows of 30 min: no sensor has two readings")
    assert own_step(long({"a": np.array([])})).text == "30min"
    assert typical_step(long({"a": np.array([0.0])})) is None
