"""Folders of data sets: where published files are searched, and where simulated readings are cached.

Finds folders and says where to get what is missing. It must not download or read the files.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from platformdirs import user_cache_path

from thence.errors import InputError

__all__ = ["cache_folder", "data_folders", "find_folder", "packaged_file"]


def cache_folder() -> Path:
    """Return the folder for simulated data: ``$THENCE_CACHE``, or the cache folder of the user.

    >>> cache_folder().is_absolute()
    True
    """
    given = os.environ.get("THENCE_CACHE")
    return Path(given).expanduser().absolute() if given else user_cache_path("thence", appauthor=False)


def data_folders() -> tuple[Path, ...]:
    """Return the folders that are searched for published data, in order, whether or not they exist.

    These are ``$THENCE_DATA``, ``../shared/data`` relative to the current folder and to the root of a checkout, and
    ``data`` in the cache folder.
    """
    given = os.environ.get("THENCE_DATA")
    # src/thence/datasets/folders.py is three folders below the root of a checkout.
    checkout = Path(__file__).resolve().parents[3]
    found = [Path(given).expanduser()] if given else []
    found += [
        Path.cwd().parent / "shared" / "data",
        checkout.parent / "shared" / "data",
        cache_folder() / "data",
    ]
    return tuple(dict.fromkeys(folder.absolute() for folder in found))


def find_folder(
    dataset: str, *, folder: str, files: Sequence[str], path: str | os.PathLike[str] | None, publisher: str
) -> Path:
    """Return the folder that holds all files of a data set.

    Args:
        dataset: The name of the data set, for messages.
        folder: The name of the folder.
        files: The names of the files that must be in it.
        path: The folder itself or its parent; ``None`` to search ``data_folders()``.
        publisher: Where to get the files, for messages.

    Raises:
        InputError: If files are missing; the message names them, the folders searched and the publisher.
    """
    if path is not None:
        given = Path(path).expanduser()
        candidates: Iterable[Path] = (given, given / folder)
    else:
        candidates = [parent / folder for parent in data_folders()]
    searched = []
    for candidate in candidates:
        missing = [name for name in files if not (candidate / name).is_file()]
        if not missing:
            return candidate
        searched.append((candidate, missing))
    best, missing = min(searched, key=lambda entry: len(entry[1]))
    some = ", ".join(missing[:4]) + (f" and {len(missing) - 4} more" if len(missing) > 4 else "")
    if len(missing) < len(files):
        where, message = str(best), f"files of the data set '{dataset}' are missing: {some}"
    else:
        listed = ", ".join(str(candidate) for candidate, _ in searched)
        where, message = None, f"files of the data set '{dataset}' not found: {some}; searched {listed}"
    raise InputError(
        message,
        where=where,
        hint=f"get them from {publisher}, then pass path= or set THENCE_DATA to the folder that contains '{folder}'",
    )


def packaged_file(name: str) -> Path:
    """Return the path of a data file of this package."""
    return Path(__file__).parent / "data" / name
