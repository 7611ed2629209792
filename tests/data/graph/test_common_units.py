"""One unit for each kind, at one site or several."""

from __future__ import annotations

from datetime import datetime

import polars as pl
import pytest

from thence.data.graph.common_units import with_common_units
from thence.data.graph.system import System
from thence.data.readings.sensors import Sensor, SensorData

TIMES = [datetime(2024, 1, 1, hour) for hour in range(3)]


def system(units: list[str], *, kind: str = "temperature", long: bool = False) -> System:
    sensors = [Sensor(f"s{at}", kind, unit) for at, unit in enumerate(units)]
    frame = pl.DataFrame({"time": TIMES, **{one.id: [50.0, 68.0, 86.5] for one in sensors}})
    if not long:
        return System(SensorData.from_wide(frame, sensors=sensors))
    rows = frame.unpivot(index="time", variable_name="sensor", value_name="value")
    return System(SensorData.from_long(rows, sensors=sensors))


@pytest.mark.parametrize("long", [False, True])
def test_readings_are_converted_to_the_unit_of_most(long: bool) -> None:
    data = with_common_units(system(["degC", "°F", "degC"], long=long)).sensors
    assert {sensor.unit for sensor in data.sensors} == {"degC"}
    assert data.to_polars()["s1"].to_list() == [10.0, 20.0, 30.28]
    assert data.to_polars()["s0"].to_list() == [50.0, 68.0, 86.5]
    assert data.report.notes == ("readings converted to one unit for each kind: °F → °C in 1 sensor (temperature)",)


def test_of_two_units_that_are_equally_frequent_it_is_that_of_si() -> None:
    assert {one.unit for one in with_common_units(system(["gpm", "L/s"], kind="flow")).sensors.sensors} == {"L/s"}


def test_spellings_of_one_unit_are_one() -> None:
    found = with_common_units(system(["degC", "°C", "°C"])).sensors
    assert {one.unit for one in found.sensors} == {"°C"} and not found.report.notes
    assert found.to_polars()["s0"].to_list() == [50.0, 68.0, 86.5]


def test_units_that_cannot_be_converted_are_kinds_of_their_own() -> None:
    found = with_common_units(system(["L/s", "%", "gpm", "%", "L/s"], kind="flow")).sensors
    assert [(one.kind, one.unit) for one in found.sensors] == [
        ("flow", "L/s"),
        ("flow in %", "%"),
        ("flow", "L/s"),
        ("flow in %", "%"),
        ("flow", "L/s"),
    ]
    assert any("kinds of their own: flow in % (2)" in note for note in found.report.notes)


def test_a_wanted_unit_comes_first_and_nothing_else_is_touched() -> None:
    one = system(["°F", "°F"])
    assert with_common_units(one) is one
    changed = with_common_units(one, wanted={"temperature": "°C"}).sensors
    assert {sensor.unit for sensor in changed.sensors} == {"°C"}
    assert changed.to_polars()["s0"].to_list() == [10.0, 20.0, 30.28]
    assert with_common_units(one, wanted={"temperature": "kPa"}).sensors.to_polars().equals(one.sensors.to_polars())
    plain = system(["", "°C"])
    assert with_common_units(plain) is plain, "a sensor without a unit is that of its kind"
