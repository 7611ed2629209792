"""Keys: the same for equal rules only, in every process and version, and without the fitted numbers of laws."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import replace

from hypothesis import given, settings

import thence as th
from tests.helpers.rule_sets import rule_sets
from thence.language.items import Feature, Interval, Item
from thence.statements.controls.control import Control
from thence.statements.controls.thresholds import Tally
from thence.statements.keys import is_key, key_text
from thence.statements.laws.bands import Band
from thence.statements.laws.law import Law
from thence.statements.laws.terms import Term
from thence.statements.rules.ruleset import Rule, RuleSet

FLOW, LEVEL = Feature("s1", label="flow", unit="m3/h"), Feature("f", label="level", relative=True)
RULE = Rule((Item.among(FLOW, Interval(23, 31)), Item.is_(LEVEL, "high")), Item.compare(LEVEL, ">=", 0.1), "(n:Node)")


@settings(deadline=None)
@given(rule_sets(), rule_sets())
def test_two_rules_have_the_same_key_if_and_only_if_they_are_equal(one: RuleSet, other: RuleSet) -> None:
    rules = [*one, *other]
    texts = [key_text(key) for part in (one, other) for key in part.keys]
    assert texts == [rule.key for rule in rules]
    assert all(map(is_key, texts))
    assert len(set(texts)) == len(set(rules))


def test_keys_are_those_of_earlier_versions() -> None:
    # Reviews are stored under these: they must never change.
    assert RULE.key == "a1b45267560e7e21"
    assert Rule((Item.is_(Feature("door"), "open"),), Item.is_(Feature("light"), "on")).key == "a2f7948fbaa200d3"


def test_a_key_does_not_depend_on_the_process_or_the_order() -> None:
    turned = Rule((*RULE.antecedent[::-1], RULE.antecedent[0]), RULE.consequent, RULE.pattern, "in words", True)
    assert turned.key == RULE.key
    code = "from tests.runs.test_keys import RULE; print(RULE.key)"
    told = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert told.stdout.strip() == RULE.key


def test_units_places_and_counts_are_no_part_of_a_key() -> None:
    moved = replace(FLOW, unit="l/s", place="Pipe 1", classes=frozenset({"Pipe"}))
    rule = Rule((Item.among(moved, Interval(23, 31)), Item.is_(LEVEL, "high")), RULE.consequent, RULE.pattern)
    assert rule == RULE and rule.key == RULE.key


def test_names_that_utf8_cannot_hold_have_keys() -> None:
    assert is_key(Rule((Item.is_(Feature("a\ud800"), "x"),), RULE.consequent).key)


def test_a_law_and_a_control_keep_their_keys_when_their_numbers_are_fitted_anew() -> None:
    flow = Term("total", "flow", role="Pipes that end there", unit="m3/h")
    law = Law("equal", "(j:Junction)", ((1, flow),))
    assert law.key == replace(law, band=Band(0.3), later_bound=0.9).key
    assert law.key != replace(law, form="at_least").key
    assert law.key != replace(law, left=((-1, flow),)).key
    pump, level = Feature("s9", label="status"), Feature("l2", label="level")
    control = Control(pump, "open", "closed", level, "above", 4.0, 3.9, 4.1, Tally(1, 1, 1, 1), Tally(1, 1, 1, 1), 0.9)
    assert control.key == replace(control, threshold=4.2, high=5.0).key
    assert control.key != replace(control, direction="below").key


def test_laws_and_controls_of_a_run_have_different_keys() -> None:
    run = th.mine(th.datasets.load("net3", days=7), progress="off")
    assert run.laws and run.controls
    keys = [one.key for one in (*run.laws, *run.controls, *run.rules)]
    assert len(set(keys)) == len(keys)


def test_keys_of_ranges_are_those_of_earlier_versions() -> None:
    """Reviews of rules about ``(0, 2.89)`` stay with them, though the text of the range was ``[5e-324, 2.89)``."""
    above = Item.among(Feature("a"), Interval(math.nextafter(0.0, 1.0), 2.89))
    up_to = Item.among(Feature("b"), Interval(1.0, math.nextafter(3.0, 4.0)), negated=True)
    assert Rule((above,), up_to).key == "57bc4cd518fd4de7"
    assert Rule((Item.is_(Feature("c"), "a, b"),), above).key == "6da9288a9093c512"
