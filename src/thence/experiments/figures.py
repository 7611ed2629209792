"""Figures of an experiment as Altair charts: the figures of the paper, and charts of its tables.

Charts are drawn from ``Results`` only; ``experiments.page`` writes them to files.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from thence.errors import require
from thence.experiments.files import VARIANTS
from thence.experiments.samples import find_dataset_setup
from thence.experiments.summary import Results
from thence.experiments.tables import HEADINGS, VARIANT_LABELS

__all__ = ["draw_figures"]

COLOURS = {"paper": "#9a9a9a", "faithful": "#c8553d", "corrected": "#2a6f97", "lifted": "#3a7d44"}
_SCHEME = ["#2a6f97", "#c8553d", "#3a7d44", "#8a5a9e", "#b98b1d"]


def draw_figures(results: Results) -> dict[str, Any]:
    """Draw the charts of an experiment; return those with data in ``results``, by name."""
    made = {
        "semantics-time": _draw_times,
        "sweeps": _draw_sweeps,
        "evaluations": _draw_evaluations,
        "thresholds": _draw_trends,
    }.get(results.experiment.figure, _draw_quality)(results)
    return {name: chart for name, chart in made.items() if chart is not None}


def _chart_values(
    results: Results, metric: str, *, rows: Iterable[str] | None = None, variants: Iterable[str] = VARIANTS
) -> list[dict[str, Any]]:
    """Return a mapping per cell of a metric, as data of a chart."""
    wanted = None if rows is None else set(rows)
    out: list[dict[str, Any]] = []
    for dataset in results.datasets:
        for key in results.keys(dataset):
            for variant in variants:
                cell = results.cell(dataset, variant, key, metric)
                if cell is not None and (wanted is None or key[0] in wanted):
                    spread = cell.deviation or 0.0
                    out.append(
                        {
                            "data": find_dataset_setup(dataset).label,
                            "row": key[0],
                            "at": key[1],
                            "source": VARIANT_LABELS[variant],
                            "value": cell.mean,
                            "low": max(cell.mean - spread, 0.0) if cell.mean >= 0 else cell.mean - spread,
                            "high": cell.mean + spread,
                        }
                    )
    return out


def _source_colour(altair: Any) -> Any:
    domain = [VARIANT_LABELS[variant] for variant in VARIANTS]
    return altair.Color("source:N", title=None, scale=altair.Scale(domain=domain, range=list(COLOURS.values())))


def _draw_quality(results: Results) -> dict[str, Any]:
    """Draw the numbers of a table as points, one panel per data set."""
    altair = require("altair", extra="plots")
    out: dict[str, Any] = {}
    for metric in ("support", "confidence", "zhang", "rules"):
        if metric not in results.metrics():
            continue
        values = _chart_values(results, metric)
        if results.experiment.at:
            values = [{**v, "row": f"{v['row']} ({v['at']:g})"} for v in values]
        order = list(dict.fromkeys(value["row"] for value in values))
        scale = altair.Scale(type="log") if metric == "rules" else altair.Undefined
        if metric == "rules":
            values = [value for value in values if value["value"] > 0]
        if not values:
            continue
        chart = (
            altair.Chart(altair.Data(values=values))
            .mark_point(filled=True, size=60)
            .encode(
                x=altair.X("value:Q", title=HEADINGS[metric], scale=scale),
                y=altair.Y("row:N", title=None, sort=order),
                color=_source_colour(altair),
                tooltip=["row:N", "source:N", altair.Tooltip("value:Q", format=".4g")],
            )
            .properties(width=240)
            .facet(altair.Column("data:N", title=None))
        )
        out[metric] = chart
    return out


def _draw_times(results: Results) -> dict[str, Any]:
    """Draw the execution time with and without semantics."""
    altair = require("altair", extra="plots")
    values = [value for value in _chart_values(results, "seconds") if value["value"] > 0]
    if not values:
        return {}
    order = list(dict.fromkeys(value["row"] for value in values))
    base = altair.Chart(altair.Data(values=values))
    points = base.mark_point(filled=True, size=70).encode(
        x=altair.X("value:Q", title="CPU seconds (log)", scale=altair.Scale(type="log")),
        y=altair.Y("row:N", title=None, sort=order),
        color=_source_colour(altair),
        tooltip=["row:N", "source:N", altair.Tooltip("value:Q", format=".3g")],
    )
    return {"time": points.properties(width=240).facet(altair.Column("data:N", title=None))}


def _draw_rules_and_time(results: Results, rows: Mapping[str, str], variant: str, title: str, axis: str) -> Any:
    """Draw bars of the number of rules and dotted lines of the time against a parameter, one panel per data set."""
    altair = require("altair", extra="plots")
    panels = []
    for dataset in results.datasets:
        counts: list[dict[str, Any]] = []
        times: list[dict[str, Any]] = []
        for key in results.keys(dataset):
            name = rows.get(key[0])
            if name is None:
                continue
            for metric, into in (("rules", counts), ("seconds", times)):
                cell = results.cell(dataset, variant, key, metric)
                if cell is not None and cell.mean > 0:
                    into.append({"method": name, "at": f"{key[1]:g}", "value": cell.mean})
        if not counts:
            continue
        colour = altair.Color("method:N", title=None, scale=altair.Scale(range=_SCHEME))
        x = altair.X("at:O", title=axis, sort=None, axis=altair.Axis(labelAngle=0))
        log = altair.Scale(type="log")
        bars = (
            altair.Chart(altair.Data(values=counts))
            .mark_bar(opacity=0.55)
            .encode(
                x=x,
                xOffset="method:N",
                # A logarithmic axis has no zero: bars start at one rule.
                y=altair.Y(
                    "value:Q",
                    title="rules (bars)",
                    stack=None,
                    scale=altair.Scale(type="log", domainMin=1),
                    axis=altair.Axis(grid=False),
                ),
                y2=altair.Y2Datum(1),
                color=colour,
            )
        )
        lines = (
            altair.Chart(altair.Data(values=times))
            .mark_line(strokeDash=[3, 3], point=True)
            .encode(x=x, y=altair.Y("value:Q", title="CPU seconds (dotted)", scale=log), color=colour)
        )
        panels.append(
            (bars + lines).resolve_scale(y="independent").properties(width=220, title=find_dataset_setup(dataset).label)
        )
    return altair.hconcat(*panels, title=title) if panels else None


def _draw_sweeps(results: Results) -> dict[str, Any]:
    """Draw rules and time against antecedents and minimum support, and Aerial against antecedents."""
    out: dict[str, Any] = {}
    for name, axis in (("antecedents", "antecedents"), ("minimum support", "minimum support")):
        rows = {f"{method} by {name}": method for method in ("Exhaustive", "FP-Growth", "H-Mine")}
        title = f"Exhaustive methods against the {name}"
        out[f"exhaustive-{name.replace(' ', '-')}"] = _draw_rules_and_time(results, rows, "corrected", title, axis)
    for variant in ("faithful", "corrected"):
        title = f"Aerial against the number of antecedents ({variant})"
        rows = {"Aerial by antecedents": "Aerial"}
        out[f"aerial-antecedents-{variant}"] = _draw_rules_and_time(results, rows, variant, title, "antecedents")
    return {**out, **_draw_evaluations(results)}


_OPTIMISERS = ("DE", "GA", "PSO", "LSHADE", "jDE")


def _draw_evaluations(results: Results) -> dict[str, Any]:
    """Draw confidence and number of rules of the optimisers against evaluations, with the published numbers."""
    altair = require("altair", extra="plots")
    out: dict[str, Any] = {}
    for metric in ("confidence", "rules"):
        values = _chart_values(results, metric, rows=_OPTIMISERS, variants=("paper", "faithful"))
        values = [value for value in values if value["at"] is not None and value["value"] > 0]
        if not values:
            continue
        scale = altair.Scale(type="log") if metric == "rules" else altair.Undefined
        out[f"evaluations-{metric}"] = (
            altair.Chart(altair.Data(values=values))
            .mark_line(point=True)
            .encode(
                x=altair.X("at:Q", title="evaluations"),
                y=altair.Y("value:Q", title=HEADINGS[metric], scale=scale),
                color=altair.Color("row:N", title=None, scale=altair.Scale(range=_SCHEME)),
                strokeDash=altair.StrokeDash("source:N", title=None, legend=altair.Legend(symbolType="stroke")),
            )
            .properties(width=280)
            .facet(altair.Column("data:N", title=None))
        )
    return out


def _draw_trends(results: Results) -> dict[str, Any]:
    """Draw every metric of a table against the parameter that the table varies."""
    altair = require("altair", extra="plots")
    out: dict[str, Any] = {}
    for metric in results.metrics():
        values = [value for value in _chart_values(results, metric) if value["at"] is not None]
        if metric == "rules":
            values = [value for value in values if value["value"] > 0]
        if not values or metric in ("seconds", "static_consequents"):
            continue
        scale = altair.Scale(type="log") if metric == "rules" else altair.Scale(zero=False)
        out[metric] = (
            altair.Chart(altair.Data(values=values))
            .mark_line(point=True)
            .encode(
                x=altair.X("at:Q", title=results.experiment.at, scale=altair.Scale(zero=False)),
                y=altair.Y("value:Q", title=HEADINGS[metric], scale=scale),
                color=_source_colour(altair),
            )
            .properties(width=240)
            .facet(altair.Column("data:N", title=None))
        )
    return out
