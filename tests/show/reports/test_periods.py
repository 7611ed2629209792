"""Periods: which span a card shows, frames joined to spans, and sums over the whole time."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thence.show.reports.choosing import best_place, tell_choice
from thence.show.reports.periods import Chosen, add_up, as_milliseconds, choose_period, join_frames

STEPS = [timedelta(seconds=1), timedelta(minutes=7), timedelta(hours=1), timedelta(days=3), timedelta(days=400)]


@st.composite
def _frames(draw: st.DrawFn) -> tuple[np.ndarray, timedelta, np.random.Generator]:
    """Frames with gaps between them."""
    every = draw(st.sampled_from(STEPS))
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    size = draw(st.integers(1, 900))
    steps = rng.integers(1, 4, size) if draw(st.booleans()) else np.ones(size, np.int64)
    first = np.datetime64("1990-03-04T05:06:07", "us")
    return first + np.cumsum(steps) * np.timedelta64(every, "us"), every, rng


@given(_frames(), st.floats(0, 1), st.floats(0, 0.2))
def test_a_period_is_short_within_the_data_and_holds_what_there_is(
    made: tuple[np.ndarray, timedelta, np.random.Generator], share: float, broken: float
) -> None:
    times, every, rng = made
    held = rng.random(len(times)) < share
    violated = ~held & (rng.random(len(times)) < broken)
    found = choose_period(times, every, held=held, violated=violated, known=np.ones(len(times), bool))
    assert 0 <= found.start < found.stop <= len(times)
    assert found.stop - found.start <= 300
    if held.any():
        assert held[found.start : found.stop].any()
    assert bool(found.length) == (len(times) > 300)


@given(_frames(), st.floats(0, 1))
def test_stretches_are_the_frames_that_they_were_joined_from(
    made: tuple[np.ndarray, timedelta, np.random.Generator], share: float
) -> None:
    times, every, rng = made
    flags = rng.random(len(times)) < share
    step = int(every.total_seconds() * 1000)
    found = join_frames(flags, times, every)
    assert [moment for one in found for moment in range(one["start"], one["end"], step)] == as_milliseconds(
        times[flags]
    ).tolist()
    assert all(one["end"] < other["start"] for one, other in pairwise(found))


@given(st.lists(_frames(), min_size=1, max_size=3))
def test_sums_over_time_lose_nothing(parts: list[tuple[np.ndarray, timedelta, np.random.Generator]]) -> None:
    every = parts[0][1]
    given_ = [(times, rng.integers(0, 9, len(times)), rng.integers(0, 9, len(times))) for times, _, rng in parts]
    found = add_up(given_, every)
    assert found is not None
    assert sum(found["applied"]) == sum(int(applied.sum()) for _, applied, _ in given_)
    assert sum(found["held"]) == sum(int(held.sum()) for _, _, held in given_)
    assert len(found["edges"]) == len(found["applied"]) + 1 <= 151
    assert found["edges"] == sorted(set(found["edges"]))
    first = min(int(as_milliseconds(times)[0]) for times, _, _ in given_)
    last = max(int(as_milliseconds(times)[-1]) for times, _, _ in given_)
    assert found["edges"][0] <= first and last < found["edges"][-1]


def test_without_frames_there_is_no_history() -> None:
    nothing = np.zeros(0, np.int64)
    assert add_up([(nothing.astype("datetime64[us]"), nothing, nothing)], timedelta(hours=1)) is None


def test_a_violation_is_shown_if_there_is_one() -> None:
    times = np.arange("2024-01-01", "2024-04-01", dtype="datetime64[h]")
    held = np.arange(len(times)) % 24 < 8
    violated = np.zeros(len(times), bool)
    violated[1500] = True
    found = choose_period(times, timedelta(hours=1), held=held & ~violated, violated=violated, known=held | True)
    assert found.length == "week" and found.start <= 1500 < found.stop
    assert times[found.start] == times[found.start].astype("datetime64[D]")


def test_the_place_that_keeps_and_breaks_a_rule_tells_it_best() -> None:
    rows, held = np.array([200, 200, 200, 20, 0]), np.array([200, 199, 40, 19, 0])
    keeps = np.array([True, True, False, True, False])
    assert best_place(rows, held, keeps=keeps) == 1
    assert best_place(rows, held, keeps=keeps & False) == 1
    assert best_place(rows[2:], held[2:] * 0, keeps=keeps[2:] & False) == 0
    assert best_place(rows * 0, held * 0, keeps=keeps) is None
    even = np.full(3, 9)
    assert best_place(even, even, keeps=even > 0, parts=np.array([1, 4, 2])) == 1


@pytest.mark.parametrize(
    ("held", "broken", "said"),
    [
        (0, 0, "In this week it does not apply; in all it fails in 1 of 190."),
        (1, 0, "In this week it applies once, and holds; in all it fails in 1 of 190."),
        (5, 0, "In this week it holds in all 5 windows in which it applies; in all it fails in 1 of 190."),
        (0, 1, "In this week it applies once, and fails."),
        (5, 1, "In this week it holds in 5 and fails in 1."),
    ],
)
def test_why_is_said_as_it_is(held: int, broken: int, said: str) -> None:
    rows, kept = np.array([100, 90]), np.array([100, 89])
    text = tell_choice(rows, kept, chosen=0, period=Chosen(0, 9, "week"), held_shown=held, broken_shown=broken)
    assert text == f"One of 2 places where it applies; here it holds in all 100 windows. {said}"
