"""The health of rules over time: exact counts, counts of the last blocks, the sequential test, and what became of it.

A rule *holds*, has *drifted* (its sequential test says that its confidence has fallen below its bound), is *silent*
(its antecedent did not hold in any of the last blocks) or *missing* (its readings were). Each change is told once.
This module counts and decides; it reads no windows and writes no messages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from thence.checks.monitor.rule_frames import Counted
from thence.checks.monitor.sequential import BETS, bet, evidence, threshold
from thence.statements.counting.assurance import share_interval
from thence.statements.rules.ruleset import RuleSet
from thence.statements.statement import Statement

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

UNKNOWN, HOLDS, DRIFTED, SILENT, MISSING = range(5)
STATUS = ("unknown", "holds", "drifted", "silent", "missing")
"""What is known of a rule; unknown until a first block is over, and of rules that do not bind."""

RECENT = 14
"""Number of blocks that are kept."""
ASSURANCE = 0.95
_SATISFIED, _VIOLATED, _NOT_APPLICABLE, _MISSING = range(4)


@dataclass(frozen=True)
class Change:
    """A rule whose status changed.

    Args:
        rule: Position of the rule.
        before: Its status before.
        now: Its status now.
        evidence: The capital of its test, as a logarithm; 0 if nothing was tested.
        blocks: Number of blocks that its present numbers are about.
        satisfied: Rows in which it was satisfied in these blocks.
        violated: Rows in which it was violated in these blocks.
    """

    rule: int
    before: int
    now: int
    evidence: float
    blocks: int
    satisfied: int
    violated: int


def bound_of(rules: RuleSet, others: Sequence[Statement] = (), *, tolerance: float) -> Floats:
    """Return the confidence that each rule, and after them each other statement, is tested against.

    It is the lower bound of the confidence when the rule was mined, less a tolerance: the assured confidence if the run
    has it, otherwise Wilson's bound for the rows in which the rule applied.

    Args:
        rules: The rules, with the counts of the run.
        others: Laws and controls, with theirs.
        tolerance: How much lower the confidence may be before it matters.
    """
    counts = [one.counts for one in others]
    n = np.append(rules.counts.n_antecedent, [one.applies for one in counts]).astype(np.float64)
    share = np.append(rules.counts.n_both, [one.holds for one in counts]) / np.maximum(n, 1)
    low, _ = share_interval(share, n, np.maximum(n - 1, 1), ASSURANCE)
    if "assured_confidence" in rules.extras:
        known = np.append(np.asarray(rules.extras["assured_confidence"], np.float64), np.full(len(counts), np.nan))
        low = np.where(np.isnan(known), low, known)
    return np.clip(np.nan_to_num(low) - tolerance, 0.01, 0.99)


class Health:
    """The health of the rules of a monitor.

    Args:
        bounds: The confidence that each rule is tested against.
        bound: Positions of the rules that bind.
        false_alarm: Probability that any rule that still holds is ever said not to.
    """

    def __init__(self, bounds: Floats, bound: Ints, *, false_alarm: float) -> None:
        n = len(bounds)
        self.bounds, self.bound, self.false_alarm = bounds, bound, false_alarm
        self.total = np.zeros((n, 4), np.int64)
        self.current = np.zeros((n, 4), np.int64)
        self.recent = np.zeros((RECENT, n, 4), np.int64)
        self.recent_blocks = np.full(RECENT, -1, np.int64)
        self.capital = np.zeros((n, len(BETS)))
        self.restarts = np.zeros(n, np.int64)
        self.status = np.full(n, UNKNOWN, np.int8)
        self.since = np.full(n, -1, np.int64)
        self.block = -1
        self.n_blocks = 0

    def add(self, counted: Counted, first: int = 0) -> None:
        """Add the counts of windows of the current block.

        Args:
            counted: The counts of some rules.
            first: The position of the first of them.
        """
        found = np.stack([counted.satisfied, counted.violated, counted.not_applicable, counted.missing], axis=1)
        self.current[first : first + len(found)] += found
        self.total[first : first + len(found)] += found

    def finish(self, block: int) -> list[Change]:
        """End the current block, and return the rules whose status changed.

        Args:
            block: Number of the block.
        """
        self.recent = np.concatenate([self.recent[1:], self.current[None]])
        self.recent_blocks = np.append(self.recent_blocks[1:], block)
        applied = self.current[:, _SATISFIED] + self.current[:, _VIOLATED]
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(applied > 0, self.current[:, _VIOLATED] / applied, np.nan)
        self.capital = bet(self.capital, share=share, allowed=1 - self.bounds)
        self.current = np.zeros_like(self.current)
        self.n_blocks += 1
        return self._decide(block, applied > 0)

    def _decide(self, block: int, applied: npt.NDArray[np.bool_]) -> list[Change]:
        wealth = evidence(self.capital)
        alarm = threshold(self.false_alarm, n_rules=max(len(self.bound), 1), restarts=self.restarts)
        sums = self.recent.sum(axis=0)
        used = sums[:, _SATISFIED] + sums[:, _VIOLATED]
        with np.errstate(divide="ignore", invalid="ignore"):
            right = np.where(used > 0, sums[:, _SATISFIED] / used, np.nan)
        long_enough = self.n_blocks >= RECENT
        changes = []
        for rule in self.bound.tolist():
            before = int(self.status[rule])
            now = before
            if wealth[rule] >= alarm[rule] and before != DRIFTED:
                now = DRIFTED
            elif before == DRIFTED:
                # It has recovered when all blocks that are kept, taken together, reach the bound again.
                if applied[rule] and used[rule] and right[rule] >= self.bounds[rule]:
                    now = HOLDS
            elif used[rule]:
                now = HOLDS
            elif long_enough:
                now = MISSING if sums[rule, _MISSING] == sums[rule].sum() else SILENT
            if now == before:
                continue
            worth = float(wealth[rule])
            if DRIFTED in (before, now):
                # The test starts again, with half of the probability of a false alarm.
                self.capital[rule] = 0.0
                self.restarts[rule] += now == HOLDS
            self.status[rule], self.since[rule] = now, block
            kept = int((self.recent_blocks >= 0).sum())
            changes.append(
                Change(rule, before, now, worth, kept, int(sums[rule, _SATISFIED]), int(sums[rule, _VIOLATED]))
            )
        return changes

    def confidence(self) -> tuple[Floats, Floats, Floats]:
        """Return the confidence of every rule in the last blocks, with a lower and an upper bound.

        The bounds rest on the number of independent rows that the variation between blocks shows.
        """
        sums = self.recent.sum(axis=0) + self.current
        used = (sums[:, _SATISFIED] + sums[:, _VIOLATED]).astype(np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(used > 0, sums[:, _SATISFIED] / used, np.nan)
        rows = self._effective_rows(share, used)
        low, high = share_interval(share, rows, np.maximum(rows - 1, 1), ASSURANCE)
        return share, low, high

    def _effective_rows(self, share: Floats, used: Floats) -> Floats:
        """On how many independent rows the confidence rests, from how it varies between blocks."""
        n = self.recent[:, :, :2].sum(axis=2).astype(np.float64)
        miss = self.recent[:, :, _SATISFIED] - np.nan_to_num(share) * n
        occupied = np.maximum((n > 0).sum(axis=0), 1)
        variance = (miss**2).sum(axis=0) * occupied / np.maximum(occupied - 1, 1)
        shrunk = (np.nan_to_num(share) * used + 1) / (used + 2)
        with np.errstate(divide="ignore", invalid="ignore"):
            rows = np.where(variance > 0, shrunk * (1 - shrunk) * used**2 / variance, used)
        return np.asarray(np.minimum(rows, used))

    def to_arrays(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Return numbers for JSON, and arrays: all that is needed to go on."""
        return {"block": self.block, "n_blocks": self.n_blocks}, {name: getattr(self, name) for name in _ARRAYS}

    def restore(self, numbers: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Go on from what ``to_arrays`` returned.

        Args:
            numbers: The numbers.
            arrays: The arrays.
        """
        self.block, self.n_blocks = int(numbers["block"]), int(numbers["n_blocks"])
        for name in _ARRAYS:
            setattr(self, name, arrays[name].copy())


_ARRAYS = ("total", "current", "recent", "recent_blocks", "capital", "restarts", "status", "since")
