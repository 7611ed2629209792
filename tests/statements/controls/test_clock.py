"""Times of day at which actuators switch."""

from __future__ import annotations

import numpy as np

from tests.statements.controls.plants import windows
from thence.statements.controls.clock import find_schedule, local_seconds
from thence.statements.controls.switches import find_switches


def schedule(days: int, on: list[int], off: list[int]) -> list[str]:
    """States per hour of a switch that is turned on and off at these hours."""
    state, out = "off", []
    for hour in range(24 * days):
        state = "on" if hour % 24 in on else "off" if hour % 24 in off else state
        out.append(state)
    return out


def test_every_time_of_a_schedule_is_found() -> None:
    readings = windows({}, {"pump": schedule(10, [6, 18], [8, 22])}, minutes=60)
    seconds = local_seconds(readings, "UTC")
    for switch in find_switches(readings, least=6)[0]:
        found = find_schedule(switch, seconds, least=6, min_followed=0.9)
        assert found is not None
        assert found.seconds == ((6 * 3600, 18 * 3600) if switch.to_state == "on" else (8 * 3600, 22 * 3600))
        assert [(one.switches, one.explained, one.crossings) for one in found.tallies] == [(20, 10, 10)] * 2
        assert found.explained.sum() == 20
        assert found.agreement == 1.0


def test_days_on_which_it_did_not_switch_count_against_a_time() -> None:
    states = schedule(20, [6], [8])
    for day in range(0, 20, 2):
        states[24 * day + 6 : 24 * day + 8] = ["off", "off"]
    readings = windows({}, {"pump": states}, minutes=60)
    seconds = local_seconds(readings, "UTC")
    turned_on = next(one for one in find_switches(readings, least=6)[0] if one.to_state == "on")
    assert find_schedule(turned_on, seconds, least=6, min_followed=0.9) is None
    found = find_schedule(turned_on, seconds, least=6, min_followed=0.5)
    assert found is not None
    assert (found.tallies[0].followed, found.tallies[0].crossings) == (10, 20)


def test_times_are_those_of_the_time_zone() -> None:
    readings = windows({"x": np.arange(3)}, {}, minutes=60)
    assert local_seconds(readings, "Europe/Berlin").tolist() == [3600, 7200, 10800]
