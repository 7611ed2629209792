"""Readings from a real broker: nothing lost, nothing twice, all counted, with broker and monitor going away."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.checks.monitor.test_messages import hostile
from tests.helpers.brokers import Mosquitto
from tests.helpers.plants import mined, plant
from tests.helpers.processes import PATIENCE, end, free_port, line_with, until

mqtt: Any = pytest.importorskip("paho.mqtt.client")
pytestmark = pytest.mark.needs("mosquitto")
STARTED: list[subprocess.Popen[bytes]] = []
SECONDS = int(os.environ.get("THENCE_MQTT_SECONDS", "6"))


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Mosquitto]:
    found = Mosquitto(tmp_path / "broker")
    try:
        yield found
    finally:
        found.stop()


@pytest.fixture(autouse=True)
def no_process_stays() -> Iterator[None]:
    yield
    for process in STARTED:
        end(process)
    STARTED.clear()


class Publisher:
    """Publishes with quality of service 1 and waits for each message to arrive."""

    def __init__(self, port: int) -> None:
        self._client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, client_id="publisher", clean_session=False)
        self._client.reconnect_delay_set(1, 1)
        self._client.max_queued_messages_set(0)
        self._client.max_inflight_messages_set(100)
        self._client.connect("127.0.0.1", port)
        self._client.on_publish = self._on_publish
        self._client.loop_start()
        self._sent = self._arrived = 0

    def _on_publish(self, *_: Any) -> None:
        self._arrived += 1

    def publish(self, topic: str, payload: bytes) -> None:
        # The client sends waiting messages in any order: none may wait.
        while self._sent - self._arrived > 80:
            time.sleep(0.001)
        self._client.publish(topic, payload, qos=1)
        self._sent += 1

    def close(self) -> None:
        until(lambda: self._arrived >= self._sent)
        self._client.disconnect()
        self._client.loop_stop()


def start(folder: Path, port: int, *more: str) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "thence", "monitor", str(folder / "run"), "--mqtt", f"127.0.0.1:{port}"),
            *("--topic", "site/+/+", "--state", str(folder / "state"), "--sensors", str(folder / "some.parquet")),
            *("--alerts", str(folder / "alerts.jsonl"), "--health", str(folder / "health.json")),
            *("--block", "12h", "--violations", "--save-every", "20", "--lateness", "6h", *more),
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    STARTED.append(process)
    return process


def metrics(port: int) -> dict[str, float]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=PATIENCE) as answer:
        lines = answer.read().decode().splitlines()
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines if line[0] != "#")}


@pytest.mark.slow
def test_nothing_is_lost_and_nothing_counted_twice(tmp_path: Path, broker: Mosquitto) -> None:
    """1,000 messages a second, among them hostile ones, while monitor and broker are killed and started again."""
    mined(tmp_path / "run", days=10, confirm=False)
    later = plant(max(60, SECONDS * 1_000 // 432 + 1), seed=3, broken_from=20, first_day=10)
    later.head(500).write_parquet(tmp_path / "some.parquet")
    rows = [
        (f"site/plant/{name}", json.dumps({"time": time_.isoformat(), "value": value}).encode())
        for time_, *values in later.iter_rows()
        for name, value in zip(later.columns[1:], values, strict=True)
    ]
    rows = rows[: SECONDS * 1_000]
    chance = random.Random(1)
    port = free_port()
    process = start(tmp_path, broker.port, "--metrics-port", str(port))
    line_with(process, b"connected to the broker")
    publisher = Publisher(broker.port)
    n_hostile = 0
    begun = time.monotonic()
    events = {len(rows) // 4: "kill", len(rows) // 2: "broker", 3 * len(rows) // 4: "kill"}
    for at, (topic, payload) in enumerate(rows):
        publisher.publish(topic, payload)
        if at % 10 == 0:
            bad = hostile(chance)
            while b'"time"' in bad or b"flow" in bad or b"valve" in bad:  # such as may be right by chance
                bad = hostile(chance)
            publisher.publish("site/plant/nobody", bad)
            n_hostile += 1
        what = events.get(at)
        if what == "kill":
            process.send_signal(signal.SIGKILL)
            process.communicate()
            process = start(tmp_path, broker.port, "--metrics-port", str(port))
        elif what == "broker":
            broker.stop()
            time.sleep(0.5)
            broker.start()
        while at > (time.monotonic() - begun) * 1_000:
            time.sleep(0.005)
    publisher.close()

    def all_arrived() -> bool:
        found = metrics(port)
        taken = sum(
            sign * found[f'thence_monitor_readings_total{{result="{name}"}}']
            for name, sign in (("accepted", 1), ("late", 1))
        )
        return taken >= len(rows) and found["thence_monitor_source_waiting"] == 0

    until(all_arrived)
    time.sleep(1.5)
    refused = sum(value for name, value in metrics(port).items() if "rejected_total" in name)
    assert refused >= n_hostile
    process.terminate()
    _, message = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, message.decode()

    later_rows = later.head((len(rows) + 2) // 3)
    later_rows.write_parquet(tmp_path / "later.parquet")
    through = subprocess.run(
        [
            *(
                sys.executable,
                "-m",
                "thence",
                "monitor",
                str(tmp_path / "run"),
                "--file",
                str(tmp_path / "later.parquet"),
            ),
            *("--sensors", str(tmp_path / "some.parquet"), "--block", "12h", "--violations", "--quiet"),
        ],
        check=True,
        capture_output=True,
    )
    expected = through.stdout.decode().splitlines()
    found = (tmp_path / "alerts.jsonl").read_text().splitlines()
    # The last six hours are still open: nothing says that no further reading will come.
    assert found == expected[: len(found)] and len(found) >= len(expected) - 40
    assert len(found) > 20


def test_a_broker_that_is_not_there_is_waited_for(tmp_path: Path) -> None:
    mined(tmp_path / "run", days=5)
    plant(1).write_parquet(tmp_path / "some.parquet")
    port = free_port()
    process = start(tmp_path, port)
    line_with(process, b"cannot be reached")
    process.terminate()
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 0


def test_alerts_are_published(tmp_path: Path, broker: Mosquitto) -> None:
    mined(tmp_path / "run", days=30)
    plant(40, seed=3, broken_from=2, first_day=30).write_parquet(tmp_path / "later.parquet")
    got: list[dict[str, Any]] = []
    client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
    client.on_message = lambda _client, _data, message: got.append(json.loads(message.payload))
    client.connect("127.0.0.1", broker.port)
    client.subscribe("alerts", qos=1)
    client.loop_start()
    done = subprocess.run(
        [
            *(
                sys.executable,
                "-m",
                "thence",
                "monitor",
                str(tmp_path / "run"),
                "--file",
                str(tmp_path / "later.parquet"),
            ),
            *("--alert-broker", f"127.0.0.1:{broker.port}", "--alert-mqtt", "alerts", "--quiet"),
        ],
        check=True,
        capture_output=True,
    )
    until(lambda: len(got) >= len(done.stdout.splitlines()))
    client.loop_stop()
    assert got == [json.loads(line) for line in done.stdout.splitlines()] and got
