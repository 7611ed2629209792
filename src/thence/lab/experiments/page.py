"""The HTML page of the results: an overview, then verdicts, figures and tables, in one file that loads nothing else.

Numbers come from ``Results``, verdicts from ``experiments.claims`` and the overview from ``experiments.overview``;
nothing is computed here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from thence._base.atomic import new_file
from thence._base.display.html import text as escape
from thence.lab.experiments.claims import Verdict
from thence.lab.experiments.drawing import BACK, INK, LINE, SHADE, SOFT, render_pdf, render_svg
from thence.lab.experiments.figures import build_picture
from thence.lab.experiments.files import read_setup
from thence.lab.experiments.overview import GROUPS, Headline, list_headlines, list_reasons, list_sources, name_briefly
from thence.lab.experiments.samples import find_dataset_setup
from thence.lab.experiments.store import Repeat
from thence.lab.experiments.summary import Results
from thence.lab.experiments.tables import (
    VARIANT_LABELS,
    format_comparison,
    format_rows,
    list_comparison_headings,
    list_headings,
)

__all__ = ["write_figure", "write_page"]

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
    for colour, name in ((INK, "ink"), (SOFT, "soft"), (LINE, "line"), (BACK, "back"), (SHADE, "shade")):
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
