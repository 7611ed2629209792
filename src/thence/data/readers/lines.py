"""Lines of text files: decoded to UTF-8, how many fields each has, where it begins in the file, quotes out of place.

A quote begins a quoted cell only at the start of a cell; a quoted cell may hold separators and line ends, and a quote
in it is doubled. Elsewhere a quote is a sign like any other. What follows a closing quote, and a cell that is never
closed, is an error with its line, since parsers disagree on it. This module knows nothing of columns and their
meaning.
"""

from __future__ import annotations

import codecs
import gzip
import io
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from thence.errors import ConfigError, InputError, quote


def read_utf8(path: Path, encoding: str | None = None) -> tuple[bytes, tuple[str, ...]]:
    """Read a text file, decompressing ``.gz``.

    Args:
        path: The file.
        encoding: Its encoding; by default UTF-8, UTF-16 with a byte order mark, or else Windows-1252.

    Returns:
        The text as UTF-8 bytes without a byte order mark, and a note if the encoding was guessed.
    """
    data = _decompress(path)
    if encoding is None and data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        encoding = "utf-16"
    try:
        if encoding is None:
            data.decode("utf-8")
            return data.removeprefix(b"\xef\xbb\xbf"), ()
        return data.decode(encoding).encode().removeprefix(b"\xef\xbb\xbf"), ()
    except UnicodeDecodeError as error:
        if encoding is not None:
            raise InputError(
                f"cannot be decoded as {encoding}: {error.reason} at byte {error.start:,}",
                where=str(path),
                hint="pass another encoding=",
            ) from error
    return data.decode("cp1252", errors="replace").encode(), ("not UTF-8, read as Windows-1252",)


def _decompress(path: Path) -> bytes:
    try:
        with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as stream:
            return stream.read()
    except (EOFError, zlib.error) as error:
        raise InputError(
            f"incomplete gzip file: {error}", where=str(path), hint="it may be truncated; copy or write it again"
        ) from error
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", where=str(path)) from error


_RULE = re.compile(r"[\s|+]*(?:[-=]{3,}[\s|+]*)+")
_GAPS = (re.compile(r"\t|[ \t]{2,}"), re.compile(r"[ \t]+"))
_SAMPLE, _NEARLY_ALL = 200, 0.9
_COMMA_NUMBER = re.compile(r"[+-]?\d+,\d+")


def without_rules(body: bytes) -> bytes:
    """Return a text in which lines of dashes among the first ones are blank; the number of lines stays.

    Args:
        body: The text.

    Examples:
        >>> without_rules(b"time  flow\\n----  ----\\n2020  1\\n")
        b'time  flow\\n\\n2020  1\\n'
    """
    head, end = body[:_HEAD], body[_HEAD:]
    if b"---" not in head and b"===" not in head:
        return body
    lines = [b"" if _RULE.fullmatch(line.decode("utf-8", "replace")) else line for line in head.split(b"\n")]
    return b"\n".join(lines) + end


def tabs_for_gaps(body: bytes, separators: Iterable[str]) -> bytes | None:
    """Return a text whose columns are separated by blanks with tabs between them; ``None`` if they are not.

    Columns are separated by two or more blanks, which names and times may hold one of, or else by one or more.

    Args:
        body: The text.
        separators: Separators that count if most lines hold the same number of them.

    Examples:
        >>> tabs_for_gaps(b"  1.5   2\\n 10.5  12\\n", ";,")
        b'1.5\\t2\\n10.5\\t12\\n'
        >>> tabs_for_gaps(b"time;flow in m\\n2020;3\\n", ";,") is None
        True
    """
    lines = [line.strip() for _, line in first_lines(body, _SAMPLE)]
    if any('"' in line for line in lines):
        return None
    for sign in separators:
        counts = [line.count(sign) for line in lines]
        commas = sign == "," and all(_COMMA_NUMBER.fullmatch(cell) for line in lines for cell in line.split())
        if _are_alike(counts) and not commas:
            return None
    for gap in _GAPS:
        if _are_alike([len(gap.findall(line)) for line in lines]):
            rows = (gap.sub("\t", line.strip()) for line in body.decode("utf-8", "replace").split("\n"))
            return "\n".join(rows).encode()
    return None


def _are_alike(counts: Sequence[int]) -> bool:
    """Return whether nearly all lines have the same number of separators, which is not zero."""
    most, lines = Counter(counts).most_common(1)[0] if counts else (0, 0)
    return most > 0 and lines >= _NEARLY_ALL * len(counts)


_HEAD = 1 << 14
CHUNK_BYTES = 1 << 24
MOST_JOINED = 1_000  # lines of a quoted cell among the first lines
QUOTE, RETURN, FEED = ord('"'), ord("\r"), ord("\n")
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class LineCounts:
    """The lines of a part of a text.

    Args:
        separators: Number of separators of each line; those in quotes do not count.
        lengths: Number of bytes of each line; 0 for a blank one.
        breaks: Number of line ends within the cells of each line.
        sound: Whether every quote begins or ends a cell, or is doubled.
        stray: Position of the first line with a carriage return within it, or -1.
    """

    separators: IntArray
    lengths: IntArray
    breaks: IntArray
    sound: bool
    stray: int = -1


def plain_ends(body: bytes) -> bytes:
    """Return a text in which lines end with a line feed; some programs write carriage returns only.

    Args:
        body: The text.

    Examples:
        >>> plain_ends(b"time,a\\r2020,1\\r"), plain_ends(b"a\\r\\r\\nb\\r\\n")
        (b'time,a\\n2020,1\\n', b'a\\r\\nb\\r\\n')
    """
    if b"\r" not in body:
        return body
    if b"\n" not in body:
        return body.replace(b"\r", b"\n")
    while b"\r\r\n" in body:
        body = body.replace(b"\r\r\n", b"\r\n")
    return body


def count_fields(body: bytes, separator: str) -> Iterator[LineCounts]:
    """Count the fields of each line, part by part.

    Args:
        body: The text.
        separator: Separator of the fields.

    Examples:
        >>> [part.separators.tolist() for part in count_fields(b'a;b\\n"1;2";3;4\\n', ";")]
        [[1, 2]]
    """
    text = np.frombuffer(body, dtype=np.uint8)
    quotes, returns = b'"' in body, b"\r" in body
    odd, begin, counted, broken = False, 0, 0, 0
    for start in range(0, text.size, CHUNK_BYTES):
        part = text[start : start + CHUNK_BYTES]
        is_separator, is_end = part == ord(separator), part == FEED
        inner: IntArray = np.empty(0, dtype=np.int64)
        sound, inside = True, np.zeros(part.size if returns else 0, dtype=bool)
        if quotes:
            is_quote = part == QUOTE
            inside = ((np.cumsum(is_quote, dtype=np.uint8) + odd) & 1).view(bool)
            sound = _are_sound(text, start + np.flatnonzero(is_quote), inside[is_quote], separator)
            odd = bool(inside[-1])
            inner = start + np.flatnonzero(is_end & inside)
            is_separator &= ~inside
            is_end &= ~inside
        stray = start + np.flatnonzero(part == RETURN) if returns else inner[:0]
        stray = stray[text[np.minimum(stray + 1, text.size - 1)] != FEED]
        stray = stray[(stray < text.size - 1) & ~inside[stray - start]]
        ends = start + np.flatnonzero(is_end)
        last = start + part.size == text.size
        if last and begin < text.size and (not ends.size or ends[-1] != text.size - 1):
            ends = np.append(ends, text.size)
        if last and odd:
            sound = False
        at = np.searchsorted(start + np.flatnonzero(is_separator), ends)
        breaks = np.searchsorted(inner, ends)
        total, total_inner = int(is_separator.sum()), inner.size
        if not ends.size:
            counted, broken = counted + total, broken + total_inner
            yield LineCounts(at, at, breaks, sound, 0 if stray.size else -1)
            continue
        starts = np.concatenate(([begin], ends[:-1] + 1))
        lengths = ends - starts
        lengths -= (lengths == 1) & (text[np.minimum(starts, text.size - 1)] == RETURN)  # blank
        separators, within = np.diff(at, prepend=0), np.diff(breaks, prepend=0)
        separators[0] += counted
        within[0] += broken
        begin, counted, broken = int(ends[-1]) + 1, total - int(at[-1]), total_inner - int(breaks[-1])
        yield LineCounts(separators, lengths, within, sound, int(np.searchsorted(ends, stray[0])) if stray.size else -1)


def _are_sound(text: npt.NDArray[np.uint8], at: IntArray, opens: npt.NDArray[np.bool_], separator: str) -> bool:
    """Return whether quotes stand at the edge of a cell or beside another quote."""
    edges = (ord(separator), FEED, RETURN, QUOTE)
    first, last = at[opens], at[~opens]
    before = np.isin(text[np.maximum(first - 1, 0)], (ord(separator), FEED, QUOTE)) | (first == 0)
    after = np.isin(text[np.minimum(last + 1, text.size - 1)], edges) | (last == text.size - 1)
    return bool(before.all() and after.all())


def split_fields(line: str, separator: str) -> list[str]:
    """Split one line, which may hold line ends within quotes, into its fields.

    Args:
        line: The line without its end.
        separator: Separator of the fields.

    Examples:
        >>> split_fields('a,"b,""c",5" pipe', ",")
        ['a', 'b,"c', '5" pipe']
    """
    if '"' not in line:
        return line.split(separator)
    border = re.compile(re.escape(separator))
    fields, at = [], 0
    while True:
        text, _, at = _read_field(line, at, border)
        fields.append(text)
        if at >= len(line):
            return fields
        at += 1


def _read_field(text: str, at: int, border: re.Pattern[str]) -> tuple[str, bool, int]:
    """Return the field that begins at a position, whether its quotes are sound, and where it ends."""
    end, cell, sound = at, "", True
    if text.startswith('"', at):
        end = _closing_quote(text, at)
        sound = end >= 0
        end = end if sound else len(text)
        cell = text[at + 1 : end - 1 if sound else end].replace('""', '"')
    found = border.search(text, end)
    stop = found.start() if found else len(text)
    rest = text[end:stop]
    return cell + rest, sound and (end == at or not rest.strip("\r")), stop


def _closing_quote(text: str, at: int) -> int:
    """Return the position after the quote that closes the cell that begins at a position; -1 if there is none."""
    look = at + 1
    while (found := text.find('"', look)) >= 0:
        if not text.startswith('"', found + 1):
            return found + 1
        look = found + 2
    return -1


def first_lines(body: bytes, most: int) -> list[tuple[int, str]]:
    """Return the first lines that are not blank; those that a quoted cell joins are one.

    Args:
        body: The text.
        most: Number of lines.

    Returns:
        The number of the first line of each, from 0, and the line without its end.

    Examples:
        >>> first_lines(b'a,b\\n\\n"1\\n2",3\\n', 10)
        [(0, 'a,b'), (2, '"1\\n2",3')]
    """
    found: list[tuple[int, str]] = []
    held: list[str] = []
    first = quotes = 0
    for number, raw in enumerate(io.BytesIO(body)):
        line = raw.decode("utf-8", errors="replace")
        first = first if held else number
        held.append(line)
        quotes += line.count('"')
        if quotes % 2 and len(held) < MOST_JOINED:
            continue
        joined = "".join(held).rstrip("\r\n")
        if joined.strip():
            found.append((first, joined))
        held, quotes = [], 0
        if len(found) >= most:
            return found
    return [*found, (first, "".join(held).rstrip("\r\n"))] if held else found


def iter_records(text: str, separator: str) -> Iterator[tuple[int, list[str], bool]]:
    """Yield the lines of a text as fields, in one pass over it.

    Args:
        text: The text.
        separator: Separator of the fields.

    Yields:
        The number of the line in which each begins, from 0, its fields, and whether its quotes are sound.
    """
    border = re.compile(f"[{re.escape(separator)}\n]")
    at = number = 0
    while at < len(text):
        begin, fields, sound = at, [], True
        while True:
            cell, good, at = _read_field(text, at, border)
            fields.append(cell)
            sound &= good
            if at >= len(text) or text[at] == "\n":
                break
            at += 1
        fields[-1] = fields[-1].removesuffix("\r")
        yield number, fields, sound
        at += 1
        number += text.count("\n", begin, at)


def rewrite(
    body: bytes, separator: str, where: str, *, first_line: int = 1, width: int | None = None
) -> tuple[bytes, IntArray]:
    """Rewrite a text so that all parsers agree on its quotes, and, if wanted, with a fixed number of fields per line.

    Args:
        body: The text.
        separator: Separator of the fields.
        where: Name of the file, for messages.
        first_line: Number of the first line in the file.
        width: Number of fields to which every line that is not blank is truncated or padded.

    Returns:
        The text, and the number of the line of the file in which each of its lines begins.

    Raises:
        InputError: If something follows a closing quote, or a cell is never closed.
    """
    out: list[str] = []
    begins: list[int] = []
    for number, fields, sound in iter_records(body.decode("utf-8"), separator):
        if not sound:
            raise InputError(
                "a quoted cell is never closed, or something follows its closing quote",
                where=f"{where}, line {first_line + number}",
                hint='a cell that begins with " must end with ", and a " within it is written twice',
            )
        blank = fields == [""]
        if width is not None and not blank:
            fields = [*fields, *[""] * (width - len(fields))][:width]
        out.append(write_fields(fields, separator))
        begins.append(first_line + number)
    return "\n".join([*out, ""]).encode(), np.array(begins, dtype=np.int64)


def write_fields(fields: Iterable[str], separator: str) -> str:
    """Join fields to a line, with quotes around those that need them.

    Args:
        fields: The fields.
        separator: Separator of the fields.

    Examples:
        >>> write_fields(["a", "b;c", 'd"e'], ";")
        'a;"b;c";"d""e"'
    """
    special = (separator, '"', "\n", "\r")
    return separator.join(
        '"' + text.replace('"', '""') + '"' if any(sign in text for sign in special) else text for text in fields
    )


def check_encoding(encoding: str | None) -> None:
    """Raise a ``ConfigError`` unless an encoding is one of text.

    Args:
        encoding: Name of the encoding; ``None`` means that it is detected.
    """
    if encoding is None:
        return
    try:
        known = codecs.lookup(encoding)._is_text_encoding and encoding.isascii()
    except (LookupError, ValueError, UnicodeError):
        known = False
    if not known or codecs.lookup(encoding).name in ("idna", "punycode", "undefined"):
        raise ConfigError(f"unknown encoding {quote(encoding)}", hint="for example 'utf-8', 'cp1252' or 'utf-16'")
