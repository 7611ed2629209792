"""What ``thence mine --dataset NAME`` gives with no other option, for all seven data sets.

    python benchmarks/defaults.py                prints docs/records/defaults.md
    python benchmarks/defaults.py net3 ltown     only these

Every data set runs in a process of its own, after one run that fills the caches of simulations and compiled kernels, so
seconds and peak memory are those of a second run: start of the program, reading, mining and writing included. The
sentences are the first ones of the run, as the command prints them.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import thence as th

DATASETS = ("toy", "net3", "hanoi", "ltown", "lbnl-ahu", "open-smart-home", "citybench")
SENTENCES = 5


def run(name: str, folder: Path) -> tuple[float, float]:
    """Run the command once; return its seconds and its peak memory in MB."""
    command = [sys.executable, "-m", "thence", "mine", "--dataset", name, "--out", str(folder), "--quiet"]
    begin = time.perf_counter()
    process = subprocess.Popen(command)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"thence mine --dataset {name} failed")
    return time.perf_counter() - begin, usage.ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", nargs="*", default=DATASETS)
    parser.add_argument("--quick", action="store_true", help="only the small data sets")
    given = parser.parse_args()
    names = ("toy", "net3") if given.quick else given.datasets
    rows, sentences = [], []
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            run(name, Path(folder) / f"{name} first")
            place = Path(folder) / name
            seconds, memory = run(name, place)
            size = sum(file.stat().st_size for file in place.rglob("*") if file.is_file())
            summary = json.loads((place / "summary.json").read_text(encoding="utf-8"))
            found = th.load_run(place)
            rows.append(
                f"| {name} | {found.config.enrich.mode}, {found.config.windows.every}, {found.config.discretize.bins} "
                f"| {summary['rules_found']:,} | {summary['rules']} | {100 * summary['data_coverage']:.1f} % "
                f"| {seconds:.1f} | {memory:,.0f} | {size / 1e6:.2f} |"
            )
            sentences.append(f"\n### {name}\n")
            for number, rule in enumerate(found.rules.top(SENTENCES), start=1):
                sentences.append(f"{number}. {rule.english}  \n   *{found.rules.measures_text(number - 1)}*")
            print(rows[-1], file=sys.stderr)
    head = "| data set | enrichment, windows, bins | found | rules | rows covered | s | MB | run folder, MB |"
    print("\n".join([head, "|---|---|--:|--:|--:|--:|--:|--:|", *rows, *sentences]))


if __name__ == "__main__":
    main()
