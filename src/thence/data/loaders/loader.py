"""The protocol of loaders, and how the loader of a file is chosen.

A loader reads one format. It is registered by name in one of the tables of ``thence.data.loaders``, or by the entry
point of another package. This module must not know any format.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from thence._base.settings.registry import Registry
from thence.errors import ConfigError, GraphError

__all__ = [
    "LoadOptions",
    "Loader",
    "check_format",
    "choose_formats",
    "collector_paused",
    "iterate_loaders",
    "load_loader",
    "only_path",
]

Loaded = TypeVar("Loaded")


@dataclass(frozen=True)
class LoadOptions:
    """The options of a call. A loader uses those that apply to its format and ignores the others.

    Args:
        format: The format that the caller named; ``None`` if it was chosen by the suffix.
        fold: Whether RDF value nodes become properties.
        labels: The attribute that holds the labels; ``None`` for the default.
        sensor: The column of sensor ids in a binding.
        node: The column of node ids in a binding.
    """

    format: str | None = None
    fold: bool = True
    labels: str | None = None
    sensor: str = "sensor"
    node: str = "node"


@dataclass(frozen=True)
class Loader(Generic[Loaded]):
    """How one format is read.

    Args:
        read: Reads files that exist (or folders) and returns a complete, checked object. It raises one error that
            lists all problems, with file and line.
        suffixes: The suffixes of the format's files, in lower case with a dot.
        several: Whether several files can be read together; otherwise ``read`` gets exactly one path.
        accepts: Whether an object in memory is of this format; ``None`` if the format exists only in files.
        convert: Converts an object that ``accepts`` recognised.
    """

    read: Callable[[Sequence[Path], LoadOptions], Loaded]
    suffixes: tuple[str, ...] = ()
    several: bool = False
    accepts: Callable[[object], bool] | None = None
    convert: Callable[[Any, LoadOptions], Loaded] | None = None


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pause Python's garbage collector, which takes most of the time while millions of records are made.

    Loaders make no reference cycles, so nothing is kept longer than without it.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def load_loader(loaders: Registry[Loader[Any]], name: str) -> Loader[Any]:
    """Import the loader that ``loaders`` has under ``name``; raise a ``GraphError`` if it is not a ``Loader``."""
    try:
        return loaders.load(name)
    except ConfigError as error:
        raise GraphError(error.message, where=error.where, hint=error.hint) from error


def iterate_loaders(loaders: Registry[Loader[Any]]) -> Iterator[tuple[str, Loader[Any]]]:
    """Yield the name and loader of each format in ``loaders``, those of this package first, each imported in turn."""
    for name in loaders.built_in:
        yield name, load_loader(loaders, name)
    for name in loaders:
        if name not in loaders.built_in:
            yield name, load_loader(loaders, name)


def check_format(loaders: Registry[Loader[Any]], name: str | None) -> None:
    """Raise a ``GraphError`` that suggests the nearest name if ``loaders`` has no format called ``name``."""
    try:
        if name is not None:
            loaders.check(name)
    except ConfigError as error:
        raise GraphError(error.message, hint=error.hint) from None


def choose_formats(loaders: Registry[Loader[Any]], paths: Iterable[Path]) -> list[str]:
    """Return for each path the first format with its suffix.

    Args:
        loaders: The formats.
        paths: Files and folders that exist; a folder has the format ``"rdf"``.

    Raises:
        GraphError: If no format has the suffix of a path. The error lists all such paths.
    """
    by_suffix: dict[str, str] = {}
    remaining = iterate_loaders(loaders)
    formats: list[str] = []
    unknown: list[str] = []
    for path in paths:
        suffix = path.suffix.lower()
        if path.is_dir():
            formats.append("rdf")
            continue
        # Loaders are imported one by one, until one of them has the suffix.
        while suffix not in by_suffix and (entry := next(remaining, None)):
            name, loader = entry
            for known in loader.suffixes:
                by_suffix.setdefault(known, name)
        if suffix in by_suffix:
            formats.append(by_suffix[suffix])
        else:
            unknown.append(str(path))
    if unknown:
        raise GraphError(
            f"no {loaders.kind} has the suffix of {', '.join(unknown)}",
            hint=f"known suffixes are {', '.join(by_suffix)}; or pass format=, one of {', '.join(loaders)}",
        )
    return formats


def only_path(paths: Sequence[Path], format: str) -> list[Path]:
    """Return ``paths`` if there is exactly one; raise a ``GraphError`` that names ``format`` if there are more."""
    if len(paths) > 1:
        raise GraphError(
            f"{format} takes one file, got {len(paths)}", hint="only RDF files and CSV tables can be read together"
        )
    return list(paths)
