"""Finer bins: every bin is a union of them, ranks mean the same, and the settings are checked."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thence.errors import ConfigError
from thence.tables.discretization import Discretizer, fit_binning, fit_ranks, split_bins

numbers = st.lists(st.one_of(st.floats(-1e3, 1e3), st.sampled_from([0.0, 0.5, math.nan])), min_size=1, max_size=80).map(
    np.array
)


def is_nested(coarse: np.ndarray, fine: np.ndarray) -> bool:
    """Whether rows with the same fine code have the same coarse code."""
    return all(len(set(coarse[fine == code])) == 1 for code in set(fine))


@given(numbers, st.sampled_from(["frequency", "width", "kmeans", "distinct"]), st.integers(1, 6), st.integers(1, 9))
def test_every_bin_is_a_union_of_finer_ones(data: np.ndarray, method: str, bins: int, parts: int) -> None:
    coarse = fit_binning(data, method=method, bins=bins)
    fine = split_bins(coarse, data, parts)
    assert is_nested(coarse.encode(data), fine.encode(data))
    assert set(coarse.bin_edges) <= set(fine.bin_edges)
    if coarse.named is not None:
        assert fine.named is not None
        names = [(one.low, one.high, one.at) for one in fine.intervals if one.at is not None]
        assert names == [(one.low, one.high, one.at) for one in coarse.intervals if one.at is not None]


@given(numbers, st.integers(1, 6), st.integers(1, 20))
def test_every_rank_is_a_union_of_finer_ones_and_the_same_values_have_none(
    data: np.ndarray, bins: int, parts: int
) -> None:
    coarse, fine = fit_ranks(data, bins=bins), fit_ranks(data, bins=bins, parts=parts)
    assert (coarse.ties is None) == (fine.ties is None)
    if coarse.ties is not None and fine.ties is not None:
        assert coarse.ties.tolist() == fine.ties.tolist()
    a, b = coarse.encode(data), fine.encode(data)
    assert ((a < 0) == (b < 0)).all()
    ranked = (a >= 0) & (a < bins)
    assert (b[ranked] // parts == a[ranked]).all()


def test_finer_bins_are_cut_at_short_numbers() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(50, 10, 20_000)
    fine = Discretizer(bins=5).finer(100).fit({"flow": values}).binnings["flow"]
    counts = np.bincount(fine.encode(values))
    assert len(counts) == 100
    assert counts.min() > 0 and counts.max() < 400
    own = fit_binning(values, bins=5).bin_edges
    assert all(len(repr(edge)) <= 6 for edge in fine.bin_edges.tolist() if edge not in own)


def test_a_discretizer_with_parts_is_saved_and_checked() -> None:
    fitted = Discretizer(bins=4).finer(10).fit({"flow": np.arange(40.0)})
    assert fitted.parts == 3 and fitted.n_ranks == 12
    again = Discretizer.from_dict(fitted.to_dict())
    assert again.parts == 3
    assert again.binnings["flow"].bin_edges.tolist() == fitted.binnings["flow"].bin_edges.tolist()
    assert "parts" not in Discretizer().to_dict()
    with pytest.raises(ConfigError, match="parts"):
        Discretizer(parts=0)
