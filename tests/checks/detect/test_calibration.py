"""Calibration: normal time that was not learned has about as many alarms as allowed, and a score survives JSON."""

from __future__ import annotations

import json

import numpy as np
import pytest

from thence.checks.detect.calibration import Calibration, calibrate
from thence.checks.detect.evidence import EvidenceTally, EvidenceTarget
from thence.checks.detect.memory import count_episodes
from thence.checks.detect.timescale import TimeScale


def noise(seed: int, n_targets: int = 6, n_frames: int = 3_000) -> tuple[EvidenceTally, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    targets = tuple(EvidenceTarget(("rule", "law", "range")[at % 3], f"s{at}", f"n{at}") for at in range(n_targets))
    applicable = (rng.random((n_targets, n_frames)) < 0.8).astype(float)
    violated = applicable * (rng.random((n_targets, n_frames)) < rng.uniform(0, 0.1, (n_targets, 1)))
    hours = np.arange(n_frames) * 1.0
    return EvidenceTally(targets, applicable, violated), hours, (np.arange(n_frames) // 168) % 5 >= 3


SCALE = TimeScale(1.0, 6.0, 24.0, 24.0, 24.0)
FAMILIES = ("rule", "law", "range")


def learned(tally: EvidenceTally, hours: np.ndarray, held: np.ndarray, per_month: float = 1.0) -> Calibration:
    return calibrate(tally, hours, held, {}, scale=SCALE, alarming=FAMILIES, per_month=per_month)


def scores(known: Calibration, tally: EvidenceTally, hours: np.ndarray) -> np.ndarray:
    smoothed = known.smooth(tally.shares, hours)
    return known.score(known.channels(tally.targets, smoothed), len(hours))


def test_time_that_was_not_learned_has_as_many_alarms_as_allowed() -> None:
    """Within a factor of two and a half of the stated rate, over 20 plants and 83 months."""
    for per_month in (1.0, 4.0):
        count = days = 0
        for seed in range(20):
            tally, hours, held = noise(seed)
            known = learned(tally, hours, held, per_month)
            other = EvidenceTally(tally.targets, *_again(tally, seed))
            count += count_episodes(scores(known, other, hours) > 1, hours, apart=6.0)
            days += len(hours) / 24
        assert 0.4 * per_month <= count / days * 30 <= 2 * per_month


def _again(tally: EvidenceTally, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Other readings of the same plant: the same rates of violations."""
    rng = np.random.default_rng([seed, 1])
    rates = tally.violated.sum(axis=1, keepdims=True) / tally.applicable.sum(axis=1, keepdims=True)
    applicable = (rng.random(tally.applicable.shape) < 0.8).astype(float)
    return applicable, applicable * (rng.random(applicable.shape) < rates)


def test_with_few_days_only_what_was_never_violated_raises_alarms() -> None:
    targets = (EvidenceTarget("law", "kept", ""), EvidenceTarget("law", "broken", ""))
    violated = np.zeros((2, 60))
    violated[1, 5] = 1
    hours = np.arange(60.0)
    known = learned(EvidenceTally(targets, np.ones((2, 60)), violated), hours, hours >= 24)
    assert set(known.thresholds) == {"law, never violated"} and known.days == 0
    for at, expected in ((0, True), (1, False)):
        later = np.zeros((2, 60))
        later[at, 30:] = 1
        assert (scores(known, EvidenceTally(targets, np.ones((2, 60)), later), hours) > 1).any() == expected


def test_a_violation_that_stays_exceeds_every_threshold_and_unknown_targets_none() -> None:
    tally, hours, held = noise(0)
    known = learned(tally, hours, held)
    full = np.ones((len(tally.targets), 50))
    assert known.score(known.channels(tally.targets, known.smooth(full, hours[:50])), 50)[-1] > 1
    strangers = (EvidenceTarget("rule", "stranger", ""),)
    assert known.score(known.channels(strangers, np.ones((1, 5))), 5).tolist() == [0.0] * 5


def test_rare_violations_weigh_more() -> None:
    targets = (EvidenceTarget("rule", "never", ""), EvidenceTarget("rule", "often", ""))
    violated = np.zeros((2, 1000))
    violated[1, ::10] = 1
    held = np.ones(1000, bool)
    known = learned(EvidenceTally(targets, np.ones((2, 1000)), violated), np.arange(1000.0), held)
    assert known.weights[targets[0]] > known.weights[targets[1]] > 0
    assert known.weights[targets[1]] == pytest.approx(-np.log(100.5 / 1001))


def test_it_survives_json() -> None:
    tally, hours, held = noise(1)
    known = learned(tally, hours, held)
    again = Calibration.from_dict(json.loads(json.dumps(known.to_dict())))
    assert np.array_equal(scores(again, tally, hours), scores(known, tally, hours))
    assert again.thresholds == known.thresholds and again.scale == known.scale
