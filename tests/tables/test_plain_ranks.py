"""Ranks of many series at once are those that each series gets alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.examples import examples
from thence.data.readings.resolution import are_computed, find_decimals
from thence.tables.discretization import encode_ranks, fit_plain_ranks, fit_ranks


def series(kind: str, rng: np.random.Generator, size: int) -> np.ndarray:
    """Readings of many kinds: smooth, rounded, with gaps, with frequent values, constant, huge."""
    smooth = np.cumsum(rng.normal(size=size)) * 10.0 ** rng.integers(-6, 4)
    if kind == "rounded":
        return np.round(smooth, int(rng.integers(0, 7)))
    if kind == "gaps":
        return np.where(rng.random(size) < 0.1, np.nan, smooth)
    if kind == "frequent":
        return np.where(rng.random(size) < rng.random(), 0.0, smooth)
    if kind == "few":
        return rng.choice(smooth[:5], size)
    if kind == "constant":
        return np.full(size, smooth[0])
    if kind == "huge":
        return smooth * 1e300
    if kind == "infinite":
        return np.where(rng.random(size) < 0.1, np.inf, smooth)
    return smooth


KINDS = ("smooth", "rounded", "gaps", "frequent", "few", "constant", "huge", "infinite")


@settings(max_examples=examples(200))
@given(
    st.integers(0, 2**32),
    st.lists(st.sampled_from(KINDS), min_size=1, max_size=8),
    st.sampled_from([1, 2, 5, 50, 99, 400, 1001]),
    st.sampled_from([1, 2, 5, 10, 16, 17]),
    st.sampled_from([1, 2, 20]),
)
def test_plain_series_get_the_ranks_of_fit_ranks(seed: int, kinds: list[str], size: int, bins: int, parts: int) -> None:
    rng = np.random.default_rng(seed)
    values = np.array([series(kind, rng, size) for kind in kinds])
    edges, plain = fit_plain_ranks(values, bins=bins, parts=parts)
    later = np.where(rng.random(values.shape) < 0.1, np.nan, values)
    codes = encode_ranks(later[plain], edges[plain])
    for at, row in zip(np.flatnonzero(plain), codes, strict=True):
        alone = fit_ranks(values[at], bins=bins, parts=parts)
        assert alone.ties is None and alone.resolution == 0.0
        assert edges[at].tobytes() == alone.bin_edges.tobytes()
        assert row.tolist() == alone.encode(later[at]).tolist()


def test_most_series_of_a_plant_are_plain() -> None:
    """Otherwise the test above would compare nothing."""
    rng = np.random.default_rng(0)
    values = np.array([np.cumsum(rng.normal(size=500)) for _ in range(20)])
    assert fit_plain_ranks(values, bins=5)[1].all()


@pytest.mark.parametrize("kind", KINDS[:-1])
def test_what_is_computed_has_no_decimals(kind: str) -> None:
    rng = np.random.default_rng(1)
    values = np.array([series(kind, rng, 300) for _ in range(50)])
    finite = values[np.isfinite(values).all(axis=1)]
    for row, computed in zip(finite, are_computed(finite), strict=True):
        assert not computed or find_decimals(row) is None
