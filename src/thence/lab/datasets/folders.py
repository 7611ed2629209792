"""Files of data sets: where they are searched, downloaded and cached, and what their publishers declare.

Finds folders, downloads missing files to the cache, and says where to get what cannot be downloaded. Downloads are
checked by SHA-256, resumed after an interruption, and tried at several addresses. A file appears under its name only
when it is complete and its checksum is right (``pooch``). What has arrived of it is kept as ``NAME.part``, and the next
attempt asks the server for the rest. ``THENCE_OFFLINE=1`` forbids downloads; ``THENCE_MIRROR`` is an address that is
tried before those of the publishers. ``pooch`` and ``requests`` are imported only when something is downloaded.
"""

from __future__ import annotations

import errno
import logging
import os
import time
import tomllib
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache, partial
from importlib import metadata, util
from pathlib import Path, PurePosixPath
from typing import Any, Literal
from urllib.parse import quote as quote_url
from urllib.parse import urlsplit
from zipfile import BadZipFile, ZipFile

from platformdirs import user_cache_path

from thence._base.atomic import claim, new_file
from thence._base.progress import Progress, silent
from thence.data.datasets.published import Archive, Published, Remote, show_size
from thence.errors import ConfigError, InputError, MissingExtraError, RunError, nearest, require

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
    # This file is four folders below the root of a checkout; an installed package is elsewhere.
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


@cache
def packaged_facts(name: str) -> Mapping[str, Any]:
    """Return what a TOML file of this package says."""
    return tomllib.loads(packaged_file(name).read_text(encoding="utf-8"))


def declared(name: str) -> Published:
    """Return a publication that ``published.toml`` declares.

    >>> declared("brick").files[0].name
    'Brick-1.3.ttl'
    """
    facts = packaged_facts("published.toml")[name]
    archive = Archive(facts["archive"]["name"], tuple(facts["archive"]["urls"])) if "archive" in facts else None
    files = []
    for file in facts["files"]:
        urls = tuple(url if "://" in url else f"{facts['base']}{url}" for url in file.get("urls", ()))
        files.append(Remote(**{**file, "urls": urls}, archive=archive, newlines=facts.get("newlines", False)))
    texts = {key: facts[key] for key in ("folder", "publisher", "page", "licence", "citation")}
    return Published(**texts, files=tuple(files))


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


def choose_kinds(sensors: str | Iterable[str], *, known: Sequence[str]) -> frozenset[str]:
    """Return the kinds of sensors asked for: "all", one kind, or several.

    >>> sorted(choose_kinds("all", known=("pressure", "flow"))), choose_kinds("flow", known=("pressure", "flow"))
    (['flow', 'pressure'], frozenset({'flow'}))
    """
    if sensors == "all":
        return frozenset(known)
    chosen = frozenset((sensors,) if isinstance(sensors, str) else sensors)
    for kind in sorted(chosen.difference(known)):
        raise ConfigError(
            f"this data set has no '{kind}' sensors; kinds are {', '.join(known)}", hint=nearest(kind, known)
        )
    if not chosen:
        raise ConfigError("no kind of sensor was asked for", hint=f"kinds are {', '.join(known)}")
    return chosen


_TIMEOUT = (10.0, 30.0)  # seconds to connect, and without a byte
_ATTEMPTS = 5  # at one address, as long as each of them adds to the file
_BLOCK = 1 << 13  # bytes; what has arrived of a block is lost when the connection is
Problems = dict[str, list[str]]
"""For each file that could not be fetched, what was tried."""


def reason_not_to_fetch() -> str | None:
    """Return why nothing can be downloaded, or ``None``."""
    if os.environ.get("THENCE_OFFLINE", "0") not in ("", "0"):
        return "THENCE_OFFLINE is set"
    if util.find_spec("pooch") is None:
        return "the package 'pooch' is not installed: pip install 'thence[datasets]'"
    return None


def fetch(published: Published, files: Sequence[Remote], *, folder: Path, progress: Progress) -> Problems:
    """Download files, and return those that could not be had.

    Processes that fetch the same file wait for one another, and the second finds it complete.

    Args:
        published: The publication.
        files: Which of its files.
        folder: Where to put them.
        progress: Receives the number of bytes.

    Raises:
        InputError: If the files cannot be written.
    """
    work = _Work(progress, total=0 if any(not file.size for file in files) else sum(file.size for file in files))
    problems: Problems = {}
    with _writing(folder):
        for file in files:
            tried = problems[file.name] = []
            urls = _with_mirror(published, file.name, file.urls) if file.make is None else []
            with _alone(folder / file.name):
                if file.is_intact(folder / file.name) or _download(urls, folder / file.name, file, work, tried):
                    del problems[file.name]
        for archive in dict.fromkeys(file.archive for file in files if file.name in problems and file.archive):
            _take_from_archive(published, archive, files, folder=folder, work=work, problems=problems)
    return problems


def unpack(archive: Path, files: Sequence[Remote], *, folder: Path) -> Problems:
    """Take files out of a zip archive into a folder, and return those that are not in it.

    Args:
        archive: The archive.
        files: The files to take out or to make.
        folder: Where to put them.
    """
    try:
        opened = ZipFile(archive)
    except (BadZipFile, OSError) as error:
        return {file.name: [f"{archive.name}: not a zip archive ({error})"] for file in files}
    problems: Problems = {}
    with opened, _writing(folder):
        for file in files:
            try:
                problem = _take_out(opened, file, folder / file.name)
            except (BadZipFile, EOFError, zlib.error) as error:
                problem = f"{file.name} is damaged ({error})"
            if problem is not None:
                problems[file.name] = [f"{archive.name}: {problem}"]
    return problems


def _with_mirror(published: Published, name: str, urls: Sequence[str]) -> list[str]:
    mirror = os.environ.get("THENCE_MIRROR", "").rstrip("/")
    return [*([f"{mirror}/{published.folder}/{quote_url(name)}"] if mirror else []), *urls]


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    """Turn what goes wrong on disk into one error."""
    hint = "free some space, or set THENCE_CACHE to a folder on another disk"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except RunError as error:
        raise InputError(error.message, where=error.where, hint=hint) from error
    except OSError as error:
        full = error.errno == errno.ENOSPC
        reason = "no space left on the disk" if full else f"cannot be written ({error.strerror or error})"
        raise InputError(reason, where=str(folder), hint=hint) from error


@contextmanager
def _alone(target: Path) -> Iterator[None]:
    """Wait until no other process or thread fetches the same file."""
    with ExitStack() as stack:
        while True:
            try:
                stack.enter_context(claim(target))
                break
            except RunError:
                time.sleep(0.1)
        yield


@dataclass
class _Work:
    """What a call has done: the bytes that have arrived of all files together, and the hosts that did not answer."""

    progress: Progress
    total: int
    done: int = 0
    silent_hosts: set[str] = field(default_factory=set)

    def show(self, name: str, arrived: int) -> None:
        self.progress("download", self.done + arrived, self.total, f"{name}, {show_size(arrived)}")


def _download(urls: Sequence[str], target: Path, file: Remote | None, work: _Work, tried: list[str]) -> bool:
    """Download one file from the first address that has it; without ``file``, its checksum is not known."""
    part = target.with_name(f"{target.name}.part")
    for url in urls:
        host = urlsplit(url).netloc
        if host in work.silent_hosts:
            tried.append(f"{url}: {host} did not answer before")
            continue
        outcome = _Outcome("refused", "not tried")
        for _ in range(_ATTEMPTS):
            before = _size(part)
            outcome = _retrieve(url, target, part, file, work)
            if outcome.kind == "complete":
                work.done += _size(target)
                return True
            grown = outcome.kind == "cut off" and _size(part) > before
            # What had arrived before may be part of another version of the file.
            mixed = outcome.kind == "wrong" and before > 0
            if not grown and not mixed:
                break
        if outcome.kind == "no answer":
            work.silent_hosts.add(host)
        tried.append(f"{url}: {outcome.problem}")
    return False


@dataclass(frozen=True)
class _Outcome:
    kind: Literal["complete", "refused", "no answer", "cut off", "wrong"]
    problem: str = ""


class _NoAnswerError(Exception):
    """A host did not answer a request."""


def _retrieve(url: str, target: Path, part: Path, file: Remote | None, work: _Work) -> _Outcome:
    """Try one address once."""
    pooch: Any = require("pooch", extra="datasets")
    requests: Any = require("requests", extra="datasets")
    try:
        with _quiet(pooch.get_logger()):
            pooch.retrieve(
                url,
                known_hash=f"sha256:{file.sha256}" if file else None,
                fname=target.name,
                path=target.parent,
                downloader=_resume(part, newlines=file is not None and file.newlines, work=work),
            )
    except requests.HTTPError as error:
        return _Outcome("refused", f"{error.response.status_code} {error.response.reason}")
    except _NoAnswerError as error:
        return _Outcome("no answer", str(error))
    except requests.RequestException as error:
        return _Outcome("cut off", _reason(error, "the connection was cut off"))
    except ValueError as error:  # pooch: the checksum is wrong; it has removed the file
        return _Outcome("wrong", str(error).partition(" Deleted")[0])
    except OSError:
        part.unlink(missing_ok=True)
        raise
    return _Outcome("complete")


def _resume(part: Path, *, newlines: bool, work: _Work) -> Callable[[str, str, object], None]:
    """Return a downloader for ``pooch`` that goes on where ``part`` ends, if the server can."""

    def download(url: str, output_file: str, _: object) -> None:
        requests: Any = require("requests", extra="datasets")
        have = _size(part)
        headers = {"Accept-Encoding": "identity", "User-Agent": "thence"}
        if have:
            headers["Range"] = f"bytes={have}-"
        try:
            answer = requests.get(url, headers=headers, stream=True, timeout=_TIMEOUT)
        except requests.RequestException as error:
            raise _NoAnswerError(_reason(error, str(error))) from error
        with answer as response:
            if response.status_code == requests.codes.requested_range_not_satisfiable:
                # All of it may have arrived before; the checksum decides.
                length = 0
            else:
                response.raise_for_status()
                if response.status_code != requests.codes.partial_content:
                    have = 0
                length = have + int(response.headers.get("Content-Length", 0))
                with part.open("ab" if have else "wb") as draft:
                    for block in response.iter_content(_BLOCK):
                        have += draft.write(block)
                        work.show(part.name.removesuffix(".part"), have)
        if have < length:
            raise requests.ConnectionError
        if newlines:
            Path(output_file).write_bytes(part.read_bytes().replace(b"\r\n", b"\n"))
            part.unlink()
        else:
            part.replace(output_file)

    return download


def _take_from_archive(
    published: Published,
    archive: Archive,
    files: Sequence[Remote],
    *,
    folder: Path,
    work: _Work,
    problems: Problems,
) -> None:
    """Download an archive, take out the files that are missing, and remove it."""
    target = folder / archive.name
    with _alone(target):
        missing = [file for file in files if file.archive == archive and file.name in problems]
        missing = [file for file in missing if not file.is_intact(folder / file.name)]
        tried: list[str] = []
        left: Mapping[str, list[str]] = {}
        for url in _with_mirror(published, archive.name, archive.urls) if missing else ():
            target.unlink(missing_ok=True)
            if not _download([url], target, None, work, tried):
                continue
            left = unpack(target, missing, folder=folder)
            missing = [file for file in missing if file.name in left]
            if not missing:
                break
        target.unlink(missing_ok=True)
    still = {file.name for file in missing}
    for file in files:
        if file.archive == archive and file.name in problems:
            if file.name in still:
                problems[file.name] += [*tried, *left.get(file.name, ())]
            else:
                del problems[file.name]


def _take_out(archive: ZipFile, file: Remote, target: Path) -> str | None:
    """Write a member, or what is made from members, and return what is wrong with it."""
    if file.make is not None:
        return _write_checked(file, target, partial(file.make, archive))
    base = PurePosixPath(file.name).name
    problem: str | None = f"no member {base}"
    for member in archive.namelist():
        if PurePosixPath(member).name == base:
            content = archive.read(member)
            content = content.replace(b"\r\n", b"\n") if file.newlines else content
            problem = _write_checked(file, target, partial(_write_bytes, content))
            if problem is None:
                return None
    return problem


def _write_bytes(content: bytes, path: Path) -> None:
    path.write_bytes(content)


def _write_checked(file: Remote, target: Path, write: Callable[[Path], None]) -> str | None:
    """Write a file if its checksum is right, and return what is wrong with it."""
    with suppress(_WrongChecksumError), new_file(target) as draft:
        write(draft)
        found = file.digest(draft)
        if found == file.sha256:
            return None
        raise _WrongChecksumError
    return f"{file.name}: the SHA-256 is {found}, expected {file.sha256}"


class _WrongChecksumError(Exception):
    pass


@contextmanager
def _quiet(logger: logging.Logger) -> Iterator[None]:
    """Keep ``pooch`` from printing what it does; warnings pass."""
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(level)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _reason(error: Exception, otherwise: str) -> str:
    """Why a request failed: the system's words if it has any."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, TimeoutError):
            return "timed out"
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror
        cause = cause.__cause__ or cause.__context__
    return otherwise
