"""CSV and its relatives as columns, once ``.decode`` and ``.dialect`` have said how the file is written.

Cells are read as numbers where a whole column is numeric and as text otherwise; times stay text. Lines with too many
or too few fields are found here, because later nobody could tell them from empty cells.
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
from thence.readings.readers.decode import read_utf8
from thence.readings.readers.dialect import Dialect, numbers_with, sniff, tidy_names
from thence.readings.readers.roles import OTHER_SENSOR_NAMES, SENSOR_NAMES, TIME_NAMES, plain_name
from thence.readings.readers.table import Options, Table

__all__ = ["read_text", "without_blank_rows"]

CHUNK_BYTES = 1 << 24
IntArray = npt.NDArray[np.int64]


def read_text(path: Path, options: Options) -> Table:
    """The columns of a text file."""
    data, notes = read_utf8(path, options.encoding)
    body = data.lstrip(b"\r\n")
    skipped = data[: len(data) - len(body)].count(b"\n")
    base = Table(pl.LazyFrame(), str(path), title=_title(path), written=True, notes=notes)
    if not body.strip():
        return base
    dialect = sniff(body, skipped, options, str(path))
    names, more = tidy_names(dialect.columns, f"{path}, line {dialect.first_line - 1}")
    if dialect.trimmed:
        more.append(f"spaces around {dialect.trimmed} column names cut off")
    dialect = replace(dialect, columns=names)
    table = replace(
        base,
        headerless=dialect.headerless,
        decimal=dialect.decimal,
        place=lambda row: f"line {dialect.first_line + row}",
        notes=(*notes, *more),
    )
    ragged = _ragged_lines(body, dialect, options, str(path))
    if ragged:
        body = _squared(body, dialect)
    frame = _columns(body, dialect, options)
    height = frame.height
    frame, lines = without_blank_rows(frame)
    if lines is not None:
        # Row numbers must go on naming lines of the file.
        table = replace(table, place=lambda row: f"line {dialect.first_line + int(lines[row])}")
    counts = (("ragged", ragged), ("blank", height - frame.height))
    findings = [Finding(what, n, where=str(path)) for what, n in counts if n]
    return replace(table, frame=frame.lazy(), findings=tuple(findings))


def _title(path: Path) -> str:
    """The name of the file without its suffix; points before that belong to the name."""
    return (path.with_suffix("") if path.suffix.lower() == ".gz" else path).stem


def _columns(body: bytes, dialect: Dialect, options: Options) -> pl.DataFrame:
    names = list(dialect.columns)
    texts = _text_columns(dialect, options)
    # polars takes a point for a decimal sign also where it is told that commas are: such cells are judged as text.
    # Where the sign was found and not given, there are none, and points in dates do not count.
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
        # Some later cell is no number: as text it can be named, with its line, instead of failing here.
        frame = read(None)
    return frame if frame.width else pl.DataFrame(schema=dict.fromkeys(names, pl.String))


def _text_columns(dialect: Dialect, options: Options) -> list[str]:
    """The columns in which 007 and 7 are two things: ids, states, and times in a format with leading zeros."""
    names = dialect.columns
    if options.categorical - set(names):
        return list(names)  # ids of a long table or made by name=: any column may hold their states
    kept = {options.sensor, *options.categorical}
    if options.time_format is not None and "%" in options.time_format:
        kept |= {options.time, names[0], *(name for name in names if plain_name(name) in TIME_NAMES)}
    return [name for name in names if name in kept or plain_name(name) in (*SENSOR_NAMES, *OTHER_SENSOR_NAMES)]


def _squared(body: bytes, dialect: Dialect) -> bytes:
    """The same lines, each with as many fields as the header; only done when some line has not."""
    width = len(dialect.columns)
    out = io.StringIO()
    writer = csv.writer(out, delimiter=dialect.separator, lineterminator="\n")
    for row in csv.reader(io.StringIO(body.decode("utf-8"), newline=""), delimiter=dialect.separator):
        writer.writerow([*row, *[""] * (width - len(row))][:width] if row else row)
    return out.getvalue().encode()


def without_blank_rows(frame: pl.DataFrame) -> tuple[pl.DataFrame, IntArray | None]:
    """The frame without rows that hold nothing, and where its rows stood if there were any."""
    if not frame.height or not frame.width or frame[:, 0].null_count() == 0:
        return frame, None
    blank = frame.select(pl.all_horizontal(pl.all().is_null())).to_series()
    if not blank.any():
        return frame, None
    return frame.filter(~blank), np.flatnonzero(~blank.to_numpy())


def _ragged_lines(body: bytes, dialect: Dialect, options: Options, where: str) -> int:
    """How many lines have another number of fields than the header; the first of them is an error unless repaired."""
    wanted = len(dialect.columns) - 1
    count = 0
    line = dialect.first_line - (0 if dialect.headerless else 1)
    for separators, lengths in _fields_per_line(body, dialect.separator):
        odd = (separators != wanted) & (lengths > 0)
        if odd.any() and options.on_error == "raise":
            at = int(np.flatnonzero(odd)[0])
            raise InputError(
                f"this line has {separators[at] + 1} fields, not {wanted + 1}",
                where=f"{where}, line {line + at}",
                hint=f"the separator is {dialect.separator!r}; give on_error='repair' to cut or fill such lines",
            )
        count += int(odd.sum())
        line += separators.size
    return count


def _fields_per_line(body: bytes, separator: str) -> Iterator[tuple[IntArray, IntArray]]:
    """Separators and characters of each line, chunk by chunk; signs inside quotes do not count."""
    start = 0
    quotes = b'"' in body
    while start < len(body):
        stop = len(body) if start + CHUNK_BYTES >= len(body) else body.rfind(b"\n", start, start + CHUNK_BYTES) + 1
        if stop <= start or quotes:
            stop = len(body)  # a quoted cell may hold line ends, which only the whole text tells apart
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
        # A line that holds just a carriage return is blank.
        lengths -= (lengths == 1) & (chunk[starts] == ord("\r"))
        yield np.diff(at), lengths
        start = stop
