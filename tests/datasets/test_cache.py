from __future__ import annotations

import logging
from pathlib import Path

import polars as pl
import pytest

from thence.datasets.cache import Simulated, fingerprint, load_or_simulate


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
