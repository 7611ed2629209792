"""Calibration: from smoothed violations to a score that exceeds 1 in normal time at most so often.

Each family of statements (rules, laws, ranges) has two channels: its worst target, compared with what is usual for it,
and the sum over all its targets, weighted by how rare violations are. Each channel has a threshold of its own from
held-out normal time, and the score is the largest channel in units of its threshold.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from thence.checks.detect.evidence import EvidenceTally, EvidenceTarget
from thence.checks.detect.memory import alarm_level, single_level, smooth

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

_QUANTILE = 0.999


@dataclass(frozen=True, eq=False)
class Calibration:
    """What is usual in held-out normal time.

    Args:
        levels: The smoothed share of each target that is hardly ever exceeded.
        weights: How surprising violations of each target are.
        thresholds: The threshold of each channel.
        every: Length of a frame in hours.
        memory: Hours after which a violation has faded to 1/e.
        per_month: Allowed false alarms in 30 days.
        hours: Held-out normal time in hours.
    """

    levels: Mapping[EvidenceTarget, float]
    weights: Mapping[EvidenceTarget, float]
    thresholds: Mapping[str, float]
    every: float
    memory: float
    per_month: float
    hours: float

    def smooth(self, shares: Floats, hours: Floats) -> Floats:
        """Return the smoothed share of violated statements, targets × frames; where none applies it fades.

        Args:
            shares: Targets × frames; NaN where nothing applies.
            hours: Time of each frame in hours.
        """
        return smooth(np.nan_to_num(shares), hours, every=self.every, memory=self.memory)

    def relative(self, targets: tuple[EvidenceTarget, ...], smoothed: Floats) -> Floats:
        """Return smoothed shares in units of the usual level of each target; unknown targets give 0.

        Args:
            targets: The targets.
            smoothed: Targets × frames.
        """
        levels = np.array([self.levels.get(target, math.inf) for target in targets])
        return np.asarray(smoothed / levels[:, None]) if len(targets) else smoothed

    def surprise(self, targets: tuple[EvidenceTarget, ...], smoothed: Floats) -> Floats:
        """Return smoothed shares times how surprising violations of each target are.

        Args:
            targets: The targets.
            smoothed: Targets × frames.
        """
        weights = np.array([self.weights.get(target, 0.0) for target in targets])
        return np.asarray(smoothed * weights[:, None]) if len(targets) else smoothed

    def channels(self, targets: tuple[EvidenceTarget, ...], smoothed: Floats) -> dict[str, Floats]:
        """Return the channels, one value per frame each.

        Args:
            targets: The targets.
            smoothed: Targets × frames.
        """
        relative, surprise = self.relative(targets, smoothed), self.surprise(targets, smoothed)
        out = {}
        for family in dict.fromkeys(target.family for target in targets):
            own = np.array([target.family == family for target in targets])
            out[f"{family}, worst"] = relative[own].max(axis=0)
            out[f"{family}, all"] = surprise[own].sum(axis=0)
        return out

    def score(self, targets: tuple[EvidenceTarget, ...], smoothed: Floats) -> Floats:
        """Return the score of each frame: above 1 is an alarm.

        Args:
            targets: The targets.
            smoothed: Targets × frames.
        """
        out = np.zeros(smoothed.shape[1])
        for name, values in self.channels(targets, smoothed).items():
            out = np.maximum(out, values / self.thresholds.get(name, math.inf))
        return out

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, ready for JSON."""
        return {
            "targets": [[*target, self.levels[target], self.weights[target]] for target in self.levels],
            "thresholds": dict(self.thresholds),
            "every": self.every,
            "memory": self.memory,
            "per_month": self.per_month,
            "hours": self.hours,
        }

    @staticmethod
    def from_dict(record: Mapping[str, Any]) -> Calibration:
        """Return the calibration of ``to_dict``.

        Args:
            record: The fields.
        """
        targets = [(EvidenceTarget(*one[:3]), float(one[3]), float(one[4])) for one in record["targets"]]
        return Calibration(
            {target: level for target, level, _ in targets},
            {target: weight for target, _, weight in targets},
            {name: float(value) for name, value in record["thresholds"].items()},
            **{name: float(record[name]) for name in ("every", "memory", "per_month", "hours")},
        )


def calibrate(
    tally: EvidenceTally, hours: Floats, held_out: Bools, *, every: float, memory: float, per_month: float
) -> Calibration:
    """Learn from held-out normal time what is usual.

    Args:
        tally: The evidence of normal time.
        hours: Time of each frame in hours.
        held_out: Which frames nothing was learned on.
        every: Length of a frame in hours.
        memory: Hours after which a violation has faded to 1/e.
        per_month: Allowed false alarms in 30 days, over all channels.
    """
    shares = tally.shares
    smoothed = smooth(np.nan_to_num(shares), hours, every=every, memory=memory)[:, held_out]
    least = single_level(every=every, memory=memory)
    high = np.quantile(smoothed, _QUANTILE, axis=1) if smoothed.size else np.zeros(len(tally.targets))
    known = (~np.isnan(shares[:, held_out])).sum(axis=1)
    rates = (np.nansum(shares[:, held_out], axis=1) + 0.5) / (known + 1)
    levels = {target: max(float(one), least) for target, one in zip(tally.targets, high, strict=True)}
    weights = {target: -math.log(float(one)) for target, one in zip(tally.targets, rates, strict=True)}
    duration = float(held_out.sum() * every)
    plain = Calibration(levels, weights, {}, every, memory, per_month, duration)
    channels = plain.channels(tally.targets, smoothed)
    thresholds = {}
    for name, values in channels.items():
        level = alarm_level(
            values, hours[held_out], every=every, memory=memory, per_month=per_month / max(len(channels), 1)
        )
        family = [weights[target] for target in tally.targets if name.startswith(target.family)]
        floor = 1.0 if name.endswith("worst") else least * max(family)
        thresholds[name] = max(level, floor)
    return Calibration(levels, weights, thresholds, every, memory, per_month, duration)
