"""The sequential test: the chance of a false alarm is bounded for ever, and a rule that fails is found soon."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thence.checks.monitor.sequential import BETS, bet, evidence, stake, threshold


@given(st.floats(0.001, 0.99), st.lists(st.floats(0, 1), min_size=2, max_size=6))
def test_the_capital_is_not_expected_to_grow(allowed: float, shares: list[float]) -> None:
    """Of any distribution of shares with the mean that is allowed: a mixture of two points with that mean."""
    low, high = min(*shares, allowed), max(*shares, allowed)
    weight = (allowed - low) / (high - low) if high > low else 1.0
    start = np.zeros((2, len(BETS)))
    after = np.exp(evidence(bet(start, share=[low, high], allowed=[allowed] * 2)))
    assert (1 - weight) * after[0] + weight * after[1] == pytest.approx(1.0, abs=1e-9)


@given(st.floats(0.01, 0.99), st.floats(0, 1))
def test_no_block_can_lose_all(allowed: float, share: float) -> None:
    assert np.isfinite(bet(np.zeros((1, len(BETS))), share=[share], allowed=[allowed])).all()


def test_a_block_without_rows_bets_nothing() -> None:
    assert (bet(np.zeros((1, len(BETS))), share=[np.nan], allowed=[0.1]) == 0).all()


def chains(n_rules: int, n_steps: int, *, share: float, stay: float, random: np.random.Generator) -> np.ndarray:
    """Violations that last: a Markov chain with a share of violations, whose mean episode is 1 / (1 − stay) windows."""
    begin = share * (1 - stay) / (1 - share)
    state = random.random(n_rules) < share
    out = np.empty((n_steps, n_rules), bool)
    for step in range(n_steps):
        change = random.random(n_rules)
        state = np.where(state, change < stay, change < begin)
        out[step] = state
    return out


@pytest.mark.parametrize("stay", [0.05, 0.8])
@pytest.mark.parametrize("share", [0.05, 0.2])
def test_false_alarms_are_as_rare_as_stated(share: float, stay: float) -> None:
    """At the bound itself, with violations that last an hour on average, windows of 10 minutes and blocks of a day."""
    random = np.random.default_rng(0)
    n_rules, n_blocks, per_block, alpha = 400, 200, 144, 0.1
    violated = chains(n_rules, n_blocks * per_block, share=share, stay=stay, random=random)
    shares = violated.reshape(n_blocks, per_block, n_rules).mean(axis=1)
    capital, worst = np.zeros((n_rules, len(BETS))), np.zeros(n_rules)
    for block in shares:
        capital = bet(capital, share=block, allowed=np.full(n_rules, share))
        worst = np.maximum(worst, evidence(capital))
    assert (worst >= np.log(1 / alpha)).mean() <= alpha


def test_windows_one_by_one_would_raise_false_alarms() -> None:
    """Why there are blocks: with violations that last, the next window is not like any other."""
    random = np.random.default_rng(0)
    violated = chains(200, 20_000, share=0.05, stay=0.8, random=random)
    capital, worst = np.zeros((200, len(BETS))), np.zeros(200)
    for window in violated[:3_000]:
        capital = bet(capital, share=window.astype(float), allowed=np.full(200, 0.05))
        worst = np.maximum(worst, evidence(capital))
    assert (worst >= np.log(10)).mean() > 0.1


@pytest.mark.parametrize(("now", "blocks"), [(1.0, 10), (0.5, 15), (0.2, 60)])
def test_a_rule_that_fails_is_found(now: float, blocks: int) -> None:
    """Allowed are 10 % of violations; 1,000 rules are watched."""
    capital = np.zeros((1, len(BETS)))
    limit = float(threshold(0.01, n_rules=1_000))
    for block in range(1, blocks + 1):
        capital = bet(capital, share=[now], allowed=[0.1])
        if evidence(capital)[0] >= limit:
            assert block <= blocks
            return
    raise AssertionError("not found")


def test_restarts_never_use_up_more_than_the_stated_chance() -> None:
    spent = sum(np.exp(-threshold(0.01, n_rules=7, restarts=k)) * 7 for k in range(60))
    assert spent == pytest.approx(0.01)


def test_all_stakes_together_are_the_capital_of_one() -> None:
    staked = sum(float(np.exp(stake(np.full((1, 1), -np.inf), [t]))[0, 0]) for t in range(10_000))
    assert staked == pytest.approx(1.0, abs=1e-3)


def test_a_rule_that_held_for_long_is_found_as_soon_as_another() -> None:
    """Regression: the whole capital was staked at first, and after 200 days that it held little of it was left."""

    def count_blocks(held: int) -> int:
        capital, block = np.full((1, len(BETS)), -np.inf), 0
        while block < held or evidence(capital)[0] < threshold(0.01, n_rules=50):
            capital = bet(stake(capital, [block]), share=[0.05 if block < held else 0.4], allowed=[0.2])
            block += 1
        return block - held

    assert count_blocks(200) <= count_blocks(0) + 25
