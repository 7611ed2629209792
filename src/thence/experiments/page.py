"""The page of results: one HTML file with every table, verdict and figure, and nothing fetched from elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from thence.atomic import new_file
from thence.errors import require
from thence.experiments.claims import Verdict
from thence.experiments.figures import figures
from thence.experiments.files import read_setup
from thence.experiments.samples import source_of
from thence.experiments.store import Repeat
from thence.experiments.summary import Results
from thence.experiments.tables import SHOWN, headings, rows_of

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
    """Write the charts of an experiment as SVG and PNG; their specifications by name."""
    convert = require("vl_convert", extra="plots")
    specs: dict[str, dict[str, Any]] = {}
    for name, chart in figures(results).items():
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
    """Write figures and ``index.html`` under a folder."""
    convert = require("vl_convert", extra="plots")
    specs: dict[str, dict[str, Any]] = {}
    parts = list(_opening(results, repeats, quick))
    for name, result in results.items():
        drawn = write_figures(result, folder / name)
        marks = {f"figure-{name.replace('.', '-')}-{figure}": (figure, spec) for figure, spec in drawn.items()}
        specs |= {mark: spec for mark, (_, spec) in marks.items()}
        parts += _section(result, verdicts[name], [(mark, figure) for mark, (figure, _) in marks.items()])
    parts += _closing(repeats)
    # "</" would end the script early, wherever it stood in the data.
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


def _opening(results: Mapping[str, Results], repeats: Sequence[Repeat], quick: bool) -> Iterable[str]:
    yield "<h1>The paper's experiments, reproduced</h1>"
    yield (
        '<p class="lead">Karabulut, Groth &amp; Degeler, “Learning Semantic Association Rules from Internet of Things '
        "Data” (2025), run again with Thence and put beside the published numbers.</p>"
    )
    if quick:
        yield '<p class="no">A quick run: less data and smaller settings than the paper’s. Not for comparison.</p>'
    links = "".join(f'<a href="#e{name}">{name} {escape(r.experiment.title)}</a><br>' for name, r in results.items())
    yield f"<nav>{links}</nav>"
    yield "<h3>Data</h3><dl>"
    for dataset in dict.fromkeys(name for result in results.values() for name in result.datasets):
        source = source_of(dataset)
        options = {json.dumps(dict(r.made_with["options"])) for r in repeats if r.dataset == dataset}
        rows = f" Windows of {source.window}; {' / '.join(sorted(options))}." if options else ""
        yield f"<dt>{escape(source.label)}</dt><dd>{escape(source.difference)}{escape(rows)}</dd>"
    yield "</dl><h3>How to read the tables</h3><dl>"
    for variant, text in {
        "paper": "as printed.",
        "faithful": "what the paper describes: gaussian noise, gaps read as zero, static columns on both sides of "
        "rules; the exhaustive baseline in its published encoding.",
        "corrected": "masking, gaps stay missing, constants and static properties are never consequents; exhaustive "
        "rules one consequent each, each once, none that follow from what their items say.",
        "lifted": "rules with variables, over the embeddings of graph patterns; readings as ranks in a sensor's own "
        "history.",
    }.items():
        yield f"<dt>{SHOWN[variant]}</dt><dd>{escape(text)}</dd>"
    yield (
        "<dt>numbers</dt><dd>mean ± standard deviation over the repeats. “static cons.”: share of rules whose "
        "consequent is a static property. Times are processor seconds on one thread and depend on the machine; nothing "
        "else does.</dd></dl>"
    )


def _section(results: Results, verdicts: Sequence[Verdict], marks: Sequence[tuple[str, str]]) -> Iterable[str]:
    experiment = results.experiment
    yield f'<h2 id="e{experiment.id}">Experiment {experiment.id}: {escape(experiment.title)}</h2>'
    yield f"<p>{escape(experiment.question)} <span class='soft'>{escape(experiment.source)}.</span></p>"
    if experiment.statements:
        listed = "".join(f"<li>{escape(statement)}</li>" for statement in experiment.statements)
        yield f"<p class='soft'>The paper's text:</p><ul>{listed}</ul>"
    if verdicts:
        yield from _verdicts(results, verdicts)
    for dataset in results.datasets:
        source = source_of(dataset)
        count = results.repeats[dataset]
        known = f" (the paper: {source.published_as})" if source.published_as else ""
        yield f"<h3>{escape(source.label + known)}: {count} repeat{'s' * (count != 1)}</h3>"
        heads = "".join(f"<th>{escape(head)}</th>" for head in headings(results))
        body = []
        for line in rows_of(results, dataset):
            classes = [*(["first"] if line[0] else []), *(["paper"] if SHOWN["paper"] in line else [])]
            cells = "".join(f"<td>{escape(cell)}</td>" for cell in line)
            body.append(f'<tr class="{" ".join(classes)}">{cells}</tr>')
        yield f"<div class='scroll'><table><tr>{heads}</tr>{''.join(body)}</table></div>"
    for mark, name in marks:
        yield f"<figure><div id='{mark}'></div><figcaption>{escape(name.replace('-', ' '))}</figcaption></figure>"


def _verdicts(results: Results, verdicts: Sequence[Verdict]) -> Iterable[str]:
    yield "<h3>Does the paper's claim hold?</h3><div class='scroll'><table>"
    yield "<tr><th>claim</th><th>data</th><th>source</th><th>holds</th><th>repeats</th><th>numbers</th></tr>"
    before = ""
    for v in verdicts:
        mark = {"yes": "yes", "no": "no"}.get(v.held, "part")
        text = "" if v.claim.id == before else escape(v.claim.text)
        first = " class='first'" if text else ""
        yield (
            f"<tr{first}><td class='wide'>{text}</td><td class='text'>{escape(v.dataset)}</td>"
            f"<td class='text'>{SHOWN[v.variant]}</td><td class='{mark}'>{v.held}</td><td>{v.share}</td>"
            f"<td class='text'>{escape(v.numbers)}</td></tr>"
        )
        before = v.claim.id
    yield "</table></div>"


def _closing(repeats: Sequence[Repeat]) -> Iterable[str]:
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
