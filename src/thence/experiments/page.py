"""The HTML page of the results: all tables, verdicts and figures in one file that loads nothing else.

Numbers come from ``Results`` and verdicts from ``experiments.claims``; nothing is computed here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from thence.atomic import new_file
from thence.errors import require
from thence.experiments.claims import Verdict
from thence.experiments.figures import draw_figures
from thence.experiments.files import read_setup
from thence.experiments.samples import find_dataset_setup
from thence.experiments.store import Repeat
from thence.experiments.summary import Results
from thence.experiments.tables import VARIANT_LABELS, format_rows, list_headings

__all__ = ["write_figures", "write_page"]

_STYLE = """
:root { color-scheme: light; --ink: #1d2329; --soft: #5b6670; --line: #d9dee3; --back: #fff; --band: #f5f7f9; }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--back); margin: 0 auto;
  max-width: 72rem; padding: 1.5rem; }
h1 { font-size: 1.7rem; margin: 0 0 .3rem; } h2 { margin-top: 2.8rem; border-top: 1px solid var(--line);
  padding-top: 1.4rem; } h3 { margin: 1.6rem 0 .4rem; font-size: 1rem; }
p.lead, .soft { color: var(--soft); } nav a { margin-right: 1rem; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-size: .87rem; }
th, td { padding: .22rem .6rem; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-weight: 600; } td:first-child, th:first-child, td.text { text-align: left; }
td.wide { white-space: normal; min-width: 18rem; } tr.paper td { background: var(--band); }
tr.first td { border-top: 1px solid #aab3bb; }
.yes { color: #22703a; font-weight: 600; } .no { color: #b3261e; font-weight: 600; } .part { color: #8a6100;
  font-weight: 600; } figure { margin: 1.2rem 0; overflow-x: auto; } figcaption { color: var(--soft); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; font-size: .87rem; } dd { margin: 0; }
"""


def write_figures(results: Results, folder: Path) -> dict[str, dict[str, Any]]:
    """Write the charts of an experiment to ``folder`` as SVG and PNG; return their Vega-Lite specifications by name."""
    convert = require("vl_convert", extra="plots")
    specs: dict[str, dict[str, Any]] = {}
    for name, chart in draw_figures(results).items():
        spec: dict[str, Any] = chart.to_dict()
        specs[name] = spec
        with new_file(folder / f"{name}.svg") as draft:
            draft.write_text(convert.vegalite_to_svg(spec), encoding="utf-8")
        with new_file(folder / f"{name}.png") as draft:
            draft.write_bytes(convert.vegalite_to_png(spec, scale=2))
    return specs


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
    convert = require("vl_convert", extra="plots")
    specs: dict[str, dict[str, Any]] = {}
    parts = list(_render_opening(results, repeats, quick))
    for name, result in results.items():
        drawn = write_figures(result, folder / name)
        marks = {f"figure-{name.replace('.', '-')}-{figure}": (figure, spec) for figure, spec in drawn.items()}
        specs |= {mark: spec for mark, (_, spec) in marks.items()}
        parts += _render_experiment(result, verdicts[name], [(mark, figure) for mark, (figure, _) in marks.items()])
    parts += _render_settings(repeats)
    # "</" anywhere in the data could end the script.
    data = json.dumps(specs).replace("</", "<\\/")
    script = (
        f"<script>{convert.javascript_bundle()}</script>\n<script>\nconst figures = {data};\n"
        "for (const [id, spec] of Object.entries(figures)) "
        "vegaEmbed('#' + id, spec, {actions: false, renderer: 'svg'}).catch(console.error);\n</script>"
    )
    page = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>The paper's experiments, reproduced</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(parts)
        + f"\n{script}\n</body>\n</html>\n"
    )
    with new_file(folder / "index.html") as draft:
        draft.write_text(page, encoding="utf-8")
    return folder / "index.html"


def _render_opening(results: Mapping[str, Results], repeats: Sequence[Repeat], quick: bool) -> Iterable[str]:
    yield "<h1>The paper's experiments, reproduced</h1>"
    yield (
        '<p class="lead">Karabulut, Groth &amp; Degeler, “Learning Semantic Association Rules from Internet of Things '
        "Data” (2025), repeated with Thence and compared with the published numbers.</p>"
    )
    if quick:
        yield '<p class="no">A quick run with less data and smaller settings: do not compare the numbers.</p>'
    links = "".join(f'<a href="#e{name}">{name} {escape(r.experiment.title)}</a><br>' for name, r in results.items())
    yield f"<nav>{links}</nav>"
    yield "<h3>Data</h3><dl>"
    for dataset in dict.fromkeys(name for result in results.values() for name in result.datasets):
        setup = find_dataset_setup(dataset)
        options = {json.dumps(dict(r.made_with["options"])) for r in repeats if r.dataset == dataset}
        rows = f" Windows of {setup.window}; {' / '.join(sorted(options))}." if options else ""
        yield f"<dt>{escape(setup.label)}</dt><dd>{escape(setup.difference)}{escape(rows)}</dd>"
    yield "</dl><h3>How to read the tables</h3><dl>"
    for variant, text in {
        "paper": "the published numbers.",
        "faithful": "as the paper describes it: gaussian noise, missing values replaced by zero, static columns as "
        "antecedents and consequents; the exhaustive baseline in its published encoding.",
        "corrected": "masking instead of noise; missing values stay missing; constants and static properties are never "
        "consequents; exhaustive rules have one consequent, no duplicates, and no rule that is true by definition.",
        "lifted": "rules with variables, counted over the embeddings of graph patterns; readings are ranks in the "
        "history of each sensor.",
    }.items():
        yield f"<dt>{VARIANT_LABELS[variant]}</dt><dd>{escape(text)}</dd>"
    yield (
        "<dt>numbers</dt><dd>mean ± standard deviation over the repeats. “static cons.” is the share of rules whose "
        "consequent is a static property. Times are CPU seconds on one thread; only they depend on the machine."
        "</dd></dl>"
    )


def _render_experiment(
    results: Results, verdicts: Sequence[Verdict], marks: Sequence[tuple[str, str]]
) -> Iterable[str]:
    experiment = results.experiment
    yield f'<h2 id="e{experiment.id}">Experiment {experiment.id}: {escape(experiment.title)}</h2>'
    yield f"<p>{escape(experiment.question)} <span class='soft'>{escape(experiment.source)}.</span></p>"
    if experiment.statements:
        listed = "".join(f"<li>{escape(statement)}</li>" for statement in experiment.statements)
        yield f"<p class='soft'>From the text of the paper:</p><ul>{listed}</ul>"
    if verdicts:
        yield from _render_verdicts(verdicts)
    for dataset in results.datasets:
        setup = find_dataset_setup(dataset)
        count = results.repeats[dataset]
        known = f" (the paper: {setup.published_as})" if setup.published_as else ""
        yield f"<h3>{escape(setup.label + known)}: {count} repeat{'s' * (count != 1)}</h3>"
        heads = "".join(f"<th>{escape(head)}</th>" for head in list_headings(results))
        body = []
        for line in format_rows(results, dataset):
            classes = [*(["first"] if line[0] else []), *(["paper"] if VARIANT_LABELS["paper"] in line else [])]
            cells = "".join(f"<td>{escape(cell)}</td>" for cell in line)
            body.append(f'<tr class="{" ".join(classes)}">{cells}</tr>')
        yield f"<div class='scroll'><table><tr>{heads}</tr>{''.join(body)}</table></div>"
    for mark, name in marks:
        yield f"<figure><div id='{mark}'></div><figcaption>{escape(name.replace('-', ' '))}</figcaption></figure>"


def _render_verdicts(verdicts: Sequence[Verdict]) -> Iterable[str]:
    yield "<h3>Claims of the paper</h3><div class='scroll'><table>"
    yield "<tr><th>claim</th><th>data</th><th>source</th><th>holds</th><th>repeats</th><th>numbers</th></tr>"
    before = ""
    for v in verdicts:
        mark = {"yes": "yes", "no": "no"}.get(v.held, "part")
        text = "" if v.claim.id == before else escape(v.claim.text)
        first = " class='first'" if text else ""
        yield (
            f"<tr{first}><td class='wide'>{text}</td><td class='text'>{escape(v.dataset)}</td>"
            f"<td class='text'>{VARIANT_LABELS[v.variant]}</td><td class='{mark}'>{v.held}</td><td>{v.share}</td>"
            f"<td class='text'>{escape(v.numbers)}</td></tr>"
        )
        before = v.claim.id
    yield "</table></div>"


def _render_settings(repeats: Sequence[Repeat]) -> Iterable[str]:
    yield "<h2>Settings and machine</h2><dl>"
    common, _ = read_setup()
    used: dict[str, list[str]] = {}
    for repeat in repeats:
        for name, value in repeat.made_with.items():
            text = json.dumps(value, sort_keys=True)
            if name not in ("options", "window") and text not in used.setdefault(name, []):
                used[name].append(text)
    for name in sorted(used, key=lambda n: (list(common).index(n) if n in common else len(common), n)):
        yield f"<dt>{name}</dt><dd>{escape(' · '.join(used[name]))}</dd>"
    machines = dict.fromkeys(
        f"Thence {r.environment['thence']}, Python {r.environment['python']}, {r.environment['platform']}, "
        f"{r.environment['cores']} cores"
        for r in repeats
    )
    for machine in machines:
        yield f"<dt>machine</dt><dd>{escape(machine)}</dd>"
    yield "</dl>"
