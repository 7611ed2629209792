from __future__ import annotations

import numpy as np
import pytest

from thence.lab.datasets.water import Fourier, draw_factors, draw_leakdb_multipliers

WEEK = Fourier(np.array([0.1, 0.3, -0.2]), period=336)
YEAR = Fourier(np.array([0.0, 0.05, 0.02]), period=17520)


def test_the_basis_is_a_constant_then_sine_and_cosine_counted_from_step_one() -> None:
    basis = Fourier(np.zeros(5), period=8).basis(8)
    assert basis[:, 0].tolist() == [1.0] * 8
    assert basis[0, 1:] == pytest.approx([np.sin(np.pi / 4), np.cos(np.pi / 4), 1.0, 0.0])
    assert basis[7, 1:] == pytest.approx([0.0, 1.0, 0.0, 1.0])


def test_multipliers_follow_the_recipe_within_its_noise() -> None:
    rng = np.random.default_rng(5)
    table = draw_leakdb_multipliers(rng, week=WEEK, year=YEAR, junctions=40, steps=17520)
    expected = (YEAR.basis(17520) @ YEAR.coefficients + 1) * (0.75 * (WEEK.basis(17520) @ WEEK.coefficients) + 1)
    # The mean over junctions has the recipe's shape; single readings scatter by 5 % and a little more.
    assert np.abs(table.mean(axis=1) / expected - 1).max() < 0.08
    assert np.std(table / expected[:, None]) == pytest.approx(0.05, abs=0.02)


def test_junctions_differ_and_a_seed_gives_the_same_again() -> None:
    one, again = (
        draw_leakdb_multipliers(np.random.default_rng(1), week=WEEK, year=YEAR, junctions=2, steps=100)
        for _ in range(2)
    )
    assert np.array_equal(one, again)
    assert not np.allclose(one[:, 0], one[:, 1])


def test_noise_is_never_negative_and_has_its_spread() -> None:
    factors = draw_factors(np.random.default_rng(0), (20000,), spread=0.6)
    assert factors.min() == 0.0
    assert draw_factors(np.random.default_rng(0), (20000,), spread=0.1).std() == pytest.approx(0.1, rel=0.05)
