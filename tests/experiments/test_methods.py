"""Rules with and without static items, on the toy data in the grounded encoding."""

from __future__ import annotations

import pytest

from thence.experiments.files import Parameters, read_experiment
from thence.experiments.methods import drop_static_antecedents, drop_static_consequents, make_exact
from thence.experiments.samples import identify_data, load_data
from thence.rules.items import Aspect
from thence.rules.ruleset import RuleSet


@pytest.fixture(scope="module")
def parameters() -> Parameters:
    return read_experiment("1.1").resolve_parameters(quick=True)


@pytest.fixture
def rules(parameters: Parameters) -> RuleSet:
    data = load_data("toy", True, identify_data("toy", True))
    table = data.sample(6, seed=0, repeat=0, parameters=parameters).table("grounded")
    return make_exact(parameters, 0.05, context_consequents=True).mine(table)


def static_items(rules: RuleSet, row: int) -> tuple[list[bool], bool]:
    """Whether each item of an antecedent is static, and whether the consequent is."""
    aspects = [item.feature.aspect is not Aspect.MEASUREMENT for item in rules.items]
    return [aspects[item] for item in rules.antecedents[row] if item >= 0], aspects[rules.consequents[row]]


def test_static_items_are_dropped_on_the_side_that_is_asked_for(rules: RuleSet) -> None:
    found = [static_items(rules, row) for row in range(len(rules))]
    assert any(any(left) for left, _ in found)
    assert any(right for _, right in found)
    assert len(drop_static_antecedents(rules)) == sum(not any(left) for left, _ in found)
    assert len(drop_static_consequents(rules)) == sum(not right for _, right in found)
    rest = drop_static_antecedents(rules)
    assert not any(any(static_items(rest, row)[0]) for row in range(len(rest)))


def test_a_constant_beside_a_reading_changes_no_count(rules: RuleSet) -> None:
    own = drop_static_consequents(rules)
    supports = own.measure("support")
    by_readings: dict[tuple[tuple[int, ...], int], set[float]] = {}
    for row in range(len(own)):
        static, _ = static_items(own, row)
        items = [item for item in own.antecedents[row] if item >= 0]
        readings = tuple(sorted(int(item) for item, fixed in zip(items, static, strict=True) if not fixed))
        by_readings.setdefault((readings, int(own.consequents[row])), set()).add(float(supports[row]))
    assert any(len(static_items(own, row)[0]) > 1 for row in range(len(own)))
    assert all(len(seen) == 1 for seen in by_readings.values())


def test_nothing_is_dropped_from_nothing(rules: RuleSet) -> None:
    none = rules.take([])
    assert len(drop_static_antecedents(none)) == len(drop_static_consequents(none)) == 0
