"""Tables of very many columns: what is found in them is the same, and no query knows of more columns than it needs."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import thence as th
from thence.data import readers
from thence.data.readings import few_values
from thence.data.readings.few_values import column_batches


def write(folder: Path, columns: int) -> Path:
    """Numbers, whole numbers of which few differ, and numbers with a code, in turn."""
    names = [f"c{at}" for at in range(columns)]
    rows = []
    for row in range(30):
        kinds = (row * 1.5 + 0.25, row % 2, -999 if row % 10 == 0 else row / 7 + 0.1)
        cells = [kinds[at % 3] for at in range(columns)]
        rows.append(f"2024-01-{row + 1:02}," + ",".join(map(str, cells)))
    path = folder / "wide.csv"
    path.write_text("\n".join(["time," + ",".join(names), *rows]) + "\n")
    return path


def test_many_columns_are_read_like_few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, 24)
    whole = th.read_sensors(path)
    for module in (few_values, readers):
        monkeypatch.setattr(module, "MOST_COLUMNS", 5)
    parts = th.read_sensors(path)
    assert parts.sensors == whole.sensors
    assert parts.report == whole.report
    assert any(note.startswith("-999 read as missing") for note in parts.report.notes)
    assert [sensor.categorical for sensor in parts.sensors] == [False, True, False] * 8
    assert parts.to_polars().equals(whole.to_polars())


def test_queries_about_some_columns_know_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each query about 256 columns was planned with all columns of the table: 50,000 columns took half a minute."""
    monkeypatch.setattr(few_values, "MOST_COLUMNS", 4)
    frame = pl.LazyFrame({f"c{at}": [float(at)] for at in range(10)})
    ids = [f"c{at}" for at in range(9)]
    batches = list(column_batches(frame, ids, "t", in_memory=True))
    assert [list(some) for some, _ in batches] == [ids[:4], ids[4:8], ids[8:]]
    assert [part.collect_schema().names() for _, part in batches] == [ids[:4], ids[4:8], ids[8:]]
    assert [len(part.collect_schema()) for _, part in column_batches(frame, ids, "t", in_memory=False)] == [10] * 3
    assert not list(column_batches(frame, [], "t", in_memory=True))
