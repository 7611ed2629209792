"""The documentation against the code: every block runs, every link leads somewhere, every name and module is listed.

``tools/page_runner.py`` says how the blocks of a page are run.
"""

from __future__ import annotations

import ast
import os
import re
import shlex
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer

import thence as th
from tests.helpers.commands import thence
from tests.helpers.distributions import add_distribution
from tests.statements.laws.plants import system_of
from thence._base.display.rules import format_measure
from thence.checks.detect.law_checks import LawChecks
from thence.checks.monitor.alerts import Alert
from thence.checks.monitor.outlets import open_outlet
from thence.cli.app import app
from thence.data.readings.windows import window
from thence.search.base import make_miner
from thence.show.reports.cards import Cards
from thence.show.reports.material import material_of
from thence.show.reports.rows import measure_columns, rule_rows
from thence.statements.laws.law import Law, Laws
from tools.page_blocks import ROOT, blocks_of, read_outputs, write_outputs
from tools.page_runner import FILES, check_output, run_page
from tools.page_words import count_words, words_by_page

PAGES = {
    str(path.relative_to(ROOT)): path
    for path in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/**/*.md"))]
}
LANGUAGES = {"python", "pycon", "sh", "console", "toml", "json", "yaml", "text", "csv"}
WRITE = os.environ.get("THENCE_DOCS_OUTPUTS") == "write"


@pytest.fixture(scope="module")
def cache_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("thence-cache")


@pytest.fixture
def folder(tmp_path: Path, cache_root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder of a page. Simulations are shared by the pages and never touch the user's cache."""
    monkeypatch.setenv("THENCE_CACHE", str(cache_root))
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.chdir(tmp_path)
    return tmp_path


RUN_PAGES = [page for page in PAGES if any(block.language not in ("text", "csv") for block in blocks_of(page))]


@pytest.mark.parametrize("page", RUN_PAGES)
def test_the_blocks_of_a_page_run_and_print_what_the_site_shows(page: str, folder: Path) -> None:
    if page in FILES:
        FILES[page](folder)
    stored = read_outputs(page)
    printed: dict[str, str] = {}
    for done in run_page(page, folder):
        printed[done.key] = stored.get(done.key, "") if done.skipped else done.printed
        if page.startswith("docs/") and not done.skipped and not WRITE:
            check_output(done, stored)
    if WRITE and page.startswith("docs/"):
        write_outputs(page, printed)
    assert WRITE or stored.keys() <= printed.keys(), f"docs/outputs has outputs of blocks that {page} no longer has"


@pytest.mark.parametrize("page", [page for page in PAGES if blocks_of(page)])
def test_every_block_has_a_known_language_and_a_reason_not_to_run(page: str) -> None:
    text = PAGES[page].read_text(encoding="utf-8")
    blocks = blocks_of(page)
    fences = re.findall(r"^ *```", text, flags=re.M)
    assert len(fences) == 2 * len(blocks), f"{page} has a code block that is indented or not closed: it would not run"
    for block in blocks:
        assert block.language in LANGUAGES, f"{block.place}: unknown language '{block.language}'"
        assert block.word is None or block.note, f"{block.place}: '<!-- {block.word}: -->' needs a reason or a name"
    assert len(re.findall(r"<!-- not run", text)) == sum(block.word == "not run" for block in blocks), (
        f"{page}: '<!-- not run: reason -->' must be on the line before its block"
    )


@pytest.mark.parametrize("page", PAGES)
def test_commands_within_sentences_exist(page: str) -> None:
    root = typer.main.get_command(app)
    for line in re.findall(r"`(thence [^`]*)`", PAGES[page].read_text(encoding="utf-8")):
        _, *words = shlex.split(line.replace("…", ""))
        command: Any = root
        while words and not words[0].startswith("-") and hasattr(command, "commands"):
            assert words[0] in command.commands, f"{page}: {line}"
            command = command.commands[words.pop(0)]
        known = {name for part in (root, command) for option in part.params for name in option.opts}
        known |= {"--install-completion", "--help"}
        assert {word for word in words if word.startswith("--")} <= known, f"{page}: {line}"


@pytest.fixture
def my_parts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The recipes of CONTRIBUTING.md as an installed package."""
    blocks = blocks_of("CONTRIBUTING.md")
    code = "\n".join(block.text for block in blocks if block.language == "python")
    (points,) = (tomllib.loads(block.text)["project"]["entry-points"] for block in blocks if block.language == "toml")
    (folder / "installed").mkdir()
    add_distribution(folder / "installed", "my_parts", code, points)
    monkeypatch.syspath_prepend(str(folder / "installed"))
    yield
    sys.modules.pop("my_parts", None)


@pytest.mark.usefixtures("my_parts")
def test_the_recipes_for_parts_work(folder: Path) -> None:
    """Each part is used through the public interface."""
    times = np.arange("2024-01-01", "2024-01-02", dtype="datetime64[h]").astype("datetime64[us]")
    np.savez(folder / "plant.npz", time=times, a=np.arange(24.0), b=np.arange(24.0) ** 2, c=np.ones(24))
    (folder / "rooms.names").write_text("kitchen hall")
    readings = th.read_sensors("plant.npz")
    assert readings.ids == ("a", "b", "c")
    assert len(th.read_graph("rooms.names").nodes) == 2
    table = th.transactions(readings, windows="1h", enrich="first-two", method="halves")
    assert (table.n_features, table.n_items) == (2, 4)
    rules = make_miner("pairs").mine(table)
    assert len(rules) == 2
    assert th.write_rules(rules, "rules.count", unit="found").read_text() == "2 found"


@pytest.mark.usefixtures("my_parts")
def test_a_measure_of_a_recipe_is_in_tables_and_orders_rules() -> None:
    run = th.mine(th.datasets.load("toy"), windows="1h", bins=3, confirm=False, progress="off", laws=False)
    values = run.rules.measure("confidence") - run.rules.measure("consequent_support")
    assert run.rules.to_polars()["added_value"].to_list() == values.tolist()
    assert f", added value {format_measure(float(values[0]))}" in str(run.rules)
    assert "<th" in run.rules._repr_html_() and ">added value<" in run.rules._repr_html_()
    assert "| added value |" in th.write_rules(run.rules, "rules.md").read_text(encoding="utf-8")
    assert len(run.rules.filter(min_added_value=float(np.median(values)))) < len(run.rules)
    assert rule_rows(run.rules, [0])[0]["measures"]["added_value"] == pytest.approx(values[0], abs=1e-6)
    assert measure_columns()[-1]["help"] == "How much more often the consequent holds where the antecedent does."
    for name in ("rules.json", "rules.parquet"):
        assert list(th.read_rules(th.write_rules(run.rules, name))) == list(run.rules)
    run.save("run")
    shown = thence("show", "run", "--by", "added_value", "--top", "1")
    assert shown.exit_code == 0
    assert f"added value {format_measure(float(values.max()))}" in " ".join(shown.output.split())


@pytest.mark.usefixtures("my_parts")
def test_a_form_of_laws_of_a_recipe_is_found_counted_worded_checked_and_drawn() -> None:
    rng = np.random.default_rng(0)
    on = rng.uniform(size=(4, 300)) < 0.5
    series = {f"heating_R{k}": np.where(on[k], rng.uniform(1, 5, 300), 0.0) for k in range(4)}
    series |= {f"cooling_R{k}": np.where(on[k], 0.0, rng.uniform(1, 5, 300)) for k in range(4)}
    system = system_of({f"R{k}": ("Room", {}) for k in range(4)}, [], series)
    run = th.mine(system, windows="30m", progress="off")
    assert run.laws is not None
    (at,) = (number for number, law in enumerate(run.laws) if law.form == "exclusive")
    law = run.laws[at]
    assert (law.rows, law.held, law.places_held) == (1200, 1200, 4)
    assert law.statement == "for every Room: its cooling and its heating are never both above 0"
    assert Law.from_dict(law.to_dict()) == law
    card = Cards(material_of(run)).card("law", at)
    assert card is not None and card["columns"] == {
        "Confirmed": "held in 480 of the 480 rows (100 %) of the time that was not searched",
        "Rows": "1,200 of 1,200",
    }
    assert {trace["kind"] for trace in card["traces"]} == {"cooling", "heating"}
    readings = window(system.sensors, every="30m")
    broken = LawChecks(Laws((replace(law, right=law.left),))).broken_at(readings, system, int(np.argmin(on[0])))
    assert broken and broken[0].change == "one of its readings at 0"


@pytest.mark.usefixtures("my_parts")
def test_an_outlet_of_a_recipe_receives_alerts(folder: Path) -> None:
    outlet = open_outlet("append://alerts.txt", print)
    outlet.send([Alert(1, "silent", "2024-01-02T00:00:00Z", "Rule 3 did not apply.")])
    outlet.close()
    assert (folder / "alerts.txt").read_text() == "Rule 3 did not apply.\n"


def anchors(path: Path) -> set[str]:
    """Ids of a page: of its headings, as both GitHub and mkdocs make them, and those given in HTML."""
    text = path.read_text(encoding="utf-8")
    headings = re.findall(r"^#+ (.+)$", text, flags=re.M)
    slugs = {re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower()) for heading in headings}
    return slugs | set(re.findall(r'<a id="([^"]+)">', text))


@pytest.mark.parametrize("path", PAGES.values(), ids=PAGES)
def test_links_lead_somewhere(path: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    for target, _, anchor in re.findall(r"\]\(([^)#\s]*)(#([^)\s]*))?\)", text):
        if "://" not in target:
            there = (path.parent / target).resolve() if target else path
            assert there.exists(), f"{path.name} links to {target}"
            if anchor and there.suffix == ".md":
                assert anchor in anchors(there), f"{path.name} links to {target}#{anchor}"


def test_every_page_is_in_the_navigation_and_every_decision_is_listed() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    missing = [page for page in words_by_page() if f": {page}\n" not in navigation]
    assert missing == []
    architecture = PAGES["docs/architecture.md"].read_text(encoding="utf-8")
    for path in ROOT.glob("docs/decisions/0*.md"):
        assert f"(decisions/{path.name})" in architecture, f"{path.name} is not listed"


def test_the_pages_are_as_long_as_people_read() -> None:
    words = words_by_page()
    assert sum(words.values()) <= 45_000
    assert count_words(PAGES["README.md"].read_text(encoding="utf-8")) <= 400
    assert words["guide/first-five-minutes.md"] <= 800
    assert words["tutorial.md"] <= 900


def test_every_record_is_linked_from_a_page() -> None:
    pages = "".join(path.read_text(encoding="utf-8") for path in PAGES.values())
    records = [path for path in ROOT.glob("docs/records/*.md") if f"/{path.name})" not in pages.replace("#", ")")]
    assert records == []


def test_the_readme_names_the_install_and_the_two_commands() -> None:
    readme = PAGES["README.md"].read_text(encoding="utf-8")
    assert "pip install thence" in readme
    assert "make demo" in readme
    assert "make test" in readme


def test_the_architecture_page_is_one_page_and_every_module_says_what_it_is_for() -> None:
    """The list of modules is made from their docstrings when the site is built."""
    text = PAGES["docs/architecture.md"].read_text(encoding="utf-8")
    assert len(text.split()) <= 1500
    assert "<!-- modules -->" in text
    rooms = {path.name for path in (ROOT / "src" / "thence").iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert rooms <= set(re.findall(r"^\| `(\w+)` \|", text, flags=re.M))
    for path in (ROOT / "src" / "thence").rglob("*.py"):
        docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        assert docstring.partition("\n")[0].endswith((".", "?")), f"{path}: start its docstring with one sentence"
