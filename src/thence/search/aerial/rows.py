"""Where training rows come from: an array in memory, a block of a table, or any source of batches of codes.

A source that streams from disk or makes its rows on the fly only has to know how many rows it has and how to return
some of them. This module must not know about networks or rules.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from thence.errors import InputError
from thence.tables.blocks import Block

Codes = NDArray[np.integer]
"""Rows × features of class codes, −1 where the value is missing."""

SCAN = 100_000
"""The most rows of a streamed table that are read to decide whether there is anything to learn."""

MIN_ROWS = 4
"""Fewer rows than this say nothing about how features depend on each other."""


class RowSource(Protocol):
    """Rows of codes that training can read in any order."""

    @property
    def n_rows(self) -> int:
        """The number of rows."""

    def take(self, indices: NDArray[np.int64], /) -> Codes:
        """Return the rows with these indices, in this order."""

    def sample(self, rng: np.random.Generator, size: int, /) -> Codes:
        """Return ``size`` random rows, with or without replacement, drawn with ``rng`` only."""


@dataclass(frozen=True, eq=False)
class ArrayRows:
    """Rows of an array in memory (or memory-mapped).

    Args:
        codes: The class codes, rows × features, −1 where the value is missing.

    Examples:
        >>> ArrayRows(np.array([[0, 1], [1, -1]])).take(np.array([1])).tolist()
        [[1, -1]]
    """

    codes: Codes

    def __post_init__(self) -> None:
        if self.codes.ndim != 2 or not np.issubdtype(self.codes.dtype, np.integer):
            raise InputError(
                f"codes must be a two-dimensional integer array, got {self.codes.dtype}"
                f" with {self.codes.ndim} dimensions"
            )

    @property
    def n_rows(self) -> int:
        return len(self.codes)

    def take(self, indices: NDArray[np.int64], /) -> Codes:
        return self.codes[indices]

    def sample(self, rng: np.random.Generator, size: int, /) -> Codes:
        return self.codes[rng.integers(0, self.n_rows, size)]


@dataclass(frozen=True, eq=False)
class BlockRows:
    """Rows of a block, made on the fly: a row is (time frame, embedding), and the block is never written out.

    Args:
        block: The block of a transaction table.
        columns: Which of its columns to read. Frames run fastest, as in ``Block.flat``.
    """

    block: Block
    columns: NDArray[np.int64]

    @property
    def n_rows(self) -> int:
        return self.block.n_rows

    def take(self, indices: NDArray[np.int64], /) -> Codes:
        embedding, frame = np.divmod(indices, self.block.n_frames)
        if self.block.site_of is not None:
            starts = np.concatenate([[0], np.cumsum(self.block.frames_of)])
            embedding = np.searchsorted(starts, indices, side="right") - 1
            frame = indices - starts[embedding]
        out = np.empty((len(indices), len(self.columns)), np.int16)
        for at, c in enumerate(self.columns.tolist()):
            column = self.block.columns[c]
            series = column.series[embedding] if len(column.series) > 1 else np.full(len(indices), column.series[0])
            codes = column.codes[series, 0 if column.is_static else frame]
            out[:, at] = np.where(series < 0, -1, codes)
        return out

    def sample(self, rng: np.random.Generator, size: int, /) -> Codes:
        return self.take(rng.integers(0, self.n_rows, size))


def check_codes(codes: Codes, cardinalities: NDArray[np.int64]) -> None:
    """Check the number of features and the range of the codes of each feature.

    Args:
        codes: The codes, rows × features.
        cardinalities: The number of classes of each feature.

    Raises:
        InputError: If the number of features differs, or a code is outside its feature's classes.
    """
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


def read_sample(rows: RowSource, seed: int) -> Codes:
    """Return all rows of a source, or a random sample of a long one that streams.

    Args:
        rows: The source.
        seed: Random seed of the sample.
    """
    if isinstance(rows, ArrayRows):
        return rows.codes
    if rows.n_rows <= SCAN:
        return rows.take(np.arange(rows.n_rows, dtype=np.int64))
    return rows.sample(np.random.default_rng(seed), SCAN)


def compute_marginal_loss(codes: Codes, cardinalities: NDArray[np.int64]) -> float:
    """Compute the loss of a model that always predicts the class frequencies: what a network has to beat.

    Args:
        codes: The codes, rows × features.
        cardinalities: The number of classes of each feature.

    Returns:
        The mean binary cross-entropy, or NaN if there are no features.

    Examples:
        >>> round(compute_marginal_loss(np.array([[0, 0], [1, 0]]), np.array([2, 2])), 3)
        0.347
    """
    losses = []
    for feature, classes in enumerate(cardinalities):
        known = codes[:, feature][codes[:, feature] >= 0]
        share = np.bincount(known, minlength=int(classes)) / max(len(known), 1)
        rest = 1.0 - share
        losses.append(-(share * np.log(np.where(share > 0, share, 1.0)) + rest * np.log(np.where(rest > 0, rest, 1.0))))
    return float(np.concatenate(losses).mean()) if losses else float("nan")


def explain_trivial(codes: Codes) -> str | None:
    """Return why nothing can be learned from these rows, or ``None`` if something can.

    >>> explain_trivial(np.array([[0, 1]] * 5))
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
