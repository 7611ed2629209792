"""Laws and controls that are monitored: the counts and alerts of rules, however the readings come."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import thence as th
from tests.helpers.plants import batch_of
from thence.checks.monitor.alerts import Alert
from thence.checks.monitor.engine import Monitor, MonitorSettings
from thence.checks.monitor.metrics import collect_metrics
from thence.runs.run import Run
from thence.statements.statement import Statement

DATA = th.datasets.load("net3", days=7)


@cache
def mined() -> Run:
    return th.mine(DATA, miner=th.Exact(min_support=0.3, max_antecedents=1), progress="off")


@cache
def readings() -> pl.DataFrame:
    return DATA.sensors.to_polars().sort("time")


def broken() -> pl.DataFrame:
    """Readings whose numbers are noise from the third day on."""
    frame, random = readings(), np.random.default_rng(0)
    later = pl.col("time") >= pl.col("time").min() + pl.duration(days=3)
    numeric = [name for name, kind in frame.schema.items() if kind.is_numeric()]
    noise = random.normal(0, 1e4, frame.height)
    noisy = (pl.when(later).then(pl.col(name) + pl.Series(noise)).otherwise(pl.col(name)) for name in numeric)
    return frame.with_columns(noisy)


def feed(monitor: Monitor, frame: pl.DataFrame, parts: int) -> list[Alert]:
    out: list[Alert] = []
    size = -(-frame.height // parts)
    for start in range(0, frame.height, size):
        out += monitor.add(batch_of(frame[start : start + size], monitor.roster))
    return out + monitor.finish()


def others(run: Run) -> list[Statement]:
    return [*(run.laws or ()), *(run.controls or ())]


def test_laws_and_controls_are_counted_as_they_were_found() -> None:
    run = mined()
    assert run.laws and run.controls
    monitor = Monitor(run, DATA, statements="all")
    assert not monitor.not_bound
    feed(monitor, readings(), 3)
    table = monitor.table()
    assert table["kind"].to_list() == [*["rule"] * len(run.rules), *(one.kind for one in others(run))]
    rows = table[len(run.rules) :].rows(named=True)
    for row, one in zip(rows, others(run), strict=True):
        assert row["satisfied"] + row["violated"] == one.counts.applies, one.sentence()
        assert row["satisfied"] == one.counts.holds, one.sentence()
        assert row["sentence"] == one.sentence() and row["status"] == "holds"
    alone = Monitor(run, DATA)
    feed(alone, readings(), 1)
    same = [name for name in table.columns if name != "status"]
    assert alone.table().select(same).equals(table[: len(run.rules)].select(same))
    only = Monitor(run, DATA, statements="laws")
    assert only.table()["kind"].unique().to_list() == ["law"] and not len(only.rules)


def test_a_law_that_no_longer_holds_is_told_and_the_parts_do_not_matter() -> None:
    run, later = mined(), broken()
    chosen = MonitorSettings(violations=True, block="12h")
    once, often = (Monitor(run, DATA, chosen, statements="laws,controls") for _ in range(2))
    alerts = feed(once, later, 1)
    assert [one.to_json() for one in feed(often, later, 29)] == [one.to_json() for one in alerts]
    assert often.table().equals(once.table())
    drifted = [one for one in alerts if one.kind == "drifted"]
    violated = [one for one in alerts if one.kind == "violated"]
    assert drifted and violated and all("rule" not in one.details for one in alerts)
    first = next(one for one in drifted if "law" in one.details)
    law = run.laws[first.details["law"] - 1]  # type: ignore[index]
    assert (first.details["key"], first.details["sentence"]) == (law.key, law.sentence())
    assert first.message.startswith(f"Law {first.details['law']} no longer holds: {law.sentence()}")
    metrics = collect_metrics(once, rejected={}, alerts={}, source={})
    assert ({"law": str(first.details["law"])}, True) in metrics["rule_drifted"][2]


def test_a_monitor_of_laws_goes_on_where_it_was_stopped() -> None:
    run, later = mined(), broken()
    chosen = MonitorSettings(violations=True)
    through = Monitor(run, DATA, chosen, statements="all")
    expected = [one.to_json() for one in feed(through, later, 1)]
    half = later["time"].min() + (later["time"].max() - later["time"].min()) / 2.1  # type: ignore[operator]
    first, second = (Monitor(run, DATA, chosen, statements="all") for _ in range(2))
    alerts = first.add(batch_of(later.filter(pl.col("time") < half), first.roster))
    second.restore(*first.to_state())
    alerts += second.add(batch_of(later.filter(pl.col("time") >= half), second.roster))
    alerts += second.finish()
    assert [one.to_json() for one in alerts] == expected and second.table().equals(through.table())
    with pytest.raises(th.errors.RunError, match="belongs to other rules"):
        Monitor(run, DATA, chosen).restore(*first.to_state())


def test_rejected_laws_and_laws_of_another_system_are_not_watched(tmp_path: Path) -> None:
    run = mined().save(tmp_path / "run")
    assert run.laws
    run.review(run.laws[0], "rejected")
    table = Monitor(run, DATA, statements="laws").table()
    assert table["status"].to_list()[:2] == ["left out", "unknown"]
    for law in run.laws:
        run.review(law, "rejected")
    with pytest.raises(th.errors.ConfigError, match=r"nothing to monitor: .* laws are left out"):
        Monitor(run, DATA, statements="laws")


def test_kinds_that_a_run_does_not_have() -> None:
    toy = th.datasets.load("toy")
    run = th.mine(toy, windows="1h", bins=3, confirm=False, progress="off")
    assert not run.controls
    with pytest.raises(th.errors.ConfigError, match="the run has no controls, so there is nothing to monitor"):
        Monitor(run, toy, statements="controls")
