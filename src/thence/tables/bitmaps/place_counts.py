"""Counts of one rule in each embedding by itself.

``thence.tables.bitmaps.embedding_counts`` adds up over embeddings; here the counts of every embedding are kept, which
is for the few rules that somebody reads, not for all that a miner finds. This module works on plain arrays only.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thence._base.settings.threads import default_threads
from thence.tables.bitmaps.bank import Bank
from thence.tables.bitmaps.bits import (
    SMALL_WORK,
    Ints,
    Words,
    as_kernel_array,
    ctpop,
    kernel,
    run_threads,
    split_range,
)


def count_places(
    bank: Bank,
    *,
    antecedent: npt.ArrayLike,
    consequent: int,
    denominator: str = "present",
    threads: int | None = None,
) -> Ints:
    """Count one rule in each embedding.

    Args:
        bank: The bitmaps.
        antecedent: Item numbers of the bank; negative ones are ignored.
        consequent: An item number of the bank.
        denominator: ``"present"`` counts over the frames in which all features of the rule are present, ``"all"`` over
            all frames.
        threads: Maximum number of threads; by default one per processor.

    Returns:
        A matrix (embeddings × 5): n, n_antecedent, n_consequent, n_both, and the number of episodes, which are runs of
        successive frames in which the antecedent holds.

    Examples:
        >>> from thence.tables.bitmaps.bank import build_bank
        >>> codes = np.array([[0, 1, 0, 0], [0, 0, 1, 1], [0, 1, 1, 0]], np.int16)
        >>> columns = [(codes, np.array([0, 1], np.int32), 2), (codes, np.array([2, 2], np.int32), 2)]
        >>> bank = build_bank(columns, n_frames=4, n_embeddings=2)
        >>> count_places(bank, antecedent=[0], consequent=2).tolist()
        [[4, 3, 2, 2, 2], [4, 2, 2, 1, 1]]
    """
    left = np.asarray(antecedent, np.int64)
    left = left[left >= 0]
    rows = bank.row_of[[*left.tolist(), consequent]]
    columns = np.unique(bank.column_of_item[[*left.tolist(), consequent]])
    complete = denominator == "all" or bool((bank.present_of[columns] == 1).all())
    known = bank.present_of[columns] if not complete else np.zeros((0, bank.n_embeddings), np.int32)
    own = bank.present_of[bank.column_of_item[consequent]]
    out = np.zeros((bank.n_embeddings, 5), np.int64)
    arrays = (
        as_kernel_array(bank.words, np.uint64),
        as_kernel_array(rows, np.int32),
        as_kernel_array(known, np.int32),
        as_kernel_array(own, np.int32),
    )
    work = bank.n_embeddings * bank.words.shape[1] * len(rows)
    workers = 1 if work < SMALL_WORK else threads or default_threads()
    run_threads(lambda span: _count_span(*arrays, *span, out), split_range(bank.n_embeddings, workers), threads=workers)
    if complete:
        out[:, 0] = bank.frames_of
    return out


@kernel
def _count_span(
    words: Words,
    rows: npt.NDArray[np.int32],
    known: npt.NDArray[np.int32],
    own: npt.NDArray[np.int32],
    first: int,
    last: int,
    out: Ints,
) -> None:
    """Count over the embeddings ``first … last``; the last of ``rows`` is the consequent, ``own`` where it is known."""
    n_left = rows.shape[0] - 1
    n_known = known.shape[0]
    one, high = np.uint64(1), np.uint64(63)
    for embedding in range(first, last):
        target = words[rows[n_left, embedding]]
        present = words[own[embedding]]
        before = np.uint64(0)
        for word in range(words.shape[1]):
            right = target[word]
            held = ~np.uint64(0)
            if n_known > 0:
                everywhere = ~np.uint64(0)
                for at in range(n_known):
                    everywhere &= words[known[at, embedding], word]
                out[embedding, 0] += np.int64(ctpop(everywhere))
                right &= everywhere
                held = present[word]
            for at in range(n_left):
                held &= words[rows[at, embedding], word]
            both = held & right
            out[embedding, 1] += np.int64(ctpop(held))
            out[embedding, 2] += np.int64(ctpop(right))
            out[embedding, 3] += np.int64(ctpop(both))
            out[embedding, 4] += np.int64(ctpop(held & ~((held << one) | before)))
            before = held >> high
