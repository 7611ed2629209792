"""How long the explorer takes with many rules: to open a run, and to filter, search, sort and page over HTTP.

    python benchmarks/explorer.py            # a million rules of the network net3
    python benchmarks/explorer.py --quick    # some thousand rules

The server is the command ``thence explore`` in a process of its own, and is asked as a browser asks it. Opening is the
time from the start of the process to the first page of rules. Of each request the slowest of a few different ones is
given, none of which was asked before; "again" is the time of the same request once more.
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

import thence as th

REQUESTS: dict[str, list[dict[str, str]]] = {
    "first page of all rules": [{}],
    "page 15,000": [{"offset": "750000"}],
    "search one word": [{"q": "flow"}, {"q": "tank"}, {"q": "lowest"}],
    "search three words": [{"q": "flow pressure pump"}, {"q": "if:pressure then:flow 10"}],
    "by kind": [{"kind": "pressure"}, {"kind": "flow"}, {"kind": "status"}],
    "by conclusion": [{"conclusion": "the flow of Pump 10"}],
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


def opening(run: Path) -> tuple[float, Server]:
    """Seconds from the start of the command to the first page of rules."""
    server = Server(run)
    server.get("runs/0/rules", {"limit": "50"})
    return time.perf_counter() - server.begin, server


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
        seconds = []
        for _ in range(1 if given.quick else 5):
            spent, server = opening(folder)
            seconds.append(spent)
            if len(seconds) < (1 if given.quick else 5):
                server.close()
        try:
            # What is prepared in the background is done soon after; a person does not type faster.
            while server.get("runs", {})[1]["runs"][0]["data"] == "loading":  # type: ignore[index]
                time.sleep(0.2)
            _, first = server.get("runs/0/rules", {})
            print(f"\n### {first['total']:,} rules: open in {statistics.median(seconds):.2f} s\n")
            print("| request | ms | again |\n|---|---|---|")
            for title, queries in REQUESTS.items():
                fresh = max(server.get("runs/0/rules", {**query, "limit": "50"})[0] for query in queries)
                again = max(server.get("runs/0/rules", {**query, "limit": "50"})[0] for query in queries)
                print(f"| {title} | {fresh:.0f} | {again:.0f} |")
            fresh = server.get("runs/0/scatter", {"min_lift": "1.5"})[0]
            print(f"| scatter of a filter | {fresh:.0f} | {server.get('runs/0/scatter', {'min_lift': '1.5'})[0]:.0f} |")
            spent = server.get("compare", {"a": "0", "b": "0"})[0]
            print(
                f"| comparison of two such runs | {spent:.0f} | {server.get('compare', {'a': '0', 'b': '0'})[0]:.0f} |"
            )
        finally:
            server.close()


if __name__ == "__main__":
    main()
