"""A spool: rows of a store in a temporary Parquet file, with their number and a hash of their content.

Rows come in batches, so memory does not grow with them. The hash does not depend on the order of the rows, since a
table has none; equal rows of equal columns give the same hash in every version and on every machine.
"""

from __future__ import annotations

import atexit
import hashlib
import shutil
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from thence.errors import InputError

__all__ = ["ContentHash", "Spooled", "spool"]

UInt64Array = npt.NDArray[np.uint64]
_NULL, _NAN = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD1B54A32D192ED03)
_A, _B = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@dataclass(frozen=True)
class Spooled:
    """Rows in a file.

    Args:
        path: The Parquet file; it is removed when the process ends.
        rows: Number of rows.
        content: Hash of the rows.
    """

    path: Path
    rows: int
    content: str


def spool(
    batches: Iterable[pa.RecordBatch], *, change: Callable[[pa.RecordBatch], pa.RecordBatch] | None = None
) -> Spooled:
    """Write batches of rows to a temporary Parquet file.

    Args:
        batches: The batches, all with the same columns; at least one, which may be empty.
        change: Applied to each batch before it is written.

    Raises:
        InputError: If the disk is full. The file is then removed, as after every error of the batches.

    Examples:
        >>> done = spool([pa.RecordBatch.from_pydict({"value": [1.0, None]})])
        >>> done.rows, len(done.content)
        (2, 32)
    """
    folder = Path(tempfile.mkdtemp(prefix="thence-store-"))
    remove = _remover(folder)
    path, found, writer = folder / "rows.parquet", ContentHash(), None
    try:
        for batch in batches:
            ready = batch if change is None else change(batch)
            if writer is None:
                writer = pq.ParquetWriter(path, ready.schema, compression="lz4", use_dictionary=_texts(ready.schema))
            if ready.num_rows:
                found.add(ready)
                writer.write_batch(ready)
        assert writer is not None
        writer.close()
    except OSError as error:
        remove()
        raise InputError(
            f"rows cannot be written to the temporary folder: {error.strerror or error}",
            where=str(folder),
            hint="free some space, or set TMPDIR to another folder",
        ) from error
    except BaseException:
        remove()
        raise
    return Spooled(path, found.rows, found.hex())


def _remover(folder: Path) -> Callable[[], None]:
    """Remove a folder when the process ends, or when the function returned here is called."""

    def remove() -> None:
        atexit.unregister(remove)
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    return remove


def _texts(schema: pa.Schema) -> list[str]:
    return [field.name for field in schema if pa.types.is_string(field.type) or pa.types.is_large_string(field.type)]


class ContentHash:
    """A hash of rows that does not depend on their order: 128 bits, the sums of two hashes of each row.

    Examples:
        >>> one, two = ContentHash(), ContentHash()
        >>> one.add(pa.RecordBatch.from_pydict({"a": [1, 2], "b": ["x", None]}))
        >>> two.add(pa.RecordBatch.from_pydict({"a": [2, 1], "b": [None, "x"]}))
        >>> one.hex() == two.hex()
        True
    """

    def __init__(self) -> None:
        self.rows = 0
        self._sums = np.zeros(2, dtype=np.uint64)

    def add(self, batch: pa.RecordBatch) -> None:
        """Add rows.

        Args:
            batch: The rows.
        """
        self.rows += batch.num_rows
        hashes = np.zeros(batch.num_rows, dtype=np.uint64)
        for field, column in zip(batch.schema, batch.columns, strict=True):
            hashes = _mix(hashes + _mix(_bits(column) ^ np.uint64(_text_hash(field.name))))
        with np.errstate(over="ignore"):
            self._sums += np.array([hashes.sum(), _mix(hashes ^ _NULL).sum()], dtype=np.uint64)

    def hex(self) -> str:
        """Return the hash as 32 hexadecimal digits; the number of rows is part of it."""
        first, second = (int(one) for one in self._sums)
        return hashlib.blake2b(f"{self.rows} {first} {second}".encode(), digest_size=16).hexdigest()


def _text_hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def _mix(x: UInt64Array) -> UInt64Array:
    """Scramble 64-bit integers (the finaliser of SplitMix64)."""
    x = (x ^ (x >> np.uint64(30))) * _A
    x = (x ^ (x >> np.uint64(27))) * _B
    return x ^ (x >> np.uint64(31))


def _bits(column: Any) -> UInt64Array:
    """Return a 64-bit integer per cell, equal for equal cells; every NaN is one value and −0 is 0."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.dictionary_decode(), column.type.value_type
    if pa.types.is_floating(kind):
        numbers = column.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False)
        bits = np.where(np.isnan(numbers), _NAN, (numbers + 0.0).view(np.uint64))
    elif pa.types.is_integer(kind):
        bits = column.cast(pa.int64(), safe=False).fill_null(0).to_numpy(zero_copy_only=False).view(np.uint64)
    elif pa.types.is_timestamp(kind):
        micros = column.cast(pa.timestamp("us", kind.tz), safe=False).cast(pa.int64())
        bits = micros.fill_null(0).to_numpy(zero_copy_only=False).view(np.uint64)
    elif pa.types.is_boolean(kind):
        bits = column.cast(pa.uint8()).fill_null(0).to_numpy(zero_copy_only=False).astype(np.uint64)
    else:
        coded = column.cast(pa.string()).dictionary_encode()
        known = np.array([_text_hash(text) for text in coded.dictionary.to_pylist()] or [0], dtype=np.uint64)
        bits = known[coded.indices.fill_null(0).to_numpy(zero_copy_only=False)]
    if column.null_count:
        bits = np.where(column.is_null().to_numpy(zero_copy_only=False), _NULL, bits)
    return np.asarray(bits, dtype=np.uint64)
