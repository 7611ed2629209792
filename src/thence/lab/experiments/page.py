"""Results as tables, figures and an HTML page: text, Markdown and CSV, and one file that loads nothing else.

``table.csv`` has the measured values and is byte for byte the same for the same repeats. Times, which differ from run
to run, are in ``times.csv``, and verdicts in ``claims.csv``. The overview at the top of the page says which of the main
claims hold, which do not, and why; a reason is given only where the numbers of every data set support it.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thence._base.atomic import new_file
from thence._base.display.html import text as escape
from thence._base.display.percent import percent
from thence._base.frames import without_formulas
from thence.lab.experiments.figures import COLOURS, build_picture, render_pdf, render_svg
from thence.lab.experiments.files import FOLDER, VARIANT_LABELS, VARIANTS, read_setup
from thence.lab.experiments.results import NO_VERDICT, ClaimVerdict, Repeat, Results, RowKey, format_number
from thence.lab.experiments.samples import find_dataset_setup

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


@dataclass(frozen=True)
class Table:
    """A table of texts, which can be written in several formats.

    Args:
        heads: Headings of the columns.
        lines: The cells of each line.
    """

    heads: Sequence[str]
    lines: Sequence[Sequence[str]]

    def to_text(self) -> list[str]:
        """Return lines for a terminal; columns after the second are aligned to the right."""
        table = [self.heads, *self.lines]
        widths = [max(len(line[c]) for line in table) for c in range(len(self.heads))]
        return [
            "  " + "  ".join(f"{text:{'<' if c < 2 else '>'}{widths[c]}}" for c, text in enumerate(line)).rstrip()
            for line in table
        ]

    def to_markdown(self) -> list[str]:
        """Return lines of Markdown."""
        head, *lines = ("| " + " | ".join(line) + " |" for line in (self.heads, *self.lines))
        return [head, "|" + "---|" * len(self.heads), *lines]

    def to_html(self, css: str = "numbers stack", style: Callable[[str, str], str] = lambda head, cell: "") -> str:
        """Return a table of HTML.

        Args:
            css: Classes of the table.
            style: The class of a cell, given its heading and its text, which is empty in the head of the table.
        """

        def mark(head: str, cell: str = "") -> str:
            return f' class="{found}"' if (found := style(head, cell)) else ""

        top = (f'<th scope="col"{mark(head)}>{escape(head)}</th>' if head else "<td></td>" for head in self.heads)
        parts = [f'<table class="{css}"><tr>{"".join(top)}</tr>']
        for line in self.lines:
            classes = [*(["first"] if line[0] else []), *(["paper"] if VARIANT_LABELS["paper"] in line else [])]
            cells = (
                f'<td{mark(head, cell)} data-label="{escape(head)}">{escape(cell)}</td>'
                for head, cell in zip(self.heads, line, strict=True)
            )
            parts.append(f'<tr class="{" ".join(classes)}">{"".join(cells)}</tr>')
        return "".join([*parts, "</table>"])

    def write_csv(self, path: Path) -> None:
        """Write a CSV file, in which no text is a formula; nothing if there are no lines."""
        import polars as pl

        if not self.lines:
            return
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.heads)
        frame = pl.DataFrame(self.lines, dict.fromkeys(self.heads, pl.String), orient="row")
        writer.writerows(without_formulas(frame).rows())
        with new_file(path) as draft:
            draft.write_text(text.getvalue(), encoding="utf-8")


def _tabulate_rows(results: Results, dataset: str) -> Table:
    """Return the table of a data set for people: a line per row and variant, the published numbers first."""
    at_name, metrics = results.experiment.at, results.metrics()
    lines = []
    for key in results.keys(dataset):
        row = [key[0], *(["" if key[1] is None else f"{key[1]:g}"] if at_name else [])]
        for variant in VARIANTS:
            texts = [_format_cell(results, dataset, variant, key, metric) for metric in metrics]
            if any(texts):
                lines.append([*row, VARIANT_LABELS[variant], *texts])
                row = [""] * len(row)
    return Table(["", *([at_name] if at_name else []), "source", *(HEADINGS[metric] for metric in metrics)], lines)


def _tabulate_comparison(results: Results, dataset: str) -> Table:
    """Return the published numbers of a data set beside ours: a line per row and metric, a column per source.

    Experiments that vary a parameter have no such lines, since their figures show it.
    """
    present = {variant for _, variant, _, _ in results.cells}
    sources = [variant for variant in VARIANTS if variant in present]
    lines = []
    for key in () if results.experiment.at else results.keys(dataset):
        row = key[0]
        for metric in results.metrics():
            if results.cell(dataset, "paper", key, metric) is not None:
                texts = [_format_cell(results, dataset, variant, key, metric) or "–" for variant in sources]
                lines.append([row, HEADINGS[metric], *texts])
                row = ""
    return Table(["", "", *map(_name_source, sources)], lines)


def _format_cell(results: Results, dataset: str, variant: str, key: RowKey, metric: str) -> str:
    cell = results.cell(dataset, variant, key, metric)
    if cell is None:
        return ""
    text = format_number(cell.mean, metric) if variant == "paper" else cell.text(metric)
    return f"≥ {text}" if metric == "rules" and results.stopped(dataset, variant, key) else text


def _name_source(variant: str) -> str:
    return VARIANT_LABELS[variant].removeprefix("ours, ")


def _format_title(results: Results, dataset: str) -> str:
    setup = find_dataset_setup(dataset)
    known = f" (the paper: {setup.published_as})" if setup.published_as else ""
    count = results.repeats[dataset]
    return f"{setup.label}{known}, {count} repeat{'s' * (count != 1)}"


def format_text(results: Results, verdicts: Sequence[ClaimVerdict]) -> str:
    """Return tables and ``verdicts`` as text for a terminal."""
    lines = [f"Experiment {results.experiment.id}: {results.experiment.title}"]
    for dataset in results.datasets:
        lines += ["", _format_title(results, dataset), *_tabulate_rows(results, dataset).to_text()]
    lines += ["", "Claims (does it hold? paper's numbers / ours)"]
    lines += [
        f"  {v.held:<8}{v.dataset:<10}{VARIANT_LABELS[v.variant]:<16}{v.claim.text} [{v.numbers}"
        + (f"; repeats: {v.share}]" if v.share else "]")
        for v in verdicts
    ]
    return "\n".join(lines)


def format_markdown(results: Results, verdicts: Sequence[ClaimVerdict]) -> str:
    """Return tables and ``verdicts`` as Markdown."""
    lines = [f"# Experiment {results.experiment.id}: {results.experiment.title}", "", results.experiment.question, ""]
    for dataset in results.datasets:
        lines += [f"## {_format_title(results, dataset)}", ""]
        beside = _tabulate_comparison(results, dataset)
        if beside.lines:
            lines += [*beside.to_markdown(), "", "All rows and metrics:", ""]
        lines += [*_tabulate_rows(results, dataset).to_markdown(), ""]
    if verdicts:
        judged = [[v.claim.text, v.dataset, VARIANT_LABELS[v.variant], v.held, v.numbers, v.share] for v in verdicts]
        table = Table(("claim", "data", "source", "holds", "numbers", "repeats"), judged)
        lines += ["## Claims", "", *table.to_markdown()]
    return "\n".join(lines) + "\n"


def write_tables(results: Results, verdicts: Sequence[ClaimVerdict], folder: Path) -> None:
    """Write ``table.csv``, ``times.csv``, ``claims.csv`` and ``table.md`` to ``folder``."""
    heads = ["dataset", "row", results.experiment.at or "at", "metric", "paper"]
    heads += [f"{variant}_{what}" for variant in VARIANTS[1:] for what in ("mean", "sd", "repeats")]
    values: list[list[str]] = []
    times: list[list[str]] = []
    for line in results.lines():
        out = [line.dataset, line.row, _format_digits(line.at), line.metric, _format_digits(line.paper)]
        for cell in (line.cells.get(variant) for variant in VARIANTS[1:]):
            numbers = ("", "", "")
            if cell is not None:
                numbers = (_format_digits(cell.mean), _format_digits(cell.deviation), str(len(cell.values)))
            out += numbers
        (times if line.metric == "seconds" else values).append(out)
    judged = [[v.claim.id, v.claim.text, v.dataset, v.variant, v.held, v.numbers, v.share] for v in verdicts]
    Table(heads, values).write_csv(folder / "table.csv")
    Table(heads, times).write_csv(folder / "times.csv")
    columns = ("claim", "text", "dataset", "variant", "holds", "numbers", "repeats")
    Table(columns, judged).write_csv(folder / "claims.csv")
    with new_file(folder / "table.md") as draft:
        draft.write_text(format_markdown(results, verdicts), encoding="utf-8")


def _format_digits(value: float | None) -> str:
    if value is None:
        return ""
    # Six digits are not enough for millions of rules, which are counted.
    return f"{value:.0f}" if abs(value) >= 1e6 else f"{value:.6g}"


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


def list_headlines(verdicts: Mapping[str, Sequence[ClaimVerdict]]) -> list[Headline]:
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
    return sorted(found, key=lambda one: list(GROUPS).index(one.group))


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


@dataclass(frozen=True)
class _Reason:
    """Why claims hold or not: a comparison of two rows that must come out the same way on every data set.

    Args:
        metric: The metric that is compared.
        left: A variant and a row.
        right: The variant and the row to compare with.
        holds: Whether the comparison supports the reason.
        text: The sentences, with ``{pairs}`` for the numbers, and ``{shares}`` for the shares of static consequents of
            ``left``, most of which must be static then.
    """

    metric: str
    left: tuple[str, str]
    right: tuple[str, str]
    holds: Callable[[float, float], bool]
    text: str


_REASONS = (
    _Reason(
        "zhang",
        ("faithful", "Aerial w-s"),
        ("faithful", "Aerial wo-s"),
        lambda with_, without: with_ < without,
        "Aerial's rules with semantics conclude constants. In our reconstruction of the text, most of them have a "
        "static property as their consequent: {shares}. Such a property never changes, so these rules have high "
        "support whatever the readings: mean Zhang {pairs} without semantics.",
    ),
    _Reason(
        "support",
        ("corrected", "FP-Growth w-s (ids dropped, no properties)"),
        ("corrected", "FP-Growth w-s"),
        lambda bare, full: bare > full,
        "Dropping sensor ids raises the support of FP-Growth: “some sensor” is easier to satisfy than “this sensor”. "
        "Items without any property have more support than items with them: {pairs}.",
    ),
    _Reason(
        "rules",
        ("corrected", "FP-Growth wo-s"),
        ("corrected", "Aerial wo-s"),
        lambda exhaustive, aerial: exhaustive < 2 * aerial,
        "Aerial has far fewer rules than exhaustive mining of another table. On the same table, at half of Aerial's "
        "mean support, exhaustive mining has about as many rules: {pairs}.",
    ),
    _Reason(
        "zhang",
        ("lifted", "Aerial w-s"),
        ("corrected", "Aerial w-s"),
        lambda lifted, grounded: lifted > grounded,
        "Rules about any sensor in a context need variables. Lifted rules have more association strength than grounded "
        "ones: mean Zhang {pairs}.",
    ),
)


def list_reasons(results: Mapping[str, Results]) -> list[str]:
    """Return why claims hold or not, as sentences with the numbers that show it.

    Args:
        results: Results by experiment.
    """
    quality = results.get("1.1")
    if quality is None:
        return []

    def means(source: tuple[str, str], metric: str) -> dict[str, float]:
        cells = {name: quality.cell(name, source[0], (source[1], None), metric) for name in quality.datasets}
        return {name: cell.mean for name, cell in cells.items() if cell is not None}

    found = []
    for reason in _REASONS:
        left, right = means(reason.left, reason.metric), means(reason.right, reason.metric)
        static = means(reason.left, "static_consequents")
        supported = left.keys() == right.keys() and all(reason.holds(left[name], right[name]) for name in left)
        if not left or not supported or ("{shares}" in reason.text and min(static.values(), default=0.0) <= 0.5):
            continue
        shares = ", ".join(f"{percent(share)} ({name_briefly(name)})" for name, share in static.items())
        pairs = ", ".join(
            f"{format_number(left[name], reason.metric)} against {format_number(right[name], reason.metric)} "
            f"({name_briefly(name)})"
            for name in left
        )
        found.append(reason.text.format(shares=shares, pairs=pairs))
    return found


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
    verdicts: Mapping[str, Sequence[ClaimVerdict]],
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
    style = (FOLDER / "page.css").read_text(encoding="utf-8")
    page = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>The paper's experiments, reproduced</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(parts)
        + "\n</main>\n</body>\n</html>\n"
    )
    with new_file(folder / "index.html") as draft:
        draft.write_text(page, encoding="utf-8")
    return folder / "index.html"


def _render_opening(
    results: Mapping[str, Results], verdicts: Mapping[str, Sequence[ClaimVerdict]], quick: bool
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


def _render_experiment(
    results: Results, verdicts: Sequence[ClaimVerdict], figure: tuple[str, str] | None
) -> Iterable[str]:
    experiment = results.experiment
    yield f'<h2 id="e{experiment.id}">Experiment {experiment.id}: {escape(experiment.title)}</h2>'
    yield f"<p>{escape(experiment.question)} <span class='soft'>{escape(experiment.source)}.</span></p>"
    if experiment.statements:
        listed = "".join(f"<li>{escape(statement)}</li>" for statement in experiment.statements)
        yield f"<p class='soft'>From the text of the paper:</p><ul>{listed}</ul>"
    for dataset in results.datasets:
        beside = _tabulate_comparison(results, dataset)
        if beside.lines:
            yield f"<h3>{escape(_format_title(results, dataset))}: the published numbers and ours</h3>"
            yield beside.to_html()
    if figure is not None:
        mark = f"figure-{experiment.id.replace('.', '-')}"
        drawn, caption = figure
        yield (
            f'<figure><div class="wide" tabindex="0" role="group" aria-label="Figure of experiment {experiment.id}">'
            f"{_inline(drawn, mark)}</div><figcaption id='{mark}-caption'>{escape(caption)}"
            f"{escape(_describe_claims(verdicts))}</figcaption></figure>"
        )
    if verdicts:
        yield "<h3>Claims</h3>"
        yield _tabulate_verdicts(verdicts).to_html(
            "stack", lambda head, cell: _MARKS.get(cell, ("", "soft"))[1] if head == "holds" and cell else "text"
        )
    for dataset in results.datasets:
        is_open = " open" if figure is None else ""
        yield f"<details{is_open}><summary>All numbers: {escape(_format_title(results, dataset))}</summary>"
        yield _tabulate_rows(results, dataset).to_html()
        yield "</details>"


def _tabulate_verdicts(verdicts: Sequence[ClaimVerdict]) -> Table:
    lines, before = [], ""
    for v in verdicts:
        text = "" if v.claim.id == before else v.claim.text
        lines.append([text, name_briefly(v.dataset), _name_source(v.variant), v.held, v.share, v.numbers])
        before = v.claim.id
    return Table(("claim", "data", "source", "holds", "repeats", "numbers"), lines)


def _describe_claims(verdicts: Sequence[ClaimVerdict]) -> str:
    """Return what the figure shows of the main claims, as text."""
    parts = []
    for one in list_headlines({"": verdicts}):
        texts = []
        for source in list_sources([one]):
            held = {name: verdict for (of, name), verdict in one.held.items() if of == source}
            listed = ", ".join(f"{verdict} ({name_briefly(name)})" for name, verdict in held.items())
            same = len(held) > 1 and len(set(held.values())) == 1
            texts.append(f"{_name_source(source)} {next(iter(held.values())) if same else listed}")
        parts.append(f"{one.text.removesuffix('.')}: {'; '.join(texts)}.")
    return f" Seen here: {' '.join(parts)}" if parts else ""


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
