"""Charts of rules, drawn with Altair: support and confidence, coverage, and which quantity implies which.

A chart is an ``altair.Chart``: a notebook shows it, and ``chart.save("rules.svg")`` writes it. Altair comes with the
extra ``plots``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from thence.errors import ConfigError, nearest, require

_MOST_POINTS = 2_000
_MOST_QUANTITIES = 30
_STEPS = 30
_NUMBERS = ("support", "confidence", "zhang")
_ZHANG_COLOURS = ["#c8553d", "#d9d2c5", "#2a6f97"]


def plot_rules(rules: Any, kind: str) -> Any:
    """Draw rules.

    Args:
        rules: The rules.
        kind: The name of the chart in ``KINDS``.

    Returns:
        The Altair chart.

    Raises:
        ConfigError: If there is no such chart, or the rules cannot be drawn in it.
        MissingExtraError: If Altair is not installed.
    """
    if kind not in KINDS:
        raise ConfigError(
            f"unknown kind of plot '{kind}'", hint=nearest(kind, KINDS) or "known: " + ", ".join(sorted(KINDS))
        )
    if not len(rules):
        raise ConfigError("there are no rules to draw", hint="lower min_support or min_confidence")
    altair = require("altair", extra="plots")
    return KINDS[kind](altair, rules)


def _draw_scatter(altair: Any, rules: Any) -> Any:
    """A point per rule at its support and confidence, in a colour for its Zhang's metric."""
    shown = min(len(rules), _MOST_POINTS)
    support, confidence, zhang = (rules.measure(name)[:shown] for name in ("support", "confidence", "zhang"))
    values = [
        {
            "rule": rules.rule(r).english,
            "support": float(support[r]),
            "confidence": float(confidence[r]),
            "zhang": _finite(zhang[r]),
        }
        for r in range(shown)
    ]
    colour = altair.Color(
        "zhang:Q", title="Zhang", scale=altair.Scale(domain=[-1, 0, 1], range=_ZHANG_COLOURS, clamp=True)
    )
    tips = [altair.Tooltip("rule:N"), *(altair.Tooltip(f"{name}:Q", format=".3f") for name in _NUMBERS)]
    return (
        altair.Chart(altair.Data(values=values), title=_title("rules", shown, len(rules)))
        .mark_circle(opacity=0.8, size=60)
        .encode(
            x=altair.X("support:Q", title="support", scale=altair.Scale(zero=False, padding=8)),
            y=altair.Y("confidence:Q", title="confidence", scale=altair.Scale(zero=False, nice=False, padding=8)),
            color=colour,
            tooltip=tips,
        )
        .properties(width=420, height=300)
    )


def _draw_coverage(altair: Any, rules: Any) -> Any:
    """The share of rows that the first rules cover together, by their number."""
    if rules.coverage_of is None:
        raise ConfigError(
            "the coverage of these rules is not known: the table that they were counted on is not in memory",
            hint="count them first: th.evaluate.count_rules(rules, table)",
        )
    values = [
        {"rules": count, "covered": rules.coverage_of(rules.take(np.arange(count)))} for count in _counts(len(rules))
    ]
    return (
        altair.Chart(altair.Data(values=values), title="rows covered by the first rules")
        .mark_line(point=True, interpolate="step-after", color="#2a6f97")
        .encode(
            x=altair.X("rules:Q", title="number of rules", axis=altair.Axis(tickMinStep=1)),
            y=altair.Y("covered:Q", title="covered", axis=altair.Axis(format="%"), scale=altair.Scale(domain=[0, 1])),
            tooltip=[altair.Tooltip("rules:Q"), altair.Tooltip("covered:Q", format=".1%")],
        )
        .properties(width=420, height=300)
    )


def _counts(most: int) -> list[int]:
    """Numbers of rules from 1 to ``most``: all of them if they are few, otherwise ever larger steps.

    >>> _counts(4), len(_counts(10_000)) <= 31, _counts(10_000)[-1]
    ([1, 2, 3, 4], True, 10000)
    """
    if most <= _STEPS:
        return list(range(1, most + 1))
    return sorted({*np.geomspace(1, most, _STEPS).round().astype(int).tolist(), most})


def _draw_matrix(altair: Any, rules: Any) -> Any:
    """A cell per pair of quantities: how many rules lead from one to the other, and how confident they are."""
    names = [quantity(item.feature) for item in rules.items]
    confidence = rules.measure("confidence")
    cells: dict[tuple[str, str], list[int]] = {}
    both_ways = rules.extras.get("both_ways", np.zeros(len(rules), bool))
    for r in range(len(rules)):
        then = names[int(rules.consequents[r])]
        for given in {names[int(i)] for i in rules.antecedents[r] if i >= 0}:
            cells.setdefault((given, then), []).append(r)
            if both_ways[r]:
                cells.setdefault((then, given), []).append(r)
    kept = _frequent(cells)
    values = [
        {
            "given": given,
            "then": then,
            "rules": len(found),
            "confidence": float(np.mean(confidence[found])),
            "example": rules.rule(found[0]).english,
        }
        for (given, then), found in sorted(cells.items())
        if given in kept and then in kept
    ]
    known = {name for pair in cells for name in pair}
    tips = [altair.Tooltip(f"{name}:N") for name in ("given", "then")]
    tips += [altair.Tooltip("rules:Q"), altair.Tooltip("confidence:Q", format=".3f", title="mean confidence")]
    base = altair.Chart(altair.Data(values=values), title=_title("quantities", len(kept), len(known))).encode(
        x=altair.X("then:N", title="then …", axis=altair.Axis(labelAngle=-40, labelLimit=220)),
        y=altair.Y("given:N", title="if …", axis=altair.Axis(labelLimit=220)),
        tooltip=[*tips, altair.Tooltip("example:N", title="first rule")],
    )
    colour = altair.Color("rules:Q", title="rules", scale=altair.Scale(scheme="blues", type="symlog"))
    cell = base.mark_rect(stroke="#8884").encode(color=colour)
    most = max(len(found) for found in cells.values())
    dark = altair.condition(f"datum.rules > {most / 3}", altair.value("white"), altair.value("#222"))
    return (cell + base.mark_text(fontSize=11).encode(text="rules:Q", color=dark)).properties(
        width={"step": 46}, height={"step": 26}
    )


def _frequent(cells: dict[tuple[str, str], list[int]]) -> set[str]:
    """The quantities of most rules."""
    count: Counter[str] = Counter()
    for pair, found in cells.items():
        for name in set(pair):
            count[name] += len(found)
    return {name for name, _ in sorted(count.items(), key=lambda entry: (-entry[1], entry[0]))[:_MOST_QUANTITIES]}


def quantity(feature: Any) -> str:
    """Return what a feature observes, whatever its sensor or place: ``flow``, ``mean flow``, ``diameter``.

    Args:
        feature: A feature of an item.
    """
    name = feature.name.replace("_", " ")
    if feature.aspect != "measurement" or feature.role == "time":
        return name or str(feature)
    kind = (feature.label or feature.subject).replace("_", " ")
    if name == "change":
        return f"change of {kind}"
    if getattr(feature, "time", None) is not None:
        return f"{feature.time.form} of {kind}"
    aggregate, found, _ = name.partition(" of ")
    if found and aggregate == "difference":
        return f"{kind} difference"
    return f"{aggregate} {kind}" if found and aggregate != "value" else kind


def _title(what: str, shown: int, total: int) -> str:
    return f"{total:,} {what}" if shown == total else f"the first {shown:,} of {total:,} {what}"


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


KINDS: dict[str, Callable[[Any, Any], Any]] = {
    "scatter": _draw_scatter,
    "coverage": _draw_coverage,
    "matrix": _draw_matrix,
}
"""The charts by name."""
