"""Bins: they partition the numbers, none is empty, missing values stay missing, and plug-ins add methods."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thence as th
from tests.helpers.distributions import add_distribution
from thence.errors import ConfigError
from thence.tables.discretization import METHODS, Binning, Discretizer, fit_binning, fit_ranks

values = st.lists(st.one_of(st.floats(-1e6, 1e6), st.sampled_from([0.0, 1.0, math.nan])), min_size=1, max_size=60).map(
    np.array
)
finding = st.sampled_from(["frequency", "width", "kmeans", "distinct"])


@given(values, finding, st.integers(1, 12))
def test_no_bin_is_dead_and_missing_stays_missing(data: np.ndarray, method: str, bins: int) -> None:
    binning = fit_binning(data, method=method, bins=bins)
    codes = binning.encode(data)
    assert (codes[np.isnan(data)] == -1).all()
    present = codes[~np.isnan(data)]
    assert (present >= 0).all()
    if len(present):
        assert set(present) == set(range(len(binning.values)))
        if binning.categories is None:
            assert len(binning.values) <= bins


@given(values, st.floats(-1e9, 1e9), finding)
def test_every_number_is_in_exactly_one_bin(data: np.ndarray, value: float, method: str) -> None:
    binning = fit_binning(data, method=method, bins=5)
    if binning.categories is not None:
        return
    holding = [code for code, interval in enumerate(binning.intervals) if interval.contains(value)]
    assert holding == [int(binning.encode(np.array([value]))[0])]


@given(values, st.sampled_from(["frequency", "width", "kmeans", "distinct"]))
def test_a_saved_binning_codes_the_same(data: np.ndarray, method: str) -> None:
    binning = fit_binning(data, method=method, bins=4)
    again = Binning.from_dict(json.loads(json.dumps(binning.to_dict())))
    assert again.encode(data).tolist() == binning.encode(data).tolist()


@given(values, st.integers(2, 10))
def test_ranks_have_the_same_meaning_for_every_sensor(data: np.ndarray, bins: int) -> None:
    fitted = fit_ranks(data, bins=bins)
    assert len(fitted.bin_edges) == bins - 1
    codes = fitted.encode(data)
    if len(np.unique(data[~np.isnan(data)])) > 1:
        assert (np.diff(fitted.bin_edges) >= 0).all()
        assert ((codes >= 0) == ~np.isnan(data)).all()
    else:
        assert (codes == -1).all(), "what never changes has no rank"


tied = st.lists(st.sampled_from([0.0, 0.0, 0.0, 1.0, 2.5, -3.0, 7.0, 8.0]) | st.floats(-9, 9), min_size=2, max_size=60)


@given(tied.map(np.array), st.integers(2, 10))
def test_a_rank_is_true_of_the_rows_and_a_frequent_value_has_none(data: np.ndarray, bins: int) -> None:
    """Regression: a flow that is 0 in 95 % of the frames had its minimum "in its highest tenth", with all else."""
    fitted = fit_ranks(data, bins=bins)
    codes = fitted.encode(data)
    if np.isnan(fitted.bin_edges).any():
        return
    for value, code in zip(data.tolist(), codes.tolist(), strict=True):
        if np.mean(data == value) * bins > 1 + 1e-12:
            assert code >= bins and fitted.ties is not None and fitted.ties[code - bins] == value
        else:
            at_most = Fraction(int((data <= value).sum()), len(data))
            assert Fraction(code, bins) < at_most <= Fraction(code + 1, bins)
    assert codes[data.argmin()] == 0 or codes[data.argmin()] >= bins
    assert codes[data.argmax()] >= bins - 1
    again = Binning.from_dict(json.loads(json.dumps(fitted.to_dict())))
    assert again.encode(data).tolist() == codes.tolist()


def test_equal_frequency_is_equal_where_there_are_no_ties() -> None:
    codes = fit_binning(np.random.default_rng(0).normal(size=1000), bins=10).encode(
        np.random.default_rng(0).normal(size=1000)
    )
    assert np.bincount(codes).tolist() == [100] * 10


def test_a_heavy_value_has_a_bin_of_its_own() -> None:
    """A signal that is mostly 0, such as the flow of a pump: all quantiles are 0, yet 0 gets a bin of its own."""
    data = np.array([0.0] * 90 + list(range(1, 11)))
    binning = fit_binning(data, bins=4)
    assert binning.bin_edges.tolist() == [1.0]


def test_given_edges_and_quantiles() -> None:
    assert fit_binning(np.arange(9.0), method="edges", bin_edges=[2.5, 7.0]).bin_edges.tolist() == [2.5, 7.0]
    assert fit_binning(np.arange(10.0), method="quantiles", bin_edges=[0.5, 0.9]).bin_edges.tolist() == [5.0, 9.0]


def test_an_unseen_category_is_missing() -> None:
    assert fit_binning(np.array([1.0, 2.0]), method="distinct").encode(np.array([1.0, 3.0])).tolist() == [0, -1]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "frequncy"}, "did you mean 'frequency'"),
        ({"bins": 0}, "between 1 and"),
        ({"method": "edges"}, "requires bin_edges"),
        ({"method": "edges", "bin_edges": [3, 1]}, "increasing"),
        ({"bin_edges": [1]}, "does not take bin_edges"),
        ({"method": "quantiles", "bin_edges": [0.5, 2.0]}, "between 0 and 1"),
    ],
)
def test_impossible_settings_are_refused(settings: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        fit_binning(np.arange(5.0), **settings)


def test_a_discretizer_keeps_what_it_was_fitted_on() -> None:
    fitted = Discretizer(bins=2).fit({"flow": np.arange(10.0)})
    again = Discretizer.from_dict(fitted.to_dict())
    assert again.binnings["flow"].bin_edges.tolist() == [5.0]
    assert fitted.fit({"level": np.arange(4.0)}).binnings["flow"].bin_edges.tolist() == [5.0]
    assert fitted.group(kind="flow", sensor="s1", name="change") == "flow.change"
    assert Discretizer(scope="sensor").group(kind="flow", sensor="s1") == "s1"
    with pytest.raises(ConfigError, match="scope"):
        Discretizer(scope="all")


def test_the_methods_are_all_known() -> None:
    assert set(METHODS) == {"frequency", "width", "kmeans", "quantiles", "edges", "distinct"}


PLUGIN = """
import numpy as np

def cut_at_middle(values, bins):
    return [float(np.median(values))]

def cut_backwards(values, bins):
    return [2.0, 1.0]

def cut_at_multiples(values, bins, bin_edges):
    return bin_edges * 10
"""


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An installed package that adds binning methods."""
    points = {
        "middle": "middle_bins:cut_at_middle",
        "backwards": "middle_bins:cut_backwards",
        "multiples": "middle_bins:cut_at_multiples",
        "frequency": "middle_bins:cut_at_middle",
    }
    add_distribution(tmp_path, "middle_bins", PLUGIN, {"thence.discretizers": points})
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("middle_bins", None)


def test_another_package_adds_a_binning_method(plugin: None) -> None:
    data = th.datasets.load("toy")
    table = th.transactions(data.sensors, method="middle", bins=7)
    assert len(table.discretizer.binnings) > 1
    assert all(len(binning.bin_edges) == 1 for binning in table.discretizer.binnings.values())
    again = Discretizer.from_dict(table.discretizer.to_dict())
    assert again.method == "middle" and set(again.binnings) == set(table.discretizer.binnings)
    given = Discretizer("middle", bin_edges={"a": [5.0, 7.0]}).fit({"a": np.arange(9.0), "b": np.arange(9.0)})
    assert given.binnings["a"].bin_edges.tolist() == [5.0, 7.0], "given edges override the method"
    assert given.binnings["b"].bin_edges.tolist() == [4.0]


def test_a_method_of_another_package_is_checked(plugin: None) -> None:
    with pytest.raises(ConfigError, match=r"'backwards' must return finite edges in increasing order"):
        fit_binning(np.arange(5.0), method="backwards")
    with pytest.raises(ConfigError, match="'multiples' requires bin_edges"):
        fit_binning(np.arange(5.0), method="multiples")
    assert fit_binning(np.arange(50.0), method="multiples", bin_edges=[1, 2]).bin_edges.tolist() == [10.0, 20.0]
    with pytest.raises(ConfigError, match="'middle' does not take bin_edges"):
        fit_binning(np.arange(5.0), method="middle", bin_edges=[1, 2])
    with pytest.raises(ConfigError, match=r"unknown binning method 'midle' .did you mean 'middle'"):
        Discretizer("midle")
    assert len(fit_binning(np.arange(9.0), bins=3).bin_edges) == 2, "names of the package come first"
