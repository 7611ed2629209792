"""Sizes of the sheets of a workbook, before they are read: one far cell makes a sheet of billions of cells.

Only the beginning of the name of each cell is looked at, in a stream; nothing is kept. Files of other formats than
``.xlsx`` and ``.xlsm``, which are archives of XML, are not looked at.
"""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

from thence.errors import InputError, quote

__all__ = ["MOST_CELLS", "check_sheet_sizes"]

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
