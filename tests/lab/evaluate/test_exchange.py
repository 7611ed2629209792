"""What a miner of another process gets and returns is what was given, without pickle."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import thence as th
from thence.errors import ConfigError, GraphError
from thence.lab.baselines.narm import TSNARM
from thence.lab.evaluate.footprint import read_found, read_task, write_failure, write_found, write_task
from thence.language.constraints import ItemFilter
from thence.language.items import Feature, Interval, Item
from thence.search.aerial.miner import Aerial
from thence.search.aerial.settings import TrainingSettings
from thence.search.exact.miner import Exact
from thence.statements.rules.ruleset import RuleSet
from thence.tables.transactions import FeatureTable, TransactionTable

FRAME = pl.DataFrame({"a": ["x", "y"] * 20, "b": ["u", "v"] * 20, "c": [float(n) for n in range(40)]})


class Bare:
    """A miner that is no dataclass."""

    name = "bare"
    wants = "codes"

    def __init__(self, least: float) -> None:
        self.least = least

    def mine(self, table: TransactionTable, *, progress: object = None) -> RuleSet:
        return Exact(min_support=self.least).mine(table)


@pytest.mark.parametrize(
    "miner",
    [
        Exact(min_support=0.1, bounds={"min_lift": float("inf")}, near=[[[1], [0, 2], [1]]]),
        Exact(consequent=(ItemFilter(kind="flow", value=(1, 2)), "a = x")),
        Exact(antecedent=str(Item.among(Feature("a"), Interval(1, 2)))),
        Aerial(settings=TrainingSettings(epochs=3, widths=(4, 2))),
        TSNARM(algorithm="ga", time_limit=None, seed=2**40),
    ],
)
def test_settings_are_as_they_were(miner: Exact, tmp_path: Path) -> None:
    table = TransactionTable.from_frame(FRAME, bins=3)
    write_task(miner, table, tmp_path)
    again, codes = read_task(tmp_path)
    assert again == miner and type(again) is type(miner)
    assert isinstance(codes, TransactionTable) and codes.codes.tolist() == table.codes.tolist()


def test_a_miner_that_is_no_dataclass(tmp_path: Path) -> None:
    write_task(Bare(0.25), TransactionTable.from_frame(FRAME, bins=3), tmp_path)
    again, _ = read_task(tmp_path)
    assert isinstance(again, Bare) and again.least == 0.25


def test_numbers_categories_and_times(tmp_path: Path) -> None:
    times = np.array(["2024-01-01T00:00", "2024-01-01T01:00"], "datetime64[us]")
    numbers = np.array([[1.5, 0], [np.nan, 1]])
    table = FeatureTable((Feature("a"), Feature("b")), numbers, (None, ("é", True)), times, (False, True), ("n",))
    write_task(TSNARM(), table, tmp_path)
    _, again = read_task(tmp_path)
    assert isinstance(again, FeatureTable) and again.times is not None
    assert np.array_equal(again.numbers, numbers, equal_nan=True) and (again.times == times).all()
    assert (again.features, again.categories, again.context) == (table.features, table.categories, table.context)


def test_rules_come_back_with_all_that_is_known_of_them(tmp_path: Path) -> None:
    rules = Exact(min_support=0.1).mine(TransactionTable.from_frame(FRAME, bins=3)).top(3)
    assert read_found(tmp_path) is None
    write_found(rules, {"seconds": 0.5}, tmp_path)
    found = read_found(tmp_path)
    assert found is not None
    again, measured = found
    assert list(again) == list(rules) and measured == {"seconds": 0.5}
    assert (again.ending, again.ordered, again.notes) == (rules.ending, rules.ordered, rules.notes)
    assert again.data_coverage == rules.data_coverage


def test_an_error_comes_back_as_itself(tmp_path: Path) -> None:
    write_failure(GraphError("no such node", where="g.json", hint="look"), tmp_path)
    with pytest.raises(GraphError, match=r"g.json: no such node \(look\)"):
        read_found(tmp_path)


def test_a_miner_without_settings_that_can_be_written(tmp_path: Path) -> None:
    table = TransactionTable.from_frame(FRAME, bins=3)

    class Local(Exact):
        pass

    with pytest.raises(ConfigError, match="'exact' cannot run in a process of its own: its class"):
        write_task(Local(), table, tmp_path)
    with pytest.raises(ConfigError, match="a setting of type 'Thread'"):
        import threading

        write_task(Exact(near=[threading.Thread()]), table, tmp_path)
    result = th.evaluate.compare(table, [Local()], isolate=True)
    assert "process of its own" in result.to_polars()["note"][0]
