"""The family of rules that a search could have found, over which p-values are adjusted.

A search that tests the best of a million rules must ask how strong the best of a million is by chance. The whole search
space is therefore counted again under every permutation: antecedents of all items of a block up to the given length,
and every admissible consequent. This module counts the statistics of the space; ``tally`` turns them into p-values.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from thence.errors import MiningError
from thence.language.constraints import Constraint
from thence.search.refine.significance.kernels import TOLERANCE, count_longer, count_pairs, zero_totals
from thence.search.refine.significance.statistics import PlacePermutations, PreparedBank, signed_roots
from thence.tables.admissibility import item_masks, trivial_pairs
from thence.tables.bitmaps.bits import Words, as_kernel_array, popcount
from thence.tables.transactions import Block

__all__ = ["Family", "StaticFamily"]

Ints = npt.NDArray[np.int64]
Indices = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

# The search is refused if one consequent has more candidate sets than this.
_MAX_SETS = 1 << 22


@dataclass(frozen=True)
class Family:
    """The search space of one block: all rules whose consequent depends on time.

    Args:
        bank: The bitmaps of the block.
        antecedents: Items that antecedents may use.
        consequents: Items that may be consequents.
        column: The column of each consequent.
        allowed: Whether two items may form a rule: antecedents × consequents.
        together: Whether two items may be in one antecedent: antecedents × antecedents.
        size: Frames of the centre in which each antecedent item holds: antecedents × embeddings.
        share: Share of the known frames in which each consequent holds: consequents × embeddings.
        min_rows: Minimum number of rows in which antecedent and consequent hold.
        min_middle: The same within the centre of the time, in proportion to its length.
        min_confidence: Minimum confidence.
        max_antecedents: Maximum number of antecedent items.
    """

    bank: PreparedBank
    antecedents: Indices
    consequents: Indices
    column: Indices
    allowed: Bools
    together: Bools
    size: Ints
    share: Floats
    min_rows: int
    min_middle: int
    min_confidence: float
    max_antecedents: int

    @staticmethod
    def of(
        block: Block,
        bank: PreparedBank,
        *,
        min_rows: int,
        min_confidence: float,
        max_antecedents: int,
        antecedent: Constraint = None,
        consequent: Constraint = None,
    ) -> Family:
        """Build the search space of a block.

        Args:
            block: The block.
            bank: Its prepared bank.
            min_rows: Minimum number of rows in which antecedent and consequent hold.
            min_confidence: Minimum confidence.
            max_antecedents: Maximum number of antecedent items.
            antecedent: Item constraint on antecedents.
            consequent: Item constraint on consequents.
        """
        may_be_antecedent, may_be_consequent = item_masks(block, antecedent=antecedent, consequent=consequent)
        changing = np.array([not column.is_static for column in block.columns], bool)
        rows = bank.ones[bank.arrays.row_of].sum(axis=1)
        left = np.flatnonzero(may_be_antecedent & (rows >= min_rows))
        right = np.flatnonzero(may_be_consequent & changing[block.column_of_item] & (rows >= min_rows))
        apart = block.column_of_item[:, None] != block.column_of_item
        pairs = trivial_pairs(block)
        apart &= True if pairs is None else ~pairs
        return Family(
            bank,
            as_kernel_array(left, np.int32),
            as_kernel_array(right, np.int32),
            as_kernel_array(block.column_of_item[right], np.int32),
            as_kernel_array(apart[np.ix_(left, right)], np.bool_),
            as_kernel_array(apart[np.ix_(left, left)], np.bool_),
            as_kernel_array(popcount(bank.middle.words)[bank.arrays.row_of[left]], np.int64),
            bank.frequency(right),
            min_rows,
            max(1, math.ceil(min_rows * bank.centre_share - TOLERANCE)),
            min_confidence,
            max_antecedents,
        )

    def count_pairs(self, permuted: Words, level: float) -> tuple[Ints, Floats]:
        """Count all rules with one antecedent item.

        Args:
            permuted: The words of the bank from which consequents are read.
            level: Lowest level of interest.

        Returns:
            The rows in which antecedent and consequent hold (antecedents × consequents), and the statistics of the
            rules that can reach the level.
        """
        totals = zero_totals(len(self.antecedents), len(self.consequents))
        count_pairs(
            self.bank.middle, permuted, self.antecedents, self.consequents, self.column,
            self.allowed, self.size, self.share, totals,
        )  # fmt: skip
        both, held, expected = totals
        chosen = (both >= self.rows_needed(level)) & (both >= (self.min_confidence - TOLERANCE) * held)
        return both, signed_roots(both[chosen], held[chosen], expected[chosen])

    def rows_needed(self, level: float) -> Ints:
        """Return, per consequent, the minimum number of rows in which a rule must hold to reach a level."""
        rarest = np.where(self.share > 0, self.share, 1.0).min(axis=1, initial=1.0)
        # A rule that always holds has the largest statistic for its rows: the root of 2 · rows · ln(1 / frequency).
        most = 2 * np.log(1 / np.maximum(rarest, 1e-300))
        rows = np.ceil(max(level, 0.0) ** 2 / np.maximum(most, 1e-12) * (1 - 4 * TOLERANCE))
        return np.asarray(np.maximum(np.minimum(rows, 2**62).astype(np.int64), max(self.min_middle, 1)))

    def static_part(self, permutations: PlacePermutations) -> StaticFamily:
        """Return the rules of the space whose antecedents are static, given the place permutations of the block."""
        block = permutations.block
        static = np.array([column.is_static for column in block.columns], bool)
        own = np.flatnonzero(static[block.column_of_item[self.antecedents]])
        items = []
        for number in self.antecedents[own].tolist():
            column = int(block.column_of_item[number])
            codes = np.zeros(block.columns[column].n_codes, bool)
            codes[number - int(block.offsets[column])] = True
            items.append((column, codes))
        known = self.bank.ones[self.bank.arrays.present_of[self.column]]
        return StaticFamily(
            permutations,
            tuple(items),
            self.together[np.ix_(own, own)],
            self.bank.sizes(self.consequents).T.astype(np.float64),
            known.T.astype(np.float64),
            self,
        )

    @cached_property
    def _rows_for_confidence(self) -> Ints:
        """Rows that two antecedent items must share with a consequent to be confident; the same in all permutations."""
        size = len(self.antecedents)
        if self.min_confidence <= 0 or self.max_antecedents < 2:
            return as_kernel_array(np.zeros((size, size), np.int64), np.int64)
        totals, arrays = zero_totals(size, size), self.bank.middle
        column = as_kernel_array(self.bank.column_of_item[self.antecedents], np.int32)
        count_pairs(
            arrays, arrays.words, self.antecedents, self.antecedents, column,
            self.together, self.size, self.bank.frequency(self.antecedents), totals,
        )  # fmt: skip
        return as_kernel_array(np.floor((self.min_confidence - TOLERANCE) * totals.both), np.int64)

    def count_longer(self, permuted: Words, both: Ints, levels: Floats) -> Ints:
        """Count the rules with two or more antecedent items that reach each level and not the next.

        Args:
            permuted: The words of the bank from which consequents are read.
            both: Rows of the rules with one antecedent item, from ``count_pairs``.
            levels: Levels of the statistic, ascending.

        Raises:
            MiningError: If a consequent has too many candidate antecedents.
        """
        reached = np.zeros(len(levels), np.int64)
        if self.max_antecedents < 2 or not len(levels):
            return reached
        need = self.rows_needed(float(levels[0]))
        # Where the consequent may be missing, a rule is counted over fewer rows than its antecedent holds in.
        complete = (self.bank.arrays.present_of == 1).all(axis=1)
        no_rows = as_kernel_array(np.zeros_like(self._rows_for_confidence), np.int64)
        for c in range(len(self.consequents)):
            alone = np.where(self.allowed[:, c], both[:, c], 0)
            if int((alone >= need[c]).sum()) < 2:
                continue
            least = self._rows_for_confidence if complete[self.column[c]] else no_rows
            fits = count_longer(
                self.bank.middle, permuted, self.antecedents, int(self.consequents[c]), int(self.column[c]),
                self.share[c], as_kernel_array(alone, np.int64), self.together, least, int(need[c]),
                self.min_confidence, self.max_antecedents, _MAX_SETS, levels, reached,
            )  # fmt: skip
            if not fits:
                raise MiningError(
                    f"a consequent has more than {_MAX_SETS:,} candidate antecedents",
                    hint="raise min_support or lower max_antecedents; for rules found on other data, "
                    "pass family='rules'",
                )
        return reached


@dataclass(frozen=True)
class StaticFamily:
    """The rules of a search space whose antecedents are static.

    Args:
        permutations: The place permutations of the block.
        items: The static items, as (column, mask of codes).
        together: Whether two of the items may be in one antecedent.
        hits: Frames in which each consequent holds: embeddings × consequents.
        rows: Frames in which each consequent is known: embeddings × consequents.
        space: The search space.
    """

    permutations: PlacePermutations
    items: tuple[tuple[int, Bools], ...]
    together: Bools
    hits: Floats
    rows: Floats
    space: Family

    def statistics(self, draw: int) -> Floats:
        """Compute the statistics of all rules under a place permutation (−1: as observed).

        Rules below the minimum support or confidence get −inf.
        """
        columns = self.permutations.block.columns
        masks = np.array([self.permutations.mask(columns[c], codes, draw) for c, codes in self.items], np.float64)
        masks = masks.reshape(len(self.items), self.permutations.block.n_embeddings)
        share = self.hits.sum(axis=0) / np.maximum(self.rows.sum(axis=0), 1)
        sets: list[tuple[int, ...]] = [(i,) for i in range(len(self.items))]
        held_in = masks
        out = []
        for length in range(1, self.space.max_antecedents + 1):
            both, held = held_in @ self.hits, held_in @ self.rows
            enough = (both >= self.space.min_rows) & (both >= (self.space.min_confidence - TOLERANCE) * held)
            out.append(np.where(enough, signed_roots(both, held, held * share), -math.inf).reshape(-1))
            if length == self.space.max_antecedents:
                break
            frequent = [(own, held_in[at]) for at, own in enumerate(sets) if (both[at] >= self.space.min_rows).any()]
            grown = [
                ((*own, new), mask * masks[new])
                for own, mask in frequent
                for new in range(own[-1] + 1, len(self.items))
                if all(self.together[new, old] for old in own)
            ]
            if not grown:
                break
            sets, held_in = [own for own, _ in grown], np.array([mask for _, mask in grown])
        return np.concatenate([np.zeros(0), *out])
