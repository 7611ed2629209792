"""Sparse lists of features that may stand together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thence.errors import ConfigError
from thence.search.neighbours import Neighbours, near_columns


@given(st.integers(0, 6), st.integers(0, 10**6))
def test_a_matrix_and_lists_say_the_same(n_features, seed):
    rng = np.random.default_rng(seed)
    matrix = rng.random((n_features, n_features)) < 0.4
    both = matrix | matrix.T
    np.fill_diagonal(both, False)
    for near in (Neighbours.of(matrix), Neighbours.of([np.flatnonzero(row) for row in matrix])):
        assert near.n_features == n_features
        assert [near.of_feature(f).tolist() for f in range(n_features)] == [
            np.flatnonzero(row).tolist() for row in both
        ]
        left, right = np.indices(both.shape)
        np.testing.assert_array_equal(near.together(left, right), both)
        keep = np.flatnonzero(rng.random(n_features) < 0.6)
        smaller = near.restricted_to(keep)
        np.testing.assert_array_equal(smaller.together(*np.indices((len(keep), len(keep)))), both[np.ix_(keep, keep)])
        for feature in range(n_features):
            begin = near.first_later[feature]
            assert (near.members[begin : near.starts[feature + 1]] > feature).all()
            assert (near.members[near.starts[feature] : begin] < feature).all()


def test_memory_follows_the_pairs_and_not_the_square_of_the_features():
    count = 200_000
    near = Neighbours.of([[feature + 1] if feature + 1 < count else [] for feature in range(count)])
    assert near.members.nbytes + near.starts.nbytes < 10_000_000
    assert near.of_feature(5).tolist() == [4, 6]


@pytest.mark.parametrize(
    ("relation", "message"),
    [
        ([[1], [2]], "feature numbers from 0 to 1"),
        ([[-1]], "feature numbers from 0 to 0"),
        (np.ones((2, 3), bool), "must be square"),
    ],
)
def test_impossible_relations_are_refused(relation, message):
    with pytest.raises(ConfigError, match=message):
        Neighbours.of(relation)


def test_neighbours_pass_through():
    near = Neighbours.of([[1], []])
    assert Neighbours.of(near) is near


@pytest.mark.parametrize(
    "wrong", [[["a"], []], [[1.5], []], ["ab", "c"], [[True, False], [False, True]], [[[1], []], []]]
)
def test_lists_of_anything_but_numbers_are_refused(wrong):
    """Halves were cut down to whole numbers, rows of truth values were taken for numbers, texts gave a traceback."""
    with pytest.raises(ConfigError, match="lists of feature numbers"):
        Neighbours.of(wrong)


@pytest.mark.parametrize("wrong", ["x", 1.5, {"a": 1}])
def test_near_is_a_number_of_hops_or_lists(wrong):
    with pytest.raises(ConfigError, match="'near' must be an integer number of hops or the neighbours"):
        near_columns(wrong, 0, 3)
