"""Dates in every common writing: read the same, settled by the whole column, or an error that shows the readings."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.examples import examples
from thence.data.readers import read_sensors
from thence.data.readers.dates import looks_like_date
from thence.data.readings.sensors import SensorData
from thence.errors import ConfigError, InputError

DATES = {
    "iso": "%Y-%m-%d",
    "iso slashes": "%Y/%m/%d",
    "iso dots": "%Y.%m.%d",
    "british": "%d/%m/%Y",
    "british, two digits": "%d/%m/%y",
    "american": "%m/%d/%Y",
    "american, two digits": "%m/%d/%y",
    "german": "%d.%m.%Y",
    "german, two digits": "%d.%m.%y",
    "dashes": "%d-%m-%Y",
    "american dashes": "%m-%d-%Y",
    "names": "%d-%b-%Y",
    "names in capitals": "%d-%b-%Y",
    "short names": "%d %b %y",
    "long names": "%d %B %Y",
    "american names": "%B %d, %Y",
    "weekdays": "%a, %d %b %Y",
    "no signs": "%d%b%Y",
    "year and names": "%Y-%b-%d",
}
CLOCKS = ("%H:%M", "%H:%M:%S", "%H:%M:%S.%f", "%I:%M:%S %p", "%I:%M:%S%p")


def write_times(style: str, clock: str, border: str, zone: str, times: list[datetime]) -> list[str]:
    texts = [time.strftime(f"{DATES[style]}{border}{clock}") + zone for time in times]
    return [text.upper() for text in texts] if "capitals" in style else texts


def times_of(source: Any, **options: Any) -> list[datetime]:
    time: list[datetime] = read_sensors(source, **options).to_polars()["time"].to_list()
    return time


@given(
    style=st.sampled_from(sorted(DATES)),
    clock=st.sampled_from(CLOCKS),
    border=st.sampled_from([" ", "T", ", "]),
    zone=st.sampled_from(["", "Z", " UTC", "+02:00", " -0130"]),
    start=st.datetimes(datetime(1990, 1, 1), datetime(2040, 1, 1)),
    hours=st.integers(25, 60),
    lazy=st.booleans(),
)
@settings(max_examples=examples(300), deadline=None)
def test_every_common_writing_is_read(
    style: str, clock: str, border: str, zone: str, start: datetime, hours: int, lazy: bool
) -> None:
    """Forty steps of more than a day always have a day after the twelfth."""
    start = start.replace(second=0, microsecond=0)
    times = [start + timedelta(hours=hours) * k for k in range(40)]
    frame = pl.DataFrame({"time": write_times(style, clock, border, zone, times), "a": range(40)})
    offset = {"+02:00": timedelta(hours=2), " -0130": -timedelta(hours=1, minutes=30)}.get(zone, timedelta())
    wanted = [time.replace(tzinfo=timezone(offset)).astimezone(UTC) for time in times]
    assert times_of(frame.lazy() if lazy else frame) == wanted
    assert all(looks_like_date(text) for text in frame["time"])


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("20190131T000500Z", datetime(2019, 1, 31, 0, 5)),
        ("20190131T0005", datetime(2019, 1, 31, 0, 5)),
        ("2019-01-31T00:05:00,250", datetime(2019, 1, 31, 0, 5, 0, 250_000)),
        ("2019-1-31 0:05", datetime(2019, 1, 31, 0, 5)),
        ("31/Jan/2019:00:05:00 +0100", datetime(2019, 1, 30, 23, 5)),
        ("Thu Jan 31 00:05:00 2019", datetime(2019, 1, 31, 0, 5)),
        ("Thu, 31 Jan 2019 00:05:00 GMT", datetime(2019, 1, 31, 0, 5)),
        ("1/31/2019 1:05:00 p.m.", datetime(2019, 1, 31, 13, 5)),
        ("Sept. 3rd, 2019 5:00pm", datetime(2019, 9, 3, 17)),
        ("31.01.2019 - 10:15", datetime(2019, 1, 31, 10, 15)),
        ("31.12.2019 24:00", datetime(2020, 1, 1)),
        ("2019-12-31 24:00:00", datetime(2020, 1, 1)),
        ("31.1.2019", datetime(2019, 1, 31)),
        ("31/01/19 23", datetime(2019, 1, 31, 23)),
        ("2019-01-31T23", datetime(2019, 1, 31, 23)),
        ("99/12/31 10:00", datetime(1999, 12, 31, 10)),
    ],
)
def test_rarer_writings(tmp_path: Path, text: str, wanted: datetime) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f'time;a\n"{text}";1\n', encoding="utf-8")
    for source in (path, pl.DataFrame({"time": [text], "a": [1]}), pl.DataFrame({"time": [text], "a": [1]}).lazy()):
        assert times_of(source) == [wanted.replace(tzinfo=UTC)]


def csv(path: Path, *times: str) -> Path:
    path.write_text("time,a\n" + "".join(f'"{time}",{k}\n' for k, time in enumerate(times)), encoding="utf-8")
    return path


def test_one_day_after_the_twelfth_settles_the_file(tmp_path: Path) -> None:
    early = [f"{day:02}/03/14 00:00" for day in range(1, 13)]
    british = times_of(csv(tmp_path / "a.csv", *early, "13/03/14 00:00"))
    assert british == [datetime(2014, 3, day, tzinfo=UTC) for day in range(1, 14)]
    american = times_of(csv(tmp_path / "b.csv", *early, "03/13/14 00:00"))
    assert american[0] == datetime(2014, 1, 3, tzinfo=UTC)


def test_the_end_of_a_large_lazy_column_settles_it() -> None:
    """Only the first rows of a scanned file are a sample."""
    minutes = pl.datetime_range(datetime(2017, 3, 1), datetime(2017, 3, 13, 1), "1m", eager=True)
    texts = minutes.dt.strftime("%d/%m/%Y %H:%M")
    got = read_sensors(pl.DataFrame({"time": texts, "a": range(len(texts))}).lazy()).span
    assert got == (datetime(2017, 3, 1, tzinfo=UTC), datetime(2017, 3, 13, 1, tzinfo=UTC))
    ambiguous = pl.DataFrame({"time": texts, "a": range(len(texts))}).filter(pl.Series(minutes < datetime(2017, 3, 13)))
    with pytest.raises(InputError, match="'01/03/2017 00:00' is 1 March 2017 or 3 January 2017, '02/03/2017 00:00' is"):
        read_sensors(ambiguous.lazy())


def test_other_files_settle_a_file(tmp_path: Path) -> None:
    """A file for every half of a month: the first ones are ambiguous on their own."""
    csv(tmp_path / "1.csv", *(f"{day:02}/03/2017 00:00" for day in range(1, 13)))
    csv(tmp_path / "2.csv", *(f"{day:02}/03/2017 00:00" for day in range(13, 20)))
    data = read_sensors(tmp_path)
    assert data.span == (datetime(2017, 3, 1, tzinfo=UTC), datetime(2017, 3, 19, tzinfo=UTC))
    assert "1.csv: dates such as '01/03/2017 00:00' read day-first, as in other files" in str(data.report)
    csv(tmp_path / "3.csv", "03/25/2017 00:00")
    with pytest.raises(InputError, match=r"1\.csv: column 'time' holds dates that may be day-first or month-first"):
        read_sensors(tmp_path)
    assert read_sensors(tmp_path / "1.csv", time_format="month-first").span is not None


@pytest.mark.parametrize(
    ("order", "first"), [("day-first", (2004, 3, 5)), ("month-first", (2004, 5, 3)), ("year-first", (2005, 3, 4))]
)
def test_orders_can_be_given(tmp_path: Path, order: str, first: tuple[int, int, int]) -> None:
    path = csv(tmp_path / "a.csv", "05/03/04 1:00", "05/03/05 2:00")
    with pytest.raises(InputError, match="may be day-first or month-first or year-first"):
        read_sensors(path)
    assert times_of(path, time_format=order)[0] == datetime(*first, 1, tzinfo=UTC)
    with pytest.raises(ConfigError, match="'day-first', 'month-first' or 'year-first'"):
        read_sensors(path, time_format="dayfirst")


def test_years_of_two_and_of_four_digits(tmp_path: Path) -> None:
    """07 was read as the year 7."""
    path = csv(tmp_path / "a.csv", "28/08/2007 0:00", "29/08/07 0:00")
    for source in (path, pl.read_csv(path), pl.read_csv(path).lazy()):
        assert times_of(source) == [datetime(2007, 8, 28, tzinfo=UTC), datetime(2007, 8, 29, tzinfo=UTC)]


def test_equal_day_and_month_need_no_order(tmp_path: Path) -> None:
    path = csv(tmp_path / "a.csv", "01/01/2019 00:00", "01/01/2019 01:00")
    data: SensorData = read_sensors(path)
    assert data.span == (datetime(2019, 1, 1, tzinfo=UTC), datetime(2019, 1, 1, 1, tzinfo=UTC))
    assert data.report.notes == ("times without a time zone read as UTC",)


def test_dates_with_points_are_day_first_and_noted_if_in_doubt(tmp_path: Path) -> None:
    doubt = read_sensors(csv(tmp_path / "a.csv", "01.02.2019 00:00"))
    assert doubt.span is not None and doubt.span[0].month == 2
    assert "dates such as '01.02.2019 00:00' read day-first" in str(doubt.report)
    assert "day-first" not in str(read_sensors(csv(tmp_path / "b.csv", "31.01.2019 00:00")).report)


def test_a_cell_that_is_no_date_is_named(tmp_path: Path) -> None:
    path = csv(tmp_path / "a.csv", "31/01/2019 00:00", "32/01/2019 00:00")
    with pytest.raises(InputError, match=r"a\.csv, line 3: column 'time': '32/01/2019 00:00' is not a time"):
        read_sensors(path)


def test_names_of_time_zones_are_asked_for(tmp_path: Path) -> None:
    path = csv(tmp_path / "a.csv", "2019-07-01 00:00 XYZ")
    with pytest.raises(InputError, match=r"pass time_format='%Y-%m-%d %H:%M XYZ' or the like, and the time zone"):
        read_sensors(path)
    got = times_of(path, time_format="%Y-%m-%d %H:%M XYZ", timezone="Europe/Berlin")
    assert got == [datetime(2019, 6, 30, 22, tzinfo=UTC)]


def test_one_day_with_dashes_may_begin_with_the_year(tmp_path: Path) -> None:
    """15 January 2024 was read as 24 January 2015."""
    path = tmp_path / "a.csv"
    path.write_text("time,a\n" + "".join(f"24-01-15 {hour:02d}:00,{hour}\n" for hour in range(5)))
    with pytest.raises(InputError, match="is 24 January 2015 or 15 January 2024"):
        read_sensors(path)
    assert times_of(path, time_format="year-first")[0] == datetime(2024, 1, 15, tzinfo=UTC)
    path.write_text(path.read_text() + "24-01-16 00:00,1\n")
    assert times_of(path)[0] == datetime(2024, 1, 15, tzinfo=UTC)
