"""Graphs from RDF: names, values, blank nodes, and what is left out."""

from __future__ import annotations

from pathlib import Path

import pytest
import rdflib

from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.loaders import read_graph
from thence.errors import GraphError

PREFIXES = """
@prefix ex: <http://example.org/> .
@prefix other: <http://other.org/things#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix qudt: <http://qudt.org/schema/qudt/> .
@prefix unit: <http://qudt.org/vocab/unit/> .
@prefix seas: <https://w3id.org/seas/> .
@prefix sosa: <http://www.w3.org/ns/sosa/> .
"""


@pytest.fixture
def turtle(tmp_path: Path):  # type: ignore[no-untyped-def]
    def read(text: str, **options: bool) -> KnowledgeGraph:
        file = tmp_path / "graph.ttl"
        file.write_text(PREFIXES + text, encoding="utf-8")
        return read_graph(file, **options)  # type: ignore[arg-type]

    return read


def test_types_literals_and_links(turtle) -> None:  # type: ignore[no-untyped-def]
    graph = turtle("""
        ex:r1 a ex:Room, owl:NamedIndividual ; rdfs:label "Room one"@en, "Raum eins"@de ; ex:floor 2 ;
            ex:area 12.5 ; ex:volume "30"^^xsd:double ; ex:heated true ; ex:code "007" ;
            ex:built "2001-02-03"^^xsd:date ; ex:unknown "NaN"^^xsd:double ; ex:odd "many"^^xsd:integer ;
            ex:contains ex:s1 ; rdfs:seeAlso <http://web.org/r1> .
        ex:s1 a ex:Sensor .""")
    assert graph.node("r1").labels == {"Room"}
    assert dict(graph.node("r1").properties) == {
        "iri": "http://example.org/r1",
        "label": "Room one",
        "floor": 2,
        "area": 12.5,
        "volume": 30.0,
        "heated": True,
        "code": "007",
        "built": "2001-02-03",
        "odd": "many",
        "seeAlso": "http://web.org/r1",
    }
    assert list(graph.edges) == ["r1 contains s1"] and graph.edge_labels == ("contains",)


def test_several_values_are_kept_together(turtle) -> None:  # type: ignore[no-untyped-def]
    graph = turtle('ex:a ex:tag "x", "b", "x" ; ex:n 2, 10 ; ex:name "Haus"@de, "casa"@it ; ex:list ("p" "q") .')
    assert graph.value("a", "tag") == ("b", "x")
    assert graph.value("a", "n") == (2, 10)
    assert graph.value("a", "name") == "Haus"
    assert graph.value("a", "list") == ("p", "q")


def test_several_names_and_comments_are_one_text(turtle) -> None:  # type: ignore[no-untyped-def]
    graph = turtle('ex:a ex:name "Hall", "Lobby" ; rdfs:comment "two", "one" .')
    assert graph.value("a", "name") == "Hall; Lobby" and graph.value("a", "comment") == "one; two"


def test_lists_are_links_to_their_members(turtle) -> None:  # type: ignore[no-untyped-def]
    graph = turtle("ex:a ex:parts (ex:b ex:c) ; ex:none () . ex:b ex:in ex:a .")
    assert graph.neighbours("a", direction="out") == {"b": 1, "c": 1} and len(graph) == 3


def test_names_that_clash_are_qualified(turtle) -> None:  # type: ignore[no-untyped-def]
    graph = turtle("""
        ex:pump a ex:Pump . other:pump a ex:Pump . <http://third.org/pump> ex:near ex:pump .
        ex:tank a ex:Tank ; ex:near other:tank .
        ex:fan ex:near <http://a.org/x/fan>, <http://b.org/x/fan>, <urn:thing:fan> .""")
    assert set(graph.nodes) == {
        *("ex:pump", "other:pump", "third.org:pump", "tank", "other:tank", "fan"),
        *("http://a.org/x/fan", "http://b.org/x/fan", "thing:fan"),
    }
    assert graph.value("other:pump", "iri") == "http://other.org/things#pump"


def test_blank_nodes_have_the_same_ids_at_every_reading(turtle) -> None:  # type: ignore[no-untyped-def]
    text = """
        ex:a ex:has [ a ex:Part ; ex:has [ a ex:Screw ] ], [ a ex:Part ] .
        [] a ex:Loose ; ex:holds [ a ex:Inner ] .
        _:x ex:next _:y . _:y ex:next _:x ."""
    first, second = turtle(text), turtle(text)
    assert first.to_dict() == second.to_dict()
    assert {"a/has", "a/has/has", "a/has#2", "_:blank", "_:blank/holds"} <= set(first.nodes)
    assert len(first) == 8 and first.node("a/has/has").labels == {"Screw"}


def test_blank_nodes_of_two_files_stay_apart(tmp_path: Path) -> None:
    files = [tmp_path / "a.ttl", tmp_path / "b.ttl"]
    for file in files:
        file.write_text(f"{PREFIXES} _:x a ex:Thing ; ex:file '{file.stem}' .", encoding="utf-8")
    assert sorted(n.properties["file"] for n in read_graph(files).nodes.values()) == ["a", "b"]
    assert len(read_graph(tmp_path)) == 2


def test_vocabulary_is_left_out(turtle) -> None:  # type: ignore[no-untyped-def]
    graph = turtle("""
        <http://example.org/> a owl:Ontology ; rdfs:label "my house" ; owl:imports <http://brick.org/> .
        ex:Room a owl:Class ; rdfs:subClassOf ex:Space . ex:contains a owl:ObjectProperty .
        ex:r a ex:Room ; ex:isA ex:Room .""")
    assert list(graph.nodes) == ["r"] and not graph.edges


def test_simple_values_are_folded(turtle) -> None:  # type: ignore[no-untyped-def]
    text = """
        ex:r1 ex:area [ a qudt:QuantityValue ; qudt:numericValue 12.5 ; qudt:unit unit:M2 ] ;
              ex:length [ qudt:value 3 ; qudt:unit unit:M ] ; ex:width ex:w1 .
        ex:r2 ex:length [ qudt:value 4 ; qudt:unit unit:FT ] .
        ex:w1 seas:evaluation ex:w1state . ex:w1state qudt:value 2.5 ; qudt:unit unit:M .
        ex:obs a sosa:Observation ; sosa:hasResult [ a ex:Temperature ; qudt:numericValue 21.0 ] .
        unit:M a ex:Unit ."""
    graph = turtle(text)
    assert graph.property_units == {"area": "M2", "width": "M"}
    assert graph.value("r1", "area") == 12.5 and graph.value("r1", "width") == 2.5
    assert graph.value("r1", "length") == 3 and graph.value("r1", "length_unit") == "M"
    assert graph.value("r2", "length") == 4 and graph.value("r2", "length_unit") == "FT"
    assert graph.value("obs", "hasResult") == 21.0
    assert set(graph.nodes) == {"r1", "r2", "obs", "M"}
    assert "r1/area" in turtle(text, fold=False).nodes


def test_what_is_more_than_a_value_stays_a_node(turtle) -> None:  # type: ignore[no-untyped-def]
    graph = turtle("""
        ex:ahu ex:hasPoint ex:setpoint ; ex:limits [ qudt:value 1 ; ex:reason "code" ] ; ex:size ex:shared .
        ex:setpoint a ex:Setpoint ; qudt:value 21 ; qudt:unit unit:DEG_C .
        ex:fcu ex:size ex:shared . ex:shared qudt:value 5 .""")
    assert set(graph.nodes) == {"ahu", "setpoint", "ahu/limits", "shared", "fcu"}
    assert dict(graph.node("setpoint").properties) | {"iri": ""} == {"iri": "", "value": 21, "unit": "DEG_C"}


@pytest.mark.parametrize(
    ("suffix", "name"),
    [
        ("nt", "nt"),
        ("rdf", "xml"),
        ("jsonld", "json-ld"),
        ("n3", "n3"),
        ("trig", "turtle"),
        ("nq", "nt"),
        ("owl", "xml"),
    ],
)
def test_every_syntax_gives_the_same_graph(tmp_path: Path, suffix: str, name: str) -> None:
    text = PREFIXES + 'ex:a a ex:Room ; ex:area 12.5 ; ex:near ex:b, ex:c ; rdfs:label "A"@en . ex:b a ex:Room .'
    rdflib.Graph().parse(data=text, format="turtle").serialize(tmp_path / f"g.{suffix}", format=name, encoding="utf-8")
    (tmp_path / "g.ttl").write_text(text, encoding="utf-8")
    expected, got = read_graph(tmp_path / "g.ttl"), read_graph(tmp_path / f"g.{suffix}")
    assert dict(got.nodes) == dict(expected.nodes) and dict(got.edges) == dict(expected.edges)
    renamed = (tmp_path / f"g.{suffix}").rename(tmp_path / "g.data")
    syntax = {"nt": "ntriples", "rdf": "rdfxml", "owl": "rdfxml", "nq": "nquads"}.get(suffix, suffix)
    assert dict(read_graph(renamed, format=syntax).nodes) == dict(expected.nodes)


def test_relative_names_do_not_depend_on_the_machine(tmp_path: Path) -> None:
    (tmp_path / "g.ttl").write_text("@prefix b: <bldg#> . b:x b:near <#y> .", encoding="utf-8")
    graph = read_graph(tmp_path / "g.ttl")
    assert graph.value("x", "iri") == "file:///bldg#x" and graph.value("y", "iri") == "file:///g.ttl#y"


def test_formulas_of_n3_are_not_statements(tmp_path: Path) -> None:
    (tmp_path / "g.n3").write_text("@prefix e: <http://e/> . e:a e:p e:b . { e:x e:p e:y } e:q e:c .", encoding="utf-8")
    assert not {"x", "y"} & read_graph(tmp_path / "g.n3").nodes.keys()


def test_errors_name_file_and_line(tmp_path: Path) -> None:
    file = tmp_path / "g.ttl"
    file.write_text("@prefix ex: <http://x/> .\nex:a ex:b ex: ex:c .\n", encoding="utf-8")
    with pytest.raises(GraphError, match=r"g\.ttl, line 2: not valid turtle: .*"):
        read_graph(file)
    file.write_text("@prefix owl: <http://www.w3.org/2002/07/owl#> . <http://x/C> a owl:Class .", encoding="utf-8")
    with pytest.raises(GraphError, match=r"no node in this RDF.*read an ontology with read_ontology"):
        read_graph(file)
    file.write_text("<http://x/a> <http://x/p> <<( <http://x/b> <http://x/p> <http://x/c> )>> .", encoding="utf-8")
    with pytest.raises(GraphError, match="a statement about a statement"):
        read_graph(file)
    with pytest.raises(GraphError, match="no RDF syntax has the suffix of this file"):
        read_graph(file.rename(tmp_path / "g.dat"), format="rdf")
    folder = tmp_path / "folder.ttl"
    folder.mkdir()
    (folder / "inner.ttl").mkdir()
    with pytest.raises(GraphError, match=r"inner\.ttl: cannot be read"):
        read_graph(folder)


def test_a_list_that_contains_itself_is_refused(tmp_path: Path) -> None:
    """It was read in an endless loop; a list whose rest leads back is read once."""
    head = (
        "@prefix ex: <http://e.org/> . @prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> . ex:a ex:has _:l .\n"
    )
    file = tmp_path / "g.ttl"
    for inner in ("_:l rdf:first _:l ; rdf:rest rdf:nil .", "_:l rdf:first _:m . _:m rdf:first ex:b ; rdf:rest _:l ."):
        file.write_text(head + inner)
        with pytest.raises(GraphError, match=r"g\.ttl: an RDF list contains itself"):
            read_graph(file)
    file.write_text(head + "_:l rdf:first ex:b ; rdf:rest _:l .")
    assert read_graph(file).neighbours("a") == {"b": 1}
    file.write_text(head + "_:l rdf:first (ex:b ex:c) ; rdf:rest (ex:d) .")
    assert set(read_graph(file).neighbours("a")) == {"b", "c", "d"}
