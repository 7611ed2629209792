"""Pools: many series of numbers of which bins are fitted together, read part by part and never joined or sorted.

Order statistics are found exactly by counting the leading bits of all numbers, then the next bits of those that share
them, so that memory does not grow with the numbers. Everything here equals what the joined numbers would give.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property

import numpy as np
import numpy.typing as npt

from thence.data.readings.resolution import find_decimals_of, snap
from thence.tables.bitmaps.bits import kernel

FloatArray = npt.NDArray[np.float64]
Parts = Callable[[], Iterable[FloatArray]]

_BITS = 16
_BUCKETS = 1 << _BITS
_ROUNDS = 64 // _BITS
# Different values that are put in order at a time.
_LEVELS = 1 << 22


class Pool:
    """Finite numbers in parts, in any order.

    Args:
        parts: Returns the parts anew each time; NaN and infinite values in them are ignored.

    Examples:
        >>> pool = Pool(lambda: [np.array([3.0, np.nan, 1.0]), np.array([2.0])])
        >>> pool.size, pool.order_statistics(np.array([0, 2])).tolist()
        (3, [1.0, 3.0])
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def __iter__(self) -> Iterator[FloatArray]:
        """Yield the finite numbers part by part."""
        for part in self._parts():
            flat = np.ascontiguousarray(part, np.float64).reshape(-1)
            finite = np.isfinite(flat)
            yield flat if finite.all() else flat[finite]

    def joined(self) -> FloatArray:
        """Return all numbers in one array, also those that are not finite."""
        return np.concatenate([np.empty(0), *(np.asarray(part, np.float64).reshape(-1) for part in self._parts())])

    def without(self, values: FloatArray) -> Pool:
        """Return the pool without some values.

        Args:
            values: The values.
        """
        return Pool(lambda: (part[~np.isin(part, values)] for part in self)) if len(values) else self

    def snapped(self, decimals: int | None) -> Pool:
        """Return the pool with numbers rounded as ``snap`` does.

        Args:
            decimals: The number of decimals; ``None`` leaves the numbers as they are.
        """
        return self if decimals is None else Pool(lambda: (snap(part, decimals) for part in self))

    @cached_property
    def _sizes_and_ends(self) -> tuple[int, float, float]:
        size, low, high = 0, np.inf, -np.inf
        for part in self:
            if part.size:
                size += part.size
                low, high = min(low, float(part.min())), max(high, float(part.max()))
        return size, low, high

    @property
    def size(self) -> int:
        """Number of finite numbers."""
        return self._sizes_and_ends[0]

    @property
    def lowest(self) -> float:
        """The lowest number; infinite without any."""
        return self._sizes_and_ends[1]

    @property
    def highest(self) -> float:
        """The highest number; −∞ without any."""
        return self._sizes_and_ends[2]

    @cached_property
    def decimals(self) -> int | None:
        """How many decimals the numbers are written with, as ``find_decimals`` finds it."""
        if not self.size:
            return None
        largest = max(abs(self.lowest), abs(self.highest))
        return find_decimals_of(self.size, largest, self._every, self._levels)

    def _every(self, step: int) -> FloatArray:
        """Each ``step``-th number."""
        out, at = [np.empty(0)], 0
        for part in self:
            out.append(part[-at % step :: step])
            at += part.size
        return np.concatenate(out)

    def _levels(self) -> FloatArray:
        """The different numbers in increasing order."""
        found, waiting, size = np.empty(0), [np.empty(0)], 0
        for part in self:
            waiting.append(np.unique(part))
            size += waiting[-1].size
            if size > _LEVELS:
                found, waiting, size = np.unique(np.concatenate([found, *waiting])), [np.empty(0)], 0
        return np.unique(np.concatenate([found, *waiting]))

    def order_statistics(self, at: npt.NDArray[np.int64]) -> FloatArray:
        """Return the numbers at some places in sorted order.

        Args:
            at: The places, from 0.
        """
        rest = np.asarray(at, np.int64).copy()
        prefix = np.zeros(len(rest), np.uint64)
        for round_ in range(_ROUNDS if len(rest) else 0):
            known, slot = np.unique(prefix, return_inverse=True)
            counts = np.zeros((len(known), _BUCKETS), np.int64)
            for part in self:
                _count_bits(part.view(np.uint64), known, round_, counts)
            before = np.concatenate([np.zeros((len(known), 1), np.int64), np.cumsum(counts, axis=1)], axis=1)
            for number, row in enumerate(slot.reshape(-1).tolist()):
                bucket = int(np.searchsorted(before[row], rest[number], side="right")) - 1
                rest[number] -= before[row, bucket]
                prefix[number] = (prefix[number] << np.uint64(_BITS)) | np.uint64(bucket)
        negative = (prefix >> np.uint64(63)) == 0
        bits = np.where(negative, ~prefix, prefix ^ np.uint64(1 << 63))
        return bits.view(np.float64) + 0.0

    def count(self, levels: FloatArray) -> npt.NDArray[np.int64]:
        """Return how often each of some different levels occurs.

        Args:
            levels: The levels.
        """
        out = np.zeros(len(levels), np.int64)
        for part in self if len(levels) else ():
            out += [np.count_nonzero(part == level) for level in levels.tolist()]
        return out

    def neighbours(self, cuts: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the highest number below each cut, and the lowest at the cut or above it; infinite without any.

        Args:
            cuts: Cuts in increasing order.
        """
        below, above = np.full(len(cuts), -np.inf), np.full(len(cuts), np.inf)
        for part in self if len(cuts) else ():
            _find_neighbours(part, np.ascontiguousarray(cuts), below, above)
        # What is next to one cut bounds what is next to the cuts on either side.
        return np.maximum.accumulate(below), np.minimum.accumulate(above[::-1])[::-1]


@kernel
def _count_bits(
    bits: npt.NDArray[np.uint64], known: npt.NDArray[np.uint64], round_: int, counts: npt.NDArray[np.int64]
) -> None:
    """Count the next bits of the numbers whose leading bits are known; keys are in the order of the numbers."""
    top = np.uint64(1) << np.uint64(63)
    shift = np.uint64(64 - 16 * (round_ + 1))
    mask = np.uint64(0xFFFF)
    last, at = np.uint64(0), 0
    for number in range(bits.size):
        key = bits[number]
        if key == top:  # −0 is 0
            key = np.uint64(0)
        key = ~key if key & top else key | top
        if round_ > 0:
            leading = key >> (shift + np.uint64(16))
            if number == 0 or leading != last:
                at = np.searchsorted(known, leading)
                if at < known.size and known[at] != leading:
                    at = known.size
                last = leading
            if at == known.size:
                continue
        counts[at, (key >> shift) & mask] += 1


@kernel
def _find_neighbours(values: FloatArray, cuts: FloatArray, below: FloatArray, above: FloatArray) -> None:
    """Note the highest value in the range that ends at each cut, and the lowest in the range that begins there."""
    for number in range(values.size):
        value = values[number]
        at = np.searchsorted(cuts, value, side="right")
        if at < cuts.size and value > below[at]:
            below[at] = value
        if at > 0 and value < above[at - 1]:
            above[at - 1] = value
