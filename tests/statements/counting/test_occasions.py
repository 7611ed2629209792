"""Separate occasions: what is counted, and that chance is not underestimated where there is no relation."""

from __future__ import annotations

import numpy as np
import pytest

from thence.statements.counting.occasions import (
    chance,
    count_occasions,
    divergence,
    find_trials,
    likeness,
    pick_evident,
    timing,
)


def chain(rng: np.random.Generator, n_frames: int, stay: float, share: float) -> np.ndarray:
    """Return a random on-off series that forgets its state with probability 1 − stay in each frame."""
    fresh = rng.random(n_frames) < share
    kept = rng.random(n_frames) < stay
    out = np.empty(n_frames, bool)
    out[0] = fresh[0]
    for frame in range(1, n_frames):
        out[frame] = out[frame - 1] if kept[frame] else fresh[frame]
    return out


def slow_occasions(line: np.ndarray, memory: int) -> int:
    counted, free = 0, 0
    frame = 0
    while frame < len(line):
        if line[frame] and frame >= free:
            counted += 1
            while frame < len(line) and line[frame]:
                frame += 1
            free = frame + memory
        else:
            frame += 1
    return counted


@pytest.mark.parametrize("seed", range(20))
def test_occasions_are_counted_as_by_hand(seed: int) -> None:
    rng = np.random.default_rng(seed)
    # An episode that has begun before it may be counted goes on afterwards: its rest counts as one.
    held = rng.random((4, 60)) < rng.uniform(0.1, 0.9)
    memory = int(rng.integers(1, 8))
    assert count_occasions(held, memory).tolist() == [slow_occasions(line, memory) for line in held]


def slow_trials(applies: np.ndarray, holds: np.ndarray) -> dict[int, float]:
    """Episodes before which, after the end of the last trial or at its last frame, the conclusion was false."""
    out: dict[int, float] = {}
    since: int | None = None
    frame = 0
    while frame < len(applies):
        if not applies[frame]:
            frame += 1
            continue
        end = frame
        while end < len(applies) and applies[end]:
            end += 1
        if since is None or not holds[since:frame].all():
            out[frame] = float(holds[frame:end].mean())
            since = end - 1
        frame = end
    return out


@pytest.mark.parametrize("seed", range(20))
def test_trials_are_found_as_by_hand(seed: int) -> None:
    rng = np.random.default_rng(seed)
    applies, holds = chain(rng, 200, 0.8, 0.5)[None], chain(rng, 200, 0.7, 0.4)[None]
    starts, shares = find_trials(applies, holds, np.ones_like(holds))
    found = {int(frame): float(shares[0, frame]) for frame in np.flatnonzero(starts[0])}
    assert found == slow_trials(applies[0], holds[0])


@pytest.mark.parametrize("stay", [0.0, 0.9, 0.99])
@pytest.mark.parametrize("share", [0.2, 0.7])
def test_chance_is_not_underestimated_for_independent_series(stay: float, share: float) -> None:
    """Rows of a few long episodes were counted as independent: what held once for a day was sure."""
    rng = np.random.default_rng(7)
    seen = []
    for _ in range(300):
        applies, holds = chain(rng, 400, 0.95, 0.3)[None], chain(rng, 400, stay, share)[None]
        starts, shares = find_trials(applies, holds, np.ones_like(holds))
        if starts.any():
            seen.append(float(chance(shares[starts].mean(), max(share, 0.5), int(starts.sum()))))
    assert len(seen) > 200
    assert np.mean(np.array(seen) <= 0.05) <= 0.06


def test_values_held_for_an_hour_do_not_switch_together_by_more_than_chance() -> None:
    """On a grid of 5 minutes, hourly values change at the same frames: coincidence at a frame says little."""
    rng = np.random.default_rng(3)
    low = 0
    for _ in range(200):
        first, second = (np.repeat(rng.random(120) < 0.3, 12)[None] for _ in range(2))
        starts, _ = find_trials(first, second, np.ones_like(second))
        hits, rate = timing(starts, second, np.ones_like(second), day=288)
        low += bool(chance(hits / max(int(starts.sum()), 1), rate, int(starts.sum())) <= 0.05)
    assert low <= 14


def test_what_begins_together_is_evident_after_few_days() -> None:
    """A fan and its damper that open in the same minute of each of four days were called chance."""
    on = np.zeros((1, 4 * 1440), bool)
    for day, minute in enumerate((361, 355, 368, 359)):
        on[0, day * 1440 + minute : day * 1440 + 1080] = True
    starts, _ = find_trials(on, on, np.ones_like(on))
    hits, rate = timing(starts, on, np.ones_like(on), day=1440)
    assert hits == 4
    assert chance(1.0, rate, 4) < 1e-6


def test_of_many_chances_few_small_ones_are_not_evident() -> None:
    rng = np.random.default_rng(0)
    kept = [pick_evident(rng.random(50), candidates=50).any() for _ in range(400)]
    assert np.mean(kept) <= 0.07
    assert pick_evident([1e-4, 2e-4, 0.9], candidates=50).tolist() == [True, True, False]
    assert pick_evident([], candidates=0).tolist() == []


def test_divergence_and_likeness_at_their_ends() -> None:
    assert divergence([0.0, 1.0, 0.3], [0.0, 1.0, 0.3]).tolist() == [0.0, 0.0, 0.0]
    rng = np.random.default_rng(1)
    apart = rng.random((20, 4000)) < 0.5
    assert likeness(apart, np.ones_like(apart)) < 0.01
    assert likeness(np.zeros((3, 5), bool), np.ones((3, 5), bool)) == 1.0
