"""What works without extras, and what says which extra it needs: run by ``test_wheel.py`` where only the wheel is.

Uses the package, and what it installs, alone; works in the current folder. An ``AssertionError`` says what is wrong.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import typer.main
from typer.testing import CliRunner, Result

import thence as th
from thence.cli.app import app

# The only modules that may fail with an error of Python's: parts of miners, which check for the package themselves.
BEHIND_A_CHECK = (
    *("thence.search.aerial.", "thence.search.exact.device", "thence.lab.baselines.narm_search"),
    *("thence.show.explorer.app", "thence.show.explorer.end_points", "thence.show.explorer.routing"),
)
# Arguments, and the extra that the message must name.
NEEDING = {
    "demo": "water",
    "mine --dataset net1": "water",
    "mine --sensors readings.csv --graph network.inp": "water",
    "datasets make net3 --out net3": "water",
    "mine --dataset toy --miner aerial": "aerial",
    "mine --dataset toy --miner fpgrowth": "baselines",
    "mine --dataset toy --miner hmine": "baselines",
    "mine --dataset toy --miner ts-narm": "baselines",
    "mine --dataset toy --miner arm-ae": "baselines",
    "mine --sensors workbook.xlsx": "excel",
    "mine --sensors postgresql://host/database": "sql",
    "mine --sensors duckdb:///file.duckdb": "sql",
    "mine --sensors readings.csv --graph bolt://host:7687": "neo4j",
    "mine --dataset toy --executor ray": "ray",
    "explore runs/own": "explorer",
    "monitor runs/own --mqtt host --topic site/+": "mqtt",
    "monitor runs/own --postgres postgresql://host/database --table readings": "postgres",
    "reproduce 2.2 --quick": "plots",
}


def run(line: str) -> Result:
    return CliRunner().invoke(app, line.split())


def succeed(line: str) -> str:
    result = run(line)
    assert result.exit_code == 0, f"thence {line}\n{result.output}"
    return result.stdout


def write_files() -> None:
    """Readings of two pumps in a plant and its graph, both as CSV, and empty files of the kinds that need an extra."""
    times = pl.datetime_range(pl.datetime(2024, 1, 1), pl.datetime(2024, 1, 5), "30m", eager=True)
    high = times.dt.hour() // 3 % 2
    pl.DataFrame({"time": times, "flow_P1": 5.0 + 4.0 * high, "flow_P2": 9.0 - 4.0 * high}).write_csv("readings.csv")
    Path("nodes.csv").write_text("id,label\nP1,Pump\nP2,Pump\nT,Tank\n", encoding="utf-8")
    Path("edges.csv").write_text("source,target,type\nP1,T,fills\nP2,T,fills\n", encoding="utf-8")
    Path("binding.csv").write_text("sensor,node\nflow_P1,P1\nflow_P2,P2\n", encoding="utf-8")
    for name in ("network.inp", "workbook.xlsx", "file.duckdb"):
        Path(name).touch()


def check_first_commands() -> None:
    """Readings and a graph of one's own, on the command line: mine, show, report, export."""
    version = importlib.metadata.version("thence")
    assert th.__version__ == version
    assert version in succeed("--version")
    succeed("mine --sensors readings.csv --graph nodes.csv --binding binding.csv --out runs/own")
    assert "flow" in succeed("show runs/own")
    succeed("report runs/own --out own.html")
    assert "<script" in Path("own.html").read_text(encoding="utf-8"), (
        "the report has no script: a static file is missing"
    )
    succeed("export runs/own --to rules.csv")
    assert len(Path("rules.csv").read_text(encoding="utf-8").splitlines()) > 1
    assert "toy" in succeed("datasets list")


def check_first_code() -> None:
    """The same in Python, and the named data set that the package ships."""
    mined = th.mine("readings.csv", "nodes.csv", "binding.csv")
    assert len(mined.rules) > 0
    data = th.datasets.load("toy")
    table = th.transactions(data, windows="30min", enrich="lifted", min_embeddings=2)
    rules = th.Exact(min_support=0.05, min_confidence=0.8, max_antecedents=1).mine(table)
    assert str(table)
    assert str(rules.top(3))
    assert rules.describe()["rules"] == len(rules) > 0


def check_help() -> None:
    for words in commands(typer.main.get_command(app)):
        succeed(" ".join([*words, "--help"]))


def commands(command: Any, *words: str) -> Iterator[tuple[str, ...]]:
    yield words
    for name, part in getattr(command, "commands", {}).items():
        yield from commands(part, *words, name)


def check_that_extras_are_named() -> None:
    for line, extra in NEEDING.items():
        result = run(line)
        assert result.exit_code == 1, f"thence {line}\n{result.output}"
        assert f"pip install 'thence[{extra}]'" in result.stderr, f"thence {line}\n{result.output}"
        assert "Traceback" not in result.output, f"thence {line}\n{result.output}"


def check_modules() -> None:
    for name in th.__all__:
        value = getattr(th, name, None)
        assert value is not None, name
        for inner in getattr(value, "__all__", ()):
            assert getattr(value, inner, None) is not None, f"{name}.{inner}"
    for module in pkgutil.walk_packages(th.__path__, "thence."):
        if module.name != "thence.__main__":
            try:
                importlib.import_module(module.name)
            except th.errors.MissingExtraError as error:
                assert "pip install 'thence[" in str(error), f"{module.name}: {error}"
            except ModuleNotFoundError as error:
                assert module.name.startswith(BEHIND_A_CHECK), f"{module.name}: {error}"


if __name__ == "__main__":
    assert importlib.util.find_spec("pandas") is None, "pandas is installed: this is no environment without extras"
    write_files()
    check_first_commands()
    check_first_code()
    check_help()
    check_that_extras_are_named()
    check_modules()
