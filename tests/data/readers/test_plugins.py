"""Readers of other packages, found by the entry point group ``thence.readers``."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import thence as th
from tests.helpers.distributions import add_distribution
from thence.data.readings.sensors import Sensor
from thence.errors import InputError

MODULE = '''
import polars as pl

from thence.data.readers.table import SourceTable


def read_pairs(path, options):
    """Lines such as ``2024-01-01T00:00 a=1 b=2``."""
    rows = [line.split() for line in path.read_text().splitlines()]
    pairs = [{"time": time, **dict(cell.split("=") for cell in cells)} for time, *cells in rows]
    yield SourceTable(pl.LazyFrame(pairs), str(path), title=path.stem, text_file=True)
'''


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed distribution that registers a reader for the suffix ``.pairs``."""
    site = tmp_path / "site"
    site.mkdir()
    add_distribution(site, "thence_pairs", MODULE, {"thence.readers": {"pairs": "thence_pairs:read_pairs"}})
    monkeypatch.syspath_prepend(site)
    monkeypatch.delitem(sys.modules, "thence_pairs", raising=False)


def write(folder: Path) -> Path:
    path = folder / "site A.pairs"
    path.write_text("2024-01-01T00:00 a=1 b=open\n2024-01-01T01:00 a=2.5 b=shut\n", encoding="utf-8")
    return path


@pytest.mark.usefixtures("plugin")
def test_a_reader_of_another_package_reads_its_suffix(tmp_path: Path) -> None:
    path = write(tmp_path)
    for source in (path, tmp_path):  # a folder finds files of the new suffix too
        data = th.read_sensors(source)
        assert data.sensors == (Sensor("a"), Sensor("b", categorical=True))
        assert data.to_polars()["a"].to_list() == [1.0, 2.5]
    assert th.read_sensors(path, name="{file}/{column}").ids == ("site A/a", "site A/b")
    with pytest.raises(InputError, match=r"site A\.pairs: this file has no sheets"):
        th.read_sensors(path, sheet="x")


def test_without_the_package_the_suffix_is_unknown(tmp_path: Path) -> None:
    path = write(tmp_path)
    with pytest.raises(InputError, match=r"unsupported file type '\.pairs' \(supported: \.csv, .*\.ods\)"):
        th.read_sensors(path)
    with pytest.raises(InputError, match="no file with sensor data in this folder"):
        th.read_sensors(tmp_path)
