"""Names from data are data: a hostile set of them goes through every export, page, screen and query, and is read back.

What is read back is parsed by a real parser; it must hold the names as text, and nothing that a name brought along.
"""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import markdown
import numpy as np
import polars as pl
import pytest
import rdflib
from rdflib.plugins.sparql import prepareQuery

import thence as th
from tests.helpers.commands import thence
from tests.security.names import HOSTILE, hostile_system
from thence._base.frames import without_formulas
from thence.checks.monitor.service import write_health
from thence.errors import quote
from thence.lab.experiments.page import Table
from thence.runs.reviews import Review, Reviews, with_reviews
from thence.show.export import graph_rdf, shacl, sparql
from thence.statements.keys import key_text

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\x9b]")
SETTINGS: dict[str, Any] = {"windows": "1h", "bins": 2, "max_antecedents": 1, "min_confidence": 0.9, "progress": "off"}


class Page(HTMLParser):
    """Tags, attributes and text of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.scripts: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        if self.lasttag == "script":
            self.scripts.append(data)
        self.text += data


def read_page(markup: str) -> Page:
    page = Page()
    page.feed(markup)
    page.close()
    assert not [name for name, _ in page.attributes if name.startswith("on")], "an attribute with a script"
    assert not [value for _, value in page.attributes if value and value.strip().lower().startswith("javascript")]
    return page


@pytest.fixture(scope="module")
def system() -> th.System:
    return hostile_system()


@pytest.fixture(scope="module", params=["none", "grounded", "lifted"])
def run(request: pytest.FixtureRequest, system: th.System, tmp_path_factory: pytest.TempPathFactory) -> th.Run:
    folder = tmp_path_factory.mktemp("hostile") / "run"
    found = th.mine(system, enrich=request.param, refine=None, out=folder, **SETTINGS)
    assert len(found.rules) > 0
    return found


def test_csv_has_no_formula(run: th.Run, tmp_path: Path) -> None:
    path = th.write_rules(run.rules, tmp_path / "rules.csv")
    with path.open(encoding="utf-8-sig", newline="") as file:
        header, *rows = csv.reader(file)
    assert len(rows) == len(run.rules) and {len(row) for row in rows} == {len(header)}
    for cell in (cell for row in rows for cell in row):
        if cell[:1] in "=+-@\t\r" and cell:
            float(cell)  # a number may begin with a sign


FORMULAS = ['=HYPERLINK("http://127.0.0.1/")', "+1+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "＝1+1"]


def begins_a_formula(text: str) -> bool:
    return text[:1] in tuple("=+-@\t\r\n＝＋－＠") and not re.fullmatch(r"[+-]?\d+(\.\d+)?(e[+-]?\d+)?", text)


def test_no_text_in_a_csv_is_a_formula(tmp_path: Path) -> None:
    """Names could not begin a formula, but notes of reviews could: they were written as they are."""
    toy = th.mine(th.datasets.load("toy"), windows="1h", bins=3, progress="off", refine=None)
    notes = zip(toy.rules.keys, [*FORMULAS, "-1.5"], strict=False)
    reviews = Reviews({key_text(key): Review("accepted", note) for key, note in notes})
    extras = {"=1+1": np.array(["@SUM(A1)"] * len(toy.rules), object)}
    rules = with_reviews(replace(toy.rules, extras={**toy.rules.extras, **extras}), reviews)
    for separator in ",;\t":
        path = th.write_rules(rules, tmp_path / "rules.csv", separator=separator)
        with path.open(encoding="utf-8", newline="") as file:
            header, *rows = csv.reader(file, delimiter=separator)
        cells = [cell for row in (header, *rows) for cell in row]
        assert not [cell for cell in cells if begins_a_formula(cell)]
        assert {f"'{note}" for note in FORMULAS} | {"-1.5", "'=1+1"} <= set(cells)


def test_numbers_stay_numbers_in_a_csv() -> None:
    frame = pl.DataFrame({"a": [-1.5, float("inf")], "b": ["-1.5", "+2e-7"], "c": [None, "plain"], "d": [-1, 2]})
    assert without_formulas(frame).equals(frame)


def test_other_csv_files_have_no_formula_either(tmp_path: Path) -> None:
    """Tables of comparisons, of the health of rules and of experiments were written as they are."""
    texts = [text for text in FORMULAS if "\r" not in text]
    hostile = pl.DataFrame({"rule": texts, "n": range(len(texts))})
    health = tmp_path / "health.csv"
    write_health(SimpleNamespace(table=lambda: hostile), health)  # type: ignore[arg-type]
    Table(["row", "at"], [[text, "-1.5"] for text in texts]).write_csv(tmp_path / "table.csv")
    for path in (health, tmp_path / "table.csv"):
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file))
        assert [row[0] for row in rows[1:]] == [f"'{text}" for text in texts]


def test_markdown_is_one_table_of_text(run: th.Run, tmp_path: Path) -> None:
    path = th.write_rules(run.rules, tmp_path / "rules.md")
    page = read_page(markdown.markdown(path.read_text(encoding="utf-8"), extensions=["tables"]))
    assert page.tags.count("tr") == len(run.rules) + 1
    assert set(page.tags) <= {"table", "thead", "tbody", "tr", "th", "td", "p", "h1", "h2", "strong", "code"}


@pytest.mark.parametrize("suffix", ["json", "parquet"])
def test_rules_are_read_back_as_they_were(run: th.Run, suffix: str, tmp_path: Path) -> None:
    path = th.write_rules(run.rules, tmp_path / f"rules.{suffix}")
    assert list(th.read_rules(path)) == list(run.rules)


def test_sparql_queries_ask_what_they_should(run: th.Run) -> None:
    for rule in list(run.rules)[:60]:
        algebra = str(prepareQuery(sparql.query(rule)).algebra)
        assert "ServiceGraphPattern" not in algebra and "127.0.0.1" not in re.sub(
            r"Literal\(.*?\)|URIRef\(.*?\)", "", algebra
        )


def test_shapes_are_turtle_and_their_queries_queries(run: th.Run) -> None:
    graph = rdflib.Graph().parse(data=shacl.shapes(list(run.rules)[:40]), format="turtle")
    select = rdflib.URIRef("http://www.w3.org/ns/shacl#select")
    namespaces = dict(graph.namespaces())
    queries = list(graph.objects(None, select))
    assert queries
    for query in queries:
        text = re.sub(r"\$this", "?this", str(query)).replace("$PATH", "?path")
        assert "ServiceGraphPattern" not in str(prepareQuery(text, initNs=namespaces).algebra)


def test_the_graph_is_turtle(system: th.System, tmp_path: Path) -> None:
    assert system.graph is not None
    path = graph_rdf.write_graph(system.graph, tmp_path / "graph.ttl")
    text = {str(value) for value in rdflib.Graph().parse(path, format="turtle").objects()}
    assert HOSTILE["sparql"] in text or any(HOSTILE["sparql"] in value for value in text)


def test_pages_hold_names_as_text(run: th.Run, system: th.System, tmp_path: Path) -> None:
    assert run.path is not None
    pages = [thing._repr_html_() for thing in (system, system.sensors, run, run.rules, run.rules.rule(0))]
    for markup in pages:
        assert not {"script", "img", "iframe", "link"} & set(read_page(markup).tags)
    report = th.report(run).save(tmp_path / "page.html").read_text(encoding="utf-8")
    page = read_page(report)
    assert "img" not in page.tags
    own = [text for text in page.scripts if text.strip()]
    # The scripts of the page, and one with the data, which is JSON: no name ends it.
    assert page.tags.count("script") == len(re.findall(r"<script", report)) and len(own) <= 3
    assert not re.search(r"<script>alert", report)


def test_screens_show_no_escape_sequence(run: th.Run) -> None:
    assert run.path is not None
    for arguments in (["show", run.path], ["show", run.path, "--top", "0"], ["review", run.path, "--accept", "1"]):
        shown = thence(*arguments)
        assert shown.exit_code == 0, shown.output
        assert not CONTROL.search(shown.output), CONTROL.search(shown.output)
        assert "\u202e" not in shown.output
    for arguments in (["show", run.path, "--json"],):
        assert json.loads(thence(*arguments).stdout)


def test_messages_quote_names(tmp_path: Path) -> None:
    for name in HOSTILE.values():
        text = str(th.errors.InputError(f"no such column {quote(name)}", where=name, hint=f"not {quote(name)}"))
        assert not CONTROL.search(text) and "\u202e" not in text and "\n" not in text


def test_readers_take_names_as_they_are(system: th.System, tmp_path: Path) -> None:
    out = io.StringIO()
    names = [name for name in HOSTILE.values() if "\x00" not in name]
    writer = csv.writer(out)
    writer.writerow(["time", *names])
    for hour in range(12):
        writer.writerow([f"2024-01-01 {hour:02}:00", *[hour * 1.5] * len(names)])
    (tmp_path / "a.csv").write_text(out.getvalue(), encoding="utf-8", newline="")
    assert [" ".join(sensor.id.split()) for sensor in th.read_sensors(tmp_path / "a.csv").sensors] == [
        " ".join(name.split()) for name in names
    ]


def test_a_name_is_no_path(tmp_path: Path) -> None:
    """No file appears outside of the folder that was named, whatever sensors and systems are called."""
    inside = tmp_path / "inside"
    inside.mkdir()
    th.mine(hostile_system(), enrich="none", refine=None, out=inside / "run", **SETTINGS)
    assert [path.name for path in tmp_path.iterdir()] == ["inside"]
    assert not [path for path in inside.rglob("*") if path.is_symlink()]
