"""CSV and similar text files as source tables, read into memory.

``.encoding`` and ``.dialect`` detect how the file is written. A column is read as numbers if all its cells are numbers,
and as strings otherwise; times stay strings. Lines with too many or too few fields are detected here, because later
they could not be distinguished from empty cells.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from thence.errors import InputError
from thence.readings.findings import Finding
from thence.readings.losses import advise_repair, refuse_large_loss
from thence.readings.readers.dialect import Dialect, detect_dialect, numbers_with
from thence.readings.readers.encoding import read_utf8
from thence.readings.readers.roles import OTHER_SENSOR_NAMES, SENSOR_NAMES, TIME_NAMES, plain_name
from thence.readings.readers.table import ReadOptions, SourceTable, drop_blank_rows, fill_header

__all__ = ["read_text"]

CHUNK_BYTES = 1 << 24
IntArray = npt.NDArray[np.int64]


def read_text(path: Path, options: ReadOptions) -> list[SourceTable]:
    """Read a text file; a reader as described in ``.files``."""
    return [_read_table(path, options)]


def _read_table(path: Path, options: ReadOptions) -> SourceTable:
    data, notes = read_utf8(path, options.encoding)
    body = data.lstrip(b"\r\n")
    skipped = data[: len(data) - len(body)].count(b"\n")
    base = SourceTable(pl.LazyFrame(), str(path), title=_title(path), text_file=True, notes=notes)
    if not body.strip():
        return base
    dialect = detect_dialect(body, skipped, options, str(path))
    names, more = fill_header(dialect.columns, f"{path}, line {dialect.first_line - 1}")
    if dialect.trimmed:
        more.append(f"removed spaces around {dialect.trimmed} column names")
    dialect = replace(dialect, columns=names)
    table = replace(
        base,
        headerless=dialect.headerless,
        decimal=dialect.decimal,
        place=lambda row: f"line {dialect.first_line + row}",
        notes=(*notes, *more),
    )
    ragged = _count_ragged_lines(body, dialect, options, str(path))
    if ragged:
        body = _pad_lines(body, dialect)
    frame = _read_columns(body, dialect, options)
    height = frame.height
    frame, lines = drop_blank_rows(frame)
    if lines is not None:
        # Row numbers must still give the lines of the file.
        table = replace(table, place=lambda row: f"line {dialect.first_line + int(lines[row])}")
    counts = (("ragged", ragged), ("blank", height - frame.height))
    findings = [Finding(what, n, where=str(path)) for what, n in counts if n]
    return replace(table, frame=frame.lazy(), findings=tuple(findings))


def _title(path: Path) -> str:
    """Return the file name without its suffix and ``.gz``; other dots belong to the name."""
    return (path.with_suffix("") if path.suffix.lower() == ".gz" else path).stem


def _read_columns(body: bytes, dialect: Dialect, options: ReadOptions) -> pl.DataFrame:
    names = list(dialect.columns)
    texts = _text_columns(dialect, options)
    # polars reads decimal points as such even with decimal_comma=True, so cells with points are read as strings and
    # judged later. There are none if the sign was detected and not given (points in dates do not count).
    points = options.decimal == "," and next(numbers_with(".", body, dialect.separator), None) is not None

    def read(schema_length: int | None) -> pl.DataFrame:
        return pl.read_csv(
            body,
            has_header=False,
            new_columns=names,
            skip_rows=0 if dialect.headerless else 1,
            separator=dialect.separator,
            decimal_comma=dialect.decimal == ",",
            null_values=list(options.missing),
            raise_if_empty=False,
            infer_schema=schema_length is not None,
            infer_schema_length=schema_length,
            schema_overrides=dict.fromkeys(texts, pl.String()),
        )

    try:
        frame = read(None if points else 1000)
    except pl.exceptions.ComputeError:
        # A later cell is not a number. Read as a string, it can be reported with its line.
        frame = read(None)
    return frame if frame.width else pl.DataFrame(schema=dict.fromkeys(names, pl.String))


def _text_columns(dialect: Dialect, options: ReadOptions) -> list[str]:
    """Return the columns in which 007 and 7 differ: ids, states, and times in a format with leading zeros."""
    names = dialect.columns
    if options.categorical - set(names):
        return list(names)  # ids of a long table, or ids made with name=: any column may hold their states
    as_text = {options.sensor, *options.categorical}
    if options.time_format is not None and "%" in options.time_format:
        as_text |= {options.time, names[0], *(name for name in names if plain_name(name) in TIME_NAMES)}
    return [name for name in names if name in as_text or plain_name(name) in (*SENSOR_NAMES, *OTHER_SENSOR_NAMES)]


def _pad_lines(body: bytes, dialect: Dialect) -> bytes:
    """Truncate or pad every line to the number of fields of the header."""
    width = len(dialect.columns)
    out = io.StringIO()
    writer = csv.writer(out, delimiter=dialect.separator, lineterminator="\n")
    for row in csv.reader(io.StringIO(body.decode("utf-8"), newline=""), delimiter=dialect.separator):
        writer.writerow([*row, *[""] * (width - len(row))][:width] if row else row)
    return out.getvalue().encode()


def _count_ragged_lines(body: bytes, dialect: Dialect, options: ReadOptions, where: str) -> int:
    """Count the lines whose number of fields differs from the header; raise at the first one unless repairing."""
    wanted = len(dialect.columns) - 1
    count = lines = 0
    first: tuple[int, int] | None = None
    line = dialect.first_line - (0 if dialect.headerless else 1)
    for separators, lengths in _fields_per_line(body, dialect.separator):
        odd = (separators != wanted) & (lengths > 0)
        if odd.any() and first is None:
            at = int(np.flatnonzero(odd)[0])
            first = line + at, int(separators[at]) + 1
        count += int(odd.sum())
        lines += int((lengths > 0).sum())
        line += separators.size
    if first is not None and options.on_error == "raise":
        repair = f"the separator is {dialect.separator!r}; pass on_error='repair' to truncate or pad such lines"
        raise InputError(
            f"expected {wanted + 1} fields, got {first[1]}",
            where=f"{where}, line {first[0]}",
            hint=advise_repair("ragged", count, lines, max_loss=options.max_loss, repair=repair),
        )
    refuse_large_loss("ragged", count, lines, max_loss=options.max_loss, where=where)
    return count


def _fields_per_line(body: bytes, separator: str) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield the number of separators and of characters of each line, chunk by chunk; quoted separators do not count."""
    start = 0
    quotes = b'"' in body
    while start < len(body):
        stop = len(body) if start + CHUNK_BYTES >= len(body) else body.rfind(b"\n", start, start + CHUNK_BYTES) + 1
        if stop <= start or quotes:
            stop = len(body)  # a quoted cell may contain line ends, so quotes must be counted from the start
        chunk = np.frombuffer(body, dtype=np.uint8, count=stop - start, offset=start)
        is_separator, is_end = chunk == ord(separator), chunk == ord("\n")
        if quotes:
            inside = np.cumsum(chunk == ord('"'), dtype=np.uint8) & 1
            is_separator &= inside == 0
            is_end &= inside == 0
        ends = np.flatnonzero(is_end)
        if not ends.size or ends[-1] != chunk.size - 1:
            ends = np.append(ends, chunk.size)
        starts = np.concatenate(([0], ends[:-1] + 1))
        at = np.searchsorted(np.flatnonzero(is_separator), np.append(starts, chunk.size))
        lengths = ends - starts
        # A line with only a carriage return is blank.
        lengths -= (lengths == 1) & (chunk[starts] == ord("\r"))
        yield np.diff(at), lengths
        start = stop
