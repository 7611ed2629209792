"""Times of day at which actuators switch."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.statements.controls.plants import windows
from thence.statements.controls.clock import Schedule, find_schedule, local_clock
from thence.statements.controls.switches import Switch, find_switches


def schedule(days: int, on: list[int], off: list[int]) -> list[str]:
    """States per hour of a switch that is turned on and off at these hours."""
    state, out = "off", []
    for hour in range(24 * days):
        state = "on" if hour % 24 in on else "off" if hour % 24 in off else state
        out.append(state)
    return out


def find(states: list[str], to_state: str, *, minutes: int = 60, min_followed: float = 0.8) -> Schedule | None:
    """The schedule of one change."""
    readings = windows({}, {"pump": states}, minutes=minutes)
    (switch,) = [one for one in find_switches(readings, least=6)[0] if one.to_state == to_state]
    clock = local_clock(readings, "UTC")
    return find_schedule(switch, clock, changes=2, min_explained=0.5, min_followed=min_followed)


def test_every_time_of_a_schedule_is_found() -> None:
    states = schedule(20, [6, 18], [8, 22])
    for to_state, hours in (("on", (6, 18)), ("off", (8, 22))):
        found = find(states, to_state)
        assert found is not None
        assert sorted(time.usual for time in found.times) == [3600 * hour for hour in hours]
        assert [(one.switches, one.explained, one.crossings) for one in found.tallies] == [(40, 20, 20)] * 2
        assert [time.premise for time in found.times] == [None, None]
        assert sum(int(hits.sum()) for hits in found.explained) == 40
        assert found.agreement == 1.0


def test_days_on_which_it_did_not_switch_count_against_a_time() -> None:
    states = schedule(40, [6], [8])
    for day in range(0, 40, 2):
        states[24 * day + 6 : 24 * day + 8] = ["off", "off"]
    assert find(states, "on") is None
    found = find(states, "on", min_followed=0.4)
    assert found is not None
    assert 2 * found.tallies[0].followed == found.tallies[0].crossings


@pytest.mark.parametrize("holidays", [(), (3, 16)])
def test_working_days_are_named_and_holidays_are_exceptions(holidays: tuple[int, ...]) -> None:
    """A fan that runs from Monday to Friday was not found to start by the clock: it does not at weekends."""
    states = schedule(42, [7], [18])
    for day in range(42):
        if day % 7 >= 5 or day in holidays:
            states[24 * day : 24 * day + 24] = ["off"] * 24
    days = 30 - len(holidays)
    for to_state, armed in (("on", 30), ("off", days)):
        found = find(states, to_state)
        assert found is not None
        (time,) = found.times
        assert time.days == range(5)
        assert (found.tallies[0].followed, found.tallies[0].crossings) == (days, armed)


def test_days_that_were_not_read_are_not_left_out() -> None:
    """Eight working days of an air handler made a schedule from Monday to Friday; it ran at weekends, too."""
    states = schedule(14, [6], [18])
    hours = np.array([24 * day + hour for day in range(14) if day % 7 < 5 for hour in range(24)])
    readings = windows({}, {"pump": states}, minutes=60)
    (switch,) = [one for one in find_switches(readings, least=6)[0] if one.to_state == "on"]
    clock = local_clock(readings, "UTC")
    whole = find_schedule(switch, clock, changes=2, min_explained=0.5, min_followed=0.8)
    assert whole is not None and whole.times[0].days == range(7)
    read = np.isin(switch.moments + 1, hours)
    part = replace(clock, weekday=np.where(clock.weekday < 5, clock.weekday, clock.weekday - 5))
    few = Switch(switch.actuator, switch.from_state, switch.to_state, switch.moments[read], switch.switched[read])
    found = find_schedule(few, part, changes=2, min_explained=0.5, min_followed=0.8)
    assert found is not None and found.times[0].premise is None


@pytest.mark.parametrize("seed", range(4))
def test_the_end_of_a_pulse_is_no_schedule(seed: int) -> None:
    """A state that lasts one window ends whenever it was there: every hour with six pulses was a schedule."""
    rng = np.random.default_rng(seed)
    hours = np.arange(60 * 24) % 24
    states = ["on" if one else "off" for one in rng.random(hours.size) < np.where(abs(hours - 13) < 5, 0.4, 0.05)]
    assert find(states, "off") is None
    assert find(states, "on") is None


def test_times_are_those_of_the_time_zone() -> None:
    readings = windows({"x": np.arange(24)}, {}, minutes=60)
    clock = local_clock(readings, "Europe/Berlin")
    assert clock.seconds[:3].tolist() == [3600, 7200, 10800]
    assert clock.weekday[[0, 22, 23]].tolist() == [0, 0, 1]
    assert np.diff(clock.day)[[21, 22]].tolist() == [0, 1]
