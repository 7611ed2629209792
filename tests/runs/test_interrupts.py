"""Ctrl-C and races: what was found is kept, and whoever comes second to an output is refused before the work."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

import thence as th
from thence._base.atomic import claim
from thence.errors import RunError
from thence.runs import pipeline

SETTINGS: dict[str, Any] = {
    "windows": "1h",
    "bins": 3,
    "enrich": "none",
    "report": False,
    "confirm": False,
    "progress": "off",
}


@pytest.fixture(scope="module")
def toy() -> Any:
    return th.datasets.load("toy")


@pytest.fixture(autouse=True)
def handler() -> Any:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def press_ctrl_c_in(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Press Ctrl-C while this function of the pipeline runs."""
    original = getattr(pipeline, name)

    def pressed(*args: Any, **keywords: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        return original(*args, **keywords)

    monkeypatch.setattr(pipeline, name, pressed)


@pytest.mark.parametrize("stage", ["_hashes", "_finish", "hash_table", "environment"])
def test_ctrl_c_after_the_search_loses_no_rule(
    toy: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    """All rules were lost: only the search, the refinement and the writing handled Ctrl-C."""
    expected = th.mine(toy.sensors, **SETTINGS).rules
    press_ctrl_c_in(monkeypatch, stage)
    with pytest.raises(KeyboardInterrupt, match="the run was saved"):
        th.mine(toy.sensors, out=tmp_path / "a", **SETTINGS)
    kept = th.load_run(tmp_path / "a")
    assert kept.complete
    assert list(kept.rules) == list(expected)
    in_memory = th.mine(toy.sensors, **SETTINGS)
    assert list(in_memory.rules) == list(expected)
    assert "interrupted after the search: nothing is missing" in in_memory.summary["notes"]


def test_ctrl_c_while_rules_are_selected_keeps_them(toy: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = th.mine(toy.sensors, **SETTINGS).rules
    press_ctrl_c_in(monkeypatch, "select_rules")
    run = th.mine(toy.sensors, out=tmp_path / "a", **SETTINGS)
    assert run.interrupted
    assert list(th.load_run(tmp_path / "a").rules) == list(expected)


def test_ctrl_c_in_a_second_search_keeps_the_first(toy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """With few lifted rules, fewer bins and rules about single sensors are tried; Ctrl-C there lost what there was."""
    searched: list[Any] = []
    original = pipeline._search

    def search(*args: Any, **keywords: Any) -> Any:
        if searched:
            raise KeyboardInterrupt
        searched.append(original(*args, **keywords))
        return searched[0]

    monkeypatch.setattr(pipeline, "_search", search)
    monkeypatch.setattr(pipeline, "FEW_RULES", 10_000)
    monkeypatch.setattr(pipeline, "HARDLY_ANY", 10_000)
    run = th.mine(toy, windows="1h", confirm=False, progress="off")
    assert run.interrupted
    assert list(run.rules) == list(searched[0].rules)
    assert any("a further search was not finished" in note for note in run.summary["notes"])


def test_the_second_of_two_runs_is_refused_before_it_mines(
    toy: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It mined to its end and failed when it wrote."""

    def search(*_: Any, **__: Any) -> Any:
        raise AssertionError("it mines")

    monkeypatch.setattr(pipeline, "_mine_table", search)
    with claim(tmp_path / "a"), pytest.raises(RunError, match="another process is writing here"):
        th.mine(toy.sensors, out=tmp_path / "a", **SETTINGS)
    with claim(tmp_path / "a"), pytest.raises(RunError, match="another process is writing here"):
        th.mine(toy.sensors, out=tmp_path / "a", force=True, **SETTINGS)


@pytest.mark.parametrize("name", ["x" * 5_000, "a\0b"])
def test_impossible_names_of_outputs_are_refused_before_the_work(toy: Any, tmp_path: Path, name: str) -> None:
    """They ended in OSError."""
    with pytest.raises(RunError, match="cannot be written") as caught:
        th.mine(toy.sensors, out=tmp_path / name, **SETTINGS)
    assert len(str(caught.value)) < 300
