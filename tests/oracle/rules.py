"""Rules counted row by row on the tables of ``tests.oracle.tables``, and their measures as fractions.

An item is evaluated on the raw reading in a row, not on its bin, except for ranks, which have no number. A set of rows
is a Python integer with one bit per row.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from tests.oracle.tables import Block, Cell, Column

Test = tuple[str, str, Any]
"""A feature, an operator and what the feature is compared with."""

Counts = tuple[int, int, int, int]
"""Rows over which a rule is counted, in which the antecedent holds, the consequent holds, and both hold."""


def holds(operator: str, value: Any, cell: Cell, *, rank: bool) -> bool:
    """Whether a value satisfies a test, by the meaning of its operator.

    Args:
        operator: ``=``, ``≠``, ``<``, ``≤``, ``>``, ``≥``, ``∈`` or ``∉``.
        value: What is compared with: a number, a category, a set of them, or a range with ``low`` and ``high``.
        cell: The value in a row.
        rank: Whether it is a rank: then the middle of its share of the history is compared.
    """
    if operator in ("≠", "∉"):
        return not holds("=" if operator == "≠" else "∈", value, cell, rank=rank)
    actual = cell.raw
    if rank:
        if isinstance(cell.code, tuple):
            low, high = cell.code
            actual = (max(low, 0.0) + min(high, 1.0)) / 2
        else:
            actual = cell.code
    if operator == "=":
        return bool(actual == value and isinstance(actual, bool) == isinstance(value, bool))
    if isinstance(value, frozenset):
        return actual in value
    if not isinstance(actual, float):
        return False
    if operator == "∈":
        return bool(value.low <= actual < value.high)
    return bool({"<": actual < value, "≤": actual <= value, ">": actual > value, "≥": actual >= value}[operator])


@dataclass
class Counter:
    """Counts rules on a block; the rows of each test and of each feature are kept."""

    block: Block
    kept: dict[Any, int] = field(default_factory=dict)

    @property
    def everything(self) -> int:
        return (1 << self.block.rows) - 1

    def present(self, feature: str) -> int:
        """The rows in which a feature is known."""
        if feature not in self.kept:
            cells = self.block.columns[feature].cells
            self.kept[feature] = _bits(cell is not None for cell in cells)
        return self.kept[feature]

    def rows(self, feature: str, operator: str, value: Any) -> int:
        """The rows in which a test holds."""
        key = (feature, operator, value)
        if key not in self.kept:
            rank = ".rank" in feature
            cells = self.block.columns[feature].cells
            self.kept[key] = _bits(cell is not None and holds(operator, value, cell, rank=rank) for cell in cells)
        return self.kept[key]

    def count(self, antecedent: Sequence[Test], consequent: Test, *, present: bool) -> Counts:
        """Count a rule over the rows in which all its features are present, or over all rows."""
        counted = self.everything
        left = self.everything
        for feature, operator, value in antecedent:
            left &= self.rows(feature, operator, value)
            counted &= self.present(feature)
        right = self.rows(*consequent)
        counted &= self.present(consequent[0])
        if not present:
            counted = self.everything
        return (
            counted.bit_count(), (left & counted).bit_count(), (right & counted).bit_count(),
            (left & right & counted).bit_count(),
        )  # fmt: skip

    def places(
        self, antecedent: Sequence[Test], consequent: Test, *, present: bool
    ) -> tuple[Fraction, Fraction, Fraction]:
        """Support over time, support over embeddings, and the lowest confidence of an embedding where it applies."""
        frames, places = self.block.frames, len(self.block.places)
        counted = left = self.everything
        for feature, operator, value in antecedent:
            left &= self.rows(feature, operator, value)
            counted &= self.present(feature)
        counted &= self.present(consequent[0])
        if present:
            left &= counted
        both = left & self.rows(*consequent)
        window = (1 << frames) - 1
        parts = [(left >> (p * frames) & window, both >> (p * frames) & window) for p in range(places)]
        union = 0
        for _, own in parts:
            union |= own
        confidences = [Fraction(b.bit_count(), x.bit_count()) for x, b in parts if x]
        return (
            Fraction(union.bit_count(), frames),
            Fraction(sum(b > 0 for _, b in parts), places),
            min(confidences, default=Fraction(0)),
        )

    def items(self) -> Iterator[tuple[str, Any, int, Column]]:
        """Every item: a feature, one of its values in the table, and the rows in which it holds."""
        for feature, column in self.block.columns.items():
            for code in {cell.code for cell in column.cells if cell is not None}:
                if column.only is None or code == column.only:
                    cells = column.cells
                    yield feature, code, _bits(cell is not None and cell.code == code for cell in cells), column

    def every_rule(
        self, *, support: Fraction, confidence: Fraction, present: bool
    ) -> Iterator[tuple[tuple[tuple[str, Any], ...], tuple[str, Any], Counts, bool]]:
        """All rules with one or two antecedent items, and whether two of their features are about the same thing.

        Readings of one value are no items, context is no consequent, and a rule holds in at least one row.
        """
        varied = {f for f, c in self.block.columns.items() if len({x.code for x in c.cells if x is not None}) > 1}
        items = [item for item in self.items() if item[3].context or item[0] in varied]
        heads = [item for item in items if not item[3].context and item[0] in varied]
        for size in (1, 2):
            for chosen in itertools.combinations(items, size):
                if size == 2 and chosen[0][0] == chosen[1][0]:
                    continue
                left, known = self.everything, self.everything
                for feature, _, rows, _ in chosen:
                    left &= rows
                    known &= self.present(feature)
                for feature, code, rows, column in heads:
                    if not left & rows or any(feature == other for other, _, _, _ in chosen):
                        continue
                    counted = known & self.present(feature) if present else self.everything
                    n, x = counted.bit_count(), (left & counted).bit_count()
                    b = (left & rows & counted).bit_count()
                    if b and b >= support * n and b >= confidence * x:
                        about = [column.about, *(other.about for _, _, _, other in chosen)]
                        shared = any(p & q for p, q in itertools.combinations(about, 2))
                        y = (rows & counted).bit_count()
                        yield tuple((f, c) for f, c, _, _ in chosen), (feature, code), (n, x, y, b), shared


def _bits(truths: Iterable[bool]) -> int:
    out = 0
    for at, truth in enumerate(truths):
        if truth:
            out |= 1 << at
    return out


def measures(counts: Counts, rows: int) -> dict[str, Fraction | float]:
    """Every measure by the formulas of ``docs/guide/measures.md``; ``cosine`` as its square."""
    n, x, y, b = counts
    d, e, f = n - x - y + b, x - b, y - b

    def over(top: int, bottom: int, otherwise: int = 0) -> Fraction | float:
        return Fraction(top, bottom) if bottom else math.inf if top > 0 else Fraction(otherwise)

    return {
        "support": over(b, n),
        "confidence": over(b, x),
        "rule_coverage": over(x, n),
        "consequent_support": over(y, n),
        "zhang": over(n * b - x * y, max(b * (n - x), x * f)),
        "lift": over(n * b, x * y),
        "leverage": over(n * b - x * y, n * n),
        "conviction": over(x * (n - y), n * e, 1),
        "yules_q": over(b * d - e * f, b * d + e * f),
        "interestingness": over(b * b * (n - b), x * y * n),
        "jaccard": over(b, x + y - b),
        "certainty": over(n * b - x * y, x * (n - y)),
        "kulczynski": over(b * (x + y), 2 * x * y),
        "all_confidence": over(b, max(x, y)),
        "representativity": over(n, rows),
        "cosine": over(b * b, x * y),
        "odds_ratio": over(b * d, e * f, 1),
        "chi_squared": over(n * (n * b - x * y) ** 2, x * y * (n - x) * (n - y)),
    }
