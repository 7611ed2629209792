"""``thence report``, and the report that ``mine`` and ``demo`` write."""

from __future__ import annotations

import json
import resource
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import thence as th
from tests.helpers.commands import TOY, fail, succeed
from thence.cli import screen


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "toy"
    succeed("mine", *TOY, "--enrich", "none", "--out", folder, "--quiet", "--no-report")
    return folder


def test_mine_writes_the_report_and_prints_its_address(tmp_path: Path) -> None:
    out = succeed("mine", *TOY, "--out", tmp_path / "a b")
    page = tmp_path / "a b" / "report.html"
    assert out.rstrip().endswith(f"Report: {page.as_uri()}")
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    told = json.loads(succeed("mine", *TOY, "--out", tmp_path / "c", "--json"))
    assert told["report"] == str(tmp_path / "c" / "report.html")


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("quiet", [["--quiet"], ["--json"], []])
def test_a_report_that_is_too_large_for_a_file_is_an_error(tmp_path: Path, quiet: list[str]) -> None:
    """With a limit on the size of files the report was missing, the exit code 0 and standard error empty."""
    with files_of_at_most(60_000):
        told = fail("mine", *TOY, *quiet, "--out", tmp_path / "run")
    assert told.startswith("thence: the report was not written (")
    assert f"File too large)): thence report makes it again; the run itself is complete: {tmp_path / 'run'}" in told
    assert th.integrity.verify(tmp_path / "run").ok
    assert not (tmp_path / "run" / "report.html").exists()
    succeed("report", tmp_path / "run")
    assert (tmp_path / "run" / "report.html").is_file()


def test_no_report_is_written_if_none_is_wanted(run: Path, tmp_path: Path) -> None:
    assert not (run / "report.html").exists()
    assert not (run / "report.json").exists()
    told = json.loads(succeed("mine", *TOY, "--out", tmp_path / "c", "--json", "--no-report"))
    assert told["report"] is None


def test_the_report_of_a_run_is_written_into_it(run: Path) -> None:
    out = succeed("report", run)
    assert out == f"report: {(run / 'report.html').as_uri()}\n"
    assert json.loads((run / "report.json").read_text(encoding="utf-8"))["cards"]


@pytest.mark.parametrize("name", ["page.html", "data.json"])
def test_the_report_is_written_where_asked_for(run: Path, tmp_path: Path, name: str) -> None:
    out = succeed("report", run, "--out", tmp_path / name)
    assert (tmp_path / name).as_uri() in out
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert succeed("report", run, "--out", tmp_path / name, "--quiet") == ""


def test_the_report_as_json(run: Path) -> None:
    data = json.loads(succeed("report", run, "--json"))
    assert data["title"] == "toy"
    assert len(data["rules"]) == len(th.load_run(run).rules)


def test_the_page_is_opened_on_request(run: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", lambda address: bool(opened.append(address)))
    succeed("report", run, "--out", tmp_path / "a.html", "--open")
    assert opened == [(tmp_path / "a.html").as_uri()]


def test_a_run_without_its_data_says_what_is_missing(tmp_path: Path) -> None:
    succeed("datasets", "make", "toy", "--out", tmp_path / "toy", "--quiet")
    sensors = next(path for path in (tmp_path / "toy").iterdir() if "sensors" in path.name or "readings" in path.name)
    succeed("mine", "--sensors", sensors, "--no-confirm", "--out", tmp_path / "run", "--quiet")
    shutil.move(sensors, tmp_path / "elsewhere")
    out = succeed("report", tmp_path / "run")
    data = json.loads((tmp_path / "run" / "report.json").read_text(encoding="utf-8"))
    assert data["notes"] == [f"The file {sensors}, which the run was mined from, is not there."]
    assert data["cards"] == []
    assert data["rules"]
    assert "report.html" in out


def test_applied_rules_and_detections_are_part_of_the_report(run: Path, tmp_path: Path) -> None:
    succeed("apply", run, "--dataset", "toy", "--out", tmp_path / "applied", "--quiet")
    data = json.loads(succeed("report", run, "--applied", tmp_path / "applied", "--json"))
    assert len(data["applied"]) == 1
    assert "thence apply --out" in fail("report", run, "--applied", tmp_path)
    assert "no such file" in fail("report", run, "--detected", tmp_path / "none.json").lower()


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--json", "--open"], "--json prints the report"),
        (["--out", "a.json", "--open"], "--open shows a page"),
        (["--out", "a.pdf"], ".html or .json"),
    ],
)
def test_mistakes_are_told(run: Path, flags: list[str], message: str) -> None:
    assert message in fail("report", run, *flags)


def test_no_such_run(tmp_path: Path) -> None:
    assert "no such run folder" in fail("report", tmp_path / "nothing")


@pytest.mark.parametrize(
    ("platform", "environment", "terminal", "desktop_there"),
    [
        ("linux", {}, True, False),
        ("linux", {"DISPLAY": ":0"}, True, True),
        ("linux", {"WAYLAND_DISPLAY": "wayland-0"}, True, True),
        ("linux", {"DISPLAY": ":0"}, False, False),
        ("linux", {"DISPLAY": ":0", "CI": "true"}, True, False),
        ("darwin", {}, True, True),
        ("win32", {}, True, True),
        ("darwin", {"CI": "1"}, True, False),
    ],
)
def test_a_page_is_opened_on_a_desktop_only(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    platform: str,
    environment: dict[str, str],
    terminal: bool,
    desktop_there: bool,
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "CI"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    opened: list[str] = []

    class Output:
        def isatty(self) -> bool:
            return terminal

    def remember(address: str) -> Any:
        opened.append(address)
        return True

    monkeypatch.setattr(screen.sys, "stdout", Output())
    monkeypatch.setattr(screen.sys, "platform", platform)
    monkeypatch.setattr("webbrowser.open", remember)
    assert screen.open_on_desktop(tmp_path / "report.html") is desktop_there
    assert bool(opened) is desktop_there
