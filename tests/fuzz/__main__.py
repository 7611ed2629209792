"""Fuzz from the command line: ``python -m tests.fuzz 100000 --out outcomes --shard 0/2``; a second call goes on.

Prints a table of outcomes by target, and each defect once. With ``--keep``, the first case of each defect is made
smaller and kept in ``tests/fuzz/cases``, where the tests read it again each time.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.fuzz.campaign import defects, keep, run, table


def main() -> None:
    """Run the cases that are left and print what became of all."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("cases", type=int, nargs="?", default=2_000)
    parser.add_argument("--out", type=Path, help="folder of the outcomes; a second call goes on where it ended")
    parser.add_argument("--shard", default="0/1", help="which part of the cases, such as 0/2")
    parser.add_argument("--only", help="targets, with commas")
    parser.add_argument("--first", type=int, default=0, help="number of the first case of each target")
    parser.add_argument("--keep", action="store_true", help="keep a small case of each defect")
    given = parser.parse_args()
    shard, _, shards = given.shard.partition("/")
    outcomes = run(
        given.cases,
        shard=int(shard),
        shards=int(shards),
        out=given.out,
        only=given.only.split(",") if given.only else None,
        first=given.first,
    )
    print(table(outcomes))
    for outcome, count in defects(outcomes):
        print(f"{count} × {outcome.kind}: {outcome.target} {outcome.number}: {outcome.detail} ({outcome.seconds} s)")
        if given.keep:
            print("  kept:", keep(outcome))
    sys.exit(bool(defects(outcomes)))


if __name__ == "__main__":
    main()
