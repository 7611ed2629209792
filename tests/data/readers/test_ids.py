"""Different sensors stay different: ids that look like numbers, long tables under other names, files with points."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from thence.data.readers import read_sensors
from thence.data.readings.sensors import Sensor, SensorData
from thence.errors import InputError

T0, T1, T2 = "2020-01-01 00:00", "2020-01-01 00:01", "2020-01-01 00:02"


def csv(folder: Path, *lines: str, name: str = "f.csv") -> Path:
    path = folder / name
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def fails(source: Any, *words: str, **options: Any) -> None:
    with pytest.raises(InputError) as caught:
        read_sensors(source, **options)
    for word in words:
        assert word in str(caught.value), str(caught.value)


@pytest.mark.parametrize("header", ["sensor_id", "Sensor ID", "Device ID", "device-id", " Sensor ", "_field", "name"])
@pytest.mark.parametrize("ids", [("007", "7"), ("1.10", "1.1"), ("1e2", "100")])
def test_ids_that_look_like_numbers_keep_their_zeros(tmp_path: Path, header: str, ids: tuple[str, str]) -> None:
    """The override that keeps ids as text once hit the next column, and names with a space were not known."""
    path = csv(tmp_path, f"time,{header},value", f"{T0},{ids[0]},5", f"{T1},{ids[1]},6")
    data = read_sensors(path)
    assert sorted(data.ids) == sorted(ids) and data.layout == "long"
    assert data.to_polars()[ids[0]].to_list() == [5.0, None]
    assert sorted(read_sensors(path, sensor=header.strip(), value="value").ids) == sorted(ids)


def test_states_that_look_like_numbers_keep_their_zeros(tmp_path: Path) -> None:
    wide = csv(tmp_path, "time,fan,t", f"{T0},01,5", f"{T1},1,6")
    long = csv(tmp_path, "time,sensor,value", f"{T0},fan,01", f"{T1},fan,1", name="long.csv")
    own = csv(tmp_path, "time,value", f"{T0},01", f"{T1},1", name="fan.csv")
    for path in (wide, long, own):
        assert read_sensors(path, categorical=["fan"]).to_polars()["fan"].to_list() == ["01", "1"]
    named = read_sensors(wide, name="{file}/{column}", categorical=["f/fan"])
    assert named.to_polars()["f/fan"].to_list() == ["01", "1"]
    assert named.to_polars()["f/t"].to_list() == [5.0, 6.0]


@pytest.mark.parametrize("header", ["time,name,value", "_time,_field,_value", "Time,Metric,Reading"])
def test_long_tables_under_other_names(tmp_path: Path, header: str) -> None:
    """These were read as wide: two sensors, 'name' and 'value', in which all others were mixed."""
    data = read_sensors(csv(tmp_path, header, f"{T0},a,1", f"{T1},b,3"))
    assert data.ids == ("a", "b") and data.to_polars()["b"].to_list() == [None, 3.0]


def test_a_column_that_may_name_sensors_is_asked_for(tmp_path: Path) -> None:
    text = csv(tmp_path, "time,who,value", f"{T0},a,1", f"{T1},b,3")
    number = csv(tmp_path, "time,id,value", f"{T0},007,1", f"{T1},7,3", name="n.csv")
    for on_error in ("raise", "repair"):
        fails(text, "'who' may name the sensor of each 'value'", "sensor='who', layout='wide'", on_error=on_error)
        fails(number, "'id' may name the sensor of each 'value'", on_error=on_error)
    assert read_sensors(text, sensor="who").ids == ("a", "b")
    assert read_sensors(number, sensor="id").ids == ("007", "7")
    assert read_sensors(text, layout="wide").sensors == (Sensor("who", categorical=True), Sensor("value"))
    assert read_sensors(text, ignore=["who"]).ids == ("f",)
    fails(pl.DataFrame({"time": [T0], "who": ["a"], "value": [1]}), "'who' may name the sensor")


def test_numbers_read_as_text_are_no_ids(tmp_path: Path) -> None:
    """One odd cell, or states that look like numbers, make texts of all columns: that must not change the layout."""
    minutes = [f"2020-01-{1 + m // 1440:02} {m // 60 % 24:02}:{m % 60:02}" for m in range(1500)]
    late = csv(tmp_path, "time,value,temp", *(f"{m},1.5,2.5" for m in minutes[:-1]), f"{minutes[-1]},1.5,broken")
    fails(late, "line 1501: column 'temp': 'broken' is not a number")
    other = csv(tmp_path, "time,value,temp", f"{T0},1.5,2.5", name="b.csv")
    fan = csv(tmp_path, "time,fan", f"{T0},01", name="c.csv")
    assert read_sensors([other, fan], categorical=["fan"]).ids == ("value", "temp", "fan")
    headerless = csv(tmp_path, f"{T0},fan,01", f"{T1},fan,1", name="d.csv")
    assert read_sensors(headerless, categorical=["fan"]).to_polars()["fan"].to_list() == ["01", "1"]


def test_two_columns_that_name_sensors(tmp_path: Path) -> None:
    apart = csv(tmp_path, "time,device,variable,value", f"{T0},a,t,5", f"{T0},a,h,6")
    fails(apart, "'device' and 'variable' together name 2 sensors, 'device' alone 1", "sensor='device'")
    assert read_sensors(apart, sensor="variable").ids == ("h", "t")
    same = csv(tmp_path, "time,sensor_id,sensor_name,value", f"{T0},1,t,5", f"{T1},2,h,6", name="b.csv")
    assert read_sensors(same).ids == ("1", "2")
    turns = csv(tmp_path, "time,device,variable,value", f"{T0},a,t,5", f"{T1},a,h,60", f"{T2},a,t,6", name="c.csv")
    fails(turns, "'device' and 'variable' together name 2 sensors, 'device' alone 1")


def test_remarks_and_changed_names_are_no_second_sensor(tmp_path: Path) -> None:
    """One 'cal' in a column 'tag', or a name that was once changed, was taken for another sensor and refused."""
    remark = csv(tmp_path, "time,sensor,value,tag", f"{T0},a,5,", f"{T1},a,6,cal", f"{T2},a,7,")
    assert read_sensors(remark).to_polars()["a"].to_list() == [5.0, 6.0, 7.0]
    assert read_sensors(pl.read_csv(remark).with_columns(pl.col("tag").fill_null(" "))).ids == ("a",)
    rows = (f"{T0},1,temp,5", f"{T1},1,Temp,6", f"{T2},1,Temp,7", f"{T0},2,flow,1", f"{T1},2, flow,3", f"{T2},2,flow,2")
    renamed = csv(tmp_path, "time,sensor_id,name,value", *rows, name="b.csv")
    for source in (renamed, pl.scan_csv(renamed), pl.read_csv(renamed, schema_overrides={"name": pl.Categorical})):
        assert read_sensors(source).ids == ("1", "2")


def test_headerless_files_with_the_sensor_first(tmp_path: Path) -> None:
    """Only the first cell was looked at: the first reading became the header."""
    data = read_sensors(csv(tmp_path, f"s1,{T0},5", f"s2,{T1},6"))
    assert data.ids == ("s1", "s2") and data.to_polars()["s1"].to_list() == [5.0, None]
    assert read_sensors(csv(tmp_path, f"s1,{T0},5")).ids == ("s1",)
    fails(csv(tmp_path, f"007,{T0},5", f"7,{T1},6"), "no header, so the sensors")
    dates = csv(tmp_path, "when,2020-01-01", f"{T0},5")  # names may look like dates
    assert read_sensors(dates, layout="wide").ids == ("2020-01-01",)


def test_points_in_file_names_belong_to_the_id(tmp_path: Path) -> None:
    """All but what stood before the first point was cut off: AHU1.SupplyT and AHU1.ReturnT became AHU1."""
    lines = ("time,value", f"{T0},5")
    for name in ("AHU1.SupplyT.csv", "AHU1.ReturnT.csv"):
        csv(tmp_path, *lines, name=name)
    (tmp_path / "AHU1.MixedT.csv.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    assert read_sensors(tmp_path).ids == ("AHU1.MixedT", "AHU1.ReturnT", "AHU1.SupplyT")


def test_a_frame_has_no_file_name_to_call_its_sensor_by() -> None:
    """The only sensor of a frame with the columns time and value once had an empty id."""
    frame = pl.DataFrame({"time": [T0], "value": [1.0]})
    assert read_sensors(frame).ids == ("value",)
    fails(frame, "layout='files' needs a file name", layout="files")


def test_no_sensor_is_called_time(tmp_path: Path) -> None:
    """A long table took it, and `to_polars` then failed with a polars error."""
    fails(csv(tmp_path, "time,sensor,value", f"{T0},time,1"), "'time' is a reserved column name", "name=")
    fails(csv(tmp_path, "Timestamp,time,a", f"{T0},1,2"), "'time' is a reserved column name", time="Timestamp")
    renamed = read_sensors(tmp_path / "f.csv", time="Timestamp", name="{column} of {file}")
    assert renamed.ids == ("time of f", "a of f")
    frame = pl.DataFrame({"time": [datetime(2020, 1, 1, tzinfo=UTC)], "sensor": ["time"], "value": [1.0]})
    for source in (frame, frame.lazy()):
        with pytest.raises(InputError, match="'time' is a reserved column name"):
            SensorData.from_long(source)
