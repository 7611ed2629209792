"""Exact mining elsewhere: the same rules in the same order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.examples import examples
from tests.helpers.executors import Elsewhere
from tests.helpers.random_tables import assert_same_rules, random_table
from tests.helpers.tables import factorised_tables, plain_tables
from thence.errors import ConfigError
from thence.search.exact import search
from thence.search.exact.miner import Exact
from thence.tables.transactions import TransactionTable

thresholds = st.sampled_from([0.0, 0.1, 0.5])


@given(plain_tables() | factorised_tables(), st.integers(1, 3), thresholds, thresholds, st.data())
@settings(max_examples=examples(60), deadline=None)
def test_the_rules_do_not_depend_on_where_they_are_searched(
    table: TransactionTable, most: int, support: float, confidence: float, data: st.DataObject
) -> None:
    n_columns = len(table.blocks[0].columns)
    near = None
    if data.draw(st.booleans()):
        pairs = st.lists(st.integers(0, n_columns - 1), unique=True)
        near = [[[other for other in data.draw(pairs) if other != own] for own in range(n_columns)]]
    miner = Exact(max_antecedents=most, min_support=support, min_confidence=confidence, near=near)
    assert_same_rules(miner.mine(table, executor=Elsewhere()), miner.mine(table))


@pytest.mark.parametrize("near", [False, True])
@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_long_searches_are_split(monkeypatch: pytest.MonkeyPatch, near: bool, missing: float) -> None:
    monkeypatch.setattr(search, "_RUN_WORK", 1 << 8)
    table = random_table(seed=7, n_rows=500, n_columns=8, missing=missing)
    lists = [[[c for c in range(8) if 0 < abs(c - f) < 4] for f in range(8)]] if near else None
    miner = Exact(max_antecedents=2, min_support=0.02, min_confidence=0.3, near=lists)
    executor = Elsewhere()
    assert_same_rules(miner.mine(table, executor=executor), miner.mine(table))
    assert executor.tasks > 5


@pytest.mark.parametrize("near", [False, True])
@pytest.mark.parametrize("most", [1, 2])
def test_a_limit_ends_the_search_after_the_same_rules(near: bool, most: int) -> None:
    table = random_table(seed=8, n_rows=300, n_columns=6)
    lists = [[[c for c in range(6) if c != f] for f in range(6)]] if near else None
    for limit in (1, 20, 10_000):
        miner = Exact(max_antecedents=most, min_confidence=0.3, max_rules=limit, on_limit="stop", near=lists)
        assert_same_rules(miner.mine(table, executor=Elsewhere()), miner.mine(table))


def test_places_are_counted_in_spans_whatever_the_number_of_threads() -> None:
    # The last digit of the spread of confidences depended on the number of processors.
    from thence.tables.bitmaps.embedding_counts import count_embeddings

    bank = random_table(seed=9, n_rows=90, n_columns=4, missing=0.1, embeddings=150).blocks[0].bank
    rules = {"antecedents": np.array([[0, -1], [1, 5]], np.int32), "consequents": np.array([3, 9], np.int32)}
    one = count_embeddings(bank, threads=1, **rules)
    for other in (count_embeddings(bank, threads=5, **rules), count_embeddings(bank, executor=Elsewhere(), **rules)):
        for name, column in vars(one).items():
            np.testing.assert_array_equal(getattr(other, name), column)


def test_a_graphics_processor_is_not_on_the_cluster() -> None:
    with pytest.raises(ConfigError, match="device 'cuda' is a processor of this machine"):
        Exact(device="cuda").mine(random_table(seed=1), executor=Elsewhere())
