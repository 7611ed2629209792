"""Paths to tables: which files are meant, and a reader for each suffix.

Text files and Excel sheets are read into memory; Parquet is only scanned.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from thence.errors import InputError, nearest, require
from thence.readings.cleaning import quoted
from thence.readings.findings import Finding
from thence.readings.readers.dialect import tidy_names
from thence.readings.readers.table import Options, Table
from thence.readings.readers.text import read_text, without_blank_rows

__all__ = ["SUFFIXES", "find_paths", "read_tables"]

TITLE = re.compile(r"\s*(?P<kind>[^()]+?)\s*\((?P<unit>[^()]+)\)\s*")


def find_paths(source: str | Path) -> list[Path]:
    """The files that a path, a folder or a pattern with ``*`` stands for, in the order of their names."""
    path = Path(source).expanduser()
    if path.is_dir():
        paths = sorted(p for p in path.iterdir() if p.is_file() and not p.name.startswith("."))
        readable = [p for p in paths if _suffix(p) in SUFFIXES]
        if not readable:
            raise InputError(f"the folder holds no file with sensor data ({', '.join(SUFFIXES)})", where=str(source))
        return readable
    if path.exists():
        return [path]
    if any(sign in str(source) for sign in "*?["):
        found = sorted(Path(path.anchor or ".").glob(str(path.relative_to(path.anchor))))
        if files := [p for p in found if p.is_file()]:
            return files
        raise InputError("no file matches this pattern", where=str(source))
    names = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
    hint = nearest(path.name, names) or (None if path.parent.is_dir() else f"there is no folder '{path.parent}' either")
    raise InputError("there is no such file", where=str(source), hint=hint)


def read_tables(path: Path, options: Options) -> Iterator[Table]:
    """The tables of a file: one, or one per sheet."""
    reader = SUFFIXES.get(_suffix(path))
    if reader is None:
        raise InputError(
            f"files of type '{path.suffix}' cannot be read", where=str(path), hint=f"known are {', '.join(SUFFIXES)}"
        )
    if options.sheet is not None and reader is not _excel:
        raise InputError("only Excel files have sheets", where=str(path), hint="leave out sheet=")
    yield from reader(path, options)


def _text(path: Path, options: Options) -> Iterable[Table]:
    return [read_text(path, options)]


def _parquet(path: Path, options: Options) -> Iterable[Table]:
    frame = pl.scan_parquet(path)
    try:
        frame.collect_schema()
    except (pl.exceptions.PolarsError, OSError) as error:
        if not path.stat().st_size:
            return [Table(pl.LazyFrame(), str(path), title=path.stem)]
        raise InputError(
            f"is not a readable Parquet file: {str(error).splitlines()[0]}",
            where=str(path),
            hint="write it again; a Parquet file that was cut off has no footer",
        ) from error
    return [Table(frame, str(path), title=path.stem, in_memory=False)]


def _excel(path: Path, options: Options) -> Iterator[Table]:
    fastexcel = require("fastexcel", extra="excel")
    try:
        names: list[str] = fastexcel.read_excel(str(path)).sheet_names
    except (fastexcel.FastExcelError, OSError) as error:
        raise InputError(f"is not a readable Excel file: {str(error).splitlines()[0]}", where=str(path)) from error
    for name in _chosen_sheets(names, options, path):
        yield _sheet(path, name)


def _sheet(path: Path, name: str) -> Table:
    frame = _cells(path, name)
    where = f"{path}, sheet '{name}'"
    raw = _header(path, name, frame.columns)
    names = [column.strip() for column in raw]
    # A column without a name and without a cell is only formatted.
    formatted = [k for k, column in enumerate(names) if not column and frame[:, k].null_count() == frame.height]
    notes: list[str] = []
    error = None
    try:
        unique, notes = tidy_names(names, f"{where}, row 1", unseen=formatted)
        frame.columns = list(unique)
    except InputError as double:
        error = double
    frame = frame[:, [k for k in range(frame.width) if k not in formatted]]
    if trimmed := sum(a != b for a, b in zip(raw, names, strict=True)):
        notes.append(f"spaces around {trimmed} column names cut off")
    height = frame.height
    frame, rows = without_blank_rows(frame)
    title = TITLE.fullmatch(name)
    return Table(
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


def _cells(path: Path, sheet: str, **options: Any) -> pl.DataFrame:
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


def _header(path: Path, sheet: str, columns: Sequence[str]) -> list[str]:
    """The names as they stand in the sheet, not as the reader makes them unlike (flow, flow_1, __UNNAMED__2)."""
    made = [
        k
        for k, column in enumerate(columns)
        if re.fullmatch(r"__UNNAMED__\d+", column) or re.sub(r"_\d+$", "", column) in {*columns} - {column}
    ]
    names = list(columns)
    if made:
        row = _cells(path, sheet, has_header=False, read_options={"n_rows": 1}).row(0)
        for k in made:
            names[k] = "" if row[k] is None else str(row[k])
    return names


def _chosen_sheets(names: Sequence[str], options: Options, path: Path) -> Sequence[str]:
    if options.sheet is None:
        return names
    wanted = (options.sheet,) if isinstance(options.sheet, str) else tuple(options.sheet)
    for name in wanted:
        if name not in names:
            raise InputError(
                f"there is no sheet '{name}'; the sheets are {quoted(names)}",
                where=str(path),
                hint=nearest(name, names),
            )
    return wanted


def _singular(kind: str) -> str:
    return kind[:-1] if kind.endswith("s") and not kind.endswith("ss") else kind


def _suffix(path: Path) -> str:
    suffixes = path.suffixes
    if suffixes and suffixes[-1].lower() == ".gz" and len(suffixes) > 1:
        return suffixes[-2].lower()
    return path.suffix.lower()


SUFFIXES: dict[str, Callable[[Path, Options], Iterable[Table]]] = {
    ".csv": _text,
    ".tsv": _text,
    ".txt": _text,
    ".tab": _text,
    ".dat": _text,
    ".parquet": _parquet,
    ".pq": _parquet,
    ".xlsx": _excel,
    ".xlsm": _excel,
    ".xls": _excel,
    ".ods": _excel,
}
"""The reader of each file suffix."""
