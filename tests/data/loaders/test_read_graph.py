"""Which loader is chosen, and the errors about files that cannot be read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from thence.data.graph.binding import bind
from thence.data.graph.records import as_instant
from thence.data.loaders import read_binding, read_graph, read_ontology
from thence.errors import GraphError

GRAPHML = """<?xml version="1.0"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="k0" for="node" attr.name="power" attr.type="double"><default>1.5</default></key>
  <key id="k1" for="all" attr.name="kind" attr.type="string"/>
  <key id="k2" for="node" attr.name="on" attr.type="boolean"/>
  <graph edgedefault="directed">
    <node id="a"><data key="k0">2.5</data><data key="k1">Pump</data><data key="k2">true</data></node>
    <node id="b" labels=":Tank:Asset"/>
    <edge source="a" target="b" label="feeds"><data key="k1">pipe</data></edge>
  </graph>
</graphml>
"""


def write(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def message(source: Any, **options: Any) -> str:
    with pytest.raises(GraphError) as caught:
        read_graph(source, **options)
    return str(caught.value)


def test_what_cannot_be_a_source(tmp_path: Path) -> None:
    assert "no-such.ttl" in message(tmp_path / "no-such.ttl")
    assert "no such file or folder: " in message([tmp_path / "a.ttl", tmp_path / "b.ttl"])
    assert "cannot read from int" in message(3)
    assert "no file given" in message([])
    assert "unknown graph format 'turtel' (did you mean 'turtle'?)" in message("x", format="turtel")
    unknown = [write(tmp_path, "a.dat", ""), write(tmp_path, "b.ttl", ""), write(tmp_path, "c", "")]
    text = message(unknown)
    assert f"no graph format has the suffix of {unknown[0]}, {unknown[2]} (known suffixes are .inp, .ttl" in text
    mixed = [write(tmp_path, "a.inp", ""), write(tmp_path, "b.ttl", "")]
    assert "files of different formats" in message(mixed)
    twice = [write(tmp_path, "a.json", "{}"), write(tmp_path, "b.json", "{}")]
    assert "json takes one file, got 2" in message(twice)
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "no nodes.csv and no RDF file" in message(empty)
    assert "the format 'networkx' is for networkx graphs" in message(twice[0], format="networkx")


def test_json_with_every_form_of_entry(tmp_path: Path) -> None:
    content = {
        "nodes": [
            {
                "id": 1,
                "labels": ["Pump"],
                "properties": {"power": [{"from": None, "value": 2}, {"from": "2024-03-01", "value": 3}]},
            },
            {"id": "b", "label": "Tank", "properties": {"note": None}},
            {"id": "c"},
        ],
        "edges": [
            {"source": 1, "target": "b", "labels": "feeds;near"},
            {"source": 1, "target": "b", "labels": ["feeds", "near"]},
            {"id": "e3", "source": "b", "target": "c", "properties": {"w": 1}},
        ],
        "property_units": {"power": "kW"},
    }
    graph = read_graph(write(tmp_path, "g.json", json.dumps(content)))
    assert list(graph.edges) == ["1 feeds/near b", "1 feeds/near b #2", "e3"]
    assert graph.value("1", "power", "2024-02-29") == 2 and graph.value("1", "power") == 3
    assert graph.with_label("Tank") == ("b",) and graph.node("b").properties == {}
    assert graph.property_units == {"power": "kW"}


def test_json_without_edges_is_still_a_property_graph(tmp_path: Path) -> None:
    # It was taken for node-link JSON, which has its properties beside the id.
    text = '{"nodes": [{"id": "t", "labels": ["Tank"], "properties": {"level": 3}}]}'
    assert read_graph(write(tmp_path, "g.json", text)).value("t", "level") == 3


def test_json_with_mistakes_lists_them_by_place(tmp_path: Path) -> None:
    content = {
        "nodes": [
            {"id": "a", "power": 3},
            {"id": "a"},
            {"name": "b"},
            "c",
            {
                "id": "d",
                "properties": {"x": {"deep": 1}, "y": [{"from": "soon", "value": 1}], "z": [{"from": 3, "value": 1}]},
            },
            {"id": "e", "properties": []},
            {"id": "f", "properties": 5},
        ],
        "edges": [{"source": "a"}, {"source": "a", "target": "dd"}, {"id": "a", "source": "a", "target": "d"}],
        "property_units": 3,
        "dated": [{"subject": "ghost", "property": "p", "from": "2024-01-01", "value": 1}, {"subject": "a"}],
    }
    text = message(write(tmp_path, "g.json", json.dumps(content)))
    for part in (
        "g.json: 14 problems",
        "nodes[0]: unknown key 'power'; move it to 'properties'",
        "nodes[1]: duplicate node id 'a' (first at nodes[0])",
        "nodes[2]: missing 'id'",
        "nodes[3]: must be an object, got 'c'",
        "nodes[4]: d: property 'x' must be a string, a finite number or a boolean, or a list of these, got {'deep': 1}",
        "nodes[4]: d, 'y': 'soon' is not a date",
        "nodes[4]: d, 'z': 'from' must be a date, got 3",
        "nodes[6]: 'properties' must be an object, got 5",
        "edges[0]: missing 'target'",
        "edges[1]: edge 'a → dd' refers to 'dd', which is not a node",
        "edges[2]: duplicate id 'a' (first at nodes[0])",
        'property_units must be an object such as {"length": "m"}, got 3',
        "dated[0]: dated value of 'p': 'ghost' is not a node or edge",
        "dated[1]: missing 'property' and 'from' and 'value'",
    ):
        assert part in text, part


def test_json_that_is_no_graph(tmp_path: Path) -> None:
    assert "line 1, column 2: not valid JSON" in message(write(tmp_path, "g.json", "{nodes}"))
    assert "this JSON is not a graph" in message(write(tmp_path, "g.json", "[1, 2]"))
    assert "this JSON is not a graph" in message(write(tmp_path, "g.json", '{"nodes": 3}'))
    (tmp_path / "g.json").write_bytes(b'"\xff"')
    assert "not UTF-8 text" in message(tmp_path / "g.json")


def test_json_ld_is_read_as_rdf(tmp_path: Path) -> None:
    text = '{"@context": {"@vocab": "http://x.org/"}, "@id": "http://x.org/r", "@type": "Room", "area": 12}'
    graph = read_graph(write(tmp_path, "g.json", text))
    assert graph.with_label("Room") == ("r",) and graph.value("r", "area") == 12


def test_tables_with_units_types_and_dated_values(tmp_path: Path) -> None:
    write(
        tmp_path,
        "nodes.csv",
        "id;labels;length [m];zip;on;note:text;n\np1;Pipe;820.5;007;true;12;1\nj1;;;008;false;;\n",
    )
    write(tmp_path, "edges.csv", "source,target,label\np1,j1,ends_at\np1,j1,ends_at\n")
    write(tmp_path, "values.csv", "subject,property,from,value\np1,length,2024-01-01,900\np1,note,2024-01-01,x\n")
    graph = read_graph(tmp_path)
    assert dict(graph.node("p1").properties) == {"length": 820.5, "zip": "007", "on": True, "note": "12", "n": 1}
    assert dict(graph.node("j1").properties) == {"zip": "008", "on": False}
    assert graph.property_units == {"length": "m"}
    assert list(graph.edges) == ["p1 ends_at j1", "p1 ends_at j1 #2"]
    assert graph.value("p1", "length", "2024-01-01") == 900
    assert graph.value("p1", "note", as_instant("2023-01-01")) == "12" and graph.value("p1", "note") == "x"
    assert list(read_graph(tmp_path / "nodes.csv").edges) == list(graph.edges)
    assert not read_graph((tmp_path / "nodes.csv", tmp_path / "edges.csv")).dated


def test_cells_of_lists_hold_several_values(tmp_path: Path) -> None:
    text = "id,use:text[],size [m]:number[],old:truth[]\nr1,office; lab;office,2;1.5;n/a,true;false\nr2,,3,\n"
    write(tmp_path, "nodes.csv", text)
    graph = read_graph(tmp_path)
    assert dict(graph.node("r1").properties) == {"use": ("lab", "office"), "size": (1.5, 2), "old": (False, True)}
    assert dict(graph.node("r2").properties) == {"size": 3}
    assert graph.with_property("use", "lab") == ("r1",) and graph.with_property("size", 3) == ("r2",)
    write(tmp_path, "nodes.csv", "id,size:number[]\nr1,2;wide\n")
    assert "nodes.csv, line 2: 'size' must be of type number[], got 'wide'" in message(tmp_path)


def test_tables_with_mistakes_list_them_by_line(tmp_path: Path) -> None:
    write(tmp_path, "nodes.csv", "id,length:number\np1,long\n,3\n\np1,4\n")
    write(tmp_path, "edges.csv", "id,source,target\ne1,p1,p2\ne1,p1,p1\n,,p1\n")
    write(tmp_path, "values.csv", "subject,property,from,value\np9,length,2024-01-01,1\np1,length,soon,1\n")
    text = message(tmp_path)
    for part in (
        "8 problems",
        "nodes.csv, line 2: 'length' must be of type number, got 'long'",
        "nodes.csv, line 3: 'id' is empty",
        "nodes.csv, line 5: duplicate node id 'p1' (first at nodes.csv, line 2)",
        "edges.csv, line 2: edge 'e1' refers to 'p2', which is not a node",
        "edges.csv, line 3: duplicate id 'e1' (first at edges.csv, line 2)",
        "edges.csv, line 4: 'source' is empty",
        "values.csv, line 2: dated value of 'length': 'p9' is not a node or edge",
        "values.csv, line 3: p1, 'length': 'soon' is not a date",
    ):
        assert part in text, part


def test_a_table_that_is_no_table(tmp_path: Path) -> None:
    assert "line 1: missing column 'id' (did you mean 'idd'?)" in message(write(tmp_path, "nodes.csv", "idd,x\n"))
    assert "the file has no columns" in message(write(tmp_path, "nodes.csv", ""))
    assert "duplicate column 'x'" in message(write(tmp_path, "nodes.csv", "id,x,x [m]\n"))
    assert "line 2: the row has 3 cells, the header has 2" in message(write(tmp_path, "nodes.csv", "id,x\na,b,c\n"))
    (tmp_path / "nodes.csv").write_bytes(b"id\n\xff\n")
    assert "not UTF-8 text" in message(tmp_path / "nodes.csv")
    files = [write(tmp_path, f"{i}.csv", "id\n") for i in range(4)]
    assert "at most three tables" in message(files)


def test_graphml_types_defaults_and_labels(tmp_path: Path) -> None:
    file = write(tmp_path, "g.graphml", GRAPHML)
    graph = read_graph(file)
    assert dict(graph.node("a").properties) == {"power": 2.5, "kind": "Pump", "on": True}
    assert graph.node("b").labels == {"Tank", "Asset"} and dict(graph.node("b").properties) == {"power": 1.5}
    (edge,) = graph.edges.values()
    assert edge.labels == {"feeds"} and edge.properties == {"kind": "pipe"} and edge.id == "a feeds b"
    assert read_graph(file, labels="kind").with_label("Pump") == ("a",)


def test_graphml_with_mistakes_names_the_lines(tmp_path: Path) -> None:
    bad = GRAPHML.replace(">2.5<", ">much<").replace('target="b"', 'target="bb"').replace('key="k2"', 'key="k9"')
    bad = bad.replace('<node id="b"', '<node/><node id="b"').replace("</graph>", "<hyperedge/></graph>")
    text = message(write(tmp_path, "g.graphml", bad))
    for part in (
        "line 7: unknown <key> 'k9'",
        "line 7: 'power' must be of type double, got 'much'",
        "line 8: <node> has no id",
        "line 9: edge 'a feeds bb' refers to 'bb', which is not a node",
        "line 10: <hyperedge> is not supported",
    ):
        assert part in text, part
    assert "line 2: not valid XML" in message(write(tmp_path, "g.graphml", "<graphml>\n<graph></graphml>"))
    assert "the root element must be <graphml>, got <svg>" in message(write(tmp_path, "g.graphml", "<svg/>"))


def test_networkx_values_are_plain_and_ids_stay_apart() -> None:
    source = nx.DiGraph()
    source.add_node("a", size=np.float32(0.5), count=np.int64(3), on=np.bool_(True), kind="Pump")
    graph = read_graph(source, labels="kind")
    assert dict(graph.node("a").properties) == {"size": 0.5, "count": 3, "on": True}
    assert [type(v) for v in graph.node("a").properties.values()] == [float, int, bool]
    source.add_nodes_from([1, "1"])
    assert "nodes 1 and '1' both become '1'" in message(source)
    source = nx.DiGraph()
    source.add_node("a", size=[1, 2])
    assert read_graph(source).value("a", "size") == (1, 2)
    source.add_node("a", size=[1, {}])
    assert "networkx graph: 1 problem\n  node 'a': a: property 'size' must be a string" in message(source)


def tables(folder: Path, nodes: str, **others: str) -> Path:
    for name, text in {"nodes": nodes, **others}.items():
        write(folder, f"{name}.csv", text)
    return folder


def test_decimal_commas_are_numbers_where_commas_do_not_separate(tmp_path: Path) -> None:
    """'1,5' in a semicolon file was kept as a string with a unit, and no range could contain it."""
    text = "id;labels;length [m];n;note:text;group\na;P;1,5;3;1,5;x\nb;P;-2;4;2,5;1,5\n"
    graph = read_graph(tables(tmp_path, text, values="subject;property;from;value\na;n;2024-01-01;7,25\n"))
    assert [graph.node(i).properties for i in "ab"] == [
        {"length": 1.5, "n": 3, "note": "1,5", "group": "x"},
        {"length": -2.0, "n": 4, "note": "2,5", "group": "1,5"},
    ]
    assert graph.value("a", "n") == 7.25
    tabbed = read_graph(tables(tmp_path, "id\tdepth:number\na\t0,5\n", values="subject,property,from,value\n"))
    assert tabbed.value("a", "depth") == 0.5


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('id,length [m]\na,"1,5"\n', "nodes.csv, line 2: 'length' is '1,5': use a decimal point"),
        ("id;length\na;1.5\nb;2,5\n", "nodes.csv, line 3: 'length' is '2,5': use a decimal point"),
        ("id;length [m]\na;1.234,5\n", "nodes.csv, line 2: 'length' is '1.234,5'"),
        ("id;a;b\nx;1,5;1.500\n", "nodes.csv: 'a' has decimal commas, and 'b' has decimal points"),
        ("id;a:number;b\nx;1,5;1.25\n", "nodes.csv, line 2: 'a' must be of type number, got '1,5'"),
        ("id;a [m];b\nx;1,5;1.25\n", "nodes.csv, line 2: 'a' is '1,5': use a decimal point"),
    ],
)
def test_numbers_with_an_ambiguous_decimal_sign_are_refused(tmp_path: Path, text: str, problem: str) -> None:
    assert problem in message(tables(tmp_path, text))


def test_possible_thousands_separators_are_refused(tmp_path: Path) -> None:
    """A population of '12,500' in a semicolon file silently became 12.5."""
    text = "id;zones;population;depth\na;1,2;12,500;0,125\nb;3,4;;0,250\nc;;9,800;7\n"
    problem = message(tables(tmp_path, text))
    assert "nodes.csv, line 2: 'population' is '12,500', with a decimal comma or a thousands separator" in problem
    assert "'population:text'" in problem and "1 problem" in problem and "zones" not in problem
    graph = read_graph(tables(tmp_path, text.replace("population", "population:text")))
    assert graph.node("a").properties == {"zones": 1.2, "population": "12,500", "depth": 0.125}
    decided = read_graph(tables(tmp_path, "id;size [m]\na;12,500\nb;9,8\n"))
    assert [decided.value(node, "size") for node in "ab"] == [12.5, 9.8]
    changing = tables(tmp_path, "id\na\n", values="subject;property;from;value\na;size;2024-01-01;12,500\n")
    assert "values.csv, line 2: 'size' is '12,500'" in message(changing) and "'value:text'" in message(changing)


def test_beside_decimal_points_commas_are_text(tmp_path: Path) -> None:
    """Zones '1,2' next to a length of 10.5 were refused as two decimal signs in one file."""
    graph = read_graph(tables(tmp_path, "id;zones;people;length\na;1,2;12,500;10.5\nb;3,4;9,800;7.125\n"))
    assert graph.node("a").properties == {"zones": "1,2", "people": "12,500", "length": 10.5}
    assert graph.node("b").properties == {"zones": "3,4", "people": "9,800", "length": 7.125}


def test_heads_with_units_where_names_are_expected(tmp_path: Path) -> None:
    """'value [m]' raised a built-in exception."""
    values = "subject,property,from,value [m]\na,length,2024-01-01,7\n"
    graph = read_graph(tables(tmp_path, "id,length [m]\na,5\n", values=values))
    assert (graph.value("a", "length"), graph.property_units) == (7, {"length": "m"})
    other = tables(tmp_path, "id,length [m]\na,5\n", values=values.replace("[m]", "[km]"))
    assert "values.csv: the unit of 'length' is km, in the other tables m" in message(other)
    binding = write(tmp_path, "binding.csv", "sensor [x],node:text\ns,a\n")
    assert dict(read_binding(binding)) == {"s": "a"}


def test_numbers_as_labels_become_strings(tmp_path: Path) -> None:
    """A node with type=3 raised a built-in exception, in every format that has types."""
    drawn = nx.DiGraph()
    drawn.add_node("a", type=3)
    drawn.add_edge("a", "b", type=np.float64("nan"))
    graph = read_graph(drawn)
    assert (graph.node("a").labels, graph.edge_labels) == (frozenset({"3"}), ())
    link = {"directed": True, "nodes": [{"id": "a", "type": 3}], "links": []}
    assert read_graph(write(tmp_path, "link.json", json.dumps(link))).labels == ("3",)
    plain = {"nodes": [{"id": "a", "labels": 3}]}
    assert read_graph(write(tmp_path, "plain.json", json.dumps(plain))).labels == ("3",)
    xml = GRAPHML.replace('attr.name="kind" attr.type="string"', 'attr.name="type" attr.type="int"')
    xml = xml.replace(">Pump<", ">3<").replace(">pipe<", ">4<").replace(' label="feeds"', "")
    assert read_graph(write(tmp_path, "g.graphml", xml)).edge_labels == ("4",)
    nested = {"nodes": [{"id": "a", "labels": {"x": 1}}]}
    assert "nodes[0]: labels must be a string or a list of strings, got {'x': 1}" in message(
        write(tmp_path, "nested.json", json.dumps(nested))
    )


YED = """<?xml version="1.0" encoding="UTF-8" standalone="no"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:y="http://www.yworks.com/xml/graphml">
  <key attr.name="description" attr.type="string" for="node" id="d5"/>
  <key for="node" id="d6" yfiles.type="nodegraphics"/>
  <key for="edge" id="d10" yfiles.type="edgegraphics"/>
  <key attr.name="name" attr.type="string" for="node" id="d11"/>
  <graph edgedefault="directed" id="G">
    <node id="n0"><data key="d5"/><data key="d6"><y:ShapeNode><y:Geometry height="30.0"/>
      <y:NodeLabel alignment="center">Pump
 1<y:LabelModel><y:SmartNodeLabelModel distance="4.0"/></y:LabelModel></y:NodeLabel><y:Shape/></y:ShapeNode>
    </data></node>
    <node id="n1"><data key="d6"><y:ShapeNode><y:NodeLabel hasText="false"/></y:ShapeNode></data></node>
    <node id="n2"><data key="d11">own</data>
      <data key="d6"><y:ShapeNode><y:NodeLabel>x</y:NodeLabel></y:ShapeNode></data></node>
    <edge id="e0" source="n0" target="n1"><data key="d10"><y:PolyLineEdge><y:EdgeLabel>feeds</y:EdgeLabel>
      </y:PolyLineEdge></data></edge>
    <edge id="e1" source="n1" target="n2"><data key="d10"><y:PolyLineEdge/></data></edge>
  </graph>
</graphml>
"""


def test_the_texts_of_a_yed_drawing_are_read(tmp_path: Path) -> None:
    """yEd stores the texts of a drawing as captions; they were dropped, and only n0, n1 and e0 were left."""
    graph = read_graph(write(tmp_path, "drawing.graphml", YED))
    assert [dict(node.properties) for node in graph.nodes.values()] == [{"name": "Pump 1"}, {}, {"name": "own"}]
    assert [edge.labels for edge in graph.edges.values()] == [{"feeds"}, frozenset()]
    assert dict(bind(["Pump 1"], graph)) == {"Pump 1": "n0"}


def test_the_ontology_of_the_package_may_be_in_a_list(tmp_path: Path) -> None:
    # It was taken for a file: "no such file or folder: water".
    (tmp_path / "own.toml").write_text("[classes.Siren]\n")
    assert read_ontology(["water"]).classes == read_ontology("water").classes
    for order in (["water", tmp_path / "own.toml"], (tmp_path / "own.toml", "water")):
        merged = read_ontology(order)
        assert merged.is_a("Pump", "Link")
        assert "Siren" in merged.classes
    with pytest.raises(GraphError, match="no such file or folder"):
        read_ontology(["water", tmp_path / "nowhere.toml"])
