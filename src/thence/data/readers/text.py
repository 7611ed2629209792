"""CSV and similar text files as source tables, read into memory unless they are large.

``.encoding`` and ``.dialect`` detect how the file is written. A column is read as numbers if all its cells are numbers,
and as strings otherwise; times stay strings. Lines with too many or too few fields are detected here, because later
they could not be distinguished from empty cells.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from thence.data.readers.dialect import Dialect, detect_dialect, numbers_with
from thence.data.readers.encoding import read_utf8
from thence.data.readers.large_text import LARGE, copy_blocks, iter_blocks, starts_large
from thence.data.readers.lines import count_fields, plain_ends, rewrite
from thence.data.readers.roles import OTHER_SENSOR_NAMES, SENSOR_NAMES, is_time_name, plain_name
from thence.data.readers.table import ReadOptions, SourceTable, drop_blank_rows, fill_header
from thence.data.readings.findings import Finding
from thence.data.readings.losses import advise_repair, refuse_large_loss
from thence.errors import InputError, door

__all__ = ["read_text"]

IntArray = npt.NDArray[np.int64]


def read_text(path: Path, options: ReadOptions) -> list[SourceTable]:
    """Read a text file; a reader as described in ``.files``."""
    return [_read_table(path, options)]


def _read_table(path: Path, options: ReadOptions) -> SourceTable:
    with door(InputError, where=str(path)):
        large = starts_large(path)
    if large:
        return _read_large(path, options)
    data, notes = read_utf8(path, options.encoding)
    body = data.lstrip(b"\r\n")
    skipped = data[: len(data) - len(body)].count(b"\n")
    body = plain_ends(body)
    base = SourceTable(pl.LazyFrame(), str(path), title=_title(path), text_file=True, notes=notes)
    if not body.strip():
        return base
    dialect = detect_dialect(body, skipped, options, str(path))
    names, more = fill_header(dialect.columns, f"{path}, line {dialect.first_line}")
    if dialect.trimmed:
        more.append(f"removed spaces around {dialect.trimmed} column names")
    dialect = replace(dialect, columns=names)
    aside, body = dialect.n_aside(body), dialect.readings(body)
    scanned = _scan_lines(body, dialect, str(path))
    if not scanned.sound:
        body, begins = rewrite(body, dialect.separator, str(path), first_line=dialect.first_line)
        scanned = replace(_scan_lines(body, dialect, str(path)), begins=begins)
    if scanned.ragged:
        _judge_ragged_lines(scanned, dialect, options, str(path))
        body, begins = rewrite(body, dialect.separator, str(path), first_line=dialect.first_line, width=len(names))
        scanned = replace(scanned, begins=begins if scanned.begins is None else scanned.begins)
    frame = _read_columns(body, dialect, options, str(path))
    height = frame.height
    frame, kept = drop_blank_rows(frame)
    header = 0 if dialect.headerless else 1

    def place(row: int) -> str:
        """Row numbers must give the lines of the file, whatever was dropped before them."""
        return f"line {scanned.line_of((row if kept is None else int(kept[row])) + header)}"

    counts = (("ragged", scanned.ragged), ("blank", height - frame.height - aside))
    return replace(
        base,
        frame=frame.lazy(),
        headerless=dialect.headerless,
        decimal=dialect.decimal,
        place=place,
        notes=(*notes, *dialect.notes, *more),
        units=dialect.units,
        findings=tuple(Finding(what, n, where=str(path)) for what, n in counts if n),
    )


def _read_large(path: Path, options: ReadOptions) -> SourceTable:
    """Read a text that is too large for memory: it is copied block by block, and the copy is scanned."""
    where = str(path)
    base = SourceTable(pl.LazyFrame(), where, title=_title(path), text_file=True)
    first = next(iter_blocks(path, options.encoding), None)
    if first is None or not first[0].strip():
        return base
    dialect = detect_dialect(plain_ends(first[0]), first[1] - 1, options, where)
    names, notes = fill_header(dialect.columns, f"{path}, line {dialect.first_line}")
    if dialect.trimmed:
        notes.append(f"removed spaces around {dialect.trimmed} column names")
    dialect = replace(dialect, columns=names)
    counts: Counter[str] = Counter()

    def read(types: Mapping[str, pl.DataType]) -> Iterator[pl.DataFrame]:
        counts.clear()
        for body, line in iter_blocks(path, options.encoding):
            body, aside = plain_ends(body), 0
            if line > dialect.first_line:
                here = replace(dialect, first_line=line, headerless=True)
            else:
                here, line, aside, body = dialect, dialect.first_line, dialect.n_aside(body), dialect.readings(body)
            scanned = _scan_lines(body, here, where)
            if not scanned.sound or scanned.ragged:
                if scanned.sound and options.on_error == "raise":
                    _judge_ragged_lines(scanned, here, options, where)
                body, _ = rewrite(body, dialect.separator, where, first_line=line, width=len(names))
            frame = _read_columns(body, here, options, where, types)
            kept, _ = drop_blank_rows(frame)
            counts["ragged"] += scanned.ragged
            counts["lines"] += scanned.lines
            counts["blank"] += frame.height - kept.height - aside
            yield kept

    frame = copy_blocks(read, where=where)
    refuse_large_loss("ragged", counts["ragged"], counts["lines"], max_loss=options.max_loss, where=where)
    size = LARGE >> 20
    return replace(
        base,
        frame=frame,
        in_memory=False,
        headerless=dialect.headerless,
        decimal=dialect.decimal,
        place=lambda row: f"row {row + 1} below the header",
        units=dialect.units,
        notes=(
            *dialect.notes,
            *notes,
            f"more than {size} MiB of text: scanned from a temporary copy, and checked when it is windowed",
        ),
        findings=tuple(Finding(what, counts[what], where=where) for what in ("ragged", "blank") if counts[what]),
    )


@dataclass(frozen=True)
class _Scanned:
    """What a pass over the lines of a text found.

    Args:
        lines: Number of lines that are not blank.
        ragged: Number of those whose number of fields differs from the header.
        first: Position of the first such line, and its number of fields.
        sound: Whether every quote begins or ends a cell, or is doubled.
        offset: Number of the first line in the file.
        begins: Number of the line of the file in which each line begins, if cells hold line ends.
    """

    lines: int
    ragged: int
    first: tuple[int, int]
    sound: bool
    offset: int
    begins: IntArray | None

    def line_of(self, position: int) -> int:
        """Return the number of a line in the file, given its position in the text."""
        return self.offset + position if self.begins is None else int(self.begins[position])


def _scan_lines(body: bytes, dialect: Dialect, where: str) -> _Scanned:
    wanted = len(dialect.columns) - 1
    ragged = lines = position = stray = 0
    first = (0, 0)
    sound = True
    breaks: list[tuple[int, IntArray | None]] = []
    for part in count_fields(body, dialect.separator):
        odd = (part.separators != wanted) & (part.lengths > 0)
        if odd.any() and not ragged:
            at = int(np.flatnonzero(odd)[0])
            first = position + at, int(part.separators[at]) + 1
        if part.stray >= 0 and not stray:
            stray = position + part.stray + 1
        ragged += int(odd.sum())
        lines += int((part.lengths > 0).sum())
        sound &= part.sound
        breaks.append((part.breaks.size, part.breaks if part.breaks.any() else None))
        position += part.separators.size
    begins = None
    if any(some is not None for _, some in breaks):
        within = np.concatenate([np.zeros(size, dtype=np.int64) if some is None else some for size, some in breaks])
        begins = dialect.first_line + np.arange(within.size) + np.cumsum(within) - within
    scanned = _Scanned(lines, ragged, first, sound, dialect.first_line, begins)
    if stray and sound:
        raise InputError(
            "a carriage return within the line",
            where=f"{where}, line {scanned.line_of(stray - 1)}",
            hint="let all lines end alike, or put the cell in quotes",
        )
    return scanned


def _judge_ragged_lines(scanned: _Scanned, dialect: Dialect, options: ReadOptions, where: str) -> None:
    """Raise at the first line with too many or too few fields unless repairing, and if repairing would lose much."""
    if options.on_error == "raise":
        position, fields = scanned.first
        repair = f"the separator is {dialect.separator!r}; pass on_error='repair' to truncate or pad such lines"
        raise InputError(
            f"expected {len(dialect.columns)} fields, got {fields}",
            where=f"{where}, line {scanned.line_of(position)}",
            hint=advise_repair("ragged", scanned.ragged, scanned.lines, max_loss=options.max_loss, repair=repair),
        )
    refuse_large_loss("ragged", scanned.ragged, scanned.lines, max_loss=options.max_loss, where=where)


def _title(path: Path) -> str:
    """Return the file name without its suffix and ``.gz``; other dots belong to the name."""
    return (path.with_suffix("") if path.suffix.lower() == ".gz" else path).stem


def _read_columns(
    body: bytes,
    dialect: Dialect,
    options: ReadOptions,
    where: str,
    types: Mapping[str, pl.DataType] | None = None,
) -> pl.DataFrame:
    """Read the columns; types that are given are tried, and left if a cell does not fit."""
    names = list(dialect.columns)
    texts = _text_columns(dialect, options)
    known = {name: dtype for name, dtype in (types or {}).items() if dtype == pl.String}
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
            schema_overrides={**known, **dict.fromkeys(texts, pl.String())},
        )

    with door(InputError, where=where):
        try:
            frame = read(None if points else 1000)
        except pl.exceptions.PolarsError:
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
        as_text |= {options.time, names[0], *(name for name in names if is_time_name(name))}
    return [name for name in names if name in as_text or plain_name(name) in (*SENSOR_NAMES, *OTHER_SENSOR_NAMES)]
