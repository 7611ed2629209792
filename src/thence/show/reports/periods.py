"""Periods: which span of time a card shows, frames joined to spans, and counts over the whole time.

Plain arrays only. Times are the starts of frames in UTC, in order, with gaps where no sensor read. A span ends where
its last frame ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

import numpy as np
import numpy.typing as npt

from thence.checks.application.episodes import link_frames
from thence.show.reports.schema import History, Span

Times = npt.NDArray[np.datetime64]
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]

MOST_FRAMES = 300
"""Frames that a card shows at most."""
MOST_VIOLATIONS = 1_000
"""Violations that a card lists at most."""
MOST_SPANS = 150
"""Spans into which the whole time is cut at most."""
_SECOND, _MINUTE, _HOUR, _DAY = 10**6, 60 * 10**6, 3600 * 10**6, 86_400 * 10**6
_LENGTHS = (
    *(n * _SECOND for n in (1, 2, 5, 10, 30)),
    *(n * _MINUTE for n in (1, 2, 5, 10, 30)),
    *(n * _HOUR for n in (1, 2, 4, 8, 12)),
    *(n * _DAY for n in (1, 2, 3, 7, 14, 28, 91, 182, 364)),
)
"""Lengths that people think in, in microseconds."""
_TURNS = 6  # begins and ends of a rule in a period; more of them make it no better


@dataclass(frozen=True)
class Chosen:
    """The frames that a card shows.

    Args:
        start: The first frame.
        stop: The frame after the last.
        length: The length of the period in words: "week"; empty if it is the whole time.
    """

    start: int
    stop: int
    length: str


def as_milliseconds(times: Times) -> Ints:
    """Return times as whole milliseconds since 1970.

    Args:
        times: The times.

    Examples:
        >>> as_milliseconds(np.array(["1970-01-01T00:00:01"], "datetime64[us]")).tolist()
        [1000]
    """
    return np.asarray(times.astype("datetime64[us]").astype(np.int64) // 1000)


def choose_period(
    times: Times,
    every: timedelta,
    *,
    held: Bools,
    violated: Bools,
    known: Bools,
    most: int = MOST_FRAMES,
    around: int | None = None,
) -> Chosen:
    """Choose the period that shows a rule best.

    It holds there, applies and does not apply in turn, is violated now and then if it ever is, and few values are
    missing. Of equal periods the first one is chosen. Periods begin at full days or hours if they are longer than that.

    Args:
        times: Start of each frame.
        every: Length of a frame.
        held: In which frames the rule holds.
        violated: In which frames it is violated.
        known: In which frames all its parts are known.
        most: Most frames of the period.
        around: A moment in milliseconds since 1970 that the period has to hold; any period by default.

    Examples:
        >>> times = np.arange("2024-01-01", "2024-02-01", dtype="datetime64[h]")
        >>> held = np.zeros(len(times), bool)
        >>> held[200:260:2] = True
        >>> choose_period(times, timedelta(hours=1), held=held, violated=~held & False, known=held | True)
        Chosen(start=96, stop=264, length='week')
    """
    if len(times) <= most:
        return Chosen(0, len(times), "")
    stamps = times.astype("datetime64[us]").astype(np.int64)
    step = _microseconds(every)
    fitting = [length for length in _LENGTHS if step <= length <= most * step]
    length = max(fitting, default=most * step)
    unit = max((one for one in (_DAY, _HOUR, _MINUTE) if 2 * one <= length and one >= step), default=step)
    begins = stamps // unit
    starts = np.flatnonzero(np.diff(begins, prepend=begins[0] - 1) != 0)
    stops = np.minimum(np.searchsorted(stamps, begins[starts] * unit + length), starts + most)
    applies = held | violated
    turns = np.concatenate([[False], applies[1:] != applies[:-1]])
    n_held, n_broken, n_turns, n_known = (
        total[stops] - total[starts] for total in map(_running, (held, violated, turns, known))
    )
    full = length // step
    score = (
        4.0 * (n_held > 0)
        + 2.0 * (n_broken > 0) * np.maximum(1 - 3 * n_broken / np.maximum(n_held, 1), 0.0)
        + 2.0 * np.minimum(n_turns, _TURNS) / _TURNS
        + 2.0 * np.minimum(n_known, full) / full
        + np.minimum(n_held + n_broken, stops - starts - n_held - n_broken) / full
    )
    if around is not None:
        last = max(int(np.searchsorted(stamps, 1000 * around, "right")) - 1, 0)
        inside = (starts <= last) & (last < stops)
        # A moment that lies in no period, after a gap, is in the one that begins before it.
        score = np.where(inside if inside.any() else starts == starts[starts <= last].max(initial=starts[0]), score, -1)
    best = int(np.argmax(score))
    return Chosen(int(starts[best]), int(stops[best]), _name(length))


def join_frames(frames: Bools, times: Times, every: timedelta, *, first: int = 0) -> list[Span]:
    """Join successive frames to spans.

    Args:
        frames: Which frames are meant, from the first one on.
        times: Start of each frame.
        every: Length of a frame.
        first: The frame that the first of ``frames`` is.

    Examples:
        >>> times = np.array(["1970-01-01T00", "1970-01-01T01", "1970-01-01T03"], "datetime64[us]")
        >>> join_frames(np.array([True, True, True]), times, timedelta(hours=1))
        [{'start': 0, 'end': 7200000}, {'start': 10800000, 'end': 14400000}]
    """
    own = times[first : first + len(frames)]
    linked = link_frames(own, every, n_frames=len(own))
    before = np.concatenate([[False], frames[:-1]]) & linked
    starts = np.flatnonzero(frames & ~before)
    after = np.concatenate([(frames & linked)[1:], [False]])
    stops = np.flatnonzero(frames & ~after)
    begin, end = as_milliseconds(own[starts]), as_milliseconds(own[stops] + np.timedelta64(every, "us"))
    return [{"start": one, "end": other} for one, other in zip(begin.tolist(), end.tolist(), strict=True)]


def begins_of(frames: Bools, times: Times, every: timedelta) -> list[int]:
    """Return the moments at which successive frames begin, at most ``MOST_VIOLATIONS``.

    Args:
        frames: Which frames are meant.
        times: Start of each frame.
        every: Length of a frame.
    """
    return [span["start"] for span in join_frames(frames, times, every)[:MOST_VIOLATIONS]]


def add_up(parts: Sequence[tuple[Times, Ints, Ints]], every: timedelta, *, most: int = MOST_SPANS) -> History | None:
    """Add up counts by frame in spans of equal length over the whole time.

    Args:
        parts: For each site, the start of each frame, and how often a rule applied and held in it.
        every: Length of a frame.
        most: Most spans.

    Returns:
        The counts, which add up to those of all frames; ``None`` without frames.

    Examples:
        >>> times = np.arange("2024-01-01", "2024-01-03", dtype="datetime64[h]")
        >>> ones = np.ones(48, np.int64)
        >>> history = add_up([(times, ones, ones)], timedelta(hours=1), most=10)
        >>> history["applied"]
        [8, 8, 8, 8, 8, 8]
    """
    filled = [(times.astype("datetime64[us]").astype(np.int64), applied, held) for times, applied, held in parts]
    filled = [part for part in filled if len(part[0])]
    if not filled:
        return None
    step = _microseconds(every)
    first = min(int(stamps[0]) for stamps, _, _ in filled)
    last = max(int(stamps[-1]) for stamps, _, _ in filled) + step
    least = max(-(-(last - first) // most), step)
    length = next((one for one in _LENGTHS if one >= least and one % step == 0), -(-least // step) * step)
    begin = first // length * length if -(-(last - first // length * length) // length) <= most else first
    size = -(-(last - begin) // length)
    sums = np.zeros((2, size), np.int64)
    for stamps, *counts in filled:
        at = (stamps - begin) // length
        for row, values in zip(sums, counts, strict=True):
            np.add.at(row, at, values)
    edges = (begin + length * np.arange(size + 1)) // 1000
    return {"edges": edges.tolist(), "applied": sums[0].tolist(), "held": sums[1].tolist()}


def _running(flags: Bools) -> Ints:
    return np.concatenate([[0], np.cumsum(flags, dtype=np.int64)])


def _microseconds(every: timedelta) -> int:
    return max(int(np.timedelta64(every, "us").astype(np.int64)), 1)


def _name(length: int) -> str:
    """The length of a period in words: "week", "3 days"."""
    if length == 7 * _DAY:
        return "week"
    for unit, size in (("week", 7 * _DAY), ("day", _DAY), ("hour", _HOUR), ("minute", _MINUTE), ("second", _SECOND)):
        if length % size == 0:
            count = length // size
            return unit if count == 1 else f"{count} {unit}s"
    return f"{length / _SECOND:g} seconds"
