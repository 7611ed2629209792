"""Evidence cards of controls: the switches that were counted, the reading and its threshold."""

from __future__ import annotations

import json

import pytest

import thence as th
from thence.runs.run import Run
from thence.show.reports.cards import Cards
from thence.show.reports.material import material_of
from thence.show.reports.periods import as_milliseconds
from thence.statements.controls.counting import explain_switches


@pytest.fixture(scope="module")
def run() -> Run:
    return th.mine(th.datasets.load("net3"), progress="off")


def test_history_counts_the_switches_and_those_that_are_explained(run: Run) -> None:
    assert run.controls and run.readings is not None
    cards = Cards(material_of(run))
    for position, control in enumerate(run.controls):
        card = cards.card("control", position)
        assert card is not None and card["history"] is not None
        assert sum(card["history"]["applied"]) == control.tally.switches
        assert sum(card["history"]["held"]) == control.tally.explained
        after, _ = explain_switches(control, run.readings)
        moments = set(as_milliseconds(run.readings.times[after]).tolist())
        assert set(card["switches"]) <= moments and card["switches"]
        assert len(card["switches"]) == len(card["held"]) + len(card["violated"])
        json.dumps(card, allow_nan=False)


def test_the_reading_has_the_threshold_as_a_band_and_the_actuator_its_state(run: Run) -> None:
    assert run.controls
    cards = Cards(material_of(run))
    for position, control in enumerate(run.controls):
        card = cards.card("control", position)
        assert card is not None
        actuator = card["traces"][-1]
        assert actuator["sensor"] == control.actuator
        assert actuator["bands"][0]["states"] == [control.to_state]
        for moment in card["switches"]:
            at = actuator["times"].index(moment)
            value = actuator["values"][at]
            assert value is not None and actuator["states"][int(value)] == control.to_state
        if control.sensor_feature is not None:
            reading = card["traces"][0]
            assert reading["sensor"] == control.sensor
            (band,) = reading["bands"]
            assert band["low" if control.direction == "above" else "high"] == control.threshold
            assert set(card["nodes"]) >= {reading["node"], actuator["node"]}
        else:
            assert [trace["sensor"] for trace in card["traces"]] == [control.actuator]
