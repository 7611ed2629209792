"""Which reader is chosen, and what each says of a file that cannot be read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from thence.elements import as_instant
from thence.errors import GraphError
from thence.loaders import read_graph

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
    assert "there is no" in message([tmp_path / "a.ttl", tmp_path / "b.ttl"])
    assert "cannot read from int" in message(3)
    assert "no file was given" in message([])
    assert "there is no graph format 'turtel' (did you mean 'turtle'?)" in message("x", format="turtel")
    assert "the suffix does not say which format" in message(write(tmp_path, "graph.dat", ""))
    mixed = [write(tmp_path, "a.inp", ""), write(tmp_path, "b.ttl", "")]
    assert "these files are of different formats" in message(mixed)
    twice = [write(tmp_path, "a.json", "{}"), write(tmp_path, "b.json", "{}")]
    assert "json takes one file, not 2" in message(twice)
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "no nodes.csv and no RDF file" in message(empty)
    assert "'networkx' is for networkx graphs" in message(twice[0], format="networkx")


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
    # It was taken for node-link JSON, which has its properties on one level.
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
        "nodes[0]: 'power' unknown; put it under 'properties'",
        "nodes[1]: node 'a' exists already (nodes[0])",
        "nodes[2]: 'id' missing",
        "nodes[3]: 'c' is not an object",
        "nodes[4]: d: property 'x' is {'deep': 1}",
        "nodes[4]: d, 'y': 'soon' is not a date",
        "nodes[4]: d, 'z': 'from' is 3, not a date",
        "nodes[6]: 'properties' is 5, not an object",
        "edges[0]: 'target' missing",
        "edges[1]: edge 'a → dd' leads to 'dd', which is not a node",
        "edges[2]: id 'a' exists already (nodes[0])",
        "property_units is 3",
        "dated[0]: a dated 'p' is about 'ghost'",
        "dated[1]: 'property' and 'from' and 'value' missing",
    ):
        assert part in text, part


def test_json_that_is_no_graph(tmp_path: Path) -> None:
    assert "line 1, column 2: this is not valid JSON" in message(write(tmp_path, "g.json", "{nodes}"))
    assert "this JSON holds no graph" in message(write(tmp_path, "g.json", "[1, 2]"))
    assert "this JSON holds no graph" in message(write(tmp_path, "g.json", '{"nodes": 3}'))
    (tmp_path / "g.json").write_bytes(b'"\xff"')
    assert "this is not UTF-8 text" in message(tmp_path / "g.json")


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


def test_tables_with_mistakes_list_them_by_line(tmp_path: Path) -> None:
    write(tmp_path, "nodes.csv", "id,length:number\np1,long\n,3\n\np1,4\n")
    write(tmp_path, "edges.csv", "id,source,target\ne1,p1,p2\ne1,p1,p1\n,,p1\n")
    write(tmp_path, "values.csv", "subject,property,from,value\np9,length,2024-01-01,1\np1,length,soon,1\n")
    text = message(tmp_path)
    for part in (
        "8 problems",
        "nodes.csv, line 2: 'length' is 'long', which is no number",
        "nodes.csv, line 3: 'id' is empty",
        "nodes.csv, line 5: node 'p1' exists already (nodes.csv, line 2)",
        "edges.csv, line 2: edge 'e1' leads to 'p2', which is not a node",
        "edges.csv, line 3: id 'e1' exists already (edges.csv, line 2)",
        "edges.csv, line 4: 'source' is empty",
        "values.csv, line 2: a dated 'length' is about 'p9'",
        "values.csv, line 3: p1, 'length': 'soon' is not a date",
    ):
        assert part in text, part


def test_a_table_that_is_no_table(tmp_path: Path) -> None:
    assert "line 1: there is no column 'id' (did you mean 'idd'?)" in message(write(tmp_path, "nodes.csv", "idd,x\n"))
    assert "it has no columns" in message(write(tmp_path, "nodes.csv", ""))
    assert "column 'x' appears twice" in message(write(tmp_path, "nodes.csv", "id,x,x [m]\n"))
    assert "line 2: the row has 3 cells, the head has 2" in message(write(tmp_path, "nodes.csv", "id,x\na,b,c\n"))
    (tmp_path / "nodes.csv").write_bytes(b"id\n\xff\n")
    assert "this is not UTF-8 text" in message(tmp_path / "nodes.csv")
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
        "line 7: there is no <key> 'k9'",
        "line 7: 'power' is 'much', which is no double",
        "line 8: <node> without id",
        "line 9: edge 'a feeds bb' leads to 'bb', which is not a node",
        "line 10: <hyperedge> has no place",
    ):
        assert part in text, part
    assert "line 2: this is not valid XML" in message(write(tmp_path, "g.graphml", "<graphml>\n<graph></graphml>"))
    assert "starts with <svg>" in message(write(tmp_path, "g.graphml", "<svg/>"))


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
    assert "networkx graph: 1 problem\n  node 'a': a: property 'size' is [1, 2]" in message(source)
