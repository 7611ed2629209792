"""``th.report`` and the report in the run folder: what is written, when it fails, and when it is not wanted."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import thence as th
from tests.show.reports.worlds import world
from thence.errors import ConfigError
from thence.show.reports import run_report
from thence.show.reports.run_report import DATA, PAGE, RunReport, add_report

SETTINGS: dict[str, Any] = {"windows": "1h", "bins": 2, "min_confidence": 0.6, "confirm": False, "progress": "off"}


@pytest.fixture(scope="module")
def made() -> RunReport:
    return th.report(th.mine(world(), **SETTINGS))


def test_a_report_is_saved_by_its_suffix(made: RunReport, tmp_path: Path) -> None:
    page = made.save(tmp_path / "new" / "a.html")
    assert page.read_text(encoding="utf-8") == made.html
    data = made.save(tmp_path / "a.json")
    assert json.loads(data.read_text(encoding="utf-8")) == made.data
    with pytest.raises(th.errors.ConfigError, match=r"\.html or \.json"):
        made.save(tmp_path / "a.txt")


def test_a_report_opens_in_the_browser(made: RunReport, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(run_report.webbrowser, "open", lambda address: bool(opened.append(address)))
    path = made.open()
    assert opened == [path.as_uri()]
    assert path.read_text(encoding="utf-8") == made.html


def test_a_notebook_shows_the_sentences_as_text(made: RunReport) -> None:
    shown = made._repr_html_()
    assert len(shown) < 50_000
    assert "<script>alert" not in shown
    assert "open()" in shown
    assert repr(made).startswith("RunReport('world': ")


@pytest.mark.parametrize("setting", ["rules", "cards"])
@pytest.mark.parametrize("value", [-1, True, 1.5, "many"])
def test_numbers_are_checked(setting: str, value: Any) -> None:
    run = th.mine(world(), **SETTINGS)
    with pytest.raises(th.errors.ConfigError, match=f"'{setting}' must be an integer of at least 0"):
        th.report(run, **{setting: value})


def test_fewer_rules_and_no_cards() -> None:
    run = th.mine(world(), **SETTINGS)
    made = th.report(run, rules=1, cards=0)
    assert len(made.data["rules"]) == 1
    assert made.data["cards"] == []


def test_mining_writes_the_report_into_the_folder(tmp_path: Path) -> None:
    run = th.mine(world(), out=tmp_path / "run", **SETTINGS)
    assert run.path is not None
    data = json.loads((run.path / DATA).read_text(encoding="utf-8"))
    assert data["run"] == "run"
    assert data["cards"]
    assert (run.path / PAGE).read_text(encoding="utf-8").startswith("<!doctype html>")
    # The folder is still a run that is read and replaced as before.
    assert len(th.load_run(run.path).rules) == len(run.rules)
    th.mine(world(), out=tmp_path / "run", force=True, report=False, **SETTINGS)
    assert not (run.path / PAGE).exists()
    assert not (run.path / DATA).exists()


def test_a_run_in_memory_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    th.mine(world(), **SETTINGS)
    assert list(tmp_path.iterdir()) == []


def test_the_configuration_says_that_no_report_is_wanted(tmp_path: Path) -> None:
    config = th.Config.from_mapping({"input": {"dataset": "toy"}, "output": {"report": False}})
    run = th.mine(config=config, out=tmp_path / "run", confirm=False, progress="off")
    assert run.path is not None
    assert not (run.path / PAGE).exists()
    assert "report = false" in (run.path / "config.toml").read_text()
    other = th.mine(world(), out=tmp_path / "other", **SETTINGS)
    assert other.path is not None
    assert "report" not in (other.path / "config.toml").read_text()


@pytest.mark.parametrize(
    "failure", [RuntimeError("boom"), th.errors.RunError("full", where="disk"), KeyboardInterrupt()]
)
def test_a_report_that_fails_costs_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: BaseException
) -> None:
    def fail(*args: Any, **kwargs: Any) -> Any:
        raise failure

    monkeypatch.setattr(run_report, "page_html", fail)
    monkeypatch.setattr(run_report, "write_page", fail)
    run = th.mine(world(), out=tmp_path / "run", **SETTINGS)
    assert run.path is not None
    assert not (run.path / PAGE).exists()
    assert not (run.path / DATA).exists()
    loaded = th.load_run(run.path)
    assert len(loaded.rules) == len(run.rules)
    assert loaded.summary == run.summary
    assert loaded.summary["notes"][-1].startswith("the report was not written (")
    assert "thence report" in loaded.summary["notes"][-1]


def test_a_folder_that_cannot_be_written_is_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = th.mine(world(), out=tmp_path / "run", report=False, **SETTINGS)

    def fail(data: Any, target: Path) -> Path:
        raise OSError("no space")

    monkeypatch.setattr(run_report, "_write_data", fail)
    wanted = replace(run, config=replace(run.config, output=replace(run.config.output, report=True)))
    assert "OSError: no space" in add_report(wanted).summary["notes"][-1]


def test_a_run_from_disk_is_the_same_report(tmp_path: Path) -> None:
    config = th.Config.from_mapping({"input": {"dataset": "toy"}, "windows": {"every": "1h"}})
    run = th.mine(config=config, out=tmp_path / "run", confirm=False, progress="off")
    first, again = th.report(run).data, th.report(th.load_run(tmp_path / "run")).data
    # The time at which it was made differs, and the conditions of a rule from disk are in the order of their names.
    apart = ("made", "cards")
    assert {k: v for k, v in first.items() if k not in apart} == {k: v for k, v in again.items() if k not in apart}
    assert [card["key"] for card in first["cards"]] == [card["key"] for card in again["cards"]]


def test_applied_rules_are_part_of_the_report() -> None:
    toy = th.datasets.load("toy")
    run = th.mine(toy.between(end="2024-01-02"), windows="1h", bins=3, confirm=False, progress="off")
    applied = th.apply(run, toy.between(start="2024-01-02"))
    one = th.report(run, applied=applied).data["applied"]
    assert [part["name"] for part in one] == ["toy"]
    assert th.report(run, applied=[applied, one[0]]).data["applied"] == [one[0], one[0]]


def test_a_folder_is_a_run_too(tmp_path: Path) -> None:
    run = th.mine(th.datasets.load("toy"), windows="1h", bins=3, out=tmp_path / "run", confirm=False, progress="off")
    made = th.report(tmp_path / "run", cards=0)
    assert [row["key"] for row in made.data["rules"]] == [row["key"] for row in th.report(run).data["rules"]]
    with pytest.raises(ConfigError, match="made of a run"):
        th.report(run.rules)  # type: ignore[arg-type]
