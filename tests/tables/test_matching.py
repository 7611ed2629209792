"""Rules on frames: which rows satisfy items and antecedents, and what the best rule predicts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import thence as th
from thence.language.items import Feature, Interval, Item, Operator, Role
from thence.statements.rules.measures import Counts
from thence.statements.rules.prediction import laplace_accuracy
from thence.statements.rules.ruleset import Rule, RuleSet
from thence.tables.matching import column_of, item_mask, to_numbers

A, B, CLASS = Feature("a"), Feature("b"), Feature("class")


def rule_set(*rules: tuple[list[Item], Item, int, int]) -> RuleSet:
    """Rules with the rows of their antecedent and those in which they hold, of 100."""
    counts = Counts.from_matrix([[100, n_antecedent, 50, n_both] for _, _, n_antecedent, n_both in rules])
    return RuleSet.from_rules([Rule(tuple(left), right) for left, right, _, _ in rules], counts)


FRAME = pl.DataFrame({"a": [1.0, 2.0, 3.0, None], "b": ["x", "y", "x", "x"]})


@pytest.mark.parametrize(
    "convert",
    [lambda f: f, lambda f: f.lazy(), lambda f: f.to_pandas(), lambda f: f.to_arrow()],
    ids=["polars", "lazy", "pandas", "arrow"],
)
def test_every_kind_of_frame_gives_the_same_rows(convert: Any) -> None:
    rules = rule_set(
        ([Item.compare(A, ">=", 2.0)], Item.is_(CLASS, "u"), 10, 9), ([Item.is_(B, "x")], Item.is_(CLASS, "v"), 10, 8)
    )
    assert rules.applies(convert(FRAME)).tolist() == [[False, True], [True, False], [True, True], [False, True]]
    assert rules.predict(convert(FRAME)).tolist() == ["v", "u", "u", "v"]


def test_columns_may_be_in_any_order_beside_others() -> None:
    rules = rule_set(([Item.compare(A, ">=", 2.0), Item.is_(B, "x")], Item.is_(CLASS, "u"), 10, 9))
    wider = FRAME.select("b", pl.lit(1).alias("other"), "a")
    assert rules.applies(wider).ravel().tolist() == [False, False, True, False]


@pytest.mark.parametrize(
    "column",
    [
        pl.Series([1, 0, None]),
        pl.Series([1.0, 0.0, None]),
        pl.Series([1.0, 0.0, math.nan]),
        pl.Series(["1", "0", None]),
        pl.Series(["1.00", "0.0", ""]),
        pl.Series(["true", "False", "  "]),
        pl.Series([True, False, None]),
        pl.Series(["1", "0", None], dtype=pl.Categorical),
    ],
)
@pytest.mark.parametrize("state", [1.0, True, "1", "true", "1.0"])
def test_states_are_equal_however_they_are_written(column: pl.Series, state: Any) -> None:
    item = Item.is_(A, state)
    assert item_mask(item, column).tolist() == [True, False, False]
    assert item_mask(item.negated(), column).tolist() == [False, True, False]
    several = Item.among(A, [state, "other"])
    assert item_mask(several, column).tolist() == [True, False, False]
    assert item_mask(several.negated(), column).tolist() == [False, True, False]


NUMBERS = st.lists(st.one_of(st.none(), st.integers(-3, 3).map(float), st.floats(-3, 3)), min_size=1, max_size=8)
TESTS = st.one_of(
    st.tuples(st.sampled_from(["<", "<=", ">", ">=", "=", "!="]), st.integers(-3, 3)).map(
        lambda pair: Item.compare(A, pair[0], float(pair[1]))
    ),
    st.tuples(st.integers(-3, 2), st.integers(1, 3), st.booleans()).map(
        lambda ends: Item.among(A, Interval(ends[0], ends[0] + ends[1]), negated=ends[2])
    ),
)


@given(NUMBERS, TESTS)
def test_numbers_satisfy_an_item_as_it_says(values: list[float | None], item: Item) -> None:
    expected = [item.holds(value) for value in values]
    assert item_mask(item, pl.Series("a", values, dtype=pl.Float64)).tolist() == expected
    texts = [None if value is None else repr(value) for value in values]
    assert item_mask(item, pl.Series("a", texts, dtype=pl.String)).tolist() == expected


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_applies_agrees_with_the_table_that_was_mined(data: st.DataObject) -> None:
    n = data.draw(st.integers(6, 30))
    numbers = st.one_of(st.none(), st.integers(-5, 5).map(float), st.floats(-5, 5, allow_nan=False))
    frame = pl.DataFrame(
        {
            "a": pl.Series(data.draw(st.lists(numbers, min_size=n, max_size=n)), dtype=pl.Float64),
            "b": data.draw(st.lists(st.sampled_from(["x", "y", "1", "1.0", "", None]), min_size=n, max_size=n)),
            "c": data.draw(st.lists(st.sampled_from(["u", "v"]), min_size=n, max_size=n)),
        }
    )
    rules = th.Exact(min_support=0.01, min_confidence=0.0, consequent="c").mine(
        th.TransactionTable.from_frame(frame, bins=3)
    )
    applies = rules.applies(frame)
    known = frame["c"].is_not_null().to_numpy()
    for r in range(len(rules)):
        # Rows are counted if all columns of the rule are present, as they are where its antecedent holds.
        assert (applies[:, r] & known).sum() == rules.counts.n_antecedent[r], str(rules.rule(r))


def test_missing_columns_are_named_and_the_nearest_suggested() -> None:
    rules = rule_set(([Item.is_(Feature("shape"), "x"), Item.is_(Feature("size"), "y")], Item.is_(CLASS, "u"), 10, 9))
    with pytest.raises(th.errors.InputError, match=r"lacks 2 columns .*'shape', 'size'.*did you mean 'shapes'"):
        rules.applies(pl.DataFrame({"shapes": ["x"]}))


def test_text_in_a_column_of_numbers_is_named() -> None:
    rules = rule_set(([Item.compare(A, ">=", 2.0)], Item.is_(CLASS, "u"), 10, 9))
    with pytest.raises(th.errors.InputError, match=r"row 1: column 'a' must hold numbers, got 'high'"):
        rules.applies(pl.DataFrame({"a": ["3", "high"]}))
    with pytest.raises(th.errors.InputError, match="numbers or categories"):
        rules.applies(pl.DataFrame({"a": [[1], [2]]}))


def test_items_that_are_not_columns_are_refused() -> None:
    lifted = Feature("p", role=Role.VARIABLE, label="flow")
    assert column_of(lifted) is None
    assert column_of(Feature("s", name="change")) is None
    assert column_of(Feature("s", relative=True)) is None
    rules = rule_set(([Item.compare(lifted, ">=", 2.0)], Item.is_(CLASS, "u"), 10, 9))
    with pytest.raises(th.errors.ConfigError, match="not about a column"):
        rules.applies(FRAME)
    patterned = RuleSet.from_rules(
        [Rule((Item.is_(A, 1.0),), Item.is_(B, "x"), "(p:Pipe)", "for every Pipe p")],
        Counts.from_matrix([[1, 1, 1, 1]]),
    )
    with pytest.raises(th.errors.ConfigError, match="lifted rules are about places"):
        patterned.predict(FRAME)


def test_the_best_rule_is_the_most_trusted_then_the_most_frequent_then_the_shortest() -> None:
    everything = Item.compare(A, ">=", 0.0)
    rules = rule_set(
        ([everything], Item.is_(CLASS, "rare"), 3, 3),
        ([everything], Item.is_(CLASS, "often"), 100, 97),
    )
    assert rules.predict(pl.DataFrame({"a": [1.0]})).tolist() == ["often"]
    tied = rule_set(
        ([everything, Item.is_(B, "x")], Item.is_(CLASS, "long"), 10, 9),
        ([everything], Item.is_(CLASS, "short"), 10, 9),
    )
    assert tied.predict(pl.DataFrame({"a": [1.0], "b": ["x"]})).tolist() == ["short"]


def test_rows_without_a_rule_get_the_default() -> None:
    rules = rule_set(([Item.compare(A, ">=", 2.0)], Item.is_(CLASS, "u"), 10, 9))
    assert rules.predict(FRAME).tolist() == [None, "u", "u", None]
    assert rules.predict(FRAME, default="v").tolist() == ["v", "u", "u", "v"]
    assert RuleSet.empty().predict(FRAME, default="v").tolist() == ["v"] * 4


def test_predictions_have_the_type_of_the_states() -> None:
    rules = rule_set(
        ([Item.compare(A, ">=", 2.0)], Item.is_(CLASS, 1.0), 10, 9),
        ([Item.compare(A, "<", 2.0)], Item.is_(CLASS, 0.0), 10, 9),
    )
    whole = rules.predict(FRAME.head(3))
    assert whole.dtype == np.int64
    assert whole.tolist() == [0, 1, 1]
    truth = rule_set(([Item.compare(A, ">=", 0.0)], Item.is_(CLASS, True), 10, 9))
    assert truth.predict(FRAME.head(2)).dtype == bool
    ranges = rule_set(([Item.compare(A, ">=", 0.0)], Item.is_(CLASS, Interval(1, 2)), 10, 9))
    assert ranges.predict(FRAME.head(1))[0] == Interval(1, 2)


def test_rules_about_several_columns_need_a_target() -> None:
    rules = rule_set(
        ([Item.compare(A, ">=", 2.0)], Item.is_(CLASS, "u"), 10, 9),
        ([Item.compare(A, ">=", 2.0)], Item.is_(B, "x"), 10, 8),
    )
    with pytest.raises(th.errors.ConfigError, match="several columns: 'b', 'class'"):
        rules.predict(FRAME)
    assert rules.predict(FRAME, target="b").tolist() == [None, "x", "x", None]
    with pytest.raises(th.errors.ConfigError, match=r"no rule concludes about 'clas' .did you mean 'class'"):
        rules.predict(FRAME, target="clas")


def test_laplace_accuracy_prefers_evidence() -> None:
    few, many = laplace_accuracy(np.array([1, 90]), np.array([1, 100]), 2)
    assert few < many


def test_to_numbers_reads_what_is_a_number() -> None:
    assert to_numbers(pl.Series("x", [True, None])).tolist()[0] == 1.0
    assert math.isnan(to_numbers(pl.Series("x", [math.inf]))[0])


def test_a_pandas_frame_may_hold_every_kind_of_missing_value() -> None:
    frame = pd.DataFrame({"a": pd.array([1, None, 3], dtype="Int64"), "b": ["x", pd.NA, ""]})
    rules = rule_set(
        ([Item.compare(A, "!=", 2.0)], Item.is_(CLASS, "u"), 10, 9),
        ([Item.compare(B, "!=", "z")], Item.is_(CLASS, "u"), 10, 9),
    )
    assert rules.applies(frame).tolist() == [[True, True], [False, False], [True, False]]
    assert rules.applies(pa.table({"a": [1, None], "b": ["x", None]})).tolist() == [[True, True], [False, False]]
    assert Operator("!=") is Operator.NE
