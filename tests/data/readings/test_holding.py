"""Logs of changes: what is held, for how long, and what a window says of it."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import thence as th
from tests.helpers.examples import examples
from thence.data.readers import read_sensors
from thence.data.readings.holding import FOREVER, habit, hold_numbers, hold_states
from thence.data.readings.windows import WindowedReadings, window
from thence.errors import ConfigError

START = datetime(2024, 3, 4)
EVERY, WINDOWS = 10, 6


@given(
    times=st.lists(st.integers(0, EVERY * WINDOWS - 1), min_size=1, max_size=12, unique=True).map(sorted),
    limit=st.integers(1, 40),
    data=st.data(),
)
@settings(max_examples=examples(200), deadline=None)
def test_windows_of_what_is_held_equal_the_naive_reference(times: list[int], limit: int, data: st.DataObject) -> None:
    codes = data.draw(st.lists(st.integers(0, 2), min_size=len(times), max_size=len(times)))
    known = np.full(EVERY * WINDOWS, -1)
    for at in range(known.size):
        last = max((k for k, time in enumerate(times) if time <= at), default=-1)
        if last >= 0 and at < times[last] + limit:
            known[at] = codes[last]
    parts = [part[part >= 0] for part in known.reshape(WINDOWS, EVERY)]
    at, values = np.array(times, dtype=np.int64), np.array(codes)
    naive = {"mean": np.mean, "min": np.min, "max": np.max, "last": lambda part: part[-1], "range": np.ptp}
    for name, function in naive.items():
        out = np.full(WINDOWS, np.nan)
        hold_numbers(at, values.astype(float), at + limit, start=0, every=EVERY, aggregate=name, out=out)
        wanted = [float(function(part)) if part.size else np.nan for part in parts]
        np.testing.assert_allclose(out, wanted, rtol=1e-12)
    states = np.full(WINDOWS, -1, dtype=np.int32)
    hold_states(at, values, at + limit, start=0, every=EVERY, aggregate="mode", n_states=3, out=states)
    for found, part in zip(states, parts, strict=True):
        counts = np.bincount(part, minlength=3) if part.size else np.zeros(3)
        assert found == -1 if not part.size else counts[found] == counts.max()


def test_a_sensor_without_a_habit_lasts() -> None:
    assert habit(np.array([0, 10, 20], dtype=np.int64)) == FOREVER
    assert habit(np.arange(0, 1000, 10)) == 20


def log(folder: Path, name: str = "log.csv") -> Path:
    """A temperature that is logged at changes and silent for two days, and a fan that switches twice a day."""
    rng = np.random.default_rng(5)
    times = [START + timedelta(seconds=float(s)) for s in np.cumsum(rng.uniform(200, 900, 1400))]
    silent = (START + timedelta(days=4), START + timedelta(days=6))
    rows = [(t, "T", f"{20 + 4 * np.sin(k / 40) + rng.normal(0, 0.1):.2f}") for k, t in enumerate(times)]
    rows = [row for row in rows if not silent[0] <= row[0] < silent[1]]
    for day in range(9):
        rows += [(START + timedelta(days=day, hours=h, seconds=9), "fan", s) for h, s in ((7, "run"), (19, "stop"))]
    path = folder / name
    path.write_text("point,timestamp,value\n" + "".join(f"{id},{t.isoformat()}Z,{v}\n" for t, id, v in sorted(rows)))
    return path


def states(table: WindowedReadings, id: str) -> list[str | None]:
    codes, names = table.states[id]
    return [names[code] if code >= 0 else None for code in codes]


def test_states_and_numbers_are_held_and_a_silent_sensor_is_missing(tmp_path: Path) -> None:
    """Windows of one day, those of the slowest sensor, hid all that happened within a day."""
    data = read_sensors(log(tmp_path))
    table = window(data, hold="auto", empty="keep")
    assert table.every == timedelta(minutes=10)
    fan, hours = states(table, "fan"), [t.astype(datetime).hour for t in table.times]
    assert {s for s, h in zip(fan, hours, strict=True) if 8 <= h < 19 and s} == {"run"}
    assert {s for s, h in zip(fan, hours, strict=True) if (h >= 20 or h < 7) and s} == {"stop"}
    days = (table.times - np.datetime64(START)) / np.timedelta64(1, "D")
    assert np.isnan(table.values[(days > 4.1) & (days < 5.9), 0]).all()
    assert not np.isnan(table.values[(days > 1) & (days < 3.9), 0]).any()
    assert any(
        note.startswith("2 sensors held at the last reading until the next one, at most") for note in table.notes
    )
    bare = window(data, "10min", hold="none")
    assert sum(s is not None for s in states(bare, "fan")) == 18


def test_the_limit_can_be_given_and_a_wrong_one_is_refused(tmp_path: Path) -> None:
    data = read_sensors(log(tmp_path))
    held = [s for s in states(window(data, "10min", hold="1h"), "fan") if s is not None]
    # An hour from nine seconds past the full hour touches seven windows; the log ends within the last one.
    assert 17 * 7 < len(held) <= 18 * 7
    with pytest.raises(ConfigError, match="hold must be 'auto', 'none' or a duration"):
        window(data, "10min", hold="always")


def test_what_is_unavailable_is_not_held(tmp_path: Path) -> None:
    path = tmp_path / "states.csv"
    lines = [f"light,{('on', 'off')[k % 2]},2024-01-0{1 + k // 24}T{k % 24:02}:{7 * k % 60:02}:00Z" for k in range(60)]
    lines.insert(30, "light,unavailable,2024-01-02T06:00:00Z")
    path.write_text(
        "\n".join(["entity_id,state,last_changed", *(one for k, one in enumerate(lines) if k not in (31, 32))])
    )
    table = window(read_sensors(path), "10min", hold="auto", empty="keep")
    at = (table.times >= np.datetime64("2024-01-02T06:00")) & (table.times < np.datetime64("2024-01-02T07:50"))
    assert {s for s, inside in zip(states(table, "light"), at, strict=True) if inside} == {None}


def test_intervals_are_off_outside_and_no_rule_rests_on_rows_that_coincide(tmp_path: Path) -> None:
    """'If the basin is off, then the shower is on' came from 7 of 1,512 rows, in which both happened to report."""
    rng = np.random.default_rng(8)
    lines = []
    for day in range(20):
        shower = START + timedelta(days=day, hours=7, seconds=float(rng.uniform(0, 900)))
        basin = START + timedelta(days=day, hours=7 + 10 * (day % 3), minutes=20, seconds=float(rng.uniform(0, 900)))
        for name, begin, minutes in (("Shower", shower, 12), ("Basin", basin, 6), ("Oven", basin, 40)):
            lines.append(f"{begin:%Y-%m-%d %H:%M:%S},{begin + timedelta(minutes=minutes):%Y-%m-%d %H:%M:%S},{name}")
    path = tmp_path / "home.csv"
    path.write_text("\n".join(["start,end,item", *sorted(lines)]))
    data = read_sensors(path)
    assert data.ids == ("Basin", "Oven", "Shower") and all(sensor.categorical for sensor in data.sensors)
    table = window(data, hold="auto")
    share = [np.mean([s == "off" for s in states(table, id)]) for id in data.ids]
    assert min(share) > 0.95 and not any(None in states(table, id) for id in data.ids)
    run = th.mine(data, refine=False, min_support=0.001, max_antecedents=1, confirm=False, progress="off")
    told = [str(rule) for rule in run.findings if "Shower = on" in str(rule)]
    assert not any("Basin = off" in text.partition("⇒")[0] for text in told)


def test_overlapping_intervals_of_a_sensor_are_one(tmp_path: Path) -> None:
    """A door that was reported twice was closed at the first end."""
    path = tmp_path / "a.csv"
    rows = ["05:00,05:20,Door,Kitchen", "05:10,05:50,Door,Kitchen", "06:00,06:10,Bed,Room"]
    cells = [",".join(f"2024-01-01 {c}" if ":" in c else c for c in row.split(",")) for row in rows]
    path.write_text("\n".join(["Start time,End time,Location,Place", *cells]))
    table = window(read_sensors(path), "10min", hold="auto")
    assert states(table, "Door Kitchen") == ["on"] * 5 + ["off"] * 2 + [None]


def test_no_window_spans_two_runs(tmp_path: Path) -> None:
    """Runs that end and begin within one window were averaged."""
    for name, minute in (("1.csv", 0), ("2.csv", 31)):
        times = [START + timedelta(minutes=minute, seconds=k) for k in range(1500)]
        frame = pl.DataFrame({"time": times, "speed": [minute + k % 20 / 10 for k in range(1500)]})
        frame.write_csv(tmp_path / name)
    table = window(read_sensors([tmp_path / "1.csv", tmp_path / "2.csv"]), "20min", empty="keep")
    assert np.round(table.values[:, 0]).tolist()[::2] == [1, 32] and np.isnan(table.values[1, 0])
    assert "1 windows in which one run ends and another begins are left out" in table.notes
