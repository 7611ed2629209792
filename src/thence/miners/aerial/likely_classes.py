"""Compiled search for likely classes: which class of which feature stands far enough above the others of its feature.

A class is likely when it leads the second of its feature by the logit of the threshold; most features fail this
comparison, and only the rest need an exponential. Rows are handled by themselves, so that parts can run side by side.
This module must not know about rules.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["winners"]

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

ROUNDING = np.float32(1e-3)
"""Room for rounding in the comparison of leads; what passes is looked at again."""


@njit(nogil=True, cache=True, fastmath={"nnan", "nsz", "contract", "reassoc", "arcp"}, error_model="numpy")
def winners(
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
    """Row, cell (class by class) and softmax of every class above a threshold of at least one half.

    ``logits`` are (rows, classes, features); ``own`` names features of a row that do not count, −1 for none. Where
    ``reach`` is not empty, the logits are approximate: in row ``r``, the lead of one class of feature ``f`` over
    another may be off by ``apart[f, one, other] * reach[r]``, at most by ``loose[f] * reach[r]``. What may be above the
    threshold is computed again from ``states``, ``weight`` and ``bias``.
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
                # Then no other class can lead by that much, and the bound for this very pair holds.
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
    """The highest class of a feature and the next."""
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
