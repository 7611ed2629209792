"""Measures of rules, each a pure function of four integers per rule.

A rule X → Y has the counts ``n`` (rows over which it is counted), ``n_antecedent`` (X holds), ``n_consequent`` (Y
holds) and ``n_both``, abbreviated below as n, x, y and b; x̄ = n − x is the number of rows in which X does not hold.
Every measure documents its formula, range, reference, and its value where the formula would divide by zero: no measure
warns or returns NaN. Products of counts are exact integers, so equal values compare equal.

``MEASURES`` maps names to measures; a new one is a function and one line there, or an entry point of another package.
Tables, files and pages read it. Nothing is rounded here. This module must not count anything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import inf, nan
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thence._base.settings.registry import Registry
from thence.errors import InputError

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

# Products of two counts below this bound, and differences of them, fit into 64 bits.
_INT64_SAFE = 1 << 31


@dataclass(frozen=True, eq=False)
class Counts:
    """The counts of many rules, one entry per rule.

    Counts of the same rules over disjoint rows can be added with ``+``.

    Args:
        n: Number of rows over which the rule is counted.
        n_antecedent: Number of these rows in which the antecedent holds.
        n_consequent: Number of these rows in which the consequent holds.
        n_both: Number of these rows in which both hold.
        n_rows: Number of rows of the table, which exceeds ``n`` if values are missing; ``n`` by default.

    Raises:
        InputError: If an array is not one-dimensional, does not hold integers, or has another length.

    Examples:
        >>> a = Counts(n=[10], n_antecedent=[5], n_consequent=[4], n_both=[4])
        >>> (a + a).n_both.tolist(), len(a)
        ([8], 1)
    """

    n: Integers
    n_antecedent: Integers
    n_consequent: Integers
    n_both: Integers
    n_rows: Integers = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        shape = np.shape(self.n_both)
        if len(shape) != 1:
            raise InputError(f"counts must be one-dimensional, got shape {shape}")
        for name in ("n", "n_antecedent", "n_consequent", "n_both", "n_rows"):
            given = getattr(self, name)
            array = np.asarray(self.n if given is None else given)
            if array.dtype.kind not in "iu" and array.size:
                raise InputError(f"{name} must hold integers, got {array.dtype}")
            if array.ndim and array.shape != shape:
                raise InputError(f"{name} must have as many entries as n_both, got {len(array)} and {shape[0]}")
            object.__setattr__(self, name, np.broadcast_to(array.astype(np.int64, copy=False), shape))

    @classmethod
    def from_matrix(cls, matrix: ArrayLike, *, n_rows: ArrayLike | None = None) -> Counts:
        """Create counts from a matrix with the columns n, n_antecedent, n_consequent and n_both.

        Args:
            matrix: One row per rule.
            n_rows: Number of rows of the table; n by default.

        Examples:
            >>> Counts.from_matrix([[10, 5, 4, 4]]).n_consequent.tolist()
            [4]
        """
        table = np.asarray(matrix, dtype=np.int64).reshape(-1, 4)
        total = None if n_rows is None else np.asarray(n_rows)
        return cls(table[:, 0], table[:, 1], table[:, 2], table[:, 3], total)  # type: ignore[arg-type]

    @classmethod
    def concatenate(cls, parts: Iterable[Counts]) -> Counts:
        """Concatenate the counts of several lists of rules.

        Examples:
            >>> part = Counts.from_matrix([[10, 5, 4, 4]])
            >>> len(Counts.concatenate([part, part])), len(Counts.concatenate([]))
            (2, 0)
        """
        columns = [part._columns() for part in parts]
        empty = np.zeros(0, dtype=np.int64)
        return cls(*(np.concatenate([empty, *(column[k] for column in columns)]) for k in range(5)))

    def _columns(self) -> tuple[Integers, ...]:
        return self.n, self.n_antecedent, self.n_consequent, self.n_both, self.n_rows

    def __len__(self) -> int:
        return len(self.n_both)

    def __getitem__(self, which: slice | ArrayLike) -> Counts:
        """Return the counts of some rules, given as a slice, positions or a mask."""
        chosen = which if isinstance(which, slice) else np.atleast_1d(np.asarray(which))
        if not isinstance(chosen, slice) and chosen.size == 0:
            chosen = chosen.astype(np.int64)
        return Counts(*(column[chosen] for column in self._columns()))

    def __add__(self, other: Counts) -> Counts:
        """Return the counts of the same rules over the rows of both."""
        if not isinstance(other, Counts):
            return NotImplemented
        if len(self) != len(other):
            raise InputError(f"counts to add must be of the same rules, got {len(self)} and {len(other)} rules")
        return Counts(*(left + right for left, right in zip(self._columns(), other._columns(), strict=True)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Counts):
            return NotImplemented
        return all(np.array_equal(a, b) for a, b in zip(self._columns(), other._columns(), strict=True))

    __hash__ = None  # type: ignore[assignment]


def _exact(counts: Counts) -> tuple[Any, Any, Any, Any]:
    """Return n, x, y and b as integers whose products cannot overflow: 64-bit if that suffices, else Python's."""
    columns = counts._columns()[:4]
    wide = len(counts) > 0 and int(counts.n.max()) >= _INT64_SAFE
    n, x, y, b = (column.astype(object) if wide else column for column in columns)
    return n, x, y, b


def _ratio(top: Any, bottom: Any, *, otherwise: float) -> Floats:
    """Return top / bottom; ``otherwise`` for 0/0, infinity for a positive number over 0."""
    out = np.full(np.shape(bottom), otherwise, dtype=np.float64)
    fine = np.asarray(bottom != 0, dtype=bool)
    out[~fine & np.asarray(top > 0, dtype=bool)] = inf
    out[fine] = np.asarray(top)[fine] / np.asarray(bottom)[fine]
    return out


def support(counts: Counts) -> Floats:
    """Share of the rows in which antecedent and consequent hold.

    Formula: b / n. Range: 0 to 1. Where n = 0: 0.
    Reference: Agrawal, Imieliński & Swami, Mining association rules between sets of items, SIGMOD 1993.

    Examples:
        >>> support(Counts.from_matrix([[10, 5, 6, 4]])).tolist()
        [0.4]
    """
    return _ratio(counts.n_both, counts.n, otherwise=0.0)


def confidence(counts: Counts) -> Floats:
    """Share of the antecedent's rows in which the consequent holds too.

    Formula: b / x. Range: 0 to 1. Where x = 0, the rule never applied and has no confidence: NaN.
    Reference: Agrawal, Imieliński & Swami, Mining association rules between sets of items, SIGMOD 1993.

    Examples:
        >>> confidence(Counts.from_matrix([[10, 5, 6, 4]])).tolist()
        [0.8]
    """
    return _ratio(counts.n_both, counts.n_antecedent, otherwise=nan)


def rule_coverage(counts: Counts) -> Floats:
    """Share of the rows in which the antecedent holds (the support of the antecedent).

    Formula: x / n. Range: 0 to 1. Where n = 0: 0.
    Reference: Michalski, A theory and methodology of inductive learning, Artificial Intelligence 20, 1983.

    Examples:
        >>> rule_coverage(Counts.from_matrix([[10, 5, 6, 4]])).tolist()
        [0.5]
    """
    return _ratio(counts.n_antecedent, counts.n, otherwise=0.0)


def consequent_support(counts: Counts) -> Floats:
    """Share of the rows in which the consequent holds.

    Formula: y / n. Range: 0 to 1. Where n = 0: 0.
    Reference: Agrawal, Imieliński & Swami, Mining association rules between sets of items, SIGMOD 1993.

    Examples:
        >>> consequent_support(Counts.from_matrix([[10, 5, 6, 4]])).tolist()
        [0.6]
    """
    return _ratio(counts.n_consequent, counts.n, otherwise=0.0)


def zhang(counts: Counts) -> Floats:
    """How much the antecedent changes the chance of the consequent: association above 0, dissociation below.

    Formula: (b/x − (y−b)/x̄) / max(b/x, (y−b)/x̄), which is (n·b − x·y) / max(b·x̄, x·(y−b)).
    Range: −1 to 1, 0 for independence. Where X holds always or never, or Y never: 0.
    Reference: Zhang, Association rules, PAKDD 2000.

    Examples:
        >>> zhang(Counts.from_matrix([[10, 5, 6, 4]])).tolist()
        [0.5]
    """
    n, x, y, b = _exact(counts)
    return _ratio(n * b - x * y, np.maximum(b * (n - x), x * (y - b)), otherwise=0.0)


def lift(counts: Counts) -> Floats:
    """How many times more often antecedent and consequent hold together than if they were independent.

    Formula: n·b / (x·y). Range: 0 to n, 1 for independence. Where x·y = 0: 0.
    Reference: Brin, Motwani, Ullman & Tsur, Dynamic itemset counting and implication rules, SIGMOD 1997.

    Examples:
        >>> lift(Counts.from_matrix([[10, 5, 5, 4]])).tolist()
        [1.6]
    """
    n, x, y, b = _exact(counts)
    return _ratio(n * b, x * y, otherwise=0.0)


def leverage(counts: Counts) -> Floats:
    """Support minus the support expected if both sides were independent.

    Formula: b/n − (x/n)·(y/n), which is (n·b − x·y) / n². Range: −1/4 to 1/4, 0 for independence. Where n = 0: 0.
    Reference: Piatetsky-Shapiro, Discovery, analysis, and presentation of strong rules, 1991.

    Examples:
        >>> leverage(Counts.from_matrix([[10, 5, 6, 4]])).tolist()
        [0.1]
    """
    n, x, y, b = _exact(counts)
    return _ratio(n * b - x * y, n * n, otherwise=0.0)


def conviction(counts: Counts) -> Floats:
    """How many times more often the rule would fail if antecedent and consequent were independent.

    Formula: (1 − y/n) / (1 − b/x), which is x·(n−y) / (n·(x−b)). Range: 0 to ∞, 1 for independence, ∞ for a rule that
    never fails. Where X never holds, or Y always: 1, since such a rule is not informative (mlxtend: ∞ for the latter).
    Reference: Brin, Motwani, Ullman & Tsur, Dynamic itemset counting and implication rules, SIGMOD 1997.

    Examples:
        >>> conviction(Counts.from_matrix([[10, 5, 6, 4], [10, 4, 6, 4]])).tolist()
        [2.0, inf]
    """
    n, x, y, b = _exact(counts)
    return _ratio(x * (n - y), n * (x - b), otherwise=1.0)


def yules_q(counts: Counts) -> Floats:
    """Yule's Q, the odds ratio rescaled to the range −1 to 1.

    Formula: (b·d − e·f) / (b·d + e·f) with e = x − b, f = y − b and d = n − x − y + b. Range: −1 to 1, 0 for
    independence. Where both products are 0: 0.
    Reference: Yule, On the association of attributes in statistics, Phil. Trans. R. Soc. A 194, 1900.

    Examples:
        >>> yules_q(Counts.from_matrix([[10, 5, 6, 4]])).tolist() == [(4 * 3 - 1 * 2) / (4 * 3 + 1 * 2)]
        True
    """
    n, x, y, b = _exact(counts)
    together, apart = b * (n - x - y + b), (x - b) * (y - b)
    return _ratio(together - apart, together + apart, otherwise=0.0)


def interestingness(counts: Counts) -> Floats:
    """Confidence in both directions, discounted for rules that hold nearly everywhere.

    Formula: (b/x)·(b/y)·(1 − b/n). Range: 0 to 1. Where x·y = 0: 0. (NiaARM divides the support by n once more.)
    Reference: Ghosh & Nath, Multi-objective rule mining using genetic algorithms, Information Sciences 163, 2004.

    Examples:
        >>> interestingness(Counts.from_matrix([[10, 5, 5, 5]])).tolist()
        [0.5]
    """
    n, x, y, b = _exact(counts)
    return _ratio(b * b, x * y, otherwise=0.0) * _ratio(n - b, n, otherwise=0.0)


def jaccard(counts: Counts) -> Floats:
    """Of the rows in which either side holds, the share in which both do.

    Formula: b / (x + y − b). Range: 0 to 1. Where neither ever holds: 0.
    Reference: Jaccard, Étude comparative de la distribution florale, Bull. Soc. Vaudoise Sci. Nat. 37, 1901.

    Examples:
        >>> jaccard(Counts.from_matrix([[10, 5, 7, 4]])).tolist()
        [0.5]
    """
    return _ratio(counts.n_both, counts.n_antecedent + counts.n_consequent - counts.n_both, otherwise=0.0)


def certainty(counts: Counts) -> Floats:
    """Gain in confidence over the support of the consequent, as a share of the largest possible gain.

    Formula: (b/x − y/n) / (1 − y/n), which is (n·b − x·y) / (x·(n−y)). Range: −∞ to 1, 0 for independence. Where X
    never holds, or Y always: 0. (As in mlxtend, one formula for gain and loss, so the measure may be below −1.)
    Reference: Berzal, Blanco, Sánchez & Vila, Measuring the accuracy and interest of association rules, IDA 6, 2002.

    Examples:
        >>> certainty(Counts.from_matrix([[10, 5, 6, 4]])).tolist()
        [0.5]
    """
    n, x, y, b = _exact(counts)
    return _ratio(n * b - x * y, x * (n - y), otherwise=0.0)


def kulczynski(counts: Counts) -> Floats:
    """Mean of the confidences of the rule and of its converse.

    Formula: (b/x + b/y) / 2. Range: 0 to 1. Where x or y is 0: 0.
    Reference: Kulczyński, Die Pflanzenassoziationen der Pieninen, Bull. Int. Acad. Pol. Sci. Lett. B, 1927.

    Examples:
        >>> kulczynski(Counts.from_matrix([[10, 5, 8, 4]])).tolist()
        [0.65]
    """
    forward = _ratio(counts.n_both, counts.n_antecedent, otherwise=0.0)
    return (forward + _ratio(counts.n_both, counts.n_consequent, otherwise=0.0)) / 2


def all_confidence(counts: Counts) -> Floats:
    """Smaller of the confidences of the rule and of its converse: high if the rule holds in both directions.

    Formula: b / max(x, y). Range: 0 to 1. Where neither side ever holds: 0.
    Reference: Omiecinski, Alternative interest measures for mining associations in databases, TKDE 15, 2003.

    Examples:
        >>> all_confidence(Counts.from_matrix([[10, 5, 8, 4]])).tolist()
        [0.5]
    """
    return _ratio(counts.n_both, np.maximum(counts.n_antecedent, counts.n_consequent), otherwise=0.0)


def representativity(counts: Counts) -> Floats:
    """Share of all rows over which the rule is counted, because none of its features is missing there.

    Formula: n / n_rows. Range: 0 to 1; 1 where nothing is missing. Where n_rows = 0: 0.
    Reference: Ragel & Crémilleux, Treatment of missing values for association rules, PAKDD 1998.

    Examples:
        >>> representativity(Counts.from_matrix([[10, 5, 6, 4]], n_rows=20)).tolist()
        [0.5]
    """
    return _ratio(counts.n, counts.n_rows, otherwise=0.0)


def cosine(counts: Counts) -> Floats:
    """Geometric mean of the confidences of the rule and of its converse.

    Formula: b / √(x·y). Range: 0 to 1. Where x·y = 0: 0.
    Reference: Tan, Kumar & Srivastava, Selecting the right objective measure, Information Systems 29, 2004.

    Examples:
        >>> cosine(Counts.from_matrix([[10, 4, 9, 3]])).tolist()
        [0.5]
    """
    # The square root of a product of floats: x·y itself may need more than 53 bits, its root does not.
    bottom = np.sqrt(counts.n_antecedent.astype(np.float64) * counts.n_consequent)
    return _ratio(counts.n_both, bottom, otherwise=0.0)


def odds_ratio(counts: Counts) -> Floats:
    """Odds of the consequent where the antecedent holds, over its odds where the antecedent does not hold.

    Formula: b·d / (e·f) with e = x − b, f = y − b and d = n − x − y + b. Range: 0 to ∞, 1 for independence. Where both
    products are 0: 1.
    Reference: Cornfield, A method of estimating comparative rates from clinical data, JNCI 11, 1951.

    Examples:
        >>> odds_ratio(Counts.from_matrix([[10, 5, 6, 4]])).tolist()
        [6.0]
    """
    n, x, y, b = _exact(counts)
    return _ratio(b * (n - x - y + b), (x - b) * (y - b), otherwise=1.0)


def chi_squared(counts: Counts) -> Floats:
    """Pearson's χ² statistic of the 2 × 2 table, one degree of freedom, without correction.

    Formula: n·(n·b − x·y)² / (x·y·(n−x)·(n−y)). Range: 0 to n, 0 for independence. Where a side holds always or
    never: 0.
    Reference: Brin, Motwani & Silverstein, Beyond market baskets, SIGMOD 1997.

    Examples:
        >>> chi_squared(Counts.from_matrix([[8, 4, 4, 4]])).tolist()
        [8.0]
    """
    n, x, y, b = _exact(counts)
    excess = n * b - x * y
    sides = _ratio(np.abs(excess), x * (n - x), otherwise=0.0) * _ratio(np.abs(excess), y * (n - y), otherwise=0.0)
    return sides * counts.n


Shown: TypeAlias = Literal["text", "file", "page"]
"""Where a measure is shown: in lists and notebooks, in JSON, Markdown and graphs, in reports and the explorer.

Frames, CSV and Parquet have every measure, and rules can be sorted and filtered by each.
"""


@dataclass(frozen=True)
class Ratio:
    """A measure as a ratio of integers, which decides bounds exactly.

    Args:
        parts: Function from n, x, y, b and n_rows to numerator and denominator, which is never negative.
        degree: The largest number of counts that are multiplied with each other.
        squared: Whether the ratio is the square of the measure.
    """

    parts: Callable[[Any, Any, Any, Any, Any], tuple[Any, Any]]
    degree: int
    squared: bool = False


@dataclass(frozen=True)
class Measure:
    """A named measure.

    The docstring of its function has the formula and the reference.

    Args:
        name: Name of the measure.
        function: Function from counts to values.
        low: Lower end of the range.
        high: Upper end of the range.
        independent: Value for independent sides; ``None`` if it depends on the counts.
        ratio: The measure as a ratio of integers; without it bounds are decided in floating point.
        heading: Its column; by default its name in words.
        help: What it is, in one sentence for a page; by default the first line of the docstring of its function.
        percent: Whether pages show it in percent.
        shown: Where it is shown.

    Examples:
        >>> MEASURES["yules_q"].label, MEASURES["lift"].formula, MEASURES["zhang"].reference
        ('yules q', 'n·b / (x·y)', 'Zhang, Association rules, PAKDD 2000')
    """

    name: str
    function: Callable[[Counts], Floats]
    low: float
    high: float
    independent: float | None = None
    ratio: Ratio | None = None
    heading: str = ""
    help: str = ""
    percent: bool = False
    shown: tuple[Shown, ...] = ()

    def __call__(self, counts: Counts) -> Floats:
        return self.function(counts)

    @property
    def label(self) -> str:
        """The heading of its column."""
        return self.heading or self.name.replace("_", " ")

    @property
    def formula(self) -> str:
        """The formula, from the docstring of its function."""
        return self._documented("Formula: ", r"\. Range:")

    @property
    def reference(self) -> str:
        """The reference, from the docstring of its function."""
        return self._documented("Reference: ", r"\.\n")

    @property
    def description(self) -> str:
        """What it is, in one sentence."""
        return self.help or (self.function.__doc__ or "").partition("\n")[0]

    def _documented(self, start: str, end: str) -> str:
        found = re.search(f"{start}(.*?){end}", f"{self.function.__doc__ or ''}\n", re.DOTALL)
        return " ".join(found[1].split()) if found else ""


class Measures(Mapping[str, Measure]):
    """The measures by name: those of this package, and those that other packages add as ``thence.measures``.

    Examples:
        >>> [each.name for each in MEASURES.shown("text")]
        ['support', 'confidence', 'zhang']
        >>> MEASURES["lft"]
        Traceback (most recent call last):
        thence.errors.ConfigError: unknown measure 'lft' (did you mean 'lift'?)
    """

    def __init__(self, *built_in: Measure) -> None:
        self._own = {each.name: each for each in built_in}
        names = dict.fromkeys(self._own, "")
        self._all: Registry[Measure] = Registry("measure", names, group="thence.measures", of=Measure)

    def __getitem__(self, name: str) -> Measure:
        return self._own.get(name) or replace(self._all.load(name), name=name)

    def __contains__(self, name: object) -> bool:
        return name in self._all

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all.names())

    def shown(self, where: Shown) -> list[Measure]:
        """Return the measures that are shown somewhere.

        Args:
            where: Where.
        """
        return [measure for measure in self.values() if where in measure.shown]


MEASURES = Measures(
    Measure(
        "support",
        support,
        0,
        1,
        None,
        Ratio(lambda n, x, y, b, rows: (b, n), 1),
        help="The share of all rows in which condition and conclusion are true",
        percent=True,
        shown=("text", "file", "page"),
    ),
    Measure(
        "confidence",
        confidence,
        0,
        1,
        None,
        Ratio(lambda n, x, y, b, rows: (b, x), 1),
        help="The share of the rows with the condition in which the conclusion is true",
        percent=True,
        shown=("text", "file", "page"),
    ),
    Measure(
        "rule_coverage",
        rule_coverage,
        0,
        1,
        None,
        Ratio(lambda n, x, y, b, rows: (x, n), 1),
        heading="coverage",
        percent=True,
        shown=("file",),
    ),
    Measure("consequent_support", consequent_support, 0, 1, None, Ratio(lambda n, x, y, b, rows: (y, n), 1)),
    Measure(
        "zhang",
        zhang,
        -1,
        1,
        0,
        Ratio(lambda n, x, y, b, rows: (n * b - x * y, np.maximum(b * (n - x), x * (y - b))), 2),
        heading="Zhang",
        help="Strength of the association, from −1 to 1; 0 is none",
        shown=("text", "file", "page"),
    ),
    Measure(
        "lift",
        lift,
        0,
        inf,
        1,
        Ratio(lambda n, x, y, b, rows: (n * b, x * y), 2),
        help="Confidence divided by how often the conclusion is true anyway",
        shown=("file", "page"),
    ),
    Measure("leverage", leverage, -0.25, 0.25, 0, Ratio(lambda n, x, y, b, rows: (n * b - x * y, n * n), 2)),
    Measure("conviction", conviction, 0, inf, 1, Ratio(lambda n, x, y, b, rows: (x * (n - y), n * (x - b)), 2)),
    Measure(
        "yules_q",
        yules_q,
        -1,
        1,
        0,
        Ratio(
            lambda n, x, y, b, rows: (
                b * (n - x - y + b) - (x - b) * (y - b),
                b * (n - x - y + b) + (x - b) * (y - b),
            ),
            2,
        ),
    ),
    Measure(
        "interestingness", interestingness, 0, 1, None, Ratio(lambda n, x, y, b, rows: (b * b * (n - b), x * y * n), 3)
    ),
    Measure("jaccard", jaccard, 0, 1, None, Ratio(lambda n, x, y, b, rows: (b, x + y - b), 1)),
    Measure("certainty", certainty, -inf, 1, 0, Ratio(lambda n, x, y, b, rows: (n * b - x * y, x * (n - y)), 2)),
    Measure("kulczynski", kulczynski, 0, 1, None, Ratio(lambda n, x, y, b, rows: (b * (x + y), 2 * x * y), 2)),
    Measure("all_confidence", all_confidence, 0, 1, None, Ratio(lambda n, x, y, b, rows: (b, np.maximum(x, y)), 1)),
    Measure("representativity", representativity, 0, 1, None, Ratio(lambda n, x, y, b, rows: (n, rows), 1)),
    Measure("cosine", cosine, 0, 1, None, Ratio(lambda n, x, y, b, rows: (b * b, x * y), 2, squared=True)),
    Measure(
        "odds_ratio", odds_ratio, 0, inf, 1, Ratio(lambda n, x, y, b, rows: (b * (n - x - y + b), (x - b) * (y - b)), 2)
    ),
    Measure(
        "chi_squared",
        chi_squared,
        0,
        inf,
        0,
        Ratio(lambda n, x, y, b, rows: (n * (n * b - x * y) ** 2, x * y * (n - x) * (n - y)), 5),
    ),
)
