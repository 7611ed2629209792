"""Scale: from a frame of readings to refined rules, laws and controls, for ever more sensors.

    python benchmarks/scale.py                                 1,000, 3,000 and 10,000 sensors × 20,000 readings
    python benchmarks/scale.py --sensors 1000 --frames 2000    another size
    python benchmarks/scale.py --quick                         500 sensors × 1,000 readings

A made-up pipeline: junctions in a row, each with a pressure, joined by pipes with a flow each. What flows into a
junction flows out, less a demand that is not measured; pressures fall along the way; every five-hundredth pipe has a
pump that starts and stops by the pressure behind it. Everything runs with nothing but defaults (`th.mine`), each size
in a process of its own. Seconds by stage, seconds of both processors together, which say more than the clock on a busy
machine, and peak memory; with several sizes, the power of the sensors with which processor time and memory grow.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np

SIZES = (1_000, 3_000, 10_000)


def pipeline(sensors: int, frames: int) -> object:
    """Make the system: half of the sensors are flows, half pressures, and there is a state of each pump."""
    import polars as pl

    import thence as th

    rng = np.random.default_rng(0)
    n = sensors // 2
    day = np.sin(np.arange(frames) * 2 * np.pi / 288)
    source = 100 + 20 * day + np.cumsum(rng.normal(size=frames)) * 0.05
    columns: dict[str, np.ndarray] = {}
    states: dict[str, np.ndarray] = {}
    pressure = 50 + 5 * day
    for at in range(n):
        pressure = pressure - 0.001 * source / 100 + rng.normal(size=frames) * 0.002
        columns[f"flow_{at}"] = (source - 0.01 * at + rng.normal(size=frames) * 0.05).astype(np.float32)
        columns[f"pressure_{at}"] = pressure.astype(np.float32)
        if at % 500 == 50:
            states[f"state_{at}"] = np.where(pressure < np.quantile(pressure, 0.3), "on", "off")
    times = [datetime(2024, 1, 1) + k * timedelta(minutes=5) for k in range(frames)]
    data = th.read_sensors(
        pl.DataFrame({"time": times, **columns, **states}),
        kinds={name: name.partition("_")[0] for name in (*columns, *states)},
    )
    nodes = [{"id": f"J{at}", "labels": ["Junction"], "properties": {}} for at in range(n + 1)]
    nodes += [{"id": f"P{at}", "labels": ["Pipe"], "properties": {}} for at in range(n)]
    edges = []
    for at in range(n):
        edges.append({"id": f"s{at}", "source": f"P{at}", "target": f"J{at}", "label": "starts_at"})
        edges.append({"id": f"e{at}", "source": f"P{at}", "target": f"J{at + 1}", "label": "ends_at"})
    folder = tempfile.mkdtemp()
    path = Path(folder) / "graph.json"
    path.write_text(json.dumps({"nodes": nodes, "edges": edges}), encoding="utf-8")
    graph = th.read_graph(path)
    place = {"flow": "P", "state": "P", "pressure": "J"}
    binding = {name: f"{place[name.partition('_')[0]]}{name.partition('_')[2]}" for name in (*columns, *states)}
    return th.System(data, graph, th.Binding(binding), None, name="pipeline")


def measure(sensors: int, frames: int) -> dict[str, object]:
    """Mine one size in this process."""
    import thence as th

    system = pipeline(sensors, frames)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    begin, cpu = time.perf_counter(), time.process_time()
    run = th.mine(system, progress="off")
    return {
        "sensors": sensors,
        "frames": frames,
        "seconds": time.perf_counter() - begin,
        "cpu_seconds": time.process_time() - cpu,
        "stages": run.summary["seconds"],
        "rules": len(run.rules),
        "laws": run.summary.get("laws"),
        "controls": run.summary.get("controls"),
        "gib_before": before,
        "gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }


def main() -> None:
    """Print a row per size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--sensors", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--frames", type=int, default=20_000)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.quick:
        given.sensors, given.frames = [500], 1_000
    if given.one:
        print(json.dumps(measure(given.sensors[0], given.frames)))
        return
    print(
        "| sensors | frames | seconds | processor seconds | by stage | rules | laws | controls | GiB of the readings "
        "| peak GiB |"
    )
    print("|--:|--:|--:|--:|---|--:|--:|--:|--:|--:|")
    measured = []
    for sensors in given.sensors:
        command = [sys.executable, __file__, "--one", "--sensors", str(sensors), "--frames", str(given.frames)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(done.stderr[-2000:])
        one = json.loads(done.stdout.splitlines()[-1])
        stages = ", ".join(f"{name} {spent:.1f}" for name, spent in one["stages"].items())
        measured.append(one)
        cells = [
            f"{one['sensors']:,}",
            f"{one['frames']:,}",
            f"{one['seconds']:.1f}",
            f"{one['cpu_seconds']:.1f}",
            stages,
        ]
        cells += [str(one[name]) for name in ("rules", "laws", "controls")]
        cells += [f"{one['gib_before']:.1f}", f"{one['gib']:.1f}"]
        print("| " + " | ".join(cells) + " |", flush=True)
    if len(measured) > 1:
        sizes = np.log([one["sensors"] for one in measured])
        time_power, memory_power = (
            np.polyfit(sizes, np.log([one[name] for one in measured]), 1)[0] for name in ("cpu_seconds", "gib")
        )
        print(
            f"\nprocessor seconds grow with the power {time_power:.2f} of the sensors, memory with {memory_power:.2f}"
        )


if __name__ == "__main__":
    main()
