"""Full disks, folders that cannot be written, and two processes at one place: an error, and nothing half written."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import thence as th
from tests.faults.scenarios import MINE
from tests.helpers.processes import PATIENCE
from thence._base.atomic import INCOMPLETE

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs a POSIX system")


def command(*arguments: str | Path, **variables: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "thence", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **variables},
    )


def end(process: subprocess.Popen[str]) -> tuple[int, str]:
    _, errors = process.communicate(timeout=PATIENCE)
    assert "Traceback" not in errors, errors
    return process.returncode, errors


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 300 kB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", folder], capture_output=True).returncode:
        pytest.skip("a small disk can be mounted by root only")
    yield folder
    subprocess.run(["umount", folder], check=True)


def fill(folder: Path) -> None:
    with (folder / "full").open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"\0" * 4096)
        except OSError:
            pass


def test_a_run_does_not_fit_on_a_full_disk(small_disk: Path) -> None:
    status, message = end(command(*MINE, "--out", small_disk / "run"))
    assert status == 1 and "space" in message
    assert not (small_disk / "run").exists()
    left = [path for path in small_disk.iterdir() if not (path / INCOMPLETE).exists()]
    assert not left, "what is left is marked as incomplete"


def test_an_export_does_not_fit_and_the_earlier_one_stays(small_disk: Path, tmp_path: Path) -> None:
    th.mine(th.datasets.load("toy"), windows="1h", bins=3, out=tmp_path / "run", confirm=False, progress="off")
    (small_disk / "rules.csv").write_text("old")
    fill(small_disk)
    status, message = end(command("export", tmp_path / "run", "--to", small_disk / "rules.csv"))
    assert status == 1 and "space" in message
    assert (small_disk / "rules.csv").read_text() == "old"


def test_a_cache_on_a_full_disk_costs_time_only(small_disk: Path, tmp_path: Path) -> None:
    fill(small_disk)
    given = ("datasets", "make", "toy", "--out", tmp_path / "data")
    status, message = end(command(*given, THENCE_CACHE=str(small_disk)))
    assert status == 0, message
    assert len(th.read_sensors(tmp_path / "data" / "sensors.parquet").sensors) == 5


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    place = Path("/proc/thence") if os.geteuid() == 0 else tmp_path / "locked"
    if place.parent != Path("/proc"):
        place.mkdir()
        place.chmod(0o500)
    status, message = end(command(*MINE, "--out", place / "run"))
    assert status == 1 and str(place) in message


def test_two_processes_on_one_output(tmp_path: Path) -> None:
    both = [command(*MINE, "--out", tmp_path / "run") for _ in range(2)]
    ended = sorted(end(process) for process in both)
    assert [status for status, _ in ended] == [0, 1], ended
    assert "run" in ended[1][1]
    assert th.load_run(tmp_path / "run").complete
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


@pytest.mark.slow
def test_two_processes_that_replace_one_run(tmp_path: Path) -> None:
    both = [command(*MINE, "--force", "--out", tmp_path / "run") for _ in range(2)]
    assert {end(process)[0] for process in both} <= {0, 1}
    assert th.load_run(tmp_path / "run").complete


@pytest.mark.slow
def test_two_processes_on_one_cache(tmp_path: Path) -> None:
    pytest.importorskip("wntr")
    both = [
        command(
            *("datasets", "make", "net3", "--option", "days=1", "--out", tmp_path / str(number)),
            THENCE_CACHE=str(tmp_path / "cache"),
        )
        for number in range(2)
    ]
    assert [end(process)[0] for process in both] == [0, 0]
    one, other = (pl.read_parquet(tmp_path / str(number) / "sensors.parquet") for number in range(2))
    assert one.equals(other)
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.name.endswith(".partial")]


@pytest.mark.slow
def test_a_damaged_cache_heals(tmp_path: Path) -> None:
    pytest.importorskip("wntr")
    given = ("datasets", "make", "net3", "--option", "days=1", "--force", "--out", tmp_path / "data")
    cache = {"THENCE_CACHE": str(tmp_path / "cache")}
    assert end(command(*given, **cache))[0] == 0
    first = pl.read_parquet(tmp_path / "data" / "sensors.parquet")
    for number, path in enumerate(sorted((tmp_path / "cache").rglob("*.parquet"))):
        data = bytearray(path.read_bytes())
        data[len(data) // 3 + number] ^= 4
        path.write_bytes(data)
    assert end(command(*given, **cache))[0] == 0
    assert pl.read_parquet(tmp_path / "data" / "sensors.parquet").equals(first)
