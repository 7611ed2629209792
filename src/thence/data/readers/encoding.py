"""Encoding: text files as UTF-8 bytes, decompressed. Nothing here looks at the text itself."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from thence.errors import InputError

__all__ = ["read_utf8"]

MOST_BYTES = 1 << 30


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
            data = stream.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise InputError(
                f"more than {MOST_BYTES >> 20} MiB of text", where=str(path), hint="check that it is the right file"
            )
        return data
    except (EOFError, zlib.error) as error:
        raise InputError(
            f"incomplete gzip file: {error}", where=str(path), hint="it may be truncated; copy or write it again"
        ) from error
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", where=str(path)) from error
