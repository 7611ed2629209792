"""Factorised counts of lifted rules over frames × embeddings, without materialising the rows.

Measures time and memory of counting 1,000 rules over 10⁹ virtual rows, and compares the factorised count with a count
on the materialised table at a size where both fit. Embeddings share sensors, as they do in a network: ten embeddings
per sensor at full size, forty where both run. Each runs in its own process; if the counts differ, the script fails.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time

import numpy as np

# embeddings, frames, rules, sensors
SIZES = {"full": (10_000, 100_000, 1_000, 1_000), "both": (8_000, 17_520, 1_000, 200), "quick": (800, 5_000, 200, 20)}


def block(n_embeddings: int, n_frames: int, n_sensors: int, seed: int = 0):
    """Create a block with three features of ten bins: two readings of shared sensors and one static property."""
    from thence.language.items import Aspect, Feature, Role
    from thence.tables.blocks import Block, Column

    rng = np.random.default_rng(seed)
    codes = np.empty((n_sensors, n_frames), np.int16)
    for sensor in range(n_sensors):
        codes[sensor] = np.cumsum(rng.integers(-1, 2, n_frames)) % 10
    names = tuple(f"bin {c}" for c in range(10))
    first = rng.integers(0, n_sensors, n_embeddings).astype(np.int32)
    second = rng.integers(0, n_sensors, n_embeddings).astype(np.int32)
    facts = rng.integers(0, 10, (n_embeddings, 1)).astype(np.int16)
    own = np.arange(n_embeddings, dtype=np.int32)
    return Block(
        (
            Column(Feature("f", role=Role.VARIABLE, label="flow"), names, codes, first),
            Column(Feature("g", role=Role.VARIABLE, label="pressure"), names, codes, second),
            Column(Feature("p", Aspect.PROPERTY, "length", role=Role.VARIABLE), names, facts, own, context=True),
        ),
        n_frames,
        n_embeddings,
        embeddings=tuple((str(e),) for e in range(n_embeddings)),
    )


def rules(n_rules: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Create rules "reading → reading", every other one with a property in the antecedent too."""
    rng = np.random.default_rng(seed)
    left = np.stack([rng.integers(0, 10, n_rules), 20 + rng.integers(0, 10, n_rules)], axis=1).astype(np.int32)
    left[::2, 1] = -1
    return left, (10 + rng.integers(0, 10, n_rules)).astype(np.int32)


def factorised(n_embeddings: int, n_frames: int, n_rules: int, n_sensors: int) -> tuple[float, np.ndarray]:
    """Return seconds, including the bitmaps, and counts, after a warm-up on a tiny table."""
    from thence.tables.bitmaps.embedding_counts import count_embeddings

    left, right = rules(n_rules)
    count_embeddings(block(3, 100, 2).bank, antecedents=left[:5], consequents=right[:5])
    made = block(n_embeddings, n_frames, n_sensors)
    start = time.perf_counter()
    bank = made.bank
    packed = time.perf_counter() - start
    found = count_embeddings(bank, antecedents=left, consequents=right)
    print(f"  bitmaps {packed:.2f} s", file=sys.stderr)
    return time.perf_counter() - start, found.counts


def materialised(n_embeddings: int, n_frames: int, n_rules: int, n_sensors: int) -> tuple[float, np.ndarray]:
    """Return the same for the materialised matrix of codes, with vectorised comparisons."""
    left, right = rules(n_rules)
    made = block(n_embeddings, n_frames, n_sensors)
    start = time.perf_counter()
    codes = made.flat()
    counts = np.empty((n_rules, 4), np.int64)
    counts[:, 0] = len(codes)
    columns = [np.ascontiguousarray(codes[:, c]) for c in range(codes.shape[1])]
    del codes
    for r in range(n_rules):
        held = columns[0] == left[r, 0]
        if left[r, 1] >= 0:
            held &= columns[2] == left[r, 1] - 20
        target = columns[1] == right[r] - 10
        counts[r, 1], counts[r, 2], counts[r, 3] = held.sum(), target.sum(), (held & target).sum()
    return time.perf_counter() - start, counts


def child(how: str, size: tuple[int, int, int, int]) -> None:
    """Run one of the counts and print its result as JSON."""
    seconds, counts = (factorised if how == "factorised" else materialised)(*size)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(
        json.dumps(
            {"seconds": seconds, "peak": peak, "digest": counts.sum(axis=0).tolist(), "first": counts[:50].tolist()}
        )
    )


def run(how: str, size: tuple[int, int, int, int]) -> dict:
    """Run one of the counts in its own process and return its result."""
    done = subprocess.run(
        [sys.executable, __file__, "--child", how, *map(str, size)], check=True, capture_output=True, text=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--child", nargs=5)
    arguments = parser.parse_args()
    if arguments.child:
        child(arguments.child[0], tuple(map(int, arguments.child[1:])))
        return
    run("factorised", (3, 100, 5, 2))  # compiles
    baseline = run("factorised", (3, 100, 5, 2))["peak"]
    both = SIZES["quick"] if arguments.quick else SIZES["both"]
    ours = run("factorised", both)
    # Counting all rules on the materialised table would take minutes; a twentieth of them is enough for a ratio.
    few = (both[0], both[1], max(10, both[2] // 20), both[3])
    theirs, ours_few = run("materialised", few), run("factorised", few)
    if theirs["first"] != ours_few["first"] or theirs["digest"] != ours_few["digest"]:
        raise SystemExit("the two counts differ")
    per_rule = theirs["seconds"] / few[2]
    rows = f"{both[0] * both[1]:,}"
    print("| table | rows | rules | seconds | peak memory |\n|---|---|---|---|---|")
    print(f"| written out | {rows} | {few[2]} | {theirs['seconds']:.2f} | {theirs['peak'] / 2**20:,.0f} MiB |")
    print(f"| factorised | {rows} | {both[2]:,} | {ours['seconds']:.2f} | {ours['peak'] / 2**20:,.0f} MiB |")
    print(f"\ntime per rule: {per_rule * both[2] / ours['seconds']:.0f} × faster (bitmaps included)")
    extra = max(ours["peak"] - baseline, 1)
    print(f"memory beyond the imports: {(theirs['peak'] - baseline) / extra:.1f} × less")
    if not arguments.quick:
        full = run("factorised", SIZES["full"])
        n, t, r, s = SIZES["full"]
        print(f"\n{n:,} embeddings of {s:,} sensors × {t:,} frames, {r:,} rules: ", end="")
        print(f"{full['seconds']:.1f} s, {full['peak'] / 2**30:.2f} GiB at most")


if __name__ == "__main__":
    main()
