"""Files as UTF-8 bytes: unpacked, and put into one encoding."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from thence.errors import InputError

__all__ = ["read_utf8"]


def read_utf8(path: Path, encoding: str | None = None) -> tuple[bytes, tuple[str, ...]]:
    """The file as UTF-8 bytes without a byte order mark, and a note if its encoding had to be assumed."""
    data = _unpacked(path)
    if encoding is None and data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        encoding = "utf-16"
    try:
        if encoding is None:
            data.decode("utf-8")
            return data.removeprefix(b"\xef\xbb\xbf"), ()
        return data.decode(encoding).encode().removeprefix(b"\xef\xbb\xbf"), ()
    except LookupError as error:
        raise InputError(f"there is no encoding '{encoding}'", where=str(path)) from error
    except UnicodeDecodeError as error:
        if encoding is not None:
            raise InputError(f"is not written in {encoding}: {error.reason}", where=str(path)) from error
    return data.decode("cp1252", errors="replace").encode(), ("not UTF-8, read as Windows-1252",)


def _unpacked(path: Path) -> bytes:
    try:
        data = path.read_bytes()
        return gzip.decompress(data) if path.suffix.lower() == ".gz" else data
    except (EOFError, zlib.error) as error:
        raise InputError(
            f"is not a complete gzip file: {error}", where=str(path), hint="copy or write it again; it may be cut off"
        ) from error
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", where=str(path)) from error
