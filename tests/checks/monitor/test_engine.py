"""A monitor that is fed row by row, stopped and restored at any moment equals ``th.apply`` on the whole."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import thence as th
from tests.helpers.failures import logged_failures, no_failures
from tests.helpers.plants import batch_of, mined, plant, rows_of
from thence.checks.monitor.alerts import Alert
from thence.checks.monitor.batches import Batch
from thence.checks.monitor.engine import Monitor, MonitorSettings
from thence.checks.monitor.service import Service
from thence.checks.monitor.sources.base import Delivery
from thence.statements.rules.ruleset import Rule

STATES = ("satisfied", "violated", "not_applicable", "missing")
TOY = th.datasets.load("toy")
WAYS: list[dict[str, Any]] = [
    {"enrich": "none"},
    {"enrich": "grounded"},
    {"enrich": "existential", "max_antecedents": 1},
    {"enrich": "lifted"},
    {"enrich": "none", "derive": ["change", "lag:2", "hour"], "max_antecedents": 1},
    {"enrich": "lifted", "derive": ["switch", "duration", "within:2h", "lag:1"], "max_antecedents": 1},
]


def feed(monitor: Monitor, rows: list[tuple[int, int, float]], sizes: list[int]) -> list[Alert]:
    out: list[Alert] = []
    at = 0
    for size in [*sizes, len(rows)]:
        out += monitor.add(Batch.of(rows[at : at + size]))
        at += size
    return out + monitor.finish()


def assert_equal_to_apply(monitor: Monitor, run: th.Run, data: Any) -> None:
    applied = th.apply(run, data).by_rule()
    found = monitor.table()
    for name in STATES:
        assert found[name].to_list() == applied[name].to_list(), name


@pytest.mark.parametrize("way", WAYS, ids=lambda way: "-".join(map(str, way.values())))
def test_row_by_row_equals_apply(way: dict[str, Any]) -> None:
    run = th.mine(TOY, windows="1h", bins=3, progress="off", refine=None, **way)
    monitor = Monitor(run, TOY)
    assert not monitor.frames.not_bound and not monitor.notes
    rows = rows_of(TOY.sensors.to_polars(), monitor.roster)
    feed(monitor, rows, [1] * len(rows))
    assert_equal_to_apply(monitor, run, TOY)
    assert {block.n_frames for block in run.table.blocks} == {monitor.n_windows}


@pytest.fixture(scope="module")
def run() -> th.Run:
    return mined(refine=None, derive=["switch", "duration", "lag:1"])


@settings(max_examples=12, deadline=None)
@given(st.data())
def test_any_order_and_any_batches_equal_apply(run: th.Run, data: st.DataObject) -> None:
    """With states, numbers at rest, missing readings, duplicates and gaps of hours."""
    seed = data.draw(st.integers(0, 10_000))
    random = np.random.default_rng(seed)
    later = plant(5, seed=seed, broken_from=3, first_day=40)
    keep = random.random(later.height) > 0.1
    keep[200:260] = False
    later = later.filter(pl.Series(keep)).with_columns(
        pl.when(pl.Series(random.random(int(keep.sum())) > 0.05)).then(pl.col("flow")).alias("flow")
    )
    monitor = Monitor(run, as_system(later), MonitorSettings(lateness="3h", block="1d"))
    rows = rows_of(later, monitor.roster)
    rows += [rows[at] for at in random.integers(0, len(rows), 20)]
    order = np.argsort(np.array([time for time, _, _ in rows]) + random.integers(0, 3 * 3_600_000_000, len(rows)))
    mixed = [rows[at] for at in order]
    feed(monitor, mixed, data.draw(st.lists(st.integers(1, 400), max_size=12)))
    found = monitor.open.found
    assert (found["late"], found["repeated"], found["conflicting"]) == (0, 20, 0)
    assert_equal_to_apply(monitor, run, later)


def as_system(frame: pl.DataFrame) -> th.System:
    return th.read_system(frame)


@settings(max_examples=8, deadline=None)
@given(st.data())
def test_stopped_and_restored_equals_one_that_ran_through(data: st.DataObject) -> None:
    run = mined(days=10)
    later = plant(12, seed=3, broken_from=4, first_day=10)
    chosen = MonitorSettings(block="12h", violations=True)
    through = Monitor(run, as_system(later), chosen)
    rows = rows_of(later, through.roster)
    expected = [alert.to_json() for alert in feed(through, rows, [len(rows) // 3])]
    alerts: list[str] = []
    monitor = Monitor(run, as_system(later), chosen)
    at = 0
    for size in data.draw(st.lists(st.integers(1, 2_000), max_size=8)):
        alerts += [alert.to_json() for alert in monitor.add(Batch.of(rows[at : at + size]))]
        at += size
        again = Monitor(run, as_system(later), chosen)
        again.restore(*monitor.to_state())
        monitor = again
    alerts += [alert.to_json() for alert in monitor.add(Batch.of(rows[at:])) + monitor.finish()]
    assert alerts == expected
    assert monitor.table().equals(through.table(), null_equal=True)
    assert monitor.over_time().equals(through.over_time())


def test_a_rule_that_no_longer_holds_is_told_once() -> None:
    run = mined(days=30)
    later = plant(30, seed=5, broken_from=10, first_day=30)
    monitor = Monitor(run, as_system(later))
    alerts = feed(monitor, rows_of(later, monitor.roster), [5_000])
    drifted = [alert for alert in alerts if alert.kind == "drifted"]
    assert drifted and len({alert.details["rule"] for alert in drifted}) == len(drifted)
    assert min(alert.time for alert in drifted) > "2024-02-10"
    first = drifted[0]
    assert first.message.startswith(f"Rule {first.details['rule']} no longer holds: if ")
    assert "when it was mined, in" in first.message
    assert set(monitor.table().filter(pl.col("status") == "drifted")["rule"]) == {
        alert.details["rule"] for alert in drifted
    }


def test_normal_days_raise_no_alert() -> None:
    run = mined(days=30)
    later = plant(30, seed=6, first_day=30)
    monitor = Monitor(run, as_system(later))
    assert feed(monitor, rows_of(later, monitor.roster), [777]) == []
    table = monitor.table()
    assert set(table["status"]) == {"holds"}
    assert ((table["low"] <= table["confidence_recent"]) & (table["confidence_recent"] <= table["high"])).all()


def test_missing_and_silent_rules_are_told() -> None:
    run = mined(days=30, refine=None)
    later = plant(40, seed=7, first_day=30).with_columns(pl.lit("on").alias("pump"))
    late = pl.col("time") >= pl.lit(later["time"][144 * 20])
    later = later.with_columns(pl.when(~late).then(pl.col("flow")).alias("flow"))
    monitor = Monitor(run, as_system(later))
    kinds = {alert.kind for alert in feed(monitor, rows_of(later, monitor.roster), [])}
    assert {"silent", "missing"} <= kinds


def test_a_state_that_was_never_seen_satisfies_no_rule() -> None:
    run = mined(days=10, refine=None)
    later = plant(2, first_day=10).with_columns(pl.lit("fault").alias("pump"))
    monitor = Monitor(run, as_system(plant(2)))
    feed(monitor, [(t, a, v) for t, a, v in rows_of(later, monitor.roster)], [])
    total = monitor.health.total
    about_pump = [at for at, rule in enumerate(run.rules) if any(i.feature.subject == "pump" for i in rule.antecedent)]
    assert about_pump and total[about_pump, :2].sum() == 0


def test_state_of_other_rules_is_refused() -> None:
    run = mined(days=10)
    monitor, other = (Monitor(run, as_system(plant(2)), MonitorSettings(block=block)) for block in ("1d", "12h"))
    with pytest.raises(th.errors.RunError, match="other rules, sensors or settings"):
        other.restore(*monitor.to_state())


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ({"block": "45min"}, "multiple of the windows"),
        ({"false_alarm": 0.0}, "false_alarm must be"),
        ({"tolerance": 1.0}, "tolerance must be"),
        ({"lateness": "soon"}, "invalid duration"),
    ],
)
def test_wrong_settings_are_refused(given_: dict[str, Any], message: str) -> None:
    run = mined(days=10)
    with pytest.raises(th.errors.ConfigError, match=message):
        Monitor(run, as_system(plant(2)), MonitorSettings(**given_))


def test_sensors_without_bins_are_left_out_and_said() -> None:
    run = mined(days=10)
    more = plant(2).with_columns(pl.col("flow").alias("flow 2"))
    monitor = Monitor(run, as_system(more))
    assert "flow 2" in monitor.notes[0]
    feed(monitor, rows_of(more, monitor.roster), [])
    assert_equal_to_apply(monitor, run, plant(2))


def test_a_reference_period_fits_the_bins_of_sensors_that_the_run_has_not_seen() -> None:
    run = th.mine(TOY, windows="1h", bins=3, progress="off", refine=None, enrich="lifted")
    other = replace(TOY, name="other")
    left_out = Monitor(run, other)
    assert "no bins in the run" in left_out.notes[0]
    rows = rows_of(TOY.sensors.to_polars(), left_out.roster)
    feed(left_out, rows, [])
    assert left_out.health.total[:, :2].sum() == 0
    monitor = Monitor(run, other, MonitorSettings(reference=True))
    assert not monitor.notes
    feed(monitor, rows, [100])
    assert_equal_to_apply(monitor, run, other)


def test_one_batch_of_everything(run: th.Run) -> None:
    later = plant(3, first_day=40)
    monitor = Monitor(run, as_system(later))
    monitor.add(batch_of(later, monitor.roster))
    monitor.finish()
    assert_equal_to_apply(monitor, run, later)


class Days:
    """A source that delivers some days, one at a time."""

    needs_journal = False

    def __init__(self, frame: pl.DataFrame, monitor: Monitor) -> None:
        self._frame, self._roster = frame, monitor.roster

    def deliveries(self, stop: Event, position: Any) -> Any:
        for at in range(0, self._frame.height, 144):
            yield Delivery(batch_of(self._frame.slice(at, 144), self._roster))

    def facts(self) -> dict[str, float]:
        return {}


def test_rules_that_cannot_be_worded_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is said about an alert never stops the monitor; a file of the health that fails does so at the end only."""
    run, later = mined(days=30), plant(40, seed=3, broken_from=2, first_day=30)

    def watch() -> tuple[Service, list[Alert]]:
        monitor = Monitor(run, th.read_system(later.head(200)), MonitorSettings(violations=True))
        told: list[Alert] = []
        service = Service(monitor, [], health=tmp_path / "health.csv")
        monkeypatch.setattr(service, "_send", told.extend)
        return service, told

    with no_failures():
        service, expected = watch()
        service.run(Days(later, service.monitor), Event(), finish=True)
    assert {"drifted", "violated"} <= {alert.kind for alert in expected}
    monkeypatch.setattr(Rule, "english", property(lambda _: 1 / 0))
    service, told = watch()
    with logged_failures() as records, pytest.raises(ZeroDivisionError):
        service.run(Days(later, service.monitor), Event(), finish=True)
    assert [(one.number, one.kind, one.time) for one in told] == [(one.number, one.kind, one.time) for one in expected]
    assert all("could not be worded: division by zero" in one.message for one in told)
    assert {record.getMessage().partition(" failed")[0] for record in records} == {
        "the sentence of a rule",
        "the file of the health of all rules",
    }
