"""Bins: they partition the numbers, none is empty, missing values stay missing, and plug-ins add methods."""

from __future__ import annotations

import json
import math
import sys
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import thence as th
from tests.helpers.distributions import add_distribution
from thence.data.readings.resolution import find_decimals, snap
from thence.errors import ConfigError
from thence.language.english import format_test
from thence.language.items import Feature, Item
from thence.tables.discretization import METHODS, Binning, Discretizer, fit_binning, fit_ranks, split_bins

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
        # Bins beside the bin of a frequent value are for later values and may be empty.
        if binning.named is None:
            assert set(present) == set(range(len(binning.values)))
        else:
            named = binning.encode(binning.named)
            assert set(range(len(binning.values))) - set(present) <= {*(named - 1), *(named + 1)}
        if binning.categories is None:
            n_named = 0 if binning.named is None else len(binning.named)
            assert len(binning.values) <= bins + 2 * n_named


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


@given(values, finding, st.integers(1, 12), st.integers(1, 4))
def test_edges_of_bins_increase_and_empty_ranks_have_no_range(
    data: np.ndarray, method: str, bins: int, parts: int
) -> None:
    """Ranks of readings with ties have equal edges; their intervals were asked for, which are none."""
    fitted = split_bins(fit_binning(data, method=method, bins=bins), data, parts)
    assert np.all(np.diff(fitted.bin_edges) > 0) and len(fitted.intervals) == len(fitted.bin_edges) + 1
    assert fitted.categories is not None or [fitted.range_of(code) for code in range(len(fitted.intervals))] == [
        (one.low, one.high) for one in fitted.intervals
    ]
    ranks = fit_ranks(data, bins=bins, parts=parts)
    codes = set(ranks.encode(data).tolist())
    for code in range(len(ranks.bin_edges) + 1):
        ends = ranks.range_of(code)
        assert ends is not None or code not in codes
        assert ends is None or ends[0] < ends[1]


@given(values, st.integers(2, 10))
def test_ranks_have_the_same_meaning_for_every_sensor(data: np.ndarray, bins: int) -> None:
    fitted = fit_ranks(data, bins=bins)
    assert len(fitted.bin_edges) == bins - 1
    codes = fitted.encode(data)
    if len(np.unique(data[~np.isnan(data)])) > 1:
        assert (np.diff(fitted.bin_edges) >= 0).all()
        assert ((codes >= 0) == ~np.isnan(data)).all()
    else:
        assert ((codes == bins) == ~np.isnan(data)).all(), "what never changes has no rank, but a name"


tied = st.lists(st.sampled_from([0.0, 0.0, 0.0, 1.0, 2.5, -3.0, 7.0, 8.0]) | st.floats(-9, 9), min_size=2, max_size=60)
written = st.integers(0, 3).flatmap(
    lambda decimals: st.tuples(
        st.just(decimals),
        st.lists(st.integers(-2000, 2000) | st.sampled_from([0, 0, 0, 5]), min_size=2, max_size=60),
    )
)
"""Numbers that are written with some decimals, with ties."""


def frequent_values(data: np.ndarray, bins: int) -> set[float]:
    return {value for value, times in Counter(data.tolist()).items() if times * bins > len(data)}


@given(tied.map(np.array), st.integers(2, 10))
def test_a_rank_is_true_of_the_rows_and_a_frequent_value_has_none(data: np.ndarray, bins: int) -> None:
    """Regression: a flow that is 0 in 95 % of the frames had its minimum "in its highest tenth", with all else."""
    fitted = fit_ranks(data, bins=bins)
    codes = fitted.encode(data)
    if not fitted.has_ranks:
        return
    # Rounding errors are no differences: 5e-324 is 0 where readings have no decimals.
    decimals = find_decimals(data)
    data = snap(data, decimals)
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


@given(tied.map(np.array), st.integers(2, 10))
def test_a_rank_is_said_of_about_its_share(data: np.ndarray, bins: int) -> None:
    """Regression: "in its highest fifth" was said of 72 % of the rows."""
    fitted = fit_ranks(data, bins=bins)
    counts = np.bincount(fitted.encode(data), minlength=bins)[:bins]
    # A value without a name makes up one share at most, so a rank is said of less than two.
    assert (counts * bins < 2 * len(data)).all()


@given(st.lists(tied.map(np.array), min_size=1, max_size=4), st.integers(2, 10), st.floats(-10, 10))
def test_a_frequent_value_has_a_bin_of_its_own_in_a_pool(pools: list[np.ndarray], bins: int, later: float) -> None:
    data = np.concatenate(pools)
    binning = fit_binning(data, bins=bins)
    decimals = find_decimals(data)
    data = snap(data, decimals)
    heavy = frequent_values(data, bins)
    assert set([] if binning.named is None else binning.named.tolist()) == heavy
    codes = binning.encode(data)
    for value in heavy:
        code = int(binning.encode(np.array([value]))[0])
        assert set(data[codes == code].tolist()) == {value}, "nothing else is in its bin"
        assert binning.intervals[code].at == value
    rest = data[~np.isin(data, list(heavy))]
    if len(rest):
        # What remains is cut into shares of the rest, as far as its own ties allow.
        ordinary = codes[~np.isin(data, list(heavy))]
        most = Counter(rest.tolist()).most_common(1)[0][1]
        assert max(Counter(ordinary.tolist()).values()) <= math.ceil(len(rest) / bins) + most
    holding = [code for code, interval in enumerate(binning.intervals) if interval.contains(later)]
    assert holding == [int(binning.encode(np.array([later]))[0])]
    again = Binning.from_dict(json.loads(json.dumps(binning.to_dict())))
    assert [(i, i.at) for i in again.intervals] == [(i, i.at) for i in binning.intervals]


@given(written, st.integers(2, 10), st.floats(-2100, 2100))
def test_rounding_moves_no_reading_across_a_tie_or_a_rank(
    given_numbers: tuple[int, list[int]], bins: int, later: float
) -> None:
    """Later readings with more digits are coded as those readings that they are rounded to."""
    decimals, steps = given_numbers
    data = np.array([float(f"{step}e-{decimals}") for step in steps])
    used = find_decimals(data)
    assert used is not None and used <= decimals
    finer = later / 10**decimals
    assume(abs((finer * 10**used) % 1 - 0.5) > 1e-6)
    ranks = fit_ranks(data, bins=bins)
    assert ranks.encode(np.array([finer])).tolist() == ranks.encode(np.round([finer], used)).tolist()
    binning = fit_binning(data, bins=bins)
    ties = set() if binning.named is None else set(binning.encode(binning.named).tolist())
    before, after = (int(binning.encode(np.array([x]))[0]) for x in (finer, np.round(finer, used)))
    assert before == after or not ties & {before, after}


@given(written, st.integers(2, 10))
def test_bins_are_not_narrower_than_the_resolution(given_numbers: tuple[int, list[int]], bins: int) -> None:
    decimals, steps = given_numbers
    # The same numbers with rounding errors, as sums have them.
    data = np.array([sum([float(f"{step}e-{decimals}") / 3] * 3) for step in steps])
    binning = fit_binning(data, bins=bins)
    assert binning.resolution >= 10.0**-decimals * (1 - 1e-9)
    for interval in binning.intervals:
        assert interval.high - interval.low > binning.resolution / 2 * (1 - 1e-9)
        if interval.at is not None:
            assert interval.high - interval.low == pytest.approx(binning.resolution)


def test_a_frequent_number_without_a_resolution_is_exact() -> None:
    data = np.array([0.0] * 6 + [1 / 3, 2 / 3, 1 / 7, 1 / 9, 5 / 9, 1 / 11])
    binning = fit_binning(data, bins=3)
    assert binning.resolution == 0.0
    tie = binning.intervals[int(binning.encode(np.array([0.0]))[0])]
    assert tie.contains(0.0) and not tie.contains(5e-324) and not tie.contains(-5e-324)
    flow = Feature("f", label="flow", unit="m3/h")
    items = [Item.is_(flow, interval) for interval in binning.intervals]
    assert [format_test(item) for item in items][:3] == [
        "below 0 m³/h",
        "0 m³/h",
        f"above 0 but below {binning.bin_edges[2]:g} m³/h",
    ]
    assert str(items[1]) == "(f:flow).value = 0.0"


def test_equal_frequency_is_equal_where_there_are_no_ties() -> None:
    codes = fit_binning(np.random.default_rng(0).normal(size=1000), bins=10).encode(
        np.random.default_rng(0).normal(size=1000)
    )
    assert np.bincount(codes).tolist() == [100] * 10


def test_a_heavy_value_has_a_bin_of_its_own() -> None:
    """A signal that is mostly 0, such as the flow of a pump: all quantiles are 0, yet 0 gets a bin of its own."""
    data = np.array([0.0] * 90 + list(range(1, 11)))
    binning = fit_binning(data, bins=4)
    assert [(i.low, i.high, i.at) for i in binning.intervals] == [
        (-math.inf, -0.5, None),
        (-0.5, 0.5, 0.0),
        (0.5, 3.0, None),
        (3.0, 6.0, None),
        (6.0, 8.0, None),
        (8.0, math.inf, None),
    ]


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
    supervised = {"entropy", "chimerge", "tree"}
    assert set(METHODS) == {"frequency", "width", "kmeans", "quantiles", "edges", "distinct", *supervised}


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


def test_edges_of_a_file_are_in_order() -> None:
    whole = Discretizer(bins=2).fit({"flow": np.arange(4.0)}).to_dict()
    for broken, message in (
        ({"edges": [2.0, 1.0]}, "edges of a binning must be in increasing order"),
        ({"edges": [1.0, None]}, "edges of a binning must be in increasing order"),
        ({"edges": [], "categories": [2.0, 1.0]}, "categories of a binning must be in increasing order"),
        ({"edges": [1.0, 1.0]}, "the bins of 'flow' have equal edges"),
    ):
        with pytest.raises(ValueError, match=message):
            Discretizer.from_dict({**whole, "binnings": {"flow": broken}})
    ranks = fit_ranks(np.array([0.0, 0.0, 0.0, 0.0, 7.0, 8.0, 9.0, 9.5]), bins=4)
    stored = {**whole, "scope": "sensor", "binnings": {"flow": ranks.to_dict()}}
    assert Discretizer.from_dict(stored).binnings["flow"].bin_edges.tolist() == ranks.bin_edges.tolist()
