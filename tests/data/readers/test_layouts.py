"""Whether a table is wide or long: what is known, what is asked for, and what is left as it was."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import thence as th
from thence.errors import InputError

DAYS = [f"2020-01-{day:02d} 10:00:00" for day in range(1, 21)]


def table(folder: Path, header: str, *columns: object, separator: str = ",", name: str = "t.csv") -> Path:
    """A file of twenty rows; a column is one cell for all of them, or one each."""
    names = header.split(separator)
    cells = [list(c) if isinstance(c, list) else [c] * 20 for c in columns]
    rows = [separator.join(map(str, row)) for row in zip(*cells, strict=True)]
    assert len(names) == len(cells)
    path = folder / name
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return path


NUMBERS, WHOLE, TWICE = [1.5 * i for i in range(20)], list(range(20)), [DAYS[i // 2] for i in range(20)]


@pytest.mark.parametrize(
    ("header", "columns", "ids"),
    [
        # A reading may have a name that ids have elsewhere: other numbers show that the table is wide.
        (
            "timestamp,parameter,setpoint,measurement",
            (NUMBERS, NUMBERS, WHOLE),
            ("parameter", "setpoint", "measurement"),
        ),
        ("timestamp,field,ph,reading", (3, NUMBERS, WHOLE), ("field", "ph", "reading")),
        ("timestamp,name,temp,value", ("x", NUMBERS, WHOLE), ("name", "temp", "value")),
        # What says something of a value does not name its sensor.
        ("time,quality,value", ("Good", NUMBERS), ("quality", "value")),
        ("time,value,unit", (NUMBERS, "kW"), ("value", "unit")),
        ("time,value,is_anomaly", (NUMBERS, 0), ("value",)),
        ("time,value,occupancy", (NUMBERS, [i % 3 for i in WHOLE]), ("value", "occupancy")),
        ("time,setpoint,value", (20, NUMBERS), ("setpoint", "value")),
        ("time,id,value", (WHOLE, NUMBERS), ("value",)),
        ("time,flow,mode,result", (NUMBERS, "auto", "pass"), ("flow", "mode", "result")),
    ],
)
def test_wide_tables_stay_wide(tmp_path: Path, header: str, columns: tuple[object, ...], ids: tuple[str, ...]) -> None:
    assert th.read_sensors(table(tmp_path, header, DAYS, *columns)).ids == ids


@pytest.mark.parametrize(
    ("header", "columns"),
    [
        ("time,name,value", (["a", "b"] * 10, NUMBERS)),
        ("time,name,value,lat", (["a", "b"] * 10, NUMBERS, 52.1)),
        ("_time,table,_value,_field", (0, NUMBERS, ["a", "b"] * 10)),
    ],
)
def test_ids_under_common_names_make_a_table_long(tmp_path: Path, header: str, columns: tuple[object, ...]) -> None:
    assert th.read_sensors(table(tmp_path, header, TWICE, *columns)).ids == ("a", "b")


@pytest.mark.parametrize(
    ("times", "header", "columns", "unclear"),
    [
        (DAYS, "time,site,value", ("A", NUMBERS), "site"),
        (TWICE, "time,channel,value", ([i % 2 for i in WHOLE], NUMBERS), "channel"),
        (TWICE, "time,quality,value", (["a", "b"] * 10, NUMBERS), "quality"),
    ],
)
def test_what_may_be_either_is_asked_for(
    tmp_path: Path, times: list[str], header: str, columns: tuple[object, ...], unclear: str
) -> None:
    with pytest.raises(InputError, match=rf"column '{unclear}' may name the sensor .*layout='files'"):
        th.read_sensors(table(tmp_path, header, times, *columns))


def test_files_of_one_sensor_with_an_attribute_are_not_one_sensor(tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv"):
        table(tmp_path, "time,value,quality", DAYS, NUMBERS, "Good", name=name)
    with pytest.raises(InputError, match="layout='files'"):
        th.read_sensors(tmp_path)
    assert th.read_sensors(tmp_path, layout="files").ids == ("a", "b")


@pytest.mark.parametrize(
    ("header", "times", "separator"),
    [("Zeit;T", [f"{day:02d}.01.2020 10:00" for day in range(1, 21)], ";"), ("time;T", DAYS, ";")],
)
def test_a_fixed_number_of_decimals_is_no_thousand(
    tmp_path: Path, header: str, times: list[str], separator: str
) -> None:
    path = table(tmp_path, header, times, [f"{20 + i},000" for i in range(20)], separator=separator)
    assert th.read_sensors(path, time=header[:4]).to_polars()["T"].to_list()[:2] == [20.0, 21.0]


def test_whole_numbers_beside_commas_may_mean_thousands(tmp_path: Path) -> None:
    path = table(tmp_path, "time;T", DAYS, ["950", "1,050"] * 10, separator=";")
    with pytest.raises(InputError, match="may be decimal or separate thousands"):
        th.read_sensors(path)


def test_elapsed_seconds_beside_a_date_are_a_reading(tmp_path: Path) -> None:
    path = table(tmp_path, "Date,Time,T", [day[:10] for day in DAYS], WHOLE, NUMBERS)
    assert th.read_sensors(path, time="Date").ids == ("Time", "T")


def test_an_unclear_sheet_says_how_to_leave_it_out(tmp_path: Path) -> None:
    xlsxwriter = pytest.importorskip("xlsxwriter")
    with xlsxwriter.Workbook(tmp_path / "b.xlsx") as book:
        for sheet, columns in (("Data", {"time": DAYS, "T": NUMBERS}), ("Alarms", {"start": DAYS, "end": DAYS})):
            pl.DataFrame(columns).with_columns(pl.col(pl.String).str.to_datetime()).write_excel(book, worksheet=sheet)
    with pytest.raises(InputError, match=r"several columns may be the time.*sheet="):
        th.read_sensors(tmp_path / "b.xlsx")
    assert th.read_sensors(tmp_path / "b.xlsx", sheet="Data").ids == ("T",)
