"""Compiled search for likely classes: classes whose softmax within their feature is above a threshold.

A class is likely if its logit exceeds the second largest of its feature by the logit of the threshold; most features
fail this comparison, and only the others need an exponential. Rows are independent, so that batches can run in
parallel. This module must not know about rules.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["find_likely_classes"]

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

ROUNDING = np.float32(1e-3)
"""Tolerance for rounding errors when leads are compared; classes that pass are checked again."""


@njit(nogil=True, cache=True, fastmath={"nnan", "nsz", "contract", "reassoc", "arcp"}, error_model="numpy")
def find_likely_classes(
    logits: Floats,
    own: Ints,
    allowed: NDArray[np.bool_],
    lead: float,
    threshold: float,
    loose: Floats,
    apart: Floats,
    reach: Floats,
    states: Floats,
    weight: Floats,
    bias: Floats,
) -> tuple[Ints, Ints, Floats]:
    """Find every class whose softmax is above a threshold of at least one half.

    If ``reach`` is not empty, the logits are approximate: in row ``r``, the lead of one class of feature ``f`` over
    another may be wrong by ``apart[f, one, other] * reach[r]``, and at most by ``loose[f] * reach[r]``. Classes that
    may be above the threshold are then computed again from ``states``, ``weight`` and ``bias``.

    Args:
        logits: Logits, rows × classes × features.
        own: Features to ignore in each row, −1 for none.
        allowed: Which classes may be returned, classes × features.
        lead: The logit of the threshold.
        threshold: The threshold.
        loose: Largest error per feature, or empty.
        apart: Error per feature and pair of classes, or empty.
        reach: Factor of the error per row, or empty if the logits are exact.
        states: Last hidden states, one per row.
        weight: Output weights, class by class.
        bias: Output biases, class by class.

    Returns:
        Row, cell (class by class) and softmax of each class found.
    """
    rows, classes, count = logits.shape
    approximate = len(reach) > 0
    first, second = np.empty(count, np.float32), np.empty(count, np.float32)
    fresh = np.empty(classes, np.float32)
    room = 256
    at, cells, shares = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.float32)
    found = 0
    for row in range(rows):
        one = logits[row]
        for feature in range(count):
            first[feature] = one[0, feature]
            second[feature] = -np.inf
        for code in range(1, classes):
            line = one[code]
            for feature in range(count):
                value = line[feature]
                lower = min(first[feature], value)
                first[feature] = max(first[feature], value)
                second[feature] = max(second[feature], lower)
        wanted = np.float32(lead) - ROUNDING
        for feature in range(count):
            slack = loose[feature] * reach[row] if approximate else np.float32(0.0)
            if not first[feature] - second[feature] > wanted - slack:
                continue
            taken = False
            for slot in range(own.shape[1]):
                taken |= own[row, slot] == feature
            if taken:
                continue
            if approximate and slack < wanted and classes > 1:
                # No other class can then lead by that much, and the bound for this pair applies.
                best, next_best = _first_two(one, feature)
                bound = apart[feature, best, next_best] * reach[row]
                if not one[best, feature] - one[next_best, feature] > wanted - bound:
                    continue
            if approximate:
                for code in range(classes):
                    cell = code * count + feature
                    total = np.float32(0.0)
                    for place in range(states.shape[1]):
                        total += weight[cell, place] * states[row, place]
                    fresh[code] = total + bias[cell]
            else:
                for code in range(classes):
                    fresh[code] = one[code, feature]
            best = 0
            for code in range(1, classes):
                if fresh[code] > fresh[best]:
                    best = code
            total = np.float32(0.0)
            for code in range(classes):
                total += np.exp(fresh[code] - fresh[best])
            share = np.float32(1.0) / total
            if not share > threshold or not allowed[best, feature]:
                continue
            if found == room:
                room *= 2
                at, cells, shares = _longer(at, room), _longer(cells, room), _longer(shares, room)
            at[found], cells[found], shares[found] = row, best * count + feature, share
            found += 1
    return at[:found], cells[:found], shares[:found]


@njit(nogil=True, cache=True)
def _first_two(logits: Floats, feature: int) -> tuple[int, int]:
    """Return the class with the highest logit of a feature, and the next."""
    best, next_best = (0, 1) if logits[0, feature] >= logits[1, feature] else (1, 0)
    for code in range(2, len(logits)):
        value = logits[code, feature]
        if value > logits[best, feature]:
            best, next_best = code, best
        elif value > logits[next_best, feature]:
            next_best = code
    return best, next_best


@njit(nogil=True, cache=True)
def _longer(array, room):  # type: ignore[no-untyped-def]
    longer = np.empty(room, array.dtype)
    longer[: len(array)] = array
    return longer
