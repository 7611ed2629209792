"""Simulated readings on disk, so that the second load of a data set costs a file read.

One Parquet file per set of parameters, named by a hash of the parameters, of the source files and of the versions of
generator and simulator. Files appear whole or not at all, so runs in parallel may share the folder. A cache that
cannot be written is no error: the readings are simulated again.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Iterable, Mapping
from importlib import metadata
from pathlib import Path

import polars as pl

from thence.atomic import new_file
from thence.datasets.places import cache_folder
from thence.errors import RunError

__all__ = ["Made", "cached", "fingerprint"]

Made = tuple[pl.DataFrame, dict[str, str]]
_log = logging.getLogger(__name__)


def fingerprint(parameters: Mapping[str, object], *, sources: Iterable[Path]) -> str:
    """A hash of parameters (plain JSON values) and of the bytes of the source files.

    >>> fingerprint({"days": 7}, sources=[]) == fingerprint({"days": 7}, sources=[])
    True
    >>> fingerprint({"days": 7}, sources=[]) == fingerprint({"days": 8}, sources=[])
    False
    """
    digest = hashlib.sha256(json.dumps(parameters, sort_keys=True).encode())
    for source in sources:
        digest.update(hashlib.sha256(source.read_bytes()).digest())
    return digest.hexdigest()[:24]


def cached(
    dataset: str, *, parameters: Mapping[str, object], sources: Iterable[Path], make: Callable[[], Made]
) -> Made:
    """The frame (and its notes) that ``make`` returns for these parameters, from disk where it was made before.

    ``parameters`` must hold everything that the result depends on besides the source files: the version of the
    generator too.
    """
    versions = {"wntr": _version("wntr")}
    key = fingerprint({**parameters, "versions": versions}, sources=sources)
    file = cache_folder() / dataset / f"{key}.parquet"
    if file.is_file():
        try:
            return _read(file)
        except (pl.exceptions.PolarsError, OSError, ValueError, KeyError) as error:
            _log.warning("%s cannot be read (%s); simulating again", file, error)
    made = make()
    try:
        _write(made, file=file)
    except RunError as error:
        _log.warning("the cache is not used: %s", error)
    return made


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def _read(file: Path) -> Made:
    notes = json.loads(pl.read_parquet_metadata(file)["thence"])
    return pl.read_parquet(file), notes


def _write(made: Made, *, file: Path) -> None:
    frame, notes = made
    with new_file(file) as draft:
        frame.write_parquet(draft, metadata={"thence": json.dumps(notes)})
