"""Bitmaps on a device of torch: unpacked stretch by stretch, and multiplied.

The rows that two bitmaps share are the product of two vectors of zeros and ones, so that the counts of many antecedents
with many items are one product of matrices. Products are of 8-bit integers added up in 32 bits: exact. This module
must not know what is counted.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from thence.tables.bitmaps.bits import Words

__all__ = ["DeviceBits", "count_common", "multiply", "popcount_words", "smallest_count"]

# Matrices of 8-bit integers are multiplied in tiles of this many rows.
_TILE = 32
# The bitmaps are unpacked whole if they take no more bytes than this, else in stretches of this size.
_STRETCH_BYTES = {"cuda": 8 << 30, "cpu": 256 << 20}


class DeviceBits:
    """Bitmaps on a device.

    Args:
        words: One bitmap per row.
        device: Where they are kept.
        like: Bitmaps over the same rows, to be unpacked in the same stretches.
        stretch_bytes: The most bytes that are unpacked at once.

    Examples:
        >>> bits = DeviceBits(np.array([[5], [3]], np.uint64), torch.device("cpu"))
        >>> bits.height, bits.unpack(next(bits.stretches()))[:2, :4].tolist()
        (2, [[1, 0, 1, 0], [1, 1, 0, 0]])
    """

    def __init__(
        self,
        words: Words,
        device: torch.device,
        *,
        like: DeviceBits | None = None,
        stretch_bytes: int | None = None,
    ) -> None:
        self.height, self.width = words.shape
        padded = np.zeros((max(-(-self.height // _TILE), 1) * _TILE, max(self.width, 1)), np.uint64)
        padded[: self.height, : self.width] = words
        self.words = torch.from_numpy(padded.view(np.int64)).to(device)
        self._bytes = self.words.view(torch.uint8)
        self._shifts = torch.arange(8, dtype=torch.uint8, device=device)
        room = stretch_bytes or _STRETCH_BYTES[device.type]
        fits = max(room // (8 * len(padded) * 8), 1) * 8
        self._step: int = min(fits, self._bytes.shape[1]) if like is None else like._step
        self._whole = self._unpacked(slice(None)) if self._step == self._bytes.shape[1] else None

    @property
    def stretch_rows(self) -> int:
        """The number of rows of the table that are unpacked at once."""
        return 8 * self._step

    def stretches(self) -> Iterator[slice]:
        """Yield the stretches of bytes that are unpacked at once; each has a multiple of 64 rows of the table."""
        for start in range(0, self._bytes.shape[1], self._step):
            yield slice(start, start + self._step)

    def unpack(self, stretch: slice) -> Tensor:
        """Return a stretch of all bitmaps as zeros and ones, with empty bitmaps added to a whole number of tiles."""
        return self._unpacked(stretch) if self._whole is None else self._whole

    def _unpacked(self, stretch: slice) -> Tensor:
        part = self._bytes[:, stretch]
        out = torch.empty((*part.shape, 8), dtype=torch.uint8, device=part.device)
        torch.bitwise_right_shift(part.unsqueeze(-1), self._shifts, out=out)
        out &= 1
        return out.view(torch.int8).flatten(1)


def multiply(left: Tensor, right: Tensor) -> Tensor:
    """Return the number of ones that each left row shares with each right row, as 32-bit integers.

    Args:
        left: Rows of zeros and ones; any number of them.
        right: Rows of zeros and ones, a whole number of tiles.
    """
    missing = -len(left) % _TILE
    if missing:
        left = torch.cat([left, left.new_zeros(missing, left.shape[1])])
    out: Tensor = torch._int_mm(left, right.t())
    return out[: len(out) - missing] if missing else out


def count_common(left: DeviceBits, members: Tensor, right: DeviceBits) -> Tensor:
    """Count the rows that each intersection of left bitmaps shares with each right bitmap.

    Args:
        left: Bitmaps.
        members: Matrix (intersections × bitmaps) of the left bitmaps to intersect.
        right: Bitmaps over the same rows, unpacked in the same stretches; may be the same object.

    Examples:
        >>> bits = DeviceBits(np.array([[7], [3], [5]], np.uint64), torch.device("cpu"))
        >>> count_common(bits, torch.tensor([[0, 1], [1, 2]]), bits).tolist()
        [[2, 2, 1], [1, 1, 1]]
    """
    total = torch.zeros((len(members), len(right.words)), dtype=torch.int32, device=members.device)
    for stretch in left.stretches():
        ones = left.unpack(stretch)
        rows = ones[members[:, 0]]
        for position in range(1, members.shape[1]):
            rows = rows & ones[members[:, position]]
        total += multiply(rows, ones if right is left else right.unpack(stretch))
    return total[:, : right.height]


def popcount_words(words: Tensor) -> Tensor:
    """Return the number of ones in each row of 64-bit words.

    >>> popcount_words(torch.tensor([[-1, 1], [0, 6]])).tolist()
    [65, 2]
    """
    count = words - ((words >> 1) & 0x5555555555555555)
    count = (count & 0x3333333333333333) + ((count >> 2) & 0x3333333333333333)
    count = (count + (count >> 4)) & 0x0F0F0F0F0F0F0F0F
    return ((count * 0x0101010101010101) >> 56).sum(dim=1)


def smallest_count(n: Tensor, p: int, q: int) -> Tensor:
    """Return the smallest k with k/n ≥ p/q, for each n.

    >>> smallest_count(torch.tensor([4, 5]), 4, 5).tolist()
    [4, 4]
    """
    return -torch.div(-p * n, q, rounding_mode="floor")
