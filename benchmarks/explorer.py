"""How long the explorer takes with many rules: to open a run, and to filter, search, sort and page over HTTP.

    python benchmarks/explorer.py            # a million rules of the network net3
    python benchmarks/explorer.py --quick    # some thousand rules

The server is the command ``thence explore`` in a process of its own, and is asked as a browser asks it. Opening is the
time from the start of the process to the first page of rules. Of each request the slowest of a few different ones is
given, none of which was asked before; "again" is the time of the same requests once more. The time of the processor is
that of the server, in steps of 10 ms; it is the same however busy the machine is.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from urllib.parse import urlencode

import psutil

import thence as th

REQUESTS: dict[str, list[dict[str, str]]] = {
    "first page of all rules": [{}],
    "page 15,000": [{"offset": "750000"}],
    "search one word": [{"q": "flow"}, {"q": "tank"}, {"q": "diameter"}],
    "search three words": [{"q": "flow pressure pump"}, {"q": "if:pressure then:demand below"}],
    "by kind": [{"kind": "pressure"}, {"kind": "flow"}, {"kind": "status"}],
    "by conclusion": [{"conclusion": "level"}, {"conclusion": "pressure"}],
    "by bounds": [{"min_confidence": "0.9"}, {"min_support": "0.1", "min_lift": "2"}],
    "sort": [{"sort": "zhang"}, {"sort": "lift"}, {"sort": "support", "descending": "false"}],
    "sort by a measure that is not prepared": [{"sort": "conviction"}, {"sort": "leverage"}],
    "search, filter, bound and sort": [{"q": "level", "kind": "pressure", "min_confidence": "0.8", "sort": "lift"}],
}


def make_run(folder: Path, rules: int) -> None:
    """Write a run with many rules about the sensors of a water network."""
    th.mine(
        config=th.Config.from_mapping({"input": {"dataset": "net3"}}),
        enrich="grounded",
        bins=5,
        refine=None,
        min_support=0.02,
        min_confidence=0.5,
        max_antecedents=2,
        max_rules=rules,
        on_limit="stop",
        out=folder,
        progress="off",
    )


class Server:
    """The command in a process of its own, and requests to it."""

    def __init__(self, run: Path) -> None:
        self.begin = time.perf_counter()
        command = [sys.executable, "-m", "thence", "explore", str(run), "--no-browser"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ})
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        address = next(word for word in line.split() if word.startswith("http"))
        self.base, _, self.token = address.partition("/?token=")
        self.times = psutil.Process(self.process.pid).cpu_times

    @property
    def spent(self) -> float:
        """Seconds of the processor so far."""
        now = self.times()
        return float(now.user + now.system)

    def slowest(self, path: str, queries: list[dict[str, str]]) -> tuple[float, float]:
        """Milliseconds of the slowest of some requests: by the clock, and of the processor."""
        found = []
        for query in queries:
            before = self.spent
            by_clock, _ = self.get(path, query)
            found.append((by_clock, 1000 * (self.spent - before)))
        return max(one for one, _ in found), max(one for _, one in found)

    def get(self, path: str, query: dict[str, str]) -> tuple[float, dict[str, object]]:
        """Return the milliseconds of a request and its answer."""
        url = f"{self.base}/api/{path}?{urlencode(query)}"
        request = urllib.request.Request(url, headers={"Authorization": f"Bearer {self.token}"})
        begin = time.perf_counter()
        while True:
            try:
                with urllib.request.urlopen(request, timeout=60) as answer:
                    return 1000 * (time.perf_counter() - begin), json.load(answer)
            except ConnectionError:
                time.sleep(0.005)

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(20)


def opening(run: Path) -> tuple[float, float, Server]:
    """Seconds from the start of the command to the first page of rules, those of the processor, and the server."""
    server = Server(run)
    server.get("runs/0/findings", {"limit": "50"})
    return time.perf_counter() - server.begin, server.spent, server


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="some thousand rules")
    parser.add_argument("--run", type=Path, help="a run folder to use instead of making one")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = given.run or Path(name) / "run"
        if given.run is None:
            make_run(folder, 5_000 if given.quick else 1_000_000)
        opened = []
        for left in reversed(range(1 if given.quick else 5)):
            *seconds, server = opening(folder)
            opened.append(seconds)
            if left:
                server.close()
        try:
            measure(server, opened)
        finally:
            server.close()


def measure(server: Server, opened: list[list[float]]) -> None:
    """Print the table of one server."""
    # What is prepared in the background is done soon after; a person does not type faster.
    while server.get("runs", {})[1]["runs"][0]["data"] == "loading":  # type: ignore[index]
        time.sleep(0.2)
    _, first = server.get("runs/0/findings", {})
    by_clock, by_processor = (statistics.median(column) for column in zip(*opened, strict=True))
    print(
        f"\n### {first['counts']['rule']:,} rules: open in {by_clock:.2f} s ({by_processor:.2f} s of the processor)\n"
    )
    print("| request | ms | processor ms | again ms |\n|---|--:|--:|--:|")
    requests = {
        **{
            title: ("runs/0/findings", [{**one, "limit": "50"} for one in queries])
            for title, queries in REQUESTS.items()
        },
        "scatter of a filter": ("runs/0/scatter", [{"min_lift": "1.5"}]),
        "comparison of two such runs": ("compare", [{"a": "0", "b": "0"}]),
    }
    for title, (path, queries) in requests.items():
        fresh, spent = server.slowest(path, queries)
        again, _ = server.slowest(path, queries)
        print(f"| {title} | {fresh:.0f} | {spent:.0f} | {again:.0f} |")


if __name__ == "__main__":
    main()
