"""Compiled kernels that aggregate readings into windows: plain arrays in, plain arrays out.

This is the only module of ``readings`` that imports numba. Times are ``int64`` microseconds since 1970; window ``w`` is
``[start + w * every, start + (w + 1) * every)``. Missing numbers are NaN, missing states are −1. The two ways to
aggregate (reading by reading for many sensors at once, or one sorted series at a time) add in the same order, so their
results are bit-identical.
"""

from __future__ import annotations

import numpy as np
from numba import njit

MEAN, SUM, MIN, MAX, LAST, RANGE, COUNT, MEDIAN, MODE = range(9)
READINGS, MISSING, INFINITE, DISORDERED, REPEATED, CONFLICTING = range(6)
N_COUNTS = 6
# Odd constants for multiplicative hashing.
SPREAD_A, SPREAD_B = np.int64(-7046029254386353131), np.int64(-4417276706812531889)


@njit(cache=True, nogil=True)
def add_readings(times, codes, values, start, every, ops, main, other, sizes, latest, latest_value, counts):  # type: ignore[no-untyped-def]
    """Add a batch of readings to the windows of their sensors while the times of each sensor increase.

    Duplicate readings are skipped. A reading that is earlier than the latest of its sensor, or conflicts with it, is
    only counted: the caller then starts again with sorted series. ``latest``, ``latest_value`` and ``counts`` carry
    over from batch to batch.
    """
    window = np.int64(0)
    opens = np.int64(0)
    closes = np.int64(0)  # empty, so the first reading looks up its window
    for i in range(times.size):
        code = codes[i]
        value = values[i]
        if not np.isfinite(value):
            counts[code, MISSING if np.isnan(value) else INFINITE] += 1
            continue
        time = times[i]
        if time <= latest[code]:
            if time < latest[code]:
                counts[code, DISORDERED] += 1
            elif value == latest_value[code]:
                counts[code, REPEATED] += 1
            else:
                counts[code, CONFLICTING] += 1
            continue
        latest[code] = time
        latest_value[code] = value
        counts[code, READINGS] += 1
        if time < opens or time >= closes:
            window = (time - start) // every
            opens = start + window * every
            closes = opens + every
        op = ops[code]
        if op == MEAN:
            sizes[window, code] += 1
            if sizes[window, code] == 1:
                main[window, code] = value
            else:
                main[window, code] += value
        elif op == COUNT:
            sizes[window, code] += 1
        else:
            current = main[window, code]
            if np.isnan(current) or op == LAST:
                main[window, code] = value
                if op == RANGE:
                    other[window, code] = value
            elif op == SUM:
                main[window, code] = current + value
            elif op == MAX:
                main[window, code] = max(current, value)
            else:  # MIN, or RANGE with its largest value in `other`
                main[window, code] = min(current, value)
                if op == RANGE:
                    other[window, code] = max(other[window, code], value)


@njit(cache=True, nogil=True)
def window_series(times, values, start, every, op, out):  # type: ignore[no-untyped-def]
    """Aggregate one series (times strictly increase, values are finite) into ``out``, which is filled with NaN.

    ``op`` is any aggregate but the median, which has a kernel of its own because sorting takes long to compile.
    """
    i = 0
    n = times.size
    while i < n:
        window = (times[i] - start) // every
        closes = start + (window + 1) * every
        j = i + 1
        low = high = total = values[i]
        while j < n and times[j] < closes:
            value = values[j]
            total += value
            low = min(low, value)
            high = max(high, value)
            j += 1
        if op == MEAN:
            out[window] = total / (j - i)
        elif op == SUM:
            out[window] = total
        elif op == MIN:
            out[window] = low
        elif op == MAX:
            out[window] = high
        elif op == LAST:
            out[window] = values[j - 1]
        elif op == RANGE:
            out[window] = high - low
        else:
            out[window] = j - i
        i = j


@njit(cache=True, nogil=True)
def window_medians(times, values, start, every, out):  # type: ignore[no-untyped-def]
    """Write the median of each window of one series, as in ``window_series``, to ``out``."""
    i = 0
    n = times.size
    while i < n:
        window = (times[i] - start) // every
        closes = start + (window + 1) * every
        j = i + 1
        while j < n and times[j] < closes:
            j += 1
        out[window] = np.median(values[i:j])
        i = j


@njit(cache=True, nogil=True)
def window_states(times, states, start, every, op, n_categories, out):  # type: ignore[no-untyped-def]
    """Write the last or most frequent state of each window to ``out``; of equally frequent states, the latest wins."""
    seen = np.zeros(n_categories, dtype=np.int64)
    i = 0
    n = times.size
    while i < n:
        window = (times[i] - start) // every
        closes = start + (window + 1) * every
        j = i
        while j < n and times[j] < closes:
            seen[states[j]] += 1
            j += 1
        best = states[j - 1]
        if op == MODE:
            for k in range(j - 1, i - 1, -1):
                if seen[states[k]] > seen[best]:
                    best = states[k]
        for k in range(i, j):
            seen[states[k]] = 0
        out[window] = best
        i = j


@njit(cache=True, nogil=True)
def group_views(views, firsts, codes):  # type: ignore[no-untyped-def]
    """Number the distinct rows of ``views`` (two integers each) in order of appearance.

    Write the first row of each group to ``firsts`` and the group of each row to ``codes``. Return the number of groups,
    or −1 if there are more than ``firsts`` can hold.
    """
    size = 4
    while size < 4 * firsts.size:
        size *= 2
    table = np.full(size, -1, dtype=np.int64)
    n_groups = 0
    last = -1
    for i in range(views.shape[0]):
        a, b = views[i, 0], views[i, 1]
        if last >= 0 and views[firsts[last], 0] == a and views[firsts[last], 1] == b:
            codes[i] = last
            continue
        mixed = (a * SPREAD_A) ^ (b * SPREAD_B)
        mixed = (mixed ^ (mixed >> 32)) * SPREAD_A
        slot = (mixed >> 24) & (size - 1)
        while True:
            group = table[slot]
            if group < 0:
                if n_groups == firsts.size:
                    return -1
                group = n_groups
                table[slot] = group
                firsts[group] = i
                n_groups += 1
                break
            if views[firsts[group], 0] == a and views[firsts[group], 1] == b:
                break
            slot = (slot + 1) & (size - 1)
        codes[i] = group
        last = group
    return n_groups
