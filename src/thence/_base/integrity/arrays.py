"""Files of arrays (``.npz``) with a JSON record and a checksum over both; nothing executable, nothing trusted.

Every entry of the archive is unpacked and compared with its own check before numpy sees it. This module knows no
meaning of the arrays.
"""

from __future__ import annotations

import io
import json
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from thence._base.integrity.checksums import parse_record, require_seal, seal
from thence.errors import RunError, quote

Arrays = Mapping[str, npt.NDArray[Any]]
_FOREIGN = (
    *(OSError, EOFError, KeyError, ValueError, TypeError, NotImplementedError, RuntimeError, OverflowError),
    *(MemoryError, SyntaxError, tokenize.TokenError, zipfile.BadZipFile, zlib.error, struct.error),
)


def dump_arrays(record: Mapping[str, Any], arrays: Arrays, *, entry: str = "meta", compress: bool = True) -> bytes:
    """Return the content of a file with a record and arrays.

    Args:
        record: Whatever JSON can hold.
        arrays: Arrays by name.
        entry: The name of the record in the archive.
        compress: Whether the arrays are compressed.
    """
    text = np.frombuffer(json.dumps(seal(record, arrays)).encode(), dtype=np.uint8)
    buffer = io.BytesIO()
    write = np.savez_compressed if compress else np.savez
    write(buffer, **{entry: text, **arrays})  # type: ignore[arg-type]
    return buffer.getvalue()


def load_arrays(
    path: Path, *, entry: str = "meta", hint: str = "restore a copy, or make it again"
) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]], bool]:
    """Read what ``dump_arrays`` returned from a file, and check it.

    Args:
        path: The file.
        entry: The name of the record in the archive.
        hint: What to do if the file is damaged.

    Returns:
        The record, the arrays by name, and whether there was a checksum; files of earlier versions have none.

    Raises:
        FileNotFoundError: If there is no such file.
        RunError: If the file cannot be read, or its checksum does not match.

    Examples:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "a.npz"
        ...     _ = path.write_bytes(dump_arrays({"a": 1}, {"b": np.arange(2)}))
        ...     record, arrays, checked = load_arrays(path)
        >>> record["a"], arrays["b"].tolist(), checked
        (1, [0, 1], True)
    """
    arrays = read_archive(path, hint=hint)
    if entry not in arrays:
        raise RunError(f"not a readable file of arrays (no entry {quote(entry)})", where=str(path), hint=hint)
    record = parse_record(arrays.pop(entry).tobytes(), where=str(path), hint=hint)
    return record, arrays, require_seal(record, arrays, where=str(path), hint=hint)


def read_archive(path: Path, *, hint: str = "restore a copy, or make it again") -> dict[str, npt.NDArray[Any]]:
    """Read the arrays of a file by name, as they are.

    Args:
        path: The file.
        hint: What to do if the file is damaged.

    Raises:
        FileNotFoundError: If there is no such file.
        RunError: If the file cannot be read.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            # Reading an entry to its end compares its CRC, so that numpy never parses a damaged header.
            return {name.removesuffix(".npy"): _parse(archive.read(name)) for name in archive.namelist()}
    except FileNotFoundError:
        raise
    except _FOREIGN as error:
        reason = quote(error)[1:-1]
        raise RunError(f"not a readable file of arrays ({reason})", where=str(path), hint=hint) from error


def _parse(content: bytes) -> npt.NDArray[Any]:
    array: npt.NDArray[Any] = np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
    return array
