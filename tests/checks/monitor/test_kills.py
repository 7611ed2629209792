"""A monitor that is killed at random moments tells what one tells that ran through, and counts nothing twice."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pytest

from tests.helpers.plants import mined, plant
from tests.helpers.processes import PATIENCE, line_with, started

KILLS = 50


def command(folder: Path, name: str, *more: str) -> list[str]:
    return [
        *(sys.executable, "-m", "thence", "monitor", str(folder / "run"), "--file", str(folder / "later.parquet")),
        *("--state", str(folder / f"state {name}"), "--alerts", str(folder / f"{name}.jsonl")),
        *("--health", str(folder / f"{name}.parquet"), "--block", "12h", "--violations", "--save-every", "40", *more),
    ]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    mined(tmp_path / "run", days=10)
    plant(60, seed=3, broken_from=20, first_day=10).write_parquet(tmp_path / "later.parquet")
    return tmp_path


@contextmanager
def running(folder: Path, speed: str) -> Iterator[subprocess.Popen[bytes]]:
    """A monitor that has told its first line; killed at the end."""
    given = command(folder, "killed", "--speed", speed)
    with started(given, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        line_with(process, b"rules on")
        yield process


def assert_same(folder: Path) -> None:
    through, killed = ((folder / f"{name}.jsonl").read_text() for name in ("through", "killed"))
    assert killed == through
    assert [json.loads(line)["alert"] for line in killed.splitlines()] == list(range(1, len(killed.splitlines()) + 1))
    left, right = (pl.read_parquet(folder / f"{name}.parquet") for name in ("through", "killed"))
    assert left.equals(right, null_equal=True)


@pytest.mark.slow
def test_fifty_kills_change_nothing(folder: Path) -> None:
    """The file runs slowly enough to be killed in the middle of anything: reading, saving, writing alerts."""
    subprocess.run(command(folder, "through"), check=True, capture_output=True)
    assert len((folder / "through.jsonl").read_text().splitlines()) > 100
    chance = random.Random(0)
    kills = 0
    while kills < KILLS:
        with running(folder, "100000x") as process:
            time.sleep(chance.random() * 0.6)
            process.send_signal(signal.SIGKILL if chance.random() < 0.9 else signal.SIGTERM)
            _, message = process.communicate(timeout=PATIENCE)
        assert process.returncode in (-signal.SIGKILL, 0), message.decode()
        kills += 1
    subprocess.run(command(folder, "killed"), check=True, capture_output=True)
    assert_same(folder)


def test_a_few_kills_change_nothing(folder: Path) -> None:
    subprocess.run(command(folder, "through"), check=True, capture_output=True)
    for wait in (0.0, 0.1, 0.3):
        with running(folder, "300000x"):
            time.sleep(wait)
    subprocess.run(command(folder, "killed"), check=True, capture_output=True)
    assert_same(folder)


@pytest.mark.parametrize("wait", [0.0, 0.5])
def test_asked_to_end_it_saves_and_goes_on(folder: Path, wait: float) -> None:
    """At whatever moment after its first line it is asked."""
    with running(folder, "20000x") as process:
        time.sleep(wait)
        process.terminate()
        _, message = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0 and b"windows" in message
    done = subprocess.run(command(folder, "killed"), check=True, capture_output=True)
    assert b"goes on after" in done.stderr
    subprocess.run(command(folder, "through"), check=True, capture_output=True)
    assert_same(folder)
