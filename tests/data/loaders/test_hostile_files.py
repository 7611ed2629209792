"""Files from anywhere: damaged, hostile or merely odd ones give an error of ours, and never a wrong graph.

Each case was found with mutated files; what happened before is in its docstring.
"""

from __future__ import annotations

import gc
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.helpers.examples import examples
from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.ontology import Ontology
from thence.data.loaders import graphml as graphml_loader
from thence.data.loaders import read_binding, read_graph, read_ontology, triples
from thence.data.loaders.draft import _number_name
from thence.errors import BindingError, GraphError, ThenceError

E = "@prefix e: <http://e.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> . "
E += "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . "
E += "@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> . "
RDF_XML = '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e.org/">{}</rdf:RDF>'
LAUGHS = '<!DOCTYPE r [<!ENTITY a "ha">' + "".join(
    f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(9)
)
LAUGHS += "]>"
READERS: list[Callable[[Any], Any]] = [read_graph, read_ontology, read_binding]


def graphml(nodes: str, *, keys: str = "", head: str = "") -> str:
    key = '<key id="d" for="node" attr.name="length" attr.type="double"/>'
    return f"{head}<graphml>{key}{keys}<graph>\n{nodes}\n</graph></graphml>"


@pytest.fixture
def read(tmp_path: Path) -> Callable[[str, str], KnowledgeGraph]:
    def read(name: str, content: str) -> KnowledgeGraph:
        (tmp_path / name).write_text(content, encoding="utf-8")
        return read_graph(tmp_path / name)

    return read


@pytest.fixture
def ontology(tmp_path: Path) -> Callable[[str, str], Ontology]:
    def read(name: str, content: str) -> Ontology:
        (tmp_path / name).write_text(content, encoding="utf-8")
        return read_ontology(tmp_path / name)

    return read


def values(graph: KnowledgeGraph, name: str) -> dict[str, Any]:
    return {node: graph.value(node, name) for node in graph.nodes}


@pytest.mark.parametrize("word", ["NaN", "n/a", "NA", "null", "None", "#N/A"])
def test_a_word_for_a_missing_value_among_numbers_is_missing(
    read: Callable[[str, str], KnowledgeGraph], word: str
) -> None:
    """In CSV it turned the whole column into text; GraphML dropped NaN and refused n/a; JSON kept it as text."""
    expected = {"a": 1.5, "b": None}
    assert values(read("nodes.csv", f"id,length\na,1.5\nb,{word}\n"), "length") == expected
    nodes = f'<node id="a"><data key="d">1.5</data></node><node id="b"><data key="d">{word}</data></node>'
    assert values(read("g.graphml", graphml(nodes)), "length") == expected
    nodes = f'{{"id": "a", "properties": {{"length": 1.5}}}}, {{"id": "b", "properties": {{"length": "{word}"}}}}'
    assert values(read("g.json", f'{{"nodes": [{nodes}]}}'), "length") == expected


def test_words_among_texts_are_texts(read: Callable[[str, str], KnowledgeGraph]) -> None:
    assert values(read("nodes.csv", "id,owner\na,NA\nb,city\n"), "owner") == {"a": "NA", "b": "city"}
    assert values(read("nodes.csv", "id,code:text\na,NA\nb,1\n"), "code") == {"a": "NA", "b": "1"}
    assert values(read("nodes.csv", "id,code\na,NA\nb,null\n"), "code") == {"a": "NA", "b": "null"}


@pytest.mark.parametrize("number", ["9" * 400, "9" * 5_000, "1e400"])
def test_numbers_that_are_too_large_are_refused(read: Callable[[str, str], KnowledgeGraph], number: str) -> None:
    """They ended in OverflowError or ValueError, or turned the column into text."""
    for name, content in (
        ("nodes.csv", f"id,length\na,1\nb,{number}\n"),
        ("g.graphml", graphml(f'<node id="a"><data key="d">{number}</data></node>')),
        ("g.json", f'{{"nodes": [{{"id": "a", "properties": {{"length": {number}}}}}]}}'),
    ):
        with pytest.raises(GraphError) as caught:
            read(name, content)
        assert len(str(caught.value)) < 1_000
    if number.isdigit():
        with pytest.raises(GraphError, match=r"g\.ttl: 'a': 'p' is a number of more than 308 digits"):
            read("g.ttl", f"{E} e:a e:p {number} .")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            graphml('<node id="a"><data key="d">1</data>\n<data key="d">2</data></node>'),
            "line 3: <node> has 'length' twice",
        ),
        (
            graphml('<node id="a"/>', keys='<key id="d" for="node" attr.name="width" attr.type="double"/>'),
            "duplicate <key> 'd'",
        ),
        (
            graphml(
                '<node id="a"><data key="d">1</data><data key="e">2</data></node>',
                keys='<key id="e" for="node" attr.name="length" attr.type="double"/>',
            ),
            "line 2: <node> has 'length' twice",
        ),
        (graphml('<node id="a"><data key="d">1<b>2</b>3</data></node>'), "line 2: <b> within the value of 'length'"),
        (
            graphml('<node id="a"><data key="d">1<data key="d">2</data></data></node>'),
            "<data> within the value of 'length'",
        ),
        (graphml('<node id="a"><data key="d">1_000</data></node>'), "'length' must be of type double, got '1_000'"),
        (graphml("", head='<?xml version="1.0" encoding="no-such"?>'), "the encoding that the file names cannot be"),
        (graphml("", head=LAUGHS), "the entity 'b' names another file or entity"),
        (graphml("", head='<!DOCTYPE g [<!ENTITY x SYSTEM "/etc/passwd">]>'), "the entity 'x' names another file"),
        (graphml('<node id="a"><data key="d">&x;</data></node>', head='<!DOCTYPE g SYSTEM "g.dtd">'), "not declared"),
    ],
)
def test_graphml_that_would_lose_a_value_is_refused(
    read: Callable[[str, str], KnowledgeGraph], content: str, message: str
) -> None:
    """The last of two values won; text around nested elements and external entities were dropped."""
    with pytest.raises(GraphError) as caught:
        read("g.graphml", content)
    assert message in str(caught.value)


def test_json_with_a_repeated_key_is_refused(
    read: Callable[[str, str], KnowledgeGraph], ontology: Callable[[str, str], Ontology]
) -> None:
    """The last value won."""
    with pytest.raises(GraphError, match="an object has the key 'x' twice"):
        read("g.json", '{"nodes": [{"id": "a", "properties": {"x": 1, "x": 2}}]}')
    with pytest.raises(GraphError, match="an object has the key 'classes' twice"):
        ontology("o.json", '{"classes": {"A": {}}, "classes": {"B": {}}}')


@pytest.mark.parametrize(("key", "given"), [("symmetric", '"false"'), ("symmetric", "0"), ("inverse", "3")])
def test_settings_of_relations_have_types(ontology: Callable[[str, str], Ontology], key: str, given: str) -> None:
    """``symmetric = "false"`` was true."""
    with pytest.raises(GraphError, match=rf"'relations\.r\.{key}' must be"):
        ontology("o.toml", f"[relations.r]\n{key} = {given}\n")
    assert not ontology("o.toml", "[relations.r]\nsymmetric = false\n").relations["r"].symmetric


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("g.json", "[" * 100_000),
        ("g.json", '{"@id":"http://e/a","http://e/p":' * 5_000 + "1" + "}" * 5_000),
        ("g.jsonld", '{"@id":"http://e/a","http://e/p":' * 5_000 + "1" + "}" * 5_000),
        ("g.rdf", RDF_XML.format("<e:A><e:p>" * 50_000 + "</e:p></e:A>" * 50_000)),
        ("g.rdf", LAUGHS + RDF_XML.format('<e:A rdf:about="http://e/a"><e:p>&j;</e:p></e:A>')),
    ],
)
def test_files_that_exhaust_the_stack_or_memory_are_refused(
    read: Callable[[str, str], KnowledgeGraph], name: str, content: str
) -> None:
    """RecursionError, a crash of the process, a minute of work, and 8 GB for 715 bytes of RDF/XML."""
    with pytest.raises(GraphError, match=r"nested more than|names another file or entity"):
        read(name, content)


def test_deep_turtle_is_read_in_linear_time(read: Callable[[str, str], KnowledgeGraph]) -> None:
    """Ids of nested blank nodes grew with their depth: 400 kB took 24 GB. Deep lists ended in RecursionError."""
    deep = 10_000
    graph = read("g.ttl", f"{E} e:a e:p {'[ e:p ' * deep} e:z {']' * deep} .")
    assert len(graph) == deep + 2
    assert max(map(len, graph.nodes)) < 600
    graph = read("g.ttl", f"{E} e:a e:p {'(' * deep} e:z {')' * deep} .")
    assert graph.neighbours("a") == {"z": 1}


def test_defaults_that_would_make_a_large_graph_of_a_small_file_are_refused(
    read: Callable[[str, str], KnowledgeGraph], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each default of each key was copied to each node: a file of 0.27 MB became 6.8 million values."""
    monkeypatch.setattr(graphml_loader, "MOST_DEFAULTS", 12)
    monkeypatch.setattr(graphml_loader, "PER_BYTE", 0)
    keys = "".join(
        f'<key id="k{n}" for="node" attr.name="p{n}" attr.type="int"><default>{n}</default></key>' for n in range(4)
    )
    nodes = "".join(f'<node id="n{n}"><data key="k1">7</data></node>' for n in range(4))
    few = read("a.graphml", graphml(nodes.partition('<node id="n3">')[0], keys=keys))
    assert dict(few.node("n0").properties) == {"p0": 0, "p1": 7, "p2": 2, "p3": 3}
    with pytest.raises(GraphError, match="4 keys have a <default>, which would give 4 nodes and edges 16 values"):
        read("a.graphml", graphml(nodes, keys=keys))


def test_only_the_keys_that_a_node_has_are_looked_at(
    read: Callable[[str, str], KnowledgeGraph], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every key of a file was looked up for every node, whether the node had it or not."""
    typed: list[str] = []
    monkeypatch.setattr(graphml_loader, "parse_value", lambda raw, kind: typed.append(raw) or raw)
    keys = "".join(f'<key id="k{n}" for="node" attr.name="p{n}" attr.type="int"/>' for n in range(50))
    nodes = "".join(f'<node id="n{n}"><data key="k{n}">{n}</data></node>' for n in range(50))
    assert dict(read("a.graphml", graphml(nodes, keys=keys)).node("n7").properties) == {"p7": "7"}
    assert len(typed) == 50


def test_parallel_edges_get_their_numbers_in_linear_time(read: Callable[[str, str], KnowledgeGraph]) -> None:
    """The first free number was sought from 2 on for each of them."""
    nodes = '<node id="a"/><node id="b"/>' + '<edge source="a" target="b"/>' * 5
    assert list(read("a.graphml", graphml(nodes)).edges) == ["a → b", *(f"a → b #{n}" for n in range(2, 6))]
    taken, numbers = dict.fromkeys(["x", *(f"x #{n}" for n in range(2, 9))], ""), {"x": 8}
    assert _number_name("x", taken, numbers) == "x #9"
    assert numbers == {"x": 9}


def test_lists_of_more_members_than_a_graph_has_are_refused(
    read: Callable[[str, str], KnowledgeGraph], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A list of 2.4 million numbers in 4.8 MB of Turtle took 2.4 GB of memory."""
    monkeypatch.setattr(triples, "MOST_MEMBERS", 3)
    assert read("a.ttl", E + "e:a a e:T ; e:p (1 2 3) .").value("a", "p") == (1, 2, 3)
    with pytest.raises(GraphError, match="the RDF lists of this file have more than 3 members"):
        read("a.ttl", E + "e:a a e:T ; e:p (1 2) ; e:q (3 4) .")


def test_triples_share_their_predicates_and_no_garbage_is_collected_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each triple had a copy of its predicate, and looking for garbage took two thirds of the time."""
    path = tmp_path / "a.ttl"
    path.write_text(E + "e:a e:p (1 2 3) .")
    parsed = triples.parse_files([path]).triples
    assert len({id(predicate) for _, predicate, _ in parsed}) == len({predicate for _, predicate, _ in parsed}) == 3
    states: list[bool] = []
    kept = triples._parse_file
    monkeypatch.setattr(
        triples, "_parse_file", lambda *given, **more: states.append(gc.isenabled()) or kept(*given, **more)
    )
    read_graph(path)
    assert states == [False]
    assert gc.isenabled()


def test_lists_that_share_lists_are_refused(read: Callable[[str, str], KnowledgeGraph]) -> None:
    """Forty lists, each with the next one twice, have 2⁴⁰ members."""
    lists = "".join(
        f"e:l{n} rdf:first e:l{n + 1} ; rdf:rest [ rdf:first e:l{n + 1} ; rdf:rest rdf:nil ] . " for n in range(40)
    )
    with pytest.raises(GraphError, match="part of another one twice"):
        read("g.ttl", f"{E} e:a e:p e:l0 . {lists} e:l40 rdf:first e:z ; rdf:rest rdf:nil .")


def test_a_list_that_contains_itself_is_refused(read: Callable[[str, str], KnowledgeGraph]) -> None:
    with pytest.raises(GraphError, match="an RDF list contains itself"):
        read("g.ttl", f"{E} e:a e:p e:l . e:l rdf:first e:l ; rdf:rest rdf:nil .")


def test_unions_may_contain_themselves_and_each_other(ontology: Callable[[str, str], Ontology]) -> None:
    """A union with itself as a member ended in RecursionError; nested ones were visited 2ⁿ times."""
    head = f"{E} e:A a owl:Class . e:r a owl:ObjectProperty ; rdfs:domain "
    assert ontology("o.ttl", f"{head} e:U . e:U owl:unionOf (e:A e:U) .").relations["r"].domain == {"A"}
    chain = "".join(f"e:U{n} owl:unionOf (e:U{n + 1} e:U{n + 1}) . " for n in range(60))
    assert ontology("o.ttl", f"{head} e:U0 . {chain}").relations["r"].domain == {"U60"}
    deep = f"{head} {'[ owl:unionOf (e:A ' * 3_000} e:B {')]' * 3_000} ."
    assert ontology("o.ttl", deep).relations["r"].domain == {"A", "B"}
    assert not ontology("o.ttl", f"{head} [ owl:unionOf (e:A []) ] .").relations["r"].domain


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("name", ["x" * 5_000 + ".csv", "a\0.csv", "", "~nobody-of-that-name/a.csv"])
def test_impossible_file_names_are_told_as_our_errors(reader: Callable[[str], Any], name: str) -> None:
    """A name that is too long ended in OSError; an empty one was the working folder."""
    with pytest.raises(ThenceError) as caught:
        reader(name)
    assert len(str(caught.value)) < 1_000


@pytest.mark.parametrize("reader", READERS)
@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    suffix=st.sampled_from(["csv", "json", "graphml", "ttl", "rdf", "jsonld", "n3", "nq", "toml"]), content=st.binary()
)
def test_any_bytes_are_read_or_refused_by_an_error_of_ours(
    reader: Callable[[Path], Any], suffix: str, content: bytes, tmp_path: Path
) -> None:
    path = tmp_path / f"file.{suffix}"
    path.write_bytes(content)
    try:
        reader(path)
    except ThenceError as error:
        assert len(str(error)) < 5_000


def test_an_error_does_not_repeat_a_hostile_name(read: Callable[[str, str], KnowledgeGraph]) -> None:
    name = "\x1b[31m" + "n" * 9_000
    with pytest.raises(GraphError) as caught:
        read("nodes.csv", f"id,x:number\n{name},{name}\n{name},1\n")
    assert len(str(caught.value)) < 600
    assert "\x1b" not in str(caught.value)


def test_line_numbers_count_lines_within_quotes(read: Callable[[str, str], KnowledgeGraph]) -> None:
    with pytest.raises(GraphError, match="line 4: 'x' must be of type number, got 'much'"):
        read("nodes.csv", 'id,x:number\n"a\nb",1\n"c\nd",much\n')


def test_a_sensor_that_is_bound_twice_is_told(tmp_path: Path) -> None:
    (tmp_path / "b.json").write_text('{"a": "n", "a": "m"}', encoding="utf-8")
    with pytest.raises(BindingError, match="sensor 'a' is bound to 'm' and to 'n'"):
        read_binding(tmp_path / "b.json")


@pytest.fixture
def listener() -> Iterator[tuple[str, list[bytes]]]:
    """The address of a server on this machine, and what it was asked for."""
    asked: list[bytes] = []
    server = socket.create_server(("127.0.0.1", 0))
    server.settimeout(0.05)
    ended = threading.Event()

    def serve() -> None:
        while not ended.is_set():
            try:
                client, _ = server.accept()
            except TimeoutError:
                continue
            with client:
                client.settimeout(1)
                asked.append(client.recv(1_000))

    thread = threading.Thread(target=serve)
    thread.start()
    yield f"http://127.0.0.1:{server.getsockname()[1]}/x", asked
    ended.set()
    thread.join()
    server.close()


def test_no_file_makes_us_call_a_server(listener: tuple[str, list[bytes]], tmp_path: Path) -> None:
    """Contexts of JSON-LD, owl:imports, and DTDs, entities, schemas and inclusions of XML name addresses."""
    url, asked = listener
    entity = f'<!DOCTYPE r [<!ENTITY x SYSTEM "{url}"><!ENTITY % y SYSTEM "{url}"> %y;]>'
    files = {
        "a.jsonld": f'{{"@context": "{url}", "@id": "http://e/a", "p": 1}}',
        "b.jsonld": f'{{"@context": {{"@import": "{url}"}}, "@id": "http://e/a", "http://e/p": 1}}',
        "c.json": f'{{"@context": ["{url}"], "@id": "http://e/a", "p": 1}}',
        "d.ttl": f"{E} <> a owl:Ontology ; owl:imports <{url}> . e:a e:p <{url}> ; rdfs:seeAlso <{url}> .",
        "d2.ttl": f"{E} <> owl:imports <{url}> . e:C a owl:Class .",
        "e.rdf": entity + RDF_XML.format('<e:A rdf:about="http://e/a"><e:p>&x;</e:p></e:A>'),
        "f.rdf": f'<!DOCTYPE r SYSTEM "{url}">' + RDF_XML.format('<e:A rdf:about="http://e/a"/>'),
        "g.graphml": graphml('<node id="a"><data key="d">&x;</data></node>', head=entity),
        "h.graphml": graphml('<node id="a"/>', head=f'<!DOCTYPE graphml PUBLIC "x" "{url}">'),
        "i.graphml": '<graphml xmlns:xi="http://www.w3.org/2001/XInclude" '
        'xmlns:s="http://www.w3.org/2001/XMLSchema-instance" '
        f's:schemaLocation="{url} {url}"><graph><node id="a"/><xi:include href="{url}"/></graph></graphml>',
        "j.n3": f"{E} @prefix log: <http://www.w3.org/2000/10/swap/log#> . <{url}> log:semantics ?x . e:a e:p e:b .",
    }
    for name, content in files.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
        for reader in READERS:
            try:
                reader(tmp_path / name)
            except ThenceError as error:
                assert str(tmp_path / name) in str(error)
    assert asked == []
    with socket.create_connection(("127.0.0.1", int(url.split(":")[2][:-2])), timeout=5) as probe:
        probe.sendall(b"GET")
        threading.Event().wait(0.3)
    assert asked == [b"GET"], "the listener hears a call"
