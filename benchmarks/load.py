"""Load: inputs far larger than usual, each read in a process of its own: seconds and peak memory.

    python benchmarks/load.py                    5·10⁷ rows, 20,000 columns, 10⁶ nodes, 50,000 bindings, 10⁶ triples
    python benchmarks/load.py --share 0.1        a tenth of that
    python benchmarks/load.py --quick            a thousandth of that
    python benchmarks/load.py --only graph,rdf   some of them

Files are made first, which is not timed. Seconds are those of reading, with imports, on the clock and of all processors
together, which say more on a busy machine. Peak memory is that of the whole process.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

SENSORS = 1_000
STEPS = 500  # of which rows are made at once


def write_long(path: Path, size: int) -> None:
    """Rows of time, sensor, value, step by step."""
    from datetime import datetime, timedelta

    import numpy as np
    import polars as pl

    rng = np.random.default_rng(0)
    names = pl.Series("sensor", [f"s{number:04d}" for number in range(SENSORS)])
    steps = max(size // SENSORS, 1)
    with path.open("wb") as file:
        for first in range(0, steps, STEPS):
            count = min(STEPS, steps - first)
            times = [datetime(2024, 1, 1) + timedelta(seconds=30 * (first + step)) for step in range(count)]
            stamps = pl.Series("time", [f"{time.isoformat()}Z" for time in times])
            order = np.repeat(np.arange(count), SENSORS)
            values = pl.Series("value", rng.normal(50, 10, count * SENSORS))
            frame = pl.DataFrame([stamps[order], names[np.tile(np.arange(SENSORS), count)], values])
            frame.write_csv(file, include_header=first == 0, float_precision=2)


def write_wide(path: Path, size: int) -> None:
    """A hundred rows of so many columns with long names."""
    import numpy as np

    rng = np.random.default_rng(0)
    with path.open("w", encoding="utf-8") as file:
        file.write("time," + ",".join(f"building_7_floor_3_sensor_{number:05d}" for number in range(size)) + "\n")
        for hour in range(100):
            moment = np.datetime64("2024-01-01T00") + np.timedelta64(hour, "h")
            file.write(f"{moment}:00Z," + ",".join(f"{value:.2f}" for value in rng.normal(50, 10, size)) + "\n")


def write_graph(path: Path, size: int) -> None:
    """Nodes in a row with a property each, and an edge to the next."""
    path.mkdir()
    with (path / "nodes.csv").open("w", encoding="utf-8") as file:
        file.write("id,labels,length [m]\n")
        file.writelines(f"n{number},Pipe,{number % 997}\n" for number in range(size))
    with (path / "edges.csv").open("w", encoding="utf-8") as file:
        file.write("source,target,labels\n")
        file.writelines(f"n{number},n{number + 1},next\n" for number in range(size - 1))


def write_binding(path: Path, size: int) -> None:
    """A sensor and its node in each row."""
    with path.open("w", encoding="utf-8") as file:
        file.write("sensor,node\n")
        file.writelines(f"sensor_{number},node_{number}\n" for number in range(size))


def write_triples(path: Path, size: int) -> None:
    """A type, a number and a link of each of so many things."""
    with path.open("w", encoding="utf-8") as file:
        file.write("@prefix ex: <http://example.org/> .\n")
        for number in range(size // 3):
            file.write(f"ex:n{number} a ex:Pipe ; ex:length {number % 997} ; ex:next ex:n{number + 1} .\n")


def read_long(path: Path) -> str:
    import thence as th

    return f"{th.read_sensors(path).describe()['readings']:,} readings"


def read_graph(path: Path) -> str:
    import thence as th

    return f"{len(th.read_graph(path)):,} nodes"


def read_binding(path: Path) -> str:
    import thence as th

    return f"{len(th.read_binding(path)):,} sensors"


JOBS: dict[str, tuple[str, int, str, Callable[[Path, int], None], Callable[[Path], str]]] = {
    "rows": ("rows of a long CSV file", 50_000_000, "long.csv", write_long, read_long),
    "columns": ("columns of a wide CSV file", 20_000, "wide.csv", write_wide, read_long),
    "graph": ("nodes of a graph in CSV files", 1_000_000, "graph", write_graph, read_graph),
    "bindings": ("rows of a binding", 50_000, "binding.csv", write_binding, read_binding),
    "rdf": ("triples of a Turtle file", 1_000_000, "graph.ttl", write_triples, read_graph),
}


def measure(name: str, path: Path) -> None:
    """Read a file and print seconds, peak memory and what was found, as JSON."""
    begin, before = time.perf_counter(), time.process_time()
    found = JOBS[name][4](path)
    seconds, processor = time.perf_counter() - begin, time.process_time() - before
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        json.dumps(
            {"seconds": round(seconds, 1), "processor": round(processor, 1), "GiB": round(peak, 2), "found": found}
        )
    )


def main() -> None:
    """Make the files, read each, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", help="names of jobs, with commas: " + ", ".join(JOBS))
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        measure(given.measure[0], Path(given.measure[1]))
        return
    share = 0.001 if given.quick else given.share
    print("| input | size | file, MB | seconds | of processors | peak memory, GiB | found |")
    print("|---|---:|---:|---:|---:|---:|---|")
    for name in given.only.split(",") if given.only else JOBS:
        title, full, file, write, _ = JOBS[name]
        size = max(int(full * share), 10)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / file
            write(path, size)
            files = [path] if path.is_file() else sorted(path.iterdir())
            megabytes = sum(one.stat().st_size for one in files) / 1e6
            done = subprocess.run(
                [sys.executable, __file__, "--measure", name, str(path)], capture_output=True, text=True
            )
            if done.returncode:
                last = (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
                print(f"| {title} | {size:,} | {megabytes:,.1f} | – | – | – | {last} |", flush=True)
                continue
            told = json.loads(done.stdout)
            numbers = f"{told['seconds']} | {told['processor']} | {told['GiB']} | {told['found']}"
            print(f"| {title} | {size:,} | {megabytes:,.1f} | {numbers} |", flush=True)


if __name__ == "__main__":
    main()
