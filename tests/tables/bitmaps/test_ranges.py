"""Bitmaps and counts of ranges over raw numbers, against plain comparisons."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thence.tables.bitmaps import ranges as _range_bits
from thence.tables.bitmaps.bits import unpack
from thence.tables.bitmaps.ranges import RankRanges, count_ranges, cover_ranges, pack_ranges, rank_columns


@st.composite
def tables(draw: st.DrawFn) -> np.ndarray:
    rows, columns = draw(st.integers(0, 150)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    numbers = np.round(rng.normal(size=(rows, columns)), draw(st.integers(0, 3)))
    numbers[rng.random(numbers.shape) < draw(st.sampled_from([0.0, 0.3]))] = np.nan
    return numbers


def some_ranges(ranks, rng: np.random.Generator, size: int) -> RankRanges:
    columns = rng.integers(0, len(ranks.starts) - 1, size)
    top = np.diff(ranks.starts)[columns]
    ends = np.sort(rng.integers(0, top + 1, (2, size)), axis=0)
    return RankRanges(columns, ends[0], ends[1] - rng.integers(0, 2, size))


@given(numbers=tables(), seed=st.integers(0, 2**31))
def test_bitmaps_are_those_of_plain_comparisons(numbers, seed):
    ranks = rank_columns(numbers, np.zeros(numbers.shape[1], bool))
    items = some_ranges(ranks, np.random.default_rng(seed), 6)
    made = unpack(pack_ranges(ranks, items), n_rows=len(numbers))
    for at in range(len(items)):
        levels = ranks.levels_of(int(items.columns[at]))[items.first[at] : items.last[at] + 1]
        assert np.array_equal(made[at], np.isin(numbers[:, items.columns[at]], levels))


@pytest.mark.parametrize("chunk", [1, 1 << 26])
@given(numbers=tables(), seed=st.integers(0, 2**31))
def test_counts_and_coverage_whatever_fits_into_memory(chunk, numbers, seed):
    rng = np.random.default_rng(seed)
    ranks = rank_columns(numbers, np.zeros(numbers.shape[1], bool))
    items = some_ranges(ranks, rng, 7)
    antecedents = np.where(rng.random((9, 2)) < 0.8, rng.integers(0, 7, (9, 2)), -1).astype(np.int32)
    antecedents[:, 0] = rng.integers(0, 7, 9)
    consequents = rng.integers(0, 7, 9).astype(np.int32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_range_bits, "_CHUNK_BYTES", chunk)
        counted = np.array(count_ranges(ranks, items, antecedents, consequents)).T
        covered = unpack(cover_ranges(ranks, items, antecedents), n_rows=len(numbers))
    held = unpack(pack_ranges(ranks, items), n_rows=len(numbers))
    known = ~np.isnan(numbers)
    any_left = np.zeros(len(numbers), bool)
    for r in range(9):
        used = antecedents[r][antecedents[r] >= 0]
        left = held[used].all(axis=0)
        right = held[consequents[r]]
        complete = known[:, items.columns[[*used, consequents[r]]]].all(axis=1)
        expected = [complete, left & complete, right & complete, left & right & complete]
        assert counted[r].tolist() == [int(mask.sum()) for mask in expected]
        any_left |= left
    assert np.array_equal(covered, any_left)


def test_categories_keep_their_codes():
    ranks = rank_columns(np.array([[2.0], [0.0], [np.nan]]), np.array([True]))
    assert ranks.codes.tolist() == [[2, 0, 65535]]
    assert ranks.levels_of(0).tolist() == [0.0, 1.0, 2.0]


def test_many_values_need_wider_ranks():
    column = np.arange(65_536, dtype=float)
    assert rank_columns(column[:65_534, None], np.array([False])).codes.dtype == np.uint16
    wide = rank_columns(column[:, None], np.array([False]))
    assert wide.codes.dtype == np.uint32
    held = unpack(pack_ranges(wide, RankRanges(np.array([0]), np.array([65_530]), np.array([65_535]))), n_rows=65_536)
    assert held.sum() == 6
