"""Excel and OpenDocument workbooks as source tables, one per sheet, read into memory.

A sheet title such as ``Flows (m3_h)`` gives the kind and the unit of its sensors.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from thence.errors import InputError, nearest, require
from thence.readings.cleaning import quote_names
from thence.readings.findings import Finding
from thence.readings.frames import first_line
from thence.readings.readers.table import ReadOptions, SourceTable, drop_blank_rows, fill_header

__all__ = ["read_excel"]

TITLE = re.compile(r"\s*(?P<kind>[^()]+?)\s*\((?P<unit>[^()]+)\)\s*")


def read_excel(path: Path, options: ReadOptions) -> Iterator[SourceTable]:
    """Read the sheets of a workbook, or those of ``options.sheet``; a reader as described in ``.files``."""
    fastexcel = require("fastexcel", extra="excel")
    try:
        names: list[str] = fastexcel.read_excel(str(path)).sheet_names
    except (fastexcel.FastExcelError, OSError) as error:
        raise InputError(f"not a readable Excel file: {first_line(error)}", where=str(path)) from error
    for name in _choose_sheets(names, options, path):
        yield _read_sheet(path, name)


def _read_sheet(path: Path, name: str) -> SourceTable:
    frame = _read_cells(path, name)
    where = f"{path}, sheet '{name}'"
    raw = _read_header(path, name, frame.columns)
    names = [column.strip() for column in raw]
    # A column with neither a name nor a value is only formatted.
    formatted = [k for k, column in enumerate(names) if not column and frame[:, k].null_count() == frame.height]
    notes: list[str] = []
    error = None
    try:
        unique, notes = fill_header(names, f"{where}, row 1", silent=formatted)
        frame.columns = list(unique)
    except InputError as duplicate:
        error = duplicate
    frame = frame[:, [k for k in range(frame.width) if k not in formatted]]
    if trimmed := sum(a != b for a, b in zip(raw, names, strict=True)):
        notes.append(f"removed spaces around {trimmed} column names")
    height = frame.height
    frame, rows = drop_blank_rows(frame)
    title = TITLE.fullmatch(name)
    return SourceTable(
        frame.lazy(),
        where,
        title=path.stem,
        sheet=name,
        kind=_singular(title["kind"].lower()) if title else "",
        unit=title["unit"].replace("_", "/") if title else "",
        place=lambda row: f"row {(row if rows is None else int(rows[row])) + 2}",
        findings=(Finding("blank", blank, where=where),) if (blank := height - frame.height) else (),
        notes=tuple(notes),
        error=error,
    )


def _read_cells(path: Path, sheet: str, **options: Any) -> pl.DataFrame:
    frame: pl.DataFrame = pl.read_excel(
        path,
        sheet_name=sheet,
        engine="calamine",
        infer_schema_length=None,
        raise_if_empty=False,
        drop_empty_rows=False,
        drop_empty_cols=False,
        **options,
    )
    return frame


def _read_header(path: Path, sheet: str, columns: Sequence[str]) -> list[str]:
    """Return the names as they are in the sheet, without the changes of polars (flow_1, __UNNAMED__2)."""
    changed = [
        k
        for k, column in enumerate(columns)
        if re.fullmatch(r"__UNNAMED__\d+", column) or re.sub(r"_\d+$", "", column) in {*columns} - {column}
    ]
    names = list(columns)
    if changed:
        row = _read_cells(path, sheet, has_header=False, read_options={"n_rows": 1}).row(0)
        for k in changed:
            names[k] = "" if row[k] is None else str(row[k])
    return names


def _choose_sheets(names: Sequence[str], options: ReadOptions, path: Path) -> Sequence[str]:
    if options.sheet is None:
        return names
    wanted = (options.sheet,) if isinstance(options.sheet, str) else tuple(options.sheet)
    for name in wanted:
        if name not in names:
            raise InputError(
                f"no sheet '{name}'; sheets are {quote_names(names)}", where=str(path), hint=nearest(name, names)
            )
    return wanted


def _singular(kind: str) -> str:
    return kind[:-1] if kind.endswith("s") and not kind.endswith("ss") else kind
