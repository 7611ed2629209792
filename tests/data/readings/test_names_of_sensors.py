"""Sensors may have any name, those of columns of other layouts included."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

import thence as th

TIMES = [datetime(2024, 1, 1, tzinfo=UTC) + timedelta(hours=hour) for hour in range(24)]


@pytest.mark.parametrize("name", ["sensor", "value", "text", "node", "kind"])
def test_a_sensor_of_a_wide_table_may_be_called_like_a_column_of_a_long_one(name: str) -> None:
    """A column ``sensor`` was not counted, and the step of the readings was not found (ValueError)."""
    data = th.SensorData.from_wide(pl.DataFrame({"time": TIMES, name: [hour % 5 * 1.5 for hour in range(24)]}))
    assert data.describe()["readings"] == 24
    assert data.span == (TIMES[0], TIMES[-1])
    assert th.transactions(data, windows="auto", bins=3).n_rows == 24
