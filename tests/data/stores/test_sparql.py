"""Graphs from a real SPARQL endpoint: the same as from the file, complete, or an error."""

from __future__ import annotations

import base64
import http.server
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thence as th
from tests.helpers.graph_servers import OxigraphProcess
from tests.helpers.processes import free_port
from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.stores import sparql
from thence.data.stores.sparql import parse_sparql_url, sort_triples

BRICK = Path(th.__file__).parent / "lab" / "datasets" / "data" / "lbnl_szcav.ttl"
ROOMS = """@prefix ex: <http://example.org/rooms#> .
ex:r1 a ex:Room ; ex:area [ ex:value 12.5 ; ex:hasUnit ex:M2 ] ; ex:contains ex:s1 ; ex:name "Küche \\"1\\""@de .
ex:s1 a ex:Sensor ; ex:works true .
"""
SIMPLE = """@prefix ex: <http://example.org/rooms#> .
ex:r1 a ex:Room ; ex:contains ex:s1, ex:s2, ex:s3 . ex:s1 a ex:Sensor . ex:s2 a ex:Sensor . ex:s3 a ex:Sensor ."""


@pytest.fixture(scope="module")
def server() -> Iterator[OxigraphProcess]:
    process = OxigraphProcess()
    yield process
    process.stop()


def written(folder: Path, text: str) -> Path:
    (folder / "graph.ttl").write_text(text, encoding="utf-8")
    return folder / "graph.ttl"


def content(graph: KnowledgeGraph) -> tuple[Any, Any, Any]:
    """What a graph holds, whatever the order."""
    nodes = {n.id: (n.labels, dict(n.properties)) for n in graph.nodes.values()}
    edges = {e.id: (e.source, e.target, e.labels, dict(e.properties)) for e in graph.edges.values()}
    return nodes, edges, dict(graph.property_units)


@pytest.mark.needs("oxigraph")
def test_a_brick_model_is_the_same_as_from_its_file(server: OxigraphProcess, tmp_path: Path) -> None:
    server.load(BRICK)
    assert content(th.read_graph(server.url)) == content(th.read_graph(BRICK))
    assert content(th.read_graph(server.url, fold=False)) == content(th.read_graph(BRICK, fold=False))
    assert dict(th.read_binding(server.url)) == dict(th.read_binding(BRICK))
    file = written(tmp_path, ROOMS)
    server.load(file)
    graph = th.read_graph(server.url)
    assert content(graph) == content(th.read_graph(file))
    assert graph.value("r1", "area") == 12.5
    assert list(graph.nodes) == list(th.read_graph(server.url).nodes)


@pytest.mark.needs("oxigraph")
def test_a_named_graph_a_query_and_pages(server: OxigraphProcess, tmp_path: Path) -> None:
    file = written(tmp_path, SIMPLE)
    name = "http://example.org/graphs/one"
    server.load(file, graph=name)
    server.load(written(tmp_path, "<http://x.org/other> a <http://x.org/Thing> ."))
    whole = content(th.read_graph(written(tmp_path, SIMPLE)))
    assert content(th.read_graph(server.url, graph=name)) == whole
    for page in (1, 2, 3, 1000):
        assert content(th.read_graph(server.url, graph=name, page=page)) == whole
    query = f"# all of it\nCONSTRUCT {{ ?s ?p ?o }} WHERE {{ GRAPH <{name}> {{ ?s ?p ?o }} }}"
    assert content(th.read_graph(server.url, query=query)) == whole
    longer = query + "#" + " " * 3000  # too long for a GET request
    assert content(th.read_graph(server.url, query=longer)) == whole
    assert list(th.read_graph(server.url).nodes) == ["other"]
    server.load(written(tmp_path, ""))
    with pytest.raises(
        th.errors.GraphError, match=r"the default graph has no triples \(pass graph=, one of 'http://example"
    ):
        th.read_graph(server.url)
    with pytest.raises(th.errors.GraphError, match=r"there is no graph 'http://example\.org/no'"):
        th.read_graph(server.url, graph="http://example.org/no")


@pytest.mark.needs("oxigraph")
def test_prefixes_tell_equal_names_apart(server: OxigraphProcess, tmp_path: Path) -> None:
    text = (
        """@prefix a: <http://x.org/1#> . @prefix b: <http://x.org/2#> . a:p a a:Pump ; a:feeds b:p . b:p a b:Pump ."""
    )
    file = written(tmp_path, text)
    server.load(file)
    assert set(th.read_graph(file).nodes) == {"a:p", "b:p"}
    prefixes = {"a": "http://x.org/1#", "b": "http://x.org/2#"}
    assert content(th.read_graph(server.url, prefixes=prefixes)) == content(th.read_graph(file))


@pytest.mark.needs("oxigraph")
def test_mistakes_are_told(server: OxigraphProcess, tmp_path: Path) -> None:
    server.load(written(tmp_path, ROOMS))
    for options, told in (
        ({"graph": "x> } DELETE { ?s ?p ?o"}, "'graph' must be an IRI"),
        ({"query": "SELECT * WHERE { ?s ?p ?o }"}, "must be a CONSTRUCT or DESCRIBE query"),
        ({"query": "SELECT * WHERE { ?s ?p ?o } # CONSTRUCT"}, "must be a CONSTRUCT or DESCRIBE query"),
        ({"query": "CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p"}, "the endpoint refuses the query (HTTP 400)"),
        ({"query": "CONSTRUCT WHERE { ?s ?p ?o }", "page": 3}, "exclude each other"),
        ({"page": 0}, "'page' must be at least 1"),
        ({"page": 2}, "blank nodes, which cannot be matched across pages"),
        ({"max_bytes": 100}, "longer than 100 bytes"),
        ({"database": "x"}, "does not take 'database'"),
        ({"timeout": -1}, "must be greater than 0"),
        ({"prefixes": {"a b": "http://x.org/"}}, "'prefixes' are not valid"),
    ):
        with pytest.raises(th.errors.ThenceError) as caught:
            th.read_graph(server.url, **options)  # type: ignore[arg-type]
        assert told in str(caught.value), options
    with pytest.raises(th.errors.GraphError, match="refuses the query"):
        th.read_graph(server.url.replace("/query", "/nothing"))
    with pytest.raises(th.errors.GraphError, match="does not answer"):
        th.read_graph(f"sparql+http://u:s3cret@127.0.0.1:{free_port()}/query")


class Scripted:
    """An endpoint that answers as a test says, and keeps what it was asked."""

    def __init__(self, answer: Callable[[http.server.BaseHTTPRequestHandler, str], None]) -> None:
        asked: list[tuple[str, str | None]] = []
        self.asked = asked

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                query = parse_qs(urlsplit(self.path).query).get("query", [""])[0]
                asked.append((query, self.headers.get("Authorization")))
                answer(self, query)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def __enter__(self) -> Scripted:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"sparql+http://reader:s3cret-word@127.0.0.1:{self.port}/query"


def reply(
    handler: http.server.BaseHTTPRequestHandler, body: bytes, kind: str, *, status: int = 200, length: int | None = -1
) -> None:
    handler.send_response(status)
    handler.send_header("Content-Type", kind)
    if length is not None:
        handler.send_header("Content-Length", str(len(body) if length == -1 else length))
    handler.send_header("Connection", "close")
    handler.end_headers()
    handler.wfile.write(body)
    handler.close_connection = True


def counted(handler: http.server.BaseHTTPRequestHandler, n: int) -> None:
    body = json.dumps({"results": {"bindings": [{"n": {"value": str(n)}}]}}).encode()
    reply(handler, body, "application/sparql-results+json")


TRIPLE = b"<http://x.org/a> <http://x.org/near> <http://x.org/b> .\n"


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sparql, "_WAITS", (0.0, 0.0))


@pytest.mark.usefixtures("quick")
def test_an_answer_that_is_cut_off_is_never_taken_for_the_whole() -> None:
    def limited(handler: Any, query: str) -> None:
        counted(handler, 2) if "COUNT" in query else reply(handler, TRIPLE, "application/n-triples")

    with (
        Scripted(limited) as endpoint,
        pytest.raises(th.errors.GraphError, match="counts 2 triples, but answers with 1"),
    ):
        th.read_graph(endpoint.url)

    def short(handler: Any, query: str) -> None:
        counted(handler, 1) if "COUNT" in query else reply(handler, TRIPLE, "application/n-triples", length=10_000)

    with Scripted(short) as endpoint, pytest.raises(th.errors.GraphError, match="connection was lost before the end"):
        th.read_graph(endpoint.url)

    def endless(handler: Any, query: str) -> None:
        reply(handler, TRIPLE, "application/n-triples", length=None)

    with Scripted(endless) as endpoint, pytest.raises(th.errors.GraphError, match="does not say how long it is"):
        th.read_graph(endpoint.url, query="CONSTRUCT WHERE { ?s ?p ?o }")

    def damaged(handler: Any, query: str) -> None:
        counted(handler, 1) if "COUNT" in query else reply(handler, TRIPLE[:30], "text/turtle")

    with Scripted(damaged) as endpoint, pytest.raises(th.errors.GraphError, match="the answer is damaged"):
        th.read_graph(endpoint.url)


@pytest.mark.usefixtures("quick")
def test_failures_that_pass_are_tried_again() -> None:
    failures = iter([503, 429])

    def busy(handler: Any, query: str) -> None:
        if (status := next(failures, None)) is not None:
            reply(handler, b"busy", "text/plain", status=status)
        elif "COUNT" in query:
            counted(handler, 1)
        else:
            reply(handler, TRIPLE, "application/n-triples")

    with Scripted(busy) as endpoint:
        assert set(th.read_graph(endpoint.url).nodes) == {"a", "b"}
        expected = "Basic " + base64.b64encode(b"reader:s3cret-word").decode()
        assert {sent for _, sent in endpoint.asked} == {expected}


@pytest.mark.usefixtures("quick")
def test_no_other_server_gets_the_credentials_and_no_message_has_them() -> None:
    with Scripted(lambda handler, query: counted(handler, 1)) as other:

        def redirect(handler: Any, query: str) -> None:
            handler.send_response(302)
            handler.send_header("Location", f"http://127.0.0.1:{other.port}/query")
            handler.send_header("Content-Length", "0")
            handler.end_headers()

        with Scripted(redirect) as endpoint, pytest.raises(th.errors.GraphError, match="redirects to another server"):
            th.read_graph(endpoint.url)
        assert other.asked == []

    def local(handler: Any, query: str) -> None:
        handler.send_response(302)
        handler.send_header("Location", "file:///etc/passwd")
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    with Scripted(local) as endpoint, pytest.raises(th.errors.GraphError):
        th.read_graph(endpoint.url)

    def within(handler: Any, query: str) -> None:
        if handler.path.startswith("/query"):
            handler.send_response(302)
            handler.send_header("Location", handler.path.replace("/query", "/here"))
            handler.send_header("Content-Length", "0")
            handler.end_headers()
        else:
            counted(handler, 1) if "COUNT" in query else reply(handler, TRIPLE, "application/n-triples")

    with Scripted(within) as endpoint:
        assert set(th.read_graph(endpoint.url).nodes) == {"a", "b"}

    for status, told in ((401, "refuses the user"), (500, "refuses the query")):
        body = b"bad: reader:s3cret-word and http://reader:s3cret-word@host"
        with (
            Scripted(lambda handler, query, s=status, b=body: reply(handler, b, "text/plain", status=s)) as endpoint,  # type: ignore[misc]
            pytest.raises(th.errors.GraphError, match=told) as caught,
        ):
            th.read_graph(endpoint.url)
        assert "s3cret-word" not in str(caught.value)


@pytest.mark.usefixtures("quick")
def test_slow_and_wrong_answers() -> None:
    done = threading.Event()
    with Scripted(lambda handler, query: done.wait(10) and None) as endpoint:  # type: ignore[func-returns-value]
        with pytest.raises(th.errors.GraphError, match=r"no answer within 0\.2 s"):
            th.read_graph(endpoint.url, timeout=0.2)
        done.set()
    with (
        Scripted(lambda handler, query: reply(handler, b"<html>", "text/html")) as endpoint,
        pytest.raises(th.errors.GraphError, match="answers with 'text/html'"),
    ):
        th.read_graph(endpoint.url)
    with (
        Scripted(lambda handler, query: reply(handler, b"[]", "application/json")) as endpoint,
        pytest.raises(th.errors.GraphError, match="not a table of SPARQL results"),
    ):
        th.read_graph(endpoint.url)


def test_urls_of_endpoints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARQL_USERNAME", "reader")
    monkeypatch.setenv("SPARQL_PASSWORD", "s3cret")
    endpoint = parse_sparql_url("sparql+https://example.org/sparql?x=1#there")
    assert (endpoint.url, endpoint.user) == ("https://example.org/sparql?x=1", "reader")
    assert "s3cret" not in repr(endpoint)
    for wrong in (
        "http://x.org",
        "sparql+ftp://x.org",
        "sparql+http://",
        "sparql+http://x.org:port/",
        "sparql+http://x y/",
    ):
        with pytest.raises(th.errors.GraphError):
            parse_sparql_url(wrong)


TERMS = st.integers(0, 3).map(lambda n: ox.NamedNode(f"http://x.org/{n}"))
BLANKS = st.integers(0, 3).map(lambda n: ox.BlankNode(f"b{n}"))
STATEMENTS = st.tuples(
    st.one_of(TERMS, BLANKS), st.sampled_from(["http://x.org/p", "http://x.org/q"]), st.one_of(TERMS, BLANKS)
)


@given(st.lists(STATEMENTS, max_size=12), st.randoms(use_true_random=False))
def test_the_order_of_triples_does_not_matter(triples: list[Any], random: Any) -> None:
    again = list(triples)
    random.shuffle(again)
    assert sort_triples(again) == sort_triples(triples)
    assert len(sort_triples(triples)) == len(set(triples))
