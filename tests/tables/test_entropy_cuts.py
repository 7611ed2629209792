"""Cuts that tell classes apart."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.examples import examples
from thence.tables.entropy_cuts import cut_by_entropy


def test_a_cut_lies_between_the_classes() -> None:
    values = np.array([1.0, 1.1, 1.2, 1.3, 5.71, 5.8, 5.9, 6.0] * 5)
    classes = (values > 3).astype(np.int64)
    assert cut_by_entropy(values, classes).tolist() == [4.0]


def test_missing_values_and_constants_have_no_cuts() -> None:
    assert not len(cut_by_entropy(np.full(5, np.nan), np.zeros(5, np.int64)))
    assert not len(cut_by_entropy(np.ones(5), np.array([0, 1, 0, 1, 0])))


def test_without_an_accepted_cut_the_column_is_cut_into_shares() -> None:
    values = np.arange(99.0)
    classes = (np.arange(99) % 2).astype(np.int64)
    assert len(cut_by_entropy(values, classes, fallback=3)) == 2


@settings(max_examples=examples(60))
@given(st.lists(st.tuples(st.floats(-5, 5), st.integers(0, 2)), min_size=2, max_size=60))
def test_cuts_increase_and_separate_values(rows: list[tuple[float, int]]) -> None:
    values = np.array([value for value, _ in rows])
    classes = np.array([code for _, code in rows], np.int64)
    cuts = cut_by_entropy(values, classes)
    assert (np.diff(cuts) > 0).all()
    filled = np.unique(np.searchsorted(cuts, values, side="right"))
    assert len(filled) == len(cuts) + 1, "no bin is empty"
    assert len(cuts) < max(len(np.unique(values)), 3)
