"""Hashes of files and tables."""

from __future__ import annotations

import hashlib
from pathlib import Path

import polars as pl

import thence as th
from thence.runs.provenance import hash_files, hash_table


def test_files_folders_and_patterns_are_hashed(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    for name in ("b.csv", "a.csv", "sub/c.csv"):
        (tmp_path / name).write_text(name)
    expected = hashlib.sha256(b"a.csv").hexdigest()
    assert hash_files(str(tmp_path / "a.csv")) == [{"path": str(tmp_path / "a.csv"), "bytes": 5, "sha256": expected}]
    listed = [Path(entry["path"]).name for entry in hash_files(str(tmp_path / "*.csv"))]
    assert listed == ["a.csv", "b.csv"]
    assert len(hash_files(str(tmp_path))) == 3
    assert len(hash_files([str(tmp_path / "a.csv"), str(tmp_path / "sub")])) == 2


def test_a_table_hash_follows_everything_that_a_miner_reads() -> None:
    frame = pl.DataFrame({"a": [1.0, 2.0, 3.0], "b": ["x", "y", None]})
    base = hash_table(th.TransactionTable.from_frame(frame, bins=2))
    assert base == hash_table(th.TransactionTable.from_frame(frame, bins=2))
    others = [
        th.TransactionTable.from_frame(frame, bins=3),
        th.TransactionTable.from_frame(frame.rename({"a": "c"}), bins=2),
        th.TransactionTable.from_frame(frame.reverse(), bins=2),
        th.TransactionTable.from_frame(frame.with_columns(pl.col("a") * 2), bins=2),
    ]
    assert len({base, *map(hash_table, others)}) == 5


def test_feature_tables_are_hashed_too() -> None:
    data = th.datasets.load("toy")
    hourly = hash_table(th.baselines.feature_table(data.sensors, windows="1h"))
    assert hourly == hash_table(th.baselines.feature_table(data.sensors, windows="1h"))
    assert hourly != hash_table(th.baselines.feature_table(data.sensors, windows="2h"))
