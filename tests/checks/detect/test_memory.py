"""Memory and thresholds: smoothing against a loop, levels against counted alarms, drift."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from thence.checks.detect.memory import alarm_level, count_episodes, find_drifted, single_level, smooth

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


@given(hnp.arrays(np.float64, st.integers(1, 200), elements=st.floats(0, 10)), st.sampled_from([0.5, 1.0, 4.0]))
def test_a_level_allows_no_more_alarms_than_the_rate(scores: np.ndarray, per_month: float) -> None:
    hours = np.arange(len(scores)) * 24.0
    level = alarm_level(scores, hours, every=24.0, memory=6.0, per_month=per_month)
    allowed = per_month * len(scores) * 24 / 720
    assert count_episodes(scores > level, hours, apart=6.0) <= allowed


def test_a_level_for_a_time_that_is_too_short_is_above_all_scores() -> None:
    rng = np.random.default_rng(0)
    scores = rng.exponential(size=240)
    level = alarm_level(scores, np.arange(240.0), every=1.0, memory=6.0, per_month=0.5)
    assert level > scores.max()


def test_drift_needs_most_of_the_time_and_known_frames() -> None:
    hours = np.arange(40.0)
    steady = np.zeros(40)
    gone = np.where(hours < 10, 0.0, 1.0)
    unknown = np.where(hours < 36, np.nan, 1.0)
    flicker = (np.arange(40) % 2).astype(float)
    table = np.stack([steady, gone, unknown, flicker])
    found = find_drifted(table > 0.5, ~np.isnan(table), hours, after=20.0)
    assert found.tolist() == [-1, 20, -1, -1]
