"""Exact counts of a million rules: bitmap kernels compared with vectorised numpy.

    python benchmarks/counting.py                   10⁶ rules of two antecedents over 10⁵ rows
    python benchmarks/counting.py --quick           10⁵ rules over 10⁴ rows

The table has 20 features with 10 values each. A rule has three random items of different features, so an antecedent
has about 26 consequents. numpy counts a sample of the rules, and its time is scaled to all of them, which would take
minutes. It uses one contiguous boolean array per item (built beforehand, not timed) and scratch arrays, without copies.
The script fails if the counts differ.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

N_FEATURES, N_VALUES = 20, 10
CARDINALITIES = [N_VALUES] * N_FEATURES
Integers = NDArray[np.int64]


def make(n_rows: int, n_rules: int, missing: float) -> tuple[NDArray[np.int8], Integers, Integers]:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, N_VALUES, size=(n_rows, N_FEATURES)).astype(np.int8)
    codes[rng.random(codes.shape) < missing] = -1
    features = np.argsort(rng.random((n_rules, N_FEATURES)), axis=1)[:, :3]
    items = features * N_VALUES + rng.integers(0, N_VALUES, size=features.shape)
    return codes, items[:, :2], items[:, 2]


def best_of(function: Callable[[], Any], seconds: float) -> tuple[Any, float]:
    """Return the result and the shortest time of up to ten repetitions within ``seconds``, after a warm-up call."""
    result = function()
    times: list[float] = []
    while not times or (len(times) < 10 and sum(times) < seconds):
        start = time.perf_counter()
        result = function()
        times.append(time.perf_counter() - start)
    return result, min(times)


def with_numpy(codes: NDArray[np.int8], left: Integers, right: Integers) -> Callable[[], Integers]:
    values = np.arange(N_VALUES, dtype=np.int8)
    items = np.ascontiguousarray((codes[:, :, None] == values).reshape(len(codes), -1).T)
    known = np.ascontiguousarray((codes >= 0).T)
    gaps = not known.all()
    counts = np.zeros((4, len(right)), dtype=np.int64)
    held, scratch, seen = (np.empty(len(codes), dtype=bool) for _ in range(3))
    n_item = np.count_nonzero(items, axis=1)

    def count() -> Integers:
        for rule in range(len(right)):
            (a, b), c = left[rule], right[rule]
            np.logical_and(items[a], items[b], out=held)
            np.logical_and(held, items[c], out=scratch)
            counts[3, rule] = np.count_nonzero(scratch)
            if gaps:
                np.logical_and(known[a // N_VALUES], known[b // N_VALUES], out=seen)
                counts[2, rule] = np.count_nonzero(np.logical_and(seen, items[c], out=scratch))
                counts[1, rule] = np.count_nonzero(np.logical_and(held, known[c // N_VALUES], out=scratch))
                counts[0, rule] = np.count_nonzero(np.logical_and(seen, known[c // N_VALUES], out=scratch))
            else:
                counts[0, rule], counts[1, rule], counts[2, rule] = len(codes), np.count_nonzero(held), n_item[c]
        return counts

    return count


def with_bitmaps(codes: NDArray[np.int8], left: Integers, right: Integers) -> Callable[[], Integers]:
    from thence.tables.bitmaps import bits
    from thence.tables.bitmaps.counts import count_bitmaps

    features = np.repeat(np.arange(N_FEATURES), N_VALUES)

    def count() -> Integers:
        bitmaps, present = bits.pack_codes(codes, cardinalities=CARDINALITIES)
        return np.stack(
            count_bitmaps(
                bitmaps,
                n_rows=len(codes),
                antecedents=left,
                consequents=right,
                present=present,
                feature_of_item=features,
            )
        )

    return count


def compare(n_rows: int, n_rules: int, sample: int, missing: float) -> bool:
    codes, left, right = make(n_rows, n_rules, missing)
    expected, sample_s = best_of(with_numpy(codes, left[:sample], right[:sample]), 1.0)
    numpy_s = sample_s * n_rules / sample
    print(f"\n### {n_rules:,} rules of two antecedents, {n_rows:,} rows, {missing:.0%} missing\n")
    print("| contender | seconds | rules/s | × faster than numpy |")
    print("|---|---|---|---|")
    print(f"| numpy, {sample:,} rules, scaled | {numpy_s:.2f} | {n_rules / numpy_s:,.0f} | 1 |")
    contenders: dict[str, Callable[[], Integers]] = {}
    try:
        contenders["bitmaps (packing included)"] = with_bitmaps(codes, left, right)
    except ImportError as error:
        print(f"| bitmaps | not here: {error} | – | – |")
    whole: Integers | None = None
    agreed = True
    for name, count in contenders.items():
        counts, seconds = best_of(count, 3.0)
        print(f"| {name} | {seconds:.3f} | {n_rules / seconds:,.0f} | {numpy_s / seconds:.0f} |", flush=True)
        agreed &= np.array_equal(counts[:, :sample], expected)
        agreed &= whole is None or np.array_equal(counts, whole)
        whole = counts
    print(f"\n{'the same integers everywhere' if agreed else 'DIFFERENT COUNTS'}.")
    return agreed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    n_rows, n_rules, sample = (10_000, 100_000, 2_000) if given.quick else (100_000, 1_000_000, 2_000)
    agreed = [compare(n_rows, n_rules, sample, missing) for missing in (0.0, 0.05)]
    if not all(agreed):
        sys.exit("the contenders do not agree")


if __name__ == "__main__":
    main()
