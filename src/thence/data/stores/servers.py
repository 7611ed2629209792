"""The graph servers of this package, as ``thence.data.loaders.servers`` finds them by the scheme of a URL."""

from __future__ import annotations

from typing import Any

from thence.data.graph.binding import Binding
from thence.data.loaders.bindings import from_graph
from thence.data.loaders.servers import GraphServer
from thence.data.stores.bolt_graph import read_bolt_binding, read_bolt_graph
from thence.data.stores.sparql_graph import read_sparql_graph
from thence.data.stores.urls import without_credentials

__all__ = ["BOLT", "SPARQL"]


def _bolt_binding(url: str, *, query: str | None = None, **options: Any) -> Binding:
    """The binding of a query; without one, that of the time series references in the graph."""
    if query is not None:
        return read_bolt_binding(url, query, **options)
    reading = {name: value for name, value in options.items() if name not in ("sensor", "node")}
    return from_graph(read_bolt_graph(url, **reading), where=without_credentials(url))


def _sparql_binding(url: str, **options: Any) -> Binding:
    """The binding of the time series references in the graph of an endpoint."""
    return from_graph(read_sparql_graph(url, **options), where=without_credentials(url))


BOLT = GraphServer(
    read_bolt_graph,
    _bolt_binding,
    options=("id", "classes", "nodes", "edges", "database", "page", "timeout"),
    binding_options=("query", "sensor", "node", "database", "page", "timeout"),
)
SPARQL = GraphServer(
    read_sparql_graph,
    _sparql_binding,
    options=("graph", "query", "page", "prefixes", "fold", "timeout", "max_bytes"),
    binding_options=("graph", "query", "page", "timeout", "max_bytes"),
)
