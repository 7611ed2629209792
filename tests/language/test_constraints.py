"""Constraints as one writes them: names, items as text, and the message when nothing fits."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thence as th
from thence.language.constraints import ItemFilter, explain_no_match, list_alternatives, prepare_constraint
from thence.language.items import Aspect, Feature, Interval, Item, Role

FLOW = Feature("f1", label="flow", place="P1")
LENGTH = Feature("P1", Aspect.PROPERTY, "length", role=Role.NODE)
SHAPE = Feature("shape")
FRAME = pl.DataFrame({"size": [1.0, 2.0, 3.0, 4.0] * 9, "class": ["flat", "flat", "tall", "tall"] * 9})


@pytest.mark.parametrize(
    "text", ["f1", "flow", "P1", "f*", "(f1:flow).value", "f1 >= 20", "20 <= f1 <= 40", "f1 < 31", "f1 != 7"]
)
def test_texts_that_match_an_item(text: str) -> None:
    assert ItemFilter(item=text).matches(Item.among(FLOW, Interval(23, 31)))


@pytest.mark.parametrize(
    "text", ["f2", "Flow", "f1 >= 24", "f1 = 23", "f1 > 31", "20 < f1 < 30", "f1 = open", "f1 != 25", "f1 >= open"]
)
def test_texts_that_do_not_match_it(text: str) -> None:
    assert not ItemFilter(item=text).matches(Item.among(FLOW, Interval(23, 31)))


@pytest.mark.parametrize("text", ["shape = 1", "shape == 1.0", "shape=true", "shape = '1'", "shape != 2", "shape"])
@pytest.mark.parametrize("state", [1.0, "1", True])
def test_states_match_however_they_are_written(text: str, state: float | str | bool) -> None:
    assert ItemFilter(item=text).matches(Item.is_(SHAPE, state))


def test_properties_are_called_by_their_name() -> None:
    item = Item.compare(LENGTH, ">=", 100.0)
    assert ItemFilter(item="length").matches(item)
    assert ItemFilter(item="length >= 50").matches(item)
    assert not ItemFilter(item="length >= 200").matches(item)


def test_a_constraint_may_be_a_text_or_several() -> None:
    assert list_alternatives("class") == (ItemFilter(item="class"),)
    assert list_alternatives(["a", ItemFilter(sensor="b"), {"item": "c = 1"}]) == (
        ItemFilter(item="a"),
        ItemFilter(sensor="b"),
        ItemFilter(item="c = 1"),
    )
    assert prepare_constraint("class") == "class"
    for wrong in ("", "  ", 3, b"x", Item.is_(SHAPE, "flat")):
        with pytest.raises(th.errors.ConfigError, match="a constraint must"):
            prepare_constraint(wrong)  # type: ignore[arg-type]


@given(st.sampled_from(["<", "<=", ">", ">="]), st.integers(-3, 3), st.integers(-3, 2), st.integers(1, 3))
def test_a_comparison_matches_ranges_within_it(operator: str, limit: int, low: int, width: int) -> None:
    item = Item.among(SHAPE, Interval(low, low + width))
    wanted = Item.compare(SHAPE, operator, float(limit))
    assert ItemFilter(item=f"shape {operator} {limit}").matches(item) is wanted.holds(Interval(low, low + width))


@pytest.mark.parametrize("miner", ["exact", "aerial"])
def test_a_column_name_restricts_the_consequents(miner: str) -> None:
    settings = {} if miner == "exact" else {"min_confidence": 0.0}
    rules = th.mine(
        FRAME, consequent="class", antecedent="size", miner=miner, refine=None, progress="off", **settings
    ).rules
    assert len(rules)
    assert {rule.consequent.feature.subject for rule in rules} == {"class"}
    flat = th.mine(FRAME, consequent="class = flat", refine=None, progress="off").rules
    assert {rule.consequent.value for rule in flat} == {"flat"}


@pytest.mark.parametrize(
    ("constraint", "message"),
    [
        ({"consequent": "clas"}, "constraint on the consequent .did you mean 'class'"),
        ({"consequent": "class = round"}, "items about 'class' are 'class = flat', 'class = tall'"),
        ({"antecedent": "weight"}, "constraint on the antecedent .names are 'class', 'size'"),
        ({"consequent": []}, "empty list"),
        ({"antecedent": th.ItemFilter(sensor="siz")}, "did you mean 'size'"),
    ],
)
def test_a_constraint_that_nothing_fits_is_an_error_at_once(constraint: dict[str, object], message: str) -> None:
    with pytest.raises(th.errors.ConfigError, match=message):
        th.mine(FRAME, progress="off", **constraint)


def test_a_constant_cannot_be_a_consequent() -> None:
    with pytest.raises(th.errors.ConfigError, match="cannot be in the consequent: it is constant"):
        th.mine(FRAME.with_columns(pl.lit("here").alias("place")), consequent="place", progress="off")


def test_nothing_to_explain_where_something_fits() -> None:
    assert explain_no_match([Item.is_(SHAPE, "flat")], "consequent", "shape = flat") is None
