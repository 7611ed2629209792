"""Evidence cards of controls: the switches that were counted, the reading and its threshold."""

from __future__ import annotations

import json

import numpy as np
import pytest

import thence as th
from thence.runs.run import Run
from thence.show.reports.cards import Cards
from thence.show.reports.material import material_of
from thence.show.reports.periods import as_milliseconds
from thence.show.reports.rows import control_rows
from thence.statements.controls.counting import explain_switches


@pytest.fixture(scope="module")
def run() -> Run:
    return th.mine(th.datasets.load("net3"), progress="off")


def test_history_counts_the_switches_and_those_that_are_explained(run: Run) -> None:
    assert run.controls and run.readings is not None
    cards = Cards(material_of(run))
    for row in control_rows(run.controls):
        card = cards.card("control", row["id"])
        assert card is not None and card["history"] is not None
        own = [run.controls[at] for at in row["members"]]
        assert sum(card["history"]["applied"]) == row["switches"] == sum(one.tally.switches for one in own)
        assert sum(card["history"]["held"]) == row["explained"] == sum(one.tally.explained for one in own)
        assert all(cards.card("control", at) == card for at in row["members"])
        after = np.concatenate([explain_switches(one, run.readings)[0] for one in own])
        moments = set(as_milliseconds(run.readings.times[after]).tolist())
        assert set(card["switches"]) <= moments and card["switches"]
        assert len(card["switches"]) == len(card["held"]) + len(card["violated"])
        json.dumps(card, allow_nan=False)


def test_the_reading_has_the_threshold_as_a_band_and_the_actuator_its_state(run: Run) -> None:
    assert run.controls
    cards = Cards(material_of(run))
    for row in control_rows(run.controls):
        card = cards.card("control", row["id"])
        assert card is not None
        actuator = card["traces"][-1]
        own = [run.controls[at] for at in row["members"]]
        assert {control.actuator for control in own} == {actuator["sensor"]}
        states = [control.to_state for control in own]
        assert [band["states"] for band in actuator["bands"]] == [[state] for state in states]
        for moment in card["switches"]:
            at = actuator["times"].index(moment)
            value = actuator["values"][at]
            assert value is not None and actuator["states"][int(value)] in states
        if own[0].sensor_feature is not None:
            reading = card["traces"][0]
            for control, band in zip(own, reading["bands"], strict=True):
                assert reading["sensor"] == control.sensor
                assert band["low" if control.direction == "above" else "high"] == control.threshold
            assert set(card["nodes"]) >= {reading["node"], actuator["node"]}
        else:
            assert [trace["sensor"] for trace in card["traces"]] == [own[0].actuator]
