"""Rows of rules, laws and controls; the matrix of quantities; the sentences worth knowing."""

from __future__ import annotations

import json

import numpy as np
import pytest

import thence as th
from tests.show.reports.worlds import world
from thence.language.items import Feature, Item
from thence.runs.reviews import Review
from thence.runs.run import Run
from thence.show.reports.facts import _rule_facts, choose_facts, figures_of_rule
from thence.show.reports.matrix import build_matrix
from thence.show.reports.rows import control_rows, law_rows, rule_rows, shown_together
from thence.statements.controls.sentences import format_controls
from thence.statements.rules.measures import Counts
from thence.statements.rules.ruleset import Rule, RuleSet


@pytest.fixture(scope="module")
def digest() -> Run:
    return th.mine(world(), windows="1h", bins=2, min_confidence=0.6, confirm=False, progress="off")


@pytest.fixture(scope="module")
def water() -> Run:
    pytest.importorskip("wntr")
    return th.mine(th.datasets.load("net3", days=7), progress="off")


def test_rows_say_what_rules_say(digest: Run) -> None:
    rules = digest.rules
    rows = rule_rows(rules, range(len(rules)))
    assert [row["sentence"] for row in rows] == [rule.english for rule in rules]
    assert [row["formal"] for row in rows] == [str(rule) for rule in rules]
    assert [row["key"] for row in rows] == [rule.key for rule in rules]
    confidence = rules.measure("confidence")
    for at, row in enumerate(rows):
        assert row["n_both"] == int(rules.counts.n_both[at])
        assert row["measures"]["confidence"] == pytest.approx(confidence[at], abs=1e-6)
        assert len(row["conditions"]) == len(rules.rule(at).antecedent)
        assert row["places"] == rules.places_text(at)
    json.dumps(rows, allow_nan=False)


def test_rules_that_are_shown_together_name_each_other(water: Run) -> None:
    rules = water.rules
    rows = {row["id"]: row for row in rule_rows(rules, range(len(rules)))}
    families = [entry for entry in rules.entries if len(entry) > 1]
    assert families
    for first, *others in families:
        assert rows[first]["shown_with"] is None
        assert rows[first]["likewise"] == rules.likewise([first, *others])
        assert all(rows[other]["shown_with"] == first and not rows[other]["likewise"] for other in others)


def test_rows_in_any_order_and_a_review(digest: Run) -> None:
    rules = digest.rules
    key = rules.rule(1).key
    rows = rule_rows(rules, [1, 0], reviews={key: Review("rejected", "<b>no</b>")})
    assert [row["id"] for row in rows] == [1, 0]
    assert rows[0]["review"] == {"verdict": "rejected", "note": "<b>no</b>"}
    assert rows[1]["review"] is None


def test_a_rule_that_never_applied_has_no_confidence() -> None:
    rule = Rule((Item.is_(Feature("a"), "x"),), Item.is_(Feature("b"), "y"))
    rules = RuleSet.from_rules([rule], Counts.from_matrix([[10, 0, 5, 0]]))
    (row,) = rule_rows(rules, [0])
    assert row["measures"] == {"support": 0.0, "confidence": None, "zhang": None, "lift": None}
    assert figures_of_rule(rules, 0) == "never applied"


def test_a_few_rows_of_a_million_rules_look_at_few_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    items = tuple(Item.is_(Feature(f"s{at}"), "on") for at in range(50))
    rng = np.random.default_rng(0)
    n = 1_000_000
    counts = Counts.from_matrix(np.tile([100, 50, 60, 40], (n, 1)))
    rules = RuleSet(items, rng.integers(0, 49, (n, 2)).astype(np.int32), np.full(n, 49, np.int32), counts)
    looked_at: list[int] = []
    original = RuleSet.rule
    monkeypatch.setattr(RuleSet, "rule", lambda self, number: looked_at.append(number) or original(self, number))
    rows = rule_rows(rules, range(n - 50, n))
    assert set(looked_at) == set(range(n - 50, n))
    assert [row["id"] for row in rows] == list(range(n - 50, n))
    assert len(shown_together(rules, most=7)) == 7


def test_laws_and_controls(water: Run) -> None:
    laws = law_rows(water.laws or ())
    assert [row["sentence"] for row in laws] == [law.statement for law in water.laws or ()]
    assert [row["in_full"] for row in laws] == [law.english for law in water.laws or ()]
    assert all(row["held"] <= row["rows"] for row in laws)
    controls = control_rows(water.controls or ())
    assert [row["sentence"] for row in controls] == format_controls(water.controls or (), counts=False)
    assert [row["key"] for row in laws] == [one.key for one in water.laws or ()]
    assert [key for row in controls for key in row["keys"]] == [
        (water.controls or ())[at].key for row in controls for at in row["members"]
    ]
    assert sorted(at for row in controls for at in row["members"]) == list(range(len(water.controls or ())))
    said = {laws[0]["key"]: Review("accepted", "seen"), **dict.fromkeys(controls[0]["keys"], Review("rejected"))}
    assert law_rows(water.laws or (), reviews=said)[0]["review"] == {"verdict": "accepted", "note": "seen"}
    assert control_rows(water.controls or (), reviews=said)[0]["review"] == {"verdict": "rejected", "note": ""}
    assert all(row["review"] is None for row in (*laws, *controls))


def test_the_matrix_counts_each_rule_in_each_of_its_cells(digest: Run) -> None:
    rules = digest.rules
    matrix = build_matrix(rules)
    names = matrix["quantities"]
    found = {(names[c["source"]], names[c["target"]]): c for c in matrix["cells"]}
    rows = rule_rows(rules, range(len(rules)))
    expected: dict[tuple[str, str], set[int]] = {}
    both = rules.extras.get("both_ways", np.zeros(len(rules)))
    for row in rows:
        for given in row["quantities_if"]:
            expected.setdefault((given, row["quantity_then"]), set()).add(row["id"])
            if both[row["id"]] == 1:
                expected.setdefault((row["quantity_then"], given), set()).add(row["id"])
    assert {pair: cell["rules"] for pair, cell in found.items()} == {pair: len(ids) for pair, ids in expected.items()}
    zhang = rules.measure("zhang")
    for pair, cell in found.items():
        assert zhang[cell["best"]] == max(zhang[list(expected[pair])])


def test_a_matrix_keeps_the_quantities_of_most_rules(digest: Run) -> None:
    small = build_matrix(digest.rules, most=1)
    assert len(small["quantities"]) == 1
    assert all(cell["source"] == cell["target"] == 0 for cell in small["cells"])
    assert build_matrix(RuleSet.empty()) == {"quantities": [], "cells": []}


def test_facts_are_few_and_about_different_things(water: Run) -> None:
    facts = choose_facts(water)
    assert len(facts) <= 10
    assert {fact["kind"] for fact in facts} == {"law", "control", "rule"}
    assert facts[0]["kind"] == "law"
    assert len({fact["sentence"] for fact in facts}) == len(facts)
    assert all(fact["figures"] for fact in facts)
    pumps = [fact["sentence"].split()[1] for fact in facts if fact["kind"] == "control"]
    # Pipe 330 and Pump 335 switch at the same moments: one sentence tells of both.
    assert len(pumps) == len(set(pumps))
    assert sum("335" in fact["sentence"] for fact in facts if fact["kind"] == "control") <= 1


def test_what_a_law_says_of_a_state_is_not_said_by_a_rule_again(digest: Run) -> None:
    told = _rule_facts(digest, {}, by_laws=[])
    about = {
        fact["id"]: frozenset(item.feature.label for item in (*rule.antecedent, rule.consequent))
        for fact in told
        for rule in [digest.rules.rule(fact["id"])]
        if rule.pattern and not any(item.feature.reads for item in (*rule.antecedent, rule.consequent))
    }
    assert about
    for number, kinds in about.items():
        left = {fact["id"] for fact in _rule_facts(digest, {}, by_laws=[kinds])}
        assert number not in left
        assert left >= {fact["id"] for fact in told} - {other for other, own in about.items() if own == kinds}


def test_what_was_rejected_is_no_fact(water: Run) -> None:
    facts = choose_facts(water)
    keys = {
        "law": [law.key for law in water.laws or ()],
        "control": [control.key for control in water.controls or ()],
        "rule": [rule.key for rule in water.rules],
    }
    first = {kind: next(fact for fact in facts if fact["kind"] == kind) for kind in keys}
    said = {keys[kind][fact["id"]]: Review("rejected") for kind, fact in first.items()}
    told = choose_facts(water, reviews=said)
    assert not {(fact["kind"], fact["id"]) for fact in told} & {(kind, fact["id"]) for kind, fact in first.items()}
    kept = choose_facts(water, reviews={keys["law"][first["law"]["id"]]: Review("accepted")})
    assert kept[0]["review"] == {"verdict": "accepted", "note": ""}
    assert [fact["sentence"] for fact in kept] == [fact["sentence"] for fact in facts]


def test_without_rules_there_are_no_facts() -> None:
    run = th.mine(world(), windows="1h", bins=2, min_support=0.99, refine=None, progress="off")
    assert choose_facts(run) == []


def test_a_control_is_a_card() -> None:
    """What switches, what it does at which threshold, where that is measured, and how often it was seen."""
    run = th.mine(th.datasets.load("net3", days=14), miner=th.Exact(max_antecedents=1), progress="off")
    rows = {row["name"]: row for row in control_rows(run.controls or ())}
    pump = rows["Pump 335"]
    assert [event.partition(" ")[2] for event in pump["events"]] == ["below 5.21 m", "above 5.82 m"]
    assert (pump["where"], pump["explained"], pump["switches"]) == ("in Tank 1", 26, 26)
    assert rows["Pump 10"]["where"] == ""
    assert [event.partition(" ")[2] for event in rows["Pump 10"]["events"]] == ["at 01:00", "at 15:00"]
    assert len(rows) == 3
