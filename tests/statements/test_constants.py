"""Sensors that never change: named, kept in the run, and told first when they change in later readings."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import thence as th
from thence.checks.monitor.batches import Batch
from thence.data.readings.windows import window
from thence.language.items import Feature
from thence.runs.preparation import Prepared
from thence.statements.constants import Constant, find_constants, same_number
from thence.statements.schema import statement_from_dict
from thence.statements.statement import Words

MINUTE = 60_000_000
DAY0 = datetime(2033, 4, 1, tzinfo=UTC)


def well_field(days: int, *, start: datetime = DAY0, spare_runs_at: int = -1, decimals: int = 3) -> pl.DataFrame:
    """Two wells that alternate, a spare one, and a pressure that follows."""
    n = days * 96
    first = np.arange(n) // 8 % 2
    rng = np.random.default_rng(days)
    spare = np.zeros(n, int)
    if spare_runs_at >= 0:
        spare[spare_runs_at : spare_runs_at + 5] = 1
    return pl.DataFrame(
        {
            "when": [start + timedelta(minutes=15 * k) for k in range(n)],
            "well1_run": first,
            "well2_run": 1 - first,
            "spare_run": spare,
            "spare_flow": spare * 30.25,
            "header_bar": (3 + first + rng.normal(0, 0.02, n)).round(decimals),
            "dosing_rate": np.full(n, round(1.2345, decimals)),
        }
    )


@pytest.fixture(scope="module")
def run() -> th.Run:
    return th.mine(well_field(14), progress="off")


def test_constants_are_named_and_kept(run: th.Run, tmp_path: Path) -> None:
    assert [(one.sensor, one.value, one.rows) for one in run.constants] == [
        ("spare_run", "0", 14 * 96),
        ("spare_flow", 0.0, 14 * 96),
        ("dosing_rate", 1.234, 14 * 96),
    ]
    (note,) = [note for note in run.summary["notes"] if "never changed" in note]
    assert "'spare_run = 0', 'spare_flow = 0', 'dosing_rate = 1.234'" in note
    assert th.load_run(run.save(tmp_path / "run").path or "").constants == run.constants


def test_a_state_shorter_than_half_a_window_is_a_change() -> None:
    """Regression: a door that opens for seconds was said to be closed all the time."""
    opened = [(DAY0 + timedelta(minutes=20 * k), "shut") for k in range(300)]
    opened += [(DAY0 + timedelta(minutes=20 * k - 0.2), "ajar") for k in range(50, 300, 25)]
    frame = pl.DataFrame(sorted(opened), schema=["at", "gate"], orient="row")
    readings = window(th.read_sensors(frame), "20min", hold="1h")
    assert set(readings.states["gate"][0].tolist()) == {readings.states["gate"][1].index("shut")}
    assert not find_constants(readings, lambda _: "")


def test_what_changes_later_is_told_first(run: th.Run) -> None:
    later = well_field(3, start=DAY0 + timedelta(days=20), spare_runs_at=100, decimals=2)
    applied = th.apply(run, later)
    text = (
        "spare_run is 1 from 2033-04-22 01:00 UTC on, in 5 of 288 windows; it was 0 in all 1,344 windows that were "
        "learned"
    )
    assert applied.never_before[0] == text
    assert applied.never_before[1].startswith("spare_flow is 30.25 from 2033-04-22 01:00 UTC on, in 5 of 288 windows")
    assert len(applied.never_before) == 2  # 1.23 is 1.234 with fewer decimals
    assert str(applied).index("never seen before") < str(applied).index("spare_run")
    assert applied.describe()["never_before"] == list(applied.never_before)
    assert th.apply(run, well_field(3, start=DAY0 + timedelta(days=20))).never_before == ()


def test_a_detector_says_it_first(tmp_path: Path) -> None:
    detector = th.Detector().fit(well_field(14))
    path = detector.save(tmp_path / "detector.json")
    later = well_field(3, start=DAY0 + timedelta(days=20), spare_runs_at=100)
    for known in (detector, th.Detector.load(path)):
        found = known.detect(later)
        assert str(found).startswith("never seen before: spare_run is 1 from 2033-04-22 01:00 UTC on")
    assert not detector.detect(well_field(3, start=DAY0 + timedelta(days=20))).never_before


def test_a_monitor_says_it_at_once_and_once(run: th.Run) -> None:
    system = th.read_system(well_field(2, start=DAY0 + timedelta(days=20), spare_runs_at=100))
    monitor = th.Monitor(run, system)
    later = well_field(2, start=DAY0 + timedelta(days=20), spare_runs_at=100)
    ids = [sensor.id for sensor in monitor.roster.sensors]
    alerts = []
    for row in later.iter_rows(named=True):
        at = int(row["when"].timestamp() * 1e6)
        readings = [(at, k, float(monitor.roster.encode(k, row[id]) or 0.0)) for k, id in enumerate(ids)]
        alerts += monitor.add(Batch.of(readings))
    alerts += monitor.finish()
    changed = [alert for alert in alerts if alert.kind == "changed"]
    assert [(alert.details["sensor"], alert.details["reads"], alert.time) for alert in changed] == [
        ("spare_run", "1", "2033-04-22T01:15:00Z"),
        ("spare_flow", 30.25, "2033-04-22T01:15:00Z"),
    ]
    again = th.Monitor(run, system)
    again.restore(*monitor.to_state())
    assert not list(again.constants.push(again.history.nothing(0), 0, 0))
    assert again.constants.to_arrays()[1]["told"].tolist() == [True, True, False]


def test_then_and_now_are_said_in_the_same_words() -> None:
    """Regression: "Pump 3 is 1 …; it was off"."""
    pump = Constant(Feature("S_3", label="status", place="Pump 3", classes=frozenset({"Pump"})), "0", 50)
    sentence = pump.describe_change(pump.word_of("1"), np.datetime64("2033-04-01", "us"))
    words = [pump.word_of(state) for state in ("0", "1")]
    assert f" {words[1]} from 2033-04-01 00:00" in sentence
    assert f" {words[0]} in all 50 windows" in sentence


def test_a_constant_is_a_statement(run: th.Run) -> None:
    (spare, *_) = run.constants
    assert statement_from_dict(spare.to_dict()) == spare
    assert spare.sentence(Words(counts=True)) == "spare_run is always 0 (in all 1,344 windows)"
    states = spare.check(Prepared.of_run(run))
    assert states.counts[:2] == (1344, 1344)
    assert spare.traces(Prepared.of_run(run))[0].states == ("0",)


@pytest.mark.parametrize(
    ("value", "number", "same"),
    [(0.0, 0.3, False), (0.0, 1e-14, True), (21.04, 21.0, True), (21.04, 21.1, False), (5.0, 5.0, True)],
)
def test_fewer_decimals_are_the_same_number(value: float, number: float, same: bool) -> None:
    assert same_number(np.array([number]), value).tolist() == [same]


@pytest.mark.parametrize("record", [{"value": None}, {"rows": 0}, {"value": float("nan")}])
def test_damaged_records_are_refused(record: dict[str, object]) -> None:
    good = {"sensor": "s", "label": "", "unit": "", "place": "", "value": 1.0, "rows": 30}
    assert Constant.from_dict(good).value == 1.0
    with pytest.raises(ValueError, match="constant"):
        Constant.from_dict(good | record)
