"""What one series shows: each fault is found where it was put, and what healthy sensors do is not."""

from __future__ import annotations

import numpy as np
import pytest

from thence.data.readings.health.alone import (
    Span,
    count_decimals,
    find_clipped,
    find_gaps,
    find_precision,
    find_runs,
    find_shift,
    find_spikes,
    find_stuck,
    find_unit_change,
    find_zeros,
    is_counter,
)

DAY = 96


def daily(seed: int = 0, days: int = 20, decimals: int = 2) -> np.ndarray:
    """A temperature with a daily cycle and noise."""
    rng = np.random.default_rng(seed)
    wave = 20 + 4 * np.sin(np.arange(days * DAY) * 2 * np.pi / DAY)
    return np.round(wave + 0.1 * rng.normal(size=wave.size), decimals)


def test_a_sensor_that_holds_is_stuck_from_there_on() -> None:
    values = daily()
    values[700:900] = values[699]
    (found,) = find_stuck(find_runs(values))
    assert (found.start, found.end, found.size) == (699, 900, values[699])
    assert found.ratio > 20


def test_what_a_sensor_does_often_is_not_stuck() -> None:
    rng = np.random.default_rng(1)
    resting = np.where(np.arange(4000) % DAY < 40, 0.0, np.round(5 + rng.normal(size=4000), 2))
    resting[2000:2600] = 0.0  # a week off, at a value at which it rests every night
    held = np.repeat(np.round(rng.normal(20, 2, 200), 1), 20)
    set_point = np.repeat([21.0, 18.0], 500)
    for values in (resting, held, set_point, np.full(2000, 2.5), daily()):
        assert find_stuck(find_runs(values)) == []


def test_readings_of_0_far_from_all_others_are_those_of_a_dead_sensor() -> None:
    values = daily()
    values[300:310] = 0.0
    assert [(one.start, one.end) for one in find_zeros(find_runs(values))] == [(300, 310)]
    assert find_zeros(find_runs(values - 20)) == [], "0 is among what it reads"


def test_a_gap_is_one_that_the_sensor_never_makes() -> None:
    at = np.flatnonzero(np.random.default_rng(0).random(2000) > 0.1)
    assert find_gaps(at, 2000) == []
    paused = at[(at < 900) | (at >= 1000)]
    (found,) = find_gaps(paused, 2000)
    assert 890 < found.start <= 900 and found.end >= 1000 and found.note == ""
    (ended,) = find_gaps(at[at < 1500], 2000)
    assert ended.note == "end" and ended.end == 2000


@pytest.mark.parametrize("height", [6.0, -8.0])
def test_a_spike_is_one_reading_that_jumps_and_returns(height: float) -> None:
    values = daily()
    values[800] += height
    assert [(one.start, one.end) for one in find_spikes(values, find_runs(values))] == [(800, 801)]


def test_a_pump_that_runs_for_one_window_at_a_time_has_no_spikes() -> None:
    values = daily()
    values[::50] += 6.0
    assert find_spikes(values, find_runs(values)) == []


def test_peaks_cut_off_at_one_value_are_clipped() -> None:
    rng = np.random.default_rng(0)
    values = np.round(20 + 4 * np.sin(np.arange(20 * DAY) * 2 * np.pi / DAY) + 0.02 * rng.normal(size=20 * DAY), 2)
    assert find_clipped(values, find_runs(values)) is None
    cut = np.where(np.arange(values.size) > 600, np.minimum(values, 23.0), values)
    found = find_clipped(cut, find_runs(cut))
    assert found is not None and found.size == 23.0 and found.note == "above"
    assert 600 < found.start < 600 + DAY


def test_readings_with_fewer_or_more_decimals() -> None:
    values = daily(decimals=2)
    coarse = np.concatenate([values[:1000], np.round(values[1000:], 1)])
    found = find_precision(coarse, find_runs(coarse))
    assert found is not None and found.note == "fewer" and 950 < found.start <= 1001 and found.end == values.size
    finer = np.concatenate([np.round(values[:1500], 1), values[1500:]])
    found = find_precision(finer, find_runs(finer))
    assert found is not None and found.note == "more" and abs(found.start - 1500) < 10
    assert find_precision(values, find_runs(values)) is None
    assert count_decimals(np.array([0.1 + 0.2, 100.0, 1 / 7])).tolist() == [1, 0, 7]


def test_readings_that_go_on_in_another_unit() -> None:
    values = daily()
    changed = np.concatenate([values[:1200], np.round(values[1200:] * 1.8 + 32, 2)])
    for unit in ("°C", "degC", ""):
        found = find_unit_change(changed, find_runs(changed), unit)
        assert found is not None and found.start == 1200, unit
    assert find_unit_change(changed, find_runs(changed), "kPa") is None, "no conversion of pressures fits"
    assert find_unit_change(values, find_runs(values), "°C") is None


def test_a_step_that_stays_is_a_shift_and_one_that_ends_is_not() -> None:
    values = daily()
    shifted = np.concatenate([values[:1000], values[1000:] + 4])
    found = find_shift(shifted, find_runs(shifted))
    assert found is not None and found.start == 1000 and 3 < found.size < 5
    assert find_shift(values, find_runs(values)) is None


def test_a_counter_rises_but_for_resets() -> None:
    counter = np.cumsum(np.random.default_rng(0).random(500))
    assert is_counter(counter % 100)
    assert not is_counter(daily())
    assert find_runs(np.array([])).starts.size == 0


def test_a_span_has_a_note_only_where_it_needs_one() -> None:
    assert Span(0, 1, 2.0, 3.0).note == ""
