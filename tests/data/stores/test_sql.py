"""Readings from a real PostgreSQL server and from DuckDB: the same numbers as from Parquet, whatever the rows hold."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.helpers.postgres import postgres_server
from thence.data.readers import read_sensors
from thence.data.readings.sensors import SensorData
from thence.data.readings.windows import WindowedReadings, window
from thence.data.stores import sql
from thence.errors import ConfigError, InputError, ThenceError

psycopg: Any = pytest.importorskip("psycopg")
duckdb: Any = pytest.importorskip("duckdb")
adbc: Any = pytest.importorskip("adbc_driver_postgresql.dbapi")
PASSWORD = "pa:ss@wo/rd#?%"
LONG = {"time": "ts", "sensor": "sensor_id", "value": "value"}
pytestmark = pytest.mark.needs("postgresql")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with postgres_server(PASSWORD) as address:
        yield address


def fill(url: str, rows: Sequence[tuple[Any, ...]], columns: str, *, table: str = "readings") -> None:
    with psycopg.connect(url, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("SET TIME ZONE 'UTC'")
        cursor.execute(f"DROP TABLE IF EXISTS {table}")
        cursor.execute(f"CREATE TABLE {table} ({columns})")
        if rows:
            marks = ", ".join(["%s"] * len(rows[0]))
            cursor.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)


def run(url: str, *statements: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


def same(left: WindowedReadings, right: WindowedReadings) -> None:
    assert left.sensors == right.sensors
    assert left.times.tolist() == right.times.tolist()
    assert left.values.tobytes() == right.values.tobytes() or np.array_equal(left.values, right.values, equal_nan=True)
    assert left.aggregates == right.aggregates
    assert {id: (codes.tolist(), names) for id, (codes, names) in left.states.items()} == {
        id: (codes.tolist(), names) for id, (codes, names) in right.states.items()
    }


def windows_or_error(read: Any, **options: Any) -> WindowedReadings | str:
    try:
        return window(read(), **options)
    except ThenceError as error:
        return type(error).__name__


START = datetime(2024, 3, 30, 22, tzinfo=UTC)  # clocks are set forward in the night after
NUMBERS = st.one_of(
    st.floats(-1e6, 1e6),
    st.sampled_from([0.1, 0.2, 0.3, 1e-300, -999.0, 1e16, 0.0, 1.0]),
    st.sampled_from([math.nan, math.inf, -math.inf, None]),
)
ROWS = st.lists(
    st.tuples(
        st.integers(0, 4 * 3600).map(lambda s: START + timedelta(seconds=7 * s)), st.sampled_from("abc"), NUMBERS
    ),
    min_size=1,
    max_size=60,
)
FEW = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))


@FEW
@given(
    rows=ROWS,
    again=st.integers(0, 5),
    aggregate=st.sampled_from(["mean", "sum", "min", "max", "last", "median"]),
    every=st.sampled_from(["30min", "7min", "1h", "1d"]),
    origin=st.sampled_from(["epoch", "start", "2024-03-01T00:13"]),
)
def test_windows_are_those_of_parquet(
    url: str, tmp_path_factory: Any, rows: list[Any], again: int, aggregate: str, every: str, origin: str
) -> None:
    """Gaps, NaN, NULL, infinity, duplicates, missing numbers and offsets; aggregated here or by the database."""
    rows = sorted({(when, sensor): (when, sensor, value) for when, sensor, value in rows}.values(), key=lambda r: r[:2])
    rows += rows[:again]
    folder = tmp_path_factory.mktemp("windows")
    frame = pl.DataFrame(
        rows, schema={"ts": pl.Datetime("us", "UTC"), "sensor_id": pl.String, "value": pl.Float64}, orient="row"
    )
    frame.write_parquet(folder / "readings.parquet")
    fill(url, rows, "ts timestamptz, sensor_id text, value float8")
    with duckdb.connect(str(folder / "plant.db")) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute(f"CREATE TABLE readings AS SELECT * FROM '{folder}/readings.parquet'")
    common: dict[str, Any] = {**LONG, "missing": ["-999"]}
    wanted = {"every": every, "aggregate": aggregate, "origin": origin}
    expected = windows_or_error(lambda: read_sensors(folder / "readings.parquet", **common), **wanted)
    for place in (url, f"duckdb:///{folder}/plant.db"):
        pushed = {"windows": every, "aggregate": aggregate, "origin": origin}
        for options in ({}, pushed):
            found = windows_or_error(
                lambda place=place, options=options: read_sensors(place, table="readings", **common, **options),
                **wanted,
            )
            if isinstance(expected, str) or isinstance(found, str):
                assert found == expected
            else:
                same(found, expected)


@pytest.mark.parametrize("key", ["", ", PRIMARY KEY (sensor_id, ts)"])
def test_the_database_aggregates(url: str, tmp_path: Path, key: str) -> None:
    """Means agree in the last bit; the sensor of few whole numbers is read row by row."""
    random = np.random.default_rng(3)
    rows = [
        (START + timedelta(seconds=20 * k), name, float(random.random() if name != "pump" else k // 100 % 2))
        for k in range(1500)
        for name in ("flow", "level", "pump")
    ]
    frame = pl.DataFrame(rows, schema=["ts", "sensor_id", "value"], orient="row")
    frame.write_parquet(tmp_path / "readings.parquet")
    fill(url, [rows[k] for k in random.permutation(len(rows))], f"ts timestamptz, sensor_id text, value float8{key}")
    data = read_sensors(url, table="readings", windows="10min", **LONG)
    (record,) = data.report.sources
    assert "date_bin" in record["query"] and record["rows"] == 1500 + 2 * 50
    assert any("aggregated 4,500 rows" in note for note in data.report.notes)
    same(window(data, "10min"), window(read_sensors(tmp_path / "readings.parquet", **LONG), "10min"))
    assert window(data).every == timedelta(minutes=10)
    for other in (
        {"every": "20min"},
        {"every": "10min", "aggregate": "max"},
        {"every": "10min", "origin": "2024-01-01T00:03"},
    ):
        with pytest.raises(ConfigError, match="the database aggregated"):
            window(data, **other)


def test_time_bucket_is_used_where_there_is_one(url: str) -> None:
    rows = [(START + timedelta(seconds=20 * k), "flow", 0.1 * k) for k in range(500)]
    fill(url, rows, "ts timestamptz, sensor_id text, value float8")
    plain = window(read_sensors(url, table="readings", windows="7min", **LONG), "7min")
    run(
        url,
        "CREATE FUNCTION time_bucket(interval, timestamptz, timestamptz) RETURNS timestamptz IMMUTABLE "
        "LANGUAGE sql AS 'SELECT date_bin($1, $2, $3)'",
    )
    try:
        data = read_sensors(url, table="readings", windows="7min", **LONG)
    finally:
        run(url, "DROP FUNCTION time_bucket(interval, timestamptz, timestamptz)")
    assert "time_bucket(" in data.report.sources[0]["query"]
    same(window(data, "7min"), plain)


@pytest.mark.parametrize(
    "column, more",
    [("text", {}), ("numeric", {}), ("real", {}), ("bigint", {}), ("boolean", {})],
)
def test_columns_of_every_type(url: str, tmp_path: Path, column: str, more: dict[str, Any]) -> None:
    values: dict[str, list[Any]] = {
        "text": ["open", "closed", "1", None],
        "numeric": [1.25, 0.1, -3, None],
        "real": [1.25, 0.1, -3, None],
        "bigint": [1, 2, 2**53, None],
        "boolean": [True, False, True, None],
    }
    types = {"text": pl.String, "numeric": pl.Float64, "real": pl.Float32, "bigint": pl.Int64, "boolean": pl.Boolean}
    rows = [(START + timedelta(minutes=k), "s", values[column][k % 4]) for k in range(60)]
    schema = {"ts": pl.Datetime("us", "UTC"), "sensor_id": pl.String, "value": types[column]}
    pl.DataFrame(rows, schema=schema, orient="row").write_parquet(tmp_path / "readings.parquet")
    fill(url, rows, f"ts timestamptz, sensor_id text, value {column}")
    options = {**LONG, **({"categorical": ["s"]} if column == "text" else {})}
    expected = read_sensors(tmp_path / "readings.parquet", **options)
    for pushed in ({}, {"windows": "5min"}):
        found = read_sensors(url, table="readings", **options, **pushed)
        same(window(found, "5min"), window(expected, "5min"))


def test_local_times_and_clocks_that_are_set(url: str, tmp_path: Path) -> None:
    """Times without a zone are read as from a file: those that do not exist or occur twice are an error or repaired."""
    hours = [
        datetime(2024, 3, 31, 0),
        datetime(2024, 3, 31, 2, 30),
        datetime(2024, 10, 27, 2, 30),
        datetime(2024, 12, 1),
    ]
    rows = [(when, "s", 0.5 + k) for k, when in enumerate(hours)]
    frame = pl.DataFrame(
        rows, schema={"ts": pl.Datetime("us"), "sensor_id": pl.String, "value": pl.Float64}, orient="row"
    )
    frame.write_parquet(tmp_path / "readings.parquet")
    fill(url, rows, "ts timestamp, sensor_id text, value float8")
    for zone in ("UTC", "Europe/Berlin"):
        for on_error in ("raise", "repair"):
            options: dict[str, Any] = {**LONG, "timezone": zone, "on_error": on_error, "max_loss": 1}
            expected = windows_or_error(lambda o=options: read_sensors(tmp_path / "readings.parquet", **o), every="1h")
            for pushed in ({}, {"windows": "1h"}):
                found = windows_or_error(
                    lambda o=options, p=pushed: read_sensors(url, table="readings", **o, **p), every="1h"
                )
                if isinstance(expected, str) or isinstance(found, str):
                    assert found == expected
                else:
                    same(found, expected)


def test_wide_tables_views_and_queries(url: str, tmp_path: Path) -> None:
    rows = [(START + timedelta(minutes=k), 0.5 * k, "open" if k % 2 else "closed", k % 3 == 0) for k in range(90)]
    schema = ["time", "flow", "valve", "alarm"]
    pl.DataFrame(rows, schema=schema, orient="row").write_parquet(tmp_path / "wide.parquet")
    fill(url, rows, "time timestamptz, flow float8, valve text, alarm boolean", table="wide")
    run(url, "CREATE OR REPLACE VIEW wide_view AS SELECT * FROM wide")
    expected = window(read_sensors(tmp_path / "wide.parquet"), "10min")
    same(window(read_sensors(url, table="wide"), "10min"), expected)
    same(window(read_sensors(url, table="wide_view"), "10min"), expected)
    same(window(read_sensors(url, query="SELECT * FROM wide -- all of them"), "10min"), expected)
    some = read_sensors(url, table="wide", where={"time": {"<": START + timedelta(minutes=10)}, "alarm": [True, None]})
    assert some.to_polars()["flow"].to_list() == [0.0, 1.5, 3.0, 4.5]


def test_metadata_and_several_schemas(url: str) -> None:
    run(url, "CREATE SCHEMA IF NOT EXISTS plant", 'CREATE SCHEMA IF NOT EXISTS "north.side"')
    rows = [(START + timedelta(minutes=k), k % 2 + 1, 0.1 * k) for k in range(40)]
    for table in ("plant.readings", '"north.side".readings'):
        fill(url, rows, "ts timestamptz, sensor_id int, value float8", table=table)
    about = [(1, "inlet", "flow", "l/s"), (2, "tank", "level", None)]
    fill(url, about, "id int, tag text, quantity text, unit text", table="plant.sensors")
    metadata = {"table": "plant.sensors", "sensor": "id", "name": "tag", "kind": "quantity"}
    data = read_sensors(url, table="plant.readings", metadata=metadata, **LONG)
    assert [(s.id, s.kind, s.unit) for s in data.sensors] == [("inlet", "flow", "l/s"), ("tank", "level", "")]
    pushed = read_sensors(url, table="plant.readings", metadata=metadata, windows="4min", **LONG)
    same(window(pushed, "4min"), window(data, "4min"))
    both = read_sensors(
        url, table=["plant.readings", '"north.side".readings'], name="{file}/{column}", ignore=["readings/2"], **LONG
    )
    assert both.ids == ("readings/1",)
    fill(
        url, [*about, (2, "tank", "volume", None)], "id int, tag text, quantity text, unit text", table="plant.sensors"
    )
    with pytest.raises(InputError, match="the sensor '2' has several rows"):
        read_sensors(url, table="plant.readings", metadata=metadata, **LONG)
    fill(url, about[:1], "id int, tag text, quantity text, unit text", table="plant.sensors")
    with pytest.raises(InputError, match="no row for the sensor '2'"):
        read_sensors(url, table="plant.readings", metadata=metadata, **LONG)
    kept = read_sensors(url, table="plant.readings", metadata=metadata, on_error="repair", **LONG)
    assert kept.ids == ("2", "inlet")


HOSTILE = [
    '"; DROP TABLE victim; --',
    "it's",
    'a"b',
    "back\\slash",
    "naïve ☃ 名前",
    "x" * 60,
    "%s %(a)s {}",
    "SELECT",
    "a.b",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_names(url: str, name: str) -> None:
    quoted = '"' + name.replace('"', '""') + '"'
    rows = [(START + timedelta(minutes=k), name, 0.1 * k) for k in range(20)]
    run(url, f"DROP TABLE IF EXISTS {quoted}", "CREATE TABLE IF NOT EXISTS victim (a int)")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE TABLE {quoted} (ts timestamptz, {quoted} text, value float8)".encode())
        with connection.cursor() as cursor, cursor.copy(f"COPY {quoted} FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
    options = {"table": quoted, "time": "ts", "sensor": name, "value": "value"}
    for more in ({}, {"windows": "5min"}, {"where": {name: name}}, {"where": {name: [name, "'); --"]}}):
        data = read_sensors(url, **options, **more)
        assert data.ids == (name,) and len(window(data, "5min")) == 4
    none = read_sensors(url, **options, where={name: {"!=": "'; DROP TABLE victim; --"}})
    assert len(window(none, "5min")) == 4
    run(url, "SELECT * FROM victim", f"DROP TABLE {quoted}")


def test_names_that_are_not_there(url: str) -> None:
    fill(url, [(START, "s", 1.5)], "ts timestamptz, sensor_id text, value float8")
    with pytest.raises(InputError, match="did you mean 'readings'"):
        read_sensors(url, table="readngs", **LONG)
    with pytest.raises(InputError, match="did you mean 'value'"):
        read_sensors(url, table="readings", **{**LONG, "value": "valeu"})
    with pytest.raises(InputError, match="where names the column 'site'"):
        read_sensors(url, table="readings", where={"site": 1}, **LONG)
    for table in ("", "a\x00b", 'a"b"', "a.b.c.d", '"a'):
        with pytest.raises(ThenceError):
            read_sensors(url, table=table, **LONG)
    with pytest.raises(InputError, match="tables"):
        run(url, "CREATE TABLE IF NOT EXISTS another (a int)")
        read_sensors(url)
    with pytest.raises(ConfigError, match="is for databases"):
        read_sensors(pl.DataFrame({"time": [START], "a": [1.5]}), table="readings")
    with pytest.raises(ConfigError, match="did you mean 'postgresql'"):
        read_sensors("postgresq://host/plant")


def test_nothing_can_be_written(url: str) -> None:
    run(url, "CREATE TABLE IF NOT EXISTS victim (a int)")
    fill(url, [(START, "s", 1.5)], "ts timestamptz, sensor_id text, value float8")
    run(
        url,
        "CREATE OR REPLACE FUNCTION harm() RETURNS float8 LANGUAGE sql "
        "AS 'INSERT INTO victim VALUES (1); SELECT 1.0::float8'",
    )
    for query in (
        "SELECT ts, sensor_id, harm() AS value FROM readings",
        "DELETE FROM readings RETURNING *",
        "SELECT 1) AS q; DROP TABLE victim; SELECT * FROM (SELECT 2",
        "SELECT * FROM readings; DROP TABLE victim",
        "COMMIT; DROP TABLE victim",
        "SELEC",
    ):
        with pytest.raises(InputError) as caught:
            read_sensors(url, query=query, **LONG)
        assert "Traceback" not in str(caught.value)
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT count(*) FROM victim").fetchone() == (0,)
        assert connection.execute("SELECT count(*) FROM readings").fetchone() == (1,)


def test_a_refused_connection_says_so_without_the_password(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", "env-s3cret")
    wrong = url.replace("pa%3Ass%40wo%2Frd%23%3F%25", "other-s3cret")
    assert wrong != url
    for address in (
        wrong,
        url.replace("pa%3Ass%40wo%2Frd%23%3F%25@", "").replace("postgres:", "postgres@"),
        "postgresql://me:other-s3cret@127.0.0.1:1/plant",
        "postgresql://me:other-s3cret@no.such.host.invalid/plant",
        wrong.replace("/postgres", "/nowhere?password=other-s3cret"),
        "postgresql://me:other-s3cret@[::1/plant",
        "postgresql://me:other-s3cret/with@signs-s3cret?@127.0.0.1:1/plant",
        "postgresql://me:s3cret#@127.0.0.1:1/plant",
    ):
        with pytest.raises(InputError) as caught:
            read_sensors(address, table="readings", **LONG)
        text = f"{caught.value}{caught.value.__cause__}{caught.value.__context__ and ''}"
        assert "s3cret" not in text and PASSWORD not in text, text
        assert "cannot be opened" in text


def test_passwords_from_the_environment(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(url, [(START, "s", 1.5)], "ts timestamptz, sensor_id text, value float8")
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    monkeypatch.setenv("PGUSER", "postgres")
    bare = "postgresql://" + url.partition("@")[2]
    data = read_sensors(bare, table="readings", **LONG)
    assert data.report.sources[0]["store"] == bare and data.report.sources[0]["rows"] == 1


def test_a_statement_may_take_too_long(url: str) -> None:
    with pytest.raises(InputError, match="timeout=") as caught:
        read_sensors(url, query="SELECT now() AS ts, 's' AS sensor_id, pg_sleep(9)::text AS value", timeout=0.2, **LONG)
    assert PASSWORD not in str(caught.value)


def _end_readers(url: str, ready: threading.Event, stop: threading.Event, times: int) -> None:
    """End the sessions that stream readings, a number of times."""
    with psycopg.connect(url, autocommit=True) as connection:
        ready.set()
        while times and not stop.is_set():
            found = connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE query LIKE 'COPY%slow%' AND pid <> pg_backend_pid()"
            ).fetchall()
            times -= len(found)
            time.sleep(0.05)


@pytest.mark.parametrize("times", [1, 99])
def test_a_lost_connection_never_gives_a_part(url: str, monkeypatch: pytest.MonkeyPatch, times: int) -> None:
    """Reading begins again in a new snapshot; if the connection is lost every time, that is an error."""
    monkeypatch.setattr(sql, "PAUSE", 0.01)
    # A query that is to be ended every time must not be faster than the one who ends it.
    pause = 0.1 if times == 1 else 30
    query = (
        "SELECT timestamptz '2024-01-01' + k * interval '1 s' AS ts, 'slow' AS sensor_id, k + 0.5 AS value, "
        f"CASE WHEN k % 20000 = 0 THEN pg_sleep({pause}) END::text AS w FROM generate_series(1, 100000) AS k"
    )
    ready, stop = threading.Event(), threading.Event()
    ending = threading.Thread(target=_end_readers, args=(url, ready, stop, times))
    ending.start()
    try:
        assert ready.wait(60)
        if times == 1:
            assert read_sensors(url, query=query, **LONG).describe()["readings"] == 100_000
        else:
            with pytest.raises(InputError, match="connection was lost") as caught:
                read_sensors(url, query=query, **LONG)
            assert PASSWORD not in str(caught.value)
    finally:
        stop.set()
        ending.join()


def test_conflicts_are_repaired_in_a_fixed_order(url: str) -> None:
    rows = [(START + timedelta(minutes=k // 2), "s", float(k * 7 % 11), k) for k in range(40)]
    fill(url, rows[::-1], "ts timestamptz, sensor_id text, value float8, entry int")
    with pytest.raises(InputError, match="has two readings at"):
        window(read_sensors(url, table="readings", **LONG), "1min")
    options: dict[str, Any] = {"on_error": "repair", "max_loss": 1, "numeric": ["s"]}
    largest = window(read_sensors(url, table="readings", **LONG, **options), "1min").values[:, 0]
    assert largest.tolist() == [max(rows[k][2], rows[k + 1][2]) for k in range(0, 40, 2)]
    latest = window(read_sensors(url, table="readings", order="entry", **LONG, **options), "1min").values[:, 0]
    assert latest.tolist() == [rows[k + 1][2] for k in range(0, 40, 2)]


def test_an_open_connection(url: str) -> None:
    fill(
        url,
        [(START + timedelta(minutes=k), "s", 0.5 * k) for k in range(9)],
        "ts timestamptz, sensor_id text, value float8",
    )
    with adbc.connect(url) as connection:
        data = read_sensors(connection, table="readings", **LONG)
        assert data.describe()["readings"] == 9
        with connection.cursor() as cursor:
            cursor.execute("SELECT * FROM readings")
            assert read_sensors(cursor.fetch_record_batch(), **LONG).describe()["readings"] == 9
        with pytest.raises(ConfigError, match="table="):
            read_sensors(connection)


def test_duckdb_files(tmp_path: Path) -> None:
    path = tmp_path / "plant.db"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE readings (ts TIMESTAMP, sensor_id VARCHAR, value DECIMAL(9, 2))")
        connection.execute("INSERT INTO readings VALUES ('2024-01-01', 'a', 1.25), ('2024-01-01 00:01', 'a', NULL)")
    data = read_sensors(f"duckdb:///{path}", **LONG)
    assert data.to_polars()["a"].to_list() == [1.25]
    assert data.report.sources[0]["server"].startswith("DuckDB ")
    with pytest.raises(InputError, match=r"did you mean 'plant\.db'"):
        read_sensors(f"duckdb:///{tmp_path}/plnt.db")
    with pytest.raises(InputError, match="no such table"):
        read_sensors(f"duckdb:///{path}", table="redings", **LONG)
    (tmp_path / "text.db").write_text("not a database, but long enough to look like something else entirely" * 99)
    with pytest.raises(InputError, match="cannot be opened"):
        read_sensors(f"duckdb:///{tmp_path}/text.db")
    for query in (
        "DROP TABLE readings",
        "SELECT * FROM readings) ; DROP TABLE readings; SELECT * FROM (SELECT 1",
        "SELECT * FROM '/etc/passwd'",
    ):
        with pytest.raises(InputError):
            read_sensors(f"duckdb:///{path}", query=query, **LONG)


def test_a_table_without_rows(url: str) -> None:
    fill(url, [], "ts timestamptz, sensor_id text, value float8")
    for more in ({}, {"windows": "1h"}):
        with pytest.raises(InputError, match="no rows"):
            read_sensors(url, table="readings", **LONG, **more)


def test_the_hash_is_that_of_the_rows(url: str) -> None:
    rows = [(START + timedelta(minutes=k), "s", 0.5 * k) for k in range(30)]
    hashes = []
    for some in (rows, rows[::-1], [*rows[:-1], (rows[-1][0], "s", 99.0)], [*rows, rows[0]]):
        fill(url, some, "ts timestamptz, sensor_id text, value float8")
        hashes.append(read_sensors(url, table="readings", **LONG).report.sources[0]["content_hash"])
    assert hashes[0] == hashes[1] and len(set(hashes)) == 3


def test_infinite_times_are_missing_times(url: str) -> None:
    rows = [(START + timedelta(minutes=k), "s", 0.5 * k) for k in range(50)]
    fill(url, rows, "ts timestamptz, sensor_id text, value float8")
    run(url, "INSERT INTO readings VALUES ('infinity', 's', 1), ('-infinity', 's', 1), (NULL, 's', 2)")
    with pytest.raises(InputError, match="time"):
        window(read_sensors(url, table="readings", **LONG), "1h")
    for more in ({}, {"windows": "1h"}):
        data: SensorData = read_sensors(url, table="readings", on_error="repair", **LONG, **more)
        assert window(data, "1h").report.count("bad-time") == 3
