"""The published comparison of nine methods on a year of Hanoi, each in its own process.

    python benchmarks/compare.py            20 sensors, 50,000 evaluations for TS-NARM
    python benchmarks/compare.py --quick    8 sensors, a month, 2,000 evaluations
    python benchmarks/compare.py --csv FILE --plot FILE.svg

Parameters are those of the paper: the minimum support of the exhaustive methods is half of the mean support of Aerial's
rules, and ARM-AE returns as many rules per consequent as Aerial finds per feature. Times include the exact recount.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np

import thence as th
from thence.lab.evaluate.comparison import compare, published_methods


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--sensors", type=int, default=20)
    parser.add_argument("--evaluations", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--csv")
    parser.add_argument("--plot")
    chosen = parser.parse_args()
    sensors, evaluations = (8, 2_000) if chosen.quick else (chosen.sensors, chosen.evaluations)

    data = th.datasets.load("hanoi", scenario=1)
    ids = [sensor.id for sensor in data.sensors.sensors]
    some = data.sensors.select([ids[i] for i in np.linspace(0, len(ids) - 1, sensors).round().astype(int)])
    if chosen.quick:
        start, end = some.span
        some = some.between(start, start + (end - start) / 12)
    table = th.transactions(some, windows="30min", bins=10, scope="sensor")
    numbers = th.baselines.feature_table(some, windows="30min")
    print(f"Hanoi, {table.n_rows:,} × {table.n_features}, TS-NARM with {evaluations:,} evaluations")
    result = compare(
        table,
        published_methods(evaluations=evaluations, seed=chosen.seed),
        feature_table=numbers,
        isolate=True,
        progress=lambda stage, done, total, note="": print(f"  {stage} {note}", file=sys.stderr),
    )
    print(result)
    if chosen.csv:
        result.to_csv(chosen.csv)
    if chosen.plot:
        result.plot(chosen.plot)


if __name__ == "__main__":
    main()
