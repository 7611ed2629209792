"""Measures of rules: pure functions of four integers.

With n rows in all, x of them with the antecedent, y with the consequent and b with both, every measure below is a
function of (n, x, y, b). Each documents formula, range and reference, and defines its value where a denominator is
zero. Nothing is rounded here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["MEASURES", "Counts", "Measure"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Counts:
    """How many rows there are, and how many have the antecedent, the consequent and both; an array of rules each.

    >>> a = Counts(*(np.array([v]) for v in (10, 4, 5, 3)))
    >>> (a + a).n_both.tolist(), len(a)
    ([6], 1)
    """

    n: Ints
    n_antecedent: Ints
    n_consequent: Ints
    n_both: Ints

    def __len__(self) -> int:
        return len(self.n)

    def __add__(self, other: Counts) -> Counts:
        return Counts(*(a + b for a, b in zip(self.arrays, other.arrays, strict=True)))

    def __getitem__(self, chosen: Any) -> Counts:
        return Counts(*(array[chosen] for array in self.arrays))

    @property
    def arrays(self) -> tuple[Ints, Ints, Ints, Ints]:
        """The four arrays in order."""
        return self.n, self.n_antecedent, self.n_consequent, self.n_both


@dataclass(frozen=True)
class Measure:
    """A named measure with its formula, range and reference; call it with counts."""

    name: str
    formula: str
    low: float
    high: float
    reference: str
    function: Callable[[Floats, Floats, Floats, Floats], Floats]

    def __call__(self, counts: Counts) -> Floats:
        n, x, y, b = (np.asarray(array, dtype=np.float64) for array in counts.arrays)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return np.asarray(self.function(n, x, y, b), dtype=np.float64)


def _ratio(above: Floats, below: Floats, otherwise: float | Floats = 0.0) -> Floats:
    """A quotient with a defined value where the denominator is zero."""
    zero = below == 0
    return np.where(zero, otherwise, above / np.where(zero, 1.0, below))


def _support(n: Floats, x: Floats, y: Floats, b: Floats) -> Floats:
    return _ratio(b, n)


def _rule_coverage(n: Floats, x: Floats, y: Floats, b: Floats) -> Floats:
    return _ratio(x, n)


def _consequent_support(n: Floats, x: Floats, y: Floats, b: Floats) -> Floats:
    return _ratio(y, n)


def _confidence(n: Floats, x: Floats, y: Floats, b: Floats) -> Floats:
    return _ratio(b, x)


def _zhang(n: Floats, x: Floats, y: Floats, b: Floats) -> Floats:
    # conf(X→Y) − conf(X'→Y) over the larger of the two; with no rows outside X there is nothing to compare: 0.
    inside, outside = _ratio(b, x), _ratio(y - b, n - x)
    larger = np.maximum(inside, outside)
    return np.where((x == 0) | (n == x), 0.0, _ratio(inside - outside, larger))


def _lift(n: Floats, x: Floats, y: Floats, b: Floats) -> Floats:
    return _ratio(b * n, x * y)


def _leverage(n: Floats, x: Floats, y: Floats, b: Floats) -> Floats:
    return _ratio(b, n) - _ratio(x, n) * _ratio(y, n)


def _conviction(n: Floats, x: Floats, y: Floats, b: Floats) -> Floats:
    return _ratio(x * (n - y), n * (x - b), np.where(x > 0, np.inf, 0.0))


def _yules_q(n: Floats, x: Floats, y: Floats, b: Floats) -> Floats:
    same, crossed = b * (n - x - y + b), (x - b) * (y - b)
    return _ratio(same - crossed, same + crossed)


def _interestingness(n: Floats, x: Floats, y: Floats, b: Floats) -> Floats:
    return _ratio(b, x) * _ratio(b, y) * (1 - _ratio(b, n))


def _jaccard(n: Floats, x: Floats, y: Floats, b: Floats) -> Floats:
    return _ratio(b, x + y - b)


def _certainty(n: Floats, x: Floats, y: Floats, b: Floats) -> Floats:
    confidence, expected = _ratio(b, x), _ratio(y, n)
    return _ratio(confidence - expected, 1 - expected)


def _kulczynski(n: Floats, x: Floats, y: Floats, b: Floats) -> Floats:
    return (_ratio(b, x) + _ratio(b, y)) / 2


def _representativity(n: Floats, x: Floats, y: Floats, b: Floats) -> Floats:
    # mlxtend: the share of rows in which all features of the rule are known; counts are taken over such rows only.
    return np.ones_like(n)


def _cosine(n: Floats, x: Floats, y: Floats, b: Floats) -> Floats:
    return _ratio(b, np.sqrt(x * y))


def _odds_ratio(n: Floats, x: Floats, y: Floats, b: Floats) -> Floats:
    same, crossed = b * (n - x - y + b), (x - b) * (y - b)
    return _ratio(same, crossed, np.where(same > 0, np.inf, 1.0))


def _chi_squared(n: Floats, x: Floats, y: Floats, b: Floats) -> Floats:
    determinant = b * (n - x - y + b) - (x - b) * (y - b)
    return _ratio(n * determinant**2, x * y * (n - x) * (n - y))


_INF = float("inf")
_ALL = (
    Measure("support", "b / n", 0, 1, "Agrawal, Imieliński & Swami 1993", _support),
    Measure("confidence", "b / x", 0, 1, "Agrawal, Imieliński & Swami 1993", _confidence),
    Measure("rule_coverage", "x / n", 0, 1, "support of the antecedent", _rule_coverage),
    Measure("consequent_support", "y / n", 0, 1, "support of the consequent", _consequent_support),
    Measure("zhang", "(b/x − (y−b)/(n−x)) / max(b/x, (y−b)/(n−x))", -1, 1, "Zhang 2000", _zhang),
    Measure("lift", "b·n / (x·y)", 0, _INF, "Brin, Motwani, Ullman & Tsur 1997", _lift),
    Measure("leverage", "b/n − x·y/n²", -0.25, 0.25, "Piatetsky-Shapiro 1991", _leverage),
    Measure("conviction", "x·(n−y) / (n·(x−b))", 0, _INF, "Brin, Motwani, Ullman & Tsur 1997", _conviction),
    Measure("yules_q", "(b·d − c·a) / (b·d + c·a), a=x−b, c=y−b, d=n−x−y+b", -1, 1, "Yule 1900", _yules_q),
    Measure("interestingness", "(b/x)·(b/y)·(1 − b/n)", 0, 1, "Fister & Fister 2020", _interestingness),
    Measure("jaccard", "b / (x + y − b)", 0, 1, "Jaccard 1901", _jaccard),
    Measure("certainty", "(b/x − y/n) / (1 − y/n)", -1, 1, "Shortliffe & Buchanan 1975", _certainty),
    Measure("kulczynski", "(b/x + b/y) / 2", 0, 1, "Kulczyński 1927", _kulczynski),
    Measure("representativity", "1: counts are over complete rows", 0, 1, "Ragel & Crémilleux 1998", _representativity),
    Measure("cosine", "b / √(x·y)", 0, 1, "Tan, Kumar & Srivastava 2002", _cosine),
    Measure("odds_ratio", "b·d / ((x−b)·(y−b))", 0, _INF, "Tan, Kumar & Srivastava 2002", _odds_ratio),
    Measure("chi_squared", "n·(b·d − (x−b)(y−b))² / (x·y·(n−x)·(n−y))", 0, _INF, "Pearson 1900", _chi_squared),
)

MEASURES: Mapping[str, Measure] = MappingProxyType({measure.name: measure for measure in _ALL})
"""All measures by name."""
