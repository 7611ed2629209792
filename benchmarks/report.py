"""Seconds and size of the report of each data set, made in the process that mined it.

Each data set is mined with the defaults in a process of its own. The script fails if a report takes more than 5 seconds
or 3 MB.

    python benchmarks/report.py [--quick] [DATASET ...]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time

ALL = ("toy", "net3", "hanoi", "ltown", "lbnl-ahu", "open-smart-home", "citybench")
QUICK = ("toy",)
MOST_SECONDS, MOST_MEGABYTES = 5.0, 3.0


def measure(name: str) -> dict[str, float]:
    """Mine a data set, and make its report twice: the first time everything is loaded and compiled."""
    import thence as th

    begin = time.perf_counter()
    run = th.mine(th.datasets.load(name), progress="off")
    out = {"mined": time.perf_counter() - begin}
    for key in ("first", "again"):
        begin = time.perf_counter()
        report = th.report(run)
        page = report.html.encode()
        out[key] = time.perf_counter() - begin
    out["megabytes"] = len(page) / 1e6
    out["cards"] = len(report.data["cards"])
    out["rules"] = len(run.rules)
    drawing = report.data["drawing"]
    out["nodes"] = 0 if drawing is None else len(drawing["nodes"])
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", nargs="*", metavar="DATASET", help=f"default: {', '.join(ALL)}")
    parser.add_argument("--quick", action="store_true", help="only the smallest data set")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measure(given.datasets[0])))
        return
    print("| data set | rules | nodes drawn | cards | mined | report, first | report, again | page |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    failed = []
    for name in given.datasets or (QUICK if given.quick else ALL):
        command = [sys.executable, __file__, "--one", name]
        found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        cells = [f"{found[key]:,.0f}" for key in ("rules", "nodes", "cards")]
        cells += [f"{found[key]:.2f} s" for key in ("mined", "first", "again")]
        print(f"| {name} | {' | '.join(cells)} | {found['megabytes']:.2f} MB |", flush=True)
        if found["first"] > MOST_SECONDS or found["megabytes"] > MOST_MEGABYTES:
            failed.append(name)
    if failed:
        sys.exit(f"above {MOST_SECONDS:.0f} s or {MOST_MEGABYTES:.0f} MB: {', '.join(failed)}")


if __name__ == "__main__":
    main()
