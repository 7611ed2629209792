"""Scale: from files of readings to refined rules, laws and controls, for ever more sensors and frames.

    python benchmarks/scale.py                                 all sizes, some hours; what is measured already is kept
    python benchmarks/scale.py --part near --sizes 1000x10000  one size of one part
    python benchmarks/scale.py --quick                         500 sensors × 1,000 frames

The plant is made up: pipelines of 1,000 sensors each (see ``_scale_plant.py``). Three parts:

- ``lifted``: a folder of Parquet files, ``th.mine`` with defaults, windows of 5 minutes and a memory limit of 12 GiB;
- ``near``: the same files, rules about single sensors within two hops of one another (``enrich="none", near=2``);
- ``frame``: lifted, from a frame in memory, without a limit.

Each size runs in a process of its own. Seconds, processor seconds of both cores together, which say more than the clock
on a busy machine, and peak memory, stage by stage. With ``--record`` the results go to ``docs/results/scale/``, from
which the tables and the picture of that page are made; ``--pages`` only makes these.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from _record import machine
from _scale_page import RUNS, read_runs, write_pages
from _scale_plant import KIND, make_plant, read_frame
from _scale_stages import Stages, by_stage, watch

LIMIT = "12GiB"
HOPS = 2
WINDOWS = "5min"
FILES = ((1_000, 1_000), (1_000, 10_000), (10_000, 1_000), (10_000, 10_000), (100_000, 1_000))
FULL = ((1_000, 100_000), (10_000, 100_000), (100_000, 10_000))
SIZES = {
    "lifted": (*FILES, *FULL),
    "near": (*FILES, *FULL),
    "frame": ((1_000, 20_000), (3_000, 20_000), (10_000, 20_000)),
}


def measure(part: str, folder: Path) -> dict[str, Any]:
    """Mine one plant in this process."""
    import thence as th
    import thence.runs.pipeline as pipeline
    from thence.runs.configuration import Config, InputConfig

    stages = Stages()
    pipeline._timed = stages  # type: ignore[assignment]
    given = read_frame(folder) if part == "frame" else None
    files = InputConfig(
        sensors=str(folder / "readings"),
        graph=str(folder / "graph.json"),
        binding=str(folder / "binding.csv"),
        read_sensors={"kind_pattern": KIND},
    )
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    begin, cpu = time.monotonic(), time.process_time()
    if part == "frame":
        run = th.mine(given, progress="off")
    else:
        # By default there are at most 50,000 windows.
        asked: dict[str, Any] = {"windows": WINDOWS, "memory_limit": LIMIT, "progress": "off"}
        local = {"enrich": "none", "near": HOPS} if part == "near" else {}
        run = th.mine(config=Config(input=files), **asked, **local)
    end = time.monotonic()
    last = max(span["end"] for span in stages.spans)
    rest = time.process_time() - cpu - sum(span["cpu_seconds"] for span in stages.spans)
    return {
        "seconds": round(end - begin, 3),
        "cpu_seconds": round(time.process_time() - cpu, 3),
        "spans": [*stages.spans, {"stage": "hashes and summary", "begin": last, "end": end, "cpu_seconds": rest}],
        "found": run.summary["rules_found"],
        "rules": len(run.rules),
        "laws": run.summary.get("laws"),
        "controls": run.summary.get("controls"),
        "notes": run.summary["notes"],
        "gib_before": round(before, 3),
    }


def measure_apart(part: str, sensors: int, frames: int, data: Path) -> dict[str, Any]:
    """Make a plant and mine it, each in a process of its own."""
    folder = data / f"{sensors}x{frames}"
    make_plant(folder, sensors, frames)
    size = sum(path.stat().st_size for path in (folder / "readings").iterdir())
    command = [sys.executable, __file__, "--one", "--part", part, "--data", str(folder)]
    result, looks = watch(command)
    stages = by_stage(result.pop("spans"), looks)
    return {
        "part": part,
        "sensors": sensors,
        "frames": frames,
        "date": datetime.now(UTC).date().isoformat(),
        "machine": machine(),
        **result,
        "file_gib": round(size / 2**30, 3),
        "gib": round(max(look.all for look in looks), 3),
        "own_gib": round(max(look.own for look in looks), 3),
        "stages": stages,
    }


def main() -> None:
    """Measure the sizes that were asked for, and print a row for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="500 sensors × 1,000 frames")
    parser.add_argument("--part", choices=tuple(SIZES), nargs="+", default=list(SIZES))
    parser.add_argument("--sizes", nargs="+", metavar="SENSORSxFRAMES")
    parser.add_argument("--data", type=Path, default=Path(tempfile.gettempdir()) / "thence-scale")
    parser.add_argument("--again", action="store_true", help="also what is recorded already")
    parser.add_argument("--record", action="store_true", help="keep the results and make the page's tables")
    parser.add_argument("--pages", action="store_true", help="only make tables and picture from what is recorded")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measure(given.part[0], given.data)))
        return
    if given.pages:
        write_pages(read_runs())
        return
    known = {(run["part"], run["sensors"], run["frames"]) for run in read_runs()}
    asked = [tuple(int(number) for number in size.split("x")) for size in given.sizes or ()]
    print("| part | sensors | frames | seconds | processor seconds | peak GiB | without files | rules | by stage |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|---|")
    for part in given.part:
        for sensors, frames in [(500, 1_000)] if given.quick else asked or SIZES[part]:
            if given.record and not given.again and (part, sensors, frames) in known:
                continue
            one = measure_apart(part, sensors, frames, given.data)
            _show(one)
            if given.record:
                rest = [
                    run
                    for run in read_runs()
                    if (run["part"], run["sensors"], run["frames"]) != (part, sensors, frames)
                ]
                lines = ",\n".join(json.dumps(run, ensure_ascii=False) for run in sorted([*rest, one], key=_order))
                RUNS.parent.mkdir(parents=True, exist_ok=True)
                RUNS.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
                write_pages(read_runs())


def _order(run: dict[str, Any]) -> tuple[int, int, int]:
    return list(SIZES).index(run["part"]), run["sensors"], run["frames"]


def _show(one: dict[str, Any]) -> None:
    stages = ", ".join(
        f"{name} {spent['seconds']:.1f} s ({spent['cpu_seconds']:.1f}; {spent['gib']:.1f} GiB)"
        for name, spent in one["stages"].items()
    )
    cells = [one["part"], f"{one['sensors']:,}", f"{one['frames']:,}", f"{one['seconds']:.1f}"]
    cells += [f"{one['cpu_seconds']:.1f}", f"{one['gib']:.2f}", f"{one['own_gib']:.2f}", f"{one['rules']:,}", stages]
    print("| " + " | ".join(cells) + " |", flush=True)
    for note in one["notes"]:
        print(f"    {note}", flush=True)


if __name__ == "__main__":
    main()
