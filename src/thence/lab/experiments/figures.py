"""The figure of an experiment: which numbers it shows, how they look, and its caption.

Pictures are made from ``Results`` only; ``experiments.drawing`` draws them and ``experiments.page`` writes the files.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from thence.lab.experiments.drawing import INK, Band, Curves, Dots, Entry, Picture, Point, Scale, Series
from thence.lab.experiments.files import VARIANTS, experiment_names, read_experiment
from thence.lab.experiments.samples import find_dataset_setup
from thence.lab.experiments.summary import Cell, Results, RowKey
from thence.lab.experiments.tables import VARIANT_LABELS

__all__ = ["build_picture"]

# Colours of Okabe and Ito, which people with a colour vision deficiency can tell apart, on white and on black.
_GREY, _PURPLE, _RED, _BLUE, _GREEN, _OCHRE = "#6b7280", "#cc79a7", "#d55e00", "#0072b2", "#009e73", "#997700"
_VARIANT_LOOKS = {
    "paper": (_GREY, "D"),
    "published": (_PURPLE, "^"),
    "faithful": (_RED, "s"),
    "corrected": (_BLUE, "o"),
    "lifted": (_GREEN, "v"),
}
_VARIANT_DASHES = {
    "paper": "dotted",
    "published": "dash-dot",
    "faithful": "solid",
    "corrected": "dashed",
    "lifted": "long",
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
_SPREAD = Entry("10th to 90th percentile of the repeats", kind="spread")
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
    chosen = kinds.get(results.experiment.figure)
    if chosen is None:
        chosen = _picture_trends if results.experiment.at_sensors else _picture_rows
    return chosen(results)


def _point(at: float, cell: Cell, *, least: bool = False) -> Point:
    if len(cell.values) < 2:
        return Point(at, cell.mean, least=least)
    return Point(at, cell.mean, cell.quantile(_LOW), cell.quantile(_HIGH), least=least)


def _make_scale(metric: str, series: Iterable[Series], *, whole: bool) -> Scale:
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


def _name_dataset(dataset: str) -> str:
    return find_dataset_setup(dataset).label


def _list_keys(results: Results, dataset: str) -> list[RowKey]:
    """Return the rows of a data set in the order of the experiment file, if that names them."""
    order = list(results.experiment.rows.values())
    return sorted(results.keys(dataset), key=lambda key: order.index(key[0]) if key[0] in order else len(order))


def _name_row(results: Results, key: RowKey) -> str:
    row, at = key
    return row if at is None else f"{row}, {results.experiment.at or 'at'} {at:g}"


def _join(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]


# Rows of a table ------------------------------------------------------------------------------------------------------


def _picture_rows(results: Results) -> Picture | None:
    """Show the rows of a table with their sources; a row per data set where the table has one row only."""
    present = results.metrics()
    metrics: list[str] = [m for m in ("support", "confidence", "zhang", "rules") if m in present]
    if results.experiment.id.startswith("ablation") and "static_consequents" in present:
        metrics.append("static_consequents")
    if not metrics:
        metrics = present[:4]
    lines = {dataset: _list_keys(results, dataset) for dataset in results.datasets}
    single = all(len(keys) <= 1 for keys in lines.values())
    if single and len(lines) < 2:
        return None
    variants = [v for v in VARIANTS if any(source == v for _, source, _, _ in results.cells)]
    tracks: list[tuple[str, list[tuple[str, str, RowKey]]]] = (
        [("", [(_name_dataset(dataset), dataset, key) for dataset, keys in lines.items() for key in keys])]
        if single
        else [
            (_name_dataset(dataset), [(_name_row(results, key), dataset, key) for key in keys])
            for dataset, keys in lines.items()
            if keys
        ]
    )
    panels = tuple(tuple(_list_row_series(results, rows, variants, metric) for metric in metrics) for _, rows in tracks)
    scales = tuple(
        _make_scale(metric, [one for line in panels for one in line[column]], whole=True)
        for column, metric in enumerate(metrics)
    )
    block = Dots(
        titles=tuple(title for title, _ in tracks),
        rows=tuple(tuple(name for name, _, _ in rows) for _, rows in tracks),
        scales=scales,
        panels=panels,
        pitch=max(6.0, 1.4 * len(variants)),
    )
    names = _join([_LABELS[metric] for metric in metrics])
    what = "on each data set" if single else "of each row of the table, by data set"
    rows_named = {name for _, rows in tracks for name, _, _ in rows}
    short = " w-s: with semantics, wo-s: without." if any(_split_row(name)[1] for name in rows_named) else ""
    text = f"{names[0].upper()}{names[1:]} {what}; colour and shape are the source of the number.{short} {_READING}"
    return Picture((block,), text, _SPREAD)


def _list_row_series(
    results: Results, rows: Sequence[tuple[str, str, RowKey]], variants: Sequence[str], metric: str
) -> tuple[Series, ...]:
    out = []
    for number, variant in enumerate(variants):
        # Sources of one row lie below each other, so that equal values do not hide each other.
        shift = 0.8 * ((number + 0.5) / len(variants) - 0.5)
        points = tuple(
            _point(place + shift, cell, least=metric == "rules" and results.stopped(dataset, variant, key))
            for place, (_, dataset, key) in enumerate(rows)
            if (cell := results.cell(dataset, variant, key, metric)) is not None
        )
        colour, marker = _VARIANT_LOOKS[variant]
        out.append(Series(points, (Entry(VARIANT_LABELS[variant], colour, marker),), colour, marker))
    return tuple(out)


# Time -----------------------------------------------------------------------------------------------------------------


def _picture_times(results: Results) -> Picture | None:
    """Show the seconds of each row, and how many times longer it takes with semantics, beside what the paper states."""
    lines = {dataset: _list_keys(results, dataset) for dataset in results.datasets}
    lines = {dataset: keys for dataset, keys in lines.items() if keys}
    if not lines:
        return None
    variants = [v for v in VARIANTS if any(source == v for _, source, _, _ in results.cells)]
    claims = [c for c in results.experiment.claims if c.test == "between" and c.metric == "seconds"]
    pairs = [(left, right, claim) for claim in claims for left in claim.left_rows for right in claim.right_rows]
    titles, names, panels, bands = [], [], [], []
    stated = Entry("range that the paper states", kind="band")
    for dataset, keys in lines.items():
        rows = [(key[0], dataset, key) for key in keys]
        places = {key[0]: place for place, key in enumerate(keys)}
        ratios, shown = [], []
        for number, variant in enumerate(variants):
            shift = 0.8 * ((number + 0.5) / len(variants) - 0.5)
            points = []
            for left, right, claim in pairs:
                above = results.cell(dataset, variant, (left, None), "seconds")
                below = results.cell(dataset, variant, (right, None), "seconds")
                ratio = None if above is None or below is None else _divide(above, below)
                if ratio is not None and left in places:
                    points.append(replace(_point(places[left] + shift, ratio), value=above.mean / below.mean))  # type: ignore[union-attr]
                    shown.append(Band(places[left], claim.low, claim.high, stated))
            colour, marker = _VARIANT_LOOKS[variant]
            ratios.append(Series(tuple(points), (Entry(VARIANT_LABELS[variant], colour, marker),), colour, marker))
        titles.append(_name_dataset(dataset))
        names.append(tuple(name for name, _, _ in rows))
        panels.append((_list_row_series(results, rows, variants, "seconds"), tuple(ratios)))
        bands.append(((), tuple(dict.fromkeys(shown))))
    seconds = _make_scale("seconds", [one for line in panels for one in line[0]], whole=True)
    drawn = [one for line in panels for one in line[1]]
    scales = [seconds]
    if any(one.points for one in drawn):
        ends = [value for line in bands for band in line[1] for value in (band.low, band.high)]
        span = _make_scale("seconds", drawn, whole=True)
        low, high = min([span.low, *ends]), max([span.high, *ends])
        ticks = tuple(float(t) for t in (0.1, 0.2, 0.5, 1, 2, 3, 5, 12, 30, 100, 300) if low / 1.5 <= t <= high * 1.5)
        ratio_scale = Scale("times as long with semantics as without (log.)", low, high, log=True, ticks=ticks)
        scales.append(ratio_scale)
    count = len(scales)
    block = Dots(
        titles=tuple(titles),
        rows=tuple(names),
        scales=tuple(scales),
        panels=tuple(line[:count] for line in panels),
        bands=tuple(line[:count] for line in bands),
        pitch=max(6.0, 1.4 * len(variants)),
    )
    text = (
        "Processor seconds of each method on one thread (left), and the seconds with semantics as a multiple of those "
        "without (right). w-s: with semantics, wo-s: without. Shaded: what the paper states in words, since it prints "
        f"no times; the range of FP-Growth is repeated for the exact miner. {_READING}"
    )
    return Picture((block,), text, _SPREAD)


def _divide(above: Cell, below: Cell) -> Cell | None:
    """Return the quotient in every repeat that has both values; ``None`` if there is none."""
    both = [number for number in above.values if below.values.get(number, 0.0) > 0]
    return Cell({number: above.values[number] / below.values[number] for number in both}) if both else None


# Values against a parameter -------------------------------------------------------------------------------------------


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
    rows = list(dict.fromkeys(key[0] for dataset in results.datasets for key in results.keys(dataset)))
    methods = list(dict.fromkeys(_split_row(row)[0] for row in rows))
    wanted = ("support", "confidence", "rules") if len(methods) > 1 else ("support", "confidence", "zhang", "rules")
    metrics = [metric for metric in wanted if metric in results.metrics()]
    conditions = list(dict.fromkeys(_split_row(row)[1] for row in rows))
    variants = [v for v in VARIANTS if any(source == v for _, source, _, _ in results.cells)]
    lines, scales = [], []
    for metric in metrics:
        made = []
        for method in methods:
            columns = []
            for dataset in results.datasets:
                panel = []
                for row in (row for row in rows if _split_row(row)[0] == method):
                    condition = _split_row(row)[1]
                    dash = _CONDITION_DASHES[conditions.index(condition) % len(_CONDITION_DASHES)]
                    for variant in variants:
                        colour, marker = _VARIANT_LOOKS[variant]
                        entries = [Entry(VARIANT_LABELS[variant], colour, marker)]
                        if len(conditions) > 1:
                            entries.append(Entry(_name_condition(condition), dash=dash))
                        points = _list_points(results, dataset, variant, row, metric)
                        panel.append(Series(points, tuple(entries), colour, marker, dash))
                columns.append(panel)
            made.append((method, columns))
        scale = _make_scale(metric, [one for _, columns in made for panel in columns for one in panel], whole=False)
        for method, columns in made:
            label = f"{method}: {_LABELS[metric]}" if len(methods) > 1 else _LABELS[metric]
            lines.append(columns)
            scales.append(replace(scale, label=label))
    block = _make_curves(results, lines, scales, results.experiment.at)
    if block is None:
        return None
    dashes = " Line styles are conditions." if len(conditions) > 1 else ""
    names = _join([_LABELS[metric] for metric in metrics])
    text = (
        f"{names[0].upper()}{names[1:]} against {results.experiment.at}, by data set; colour and shape are the source "
        f"of the number.{dashes} Numbers of rules are on logarithmic axes. {_READING}"
    )
    return Picture((block,), text, _SPREAD)


def _list_points(results: Results, dataset: str, variant: str, row: str, metric: str) -> tuple[Point, ...]:
    return tuple(
        _point(key[1], cell, least=metric == "rules" and results.stopped(dataset, variant, key))
        for key in results.keys(dataset)
        if key[0] == row
        and key[1] is not None
        and (cell := results.cell(dataset, variant, key, metric)) is not None
        and (metric != "seconds" or cell.mean > 0)
    )


def _make_curves(
    results: Results, lines: Sequence[Sequence[Sequence[Series]]], scales: Sequence[Scale], at: str | Sequence[str]
) -> Curves | None:
    """Return the panels whose parameter has two values or more; ``None`` if there is none."""
    names = [at] * len(lines) if isinstance(at, str) else list(at)
    kept = []
    for line, scale, name in zip(lines, scales, names, strict=True):
        values = sorted({point.at for panel in line for one in panel for point in one.points})
        if len(values) > 1:
            across = Scale(name, values[0], values[-1], ticks=_thin(values))
            kept.append((across, scale, tuple(tuple(_spread_out(panel, values)) for panel in line)))
    if not kept:
        return None
    return Curves(
        titles=tuple(_name_dataset(dataset) for dataset in results.datasets),
        across=tuple(across for across, _, _ in kept),
        scales=tuple(scale for _, scale, _ in kept),
        panels=tuple(panels for _, _, panels in kept),
    )


def _thin(values: Sequence[float]) -> tuple[float, ...]:
    """Return the values that are far enough apart to be named on an axis."""
    width = values[-1] - values[0]
    kept = [values[0]]
    for value in values[1:]:
        if value - kept[-1] >= width / 7:
            kept.append(value)
    return tuple(kept)


def _spread_out(panel: Sequence[Series], values: Sequence[float]) -> Iterable[Series]:
    """Shift the series of a panel by a little, so that the lines of their spreads do not hide each other."""
    drawn = [one for one in panel if one.points]
    step = 0.012 * (values[-1] - values[0])
    for number, one in enumerate(drawn):
        shift = step * (number - (len(drawn) - 1) / 2)
        yield replace(one, points=tuple(replace(point, at=point.at + shift) for point in one.points))


def _picture_evaluations(results: Results) -> Picture | None:
    block = _block_evaluations(results)
    if block is None:
        return None
    text = (
        "Confidence and number of rules (logarithmic) of the optimisers against the number of evaluations; colour and "
        f"shape are the optimiser, line styles the source of the number. {_READING}"
    )
    return Picture((block,), text, _SPREAD)


def _block_evaluations(results: Results) -> Curves | None:
    """Show the optimisers against evaluations, with the published numbers of every data set."""
    published = _find_published_evaluations()
    lines, scales = [], []
    for metric in ("confidence", "rules"):
        line = []
        for dataset in results.datasets:
            panel = []
            for number, row in enumerate(_OPTIMISERS):
                colour, marker = _METHOD_LOOKS[number]
                for variant in ("paper", "published", "faithful"):
                    points = _list_points(results, dataset, variant, row, metric)
                    if variant == "paper":
                        points = published.get((dataset, row, metric), points)
                    filled = variant != "paper"
                    dash = _VARIANT_DASHES[variant]
                    entries = (
                        Entry(row, colour, marker),
                        Entry(VARIANT_LABELS[variant], INK, "" if filled else "o", dash, filled),
                    )
                    panel.append(Series(points, entries, colour, marker, dash, filled))
            line.append(panel)
        lines.append(line)
        scales.append(_make_scale(metric, [one for panel in line for one in panel], whole=False))
    return _make_curves(results, lines, scales, "evaluations")


def _find_published_evaluations() -> dict[tuple[str, str, str], tuple[Point, ...]]:
    """Return the published numbers against evaluations: the paper prints them in two tables, by data set."""
    found: dict[tuple[str, str, str], list[Point]] = {}
    for name in experiment_names():
        experiment = read_experiment(name)
        for line in experiment.published if "evaluations" in experiment.work else ():
            for metric, value in line.values.items():
                if line.row in _OPTIMISERS and line.at is not None:
                    found.setdefault((line.dataset, line.row, metric), []).append(Point(line.at, value))
    return {key: tuple(sorted(points, key=lambda point: point.at)) for key, points in found.items()}


def _picture_sweeps(results: Results) -> Picture | None:
    """Show rules and time against antecedents and minimum support, and the optimisers against evaluations."""
    blocks = [_block_sweeps(results, ("antecedents", "minimum support")), _block_evaluations(results)]
    kept = tuple(block for block in blocks if block is not None)
    if not kept:
        return None
    text = (
        "Top: number of rules and processor seconds (both logarithmic, in panels of their own) against the number of "
        "antecedents and the minimum support; an arrow marks a search that stopped at its limit, so that there are "
        "more rules. Bottom: confidence and number of rules of the optimisers against the number of evaluations, with "
        f"the published numbers. {_READING}"
    )
    return Picture(kept, text, _SPREAD)


def _picture_complexity(results: Results) -> Picture | None:
    """Show the time of training against the number of sensors, and rules and time against minimum support."""
    block = _block_sweeps(results, ("sensors", "minimum support"))
    if block is None:
        return None
    text = (
        "Processor seconds of Aerial's training against the number of sensors; number of rules and processor seconds "
        f"of Aerial and of exhaustive mining against the minimum support (all logarithmic). {_READING}"
    )
    return Picture((block,), text, _SPREAD)


def _block_sweeps(results: Results, sweeps: Sequence[str]) -> Curves | None:
    """Show rules and time of the rows that are called "… by" one of the sweeps."""
    pattern = re.compile(f"(.*) by ({'|'.join(sweeps)})")
    rows = list(dict.fromkeys(key[0] for dataset in results.datasets for key in results.keys(dataset)))
    parts = {row: (found[1], found[2]) for row in rows if (found := pattern.fullmatch(row))}
    methods = list(dict.fromkeys(method for method, _ in parts.values()))
    lines, scales, names = [], [], []
    for sweep in sweeps:
        for metric in ("rules", "seconds"):
            line = []
            for dataset in results.datasets:
                panel = []
                for row in (row for row, (_, over) in parts.items() if over == sweep):
                    colour, marker = _METHOD_LOOKS[methods.index(parts[row][0]) % len(_METHOD_LOOKS)]
                    for variant in VARIANTS:
                        dash = _VARIANT_DASHES[variant]
                        entries = (
                            Entry(parts[row][0], colour, marker),
                            Entry(VARIANT_LABELS[variant], dash=dash),
                        )
                        points = _list_points(results, dataset, variant, row, metric)
                        panel.append(Series(points, entries, colour, marker, dash))
                line.append(panel)
            lines.append(line)
            scales.append(_make_scale(metric, [one for panel in line for one in panel], whole=False))
            names.append(sweep)
    return _make_curves(results, lines, scales, names)
