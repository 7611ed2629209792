"""Episodes: runs of successive frames in which a rule is violated, found on bitmaps.

Plain arrays only. Frames between which time is missing do not belong to one episode.
"""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import numpy.typing as npt

from thence.tables.bitmaps.bank import Bank
from thence.tables.bitmaps.bits import Words, as_kernel_array, kernel

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


def link_frames(times: npt.NDArray[np.datetime64] | None, every: timedelta | None, *, n_frames: int) -> Bools:
    """Return for each frame whether it follows the one before without a gap.

    Args:
        times: Start of each frame; ``None`` if frames have no time, so that all follow each other.
        every: Length of a frame.
        n_frames: Number of frames.

    Examples:
        >>> times = np.array(["2024-01-01T00", "2024-01-01T01", "2024-01-01T03"], "datetime64[us]")
        >>> link_frames(times, timedelta(hours=1), n_frames=3).tolist()
        [False, True, False]
    """
    out = np.ones(n_frames, bool)
    out[:1] = False
    if times is not None and every is not None:
        out[1:] = np.diff(times.astype("datetime64[us]")) == np.timedelta64(every, "us")
    return out


def find_episodes(bank: Bank, *, antecedent: npt.ArrayLike, consequent: int, linked: Bools) -> Ints:
    """Find the episodes in which one rule is violated, in every embedding.

    Args:
        bank: The bitmaps.
        antecedent: Item numbers of the bank; negative ones are ignored.
        consequent: An item number of the bank.
        linked: For each frame, whether it follows the one before without a gap.

    Returns:
        A matrix (episodes × 3): the embedding, the first frame, and the frame after the last.

    Examples:
        >>> from thence.tables.bitmaps.bank import build_bank
        >>> codes = np.array([[0, 0, 0, 0]], np.int16), np.array([[1, 1, 0, 1]], np.int16)
        >>> bank = build_bank([(own, np.zeros(1, np.int32), 2) for own in codes], n_frames=4, n_embeddings=1)
        >>> find_episodes(bank, antecedent=[0], consequent=2, linked=np.array([0, 1, 1, 1], bool)).tolist()
        [[0, 0, 2], [0, 3, 4]]
    """
    left = np.asarray(antecedent, np.int64)
    items = left[left >= 0].tolist()
    arrays = (
        as_kernel_array(bank.words, np.uint64),
        as_kernel_array(bank.row_of[items].reshape(len(items), bank.n_embeddings), np.int32),
        as_kernel_array(bank.row_of[consequent], np.int32),
        as_kernel_array(bank.present_of[bank.column_of_item[consequent]], np.int32),
        as_kernel_array(linked, np.bool_),
    )
    nothing = np.empty((0, 3), np.int64)
    found = np.empty((int(_find_runs(*arrays, nothing)), 3), np.int64)
    _find_runs(*arrays, found)
    return found


@kernel
def _find_runs(
    words: Words,
    rows: npt.NDArray[np.int32],
    target: npt.NDArray[np.int32],
    present: npt.NDArray[np.int32],
    linked: Bools,
    out: Ints,
) -> int:
    """Write the runs of violated frames, as far as there is room for them, and return their number."""
    n_frames = linked.size
    number = 0
    for embedding in range(target.size):
        start = -1
        for word in range(words.shape[1]):
            bad = words[present[embedding], word] & ~words[target[embedding], word]
            for at in range(rows.shape[0]):
                bad &= words[rows[at, embedding], word]
            if bad == 0 and start < 0:
                continue
            first = word * 64
            for frame in range(first, min(first + 64, n_frames)):
                is_bad = (bad >> np.uint64(frame - first)) & np.uint64(1) != 0
                if start >= 0 and not (is_bad and linked[frame]):
                    if number < out.shape[0]:
                        out[number, 0], out[number, 1], out[number, 2] = embedding, start, frame
                    number += 1
                    start = -1
                if is_bad and start < 0:
                    start = frame
        if start >= 0:
            if number < out.shape[0]:
                out[number, 0], out[number, 1], out[number, 2] = embedding, start, n_frames
            number += 1
    return number
