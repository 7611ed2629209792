"""F1 over ranges of time: recall and precision of events instead of steps (Tatbul et al. 2018)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from thence.errors import ConfigError
from thence.lab.scoring.events import Bools, flag_pair, share, stretches

__all__ = ["RangeScore", "range_f1_score"]

Bias = Literal["flat", "front", "back"]


@dataclass(frozen=True, slots=True)
class RangeScore:
    """Precision and recall over ranges; NaN without alarms or without events.

    Args:
        precision: Mean over the ranges of alarms.
        recall: Mean over the events.
    """

    precision: float
    recall: float

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        return share(2 * self.precision * self.recall, self.precision + self.recall)


def range_f1_score(
    labels: Any,
    alarms: Any,
    *,
    existence: float = 0.0,
    bias: Bias = "flat",
    fragments: Literal["ignore", "reciprocal"] = "ignore",
) -> RangeScore:
    """Score alarms range by range.

    Args:
        labels: 1 where there is an event.
        alarms: 1 where there is an alarm.
        existence: Part of the recall of an event that any overlap earns; the rest is earned by its size.
        bias: Which steps of an event count most: ``"flat"`` for all alike, ``"front"`` or ``"back"``.
        fragments: ``"reciprocal"`` divides what the size earns by the number of ranges that overlap it.

    Examples:
        >>> label = [10 <= step <= 19 for step in range(30)]
        >>> alarm = [12 <= step <= 14 or 18 <= step <= 22 for step in range(30)]
        >>> score = range_f1_score(label, alarm)
        >>> score.recall, score.precision, round(score.f1, 3)
        (0.5, 0.7, 0.583)
    """
    if not 0 <= existence <= 1:
        raise ConfigError(f"existence must be between 0 and 1, got {existence}")
    if bias not in _WEIGHTS:
        raise ConfigError(f"bias must be 'flat', 'front' or 'back', got {bias!r}")
    if fragments not in ("ignore", "reciprocal"):
        raise ConfigError(f"fragments must be 'ignore' or 'reciprocal', got {fragments!r}")
    y, a = flag_pair(labels, alarms)
    split = fragments == "reciprocal"
    return RangeScore(
        precision=_mean_overlap(a, y, existence=0.0, bias=bias, split=split),
        recall=_mean_overlap(y, a, existence=existence, bias=bias, split=split),
    )


_WEIGHTS: dict[Bias, Callable[[int], Any]] = {
    "flat": lambda length: np.ones(length),
    "front": lambda length: np.arange(length, 0, -1),
    "back": lambda length: np.arange(1, length + 1),
}


def _mean_overlap(of: Bools, by: Bools, *, existence: float, bias: Bias, split: bool) -> float:
    scores = []
    for first, last in stretches(of):
        hit = by[first : last + 1]
        weights = _WEIGHTS[bias](len(hit))
        pieces = len(stretches(hit))
        size = float(weights[hit].sum() / weights.sum()) / (pieces if split and pieces > 1 else 1)
        scores.append(existence * (pieces > 0) + (1 - existence) * size)
    return share(sum(scores), len(scores))
