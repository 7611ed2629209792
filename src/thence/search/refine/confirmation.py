"""Confirmation: rules found on the first two thirds of the time are kept if the last third, not searched, shows them.

On the last third a rule must reach the minimum confidence and apply on at least three separate occasions, and chance
must be an unlikely explanation: of what it shows there, among all candidates, or of what it shows over all the time,
among all rules that could have been found. Over all the time it must hold in every month, or week, in which it applies
often enough to be judged, and a lower bound of its confidence that respects memory must come near the minimum.

What is to be expected without a relation is counted within places: where the states of one device are rare, whatever
is read at that device alone goes with them. A place at which the antecedent always holds says nothing of itself, and
is compared with all places. It is counted within months, or weeks, too, and the larger counts: in a cold month all
that is low in winter is low.

Occasions are counted in two ways: episodes of the antecedent that are further apart than the memory of the consequent,
and episodes between which the consequent was false. Of the latter it also counts how many begin when the consequent
becomes true. The best of these kinds of evidence counts. The places of a lifted rule are no separate witnesses if they
move together. If their consequents and their antecedents have the correlations r and s between places, p places count
as p / (1 + (p − 1) r s).

The rows of a plain table without times are independent: each is an occasion, and a third of them confirms.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from thence.statements.counting.assurance import SPANS, confidence_bound
from thence.statements.counting.encoding import EncodedBlock, encode_blocks
from thence.statements.counting.occasions import (
    FALSE_STATEMENTS,
    FEWEST_OCCASIONS,
    chance,
    count_occasions,
    find_trials,
    likeness,
    pick_evident,
    timing,
)
from thence.statements.counting.recount import count_rules, count_spans
from thence.statements.counting.states import RuleStates, find_states
from thence.statements.rules.bounds import is_within
from thence.statements.rules.ruleset import RuleSet
from thence.tables.bitmaps.bank import Bank
from thence.tables.bitmaps.bits import Bools, Floats, Ints, Words, pack_mask, popcount, unpack
from thence.tables.blocks import Block
from thence.tables.transactions import TransactionTable

FEWEST_ROWS = 20
"""Rows in which a rule applies, over all the time, for it to be reported."""
FEWEST_JUDGED = 3
"""Separate episodes in a month, or week, for a rule to be judged in it."""
LEAST_ASSURED = 0.9
"""Share of the minimum confidence that the lower bound of the confidence must reach."""
ASSURANCE = 0.95
"""Probability with which the lower bound holds."""
BEYOND_DOUBT = 1e-6
"""Probability from which it does not matter how many candidates there are."""
MOST_ROWS = 1 << 22
"""Rows of a rule in which occasions are counted; of a lifted table with more of them, every so many places."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """What the time that was not searched says about rules; one entry per rule.

    Args:
        applied: Rows in which the antecedent holds and the consequent is known.
        held: Those in which the consequent holds as well.
        base: Share of the rows in which the consequent would hold without a relation.
        converse: Share of the rows with the consequent in which the antecedent holds.
        occasions: Separate occasions on which the rule applied.
        later: A bound of the probability of what these rows show, if there is no relation.
        whole: The same for all the time, times the number of rules that could have been found.
        steady: Whether the rule holds in every month, or week, in which it can be judged, over all the time.
        assured: Lower bound of the confidence over all the time; NaN where the data allow none.
    """

    applied: Ints
    held: Ints
    base: Floats
    converse: Floats
    occasions: Floats
    later: Floats
    whole: Floats
    steady: Bools
    assured: Floats

    @property
    def confidence(self) -> Floats:
        """Share of the rows in which the rule held; NaN if it never applied."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(self.held / self.applied)

    def take(self, chosen: Bools) -> Evidence:
        """Return the evidence of some of the rules."""
        return Evidence(**{one.name: getattr(self, one.name)[chosen] for one in fields(self)})

    def confirms(self, floor: float, candidates: int) -> Bools:
        """Return which rules are confirmed.

        Args:
            floor: Minimum confidence.
            candidates: Number of all rules of which any might have been confirmed by chance.
        """
        half = FALSE_STATEMENTS / 2
        evident = pick_evident(self.later, candidates, half) | (self.whole <= half)
        reached = (np.nan_to_num(self.confidence) >= floor) & (np.nan_to_num(self.confidence) > self.base)
        sure = np.nan_to_num(self.assured) >= LEAST_ASSURED * floor
        return np.asarray(evident & reached & (self.occasions >= FEWEST_OCCASIONS) & self.steady & sure)


def gather_evidence(rules: RuleSet, table: TransactionTable, *, min_confidence: float) -> Evidence:
    """Count rules in the last third of the time, in which they were not searched.

    Args:
        rules: The rules, found on ``table.earlier()``.
        table: The whole table.
        min_confidence: Confidence that a rule must reach in each month, or week.
    """
    number = len(rules)
    applied, held = np.zeros(number, np.int64), np.zeros(number, np.int64)
    base, converse, occasions = np.zeros(number), np.zeros(number), np.zeros(number)
    later, whole, steady = np.ones(number), np.ones(number), np.ones(number, bool)
    spans = count_spans(rules, table, spans=SPANS)
    for part in encode_blocks(rules, table):
        assert part.block is not None
        rows, periods = _Rows.of(part.block, part.bank), _periods(part.block)
        for rule, antecedent, consequent in _rules_of(part):
            states = find_states(part.bank, antecedent=antecedent, consequent=consequent)
            target = part.bank.words[part.bank.row_of[consequent]]
            applied[rule] = popcount(states.applicable & rows.later).sum()
            held[rule] = popcount(states.satisfied & rows.later).sum()
            concluded = int(popcount(target & rows.later & ~states.missing).sum())
            converse[rule] = held[rule] / max(concluded, 1)
            seen = rows.look(states, target, spans.memory[rule], held[rule] / max(applied[rule], 1))
            base[rule], occasions[rule], later[rule] = seen.base, seen.occasions, seen.later
            whole[rule] = _family(part.block, int((antecedent >= 0).sum())) * seen.whole
            steady[rule] = all(_is_steady(states, period, min_confidence) for period in periods)
    assured = confidence_bound(spans, ASSURANCE)
    return Evidence(applied, held, base, converse, occasions, later, whole, steady, assured)


def _family(block: Block, size: int) -> float:
    """The number of rules with so many items in the antecedent, times two for each: longer ones weigh less."""
    ranges = sum(len(column.values) * (len(column.values) + 1) / 2 for column in block.columns)
    return float((2 * ranges) ** size / math.factorial(size) * ranges)


def _rules_of(part: EncodedBlock) -> Iterator[tuple[int, npt.NDArray[np.int32], int]]:
    return zip(part.rules.tolist(), part.antecedents, part.consequents.tolist(), strict=True)


class _Seen(NamedTuple):
    """Share to be expected, separate occasions in later time, and the chance of what later and all the time show."""

    base: float
    occasions: float
    later: float
    whole: float


@dataclass(frozen=True, eq=False)
class _Rows:
    """The rows of a block, as bitmaps (embeddings × words).

    Args:
        later: Those that were not searched.
        n_frames: Number of frames.
        is_ordered: Whether frames follow each other in time.
        day: Frames of a day; 0 if that is no whole number.
        periods: The first frame of each month, or week.
    """

    later: Words
    n_frames: int
    is_ordered: bool
    day: int
    periods: Ints

    @classmethod
    def of(cls, block: Block, bank: Bank) -> _Rows:
        masks = [pack_mask(block.is_later(n_frames)) for n_frames in np.unique(bank.frames_of).tolist()]
        width = bank.words.shape[1]
        padded = np.stack([np.pad(mask, (0, width - len(mask))) for mask in masks])
        places = np.searchsorted(np.unique(bank.frames_of), bank.frames_of)
        starts = np.flatnonzero(np.diff(_numbers_of_periods(block), prepend=-1))
        return cls(padded[places], bank.n_frames, block.is_ordered, _frames_of_day(block), starts)

    def look(self, states: RuleStates, target: Words, memory: float, confidence: float) -> _Seen:
        """Count the separate occasions on which a rule applied, and see whether chance explains what they show.

        Args:
            states: The states of the rule.
            target: Where its consequent holds.
            memory: For how many frames the consequent resembles itself.
            confidence: Confidence of the rule in later time.
        """
        applied = states.applicable & self.later
        if not self.is_ordered:
            rows, judged = float(popcount(applied).sum()), self.later & ~states.missing
            share = float(popcount(target & judged).sum() / max(int(popcount(judged).sum()), 1))
            return _Seen(share, rows, float(chance(confidence, share, rows)), 1.0)
        places = np.flatnonzero(applied.any(axis=1))
        if not len(places):
            return _Seen(1.0, 0.0, 1.0, 1.0)
        own = places[:: -(-len(places) * self.n_frames // MOST_ROWS)]
        whole, holds, later = (
            unpack(one[own], n_rows=self.n_frames) for one in (states.applicable, target, self.later)
        )
        present = ~unpack(states.missing[own], n_rows=self.n_frames)
        inside, known = whole & later, present & later
        together = 1.0
        if len(own) > 1:
            together += (len(own) - 1) * likeness(inside, later) * likeness(holds & later, later)
        apart = float(count_occasions(inside, memory).sum()) / together
        trials, by_trials = self._try(inside, holds, known, together)
        base = _expected(inside, holds, known, inside, self.periods)
        by_later = min(3 * min(float(chance(confidence, base, apart)), by_trials), 1.0)
        # What later time shows beyond doubt needs no other evidence.
        of_all = 1.0 if by_later <= BEYOND_DOUBT else self._try(whole, holds, present, together)[1]
        return _Seen(base, max(apart, trials), by_later, 2 * of_all)

    def _try(self, applies: Bools, holds: Bools, known: Bools, together: float) -> tuple[float, float]:
        """Return the number of trials, and the chance of the shares in which they held or of when they began."""
        starts, shares = find_trials(applies, holds, known)
        trials = int(starts.sum())
        if not trials:
            return 0.0, 1.0
        base = _expected(applies, holds, known, starts, self.periods)
        by_share = chance(shares[starts].mean(), max(base, 0.5), trials / together)
        hits, rate = timing(starts, holds, known, self.day)
        return trials / together, float(min(by_share, chance(hits / trials, rate, trials / together)))


def _expected(applies: Bools, holds: Bools, known: Bools, counted: Bools, periods: Ints) -> float:
    """The share of rows in which a consequent would hold if it had no relation to the antecedent at any place.

    Args:
        applies: Places × frames: where the antecedent holds.
        holds: Where the consequent does.
        known: Where both are known.
        counted: The rows that each place and period is weighed by.
        periods: The first frame of each period.

    Examples:
        >>> hot = np.array([[1, 1, 0, 0], [0, 0, 0, 0]], bool)
        >>> off = np.array([[1, 1, 1, 1], [0, 0, 0, 0]], bool)
        >>> _expected(hot, off, np.ones_like(hot), hot, np.array([0]))  # what is hot now and then is always off
        1.0
        >>> _expected(off, off, np.ones_like(hot), off, np.array([0]))  # of two places, one is always hot, and off
        0.5
        >>> _expected(hot, hot, np.ones_like(hot), hot, np.array([0, 2]))  # all of the first half is hot
        1.0
    """
    rows, given = known.sum(axis=1), (applies & known).sum(axis=1)
    held = (holds & known).sum(axis=1)
    among_all = held.sum() / max(int(rows.sum()), 1)
    own = np.where(given < rows, held / np.maximum(rows, 1), among_all)
    weights = counted.sum(axis=1)
    within_places = float((own * weights).sum() / max(int(weights.sum()), 1))
    if len(periods) < 2:
        return within_places
    rows, held, weights = (
        np.add.reduceat(one, periods, axis=1, dtype=np.int64) for one in (known, holds & known, counted)
    )
    shares = held / np.maximum(rows, 1)
    return max(within_places, float((shares * weights).sum() / max(int(weights.sum()), 1)))


def _frames_of_day(block: Block) -> int:
    """The number of frames of a day; 0 if it is not a whole one."""
    times = block.sites[0].times if block.sites else block.times
    if times is None or len(times) < 2:
        return 0
    day = np.timedelta64(1, "D") / np.median(np.diff(times))
    return round(day) if abs(day - round(day)) < 1e-9 else 0


def _periods(block: Block) -> list[Words]:
    """The months of the time, or its weeks if there are fewer than three months, as bitmaps."""
    chosen = _numbers_of_periods(block)
    return [pack_mask(chosen == one) for one in np.unique(chosen)] if block.times is not None else []


def _numbers_of_periods(block: Block) -> Ints:
    """The month of each frame, or its week if there are fewer than three months; 0 without times."""
    if block.times is None or not block.n_frames:
        return np.zeros(block.n_frames, np.int64)
    months = block.times.astype("datetime64[M]").astype(np.int64)
    weeks = (block.times - block.times[0]).astype("timedelta64[s]").astype(np.int64) // (7 * 86_400)
    return months if len(np.unique(months)) >= 3 else weeks


def _is_steady(states: RuleStates, period: Words, floor: float) -> bool:
    """Whether a rule holds in a period, or applies too seldom in it to be judged."""
    applied = states.applicable & period
    n = int(popcount(applied).sum())
    begun = applied & ~((applied << np.uint64(1)) | np.pad(applied[:, :-1] >> np.uint64(63), ((0, 0), (1, 0))))
    if int(popcount(begun).sum()) < FEWEST_JUDGED:
        return True
    return int(popcount(states.satisfied & period).sum()) >= floor * n


def recounted(
    rules: RuleSet, table: TransactionTable, evidence: Evidence, *, min_confidence: float, denominator: str = "present"
) -> RuleSet:
    """Count confirmed rules over all the time, with columns that say what confirms them.

    Args:
        rules: The rules.
        table: The whole table.
        evidence: The evidence of each of them.
        min_confidence: Minimum confidence over all the time.
        denominator: As in ``count_rules``.
    """
    if not len(rules):
        return rules
    counted = count_rules(rules, table, denominator=denominator)
    extras = {**rules.extras, **counted.extras}
    if "both_ways" in extras:
        least = max(min_confidence, 0.5)
        back = (counted.counts.n_both >= least * counted.counts.n_consequent) & (evidence.converse >= least)
        extras["both_ways"] = np.asarray(extras["both_ways"]) & back
    bound = confidence_bound(count_spans(rules, table, spans=SPANS, denominator=denominator), ASSURANCE)
    extras |= {
        "assured_confidence": bound,
        "confirmed_confidence": evidence.confidence,
        "confirmed_rows": evidence.applied,
        "confirmed_occasions": np.floor(evidence.occasions).astype(np.int64),
    }
    facts = {**{key: value for key, value in rules.facts.items() if key != "data_coverage"}, **counted.facts}
    whole = replace(rules, counts=counted.counts, extras=extras, facts=facts, coverage_of=counted.coverage_of)
    kept = is_within(whole.counts, "confidence", min_confidence, least=True)
    return whole.take(np.flatnonzero(kept & (whole.counts.n_antecedent >= FEWEST_ROWS)))


def describe_unconfirmed(
    evidence: Evidence, floor: float, *, kept: int, seldom: int, table: TransactionTable
) -> str | None:
    """Say how many candidates were confirmed, and why the others were not.

    Args:
        evidence: The evidence of each candidate.
        floor: Minimum confidence.
        kept: Number of candidates that are kept.
        seldom: Number of rules that were no candidates: too few occasions in the time that was searched.
        table: The whole table.
    """
    candidates = len(evidence.applied)
    if kept == candidates and (kept or not seldom):
        return None
    all_of_them = "(confirm=False shows all candidates)"
    if not candidates:
        return (
            f"{_candidates(seldom)}, none confirmed: too few separate occasions, or not in all the time {all_of_them}"
        )
    later = f"in the last {_length(table)}" if table.is_ordered else "in the third of the rows that was not searched"
    few = int((evidence.occasions < FEWEST_OCCASIONS).sum())
    rare = f"{few:,} applied on fewer than {FEWEST_OCCASIONS} separate occasions {later}"
    below = int(((evidence.occasions >= FEWEST_OCCASIONS) & ~(np.nan_to_num(evidence.confidence) >= floor)).sum())
    reasons = [rare] if few else []
    reasons += [f"{below:,} did not hold there"] if few and below else []
    reasons += [f"{below:,} did not hold {later}"] if below and not few else []
    others = candidates - kept - few - below
    chance_or_time = "may be chance or fail in some month or week" if table.is_ordered else "may be chance"
    reasons += [f"{others:,} {chance_or_time}"] if others > 0 else []
    number = f"{kept:,} of {candidates:,} candidates" if kept else f"{_candidates(candidates)}, none"
    return f"{number} confirmed: {', '.join(reasons)} {all_of_them}"


def _candidates(number: int) -> str:
    return f"{number:,} candidate{'' if number == 1 else 's'}"


def _length(table: TransactionTable) -> str:
    """The length of the time that confirms, in words."""
    spans = []
    for block in table.blocks:
        own = [] if block.times is None else [block.times]
        for times in [site.times for site in block.sites] or own:
            if len(times) > 1:
                later = times[block.is_later(len(times))]
                spans.append((times[-1] - times[0]) / max(len(times) - 1, 1) * len(later))
    if not spans:
        return "third of the time"
    days = float(max(spans) / np.timedelta64(1, "D"))
    number, unit = (days, "days") if days >= 2 else (days * 24, "hours") if days * 24 >= 2 else (days * 1440, "minutes")
    return f"{number:.0f} {unit}"
