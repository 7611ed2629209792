"""Packed bitmaps, 64 rows to a word: packing, popcount, and the tools that kernels share.

An *item* is one category of one feature (``item = offset[feature] + code``); its bitmap has a one in every row in which
the item holds. ``present`` holds one bitmap per feature with a one in every row in which the feature is not missing, or
is ``None`` if no value is missing. Row ``r`` is bit ``r % 64`` of word ``r // 64``; the bits after the last row are
always zero.

Counts over disjoint blocks of rows add up: split a table into blocks of rows, count the same rules on each, and add the
arrays; the sums are the counts of the whole table.

This module works on plain arrays only. It must not know tables, items or rules as objects, nor compute any measure.
Threads are ordinary Python threads over kernels that release the interpreter lock: no threading layer is needed, forks
are safe, and Ctrl-C works.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numpy.typing import ArrayLike, NDArray

from thence._base.settings.threads import default_threads
from thence.errors import InputError

Words = NDArray[np.uint64]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Indices = NDArray[np.int32]
Ints = NDArray[np.int64]
Integer = Any  # inside a kernel, Python integers and numpy integers are the same machine integers

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Task = TypeVar("_Task")
_Result = TypeVar("_Result")

SMALL_WORK = 1 << 20
"""Number of word operations below which a pool of threads costs more than it saves."""


def kernel(function: _Function) -> _Function:
    """Compile a function on first use, release the interpreter lock in it, and cache the machine code on disk."""
    options: dict[str, Any] = {"nogil": True, "cache": True, "error_model": "numpy", "no_cfunc_wrapper": True}
    return cast(_Function, cast(Any, numba.njit)(**options)(function))


def helper(function: _Function) -> _Function:
    """Compile a function that only kernels call. It has no entry from Python, which would take long to compile."""
    options: dict[str, Any] = {"cache": True, "error_model": "numpy", "no_cfunc_wrapper": True}
    return cast(_Function, cast(Any, numba.njit)(no_cpython_wrapper=True, **options)(function))


def needs_compiling(function: Callable[..., Any]) -> bool:
    """Whether the next call of a kernel compiles it: it has not been called, and its code is not on disk.

    Examples:
        >>> _ = popcount(np.zeros((1, 1), dtype=np.uint64))
        >>> needs_compiling(_popcount_rows)
        False
    """
    compiled = cast(Any, function)
    if compiled.signatures or not compiled.stats.cache_path:
        return not compiled.signatures
    code = function.__code__
    return not any(Path(compiled.stats.cache_path).glob(f"*.{function.__qualname__}-{code.co_firstlineno}.*.nbi"))


def _population_count(_context: Any, word: Any) -> Any:
    """Emit the population count instruction; LLVM vectorises loops over it (VPOPCNTQ, or AVX2 shuffles)."""

    def generate(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return numba.types.uint64(numba.types.uint64), generate


ctpop: Callable[[Any], Any] = cast(Any, numba.extending.intrinsic(_population_count))
"""Number of ones in a 64-bit word; callable from kernels only."""


def run_threads(
    function: Callable[[_Task], _Result], tasks: Iterable[_Task], *, threads: int | None = None
) -> list[_Result]:
    """Apply a function to every task in a pool of threads.

    Args:
        function: Function of one task; it should release the interpreter lock.
        tasks: The tasks.
        threads: Maximum number of threads; by default ``default_threads()``.

    Returns:
        The results in the order of the tasks.

    Examples:
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
    """Return how many 64-bit words hold one bit per row.

    Examples:
        >>> n_words(64), n_words(65)
        (1, 2)
    """
    return (n_rows + 63) // 64


def item_offsets(cardinalities: ArrayLike) -> NDArray[np.int64]:
    """Return the first item of each feature and, as the last entry, the number of items.

    Examples:
        >>> item_offsets([3, 2]).tolist()
        [0, 3, 5]
    """
    sizes = np.asarray(cardinalities, dtype=np.int64).ravel()
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes)])


def as_kernel_array(array: ArrayLike, dtype: Any) -> NDArray[Any]:
    """Convert to a contiguous read-only array of one dtype, so that a kernel is compiled once for all callers.

    The data are copied only if they are not contiguous or have another dtype.

    Examples:
        >>> as_kernel_array([1, 2], np.int32).flags.writeable
        False
    """
    view = np.ascontiguousarray(array, dtype=dtype).view()
    view.flags.writeable = False
    return view


def read_only(part: Any) -> Any:
    """Return an array as ``as_kernel_array`` does, with its own dtype; anything else stays as it is.

    Examples:
        >>> read_only(np.zeros(0)).flags.writeable, read_only(3)
        (False, 3)
    """
    return as_kernel_array(part, part.dtype) if isinstance(part, np.ndarray) else part


def split_range(total: int, pieces: int, *, least: int = 1) -> list[tuple[int, int]]:
    """Split ``range(total)`` into runs of nearly equal length.

    Args:
        total: Length of the range.
        pieces: Maximum number of runs.
        least: Minimum length of a run; a single run may be shorter.

    Returns:
        The start and stop of each run.

    Examples:
        >>> split_range(10, 3)
        [(0, 3), (3, 6), (6, 10)]
    """
    count = max(1, min(pieces, total // max(least, 1)))
    bounds = [total * part // count for part in range(count + 1)]
    return [(low, high) for low, high in pairwise(bounds) if high > low]


def full_mask(n_rows: int) -> Words:
    """Return a bitmap with a one for every row.

    Examples:
        >>> full_mask(3).tolist()
        [7]
    """
    words = np.full(n_words(n_rows), np.uint64(0xFFFFFFFFFFFFFFFF))
    if n_rows % 64:
        words[-1] = (np.uint64(1) << np.uint64(n_rows % 64)) - np.uint64(1)
    return words


def check_bitmaps(words: Words, n_rows: int, name: str) -> Words:
    """Check that bitmaps have one bit per row, and return them.

    Args:
        words: One bitmap per item or feature.
        n_rows: Number of rows.
        name: Name of the argument, for the error message.

    Returns:
        The bitmaps; without words if there are no rows, since an empty table may come with spare words.

    Raises:
        InputError: If the bitmaps have another width.

    Examples:
        >>> check_bitmaps(np.zeros((3, 1), dtype=np.uint64), 0, "bitmaps").shape
        (3, 0)
    """
    if words.ndim == 2 and n_rows == 0:
        return words[:, :0]
    if words.ndim != 2 or words.shape[1] != n_words(n_rows):
        raise InputError(f"{name} must have {n_words(n_rows)} words for {n_rows} rows, got shape {words.shape}")
    return words


@kernel
def _pack_rows(
    codes: NDArray[Any],
    offsets: NDArray[np.int64],
    bitmaps: Words,
    present: Words,
    first_word: int,
    last_word: int,
) -> int:
    """Set the bits of a run of words and return the number of codes out of range."""
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


@kernel
def _pack_series(
    codes: NDArray[Any],
    offsets: NDArray[np.int64],
    bitmaps: Words,
    present: Words,
    first: int,
    last: int,
) -> int:
    """Set the bits of a run of features, given as series of codes, and return the number of codes out of range."""
    n_rows = codes.shape[1]
    bad = 0
    for feature in range(first, last):
        offset, size = offsets[feature], offsets[feature + 1] - offsets[feature]
        for word in range(present.shape[1]):
            start = word * 64
            seen = np.uint64(0)
            for row in range(start, min(start + 64, n_rows)):
                code = np.int64(codes[feature, row])
                if code >= 0 and code < size:
                    bit = np.uint64(1) << np.uint64(row - start)
                    bitmaps[offset + code, word] |= bit
                    seen |= bit
                elif code != -1:
                    bad += 1
            present[feature, word] = seen
    return bad


def pack_codes(
    codes: ArrayLike, *, cardinalities: ArrayLike, threads: int | None = None, out: Words | None = None
) -> tuple[Words, Words | None]:
    """Pack a matrix of codes into bitmaps.

    Args:
        codes: Matrix (rows × features) of small integers, −1 for missing.
        cardinalities: Number of categories of each feature.
        threads: Maximum number of threads; by default ``default_threads()``.
        out: Where the bitmaps of the items are written, all zero before; by default a new array.

    Returns:
        One bitmap per item, and one bitmap per feature of the rows in which it is present (``None`` if no value is
        missing).

    Raises:
        InputError: If a code is outside the range of its feature, or the shapes do not match.

    Examples:
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
        raise InputError(f"codes must be a matrix (rows × features), got {matrix.ndim} dimensions")
    offsets = item_offsets(cardinalities)
    n_rows, n_features = matrix.shape
    if len(offsets) - 1 != n_features:
        raise InputError(
            f"cardinalities must have one entry per column: {n_features} columns, {len(offsets) - 1} entries"
        )
    # Series by series, as lifted tables hold them, or row by row: in the order in which the codes lie in memory.
    by_series = matrix.flags.f_contiguous and not matrix.flags.c_contiguous
    pack, lying = (_pack_series, matrix.T) if by_series else (_pack_rows, matrix)
    lying = as_kernel_array(lying, matrix.dtype)
    width = n_words(n_rows)
    bitmaps = np.zeros((int(offsets[-1]), width), dtype=np.uint64) if out is None else out
    present = np.zeros((n_features, width), dtype=np.uint64)
    pieces = (threads or default_threads()) * 2
    runs = split_range(n_features, pieces, least=16) if by_series else split_range(width, pieces, least=256)
    bad = run_threads(lambda span: int(pack(lying, offsets, bitmaps, present, *span)), runs, threads=threads)
    if sum(bad):
        high = np.asarray(cardinalities).ravel()
        row, feature = np.argwhere((matrix < -1) | (matrix >= high))[0]
        raise InputError(
            f"code {matrix[row, feature]} of feature {feature} in row {row} is not in −1…{high[feature] - 1}",
            hint="number the categories from 0 and use −1 for missing values",
        )
    complete = int(popcount(present).sum()) == n_rows * n_features
    return bitmaps, None if complete else present


def pack_mask(matrix: ArrayLike) -> Words:
    """Pack the columns of a boolean matrix (rows × columns), or a vector, into bitmaps.

    Examples:
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
    """Unpack bitmaps into booleans; the last axis becomes one entry per row.

    Examples:
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
    """Count the ones along the last axis.

    Examples:
        >>> popcount(np.array([[3, 1], [0, 255]], dtype=np.uint64)).tolist()
        [3, 8]
    """
    out = np.empty(words.shape[:-1], dtype=np.int64)
    _popcount_rows(as_kernel_array(words.reshape(out.size, words.shape[-1]), np.uint64), out.reshape(-1))
    return out


@helper
def common_count(left: Words, a: Integer, right: Words, b: Integer, span: Integer) -> Integer:
    """Count the ones in the AND of the first ``span`` words of ``left[a]`` and of ``right[b]``."""
    one, other = left[a], right[b]
    total = np.uint64(0)
    for word in range(span):
        total += ctpop(one[word] & other[word])
    return np.int64(total)


@helper
def and_count(left: Words, right: Words) -> Integer:
    """Count the ones in the AND of two bitmaps; for use in other kernels."""
    total = np.uint64(0)
    for word in range(left.size):
        total += ctpop(left[word] & right[word])
    return np.int64(total)
