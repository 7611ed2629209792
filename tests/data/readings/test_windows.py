"""Windows against a naive reference, over every aggregate, both layouts, tidy and untidy data."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.examples import examples
from thence.data.readings import scanning
from thence.data.readings.durations import parse_duration
from thence.data.readings.sensors import Sensor, SensorData
from thence.data.readings.windows import AGGREGATES, window
from thence.errors import ConfigError, InputError

START = datetime(2024, 3, 1, 10, 7, tzinfo=UTC)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

REFERENCE: dict[str, Callable[[list[float]], float]] = {
    "mean": lambda xs: math.fsum(xs) / len(xs),
    "sum": math.fsum,
    "min": min,
    "max": max,
    "last": lambda xs: xs[-1],
    "range": lambda xs: max(xs) - min(xs),
    "count": len,
    "median": statistics.median,
}

Rows = list[tuple[int, str, float]]


def naive_windows(rows: Rows, ids: list[str], minutes: int, name: str) -> tuple[list[datetime], list[list[float]]]:
    """Windows by the book: plain dictionaries, one window at a time."""
    finite = sorted((minute, id, value) for minute, id, value in rows if math.isfinite(value))
    length = timedelta(minutes=minutes)

    def start_of(minute: int) -> datetime:
        return EPOCH + ((START + timedelta(minutes=minute) - EPOCH) // length) * length

    if not finite:
        return [], []
    first, last = start_of(finite[0][0]), start_of(finite[-1][0])
    starts = [first + k * length for k in range((last - first) // length + 1)]
    table = []
    for start in starts:
        row = []
        for id in ids:
            own = [start_of(m) for m, s, _ in finite if s == id]
            inside = [value for m, s, value in finite if s == id and start_of(m) == start]
            if inside:
                row.append(float(REFERENCE[name](inside)))
            elif name == "count" and own and own[0] < start < own[-1]:
                row.append(0.0)
            else:
                row.append(math.nan)
        table.append(row)
    return starts, table


def as_long(rows: Rows, ids: list[str]) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "time": [START + timedelta(minutes=minute) for minute, _, _ in rows],
            "sensor": [id for _, id, _ in rows],
            "value": [value for _, _, value in rows],
        },
        schema={"time": pl.Datetime("us", "UTC"), "sensor": pl.String, "value": pl.Float64},
    )


def as_wide(rows: Rows, ids: list[str]) -> pl.DataFrame:
    """A row per reading: times repeat and come in the order of the rows."""
    columns: dict[str, Any] = {"time": [START + timedelta(minutes=minute) for minute, _, _ in rows]}
    columns |= {id: [value if id == own else None for _, own, value in rows] for id in ids}
    return pl.DataFrame(columns, schema={"time": pl.Datetime("us", "UTC")} | dict.fromkeys(ids, pl.Float64))


def data_of(rows: Rows, ids: list[str], layout: str, lazy: bool, on_error: Any = "raise") -> SensorData:
    sensors = [Sensor(id) for id in ids]
    frame = as_long(rows, ids) if layout == "long" else as_wide(rows, ids)
    build = SensorData.from_long if layout == "long" else SensorData.from_wide
    return build(frame.lazy() if lazy else frame, sensors=sensors, on_error=on_error)


def close(got: np.ndarray[Any, Any], wanted: list[list[float]]) -> bool:
    expected = np.array(wanted).reshape(got.shape)
    return bool(np.allclose(got, expected, rtol=1e-12, atol=1e-12, equal_nan=True))


IDS = ["a", "b", "c"]
readings = st.lists(
    st.tuples(
        st.integers(0, 400),
        st.sampled_from(["a", "b"]),  # c never reads
        st.one_of(st.floats(-1e6, 1e6), st.sampled_from([math.nan, math.inf, -math.inf])),
    ),
    max_size=40,
    unique_by=lambda row: row[:2],
)
LAYOUTS = [(layout, lazy) for layout in ("wide", "long") for lazy in (False, True)]


@pytest.mark.parametrize("name", AGGREGATES)
@given(rows=readings, minutes=st.sampled_from([1, 7, 30, 1440]))
@settings(max_examples=25, deadline=None)
def test_windows_equal_the_naive_reference_in_every_layout(name: str, rows: Rows, minutes: int) -> None:
    starts, wanted = naive_windows(rows, IDS, minutes, name)
    for layout, lazy in LAYOUTS:
        table = window(data_of(rows, IDS, layout, lazy), timedelta(minutes=minutes), aggregate=name, empty="keep")
        assert [t.replace(tzinfo=UTC) for t in table.times.tolist()] == starts
        assert close(table.values, wanted), (layout, lazy)


@pytest.mark.parametrize("name", AGGREGATES)
@given(rows=readings)
@settings(max_examples=25, deadline=None)
def test_wide_and_long_agree_to_the_last_bit(name: str, rows: Rows) -> None:
    tables = [window(data_of(rows, IDS, layout, lazy), "20min", aggregate=name) for layout, lazy in LAYOUTS]
    for other in tables[1:]:
        np.testing.assert_array_equal(tables[0].values, other.values)
        np.testing.assert_array_equal(tables[0].times, other.times)


@given(rows=st.lists(st.tuples(st.integers(0, 60), st.sampled_from("ab"), st.integers(0, 2)), max_size=40))
@settings(max_examples=examples(40), deadline=None)
def test_repeated_and_contradicting_readings_keep_the_last(rows: list[tuple[int, str, int]]) -> None:
    """Order of the file decides which reading of a sensor at a time counts, whatever the layout."""
    kept = {(minute, id): float(value) for minute, id, value in rows}
    expected = [(minute, id, value) for (minute, id), value in kept.items()]
    noisy = [(minute, id, float(value)) for minute, id, value in rows]
    _, wanted = naive_windows(expected, IDS, 15, "sum")
    reports = []
    for layout, lazy in LAYOUTS:
        data = data_of(noisy, IDS, layout, lazy, on_error="repair")
        table = window(data, "15min", aggregate="sum", empty="keep")
        assert close(table.values, wanted), (layout, lazy)
        reports.append([table.report.count(what) for what in ("repeated", "conflicting", "silent")])
    assert all(report == reports[0] for report in reports)
    assert sum(reports[0][:2]) == len(noisy) - len(kept)


@given(rows=readings)
@settings(max_examples=examples(30), deadline=None)
def test_checks_made_in_memory_while_windowing_and_by_check_count_the_same(rows: Rows) -> None:
    for layout in ("wide", "long"):
        now = data_of(rows, IDS, layout, lazy=False)
        later = data_of(rows, IDS, layout, lazy=True)
        assert now.report.pending == () and later.report.pending != ()
        reports = [now.report, window(later, "1h").report, later.check().report]
        for what in ("missing", "infinite", "disordered", "silent"):
            assert len({report.count(what) for report in reports}) == 1, (layout, what, rows)
        assert all(report.pending == () for report in reports)


def states_data(layout: str, lazy: bool = False) -> SensorData:
    minutes = [0, 1, 2, 3, 10, 11, 30]
    doors = ["open", "shut", "shut", "open", "shut", None, "ajar"]
    times = [EPOCH + timedelta(minutes=m) for m in minutes]
    if layout == "wide":
        frame = pl.DataFrame({"time": times, "door": doors, "t": [1.0, 2.0, None, 4.0, 5.0, 6.0, 7.0]})
        return SensorData.from_wide(frame.lazy() if lazy else frame)
    frame = pl.DataFrame(
        {
            "time": times * 2,
            "sensor": ["door"] * 7 + ["t"] * 7,
            "value": [None] * 7 + [1.0, 2.0, None, 4.0, 5.0, 6.0, 7.0],
            "state": doors + [None] * 7,
        }
    )
    return SensorData.from_long(frame.lazy() if lazy else frame)


@pytest.mark.parametrize(("layout", "lazy"), LAYOUTS)
def test_states_take_their_mode_or_their_last(layout: str, lazy: bool) -> None:
    data = states_data(layout, lazy)
    mode = window(data, "10min", empty="keep")
    codes, categories = mode.states["door"]
    assert categories == ("ajar", "open", "shut")
    # two opens and two shuts tie: the one read last wins; the window from :20 has no reading
    assert [categories[code] if code >= 0 else None for code in codes] == ["open", "shut", None, "ajar"]
    assert mode.aggregates == {"door": "mode", "t": "mean"}
    last = window(data, "10min", aggregate="last", empty="keep")
    assert [last.states["door"][1][c] if c >= 0 else None for c in last.states["door"][0]] == [
        "open",
        "shut",
        None,
        "ajar",
    ]
    np.testing.assert_array_equal(last.values[:, 0], [4.0, 6.0, np.nan, 7.0])
    frame = mode.to_polars()
    assert frame["door"].to_list() == ["open", "shut", None, "ajar"]
    assert frame["t"].to_list() == [7.0 / 3, 5.5, None, 7.0]


@given(states=st.lists(st.tuples(st.integers(0, 50), st.sampled_from("xyz")), unique_by=lambda s: s[0], min_size=1))
@settings(max_examples=examples(50), deadline=None)
def test_mode_is_the_most_frequent_state_and_the_latest_of_a_tie(states: list[tuple[int, str]]) -> None:
    frame = pl.DataFrame({"time": [EPOCH + timedelta(minutes=m) for m, _ in states], "door": [s for _, s in states]})
    table = window(SensorData.from_wide(frame), "10min")
    codes, categories = table.states["door"]
    for start, code in zip(table.times.tolist(), codes, strict=True):
        minute = (start.replace(tzinfo=UTC) - EPOCH) // timedelta(minutes=1)
        inside = [state for m, state in sorted(states) if minute <= m < minute + 10]
        if not inside:
            assert code == -1
            continue
        most = max(inside.count(state) for state in inside)
        assert categories[code] == next(s for s in reversed(inside) if inside.count(s) == most)


def test_aggregates_per_kind() -> None:
    rows = [(0, "a", 1.0), (1, "a", 5.0), (0, "b", 1.0), (1, "b", 5.0)]
    data = data_of(rows, ["a", "b"], "long", lazy=True).with_kinds({"a": "pressure", "b": "flow"})
    table = window(data, "1h", aggregate={"pressure": "max"})
    np.testing.assert_array_equal(table.values, [[5.0, 3.0]])
    mixed = window(data, "1h", aggregate={"pressure": "median", "flow": "range"})
    np.testing.assert_array_equal(mixed.values, [[3.0, 4.0]])


def test_derived_readings() -> None:
    times = [datetime(2024, 1, 6, 22), datetime(2024, 1, 6, 23), datetime(2024, 1, 7, 1), datetime(2024, 1, 7, 2)]
    data = SensorData.from_wide(pl.DataFrame({"time": times, "a": [1.0, 4.0, 5.0, 3.0]}))
    table = window(data, "1h", derive=("change", "hour", "weekday"), empty="keep")
    np.testing.assert_array_equal(table.derived["change"][:, 0], [np.nan, 3.0, np.nan, np.nan, -2.0])
    assert table.derived["hour"].tolist() == [22, 23, 0, 1, 2]
    assert table.derived["weekday"].tolist() == [5, 5, 6, 6, 6]  # Saturday, then Sunday
    local = window(data, "1h", derive="hour", timezone="Europe/Berlin", empty="keep")
    assert local.derived["hour"].tolist() == [23, 0, 1, 2, 3]
    assert window(data, "1h").derived == {}


def test_alignment_and_boundaries() -> None:
    times = [datetime(2024, 1, 1, 0, 29, 59, 999999), datetime(2024, 1, 1, 0, 30), datetime(2024, 1, 1, 1, 10)]
    data = SensorData.from_wide(pl.DataFrame({"time": times, "a": [1.0, 2.0, 3.0]}))

    def starts(**options: Any) -> list[str]:
        return [str(t)[11:16] for t in window(data, "30min", empty="keep", **options).times]

    assert starts() == ["00:00", "00:30", "01:00"]
    assert window(data, "30min").values[:, 0].tolist() == [1.0, 2.0, 3.0]
    assert starts(origin="2024-01-01T00:10") == ["00:10", "00:40", "01:10"]
    assert starts(origin=datetime(2030, 1, 1, 0, 15)) == ["00:15", "00:45"]
    assert starts(origin="start") == ["00:29", "00:59"]
    days = window(data, "1d")
    assert str(days.times[0])[:19] == "2024-01-01T00:00:00" and len(days) == 1


def test_windows_before_1970() -> None:
    times = [datetime(1969, 12, 31, 23, 50), datetime(1970, 1, 1, 0, 10)]
    for layout in ("wide", "long"):
        frame = pl.DataFrame({"time": times, "a": [1.0, 2.0]})
        long = pl.DataFrame({"time": times, "sensor": ["a", "a"], "value": [1.0, 2.0]})
        data = SensorData.from_wide(frame) if layout == "wide" else SensorData.from_long(long)
        table = window(data, "30min")
        assert [str(t)[:16] for t in table.times] == ["1969-12-31T23:30", "1970-01-01T00:00"]
        assert table.values[:, 0].tolist() == [1.0, 2.0]


def test_rows_without_readings_make_no_windows_at_the_ends() -> None:
    times = [START + timedelta(hours=h) for h in range(6)]
    frame = pl.DataFrame({"time": times, "a": [None, 1.0, None, 2.0, math.inf, math.nan]})
    for lazy in (False, True):
        table = window(SensorData.from_wide(frame.lazy() if lazy else frame), "1h", empty="keep")
        np.testing.assert_array_equal(table.values[:, 0], [1.0, np.nan, 2.0])
        assert window(SensorData.from_wide(frame), "1h", aggregate="count").values[:, 0].tolist() == [1.0, 0.0, 1.0]


def test_no_readings_at_all() -> None:
    for lazy in (False, True):
        table = window(data_of([(0, "a", math.nan)], ["a"], "long", lazy), "1h", derive=("change", "hour"))
        assert len(table) == 0 and table.values.shape == (0, 1) and table.derived["change"].shape == (0, 1)
        assert table.report.count("silent", sensor="a") == 1


def test_contradiction_in_a_lazy_set_names_sensor_time_and_values() -> None:
    rows = [(0, "a", 1.0), (5, "a", 2.0), (5, "a", 3.0)]
    for layout in ("wide", "long"):
        with pytest.raises(InputError, match=r"sensor 'a' has two readings at 2024-03-01T10:12:00\+00:00: 2.0 and 3.0"):
            window(data_of(rows, ["a"], layout, lazy=True), "1h")


def test_lazy_rows_without_time_are_an_error_or_counted() -> None:
    frame = as_long([(0, "a", 1.0), (1, "a", 5.0)], ["a"]).with_columns(
        pl.when(pl.col("value") < 2).then(pl.col("time"))
    )
    with pytest.raises(InputError, match="rows without a usable time: 1"):
        window(SensorData.from_long(frame.lazy()), "1h")
    table = window(SensorData.from_long(frame.lazy(), on_error="repair"), "1h")
    assert table.values.tolist() == [[1.0]] and table.report.count("bad-time") == 1
    wide = as_wide([(0, "a", 1.0), (1, "a", 5.0)], ["a"]).with_columns(pl.when(pl.col("a") < 2).then(pl.col("time")))
    table = window(SensorData.from_wide(wide.lazy(), on_error="repair"), "1h")
    assert table.values.tolist() == [[1.0]] and table.report.count("bad-time") == 1


@pytest.mark.parametrize("name", ["mean", "range", "count", "median"])
def test_small_blocks_and_batches_change_nothing(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A set larger than a block or a batch goes through in pieces: Parquet, both layouts, many row groups."""
    rng = np.random.default_rng(3)
    ids = [f"s{k}" for k in range(7)]
    times = pl.datetime_range(START, START + timedelta(minutes=999), "1m", eager=True, time_unit="us")
    wide = pl.DataFrame({"time": times} | {id: rng.normal(size=1000) for id in ids}).with_columns(
        pl.when(pl.col("s3") > 0).then("s3"), pl.lit(None, pl.Float64).alias("s5")
    )
    long = wide.unpivot(ids, index="time", variable_name="sensor", value_name="value").sort("time", maintain_order=True)
    wide.write_parquet(tmp_path / "wide.parquet", row_group_size=100)
    long.write_parquet(tmp_path / "long.parquet", row_group_size=333)
    whole = window(SensorData.from_wide(wide), "10min", aggregate=name)
    monkeypatch.setattr(scanning, "BLOCK_CELLS", 2500)
    monkeypatch.setattr(scanning, "BATCH_ROWS", 640)
    sets = {
        "wide": SensorData.from_wide(pl.scan_parquet(tmp_path / "wide.parquet")),
        "long": SensorData.from_long(pl.scan_parquet(tmp_path / "long.parquet")),
        "long backwards": SensorData.from_long(long.reverse().lazy()),
    }
    for label, data in sets.items():
        table = window(data, "10min", aggregate=name)
        np.testing.assert_array_equal(table.values, whole.values, err_msg=label)
        assert table.report.count("silent", sensor="s5") == 1
    part = window(sets["long"].select(["s4", "s1"]).between("2024-03-01T12:10"), "10min", aggregate=name)
    np.testing.assert_array_equal(part.values, whole.values[-len(part) :][:, [4, 1]])
    assert str(part.times[0])[:16] == "2024-03-01T12:10" and part.times[-1] == whole.times[-1]


def test_selected_sensors_of_a_long_set_keep_their_own_columns() -> None:
    rows = [(m, id, float(k * 10 + m)) for m in range(3) for k, id in enumerate("abc")]
    for lazy in (False, True):
        table = window(data_of(rows, IDS, "long", lazy).select(["c", "a"]), "1h", aggregate="max")
        assert [s.id for s in table.numeric] == ["c", "a"] and table.values.tolist() == [[22.0, 2.0]]


@pytest.mark.parametrize(
    ("text", "microseconds"),
    [
        ("5min", 3e8),
        ("30 min", 1.8e9),
        ("1h", 3.6e9),
        ("1d", 8.64e10),
        ("1h30min", 5.4e9),
        ("90s", 9e7),
        ("1w", 6.048e11),
    ],
)
def test_durations(text: str, microseconds: float) -> None:
    assert parse_duration(text) == microseconds


@pytest.mark.parametrize("text", ["", "min", "5 parsecs", "0min", "-5min", "1.5h", timedelta(0)])
def test_impossible_durations_say_so(text: Any) -> None:
    with pytest.raises(ConfigError, match=r"invalid duration|duration must be positive"):
        parse_duration(text)


def test_wrong_settings_are_named() -> None:
    data = data_of([(0, "a", 1.0)], ["a"], "long", lazy=False).with_kinds({"a": "pressure"})
    with pytest.raises(ConfigError, match=r"unknown aggregate 'men'.*did you mean 'mean'"):
        window(data, "1h", aggregate="men")
    with pytest.raises(ConfigError, match=r"kind 'presure', but no sensor has it.*did you mean 'pressure'"):
        window(data, "1h", aggregate={"presure": "max"})
    with pytest.raises(ConfigError, match="aggregate 'mode' does not apply to sensor 'a', which is numeric"):
        window(data, "1h", aggregate="mode")
    with pytest.raises(ConfigError, match="aggregate 'mean' does not apply to sensor 'door', which is categorical"):
        window(states_data("wide").with_kinds({"door": "state"}), "1h", aggregate={"state": "mean"})
    with pytest.raises(ConfigError, match="unknown derived value 'month'"):
        window(data, "1h", derive=("month",))
    with pytest.raises(ConfigError, match="'timezone' must be an IANA time zone, got 'Mars'"):
        window(data, "1h", derive=("hour",), timezone="Mars")


def test_a_stray_time_that_blows_up_the_grid_is_named() -> None:
    frame = pl.DataFrame({"time": [datetime(1970, 1, 1), datetime(2024, 1, 1)], "a": [1.0, 2.0]})
    with pytest.raises(ConfigError, match=r"do not fit in memory; the rows span 1970-01-01T00:00:00 to 2024"):
        window(SensorData.from_wide(frame), "100ms")


@given(rows=readings, minutes=st.sampled_from([1, 7, 30, 1440]), name=st.sampled_from(["mean", "count", "last"]))
@settings(max_examples=examples(50), deadline=None)
def test_windows_without_any_reading_are_left_out_and_counted(rows: Rows, minutes: int, name: str) -> None:
    """A year's pause gave 96 % empty transactions."""
    starts, wanted = naive_windows(rows, IDS, minutes, name)
    held = [k for k, row in enumerate(wanted) if not all(map(math.isnan, row))]
    for layout, lazy in LAYOUTS:
        data = data_of(rows, IDS, layout, lazy)
        table = window(data, timedelta(minutes=minutes), aggregate=name, derive=("change",))
        assert [t.replace(tzinfo=UTC) for t in table.times.tolist()] == [starts[k] for k in held]
        assert close(table.values, [wanted[k] for k in held])
        said = [
            note for note in table.notes if note.startswith(f"left out {len(starts) - len(held):,} of {len(starts):,}")
        ]
        assert len(said) == (len(held) < len(starts))
        # The change from the window just before; none across a gap.
        whole = window(data, timedelta(minutes=minutes), aggregate=name, derive=("change",), empty="keep")
        np.testing.assert_array_equal(table.derived["change"], whole.derived["change"][held])
        after_gap = [k for k in range(1, len(held)) if held[k] > held[k - 1] + 1]
        assert np.isnan(table.derived["change"][after_gap]).all()


def hours(*at: int, **columns: Any) -> SensorData:
    frame = pl.DataFrame({"time": [datetime(2024, 1, 1, tzinfo=UTC) + timedelta(hours=h) for h in at], **columns})
    return SensorData.from_wide(frame)


def test_the_longest_gap_is_named() -> None:
    data = hours(*range(3), *range(100, 103), *range(110, 112), a=range(8))
    assert window(data, "1h").notes == (
        "left out 104 of 112 windows (93 %) in which no sensor reads; "
        "the longest gap is 4 d 1 h from 2024-01-01 03:00 UTC",
    )
    assert window(data, "1h", empty="keep").notes[0].startswith("no sensor reads in 104 of 112 windows (93 %); ")
    with pytest.raises(ConfigError, match="empty must be 'drop' or 'keep', got 'fill'"):
        window(data, "1h", empty="fill")  # type: ignore[arg-type]


def test_windows_shorter_than_the_step_are_noted() -> None:
    """Hourly data in windows of 30 minutes were half missing, and nothing said so."""
    data = hours(*range(200), a=range(200), b=range(200))
    short, fit = window(data, "30min"), window(data, "1h")
    assert short.notes[0] == (
        "windows of 30 min are shorter than the step of the readings (1 h): a sensor has no reading in 50 % of them"
    )
    assert short.notes[1].startswith("left out 199 of 399 windows (50 %)")
    assert fit.notes == () and len(short) == len(fit) == 200


def test_auto_windows_say_why() -> None:
    table = window(hours(*range(200), a=range(200), b=range(200)))
    assert table.every == timedelta(hours=1)
    assert table.notes == ("windows of 1 h: the step of all sensors",)
    assert len(window(hours(1, a=[None]))) == 0
