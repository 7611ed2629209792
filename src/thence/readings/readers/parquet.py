"""Parquet files as source tables; they are scanned, not read into memory."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from thence.errors import InputError
from thence.readings.frames import first_line
from thence.readings.readers.table import ReadOptions, SourceTable

__all__ = ["read_parquet"]


def read_parquet(path: Path, options: ReadOptions) -> list[SourceTable]:
    """Scan a Parquet file; a reader as described in ``.files``. No option applies to it."""
    frame = pl.scan_parquet(path)
    try:
        frame.collect_schema()
    except (pl.exceptions.PolarsError, OSError) as error:
        if not path.stat().st_size:
            return [SourceTable(pl.LazyFrame(), str(path), title=path.stem)]
        raise InputError(
            f"not a readable Parquet file: {first_line(error)}",
            where=str(path),
            hint="write it again; a truncated Parquet file has no footer",
        ) from error
    return [SourceTable(frame, str(path), title=path.stem, in_memory=False)]
