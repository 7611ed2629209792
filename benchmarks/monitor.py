"""How many readings a second a monitor takes from a file on one core, and how much memory it needs.

    python benchmarks/monitor.py            # Hanoi, half a year of half hours
    python benchmarks/monitor.py --quick    # the toy network

Data set, run and monitor are files and commands as a user has them; the monitor is a process of its own.
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

WATCH = """
import json, resource, sys, threading, time
from pathlib import Path
from thence.checks.application.later import gather_later
from thence.checks.monitor.engine import Monitor
from thence.checks.monitor.service import Service
from thence.checks.monitor.sources.files import FileSource
from thence.checks.monitor.store import Store
from thence.runs.run import load_run

run, readings, state = sys.argv[1:]
begin = time.perf_counter()
loaded = load_run(run)
system = gather_later(loaded, [readings], None, None, None)
monitor = Monitor(loaded, system)
started = time.perf_counter() - begin
service = Service(monitor, [], store=Store(Path(state)))
service.restore()
source = FileSource(system.sensors, monitor.roster, every=monitor.every)
begin, used = time.perf_counter(), time.process_time()
service.run(source, threading.Event(), finish=True)
seconds, used = time.perf_counter() - begin, time.process_time() - used
print(json.dumps({
    "rules": len(monitor.rules),
    "sensors": len(monitor.roster.sensors),
    "windows": monitor.n_windows,
    "readings": monitor.open.found["accepted"],
    "seconds to start": round(started, 2),
    "seconds": round(seconds, 2),
    "seconds of the processor": round(used, 2),
    "readings per second": round(monitor.open.found["accepted"] / used),
    "MB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    "torch or wntr": bool({"torch", "wntr"} & set(sys.modules)),
}))
"""


def thence(*arguments: str | Path) -> None:
    subprocess.run([sys.executable, "-m", "thence", *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small data set")
    quick = parser.parse_args().quick
    name, windows, bins, until = ("toy", "1h", 3, None) if quick else ("hanoi", "30min", 5, "2018-07-01")
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        thence("datasets", "make", name, "--out", folder / "data", "--quiet")
        options = ["--no-laws", "--no-controls", "--windows", windows, "--bins", str(bins), "--quiet"]
        period = ["--end", until] if until else []
        thence("mine", folder / "data" / "config.toml", "--out", folder / "run", *options, *period)
        one_core = {"NUMBA_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1", "OMP_NUM_THREADS": "1"}
        for attempt in ("first", "again"):
            begin = time.perf_counter()
            done = subprocess.run(
                [
                    *(sys.executable, "-c", WATCH),
                    *(folder / "run", folder / "data" / "sensors.parquet", folder / f"state {attempt}"),
                ],
                env={**os.environ, **one_core},
                check=True,
                capture_output=True,
                text=True,
            )
            found = json.loads(done.stdout)
            print(f"{name}, {attempt} ({time.perf_counter() - begin:.1f} s in all)")
            for what, value in found.items():
                print(f"  {what:<26}{value:>14,}" if not isinstance(value, bool) else f"  {what:<26}{value!s:>14}")


if __name__ == "__main__":
    main()
