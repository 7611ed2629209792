"""Shapes of files that loggers, historians and control systems write: each reads without an option.

Every row of the table in ``docs/guide/will-it-read-my-data.md`` is a shape here, and every shape is a row there.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import pytest

from thence.data.readers import read_sensors
from thence.data.readings.steps import own_step
from thence.errors import InputError

GUIDE = Path(__file__).parents[3] / "docs" / "guide" / "will-it-read-my-data.md"
START = datetime(2023, 5, 29, 22)
N = 60


def stamps(form: str, *, minutes: float = 15, n: int = N, start: datetime = START) -> list[str]:
    return [(start + timedelta(minutes=minutes * k)).strftime(form) for k in range(n)]


def number(k: int) -> str:
    return f"{20 + 3 * np.sin(k / 7) + k % 3 / 10:.2f}"


def rows(times: Sequence[str], sep: str = ",", *, columns: int = 2) -> list[str]:
    return [sep.join([time, *(number(k + 5 * c) for c in range(columns))]) for k, time in enumerate(times)]


def put(folder: Path, *lines: str, name: str = "export.csv", encoding: str = "utf-8") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding=encoding)
    return path


def wide(folder: Path) -> Path:
    return put(folder, "timestamp,tank_level,inflow", *rows(stamps("%Y-%m-%d %H:%M:%S")))


def decimal_commas(folder: Path) -> Path:
    lines = [line.replace(".", ",") for line in rows(stamps("%d-%m-%Y %H:%M"), ";")]
    return put(folder, "Zeit;Füllstand;Zufluss", *lines, encoding="cp1252")


def two_columns(folder: Path) -> Path:
    return put(folder, "Day,Date,Time,flow", *(f"Mon,{t},{number(k)}" for k, t in enumerate(stamps("%Y/%m/%d,%H:%M"))))


def clock_with_dots(folder: Path) -> Path:
    lines = (f"{t};{number(k).replace('.', ',')}" for k, t in enumerate(stamps("%d/%m/%Y;%H.%M.%S")))
    return put(folder, "Date;Time;Portata", *lines)


def date_and_hour(folder: Path) -> Path:
    lines = (f"{t},{number(k)}" for k, t in enumerate(stamps("%Y-%m-%d,%-H", minutes=60)))
    return put(folder, "dt,hr,demand", *lines)


def date_parts(folder: Path) -> Path:
    lines = (f"{t},{number(k)}" for k, t in enumerate(stamps("%Y,%m,%d,%H", minutes=60)))
    return put(folder, "Year,Month,Day,Hour,irradiance", *lines)


def calendar(folder: Path) -> Path:
    lines = (
        f"{day},{part},{0},{stamp},{number(k)}"
        for k, (day, part, stamp) in enumerate(
            zip(
                stamps("%Y-%m-%d", minutes=60),
                stamps("%Y,%B,%a,%H", minutes=60),
                stamps("%Y-%m-%dT%H:%MZ", minutes=60),
                strict=True,
            )
        )
    )
    return put(folder, "day_of_reading,year,month,weekday,hour,holiday,read_at_utc,steam", *lines)


def numbers_and_ids(folder: Path) -> Path:
    lines = (f"{k + 1},4711,{t},{number(k)}" for k, t in enumerate(stamps("%Y-%m-%d %H:%M")))
    return put(folder, "row,station_id,time,level", *lines)


def titles(folder: Path) -> Path:
    head = ("Trend report", "Panel 7, floor 2", "Time,Supply T,Damper", ",degC,%")
    return put(folder, *head, *rows(stamps("%m/%d/%Y %I:%M %p")))


def toa5(folder: Path) -> Path:
    head = (
        '"TOA5","met","CR1000","1234","CR1000.Std.27","CPU:met.CR1","41","Min15"',
        '"TIMESTAMP","RECORD","AirT","Wind"',
        '"TS","RN","Deg C","m/s"',
        '"","","Avg","Avg"',
    )
    lines = (f'"{t}",{k},{number(k)},{number(k + 9)}' for k, t in enumerate(stamps("%Y-%m-%d %H:%M:%S")))
    return put(folder, *head, *lines, name="met.dat")


def plot_title(folder: Path) -> Path:
    lines = (f"{k + 1},{t},{number(k)}" for k, t in enumerate(stamps("%m/%d/%y %I:%M:%S %p")))
    return put(folder, '"Plot Title: Cellar"', '"#","Date Time, GMT+00:00","Temp, °C (SEN S/N: 42)"', *lines)


def day_first(folder: Path) -> Path:
    return put(folder, "DATETIME,L_T9,F_PU9", *rows(stamps("%d/%m/%y %H", minutes=60)))


def dates_with_blanks(folder: Path) -> Path:
    return put(folder, "Date/Time,power,speed", *rows(stamps("%d %m %Y %H:%M", minutes=10)))


def haystack_stamps(folder: Path) -> Path:
    return put(folder, "ts,@a.sp,@a.t", *rows(stamps("%Y-%m-%dT%H:%M:%S+02:00 Berlin")))


def zone_letters(folder: Path) -> Path:
    return put(folder, "Timestamp,a,b", *rows(stamps("%d-%b-%y %I:%M:%S %p PST")))


def unix_times(folder: Path) -> Path:
    times = [str(1_685_000_000_000 + 60_000 * k) for k in range(N)]
    return put(folder, "time,a,b", *rows(times))


def end_of_day(folder: Path) -> Path:
    times = [t if not t.endswith("00:00") else "2023-05-29 24:00" for t in stamps("%Y-%m-%d %H:%M", minutes=60, n=20)]
    return put(folder, "time,a,b", *rows(times))


def bare_numbers(folder: Path) -> Path:
    lines = ["  " + "   ".join(f"{float(number(k + c)):8.3f}" for c in range(4)) for k in range(N)]
    return put(folder, *lines, name="run.dat")


def rule_line(folder: Path) -> Path:
    lines = (f"{t}     {number(k):>10}" for k, t in enumerate(stamps("%Y-%m-%d %H:%M")))
    return put(folder, "Read at              Head loss", "----------------     ---------", *lines, name="filter.txt")


def database_table(folder: Path) -> Path:
    lines = (f" {t} | {number(k)}" for k, t in enumerate(stamps("%Y-%m-%d %H:%M")))
    return put(folder, " time             | level", "------------------+-------", *lines, name="psql.txt")


def empty_ends(folder: Path) -> Path:
    return put(folder, "time;a;b;;", *(f"{line};;" for line in rows(stamps("%Y-%m-%d %H:%M"), ";")), ";;;;", ";;;;")


def missing_rows(folder: Path) -> Path:
    lines = rows(stamps("%Y-%m-%d %H:%M", minutes=10, n=300))
    kept = np.random.default_rng(3).random(300) > 0.3
    return put(folder, "time,a,b", *(line for line, keep in zip(lines, kept, strict=True) if keep))


def three_minutes(folder: Path) -> Path:
    return put(folder, "time,a,b", *rows(stamps("%Y-%m-%d %H:%M", minutes=3)))


def long(folder: Path) -> Path:
    lines = (f"{t},{id},{number(k)}" for k, t in enumerate(stamps("%Y-%m-%d %H:%M")) for id in ("p1", "p2"))
    return put(folder, "time,tag_name,value", *lines)


def two_names(folder: Path) -> Path:
    lines = (f"{t},{id},{k % 2}" for k, t in enumerate(stamps("%Y-%m-%d %H:%M")) for id in ("pump", "valve"))
    return put(folder, "when,name,value", *lines)


def changes(rng: np.random.Generator, n: int, mean: float) -> list[datetime]:
    return [START + timedelta(seconds=float(s)) for s in np.cumsum(rng.exponential(mean, n) + 1)]


def change_of_value(folder: Path) -> Path:
    rng = np.random.default_rng(1)
    logged = [(t, "AI-7", number(k)) for k, t in enumerate(changes(rng, 300, 400))]
    logged += [(t, "BO-2", str(k % 2)) for k, t in enumerate(changes(rng, 30, 4000))]
    return put(folder, "object_name,value,at", *(f"{id},{v},{t.isoformat()}Z" for t, id, v in sorted(logged)))


def home_log(folder: Path) -> Path:
    rng = np.random.default_rng(2)
    logged = [(t, "sensor.attic_temperature", number(k)) for k, t in enumerate(changes(rng, 200, 600))]
    logged += [(t, "cover.blind", ("open", "closed")[k % 2]) for k, t in enumerate(changes(rng, 60, 1800))]
    logged.append((START + timedelta(hours=9, seconds=0.5), "sensor.attic_temperature", "unavailable"))
    lines = (f"{id},{state},{t.isoformat()}+00:00" for t, id, state in sorted(logged))
    return put(folder, "entity_id,state,last_updated", *lines)


def bare_log(folder: Path) -> Path:
    rng = np.random.default_rng(4)
    logged = [(t, "M017", ("ON", "OFF")[k % 2]) for k, t in enumerate(changes(rng, 90, 900))]
    logged += [(t, "T002", number(k)) for k, t in enumerate(changes(rng, 90, 900))]
    return put(folder, *(f"{t:%Y-%m-%d %H:%M:%S.%f} {id} {s}" for t, id, s in sorted(logged)), name="data.txt")


def intervals(folder: Path) -> Path:
    spans = [(START + timedelta(hours=5 * k), START + timedelta(hours=5 * k + 1)) for k in range(12)]
    lines = (f"{a:%d.%m.%Y %H:%M},{b:%d.%m.%Y %H:%M},press {k % 2},running" for k, (a, b) in enumerate(spans))
    return put(folder, "Start,End,Device,State", *lines)


def bare_intervals(folder: Path) -> Path:
    spans = [(START + timedelta(hours=3 * k), START + timedelta(hours=3 * k, minutes=9)) for k in range(20)]
    lines = (f"{a}\t{b}\t{('Sofa', 'Oven')[k % 2]}\t{('Pressure', 'Power')[k % 2]}" for k, (a, b) in enumerate(spans))
    return put(folder, *lines, name="home.txt")


def annotated(folder: Path) -> Path:
    head = ("#group,false,false,false,false,true,true", "#datatype,string,long,dateTime:RFC3339,{},string,string")
    lines = []
    for table, (kind, room) in enumerate((("double", "lab"), ("boolean", "hall"))):
        lines += [head[0], head[1].format(kind), "#default,_result,,,,,", ",result,table,_time,_value,_field,room"]
        for k, t in enumerate(stamps("%Y-%m-%dT%H:%M:%SZ")):
            value = number(k) if kind == "double" else ("true", "false")[k % 2]
            lines.append(f",,{table},{t},{value},{'temp' if kind == 'double' else 'door'},{room}")
        lines.append("")
    return put(folder, *lines)


def tagged(folder: Path) -> Path:
    lines = (
        f"{t},{number(k)},rpm,fans,{fan}"
        for k, t in enumerate(stamps("%Y-%m-%dT%H:%M:%SZ"))
        for fan in ("fan_a", "fan_b")
    )
    return put(folder, "_time,_value,_field,_measurement,unit_name", *lines)


def row_per_site(folder: Path) -> Path:
    lines = (f"{t},{room},{number(k)},{number(k + 3)}" for k, t in enumerate(stamps("%Y-%m-%d %H:%M")) for room in "AB")
    return put(folder, "time,room,co2,temp", *lines)


def file_per_point(folder: Path) -> Path:
    for name in ("site1.pump.flow", "site1.pump.run"):
        lines = (f"{t},{number(k) if 'flow' in name else k % 2}" for k, t in enumerate(stamps("%Y-%m-%dT%H:%M:%SZ")))
        put(folder / "his", "ts,v0", *lines, name=f"{name}.csv")
    return folder / "his"


def station_histories(folder: Path) -> Path:
    for name in ("Plant_ChwTemp", "Plant_Pump"):
        lines = [f"{t},{{ }},{{ok}},{number(k)}" for k, t in enumerate(stamps("%d-%b-%y %I:%M:%S %p CET"))]
        lines[10:12] = [line.replace("{ok}", '"{fault,down}"') for line in lines[10:12]]
        put(folder / "histories", "Timestamp,Trend Flags,Status,Value (°C)", *lines, name=f"{name}.csv")
    return folder / "histories"


def json_lines(folder: Path, messages: Sequence[Any]) -> Path:
    return put(folder, *map(json.dumps, messages), name="messages.jsonl")


def recorded_messages(folder: Path) -> Path:
    times = stamps("%Y-%m-%dT%H:%M:%SZ")
    payloads = [{"soil": {"moisture": float(number(k))}, "linkquality": 90 + k % 5} for k in range(N)]
    return json_lines(
        folder, [{"time": t, "topic": "field/7", "payload": p} for t, p in zip(times, payloads, strict=True)]
    )


def senml(folder: Path) -> Path:
    packs = [
        [{"bn": "dev:7:", "bt": 1.68e9 + 600 * k, "n": "hum", "u": "%RH", "v": 40 + k % 7}, {"n": "door", "vb": k > 9}]
        for k in range(N)
    ]
    return json_lines(folder, packs)


def metrics(folder: Path) -> Path:
    return json_lines(
        folder,
        [
            {"timestamp": 1_680_000_000_000 + 60_000 * k, "metrics": [{"name": "Mixer/Speed", "value": k * 1.5}]}
            for k in range(N)
        ],
    )


def records(folder: Path) -> Path:
    times = stamps("%Y-%m-%dT%H:%M:%SZ")
    return json_lines(folder, [{"timestamp": t, "ph": float(number(k)), "pump": "on"} for k, t in enumerate(times)])


def transposed(folder: Path) -> Path:
    head = ",".join(["Point", "Unit", *stamps("%Y-%m-%d %H:%M")])
    return put(folder, head, *(",".join([p, u, *map(number, range(N))]) for p, u in (("Head", "m"), ("Flow", "L/s"))))


def nested_runs(folder: Path) -> Path:
    for k, name in enumerate(("cold/2.csv", "cold/10.csv", "hot/1.csv")):
        times = stamps("%Y-%m-%d %H:%M:%S", minutes=1 / 60, start=START + timedelta(hours=k))
        put(folder / "runs", "time;torque;speed", *rows(times, ";"), name=name)
    return folder / "runs"


def pointer(folder: Path) -> Path:
    return put(folder, "version https://git-lfs.github.com/spec/v1", "oid sha256:4d7a", "size 12345")


def compressed(folder: Path) -> Path:
    path = folder / "export.csv.gz"
    path.write_bytes(gzip.compress(wide(folder).read_bytes()))
    return path


def utf16(folder: Path) -> Path:
    return put(folder, "time\ta\tb", *rows(stamps("%Y-%m-%d %H:%M"), "\t"), encoding="utf-16")


def parquet(folder: Path) -> Path:
    times = [START + timedelta(minutes=15 * k) for k in range(N)]
    pl.DataFrame({"time": times, "a": range(N), "b": [None, *range(N - 1)]}).write_parquet(folder / "a.parquet")
    return folder / "a.parquet"


def empty_column(folder: Path) -> Path:
    return put(folder, "time,a,dead", *(f"{line}," for line in rows(stamps("%Y-%m-%d %H:%M"), columns=1)))


@dataclass(frozen=True)
class Shape:
    """A shape of files, and how it reads.

    Args:
        name: The row in the guide.
        write: Writes the files, and returns what to read.
        sensors: The sensors.
        rows: Number of different times.
        step: Length of windows.
        missing: Number of readings that are missing, at the times of all rows; of logs it is not counted.
        states: Sensors that read states.
        error: What the error says, if it is one.
        options: What must be given.
    """

    name: str
    write: Callable[[Path], Path]
    sensors: tuple[str, ...] = ()
    rows: int = N
    step: str = "15min"
    missing: int | None = 0
    states: tuple[str, ...] = ()
    error: str = ""
    options: dict[str, Any] = field(default_factory=dict)


METER_ROWS = 200


def labels(folder: Path) -> Path:
    lines = [f"{line},{float(k > 40)},0.0" for k, line in enumerate(rows(stamps("%Y-%m-%d %H:%M:%S"), columns=1))]
    return put(folder, "clock,torque,anomaly,changepoint", *lines)


def codes(folder: Path) -> Path:
    lines = [
        f"{t},{'-200' if k % 9 == 4 else number(k)},{'-200' if k % 9 == 4 else number(k + 3)}"
        for k, t in enumerate(stamps("%Y-%m-%d %H:%M:%S"))
    ]
    return put(folder, "time,ozone,soot", *lines)


def meters(folder: Path) -> Path:
    shown = np.cumsum(1 + np.arange(METER_ROWS) % 7 / 10)
    lines = [f"{t},{x:.1f}" for t, x in zip(stamps("%Y-%m-%d %H:%M:%S", n=METER_ROWS), shown, strict=True)]
    return put(folder, "time,Elec_kWh", *lines)


def zone_in_header(folder: Path) -> Path:
    return put(folder, '"Date Time, GMT-05:00",flow', *rows(stamps("%m/%d/%Y %H:%M"), columns=1))


def zone_beside(folder: Path) -> Path:
    zone, start = ZoneInfo("Europe/Oslo"), datetime(2023, 10, 27, 22, tzinfo=UTC)
    local = [(start + timedelta(minutes=30 * k)).astimezone(zone) for k in range(100)]
    path = put(folder, "local,lamp_lx", *(f"{t:%d.%m.%Y %H:%M},{number(k)}" for k, t in enumerate(local)))
    put(folder, json.dumps({"timezone": "Europe/Oslo"}), name=f"{path.stem}.meta.json")
    return path


def standby(folder: Path) -> Path:
    lines = [f"{t},{k // 5 % 2},{k // 7 % 2},0" for k, t in enumerate(stamps("%Y-%m-%d %H:%M:%S"))]
    return put(folder, "time,S_A1,S_A2,S_A3", *lines)


SHAPES = (
    Shape("a time and a column per sensor", wide, ("tank_level", "inflow")),
    Shape("semicolons, decimal commas, umlauts", decimal_commas, ("Füllstand", "Zufluss")),
    Shape("date and clock in two columns", two_columns, ("flow",)),
    Shape("clock with dots", clock_with_dots, ("Portata",)),
    Shape("date and hour of day", date_and_hour, ("demand",), step="1h"),
    Shape("year, month, day, hour", date_parts, ("irradiance",), step="1h"),
    Shape("calendar columns", calendar, ("steam",), step="1h"),
    Shape("row numbers, site ids", numbers_and_ids, ("level",)),
    Shape("title lines, row of units", titles, ("Supply T", "Damper")),
    Shape("TOA5 of data loggers", toa5, ("AirT", "Wind")),
    Shape("plot title of a logger", plot_title, ("Temp, °C (SEN S/N: 42)",)),
    Shape("SCADA export, day first", day_first, ("L_T9", "F_PU9"), step="1h"),
    Shape("dates with blanks", dates_with_blanks, ("power", "speed"), step="10min"),
    Shape("Haystack time stamps", haystack_stamps, ("@a.sp", "@a.t")),
    Shape("abbreviated time zone", zone_letters, ("a", "b")),
    Shape("Unix times", unix_times, ("a", "b"), step="1min"),
    Shape("24:00", end_of_day, ("a", "b"), rows=20, step="1h"),
    Shape(
        "numbers only, without times",
        bare_numbers,
        tuple(f"column {k}" for k in (1, 2, 3, 4)),
        step="3min",
        options={"step": "3min"},
    ),
    Shape("columns apart by blanks, rule line", rule_line, ("Head loss",)),
    Shape("table of a database client", database_table, ("level",)),
    Shape("empty columns and last rows", empty_ends, ("a", "b")),
    Shape("missing rows", missing_rows, ("a", "b"), rows=220, step="10min"),
    Shape("steps of 3 minutes", three_minutes, ("a", "b"), step="3min"),
    Shape("a row per reading", long, ("p1", "p2")),
    Shape(
        "change-of-value log", change_of_value, ("AI-7", "BO-2"), rows=330, step="5min", missing=None, states=("BO-2",)
    ),
    Shape(
        "Home Assistant",
        home_log,
        ("cover.blind", "sensor.attic_temperature"),
        rows=260,
        step="10min",
        missing=None,
        states=("cover.blind",),
    ),
    Shape(
        "event log without a header", bare_log, ("M017", "T002"), rows=180, step="15min", missing=None, states=("M017",)
    ),
    Shape(
        "intervals with a state",
        intervals,
        ("press 0", "press 1"),
        rows=24,
        step="1h",
        missing=None,
        states=("press 0", "press 1"),
    ),
    Shape(
        "intervals without a header",
        bare_intervals,
        ("Oven Power", "Sofa Pressure"),
        rows=40,
        step="9min",
        missing=None,
        states=("Oven Power", "Sofa Pressure"),
    ),
    Shape("annotated CSV of InfluxDB", annotated, ("hall.door", "lab.temp"), states=("hall.door",)),
    Shape("tagged series of InfluxDB", tagged, ("fan_a.rpm", "fan_b.rpm")),
    Shape("a row per time and room", row_per_site, ("A.co2", "A.temp", "B.co2", "B.temp")),
    Shape("a file per point", file_per_point, ("site1.pump.flow", "site1.pump.run"), states=("site1.pump.run",)),
    Shape("histories with a status (Niagara)", station_histories, ("Plant_ChwTemp", "Plant_Pump"), missing=0, rows=58),
    Shape("recorded MQTT messages", recorded_messages, ("field/7.soil.moisture",)),
    Shape("SenML packs", senml, ("dev:7:door", "dev:7:hum"), step="10min", states=("dev:7:door",)),
    Shape("Sparkplug metrics as JSON", metrics, ("Mixer/Speed",), step="1min"),
    Shape("records as JSON lines", records, ("ph", "pump"), states=("pump",)),
    Shape("a row per sensor, a column per time", transposed, ("Flow", "Head")),
    Shape("runs in nested folders", nested_runs, ("torque", "speed"), rows=3 * N, step="1s"),
    Shape("Git LFS pointer", pointer, error="pointer of Git LFS, not the data"),
    Shape("compressed", compressed, ("tank_level", "inflow")),
    Shape("UTF-16 with tabs", utf16, ("a", "b")),
    Shape("Parquet", parquet, ("a", "b"), missing=1),
    Shape("labels", labels, ("torque",)),
    Shape("codes for missing", codes, ("ozone", "soot"), missing=2 * len(range(4, N, 9))),
    Shape("meters", meters, ("Elec_kWh",), rows=METER_ROWS, missing=1),
    Shape("time zone in the header", zone_in_header, ("flow",)),
    Shape("time zone beside the file", zone_beside, ("lamp_lx",), rows=100, step="30min"),
    Shape("pump that never ran", standby, ("S_A1", "S_A2", "S_A3"), states=("S_A1", "S_A2", "S_A3")),
    Shape("sensor that never reads", empty_column, ("a", "dead"), missing=N),
)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_a_shape_reads_without_an_option(shape: Shape, tmp_path: Path) -> None:
    source = shape.write(tmp_path)
    if shape.error:
        with pytest.raises(InputError, match=shape.error):
            read_sensors(source)
        return
    data = read_sensors(source, **shape.options)
    frame = data.to_polars()
    assert data.ids == shape.sensors
    assert frame.height == shape.rows
    assert own_step(data).text == shape.step
    assert tuple(sensor.id for sensor in data.sensors if sensor.categorical) == shape.states
    if shape.missing is not None:
        assert sum(frame.select(data.ids).null_count().row(0)) == shape.missing


def test_the_guide_and_the_tests_name_the_same_shapes() -> None:
    text = GUIDE.read_text(encoding="utf-8").partition("## Models")[0]
    table = [line.split("|")[1].strip() for line in text.splitlines() if line[:2] == "| "]
    assert table[0] == "shape" and table[1:] == [shape.name for shape in SHAPES]


def test_the_times_of_all_shapes_are_those_that_were_written(tmp_path: Path) -> None:
    """What has no zone is read as UTC; offsets and abbreviations count."""
    for write, hours in (
        (wide, 0),
        (dates_with_blanks, 0),
        (clock_with_dots, 0),
        (haystack_stamps, -2),
        (zone_letters, 8),
    ):
        first = read_sensors(write(tmp_path)).to_polars()["time"][0]
        assert first == START.replace(tzinfo=UTC) + timedelta(hours=hours)


def test_files_that_hold_one_column_at_the_same_times_are_points(tmp_path: Path) -> None:
    """A conflict of readings was reported between the files of two sensors."""
    for name in ("north", "south"):
        put(tmp_path / "t", "time,temperature", *rows(stamps("%Y-%m-%d %H:%M"), columns=1), name=f"{name}.csv")
    assert read_sensors(tmp_path / "t").ids == ("north", "south")
    for k, name in enumerate(("may", "june")):
        times = stamps("%Y-%m-%d %H:%M", start=START + timedelta(days=3 * k))
        put(tmp_path / "months", "time,temperature", *rows(times, columns=1), name=f"{name}.csv")
    assert read_sensors(tmp_path / "months").ids == ("temperature",)


def test_tables_without_times_follow_each_other_with_a_gap(tmp_path: Path) -> None:
    for name in ("run 2.dat", "run 10.dat"):
        put(tmp_path / "d", *("1.5  2.5", "1.7  2.6", "1.9  2.4"), name=name)
    with pytest.raises(InputError, match=r"no time column found.*step='15min'"):
        read_sensors(tmp_path / "d")
    times = read_sensors(tmp_path / "d", step="3min").to_polars()["time"]
    assert times.diff().drop_nulls().max() > timedelta(days=1)
