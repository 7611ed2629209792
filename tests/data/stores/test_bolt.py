"""Graphs and bindings from a real Bolt server: everything that is there, once, and nothing that is not."""

from __future__ import annotations

import json
import re
import socket
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import thence as th
from tests.helpers.commands import fail, succeed
from tests.helpers.graph_servers import PASSWORD, BoltProcess
from tests.helpers.processes import free_port
from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.stores.bolt import open_bolt, parse_bolt_url
from thence.data.stores.urls import without_credentials
from thence.runs.provenance import hash_graph

HOSTILE = "x`) DETACH DELETE (n) //'\"; DROP"


@pytest.fixture(scope="module")
def plant(server: BoltProcess) -> str:
    """Two pipes and a junction with parallel edges and a self loop."""
    server.run(
        "plant",
        "CREATE (p:Pipe:Asset {id: 'p1', length: 820.5})-[:ends_at {since: 2001}]->(j:Junction {id: 'j1'}), "
        "(p)-[:ends_at {since: 2002}]->(j), (p)-[:loops]->(p), (q:Pipe {id: 17, length: 3})-[:ends_at]->(j)",
    )
    return f"{server.url}/plant"


def quote_name(name: str) -> str:
    """A label, relationship type or property name as it stands in a query."""
    return "`" + name.replace("`", "``") + "`"


def write_graph(server: BoltProcess, database: str, graph: KnowledgeGraph) -> None:
    """Write a graph as a user would have it: ids in the property ``id``."""
    elements = {}
    for node in graph.nodes.values():
        labels = "".join(f":{quote_name(label)}" for label in sorted(node.labels))
        given = {"id": node.id, **node.properties}
        (row,) = server.run(database, f"CREATE (n{labels}) SET n += $given RETURN elementId(n) AS element", given=given)
        elements[node.id] = row["element"]
    for edge in graph.edges.values():
        (label,) = edge.labels
        server.run(
            database,
            f"MATCH (a), (b) WHERE elementId(a) = $a AND elementId(b) = $b CREATE (a)-[r:{quote_name(label)}]->(b) "
            "SET r += $given",
            a=elements[edge.source],
            b=elements[edge.target],
            given=dict(edge.properties),
        )


def content(graph: KnowledgeGraph) -> tuple[Any, Any]:
    """Nodes and edges, whatever their order."""
    nodes = {n.id: (n.labels, dict(n.properties)) for n in graph.nodes.values()}
    edges = sorted((e.source, sorted(e.labels), e.target, sorted(e.properties.items())) for e in graph.edges.values())
    return nodes, edges


@pytest.mark.needs("bolt server")
@pytest.mark.parametrize("page", [1, 2, 3, 4, 1000])
def test_a_graph_is_read_whole_whatever_the_page(plant: str, page: int) -> None:
    graph = th.read_graph(plant, page=page)
    nodes, edges = content(graph)
    assert nodes == {
        "p1": ({"Pipe", "Asset"}, {"length": 820.5}),
        "17": ({"Pipe"}, {"length": 3}),
        "j1": ({"Junction"}, {}),
    }
    assert edges == [
        ("17", ["ends_at"], "j1", []),
        ("p1", ["ends_at"], "j1", [("since", 2001)]),
        ("p1", ["ends_at"], "j1", [("since", 2002)]),
        ("p1", ["loops"], "p1", []),
    ]


@pytest.mark.needs("bolt server")
def test_classes_and_queries_choose_a_part(plant: str) -> None:
    assert set(th.read_graph(plant, classes="Pipe").nodes) == {"p1", "17"}
    assert list(th.read_graph(plant, classes=["Pipe", "Nothing"]).edges) == ["p1 loops p1"]
    whole = th.read_graph(plant, nodes="MATCH (n:Pipe) RETURN n")
    assert content(whole) == content(th.read_graph(plant, classes="Pipe"))
    own = th.read_graph(
        plant,
        nodes="MATCH (n) RETURN n, 'node ' + toString(n.id) AS id",
        edges="MATCH (a)-[r:loops]->(b) RETURN r",
    )
    assert set(own.nodes) == {"node p1", "node 17", "node j1"}
    assert [(e.source, e.target) for e in own.edges.values()] == [("node p1", "node p1")]
    columns = th.read_graph(
        plant,
        nodes="MATCH (n) RETURN toString(n.id) AS id, labels(n) AS labels, n.length AS metres ORDER BY id "
        "SKIP $skip LIMIT $limit",
        edges="MATCH (a:Pipe)-[r:ends_at]->(b) RETURN toString(a.id) AS source, b.id AS target, 'at' AS type, "
        "r.since AS since",
        page=2,
    )
    assert columns.value("p1", "metres") == 820.5
    assert columns.edge_labels == ("at",)
    assert len(columns.edges) == 3


@pytest.mark.needs("bolt server")
def test_queries_cannot_change_the_graph(plant: str) -> None:
    # Servers that do not enforce read transactions would create the node; it is rolled back.
    try:
        th.read_graph(plant, nodes="CREATE (n:Bad {id: 'bad'}) RETURN n")
    except th.errors.GraphError as error:
        assert "refuses" in str(error)
    assert "bad" not in th.read_graph(plant)


@pytest.mark.needs("bolt server")
def test_mistakes_in_queries_are_told(plant: str) -> None:
    for options, told in (
        ({"nodes": "MATCH (n RETURN n"}, "the server refuses the query"),
        ({"nodes": "MATCH (n) RETURN n.length AS length"}, "must return nodes, or the column id, got length"),
        ({"nodes": "MATCH (n) RETURN n.nothing AS id"}, "id must be a string, got null"),
        ({"nodes": "MATCH (n) RETURN n.id AS id"}, "edges between them are not known"),
        ({"nodes": "MATCH (n) RETURN n", "edges": "MATCH (n) RETURN n.id AS source"}, "columns source and target"),
        ({"nodes": "MATCH (n) RETURN n.id AS id", "edges": "MATCH ()-[r]->() RETURN r"}, "for nodes returns ids"),
        ({"nodes": "MATCH (n:Nothing) RETURN n"}, "there is no node"),
        ({"nodes": "MATCH (n) RETURN n", "classes": "Pipe"}, "exclude each other"),
        ({"page": 0}, "'page' must be at least 1"),
        ({"page": "many"}, "'page' must be an integer"),
        ({"id": "uid"}, "has no property 'uid'"),
        ({"id": []}, "'id' must be the name of a property"),
        ({"database": "nothing"}, "no such database"),
        ({"query": "MATCH (n) RETURN n"}, "does not take 'query'"),
        ({"format": "rdf"}, "does not take 'format'"),
    ):
        with pytest.raises(th.errors.ThenceError) as caught:
            th.read_graph(plant, **options)  # type: ignore[arg-type]
        assert told in str(caught.value)
        assert PASSWORD not in str(caught.value)


@pytest.mark.needs("bolt server")
def test_ids_are_unique_or_refused(server: BoltProcess) -> None:
    server.run("repeated", "CREATE (:Pump {name: 'North', uid: 1}), (:Valve {name: 'North', uid: 2}), (:Room {uid: 3})")
    url = f"{server.url}/repeated"
    with pytest.raises(th.errors.GraphError, match=r"2 nodes have the id 'North'.*elementId"):
        th.read_graph(url)
    assert set(th.read_graph(url, id="uid").nodes) == {"1", "2", "3"}
    assert set(th.read_graph(url, id=["nothing", "uid"]).nodes) == {"1", "2", "3"}
    by_element = th.read_graph(url, id="elementId")
    assert len(by_element) == 3
    assert sorted(str(n.properties.get("name")) for n in by_element.nodes.values()) == ["None", "North", "North"]


@pytest.mark.needs("bolt server")
def test_values_of_every_type(server: BoltProcess) -> None:
    server.run(
        "values",
        "CREATE (:Thing {id: 'a', day: date('2001-02-03'), moment: datetime('2020-01-01T10:00:00+02:00'), "
        "wait: duration('PT90M'), place: point({x: 1.5, y: 2.0}), at: point({longitude: 4.9, latitude: 52.3}), "
        "tags: ['b', 'a'], one: [3], none: [], missing: null, works: true, size: 12, share: 0.25, text: ''})",
    )
    server.run("values", "CREATE (:Thing {id: 'nan', value: $nan, large: $large})", nan=float("nan"), large=2**62)
    graph = th.read_graph(f"{server.url}/values")
    found = dict(graph.nodes["a"].properties)
    assert re.fullmatch(r"2020-01-01T10:00(:00)?\+02:00", str(found.pop("moment")))
    assert found.pop("wait") in ("PT90M", "PT1H30M", "PT5400S")
    assert found == {
        "day": "2001-02-03",
        "place_x": 1.5,
        "place_y": 2.0,
        "at_longitude": 4.9,
        "at_latitude": 52.3,
        "tags": ("a", "b"),
        "one": 3,
        "works": True,
        "size": 12,
        "share": 0.25,
        "text": "",
    }
    assert dict(graph.nodes["nan"].properties) == {"large": 2**62}


@pytest.mark.needs("bolt server")
def test_hostile_names_are_data(server: BoltProcess) -> None:
    label, name, relation = f"L{HOSTILE}", f"p{HOSTILE}", f"r{HOSTILE}"
    server.run(
        "hostile",
        f"CREATE (a:{quote_name(label)} {{id: $id, {quote_name(name)}: $id}})-[:{quote_name(relation)}]->"
        f"(b:{quote_name(label)} {{id: 'b'}})",
        id=HOSTILE,
    )
    url = f"{server.url}/hostile"
    for graph in (th.read_graph(url), th.read_graph(url, classes=label), th.read_graph(url, id=[HOSTILE, "id"])):
        assert content(graph) == (
            {HOSTILE: ({label}, {name: HOSTILE}), "b": ({label}, {})},
            [(HOSTILE, [relation], "b", [])],
        )
    with pytest.raises(th.errors.GraphError, match="there is no node"):
        th.read_graph(url, classes="x`) OR true OR (n:`y")


@pytest.mark.needs("bolt server")
def test_bad_credentials_hosts_and_empty_graphs(server: BoltProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NEO4J_USERNAME", "NEO4J_PASSWORD", "NEO4J_DATABASE"):
        monkeypatch.delenv(name, raising=False)
    wrong = f"bolt://root:s3cret-word@127.0.0.1:{server.port}/plant"
    with pytest.raises(th.errors.GraphError, match=r"refuses the user name or the password.*NEO4J_PASSWORD") as caught:
        th.read_graph(wrong)
    assert "s3cret-word" not in str(caught.value)
    assert caught.value.__cause__ is None
    with pytest.raises(th.errors.GraphError, match="refuses the user"):
        th.read_graph(f"{server.plain}/plant")
    with pytest.raises(th.errors.GraphError, match=r"does not answer.*7687"):
        th.read_graph(f"bolt://root:s3cret-word@127.0.0.1:{free_port()}/plant")
    with pytest.raises(th.errors.GraphError, match="there is no node"):
        th.read_graph(f"{server.url}/empty")
    monkeypatch.setenv("NEO4J_USERNAME", server.user)
    monkeypatch.setenv("NEO4J_PASSWORD", PASSWORD)
    monkeypatch.setenv("NEO4J_DATABASE", "plant")
    assert len(th.read_graph(server.plain)) == len(th.read_graph(f"{server.plain}/plant")) == 3


class Relay:
    """Passes bytes on to a server, and drops the connections that its list names by their number."""

    def __init__(self, port: int, drop: dict[int, int]) -> None:
        self._drop, self._target, self.count = drop, port, 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self.count += 1
            upstream = socket.create_connection(("127.0.0.1", self._target))
            left = self._drop.get(self.count, 1 << 40)
            threading.Thread(target=self._pass, args=(client, upstream, 1 << 40), daemon=True).start()
            threading.Thread(target=self._pass, args=(upstream, client, left), daemon=True).start()

    def _pass(self, here: socket.socket, there: socket.socket, left: int) -> None:
        with suppress(OSError):
            while left > 0 and (data := here.recv(min(4096, left))):
                there.sendall(data)
                left -= len(data)
        for one in (here, there):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def close(self) -> None:
        self._listener.close()


@pytest.mark.needs("bolt server")
def test_a_dropped_connection_is_tried_again_and_loses_nothing(plant: str, server: BoltProcess) -> None:
    whole = content(th.read_graph(plant))
    for kept in (700, 900, 1100):
        relay = Relay(server.port, {1: kept, 2: kept})
        assert content(th.read_graph(plant.replace(f":{server.port}/", f":{relay.port}/"), page=1)) == whole
        assert relay.count > 1
        relay.close()
    relay = Relay(server.port, {1: 900, **dict.fromkeys(range(2, 100), 0)})
    with pytest.raises(th.errors.GraphError, match="does not answer"):
        th.read_graph(plant.replace(f":{server.port}/", f":{relay.port}/"), page=1)
    relay.close()


@pytest.mark.needs("bolt server")
def test_a_graph_that_changes_while_it_is_read_is_refused(
    server: BoltProcess, plant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from thence.data.stores import bolt

    monkeypatch.setattr(bolt, "_COUNTS", (("nodes", "RETURN 4 AS total"), ("edges", "RETURN 4 AS total")))
    with pytest.raises(th.errors.GraphError, match="3 nodes were read, now there are 4"):
        th.read_graph(plant)


@pytest.mark.needs("bolt server")
def test_a_binding_by_query(server: BoltProcess, plant: str) -> None:
    query = "MATCH (n:Pipe) RETURN 'flow_' + toString(n.id) AS sensor, n.id AS node"
    assert dict(th.read_binding(plant, query=query)) == {"flow_p1": "p1", "flow_17": "17"}
    swapped = query.replace("AS sensor", "AS s").replace("AS node", "AS n")
    assert len(th.read_binding(plant, query=swapped, sensor="s", node="n")) == 2
    for wrong, told in (
        ("MATCH (n:Pipe) RETURN n.id AS sensor", "columns 'sensor' and 'node'"),
        ("MATCH (n:Pipe) RETURN n.id AS sensor, n.nothing AS node", "must be strings"),
        ("MATCH (n:Pipe) RETURN 'flow' AS sensor, n.id AS node", "is bound to"),
    ):
        with pytest.raises(th.errors.BindingError, match=told):
            th.read_binding(plant, query=wrong)
    with pytest.raises(th.errors.BindingError, match="no time series references"):
        th.read_binding(plant)


@pytest.mark.needs("bolt server")
def test_mining_from_the_server_is_mining_from_the_file(server: BoltProcess, tmp_path: Path) -> None:
    toy = th.datasets.load("toy")
    assert toy.graph is not None
    assert toy.binding is not None
    write_graph(server, "toy", toy.graph)
    read = th.read_graph(f"{server.url}/toy")
    assert content(read) == content(toy.graph)
    toy.sensors.to_polars().write_parquet(tmp_path / "sensors.parquet")
    pl.DataFrame({"sensor": list(toy.binding), "node": list(toy.binding.values())}).write_csv(tmp_path / "binding.csv")
    (tmp_path / "graph.json").write_text(json.dumps(toy.graph.to_dict()))
    common = (
        "mine",
        "--sensors",
        tmp_path / "sensors.parquet",
        "--binding",
        tmp_path / "binding.csv",
        "--windows",
        "1h",
    )
    succeed(*common, "--graph", tmp_path / "graph.json", "--out", tmp_path / "file")
    succeed(*common, "--graph", f"{server.url}/toy", "--out", tmp_path / "server")
    assert (tmp_path / "file" / "rules.json").read_bytes() == (tmp_path / "server" / "rules.json").read_bytes()
    for path in (tmp_path / "server").rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            assert PASSWORD.encode() not in data, path
            assert b"pl%40y" not in data, path
    record = json.loads((tmp_path / "server" / "provenance.json").read_text())["inputs"]["servers"]["graph"]
    assert record == {"url": f"{server.plain}/toy", "nodes": 5, "edges": 4, "sha256": hash_graph(read)}
    # The run reads its inputs again; without credentials in the environment it says why it cannot.
    run = th.mine(
        tmp_path / "sensors.parquet",
        f"{server.url}/toy",
        tmp_path / "binding.csv",
        windows="1h",
        progress="off",
        report=False,
    )
    assert run.config.input.graph == f"{server.plain}/toy"
    assert PASSWORD not in repr(run.config)
    told = fail("mine", *common[1:], "--graph", f"bolt://root:s3cret-word@127.0.0.1:{server.port}/toy")
    assert "refuses the user name" in told
    assert "s3cret-word" not in told


def test_urls_of_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NEO4J_USERNAME", "NEO4J_PASSWORD", "NEO4J_DATABASE"):
        monkeypatch.delenv(name, raising=False)
    assert parse_bolt_url("neo4j+s://u:p%2Fw@db.example.org").password == "p/w"
    assert parse_bolt_url("bolt://h:1/d", database="e").database == "e"
    assert "p/w" not in repr(parse_bolt_url("bolt://u:p%2Fw@h"))
    for wrong in ("bolt://", "bolt://u:s3cret@", "bolt://h:port", "bolt://h/a/b", "bolt://u:s3cret/word@h:7687"):
        with pytest.raises(th.errors.GraphError) as caught:
            parse_bolt_url(wrong)
        assert "s3cret" not in str(caught.value)
    assert without_credentials("bolt://u:s3cret/word@h:7687/db") == "bolt://h:7687/db"


def test_without_the_driver_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "neo4j", None)
    with pytest.raises(th.errors.MissingExtraError, match=r"thence\[neo4j\]"), open_bolt("bolt://127.0.0.1:7687"):
        pass


def test_other_urls_and_options_of_servers_are_refused(tmp_path: Path) -> None:
    for url, told in (
        ("http://example.org/sparql", r"write 'sparql\+http://'"),
        ("blot://u:s3cret@host", "did you mean 'bolt'"),
        ("postgresql://u:s3cret@host/db", "graphs cannot be read from a URL that begins with 'postgresql://'"),
    ):
        with pytest.raises(th.errors.ConfigError, match=told) as caught:
            th.read_graph(url)
        assert "s3cret" not in str(caught.value)
    with pytest.raises(th.errors.GraphError, match="pass it alone") as refused:
        th.read_graph(["bolt://u:s3cret@host", "bolt://u:s3cret@other"])
    assert "s3cret" not in str(refused.value)
    with pytest.raises(th.errors.GraphError, match="cannot be read here") as refused:
        th.read_ontology("bolt://u:s3cret@host")
    assert "s3cret" not in str(refused.value)
    (tmp_path / "g.json").write_text('{"nodes": [{"id": "a"}], "edges": []}')
    with pytest.raises(th.errors.ConfigError, match="only graph servers take 'database'"):
        th.read_graph(tmp_path / "g.json", database="plant")
