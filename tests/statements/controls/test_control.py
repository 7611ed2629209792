"""Controls as records and as sentences."""

from __future__ import annotations

import json
from dataclasses import replace

import polars as pl
import pytest

from thence.errors import ConfigError
from thence.language.items import Feature, Item
from thence.search.controls.settings import ControlSettings
from thence.statements.controls.control import Control, Controls
from thence.statements.controls.switches import OFF, ON
from thence.statements.controls.thresholds import Tally

PUMP = Feature("status_9", label="status", place="Pump 9")
LEVEL = Feature("level_2", label="level", unit="m", place="Tank 2")
CLOSES = Control(
    PUMP, "open", "closed", LEVEL, "above", 42.67, 42.6612, 42.6788, Tally(28, 27, 30, 27), Tally(14, 14, 14, 14), 0.9
)
OPENS = replace(
    CLOSES, from_state="closed", to_state="open", direction="below", threshold=33.5, tally=Tally(27, 27, 27, 27)
)
CLOCK = replace(
    CLOSES, sensor_feature=None, direction="at", threshold=5400.0, low=5400.0, high=5400.0, tally=Tally(28, 28, 29, 28)
)


def test_a_sentence_says_what_was_counted() -> None:
    assert CLOSES.english == (
        "Pump 9 closes when the level of Tank 2 rises above 42.67 m (between 42.661 and 42.679 m; 27 of 28 times)"
    )
    assert CLOCK.english == "Pump 9 closes at 01:30 (28 of 29 days)"
    assert replace(CLOCK, tally=Tally(56, 28, 28, 28)).english.endswith("at 01:30 (28 of 28 days; 28 of 56 times)")


def test_both_changes_of_an_actuator_are_one_sentence() -> None:
    (sentence,) = Controls([CLOSES, OPENS]).sentences
    assert sentence == (
        "Pump 9 opens when the level of Tank 2 falls below 33.5 m "
        "(between 42.661 and 42.679 m; 27 of 27 times) "
        "and closes when it rises above 42.67 m "
        "(between 42.661 and 42.679 m; 27 of 28 times)"
    )


@pytest.mark.parametrize(
    ("control", "start"),
    [
        (replace(CLOSES, to_state="off"), "Pump 9 switches off when"),
        (replace(CLOSES, from_state="1", to_state="2"), "Pump 9 changes from 1 to 2 when"),
        (replace(CLOSES, actuator_feature=Feature("v1")), "v1 closes when"),
        (
            replace(CLOSES, actuator_feature=replace(PUMP, label="flow"), from_state=ON, to_state=OFF),
            "the flow of Pump 9 stops when",
        ),
        (
            replace(CLOSES, actuator_feature=replace(PUMP, label="flow"), from_state=OFF, to_state=ON),
            "the flow of Pump 9 starts when",
        ),
        (
            replace(CLOSES, sensor_feature=Feature("s", label="temperature", place="Room_Temperature_Sensor")),
            "Pump 9 closes when Room_Temperature_Sensor rises above",
        ),
        (replace(CLOSES, sensor_feature=Feature("s7")), "Pump 9 closes when s7 rises above 42.67 ("),
    ],
)
def test_the_words_of_states_and_places(control: Control, start: str) -> None:
    assert control.english.startswith(start)


def test_a_premise_and_actuators_that_switch_together_are_told() -> None:
    premise = Item.is_(Feature("status_3", label="status", place="Pump 3"), "open")
    text = replace(CLOSES, premise=premise, together=("Pump 3", "Valve 4")).english
    assert "rises above 42.67 m while Pump 3 is open (" in text
    assert text.endswith("; Pump 3 and Valve 4 switch at the same moments")


def test_json_brings_a_control_back() -> None:
    premise = Item.is_(Feature("status_3", label="status"), "open")
    several = Controls([CLOSES, replace(OPENS, premise=premise, together=("Pump 3",), alternatives=("p1",)), CLOCK])
    again = Controls.from_dict(json.loads(json.dumps(several.to_dict())))
    assert list(again) == list(several)
    assert again.sentences == several.sentences


def test_a_frame_has_one_row_per_control() -> None:
    frame = Controls([CLOSES, CLOCK]).to_polars()
    assert frame.height == 2
    assert frame["sensor"].to_list() == ["level_2", None]
    assert frame["crossings"].to_list() == [30, 29]
    assert Controls([]).to_polars().schema == frame.schema
    assert isinstance(frame.schema["threshold"], pl.Float64)


def test_a_control_as_a_rule() -> None:
    assert str(CLOSES.rule) == "(level_2:level).value ≥ 42.67 → (status_9:status).value = 'closed'"
    assert str(OPENS.rule).startswith("(level_2:level).value ≤ 33.5 → ")
    assert CLOCK.rule is None


def test_slices_are_controls() -> None:
    several = Controls([CLOSES, OPENS, CLOCK], notes=["a note"])
    assert len(several[:2]) == 2
    assert several[:2].notes == ("a note",)
    assert several[2] is CLOCK
    assert repr(several) == "Controls(3 of 1 actuators)"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"min_switches": 3}, "min_switches must be an integer >= 6"),
        ({"min_explained": 0}, "min_explained must be above 0"),
        ({"min_followed": 1.2}, "min_followed must lie between 0 and 1"),
        ({"numbers": "yes"}, "numbers must be True, False or None"),
        ({"timezone": "Mars"}, "Mars"),
    ],
)
def test_wrong_settings_are_refused(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        ControlSettings(**wrong)  # type: ignore[arg-type]
