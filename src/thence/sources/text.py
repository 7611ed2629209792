"""CSV and its relatives as columns: encoding, separator, decimal sign and header found or given.

Cells are read as numbers where a whole column is numeric and as text otherwise; times stay text. Lines with too many
or too few fields are found here, because later nobody could tell them from empty cells.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from .._report import Finding
from ..errors import InputError
from .roles import SENSOR_NAMES, TIME_NAMES, looks_like_time
from .table import Options, Table

__all__ = ["read_text"]

SEPARATORS = (";", "\t", "|", ",")  # a comma comes last: it may be the decimal sign
SAMPLE_LINES = 50
CHUNK_BYTES = 1 << 24
IntArray = npt.NDArray[np.int64]
COMMA_NUMBER = re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?")
POINT_NUMBER = re.compile(r"[+-]?\d*\.\d+(?:[eE][+-]?\d+)?")


@dataclass(frozen=True)
class Dialect:
    """How a text file is written."""

    separator: str
    decimal: str
    columns: tuple[str, ...]
    headerless: bool
    first_line: int
    """Number of the first data line, counted from 1."""
    trimmed: int = 0
    """How many names of the header had spaces around them."""


def read_text(path: Path, options: Options) -> Table:
    """The columns of a text file."""
    data, notes = _decoded(path, options)
    body = data.lstrip(b"\r\n")
    skipped = data[: len(data) - len(body)].count(b"\n")
    base = Table(pl.LazyFrame(), str(path), title=path.name.split(".")[0], notes=notes)
    if not body.strip():
        return base
    dialect = _sniff(body, skipped, options, str(path))
    name_notes = _tidy_names(dialect, str(path))
    dialect = replace(dialect, columns=name_notes[0])
    table = replace(
        base,
        headerless=dialect.headerless,
        decimal=dialect.decimal,
        place=lambda row: f"line {dialect.first_line + row}",
        notes=(*notes, *name_notes[1]),
    )
    ragged = _ragged_lines(body, dialect, options, str(path))
    if ragged:
        body = _squared(body, dialect)
    frame = _columns(body, dialect, options)
    frame, blank = _without_blank_lines(frame)
    findings = [Finding(what, n, where=str(path)) for what, n in (("ragged", ragged), ("blank", blank)) if n]
    if blank:
        # Row numbers must go on naming lines of the file.
        lines = frame["_line"].to_numpy()
        frame = frame.drop("_line")
        table = replace(table, place=lambda row: f"line {dialect.first_line + int(lines[row])}")
    return replace(table, frame=frame.lazy(), findings=tuple(findings))


def _decoded(path: Path, options: Options) -> tuple[bytes, tuple[str, ...]]:
    """The file as UTF-8 bytes."""
    try:
        data = path.read_bytes()
        if path.suffix.lower() == ".gz":
            data = gzip.decompress(data)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", where=str(path)) from error
    encoding = options.encoding
    if encoding is None and data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        encoding = "utf-16"
    try:
        if encoding is None:
            data.decode("utf-8")
            return data.removeprefix(b"\xef\xbb\xbf"), ()
        return data.decode(encoding).encode(), ()
    except LookupError as error:
        raise InputError(f"there is no encoding '{encoding}'", where=str(path)) from error
    except UnicodeDecodeError as error:
        if encoding is not None:
            raise InputError(f"is not written in {encoding}: {error.reason}", where=str(path)) from error
    return data.decode("cp1252", errors="replace").encode(), ("not UTF-8, read as Windows-1252",)


def _sniff(body: bytes, skipped: int, options: Options, where: str) -> Dialect:
    lines = _head(body)
    separator = options.separator or _separator(lines, where)
    raw = [row for row in csv.reader(lines, delimiter=separator) if row]
    rows = [[cell.strip() for cell in row] for row in raw]
    headerless = not (options.header if options.header is not None else _has_header(rows, options))
    cells = [cell for row in (rows if headerless else rows[1:]) for cell in row]
    decimal = options.decimal or _decimal(cells, body, separator, where)
    first, second = rows[0], rows[1] if len(rows) > 1 else rows[0]
    columns = tuple(f"column {k + 1}" for k in range(len(second))) if headerless else tuple(first)
    trimmed = 0 if headerless else sum(a != b for a, b in zip(raw[0], first, strict=True))
    return Dialect(separator, decimal, columns, headerless, skipped + (1 if headerless else 2), trimmed)


def _head(body: bytes) -> list[str]:
    lines: list[str] = []
    for raw in io.BytesIO(body):
        text = raw.decode("utf-8").rstrip("\r\n")
        if text.strip():
            lines.append(text)
        if len(lines) > SAMPLE_LINES:
            break
    return lines


def _separator(lines: Sequence[str], where: str) -> str:
    """The sign that cuts the lines into the same number of fields, more than one."""
    best = ("", 0.0)
    for sign in SEPARATORS:
        widths = Counter(len(row) for row in csv.reader(lines, delimiter=sign))
        width, count = widths.most_common(1)[0]
        share = count / len(lines)
        if width > 1 and share > best[1]:
            best = (sign, share)
    if not best[0]:
        raise InputError(
            f"no separator splits the first line into columns: '{lines[0][:60]}'", where=where, hint="give separator="
        )
    return best[0]


def _has_header(rows: Sequence[Sequence[str]], options: Options) -> bool:
    """A first line is a header unless its first cell is a time or a number like the one below it."""
    first = rows[0]
    if any(cell.lower() in TIME_NAMES or cell == options.time for cell in first):
        return True
    below = rows[1][0] if len(rows) > 1 and rows[1] else first[0]
    return not all(looks_like_time(cell) or _is_number(cell) for cell in (first[0], below))


def _is_number(cell: str) -> bool:
    return bool(re.fullmatch(r"[+-]?\d+(?:[.,]\d+)?", cell))


def _decimal(cells: Sequence[str], body: bytes, separator: str, where: str) -> str:
    if separator == ",":
        return "."
    at = body.find(b",")
    if at < 0:
        return "."
    # The first lines may hold whole numbers only: the line of the first comma decides as well.
    begin, end = body.rfind(b"\n", 0, at) + 1, body.find(b"\n", at)
    line = body[begin : end if end >= 0 else len(body)].decode("utf-8").rstrip("\r")
    cells = [*cells, *next(csv.reader([line], delimiter=separator))]
    comma = next((cell for cell in cells if COMMA_NUMBER.fullmatch(cell.strip())), None)
    point = next((cell for cell in cells if POINT_NUMBER.fullmatch(cell.strip())), None)
    if comma and point:
        raise InputError(
            f"numbers are written with a decimal comma ('{comma}') and with a point ('{point}')",
            where=where,
            hint="give decimal=',' or decimal='.'",
        )
    return "," if comma else "."


def _tidy_names(dialect: Dialect, where: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    counts = Counter(name for name in dialect.columns if name)
    if double := [name for name, count in counts.items() if count > 1]:
        at = [k + 1 for k, name in enumerate(dialect.columns) if name == double[0]]
        raise InputError(
            f"column '{double[0]}' occurs {counts[double[0]]} times (columns {', '.join(map(str, at))})",
            where=f"{where}, line {dialect.first_line - 1}",
            hint="rename one of them",
        )
    unnamed = [k for k, name in enumerate(dialect.columns) if not name]
    names = tuple(name or f"(column {k + 1} without a name)" for k, name in enumerate(dialect.columns))
    notes = [f"column {k + 1} has no name" for k in unnamed]
    if dialect.trimmed:
        notes.append(f"spaces around {dialect.trimmed} column names cut off")
    return names, tuple(notes)


def _columns(body: bytes, dialect: Dialect, options: Options) -> pl.DataFrame:
    text_columns = {options.sensor, *options.categorical} if options.sensor else set(options.categorical)
    # Ids may look like numbers ("007"): the sensor column of a long file must stay text.
    long_names = {name for name in dialect.columns if name.lower() in SENSOR_NAMES}
    overrides = {
        f"column_{k}": pl.String()
        for k, name in enumerate(dialect.columns, start=1)
        if name in text_columns | long_names
    }

    def read(schema_length: int | None) -> pl.DataFrame:
        return pl.read_csv(
            body,
            has_header=False,
            skip_rows=0 if dialect.headerless else 1,
            separator=dialect.separator,
            decimal_comma=dialect.decimal == ",",
            null_values=list(options.missing),
            raise_if_empty=False,
            infer_schema=schema_length is not None,
            infer_schema_length=schema_length,
            schema_overrides=overrides,
        )

    try:
        frame = read(1000)
    except pl.exceptions.ComputeError:
        # Some later cell is no number: as text it can be named, with its line, instead of failing here.
        frame = read(None)
    if not frame.width:
        return pl.DataFrame(schema=dict.fromkeys(dialect.columns, pl.String))
    return frame.rename(dict(zip(frame.columns, dialect.columns, strict=True)))


def _squared(body: bytes, dialect: Dialect) -> bytes:
    """The same lines, each with as many fields as the header; only done when some line has not."""
    width = len(dialect.columns)
    out = io.StringIO()
    writer = csv.writer(out, delimiter=dialect.separator, lineterminator="\n")
    for row in csv.reader(io.StringIO(body.decode("utf-8"), newline=""), delimiter=dialect.separator):
        writer.writerow([*row, *[""] * (width - len(row))][:width] if row else row)
    return out.getvalue().encode()


def _without_blank_lines(frame: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    if not frame.height or not frame.width or frame[:, 0].null_count() == 0:
        return frame, 0
    blank = frame.select(pl.all_horizontal(pl.all().is_null())).to_series()
    if not (count := int(blank.sum())):
        return frame, 0
    return frame.with_row_index("_line").filter(~blank), count


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
