"""Separate occasions: how much of what was seen counts as independent evidence for a statement.

Consecutive frames resemble each other, and places move together: a thousand rows may be three witnesses. A statement
of any kind is confirmed by time that its search did not see if it holds there often enough, on at least
``FEWEST_OCCASIONS`` separate occasions, and on so many that chance alone would confirm none of all that were tried.
Works on arrays; knows no kind of statement.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thence.tables.bitmaps.bits import Bools, Floats, Ints, kernel

FEWEST_OCCASIONS = 3
"""Separate occasions in the time that was not searched, for a statement to be confirmed."""
FALSE_STATEMENTS = 0.05
"""Probability that chance confirms any of the candidates of one search."""
_HOLDS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 24, 30, 48, 60)  # frames for which values may be held


def divergence(share: npt.ArrayLike, base: npt.ArrayLike) -> Floats:
    """Return the divergence of shares from base rates in nats; 0 where a share is not above its base rate.

    exp(−k · divergence) bounds the chance of at least such a share in k independent trials.

    Args:
        share: The shares that were seen.
        base: The shares to be expected without any relation.

    Examples:
        >>> divergence(np.array([1.0, 0.5]), np.array([0.5, 0.5])).round(4).tolist()
        [0.6931, 0.0]
    """
    p, q = (np.asarray(one, np.float64) for one in (share, base))
    with np.errstate(divide="ignore", invalid="ignore"):
        held = np.where(p > 0, p * np.log(p / q), 0.0)
        failed = np.where(p < 1, (1 - p) * np.log((1 - p) / (1 - q)), 0.0)
    return np.where(p > q, np.nan_to_num(held + failed, nan=0.0), 0.0)


def chance(share: npt.ArrayLike, base: npt.ArrayLike, occasions: npt.ArrayLike) -> Floats:
    """Return a bound of the probability of at least such a share on separate occasions without any relation.

    Args:
        share: Share of the occasions on which a statement held.
        base: Share to be expected without any relation.
        occasions: Number of separate occasions.

    Examples:
        >>> chance([1.0, 0.5], [0.5, 0.5], [4, 20]).tolist()
        [0.0625, 1.0]
    """
    return np.exp(-np.asarray(occasions, np.float64) * divergence(share, base))


def is_evident(share: npt.ArrayLike, base: npt.ArrayLike, occasions: npt.ArrayLike, candidates: int) -> Bools:
    """Return which statements rest on enough separate occasions, with a share that chance gives to none of all.

    Args:
        share: Share of the occasions on which each statement held, in time that was not searched.
        base: Share to be expected without any relation.
        occasions: Number of separate occasions.
        candidates: Number of all statements that were tried.

    Examples:
        >>> is_evident([1.0, 1.0, 0.9], [0.5, 0.5, 0.8], [4, 20, 20], candidates=50).tolist()
        [False, True, False]
    """
    number = np.asarray(occasions, np.float64)
    evident = candidates * chance(share, base, number) <= FALSE_STATEMENTS
    return np.asarray((number >= FEWEST_OCCASIONS) & evident)


def pick_evident(chances: npt.ArrayLike, candidates: int, false_share: float = FALSE_STATEMENTS) -> Bools:
    """Return which statements are evident: of these, at most a share of ``false_share`` is expected to be chance.

    The procedure of Benjamini and Hochberg: where nothing is true, any statement is kept with this probability at most.

    Args:
        chances: A bound of the probability of what was seen, for each statement, if there is no relation.
        candidates: Number of all statements that were tried, at least as many as there are ``chances``.
        false_share: The share of false statements.

    Examples:
        >>> pick_evident([0.001, 0.04, 0.002], candidates=50).tolist(), pick_evident([0.04, 0.001], 2).tolist()
        ([True, False, True], [True, True])
    """
    given = np.asarray(chances, np.float64)
    ordered = np.sort(given)
    passed = np.flatnonzero(ordered <= false_share * np.arange(1, len(given) + 1) / max(candidates, 1))
    return given <= ordered[passed[-1]] if len(passed) else np.zeros(len(given), bool)


def count_occasions(held: Bools, memory: float) -> Ints:
    """Count the episodes of each line, of those that begin less than ``memory`` frames after a counted one none.

    Args:
        held: Lines × frames: where a statement applies.
        memory: For how many frames what it concludes may resemble itself.

    Examples:
        >>> count_occasions(np.array([[1, 1, 0, 1, 0, 1, 1, 0], [0, 0, 1, 0, 0, 0, 0, 0]], bool), memory=2.0).tolist()
        [2, 1]
    """
    n_lines, n_frames = held.shape
    frames = np.arange(n_frames)
    lines = np.arange(n_lines)
    never = np.full((n_lines, 1), n_frames)
    # For each frame, the next one that is held and the next one that is not.
    after = np.concatenate([_next(np.where(held, frames, n_frames)), never], axis=1)
    ends = np.concatenate([_next(np.where(held, n_frames, frames)), never], axis=1)
    apart = int(min(np.ceil(max(memory, 1.0)), n_frames))
    counted = np.zeros(n_lines, np.int64)
    start = after[:, 0]
    while (found := start < n_frames).any():
        counted += found
        start = after[lines, np.minimum(ends[lines, start] + apart, n_frames)]
    return counted


def _next(frames: Ints) -> Ints:
    """The smallest entry of each line from each frame on."""
    return np.minimum.accumulate(frames[:, ::-1], axis=1)[:, ::-1]


def likeness(lines: Bools, inside: Bools) -> float:
    """Return the mean correlation between lines, from 0 to 1: how far their mean moves as one of them does.

    With likeness r, n lines count as n / (1 + (n − 1) r).

    Args:
        lines: Lines × frames.
        inside: Which of these cells are known.

    Examples:
        >>> same = np.tile(np.arange(8) % 2 == 0, (3, 1))
        >>> likeness(same, np.ones_like(same))
        1.0
    """
    used = inside.any(axis=0)
    known = inside[:, used]
    mean = (lines[:, used] & known).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    shares = lines[:, used].sum(axis=1) / np.maximum(known.sum(axis=1), 1)
    own = float((shares * (1 - shares)).mean())
    if own <= 0:
        return 1.0  # they do not move at all
    number = len(lines)
    return float(np.clip((mean.var() / own * number - 1) / max(number - 1, 1), 0.0, 1.0))


def find_trials(applies: Bools, holds: Bools, known: Bools) -> tuple[Bools, Floats]:
    """Find where the trials of each line begin, and the share of each in which the statement held.

    A trial is an episode in which a statement applies, if what it concludes was false at some time since the trial
    before. If there is no relation, and what was false does not become true more readily than by its base rate or one
    half, each trial is a new throw, however long an episode lasts.

    Args:
        applies: Lines × frames: where the statement applies.
        holds: Where what it concludes is true.
        known: Where that is known.

    Returns:
        The first frames of trials, and the shares, at these frames.

    Examples:
        >>> applies = np.array([[0, 1, 1, 0, 1, 0, 0, 1]], bool)
        >>> holds = np.array([[0, 1, 1, 1, 1, 0, 0, 1]], bool)
        >>> starts, shares = find_trials(applies, holds, np.ones_like(holds))
        >>> np.flatnonzero(starts).tolist(), shares[starts].tolist()
        ([1, 7], [1.0, 1.0])
    """
    shares = np.full(applies.shape, -1.0)
    _find_trials(np.ascontiguousarray(applies), np.ascontiguousarray(holds), np.ascontiguousarray(known), shares)
    return shares >= 0, shares


@kernel
def _find_trials(applies: Bools, holds: Bools, known: Bools, shares: Floats) -> None:
    n_lines, n_frames = applies.shape
    for line in range(n_lines):
        fresh, start, rows, held = True, -1, 0, 0
        for frame in range(n_frames):
            is_false = known[line, frame] and not holds[line, frame]
            if not applies[line, frame]:
                fresh |= is_false
                continue
            first = frame == 0 or not applies[line, frame - 1]
            last = frame + 1 == n_frames or not applies[line, frame + 1]
            if first:
                start, rows, held = (frame if fresh else -1), 0, 0
                fresh = False
            rows += 1
            held += holds[line, frame]
            if is_false and (start < 0 or last):
                fresh = True  # after the rows that count
            if last and start >= 0:
                shares[line, start] = held / rows


def timing(starts: Bools, holds: Bools, known: Bools, day: int) -> tuple[int, float]:
    """Count the trials that begin when what a statement concludes becomes true, and say how often chance has it so.

    The rate is that of other frames at which a trial could begin: values that are held for some frames change together
    at every so many of them. Where most days have a change at the same time of day, both follow the clock, which is a
    relation.

    Args:
        starts: Lines × frames: the first frames of trials.
        holds: Where what the statement concludes is true.
        known: Where that is known.
        day: Frames of a day; 0 if there is no such number.

    Returns:
        The number of trials that begin with it, give or take one frame, and their rate to be expected.

    Examples:
        >>> starts = np.zeros((1, 10_000), bool)
        >>> starts[0, [1000, 1701, 3303]] = True
        >>> timing(starts, starts, np.ones_like(starts), day=0)[0]
        3
    """
    begins = np.zeros_like(holds)
    begins[:, 1:] = holds[:, 1:] & known[:, 1:] & known[:, :-1] & ~holds[:, :-1]
    near = begins.copy()
    near[:, 1:] |= begins[:, :-1]
    near[:, :-1] |= begins[:, 1:]
    hits = int((near & starts).sum())
    own = np.nonzero(starts)[1]
    if not len(own):
        return 0, 1.0
    switched = near.sum(axis=0)
    frames = np.arange(holds.shape[1])
    rates = []
    for period in (*_HOLDS, day):
        if 1 <= period <= len(frames) // 2:
            phase = frames % period
            found = np.bincount(phase, weights=switched, minlength=period)[own % period] - switched[own]
            cells = (np.bincount(phase, minlength=period)[own % period] - 1) * len(holds)
            rate = float((found / cells).mean())
            rates += [rate] if period != day or rate <= 0.5 else []
    return hits, max(rates, default=1.0)
