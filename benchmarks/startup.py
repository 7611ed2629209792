"""The first run on a machine: what compiling costs, in total and per kernel.

    python benchmarks/startup.py            the demo with an empty cache of compiled code, and again with a full one
    python benchmarks/startup.py --quick    the same on the toy data set

Both runs are processes of their own. The difference of their times is what compiling costs; the table names the kernels
that were compiled. Times of kernels do not include those of the functions that they call.
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
from typing import Any

# A command of Thence, with the seconds that each compilation took written to a file.
CHILD = """
import json, sys, time
from numba.core import event

class Listener(event.Listener):
    def __init__(self):
        self.open, self.seconds = [], {}

    def on_start(self, happened):
        self.open.append([time.thread_time(), 0.0])

    def on_end(self, happened):
        begin, inner = self.open.pop()
        spent = time.thread_time() - begin
        if self.open:
            self.open[-1][1] += spent
        name = happened.data["dispatcher"].py_func.__qualname__
        times, total = self.seconds.get(name, (0, 0.0))
        self.seconds[name] = (times + 1, total + spent - inner)

listener = Listener()
event.register("numba:compile", listener)
from thence.cli.app import app
app(sys.argv[2:], standalone_mode=False)
with open(sys.argv[1], "w") as file:
    json.dump(listener.seconds, file)
"""


def run(arguments: list[str], cache: Path, folder: Path) -> tuple[float, dict[str, float], dict[str, Any]]:
    """Run a command with a cache of compiled code; return its seconds, those of its stages, and the compilations."""
    log, out = folder / "compiled.json", folder / f"run-{time.monotonic_ns()}"
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    begin = time.perf_counter()
    subprocess.run(
        [sys.executable, "-c", CHILD, str(log), *arguments, "--quiet", "--out", str(out)], check=True, env=environment
    )
    seconds = time.perf_counter() - begin
    stages = json.loads((out / "summary.json").read_text())["seconds"]
    return seconds, stages, json.loads(log.read_text())


def main() -> None:
    """Print the times of a first and of a second run, and the slowest compilations."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="the toy data set instead of the demo")
    arguments = ["mine", "--dataset", "toy"] if parser.parse_args().quick else ["demo"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # The data set is simulated once and then read from a cache, which is no part of the question.
        run(arguments, folder / "other", folder)
        first, stages, compiled = run(arguments, folder / "cache", folder)
        second, again, _ = run(arguments, folder / "cache", folder)
    print(f"\n### thence {' '.join(arguments)}: first run {first:.1f} s, second run {second:.1f} s\n")
    print("| stage | first run s | second run s |\n|---|---|---|")
    for stage, spent in stages.items():
        print(f"| {stage} | {spent:.2f} | {again[stage]:.2f} |")
    total = sum(spent for _, spent in compiled.values())
    print(f"\n{len(compiled)} functions were compiled in {total:.1f} s of processor time; the slowest:\n")
    print("| function | times | s |\n|---|---|---|")
    for function, (times, spent) in sorted(compiled.items(), key=lambda entry: -entry[1][1])[:12]:
        print(f"| `{function}` | {times} | {spent:.2f} |")


if __name__ == "__main__":
    main()
