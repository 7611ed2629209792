"""Packed bitmaps and the kernels that count on them: 64 rows to a word, AND, popcount.

An *item* is one category of one feature (``item = offset[feature] + code``); its bitmap has a one in every row in which
the item holds. ``present`` holds one bitmap per feature with a one in every row in which the feature is not missing, or
is ``None`` where nothing is missing at all. Row ``r`` is bit ``r % 64`` of word ``r // 64``; the bits behind the last
row are always zero.

Counts of disjoint blocks of rows add up: cut a table into blocks of rows, count the same rules on each, and add the
arrays; the sums are the counts of the whole table.

This module works on plain arrays only. It must not know tables, items or rules as objects, nor compute any measure.
Threads are ordinary Python threads over kernels that release the interpreter lock, so that nothing here depends on a
threading layer, survives a fork badly or swallows Ctrl-C.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numpy.typing import ArrayLike, NDArray

from thence.errors import InputError

__all__ = [
    "SMALL_WORK",
    "Integer",
    "Words",
    "and_count",
    "ctpop",
    "default_threads",
    "inlined",
    "item_offsets",
    "kernel",
    "n_words",
    "pack_codes",
    "pack_mask",
    "popcount",
    "run_threads",
    "shared",
    "spans",
    "unpack",
]

Words = NDArray[np.uint64]
Integer = Any  # an integer inside a kernel, where Python's and numpy's are the same machine integers

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Task = TypeVar("_Task")
_Result = TypeVar("_Result")

# Below this many word operations a pool of threads costs more than it saves.
SMALL_WORK = 1 << 20


def kernel(function: _Function) -> _Function:
    """Compile a function on first use, without the interpreter lock, and keep the machine code on disk."""
    return cast(_Function, numba.njit(nogil=True, cache=True)(function))


def inlined(function: _Function) -> _Function:
    """A function that exists only inside the kernels that call it: large bundles of arrays are then passed for free."""
    return cast(_Function, numba.njit(inline="always")(function))


def _population_count(_context: Any, word: Any) -> Any:
    """The processor's population count; LLVM turns loops over it into vector code (VPOPCNTQ, or AVX2 shuffles)."""

    def generate(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return numba.types.uint64(numba.types.uint64), generate


# Ones in a 64-bit word; inside kernels only.
ctpop: Callable[[Any], Any] = cast(Any, numba.extending.intrinsic(_population_count))


def default_threads() -> int:
    """The number of processors that this process may use.

    >>> default_threads() >= 1
    True
    """
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run_threads(
    function: Callable[[_Task], _Result], tasks: Iterable[_Task], *, threads: int | None = None
) -> list[_Result]:
    """Apply a function that releases the interpreter lock to every task; results in the order of the tasks.

    >>> run_threads(abs, [-2, 3], threads=1)
    [2, 3]
    """
    todo = list(tasks)
    workers = min(len(todo), threads or default_threads())
    if workers <= 1:
        return [function(task) for task in todo]
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(function, todo))


def n_words(n_rows: int) -> int:
    """Words that hold one bit per row.

    >>> n_words(64), n_words(65)
    (1, 2)
    """
    return (n_rows + 63) // 64


def item_offsets(cardinalities: ArrayLike) -> NDArray[np.int64]:
    """First item of each feature, and the number of items at the end.

    >>> item_offsets([3, 2]).tolist()
    [0, 3, 5]
    """
    sizes = np.asarray(cardinalities, dtype=np.int64).ravel()
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes)])


def shared(array: ArrayLike, dtype: Any) -> NDArray[Any]:
    """A contiguous read-only view: kernels then see one type, and compile once, whatever the caller's flags.

    >>> shared([1, 2], np.int32).flags.writeable
    False
    """
    view = np.ascontiguousarray(array, dtype=dtype).view()
    view.flags.writeable = False
    return view


def spans(total: int, pieces: int, *, least: int = 1) -> list[tuple[int, int]]:
    """Cut ``range(total)`` into at most ``pieces`` runs of nearly equal length, none much shorter than ``least``.

    >>> spans(10, 3)
    [(0, 3), (3, 6), (6, 10)]
    """
    count = max(1, min(pieces, total // max(least, 1)))
    edges = [total * part // count for part in range(count + 1)]
    return [(low, high) for low, high in pairwise(edges) if high > low]


@kernel
def _pack_rows(
    codes: NDArray[Any],
    offsets: NDArray[np.int64],
    bitmaps: Words,
    present: Words,
    first_word: int,
    last_word: int,
) -> int:
    """Set the bits of a run of words; the number of codes outside their feature's range is returned."""
    n_rows, n_features = codes.shape
    bad = 0
    for word in range(first_word, last_word):
        start = word * 64
        stop = min(start + 64, n_rows)
        for feature in range(n_features):
            size = offsets[feature + 1] - offsets[feature]
            seen = np.uint64(0)
            for row in range(start, stop):
                code = np.int64(codes[row, feature])
                if code >= 0 and code < size:
                    bit = np.uint64(1) << np.uint64(row - start)
                    bitmaps[offsets[feature] + code, word] |= bit
                    seen |= bit
                elif code != -1:
                    bad += 1
            present[feature, word] = seen
    return bad


def pack_codes(codes: ArrayLike, *, cardinalities: ArrayLike, threads: int | None = None) -> tuple[Words, Words | None]:
    """Bitmaps of all items, and of the rows in which each feature is present (``None`` where nothing is missing).

    ``codes`` is a matrix (rows × features) of small integers, −1 for missing.

    >>> bitmaps, present = pack_codes(np.array([[0, 1], [1, -1], [0, 1]], dtype=np.int8), cardinalities=[2, 2])
    >>> [f"{int(word):03b}" for word in bitmaps[:, 0]]
    ['101', '010', '000', '101']
    >>> [f"{int(word):03b}" for word in present[:, 0]]
    ['111', '101']
    """
    matrix = np.asarray(codes)
    if matrix.dtype not in (np.dtype(np.int8), np.dtype(np.int16)):
        matrix = matrix.astype(np.int32)
    if matrix.ndim != 2:
        raise InputError(f"codes must be a matrix (rows × features), not {matrix.ndim}-dimensional")
    offsets = item_offsets(cardinalities)
    n_rows, n_features = matrix.shape
    if len(offsets) - 1 != n_features:
        raise InputError(f"{n_features} columns of codes but {len(offsets) - 1} cardinalities")
    matrix = shared(matrix, matrix.dtype)
    width = n_words(n_rows)
    bitmaps = np.zeros((int(offsets[-1]), width), dtype=np.uint64)
    present = np.zeros((n_features, width), dtype=np.uint64)
    runs = spans(width, (threads or default_threads()) * 2, least=256)
    bad = run_threads(
        lambda span: int(_pack_rows(matrix, offsets, bitmaps, present, span[0], span[1])), runs, threads=threads
    )
    if sum(bad):
        high = np.asarray(cardinalities).ravel()
        row, feature = np.argwhere((matrix < -1) | (matrix >= high))[0]
        raise InputError(
            f"code {matrix[row, feature]} of feature {feature} in row {row} is not in −1…{high[feature] - 1}",
            hint="codes count from 0; −1 means missing",
        )
    complete = int(popcount(present).sum()) == n_rows * n_features
    return bitmaps, None if complete else present


def pack_mask(matrix: ArrayLike) -> Words:
    """Bitmaps of the columns of a boolean matrix (rows × columns), or one bitmap of a vector.

    >>> pack_mask([[True, False], [True, True]]).tolist()
    [[3], [2]]
    >>> pack_mask([False, True]).tolist()
    [2]
    """
    flags = np.asarray(matrix, dtype=bool)
    columns = np.ascontiguousarray(flags.T)
    padded = np.zeros((*columns.shape[:-1], n_words(flags.shape[0]) * 8), dtype=np.uint8)
    packed = np.packbits(columns, axis=-1, bitorder="little")
    padded[..., : packed.shape[-1]] = packed
    return padded.view("<u8").astype(np.uint64, copy=False)


def unpack(words: Words, *, n_rows: int) -> NDArray[np.bool_]:
    """The boolean rows behind bitmaps: the last axis becomes one entry per row.

    >>> unpack(pack_mask([True, False, True]), n_rows=3).tolist()
    [True, False, True]
    """
    octets = np.ascontiguousarray(words).astype("<u8", copy=False).view(np.uint8)
    return np.unpackbits(octets, axis=-1, count=n_rows, bitorder="little").astype(bool)


@kernel
def _popcount_rows(words: Words, out: NDArray[np.int64]) -> None:
    for row in range(words.shape[0]):
        total = np.uint64(0)
        line = words[row]
        for word in range(line.size):
            total += ctpop(line[word])
        out[row] = np.int64(total)


def popcount(words: Words) -> NDArray[np.int64]:
    """Number of ones along the last axis.

    >>> popcount(np.array([[3, 1], [0, 255]], dtype=np.uint64)).tolist()
    [3, 8]
    """
    out = np.empty(words.shape[:-1], dtype=np.int64)
    _popcount_rows(shared(words.reshape(out.size, words.shape[-1]), np.uint64), out.reshape(-1))
    return out


@kernel
def and_count(left: Words, right: Words) -> Integer:
    """Number of ones in the AND of two bitmaps (for use in other kernels)."""
    total = np.uint64(0)
    for word in range(left.size):
        total += ctpop(left[word] & right[word])
    return np.int64(total)
