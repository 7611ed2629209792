"""How sure a confidence is: a lower bound that respects that readings of one hour resemble those of the next.

A confidence of 0.85 may be the luck of a few rows, and among thousands of rules that just reach a threshold many owe it
to luck and will not hold tomorrow. Taking rows as independent understates this, since frames come in episodes. Here
time is cut into successive stretches, the rule is counted in each, and how much its confidence varies between them says
how many independent rows its rows are worth: the variance of a ratio over clusters, as surveys estimate it. The bound
is Wilson's with that number of rows, and with the quantile of Student's t for the stretches in which the rule applied.
What was seen in one stretch alone has no bound above zero.
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
"""Stretches that time is cut into: enough for a variance, and each much longer than an episode."""

_NORMAL_FROM = 200  # degrees of freedom from which Student's t is as good as normal

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
    """The rules with a column ``assured_confidence``: what the confidence is at least, with this assurance.

    With ``min_confidence`` only the rules whose assured confidence reaches it are kept. Stretches of time are
    exchangeable in this: a bound says nothing about a change that the table does not show.

    >>> import polars as pl, thence as th
    >>> frame = pl.DataFrame({"pump": ["on", "off"] * 100, "flow": (["high", "low"] * 9 + ["low", "low"]) * 10})
    >>> table = th.TransactionTable.from_frame(frame)
    >>> rules = assured(th.Exact(max_antecedents=1).mine(table), table).sort("assured_confidence")
    >>> print(rules.rule(0).english, rules.measure("confidence")[0], rules.measure("assured_confidence")[0].round(3))
    if pump reads off, then flow reads low 1.0 0.971
    """
    require_assurance(assurance)
    if stretches < 2:
        raise ConfigError(f"stretches must be at least 2, got {stretches!r}", hint=f"{STRETCHES} is a good number")
    sums = count_stretches(table, rules, stretches=stretches, denominator=denominator)
    column = confidence_bound(sums, assurance)
    out = replace(rules, extras={**rules.extras, "assured_confidence": column})
    return out if min_confidence is None else out.filter(min_assured_confidence=min_confidence)


def require_assurance(value: float) -> None:
    """An assurance is a probability; even odds are the least that says anything."""
    if not 0.5 <= value < 1:
        raise ConfigError(f"assurance must be at least 0.5 and below 1, got {value!r}", hint="0.95 is usual")


def confidence_bound(sums: StretchSums, assurance: float) -> Floats:
    """A lower bound for the confidence of each rule.

    >>> one = [np.array([value]) for value in (20, 1000, 900, 50_000, 45_000, 40_700)]
    >>> confidence_bound(StretchSums(*one), 0.95).round(4).tolist()
    [0.8722]
    """
    n, k = np.maximum(sums.n, 1).astype(float), sums.k.astype(float)
    p = k / n
    # The sum of (k − p n)² over the stretches, from its parts; what rounding leaves below zero is zero.
    residual = np.maximum(sums.kk - 2 * p * sums.nk + p * p * sums.nn, 0.0)
    variance = residual / (n * n) * sums.stretches / np.maximum(sums.stretches - 1, 1)
    shrunk = (k + 1) / (n + 2)  # of a rule that never failed the variance is not zero
    with np.errstate(divide="ignore"):
        rows = np.minimum(n, shrunk * (1 - shrunk) / variance)
    t = _quantiles(sums.stretches, assurance)
    square = t * t / rows
    low = (p + square / 2 - np.sqrt(square * (p * (1 - p) + square / 4))) / (1 + square)
    return np.asarray(np.where(sums.stretches > 1, np.maximum(low, 0.0), 0.0))


def _quantiles(stretches: npt.NDArray[np.int64], assurance: float) -> Floats:
    """The quantile of Student's t for the degrees of freedom of each rule."""
    freedom = np.clip(stretches - 1, 1, _NORMAL_FROM)
    found = np.zeros(_NORMAL_FROM + 1)
    for value in np.unique(freedom).tolist():
        found[value] = student_quantile(assurance, value)
    return found[freedom]


def student_quantile(probability: float, freedom: int) -> float:
    """The value that Student's t with a whole number of degrees of freedom stays below with this probability.

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
    """The probability that t lies within ± √freedom · tan(angle): a finite sum for whole degrees of freedom."""
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = freedom % 2
    term = cosine if odd else 1.0
    total = term if freedom > 1 else 0.0
    for place in range(2 + odd, freedom - 1, 2):
        term *= cosine * cosine * (place - 1) / place
        total += term
    return 2 / math.pi * (angle + sine * total) if odd else sine * total
