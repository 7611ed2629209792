"""Knowledge graphs from SPARQL endpoints over HTTP, by the same mapping as RDF files.

Redirects are followed within the same server only, so that credentials stay there. An answer is written to a file as
it arrives, and is refused if it is longer than allowed, ends too early, or is of another type than requested. The
triples of the whole graph are read in one answer or in pages, and their number is compared with the number that the
endpoint counts, since many endpoints cut long answers off. Triples have no order on a server: they are sorted, so that
the graph is the same each time it is read.
"""

from __future__ import annotations

import base64
import http.client
import json
import os
import re
import ssl
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlencode, urlsplit, urlunsplit

from thence.data.graph.binding import Binding
from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.loaders.bindings import from_graph
from thence.data.loaders.loader import GraphServer
from thence.data.loaders.triples import Object, Subject, Triples, parse_files
from thence.data.stores.urls import credentials_of, mask, scheme_of, without_credentials
from thence.errors import ConfigError, GraphError

SPARQL_SCHEMES = ("sparql+http", "sparql+https")
"""The schemes of endpoints."""
MAX_BYTES = 4 << 30
"""The longest answer, in bytes, unless another length is given."""
GRAPH_TYPES: Mapping[str, str] = {
    "application/n-triples": "ntriples",
    "text/plain": "ntriples",
    "text/turtle": "turtle",
    "application/x-turtle": "turtle",
}
"""The media types of graphs that are read, and the RDF syntax of each."""

_USER, _PASSWORD = "SPARQL_USERNAME", "SPARQL_PASSWORD"
_RESULTS = "application/sparql-results+json"
_ACCEPT_GRAPH = "application/n-triples, text/turtle;q=0.9"
_WAITS = (0.2, 1.0, 3.0)
_PASSING = frozenset({429, 502, 503, 504})
_LONGEST_GET = 1800
_CHUNK = 1 << 18
_MOST_RESULTS = 1 << 22
_LONGEST_REASON = 300


@dataclass(frozen=True)
class Endpoint:
    """A SPARQL endpoint; made by ``parse_sparql_url``.

    Args:
        url: The URL for HTTP, without credentials.
        user: The user name; an empty string for no authentication.
        password: The password.
        timeout: The most seconds to wait for a connection, or for the next part of an answer.
        max_bytes: The longest answer.
    """

    url: str
    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    timeout: float = 60.0
    max_bytes: int = MAX_BYTES

    def select(self, query: str) -> list[dict[str, str]]:
        """Return the rows of a small ``SELECT`` query: the values of its variables as text.

        Args:
            query: The query.

        Raises:
            GraphError: If the endpoint does not answer, refuses, or answers with something else.
        """
        import io

        answer = io.BytesIO()
        self._fetch(query, _RESULTS, (_RESULTS, "application/json"), answer, longest=_MOST_RESULTS, whole=False)
        try:
            rows = json.loads(answer.getvalue())["results"]["bindings"]
            return [{name: str(term["value"]) for name, term in row.items()} for row in rows]
        except (ValueError, KeyError, TypeError, AttributeError):
            raise GraphError("the answer is not a table of SPARQL results", where=self.url) from None

    def construct(self, query: str, path: Path, *, whole: bool) -> str:
        """Write the graph that a query answers with to a file, and return its RDF syntax.

        Args:
            query: A ``CONSTRUCT`` or ``DESCRIBE`` query.
            path: The file.
            whole: Whether the answer must say how long it is, since nothing else would show that its end is missing.

        Raises:
            GraphError: If the endpoint does not answer, refuses, or the answer is too long, cut off or of another type.
        """
        with path.open("wb") as file:
            found = self._fetch(query, _ACCEPT_GRAPH, tuple(GRAPH_TYPES), file, longest=self.max_bytes, whole=whole)
        return GRAPH_TYPES[found]

    def _fetch(
        self, query: str, accept: str, types: tuple[str, ...], into: IO[bytes], *, longest: int, whole: bool
    ) -> str:
        """Write an answer and return its media type; failures that may pass are tried again from the beginning."""
        for wait in (*_WAITS, None):
            into.seek(0)
            into.truncate()
            try:
                with _opener().open(self._request(query, accept), timeout=self.timeout) as response:
                    kind = str(response.headers.get_content_type()).lower()
                    if kind not in types:
                        raise GraphError(
                            f"the endpoint answers with '{kind}', expected {' or '.join(types[:2])}",
                            where=self.url,
                            hint="check the address: it is that of the query service, often ending in /query or "
                            "/sparql",
                        )
                    self._copy(response, into, longest=longest, whole=whole)
                    return kind
            except urllib.error.HTTPError as error:
                with error:
                    if error.code not in _PASSING or wait is None:
                        raise self._refusal(error) from None
            except (OSError, http.client.HTTPException) as error:
                passing = not isinstance(getattr(error, "reason", error), ssl.SSLCertVerificationError)
                if wait is None or not passing:
                    raise self._silence(error) from None
            time.sleep(wait)
        raise AssertionError("unreachable")

    def _request(self, query: str, accept: str) -> urllib.request.Request:
        headers = {"Accept": accept, "User-Agent": "thence"}
        if self.user:
            pair = f"{self.user}:{self.password}".encode()
            headers["Authorization"] = "Basic " + base64.b64encode(pair).decode("ascii")
        mark = "&" if urlsplit(self.url).query else "?"
        address = f"{self.url}{mark}{urlencode({'query': query})}"
        if len(address) <= _LONGEST_GET:
            return urllib.request.Request(address, headers=headers)
        body = urlencode({"query": query}).encode("ascii")
        headers["Content-Type"] = "application/x-www-form-urlencoded"
        return urllib.request.Request(self.url, data=body, headers=headers, method="POST")

    def _copy(self, response: Any, into: IO[bytes], *, longest: int, whole: bool) -> None:
        length = response.headers.get("Content-Length")
        chunked = (response.headers.get("Transfer-Encoding") or "").lower() == "chunked"
        expected = int(length) if length is not None and length.isdigit() and not chunked else None
        if expected is None and not chunked and whole:
            raise GraphError(
                "the answer does not say how long it is, so that a lost end would not be noticed",
                where=self.url,
                hint="leave out query=, so that the number of triples can be compared",
            )
        if expected is not None and expected > longest:
            raise self._too_long(longest)
        written = 0
        while part := response.read(_CHUNK):
            written += len(part)
            if written > longest:
                raise self._too_long(longest)
            into.write(part)
        if expected is not None and written < expected:
            raise http.client.IncompleteRead(b"", expected - written)

    def _too_long(self, longest: int) -> GraphError:
        return GraphError(
            f"the answer is longer than {longest:,} bytes",
            where=self.url,
            hint="pass a greater max_bytes=, or a part of the graph with graph= or query=",
        )

    def _refusal(self, error: urllib.error.HTTPError) -> GraphError:
        if error.code in (401, 403):
            hint = f"write sparql+https://user:password@host/…, or set {_USER} and {_PASSWORD}"
            return GraphError(f"the endpoint refuses the user (HTTP {error.code})", where=self.url, hint=hint)
        if 300 <= error.code < 400:
            hint = "use the address that it redirects to, if you trust it"
            target = without_credentials(str(error.headers.get("Location") or ""))
            return GraphError(f"the endpoint redirects to another server: {target[:200]}", where=self.url, hint=hint)
        try:
            answer = error.read(4096).decode("utf-8", "replace")
        except (OSError, http.client.HTTPException):
            answer = ""
        # Error pages in HTML say nothing that their status does not.
        reason = "" if "<" in answer else self._masked(" ".join(answer.split()))[:_LONGEST_REASON]
        text = f"the endpoint refuses the query (HTTP {error.code})" + (f": {reason}" if reason else "")
        return GraphError(text, where=self.url, hint="check the address of the endpoint and the query")

    def _silence(self, error: Exception) -> GraphError:
        cause = getattr(error, "reason", error)
        if isinstance(cause, TimeoutError):
            hint = "pass a greater timeout=, or a part of the graph with graph= or query="
            return GraphError(f"no answer within {self.timeout:g} s", where=self.url, hint=hint)
        if isinstance(error, http.client.IncompleteRead):
            return GraphError("the connection was lost before the end of the answer", where=self.url, hint="try again")
        reason = self._masked(str(getattr(cause, "strerror", None) or cause or type(cause).__name__))
        return GraphError(
            f"the endpoint does not answer: {reason[:_LONGEST_REASON]}",
            where=self.url,
            hint="check host and port, and that the server is running",
        )

    def _masked(self, text: str) -> str:
        return mask(text, [self.password])


def parse_sparql_url(url: str, *, timeout: float = 60.0, max_bytes: int = MAX_BYTES) -> Endpoint:
    """Return the endpoint that a URL names, with credentials from the environment where the URL has none.

    Args:
        url: ``sparql+https://[user:password@]host[:port]/path``, or ``sparql+http://…``. Without a user name,
            ``SPARQL_USERNAME`` and ``SPARQL_PASSWORD`` are used.
        timeout: The most seconds to wait for a connection, or for the next part of an answer.
        max_bytes: The longest answer.

    Raises:
        GraphError: If the URL has no host, or another scheme.

    Examples:
        >>> parse_sparql_url("sparql+https://reader:s3cret@example.org/query").url
        'https://example.org/query'
    """
    shown = without_credentials(url)
    if scheme_of(url) not in SPARQL_SCHEMES:
        hint = "write sparql+https://host/query or sparql+http://host/query"
        raise GraphError("not the URL of a SPARQL endpoint", where=shown, hint=hint)
    try:
        bare, user, password = credentials_of(url[len("sparql+") :])
        parts = urlsplit(bare)
        valid = bool(parts.hostname) and (parts.port is None or parts.port > 0) and "@" not in parts.path
    except ValueError:
        valid = False
    # What cannot stand in the first line of a request.
    if not valid or re.search(r"[\x00-\x20\x7f]", bare):
        raise GraphError("not a valid URL", where=shown, hint="write sparql+https://host/query")
    if timeout <= 0 or max_bytes <= 0:
        raise GraphError("timeout and max_bytes must be greater than 0", where=shown)
    if not user:
        user, password = os.environ.get(_USER, ""), password or os.environ.get(_PASSWORD, "")
    safe = parts._replace(scheme=parts.scheme.lower(), fragment="", path=parts.path or "/")
    return Endpoint(urlunsplit(safe), user, password, float(timeout), max_bytes)


class _WithinServer(urllib.request.HTTPRedirectHandler):
    """Follow redirects to the same scheme, host and port only."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        before, after = urlsplit(req.full_url), urlsplit(newurl)
        same = (before.scheme, before.hostname, before.port) == (after.scheme, after.hostname, after.port)
        if not same:
            raise urllib.error.HTTPError(req.full_url, code, msg, headers, fp)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _opener() -> urllib.request.OpenerDirector:
    """An opener for HTTP and HTTPS, without files, FTP and data URLs."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
        _WithinServer(),
    ):
        opener.add_handler(handler)
    return opener


Triple = tuple[Subject, str, Object]

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

    Blank nodes get labels that follow from what is said of them.

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

    dataset = ox.Dataset(ox.Quad(s, ox.NamedNode(p), o) for s, p, o in triples)
    dataset.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return sorted(((q.subject, q.predicate.value, q.object) for q in dataset), key=lambda one: tuple(map(str, one)))


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
            "the graph has blank nodes, which cannot be matched across pages",
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


def _read_binding(url: str, **options: Any) -> Binding:
    """The binding of the time series references in the graph of an endpoint."""
    return from_graph(read_sparql_graph(url, **options), where=without_credentials(url))


SERVER = GraphServer(
    read_sparql_graph,
    _read_binding,
    options=("graph", "query", "page", "prefixes", "fold", "timeout", "max_bytes"),
    binding_options=("graph", "query", "page", "timeout", "max_bytes"),
)
