"""Dates written as plain figures are not taken for unix times, and unix times still are."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from thence.data.readers import read_sensors
from thence.errors import ConfigError, InputError

COMPACT = [
    ("%Y%m%d", "20200101", "20200131"),
    ("%Y%m%d%H", "2020010100", "2020013123"),
    ("%Y%m%d%H%M", "202001010000", "202001312359"),
    ("%Y%m%d%H%M%S", "20200101000000", "20200131235959"),
    ("%Y%m%d%H%M%S%3f", "20200101000000000", "20200131235959999"),
]


def table(folder: Path, *times: str) -> Path:
    path = folder / "a.csv"
    path.write_text("time,a\n" + "".join(f"{time},1\n" for time in times), encoding="utf-8")
    return path


@pytest.mark.parametrize(("time_format", "first", "last"), COMPACT)
def test_compact_dates_are_asked_for_and_read(tmp_path: Path, time_format: str, first: str, last: str) -> None:
    """202001010000 was read as unix milliseconds, in 1976; the format that would help was refused."""
    texts, numbers = [first, last], [int(first), int(last)]
    floats = pl.DataFrame({"time": [*map(float, numbers)], "a": [1, 2]})
    sources = [
        table(tmp_path, first, last),
        pl.DataFrame({"time": texts, "a": [1, 2]}),
        pl.DataFrame({"time": numbers, "a": [1, 2]}),
        pl.DataFrame({"time": numbers, "a": [1, 2]}).lazy(),
        *([floats] if len(first) < 16 else []),
    ]
    for source in sources:
        if len(first) > 8 or not isinstance(source, pl.DataFrame) or source.schema["time"] != pl.String:
            with pytest.raises(InputError, match=r"may be dates or Unix times") as caught:
                read_sensors(source, time="time")
            assert f"time_format='{time_format}'" in str(caught.value)
        span = read_sensors(source, time="time", time_format=time_format).span
        assert span is not None and span[0] == datetime(2020, 1, 1, tzinfo=UTC)
        assert span[1].date() == datetime(2020, 1, 31).date()


def test_an_impossible_hour_does_not_make_a_unix_time_of_dates(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"may be dates or Unix times"):
        read_sensors(table(tmp_path, "202001010000", "202001012400"))


@pytest.mark.parametrize("first", [123456789, 1489017527, 1900000000, 1489017527000, 946684800000])
def test_unix_times_are_still_read(tmp_path: Path, first: int) -> None:
    span = read_sensors(table(tmp_path, str(first), str(first + 60))).span
    assert span is not None
    assert span[0] == datetime.fromtimestamp(first / (1 if first < 1e11 else 1000), tz=UTC)
    said = read_sensors(table(tmp_path, "202001010000", "202001020000"), time_format="ms").span
    assert said is not None and said[0].year == 1976


def test_zeros_that_numbers_have_lost(tmp_path: Path) -> None:
    """01112020 is the first of November, and not a day of the year 20."""
    frame = pl.DataFrame({"time": [1022020, 1112020], "a": [1, 2]})
    for source in (table(tmp_path, "01022020", "01112020"), frame, frame.lazy()):
        span = read_sensors(source, time_format="%d%m%Y").span
        assert span == (datetime(2020, 2, 1, tzinfo=UTC), datetime(2020, 11, 1, tzinfo=UTC))
    with pytest.raises(InputError, match=r"row 1: column 'time': '1112020\.5' is not a time"):
        read_sensors(pl.DataFrame({"time": [1022020.0, 1112020.5], "a": [1, 2]}), time_format="%d%m%Y")


def test_numbers_are_not_filled_up_to_years() -> None:
    with pytest.raises(InputError, match=r"row 0: column 'time': '1' is not a time"):
        read_sensors(pl.DataFrame({"time": [1, 2], "a": [1, 2]}), time_format="%Y")


@pytest.mark.parametrize("time_format", ["minutes", "%Y-%m-%d %I"])
def test_formats_that_read_nothing(tmp_path: Path, time_format: str) -> None:
    with pytest.raises(ConfigError, match=f"invalid time_format '{time_format}'"):
        read_sensors(table(tmp_path, "1", "2"), time_format=time_format)


@pytest.mark.parametrize("time_format", ["%s", "%s%.f"])
def test_unix_seconds_as_a_format_have_a_zone(tmp_path: Path, time_format: str) -> None:
    """With a time zone they were taken as local, an hour or two off, and a note said so."""
    numbers = [1577872800, 1577872860]
    frame = pl.DataFrame({"time": numbers, "a": [1, 2]})
    for source in (table(tmp_path, *map(str, numbers)), frame, frame.lazy(), frame.with_columns(pl.col("time") + 0.0)):
        data = read_sensors(source, time_format=time_format, timezone="Europe/Berlin")
        assert data.span is not None and data.span[0] == datetime(2020, 1, 1, 10, tzinfo=UTC)
        assert data.report.notes == ()


@pytest.mark.parametrize("options", [{}, {"time_format": "ns"}])
def test_nanoseconds_in_texts_are_exact(tmp_path: Path, options: dict[str, str]) -> None:
    """States in a long file make texts of all columns; the times then went through floats and lost a microsecond."""
    path = tmp_path / "a.csv"
    path.write_text("time,sensor,value\n1577872800123456789,a,1\n1577872860123456789,b,2\n", encoding="utf-8")
    for categorical in ([], ["a"]):
        span = read_sensors(path, categorical=categorical, **options).span  # type: ignore[arg-type]
        assert span is not None and span[0].microsecond == 123456
