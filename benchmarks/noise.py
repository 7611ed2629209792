"""The noise zoo: what the defaults report where nothing is true, and whether they report what is planted in noise.

    python benchmarks/noise.py                 62 systems for each of two seeds, 20 homes and six wide ones
    python benchmarks/noise.py --seeds 1 2 3   other seeds
    python benchmarks/noise.py --quick         small systems of one seed
    python benchmarks/noise.py --sentences     also lists what is reported

Every statement that is reported in the first table is false. In the second every truth is in every system. Seconds are
those of mining.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import thence as th
from tests.noise.planted import TRUTHS, find_truths, make_plant
from tests.noise.zoo import GENERATORS, RARE, WIDE, Case, walk_zoo

KINDS = ("rule", "law", "control", "range")


def measure(cases: Iterable[Case], *, sentences: bool) -> dict[tuple[str, str], Counter[str]]:
    """Return the number of systems, statements by kind and seconds, by generator and shape.

    Args:
        cases: The systems.
        sentences: Whether to print what is reported.
    """
    out: dict[tuple[str, str], Counter[str]] = {}
    for case in cases:
        system = case.system()
        begin = time.perf_counter()
        run = th.mine(system, progress="off")
        own = out.setdefault((case.generator, case.shape), Counter())
        own.update(
            systems=1, milliseconds=round(1000 * (time.perf_counter() - begin)), silent=int(not len(run.findings))
        )
        own.update(one.kind for one in run.findings)
        if sentences:
            for one in run.findings:
                print(f"{case}: {one.kind}: {one.sentence()}", file=sys.stderr)
    return out


def row(title: str, found: Counter[str]) -> str:
    """Return a line of the table.

    >>> row("slow | star", Counter(systems=2, silent=1, rule=3, milliseconds=1500))
    '| slow | star | 2 | 1 | 3 | 0 | 0 | 0 | 1.5 |'
    """
    numbers = [found[name] for name in ("systems", "silent", *KINDS)]
    return f"| {title} | {' | '.join(map(str, numbers))} | {found['milliseconds'] / 1000:.1f} |"


def measure_power(generators: Iterable[str], seeds: Iterable[int], weeks: Iterable[int]) -> None:
    """Print in how many systems each planted truth is reported."""
    print(f"\n| noise | weeks | systems | {' | '.join(TRUTHS)} |\n|---|--:|--:|{'--:|' * len(TRUTHS)}")
    pairs = [(generator, length) for generator in generators for length in weeks]
    for generator, length in pairs:
        found: Counter[str] = Counter()
        for seed in seeds:
            run = th.mine(make_plant(seed=seed, generator=generator, weeks=length), progress="off")
            found.update(systems=1)
            found.update(name for name, said in find_truths(run).items() if said)
        numbers = [found[name] for name in ("systems", *TRUTHS)]
        print(f"| {generator} | {length} | {' | '.join(map(str, numbers))} |", flush=True)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--quick", action="store_true", help="small systems of one seed")
    parser.add_argument("--sentences", action="store_true", help="list what is reported")
    given = parser.parse_args()
    cases = [*walk_zoo([0], most_sensors=16, most_weeks=4)] if given.quick else [*walk_zoo(given.seeds), *RARE, *WIDE]
    found = measure(cases, sentences=given.sentences)
    print("| generator | shape | systems | nothing reported | rules | laws | controls | ranges | s |")
    print("|---|---|--:|--:|--:|--:|--:|--:|--:|")
    for (generator, shape), own in found.items():
        print(row(f"{generator} | {shape}", own))
    print(row("all |", sum(found.values(), Counter())), flush=True)
    some = list(GENERATORS)[:2] if given.quick else list(GENERATORS)
    measure_power(some, range(100, 101) if given.quick else range(100, 103), (4,) if given.quick else (2, 4, 8))


if __name__ == "__main__":
    main()
