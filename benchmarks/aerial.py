"""Aerial compared with pyaerial 1.1.0 and with exact mining on the same tables.

    python benchmarks/aerial.py                        everything; most of an hour on two cores
    python benchmarks/aerial.py --quick                small sizes, a few minutes
    python benchmarks/aerial.py --part scale           or extraction, search, training, job, quality, later, crossover,
                                                       plain
    python benchmarks/aerial.py --part later --record  also write the results that the documentation shows
    python benchmarks/aerial.py --device cuda          all but job and quality, on a GPU; needs numpy, torch, numba

Every contender runs in its own process, so that time and peak memory are measured separately. *extraction* puts our
weights into the class of pyaerial and queries both with every combination: the script fails if the rules differ.
*training* measures the time to a held-out loss that is at least as good; *job* goes from a frame to rules with
measures. *quality* repeats with ten seeds and counts every rule exactly: the script fails if Aerial is not as good as
pyaerial with layers [50, 12], 20 epochs and frequency 0.01, or with the same gate at the same threshold. *later* counts
rules on the time after that in which they were mined, and *plain* has tables that are none of ours. *crossover* finds
the number of sensors from which a network is faster than exact mining. Tables of Hanoi are written to --tables
on first use; a machine without polars can read them from there.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from _record import Table, record

HERE = Path(__file__).parent
PARTS = ("extraction", "search", "training", "job", "quality", "later", "crossover", "scale", "plain")
TAU = 0.8
ZONES = 8
KEPT = 100_000  # most probable rules that a large search keeps
FLOAT_ERROR = 1e-5  # pyaerial compares in float32, Aerial compares close values in float64
TUNED = {"layers": [50, 12], "epochs": 20}
PLAIN = {"layers": None, "epochs": 5}
missed: list[str] = []  # what the script fails for: quality, and jobs of Aerial that ended with an error
memory: list[float] = []  # GiB that a job may take; empty: no limit
slow: list[str] = []  # ratios of speed below their goal, for information: they depend on what else the machine does


def measured(job: str, **arguments: Any) -> dict[str, Any]:
    """Run a job in its own process and return its numbers, or why it failed; record failures of Aerial."""
    command = [sys.executable, str(HERE / "aerial.py"), "--job", job, "--arguments", json.dumps(arguments)]
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=_limit)
    if not done.returncode:
        return json.loads(done.stdout.strip().splitlines()[-1])
    seconds = time.perf_counter() - start
    if done.returncode == -signal.SIGKILL:
        why = f"killed for lack of memory after {seconds:.0f} s"
    elif re.search("MemoryError|not enough memory|can't allocate", done.stderr):
        why = f"needs more than {memory[0]:g} GiB; ended after {seconds:.0f} s"
    else:
        why = (done.stderr.strip().splitlines() or [f"ended with {done.returncode}"])[-1]
    print(f"  {job} {arguments}: {why}", file=sys.stderr)
    if not job.endswith("_pyaerial"):
        missed.append(f"{job} {arguments}: {why}")
    return {"failed": why}


def _limit() -> None:
    """Limit the memory of a job, so that one that needs too much ends and not its neighbours."""
    if memory:
        most = int(memory[0] * 2**30)
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def say(line: str = "") -> None:
    print(line, flush=True)


def ratio(name: str, ours: float, theirs: float, *, least: float) -> str:
    times = theirs / ours
    if times < least:
        slow.append(f"{name}: {times:.1f} times, wanted {least:g}")
    return f"{times:.1f}x" + ("" if times >= least else f" (wanted {least:g}x)")


def extraction(options: argparse.Namespace) -> None:
    say("extraction: same weights; search only. 'gated' is Algorithm 1 and 'all' keeps the rules of all queries, both")
    say(
        "next to pyaerial asking every combination of one and two items; 'mutual' is pyaerial's own gate at 0.8 on both"
    )
    say("sides. What should be equal is compared rule by rule")
    heads = ("sensors", "queries", "", "rules", "ours s", "pyaerial s", "faster", "ours MB", "its MB")
    say("".join(f"{head:>11}" for head in heads))
    rows: list[tuple[Any, ...]] = []
    for sensors in options.sensors:
        with tempfile.TemporaryDirectory() as place:
            rows += _extraction(options, sensors, place)
    store(options, {"extraction": Table(EXTRACTION, tuple(rows))})
    say()


EXTRACTION = (
    ("sensors", ",.0f"),
    ("combinations", ",.0f"),
    ("search", ""),
    ("our rules", ",.0f"),
    ("its rules", ",.0f"),
    ("ours", ".3f s"),
    ("pyaerial", ".2f s"),
    ("faster", ".0f ×"),
    ("our processor", ".3f s"),
    ("its processor", ".2f s"),
    ("less", ".0f ×"),
    ("our peak", ",.0f MB"),
    ("its peak", ",.0f MB"),
)


def _extraction(options: argparse.Namespace, sensors: int, place: str) -> list[tuple[Any, ...]]:
    model = str(Path(place) / "model")
    measured("train_and_save", sensors=sensors, model=model, tables=options.tables, device=options.device)
    common = {"model": model, "similarity": TAU, "folder": place}
    searches = {"gated": (TAU, "full"), "all": (0.0, "full"), "mutual": (TAU, "mutual")}

    def extract(name: str, device: str, repeat: int) -> dict[str, Any]:
        gate, search = searches[name]
        stored = f"{name}-{device}.npz"
        return measured("extract_ours", **common, gate=gate, search=search, name=stored, device=device, repeat=repeat)

    ours = {name: extract(name, options.device, 3) for name in searches}
    peers: dict[str, dict[str, Any]] = {}
    if options.device == "cuda":
        for name in ("gated", "mutual"):
            extract(name, "cpu", 1)
            if not measured("same_rules", folder=place, names=[f"{name}-cuda.npz", f"{name}-cpu.npz"]).get("same"):
                raise SystemExit(f"the rules of {sensors} sensors ({name}) differ between CPU and GPU")
    else:
        settings = {**common, "sensors": sensors, "tables": options.tables}
        # A frequency below zero passes every combination, as our gate of zero does.
        for name, frequency, repeat in (("all", -1.0, 3 if sensors == 20 else 1), ("mutual", TAU, 3)):
            asked = {"frequency": frequency, "name": f"{name}-peer.npz", "repeat": repeat}
            peers[name] = measured("extract_pyaerial", **settings, **asked)
        peers["gated"] = peers["all"]
    rows: list[tuple[Any, ...]] = []
    for name, least in (("gated", 50), ("all", 10), ("mutual", 10)):
        mine, peer = ours[name], peers.get(name)
        rows.append((sensors, mine["queries"], name, *_beside(mine, {} if peer is None else peer)))
        line = f"{sensors:>11}{mine['queries']:>11,}{name:>11}{mine['rules']:>11,}{mine['seconds']:>11.4f}"
        if peer is None or "failed" in peer:
            say(line + f"{'':>22}{mine['mb']:>11.0f}" + (f"  pyaerial: {peer['failed']}" if peer else ""))
            continue
        found = measured("compare", **common, side=name)
        if found.get("twice", 1) or found["furthest"] > FLOAT_ERROR:
            raise SystemExit(f"the rules of {sensors} sensors ({name}) should be equal and are not: {found}")
        faster = ratio(f"extraction, {name}, {sensors}", mine["seconds"], peer["seconds"], least=least)
        line += f"{peer['seconds']:>11.2f}{faster:>11}{mine['mb']:>11.0f}{peer['mb']:>11.0f}"
        if peer["mb"] < mine["mb"]:
            slow.append(f"extraction, {name}, {sensors} sensors: more memory than pyaerial")
        if found["different"]:
            line += f"  {found['different']} rules within float32's error of a threshold"
        say(line)
    return rows


def _beside(ours: dict[str, Any], theirs: dict[str, Any]) -> tuple[Any, ...]:
    """Return rules, seconds, processor seconds and memory of both sides, with the ratios of the times."""
    cells: list[Any] = [ours["rules"], theirs.get("rules")]
    for name in ("seconds", "processor"):
        known = name in theirs
        cells += [ours[name], theirs.get(name), theirs[name] / ours[name] if known else None]
    return (*cells, ours["mb"], theirs.get("mb"))


def search(options: argparse.Namespace) -> None:
    say("search: every combination ('full'), extending only what passed the gate ('grow'), and the other gate")
    say("('mutual': items that imply one another), all at 0.8")
    say(f"{'sensors':>8}{'antecedents':>13}{'':>8}{'queries':>13}{'rules':>13}{'seconds':>9}")
    rows: list[tuple[Any, ...]] = []
    for sensors, antecedents in ((20, 2), (20, 3)) if options.quick else ((20, 2), (20, 3), (97, 2)):
        common = {"sensors": sensors, "antecedents": antecedents, "tables": options.tables}
        found = measured("ways_to_search", **common, device=options.device)
        for kind in ("full", "grow", "mutual") if "failed" not in found else ():
            one = found[kind]
            cells = [one[key] for key in ("queries", "rules", "seconds", "processor")]
            rows.append((sensors, antecedents, WAYS[kind], *cells))
            line = (
                f"{sensors:>8}{antecedents:>13}{kind:>8}{one['queries']:>13,}{one['rules']:>13,}{one['seconds']:>9.2f}"
            )
            say(line)
    heads = (
        ("sensors", ",.0f"),
        ("antecedents, at most", ",.0f"),
        ("search", ""),
        ("queries put to the network", ",.0f"),
    )
    tail = (("rules", ",.0f"), ("seconds", ".2f"), ("processor seconds", ".2f"))
    store(options, {"search": Table((*heads, *tail), tuple(rows))})
    say()


WAYS = {"full": '`search="full"`', "grow": '`search="grow"`', "mutual": '`search="mutual"`'}


def training(options: argparse.Namespace) -> None:
    say("training on 15,520 rows; loss on 2,000 others that show 1 to 3 (and 1 to 10) features")
    say(f"{'sensors':>8}  {'contender':<28}{'epochs':>7}{'seconds':>9}{'loss 1-3':>10}{'loss 1-10':>11}{'MB':>7}")
    rows: list[tuple[Any, ...]] = []
    for sensors in options.sensors:
        common = {"sensors": sensors, "tables": options.tables}

        def show(name: str, found: dict[str, Any], sensors: int = sensors) -> None:
            say(
                f"{sensors:>8}  {name:<28}{found['epochs']:>7}{found['seconds']:>9.2f}{found['loss3']:>10.4f}"
                f"{found['loss10']:>11.4f}{found['mb']:>7.0f}"
            )

        ours = {e: measured("train_ours", **common, epochs=e, device=options.device) for e in (1, 2, 3, 5, None)}
        for epochs, found in ours.items():
            show("Aerial" if epochs is None else f"Aerial, {epochs} epochs", found)
        if options.device == "cuda":
            continue
        for name, settings in (("pyaerial, defaults", PLAIN), ("pyaerial, [50, 12]", TUNED)):
            peer = measured("train_pyaerial", **common, **settings)
            if "failed" in peer:
                say(f"{sensors:>8}  {name:<28} {peer['failed']}")
                continue
            show(name, peer)
            enough = [found for found in ours.values() if found["loss3"] <= peer["loss3"]]
            if not enough:
                slow.append(f"training, {sensors} sensors: {name} reaches a lower loss")
                continue
            quickest = min(enough, key=lambda found: found["seconds"])
            times = ratio(f"training, {sensors} sensors, {name}", quickest["seconds"], peer["seconds"], least=5)
            pairs = [(peer[key], quickest[key], peer[key] / quickest[key]) for key in ("seconds", "processor")]
            ours_end = [ours[None][key] for key in ("seconds", "loss3", "loss10")]
            rows.append((sensors, name, peer["loss3"], *pairs[0], *pairs[1], *ours_end, peer["loss10"]))
            say(f"{'':>10}at least as good a loss in {quickest['seconds']:.2f} s: {times} faster")
    if rows:
        store(options, {"training": Table(TRAINING, tuple(rows))})
    say()


TRAINING = (
    ("sensors", ",.0f"),
    ("pyaerial", ""),
    ("its loss", ".3f"),
    ("its time", ".1f s"),
    ("ours, as low", ".2f s"),
    ("faster", ".0f ×"),
    ("its processor", ".1f s"),
    ("ours, as low", ".2f s"),
    ("less", ".0f ×"),
    ("ours, to the end", ".1f s"),
    ("our loss", ".3f"),
    ("our loss, 1 to 10 shown", ".3f"),
    ("its loss, 1 to 10 shown", ".3f"),
)


JOB = (
    ("sensors", ",.0f"),
    ("contender", ""),
    ("rules", ",.0f"),
    ("rows covered", ".3f"),
    ("peak", ",.0f MB"),
    ("seconds", ".2f"),
    ("Aerial is faster", ".1f ×"),
    ("processor seconds", ".2f"),
    ("Aerial needs less", ".1f ×"),
)
SETTINGS: dict[str, dict[str, Any]] = {
    "pyaerial, defaults, frequency 0.5": {**PLAIN, "frequency": 0.5},  # what its two calls do if nothing is set
    "pyaerial, defaults, frequency 0.01": {**PLAIN, "frequency": 0.01},
    "pyaerial, [50, 12], frequency 0.01": {**TUNED, "frequency": 0.01},
}


def job(options: argparse.Namespace) -> None:
    say("whole job: frame of categories in, rules with exact measures out (confidence 0.8, support 0.0001)")
    say(f"{'sensors':>8}  {'contender':<36}{'rules':>11}{'coverage':>10}{'MB':>7}{'s':>9}{'':>8}{'cpu s':>9}")
    rows: list[tuple[Any, ...]] = []
    for sensors in options.sizes or ((20,) if options.quick else (20, 40, 60, 97)):
        common = {"sensors": sensors, "tables": options.tables}
        ours = measured("job_ours", **common)
        rows.append(_job_row(sensors, "Aerial", ours))
        for name, settings in SETTINGS.items():
            peer = measured("job_pyaerial", **common, **settings)
            rows.append(_job_row(sensors, name, peer, ours))
            store(options, {"job": Table(JOB, tuple(rows))})
            if "failed" in peer:
                continue
            # Without rules for every row it is not the same job.
            ratio(
                f"job, {sensors}, {name}", ours["seconds"], peer["seconds"], least=10 if peer["coverage"] > 0.99 else 1
            )
            if peer["mb"] < ours["mb"]:
                slow.append(f"job, {sensors} sensors: more memory than {name}")
    say()


def _job_row(sensors: int, name: str, found: dict[str, Any], ours: dict[str, Any] | None = None) -> tuple[Any, ...]:
    """Print and return the row of a contender, with how much faster Aerial was."""
    if "failed" in found:
        say(f"{sensors:>8}  {name:<36} {found['failed']}")
        return (sensors, name, found["failed"], *(None,) * 6)
    times = [None if ours is None else found[key] / ours[key] for key in ("seconds", "processor")]
    shown = ["" if value is None else f"{value:.1f}x" for value in times]
    say(
        f"{sensors:>8}  {name:<36}{found['rules']:>11,}{found['coverage']:>10.3f}{found['mb']:>7.0f}"
        f"{found['seconds']:>9.2f}{shown[0]:>8}{found['processor']:>9.2f}{shown[1]:>8}"
    )
    cells = (found["rules"], found["coverage"], found["mb"], found["seconds"], times[0], found["processor"], times[1])
    return (sensors, name, *cells)


CROSSOVER = (
    ("sensors", ",.0f"),
    ("contender", ""),
    ("rules", ",.0f"),
    ("confidence", ".3f"),
    ("peak", ",.0f MB"),
    ("seconds", ",.2f"),
    ("training", ",.2f"),
    ("search", ",.2f"),
    ("processor seconds", ",.2f"),
)
GATES = {"Aerial, mutual gate": "mutual", "Aerial, paper's gate": "full"}


def crossover(options: argparse.Namespace) -> None:
    """Compare Aerial with exact mining by number of sensors, all in one run; the picture is drawn of what is stored."""
    say("crossover: all pairs as antecedents on a made-up plant of eight zones; exact (support 0.01, confidence 0.8,")
    say("rules counted and not kept) against Aerial (similarity 0.8, the 100,000 most probable kept). After a size")
    say(f"that took more than {options.limit:g} processor seconds a contender runs no larger one")
    heads = ("rules", "conf.", "MB", "s", "train", "search", "cpu s")
    say(f"{'sensors':>8}  {'contender':<24}" + "".join(f"{head:>14}" for head in heads))
    rows: list[tuple[Any, ...]] = []
    last: dict[str, float] = {}
    names = options.contender or ("Exact", *GATES)
    larger = (2000, 4000, 10_000) if options.device == "cuda" else (2000,)
    usual = (20, 40) if options.quick else (20, 40, 80, 160, 320, 640, 1000, *larger)
    for sensors in options.sizes or usual:
        for name in names:
            if last.get(name, 0.0) > options.limit:
                continue
            if name == "Exact":
                found = measured("exact_plant", sensors=sensors, zones=ZONES, device=options.device)
            else:
                where = {"device": options.device, "search": GATES[name]}
                found = measured("aerial_plant", sensors=sensors, zones=ZONES, hops=None, keep=KEPT, **where)
            last[name] = found.get("processor", float("inf"))
            if "failed" in found:
                continue
            cells = [
                found.get(key) for key in ("rules", "confidence", "mb", "seconds", "train", "extract", "processor")
            ]
            rows.append((sensors, name, *cells))
            numbers = "".join(f"{'':>14}" if part is None else f"{part:>14,.3f}" for part in cells)
            say(f"{sensors:>8}  {name:<24}{numbers}")
            store(options, {"crossover": Table(CROSSOVER, tuple(rows))})
    for name in names:
        times = [(row[0], row[-1]) for row in rows if row[1] == name]
        if len(times) > 2:
            say(f"{name}: processor seconds of the last three sizes grow with the power {fitted(times[-3:])[0]:.2f}")
    if options.plot:
        from _aerial_plot import plot_crossover

        plot_crossover(Path(options.plot))
        say(f"plotted to {Path(options.plot).name}")
    say()


def fitted(points: list[tuple[int, float]]) -> tuple[float, float]:
    """Return the power, and the logarithm of the factor, of the power law through some points."""
    slope, start = np.polyfit(*np.log(np.array(points)).T, 1)
    return float(slope), float(start)


def quality(options: argparse.Namespace) -> None:
    from _aerial_quality import quality as judge

    lower, tables = judge(options)
    missed.extend(lower)
    store(options, {f"quality-{name}": table for name, table in tables.items()})


def later(options: argparse.Namespace) -> None:
    from _aerial_later import by_system
    from _aerial_later import later as count

    table = count(range(1) if options.quick else range(5), Path(options.tables))
    store(options, {"later": table, "later-by-system": by_system(table)})
    say()


def plain(options: argparse.Namespace) -> None:
    from _aerial_plain import compare

    folder = Path(options.csv) if options.csv else None
    table = compare(range(2) if options.quick else range(10), folder)
    store(options, {"plain-folder" if folder else "plain": table})
    say()


def store(options: argparse.Namespace, tables: dict[str, Table]) -> None:
    """Write the tables to the results of the documentation, if asked to."""
    if options.record:
        record("aerial" if options.device == "cpu" else "aerial-gpu", tables, device=options.device)


def scale(options: argparse.Namespace) -> None:
    """Measure time and memory by number of sensors, for rules among neighbours; ``crossover`` measures all pairs."""
    cuda = options.device == "cuda"
    say("scale: zones of twenty sensors, pairs within eight hops, ten bins, 17,520 rows, the 100,000 most probable")
    say("rules kept; 'confidence' is the exact mean of the 2,000 most probable; 'exact' is Exact with the same pairs")
    heads = ("train s", "extract s", "loss", "rules", "confidence", "MB", "exact s")
    say(f"{'sensors':>8}{'queries':>13}" + "".join(f"{head:>11}" for head in heads))
    points, where = [], {"device": options.device, "search": options.search}
    rows: list[tuple[Any, ...]] = []
    for sensors in (100, 200) if options.quick else (250, 500, 1000, 2000, *((4000,) if cuda else ())):
        found = measured("aerial_plant", sensors=sensors, zones=None, hops=8, keep=KEPT, **where)
        if "failed" in found:
            continue
        exact = measured("exact_plant", sensors=sensors, zones=None, hops=8, device=options.device)
        say(
            f"{sensors:>8}{found['queries']:>13,}{found['train']:>11.1f}{found['extract']:>11.2f}"
            f"{found['loss']:>11.4f}{found['rules']:>11,}{found['confidence']:>11.3f}{found['mb']:>11.0f}"
            + (f"{exact['seconds']:>11.2f}" if "failed" not in exact else "")
        )
        points.append((sensors, found["train"], found["extract"], found["mb"]))
        measures = [found[key] for key in ("queries", "rules", "confidence", "mb", "train", "extract", "processor")]
        rows.append((sensors, *measures, *(exact.get(key) for key in ("rules", "seconds", "processor"))))
    if len(points) > 1:
        powers = [fitted([(point[0], point[column]) for point in points])[0] for column in (1, 2, 3)]
        say("grows with the power {:.2f} (training), {:.2f} (extraction), {:.2f} (memory)".format(*powers))
    store(options, {"scale": Table(SCALE, tuple(rows))})
    say()


SCALE = (
    ("sensors", ",.0f"),
    ("queries", ",.0f"),
    ("rules", ",.0f"),
    ("mean confidence", ".3f"),
    ("peak", ",.0f MB"),
    ("training", ",.1f s"),
    ("extraction", ",.1f s"),
    ("processor", ",.1f s"),
    ("exact: rules", ",.0f"),
    ("exact", ",.2f s"),
    ("exact: processor", ",.2f s"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--part", action="append", choices=PARTS)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--search", choices=("full", "mutual"), default="full", help="of scale")
    parser.add_argument("--tables", default=str(Path(tempfile.gettempdir()) / "thence-benchmark-tables"))
    parser.add_argument("--limit", type=float, default=300.0, help="of crossover: processor seconds of the last size")
    parser.add_argument("--sizes", type=int, nargs="+", help="of job and crossover: numbers of sensors")
    parser.add_argument("--contender", action="append", choices=("Exact", *GATES), help="of crossover: only this one")
    parser.add_argument("--memory", type=float, help="GiB that a contender may take; one that needs more ends")
    parser.add_argument("--plot", help="file for the picture of the crossover (svg, png or html)")
    parser.add_argument("--csv", help="folder of CSV files for the part 'plain', instead of tables of scikit-learn")
    parser.add_argument("--record", action="store_true", help="write the results that the documentation shows")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    parser.add_argument("--arguments", default="{}", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        from _aerial_jobs import JOBS

        print(json.dumps(JOBS[options.job](**json.loads(options.arguments))))
        return
    memory[:] = [options.memory] if options.memory else []
    Path(options.tables).mkdir(parents=True, exist_ok=True)
    options.sensors = (20,) if options.quick else (20, 60, 97)
    everything = ("extraction", "search", "training", "crossover", "scale") if options.device == "cuda" else PARTS
    for part in options.part or everything:
        globals()[part](options)
    if slow:
        say("below the goal for speed, for information:\n  " + "\n  ".join(slow))
    if missed:
        raise SystemExit("missed:\n  " + "\n  ".join(missed))


if __name__ == "__main__":
    main()
