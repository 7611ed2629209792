"""Applied rules and alarms in a report: the same from memory and from files, and equal to what they were made from."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import thence as th
from tests.checks.detect.plant import plant
from tests.helpers.plants import mined
from tests.helpers.plants import plant as pump_readings
from thence.checks.application.applied import Applied
from thence.checks.detect.detection import Detection
from thence.checks.detect.detector import Detector
from thence.errors import InputError
from thence.show.reports.at_work import applied_part, detected_part, read_applied, read_detected
from thence.show.reports.periods import as_milliseconds


@pytest.fixture(scope="module")
def applied() -> Applied:
    return th.apply(mined(), pump_readings(20, seed=1, broken_from=10, first_day=30))


def test_applied_rules_are_the_same_from_memory_and_from_a_folder(applied: Applied, tmp_path: Path) -> None:
    part = applied_part(applied, name="later")
    assert read_applied(applied.write(tmp_path / "applied"), name="later") == part
    assert json.loads(json.dumps(part, allow_nan=False)) == part


def test_applied_rules_have_their_verdicts_counts_and_shares(applied: Applied) -> None:
    part = applied_part(applied)
    assert {one["name"]: one["count"] for one in part["verdicts"]} == applied.verdicts
    frame = {row["rule"]: row for row in applied.by_rule().to_dicts()}
    assert len(part["rules"]) == len(frame)
    for one in part["rules"]:
        row = frame[one["id"]]
        assert (one["verdict"], one["rows"], one["violated"]) == (row["verdict"], row["applied"], row["violated"])
    changed = applied.changed()["rule"].to_list()
    assert [one["id"] for one in part["rules"]][: len(changed)] == changed
    times = applied.by_time()
    total = int(times["applied"].sum())
    assert len(part["edges"]) == len(part["held"]) + 1
    assert any(share is not None and share < 0.9 for share in part["held"])
    assert total > 0
    assert any(sentence.startswith("places with more violations") for sentence in part["sentences"])
    assert part["start"] is not None and part["end"] is not None and part["start"] < part["end"]


def test_only_the_rules_that_changed_most_are_listed(applied: Applied) -> None:
    part = applied_part(applied, most=2)
    assert len(part["rules"]) == 2
    assert sum(one["count"] for one in part["verdicts"]) == len(applied.rules)


def test_a_folder_that_apply_did_not_write_is_refused(applied: Applied, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder"):
        read_applied(tmp_path / "none")
    with pytest.raises(InputError, match=r"no applied\.json"):
        read_applied(tmp_path)
    folder = applied.write(tmp_path / "applied")
    (folder / "times.parquet").write_bytes(b"no")
    with pytest.raises(InputError, match="its checksum does not match"):
        read_applied(folder)
    (folder / "manifest.json").unlink()  # as earlier versions wrote it
    with pytest.raises(InputError, match="cannot be read"):
        read_applied(folder)
    (folder / "applied.json").write_text("[1]")
    with pytest.raises(InputError, match="cannot be read"):
        read_applied(folder)


@pytest.fixture(scope="module")
def detection() -> Detection:
    detector = Detector(retire_after=None).fit(plant(60))
    return detector.detect(plant(30, seed=1, leak=(2, 480, 959, 3.0)))


def test_a_detection_is_the_same_from_memory_and_from_a_file(detection: Detection, tmp_path: Path) -> None:
    part = detected_part(detection)
    path = tmp_path / "found.json"
    path.write_text(json.dumps({"detector": {}, **detection.to_dict()}))
    assert read_detected(path) == part
    assert part["name"] == "plant"


def test_a_detection_has_its_scores_alarms_reasons_and_places(detection: Detection) -> None:
    part = detected_part(detection)
    assert part["times"] == as_milliseconds(detection.readings.times).tolist()
    assert np.allclose(np.array(part["score"], float), detection.scores, atol=1e-3)
    assert part["threshold"] == 1.0
    assert len(part["alarms"]) == len(detection.alarms)
    for told, alarm in zip(part["alarms"], detection.alarms, strict=True):
        assert told["start"] == int(alarm.start.timestamp() * 1000)
        assert told["end"] == int(alarm.end.timestamp() * 1000)
        assert told["sentence"] == str(alarm)
        assert tuple(place for place, _ in told["located"][: len(alarm.places)]) == alarm.places
    longest = max(part["alarms"], key=lambda one: one["end"] - one["start"])
    assert longest["located"][0][0] == "J2"
    assert any("violated at J2" in reason and "demand_2 = " in reason for reason in longest["reasons"])


def test_of_many_windows_the_highest_score_of_each_stretch_is_kept(detection: Detection) -> None:
    times, scores = detection.over_time(100)
    assert len(scores) <= 100
    assert scores.max() == detection.scores.max()
    size = -(-len(detection.scores) // 100)
    by_hand = [detection.scores[at : at + size].max() for at in range(0, len(detection.scores), size)]
    assert scores.tolist() == by_hand
    assert times.tolist() == detection.readings.times[::size].tolist()


def test_only_the_strongest_alarms_are_listed(detection: Detection) -> None:
    (one,) = detected_part(detection, most=1)["alarms"]
    assert one["score"] == pytest.approx(max(alarm.peak for alarm in detection.alarms), abs=1e-3)


def test_a_file_that_detect_did_not_write_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_detected(tmp_path / "none.json")
    wrong = tmp_path / "wrong.json"
    for text, said in (
        ("{", "cannot be read"),
        ("[]", "must be a JSON object"),
        ('{"alarms": [1]}', "not a detection"),
    ):
        wrong.write_text(text)
        with pytest.raises(InputError, match=said):
            read_detected(wrong)


def test_applied_rules_of_several_sites_are_added_up_over_time() -> None:
    from tests.show.reports.worlds import world

    sites = [world(1, frames=90, name="north"), world(2, frames=60, name="south")]
    options = {"windows": "1h", "bins": 3, "refine": None, "min_support": 0.05, "max_antecedents": 1}
    run = th.mine(sites, enrich="lifted", progress="off", **options)  # type: ignore[arg-type]
    part = applied_part(th.apply(run, [world(3, frames=80, name="north"), world(4, frames=50, name="south")]))
    assert "site" not in part and part["edges"]
    frame = pl.DataFrame({"held": part["held"]})
    assert frame["held"].drop_nulls().is_between(0, 1).all()
