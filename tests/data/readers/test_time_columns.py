"""Which column is the time: one that tells the rows apart; a date and a time of day are joined."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from thence.data.readers import read_sensors
from thence.data.readings.sensors import SensorData
from thence.errors import InputError

HOURS = [datetime(2019, 1, 30, tzinfo=UTC) + timedelta(hours=h) for h in range(48)]


def hours(form: str) -> list[str]:
    return [hour.strftime(form) for hour in HOURS]


def times(data: SensorData) -> list[datetime]:
    found: list[datetime] = data.to_polars()["time"].to_list()
    return found


def sources(folder: Path, **columns: Any) -> list[Any]:
    frame = pl.DataFrame(columns)
    frame.write_csv(folder / "a.csv", separator=";")
    return [folder / "a.csv", frame, frame.lazy()]


@pytest.mark.parametrize("form", ["%Y-%m-%d", "%d/%m/%Y", "%m/%d/%y", "%d.%m.%Y", "%d-%b-%Y"])
@pytest.mark.parametrize("clock", ["%H:%M", "%H:%M:%S", "%I:%M %p"])
@pytest.mark.parametrize("names", [("Date", "Time"), ("Datum", "Uhrzeit"), ("time", "date")])
def test_a_date_and_a_time_of_day_are_joined(tmp_path: Path, form: str, clock: str, names: tuple[str, str]) -> None:
    """Once this was an error that asked to join them."""
    dates, clocks = names if names[0] != "time" else names[::-1]
    columns = {dates: hours(form), clocks: hours(clock), "a": range(48)}
    for source in sources(tmp_path, **{name: columns[name] for name in (*names, "a")}):
        data = read_sensors(source)
        assert data.ids == ("a",) and times(data) == HOURS
        assert f"times joined from the columns '{dates}' and '{clocks}'" in str(data.report)
        assert times(read_sensors(source, time=dates)) == HOURS == times(read_sensors(source, time=clocks))


def test_dates_and_times_of_spreadsheets_are_joined() -> None:
    days: list[Any] = [hour.date() for hour in HOURS]
    midnights = [datetime(day.year, day.month, day.day) for day in days]
    clocks = [time(hour.hour) for hour in HOURS]
    stored = [datetime.combine(date(1899, 12, 31), clock) for clock in clocks]
    for day in (days, midnights, hours("%d/%m/%Y")):
        for clock in (clocks, stored, hours("%H:%M")):
            frame = pl.DataFrame({"Date": day, "Time": clock, "a": range(48)})
            assert times(read_sensors(frame)) == HOURS


def test_a_missing_time_of_day_is_a_missing_time() -> None:
    frame = pl.DataFrame({"Date": ["2019-01-01"] * 2, "Time": ["00:00", None], "a": [1, 2]})
    with pytest.raises(InputError, match="row 1: missing time in column 'Date'"):
        read_sensors(frame)


def test_an_ignored_time_of_day_is_not_joined(tmp_path: Path) -> None:
    frame = pl.DataFrame({"Date": ["2019-01-01", "2019-01-02"], "Time": ["00:05", "00:10"], "a": [1, 2]})
    assert [t.minute for t in times(read_sensors(frame, ignore=["Time"]))] == [0, 0]


@pytest.mark.parametrize("stamp", ["Timestamp", "recorded", "Date/Time"])
def test_a_full_time_stamp_beside_a_date_is_the_time(tmp_path: Path, stamp: str) -> None:
    """The date was taken, all readings of a day conflicted, and the advice was to drop all but the last."""
    for source in sources(tmp_path, Date=hours("%Y-%m-%d"), **{stamp: hours("%Y-%m-%d %H:%M:%S"), "a": range(48)}):
        data = read_sensors(source)
        assert data.ids == ("a",) and times(data) == HOURS
        assert "ignored columns: 'Date'" in str(data.report)


def test_temporal_columns_are_told_apart_as_well() -> None:
    frame = pl.DataFrame({"date": [h.date() for h in HOURS], "stamp": [h.replace(tzinfo=None) for h in HOURS]})
    assert times(read_sensors(frame.with_columns(a=pl.int_range(48)))) == HOURS


def test_rows_of_a_long_table_are_told_apart_per_sensor(tmp_path: Path) -> None:
    twice = [text for text in hours("%Y-%m-%d %H:%M") for _ in "ab"]
    days = [text[:10] for text in twice]
    for source in sources(tmp_path, date=days, at=twice, sensor=["a", "b"] * 48, value=range(96)):
        data = read_sensors(source)
        assert data.ids == ("a", "b") and times(data) == HOURS


def test_a_date_that_tells_all_rows_apart_stays_the_time(tmp_path: Path) -> None:
    days = [f"2019-01-{day:02}" for day in range(1, 29)]
    frame = pl.DataFrame({"date": days, "a": range(28), "serviced": ["2018-05-01 10:00"] * 28})
    data = read_sensors(frame)
    assert data.ids == ("a", "serviced") and times(data)[1] == datetime(2019, 1, 2, tzinfo=UTC)


def test_repeated_rows_do_not_make_another_column_the_time() -> None:
    """Neither column tells the rows apart: they were exported twice."""
    frame = pl.DataFrame(
        {"time": hours("%Y-%m-%d %H:%M") * 2, "a": [*range(48)] * 2, "changed": ["2018-05-01 10:00"] * 96}
    )
    assert read_sensors(frame).report.count("repeated") > 0


def test_two_columns_that_tell_all_rows_apart_are_asked_about() -> None:
    local = [(hour + timedelta(hours=1)).strftime("%Y-%m-%d %H:%M") for hour in HOURS]
    frame = pl.DataFrame({"datetime": hours("%Y-%m-%d %H:%M"), "timestamp": local, "a": range(48)})
    with pytest.raises(InputError, match=r"'datetime' \(2019-01-30 00:00\), 'timestamp' \(2019-01-30 01:00\)"):
        read_sensors(frame)
    assert read_sensors(frame, time="datetime", ignore=["timestamp"]).ids == ("a",)


@pytest.mark.parametrize("day", ["%Y-%m-%d", "%Y%m%d", "%d/%m/%Y"])
def test_hours_as_numbers_are_joined_to_a_date_that_repeats(tmp_path: Path, day: str) -> None:
    path = tmp_path / "a.csv"
    for name, clocks in (("Hour", [str(h.hour) for h in HOURS]), ("Time", hours("%H%M"))):
        rows = "".join(f"{text},{clock},{k}\n" for k, (text, clock) in enumerate(zip(hours(day), clocks, strict=True)))
        path.write_text(f"Date,{name},a\n{rows}", encoding="utf-8")
        data = read_sensors(path)
        assert data.ids == ("a",) and times(data) == HOURS
    # Hours from 1 to 24 end with midnight.
    ends = [(h - timedelta(hours=1), h) for h in HOURS[1:]]
    rows = "".join(f"{first:{day}},{first.hour + 1},{k}\n" for k, (first, _) in enumerate(ends))
    path.write_text(f"Date,Hour,a\n{rows}", encoding="utf-8")
    assert times(read_sensors(path)) == [last for _, last in ends]


def test_an_hour_beside_a_date_of_its_own_is_a_reading() -> None:
    frame = pl.DataFrame({"date": [f"2019-01-{day:02}" for day in range(1, 29)], "hour": [17] * 28, "a": range(28)})
    data = read_sensors(frame)
    assert data.ids == ("hour", "a") and {t.hour for t in times(data)} == {0}


def test_an_error_names_the_times_and_how_many_values_they_have() -> None:
    """The error was about two readings of one sensor at one time."""
    frame = pl.DataFrame({"date": ["2019-01-01"] * 30, "due": ["2019-02-01", "2019-02-02"] * 15, "a": range(30)})
    with pytest.raises(InputError, match=r"tells the 30 rows apart; different values: 'due' 2, 'date' 1"):
        read_sensors(frame)


def test_calendar_columns_are_named_in_one_note_and_can_be_kept() -> None:
    """The first sentence of a run was that it is hour 7 if it is hour 7."""
    frame = pl.DataFrame(
        {
            "at": hours("%Y-%m-%dT%H:%MZ"),
            "Month": hours("%B"),
            "is_weekend": [hour.weekday() > 4 for hour in HOURS],
            "hr": [hour.hour for hour in HOURS],
            "No": range(48),
            "bldg_id": [17] * 48,
            "season": [21.5 + k for k in range(48)],
            "a": [k % 7 + 0.5 for k in range(48)],
        }
    )
    data = read_sensors(frame)
    assert data.ids == ("season", "a")
    left_out = [note for note in data.report.notes if "ignored columns" in note]
    assert len(left_out) == 1
    for words in ("'Month', 'is_weekend', 'hr' (calendar)", "'No' (row numbers)", "'bldg_id' (ids)"):
        assert words in left_out[0]
    assert "hr" in read_sensors(frame, numeric=["hr"]).ids
