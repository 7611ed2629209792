"""Knowledge graphs from SPARQL endpoints, by the same mapping as RDF files.

The triples of the whole graph are read in one answer or in pages, and their number is compared with the number that the
endpoint counts, since many endpoints cut long answers off. Triples have no order on a server: they are sorted, so that
the graph is the same each time it is read.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path

from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.loaders.triples import Object, Subject, Triples, parse_files
from thence.data.stores.sparql import MAX_BYTES, Endpoint, parse_sparql_url
from thence.errors import ConfigError, GraphError

__all__ = ["download_graph", "read_sparql_graph", "sort_triples"]

Triple = tuple[Subject, str, Object]

_ROUNDS = 8
_GRAPHS_SHOWN = 5
_COMMENT = re.compile(r"<[^<>\s]*>|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|#[^\n]*")


def read_sparql_graph(
    url: str,
    *,
    graph: str | None = None,
    query: str | None = None,
    page: int | None = None,
    prefixes: Mapping[str, str] | None = None,
    fold: bool = True,
    timeout: float = 60.0,
    max_bytes: int = MAX_BYTES,
) -> KnowledgeGraph:
    """Read a knowledge graph from a SPARQL endpoint.

    Args:
        url: The URL; see ``thence.data.stores.sparql.parse_sparql_url``.
        graph: The IRI of a named graph; by default the default graph.
        query: A ``CONSTRUCT`` or ``DESCRIBE`` query, instead of the whole graph.
        page: Read this many triples at a time, for endpoints that limit the length of answers.
        prefixes: Prefix to namespace, for the ids of nodes with the same local name; a file declares its own.
        fold: Whether nodes that only hold a value, with or without a unit, become properties.
        timeout: The most seconds to wait for a connection, or for the next part of an answer.
        max_bytes: The longest answer.

    Raises:
        GraphError: If the endpoint does not answer, refuses, or its answer is not complete.
    """
    from thence.data.loaders.loader import LoadOptions
    from thence.data.loaders.rdf import read

    with download_graph(
        url, graph=graph, query=query, page=page, prefixes=prefixes, timeout=timeout, max_bytes=max_bytes
    ) as file:
        try:
            return read([file], LoadOptions(fold=fold))
        except GraphError as error:
            raise GraphError(error.message, where=parse_sparql_url(url).url, hint=error.hint) from None


@contextmanager
def download_graph(
    url: str,
    *,
    graph: str | None = None,
    query: str | None = None,
    page: int | None = None,
    prefixes: Mapping[str, str] | None = None,
    timeout: float = 60.0,
    max_bytes: int = MAX_BYTES,
) -> Iterator[Path]:
    """Write the graph of an endpoint to a temporary Turtle file, for everything that reads RDF files.

    Args:
        url: The URL; see ``thence.data.stores.sparql.parse_sparql_url``.
        graph: The IRI of a named graph; by default the default graph.
        query: A ``CONSTRUCT`` or ``DESCRIBE`` query, instead of the whole graph.
        page: Read this many triples at a time.
        prefixes: Prefix to namespace, as the file declares them.
        timeout: The most seconds to wait for a connection, or for the next part of an answer.
        max_bytes: The longest answer.

    Raises:
        GraphError: If the endpoint does not answer, refuses, or its answer is not complete.
    """
    import pyoxigraph as ox

    endpoint = parse_sparql_url(url, timeout=timeout, max_bytes=max_bytes)
    if query is not None and (graph is not None or page is not None):
        other = "graph" if graph is not None else "page"
        raise ConfigError(f"'query' and '{other}' exclude each other", hint="write the graph and limits in the query")
    if page is not None and page < 1:
        raise ConfigError(f"'page' must be at least 1, got {page}")
    for prefix, space in (prefixes or {}).items():
        try:
            valid = re.fullmatch(r"[A-Za-z][\w-]*", prefix) is not None and bool(ox.NamedNode(space))
        except ValueError:
            valid = False
        if not valid:
            raise ConfigError(
                f"'prefixes' are not valid: '{prefix}' to '{space}'", hint="prefixes={'ex': 'http://example.org/#'}"
            )
    with tempfile.TemporaryDirectory(prefix="thence-") as folder:
        if query is not None:
            parsed = _constructed(endpoint, query, Path(folder))
        else:
            parsed = _whole_graph(endpoint, graph, page, Path(folder))
        known = {prefix: space for space, prefix in parsed.prefixes.items()} | dict(prefixes or {})
        file = Path(folder) / "graph.ttl"
        triples = (ox.Triple(s, ox.NamedNode(p), o) for s, p, o in sort_triples(parsed.triples))
        ox.serialize(triples, output=file, format=ox.RdfFormat.TURTLE, prefixes=known)
        yield file


def sort_triples(triples: Sequence[Triple]) -> list[Triple]:
    """Return triples in an order that does not depend on the order given nor on the labels of blank nodes.

    Blank nodes are told apart by what is said of them, a few steps away at most; those that look alike stay in an
    order by their labels.

    Args:
        triples: Subject, predicate and object; a triple that is given twice is returned once.

    Examples:
        >>> import pyoxigraph as ox
        >>> room, area, value = ox.NamedNode("http://x/r1"), "http://x/area", "http://x/value"
        >>> a, b = ox.BlankNode("a"), ox.BlankNode("b")
        >>> one = [(room, area, a), (a, value, ox.Literal(1)), (room, area, b), (b, value, ox.Literal(2))]
        >>> two = [(room, area, b), (b, value, ox.Literal(1)), (room, area, a), (a, value, ox.Literal(2))]
        >>> [str(o) for _, p, o in sort_triples(one) if p == value] == [
        ...     str(o) for _, p, o in sort_triples(two) if p == value
        ... ]
        True
    """
    import pyoxigraph as ox

    marks: dict[Object, str] = {}
    blank: set[Object] = {term for s, _, o in triples for term in (s, o) if isinstance(term, ox.BlankNode)}
    marks.update(dict.fromkeys(blank, ""))

    def text(term: Object) -> str:
        return f"_:{marks[term]}" if term in blank else str(term)

    kinds = 0
    for _ in range(_ROUNDS if blank else 0):
        said: dict[Object, list[str]] = {term: [] for term in blank}
        for s, p, o in triples:
            if s in blank:
                said[s].append(f"> {p} {text(o)}")
            if o in blank:
                said[o].append(f"< {p} {text(s)}")
        marks = {t: _mark([marks[t], *sorted(statements)]) for t, statements in said.items()}
        if len(set(marks.values())) == kinds:
            break
        kinds = len(set(marks.values()))

    def key(triple: Triple) -> tuple[str, ...]:
        s, p, o = triple
        labels = [str(term) if term in blank else "" for term in (s, o)]
        return text(s), p, text(o), *labels

    return sorted(dict.fromkeys(triples), key=key)


def _mark(statements: list[str]) -> str:
    return blake2b("\n".join(statements).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _constructed(endpoint: Endpoint, query: str, folder: Path) -> Triples:
    """The triples of a user's query."""
    bare = _COMMENT.sub(lambda found: "" if found[0].startswith("#") else found[0], query)
    if not re.search(r"\b(CONSTRUCT|DESCRIBE)\b", bare, re.IGNORECASE):
        raise ConfigError(
            "'query' must be a CONSTRUCT or DESCRIBE query", hint="CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }"
        )
    return _fetched(endpoint, query, folder / "answer", whole=True)


def _whole_graph(endpoint: Endpoint, graph: str | None, page: int | None, folder: Path) -> Triples:
    """All triples of the default graph or of a named one; as many as the endpoint counts."""
    import pyoxigraph as ox

    body = "?s ?p ?o"
    if graph is not None:
        try:
            body = f"GRAPH {ox.NamedNode(graph)} {{ ?s ?p ?o }}"
        except ValueError:
            raise ConfigError(
                f"'graph' must be an IRI, got '{graph}'", hint="graph='http://example.org/plant'"
            ) from None
    counted = endpoint.select(f"SELECT (COUNT(*) AS ?n) WHERE {{ SELECT DISTINCT ?s ?p ?o WHERE {{ {body} }} }}")
    try:
        total = int(counted[0]["n"])
    except (IndexError, KeyError, ValueError):
        raise GraphError("the endpoint does not count its triples", where=endpoint.url) from None
    if not total:
        raise _nothing_there(endpoint, graph)
    triples: dict[Triple, None] = {}
    prefixes: dict[str, str] = {}
    size = page or total
    for number, offset in enumerate(range(0, total, size)):
        limits = f"ORDER BY ?s ?p ?o LIMIT {size} OFFSET {offset}" if page else ""
        inner = f"{{ SELECT ?s ?p ?o WHERE {{ {body} }} {limits} }}" if page else f"{{ {body} }}"
        query = f"CONSTRUCT {{ ?s ?p ?o }} WHERE {inner}"
        part = _fetched(endpoint, query, folder / f"answer-{number}", whole=False)
        triples.update(dict.fromkeys(part.triples))
        prefixes |= part.prefixes
    if total > size and any(isinstance(term, ox.BlankNode) for s, _, o in triples for term in (s, o)):
        raise GraphError(
            "the graph has blank nodes, which cannot be told across pages",
            where=endpoint.url,
            hint="leave out page=, export the graph to a file, or give the nodes IRIs",
        )
    if len(triples) != total:
        raise GraphError(
            f"the endpoint counts {total:,} triples, but answers with {len(triples):,}",
            where=endpoint.url,
            hint="it may limit the length of answers: pass page=1000; or the graph changed: read it again",
        )
    return Triples(list(triples), prefixes)


def _fetched(endpoint: Endpoint, query: str, file: Path, *, whole: bool) -> Triples:
    syntax = endpoint.construct(query, file, whole=whole)
    try:
        return parse_files([file], format=syntax)
    except GraphError as error:
        raise GraphError(f"the answer is damaged: {error.message}", where=endpoint.url, hint="try again") from None
    finally:
        file.unlink()


def _nothing_there(endpoint: Endpoint, graph: str | None) -> GraphError:
    """An error that names the graphs of an endpoint whose chosen graph is empty."""
    most = _GRAPHS_SHOWN + 1
    rows = endpoint.select(f"SELECT DISTINCT ?g WHERE {{ GRAPH ?g {{ ?s ?p ?o }} }} LIMIT {most}")
    names = [f"'{row['g']}'" for row in rows if row.get("g")]
    which = "the default graph has no triples" if graph is None else f"there is no graph '{graph}'"
    if not names:
        return GraphError(f"{which}, and the endpoint has no others", where=endpoint.url, hint="load the data first")
    listed = ", ".join(names[:_GRAPHS_SHOWN]) + (", …" if len(names) > _GRAPHS_SHOWN else "")
    return GraphError(which, where=endpoint.url, hint=f"pass graph=, one of {listed}")
