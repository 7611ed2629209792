"""Memory: how much a run may use, and large arrays that lie in temporary files beyond that.

The memory that is available is that of the machine, or of the control group that this process runs in (a container, a
batch job) if that is less. A file of an array is mapped into memory, so that every function that takes arrays works on
it: the system reads the pages that are used and drops them when memory is needed. The file has no name and is gone
with the array, also if the process is killed. Numbers are the same wherever an array lies.
"""

from __future__ import annotations

import errno
import math
import os
import re
import tempfile
import threading
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from thence.errors import ConfigError

LEAST = 1 << 30
"""The smallest limit: the interpreter, compiled kernels and one block of readings need about half of it."""
SHARE = 0.8
"""Share of the available memory that a run uses by default."""

_POWERS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(?:([KMGT])(i?)B?|B)", re.IGNORECASE)
_GROUPS = Path("/sys/fs/cgroup")
_OWN_GROUPS = Path("/proc/self/cgroup")
_MACHINE = Path("/proc/meminfo")
# Limits above this mean that there is none.
_NO_LIMIT = 1 << 60


def parse_size(size: str | int) -> int:
    """Return a size in bytes.

    Args:
        size: Bytes, or a text such as ``"12GiB"``, ``"12GB"`` or ``"1.5TiB"``. ``"12G"`` means ``"12GiB"``.

    Raises:
        ConfigError: If the text is not a size, or the size is below ``LEAST``.

    Examples:
        >>> parse_size("12GiB") == 12 * 2**30, parse_size("12GB") == 12 * 10**9
        (True, True)
        >>> parse_size("12 parsecs")
        Traceback (most recent call last):
        thence.errors.ConfigError: memory_limit must be a size, got '12 parsecs' (write it as '12GiB' or '800MB')
    """
    found = _parse(size)
    if found is None:
        raise ConfigError(f"memory_limit must be a size, got {size!r}", hint="write it as '12GiB' or '800MB'")
    if found < LEAST:
        raise ConfigError(
            f"memory_limit must be at least {format_size(LEAST)}, got {size!r}", hint="leave it out for the default"
        )
    return found


def _parse(size: Any) -> int | None:
    if isinstance(size, int) and not isinstance(size, bool):
        return size
    match = _SIZE.fullmatch(size.strip()) if isinstance(size, str) else None
    if match is None:
        return None
    number, letter, binary = match.groups()
    plain = not (match[0].upper().endswith("B") and not binary)
    return int(float(number) * (1024 if plain else 1000) ** _POWERS[(letter or "").upper()])


def format_size(size: float) -> str:
    """Return a size as text.

    Examples:
        >>> format_size(12 * 2**30), format_size(1.5 * 2**30), format_size(300 * 2**20)
        ('12 GiB', '1.5 GiB', '300 MiB')
    """
    if size >= 1 << 30:
        return f"{size / 2**30:.1f}".removesuffix(".0") + " GiB"
    return f"{size / 2**20:.0f} MiB"


def default_limit() -> int:
    """Return the memory that a run uses by default: a share of what is available, at least ``LEAST``.

    Examples:
        >>> default_limit() >= LEAST
        True
    """
    return max(LEAST, int(SHARE * available_memory()))


def available_memory() -> int:
    """Return the bytes that this process can use without anything being killed or swapped.

    Examples:
        >>> available_memory() > 0
        True
    """
    free = _machine_memory()
    return min([free, *_group_room()])


def _machine_memory() -> int:
    try:
        for line in _MACHINE.read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return 4 * LEAST


def _group_room() -> list[int]:
    """What is left in the control groups of this process, in version 1 and in version 2."""
    out = []
    try:
        lines = _OWN_GROUPS.read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        root, names = _GROUPS, ("memory.max", "memory.current", "inactive_file")
        if controllers:
            root, names = _GROUPS / "memory", ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        # In a container the path may be that of the host, and the own group is the root.
        for group in dict.fromkeys((root / path.lstrip("/"), root)):
            limit, used = _number(group / names[0]), _number(group / names[1])
            if limit is not None and used is not None and limit < _NO_LIMIT:
                out.append(max(0, limit - used + _cached(group / "memory.stat", names[2])))
    return out


def _number(file: Path) -> int | None:
    try:
        return int(file.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def _cached(file: Path, name: str) -> int:
    """Bytes of files that the group holds and the system drops when memory is needed."""
    try:
        for line in file.read_text(encoding="ascii").splitlines():
            if line.startswith(f"{name} "):
                return int(line.split()[1])
    except (OSError, ValueError):
        pass
    return 0


_HELD_SHARE = 0.4
"""Share of the limit for arrays that stay; the rest is for work on parts of them."""
_SELDOM_SHARE = 0.1
"""Share of the limit that arrays which are read seldom may take."""
_SMALL = 1 << 20
"""Smaller arrays stay in memory whatever the limit."""


class Workspace:
    """Arrays within a limit of memory.

    Args:
        limit: The limit in bytes; ``None`` for no limit.
        smallest: Arrays of up to this many bytes stay in memory whatever the limit.

    Examples:
        >>> workspace = Workspace(1 << 30)
        >>> workspace.empty((3, 4), np.int16).shape, workspace.in_files
        ((3, 4), 0)
    """

    def __init__(self, limit: int | None = None, *, smallest: int = _SMALL) -> None:
        self.limit = limit
        self.smallest = smallest
        self._held = 0
        self._in_files = 0
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"Workspace({'no limit' if self.limit is None else format_size(self.limit)})"

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process has room of its own.
        return Workspace, (self.limit,)

    @property
    def held(self) -> int:
        """Bytes of the arrays in memory that are still in use; not counted without a limit."""
        return self._held

    @property
    def in_files(self) -> int:
        """Bytes of the arrays in files that are still in use."""
        return self._in_files

    @property
    def for_work(self) -> float:
        """Bytes that one step may use for a while beside the arrays that stay."""
        return math.inf if self.limit is None else 0.25 * self.limit

    def fits(self, size: float, *, seldom: bool = False) -> bool:
        """Return whether an array would lie in memory.

        Args:
            size: Its size in bytes.
            seldom: Whether it is read seldom, so that it should leave the memory to others.
        """
        if size <= self.smallest or self.limit is None:
            return True
        return self._held + size <= (_SELDOM_SHARE if seldom else _HELD_SHARE) * self.limit

    def empty(
        self, shape: tuple[int, ...], dtype: npt.DTypeLike, *, stage: str = "this step", seldom: bool = False
    ) -> npt.NDArray[Any]:
        """Return an array without content, as ``np.empty`` does.

        Args:
            shape: Its shape.
            dtype: Its type.
            stage: What needs it, for the error message.
            seldom: Whether it is read seldom.

        Raises:
            ConfigError: If it does not fit in memory, nor on the disk of temporary files.
        """
        return self._make(shape, np.dtype(dtype), stage, seldom)

    def full(
        self,
        shape: tuple[int, ...],
        value: Any,
        dtype: npt.DTypeLike,
        *,
        stage: str = "this step",
        seldom: bool = False,
    ) -> npt.NDArray[Any]:
        """Return an array with one value, as ``np.full`` does; parameters as in ``empty``."""
        out = self._make(shape, np.dtype(dtype), stage, seldom)
        out.fill(value)
        return out

    def zeros(self, shape: tuple[int, ...], dtype: npt.DTypeLike, *, stage: str = "this step") -> npt.NDArray[Any]:
        """Return an array of zeros, as ``np.zeros`` does; parameters as in ``empty``."""
        kind = np.dtype(dtype)
        if self._size(shape, kind) and self.fits(self._size(shape, kind)):
            return self._track(np.zeros(shape, kind))
        # A new file reads as zeros.
        return self._make(shape, kind, stage, seldom=False)

    def require(self, size: float, *, stage: str, hint: str) -> None:
        """Raise if a step needs more memory at once than the limit leaves for it.

        Args:
            size: The bytes that it needs.
            stage: What needs them.
            hint: What to do about it, beside a larger limit.

        Raises:
            ConfigError: If they are more than ``for_work``.

        Examples:
            >>> Workspace(2 << 30).require(256 << 20, stage="mining", hint="use fewer bins")
            >>> Workspace(2 << 30).require(5 << 30, stage="mining", hint="use fewer bins")  # doctest: +ELLIPSIS
            Traceback (most recent call last):
            ...
            thence.errors.ConfigError: mining needs 5 GiB of memory at once, and memory_limit = 2 GiB leaves 512 MiB ...
        """
        if self.limit is not None and size > self.for_work:
            raise ConfigError(
                f"{stage} needs {format_size(size)} of memory at once, and memory_limit = {format_size(self.limit)} "
                f"leaves {format_size(self.for_work)}",
                hint=f"set memory_limit to {format_size(math.ceil(size / 0.25 / 2**30) * 2**30)} or more, or {hint}",
            )

    @staticmethod
    def _size(shape: tuple[int, ...], dtype: np.dtype[Any]) -> int:
        return math.prod(shape) * dtype.itemsize

    def _make(self, shape: tuple[int, ...], dtype: np.dtype[Any], stage: str, seldom: bool) -> npt.NDArray[Any]:
        size = self._size(shape, dtype)
        if size == 0 or self.fits(size, seldom=seldom):
            return self._track(np.empty(shape, dtype))
        return self._map(shape, dtype, size, stage)

    def _track(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        if self.limit is not None and array.nbytes > self.smallest:
            self._add(array.nbytes, 0)
            weakref.finalize(array, self._add, -array.nbytes, 0).atexit = False
        return array

    def _map(self, shape: tuple[int, ...], dtype: np.dtype[Any], size: int, stage: str) -> npt.NDArray[Any]:
        folder = tempfile.gettempdir()
        try:
            with tempfile.TemporaryFile() as file:
                # A file with holes would end the process later, when the disk is full.
                if hasattr(os, "posix_fallocate"):
                    os.posix_fallocate(file.fileno(), 0, size)
                else:
                    file.truncate(size)
                mapped = np.memmap(file, dtype=dtype, mode="r+", shape=shape)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.ENOMEM):
                raise
            raise ConfigError(
                f"{stage} needs {format_size(size)} more than memory_limit = {format_size(self.limit or 0)} allows, "
                f"and there is no room for a temporary file of that size in {folder}",
                hint="set memory_limit higher, or the environment variable TMPDIR to a folder on a larger disk",
            ) from error
        self._add(0, size)
        weakref.finalize(mapped, self._add, 0, -size).atexit = False
        return mapped.view(np.ndarray)

    def _add(self, held: int, in_files: int) -> None:
        with self._lock:
            self._held += held
            self._in_files += in_files


def in_memory() -> Workspace:
    """Return a workspace without a limit: all arrays lie in memory."""
    return Workspace(None)


def open_workspace(memory_limit: str | int | None = None) -> Workspace:
    """Return a workspace with a limit as a caller writes it.

    Args:
        memory_limit: A size such as ``"12GiB"``; ``None`` for a share of the memory that is available now.

    Raises:
        ConfigError: If it is not a size, or too small.

    Examples:
        >>> open_workspace("2GiB")
        Workspace(2 GiB)
    """
    return Workspace(default_limit() if memory_limit is None else parse_size(memory_limit))
