"""Numbers that look like codes for missing readings: left out if several sensors share them, else noted."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from thence.data.readers import read_sensors
from thence.errors import InputError

TIMES = [datetime(2024, 1, 1) + timedelta(minutes=k) for k in range(100)]


def with_codes(code: float, *, every: int = 10, scale: float = 0.25) -> list[float]:
    return [code if k % every == 0 else 20 + scale * k for k in range(100)]


def codes_of(frame: pl.DataFrame, **options: object) -> list[str]:
    data = read_sensors(frame, **options)  # type: ignore[arg-type]
    return [note for note in data.report.notes if "looks like a code" in note]


@pytest.mark.parametrize("code", [-999.0, 9999.0, -9900.0, 32767.0, -99.9])
def test_a_code_is_noted_and_kept(code: float) -> None:
    frame = pl.DataFrame({"time": TIMES, "a": with_codes(code), "b": with_codes(21.0)})
    assert codes_of(frame) == [
        f"{code:g} looks like a code and not like a reading; missing={code:g} would leave it out of sensor 'a'"
    ]
    assert read_sensors(frame).to_polars()["a"].to_list() == frame["a"].to_list()
    assert codes_of(frame, missing=[code]) == []


def test_numbers_add_to_the_usual_words(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("time,a\n2024-01-01 00:00,NA\n2024-01-01 00:01,-999\n2024-01-01 00:02,5.5\n")
    assert read_sensors(path, missing=-999).to_polars()["a"].to_list() == [None, None, 5.5]
    with pytest.raises(InputError, match="'NA' is not a number"):
        read_sensors(path, missing=["-999", "none"])


def test_sensors_of_a_long_table_are_named_together() -> None:
    rows = [(time, id, with_codes(-999.0)[k]) for k, time in enumerate(TIMES) for id in ("a", "b")]
    rows += [(time, "c", float(k)) for k, time in enumerate(TIMES)]
    frame = pl.DataFrame(rows, schema=["time", "sensor", "value"], orient="row")
    assert [note.partition("out of ")[2] for note in codes_of(frame, codes=False)] == ["2 sensors: 'a', 'b'"]
    data = read_sensors(frame)
    assert "20 readings of 2 sensors: 'a', 'b' (codes=False keeps it)" in str(data.report)
    assert data.to_polars()["a"].null_count() == 10
    assert data.to_polars()["c"].to_list() == [float(k) for k in range(100)]


@pytest.mark.parametrize(
    "values",
    [
        with_codes(-999.0, every=100),  # once
        with_codes(99.9, scale=0.8),  # near the others
        with_codes(-998.0),
        [-999.0] * 100,  # nothing to compare with
        [k * 20.0 for k in range(49)] + [999.0] * 51,
    ],
)
def test_what_is_not_noted(values: list[float]) -> None:
    assert codes_of(pl.DataFrame({"time": TIMES, "a": values})) == []


def gauge(low: float, high: float, *, every: int, code: float, seed: int = 0) -> list[float]:
    """Rough readings with a code in some rows."""
    rng = np.random.default_rng(seed)
    return [code if k % every == 3 else round(float(x), 1) for k, x in enumerate(rng.uniform(low, high, 100))]


def test_what_several_sensors_share_is_left_out(tmp_path: Path) -> None:
    """Regression: "if NO2 is −200, then NOx is −200"."""
    columns = {
        "ozone": gauge(600, 1900, every=9, code=-200),
        "soot": gauge(0.1, 6, every=9, code=-200, seed=1),
        "valve": [-200 if k % 9 == 3 else k // 20 % 2 for k in range(100)],
        "outside": gauge(-15, 20, every=200, code=0, seed=2),
        "net": gauge(-300, 300, every=17, code=-250, seed=3),
    }
    path = tmp_path / "gauges.csv"
    pl.DataFrame({"time": TIMES, **columns}).write_csv(path)
    data = read_sensors(path)
    read = data.to_polars()
    assert {id: read[id].null_count() for id in columns} == {
        "ozone": 11,
        "soot": 11,
        "valve": 11,
        "outside": 0,
        "net": 0,
    }
    assert data.sensor("valve").categorical
    assert read["valve"].drop_nulls().unique().sort().to_list() == ["0", "1"]
    assert "33 readings of 3 sensors: 'ozone', 'soot', 'valve'" in str(data.report)
    kept = read_sensors(path, codes=False)
    assert kept.to_polars()["ozone"].null_count() == 0
    assert "missing=-200 would leave it out" in str(kept.report)


def test_scanned_files_are_read_without_codes(tmp_path: Path) -> None:
    path = tmp_path / "gauges.parquet"
    columns = {name: gauge(5, 60, every=9, code=9999.0, seed=k) for k, name in enumerate("xyz")}
    pl.DataFrame({"time": TIMES, **columns}).write_parquet(path)
    read = read_sensors(path).to_polars()
    assert [read[name].null_count() for name in "xyz"] == [11, 11, 11]


@pytest.mark.parametrize(
    "columns",
    [
        {"a": [k % 2 * 40.0 for k in range(100)], "b": [k % 2 * (40 + k / 9) for k in range(100)]},  # off is 0
        {name: [30.0 if k % 24 > 18 else 20 + k % 13 / 10 for k in range(100)] for name in "ab"},  # a setback
        {name: [-20.0 if k % 24 > 18 else k % 13 - 6.0 for k in range(100)] for name in "ab"},  # charging
        {name: [100.0 if k % 24 > 18 else k % 13 * 2.0 for k in range(100)] for name in "ab"},  # a damper
    ],
)
def test_what_several_sensors_share_may_be_a_reading(columns: dict[str, list[float]]) -> None:
    frame = pl.DataFrame({"time": TIMES, **columns})
    data = read_sensors(frame, numeric=list(columns))
    assert data.to_polars().select(*columns).equals(frame.select(*columns))
