"""Kernels of the search for controls: how well a cut of one reading agrees with the switches of an actuator.

For one reading and one change of an actuator, a moment is *armed* by a cut if the reading is at the cut or beyond it.
The agreement of a cut is F = 2 · hits / (armed + switches): 1 if the actuator switches at every armed moment and at no
other. Plain arrays only; moments at which the reading is missing (NaN) do not count, and a reading that is missing at
more than a fifth of the switches is left out. "Below" is "above" of the negated reading.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thence.tables.bitmaps.bits import as_kernel_array, helper, kernel

MIN_PRESENT = 0.8
"""The least share of the switches at which a reading must not be missing."""

_STRIDE = 32  # moments that are counted before looking whether there are too many

FloatArray = npt.NDArray[np.float64]


@helper
def _promising(
    row: FloatArray,
    moments: npt.NDArray[np.int64],
    times: npt.NDArray[np.int64],
    min_share: float,
    min_agreement: float,
    at: FloatArray,
) -> tuple[bool, bool]:
    """Whether few enough moments are armed by the cuts, above and below, that explain just enough switches."""
    size = 0
    for k in range(times.size):
        value = row[times[k]]
        if not np.isnan(value):
            at[size] = value
            size += 1
    if size == 0 or size < MIN_PRESENT * times.size:
        return False, False
    known = at[:size]
    known.sort()
    rank = max(1, int(np.ceil(min_share * size)))
    high, low = known[size - rank], known[rank - 1]
    # F = 2 hits / (armed + switches) cannot reach the least agreement with more armed moments than this.
    limit = int(size * (2.0 / min_agreement - 1.0))
    above = below = 0
    for start in range(0, moments.size, _STRIDE):
        for k in range(start, min(start + _STRIDE, moments.size)):
            value = row[moments[k]]
            above += value >= high
            below += value <= low
        if above > limit and below > limit:
            break
    return above <= limit, below <= limit


@helper
def _best_cut(
    row: FloatArray, moments: npt.NDArray[np.int64], times: npt.NDArray[np.int64], sign: float
) -> tuple[float, float]:
    """Return the cut of the highest agreement, of the negated reading if ``sign`` is −1, and that agreement."""
    # The best cut is at a reading of a switch: another one arms more moments for the same hits.
    known = np.empty(times.size)
    total = 0
    for k in range(times.size):
        value = row[times[k]]
        if not np.isnan(value):
            known[total] = sign * value
            total += 1
    cuts = known[:total]
    cuts.sort()
    reached = np.zeros(total + 1, np.int64)  # moments by the number of cuts that they reach
    least = cuts[0] if total else np.inf
    for k in range(moments.size):
        value = sign * row[moments[k]]
        if value >= least:  # NaN is not; moments that reach no cut are many and do not matter
            low, high = 1, total
            while low < high:
                middle = (low + high) // 2
                if cuts[middle] <= value:
                    low = middle + 1
                else:
                    high = middle
            reached[low] += 1
    best, cut, armed = 0.0, np.inf, 0
    for k in range(total - 1, -1, -1):
        armed += reached[k + 1]
        if k > 0 and cuts[k - 1] == cuts[k]:
            continue
        found = 2.0 * (total - k) / (armed + total)
        if found > best:
            best, cut = found, cuts[k]
    return cut, best


@kernel
def _screen(
    rows: FloatArray,
    moments: npt.NDArray[np.int64],
    times: npt.NDArray[np.int64],
    min_share: float,
    min_agreement: float,
    cuts: FloatArray,
    scores: FloatArray,
) -> None:
    at = np.empty(times.size)
    for reading in range(rows.shape[0]):
        promising = _promising(rows[reading], moments, times, min_share, min_agreement, at)
        for side in range(2):
            sign = 1.0 - 2.0 * side
            if promising[side]:
                cut, score = _best_cut(rows[reading], moments, times, sign)
                cuts[reading, side] = sign * cut
                scores[reading, side] = score


def screen(
    rows: npt.ArrayLike,
    moments: npt.NDArray[np.int64],
    switched: npt.NDArray[np.bool_],
    *,
    min_share: float,
    min_agreement: float,
) -> tuple[FloatArray, FloatArray]:
    """Find the best cut of each of many readings, above and below.

    Readings are left out early, without changing the result, if no cut that explains ``min_share`` of the switches can
    agree by ``min_agreement``.

    Args:
        rows: One row per reading, one column per window.
        moments: The moments at which the actuator could switch.
        switched: At which of them it did.
        min_share: The share of the switches that the cut has to explain, above 0.
        min_agreement: The least agreement, above 0.

    Returns:
        The cuts and their agreements, readings × (above, below). The agreement is 0 for readings that were left out.

    Examples:
        >>> cuts, scores = screen([[1.0, 2, 3, 1, 2, 3]], np.arange(6), np.array([0, 0, 1, 0, 0, 1], bool),
        ...                       min_share=0.5, min_agreement=0.5)
        >>> cuts[0, 0].item(), scores[0].tolist()
        (3.0, [1.0, 0.5])
    """
    table = as_kernel_array(rows, np.float64)
    times = moments[switched]
    cuts, scores = np.full((len(table), 2), np.nan), np.zeros((len(table), 2))
    if times.size:
        _screen(
            table,
            as_kernel_array(moments, np.int64),
            as_kernel_array(times, np.int64),
            min_share,
            min_agreement,
            cuts,
            scores,
        )
        scores[scores < min_agreement] = 0.0
    return cuts, scores


@kernel
def _best_cut_of(
    row: FloatArray, moments: npt.NDArray[np.int64], times: npt.NDArray[np.int64], sign: float
) -> tuple[float, float]:
    return _best_cut(row, moments, times, sign)


def best_cut(
    row: npt.ArrayLike, moments: npt.NDArray[np.int64], switched: npt.NDArray[np.bool_], *, above: bool
) -> tuple[float, float]:
    """Return the cut of one reading that agrees best with the switches, and its agreement.

    Args:
        row: The reading, one value per window.
        moments: The moments at which the actuator could switch.
        switched: At which of them it did.
        above: Whether moments at the cut and above it are armed, or those at the cut and below it.

    Examples:
        >>> best_cut([1.0, 2, 3, 1, 2, 3], np.arange(6), np.array([1, 0, 0, 1, 0, 0], bool), above=False)
        (1.0, 1.0)
    """
    sign = 1.0 if above else -1.0
    cut, score = _best_cut_of(
        as_kernel_array(row, np.float64),
        as_kernel_array(moments, np.int64),
        as_kernel_array(moments[switched], np.int64),
        sign,
    )
    return sign * cut, score


def agreement(
    row: npt.ArrayLike,
    moments: npt.NDArray[np.int64],
    switched: npt.NDArray[np.bool_],
    *,
    cut: float,
    above: bool,
) -> tuple[int, int, float]:
    """Return the hits, the armed moments and the agreement of a given cut.

    Args:
        row: The reading, one value per window.
        moments: The moments at which the actuator could switch.
        switched: At which of them it did.
        cut: The cut.
        above: Whether moments at the cut and above it are armed, or those at the cut and below it.

    Examples:
        >>> agreement([1.0, 2, 3, 2], np.arange(4), np.array([0, 0, 1, 0], bool), cut=2.0, above=True)
        (1, 3, 0.5)
    """
    values = np.asarray(row, np.float64)[moments]
    armed = values >= cut if above else values <= cut
    hits, total = int((armed & switched).sum()), int(armed.sum())
    switches = int((switched & ~np.isnan(values)).sum())
    return hits, total, 2 * hits / (total + switches) if total + switches else 0.0
