"""Charts of rules: support and confidence, coverage, and which quantity implies which."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from thence._base.display.rules import ManyRules
from thence._base.display.svg import Axis, Chart, axis, frame, line, mark, mix, nice_ticks, text, text_width
from thence.errors import ConfigError, nearest

__all__ = ["KINDS", "Rules", "plot_rules", "quantity"]

_MOST_POINTS = 2_000
_MOST_QUANTITIES = 30
_STEPS = 30
_ZHANG_COLOURS = ("#c8553d", "#d9d2c5", "#2a6f97")
_COUNT_COLOURS = ("#deebf7", "#6baed6", "#08519c")
_BLUE, _GREY = "#2a6f97", "#999999"
_WIDTH, _HEIGHT, _LEFT = 420, 300, 64


class Rules(ManyRules, Protocol):
    """What is drawn of a rule set."""

    @property
    def items(self) -> Sequence[Any]:
        """The distinct items, each with a ``feature``."""
        ...

    @property
    def antecedents(self) -> Any:
        """Positions in ``items``, one row per rule; −1 fills short antecedents."""
        ...

    @property
    def consequents(self) -> Any:
        """Positions in ``items``."""
        ...

    @property
    def coverage_of(self) -> Callable[[Any], float] | None:
        """Computes the share of rows covered by some rules, while the table is in memory."""
        ...

    def take(self, chosen: Any) -> Any:
        """The rules at some positions."""
        ...


def plot_rules(rules: Rules, kind: str) -> Chart:
    """Draw rules.

    Args:
        rules: The rules.
        kind: The name of the chart in ``KINDS``.

    Returns:
        The chart.

    Raises:
        ConfigError: If there is no such chart, or the rules cannot be drawn in it.
    """
    if kind not in KINDS:
        raise ConfigError(
            f"unknown kind of plot '{kind}'", hint=nearest(kind, KINDS) or "known: " + ", ".join(sorted(KINDS))
        )
    if not len(rules):
        raise ConfigError("there are no rules to draw", hint="lower min_support or min_confidence")
    return KINDS[kind](rules)


def _draw_scatter(rules: Rules) -> Chart:
    """A point per rule at its support and confidence, in a colour for its Zhang's metric."""
    shown = min(len(rules), _MOST_POINTS)
    support, confidence, zhang = (rules.measure(name)[:shown].tolist() for name in ("support", "confidence", "zhang"))
    x = axis(support, _LEFT, _LEFT + _WIDTH, padding=0.04)
    y = axis(confidence, _HEIGHT, 8, padding=0.04)
    parts = [frame(x, y, nice_ticks(x), nice_ticks(y), labels=("support", "confidence"))]
    for r in range(shown):
        if np.isfinite(confidence[r]):
            numbers = f"support {support[r]:.3f}, confidence {confidence[r]:.3f}, Zhang {zhang[r]:.3f}"
            tip = f"{rules.rule(r).english}\n{numbers}"
            fill = mix(_ZHANG_COLOURS, (zhang[r] + 1) / 2) if np.isfinite(zhang[r]) else _GREY
            parts.append(mark("circle", tip, cx=x(support[r]), cy=y(confidence[r]), r=4, fill=fill, fill_opacity=0.8))
    right = _LEFT + _WIDTH + 16
    parts.append(text(right, 14, "Zhang"))
    for at in range(21):
        fill = mix(_ZHANG_COLOURS, 1 - at / 20)
        parts.append(mark("rect", x=right, y=22 + 5 * at, width=12, height=5, fill=fill))
    parts += [text(right + 18, height, name) for height, name in ((30, "1"), (78, "0"), (127, "−1"))]
    return Chart(right + 50, _HEIGHT + 40, "".join(parts), _title("rules", shown, len(rules)))


def _draw_coverage(rules: Rules) -> Chart:
    """The share of rows that the first rules cover together, by their number."""
    if rules.coverage_of is None:
        raise ConfigError(
            "the coverage of these rules is not known: the table that they were counted on is not in memory",
            hint="count them first: th.count_rules_of(rules, table)",
        )
    shares = {count: rules.coverage_of(rules.take(np.arange(count))) for count in _counts(len(rules))}
    x, y = axis((0, len(rules)), _LEFT, _LEFT + _WIDTH), Axis(0.0, 1.0, _HEIGHT, 8)
    whole = {at: name for at, name in nice_ticks(x).items() if at == int(at)}
    percents = {at: f"{at:.0%}" for at in nice_ticks(y)}
    parts = [frame(x, y, whole, percents, labels=("number of rules", "covered"))]
    steps = list(shares.items())
    corners = [(at, before) for (at, _), (_, before) in zip(steps[1:], steps, strict=False)]
    path = sorted([*steps, *corners])
    parts.append(line([(x(at), y(share)) for at, share in path], stroke=_BLUE, stroke_width=2))
    for count, share in steps:
        tip = f"{count:,} rule{'' if count == 1 else 's'}: {share:.1%}"
        parts.append(mark("circle", tip, cx=x(count), cy=y(share), r=3, fill=_BLUE))
    return Chart(_LEFT + _WIDTH + 16, _HEIGHT + 40, "".join(parts), "rows covered by the first rules")


def _counts(most: int) -> list[int]:
    """Numbers of rules from 1 to ``most``: all of them if they are few, otherwise ever larger steps.

    >>> _counts(4), len(_counts(10_000)) <= 31, _counts(10_000)[-1]
    ([1, 2, 3, 4], True, 10000)
    """
    if most <= _STEPS:
        return list(range(1, most + 1))
    return sorted({*np.geomspace(1, most, _STEPS).round().astype(int).tolist(), most})


def _draw_matrix(rules: Rules) -> Chart:
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
    shown = {pair: found for pair, found in sorted(cells.items()) if set(pair) <= kept}
    rows, columns = (sorted({pair[side] for pair in shown}) for side in (0, 1))
    left, most = 40 + text_width(rows), max(len(found) for found in cells.values())
    parts = [text(10, 13 * len(rows), "if …", transform=f"rotate(-90 10 {13 * len(rows)})", text_anchor="middle")]
    parts += [text(left - 6, 26 * at + 17, name, text_anchor="end") for at, name in enumerate(rows)]
    below = 26 * len(rows) + 12
    for at, name in enumerate(columns):
        place = left + 46 * at + 26
        parts.append(text(place, below, name, text_anchor="end", transform=f"rotate(-40 {place:.1f} {below})"))
    for (given, then), found in shown.items():
        across, down = left + 46 * columns.index(then), 26 * rows.index(given)
        tip = (
            f"if {given}, then {then}: {len(found):,} rules, mean confidence {float(np.mean(confidence[found])):.3f}"
            f"\nfirst rule: {rules.rule(found[0]).english}"
        )
        fill = mix(_COUNT_COLOURS, float(np.log1p(len(found)) / np.log1p(most)))
        parts.append(mark("rect", tip, x=across, y=down, width=46, height=26, fill=fill, stroke="#88888844"))
        ink = "#ffffff" if len(found) > most / 3 else "#222222"
        parts.append(
            text(across + 23, down + 17, f"{len(found):,}", text_anchor="middle", fill=ink, pointer_events="none")
        )
    depth = 0.65 * text_width(columns) + 30
    parts.append(text(left + 23 * len(columns), below + depth, "then …", text_anchor="middle"))
    known = {name for pair in cells for name in pair}
    width = max(left + 46 * len(columns) + 20, 200)
    return Chart(width, below + depth + 8, "".join(parts), _title("quantities", len(kept), len(known)))


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


KINDS: dict[str, Callable[[Rules], Chart]] = {
    "scatter": _draw_scatter,
    "coverage": _draw_coverage,
    "matrix": _draw_matrix,
}
"""The charts by name."""
