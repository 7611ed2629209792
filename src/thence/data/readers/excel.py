"""Excel and OpenDocument workbooks as source tables, one per sheet, read into memory.

A sheet title such as ``Flows (m3_h)`` gives the kind and the unit of its sensors. Before a sheet of an ``.xlsx`` file
is read, its cell names are scanned in a stream: one far cell makes a sheet of billions of cells.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl

from thence.data.readers.heading import Heading, find_heading
from thence.data.readers.table import ReadOptions, SourceTable, drop_blank_rows, fill_header
from thence.data.readings.cleaning import quote_names
from thence.data.readings.findings import Finding
from thence.errors import InputError, nearest, quote, reported_as, require

MOST_CELLS = 50_000_000
"""Cells of a sheet, empty ones in between included, that are read."""

_CHUNK, _OVERLAP = 1 << 22, 64
_MOST_BYTES = 4 << 30
_CELL = re.compile(rb"""<c [^>]{0,40}?r=["']([A-Z]{1,3})([0-9]{1,7})["']""")


def check_sheet_sizes(path: Path) -> None:
    """Raise an ``InputError`` if a sheet of a workbook spans too many cells, or its XML is too large.

    Args:
        path: The workbook.
    """
    if path.suffix.lower() not in (".xlsx", ".xlsm") or not zipfile.is_zipfile(path):
        return
    with zipfile.ZipFile(path) as archive:
        for entry in archive.infolist():
            if entry.filename.startswith("xl/worksheets/") and entry.filename.endswith(".xml"):
                _check_sheet(archive, entry, path)


def _check_sheet(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, path: Path) -> None:
    rows = columns = read = 0
    last = ""
    tail = b""
    with archive.open(entry) as stream:
        while chunk := stream.read(_CHUNK):
            read += len(chunk)
            for letters, digits in _CELL.findall(tail + chunk):
                row, column = int(digits), _number_of(letters)
                if row > rows or column > columns:
                    last = (letters + digits).decode()
                rows, columns = max(rows, row), max(columns, column)
            tail = chunk[-_OVERLAP:]
            if rows * columns > MOST_CELLS or read > _MOST_BYTES:
                raise InputError(
                    f"{quote(entry.filename)} spans {rows:,} rows × {columns:,} columns, up to cell {last}",
                    where=str(path),
                    hint="delete the far cell, or save the data as CSV or Parquet",
                )


def _number_of(letters: bytes) -> int:
    """Return the number of a column: 1 for A, 27 for AA."""
    number = 0
    for letter in letters:
        number = number * 26 + letter - 64
    return number


FIRST_ROWS = 50
FIRST_DAY = date(1900, 1, 2)  # Excel stores a clock time as a day before it
HINT = "open the file in a spreadsheet and save it again"
TITLE = re.compile(r"(?P<kind>[^()]*[^()\s])\s*\((?P<unit>[^()]+)\)")


def read_excel(path: Path, options: ReadOptions) -> Iterator[SourceTable]:
    """Read the sheets of a workbook, or those of ``options.sheet``; a reader as described in ``.files``."""
    fastexcel = require("fastexcel", extra="excel")
    with reported_as(
        InputError, "not a readable Excel file", where=str(path), hint="open it in a spreadsheet and save it again"
    ):
        check_sheet_sizes(path)
        book = fastexcel.read_excel(str(path))
        names: list[str] = book.sheet_names
    if not names:
        raise InputError("the workbook has no sheets", where=str(path), hint="check that it is the right file")
    for name in _choose_sheets(names, options, path):
        with reported_as(
            InputError, where=f"{path}, sheet {quote(name)}", hint="open the file in a spreadsheet and save it again"
        ):
            yield _read_sheet(path, book, name, options)


def _read_sheet(path: Path, book: Any, name: str, options: ReadOptions) -> SourceTable:
    where = f"{path}, sheet {quote(name)}"
    frame, raw, heading = _read_cells(book, name, options)
    names = [column.strip() for column in raw]
    # A column with neither a name nor a value is only formatted.
    formatted = {k for k, column in enumerate(names) if not column and frame[:, k].null_count() == frame.height}
    notes: list[str] = []
    units: dict[str, str] = {}
    error = None
    try:
        unique, notes = fill_header(names, f"{where}, row {heading.names + 1}", silent=formatted)
        frame.columns = list(unique)
        units = {unique[k]: unit for k, unit in heading.units.items()}
    except InputError as duplicate:
        error = duplicate
    frame = frame[:, [k for k in range(frame.width) if k not in formatted]]
    if trimmed := sum(a != b for a, b in zip(raw, names, strict=True)):
        notes.append(f"removed spaces around {trimmed} column names")
    height = frame.height
    frame, rows = drop_blank_rows(frame)
    title = TITLE.fullmatch(name.strip())
    return SourceTable(
        frame.lazy(),
        where,
        title=path.stem,
        sheet=name,
        kind=_singular(title["kind"].lower()) if title else "",
        unit=title["unit"].replace("_", "/") if title else "",
        place=lambda row: f"row {(row if rows is None else int(rows[row])) + heading.readings + 1}",
        findings=(Finding("blank", blank, where=where),) if (blank := height - frame.height) else (),
        notes=(*heading.describe("row", range(1, heading.readings + 1)), *notes),
        error=error,
        units=units,
    )


def _read_cells(book: Any, sheet: str, options: ReadOptions) -> tuple[pl.DataFrame, list[str], Heading]:
    """Return the cells below the names, the names, and where they were found.

    All cells are read as text, and columns of one type as that type. A library below makes 1.0 of TRUE in a column of
    numbers, and a day of 1899 of a clock time in a column of dates; such columns stay text, as in a CSV file.
    """
    texts = book.load_sheet(sheet, header_row=None, schema_sample_rows=None, dtypes="string").to_polars()
    if not texts.width or texts.height <= (options.skip_rows or 0):
        return pl.DataFrame(), [], Heading()
    first = texts.head(FIRST_ROWS + (options.skip_rows or 0)).fill_null("").rows()
    heading = find_heading(
        [[cell.strip() for cell in row] for row in first], time=options.time, above=options.skip_rows
    )
    names = list(first[heading.names])
    below = texts[heading.readings :]
    if not below.height:
        return below, names, heading
    try:
        typed = book.load_sheet(sheet, header_row=None, skip_rows=heading.readings, schema_sample_rows=None).to_polars()
    except Exception:  # no type holds all cells of some column, such as truth values and dates
        return below, names, heading
    if typed.shape != below.shape:  # leading or trailing blank rows that only one of them has
        return below, names, heading
    columns = [_choose_column(typed[:, k], below[:, k]).alias(f"column_{k}") for k in range(below.width)]
    return pl.DataFrame(columns), names, heading


def _choose_column(typed: pl.Series, text: pl.Series) -> pl.Series:
    """Return a column with its type, or as text if its cells are of several types."""
    if typed.dtype.is_numeric():
        return text if text.str.to_lowercase().is_in(["true", "false"]).any() else typed
    if isinstance(typed.dtype, pl.Datetime):
        early = typed.dt.date() < FIRST_DAY
        if early.any() and not early.drop_nulls().all():  # clock times, without the day that Excel gives them
            clock = pl.lit(text).str.slice(-len("00:00:00"))
            return pl.select(pl.when(pl.lit(early)).then(clock).otherwise(pl.lit(text))).to_series()
    return typed


def _choose_sheets(names: Sequence[str], options: ReadOptions, path: Path) -> Sequence[str]:
    if options.sheet is None:
        return names
    wanted = (options.sheet,) if isinstance(options.sheet, str) else tuple(options.sheet)
    for name in wanted:
        if name not in names:
            raise InputError(
                f"no sheet {quote(name)}; sheets are {quote_names(names)}", where=str(path), hint=nearest(name, names)
            )
    return wanted


def _singular(kind: str) -> str:
    return kind[:-1] if kind.endswith("s") and not kind.endswith("ss") else kind
