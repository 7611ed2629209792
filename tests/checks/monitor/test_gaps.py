"""Gaps: readings that did not come are counted by the usual step of each sensor, however the readings come."""

from __future__ import annotations

import random
from threading import Event
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import thence as th
from tests.helpers.plants import batch_of, mined, plant
from thence.checks.monitor.batches import Batch
from thence.checks.monitor.engine import Monitor
from thence.checks.monitor.gaps import Gaps
from thence.checks.monitor.metrics import collect_metrics
from thence.checks.monitor.service import Service
from thence.checks.monitor.sources.base import Delivery

STEP = 60_000_000


def found_in(times: list[int], *, step: int = STEP) -> tuple[int, int]:
    gaps = Gaps(1)
    gaps.add(Batch.of([(time * step, 0, 1.0) for time in times]))
    return gaps.total, gaps.missing


def test_what_is_missing_is_counted() -> None:
    assert found_in(list(range(100))) == (0, 0)
    assert found_in([time for time in range(100) if time not in (40, 60, 61)]) == (2, 3)
    assert found_in([time for time in range(100) if time % 3 or time < 20], step=1_000) == (26, 26)
    assert found_in([*range(5), *range(50, 55)]) == (0, 0), "nothing is usual yet"


def test_another_step_is_soon_the_usual_one() -> None:
    gaps, missing = found_in([*range(30), *range(30, 300, 5)])
    assert 0 < gaps <= 6 and missing == 4 * gaps
    assert found_in([*range(30), *range(30, 300, 5), 400])[0] == gaps + 1


@given(st.integers(0, 1_000))
def test_neither_jitter_nor_messages_on_change_are_gaps(seed: int) -> None:
    chance = random.Random(seed)
    jitter = [time * STEP + chance.randrange(-STEP // 9, STEP // 9) for time in range(200)]
    changes = np.cumsum([chance.expovariate(1 / STEP) for _ in range(200)]).astype(int).tolist()
    gaps = Gaps(2)
    gaps.add(Batch.of([(time, 0, 1.0) for time in jitter]))
    gaps.add(Batch.of([(time, 1, 1.0) for time in changes]))
    new = gaps.take_new()
    assert new is None or (new.sensors == 1 and new.gaps <= 3)


@given(st.sets(st.integers(20, 199), max_size=60), st.integers(1, 50), st.booleans())
def test_gaps_follow_from_the_readings_alone(lost: set[int], size: int, restored: bool) -> None:
    rows = [(time * STEP, sensor, 1.0) for time in range(200) for sensor in (0, 1) if time not in lost or sensor]
    whole, parts = Gaps(2), Gaps(2)
    whole.add(Batch.of(rows))
    for at in range(0, len(rows), size):
        parts.add(Batch.of(rows[at : at + size]))
        if restored:
            again = Gaps(2)
            again.restore(*parts.to_arrays())
            parts = again
    assert (parts.total, parts.missing) == (whole.total, whole.missing)
    if lost and max(lost) < 199:
        assert whole.missing <= len(lost)


class Live:
    """A source that delivers a frame in parts, as a broker does."""

    needs_journal = True

    def __init__(self, batches: list[Batch]) -> None:
        self._batches = batches

    def deliveries(self, stop: Event, position: Any) -> Any:
        yield from map(Delivery, self._batches)

    def facts(self) -> dict[str, float]:
        return {}


def test_a_burst_that_is_lost_is_one_line_and_a_metric() -> None:
    """The monitor said nothing when a broker dropped messages."""
    run, later = mined(days=5), plant(4, seed=3, first_day=5)
    kept = later.head(200).vstack(later.tail(later.height - 230))
    lines: list[str] = []
    for frame, live in ((later, True), (kept, True), (kept, False)):
        monitor = Monitor(run, th.read_system(later.head(144)))
        service = Service(monitor, [], say=lines.append)
        batches = [batch_of(part, monitor.roster) for part in frame.iter_slices(36)]
        source = Live(batches)
        source.needs_journal = live
        service.run(source, Event(), finish=True)
        metrics = collect_metrics(monitor, rejected={}, alerts={}, source={})
        expected = (0, 0) if frame is later else (3, 90)
        assert tuple(metrics[name][2][0][1] for name in ("gaps_total", "gap_readings_total")) == expected
    assert lines == [
        "readings did not come: about 90 of 3 sensors between 2024-01-07T09:10:00Z and 2024-01-07T14:20:00Z"
    ]


def test_a_state_from_before_gaps_were_counted_is_restored() -> None:
    run, later = mined(days=5), plant(2, seed=3, first_day=5)
    monitor = Monitor(run, th.read_system(later))
    monitor.add(batch_of(later, monitor.roster))
    numbers, arrays = monitor.to_state()
    del numbers["gaps"]
    again = Monitor(run, th.read_system(later))
    again.restore(numbers, {name: array for name, array in arrays.items() if not name.startswith("gaps.")})
    assert again.n_windows == monitor.n_windows and again.open.gaps.total == 0
