"""The counts of ``thence.bitmaps.counts`` on a torch device: the same integers, from a GPU or a CPU.

Two ways, chosen by ``method``:

- ``"matmul"``: one row of the matrix product [antecedent holds] × [item holds] gives the counts of an antecedent with
  *every* item at once. Zeros and ones are exact in any format, and sums of at most 2²⁴ of them are exact in the
  32-bit floats in which matrix units add, so long tables are cut into blocks of rows and the blocks are added as
  integers. Best where an antecedent has many consequents, which is what miners produce.
- ``"bits"``: AND and popcount on 64-bit words, rule by rule. Needs an eighth of the memory per row, and no more work
  than there are rules.

``"auto"`` takes the product on a GPU unless antecedents have few rules each compared with the number of items.

torch is imported here and nowhere else on the way to a count. This module works on plain arrays only.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from thence.errors import ConfigError, InputError

__all__ = ["METHODS", "count_rules_torch"]

METHODS = ("auto", "matmul", "bits")

# float32 holds every integer up to here.
_EXACT_ROWS = 1 << 24
# Bytes that one batch of intermediate results may take on the device.
_BATCH_BYTES = {"cuda": 4 << 30, "cpu": 64 << 20}
# A matrix unit counts this many items in the time in which the bit operations count one.
_MATMUL_GAIN = 64


def count_rules_torch(
    codes: ArrayLike,
    *,
    cardinalities: ArrayLike,
    antecedents: ArrayLike,
    consequents: ArrayLike,
    denominator: Literal["present", "all"] = "present",
    device: str = "cpu",
    method: str = "auto",
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """``n``, ``n_antecedent``, ``n_consequent`` and ``n_both`` of every rule, counted on a device.

    ``codes`` is a matrix (rows × features) with −1 for missing; items are numbered feature by feature; ``antecedents``
    is padded with −1.

    >>> codes = [[0, 0], [0, 1], [1, 1], [0, -1]]
    >>> counts = count_rules_torch(codes, cardinalities=[2, 2], antecedents=[[0]], consequents=[3])
    >>> [int(column[0]) for column in counts]
    [3, 2, 2, 1]
    """
    if method not in METHODS:
        raise ConfigError(f"unknown method '{method}'", hint="one of " + ", ".join(METHODS))
    if denominator not in ("present", "all"):
        raise InputError(f"unknown denominator {denominator!r}", hint="'present' or 'all'")
    matrix = np.ascontiguousarray(codes, dtype=np.int16)
    sizes = np.asarray(cardinalities, dtype=np.int64).ravel()
    n_items = int(sizes.sum())
    left = np.asarray(antecedents, dtype=np.int64)
    right = np.asarray(consequents, dtype=np.int64).ravel()
    if matrix.ndim != 2 or matrix.shape[1] != len(sizes):
        raise InputError(f"codes of shape {matrix.shape} do not have one column for each of {len(sizes)} cardinalities")
    if left.ndim != 2:
        raise InputError(f"antecedents must be a matrix (rules × items), not {left.ndim}-dimensional")
    if len(left) != len(right):
        raise InputError(f"{len(left)} antecedents but {len(right)} consequents")
    if left.size and (left.min() < -1 or left.max() >= n_items):
        raise InputError(f"antecedents must be items 0…{n_items - 1}, or −1 as padding")
    if right.size and (right.min() < 0 or right.max() >= n_items):
        raise InputError(f"consequents must be items 0…{n_items - 1}")
    problem = _Problem(matrix, sizes, left, right, present=denominator == "present", device=device)
    if method == "auto":
        dense = problem.n_antecedents * n_items <= len(right) * _MATMUL_GAIN
        method = "matmul" if problem.device.type == "cuda" and dense else "bits"
    counts = problem.by_product() if method == "matmul" else problem.by_bits()
    return counts[0], counts[1], counts[2], counts[3]


class _Problem:
    """Rules grouped by antecedent, and the table on the device.

    Where values are missing, features are treated as further items that hold where the feature is present: the four
    counts of a rule are then the four products of {items, features of the antecedent} and {consequent, its feature}.
    """

    def __init__(
        self,
        codes: NDArray[np.int16],
        sizes: NDArray[np.int64],
        left: NDArray[np.int64],
        right: NDArray[np.int64],
        *,
        present: bool,
        device: str,
    ) -> None:
        self.device = torch.device(device)
        self.n_rows, n_features = codes.shape
        self.n_items = int(sizes.sum())
        self.masked = present and bool((codes < 0).any())
        # Padding becomes the item that always holds, the last column of the one-hot table.
        always = self.n_items + (n_features if self.masked else 0)
        self._codes = codes
        self._sizes = sizes
        self._n_columns = always + 1
        self._batch_bytes = _BATCH_BYTES.get(self.device.type, _BATCH_BYTES["cpu"])
        self._right = torch.as_tensor(right, device=self.device)
        self._sets, self._group = _distinct(torch.as_tensor(left, device=self.device), always)
        self.n_antecedents = len(self._sets)
        feature_column = np.concatenate(
            [self.n_items + np.repeat(np.arange(n_features), sizes), [always] * (n_features + 1)]
        )
        column_of_feature = torch.as_tensor(feature_column, device=self.device)
        self._known = column_of_feature[self._sets]
        self._right_known = column_of_feature[self._right]

    def _one_hot(self, low: int, high: int) -> torch.Tensor:
        """Columns × rows, true where the item holds: items, then features, then the column that always holds."""
        codes = torch.as_tensor(self._codes[low:high].T.copy(), device=self.device)
        table = torch.zeros((self._n_columns, high - low), dtype=torch.bool, device=self.device)
        start = 0
        for feature, size in enumerate(self._sizes.tolist()):
            values = torch.arange(size, device=self.device, dtype=codes.dtype)
            table[start : start + size] = codes[feature] == values[:, None]
            start += size
            if self.masked:
                table[self.n_items + feature] = codes[feature] >= 0
        table[-1] = True
        return table

    def by_product(self) -> NDArray[np.int64]:
        """Counts by matrix products over blocks of rows and batches of antecedents."""
        half = _number_format(self.device)
        n_rules = len(self._right)
        counts = torch.zeros((4, n_rules), dtype=torch.int64, device=self.device)
        order = torch.argsort(self._group)
        ends = torch.cumsum(torch.bincount(self._group, minlength=self.n_antecedents), dim=0).tolist()
        rows = min(_EXACT_ROWS, max(1, self._batch_bytes // (4 * self._n_columns)), max(self.n_rows, 1))
        sides = 2 if self.masked else 1
        batch = max(1, min(self.n_antecedents, self._batch_bytes // (sides * (4 * rows + 8 * self._n_columns))))
        for low in range(0, self.n_rows, rows):
            table = self._one_hot(low, min(low + rows, self.n_rows))
            columns = table.to(half)
            for first in range(0, self.n_antecedents, batch):
                last = min(first + batch, self.n_antecedents)
                rules = order[(ends[first - 1] if first else 0) : ends[last - 1]]
                group = self._group[rules] - first
                held = _product(_all_of(table, self._sets[first:last]).to(half), columns)
                counts[1, rules] += held[group, self._right_known[rules] if self.masked else -1].long()
                counts[3, rules] += held[group, self._right[rules]].long()
                if self.masked:
                    known = _product(_all_of(table, self._known[first:last]).to(half), columns)
                    counts[0, rules] += known[group, self._right_known[rules]].long()
                    counts[2, rules] += known[group, self._right[rules]].long()
            if not self.masked:
                counts[2] += table[: self.n_items].sum(1)[self._right]
        if not self.masked:
            counts[0] = self.n_rows
        return counts.cpu().numpy()

    def by_bits(self) -> NDArray[np.int64]:
        """Counts by AND and popcount of 64-bit words, in batches of rules."""
        words = self._packed()
        n_rules = len(self._right)
        counts = torch.zeros((4, n_rules), dtype=torch.int64, device=self.device)
        batch = max(1, min(n_rules, self._batch_bytes // (8 * 6 * max(words.shape[1], 1))))
        # Rules with a common antecedent lie together, so that their rows are fetched from cache.
        order = torch.argsort(self._group)
        for first in range(0, n_rules, batch):
            rules = order[first : first + batch]
            group = self._group[rules]
            held = _all_of(words, self._sets[group])
            target = words[self._right[rules]]
            counts[3, rules] = _ones(held & target)
            if self.masked:
                known, feature = _all_of(words, self._known[group]), words[self._right_known[rules]]
                counts[0, rules] = _ones(known & feature)
                counts[1, rules] = _ones(held & feature)
                counts[2, rules] = _ones(known & target)
            else:
                counts[1, rules] = _ones(held)
        if not self.masked:
            counts[0] = self.n_rows
            counts[2] = _ones(words)[self._right]
        return counts.cpu().numpy()

    def _packed(self) -> torch.Tensor:
        """The one-hot table as 64-bit words, packed on the device in blocks of rows."""
        n_words = (self.n_rows + 63) // 64
        words = torch.zeros((self._n_columns, n_words), dtype=torch.int64, device=self.device)
        shifts = torch.arange(64, device=self.device, dtype=torch.int64)
        step = max(1, self._batch_bytes // (16 * 64 * self._n_columns))
        for low in range(0, n_words, step):
            high = min(low + step, n_words)
            table = self._one_hot(low * 64, min(high * 64, self.n_rows))
            padded = torch.nn.functional.pad(table, (0, (high - low) * 64 - table.shape[1]))
            # The sum of distinct powers of two is their OR; bit 63 wraps to the sign, as it should.
            words[:, low:high] = (padded.reshape(self._n_columns, high - low, 64).to(torch.int64) << shifts).sum(2)
        return words


def _distinct(left: torch.Tensor, always: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The distinct sets of items, padded with the item that always holds, and the set of each rule."""
    items = torch.sort(torch.where(left < 0, always, left), dim=1).values
    key = torch.zeros(len(items), dtype=torch.int64, device=items.device)
    largest = 1
    for place in range(items.shape[1]):
        if largest > (1 << 62) // (always + 1):  # number the prefixes anew before the keys overflow
            key = torch.unique(key, return_inverse=True)[1]
            largest = len(items)
        key = key * (always + 1) + items[:, place]
        largest *= always + 1
    distinct, group = torch.unique(key, return_inverse=True)
    example = torch.zeros(len(distinct), dtype=torch.int64, device=items.device)
    example[group] = torch.arange(len(items), device=items.device)
    return items[example], group


def _all_of(table: torch.Tensor, sets: torch.Tensor) -> torch.Tensor:
    """AND of some rows of a table, for each set of rows."""
    if sets.shape[1] == 0:
        return table[-1].expand(len(sets), -1)
    out = table[sets[:, 0]]
    for place in range(1, sets.shape[1]):
        out &= table[sets[:, place]]
    return out


def _number_format(device: torch.device) -> torch.dtype:
    """bfloat16 where the device can sum its products in 32 bits and say so, else float32."""
    if device.type == "cuda":
        one = torch.ones((16, 16), dtype=torch.bfloat16, device=device)
        try:
            torch.mm(one, one, out_dtype=torch.float32)
        except (TypeError, RuntimeError):  # older torch would round the sums to bfloat16
            return torch.float32
        return torch.bfloat16
    return torch.float32


def _product(left: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
    """left · columnsᵀ in 32-bit floats: sums of zeros and ones, exact below 2²⁴ terms."""
    if left.dtype == torch.float32:
        return left @ columns.T
    return torch.mm(left, columns.T, out_dtype=torch.float32)


def _ones(words: torch.Tensor) -> torch.Tensor:
    """Popcount of each row of 64-bit words: the classic sums over 2, 4 and 8 bits, in place."""
    count = words - ((words >> 1) & 0x5555555555555555)
    count = (count & 0x3333333333333333) + ((count >> 2) & 0x3333333333333333)
    count += count >> 4
    count &= 0x0F0F0F0F0F0F0F0F
    count *= 0x0101010101010101
    return ((count >> 56) & 0x7F).sum(1)
