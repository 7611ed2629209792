"""Explanations: every alarm has one, whatever the readings; one that fails is told and stops nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.checks.detect.plant import plant
from tests.helpers.failures import logged_failures, no_failures
from thence.checks.detect.detection import Detection
from thence.checks.detect.detector import Detector
from thence.checks.detect.rule_checks import RuleChecks, _gap
from thence.data.graph.system import System
from thence.data.readings.sensors import SensorData
from thence.errors import InputError, ThenceError
from thence.show.reports.at_work import detected_part
from thence.tables.discretization import Binning, fit_binning, fit_ranks

SHAPES = ("plain", "rounded", "ties", "constant", "nearly constant", "states", "truth", "holes", "gone")
shapes = st.lists(st.tuples(st.sampled_from(SHAPES), st.sampled_from([0.1, 0.5, 2.0, 10.0])), min_size=9, max_size=9)


def shaped(system: System, given_shapes: list[tuple[str, float]]) -> System:
    """The readings of a plant, each sensor rounded, cut off, held, turned into states, or with readings missing."""
    chance = np.random.default_rng(0)
    frame = system.sensors.to_polars()
    columns: dict[str, Any] = {"time": frame["time"]}
    for name, (shape, size) in zip(frame.columns[1:], given_shapes, strict=True):
        values = frame[name].to_numpy()
        rare = chance.random(len(values)) < 0.1
        columns[name] = {
            "plain": values,
            "rounded": np.round(values / size) * size,
            "ties": np.where(values < np.quantile(values, min(size, 0.8)), 0.5, values),
            "constant": np.full(len(values), size),
            "nearly constant": np.where(rare, size + 1, size),
            "states": np.where(values > np.median(values), "open", "closed"),
            "truth": values > np.median(values),
            "holes": pl.Series(np.where(rare, np.nan, np.round(values)), nan_to_null=True),
            "gone": pl.Series([None] * len(values), dtype=pl.Float64),
        }[shape]
    kinds = {sensor.id: (sensor.kind, sensor.unit) for sensor in system.sensors.sensors}
    return replace(system, sensors=SensorData.from_wide(pl.DataFrame(columns)).with_kinds(kinds))


def explain_everything(found: Detection) -> None:
    """Ask for all that a detection can say, as the command and the monitor do."""
    with no_failures():
        for alarm in found.alarms:
            told = found.explain(alarm)
            assert not told.failures and str(told)
            found.locate(alarm)
            # An explanation was made on a table of one frame, in which columns were lost that were the same there.
            violated = found.tally.violated[:, alarm.first] > 0
            broken = [
                one for checks in found.checks for one in checks.broken_at(found.readings, found.system, alarm.first)
            ]
            assert {one.target for one in broken} == {
                target for target, on in zip(found.tally.targets, violated, strict=True) if on
            }
        assert str(found.explain(found.frame["time"][-1])) and str(found)
        json.dumps(found.to_dict(), allow_nan=False)


def test_ranks_with_ties_can_be_explained() -> None:
    """The explanation of a rule about ranks, some of them empty, died: the low end … must be below its high end."""
    coarse = [("rounded", 10.0)] * 9
    detector = Detector(retire_after=None).fit(shaped(plant(20), coarse))
    found = detector.detect(shaped(plant(15, seed=1, leak=(2, 240, 479, 6.0)), coarse))
    assert len(found.alarms) > 1
    explain_everything(found)


@settings(max_examples=8)
@given(
    shapes,
    shapes | st.none(),
    st.sampled_from(["none", "grounded", "existential", "lifted"]),
    st.sampled_from([2, 5, 10]),
    st.sampled_from([(), ("hour", "lag:1h"), ("change", "switch")]),
)
def test_every_alarm_can_be_explained(
    before: list[tuple[str, float]],
    after: list[tuple[str, float]] | None,
    enrich: str,
    bins: int,
    derive: tuple[str, ...],
) -> None:
    detector = Detector(enrich=enrich, bins=bins, derive=derive, false_alarms=30, retire_after="2d", max_rules=60)
    later = plant(4, seed=1, leak=(2, 60, 160, 6.0))
    try:
        found = detector.fit(shaped(plant(9), before)).detect(shaped(later, after or before))
    except ThenceError:
        return  # nothing holds, or a sensor reads states that read numbers
    explain_everything(found)


numbers = st.sampled_from([0.0, 0.5, 1.0, 7.25]) | st.integers(-900, 900).map(lambda number: number / 70)


@given(st.lists(numbers, min_size=3, max_size=40), st.integers(2, 6), st.booleans(), numbers)
def test_the_change_that_is_told_suffices(values: list[float], bins: int, ranks: bool, value: float) -> None:
    data = np.array(values)
    binning = fit_ranks(data, bins=bins) if ranks else fit_binning(data, bins=bins)
    for code in range(len(binning.bin_edges) + 1):
        gap = _gap(value, binning, code)
        if gap:
            ends = binning.range_of(code)
            assert ends is not None
            near = np.array([ends[0], np.nextafter(ends[1], -np.inf)])
            near = near[abs(near - value - gap) < 1e-9]
            assert code in binning.encode(near)


def test_no_change_is_told_into_a_rank_that_no_number_has() -> None:
    ranks = Binning(np.array([1.0, 4.0, 4.0]), ties=np.array([4.0]))
    assert [_gap(9.0, ranks, code) for code in range(4)] == [-8.0, -5.0, 0.0, 0.0]
    assert _gap(0.0, ranks, 3) == 0.0, "at its lower end lies a value that has no rank"


def fail(*_: Any) -> Any:
    raise ValueError("two ends are\nequal")


def test_an_explanation_that_fails_is_told_and_the_alarm_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    found = Detector(retire_after=None).fit(plant(20)).detect(plant(15, seed=1, leak=(2, 240, 479, 6.0)))
    whole = [found.explain(alarm) for alarm in found.alarms]
    monkeypatch.setattr(RuleChecks, "broken_at", fail)
    with logged_failures() as records:
        parts = [found.explain(alarm) for alarm in found.alarms]
    assert [str(alarm) for alarm in found.alarms] and len(records) == len(found.alarms)
    assert all(record.exc_info for record in records), "the traceback is in the log"
    for before, after in zip(whole, parts, strict=True):
        assert after.failures == ("rules could not be explained: two ends are",)
        assert "rules could not be explained: two ends are" in str(after)
        assert {one.family for one in after.reasons} == {one.family for one in before.reasons} - {"rule"}
        assert (after.time, after.score, after.places) == (before.time, before.score, before.places)


def test_nothing_that_fails_in_an_explanation_stops_a_detection(monkeypatch: pytest.MonkeyPatch) -> None:
    detector = Detector(retire_after=None).fit(plant(20))
    later = plant(15, seed=1, leak=(2, 240, 479, 6.0))
    expected = [(one.start, one.end, one.peak) for one in detector.detect(later).alarms]
    for name in ("_telling_frame", "_explained", "_evidence"):
        with monkeypatch.context() as patch, logged_failures() as records:
            patch.setattr(Detection, name, fail)
            found = detector.detect(later)
            record, shown = found.to_dict(), detected_part(found)["alarms"]
            assert records
        assert [(one.start, one.end, one.peak) for one in found.alarms] == expected
        assert all("could not be explained" in one["explanation"]["failures"][0] for one in record["alarms"])
        assert all("could not be explained" in one["reasons"][-1] for one in shown) and len(shown) == len(expected)
    with pytest.raises(InputError, match="no window"):
        detector.detect(later).explain("2030-01-01")
