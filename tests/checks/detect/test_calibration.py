"""Calibration: held-out normal time has no more alarms than allowed, and a score survives JSON."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thence.checks.detect.calibration import Calibration, calibrate
from thence.checks.detect.evidence import EvidenceTally, EvidenceTarget
from thence.checks.detect.memory import count_episodes


def noise(seed: int, n_targets: int = 6, n_frames: int = 3_000) -> tuple[EvidenceTally, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    targets = tuple(EvidenceTarget(("rule", "law", "range")[at % 3], f"s{at}", f"n{at}") for at in range(n_targets))
    applicable = (rng.random((n_targets, n_frames)) < 0.8).astype(float)
    violated = applicable * (rng.random((n_targets, n_frames)) < rng.uniform(0, 0.1, (n_targets, 1)))
    hours = np.arange(n_frames) * 1.0
    return EvidenceTally(targets, applicable, violated), hours, (np.arange(n_frames) // 168) % 5 >= 3


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1.0, 3.0, 10.0]))
def test_held_out_time_has_no_more_alarms_than_allowed(seed: int, per_month: float) -> None:
    tally, hours, held = noise(seed)
    known = calibrate(tally, hours, held, every=1.0, memory=6.0, per_month=per_month)
    score = known.score(tally.targets, known.smooth(tally.shares, hours))[held]
    allowed = per_month * held.sum() / 720
    assert count_episodes(score > 1, hours[held], apart=6.0) <= allowed


def test_a_violation_that_stays_exceeds_every_threshold_and_unknown_targets_none() -> None:
    tally, hours, held = noise(0)
    known = calibrate(tally, hours, held, every=1.0, memory=6.0, per_month=1.0)
    full = np.ones((len(tally.targets), 50))
    assert known.score(tally.targets, known.smooth(full, hours[:50]))[-1] > 1
    strangers = (EvidenceTarget("rule", "stranger", ""),)
    assert known.score(strangers, np.ones((1, 5))).tolist() == [0.0] * 5


def test_rare_violations_weigh_more() -> None:
    targets = (EvidenceTarget("rule", "never", ""), EvidenceTarget("rule", "often", ""))
    violated = np.zeros((2, 1000))
    violated[1, ::10] = 1
    held = np.ones(1000, bool)
    known = calibrate(
        EvidenceTally(targets, np.ones((2, 1000)), violated),
        np.arange(1000.0),
        held,
        every=1.0,
        memory=6.0,
        per_month=1.0,
    )
    assert known.weights[targets[0]] > known.weights[targets[1]] > 0
    assert known.weights[targets[1]] == pytest.approx(-np.log(100.5 / 1001))


def test_it_survives_json() -> None:
    tally, hours, held = noise(1)
    known = calibrate(tally, hours, held, every=1.0, memory=6.0, per_month=1.0)
    again = Calibration.from_dict(json.loads(json.dumps(known.to_dict())))
    smoothed = known.smooth(tally.shares, hours)
    assert np.array_equal(again.score(tally.targets, smoothed), known.score(tally.targets, smoothed))
