"""The results of the paper's experiments, made anew: run the repeats, and write ``docs/results`` and its pages.

``python -m tools.results`` runs what is missing in a folder of repeats. Then it writes tables, verdicts, figures, the
page and ``repeats.jsonl`` to ``docs/results``, and the numbers of the pages (``tools.findings``). A second call
continues the first. How many repeats each experiment has is written here, and on the page about the results.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from pathlib import Path

from thence._base.integrity.checksums import CHECKSUM
from thence.lab.experiments import experiment_names, report, reproduce
from tools import findings
from tools.result_numbers import RESULTS

REPEATS = {
    "1.1": 6,
    "1.2": 6,
    "2.1": 3,
    "2.2": 6,
    "3": 6,
    "4": 6,
    "5": 3,
    "6": 6,
    "ablation": 3,
    "complexity": 3,
}
"""Repeats by experiment: sweeps and ablations take minutes each, and say how numbers move rather than what they are."""


def run(folder: Path, *, jobs: int) -> None:
    """Run the repeats that are missing in ``folder``.

    Args:
        folder: The folder of the repeats.
        jobs: Number of processes.
    """
    for name in experiment_names():
        sys.stdout.write(f"experiment {name}: {REPEATS[name]} repeats\n")
        sys.stdout.flush()
        reproduce(name, repeats=REPEATS[name], out=folder, jobs=jobs)


def publish(folder: Path) -> None:
    """Write everything that the repeats in ``folder`` give to ``docs/results``.

    Args:
        folder: The folder of the repeats.
    """
    report(folder)
    for name in experiment_names():
        target = RESULTS / name
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(folder / name, target)
    shutil.copyfile(folder / "index.html", RESULTS / "index.html")
    stored = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("repeats/*/*/*.json"))]
    lines = [
        json.dumps({key: value for key, value in one.items() if key != CHECKSUM}, ensure_ascii=False, sort_keys=True)
        for one in stored
    ]
    (RESULTS / "repeats.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def main(arguments: list[str] | None = None) -> int:
    """Run and publish."""
    parser = argparse.ArgumentParser(prog="python -m tools.results", description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=Path, default=Path("reproduction"), help="where the repeats are stored")
    parser.add_argument("--jobs", type=int, default=2, help="number of processes")
    options = parser.parse_args(arguments)
    run(options.folder, jobs=options.jobs)
    publish(options.folder)
    return findings.main(["--tables"])


if __name__ == "__main__":
    sys.exit(main())
