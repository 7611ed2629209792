"""Directions are averaged on the circle, and change by the shorter way around."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thence as th
from thence.data.readings.directions import roll_up, unroll
from thence.data.readings.windows import window

START = datetime(2035, 3, 1, tzinfo=UTC)


def vane(values: list[float], *, long: bool = False, name: str = "wind_direction") -> th.SensorData:
    times = [START + timedelta(minutes=10 * k) for k in range(len(values))]
    if long:
        return th.read_sensors(pl.DataFrame({"time": times, "sensor": [name] * len(values), "value": values}))
    return th.read_sensors(pl.DataFrame({"time": times, name: values, "speed": np.arange(len(values)) * 1.5}))


def close(found: float, wanted: float) -> bool:
    return abs((found - wanted + 180) % 360 - 180) < 1e-6


@pytest.mark.parametrize("long", [False, True])
@pytest.mark.parametrize(
    ("values", "means"),
    [
        ([350.5, 10.5, 355.0, 5.0, 0.0, 359.0], [0.0, 0.0, 0.0]),
        ([80.0, 100.5, 170.0, 190.25, 359.5, 1.0], [90.25, 180.125, 0.25]),
        ([-170.5, 170.5, -10.0, 11.0, 175.0, -175.0], [180.0, 0.5, 180.0]),
    ],
)
def test_a_mean_over_north_is_north(values: list[float], means: list[float], long: bool) -> None:
    readings = window(vane(values, long=long), "20min")
    found = readings.values[:, 0]
    right = [0.5, 0.0, 359.5] if values[0] == 350.5 else means
    assert all(map(close, found.tolist(), right))
    low = -180 if min(values) < 0 else 0
    assert ((found >= low) & (found < low + 360)).all()


def test_what_is_no_direction_is_averaged_as_before() -> None:
    for name, values in (
        ("pitch", [350.0, 10.0]),
        ("wind_direction", [350.0, 1010.0]),
        ("heading_temp °C", [1, 351.5]),
    ):
        data = vane([float(value) for value in values], name=name)
        assert window(data, "20min").values[0, 0] == sum(values) / 2


def test_directions_change_by_the_shorter_way() -> None:
    readings = window(vane([350.0, 10.0, 340.0, 160.5]), "10min", derive=["change"])
    assert readings.derived["change"][1:, 0].tolist() == [20.0, -30.0, -179.5]
    assert readings.derived["change"][1:, 1].tolist() == [1.5, 1.5, 1.5]


@given(st.lists(st.floats(0, 359), min_size=1, max_size=30))
def test_rolling_up_undoes_unrolling(values: list[float]) -> None:
    angles = np.array(values)
    assert all(map(close, roll_up(unroll(angles), signed=False).tolist(), values))
