"""Item sets: against brute force and against mlxtend, of all kinds, from the exact search and from Aerial's rules."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mlxtend.frequent_patterns import fpgrowth, fpmax

import thence as th
from tests.helpers.examples import examples
from thence.errors import ConfigError, MiningError
from thence.search.exact.itemsets import KINDS, find_itemsets, judge_itemsets
from thence.tables.baskets import basket_table
from thence.tables.bitmaps.bits import pack_mask

Sets = dict[tuple[int, ...], int]
masks = st.lists(st.lists(st.booleans(), min_size=5, max_size=5), min_size=1, max_size=14).map(np.array)


def by_hand(held: np.ndarray, least: int, kind: str, longest: int | None) -> Sets:
    """Every set that is frequent, compared with every other one."""
    n_items = held.shape[1]
    every = [one for size in range(1, n_items + 1) for one in combinations(range(n_items), size)]
    frequent = {one: rows for one in every if (rows := int(held[:, one].all(axis=1).sum())) >= least}

    def counts(one: tuple[int, ...]) -> bool:
        larger = [rows for other, rows in frequent.items() if set(one) < set(other)]
        return kind == "frequent" or not (larger if kind == "maximal" else frequent[one] in larger)

    return {one: n for one, n in frequent.items() if counts(one) and (longest is None or len(one) <= longest)}


@settings(max_examples=examples(150), deadline=None)
@given(masks, st.integers(1, 5), st.sampled_from(KINDS), st.sampled_from([None, 1, 2, 3]))
def test_the_search_finds_what_brute_force_finds(held: np.ndarray, least: int, kind: str, longest: int | None) -> None:
    found = find_itemsets(pack_mask(held), n_rows=len(held), least=least, kind=kind, max_length=longest, max_sets=1_000)
    ours = {
        tuple(found.members[low:high].tolist()): rows
        for low, high, rows in zip(found.starts, found.starts[1:], found.counts.tolist(), strict=False)
    }
    assert ours == by_hand(held, least, kind, longest)
    assert len(ours) == len(found.counts), "no set is listed twice"


@settings(max_examples=examples(60), deadline=None)
@given(masks, st.integers(1, 5))
def test_proposed_sets_are_judged_as_brute_force_judges_them(held: np.ndarray, least: int) -> None:
    every = [one for size in range(1, 6) for one in combinations(range(5), size)]
    members = np.array([[*one, *[-1] * (5 - len(one))] for one in every])
    counts, kinds = judge_itemsets(pack_mask(held), members, n_rows=len(held), least=least)
    for at, kind in enumerate(KINDS):
        known = by_hand(held, least, kind, None)
        assert {every[i] for i in np.flatnonzero(kinds >= at)} == set(known)
        assert all(counts[every.index(one)] == rows for one, rows in known.items())


def as_pairs(frame: pd.DataFrame) -> dict[frozenset[str], float]:
    return {one: round(support, 9) for one, support in zip(frame["itemsets"], frame["support"], strict=True)}


@settings(max_examples=examples(10), deadline=None)
@given(masks, st.sampled_from([0.1, 0.3, 0.5]))
def test_frequent_and_maximal_sets_are_those_of_mlxtend(held: np.ndarray, support: float) -> None:
    frame = pd.DataFrame(held, columns=list("abcde"))
    for kind, theirs in (("frequent", fpgrowth), ("maximal", fpmax)):
        ours = th.itemsets(frame, min_support=support, kind=kind).to_pandas()
        assert list(ours.columns) == ["support", "itemsets"]
        assert as_pairs(ours) == as_pairs(theirs(frame, min_support=support, use_colnames=True))


def test_sets_are_sorted_and_both_frames_agree() -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({f"i{at}": rng.random(200) < 0.2 + at / 10 for at in range(6)})
    sets = th.itemsets(frame, min_support=0.05)
    assert (np.diff(sets.counts) <= 0).all()
    polars, pandas = sets.to_polars(), sets.to_pandas()
    assert [frozenset(one) for one in polars["itemsets"]] == list(pandas["itemsets"])
    assert polars["support"].to_list() == pandas["support"].to_list()
    assert np.allclose(polars["rows"] / 200, polars["support"])
    assert [len(one) for one in sets] == polars["itemsets"].list.len().to_list()


def test_states_and_ranges_of_a_frame_are_items_and_missing_ones_are_not() -> None:
    frame = pl.DataFrame({"size": [1.0, 2.0, 3.0, None] * 10, "door": ["open", "open", "shut", "shut"] * 10})
    sets = th.itemsets(frame, min_support=0.25, bins=2)
    assert sum(len(one) == 2 for one in sets) == 3
    for one, rows in zip(sets, sets.counts, strict=True):
        held = np.ones(40, bool)
        for item in one:
            held &= th.tables.FeatureTable.from_frame(frame).mask(item)
        assert held.sum() == rows


def test_sets_of_aerial_are_counted_exactly_and_are_among_all() -> None:
    rng = np.random.default_rng(1)
    cause = rng.random(400) < 0.5
    frame = pl.DataFrame({name: np.where(rng.random(400) < 0.05, ~cause, cause) for name in "abcd"})
    for kind in ("frequent", "maximal"):
        every = as_pairs(th.itemsets(frame, min_support=0.3, kind=kind).to_pandas())
        learned = as_pairs(th.itemsets(frame, min_support=0.3, kind=kind, miner="aerial").to_pandas())
        assert learned.items() <= every.items()
        if kind == "frequent":
            assert len(learned) >= 4 + 6


def test_impossible_requests_say_what_to_do() -> None:
    frame = pl.DataFrame(np.ones((4, 15), bool))
    with pytest.raises(MiningError, match="raise min_support, give max_length"):
        th.itemsets(frame, max_sets=1_000)
    assert len(th.itemsets(frame, kind="closed", max_sets=1)) == 1
    with pytest.raises(ConfigError, match="did you mean 'maximal'"):
        th.itemsets(frame, kind="maximum")
    data: Any = th.datasets.load("toy")
    with pytest.raises(ConfigError, match="without times"):
        th.itemsets(data)
    with pytest.raises(MiningError, match="places of a graph pattern"):
        th.itemsets(th.transactions(data, enrich="lifted", windows="1h"))
    assert len(th.itemsets(th.transactions(data, windows="1h"), min_support=0.2, max_length=2)) > 0
    assert len(th.itemsets(basket_table(frame[:0]))) == 0
    assert str(th.itemsets(frame[:, :2])).startswith("3 item sets in 4 rows")
