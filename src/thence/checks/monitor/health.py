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
from thence.checks.monitor.sequential import BETS, bet, evidence, stake, threshold
from thence.statements.counting.assurance import SPANS, effective_rows, share_interval
from thence.statements.counting.occasions import divergence
from thence.statements.counting.recount import Table, count_spans
from thence.statements.rules.ruleset import RuleSet
from thence.statements.statement import Statement
from thence.tables.transactions import TransactionTable

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

UNKNOWN, HOLDS, DRIFTED, SILENT, MISSING = range(5)
STATUS = ("unknown", "holds", "drifted", "silent", "missing")
"""What is known of a rule; unknown until a first block is over, and of rules that do not bind."""

RECENT = 14
"""Number of blocks that are kept."""
ASSURANCE = 0.95
CANDIDATES = 10_000
"""Rules of which a search without confirmation may have kept the best."""
OCCASIONS = 2
"""Separate occasions that an observation of the test covers, so that it says little about the next one."""
_ASSURED = 1.35  # half of the square of the normal quantile of the assured confidence, 0.95
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


@dataclass(frozen=True)
class References:
    """What rules, and after them laws and controls, are tested against.

    Args:
        bounds: The least confidence that each has to reach.
        unit: Number of rows of each that are one observation of the test.
    """

    bounds: Floats
    unit: Floats


def find_references(
    rules: RuleSet,
    others: Sequence[Statement] = (),
    *,
    tolerance: float,
    false_alarm: float,
    windows: int,
    table: Table | None = None,
) -> References:
    """Find the confidence that each rule, and after them each other statement, is tested against.

    It is a lower bound of the confidence when the rule was mined, and lower than that by a tolerance. The best of many
    rules look better than they are, and rows that follow each other say the same. So the bound rests on the time that
    confirmed the rule, or, if no time did, allows for all rules that may have been searched; and on separate occasions
    instead of rows. Half of the probability of a false alarm is that any of the bounds is above the truth.

    Occasions are those of the confirmation, otherwise those that the assured confidence shows, or the mined table;
    without any of them each block of time is one. A rule whose confidence cannot be assured is not tested.

    Args:
        rules: The rules, with the counts of the run.
        others: Laws and controls, with theirs.
        tolerance: How much lower the confidence may be before it matters.
        false_alarm: Probability that any rule that still holds is ever said not to.
        windows: Number of windows in a block.
        table: The table that was mined, if it is known.
    """
    number = len(rules) + len(others)
    counts = [one.counts for one in others]
    rows = np.append(rules.counts.n_antecedent, [one.applies for one in counts]).astype(np.float64)
    share = np.append(rules.counts.n_both, [one.holds for one in counts]) / np.maximum(rows, 1)
    per_occasion = np.append(np.full(len(rules), windows), [1 if one.kind == "control" else windows for one in others])
    occasions, candidates = rows / per_occasion, np.full(number, max(number, CANDIDATES))
    own = slice(0, len(rules))
    if "confirmed_occasions" in rules.extras:
        share[own], rows[own], occasions[own] = (
            np.nan_to_num(np.asarray(rules.extras[f"confirmed_{name}"], np.float64))
            for name in ("confidence", "rows", "occasions")
        )
        candidates[own] = number
    elif "assured_confidence" in rules.extras:
        assured = np.nan_to_num(np.asarray(rules.extras["assured_confidence"], np.float64))
        with np.errstate(divide="ignore"):
            occasions[own] = np.minimum(_ASSURED / divergence(share[own], assured), rows[own])
    elif isinstance(table, TransactionTable) and len(rules):
        counted = count_spans(rules, table, spans=SPANS)
        occasions[own] = effective_rows(counted)[0]
    low = _least_share(share, occasions, np.log(2 * candidates / false_alarm))
    if "assured_confidence" in rules.extras:
        low[own] = np.minimum(low[own], np.nan_to_num(np.asarray(rules.extras["assured_confidence"], np.float64)))
    unit = OCCASIONS * rows / np.maximum(occasions, 1)
    return References(np.clip(np.minimum(low, share - tolerance), 0.01, 0.99), np.where(occasions >= 1, unit, np.inf))


def _least_share(share: Floats, occasions: Floats, doubt: Floats) -> Floats:
    """Return the lowest true share with which such a share in so many trials has a chance of exp(−doubt)."""
    low, high = np.zeros_like(share), share.copy()
    for _ in range(50):
        middle = (low + high) / 2
        too_low = occasions * divergence(share, middle) > doubt
        low, high = np.where(too_low, middle, low), np.where(too_low, high, middle)
    return low


class Health:
    """The health of the rules of a monitor.

    Args:
        references: What each rule is tested against.
        bound: Positions of the rules that bind.
        false_alarm: Probability that any rule that still holds is ever said not to.
    """

    def __init__(self, references: References, bound: Ints, *, false_alarm: float) -> None:
        n = len(references.bounds)
        self.bounds, self.unit = references.bounds, references.unit
        self.bound, self.false_alarm = bound, false_alarm
        self.total = np.zeros((n, 4), np.int64)
        self.current = np.zeros((n, 4), np.int64)
        self.pending = np.zeros((n, 2), np.int64)
        self.recent = np.zeros((RECENT, n, 4), np.int64)
        self.recent_blocks = np.full(RECENT, -1, np.int64)
        self.capital = np.full((n, len(BETS)), -np.inf)
        self.placed = np.zeros(n, np.int64)
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
        self.pending += self.current[:, :2]
        used = self.pending.sum(axis=1)
        over = (used > 0) & (used >= self.unit)
        share = np.where(over, self.pending[:, _VIOLATED] / np.maximum(used, 1), np.nan)
        self.capital[over] = stake(self.capital[over], self.placed[over])
        self.capital = bet(self.capital, share=share, allowed=1 - self.bounds)
        self.placed += over
        self.pending[over] = 0
        self.current = np.zeros_like(self.current)
        self.n_blocks += 1
        return self._decide(block, applied > 0)

    def _decide(self, block: int, applied: npt.NDArray[np.bool_]) -> list[Change]:
        wealth = evidence(self.capital)
        alarm = threshold(self.false_alarm / 2, n_rules=max(len(self.bound), 1), restarts=self.restarts)
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
                self.capital[rule], self.placed[rule] = -np.inf, 0
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
        # The test of a state from before stakes were spread over time begins again.
        for name in _ARRAYS if "placed" in arrays else set(_ARRAYS) - {"capital", "placed", "pending"}:
            setattr(self, name, arrays[name].copy())


_ARRAYS = ("total", "current", "pending", "recent", "recent_blocks", "capital", "placed", "restarts", "status", "since")
