"""Reviews and monitors: rejected rules are not watched, others are as before, and a saved state goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

import thence as th
from tests.helpers.plants import batch_of, mined, plant
from thence.checks.monitor.engine import Monitor
from thence.runs.run import Run

DATA = plant(40, broken_from=10)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return mined(tmp_path / "run")


def watch(run: Run, **settings: object) -> tuple[Monitor, list[int]]:
    monitor = Monitor(run, th.read_system(DATA), **settings)  # type: ignore[arg-type]
    alerts = [*monitor.add(batch_of(DATA, monitor.roster)), *monitor.finish()]
    return monitor, sorted({alert.details["rule"] for alert in alerts if alert.kind == "drifted"})


def test_a_rejected_rule_is_not_watched(run: Run) -> None:
    before, drifted = watch(run)
    assert drifted and "left out" not in before.table()["status"].to_list()
    number = drifted[0]
    run.review(number - 1, "rejected", "known")
    after, told = watch(run)
    assert number not in told
    assert after.table()["status"][number - 1] == "left out"
    assert after.table()["reason"][number - 1] == "left out because of its review"
    assert after.notes[0].startswith("1 rule is left out, rejected in a review")
    rest = [at for at in range(len(run.rules)) if at != number - 1]
    counts = ("rule", "satisfied", "violated", "not_applicable", "missing")
    assert after.table().select(counts)[rest].equals(before.table().select(counts)[rest])
    assert watch(run, reviewed="all")[1] == drifted


def test_a_saved_state_goes_on_after_a_rule_was_rejected(run: Run) -> None:
    first = Monitor(run, th.read_system(DATA))
    half = DATA.height // 2
    first.add(batch_of(DATA[:half], first.roster))
    run.review(0, "rejected")
    second = Monitor(run, th.read_system(DATA))
    second.restore(*first.to_state())
    assert second.n_windows == first.n_windows
    second.add(batch_of(DATA[half:], second.roster))
    assert second.table()["status"][0] == "left out"


def test_a_run_without_a_rule_to_watch(run: Run) -> None:
    for number in range(len(run.rules)):
        run.review(number, "rejected")
    with pytest.raises(th.errors.ConfigError, match=r"nothing to monitor: .* rejected in a review"):
        Monitor(run, th.read_system(DATA))
    with pytest.raises(th.errors.ConfigError, match="not accepted in a review"):
        Monitor(run, th.read_system(DATA), reviewed="accepted")
