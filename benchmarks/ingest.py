"""Windowing and discretizing a Parquet file too large to load at once, compared with a pandas groupby.

    python benchmarks/ingest.py            1,000 sensors × 100,000 steps for Thence, 1,000 × 10,000 for both
    python benchmarks/ingest.py --quick    a hundredth of that

Every job runs in its own process, so that peak memory is measured separately. Both read the same file and are warmed up
on a few rows; imports and compilation are not timed. The script prints the largest difference of the windowed values.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

STEP_SECONDS = 60
WINDOW = "10min"
BINS = 10
ROWS_PER_GROUP = 1_000_000
START_MICROSECONDS = 1_700_000_400_000_000  # a whole multiple of ten minutes


def generate(path: Path, *, sensors: int, steps: int, seed: int = 0) -> int:
    """Write time, sensor and value step by step, as a logger would, with one row group in memory at a time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(seed)
    schema = pa.schema([("time", pa.timestamp("us", "UTC")), ("sensor", pa.string()), ("value", pa.float64())])
    names = pa.array([f"sensor_{k:04d}" for k in range(sensors)])
    levels = rng.normal(50, 10, size=sensors)
    steps_per_group = max(1, ROWS_PER_GROUP // sensors)
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for first in range(0, steps, steps_per_group):
            n = min(steps_per_group, steps - first)
            micros = START_MICROSECONDS + np.arange(first, first + n, dtype=np.int64) * STEP_SECONDS * 1_000_000
            codes = pa.array(np.tile(np.arange(sensors, dtype=np.int32), n))
            values = np.round(levels + rng.normal(size=(n, sensors)), 2).ravel()
            columns = [
                pa.array(np.repeat(micros, sensors)).cast(pa.timestamp("us", "UTC")),
                pa.DictionaryArray.from_arrays(codes, names).cast(pa.string()),
                pa.array(values),
            ]
            writer.write_table(pa.table(columns, schema=schema))
    return sensors * steps


def discretize(values: np.ndarray[Any, np.dtype[np.float64]]) -> np.ndarray[Any, np.dtype[np.int16]]:
    """Discretize into equal-frequency bins over all sensors, one column at a time."""
    from thence.tables.discretization import fit_binning

    binning = fit_binning(values, bins=BINS)
    codes = np.empty(values.shape, dtype=np.int16)
    for k in range(values.shape[1]):
        codes[:, k] = binning.encode(values[:, k])
    return codes


def run_thence(path: Path, out: Path) -> dict[str, float]:
    """Scan, window, discretize."""
    from thence.data.readers import read_sensors
    from thence.data.readings.windows import window

    started = time.perf_counter()
    data = read_sensors(path)
    opened = time.perf_counter()
    table = window(data, WINDOW)
    windowed = time.perf_counter()
    codes = discretize(table.values)
    finished = time.perf_counter()
    np.save(out, table.values)
    assert codes.shape == table.values.shape and table.report.pending == ()
    return {"open": opened - started, "window": windowed - opened, "discretize": finished - windowed}


def run_pandas(path: Path, out: Path) -> dict[str, float]:
    """Read, floor the times, group by sensor and window, take the mean."""
    import pandas as pd

    started = time.perf_counter()
    frame = pd.read_parquet(path)
    opened = time.perf_counter()
    means = frame.groupby(["sensor", frame["time"].dt.floor(WINDOW)])["value"].mean()
    windowed = time.perf_counter()
    np.save(out, means.unstack("sensor").to_numpy())
    return {"open": opened - started, "window": windowed - opened}


JOBS = {"thence": run_thence, "pandas": run_pandas}


def job(name: str, path: Path, out: Path) -> dict[str, float]:
    """Run a job in a fresh process and return its seconds and its peak memory in GiB."""
    command = [sys.executable, __file__, "--job", name, "--file", str(path), "--out", str(out)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ)
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def work(name: str, path: Path, out: Path) -> None:
    """Run a job within its own process: warm up, run, and print seconds and peak memory as JSON."""
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder) / "small.parquet"
        generate(small, sensors=3, steps=25)
        JOBS[name](small, Path(folder) / "small.npy")
    before = time.process_time()
    seconds = JOBS[name](path, out) | {"cpu": 0.0}
    seconds["cpu"] = time.process_time() - before
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    gib = peak / (2**30 if sys.platform == "darwin" else 2**20)
    print(json.dumps(seconds | {"peak_gib": gib}))


def report(label: str, rows: int, result: dict[str, float]) -> float:
    """Print one line and return rows per second up to the windows."""
    windowing = result["open"] + result["window"]
    rate = rows / windowing
    extra = f" + discretize {result['discretize']:.2f} s" if "discretize" in result else ""
    print(
        f"{label:<8} {rows:>12,} rows: open {result['open']:.2f} s + window {result['window']:.2f} s{extra}; "
        f"{rate / 1e6:.1f} M rows/s to windows; {result['cpu']:.1f} s of CPU; peak {result['peak_gib']:.2f} GiB"
    )
    return rate


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a hundredth of the size")
    parser.add_argument("--job", choices=sorted(JOBS), help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        work(options.job, options.file, options.out)
        return
    sensors, steps, peer_steps = (100, 10_000, 10_000) if options.quick else (1000, 100_000, 10_000)
    with tempfile.TemporaryDirectory() as folder:
        large, small = Path(folder) / "large.parquet", Path(folder) / "small.parquet"
        rows = generate(large, sensors=sensors, steps=steps)
        print(f"{sensors:,} sensors × {steps:,} steps, {large.stat().st_size / 2**20:.0f} MiB of Parquet, windows 10:1")
        full = job("thence", large, Path(folder) / "large.npy")
        report("thence", rows, full)
        total = full["open"] + full["window"] + full["discretize"]
        print(f"         with discretizing: {rows / total / 1e6:.1f} M rows/s")
        large.unlink()
        peer_rows = generate(small, sensors=sensors, steps=peer_steps)
        print(f"the same at {peer_rows:,} rows, next to pandas:")
        ours = report("thence", peer_rows, job("thence", small, Path(folder) / "ours.npy"))
        theirs_result = job("pandas", small, Path(folder) / "theirs.npy")
        theirs = report("pandas", peer_rows, theirs_result)
        apart = np.abs(np.load(Path(folder) / "ours.npy") - np.load(Path(folder) / "theirs.npy")).max()
    print(f"largest difference of a mean: {apart:.1e}")
    print(f"ratio at the same size: {ours / theirs:.1f} × (thence reads and windows, pandas reads and groups)")
    grouping = peer_rows / theirs_result["window"]
    print(f"ratio to pandas' groupby alone, reading not counted for pandas: {ours / grouping:.1f} ×")


if __name__ == "__main__":
    main()
