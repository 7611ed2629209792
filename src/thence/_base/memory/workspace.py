"""Workspaces: large arrays within a limit of memory, in memory while there is room and in temporary files beyond.

A file of an array is mapped into memory, so that every function that takes arrays works on it: the system reads the
pages that are used and drops them when memory is needed. The file has no name and is gone with the array, also if the
process is killed. Numbers are the same wherever an array lies.
"""

from __future__ import annotations

import errno
import math
import os
import tempfile
import threading
import weakref
from typing import Any

import numpy as np
import numpy.typing as npt

from thence._base.memory.sizes import default_limit, format_size, parse_size
from thence.errors import ConfigError

__all__ = ["Workspace", "in_memory", "open_workspace"]

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
