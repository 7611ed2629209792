"""Atomic writing of files and folders: the target is either complete or unchanged.

Content is written to a hidden draft in the same folder, flushed to disk, and renamed to the target in one step. A
process that is killed leaves a hidden draft behind (a folder is marked as incomplete), never a partial target.
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import os
import secrets
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from thence.errors import RunError

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
    with hold_interrupts() as held:
        yield
    if held.pressed:
        raise KeyboardInterrupt(done)


@dataclass
class Held:
    """Whether Ctrl-C was pressed while it was held back.

    Args:
        pressed: Whether it was.
    """

    pressed: bool = False


@contextmanager
def hold_interrupts() -> Iterator[Held]:
    """Hold back Ctrl-C until the block has ended, and yield whether it was pressed. A second one is not held back.

    Outside the main thread, which alone receives signals, the block runs as it is.

    Examples:
        >>> import signal
        >>> before = signal.signal(signal.SIGINT, signal.default_int_handler)
        >>> with hold_interrupts() as held:
        ...     signal.raise_signal(signal.SIGINT)
        >>> held.pressed
        True
        >>> restored = signal.signal(signal.SIGINT, before)
    """
    held = Held()
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or before is not signal.default_int_handler:
        # Whoever handles or ignores Ctrl-C otherwise goes on doing so.
        yield held
        return

    def remember(number: int, frame: FrameType | None) -> None:
        if held.pressed:
            signal.default_int_handler(number, frame)
        held.pressed = True

    signal.signal(signal.SIGINT, remember)
    try:
        yield held
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def claim(target: Path) -> Iterator[None]:
    """Keep other processes and threads from claiming ``target`` until the block ends.

    Whoever comes second is refused at once, not after the work. The claim is a lock on a temporary file, so it holds on
    this machine; a process that is killed loses it. Where files cannot be locked, the block runs without. It does not
    replace the care with which files and folders are written.

    Args:
        target: The file or folder that the block is going to write.

    Raises:
        RunError: If another process has claimed the target.

    Examples:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder, claim(Path(folder) / "a"):
        ...     with claim(Path(folder) / "a"):
        ...         pass
        Traceback (most recent call last):
        thence.errors.RunError: ...: another process is writing here (wait for it, or choose another path)
    """
    if sys.platform == "win32":
        yield
        return
    import fcntl

    name = hashlib.sha256(os.fsencode(os.path.realpath(target))).hexdigest()[:16]
    path = Path(tempfile.gettempdir()) / f"thence-{os.getuid()}-{name}.claim"
    while True:
        try:
            # A link would let someone else choose the file that is opened.
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        except OSError:
            # Without a folder for such files there are no claims.
            yield
            return
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            raise RunError(
                "another process is writing here", where=str(target), hint="wait for it, or choose another path"
            ) from None
        except OSError:
            # A file system without locks.
            os.close(handle)
            path.unlink(missing_ok=True)
            yield
            return
        try:
            # Whoever had the file before may have removed it meanwhile; then the lock is on nothing.
            if path.exists() and os.fstat(handle).st_ino == path.stat().st_ino:
                try:
                    yield
                finally:
                    path.unlink(missing_ok=True)
                return
        finally:
            os.close(handle)


def require_writable(target: Path) -> None:
    """Raise a ``RunError`` if the folder ``target`` could not be created. Creates nothing and removes nothing."""
    try:
        existing = next(folder for folder in target.absolute().parents if folder.exists())
        draft = _draft_path(existing / target.name)
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
