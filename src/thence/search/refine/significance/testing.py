"""Significance tests of rules: p-values that account for autocorrelation and for the size of the search.

Successive frames of a sensor are not independent, so that Fisher's exact test finds almost everything significant.
Here the consequent is permuted in time against the antecedent (``nulls``), which keeps each series as it is and breaks
only the association between them; static items are permuted over the places instead, and rows without times one by
one. A p-value is the share of permutations, the observed data included, with a statistic at least as large as the
observed one.

Two series that drift (random walks, trends, a season of which the table sees only one) agree or disagree over the
whole time by chance, and no shift can distinguish this from an association. A side of a rule *drifts* if it has far
more power at the slowest frequencies than at those next to them. If both sides drift, the rule must also hold within
spans of time, each compared with its own frequencies: there, slow changes of independent series go together about as
often as against each other.

Rules are not a random sample: a miner returns the best of a large space, and a search that tests the best of a million
rules must ask how strong the best of a million is by chance. Adjusted p-values therefore compare each rule with the
strongest rule of the whole search space (``Family``) under each permutation, not only with the given rules:
antecedents of all items of a block up to the given length, and every admissible consequent, are counted again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from thence._base.progress import Progress, silent
from thence._base.settings.threads import default_threads
from thence.errors import ConfigError, MiningError
from thence.language.constraints import Constraint
from thence.search.refine.encoding import encode_rules, factorize_rows
from thence.search.refine.significance.kernels import (
    TOLERANCE,
    BankArrays,
    RuleColumns,
    count_longer,
    count_pairs,
    intersect,
    zero_totals,
)
from thence.search.refine.significance.nulls import Null, TimePermutations
from thence.search.refine.significance.statistics import (
    ArrayCache,
    PlacePermutations,
    PlaceTests,
    PreparedBank,
    Tests,
    TimeTests,
    build_tests,
    signed_roots,
)
from thence.statements.rules.ruleset import RuleSet
from thence.tables.admissibility import item_masks, trivial_pairs
from thence.tables.bitmaps.bits import (
    Bools,
    Floats,
    Indices,
    Integer,
    Ints,
    Words,
    as_kernel_array,
    ctpop,
    helper,
    kernel,
    popcount,
    run_threads,
    split_range,
)
from thence.tables.blocks import Block
from thence.tables.transactions import TransactionTable

# The power at the slowest frequencies is compared with the power at the next ones, up to this many in all.
_SLOWEST = 3
# Frequencies → level: the mean power of the slowest ones over the median power of the others, exceeded by 5 % of
# stationary Gaussian series with a short memory (two million draws of independent normal coefficients).
_LIMITS = {24: 7.94, 12: 11.6}
# Cells per frequency, and cells per span.
_CELLS, _CELLS_PER_SPAN = 4, 3


@dataclass(frozen=True)
class _Cells:
    """Time cut into cells of equal length: fine enough for the frequencies of the test.

    Args:
        starts: First frame of each cell, and the number of frames.
        waves: Cosines at the tested frequencies: frequencies × cells.
        limit: Ratio of powers above which a series drifts.
    """

    starts: Ints
    waves: Floats
    limit: float

    @staticmethod
    def of(n_frames: int) -> _Cells | None:
        """Cut a number of frames, or return ``None`` if there are too few to show a drift."""
        for count, limit in _LIMITS.items():
            cells = count * _CELLS
            if n_frames >= cells:
                starts = np.linspace(0, n_frames, cells + 1).astype(np.int64)
                middle = (starts[1:] + starts[:-1]) / 2
                waves = np.cos(np.pi * np.outer(np.arange(1, count + 1), middle / n_frames))
                return _Cells(as_kernel_array(starts, np.int64), as_kernel_array(waves, np.float64), limit)
        return None

    @property
    def spans(self) -> Ints:
        """First frame of each span, and the number of frames."""
        return as_kernel_array(self.starts[::_CELLS_PER_SPAN], np.int64)


@helper
def _count_range(line: Words, start: int, stop: int) -> Integer:
    """Count the ones of a bitmap from one frame up to another."""
    if stop <= start:
        return np.int64(0)
    first, last = start // 64, (stop - 1) // 64
    head = ~np.uint64(0) << np.uint64(start % 64)
    tail = ~np.uint64(0) >> np.uint64(63 - (stop - 1) % 64)
    if first == last:
        return np.int64(ctpop(line[first] & head & tail))
    total = ctpop(line[first] & head) + ctpop(line[last] & tail)
    for word in range(first + 1, last):
        total += ctpop(line[word])
    return np.int64(total)


@kernel
def _add_powers(bank: BankArrays, sets: Indices, columns: Indices, starts: Ints, waves: Floats, powers: Floats) -> None:
    """Add the power of the series "all items of a set hold" at each frequency, over all embeddings.

    Frames in which an item is unknown count as neither.
    """
    width, cells = bank.words.shape[1], starts.size - 1
    holds, known = np.empty(width, np.uint64), np.empty(width, np.uint64)
    held, seen = np.empty(cells), np.empty(cells)
    for embedding in range(bank.row_of.shape[1]):
        for at in range(sets.shape[0]):
            intersect(bank, sets[at], embedding, holds)
            for word in range(width):
                known[word] = bank.words[1, word]
            for place in range(sets.shape[1]):
                if sets[at, place] >= 0:
                    present = bank.present_of[columns[at, place], embedding]
                    if present != 1:
                        for word in range(width):
                            known[word] &= bank.words[present, word]
            hits, frames = 0.0, 0.0
            for cell in range(cells):
                held[cell] = _count_range(holds, starts[cell], starts[cell + 1])
                seen[cell] = _count_range(known, starts[cell], starts[cell + 1])
                hits += held[cell]
                frames += seen[cell]
            if hits == 0.0 or hits == frames:
                continue
            for cell in range(cells):
                held[cell] -= hits / frames * seen[cell]
            for wave in range(waves.shape[0]):
                total = 0.0
                for cell in range(cells):
                    total += waves[wave, cell] * held[cell]
                powers[at, wave] += total * total


@kernel
def _add_excess(bank: BankArrays, rules: RuleColumns, starts: Ints, excess: Floats) -> None:
    """Add the hits of each rule beyond those expected from the frequencies in the span: rules × spans."""
    width = bank.words.shape[1]
    holds, both = np.empty(width, np.uint64), np.empty(width, np.uint64)
    for embedding in range(bank.row_of.shape[1]):
        for rule in range(rules.consequents.size):
            intersect(bank, rules.antecedents[rule], embedding, holds)
            target = bank.words[bank.row_of[rules.consequents[rule], embedding]]
            known = bank.words[bank.present_of[rules.column[rule], embedding]]
            for word in range(width):
                holds[word] &= known[word]
                both[word] = holds[word] & target[word]
            for span in range(starts.size - 1):
                start, stop = starts[span], starts[span + 1]
                held, frames = _count_range(holds, start, stop), _count_range(known, start, stop)
                if held > 0:
                    expected = held * _count_range(target, start, stop) / frames
                    excess[rule, span] += _count_range(both, start, stop) - expected


def find_drifting(bank: PreparedBank, sets: Indices) -> Bools:
    """Tell which sets of items drift: the series in which all of them hold is not stationary.

    The power of the series is summed over the embeddings. A set drifts if the mean power at the three slowest
    frequencies (up to one and a half cycles in the whole time) is far above the median power at the next ones, more
    than in 95 % of stationary series with a short memory. The median keeps a cycle from hiding a drift. A stationary
    series with a long memory, compared with the whole time, looks the same and counts as drifting.

    Args:
        bank: The bitmaps.
        sets: Items of each set, padded with −1.

    Returns:
        A flag per set; all false for fewer than 48 frames, which are too few to show it.
    """
    cells = _Cells.of(bank.n_frames)
    if cells is None:
        return np.zeros(len(sets), bool)
    columns = np.where(sets >= 0, bank.column_of_item[np.maximum(sets, 0)], -1)
    powers = np.zeros((len(sets), len(cells.waves)))

    def add(low: int, high: int) -> None:
        some, own = (as_kernel_array(array[low:high], np.int32) for array in (sets, columns))
        _add_powers(bank.arrays, some, own, cells.starts, cells.waves, powers[low:high])

    _in_threads(add, len(sets))
    slow, others = powers[:, :_SLOWEST].mean(axis=1), np.median(powers[:, _SLOWEST:], axis=1)
    return np.asarray(slow > cells.limit * np.maximum(others, 1e-9))


def drift_p_values(tests: TimeTests) -> Floats:
    """Compute, for rules of which both sides drift, a p-value of the association within spans of time.

    In each span the hits are compared with those expected from the frequencies of both sides in that span. If
    these differences are independent and symmetric around zero, whatever their sizes, the sum over the root of the sum
    of squares, t, exceeds x with a probability of at most exp(−x² / 2). In k spans t is at most the root of k, so
    that a rule that was seen to come and go in a few spans only cannot have a low p-value.

    Args:
        tests: The rules.

    Returns:
        The p-value exp(−t² / 2) of each rule; NaN where at least one side is stationary.
    """
    bank, rules = tests.bank, tests.arrays
    out = np.full(len(tests.rules), np.nan)
    cells = _Cells.of(bank.n_frames)
    if cells is None:
        return out
    own, first = factorize_rows(rules.consequents[:, None])
    drifting = find_drifting(bank, rules.consequents[first][:, None])[own]
    chosen = np.flatnonzero(drifting)
    if len(chosen):
        own, first = factorize_rows(rules.antecedents[chosen])
        chosen = chosen[find_drifting(bank, rules.antecedents[chosen[first]])[own]]
    excess = np.zeros((len(chosen), len(cells.spans) - 1))

    def add(low: int, high: int) -> None:
        some = RuleColumns(*(as_kernel_array(array[chosen[low:high]], array.dtype) for array in rules))
        _add_excess(bank.arrays, some, cells.spans, excess[low:high])

    _in_threads(add, len(chosen))
    total, spread = excess.sum(axis=1), np.sqrt((excess**2).sum(axis=1))
    t = np.where(total > 0, total / np.maximum(spread, 1e-12), 0.0)
    out[chosen] = np.exp(-(t**2) / 2)
    return out


def _in_threads(work: Callable[[int, int], None], total: int) -> None:
    """Call a function with ranges that together are ``range(total)``, in several threads."""
    pieces = split_range(total, default_threads())
    run_threads(lambda piece: work(*piece), pieces)


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


@dataclass
class Tally:
    """Tests, their observed statistics, and under how many permutations each of these is exceeded.

    Args:
        tests: Groups of tests, each with the bank that it reads.
        rules: Position of the tested rule of each test.
        observed: The observed statistic of each test.
        exceeded: Number of permutations with at least the observed statistic.
        n_draws: Number of permutations.
        permuted: Statistics under all permutations (tests × permutations), needed by ``family_wise``, or ``None``.
    """

    tests: Sequence[tuple[PreparedBank, Tests]]
    rules: Ints
    observed: Floats
    exceeded: Ints
    n_draws: int
    permuted: npt.NDArray[np.float32] | None

    @staticmethod
    def of(tests: Sequence[tuple[PreparedBank, Tests]], n_draws: int, *, store: bool) -> Tally:
        """Compute the observed statistics of tests, and start counting.

        Args:
            tests: Groups of tests, each with the bank that it reads.
            n_draws: Number of permutations.
            store: Whether to store the statistics under all permutations.
        """
        observed = np.concatenate([np.zeros(0), *(own.statistics(None, -1) for _, own in tests)])
        rules = np.concatenate([np.zeros(0, np.int64), *(own.rules for _, own in tests)])
        permuted = np.empty((len(observed), n_draws), np.float32) if store else None
        return Tally(tests, rules, observed, np.zeros(len(observed), np.int64), n_draws, permuted)

    def statistics(self, permuted: Mapping[int, Words], draw: int) -> Floats:
        """Compute the statistics under permutation ``draw``, given the permuted words of each bank by its id."""
        return np.concatenate([np.zeros(0), *(own.statistics(permuted[id(bank)], draw) for bank, own in self.tests)])

    def add(self, draw: int, statistics: Floats) -> None:
        """Add the statistics under permutation ``draw``."""
        self.exceeded += statistics >= self.observed - TOLERANCE * np.maximum(1.0, np.abs(self.observed))
        if self.permuted is not None:
            self.permuted[:, draw] = statistics

    @property
    def p_values(self) -> Floats:
        """The p-value of each test by itself; the observed data count as one permutation."""
        return (1 + self.exceeded) / (1 + self.n_draws)

    def family_wise(self) -> Floats:
        """Return p-values adjusted over all tests: the share of permutations with *any* statistic as extreme.

        The null distributions of the tests differ in location and spread. Statistics are therefore standardised per
        test, by mean and standard deviation over all permutations and the observed data, which treats all alike.
        """
        assert self.permuted is not None
        every = np.column_stack([self.observed.astype(np.float32), self.permuted])
        mean, spread = every.mean(axis=1, keepdims=True), every.std(axis=1, keepdims=True)
        constant = spread <= TOLERANCE
        every = np.where(constant, np.float32(0), (every - mean) / np.where(constant, np.float32(1), spread))
        strongest = np.sort(every[:, 1:].max(axis=0, initial=-np.inf))
        above = len(strongest) - np.searchsorted(strongest, every[:, 0] * (1 - 1e-6), side="left")
        return np.asarray(np.where(constant[:, 0], 1.0, (1 + above) / (1 + self.n_draws)))


def count_levels_reached(levels: Floats, values: Floats) -> Ints:
    """Count, for each statistic in ``values``, how many of the ascending ``levels`` it reaches, within tolerance.

    Examples:
        >>> count_levels_reached(np.array([1.0, 2.0]), np.array([0.5, 1.0, 3.0])).tolist()
        [0, 1, 2]
    """
    finite = np.maximum(values, -1.0)  # levels are positive
    return np.searchsorted(levels, finite + TOLERANCE * np.maximum(1.0, finite), side="right")


@dataclass
class Levels:
    """The distinct positive statistics of the tested rules, and how many rules of the family reach them.

    Args:
        levels: The statistics, ascending.
        highest: Number of levels that the strongest rule reaches, per permutation.
        pooled: Number of rules that reach each level and not the next, summed over all permutations.
        observed: The same in the observed data.
    """

    levels: Floats
    highest: Ints
    pooled: Ints
    observed: Ints

    @staticmethod
    def of(observed: Floats, n_draws: int) -> Levels:
        """Take the levels from observed statistics, with counts of zero for ``n_draws`` permutations."""
        levels = np.unique(observed)
        levels = levels[levels > 0]
        return Levels(levels, np.zeros(n_draws, np.int64), *(np.zeros(len(levels), np.int64) for _ in range(2)))

    @property
    def lowest(self) -> float:
        """The lowest level; weaker rules are irrelevant."""
        return float(self.levels[0]) if len(self.levels) else np.inf

    def histogram(self, statistics: Floats) -> Ints:
        """Count the statistics that reach each level and not the next."""
        return np.bincount(count_levels_reached(self.levels, statistics), minlength=len(self.levels) + 1)[1:]

    def add(self, draw: int, reached: Ints) -> None:
        """Add the histogram of permutation ``draw``."""
        hit = np.flatnonzero(reached)
        self.highest[draw] = max(self.highest[draw], int(hit[-1]) + 1 if len(hit) else 0)
        self.pooled += reached

    @property
    def family_wise(self) -> Floats:
        """Per level, the share of permutations in which any rule is as strong; the observed data count as one."""
        above = np.bincount(self.highest, minlength=len(self.levels) + 1)[::-1].cumsum()[::-1]
        return (1 + above[1:]) / (1 + len(self.highest))

    @property
    def false_discovery_rate(self) -> Floats:
        """Per level, the expected share of false rules among those as strong."""
        by_chance = np.cumsum(self.pooled[::-1])[::-1] / len(self.highest)
        found = np.maximum(np.cumsum(self.observed[::-1])[::-1], 1)
        # A rule counts at the best rate of any level that it reaches.
        return np.minimum(np.minimum.accumulate(by_chance / found), 1.0)

    def look_up(self, values: Floats, per_level: Floats) -> Floats:
        """Return, for each statistic, the entry of its level; 1 for statistics that reach no level."""
        place = count_levels_reached(self.levels, values) - 1
        return np.where(place >= 0, np.append(per_level, 1.0)[place], 1.0)


def benjamini_hochberg(p: Floats) -> Floats:
    """Adjust p-values to control the false discovery rate.

    Examples:
        >>> benjamini_hochberg(np.array([0.01, 0.04, 0.03])).round(3).tolist()
        [0.03, 0.04, 0.04]
    """
    order = np.argsort(p)[::-1]
    out = np.empty(len(p))
    out[order] = np.minimum(np.minimum.accumulate(p[order] * len(p) / np.arange(len(p), 0, -1)), 1.0)
    return out


# Without alpha, exact adjusted p-values are computed up to this level: longer rules are searched only where they could
# still reach it.
_HIGHEST_EXACT = 0.2
# So many holds are named in the note.
_NAMED = 3
# Without alpha, the note about drift is for this level.
_USUAL_LEVEL = 0.05
# Counts of pairs are kept for the search of longer rules up to this many bytes.
_PAIR_BYTES = 1 << 29


def p_values(
    rules: RuleSet,
    table: TransactionTable,
    *,
    alpha: float | None = None,
    null: Null | None = None,
    family: Literal["search", "rules"] = "search",
    method: Literal["fwer", "fdr"] = "fwer",
    simpler: bool = True,
    min_support: float | None = None,
    min_confidence: float = 0.0,
    max_antecedents: int | None = None,
    antecedent: Constraint = None,
    consequent: Constraint = None,
    seed: int = 0,
    progress: Progress = silent,
) -> RuleSet:
    """Test the significance of rules by permutation, and optionally keep the significant ones.

    Pass the bounds and item constraints of the miner, so that the family is exactly what it could have found.

    Args:
        rules: The rules to test.
        table: The table that the rules were mined from.
        alpha: Significance level. If given, only rules whose ``p_adjusted`` and ``p_simpler`` are at most ``alpha``
            are returned.
        null: The null model; ``Null()`` by default.
        family: What is adjusted for: ``"search"`` for all rules that could have been found, ``"rules"`` for the given
            rules only, which is valid for rules found on *other* data.
        method: ``"fwer"`` controls the family-wise error rate, the probability of even one false rule; ``"fdr"``
            controls the expected share of false rules (Benjamini and Hochberg, over the pooled permutations).
        simpler: Whether to test also that each item of a longer antecedent adds to the others: only that item is
            permuted, among the frames in which the others hold.
        min_support: Minimum support of rules of the family; by default the lowest support of the given rules.
        min_confidence: Minimum confidence of rules of the family.
        max_antecedents: Maximum number of antecedent items of rules of the family; by default that of the given rules.
        antecedent: Item constraint on the antecedents of the family.
        consequent: Item constraint on the consequents of the family.
        seed: Random seed.
        progress: Callback that reports progress.

    Returns:
        The rules with these columns:

        - ``p_value``: the p-value of the rule by itself.
        - ``p_adjusted``: the p-value adjusted over the family. Values above ``alpha`` (0.2 if not given) are lower
          bounds.
        - ``p_simpler``: the p-value of the weakest antecedent item, adjusted over all items of the given rules; NaN
          for rules with one item.
        - ``p_drift``: for rules of which both sides drift (non-stationary series), the p-value of the association
          within spans of time; NaN for all others. ``p_value`` and ``p_adjusted`` are at least as large, so that
          such a rule is significant only if it holds beyond slow changes. Only if there are such rules.

        With ``"fwer"``, the probability that any returned rule is false is at most ``alpha``, and so is the
        probability that any item of a returned rule is superfluous.

    Raises:
        ConfigError: If ``alpha``, ``family`` or ``method`` is invalid.
        MiningError: If the table has too few frames for the null model, or the family is too large to search.

    Examples:
        >>> import polars as pl
        >>> from thence.statements.counting.recount import recount
        >>> rng = np.random.default_rng(7)
        >>> a = np.repeat(rng.integers(0, 2, 100), 5)
        >>> hours = np.datetime64("2024-01-01T00", "us") + np.arange(500) * np.timedelta64(1, "h")
        >>> frame = pl.DataFrame({"time": hours, "a": a.astype(str), "b": (1 - a).astype(str)})
        >>> table = TransactionTable.from_frame(frame, time="time")
        >>> tested = p_values(recount(np.array([[0]]), np.array([3]), table), table)
        >>> tested.measure("p_adjusted").tolist()
        [0.015]
    """
    if family not in ("search", "rules"):
        raise ConfigError(f"family must be 'search' or 'rules', got {family!r}")
    if method not in ("fwer", "fdr"):
        raise ConfigError(f"method must be 'fwer' or 'fdr', got {method!r}")
    if alpha is not None and not 0 < alpha < 1:
        raise ConfigError(f"alpha must be between 0 and 1, got {alpha!r}")
    if not len(rules):
        return replace(rules, extras={**rules.extras, "p_value": np.zeros(0), "p_adjusted": np.zeros(0)})
    rng = np.random.default_rng(seed)
    table = table.shuffled()
    permutations = (null or Null()).draw(table, rng=rng)
    cache = ArrayCache(permutations, rng)
    association, additions = build_tests(rules, table, cache, simpler=simpler)
    searching = family == "search"
    bounds = {"antecedent": antecedent, "consequent": consequent, "min_confidence": min_confidence}
    spaces = _build_families(rules, table, cache, min_support, max_antecedents, bounds) if searching else []
    static_spaces = _build_static_families(spaces, association, table, cache)
    whole = Tally.of(association, permutations.n_draws, store=not searching)
    single = Tally.of(additions, permutations.n_draws, store=True)
    pooling = searching and method == "fdr"
    levels = _run_permutations(
        whole, single, spaces, static_spaces, permutations, alpha or _HIGHEST_EXACT, pooling, progress
    )
    columns = _compute_columns(len(rules), whole, single, levels if searching else None, method)
    drift = _test_drift(len(rules), association if table.is_ordered else ())
    if not np.isnan(drift).all():
        columns |= {name: np.fmax(columns[name], drift) for name in ("p_value", "p_adjusted")}
        columns["p_drift"] = drift
    weakest = np.maximum(columns["p_adjusted"], np.nan_to_num(columns.get("p_simpler", np.zeros(len(rules)))))
    notes = [*rules.notes, _write_note(permutations, searching, method, alpha, weakest)]
    notes += _write_drift_note(drift, alpha or _USUAL_LEVEL)
    tested = replace(rules, extras={**rules.extras, **columns}, notes=tuple(notes))
    return tested if alpha is None else tested.take(np.flatnonzero(weakest <= alpha))


def _build_families(
    rules: RuleSet,
    table: TransactionTable,
    cache: ArrayCache,
    min_support: float | None,
    max_antecedents: int | None,
    bounds: Mapping[str, Any],
) -> list[Family]:
    """Build the search space of every block, including blocks without rules."""
    support = float(rules.measure("support").min()) if min_support is None else min_support
    fewest = {encoded.at: int(rules.counts.n_both[encoded.rules].min()) for encoded in encode_rules(rules, table)}
    out = []
    for at, block in enumerate(table.blocks):
        rows = math.ceil(support * block.n_rows * (1 - TOLERANCE))
        space = Family.of(
            block,
            cache.bank(block.bank, at),
            min_rows=max(1, min(rows, fewest.get(at, rows))),
            max_antecedents=max_antecedents or rules.antecedents.shape[1],
            **bounds,
        )
        out.append(space)
    return out


def _build_static_families(
    spaces: Sequence[Family],
    association: Sequence[tuple[PreparedBank, Tests]],
    table: TransactionTable,
    cache: ArrayCache,
) -> list[StaticFamily]:
    """Build the static part of each search space, if any tested rule is static."""
    if not any(isinstance(tests, PlaceTests) for _, tests in association):
        return []
    return [space.static_part(cache.permutations(block)) for space, block in zip(spaces, table.blocks, strict=False)]


def _run_permutations(
    whole: Tally, single: Tally, spaces: Sequence[Family], static_spaces: Sequence[StaticFamily],
    permutations: TimePermutations, highest_exact: float, pooling: bool, progress: Progress,
) -> Levels:  # fmt: skip
    """Run all permutations: the tallies collect the statistics of the tests, the levels those of the search space."""
    n_draws = permutations.n_draws
    levels = Levels.of(whole.observed, n_draws)
    banks = {id(bank): bank for bank, _ in [*whole.tests, *single.tests]}
    banks |= {id(space.bank): space.bank for space in spaces}
    by_place = np.concatenate([np.full(len(tests.rules), isinstance(tests, PlaceTests)) for _, tests in whole.tests])
    pairs: dict[tuple[int, int], Ints] = {}
    room = _PAIR_BYTES // max(1, sum(8 * len(space.antecedents) * len(space.consequents) for space in spaces))

    def permute(bank: PreparedBank, draw: int) -> Words:
        return bank.permuted(permutations, draw)

    def test_short(draw: int) -> tuple[Floats, Floats, Ints]:
        """Test the given rules, and count all rules with one antecedent item."""
        permuted = {key: permute(bank, draw) for key, bank in banks.items()}
        own = whole.statistics(permuted, draw)
        reached = levels.histogram(own[by_place])
        for number, space in enumerate(spaces):
            both, statistics = space.count_pairs(permuted[id(space.bank)], levels.lowest)
            reached += levels.histogram(statistics)
            if space.max_antecedents > 1 and draw < room:
                pairs[draw, number] = both
        for static in static_spaces:
            reached += levels.histogram(static.statistics(draw))
        return own, single.statistics(permuted, draw), reached

    for draws in _chunk_draws(range(n_draws)):
        for draw, (own, others, reached) in zip(draws, run_threads(test_short, draws), strict=True):
            whole.add(draw, own)
            single.add(draw, others)
            levels.add(draw, reached)
        progress("testing", draws[-1] + 1, n_draws)
    # Longer rules matter only at levels that can still be significant, and only in permutations without a rule at the
    # highest level.
    first_open = 0 if pooling else int((levels.family_wise > highest_exact).sum())
    open_levels = np.ascontiguousarray(levels.levels[first_open:])

    def test_longer(draw: int) -> Ints:
        """Count all rules with two or more antecedent items."""
        reached = np.zeros(len(levels.levels), np.int64)
        for number, space in enumerate(spaces):
            permuted = permute(space.bank, draw)
            both = pairs.get((draw, number))
            if both is None:
                both, _ = space.count_pairs(permuted, math.inf)
            reached[first_open:] += space.count_longer(permuted, both, open_levels)
        return reached

    if len(open_levels) and any(space.max_antecedents > 1 for space in spaces):
        rest = [draw for draw in range(n_draws) if pooling or levels.highest[draw] < len(levels.levels)]
        for draws in _chunk_draws(rest):
            for draw, reached in zip(draws, run_threads(test_longer, draws), strict=True):
                levels.add(draw, reached)
            progress("testing longer rules", rest.index(draws[-1]) + 1, len(rest))
    if pooling:
        for space in spaces:
            words = space.bank.middle.words
            both, statistics = space.count_pairs(words, levels.lowest)
            levels.observed += levels.histogram(statistics)
            levels.observed += space.count_longer(words, both, levels.levels)
        for static in static_spaces:
            levels.observed += levels.histogram(static.statistics(-1))
    return levels


def _chunk_draws(draws: Sequence[int]) -> list[Sequence[int]]:
    """Split draws into chunks of a few per thread, between which progress is reported."""
    step = max(1, default_threads() * 4)
    return [draws[start : start + step] for start in range(0, len(draws), step)]


def _compute_columns(
    n_rules: int, whole: Tally, single: Tally, levels: Levels | None, method: str
) -> dict[str, Floats]:
    p_value, p_adjusted = np.full(n_rules, 1.0), np.full(n_rules, 1.0)
    p_value[whole.rules] = whole.p_values
    if levels is not None:
        per_level = levels.family_wise if method == "fwer" else levels.false_discovery_rate
        p_adjusted[whole.rules] = levels.look_up(whole.observed, per_level)
    else:
        p_adjusted[whole.rules] = whole.family_wise() if method == "fwer" else benjamini_hochberg(whole.p_values)
    out = {"p_value": p_value, "p_adjusted": np.maximum(p_adjusted, p_value)}
    if len(single.rules):
        weakest = np.full(n_rules, -np.inf)
        np.maximum.at(weakest, single.rules, single.family_wise() if method == "fwer" else single.p_values)
        longer = np.isfinite(weakest)
        if method == "fdr":
            weakest[longer] = benjamini_hochberg(weakest[longer])
        out["p_simpler"] = np.where(longer, weakest, np.nan)
    return out


def _test_drift(n_rules: int, association: Sequence[tuple[PreparedBank, Tests]]) -> Floats:
    """Compute the p-values of rules whose sides both drift; NaN for the others."""
    out = np.full(n_rules, np.nan)
    for _, tests in association:
        if isinstance(tests, TimeTests):
            out[tests.rules] = drift_p_values(tests)
    return out


def _write_note(
    permutations: TimePermutations, searching: bool, method: str, alpha: float | None, adjusted: Floats
) -> str:
    kind = {"shift": "shifts", "blocks": "block permutations", "rows": "permutations"}[permutations.null.kind]
    of = "by whole periods " if permutations.null.period else ""
    over = "all rules that could have been found" if searching else "the given rules"
    text = f"tested with {permutations.n_draws} {kind} {of}over {over} ({method.upper()})"
    held = sorted({hold for _, hold in permutations.by_hold})
    if held:
        listed = ", ".join(map(str, held[:_NAMED])) + (" …" if len(held) > _NAMED else "")
        text += f", values that are held for {listed} frames by whole holds"
    if alpha is None:
        return text
    smallest = 1 / (1 + permutations.n_draws)
    if smallest > alpha:
        return f"{text}: no p-value can be below {smallest:.3g} with so few, so no rule passes {alpha:g}"
    return f"{text}: {int((adjusted <= alpha).sum()):,} of {len(adjusted):,} rules pass {alpha:g}"


def _write_drift_note(drift: Floats, level: float) -> list[str]:
    """Say how many rules are refused because both sides drift, and what to do."""
    drifting, refused = int((~np.isnan(drift)).sum()), int((drift > level).sum())
    if not refused:
        return []
    return [
        f"non-stationary: both sides drift in {drifting:,} rules, and {refused:,} of them are not associated at "
        f"{level:g} within spans of time, so that they cannot be told from chance; mine changes "
        '(derive="change"), or use a longer table'
    ]
