"""The search space of a rearranged table: all rules as strong as those that are tested, counted level by level.

For each consequent, antecedents grow one item at a time; what holds together with the consequent in too few frames to
reach the weakest level of interest is cut, which loses nothing. Plain arrays only.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thence.bitmaps.bits import Words, and_count, kernel
from thence.refinement.significance.null_kernels import _and_rows, excess_root

__all__ = ["extend_family", "reach"]

Ints = npt.NDArray[np.int64]
Indices = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

TOLERANCE = 1e-9


@kernel
def reach(levels: Floats, value: float) -> int:
    """How many of the ascending levels a statistic reaches, rounding aside."""
    low, high = 0, levels.size
    value = value + TOLERANCE * max(1.0, abs(value))
    while low < high:
        middle = (low + high) // 2
        if levels[middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def _joined(sets: Indices, together: Bools, alone: Ints, least: Ints, last: bool, limit: int) -> tuple[Indices, bool]:
    """Sets of one item more, from pairs that share all but the last; false when there are more than ``limit``.

    A set of the last length that cannot be confident enough is left out: it holds in at most ``alone`` rows of any of
    its items together with the consequent, and two items need ``least`` of them.
    """
    count, length = sets.shape
    room = 1024
    out = np.empty((room, length + 1), np.int32)
    made = 0
    for a in range(count):
        for b in range(a + 1, count):
            shared_ = True
            for place in range(length - 1):
                shared_ = shared_ and sets[a, place] == sets[b, place]
            if not shared_:
                break
            one, two = sets[a, length - 1], sets[b, length - 1]
            if not together[one, two]:
                continue
            if last and length == 1 and min(alone[one], alone[two]) < least[one, two]:
                continue
            if made == limit:
                return out[:made], False
            if made == room:
                wider = np.empty((room * 2, length + 1), np.int32)
                wider[:room] = out
                out, room = wider, room * 2
            out[made, :length] = sets[a, :length]
            out[made, length] = sets[b, length - 1]
            made += 1
    return out[:made], True


@kernel
def _count_sets(
    words: Words, drawn: Words, row_of: Indices, items: Indices, consequent: int, sets: Indices, counts: Ints
) -> None:
    """Frames that hold each set together with the consequent; what consecutive sets share is kept."""
    width, length = words.shape[1], sets.shape[1]
    levels = np.empty((length, width), np.uint64)
    for embedding in range(row_of.shape[1]):
        if row_of[consequent, embedding] == 0:
            continue
        target = drawn[row_of[consequent, embedding]]
        fresh = True
        for at in range(sets.shape[0]):
            same = 0
            while not fresh and same < length - 1 and sets[at, same] == sets[at - 1, same]:
                same += 1
            for place in range(same, length - 1):
                row = words[row_of[items[sets[at, place]], embedding]]
                before = target if place == 0 else levels[place - 1]
                for word in range(width):
                    levels[place, word] = before[word] & row[word]
            fresh = False
            last = words[row_of[items[sets[at, length - 1]], embedding]]
            counts[at] += and_count(levels[length - 2], last)


@kernel
def extend_family(
    words: Words,
    drawn: Words,
    row_of: Indices,
    present_of: Indices,
    left: Indices,
    consequent: int,
    column: int,
    base: Floats,
    alone: Ints,
    together: Bools,
    least: Ints,
    need: int,
    min_confidence: float,
    max_length: int,
    limit: int,
    levels: Floats,
    reached: Ints,
) -> bool:
    """Count, for one consequent, the rules of two items and more that reach each level; false when there are too many.

    ``alone[a]`` are the frames that item ``left[a]`` shares with the consequent, ``together[a, b]`` says whether two
    items may stand in one rule, ``least[a, b]`` how many shared frames two need to be confident enough, ``need`` how
    many any rule needs to matter.
    """
    few = np.flatnonzero(alone >= need)
    sets = np.empty((few.size, 1), np.int32)
    for at in range(few.size):
        sets[at, 0] = few[at]
    buffer = np.empty(words.shape[1], np.uint64)
    items = np.empty(max_length, np.int32)
    for length in range(2, max_length + 1):
        candidates, fits = _joined(sets, together, alone, least, length == max_length, limit)
        if not fits:
            return False
        counts = np.zeros(candidates.shape[0], np.int64)
        _count_sets(words, drawn, row_of, left, consequent, candidates, counts)
        kept = np.flatnonzero(counts >= need)
        for found in kept:
            items[:] = -1
            for place in range(length):
                items[place] = left[candidates[found, place]]
            held, expected = 0.0, 0.0
            for embedding in range(row_of.shape[1]):
                _and_rows(words, row_of, items, embedding, buffer)
                rows = float(and_count(buffer, drawn[present_of[column, embedding]]))
                held += rows
                expected += rows * base[embedding]
            if counts[found] >= (min_confidence - TOLERANCE) * held:
                level = reach(levels, excess_root(float(counts[found]), held, expected))
                if level > 0:
                    reached[level - 1] += 1
        sets = np.empty((kept.size, length), np.int32)
        for at in range(kept.size):
            sets[at] = candidates[kept[at]]
    return True
