"""Graph servers: which sources are servers, the options that only they take, and what reads each kind of them.

A source that is the URL of a server is read by the ``GraphServer`` of its scheme. Those of this package are in the
room ``stores`` and are imported when they are needed. Another package adds one with an entry point in the group
``thence.graph_servers``, named by the scheme of its URLs. This module opens no connection.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from thence._base.settings.registry import Registry
from thence._base.settings.typed import check_types
from thence.data.graph.binding import Binding
from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.errors import ConfigError, nearest

__all__ = ["GRAPH_SERVERS", "GraphServer", "find_graph_server"]


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
            f"{scheme}{tls}": "thence.data.stores.servers:BOLT"
            for scheme in ("bolt", "neo4j")
            for tls in ("", "+s", "+ssc")
        },
        **dict.fromkeys(("sparql+http", "sparql+https"), "thence.data.stores.servers:SPARQL"),
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
