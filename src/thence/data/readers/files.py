"""Files: which files a path means, and the reader of each file format.

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
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from thence._base.settings.registry import Registry
from thence.data.readers.table import ReadOptions, SourceTable
from thence.data.readings.cleaning import quote_names
from thence.errors import InputError, nearest, quote

__all__ = ["READERS", "find_paths", "note_skipped", "read_tables"]

READERS: Registry[Any] = Registry(
    "reader",
    {
        **dict.fromkeys(("csv", "tsv", "txt", "tab", "dat"), "thence.data.readers.text:read_text"),
        **dict.fromkeys(("parquet", "pq"), "thence.data.readers.parquet:read_parquet"),
        **dict.fromkeys(("xlsx", "xlsm", "xls", "ods"), "thence.data.readers.excel:read_excel"),
    },
    group="thence.readers",
    of=object,
)
"""The reader of each file suffix."""


def find_paths(source: str | Path) -> list[Path]:
    """Return the files that a path, a folder or a pattern with ``*``, ``?`` or ``[`` means, sorted by name.

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
        paths = sorted(p for p in path.iterdir() if p.is_file() and not p.name.startswith("."))
        known = set(READERS)
        readable = [p for p in paths if _suffix(p) in known]
        if not readable:
            raise InputError(f"no file with sensor data in this folder ({_known_suffixes()})", where=str(source))
        return readable
    if path.exists():
        return [path]
    if any(sign in str(source) for sign in "*?["):
        found = sorted(Path(path.anchor or ".").glob(str(path.relative_to(path.anchor))))
        if files := [p for p in found if p.is_file()]:
            return files
        raise InputError("no file matches this pattern", where=str(source))
    names = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
    hint = nearest(path.name, names) or (None if path.parent.is_dir() else f"no such folder: '{path.parent}'")
    raise InputError("no such file", where=str(source), hint=hint)


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
    read: Callable[[Path, ReadOptions], Iterable[SourceTable]] = READERS.load(suffix)
    for table in read(path, options):
        if options.sheet is not None and not table.sheet:
            raise InputError("this file has no sheets", where=str(path), hint="leave out sheet=")
        yield table


def _suffix(path: Path) -> str:
    """Return the suffix without its dot, in lower case; ``.gz`` after another suffix does not count."""
    suffixes = path.suffixes
    last = suffixes[-2] if len(suffixes) > 1 and suffixes[-1].lower() == ".gz" else path.suffix
    return last.lower().removeprefix(".")


def _known_suffixes() -> str:
    return ", ".join(f".{suffix}" for suffix in READERS)
