"""Test statistics of rules: as observed, and under the permutations of the null model.

The statistic is the signed root of the likelihood ratio for the hypothesis "the consequent is as frequent where the
antecedent holds as anywhere", with the frequency taken in each embedding separately, so that differences between places
are not mistaken for association in time. It grows with the excess of hits and with the number of rows. Under the null
model it is about as large for rare items as for frequent ones, which makes the maximum over many rules meaningful. No
distribution is assumed: the observed value is compared only with values under permutations.

This module computes statistics; p-values are computed in ``tally`` and ``testing``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

from thence.search.refine.encoding import EncodedRules, encode_rules
from thence.search.refine.significance.kernels import (
    BankArrays,
    RuleColumns,
    count_hits,
    count_with_permuted_consequent,
    count_with_permuted_item,
    zero_totals,
)
from thence.search.refine.significance.nulls import TimePermutations
from thence.statements.rules.ruleset import RuleSet
from thence.tables.bitmaps.bank import Bank
from thence.tables.bitmaps.bits import Bools, Floats, Indices, Ints, Words, as_kernel_array, pack_mask, popcount
from thence.tables.blocks import Block, Column
from thence.tables.transactions import TransactionTable


class Tests(Protocol):
    """A group of tests of one kind; ``rules`` are the positions of the tested rules in the rule set."""

    @property
    def rules(self) -> Ints: ...

    def statistics(self, permuted: Words | None, draw: int) -> Floats:
        """Compute the statistic of each test.

        Args:
            permuted: The permuted words of the bank, or ``None`` for the statistics as observed.
            draw: Number of the permutation; ignored for the statistics as observed.
        """
        ...


def signed_roots(both: npt.NDArray[np.number], held: npt.NDArray[np.number], expected: Floats) -> Floats:
    """Compute the statistic: the signed root of the likelihood ratio.

    Args:
        both: Number of hits.
        held: Number of rows among which the hits were counted.
        expected: Expected number of hits.

    Returns:
        Positive where there are more hits than expected; 0 where the expected number is 0 or all rows.

    Examples:
        >>> signed_roots(np.array([9, 1]), np.array([10, 10]), np.array([5.0, 5.0])).round(3).tolist()
        [2.713, -2.713]
    """
    b, x = np.asarray(both, np.float64), np.asarray(held, np.float64)
    known = (expected > 0) & (expected < x)
    e = np.where(known, expected, 1.0)
    x = np.where(known, x, 2.0)
    b = np.where(known, b, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        hits = np.where(b > 0, b * np.log(b / e), 0.0)
        misses = np.where(x > b, (x - b) * np.log((x - b) / (x - e)), 0.0)
    root = np.sqrt(np.maximum(2 * (hits + misses), 0.0))
    return np.where(known, np.where(b > e, root, -root), 0.0)


@dataclass(frozen=True)
class PreparedBank:
    """A bank as kernels read it, with the number of frames in which each item holds.

    Args:
        arrays: The arrays of the bank.
        column_of_item: The column of each item.
        n_frames: Number of frames.
        centre: The frames in which items that are not permuted in time are read, per number of frames.
        frames_of: Number of frames of each embedding.
        frames_of_row: Number of frames of the site of each bitmap.
        hold_of_row: For how many frames the values of the column of each bitmap are held.
    """

    arrays: BankArrays
    column_of_item: Indices
    n_frames: int
    centre: Callable[[int], slice]
    frames_of: Ints
    frames_of_row: Ints
    hold_of_row: Ints

    @staticmethod
    def of(bank: Bank, centre: Callable[[int], slice] | None = None, holds: Ints | None = None) -> PreparedBank:
        """Prepare a bank; its words are not copied.

        Args:
            bank: The bank.
            centre: The frames in which items that are not permuted in time are read, given a number of frames; all by
                default.
            holds: For how many frames the values of each column are held; not at all by default.
        """
        arrays = BankArrays(
            as_kernel_array(bank.words, np.uint64),
            as_kernel_array(bank.row_of, np.int32),
            as_kernel_array(bank.present_of, np.int32),
        )
        numbers = as_kernel_array(bank.column_of_item, np.int32)
        own = centre or (lambda n_frames: slice(0, n_frames))
        frames, held = _frames_of_rows(bank), _holds_of_rows(bank, holds)
        return PreparedBank(arrays, numbers, bank.n_frames, own, bank.frames_of, frames, held)

    @cached_property
    def middle(self) -> BankArrays:
        """The arrays with bitmaps that are empty outside of the centre."""
        lengths = np.unique(self.frames_of_row).tolist()
        if all(self.centre(length) == slice(0, length) for length in lengths):
            return self.arrays
        words = self.arrays.words.copy()
        for length in lengths:
            inside = np.zeros((self.n_frames, 1), bool)
            inside[self.centre(length)] = True
            words[self.frames_of_row == length] &= pack_mask(inside)
        return self.arrays._replace(words=as_kernel_array(words, np.uint64))

    @property
    def centre_share(self) -> float:
        """Share of the rows that are in the centre of the time of their site."""
        own = [self.centre(length) for length in self.frames_of.tolist()]
        return float(sum(part.stop - part.start for part in own) / max(int(self.frames_of.sum()), 1))

    def permuted(self, permutations: TimePermutations, draw: int) -> Words:
        """Return the bitmaps under a permutation of time.

        Sites with other frames have permutations of their own, and columns that are held move by whole holds.

        Args:
            permutations: The permutations.
            draw: Number of the permutation.
        """
        kinds = np.unique(np.stack([self.frames_of_row, self.hold_of_row]), axis=1).T.tolist()
        if len(kinds) == 1:
            ((length, hold),) = kinds
            return permutations.find(length, hold, draw).apply(self.arrays.words)
        out = np.empty_like(self.arrays.words)
        for length, hold in kinds:
            own = (self.frames_of_row == length) & (self.hold_of_row == hold)
            words = as_kernel_array(self.arrays.words[own], np.uint64)
            out[own] = permutations.find(length, hold, draw).apply(words)
        out.flags.writeable = False
        return out

    @cached_property
    def ones(self) -> Ints:
        """Number of frames in each bitmap."""
        return popcount(self.arrays.words)

    def sizes(self, items: npt.NDArray[np.integer]) -> Ints:
        """Return the number of frames in which items hold: items × embeddings."""
        return np.asarray(self.ones[self.arrays.row_of[items]])

    def frequency(self, items: npt.NDArray[np.integer]) -> Floats:
        """Return the share of the known frames in which items hold: items × embeddings."""
        known = self.ones[self.arrays.present_of[self.column_of_item[items]]]
        return as_kernel_array(self.sizes(items) / np.maximum(known, 1), np.float64)

    def to_arrays(self, antecedents: Indices, consequents: Indices, share: Floats) -> RuleColumns:
        """Return rules as kernels read them (see ``RuleColumns``)."""
        return RuleColumns(
            as_kernel_array(antecedents, np.int32),
            as_kernel_array(consequents, np.int32),
            as_kernel_array(self.column_of_item[consequents], np.int32),
            as_kernel_array(share, np.float64),
        )

    def hits(self, antecedents: Indices, consequents: Indices, *, in_middle: bool = False) -> tuple[Ints, Ints]:
        """Count the frames in which rules hold, and in which they could: rules × embeddings each.

        Args:
            antecedents: Items of each rule, padded with −1.
            consequents: The item of each consequent.
            in_middle: Whether to count only the frames of the centre.

        Returns:
            The frames in which antecedent and consequent hold, and those in which the antecedent holds and the
            consequent is known.
        """
        out = np.zeros((2, len(consequents), self.arrays.row_of.shape[1]), np.int64)
        column = as_kernel_array(self.column_of_item[consequents], np.int32)
        arrays = self.middle if in_middle else self.arrays
        count_hits(arrays, as_kernel_array(antecedents, np.int32), as_kernel_array(consequents, np.int32), column, out)
        return out[0], out[1]


def _frames_of_rows(bank: Bank) -> Ints:
    """Return the number of frames of the site that reads each bitmap."""
    out = np.full(len(bank.words), bank.n_frames, np.int64)
    if bank.site_of is not None:
        for site, frames in enumerate(bank.site_frames):
            own = bank.site_of == site
            rows = np.unique(np.concatenate([bank.row_of[:, own].ravel(), bank.present_of[:, own].ravel()]))
            out[rows[rows > 1]] = frames  # the empty and the full bitmap belong to all
    return out


def _holds_of_rows(bank: Bank, holds: Ints | None) -> Ints:
    """Return for how many frames the column of each bitmap is held."""
    out = np.ones(len(bank.words), np.int64)
    if holds is None:
        return out
    for column in np.flatnonzero(holds > 1).tolist():
        rows = np.unique(np.append(bank.row_of[bank.column_of_item == column].ravel(), bank.present_of[column]))
        rows = rows[rows > 1]  # the empty and the full bitmap belong to all
        out[rows] = np.maximum(out[rows], holds[column])
    return out


@dataclass(frozen=True)
class TimeTests:
    """Tests of association in time between antecedent and consequent: the consequent is permuted.

    Args:
        bank: The bitmaps.
        rules: Positions of the tested rules in the rule set.
        arrays: The tested rules.
    """

    bank: PreparedBank
    rules: Ints
    arrays: RuleColumns

    @staticmethod
    def of(bank: PreparedBank, encoded: EncodedRules, chosen: Ints) -> TimeTests:
        """Build the tests of some rules of a block.

        Args:
            bank: The bitmaps.
            encoded: The rules of the block.
            chosen: The rules to test, as indices into ``encoded``.
        """
        antecedents = encoded.numbers[encoded.antecedents[chosen]]
        order = np.lexsort(antecedents.T[::-1])  # equal antecedents become adjacent and are intersected once
        consequents = encoded.numbers[encoded.consequents[chosen[order]]]
        arrays = bank.to_arrays(antecedents[order], consequents, bank.frequency(consequents))
        return TimeTests(bank, encoded.rules[chosen[order]], arrays)

    def statistics(self, permuted: Words | None, draw: int) -> Floats:
        """Compute the statistic of each rule (see ``Tests``)."""
        arrays, totals = self.bank.middle, zero_totals(len(self.rules))
        words = arrays.words if permuted is None else permuted
        count_with_permuted_consequent(arrays, words, self.arrays, totals)
        return signed_roots(*totals)


@dataclass(frozen=True)
class ItemTests:
    """Tests of what one item adds to the others of its antecedent: only that item is permuted.

    Args:
        bank: The bitmaps.
        rules: Positions of the tested rules in the rule set.
        arrays: The tested rules without the item.
        item: The tested item of each rule.
    """

    bank: PreparedBank
    rules: Ints
    arrays: RuleColumns
    item: Indices

    @staticmethod
    def of(bank: PreparedBank, rules: Ints, others: Indices, item: Indices, consequents: Indices) -> ItemTests:
        """Build the tests of single items.

        Args:
            bank: The bitmaps.
            rules: Positions of the tested rules in the rule set.
            others: The other items of each antecedent, padded with −1.
            item: The tested item of each rule.
            consequents: The consequent of each rule.
        """
        # Tests with the same other items and consequent become adjacent and are intersected once.
        order = np.lexsort([item, consequents, *others.T[::-1]])
        rules, others, item, consequents = rules[order], others[order], item[order], consequents[order]
        hits, rows = bank.hits(others, consequents, in_middle=True)
        arrays = bank.to_arrays(others, consequents, hits / np.maximum(rows, 1))
        return ItemTests(bank, rules, arrays, as_kernel_array(item, np.int32))

    def statistics(self, permuted: Words | None, draw: int) -> Floats:
        """Compute the statistic of each item (see ``Tests``)."""
        arrays, totals = self.bank.middle, zero_totals(len(self.rules))
        words = arrays.words if permuted is None else permuted
        count_with_permuted_item(arrays, words, self.arrays, self.item, totals)
        return signed_roots(*totals)


@dataclass(frozen=True)
class PlacePermutations:
    """Permutations of the places of a block; static columns of the same variable are permuted together.

    Places of several sites are permuted within their site, so that what differs between sites is not mistaken for an
    association with what differs between places.

    Args:
        block: The block.
        orders: The permutations of each set of columns (draws × places), by the bytes of their ``series``.
        n_draws: Number of permutations.
    """

    block: Block
    orders: Mapping[bytes, Ints]
    n_draws: int

    @staticmethod
    def of(block: Block, n_draws: int, rng: np.random.Generator) -> PlacePermutations:
        """Draw ``n_draws`` permutations of a block with the random generator ``rng``."""
        orders: dict[bytes, Ints] = {}
        for column in block.columns:
            key = column.series.tobytes()
            if column.is_static and key not in orders:
                orders[key] = np.stack([_permute_places(column, block, rng) for _ in range(n_draws)])
        return PlacePermutations(block, orders, n_draws)

    def mask(self, column: Column, codes: Bools, draw: int) -> Bools:
        """Return the embeddings in which a static item holds.

        Args:
            column: The column of the item.
            codes: The codes for which the item holds, as a mask.
            draw: Number of the permutation, or −1 for the embeddings as observed.
        """
        series = np.broadcast_to(column.series, (self.block.n_embeddings,))
        own = column.codes[:, 0]
        holds = (own >= 0) & codes[np.maximum(own, 0)]
        if draw >= 0:
            holds = holds[self.orders[column.series.tobytes()][draw]]
        return np.asarray((series >= 0) & holds[np.maximum(series, 0)])


def _permute_places(column: Column, block: Block, rng: np.random.Generator) -> Ints:
    """Return a permutation of the places of a static column, within each site."""
    if block.site_of is None:
        return rng.permutation(len(column.codes))
    site = np.full(len(column.codes), -1)
    series = np.broadcast_to(column.series, (block.n_embeddings,))
    site[series[series >= 0]] = block.site_of[series >= 0]
    out = np.arange(len(column.codes))
    for number in range(len(block.sites)):
        own = np.flatnonzero(site == number)
        out[own] = rng.permutation(own)
    return out


@dataclass(frozen=True)
class PlaceTests:
    """Tests of association with static items: these are permuted over the places.

    Args:
        permutations: The permutations of the block.
        rules: Positions of the tested rules in the rule set.
        items: The static items of each test that are permuted together, as (column, mask of codes).
        hits: Frames with a hit: tests × embeddings.
        rows: Frames in which a hit was possible: tests × embeddings.
    """

    permutations: PlacePermutations
    rules: Ints
    items: Sequence[Sequence[tuple[int, Bools]]]
    hits: Floats
    rows: Floats

    def statistics(self, permuted: Words | None, draw: int) -> Floats:
        """Compute the statistic of each rule (see ``Tests``): are hits more frequent where the items hold?"""
        at = -1 if permuted is None else draw
        known: dict[tuple[int, bytes], Bools] = {}
        masks = np.ones(self.hits.shape, bool)
        for test, items in enumerate(self.items):
            for column, codes in items:
                key = (column, codes.tobytes())
                if key not in known:
                    known[key] = self.permutations.mask(self.permutations.block.columns[column], codes, at)
                masks[test] &= known[key]
        both, held = (self.hits * masks).sum(axis=1), (self.rows * masks).sum(axis=1)
        share = self.hits.sum(axis=1) / np.maximum(self.rows.sum(axis=1), 1)
        return signed_roots(both, held, held * share)


@dataclass(frozen=True)
class ArrayCache:
    """The prepared bank of each bank and the place permutations of each block, created on first use.

    Args:
        time: The permutations of time.
        rng: Random generator.
        by_bank: Prepared banks by the id of their words.
        by_block: Place permutations by the id of their block.
    """

    time: TimePermutations
    rng: np.random.Generator
    by_bank: dict[int, PreparedBank] = field(default_factory=dict)
    by_block: dict[int, PlacePermutations] = field(default_factory=dict)

    def bank(self, bank: Bank, at: int) -> PreparedBank:
        """Return the prepared form of a bank of the block at a position of the table."""
        key = id(bank.words)  # the prepared bank keeps the words alive, but not the bank
        if key not in self.by_bank:
            self.by_bank[key] = PreparedBank.of(bank, self.time.null.centre, self.time.holds[at])
        return self.by_bank[key]

    def permutations(self, block: Block) -> PlacePermutations:
        """Return the place permutations of a block."""
        if id(block) not in self.by_block:
            self.by_block[id(block)] = PlacePermutations.of(block, self.time.n_draws, self.rng)
        return self.by_block[id(block)]


def build_tests(
    rules: RuleSet, table: TransactionTable, cache: ArrayCache, *, simpler: bool
) -> tuple[list[tuple[PreparedBank, Tests]], list[tuple[PreparedBank, Tests]]]:
    """Build the tests of rules, each group with the bank that it reads.

    Args:
        rules: The rules to test.
        table: The table that the rules were mined from.
        cache: Banks and permutations.
        simpler: Whether to test each item of longer antecedents as well.

    Returns:
        The tests of association (one per rule), and the tests of single items.
    """
    association: list[tuple[PreparedBank, Tests]] = []
    additions: list[tuple[PreparedBank, Tests]] = []
    for encoded in encode_rules(rules, table):
        bank, permutations = cache.bank(encoded.bank, encoded.at), cache.permutations(encoded.block)
        static = np.append(encoded.static, True)
        by_place = static[encoded.antecedents].all(axis=1) | static[encoded.consequents]
        in_time = np.flatnonzero(~by_place)
        if len(in_time):
            association.append((bank, TimeTests.of(bank, encoded, in_time)))
        if by_place.any():
            chosen = np.flatnonzero(by_place)
            association.append((bank, _build_place_tests(bank, encoded, chosen, static, permutations)))
        if simpler:
            additions += [(bank, tests) for tests in _build_item_tests(bank, encoded, static, permutations)]
    return association, additions


def _static_item(encoded: EncodedRules, item: int) -> tuple[int, Bools]:
    return int(encoded.column[item]), encoded.codes[item]


def _build_place_tests(
    bank: PreparedBank, encoded: EncodedRules, chosen: Ints, static: Bools, permutations: PlacePermutations
) -> PlaceTests:
    """Test rules with a static side: permute the antecedent if it is static, otherwise the consequent."""
    antecedents, consequents = encoded.antecedents[chosen], encoded.consequents[chosen]
    static_antecedent = np.asarray(static[antecedents].all(axis=1))
    empty = np.full((len(chosen), 1), -1, np.int32)
    hits, rows = (array.astype(np.float64) for array in bank.hits(empty, encoded.numbers[consequents]))
    if not static_antecedent.all():
        # The frames of the antecedent are the hits of its last item among the frames of the other items.
        changing = ~static_antecedent
        length = (antecedents[changing] >= 0).sum(axis=1) - 1
        last = np.take_along_axis(antecedents[changing], length[:, None], axis=1)[:, 0]
        others = np.where(np.arange(antecedents.shape[1]) < length[:, None], antecedents[changing], -1)
        hits[changing] = bank.hits(encoded.numbers[others], encoded.numbers[last])[0]
        rows[changing] = bank.frames_of
    items = [
        [_static_item(encoded, i) for i in (own[own >= 0].tolist() if is_static else [consequent])]
        for own, consequent, is_static in zip(
            antecedents, consequents.tolist(), static_antecedent.tolist(), strict=True
        )
    ]
    return PlaceTests(permutations, encoded.rules[chosen], items, hits, rows)


def _build_item_tests(
    bank: PreparedBank, encoded: EncodedRules, static: Bools, permutations: PlacePermutations
) -> list[Tests]:
    """Test each item of the antecedents with several items: does it add to the others?"""
    antecedents, width = encoded.antecedents, encoded.antecedents.shape[1]
    row, place = np.nonzero((antecedents >= 0) & ((antecedents >= 0).sum(axis=1) > 1)[:, None])
    if not len(row):
        return []
    is_other = np.arange(width)[None, :] != place[:, None]
    others = encoded.numbers[antecedents[row][is_other].reshape(len(row), width - 1)]
    item, consequents = antecedents[row, place], encoded.numbers[encoded.consequents[row]]
    out: list[Tests] = []
    changing = ~static[item]
    if changing.any():
        own = encoded.numbers[item[changing]]
        out.append(ItemTests.of(bank, encoded.rules[row[changing]], others[changing], own, consequents[changing]))
    if not changing.all():
        still = ~changing
        hits, rows = bank.hits(others[still], consequents[still])
        items = [[_static_item(encoded, i)] for i in item[still].tolist()]
        out.append(PlaceTests(permutations, encoded.rules[row[still]], items, hits.astype(float), rows.astype(float)))
    return out
