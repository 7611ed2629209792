"""Packing, unpacking and popcounts, against numpy's own bits."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.examples import examples
from thence.errors import InputError
from thence.tables.bitmaps import bits

SIZES = [0, 1, 63, 64, 65, 128, 1000]


@pytest.mark.parametrize("n_rows", SIZES)
@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_pack_codes(n_rows: int, dtype: type, order: str) -> None:
    rng = np.random.default_rng(n_rows)
    cardinalities = [3, 1, 5]
    codes = np.stack([rng.integers(-1, size, size=n_rows) for size in cardinalities], axis=1)
    codes[:1] = -1
    bitmaps, present = bits.pack_codes(np.array(codes, dtype=dtype, order=order), cardinalities=cardinalities)  # type: ignore[call-overload]
    expected = np.concatenate(
        [(codes[:, f] == np.arange(size)[:, None]) for f, size in enumerate(cardinalities)]
    ).reshape(9, n_rows)
    assert np.array_equal(bits.unpack(bitmaps, n_rows=n_rows), expected)
    assert np.array_equal(bits.popcount(bitmaps), expected.sum(axis=1))
    if n_rows == 0:
        assert present is None
    else:
        assert present is not None
        assert np.array_equal(bits.unpack(present, n_rows=n_rows), (codes >= 0).T)
        assert bits.popcount(present).tolist() == (codes >= 0).sum(axis=0).tolist()  # no bits after the last row


def test_present_is_none_only_where_nothing_is_missing() -> None:
    codes = np.zeros((130, 2), dtype=np.int8)
    assert bits.pack_codes(codes, cardinalities=[1, 1])[1] is None
    codes[129, 1] = -1
    present = bits.pack_codes(codes, cardinalities=[1, 1])[1]
    assert present is not None
    assert bits.popcount(present).tolist() == [130, 129]


@pytest.mark.parametrize(("shape", "order"), [((70_001, 3), "C"), ((70_001, 3), "F"), ((201, 90), "F")])
def test_threads_do_not_change_bitmaps(shape: tuple[int, int], order: Literal["C", "F"]) -> None:
    codes = np.random.default_rng(3).integers(-1, 4, size=shape).astype(np.int8, order=order)
    sizes = [4] * shape[1]
    one = bits.pack_codes(np.ascontiguousarray(codes), cardinalities=sizes, threads=1)
    many = bits.pack_codes(codes, cardinalities=sizes, threads=3)
    assert np.array_equal(one[0], many[0])
    assert one[1] is not None and many[1] is not None and np.array_equal(one[1], many[1])


def test_blocks_of_whole_words_can_be_joined() -> None:
    codes = np.random.default_rng(4).integers(-1, 2, size=(200, 2)).astype(np.int8)
    whole, _ = bits.pack_codes(codes, cardinalities=[2, 2])
    parts = [bits.pack_codes(part, cardinalities=[2, 2])[0] for part in (codes[:128], codes[128:])]
    assert np.array_equal(np.concatenate(parts, axis=1), whole)


@settings(max_examples=examples(100), deadline=None)
@given(st.integers(0, 200), st.integers(0, 3), st.integers(0, 2**32 - 1))
def test_masks_come_back(n_rows: int, n_columns: int, seed: int) -> None:
    flags = np.random.default_rng(seed).random((n_rows, n_columns)) < 0.5
    packed = bits.pack_mask(flags)
    assert packed.shape == (n_columns, bits.n_words(n_rows))
    assert np.array_equal(bits.unpack(packed, n_rows=n_rows), flags.T)
    assert np.array_equal(bits.popcount(packed), flags.sum(axis=0))


def test_popcount_of_any_shape() -> None:
    words = np.random.default_rng(0).integers(0, 2**63, size=(2, 3, 5)).astype(np.uint64)
    assert np.array_equal(bits.popcount(words), np.bitwise_count(words).sum(axis=-1))
    assert int(bits.popcount(words[0, 0])) == np.bitwise_count(words[0, 0]).sum()
    assert bits.popcount(np.full(3, ~np.uint64(0))) == 192


def test_caller_arrays_may_be_read_only_and_stay_unchanged() -> None:
    codes = np.array([[0, 1], [1, 0]], dtype=np.int8)
    codes.flags.writeable = False
    bitmaps, _ = bits.pack_codes(codes, cardinalities=[2, 2])
    bitmaps.flags.writeable = False
    assert bits.popcount(bitmaps).tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize(("code", "place"), [(3, "feature 1 in row 2"), (-2, "feature 1 in row 2")])
def test_a_code_out_of_range_is_named(code: int, place: str) -> None:
    codes = np.zeros((4, 2), dtype=np.int8)
    codes[2, 1] = code
    with pytest.raises(InputError, match=f"code {code} of {place} is not in −1…2"):
        bits.pack_codes(codes, cardinalities=[1, 3])


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InputError, match="2 columns, 3 entries"):
        bits.pack_codes(np.zeros((4, 2), dtype=np.int8), cardinalities=[1, 1, 1])
    with pytest.raises(InputError, match="matrix"):
        bits.pack_codes(np.zeros(4, dtype=np.int8), cardinalities=[1])


@given(st.integers(0, 1000), st.integers(1, 40), st.integers(1, 40))
def test_spans_cover_everything_once(total: int, pieces: int, least: int) -> None:
    runs = bits.split_range(total, pieces, least=least)
    assert [number for low, high in runs for number in range(low, high)] == list(range(total))
    assert len(runs) <= pieces
    assert all(high - low >= min(least, total) for low, high in runs)


def test_errors_in_threads_reach_the_caller() -> None:
    def fail(number: int) -> int:
        raise ValueError(f"task {number}")

    with pytest.raises(ValueError, match="task 0"):
        bits.run_threads(fail, range(4), threads=2)
