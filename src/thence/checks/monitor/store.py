"""The state of a monitor on disk: a snapshot that is replaced in one step, and a journal of what came after it.

Readings that a source cannot give again are written to the journal before they are acknowledged. A snapshot starts a
new journal. A process that is killed at any moment leaves a snapshot and a journal whose last record may be torn; the
torn record was not acknowledged and is cut off. This module stores; it knows neither rules nor sources.
"""

from __future__ import annotations

import json
import os
import struct
import sys
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from thence._base.atomic import new_file
from thence._base.integrity.arrays import dump_arrays, load_arrays
from thence._base.integrity.checksums import CHECKSUM
from thence.errors import RunError, quote

if sys.platform != "win32":
    import fcntl

_SNAPSHOT = "state.npz"
_NUMBERS = "numbers"
_LOCK = "lock"
_HEADER = struct.Struct("<II")
_LARGEST = 1 << 30
Arrays = Mapping[str, npt.NDArray[Any]]


class Store:
    """A folder with the state of one monitor.

    Args:
        folder: The folder; it is created if it does not exist.

    Raises:
        RunError: If the folder cannot be written, or another monitor uses it.

    Examples:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder, Store(Path(folder)) as store:
        ...     store.save({"a": 1}, {"b": np.arange(2)})
        ...     store.append(b"later")
        ...     numbers, arrays = store.load()
        ...     numbers["a"], arrays["b"].tolist(), list(store.replay())
        (1, [0, 1], [b'later'])
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._journal: BinaryIO | None = None
        self._number = 0
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._lock = (folder / _LOCK).open("a")
        except OSError as error:
            raise RunError(f"cannot be written ({error.strerror or error})", where=str(folder)) from error
        try:
            if sys.platform != "win32":
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._lock.close()
            raise RunError(
                "another monitor uses this folder for its state", where=str(folder), hint="choose another with --state"
            ) from error

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the files. What was written stays."""
        if self._journal is not None:
            self._journal.close()
            self._journal = None
        self._lock.close()

    def load(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]] | None:
        """Return the numbers and arrays of the last snapshot, or ``None`` if there is none.

        Raises:
            RunError: If the snapshot cannot be read.
        """
        path = self.folder / _SNAPSHOT
        if not path.is_file():
            return None
        try:
            numbers, arrays, _ = load_arrays(path, entry=_NUMBERS)
            numbers.pop(CHECKSUM, None)
            self._number = int(numbers["journal"])
        except (RunError, OSError, KeyError, TypeError, ValueError, OverflowError) as error:
            reason = error.message if isinstance(error, RunError) else quote(error)[1:-1]
            raise RunError(
                f"the saved state cannot be read ({reason})",
                where=str(path),
                hint="the file was changed or damaged; choose another folder with --state to start from the beginning",
            ) from error
        return numbers, arrays

    def save(self, numbers: Mapping[str, Any], arrays: Arrays) -> None:
        """Replace the snapshot, and start a new journal.

        Args:
            numbers: Whatever JSON can hold.
            arrays: Arrays by name.
        """
        after = self._number + 1
        content = dump_arrays({**numbers, "journal": after}, arrays, entry=_NUMBERS, compress=False)
        with new_file(self.folder / _SNAPSHOT) as draft:
            draft.write_bytes(content)
        self._number = after
        if self._journal is not None:
            self._journal.close()
            self._journal = None
        for path in self.folder.glob("journal-*.log"):
            if path != self._path:
                path.unlink(missing_ok=True)

    @property
    def _path(self) -> Path:
        return self.folder / f"journal-{self._number}.log"

    def append(self, record: bytes) -> None:
        """Append a record to the journal and flush it to disk.

        Args:
            record: The record.
        """
        try:
            if self._journal is None:
                self._journal = self._path.open("ab")
            self._journal.write(_HEADER.pack(len(record), zlib.crc32(record)) + record)
            self._journal.flush()
            os.fsync(self._journal.fileno())
        except OSError as error:
            raise RunError(f"cannot be written ({error.strerror or error})", where=str(self._path)) from error

    def replay(self) -> Iterator[bytes]:
        """Yield the records since the last snapshot, and cut off a torn one at the end.

        Raises:
            RunError: If a record is damaged that others follow; nothing is cut off then.
        """
        if not self._path.is_file():
            return
        whole = 0
        with self._path.open("rb") as file:
            while len(header := file.read(_HEADER.size)) == _HEADER.size:
                size, check = _HEADER.unpack(header)
                record = file.read(size) if size <= _LARGEST else b""
                if len(record) < size or zlib.crc32(record) != check:
                    # Only the last record can be torn: each is on disk before the next one begins.
                    if len(record) == size and file.read(1):
                        raise RunError(
                            f"the record at byte {whole:,} was changed or damaged after it was written",
                            where=str(self._path),
                            hint="restore a copy, or choose another folder with --state to start from the beginning",
                        )
                    break
                whole = file.tell()
                yield record
        with self._path.open("ab") as file:
            file.truncate(whole)


def pack_record(facts: Mapping[str, Any], arrays: Arrays) -> bytes:
    """Return a record of the journal.

    Args:
        facts: Whatever JSON can hold.
        arrays: Arrays of one dimension by name.

    Examples:
        >>> facts, arrays = unpack_record(pack_record({"a": 1}, {"b": np.array([1.5])}))
        >>> facts, arrays["b"].tolist()
        ({'a': 1}, [1.5])
    """
    shapes = {name: [str(array.dtype), len(array)] for name, array in arrays.items()}
    text = json.dumps({"facts": dict(facts), "arrays": shapes}).encode()
    return b"\n".join([text, b"".join(np.ascontiguousarray(array).tobytes() for array in arrays.values())])


def unpack_record(record: bytes) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Return the facts and arrays of a record.

    Args:
        record: What ``pack_record`` returned.
    """
    text, _, data = record.partition(b"\n")
    head = json.loads(text)
    arrays, at = {}, 0
    for name, (kind, length) in head["arrays"].items():
        dtype = np.dtype(kind)
        arrays[name] = np.frombuffer(data, dtype, length, at).copy()
        at += dtype.itemsize * length
    return head["facts"], arrays
