"""What is derived window by window is what is derived from all windows at once."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.examples import examples
from thence.checks.monitor.batches import Roster
from thence.checks.monitor.history import History
from thence.checks.monitor.open_windows import Closed
from thence.data.readings.derived import derive_values, name_derived
from thence.data.readings.sensors import Sensor

MINUTE = 60_000_000
SENSORS = (Sensor("flow", "flow"), Sensor("level", "level"), Sensor("valve", "valve", categorical=True))
STATES = ("closed", "open")


def roster() -> Roster:
    return Roster(SENSORS, {"valve": STATES})


@settings(max_examples=examples(80), deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(-1, 2), st.integers(-1, 1)), min_size=1, max_size=40),
    st.lists(st.integers(1, 6), min_size=1, max_size=20),
    st.sampled_from(
        [
            ("change",),
            ("lag:2", "hour"),
            ("switch", "duration"),
            ("duration",),
            ("within:3min", "switch"),
            ("lag:4", "switch", "duration", "within:2", "change", "weekday"),
        ]
    ),
)
def test_parts_equal_the_whole(rows: list[tuple[int, int, int]], sizes: list[int], derive: tuple[str, ...]) -> None:
    # Steps of more than 4 are time in which no sensor reads.
    steps = np.array([1 if step < 6 else step * 3 for step, _, _ in rows])
    numbers = np.cumsum(steps) + 1_000
    flow = np.array([np.nan if v < 0 else float(v) for _, v, _ in rows])
    level = flow * 2
    valve = np.array([code for _, _, code in rows], np.int32)
    empty = np.isnan(flow) & (valve < 0)
    numbers, flow, level, valve = numbers[~empty], flow[~empty], level[~empty], valve[~empty]
    if not len(numbers):
        return
    names = name_derived(derive, MINUTE)
    resting = frozenset({"flow"})

    grid = np.arange(numbers[0], numbers[-1] + 1)
    at = numbers - numbers[0]
    values = np.full((len(grid), 2), np.nan)
    values[at] = np.stack([flow, level], axis=1)
    codes = np.full(len(grid), -1, np.int32)
    codes[at] = valve
    whole = derive_values(
        names,
        times=(grid * MINUTE).view("datetime64[us]"),
        sensors=SENSORS,
        values=values,
        states={"valve": (codes, STATES)},
        every=MINUTE,
        timezone="UTC",
        resting=resting,
    )

    history = History(roster(), names, every=MINUTE, timezone="UTC", resting=resting)
    parts = []
    first = 0
    for size in [*sizes, len(numbers)]:
        own = slice(first, first + size)
        first += size
        wide = np.stack([flow[own], level[own], np.full(len(flow[own]), np.nan)], axis=1)
        coded = np.stack([np.full(len(flow[own]), -1), np.full(len(flow[own]), -1), valve[own]], axis=1)
        closed = Closed(numbers[own], wide, coded.astype(np.int32))
        parts.append(history.push(closed, anchor=0))
        # A monitor that is restored goes on in the same way.
        again = History(roster(), names, every=MINUTE, timezone="UTC", resting=resting)
        again.restore(*history.to_arrays())
        history = again
    nothing = Closed(np.empty(0, np.int64), np.empty((0, 3)), np.empty((0, 3), np.int32))
    parts.append(history.push(nothing, anchor=0, final=True))
    parts = [part for part in parts if len(part)]

    assert np.concatenate([part.numbers for part in parts]).tolist() == numbers.tolist()
    for name, expected in whole.numbers.items():
        np.testing.assert_array_equal(np.concatenate([part.numbers_derived[name] for part in parts]), expected[at])
    for name, of in whole.states.items():
        for id, (expected, known) in of.items():
            found = np.concatenate([part.states_derived[name][id][0] for part in parts])
            assert found.tolist() == expected[at].tolist(), (name, id)
            assert all(part.states_derived[name][id][1] == known for part in parts)
