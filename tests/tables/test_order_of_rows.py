"""Rows without times are independent of each other: nothing that is found may depend on the order they are given in."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import thence as th
from thence.errors import ConfigError, InputError
from thence.search.refine import Null, p_values
from thence.statements.rules.ruleset import RuleSet
from thence.tables.transactions import FeatureTable, TransactionTable


def flowers(rows: int = 240) -> pl.DataFrame:
    """Three classes, two lengths that depend on the class and one that does not; in no order."""
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 3, rows)
    lengths = {f"length{k}": np.round(kind * (k < 2) + rng.normal(0, 0.4, rows), 2) for k in range(3)}
    return pl.DataFrame({**lengths, "kind": [f"k{one}" for one in kind]})


def orders() -> dict[str, pl.DataFrame]:
    """The same rows as they are, shuffled, reversed and sorted by class and by a length."""
    frame = flowers()
    shuffled = frame[np.random.default_rng(1).permutation(len(frame))]
    sorted_ = {"class": frame.sort("kind"), "length": frame.sort("length0", "kind")}
    return {"as is": frame, "shuffled": shuffled, "reversed": frame.reverse(), **sorted_}


def written(rules: RuleSet) -> list[Any]:
    """The rules and their numbers, which must be equal to the last digit."""
    columns = {name: np.nan_to_num(rules.measure(name), nan=-1).tolist() for name in ("support", "confidence")}
    columns |= {name: np.nan_to_num(column, nan=-1).tolist() for name, column in rules.extras.items()}
    return [[str(rule) for rule in rules], columns, [note for note in rules.notes if "refined" not in note]]


def mine_exact(frame: pl.DataFrame) -> RuleSet:
    table = TransactionTable.from_frame(frame, bins=4)
    return th.evaluate.add_confidence_bound(
        th.Exact(min_confidence=0.7, max_antecedents=2).mine(table), table, min_confidence=0.7
    )


def find_significant(frame: pl.DataFrame) -> RuleSet:
    table = TransactionTable.from_frame(frame, bins=4)
    return p_values(th.Exact(min_confidence=0.7, max_antecedents=2).mine(table), table, null=Null(draws=39))


def sharpen_ranges(frame: pl.DataFrame) -> RuleSet:
    table = TransactionTable.from_frame(frame, bins=4)
    rules = th.Exact(consequent="kind", min_confidence=0.6, max_antecedents=1).mine(table)
    return th.refine(rules, table, sharpen=True, assurance=0.95, significance=0.05, null=Null(draws=39))


def mine_aerial(frame: pl.DataFrame) -> RuleSet:
    return th.mine(frame, target="kind", miner="aerial", bins=4, epochs=20, progress="off").rules


def mine_default(frame: pl.DataFrame) -> RuleSet:
    return th.mine(frame, target="kind", progress="off").rules


@pytest.mark.parametrize("find", [mine_exact, find_significant, sharpen_ranges, mine_aerial, mine_default])
def test_rules_do_not_depend_on_the_order_of_rows(find: Any) -> None:
    """Regression: neighbouring rows were taken for a time series where there is no time.

    Aerial found 390 rules in a table of 569 tumours in random order, 183 as it is published, and none sorted by class:
    a class that came in one piece was one episode.
    """
    found = {name: written(find(frame)) for name, frame in orders().items()}
    assert found["as is"][0]
    assert all(rules == found["as is"] for rules in found.values())


def test_a_classifier_does_not_depend_on_the_order_of_rows() -> None:
    pytest.importorskip("sklearn")
    frame = flowers()
    fitted = [th.estimators.RuleClassifier().fit(one.drop("kind"), one["kind"].to_numpy()) for one in orders().values()]
    for one in fitted:
        assert [str(rule) for rule in one.rules_] == [str(rule) for rule in fitted[0].rules_]
        assert one.predict(frame.drop("kind")).tolist() == fitted[0].predict(frame.drop("kind")).tolist()


def test_a_column_of_times_says_that_rows_follow_each_other() -> None:
    """Sixty rows in two runs are two observations if they follow each other, and sixty if they do not."""
    hours = np.datetime64("2024-01-01T00", "us") + np.arange(60) * np.timedelta64(1, "h")
    frame = pl.DataFrame({"when": hours, "a": ["x"] * 30 + ["y"] * 30, "b": ["u"] * 30 + ["v"] * 30})
    plain, timed = TransactionTable.from_frame(frame.drop("when")), TransactionTable.from_frame(frame, time="when")
    assert not plain.is_ordered and timed.is_ordered
    assert timed.features == plain.features and np.array_equal(timed.codes, plain.codes)
    for table, known in ((plain, True), (timed, False)):
        bound = th.evaluate.add_confidence_bound(th.Exact().mine(table), table).measure("assured_confidence")
        assert (np.isfinite(bound) == known).all()
    assert np.array_equal(FeatureTable.from_frame(frame, time="when").times, hours)
    assert timed.shuffled().codes.tolist() == timed.codes.tolist()
    assert sorted(plain.shuffled().codes.tolist()) == sorted(plain.codes.tolist())


def test_rows_of_a_target_are_put_in_the_order_of_their_times() -> None:
    hours = np.datetime64("2024-01-01T00", "us") + np.arange(240) * np.timedelta64(1, "h")
    frame = flowers().with_columns(pl.Series("when", hours))
    there, back = (th.mine(one, target="kind", progress="off", refine=None) for one in (frame, frame.reverse()))
    assert isinstance(there.table, TransactionTable) and isinstance(back.table, TransactionTable)
    assert there.table.is_ordered
    assert np.array_equal(there.table.codes, back.table.codes)
    assert "rows follow each other in the order of 'when'" in there.table.notes


def test_times_that_cannot_be_used_are_refused() -> None:
    days = pl.Series("when", ["2024-01-02", "2024-01-01", "2024-01-03"]).str.to_date()
    frame = pl.DataFrame({"when": days, "a": [1, 2, 3]})
    for wrong, time, error in (
        (frame, "when", InputError),
        (frame, "a", InputError),
        (frame, "whne", ConfigError),
        (frame.with_columns(when=pl.Series([days[1], None, days[0]])), "when", InputError),
    ):
        with pytest.raises(error):
            TransactionTable.from_frame(wrong, time=time)
