"""Results as tables, figures and an HTML page: text, Markdown and CSV, and one file that loads nothing else.

``table.csv`` has the measured values and is byte for byte the same for the same repeats. Times, which differ from run
to run, are in ``times.csv``, and verdicts in ``claims.csv``. The overview at the top of the page says which of the main
claims hold, which do not, and why; a reason is given only where the numbers of every data set support it.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thence._base.atomic import new_file
from thence._base.display.html import text as escape
from thence._base.display.percent import percent
from thence._base.frames import without_formulas
from thence.lab.experiments.figures import COLOURS, build_picture, render_pdf, render_svg
from thence.lab.experiments.files import VARIANT_LABELS, VARIANTS, read_setup
from thence.lab.experiments.results import NO_VERDICT, Repeat, Results, RowKey, Verdict, format_number
from thence.lab.experiments.samples import find_dataset_setup

__all__ = [
    "GROUPS",
    "Headline",
    "format_comparison",
    "format_markdown",
    "format_rows",
    "format_text",
    "list_comparison_headings",
    "list_headings",
    "list_headlines",
    "list_reasons",
    "name_briefly",
    "write_figure",
    "write_page",
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


GROUPS = {
    "holds": "Holds",
    "as described": "Holds as the paper describes the method, not corrected",
    "depends": "Depends on the data or the variant",
    "fails": "Does not hold",
    "open": "Open: a search was cut off at its limit",
}
"""The groups of claims, in the order of the overview, with their titles."""
_JUDGED = ("published", "faithful", "corrected")


@dataclass(frozen=True)
class Headline:
    """A main claim with its verdicts.

    Args:
        experiment: Id of the experiment.
        text: The claim as a sentence.
        group: One of ``GROUPS``.
        held: The verdict by variant and data set: ``"yes"``, ``"in part"``, ``"no"`` or ``"–"``.
    """

    experiment: str
    text: str
    group: str
    held: Mapping[tuple[str, str], str]


def name_briefly(dataset: str) -> str:
    """Return the name of a data set without details.

    >>> name_briefly("hanoi"), name_briefly("ltown")
    ('Hanoi', 'L-Town')
    """
    return find_dataset_setup(dataset).label.partition(",")[0]


def list_headlines(verdicts: Mapping[str, Sequence[Verdict]]) -> list[Headline]:
    """Return the main claims in the order of their groups.

    Args:
        verdicts: Verdicts by experiment.
    """
    found: list[Headline] = []
    for experiment, judged in verdicts.items():
        for id_ in dict.fromkeys(v.claim.id for v in judged if v.claim.headline):
            own = [v for v in judged if v.claim.id == id_ and v.variant in _JUDGED]
            if own:
                held = {(v.variant, v.dataset): v.held for v in own}
                found.append(Headline(experiment, own[0].claim.text, find_group(held), held))
    order = list(GROUPS)
    return sorted(found, key=lambda one: order.index(one.group))


def find_group(held: Mapping[tuple[str, str], str]) -> str:
    """Return the group of a claim.

    Args:
        held: The verdict by variant and data set.

    Examples:
        >>> find_group({("faithful", "hanoi"): "yes", ("corrected", "hanoi"): "no"})
        'as described'
    """
    by_variant: dict[str, set[str]] = {}
    for (variant, _), verdict in held.items():
        by_variant.setdefault(variant, set()).add(verdict)
    if NO_VERDICT in held.values():
        return "open"
    everything = set().union(*by_variant.values())
    if everything == {"yes"}:
        return "holds"
    if everything == {"no"}:
        return "fails"
    if by_variant.get("faithful") == {"yes"} and by_variant.get("corrected", {"yes"}) != {"yes"}:
        return "as described"
    return "depends"


def list_sources(headlines: Iterable[Headline]) -> list[str]:
    """Return the variants that have a verdict, in their usual order."""
    present = {variant for one in headlines for variant, _ in one.held}
    return [variant for variant in VARIANTS if variant in present]


def list_reasons(results: Mapping[str, Results]) -> list[str]:
    """Return why claims hold or not, as sentences with the numbers that show it.

    Args:
        results: Results by experiment.
    """
    quality = results.get("1.1")
    if quality is None:
        return []
    reasons = [_tell_constants(quality), _tell_ids(quality), _tell_same_table(quality), _tell_variables(quality)]
    return [reason for reason in reasons if reason]


def _means(results: Results, variant: str, row: str, metric: str) -> dict[str, float]:
    """Return the means of a row by data set."""
    cells = {dataset: results.cell(dataset, variant, (row, None), metric) for dataset in results.datasets}
    return {dataset: cell.mean for dataset, cell in cells.items() if cell is not None}


def _list_pairs(left: Mapping[str, float], right: Mapping[str, float], metric: str) -> str:
    return ", ".join(
        f"{format_number(left[name], metric)} against {format_number(right[name], metric)} ({name_briefly(name)})"
        for name in left
    )


def _tell_constants(results: Results) -> str:
    static = _means(results, "faithful", "Aerial w-s", "static_consequents")
    zhang = _means(results, "faithful", "Aerial w-s", "zhang")
    without = _means(results, "faithful", "Aerial wo-s", "zhang")
    if not static or min(static.values()) <= 0.5 or not all(zhang[n] < without.get(n, 0.0) for n in zhang):
        return ""
    shares = ", ".join(f"{percent(share)} ({name_briefly(name)})" for name, share in static.items())
    return (
        "Support and coverage of Aerial come from constants. As described, most of its rules with semantics have a "
        f"static property as their consequent: {shares}. Such a property never changes, so the rules have high support "
        f"and say nothing: mean Zhang {_list_pairs(zhang, without, 'zhang')} without semantics."
    )


def _tell_ids(results: Results) -> str:
    bare = _means(results, "corrected", "FP-Growth w-s (ids dropped, no properties)", "support")
    full = _means(results, "corrected", "FP-Growth w-s", "support")
    if not bare or bare.keys() != full.keys() or not all(bare[name] > full[name] for name in bare):
        return ""
    return (
        "Support of FP-Growth comes from dropped sensor ids: “some sensor” is easier to satisfy than “this sensor”. "
        f"Items without any property have more support than items with them: {_list_pairs(bare, full, 'support')}."
    )


def _tell_same_table(results: Results) -> str:
    exhaustive = _means(results, "corrected", "FP-Growth wo-s", "rules")
    aerial = _means(results, "corrected", "Aerial wo-s", "rules")
    if not exhaustive or exhaustive.keys() != aerial.keys() or not all(aerial.values()):
        return ""
    if not all(exhaustive[name] < 2 * aerial[name] for name in exhaustive):
        return ""
    return (
        "Aerial is concise beside exhaustive mining of another table. On the same table, at half of Aerial's mean "
        f"support, exhaustive mining has about as many rules: {_list_pairs(exhaustive, aerial, 'rules')}."
    )


def _tell_variables(results: Results) -> str:
    lifted = _means(results, "lifted", "Aerial w-s", "zhang")
    grounded = _means(results, "corrected", "Aerial w-s", "zhang")
    if not lifted or not all(lifted[name] > grounded.get(name, 1.0) for name in lifted):
        return ""
    return (
        "Rules about any sensor in a context need variables. Lifted rules have more association strength than grounded "
        f"ones: mean Zhang {_list_pairs(lifted, grounded, 'zhang')}."
    )


_STYLE = """
:root { color-scheme: light dark; --ink: #1d2329; --soft: #56616b; --line: #d9dee3; --back: #fff; --band: #f5f7f9;
  --shade: #e4e8ec; --link: #0a5a8f; --yes: #1d6b36; --no: #b3261e; --part: #7d5700; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6eaee; --soft: #a3adb7; --line: #38414a; --back: #14181d;
  --band: #1d232a; --shade: #2d353e; --link: #7cc0f0; --yes: #6fcf8a; --no: #ff8f85; --part: #e6b450; } }
* { box-sizing: border-box; }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--back); margin: 0 auto;
  max-width: 78rem; padding: 1.2rem 1.5rem 3rem; overflow-wrap: anywhere; }
a { color: var(--link); }
h1 { font-size: 1.5rem; margin: 0 0 .2rem; } h3 { margin: 1.6rem 0 .4rem; font-size: 1rem; }
h2 { margin-top: 2.8rem; border-top: 1px solid var(--line); padding-top: 1.2rem; font-size: 1.25rem; }
.lead, .soft, figcaption { color: var(--soft); } .lead { margin: 0 0 .8rem; }
table { border-collapse: collapse; font-size: .84rem; }
th, td { padding: .2rem .5rem; text-align: right; border-bottom: 1px solid var(--line); vertical-align: top; }
th { color: var(--soft); font-weight: 600; } tr.paper td { background: var(--band); }
td:first-child, th:first-child, .text { text-align: left; } tr.first td { border-top: 2px solid var(--line); }
.numbers td + td { white-space: nowrap; overflow-wrap: normal; }
.yes { color: var(--yes); font-weight: 600; } .no { color: var(--no); font-weight: 600; }
.part { color: var(--part); font-weight: 600; }
.overview { display: grid; grid-template-columns: minmax(0, 3fr) minmax(0, 2fr); gap: 0 2rem; align-items: start; }
.overview table { width: 100%; font-size: .82rem; } .overview th, .overview td { padding: .1rem .35rem; }
.overview h2 { border: 0; margin: 0 0 .3rem; padding: 0; font-size: 1rem; } .overview li { margin-bottom: .45rem; }
.overview ul { margin: 0; padding-left: 1.1rem; font-size: .84rem; line-height: 1.42; }
.overview td + td { white-space: nowrap; letter-spacing: .25em; text-align: center; }
.overview th + th { text-align: center; white-space: nowrap; } .overview p { font-size: .82rem; margin: .4rem 0 0; }
.overview tr.group th { text-align: left; color: var(--ink); padding-top: .35rem; }
nav { columns: 2 20rem; font-size: .9rem; margin-top: 1.2rem; } nav a { display: block; }
figure { margin: 1.2rem 0; } figure .wide { overflow-x: auto; } figure svg { display: block; width: 100%;
  min-width: 38rem; max-width: 54rem; height: auto; } figcaption { max-width: 54rem; font-size: .87rem; }
summary { cursor: pointer; color: var(--link); margin: .5rem 0; }
dl { display: grid; grid-template-columns: minmax(6rem, max-content) 1fr; gap: .1rem 1rem; font-size: .87rem; }
dt { font-weight: 600; } dd { margin: 0; }
@media (max-width: 62rem) {
  .overview { grid-template-columns: minmax(0, 1fr); gap: 1rem; }
  .stack, .stack tbody { display: block; } .stack tr:first-child { display: none; }
  .stack tr { display: block; padding: .4rem 0; border-bottom: 1px solid var(--line); }
  .stack td { display: flex; justify-content: space-between; gap: 1rem; border: 0 !important; padding: .05rem 0;
    white-space: normal !important; text-align: right; }
  .stack td:empty { display: none; } .stack td:first-child { font-weight: 600; }
  .stack td::before { content: attr(data-label); color: var(--soft); font-weight: 400; text-align: left; }
  .stack td[data-label=""]::before { content: none; }
}
@media (max-width: 40rem) {
  body { padding: 1rem; } dl { grid-template-columns: minmax(0, 1fr); } dd { margin: 0 0 .4rem; }
}
"""
_EXPLAINED = {
    "paper": "the published numbers.",
    "published": "as the released code of the paper does it, where that differs from the text.",
    "faithful": "as the text of the paper describes it: gaussian noise, missing values replaced by zero, static "
    "columns as antecedents and consequents; the exhaustive baseline in its published encoding.",
    "corrected": "masking instead of noise; missing values stay missing; constants and static properties are never "
    "consequents; exhaustive rules have one consequent, no duplicates, and no rule that is true by definition.",
    "lifted": "rules with variables, counted over the embeddings of graph patterns; readings are ranks in the "
    "history of each sensor.",
}
_MARKS = {"yes": ("✓", "yes"), "no": ("✗", "no"), "in part": ("~", "part")}


def write_figure(results: Results, folder: Path) -> tuple[str, str] | None:
    """Write the figure of an experiment to ``folder`` as ``figure.svg`` and ``figure.pdf``.

    Args:
        results: Numbers of the experiment.
        folder: The folder to write to.

    Returns:
        The SVG and the caption; ``None`` for an experiment of which a table says as much.
    """
    picture = build_picture(results)
    if picture is None:
        for name in ("figure.svg", "figure.pdf"):
            (folder / name).unlink(missing_ok=True)
        return None
    drawn = render_svg(picture, salt=results.experiment.id)
    with new_file(folder / "figure.svg") as draft:
        draft.write_text(drawn, encoding="utf-8")
    with new_file(folder / "figure.pdf") as draft:
        draft.write_bytes(render_pdf(picture))
    return drawn, picture.caption


def write_page(
    results: Mapping[str, Results],
    verdicts: Mapping[str, Sequence[Verdict]],
    repeats: Sequence[Repeat],
    folder: Path,
    *,
    quick: bool,
) -> Path:
    """Write the figures of all experiments and ``index.html``.

    Args:
        results: Results by experiment.
        verdicts: Verdicts by experiment.
        repeats: The repeats behind the results.
        folder: The folder to write to.
        quick: Whether the page is about a quick run, which it then says.

    Returns:
        The page.
    """
    parts = list(_render_opening(results, verdicts, quick))
    parts += _render_guide(results, repeats)
    for name, result in results.items():
        parts += _render_experiment(result, verdicts[name], write_figure(result, folder / name))
    parts += _render_settings(repeats)
    page = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>The paper's experiments, reproduced</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(parts)
        + "\n</main>\n</body>\n</html>\n"
    )
    with new_file(folder / "index.html") as draft:
        draft.write_text(page, encoding="utf-8")
    return folder / "index.html"


def _render_opening(
    results: Mapping[str, Results], verdicts: Mapping[str, Sequence[Verdict]], quick: bool
) -> Iterable[str]:
    yield "<h1>The paper's experiments, reproduced</h1>"
    yield (
        '<p class="lead">Karabulut, Groth &amp; Degeler, “Learning Semantic Association Rules from Internet of Things '
        "Data” (2025), repeated with Thence and compared with the published numbers.</p>"
    )
    if quick:
        yield '<p class="no">A quick run with less data and smaller settings: do not compare the numbers.</p>'
    headlines = list_headlines(verdicts)
    reasons = list_reasons(results)
    if headlines:
        yield '<div class="overview"><section aria-label="What holds">'
        yield from _render_headlines(headlines, _list_datasets(results))
        yield "</section>"
        if reasons:
            listed = "".join(f"<li>{_stress_first(reason)}</li>" for reason in reasons)
            yield f"<section><h2>Why</h2><ul>{listed}</ul></section>"
        yield "</div>"
    links = "".join(f'<a href="#e{name}">{name} {escape(r.experiment.title)}</a>' for name, r in results.items())
    yield f'<nav aria-label="Experiments">{links}<a href="#settings">Settings and machine</a></nav>'


def _list_datasets(results: Mapping[str, Results]) -> list[str]:
    return list(dict.fromkeys(name for result in results.values() for name in result.datasets))


def _stress_first(text: str) -> str:
    """Return a text as HTML with its first sentence in bold."""
    first, dot, rest = text.partition(". ")
    return f"<b>{escape(first)}{dot.strip()}</b> {escape(rest)}" if rest else escape(text)


def _render_headlines(headlines: Sequence[Headline], datasets: Sequence[str]) -> Iterable[str]:
    sources = list_sources(headlines)
    heads = "".join(f'<th scope="col">{_name_source(source)}</th>' for source in sources)
    order = ", ".join(escape(name_briefly(name)) for name in datasets)
    yield f'<table><tr><th scope="col">Claims of the paper</th>{heads}</tr>'
    before = ""
    for one in headlines:
        if one.group != before:
            title = escape(GROUPS[one.group])
            yield f'<tr class="group"><th scope="rowgroup" colspan="{len(sources) + 1}">{title}</th></tr>'
            before = one.group
        cells = "".join(
            "<td>" + "".join(_render_mark(one.held.get((source, name)), name) for name in datasets) + "</td>"
            for source in sources
        )
        yield f'<tr><td><a href="#e{one.experiment}">{one.experiment}</a> {escape(one.text)}</td>{cells}</tr>'
    yield "</table>"
    marks = "✓ yes, ~ in part, ✗ no, – not measured or cut off"
    yield f'<p class="soft">{marks}; {f"in this order: {order}" if len(datasets) > 1 else order}.</p>'


def _render_mark(held: str | None, dataset: str) -> str:
    mark, css = _MARKS.get(held or "", ("–", "soft"))
    label = escape(f"{name_briefly(dataset)}: {held or 'not measured'}")
    return f'<span class="{css}" role="img" aria-label="{label}" title="{label}">{mark}</span>'


def _name_source(variant: str) -> str:
    return VARIANT_LABELS[variant].removeprefix("ours, ")


def _render_guide(results: Mapping[str, Results], repeats: Sequence[Repeat]) -> Iterable[str]:
    yield "<h2>Data, and how to read the tables</h2><dl>"
    for dataset in _list_datasets(results):
        setup = find_dataset_setup(dataset)
        options = {_format_value(r.made_with["options"]) for r in repeats if r.dataset == dataset}
        rows = f" Windows of {setup.window}; {' / '.join(sorted(options))}." if any(options) else ""
        yield f"<dt>{escape(setup.label)}</dt><dd>{escape(setup.difference)}{escape(rows)}</dd>"
    present = {variant for result in results.values() for _, variant, _, _ in result.cells}
    for variant, text in _EXPLAINED.items():
        if variant in present:
            yield f"<dt>{VARIANT_LABELS[variant]}</dt><dd>{escape(text)}</dd>"
    yield (
        "<dt>numbers</dt><dd>mean ± standard deviation over the repeats. “static cons.” is the share of rules whose "
        "consequent is a static property. w-s: with semantics, wo-s: without. Times are CPU seconds on one thread; "
        "only they depend on the machine.</dd></dl>"
    )


def _render_experiment(results: Results, verdicts: Sequence[Verdict], figure: tuple[str, str] | None) -> Iterable[str]:
    experiment = results.experiment
    yield f'<h2 id="e{experiment.id}">Experiment {experiment.id}: {escape(experiment.title)}</h2>'
    yield f"<p>{escape(experiment.question)} <span class='soft'>{escape(experiment.source)}.</span></p>"
    if experiment.statements:
        listed = "".join(f"<li>{escape(statement)}</li>" for statement in experiment.statements)
        yield f"<p class='soft'>From the text of the paper:</p><ul>{listed}</ul>"
    for dataset in results.datasets:
        lines = list(format_comparison(results, dataset))
        if lines:
            yield f"<h3>{escape(_name_dataset(results, dataset))}: the published numbers and ours</h3>"
            yield from _render_table(list_comparison_headings(results), lines)
    if figure is not None:
        mark = f"figure-{experiment.id.replace('.', '-')}"
        drawn, caption = figure
        yield (
            f'<figure><div class="wide" tabindex="0" role="group" aria-label="Figure of experiment {experiment.id}">'
            f"{_inline(drawn, mark)}</div><figcaption id='{mark}-caption'>{escape(caption)}"
            f"{escape(_tell_claims(verdicts))}</figcaption></figure>"
        )
    if verdicts:
        yield "<h3>Claims</h3>"
        yield from _render_verdicts(verdicts)
    for dataset in results.datasets:
        lines = list(format_rows(results, dataset))
        is_open = " open" if figure is None else ""
        yield f"<details{is_open}><summary>All numbers: {escape(_name_dataset(results, dataset))}</summary>"
        yield from _render_table(list_headings(results), lines)
        yield "</details>"


def _name_dataset(results: Results, dataset: str) -> str:
    setup = find_dataset_setup(dataset)
    count = results.repeats[dataset]
    known = f" (the paper: {setup.published_as})" if setup.published_as else ""
    return f"{setup.label}{known}, {count} repeat{'s' * (count != 1)}"


def _tell_claims(verdicts: Sequence[Verdict]) -> str:
    """Return what the figure shows of the main claims, as text."""
    parts = []
    for one in list_headlines({"": verdicts}):
        told = []
        for source in list_sources([one]):
            held = {name: verdict for (of, name), verdict in one.held.items() if of == source}
            listed = ", ".join(f"{verdict} ({name_briefly(name)})" for name, verdict in held.items())
            same = len(held) > 1 and len(set(held.values())) == 1
            told.append(f"{_name_source(source)} {next(iter(held.values())) if same else listed}")
        parts.append(f"{one.text.removesuffix('.')}: {'; '.join(told)}.")
    return f" Seen here: {' '.join(parts)}" if parts else ""


def _render_table(heads: Sequence[str], lines: Iterable[Sequence[str]]) -> Iterable[str]:
    top = "".join(f'<th scope="col">{escape(head)}</th>' if head else "<td></td>" for head in heads)
    body = []
    for line in lines:
        classes = [*(["first"] if line[0] else []), *(["paper"] if VARIANT_LABELS["paper"] in line else [])]
        cells = "".join(
            f'<td data-label="{escape(head)}">{escape(cell)}</td>' for head, cell in zip(heads, line, strict=True)
        )
        body.append(f'<tr class="{" ".join(classes)}">{cells}</tr>')
    yield f'<table class="numbers stack"><tr>{top}</tr>{"".join(body)}</table>'


def _render_verdicts(verdicts: Sequence[Verdict]) -> Iterable[str]:
    heads = ("claim", "data", "source", "holds", "repeats", "numbers")
    top = "".join(f'<th scope="col" class="text">{head}</th>' for head in heads)
    yield f'<table class="stack"><tr>{top}</tr>'
    before = ""
    for v in verdicts:
        text = "" if v.claim.id == before else escape(v.claim.text)
        first = ' class="first"' if text else ""
        cells = (text, escape(name_briefly(v.dataset)), _name_source(v.variant), v.held, v.share, escape(v.numbers))
        yield (
            f"<tr{first}>"
            + "".join(
                f'<td class="{_MARKS.get(v.held, ("", "soft"))[1] if head == "holds" else "text"}" '
                f'data-label="{"" if head == "claim" else head}">{cell}</td>'
                for head, cell in zip(heads, cells, strict=True)
            )
            + "</tr>"
        )
        before = v.claim.id
    yield "</table>"


def _inline(drawn: str, mark: str) -> str:
    """Return an SVG as part of the page: with ids of its own, and with the colours of the page for ink and paper."""
    body = drawn[drawn.index("<svg") :]
    body = re.sub(r'\bid="([^"]+)"', rf'id="{mark}-\1"', body)
    body = re.sub(r'(href="#|url\(#)', rf"\1{mark}-", body)
    body = re.sub(r' (width|height)="[^"]+pt"', "", body, count=2)
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    body = body.replace('<style type="text/css">*{', f"<style>#{mark} *{{")
    for name, colour in COLOURS.items():
        body = body.replace(colour, f"var(--{name})")
    body = re.sub(r"\n\s*", "\n", body).strip()
    return body.replace("<svg", f'<svg id="{mark}" role="img" aria-labelledby="{mark}-caption"', 1)


def _render_settings(repeats: Sequence[Repeat]) -> Iterable[str]:
    yield '<h2 id="settings">Settings and machine</h2><dl>'
    common, _ = read_setup()
    used: dict[str, list[str]] = {}
    for repeat in repeats:
        for name, value in repeat.made_with.items():
            text = _format_value(value)
            if name not in ("options", "window") and text not in used.setdefault(name, []):
                used[name].append(text)
    for name in sorted(used, key=lambda n: (list(common).index(n) if n in common else len(common), n)):
        yield f"<dt>{escape(name.replace('_', ' '))}</dt><dd>{escape(' / '.join(used[name]))}</dd>"
    machines = dict.fromkeys(
        f"Thence {r.environment['thence']}, Python {r.environment['python']}, {r.environment['platform']}, "
        f"{r.environment['cores']} cores"
        for r in repeats
    )
    for machine in machines:
        yield f"<dt>machine</dt><dd>{escape(machine)}</dd>"
    yield "</dl>"


def _format_value(value: Any) -> str:
    """Return a setting as text.

    >>> _format_value({"days": 91, "leaks": False}), _format_value([1, 2, 3]), _format_value(2e-08)
    ('days 91, leaks no', '1, 2, 3', '2e-08')
    """
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_format_value(inner)}" for name, inner in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(_format_value(inner) for inner in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else f"{value:g}" if isinstance(value, float) else str(value)
