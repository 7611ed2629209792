"""Counts of rules on bitmaps against plain Python over rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.examples import examples
from thence.errors import InputError
from thence.tables.bitmaps import bits
from thence.tables.bitmaps import counts as counting

Codes = list[list[int]]
FEATURES = [0, 0, 0, 1, 1, 2, 2, 2]
CARDINALITIES = [3, 2, 3]
OFFSETS = [0, 3, 5]


def holds(row: list[int], item: int) -> bool:
    return row[FEATURES[item]] == item - OFFSETS[FEATURES[item]]


def count_by_hand(codes: Codes, left: Sequence[int], right: int, denominator: str) -> tuple[int, int, int, int]:
    items = [item for item in left if item >= 0]
    used = {FEATURES[item] for item in (*items, right)}
    rows = [row for row in codes if denominator == "all" or all(row[feature] >= 0 for feature in used)]
    held = [row for row in rows if all(holds(row, item) for item in items)]
    return len(rows), len(held), sum(holds(row, right) for row in rows), sum(holds(row, right) for row in held)


def pack(codes: Codes) -> tuple[bits.Words, bits.Words | None]:
    return bits.pack_codes(np.array(codes, dtype=np.int8).reshape(-1, 3), cardinalities=CARDINALITIES)


rows = st.tuples(*(st.integers(-1, size - 1) for size in CARDINALITIES)).map(list)
full_rows = st.tuples(*(st.integers(0, size - 1) for size in CARDINALITIES)).map(list)
some_rows = st.lists(rows, max_size=90) | st.lists(full_rows, max_size=90)
some_rules = st.lists(
    st.tuples(st.lists(st.integers(-1, 7), min_size=3, max_size=3), st.integers(0, 7)), min_size=1, max_size=12
)


@settings(max_examples=examples(600), deadline=None)
@given(some_rows, some_rules, st.sampled_from(["present", "all"]))
def test_counts_equal_a_look_at_every_row(codes: Codes, rules: list[tuple[list[int], int]], denominator: str) -> None:
    bitmaps, present = pack(codes)
    counts = counting.count_bitmaps(
        bitmaps,
        n_rows=len(codes),
        antecedents=[left for left, _ in rules],
        consequents=[right for _, right in rules],
        present=present,
        feature_of_item=FEATURES,
        denominator=denominator,  # type: ignore[arg-type]
    )
    assert all(column.dtype == np.int64 for column in counts)
    expected = [count_by_hand(codes, left, right, denominator) for left, right in rules]
    assert list(zip(*(column.tolist() for column in counts), strict=True)) == expected


@settings(max_examples=examples(200), deadline=None)
@given(some_rows, some_rules)
def test_covered_rows(codes: Codes, rules: list[tuple[list[int], int]]) -> None:
    bitmaps, _ = pack(codes)
    antecedents = [left for left, _ in rules]
    expected = [[all(item < 0 or holds(row, item) for item in left) for row in codes] for left in antecedents]
    covered = counting.cover_rows(bitmaps, n_rows=len(codes), antecedents=antecedents)
    assert bits.unpack(covered, n_rows=len(codes)).tolist() == [any(column) for column in zip(*expected, strict=True)]


def big_table(n_rows: int = 20_000) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(11)
    codes = rng.integers(-1, 3, size=(n_rows, 12)).astype(np.int8)
    codes[:, :6] = np.abs(codes[:, :6])  # half of the features are complete
    features = np.argsort(rng.random((3000, 12)), axis=1)[:, :4]
    items = features * 3 + rng.integers(0, 3, size=features.shape)
    return codes, items[:, :3], items[:, 3]


def count_big(codes: np.ndarray, antecedents: np.ndarray, consequents: np.ndarray, **options: object) -> np.ndarray:
    bitmaps, present = bits.pack_codes(codes, cardinalities=[3] * 12)
    counts = counting.count_bitmaps(
        bitmaps,
        n_rows=len(codes),
        antecedents=antecedents,
        consequents=consequents,
        present=present,
        feature_of_item=np.repeat(np.arange(12), 3),
        **options,  # type: ignore[arg-type]
    )
    return np.stack(counts)


@pytest.mark.parametrize("denominator", ["present", "all"])
def test_counts_of_row_blocks_add_up(denominator: str) -> None:
    """Tables larger than memory rely on this: any split, at word boundaries or not, gives the same sums."""
    codes, antecedents, consequents = big_table()
    whole = count_big(codes, antecedents, consequents, denominator=denominator)
    parts = [codes[:1], codes[1:6401], codes[6401:6401], codes[6401:]]
    assert np.array_equal(sum(count_big(p, antecedents, consequents, denominator=denominator) for p in parts), whole)


def test_threads_and_word_blocks_do_not_change_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    codes, antecedents, consequents = big_table()
    one = count_big(codes, antecedents, consequents, threads=1)
    monkeypatch.setattr(counting, "_CACHE_BYTES", 1)
    assert np.array_equal(count_big(codes, antecedents, consequents, threads=3), one)


def test_big_counts_equal_numpy() -> None:
    codes, antecedents, consequents = big_table()
    one_hot = (codes[:, :, None] == np.arange(3)).reshape(len(codes), -1)
    n, n_antecedent, n_consequent, n_both = count_big(codes, antecedents, consequents)
    for rule in range(0, 3000, 100):
        left, right = antecedents[rule], consequents[rule]
        known = (codes[:, [*(left // 3), right // 3]] >= 0).all(axis=1)
        held = one_hot[:, left].all(axis=1) & known
        target = one_hot[:, right] & known
        expected = [known.sum(), held.sum(), target.sum(), (held & target).sum()]
        assert [n[rule], n_antecedent[rule], n_consequent[rule], n_both[rule]] == expected


def test_cover_over_many_words() -> None:
    codes, antecedents, _ = big_table()
    bitmaps, _ = bits.pack_codes(codes, cardinalities=[3] * 12)
    masks = [np.bitwise_and.reduce(bitmaps[left[left >= 0]], axis=0) for left in antecedents[:40]]
    covered = counting.cover_rows(bitmaps, n_rows=len(codes), antecedents=antecedents[:40], threads=2)
    assert np.array_equal(covered, np.bitwise_or.reduce(masks, axis=0))
    assert 0 < int(bits.popcount(covered)) < len(codes)


def test_no_rules_and_no_rows() -> None:
    bitmaps, _ = pack([[0, 0, 0]])
    counts = counting.count_bitmaps(bitmaps, n_rows=1, antecedents=np.zeros((0, 2)), consequents=[])
    assert [len(column) for column in counts] == [0, 0, 0, 0]
    assert counting.cover_rows(bitmaps, n_rows=1, antecedents=np.zeros((0, 2))).tolist() == [0]
    empty, _ = pack([])
    assert [int(c[0]) for c in counting.count_bitmaps(empty, n_rows=0, antecedents=[[0]], consequents=[3])] == [0] * 4


def test_the_callers_antecedents_keep_their_order() -> None:
    bitmaps, _ = pack([[0, 0, 0], [1, 1, 1]])
    antecedents = np.array([[3, 0], [1, -1]], dtype=np.int32)
    counting.count_bitmaps(bitmaps, n_rows=2, antecedents=antecedents, consequents=[5, 5])
    assert antecedents.tolist() == [[3, 0], [1, -1]]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"antecedents": [[8]]}, "antecedents must hold items 0…7"),
        ({"antecedents": [[-2]]}, "antecedents must hold items 0…7"),
        ({"consequents": [-1]}, "consequents must hold items 0…7"),
        ({"consequents": [0, 1]}, "1 antecedents, 2 consequents"),
        ({"denominator": "some"}, "unknown denominator 'some'"),
        ({"n_rows": 100}, "2 words for 100 rows"),
        ({"feature_of_item": None}, "feature_of_item is required"),
        ({"feature_of_item": [0] * 7}, "for each of 8 items"),
    ],
)
def test_wrong_input_is_named(options: dict[str, object], words: str) -> None:
    bitmaps, present = pack([[0, 0, -1], [1, 1, 1]])
    given_options = {
        "n_rows": 2,
        "antecedents": [[0]],
        "consequents": [5],
        "present": present,
        "feature_of_item": FEATURES,
        **options,
    }
    with pytest.raises(InputError, match=words):
        counting.count_bitmaps(bitmaps, **given_options)  # type: ignore[arg-type]
