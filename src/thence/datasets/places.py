"""Where the files of a data set may lie, and where Thence keeps what it has simulated.

Finds folders and says where to get what is missing; it never downloads and never reads the files.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from thence.errors import InputError

__all__ = ["cache_folder", "data_folders", "find_folder", "shipped"]


def cache_folder() -> Path:
    """The folder for simulated data: ``$THENCE_CACHE``, or the user's cache folder of this system.

    >>> cache_folder().is_absolute()
    True
    """
    given = os.environ.get("THENCE_CACHE")
    if given:
        return Path(given).expanduser().absolute()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "thence" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "thence"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "thence"


def data_folders() -> tuple[Path, ...]:
    """The folders searched for published data, in order, whether they exist or not.

    ``$THENCE_DATA``; ``../shared/data`` seen from the current folder and from the project's checkout; ``data`` in
    the cache folder.
    """
    given = os.environ.get("THENCE_DATA")
    # src/thence/datasets/places.py lies three folders below the root of a checkout.
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
    """The folder that holds all ``files`` of a data set, or an error that names what is missing and its publisher.

    ``path`` is that folder itself or its parent; without it the usual places are searched for ``folder``.
    """
    if path is not None:
        given = Path(path).expanduser()
        candidates: Iterable[Path] = (given, given / folder)
    else:
        candidates = [place / folder for place in data_folders()]
    tried = []
    for candidate in candidates:
        missing = [name for name in files if not (candidate / name).is_file()]
        if not missing:
            return candidate
        tried.append((candidate, missing))
    nearest_miss, missing = min(tried, key=lambda place: len(place[1]))
    places = ", ".join(str(candidate) for candidate, _ in tried)
    some = ", ".join(missing[:4]) + (f" and {len(missing) - 4} more" if len(missing) > 4 else "")
    if len(missing) < len(files):
        where, message = str(nearest_miss), f"the data set '{dataset}' lacks {some}"
    else:
        where, message = None, f"the files of the data set '{dataset}' ({some}) are in none of {places}"
    raise InputError(
        message,
        where=where,
        hint=f"get them from {publisher}, then pass path= or set THENCE_DATA to the folder that holds '{folder}'",
    )


def shipped(name: str) -> Path:
    """A file that comes with the package."""
    return Path(__file__).parent / "data" / name
