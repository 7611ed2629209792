"""What was accepted and silently wrong, and what ended in an exception of a library below."""

from __future__ import annotations

import random
import zipfile
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from thence.data.readers import excel, read_sensors
from thence.data.readings.windows import window
from thence.errors import InputError

HOURS = [datetime(2020, 1, 1, hour) for hour in range(6)]


def write(folder: Path, text: str, name: str = "a.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def workbook(path: Path, *rows: list[Any]) -> Path:
    xlsxwriter = pytest.importorskip("xlsxwriter")
    pytest.importorskip("fastexcel")
    with xlsxwriter.Workbook(path) as book:
        forms = {
            datetime: book.add_format({"num_format": "yyyy-mm-dd hh:mm"}),
            time: book.add_format({"num_format": "hh:mm:ss"}),
            timedelta: book.add_format({"num_format": "[h]:mm:ss"}),
        }
        sheet = book.add_worksheet()
        for i, row in enumerate(rows):
            for j, cell in enumerate(row):
                sheet.write(i, j, cell, forms.get(type(cell)))
    return path


@pytest.mark.parametrize("rows", ["2020-01-01,1.5,2\n2020-01-02,bad,3\n", "2020-01-01,1,2\n2020-01-02,3,bad\n"])
def test_a_text_cell_in_a_headerless_file_makes_no_ids_of_readings(tmp_path: Path, rows: str) -> None:
    """The readings 1.5 and bad were sensors."""
    with pytest.raises(InputError, match=r"no header, and 'column \d' holds 1 numbers as well as text such as 'bad'"):
        read_sensors(write(tmp_path, rows))
    names = "2020-01-01,p1,2\n2020-01-02,bad,3\n"
    assert read_sensors(write(tmp_path, names)).ids == ("bad", "p1")


def test_a_sensor_named_twice_in_a_table_of_kinds(tmp_path: Path) -> None:
    """The last line won."""
    path = write(tmp_path, "time,a\n2020-01-01,1\n")
    table = write(tmp_path, 'sensor,kind,unit\na,"flow\nrate",m\na,level,m\n', "kinds.csv")
    with pytest.raises(InputError, match=r"kinds\.csv, line 4: sensor 'a' has another kind or unit in line 2"):
        read_sensors(path, kinds=table)
    same = write(tmp_path, "sensor,kind\na,flow\na,flow\n", "kinds.csv")
    assert read_sensors(path, kinds=same).sensor("a").kind == "flow"


def test_files_of_other_types_in_a_folder_are_noted(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    write(folder, "time,a\n2020-01-01,1\n")
    write(folder, "{}", "b.json")
    write(folder, "x", ".hidden")
    report = read_sensors(folder).report
    assert f"{folder}: 1 file of other types skipped: 'b.json'" in report.notes


@pytest.mark.parametrize("long", [False, True])
def test_a_cell_is_counted_once_in_a_repair(tmp_path: Path, long: bool) -> None:
    """Text in a column of numbers was also counted as missing, and in a dropped row with the row as well."""
    rows = [(f"{time}", f"{k}") for k, time in enumerate(HOURS * 4)]
    rows = [(f"2020-01-{1 + k // 6:02} {k % 6:02}:00", cell) for k, (_, cell) in enumerate(rows)]
    rows += [("2020-02-01 00:00", "x"), ("bad", "y"), ("2020-02-02 00:00", "")]
    lines = [f"{when},a,{cell}" if long else f"{when},{cell}" for when, cell in rows]
    text = ("time,sensor,value\n" if long else "time,a\n") + "\n".join(lines) + "\n"
    report = read_sensors(write(tmp_path, text), on_error="repair").report
    assert {what: report.count(what) for what in ("not-a-number", "bad-time", "missing")} == {
        "not-a-number": 1,
        "bad-time": 1,
        "missing": 1,
    }


@pytest.mark.parametrize("zone", ["+05:30", "-03:00", "+00:00", "Z", "Mars/Base"])
def test_parquet_with_fixed_offsets(tmp_path: Path, zone: str) -> None:
    """polars panicked; the times are stored in UTC whatever the zone."""
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    times = pa.array(HOURS, pa.timestamp("ms", zone))
    parquet.write_table(pa.table({"time": times, "a": [float(k) for k in range(6)], "b": ["x"] * 6}), path)
    data = read_sensors(path)
    assert data.span == (HOURS[0].replace(tzinfo=UTC), HOURS[-1].replace(tzinfo=UTC))
    assert window(data.select(["a"]), "1h").values[:, 0].tolist() == [0, 1, 2, 3, 4, 5]
    assert f"times of column 'time' converted from '{zone}' to UTC" in str(data.report)


def test_damaged_parquet_files_end_in_our_error(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Some were a panic of polars, which is no Exception."""
    good = tmp_path / "good.parquet"
    times = [datetime(2020, 1, 1) + timedelta(minutes=k) for k in range(500)]
    pl.DataFrame(
        {"time": times, "a": [k / 7 for k in range(500)], "s": [f"s{k % 7}" for k in range(500)]}
    ).write_parquet(good)
    whole, chance = good.read_bytes(), random.Random(7)
    path = tmp_path / "a.parquet"
    for _ in range(60):
        damaged = bytearray(whole)
        for _ in range(chance.choice([1, 3, 9])):
            damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
        path.write_bytes(damaged)
        try:
            data = read_sensors(path)
            data.summary()
            window(data, "10min")
        except InputError as error:
            assert "a.parquet" in str(error)
    capfd.readouterr()  # what polars prints when it panics


def test_truth_values_and_clock_times_in_workbooks(tmp_path: Path) -> None:
    """TRUE was 1.0, and a clock time a day of 1899."""
    mixed = workbook(tmp_path / "a.xlsx", ["time", "a"], [HOURS[0], 1.5], [HOURS[1], True], [HOURS[2], 2.5])
    with pytest.raises(InputError, match=r"row 3: column 'a': 'true' is not a number, but 2 of its 3 cells are"):
        read_sensors(mixed)
    clock = workbook(tmp_path / "b.xlsx", ["time", "a"], [HOURS[0], 1], [time(12, 30), 2], [HOURS[2], 3])
    with pytest.raises(InputError, match=r"row 3: column 'time': '12:30:00' is not a time"):
        read_sensors(clock)
    only = workbook(tmp_path / "c.xlsx", ["time", "a"], [time(11, 30), 1], [time(12, 30), 2])
    with pytest.raises(InputError, match="column 'time' holds times of day without a date"):
        read_sensors(only)
    states = workbook(tmp_path / "d.xlsx", ["time", "a"], [HOURS[0], True], [HOURS[1], False])
    assert read_sensors(states).to_polars()["a"].to_list() == ["1", "0"]


def test_columns_of_many_types_in_workbooks(tmp_path: Path) -> None:
    cells = [timedelta(hours=30), True, HOURS[3], 5, "x"]
    path = workbook(tmp_path / "a.xlsx", ["time", "a"], *([HOURS[k], cell] for k, cell in enumerate(cells)))
    with pytest.raises(InputError, match=r"sheet 'Sheet1'.*column 'a'"):
        read_sensors(path)


def test_a_far_cell_is_no_huge_sheet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It took all memory."""
    path = workbook(tmp_path / "a.xlsx", ["time", "a"], [HOURS[0], 1])
    with zipfile.ZipFile(path) as book:
        parts = {name: book.read(name) for name in book.namelist()}
    far = b'<row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData>'
    parts["xl/worksheets/sheet1.xml"] = parts["xl/worksheets/sheet1.xml"].replace(b"</sheetData>", far)
    with zipfile.ZipFile(path, "w") as book:
        for name, content in parts.items():
            book.writestr(name, content)
    with pytest.raises(InputError, match=r"spans 1,048,576 rows × 16,384 columns, up to cell XFD1048576"):
        read_sensors(path)
    monkeypatch.setattr(excel, "_CHUNK", 40)
    with pytest.raises(InputError, match="up to cell XFD1048576"):
        excel.check_sheet_sizes(path)


def test_damaged_and_empty_workbooks_end_in_our_error(tmp_path: Path) -> None:
    rows = [[HOURS[0] + timedelta(hours=k), k / 2, ("off", "on")[k % 2]] for k in range(20)]
    with zipfile.ZipFile(workbook(tmp_path / "good.xlsx", ["time", "a", "b"], *rows)) as book:
        parts = {name: book.read(name) for name in book.namelist()}
    chance = random.Random(11)
    path = tmp_path / "a.xlsx"
    for _ in range(60):
        name = chance.choice([name for name in parts if "sheet" in name or "workbook" in name or "shared" in name])
        content = bytearray(parts[name])
        at = chance.randrange(len(content))
        content[at : at + chance.randrange(20)] = chance.choice([b"", b"<row>", b"&x;", b"9" * 30, b"\xff"])
        with zipfile.ZipFile(path, "w") as book:
            for other, whole in parts.items():
                book.writestr(other, bytes(content) if other == name else whole)
        try:
            read_sensors(path).to_polars()
        except InputError as error:
            assert "a.xlsx" in str(error)
    with pytest.raises(InputError, match=r"no readings in"):
        read_sensors(workbook(tmp_path / "b.xlsx"))


def test_messages_quote_hostile_names_in_short(tmp_path: Path) -> None:
    """They quoted names of thousands of characters, and raw escape sequences."""
    long = "\x1b[31m" + "x" * 9_000
    for text in (f"time,{long},{long}\n2020-01-01,1,2\n", f"time,{long}\n2020-01-01,1\n2020-01-02,{long}\n"):
        with pytest.raises(InputError) as caught:
            read_sensors(write(tmp_path, text))
        assert len(str(caught.value)) < 1_000 and "\x1b" not in str(caught.value)
