"""F1 over steps, plain and point-adjusted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from thence.errors import ConfigError
from thence.lab.scoring.events import flag_pair, share, stretches

__all__ = ["PointScore", "f1_score"]


@dataclass(frozen=True, slots=True)
class PointScore:
    """Counts of steps, and the rates that follow; NaN where a rate is 0/0.

    Args:
        true_positives: Steps with a label and an alarm.
        false_positives: Steps with an alarm only.
        false_negatives: Steps with a label only.
    """

    true_positives: int
    false_positives: int
    false_negatives: int

    @property
    def precision(self) -> float:
        """Share of the alarmed steps that are labelled."""
        return share(self.true_positives, self.true_positives + self.false_positives)

    @property
    def recall(self) -> float:
        """Share of the labelled steps that are alarmed."""
        return share(self.true_positives, self.true_positives + self.false_negatives)

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        tp = self.true_positives
        return share(2 * tp, 2 * tp + self.false_positives + self.false_negatives)


def f1_score(labels: Any, alarms: Any, *, adjust_above: float | None = None) -> PointScore:
    """Score alarms step by step.

    Args:
        labels: 1 where there is an event.
        alarms: 1 where there is an alarm.
        adjust_above: Point adjustment: an event of which more than this share of the steps is alarmed counts as alarmed
            in all its steps. With 0, one alarm is enough: this flatters, since random alarms hit long events.
            ``None`` for the plain score.

    Examples:
        >>> label = [1] * 20 + [0] * 80
        >>> alarm = [1] + [0] * 19 + [1, 1] + [0] * 78
        >>> round(f1_score(label, alarm).f1, 3), round(f1_score(label, alarm, adjust_above=0).f1, 3)
        (0.087, 0.952)
    """
    if adjust_above is not None and not 0 <= adjust_above <= 1:
        raise ConfigError(f"adjust_above must be between 0 and 1, got {adjust_above}")
    y, a = flag_pair(labels, alarms)
    if adjust_above is not None:
        a = a.copy()
        for first, last in stretches(y):
            event = a[first : last + 1]
            if event.sum() > adjust_above * len(event):
                event[:] = True
    return PointScore(int((y & a).sum()), int((~y & a).sum()), int((y & ~a).sum()))
