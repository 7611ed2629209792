"""FP-Growth and H-Mine: every rule within the thresholds, whatever is missing, and nothing else."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.tables import factorised_tables, plain_tables
from thence.errors import ConfigError, MiningError
from thence.lab.baselines.exhaustive import FPGrowth, HMine, find_frequent_sets, half_mean_support
from thence.lab.evaluate.conformance import brute_force_rules
from thence.language.constraints import ItemFilter
from thence.language.items import Feature
from thence.search.exact.miner import Exact
from thence.statements.rules.ruleset import RuleSet
from thence.tables.blocks import Block, Column
from thence.tables.transactions import TransactionTable

MINERS = (FPGrowth, HMine)


def counted(rules: RuleSet) -> dict:
    counts = rules.counts
    rows = zip(counts.n, counts.n_antecedent, counts.n_consequent, counts.n_both, strict=True)
    return {rule: tuple(map(int, row)) for rule, row in zip(rules, rows, strict=True)}


@given(
    table=plain_tables(),
    miner=st.sampled_from(MINERS),
    support=st.sampled_from([0.05, 0.1, 0.3]),
    confidence=st.sampled_from([0.0, 0.5, 0.8, 1.0]),
    antecedents=st.integers(1, 3),
)
def test_equals_an_enumeration_of_all_rules(table, miner, support, confidence, antecedents):
    thresholds = {"min_support": support, "min_confidence": confidence, "max_antecedents": antecedents}
    rules = miner(**thresholds).mine(table)
    assert len(rules) == len(set(rules))
    assert counted(rules) == brute_force_rules(table, **thresholds)


@given(table=factorised_tables(), miner=st.sampled_from(MINERS))
def test_lifted_tables_are_written_out_and_equal_the_exact_miner(table, miner):
    thresholds = {"min_support": 0.02, "min_confidence": 0.6}
    assert counted(miner(**thresholds).mine(table)) == counted(Exact(**thresholds).mine(table))


@pytest.mark.parametrize("miner", MINERS)
def test_a_rule_exactly_at_the_threshold_is_found(miner):
    """0.29 × 100 is 28.999999999999996 and 0.07 × 100 is 7.000000000000001: mlxtend rounds that up to 8 rows."""
    codes = np.array([[0] * 7 + [1] * 93] * 2, np.int16)
    columns = tuple(Column(Feature(n), ("x", "y"), codes[i : i + 1]) for i, n in enumerate("ab"))
    table = TransactionTable((Block(columns, 100),))
    rules = miner(min_support=0.07, min_confidence=1.0, max_antecedents=1).mine(table)
    assert sorted(rules.counts.n_both.tolist()) == [7, 7, 93, 93]


@pytest.mark.parametrize("miner", MINERS)
def test_rules_that_are_frequent_only_among_known_rows_are_found(miner):
    """mlxtend divides by all rows: 3 of 12 is below 0.5, but of the 5 rows that know both features 3 are above it."""
    frame = pl.DataFrame({"a": ["x"] * 4 + ["y"] + ["x"] * 7, "b": ["u"] * 3 + ["v"] * 2 + [None] * 7})
    table = TransactionTable.from_frame(frame)
    rules = miner(min_support=0.5, min_confidence=0.7, max_antecedents=1).mine(table)
    assert counted(rules) == brute_force_rules(table, min_support=0.5, min_confidence=0.7, max_antecedents=1)
    assert rules.counts.n.tolist() == [5, 5]


def test_rules_that_never_hold_are_left_out_by_every_exhaustive_miner():
    """With both thresholds at 0 every rule passes, also one that holds in no row; nothing said that it is left out."""
    table = TransactionTable.from_frame(
        pl.DataFrame({"a": ["x", "x", "y"], "b": ["u", "v", "u"], "c": ["k", "l", "l"]})
    )
    everything = brute_force_rules(table, min_support=0, min_confidence=0, max_antecedents=2)
    assert min(both for _, _, _, both in everything.values()) == 1
    assert counted(Exact(min_support=0, min_confidence=0).mine(table)) == everything
    near = [[[0, 1, 2]] * 3]
    assert counted(Exact(min_support=0, min_confidence=0, near=near).mine(table)) == everything
    for miner in MINERS:
        assert counted(miner(min_support=1e-9, min_confidence=0).mine(table)) == everything
        with pytest.raises(ConfigError, match="min_support must be above 0"):
            miner(min_support=0)


@pytest.mark.parametrize("miner", MINERS)
def test_constraints_are_kept(miner):
    codes = np.array([[0, 1] * 6, [0, 1] * 6, [1, 0] * 6], np.int16)
    columns = tuple(Column(Feature(n, label=n), ("p", "q"), codes[i : i + 1]) for i, n in enumerate("abc"))
    table = TransactionTable((Block(columns, 12),))
    rules = miner(antecedent=ItemFilter(sensor=("a", "b")), consequent=ItemFilter(sensor="c", value="p")).mine(table)
    assert {str(rule.consequent) for rule in rules} == {"(c:c).value = 'p'"}
    assert {item.feature.subject for rule in rules for item in rule.antecedent} == {"a", "b"}


@pytest.mark.parametrize("miner", MINERS)
def test_too_many_rows_to_write_out_are_refused_with_advice(miner):
    column = Column(Feature("a"), ("x", "y"), np.zeros((1, 500), np.int16), np.zeros(300, np.int32))
    block = Block((column, column), 500, 300, embeddings=tuple((f"e{i}",) for i in range(300)))
    with pytest.raises(MiningError, match=r"150,000 rows .* the limit is 1,000") as refusal:
        miner(max_rows=1000).mine(TransactionTable((block,)))
    assert "Exact" in str(refusal.value)


def test_half_of_the_mean_support():
    frame = pl.DataFrame({"a": ["x", "x", "y", "y"], "b": ["u", "u", "v", "v"]})
    rules = Exact(min_support=0.1).mine(TransactionTable.from_frame(frame))
    assert half_mean_support(rules) == 0.25
    assert FPGrowth.half_of(rules, max_antecedents=1) == FPGrowth(min_support=0.25, max_antecedents=1)
    with pytest.raises(ConfigError, match="no mean support"):
        HMine.half_of(RuleSet.empty())


def test_frequent_sets_carry_the_number_of_rows():
    frame = pl.DataFrame({"a": ["x", "x", "y"], "b": ["u", "u", "u"]})
    block = TransactionTable.from_frame(frame).blocks[0]
    sets = find_frequent_sets(
        block, np.arange(3), algorithm="hmine", min_support=0.5, max_length=2, denominator="present"
    )
    assert sets == {(0,): 2, (2,): 3, (0, 2): 2}


def test_importing_mlxtend_leaves_the_filters_for_warnings_alone():
    import warnings

    before = list(warnings.filters)
    FPGrowth().mine(TransactionTable.from_frame(pl.DataFrame({"a": ["x", "y"] * 3, "b": ["u", "v"] * 3})))
    assert warnings.filters == before


@pytest.mark.parametrize("wrong", [{"min_support": 0.0}, {"min_support": 1.1}, {"min_confidence": -1}])
def test_impossible_thresholds_are_refused(wrong):
    with pytest.raises(ConfigError):
        FPGrowth(**wrong)
    with pytest.raises(ConfigError):
        HMine(max_antecedents=0)
