"""How a text file is written: its separator, its decimal sign, its header and the names in it.

What the text does not tell for certain is an error that says which option to give.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from thence.errors import ConfigError, InputError
from thence.readings.readers.roles import TIME_NAMES, looks_like_date, looks_like_time, plain_name
from thence.readings.readers.table import Options

__all__ = ["Dialect", "check_signs", "numbers_with", "sniff", "tidy_names"]

SEPARATORS = (";", "\t", "|", ",")  # a comma comes last: it may be the decimal sign
SAMPLE_LINES = 50
LONGEST_FIGURE = 40
POINTED_DATE = re.compile(r"\d{1,2}\.\d{1,2}\.\d{2,4}\b")
GROUPED = re.compile(rb"[+-]?[1-9]\d{0,2},\d{3}")


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


def check_signs(separator: str | None, decimal: str | None) -> None:
    """Raise unless the separator and the decimal sign, where given, are ones that files can be read with."""
    if separator is not None and (len(separator.encode()) != 1 or separator in '"\r\n' or separator.isalnum()):
        raise ConfigError(
            f"separator cannot be {separator!r}",
            hint="it is a single character such as ';' or '\\t'; rewrite files with other separators first",
        )
    if decimal not in (None, ",", "."):
        raise ConfigError(f"decimal cannot be {decimal!r}", hint="use ',' or '.'")


def sniff(body: bytes, skipped: int, options: Options, where: str) -> Dialect:
    """The dialect of a text that is not empty; ``skipped`` lines stood before it."""
    lines = _head(body)
    separator = options.separator or _separator(lines, where)
    raw = [row for row in csv.reader(lines, delimiter=separator) if row]
    rows = [[cell.strip() for cell in row] for row in raw]
    headerless = not (options.header if options.header is not None else _has_header(rows, options))
    # Names are no numbers: signs are looked for below the header.
    start = 0 if headerless else body.find(b"\n") if b"\n" in body else len(body)
    decimal = options.decimal or _decimal(body, start, rows, separator, where)
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
    """The sign that cuts the first line, and most lines into the same number of fields, more than one."""
    best = ("", 0.0)
    for sign in SEPARATORS:
        rows = list(csv.reader(lines, delimiter=sign))
        width, count = Counter(map(len, rows)).most_common(1)[0]
        share = count / len(lines)
        if sign == "," and best[1] > 0.5:
            break  # commas inside the fields of another separator are decimal signs, however regular they are
        if width > 1 and len(rows[0]) > 1 and share > best[1]:
            best = (sign, share)
    if not best[0]:
        raise InputError(
            f"no separator splits the first line into columns: '{lines[0][:60]}'", where=where, hint="give separator="
        )
    return best[0]


def _has_header(rows: Sequence[Sequence[str]], options: Options) -> bool:
    """A first line is a header unless it holds a date, or begins with a time or number, like the line below it."""
    first = rows[0]
    below = rows[1] if len(rows) > 1 and rows[1] else first
    if any(plain_name(cell) in TIME_NAMES or cell == options.time for cell in first):
        return True
    if any(looks_like_date(a) and looks_like_date(b) for a, b in zip(first, below, strict=False)):
        return False
    return not all(looks_like_time(cell) or _is_number(cell) for cell in (first[0], below[0]))


def _is_number(cell: str) -> bool:
    return bool(re.fullmatch(r"[+-]?\d+(?:[.,]\d+)?", cell))


def _decimal(body: bytes, start: int, rows: Sequence[Sequence[str]], separator: str, where: str) -> str:
    """The decimal sign of the whole text: one comma far down counts as much as one in the first line."""
    if separator == "," or b"," not in body:
        return "."
    comma = next(numbers_with(",", body, separator, start), None)
    if comma is None:
        return "."
    if point := next(numbers_with(".", body, separator, start), None):
        raise InputError(
            f"numbers are written with a decimal comma ('{comma.decode()}') and with a point ('{point.decode()}')",
            where=where,
            hint="give decimal=',' or decimal='.'",
        )
    grouped = all(GROUPED.fullmatch(number) for number in numbers_with(",", body, separator, start))
    if grouped and not _writes_decimal_commas(rows, separator):
        raise InputError(
            f"'{comma.decode()}' may have a decimal comma or one between thousands, and no other number tells which",
            where=where,
            hint="give decimal=',', or write them without signs between thousands",
        )
    return ","


def _writes_decimal_commas(rows: Sequence[Sequence[str]], separator: str) -> bool:
    """Whether a file with commas such as 20,000 only must mean decimals: by its dates, or as spreadsheets write them.

    A spreadsheet puts semicolons between columns where the comma is the decimal sign; a logger then writes as many
    decimals for each number. Where whole numbers stand in the same column, commas may mark thousands all the same.
    """
    if any(POINTED_DATE.match(cell) for row in rows for cell in row):
        return True
    columns = zip_longest(*rows[1:], fillvalue="")
    mixed = any(any("," in cell for cell in column) and any(map(str.isdigit, column)) for column in columns)
    return separator == ";" and not mixed


def numbers_with(sign: str, body: bytes, separator: str, start: int = 0) -> Iterator[bytes]:
    """The cells that are numbers with this sign in them."""
    edge = re.escape(separator)
    around = r'["]*' if separator == " " else r'[ "]*'
    # Beginning with the sign makes it quick to see that there is none.
    after = re.compile(rf"{re.escape(sign)}(\d+(?:[eE][+-]?\d+)?){around}(?=[{edge}\r\n]|$)".encode())
    before = re.compile(rf"(?:^|[{edge}\n]){around}([+-]?\d*)$".encode())
    for match in after.finditer(body, start):
        begin = max(start, match.start() - LONGEST_FIGURE)
        if figures := before.search(body[begin : match.start()]):
            yield figures[1] + sign.encode() + match[1]


def tidy_names(columns: Sequence[str], where: str, unseen: Collection[int] = ()) -> tuple[tuple[str, ...], list[str]]:
    """The names of a header, a stand-in for each that is empty, and notes, save for columns that nobody sees.

    A name that stands twice is an error.
    """
    counts = Counter(name for name in columns if name)
    if double := [name for name, count in counts.items() if count > 1]:
        at = [k + 1 for k, name in enumerate(columns) if name == double[0]]
        raise InputError(
            f"column '{double[0]}' occurs {counts[double[0]]} times (columns {', '.join(map(str, at))})",
            where=where,
            hint="rename one of them",
        )
    names = tuple(name or f"(column {k + 1} without a name)" for k, name in enumerate(columns))
    return names, [f"column {k + 1} has no name" for k, name in enumerate(columns) if not name and k not in unseen]
