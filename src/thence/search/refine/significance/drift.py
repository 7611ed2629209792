"""Series that drift: which sides of a rule are not stationary, and whether the rule holds beyond slow changes.

Two series that drift (random walks, trends, a season of which the table sees only one) agree or disagree over the whole
time by chance, and no shift can tell this from an association. A side of a rule *drifts* if it has far more power at
the slowest frequencies than at those next to them. If both sides drift, the rule must also hold within stretches of
time, each compared with its own frequencies: there, slow changes of independent series go together about as often as
against each other.

This module tests rules against drift; the permutations of time are in ``nulls``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from thence._base.settings.threads import default_threads
from thence.search.refine.encoding import factorize_rows
from thence.search.refine.significance.kernels import BankArrays, RuleColumns, intersect
from thence.search.refine.significance.statistics import PreparedBank, TimeTests
from thence.tables.bitmaps.bits import (
    Integer,
    Words,
    as_kernel_array,
    ctpop,
    helper,
    kernel,
    run_threads,
    split_range,
)

__all__ = ["drift_p_values", "find_drifting"]

Ints = npt.NDArray[np.int64]
Indices = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

# The power at the slowest frequencies is compared with the power at the next ones, up to this many in all.
_SLOWEST = 3
# Frequencies → level: the mean power of the slowest ones over the median power of the others, exceeded by 5 % of
# stationary Gaussian series with a short memory (two million draws of independent normal coefficients).
_LIMITS = {24: 7.94, 12: 11.6}
# Cells per frequency, and cells per stretch.
_CELLS, _CELLS_PER_STRETCH = 4, 3


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
        """Cut a number of frames, or return ``None`` if there are too few to tell a drift."""
        for count, limit in _LIMITS.items():
            cells = count * _CELLS
            if n_frames >= cells:
                starts = np.linspace(0, n_frames, cells + 1).astype(np.int64)
                middle = (starts[1:] + starts[:-1]) / 2
                waves = np.cos(np.pi * np.outer(np.arange(1, count + 1), middle / n_frames))
                return _Cells(as_kernel_array(starts, np.int64), as_kernel_array(waves, np.float64), limit)
        return None

    @property
    def stretches(self) -> Ints:
        """First frame of each stretch, and the number of frames."""
        return as_kernel_array(self.starts[::_CELLS_PER_STRETCH], np.int64)


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
    """Add the hits of each rule beyond those expected from the frequencies in the stretch: rules × stretches."""
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
            for stretch in range(starts.size - 1):
                start, stop = starts[stretch], starts[stretch + 1]
                held, frames = _count_range(holds, start, stop), _count_range(known, start, stop)
                if held > 0:
                    expected = held * _count_range(target, start, stop) / frames
                    excess[rule, stretch] += _count_range(both, start, stop) - expected


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
        A flag per set; all false for fewer than 48 frames, which are too few to tell.
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
    """Compute, for rules of which both sides drift, a p-value of the association within stretches of time.

    In each stretch the hits are compared with those expected from the frequencies of both sides in that stretch. If
    these differences are independent and symmetric around zero, whatever their sizes, the sum over the root of the sum
    of squares, t, exceeds x with a probability of at most exp(−x² / 2). In k stretches t is at most the root of k, so
    that a rule that was seen to come and go in a few stretches only cannot have a low p-value.

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
    excess = np.zeros((len(chosen), len(cells.stretches) - 1))

    def add(low: int, high: int) -> None:
        some = RuleColumns(*(as_kernel_array(array[chosen[low:high]], array.dtype) for array in rules))
        _add_excess(bank.arrays, some, cells.stretches, excess[low:high])

    _in_threads(add, len(chosen))
    total, spread = excess.sum(axis=1), np.sqrt((excess**2).sum(axis=1))
    t = np.where(total > 0, total / np.maximum(spread, 1e-12), 0.0)
    out[chosen] = np.exp(-(t**2) / 2)
    return out


def _in_threads(work: Callable[[int, int], None], total: int) -> None:
    """Call a function with ranges that together are ``range(total)``, in several threads."""
    pieces = split_range(total, default_threads())
    run_threads(lambda piece: work(*piece), pieces)
