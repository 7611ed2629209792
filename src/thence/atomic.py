"""Files and folders that appear whole or not at all.

What is written goes to a hidden neighbour of its target first, is flushed to the disk, and takes the target's name in
one step. A process that is killed leaves the hidden neighbour behind, marked as incomplete, and never half a target.
"""

from __future__ import annotations

import ctypes
import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from thence.errors import RunError

__all__ = ["INCOMPLETE", "new_file", "new_folder", "require_room"]

INCOMPLETE = "INCOMPLETE"
_EXCHANGE = 2
_AT_FDCWD = -100


@contextmanager
def new_file(target: Path) -> Iterator[Path]:
    """A path to write to; it becomes ``target`` when the block ends well and vanishes when it does not.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with new_file(Path(folder) / "a.txt") as path:
    ...         _ = path.write_text("whole")
    ...     (Path(folder) / "a.txt").read_text()
    'whole'
    """
    _make_parent(target)
    draft = _neighbour(target)
    try:
        yield draft
        _flush(draft)
        draft.replace(target)
        _flush(target.parent)
    except OSError as error:
        # The draft is nobody's business.
        told = (error.strerror or str(error)).replace(str(draft), target.name)
        raise RunError(f"cannot be written ({told})", where=str(target)) from error
    finally:
        draft.unlink(missing_ok=True)


@contextmanager
def new_folder(target: Path, *, force: bool = False) -> Iterator[Path]:
    """A folder to fill; it becomes ``target`` when the block ends well. ``force`` replaces a folder that is there.

    Without ``force`` a folder that is not empty is never replaced, whenever it came up.
    """
    _make_parent(target)
    draft = _neighbour(target)
    try:
        draft.mkdir()
        mark = _mark(draft)
        yield draft
        for path in sorted(draft.rglob("*"), reverse=True):
            _flush(path)
        mark.unlink()
        _flush(draft)
        _put_in_place(draft, target, force=force)
        _flush(target.parent)
    except OSError as error:
        raise RunError(f"cannot be written ({error.strerror or error})", where=str(target)) from error
    finally:
        _discard(draft)


def require_room(target: Path) -> None:
    """Raise where a folder could not be made at ``target``; leaves nothing behind, and nothing of others."""
    there = next(folder for folder in target.absolute().parents if folder.exists())
    draft = _neighbour(there / target.name)
    try:
        draft.mkdir()
        draft.rmdir()
    except OSError as error:
        raise RunError(f"cannot be written ({error.strerror or error})", where=str(target)) from error


def _make_parent(target: Path) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"cannot be made ({error.strerror or error})", where=str(target.parent)) from error


def _neighbour(target: Path) -> Path:
    """A hidden, unused name in the same folder, hence on the same file system."""
    return target.parent / f".{target.name}.{os.getpid()}-{secrets.token_hex(4)}.partial"


def _flush(path: Path) -> None:
    """Ask the system to put a file, or the list of names of a folder, onto the disk."""
    if os.name == "nt" and path.is_dir():
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        # Some file systems cannot flush a folder; its files are flushed all the same.
        if error.errno not in (errno.EINVAL, errno.EBADF):
            raise
    finally:
        os.close(handle)


def _mark(folder: Path) -> Path:
    mark = folder / INCOMPLETE
    mark.write_text("This folder is not whole: a run was being written or removed. Delete it.\n")
    _flush(mark)
    return mark


def _discard(folder: Path) -> None:
    """Remove a folder so that at no moment what is left of it could be taken for a whole one."""
    if not folder.is_dir():
        return
    with suppress(OSError):
        mark = _mark(folder)
        for path in folder.iterdir():
            if path != mark:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        shutil.rmtree(folder)


def _put_in_place(draft: Path, target: Path, *, force: bool) -> None:
    if not force or not target.exists():
        # A rename onto an existing folder fails unless that is empty, so nothing that came up meanwhile is lost.
        draft.rename(target)
        return
    if not _exchange(draft, target):
        # Where the system cannot swap two names at once, the old folder waits beside the new until that is in place.
        old = _neighbour(target)
        target.rename(old)
        draft.rename(target)
        _discard(old)


def _exchange(one: Path, other: Path) -> bool:
    """Swap two names in one step (Linux); false where that is not possible. The caller removes what it swapped out."""
    with suppress(AttributeError, OSError):
        swap = ctypes.CDLL(None, use_errno=True).renameat2
        return bool(swap(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _EXCHANGE) == 0)
    return False
