"""The tests behind a p-value: a statistic of each rule as observed, and in every rearranged world.

The statistic is the signed root of the likelihood ratio of "the consequent is as frequent where the antecedent holds as
elsewhere", with the frequency taken in each embedding on its own, so that differences between places do not pass for
association in time. It grows with the excess of hits and with the number of rows, and is about as large for rare as
for frequent items, which makes the strongest of many comparable. Its distribution is never assumed: it is compared
with itself in rearranged worlds only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

from thence.bitmaps.bank import Bank
from thence.bitmaps.bits import Words, popcount, shared
from thence.refinement.parts import Part, parts_of
from thence.refinement.significance.null_kernels import copy_runs, count_conditional, count_drawn, count_given
from thence.refinement.significance.nulls import Runs
from thence.rules.ruleset import RuleSet
from thence.tables.transactions import Block, Column, TransactionTable

__all__ = [
    "Board",
    "Boards",
    "ConditionalTests",
    "PlaceTests",
    "Shuffles",
    "Tests",
    "TimeTests",
    "excess_roots",
    "tests_of",
]

Ints = npt.NDArray[np.int64]
Indices = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


class Tests(Protocol):
    """Statistics of some hypotheses: as observed (no words given), or in the world number ``draw``."""

    @property
    def rules(self) -> Ints: ...

    def statistics(self, drawn: Words | None, draw: int) -> Floats: ...


def excess_roots(both: npt.NDArray[np.number], held: npt.NDArray[np.number], expected: Floats) -> Floats:
    """The signed root of the likelihood ratio of so many hits among so many rows, against the expected number.

    >>> excess_roots(np.array([9, 1]), np.array([10, 10]), np.array([5.0, 5.0])).round(3).tolist()
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
class Board:
    """The bitmaps of a bank as kernels want them, and how often each item holds in each embedding."""

    words: Words
    row_of: Indices
    present_of: Indices
    column_of_item: Indices
    n_frames: int

    @staticmethod
    def of(bank: Bank) -> Board:
        return Board(
            shared(bank.words, np.uint64),
            shared(bank.row_of, np.int32),
            shared(bank.present_of, np.int32),
            shared(bank.column_of_item, np.int32),
            bank.n_frames,
        )

    def rearranged(self, runs: Runs) -> Words:
        """The bitmaps in another order of time."""
        out = np.zeros_like(self.words)
        copy_runs(self.words, runs.source, runs.target, runs.length, out)
        out.flags.writeable = False
        return out

    @cached_property
    def ones(self) -> Ints:
        """The frames of each bitmap."""
        return popcount(self.words)

    def sizes(self, items: npt.NDArray[np.integer]) -> Ints:
        """The frames in which items hold: items × embeddings."""
        return np.asarray(self.ones[self.row_of[items]])

    def base(self, items: npt.NDArray[np.integer]) -> Floats:
        """How often items hold among the frames in which they are known: items × embeddings."""
        known = self.ones[self.present_of[self.column_of_item[items]]]
        return shared(self.sizes(items) / np.maximum(known, 1), np.float64)


@dataclass(frozen=True)
class TimeTests:
    """Association of antecedent and consequent in time: the consequent is rearranged."""

    board: Board
    rules: Ints
    left: Indices
    right: Indices
    column: Indices
    base: Floats

    @staticmethod
    def of(board: Board, part: Part, chosen: Ints) -> TimeTests:
        left = part.numbers[part.left[chosen]]
        order = np.lexsort(left.T[::-1])  # equal antecedents follow each other and are put together once
        right = part.numbers[part.right[chosen[order]]]
        return TimeTests(
            board,
            part.rules[chosen[order]],
            shared(left[order], np.int32),
            shared(right, np.int32),
            shared(board.column_of_item[right], np.int32),
            board.base(right),
        )

    def statistics(self, drawn: Words | None, draw: int) -> Floats:
        """The statistic of each rule."""
        board = self.board
        both, held, expected = np.zeros_like(self.rules), np.zeros_like(self.rules), np.zeros(len(self.rules))
        count_drawn(
            board.words, board.words if drawn is None else drawn, board.row_of, board.present_of,
            self.left, self.right, self.column, self.base, both, held, expected,
        )  # fmt: skip
        return excess_roots(both, held, expected)


@dataclass(frozen=True)
class ConditionalTests:
    """What one item adds to the rest of its rule: that item alone is rearranged, where the rest holds."""

    board: Board
    rules: Ints
    rest: Indices
    item: Indices
    right: Indices
    column: Indices
    base: Floats

    @staticmethod
    def of(board: Board, rules: Ints, rest: Indices, item: Indices, right: Indices) -> ConditionalTests:
        order = np.lexsort([item, right, *rest.T[::-1]])  # what has the same rest and consequent follows each other
        rules, rest, item, right = rules[order], rest[order], item[order], right[order]
        column = board.column_of_item[right]
        hits, rows = given(board, rest, right)
        return ConditionalTests(
            board,
            rules,
            shared(rest, np.int32),
            shared(item, np.int32),
            shared(right, np.int32),
            shared(column, np.int32),
            shared(hits / np.maximum(rows, 1), np.float64),
        )

    def statistics(self, drawn: Words | None, draw: int) -> Floats:
        """The statistic of each item."""
        board = self.board
        both, held, expected = np.zeros_like(self.rules), np.zeros_like(self.rules), np.zeros(len(self.rules))
        count_conditional(
            board.words, board.words if drawn is None else drawn, board.row_of, board.present_of,
            self.rest, self.item, self.right, self.column, self.base, both, held, expected,
        )  # fmt: skip
        return excess_roots(both, held, expected)


def given(board: Board, rest: Indices, right: Indices) -> tuple[Ints, Ints]:
    """Per embedding the frames that hold ``rest`` and the consequent, and those in which the latter is known."""
    hits, rows = (np.zeros((len(right), board.row_of.shape[1]), np.int64) for _ in range(2))
    count_given(
        board.words,
        board.row_of,
        board.present_of,
        shared(rest, np.int32),
        shared(right, np.int32),
        shared(board.column_of_item[right], np.int32),
        hits,
        rows,
    )
    return hits, rows


@dataclass(frozen=True)
class Shuffles:
    """Permutations of the places of a block: facts about the same variable move together."""

    block: Block
    orders: Mapping[bytes, Ints]
    n_draws: int

    @staticmethod
    def of(block: Block, n_draws: int, rng: np.random.Generator) -> Shuffles:
        orders: dict[bytes, Ints] = {}
        for column in block.columns:
            key = column.series.tobytes()
            if column.is_static and key not in orders:
                orders[key] = np.stack([rng.permutation(len(column.codes)) for _ in range(n_draws)])
        return Shuffles(block, orders, n_draws)

    def mask(self, column: Column, codes: Bools, draw: int) -> Bools:
        """The embeddings in which a static item holds, as they are (``draw`` −1) or in a permuted world."""
        series = np.broadcast_to(column.series, (self.block.n_embeddings,))
        own = column.codes[:, 0]
        holds = (own >= 0) & codes[np.maximum(own, 0)]
        if draw >= 0:
            holds = holds[self.orders[column.series.tobytes()][draw]]
        return np.asarray((series >= 0) & holds[np.maximum(series, 0)])


@dataclass(frozen=True)
class PlaceTests:
    """Association with facts that do not depend on time: the facts are permuted over the places.

    ``items[r]`` are the static items that move together, as (column, codes); ``hits`` and ``rows`` are frames per
    embedding, and what is tested is whether hits are more frequent where the items hold.
    """

    shuffles: Shuffles
    rules: Ints
    items: Sequence[Sequence[tuple[int, Bools]]]
    hits: Floats
    rows: Floats

    def statistics(self, drawn: Words | None, draw: int) -> Floats:
        """The statistic of each rule."""
        at = -1 if drawn is None else draw
        known: dict[tuple[int, bytes], Bools] = {}
        masks = np.ones(self.hits.shape, bool)
        for test, items in enumerate(self.items):
            for column, codes in items:
                key = (column, codes.tobytes())
                if key not in known:
                    known[key] = self.shuffles.mask(self.shuffles.block.columns[column], codes, at)
                masks[test] &= known[key]
        both, held = (self.hits * masks).sum(axis=1), (self.rows * masks).sum(axis=1)
        share = self.hits.sum(axis=1) / np.maximum(self.rows.sum(axis=1), 1)
        return excess_roots(both, held, held * share)


@dataclass(frozen=True)
class Boards:
    """The bitmaps of each bank, and the permutations of facts of each block, made once."""

    n_draws: int
    rng: np.random.Generator
    by_bank: dict[int, Board] = field(default_factory=dict)
    by_block: dict[int, Shuffles] = field(default_factory=dict)

    def board(self, bank: Bank) -> Board:
        """The bitmaps of a bank."""
        key = id(bank.words)  # a board keeps the words, not the bank, alive
        if key not in self.by_bank:
            self.by_bank[key] = Board.of(bank)
        return self.by_bank[key]

    def shuffles(self, block: Block) -> Shuffles:
        """The permutations of a block."""
        if id(block) not in self.by_block:
            self.by_block[id(block)] = Shuffles.of(block, self.n_draws, self.rng)
        return self.by_block[id(block)]


def tests_of(
    rules: RuleSet, table: TransactionTable, boards: Boards, *, simpler: bool
) -> tuple[list[tuple[Board, Tests]], list[tuple[Board, Tests]]]:
    """The tests of association, and those of single items against the rest, each with its bitmaps."""
    association: list[tuple[Board, Tests]] = []
    additions: list[tuple[Board, Tests]] = []
    for part in parts_of(rules, table):
        board, shuffles = boards.board(part.bank), boards.shuffles(part.block)
        fixed = np.append(part.static, True)
        by_place = fixed[part.left].all(axis=1) | fixed[part.right]
        in_time = np.flatnonzero(~by_place)
        if len(in_time):
            association.append((board, TimeTests.of(board, part, in_time)))
        if by_place.any():
            association.append((board, _place_tests(board, part, np.flatnonzero(by_place), fixed, shuffles)))
        if simpler:
            additions += [(board, tests) for tests in _additions(board, part, fixed, shuffles)]
    return association, additions


def _static_item(part: Part, item: int) -> tuple[int, Bools]:
    return int(part.column[item]), part.codes[item]


def _place_tests(board: Board, part: Part, chosen: Ints, fixed: Bools, shuffles: Shuffles) -> PlaceTests:
    """Rules about facts: the static antecedent moves, or, where the antecedent changes in time, the consequent."""
    left, right = part.left[chosen], part.right[chosen]
    facts = np.asarray(fixed[left].all(axis=1))
    empty = np.full((len(chosen), 1), -1, np.int32)
    hits, rows = (array.astype(np.float64) for array in given(board, empty, part.numbers[right]))
    if not facts.all():
        # The frames of the antecedent per embedding are those of its last item among those of the others.
        others = ~facts
        length = (left[others] >= 0).sum(axis=1) - 1
        last = np.take_along_axis(left[others], length[:, None], axis=1)[:, 0]
        rest = np.where(np.arange(left.shape[1]) < length[:, None], left[others], -1)
        hits[others] = given(board, part.numbers[rest], part.numbers[last])[0]
        rows[others] = board.n_frames
    items = [
        [_static_item(part, i) for i in (own[own >= 0].tolist() if is_fact else [target])]
        for own, target, is_fact in zip(left, right.tolist(), facts.tolist(), strict=True)
    ]
    return PlaceTests(shuffles, part.rules[chosen], items, hits, rows)


def _additions(board: Board, part: Part, fixed: Bools, shuffles: Shuffles) -> list[Tests]:
    """For each item of a longer antecedent: does it add to the others?"""
    left, width = part.left, part.left.shape[1]
    row, place = np.nonzero((left >= 0) & ((left >= 0).sum(axis=1) > 1)[:, None])
    if not len(row):
        return []
    others = np.arange(width)[None, :] != place[:, None]
    rest = part.numbers[left[row][others].reshape(len(row), width - 1)]
    item, right = left[row, place], part.numbers[part.right[row]]
    out: list[Tests] = []
    moving = ~fixed[item]
    if moving.any():
        own = part.numbers[item[moving]]
        out.append(ConditionalTests.of(board, part.rules[row[moving]], rest[moving], own, right[moving]))
    if not moving.all():
        still = ~moving
        hits, rows = given(board, rest[still], right[still])
        items = [[_static_item(part, i)] for i in item[still].tolist()]
        out.append(PlaceTests(shuffles, part.rules[row[still]], items, hits.astype(float), rows.astype(float)))
    return out
