"""Baskets: what is taken for one, that only presence counts, and that the rules are those of mlxtend."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from mlxtend.frequent_patterns import association_rules, fpgrowth

import thence as th
from tests.helpers.examples import examples
from thence.errors import ConfigError, InputError
from thence.language.items import Feature, Item
from thence.runs.configuration import Config
from thence.runs.pipeline import run_config
from thence.tables.baskets import basket_table, is_one_hot, read_baskets

LISTS = [
    ["milk", "onion", "beans", "eggs", "yogurt"],
    ["dill", "onion", "beans", "eggs", "yogurt"],
    ["milk", "apple", "beans", "eggs"],
    ["milk", "corn", "beans", "yogurt"],
    ["corn", "onion", "onion", "beans", "eggs"],
]
FRAME = read_baskets(LISTS)
ALL: Any = {"min_support": 0.6, "min_confidence": 0.7, "refine": None, "progress": "off"}


def pairs(frame: pd.DataFrame) -> set[tuple[frozenset[str], frozenset[str]]]:
    return set(zip(frame["antecedents"], frame["consequents"], strict=True))


def peers(frame: pd.DataFrame, **thresholds: float) -> pd.DataFrame:
    """The rules of mlxtend with one consequent."""
    sets = fpgrowth(frame, min_support=thresholds["min_support"], use_colnames=True)
    if sets.empty:
        return pd.DataFrame({"antecedents": [], "consequents": []})
    with np.errstate(all="ignore"):
        rules = association_rules(sets, metric="confidence", min_threshold=thresholds["min_confidence"])
    return rules[rules["consequents"].map(len) == 1]


@pytest.mark.parametrize(
    "source",
    [
        LISTS,
        tuple(map(frozenset, LISTS)),
        pd.Series(LISTS),
        FRAME,
        FRAME.to_pandas(),
        FRAME.to_arrow(),
        FRAME.to_pandas().astype(pd.SparseDtype(bool)),
        FRAME.cast(pl.Int8).to_pandas().astype(pd.SparseDtype(int)),
    ],
    ids=["lists", "sets", "series", "polars", "pandas", "arrow", "sparse", "sparse integers"],
)
def test_baskets_in_every_form_have_the_rules_of_mlxtend(source: Any) -> None:
    """Regression: Boolean columns were states, so that absence was an item too: 75 rules in the place of 10."""
    run = th.mine(source, max_antecedents=None, **ALL)
    assert pairs(run.rules.to_pandas()) == pairs(peers(FRAME.to_pandas(), min_support=0.6, min_confidence=0.7))
    assert sum("rows are baskets" in note for note in run.summary["notes"]) == 1
    assert "if onion, then eggs" in {rule.english for rule in run.rules}


@settings(max_examples=examples(40), deadline=None)
@given(
    st.lists(st.lists(st.booleans(), min_size=4, max_size=4), min_size=1, max_size=12),
    st.sampled_from([0.2, 0.5]),
    st.sampled_from([0.4, 1.0]),
)
def test_rules_measures_and_constants_are_those_of_mlxtend(rows: Any, support: float, confidence: float) -> None:
    frame = pd.DataFrame(rows, columns=list("abcd"))
    table = basket_table(pl.from_pandas(frame))
    ours = th.Exact(max_antecedents=None, min_support=support, min_confidence=confidence).mine(table).to_pandas()
    theirs = peers(frame, min_support=support, min_confidence=confidence)
    assert pairs(ours) == pairs(theirs)
    for name in ("support", "confidence", "lift") if len(ours) else ():
        both = ours.merge(theirs, on=["antecedents", "consequents"])
        assert np.allclose(both[f"{name}_x"], both[f"{name}_y"])


def test_a_sparse_matrix_has_items_by_number() -> None:
    matrix = scipy.sparse.csr_matrix(FRAME.to_numpy())
    run = th.mine(matrix, **ALL)
    assert len(run.rules) == 10 and {rule.consequent.feature.subject for rule in run.rules} <= set("01234567")
    with pytest.raises(InputError, match="0 and 1 only"):
        th.mine(matrix * 2, **ALL)


def test_basket_false_keeps_both_states_and_says_nothing_of_baskets() -> None:
    run = th.mine(FRAME, basket=False, **ALL)
    assert {item.value for item in run.rules.items} == {True, False}
    assert not any("rows are baskets" in note for note in run.summary["notes"])


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"a": [True, False], "b": [True, True]}, True),
        ({"colour_red": [1, 0], "colour_blue": [0, 1], "new": [True, False]}, True),
        ({"size=1": [1.0, 0.0], "size=2": [0.0, 0.0]}, True),
        ({"colour_red": [1, 0], "colour_blue": [1, 1]}, False),  # a row has two colours
        ({"smokes": [1, 0], "died": [0, 1]}, False),  # states: whole numbers with few values
        ({"a": [True, False], "size": [1.5, 2.5]}, False),
        ({"a": [True, False]}, False),
    ],
)
def test_what_is_a_basket_is_decided_by_all_columns(columns: Any, expected: bool) -> None:
    assert is_one_hot(pl.DataFrame(columns)) is expected


def test_states_of_0_and_1_are_baskets_on_request_and_a_note_says_how() -> None:
    frame = pl.DataFrame({"smokes": [1, 0, 1] * 10, "coughs": [1, 0, 1] * 10, "runs": [0, 1, 0] * 10})
    states = th.mine(frame, refine=None, progress="off")
    assert any("basket=True" in note for note in states.summary["notes"])
    baskets = th.mine(frame, basket=True, refine=None, progress="off")
    assert {rule.english for rule in baskets.rules} == {"if coughs, then smokes", "if smokes, then coughs"}
    with pytest.raises(InputError, match="must hold truth values"):
        th.mine(frame.with_columns(size=pl.lit("tall")), basket=True, progress="off")


def test_a_boolean_sensor_of_a_time_series_stays_a_state() -> None:
    hours = pl.datetime_range(pl.datetime(2024, 1, 1), pl.datetime(2024, 1, 9), "1h", eager=True)
    on = [at % 24 > 11 for at in range(len(hours))]
    frame = pl.DataFrame({"time": hours, "pump": on, "lamp": [not one for one in on]})
    run = th.mine(frame, windows="1h", refine=None, progress="off", controls=False)
    assert {item.value for item in run.rules.items if item.feature.subject == "pump"} == {"0", "1"}


def test_a_target_keeps_all_its_states() -> None:
    run = th.mine(FRAME, target="milk", min_support=0.1, refine=None, progress="off")
    assert {rule.consequent.value for rule in run.rules} == {True, False}


def test_rules_of_baskets_apply_to_frames_and_survive_files(tmp_path: Any) -> None:
    run = th.mine(LISTS, out=tmp_path / "run", confirm=False, min_support=0.4, progress="off", report=False)
    again = th.load_run(tmp_path / "run").rules
    assert [rule.english for rule in again] == [rule.english for rule in run.rules]
    assert again.applies(FRAME).shape == (5, len(again))
    item = again.items[0]
    assert item.feature.presence and Item.from_dict(item.to_dict()).feature.presence
    assert Item.parse(str(item)) == item == Item.is_(Feature(item.feature.subject), True)


def test_a_file_of_baskets_is_read_on_request(tmp_path: Any) -> None:
    path = tmp_path / "baskets.csv"
    FRAME.cast(pl.Int8).write_csv(path)
    given = {"input": {"sensors": str(path), "basket": True}, "miner": {"min_support": 0.6, "min_confidence": 0.7}}
    run = run_config(Config.from_mapping({**given, "refine": {"apply": False}}), progress="off")
    assert len(run.rules) == 10
    with pytest.raises(ConfigError, match="'basket' is for a table"):
        th.mine(dataset="toy", basket=True, progress="off")


def test_odd_items_are_refused_and_missing_ones_left_out() -> None:
    assert read_baskets([["a", None, float("nan")], [1]]).columns == ["1", "a"]
    with pytest.raises(InputError, match=r"basket 2.*must be a string or a number"):
        read_baskets([["a"], [["b"]]])


def test_every_rule_is_one_that_counting_finds() -> None:
    rules = th.mine(LISTS, **ALL).rules
    for rule, support in zip(rules, rules.measure("support"), strict=True):
        items = {item.feature.subject for item in (*rule.antecedent, rule.consequent)}
        assert sum(items <= set(basket) for basket in LISTS) == round(support * len(LISTS))
    assert len(list(itertools.chain(rules))) == 10
