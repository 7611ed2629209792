"""Series at the resolution of a screen."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import thence as th
from thence.data.readings.windows import window
from thence.errors import ConfigError
from thence.show.explorer.series_view import MOST_SERIES, envelope, series_page


@given(
    arrays(np.float64, st.integers(0, 40), elements=st.one_of(st.floats(-9, 9), st.just(np.nan))),
    st.integers(1, 50),
)
def test_an_envelope_holds_every_value(values: np.ndarray, points: int) -> None:
    times = np.arange(len(values)) * 10
    at, low, high = envelope(times, values, points=points)
    assert len(at) == len(low) == len(high) == min(points, len(values))
    starts = np.searchsorted(times, at)
    for number, start in enumerate(starts):
        end = starts[number + 1] if number + 1 < len(starts) else len(values)
        part = values[start:end][~np.isnan(values[start:end])]
        assert end > start
        if len(part):
            assert (low[number], high[number]) == (part.min(), part.max())
        else:
            assert np.isnan(low[number])
            assert np.isnan(high[number])


def test_states_are_positions_of_their_names() -> None:
    readings = window(th.datasets.load("net3", days=2).sensors, "30min")
    sensor = readings.categorical[0]
    page = series_page(readings, [sensor.id], start=None, end=None, points=10_000)
    (series,) = page["series"]
    codes, names = readings.states[sensor.id]
    assert series["states"] == list(names)
    assert [None if low is None else int(low) for low in series["low"]] == [
        None if c < 0 else c for c in codes.tolist()
    ]


def test_a_period_without_readings_is_empty() -> None:
    readings = window(th.datasets.load("toy").sensors, "1h")
    page = series_page(readings, [readings.sensors[0].id], start=5, end=9, points=10)
    assert page["series"][0]["times"] == []
    with pytest.raises(ConfigError, match="must not be after"):
        series_page(readings, [readings.sensors[0].id], start=9, end=5, points=10)


def test_sites_have_times_of_their_own() -> None:
    from dataclasses import replace

    from thence.runs.configuration import Config
    from thence.runs.preparation import window_readings

    toy = th.datasets.load("toy")
    sites = th.System.of_sites([replace(toy, name="north"), replace(toy.between("2024-01-01T12:00"), name="south")])
    readings = window_readings(sites, Config())
    ids = [sensor.id for sensor in readings.sensors]
    north, south = next(i for i in ids if i.startswith("north/")), next(i for i in ids if i.startswith("south/"))
    page = series_page(readings, [north, south], start=None, end=None, points=5000)
    first, second = (series["times"] for series in page["series"])
    assert len(second) < len(first)
    assert second[0] > first[0]


def test_unknown_sensors_are_named() -> None:
    readings = window(th.datasets.load("toy").sensors, "1h")
    with pytest.raises(ConfigError, match="no sensor"):
        series_page(readings, ["nobody"], start=None, end=None, points=5)
    with pytest.raises(ConfigError, match="at most"):
        series_page(readings, ["x"] * (MOST_SERIES + 1), start=None, end=None, points=5)
