"""Titles above the names of columns and units below them, as loggers, control systems and spreadsheets write them."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from thence.data.readers import read_sensors
from thence.data.readers.heading import Heading, find_heading, find_units, unit_of_name
from thence.data.readings.sensors import SensorData
from thence.errors import ConfigError, InputError

TIMES = [datetime(2024, 1, 1) + timedelta(minutes=10 * k) for k in range(60)]
ROWS = "".join(f"{time:%Y-%m-%d %H:%M},{k + 0.5},{k % 7}.25\n" for k, time in enumerate(TIMES))


def read(folder: Path, text: str, **options: object) -> SensorData:
    path = folder / "a.csv"
    path.write_text(text, encoding="utf-8")
    return read_sensors(path, **options)  # type: ignore[arg-type]


@pytest.fixture
def plain(tmp_path: Path) -> SensorData:
    folder = tmp_path / "plain"
    folder.mkdir()
    return read(folder, "time,a,b\n" + ROWS)


@pytest.mark.parametrize(
    ("above", "note"),
    [
        ("Report of plant 7\n", "line 1 before the names of the columns: left out"),
        ("Report,north\nmade,2024-02-01 08:00\n\n", "lines 1 to 2 before"),
        ("Report,,\n,,\n", "lines 1 to 2 before"),
        ("\n\nstation,12,55.3,-160.5\n", "line 3 before"),
        ("#group,false,false\n#type,dateTime,double\n", "lines 1 to 2 before"),
        ('"Title, with a comma\nand a second line"\n', "line 1 before"),
    ],
)
def test_lines_before_the_names(tmp_path: Path, plain: SensorData, above: str, note: str) -> None:
    data = read(tmp_path, above + "time,a,b\n" + ROWS)
    assert data.to_polars().equals(plain.to_polars()) and data.sensors == plain.sensors
    assert note in str(data.report)
    below = above.count("\n") + 3
    with pytest.raises(InputError, match=f"line {below}: column 'b': 'x' is not a number"):
        read(tmp_path, above + "time,a,b\n" + ROWS.replace("1.25\n", "x\n", 1))


@pytest.mark.parametrize(
    ("below", "units", "note"),
    [
        (",m3/h,[°C]\n", ("m3/h", "°C"), "line 2 below the names: read as units"),
        ("yyyy-mm-dd,Volts,\n", ("Volts", ""), "read as units"),
        ("TS,Volts,%\n,Avg,Smp\n", ("Volts", "%"), "lines 2 to 3 below the names: units, and left out"),
        (",of the first pump,of the second pump\n", ("", ""), "line 2 below the names: left out"),
        ("\n,kWh,W/m^2\n\n", ("kWh", "W/m^2"), "line 3 below the names: read as units"),
    ],
)
def test_lines_below_the_names(
    tmp_path: Path, plain: SensorData, below: str, units: tuple[str, str], note: str
) -> None:
    data = read(tmp_path, "time,a,b\n" + below + ROWS)
    assert data.to_polars().equals(plain.to_polars())
    assert tuple(sensor.unit for sensor in data.sensors) == units
    assert note in str(data.report)
    line = below.count("\n") + 3
    with pytest.raises(InputError, match=f"line {line}: column 'b': 'x' is not a number"):
        read(tmp_path, "time,a,b\n" + below + ROWS.replace("1.25\n", "x\n", 1))


@pytest.mark.parametrize("first", [",0.5,1.25\n", ",,1\n", ",open,1\n"])
def test_readings_without_a_time_are_not_units(tmp_path: Path, first: str) -> None:
    with pytest.raises(InputError, match="line 2"):
        read(tmp_path, "time,a,b\n" + first + ROWS)


def test_states_without_a_time_are_not_units(tmp_path: Path) -> None:
    rows = "".join(f"{time:%Y-%m-%d %H:%M},{('open', 'closed')[k % 2]}\n" for k, time in enumerate(TIMES))
    with pytest.raises(InputError, match="line 2"):
        read(tmp_path, "time,valve\n,open\n" + rows)


def test_a_reading_above_the_names_is_not_a_title(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no time column found"):
        read(tmp_path, "2023-12-31 23:50,5.5,6.5\ntime,a,b\n" + ROWS)


def test_a_header_with_too_few_names_is_not_a_title(tmp_path: Path) -> None:
    """The first reading must not become the header."""
    with pytest.raises(InputError, match=r"expected 2 fields, got 3 \(60 of 61 lines .*separator= and skip_rows="):
        read(tmp_path, "time,a\n" + ROWS)
    with pytest.raises(InputError, match="no separator splits the first line into columns: 'flows'"):
        read(tmp_path, "flows\n" + ROWS)


def test_lines_to_skip_can_be_given(tmp_path: Path, plain: SensorData) -> None:
    unix = "".join(f"{1_700_000_000 + 600 * k},{k + 0.5}\n" for k in range(60))
    with pytest.raises(InputError, match="skip_rows="):
        read(tmp_path, "Title\nmade by hand\nwhen,a\n" + unix)
    data = read(tmp_path, "Title\nmade by hand\nwhen,a\n" + unix, skip_rows=2, time="when")
    assert data.ids == ("a",) and data.to_polars().height == 60
    data = read(tmp_path, "\n\na,b\ntime,a,b\n" + ROWS, skip_rows=3)
    assert data.to_polars().equals(plain.to_polars())
    with pytest.raises(InputError, match="nothing is left below 100 lines"):
        read(tmp_path, "time,a,b\n" + ROWS, skip_rows=100)
    for wrong in (-1, True, 2.5, "2"):
        with pytest.raises(ConfigError, match=r"skip_rows'? must be"):
            read(tmp_path, "time,a,b\n" + ROWS, skip_rows=wrong)


def test_a_sheet_with_a_title_and_units(tmp_path: Path) -> None:
    xlsxwriter = pytest.importorskip("xlsxwriter")
    pytest.importorskip("fastexcel")
    path = tmp_path / "a.xlsx"
    with xlsxwriter.Workbook(path, {"default_date_format": "yyyy-mm-dd hh:mm"}) as book:
        sheet = book.add_worksheet("week 7")
        sheet.write(0, 0, "Report of plant 7")
        sheet.write(1, 0, "made")
        sheet.write_datetime(1, 1, TIMES[0])
        sheet.write_row(3, 0, ["Time", "a", "b"])
        sheet.write_row(4, 0, ["", "m3/h", "°C"])
        for k, time in enumerate(TIMES):
            sheet.write_datetime(5 + k, 0, time)
            sheet.write_row(5 + k, 1, [k + 0.5, "x" if k == 40 else k])
    with pytest.raises(InputError, match="row 46: column 'b': 'x' is not a number"):
        read_sensors(path)
    data = read_sensors(path, on_error="repair")
    assert [(sensor.id, sensor.unit) for sensor in data.sensors] == [("a", "m3/h"), ("b", "°C")]
    assert data.to_polars()["a"].to_list() == [k + 0.5 for k in range(60)]
    assert "rows 1 to 3 before the names of the columns: left out" in str(data.report)
    assert "row 5 below the names: read as units" in str(data.report)
    assert read_sensors(path, on_error="repair", skip_rows=3).to_polars().equals(data.to_polars())


def test_files_with_and_without_units(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("time,a,b\n,m,%\n" + ROWS)
    (tmp_path / "2.csv").write_text("time,a,b\n" + ROWS.replace("2024", "2025"))
    assert [sensor.unit for sensor in read_sensors(tmp_path).sensors] == ["m", "%"]
    (tmp_path / "2.csv").write_text("time,a,b\n,km,%\n" + ROWS.replace("2024", "2025"))
    with pytest.raises(InputError, match="sensor 'a' has another kind"):
        read_sensors(tmp_path)


def test_units_in_names(tmp_path: Path) -> None:
    data = read(tmp_path, "Date (MM/DD/YYYY),Flow [m³/h],Valve (north)\n" + ROWS)
    assert [(sensor.id, sensor.unit) for sensor in data.sensors] == [("Flow [m³/h]", "m³/h"), ("Valve (north)", "")]
    data = read(tmp_path, "time,a (m),b\n" + ROWS, units={"a (m)": "mm"})
    assert data.sensors[0].unit == "mm"


@pytest.mark.parametrize("name", ["(m", "m)", "[]", "()", "a (code)", "a (m) b", "a [pump 3]", "(m)", "a (3)", "a (-)"])
def test_what_is_no_unit(name: str) -> None:
    assert unit_of_name(name) == ""


def test_most_cells_must_be_units() -> None:
    assert find_units(["", "m", "a title", "another"]) == {}
    assert find_units([]) == {} and find_units(["", ""]) == {}


def test_numbers_of_rows_are_not_readings(tmp_path: Path) -> None:
    rows = "".join(f"{k + 1},{time:%Y-%m-%d %H:%M},{k % 7}.5\n" for k, time in enumerate(TIMES))
    data = read(tmp_path, "#,time,a\n" + rows)
    assert data.ids == ("a",) and "ignored columns: '#'" in str(data.report)
    assert read(tmp_path, "#,time,a\n" + rows, numeric=["#"]).ids == ("#", "a")
    assert read(tmp_path, "pulses,time,a\n" + rows).ids == ("pulses", "a")
    others = "".join(f"{k % 5},{time:%Y-%m-%d %H:%M},{k % 7}.5\n" for k, time in enumerate(TIMES))
    assert read(tmp_path, "index,time,a\n" + others).ids == ("index", "a")
    assert read(tmp_path, "#,time\n" + "".join(line.rpartition(",")[0] + "\n" for line in rows.splitlines())).ids == (
        "#",
    )


def test_no_rows_and_no_dates() -> None:
    assert find_heading([]) == find_heading([["a"]]) == Heading()
    assert find_heading([["t", "a"], ["1", "2"], ["2", "3"]]) == Heading()
