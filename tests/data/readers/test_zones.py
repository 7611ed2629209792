"""Time zones that a source names, and the hour that occurs twice."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import polars as pl
import pytest

import thence as th
from thence.data.readers.zones import suggest_zone, zone_behind, zone_in_name
from thence.errors import InputError

PARIS = ZoneInfo("Europe/Paris")


def wall_times(start: datetime, n: int, zone: ZoneInfo, form: str = "%d.%m.%Y %H:%M") -> list[str]:
    """What a clock on the wall shows every half hour."""
    return [(start + timedelta(minutes=30 * k)).astimezone(zone).strftime(form) for k in range(n)]


def log(folder: Path, times: list[str], head: str = "wall", name: str = "ovens.csv") -> Path:
    path = folder / name
    path.write_text("\n".join([f"{head};flour_kg", *(f"{t};{50 + k}" for k, t in enumerate(times))]) + "\n")
    return path


START = datetime(2032, 10, 29, 22, tzinfo=UTC)  # the clock goes back on the 31st


@pytest.mark.parametrize("order", [1, -1])
def test_the_order_of_rows_settles_the_repeated_hour(tmp_path: Path, order: int) -> None:
    times = wall_times(START, 100, PARIS)
    assert len(set(times)) == 98
    path = log(tmp_path, times[::order])
    data = th.read_sensors(path, timezone="Europe/Paris")
    read = data.to_polars()["time"].to_list()
    assert read == [START + timedelta(minutes=30 * k) for k in range(100)]
    assert data.to_polars()["flour_kg"].to_list() == [float(50 + k) for k in range(100)][::order]
    assert data.timezone == "Europe/Paris"


def test_each_sensor_of_a_long_table_has_its_own_order(tmp_path: Path) -> None:
    times = wall_times(START, 100, PARIS)
    lines = [f"{t},{id},{k}.5" for id in ("left", "right") for k, t in enumerate(times)]
    path = tmp_path / "long.csv"
    path.write_text("\n".join(["at,point,value", *lines]) + "\n")
    read = th.read_sensors(path, timezone="Europe/Paris").to_polars()
    assert read.height == 100
    assert read["right"].to_list() == [k + 0.5 for k in range(100)]


def test_without_a_zone_the_error_suggests_one(tmp_path: Path) -> None:
    path = log(tmp_path, wall_times(START, 100, PARIS))
    with pytest.raises(InputError, match="two readings") as caught:
        th.read_sensors(path)
    assert "goes back on 2032-10-31 at 02:00, as in Europe/Berlin: pass timezone='Europe/Berlin'" in str(
        caught.value.hint
    )
    american = pl.Series([datetime(2032, 11, 7, h, m) for h, m in ((0, 30), (1, 0), (1, 30), (1, 0), (1, 30), (2, 0))])
    assert "timezone='America/New_York'" in suggest_zone(american)
    assert suggest_zone(american.dt.offset_by("7d")) == ""


def test_a_time_that_no_order_settles_is_an_error(tmp_path: Path) -> None:
    times = [t for t in wall_times(START, 100, PARIS) if " 02:" not in t]
    path = log(tmp_path, [*times[:60], "31.10.2032 02:10", *times[60:]])
    with pytest.raises(InputError, match="is ambiguous in the time zone Europe/Paris"):
        th.read_sensors(path, timezone="Europe/Paris")


@pytest.mark.parametrize("name", ["ovens.meta.json", "ovens.csv.meta.json"])
def test_a_file_of_metadata_names_the_zone_and_units(tmp_path: Path, name: str) -> None:
    path = log(tmp_path, wall_times(START, 100, PARIS))
    (tmp_path / name).write_text(json.dumps({"tz": "Europe/Paris", "units": {"flour_kg": "kg"}, "owner": 3}))
    data = th.read_sensors(path)
    assert (data.to_polars().height, data.timezone, data.sensor("flour_kg").unit) == (100, "Europe/Paris", "kg")
    assert f"time zone Europe/Paris and units from {name}" in str(data.report)
    (tmp_path / name).write_text(json.dumps({"tz": "Mars/Olympus"}))
    with pytest.raises(InputError, match="two readings"):
        th.read_sensors(path)
    (tmp_path / name).write_text("[1, 2")
    with pytest.raises(InputError, match="two readings"):
        th.read_sensors(path)


@pytest.mark.parametrize(
    ("head", "zone"),
    [
        ("Date Time, GMT-05:00", "Etc/GMT+5"),
        ("Time (UTC+05:30)", "Asia/Kolkata"),
        ("Zeit [Europe/Vienna]", "Europe/Vienna"),
        ("stamp_utc", "UTC"),
        ("UTC+17", ""),
        ("Time", ""),
        ("Weight Mean/Max", ""),
    ],
)
def test_names_of_columns_may_say_the_zone(head: str, zone: str) -> None:
    assert zone_in_name(head) == zone


def test_a_fixed_offset_in_the_header_is_used(tmp_path: Path) -> None:
    path = log(tmp_path, wall_times(START, 100, ZoneInfo("Etc/GMT+5")), head='"Date Time, GMT-05:00"')
    data = th.read_sensors(path)
    assert data.to_polars()["time"][0] == START
    assert data.timezone == "Etc/GMT+5"
    assert th.read_sensors(path, timezone="UTC").to_polars()["time"][0] == START - timedelta(hours=5)


def test_a_city_behind_the_times_is_the_zone() -> None:
    assert zone_behind(pl.Series(["2032-05-29T22:00:00+02:00 Madrid"] * 3)) == "Europe/Madrid"
    assert zone_behind(pl.Series(["2032-05-29T22:00:00+02:00"])) == ""


def test_schedules_are_those_of_local_time(tmp_path: Path) -> None:
    """Regression: lights that go on at six were told to go on at four, and at five after the change of clocks."""
    start = datetime(2032, 10, 10, 22, tzinfo=UTC)
    local = [start + timedelta(minutes=30 * k) for k in range(48 * 35)]
    lit = [6 <= moment.astimezone(PARIS).hour < 20 for moment in local]
    path = tmp_path / "hall.csv"
    lines = [f"{m.astimezone(PARIS):%Y-%m-%d %H:%M},{int(on)}" for m, on in zip(local, lit, strict=True)]
    path.write_text("\n".join(["time,hall_lights", *lines]) + "\n")
    (tmp_path / "hall.meta.json").write_text('{"timezone": "Europe/Paris"}')
    run = th.mine(path, progress="off")
    assert run.config.windows.timezone == "Europe/Paris"
    (sentence,) = run.controls.sentences if run.controls else ()
    assert sentence == "hall_lights switches on at 06:00 (35 of 35 days) and switches off at 20:00 (35 of 35 days)"


@pytest.mark.parametrize(
    ("behind", "zone"),
    [("-05:00", "Etc/GMT+5"), (" EST", "Etc/GMT+5"), ("+05:30", "Asia/Kolkata"), ("Z", ""), ("", "")],
)
def test_times_that_all_have_one_offset_are_of_its_clock(tmp_path: Path, behind: str, zone: str) -> None:
    """Hours of times in EST were those of UTC: a fan that starts at 07:00 was said to start at 12:00."""
    path = tmp_path / "log.csv"
    rows = [f"2024-01-01 00:{minute:02d}:00{behind},{minute}" for minute in range(30)]
    path.write_text("\n".join(["time,level", *rows]))
    assert th.read_sensors(path).timezone == zone


def test_times_with_several_offsets_have_no_clock(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    rows = [f"2024-01-01 00:{minute:02d}:00{'-05:00' if minute % 2 else '-06:00'},{minute}" for minute in range(30)]
    path.write_text("\n".join(["time,level", *rows]))
    assert th.read_sensors(path).timezone == ""
