"""Checksums (SHA-256) of files, of JSON records that carry their own, and of arrays.

A checksum detects a change by accident: a flipped bit, a torn file, a number edited by hand. It is no signature:
whoever changes a file on purpose can write a new checksum too. This module computes and compares; it knows no kind of
file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thence.errors import RunError, quote

if TYPE_CHECKING:
    import numpy.typing as npt

CHECKSUM = "sha256"
"""The entry of a record that holds its checksum."""
CHANGED = "was changed or damaged after it was written: its checksum does not match"


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file as 64 hexadecimal digits.

    Args:
        path: The file.

    Examples:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = (Path(folder) / "a").write_bytes(b"")
        ...     file_digest(Path(folder) / "a")[:8]
        'e3b0c442'
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def content_digest(record: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]] | None = None) -> str:
    """Return the SHA-256 of what a record, as JSON holds it, and named arrays say; white space does not count.

    Args:
        record: Whatever JSON can hold; its entry ``sha256`` does not count.
        arrays: Arrays by name.

    Examples:
        >>> content_digest({"a": 1, "b": 2.5}) == content_digest({"b": 2.5, "sha256": "…", "a": 1})
        True
    """
    bare = {key: value for key, value in record.items() if key != CHECKSUM}
    # Keys of JSON are strings, whatever they are in memory, and are sorted as such.
    text = json.dumps(json.loads(json.dumps(bare)), sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(text.encode())
    for name, array in sorted((arrays or {}).items()):
        digest.update(json.dumps([name, array.dtype.str, list(array.shape)]).encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def seal(record: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]] | None = None) -> dict[str, Any]:
    """Return a record with its checksum as the last entry.

    Args:
        record: Whatever JSON can hold.
        arrays: Arrays that are stored beside the record.

    Examples:
        >>> sealed = seal({"a": 1})
        >>> require_seal(sealed, where="a.json"), list(sealed)
        (True, ['a', 'sha256'])
    """
    bare = {key: value for key, value in record.items() if key != CHECKSUM}
    return {**bare, CHECKSUM: content_digest(bare, arrays)}


def require_seal(
    record: Mapping[str, Any],
    arrays: Mapping[str, npt.NDArray[Any]] | None = None,
    *,
    where: str,
    hint: str = "restore a copy, or make it again",
) -> bool:
    """Check the checksum that a record carries.

    Args:
        record: The record.
        arrays: Arrays that are stored beside the record.
        where: The file, for the message.
        hint: What to do if the checksum does not match.

    Returns:
        Whether the record carries a checksum; files of earlier versions do not.

    Raises:
        RunError: If the checksum does not match.
    """
    stored = record.get(CHECKSUM)
    if CHECKSUM in record:
        if stored != content_digest(record, arrays):
            raise RunError(CHANGED, where=where, hint=hint)
        return True
    # A checksum whose name is damaged is not taken for a file without one.
    if any(len(key) == len(CHECKSUM) and sum(map(str.__ne__, key, CHECKSUM)) == 1 for key in record):
        raise RunError(CHANGED, where=where, hint=hint)
    return False


def parse_record(content: bytes, *, where: str, hint: str = "restore a copy, or make it again") -> dict[str, Any]:
    """Parse a JSON object.

    Args:
        content: The text.
        where: The file, for the message.
        hint: What to do if it cannot be parsed.

    Raises:
        RunError: If the text is not JSON, or not an object.

    Examples:
        >>> parse_record(b"[1]", where="a.json")
        Traceback (most recent call last):
        thence.errors.RunError: a.json: must be a JSON object, got a list (restore a copy, or make it again)
    """
    try:
        record = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise RunError(f"cannot be read ({quote(error)[1:-1]})", where=where, hint=hint) from error
    if not isinstance(record, dict):
        raise RunError(f"must be a JSON object, got a {type(record).__name__}", where=where, hint=hint)
    return record


def read_sealed(path: Path, *, hint: str = "restore a copy, or make it again") -> tuple[dict[str, Any], bool]:
    """Read a JSON object that carries its own checksum, and check it.

    Args:
        path: The file.
        hint: What to do if it is damaged.

    Returns:
        The object, and whether it carries a checksum; files of earlier versions do not.

    Raises:
        FileNotFoundError: If there is no such file.
        RunError: If the file cannot be read, or its checksum does not match.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise RunError(f"cannot be read ({error.strerror or error})", where=str(path)) from error
    record = parse_record(content, where=str(path), hint=hint)
    return record, require_seal(record, where=str(path), hint=hint)
