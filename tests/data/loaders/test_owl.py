"""OWL, RDFS and SHACL vocabularies: what is read from each construct, and the published ontologies."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from thence.data.graph.ontology import Ontology
from thence.data.loaders import read_graph, read_ontology
from thence.errors import GraphError

PREFIXES = """
@prefix ex: <http://example.org/> .
@prefix o2: <http://other.org/> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix schema: <http://schema.org/> .
@prefix brick: <https://brickschema.org/schema/Brick#> .
"""


def names(*words: str) -> frozenset[str]:
    return frozenset(words)


@pytest.fixture
def turtle(tmp_path: Path):  # type: ignore[no-untyped-def]
    def read(text: str) -> Ontology:
        file = tmp_path / "vocabulary.ttl"
        file.write_text(PREFIXES + text, encoding="utf-8")
        return read_ontology(file)

    return read


def test_classes_and_expressions(turtle) -> None:  # type: ignore[no-untyped-def]
    ontology = turtle("""
        ex:A a owl:Class . ex:B a rdfs:Class ; rdfs:subClassOf ex:A, owl:Thing . ex:C rdfs:subClassOf ex:B .
        ex:Same a owl:Class ; owl:equivalentClass ex:C .
        ex:Union a owl:Class ; owl:equivalentClass [ owl:unionOf (ex:U1 ex:U2) ] .
        ex:U1 a owl:Class . ex:U2 a owl:Class .
        ex:Both a owl:Class ; rdfs:subClassOf [ owl:intersectionOf (ex:U1 ex:A) ] .
        ex:Foreign rdfs:subClassOf o2:Elsewhere .""")
    assert ontology.is_a("C", "A") and ontology.is_a("Same", "A") and ontology.is_a("C", "Same")
    assert ontology.is_a("U1", "Union") and ontology.is_a("U2", "Union") and not ontology.is_a("Union", "U1")
    assert ontology.ancestors("Both") == {"U1", "A", "Union"}
    assert "Thing" not in ontology.classes and ontology.is_a("Foreign", "Elsewhere")
    assert ontology.name == "vocabulary"


def test_deprecated_classes_are_kinds_of_their_replacement(turtle) -> None:  # type: ignore[no-untyped-def]
    ontology = turtle("""
        ex:Old a owl:Class ; owl:deprecated true ; brick:isReplacedBy ex:New . ex:New a owl:Class .
        ex:Gone a owl:Class ; owl:deprecated true .
        ex:Room a owl:Class ; owl:deprecated true ; brick:isReplacedBy o2:Room . o2:Room a owl:Class .""")
    assert ontology.is_a("Old", "New") and ontology.deprecated == {"Old": "New", "Gone": ""}


def test_relations_with_domain_and_range(turtle) -> None:  # type: ignore[no-untyped-def]
    ontology = turtle("""
        ex:A a owl:Class . ex:B a owl:Class .
        ex:near a owl:ObjectProperty, owl:SymmetricProperty .
        ex:r a owl:ObjectProperty ; rdfs:domain ex:A ; rdfs:range [ owl:unionOf (ex:A ex:B) ] ;
            rdfs:subPropertyOf ex:near ; owl:inverseOf ex:s .
        ex:s a owl:ObjectProperty ; schema:domainIncludes ex:A, ex:B ; rdfs:domain owl:Thing ;
            schema:rangeIncludes ex:B .
        ex:t a rdf:Property ; rdfs:range ex:B . ex:u a rdf:Property . ex:v a rdf:Property ; rdfs:range xsd:string .
        ex:w a owl:DatatypeProperty ; rdfs:domain ex:A . ex:x a owl:DatatypeProperty ; rdfs:domain ex:Later .
        o2:w a owl:DatatypeProperty ; rdfs:domain ex:B .""")
    assert ontology.relations["near"].symmetric
    relation = ontology.relations["r"]
    assert (relation.domain, relation.range) == (names("A"), names("A", "B"))
    assert relation.parents == names("near") and relation.inverse == "s"
    assert ontology.relations["s"].domain == names(), "owl:Thing allows anything"
    assert ontology.relations["s"].range == names("B")
    assert set(ontology.relations) == {"near", "r", "s", "t", "u"}
    assert ontology.properties == {"u": names(), "v": names(), "w": names("A", "B"), "x": names("Later")}


def test_shapes_and_restrictions_hold_for_their_class(turtle) -> None:  # type: ignore[no-untyped-def]
    ontology = turtle("""
        ex:Point a owl:Class . ex:Place a owl:Class . ex:Sensor rdfs:subClassOf ex:Point .
        ex:Equipment a owl:Class, sh:NodeShape ;
            sh:property [ sh:path ex:hasPoint ; sh:class ex:Point ], [ sh:path ex:size ; sh:datatype xsd:integer ],
                [ sh:path ex:at ; sh:or ([ sh:class ex:Place ] [ sh:class ex:Equipment ]) ],
                [ sh:path ex:any ; sh:or ([ sh:class ex:Place ] [ sh:datatype xsd:string ]) ],
                [ sh:path ex:valued ; sh:node ex:ValueShape ] ;
            rdfs:subClassOf [ a owl:Restriction ; owl:onProperty ex:feeds ; owl:allValuesFrom ex:Place ] .
        ex:ValueShape a sh:NodeShape .
        ex:NoPlace a sh:NodeShape ; sh:targetClass ex:Point ; sh:property [ sh:path ex:at ; sh:maxCount 0 ] .
        ex:hasPoint a owl:ObjectProperty . ex:at a owl:ObjectProperty . ex:feeds a owl:ObjectProperty .""")
    ranges = {name: dict(relation.ranges) for name, relation in ontology.relations.items()}
    assert ranges["hasPoint"] == {"Equipment": names("Point")}
    assert ranges["at"] == {"Equipment": names("Place", "Equipment"), "Point": names()}
    assert ranges["feeds"] == {"Equipment": names("Place")}
    assert ranges["any"] == {} and ranges["valued"] == {}
    assert ontology.properties["size"] == names(), "a shape declares a property, it does not reserve it"


def test_a_file_without_vocabulary(tmp_path: Path) -> None:
    file = tmp_path / "a.ttl"
    file.write_text("<http://x/a> <http://x/p> 3 .", encoding="utf-8")
    with pytest.raises(GraphError, match=r"a\.ttl: no class and no relation.*read_graph"):
        read_ontology(file)


def test_schemas_in_toml_and_json_and_all_together(tmp_path: Path) -> None:
    toml, plain, turtle = tmp_path / "a.toml", tmp_path / "b.json", tmp_path / "c.ttl"
    toml.write_text('[classes]\nA = {}\nB = { parents = ["A"] }\n', encoding="utf-8")
    plain.write_text(json.dumps({"classes": {"A": {"parents": ["Root"]}, "Root": {}}}), encoding="utf-8")
    turtle.write_text(PREFIXES + "ex:Root rdfs:subClassOf ex:Top .", encoding="utf-8")
    assert read_ontology([toml, plain, turtle]).ancestors("B") == {"A", "Root", "Top"}
    assert read_ontology(toml).name == str(toml)
    toml.write_text("[classes\n", encoding="utf-8")
    with pytest.raises(GraphError, match=r"a\.toml: not valid TOML"):
        read_ontology(toml)
    plain.write_text('{"@context": {}}', encoding="utf-8")
    with pytest.raises(GraphError, match="this is JSON-LD"):
        read_ontology(plain)
    plain.write_text("[1]", encoding="utf-8")
    with pytest.raises(GraphError, match="a schema must be a table of classes, relations and properties, got list"):
        read_ontology(plain)
    with pytest.raises(GraphError, match=r"unknown ontology format 'tomll' \(did you mean 'toml'"):
        read_ontology(toml, format="tomll")
    with pytest.raises(GraphError, match="no such file or folder: brick"):
        read_ontology("brick")
    with pytest.raises(GraphError, match=r"no ontology format has the suffix of .*a\.dat .*known suffixes are \.toml"):
        read_ontology(toml.rename(tmp_path / "a.dat"))
    (tmp_path / "a.dat").write_text('{"classes": {"A": {}}}', encoding="utf-8")
    assert list(read_ontology(tmp_path / "a.dat", format="json").classes) == ["A"]


@pytest.fixture(scope="module")
def brick(published: Path) -> Ontology:
    return read_ontology(published / "ontologies" / "Brick-1.3.ttl")


def test_brick(brick: Ontology) -> None:
    assert brick.is_a("Zone_Air_Temperature_Sensor", "Point")
    assert brick.is_a("AHU", "Air_Handler_Unit") and brick.is_a("Air_Handler_Unit", "AHU")
    assert brick.is_a("FCU", "HVAC_Equipment") and not brick.is_a("FCU", "Point")
    assert len(brick.descendants("Point")) > 900
    assert brick.relations["hasPoint"].inverse == "isPointOf"
    assert brick.relations["hasPoint"].ranges["Equipment"] == {"Point"}
    assert "hasTimeseriesId" in brick.properties and "area" in brick.relations
    assert brick.deprecated["AudioVisualEquipment"] == "Audio_Visual_Equipment"
    assert "Room" not in brick.deprecated


def test_brick_finds_the_one_mistake_of_the_fan_coil_model(brick: Ontology, published: Path) -> None:
    graph = read_graph(published / "lbnl_fcu_meta" / "LBNL_FDD_Data_Sets_FCU_corrected_version.ttl")
    assert [str(breach) for breach in brick.validate(graph)] == [
        "FCU_WAT: 'Electricial_Meter' is neither a class nor a relation (did you mean 'Electrical_Meter'?)"
    ]


def test_brick_finds_every_breach_of_a_broken_model(brick: Ontology, tmp_path: Path) -> None:
    file = tmp_path / "broken.ttl"
    file.write_text(
        """@prefix brick: <https://brickschema.org/schema/Brick#> . @prefix : <http://x/> .
        :ahu a brick:AHU ; brick:hasPoint :fan ; brick:hasPart :sat ; brick:colour "red" .
        :sat a brick:Supply_Air_Temperature_Sensor ; brick:hasLocation :room ; brick:hasUnit :DEG_C .
        :fan a brick:Supply_Fan .
        :room a brick:Room ; brick:area [ brick:value 12 ; brick:hasUnit :M2 ] . :x a brick:Suply_Fan .""",
        encoding="utf-8",
    )
    breaches = {(b.kind, b.subject) for b in brick.validate(read_graph(file))}
    assert breaches == {
        ("range", "ahu hasPoint fan"),
        ("range", "ahu hasPart sat"),
        ("domain", "sat hasLocation room"),
        ("property", "ahu"),
        ("label", "x"),
    }


def test_sosa_and_saref(published: Path) -> None:
    folder = published / "ontologies"
    sosa = read_ontology(sorted([*folder.glob("sosa*.ttl"), *folder.glob("ssn*.ttl")]))
    assert sosa.is_a("Sensor", "System")
    assert sosa.relations["observes"].domain == {"Sensor"} and sosa.relations["observes"].range == {"Property"}
    assert sosa.is_relation("madeByActuator", "madeBySystem") and sosa.relations["observes"].inverse == "isObservedBy"
    graph = read_graph(published / "opensmarthome" / "00_OpenSmartHomeData.ttl")
    assert {b.kind for b in sosa.validate(graph)} == {"label", "property"}, "its SOSA part is sound"
    saref = read_ontology([folder / "saref.ttl", folder / "saref4bldg.ttl"])
    assert saref.is_a("TemperatureSensor", "Device") and saref.relations["hasState"].domain == {"Device"}
    assert len(read_ontology(folder).classes) > 1900
