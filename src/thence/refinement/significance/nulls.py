"""Worlds in which two series have nothing to do with each other, though each is as it was: rearrangements of time.

A circular shift moves one series against the other and leaves each as smooth, as seasonal and as gappy as it is; a
permutation of blocks breaks up what is slower than a block as well. Values that do not depend on time are permuted
over the places of the graph instead. This module draws rearrangements; it counts nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from thence.errors import ConfigError, MiningError
from thence.tables.transactions import Block, TransactionTable

__all__ = ["Null", "Runs", "memory_frames"]

Ints = npt.NDArray[np.int64]

# Shifts left out around zero loosen the level by at most their share of all shifts.
_MAX_GUARD_SHARE = 1 / 200
_FADED = 0.1
_LOOKED_AT = 64


@dataclass(frozen=True)
class Runs:
    """A rearrangement of frames: the run of ``length[i]`` frames from ``source[i]`` on goes to ``target[i]``."""

    source: Ints
    target: Ints
    length: Ints

    def order(self, n_frames: int) -> Ints:
        """The same as an index array: ``series[order]`` is the rearranged series."""
        out = np.empty(n_frames, np.int64)
        for source, target, length in zip(self.source, self.target, self.length, strict=True):
            out[target : target + length] = np.arange(source, source + length)
        return out


@dataclass(frozen=True, kw_only=True)
class Null:
    """How time is rearranged, and how often.

    ``kind="shift"`` (the default) shifts the consequent circularly by a random number of frames, the same in all
    embeddings and for all rules; ``"blocks"`` permutes blocks of ``block_frames`` frames. Shifts of up to ``guard``
    frames are left out: their effect is that of no shift. By default that is the memory of the series, at most a
    two-hundredth of the table, since every shift left out loosens the level a little (by at most ``2 · guard /
    frames``). With a ``period`` (in frames: 48 for a day of half hours) only whole periods are moved, which leaves a
    common cycle intact: what is tested then is association *beyond* the cycle.

    >>> rng = np.random.default_rng(1)
    >>> [one.order(6).tolist() for one in Null(draws=2).runs(6, guard=1, rng=rng)]
    [[4, 5, 0, 1, 2, 3], [3, 4, 5, 0, 1, 2]]
    >>> [int(one.target[0]) for one in Null(period=48).runs(144, guard=0, rng=rng)]
    [48, 96]
    """

    kind: Literal["shift", "blocks"] = "shift"
    draws: int = 199
    guard: int | None = None
    period: int | None = None
    block_frames: int | None = None

    def __post_init__(self) -> None:
        if self.kind not in ("shift", "blocks"):
            raise ConfigError(f"unknown null '{self.kind}'", hint="'shift' or 'blocks'")
        for name, least in (("draws", 1), ("guard", 0), ("period", 1), ("block_frames", 1)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise ConfigError(f"{name} must be at least {least}, got {value!r}")

    def runs(self, n_frames: int, *, guard: int, rng: np.random.Generator) -> list[Runs]:
        """Different rearrangements of so many frames, as many as asked for or as there are."""
        return self._shifts(n_frames, guard, rng) if self.kind == "shift" else self._blocks(n_frames, guard, rng)

    def _shifts(self, n_frames: int, guard: int, rng: np.random.Generator) -> list[Runs]:
        step = self.period or 1
        # Frames beyond the last whole period stay where they are, or the phase would slip at the seam.
        ring = n_frames - n_frames % step
        shifts = np.arange(step, ring, step)
        shifts = shifts[(shifts > guard) & (shifts < ring - guard)]
        if not len(shifts):
            raise MiningError(
                f"{n_frames:,} frames leave no shift to compare with",
                hint="use a longer table, a smaller guard or a shorter period",
            )
        if len(shifts) > self.draws:
            shifts = rng.choice(shifts, self.draws, replace=False)
        rest = n_frames - ring
        return [
            Runs(np.array([0, ring - s, ring]), np.array([s, 0, ring]), np.array([ring - s, s, rest]))
            for s in shifts.tolist()
        ]

    def _blocks(self, n_frames: int, guard: int, rng: np.random.Generator) -> list[Runs]:
        step = self.period or 1
        length = self.block_frames or max(2 * guard, round(n_frames**0.5), 1)
        length = -(-length // step) * step
        count = n_frames // length
        if count < 2:
            raise MiningError(
                f"{n_frames:,} frames are less than two blocks of {length:,}", hint="use smaller block_frames"
            )
        starts = np.arange(count) * length
        out = []
        for _ in range(self.draws):
            order = rng.permutation(count)
            source = np.append(starts[order], count * length)
            target = np.append(starts, count * length)
            out.append(Runs(source, target, np.append(np.full(count, length), n_frames - count * length)))
        return out

    def guard_for(self, table: TransactionTable) -> int:
        """The shifts to leave out on either side of zero."""
        if self.guard is not None:
            return self.guard
        frames = min((block.n_frames for block in table.blocks), default=0)
        most = int(frames * _MAX_GUARD_SHARE)
        return min(most, max((memory_frames(block, most) for block in table.blocks), default=0))


def memory_frames(block: Block, most: int) -> int:
    """The first lag at which the codes of a block are on average nearly uncorrelated with themselves."""
    if most < 1:
        return 0
    seen: dict[int, npt.NDArray[np.int16]] = {}
    for column in block.columns:
        if not column.is_static and not column.context:
            seen.setdefault(id(column.codes), column.codes)
    longest = 0
    for codes in seen.values():
        some = codes[:: max(1, len(codes) // _LOOKED_AT)].astype(np.float64)
        centred = np.where(some < 0, 0.0, some - some.mean(axis=1, keepdims=True))
        spectrum = np.abs(np.fft.rfft(centred, n=2 * block.n_frames)) ** 2
        correlation = np.fft.irfft(spectrum)[:, : most + 1]
        alive = correlation[:, 0] > 0
        if alive.any():
            mean = (correlation[alive] / correlation[alive, :1]).mean(axis=0)
            faded = np.flatnonzero(mean < _FADED)
            longest = max(longest, int(faded[0]) if len(faded) else most)
    return longest
