"""Every row of docs/records/bad-input.md: the error's words, or the counted repair."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from thence.data.readers import lines, read_sensors
from thence.data.readings.findings import MEANING
from thence.data.readings.sensors import SensorData
from thence.data.readings.windows import window
from thence.errors import InputError

T0 = datetime(2019, 1, 1, tzinfo=UTC)
GUIDE = Path(__file__).parents[3] / "docs" / "records" / "bad-input.md"


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def csv(folder: Path, *lines: str, name: str = "a.csv") -> Path:
    return write(folder, name, "\n".join(lines) + "\n")


def fails(source: Any, *words: str, **options: Any) -> None:
    with pytest.raises(InputError) as caught:
        read_sensors(source, **options)
    for word in words:
        assert word in str(caught.value), str(caught.value)


def repaired(source: Any, **options: Any) -> SensorData:
    return read_sensors(source, on_error="repair", **options)


def column(data: SensorData, name: str) -> list[Any]:
    return data.to_polars()[name].to_list()


def test_file_that_does_not_exist(tmp_path: Path) -> None:
    csv(tmp_path, "time,a", "2019-01-01,1", name="flows.csv")
    for options in ({}, {"on_error": "repair"}):
        fails(tmp_path / "flow.csv", str(tmp_path / "flow.csv"), "no such file", "did you mean 'flows.csv'?", **options)
    fails(tmp_path / "none" / "a.csv", "no such file", f"no such folder: '{tmp_path / 'none'}'")


def test_pattern_or_folder_without_files(tmp_path: Path) -> None:
    fails(tmp_path / "*.csv", "*.csv", "no file matches this pattern")
    fails(tmp_path, str(tmp_path), "no file with sensor data in this folder")
    fails([], "the list of sources is empty")
    write(tmp_path, "a.pdf", "x")
    fails(tmp_path / "a.pdf", "a.pdf", "unsupported file type '.pdf'", ".parquet")


@pytest.mark.parametrize("content", ["", "\n\n", "time,value\n"])
def test_empty_file(tmp_path: Path, content: str) -> None:
    empty = write(tmp_path, "b.csv", content)
    fails(empty, str(empty), ": no rows")
    fails(empty, "no readings in", str(empty), on_error="repair")
    csv(tmp_path, "time,value", "2019-01-01 00:00,1")
    data = repaired(tmp_path)
    assert data.report.count("empty-file") == 1 and str(empty) in str(data.report)
    assert data.ids == ("a", "b") and data.report.count("silent", sensor="b") == 1


def test_empty_parquet(tmp_path: Path) -> None:
    schema: Any = {"time": pl.Datetime("us", "UTC"), "a": pl.Float64}
    pl.DataFrame(schema=schema).write_parquet(tmp_path / "a.parquet")
    fails(tmp_path / "a.parquet", "a.parquet", ": no rows")
    (tmp_path / "b.parquet").write_bytes(b"")
    fails(tmp_path / "b.parquet", "b.parquet", ": no rows")
    fails(pl.DataFrame(schema=schema), ": no rows")


def test_unreadable_parquet(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pl.DataFrame({"time": [T0] * 1000, "a": range(1000)}).write_parquet(path)
    path.write_bytes(path.read_bytes()[:-100])
    for options in ({}, {"on_error": "repair"}):
        fails(path, str(path), "not a readable Parquet file", **options)


def test_parquet_damaged_inside_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    times = pl.datetime_range(T0, T0 + timedelta(days=9), "1m", eager=True, time_unit="us")
    pl.DataFrame({"time": times, "a": pl.Series(range(len(times))).shuffle(1) * 1.0}).write_parquet(path)
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 4000] = bytes(4000)
    path.write_bytes(bytes(content))
    with pytest.raises(InputError, match=re.escape(f"{path}: cannot be read")):
        window(read_sensors(path), "1h")


def test_unreadable_excel_and_missing_sheet(tmp_path: Path) -> None:
    pytest.importorskip("fastexcel")
    pytest.importorskip("xlsxwriter")
    fails(write(tmp_path, "a.xlsx", "no workbook"), "a.xlsx", "not a readable Excel file")
    pl.DataFrame({"time": [datetime(2019, 1, 1)], "a": [1]}).write_excel(tmp_path / "b.xlsx", worksheet="Flows")
    fails(tmp_path / "b.xlsx", "no sheet 'Flow'; sheets are 'Flows'", "did you mean 'Flows'?", sheet="Flow")


def test_text_in_an_excel_sheet_is_named_with_its_row(tmp_path: Path) -> None:
    xlsxwriter = pytest.importorskip("xlsxwriter")
    pytest.importorskip("fastexcel")
    with xlsxwriter.Workbook(tmp_path / "a.xlsx") as book:
        sheet = book.add_worksheet("Flows")
        sheet.write_row(0, 0, ["Timestamp", "p1"])
        for row, cell in enumerate([1.5, 2.5, "broken"], start=1):
            sheet.write_string(row, 0, f"2019-01-01 00:0{row}:00")
            sheet.write(row, 1, cell)
    fails(tmp_path / "a.xlsx", "sheet 'Flows', row 4: column 'p1': 'broken' is not a number")
    assert column(repaired(tmp_path / "a.xlsx"), "p1") == [1.5, 2.5, None]


def test_missing_column(tmp_path: Path) -> None:
    path = csv(tmp_path, "Timestamp,sensor,value", "2019-01-01 00:00,a,1")
    for options in ({}, {"on_error": "repair"}):
        fails(path, str(path), "no column 'time'; columns are 'Timestamp', 'sensor', 'value'", time="time", **options)
        fails(path, "no column 'vlue'", "did you mean 'value'?", sensor="sensor", value="vlue", **options)
    fails(csv(tmp_path, "time,x,y", "2019-01-01 00:00,1,2"), "no sensor column found", layout="long")


def test_no_time_column_or_two(tmp_path: Path) -> None:
    fails(csv(tmp_path, "a,b", "1,2", "3,4", name="n.csv"), "no time column found; columns are 'a', 'b'")
    several = csv(tmp_path, "Timestamp,Datetime,a", "2019-01-01,2019-01-01,1", name="b.csv")
    fails(
        several,
        "several columns may be the time: 'Timestamp' (2019-01-01), 'Datetime' (2019-01-01)",
        "time='Timestamp'",
    )


def test_headers_without_or_with_double_names(tmp_path: Path) -> None:
    fails(
        csv(tmp_path, "time,a,b,a", "2019-01-01 00:00,1,2,3"), "a.csv, line 1: duplicate column name 'a' (columns 2, 4)"
    )
    bare = read_sensors(csv(tmp_path, "2019-01-01 00:00,1,2", "2019-01-01 00:05,1,2"))
    assert bare.ids == ("column 2", "column 3") and "no header: sensors are named by the numbers" in str(bare.report)
    fails(csv(tmp_path, "2019-01-01 00:00,1,2,a", "2019-01-01 00:05,1,2,b"), "no header, so the sensors")
    spaces = read_sensors(csv(tmp_path, "time, a ,b  ", "2019-01-01 00:00,1,2"))
    assert spaces.ids == ("a", "b") and "removed spaces around 2 column names" in str(spaces.report)
    unnamed = read_sensors(csv(tmp_path, ",time,a", "0,2019-01-01 00:00,1", "1,2019-01-01 00:05,2"))
    assert unnamed.ids == ("a",) and "column 1 has no name" in str(unnamed.report)


def test_no_separator(tmp_path: Path) -> None:
    fails(csv(tmp_path, "time-a", "20190101-1"), "no separator splits the first line into columns: 'time-a'")


def test_lines_with_too_many_or_too_few_fields(tmp_path: Path) -> None:
    long = csv(tmp_path, "time,a,b", "2019-01-01 00:00,1,2", "2019-01-01 00:05,3,4,5")
    fails(long, f"{long}, line 3: expected 3 fields, got 4")
    short = csv(tmp_path, "time,a,b", "", "2019-01-01 00:00,1", "2019-01-01 00:05,3,4", name="b.csv")
    fails(short, f"{short}, line 3: expected 3 fields, got 2")
    for path, wanted in ((long, [2.0, 4.0]), (short, [None, 4.0])):
        data = repaired(path)
        assert data.report.count("ragged") == 1 and column(data, "b") == wanted
    assert repaired(short).report.count("blank") == 1


@pytest.mark.parametrize("chunk", [10, 41, 100])
def test_a_ragged_line_is_found_wherever_it_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    monkeypatch.setattr(lines, "CHUNK_BYTES", chunk)
    rows = [f"2019-01-01 00:{k:02},{k},{k}" for k in range(60)]
    assert len(read_sensors(csv(tmp_path, "time,a,b", *rows))) == 2
    for at in (0, 1, 30, 59):
        broken = [*rows[:at], f"2019-01-01 00:{at:02},1", *rows[at + 1 :]]
        path = csv(tmp_path, "time,a,b", *broken)
        fails(path, f"{path}, line {at + 2}: expected 3 fields, got 2")


def test_rows_without_a_time_or_with_a_broken_one(tmp_path: Path) -> None:
    empty = csv(tmp_path, "time,a", "2019-01-01 00:00,1", ",2")
    fails(empty, f"{empty}, line 3: missing time in column 'time'")
    broken = csv(tmp_path, "time,a", "2019-01-01 00:00,1", "", "2019-13-01 00:00,2", name="b.csv")
    fails(broken, f"{broken}, line 4: column 'time': '2019-13-01 00:00' is not a time")
    for path in (empty, broken):
        data = repaired(path)
        assert data.report.count("bad-time") == 1 and column(data, "a") == [1.0]
    unknown = csv(tmp_path, "time,a", "noon,1", name="c.csv")
    fails(unknown, "holds times in an unknown format, such as 'noon'", "time_format=", time="time")


def test_lazy_parquet_with_broken_times_is_found_when_windowed(tmp_path: Path) -> None:
    pl.DataFrame({"time": ["2019-01-01 00:00", "soon"], "a": [1.0, 2.0]}).write_parquet(tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r"a\.parquet: rows without a usable time: 1"):
        window(read_sensors(tmp_path / "a.parquet"), "1h")
    table = window(repaired(tmp_path / "a.parquet"), "1h")
    assert table.report.count("bad-time") == 1 and table.values.tolist() == [[1.0]]


def test_dates_that_mean_two_things(tmp_path: Path) -> None:
    path = csv(tmp_path, "time,a", "3/4/2017 0:00,1")
    for options in ({}, {"on_error": "repair"}):
        fails(
            path,
            "column 'time' holds dates that may be day-first or month-first: "
            "'3/4/2017 0:00' is 3 April 2017 or 4 March 2017",
            "pass time_format='day-first' or time_format='month-first'",
            **options,
        )


def test_times_with_and_without_a_zone(tmp_path: Path) -> None:
    path = csv(tmp_path, "time,a", "2019-01-01T00:00:00+00:00,1", "2019-01-01T02:00:00,2")
    fails(path, str(path), "mixes 1 times without a time zone ('2019-01-01T02:00:00') and 1 with one", "pass timezone=")
    given = read_sensors(path, timezone="Europe/Berlin")
    assert given.to_polars()["time"].to_list() == [T0, T0 + timedelta(hours=1)]
    data = repaired(path)
    assert data.report.count("naive-time") == 1
    assert data.to_polars()["time"].to_list() == [T0, T0 + timedelta(hours=2)]


def test_files_with_and_without_a_zone(tmp_path: Path) -> None:
    naive = csv(tmp_path, "time,a", "2019-01-01 00:00,1")
    zoned = csv(tmp_path, "time,b", "2019-01-01T00:00:00Z,1", name="b.csv")
    fails([naive, zoned], f"{naive}: times have no time zone, but those of {zoned} have", "pass timezone=")
    assert read_sensors([naive, zoned], timezone="UTC").to_polars().rows() == [(T0, 1.0, 1.0)]


def test_several_offsets_are_converted_and_said(tmp_path: Path) -> None:
    data = read_sensors(csv(tmp_path, "time,a", "2019-03-31T01:00:00+01:00,1", "2019-03-31T03:00:00+02:00,2"))
    assert [t.hour for t in data.to_polars()["time"]] == [0, 1]
    assert "times with offsets +01:00, +02:00 converted to UTC" in str(data.report)


def test_local_times_that_do_not_exist_or_exist_twice(tmp_path: Path) -> None:
    spring = csv(tmp_path, "time,a", "2019-03-31 01:30,1", "2019-03-31 02:30,2")
    fails(spring, f"{spring}, line 3", "2019-03-31 02:30:00 does not exist or is ambiguous", timezone="Europe/Berlin")
    data = repaired(spring, timezone="Europe/Berlin")
    assert data.report.count("bad-time") == 1 and column(data, "a") == [1.0]
    autumn = csv(tmp_path, "time,a", "2019-10-27 02:30,1", "2019-10-27 03:30,2", name="b.csv")
    fails(autumn, f"{autumn}, line 2", "is ambiguous in the time zone Europe/Berlin", timezone="Europe/Berlin")
    data = repaired(autumn, timezone="Europe/Berlin")
    assert data.report.count("twice-time") == 1
    assert [(t.hour, t.minute) for t in data.to_polars()["time"]] == [(0, 30), (2, 30)]


def test_numbers_that_are_no_unix_times(tmp_path: Path) -> None:
    steps = csv(tmp_path, "time,a", "1,10", "2,20")
    fails(steps, "column 'time' spans 1 to 2, which are not Unix times of one unit", "pass time_format='s'")
    assert [t.second for t in read_sensors(steps, time_format="s").to_polars()["time"]] == [1, 2]
    fails(steps, "column 'time': '1' is not a time", time_format="%Y")
    mixed = csv(tmp_path, "time,a", "1489017527,10", "1489017527000,20", name="b.csv")
    fails(mixed, "spans 1489017527 to 1489017527000")


LONG = ("time,sensor,value", "2019-01-01 00:05,a,1", "2019-01-01 00:00,a,2", "2019-01-01 00:10,a,3")
WIDE = ("time,a", "2019-01-01 00:05,1", "2019-01-01 00:00,2", "2019-01-01 00:10,3")


@pytest.mark.parametrize("lines", [LONG, WIDE])
def test_rows_out_of_order(tmp_path: Path, lines: tuple[str, ...]) -> None:
    data = read_sensors(csv(tmp_path, *lines))
    assert data.report.count("disordered") == 1 and column(data, "a") == [2.0, 1.0, 3.0]


def test_readings_given_twice(tmp_path: Path) -> None:
    wide = csv(tmp_path, "time,a,b", "2019-01-01 00:00,1,", "2019-01-01 00:00,1,5")
    long = csv(tmp_path, LONG[0], "2019-01-01 00:00,a,1", "2019-01-01 00:00,b,5", "2019-01-01 00:00,a,1", name="b.csv")
    for path in (wide, long):
        data = read_sensors(path)
        assert data.to_polars().rows() == [(T0, 1.0, 5.0)]
        assert data.report.count("repeated", sensor="a") == 1 and data.report.count("repeated") == 1


@pytest.mark.parametrize(
    "lines",
    [
        ("time,a,b", "2019-01-01 00:00,1,9", "", "2019-01-01 00:00,2,9"),
        ("time,sensor,value", "2019-01-01 00:00,a,1", "", "2019-01-01 00:00,a,2"),
    ],
)
def test_readings_that_contradict_each_other(tmp_path: Path, lines: tuple[str, ...]) -> None:
    path = csv(tmp_path, *lines)
    fails(
        path,
        f"{path}, line 4: sensor 'a' has two readings at 2019-01-01T00:00:00+00:00: 1.0 ({path}, line 2) and 2.0",
        "on_error='repair'",
    )
    data = repaired(path)
    assert column(data, "a") == [2.0] and data.report.count("conflicting", sensor="a") == 1


def test_states_that_contradict_each_other(tmp_path: Path) -> None:
    path = csv(tmp_path, "time,door", "2019-01-01 00:00,open", "2019-01-01 00:00,shut")
    fails(path, "sensor 'door' has two readings", "'open'", "'shut'")
    assert column(repaired(path), "door") == ["shut"]


@pytest.mark.parametrize("header", ["time,a", "time,sensor,value"])
def test_files_that_overlap(tmp_path: Path, header: str) -> None:
    cell = "" if header == "time,a" else "a,"
    one = csv(tmp_path, header, f"2019-01-01 00:00,{cell}1", f"2019-01-01 00:05,{cell}2", name="one.csv")
    same = csv(tmp_path, header, f"2019-01-01 00:05,{cell}2", f"2019-01-01 00:10,{cell}3", name="same.csv")
    other = csv(tmp_path, header, f"2019-01-01 00:05,{cell}7", name="other.csv")
    data = read_sensors([one, same])
    assert column(data, "a") == [1.0, 2.0, 3.0] and data.report.count("repeated") == 1
    fails(
        [one, other], f"{other}, line 2: sensor 'a' has two readings", f"2.0 ({one}, line 3)", "name='{file}/{column}'"
    )
    assert column(repaired([one, other]), "a") == [1.0, 7.0]
    assert column(repaired([other, one]), "a") == [1.0, 2.0]


def test_gaps_are_missing_and_never_zero(tmp_path: Path) -> None:
    words = ["", "NA", "NaN", "null", "#VALUE!", " "]
    lines = [f"2019-01-01 00:0{k},{word},1" for k, word in enumerate(words)]
    data = read_sensors(csv(tmp_path, "time,a,b", *lines, "2019-01-01 00:09,5,1"))
    assert column(data, "a") == [None] * 6 + [5.0] and data.report.count("missing", sensor="a") == 6
    table = window(data, "1min", empty="keep")
    assert str(table.values[:, 0].tolist()) == str([float("nan")] * 9 + [5.0])
    own = read_sensors(csv(tmp_path, "time,a", "2019-01-01 00:00,-99", "2019-01-01 00:05,1"), missing=["-99"])
    assert column(own, "a") == [None, 1.0]


def test_infinite_values(tmp_path: Path) -> None:
    data = read_sensors(csv(tmp_path, "time,a", "2019-01-01 00:00,inf", "2019-01-01 00:05,-inf", "2019-01-01 00:10,1"))
    assert column(data, "a") == [None, None, 1.0] and data.report.count("infinite", sensor="a") == 2


def test_text_in_a_numeric_column(tmp_path: Path) -> None:
    rows = [f"2019-01-01 {m // 60:02}:{m % 60:02},{m}" for m in range(1200)]
    rows[1100] = "2019-01-01 18:20,error 7"
    path = csv(tmp_path, "time,a", *rows)
    fails(
        path, f"{path}, line 1102: column 'a': 'error 7' is not a number, but 1,199 of its 1,200 cells are", "missing="
    )
    data = repaired(path)
    assert data.report.count("not-a-number", sensor="a") == 1
    assert column(data, "a")[1100] is None and column(data, "a")[1101] == 1101.0
    assert read_sensors(path, categorical=["a"]).sensor("a").categorical
    assert column(read_sensors(path, missing=["error 7"]), "a")[1100] is None


def test_text_in_a_numeric_sensor_of_a_long_table(tmp_path: Path) -> None:
    path = csv(tmp_path, LONG[0], *(f"2019-01-01 00:0{k},a,{v}" for k, v in enumerate(["1", "2", "off"])))
    fails(path, f"{path}, line 4: column 'a': 'off' is not a number")
    assert repaired(path).report.count("not-a-number", sensor="a") == 1
    frame = pl.DataFrame({"time": [T0] * 3, "sensor": ["a", "b", "a"], "value": ["1", "2", "off"]})
    frame.write_parquet(tmp_path / "a.parquet")
    fails(tmp_path / "a.parquet", "a.parquet, row 2: column 'a': 'off' is not a number")


def test_a_column_of_mostly_text_is_no_number_even_when_repairing(tmp_path: Path) -> None:
    path = csv(tmp_path, "time,a", *(f"2019-01-01 00:0{k},{v}" for k, v in enumerate(["on", "off", "1"])))
    for options in ({}, {"on_error": "repair"}):
        fails(path, "'on' is not a number", "pass categorical=['a'] if these are states", **options)


def test_points_in_a_file_with_decimal_commas(tmp_path: Path) -> None:
    both = csv(tmp_path, "time;a;b", "2019-01-01 00:00;1,5;1.234")
    fails(both, "decimal commas ('1,5') and decimal points ('1.234')", "pass decimal=")
    fails(both, f"{both}, line 2: column 'b': '1.234' is not a number", decimal=",")
    thousands = csv(tmp_path, "time;a", "2019-01-01 00:00;1,5", "2019-01-01 00:05;1.234,5", name="b.csv")
    fails(thousands, f"{thousands}, line 3: column 'a': '1.234,5' is not a number")


def test_a_sensor_without_readings(tmp_path: Path) -> None:
    wide = csv(tmp_path, "time,a,b", "2019-01-01 00:00,1,", "2019-01-01 00:05,2,")
    long = csv(tmp_path, LONG[0], "2019-01-01 00:00,a,1", "2019-01-01 00:05,b,", name="b.csv")
    pl.read_csv(wide, try_parse_dates=True).write_parquet(tmp_path / "a.parquet")
    for source in (wide, long, tmp_path / "a.parquet"):
        data = read_sensors(source)
        assert data.ids == ("a", "b") and set(column(data, "b")) == {None}
        report = window(data, "5min").report
        assert report.count("silent", sensor="b") == 1 and report.count("missing") == 0


def test_rows_without_a_sensor_name(tmp_path: Path) -> None:
    path = csv(tmp_path, LONG[0], "2019-01-01 00:00,a,1", "2019-01-01 00:05,,2", "2019-01-01 00:10, ,3")
    fails(path, f"{path}, line 3: missing sensor name in column 'sensor'")
    data = repaired(path)
    assert data.report.count("no-sensor") == 2 and data.ids == ("a",) and column(data, "a") == [1.0]


def test_sensor_names_with_spaces_are_one_sensor(tmp_path: Path) -> None:
    path = csv(tmp_path, LONG[0], "2019-01-01 00:00,a,1", "2019-01-01 00:05,a ,2")
    assert column(read_sensors(path), "a") == [1.0, 2.0]


def test_a_sensor_that_is_numeric_here_and_a_state_there(tmp_path: Path) -> None:
    one = csv(tmp_path, "time,a", "2019-01-01 00:00,1")
    two = csv(tmp_path, "time,a", "2019-01-01 00:05,open", name="b.csv")
    for options in ({}, {"on_error": "repair"}):
        fails([one, two], f"{two}: sensor 'a' reads states here and numbers in {one}", **options)
    assert column(read_sensors([one, two], categorical=["a"]), "a") == ["1", "open"]
    silent = csv(tmp_path, "time,a", "2019-01-01 00:10,", name="c.csv")
    assert column(read_sensors([silent, two]), "a") == ["open", None]


def test_columns_taken_for_states_are_said(tmp_path: Path) -> None:
    path = csv(tmp_path, "time,door,comment,a", "2019-01-01 00:00,open,why,1")
    note = "read as states, since no cell is a number, in 2 sensors: 'door', 'comment'"
    assert note in read_sensors(path).report.notes
    named = read_sensors(path, categorical=["door"], ignore=["comment"])
    assert not any("read as states" in note for note in named.report.notes)


def test_columns_that_are_no_readings() -> None:
    frame = pl.DataFrame({"time": [T0], "a": [1.0], "seen": [T0], "list": [[1, 2]]})
    fails(frame, "column 'seen' must hold numbers or categories, got Datetime", "ignore=['seen']", time="time")
    data = read_sensors(frame, time="time", ignore=["seen", "list"])
    assert data.ids == ("a",) and "ignored columns: 'seen', 'list'" in str(data.report)


def test_the_guide_explains_every_finding() -> None:
    text = GUIDE.read_text(encoding="utf-8")
    assert [what for what in MEANING if f"`{what}`" not in text] == []
