"""The detector: finds, locates and explains what is wrong, keeps quiet in normal time, and survives JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import thence as th
from tests.checks.detect.plant import START, plant
from thence.checks.detect.detector import Detector, hold_out
from thence.data.graph.system import System
from thence.data.readings.windows import window
from thence.errors import ConfigError, InputError, RunError
from thence.runs.reviews import Review, Reviews

LEAK = (2, 480, 959, 3.0)  # from day 10 to day 20


@pytest.fixture(scope="module")
def fitted() -> Detector:
    return Detector(retire_after=None).fit(plant(60))


@pytest.fixture(scope="module")
def leaking() -> System:
    return plant(30, seed=1, leak=LEAK)


def test_normal_time_of_another_seed_has_about_as_few_alarms_as_asked_for(fitted: Detector) -> None:
    found = fitted.detect(plant(60, seed=2))
    assert found.frame["alarm"].mean() < 0.02
    assert len(found.alarms) <= 6


def test_a_leak_is_found_at_once_and_at_its_node(fitted: Detector, leaking: System) -> None:
    found = fitted.detect(leaking)
    frame = found.frame
    assert frame.columns == ["time", "score", "alarm"]
    alarm = frame["alarm"].to_numpy()
    assert alarm[484:960].all()
    assert alarm[:480].mean() < 0.05
    longest = max(found.alarms, key=lambda one: one.last - one.first)
    assert longest.places[0] == "J2"
    # An alarm within the memory before it is part of the same alarm.
    assert START + timedelta(minutes=30 * 468) <= longest.start <= START + timedelta(minutes=30 * 484)


def test_an_explanation_has_words_readings_place_change_and_normal_rate(fitted: Detector, leaking: System) -> None:
    found = fitted.detect(leaking)
    longest = max(found.alarms, key=lambda one: one.last - one.first)
    told = found.explain(longest)
    law = next(reason for reason in told.reasons if reason.family == "law")
    assert "demand" in law.statement and law.place == "J2"
    assert {one.sensor for one in law.readings} == {"demand_2", "flow_2", "flow_3"}
    assert law.change.startswith("demand higher by ")
    missing = float(law.change.split()[3])
    assert missing == pytest.approx(3.0, abs=0.3)
    assert law.rows > 0 and law.violated / law.rows < 0.02
    assert f"violated at {law.place}" in str(told) and "in normal time" in str(told)
    assert json.loads(json.dumps(found.to_dict()))["alarms"]


def test_ranges_alone_find_the_leak_with_a_path_and_the_smallest_change() -> None:
    kept = ["flow_1", "pressure_1", "pressure_3"]
    settings = {"rules": False, "laws": False, "residuals": False, "alarm_on": "range", "retire_after": None}
    detector = Detector(**settings).fit(plant(60).select(kept))
    found = detector.detect(plant(30, seed=1, leak=(3, 480, 959, 10.0)).select(kept))
    assert found.frame["alarm"].to_numpy()[490:960].mean() > 0.9
    longest = max(found.alarms, key=lambda one: one.last - one.first)
    told = found.explain(longest)
    reason = told.reasons[0]
    assert reason.statement.startswith("if the ") and len(reason.path) > 1
    sensor, side, _, amount = reason.change.split()[:4]
    column = {one.sensor: one.value for one in reason.readings}
    assert sensor in column and side in ("higher", "lower") and float(amount) > 0


def test_rules_alone_find_a_large_leak() -> None:
    settings = {"laws": False, "ranges": False, "residuals": False, "alarm_on": ("rule",), "enrich": "none", "bins": 5}
    detector = Detector(**settings).fit(plant(60))
    found = detector.detect(plant(30, seed=1, leak=(3, 480, 959, 12.0)))
    assert found.frame["alarm"].to_numpy()[500:960].mean() > 0.5
    longest = max(found.alarms, key=lambda one: one.last - one.first)
    assert found.explain(longest).reasons[0].family == "rule"


def shifted(later: System, amount: np.ndarray) -> System:
    """The same readings, with an error of one sensor."""
    frame = later.sensors.to_polars().with_columns(pl.col("pressure_3") + pl.Series(amount))
    kinds = {one.id: (one.kind, one.unit) for one in later.sensors.sensors}
    return replace(later, sensors=th.SensorData.from_wide(frame).with_kinds(kinds))


def test_a_slow_drift_is_told_once_and_becomes_the_reference_and_a_step_stays_an_alarm() -> None:
    n, detector = 60 * 48, Detector(laws=False, rules=False, ranges=False, retire_after="14d").fit(plant(60))
    drift = np.minimum(np.maximum(np.arange(n) - 240, 0) / (20 * 48), 1.0) * 5
    found = detector.detect(shifted(plant(60, seed=1), drift))
    assert [one.subject for one in found.drifted].count("pressure_3") == 1
    assert "pressure_3" in str(found) and "has drifted slowly" in str(found)
    alarm = found.frame["alarm"].to_numpy()
    assert alarm[15 * 48 : 20 * 48].all() and alarm[50 * 48 :].mean() < 0.1
    step = np.where(np.arange(n) < 240, 0.0, 5.0)
    found = detector.detect(shifted(plant(60, seed=1), step))
    assert "pressure_3" not in {one.subject for one in found.drifted}
    assert found.frame["alarm"].to_numpy()[250:].all()


def test_an_alarm_says_what_is_read_what_is_expected_and_the_usual_error() -> None:
    detector = Detector(laws=False, rules=False, ranges=False).fit(plant(60))
    found = detector.detect(shifted(plant(10, seed=1), np.where(np.arange(480) < 240, 0.0, 5.0)))
    cause = max(found.alarms, key=lambda one: one.last - one.first).cause
    assert cause is not None and (cause.place, cause.sensor) == ("J3", "pressure_3")
    words = str(cause)
    assert words.startswith("J3: pressure reads ") and "is expected; usual error 0.0" in words
    read, expected = (float(part.split()[0]) for part in (words.split("reads ")[1], words.split("sensors ")[1]))
    assert read - expected == pytest.approx(5, abs=0.5)
    assert found.to_dict()["alarms"][0]["cause"]


def test_with_three_normal_days_only_hard_facts_raise_alarms() -> None:
    detector = Detector(windows="10min", rules=False, ranges=False)
    fine = plant(9)
    frame = fine.sensors.to_polars().with_columns(
        pl.datetime_range(START, START + timedelta(minutes=10 * 431), "10m", time_zone="UTC").alias("time")
    )
    kinds = {one.id: (one.kind, one.unit) for one in fine.sensors.sensors}
    normal = replace(fine, sensors=th.SensorData.from_wide(frame).with_kinds(kinds))
    detector.fit(normal)
    assert set(detector.calibration.thresholds) <= {"law, never violated"}
    assert any("3 normal days" in note and "4 days are needed" in note for note in detector.notes)
    assert not detector.detect(normal).alarms


def test_plain_readings_use_the_graph_that_was_learned(fitted: Detector, leaking: System) -> None:
    whole = fitted.score(leaking)
    assert fitted.score(leaking.sensors).equals(whole)
    assert fitted.score(leaking.sensors.to_polars()).equals(whole)


def test_missing_and_new_sensors_are_told(fitted: Detector, leaking: System) -> None:
    frame = leaking.sensors.to_polars().drop("flow_3").with_columns(pl.lit(1.0).alias("new"))
    found = fitted.detect(frame)
    assert any("1 sensor is new" in note for note in found.notes)
    assert any("1 sensor is missing" in note for note in found.notes)
    with pytest.raises(InputError, match="none of the sensors"):
        fitted.detect(frame.select("time", "new"))


def test_a_saved_detector_gives_the_same_scores_and_explanations(
    fitted: Detector, leaking: System, tmp_path: Path
) -> None:
    first = fitted.detect(leaking)
    loaded = Detector.load(fitted.save(tmp_path / "detector.json"))
    second = loaded.detect(leaking)
    assert first.frame.equals(second.frame)
    assert str(first.explain()) == str(second.explain())
    assert loaded.describe() == fitted.describe()


def test_a_file_that_is_no_detector_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text("{}")
    with pytest.raises(RunError, match="is not a detector"):
        Detector.load(other)
    with pytest.raises(RunError, match="cannot be read"):
        Detector.load(tmp_path / "nothing.json")


def test_mistakes_are_told() -> None:
    with pytest.raises(ConfigError, match="needs residuals, rules, laws, ranges or controls"):
        Detector(rules=False, laws=False, ranges=False, residuals=False)
    with pytest.raises(ConfigError, match="'weather' raises no alarms"):
        Detector(alarm_on="weather")
    with pytest.raises(ConfigError, match="false_alarms"):
        Detector(false_alarms=0)
    with pytest.raises(InputError, match="has not learned yet"):
        Detector().score(plant(5))
    with pytest.raises(InputError, match="no readings have been scored"):
        Detector().explain()
    with pytest.raises(InputError, match="too few to learn"):
        Detector().fit(plant(2))


def test_times_outside_the_readings_are_told(fitted: Detector, leaking: System) -> None:
    found = fitted.detect(leaking)
    with pytest.raises(InputError, match="no window at 2023-01-01"):
        found.explain("2023-01-01")
    told = found.explain("2024-01-15T12:10")
    assert told.alarm and told.time.hour == 12


def test_two_fifths_of_the_time_are_held_out_in_blocks() -> None:
    held = hold_out(window(plant(100).sensors))
    assert held.mean() == pytest.approx(0.4, abs=0.04)
    assert not held[: 3 * 336].any() and held[3 * 336 : 5 * 336].all()
    short = hold_out(window(plant(20).sensors))
    assert not short[:144].any() and short[144:240].all()


def test_the_picture_has_score_threshold_labels_and_place(fitted: Detector, leaking: System, tmp_path: Path) -> None:
    pytest.importorskip("altair")
    from thence.checks.detect.picture import draw_alarms, save_picture
    from thence.data.graph.system import label_frame

    row = {"start": START, "end": START + timedelta(days=1), "label": "leak", "subject": "J2", "details": ""}
    chart = draw_alarms(fitted.detect(leaking), label_frame([row]), title="leak")
    text = save_picture(chart, tmp_path / "alarm.json").read_text()
    assert '"J2"' in text and "leak at J2" in text
    with pytest.raises(ConfigError, match="cannot be written"):
        save_picture(chart, tmp_path / "alarm.txt")


def test_without_a_graph_alarms_name_sensors() -> None:
    normal, later = plant(60).sensors, plant(30, seed=1, leak=LEAK).sensors
    detector = Detector(retire_after=None).fit(normal)
    found = detector.detect(later)
    assert np.asarray(found.frame["alarm"])[500:960].mean() > 0.8
    assert found.locate()["place"][0] in normal.ids


@pytest.mark.parametrize("enrich", ["none", "grounded", "existential", "lifted"])
def test_rules_of_every_enrichment_can_be_checked_and_explained(enrich: str, tmp_path: Path) -> None:
    given = {"laws": False, "ranges": False, "residuals": False, "alarm_on": "rule", "max_rules": 50}
    detector = Detector(enrich=enrich, bins=3, derive=("hour", "lag:1h"), **given)
    detector.fit(plant(30))
    later = plant(20, seed=1, leak=(3, 480, 959, 15.0))
    found = detector.detect(later)
    assert found.frame.height == 960
    assert 0 < detector.describe()["rules"] <= 50
    frame = int(np.argmax(np.nan_to_num(found.tally.shares).sum(axis=0)))
    told = found.explain(found.frame["time"][frame])
    assert told.reasons and all(reason.family == "rule" and reason.rows > 0 for reason in told.reasons)
    again = Detector.load(detector.save(tmp_path / "d.json")).detect(later)
    assert again.frame.equals(found.frame)


def test_violations_are_those_that_apply_counts() -> None:
    """The evidence of rules, summed without weights, is what the exact counts of the same rules give."""
    from thence.runs.preparation import Prepared
    from thence.statements.counting.recount import count_rules

    detector = Detector(laws=False, ranges=False, bins=3).fit(plant(30))
    assert detector._fitted is not None
    rules = detector._fitted.checks[0]
    later = plant(10, seed=1)
    found = detector.detect(later)
    table = Prepared(later, rules.config, found.readings, rules.bins, same_system=True).table
    counted = count_rules(rules.rules, table)
    violated = np.asarray(counted.counts.n_antecedent) - np.asarray(counted.counts.n_both)
    assert found.tally.violated.sum() == pytest.approx(float(violated @ rules.weights))
    assert found.tally.applicable.sum() == pytest.approx(float(counted.counts.n_antecedent @ rules.weights))


def test_gaps_and_missing_readings_raise_no_alarm(fitted: Detector) -> None:
    later = plant(20, seed=3)
    frame = later.sensors.to_polars()
    within = pl.int_range(pl.len()).is_between(200, 500)
    frame = frame.with_columns(pl.when(within).then(None).otherwise(pl.col("flow_2")).alias("flow_2"))
    holes = frame.filter(~pl.int_range(pl.len()).is_between(600, 700))
    found = fitted.detect(holes)
    assert found.frame.height == 960 - 101
    assert found.frame["alarm"].mean() < fitted.detect(later).frame["alarm"].mean() + 0.02


def test_what_was_rejected_in_a_review_is_not_learned() -> None:
    data = plant(30)
    fitted = Detector(ranges=False).fit(data)
    rules, laws, *_ = fitted._known.checks
    assert len(rules.rules) > 1 and len(laws.laws)
    rejected = {rules.rules.rule(0).key: Review("rejected"), laws.laws[0].key: Review("rejected")}
    without = Detector(ranges=False).fit(data, reviews=Reviews(rejected))
    assert rules.rules.rule(0) not in set(without._known.checks[0].rules)
    assert laws.laws[0].key not in {law.key for law in without._known.checks[1].laws}
    assert any(note.startswith("1 law is left out, rejected in a review") for note in without.notes)
    same = Detector(ranges=False).fit(data, reviews=Reviews(rejected), reviewed="all")
    assert same.describe() == fitted.describe() and same.notes == fitted.notes
