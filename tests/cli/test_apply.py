"""``thence apply``."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import typer

import thence as th
from tests.helpers.commands import fail, succeed
from tests.helpers.failures import logged_failures
from thence.cli.app import app


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The toy data set as files, and a run on its first day."""
    folder = tmp_path_factory.mktemp("apply")
    succeed("datasets", "make", "toy", "--out", folder / "toy", "--quiet")
    succeed(
        *("mine", folder / "toy" / "config.toml", "--end", "2024-01-02", "--windows", "1h", "--bins", "3", "--all"),
        *("--max-antecedents", "1", "--out", folder / "run", "--quiet"),
    )
    return folder


def test_later_readings_belong_to_the_graph_of_the_run(files: Path, tmp_path: Path) -> None:
    given = ["apply", files / "run", "--sensors", files / "toy" / "sensors.parquet", "--start", "2024-01-02"]
    told = succeed(*given, "--out", tmp_path / "out")
    assert "2024-01-02 00:00 to 2024-01-03 00:00 UTC, 24 windows of 1 h" in told
    assert "written to" in told
    data = json.loads(succeed(*given, "--json"))
    assert data["same_system"]
    assert data["rules"] == len(th.load_run(files / "run").rules)
    assert data["violated"] == pl.read_parquet(tmp_path / "out" / "violations.parquet")["windows"].sum()
    assert succeed(*given, "--quiet") == ""
    assert "already exists" in fail(*given, "--out", tmp_path / "out")
    succeed(*given, "--out", tmp_path / "out", "--force", "--quiet")


def test_words_that_fail_do_not_lose_the_verdicts(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_words(*_: Any, **__: Any) -> None:
        raise TypeError("no number")

    monkeypatch.setattr("thence.checks.application.telling.tell_sections", no_words)
    given = ["apply", files / "run", "--sensors", files / "toy" / "sensors.parquet", "--start", "2024-01-02"]
    with logged_failures() as records:
        told = succeed(*given, "--out", tmp_path / "out")
    assert "24 windows of 1 h" in told and "Could not be described" in told and "no number" in told
    assert len(records) == 1 and (tmp_path / "out" / "applied.json").exists()


def test_the_mined_data_give_the_counts_of_the_run(files: Path) -> None:
    given = ["apply", files / "run", files / "toy" / "config.toml", "--end", "2024-01-02"]
    rules = th.load_run(files / "run").rules
    data = json.loads(succeed(*given, "--recount", "--json"))
    assert [row["satisfied"] for row in data["by_rule"]] == rules.counts.n_both.tolist()
    assert [row["applied"] for row in data["by_rule"]] == rules.counts.n_antecedent.tolist()
    for row in data["by_place"]:
        assert row["then"] == pytest.approx(row["share"])
        assert row["expected"] == pytest.approx(row["violated"])


def test_another_system(files: Path) -> None:
    told = succeed("apply", files / "run", "--dataset", "net3", "--option", "days=2", "--reference", "0.5")
    assert "reference period" in told
    assert "is another system" in told


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ([], "no input is given"),
        (["--dataset", "toy", "--reference", "soon"], "reference must be a period or a share"),
        (["--dataset", "toy", "--assurance", "2"], "assurance must be"),
        (["--dataset", "tay"], "did you mean 'toy'"),
        (["--sensors", "/no/such/file.csv"], "/no/such/file.csv"),
    ],
)
def test_mistakes_are_told_in_one_line(files: Path, flags: list[str], message: str) -> None:
    told = fail("apply", files / "run", *flags)
    assert message in told
    assert told.count("\n") == 1


def test_every_parameter_has_an_option() -> None:
    command: Any = typer.main.get_command(app)
    options = {name for option in command.commands["apply"].params for name in (*option.opts, *option.secondary_opts)}
    only_in_python = {"like"}  # the rules of a folder are those of its run
    for name in inspect.signature(th.apply).parameters:
        flag = "run" if name == "rules" else f"--{name.replace('_', '-')}"
        assert flag in options or name in only_in_python, name
    pages = Path(__file__).parents[2] / "docs" / "guide"
    guide = "".join((pages / name).read_text(encoding="utf-8") for name in ("command-line.md", "options.md"))
    for option in command.commands["apply"].params:
        for name in (*option.opts, *option.secondary_opts):
            assert name in guide or not name.startswith("--"), f"{name} is not in the guide"


def test_a_folder_that_is_no_run(tmp_path: Path) -> None:
    assert "no such run folder" in fail("apply", tmp_path / "none", "--dataset", "toy")
