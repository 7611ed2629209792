"""Cuts that tell classes apart, from below (ChiMerge) and as a decision tree finds them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2
from sklearn.tree import DecisionTreeClassifier

import thence as th
from tests.helpers.examples import examples
from thence.errors import ConfigError
from thence.tables.chi_merge import LEVEL, _critical, merge_intervals
from thence.tables.discretization import Discretizer, fit_binning
from thence.tables.transactions import TransactionTable
from thence.tables.tree_cuts import LEAST_SHARE

counts = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=12).map(
    lambda rows: np.array([row for row in rows if sum(row)] or [(1, 0, 0)], np.float64)
)


def merge_slowly(table: np.ndarray, *, most: int, least: float) -> list[int]:
    """ChiMerge as it is written in the paper: look at all neighbours, merge the most alike, begin again."""
    rows, borders = list(table), list(range(len(table) - 1))
    while borders:
        differences = []
        for one, other in pairwise(rows):
            both = np.stack([one, other])
            both = both[:, both.sum(axis=0) > 0]
            expected = np.outer(both.sum(axis=1), both.sum(axis=0)) / both.sum()
            differences.append(((both - expected) ** 2 / np.maximum(expected, 0.5)).sum())
        at = int(np.argmin(differences))
        if differences[at] > least and len(rows) <= most:
            break
        rows[at : at + 2] = [rows[at] + rows[at + 1]]
        del borders[at]
    return borders


@settings(max_examples=examples(100))
@given(counts, st.integers(1, 6), st.sampled_from([0.5, 3.84, 6.0]))
def test_intervals_are_merged_as_the_paper_merges_them(table: np.ndarray, most: int, least: float) -> None:
    assert merge_intervals(table, most=most, least=least) == merge_slowly(table, most=most, least=least)


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 7, 30, 199])
def test_the_critical_value_is_that_of_scipy(freedom: int) -> None:
    assert _critical(freedom) == pytest.approx(chi2.isf(LEVEL, freedom), rel=1e-9)


@settings(max_examples=examples(60))
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 2)), min_size=2, max_size=80), st.integers(2, 6))
def test_a_tree_cuts_where_that_of_scikit_learn_does(rows: list[tuple[int, int]], bins: int) -> None:
    values, classes = (np.array(column, np.float64) for column in zip(*rows, strict=True))
    least = max(1, int(np.ceil(LEAST_SHARE * len(values))))
    tree = DecisionTreeClassifier(max_leaf_nodes=bins, min_samples_leaf=least, random_state=0).fit(
        values[:, None], classes
    )
    theirs = tree.tree_.impurity[tree.tree_.children_left < 0] @ tree.tree_.n_node_samples[tree.tree_.children_left < 0]
    cuts = fit_binning(values, method="tree", bins=bins, classes=classes.astype(np.int64)).bin_edges
    if len(np.unique(values)) == 1 or tree.tree_.node_count == 1:
        return  # a single value, or no split that helps: bins of equal count
    ours = 0.0
    for leaf in range(len(cuts) + 1):
        own = classes[np.searchsorted(cuts, values, side="right") == leaf]
        ours += len(own) * (1 - ((np.bincount(own.astype(int)) / len(own)) ** 2).sum())
    # Of equally good splits either may be taken, so the next ones may differ: the tree must not be worse by much.
    assert ours <= theirs + 0.05 * len(values)


@pytest.mark.parametrize("method", ["chimerge", "tree"])
def test_cuts_lie_where_the_states_of_the_target_change(method: str) -> None:
    rng = np.random.default_rng(0)
    level = rng.uniform(0, 10, 600).round(2)
    frame = pl.DataFrame({"level": level, "pump": np.where(level < 3.3, "on", np.where(level < 7.1, "idle", "off"))})
    table = TransactionTable.from_frame(frame, method=method, towards="pump")
    edges = table.discretizer.binnings["level"].bin_edges.tolist()
    assert edges == pytest.approx([3.3, 7.1], abs=0.05)
    again = Discretizer.from_dict(table.discretizer.to_dict())
    assert again.binnings["level"].bin_edges.tolist() == edges
    run = th.mine(frame, target="pump", method=method, confirm=False, progress="off")
    assert len(run.rules) == 3
    with pytest.raises(ConfigError, match="needs a target"):
        TransactionTable.from_frame(frame, method=method)


@pytest.mark.parametrize("method", ["chimerge", "tree"])
def test_many_values_without_a_pattern_have_few_cuts(method: str) -> None:
    rng = np.random.default_rng(1)
    values, classes = rng.normal(size=9000), rng.integers(0, 2, 9000)
    cuts = fit_binning(values, method=method, bins=4, classes=classes).bin_edges
    assert 1 <= len(cuts) <= 3
