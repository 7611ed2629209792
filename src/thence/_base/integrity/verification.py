"""Verification: every file below a folder compared with the checksums that were written with it.

A file is listed in a manifest, or carries its own checksum, or has none; whichever it is, is said. Nothing is changed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from thence._base.atomic import INCOMPLETE
from thence._base.integrity.checksums import parse_record, read_sealed, require_seal
from thence._base.integrity.manifest import MANIFEST, read_manifest
from thence.errors import RunError, nearest, quote, reported_as, show_path

_LOCKS = ("reviews.lock", "lock")
_RECORDS = ("meta", "numbers")


@dataclass(frozen=True)
class Verification:
    """What a check of checksums found; made by ``th.integrity.verify``.

    Args:
        path: The folder or file.
        checked: The files that are as they were written.
        damaged: What is wrong, by file: changed, missing, a symbolic link, incomplete.
        unchecked: The files that have no checksum.

    Examples:
        >>> found = Verification(Path("runs/a"), checked=("rules.parquet",), damaged={"summary.json": "is missing"})
        >>> found.ok
        False
        >>> print(found)
        runs/a: 1 file is as it was written, 1 is not
          summary.json is missing
    """

    path: Path
    checked: tuple[str, ...] = ()
    damaged: dict[str, str] = field(default_factory=dict)
    unchecked: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether files were checked, and all of these are as they were written."""
        return bool(self.checked) and not self.damaged

    def describe(self) -> dict[str, Any]:
        """Return the result as a dict that JSON can hold."""
        return {
            "path": str(self.path),
            "ok": self.ok,
            "checked": list(self.checked),
            "damaged": dict(self.damaged),
            "unchecked": list(self.unchecked),
        }

    def __str__(self) -> str:
        if not self.checked and not self.damaged:
            return f"{self.path}: has no checksums; it is unknown whether it was changed"
        counted = _count(len(self.checked), "file is as it was", "files are as they were") + " written"
        if self.damaged:
            counted += ", " + _count(len(self.damaged), "is not", "are not")
        if self.unchecked:
            counted += ", " + _count(len(self.unchecked), "has no checksum", "have no checksum")
        return "\n".join(
            [
                f"{self.path}: {counted}",
                *(f"  {quote(name)[1:-1]} {problem}" for name, problem in self.damaged.items()),
                *(f"  {quote(name)[1:-1]} has no checksum" for name in self.unchecked),
            ]
        )


def _count(number: int, one: str, several: str) -> str:
    return f"{number:,} {one if number == 1 else several}"


def verify(path: str | Path) -> Verification:
    """Compare the files of a run, a model, a cache or a folder of results with the checksums written with them.

    Checksums detect changes by accident, such as a damaged disk, a torn copy or an edited number. They are not a
    signature.

    Args:
        path: A folder, with everything below it, or a file that carries its own checksum, such as a saved table, a
            saved detector or ``reviews.json``.

    Returns:
        Which files are as they were written, which are not, and which have no checksum.

    Raises:
        RunError: If there is no such file or folder, or it cannot be read.

    Examples:
        >>> import tempfile, thence as th
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     run = th.mine(th.datasets.load("toy"), windows="1h", bins=3, out=f"{folder}/a", progress="off")
        ...     before = th.integrity.verify(run.path)
        ...     _ = (run.path / "summary.json").write_text("{}")
        ...     before.ok, th.integrity.verify(run.path).damaged
        (True, {'summary.json': 'was changed or damaged after it was written: its checksum does not match'})
    """
    target = Path(path)
    with reported_as(RunError, where=show_path(target), hint="check the path"):
        if target.is_file():
            return _verify_file(target)
        if not target.is_dir():
            siblings = [one.name for one in target.parent.iterdir()] if target.parent.is_dir() else []
            hint = nearest(target.name, siblings)
            raise RunError("no such folder or file", where=show_path(target), hint=hint)
        return _verify_folder(target)


def _verify_file(file: Path) -> Verification:
    own = (file.name,)
    try:
        manifest = read_manifest(file.parent) if file.name != MANIFEST else None
        if manifest is not None and file.name in manifest:
            problem = manifest.find_problem(file.name)
            return Verification(file, checked=own) if problem is None else Verification(file, (), {file.name: problem})
        return Verification(file, checked=own) if _check_own(file) else Verification(file, unchecked=own)
    except RunError as error:
        return Verification(file, damaged={file.name: error.message})


def _verify_folder(folder: Path) -> Verification:
    checked: set[str] = set()
    damaged: dict[str, str] = {}
    files = dict(_iter_files(folder, damaged))
    for name in [name for name in files if Path(name).name == MANIFEST]:
        inner = files[name].parent
        try:
            manifest = read_manifest(inner)
        except RunError as error:
            damaged[name] = error.message
            continue
        checked.add(name)
        for listed in {**manifest.files, **manifest.pending} if manifest is not None else ():
            assert manifest is not None
            at = (inner / listed).relative_to(folder).as_posix()
            problem = manifest.find_problem(listed)
            if problem is not None:
                damaged[at] = problem
            elif at in files:
                checked.add(at)
    unchecked: list[str] = []
    for name, path in files.items():
        if name in checked or name in damaged or path.name in _LOCKS:
            continue
        if path.name == INCOMPLETE:
            damaged[name] = "marks a folder that was not written or removed completely"
            continue
        try:
            (checked.add if _check_own(path) else unchecked.append)(name)
        except RunError as error:
            damaged[name] = error.message
    return Verification(folder, tuple(sorted(checked)), dict(sorted(damaged.items())), tuple(sorted(unchecked)))


def _iter_files(folder: Path, damaged: dict[str, str]) -> Iterator[tuple[str, Path]]:
    """The plain files below a folder by name, in order; links are not followed."""

    def refuse(error: OSError) -> None:
        damaged[_name(Path(error.filename or folder), folder)] = f"cannot be read ({error.strerror or error})"

    for place, folders, files in os.walk(folder, onerror=refuse):
        folders.sort()
        for name in sorted([*files, *folders]):
            path = Path(place) / name
            if path.is_symlink():
                damaged[_name(path, folder)] = "is a symbolic link"
            elif path.is_file():
                yield _name(path, folder), path


def _name(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix()


def _check_own(path: Path) -> bool:
    """Whether a file carries its own checksum, which matches; raise ``RunError`` if it does not."""
    try:
        if path.suffix == ".npz":
            from thence._base.integrity.arrays import read_archive

            arrays = read_archive(path)
            records = [arrays.pop(entry).tobytes() for entry in _RECORDS if entry in arrays]
            return bool(records) and require_seal(parse_record(records[0], where=str(path)), arrays, where=str(path))
        # The checksum in the description of a model is of another kind; its manifest lists the file.
        if path.suffix != ".json" or path.name == "model.json":
            return False
        return read_sealed(path)[1]
    except OSError as error:
        raise RunError(f"cannot be read ({error.strerror or error})", where=str(path)) from error
