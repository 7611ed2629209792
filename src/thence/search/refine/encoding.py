"""Rules encoded as integer arrays, block by block: the form in which every refinement step reads them.

Each distinct item is looked up once, however many rules use it. This module encodes; it neither counts nor drops rules.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from thence.errors import ConfigError
from thence.statements.counting.encoding import find_codes, group_by_block, number_items
from thence.statements.rules.ruleset import RuleSet
from thence.tables.bitmaps.bank import Bank
from thence.tables.bitmaps.bits import Bools, Indices, Ints
from thence.tables.blocks import Block
from thence.tables.transactions import TransactionTable


@dataclass(frozen=True)
class EncodedRules:
    """The rules of one block as integer arrays.

    Args:
        at: Position of the block in the table.
        block: The block.
        rules: Positions of these rules in the rule set.
        items: Positions in the rule set's items of the items that these rules use, ordered by column and codes.
        column: The column that each item tests.
        codes: The codes for which each item holds: items × codes, as a mask.
        antecedents: Items of each antecedent as indices into ``items``, ascending, padded with −1 at the end.
        consequents: The item of each consequent, as an index into ``items``.
    """

    at: int
    block: Block
    rules: Ints
    items: Ints
    column: Indices
    codes: Bools
    antecedents: Indices
    consequents: Indices

    @cached_property
    def _numbered(self) -> tuple[Bank, Indices]:
        """The bank extended by the items with several codes, and the number of each item in it."""
        found = zip(self.column.tolist(), self.codes, strict=True)
        return number_items(self.block, [(column, np.flatnonzero(codes).tolist()) for column, codes in found])

    @property
    def bank(self) -> Bank:
        """The bitmaps of the block and of the items with several codes."""
        return self._numbered[0]

    @property
    def numbers(self) -> Indices:
        """The number of each item in ``bank``, followed by −1, so that padding maps to padding."""
        return np.append(self._numbered[1], np.int32(-1))

    @property
    def static(self) -> Bools:
        """Whether each item is independent of time."""
        flags = np.array([column.is_static for column in self.block.columns], bool)
        return flags[self.column] if self.block.n_frames != 1 else np.zeros(len(self.column), bool)


def encode_rules(rules: RuleSet, table: TransactionTable) -> list[EncodedRules]:
    """Encode rules, grouped by the block of the table that they belong to.

    Args:
        rules: The rules.
        table: The table that the rules were mined from.

    Raises:
        MiningError: If the table lacks a feature or pattern of the rules.

    Examples:
        >>> import polars as pl
        >>> from thence.statements.counting.recount import recount
        >>> table = TransactionTable.from_frame(pl.DataFrame({"a": ["x", "x", "y"], "b": ["u", "u", "v"]}))
        >>> encoded, = encode_rules(recount(np.array([[0], [1]]), np.array([2, 3]), table), table)
        >>> encoded.antecedents.tolist(), encoded.consequents.tolist(), encoded.column.tolist()
        ([[0], [1]], [2, 3], [0, 0, 1, 1])
    """
    return [_encode_block(rules, table, at, chosen) for at, chosen in group_by_block(rules, table)]


def _encode_block(rules: RuleSet, table: TransactionTable, at: int, chosen: Ints) -> EncodedRules:
    antecedents, consequents = rules.antecedents[chosen], rules.consequents[chosen]
    block = table.blocks[at]
    if any(len(item.parts) > 1 for item in rules.items):
        raise ConfigError(
            "rules with several items in the consequent cannot be refined",
            hint="refine the rules with one, and pass max_consequents to th.mine, which joins what is kept",
        )
    used = np.unique(np.concatenate([antecedents[antecedents >= 0], consequents])).tolist()
    # Items that hold for the same codes are one item, however they are written (≠ and ∈ can be equivalent).
    alike: dict[tuple[int, tuple[int, ...]], list[int]] = {}
    for i, codes_of in zip(used, find_codes([rules.items[i] for i in used], table, block), strict=True):
        alike.setdefault(codes_of, []).append(i)
    found = sorted(alike)
    width = max((block.columns[c].n_codes for c, _ in found), default=0)
    codes = np.zeros((len(found), width), bool)
    rank = np.full(len(rules.items) + 1, len(found), np.int32)
    for place, key in enumerate(found):
        codes[place, list(key[1])] = True
        rank[alike[key]] = place
    ranked = np.sort(rank[antecedents], axis=1)
    ranked[ranked == len(found)] = -1
    return EncodedRules(
        at,
        block,
        chosen,
        np.array([alike[key][0] for key in found], np.int64),
        np.array([c for c, _ in found], np.int32),
        codes,
        ranked,
        rank[consequents],
    )


def factorize_rows(matrix: npt.NDArray[np.integer]) -> tuple[Ints, Ints]:
    """Number the distinct rows of a matrix in lexicographic order.

    Args:
        matrix: Small integers, −1 or more.

    Returns:
        The number of each row, and the first position of each number.

    Examples:
        >>> ids, first = factorize_rows(np.array([[2, 1], [0, 5], [2, 1]]))
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
