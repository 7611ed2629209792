"""The documentation against the code: every block runs, every link leads somewhere, every name and module is listed.

All code blocks of a page run in order, in one namespace and one temporary folder:

- ``python`` blocks are executed, ``pycon`` blocks are doctests whose output must match;
- ``sh`` and ``console`` blocks run their ``thence`` commands; in a ``console`` block the output shown must match too;
- ``toml`` and ``json`` blocks are parsed, and a ``toml`` block that is a configuration is read as one;
- ``text``, ``csv`` and ``yaml`` blocks are only read.

A comment on the line before a block says more: ``<!-- file: job.toml -->`` also writes the block to that file,
``<!-- not run: reason -->`` keeps it from running, and ``<!-- needs: name -->`` runs it only where the files of that
data set are.
"""

from __future__ import annotations

import ast
import contextlib
import doctest
import io
import json
import os
import re
import runpy
import shlex
import shutil
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

import thence as th
from tests.helpers.commands import thence
from tests.helpers.distributions import add_distribution
from thence.cli.app import app
from thence.miners.base import make_miner
from tools.page_blocks import BLOCK, Block, block_of, output_key, read_outputs, write_outputs

ROOT = Path(__file__).resolve().parents[1]
PAGES = {
    str(path.relative_to(ROOT)): path
    for path in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/**/*.md"))]
}
SECTIONS = {"input", "system", "windows", "discretize", "enrich", "miner", "refine", "output", "executor"}
LANGUAGES = {"python", "pycon", "sh", "console", "toml", "json", "yaml", "text", "csv"}
SHOWN = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
MOST_LINES = 60  # of an output that the site shows; a third for each command of several
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")


def blocks_of(page: str) -> list[Block]:
    text = PAGES[page].read_text(encoding="utf-8")
    return [block_of(found, page=page) for found in BLOCK.finditer(text)]


def net3_files(folder: Path, *, readings: str, network: str, every: int = 1) -> None:
    """Three days of Net3, one of ``every`` so many sensors, under the names that a page gives to the reader's files."""
    import polars as pl
    import wntr

    data = th.datasets.load("net3", days=3)
    sensors = data.sensors.ids[::every]
    data.sensors.select(sensors).to_polars().write_parquet(folder / readings)
    shutil.copy(Path(wntr.__file__).parent / "library" / "networks" / "Net3.inp", folder / network)
    pairs = {"sensor": sensors, "node": [data.binding[sensor] for sensor in sensors]}
    pl.DataFrame(pairs).write_csv(folder / "binding.csv")


def files_of_readme(folder: Path) -> None:
    net3_files(folder, readings="readings.parquet", network="network.inp")


def files_of_command_line(folder: Path) -> None:
    net3_files(folder, readings="data.parquet", network="net.inp", every=20)
    job = '[input]\nsensors = "data.parquet"\ngraph = "net.inp"\nbinding = "binding.csv"\n[output]\npath = "runs/job"\n'
    (folder / "job.toml").write_text(job, encoding="utf-8")


def files_of_sensor_data(folder: Path) -> None:
    """A sheet per kind, as BattLeDIM publishes them."""
    import polars as pl
    import xlsxwriter

    times = pl.datetime_range(pl.datetime(2019, 6, 1), pl.datetime(2019, 7, 31), "6h", eager=True)
    with xlsxwriter.Workbook(str(folder / "2019_SCADA.xlsx")) as book:
        for sheet, sensor in (("Flows (m3_h)", "p227"), ("Levels (m)", "T1")):
            frame = pl.DataFrame({"Timestamp": times, sensor: [float(i % 7) for i in range(len(times))]})
            frame.write_excel(book, worksheet=sheet)


def files_of_first_five_minutes(folder: Path) -> None:
    """What the scripts of the page write."""
    for script, name in (("make_scada", "utility"), ("make_buildings", "buildings")):
        runpy.run_path(str(ROOT / "examples" / "first_five_minutes" / f"{script}.py"))["main"](folder / name)


# The files that a page calls the reader's own.
FILES: dict[str, Callable[[Path], None]] = {
    "README.md": files_of_readme,
    "docs/guide/command-line.md": files_of_command_line,
    "docs/guide/first-five-minutes.md": files_of_first_five_minutes,
    "docs/guide/sensor-data.md": files_of_sensor_data,
}


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
    names: dict[str, Any] = {"__name__": "__main__"}
    stored = read_outputs(page)
    printed: dict[str, str] = {}
    for block in blocks_of(page):
        key = output_key(block, printed)
        if block.word == "not run" or (block.word == "needs" and not has_files_of(block.note)):
            printed[key] = stored.get(key, "")
            continue
        if block.word == "file":
            path = folder / block.note
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
        printed[key] = without_places_and_times(run_block(block, folder, names), folder)
    if page.startswith("docs/"):
        if os.environ.get("THENCE_DOCS_OUTPUTS") == "write":
            write_outputs(page, printed)
        else:
            compare_outputs(page, stored, printed)


def compare_outputs(page: str, stored: dict[str, str], printed: dict[str, str]) -> None:
    for block, (key, text) in zip(blocks_of(page), printed.items(), strict=True):
        assert is_same_output(stored.get(key, ""), text), (
            f"{block.place}: the site shows\n{stored.get(key, '')}\nbut the block prints\n{text}\n"
            "If what it prints is right, run: make docs-outputs"
        )
    assert stored.keys() <= printed.keys(), f"docs/outputs has outputs of blocks that {page} no longer has"


def is_same_output(one: str, other: str) -> bool:
    """Whether two outputs are the same, but for white space and the last digits of numbers, which vary by machine."""
    if NUMBER.sub("0", one).split() != NUMBER.sub("0", other).split():
        return False
    numbers = [[float(number.replace(",", "")) for number in NUMBER.findall(text)] for text in (one, other)]
    return numbers[0] == pytest.approx(numbers[1], rel=1e-3)


def test_outputs_differ_by_more_than_rounding() -> None:
    assert is_same_output("support 0.24219 of\n 1,344 rows", "support 0.24220 of 1,344 rows")
    assert not is_same_output("support 0.24219", "support 0.25")
    assert not is_same_output("1,344 rows", "1,344 places")


def has_files_of(dataset: str) -> bool:
    try:
        th.datasets.load(dataset)
    except th.InputError:
        return False
    return True


def run_block(block: Block, folder: Path, names: dict[str, Any]) -> str:
    """Run a block, and return what it printed that its page does not show yet."""
    if block.language == "python":
        lines = "\n" * block.line  # so that a traceback names the line of the page
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(lines + block.text, block.page, "exec"), names)
        return shortened(printed.getvalue(), MOST_LINES)
    if block.language == "pycon":
        examples = doctest.DocTestParser().get_doctest(block.text, names, block.page, block.page, block.line)
        assert examples.examples, f"{block.place} has no example"
        failures: list[str] = []
        doctest.DocTestRunner(optionflags=SHOWN).run(examples, out=failures.append, clear_globs=False)
        names.update(examples.globs)
        assert not failures, "".join(failures)
    elif block.language in ("sh", "console"):
        return run_commands(block)
    elif block.language == "toml":
        if tomllib.loads(block.text).keys() & SECTIONS:
            path = folder / "block.toml"
            path.write_text(block.text, encoding="utf-8")
            th.Config.from_toml(path)
    elif block.language == "json":
        json.loads(block.text)
    return ""


def run_commands(block: Block) -> str:
    commands = list(commands_of(block))
    printed = []
    for command, shown in commands:
        result = thence(*command)
        assert result.exit_code == 0, f"{block.place}: {shlex.join(command)}\n{result.output}"
        if shown:
            same = doctest.OutputChecker().check_output(shown, result.output, SHOWN)
            assert same, f"{block.place} shows\n{shown}\nbut the command prints\n{result.output}"
        if block.language == "sh":
            called = f"$ thence {shlex.join(command)}\n" if len(commands) > 1 else ""
            printed.append(called + shortened(result.stdout, MOST_LINES if len(commands) == 1 else MOST_LINES // 3))
    return "\n".join(printed)


def without_places_and_times(text: str, folder: Path) -> str:
    """What a block printed, without what differs from one machine or one time to the next."""
    for here in (str(folder), str(ROOT)):
        text = text.replace(f"{here}/", "").replace(here, ".")
    text = re.sub(r"^(\s*seconds +).*$", r"\1...", text, flags=re.M)
    return "\n".join(line.rstrip() for line in text.splitlines()).strip("\n")


def shortened(text: str, most: int) -> str:
    lines = text.splitlines()
    return "\n".join([*lines[:most], f"... ({len(lines) - most:,} more lines)"]) if len(lines) > most + 3 else text


def commands_of(block: Block) -> Iterator[tuple[list[str], str]]:
    """Arguments of each ``thence`` command of a block, and the output that the page shows."""
    text = block.text.replace("\\\n", " ")
    if block.language == "sh":
        lines = [(line, "") for line in text.splitlines()]
    else:
        lines = [
            (command, shown) for command, shown in re.findall(r"^\$ ([^\n]*)\n((?:(?!\$ )[^\n]*\n)*)", text, flags=re.M)
        ]
        assert lines, f"{block.place} has no line that begins with '$ '"
    for line, shown in lines:
        words = shlex.split(line, comments=True)
        if words:
            assert words[0] == "thence", f"{block.place}: '{line}' cannot be run here; mark the block as not run"
            yield words[1:], shown


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


def test_the_recipes_for_parts_work(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The recipes of CONTRIBUTING.md as an installed package, each part used through the public interface."""
    import numpy as np

    blocks = blocks_of("CONTRIBUTING.md")
    code = "\n".join(block.text for block in blocks if block.language == "python")
    (points,) = (tomllib.loads(block.text)["project"]["entry-points"] for block in blocks if block.language == "toml")
    (folder / "installed").mkdir()
    add_distribution(folder / "installed", "my_parts", code, points)
    monkeypatch.syspath_prepend(str(folder / "installed"))
    times = np.arange("2024-01-01", "2024-01-02", dtype="datetime64[h]").astype("datetime64[us]")
    np.savez(folder / "plant.npz", time=times, a=np.arange(24.0), b=np.arange(24.0) ** 2, c=np.ones(24))
    (folder / "rooms.names").write_text("kitchen hall")
    try:
        readings = th.read_sensors("plant.npz")
        assert readings.ids == ("a", "b", "c")
        assert len(th.read_graph("rooms.names").nodes) == 2
        table = th.transactions(readings, windows="1h", enrich="first-two", method="halves")
        assert (table.n_features, table.n_items) == (2, 4)
        rules = make_miner("pairs").mine(table)
        assert len(rules) == 2
        assert th.write_rules(rules, "rules.count", unit="found").read_text() == "2 found"
    finally:
        sys.modules.pop("my_parts", None)


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


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for path in ROOT.glob("docs/**/*.md"):
        page = path.relative_to(ROOT / "docs").as_posix()
        if not re.fullmatch(r"results/.*/table\.md|decisions/0.*\.md", page):
            assert page in navigation, f"{page} is not in mkdocs.yml"
    for path in ROOT.glob("docs/decisions/0*.md"):
        assert f"({path.name})" in (path.parent / "index.md").read_text(encoding="utf-8"), f"{path.name} is not listed"


def test_the_readme_names_the_install_and_the_two_commands() -> None:
    readme = PAGES["README.md"].read_text(encoding="utf-8")
    assert "pip install thence" in readme
    assert "make demo" in readme
    assert "make test" in readme


def test_the_reference_lists_every_public_name() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in sorted(ROOT.glob("docs/reference/*.md")))
    listed = re.findall(r"^::: thence\.(\w+)$", text, flags=re.M)
    assert len(listed) == len(set(listed)), "a name is listed twice"
    assert set(listed) == set(th.__all__) - {"__version__"}, "add the name as '::: thence.NAME' to docs/reference/"


def modules() -> dict[str, str]:
    """Every module of the package, relative to it, with the first line of its docstring."""
    source = ROOT / "src" / "thence"
    found = {}
    for path in sorted(source.rglob("*.py")):
        docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        found[path.relative_to(source).as_posix()] = docstring.partition("\n")[0]
    return found


def test_the_architecture_page_lists_every_module() -> None:
    text = PAGES["docs/architecture.md"].read_text(encoding="utf-8")
    listed = re.findall(r"^\| `([\w/]+\.py)` \|", text, flags=re.M)
    there = modules()
    assert len(listed) == len(set(listed)), "docs/architecture.md lists a module twice"
    missing = "\n".join(f"| `{name}` | {there[name]} |" for name in there if name not in listed)
    gone = "\n".join(f"| `{name}` |" for name in listed if name not in there)
    assert not missing, f"add these rows to 'The modules' in docs/architecture.md, in your own words:\n{missing}"
    assert not gone, f"remove or rename these rows of 'The modules' in docs/architecture.md:\n{gone}"
