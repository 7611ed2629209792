"""The picture of the crossover, from the stored results of a run on the CPU and one on a GPU."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from _record import RESULTS

MEASURED, EXTRAPOLATED = "measured", "extrapolated from the last three"
COLOURS = ("#1b6ca8", "#c8553d", "#3a7d44", "#8a63d2", "#e0a100")
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross")


def plot_crossover(path: Path) -> None:
    """Draw seconds against sensors for every contender of both runs, and exact mining on two cores extrapolated."""
    import altair as alt

    rows = [row for name, where in (("aerial", "two cores"), ("aerial-gpu", "H200")) for row in _points(name, where)]
    if not rows:
        raise SystemExit("no stored crossover: run benchmarks/aerial.py --part crossover --record")
    rows += _extrapolated(
        [row for row in rows if row["miner"] == "Exact, two cores"], max(row["sensors"] for row in rows)
    )
    names = list(dict.fromkeys(row["miner"] for row in rows))
    sizes = sorted({row["sensors"] for row in rows})
    legend = alt.Legend(orient="right", labelLimit=260, symbolStrokeWidth=2)
    across = alt.Scale(type="log", nice=False, domain=[0.9 * sizes[0], 1.15 * sizes[-1]])
    base = alt.Chart(alt.Data(values=rows), width=520, height=340).encode(
        x=alt.X("sensors:Q", scale=across, title="sensors; all pairs as antecedents", axis=alt.Axis(values=sizes)),
        y=alt.Y(
            "seconds:Q",
            scale=alt.Scale(type="log"),
            title="seconds",
            axis=alt.Axis(values=[10.0**power for power in range(-2, 7)], format="~g"),
        ),
        color=alt.Color("miner:N", title=None, sort=names, legend=legend, scale=alt.Scale(range=COLOURS)),
    )
    dash = alt.StrokeDash(
        "kind:N",
        title=None,
        sort=[MEASURED, EXTRAPOLATED],
        scale=alt.Scale(domain=[MEASURED, EXTRAPOLATED], range=[[1, 0], [5, 4]]),
        legend=alt.Legend(orient="right", labelLimit=260, symbolType="stroke", symbolStrokeWidth=2, symbolSize=300),
    )
    shape = alt.Shape("miner:N", title=None, sort=names, legend=legend, scale=alt.Scale(range=SHAPES))
    points = base.transform_filter(f"datum.kind == '{MEASURED}'").mark_point(filled=True, size=55).encode(shape=shape)
    (base.mark_line().encode(strokeDash=dash) + points).save(str(path))


def _points(name: str, where: str) -> list[dict[str, Any]]:
    path = RESULTS / f"{name}.json"
    stored = json.loads(path.read_text(encoding="utf-8")).get("crossover") if path.exists() else None
    rows = stored["rows"] if stored else []
    return [
        {"sensors": row[0], "seconds": row[2], "miner": f"{row[1]}, {where}", "kind": MEASURED}
        for row in sorted(rows, key=lambda row: (row[1], row[0]))
        if isinstance(row[2], (int, float))
    ]


def _extrapolated(rows: list[dict[str, Any]], largest: int) -> list[dict[str, Any]]:
    """Return the last point and one at the largest size, on the power law through the last three."""
    if len(rows) < 3:
        return []
    power, start = np.polyfit(*np.log([(row["sensors"], row["seconds"]) for row in rows[-3:]]).T, 1)
    end = {**rows[-1], "sensors": largest, "seconds": float(np.exp(start) * largest**power)}
    return [{**row, "kind": EXTRAPOLATED} for row in (rows[-1], end)]
