"""What is open: names, runs whose data are still being read, and folders that are no runs."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import thence as th
from tests.helpers.networks import network
from tests.show.explorer.conftest import TOKEN, Client
from thence.errors import ConfigError, RunError
from thence.show.explorer.app import create_app
from thence.show.explorer.state import State, open_state


def test_runs_are_called_by_their_folders_and_told_apart(runs: list[th.Run]) -> None:
    state = open_state([runs[1].path, runs[1], runs[2].path])
    assert [run["name"] for run in state.describe()["runs"]] == ["toy", "toy (2)", "all"]
    state.close()


def test_rules_can_be_read_before_the_data_are(runs: list[th.Run]) -> None:
    state = State()
    opened = state.add(th.load_run(runs[1].path), name="toy", load=False)
    client = Client(create_app(state, TOKEN))
    assert client.get("/api/runs").json()["runs"][0]["data"] == "loading"
    assert client.get("/api/runs/0/findings").json()["counts"]["rule"] == len(runs[1].rules.entries)
    assert client.get("/api/runs/0/drawing").json() is None
    early = client.get("/api/runs/0/report").json()
    assert early["system"] is None
    assert "being read" in client.get("/api/runs/0/rules/0/card").json()["error"]
    opened.load()
    assert client.get("/api/runs").json()["runs"][0]["data"] == "ready"
    assert client.get("/api/runs/0/report").json()["system"] is not None
    assert client.get("/api/runs/0/drawing").json()["nodes"]
    assert client.get("/api/runs/0/rules/0/card").status_code == 200


def test_a_run_of_objects_gets_its_data_from_the_caller(tmp_path: Path) -> None:
    system = network()
    th.mine(system, out=tmp_path / "run", progress="off")
    with_data = th.explore(tmp_path / "run", system=system, browser=False)
    without = State()
    try:
        without.add(th.load_run(tmp_path / "run"), name="run", load=False).load()
        assert without.describe()["runs"][0]["data"] == "missing"
        opened = with_data._state.run(0)
        opened.load()
        assert opened.describe()["data"] == "ready"
    finally:
        with_data.stop()


def test_what_is_not_open_is_said(tmp_path: Path) -> None:
    state = State()
    with pytest.raises(ConfigError, match="there is no run 0"):
        state.run(0)
    with pytest.raises(ConfigError, match="there is no monitor 2"):
        state.monitor(2)
    with pytest.raises(RunError, match="not a run folder"):
        open_state([tmp_path])


def test_damaged_reviews_are_said_without_the_path(tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": ["x", "y"] * 20, "b": ["u", "v"] * 20})
    th.mine(frame, out=tmp_path / "run", progress="off")
    (tmp_path / "run" / "reviews.json").write_text("{")
    state = State()
    state.add(th.load_run(tmp_path / "run"), name="run", load=False).load()
    answer = Client(create_app(state, TOKEN)).get("/api/runs/0/findings")
    assert answer.status_code == 400
    assert "reviews" in answer.json()["error"]
    assert str(tmp_path) not in answer.text
