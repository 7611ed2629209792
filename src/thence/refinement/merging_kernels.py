"""Which of the rules that differ in one test are joined: greedy, deterministic, compiled.

Plain arrays only: this module knows neither tables nor items as objects.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thence.bitmaps.bits import kernel

__all__ = ["cluster_rows"]

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


@kernel
def _join_runs(low: Ints, high: Ints, held: Ints, both: Ints, n_codes: int, whole_ok: bool, bound: float) -> Ints:
    """Join adjacent runs of codes, the most confident union first; then the two outer runs around a smaller hole.

    Rows come in order of ``low``; −1 there is a test that is no run. Returned is, for each row, the first row of its
    cluster.
    """
    size = low.size
    label = np.arange(size)
    head = np.arange(size)  # rows that still stand for a cluster, in order
    alive = size
    last, held_, both_ = high.copy(), held.copy(), both.copy()
    while True:
        best, at = -1.0, -1
        for i in range(alive - 1):
            a, b = head[i], head[i + 1]
            if low[a] < 0 or last[a] + 1 != low[b]:
                continue
            if not whole_ok and low[a] == 0 and last[b] == n_codes - 1:
                continue
            together = (both_[a] + both_[b]) / max(held_[a] + held_[b], 1)
            if together >= bound and together > best:
                best, at = together, i
        if at < 0:
            break
        a, b = head[at], head[at + 1]
        last[a] = last[b]
        held_[a] += held_[b]
        both_[a] += both_[b]
        for row in range(size):
            if label[row] == b:
                label[row] = a
        for i in range(at + 1, alive - 1):
            head[i] = head[i + 1]
        alive -= 1
    bottom, top = -1, -1
    for i in range(alive):
        if low[head[i]] == 0:
            bottom = head[i]
        if low[head[i]] > 0 and last[head[i]] == n_codes - 1:
            top = head[i]
    if bottom >= 0 and top >= 0:
        hole = low[top] - last[bottom] - 1
        together = (both_[bottom] + both_[top]) / max(held_[bottom] + held_[top], 1)
        if 0 < hole < n_codes - hole and together >= bound:
            for row in range(size):
                if label[row] == top:
                    label[row] = bottom
    return label


@kernel
def _join_sets(masks: Bools, held: Ints, both: Ints, n_codes: int, whole_ok: bool, bound: float) -> Ints:
    """Join disjoint sets of codes, the most confident first, as long as the union is confident enough."""
    size = held.size
    label = np.arange(size)
    order = np.argsort(-(both / np.maximum(held, 1)), kind="mergesort")
    first = order[0]
    taken = masks[first].copy()
    sum_held, sum_both = held[first], both[first]
    for place in range(1, size):
        row = order[place]
        disjoint, count = True, 0
        for code in range(n_codes):
            if taken[code] and masks[row, code]:
                disjoint = False
            if taken[code] or masks[row, code]:
                count += 1
        together = (sum_both + both[row]) / max(sum_held + held[row], 1)
        if disjoint and together >= bound and (whole_ok or count < n_codes):
            label[row] = first
            taken |= masks[row]
            sum_held += held[row]
            sum_both += both[row]
    return label


@kernel
def cluster_rows(
    starts: Ints,
    item: Ints,
    held: Ints,
    both: Ints,
    whole_ok: Bools,
    low: Ints,
    high: Ints,
    masks: Bools,
    way: Ints,
    n_codes: Ints,
    bound: float,
) -> Ints:
    """For rows in groups ``starts[g] … starts[g + 1]``, the row that each is joined to (itself where it stays alone).

    ``item`` is the test of each row, and ``whole_ok`` says of its group whether the union may hold always. Given per
    test are ``low`` and ``high`` (its run of codes, −1 where it is none), ``masks``, ``way`` (0: never joined, 1: runs,
    2: sets) and ``n_codes``. Rows of a group come in order of ``low``.
    """
    label = np.arange(item.size)
    for group in range(starts.size - 1):
        first, end = starts[group], starts[group + 1]
        if end - first < 2:
            continue
        tests = item[first:end]
        any_test = tests[0]
        if way[any_test] == 1:
            found = _join_runs(
                low[tests],
                high[tests],
                held[first:end],
                both[first:end],
                n_codes[any_test],
                whole_ok[first],
                bound,
            )
        elif way[any_test] == 2:
            found = _join_sets(
                masks[tests], held[first:end], both[first:end], n_codes[any_test], whole_ok[first], bound
            )
        else:
            continue
        for row in range(end - first):
            label[first + row] = first + found[row]
    return label
