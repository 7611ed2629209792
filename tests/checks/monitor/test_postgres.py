"""Readings from a real PostgreSQL server: rows in any order, each once, the password never shown."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.plants import mined, plant
from tests.helpers.postgres import postgres_server
from tests.helpers.processes import PATIENCE, line_with, started, until

psycopg: Any = pytest.importorskip("psycopg")
PASSWORD = "s3cret-word"
pytestmark = pytest.mark.needs("postgresql")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with postgres_server(PASSWORD) as address:
        yield address


def monitor(folder: Path, url: str, *more: str) -> AbstractContextManager[subprocess.Popen[bytes]]:
    return started(
        [
            *(sys.executable, "-m", "thence", "monitor", str(folder / "run"), "--postgres", "env"),
            *("--table", "public.readings", "--poll", "1s", "--sensors", str(folder / "some.parquet")),
            *("--alerts", str(folder / "alerts.jsonl"), "--state", str(folder / "state")),
            *("--block", "12h", "--violations", "--save-every", "10", *more),
        ],
        env={**os.environ, "THENCE_POSTGRES_URL": url},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


@pytest.mark.slow
def test_rows_are_counted_once_whatever_their_order(tmp_path: Path, url: str) -> None:
    mined(tmp_path / "run", days=10)
    later = plant(12, seed=3, broken_from=4, first_day=10)
    later.head(100).write_parquet(tmp_path / "some.parquet")
    later.write_parquet(tmp_path / "later.parquet")
    rows = [
        (moment, name, str(value))
        for moment, *values in later.iter_rows()
        for name, value in zip(later.columns[1:], values, strict=True)
    ]
    through = subprocess.run(
        [
            *(sys.executable, "-m", "thence", "monitor", str(tmp_path / "run"), "--quiet"),
            *("--file", str(tmp_path / "later.parquet"), "--sensors", str(tmp_path / "some.parquet")),
            *("--block", "12h", "--violations", "--lateness", "2h"),
        ],
        check=True,
        capture_output=True,
    )
    expected = through.stdout.decode().splitlines()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE readings (time timestamptz, sensor text, value text)")
        step = len(rows) // 6

        def insert(part: int) -> None:
            own = rows[part * step : (part + 1) * step if part < 5 else None]
            # Within an hour, rows come in any order.
            own = [own[at] for at in sorted(range(len(own)), key=lambda at: (at // 15, -at))]
            with connection.cursor() as cursor:
                cursor.executemany("INSERT INTO readings VALUES (%s, %s, %s)", own)
            time.sleep(2.0)

        with monitor(tmp_path, url, "--lateness", "2h"):
            for part in range(4):
                insert(part)
        with monitor(tmp_path, url, "--lateness", "2h") as process:
            for part in range(4, 6):
                insert(part)
            until(lambda: len(lines(tmp_path / "alerts.jsonl")) >= len(expected) - 8)
            process.terminate()
            _, message = process.communicate(timeout=PATIENCE)
    found = lines(tmp_path / "alerts.jsonl")
    assert process.returncode == 0, message.decode()
    assert found == expected[: len(found)] and len(found) >= len(expected) - 8
    assert PASSWORD not in message.decode()
    for path in (tmp_path / "state").iterdir():
        assert PASSWORD.encode() not in path.read_bytes()
    assert [json.loads(line)["alert"] for line in found] == list(range(1, len(found) + 1))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run to watch and readings that name its sensors."""
    mined(tmp_path / "run", days=5)
    plant(1).write_parquet(tmp_path / "some.parquet")
    return tmp_path


def test_a_wrong_table_and_a_wrong_password_are_said(folder: Path, url: str) -> None:
    with monitor(folder, url, "--table", "nowhere") as process:
        _, message = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1 and b"nowhere: the table cannot be read" in message
    assert b"Traceback" not in message and PASSWORD.encode() not in message
    with monitor(folder, url.replace(PASSWORD, "other-word")) as process:
        seen = [line_with(process, b"cannot be reached") for _ in range(2)]
        process.terminate()
        _, rest = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert b"other-word" not in b"".join([*seen, rest])


@pytest.fixture
def locked(url: str) -> Iterator[Any]:
    """A table that another program has locked; yields a connection to look at the server."""
    with psycopg.connect(url, autocommit=True) as owner, psycopg.connect(url, autocommit=True) as other:
        owner.execute("CREATE TABLE busy (time timestamptz, sensor text, value text)")
        with owner.transaction():
            owner.execute("LOCK TABLE busy IN ACCESS EXCLUSIVE MODE")
            yield other
        owner.execute("DROP TABLE busy")


def waiting(server: Any) -> list[int]:
    """The processes of the server that wait for a lock."""
    return [pid for (pid,) in server.execute("SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock'")]


def test_it_ends_while_the_table_is_locked(folder: Path, url: str, locked: Any) -> None:
    with monitor(folder, url, "--table", "busy") as process:
        until(lambda: waiting(locked))
        process.terminate()
        _, message = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0 and b"cannot be reached" not in message
    until(lambda: not waiting(locked))


@pytest.mark.slow
def test_it_ends_while_the_server_hangs(folder: Path, url: str, locked: Any) -> None:
    with monitor(folder, url, "--table", "busy") as process:
        until(lambda: waiting(locked))
        (session,) = waiting(locked)
        os.kill(session, signal.SIGSTOP)
        try:
            process.terminate()
            process.communicate(timeout=PATIENCE)
        finally:
            os.kill(session, signal.SIGCONT)
    assert process.returncode == 0
