"""A real server: its address, live alerts, and how it ends; the command and its errors."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

import thence as th
from tests.helpers.commands import fail
from tests.helpers.processes import PATIENCE, started
from thence.errors import ConfigError, RunError

ALERT = {"alert": 1, "kind": "violated", "time": "2024-01-02T00:00:00Z", "message": "first"}


def test_a_run_is_explored_from_python(runs: list[th.Run], tmp_path: Path) -> None:
    path = tmp_path / "alerts.jsonl"
    path.write_text(json.dumps(ALERT) + "\n")
    with th.explore(runs[0], runs[1].path, monitors=path, browser=False) as explorer:
        base, _, token = explorer.address.partition("/?token=")
        headers = {"authorization": f"Bearer {token}"}
        with httpx.Client(base_url=base, headers=headers, timeout=PATIENCE) as client:
            names = [run["name"] for run in client.get("/api/runs").json()["runs"]]
            assert len(names) == 2
            assert client.get("/api/runs/0/findings").status_code == 200
            seen = []
            with client.stream("GET", "/api/monitors/0/events") as stream:
                assert stream.headers["content-type"].startswith("text/event-stream")
                for line in stream.iter_lines():
                    if line.startswith("data: "):
                        seen.append(json.loads(line[6:])["sentence"])
                        with path.open("a") as file:
                            file.write(json.dumps({**ALERT, "message": f"alert {len(seen) + 1}"}) + "\n")
                    if len(seen) == 3:
                        break
            assert seen == ["first", "alert 2", "alert 3"]
            with client.stream("GET", "/api/monitors/0/events", headers={"last-event-id": "2"}) as stream:
                line = next(line for line in stream.iter_lines() if line.startswith("data: "))
                assert json.loads(line[6:])["id"] == 3
            assert client.get("/api/monitors/0/events", headers={"last-event-id": "x"}).status_code == 422
        assert "token" in repr(explorer)
    with pytest.raises(httpx.ConnectError):
        httpx.get(base)
    explorer.stop()  # a second time does nothing


def test_what_cannot_be_opened_is_said(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="no such run folder"):
        th.explore(tmp_path / "missing", browser=False)
    with pytest.raises(ConfigError, match="no run was given"):
        th.explore(browser=False)


def test_a_port_that_is_taken_is_said(runs: list[th.Run]) -> None:
    with th.explore(runs[0], browser=False) as explorer:
        port = int(explorer.address.partition("/?")[0].rpartition(":")[2])
        with pytest.raises(ConfigError, match="another program uses it"):
            th.explore(runs[0], port=port, browser=False)


def test_the_command_prints_the_address_and_ends(runs: list[th.Run], tmp_path: Path) -> None:
    path = tmp_path / "alerts.jsonl"
    command = [sys.executable, "-m", "thence", "explore", str(runs[1].path), "--no-browser", "--monitor", str(path)]
    with started(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ}, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        address = next(word for word in line.split() if word.startswith("http://127.0.0.1:"))
        answer = httpx.get(address, timeout=PATIENCE)  # waits until the server is there
        assert answer.status_code == 200
        base, _, token = address.partition("/?token=")
        with (
            httpx.Client(headers={"authorization": f"Bearer {token}"}, timeout=PATIENCE) as client,
            client.stream("GET", f"{base}/api/monitors/0/events") as stream,
        ):
            # A live page does not keep it from ending, and nothing is printed about it.
            assert next(stream.iter_lines()).startswith("retry")
            process.send_signal(signal.SIGINT)
            out, errors = process.communicate(timeout=PATIENCE)
    assert "Traceback" not in errors
    assert process.returncode == 0
    assert errors == ""
    assert out == ""


def test_errors_of_the_command(runs: list[th.Run], tmp_path: Path) -> None:
    run = runs[1].path
    assert "no such run folder" in fail("explore", tmp_path / "missing", "--no-browser")
    assert "needs a token" in fail("explore", run, "--no-browser", "--host", "0.0.0.0")
    assert "at least 16" in fail("explore", run, "--no-browser", "--token", "short")
    assert "no such folder" in fail("explore", run, "--no-browser", "--monitor", tmp_path / "missing")
    assert "cannot listen" in fail("explore", run, "--no-browser", "--host", "203.0.113.7", "--token", "x" * 20)


def test_the_extra_is_named(runs: list[th.Run], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "starlette", None)
    assert "thence[explorer]" in fail("explore", runs[1].path, "--no-browser")
