"""The resolution of a sensor, and comparisons at the coarser of two."""

from __future__ import annotations

import numpy as np
import pytest

from thence.data.readings.resolution import learn_resolution
from thence.statements.ranges import Ranges, check_ranges


def test_resolution_of_a_sensor() -> None:
    values = np.round(20 + 3 * np.sin(np.arange(500) / 20), 1)
    found = learn_resolution(values)
    assert (found.decimals, found.step) == (1, 0.1)
    assert found.noise == pytest.approx(0.1) and found.hold > 3
    gaps = values.copy()
    gaps[::3] = np.nan
    assert learn_resolution(gaps).decimals == 1


def test_a_few_readings_show_no_resolution() -> None:
    assert learn_resolution(np.array([20.0, 21.0, 22.0])).decimals is None
    assert learn_resolution(np.tile([0.0, 1.0], 400)).step == 0
    assert learn_resolution(np.array([np.nan])).hold == 0
    assert learn_resolution(np.random.default_rng(0).random(500)).decimals is None


def test_later_readings_with_fewer_decimals_do_not_break_a_narrow_range() -> None:
    """A range of nine decimals was violated by every reading with two."""
    learned = Ranges("a", "b", (10.0,), (2.974961234, 5.0), (2.975123456, 6.0))
    given = np.full(3, 3.0)
    _, violated = check_ranges(learned, given, np.array([2.97, 2.98, 2.96]), step=0.01)
    assert violated.tolist() == [False, False, True]
    _, exact = check_ranges(learned, given, np.array([2.975, 2.98, 2.96]))
    assert exact.tolist() == [False, True, True]


def test_the_resolution_of_the_range_itself_allows_nothing() -> None:
    learned = Ranges("a", "b", (10.0,), (2.50, 5.0), (2.75, 6.0))
    _, violated = check_ranges(learned, np.full(2, 3.0), np.array([2.75, 2.76]), step=0.01)
    assert violated.tolist() == [False, True]
