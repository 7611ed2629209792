"""True controls: read from the network file in metric units, and their actions counted in the readings."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thence.data.datasets as datasets
from thence.data.readings.sensors import SensorData
from thence.errors import ConfigError, InputError
from thence.lab.datasets.library import LIBRARY, TrueControl, count_actions, true_controls

START = datetime(2024, 1, 1)


def readings(levels: list[float], states: list[str], *, step: timedelta = timedelta(hours=1)) -> SensorData:
    times = [START + step * k for k in range(len(levels))]
    return SensorData.from_wide(pl.DataFrame({"time": times, "level_T": levels, "status_P": states}))


def control(status: str, direction: str, threshold: float) -> TrueControl:
    return TrueControl(
        actuator="status_P",
        status=status,
        sensor="level_T",
        direction=direction,  # type: ignore[arg-type]
        threshold=threshold,
    )


def test_the_controls_of_net3_are_those_of_its_file() -> None:
    found = true_controls("net3")
    assert [str(one) for one in found] == [
        "status_10 becomes open at 01:00",
        "status_10 becomes closed at 15:00",
        "status_335 becomes open when level_1 is below 5.21208",
        "status_335 becomes closed when level_1 is above 5.82168",
        "status_330 becomes closed when level_1 is below 5.21208",
        "status_330 becomes open when level_1 is above 5.82168",
    ]
    assert found[2].threshold == pytest.approx(17.1 * 0.3048)  # the file is in feet
    assert [one.by_clock for one in found] == [True, True, False, False, False, False]
    assert all(one.acted == 0 for one in found)


@pytest.mark.parametrize(("name", "number"), [("net1", 2), ("ky4", 2), ("ky10", 6), ("net6", 124)])
def test_every_control_of_a_file_is_read(name: str, number: int) -> None:
    found = true_controls(name)
    assert len(found) == number
    data = datasets.load(name, days=1, step_minutes=60)
    ids = {sensor.id for sensor in data.sensors.sensors}
    for one in found:
        assert {one.actuator, one.sensor} <= ids
        assert one.direction in ("below", "above") and one.status in ("open", "closed")


def test_every_switch_of_net1_and_net3_is_an_action_of_a_control() -> None:
    for name in ("net1", "net3"):
        sensors = datasets.load(name, days=14, step_minutes=5).sensors
        found, frame = true_controls(name, sensors), sensors.to_polars()
        for actuator in {one.actuator for one in found}:
            states = frame[actuator].to_numpy()
            for status in ("open", "closed"):
                switches = int(((states[:-1] != status) & (states[1:] == status)).sum())
                acted = [one.acted for one in found if (one.actuator, one.status) == (actuator, status)]
                assert sum(acted) == switches >= 10
        watched = [one for one in found if one.sensor]
        assert all(one.sensor_range == np.ptp(frame[one.sensor].to_numpy()) for one in watched)


def test_a_change_far_from_the_threshold_is_no_action() -> None:
    sensors = readings([5, 4, 3, 4, 5, 6], ["closed", "closed", "open", "open", "closed", "open"])
    (opens,) = count_actions([control("open", "below", 2.5)], sensors)
    assert opens.acted == 1
    assert opens.sensor_range == 3


def test_a_reading_that_turns_within_the_step_has_passed() -> None:
    """The pump stops at 5.82 m between two readings of 5.80 m; no reading shows 5.82 m."""
    sensors = readings([5.70, 5.75, 5.80, 5.80, 5.75], ["open", "open", "open", "closed", "closed"])
    assert count_actions([control("closed", "above", 5.82)], sensors)[0].acted == 1


def test_a_control_by_the_clock_acts_at_its_hour_only() -> None:
    states = ["closed"] * 3 + ["open"] * 24 + ["closed"] * 3 + ["open"] * 3
    sensors = readings([0.0] * len(states), states)
    at_three = TrueControl(actuator="status_P", status="open", threshold=3.0)
    assert count_actions([at_three], sensors)[0].acted == 1  # the second opening is at six
    assert count_actions([at_three], sensors)[0].sensor_range == 24
    midnight = TrueControl(actuator="status_P", status="closed", threshold=0.0)
    assert count_actions([midnight], sensors)[0].acted == 0


def test_without_its_sensors_a_control_has_not_acted() -> None:
    sensors = readings([5, 4, 3], ["closed", "closed", "open"])
    other = TrueControl(actuator="status_Q", status="open", sensor="level_T", direction="below", threshold=3.0)
    unread = TrueControl(actuator="status_P", status="open", sensor="level_U", direction="below", threshold=3.0)
    assert [one.acted for one in count_actions([other, unread], sensors)] == [0, 0]


@given(
    st.lists(st.tuples(st.floats(0, 10), st.booleans()), min_size=2, max_size=20),
    st.floats(0, 10),
    st.sampled_from(["below", "above"]),
)
def test_never_more_actions_than_switches(rows: list[tuple[float, bool]], threshold: float, direction: str) -> None:
    states = ["open" if running else "closed" for _, running in rows]
    switches = sum(a == "closed" and b == "open" for a, b in pairwise(states))
    sensors = readings([level for level, _ in rows], states)
    (one,) = count_actions([control("open", direction, threshold)], sensors)
    assert 0 <= one.acted <= switches


def test_other_data_sets_have_no_known_controls() -> None:
    with pytest.raises(ConfigError, match="no controls are known for 'hanoi'; networks are net1, net3, ky4"):
        true_controls("hanoi")


NETWORK = """
[JUNCTIONS]
 A  10  20
[RESERVOIRS]
 R  60
[TANKS]
 T  50  3  1  6  10  0
[PIPES]
 RA  R  A  500  250  120  0  Open
 AT  A  T  400  200  120  0  Open
[OPTIONS]
 Units  CMH
 Headloss  H-W
[RULES]
RULE one
IF TANK T LEVEL BELOW 2
{rest}
[END]
"""


def read_rule(rest: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[TrueControl, ...]:
    file = folder / "rule.inp"
    file.write_text(NETWORK.format(rest=rest))
    monkeypatch.setitem(LIBRARY, "rule", SimpleNamespace(path=file))  # type: ignore[arg-type]
    return true_controls("rule")


OPEN = "THEN PIPE RA STATUS IS OPEN"


def test_a_rule_with_one_premise_is_a_control(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (found,) = read_rule(OPEN, tmp_path, monkeypatch)
    assert str(found) == "status_RA becomes open when level_T is below 2"


@pytest.mark.parametrize(
    "rest", [f"AND SYSTEM CLOCKTIME >= 8:00 AM\n{OPEN}", f"{OPEN}\nELSE PIPE RA STATUS IS CLOSED"], ids=["AND", "ELSE"]
)
def test_other_rules_are_refused(rest: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of a rule is not the truth."""
    with pytest.raises(InputError, match="control 'one' is not of a known form"):
        read_rule(rest, tmp_path, monkeypatch)
