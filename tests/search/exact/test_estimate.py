"""The number of rules before the search: exact on small tables, close on large ones, and what is suggested fits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import thence.search.exact.estimate as estimate
from tests.helpers.examples import examples
from tests.helpers.tables import factorised_tables, plain_tables
from thence.errors import MiningError
from thence.search.exact.estimate import RuleEstimate, estimate_rules, suggest_settings
from thence.search.exact.miner import Exact
from thence.tables.transactions import TransactionTable


def _correlated(features: int = 24, rows: int = 400, *, missing: float = 0.0) -> TransactionTable:
    """Features that follow one of three hidden states, most of the time."""
    rng = np.random.default_rng(1)
    hidden = rng.integers(0, 3, (3, rows))
    columns: dict[str, Any] = {}
    for feature in range(features):
        own = np.where(rng.random(rows) < 0.1, rng.integers(0, 3, rows), hidden[feature % 3])
        gone = rng.random(rows) < missing
        columns[f"f{feature:02}"] = [None if lost else f"v{value}" for lost, value in zip(gone, own, strict=True)]
    return TransactionTable.from_frame(pl.DataFrame(columns))


@settings(max_examples=examples(150))
@given(
    st.one_of(plain_tables(), factorised_tables()),
    st.sampled_from([0.0, 0.1, 0.3]),
    st.sampled_from([0.0, 0.5, 0.8]),
    st.integers(1, 3),
)
def test_small_tables_are_counted_exactly(
    table: TransactionTable, support: float, confidence: float, length: int
) -> None:
    miner = Exact(min_support=support, min_confidence=confidence, max_antecedents=length)
    found = len(miner.mine(table))
    assert estimate_rules(table, miner) == RuleEstimate(found, found, found, exact=True)


@pytest.mark.parametrize("missing", [0.0, 0.05])
@pytest.mark.parametrize("length", [2, 3])
def test_a_sample_is_close(monkeypatch: pytest.MonkeyPatch, missing: float, length: int) -> None:
    table = _correlated(missing=missing)
    miner = Exact(min_support=0.05, min_confidence=0.7, max_antecedents=length)
    monkeypatch.setattr(estimate, "_WORK", 2000.0)
    guess, truth = estimate_rules(table, miner), len(miner.mine(table))
    assert not guess.exact
    assert guess.low <= guess.rules <= guess.high
    assert abs(guess.rules - truth) < 0.3 * truth
    assert guess == estimate_rules(table, miner)


def test_the_rules_of_higher_supports_come_from_the_same_sample() -> None:
    table = _correlated()
    miner = Exact(min_support=0.05, min_confidence=0.7)
    profile, _ = estimate._profile(table, miner, lengths=(2, 1), supports=estimate._supports_from(miner, fixed=False))
    for length in (2, 1):
        for support, number in zip((0.05, 0.1, 0.2, 0.3, 0.5), profile[length], strict=True):
            assert number.rules == len(replace(miner, min_support=support, max_antecedents=length).mine(table))


def test_neighbourhoods_are_sampled_too(monkeypatch: pytest.MonkeyPatch) -> None:
    table = _correlated()
    near = [[[other for other in range(24) if 0 < abs(one - other) < 7] for one in range(24)]]
    miner = Exact(min_support=0.05, min_confidence=0.7, near=near)
    truth = len(miner.mine(table))
    assert estimate_rules(table, miner) == RuleEstimate(truth, truth, truth, exact=True)
    monkeypatch.setattr(estimate, "_WORK", 1.0)
    guess = estimate_rules(table, miner)
    assert not guess.exact
    assert abs(guess.rules - truth) < 0.4 * truth


def test_a_subtree_that_is_too_large_is_cut_and_the_number_is_not_called_exact(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = _correlated()
    monkeypatch.setattr(estimate, "_WORK", 1e-9)
    monkeypatch.setattr(estimate, "_ROOM", 1)
    guess = estimate_rules(table, Exact(min_support=0.0, min_confidence=0.0, max_antecedents=3))
    assert not guess.exact
    assert guess.rules > 0


def test_a_search_with_too_many_rules_is_refused_at_once_with_settings_that_work() -> None:
    table = _correlated()
    miner = Exact(min_support=0.01, min_confidence=0.7, max_rules=2000)
    with pytest.raises(MiningError) as refused:
        miner.mine(table)
    assert "more than max_rules = 2,000" in str(refused.value)
    hint = str(refused.value.hint)
    assert "with min_support=0.3 there are 317, with max_antecedents=1 there are 504; " in hint
    assert len(replace(miner, min_support=0.3).mine(table)) <= 2000
    assert len(replace(miner, max_antecedents=1).mine(table)) <= 2000
    everything = len(replace(miner, max_rules=5_000_000).mine(table))
    most = int(hint.rpartition("max_rules=")[2])
    assert most >= everything
    assert len(replace(miner, max_rules=most).mine(table)) == everything


def test_a_limit_just_above_the_rules_is_no_reason_to_refuse() -> None:
    table = _correlated()
    miner = Exact(min_support=0.05, min_confidence=0.7)
    number = len(miner.mine(table))
    assert len(replace(miner, max_rules=number).mine(table)) == number
    with pytest.raises(MiningError, match="more than max_rules"):
        replace(miner, max_rules=number - 1).mine(table)


def test_suggested_settings_fit_the_budget() -> None:
    table = _correlated()
    miner = Exact(min_support=0.01, min_confidence=0.7)
    assert suggest_settings(table, miner) == (miner, "")
    shorter, note = suggest_settings(table, miner, budget_rules=1000)
    assert shorter == replace(miner, max_antecedents=1)
    assert len(shorter.mine(table)) <= 1000
    assert note.startswith("max_antecedents = 1, because")
    both, note = suggest_settings(table, miner, budget_rules=100)
    assert both.max_antecedents == 1
    assert both.min_support > 0.01
    assert note.startswith("max_antecedents = 1 and min_support = ")


def test_given_settings_are_kept() -> None:
    table = _correlated()
    miner = Exact(min_support=0.01, min_confidence=0.7)
    kept, _ = suggest_settings(table, miner, budget_rules=2000, given={"max_antecedents"})
    assert (kept.max_antecedents, kept.min_support) == (2, 0.3)
    assert len(kept.mine(table)) <= 2000
    everything = {"max_antecedents", "min_support"}
    assert suggest_settings(table, miner, budget_rules=10, given=everything) == (miner, "")


def test_numbers_of_rules_are_said_in_two_digits() -> None:
    def said(number: int, *, exact: bool = False) -> str:
        return str(RuleEstimate(number, number, number, exact))

    assert said(38_412_345) == "about 38 million"
    assert said(2_140_000) == "about 2.1 million"
    assert said(123_456) == "about 120,000"
    assert said(2_345_000_000) == "about 2,300,000,000"
    assert said(999) == "about 999"
    assert said(86_907, exact=True) == "86,907"
