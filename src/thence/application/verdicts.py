"""Then and now: whether rules hold on other data as they held when they were mined.

The interval of a confidence now takes the memory of readings into account (``thence.counting.assurance``). The
confidence then has a bound too: with as many independent rows among all rows as now, unless the run has a bound of its
own. A rule has become *weaker* if the interval of now lies below the bound of then, and it *no longer holds* if it also
lies below the least confidence that the run asked for. This module judges; it counts nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from thence.counting.assurance import confidence_interval, effective_rows, share_interval
from thence.counting.recount import Stretches
from thence.rules.ruleset import RuleSet

__all__ = ["ThenAndNow", "Verdict", "judge_rules"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class Verdict(StrEnum):
    """What can be said about a rule on other data."""

    BROKEN = "no longer holds"
    WEAKER = "weaker"
    HOLDS = "holds"
    UNCLEAR = "too little data"
    SILENT = "never applied"
    NOT_BOUND = "not bound"


@dataclass(frozen=True, eq=False)
class ThenAndNow:
    """Rules when they were mined, and on other data; one entry per rule.

    Args:
        then: Confidence when mined.
        then_low: Lower bound of it; NaN if there is none.
        now: Confidence on the other data; NaN where the rule never applied.
        low: Lower bound of it; NaN where the data do not allow one.
        high: Upper bound of it.
        verdicts: What can be said.
    """

    then: Floats
    then_low: Floats
    now: Floats
    low: Floats
    high: Floats
    verdicts: tuple[Verdict, ...]


def judge_rules(
    rules: RuleSet,
    counted: Stretches | None,
    bound: Sequence[int] | Ints,
    *,
    applied: Ints,
    satisfied: Ints,
    assurance: float,
    min_confidence: float | None,
) -> ThenAndNow:
    """Compare rules then and now.

    Args:
        rules: The rules, with the counts of the data that they were mined on.
        counted: Counts of the bound rules in stretches of time on the other data; ``None`` if there are none, or if
            rows have no order.
        bound: Positions of the bound rules.
        applied: Number of rows in which each rule applies now.
        satisfied: Number of rows in which each rule is satisfied now.
        assurance: Probability with which each bound holds.
        min_confidence: The least confidence that the run asked for.
    """
    number, chosen = len(rules), np.asarray(bound, np.int64)
    then = np.asarray(rules.measure("confidence"), np.float64) if number else np.zeros(0)
    with np.errstate(divide="ignore", invalid="ignore"):
        now = np.where(applied > 0, satisfied / np.maximum(applied, 1), np.nan)
    low, high, then_low = (np.full(number, np.nan) for _ in range(3))
    if counted is not None and len(chosen):
        low[chosen], high[chosen] = confidence_interval(counted, assurance)
        rows, freedom = effective_rows(counted)
        weight = rows / np.maximum(counted.counts.n, 1)
        then_rows = np.asarray(rules.counts.n_antecedent, np.float64)[chosen] * weight
        then_low[chosen] = share_interval(then[chosen], then_rows, freedom, assurance)[0]
    if "assured_confidence" in rules.extras:
        own = np.asarray(rules.extras["assured_confidence"], np.float64)
        then_low = np.where(np.isnan(own), then_low, own)
    is_bound = np.zeros(number, bool)
    is_bound[chosen] = True
    weaker = high < then_low
    broken = weaker & (high < min_confidence) if min_confidence is not None else np.zeros(number, bool)
    verdicts = np.full(number, Verdict.HOLDS, object)
    verdicts[np.isnan(high)] = Verdict.UNCLEAR
    verdicts[weaker] = Verdict.WEAKER
    verdicts[broken] = Verdict.BROKEN
    verdicts[applied == 0] = Verdict.SILENT
    verdicts[~is_bound] = Verdict.NOT_BOUND
    return ThenAndNow(then, then_low, now, low, high, tuple(verdicts.tolist()))
