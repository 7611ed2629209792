"""Thresholds of simulated plants, and counts against a loop over the moments."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.statements.controls.plants import tank, windows
from thence.statements.controls.switches import Switch, find_switches, follows
from thence.statements.controls.thresholds import (
    WITHIN,
    Tally,
    at_same_pace,
    count_crossings,
    estimate_threshold,
    explained,
    reach_of,
)


def closing(level: np.ndarray, pump: list[str]) -> tuple[Switch, np.ndarray]:
    readings = windows({"level": level}, {"pump": pump})
    (switch,) = [one for one in find_switches(readings, least=1)[0] if one.to_state == "closed"]
    linked = follows(readings)
    return switch, reach_of(level, at_same_pace(level, linked), linked, above=True)


@pytest.mark.parametrize("late", [0, 1])
@pytest.mark.parametrize("seed", range(5))
def test_the_interval_holds_the_threshold(seed: int, late: int) -> None:
    level, pump = tank(high=4.0, seed=seed, late=late)
    switch, reach = closing(level, pump)
    found = estimate_threshold(level, reach, switch.moments, switch.switched, above=True)
    assert found is not None
    assert found.low <= found.value <= found.high
    assert found.high - found.low < 0.1  # less than the level moves in a window
    assert abs(found.value - 4.0) < 0.05
    counts = count_crossings(level, reach, switch.moments, switch.switched, threshold=found.value, above=True)
    assert counts.switches == len(switch)
    assert counts.explained >= 0.9 * counts.switches
    assert counts.followed >= 0.95 * counts.crossings


def test_below_is_above_of_the_negated_reading() -> None:
    level, pump = tank()
    switch, reach = closing(level, pump)
    up = estimate_threshold(level, reach, switch.moments, switch.switched, above=True)
    down = estimate_threshold(-level, -reach, switch.moments, switch.switched, above=False)
    assert up is not None
    assert down is not None
    assert (down.low, down.high) == (-up.high, -up.low)
    assert down.value == pytest.approx(-up.value, abs=0.01)


@given(
    row=st.lists(st.one_of(st.integers(0, 5).map(float), st.just(np.nan)), min_size=6, max_size=30),
    data=st.data(),
    above=st.booleans(),
)
def test_counts_follow_their_definition(row: list[float], data: st.DataObject, above: bool) -> None:
    values = np.array(row)
    chosen = data.draw(st.sets(st.integers(0, values.size - 2), min_size=1))
    moments = np.array(sorted(chosen))
    switched = np.array(data.draw(st.lists(st.booleans(), min_size=moments.size, max_size=moments.size)))
    # After a switch the actuator is in the other state, so the next moment cannot follow at once.
    switched[:-1] &= np.diff(moments) > 1
    reach = values + (1.0 if above else -1.0)
    threshold = 2.5
    past = {int(at): bool(values[at] > threshold if above else values[at] < threshold) for at in moments}
    passing = {at: past[at] or bool(reach[at] >= threshold if above else reach[at] <= threshold) for at in past}
    answered, crossings, near = [], 0, 0
    for at, is_switch in zip(moments.tolist(), switched.tolist(), strict=True):
        adjacent = [at - back for back in range(WITHIN + 1) if all(at - one in past for one in range(back + 1))]
        lately = any(past[one] for one in adjacent)
        too_long = len(adjacent) == WITHIN + 1 and all(past[one] for one in adjacent)
        answered.append(is_switch and (passing[at] or lately) and not too_long)
        after = bool(values[at + 1] > threshold if above else values[at + 1] < threshold)
        near += answered[-1] and not lately and not after
    by_moment = dict(zip(moments.tolist(), answered, strict=True))
    for at in past:
        # The last moment of a run: none of the next ones, as far as they are adjacent, passes the threshold.
        ahead = [at + step for step in range(1, WITHIN + 2)]
        ahead = [one for step, one in enumerate(ahead) if all(other in past for other in ahead[: step + 1])]
        if not passing[at] or any(passing[one] for one in ahead):
            continue
        followed = by_moment[at] or any(by_moment[one] for one in ahead[:WITHIN])
        unknown = at + 1 in past and np.isnan(values[at + 1])
        crossings += followed or not unknown
    mask = explained(values, reach, moments, switched, threshold=threshold, above=above)
    assert mask.tolist() == answered
    counts = count_crossings(values, reach, moments, switched, threshold=threshold, above=above)
    assert counts == Tally(int(switched.sum()), sum(answered), crossings, sum(answered), near)


def test_a_jump_is_not_reached() -> None:
    row = np.concatenate([np.sin(np.arange(200) / 10), [9.0], np.sin(np.arange(100) / 10)])
    linked = np.ones(row.size, bool)
    reach = reach_of(row, at_same_pace(row, linked), linked, above=True)
    assert reach[199] < 2.0


def test_after_a_gap_the_pace_is_unknown() -> None:
    row = np.array([1.0, 2.0, 5.0, np.nan, 6.0])
    linked = np.array([True, False, True, True, False])
    np.testing.assert_array_equal(at_same_pace(row, linked), [1.0, 3.0, 5.0, np.nan, 6.0])


def test_a_reading_that_never_moves_to_a_threshold_has_none() -> None:
    row = np.full(6, np.nan)
    switched = np.array([False, True, False])
    assert estimate_threshold(row, row, np.array([0, 1, 3]), switched, above=True) is None
