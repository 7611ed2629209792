"""All steps together: on every enrichment, with a report, and with the guarantees of each step."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings

from tests.helpers.examples import examples
from tests.helpers.networks import network
from tests.search.refine.by_hand import binned_tables, bins, counts_are_right, covered, some_rules
from thence.data.readings.windows import window
from thence.errors import ConfigError, MiningError
from thence.language.items import Feature
from thence.search.exact.miner import Exact
from thence.search.refine import Null, refine
from thence.statements.counting.recount import count_rules, recount
from thence.statements.rules.ruleset import RuleSet
from thence.tables.blocks import Block, Column
from thence.tables.discretization import Discretizer
from thence.tables.enrich import build
from thence.tables.transactions import TransactionTable

MODES = ("none", "grounded", "existential", "lifted")


def table_of(mode: str, frames: int = 240) -> TransactionTable:
    net = network(frames)
    return build(
        window(net.sensors, "30min"),
        mode=mode,
        graph=net.graph,
        binding=net.binding,
        ontology=net.ontology,
        discretizer=Discretizer(bins=4, scope="sensor" if mode == "lifted" else "kind"),
    )


@pytest.mark.parametrize("mode", MODES)
def test_every_enrichment_is_refined_to_fewer_rules_that_count_right_and_cover_as_much(mode: str) -> None:
    table = table_of(mode)
    rules = Exact(max_antecedents=2, min_support=0.05, min_confidence=0.8).mine(table)
    assert len(rules) > 100
    refined = refine(rules, table, cover=True)
    report = refined.facts["refine"]
    assert len(refined) < 0.2 * len(rules)
    again = count_rules(list(refined), table)
    assert again.counts.n_both.tolist() == refined.counts.n_both.tolist()
    assert again.counts.n_antecedent.tolist() == refined.counts.n_antecedent.tolist()
    assert refined.measure("confidence").min() >= 0.8
    # Coverage may shrink only by rules no better than chance and by mirror images.
    assert report["coverage_after"] >= report["coverage_before"] - 0.05


def test_the_report_lists_what_each_step_did() -> None:
    table = table_of("lifted")
    rules = Exact(max_antecedents=2, min_support=0.05, min_confidence=0.8).mine(table)
    refined = refine(rules, table, cover=0.9, significance=0.05, null=Null(draws=19))
    report = refined.facts["refine"]
    assert json.loads(json.dumps(report)) == report
    names = ["trivia", "mirrored", "significance", "merge", "simpler", "covered", "cover"]
    assert [step["step"] for step in report["steps"]] == names
    assert report["steps"][0]["before"] == report["rules_before"] == len(rules)
    assert report["steps"][-1]["after"] == report["rules_after"] == len(refined)
    for one, following in zip(report["steps"][:-1], report["steps"][1:], strict=True):
        assert one["after"] == following["before"]
    assert report["ratio"] == len(refined) / len(rules)
    assert report["coverage_before"] == rules.data_coverage
    assert report["coverage_after"] == refined.data_coverage
    assert refined.notes[-1].startswith(f"refined {len(rules):,} rules to {len(refined):,}")


def test_steps_can_be_turned_off() -> None:
    table = table_of("none")
    rules = Exact(max_antecedents=2, min_support=0.05, min_confidence=0.8).mine(table)
    same = refine(rules, table, trivia=False, redundancy=False, merge=False)
    assert list(same) == list(rules)
    assert same.facts["refine"]["steps"] == []
    only = refine(rules, table, trivia=False, redundancy=False)
    assert [step["step"] for step in only.facts["refine"]["steps"]] == ["merge"]


@given(binned_tables())
@settings(max_examples=examples(50))
def test_without_dropping_redundant_rules_coverage_does_not_change(table: TransactionTable) -> None:
    rules = some_rules(table, min_confidence=0.6)
    refined = refine(rules, table, trivia=False, redundancy=False, cover=True)
    assert counts_are_right(table, refined)
    assert np.array_equal(covered(table, refined), covered(table, rules))


@given(binned_tables())
@settings(max_examples=examples(50))
def test_remaining_rules_have_exact_counts_and_are_better_than_chance(table: TransactionTable) -> None:
    refined = refine(some_rules(table, min_confidence=0.6), table, cover=True)
    assert counts_are_right(table, refined)
    assert (refined.measure("confidence") > refined.measure("consequent_support")).all()


def test_simpler_versions_of_rules_with_a_superfluous_item_are_tested() -> None:
    """A learning miner may propose only the longer rule."""
    table = table_of("none")
    rules = Exact(max_antecedents=2, min_support=0.05, min_confidence=0.8).mine(table)
    longer = rules.take(rules.measure("antecedents") == 2)
    settings_ = {"significance": 0.05, "null": Null(draws=39), "min_support": 0.05, "min_confidence": 0.8}
    refined = refine(longer, table, **settings_)  # type: ignore[arg-type]
    assert len(refined) > 0
    assert (refined.measure("antecedents") == 1).any()
    assert refined.measure("p_adjusted").max() <= 0.05


def test_a_simpler_rule_that_appears_only_after_merging_is_tested_too() -> None:
    """Without ``b``, one bin of ``a`` is too weak but both merged are not: that rule is not in the first test."""
    cells = [(1, 1, 1, 20), (1, 0, 1, 10), (1, 0, 0, 10), (2, 1, 1, 20), (2, 0, 1, 16), (2, 0, 0, 4), (0, 1, 0, 60)]
    rows = np.array([cell[:3] for cell in [*cells, (0, 0, 0, 60)] for _ in range(4 * cell[3])])
    rows = np.random.default_rng(0).permutation(rows)
    names = (("a", bins(3)), ("b", ("no", "yes")), ("c", ("no", "yes")))
    columns = tuple(
        Column(Feature(name), values, rows[None, :, k].astype(np.int16)) for k, (name, values) in enumerate(names)
    )
    table = TransactionTable((Block(columns, len(rows)),))
    rules = recount(np.array([[1, 4], [2, 4]]), np.array([6, 6]), table)
    refined = refine(
        rules, table, significance=0.05, null=Null(draws=99), improvement=0.3, min_confidence=0.8, min_support=0.05
    )
    found = dict(zip(map(str, refined), refined.counts.n_both.tolist(), strict=True))
    assert found == {"(a).value ≥ 1.0 → (c).value = 'yes'": 264, "(a).value ≥ 2.0 → (c).value = 'yes'": 144}
    assert refined.measure("p_adjusted").max() <= 0.05


def test_no_rules_give_no_rules() -> None:
    refined = refine(RuleSet.empty("nothing found"), table_of("none", 20), significance=0.05, cover=True)
    assert len(refined) == 0
    assert refined.facts["refine"]["ratio"] == 1.0
    assert refined.notes[0] == "nothing found"


@pytest.mark.parametrize("wrong", [{"improvement": -0.1}, {"improvement": 2.0}, {"cover": 1.5}, {"cover": -1}])
def test_impossible_settings_are_refused(wrong: dict[str, float]) -> None:
    table = table_of("none", 20)
    with pytest.raises(ConfigError):
        refine(RuleSet.empty(), table, **wrong)  # type: ignore[arg-type]


def test_rules_of_another_table_are_refused_by_name() -> None:
    rules = Exact(max_antecedents=1, min_support=0.05, min_confidence=0.8).mine(table_of("lifted"))
    with pytest.raises(MiningError, match="pattern"):
        refine(rules, table_of("none"))
    plain = Exact(max_antecedents=1, min_support=0.05, min_confidence=0.8).mine(table_of("none"))
    net = network(50)
    other = build(window(net.sensors.select(["flow_P1", "flow_P2"]), "30min"), discretizer=Discretizer(bins=4))
    with pytest.raises(MiningError, match="no feature"):
        refine(plain, other)
