"""Tables written out row by row, for miners that know no better: codes in a matrix, within a bound on rows.

Lifted tables stand for frames × embeddings that are never written out; a miner that needs them as a matrix asks here
and fails with advice where there are too many. This module mines and counts nothing.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thence.errors import MiningError
from thence.tables.transactions import Block, TransactionTable

__all__ = ["MAX_ROWS", "canonical_order", "flat_codes", "one_hot", "require_codes"]

MAX_ROWS = 1_000_000
"""Rows of a block that are written out at most, unless a miner is told otherwise."""


def require_codes(table: object, miner: str) -> None:
    """Refuse everything but a discretized table."""
    if not isinstance(table, TransactionTable):
        raise MiningError(
            f"{miner} reads discretized transactions, not a {type(table).__name__}",
            hint="give it th.transactions(…) or TransactionTable.from_frame(…)",
        )


def flat_codes(block: Block, *, max_rows: int, miner: str) -> npt.NDArray[np.int16]:
    """The codes of a block, rows × columns."""
    if block.n_rows > max_rows:
        raise MiningError(
            f"{miner} needs every row written out, and this table stands for {block.n_rows:,} of them "
            f"({block.n_frames:,} frames × {block.n_embeddings:,} embeddings); the limit is {max_rows:,}",
            hint="use Exact or Aerial, which need not, or fewer frames or embeddings, or raise max_rows",
        )
    return block.flat()


def one_hot(block: Block, codes: npt.NDArray[np.int16], items: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Rows × the given items: whether the item holds. A missing value has none of its column's items."""
    columns = block.column_of_item[items]
    return np.asarray(codes[:, columns] == (items - block.offsets[columns])[None, :])


def canonical_order(block: Block) -> npt.NDArray[np.int64]:
    """All items, ordered by what they say and not by where their column stands in the table."""
    by_feature = sorted(range(len(block.columns)), key=lambda at: block.columns[at].feature.key)
    runs = [np.arange(block.offsets[at], block.offsets[at + 1]) for at in by_feature]
    return np.concatenate([np.zeros(0, np.int64), *runs])
