"""Rules that are told together: families, and the text of the further rules of an entry."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

import thence as th
from thence.language.items import Feature, Interval, Item
from thence.statements.rules.families import describe_alike, group_families
from thence.statements.rules.ruleset import Rule, RuleSet

A, B, C = (Feature(name, relative=True) for name in "abc")
LOW, HIGH, MIDDLE = Interval(0, 0.2), Interval(0.8, 1), Interval(0.4, 0.6)


def _rule(*items: tuple[Feature, Interval], both_ways: bool = False, place: str = "") -> Rule:
    *left, right = [Item.among(feature, test) for feature, test in items]
    return Rule(tuple(left), right, place=place, both_ways=both_ways)


def _alike(*rules: Rule) -> list[str]:
    return describe_alike(rules, np.linspace(0.9, 0.8, len(rules)))


def test_equal_values_on_both_sides_are_told_once() -> None:
    rules = [_rule((A, LOW), (B, LOW)), _rule((A, HIGH), (B, HIGH))]
    assert _alike(*rules) == ["both in its highest fifth (confidence 0.800)"]


def test_only_what_differs_is_told() -> None:
    first = _rule((A, LOW), (B, LOW), (C, LOW))
    assert _alike(first, _rule((A, HIGH), (B, LOW), (C, LOW))) == ["a is in its highest fifth (confidence 0.800)"]
    assert _alike(first, _rule((A, HIGH), (B, HIGH), (C, MIDDLE))) == [
        "a is in its highest fifth and b is in its highest fifth → in its middle fifth (confidence 0.800)"
    ]
    assert _alike(first, _rule((A, LOW), (B, LOW), (C, HIGH))) == ["→ in its highest fifth (confidence 0.800)"]


def test_a_rule_in_another_direction_or_place_is_a_sentence() -> None:
    first = _rule((A, LOW), (B, LOW), place="for every Pipe p")
    assert _alike(first, _rule((B, HIGH), (A, HIGH), place="for every Pipe p")) == [
        "if b is in its highest fifth, then a is in its highest fifth (confidence 0.800)"
    ]
    assert _alike(first, _rule((A, HIGH), (B, HIGH), place="for one Pipe p")) == [
        "for the Pipe (one place): if a is in its highest fifth, then b is in its highest fifth (confidence 0.800)"
    ]


def test_the_direction_is_told_if_it_differs() -> None:
    first = _rule((A, LOW), (B, LOW), both_ways=True)
    assert _alike(first, _rule((A, HIGH), (B, LOW))) == [
        "in its highest fifth → in its lowest fifth (confidence 0.800)"
    ]
    assert _alike(first, _rule((A, HIGH), (B, MIDDLE), both_ways=True)) == [
        "in its highest fifth ↔ in its middle fifth (confidence 0.800)"
    ]


def _digest() -> RuleSet:
    rng = np.random.default_rng(0)
    a = rng.normal(size=2000)
    frame = pl.DataFrame({"a": a, "b": a + rng.normal(size=2000) / 20, "c": rng.integers(0, 2, 2000)})
    return th.mine(frame, progress="off").rules


def test_entries_hold_every_rule_once_and_the_order_of_their_first_rules() -> None:
    rules = _digest()
    entries = rules.entries
    assert sorted(number for entry in entries for number in entry) == list(range(len(rules)))
    assert [entry[0] for entry in entries] == sorted(entry[0] for entry in entries)
    assert len(entries) < len(rules)
    assert entries == group_families(rules)


def test_sorted_rules_are_told_one_by_one() -> None:
    rules = _digest().sort("support")
    assert rules.entries == [[number] for number in range(len(rules))]


def test_lines_tell_entries() -> None:
    rules = _digest()
    lines = rules.lines()
    assert sum("likewise: " not in line for line in lines) == len(rules.entries)
    assert len(replace(rules, grouped=False).lines()) == len(rules)


def test_a_run_on_disk_is_told_the_same_way(tmp_path) -> None:  # type: ignore[no-untyped-def]
    run = th.mine(th.datasets.load("toy"), windows="1h", out=tmp_path / "run", confirm=False, progress="off")
    assert th.load_run(tmp_path / "run").rules.entries == run.rules.entries
