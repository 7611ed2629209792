"""Rule sets: filters, order, set operations, frames and sentences."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import thence as th
from thence.errors import ConfigError
from thence.language.items import Aspect, Feature, Interval, Item, Role
from thence.search.exact.miner import Exact
from thence.statements.counting.recount import count_rules
from thence.statements.rules.measures import MEASURES, Counts
from thence.statements.rules.ruleset import Rule, RuleSet
from thence.tables.transactions import TransactionTable

HOUR = Feature("", name="hour", role=Role.TIME)


@pytest.fixture
def table() -> TransactionTable:
    rng = np.random.default_rng(3)
    a = rng.integers(0, 3, 300)
    frame = pl.DataFrame(
        {"a": a.astype(str), "b": ((a + (rng.random(300) < 0.1)) % 3).astype(str), "c": rng.normal(size=300)}
    )
    return TransactionTable.from_frame(frame, bins=3)


@pytest.fixture
def rules(table: TransactionTable) -> RuleSet:
    return Exact(min_support=0.02, min_confidence=0.5).mine(table)


def test_the_paper_columns_are_described(rules: RuleSet, table: TransactionTable) -> None:
    told = rules.describe()
    assert told["rules"] == len(rules) > 10
    assert told["mean_confidence"] == pytest.approx(rules.measure("confidence").mean())
    assert told["data_coverage"] == 1.0
    assert told["n_transactions"] == 300
    assert told["n_features"] == table.n_features
    assert rules.top(1).describe()["data_coverage"] < 1.0


def test_filters(rules: RuleSet) -> None:
    assert rules.filter(min_confidence=0.9).measure("confidence").min() >= 0.9
    assert rules.filter(max_support=0.1).measure("support").max() <= 0.1
    assert all("(c)" in str(rule) for rule in rules.filter(feature="(c)"))
    assert all("(b)" in str(rule.consequent) for rule in rules.filter(consequent="(b)"))
    assert len(rules.filter(where=lambda rule: len(rule.antecedent) == 1)) == (rules.measure("antecedents") == 1).sum()
    with pytest.raises(ConfigError, match="did you mean 'confidence'"):
        rules.filter(min_confidense=0.5)
    with pytest.raises(ConfigError, match="min_<measure>"):
        rules.filter(confidence=0.5)


def test_the_lowest_p_values_come_first(rules: RuleSet) -> None:
    p = np.linspace(0.9, 0.1, len(rules))
    p[0] = np.nan
    tested = replace(rules, extras={"p_value": p})
    assert tested.top(2, by="p_value").measure("p_value").tolist() == sorted(p[1:])[:2]
    assert np.isnan(tested.sort("p_value").measure("p_value")[-1])
    assert tested.sort("p_value", descending=True).measure("p_value")[0] == p[1]


def test_a_rule_set_travels_and_compares_by_identity(rules: RuleSet, table: TransactionTable) -> None:
    again = pickle.loads(pickle.dumps(rules))
    assert set(again) == set(rules)
    assert again.data_coverage == rules.data_coverage
    assert rules == rules and rules != again and table in [table]
    assert len({rules, again}) == 2


def test_order_does_not_depend_on_how_rules_were_found(rules: RuleSet, table: TransactionTable) -> None:
    shuffled = rules.take(np.random.default_rng(0).permutation(len(rules)))
    assert [str(r) for r in shuffled.sort("zhang")] == [str(r) for r in rules.sort("zhang")]
    columns = table.blocks[0].columns
    turned = Exact(min_support=0.02, min_confidence=0.5).mine(
        TransactionTable((replace(table.blocks[0], columns=columns[::-1]),))
    )
    assert set(turned.top(5, by="confidence")) == set(rules.top(5, by="confidence"))
    best = rules.top(5, by="confidence").measure("confidence")
    assert sorted(best, reverse=True) == best.tolist()
    assert best[0] == rules.measure("confidence").max()


def test_set_operations(rules: RuleSet) -> None:
    left, right = rules.take(np.arange(6)), rules.take(np.arange(4, 10))
    assert [str(r) for r in left & right] == [str(r) for r in rules.take(np.arange(4, 6))]
    assert len(left | right) == 10
    assert len(left - right) == 4
    assert len(RuleSet.concat([left, left]).unique()) == 6
    assert rules.rule(3) in rules
    assert rules[3] == rules.rule(3)
    assert len(rules[2:5]) == 3


def test_frames_have_the_names_of_the_field(rules: RuleSet) -> None:
    frame = rules.to_pandas()
    assert list(frame.columns[:5]) == [
        "antecedents",
        "consequents",
        "antecedent support",
        "consequent support",
        "support",
    ]
    assert isinstance(frame["antecedents"].iloc[0], frozenset)
    told = rules.to_polars()
    assert told.height == len(rules)
    assert set(MEASURES) <= set(told.columns)
    assert (told["n_both"] / told["n"]).to_list() == told["support"].to_list()


def test_every_rule_can_be_counted_again(rules: RuleSet, table: TransactionTable) -> None:
    again = count_rules(list(rules), table)
    assert again.counts == rules.counts


def test_a_rule_is_a_set_of_items() -> None:
    a, b, c = (Item.is_(Feature(name), "x") for name in "abc")
    assert Rule((b, a), c) == Rule((a, b, a), c)
    assert hash(Rule((b, a), c)) == hash(Rule((a, b), c))
    rule = Rule((a,), c, "(p:Pipe)", "for every Pipe p")
    assert Rule.from_dict(rule.to_dict()) == rule
    assert str(rule).startswith("(p:Pipe) ⊢ ")


def test_an_empty_set_says_why() -> None:
    empty = RuleSet.empty("every feature is constant")
    assert len(empty) == 0
    assert "every feature is constant" in str(empty)
    assert empty.describe()["mean_support"] is None
    assert empty.to_polars().height == 0
    assert len(empty.to_pandas()) == 0
    assert len(empty.top(3)) == 0


def test_plain_english() -> None:
    flow = Feature("f", label="flow", unit="m3/h", place="Pipe 28")
    size = Feature("Pipe 28", Aspect.PROPERTY, "length", role=Role.NODE, unit="m")
    rank = Feature("g", label="pressure", role=Role.VARIABLE, relative=True, place="j")
    rule = Rule(
        (Item.among(flow, Interval(23.04, 31.1)), Item.among(size, Interval(843, 895))),
        Item.among(rank, Interval(0.8, np.inf)),
    )
    assert rule.english == (
        "if the flow sensor in Pipe 28 (length 843–895 m) reads 23.04–31.1 m³/h, "
        "then the pressure of j is in its highest fifth"
    )
    between = Item.among(rank, Interval(0.1, 0.2))
    assert "between its 10th and 20th percentile" in Rule((between,), between.negated()).english
    hour = Item.is_(Feature("", name="hour", role=Role.TIME), 6.0)
    day = Item.is_(Feature("", name="weekday", role=Role.TIME), 5.0)
    assert Rule((hour,), day).english == "if the hour of day is 6:00, then the day is Saturday"


@pytest.mark.parametrize(
    ("label", "name", "text"),
    [
        ("", "", "the reading of r"),
        ("valve", "state", "the valve state of r"),
        ("flow", "change", "the change of the flow of r"),
    ],
)
def test_readings_of_a_variable_always_have_a_noun(label: str, name: str, text: str) -> None:
    item = Item.is_(Feature("d", name=name, role=Role.VARIABLE, label=label, place="r"), "shut")
    assert Rule((item,), item).english == f"if {text} is shut, then {text} is shut"


@pytest.mark.parametrize(
    ("item", "text"),
    [
        (Item.among(HOUR, Interval(9, 17)), "is from 9:00 to before 17:00"),
        (Item.among(HOUR, Interval(9, 17), negated=True), "is not from 9:00 to before 17:00"),
        (Item.among(HOUR, [6.0, 7.0], negated=True), "is not one of 6:00, 7:00"),
        (Item.among(HOUR, Interval(9, np.inf)), "is from 9:00 on"),
        (Item.among(HOUR, Interval(-np.inf, 9)), "is before 9:00"),
    ],
)
def test_hours_in_plain_english_say_what_is_excluded(item: Item, text: str) -> None:
    assert Rule((item,), Item.is_(Feature("a"), 1.0)).english.startswith(f"if the hour of day {text}, then")


def test_long_lists_are_cut(table: TransactionTable) -> None:
    rules = Exact(min_support=0.01, min_confidence=0.1).mine(table)
    assert f"… and {len(rules) - 20} more" in str(rules)


def test_concat_keeps_extra_columns_apart() -> None:
    item = Item.is_(Feature("a"), "x")
    one = RuleSet.from_rules(
        [Rule((item,), item.negated())], Counts.from_matrix([[4, 2, 2, 1]]), extras={"p": np.array([0.5])}
    )
    two = RuleSet.from_rules([Rule((item.negated(),), item)], Counts.from_matrix([[4, 2, 2, 1]]))
    both = RuleSet.concat([one, two])
    assert both.extras["p"][0] == 0.5
    assert np.isnan(both.extras["p"][1])


def test_a_negative_number_of_rules_is_an_error() -> None:
    # -1 gave no rules, in silence.
    with pytest.raises(ConfigError, match="the number of rules must be at least 0, got -1"):
        RuleSet.empty().top(-1)


def test_columns_of_another_length_are_refused_whoever_builds_the_set() -> None:
    """Regression: a column that was too short failed with an ``IndexError`` far from where it was made."""
    whole = RuleSet(
        (Item.is_(Feature("a"), "x"), Item.is_(Feature("b"), "y")),
        np.array([[0], [1]]),
        np.array([1, 0]),
        Counts.from_matrix([[10, 4, 5, 3]] * 2),
        (("(p:Pipe)", "for every pipe"),),
        np.array([0, -1]),
        {"score": np.array([0.5, 0.25])},
    )
    for changes, message in (
        ({"extras": {"score": np.array([0.5])}}, "'score' has 1 entries for 2 rules"),
        ({"extras": {"score": np.array(0.5)}}, "'score' has a single value for 2 rules"),
        ({"counts": whole.counts[:1]}, "'counts' has 1 entries for 2 rules"),
        ({"antecedents": np.array([[0]])}, "'antecedents' has 1 entries for 2 rules"),
        ({"antecedents": np.array([0, 1])}, "must be a matrix"),
        ({"antecedents": np.array([[0], [2]])}, "'antecedents' is outside of -1 to 1"),
        ({"consequents": np.array([0, -1])}, "'consequents' is outside of 0 to 1"),
        ({"pattern_of": np.array([0])}, "'pattern_of' has 1 entries for 2 rules"),
        ({"pattern_of": np.array([0, 1])}, "'pattern_of' is outside of -1 to 0"),
    ):
        with pytest.raises(ValueError, match=message):
            replace(whole, **changes)


def test_rules_whose_table_is_gone_have_no_coverage(tmp_path: Path) -> None:
    """Regression: a coverage that is not known was written as null, and could not be read again."""
    rules = RuleSet(
        (Item.is_(Feature("a"), "x"), Item.is_(Feature("b"), "y")),
        np.array([[0]]),
        np.array([1]),
        Counts.from_matrix([[9, 4, 5, 3]]),
    )
    again = th.read_rules(th.write_rules(rules, tmp_path / "rules.json"))
    assert rules.data_coverage is None and again.data_coverage is None


def test_a_rule_has_its_measures_as_attributes() -> None:
    table = TransactionTable.from_frame(pl.DataFrame({"a": ["x", "x", "y", None], "b": ["u", "v", "v", "v"]}))
    rules = Exact(min_confidence=0).mine(table)
    for number, rule in enumerate(rules):
        for name in MEASURES:
            assert getattr(rule, name) == rules.measure(name)[number] or np.isnan(rules.measure(name)[number])
    assert {"confidence", "lift", "zhang"} <= set(dir(rules[0]))
    assert rules[0] == pickle.loads(pickle.dumps(rules[0]))
    with pytest.raises(AttributeError, match="no attribute 'lft'"):
        _ = rules[0].lft
    with pytest.raises(ConfigError, match="was not counted"):
        _ = Rule(rules[0].antecedent, rules[0].consequent).lift
