"""Controls as evidence of a detector: off by default, and a switch that nothing explains if they are on."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl

import thence as th
from tests.checks.detect.plant import plant
from thence.checks.detect.detector import Detector
from thence.data.graph.system import System
from thence.runs.reviews import Review, Reviews


@cache
def data() -> System:
    return th.datasets.load("net3", days=28)


@cache
def learned() -> Detector:
    return Detector(rules=False, laws=False, ranges=False, controls=True).fit(data().between(None, "2024-01-22"))


def broken() -> System:
    """The last week, in which actuators switch at random in the first days."""
    later = data().between("2024-01-22")
    frame, random = later.sensors.to_polars().sort("time"), np.random.default_rng(0)
    states = [sensor.id for sensor in later.sensors.sensors if sensor.categorical]
    columns = []
    for name in states:
        values = np.array(frame[name].to_list(), object)
        values[:60] = random.permutation(values[:60])
        columns.append(pl.Series(name, values.tolist(), dtype=pl.String))
    return replace(later, sensors=th.SensorData.from_wide(frame.with_columns(columns), sensors=later.sensors.sensors))


def test_a_switch_that_no_control_explains_is_an_alarm(tmp_path: Path) -> None:
    detector = learned()
    assert detector.describe()["controls"] > 0 and "controls)" in repr(detector)
    assert not detector.detect(data().between("2024-01-22")).alarms
    found = detector.detect(broken())
    assert found.alarms
    told = found.explain(found.alarms[0])
    assert not told.failures and {one.family for one in told.reasons} >= {"control"}
    sentences = {one.sentence() for one in detector._known.checks.controls.controls}
    own = [one for one in told.reasons if one.family == "control"]
    assert {one.statement for one in own} <= sentences
    assert all(one.rows > 0 and one.readings and one.target.node for one in own)
    again = Detector.load(detector.save(tmp_path / "detector.json"))
    assert again.detect(broken()).frame.equals(found.frame)
    assert again.describe() == detector.describe()


def test_controls_are_off_by_default(tmp_path: Path) -> None:
    plain = Detector(rules=False, ranges=False).fit(plant(12))
    assert "controls" not in plain.describe() and not len(plain._known.checks.controls.controls)
    assert "controls" not in json.loads(plain.save(tmp_path / "plain.json").read_text("utf-8"))


def test_rejected_controls_are_not_learned() -> None:
    control = learned()._known.checks.controls.controls[0]
    reviews = Reviews({control.key: Review("rejected")})
    normal = data().between(None, "2024-01-22")
    detector = Detector(rules=False, laws=False, ranges=False, controls=True).fit(normal, reviews=reviews)
    assert any(note.startswith("1 control is left out, rejected in a review") for note in detector.notes)
    assert control.key not in {one.key for one in detector._known.checks.controls.controls}
