"""Lower confidence bounds of rules that take the memory of readings into account.

A confidence of 0.85 may rest on few rows, and among thousands of rules that just reach a threshold many reach it by
chance and will not hold on later data. Treating rows as independent understates this, since consecutive frames resemble
each other. Here the data say how many rows count as one observation. Time is cut into short spans and the rule is
counted in each. The variance of its failures between spans, with the covariances of spans that follow each
other, gives the effective number of independent rows. The bound is the Wilson bound for that number, with a quantile of
Student's t. Spans may also resemble each other at every distance (long memory, as of fractional noise); how the power
of the failures grows towards slow changes shows it, and the larger of both variances counts. The bound is then wide.

Fewer than three independent failures do not show how long failures last. Then the episodes of the antecedent are
counted, as far as they are further apart than the memory of the consequent. Where this leaves fewer than two
observations, the data allow no bound and it is NaN: "cannot say".

The rows of a plain table without times are independent of each other: each is an observation.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from thence.errors import ConfigError
from thence.statements.counting.recount import Spans, count_spans
from thence.statements.rules.ruleset import RuleSet
from thence.tables.bitmaps.bits import Floats
from thence.tables.transactions import FeatureTable, TransactionTable

SPANS = 64
"""Default number of spans: short, so that the data show at which distance they no longer resemble each other."""

_FEWEST_FAILURES = 3  # effectively independent, to estimate from them how long failures last
_FEWEST_ROWS = 2  # effectively independent, for any bound
_RARE_FREEDOM = 10.0  # at most, for rare failures: with one or two, Wilson's bound itself is too high in 6 of 100 cases

_FREEDOMS = (*range(1, 21), 24, 30, 40, 60, 100, 200)  # between these, quantiles of Student's t are interpolated


def add_confidence_bound(
    rules: RuleSet,
    table: TransactionTable | FeatureTable,
    *,
    assurance: float = 0.95,
    min_confidence: float | None = None,
    spans: int = SPANS,
    denominator: str = "present",
) -> RuleSet:
    """Add a column ``assured_confidence``, a lower bound of the confidence of each rule.

    The bound is NaN where the data do not allow one; a note says for how many rules. It speaks about times like those
    in the table, and says nothing about changes that the table does not show.

    Args:
        rules: The rules.
        table: The table to count on.
        assurance: Probability with which the bound holds, at least 0.5 and below 1.
        min_confidence: If given, keep only the rules whose bound reaches it; rules without a bound are dropped.
        spans: Number of spans that time is cut into, at least 2. Memory shorter than a span is seen within
            it, longer memory in the resemblance of successive spans.
        denominator: ``"present"`` counts a rule over the rows in which all its features are present, ``"all"`` over
            all rows.

    Returns:
        The rules with the new column.

    Raises:
        ConfigError: If ``assurance`` or ``spans`` is out of range.

    Examples:
        >>> import polars as pl, thence as th
        >>> frame = pl.DataFrame({"pump": ["on", "off"] * 100, "flow": (["high", "low"] * 9 + ["low", "low"]) * 10})
        >>> table = th.TransactionTable.from_frame(frame)
        >>> rules = add_confidence_bound(th.Exact(max_antecedents=1).mine(table), table).sort("assured_confidence")
        >>> print(rules.rule(0).english)
        if pump is off, then flow is low
        >>> print(rules.measure("confidence")[0], rules.measure("assured_confidence")[0].round(3))
        1.0 0.973
    """
    require_assurance(assurance)
    if spans < 2:
        raise ConfigError(f"spans must be at least 2, got {spans!r}", hint=f"use the default, {SPANS}")
    column = confidence_bound(count_spans(rules, table, spans=spans, denominator=denominator), assurance)
    out = replace(rules, extras={**rules.extras, "assured_confidence": column})
    unknown = int(np.isnan(column).sum())
    if unknown:
        note = f"the confidence of {unknown:,} of {len(rules):,} rules cannot be assured: too few independent rows"
        out = replace(out, notes=(*out.notes, note))
    return out if min_confidence is None else out.filter(min_assured_confidence=min_confidence)


def require_assurance(value: float) -> None:
    """Raise a ``ConfigError`` unless ``value`` is a probability of at least 0.5 and below 1."""
    if not 0.5 <= value < 1:
        raise ConfigError(f"assurance must be at least 0.5 and below 1, got {value!r}", hint="use the default, 0.95")


def confidence_bound(counted: Spans, assurance: float) -> Floats:
    """Return a lower bound of the confidence of each rule, NaN where the data do not allow one.

    Args:
        counted: The counts of the rules in spans of time.
        assurance: Probability with which the bound holds.
    """
    return confidence_interval(counted, assurance)[0]


def confidence_interval(counted: Spans, assurance: float) -> tuple[Floats, Floats]:
    """Return a lower and an upper bound of the confidence of each rule, NaN where the data do not allow them.

    Args:
        counted: The counts of the rules in spans of time.
        assurance: Probability with which each of the two bounds holds.
    """
    rows, freedom = effective_rows(counted)
    return share_interval(counted.counts.k / np.maximum(counted.counts.n, 1), rows, freedom, assurance)


def share_interval(share: Floats, rows: Floats, freedom: Floats, assurance: float) -> tuple[Floats, Floats]:
    """Return Wilson's bounds of shares, with a quantile of Student's t; NaN with fewer than two independent rows.

    Args:
        share: The shares.
        rows: The effective number of independent rows that each rests on.
        freedom: The degrees of freedom of that number.
        assurance: Probability with which each of the two bounds holds.

    Examples:
        >>> low, high = share_interval(np.array([0.9]), np.array([100.0]), np.array([99.0]), 0.95)
        >>> print(low.round(3)[0], high.round(3)[0])
        0.839 0.94
    """
    low, high = wilson_bounds(share, rows, _quantiles(np.asarray(freedom, np.float64), assurance))
    known = rows >= _FEWEST_ROWS
    return np.where(known, low, np.nan), np.where(known, high, np.nan)


def wilson_bounds(share: npt.ArrayLike, rows: npt.ArrayLike, quantile: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Return Wilson's lower and upper bounds of shares.

    Args:
        share: The shares.
        rows: The number of independent rows that each rests on.
        quantile: How many standard errors the bounds are away.

    Examples:
        >>> [bound.round(3).tolist() for bound in wilson_bounds([0.9, 1.0], 100, 1.96)]
        [[0.826, 0.963], [0.945, 1.0]]
    """
    p, n, z = (np.asarray(one, np.float64) for one in (share, rows, quantile))
    with np.errstate(divide="ignore", invalid="ignore"):
        square = z * z / n
        middle = p + square / 2
        spread = np.sqrt(square * (p * (1 - p) + square / 4))
        low, high = (middle - spread) / (1 + square), (middle + spread) / (1 + square)
    return np.maximum(low, 0.0), np.minimum(high, 1.0)


def effective_rows(counted: Spans) -> tuple[Floats, Floats]:
    """Estimate on how many independent rows the confidence of each rule rests.

    Args:
        counted: The counts of the rules in spans of time.

    Returns:
        The effective number of rows, at most the actual one, and the degrees of freedom of the estimate.
    """
    of = counted.counts
    n = of.n.astype(float)
    p = of.k / np.maximum(n, 1)
    shrunk = (of.k + 1) / (n + 2)  # keeps the variance of rare failures from vanishing
    # Deviations are from the mean of the same spans, which hides a part of each covariance.
    variance = of.variance * (1 + (2 * of.lags + 1) / np.maximum(of.occupied, 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        rows = np.minimum(n, np.where(variance > 0, shrunk * (1 - shrunk) * n * n / variance, n))
    failures = rows * np.minimum(p, 1 - p)
    unclear = failures < _FEWEST_FAILURES
    rows = np.where(unclear, np.minimum(rows, independent_episodes(counted)), rows)
    with np.errstate(divide="ignore", invalid="ignore"):
        slow = np.where(of.slow > 0, shrunk * (1 - shrunk) * n * n / of.slow, np.inf)
    # Memory without end makes a bound wide; whether there can be one is decided by what was seen.
    rows = np.minimum(rows, np.maximum(slow, _FEWEST_ROWS))
    estimated = np.where(unclear, _RARE_FREEDOM, np.minimum(of.occupied / (1 + of.lags), failures))
    estimated[counted.frames == 1] = np.inf  # taken as independent: there is nothing to estimate
    return rows, np.maximum(np.minimum(estimated, rows - 1), 1.0)


def independent_episodes(counted: Spans) -> Floats:
    """Count the episodes of each antecedent that are further apart than the memory of the consequent.

    Args:
        counted: The counts of the rules in spans of time.
    """
    of = counted.counts
    episode = np.maximum(of.held / np.maximum(of.episodes, 1), 1.0)
    length = counted.frames / counted.spans
    lasting = np.maximum(episode, counted.memory)
    return np.asarray(np.minimum(of.n / episode, of.groups * np.maximum(length / lasting, 1.0)))


def _quantiles(freedom: Floats, assurance: float) -> Floats:
    """Return the quantile of Student's t for the degrees of freedom of each rule."""
    known = [max(student_quantile(assurance, value), 1e-12) for value in _FREEDOMS]
    return np.asarray(np.exp(np.interp(-1 / freedom, -1 / np.array(_FREEDOMS), np.log(known))))


def student_quantile(probability: float, freedom: int) -> float:
    """Return the quantile of Student's t distribution with an integer number of degrees of freedom.

    Args:
        probability: Probability of a smaller value, at least 0.5.
        freedom: Degrees of freedom.

    Examples:
        >>> [round(student_quantile(0.95, freedom), 3) for freedom in (1, 2, 19)]
        [6.314, 2.92, 1.729]
    """
    low, high = 0.0, math.pi / 2
    for _ in range(60):  # bisection on the angle whose tangent is t / √freedom
        middle = (low + high) / 2
        if _within(middle, freedom) < 2 * probability - 1:
            low = middle
        else:
            high = middle
    return math.tan(low) * math.sqrt(freedom)


def _within(angle: float, freedom: int) -> float:
    """Return the probability of |t| ≤ √freedom · tan(angle), a finite sum for integer degrees of freedom."""
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = freedom % 2
    term = cosine if odd else 1.0
    total = term if freedom > 1 else 0.0
    for place in range(2 + odd, freedom - 1, 2):
        term *= cosine * cosine * (place - 1) / place
        total += term
    return 2 / math.pi * (angle + sine * total) if odd else sine * total
