"""Training rows of a block, made on the fly: a row is (time frame, embedding), and none is ever written out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thence.miners.aerial.rows import Codes
from thence.tables.blocks import Block

__all__ = ["BlockRows"]


@dataclass(frozen=True, eq=False)
class BlockRows:
    """The rows of some columns of a block, frames running fastest, as ``Block.flat`` orders them."""

    block: Block
    columns: NDArray[np.int64]

    @property
    def n_rows(self) -> int:
        return self.block.n_rows

    def take(self, indices: NDArray[np.int64], /) -> Codes:
        embedding, frame = np.divmod(indices, self.block.n_frames)
        out = np.empty((len(indices), len(self.columns)), np.int16)
        for at, c in enumerate(self.columns.tolist()):
            column = self.block.columns[c]
            series = column.series[embedding] if len(column.series) > 1 else np.full(len(indices), column.series[0])
            codes = column.codes[series, 0 if column.is_static else frame]
            out[:, at] = np.where(series < 0, -1, codes)
        return out

    def sample(self, rng: np.random.Generator, size: int, /) -> Codes:
        return self.take(rng.integers(0, self.n_rows, size))
