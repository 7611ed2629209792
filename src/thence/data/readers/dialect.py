"""Dialect: the separator, the decimal sign and the header of a text file.

What cannot be detected with certainty raises an error that says which option to pass.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from thence.data.readers.dates import looks_like_date
from thence.data.readers.heading import Heading, find_heading
from thence.data.readers.lines import first_lines, split_fields
from thence.data.readers.roles import is_time_name, looks_like_time
from thence.data.readers.table import ReadOptions
from thence.data.readings.decimal_signs import detect_decimal_sign
from thence.errors import ConfigError, InputError, quote

__all__ = ["Dialect", "check_signs", "detect_dialect", "numbers_with"]

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
        notes=tuple(heading.tell("line", [number + skipped + 1 for number, _ in numbered])),
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
