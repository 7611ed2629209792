"""What went in: kinds, gaps and the graph, against plain counts."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import numpy as np
import polars as pl
import pytest

import thence as th
from tests.show.reports.worlds import world
from thence.data.readings.sensors import SensorData
from thence.data.readings.windows import window
from thence.runs.run import Run
from thence.show.reports.inputs import describe_system, draw_gaps, span_edges


def test_kinds_are_counted_over_the_windows() -> None:
    system = world()
    readings = window(system.sensors, "1h")
    part = describe_system(system, readings)
    assert part is not None
    kinds = {kind["kind"]: kind for kind in part["kinds"]}
    assert set(kinds) == {"temperature", "people", "window"}
    values = readings.values[:, [at for at, s in enumerate(readings.numeric) if s.kind == "temperature"]]
    warm = kinds["temperature"]
    assert warm["readings"] == int((~np.isnan(values)).sum())
    assert warm["missing"] == pytest.approx(np.isnan(values).mean(), abs=1e-6)
    assert (warm["low"], warm["high"]) == (np.nanmin(values), np.nanmax(values))
    assert warm["median"] == pytest.approx(np.nanmedian(values), rel=1e-5)
    assert warm["unit"] == "°C"
    assert kinds["window"]["states"] == ["open", "shut"]
    assert kinds["window"]["low"] is None
    assert part["readings"] == sum(kind["readings"] for kind in part["kinds"])


def test_gaps_show_windows_that_mining_left_out() -> None:
    times = [datetime(2024, 1, 1, hour) for hour in (0, 1, 2, 9, 10, 11)]
    frame = pl.DataFrame({"time": times, "a": [1.0, None, 3.0, 4.0, 5.0, 6.0], "b": [1.0, 2.0, 3.0, 4.0, 5.0, None]})
    readings = window(SensorData.from_wide(frame), "1h")
    assert len(readings) == 6
    gaps = draw_gaps(readings, spans=4)
    assert gaps["by"] == "sensor"
    assert len(gaps["edges"]) == 5
    assert {row["name"]: row["present"] for row in gaps["rows"]} == {
        "a": [0.667, 0.0, 0.0, 1.0],
        "b": [1.0, 0.0, 0.0, 0.667],
    }


def test_many_sensors_are_drawn_by_kind() -> None:
    readings = window(world().sensors, "1h")
    gaps = draw_gaps(readings, rows=5)
    assert gaps["by"] == "kind"
    assert {row["name"] for row in gaps["rows"]} == {"temperature", "people", "window"}


@pytest.mark.parametrize("count", [1, 2, 119, 120, 121, 1000])
def test_stretches_cover_every_window_once(count: int) -> None:
    times = np.datetime64("2024-01-01", "us") + np.arange(count) * np.timedelta64(15, "m")
    edges = span_edges(times, np.timedelta64(15, "m"), most=120)
    bounds = np.searchsorted(times, edges)
    assert 1 <= len(edges) - 1 <= 120
    assert bounds[0] == 0
    assert bounds[-1] == count
    assert (np.diff(bounds) > 0).all()
    assert edges[-1] == times[-1] + np.timedelta64(15, "m")


def test_sites_have_their_own_windows() -> None:
    early, late = world(0, frames=30, name="early"), world(1, frames=60, name="late")
    run = th.mine([early, late], windows="1h", bins=2, min_confidence=0.6, confirm=False, progress="off")
    part = describe_system(run.system, run.readings)
    assert part is not None
    assert part["sites"] == ["early", "late"]
    assert part["sensors"] == 24
    missing = {kind["kind"]: kind["missing"] for kind in part["kinds"]}
    # The windows after the end of the shorter site are no gaps.
    assert missing["temperature"] == pytest.approx(0.2, abs=0.08)
    assert part["gaps"] is not None
    assert len(part["gaps"]["rows"]) == 24


def test_without_readings_the_graph_is_told_alone() -> None:
    system = world()
    part = describe_system(system, None)
    assert part is not None
    assert part["kinds"] == []
    assert part["graph"] is not None
    assert part["graph"]["classes"] == [{"name": "Room", "count": 4}]
    assert describe_system(None, None) is None


def test_a_sensor_that_never_reads_has_no_range() -> None:
    readings = window(world().sensors, "1h")
    silent = replace(readings, values=np.full_like(readings.values, np.nan))
    part = describe_system(None, silent, name="silent")
    assert part is not None
    assert part["name"] == "silent"
    numbers = [kind for kind in part["kinds"] if not kind["states"]]
    assert all(kind["low"] is None and kind["missing"] == 1.0 for kind in numbers)


def test_a_run_without_a_graph_has_no_summary_of_one() -> None:
    run: Run = th.mine(world().sensors, windows="1h", bins=2, confirm=False, progress="off")
    part = describe_system(run.system, run.readings, name="rooms")
    assert part is not None
    assert part["graph"] is None
    assert part["name"] == "rooms"


def test_each_site_has_its_own_time() -> None:
    toy = th.datasets.load("toy")
    north, south = replace(toy, name="north"), replace(toy.between("2024-01-01T12:00"), name="south")
    run = th.mine([north, south], windows="1h", bins=3, confirm=False, progress="off")
    assert run.readings is not None
    present = {row["name"]: row["present"] for row in draw_gaps(run.readings)["rows"]}
    assert set(present["north/flow_AB"]) == {1.0}
    assert present["south/flow_AB"] == [None] * 12 + [1.0] * 36
    (flow, _) = draw_gaps(run.readings, rows=2)["rows"]
    assert set(flow["present"]) == {1.0}
