"""Times that cannot be meant: far from all others, before the year 1000 or after 9999, or over centuries."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thence.data.readers import read_sensors
from thence.data.readings.durations import parse_duration
from thence.data.readings.scanning import bulk_years
from thence.data.readings.sensors import SensorData, as_utc
from thence.data.readings.windows import window
from thence.errors import ConfigError, InputError

ROWS = [(datetime(2020, 1, 1) + timedelta(hours=k), float(k)) for k in range(200)]


def csv(folder: Path, rows: list[str]) -> Path:
    path = folder / "a.csv"
    path.write_text("time,a\n" + "\n".join(f"{time},{value}" for time, value in ROWS) + "\n" + "\n".join(rows) + "\n")
    return path


@pytest.mark.parametrize("far", ["1970-01-01 00:00", "2091-01-01 00:00", "1019-05-05 00:00", "9999-12-31 23:59"])
def test_a_far_row_is_asked_about_and_dropped_on_request(tmp_path: Path, far: str) -> None:
    """One of them made windows of two thousand years, in a loop of minutes."""
    path = csv(tmp_path, [f"{far},3"])
    with pytest.raises(InputError, match=rf"a\.csv, line 202: 1 row is years away from the other 200.*2020: {far} UTC"):
        read_sensors(path)
    data = read_sensors(path, on_error="repair")
    assert data.report.count("far-time") == 1
    assert data.span == (datetime(2020, 1, 1, tzinfo=UTC), datetime(2020, 1, 9, 7, tzinfo=UTC))


@pytest.mark.parametrize("layout", ["wide", "long"])
def test_far_rows_of_scanned_data_are_found_when_it_is_windowed(tmp_path: Path, layout: str) -> None:
    rows = [*ROWS, (datetime(2091, 1, 1), 3.0)]
    frame = pl.DataFrame(rows, schema=["time", "value" if layout == "long" else "a"], orient="row")
    if layout == "long":
        frame = frame.with_columns(pl.lit("a").alias("sensor"))
    path = tmp_path / "a.parquet"
    frame.write_parquet(path)
    for use in (window, SensorData.check):
        with pytest.raises(InputError, match=r"a\.parquet: 1 row is years away from the other 200"):
            use(read_sensors(path))  # type: ignore[operator]
    data = read_sensors(path, on_error="repair")
    assert len(window(data, "1h")) == 200 and window(data, "1h").report.count("far-time") == 1
    assert data.check().report.count("far-time") == 1 and data.check().to_polars().height == 200


def test_other_periods_are_not_far() -> None:
    times = [datetime(year, 1, 1, hour) for year in (1990, 2020) for hour in range(20)]
    assert SensorData.from_wide(pl.DataFrame({"time": times, "a": range(40)})).to_polars().height == 40


@given(st.dictionaries(st.integers(1000, 9999), st.integers(1, 1000), max_size=12))
def test_the_bulk_holds_nearly_all_rows(rows: dict[int, int]) -> None:
    bulk = bulk_years(rows)
    if bulk is not None:
        total = sum(rows.values())
        held = sum(count for year, count in rows.items() if bulk[0] <= year <= bulk[1])
        assert 0 < total - held <= max(1, 0.1 * total)
        assert all(
            min(abs(year - bulk[0]), abs(year - bulk[1])) > 10 for year in rows if not bulk[0] <= year <= bulk[1]
        )


@pytest.mark.parametrize(("text", "form"), [("20-01-01", "%Y-%m-%d"), ("13/01/20", "%d/%m/%Y"), ("0020-01-01", None)])
def test_years_of_two_digits_are_not_years_of_four(tmp_path: Path, text: str, form: str | None) -> None:
    """They were read as the year 20, and mining made 35 million transactions."""
    path = tmp_path / "a.csv"
    path.write_text(f"time,a\n{text},1\n{text},1\n")
    with pytest.raises(InputError, match=f"line 2: column 'time': '{text}' is not a time"):
        read_sensors(path, time_format=form)


@pytest.mark.parametrize("stored", [-62_167_219_200_000_001, 253_402_300_800_000_000, 2**63 - 1, -(2**63) + 1])
def test_years_beyond_those_of_datetimes(tmp_path: Path, stored: int) -> None:
    """They were a ValueError, an OverflowError or a panic of polars as soon as a time was shown."""
    times = pl.Series("time", [1_577_836_800_000_000, stored]).cast(pl.Datetime("us"))
    path = tmp_path / "a.parquet"
    pl.DataFrame([times, pl.Series("a", [1.0, 2.0])]).write_parquet(path)
    data = read_sensors(path, on_error="repair", max_loss=1)
    assert data.span == (datetime(2020, 1, 1, tzinfo=UTC),) * 2
    assert data.check().report.count("bad-time") == 1
    with pytest.raises(InputError, match="rows without a usable time: 1"):
        window(read_sensors(path))
    with pytest.raises(InputError, match="row 1: rows without a usable time: 1"):
        SensorData.from_wide(pl.read_parquet(path))


@pytest.mark.parametrize(
    ("dtype", "form"), [(pl.Datetime("ms"), None), (pl.Int64, "s"), (pl.Int64, "ms"), (pl.Date, None)]
)
def test_times_that_do_not_fit_are_not_other_times(dtype: Any, form: str | None) -> None:
    """They wrapped around: 2**60 seconds were a time of 1970."""
    big = 2**31 - 1 if dtype == pl.Date else 2**60
    frame = pl.DataFrame({"time": pl.Series([18_262, big]).cast(dtype), "a": [1.0, 2.0]})
    with pytest.raises(InputError, match=r"is not a time|outside the years"):
        read_sensors(frame, time_format=form)


def test_windows_over_centuries_are_refused_at_once() -> None:
    times = [datetime(1000, 1, 1), datetime(2020, 1, 1)]
    data = SensorData.from_wide(pl.DataFrame({"time": times, "a": [1.0, 2.0]}))
    with pytest.raises(ConfigError, match=r"the rows span 1000-01-01T00:00:00 to 2020-01-01T00:00:00.*years"):
        window(data, "30min")


@pytest.mark.parametrize("text", ["9" * 5_000 + "d", "999999999d", "1" * 30 + "us", "٣h", 5, None, ["1h"]])
def test_absurd_durations(text: Any) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_duration(text)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    "time", ["0001-01-01T00:00+14:00", "9999-12-31T23:59-12:00", "", "\ud800", 5, None, [1], "x" * 9_000]
)
def test_absurd_dates(time: Any) -> None:
    with pytest.raises(InputError) as caught:
        as_utc(time)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("stored", [300_000_000_000_000, -62_170_000_000_000])
def test_readings_without_any_usable_time_are_not_an_empty_table(tmp_path: Path, stored: int) -> None:
    """Windows of lazily scanned data had no rows, and nothing was said."""
    times = pl.Series([stored + k * 3_600_000 for k in range(5)]).cast(pl.Datetime("ms"))
    path = tmp_path / "a.parquet"
    pl.DataFrame({"time": times, "a": [1.0, 2.0, 3.0, 4.0, 5.0]}).write_parquet(path)
    with pytest.raises(InputError, match="rows without a usable time: 5"):
        window(read_sensors(path), "1h")
    assert window(read_sensors(path, on_error="repair"), "1h").report.count("bad-time") == 5
