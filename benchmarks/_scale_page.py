"""Tables and picture of ``docs/results/scale/`` from the recorded runs of ``scale.py``."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from _record import RESULTS, ROOT, Table, dump

FOLDER = ROOT / "docs" / "results" / "scale"
RUNS = FOLDER / "runs.json"
COMMAND = "benchmarks/scale.py --record"
MINUTES, GIB, CORES = 15, 12, 2
"""What is aimed at: minutes by the clock on so many cores, and memory."""
PARTS = {"lifted": "lifted rules", "near": "within two hops", "frame": "lifted, from a frame"}
MANY, REGION, WORKERS = 1_000_000, 10_000, 50


def read_runs() -> list[dict[str, Any]]:
    """Return the recorded runs."""
    if not RUNS.exists():
        return []
    runs: list[dict[str, Any]] = json.loads(RUNS.read_text(encoding="utf-8"))
    return runs


def write_pages(runs: Sequence[dict[str, Any]]) -> None:
    """Write the tables, a line per run for numbers in other pages, and the picture."""
    (RESULTS / "scale.json").write_text(dump(make_tables(runs)), encoding="utf-8")
    _write_csv(runs)
    plot(runs)


def make_tables(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the tables, each with the command, the date and the machine."""
    tables = {part: _sizes([run for run in runs if run["part"] == part]) for part in PARTS}
    tables |= {f"{part}-stages": _stages([run for run in runs if run["part"] == part]) for part in PARTS}
    tables |= {"powers": _powers(runs), "million": _million(runs), "regions": _regions(runs)}
    about = {
        "command": COMMAND,
        "date": max(run["date"] for run in runs),
        "machine": runs[-1]["machine"],
    }
    trials = [f"{run['sensors']:,} × {run['frames']:,}: {run['trial']}" for run in runs if run.get("trial")]
    if trials:
        about["note"] = "; ".join(trials)
    return {name: {**about, **table.as_dict()} for name, table in tables.items() if table.rows}


def _write_csv(runs: Sequence[dict[str, Any]]) -> None:
    plain = (
        "part",
        "sensors",
        "frames",
        "seconds",
        "cpu_seconds",
        "gib",
        "own_gib",
        "found",
        "rules",
        "laws",
        "controls",
    )
    with (FOLDER / "scale.csv").open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow([*plain, "minutes", "hours"])
        for run in runs:
            clock = [f"{run['seconds'] / 60:.2f}", f"{run['seconds'] / 3600:.3f}"]
            lines.writerow([*(run[name] for name in plain), *clock])


def _sizes(runs: Sequence[dict[str, Any]]) -> Table:
    columns = (
        ("sensors", ",.0f"),
        ("frames", ",.0f"),
        ("seconds", ",.0f"),
        ("processor seconds", ",.0f"),
        ("peak GiB", ".1f"),
        ("of it mapped files", ".1f"),
        ("rules found", ",.0f"),
        ("rules kept", ",.0f"),
        ("laws", ",.0f"),
        ("controls", ",.0f"),
    )
    rows = (
        (
            run["sensors"],
            run["frames"],
            run["seconds"],
            run["cpu_seconds"],
            run["gib"],
            max(0.0, run["gib"] - run["own_gib"]),
            run["found"],
            run["rules"],
            run["laws"],
            run["controls"],
        )
        for run in runs
    )
    return Table(columns, tuple(rows))


def _stages(runs: Sequence[dict[str, Any]]) -> Table:
    """The stages of the largest runs: of every number of sensors, that with the most frames."""
    largest = {run["sensors"]: run for run in sorted(runs, key=lambda run: run["frames"])}
    chosen = [largest[sensors] for sensors in sorted(largest)]
    names = list(dict.fromkeys(stage for run in chosen for stage in run["stages"]))
    columns: list[tuple[str, str]] = [("stage", "")]
    for run in chosen:
        columns += [(f"{run['sensors']:,} × {run['frames']:,}: seconds", ",.0f"), ("processor", ",.0f"), ("GiB", ".1f")]
    rows = []
    for name in names:
        row: list[Any] = [name]
        for run in chosen:
            spent = run["stages"].get(name)
            row += [None] * 3 if spent is None else [spent["seconds"], spent["cpu_seconds"], spent["gib"]]
        rows.append(tuple(row))
    return Table(tuple(columns), tuple(rows))


def _power(points: Sequence[tuple[float, float]]) -> float:
    """The power with which the second number grows with the first."""
    return float(np.polyfit(*np.log(np.array(points, float)).T, 1)[0])


def _series(runs: Sequence[dict[str, Any]]) -> Iterator[tuple[str, str, list[dict[str, Any]]]]:
    """Yield part, what grows, and the runs in which nothing else does; the longest series of each."""
    for part in PARTS:
        own = [run for run in runs if run["part"] == part]
        for grows, fixed in (("sensors", "frames"), ("frames", "sensors")):
            for value in sorted({run[fixed] for run in own}):
                found = sorted((run for run in own if run[fixed] == value), key=lambda run: run[grows])
                if len(found) > 1:
                    yield part, grows, found


def _powers(runs: Sequence[dict[str, Any]]) -> Table:
    columns = (
        ("", ""),
        ("what grows", ""),
        ("from", ",.0f"),
        ("to", ",.0f"),
        ("beside", ""),
        ("power of processor seconds", ".2f"),
        ("of peak memory", ".2f"),
    )
    rows = []
    for part, grows, found in _series(runs):
        other = "frames" if grows == "sensors" else "sensors"
        powers = [_power([(run[grows], run[name]) for run in found]) for name in ("cpu_seconds", "gib")]
        beside = f"{found[0][other]:,} {other}"
        rows.append((PARTS[part], grows, found[0][grows], found[-1][grows], beside, *powers))
    return Table(columns, tuple(rows))


def _million(runs: Sequence[dict[str, Any]]) -> Table:
    """10⁶ sensors in one process, from the largest number of sensors and the power up to there."""
    columns = (
        ("", ""),
        ("frames", ",.0f"),
        ("measured up to", ",.0f sensors"),
        ("power", ".2f"),
        ("processor hours for 10⁶ sensors", ".1f"),
        ("GiB of windows in files", ",.0f"),
    )
    rows = []
    for part, grows, found in _series(runs):
        if grows != "sensors" or part == "frame":
            continue
        last, power = found[-1], _power([(run["sensors"], run["cpu_seconds"]) for run in found])
        hours = last["cpu_seconds"] * (MANY / last["sensors"]) ** power / 3600
        rows.append((PARTS[part], last["frames"], last["sensors"], power, hours, MANY * last["frames"] * 8 / 2**30))
    return Table(columns, tuple(rows))


def _regions(runs: Sequence[dict[str, Any]]) -> Table:
    """10⁶ sensors as regions of 10,000, from the run of one region with the most frames."""
    own = [run for run in runs if run["part"] == "lifted" and run["sensors"] == REGION]
    if not own:
        return Table((), ())
    one, count = max(own, key=lambda run: run["frames"]), MANY // REGION
    spent = 2 * one["cpu_seconds"]  # two passes
    hours, files = count * spent / 3600, count * one["file_gib"]
    rounds = count // WORKERS
    room = next(size for size in (2, 4, 8, 12, 16, 24, 32) if size >= 1.25 * one["gib"])
    rows = (
        ("regions", f"{REGION:,} sensors × {one['frames']:,} frames each", f"{count}"),
        ("memory of a worker", f"peak of one region, measured: {one['gib']:.1f} GiB", f"{room} GiB"),
        ("work of a region", "two passes, each at most as long as a whole run", f"{spent / 60:.1f} processor minutes"),
        ("all regions", f"{count} of them", f"{hours:.1f} processor hours"),
        ("one machine of two cores", "one region after the other, both cores busy", f"{hours / CORES:.1f} hours"),
        (
            f"{WORKERS} workers of two cores",
            f"{rounds} rounds, both cores busy",
            f"{rounds * spent / CORES / 60:.0f} minutes, and some to start",
        ),
        ("readings", "as Parquet, measured for one region", f"{files:,.0f} GiB, {one['file_gib']:.1f} per region"),
        (
            "cost of processors",
            "0.05 $ per processor hour with 4 GiB",
            f"{0.05 * hours * max(1, room / 4 / CORES):.2f} $",
        ),
        ("cost of storage", "0.02 $ per GiB and month", f"{0.02 * files:.2f} $ per month"),
    )
    return Table((("", ""), ("assumption", ""), ("result", "")), rows)


def plot(runs: Sequence[dict[str, Any]]) -> None:
    """Draw processor seconds and peak memory against readings, with what is aimed at."""
    import altair as alt

    rows = [
        {
            "part": PARTS[run["part"]],
            "readings": run["sensors"] * run["frames"],
            "seconds": run["cpu_seconds"],
            "gib": run["gib"],
            "size": f"{run['sensors']:,} × {run['frames']:,}",
        }
        for run in runs
    ]
    names = [name for name in PARTS.values() if any(row["part"] == name for row in rows)]
    legend = alt.Legend(orient="bottom", labelLimit=260, symbolSize=90, labelFontSize=13)
    colours = alt.Scale(domain=names, range=["#1b6ca8", "#c8553d", "#3a7d44"][: len(names)])
    shapes = alt.Scale(domain=names, range=["circle", "square", "triangle-up"][: len(names)])
    colour = alt.Color("part:N", title=None, legend=legend, scale=colours)
    shape = alt.Shape("part:N", title=None, legend=legend, scale=shapes)
    panels = []
    aims = (
        ("seconds", "processor seconds", MINUTES * 60 * CORES, f"{MINUTES} min on {CORES} cores", [3, 6000]),
        ("gib", "peak memory, GiB", GIB, f"{GIB} GiB", [0.2, 30]),
    )
    for field, title, aim, said, span in aims:
        ticks = alt.Axis(values=[factor * 10.0**power for power in range(-1, 5) for factor in (1, 3)], format="~g")
        y = alt.Y(f"{field}:Q", scale=alt.Scale(type="log", domain=span, nice=False), title=title, axis=ticks)
        x = alt.X(
            "readings:Q",
            scale=alt.Scale(type="log", domain=[1e5, 3e9], nice=False),
            title="readings (sensors × frames)",
            axis=alt.Axis(
                values=[1e6, 1e7, 1e8, 1e9],
                labelExpr="'10' + {6: '⁶', 7: '⁷', 8: '⁸', 9: '⁹'}[round(log(datum.value) / LN10)]",
            ),
        )
        points = alt.Chart(alt.Data(values=rows)).mark_point(filled=True, size=110, opacity=0.85)
        line = alt.Chart(alt.Data(values=[{field: aim, "readings": 1e5, "said": said}]))
        rule = line.mark_rule(strokeDash=[6, 4], color="#666").encode(y=f"{field}:Q")
        text = line.mark_text(align="left", dx=4, dy=-7, color="#555", fontSize=12).encode(
            x="readings:Q", y=f"{field}:Q", text="said:N"
        )
        names_of = alt.Chart(alt.Data(values=[row for row in rows if row["part"] == PARTS["lifted"]]))
        label = names_of.mark_text(align="right", dx=-9, fontSize=11, color="#333")
        drawn = points.encode(x=x, y=y, color=colour, shape=shape)
        if not panels:
            drawn = drawn + label.encode(x=x, y=y, text="size:N")
        panels.append((rule + text + drawn).properties(width=350, height=300))
    chart = alt.hconcat(*panels).configure_axis(labelFontSize=12, titleFontSize=13)
    FOLDER.mkdir(parents=True, exist_ok=True)
    chart.save(str(FOLDER / "scale.svg"))
