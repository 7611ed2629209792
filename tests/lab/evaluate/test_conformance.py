"""Conformance checks can fail: each one catches a miner that breaks just the rule that it checks."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest

from thence.errors import MiningError
from thence.lab.evaluate import conformance as checks
from thence.lab.evaluate.conformance import brute_force_rules
from thence.language.constraints import ItemFilter
from thence.language.items import Item
from thence.search.exact.miner import Exact
from thence.statements.rules.measures import Counts
from thence.statements.rules.ruleset import Rule, RuleSet
from thence.tables.transactions import FeatureTable, TransactionTable

SOUND = Exact(min_support=0.05, min_confidence=0.6)


@dataclass(frozen=True, kw_only=True)
class Sound:
    """The exact miner, wrapped so that tests can break one thing at a time."""

    name: ClassVar[str] = "sound"
    wants: ClassVar[str] = "codes"
    exhaustive: ClassVar[bool] = True

    min_support: float = 0.05
    min_confidence: float = 0.6
    max_antecedents: int = 2
    antecedent: Any = None
    consequent: Any = None

    def mine(self, table: TransactionTable, *, progress: Any = lambda *_: None) -> RuleSet:
        if not isinstance(table, TransactionTable):
            raise MiningError("not a discretized table")
        progress("mining", 0, 1)
        return Exact(
            min_support=self.min_support,
            min_confidence=self.min_confidence,
            max_antecedents=self.max_antecedents,
            antecedent=self.antecedent,
            consequent=self.consequent,
        ).mine(table)


def broken(change: Callable[[Sound, Any, RuleSet], RuleSet], **attributes: Any) -> Any:
    """Create a miner whose result ``change`` alters."""

    @dataclass(frozen=True, kw_only=True)
    class Broken(Sound):
        def mine(self, table, *, progress=lambda *_: None):
            return change(self, table, Sound.mine(self, table, progress=progress))

    for name, value in attributes.items():
        setattr(Broken, name, value)
    return Broken()


def test_a_sound_miner_passes_all_checks():
    for check in checks.yield_checks(Sound()):
        check(Sound())


def miscounted(_, __, rules):
    counts = rules.counts
    return replace(rules, counts=Counts(counts.n, counts.n_antecedent, counts.n_consequent, counts.n_both - 1))


def over_all_rows(_, table, rules):
    counts = rules.counts
    whole = np.full_like(counts.n, table.n_rows)
    return replace(rules, counts=Counts(whole, counts.n_antecedent, counts.n_consequent, counts.n_both))


def doubled(_, __, rules):
    return rules.take(np.repeat(np.arange(len(rules)), 2))


def repeated_feature(_, table, rules):
    if not len(rules):
        return rules
    item = rules.rule(0).antecedent[0]
    listed = [Rule((item,), Item.is_(item.feature, "never"))]
    zero = np.zeros(1, np.int64)
    return RuleSet.from_rules(listed, Counts(zero, zero, zero, zero))


def writing(_, table, rules):
    if table.n_rows:
        table.blocks[0].columns[0].codes[0, 0] ^= 1
    return rules


def forgetful(_, __, rules):
    return rules.take(np.arange(len(rules) - len(rules) // 10))


def generous(miner, table, _):
    return Exact(min_support=0.001, min_confidence=0.3).mine(table)


def moody(_, __, rules):
    return rules.take(np.random.default_rng().permutation(len(rules)))


def meddling(_, __, rules):
    np.random.seed(3)  # noqa: NPY002
    return rules


def drawing(_, __, rules):
    random.random()
    return rules


def speechless(_, __, rules):
    return replace(rules, notes=())


def one_sided(_, table, rules):
    """Keep only rules whose consequent is in the first column."""
    first = table.blocks[0].columns[0].feature
    return rules.filter(where=lambda rule: rule.consequent.feature == first)


def nothing(_, __, rules):
    return RuleSet.empty("on purpose")


def trivial(_, table, rules):
    """Return rules whose consequent is a constant."""
    if table.n_rows and all(column.is_constant for column in table.blocks[0].columns):
        return Exact(min_support=0.1, context_consequents=True).mine(table)
    return rules


@pytest.mark.parametrize(
    ("change", "check"),
    [
        (miscounted, checks.check_counts_equal_brute_force),
        (over_all_rows, checks.check_counts_with_missing_values),
        (doubled, checks.check_form_of_rules),
        (repeated_feature, checks.check_form_of_rules),
        (writing, checks.check_input_is_not_changed),
        (forgetful, checks.check_equals_brute_force),
        (forgetful, checks.check_equals_brute_force_with_missing_values),
        (generous, checks.check_equals_brute_force),
        (moody, checks.check_same_settings_same_rules),
        (meddling, checks.check_global_random_state_is_left_alone),
        (drawing, checks.check_global_random_state_is_left_alone),
        (speechless, checks.check_empty_table),
        (one_sided, checks.check_column_order_does_not_matter),
        (nothing, checks.check_finds_something),
        (trivial, checks.check_constant_table),
    ],
)
def test_a_check_catches_the_fault_that_it_checks(change, check):
    check(Sound())
    with pytest.raises(AssertionError):
        check(broken(change))


def test_constraints_that_are_accepted_and_ignored_are_caught():
    deaf = broken(lambda miner, table, rules: Exact(min_support=0.05, min_confidence=0.6).mine(table))
    with pytest.raises(AssertionError, match="constraint on the antecedent"):
        checks.check_constraints(deaf)


def test_a_miner_that_cannot_take_one_row_is_caught():
    def fragile(_, table, rules):
        if table.n_rows == 1:
            raise ZeroDivisionError("rows − 1")
        return rules

    with pytest.raises(ZeroDivisionError):
        checks.check_one_row(broken(fragile))


def test_constraints_may_be_refused():
    def refusing(miner, table, rules):
        if isinstance(miner.antecedent, ItemFilter) or isinstance(miner.consequent, ItemFilter):
            raise MiningError("constraints are not supported")
        return rules

    checks.check_constraints(broken(refusing))


def test_a_miner_that_takes_any_table_is_caught():
    @dataclass(frozen=True, kw_only=True)
    class Greedy(Sound):
        def mine(self, table, *, progress=lambda *_: None):
            return RuleSet.empty("no rules") if isinstance(table, FeatureTable) else super().mine(table)

    with pytest.raises(AssertionError, match="accepted"):
        checks.check_wrong_kind_of_table(Greedy())


def test_progress_beyond_the_total_is_caught():
    @dataclass(frozen=True, kw_only=True)
    class Eager(Sound):
        def mine(self, table, *, progress=lambda *_: None):
            progress("mining", 3, 2)
            return super().mine(table)

    with pytest.raises(AssertionError, match="3 of 2"):
        checks.check_progress(Eager())


def test_a_column_without_values_in_a_rule_is_caught():
    def inventive(_, table, rules):
        gone = [column for column in table.blocks[0].columns if (column.codes < 0).all()]
        if not gone or not len(rules):
            return rules
        listed = [Rule((gone[0].item(0),), rules.rule(0).consequent)]
        one = np.ones(1, np.int64)
        return RuleSet.from_rules(listed, Counts(one, one, one, one))

    with pytest.raises(AssertionError, match="without values"):
        checks.check_column_of_missing_values(broken(inventive))


def test_counts_that_depend_on_the_order_of_columns_are_caught():
    def tilted(_, table, rules):
        first = table.blocks[0].columns[0].feature.subject
        return miscounted(_, table, rules) if first == "s1" else rules

    moved = broken(tilted, exhaustive=False)
    assert checks.check_column_order_does_not_change_counts in list(checks.yield_checks(moved))
    with pytest.raises(AssertionError, match="order of the columns"):
        checks.check_column_order_does_not_change_counts(moved)


def test_name_and_wants_are_checked():
    with pytest.raises(AssertionError, match="lower-case"):
        checks.check_protocol(broken(lambda _, __, rules: rules, name="Sound"))
    with pytest.raises(AssertionError, match="must be 'codes' or 'numbers', got 'rows'"):
        checks.check_protocol(broken(lambda _, __, rules: rules, wants="rows"))


def test_checks_depend_on_the_attributes_of_the_miner():
    promised = {check.__name__ for check in checks.yield_checks(Sound())}
    fewer = {check.__name__ for check in checks.yield_checks(Sound(), exhaustive=False)}
    assert promised - fewer == {
        "check_equals_brute_force",
        "check_equals_brute_force_with_missing_values",
        "check_column_order_does_not_matter",
    }
    assert fewer - promised == {"check_column_order_does_not_change_counts"}


def test_thresholds_of_the_enumeration_are_exact():
    """0.07 × 100 is slightly above 7 in binary arithmetic, but 7 of 100 rows reach a threshold of 0.07."""
    table = checks.sample_table(SOUND, rows=40)
    assert isinstance(table, TransactionTable)
    rules = brute_force_rules(table, min_support=0.1, min_confidence=0.0, max_antecedents=1)
    assert min(counts[3] for counts in rules.values()) == 4
