"""Comparison of miners: the table of results, overlap, cost, and the nine published methods on small data."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import thence as th
from thence.errors import ConfigError, MiningError
from thence.lab.baselines.exhaustive import FPGrowth
from thence.lab.baselines.narm import TSNARM
from thence.lab.evaluate.comparison import METHODS, Comparison, compare, make_method, measure_overlap, published_methods
from thence.lab.evaluate.footprint import run_here, run_isolated
from thence.search.base import make_miner
from thence.search.exact.miner import Exact
from thence.statements.rules.ruleset import RuleSet
from thence.tables.frames import raw_columns
from thence.tables.transactions import FeatureTable, TransactionTable

SMALL = {"population": 12, "evaluations": 150}


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Several threads only slow down networks this small."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def frame(rows: int = 60) -> pl.DataFrame:
    draw = np.random.default_rng(0)
    load = draw.integers(0, 3, rows)
    noise = draw.random((3, rows))
    return pl.DataFrame({"flow": load + noise[0], "level": 3.0 - load + noise[1], "other": noise[2]})


@pytest.fixture(scope="module")
def table():
    return TransactionTable.from_frame(frame(), bins=3)


@pytest.fixture(scope="module")
def numbers():
    return FeatureTable(*raw_columns(frame(), units={}))


def small_methods() -> dict:
    """The nine published methods with smaller budgets."""
    methods = published_methods(seed=1, **SMALL)
    methods["Aerial"] = make_miner("aerial", seed=1, similarity=0.6, epochs=40)
    return methods


def check_nine(result: Comparison) -> None:
    assert len(result.methods) == len(METHODS) == 9
    for row in result.rows:
        assert row["rules"], f"{row['method']} found nothing: {row['note']}"
        assert row["seconds"] > 0
        assert 0 <= row["support"] <= row["confidence"] <= 1
        assert row["support"] <= row["rule_coverage"] <= 1
        assert 0 < row["data_coverage"] <= 1
        assert -1 <= row["zhang"] <= 1
    assert result.overlap("FP-Growth", "HMine") == 1.0
    assert np.allclose(result.overlaps, result.overlaps.T)
    assert (np.diag(result.overlaps) == 1).all()
    weakest = min(result.rows, key=lambda row: row["confidence"])
    assert weakest["method"] in ("ARM-AE", "GA", "PSO", "DE", "jDE", "LSHADE")


def test_all_nine_methods_on_toy():
    check_nine(compare(th.datasets.load("toy"), small_methods(), windows="1h", bins=3))


def test_all_nine_methods_on_net3():
    pytest.importorskip("wntr")
    data = th.datasets.load("net3")
    ids = [s.id for s in data.sensors.sensors]
    few = data.sensors.select([ids[i] for i in np.linspace(0, len(ids) - 1, 6).round().astype(int)])
    table = th.transactions(few, windows="2h", bins=3)
    check_nine(compare(table, small_methods(), feature_table=th.baselines.feature_table(few, windows="2h")))


def test_the_row_of_a_method_summarises_its_rules(table):
    result = compare(table, [Exact(min_support=0.05)])
    summary = Exact(min_support=0.05).mine(table).describe()
    row = result.rows[0]
    assert row["method"] == "exact"
    assert (row["rules"], row["support"], row["confidence"]) == (
        summary["rules"],
        summary["mean_support"],
        summary["mean_confidence"],
    )
    assert (row["rule_coverage"], row["zhang"], row["data_coverage"]) == (
        summary["mean_rule_coverage"],
        summary["mean_zhang"],
        summary["data_coverage"],
    )
    assert list(result.rules["exact"]) == list(Exact(min_support=0.05).mine(table))


def test_overlap_is_jaccard(table):
    rules = Exact(min_support=0.01, min_confidence=0.1).mine(table)
    assert len(rules) > 8
    first, second = rules.take(np.arange(6)), rules.take(np.arange(4, 8))
    # Two rules in common, eight in all; the order of rules and of item numbers does not matter.
    shuffled = RuleSet.from_rules(list(second)[::-1], second.counts[::-1])
    assert measure_overlap([first, shuffled]).tolist() == [[1.0, 2 / 8], [2 / 8, 1.0]]
    assert measure_overlap([first, RuleSet.empty()])[0, 1] == 0.0
    repeated = first.take(np.array([0, 0, 1, 2, 3, 4, 5]))
    assert measure_overlap([first, repeated])[0, 1] == 1.0


def test_overlap_tells_patterns_apart(table):
    rules = Exact(min_support=0.05).mine(table)
    placed = [
        RuleSet(
            rules.items,
            rules.antecedents,
            rules.consequents,
            rules.counts,
            ((name, name),),
            np.zeros(len(rules), np.int32),
        )
        for name in ("(a)-[x]->(b)", "(a)-[y]->(b)")
    ]
    assert measure_overlap([placed[0], placed[1], placed[0]])[0].tolist() == [1.0, 0.0, 1.0]


def test_a_method_that_cannot_read_the_table_keeps_its_row(table):
    result = compare(table, ["exact", "de", "naive-semrl"])
    assert [row["rules"] is None for row in result.rows] == [False, True, True]
    assert "feature_table" in result.rows[1]["note"]
    assert "existential_table" in result.rows[2]["note"]
    assert "de: " in str(result)
    assert result.to_polars()["rules"].null_count() == 2


def test_seed_overrides_the_miners_seed_and_labels_are_unique(table, numbers):
    miners = [TSNARM(seed=1, **SMALL), TSNARM(seed=2, **SMALL)]
    same = compare(table, miners, feature_table=numbers, seed=5)
    assert same.methods == ("DE", "DE #2")
    assert same.overlap("DE", "DE #2") == 1.0
    apart = compare(table, miners, feature_table=numbers)
    assert apart.overlap("DE", "DE #2") < 1.0


@pytest.mark.parametrize("seed", [-1, 1.5, "a", 2**70])
def test_an_invalid_seed_is_refused_before_mining(table, seed):
    """It used to raise the ``ValueError`` of the random generator."""
    with pytest.raises(ConfigError, match="seed must be an integer"):
        compare(table, ["aerial", "exact"], seed=seed)


def test_methods_may_depend_on_earlier_ones(table):
    result = compare(table, {"all": Exact(min_support=0.05), "half": lambda done: FPGrowth.half_of(done["all"])})
    assert result.methods == ("all", "half")
    assert result.rows[1]["rules"] > 0
    alone = compare(table, published_methods(["fpgrowth"]))
    assert "Aerial's rules" in alone.rows[0]["note"]


def test_misspelt_names_are_found_before_anything_runs(table):
    with pytest.raises(ConfigError, match="did you mean 'exact'"):
        compare(table, ["fpgrowth", "exakt"])
    with pytest.raises(ConfigError, match="miners must be a list or a mapping, got 'exact'"):
        compare(table, "exact")
    with pytest.raises(ConfigError, match="'windows' is a setting for building tables"):
        compare(table, ["exact"], windows="1h")
    with pytest.raises(ConfigError, match="data must be a System or a table, got list"):
        compare([1, 2], ["exact"])
    assert make_method("ga", **SMALL) == TSNARM(algorithm="ga", **SMALL)


def test_csv_terminal_and_chart(table, tmp_path):
    result = compare(table, ["exact", "fpgrowth"])
    read = pl.read_csv(result.to_csv(tmp_path / "comparison.csv"))
    assert read.columns[:3] == ["method", "rules", "support"]
    assert read["confidence"].to_list() == [row["confidence"] for row in result.rows]
    assert read["overlap fpgrowth"].to_list() == [1.0, 1.0]
    from rich.console import Console

    console = Console(width=120)
    with console.capture() as shown:
        console.print(result.table(), result.overlap_table())
    assert "fpgrowth" in shown.get() and "Jaccard" in shown.get()
    assert str(result).splitlines()[0].split()[:3] == ["method", "rules", "support"]
    result.plot(tmp_path / "comparison.svg")
    assert (tmp_path / "comparison.svg").read_text(encoding="utf-8").startswith("<svg")
    result.plot(tmp_path / "comparison.png")
    assert (tmp_path / "comparison.png").read_bytes()[:4] == b"\x89PNG"
    with pytest.raises(ConfigError, match="cannot be written"):
        result.plot(tmp_path / "comparison.pdf")


def test_an_isolated_process_gives_the_same_rules(table):
    miner = Exact(min_support=0.05)
    here, there = run_here(miner, table), run_isolated(miner, table)
    assert list(here.rules) == list(there.rules)
    assert here.rules.data_coverage == there.rules.data_coverage
    assert there.peak_bytes is not None and there.seconds > 0
    with pytest.raises(MiningError, match="reads raw numbers"):
        run_isolated(TSNARM(), table)


def test_peak_memory_is_that_of_the_run(table):
    class Hungry(Exact):
        def mine(self, table, **rest):
            hoard = np.ones(100 << 17)  # 100 MB: more than earlier tests can have left free in the process
            return super().mine(table, **rest) if hoard.any() else RuleSet.empty()

    peak = run_here(Hungry(), table).peak_bytes
    if peak is None:
        pytest.skip("peak memory is not known on this system")
    assert 95 < peak / 2**20 < 300
