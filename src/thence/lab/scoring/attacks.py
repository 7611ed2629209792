"""The score S of water-attack benchmarks: time to detection, and classification of steps (Taormina et al. 2018)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from thence.errors import ConfigError
from thence.lab.scoring.events import flag_pair, share, stretches

__all__ = ["DetectionScore", "detection_score"]


@dataclass(frozen=True, slots=True)
class DetectionScore:
    """The score S and its parts; NaN where it is undefined. A detector that always alarms has 0.75: quote ``tnr`` too.

    Args:
        score: S.
        time_score: 1 less the mean time to detection as a share of the attack.
        class_score: Mean of ``tpr`` and ``tnr``.
        tpr: Share of the steps under attack that are alarmed.
        tnr: Share of the other steps that are not.
        delays: Steps from the start of each attack to its first alarm; ``None`` for attacks without.
    """

    score: float
    time_score: float
    class_score: float
    tpr: float
    tnr: float
    delays: tuple[int | None, ...]


def detection_score(
    labels: Any, alarms: Any, *, gamma: float = 0.5, length: Literal["steps", "last-first"] = "steps"
) -> DetectionScore:
    """Score alarms by time to detection and by step: S = γ · S_TTD + (1 − γ) · (TPR + TNR) / 2.

    Args:
        labels: 1 while there is an attack.
        alarms: 1 where there is an alarm.
        gamma: Weight of the time to detection.
        length: How long an attack is: its number of ``"steps"``, or one less (``"last-first"``); then an attack of one
            step has the delay 0 if it is found, else 1.

    Examples:
        >>> silent = detection_score([0, 1, 1, 0], [0, 0, 0, 0])
        >>> silent.score, silent.time_score, silent.tnr
        (0.25, 0.0, 1.0)
    """
    if length not in ("steps", "last-first"):
        raise ConfigError(f"length must be 'steps' or 'last-first', got {length!r}")
    if not 0 <= gamma <= 1:
        raise ConfigError(f"gamma must be between 0 and 1, got {gamma}")
    y, a = flag_pair(labels, alarms)
    delays: list[int | None] = []
    shares: list[float] = []
    for first, last in stretches(y):
        found = np.flatnonzero(a[first : last + 1])
        whole = max(last - first + (length == "steps"), 1)
        delays.append(int(found[0]) if len(found) else None)
        shares.append(min(int(found[0]) / whole, 1.0) if len(found) else 1.0)
    time_score = 1 - share(math.fsum(shares), len(shares))
    tpr, tnr = share(int((y & a).sum()), int(y.sum())), share(int((~y & ~a).sum()), int((~y).sum()))
    class_score = (tpr + tnr) / 2
    score = gamma * time_score + (1 - gamma) * class_score
    return DetectionScore(score, time_score, class_score, tpr, tnr, tuple(delays))
