"""What several series show about one of them, and that unrelated ones show nothing."""

from __future__ import annotations

import numpy as np
import pytest

from thence.data.readings.health.together import (
    find_clocks,
    find_copies,
    find_drifts,
    find_spikes_apart,
    normal_changes,
)

N = 4000


def related(seed: int = 0, count: int = 5) -> np.ndarray:
    """Series that follow a common one, each with its own gain and noise."""
    rng = np.random.default_rng(seed)
    wave = np.sin(np.arange(N) * 2 * np.pi / 96) * 3
    common = wave + np.convolve(rng.normal(size=N + 50), np.ones(51) / 7, "valid")
    gains = np.linspace(0.8, 1.4, count)
    return np.round(20 + common[:, None] * gains + 0.05 * rng.normal(size=(N, count)), 2)


def changes(values: np.ndarray) -> np.ndarray:
    return normal_changes(values, np.zeros(len(values) - 1, bool))


def test_a_sensor_that_leaves_its_neighbours_drifts() -> None:
    values = related()
    assert find_drifts(values) == []
    values[2000:, 2] += np.linspace(0, 8, N - 2000)
    (found,) = find_drifts(values)
    assert found.column == 2 and 2000 <= found.start < 3500 and found.size > 3


def test_a_clock_that_is_set_back_is_found_with_its_lag_and_time() -> None:
    values = related()
    assert find_clocks(changes(values)) == []
    values[2010:, 1] = values[2000:-10, 1]
    (found,) = find_clocks(changes(values))
    assert (found.column, found.size) == (1, 10)
    assert abs(found.start - 2000) < 100


def test_a_spike_that_only_one_of_them_has() -> None:
    values = related()
    values[1500, 3] += 4.0
    values[900] += 9.0  # an event of the system
    found = find_spikes_apart(values, np.corrcoef(changes(values).T) - np.eye(5))
    assert [(one.column, one.start) for one in found] == [(3, 1500)]


@pytest.mark.parametrize(
    ("make", "lag", "factor"),
    [
        (lambda x: x.copy(), 0, 1.0),
        (lambda x: np.round(x + 5, 2), 0, 1.0),
        (lambda x: x * 1.8 + 32, 0, 1.8),
        (lambda x: np.concatenate([np.full(7, np.nan), x[:-7]]), 7, 1.0),
    ],
)
def test_copies_with_offset_unit_and_delay(make: object, lag: int, factor: float) -> None:
    values = related(count=3)
    assert find_copies(values, changes(values)) == []
    more = np.column_stack([values, make(values[:, 1])])  # type: ignore[operator]
    (found,) = find_copies(more, changes(more))
    assert (found.column, found.other, found.size) == (3, 1, lag)
    assert found.ratio == pytest.approx(factor, rel=1e-3)


def test_unrelated_series_show_nothing() -> None:
    rng = np.random.default_rng(3)
    walks = np.cumsum(rng.normal(size=(N, 12)), axis=0)
    white = rng.normal(size=(N, 12))
    values = np.column_stack([walks, white])
    assert find_drifts(values) == find_clocks(changes(values)) == find_copies(values, changes(values)) == []
