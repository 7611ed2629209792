"""Naive SemRL: existential tables mined cleanly, and the published encoding with the flaws it is documented to have."""

from __future__ import annotations

import numpy as np
import pytest

import thence as th
from thence.errors import ConfigError, MiningError
from thence.lab.baselines.exhaustive import FPGrowth, make_first_consequent_rules
from thence.lab.baselines.semrl import NaiveSemRL
from thence.search.exact.miner import Exact


@pytest.fixture(scope="module")
def table():
    data = th.datasets.load("toy")
    return th.transactions(data.sensors, data.graph, data.binding, windows="1h", bins=3, enrich="existential")


def bare_and_attributed(rule) -> bool:
    """Whether some item of the rule follows from another: the same statement with fewer conditions."""
    statements = [
        ((i.feature.subject, i.feature.label, i.feature.where[-1]), frozenset(i.feature.where))
        for i in (*rule.antecedent, rule.consequent)
    ]
    return any(a[0] == b[0] and a[1] < b[1] for a in statements for b in statements)


def test_all_three_algorithms_find_the_same_rules(table):
    exact, fpgrowth, hmine = (
        NaiveSemRL(algorithm=name, min_support=0.3).mine(table) for name in ("exact", "fpgrowth", "hmine")
    )
    assert len(exact) > 100
    assert set(exact) == set(fpgrowth) == set(hmine)


def test_rules_are_clean(table):
    rules = list(NaiveSemRL(min_support=0.3).mine(table))
    assert len(rules) == len(set(rules))
    assert not any(bare_and_attributed(rule) for rule in rules)
    assert all(rule.consequent.value is True for rule in rules)


def test_the_published_encoding_has_its_flaws(table):
    """Tautologies at confidence 1, repetitions, and rules that were judged as a whole with a longer consequent."""
    clean = NaiveSemRL(min_support=0.3).mine(table)
    published = NaiveSemRL(min_support=0.3, published_encoding=True).mine(table)
    rules = list(published)
    assert len(rules) > len(set(rules)) > len(clean)
    tautologies = np.array([bare_and_attributed(rule) for rule in rules])
    assert tautologies.any()
    implied = [
        r
        for r, rule in enumerate(rules)
        if len(rule.antecedent) == 1
        and len(rule.antecedent[0].feature.where) > len(rule.consequent.feature.where)
        and bare_and_attributed(rule)
    ]
    assert implied
    assert (published.measure("confidence")[implied] == 1.0).all()
    assert set(clean) <= set(rules)
    assert any("published encoding" in note for note in published.notes)


def test_long_consequents_are_judged_as_a_whole_and_cut_to_their_first_item():
    both = np.ones(3, bool)
    sets = {(0,): 10, (1,): 9, (2,): 5, (0, 1): 9, (0, 2): 5, (1, 2): 5, (0, 1, 2): 5}
    antecedents, consequents = make_first_consequent_rules(sets, both, both, width=2, least=(4, 5))
    found = list(zip(antecedents.tolist(), consequents.tolist(), strict=True))
    # 0 → 1 (9/10) comes from the pair; 0 → 1 ∧ 2 (5/10) is not confident enough and adds nothing.
    assert found.count(([0, -1], 1)) == 1
    # 2 → 0 comes from the pair, and once more from 2 → 0 ∧ 1 (5/5).
    assert found.count(([2, -1], 0)) == 2


def test_half_of_sets_the_threshold(table):
    some = Exact(min_support=0.3).mine(table)
    made = NaiveSemRL.half_of(some, algorithm="hmine")
    assert made.min_support == float(some.measure("support").mean()) / 2
    assert made.algorithm == "hmine"


def test_other_tables_are_refused(table):
    data = th.datasets.load("toy")
    plain = th.transactions(data.sensors, windows="1h", bins=3)
    with pytest.raises(MiningError, match="enrich='existential'"):
        NaiveSemRL().mine(plain)
    assert len(FPGrowth(min_support=0.1).mine(plain)) > 0


def test_impossible_settings_are_refused():
    with pytest.raises(ConfigError, match="frequent itemsets"):
        NaiveSemRL(algorithm="exact", published_encoding=True)
    with pytest.raises(ConfigError, match="'algorithm' must be one of"):
        NaiveSemRL(algorithm="apriori")  # type: ignore[arg-type]


def test_each_flaw_of_the_published_encoding_has_a_name(table):
    """Cut consequents, duplicates and implied items one after the other; all three are the published encoding."""
    settings = {"min_support": 0.3}
    clean = NaiveSemRL(**settings).mine(table)
    cut = NaiveSemRL(consequents="cut", **settings).mine(table)
    assert set(cut) == set(clean)  # a rule that is confident as a whole is confident with one of its consequents
    repeated = NaiveSemRL(consequents="cut", duplicates="keep", **settings).mine(table)
    assert set(repeated) == set(cut) and len(repeated) > len(cut) == len(set(cut))
    implied = NaiveSemRL(consequents="cut", duplicates="keep", implied="keep", **settings).mine(table)
    published = NaiveSemRL(published_encoding=True, **settings).mine(table)
    assert set(implied) <= set(published) and len(implied) > len(repeated)


@pytest.mark.parametrize("wrong", [{"consequents": "two"}, {"duplicates": "yes"}, {"implied": ""}])
def test_unknown_flaws_are_refused(wrong):
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        NaiveSemRL(**wrong)
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        FPGrowth(**wrong)


def test_the_exact_miner_has_no_flaws():
    with pytest.raises(ConfigError, match="itemsets"):
        NaiveSemRL(algorithm="exact", duplicates="keep")
