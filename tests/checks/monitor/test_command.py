"""The command: files, health, metrics, webhooks, and mistakes that are said in one line."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import thence as th
from tests.helpers.commands import fail, thence
from tests.helpers.plants import mined, plant
from thence.checks.monitor.engine import Monitor
from thence.checks.monitor.metrics import MetricsServer, collect_metrics, format_metrics


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("monitor")
    run = mined(days=30)
    replace(run, rules=th.evaluate.add_confidence_bound(run.rules, run.table)).save(path / "run")
    later = plant(40, seed=3, broken_from=5, first_day=30)
    later.write_parquet(path / "later.parquet")
    later.write_csv(path / "later.csv")
    return path


def alerts_of(output: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in output.splitlines()]


def test_a_file_of_either_kind_gives_the_same_alerts(folder: Path, tmp_path: Path) -> None:
    found = []
    for name in ("later.parquet", "later.csv"):
        health = tmp_path / f"{name}.csv"
        result = thence("monitor", folder / "run", "--file", folder / name, "--health", health)
        assert result.exit_code == 0, result.output
        found.append(alerts_of(result.stdout))
        assert "5,760" not in result.stdout and "17,280 accepted" in result.stderr
        table = pl.read_csv(health)
        assert set(table["status"]) <= {"holds", "drifted", "silent", "missing"}
    assert found[0] == found[1] and {alert["kind"] for alert in found[0]} == {"drifted"}
    assert all(alert["message"] and alert["time"].endswith("Z") for alert in found[0])


def test_a_later_file_goes_on_where_the_one_before_ended(folder: Path, tmp_path: Path) -> None:
    whole = pl.read_parquet(folder / "later.parquet")
    whole[:1_000].write_parquet(tmp_path / "first.parquet")
    whole[999:].write_parquet(tmp_path / "second.parquet")
    out = ""
    for name in ("first", "second"):
        result = thence(
            "monitor", folder / "run", "--file", tmp_path / f"{name}.parquet", "--state", tmp_path / "state"
        )
        assert result.exit_code == 0, result.output
        out += result.stdout
    # The last window of the first file was closed with it: what the second has of it is late, and counted.
    assert "17,274 accepted, 6 late" in result.stderr
    through = thence("monitor", folder / "run", "--file", folder / "later.parquet")
    assert [one["rule"] for one in alerts_of(out)] == [one["rule"] for one in alerts_of(through.stdout)]


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_a_monitor_is_small(folder: Path) -> None:
    """It must fit on a gateway: no PyTorch, no WNTR, no pandas, less than 300 MB."""
    program = (
        "import sys; from pathlib import Path; from thence.cli.app import app; "
        f"app(['monitor', {str(folder / 'run')!r}, '--file', {str(folder / 'later.parquet')!r}, '-q'], "
        "standalone_mode=False); print(Path('/proc/self/status').read_text().split('VmHWM:')[1].split()[0], "
        "*(name for name in ('torch', 'wntr', 'pandas', 'sklearn') if name in sys.modules), file=sys.stderr)"
    )
    for _ in range(2):  # the first time on a machine it compiles
        done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    kilobytes, *heavy = done.stderr.split()
    assert not heavy and int(kilobytes) < 300_000


def test_readings_of_other_sensors_are_counted(folder: Path, tmp_path: Path) -> None:
    frame = plant(2, first_day=30)
    frame.with_columns(pl.col("flow").alias("more")).write_parquet(tmp_path / "more.parquet")
    frame.write_parquet(tmp_path / "some.parquet")
    result = thence(
        "monitor", folder / "run", "--file", tmp_path / "more.parquet", "--sensors", tmp_path / "some.parquet"
    )
    assert result.exit_code == 0 and "288 unknown sensor" in result.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "one source"),
        (["--file", "later.parquet", "--mqtt", "host"], "one source"),
        (["--file", "nowhere.csv"], "nowhere.csv"),
        (["--file", "later.parquet", "--speed", "fast"], "--speed"),
        (["--file", "later.parquet", "--block", "45min"], "multiple of the windows"),
        (["--file", "later.parquet", "--false-alarm", "2"], "false_alarm"),
        (["--file", "later.parquet", "--alert-url", "example.org"], "http://"),
        (["--file", "later.parquet", "--alert-url", "ftp://example.org"], "unknown scheme of a URL for alerts 'ftp'"),
        (["--file", "later.parquet", "--alert-mqtt", "alerts"], "--alert-broker"),
        (["--file", "later.parquet", "--reference"], "--sensors"),
        (["--file", "later.parquet", "--health", "health.txt"], "health.txt"),
        (["--mqtt", "user:word@host", "--sensors", "later.parquet"], "THENCE_MQTT_PASSWORD"),
        (["--mqtt", "host:port", "--sensors", "later.parquet"], "host:port"),
        (["--mqtt", "host", "--topic-sensor", "flow", "--sensors", "later.parquet"], "level"),
        (["--postgres", "env", "--sensors", "later.parquet"], "THENCE_POSTGRES_URL"),
    ],
)
def test_mistakes_are_said(folder: Path, options: list[str], message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("THENCE_POSTGRES_URL", raising=False)
    named = [str(folder / one) if one.startswith("later") else one for one in options]
    text = fail("monitor", folder / "run", *named)
    assert message in text and "word@" not in text


def test_metrics_are_served_on_this_machine_only(folder: Path) -> None:
    import urllib.error
    import urllib.request

    import thence as th

    run = th.load_run(folder / "run")
    monitor = Monitor(run, th.read_system(plant(1)))
    server = MetricsServer(
        lambda: format_metrics(
            collect_metrics(monitor, rejected={"not_json": 2}, alerts={"drifted": 1}, source={"connected": 1.0})
        ),
        port=0,
    )
    with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/metrics", timeout=60) as answer:
        text = answer.read().decode()
    with pytest.raises(urllib.error.HTTPError):
        urllib.request.urlopen(f"http://127.0.0.1:{server.port}/other", timeout=60)
    server.close()
    assert 'thence_monitor_rejected_total{reason="not_json"} 2' in text
    assert 'thence_monitor_rules{status="unknown"}' in text
    assert "# TYPE thence_monitor_windows_total counter" in text


class Receiver:
    """A web server that fails at first."""

    def __init__(self) -> None:
        got: list[dict[str, Any]] = []
        tries: list[int] = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                tries.append(1)
                if len(tries) > 1:
                    got.append(json.loads(body))
                self.send_response(500 if len(tries) == 1 else 204)
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                return

        self.got = got
        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    found = Receiver()
    yield found
    found.server.shutdown()
    found.server.server_close()


def test_a_webhook_gets_every_alert_although_it_fails_at_first(folder: Path, receiver: Receiver) -> None:
    url = f"http://127.0.0.1:{receiver.server.server_address[1]}/"
    result = thence("monitor", folder / "run", "--file", folder / "later.parquet", "--alert-url", url)
    assert result.exit_code == 0, result.output
    assert receiver.got == alerts_of(result.stdout) and receiver.got
    assert "alerts do not arrive at the webhook" in result.stderr
