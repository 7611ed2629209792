"""Cuts of readings against brute force over all cuts."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from thence.search.controls.kernels import MIN_PRESENT, agreement, best_cut, screen

VALUES = st.lists(st.one_of(st.integers(0, 6).map(float), st.just(np.nan)), min_size=4, max_size=30)


def every_cut(row: np.ndarray, switched: np.ndarray, *, above: bool) -> list[tuple[float, float, float]]:
    """All cuts with their share of explained switches and their agreement, by the definition."""
    known = ~np.isnan(row)
    total = int((switched & known).sum())
    out = []
    for cut in np.unique(row[known]):
        armed = (row >= cut) if above else (row <= cut)
        hits = int((armed & switched).sum())
        out.append((float(cut), hits / total if total else 0.0, 2 * hits / (int(armed.sum()) + total)))
    return out


@given(values=VALUES, data=st.data(), above=st.booleans())
def test_the_best_cut_is_the_best_of_all(values: list[float], data: st.DataObject, above: bool) -> None:
    row = np.array(values)
    switched = np.array(data.draw(st.lists(st.booleans(), min_size=row.size, max_size=row.size)))
    moments = np.arange(row.size)
    cut, score = best_cut(row, moments, switched, above=above)
    expected = max((found for _, _, found in every_cut(row, switched, above=above)), default=0.0)
    assert score == expected
    if score:
        assert agreement(row, moments, switched, cut=cut, above=above)[2] == score


@given(
    values=VALUES,
    data=st.data(),
    min_share=st.sampled_from([0.2, 0.5, 1.0]),
    min_agreement=st.sampled_from([0.2, 0.5, 0.9]),
)
def test_screening_loses_no_cut_that_is_good_enough(
    values: list[float], data: st.DataObject, min_share: float, min_agreement: float
) -> None:
    row = np.array(values)
    switched = np.array(data.draw(st.lists(st.booleans(), min_size=row.size, max_size=row.size)))
    _, scores = screen(row[None, :], np.arange(row.size), switched, min_share=min_share, min_agreement=min_agreement)
    present = int((switched & ~np.isnan(row)).sum())
    for side, above in enumerate((True, False)):
        good = [
            found
            for _, share, found in every_cut(row, switched, above=above)
            if share >= min_share and found >= min_agreement
        ]
        if present == 0 or present < MIN_PRESENT * switched.sum():
            assert scores[0, side] == 0.0
        elif good:
            assert scores[0, side] >= max(good)
        else:
            assert scores[0, side] == 0.0 or scores[0, side] >= min_agreement


def test_rows_are_screened_one_by_one() -> None:
    rng = np.random.default_rng(0)
    rows, switched = rng.normal(size=(50, 200)), rng.random(200) < 0.1
    moments = np.arange(200)
    together = screen(rows, moments, switched, min_share=0.5, min_agreement=0.1)
    for number, row in enumerate(rows):
        alone = screen(row[None, :], moments, switched, min_share=0.5, min_agreement=0.1)
        np.testing.assert_array_equal(alone[0][0], together[0][number])
        np.testing.assert_array_equal(alone[1][0], together[1][number])


def test_without_switches_nothing_agrees() -> None:
    _, scores = screen(np.ones((2, 5)), np.arange(5), np.zeros(5, bool), min_share=0.5, min_agreement=0.3)
    assert not scores.any()
