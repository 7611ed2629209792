"""Windows that close one by one have the numbers of windows over the whole, whatever the order of arrival."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.examples import examples
from thence.checks.monitor.batches import Batch
from thence.checks.monitor.open_windows import OpenWindows
from thence.data.readings.sensors import SensorData
from thence.data.readings.windows import AGGREGATES, window

MINUTE = 60_000_000
NUMBERS = ("a", "b")


def readings(most: int = 60) -> st.SearchStrategy[list[tuple[int, int, float]]]:
    moment = st.integers(0, 300).map(lambda second: 1_704_067_200_000_000 + second * 10_000_000)
    value = st.integers(-3, 3).map(float)
    return st.lists(st.tuples(moment, st.integers(0, 1), value), min_size=1, max_size=most)


def as_whole(rows: list[tuple[int, int, float]], aggregate: str) -> tuple[list[int], np.ndarray]:
    start = datetime(1970, 1, 1, tzinfo=UTC)
    frame = pl.DataFrame(
        {
            "time": [start + timedelta(microseconds=time) for time, _, _ in rows],
            "sensor": [NUMBERS[at] for _, at, _ in rows],
            "value": [value for _, _, value in rows],
        }
    )
    from thence.data.readings.sensors import Sensor

    sensors = [Sensor(name) for name in NUMBERS]
    data = SensorData.from_long(frame, sensors=sensors, on_error="repair", max_loss=1.0)
    found = window(data, "1min", aggregate=aggregate)
    return found.times.astype(np.int64).tolist(), found.values


@settings(max_examples=examples(60), deadline=None)
@given(readings(), st.sampled_from([name for name in AGGREGATES if name != "count"]), st.integers(1, 7))
def test_windows_equal_those_of_the_whole(rows: list[tuple[int, int, float]], aggregate: str, size: int) -> None:
    # Readings come in any order within an hour, which is the lateness here.
    windows = OpenWindows([aggregate] * 2, every=MINUTE, anchor=0, lateness=60 * MINUTE)
    parts = []
    for at in range(0, len(rows), size):
        windows.add(Batch.of(rows[at : at + size]))
        parts.append(windows.take())
    parts.append(windows.take(final=True))
    numbers = np.concatenate([part.numbers for part in parts])
    values = np.concatenate([part.values for part in parts])
    times, expected = as_whole(rows, aggregate)
    assert (numbers * MINUTE).tolist() == times
    np.testing.assert_array_equal(values, expected)
    found = windows.found
    assert found["late"] == 0 and found["accepted"] == len(rows)
    kept = len({(time, at) for time, at, _ in rows})
    assert found["accepted"] - found["repeated"] - found["conflicting"] == kept


@settings(max_examples=examples(60), deadline=None)
@given(readings(), st.integers(0, 3), st.lists(st.integers(1, 9), min_size=1, max_size=40))
def test_how_readings_are_batched_changes_nothing(
    rows: list[tuple[int, int, float]], minutes: int, sizes: list[int]
) -> None:
    def feed(cuts: list[int]) -> tuple[list[int], list[list[float]], dict[str, int]]:
        windows = OpenWindows(["sum", "last"], every=MINUTE, anchor=0, lateness=minutes * MINUTE)
        numbers: list[int] = []
        values: list[list[float]] = []
        at = 0
        for size in [*cuts, len(rows)]:
            windows.add(Batch.of(rows[at : at + size]))
            at += size
            part = windows.take()
            numbers += part.numbers.tolist()
            values += np.nan_to_num(part.values, nan=-99).tolist()
        part = windows.take(final=True)
        return numbers + part.numbers.tolist(), values + np.nan_to_num(part.values, nan=-99).tolist(), windows.found

    assert feed([1] * len(rows)) == feed(sizes) == feed([])


def test_a_late_reading_is_counted_and_changes_nothing() -> None:
    windows = OpenWindows(["mean"], every=10, anchor=0, lateness=0)
    windows.add(Batch.of([(5, 0, 1.0), (25, 0, 2.0)]))
    assert windows.take().values.tolist() == [[1.0]]
    windows.add(Batch.of([(6, 0, 9.0)]))
    assert windows.take(final=True).values.tolist() == [[2.0]]
    assert windows.found["late"] == 1


def test_memory_is_bounded_and_what_is_lost_is_counted() -> None:
    windows = OpenWindows(["mean"], every=10**9, anchor=0, most_pending=100)
    for at in range(50):
        windows.add(Batch.of([(at * 10 + k, 0, 1.0) for k in range(10)]))
    assert windows.n_pending == 100 and windows.found["overflow"] == 400
    windows.add(Batch.of([(5, 0, 1.0)] * 50))
    assert windows.n_pending == 100


def test_the_same_reading_again_makes_room() -> None:
    windows = OpenWindows(["sum"], every=10**9, anchor=0, most_pending=10)
    for _ in range(20):
        windows.add(Batch.of([(k, 0, 1.0) for k in range(5)]))
    assert windows.found["overflow"] == 0
    assert windows.take(final=True).values.tolist() == [[5.0]]


def test_counts_are_zero_once_a_sensor_has_read() -> None:
    windows = OpenWindows(["count", "mean"], every=10, anchor=0)
    windows.add(Batch.of([(5, 1, 1.0), (15, 0, 1.0), (45, 1, 1.0), (65, 0, 1.0)]))
    closed = windows.take(final=True)
    assert closed.numbers.tolist() == [0, 1, 2, 3, 4, 5, 6]
    np.testing.assert_array_equal(closed.values[:, 0], [np.nan, 1, 0, 0, 0, 0, 1])


def test_a_gap_of_years_takes_no_memory() -> None:
    windows = OpenWindows(["count"], every=10, anchor=0)
    windows.add(Batch.of([(5, 0, 1.0), (10**15, 0, 1.0)]))
    assert len(windows.take(final=True).numbers) == 2
    assert windows.skipped > 10**13


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0]])
def test_state_is_saved_and_restored(order: list[int]) -> None:
    rows = [(5, 0, 1.0), (12, 1, 2.0), (14, 0, 3.0)]
    first = OpenWindows(["mean", "max"], every=10, anchor=0, lateness=20)
    first.add(Batch.of([rows[at] for at in order[:2]]))
    again = OpenWindows(["mean", "max"], every=10, anchor=0, lateness=20)
    again.restore(*first.to_arrays())
    for one in (first, again):
        one.add(Batch.of([rows[order[2]]]))
    left, right = first.take(final=True), again.take(final=True)
    np.testing.assert_array_equal(left.values, right.values)
    assert first.found == again.found
