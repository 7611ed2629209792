"""One search: findings, the page of a report and the explorer find the same statements in the same order."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pytest

import thence as th
from tests.show.explorer.conftest import TOKEN, Client
from thence.runs.run import Run
from thence.show.explorer.app import create_app
from thence.show.explorer.state import State
from thence.show.reports.build import build_report
from thence.show.reports.material import material_of
from thence.show.reports.rows import control_rows
from thence.show.reports.schema import Report
from thence.statements.findings import Findings
from thence.statements.laws.law import Laws
from thence.statements.search import split_words

QUERIES = ("Pump 335", '"pump 335"', "tank level", "if:level then:pump", "closed flow", "Pipe 333", "link", "no such")


@cache
def mined() -> Run:
    miner = th.Exact(min_support=0.2, max_antecedents=1)
    return th.mine(th.datasets.load("net3", days=14), miner=miner, progress="off")


@cache
def report() -> Report:
    return build_report(material_of(mined()), cards=0)


@cache
def client() -> Client:
    state = State()
    state.add(mined(), name="net3", load=False)
    return Client(create_app(state, TOKEN))


def keys_on_the_page(text: str) -> list[str]:
    """What frontend/src/components/search.ts finds; tests/browser/test_search.py asks the page itself."""
    rows: dict[str, Any] = {"control": report()["controls"], "law": report()["laws"], "rule": report()["rules"]}
    index, found = report()["search"], report()["search"]["statements"]
    for word in split_words(text):
        side, _, rest = word.rpartition(":")
        sides = {"": ("left", "right", "whole"), "if": ("left",), "then": ("right",)}[side]
        found = [one for one in found if any(rest in index["texts"][at] for name in sides for at in one[name])]  # type: ignore[literal-required]
    keys = {kind: {at: row["key"] for row in rows[kind] for at in row["members"]} for kind in ("control", "law")}
    keys["rule"] = {row["id"]: row["key"] for row in rows["rule"]}
    rules = {row["id"]: row for row in report()["rules"]}
    shown = [one for one in found if one["kind"] != "rule" or rules[one["id"]]["shown_with"] is None]
    return list(dict.fromkeys(keys[one["kind"]][one["id"]] for one in shown if one["kind"] in keys))


def keys_in_the_explorer(text: str) -> list[str]:
    """What the list of the explorer finds: controls of one actuator by one reading are one finding."""
    page = client().get("/api/runs/0/findings", params={"q": text, "limit": 500}).json()
    return [row["key"] for row in page["findings"]]


@pytest.mark.parametrize("text", QUERIES)
def test_findings_the_page_and_the_explorer_find_the_same(text: str) -> None:
    keys = [one.key for one in mined().findings.search(text)]
    # What is one finding is listed once, as its first.
    found = mined().findings.search(text)
    firsts = {key: row["key"] for row in control_rows(found.controls) for key in row["keys"]}
    firsts |= {
        found.rules.rule(at).key: found.rules.rule(entry[0]).key for entry in found.rules.entries for at in entry
    }
    keys = list(dict.fromkeys(firsts.get(key, key) for key in keys))
    assert keys == keys_on_the_page(text) == keys_in_the_explorer(text)


def test_the_controls_of_a_pump_come_first_and_nothing_is_found_by_other_words() -> None:
    found = mined().findings.search("Pump 335")
    assert [one.kind for one in found[:4]] == ["control"] * 4
    assert {one.kind for one in found} == {
        "control",
        "law",
        "rule",
    }
    assert not len(mined().findings.search("no such"))


def test_choices_of_the_explorer_narrow_laws_and_controls_too() -> None:
    def found(**choices: str) -> tuple[list[str], list[str]]:
        rows = client().get("/api/runs/0/findings", params=choices).json()["findings"]
        controls = [key for row in rows if row["kind"] == "control" for key in row["keys"]]
        return sorted(controls), [row["key"] for row in rows if row["kind"] == "law"]

    def keys(of: Findings) -> tuple[list[str], list[str]]:
        return sorted(one.key for one in of.controls), [one.key for one in of.laws]

    findings = mined().findings
    assert found(kind="level") == keys(findings.filter(quantity="level"))
    assert found(node="Pump 335") == keys(findings.at("Pump 335"))
    assert found(min_confidence="0.999") == keys(findings.filter(min_share=0.999))
    assert found(conclusion="status") == keys(replace(findings, laws=Laws(())))
    assert found(review="accepted") == found(min_lift="1.5") == ([], [])


def test_places_and_sensors_are_found_by_their_names_with_a_count_of_each_kind() -> None:
    state = State()
    state.add(mined(), name="net3", load=False).load()
    asked = Client(create_app(state, TOKEN))
    page = asked.get("/api/runs/0/findings", params={"q": "Pump 335"}).json()
    assert [(one["kind"], one["id"]) for one in page["named"][:2]] == [("place", "Pump 335"), ("sensor", "flow_335")]
    assert page["counts"]["place"] == 1
    assert page["counts"]["sensor"] == len(mined().system.binding.sensors_at("Pump 335"))  # type: ignore[union-attr]
    found = mined().findings.search("Pump 335")
    assert page["counts"]["rule"] == len(found.rules.entries)
    assert page["counts"]["law"] == len(found.laws)
    assert page["total"] == sum(page["counts"][kind] for kind in ("control", "law", "rule"))
    sensors = asked.get("/api/runs/0/findings", params={"what": "sensor", "kind": "level"}).json()
    assert {one["what"].partition(" in ")[0] for one in sensors["named"]} == {"level"}
    assert sensors["findings"] == []
    assert sensors["total"] == sensors["counts"]["sensor"] == len(sensors["named"])
    assert asked.get("/api/runs/0/findings", params={"what": "nothing"}).status_code == 422
