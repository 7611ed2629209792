"""The ontology: reasoning over classes and relations, the schema, and the violations of a broken graph."""

from __future__ import annotations

from collections import Counter

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.ontology import Breach, Ontology, Relation
from thence.data.graph.records import DatedValue, Edge, Node, as_instant
from thence.errors import GraphError


def names(*words: str) -> frozenset[str]:
    return frozenset(words)


@given(st.dictionaries(st.sampled_from("abcdef"), st.sets(st.sampled_from("abcdef")), max_size=6))
def test_ancestors_and_descendants_are_reachability(parents: dict[str, set[str]]) -> None:
    classes = {c: parents.get(c, set()) - {c} for c in "abcdef"}
    ontology = Ontology(classes)
    upwards = nx.DiGraph((child, parent) for child, above in classes.items() for parent in above)
    upwards.add_nodes_from(classes)
    for one in classes:
        above = nx.descendants(upwards, one)
        assert ontology.ancestors(one) == above - {one}
        assert ontology.descendants(one) == nx.ancestors(upwards, one) - {one}
        for other in classes:
            assert ontology.is_a(one, other) == (one == other or other in above)


def test_relations_have_kinds_too() -> None:
    water = Ontology.water()
    assert water.is_relation("starts_at", "connected")
    assert not water.is_relation("connected", "starts_at")
    assert water.relations_within("connected") == names("connected", "starts_at", "ends_at")
    assert water.relations["connected"].symmetric
    with pytest.raises(GraphError, match=r"no relation 'conected' \(did you mean 'connected'"):
        water.relations_within("conected")


def test_subclasses_of_an_unknown_class_are_refused_by_name() -> None:
    assert {"Pipe", "Valve"} <= Ontology.water().descendants("Link")
    with pytest.raises(GraphError, match=r"water: there is no class 'Pip' \(did you mean 'Pipe'\?\)"):
        Ontology.water().descendants("Pip")


def test_an_undeclared_class_is_only_itself() -> None:
    water = Ontology.water()
    assert water.is_a("Dragon", "Dragon") and not water.is_a("Dragon", "Link") and not water.is_a("Pipe", "Dragon")


@pytest.fixture
def ontology() -> Ontology:
    return Ontology(
        {
            "Thing": (),
            "Equipment": ("Thing",),
            "Pump": ("Equipment",),
            "Point": ("Thing",),
            "Sensor": ("Point",),
            "Room": ("Thing",),
            "Old_Pump": ("Pump",),
        },
        {
            "relates": Relation(),
            "hasPoint": Relation(names("Thing"), names("Point"), names("relates"), ranges={"Room": names("Sensor")}),
            "feeds": Relation(names("Equipment"), ranges={"Point": frozenset()}),
        },
        {"power": ("Equipment",), "area": ("Room",), "note": (), "since": ("hasPoint",)},
        deprecated={"Old_Pump": "Pump"},
    )


def test_a_sound_graph_has_no_breach(ontology: Ontology) -> None:
    graph = KnowledgeGraph(
        [
            Node("pump", names("Pump"), {"power": 3.0, "note": "ok", "iri": "http://x", "label": "Pump", "feeds": 1}),
            Node("s", names("Sensor")),
            Node("elsewhere"),
        ],
        [
            Edge("1", "pump", "s", names("hasPoint"), {"since": "2020"}),
            Edge("2", "pump", "elsewhere", names("hasPoint")),
            Edge("3", "elsewhere", "s", names("feeds")),
        ],
        dated=[DatedValue("pump", "power", as_instant("2024-01-01"), 4.0)],
    )
    assert ontology.validate(graph) == ()


def test_a_broken_graph_lists_every_breach(ontology: Ontology) -> None:
    graph = KnowledgeGraph(
        [
            Node("a", names("Pomp"), {"power": 3}),
            Node("b", names("Pump"), {"powr": 3, "area": 2}),
            Node("c", names("Room"), {"power": 1, "area": 1}),
            Node("s", names("Sensor")),
            Node("p", names("Point")),
        ],
        [
            Edge("1", "b", "c", names("hasPoint")),
            Edge("2", "c", "p", names("hasPoint"), {"since": 1, "area": 3}),
            Edge("3", "c", "b", names("feeds")),
            Edge("4", "s", "b", names("feeds")),
            Edge("5", "b", "s", names("haspoint")),
        ],
        dated=[DatedValue("b", "colour", as_instant("2024-01-01"), "red")],
    )
    assert set(ontology.validate(graph)) == {
        Breach("label", "a", "'Pomp' is neither a class nor a relation (did you mean 'Pump'?)"),
        Breach("property", "b", "'powr' is not a property of the ontology (did you mean 'power'?)"),
        Breach("owner", "b", "'area' belongs to Room, not to Pump"),
        Breach("owner", "c", "'power' belongs to Equipment, not to Room"),
        Breach("range", "1", "'hasPoint' ends at Point; c is Room"),
        Breach("range", "2", "'hasPoint' of Room ends at Sensor; p is Point"),
        Breach("owner", "2", "'area' belongs to Room, not to hasPoint"),
        Breach("domain", "3", "'feeds' starts at Equipment; c is Room"),
        Breach("domain", "4", "'feeds' starts at Equipment; s is Sensor"),
        Breach("domain", "4", "Point cannot have 'feeds'"),
        Breach("label", "5", "'haspoint' is neither a class nor a relation (did you mean 'hasPoint'?)"),
        Breach("property", "b", "'colour' is not a property of the ontology"),
    }
    assert str(ontology.validate(graph)[0]).startswith("a: 'Pomp' is neither")


def test_domain_and_range_are_inherited_from_wider_relations() -> None:
    ontology = Ontology(
        {"Link": (), "Node": ()},
        {"connected": Relation(names("Link"), names("Node")), "starts_at": Relation(parents=names("connected"))},
    )
    graph = KnowledgeGraph(
        [Node("n", names("Node")), Node("l", names("Link"))], [Edge("e", "n", "l", names("starts_at"))]
    )
    assert Counter(b.kind for b in ontology.validate(graph)) == {"domain": 1, "range": 1}


def test_deprecated_classes_are_reported_on_request(ontology: Ontology) -> None:
    graph = KnowledgeGraph([Node("x", names("Old_Pump"), {"power": 1})])
    assert ontology.validate(graph) == ()
    assert ontology.validate(graph, deprecated=True) == (
        Breach("deprecated", "x", "'Old_Pump' is deprecated, use 'Pump'"),
    )


def test_exemptions_can_be_chosen(ontology: Ontology) -> None:
    graph = KnowledgeGraph([Node("x", names("Room"), {"iri": "http://x", "colour": "red"})])
    assert [b.detail for b in ontology.validate(graph)] == ["'colour' is not a property of the ontology"]
    assert [b.detail for b in ontology.validate(graph, exempt=["colour"])] == [
        "'iri' is not a property of the ontology"
    ]


def test_two_ontologies_together(ontology: Ontology) -> None:
    other = Ontology(
        {"Pump": ("Machine",), "Machine": (), "Sensor": ()},
        {"feeds": Relation(names("Machine"), names("Machine"), ranges={"Point": names("Pump")}), "near": Relation()},
        {"power": ("Machine",), "note": ("Machine",), "weight": ("Machine",)},
        name="other",
        units={"weight": "kg"},
    )
    both = ontology.merged(other)
    assert both.is_a("Pump", "Machine") and both.is_a("Pump", "Equipment")
    assert both.properties["power"] == names("Equipment", "Machine")
    assert both.properties["note"] == names() and both.properties["weight"] == names("Machine")
    assert both.relations["feeds"].domain == names("Equipment", "Machine")
    assert both.relations["feeds"].range == names()
    assert both.relations["feeds"].ranges == {"Point": names("Pump")}
    assert both.units == {"weight": "kg"} and both.name == "other"
    assert repr(other) == "Ontology(other: 3 classes, 2 relations, 3 properties)"


def test_all_undeclared_names_are_listed() -> None:
    with pytest.raises(GraphError) as caught:
        Ontology({"A": ("B",)}, {"r": Relation(names("C"), names("D"), names("q"))}, {"p": ("E",)}, name="loose")
    for part in (
        "loose: the ontology refers to names that are not declared",
        "class 'A' has the parent 'B'",
        "relation 'r' has the domain 'C'",
        "relation 'r' has the range 'D'",
        "relation 'r' has the parent 'q'",
        "property 'p' has the owner 'E'",
    ):
        assert part in str(caught.value)


def test_a_schema_with_mistakes_lists_them() -> None:
    with pytest.raises(GraphError) as caught:
        Ontology.from_dict(
            {
                "clases": {},
                "classes": {"A": {"parent": ["B"]}, "B": "yes", "C": {"parents": 3}},
                "relations": [],
                "properties": {"p": {"owners": "A", "unit": "m"}},
            },
            where="mine.toml",
        )
    for part in (
        "mine.toml: the schema is not valid",
        "unknown key 'clases' (did you mean 'classes'?)",
        "unknown key 'classes.A.parent' (did you mean 'parents'?)",
        "'classes.B' must be a table, got 'yes'",
        "'classes.C.parents' must be a list of names, got 3",
        "'relations' must be a table, got []",
    ):
        assert part in str(caught.value)


def test_a_schema_gives_all_it_says() -> None:
    ontology = Ontology.from_dict(
        {
            "name": "tiny",
            "classes": {"A": {}, "B": {"parents": "A", "deprecated": "A"}},
            "relations": {"r": {"domain": ["A"], "range": ["B"], "inverse": "s", "symmetric": True}},
            "properties": {"p": {"owners": ["A"], "unit": "m"}, "q": {}},
        }
    )
    assert ontology.name == "tiny" and ontology.is_a("B", "A") and ontology.deprecated == {"B": "A"}
    assert ontology.relations["r"] == Relation(names("A"), names("B"), inverse="s", symmetric=True)
    assert ontology.properties == {"p": names("A"), "q": names()} and ontology.units == {"p": "m"}


def test_an_ontology_brings_known_rules() -> None:
    rule = {"name": "physics", "pattern": "(f:flow)-[in]->(p:Pump)", "if": ["f > 0"], "then": "(?p:Pump).power > 0"}
    ontology = Ontology.from_dict({"classes": {"Pump": {}}, "known": [rule]})
    (known,) = ontology.known
    assert known.name == "physics" and str(known) == "(f:flow)-[in]->(p:Pump) ⊢ f > 0 → (?p:Pump).power > 0"
    assert Ontology.from_dict(ontology.to_dict()).known == ontology.known
    assert "known" not in Ontology({"Pump": []}).to_dict()
    # The same rule of two ontologies is one rule.
    assert ontology.merged(Ontology({"Pump": []}, known=[known])).known == (known,)
    assert repr(ontology).endswith("1 known rule)")
    with pytest.raises(GraphError) as caught:
        Ontology.from_dict({"known": [{"if": "a < 3"}, "a => b"]})
    assert "[[known]] 1: a known rule needs 'then'" in str(caught.value)
    assert "[[known]] 2: a known rule must be a table, got 'a => b'" in str(caught.value)
    with pytest.raises(GraphError, match="'known' must be a list of tables"):
        Ontology.from_dict({"known": 3})
