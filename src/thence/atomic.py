"""Atomic writing of files and folders: the target is either complete or unchanged.

Content is written to a hidden draft in the same folder, flushed to disk, and renamed to the target in one step. A
process that is killed leaves a hidden draft behind (a folder is marked as incomplete), never a partial target.
"""

from __future__ import annotations

import ctypes
import errno
import os
import secrets
import shutil
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

from thence.errors import RunError

__all__ = ["INCOMPLETE", "finish_first", "new_file", "new_folder", "require_writable"]

INCOMPLETE = "INCOMPLETE"
_EXCHANGE = 2
_AT_FDCWD = -100


@contextmanager
def new_file(target: Path) -> Iterator[Path]:
    """Yield the path of a draft that replaces ``target`` when the block ends without an error.

    Args:
        target: The file to write. Missing parent folders are created.

    Raises:
        RunError: If the file cannot be written; an existing target is then unchanged.

    Examples:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with new_file(Path(folder) / "a.txt") as path:
        ...         _ = path.write_text("complete")
        ...     (Path(folder) / "a.txt").read_text()
        'complete'
    """
    _make_parent(target)
    draft = _draft_path(target)
    try:
        yield draft
        _flush(draft)
        draft.replace(target)
        _flush(target.parent)
    except OSError as error:
        # The user knows the target, not the draft.
        reason = (error.strerror or str(error)).replace(str(draft), target.name)
        raise RunError(f"cannot be written ({reason})", where=str(target)) from error
    finally:
        draft.unlink(missing_ok=True)


@contextmanager
def new_folder(target: Path, *, force: bool = False) -> Iterator[Path]:
    """Yield a draft folder that becomes ``target`` when the block ends without an error.

    Args:
        target: The folder to write. Missing parent folders are created.
        force: Whether to replace an existing folder. Without it a folder that is not empty is never replaced, even if
            it was created while the block ran.

    Raises:
        RunError: If the folder cannot be written; an existing target is then unchanged.
    """
    _make_parent(target)
    draft = _draft_path(target)
    try:
        draft.mkdir()
        mark = _mark(draft)
        yield draft
        for path in sorted(draft.rglob("*"), reverse=True):
            _flush(path)
        mark.unlink()
        _flush(draft)
        _move_to_target(draft, target, force=force)
        _flush(target.parent)
    except OSError as error:
        raise RunError(f"cannot be written ({error.strerror or error})", where=str(target)) from error
    finally:
        _discard(draft)


@contextmanager
def finish_first(done: str) -> Iterator[None]:
    """Hold back Ctrl-C until the block has ended without an error, then raise it. A second Ctrl-C is not held back.

    Outside the main thread, which alone receives signals, the block runs as it is.

    Args:
        done: What has been done by then: the message of the ``KeyboardInterrupt``.

    Raises:
        KeyboardInterrupt: If Ctrl-C was pressed.

    Examples:
        >>> import signal
        >>> before = signal.signal(signal.SIGINT, signal.default_int_handler)
        >>> try:
        ...     with finish_first("the file was written"):
        ...         signal.raise_signal(signal.SIGINT)
        ...         print("still writing")
        ... except KeyboardInterrupt as interrupt:
        ...     print(interrupt)
        still writing
        the file was written
        >>> restored = signal.signal(signal.SIGINT, before)
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or before is not signal.default_int_handler:
        # Whoever handles or ignores Ctrl-C otherwise goes on doing so.
        yield
        return
    pressed = False

    def remember(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        if pressed:
            signal.default_int_handler(number, frame)
        pressed = True

    signal.signal(signal.SIGINT, remember)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed:
        raise KeyboardInterrupt(done)


def require_writable(target: Path) -> None:
    """Raise a ``RunError`` if the folder ``target`` could not be created. Creates nothing and removes nothing."""
    existing = next(folder for folder in target.absolute().parents if folder.exists())
    draft = _draft_path(existing / target.name)
    try:
        draft.mkdir()
        draft.rmdir()
    except OSError as error:
        raise RunError(f"cannot be written ({error.strerror or error})", where=str(target)) from error


def _make_parent(target: Path) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"cannot be created ({error.strerror or error})", where=str(target.parent)) from error


def _draft_path(target: Path) -> Path:
    """An unused hidden name in the same folder, and so on the same file system."""
    return target.parent / f".{target.name}.{os.getpid()}-{secrets.token_hex(4)}.partial"


def _flush(path: Path) -> None:
    """Flush a file, or the entries of a folder, to disk."""
    if os.name == "nt" and path.is_dir():
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        # Some file systems cannot flush a folder; its files have been flushed anyway.
        if error.errno not in (errno.EINVAL, errno.EBADF):
            raise
    finally:
        os.close(handle)


def _mark(folder: Path) -> Path:
    mark = folder / INCOMPLETE
    mark.write_text("This folder is incomplete: it was being written or removed. It can be deleted.\n")
    _flush(mark)
    return mark


def _discard(folder: Path) -> None:
    """Remove a folder; it is marked as incomplete first, so that what is left cannot be taken for complete."""
    if not folder.is_dir():
        return
    with suppress(OSError):
        mark = _mark(folder)
        for path in folder.iterdir():
            if path != mark:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        shutil.rmtree(folder)


def _move_to_target(draft: Path, target: Path, *, force: bool) -> None:
    if not force or not target.exists():
        # Renaming onto an existing folder fails unless it is empty, so a folder created meanwhile is not lost.
        draft.rename(target)
        return
    if not _exchange(draft, target):
        # Where the system cannot swap two names in one step, keep the old folder until the new one is in place.
        old = _draft_path(target)
        target.rename(old)
        draft.rename(target)
        _discard(old)


def _exchange(one: Path, other: Path) -> bool:
    """Swap two names in one step (Linux); ``False`` where that is not possible. The caller removes the old folder."""
    with suppress(AttributeError, OSError):
        swap = ctypes.CDLL(None, use_errno=True).renameat2
        return bool(swap(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _EXCHANGE) == 0)
    return False
