"""Lower confidence bounds of rules that take the autocorrelation of readings into account.

A confidence of 0.85 may rest on few rows, and among thousands of rules that just reach a threshold many reach it by
chance and will not hold on later data. Treating rows as independent understates this, since consecutive frames resemble
each other. Here time is split into successive stretches and the rule is counted in each. The variance of its confidence
between stretches (the variance of a ratio over clusters, as in survey sampling) gives the effective number of
independent rows. The bound is the Wilson bound for that number of rows, with the quantile of Student's t for the
number of stretches in which the rule applied. A rule that applied in one stretch only has the bound 0.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from thence.counting.recount import StretchSums, count_stretches
from thence.errors import ConfigError
from thence.rules.ruleset import RuleSet
from thence.tables.transactions import FeatureTable, TransactionTable

__all__ = ["STRETCHES", "assured", "confidence_bound", "require_assurance", "student_quantile"]

STRETCHES = 20
"""Default number of stretches: enough to estimate a variance, while each is much longer than an episode."""

_MAX_FREEDOM = 200  # the quantiles of Student's t hardly change beyond

Floats = npt.NDArray[np.float64]


def assured(
    rules: RuleSet,
    table: TransactionTable | FeatureTable,
    *,
    assurance: float = 0.95,
    min_confidence: float | None = None,
    stretches: int = STRETCHES,
    denominator: str = "present",
) -> RuleSet:
    """Add a column ``assured_confidence``, a lower bound of the confidence of each rule.

    Stretches of time are treated as exchangeable: the bound says nothing about changes that the table does not show.

    Args:
        rules: The rules.
        table: The table to count on.
        assurance: Probability with which the bound holds, at least 0.5 and below 1.
        min_confidence: If given, keep only the rules whose bound reaches it.
        stretches: Number of stretches that time is split into, at least 2.
        denominator: ``"present"`` counts a rule over the rows in which all its features are present, ``"all"`` over
            all rows.

    Returns:
        The rules with the new column.

    Raises:
        ConfigError: If ``assurance`` or ``stretches`` is out of range.

    Examples:
        >>> import polars as pl, thence as th
        >>> frame = pl.DataFrame({"pump": ["on", "off"] * 100, "flow": (["high", "low"] * 9 + ["low", "low"]) * 10})
        >>> table = th.TransactionTable.from_frame(frame)
        >>> rules = assured(th.Exact(max_antecedents=1).mine(table), table).sort("assured_confidence")
        >>> print(rules.rule(0).english)
        if pump reads off, then flow reads low
        >>> print(rules.measure("confidence")[0], rules.measure("assured_confidence")[0].round(3))
        1.0 0.971
    """
    require_assurance(assurance)
    if stretches < 2:
        raise ConfigError(f"stretches must be at least 2, got {stretches!r}", hint=f"use the default, {STRETCHES}")
    sums = count_stretches(rules, table, stretches=stretches, denominator=denominator)
    column = confidence_bound(sums, assurance)
    out = replace(rules, extras={**rules.extras, "assured_confidence": column})
    return out if min_confidence is None else out.filter(min_assured_confidence=min_confidence)


def require_assurance(value: float) -> None:
    """Raise a ``ConfigError`` unless ``value`` is a probability of at least 0.5 and below 1."""
    if not 0.5 <= value < 1:
        raise ConfigError(f"assurance must be at least 0.5 and below 1, got {value!r}", hint="use the default, 0.95")


def confidence_bound(sums: StretchSums, assurance: float) -> Floats:
    """Return a lower bound of the confidence of each rule that holds with probability ``assurance``.

    Examples:
        >>> one = [np.array([value]) for value in (20, 1000, 900, 50_000, 45_000, 40_700)]
        >>> confidence_bound(StretchSums(*one), 0.95).round(4).tolist()
        [0.8722]
    """
    n, k = np.maximum(sums.n, 1).astype(float), sums.k.astype(float)
    p = k / n
    # The sum of (k − p n)² over the stretches, expanded; rounding may leave it slightly below zero.
    residual = np.maximum(sums.kk - 2 * p * sums.nk + p * p * sums.nn, 0.0)
    variance = residual / (n * n) * sums.stretches / np.maximum(sums.stretches - 1, 1)
    shrunk = (k + 1) / (n + 2)  # keeps the variance of a rule that never failed above zero
    with np.errstate(divide="ignore"):
        rows = np.minimum(n, shrunk * (1 - shrunk) / variance)
    t = _quantiles(sums.stretches, assurance)
    square = t * t / rows
    low = (p + square / 2 - np.sqrt(square * (p * (1 - p) + square / 4))) / (1 + square)
    return np.asarray(np.where(sums.stretches > 1, np.maximum(low, 0.0), 0.0))


def _quantiles(stretches: npt.NDArray[np.int64], assurance: float) -> Floats:
    """Return the quantile of Student's t for the degrees of freedom of each rule."""
    freedom = np.clip(stretches - 1, 1, _MAX_FREEDOM)
    found = np.zeros(_MAX_FREEDOM + 1)
    for value in np.unique(freedom).tolist():
        found[value] = student_quantile(assurance, value)
    return found[freedom]


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
