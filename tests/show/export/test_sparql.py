"""Exported queries find exactly the rows that were counted: on a real store, for all four enrichments."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
import pyoxigraph as ox
import pytest
import rdflib
from hypothesis import given, settings
from rdflib.plugins.sparql import prepareQuery

import thence as th
from tests.helpers.examples import examples
from tests.show.export.rulesets import PATTERN, rule_sets, varied
from thence.data.graph.records import Edge, Node
from thence.data.readings.windows import window
from thence.language.items import Aspect, Feature, Item, Role
from thence.show.export import graph_rdf, shacl, sparql
from thence.show.export.vocabulary import Namespaces
from thence.statements.rules.ruleset import Rule, RuleSet

SH = rdflib.Namespace("http://www.w3.org/ns/shacl#")


@pytest.fixture(scope="module")
def gappy() -> Any:
    """The toy data with some readings taken out, since what is missing must neither satisfy nor break a rule."""
    data = th.datasets.load("toy")
    rng = np.random.default_rng(1)
    frame = data.sensors.to_polars()
    holes = [
        pl.when(pl.Series(rng.random(frame.height) < 0.15)).then(None).otherwise(pl.col(id)).alias(id)
        for id in data.sensors.ids
    ]
    sensors = th.SensorData.from_wide(frame.with_columns(holes), sensors=data.sensors.sensors)
    return data, sensors


def store_of(data: Any, sensors: th.SensorData) -> ox.Store:
    readings = {"value": window(sensors, "1h").to_polars()}
    lines = graph_rdf.triples(
        data.graph, binding=data.binding, sensors=sensors, ontology=data.ontology, readings=readings
    )
    store = ox.Store()
    store.load("\n".join(lines).encode(), format=ox.RdfFormat.N_TRIPLES)
    return store


def rows(store: ox.Store, query: str) -> list[Any]:
    return list(store.query(query))  # type: ignore[arg-type]


@pytest.mark.parametrize("enrich", ["none", "grounded", "existential", "lifted"])
def test_matches_and_violations_are_the_counts(enrich: str, gappy: Any) -> None:
    data, sensors = gappy
    table = th.transactions(
        sensors,
        data.graph,
        data.binding,
        windows="1h",
        enrich=enrich,
        bins=3,
        scope="kind",
        ontology=data.ontology,
        derive=("hour",) if enrich == "none" else (),
        edges=True,
        patterns=["(f:flow)-[in]->(p:Pipe)-[starts_at]->(j:Junction)<-[in]-(g:pressure)"],
    )
    rules = th.Exact(min_support=0.02, min_confidence=0.5).mine(table)
    rng = np.random.default_rng(2)
    chosen = rules.take(np.sort(rng.choice(len(rules), 25, replace=False)))
    store = store_of(data, sensors)
    for rule, both, antecedent in zip(chosen, chosen.counts.n_both, chosen.counts.n_antecedent, strict=True):
        matches = rows(store, sparql.query(rule, find="matches"))
        violations = rows(store, sparql.query(rule))
        assert len(matches) == both, rule.english
        assert len(violations) == antecedent - both, rule.english
        assert bool(store.query(sparql.query(rule, ask=True))) == bool(violations)
    everything = rows(store, sparql.query_all(chosen))
    assert len(everything) == int((chosen.counts.n_antecedent - chosen.counts.n_both).sum())


def test_lifted_results_name_the_nodes(gappy: Any) -> None:
    data, sensors = gappy
    flow = Feature("f", label="flow", role=Role.VARIABLE)
    pressure = Feature("g", label="pressure", role=Role.VARIABLE)
    rule = Rule((Item.compare(flow, ">=", 0.0),), Item.compare(pressure, ">=", 1000.0), PATTERN)
    found = rows(store_of(data, sensors), sparql.query(rule))
    pairs = {(row["p"].value, row["j"].value) for row in found}
    assert pairs == {
        ("urn:thence:node:Pipe%20AB", "urn:thence:node:Junction%20A"),
        ("urn:thence:node:Pipe%20BC", "urn:thence:node:Junction%20B"),
    }


def test_classes_and_relations_match_through_the_ontology(gappy: Any) -> None:
    data, sensors = gappy
    flow = Feature("f", label="flow", role=Role.VARIABLE)
    tank = Feature("n", Aspect.LABEL, "Tank", role=Role.VARIABLE)
    wide = "(f:flow)-[in]->(l:Link)-[connected]-(n:Node)"
    rule = Rule((Item.compare(flow, ">=", 0.0),), Item.is_(tank, True), wide)
    found = rows(store_of(data, sensors), sparql.query(rule))
    ends = {(row["l"].value[-2:], row["n"].value[-1]) for row in found}
    assert ends == {("AB", "A"), ("AB", "B"), ("BC", "B"), ("BC", "C")}


@pytest.mark.parametrize("day", range(7))
def test_weekdays_are_computed(day: int) -> None:
    start = datetime(1999, 12, 25)
    times = [start + timedelta(days=97 * k) for k in range(80)]
    store = ox.Store()
    graph = th.graph.KnowledgeGraph([])
    moments = pl.Series(times).dt.replace_time_zone("UTC")
    frame = pl.DataFrame({"time": moments, "s": [1.0] * len(times)})
    store.load("\n".join(graph_rdf.triples(graph, readings={"value": frame})).encode(), format=ox.RdfFormat.N_TRIPLES)
    weekday = Item.compare(Feature("", name="weekday", role=Role.TIME), "=", float(day))
    rule = Rule((weekday,), Item.compare(Feature("s"), ">=", 0.0))
    assert len(rows(store, sparql.query(rule, find="matches"))) == sum(time.weekday() == day for time in times)


def test_edges_with_an_id_and_properties_are_statements() -> None:
    graph = th.graph.KnowledgeGraph(
        [Node("a", frozenset({"Room"})), Node("b", frozenset({"Room"}), {"area": 12.5, "open": True})],
        [Edge("door 1", "a", "b", frozenset({"leads_to"}), {"width": 0.9})],
    )
    store = ox.Store()
    store.load("\n".join(graph_rdf.triples(graph)).encode(), format=ox.RdfFormat.N_TRIPLES)
    linked = Item.is_(Feature("a", Aspect.EDGE, "door 1", role=Role.NODE, other="b"), True)
    label = Item.is_(Feature("door 1", Aspect.LABEL, "leads_to", role=Role.EDGE), True)
    wide = Item.compare(Feature("door 1", Aspect.PROPERTY, "width", role=Role.EDGE), ">", 0.5)
    open_ = Item.is_(Feature("b", Aspect.PROPERTY, "open", role=Role.NODE), True)
    large = Item.compare(Feature("b", Aspect.PROPERTY, "area", role=Role.NODE), ">=", 20.0)
    assert len(rows(store, sparql.query(Rule((linked, label, wide), open_), find="matches"))) == 1
    assert len(rows(store, sparql.query(Rule((linked, open_), large)))) == 1
    assert not bool(store.query(sparql.query(Rule((linked.negated(),), large), ask=True)))


def test_other_namespaces_address_other_graphs() -> None:
    words = Namespaces(classes="https://brickschema.org/schema/Brick#", kinds="http://example.org/kind/")
    rule = varied().rule(6)
    text = sparql.query(rule, vocabulary=words)
    assert "<https://brickschema.org/schema/Brick#Pipe>" in text
    assert "<http://example.org/kind/flow>" in text


@settings(max_examples=examples(60))
@given(rules=rule_sets())
def test_every_rule_is_a_query_and_a_shape_that_parse(rules: RuleSet) -> None:
    store = ox.Store()
    store.query(sparql.query_all(rules))
    for rule in rules:
        for find in ("violations", "matches"):
            rows(store, sparql.query(rule, find=find))
    shapes = ox.parse(shacl.shapes(rules).encode(), format=ox.RdfFormat.TURTLE)
    assert sum(quad.predicate.value == str(SH.select) for quad in shapes) == len(rules)


def test_queries_and_shapes_parse_with_rdflib_too() -> None:
    rules = varied()
    prepareQuery(sparql.query_all(rules))
    shapes = rdflib.Graph().parse(data=shacl.shapes(rules), format="turtle")
    selects = list(shapes.objects(predicate=SH.select))
    prefixes = "".join(f"PREFIX {p}: <{n}>\n" for p, n in graph_rdf.PREFIXES.items())
    assert len(selects) == len(rules)
    for select in selects:
        prepareQuery(prefixes + str(select).replace("$this", "?this"))
    assert {str(m) for m in shapes.objects(predicate=SH.message)} == {rule.english for rule in rules}


def test_shapes_target_what_the_consequent_is_about() -> None:
    flow = Item.compare(Feature("f", label="flow", role=Role.VARIABLE), ">=", 0.0)
    pressure = Feature("g", label="pressure", role=Role.VARIABLE)
    elevation = Feature("j", Aspect.PROPERTY, "elevation", role=Role.VARIABLE)
    about_sensor = Rule((flow,), Item.compare(pressure, "<", 0.0), PATTERN)
    about_node = Rule((flow,), Item.compare(elevation, "<", 0.0), PATTERN)
    text = shacl.shapes([about_sensor, about_node, varied().rule(0)])
    targets = [line.strip() for line in text.splitlines() if "sh:target" in line]
    assert targets == [
        "sh:targetSubjectsOf sosa:observes ;",
        "sh:targetClass <urn:thence:class:Junction> ;",
        "sh:targetNode <urn:thence:sensor:t1> ;",
    ]


def test_a_validator_reports_each_violation(gappy: Any) -> None:
    pyshacl = pytest.importorskip("pyshacl")
    data, sensors = gappy
    flow, pressure = Feature("f", label="flow", role=Role.VARIABLE), Feature("g", label="pressure", role=Role.VARIABLE)
    rule = Rule((Item.compare(flow, ">=", 20.0),), Item.compare(pressure, "<", 40.0), PATTERN)
    readings = {"value": window(sensors, "6h").to_polars()}
    lines = graph_rdf.triples(data.graph, binding=data.binding, sensors=sensors, readings=readings)
    text = "\n".join(lines)
    store = ox.Store()
    store.load(text.encode(), format=ox.RdfFormat.N_TRIPLES)
    expected = rows(store, sparql.query(rule))
    graph = rdflib.Graph().parse(data=text, format="nt")
    shape = rdflib.Graph().parse(data=shacl.shapes([rule]), format="turtle")
    conforms, report, _ = pyshacl.validate(graph, shacl_graph=shape)
    results = list(report.subjects(rdflib.RDF.type, SH.ValidationResult))
    assert expected
    assert not conforms
    assert len(results) == len(expected)


def test_a_written_graph_reads_back(tmp_path: Any) -> None:
    data = th.datasets.load("toy")
    path = graph_rdf.write_graph(data.graph, tmp_path / "graph.nt", reify=False)
    back = th.read_graph(path)
    assert set(back.nodes) == set(data.graph.nodes)
    for id, node in data.graph.nodes.items():
        assert back.node(id).labels == node.labels
        kept = {name: value for name, value in back.node(id).properties.items() if name != "iri"}
        assert kept == dict(node.properties)
    assert {(e.source, *e.labels, e.target) for e in back.edges.values()} == {
        (e.source, *e.labels, e.target) for e in data.graph.edges.values()
    }
