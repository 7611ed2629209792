"""Readings from a real PostgreSQL server: rows in any order, each once, the password never shown."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.plants import mined, plant
from tests.helpers.postgres import needs_postgres, postgres_server

psycopg: Any = pytest.importorskip("psycopg")
PASSWORD = "s3cret-word"
pytestmark = needs_postgres


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with postgres_server(PASSWORD) as address:
        yield address


def monitor(folder: Path, url: str, *more: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
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
        process = monitor(tmp_path, url, "--lateness", "2h")
        step = len(rows) // 6
        for part in range(6):
            own = rows[part * step : (part + 1) * step if part < 5 else None]
            # Within an hour, rows come in any order.
            own = [own[at] for at in sorted(range(len(own)), key=lambda at: (at // 15, -at))]
            with connection.cursor() as cursor:
                cursor.executemany("INSERT INTO readings VALUES (%s, %s, %s)", own)
            time.sleep(2.0)
            if part == 3:
                process.kill()
                process.communicate()
                process = monitor(tmp_path, url, "--lateness", "2h")
        end = time.monotonic() + 40
        while time.monotonic() < end and len(lines(tmp_path / "alerts.jsonl")) < len(expected) - 8:
            time.sleep(0.5)
        process.terminate()
        _, message = process.communicate(timeout=60)
    found = lines(tmp_path / "alerts.jsonl")
    assert process.returncode == 0, message.decode()
    assert found == expected[: len(found)] and len(found) >= len(expected) - 8
    assert PASSWORD not in message.decode()
    for path in (tmp_path / "state").iterdir():
        assert PASSWORD.encode() not in path.read_bytes()
    assert [json.loads(line)["alert"] for line in found] == list(range(1, len(found) + 1))


def test_a_wrong_table_and_a_wrong_password_are_said(tmp_path: Path, url: str) -> None:
    mined(tmp_path / "run", days=5)
    plant(1).write_parquet(tmp_path / "some.parquet")
    process = monitor(tmp_path, url, "--table", "nowhere")
    _, message = process.communicate(timeout=60)
    assert process.returncode == 1 and b"nowhere: the table cannot be read" in message
    assert b"Traceback" not in message and PASSWORD.encode() not in message
    wrong = url.replace(PASSWORD, "other-word")
    process = monitor(tmp_path, wrong)
    assert process.stderr is not None
    seen = [process.stderr.readline() for _ in range(3)]
    process.terminate()
    _, rest = process.communicate(timeout=60)
    assert b"cannot be reached" in b"".join([*seen, rest]) and b"other-word" not in b"".join([*seen, rest])
