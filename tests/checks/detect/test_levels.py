"""Levels of normal days: kept on days that were not seen, and time scales that follow from the data."""

from __future__ import annotations

import numpy as np
import pytest

from thence.checks.detect.levels import (
    day_maxima,
    exceeded_at,
    jackknife_levels,
    student_quantile,
    would_have_alarmed,
)
from thence.checks.detect.timescale import choose_scale, count_full


@pytest.mark.parametrize("days", [8, 30, 120])
@pytest.mark.parametrize("rate", [1 / 120, 1 / 30, 0.2])
def test_unseen_days_exceed_a_level_at_about_its_rate(days: int, rate: float) -> None:
    rng, over = np.random.default_rng(0), []
    for _ in range(400):
        maxima = np.exp(rng.normal(0, 0.3, days + 200))
        over.append((maxima[days:] > exceeded_at(maxima[:days], rate)).mean())
    assert 0.4 * rate <= np.mean(over) <= 2 * rate


def test_levels_without_a_day_are_those_that_were_learned_without_it() -> None:
    maxima = np.exp(np.random.default_rng(0).normal(size=(3, 12)))
    _, without = jackknife_levels(maxima, 1 / 30)
    for day in range(12):
        rest = jackknife_levels(np.delete(maxima, day, axis=1), 1 / 30)[0]
        assert without[:, day] == pytest.approx(rest)


def test_a_day_far_out_would_have_alarmed() -> None:
    maxima = np.r_[np.exp(np.random.default_rng(0).normal(0, 0.1, 20)), 5.0]
    assert would_have_alarmed(maxima, 1 / 30).tolist() == [False] * 20 + [True]


def test_days_on_which_nothing_happens_do_not_move_the_level_below_those_on_which_something_does() -> None:
    maxima = np.r_[np.zeros(40), 0.5, 0.6, 0.7]
    assert exceeded_at(maxima, 1 / 120, least=0.3) > 0.7
    assert exceeded_at(np.zeros(40), 1 / 120, least=0.3) == 0.3


@pytest.mark.parametrize(("share", "freedom", "expected"), [(0.95, 1, 6.314), (0.99, 5, 3.365), (0.999, 60, 3.232)])
def test_quantiles_of_student(share: float, freedom: int, expected: float) -> None:
    assert student_quantile(share, freedom) == pytest.approx(expected, rel=2e-3)


def test_maxima_are_those_of_the_days_that_count() -> None:
    values = np.arange(10.0)[None]
    blocks = np.repeat([3, 4, 9], [4, 4, 2])
    assert day_maxima(values, blocks, np.array([3, 4])).tolist() == [[3.0, 7.0]]


def test_memory_and_days_follow_from_the_step_and_the_length() -> None:
    for minutes, memory in ((1, 1.0), (5, 1.0), (15, 3.0), (30, 6.0), (60, 6.0)):
        scale = choose_scale(np.arange(0, 24 * 10, minutes / 60), every=minutes / 60)
        assert (scale.memory, scale.day, scale.block) == (pytest.approx(memory), 24, 24)
    runs = np.concatenate([start + np.arange(1200) / 3600 for start in (0.0, 1.0, 2.0)])
    short = choose_scale(runs, every=1 / 3600, correlated=0.02)
    assert short.is_short and short.memory == pytest.approx(12 / 3600)
    assert short.day == pytest.approx(1200 / 3600) and short.block == pytest.approx(0.1)
    assert len(count_full(runs, short.block, every=1 / 3600)) >= 4
