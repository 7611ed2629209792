"""Manifests: ``manifest.json`` in a folder that Thence wrote, with the size and the SHA-256 of every file in it.

It is written last, and carries a checksum of itself. A file is compared with it before its content is used. A file
that is replaced later, such as a report, is first promised in the manifest and then renamed, so that a process that is
killed in between leaves a folder that is whole. A folder that has lost its manifest can be read, with a warning. This
module knows no kind of folder.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

from thence._base.atomic import INCOMPLETE, new_file
from thence._base.integrity.checksums import CHANGED, CHECKSUM, file_digest, parse_record, require_seal, seal
from thence.errors import RunError, quote, show_path

if sys.platform != "win32":
    import fcntl

MANIFEST = "manifest.json"
"""The file in a folder."""
_log = logging.getLogger(__name__)
_MARK, _VERSION = "thence manifest", 1
_LINK = "is a symbolic link; files of a folder that Thence wrote are plain files"


@dataclass(frozen=True, slots=True)
class Entry:
    """What a manifest says of a file.

    Args:
        size: Its size in bytes.
        sha256: Its SHA-256, as 64 hexadecimal digits.
    """

    size: int
    sha256: str

    @staticmethod
    def of(path: Path) -> Entry:
        """Return the entry of a file as it is.

        Args:
            path: The file.
        """
        return Entry(path.stat().st_size, file_digest(path))


@dataclass(frozen=True)
class Manifest:
    """The files of a folder, as they were written.

    Args:
        folder: The folder.
        files: What is known of each file, by its path in the folder, with ``/`` between the parts.
        pending: What is known of files that were about to be replaced; either may be there.
    """

    folder: Path
    files: Mapping[str, Entry]
    pending: Mapping[str, Entry] = field(default_factory=dict)

    def __contains__(self, name: str) -> bool:
        return name in self.files

    def accepts(self, name: str, size: int, sha256: str) -> bool:
        """Whether a file with this content is what was written.

        Args:
            name: The file.
            size: Its size in bytes.
            sha256: Its SHA-256.
        """
        return Entry(size, sha256) in (self.files.get(name), self.pending.get(name))

    def find_problem(self, name: str) -> str | None:
        """Compare a file with the manifest, and return what is wrong with it, or ``None``.

        Args:
            name: The file.
        """
        try:
            if (problem := _find_link(self.folder, name)) is not None:
                return problem
            path = self.folder / name
            if not path.is_file():
                return "is missing" if name in self.files else None
            if name not in self.files and name not in self.pending:
                return f"is not listed in {MANIFEST}"
            sizes = {entry.size for entry in (self.files.get(name), self.pending.get(name)) if entry is not None}
            size = path.stat().st_size
            if size not in sizes or not self.accepts(name, size, file_digest(path)):
                return CHANGED
        except OSError as error:
            return f"cannot be read ({error.strerror or error})"
        return None

    def to_dict(self) -> dict[str, Any]:
        """Return the manifest as a dict that JSON can hold, with its own checksum."""
        parts = {
            name: {file: {"size": one.size, CHECKSUM: one.sha256} for file, one in sorted(entries.items())}
            for name, entries in (("files", self.files), ("pending", self.pending))
            if entries or name == "files"
        }
        return seal({"format": _MARK, "version": _VERSION, **parts})


@dataclass(frozen=True)
class CheckedFolder:
    """A folder whose files are compared with its manifest before they are used; see ``CheckedFolder.open``.

    Args:
        folder: The folder.
        manifest: Its manifest; ``None`` if it has none: then only symbolic links are refused.
        again: How to make the folder again, for messages.
    """

    folder: Path
    manifest: Manifest | None
    again: str = "make it again"

    @staticmethod
    def open(folder: Path, *, again: str = "make it again") -> CheckedFolder:
        """Read the manifest of a folder.

        Args:
            folder: The folder.
            again: How to make the folder again, for messages, such as ``"mine again"``.

        Raises:
            RunError: If the manifest is damaged.
        """
        return CheckedFolder(folder, read_manifest(folder, again=again), again)

    def warn_unverified(self) -> None:
        """Log a warning, which Python prints on standard error, if the folder has no manifest."""
        if self.manifest is None:
            _log.warning(
                "warning: %s has no checksums (%s is missing): its files are not verified (restore a copy, or %s)",
                *(show_path(self.folder), MANIFEST, self.again),
            )

    def require(self, name: str) -> Path:
        """Return the path of a file, once it has been compared with the manifest.

        Args:
            name: The file.

        Raises:
            RunError: If the file is missing, was changed, is not listed, or is a symbolic link.
        """
        if (problem := self._find_problem(name)) is not None:
            raise self._error(name, problem)
        return self.folder / name

    def find(self, name: str) -> Path | None:
        """Return the path of a file as ``require`` does, or ``None`` if it was never written.

        Args:
            name: The file.
        """
        return self.require(name) if self.has(name) else None

    def has(self, name: str) -> bool:
        """Whether a file was written, or is there; it is not compared.

        Args:
            name: The file.
        """
        return (self.manifest is not None and name in self.manifest) or os.path.lexists(self.folder / name)

    def refuse_link(self, name: str) -> None:
        """Raise a ``RunError`` if a file or subfolder, or a folder on the way to it, is a symbolic link.

        Args:
            name: The file or subfolder.
        """
        if (problem := _find_link(self.folder, name)) is not None:
            raise self._error(name, problem)

    def read(self, name: str) -> bytes:
        """Return the content of a file that is what was written.

        Args:
            name: The file.

        Raises:
            RunError: If the file is missing, was changed, is not listed, or is a symbolic link.
        """
        try:
            if (problem := _find_link(self.folder, name)) is not None:
                raise self._error(name, problem)
            content = (self.folder / name).read_bytes()
        except OSError as error:
            raise self._error(name, f"cannot be read ({error.strerror or error})") from error
        if self.manifest is not None and not self.manifest.accepts(
            name, len(content), hashlib.sha256(content).hexdigest()
        ):
            listed = name in self.manifest.files or name in self.manifest.pending
            raise self._error(name, CHANGED if listed else f"is not listed in {MANIFEST}")
        return content

    def _find_problem(self, name: str) -> str | None:
        if self.manifest is not None:
            return self.manifest.find_problem(name) or (None if (self.folder / name).is_file() else "is missing")
        return _find_link(self.folder, name) or (None if (self.folder / name).is_file() else "is missing")

    def _error(self, name: str, problem: str) -> RunError:
        return _damaged(self.folder, name, problem, self.again)


def write_manifest(folder: Path, *, leave_out: Iterable[str] = ()) -> Manifest:
    """List every file of a folder and of its subfolders in its manifest, which is written in one step.

    Args:
        folder: The folder.
        leave_out: Names of files that are not listed, since they change or carry checksums of their own.

    Raises:
        RunError: If a file cannot be read, is a symbolic link, or the manifest cannot be written.

    Examples:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as name:
        ...     folder = Path(name)
        ...     _ = (folder / "a.txt").write_text("as it was")
        ...     _ = write_manifest(folder)
        ...     before = read_manifest(folder).find_problem("a.txt")
        ...     _ = (folder / "a.txt").write_text("as it is!")
        ...     before, read_manifest(folder).find_problem("a.txt")
        (None, 'was changed or damaged after it was written: its checksum does not match')
    """
    skipped = {MANIFEST, INCOMPLETE, *leave_out}
    files = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            raise RunError(_LINK, where=str(path), hint="remove the link")
        if path.is_file() and name not in skipped:
            try:
                files[name] = Entry.of(path)
            except OSError as error:
                raise RunError(f"cannot be read ({error.strerror or error})", where=str(path)) from error
    manifest = Manifest(folder, files)
    save_manifest(manifest)
    return manifest


def read_manifest(folder: Path, *, again: str = "make it again") -> Manifest | None:
    """Read the manifest of a folder.

    Args:
        folder: The folder.
        again: How to make the folder again, for messages.

    Returns:
        The manifest; ``None`` if the folder has none.

    Raises:
        RunError: If the manifest is damaged.
    """
    path = folder / MANIFEST
    if path.is_symlink():
        raise _damaged(folder, MANIFEST, _LINK, again)
    try:
        content = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise RunError(f"cannot be read ({error.strerror or error})", where=str(path)) from error
    hint = _hint(folder, again)
    record = parse_record(content, where=str(path), hint=hint)
    sealed = require_seal(record, where=str(path), hint=hint)
    if not sealed or record.get("format") != _MARK:
        raise _damaged(folder, MANIFEST, "is not a manifest of Thence", again)
    if not isinstance(version := record.get("version"), int) or version > _VERSION:
        raise RunError("the manifest is from a newer version of Thence", where=str(path), hint="update Thence")
    try:
        files, pending = (
            {_inside(name): Entry(int(one["size"]), str(one[CHECKSUM])) for name, one in record.get(part, {}).items()}
            for part in ("files", "pending")
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _damaged(folder, MANIFEST, f"is not a manifest of Thence ({quote(error)[1:-1]})", again) from error
    return Manifest(folder, files, pending)


@contextmanager
def new_listed_file(target: Path) -> Iterator[Path]:
    """Yield the path of a draft that replaces ``target`` as ``new_file`` does, and keep the folder's manifest true.

    If the process is killed at any moment, the file is the old one or the new one, and the manifest accepts it.

    Args:
        target: The file to write. In a folder without a manifest it is written as ``new_file`` writes it.

    Raises:
        RunError: If the file or the manifest cannot be written, or the manifest is damaged.

    Examples:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as name:
        ...     folder = Path(name)
        ...     _ = write_manifest(folder)
        ...     with new_listed_file(folder / "a.txt") as draft:
        ...         _ = draft.write_text("complete")
        ...     list(read_manifest(folder).files)
        ['a.txt']
    """
    folder = target.parent
    if not os.path.lexists(folder / MANIFEST):
        with new_file(target) as draft:
            yield draft
        return
    with ExitStack() as held:
        with new_file(target) as draft:
            yield draft
            held.enter_context(_hold(folder))
            entry = Entry.of(draft)
            manifest = read_manifest(folder) or Manifest(folder, {})
            manifest = replace(manifest, pending={**manifest.pending, target.name: entry})
            save_manifest(manifest)
        pending = {name: one for name, one in manifest.pending.items() if name != target.name}
        save_manifest(Manifest(folder, {**manifest.files, target.name: entry}, pending))


def drop_listed_file(target: Path) -> None:
    """Remove a file, and its entry in the manifest of its folder.

    Args:
        target: The file; it need not exist.

    Raises:
        RunError: If the file cannot be removed, or the manifest is damaged or cannot be written.
    """
    folder = target.parent
    with ExitStack() as held:
        if os.path.lexists(folder / MANIFEST):
            held.enter_context(_hold(folder))
            manifest = read_manifest(folder) or Manifest(folder, {})
            if target.name in manifest.files or target.name in manifest.pending:
                # As a file that may be there and need not, whenever the process ends.
                known = manifest.files.get(target.name) or manifest.pending[target.name]
                files = {name: one for name, one in manifest.files.items() if name != target.name}
                save_manifest(Manifest(folder, files, {**manifest.pending, target.name: known}))
        try:
            target.unlink(missing_ok=True)
        except OSError as error:
            raise RunError(f"cannot be removed ({error.strerror or error})", where=str(target)) from error


@contextmanager
def _hold(folder: Path) -> Iterator[None]:
    """Keep other processes from changing the manifest of a folder until the block ends."""
    if sys.platform == "win32":
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def save_manifest(manifest: Manifest) -> None:
    """Write a manifest into its folder, in one step.

    Args:
        manifest: The manifest.

    Raises:
        RunError: If it cannot be written.
    """
    with new_file(manifest.folder / MANIFEST) as draft:
        text = json.dumps(manifest.to_dict(), ensure_ascii=True, indent=1)
        draft.write_text(text + "\n", encoding="utf-8")


def _inside(name: str) -> str:
    """A path in a folder, as it is; raise ``ValueError`` if it leads out of the folder."""
    parts = PurePosixPath(name).parts
    foreign = os.name == "nt" and ("\\" in name or ":" in name)
    if not parts or name.startswith("/") or ".." in parts or "\0" in name or foreign:
        raise ValueError(f"{quote(name)} is not a file in the folder")
    return name


def _find_link(folder: Path, name: str) -> str | None:
    """Why a file is not used: it, or a subfolder on the way to it, is a symbolic link."""
    path = folder
    for part in PurePosixPath(name).parts:
        path = path / part
        if path.is_symlink():
            return _LINK
    return None


def _hint(folder: Path, again: str) -> str:
    return f"restore a copy, or {again}; 'thence verify {folder}' checks every file"


def _damaged(folder: Path, name: str, problem: str, again: str) -> RunError:
    return RunError(problem, where=str(folder / name), hint=_hint(folder, again))
