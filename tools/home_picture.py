"""The picture of the home page and of the README: a control of net3, found and as its network file states it.

Simulates net3, finds its controls, reads those of the file, and draws both over some days of the level, in light and in
dark colours::

    python -m tools.home_picture
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from types import MappingProxyType

import altair as alt
import polars as pl

import thence as th
from thence.lab.datasets.library import true_controls

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "img"
LEVEL, PUMP = "level_1", "status_335"
DAYS = (datetime(2024, 1, 10), datetime(2024, 1, 15))
Colours = Mapping[str, str]
THEMES: Mapping[str, Colours] = MappingProxyType(
    {
        "light": {"back": "#ffffff", "ink": "#17212b", "soft": "#55606b", "line": "#0a5c9e", "warm": "#b84600"},
        "dark": {"back": "#12171c", "ink": "#e6ebf0", "soft": "#a5b0bb", "line": "#7cc0f5", "warm": "#ff9a52"},
    }
)
FONT = "DejaVu Sans"
WIDTH, HEIGHT = 470, 300  # pixels, without the labels at the right


def main() -> None:
    """Find the control, and draw it."""
    net3 = th.datasets.load("net3", step_minutes=5)
    found = [one for one in th.find_controls(net3, progress="off") if one.actuator_feature.place == "Pump 335"]
    stated = [one for one in true_controls("net3", net3.sensors) if one.actuator == PUMP]
    frame = net3.between(*(f"{day:%Y-%m-%d}" for day in DAYS)).sensors.to_polars().select("time", LEVEL, PUMP)
    limits = pl.DataFrame(
        {
            "found": [one.threshold for one in sorted(found, key=lambda one: one.threshold)],
            "stated": sorted(one.threshold for one in stated),
            "change": ["starts below", "stops above"],
        }
    )
    for name, colours in THEMES.items():
        draw(frame, limits, colours).save(IMAGES / f"home-{name}.png", scale_factor=2)


def runs_of(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the periods in which the pump runs: ``start`` and ``end``."""
    runs = frame.with_columns(run=(pl.col(PUMP) != pl.col(PUMP).shift()).fill_null(value=True).cum_sum())
    periods = runs.group_by("run", PUMP).agg(start=pl.col("time").min(), end=pl.col("time").max()).sort("start")
    return periods.filter(pl.col(PUMP) == "open").select("start", "end")


def draw(frame: pl.DataFrame, limits: pl.DataFrame, colours: Colours) -> alt.LayerChart:
    """Return the chart.

    Args:
        frame: Time, level and state of the pump.
        limits: The thresholds, ``found`` and ``stated``, and the ``change`` at each.
        colours: Colours by name.
    """
    said = limits.with_columns(
        pl.format("{} {} m", "change", pl.col("found").round(2)).alias("mine"),
        pl.format("network file: {} m", pl.col("stated").round(4)).alias("theirs"),
    )
    time = alt.X("time:T", title=None, axis=alt.Axis(format="%-d %b", tickCount="day", grid=False))
    low, high = frame[LEVEL].min(), frame[LEVEL].max()
    level = alt.Y(
        f"{LEVEL}:Q",
        title="level of Tank 1, m",
        scale=alt.Scale(domain=[low - 0.1, high + 0.1], zero=False, nice=False),
        axis=alt.Axis(grid=False, tickCount=5),
    )
    shades = alt.Chart(runs_of(frame)).mark_rect(color=colours["line"], opacity=0.2).encode(x="start:T", x2="end:T")
    line = alt.Chart(frame).mark_line(color=colours["line"], strokeWidth=1.8).encode(x=time, y=level)
    found = alt.Chart(said).mark_rule(color=colours["warm"], strokeWidth=2.4).encode(y="found:Q")
    stated = alt.Chart(said).mark_rule(color=colours["ink"], strokeDash=[2, 6], strokeWidth=2.4).encode(y="stated:Q")
    labels = [
        alt.Chart(said)
        .mark_text(align="left", dx=8, dy=dy, color=colours[colour], fontSize=size, fontWeight=weight)
        .encode(x=alt.value(WIDTH), y="found:Q", text=text)
        for text, dy, colour, size, weight in (
            ("mine:N", -4, "warm", 13, "bold"),
            ("theirs:N", 11, "soft", 11, "normal"),
        )
    ]
    chart = alt.layer(shades, line, found, stated, *labels, width=WIDTH, height=HEIGHT, background=colours["back"])
    return chart.properties(
        title=alt.TitleParams(
            "Pump 335: thresholds found in readings alone (orange) and stated in the file (dotted); shaded: it runs",
            anchor="start",
            color=colours["soft"],
            fontWeight="normal",
            fontSize=12,
        ),
        padding=12,
    ).configure(
        font=FONT,
        view=alt.ViewConfig(stroke=None),
        axis=alt.AxisConfig(
            labelColor=colours["soft"],
            titleColor=colours["soft"],
            domainColor=colours["soft"],
            tickColor=colours["soft"],
            labelFontSize=12,
            titleFontSize=12,
            titleFontWeight="normal",
        ),
    )


if __name__ == "__main__":
    main()
