"""Hints on the command line: every option that one names exists on the command, and does what the hint says."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
import typer.main

import thence
from tests.helpers.commands import fail
from thence.cli import hints
from thence.cli.app import app
from thence.cli.hints import command_hint
from thence.data.loaders import read_binding, read_graph
from thence.data.readers import read_sensors
from thence.errors import ThenceError
from thence.runs.options import OPTIONS

READERS = {"--read-sensors": read_sensors, "--read-graph": read_graph, "--read-binding": read_binding}


def flags_of_commands() -> Iterator[tuple[str, set[str]]]:
    pending = [("", typer.main.get_command(app))]
    while pending:
        name, command = pending.pop()
        pending += [(f"{name} {inner}".strip(), one) for inner, one in getattr(command, "commands", {}).items()]
        yield name, {flag for one in command.params for flag in (*one.opts, *one.secondary_opts)}


def texts_of_hints() -> Iterator[str]:
    """All texts in the package that are given as a hint and name a keyword."""
    for path in sorted(Path(thence.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            named = isinstance(node, ast.keyword) and node.arg == "hint"
            named |= isinstance(node, ast.Assign) and any("hint" in ast.unparse(one).lower() for one in node.targets)
            for part in ast.walk(node.value) if named else ():  # type: ignore[attr-defined]
                parts = part.values if isinstance(part, ast.JoinedStr) else [part]
                text = "".join(str(one.value) if isinstance(one, ast.Constant) else "x" for one in parts)
                if hints._KEYWORD.search(text):
                    yield text


def test_every_option_that_a_hint_names_exists_on_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """Options were found by the last word of a setting, so that ``table=`` of a database was told as ``--bind``."""
    places = [[], *([place] for place in hints._functions().values())]
    texts = set(texts_of_hints())
    assert len(texts) > 60
    seen: set[str] = set()
    # Commands that have the same options of a job are told the same.
    job = {flag for option in OPTIONS for flag in option.flags}
    for flags in {frozenset(flags & job): flags for _, flags in flags_of_commands()}.values():
        for place in places:
            monkeypatch.setattr(hints, "_places_of", lambda _, place=place: place)
            for text in texts:
                told = command_hint(ThenceError("wrong", hint=text), flags)
                for flag, key in re.findall(r"(?:, |: )(--[\w-]+)(?: (\w+)=)?", told):
                    assert flag in flags, (text, told)
                    assert flag not in READERS or not key or key in inspect.signature(READERS[flag]).parameters
                    seen.add(flag)
    assert {"--read-sensors", "--read-graph", "--bind", "--time-format", "--enrich", "--sharpen"} <= seen


def test_hints_name_the_option_of_what_failed(tmp_path: Path) -> None:
    readings, graph = tmp_path / "a.csv", tmp_path / "graph.json"
    readings.write_text("time,tank_level,t\n2024-01-01,1.5,1\n2024-01-02,2.5,2\n")
    twice, unknown = tmp_path / "twice.csv", tmp_path / "a.xyz"
    twice.write_text("time,a\n2024-01-01,1.5\n2024-01-01,2.5\n")
    unknown.write_text("")
    graph.write_text('{"nodes": [{"id": "tank"}], "edges": []}')
    with duckdb.connect(str(tmp_path / "plant.db")) as base:
        for table in ("one", "two"):
            base.execute(f"CREATE TABLE {table}(time TIMESTAMP, sensor VARCHAR, value DOUBLE)")
    files = ("check", "--sensors", readings, "--graph", graph)
    for command, told in (
        (("check", "--sensors", f"duckdb:///{tmp_path / 'plant.db'}"), "--read-sensors table=…"),
        (("check", "--dataset", "citybench", "--option", f"path={tmp_path}"), "--option path=…"),
        (("check", "--sensors", readings, "--graph", unknown), "--read-graph format=…"),
        ((*files, "--binding", unknown), "--read-binding format=…"),
        ((*files, "--ontology", unknown), ""),
        (files, "--bind SENSOR=NODE, --bind-rule, --partial"),
        (("check", "--sensors", twice), "--read-sensors on_error=repair"),
        (("check", "--dataset", "toy", "--enrich", "lifted", "--method", "entropy"), "--enrich none, --sharpen"),
    ):
        error = fail(*command)
        assert error.strip().partition("; on the command line: ")[2] == told, error
