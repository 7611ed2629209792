"""A picture of an alarm: the score over time, the threshold, labelled periods, and the located node; with Altair."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from thence.checks.detect.detection import Alarm, Detection
from thence.errors import ConfigError, require

_SUFFIXES = (".svg", ".png", ".html", ".json")
_POINTS = 4_000
_SCORE, _LABEL, _ALARM = "#1f6f8b", "#f2c14e", "#c0392b"


def draw_alarms(detection: Detection, labels: pl.DataFrame | None = None, *, title: str = "") -> Any:
    """Draw the score over time with its threshold, the labelled periods, and where each alarm was located.

    Args:
        detection: The detection.
        labels: Labelled periods, as ``System.labels``; they are drawn and not used.
        title: The title.

    Returns:
        An ``altair.Chart``, which a notebook shows and ``chart.save`` writes.
    """
    altair = require("altair", extra="plots")
    frame = detection.frame
    step = -(-frame.height // _POINTS)
    # The greatest score of several windows, so that no alarm is lost between two points.
    coarse = frame.group_by_dynamic("time", every=f"{step * round(detection.calibration.every * 3600)}s").agg(
        pl.col("score").max()
    )
    layers = []
    if labels is not None and labels.height:
        shown = labels.select(pl.col("start", "end"), pl.concat_str("label", "subject", separator=" at ").alias("what"))
        layers.append(
            altair.Chart(_rows(shown))
            .mark_rect(opacity=0.35, color=_LABEL)
            .encode(x="start:T", x2="end:T", tooltip=["what:N", "start:T", "end:T"])
        )
    layers.append(
        altair.Chart(_rows(coarse))
        .mark_line(strokeWidth=1, color=_SCORE)
        .encode(x=altair.X("time:T", title=None), y=altair.Y("score:Q", title="score, in units of the threshold"))
    )
    layers.append(
        altair.Chart(_rows(pl.DataFrame({"y": [1.0]}))).mark_rule(strokeDash=[5, 3], color=_ALARM).encode(y="y:Q")
    )
    told = pl.DataFrame(
        [(alarm.start, alarm.peak, _label(alarm, detection)) for alarm in detection.alarms],
        schema={"time": pl.Datetime("us", "UTC"), "peak": pl.Float64, "where": pl.String},
        orient="row",
    )
    marks = altair.Chart(_rows(told)).encode(x="time:T", y="peak:Q")
    layers += [
        marks.mark_point(color=_ALARM, filled=True, size=40),
        marks.mark_text(align="right", dx=-6, dy=-6, color=_ALARM).encode(text="where:N"),
    ]
    heading = altair.Title(
        title, subtitle="dashed: threshold; dots: alarms, with the place of those that last" + _yellow(labels)
    )
    return altair.layer(*layers).properties(width=760, height=260, title=heading)


def _label(alarm: Alarm, detection: Detection) -> str:
    """The place of an alarm that lasts longer than the memory; short ones would hide each other."""
    hours = (alarm.end - alarm.start).total_seconds() / 3600
    return alarm.places[0] if alarm.places and hours > detection.calibration.memory else ""


def _yellow(labels: pl.DataFrame | None) -> str:
    names = [] if labels is None else labels["label"].unique().sort().to_list()
    return f"; yellow: {', '.join(names)}" if names else ""


def _rows(frame: pl.DataFrame) -> Any:
    altair = require("altair", extra="plots")
    times = [name for name, kind in frame.schema.items() if isinstance(kind, pl.Datetime)]
    text = frame.with_columns(pl.col(times).dt.strftime("%Y-%m-%dT%H:%M:%SZ")) if times else frame
    return altair.Data(values=text.to_dicts())


def require_picture(path: str | Path) -> str:
    """Return the suffix of a picture, in lower case, if it can be written.

    Args:
        path: The file.

    Raises:
        ConfigError: If the suffix is not one of a picture.
        MissingExtraError: If a package is missing that it needs.
    """
    target = Path(path)
    suffix = target.suffix.lower()
    if suffix not in _SUFFIXES:
        raise ConfigError(f"a picture cannot be written as '{target.name}'", hint=f"end it in {', '.join(_SUFFIXES)}")
    require("altair", extra="plots")
    if suffix != ".json":  # a page of its own needs the library too
        require("vl_convert", extra="plots")
    return suffix


def save_picture(chart: Any, path: str | Path) -> Path:
    """Write a chart; the suffix says the format.

    Args:
        chart: The chart.
        path: A file ending in .svg, .png, .html or .json.
    """
    target = Path(path)
    suffix = require_picture(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    chart.save(str(target), **({"inline": True} if suffix == ".html" else {}))
    return target
