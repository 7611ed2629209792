"""LeakDB's scores: pooled rates over scenarios, and how early each leak is found (Vrachimis et al. 2018)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from thence.errors import InputError
from thence.lab.scoring.events import Bools, flag_pair, share, stretches

__all__ = ["LeakDBScore", "leakdb"]


@dataclass(frozen=True, slots=True)
class LeakDBScore:
    """LeakDB's scores over all scenarios together; rates in percent, NaN where they are 0/0.

    Args:
        true_positives: Steps with a leak and an alarm.
        false_positives: Steps with an alarm and no leak.
        false_negatives: Steps with a leak and no alarm.
        true_negatives: Steps with neither.
        early: The score of each event, from 0 to 1, in the order of scenarios and time.
    """

    true_positives: int
    false_positives: int
    false_negatives: int
    true_negatives: int
    early: tuple[float, ...]

    @property
    def f1(self) -> float:
        """F1 in percent."""
        tp = self.true_positives
        return 100 * share(2 * tp, 2 * tp + self.false_positives + self.false_negatives)

    @property
    def true_positive_rate(self) -> float:
        """Share of the steps with a leak that have an alarm, in percent."""
        return 100 * share(self.true_positives, self.true_positives + self.false_negatives)

    @property
    def true_negative_rate(self) -> float:
        """Share of the steps without a leak that have no alarm, in percent."""
        return 100 * share(self.true_negatives, self.true_negatives + self.false_positives)

    @property
    def early_detection(self) -> float:
        """Mean score of the events, in percent: 100 if each has an alarm from its first step on."""
        return 100 * share(math.fsum(self.early), len(self.early))


def leakdb(
    labels: Sequence[Any],
    alarms: Sequence[Any],
    *,
    alpha: float = 5.0,
    extra_steps: int = 10,
    min_share: float = 0.75,
    inclusive: bool = False,
) -> LeakDBScore:
    """Score alarms as LeakDB does.

    Counts are pooled over all steps of all scenarios. An event from step s to e scores
    ``2 / (1 + exp(alpha · D / w))`` if more than ``min_share`` of the steps from the first alarm to the end of its
    window are alarmed, else 0. The window ends ``extra_steps`` after e or at the end of the series, D counts the steps
    from s to the first alarm in it, and w is its length less one. Leaks that overlap are one event; an event that
    begins or ends with the series is an event.

    Args:
        labels: One array of 0 and 1 per scenario: 1 while there is a leak.
        alarms: One array of 0 and 1 per scenario.
        alpha: How fast the score falls: 5 in LeakDB's code, 6 in the article.
        extra_steps: Steps after an event in which an alarm still counts; LeakDB's 10 are 5 hours.
        min_share: Share of alarmed steps that an event needs from its first alarm on.
        inclusive: Whether exactly ``min_share`` is enough ("at least", as in the article) or not ("more than", as in
            the code).

    Examples:
        >>> first = leakdb([[0, 0, 0, 0, 1, 1, 1, 1, 0, 0]], [[0, 0, 0, 0, 0, 1, 1, 1, 1, 0]])
        >>> first.true_positives, first.false_positives, first.f1
        (3, 1, 75.0)
    """
    if len(labels) != len(alarms):
        raise InputError(
            f"labels and alarms must have the same number of scenarios, got {len(labels)} and {len(alarms)}"
        )
    if len(labels) and np.ndim(labels[0]) == 0:
        raise InputError(
            "labels must be a list of arrays, one per scenario", hint="pass [labels] and [alarms] for a single scenario"
        )
    counts = np.zeros(4, np.int64)
    early: list[float] = []
    for one_label, one_alarm in zip(labels, alarms, strict=True):
        y, a = flag_pair(one_label, one_alarm)
        counts += [(y & a).sum(), (~y & a).sum(), (y & ~a).sum(), (~y & ~a).sum()]
        early += [
            _score_event(a, first, last, alpha, extra_steps, min_share, inclusive) for first, last in stretches(y)
        ]
    tp, fp, fn, tn = (int(count) for count in counts)
    return LeakDBScore(tp, fp, fn, tn, tuple(early))


def _score_event(
    alarm: Bools, first: int, last: int, alpha: float, extra: int, min_share: float, inclusive: bool
) -> float:
    end = min(last + extra, len(alarm) - 1)
    found = np.flatnonzero(alarm[first : end + 1])
    if not len(found):
        return 0.0
    delay, width = int(found[0]), end - first
    alarmed, left = len(found), width - delay + 1
    enough = alarmed >= min_share * left if inclusive else alarmed > min_share * left
    if not enough:
        return 0.0
    return 2 / (1 + math.exp(alpha * delay / width)) if delay else 1.0
