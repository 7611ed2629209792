"""Rules written to a real Bolt server: linked to what they speak of, the same after a second time, and removable."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import thence as th
from tests.data.stores.test_bolt import content, write_graph
from tests.helpers.commands import fail, succeed
from tests.helpers.graph_servers import PASSWORD, BoltProcess
from thence.language.items import Aspect, Feature, Item, Role
from thence.show.export.bolt_rules import subjects_of
from thence.statements.controls.control import Control
from thence.statements.controls.thresholds import Tally
from thence.statements.laws.law import Law
from thence.statements.laws.terms import Term

LINKS = (
    "MATCH (r:ThenceRule)-[s:SPEAKS_OF]->(n) RETURN r.run AS run, r.key AS key, s.side AS side, n.id AS id, "
    "n.name AS name ORDER BY run, key, side, id, name"
)
RULES = "MATCH (r:ThenceRule) RETURN properties(r) AS rule ORDER BY r.run, r.number"


@pytest.fixture(scope="module")
def url(server: BoltProcess) -> str:
    """A database with the graph of the toy."""
    toy = th.datasets.load("toy")
    assert toy.graph is not None
    write_graph(server, "stored", toy.graph)
    return f"{server.url}/stored"


@pytest.mark.needs("bolt server")
def test_rules_are_stored_once_and_removed(server: BoltProcess, url: str, tmp_path: Path) -> None:
    toy = th.datasets.load("toy")
    before = content(th.read_graph(url))
    options = {"windows": "1h", "bins": 3, "confirm": False, "progress": "off", "report": False}
    named = th.mine(toy, enrich="none", out=tmp_path / "named", **options)
    lifted = th.mine(toy, enrich="lifted", out=tmp_path / "lifted", **options)
    stored = th.stores.store_rules(named, url)
    assert (stored.run, stored.rules, stored.missing) == ("named", len(named.rules), ())
    rows = [row["rule"] for row in server.run("stored", RULES)]
    assert [row["key"] for row in rows] == [rule.key for rule in named.rules]
    assert [row["sentence"] for row in rows] == [rule.english for rule in named.rules]
    assert [row["confidence"] for row in rows] == named.rules.measure("confidence").tolist()
    links = server.run("stored", LINKS)
    expected = {
        (rule.key, side, item.feature.place)
        for rule in named.rules
        for side, items in (("if", rule.antecedent), ("then", (rule.consequent,)))
        for item in items
    }
    assert {(link["key"], link["side"], link["id"]) for link in links} == expected
    assert len(links) == len(expected) == stored.links
    # A second time changes nothing, and the rules of another run stand beside.
    assert th.stores.store_rules(named, url) == stored
    assert server.run("stored", LINKS) == links
    assert [row["rule"] for row in server.run("stored", RULES)] == rows
    th.stores.store_rules(lifted, url)
    classes = {link["name"] for link in server.run("stored", LINKS) if link["run"] == "lifted"}
    assert "Junction" in classes
    assert len(server.run("stored", RULES)) == len(named.rules) + len(lifted.rules)
    # Rules are no part of the graph.
    assert content(th.read_graph(url)) == before
    assert content(th.read_graph(url, page=1)) == before
    # Fewer rules replace the earlier ones.
    assert th.stores.store_rules(named.rules.top(2), url, name="named").rules == 2
    assert len(server.run("stored", RULES)) == 2 + len(lifted.rules)
    assert th.stores.remove_rules(url, name="named").rules == 2
    assert th.stores.remove_rules(url, name="nothing").rules == 0
    assert th.stores.remove_rules(url).rules == len(lifted.rules)
    assert server.run("stored", "MATCH (n) WHERE n:ThenceRule OR n:ThenceClass RETURN n") == []
    assert content(th.read_graph(url)) == before


@pytest.mark.needs("bolt server")
def test_the_command_exports_to_a_server(server: BoltProcess, url: str, tmp_path: Path) -> None:
    toy = th.datasets.load("toy")
    run = th.mine(
        toy, windows="1h", bins=3, enrich="none", confirm=False, progress="off", report=False, out=tmp_path / "run"
    )
    told = succeed("export", tmp_path / "run", "--to", url, "--top", 3, "--option", "name=best")
    assert "3 rules with" in told
    assert "as 'best' in bolt://127.0.0.1" in told
    assert PASSWORD not in told
    found = json.loads(succeed("export", tmp_path / "run", "--to", f"{server.url}/other", "--json"))
    assert found["rules"] == len(run.rules)
    assert found["links"] == 0
    assert "Pipe AB" in found["missing"]
    assert PASSWORD not in json.dumps(found)
    assert "no such node" in succeed("export", tmp_path / "run", "--to", f"{server.url}/other")
    assert "leave out --format" in fail("export", tmp_path / "run", "--to", url, "--format", "json")
    assert "unknown" in fail("export", tmp_path / "run", "--to", url, "--option", "nme=best")
    told = fail("export", tmp_path / "run", "--to", f"bolt://root:s3cret-word@127.0.0.1:{server.port}/stored")
    assert "refuses the user name" in told
    assert "s3cret-word" not in told
    assert "Bolt servers" in fail("export", tmp_path / "run", "--to", "postgresql://u:s3cret-word@host/db")
    th.stores.remove_rules(url)


@pytest.mark.needs("bolt server")
def test_a_statement_that_fails_leaves_everything_as_it_was(
    server: BoltProcess, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from thence.show.export import bolt_rules

    toy = th.datasets.load("toy")
    run = th.mine(toy, windows="1h", bins=3, enrich="none", confirm=False, progress="off", report=False)
    th.stores.store_rules(run, url, name="kept")
    before = server.run("stored", RULES)
    monkeypatch.setattr(bolt_rules, "_REMOVE_UNUSED", "THIS IS NOT CYPHER")
    with pytest.raises(th.errors.GraphError, match="refuses the query"):
        th.stores.store_rules(run.rules.top(1), url, name="kept")
    assert server.run("stored", RULES) == before
    monkeypatch.undo()
    th.stores.remove_rules(url)


def test_what_rules_speak_of() -> None:
    node = Item.is_(Feature("Pipe 1", Aspect.LABEL, "Pipe", role=Role.NODE), True)
    edge = Item.is_(Feature("Pipe 1", Aspect.EDGE, "ends_at", role=Role.NODE, other="Tank 2"), True)
    hour = Item.is_(Feature("", name="hour", role=Role.TIME), 3)
    sensor = Item.compare(Feature("f1", label="flow"), ">=", 3.0)
    assert sorted(subjects_of(th.Rule((node, edge, hour), sensor))) == [
        ("if", "node", "Pipe 1"),
        ("if", "node", "Pipe 1"),
        ("if", "node", "Tank 2"),
        ("then", "node", "f1"),
    ]
    flow = Item.compare(Feature("f", label="flow", role=Role.VARIABLE, place="p"), ">=", 3.0)
    length = Item.compare(Feature("p", Aspect.PROPERTY, "length", role=Role.VARIABLE, label="Pipe"), "<", 2.0)
    lifted = th.Rule((length,), flow, "(f:flow)-[in]->(p:Pipe)")
    assert list(subjects_of(lifted)) == [("if", "class", "Pipe"), ("then", "class", "Pipe")]


def test_rules_need_a_name_and_a_bolt_server() -> None:
    with pytest.raises(th.errors.ConfigError, match="have no name"):
        th.stores.store_rules(th.RuleSet.empty(), "bolt://127.0.0.1:7687")
    for call in (
        lambda: th.stores.store_rules(th.RuleSet.empty(), "sparql+http://h/", name="x"),
        lambda: th.stores.remove_rules("x"),
    ):
        with pytest.raises(th.errors.ConfigError, match="Bolt servers"):
            call()


def test_controls_speak_of_nodes_and_laws_of_classes() -> None:
    pump, level = Feature("s9", label="status", place="Pump 9"), Feature("l2", label="level", unit="m", place="Tank 2")
    once = Tally(1, 1, 1, 1)
    control = Control(pump, "open", "closed", level, "above", 4.0, 3.9, 4.1, once, once, 0.9)
    assert list(subjects_of(control)) == [("if", "node", "Tank 2"), ("then", "node", "Pump 9")]
    law = Law("at_least", "(t:Tank)", ((1, Term("reading", "level", "t")),))
    assert list(subjects_of(law)) == [("if", "class", "Tank")]
