"""The protocols of loaders and of graph servers, and how that of a source is chosen.

A loader reads one format. It is registered by name in one of the tables of ``thence.data.loaders``, or by the entry
point of another package. A source that is the URL of a server is read by the ``GraphServer`` of its scheme. Those of
this package are in ``thence.data.stores`` and are imported when they are needed. Another package adds one with an
entry point in the group ``thence.graph_servers``, named by the scheme of its URLs. This module must not know any
format, and opens no connection.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from thence._base.settings.registry import Registry
from thence._base.settings.typed import check_types
from thence.errors import ConfigError, GraphError, nearest

if TYPE_CHECKING:
    from thence.data.graph.binding import Binding
    from thence.data.graph.knowledge_graph import KnowledgeGraph

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


def iterate_loaders(loaders: Registry[Loader[Any]]) -> Iterator[tuple[str, Loader[Any]]]:
    """Yield the name and loader of each format in ``loaders``, those of this package first, each imported in turn."""
    for name in loaders:
        yield name, loaders.load(name)


def choose_formats(loaders: Registry[Loader[Any]], paths: Iterable[Path]) -> list[str]:
    """Return for each path the first format with its suffix.

    Args:
        loaders: The formats.
        paths: Files and folders that exist; a folder has the format ``"rdf"``.

    Raises:
        ThenceError: If no format has the suffix of a path. The error lists all such paths.
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
        raise loaders.error(
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


@dataclass(frozen=True)
class GraphServer:
    """How graphs and bindings are read from one kind of server.

    Args:
        read_graph: ``read_graph(url, **options)``. It returns the complete graph, or raises. Messages must not hold
            credentials.
        read_binding: ``read_binding(url, **options)``.
        options: The names of the options of ``read_graph``.
        binding_options: The names of the options of ``read_binding``.
    """

    read_graph: Callable[..., KnowledgeGraph]
    read_binding: Callable[..., Binding]
    options: tuple[str, ...] = ()
    binding_options: tuple[str, ...] = ()


GRAPH_SERVERS: Registry[GraphServer] = Registry(
    "graph server",
    {
        **{
            f"{scheme}{tls}": "thence.data.stores.bolt:SERVER"
            for scheme in ("bolt", "neo4j")
            for tls in ("", "+s", "+ssc")
        },
        **dict.fromkeys(("sparql+http", "sparql+https"), "thence.data.stores.sparql:SERVER"),
    },
    group="thence.graph_servers",
    of=GraphServer,
)
"""The server of each scheme."""


def find_graph_server(source: Any, *, what: str = "graphs") -> GraphServer | None:
    """Return what reads from a server, or ``None`` if the source is not a URL.

    Args:
        source: A path, a URL or an object.
        what: What is read, for messages.

    Raises:
        ConfigError: If the source is a URL of which no server is known.

    Examples:
        >>> find_graph_server("plant.ttl") is None
        True
        >>> find_graph_server("http://example.org/sparql")
        Traceback (most recent call last):
        thence.errors.ConfigError: graphs cannot be read from a URL that begins with 'http://' (for a SPARQL endpoint, \
write 'sparql+http://'; a file must be downloaded first)
    """
    if not isinstance(source, str) or "://" not in source:
        return None
    scheme = source.partition("://")[0].lower()
    if len(scheme) < 2 or not scheme.replace("+", "").replace("-", "").replace(".", "").isalnum():
        return None  # a drive of Windows, or a path
    if scheme not in GRAPH_SERVERS:
        known = ", ".join(f"{name}://" for name in GRAPH_SERVERS)
        hint = f"for a SPARQL endpoint, write 'sparql+{scheme}://'; a file must be downloaded first"
        if scheme not in ("http", "https"):
            hint = nearest(scheme, GRAPH_SERVERS) or f"known: {known}"
        raise ConfigError(f"{what} cannot be read from a URL that begins with '{scheme}://'", hint=hint)
    return GRAPH_SERVERS.load(scheme)


def given_options(
    options: Mapping[str, Any], known: tuple[str, ...], function: Callable[..., Any], *, server: bool
) -> dict[str, Any]:
    """Return the options that are not ``None``; raise a ``ConfigError`` for one that the source does not take.

    Args:
        options: Options by name.
        known: The names that the source takes.
        function: What takes them; its annotations are checked.
        server: Whether the source is a server, for the message.
    """
    given = {name: value for name, value in options.items() if value is not None}
    for name in given:
        if name not in known:
            hint = f"this server takes {', '.join(known)}" if server else "leave it out, or pass the URL of a server"
            what = "a server of this kind does not take" if server else "only graph servers take"
            raise ConfigError(f"{what} '{name}'", hint=hint)
    check_types(function, given)
    return given
