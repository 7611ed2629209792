"""One search: findings, the page of a report and the explorer find the same statements in the same order."""

from __future__ import annotations

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
from thence.show.reports.schema import Report
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
    return [rows[one["kind"]][one["id"]]["key"] for one in found]


def keys_in_the_explorer(text: str) -> list[str]:
    page = client().get("/api/runs/0/rules", params={"q": text, "limit": 500}).json()
    return [row["key"] for part in ("controls", "laws", "rules") for row in page[part]]


@pytest.mark.parametrize("text", QUERIES)
def test_findings_the_page_and_the_explorer_find_the_same(text: str) -> None:
    keys = [one.key for one in mined().findings.search(text)]
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
        page = client().get("/api/runs/0/rules", params=choices).json()
        return [row["key"] for row in page["controls"]], [row["key"] for row in page["laws"]]

    findings = mined().findings
    of_level = findings.filter(quantity="level")
    assert found(kind="level") == ([one.key for one in of_level.controls], [one.key for one in of_level.laws])
    here = findings.at("Pump 335")
    assert found(node="Pump 335") == ([one.key for one in here.controls], [one.key for one in here.laws])
    assert found(review="accepted") == found(min_confidence="0.5") == ([], [])
