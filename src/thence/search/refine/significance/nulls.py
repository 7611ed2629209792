"""The null model: permutations of time under which antecedent and consequent are independent of each other.

A shift moves one series against the other and keeps its autocorrelation, seasonality and gaps. The other series is
read in the middle of the time only (``Null.centre``), and the shifted one in windows of the same length to either side.
The end of a series is never joined to its beginning, as a circular shift would: the jump there makes shifted data less
alike than observed data wherever series are slow or cyclic. A permutation of blocks breaks up whatever is slower than a
block. Rows without times are independent of each other and have no order: they are permuted one by one. Static values
are permuted over the places of the graph instead (see ``statistics``). Frames are moved by number: where windows
without readings were left out, the frames before and after the gap follow each other, and shifts by whole periods are
refused.

Values that are held (an hourly value on a grid of five minutes, a set point of the day) change together if they change
at all. Moved by a part of a hold they would no longer do so, and would agree less than independent series that are held
do: such a column is moved by whole holds (``find_holds``). A series that is moved by whole holds is distributed as it
was, whatever the other side of a rule is. Of few whole holds some leave the column where it is, which counts as a
permutation like any other: a rule about ten daily values cannot have a p-value below a tenth.

This module draws permutations and applies them to bitmaps; it counts nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import comb, gcd, lcm, log
from typing import Literal

import numpy as np
import numpy.typing as npt

from thence._base.settings.typed import check_settings, number
from thence.errors import MiningError
from thence.tables.bitmaps.bits import Ints, Words, helper, kernel
from thence.tables.blocks import Block
from thence.tables.transactions import TransactionTable

# Excluding shifts around zero inflates the level by at most their share of all shifts.
_MAX_GUARD_SHARE = 1 / 100
# Share of the frames by which a series can be shifted, both directions together: more if that is needed for the draws.
_LEAST_REACH, _MOST_REACH = 1 / 3, 1 / 2
# Independent rows are permuted in about this many groups; on average one of them stays where it is.
_ROW_GROUPS = 1024
# Series count as uncorrelated with their past when the mean autocorrelation is below this.
_UNCORRELATED = 0.1
# The autocorrelation is estimated on about this many series.
_SAMPLED_SERIES = 64
# Share of the changes of a held series that happen at whole holds; a few may be due to gaps or to someone's hand.
_AT_HOLDS = 0.9
# Chance that all changes of a series that is not held happen at whole holds.
_HELD_BY_CHANCE = 0.01
# So many of the most frequent spacings of changes, and their greatest common divisors, are tried as holds.
_SPACINGS = 12


@dataclass(frozen=True)
class Permutation:
    """A permutation of frames, as runs of frames that are moved.

    A shift has a single run, from its window to the centre of the time; frames outside of the centre are left empty.

    Args:
        source: First frame of each run before the permutation.
        target: First frame of each run after it.
        length: Number of frames of each run.
    """

    source: Ints
    target: Ints
    length: Ints

    def order(self, n_frames: int) -> Ints:
        """Return the permutation as an index array of ``n_frames``: ``series[order]`` is the permuted series.

        Frames that are left empty have −1.
        """
        out = np.full(n_frames, -1, np.int64)
        for source, target, length in zip(self.source, self.target, self.length, strict=True):
            out[target : target + length] = np.arange(source, source + length)
        return out

    def by_holds(self, hold: int, n_frames: int) -> Permutation:
        """Return the shift by whole holds that is nearest to this one, a shift of ``n_frames`` frames.

        Args:
            hold: Number of frames for which values are held.
            n_frames: Number of frames.

        Examples:
            >>> Permutation(np.array([0]), np.array([4]), np.array([8])).by_holds(3, 16).source.tolist()
            [1]
        """
        holds = np.rint((self.source - self.target) / hold)
        last = (n_frames - self.length - self.target) // hold
        return replace(self, source=self.target + np.clip(holds, -(self.target // hold), last).astype(np.int64) * hold)

    def apply(self, words: Words) -> Words:
        """Return a read-only, permuted copy of bitmaps over frames (one per row of ``words``)."""
        out = np.zeros_like(words)
        _copy_runs(words, self.source, self.target, self.length, out)
        out.flags.writeable = False
        return out


@helper
def _copy_bits(line: Words, source: int, target: int, count: int, out: Words) -> None:
    """Copy at most 64 bits that stay within one word of the target."""
    first, shift = source // 64, np.uint64(source % 64)
    value = line[first] >> shift
    if shift > 0 and first + 1 < line.size:
        value |= line[first + 1] << (np.uint64(64) - shift)
    if count < 64:
        value &= (np.uint64(1) << np.uint64(count)) - np.uint64(1)
    out[target // 64] |= value << np.uint64(target % 64)


@kernel
def _copy_runs(words: Words, source: Ints, target: Ints, length: Ints, out: Words) -> None:
    """Copy runs of bits of every row to their targets; ``out`` must be zero."""
    for row in range(words.shape[0]):
        line, made = words[row], out[row]
        for run in range(length.size):
            read, write, rest = source[run], target[run], length[run]
            head = min((64 - write % 64) % 64, rest)
            if head > 0:
                _copy_bits(line, read, write, head, made)
                read, write, rest = read + head, write + head, rest - head
            # Whole words of the target, except the last: ``_copy_bits`` checks where the source ends.
            full = max(rest // 64 - 1, 0)
            first, start = read // 64, write // 64
            shift = np.uint64(read % 64)
            if shift == 0:
                for word in range(full):
                    made[start + word] = line[first + word]
            else:
                back = np.uint64(64) - shift
                for word in range(full):
                    made[start + word] = (line[first + word] >> shift) | (line[first + word + 1] << back)
            read, write, rest = read + 64 * full, write + 64 * full, rest - 64 * full
            while rest > 0:
                _copy_bits(line, read, write, min(64, rest), made)
                read, write, rest = read + 64, write + 64, rest - 64


@dataclass(frozen=True, kw_only=True)
class Null:
    """The null model of a significance test: how time is permuted, and how many permutations are drawn.

    Args:
        kind: ``"shift"`` shifts the consequent by a random number of frames, the same in all embeddings and for all
            rules; ``"blocks"`` permutes blocks of ``block_frames`` frames; ``"rows"`` permutes independent rows. Tables
            without times are always tested with ``"rows"``, and tables with times never.
        draws: Number of permutations to draw; fewer if the table does not have as many different shifts. The smallest
            possible p-value is ``1 / (1 + draws)``.
        guard: Shifts by up to this many frames in either direction are not drawn, because they change almost nothing.
            By default the memory of the series (see ``estimate_memory``), but at most a hundredth of the longest
            shift: excluded shifts inflate the level, by at most their share of all shifts. With ``kind="blocks"`` it
            sets the default block length only.
        period: Length of a cycle in frames (48 for a day of half hours). Only whole periods are moved, which keeps a
            common cycle intact: the test is then for association *beyond* the cycle. The frames of the table must have
            no gaps.
        block_frames: Length of a block in frames with ``kind="blocks"``, rounded up to whole periods. By default twice
            the guard or the square root of the number of frames, whichever is larger.

    Raises:
        ConfigError: If ``kind`` is unknown or a number is out of range.

    Examples:
        >>> rng = np.random.default_rng(1)
        >>> Null().centre(9)
        slice(2, 7, None)
        >>> [one.order(9).tolist() for one in Null(draws=2).permutations(9, guard=1, rng=rng)]
        [[-1, -1, 0, 1, 2, 3, 4, -1, -1], [-1, -1, 4, 5, 6, 7, 8, -1, -1]]
        >>> sorted(int(one.source[0]) for one in Null(period=48).permutations(240, guard=0, rng=rng))
        [0, 96]
    """

    kind: Literal["shift", "blocks", "rows"] = "shift"
    draws: int = number(199, least=1)
    guard: int | None = number(None, least=0)
    period: int | None = number(None, least=1)
    block_frames: int | None = number(None, least=1)

    def __post_init__(self) -> None:
        check_settings(self)

    def draw(self, table: TransactionTable, *, rng: np.random.Generator) -> TimePermutations:
        """Draw the permutations of every block of a table.

        Args:
            table: The table, with at least one block.
            rng: Random generator.

        Raises:
            MiningError: If a block has too few frames, ``period`` is given and its frames have gaps or no times, or
                the kind is ``"rows"`` and rows follow each other in time.
        """
        if not table.is_ordered and self.kind != "rows":
            if self.period is not None:
                raise MiningError("period is a number of frames, but the rows have no times", hint="leave out period")
            return replace(self, kind="rows").draw(table, rng=rng)
        if table.is_ordered and self.kind == "rows":
            raise MiningError(
                "the rows of the table follow each other in time", hint="use the kind 'shift' or 'blocks'"
            )
        if self.period is not None:
            _require_no_gaps(table)
        guard = self.choose_guard(table)
        sizes = sorted({frames for block in table.blocks for frames in (block.n_frames, *_site_frames(block))})
        drawn = {n_frames: self.permutations(n_frames, guard=guard, rng=rng) for n_frames in sizes}
        n_draws = min(len(some) for some in drawn.values())
        if self.kind == "rows":
            return TimePermutations(
                drawn, n_draws, self, tuple(np.ones(len(one.columns), np.int64) for one in table.blocks)
            )
        holds = tuple(find_holds(block) for block in table.blocks)
        by_hold = {
            (n_frames, hold): self._by_holds(some, n_frames, guard, hold, rng)
            for n_frames, some in drawn.items()
            for hold in np.unique(np.concatenate(holds)).tolist()
            if hold > 1
        }
        return TimePermutations(drawn, n_draws, self, holds, by_hold)

    def _by_holds(
        self, drawn: Sequence[Permutation], n_frames: int, guard: int, hold: int, rng: np.random.Generator
    ) -> list[Permutation]:
        """Return permutations of a column that is held: the same shifts in whole holds, or blocks of whole holds."""
        step = lcm(hold, self.period or 1)
        if self.kind == "shift":
            return [one.by_holds(step, n_frames) for one in drawn]
        if 2 * step > n_frames:  # it cannot be moved
            return [Permutation(np.zeros(1, np.int64), np.zeros(1, np.int64), np.array([n_frames]))] * len(drawn)
        return replace(self, period=step)._blocks(n_frames, guard, rng)

    def permutations(self, n_frames: int, *, guard: int, rng: np.random.Generator) -> list[Permutation]:
        """Draw permutations of a number of frames.

        Args:
            n_frames: Number of frames.
            guard: Shifts by up to this many frames are not drawn.
            rng: Random generator.

        Returns:
            ``draws`` permutations; with ``kind="shift"`` all are different, and fewer if there are not as many. Of more
            than a thousand independent rows groups are permuted, which is as good if the rows are in random order.

        Raises:
            MiningError: If there are too few frames.
        """
        return self._shifts(n_frames, guard, rng) if self.kind == "shift" else self._blocks(n_frames, guard, rng)

    def centre(self, n_frames: int) -> slice:
        """Return the frames in which unpermuted items are read: the middle of the time for shifts, else all.

        Args:
            n_frames: Number of frames.
        """
        if self.kind != "shift":
            return slice(0, n_frames)
        step = self.period or 1
        wanted = (self.draws + 2 * (self.guard or self.draws * _MAX_GUARD_SHARE) + 2) * step
        reach = max(n_frames * _LEAST_REACH, min(wanted, n_frames * _MOST_REACH))
        most = int(reach / 2) // step * step
        return slice(most, n_frames - most)

    def _shifts(self, n_frames: int, guard: int, rng: np.random.Generator) -> list[Permutation]:
        centre, step = self.centre(n_frames), self.period or 1
        most = centre.start
        shifts = np.arange(-most, most + 1, step)
        shifts = shifts[np.abs(shifts) > guard]
        if not len(shifts):
            raise MiningError(
                f"{n_frames:,} frames are too few for a shift",
                hint="use a longer table, a smaller guard or a shorter period",
            )
        if len(shifts) > self.draws:
            shifts = rng.choice(shifts, self.draws, replace=False)
        length = np.array([centre.stop - centre.start])
        return [Permutation(np.array([most + s]), np.array([most]), length) for s in shifts.tolist()]

    def _blocks(self, n_frames: int, guard: int, rng: np.random.Generator) -> list[Permutation]:
        step = self.period or 1
        length = self.block_frames or max(2 * guard, round(n_frames**0.5), 1)
        length = -(-length // step) * step
        if self.kind == "rows":
            length = max(n_frames // _ROW_GROUPS, 1)
        count = n_frames // length
        if count < 2:
            raise MiningError(
                f"{n_frames:,} frames are fewer than two blocks of {length:,} frames", hint="use smaller block_frames"
            )
        starts = np.arange(count) * length
        out = []
        for _ in range(self.draws):
            order = rng.permutation(count)
            source = np.append(starts[order], count * length)
            target = np.append(starts, count * length)
            out.append(Permutation(source, target, np.append(np.full(count, length), n_frames - count * length)))
        return out

    def choose_guard(self, table: TransactionTable) -> int:
        """Return ``guard``, or the default for a table: the memory of its series, within bounds."""
        if self.kind == "rows":
            return 0
        if self.guard is not None:
            return self.guard
        frames = min((min((block.n_frames, *_site_frames(block))) for block in table.blocks), default=0)
        longest = self.centre(frames).start if self.kind == "shift" else frames // 2
        most = int(longest * _MAX_GUARD_SHARE)
        return min(most, max((estimate_memory(block, most) for block in table.blocks), default=0))


@dataclass(frozen=True)
class TimePermutations:
    """The permutations of time drawn for a table; blocks with the same number of frames share them.

    Args:
        by_frames: The permutations for each number of frames.
        n_draws: Number of permutations that every block has.
        null: The null model that they were drawn from.
        holds: For how many frames the values of each column are held, per block.
        by_hold: The permutations of columns that are held, for each number of frames and hold.
    """

    by_frames: Mapping[int, Sequence[Permutation]]
    n_draws: int
    null: Null
    holds: tuple[Ints, ...]
    by_hold: Mapping[tuple[int, int], Sequence[Permutation]] = field(default_factory=dict)

    def find(self, n_frames: int, hold: int, draw: int) -> Permutation:
        """Return a permutation of a column.

        Args:
            n_frames: Number of frames.
            hold: For how many frames its values are held.
            draw: Number of the permutation.
        """
        return self.by_frames[n_frames][draw] if hold == 1 else self.by_hold[n_frames, hold][draw]


def require_permutations(table: TransactionTable, null: Null) -> None:
    """Raise a ``MiningError`` if a table has too few frames for the permutations of a null model."""
    if table.blocks:
        null.draw(table, rng=np.random.default_rng(0))


def _site_frames(block: Block) -> list[int]:
    """The number of frames of each site of a block with embeddings, if there are several sites."""
    return [] if block.site_of is None else [len(block.sites[site]) for site in np.unique(block.site_of).tolist()]


def _require_no_gaps(table: TransactionTable) -> None:
    """Raise if frames are left out: as many frames are then not as long a time everywhere."""
    of_blocks = [block.times for block in table.blocks if block.times is not None]
    of_sites = [site.times for block in table.blocks for site in block.sites]
    for times in (*of_blocks, *of_sites):
        if len(times) < 2:
            continue
        steps = np.diff(times.astype("datetime64[us]").astype(np.int64))
        if gaps := int((steps != steps.min()).sum()):
            raise MiningError(
                f"period is a number of frames, but windows without readings were left out in {gaps:,} places",
                hint="leave out period, or keep these windows: empty = 'keep' in [windows]",
            )


def estimate_memory(block: Block, most: int) -> int:
    """Estimate the memory of the series of a block: the lag at which their mean autocorrelation falls below 0.1.

    Args:
        block: The block; static and context columns are ignored.
        most: Largest lag to consider; returned if the series are still correlated there.
    """
    if most < 1:
        return 0
    seen: dict[int, npt.NDArray[np.int16]] = {}
    for column in block.columns:
        if not column.is_static and not column.context:
            seen.setdefault(id(column.codes), column.codes)
    longest = 0
    for codes in seen.values():
        some = codes[:: max(1, len(codes) // _SAMPLED_SERIES)].astype(np.float64)
        centred = np.where(some < 0, 0.0, some - some.mean(axis=1, keepdims=True))
        spectrum = np.abs(np.fft.rfft(centred, n=2 * block.n_frames)) ** 2
        correlation = np.fft.irfft(spectrum)[:, : most + 1]
        varying = correlation[:, 0] > 0
        if varying.any():
            mean = (correlation[varying] / correlation[varying, :1]).mean(axis=0)
            below = np.flatnonzero(mean < _UNCORRELATED)
            longest = max(longest, int(below[0]) if len(below) else most)
    return longest


def find_holds(block: Block) -> Ints:
    """Find for how many frames the values of each column are held; 1 for columns that are not.

    The hold of a column that is held longer than all others is of no importance: if the others are moved by their
    holds against it, all are distributed as they were. It gets the hold that the others have in common.

    Args:
        block: The block; static and context columns are not held.
    """
    own = np.ones(len(block.columns), np.int64)
    seen: dict[int, int] = {}
    for at, column in enumerate(block.columns):
        if column.is_static or column.context:
            continue
        if id(column.codes) not in seen:
            some = column.codes[:: max(1, len(column.codes) // _SAMPLED_SERIES)]
            seen[id(column.codes)] = min(lcm(*map(find_hold, some)), block.n_frames)
        own[at] = seen[id(column.codes)]
    others = [min(lcm(*np.delete(own, at).tolist()), block.n_frames) for at in range(len(own))]
    return np.minimum(own, others)


def find_hold(codes: npt.NDArray[np.integer]) -> int:
    """Find for how many frames the values of a series are held: 1 unless it changes at whole holds only.

    Values may stay the same for several holds. A tenth of the changes may happen at other times. What rises at one time
    of a cycle and falls at another is a schedule, which is not held: it may be moved by any number of frames.

    Args:
        codes: The codes of the series, −1 for missing.

    Examples:
        >>> find_hold(np.repeat([0, 2, 1, 1, 0, 2, 0, 1, 2, 0], 12))
        12
        >>> find_hold(np.tile([0, 1, 1], 20))
        1
    """
    known = (codes[:-1] >= 0) & (codes[1:] >= 0)
    rises, falls = (np.flatnonzero(known & on) + 1 for on in (codes[1:] > codes[:-1], codes[1:] < codes[:-1]))
    hold = _common_step(np.sort(np.concatenate([rises, falls])))
    return 1 if hold > 1 and min(_common_step(rises), _common_step(falls)) > hold else hold


def _common_step(moments: Ints) -> int:
    """The longest step of which almost all moments are multiples, from one of them on; 1 if it may be chance."""
    spacings, number = np.unique(np.diff(moments), return_counts=True)
    frequent = spacings[np.argsort(-number, kind="stable")[:_SPACINGS]].tolist()
    steps = {gcd(one, other) for one in frequent for other in frequent}
    for step in sorted(steps, reverse=True):
        on = int(np.bincount(moments % step).max()) if step > 1 else 0
        # A given step has this chance times 1 / step; the sum over all longer ones makes up for that.
        chance = log(comb(len(moments), on)) - (on - 2) * log(step)
        if on >= _AT_HOLDS * len(moments) and chance <= log(_HELD_BY_CHANCE):
            return int(step)
    return 1
