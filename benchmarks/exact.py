"""The exact miner compared with mlxtend and pyfim on one table.

    python benchmarks/exact.py            all sizes; several minutes, most of them for mlxtend
    python benchmarks/exact.py --quick    the first size only, without repetitions
    python benchmarks/exact.py --record   also write the results that the documentation shows

Every contender runs in its own process, so that peak memory is measured separately. Times are the best of several
repetitions after a first call (which for Thence includes loading compiled code from disk), from the preferred input of
the contender to its own output: codes to arrays of rules (kernel), transaction table to RuleSet (th.Exact), boolean
frame to frame (mlxtend), lists to lists of tuples (pyfim). mlxtend and pyfim use one core; the kernel runs with one
thread, too. Processor seconds are the least of the repetitions: on a busy machine they say more than the clock.

All contenders use the same definitions: one consequent, support of antecedent and consequent together (pyfim: mode 'o',
in percent), thresholds as exact fractions. Contenders that compare rounded quotients get a slightly lower minimum
confidence, and their rules are filtered by integer counts. The script fails if rules or counts differ.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from _record import Table, record
from numpy.typing import NDArray

SUPPORT, CONFIDENCE = "0.01", "0.8"
LENIENT = 1e-9
MEMORY_LIMIT = 8 << 30
TABLES = Path(os.environ.get("BENCHMARK_TABLES", "."))
# sensors, largest antecedent, contenders
SIZES = (
    (20, 2, ("kernel", "kernel, 1 thread", "th.Exact", "pyfim fpgrowth", "pyfim eclat", "mlxtend")),
    (20, 3, ("kernel", "kernel, 1 thread", "th.Exact", "pyfim fpgrowth", "pyfim eclat", "mlxtend")),
    (97, 2, ("kernel", "kernel, 1 thread", "th.Exact", "pyfim fpgrowth", "pyfim eclat", "mlxtend")),
    (97, 3, ("stream",)),
)
COLUMNS = (
    ("sensors", ",.0f"),
    ("antecedents, at most", ",.0f"),
    ("contender", ""),
    ("rules", ",.0f"),
    ("seconds", ".4g"),
    ("processor seconds", ".4g"),
    ("peak", ",.0f MB"),
)
Rules = NDArray[np.int64]  # antecedent items in increasing order padded with −1, consequent, n_antecedent, n_both


def load(sensors: int) -> tuple[NDArray[np.int8], list[int]]:
    """Load the codes that the parent process has written, so that a contender does not hold the data set."""
    with np.load(TABLES / f"{sensors}.npz") as table:
        return table["codes"], table["cardinalities"].tolist()


def save(sensors: int) -> None:
    from _hanoi_table import hanoi_table, plain

    codes, cardinalities = plain(hanoi_table(sensors))
    np.savez(TABLES / f"{sensors}.npz", codes=codes, cardinalities=cardinalities)


def canonical(antecedents: NDArray[Any], consequents: NDArray[Any], held: NDArray[Any], both: NDArray[Any]) -> Rules:
    left = np.sort(np.where(antecedents < 0, 1 << 30, antecedents), axis=1)
    rules = np.column_stack([np.where(left == 1 << 30, -1, left), consequents, held, both]).astype(np.int64)
    least = Fraction(CONFIDENCE)
    rules = rules[rules[:, -1] * least.denominator >= rules[:, -2] * least.numerator]
    return np.ascontiguousarray(rules[np.lexsort(rules.T[::-1])])


def thence_kernel(
    sensors: int, size: int, threads: int | None = None
) -> tuple[Callable[[], Any], Callable[[Any], Rules]]:
    from thence.search.exact.search import SearchInput, mine_exact
    from thence.tables.bitmaps import bits

    codes, cardinalities = load(sensors)
    features = np.repeat(np.arange(len(cardinalities)), cardinalities)

    def mine() -> Any:
        bitmaps, present = bits.pack_codes(codes, cardinalities=cardinalities)
        given = SearchInput.of(
            bitmaps,
            feature_of_item=features,
            n_rows=len(codes),
            present=present,
            max_antecedents=size,
            min_support=SUPPORT,
            min_confidence=CONFIDENCE,
        )
        return list(mine_exact(given, threads=threads))

    def rules(blocks: Any) -> Rules:
        counts = np.concatenate([block.counts for block in blocks])
        return canonical(
            np.concatenate([block.antecedents for block in blocks]),
            np.concatenate([block.consequents for block in blocks]),
            counts[:, 1],
            counts[:, 3],
        )

    return mine, rules


def thence_stream(sensors: int, size: int) -> tuple[Callable[[], Any], Callable[[Any], Rules]]:
    """Count the rules without keeping them: there are more than any contender can hold."""
    from thence.search.exact.search import SearchInput, mine_exact
    from thence.tables.bitmaps import bits

    codes, cardinalities = load(sensors)
    features = np.repeat(np.arange(len(cardinalities)), cardinalities)

    def mine() -> Any:
        bitmaps, present = bits.pack_codes(codes, cardinalities=cardinalities)
        given = SearchInput.of(
            bitmaps,
            feature_of_item=features,
            n_rows=len(codes),
            present=present,
            max_antecedents=size,
            min_support=SUPPORT,
            min_confidence=CONFIDENCE,
        )
        return sum(len(block) for block in mine_exact(given))

    return mine, lambda found: np.zeros((0, found), dtype=np.int64)


def thence_public(sensors: int, size: int) -> tuple[Callable[[], Any], Callable[[Any], Rules]]:
    from _hanoi_table import fresh, hanoi_table

    import thence as th

    table = hanoi_table(sensors)
    # The RuleSet renumbers items; use the numbers of the table to compare rules.
    number = {table.blocks[0].item(item): item for item in range(table.n_items)}
    miner = th.Exact(
        max_antecedents=size,
        min_support=float(SUPPORT),
        min_confidence=float(CONFIDENCE),
        max_rules=100_000_000,
    )

    def rules(found: th.RuleSet) -> Rules:
        name = np.array([number[item] for item in found.items] + [-1])
        counts = found.counts
        return canonical(name[found.antecedents], name[found.consequents], counts.n_antecedent, counts.n_both)

    return lambda: miner.mine(fresh(table)), rules


def mlxtend(sensors: int, size: int) -> tuple[Callable[[], Any], Callable[[Any], Rules]]:
    import pandas as pd
    from mlxtend.frequent_patterns import association_rules, fpgrowth

    codes, cardinalities = load(sensors)
    flags = np.concatenate([codes[:, [f]] == np.arange(n) for f, n in enumerate(cardinalities)], axis=1)
    frame = pd.DataFrame(flags)

    def mine() -> Any:
        itemsets = fpgrowth(frame, min_support=float(SUPPORT), max_len=size + 1)
        return association_rules(itemsets, num_itemsets=len(frame), min_threshold=float(CONFIDENCE) - LENIENT)

    def rules(found: Any) -> Rules:
        found = found[found["consequents"].map(len) == 1]
        held = np.rint(found["antecedent support"].to_numpy() * len(frame))
        both = np.rint(found["support"].to_numpy() * len(frame))
        left = np.full((len(found), size), -1)
        for row, items in enumerate(found["antecedents"]):
            left[row, : len(items)] = list(items)
        return canonical(left, np.array([next(iter(items)) for items in found["consequents"]]), held, both)

    return mine, rules


def pyfim(algorithm: str) -> Callable[[int, int], tuple[Callable[[], Any], Callable[[Any], Rules]]]:
    def contender(sensors: int, size: int) -> tuple[Callable[[], Any], Callable[[Any], Rules]]:
        import fim

        codes, cardinalities = load(sensors)
        transactions = (codes + np.cumsum([0, *cardinalities[:-1]])).tolist()
        options = {
            "target": "r",
            "supp": 100 * float(SUPPORT),
            "conf": 100 * (float(CONFIDENCE) - LENIENT),
            "zmin": 2,
            "zmax": size + 1,
            "report": "ab",
            "mode": "o",
        }

        def rules(found: Any) -> Rules:
            left = np.full((len(found), size), -1)
            for row, rule in enumerate(found):
                left[row, : len(rule[1])] = rule[1]
            rest = np.array([(rule[0], rule[3], rule[2]) for rule in found])
            return canonical(left, rest[:, 0], rest[:, 1], rest[:, 2])

        return lambda: getattr(fim, algorithm)(transactions, **options), rules

    return contender


CONTENDERS = {
    "kernel": thence_kernel,
    "kernel, 1 thread": partial(thence_kernel, threads=1),
    "th.Exact": thence_public,
    "stream": thence_stream,
    "mlxtend": mlxtend,
    "pyfim fpgrowth": pyfim("fpgrowth"),
    "pyfim eclat": pyfim("eclat"),
}


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def run_contender(name: str, sensors: int, size: int, seconds: float, out: Path) -> None:
    """Run a contender within its own process; write time, memory before and after, and the rules."""
    mine, rules = CONTENDERS[name](sensors, size)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))
    before = peak_mb()
    times, processor = [], []
    found = None
    # A first call, and at least one more unless it takes long.
    while not times or (times[0] < 10 and len(times) < 20 and (len(times) == 1 or sum(times[1:]) < seconds)):
        found = None  # at most one result at a time counts towards the peak
        start, worked = time.perf_counter(), time.process_time()
        found = mine()
        times.append(time.perf_counter() - start)
        processor.append(time.process_time() - worked)
    after = peak_mb()
    report = {
        "first_s": times[0],
        "best_s": min(times[1:] or times),
        "processor_s": min(processor[1:] or processor),
        "before_mb": before,
        "peak_mb": after,
        "rules": found,
    }
    if name != "stream":
        listed = rules(found)
        # Return a digest only: the memory of the parent would count towards the peak of its children.
        report |= {"rules": len(listed), "digest": hashlib.sha256(listed.tobytes()).hexdigest()}
    (out / "report.json").write_text(json.dumps(report), encoding="utf-8")


def measure(name: str, sensors: int, size: int, *, seconds: float, limit: float) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        command: list[str] = [
            sys.executable,
            __file__,
            "--contender",
            name,
            "--sensors",
            str(sensors),
            "--size",
            str(size),
        ]
        command += ["--seconds", str(seconds), "--out", folder]
        try:
            done = subprocess.run(command, timeout=limit, capture_output=True, text=True, check=False)
        except subprocess.TimeoutExpired:
            return {"failed": f"stopped after {limit:.0f} s"}
        if done.returncode:
            reason = (done.stderr.strip().splitlines() or ["killed"])[-1]
            out_of_memory = "MemoryError" in done.stderr or "allocate" in done.stderr
            return {"failed": f"out of {MEMORY_LIMIT >> 30} GB of memory" if out_of_memory else reason}
        report: dict[str, Any] = json.loads((Path(folder) / "report.json").read_text(encoding="utf-8"))
        return report


def compare(
    sensors: int, size: int, names: tuple[str, ...], *, seconds: float, limit: float
) -> tuple[bool, list[tuple[Any, ...]]]:
    """Print one table of results; return whether all contenders agree on every rule and count, and the rows."""
    rows: list[tuple[Any, ...]] = []
    results = {name: measure(name, sensors, size, seconds=seconds, limit=limit) for name in names}
    print(f"\n### {sensors} sensors × 10 bins, 17,520 rows, ≤ {size} antecedents, support {SUPPORT}, ", end="")
    print(f"confidence {CONFIDENCE}\n")
    print("| contender | rules | best s | processor s | first call s | peak MB | of which before mining | × kernel |")
    print("|---|---|---|---|---|---|---|---|")
    ours = results[names[0]]
    for name, result in results.items():
        if "failed" in result:
            print(f"| {name} | – | {result['failed']} | – | – | – | – | – |")
            rows.append((sensors, size, name, None, result["failed"], None, None))
            continue
        ratio = result["best_s"] / ours["best_s"] if "best_s" in ours else float("nan")
        print(
            f"| {name} | {result['rules']:,} | {result['best_s']:.4f} | {result['processor_s']:.4f} | "
            f"{result['first_s']:.3f} | {result['peak_mb']:.0f} | {result['before_mb']:.0f} | {ratio:.1f} |"
        )
        rows.append((sensors, size, name, result["rules"], result["best_s"], result["processor_s"], result["peak_mb"]))
    digests = {name: result["digest"] for name, result in results.items() if "digest" in result}
    same = len(set(digests.values())) <= 1
    if len(digests) > 1:
        print(f"\n{', '.join(digests)}: {'the same rules with the same counts' if same else 'DIFFERENT RULES'}.")
    return same and "failed" not in ours, rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="the first size only, one repetition each")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds after which a contender is stopped")
    parser.add_argument("--record", action="store_true", help="write the results that the documentation shows")
    parser.add_argument("--save", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--contender", choices=CONTENDERS, help=argparse.SUPPRESS)
    parser.add_argument("--sensors", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--size", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=float, default=3.0, help="repeat each contender for so many seconds")
    parser.add_argument("--out", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.save:
        save(given.save)
        return
    if given.contender:
        run_contender(given.contender, given.sensors, given.size, given.seconds, given.out)
        return
    sizes = SIZES[:1] if given.quick else SIZES
    with tempfile.TemporaryDirectory() as folder:
        os.environ["BENCHMARK_TABLES"] = folder
        for sensors in {sensors for sensors, _, _ in sizes}:
            subprocess.run([sys.executable, __file__, "--save", str(sensors)], check=True)
        measure("kernel", 20, 2, seconds=0, limit=600)  # compiles, once per machine, before anything is timed
        seconds = 0.5 if given.quick else given.seconds
        compared = [compare(*size, seconds=seconds, limit=given.limit) for size in sizes]
    if given.record:
        rows = tuple(row for _, part in compared for row in part)
        record("exact", {"contenders": Table(COLUMNS, rows)})
    if not all(agreed for agreed, _ in compared):
        sys.exit("the contenders do not agree")


if __name__ == "__main__":
    main()
