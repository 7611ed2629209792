"""Bounds on measures, decided exactly.

A measure is a ratio of integers (``cosine`` is the square root of one), and a bound is the decimal number that was
written: 0.4 is 2/5, not the nearest binary number. Whether a rule is within a bound is therefore a comparison of
integers. Floats decide where a value is clearly away from the bound, and integers of any size decide the rest.

A float of more than ten significant digits was computed rather than written, such as the lowest confidence of some
rules. It stands for all numbers that round to it, so a rule is within a bound that was computed from the rule itself.

This module must not count anything, and knows no rules as objects.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thence.errors import ConfigError
from thence.statements.rules.measures import MEASURES, Counts, Ratio

Bound = float | int | str | Decimal | Fraction

# Floats of more significant digits are computed: the shortest form of a ratio is that short once in a million.
_WRITTEN_DIGITS = 10
# Values within this distance of a bound, relative to it, are compared in integers. Floats err by less than 1e-14.
_MARGIN = 1e-9
_INT64 = 1 << 62


def as_fraction(bound: Bound) -> Fraction:
    """Return the number that a lower bound means.

    Args:
        bound: A finite number. A float means the decimal number that it prints as; if that has more than ten
            significant digits, the result is the smallest number that rounds to the float.

    Raises:
        ConfigError: If the bound is not a finite number.

    Examples:
        >>> as_fraction(0.4)
        Fraction(2, 5)
        >>> as_fraction(5 / 6) < Fraction(5, 6) < 5 / 6
        True
    """
    value = _read(bound)
    if isinstance(value, Fraction):
        return value
    if math.isinf(value):
        raise ConfigError(f"a bound must be a finite number, got {bound!r}")
    return (Fraction(value) + Fraction(math.nextafter(value, -math.inf))) / 2


def exact_threshold(value: Bound, *, max_denominator: int) -> Fraction:
    """Return the smallest fraction ``k/n ≥ value`` with ``n ≤ max_denominator``.

    For integers ``0 ≤ k ≤ n ≤ max_denominator``, ``k/n ≥ value`` if and only if ``k/n`` is at least this fraction. Its
    numerator and denominator are small: cross products of such numbers fit in 64 bits, and nothing is rounded.

    Args:
        value: The threshold. A float means the decimal number that it prints as (see ``as_fraction``).
        max_denominator: The largest denominator, such as the number of rows.

    Examples:
        >>> exact_threshold(0.8, max_denominator=100)
        Fraction(4, 5)
        >>> exact_threshold(0.01, max_denominator=30)
        Fraction(1, 30)
        >>> exact_threshold(0.1 + 0.2, max_denominator=1000)
        Fraction(298, 993)
    """
    wanted = as_fraction(value)
    if wanted.denominator <= max_denominator:
        return wanted
    near = wanted.limit_denominator(max_denominator)
    if near >= wanted:
        return near
    # The closest fraction is too small, so the result is its right neighbour c/d in the Farey sequence of that order:
    # c·b − a·d = 1 with the largest d ≤ max_denominator.
    below, over = near.numerator, near.denominator
    start = -pow(below, -1, over) % over if over > 1 else 0
    right = start + (max_denominator - start) // over * over
    return Fraction(below * right + 1, over * right)


def is_within(counts: Counts, measure: str, bound: Bound, *, least: bool) -> NDArray[np.bool_]:
    """Return which rules have a measure within a bound, compared exactly if it is a ratio of integers.

    Args:
        counts: The counts of the rules.
        measure: A name in ``MEASURES``.
        bound: The bound, as in ``as_fraction``; infinity is allowed.
        least: Whether it is a lower bound; otherwise an upper one. Bounds are inclusive.

    Raises:
        ConfigError: If the bound is not a number.

    Examples:
        >>> counts = Counts.from_matrix([[6, 5, 3, 3]])  # (3/5)·(3/3)·(1 − 3/6) is 3/10
        >>> is_within(counts, "interestingness", 0.3, least=True).tolist()
        [True]
    """
    wanted = _read(bound)
    limit = float(wanted)
    values = MEASURES[measure](counts)
    within = np.asarray(values >= limit if least else values <= limit)
    if isinstance(wanted, Fraction):
        # Infinite values are away from every bound.
        close = np.flatnonzero(np.abs(values - limit) <= _MARGIN * max(1.0, abs(limit)))
        ratio = MEASURES[measure].ratio
        if len(close) and ratio is not None:
            within[close] = _compare(counts[close], ratio, wanted, values[close], least=least)
    return within


def _compare(
    counts: Counts, form: Ratio, bound: Fraction, values: NDArray[np.float64], *, least: bool
) -> NDArray[np.bool_]:
    """Compare measures with a bound in integers; ``values`` (0 or 1) are used where the denominator is 0."""
    if form.squared and bound < 0:
        return np.full(len(counts), least)
    if form.squared:
        bound = bound**2
    p, q = bound.numerator, bound.denominator
    most = int(counts.n_rows.max()) + int(counts.n.max()) + 1
    kind: Any = np.int64 if 2 * most**form.degree * max(abs(p), q) < _INT64 else object
    columns = (counts.n, counts.n_antecedent, counts.n_consequent, counts.n_both, counts.n_rows)
    top, bottom = form.parts(*(column.astype(kind) for column in columns))
    undefined = np.asarray(bottom == 0, dtype=bool)
    top = np.where(undefined, np.where(undefined, values, 0).astype(np.int64).astype(kind), top)
    left, right = top * q, np.where(undefined, 1, bottom) * p
    return np.asarray(left >= right if least else left <= right, dtype=bool)


def _read(bound: Bound) -> Fraction | float:
    """Return the number that was written, or a float if it is infinite or was computed."""
    text = str(bound)
    if isinstance(bound, float) and (math.isinf(bound) or _count_digits(text) > _WRITTEN_DIGITS):
        return float(bound)
    try:
        return bound if isinstance(bound, Fraction) else Fraction(text)
    except ValueError:
        raise ConfigError(f"a bound must be a number, got {bound!r}") from None


def _count_digits(text: str) -> int:
    return len(Decimal(text).normalize().as_tuple().digits)
