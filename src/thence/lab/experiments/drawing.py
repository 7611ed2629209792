"""Pictures of journal width, drawn with matplotlib: panels of dots in rows, and panels of curves, each with its legend.

Positions are computed in millimetres from measured texts, so that no text is cut or covers another. The same picture
gives the same bytes. What a picture shows is decided in ``experiments.figures``.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from thence.errors import require

__all__ = ["INK", "Band", "Curves", "Dots", "Entry", "Picture", "Point", "Scale", "Series", "render_pdf", "render_svg"]

INK = "#1d2329"
SOFT = "#5b6670"
LINE = "#d9dee3"
BACK = "#ffffff"
SHADE = "#e4e8ec"
WIDTH = 180.0
"""Width of a picture in millimetres: two columns of a journal."""

_FONT = "DejaVu Sans"
_SMALL, _NORMAL = 7.0, 8.0
_POINT = 25.4 / 72
_DASHES: dict[str, Any] = {
    "solid": "-",
    "dashed": (0, (4, 1.6)),
    "dotted": (0, (1, 1.4)),
    "dash-dot": (0, (5, 1.5, 1, 1.5)),
    "long": (0, (8, 2)),
}


@dataclass(frozen=True)
class Entry:
    """An entry of a legend.

    Args:
        label: Its text.
        colour: Colour of its symbol.
        marker: Marker of matplotlib; none if empty.
        dash: Name of a line style; no line if empty.
        filled: Whether the marker is filled.
        kind: ``"line"`` for lines and markers, ``"spread"`` for the line with ends that shows a spread, ``"band"`` for
            a shaded range, ``"limit"`` for the arrow of a value that is only a lower bound.
    """

    label: str
    colour: str = INK
    marker: str = ""
    dash: str = ""
    filled: bool = True
    kind: str = "line"


@dataclass(frozen=True)
class Point:
    """A value with its spread.

    Args:
        at: Position: the number of the row, or the value of the varied parameter.
        value: The value.
        low: Lower end of the spread; ``None`` if there is none.
        high: Upper end of the spread; ``None`` if there is none.
        least: Whether the value is only a lower bound.
    """

    at: float
    value: float
    low: float | None = None
    high: float | None = None
    least: bool = False


@dataclass(frozen=True)
class Series:
    """Points with one look.

    Args:
        points: The points, in order.
        entries: The entries of the legend that explain the look.
        colour: Colour.
        marker: Marker of matplotlib.
        dash: Name of a line style; no line if empty.
        filled: Whether markers are filled.
    """

    points: tuple[Point, ...]
    entries: tuple[Entry, ...]
    colour: str
    marker: str
    dash: str = ""
    filled: bool = True


@dataclass(frozen=True)
class Band:
    """A shaded range of values in one row.

    Args:
        at: Number of the row.
        low: Lower end.
        high: Upper end.
        entry: The entry of the legend that explains it.
    """

    at: float
    low: float
    high: float
    entry: Entry


@dataclass(frozen=True)
class Scale:
    """An axis.

    Args:
        label: Its title.
        low: Lowest value.
        high: Highest value.
        log: Whether it is logarithmic; below 1 it is linear if ``low`` is 0.
        ticks: Positions of the ticks; chosen if empty.
    """

    label: str
    low: float
    high: float
    log: bool = False
    ticks: tuple[float, ...] = ()


@dataclass(frozen=True)
class Dots:
    """Panels with a value per row, such as the rows of a table: a line of panels per title, a column per scale.

    Args:
        titles: Titles of the lines of panels.
        rows: Names of the rows, per line of panels.
        scales: Scales of the values, per column.
        panels: Series by line and column.
        bands: Shaded ranges by line and column; none if empty.
        pitch: Height of a row in millimetres.
    """

    titles: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    scales: tuple[Scale, ...]
    panels: tuple[tuple[tuple[Series, ...], ...], ...]
    bands: tuple[tuple[tuple[Band, ...], ...], ...] = ()
    pitch: float = 6.0


@dataclass(frozen=True)
class Curves:
    """Panels with values against a parameter: a column of panels per title, a line of panels per scale.

    Args:
        titles: Titles of the columns.
        across: Scales of the parameter, per line of panels.
        scales: Scales of the values, per line of panels.
        panels: Series by line and column.
    """

    titles: tuple[str, ...]
    across: tuple[Scale, ...]
    scales: tuple[Scale, ...]
    panels: tuple[tuple[tuple[Series, ...], ...], ...]


@dataclass(frozen=True)
class Picture:
    """A picture of one or several blocks of panels, one below the other.

    Args:
        blocks: The blocks; each has a legend of its own.
        caption: What is seen.
        spread: The entry of the legend for the lines that show the spread.
    """

    blocks: tuple[Dots | Curves, ...]
    caption: str
    spread: Entry


def render_svg(picture: Picture, *, salt: str) -> str:
    """Return a picture as SVG, with texts as text.

    Args:
        picture: The picture.
        salt: A name of its own, from which the ids of its shapes are made.

    Raises:
        MissingExtraError: The extra ``plots`` is not installed.
    """
    out = io.StringIO()
    with _style(salt):
        _draw(picture).savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    return "\n".join(lines) + "\n"


def render_pdf(picture: Picture) -> bytes:
    """Return a picture as PDF, with embedded fonts.

    Args:
        picture: The picture.

    Raises:
        MissingExtraError: The extra ``plots`` is not installed.
    """
    out = io.BytesIO()
    with _style("pdf"):
        metadata = {"CreationDate": None, "Creator": None, "Producer": None}
        _draw(picture).savefig(out, format="pdf", metadata=metadata)
    return out.getvalue()


@contextmanager
def _style(salt: str) -> Iterator[None]:
    """Set the style, whatever the user's configuration of matplotlib is; the user's is then restored."""
    matplotlib = require("matplotlib", extra="plots")
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(
            {
                "font.family": _FONT,
                "font.size": _SMALL,
                "svg.fonttype": "none",
                "svg.hashsalt": salt,
                "pdf.fonttype": 42,
                "text.color": INK,
                "text.parse_math": False,
                "axes.edgecolor": SOFT,
                "axes.linewidth": 0.5,
                "xtick.color": SOFT,
                "ytick.color": SOFT,
                "xtick.labelcolor": INK,
                "ytick.labelcolor": INK,
                "hatch.color": SOFT,
            }
        )
        yield


def _measure(text: str, size: float, weight: str = "normal") -> float:
    """Return the width of a text in millimetres."""
    widths = [_measure_line(line, size, weight) for line in text.splitlines() if line.strip()]
    return max(widths, default=0.0) * _POINT


@lru_cache(maxsize=10_000)
def _measure_line(line: str, size: float, weight: str) -> float:
    """Return the width of a line in points. Kept, since lines are measured often and each takes milliseconds."""
    fonts = require("matplotlib.font_manager", extra="plots")
    properties = fonts.FontProperties(family=_FONT, size=size, weight=weight)
    path = require("matplotlib.textpath", extra="plots").TextPath
    return float(path((0, 0), line, prop=properties).get_extents().width)


def _wrap(text: str, width: float, size: float = _SMALL, weight: str = "normal") -> str:
    """Return a text in lines of at most ``width`` millimetres; a longer word has a line of its own."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and _measure(longer, size, weight) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return "\n".join(lines)


@dataclass
class _Sheet:
    """A figure of matplotlib on which positions are millimetres from the left and from the top."""

    figure: Any
    height: float

    def panel(self, left: float, top: float, width: float, height: float) -> Any:
        place = (left / WIDTH, 1 - (top + height) / self.height, width / WIDTH, height / self.height)
        axes = self.figure.add_axes(place)
        axes.tick_params(length=2, width=0.5, pad=1.5, labelsize=_SMALL)
        axes.set_axisbelow(True)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        return axes

    def text(self, left: float, top: float, text: str, **look: Any) -> Any:
        return self.figure.text(left / WIDTH, 1 - top / self.height, text, **{"va": "top", "size": _SMALL, **look})

    def line(self, xs: Sequence[float], ys: Sequence[float], **look: Any) -> None:
        line = require("matplotlib.lines", extra="plots").Line2D
        at = [x / WIDTH for x in xs], [1 - y / self.height for y in ys]
        self.figure.add_artist(line(*at, transform=self.figure.transFigure, **look))


def _draw(picture: Picture) -> Any:
    figure_of = require("matplotlib.figure", extra="plots").Figure
    legends = [_list_entries(block, picture.spread) for block in picture.blocks]
    heights = [_plan(block).height + _flow(entries)[1] for block, entries in zip(picture.blocks, legends, strict=True)]
    total = sum(heights) + 2.0
    figure = figure_of(figsize=(WIDTH / 25.4, total / 25.4), facecolor=BACK)
    sheet = _Sheet(figure, total)
    top, count = 1.0, 0
    for block, entries, height in zip(picture.blocks, legends, heights, strict=True):
        plan = _plan(block)
        if isinstance(block, Dots):
            _draw_dots(sheet, block, plan, top)
        else:
            _draw_curves(sheet, block, plan, top)
        count = _draw_legend(sheet, entries, top + plan.height, count)
        top += height
    return figure


def _list_series(block: Dots | Curves) -> Iterator[Series]:
    for line in block.panels:
        for panel in line:
            yield from panel


def _list_entries(block: Dots | Curves, spread: Entry) -> list[Entry]:
    """Return the entries of what is drawn, and of nothing else."""
    drawn = [series for series in _list_series(block) if series.points]
    points = [point for series in drawn for point in series.points]
    found = dict.fromkeys(entry for series in drawn for entry in series.entries)
    if isinstance(block, Dots):
        found |= dict.fromkeys(band.entry for line in block.bands for cell in line for band in cell)
    if any(point.low is not None for point in points):
        found[spread] = None
    if any(point.least for point in points):
        found[Entry("at least this many: the search stopped at its limit", kind="limit")] = None
    # What colours and markers mean comes before what line styles mean.
    return sorted(found, key=lambda entry: (entry.kind != "line", entry.colour == INK))


@dataclass(frozen=True)
class _Plan:
    """Where the panels of a block are, in millimetres below its top."""

    left: float
    width: float
    gap: float
    tops: tuple[float, ...]
    heights: tuple[float, ...]
    height: float


_RIGHT = 4.0
_LABELS, _WIDE_LABELS = 42.0, 62.0


def _plan(block: Dots | Curves) -> _Plan:
    return _plan_dots(block) if isinstance(block, Dots) else _plan_curves(block)


def _label_width(block: Dots) -> float:
    """Return the width of the names of rows: a row has room for two lines."""
    names = [name for rows in block.rows for name in rows]
    return _LABELS if all(_wrap(name, _LABELS).count("\n") < 2 for name in names) else _WIDE_LABELS


def _plan_dots(block: Dots) -> _Plan:
    room = _label_width(block)
    names = [_wrap(name, room) for rows in block.rows for name in rows]
    left = max((_measure(name, _SMALL) for name in names), default=0.0) + 3.0
    gap = 5.0
    count = len(block.scales)
    width = (WIDTH - left - _RIGHT - gap * (count - 1)) / count
    tops, heights, top = [], [], 0.0
    for title, rows in zip(block.titles, block.rows, strict=True):
        top += 5.0 if title else 1.5
        tops.append(top)
        heights.append(len(rows) * block.pitch)
        top += heights[-1] + 4.5
    labels = max(_wrap(scale.label, width + gap - 1.0, _NORMAL).count("\n") for scale in block.scales)
    return _Plan(left, width, gap, tuple(tops), tuple(heights), top + 4.0 + 3.4 * labels)


def _plan_curves(block: Curves) -> _Plan:
    left, gap, panel = 16.0, 6.0, 24.0
    count = len(block.titles)
    width = min((WIDTH - left - _RIGHT - gap * (count - 1)) / count, 80.0)
    lines = max(_wrap(title, width, _NORMAL, "bold").count("\n") + 1 for title in block.titles)
    tops, top = [], 1.6 + 3.5 * lines
    for number, across in enumerate(block.across):
        tops.append(top)
        last = number + 1 == len(block.across) or block.across[number + 1].label != across.label
        top += panel + (9.0 if last else 5.5)
    return _Plan(left, width, gap, tuple(tops), (panel,) * len(tops), top + 0.5)


def _draw_dots(sheet: _Sheet, block: Dots, plan: _Plan, top: float) -> None:
    room = _label_width(block)
    for number, (title, rows) in enumerate(zip(block.titles, block.rows, strict=True)):
        upper = top + plan.tops[number]
        if title:
            sheet.text(1.0, upper - 4.3, title, size=_NORMAL, weight="bold")
        for column, scale in enumerate(block.scales):
            left = plan.left + column * (plan.width + plan.gap)
            axes = sheet.panel(left, upper, plan.width, plan.heights[number])
            axes.set_ylim(len(rows) - 0.5, -0.5)
            names = [_wrap(name, room) for name in rows] if column == 0 else []
            axes.set_yticks(range(len(rows)) if names else [], names)
            axes.tick_params(axis="y", length=0)
            for row in range(1, len(rows)):
                axes.axhline(row - 0.5, color=LINE, linewidth=0.4)
            _set_scale(axes, "x", scale)
            axes.grid(axis="x", color=LINE, linewidth=0.4)
            for band in block.bands[number][column] if block.bands else ():
                _fill(axes, band)
            for series in block.panels[number][column]:
                _draw_points(axes, series, across=False)
            if number + 1 == len(block.titles):
                below = upper + plan.heights[number] + 4.5
                text = _wrap(scale.label, plan.width + plan.gap - 1.0, _NORMAL)
                sheet.text(left + plan.width / 2, below, text, size=_NORMAL, ha="center")


def _fill(axes: Any, band: Band) -> None:
    axes.fill_betweenx([band.at - 0.42, band.at + 0.42], band.low, band.high, facecolor=SHADE, edgecolor=SOFT, lw=0.4)


def _draw_curves(sheet: _Sheet, block: Curves, plan: _Plan, top: float) -> None:
    for column, title in enumerate(block.titles):
        left = plan.left + column * (plan.width + plan.gap)
        text = _wrap(title, plan.width, _NORMAL, "bold")
        sheet.text(left + plan.width / 2, top + 0.6, text, size=_NORMAL, weight="bold", ha="center")
        for number, (across, scale) in enumerate(zip(block.across, block.scales, strict=True)):
            upper = top + plan.tops[number]
            axes = sheet.panel(left, upper, plan.width, plan.heights[number])
            _set_scale(axes, "x", across)
            _set_scale(axes, "y", scale)
            axes.grid(axis="y", color=LINE, linewidth=0.4)
            if column:
                axes.tick_params(axis="y", labelleft=False)
            else:
                middle = upper + plan.heights[number] / 2
                text = _wrap(scale.label, plan.heights[number] + 4.0, _NORMAL)
                sheet.text(
                    0.8, middle, text, size=_NORMAL, rotation=90, va="center", ha="left", multialignment="center"
                )
            panel = [series for series in block.panels[number][column] if series.points]
            for series in panel:
                _draw_points(axes, series, across=True)
            if not panel:
                axes.text(0.5, 0.5, "not measured", transform=axes.transAxes, ha="center", va="center", color=SOFT)
            last = number + 1 == len(block.across) or block.across[number + 1].label != across.label
            if last:
                below = upper + plan.heights[number] + 4.5
                sheet.text(left + plan.width / 2, below, across.label, size=_NORMAL, ha="center")


def _draw_points(axes: Any, series: Series, *, across: bool) -> None:
    """Draw a series with its spread; ``across`` if positions are on the horizontal axis."""
    look: dict[str, Any] = {"color": series.colour, "linewidth": 0.8}
    ends = [(p.at, p.low, p.high) for p in series.points if p.low is not None and p.high is not None]
    if ends:
        places, lows, highs = (list(part) for part in zip(*ends, strict=True))
        (axes.vlines if across else axes.hlines)(places, lows, highs, colors=series.colour, linewidth=0.8)
        caps = [*lows, *highs], places * 2
        axes.plot(*(reversed(caps) if across else caps), **_cap_look(series.colour, "_" if across else "|"))
    for point in (point for point in series.points if point.least):
        where = (point.at, point.value) if across else (point.value, point.at)
        arrow = {"arrowstyle": "<-", "color": series.colour, "lw": 0.9, "shrinkA": 0, "shrinkB": 0}
        axes.annotate("", xy=where, xytext=(0, 10) if across else (10, 0), textcoords="offset points", arrowprops=arrow)
    places, values = [p.at for p in series.points], [p.value for p in series.points]
    axes.plot(
        *((places, values) if across else (values, places)),
        linestyle=_DASHES[series.dash] if series.dash else "none",
        marker=series.marker,
        clip_on=False,
        zorder=3,
        **{**look, **_marker_look(series.colour, series.filled)},
    )


def _cap_look(colour: str, marker: str) -> dict[str, Any]:
    return {"color": colour, "marker": marker, "markersize": 2.6, "markeredgewidth": 0.7, "linestyle": "none"}


def _marker_look(colour: str, filled: bool) -> dict[str, Any]:
    return {
        "markersize": 3.6,
        "markerfacecolor": colour if filled else BACK,
        "markeredgecolor": BACK if filled else colour,
        "markeredgewidth": 0.3 if filled else 0.8,
    }


def _set_scale(axes: Any, which: str, scale: Scale) -> None:
    """Set limits and ticks; a margin keeps markers inside the panel."""
    axis = getattr(axes, f"{which}axis")
    set_limits = getattr(axes, f"set_{which}lim")
    if scale.log:
        if scale.low <= 0:
            getattr(axes, f"set_{which}scale")("symlog", linthresh=1.0, linscale=0.8)
            set_limits(-0.12, scale.high * 1.6)
        else:
            getattr(axes, f"set_{which}scale")("log")
            set_limits(scale.low / 1.6, scale.high * 1.6)
    else:
        margin = (0.06 if scale.ticks else 0.04) * (scale.high - scale.low)
        set_limits(scale.low - margin, scale.high + margin)
    ticks = scale.ticks or _choose_ticks(scale)
    axis.set_ticks(list(ticks), [format_tick(tick) for tick in ticks])
    axis.set_ticks([], minor=True)


def _choose_ticks(scale: Scale) -> tuple[float, ...]:
    if not scale.log:
        step = _choose_step((scale.high - scale.low) / 4)
        first = math.ceil(scale.low / step - 1e-9)
        last = math.floor(scale.high / step + 1e-9)
        return tuple(round(number * step, 10) for number in range(first, last + 1))
    first = 0 if scale.low <= 0 else math.ceil(math.log10(scale.low / 1.6))
    last = math.floor(math.log10(scale.high * 1.6))
    if last - first < 2 and scale.low > 0:
        found = [factor * 10.0**power for power in range(first - 1, last + 1) for factor in (1, 2, 5)]
        return tuple(tick for tick in found if scale.low / 1.6 <= tick <= scale.high * 1.6)
    step = max(1, math.ceil((last - first) / 4))
    found = [10.0**power for power in range(first, last + 1, step)]
    return (0.0, *found) if scale.low <= 0 else tuple(found)


def _choose_step(least: float) -> float:
    """Return the smallest of 1, 2, 2.5 and 5 times a power of ten that is at least ``least``."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= least * (1 - 1e-9))


def format_tick(value: float) -> str:
    """Return the text of a tick.

    >>> [format_tick(value) for value in (0, 0.25, 50, 10_000, 2_500_000)]
    ['0', '0.25', '50', '10k', '2.5M']
    """
    for unit, name in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= unit:
            return f"{value / unit:g}{name}"
    return f"{value:g}".replace("-", "−")


_HANDLE, _PITCH = 7.0, 4.1


def _flow(entries: Sequence[Entry]) -> tuple[list[tuple[float, float]], float]:
    """Return where the entries of a legend are, in lines of the width of the picture, and the height of all."""
    places: list[tuple[float, float]] = []
    left, top = 1.0, 0.5
    for entry in entries:
        width = _HANDLE + 1.5 + _measure(entry.label, _SMALL) * 1.03 + 4.0
        if places and left + width > WIDTH:
            left, top = 1.0, top + _PITCH
        places.append((left, top))
        left += width
    return places, top + _PITCH + 2.0 if places else 0.0


def _draw_legend(sheet: _Sheet, entries: Sequence[Entry], top: float, count: int) -> int:
    """Draw a legend; return the number of entries of all legends so far."""
    for number, (entry, (left, down)) in enumerate(zip(entries, _flow(entries)[0], strict=True), start=count):
        middle = top + down + _PITCH / 2
        ends = [left, left + _HANDLE]
        gid = f"legend-{number}-symbol"
        if entry.kind == "band":
            patch = require("matplotlib.patches", extra="plots").Rectangle
            low = 1 - (middle + 1.3) / sheet.height
            place = ((left + 1) / WIDTH, low), (_HANDLE - 2) / WIDTH, 2.6 / sheet.height
            look = {"facecolor": SHADE, "edgecolor": SOFT, "linewidth": 0.4, "transform": sheet.figure.transFigure}
            sheet.figure.add_artist(patch(*place, gid=gid, **look))
        elif entry.kind == "spread":
            look = {**_cap_look(entry.colour, "|"), "linestyle": "-", "linewidth": 0.8}
            sheet.line([left + 1, left + _HANDLE - 1], [middle] * 2, gid=gid, **look)
        elif entry.kind == "limit":
            sheet.line([left, left + 5.0], [middle] * 2, color=entry.colour, linewidth=0.9, gid=gid)
            sheet.line(
                [left + 4.0, left + 5.0, left + 4.0],
                [middle - 0.7, middle, middle + 0.7],
                color=entry.colour,
                linewidth=0.9,
            )
        else:
            if entry.dash:
                sheet.line(
                    ends, [middle] * 2, color=entry.colour, linewidth=0.9, linestyle=_DASHES[entry.dash], gid=gid
                )
            if entry.marker:
                look = _marker_look(entry.colour, entry.filled)
                gid = f"{gid}-marker" if entry.dash else gid
                sheet.line([left + _HANDLE / 2], [middle], marker=entry.marker, linestyle="none", gid=gid, **look)
        sheet.text(left + _HANDLE + 1.5, middle, entry.label, va="center_baseline", gid=f"legend-{number}-label")
    return count + len(entries)
