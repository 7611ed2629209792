"""Actuators among sensors, and their switches, against a loop over the windows."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.statements.controls.plants import windows
from thence.statements.controls.switches import OFF, ON, find_switches, follows


@given(
    states=st.lists(st.sampled_from(["", "a", "b", "c"]), min_size=2, max_size=40).filter(any),
    gaps=st.sets(st.integers(0, 39)),
)
def test_switches_are_changes_between_adjacent_windows(states: list[str], gaps: set[int]) -> None:
    skip = sorted(gap for gap in gaps if gap < len(states))
    if len(skip) >= len(states) - 1:
        skip = []
    found, rare = find_switches(windows({}, {"x": states}, skip=skip), least=1)
    kept = [at for at in range(len(states)) if at not in skip]
    expected: dict[tuple[str, str], list[tuple[int, bool]]] = {}
    pairs = [
        (row, states[one], states[other])
        for row, (one, other) in enumerate(pairwise(kept))
        if other == one + 1 and states[one] and states[other]
    ]
    for before, after in {(one, other) for _, one, other in pairs if one != other}:
        expected[before, after] = [
            (row, other == after) for row, one, other in pairs if one == before and other in (before, after)
        ]
    told = {
        (switch.from_state, switch.to_state): list(zip(switch.moments.tolist(), switch.switched.tolist(), strict=True))
        for switch in found
    }
    assert told == expected
    assert rare == 0


def test_rare_changes_are_counted() -> None:
    found, rare = find_switches(windows({}, {"x": ["a", "b", "a", "b", "a"]}), least=2)
    assert [(len(switch), switch.from_state) for switch in found] == [(2, "a"), (2, "b")]
    assert find_switches(windows({}, {"x": ["a", "b", "a", "b"]}), least=2)[1] == 1
    assert rare == 0


@pytest.mark.parametrize(
    ("values", "on_and_off"),
    [
        ([0, 0, 50, 51, 0, 49, np.nan, 0], True),
        ([0, 0, 1, 20, 50, 20, 1, 0], False),  # it drifts to 0 and is not switched off
        ([3, 4, 5, 4, 3, 4, 5, 4], False),
        ([0, 0, 0, 0, 0, 0, 0, 0], False),
    ],
)
def test_numbers_that_are_0_part_of_the_time_are_actuators(values: list[float], on_and_off: bool) -> None:
    found, _ = find_switches(windows({"f": values}, {}), least=1)
    assert {(switch.from_state, switch.to_state) for switch in found} == (
        {(OFF, ON), (ON, OFF)} if on_and_off else set()
    )


def test_a_flow_beside_a_status_is_not_an_actuator() -> None:
    readings = windows({"flow": [0, 5, 0, 5]}, {"status": ["off", "on", "off", "on"]})
    assert {switch.actuator.id for switch in find_switches(readings, least=1)[0]} == {"flow", "status"}
    found, _ = find_switches(readings, least=1, place=lambda sensor: "Pump 1")
    assert {switch.actuator.id for switch in found} == {"status"}


def test_a_gap_separates_windows() -> None:
    assert follows(windows({"x": [1, 2, 3, 4]}, {}, skip=[2])).tolist() == [True, False, False]
