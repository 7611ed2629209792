"""Ranges: what they hold of the readings that they were fitted on, and what they say about others."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thence.checks.detect.ranges import fit_ranges
from thence.statements.ranges import Ranges, check_ranges


@given(st.integers(0, 2**32 - 1), st.floats(0.8, 1.0))
def test_a_range_holds_its_share_of_what_it_was_fitted_on(seed: int, share: float) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=600)
    values = np.stack([x, x + 0.1 * rng.normal(size=600), rng.normal(size=600)], axis=1)
    found = fit_ranges(values, ["a", "b", "noise"], bins=6, share=share)
    assert {(one.given, one.sensor) for one in found} >= {("a", "b"), ("b", "a")}
    column = {"a": 0, "b": 1, "noise": 2}
    for one in found:
        applies, violated = check_ranges(one, values[:, column[one.given]], values[:, column[one.sensor]])
        assert applies.all()
        # A quantile between two readings leaves out at most one more reading at each end of each bin.
        assert violated.sum() <= (1 - share) * 600 + 2 * len(one.low)
        assert list(one.edges) == sorted(set(one.edges))
        assert len(one.low) == len(one.high) == len(one.edges) + 1


def test_missing_readings_violate_nothing() -> None:
    one = Ranges("a", "b", (10.0,), (0.0, 5.0), (1.0, 6.0))
    applies, violated = check_ranges(one, np.array([np.nan, 3.0, 10.0]), np.array([9.0, np.nan, 4.0]))
    assert applies.tolist() == [False, False, True]
    assert violated.tolist() == [False, False, True]


def test_the_ends_of_a_range_are_inside() -> None:
    one = Ranges("a", "b", (), (0.0,), (1.0,))
    _, violated = check_ranges(one, np.zeros(4), np.array([0.0, 1.0, -0.001, 1.001]))
    assert violated.tolist() == [False, False, True, True]


def test_constants_few_rows_and_missing_sensors_give_no_ranges() -> None:
    x = np.linspace(0, 1, 400)
    values = np.stack([x, np.ones(400), np.full(400, np.nan)], axis=1)
    assert fit_ranges(values, ["a", "constant", "missing"]) == ()
    assert fit_ranges(np.stack([x, x], axis=1)[:60], ["a", "b"]) == ()


def test_ranges_survive_json() -> None:
    one = Ranges("a", "b", (10.0,), (0.0, 5.0), (1.0, 6.0))
    assert Ranges.from_dict(one.to_dict()) == one
    assert one.bin_of(9.99) == 0 and one.bin_of(10.0) == 1
    assert one.bounds_of(0) == (-np.inf, 10.0)


@pytest.mark.parametrize("partners", [1, 2])
def test_a_sensor_has_at_most_so_many_partners(partners: int) -> None:
    x = np.linspace(0, 1, 400)
    values = np.stack([x, 2 * x, 3 * x, 4 * x], axis=1)
    found = fit_ranges(values, list("abcd"), partners=partners)
    assert [sum(one.sensor == id for one in found) for id in "abcd"] == [partners] * 4
