"""Known rules as text: what is read, what is refused, and which features of a table they name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.language.test_items import items
from thence.errors import ConfigError, InputError
from thence.language.items import Aspect, Feature, Interval, Item, Role
from thence.language.known import KnownRule, resolve_item
from thence.runs.summaries import describe_known
from thence.statements.rules.measures import Counts
from thence.statements.rules.ruleset import Rule, RuleSet

LEVEL = Feature("L1", label="level", unit="m", place="Tank 1")
CHANGE = Feature("L1", name="change", label="level", unit="m", place="Tank 1")
PUMP = Feature("P1", label="status", place="Pump 1")
OTHER = Feature("P2", label="status", place="Pump 2")
POWER = Feature("Pump 1", Aspect.PROPERTY, "power", role=Role.NODE, label="Pump", unit="kW")
TABLE = {
    LEVEL: (Interval(0, 2), Interval(2, 9)),
    CHANGE: (Interval(-1, 0), Interval(0, 1)),
    PUMP: ("0", "1"),
    OTHER: ("off", "on"),
    POWER: (Interval(5, 9),),
}


@given(st.lists(items(), min_size=1, max_size=3), items())
def test_every_rule_is_its_own_text(left: list[Item], right: Item) -> None:
    rule = Rule(tuple(left), right)
    known = KnownRule.of(rule)
    assert KnownRule.parse(str(known)) == known
    assert KnownRule.from_mapping(known.to_mapping()) == known
    assert set(known.exact_items) == {*left, right}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("L1 < 3.3", Item.compare(LEVEL, "<", 3.3)),
        ("level <= 3.3", Item.compare(LEVEL, "<=", 3.3)),
        ("Tank 1 > 1,000", Item.compare(LEVEL, ">", 1000.0)),
        ("1 <= L1 < 2", Item.among(LEVEL, Interval(1, 2))),
        ("`Tank 1` < 3.3", Item.compare(LEVEL, "<", 3.3)),
        ("1 <= `L1` < 2", Item.among(LEVEL, Interval(1, 2))),
        ("change of L1 >= 0", Item.compare(CHANGE, ">=", 0.0)),
        ("P1 = on", Item.compare(PUMP, "=", "on")),
        ("P1 = true", Item.compare(PUMP, "=", "1")),
        ("P1 = 1.0", Item.compare(PUMP, "=", "1")),
        ("P2 != on", Item.compare(OTHER, "!=", "on")),
        ("power = 7", Item.compare(POWER, "=", 7.0)),
        ("(L1).value > 3.3", Item.compare(LEVEL, ">", 3.3)),
        ("(L1:level).value ∈ [1, 2)", Item.among(LEVEL, Interval(1, 2))),
    ],
)
def test_a_short_item_names_what_people_call_a_feature(text: str, found: Item) -> None:
    made = resolve_item(text, TABLE)
    assert made == found
    assert made.feature.unit == found.feature.unit


@pytest.mark.parametrize(
    ("text", "error", "says"),
    [
        ("status = on", ConfigError, r"can be several things.*\(P1:status\)"),
        ("lvel < 3", InputError, "did you mean 'level'"),
        ("(L2:level).value < 3", InputError, "did you mean"),
        ("level < high", ConfigError, "no comparison of numbers"),
        ("3 <= level < 2", ConfigError, "no value of 'level' is in that range"),
    ],
)
def test_what_cannot_be_meant_is_told(text: str, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        resolve_item(text, TABLE)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("level < 3", "one '=>'"),
        ("level < 3 => pump = on => valve = open", "one '=>'"),
        ("level => pump = on", "'level' is no item"),
        ("(L1.value < 3 => pump = on", "known rule: .*at character"),
        (" => pump = on", "one .=>."),
    ],
)
def test_text_that_is_no_rule_is_refused(text: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        KnownRule.parse(text)


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ({"if": "a < 3"}, "needs 'then'"),
        ({"if": "a < 3", "then": "b = 1", "nam": "x"}, "did you mean 'name'"),
        ({"if": 3, "then": "b = 1"}, "must be a string or a list"),
        ({"if": ["a < 3", 4], "then": "b = 1"}, "must be strings"),
        ({"if": [], "then": "b = 1"}, "needs an item on the left"),
    ],
)
def test_a_table_that_is_no_rule_is_refused(table: dict[str, object], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        KnownRule.from_mapping(table)


def test_connectives_within_quotes_do_not_split() -> None:
    rule = KnownRule.parse("(`a and b`).value = 'x => y' and c = 1 => d = 2")
    assert rule.antecedent == ("(`a and b`).value = 'x => y'", "c = 1")
    assert rule.exact_items == (Item.is_(Feature("a and b"), "x => y"),)
    escaped = KnownRule.parse(r"(a).value = 'it\'s x => y' => d = 2")
    assert escaped.exact_items == (Item.is_(Feature("a"), "it's x => y"),)


def test_an_apostrophe_within_a_word_opens_no_quotes() -> None:
    rule = KnownRule.parse("Tom's tank < 3 and Ann's tank < 2 => pump = on")
    assert rule.antecedent == ("Tom's tank < 3", "Ann's tank < 2")


def test_sentences_say_how_often_a_known_rule_holds() -> None:
    rules = [Rule((Item.is_(Feature("a"), x),), Item.is_(Feature("b"), x)) for x in ("u", "v", "w")]
    counted = RuleSet.from_rules(rules, Counts.from_matrix([[10, 4, 5, 3], [10, 1, 5, 1], [10, 0, 5, 0]]))
    assert [text.partition("[")[2] for text in describe_known(counted)] == [
        "holds in 3 of 4 rows, 75.0 %]",
        "holds in 1 of 1 row, 100.0 %]",
        "never applies]",
    ]
