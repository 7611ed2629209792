"""How long it takes to read rows from PostgreSQL and to make windows of them, and how much memory it needs.

    python benchmarks/stores.py            # 10^7 rows of 100 sensors
    python benchmarks/stores.py --quick    # 10^5 rows

Starts a PostgreSQL server of its own on loopback, which needs PostgreSQL and the user postgres. Each method is a
process of its own: Thence by rows, Thence with windows in the database (with and without a key on the table), pandas
and polars. All windows must agree; Thence's in the last bit.
"""

from __future__ import annotations

import argparse
import json
import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SENSORS = 100
PLACES = ":".join([os.environ.get("PATH", ""), *map(str, Path("/usr/lib/postgresql").glob("*/bin"))])

COMMON = """
import json, resource, sys, time
import numpy as np
url, table = sys.argv[1:]
begin = time.perf_counter()
def done(read, values):
    print(json.dumps({
        "seconds to read": round(read - begin, 1),
        "seconds with windows": round(time.perf_counter() - begin, 1),
        "MB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "windows": int(np.isfinite(values).sum()),
        "sum": float(np.nansum(values)),
        "bits": hash(values.tobytes()),
    }))
"""
THENCE = """
import thence as th
from thence.data.readings.windows import window
options = dict(table=table, time="ts", sensor="sensor_id", value="value")
data = th.read_sensors(url, **options, **{more})
read = time.perf_counter()
done(read, window(data, "30min").values)
"""
METHODS = {
    "Thence, rows": (THENCE.replace("{more}", "{}"), "plain"),
    "Thence, windows in the database": (THENCE.replace("{more}", "{'windows': '30min'}"), "plain"),
    "Thence, windows in the database, key": (THENCE.replace("{more}", "{'windows': '30min'}"), "keyed"),
    "pandas.read_sql (ADBC)": (
        """
import adbc_driver_postgresql.dbapi, pandas as pd
with adbc_driver_postgresql.dbapi.connect(url) as connection:
    frame = pd.read_sql(f"SELECT ts, sensor_id, value FROM {table}", connection)
read = time.perf_counter()
grouped = frame.groupby([pd.Grouper(key="ts", freq="30min"), "sensor_id"])["value"].mean()
done(read, grouped.unstack().to_numpy())
""",
        "plain",
    ),
    "polars.read_database_uri (ADBC)": (
        """
import polars as pl
frame = pl.read_database_uri(f"SELECT ts, sensor_id, value FROM {table}", url, engine="adbc")
read = time.perf_counter()
windows = frame.group_by(pl.col("ts").dt.truncate("30m"), "sensor_id").agg(pl.col("value").mean())
done(read, windows.pivot("sensor_id", index="ts", values="value").drop("ts").to_numpy())
""",
        "plain",
    ),
    "polars.read_database_uri (connectorx)": (
        """
import polars as pl
frame = pl.read_database_uri(f"SELECT ts, sensor_id, value FROM {table}", url, engine="connectorx")
read = time.perf_counter()
windows = frame.group_by(pl.col("ts").dt.truncate("30m"), "sensor_id").agg(pl.col("value").mean())
done(read, windows.pivot("sensor_id", index="ts", values="value").drop("ts").to_numpy())
""",
        "plain",
    ),
}


@contextmanager
def server() -> Iterator[str]:
    """Yield the URL of a fresh PostgreSQL server."""
    folder = Path(tempfile.mkdtemp(prefix="thence-stores-"))
    shutil.chown(folder, "postgres")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]

    def as_postgres(*command: str) -> None:
        subprocess.run(command, user="postgres", cwd=folder, check=True, stdout=subprocess.DEVNULL)

    initdb, control = (str(shutil.which(name, path=PLACES)) for name in ("initdb", "pg_ctl"))
    as_postgres(initdb, "-D", f"{folder}/data", "-A", "trust", "-E", "UTF8", "--locale=C")
    options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder} -c max_wal_size=4GB"
    as_postgres(control, "-D", f"{folder}/data", "-w", "-l", f"{folder}/log", "-o", options, "start")
    try:
        yield f"postgresql://postgres@127.0.0.1:{port}/postgres"
    finally:
        as_postgres(control, "-D", f"{folder}/data", "-m", "immediate", "stop")
        shutil.rmtree(folder)


def fill(url: str, rows: int) -> None:
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        for table, key in (("plain", ""), ("keyed", ", PRIMARY KEY (sensor_id, ts)")):
            connection.execute(f"CREATE TABLE {table} (ts timestamptz, sensor_id text, value float8{key})")
            connection.execute("SELECT setseed(0.5)")
            connection.execute(
                f"INSERT INTO {table} SELECT timestamptz '2024-01-01Z' + (k / {SENSORS}) * interval '30 s', "
                f"'sensor_' || (k % {SENSORS}), random() * 100 FROM generate_series(0, {rows - 1}) AS k"
            )
            connection.execute(f"VACUUM ANALYZE {table}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rows", type=int, default=10_000_000)
    given = parser.parse_args()
    try:
        pwd.getpwnam("postgres")
        ready = os.geteuid() == 0 and shutil.which("initdb", path=PLACES) is not None
    except KeyError:
        ready = False
    if not ready:
        print("skipped: PostgreSQL cannot be started as the user postgres")
        return
    rows = 100_000 if given.quick else given.rows
    results = {}
    with server() as url:
        fill(url, rows)
        print(f"{rows:,} rows of {SENSORS} sensors; windows of 30 minutes")
        for name, (script, table) in METHODS.items():
            done = subprocess.run(
                [sys.executable, "-c", COMMON + script, url, table],
                capture_output=True,
                text=True,
                env={**os.environ, "PYTHONHASHSEED": "0"},
            )
            if done.returncode:
                print(f"{name:40} not run: {done.stderr.strip().splitlines()[-1]}")
                continue
            found = results[name] = json.loads(done.stdout)
            print(
                f"{name:40} read {found['seconds to read']:6.1f} s, with windows "
                f"{found['seconds with windows']:6.1f} s, {found['MB']:6,} MB"
            )
    own = [found for name, found in results.items() if name.startswith("Thence")]
    assert len({found["bits"] for found in own}) == 1, "windows of the database differ"
    assert len({found["windows"] for found in results.values()}) == 1
    total = own[0]["sum"]
    assert all(abs(found["sum"] - total) < 1e-9 * total for found in results.values())


if __name__ == "__main__":
    main()
