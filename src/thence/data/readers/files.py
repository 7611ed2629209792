"""Sources: files, frames and databases; which files a path means, and the reader of each format and database.

A reader is a function ``read(path, options) -> Iterable[SourceTable]`` (see ``.table`` for both types). It

- yields one ``SourceTable`` per table of the file: one, or one per sheet;
- sets ``name`` to ``str(path)``, followed by the sheet if there are sheets, and ``title`` to the file name without its
  suffix;
- returns the columns as they are, with the names from the file; it does not look for the time column, convert times,
  or sort or drop rows, except blank ones, which it counts as the finding ``blank``;
- sets ``in_memory=False`` if the frame is only scanned, and ``place`` if rows have other numbers in the file;
- yields a table with an empty frame for a file without rows, and raises an ``InputError`` with ``where=str(path)`` for
  a file that cannot be read;
- applies the options that concern its format (``sheet``, ``separator``, ...) and ignores the others; with
  ``options.sheet`` it yields only those sheets.

A new format is one module with such a function and one line in ``READERS``. Another package adds a format with an entry
point in the group ``thence.readers``, named by the suffix without its dot: ``npz = "package.module:read_npz"``.

The reader of a database is such a function too; its ``path`` is a URL with the scheme of the reader, or a connection.
It reads all rows in one snapshot, or raises. Another package adds one with an entry point in the group
``thence.databases``, named by the scheme of its URLs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from thence._base.frames import from_pandas, is_pandas
from thence._base.settings.registry import Registry
from thence.data.readers.table import ReadOptions, SourceTable
from thence.data.readers.zones import read_beside
from thence.data.readings.cleaning import quote_names
from thence.errors import ConfigError, InputError, nearest, quote, reported_as

READERS: Registry[Any] = Registry(
    "reader",
    {
        **dict.fromkeys(("csv", "tsv", "txt", "tab", "dat"), "thence.data.readers.text:read_text"),
        **dict.fromkeys(("jsonl", "ndjson"), "thence.data.readers.json_lines:read_json_lines"),
        **dict.fromkeys(("parquet", "pq"), "thence.data.readers.parquet:read_parquet"),
        **dict.fromkeys(("xlsx", "xlsm", "xls", "ods"), "thence.data.readers.excel:read_excel"),
    },
    group="thence.readers",
    of=object,
)
"""The reader of each file suffix."""


DATABASES: Registry[Any] = Registry(
    "database",
    {
        **dict.fromkeys(("postgresql", "postgres"), "thence.data.stores.sql:read_postgresql"),
        "duckdb": "thence.data.stores.sql:read_duckdb",
        "adbc": "thence.data.stores.sql:read_connection",
    },
    group="thence.databases",
    of=object,
)
"""The reader of each scheme; ``adbc`` reads from open connections."""


def find_paths(source: str | Path) -> list[Path]:
    """Return the files that a path, a folder or a pattern with ``*``, ``?`` or ``[`` means, in natural order of names.

    The files in folders within a folder count if it holds none itself.

    Raises:
        InputError: If there is no such file, or no file in the folder has a known suffix.
    """
    if not str(source).strip() or "\0" in str(source):
        raise InputError(f"no such file: {quote(source)}", hint="pass the path of a file, a folder or a pattern")
    try:
        path = Path(source).expanduser()
    except RuntimeError as error:
        raise InputError("the home folder is not known", where=str(source), hint="write the path out") from error
    if path.is_dir():
        known = set(READERS)
        readable = [p for p in _files_in(path, path.iterdir()) if _suffix(p) in known]
        readable = readable or [p for p in _files_in(path, path.rglob("*")) if _suffix(p) in known]
        if not readable:
            raise InputError(f"no file with sensor data in this folder ({_known_suffixes()})", where=str(source))
        return readable
    if path.exists():
        return [path]
    if any(sign in str(source) for sign in "*?["):
        found = sorted(Path(path.anchor or ".").glob(str(path.relative_to(path.anchor))), key=_natural)
        if files := [p for p in found if p.is_file()]:
            return files
        raise InputError("no file matches this pattern", where=str(source))
    names = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
    hint = nearest(path.name, names) or (None if path.parent.is_dir() else f"no such folder: '{path.parent}'")
    raise InputError("no such file", where=str(source), hint=hint)


def _files_in(folder: Path, found: Iterable[Path]) -> list[Path]:
    """Return the files among paths in a folder in natural order; those in hidden folders do not count."""
    shown = (p for p in found if not any(part.startswith(".") for part in p.relative_to(folder).parts))
    return sorted((p for p in shown if p.is_file()), key=_natural)


def _natural(path: Path) -> list[tuple[int, str]]:
    """Return a key that sorts run 2 before run 10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", str(path)) if part]


def note_skipped(source: object) -> list[str]:
    """Return a note for each folder that holds files of which no reader knows the suffix.

    Args:
        source: What is read; a folder, or a list with folders, counts.
    """
    if isinstance(source, (list, tuple)):
        return [note for one in source for note in note_skipped(one)]
    if not isinstance(source, (str, Path)) or not (folder := Path(source).expanduser()).is_dir():
        return []
    known = set(READERS)
    names = sorted(p.name for p in folder.iterdir() if p.is_file() and not p.name.startswith("."))
    others = [name for name in names if _suffix(Path(name)) not in known]
    plural = "s" * (len(others) != 1)
    return [f"{folder}: {len(others)} file{plural} of other types skipped: {quote_names(others)}"] if others else []


def read_tables(path: Path, options: ReadOptions) -> Iterator[SourceTable]:
    """Yield the tables of a file, read by the reader of its suffix.

    Raises:
        InputError: If no reader knows the suffix, or ``options.sheet`` is given and the file has no sheets.
    """
    suffix = _suffix(path)
    if suffix not in READERS:
        raise InputError(
            f"unsupported file type '{path.suffix}'", where=str(path), hint=f"supported: {_known_suffixes()}"
        )
    _refuse_pointer(path)
    read: Callable[[Path, ReadOptions], Iterable[SourceTable]] = READERS.load(suffix)
    beside = read_beside(path)
    for table in read(path, options):
        if options.sheet is not None and not table.sheet:
            raise InputError("this file has no sheets", where=str(path), hint="leave out sheet=")
        yield replace(
            table,
            zone=table.zone or beside.zone,
            units={**beside.units, **table.units},
            notes=(*table.notes, *beside.notes),
        )


_POINTERS = {b"version https://git-lfs": "Git LFS", b"/annex/objects/": "git-annex"}


def _refuse_pointer(path: Path) -> None:
    """Raise if a file is what a repository holds in place of a large file."""
    with reported_as(InputError, where=str(path)), path.open("rb") as file:
        start = file.read(64)
    for sign, program in _POINTERS.items():
        if start.startswith(sign):
            pull = "git lfs pull" if program == "Git LFS" else "git annex get"
            raise InputError(
                f"this is a pointer of {program}, not the data",
                where=str(path),
                hint=f"run '{pull}' in its repository, or download the file itself",
            )


def _suffix(path: Path) -> str:
    """Return the suffix without its dot, in lower case; ``.gz`` after another suffix does not count."""
    suffixes = path.suffixes
    last = suffixes[-2] if len(suffixes) > 1 and suffixes[-1].lower() == ".gz" else path.suffix
    return last.lower().removeprefix(".")


def _known_suffixes() -> str:
    return ", ".join(f".{suffix}" for suffix in READERS)


def table_from_frame(frame: Any) -> SourceTable:
    """Return a polars, pandas or Arrow frame as a table; a polars ``LazyFrame`` stays lazy.

    Raises:
        InputError: If the object is not a frame, or cannot be converted.
    """
    if isinstance(frame, pl.LazyFrame):
        return SourceTable(frame, "lazy frame", in_memory=False)
    if isinstance(frame, pl.DataFrame):
        return SourceTable(frame.lazy(), "frame")
    name = "frame"
    if is_pandas(frame) and hasattr(frame, "to_frame"):
        if frame.name is None:
            raise InputError("the series has no name for its sensor", where="series", hint="set one with rename()")
        frame, name = frame.to_frame(), "series"
    if is_pandas(frame) and hasattr(frame, "columns"):
        return SourceTable(from_pandas(frame, index=True, categories_as_text=False).lazy(), name)
    if hasattr(frame, "__arrow_c_stream__") and not isinstance(frame, pl.Series):
        return SourceTable(pl.DataFrame(frame).lazy(), name)
    raise InputError(
        f"cannot read sensor data from an object of type {type(frame).__name__}",
        hint="pass a path, a list of paths, or a polars, pandas or Arrow table",
    )


def database_reader(source: Any) -> Callable[..., Iterable[Any]] | None:
    """Return the reader of a database, or ``None`` if the source is something else.

    Args:
        source: A path, a URL, a frame or a connection.

    Raises:
        ConfigError: If the source is a URL that no reader knows.
    """
    scheme = ""
    if isinstance(source, str) and "://" in source:
        scheme = source.partition("://")[0].lower()
        if len(scheme) < 2:  # a drive of Windows
            return None
        if scheme not in DATABASES or scheme == "adbc":
            known = [name for name in DATABASES if name != "adbc"]
            raise ConfigError(
                f"readings cannot be read from a URL that begins with '{scheme}://'",
                hint=nearest(scheme, known) or f"known: {', '.join(f'{name}://' for name in known)}",
            )
    elif hasattr(source, "adbc_get_table_schema"):
        scheme = "adbc"
    reader: Callable[..., Iterable[Any]] | None = DATABASES.load(scheme) if scheme else None
    return reader
