"""Then and now: whether rules hold on other data as they held when they were mined.

Two questions are asked of each rule. How confident is it now? The interval of that takes the memory of readings into
account, failures included (``thence.statements.counting.assurance``). And can it be as confident now as it was then? If
it is, failures are as rare as then, and the independent observations are the episodes of the antecedent that are
further apart than the memory of the consequent; the memory is measured in each eighth of the time, so that a change
between eighths does not look like memory. There are as many of them in a row then as now. If the upper bound of now, on
this count, lies below the lower bound of then, the rule is *weaker*; if it also lies below the least confidence that
the run asked for, the rule *no longer holds*. So a rule that breaks once and for all is found, although its interval is
wide.

This module judges.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from thence.statements.counting.assurance import SPANS, confidence_interval, independent_episodes, share_interval
from thence.statements.counting.recount import Spans, count_spans
from thence.statements.rules.ruleset import RuleSet
from thence.tables.transactions import TransactionTable

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


_FREEDOM = 10.0  # at most: how independent episodes are is itself an estimate
_PARTS, _LEAST_FRAMES = 8, 50  # parts of the time in which memory is measured, and their least length


class Verdict(StrEnum):
    """What can be said about a rule on other data."""

    BROKEN = "no longer holds"
    WEAKER = "weaker"
    HOLDS = "holds"
    UNCLEAR = "too little data"
    SILENT = "never applied"
    NOT_BOUND = "not bound"
    LEFT_OUT = "left out"


def independent_rows(rules: RuleSet, table: TransactionTable) -> Floats:
    """Count the independent observations of each rule: episodes further apart than the memory of its consequent.

    Args:
        rules: The rules.
        table: The table.

    Returns:
        Their number, summed over parts of the time.

    Examples:
        >>> import polars as pl
        >>> from thence.statements.counting.recount import recount
        >>> frame = pl.DataFrame({"a": ["x", "y"] * 60, "b": (["u"] * 3 + ["v"] * 3) * 20})
        >>> table = TransactionTable.from_frame(frame)
        >>> rows = independent_rows(recount(np.array([[0]]), np.array([2]), table), table)
        >>> bool(2 < rows[0] <= 60)
        True
    """
    frames = max((block.n_frames for block in table.blocks), default=0)
    ends = np.linspace(0, frames, min(max(frames // _LEAST_FRAMES, 1), _PARTS) + 1).astype(np.int64).tolist()
    total = np.zeros(len(rules))
    for start, stop in pairwise(ends):
        part = table if len(ends) == 2 else table.frames(slice(start, stop))
        counted = count_spans(rules, part, spans=SPANS)
        total += np.minimum(independent_episodes(counted), counted.counts.n)
    return total


@dataclass(frozen=True, eq=False)
class ThenAndNow:
    """Rules when they were mined, and on other data; one entry per rule.

    Args:
        then: Confidence when mined.
        now: Confidence on the other data; NaN where the rule never applied.
        low: Lower bound of it; NaN where the data do not allow one.
        high: Upper bound of it.
        verdicts: What can be said.
    """

    then: Floats
    now: Floats
    low: Floats
    high: Floats
    verdicts: tuple[Verdict, ...]


def judge_rules(
    rules: RuleSet,
    counted: Spans | None,
    independent: Floats,
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
        independent: Independent observations of each bound rule, as ``independent_rows`` returns them.
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
    low, high, then_low, now_high = (np.full(number, np.nan) for _ in range(4))
    if counted is not None and len(chosen):
        low[chosen], high[chosen] = confidence_interval(counted, assurance)
        rows = np.minimum(independent, counted.counts.n)
        then_rows = np.asarray(rules.counts.n_antecedent, np.float64)[chosen] * rows / np.maximum(counted.counts.n, 1)
        freedom = np.clip(rows - 1, 1.0, _FREEDOM)
        then_low[chosen] = share_interval(then[chosen], then_rows, freedom, assurance)[0]
        now_high[chosen] = share_interval(np.nan_to_num(now[chosen]), rows, freedom, assurance)[1]
    is_bound = np.zeros(number, bool)
    is_bound[chosen] = True
    weaker = now_high < then_low
    broken = weaker & (now_high < min_confidence) if min_confidence is not None else np.zeros(number, bool)
    verdicts = np.full(number, Verdict.HOLDS, object)
    verdicts[np.isnan(now_high)] = Verdict.UNCLEAR
    verdicts[weaker] = Verdict.WEAKER
    verdicts[broken] = Verdict.BROKEN
    verdicts[applied == 0] = Verdict.SILENT
    verdicts[~is_bound] = Verdict.NOT_BOUND
    return ThenAndNow(then, now, low, high, tuple(verdicts.tolist()))
