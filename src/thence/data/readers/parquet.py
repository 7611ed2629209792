"""Parquet files as source tables; they are scanned, not read into memory.

polars knows the time zones of the IANA database only. Times with a fixed offset (``+05:30``), which other programs
write, are stored in UTC as all others are, so such files are read in batches with their times in UTC.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import polars as pl
from polars.io.plugins import register_io_source

from thence.data.readers.table import ReadOptions, SourceTable
from thence.errors import InputError, quote, reported_as

BATCH_ROWS = 100_000
UNREADABLE = "not a readable Parquet file"
# Offsets as "+05:30" and "Z", and names of zones as "Asia/Kolkata", in the bytes of a schema.
_OFFSET = re.compile(rb"[+-][0-9]{1,2}:?[0-9]{2}|\x01\x00\x00\x00[Zz]\x00")
_ZONE = re.compile(rb"[A-Za-z_]+(?:/[A-Za-z_+0-9-]+)+")
HINT = "write it again; a truncated Parquet file has no footer"


def read_parquet(path: Path, options: ReadOptions) -> list[SourceTable]:
    """Scan a Parquet file; a reader as described in ``.files``. No option applies to it."""
    with reported_as(InputError, where=str(path)):
        empty = not path.stat().st_size
    if empty:
        return [SourceTable(pl.LazyFrame(), str(path), title=path.stem)]
    zones = _foreign_zones(path) if _may_have_offsets(path) else []
    try:
        frame = _scan(path, in_utc=bool(zones))
    except InputError:
        # A zone that does not look like one.
        if zones or not (zones := _foreign_zones(path)):
            raise
        frame = _scan(path, in_utc=True)
    notes = tuple(f"times of column {quote(column)} converted from {quote(zone)} to UTC" for column, zone in zones)
    return [SourceTable(frame, str(path), title=path.stem, in_memory=False, notes=notes)]


def _scan(path: Path, *, in_utc: bool) -> pl.LazyFrame:
    with reported_as(InputError, UNREADABLE, where=str(path), hint=HINT):
        frame = _scan_in_utc(path) if in_utc else pl.scan_parquet(path, glob=False)
        frame.collect_schema()
    return frame


def _may_have_offsets(path: Path) -> bool:
    """Whether the stored schema of a file has text like a fixed offset or an unusual zone; pyarrow then looks closer.

    pyarrow takes some 40 MB, which a monitor that reads Parquet files can do without.
    """
    with reported_as(InputError, UNREADABLE, where=str(path), hint=HINT):
        stored = pl.read_parquet_metadata(path).get("ARROW:schema", "")
    try:
        schema = base64.b64decode(stored)
    except ValueError:
        return True
    return _OFFSET.search(schema) is not None or not all(_is_known(zone.decode()) for zone in _ZONE.findall(schema))


def _foreign_zones(path: Path) -> list[tuple[str, str]]:
    """Return the columns of times with a time zone that polars does not know, with their zones."""
    import pyarrow.parquet

    with reported_as(InputError, UNREADABLE, where=str(path), hint=HINT):
        schema = pyarrow.parquet.read_schema(path)
    zones = [(field.name, getattr(field.type, "tz", None)) for field in schema]
    return [(name, zone) for name, zone in zones if zone is not None and not _is_known(zone)]


def _is_known(zone: str) -> bool:
    try:
        ZoneInfo(zone)
    except (ValueError, OSError, KeyError):
        return False
    return True


def _scan_in_utc(path: Path) -> pl.LazyFrame:
    """Scan a file batch by batch with all its times in UTC."""
    import pyarrow.parquet

    def in_utc(data: Any) -> Any:
        for k, field in enumerate(data.schema):
            if getattr(field.type, "tz", None) is not None:
                utc = pyarrow.timestamp(field.type.unit, "UTC")
                data = data.set_column(k, field.name, data.column(k).cast(utc))
        return data

    def read(
        columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, batch_size: int | None
    ) -> Iterator[pl.DataFrame]:
        with pyarrow.parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size or BATCH_ROWS, columns=columns):
                frame = pl.DataFrame(in_utc(pyarrow.Table.from_batches([batch])))
                if n_rows is not None:
                    frame, n_rows = frame.head(n_rows), max(0, n_rows - frame.height)
                yield frame if predicate is None else frame.filter(predicate)
                if n_rows == 0:
                    return

    with pyarrow.parquet.ParquetFile(path) as file:
        empty = pl.DataFrame(in_utc(file.schema_arrow.empty_table()))
    return register_io_source(read, schema=empty.schema)
