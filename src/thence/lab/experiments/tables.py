"""Tables of an experiment as text, Markdown and CSV.

``table.csv`` has the measured values and is byte for byte the same for the same repeats. Times, which differ from run
to run, are in ``times.csv``, and verdicts in ``claims.csv``. Nothing is computed here.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path

from thence._base.atomic import new_file
from thence._base.frames import without_formulas
from thence.lab.experiments.claims import Verdict
from thence.lab.experiments.files import VARIANTS
from thence.lab.experiments.samples import find_dataset_setup
from thence.lab.experiments.summary import Results, RowKey, format_number

__all__ = [
    "format_comparison",
    "format_markdown",
    "format_rows",
    "format_text",
    "list_comparison_headings",
    "list_headings",
    "write_tables",
]

HEADINGS = {
    "rules": "# rules",
    "support": "support",
    "rule_coverage": "rule cov.",
    "confidence": "confidence",
    "zhang": "Zhang",
    "data_coverage": "data cov.",
    "static_consequents": "static cons.",
    "seconds": "CPU s",
}
VARIANT_LABELS = {
    "paper": "paper",
    "published": "ours, published",
    "faithful": "ours, faithful",
    "corrected": "ours, corrected",
    "lifted": "ours, lifted",
}
_NUMBERS = ("mean", "sd", "repeats")


def list_headings(results: Results) -> list[str]:
    """Return the column headings of the table for people."""
    return ["", *([results.experiment.at] if results.experiment.at else []), "source"] + [
        HEADINGS[metric] for metric in results.metrics()
    ]


def format_rows(results: Results, dataset: str) -> Iterable[list[str]]:
    """Yield the table of a data set for people: a line per row and variant, the published numbers first."""
    metrics = results.metrics()
    for key in results.keys(dataset):
        row, at = key
        first = True
        for variant in VARIANTS:
            cells = [results.cell(dataset, variant, key, metric) for metric in metrics]
            if all(cell is None for cell in cells):
                continue
            texts = [
                "" if cell is None else format_number(cell.mean, metric) if variant == "paper" else cell.text(metric)
                for cell, metric in zip(cells, metrics, strict=True)
            ]
            if "rules" in metrics and results.stopped(dataset, variant, key):
                texts[metrics.index("rules")] = "≥ " + texts[metrics.index("rules")]
            value = [("" if at is None else f"{at:g}") if first else ""] if results.experiment.at else []
            yield [row if first else "", *value, VARIANT_LABELS[variant], *texts]
            first = False


def list_comparison_headings(results: Results) -> list[str]:
    """Return the column headings of the comparison: the paper and every variant that was run."""
    return ["", "", *(VARIANT_LABELS[variant].removeprefix("ours, ") for variant in _list_sources(results))]


def _list_sources(results: Results) -> list[str]:
    present = {variant for _, variant, _, _ in results.cells}
    return [variant for variant in VARIANTS if variant in present]


def format_comparison(results: Results, dataset: str) -> Iterable[list[str]]:
    """Yield the published numbers of a data set beside ours: a line per row and metric, a column per source.

    Experiments that vary a parameter have no such table, since their figures show it.

    Args:
        results: Numbers of the experiment.
        dataset: Name of the data set.
    """
    if results.experiment.at:
        return
    for key in results.keys(dataset):
        first = True
        for metric in results.metrics():
            if results.cell(dataset, "paper", key, metric) is None:
                continue
            texts = [_format_cell(results, dataset, variant, key, metric) for variant in _list_sources(results)]
            yield [key[0] if first else "", HEADINGS[metric], *texts]
            first = False


def _format_cell(results: Results, dataset: str, variant: str, key: RowKey, metric: str) -> str:
    cell = results.cell(dataset, variant, key, metric)
    if cell is None:
        return "–"
    text = format_number(cell.mean, metric) if variant == "paper" else cell.text(metric)
    return f"≥ {text}" if metric == "rules" and results.stopped(dataset, variant, key) else text


def _format_title(results: Results, dataset: str) -> str:
    setup = find_dataset_setup(dataset)
    known = f" (the paper: {setup.published_as})" if setup.published_as else ""
    count = results.repeats[dataset]
    return f"{setup.label}{known}, {count} repeat{'s' * (count != 1)}"


def format_text(results: Results, verdicts: Sequence[Verdict]) -> str:
    """Return tables and ``verdicts`` as text for a terminal."""
    lines = [f"Experiment {results.experiment.id}: {results.experiment.title}"]
    for dataset in results.datasets:
        table = [list_headings(results), *format_rows(results, dataset)]
        widths = [max(len(line[c]) for line in table) for c in range(len(table[0]))]
        lines += ["", _format_title(results, dataset)]
        for line in table:
            cells = [
                text.ljust(w) if c < 2 else text.rjust(w) for c, (text, w) in enumerate(zip(line, widths, strict=True))
            ]
            lines.append("  " + "  ".join(cells).rstrip())
    lines += ["", "Claims (does it hold? paper's numbers / ours)"]
    lines += [
        f"  {v.held:<8}{v.dataset:<10}{VARIANT_LABELS[v.variant]:<16}{v.claim.text} [{v.numbers}"
        + (f"; repeats: {v.share}]" if v.share else "]")
        for v in verdicts
    ]
    return "\n".join(lines)


def format_markdown(results: Results, verdicts: Sequence[Verdict]) -> str:
    """Return tables and ``verdicts`` as Markdown."""
    lines = [f"# Experiment {results.experiment.id}: {results.experiment.title}", "", results.experiment.question, ""]
    for dataset in results.datasets:
        lines += [f"## {_format_title(results, dataset)}", ""]
        beside = list(format_comparison(results, dataset))
        if beside:
            heads = list_comparison_headings(results)
            lines += ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
            lines += ["| " + " | ".join(line) + " |" for line in beside] + ["", "All rows and metrics:", ""]
        heads = list_headings(results)
        lines += ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
        lines += ["| " + " | ".join(line) + " |" for line in format_rows(results, dataset)] + [""]
    if verdicts:
        lines += ["## Claims", "", "| claim | data | source | holds | numbers | repeats |", "|---|---|---|---|---|---|"]
        lines += [
            f"| {v.claim.text} | {v.dataset} | {VARIANT_LABELS[v.variant]} | {v.held} | {v.numbers} | {v.share} |"
            for v in verdicts
        ]
    return "\n".join(lines) + "\n"


def write_tables(results: Results, verdicts: Sequence[Verdict], folder: Path) -> None:
    """Write ``table.csv``, ``times.csv``, ``claims.csv`` and ``table.md`` to ``folder``."""
    heads = ["dataset", "row", results.experiment.at or "at", "metric", "paper"]
    heads += [f"{variant}_{what}" for variant in VARIANTS[1:] for what in _NUMBERS]
    values: list[list[str]] = []
    times: list[list[str]] = []
    for line in results.lines():
        out = [line.dataset, line.row, _format_digits(line.at), line.metric, _format_digits(line.paper)]
        for variant in VARIANTS[1:]:
            cell = line.cells.get(variant)
            out += (
                ["", "", ""]
                if cell is None
                else [_format_digits(cell.mean), _format_digits(cell.deviation), str(len(cell.values))]
            )
        (times if line.metric == "seconds" else values).append(out)
    if values:
        _write_csv(folder / "table.csv", heads, values)
    if times:
        _write_csv(folder / "times.csv", heads, times)
    judged = [[v.claim.id, v.claim.text, v.dataset, v.variant, v.held, v.numbers, v.share] for v in verdicts]
    if judged:
        heads = ["claim", "text", "dataset", "variant", "holds", "numbers", "repeats"]
        _write_csv(folder / "claims.csv", heads, judged)
    with new_file(folder / "table.md") as draft:
        draft.write_text(format_markdown(results, verdicts), encoding="utf-8")


def _format_digits(value: float | None) -> str:
    if value is None:
        return ""
    # Six digits are not enough for millions of rules, which are counted.
    return f"{value:.0f}" if abs(value) >= 1e6 else f"{value:.6g}"


def _write_csv(path: Path, heads: list[str], rows: list[list[str]]) -> None:
    import polars as pl

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(heads)
    writer.writerows(without_formulas(pl.DataFrame(rows, dict.fromkeys(heads, pl.String), orient="row")).rows())
    with new_file(path) as draft:
        draft.write_text(text.getvalue(), encoding="utf-8")
