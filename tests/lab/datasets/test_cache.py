from __future__ import annotations

import logging
import shutil
from pathlib import Path

import polars as pl
import pytest

from thence.lab.datasets.water import Simulated, fingerprint, load_or_simulate


class Maker:
    def __init__(self) -> None:
        self.calls = 0

    def __call__(self) -> Simulated:
        self.calls += 1
        return pl.DataFrame({"a": [1.5, None, 3.0]}), {"seed": "7"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("THENCE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "things"


def make(maker: Maker, source: Path, **parameters: object) -> Simulated:
    return load_or_simulate("things", parameters=parameters, sources=[source], simulate=maker)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    file = tmp_path / "network.inp"
    file.write_text("v1")
    return file


def test_the_second_time_nothing_is_made(folder: Path, source: Path) -> None:
    maker = Maker()
    first, second = make(maker, source, days=1), make(maker, source, days=1)
    assert maker.calls == 1
    assert first[0].equals(second[0]) and first[1] == second[1] == {"seed": "7"}
    (entry,) = folder.iterdir()
    assert sorted(file.name for file in entry.iterdir()) == ["manifest.json", "readings.parquet"]


def test_other_parameters_or_sources_are_made_anew(folder: Path, source: Path) -> None:
    maker = Maker()
    make(maker, source, days=1)
    make(maker, source, days=2)
    source.write_text("v2")
    make(maker, source, days=1)
    assert maker.calls == 3


def test_a_damaged_file_is_replaced(folder: Path, source: Path, caplog: pytest.LogCaptureFixture) -> None:
    maker = Maker()
    make(maker, source, days=1)
    file = next(folder.glob("*/readings.parquet"))
    file.write_bytes(file.read_bytes()[:40])
    with caplog.at_level(logging.WARNING):
        frame, _ = make(maker, source, days=1)
    assert maker.calls == 2 and frame.height == 3
    assert "simulating again" in caplog.text
    make(maker, source, days=1)
    assert maker.calls == 2


def test_a_cache_that_cannot_be_written_is_no_error(
    tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "blocked").touch()
    monkeypatch.setenv("THENCE_CACHE", str(tmp_path / "blocked"))
    maker = Maker()
    with caplog.at_level(logging.WARNING):
        frame, _ = make(maker, source, days=1)
    assert frame.height == 3 and "readings are not cached" in caplog.text


def test_the_order_of_parameters_does_not_matter() -> None:
    assert fingerprint({"a": 1, "b": 2}, sources=[]) == fingerprint({"b": 2, "a": 1}, sources=[])


@pytest.mark.parametrize("name", ["readings.parquet", "manifest.json"])
@pytest.mark.parametrize("how", ["gone", "empty", "link"])
def test_an_entry_that_is_not_whole_is_made_again(
    folder: Path, source: Path, caplog: pytest.LogCaptureFixture, name: str, how: str
) -> None:
    maker = Maker()
    truth, _ = make(maker, source, days=1)
    file = next(folder.glob(f"*/{name}"))
    content = file.read_bytes()
    file.unlink()
    if how == "empty":
        file.touch()
    elif how == "link":
        (folder.parent / "elsewhere").write_bytes(content)
        file.symlink_to(folder.parent / "elsewhere")
    with caplog.at_level(logging.WARNING):
        frame, _ = make(maker, source, days=1)
    assert maker.calls == 2 and frame.equals(truth) and "simulating again" in caplog.text
    make(maker, source, days=1)
    assert maker.calls == 2 and not file.is_symlink()


def test_a_file_of_an_earlier_version_is_replaced(folder: Path, source: Path) -> None:
    """It has no checksum: of 2,000 flipped bits in such files, 1,139 were used as readings."""
    maker = Maker()
    make(maker, source, days=1)
    entry = next(folder.iterdir())
    old = entry.with_name(f"{entry.name}.parquet")
    (entry / "readings.parquet").rename(old)
    shutil.rmtree(entry)
    make(maker, source, days=1)
    assert maker.calls == 2 and not old.exists()


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), pl.exceptions.ComputeError("os error 28")])
def test_a_full_disk_is_no_error(
    folder: Path, source: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(pl.DataFrame, "write_parquet", fail)
    maker = Maker()
    with caplog.at_level(logging.WARNING):
        frame, _ = make(maker, source, days=1)
    assert frame.height == 3 and "readings are not cached" in caplog.text
    assert list(folder.iterdir()) == []


def test_of_two_processes_that_write_at_once_none_complains(
    folder: Path, source: Path, caplog: pytest.LogCaptureFixture
) -> None:
    maker, second = Maker(), Maker()

    def slower() -> Simulated:
        make(maker, source, days=1)
        return second()

    with caplog.at_level(logging.WARNING):
        load_or_simulate("things", parameters={"days": 1}, sources=[source], simulate=slower)
    assert caplog.text == "" and [path.name.count(".") for path in folder.iterdir()] == [0]
