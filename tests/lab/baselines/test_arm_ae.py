"""ARM-AE: what its description says, within the contract of all miners, and how weak its rules are."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from thence.errors import ConfigError, MiningError
from thence.lab.baselines.arm_ae import ARMAE, _too_alike
from thence.language.constraints import ItemFilter
from thence.language.items import Feature
from thence.search.exact.miner import Exact
from thence.tables.blocks import Block, Column
from thence.tables.transactions import TransactionTable


def table(rows: int = 600, features: int = 6, values: int = 5, *, seed: int = 0) -> TransactionTable:
    """Features that follow one hidden load, some more closely than others."""
    draw = np.random.default_rng(seed)
    load = draw.integers(0, values, rows)
    columns = []
    for f in range(features):
        noise = draw.integers(0, values, rows)
        codes = np.where(draw.random(rows) < 0.5 + 0.08 * f, load, noise).astype(np.int16)
        columns.append(Column(Feature(f"s{f}", label="flow"), tuple("abcde"[:values]), codes[None, :]))
    return TransactionTable((Block(tuple(columns), rows),))


def test_rules_per_consequent_and_length():
    rules = ARMAE(rules_per_consequent=3, max_antecedents=2).mine(table())
    per_consequent: dict = {}
    for rule in rules:
        per_consequent.setdefault(rule.consequent, []).append(rule.antecedent)
    assert len(per_consequent) == 30
    for antecedents in per_consequent.values():
        assert sum(len(a) == 2 for a in antecedents) == 3
        # What stands after the first item is a rule too; three antecedents may begin with the same item.
        assert 1 <= sum(len(a) == 1 for a in antecedents) <= 3


@pytest.mark.parametrize(("likeness", "most"), [(0.8, 2), (0.67, 2), (0.5, 1), (0.0, 0)])
def test_antecedents_of_a_consequent_share_at_most_the_given_part(likeness, most):
    rules = ARMAE(rules_per_consequent=4, max_antecedents=3, likeness=likeness).mine(table())
    full: dict = {}
    for rule in rules:
        if len(rule.antecedent) == 3:
            full.setdefault(rule.consequent, []).append(set(rule.antecedent))
    shared = [len(a & b) for group in full.values() for a, b in itertools.combinations(group, 2)]
    assert shared
    assert max(shared) <= most


def test_likeness_counts_what_is_there_already():
    grown = np.array([[3, -1, -1]])
    earlier = np.array([[[3, 5, 7]]])
    assert np.flatnonzero(_too_alike(grown, earlier, 9, likeness=0.5)[0]).tolist() == [3, 5, 7]
    assert not _too_alike(grown, earlier, 9, likeness=0.67).any()


def test_weaker_than_all_one_antecedent_rules_together():
    """The published weakness: rules no better than chance, where plain pairs of items do far better."""
    data = table(2000)
    found = ARMAE(rules_per_consequent=5, epochs=4).mine(data)
    pairs = Exact(min_support=0.01, min_confidence=0.0, max_antecedents=1).mine(data)
    assert found.measure("confidence").mean() < 0.3
    assert (
        found.measure("confidence").mean() < pairs.top(len(found), by="confidence").measure("confidence").mean() / 1.5
    )


def test_cross_entropy_is_what_the_network_needs():
    """With the absolute error the network learns that every item is rare; with cross-entropy it learns something."""
    data = table(2000)
    absolute = ARMAE(rules_per_consequent=2, epochs=4).mine(data)
    entropy = ARMAE(rules_per_consequent=2, epochs=4, loss="cross-entropy").mine(data)
    assert entropy.measure("confidence").mean() > absolute.measure("confidence").mean() + 0.05


def test_the_seed_matters_and_threads_are_given_back():
    data = table(200)
    threads = torch.get_num_threads()
    one, same, other = (list(ARMAE(seed=seed).mine(data)) for seed in (1, 1, 2))
    assert one == same
    assert one != other
    assert torch.get_num_threads() == threads


def test_sized_like_another_rule_set():
    data = table()
    rules = Exact(min_support=0.01, min_confidence=0.5).mine(data)
    assert ARMAE.sized_like(rules).rules_per_consequent == len(rules) // 6


def test_blocks_have_a_network_each_and_rows_are_bounded():
    block = table(300).blocks[0]
    two = TransactionTable((block, table(200, seed=1).blocks[0]))
    assert len(ARMAE().mine(two)) > 0
    with pytest.raises(MiningError, match="the limit is 250"):
        ARMAE(max_rows=250).mine(two)


def test_constraints_are_kept():
    rules = ARMAE(antecedent=ItemFilter(sensor="s[0-2]"), consequent=ItemFilter(sensor="s5", value="a")).mine(table())
    assert {str(rule.consequent) for rule in rules} == {"(s5:flow).value = 'a'"}
    assert {item.feature.subject for rule in rules for item in rule.antecedent} <= {"s0", "s1", "s2"}


def test_more_rules_than_one_first_item_allows_go_on_with_the_next():
    """Two features besides the consequent's have 9 pairs of values at most; the search must not stop at the first 3."""
    data = table(400, features=3, values=3)
    rules = ARMAE(rules_per_consequent=30, max_antecedents=2).mine(data)
    per_consequent: dict = {}
    for rule in rules:
        if len(rule.antecedent) == 2:
            per_consequent[rule.consequent] = per_consequent.get(rule.consequent, 0) + 1
    assert set(per_consequent.values()) == {9}


def test_more_antecedents_than_features_stop_early():
    rules = ARMAE(max_antecedents=5, rules_per_consequent=1).mine(table(100, features=3))
    assert max(len(rule.antecedent) for rule in rules) == 2


@pytest.mark.parametrize(
    "wrong", [{"likeness": 1.2}, {"epochs": 0}, {"learning_rate": 0.0}, {"loss": "hinge"}, {"max_antecedents": 0}]
)
def test_impossible_settings_are_refused(wrong):
    with pytest.raises(ConfigError):
        ARMAE(**wrong)
