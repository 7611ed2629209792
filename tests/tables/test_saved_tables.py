"""Saved tables: a changed or missing field is our error, with and without a checksum."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import thence as th
from thence._base.integrity.arrays import read_archive
from thence.errors import InputError
from thence.tables.transactions import TransactionTable


@pytest.fixture(scope="module")
def plain() -> TransactionTable:
    frame = pl.DataFrame({"a": [1.0, 2.0, 3.0, None], "b": ["x", "y", None, "x"]})
    return TransactionTable.from_frame(frame, bins=2)


@pytest.fixture(scope="module")
def lifted() -> TransactionTable:
    return th.transactions(th.datasets.load("toy"), windows="1h", bins=3, enrich="lifted")


def rewrite(path: Path, change: Any) -> None:
    """Change a saved table, and write it as earlier versions did, without a checksum."""
    arrays = read_archive(path)
    meta = json.loads(arrays.pop("meta").tobytes())
    meta.pop("sha256", None)
    change(meta, arrays)
    buffer = io.BytesIO()
    np.savez(buffer, meta=np.frombuffer(json.dumps(meta).encode(), np.uint8), **arrays)
    path.write_bytes(buffer.getvalue())


def test_a_table_of_an_earlier_version_is_read_and_said_to_have_no_checksum(
    plain: TransactionTable, tmp_path: Path
) -> None:
    plain.save(tmp_path / "a.npz")
    assert TransactionTable.load(tmp_path / "a.npz").notes == plain.notes
    rewrite(tmp_path / "a.npz", lambda meta, arrays: None)
    again = TransactionTable.load(tmp_path / "a.npz")
    assert again.codes.tolist() == plain.codes.tolist()
    assert "has no checksum" in again.notes[-1]


def _edges(lists: Any) -> list[tuple[Any, Any]]:
    """Every place in a JSON value, as its parent and key."""
    pairs = list(lists.items() if isinstance(lists, dict) else enumerate(lists))
    found = [(lists, key) for key, _ in pairs]
    for _, inner in pairs:
        if isinstance(inner, (dict, list)):
            found += _edges(inner)
    return found


@pytest.mark.parametrize("value", [None, {}, [], -1, 10**6, 10**30, "x", True, 1.5, "gone"])
def test_any_changed_field_is_our_error_or_a_table(
    plain: TransactionTable, lifted: TransactionTable, tmp_path: Path, value: Any
) -> None:
    """Missing and changed fields ended in KeyError, TypeError and zlib.error, or integers out of range were used."""
    path = tmp_path / "a.npz"
    for table in (plain, lifted):
        table.save(path)
        content = path.read_bytes()
        meta = json.loads(read_archive(path)["meta"].tobytes())
        for number in range(0, len(_edges(meta)), 1 if table is plain else 23):
            path.write_bytes(content)

            def change(meta: Any, arrays: Any, number: int = number) -> None:
                parent, key = _edges(meta)[number % len(_edges(meta))]
                if value == "gone":
                    del parent[key]
                else:
                    parent[key] = value

            rewrite(path, change)
            try:
                found = TransactionTable.load(path)
            except InputError as error:
                assert str(path) in str(error) and len(error.message) < 300
                continue
            for block in found.blocks:
                assert block.flat().max(initial=-1) < max((column.n_codes for column in block.columns), default=0)


@pytest.mark.parametrize("dtype", [np.int16, np.int32, np.int64, np.float64, np.uint8, "datetime64[us]", "U3"])
@pytest.mark.parametrize("shape", [(), (0,), (1,), (1, 4), (2, 2), (4, 1), (1, 1, 4)])
@pytest.mark.parametrize("which", ["codes0", "series0_0"])
def test_an_array_of_another_shape_type_or_range_is_our_error(
    plain: TransactionTable, tmp_path: Path, dtype: Any, shape: tuple[int, ...], which: str
) -> None:
    path = tmp_path / "a.npz"
    for fill in (0, 1, 99, -2):
        plain.save(path)
        if fill < 0 and dtype is np.uint8:
            continue
        filled = np.full(shape, fill).astype(dtype)
        rewrite(path, lambda meta, arrays, filled=filled: arrays.update({which: filled}))
        try:
            found = TransactionTable.load(path)
        except InputError as error:
            assert "not a saved table" in error.message
            continue
        assert fill in (0, 1) and found.codes.shape == plain.codes.shape
