"""The figure of an experiment: which numbers it shows, how they look, its caption, and its drawing with matplotlib.

Pictures are made from ``Results`` only, and are as wide as a journal: panels of dots in rows, and panels of curves,
each with its legend. Positions are computed in millimetres from measured texts, so that no text is cut or covers
another. The same picture gives the same bytes.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from thence.errors import require
from thence.lab.experiments.files import VARIANT_LABELS, VARIANTS, experiment_names, read_experiment
from thence.lab.experiments.results import Cell, Results, RowKey
from thence.lab.experiments.samples import find_dataset_setup

COLOURS = {"ink": "#1d2329", "soft": "#5b6670", "line": "#d9dee3", "back": "#ffffff", "shade": "#e4e8ec"}
"""Colours of text, lines and backgrounds; a page may replace them by its own."""
INK, SOFT, LINE, BACK, SHADE = COLOURS.values()

# What a picture is ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LegendEntry:
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
class PlotSeries:
    """Points with one look.

    Args:
        entries: The entries of the legend that explain the look.
        colour: Colour.
        marker: Marker of matplotlib.
        dash: Name of a line style; no line if empty.
        filled: Whether markers are filled.
        points: The points, in order.
    """

    entries: tuple[LegendEntry, ...]
    colour: str
    marker: str
    dash: str = ""
    filled: bool = True
    points: tuple[Point, ...] = ()


Panel = tuple[PlotSeries, ...]
Band = tuple[int, float, float]
"""A shaded range of values: the number of the row, and both ends."""


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
        pitch: Height of a row in millimetres.
        bands: Shaded ranges in the last column, per line of panels; none if empty.
    """

    titles: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    scales: tuple[Scale, ...]
    panels: tuple[tuple[Panel, ...], ...]
    pitch: float
    bands: tuple[tuple[Band, ...], ...] = ()


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
    panels: tuple[tuple[Panel, ...], ...]


@dataclass(frozen=True)
class Picture:
    """A picture of one or several blocks of panels, one below the other.

    Args:
        blocks: The blocks; each has a legend of its own.
        caption: What is seen.
    """

    blocks: tuple[Dots | Curves, ...]
    caption: str


# What the pictures show -----------------------------------------------------------------------------------------------

# Colours of Okabe and Ito, which people with a colour vision deficiency can tell apart, on white and on black.
_GREY, _PURPLE, _RED, _BLUE, _GREEN, _OCHRE = "#6b7280", "#cc79a7", "#d55e00", "#0072b2", "#009e73", "#997700"
_VARIANT_LOOKS = {
    "paper": (_GREY, "D", "dotted"),
    "published": (_PURPLE, "^", "dash-dot"),
    "faithful": (_RED, "s", "solid"),
    "corrected": (_BLUE, "o", "dashed"),
    "lifted": (_GREEN, "v", "long"),
}
_METHOD_LOOKS = ((_BLUE, "o"), (_RED, "s"), (_GREEN, "^"), (_PURPLE, "D"), (_OCHRE, "v"), (_GREY, "P"))
_CONDITION_DASHES = ("solid", "dashed", "dotted", "dash-dot", "long")
_LABELS = {
    "rules": "rules",
    "support": "mean support",
    "rule_coverage": "mean rule coverage",
    "confidence": "mean confidence",
    "zhang": "mean Zhang",
    "data_coverage": "data coverage",
    "static_consequents": "static consequents",
    "seconds": "CPU seconds",
}
_LOW, _HIGH = 0.1, 0.9
_LOGARITHMIC = ("rules", "seconds")
_READING = (
    "Points are means over the repeats, lines reach from their 10th to their 90th percentile; a point without a line "
    "is a published number, a single repeat, or has repeats that hardly differ."
)
_OPTIMISERS = ("DE", "GA", "PSO", "LSHADE", "jDE")


def build_picture(results: Results) -> Picture | None:
    """Return the figure of an experiment; ``None`` where a table says as much: no panel would have two rows or points.

    Args:
        results: Numbers of the experiment.
    """
    kinds: Mapping[str, Callable[[Results], Picture | None]] = {
        "semantics-time": _picture_times,
        "sweeps": _picture_sweeps,
        "evaluations": _picture_evaluations,
        "thresholds": _picture_trends,
        "complexity": _picture_complexity,
    }
    usual = _picture_trends if results.experiment.at_sensors else _picture_rows
    return kinds.get(results.experiment.figure, usual)(results)


def _point(at: float, cell: Cell, *, least: bool = False) -> Point:
    low, high = (cell.quantile(_LOW), cell.quantile(_HIGH)) if len(cell.values) > 1 else (None, None)
    return Point(at, cell.mean, low, high, least)


def _make_scale(metric: str, series: Iterable[PlotSeries], *, whole: bool) -> Scale:
    """Return the scale for the values of a metric; ``whole`` if shares are shown on a scale from 0 to 1."""
    points = [point for one in series for point in one.points]
    lows = [point.value if point.low is None else min(point.low, point.value) for point in points]
    highs = [point.value if point.high is None else max(point.high, point.value) for point in points]
    low, high = min(lows, default=0.0), max(highs, default=1.0)
    if metric in _LOGARITHMIC and any(point.least for point in points):
        high *= 3  # room for the arrows
    label = _LABELS[metric]
    if metric in _LOGARITHMIC:
        if metric == "rules" and low < 1:
            return Scale(f"{label} (log. from 1)", 0.0, max(high, 10.0), log=True)
        low, high = (low, high) if low > 0 else (min((v for v in highs if v > 0), default=0.1), max(high, 1.0))
        if high < 10 * low:
            middle = math.sqrt(low * high)
            low, high = min(low, middle / 3.2), max(high, middle * 3.2)
        return Scale(f"{label} (log.)", low, high, log=True)
    if whole:
        return Scale(label, 0.5 if low >= 0.5 else 0.0 if low >= 0 else -1.0 if low < -0.25 else -0.25, 1.0)
    low, high = math.floor(low * 10 + 1e-9) / 10, math.ceil(high * 10 - 1e-9) / 10
    return Scale(label, min(low, high - 0.1), high)


def _list_variants(results: Results) -> list[str]:
    present = {variant for _, variant, _, _ in results.cells}
    return [variant for variant in VARIANTS if variant in present]


def _list_rows(results: Results) -> list[str]:
    return list(dict.fromkeys(key[0] for dataset in results.datasets for key in results.keys(dataset)))


def _join(names: Sequence[str]) -> str:
    """Return names as the beginning of a sentence."""
    text = names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]
    return f"{text[0].upper()}{text[1:]}"


def _list_tracks(results: Results) -> dict[str, list[tuple[str, str, RowKey]]]:
    """Return the rows of each data set with their names, in the order of the experiment file, if that names them."""
    order = list(results.experiment.rows.values())
    found = {}
    for dataset in results.datasets:
        keys = sorted(results.keys(dataset), key=lambda key: order.index(key[0]) if key[0] in order else len(order))
        at = results.experiment.at or "at"
        found[dataset] = [(key[0] if key[1] is None else f"{key[0]}, {at} {key[1]:g}", dataset, key) for key in keys]
    return found


def _picture_rows(results: Results) -> Picture | None:
    """Show the rows of a table with their sources; a row per data set where the table has one row only."""
    present = results.metrics()
    wanted = ["support", "confidence", "zhang", "rules"]
    if results.experiment.id.startswith("ablation"):
        wanted.append("static_consequents")
    metrics = [metric for metric in wanted if metric in present] or present[:4]
    tracks = _list_tracks(results)
    single = all(len(rows) <= 1 for rows in tracks.values())
    if single and len(tracks) < 2:
        return None
    named = {find_dataset_setup(dataset).label: rows for dataset, rows in tracks.items() if rows}
    if single:
        named = {"": [(label, dataset, key) for label, rows in named.items() for _, dataset, key in rows]}
    variants = _list_variants(results)
    panels = tuple(
        tuple(_list_row_series(results, rows, variants, metric) for metric in metrics) for rows in named.values()
    )
    scales = tuple(
        _make_scale(metric, [one for line in panels for one in line[column]], whole=True)
        for column, metric in enumerate(metrics)
    )
    names = tuple(tuple(name for name, _, _ in rows) for rows in named.values())
    block = Dots(tuple(named), names, scales, panels, pitch=max(6.0, 1.4 * len(variants)))
    what = "on each data set" if single else "of each row of the table, by data set"
    short = " w-s: with semantics, wo-s: without." if any(_split_row(one)[1] for part in names for one in part) else ""
    metrics_text = _join([_LABELS[metric] for metric in metrics])
    return Picture((block,), f"{metrics_text} {what}; colour and shape are the source of the number.{short} {_READING}")


def _list_row_series(
    results: Results, rows: Sequence[tuple[str, str, RowKey]], variants: Sequence[str], metric: str
) -> Panel:
    return tuple(
        _dot_series(
            variant,
            (
                _point(place + shift, cell, least=metric == "rules" and results.stopped(dataset, variant, key))
                for place, (_, dataset, key) in enumerate(rows)
                if (cell := results.cell(dataset, variant, key, metric)) is not None
            ),
        )
        for variant, shift in _shift_variants(variants)
    )


def _shift_variants(variants: Sequence[str]) -> Iterator[tuple[str, float]]:
    """Yield where the sources of a row lie: below each other, so that equal values do not hide each other."""
    for number, variant in enumerate(variants):
        yield variant, 0.8 * ((number + 0.5) / len(variants) - 0.5)


def _dot_series(variant: str, points: Iterable[Point]) -> PlotSeries:
    colour, marker, _ = _VARIANT_LOOKS[variant]
    return PlotSeries((LegendEntry(VARIANT_LABELS[variant], colour, marker),), colour, marker, points=tuple(points))


def _picture_times(results: Results) -> Picture | None:
    """Show the times of the rows, and with semantics as a multiple of those without, beside what the paper states."""
    tracks = {dataset: rows for dataset, rows in _list_tracks(results).items() if rows}
    if not tracks:
        return None
    variants = _list_variants(results)
    claims = [c for c in results.experiment.claims if c.test == "between" and c.metric == "seconds"]
    pairs = [(left, right, claim) for claim in claims for left in claim.left_rows for right in claim.right_rows]
    times: list[Panel] = []
    ratios: list[Panel] = []
    bands: list[tuple[Band, ...]] = []
    for dataset, rows in tracks.items():
        places = {key[0]: place for place, (_, _, key) in enumerate(rows)}
        shown: dict[Band, None] = {}
        series = []
        for variant, shift in _shift_variants(variants):
            points = []
            for left, right, claim in pairs:
                ratio = _divide(*(results.cell(dataset, variant, (row, None), "seconds") for row in (left, right)))
                if ratio is not None and left in places:
                    cell, value = ratio
                    points.append(replace(_point(places[left] + shift, cell), value=value))
                    shown[places[left], claim.low, claim.high] = None
            series.append(_dot_series(variant, points))
        times.append(_list_row_series(results, rows, variants, "seconds"))
        ratios.append(tuple(series))
        bands.append(tuple(shown))
    columns, scales = [times], [_make_scale("seconds", [one for panel in times for one in panel], whole=True)]
    drawn = [one for panel in ratios for one in panel]
    if any(one.points for one in drawn):
        ends = [value for line in bands for _, *both in line for value in both]
        span = _make_scale("seconds", drawn, whole=True)
        low, high = min([span.low, *ends]), max([span.high, *ends])
        ticks = tuple(float(t) for t in (0.1, 0.2, 0.5, 1, 2, 3, 5, 12, 30, 100, 300) if low / 1.5 <= t <= high * 1.5)
        columns.append(ratios)
        scales.append(Scale("times as long with semantics as without (log.)", low, high, log=True, ticks=ticks))
    block = Dots(
        tuple(find_dataset_setup(dataset).label for dataset in tracks),
        tuple(tuple(key[0] for _, _, key in rows) for rows in tracks.values()),
        tuple(scales),
        tuple(zip(*columns, strict=True)),
        pitch=max(6.0, 1.4 * len(variants)),
        bands=tuple(bands) if len(columns) > 1 else (),
    )
    text = (
        "Processor seconds of each method on one thread (left), and the seconds with semantics as a multiple of those "
        "without (right). w-s: with semantics, wo-s: without. Shaded: what the paper states in words, since it prints "
        f"no times; the range of FP-Growth is repeated for the exact miner. {_READING}"
    )
    return Picture((block,), text)


def _divide(above: Cell | None, below: Cell | None) -> tuple[Cell, float] | None:
    """Return the quotient in every repeat that has both values, and of the means; ``None`` if there is none."""
    if above is None or below is None:
        return None
    both = [number for number in above.values if below.values.get(number, 0.0) > 0]
    cell = Cell({number: above.values[number] / below.values[number] for number in both})
    return (cell, above.mean / below.mean) if both else None


@dataclass(frozen=True)
class _Line:
    """A line of panels with curves: a metric against a parameter, on every data set.

    Args:
        metric: The metric.
        across: The parameter.
        series: The row, the variant and the look of each curve.
        label: The title of the axis; that of the metric if empty.
    """

    metric: str
    across: str
    series: list[tuple[str, str, PlotSeries]] = field(default_factory=list)
    label: str = ""


def _split_row(row: str) -> tuple[str, str]:
    """Return the method of a row and its condition.

    >>> _split_row("FP-Growth w-s (grounded)"), _split_row("ARM-AE")
    (('FP-Growth', 'w-s (grounded)'), ('ARM-AE', ''))
    """
    found = re.fullmatch(r"(.*?) (wo?-s.*)", row)
    return (found[1], found[2]) if found else (row, "")


def _name_condition(condition: str) -> str:
    """Return the text of a condition.

    >>> _name_condition("wo-s"), _name_condition("w-s (grounded)")
    ('without semantics', 'with semantics, grounded')
    """
    word, _, more = condition.partition(" ")
    name = {"w-s": "with semantics", "wo-s": "without semantics"}.get(word, word or "other")
    return f"{name}, {more.strip('()')}" if more else name


def _picture_trends(results: Results) -> Picture | None:
    """Show the metrics of each method against the parameter that the table varies."""
    rows = _list_rows(results)
    methods = list(dict.fromkeys(_split_row(row)[0] for row in rows))
    conditions = list(dict.fromkeys(_split_row(row)[1] for row in rows))
    wanted = ("support", "confidence", "rules") if len(methods) > 1 else ("support", "confidence", "zhang", "rules")
    metrics = [metric for metric in wanted if metric in results.metrics()]
    lines = []
    for metric in metrics:
        for method in methods:
            label = f"{method}: {_LABELS[metric]}" if len(methods) > 1 else _LABELS[metric]
            lines.append(_Line(metric, results.experiment.at, label=label))
            for row, condition in ((row, _split_row(row)[1]) for row in rows if _split_row(row)[0] == method):
                dash = _CONDITION_DASHES[conditions.index(condition) % len(_CONDITION_DASHES)]
                named = (LegendEntry(_name_condition(condition), dash=dash),) if len(conditions) > 1 else ()
                for variant in _list_variants(results):
                    colour, marker, _ = _VARIANT_LOOKS[variant]
                    entries = (LegendEntry(VARIANT_LABELS[variant], colour, marker), *named)
                    lines[-1].series.append((row, variant, PlotSeries(entries, colour, marker, dash)))
    dashes = " Line styles are conditions." if len(conditions) > 1 else ""
    return _picture_curves(
        [_make_curves(results, lines)],
        f"{_join([_LABELS[metric] for metric in metrics])} against {results.experiment.at}, by data set; colour and "
        f"shape are the source of the number.{dashes} Numbers of rules are on logarithmic axes.",
    )


def _picture_evaluations(results: Results) -> Picture | None:
    return _picture_curves(
        [_block_evaluations(results)],
        "Confidence and number of rules (logarithmic) of the optimisers against the number of evaluations; colour and "
        "shape are the optimiser, line styles the source of the number.",
    )


def _picture_sweeps(results: Results) -> Picture | None:
    """Show rules and time against antecedents and minimum support, and the optimisers against evaluations."""
    return _picture_curves(
        [_block_sweeps(results, ("antecedents", "minimum support")), _block_evaluations(results)],
        "Top: number of rules and processor seconds (both logarithmic, in panels of their own) against the number of "
        "antecedents and the minimum support; an arrow marks a search that stopped at its limit, so that there are "
        "more rules. Bottom: confidence and number of rules of the optimisers against the number of evaluations, with "
        "the published numbers.",
    )


def _picture_complexity(results: Results) -> Picture | None:
    """Show the time of training against the number of sensors, and rules and time against minimum support."""
    return _picture_curves(
        [_block_sweeps(results, ("sensors", "minimum support"))],
        "Processor seconds of Aerial's training against the number of sensors; number of rules and processor seconds "
        "of Aerial and of exhaustive mining against the minimum support (all logarithmic).",
    )


def _picture_curves(blocks: Sequence[Curves | None], text: str) -> Picture | None:
    kept = tuple(block for block in blocks if block is not None)
    return Picture(kept, f"{text} {_READING}") if kept else None


def _block_evaluations(results: Results) -> Curves | None:
    """Show the optimisers against evaluations, with the published numbers of every data set."""
    series = []
    for row, (colour, marker) in zip(_OPTIMISERS, _METHOD_LOOKS, strict=False):
        for variant in ("paper", "published", "faithful"):
            filled, dash = variant != "paper", _VARIANT_LOOKS[variant][2]
            source = LegendEntry(VARIANT_LABELS[variant], INK, "" if filled else "o", dash, filled)
            look = PlotSeries((LegendEntry(row, colour, marker), source), colour, marker, dash, filled)
            series.append((row, variant, look))
    lines = [_Line(metric, "evaluations", series) for metric in ("confidence", "rules")]
    return _make_curves(results, lines, published=_find_published_evaluations())


def _find_published_evaluations() -> dict[tuple[str, str, str], tuple[Point, ...]]:
    """Return the published numbers against evaluations: the paper prints them in two tables, by data set."""
    found: dict[tuple[str, str, str], list[Point]] = {}
    for experiment in map(read_experiment, experiment_names()):
        for line in experiment.published if "evaluations" in experiment.work else ():
            for metric, value in line.values.items():
                if line.row in _OPTIMISERS and line.at is not None:
                    found.setdefault((line.dataset, line.row, metric), []).append(Point(line.at, value))
    return {key: tuple(sorted(points, key=lambda point: point.at)) for key, points in found.items()}


def _block_sweeps(results: Results, sweeps: Sequence[str]) -> Curves | None:
    """Show rules and time of the rows that are called "… by" one of the sweeps."""
    pattern = re.compile(f"(.*) by ({'|'.join(sweeps)})")
    parts = {row: (found[1], found[2]) for row in _list_rows(results) if (found := pattern.fullmatch(row))}
    methods = list(dict.fromkeys(method for method, _ in parts.values()))
    lines = []
    for sweep in sweeps:
        series = []
        for row, method in ((row, method) for row, (method, over) in parts.items() if over == sweep):
            colour, marker = _METHOD_LOOKS[methods.index(method) % len(_METHOD_LOOKS)]
            for variant in VARIANTS:
                dash = _VARIANT_LOOKS[variant][2]
                entries = LegendEntry(method, colour, marker), LegendEntry(VARIANT_LABELS[variant], dash=dash)
                series.append((row, variant, PlotSeries(entries, colour, marker, dash)))
        lines += [_Line(metric, sweep, series) for metric in ("rules", "seconds")]
    return _make_curves(results, lines)


def _make_curves(
    results: Results,
    lines: Sequence[_Line],
    *,
    published: Mapping[tuple[str, str, str], tuple[Point, ...]] | None = None,
) -> Curves | None:
    """Return the panels whose parameter has two values or more; ``None`` if there is none."""

    def find_points(dataset: str, variant: str, row: str, metric: str) -> tuple[Point, ...]:
        found = (published or {}).get((dataset, row, metric)) if variant == "paper" else None
        return found or _list_points(results, dataset, variant, row, metric)

    drawn = [
        [
            [
                replace(look, points=find_points(dataset, variant, row, line.metric))
                for row, variant, look in line.series
            ]
            for dataset in results.datasets
        ]
        for line in lines
    ]
    shared: dict[tuple[str, str], list[PlotSeries]] = {}
    for line, panels in zip(lines, drawn, strict=True):
        shared.setdefault((line.metric, line.across), []).extend(one for panel in panels for one in panel)
    kept = []
    for line, panels in zip(lines, drawn, strict=True):
        scale = _make_scale(line.metric, shared[line.metric, line.across], whole=False)
        values = sorted({point.at for panel in panels for one in panel for point in one.points})
        if len(values) > 1:
            across = Scale(line.across, values[0], values[-1], ticks=_thin(values))
            spread = tuple(tuple(_spread_out(panel, values)) for panel in panels)
            kept.append((across, replace(scale, label=line.label or scale.label), spread))
    if not kept:
        return None
    across_all, scales, spreads = zip(*kept, strict=True)
    titles = tuple(find_dataset_setup(dataset).label for dataset in results.datasets)
    return Curves(titles, across_all, scales, spreads)


def _list_points(results: Results, dataset: str, variant: str, row: str, metric: str) -> tuple[Point, ...]:
    return tuple(
        _point(key[1], cell, least=metric == "rules" and results.stopped(dataset, variant, key))
        for key in results.keys(dataset)
        if key[0] == row
        and key[1] is not None
        and (cell := results.cell(dataset, variant, key, metric)) is not None
        and (metric != "seconds" or cell.mean > 0)
    )


def _thin(values: Sequence[float]) -> tuple[float, ...]:
    """Return the values that are far enough apart to be named on an axis."""
    width = values[-1] - values[0]
    kept = [values[0]]
    for value in values[1:]:
        if value - kept[-1] >= width / 7:
            kept.append(value)
    return tuple(kept)


def _spread_out(panel: Sequence[PlotSeries], values: Sequence[float]) -> Iterable[PlotSeries]:
    """Shift the series of a panel by a little, so that the lines of their spreads do not hide each other."""
    drawn = [one for one in panel if one.points]
    step = 0.012 * (values[-1] - values[0])
    for number, one in enumerate(drawn):
        shift = step * (number - (len(drawn) - 1) / 2)
        yield replace(one, points=tuple(replace(point, at=point.at + shift) for point in one.points))


# How they are drawn ---------------------------------------------------------------------------------------------------

WIDTH = 180.0
"""Width of a picture in millimetres: two columns of a journal."""

_FONT = "DejaVu Sans"
_SMALL, _NORMAL = 7.0, 8.0
_POINT = 25.4 / 72
_RIGHT = 4.0
_NAMES, _WIDE_NAMES = 42.0, 62.0
_HANDLE, _PITCH = 7.0, 4.1
_SPREAD = LegendEntry("10th to 90th percentile of the repeats", kind="spread")
_STATED = LegendEntry("range that the paper states", kind="band")
_LIMIT = LegendEntry("at least this many: the search stopped at its limit", kind="limit")
_DASHES: dict[str, Any] = {
    "": "none",
    "solid": "-",
    "dashed": (0, (4, 1.6)),
    "dotted": (0, (1, 1.4)),
    "dash-dot": (0, (5, 1.5, 1, 1.5)),
    "long": (0, (8, 2)),
}


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
    parts = [(block, _plan(block), _list_entries(block)) for block in picture.blocks]
    total = sum(plan.height + _flow(entries)[1] for _, plan, entries in parts) + 2.0
    figure = figure_of(figsize=(WIDTH / 25.4, total / 25.4), facecolor=BACK)
    sheet = _Sheet(figure, total)
    top, count = 1.0, 0
    for block, plan, entries in parts:
        if isinstance(block, Dots):
            _draw_dots(sheet, block, plan, top)
        else:
            _draw_curves(sheet, block, plan, top)
        _draw_legend(sheet, entries, top + plan.height, count)
        count += len(entries)
        top += plan.height + _flow(entries)[1]
    return figure


def _list_entries(block: Dots | Curves) -> list[LegendEntry]:
    """Return the entries of what is drawn, and of nothing else."""
    drawn = [series for line in block.panels for panel in line for series in panel if series.points]
    points = [point for series in drawn for point in series.points]
    found = dict.fromkeys(entry for series in drawn for entry in series.entries)
    if isinstance(block, Dots) and any(block.bands):
        found[_STATED] = None
    if any(point.low is not None for point in points):
        found[_SPREAD] = None
    if any(point.least for point in points):
        found[_LIMIT] = None
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

    def left_of(self, column: int) -> float:
        return self.left + column * (self.width + self.gap)


def _plan(block: Dots | Curves) -> _Plan:
    return _plan_dots(block) if isinstance(block, Dots) else _plan_curves(block)


def _wrap_names(block: Dots) -> list[list[str]]:
    """Return the names of rows in lines: a row has room for two."""
    names = [name for rows in block.rows for name in rows]
    room = _NAMES if all(_wrap(name, _NAMES).count("\n") < 2 for name in names) else _WIDE_NAMES
    return [[_wrap(name, room) for name in rows] for rows in block.rows]


def _plan_dots(block: Dots) -> _Plan:
    left = max((_measure(name, _SMALL) for names in _wrap_names(block) for name in names), default=0.0) + 3.0
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
    for number in range(len(block.across)):
        tops.append(top)
        top += panel + (9.0 if _is_last(block, number) else 5.5)
    return _Plan(left, width, gap, tuple(tops), (panel,) * len(tops), top + 0.5)


def _is_last(block: Curves, number: int) -> bool:
    """Return whether the next line of panels has another parameter, so that this one names its own."""
    return number + 1 == len(block.across) or block.across[number + 1].label != block.across[number].label


def _draw_dots(sheet: _Sheet, block: Dots, plan: _Plan, top: float) -> None:
    wrapped = _wrap_names(block)
    for number, (title, rows) in enumerate(zip(block.titles, block.rows, strict=True)):
        upper = top + plan.tops[number]
        if title:
            sheet.text(1.0, upper - 4.3, title, size=_NORMAL, weight="bold")
        for column, scale in enumerate(block.scales):
            left = plan.left_of(column)
            axes = sheet.panel(left, upper, plan.width, plan.heights[number])
            axes.set_ylim(len(rows) - 0.5, -0.5)
            names = [] if column else wrapped[number]
            axes.set_yticks(range(len(rows)) if names else [], names)
            axes.tick_params(axis="y", length=0)
            for row in range(1, len(rows)):
                axes.axhline(row - 0.5, color=LINE, linewidth=0.4)
            _set_scale(axes, "x", scale)
            axes.grid(axis="x", color=LINE, linewidth=0.4)
            for row, low, high in block.bands[number] if block.bands and scale is block.scales[-1] else ():
                ends = [row - 0.42, row + 0.42]
                axes.fill_betweenx(ends, low, high, facecolor=SHADE, edgecolor=SOFT, lw=0.4)
            for series in block.panels[number][column]:
                _draw_points(axes, series, across=False)
            if number + 1 == len(block.titles):
                below = upper + plan.heights[number] + 4.5
                text = _wrap(scale.label, plan.width + plan.gap - 1.0, _NORMAL)
                sheet.text(left + plan.width / 2, below, text, size=_NORMAL, ha="center")


def _draw_curves(sheet: _Sheet, block: Curves, plan: _Plan, top: float) -> None:
    for column, title in enumerate(block.titles):
        left = plan.left_of(column)
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
                upright = {"rotation": 90, "va": "center", "ha": "left", "multialignment": "center"}
                sheet.text(0.8, middle, text, size=_NORMAL, **upright)
            panel = [series for series in block.panels[number][column] if series.points]
            for series in panel:
                _draw_points(axes, series, across=True)
            if not panel:
                axes.text(0.5, 0.5, "not measured", transform=axes.transAxes, ha="center", va="center", color=SOFT)
            if _is_last(block, number):
                below = upper + plan.heights[number] + 4.5
                sheet.text(left + plan.width / 2, below, across.label, size=_NORMAL, ha="center")


def _draw_points(axes: Any, series: PlotSeries, *, across: bool) -> None:
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
        linestyle=_DASHES[series.dash],
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


def _flow(entries: Sequence[LegendEntry]) -> tuple[list[tuple[float, float]], float]:
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


def _draw_legend(sheet: _Sheet, entries: Sequence[LegendEntry], top: float, first: int) -> None:
    """Draw a legend, whose entries are numbered from ``first``."""
    for number, (entry, (left, down)) in enumerate(zip(entries, _flow(entries)[0], strict=True), start=first):
        middle = top + down + _PITCH / 2
        gid = f"legend-{number}-symbol"
        if entry.kind == "band":
            patch = require("matplotlib.patches", extra="plots").Rectangle
            place = ((left + 1) / WIDTH, 1 - (middle + 1.3) / sheet.height), (_HANDLE - 2) / WIDTH, 2.6 / sheet.height
            look = {"facecolor": SHADE, "edgecolor": SOFT, "linewidth": 0.4, "transform": sheet.figure.transFigure}
            sheet.figure.add_artist(patch(*place, gid=gid, **look))
        elif entry.kind == "spread":
            look = {**_cap_look(entry.colour, "|"), "linestyle": "-", "linewidth": 0.8}
            sheet.line([left + 1, left + _HANDLE - 1], [middle] * 2, gid=gid, **look)
        elif entry.kind == "limit":
            look = {"color": entry.colour, "linewidth": 0.9}
            sheet.line([left, left + 5.0], [middle] * 2, gid=gid, **look)
            sheet.line([left + 4.0, left + 5.0, left + 4.0], [middle - 0.7, middle, middle + 0.7], **look)
        else:
            if entry.dash:
                look = {"color": entry.colour, "linewidth": 0.9, "linestyle": _DASHES[entry.dash]}
                sheet.line([left, left + _HANDLE], [middle] * 2, gid=gid, **look)
            if entry.marker:
                look = {**_marker_look(entry.colour, entry.filled), "marker": entry.marker, "linestyle": "none"}
                sheet.line([left + _HANDLE / 2], [middle], gid=f"{gid}-marker" if entry.dash else gid, **look)
        sheet.text(left + _HANDLE + 1.5, middle, entry.label, va="center_baseline", gid=f"legend-{number}-label")
