"""Pools: bins fitted part by part equal those of the joined numbers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.examples import examples
from thence.data.readings.resolution import find_decimals
from thence.tables import discretization
from thence.tables.cuts import shorten_cuts
from thence.tables.discretization import Discretizer, cut_pool, fit_binning
from thence.tables.pools import Pool

NUMBERS = st.one_of(
    st.floats(width=32),
    st.integers(-20, 20).map(float),
    st.integers(-500, 500).map(lambda number: number / 100),
    st.sampled_from([0.0, -0.0, 1e-300, -1e300, np.nan, np.inf]),
)
PARTS = st.lists(st.lists(NUMBERS, max_size=30), min_size=1, max_size=5)


def pool_of(parts: list[list[float]]) -> tuple[Pool, npt.NDArray[np.float64]]:
    arrays = [np.array(part, np.float64) for part in parts]
    return Pool(lambda: iter(arrays)), np.concatenate(arrays)


@given(PARTS)
@settings(deadline=None)
def test_order_statistics_are_those_of_the_sorted_numbers(parts: list[list[float]]) -> None:
    pool, joined = pool_of(parts)
    ordered = np.sort(joined[np.isfinite(joined)])
    assert pool.size == len(ordered)
    assert pool.order_statistics(np.arange(len(ordered))).tolist() == ordered.tolist()


@given(PARTS, st.lists(st.floats(-30, 30), max_size=6))
@settings(deadline=None)
def test_neighbours_are_the_numbers_next_to_cuts(parts: list[list[float]], cuts: list[float]) -> None:
    pool, joined = pool_of(parts)
    finite = joined[np.isfinite(joined)]
    below, above = pool.neighbours(np.sort(cuts))
    for cut, low, high in zip(np.sort(cuts), below, above, strict=True):
        assert low == finite[finite < cut].max(initial=-np.inf)
        assert high == finite[finite >= cut].min(initial=np.inf)


@given(PARTS, st.integers(1, 20))
@settings(deadline=None, max_examples=examples(300))
def test_bins_of_a_pool_are_those_of_the_joined_numbers(parts: list[list[float]], bins: int) -> None:
    pool, joined = pool_of(parts)
    assert pool.decimals == find_decimals(joined)
    expected, found = fit_binning(joined, bins=bins), cut_pool(pool, bins)
    assert found.to_dict() == expected.to_dict()
    assert found.bin_edges.tolist() == expected.bin_edges.tolist()


@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_bins_of_many_numbers(scale: float) -> None:
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(7, 5_000)) * scale
    numbers[:3] = np.round(numbers[:3])
    numbers[rng.random(numbers.shape) < 0.1] = np.nan
    found = cut_pool(Pool(lambda: iter(numbers)), 10)
    assert found.to_dict() == fit_binning(numbers.ravel(), bins=10).to_dict()


def test_a_discretizer_joins_few_numbers_and_streams_many(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = np.random.default_rng(0).normal(size=(4, 1_000))
    pool = Pool(lambda: iter(numbers))
    joined = Discretizer(bins=4).fit({"flow": pool}).to_dict()
    monkeypatch.setattr(discretization, "POOLED", 100)
    monkeypatch.setattr(discretization, "fit_binning", None)
    assert Discretizer(bins=4).fit({"flow": pool}).to_dict() == joined


@given(st.lists(st.floats(-5, 5), max_size=6), st.lists(st.floats(-5, 5), min_size=1, max_size=12))
@settings(deadline=None)
def test_shortened_cuts_separate_the_same_values(cuts: list[float], values: list[float]) -> None:
    before = np.unique(cuts)
    levels = np.array(values)
    after = shorten_cuts(before, levels)
    assert (np.searchsorted(before, levels, side="right") == np.searchsorted(after, levels, side="right")).all()
