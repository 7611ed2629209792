"""The picture of the crossover, from the stored results: a panel for each run, with the day of its measurement."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from _record import RESULTS

MEASURED, EXTRAPOLATED = "measured", "extrapolated from the last three"
LOOKS = {
    "Exact": ("#1b6ca8", "circle"),
    "Aerial, mutual gate": ("#c8553d", "square"),
    "Aerial, paper's gate": ("#3a7d44", "triangle-up"),
}


@dataclass(frozen=True)
class Panel:
    """A stored run.

    Args:
        file: Name of the file of results, without ending.
        table: Name of the table.
        title: What it was measured on.
        column: The column that is drawn.
    """

    file: str
    table: str
    title: str
    column: str


PANELS = (
    Panel("aerial", "crossover", "busy machine, processor seconds", "processor seconds"),
    Panel("aerial", "crossover-two-cores", "two cores, seconds", "seconds"),
    Panel("aerial-gpu", "crossover", "NVIDIA H200, seconds", "seconds"),
)


def plot_crossover(path: Path) -> None:
    """Draw time against sensors, side by side for each run that is stored."""
    import altair as alt

    found = [(panel, _read(panel)) for panel in PANELS]
    drawn = [(panel, table) for panel, table in found if table]
    if not drawn:
        raise SystemExit("no stored crossover: run benchmarks/aerial.py --part crossover --record")
    rows = [row for panel, table in drawn for row in _points(panel, table)]
    across = alt.Scale(type="log", nice=False, domain=[15, 14_000])
    up = alt.Scale(type="log", nice=False, domain=[0.01, 200_000])
    names = list(LOOKS)
    legend = alt.Legend(orient="bottom", columns=3, labelLimit=260, symbolStrokeWidth=2, symbolSize=70)
    colour = alt.Color(
        "miner:N",
        title=None,
        legend=legend,
        scale=alt.Scale(domain=names, range=[LOOKS[name][0] for name in names]),
    )
    shape = alt.Shape(
        "miner:N",
        title=None,
        legend=legend,
        scale=alt.Scale(domain=names, range=[LOOKS[name][1] for name in names]),
    )
    dash = alt.StrokeDash(
        "kind:N",
        title=None,
        scale=alt.Scale(domain=[MEASURED, EXTRAPOLATED], range=[[1, 0], [5, 4]]),
        legend=alt.Legend(
            orient="bottom", columns=2, labelLimit=260, symbolType="stroke", symbolStrokeWidth=2, symbolSize=300
        ),
    )
    charts = []
    for panel, table in drawn:
        down = alt.Axis(values=[10.0**power for power in range(-2, 6)], format=",~g")
        base = alt.Chart(
            alt.Data(values=[row for row in rows if row["panel"] == panel.title]),
            width=235,
            height=290,
            title=alt.TitleParams([panel.title, _day(table["date"])], fontSize=12, fontWeight="normal"),
        ).encode(
            x=alt.X(
                "sensors:Q",
                scale=across,
                title="sensors; all pairs as antecedents",
                axis=alt.Axis(values=[20, 80, 320, 1000, 4000, 10_000], format=",", labelFlush=False),
            ),
            y=alt.Y("seconds:Q", scale=up, title=None, axis=down),
            color=colour,
        )
        dots = base.transform_filter(f"datum.kind == '{MEASURED}'").mark_point(filled=True, size=55, opacity=1)
        charts.append(base.mark_line().encode(strokeDash=dash) + dots.encode(shape=shape))
    alt.hconcat(*charts, spacing=18).save(str(path))


def _read(panel: Panel) -> dict[str, Any] | None:
    path = RESULTS / f"{panel.file}.json"
    if not path.exists():
        return None
    table: dict[str, Any] | None = json.loads(path.read_text(encoding="utf-8")).get(panel.table)
    return table


def _points(panel: Panel, table: dict[str, Any]) -> list[dict[str, Any]]:
    titles = [column["title"] for column in table["columns"]]
    column, most = titles.index(panel.column), max(row[0] for row in table["rows"])
    found: list[dict[str, Any]] = []
    for name in LOOKS:
        rows = [
            {"sensors": row[0], "seconds": row[column], "miner": name, "kind": MEASURED, "panel": panel.title}
            for row in sorted(table["rows"], key=lambda row: row[0])
            if row[1] == name and isinstance(row[column], (int, float))
        ]
        found += rows
        if name == "Exact":
            found += _extrapolated(rows, most)
    return found


def _extrapolated(rows: list[dict[str, Any]], largest: int) -> list[dict[str, Any]]:
    """Return the last point and one at the largest size, on the power law through the last three."""
    if len(rows) < 3 or rows[-1]["sensors"] >= largest:
        return []
    power, start = np.polyfit(*np.log([(row["sensors"], row["seconds"]) for row in rows[-3:]]).T, 1)
    end = {**rows[-1], "sensors": largest, "seconds": float(np.exp(start) * largest**power)}
    return [{**row, "kind": EXTRAPOLATED} for row in (rows[-1], end)]


def _day(written: str) -> str:
    day = date.fromisoformat(written)
    return f"{day.day} {day:%B %Y}"
