"""Frames as tables: what is a number and what a state, what is missing, what is left out, and later data."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import thence as th
from tests.helpers.examples import examples
from thence.tables.frames import matching_names, read_columns
from thence.tables.identifiers import describe_unusable, find_unusable
from thence.tables.transactions import FeatureTable, TransactionTable


def states_of(frame: Any, name: str, **options: Any) -> Any:
    read = read_columns(frame, **options)
    return read.categories[[feature.subject for feature in read.features].index(name)]


def test_text_truth_values_and_few_whole_numbers_are_states() -> None:
    frame = pl.DataFrame(
        {
            "text": ["a", "b"] * 30,
            "truth": [True, False] * 30,
            "switch": [0, 1] * 30,
            "mode": [1, 2, 3] * 20,
            "count": list(range(60)),
            "size": [0.5, 1.5] * 30,
        }
    )
    read = read_columns(frame)
    assert read.categories == (("a", "b"), (False, True), (0.0, 1.0), (1.0, 2.0, 3.0), None, None)
    assert read.notes == ("read as states, since they are whole numbers with few values: 'switch', 'mode'",)


def test_floats_are_states_only_if_they_were_whole_numbers() -> None:
    gaps = [1.0, 2.0, 3.0, None] * 15
    assert states_of(pl.DataFrame({"x": gaps}), "x") == (1.0, 2.0, 3.0)
    assert states_of(pd.DataFrame({"x": gaps}), "x") == (1.0, 2.0, 3.0)
    assert states_of(pl.DataFrame({"x": [1.0, 2.0, 3.0] * 15}), "x") is None
    assert states_of(pl.DataFrame({"x": [0.0, 1.0] * 15}), "x") == (0.0, 1.0)
    assert states_of(pl.DataFrame({"x": [1, 2]}), "x") is None, "too few rows to tell"


def test_patterns_say_what_a_column_holds() -> None:
    frame = pl.DataFrame({"is_on": [0.5, 1.0], "is_off": [0, 1], "size": [1, 2], "code": ["1", "2"]})
    read = read_columns(frame, categorical="is_*", numeric=["size", "code"])
    assert read.categories == ((0.5, 1.0), (0.0, 1.0), None, None)
    with pytest.raises(th.errors.ConfigError, match=r"categorical: no column matches 'iz_on' .did you mean 'is_on'"):
        read_columns(frame, categorical=["iz_on"])
    with pytest.raises(th.errors.ConfigError, match="both categorical and numeric"):
        read_columns(frame, categorical="size", numeric="s*")
    with pytest.raises(th.errors.InputError, match="must hold numbers, got 'a'"):
        read_columns(pl.DataFrame({"x": ["a", "b"]}), numeric="x")
    assert matching_names("x[0]", ["x0", "x[0]"], option="ignore") == ["x[0]"]


@pytest.mark.parametrize("missing", [None, math.nan, pd.NA, pd.NaT, "", "   "])
def test_every_kind_of_missing_value_is_missing(missing: Any) -> None:
    frame = pd.DataFrame({"door": pd.Series(["open", missing, "shut"], dtype=object)})
    read = read_columns(frame)
    assert read.categories == (("open", "shut"),)
    assert np.isnan(read.numbers[:, 0]).tolist() == [False, True, False]


def test_spellings_of_a_state_are_one_state() -> None:
    table = TransactionTable.from_frame(pl.DataFrame({"s": ["1", "1.0", "01", "true", " 1", "open"]}))
    assert table.blocks[0].columns[0].values == ("01", "1", "open")
    assert table.codes[:, 0].tolist() == [1, 1, 0, 1, 1, 2]


def test_lists_and_empty_frames_are_refused() -> None:
    with pytest.raises(th.errors.InputError, match="numbers or categories"):
        read_columns(pl.DataFrame({"x": [[1], [2]]}))
    with pytest.raises(th.errors.InputError, match="no columns"):
        read_columns(pl.DataFrame())


def test_columns_that_no_rule_can_use() -> None:
    n = 40
    frame = pl.DataFrame(
        {
            "number": range(100, 100 + n),
            "name": [f"row {i}" for i in range(n)],
            "day": pl.Series(range(n)).cast(pl.Date),
            "price": [0.5 * i for i in range(n)],
            "population": [i * i for i in range(n)],
            "shape": ["flat", "tall"] * (n // 2),
            "empty": [None] * n,
        }
    )
    reasons = find_unusable(frame)
    assert reasons == {"number": "counts the rows", "name": "40 different texts in 40 rows", "day": "times"}
    assert describe_unusable(reasons)[0].startswith("left out: 'number' (counts the rows), 'name'")
    assert "name" not in find_unusable(frame, keep=frozenset({"name"}))
    assert not find_unusable(frame.head(5).drop("day")), "in five rows values that all differ say nothing"
    assert not describe_unusable({})


def respelled(value: Any, how: int) -> Any:
    """Another spelling of a state."""
    if value is None or not str(value).isdigit():
        return value
    return [str(value), f"{value}.0", f" {value}", f"{value}.00"][how]


@settings(max_examples=examples(40), deadline=None)
@given(st.data())
def test_like_gives_the_same_codes_on_shuffled_extended_and_respelled_data(data: st.DataObject) -> None:
    n = data.draw(st.integers(2, 25))
    states = st.sampled_from(["open", "shut", "1", "2", None])
    frame = pl.DataFrame(
        {
            "x": pl.Series(
                data.draw(st.lists(st.one_of(st.none(), st.floats(-9, 9)), min_size=n, max_size=n)), dtype=pl.Float64
            ),
            "s": pl.Series(data.draw(st.lists(states, min_size=n, max_size=n)), dtype=pl.String),
        }
    )
    table = TransactionTable.from_frame(frame, bins=3)
    order = np.array(data.draw(st.permutations(range(n))))
    how = data.draw(st.integers(0, 3))
    later = frame[order].select(
        pl.lit("more").alias("other"),
        pl.Series("s", [respelled(value, how) for value in frame[order]["s"]], dtype=pl.String),
        "x",
    )
    again = TransactionTable.from_frame(later, like=table)
    assert again.features == table.features
    assert again.codes.tolist() == table.codes[order].tolist()
    assert [c.values for c in again.blocks[0].columns] == [c.values for c in table.blocks[0].columns]
    assert not again.notes


def test_like_counts_what_the_earlier_table_does_not_have() -> None:
    table = TransactionTable.from_frame(pl.DataFrame({"s": ["open", "shut"] * 5, "t": ["a", "b"] * 5}))
    later = TransactionTable.from_frame(
        pl.DataFrame({"s": ["ajar", "open", "ajar"], "t": ["a", None, "c"]}), like=table
    )
    assert later.codes.tolist() == [[-1, 0], [0, -1], [-1, -1]]
    assert later.notes == ("values that the earlier table does not have are missing: 's' (2), 't' (1)",)
    with pytest.raises(th.errors.InputError, match="lacks columns of the earlier table: 't'"):
        TransactionTable.from_frame(pl.DataFrame({"s": ["open"]}), like=table)


def test_like_takes_a_run_a_discretizer_and_refuses_others() -> None:
    frame = pl.DataFrame({"x": [0.5 * i for i in range(40)], "c": ["u"] * 20 + ["v"] * 20})
    run = th.mine(frame, target="c", progress="off")
    assert isinstance(run.table, TransactionTable)
    assert TransactionTable.from_frame(frame, like=run).codes.tolist() == run.table.codes.tolist()
    by_bins = TransactionTable.from_frame(frame, like=run.discretizer)
    assert by_bins.codes.tolist() == run.table.codes.tolist()
    with pytest.raises(th.errors.ConfigError, match="cannot use bins of int"):
        TransactionTable.from_frame(frame, like=3)
    lifted = th.transactions(th.datasets.load("toy"), enrich="lifted")
    with pytest.raises(th.errors.ConfigError, match="not made from a data frame"):
        TransactionTable.from_frame(frame, like=lifted)


def test_given_edges_are_used() -> None:
    table = TransactionTable.from_frame(pl.DataFrame({"x": [0.5, 1.5, 2.5]}), bin_edges={"x": [1.0, 2.0]})
    assert table.codes[:, 0].tolist() == [0, 1, 2]


def test_a_feature_table_keeps_numbers_and_later_states() -> None:
    table = FeatureTable.from_frame(pl.DataFrame({"x": [0.5, None], "s": ["b", "a"]}), units={"x": "m"})
    assert table.features[0].unit == "m"
    later = FeatureTable.from_frame(pl.DataFrame({"s": ["a", "c"], "x": [2.5, 1.0]}), like=table)
    assert later.categories == table.categories
    assert later.numbers[0].tolist() == [2.5, 0.0]
    assert np.isnan(later.numbers[1, 1])
    assert later.notes
    assert table.discretize(th.tables.Discretizer(scope="sensor")).notes == table.notes
