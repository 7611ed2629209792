"""Counts of rules in successive spans of time, and how these counts vary from span to span.

Each span is counted over all embeddings, so rows of the same frames always fall into the same span. Rules are
distributed over threads; the counts of single spans are kept for a few rules at a time only.

The variance of the failures takes into account that neighbouring spans resemble each other: it is the sum of the
autocovariances between spans, up to the lag from which pairs of them are no longer positive. (Geyer's initial
positive sequence, 1992.)

Where spans resemble each other ever less but without end (fractional noise), no such lag exists, and the sum over few
spans is far too small. The slow variance follows from how the power of the failures grows towards the slowest
frequencies: as frequency^(−2d), with d between 0, no memory beyond a span, and ½. (Robinson's local Whittle estimate,
1995.) It is computed only where d is evidently above 0; then half a standard error and a third are added to d, since a
table shows only a part of such a memory.

This module works on plain arrays only and must not compute measures.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from itertools import pairwise
from math import gamma
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from thence._base.settings.threads import default_threads
from thence.tables.bitmaps.bank import Bank
from thence.tables.bitmaps.bits import (
    Floats,
    Integer,
    Ints,
    Words,
    and_count,
    as_kernel_array,
    ctpop,
    full_mask,
    helper,
    kernel,
    n_words,
    run_threads,
)
from thence.tables.bitmaps.embedding_counts import BLOCK_WORDS, BankRules, select_rules, sort_rules
from thence.tables.bitmaps.intersections import ABSENT, advance, clear, equal

_RULES_AT_ONCE = 256  # a thread keeps two counts per rule and span
_TALLIES = 7
_FREQUENCIES = 24  # the slowest, from which a memory without end is seen
_FEWEST_SPANS = 48
_ORDERS = np.arange(50) / 100  # the values of d that are tried
_DOUBT = 5  # of their steps: half the standard error, 1 / (4 √24)
_EVIDENT = 2.71  # twice the logarithm of the likelihood ratio against d = 0, exceeded by chance in one of 20 cases


@dataclass(frozen=True)
class SpanCounts:
    """Counts of rules over all spans, and how they vary between them; one entry per rule.

    ``n`` and ``k`` of a span are the numbers of its rows in which the antecedent holds, and in which both sides do.

    Args:
        n: Sum of n over all spans.
        k: Sum of k over all spans.
        occupied: Number of spans with n > 0.
        groups: Number of occupied spans that are at least the gap of the rule apart.
        lags: Largest lag between spans at which their failures were taken as correlated.
        held: Number of rows in which the antecedent holds, whether or not the consequent is known.
        episodes: Number of runs of successive frames of an embedding in which the antecedent holds.
        variance: Variance of Σ (k − c n), where c = Σk / Σn, estimated from the spans.
        slow: The same where the memory seems to be without end, 0 elsewhere.
    """

    n: Ints
    k: Ints
    occupied: Ints
    groups: Ints
    lags: Ints
    held: Ints
    episodes: Ints
    variance: Floats
    slow: Floats

    def take(self, chosen: slice) -> SpanCounts:
        """Return the counts of some of the rules."""
        return SpanCounts(**{one.name: getattr(self, one.name)[chosen] for one in fields(self)})


@helper
def _tally_antecedent(
    held: Words, lengths: Ints, first: int, last: int, width: int, carry: Integer, ones: Ints, tally: Ints
) -> Integer:
    """Count the rows of each span in which an antecedent holds, and add them and its new episodes to ``tally``.

    ``carry`` says whether it holds in the frame before the first span. Returns whether it holds in the last frame.
    """
    bit = np.uint64(carry)
    begun = np.uint64(0)
    total = np.int64(0)
    for span in range(first, last):
        count = np.uint64(0)
        start = (span - first) * width
        left = lengths[span]
        for word in range(start, start + width):
            if left <= 0:
                break
            value = held[word]
            if value != 0:
                begun += ctpop(value & ~((value << np.uint64(1)) | bit))
                count += ctpop(value)
            bit = (value >> np.uint64(min(left, 64) - 1)) & np.uint64(1)
            left -= 64
        ones[span - first] = np.int64(count)
        total += np.int64(count)
    tally[0] = total
    tally[1] = np.int64(begun)
    return np.int64(bit)


@kernel
def _count_some(rules: BankRules, lengths: Ints, counts: Ints, tallies: Ints) -> None:
    """Count n and k of each rule and span, and the rows and episodes of each antecedent."""
    words, row_of, present_of, column_of_item, full, antecedents, consequents, complete = rules
    n_rules, depth = antecedents.shape
    n_spans = lengths.size
    width = words.shape[1] // n_spans
    at_once = min(n_spans, max(1, BLOCK_WORDS // width))
    levels = np.empty((depth + 1, at_once * width), dtype=np.uint64)
    now = np.empty(depth, dtype=np.uint32)
    before = np.empty(depth, dtype=np.uint32)
    ones = np.zeros(at_once, dtype=np.int64)
    tally = np.zeros(2, dtype=np.int64)
    carries = np.zeros(n_rules, dtype=np.int64)
    for embedding in range(row_of.shape[1]):
        for rule in range(n_rules):
            carries[rule] = 0
        for first in range(0, n_spans, at_once):
            last = min(first + at_once, n_spans)
            low, high = first * width, last * width
            clear(before)
            level = 0
            carry = np.int64(0)
            for rule in range(n_rules):
                for place in range(depth):
                    item = antecedents[rule, place]
                    now[place] = ABSENT if item == ABSENT else np.uint32(row_of[item, embedding])
                if rule == 0 or not equal(now, before):
                    level = advance(levels, words, now, before, full, low, high)
                    held = levels[level]
                    carry = _tally_antecedent(held, lengths, first, last, width, carries[rule], ones, tally)
                carries[rule] = carry
                if tally[0] == 0:
                    continue
                tallies[rule, 0] += tally[0]
                tallies[rule, 1] += tally[1]
                held = levels[level]
                target = words[row_of[consequents[rule], embedding], low:high]
                known = words[present_of[column_of_item[consequents[rule]], embedding], low:high]
                for place in range(last - first):
                    if ones[place] == 0:
                        continue
                    start = place * width
                    word = np.uint64(start)  # unsigned: a signed position would be checked for counting from the end
                    both = np.uint64(0)
                    for _ in range(width):
                        both += ctpop(held[word] & target[word])
                        word += np.uint64(1)
                    counts[rule, 1, first + place] += np.int64(both)
                    if complete:
                        counts[rule, 0, first + place] += ones[place]
                    else:
                        stop = start + width
                        counts[rule, 0, first + place] += and_count(held[start:stop], known[start:stop])


@helper
def _add_lags(residuals: Floats, lag: int) -> Integer:
    """Return the sum of the autocovariances at ``lag`` and the lag after it."""
    left, right = residuals[: residuals.size - lag], residuals[lag:]
    one, two, three, four = 0.0, 0.0, 0.0, 0.0  # separate sums, which a processor adds at the same time
    pairs = (right.size - 1) // 2
    for pair in range(pairs):
        at = 2 * pair
        one += left[at] * right[at]
        two += left[at] * right[at + 1]
        three += left[at + 1] * right[at + 1]
        four += left[at + 1] * right[at + 2]
    for at in range(2 * pairs, right.size):
        one += left[at] * right[at]
        if at + 1 < right.size:
            two += left[at] * right[at + 1]
    return (one + two) + (three + four)


@kernel
def _vary(counts: Ints, gaps: Ints, tallies: Ints, variances: Floats) -> None:
    """Sum up the counts of each rule and estimate the variance of its failures; tallies from 2 on are n, k, …, lags."""
    n_spans = counts.shape[2]
    residuals = np.empty(n_spans, dtype=np.float64)
    for rule in range(counts.shape[0]):
        n, k, occupied, groups = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
        free = np.int64(0)  # the first span that is far enough from the last group
        for span in range(n_spans):
            n += counts[rule, 0, span]
            k += counts[rule, 1, span]
            if counts[rule, 0, span] > 0:
                occupied += 1
                if span >= free:
                    groups += 1
                    free = span + gaps[rule]
        tallies[rule, 2] = n
        tallies[rule, 3] = k
        tallies[rule, 4] = occupied
        tallies[rule, 5] = groups
        if k == 0 or k == n:
            continue
        share = k / n
        squares = 0.0
        for span in range(n_spans):
            residual = counts[rule, 1, span] - share * counts[rule, 0, span]
            residuals[span] = residual
            squares += residual * residual
        variance = -squares
        lag = 0
        while lag <= n_spans // 2 and lag + 1 < n_spans:
            pair = _add_lags(residuals, lag)
            if pair <= 0:
                break
            variance += 2 * pair
            tallies[rule, 6] = lag + 1
            lag += 2
        variances[rule] = max(variance, 0.0)


class _Waves(NamedTuple):
    """What the slow variance of a number of spans is computed with.

    Args:
        cosines: Frequencies × spans.
        sines: Frequencies × spans.
        powers: λ^(2d) of each frequency: orders × frequencies.
        slopes: The mean of the logarithms of these, per order.
        scales: The variance of the sum over all spans if the power is λ^(−2d), per order.
    """

    cosines: Floats
    sines: Floats
    powers: Floats
    slopes: Floats
    scales: Floats


def _make_waves(n_spans: int) -> _Waves:
    number = _FREQUENCIES if n_spans >= _FEWEST_SPANS else 0
    angles = 2 * np.pi * np.arange(1, number + 1) / n_spans
    phases = np.outer(angles, np.arange(n_spans))
    powers = angles[None, :] ** (2 * _ORDERS[:, None])
    slopes = np.log(powers).mean(axis=1) if number else np.zeros(len(_ORDERS))
    own = _ORDERS[1:]
    # The integral of |u|^(−2d) (sin(u / 2) / (u / 2))² over all u.
    gammas = np.array([gamma(1 - 2 * d) for d in own])
    scales = np.append(2 * np.pi, 2 * gammas * np.sin(np.pi * own) / (own * (1 + 2 * own))) * n_spans ** (
        1 + 2 * _ORDERS
    )
    return _Waves(
        *(as_kernel_array(one, np.float64) for one in (np.cos(phases), np.sin(phases), powers, slopes, scales))
    )


@helper
def _slow_variance(residuals: Floats, waves: _Waves, power: Floats) -> Integer:
    """Return the variance of the sum of residuals from the power at their slowest frequencies."""
    spans = residuals.size
    for at in range(power.size):
        real, imaginary = 0.0, 0.0
        for span in range(spans):
            real += waves.cosines[at, span] * residuals[span]
            imaginary += waves.sines[at, span] * residuals[span]
        power[at] = (real * real + imaginary * imaginary) / (2 * np.pi * spans)
    best, order, none = np.inf, 0, 0.0
    for d in range(waves.slopes.size):
        mean = 0.0
        for at in range(power.size):
            mean += waves.powers[d, at] * power[at]
        fit = np.log(max(mean / power.size, 1e-300)) - waves.slopes[d]
        if d == 0:
            none = fit
        if fit < best:
            best, order = fit, d
    if 2 * power.size * (none - best) < _EVIDENT:
        return 0.0
    order = min(order + order // 3 + _DOUBT, waves.slopes.size - 1)
    mean = 0.0
    for at in range(power.size):
        mean += waves.powers[order, at] * power[at]
    return mean / power.size * waves.scales[order]


@kernel
def _slow(counts: Ints, waves: _Waves, out: Floats) -> None:
    """Estimate the variance of the failures of each rule whose memory may be without end."""
    residuals, power = np.empty(counts.shape[2]), np.empty(waves.cosines.shape[0])
    for rule in range(counts.shape[0]):
        n, k = counts[rule, 0].sum(), counts[rule, 1].sum()
        if k == 0 or k == n:
            continue
        for span in range(counts.shape[2]):
            residuals[span] = counts[rule, 1, span] - k / n * counts[rule, 0, span]
        out[rule] = _slow_variance(residuals, waves, power)


def count_in_spans(
    bank: Bank,
    *,
    antecedents: npt.NDArray[np.int32],
    consequents: npt.NDArray[np.int32],
    spans: int,
    gaps: Ints | None = None,
    denominator: str = "present",
    threads: int | None = None,
) -> SpanCounts:
    """Count rules in equal, successive spans of time.

    Args:
        bank: The bitmaps.
        antecedents: Matrix (rules × items) of item numbers of the bank, padded with −1.
        consequents: One item number per rule.
        spans: Number of spans; fewer if there are fewer frames.
        gaps: From how many spans apart spans are groups of their own, per rule; 1 by default.
        denominator: ``"present"`` counts a rule over the rows in which all its features are present, ``"all"`` over
            all rows.
        threads: Maximum number of threads; by default one per processor.

    Returns:
        The counts, in the order of the rules.

    Examples:
        >>> from thence.tables.bitmaps.bank import build_bank
        >>> series = np.zeros(1, np.int32)
        >>> columns = [(np.array([codes], np.int16), series, 2) for codes in ([0, 0, 0, 1], [0, 0, 1, 1])]
        >>> bank = build_bank(columns, n_frames=4, n_embeddings=1)
        >>> rule = {"antecedents": np.array([[0]], np.int32), "consequents": np.array([2], np.int32)}
        >>> counts = count_in_spans(bank, spans=2, **rule)
        >>> counts.n.tolist(), counts.k.tolist(), counts.occupied.tolist(), counts.episodes.tolist()
        ([3], [2], [2], [1])
    """
    tallies = np.zeros((len(consequents), _TALLIES), np.int64)
    variances, slow = np.zeros(len(consequents)), np.zeros(len(consequents))
    if len(consequents) and bank.n_rows:
        order, left, right = sort_rules(bank, antecedents, consequents)
        apart = as_kernel_array(np.ones(len(right)) if gaps is None else gaps[order], np.int64)
        rules = select_rules(bank, left, right, complete=bank.is_complete or denominator == "all")
        bounds = np.linspace(0, bank.n_frames, min(spans, bank.n_frames) + 1).astype(np.int64)
        rules = rules._replace(
            words=as_kernel_array(_pad(bank, bounds.tolist(), _find_rows_read(rules)), np.uint64),
            full=as_kernel_array(_pad_full(bounds.tolist()), np.uint64),
        )
        lengths = as_kernel_array(np.diff(bounds), np.int64)
        waves = _make_waves(len(lengths))
        workers = threads or default_threads()
        size = min(_RULES_AT_ONCE, -(-len(right) // workers))

        def work(low: int) -> None:
            some = slice(low, low + size)
            part = rules._replace(antecedents=rules.antecedents[some], consequents=rules.consequents[some])
            counts = np.zeros((len(part.consequents), 2, len(lengths)), np.int64)
            counted, spread = np.zeros((len(counts), _TALLIES), np.int64), np.zeros(len(counts))
            _count_some(part, lengths, counts, counted)
            _vary(counts, apart[some], counted, spread)
            tallies[order[some]], variances[order[some]] = counted, spread
            if len(waves.cosines):
                endless = np.zeros(len(counts))
                _slow(counts, waves, endless)
                slow[order[some]] = endless

        run_threads(work, range(0, len(right), size), threads=workers)
    held, episodes, n, k, occupied, groups, lags = tallies.T
    return SpanCounts(n, k, occupied, groups, lags, held, episodes, variances, slow)


def _find_rows_read(rules: BankRules) -> npt.NDArray[np.intp]:
    """Return which bitmaps the items of rules, and what is known of their columns, are read from."""
    present = rules.present_of[np.unique(rules.column_of_item)]
    return np.unique(np.concatenate([rules.row_of.ravel(), present.ravel()])).astype(np.intp)


def _pad(bank: Bank, bounds: list[int], rows: npt.NDArray[np.intp]) -> Words:
    """Return the bitmaps with each span of frames moved to the start of words of its own; others than ``rows`` are 0."""
    width = _width(bounds)
    words = np.zeros((len(bank.words), (len(bounds) - 1) * width), np.uint64)
    own = replace(bank, words=bank.words[rows])
    for span, (start, stop) in enumerate(pairwise(bounds)):
        low = span * width
        words[rows, low : low + n_words(stop - start)] = own.slice_frames(start, stop).words
    return words


def _pad_full(bounds: list[int]) -> Words:
    """Return the bitmap of all frames in the same form."""
    width = _width(bounds)
    words = np.zeros((len(bounds) - 1) * width, np.uint64)
    for span, (start, stop) in enumerate(pairwise(bounds)):
        low = span * width
        words[low : low + n_words(stop - start)] = full_mask(stop - start)
    return words


def _width(bounds: list[int]) -> int:
    return max(n_words(stop - start) for start, stop in pairwise(bounds))
