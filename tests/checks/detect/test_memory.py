"""Memory: smoothing against a weighted mean, in one piece and in several."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from thence.checks.detect.memory import single_level, smooth

shares = hnp.arrays(np.float64, st.tuples(st.integers(1, 3), st.integers(1, 30)), elements=st.floats(0, 1))


@given(shares)
def test_smoothing_is_a_weighted_mean_of_the_past(values: np.ndarray) -> None:
    n = values.shape[1]
    out = smooth(values, np.arange(n) * 0.5, every=0.5, memory=6.0)
    new = 1 - math.exp(-0.5 / 6)
    for frame in range(n):
        weights = new * (1 - new) ** np.arange(frame, -1, -1)
        assert out[:, frame] == pytest.approx((values[:, : frame + 1] * weights).sum(axis=1))
    assert (out <= 1).all()


def test_a_gap_fades_what_was_before_and_adds_nothing() -> None:
    out = smooth(np.array([[1.0, 1.0, 0.0]]), np.array([0.0, 1.0, 100.0]), every=1.0, memory=6.0)
    assert out[0, 2] < 1e-6


def test_two_full_violations_in_a_row_exceed_the_least_level_and_one_does_not() -> None:
    least = single_level(every=0.5, memory=6.0)
    one, two = smooth(np.array([[1.0, 1.0]]), np.array([0.0, 0.5]), every=0.5, memory=6.0)[0]
    assert one < least < two


@given(shares, st.integers(1, 29))
def test_smoothing_goes_on_from_what_was_smoothed_before(values: np.ndarray, cut: int) -> None:
    hours = np.arange(values.shape[1]) * 0.5
    whole = smooth(values, hours, every=0.5, memory=6.0)
    if cut < values.shape[1]:
        before = float(hours[cut - 1]), whole[:, cut - 1]
        rest = smooth(values[:, cut:], hours[cut:], every=0.5, memory=6.0, before=before)
        assert rest == pytest.approx(whole[:, cut:])
