"""Rules of a rule set as integers of the blocks they speak about: columns, sets of codes, sorted rows.

Every refinement works on these arrays; items are looked at once each, however many rules use them. Nothing is counted
or dropped here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from thence.bitmaps.bank import Bank
from thence.counting.recount import by_block
from thence.rules.ruleset import RuleSet
from thence.tables.transactions import Block, TransactionTable

__all__ = ["Part", "parts_of", "row_ids"]

Ints = npt.NDArray[np.int64]
Indices = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Part:
    """The rules of one block.

    ``rules`` are their positions in the rule set. ``items`` are the positions, in the rule set's items, of those that
    they use, ordered by column and codes; ``column[i]`` and ``codes[i]`` (a mask) say what item ``i`` tests. ``left``
    (ascending, padding −1 last) and ``right`` are the rules in terms of these items.
    """

    at: int
    block: Block
    rules: Ints
    items: Ints
    column: Indices
    codes: Bools
    left: Indices
    right: Indices

    @cached_property
    def _numbered(self) -> tuple[Bank, Indices]:
        """The bank with the joined items of these rules, and the bank's number of each item."""
        numbers = np.empty(len(self.items), np.int32)
        unions: list[tuple[int, Sequence[int]]] = []
        for i, column in enumerate(self.column.tolist()):
            members = (self.block.offsets[column] + np.flatnonzero(self.codes[i])).tolist()
            if len(members) == 1:
                numbers[i] = members[0]
            else:
                numbers[i] = self.block.n_items + len(unions)
                unions.append((column, members))
        return self.block.bank.with_unions(unions), numbers

    @property
    def bank(self) -> Bank:
        """The bitmaps of the block, and of the joined items."""
        return self._numbered[0]

    @property
    def numbers(self) -> Indices:
        """The number of each item in ``bank``, and −1 at the end for padding."""
        return np.append(self._numbered[1], np.int32(-1))

    @property
    def static(self) -> Bools:
        """Which items do not depend on time."""
        flags = np.array([column.is_static for column in self.block.columns], bool)
        return flags[self.column] if self.block.n_frames != 1 else np.zeros(len(self.column), bool)


def parts_of(rules: RuleSet, table: TransactionTable) -> list[Part]:
    """The rules of a set by the block of the table that they belong to.

    >>> import polars as pl
    >>> from thence.counting.recount import recount
    >>> table = TransactionTable.from_frame(pl.DataFrame({"a": ["x", "x", "y"], "b": ["u", "u", "v"]}))
    >>> part, = parts_of(recount(table, 0, np.array([[0], [1]]), np.array([2, 3])), table)
    >>> part.left.tolist(), part.right.tolist(), part.column.tolist()
    ([[0], [1]], [2, 3], [0, 0, 1, 1])
    """
    return [_part(rules, table, at, chosen) for at, chosen in by_block(table, rules)]


def _part(rules: RuleSet, table: TransactionTable, at: int, chosen: Ints) -> Part:
    left, right = rules.antecedents[chosen], rules.consequents[chosen]
    block = table.blocks[at]
    columns = {column.feature: c for c, column in enumerate(block.columns)}
    # Items that test the same codes are one, however they are written (≠ and ∈ may say the same).
    alike: dict[tuple[int, tuple[int, ...]], list[int]] = {}
    for i in np.unique(np.concatenate([left[left >= 0], right])).tolist():
        feature = rules.items[i].feature
        if feature not in columns:
            table.locate(feature, block.pattern)  # raises, and names the nearest feature
        c = columns[feature]
        alike.setdefault((c, block.columns[c].codes_of(rules.items[i])), []).append(i)
    found = sorted(alike)
    width = max((block.columns[c].n_codes for c, _ in found), default=0)
    codes = np.zeros((len(found), width), bool)
    rank = np.full(len(rules.items) + 1, len(found), np.int32)
    for place, key in enumerate(found):
        codes[place, list(key[1])] = True
        rank[alike[key]] = place
    moved = np.sort(rank[left], axis=1)
    moved[moved == len(found)] = -1
    return Part(
        at,
        block,
        chosen,
        np.array([alike[key][0] for key in found], np.int64),
        np.array([c for c, _ in found], np.int32),
        codes,
        moved,
        rank[right],
    )


def row_ids(matrix: npt.NDArray[np.integer]) -> tuple[Ints, Ints]:
    """A number for each distinct row of a matrix of small integers ≥ −1, and the first position of each number.

    Numbers follow the lexicographic order of the rows.

    >>> ids, first = row_ids(np.array([[2, 1], [0, 5], [2, 1]]))
    >>> ids.tolist(), first.tolist()
    ([1, 0, 1], [1, 0])
    """
    ids = np.zeros(len(matrix), np.int64)
    first = np.zeros(min(len(matrix), 1), np.int64)
    for column in matrix.T:
        values = column.astype(np.int64) + 1
        _, first, ids = np.unique(
            ids * (int(values.max(initial=0)) + 1) + values, return_index=True, return_inverse=True
        )
    return ids.reshape(-1), first
