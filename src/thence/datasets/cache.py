"""A cache of simulated readings on disk, so that loading a data set again costs one file read.

There is one Parquet file per set of parameters, named by a hash of the parameters, the source files and the versions
of generator and simulator. Files are written atomically, so parallel processes may share the folder. If the cache
cannot be written, a warning is logged and the readings are simulated each time.
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
from thence.datasets.folders import cache_folder
from thence.errors import RunError

__all__ = ["Simulated", "fingerprint", "load_or_simulate"]

Simulated = tuple[pl.DataFrame, dict[str, str]]
"""A frame of readings, and notes about the simulation."""
_log = logging.getLogger(__name__)


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
    file = cache_folder() / dataset / f"{key}.parquet"
    if file.is_file():
        try:
            return _read(file)
        except (pl.exceptions.PolarsError, OSError, ValueError, KeyError) as error:
            _log.warning("%s cannot be read (%s); simulating again", file, error)
    simulated = simulate()
    try:
        _write(simulated, file=file)
    except RunError as error:
        _log.warning("readings are not cached: %s", error)
    return simulated


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def _read(file: Path) -> Simulated:
    notes = json.loads(pl.read_parquet_metadata(file)["thence"])
    return pl.read_parquet(file), notes


def _write(simulated: Simulated, *, file: Path) -> None:
    frame, notes = simulated
    with new_file(file) as draft:
        frame.write_parquet(draft, metadata={"thence": json.dumps(notes)})
