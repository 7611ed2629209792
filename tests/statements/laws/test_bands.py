"""Bands: quantiles by column, rounding, and what a fitted band covers."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from thence.statements.laws.bands import Band, central_spread, fit_band, place_quantiles, round_up

NUMBERS = st.floats(-1e6, 1e6) | st.just(math.nan)


@given(arrays(np.float64, st.tuples(st.integers(0, 12), st.integers(1, 4)), elements=NUMBERS), st.floats(0.01, 1))
def test_a_quantile_is_the_smallest_value_that_a_share_does_not_exceed(values: np.ndarray, share: float) -> None:
    for column, found in zip(values.T, place_quantiles(values, share), strict=True):
        known = sorted(column[~np.isnan(column)].tolist())
        if not known:
            assert math.isnan(found)
        else:
            assert found == next(v for v in known if sum(w <= v for w in known) >= share * len(known) - 1e-9)


@given(st.floats(1e-9, 1e9), st.integers(1, 4))
def test_rounding_up_adds_less_than_one_step(value: float, digits: int) -> None:
    rounded = round_up(value, digits)
    assert rounded >= value * (1 - 1e-11)
    assert rounded <= value * (1 + 10.0 ** (1 - digits)) * (1 + 1e-9)
    assert round_up(rounded, digits) == rounded


def test_zero_and_infinity_stay() -> None:
    assert round_up(0.0) == 0.0 and round_up(math.inf) == math.inf


def test_the_spread_is_between_the_first_and_the_last_decile() -> None:
    assert central_spread(np.arange(1.0, 101.0)[:, None]).tolist() == [80.0]


def test_one_place_far_off_does_not_widen_the_band() -> None:
    rng = np.random.default_rng(0)
    residuals = rng.uniform(-1, 1, (2000, 20))
    residuals[:, 3] *= 100
    (band,) = fit_band(residuals, None)
    assert 1 <= band.absolute <= 1.2


def test_small_rows_have_an_absolute_band_beside_the_relative_one() -> None:
    rng = np.random.default_rng(0)
    sizes = rng.uniform(0, 100, (3000, 8))
    residuals = 0.02 * sizes * rng.uniform(-1, 1, sizes.shape) + rng.uniform(-0.01, 0.01, sizes.shape)
    absolute, relative = fit_band(residuals, sizes)
    assert absolute.relative == 0 and 2 <= absolute.absolute <= 2.4
    assert 0.02 <= relative.relative <= 0.024 and relative.absolute < 0.2
    assert (np.abs(residuals) <= relative.allowed(sizes)).mean() > 0.998


def test_no_band_is_narrower_than_asked() -> None:
    (band,) = fit_band(np.zeros((10, 2)), None, least=0.05)
    assert band == Band(0.05)


def test_missing_rows_are_ignored() -> None:
    residuals = np.full((100, 2), np.nan)
    residuals[:50, 0] = 1.0
    assert fit_band(residuals, None)[0].absolute == 1.1
    assert math.isinf(fit_band(np.full((5, 2), np.nan), None)[0].absolute)
