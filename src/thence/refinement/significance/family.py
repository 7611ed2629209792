"""All rules that could have been found: the family over which the strongest one by chance is looked for.

Whoever searches a million rules and tests the best ones must ask how strong the best of a million is by chance. So in
every rearranged world the whole space is searched again: all items of a block as antecedents, up to the given length,
all that may be consequents as consequents.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from thence.bitmaps.bits import Words, shared
from thence.errors import MiningError
from thence.refinement.significance.family_kernels import TOLERANCE, extend_family
from thence.refinement.significance.null_kernels import count_pairs
from thence.refinement.significance.trials import Board, Shuffles, excess_roots
from thence.rules.constraints import Constraint
from thence.tables.admissible import item_masks, trivial_pairs
from thence.tables.transactions import Block

__all__ = ["Facts", "Family", "levels_reached"]

Ints = npt.NDArray[np.int64]
Indices = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

# More candidate sets than this for one consequent, and the search is refused.
_MAX_SETS = 1 << 22


def levels_reached(levels: Floats, values: Floats) -> Ints:
    """How many of the ascending levels each statistic reaches, rounding aside.

    >>> levels_reached(np.array([1.0, 2.0]), np.array([0.5, 1.0, 3.0])).tolist()
    [0, 1, 2]
    """
    finite = np.maximum(values, -1.0)  # levels are positive
    return np.searchsorted(levels, finite + TOLERANCE * np.maximum(1.0, finite), side="right")


@dataclass(frozen=True)
class Family:
    """The search space of one block."""

    board: Board
    left: Indices
    right: Indices
    column: Indices
    allowed: Bools
    together: Bools
    size: Ints
    base: Floats
    min_rows: int
    min_confidence: float
    max_antecedents: int

    @staticmethod
    def of(
        block: Block,
        board: Board,
        *,
        min_rows: int,
        min_confidence: float,
        max_antecedents: int,
        antecedent: Constraint = None,
        consequent: Constraint = None,
    ) -> Family:
        may_left, may_right = item_masks(block, antecedent=antecedent, consequent=consequent)
        moving = np.array([not column.is_static for column in block.columns], bool)
        rows = board.ones[board.row_of].sum(axis=1)
        left = np.flatnonzero(may_left & (rows >= min_rows))
        right = np.flatnonzero(may_right & moving[block.column_of_item] & (rows >= min_rows))
        apart = block.column_of_item[:, None] != block.column_of_item
        pairs = trivial_pairs(block)
        apart &= True if pairs is None else ~pairs
        return Family(
            board,
            shared(left, np.int32),
            shared(right, np.int32),
            shared(block.column_of_item[right], np.int32),
            shared(apart[np.ix_(left, right)], np.bool_),
            shared(apart[np.ix_(left, left)], np.bool_),
            shared(board.sizes(left), np.int64),
            board.base(right),
            min_rows,
            min_confidence,
            max_antecedents,
        )

    def pairs(self, drawn: Words, level: float) -> tuple[Ints, Floats]:
        """Rows of all rules with one item, antecedents × consequents, and the statistics that can reach a level."""
        shape = (len(self.left), len(self.right))
        both, held, expected = np.zeros(shape, np.int64), np.zeros(shape, np.int64), np.zeros(shape)
        board = self.board
        count_pairs(
            board.words, drawn, board.row_of, board.present_of, self.left, self.right, self.column,
            self.allowed, self.size, self.base, both, held, expected,
        )  # fmt: skip
        chosen = (both >= self.need(level)) & (both >= (self.min_confidence - TOLERANCE) * held)
        return both, excess_roots(both[chosen], held[chosen], expected[chosen])

    def need(self, level: float) -> Ints:
        """Per consequent the least number of shared rows with which a rule can reach a level."""
        rarest = np.where(self.base > 0, self.base, 1.0).min(axis=1, initial=1.0)
        # A rule without a miss has the largest statistic for its rows: the root of 2 · rows · ln(1 / frequency).
        most = 2 * np.log(1 / np.maximum(rarest, 1e-300))
        rows = np.ceil(max(level, 0.0) ** 2 / np.maximum(most, 1e-12) * (1 - 4 * TOLERANCE))
        return np.asarray(np.maximum(np.minimum(rows, 2**62).astype(np.int64), max(self.min_rows, 1)))

    def facts(self, shuffles: Shuffles) -> Facts:
        """The rules of the space whose antecedents do not depend on time."""
        block = shuffles.block
        still = np.array([column.is_static for column in block.columns], bool)
        own = np.flatnonzero(still[block.column_of_item[self.left]])
        items = []
        for number in self.left[own].tolist():
            column = int(block.column_of_item[number])
            codes = np.zeros(block.columns[column].n_codes, bool)
            codes[number - int(block.offsets[column])] = True
            items.append((column, codes))
        known = self.board.ones[self.board.present_of[self.column]]
        return Facts(
            shuffles,
            tuple(items),
            self.together[np.ix_(own, own)],
            self.board.sizes(self.right).T.astype(np.float64),
            known.T.astype(np.float64),
            self,
        )

    @cached_property
    def least(self) -> Ints:
        """The rows that two items must share with a consequent to be confident enough; they do not move."""
        shape = (len(self.left), len(self.left))
        if self.min_confidence <= 0 or self.max_antecedents < 2:
            return shared(np.zeros(shape, np.int64), np.int64)
        both, held, expected = np.zeros(shape, np.int64), np.zeros(shape, np.int64), np.zeros(shape)
        board = self.board
        count_pairs(
            board.words, board.words, board.row_of, board.present_of, self.left, self.left,
            shared(board.column_of_item[self.left], np.int32), self.together, self.size, board.base(self.left),
            both, held, expected,
        )  # fmt: skip
        return shared(np.floor((self.min_confidence - TOLERANCE) * both), np.int64)

    def longer(self, drawn: Words, both: Ints, levels: Floats) -> Ints:
        """How many rules of two items and more reach each of the ascending levels and not the next."""
        reached = np.zeros(len(levels), np.int64)
        if self.max_antecedents < 2 or not len(levels):
            return reached
        need = self.need(float(levels[0]))
        board = self.board
        # Where the consequent may be unknown, a rule is counted over fewer rows than its antecedent holds in.
        always = (board.present_of == 1).all(axis=1)
        nothing = shared(np.zeros_like(self.least), np.int64)
        for c in range(len(self.right)):
            alone = np.where(self.allowed[:, c], both[:, c], 0)
            if int((alone >= need[c]).sum()) < 2:
                continue
            fits = extend_family(
                board.words, drawn, board.row_of, board.present_of, self.left, int(self.right[c]),
                int(self.column[c]), self.base[c], shared(alone, np.int64), self.together,
                self.least if always[self.column[c]] else nothing, int(need[c]), self.min_confidence,
                self.max_antecedents, _MAX_SETS, levels, reached,
            )  # fmt: skip
            if not fits:
                raise MiningError(
                    f"a consequent has more than {_MAX_SETS:,} antecedents to compare with",
                    hint="raise min_support, lower max_antecedents, or test on other data with family='rules'",
                )
        return reached


@dataclass(frozen=True)
class Facts:
    """Rules from facts to readings: which items, which may stand together, and the frames of each consequent.

    ``hits`` and ``rows`` are embeddings × consequents: frames in which it holds, and in which it is known.
    """

    shuffles: Shuffles
    items: tuple[tuple[int, Bools], ...]
    together: Bools
    hits: Floats
    rows: Floats
    space: Family

    def statistics(self, draw: int) -> Floats:
        """The statistics of all these rules in a world with permuted facts; −inf where a bound is missed."""
        columns = self.shuffles.block.columns
        masks = np.array([self.shuffles.mask(columns[c], codes, draw) for c, codes in self.items], np.float64)
        masks = masks.reshape(len(self.items), self.shuffles.block.n_embeddings)
        share = self.hits.sum(axis=0) / np.maximum(self.rows.sum(axis=0), 1)
        sets: list[tuple[int, ...]] = [(i,) for i in range(len(self.items))]
        held_in = masks
        out = []
        for length in range(1, self.space.max_antecedents + 1):
            both, held = held_in @ self.hits, held_in @ self.rows
            enough = (both >= self.space.min_rows) & (both >= (self.space.min_confidence - TOLERANCE) * held)
            out.append(np.where(enough, excess_roots(both, held, held * share), -math.inf).reshape(-1))
            if length == self.space.max_antecedents:
                break
            alive = [(own, held_in[at]) for at, own in enumerate(sets) if (both[at] >= self.space.min_rows).any()]
            grown = [
                ((*own, new), mask * masks[new])
                for own, mask in alive
                for new in range(own[-1] + 1, len(self.items))
                if all(self.together[new, old] for old in own)
            ]
            if not grown:
                break
            sets, held_in = [own for own, _ in grown], np.array([mask for _, mask in grown])
        return np.concatenate([np.zeros(0), *out])
