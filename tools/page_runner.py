"""Run the code blocks of a page in order, in one namespace and one folder.

- ``python`` blocks are executed, ``pycon`` blocks are doctests whose output must match;
- ``sh`` and ``console`` blocks run their ``thence`` commands; in a ``console`` block the output shown must match too;
- ``toml`` and ``json`` blocks are parsed, and a ``toml`` block that is a configuration is read as one;
- ``text``, ``csv`` and ``yaml`` blocks are only read.

A comment on the line before a block says more: ``<!-- file: job.toml -->`` also writes the block to that file,
``<!-- not run: reason -->`` keeps it from running, and ``<!-- needs: name -->`` runs it only where the files of that
data set are.

``tests/test_docs.py`` runs all pages where everything is installed, ``page_extras.py`` each one where only the extras
that it names are installed. This module needs nothing but the package:

    python -m tools.page_runner docs/tutorial.md      in the current folder; prints what became of each block, as JSON
"""

from __future__ import annotations

import contextlib
import doctest
import io
import json
import math
import re
import runpy
import shlex
import shutil
import sys
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

import thence as th
from thence.cli.app import app
from tools.page_blocks import ROOT, Block, blocks_of, output_key, read_outputs

SECTIONS = {"input", "system", "windows", "discretize", "enrich", "miner", "refine", "output", "executor"}
SHOWN = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
MOST_LINES = 60  # of an output that the site shows; a third for each command of several
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")
READ_ONLY = ("text", "csv", "yaml")


@dataclass(frozen=True)
class Done:
    """What became of a block: what it printed that its page does not show yet, or why it was not run."""

    block: Block
    key: str
    printed: str = ""
    skipped: str = ""


def run_page(page: str, folder: Path) -> Iterator[Done]:
    """Run the blocks of a page one after the other in a folder, which must be the current one.

    Args:
        page: Path of the page in the checkout, such as ``docs/guide/laws.md``.
        folder: Where files are written; those that the page calls the reader's own (``FILES``) must be there.

    Raises:
        AssertionError: If a command fails, or something is not printed as the page shows it.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    keys: dict[str, str] = {}
    for block in blocks_of(page):
        key = output_key(block, keys)
        keys[key] = ""
        if block.word == "not run":
            yield Done(block, key, skipped=block.note)
        elif block.word == "needs" and not has_files_of(block.note):
            yield Done(block, key, skipped=f"needs the files of {block.note}")
        else:
            if block.word == "file":
                path = folder / block.note
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(block.text, encoding="utf-8")
            yield Done(block, key, printed=without_places_and_times(run_block(block, folder, names), folder))


def check_output(done: Done, stored: dict[str, str]) -> None:
    """Compare what a block printed with what the site shows below it."""
    shown = stored.get(done.key, "")
    assert is_same_output(shown, done.printed), (
        f"{done.block.place}: the site shows\n{shown}\nbut the block prints\n{done.printed}\n"
        "If what it prints is right, run: make docs-outputs"
    )


def net3_files(folder: Path, *, readings: str, network: str, days: int = 3, every: int = 1) -> None:
    """Some days of Net3, one of ``every`` so many sensors, under the names that a page gives to the reader's files."""
    import polars as pl
    import wntr

    data = th.datasets.load("net3", days=days)
    sensors = data.sensors.ids[::every]
    data.sensors.select(sensors).to_polars().write_parquet(folder / readings)
    shutil.copy(Path(wntr.__file__).parent / "library" / "networks" / "Net3.inp", folder / network)
    pairs = {"sensor": sensors, "node": [data.binding[sensor] for sensor in sensors]}
    pl.DataFrame(pairs).write_csv(folder / "binding.csv")


def files_of_readme(folder: Path) -> None:
    net3_files(folder, readings="readings.parquet", network="network.inp")


def files_of_command_line(folder: Path) -> None:
    net3_files(folder, readings="data.parquet", network="net.inp", days=14, every=20)
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
    """What the scripts of the two pages write."""
    for script, name in (("make_scada", "utility"), ("make_buildings", "buildings")):
        runpy.run_path(str(ROOT / "examples" / "first_five_minutes" / f"{script}.py"))["main"](folder / name)


# The files that a page calls the reader's own.
FILES: dict[str, Callable[[Path], None]] = {
    "README.md": files_of_readme,
    "docs/guide/buildings.md": files_of_first_five_minutes,
    "docs/guide/command-line.md": files_of_command_line,
    "docs/guide/first-five-minutes.md": files_of_first_five_minutes,
    "docs/guide/sensor-data.md": files_of_sensor_data,
}


def is_same_output(one: str, other: str) -> bool:
    """Whether two outputs are the same, but for white space and the last digits of numbers, which vary by machine."""
    if NUMBER.sub("0", one).split() != NUMBER.sub("0", other).split():
        return False
    numbers = [[float(number.replace(",", "")) for number in NUMBER.findall(text)] for text in (one, other)]
    return all(math.isclose(a, b, rel_tol=1e-3) for a, b in zip(*numbers, strict=True))


def has_files_of(dataset: str) -> bool:
    try:
        th.datasets.load(dataset)
    except th.errors.InputError:
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
        result = CliRunner().invoke(app, command)
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


def main(page: str) -> int:
    """Run a page in the current folder, and print a line of JSON for each block; the exit code is 1 if one fails."""
    out, stored = sys.stdout, read_outputs(page)
    line = 0
    try:
        for done in run_page(page, Path.cwd()):
            line = done.block.line
            if page.startswith("docs/") and not done.skipped:
                check_output(done, stored)
            about = {"line": line, "language": done.block.language, "skipped": done.skipped}
            out.write(json.dumps(about) + "\n")
    except BaseException as error:
        out.write(json.dumps({"line": line, "failed": f"{type(error).__name__}: {error}"}) + "\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
