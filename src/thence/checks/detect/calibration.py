"""Calibration: from signals to a score that exceeds 1 in normal time at most so often.

Residuals have three channels (see ``residuals``). Each family of statements that raises alarms has two: its worst
target, compared with what is usual for it, and the sum over all its targets, weighted by how rare violations are. Each
channel has a threshold of its own from the greatest values of normal days, and the score is the largest channel in
units of its threshold.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from thence.checks.detect.evidence import EvidenceTally, EvidenceTarget
from thence.checks.detect.levels import day_maxima, exceeded_at, jackknife_levels, would_have_alarmed
from thence.checks.detect.memory import single_level, smooth
from thence.checks.detect.timescale import LEAST_DAYS, TimeScale, count_full

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

_MONTH = 30  # days
_EXACT = "law, never violated"
_LEAST_CHANNEL = 0.5  # a channel that compares with levels of its own has no threshold below this share of them


@dataclass(frozen=True, eq=False)
class Calibration:
    """What is usual in normal time.

    Args:
        levels: The smoothed share of each target that is hardly ever exceeded.
        weights: How surprising violations of each target are.
        thresholds: The threshold of each channel that raises alarms.
        scale: The time scale.
        per_month: Allowed false alarms in 30 days.
        days: Normal days that the thresholds were learned from; of statements, the days that were held out.
        would_alarm: How many of these days would have had an alarm, had they not been learned.
    """

    levels: Mapping[EvidenceTarget, float]
    weights: Mapping[EvidenceTarget, float]
    thresholds: Mapping[str, float]
    scale: TimeScale
    per_month: float
    days: int
    would_alarm: int

    @property
    def every(self) -> float:
        """Length of a frame in hours."""
        return self.scale.every

    @property
    def memory(self) -> float:
        """Hours after which a violation has faded to 37 %."""
        return self.scale.memory

    def smooth(self, shares: Floats, hours: Floats, before: tuple[float, Floats] | None = None) -> Floats:
        """Return the smoothed share of violated statements, targets × frames; where none applies it fades.

        Args:
            shares: Targets × frames; NaN where nothing applies.
            hours: Time of each frame in hours.
            before: The frame before the first, and what was smoothed there.
        """
        return smooth(np.nan_to_num(shares), hours, every=self.every, memory=self.memory, before=before)

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
        """Return the channels of statements, one value per frame each.

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
            if family == "law":
                out[_EXACT] = out["law, worst"]
        return out

    def score(self, channels: Mapping[str, Floats], frames: int) -> Floats:
        """Return the score of each frame: above 1 is an alarm.

        Args:
            channels: The channels, of statements and of residuals.
            frames: The number of frames.
        """
        out = np.zeros(frames)
        for name, values in channels.items():
            out = np.maximum(out, values / self.thresholds.get(name, math.inf))
        return out

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, ready for JSON."""
        return {
            "targets": [[*target, self.levels[target], self.weights[target]] for target in self.levels],
            "thresholds": dict(self.thresholds),
            "scale": self.scale.to_dict(),
            "per_month": self.per_month,
            "days": self.days,
            "would_alarm": self.would_alarm,
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
            TimeScale.from_dict(record["scale"]),
            float(record["per_month"]),
            int(record["days"]),
            int(record["would_alarm"]),
        )


def calibrate(
    tally: EvidenceTally,
    hours: Floats,
    held_out: Bools,
    residuals: Mapping[str, Floats],
    *,
    scale: TimeScale,
    alarming: Sequence[str],
    per_month: float,
) -> Calibration:
    """Learn from normal time what is usual.

    Args:
        tally: The evidence of normal time.
        hours: Time of each frame in hours.
        held_out: Which frames no statement was learned on.
        residuals: The channels of residuals: the greatest value of each normal day, learned without it.
        scale: The time scale.
        alarming: The families of statements that raise alarms.
        per_month: Allowed false alarms in 30 days, over all channels.
    """
    shares, rate = tally.shares, 1 / _MONTH
    smoothed = smooth(np.nan_to_num(shares), hours, every=scale.every, memory=scale.memory)[:, held_out]
    days = count_full(hours[held_out], scale.block, every=scale.every)
    blocks = scale.blocks_of(hours[held_out])
    least = single_level(every=scale.every, memory=scale.memory)
    known = (~np.isnan(shares[:, held_out])).sum(axis=1)
    rates = (np.nansum(shares[:, held_out], axis=1) + 0.5) / (known + 1)
    weights = {target: -math.log(float(one)) for target, one in zip(tally.targets, rates, strict=True)}
    maxima = day_maxima(smoothed, blocks, days)
    enough = len(days) >= LEAST_DAYS
    if enough:
        high, without = jackknife_levels(maxima, rate, least=least)
    else:
        # A target that was violated in normal time says nothing; one that never was is a hard fact.
        high = np.where((np.nansum(shares, axis=1) > 0) | (known == 0), math.inf, 0.0)
        without = np.tile(high[:, None], (1, len(days)))
    high, without = np.maximum(high, least), np.maximum(without, least)
    levels = {target: float(one) for target, one in zip(tally.targets, high, strict=True)}
    daily: dict[str, Floats] = {}
    floors: dict[str, float] = dict.fromkeys(residuals, _LEAST_CHANNEL)
    for family in dict.fromkeys(target.family for target in tally.targets) if enough else ():
        if family in alarming:
            own = np.array([target.family == family for target in tally.targets])
            daily[f"{family}, worst"] = (maxima[own] / without[own]).max(axis=0)
            weighted = np.array([weights[target] for target in tally.targets])[own]
            daily[f"{family}, all"] = day_maxima((smoothed[own] * weighted[:, None]).sum(axis=0)[None], blocks, days)[0]
            floors |= {f"{family}, worst": 1.0, f"{family}, all": least * float(weighted.max())}
    channels = {**residuals, **daily}
    share = per_month / _MONTH / max(len(channels), 1) * scale.block / scale.day
    thresholds = {
        name: max(exceeded_at(one, share, least=floors[name]), floors[name]) for name, one in channels.items()
    }
    if not enough and "law" in alarming and any(target.family == "law" for target in tally.targets):
        thresholds[_EXACT] = 1.0
    counts = [would_have_alarmed(one, share, least=floors[name]) for name, one in channels.items()]
    longest = max((len(one) for one in counts), default=0)
    wrong = sum((one for one in counts if len(one) == longest), np.zeros(longest, bool))
    finite = {target: level for target, level in levels.items() if math.isfinite(level)}
    return Calibration(
        finite,
        {target: weights[target] for target in finite},
        thresholds,
        scale,
        per_month,
        longest,
        int(np.sum(np.asarray(wrong, bool))),
    )
