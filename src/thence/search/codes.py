"""The codes of a discretized table for miners: a check that a table has them, and their matrix for those that need it.

Lifted tables have frames × embeddings as rows, which are never stored. A miner that needs them as a matrix gets it
here, up to a limit on the number of rows. This module must not mine or count.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thence.errors import MiningError
from thence.tables.blocks import Block
from thence.tables.transactions import TransactionTable

MAX_ROWS = 1_000_000
"""The default limit on the rows of a block that are written out."""


def require_codes(table: object, miner: str) -> None:
    """Raise ``MiningError`` unless ``table`` is a discretized table; ``miner`` is the name for the message."""
    if not isinstance(table, TransactionTable):
        raise MiningError(
            f"{miner} reads discretized transactions, not a {type(table).__name__}",
            hint="pass th.transactions(…) or TransactionTable.from_frame(…)",
        )


def expand_codes(block: Block, *, max_rows: int, miner: str) -> npt.NDArray[np.int16]:
    """Return the codes of a block as a matrix, rows × columns.

    Args:
        block: A block of a table.
        max_rows: The largest number of rows to write out.
        miner: The name of the miner for the message.

    Raises:
        MiningError: If the block has more rows.
    """
    if block.n_rows > max_rows:
        raise MiningError(
            f"{miner} needs every row in memory, but the table has {block.n_rows:,} rows "
            f"({block.n_frames:,} frames × {block.n_embeddings:,} embeddings); the limit is {max_rows:,}",
            hint="use Exact or Aerial, which do not need them, use fewer frames or embeddings, or raise max_rows",
        )
    return block.flat()


def encode_one_hot(block: Block, codes: npt.NDArray[np.int16], items: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Return for each row whether each of some items holds. A missing value has none of its column's items.

    Args:
        block: The block that the codes are from.
        codes: The codes, rows × columns.
        items: The items, which become the columns of the result.
    """
    columns = block.column_of_item[items]
    return np.asarray(codes[:, columns] == (items - block.offsets[columns])[None, :])


def order_items(block: Block) -> npt.NDArray[np.int64]:
    """Return all items of a block, ordered by their features and not by the order of the columns in the table."""
    by_feature = sorted(range(len(block.columns)), key=lambda at: block.columns[at].feature.key)
    runs = [np.arange(block.offsets[at], block.offsets[at + 1]) for at in by_feature]
    return np.concatenate([np.zeros(0, np.int64), *runs])
