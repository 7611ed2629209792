"""Rules, rule sets and runs as HTML: sentences first, with the numbers that say how often they hold."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from thence._base.display.html import (
    Content,
    Html,
    bar,
    code,
    counted,
    folded,
    join,
    notes,
    pairs,
    panel,
    remark,
    table,
)
from thence._base.display.percent import percent

SMALLEST = 0.0001
SHOWN = 20
"""How many rules are shown."""


def spread_text(times: float, places: float) -> str:
    """Say where and when a lifted rule holds.

    >>> spread_text(0.89, 0.63)
    'at 89 % of the times, in 63 % of the places'
    """
    at, of = (percent(share, "inside", unknown="an unknown share") for share in (times, places))
    return f"at {at} of the times, in {of} of the places"


def format_measure(value: float) -> str:
    """Format a measure with three digits: never 1 if it is less, nor 0 if it is more.

    Args:
        value: The measure.

    Examples:
        >>> [format_measure(value) for value in (0.9723, 0.99996, 1.0, 0.00032, 0.0, -0.25)]
        ['0.972', '0.9999', '1.000', '0.0003', '0.000', '-0.250']
    """
    text = f"{value:.3f}"
    if text == "1.000" and value < 1:
        return f"{math.floor(10_000 * value) / 10_000:.4f}"
    if text == "0.000" and value > 0:
        return f"{value:.4f}" if value >= SMALLEST else f"below {SMALLEST}"
    return text


def rule_html(rule: Any) -> str:
    """Return a rule as HTML: its sentence, and its exact text below."""
    return panel(_capital(rule.english), remark(code(str(rule))))


def rules_html(rules: Any) -> str:
    """Return a rule set as HTML: the first rules with their numbers, and the notes."""
    return panel(counted(len(rules), "rule"), _rules(rules), notes(rules.notes))


def run_html(run: Any) -> str:
    """Return a run as HTML: its state and sizes, the first rules, and the notes."""
    title = f"Run {run.path}" if run.path is not None else "Run in memory"
    logic = [join([remark(name), notes(map(_capital, found), limit=SHOWN)]) for name, found in run.logic.items()]
    return panel(title, pairs(_run_facts(run)), *logic, _rules(run.rules), notes(run.summary.get("notes", ())))


def _run_facts(run: Any) -> Iterator[tuple[str, Content]]:
    summary = run.summary
    if not run.complete:
        yield "state", "interrupted: rules may be missing"
    found = summary.get("rules_found")
    of_found = f" of {found:,} found" if found not in (None, len(run.rules)) else ""
    yield "rules", f"{len(run.rules):,}{of_found}"
    sizes = {"n_transactions": "transaction", "n_features": "feature", "n_items": "item"}
    known = [counted(summary[name], noun) for name, noun in sizes.items() if summary.get(name) is not None]
    if known:
        yield "table", ", ".join(known)
    if summary.get("data_coverage") is not None:
        yield "covered", f"{percent(summary['data_coverage'], digits=1)} of the transactions"
    if summary.get("miner"):
        yield "miner", f"{summary['miner']}, enrichment {summary.get('enrichment', 'none')}"
    if summary.get("seconds"):
        yield "seconds", ", ".join(f"{stage} {spent:.2f}" for stage, spent in summary["seconds"].items())


def _rules(rules: Any) -> Html:
    if not len(rules):
        return Html("")
    entries = rules.entries[:SHOWN]
    shown = sum(map(len, entries))
    shown_measures = rules.shown_measures
    names = ("confidence", "consequent_support", *(measure.name for measure in shown_measures))
    columns = {name: rules.measure(name) for name in names}
    rows: list[tuple[Content, ...]] = [
        (
            str(number + 1),
            _sentence(rules, [number, *alike]),
            _confidence(rules, number, float(columns["confidence"][number]), columns["consequent_support"][number]),
            *(format_measure(columns[measure.name][number]) for measure in shown_measures),
        )
        for number, *alike in entries
    ]
    headings = ["", "rule", "confidence", *(measure.label for measure in shown_measures)]
    grid = table(headings, rows, numbers=(0, *range(2, len(headings))))
    return join([grid, remark(f"… and {len(rules) - shown:,} more")]) if len(rules) > shown else grid


def _confidence(rules: Any, number: int, confidence: float, overall: float) -> Html:
    """The confidence, that of the other direction, and the share of rows in which the consequent holds anyway."""
    parts = [bar(format_measure(confidence), confidence)]
    if "both_ways" in rules.extras and rules.extras["both_ways"][number]:
        back = int(rules.counts.n_both[number]) / int(rules.counts.n_consequent[number])
        parts.append(remark(f"{format_measure(back)} vice versa"))
    return join([*parts, remark(f"{format_measure(overall)} overall")])


def _sentence(rules: Any, entry: Sequence[int]) -> Html:
    number = entry[0]
    parts: list[Content] = [_capital(rules.rule(number).english)]
    extras = rules.extras
    if "support_time" in extras and "support_embeddings" in extras:
        parts.append(remark(spread_text(extras["support_time"][number], extras["support_embeddings"][number])))
    if len(entry) > 1:
        parts.append(folded(f"likewise ({len(entry) - 1})", notes(rules.likewise(entry))))
    others = str(extras["also_known_as"][number]).splitlines() if "also_known_as" in extras else []
    if others:
        parts.append(folded(f"also known as ({len(others)})", notes(others)))
    return join(parts)


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
