"""Rules with and without static items, counted without being kept, and measured as the released code does."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from thence.lab.baselines.arm_ae import ARMAE
from thence.lab.experiments.files import Parameters, read_experiment
from thence.lab.experiments.procedures import (
    drop_static_antecedents,
    drop_static_consequents,
    list_aerial,
    list_arm_ae,
    list_masking,
    make_aerial,
    make_exact,
    measure_as_arm_ae,
    measure_rules,
    table_of,
    tally_exact,
)
from thence.lab.experiments.samples import ExperimentSample, identify_data, load_data
from thence.language.items import Aspect, Feature, Item
from thence.statements.rules.measures import Counts
from thence.statements.rules.ruleset import RuleSet


@pytest.fixture(scope="module")
def parameters() -> Parameters:
    return read_experiment("1.1").resolve_parameters(quick=True)


@pytest.fixture
def sample(parameters: Parameters) -> ExperimentSample:
    data = load_data("toy", True, identify_data("toy", True))
    return data.sample(6, seed=0, repeat=0, parameters=parameters)


@pytest.fixture
def rules(parameters: Parameters, sample: ExperimentSample) -> RuleSet:
    return make_exact(parameters, 0.05, context_consequents=True).mine(sample.table("grounded"))


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


@pytest.mark.parametrize("mode", ["none", "existential"])
def test_a_tally_has_the_rules_of_the_miner(parameters: Parameters, sample: ExperimentSample, mode: str) -> None:
    miner, table = make_exact(parameters, 0.05), sample.table(mode)
    kept = miner.mine(table)
    found = tally_exact(miner, table, row="Exhaustive", at=0.05, min_support=0.05)
    assert found["values"]["rules"] == len(kept) > 0
    assert found["values"]["confidence"] == pytest.approx(kept.measure("confidence").mean())
    assert found["facts"] == {"min_support": 0.05}
    stopped = tally_exact(replace(miner, max_rules=3), table, row="Exhaustive", at=0.05)
    assert "stopped" in stopped["facts"]
    assert stopped["values"]["rules"] <= 3


def made_of(counts: list[list[int]]) -> RuleSet:
    """Two rules with one antecedent each: a → b and b → a."""
    items = tuple(Item.is_(Feature(name, Aspect.MEASUREMENT), "on") for name in "ab")
    return RuleSet(items, np.array([[0], [1]]), np.array([1, 0]), Counts.from_matrix(counts))


def test_arm_ae_is_measured_as_the_released_code_measures_it() -> None:
    # n 8: the antecedent holds in 4 rows and the rule in 3; then the antecedent in 2 rows and the rule in none.
    found = measure_as_arm_ae("ARM-AE", made_of([[8, 4, 5, 3], [8, 2, 4, 0]]), seconds=1.0)["values"]
    assert found["support"] == pytest.approx((0.38 + 0) / 2)
    assert found["confidence"] == pytest.approx((0.75 + 0) / 2)
    # Zhang with the support of the antecedent for that of the consequent: (3/8 − 1/4) / (3/8 · 1/2), and −1.
    assert found["zhang"] == pytest.approx(((3 / 8 - 1 / 4) / (3 / 16) - 1) / 2)
    assert found["rule_coverage"] == 0
    assert found["data_coverage"] == 2 / 8


def test_rules_that_never_apply_count_as_zero_in_the_released_code() -> None:
    rules = made_of([[8, 4, 4, 4], [8, 0, 4, 0]])
    assert measure_rules("Aerial", "published", rules)["values"]["confidence"] == 0.5
    assert measure_rules("Aerial", "faithful", rules)["values"]["confidence"] is None


def test_the_ablation_of_aerial_leads_from_the_released_code_over_the_text_to_ours(
    parameters: Parameters, sample: ExperimentSample
) -> None:
    steps = list(list_aerial(sample, parameters, 3))
    first, last = steps[0], steps[-1]
    faithful = next(made for made in steps if made[0].variant == "faithful")
    for variant, (_, miner, table) in (("published", first), ("faithful", faithful), ("corrected", last)):
        own = make_aerial(variant, parameters, 3)
        assert replace(miner._training(), seed=0) == replace(own._training(), seed=0)
        for name in ("similarity", "max_antecedents", "context_consequents", "keep_constants"):
            assert getattr(miner, name) == getattr(own, name) or not getattr(own, name)
        assert table is table_of(sample, variant, "grounded")


def test_each_step_of_an_ablation_changes_something(parameters: Parameters, sample: ExperimentSample) -> None:
    steps = list(list_aerial(sample, parameters, 0))
    for (_, miner, table), (step, changed, other) in pairwise(steps):
        assert changed != miner or other is not table, step.name
    exchanged = [miner for _, _, miner in list_masking(parameters, 0)]
    settings = [replace(miner._training(), seed=0) for miner in exchanged]
    assert len(set(settings)) == len(settings)
    first, *_, last = [miner for _, miner, _ in list_arm_ae(sample, 0)]
    assert first == ARMAE.published(seed=0)
    assert replace(last, context_consequents=False) == ARMAE(seed=0)
