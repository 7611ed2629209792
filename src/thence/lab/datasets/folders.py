"""Folders of data sets: where published files are searched, and where simulated readings are cached.

Finds folders, has missing files downloaded to the cache (``fetch.py``), and says where to get what cannot be
downloaded. It must not read the files.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import metadata, util
from pathlib import Path

from platformdirs import user_cache_path

from thence._base.progress import Progress, silent
from thence.data.datasets.published import Published, Remote, show_size
from thence.errors import InputError, MissingExtraError
from thence.lab.datasets.fetch import fetch, reason_not_to_fetch, unpack

__all__ = [
    "cache_folder",
    "data_folders",
    "fetched_folder",
    "find_folder",
    "find_in_epyt",
    "get_files",
    "packaged_file",
    "search_folder",
]

_MOST = 4  # files that a message names


def cache_folder() -> Path:
    """Return the folder for simulated readings and downloads: ``$THENCE_CACHE``, or the cache folder of the user.

    >>> cache_folder().is_absolute()
    True
    """
    given = os.environ.get("THENCE_CACHE")
    return Path(given).expanduser().absolute() if given else user_cache_path("thence", appauthor=False)


def data_folders() -> tuple[Path, ...]:
    """Return the folders that are searched for published data, in order, whether or not they exist.

    These are ``$THENCE_DATA``, ``../shared/data`` beside a checkout of Thence, and ``data`` in the cache folder.
    """
    given = os.environ.get("THENCE_DATA")
    found = [Path(given).expanduser()] if given else []
    # src/thence/lab/datasets/folders.py is four folders below the root of a checkout; an installed package is
    # elsewhere.
    root = Path(__file__).resolve().parents[4]
    if (root / "pyproject.toml").is_file():
        found.append(root.parent / "shared" / "data")
    found.append(cache_folder() / "data")
    return tuple(dict.fromkeys(folder.absolute() for folder in found))


def search_folder(
    published: Published, names: Sequence[str], *, path: str | os.PathLike[str] | None = None
) -> Path | None:
    """Return the first folder that contains files of these names, or ``None``.

    Args:
        published: The publication.
        names: The names of the files.
        path: The folder itself or its parent; ``None`` to search ``data_folders()``.
    """
    declared = {file.name: file for file in published.files}
    for place in _places(published.folder, path):
        # In the cache a file of another size is damaged, and downloaded again.
        sizes = declared if place == fetched_folder(published) else {}
        if all(sizes[name].has_size(place / name) if name in sizes else (place / name).is_file() for name in names):
            return place
    return None


def find_folder(
    dataset: str,
    published: Published,
    names: Sequence[str],
    *,
    path: str | os.PathLike[str] | None = None,
    progress: Progress = silent,
) -> Path:
    """Return a folder that contains published files; those that are missing are downloaded to the cache.

    Args:
        dataset: The name of the data set, for messages.
        published: The publication.
        names: The names of the files that must be in the folder.
        path: The folder itself or its parent, in which case nothing is downloaded; ``None`` to search
            ``data_folders()``.
        progress: Receives the progress of a download.

    Raises:
        InputError: If files are missing and cannot be downloaded; the message names them, their addresses, and the
            folder to put them in.
    """
    if found := search_folder(published, names, path=path):
        return found
    files, cached = published.select(names), fetched_folder(published)
    places = _places(published.folder, path)
    missing = [file for file in files if not file.has_size(cached / file.name)]
    problems: dict[str, list[str]] = {file.name: [] for file in missing}
    for archive in _archives_in(places, files):
        problems = unpack(archive, [file for file in missing if file.name in problems], folder=cached)
        if not problems:
            return cached
    if path is not None:
        raise _missing_in(path, dataset, published, places, files)
    why = reason_not_to_fetch()
    if why is None:
        problems = fetch(published, missing, folder=cached, progress=progress)
        if not problems:
            return cached
    raise _not_fetched(dataset, published, [file for file in missing if file.name in problems], problems, why)


def get_files(dataset: str, published: Published, *, progress: Progress = silent) -> tuple[Path, tuple[str, ...]]:
    """Download all files of a publication that the cache does not contain, or contains damaged.

    Args:
        dataset: The name of the data set, for messages.
        published: The publication.
        progress: Receives the progress of the download.

    Returns:
        The folder, and the names of the files that were downloaded.

    Raises:
        InputError: If files cannot be downloaded.
    """
    folder = fetched_folder(published)
    missing = [file for file in published.files if not file.is_intact(folder / file.name)]
    if missing:
        why = reason_not_to_fetch()
        problems = fetch(published, missing, folder=folder, progress=progress) if why is None else {}
        left = [file for file in missing if why is not None or file.name in problems]
        if left:
            raise _not_fetched(dataset, published, left, problems, why)
    return folder, tuple(file.name for file in missing)


def fetched_folder(published: Published) -> Path:
    """Return the folder of the cache for the files of a publication."""
    return cache_folder() / "data" / published.folder


def _places(folder: str, path: str | os.PathLike[str] | None) -> tuple[Path, ...]:
    if path is None:
        return tuple(parent / folder for parent in data_folders())
    given = Path(path).expanduser()
    return given, given / folder


def _archives_in(places: Iterable[Path], files: Sequence[Remote]) -> Iterator[Path]:
    """Archives of the publisher that somebody has put in one of the folders."""
    names = dict.fromkeys(file.archive.name for file in files if file.archive)
    return (place / name for place in places for name in names if (place / name).is_file())


def _missing_in(
    path: str | os.PathLike[str], dataset: str, published: Published, places: Iterable[Path], files: Sequence[Remote]
) -> InputError:
    absent = {place: [file.name for file in files if not (place / file.name).is_file()] for place in places}
    best, missing = min(absent.items(), key=lambda entry: len(entry[1]))
    some = ", ".join(missing[:_MOST]) + (f" and {len(missing) - _MOST} more" if len(missing) > _MOST else "")
    return InputError(
        f"files of the data set '{dataset}' are missing: {some}",
        where=str(best if len(missing) < len(files) else path),
        hint=f"get them from {published.publisher}, {published.page}, or leave out path= to download them",
    )


def _not_fetched(
    dataset: str, published: Published, files: Sequence[Remote], problems: Mapping[str, Sequence[str]], why: str | None
) -> InputError:
    lines = [f"files of the data set '{dataset}' are not here and cannot be downloaded{f' ({why})' if why else ''}:"]
    for file in files[:_MOST]:
        urls = (*file.urls, *(file.archive.urls if file.archive else ()))
        lines.append(f"  {file.name} ({'made from the archive' if file.make else show_size(file.size)})")
        lines += [f"    {line}" for line in problems.get(file.name) or urls]
    if len(files) > _MOST:
        lines.append(f"  and {len(files) - _MOST} more: thence datasets show {dataset}")
    archives = dict.fromkeys(file.archive.name for file in files if file.archive)
    return InputError(
        "\n".join(lines) + "\n",
        hint=(
            f"get them from {published.publisher}, {published.page}, and put them"
            f"{''.join(f' (or {name})' for name in archives)} in {fetched_folder(published)}, or set "
            f"THENCE_DATA to the folder that contains '{published.folder}', or pass path="
        ),
    )


def packaged_file(name: str) -> Path:
    """Return the path of a data file of this package."""
    return Path(__file__).parent / "data" / name


def find_in_epyt(name: str) -> tuple[Path, ...]:
    """Return the files of this name that the package EPyT brings, wherever it keeps them; the package is not imported.

    Args:
        name: The name of an EPANET file.

    Raises:
        MissingExtraError: If the package is not installed, or has no such file.
    """
    package = util.find_spec("epyt")
    roots = (package.submodule_search_locations or ()) if package else ()
    found = [file for root in roots for file in Path(root).rglob("*.inp") if file.name.lower() == name.lower()]
    if not found:
        which = f"epyt {metadata.version('epyt')} has none" if package else "which is not installed"
        raise MissingExtraError(
            f"the network {name} comes with the package 'epyt' ({which})",
            hint="pip install 'thence[water]', or pass path=",
        )
    return tuple(sorted(found, key=lambda file: (len(file.parts), str(file))))
