"""A cache of simulated readings on disk, so that loading a data set again costs one file read.

There is one folder per set of parameters, named by a hash of the parameters, the source files and the versions of
generator and simulator, with the readings and a manifest of their checksums. Folders are written atomically, so
parallel processes may share the cache. Readings that were changed on disk are simulated again. If the cache cannot be
written, a warning is logged and the readings are simulated each time.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Iterable, Mapping
from importlib import metadata
from pathlib import Path

import polars as pl

from thence._base.atomic import new_folder
from thence._base.integrity.manifest import CheckedFolder, write_manifest
from thence.errors import RunError, quote
from thence.lab.datasets.folders import cache_folder

__all__ = ["Simulated", "fingerprint", "load_or_simulate"]

Simulated = tuple[pl.DataFrame, dict[str, str]]
"""A frame of readings, and notes about the simulation."""
_log = logging.getLogger(__name__)
_READINGS = "readings.parquet"
# Panics of polars are no ``Exception``.
_FOREIGN = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError, KeyError, TypeError)


def fingerprint(parameters: Mapping[str, object], *, sources: Iterable[Path]) -> str:
    """Return a hash of ``parameters`` (JSON values) and of the content of the ``sources``.

    >>> fingerprint({"days": 7}, sources=[]) == fingerprint({"days": 7}, sources=[])
    True
    >>> fingerprint({"days": 7}, sources=[]) == fingerprint({"days": 8}, sources=[])
    False
    """
    digest = hashlib.sha256(json.dumps(parameters, sort_keys=True).encode())
    for source in sources:
        digest.update(hashlib.sha256(source.read_bytes()).digest())
    return digest.hexdigest()[:24]


def load_or_simulate(
    dataset: str, *, parameters: Mapping[str, object], sources: Iterable[Path], simulate: Callable[[], Simulated]
) -> Simulated:
    """Return cached readings, or simulate and cache them.

    Args:
        dataset: The name of the data set, which is the name of its folder in the cache.
        parameters: Everything besides the source files that the result depends on, the version of the generator
            included.
        sources: The files that the simulation reads.
        simulate: Returns the readings and their notes.
    """
    versions = {"wntr": _version("wntr")}
    key = fingerprint({**parameters, "versions": versions}, sources=sources)
    folder = cache_folder() / dataset / key
    if folder.is_dir():
        try:
            return _read(folder)
        except (RunError, *_FOREIGN) as error:
            _log.warning("%s cannot be used (%s); simulating again", folder, _reason(error))
    simulated = simulate()
    try:
        _write(simulated, folder=folder)
    except RunError as error:
        # Another process may have been faster; its readings are the same.
        if not _is_whole(folder):
            _log.warning("readings are not cached: %s", error)
    return simulated


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def _read(folder: Path) -> Simulated:
    checked = CheckedFolder.open(folder)
    if checked.manifest is None:
        raise RunError("has no checksums", where=str(folder))
    file = checked.require(_READINGS)
    notes = json.loads(pl.read_parquet_metadata(file)["thence"])
    return pl.read_parquet(file), notes


def _is_whole(folder: Path) -> bool:
    try:
        CheckedFolder.open(folder).require(_READINGS)
    except RunError:
        return False
    return True


def _write(simulated: Simulated, *, folder: Path) -> None:
    frame, notes = simulated
    try:
        # A folder that is there could not be used, so it is replaced.
        with new_folder(folder, force=True) as draft:
            frame.write_parquet(draft / _READINGS, metadata={"thence": json.dumps(notes)})
            write_manifest(draft)
        # Earlier versions wrote a file without a checksum.
        folder.with_name(f"{folder.name}.parquet").unlink(missing_ok=True)
    except _FOREIGN as error:
        # Polars has errors of its own for a disk that is full.
        raise RunError(f"cannot be written ({_reason(error)})", where=str(folder)) from error


def _reason(error: BaseException) -> str:
    return error.message if isinstance(error, RunError) else quote(error)[1:-1]
