"""CSV and similar text files as source tables, read into memory unless they are large.

The separator, the decimal sign and the header are detected; what cannot be detected with certainty raises an error
that says which option to pass. A column is read as numbers if all its cells are numbers, and as strings otherwise;
times stay strings. Lines with too many or too few fields are detected here, because later they could not be
distinguished from empty cells. A large file is copied block by block to a temporary Parquet file that is scanned and
removed when the process ends; its types are those that fit every block.
"""

from __future__ import annotations

import atexit
import codecs
import gzip
import re
import shutil
import tempfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from thence.data.readers.annotated import is_annotated, read_annotated
from thence.data.readers.dates import looks_like_date
from thence.data.readers.heading import Heading, find_heading
from thence.data.readers.lines import (
    count_fields,
    first_lines,
    plain_ends,
    read_utf8,
    rewrite,
    split_fields,
    tabs_for_gaps,
    without_rules,
)
from thence.data.readers.roles import OTHER_SENSOR_NAMES, SENSOR_NAMES, is_time_name, looks_like_time, plain_name
from thence.data.readers.table import ReadOptions, SourceTable, drop_blank_rows, fill_header
from thence.data.readings.findings import Finding
from thence.data.readings.frames import detect_decimal_sign
from thence.errors import ConfigError, InputError, quote, reported_as

LARGE = 512 << 20
"""Bytes of text, after decompression, beyond which a file is not read into memory."""
BLOCK_BYTES = 32 << 20
LONGEST_LINE = 128 << 20
LARGEST_RATIO = 1_032  # of what deflate compresses

Block = tuple[bytes, int]
"""Whole lines of a text in UTF-8, and the number of the first of them in the file, from 1."""


def starts_large(path: Path) -> bool:
    """Return whether a text file is so large that it should not be read into memory.

    Args:
        path: The file; what a ``.gz`` file holds counts, not its own size.
    """
    if path.suffix.lower() != ".gz":
        return path.stat().st_size > LARGE
    if path.stat().st_size * LARGEST_RATIO <= LARGE:
        return False
    with gzip.open(path) as stream:
        size = 0
        while chunk := stream.read(1 << 20):
            size += len(chunk)
            if size > LARGE:
                return True
    return False


def iter_blocks(path: Path, encoding: str | None) -> Iterator[Block]:
    """Yield a text file in blocks of whole lines, without the blank lines at its start.

    Args:
        path: The file, compressed if its suffix is ``.gz``.
        encoding: Its encoding; by default UTF-8, or UTF-16 with a byte order mark.

    Raises:
        InputError: If it cannot be decoded or decompressed, or a line is too long.
    """
    held, line, begun = b"", 1, False
    for text in _iter_utf8(path, encoding):
        if not begun:
            rest = text.lstrip(b"\r\n")
            blank = len(text) - len(rest)
            line += text.count(b"\n", 0, blank)
            begun, text = bool(rest), rest
        held += text
        stop = _last_end(held)
        if len(held) - stop > LONGEST_LINE:
            raise InputError(
                f"a line or a quoted cell has more than {LONGEST_LINE >> 20} MiB",
                where=f"{path}, line {line + held.count(bytes([10]), 0, stop)}",
                hint="check that every quote is closed, and that lines end with a line feed",
            )
        if stop and len(held) >= BLOCK_BYTES:
            yield held[:stop], line
            line += held.count(b"\n", 0, stop)
            held = held[stop:]
    if held:
        yield held, line


def _iter_utf8(path: Path, encoding: str | None) -> Iterator[bytes]:
    """Yield the text of a file as UTF-8 in pieces that end anywhere."""
    with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as stream:
        try:
            first = stream.read(BLOCK_BYTES)
            if encoding is None and first[:2] in (b"\xff\xfe", b"\xfe\xff"):
                encoding = "utf-16"
            decoder = codecs.getincrementaldecoder(encoding or "utf-8-sig")()
            chunk = first
            while chunk:
                yield decoder.decode(chunk).encode()
                chunk = stream.read(BLOCK_BYTES)
            yield decoder.decode(b"", final=True).encode()
        except UnicodeDecodeError as error:
            raise InputError(
                f"cannot be decoded as {encoding or 'UTF-8'}: {error.reason}",
                where=str(path),
                hint="pass encoding=, for example 'cp1252'",
            ) from error
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise InputError(
                f"incomplete gzip file: {error}", where=str(path), hint="it may be truncated; copy or write it again"
            ) from error


def _last_end(text: bytes) -> int:
    """Return the position after the last line end that is not in quotes; the text begins outside of quotes."""
    if b'"' not in text:
        return text.rfind(b"\n") + 1
    signs = np.frombuffer(text, dtype=np.uint8)
    outside = (np.cumsum(signs == ord('"'), dtype=np.uint8) & 1) == 0
    ends = np.flatnonzero((signs == ord("\n")) & outside)
    return int(ends[-1]) + 1 if ends.size else 0


def copy_blocks(read: Callable[[Mapping[str, pl.DataType]], Iterator[pl.DataFrame]], *, where: str) -> pl.LazyFrame:
    """Copy frames to a temporary Parquet file, and return it as a lazy frame.

    Args:
        read: Returns the frames, given the types of columns that are known; it is called again if types turn out to be
            others.
        where: Name of the file, for messages.

    Raises:
        InputError: If the disk is full.
    """
    folder = Path(tempfile.mkdtemp(prefix="thence-text-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    target = folder / "rows.parquet"
    try:
        types = _try_copy(read({}), {}, target)
        if types is not None:
            _try_copy(read(types), types, target)
    except OSError as error:
        raise InputError(
            f"the temporary copy of this file cannot be written: {error.strerror or error}",
            where=where,
            hint="free some space, or set TMPDIR to another folder",
        ) from error
    return pl.scan_parquet(target, glob=False)


def _try_copy(
    frames: Iterator[pl.DataFrame], known: Mapping[str, pl.DataType], target: Path
) -> dict[str, pl.DataType] | None:
    """Write frames; return the types that fit all of them, if those of the first frame do not."""
    import pyarrow.parquet

    writer, fits = None, True
    types = dict(known)
    try:
        for frame in frames:
            wider = {name: _widen(types.get(name, pl.Null()), frame[name]) for name in frame.columns}
            fits = fits and (writer is None or wider == types)
            types = wider
            if fits:  # otherwise the other frames are looked at, so that the copy begins anew only once
                table = frame.cast({name: _stored(dtype) for name, dtype in types.items()}).to_arrow()
                writer = writer or pyarrow.parquet.ParquetWriter(target, table.schema, compression="lz4")
                writer.write_table(table)
    finally:
        if writer is not None:
            writer.close()
    return None if fits else types


def _widen(known: pl.DataType, column: pl.Series) -> pl.DataType:
    """Return the type that holds what is known of a column and its cells; truth values and numbers are text."""
    if column.null_count() == column.len() or column.dtype == known:
        return known
    if known == pl.Null:
        return column.dtype if column.dtype in (pl.Boolean, pl.Int64, pl.Float64) else pl.String()
    if {known, column.dtype} <= {pl.Int64(), pl.Float64()}:
        return pl.Float64()
    return pl.String()


def _stored(dtype: pl.DataType) -> pl.DataType:
    return pl.String() if dtype == pl.Null else dtype


SEPARATORS = (";", "\t", "|", ",")  # the comma is last because it may be the decimal sign
SAMPLE_LINES = 50
LONGEST_NUMBER = 40
DATE_WITH_DOTS = re.compile(r"\d{1,2}\.\d{1,2}\.\d{2,4}\b")


@dataclass(frozen=True)
class Dialect:
    """How a text file is written.

    Args:
        separator: Separator of the columns.
        decimal: Decimal sign.
        columns: Names of the columns.
        headerless: Whether there is no header, so that the names are placeholders.
        first_line: Number of the line of names in the file, or of the first line if there is no header, from 1.
        trimmed: Number of names in the header that had spaces around them.
        begin: Where that line begins in the text.
        aside: Where lines below the names that hold no readings begin and end in the text.
        units: Unit by column, from such a line.
        notes: What was left out.
    """

    separator: str
    decimal: str
    columns: tuple[str, ...]
    headerless: bool
    first_line: int
    trimmed: int = 0
    begin: int = 0
    aside: tuple[int, int] = (0, 0)
    units: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def readings(self, body: bytes) -> bytes:
        """Return a text from its names on; lines below them that hold no readings are blank."""
        if not any(self.aside):
            return body[self.begin :] if self.begin else body
        start, stop = self.aside
        return b"".join((body[self.begin : start], b"\n" * body.count(b"\n", start, stop), body[stop:]))

    def n_aside(self, body: bytes) -> int:
        """Return the number of lines below the names that hold no readings."""
        return body.count(b"\n", *self.aside)


def check_signs(separator: str | None, decimal: str | None) -> None:
    """Raise if a given ``separator`` or ``decimal`` sign is not supported."""
    if separator is not None and (len(separator.encode()) != 1 or separator in '"\r\n' or separator.isalnum()):
        raise ConfigError(
            f"separator must be a single character such as ';' or '\\t', got {separator!r}",
            hint="convert files with other separators first",
        )
    if decimal not in (None, ",", "."):
        raise ConfigError(f"decimal must be ',' or '.', got {decimal!r}")


def detect_dialect(body: bytes, skipped: int, options: ReadOptions, where: str) -> Dialect:
    """Detect how a text is written.

    Args:
        body: The text, which is not empty.
        skipped: Number of blank lines before it.
        options: Options that override detection.
        where: Name of the file, for messages.
    """
    numbered = first_lines(body, SAMPLE_LINES + 1 + (options.skip_rows or 0))
    numbered = [(number, line) for number, line in numbered if number + skipped >= (options.skip_rows or 0)]
    lines = [line for _, line in numbered]
    if not lines:
        raise InputError(f"nothing is left below {options.skip_rows} lines", where=where, hint="pass fewer skip_rows=")
    separator = options.separator or _detect_separator(lines)
    raw = [split_fields(line, separator) for line in lines]
    rows = [[cell.strip() for cell in row] for row in raw]
    heading = Heading()
    if options.header is not False:
        heading = find_heading(rows, time=options.time, above=None if options.skip_rows is None else 0)
    if not options.separator and len(rows[heading.names]) == 1:
        raise InputError(
            f"no separator splits the first line into columns: {quote(lines[0])}",
            where=where,
            hint="pass separator=, or skip_rows= if lines come before the names of the columns",
        )
    starts = _line_starts(body, numbered[-1][0])
    begin, names = starts[numbered[heading.names][0]], raw[heading.names]
    found = heading != Heading()
    rows = [rows[heading.names], *rows[heading.readings :]]
    headerless = not found and not (options.header if options.header is not None else _has_header(rows, options))
    # Column names are not numbers: decimal signs are searched below the header.
    end = body.find(b"\n", begin)
    aside = (0, 0)
    if heading.readings > heading.names + 1:
        aside = starts[numbered[heading.names + 1][0]], starts[numbered[heading.readings][0]]
    start = begin if headerless else aside[1] or (end if end >= 0 else len(body))
    decimal = options.decimal or _detect_decimal(body, start, rows, separator, where)
    first, second = rows[0], rows[1] if len(rows) > 1 else rows[0]
    columns = tuple(f"column {k + 1}" for k in range(len(second))) if headerless else tuple(first)
    units = {columns[k]: unit for k, unit in heading.units.items() if k < len(columns)}
    return Dialect(
        separator,
        decimal,
        columns,
        headerless,
        skipped + 1 + numbered[heading.names][0],
        trimmed=0 if headerless else sum(a != b for a, b in zip(names, first, strict=True)),
        begin=begin,
        aside=aside,
        units=units,
        notes=tuple(heading.describe("line", [number + skipped + 1 for number, _ in numbered])),
    )


def _line_starts(body: bytes, last: int) -> list[int]:
    """Return where the first lines of a text begin, up to one of them."""
    starts = [0]
    while len(starts) <= last:
        starts.append(body.index(b"\n", starts[-1]) + 1)
    return starts


def _detect_separator(lines: Sequence[str]) -> str:
    """Return the separator that gives most lines the same number of fields; one that splits the first line, if any."""
    best, loose = ("", 0.0), (",", 0.0)
    for sign in SEPARATORS:
        rows = [split_fields(line, sign) for line in lines]
        width, count = Counter(map(len, rows)).most_common(1)[0]
        share = count / len(lines)
        if sign == "," and max(best[1], loose[1]) > 0.5:
            break  # another separator works: commas inside its fields are decimal signs
        if width > 1 and len(rows[0]) > 1 and share > best[1]:
            best = (sign, share)
        if width > 1 and share > loose[1]:
            loose = (sign, share)
    return best[0] or loose[0]


def _has_header(rows: Sequence[Sequence[str]], options: ReadOptions) -> bool:
    """Return whether the first line is a header.

    It is not if it has a date where the next line has one, or if both begin with a time or a number.
    """
    first = rows[0]
    below = rows[1] if len(rows) > 1 and rows[1] else first
    if any(is_time_name(cell) or cell == options.time for cell in first):
        return True
    if any(looks_like_date(a) and looks_like_date(b) for a, b in zip(first, below, strict=False)):
        return False
    return not all(looks_like_time(cell) or _is_number(cell) for cell in (first[0], below[0]))


def _is_number(cell: str) -> bool:
    return bool(re.fullmatch(r"[+-]?\d+(?:[.,]\d+)?", cell))


def _detect_decimal(body: bytes, start: int, rows: Sequence[Sequence[str]], separator: str, where: str) -> str:
    """Return the decimal sign of the whole text; a comma in the last line counts as much as one in the first."""
    if b"," not in body:
        return "."
    found = detect_decimal_sign(separator, lambda sign: numbers_with(sign, body, separator, start))
    if found.comma and found.point:
        raise InputError(
            f"numbers have both decimal commas ('{found.comma}') and decimal points ('{found.point}')",
            where=where,
            hint="pass decimal=',' or decimal='.'",
        )
    if found.ambiguous and not _writes_decimal_commas(rows, separator):
        raise InputError(
            f"the comma in '{found.comma}' may be decimal or separate thousands, and no other number decides it",
            where=where,
            hint="pass decimal=',', or remove the thousands separators",
        )
    return found.sign


def _writes_decimal_commas(rows: Sequence[Sequence[str]], separator: str) -> bool:
    """Return whether commas such as in 20,000 must be decimal commas.

    They are if dates are written with dots, or if the separator is a semicolon, which spreadsheets use where the comma
    is the decimal sign, and no whole number is in a column with commas: loggers write a fixed number of decimals.
    """
    if any(DATE_WITH_DOTS.match(cell) for row in rows for cell in row):
        return True
    columns = zip_longest(*rows[1:], fillvalue="")
    mixed = any(any("," in cell for cell in column) and any(map(str.isdigit, column)) for column in columns)
    return separator == ";" and not mixed


def numbers_with(sign: str, body: bytes, separator: str, start: int = 0) -> Iterator[str]:
    """Yield the cells that are numbers and contain a sign.

    Args:
        sign: ``","`` or ``"."``.
        body: The text.
        separator: Separator of the columns.
        start: Where to begin in the text.
    """
    edge = re.escape(separator)
    around = r'["]*' if separator == " " else r'[ "]*'
    # Searching for the sign first is fast where there is none.
    after = re.compile(rf"{re.escape(sign)}(\d+(?:[eE][+-]?\d+)?){around}(?=[{edge}\r\n]|$)".encode())
    before = re.compile(rf"(?:^|[{edge}\n]){around}([+-]?\d*)$".encode())
    for match in after.finditer(body, start):
        begin = max(start, match.start() - LONGEST_NUMBER)
        if figures := before.search(body[begin : match.start()]):
            yield figures[1].decode() + sign + match[1].decode()


IntArray = npt.NDArray[np.int64]


def read_text(path: Path, options: ReadOptions) -> list[SourceTable]:
    """Read a text file; a reader as described in ``.files``."""
    return [_read_table(path, options)]


def _read_table(path: Path, options: ReadOptions) -> SourceTable:
    with reported_as(InputError, where=str(path)):
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
    if is_annotated(body):
        return read_annotated(base, body, skipped)
    body = without_rules(body)
    if options.separator is None and (apart := tabs_for_gaps(body, SEPARATORS)) is not None:
        body = apart
    dialect = _name_columns(detect_dialect(body, skipped, options, str(path)), path)
    aside, body = dialect.n_aside(body), dialect.readings(body)
    scanned = _scan_lines(body, dialect, str(path))
    if not scanned.sound:
        body, begins = rewrite(body, dialect.separator, str(path), first_line=dialect.first_line)
        scanned = replace(_scan_lines(body, dialect, str(path)), begins=begins)
    if scanned.ragged:
        _judge_ragged_lines(scanned, dialect, options, str(path))
        body, begins = rewrite(
            body, dialect.separator, str(path), first_line=dialect.first_line, width=len(dialect.columns)
        )
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
        notes=(*notes, *dialect.notes),
        units=dialect.units,
        findings=tuple(Finding(what, n, where=str(path)) for what, n in counts if n),
    )


def _name_columns(dialect: Dialect, path: Path) -> Dialect:
    """Return the dialect with a name for every column, and with notes about the names."""
    names, notes = fill_header(dialect.columns, f"{path}, line {dialect.first_line}")
    if dialect.trimmed:
        notes.append(f"removed spaces around {dialect.trimmed} column names")
    return replace(dialect, columns=names, notes=(*dialect.notes, *notes))


def _read_large(path: Path, options: ReadOptions) -> SourceTable:
    """Read a text that is too large for memory: it is copied block by block, and the copy is scanned."""
    where = str(path)
    base = SourceTable(pl.LazyFrame(), where, title=_title(path), text_file=True)
    first = next(iter_blocks(path, options.encoding), None)
    if first is None or not first[0].strip():
        return base
    dialect = _name_columns(detect_dialect(plain_ends(first[0]), first[1] - 1, options, where), path)
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
                body, _ = rewrite(body, dialect.separator, where, first_line=line, width=len(dialect.columns))
            frame = _read_columns(body, here, options, where, types)
            kept, _ = drop_blank_rows(frame)
            counts["ragged"] += scanned.ragged
            counts["lines"] += scanned.lines
            counts["blank"] += frame.height - kept.height - aside
            yield kept

    frame = copy_blocks(read, where=where)
    options.policy(where).refuse("ragged", counts["ragged"], counts["lines"])
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
            hint=options.policy(where).advise("ragged", scanned.ragged, scanned.lines, repair),
        )
    options.policy(where).refuse("ragged", scanned.ragged, scanned.lines)


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

    with reported_as(InputError, where=where):
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
