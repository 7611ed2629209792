"""Laws and controls on other data."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import polars as pl

import thence as th
from thence.checks.application.logic import AppliedControls, apply_controls
from thence.data.readings.windows import WindowedReadings, window
from thence.statements.controls.counting import count_controls


def _tank(seed: int, *, high: float = 4.0, steps: int = 2000) -> th.System:
    """A tank whose pump starts below 2 m and stops above ``high``."""
    rng, level, pump, rows = np.random.default_rng(seed), 3.0, "on", []
    for step in range(steps):
        rows.append((datetime(2024, 1, 1) + step * timedelta(minutes=5), level, pump))
        level += (0.1 if pump == "on" else -0.07) * rng.uniform(0.6, 1.4)
        pump = "on" if level < 2 else "off" if level > high else pump
    frame = pl.DataFrame(rows, schema=["time", "level", "pump"], orient="row")
    return th.System(th.read_sensors(frame))


def _readings(system: th.System) -> WindowedReadings:
    return window(system.sensors)


def _applied(then: th.System, now: th.System) -> AppliedControls:
    found = th.find_controls(then, progress="off")
    out = apply_controls(found, _readings(now), now, same_system=True, timezone="UTC", assurance=0.95)
    assert isinstance(out, AppliedControls)
    return out


def test_counts_on_the_same_data_are_those_of_the_search() -> None:
    system = _tank(0)
    found = th.find_controls(system, progress="off")
    assert len(found) == 2
    assert count_controls(found, _readings(system)) == [control.tally for control in found]


def test_a_control_that_still_holds_and_one_that_does_not() -> None:
    assert [str(_applied(_tank(0), _tank(1)).verdict(at)) for at in range(2)] == ["holds", "holds"]
    changed = _applied(_tank(0), _tank(1, high=5.0))
    verdicts = {control.to_state: str(changed.verdict(at)) for at, control in enumerate(changed.then)}
    assert verdicts == {"on": "holds", "off": "no longer holds"}
    frame = changed.to_polars()
    assert frame["followed"].sum() < frame["crossings"].sum()


def test_a_sensor_without_readings_is_named() -> None:
    system = _tank(0)
    found = th.find_controls(system, progress="off")
    now = count_controls(found, _readings(system.select(["pump"])))
    assert now == ["there are no numbers of the sensor 'level'"] * 2
    now = count_controls(found, _readings(system.select(["level"])))
    assert now == ["there are no readings of the sensor 'pump'"] * 2


def test_an_actuator_that_rests_has_unanswered_crossings() -> None:
    # A change that never happened had no counts, although the level passed its threshold.
    found = th.find_controls(_tank(0), progress="off")
    frame = pl.DataFrame(
        {
            "time": [datetime(2024, 1, 1) + at * timedelta(minutes=5) for at in range(40)],
            "level": [3.0 + 0.1 * (at % 20) for at in range(40)],
            "pump": ["on"] * 20 + ["on"] * 20,
        }
    )
    counted = count_controls(found, _readings(th.System(th.read_sensors(frame, categorical=["pump"]))))
    stops = counted[[control.to_state for control in found].index("off")]
    assert not isinstance(stops, str)
    assert (stops.switches, stops.crossings, stops.followed) == (0, 2, 0)
