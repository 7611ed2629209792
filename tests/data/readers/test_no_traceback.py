"""Odd frames, broken files and odd options: an error that says what is wrong, not one of a library below."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from thence.data.readers import read_sensors
from thence.data.readings.sensors import Sensor
from thence.errors import ConfigError, InputError

TEXT = "time,a\n2020-01-01 00:00,1\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "a.csv"
    file.write_text(TEXT, encoding="utf-8")
    return file


def test_pandas_objects_with_missing_cells() -> None:
    pd = pytest.importorskip("pandas")
    index = pd.DatetimeIndex(["2020-01-01", "2020-01-02"])
    for gap in (pd.NA, pd.NaT, None, float("nan")):
        for cell, wanted in ((1, 1.0), ("open", "open")):
            frame = pd.DataFrame({"a": pd.Series([cell, gap], dtype=object, index=index)})
            assert read_sensors(frame).to_polars()["a"].to_list() == [wanted, None]
    for odd in ([1, 2], {1, 2}, object()):
        frame = pd.DataFrame({"a": pd.Series([odd, None], dtype=object, index=index)})
        with pytest.raises(InputError, match="column 'a' must hold numbers or categories"):
            read_sensors(frame)
    with pytest.raises(InputError, match="column 'a' must hold numbers or categories, got complex128"):
        read_sensors(pd.DataFrame({"a": [1 + 2j, 0j]}, index=index))


def test_pandas_series() -> None:
    pd = pytest.importorskip("pandas")
    series = pd.Series([1, 2], index=pd.DatetimeIndex(["2020-01-01", "2020-01-02"]), name="flow")
    assert read_sensors(series).to_polars()["flow"].to_list() == [1.0, 2.0]
    assert read_sensors([series, series.rename("level")]).ids == ("flow", "level")
    with pytest.raises(InputError, match="the series has no name"):
        read_sensors(series.rename(None))
    with pytest.raises(InputError, match="no time column found"):
        read_sensors(pd.Series([1, 2], name="flow"))
    with pytest.raises(InputError, match="cannot read sensor data from an object of type Series"):
        read_sensors(pl.Series([1, 2]))


def test_cut_off_and_damaged_gzip(tmp_path: Path) -> None:
    packed = gzip.compress(TEXT.encode() * 50)
    path = tmp_path / "a.csv.gz"
    for content in (packed[:-20], packed[:20] + bytes(9) + packed[29:]):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"a\.csv\.gz: (incomplete gzip file|cannot be read)"):
            read_sensors(path)


def test_a_table_of_kinds_in_another_encoding(path: Path, tmp_path: Path) -> None:
    table = tmp_path / "kinds.txt"
    table.write_bytes("sensor,kind,unit\na,temperature,°C\n".encode("cp1252"))
    assert read_sensors(path, kinds=table).sensors == (Sensor("a", "temperature", "°C"),)
    with pytest.raises(InputError, match=r"none\.csv: cannot be read"):
        read_sensors(path, kinds=tmp_path / "none.csv")


@pytest.mark.parametrize("entry", [("x", "y", "z"), ("x",), 7, ("x", None)])
def test_kinds_that_are_no_kinds(path: Path, entry: Any) -> None:
    with pytest.raises(ConfigError, match="kind of 'a' must be a string or a pair"):
        read_sensors(path, kinds={"a": entry})
    with pytest.raises(ConfigError, match="kind of 'a' must be a string or a pair"):
        read_sensors(path, kind_pattern={"a": entry})
    with pytest.raises(ConfigError, match="kind of 'a' must be a string or a pair"):
        read_sensors(path).with_kinds({"a": entry})


def test_kinds_as_a_frame_are_refused(path: Path) -> None:
    """They were ignored: the columns of the frame were taken for sensors without data."""
    frame: Any = pl.DataFrame({"sensor": ["a"], "kind": ["flow"]})
    with pytest.raises(ConfigError, match="kinds must be a mapping or a path, got DataFrame"):
        read_sensors(path, kinds=frame)
