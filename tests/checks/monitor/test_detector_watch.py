"""A detector at work: its alarms begin where they begin on the whole, however the readings come."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import thence as th
from tests.checks.detect.plant import plant as network
from tests.checks.detect.test_explanations import shaped
from tests.helpers.commands import thence
from tests.helpers.failures import logged_failures, no_failures
from tests.helpers.plants import mined, plant, rows_of
from thence.checks.detect.detection import Detection
from thence.checks.monitor.alerts import Alert
from thence.checks.monitor.batches import Batch
from thence.checks.monitor.engine import Monitor, MonitorSettings


@pytest.fixture(scope="module")
def detector() -> th.Detector:
    return th.Detector(windows="30min", laws=False).fit(plant(30))


def run_through(monitor: Monitor, rows: list[tuple[int, int, float]], size: int) -> list[Alert]:
    out: list[Alert] = []
    for at in range(0, len(rows), size):
        out += monitor.add(Batch.of(rows[at : at + size]))
    return out + monitor.finish()


def test_alarms_are_those_of_the_whole(detector: th.Detector) -> None:
    run = mined(days=30)
    later = plant(8, seed=4, broken_from=4, first_day=30)
    whole = detector.detect(th.read_system(later))
    found = []
    for size in (len(later) * 3, 500):
        monitor = Monitor(run, th.read_system(later), MonitorSettings(violations=True), detector=detector)
        alerts = run_through(monitor, rows_of(later, monitor.roster), size)
        found.append([alert.to_json() for alert in alerts])
    assert found[0] == found[1]
    alarms = [alert for alert in alerts if alert.kind == "alarm"]
    first = pl.Series([whole.alarms[0].start]).dt.offset_by("30m")[0]
    assert alarms[0].time == f"{first:%Y-%m-%dT%H:%M:%SZ}"
    assert alarms[0].message.startswith("Alarm: score ") and " other sensors" in alarms[0].message
    assert json.loads(alarms[0].to_json())["cause"]


def test_the_state_of_a_detector_is_restored(detector: th.Detector) -> None:
    run = mined(days=30)
    later = plant(8, seed=4, broken_from=4, first_day=30)
    system = th.read_system(later)
    through = Monitor(run, system, detector=detector)
    rows = rows_of(later, through.roster)
    expected = [alert.to_json() for alert in run_through(through, rows, 700)]
    first = Monitor(run, system, detector=detector)
    alerts = first.add(Batch.of(rows[:2_000]))
    again = Monitor(run, system, detector=detector)
    again.restore(*first.to_state())
    alerts += again.add(Batch.of(rows[2_000:])) + again.finish()
    assert [alert.to_json() for alert in alerts] == expected


def test_the_command_takes_a_saved_detector(detector: th.Detector, tmp_path: Path) -> None:
    mined(tmp_path / "run", days=30)
    detector.save(tmp_path / "detector.json")
    plant(8, seed=4, broken_from=4, first_day=30).write_parquet(tmp_path / "later.parquet")
    result = thence(
        "monitor", tmp_path / "run", "--file", tmp_path / "later.parquet", "--detector", tmp_path / "detector.json"
    )
    assert result.exit_code == 0, result.output
    assert "alarm" in {json.loads(line)["kind"] for line in result.stdout.splitlines()}


def test_a_detector_of_other_windows_is_refused(detector: th.Detector) -> None:
    run = mined(days=30, windows="1h")
    with pytest.raises(th.errors.ConfigError, match="windows of 30 min"):
        Monitor(run, th.read_system(plant(2)), detector=detector)
    with pytest.raises(th.errors.ConfigError, match="not learned"):
        Monitor(run, th.read_system(plant(2)), detector=th.Detector())


def test_alarms_on_readings_with_ties_are_explained() -> None:
    """Readings with ties ended the monitor while it explained an alarm, and no alert was printed."""
    coarse = [("ties", 0.5)] * 9
    normal, later = shaped(network(20), coarse), shaped(network(10, seed=1, leak=(2, 240, 479, 6.0)), coarse)
    run = th.mine(normal, windows="30min", bins=3, max_antecedents=1, progress="off")
    monitor = Monitor(run, later, detector=th.Detector(retire_after=None).fit(normal))
    with no_failures():
        alerts = run_through(monitor, rows_of(later.sensors.to_polars(), monitor.roster), 500)
    alarms = [alert for alert in alerts if alert.kind == "alarm"]
    assert alarms and all(alarm.details["reasons"] and not alarm.details["failures"] for alarm in alarms)


def test_an_alarm_that_cannot_be_explained_is_given(detector: th.Detector, monkeypatch: pytest.MonkeyPatch) -> None:
    run = mined(days=30)
    later = plant(5, seed=4, broken_from=3, first_day=30)
    system = th.read_system(later)

    def fail(*_: object) -> None:
        raise ValueError("equal ends")

    expected = run_through(Monitor(run, system, detector=detector), rows_of(later, Monitor(run, system).roster), 900)
    for name in ("_explained", "explain"):
        with monkeypatch.context() as patch, logged_failures() as records:
            patch.setattr(Detection, name, fail)
            monitor = Monitor(run, system, detector=detector)
            alerts = run_through(monitor, rows_of(later, monitor.roster), 900)
        assert [(one.kind, one.time) for one in alerts] == [(one.kind, one.time) for one in expected]
        alarms = [alert for alert in alerts if alert.kind == "alarm"]
        assert alarms and len(records) == len(alarms)
        for alarm in alarms:
            assert alarm.message.startswith("Alarm: score ")
            assert alarm.message.endswith("Could not be explained: equal ends.")
            assert json.loads(alarm.to_json())["failures"] == ["could not be explained: equal ends"]
