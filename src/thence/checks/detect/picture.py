"""A picture of alarms: the score over time, the threshold, labelled periods, and the places that were located."""

from __future__ import annotations

from datetime import UTC, datetime

import polars as pl

from thence._base.display.svg import Axis, Chart, axis, frame, line, mark, nice_ticks, text
from thence.checks.detect.detection import Alarm, Detection

__all__ = ["draw_alarms"]

_POINTS = 4_000
_SCORE, _LABEL, _ALARM = "#1f6f8b", "#f2c14e", "#c0392b"
_LEFT, _RIGHT, _HEIGHT = 64, 824, 268
_HOUR = 3600.0
_STEPS = tuple(_HOUR * hours for hours in (1 / 60, 1 / 12, 1 / 4, 1, 3, 6, 12, 24, 48, 168, 336, 720, 2184, 8760))


def draw_alarms(detection: Detection, labels: pl.DataFrame | None = None, *, title: str = "") -> Chart:
    """Draw the score over time with its threshold, the labelled periods, and where each alarm was located.

    Args:
        detection: The detection.
        labels: Labelled periods, as ``System.labels``; they are drawn and not used.
        title: The title.

    Returns:
        The chart, which a notebook shows and ``chart.save`` writes.
    """
    frames = detection.frame
    step = -(-frames.height // _POINTS)
    # The greatest score of several windows, so that no alarm is lost between two points.
    coarse = frames.group_by_dynamic("time", every=f"{step * round(detection.calibration.every * 3600)}s").agg(
        pl.col("score").max()
    )
    times = [moment.timestamp() for moment in coarse["time"].to_list()]
    scores = [float("nan") if score is None else score for score in coarse["score"].to_list()]
    x = axis(times, _LEFT, _RIGHT)
    y = axis((0.0, 1.0, *scores, *(alarm.peak for alarm in detection.alarms)), _HEIGHT, 8)
    parts = [frame(x, y, _moments(x), nice_ticks(y), labels=("", "score, in units of the threshold"))]
    for row in [] if labels is None else labels.to_dicts():
        start, end = (min(max(x(row[name].timestamp()), _LEFT), _RIGHT) for name in ("start", "end"))
        tip = f"{row['label']} at {row['subject']}, {row['start']:%Y-%m-%d %H:%M} to {row['end']:%Y-%m-%d %H:%M}"
        parts.append(mark("rect", tip, x=start, y=8, width=end - start, height=_HEIGHT - 8, fill=_LABEL, opacity=0.35))
    parts.append(line([(x(at), y(score)) for at, score in zip(times, scores, strict=True)], stroke=_SCORE))
    parts.append(line([(_LEFT, y(1.0)), (_RIGHT, y(1.0))], stroke=_ALARM, stroke_dasharray="5 3"))
    for alarm in detection.alarms:
        across, up, place = x(alarm.start.timestamp()), y(alarm.peak), _label(alarm, detection)
        tip = f"{alarm.start:%Y-%m-%d %H:%M}, score {alarm.peak:.2f}"
        parts.append(mark("circle", tip, cx=across, cy=up, r=3.5, fill=_ALARM))
        parts.append(text(across - 6, up - 6, place, text_anchor="end", fill=_ALARM))
    subtitle = "dashed: threshold; dots: alarms, with the place of those that last" + _yellow(labels)
    return Chart(_RIGHT + 16, _HEIGHT + 24, "".join(parts), title, subtitle)


def _moments(x: Axis) -> dict[float, str]:
    """Ticks of an axis of time, in UTC."""
    step = next((step for step in _STEPS if (x.high - x.low) / step <= 8), _STEPS[-1])
    form = "%Y-%m-%d" if step >= 24 * _HOUR else "%m-%d %H:%M"
    moments = (at * step for at in range(-int(-x.low // step), int(x.high // step) + 1))
    return {at: datetime.fromtimestamp(at, UTC).strftime(form) for at in moments}


def _label(alarm: Alarm, detection: Detection) -> str:
    """The place of an alarm that lasts longer than the memory; short ones would hide each other."""
    hours = (alarm.end - alarm.start).total_seconds() / 3600
    return alarm.places[0] if alarm.places and hours > detection.calibration.memory else ""


def _yellow(labels: pl.DataFrame | None) -> str:
    names = [] if labels is None else labels["label"].unique().sort().to_list()
    return f"; yellow: {', '.join(names)}" if names else ""
