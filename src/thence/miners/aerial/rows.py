"""Where training rows come from: an array in memory, or anything that can hand out batches of codes.

A source that streams from disk or makes its rows on the fly only has to know how many rows it stands for and how to
give some of them. This module must not know about networks or rules.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from thence.errors import InputError

__all__ = ["ArrayRows", "Codes", "RowSource", "loss_of_knowing_nothing", "why_trivial"]

Codes = NDArray[np.integer]
"""Rows × features of class codes, −1 where the value is missing."""

SCAN = 100_000
"""Rows looked at to decide whether a streamed table has anything to learn."""

MIN_ROWS = 4
"""Fewer rows than this say nothing about how features depend on each other."""


class RowSource(Protocol):
    """Rows of codes that training can ask for, in any order."""

    @property
    def n_rows(self) -> int:
        """How many rows there are."""

    def take(self, indices: NDArray[np.int64], /) -> Codes:
        """The rows with these numbers, in this order."""

    def sample(self, rng: np.random.Generator, size: int, /) -> Codes:
        """``size`` rows drawn at random, with replacement or not, with the given generator only."""


@dataclass(frozen=True, eq=False)
class ArrayRows:
    """Rows of an array in memory (or memory-mapped).

    >>> ArrayRows(np.array([[0, 1], [1, -1]])).take(np.array([1])).tolist()
    [[1, -1]]
    """

    codes: Codes

    def __post_init__(self) -> None:
        if self.codes.ndim != 2 or not np.issubdtype(self.codes.dtype, np.integer):
            raise InputError(
                f"codes must be a two-dimensional array of whole numbers, got {self.codes.dtype}"
                f" with {self.codes.ndim} dimensions"
            )

    @property
    def n_rows(self) -> int:
        return len(self.codes)

    def take(self, indices: NDArray[np.int64], /) -> Codes:
        return self.codes[indices]

    def sample(self, rng: np.random.Generator, size: int, /) -> Codes:
        return self.codes[rng.integers(0, self.n_rows, size)]


def check_codes(codes: Codes, cardinalities: NDArray[np.int64]) -> None:
    """Raise when a batch has the wrong number of features or a code outside its feature's classes."""
    if codes.shape[1] != len(cardinalities):
        raise InputError(f"rows have {codes.shape[1]} features, but {len(cardinalities)} cardinalities were given")
    if codes.size == 0:
        return
    wrong = (codes.min(axis=0) < -1) | (codes.max(axis=0) >= cardinalities)
    if wrong.any():
        feature = int(np.flatnonzero(wrong)[0])
        raise InputError(
            f"feature {feature} has codes {codes[:, feature].min()} to {codes[:, feature].max()},"
            f" but {cardinalities[feature]} classes",
            hint="codes run from 0 to classes − 1, and −1 means missing",
        )


def scan(rows: RowSource, seed: int) -> Codes:
    """All rows of a source in memory, or a sample of a source that streams."""
    if isinstance(rows, ArrayRows):
        return rows.codes
    if rows.n_rows <= SCAN:
        return rows.take(np.arange(rows.n_rows, dtype=np.int64))
    return rows.sample(np.random.default_rng(seed), SCAN)


def loss_of_knowing_nothing(codes: Codes, cardinalities: NDArray[np.int64]) -> float:
    """Mean binary cross-entropy of always answering with how often each class occurs: what a network has to beat.

    >>> round(loss_of_knowing_nothing(np.array([[0, 0], [1, 0]]), np.array([2, 2])), 3)
    0.347
    """
    losses = []
    for feature, classes in enumerate(cardinalities):
        known = codes[:, feature][codes[:, feature] >= 0]
        share = np.bincount(known, minlength=int(classes)) / max(len(known), 1)
        rest = 1.0 - share
        losses.append(-(share * np.log(np.where(share > 0, share, 1.0)) + rest * np.log(np.where(rest > 0, rest, 1.0))))
    return float(np.concatenate(losses).mean()) if losses else float("nan")


def why_trivial(codes: Codes) -> str | None:
    """Why nothing can be learnt from these rows, or ``None`` when something can.

    >>> why_trivial(np.array([[0, 1]] * 5))
    'every feature is constant'
    """
    n_rows, n_features = codes.shape
    if n_rows < MIN_ROWS:
        return f"{n_rows} rows are too few: at least {MIN_ROWS} are needed"
    if n_features < 2:
        return f"{n_features} features are too few: a rule needs at least two"
    highest = codes.max(axis=0)
    seen = highest >= 0
    if not seen.any():
        return "every value is missing"
    if seen.sum() < 2:
        return "only one feature has any value: a rule needs at least two"
    lowest = np.where(codes < 0, highest, codes).min(axis=0)
    if (lowest == highest).all():
        return "every feature is constant"
    return None
