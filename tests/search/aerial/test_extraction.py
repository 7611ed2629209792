"""The algebraic search finds exactly the rules of Algorithm 1, taken literally."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.examples import examples
from tests.search.aerial.networks import as_rules, as_sets, lively
from tests.search.aerial.oracle import algorithm_1
from thence.errors import ConfigError
from thence.search.aerial.autoencoder import QueryNetwork, initialise
from thence.search.aerial.extraction import (
    RuleArrays,
    extract_itemsets,
    extract_rules,
    extract_top_rules,
    select_top_rules,
    split_search,
)
from thence.search.aerial.settings import SearchSettings
from thence.search.neighbours import Neighbours


@st.composite
def searches(draw):
    """A network and a search: unequal cardinalities, features without classes, masks, neighbours, thresholds."""
    if draw(st.booleans()):
        cardinalities = [draw(st.integers(1, 4))] * draw(st.integers(1, 5))
    else:
        cardinalities = draw(st.lists(st.integers(0, 4), min_size=1, max_size=5))
    n_items, n_features = sum(cardinalities), len(cardinalities)
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    widths = tuple(draw(st.lists(st.integers(1, 6), min_size=1, max_size=3)))
    model = lively(cardinalities, widths=widths, seed=int(rng.integers(10**6)), spread=rng.choice([0.3, 1.0, 2.0]))
    compatible = None
    if draw(st.booleans()):
        upper = np.triu(rng.random((n_features, n_features)) < 0.7, 1)
        compatible = upper | upper.T
    options = {
        "gate": float(draw(st.sampled_from([0.0, 0.3, 0.5, 0.8]) | st.floats(0, 1))),
        "consequent": float(draw(st.sampled_from([0.0, 0.5, 0.8]) | st.floats(0, 1))),
        "max_antecedents": draw(st.integers(1, 3)),
        **draw(st.sampled_from([{"search": "full"}, {"search": "grow"}, {"search": "mutual"}])),
        "antecedent_ok": rng.random(n_items) < 0.7 if draw(st.booleans()) else None,
        "consequent_ok": rng.random(n_items) < 0.7 if draw(st.booleans()) else None,
        "neighbours": None if compatible is None else Neighbours.of(compatible),
        "batch_bytes": draw(st.sampled_from([1, 600, None])),
    }
    return model, SearchSettings(**options), compatible


def expected(model, search: SearchSettings, compatible):
    return algorithm_1(
        model,
        gate=search.gate_threshold,
        consequent=search.consequent_threshold,
        antecedents=search.max_antecedents,
        antecedent_ok=search.antecedent_ok,
        consequent_ok=search.consequent_ok,
        compatible=compatible,
        grow=search.search == "grow",
        mutual=search.search == "mutual",
    )


@settings(max_examples=examples(150), deadline=None)
@given(searches())
def test_same_rules_as_algorithm_1(case):
    model, search, compatible = case
    rules, sets = expected(model, search, compatible)
    found = as_rules(extract_rules(model, search=search))
    assert found.keys() == rules.keys()
    assert all(found[rule] == pytest.approx(rules[rule], abs=1e-4) for rule in rules)
    frequent = as_sets(extract_itemsets(model, search=search))
    assert frequent.keys() == sets.keys()
    assert all(frequent[items] == pytest.approx(sets[items], abs=1e-4) for items in sets)


@settings(max_examples=examples(60), deadline=None)
@given(searches(), st.integers(1, 4))
def test_parts_together_are_the_whole(case, count):
    model, search, _ = case
    cut = split_search(model, count=count, search=search)
    assert len(cut) <= count
    covered = [feature for part in cut for feature in part.first_features]
    assert covered == sorted(set(covered))
    pieces = [chunk for part in cut for chunk in extract_rules(model, search=part)]
    assert as_rules(pieces) == pytest.approx(as_rules(extract_rules(model, search=search)), abs=1e-5)


@pytest.mark.parametrize("seed", range(6))
def test_a_literal_run_with_the_paper_s_single_threshold(seed):
    rng = np.random.default_rng(seed)
    cardinalities = rng.integers(2, 5, 6)
    model = lively(cardinalities, widths=(8, 5, 3), seed=seed, spread=1.5)
    rules, _ = algorithm_1(model, gate=0.8, consequent=0.8, antecedents=3)
    assert len(rules) > 0
    assert as_rules(extract_rules(model, search=SearchSettings(max_antecedents=3))).keys() == rules.keys()


def test_wide_blocks_of_more_queries_than_a_batch_holds():
    model = lively([40, 3, 40], widths=(5, 3), seed=3, spread=2.0)
    search = SearchSettings(similarity=0.5, batch_bytes=2000)
    rules, _ = algorithm_1(model, gate=0.5, consequent=0.5, antecedents=2)
    assert len(rules) > 0
    assert as_rules(extract_rules(model, search=search)).keys() == rules.keys()


@pytest.mark.parametrize("most", [2, 3])
def test_no_batch_is_larger_than_it_may_be(monkeypatch, most):
    """A combination of features was never cut: two with a thousand classes each asked for gigabytes."""
    model = lively([12, 3, 13], widths=(5, 3), seed=3, spread=2.0)
    search = SearchSettings(similarity=0.5, max_antecedents=most)
    whole = RuleArrays.concat(extract_rules(model, search=search), max_antecedents=most)
    sizes, through = [], QueryNetwork.through
    monkeypatch.setattr(QueryNetwork, "through", lambda net, first: (sizes.append(len(first)), through(net, first))[1])
    search = replace(search, batch_bytes=8 * 13 * 10)
    cut = RuleArrays.concat(extract_rules(model, search=search), max_antecedents=most)
    assert max(sizes) <= 10
    assert len(whole) > 0
    assert cut.antecedents.tolist() == whole.antecedents.tolist()
    assert cut.consequents.tolist() == whole.consequents.tolist()


def test_long_and_short_lists_of_states_give_the_same_probabilities(monkeypatch):
    model = lively([4, 3, 4, 2], seed=2)
    frame = QueryNetwork.of(model)
    rng = np.random.default_rng(0)
    states = frame.states(rng.integers(0, 13, (300, 2)))
    items = rng.integers(0, 13, 300)
    short = frame.marked_probability(states, items)
    monkeypatch.setattr("thence.search.aerial.autoencoder.FEW", 0)
    torch.testing.assert_close(frame.marked_probability(states, items), short)
    monkeypatch.undo()
    monkeypatch.setattr("thence.search.aerial.autoencoder.COPIED", {"cpu": 0})
    torch.testing.assert_close(frame.marked_probability(states, items), short)
    assert frame.marked_probability(states[:0], items[:0]).shape == (0,)


def test_a_threshold_that_is_hit_exactly():
    # All weights zero: every probability of a feature with four classes is exactly a quarter.
    model = initialise([4, 4], widths=(2,))
    model = model.with_parameters([torch.zeros_like(tensor) for tensor in model.parameters()])
    at = SearchSettings(gate=0.25, consequent=0.2, max_antecedents=2)
    assert len(as_sets(extract_itemsets(model, search=at))) == 4 + 4 + 16
    above = SearchSettings(gate=np.nextafter(0.25, 1), consequent=0.2, max_antecedents=2)
    assert as_sets(extract_itemsets(model, search=above)) == {}
    # The gate lets equality pass, the consequent does not.
    assert as_rules(extract_rules(model, search=SearchSettings(gate=0.25, consequent=0.25))) == {}


def test_order_is_fixed():
    model = lively([3, 2, 4, 3], seed=5)
    first, second = (list(extract_rules(model, search=SearchSettings(similarity=0.4))) for _ in range(2))
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one.antecedents, other.antecedents)
        np.testing.assert_array_equal(one.consequents, other.consequents)
        np.testing.assert_array_equal(one.probability, other.probability)


@settings(max_examples=examples(40), deadline=None)
@given(searches(), st.integers(1, 12))
def test_top_k_is_the_head_of_the_sorted_whole(case, k):
    model, search, _ = case
    whole = as_rules(extract_rules(model, search=search))
    found = extract_top_rules(model, k=k, search=search)
    assert len(found) == min(k, len(whole))
    width = search.max_antecedents
    order = sorted(whole, key=lambda rule: (-whole[rule], [*rule[0], *[-1] * (width - len(rule[0]))], rule[1]))
    assert list(as_rules([found])) == order[:k]


def test_best_merges_chunks_of_several_workers():
    model = lively([3, 3, 3, 3], seed=2)
    search = SearchSettings(similarity=0.3)
    cut = split_search(model, count=3, search=search)
    assert len(cut) > 1
    merged = select_top_rules([extract_top_rules(model, k=5, search=part) for part in cut], k=5)
    whole = extract_top_rules(model, k=5, search=search)
    np.testing.assert_array_equal(merged.antecedents, whole.antecedents)
    np.testing.assert_array_equal(merged.consequents, whole.consequents)


@pytest.mark.parametrize("seed", range(8))
def test_locality_is_a_filter_of_the_full_search(seed):
    rng = np.random.default_rng(seed)
    model = lively(rng.integers(2, 4, 6), seed=seed, spread=1.5)
    upper = np.triu(rng.random((6, 6)) < 0.6, 1)
    compatible = upper | upper.T
    owner = model.layout.feature_of_item
    search = SearchSettings(similarity=0.5, max_antecedents=3)
    whole = as_rules(extract_rules(model, search=search))
    kept = {
        rule
        for rule in whole
        if all(compatible[owner[a], owner[b]] for a in (*rule[0], rule[1]) for b in (*rule[0], rule[1]) if a != b)
    }
    assert 0 < len(kept) < len(whole)
    near = SearchSettings(similarity=0.5, max_antecedents=3, neighbours=Neighbours.of(compatible))
    assert as_rules(extract_rules(model, search=near)).keys() == kept


@pytest.mark.parametrize("seed", range(8))
def test_grow_is_a_part_of_full(seed):
    model = lively([3, 3, 2, 4, 3], seed=seed, spread=1.5)
    full = as_rules(extract_rules(model, search=SearchSettings(similarity=0.6, max_antecedents=3)))
    grown = as_rules(extract_rules(model, search=SearchSettings(similarity=0.6, max_antecedents=3, search="grow")))
    assert grown.keys() <= full.keys()
    ones = {rule for rule in full if len(rule[0]) == 1}
    assert ones <= grown.keys()


def test_grow_asks_fewer_queries():
    model = lively([4] * 6, seed=1, spread=1.5)
    asked = {}
    for kind in ("full", "grow"):
        search = SearchSettings(similarity=0.7, max_antecedents=3, search=kind)
        counts = [0]
        list(extract_rules(model, search=search, progress=lambda done, total, counts=counts: counts.append(done)))
        asked[kind] = counts[-1]
    assert asked["full"] == 24 + 15 * 16 + 20 * 64
    assert 24 < asked["grow"] < asked["full"]


@pytest.mark.parametrize("near", [False, True])
def test_the_mutual_gate_does_not_depend_on_how_pairs_are_cut_into_tiles(near, monkeypatch):
    rng = np.random.default_rng(0)
    model = lively(rng.integers(1, 5, 12), seed=3, spread=1.2)
    upper = np.triu(rng.random((12, 12)) < 0.7, 1)
    chosen = {"neighbours": Neighbours.of(upper | upper.T)} if near else {}
    search = SearchSettings(gate=0.02, consequent=0.6, max_antecedents=3, search="mutual", **chosen)
    whole = as_rules(extract_rules(model, search=search))
    assert len(whole) > 50
    assert max(len(left) for left, _ in whole) == 3
    monkeypatch.setattr("thence.search.aerial.antecedents.TILE", {"cpu": (3, 5)})
    assert as_rules(extract_rules(model, search=search)) == pytest.approx(whole, abs=1e-6)


def test_the_mutual_gate_judges_all_pairs():
    model = lively([3, 4, 2, 3], seed=0)
    seen = []
    search = SearchSettings(gate=0.0, search="mutual")
    list(extract_rules(model, search=search, progress=lambda done, total: seen.append((done, total))))
    assert seen[-1] == (12 + 12 + 6 + 9 + 8 + 12 + 6, 12 + 12 + 6 + 9 + 8 + 12 + 6)
    assert len(as_sets(extract_itemsets(model, search=search))) == seen[-1][0]
    alone = SearchSettings(gate=0.0, search="mutual", max_antecedents=1)
    list(extract_rules(model, search=alone, progress=lambda done, total: seen.append((done, total))))
    assert seen[-1] == (12, 12)


def test_progress_runs_up_to_the_announced_total():
    model = lively([3, 4, 2], seed=0)
    seen = []
    list(extract_rules(model, search=SearchSettings(), progress=lambda done, total: seen.append((done, total))))
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1] == (9 + 12 + 6 + 8, 9 + 12 + 6 + 8)


def test_classification_asks_only_for_the_given_consequents():
    model = lively([3, 3, 2], seed=4, spread=1.5)
    ok = np.zeros(8, bool)
    ok[6:] = True
    whole = as_rules(extract_rules(model, search=SearchSettings(similarity=0.4)))
    found = as_rules(extract_rules(model, search=SearchSettings(similarity=0.4, consequent_ok=ok)))
    assert found.keys() == {rule for rule in whole if rule[1] >= 6}
    assert found


@pytest.mark.parametrize(
    "cardinalities", [[], [0, 0], [3], [1, 1, 1]], ids=["nothing", "no classes", "one feature", "constants"]
)
def test_trivial_networks_do_not_crash(cardinalities):
    model = initialise(cardinalities)
    nothing = np.zeros(sum(cardinalities), bool)
    search = SearchSettings(similarity=0.5, max_antecedents=3, consequent_ok=nothing)
    for kind in ({"search": "full"}, {"search": "grow"}, {"search": "mutual"}):
        chosen = SearchSettings(similarity=0.5, max_antecedents=3, **kind, consequent_ok=nothing)
        assert as_rules(extract_rules(model, search=chosen)) == {}
    assert len(extract_top_rules(model, k=3, search=search)) == 0
    assert split_search(model, count=3, search=SearchSettings(antecedent_ok=nothing)) == []


def test_a_constant_feature_follows_from_everything_unless_it_is_barred():
    model = lively([2, 1], seed=0)
    barred = np.array([True, True, False])
    assert set(as_rules(extract_rules(model, search=SearchSettings(gate=0.0)))) >= {((0,), 2), ((1,), 2)}
    without = SearchSettings(gate=0.0, consequent_ok=barred)
    assert all(rule[1] != 2 for rule in as_rules(extract_rules(model, search=without)))


def test_the_search_does_not_depend_on_a_lower_precision_chosen_elsewhere():
    model = lively([3, 3, 3], seed=1)
    before = as_rules(extract_rules(model, search=SearchSettings(similarity=0.4)))
    chosen = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    try:
        assert as_rules(extract_rules(model, search=SearchSettings(similarity=0.4))) == before
        assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision(chosen)


def test_joined_keeps_the_width_when_there_is_nothing():
    assert RuleArrays.concat([], max_antecedents=3).antecedents.shape == (0, 3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"similarity": 1.5}, "similarity must lie between 0 and 1"),
        ({"gate": -0.1}, "gate must lie"),
        ({"max_antecedents": 0}, "max_antecedents must be an integer"),
        ({"search": "deep"}, "'full', 'grow', 'mutual'"),
        ({"batch_bytes": 0}, "batch_bytes must be an integer >= 1"),
    ],
)
def test_impossible_searches_are_refused(options, message):
    with pytest.raises(ConfigError, match=message):
        SearchSettings(**options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"antecedent_ok": np.ones(3, bool)}, "antecedent_ok must have one boolean for each of 5 items"),
        ({"consequent_ok": np.ones(5, int)}, "consequent_ok must have one boolean for each of 5 items"),
        ({"neighbours": Neighbours.of([[1], [0], [0]])}, "neighbours were given for 3 features"),
    ],
)
def test_searches_that_do_not_fit_the_network_are_refused(options, message):
    with pytest.raises(ConfigError, match=message):
        list(extract_rules(initialise([2, 3]), search=SearchSettings(**options)))
    with pytest.raises(ConfigError, match="k must be an integer"):
        extract_top_rules(initialise([2, 3]), k=0)
