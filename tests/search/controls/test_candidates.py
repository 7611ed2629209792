"""Readings that may make actuators switch: how smooth they are, and what screening many at once must not change."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest

from tests.statements.controls.plants import windows
from thence.search.controls.candidates import MIN_AGREEMENT, Candidate, beats_other_days, earlier, screen_all
from thence.search.controls.kernels import screen
from thence.statements.controls.signals import Signals
from thence.statements.controls.switches import find_switches, follows
from thence.statements.controls.thresholds import at_same_pace


def many(count: int, steps: int = 900, seed: int = 0) -> Signals:
    """Readings of which some have gaps, and states that follow some of them for a while, with missing windows."""
    rng = np.random.default_rng(seed)
    walks = np.cumsum(rng.normal(size=(count, steps)), axis=1) + rng.normal(size=(count, steps)) * 0.1
    walks[rng.random(walks.shape) < 0.01] = np.nan
    walks[1] = 3.0
    walks[2] = np.nan
    quick = ["on" if level > np.nanquantile(walks[0], 0.6) else "off" for level in walks[0]]
    slow = ["on" if step // 40 % 2 else "off" for step in range(steps)]
    numbers: dict[str, npt.ArrayLike] = {f"x{at}": row for at, row in enumerate(walks)}
    readings = windows(numbers, {"quick": quick, "slow": slow}, skip=[50, 51, 300])
    return Signals(readings, follows(readings))


def test_roughness_is_that_of_each_reading_alone() -> None:
    signals = many(150)
    asked = [*range(150), 7, 7]
    found = signals.roughness(asked)
    for column, rough in zip(asked, found, strict=True):
        values = signals.readings.values[:, column]
        surprise = np.abs(values[1:] - at_same_pace(values, signals.linked)[:-1])[signals.linked[:-1]]
        surprise = surprise[~np.isnan(surprise)]
        spread = float(np.nanstd(values)) if surprise.size else 0.0
        assert rough == (float(surprise.mean()) / spread if spread > 0 else math.inf)


@pytest.mark.parametrize("count", [3, 64, 130])
def test_screening_looks_at_the_moments_that_count_only(count: int) -> None:
    signals = many(count)
    switches, _ = find_switches(signals.readings, least=6)
    assert len(switches) == 4
    for switch, scores in zip(switches, screen_all(signals, switches, min_share=0.5), strict=True):
        half = earlier(switch)
        if len(half) > 40:
            continue
        expected = np.zeros_like(scores)
        for rows in signals.rows(slice(None)):
            _, found = screen(rows, half.moments, half.switched, min_share=0.5, min_agreement=MIN_AGREEMENT)
            expected = np.maximum(expected, found)
        np.testing.assert_array_equal(scores, expected)


def test_what_was_found_on_other_days_changes_no_answer() -> None:
    signals = many(70)
    switches, _ = find_switches(signals.readings, least=6)
    answers = []
    for switch in switches:
        found: dict[str, float] = {}
        for agreement in (0.4, 0.9, 0.35, 0.6, 0.5, 0.95, 0.45):
            one = Candidate(0, above=True, agreement=agreement, ahead=False)
            alone = beats_other_days(signals, switch, one)
            assert beats_other_days(signals, switch, one, found) == alone
            answers.append(alone)
        assert found
    assert True in answers


def test_pace_is_the_same_in_any_order_in_memory() -> None:
    signals = many(5)
    values, pace = signals.rows([3, 0, 4], end=200)
    np.testing.assert_array_equal(values, signals.readings.values[:200, [3, 0, 4]].T)
    for row, ahead in zip(values, pace, strict=True):
        np.testing.assert_array_equal(ahead, at_same_pace(row, signals.linked[:200]))
