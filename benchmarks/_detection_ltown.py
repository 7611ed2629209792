"""L-Town with the leaks of 2019, simulated, in BattLeDIM's terms."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import thence as th
from thence import scoring
from thence.checks.detect.detection import Detection
from thence.lab.datasets.folders import find_folder

START = datetime(2019, 1, 1, tzinfo=UTC)
LEARN, SCORE = 42, 14  # days
LASTS_H = 12
DRAWS = 100
WINDOW = "30min"


def pipes_of(graph: th.graph.KnowledgeGraph) -> dict[str, tuple[str, str, float]]:
    """Of each pipe the nodes at its ends and its length in m; pumps and valves have no length."""
    out = {}
    for id in graph.nodes:
        ends = [edge.target for edge in graph.out_edges(id)]
        length = graph.value(id, "length")
        if len(ends) == 2:
            out[id.partition(" ")[2]] = (ends[0], ends[1], float(length or 0.0))
    return out


def reports_of(found: Detection, pipes: dict[str, tuple[str, str, float]]) -> list[tuple[str, int]]:
    """A report per alarm that lasts: the first pipe among the located nodes, or one at the first located node."""
    out = []
    for alarm in found.alarms:
        if alarm.end - alarm.start < timedelta(hours=LASTS_H):
            continue
        places = found.locate(alarm)["place"].to_list()
        named = [place.partition(" ")[2] for place in places if place.startswith("Pipe")]
        beside = [name for name, ends in pipes.items() if places and places[0] in ends[:2]]
        choice = next((name for name in [*named, *beside] if name in pipes), None)
        if choice is not None:
            # A crew is sent when the alarm has lasted, not when it began.
            out.append((choice, round((alarm.start + timedelta(hours=LASTS_H) - START).total_seconds() / 300)))
    return out


def walk(year: th.System, days: int, pipes: dict[str, tuple[str, str, float]]) -> tuple[list[tuple[str, int]], float]:
    """Learn on six weeks, score the next two, and so on through the year; what lasts becomes normal."""
    reports: list[tuple[str, int]] = []
    alarmed = 0
    for first in range(LEARN, days, SCORE):
        normal = year.between(START + timedelta(days=first - LEARN), START + timedelta(days=first))
        later = year.between(START + timedelta(days=first), START + timedelta(days=min(first + SCORE, days)))
        found = th.Detector(windows=WINDOW).fit(normal).detect(later)
        alarmed += int(found.frame["alarm"].sum())
        new = reports_of(found, pipes)
        print(f"day {first}: {len(found.alarms)} alarms, {len(new)} reports", flush=True)
        reports += new
    return reports, alarmed / ((days - LEARN) * 48)


def by_chance(
    reports: list[tuple[str, int]], leaks: list[scoring.LeakFlow], pipes: dict[str, tuple[str, str, float]]
) -> dict[str, list[float]]:
    """Score the same number of reports at the same times with random pipes: mean, 5 % and 95 % of many draws."""
    rng = np.random.default_rng(0)
    names = [name for name, ends in pipes.items() if ends[2] > 0]
    drawn = []
    for _ in range(DRAWS):
        random = [
            (names[at], step) for at, (_, step) in zip(rng.integers(0, len(names), len(reports)), reports, strict=True)
        ]
        score = scoring.battledim(random, leaks, pipes)
        drawn.append((score.true_positives, score.false_positives, score.total))
    table = np.array(drawn, np.float64)
    told = np.vstack([table.mean(axis=0), np.quantile(table, (0.05, 0.95), axis=0)]).T.tolist()
    return dict(zip(("tp", "fp", "total"), told, strict=True))


def measure(days: int) -> dict[str, Any]:
    later = th.datasets.load("ltown", start="2019-01-01", days=days)
    pipes = pipes_of(later.graph)
    reports, alarmed = walk(later, days, pipes)
    folder = find_folder(
        "ltown", folder="ltown", files=["2019_leak_flows_m3h.parquet"], path=None, publisher="BattLeDIM"
    )
    flows = pl.read_parquet(Path(folder) / "2019_leak_flows_m3h.parquet").drop("Timestamp").head(days * 288)
    leaks = [
        scoring.LeakFlow(name, flows[name].to_numpy().astype(float)) for name in flows.columns if flows[name].max() > 0
    ]
    score = scoring.battledim(reports, leaks, pipes)
    rows = []
    for number, leak in enumerate(leaks):
        first, last = leak.period
        claimed = [at for at, one in enumerate(score.claimed) if one == number]
        near = scoring.pipe_distances(leak.pipe, pipes)
        told = [(step, near.get(pipe, float("inf"))) for pipe, step in reports if first <= step <= last]
        rows.append(
            {
                "pipe": leak.pipe,
                "start": first,
                "end": last,
                "flow": float(flows[leak.pipe].max()),
                "delay_days": (reports[claimed[0]][1] - first) / 288 if claimed else None,
                "distance": near.get(reports[claimed[0]][0]) if claimed else None,
                "nearest_report": min((distance for _, distance in told), default=None),
            }
        )
    return {
        "days": days,
        "reports": len(reports),
        "told": [list(report) for report in reports],
        "chance": by_chance(reports, leaks, pipes),
        "alarmed_share": alarmed,
        "total": score.total,
        "tp": score.true_positives,
        "fp": score.false_positives,
        "fn": score.false_negatives,
        "rows": rows,
    }


def run_ltown(store: Any, given: Any) -> None:
    record = store.get("2019", lambda: measure(70 if given.quick else 365))
    print(tell_ltown([record]), flush=True)


def _spread(found: dict[str, Any], name: str) -> str:
    mean, low, high = found["chance"][name]
    return f"{mean:,.0f} ({low:,.0f}–{high:,.0f})"


def tell_ltown(records: list[dict[str, Any]]) -> str:
    """The table of the leaks."""
    lines = []
    for found in records:
        all_leaks = found["tp"] + found["fn"]
        chance = " | ".join(_spread(found, name) for name in ("tp", "fp", "total"))
        lines += [
            f"""## L-Town with the leaks of 2019

The network, sensors and leaks of BattLeDIM, simulated by `th.datasets` ({found["days"]} days at 30 minutes); these are
not BattLeDIM's own readings. Four leaks of 2018 are on from the start, so there is no normal time: the detector learns
on {LEARN // 7} weeks, scores the next {SCORE // 7}, learns again, and so on. What lasts becomes normal after a while.
An alarm that lasts {LASTS_H} hours is one report, of the pipe that it is located at then.

| reports | leaks found within 300 m | false positives | score, € |
|---|---|---|---|
| the detector's {found["reports"]} | {found["tp"]} of {all_leaks} | {found["fp"]} | {found["total"]:,.0f} |
| as many at the same times, random pipes: mean (5–95 %) | {chance} |
| all leaks on the spot | 23 of 23 | 0 | 523,154 |

Alarmed {found["alarmed_share"]:.0%} of the time. **Judge it by the second row**: so many leaks are open at once that
random pipes are often near one of them.
""",
            "| leak | largest flow, m³/h | found | days after its start | distance, m | nearest report while on, m |",
            "|---|---|---|---|---|---|",
        ]
        for row in found["rows"]:
            hit = row["delay_days"] is not None
            near = "–" if row["nearest_report"] is None else f"{row['nearest_report']:,.0f}"
            delay, distance = (f"{row['delay_days']:.1f}", f"{row['distance']:.0f}") if hit else ("–", "–")
            found_text = "yes" if hit else "no"
            lines.append(f"| {row['pipe']} | {row['flow']:.1f} | {found_text} | {delay} | {distance} | {near} |")
        lines.append("")
    return "\n".join(lines)
