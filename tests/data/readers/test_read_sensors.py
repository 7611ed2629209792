"""Reading the usual layouts: text, Parquet, Excel, frames, folders, lists; published data sets where they are there."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import thence.data.readers as sources
from tests.helpers.needs import PUBLISHED
from thence.data.readers import read_sensors
from thence.data.readings.sensors import Sensor, SensorData
from thence.data.readings.windows import window
from thence.errors import ConfigError, InputError

T0 = datetime(2019, 1, 1, tzinfo=UTC)


def at(minutes: float) -> datetime:
    return T0 + timedelta(minutes=minutes)


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


# Text


def test_wide_csv(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", "time,n1,n2\n2019-01-01 00:00,1.5,\n2019-01-01 00:05,2,3\n")
    data = read_sensors(path)
    assert data.layout == "wide" and data.ids == ("n1", "n2")
    assert data.to_polars().rows() == [(at(0), 1.5, None), (at(5), 2.0, 3.0)]
    assert read_sensors(str(path)).ids == data.ids
    assert read_sensors(data) is data


def test_semicolons_decimal_commas_and_a_byte_order_mark(tmp_path: Path) -> None:
    text = "\ufeffTimestamp;p227;PUMP_1\r\n2019-01-01 00:00:00;88,14;44\r\n2019-01-01 00:05:00;82,9;\r\n"
    data = read_sensors(write(tmp_path, "flows.csv", text))
    assert data.to_polars()["p227"].to_list() == [88.14, 82.9]
    assert data.to_polars()["PUMP_1"].to_list() == [44.0, None]


def test_a_decimal_comma_beyond_the_first_lines(tmp_path: Path) -> None:
    rows = "".join(f"2019-01-01 {m // 60:02}:{m % 60:02};{m}\n" for m in range(200))
    data = read_sensors(write(tmp_path, "a.csv", f"time;a\n{rows}2019-01-02 00:00;0,5\n"))
    assert data.to_polars()["a"].to_list()[-2:] == [199.0, 0.5]


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_separators_are_found_or_given(tmp_path: Path, separator: str) -> None:
    text = "time,a,b\n2019-01-01 00:00,1.5,open\n2019-01-01 00:05,2.5,shut\n".replace(",", separator)
    path = write(tmp_path, "a.txt", text)
    for data in (read_sensors(path), read_sensors(path, separator=separator)):
        assert data.to_polars().rows() == [(at(0), 1.5, "open"), (at(5), 2.5, "shut")]
        assert data.sensor("b").categorical


def test_quoted_cells_may_hold_separators_and_line_ends(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", 'time,"a, b",mode\n2019-01-01 00:00,1,"on,\nslow"\n2019-01-01 00:05,2,off\n')
    data = read_sensors(path)
    assert data.ids == ("a, b", "mode") and data.to_polars()["mode"].to_list() == ["on,\nslow", "off"]


def test_gzip_and_foreign_encodings(tmp_path: Path) -> None:
    text = "time,Außen °C\n2019-01-01 00:00,1.5\n"
    packed = tmp_path / "a.csv.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    latin, wide = tmp_path / "latin.csv", tmp_path / "wide.csv"
    latin.write_bytes(text.encode("cp1252"))
    wide.write_bytes(text.encode("utf-16"))
    for path in (packed, latin, wide):
        assert read_sensors(path).ids == ("Außen °C",)
    assert "Windows-1252" in str(read_sensors(latin).report)
    assert read_sensors(latin, encoding="latin-1").ids == ("Außen °C",)
    with pytest.raises(InputError, match="cannot be decoded as ascii"):
        read_sensors(latin, encoding="ascii")


def test_long_csv_with_numbers_and_states(tmp_path: Path) -> None:
    text = """timestamp,sensor_id,value,quality
2019-01-01 00:00,007,1.5,good
2019-01-01 00:00,door,open,good
2019-01-01 00:05,007,2.5,good
"""
    data = read_sensors(write(tmp_path, "a.csv", text))
    assert data.layout == "long" and data.sensors == (Sensor("007"), Sensor("door", categorical=True))
    assert data.to_polars().rows() == [(at(0), 1.5, "open"), (at(5), 2.5, None)]
    assert "ignored columns: 'quality'" in str(data.report)


def test_columns_of_a_long_table_by_name(tmp_path: Path) -> None:
    text = "when,who,what,note\n1/31/2019 0:00,a,1,x\n1/31/2019 0:05,b,2,y\n"
    data = read_sensors(write(tmp_path, "a.csv", text), time="when", sensor="who", value="what")
    assert data.ids == ("a", "b") and data.span == (at(30 * 1440), at(30 * 1440 + 5))


def test_a_headerless_long_file(tmp_path: Path) -> None:
    data = read_sensors(write(tmp_path, "a.csv", "2019-01-01 00:00,a,1\n2019-01-01 00:05,b,2\n"))
    assert data.ids == ("a", "b") and data.layout == "long"


def test_a_folder_with_one_file_per_sensor(tmp_path: Path) -> None:
    start = int(T0.timestamp())
    write(tmp_path, "Kitchen_Temperature.csv", f"{start}\t20.5\n{start + 60}\t21\n")
    write(tmp_path, "Kitchen_Door.csv", f"{start + 30}\topen\n")
    write(tmp_path, ".hidden.csv", "nonsense")
    data = read_sensors(tmp_path, kind_pattern=r"_(?P<kind>\w+)$")
    assert data.sensors == (
        Sensor("Kitchen_Door", "door", categorical=True),
        Sensor("Kitchen_Temperature", "temperature"),
    )
    assert data.to_polars()["Kitchen_Temperature"].to_list() == [20.5, None, 21.0]
    assert "2 sources: times read as Unix times in s" in str(data.report)
    with_header = write(tmp_path, "Hall.csv", "time,value\n2019-01-01 00:00,3\n")
    assert read_sensors(with_header).ids == ("Hall",)
    assert read_sensors(with_header, layout="wide").ids == ("value",)


def test_lists_and_patterns_of_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "day1.csv", "time,a,b\n2019-01-01 00:00,1,10\n")
    write(tmp_path, "day2.csv", "time,a,c\n2019-01-01 00:05,2,20\n")
    wanted = [(at(0), 1.0, 10.0, None), (at(5), 2.0, None, 20.0)]
    monkeypatch.chdir(tmp_path)
    for source in (str(tmp_path / "day*.csv"), "day*.csv", "./day?.csv", tmp_path, ["day1.csv", tmp_path / "day2.csv"]):
        data = read_sensors(source)
        assert data.to_polars().rows() == wanted
        assert data.report.findings == ()
    apart = read_sensors(tmp_path, name="{file}/{column}")
    assert apart.ids == ("day1/a", "day1/b", "day2/a", "day2/c")


def test_wide_and_long_files_together(tmp_path: Path) -> None:
    write(tmp_path, "a.csv", "time,a,door\n2019-01-01 00:00,1,open\n")
    write(tmp_path, "b.csv", "time,sensor,value\n2019-01-01 00:05,a,2\n2019-01-01 00:05,b,3\n")
    pl.DataFrame({"time": [at(10)], "c": [4.0]}).write_parquet(tmp_path / "c.parquet")
    data = read_sensors(tmp_path, timezone="UTC")
    assert data.layout == "long"
    assert data.to_polars().select("time", "a", "b", "c", "door").rows() == [
        (at(0), 1.0, None, None, "open"),
        (at(5), 2.0, 3.0, None, None),
        (at(10), None, None, 4.0, None),
    ]


# Times


@pytest.mark.parametrize(
    ("texts", "options"),
    [
        (["2019-01-01 00:00:00", "2019-01-01 00:05:00"], {}),
        (["2019-01-01T00:00", "2019-01-01T00:05"], {}),
        (["2019-01-01", "2019-01-01 00:05:00.000"], {}),
        (["2019/1/1 0:00", "2019/1/1 0:05"], {}),
        (["2019-01-01T01:00:00+01:00", "2018-12-31T19:05:00-05:00"], {}),
        (["2019-01-01T00:00:00Z", "2019-01-01T00:05:00Z"], {}),
        (["2019-01-01 01:00", "2019-01-01 01:05"], {"timezone": "Europe/Berlin"}),
        (["01.01.2019 00:00", "01.01.2019 00:05"], {}),
        (["1.1.19 0:00", "1.1.19 0:05"], {}),
        (["1-Jan-2019 00h00", "1-Jan-2019 00h05"], {"time_format": "%d-%b-%Y %Hh%M"}),
        (["1 2019 01 00:00 +0100", "1 2019 01 00:05 +0100"], {"time_format": "%d %Y %m %H:%M %z"}),
        (["01/01/2019 00:00", "01/01/2019 00:05"], {"time_format": "%d/%m/%Y %H:%M"}),
        ([str(int(T0.timestamp())), str(int(at(5).timestamp()))], {}),
        ([str(int(T0.timestamp() * 1e3)), str(int(at(5).timestamp() * 1e3))], {}),
        ([str(int(T0.timestamp() * 1e6)), str(int(at(5).timestamp() * 1e6))], {}),
        ([str(int(T0.timestamp() * 1e6) * 1000), str(int(at(5).timestamp() * 1e6) * 1000)], {}),
    ],
)
def test_writings_of_time(tmp_path: Path, texts: list[str], options: dict[str, str]) -> None:
    first = at(-60) if options.get("time_format", "").endswith("%z") else at(0)
    rows = "".join(f"{text},{k}\n" for k, text in enumerate(texts))
    frame = pl.DataFrame({"time": texts, "a": [0.0, 1.0]})
    frame.write_parquet(tmp_path / "a.parquet")
    for source in (write(tmp_path, "a.csv", "time,a\n" + rows), frame, tmp_path / "a.parquet"):
        data = read_sensors(source, layout="wide", **options)  # type: ignore[arg-type]
        assert data.to_polars()["time"].to_list() == [first, first + timedelta(minutes=5)]


def test_month_and_day_are_told_apart_by_numbers_over_twelve(tmp_path: Path) -> None:
    american = write(tmp_path, "us.csv", "Datetime,a\n8/9/2007 0:00,1\n8/28/2007 13:05,2\n")
    assert read_sensors(american).span == (datetime(2007, 8, 9, tzinfo=UTC), datetime(2007, 8, 28, 13, 5, tzinfo=UTC))
    british = write(tmp_path, "uk.csv", "Datetime,a\n8/9/2007 0:00,1\n28/9/2007 13:05,2\n")
    assert read_sensors(british).span == (datetime(2007, 9, 8, tzinfo=UTC), datetime(2007, 9, 28, 13, 5, tzinfo=UTC))
    clock = write(tmp_path, "pm.csv", "Datetime,a\n8/28/2007 12:30 AM,1\n8/28/2007 1:30 PM,2\n")
    assert [t.hour for t in read_sensors(clock).to_polars()["time"]] == [0, 13]


def test_naive_times_and_their_zone_are_said_aloud(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", "time,a\n2019-07-01 02:00,1\n")
    assert "times without a time zone read as UTC" in read_sensors(path).report.notes
    local = read_sensors(path, timezone="Europe/Berlin")
    assert "times without a time zone read as Europe/Berlin" in local.report.notes
    assert local.span is not None and local.span[0] == datetime(2019, 7, 1, tzinfo=UTC)
    with pytest.raises(ConfigError, match="'timezone' must be an IANA time zone, got 'Europe/Nowhere'"):
        read_sensors(path, timezone="Europe/Nowhere")


# Frames


def test_polars_arrow_and_pandas_frames() -> None:
    pa, pd = pytest.importorskip("pyarrow"), pytest.importorskip("pandas")
    times = [at(0), at(5)]
    frame = pl.DataFrame({"time": times, "a": [1, None], "door": ["open", None], "on": [True, False]})
    indexed = pd.DataFrame(
        {"a": [1.0, None], "door": ["open", None], "on": [True, False]}, index=pd.DatetimeIndex(times)
    )
    pandas_column = indexed.reset_index(names="time")
    arrow = pa.table({"time": times, "a": [1, None], "door": ["open", None], "on": [True, False]})
    for source in (frame, frame.lazy(), indexed, indexed.rename_axis("when"), pandas_column, arrow):
        data = read_sensors(source)
        assert data.to_polars().rows() == [(at(0), 1.0, "open", "1"), (at(5), None, None, "0")], type(source)
        assert [s.categorical for s in data.sensors] == [False, True, True]
    assert read_sensors(frame.lazy()).report.pending
    with pytest.raises(InputError, match="cannot read sensor data from an object of type dict"):
        read_sensors({"a": 1})


def test_pandas_frames_with_odd_columns() -> None:
    pd = pytest.importorskip("pandas")
    index = pd.DatetimeIndex(["2019-01-01 00:00", "2019-01-01 00:05"], tz="Europe/Berlin")
    frame = pd.DataFrame({158324: np.array([1.0, np.nan], dtype="float32")}, index=index)
    data = read_sensors(frame)
    assert data.ids == ("158324",) and data.to_polars()["time"][0] == at(-60)
    mixed = pd.DataFrame({"time": index, "a": pd.Series([1.5, "broken"], dtype=object)})
    with pytest.raises(InputError, match=r"frame, row 1: column 'a': 'broken' is not a number"):
        read_sensors(mixed)
    nested = pd.DataFrame({("a", "b"): [1.0, 2.0]}, index=index)
    with pytest.raises(InputError, match="several index levels"):
        read_sensors(nested)


# Parquet


def test_parquet_is_scanned_and_checked_later(tmp_path: Path) -> None:
    frame = pl.DataFrame({"time": [at(5), at(0), at(10)], "a": [1.0, float("inf"), 3.0], "b": [None, 2.0, 4.0]})
    frame.write_parquet(tmp_path / "wide.parquet")
    data = read_sensors(tmp_path / "wide.parquet")
    assert "infinite" in data.report.pending and data.report.findings == ()
    checked = data.check()
    assert checked.report.pending == ()
    assert {f.what: f.count for f in checked.report.findings} == {"infinite": 1, "missing": 1, "disordered": 1}
    assert window(data, "5min").report.findings == checked.report.findings
    assert data.to_polars()["a"].to_list() == [None, 1.0, 3.0]


@pytest.mark.parametrize("dtype", [pl.String, pl.Categorical, pl.Int64])
def test_long_parquet_with_any_type_of_sensor_column(tmp_path: Path, dtype: type[pl.DataType]) -> None:
    names = pl.Series("sensor", ["2", "1", "2"]).cast(dtype)
    pl.DataFrame({"time": [at(0), at(0), at(5)], "sensor": names, "value": [1, 2, 3]}).write_parquet(
        tmp_path / "a.parquet"
    )
    data = read_sensors(tmp_path / "a.parquet")
    assert data.ids == ("1", "2") and data.layout == "long"
    np.testing.assert_array_equal(window(data, "5min").values, [[2.0, 1.0], [np.nan, 3.0]])


def test_parquet_files_of_several_periods_and_columns(tmp_path: Path) -> None:
    pl.DataFrame({"time": [at(0), at(5)], "a": [1.0, 2.0]}).write_parquet(tmp_path / "1.parquet")
    pl.DataFrame({"time": [at(5), at(10)], "b": [3.0, 4.0]}).write_parquet(tmp_path / "2.parquet")
    pl.DataFrame({"time": [at(10)], "a": [5.0]}).write_parquet(tmp_path / "3.parquet")
    data = read_sensors(tmp_path)
    np.testing.assert_array_equal(window(data, "5min").values, [[1, np.nan], [2, 3], [5, 4]])
    assert window(data, "5min").report.findings == ()
    assert data.to_polars().rows() == [(at(0), 1.0, None), (at(5), 2.0, 3.0), (at(10), 5.0, 4.0)]


def test_text_columns_of_parquet_are_judged_like_those_of_csv(tmp_path: Path) -> None:
    pl.DataFrame({"time": [at(0), at(5)], "a": ["1", "2.5"], "door": ["open", None]}).write_parquet(
        tmp_path / "a.parquet"
    )
    data = read_sensors(tmp_path / "a.parquet")
    assert data.sensors == (Sensor("a"), Sensor("door", categorical=True))
    assert data.to_polars()["a"].to_list() == [1.0, 2.5]


# Excel


def write_workbook(path: Path, sheets: dict[str, pl.DataFrame]) -> None:
    xlsxwriter = pytest.importorskip("xlsxwriter")
    pytest.importorskip("fastexcel")
    with xlsxwriter.Workbook(path) as book:
        for name, frame in sheets.items():
            frame.write_excel(book, worksheet=name)


def battledim(path: Path) -> None:
    times = [datetime(2019, 1, 1) + timedelta(minutes=5 * k) for k in range(300)]
    write_workbook(
        path,
        {
            "Info": pl.DataFrame({"about": ["made for a test"]}),
            "Pressures (m)": pl.DataFrame({"Timestamp": times, "n1": [30.25] * 300, "n4": [41.0] * 299 + [None]}),
            "Flows (m3_h)": pl.DataFrame({"Timestamp": times, "p227": [88.14] * 300}),
            "Levels (m)": pl.DataFrame({"Timestamp": times, "T1": [float(k) for k in range(300)]}),
        },
    )


def test_excel_sheets_are_joined_and_give_kind_and_unit(tmp_path: Path) -> None:
    path = tmp_path / "2019_SCADA.xlsx"
    battledim(path)
    data = read_sensors(path)
    assert data.sensors == (
        Sensor("n1", "pressure", "m"),
        Sensor("n4", "pressure", "m"),
        Sensor("p227", "flow", "m3/h"),
        Sensor("T1", "level", "m"),
    )
    frame = data.to_polars()
    assert frame.shape == (300, 5)
    assert frame["time"].to_list() == [at(5 * k) for k in range(300)]
    assert frame["n4"][299] is None and frame["T1"].to_list() == [float(k) for k in range(300)]
    assert "sheet 'Info': no time column, skipped" in str(data.report)
    assert read_sensors(path, sheet="Levels (m)").ids == ("T1",)
    assert read_sensors(path, sheet=["Levels (m)", "Flows (m3_h)"]).ids == ("T1", "p227")


def test_one_name_in_two_sheets_of_different_kinds(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    times = [datetime(2019, 1, 1)]
    sheets = {kind: pl.DataFrame({"Timestamp": times, "n1": [1.0]}) for kind in ("Pressures (m)", "Demands (L_h)")}
    write_workbook(path, sheets)
    with pytest.raises(
        InputError, match=r"sheet 'Demands \(L_h\)': sensor 'n1' has another kind in .*name='\{column\}_\{kind\}'"
    ):
        read_sensors(path)
    data = read_sensors(path, name="{column}_{kind}")
    assert data.sensors == (Sensor("n1_pressure", "pressure", "m"), Sensor("n1_demand", "demand", "L/h"))


# Kinds


def test_kinds_from_mappings_tables_and_patterns(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", "time,Node_1_pressure,Node_2_flow,x\n2019-01-01 00:00,1,2,3\n")
    pattern = read_sensors(path, kind_pattern=r"Node_(?P<node>\d+)_(?P<kind>\w+)", units={"pressure": "m", "x": "K"})
    assert pattern.sensors == (
        Sensor("Node_1_pressure", "pressure", "m"),
        Sensor("Node_2_flow", "flow"),
        Sensor("x", "", "K"),
    )
    assert "kind_pattern matches no kind for 1 sensors: 'x'" in pattern.report.notes
    several = read_sensors(path, kind_pattern={"_pressure$": ("pressure", "m"), "_flow$": "flow"})
    assert [s.kind for s in several.sensors] == ["pressure", "flow", ""]
    table = write(tmp_path, "kinds.csv", "sensor,kind,unit\nx,temperature,°C\nNode_1_pressure,head,m\nghost,flow,\n")
    given: list[Any] = [
        table,
        str(table),
        {"x": ("temperature", "°C"), "Node_1_pressure": ("head", "m"), "ghost": "flow"},
    ]
    for kinds in given:
        data = read_sensors(path, kinds=kinds, kind_pattern=r"_(?P<kind>\w+)$")
        assert [(s.kind, s.unit) for s in data.sensors] == [("head", "m"), ("2_flow", ""), ("temperature", "°C")]
        assert "kinds names 1 sensors without data: 'ghost'" in data.report.notes
    with pytest.raises(ConfigError, match="has no group named 'kind'"):
        read_sensors(path, kind_pattern=r"\w+")
    with pytest.raises(ConfigError, match="not a valid regular expression"):
        read_sensors(path, kind_pattern="(")
    with pytest.raises(InputError, match="no column 'kind'; columns are 'sensor', 'type'"):
        read_sensors(path, kinds=write(tmp_path, "bad.csv", "sensor,type\nx,y\n"))


def test_numbers_that_are_states(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", "time,fan,t\n2019-01-01 00:00,0,1.0\n2019-01-01 00:05,1,2.5\n")
    pl.read_csv(path, try_parse_dates=True).write_parquet(tmp_path / "a.parquet")
    long = write(tmp_path, "long.csv", "time,sensor,value\n2019-01-01 00:00,fan,0\n2019-01-01 00:05,fan,1\n")
    for source in (path, tmp_path / "a.parquet", long, pl.read_csv(path)):
        data = read_sensors(source, categorical=["fan"])
        assert data.sensor("fan").categorical and data.to_polars()["fan"].to_list() == ["0", "1"]
    frame = pl.DataFrame({"time": [at(0), at(5)], "fan": [1.0, 2.5]})
    assert read_sensors(frame, categorical="fan").to_polars()["fan"].to_list() == ["1", "2.5"]
    with pytest.raises(InputError, match="categorical contains 'pump', but no column or sensor has this name"):
        read_sensors(path, categorical=["pump"])


def test_options_are_checked(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", "time,a\n2019-01-01 00:00,1\n")
    with pytest.raises(ConfigError, match="'on_error' must be one of 'raise', 'repair', got 'ignore'"):
        read_sensors(path, on_error="ignore")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="'layout' must be one of 'auto', 'wide', 'long', 'files', got 'tall'"):
        read_sensors(path, layout="tall")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"invalid name='\{sensor\}'"):
        read_sensors(path, name="{sensor}")
    with pytest.raises(InputError, match="this file has no sheets"):
        read_sensors(path, sheet="x")
    assert sources.__all__ == ["read_sensors"]


# Published data sets


@pytest.mark.needs("published data")
def test_open_smart_home() -> None:
    data = read_sensors(PUBLISHED / "opensmarthome/Measurements", kind_pattern=r"_(?P<kind>[A-Za-z]+)$")
    assert len(data) == 37 and data.layout == "long" and data.describe()["readings"] == 285_954
    assert data.sensor("Kitchen_Temperature").kind == "temperature"
    assert data.report.findings == ()


@pytest.mark.needs("published data")
def test_ltown_flows_and_levels_join() -> None:
    folder = PUBLISHED / "ltown"
    data = read_sensors([folder / "2019_SCADA_Flows.csv", folder / "2019_SCADA_Levels.csv"])
    frame = data.to_polars()
    assert frame.shape == (105_120, 5) and frame.null_count().sum_horizontal().item() == 0
    assert frame.row(0) == (at(0), 88.14, 90.89, 44.02, 3.41)


@pytest.mark.needs("published data")
def test_lbnl_air_handling_units() -> None:
    data = read_sensors(PUBLISHED / "lbnl_fdd_2020" / "SZVAV.csv")
    assert "AHU: Outdoor Air Damper Control Signal" in data.ids
    assert data.report.count("missing", sensor="AHU: Supply Air Temperature Heating Set Point") == 590
    assert data.report.count("missing", sensor="AHU: Outdoor Air Temperature") == 1  # a "#VALUE!" of a spreadsheet
    assert data.span == (datetime(2017, 9, 11, tzinfo=UTC), datetime(2017, 9, 24, 23, 58, tzinfo=UTC))
    march = read_sensors(PUBLISHED / "lbnl_fdd_2020" / "SZCAV.csv")
    assert march.span is not None and march.span[0] == datetime(2017, 3, 11, tzinfo=UTC)


@pytest.mark.needs("published data")
def test_citybench_traffic() -> None:
    data: SensorData = read_sensors(str(PUBLISHED / "citybench" / "traffic_*.parquet"), name="{file}/{column}")
    assert len(data) == 898 and data.report.pending
    table = window(data, "1h")
    assert table.values.shape[1] == 898 and table.report.count("missing") == 2 * 562_136
