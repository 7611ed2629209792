"""Values derived from windows against their definitions, window by window, with gaps."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.examples import examples
from thence.data.readings.derived import DERIVED, DURATION_EDGES, check_derived, name_derived
from thence.data.readings.durations import parse_duration
from thence.data.readings.pooling import cut_sites, pool_readings
from thence.data.readings.sensors import Sensor, SensorData
from thence.data.readings.windows import WindowedReadings, window
from thence.errors import ConfigError

START = datetime(2024, 3, 1, tzinfo=UTC)
MINUTES = 10
ALL = ["change", "previous", "lag:30min", "switch", "duration", "within:20min"]


def readings(series: dict[str, list[Any]], **options: Any) -> WindowedReadings:
    """Windows of 10 minutes with these values; ``None`` is no reading, and texts are states."""
    length = max(map(len, series.values()))
    times = [START + timedelta(minutes=MINUTES * at) for at in range(length)]
    states = {name for name, values in series.items() if any(isinstance(value, str) for value in values)}
    sensors = [Sensor(name, name.partition("_")[0], "", categorical=name in states) for name in series]
    types = {name: pl.String if name in states else pl.Float64 for name in series}
    frame = pl.DataFrame({"time": times, **series}, schema_overrides=types)
    return window(SensorData.from_wide(frame, sensors=sensors), f"{MINUTES}min", **options)


def state_at(values: list[Any], at: int) -> Any:
    return values[at] if 0 <= at < len(values) else None


def lasted(values: list[Any], at: int) -> int | None:
    """For how many windows the state of a window has lasted; unknown if its begin was not seen."""
    begin = at
    while state_at(values, begin - 1) == values[at]:
        begin -= 1
    return at - begin + 1 if state_at(values, begin - 1) is not None else None


def decoded(made: WindowedReadings, name: str, sensor: str, length: int) -> list[Any]:
    """The derived state of each window of the whole grid; ``"dropped"`` where the window was left out."""
    codes, known = made.derived_states[name][sensor]
    out: list[Any] = ["dropped"] * length
    for time, code in zip(made.times.tolist(), codes.tolist(), strict=True):
        out[(time.replace(tzinfo=UTC) - START) // timedelta(minutes=MINUTES)] = known[code] if code >= 0 else None
    return out


states = st.lists(st.sampled_from(["on", "on", "off", None]), min_size=1, max_size=40)
numbers = st.lists(st.sampled_from([0.0, 0.0, 1.5, 2.5, None]), min_size=1, max_size=40)


@given(states, numbers)
@settings(max_examples=examples(150), deadline=None)
def test_derived_values_are_those_of_their_definitions(valve: list[Any], flow: list[Any]) -> None:
    length = max(len(valve), len(flow))
    valve, flow = (values + [None] * (length - len(values)) for values in (valve, flow))
    known = {"valve": valve, "flow": flow}
    if not any(isinstance(value, str) for value in valve) or all(value is None for value in flow):
        return
    made = readings(known, derive=ALL)
    zeros, others = (sum(value is not None and (value == 0) == zero for value in flow) for zero in (True, False))
    rests = zeros > 0 and others > 0 and zeros >= 0.05 * (zeros + others)
    assert ("switch:0" in made.derived_states) == rests
    rest = [None if value is None else "not 0" if value else "0" for value in flow]
    for sensor, values in {"valve": valve, **({"flow": rest} if rests else {})}.items():
        for at in range(length):
            empty = valve[at] is None and flow[at] is None
            now, before = values[at], state_at(values, at - 1)
            switch = "switch" if sensor == "valve" else "switch:0"
            expected: dict[str, Any] = {switch: None if now is None or before is None else now != before and now}
            for state in ("on", "off") if sensor == "valve" else ("0", "not 0"):
                if state not in values:
                    continue
                run = None if now is None else lasted(values, at)
                expected[f"duration:{state}"] = None if now is None else False if now != state else run
                ahead = [state_at(values, at + 1), state_at(values, at + 2)]
                whole = [now, *ahead]
                expected[f"within:20min:is:{state}"] = None if None in ahead else state in ahead
                switches = [b == state and a != b for a, b in zip(whole, ahead, strict=False)]
                expected[f"within:20min:to:{state}"] = None if None in whole else any(switches)
            for name, value in expected.items():
                got = decoded(made, name, sensor, length)[at]
                if isinstance(got, tuple):
                    hours = value * MINUTES / 60
                    assert got[0] <= hours + 1e-12 and hours < got[1] - 1e-12
                else:
                    assert got == "dropped" if empty else got == value and (got is False) == (value is False), name
    at_time = {
        (time.replace(tzinfo=UTC) - START) // timedelta(minutes=MINUTES): row
        for row, time in enumerate(made.times.tolist())
    }
    for at, row in at_time.items():
        for name, back in (("lag:10min", 1), ("lag:30min", 3)):
            before = state_at(flow, at - back)
            assert made.derived[name][row, 0] == before or (before is None and math.isnan(made.derived[name][row, 0]))
            assert decoded(made, name, "valve", length)[at] == state_at(valve, at - back)


def test_a_lag_across_a_gap_is_missing_and_counts_time_not_rows() -> None:
    made = readings({"flow": [1.0, 2.0, None, None, 5.0, 6.0]}, derive=["previous", "lag:3"])
    assert len(made) == 4
    np.testing.assert_array_equal(made.derived["lag:10min"][:, 0], [np.nan, 1, np.nan, 5])
    np.testing.assert_array_equal(made.derived["lag:30min"][:, 0], [np.nan, np.nan, 2, np.nan])


def test_what_is_not_asked_for_is_not_made() -> None:
    made = readings({"valve": ["on", "off", "on"]}, derive=["switch"])
    assert list(made.derived) == []
    assert list(made.derived_states) == ["switch"]
    assert not readings({"valve": ["on", "off", "on"]}).derived_states


def test_what_a_sensor_never_does_is_known_not_to_happen() -> None:
    made = readings({"valve_a": ["on", "off", "on"], "valve_b": ["on", "on", "on"]}, derive=["duration", "switch"])
    codes, known = made.derived_states["duration:off"]["valve_b"]
    assert [known[code] for code in codes] == [False, False, False]
    assert decoded(made, "switch", "valve_b", 3) == [None, False, False]


def test_zero_degrees_is_not_rest() -> None:
    cold = {"temperature": [0.0, 0.0, 1.0, 0.0]}
    assert not readings(cold, derive="switch").derived_states
    assert list(readings({"flow": cold["temperature"]}, derive="switch").derived_states) == ["switch:0"]


def test_sensors_with_many_states_have_no_durations_and_a_note_says_so() -> None:
    made = readings({"mode": [f"m{at}" for at in range(13)]}, derive=["duration", "within:1", "switch"])
    assert list(made.derived_states) == ["switch"]
    assert made.notes[-1] == "no duration and no following states of sensors with more than 12 states: mode"


def test_several_systems_keep_their_own_time() -> None:
    parts = {
        "north": readings({"valve": ["on", "off", "off"], "flow": [1.0, 2.0, 3.0]}, derive=["lag:1", "switch"]),
        "south": readings({"valve": ["off", "on"], "flow": [7.0, 8.0]}, derive=["lag:1", "switch"]),
    }
    pool = pool_readings(parts)
    np.testing.assert_array_equal(pool.derived["lag:10min"][:, 1], [np.nan, 7, np.nan])
    codes, known = pool.derived_states["switch"]["south/valve"]
    assert [known[code] if code >= 0 else None for code in codes] == [None, "on", None]
    later = cut_sites(pool, {"north": (1, 3), "south": (1, 2)})
    assert [known[code] if code >= 0 else None for code in later.derived_states["switch"]["south/valve"][0]] == [
        "on",
        None,
    ]
    assert list(pool.select(["north/valve"]).derived_states["switch"]) == ["north/valve"]
    alone = pool_readings({"north": parts["north"]})
    assert alone is parts["north"] and alone.site_of("valve") == "" and list(alone.by_site) == [""]
    last = cut_sites(alone, {"": (2, 3)})
    assert len(last) == 1 and last.values.tolist() == [[3.0]] and not last.site_times


def test_names_are_durations_whatever_was_asked_for() -> None:
    half_hour = parse_duration("30min")
    assert name_derived("previous", half_hour) == ("lag:30min",)
    assert name_derived(["lag:3", "lag:90 min", "within:1d", "next"], half_hour) == (
        "lag:1h30min",
        "within:1d",
        "within:30min",
    )
    assert check_derived(DERIVED) == DERIVED


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("lag:0", "a number of windows must be at least 1"),
        ("lag", "invalid duration"),
        ("within:soon", "invalid duration 'soon'"),
        ("lagg:3", "unknown derived value 'lagg:3'"),
        ("lag:45min", "not a multiple of the windows of 30min"),
    ],
)
def test_names_that_say_nothing_are_refused(name: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        name_derived(name, parse_duration("30min"))


def test_the_edges_of_durations_depend_on_the_windows_alone() -> None:
    short = readings({"valve": ["on", "off", "on"]}, derive="duration")
    long = readings({"valve": ["on", *["off"] * 200]}, derive="duration")
    assert short.derived_states["duration:off"]["valve"][1] == long.derived_states["duration:off"]["valve"][1]
    assert sorted(DURATION_EDGES) == list(DURATION_EDGES)
