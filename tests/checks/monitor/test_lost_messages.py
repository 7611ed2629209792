"""Messages that a broker lost: told as far as the protocol shows it, without a broker and with a real one."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path
from threading import Event
from types import SimpleNamespace

import pytest

from tests.checks.monitor.test_mqtt import Publisher, metrics, no_process_stays, start
from tests.helpers.brokers import Mosquitto
from tests.helpers.plants import mined, plant
from tests.helpers.processes import PATIENCE, free_port, line_with, until
from thence.checks.monitor.batches import Roster
from thence.checks.monitor.messages import MessageFormat
from thence.checks.monitor.sources import mqtt
from thence.checks.monitor.sources.mqtt import DROPPED, Broker, MqttSource
from thence.data.readings.sensors import Sensor

pytest.importorskip("paho.mqtt.client")
__all__ = ["no_process_stays"]
HOUR = 3_600_000_000


class Client:
    """What a source asks of its client."""

    def __init__(self) -> None:
        self.topics: list[str] = []

    def subscribe(self, topic: str, *, qos: int) -> tuple[int, int]:
        assert qos == (topic != DROPPED)
        self.topics.append(topic)
        return 0, len(self.topics)


class Session:
    """A source, its client, and the clock."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, client_id: str = "me") -> None:
        self.lines: list[str] = []
        self.client, self.now = Client(), 1_704_067_200_000_000
        monkeypatch.setattr(mqtt, "_now", lambda: self.now)
        monkeypatch.setattr(mqtt, "_IDLE", 0.01)
        roster = Roster((Sensor("flow"),))
        self.source = MqttSource(
            Broker("gateway", 1883), "site/#", roster, MessageFormat(), client_id=client_id, say=self.lines.append
        )

    def connect(self, *, kept: bool, refused: str = "", answers: bool = True) -> None:
        since = len(self.client.topics)
        good = SimpleNamespace(is_failure=False)
        self.source._on_connect(self.client, None, SimpleNamespace(session_present=kept), good, None)
        for number, topic in enumerate(self.client.topics[since:], start=since + 1):
            if answers or topic != DROPPED:
                answer = [SimpleNamespace(is_failure=topic == refused)]
                self.source._on_subscribe(self.client, None, number, answer, None)

    def disconnect(self) -> None:
        self.source._on_disconnect(self.client, None, None, "reset", None)

    def dropped(self, payload: bytes) -> None:
        self.source._on_dropped(self.client, None, SimpleNamespace(payload=payload))

    def told(self, word: str) -> list[str]:
        return [line for line in self.lines if word in line]


def test_a_session_that_is_lost_is_told_with_the_time_away(monkeypatch: pytest.MonkeyPatch) -> None:
    one = Session(monkeypatch)
    one.connect(kept=False)
    assert not one.told("lost"), "the first connection has nothing to lose"
    one.now += HOUR
    one.disconnect()
    one.now += HOUR
    one.connect(kept=True)
    assert one.source.facts()["sessions_lost"] == 0
    one.now += HOUR
    one.disconnect()
    one.now += HOUR
    one.connect(kept=False)
    assert one.lines[-2] == (
        "messages between 2024-01-01T02:59:15Z and 2024-01-01T04:00:00Z may be lost: the broker has lost the session"
    )
    assert one.source.facts()["sessions_lost"] == 1
    short = Session(monkeypatch, client_id="")
    for _ in range(2):
        short.connect(kept=False)
        short.disconnect()
    assert short.told("may be lost: the session ends with the connection")


def test_a_restarted_monitor_knows_since_when_it_was_away(monkeypatch: pytest.MonkeyPatch) -> None:
    first = Session(monkeypatch)
    first.connect(kept=False)
    first.dropped(b"5")
    position = json.loads(json.dumps(first.source._gather().position))
    assert position == {"seen": first.now, "dropped": 5}
    again = Session(monkeypatch)
    again.now += HOUR
    stop = Event()
    stop.set()
    assert list(again.source.deliveries(stop, position)) == []
    again.connect(kept=False)
    again.dropped(b"12")
    assert again.told("between 2024-01-01T00:00:00Z and 2024-01-01T01:00:00Z may be lost")
    assert again.told("dropped 7 messages")


def test_what_the_broker_drops_is_told_at_most_once_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    one = Session(monkeypatch)
    seconds = iter([10.0, 11.0, 12.0, 80.0, 81.0])
    monkeypatch.setattr(mqtt.time, "monotonic", lambda: next(seconds))
    for payload in (b"3", b"5", b"9", b"10", b"x", b"1_0", b"", b"9" * 40):
        if payload.isdigit() and len(payload) < 19:
            one.dropped(payload)
        else:
            one.source.drops.add(payload)
    assert [re.findall(r"dropped (\d+)", line)[0] for line in one.told("dropped")] == ["2", "5"]
    assert "max_queued_messages" in one.lines[-1] and one.source.facts()["dropped"] == 7


def test_a_topic_that_is_refused_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    one = Session(monkeypatch)
    one.connect(kept=False, refused=DROPPED)
    assert not one.told("refuses")
    one.connect(kept=True, refused="site/#")
    assert one.told("refuses the topic site/#")


def test_a_broker_that_hangs_up_is_not_asked_again_what_it_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    one = Session(monkeypatch)
    one.connect(kept=False, answers=False)
    one.disconnect()
    one.connect(kept=True)
    assert one.client.topics == ["site/#", DROPPED, "site/#"]


@pytest.mark.slow
@pytest.mark.needs("mosquitto")
def test_a_real_broker_drops_messages_and_loses_a_session(tmp_path: Path) -> None:
    """A burst beyond ``max_queued_messages`` while the monitor was away, and a broker without its sessions."""
    mined(tmp_path / "run", days=5)
    later = plant(4, seed=3, first_day=5)
    later.head(200).write_parquet(tmp_path / "some.parquet")
    rows = [
        (f"site/plant/{name}", json.dumps({"time": time.isoformat(), "value": value}).encode())
        for time, *values in later.iter_rows()
        for name, value in zip(later.columns[1:], values, strict=True)
    ]
    broker = Mosquitto(tmp_path / "broker", queued=100)
    try:
        port = free_port()
        process = start(tmp_path, broker.port, "--metrics-port", str(port))
        line_with(process, b"connected to the broker")
        publish(broker, rows[:90])
        until(lambda: accepted(port) == 90)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE)
        publish(broker, rows[90:390])
        process = start(tmp_path, broker.port, "--metrics-port", str(port))
        line = line_with(process, b"has dropped")
        lost = int(re.findall(rb"dropped (\d+) messages", line)[0])
        assert 150 <= lost <= 200
        until(lambda: accepted(port) == 390 - lost)
        broker.stop()
        broker.forget()
        broker.start()
        assert b"the broker has lost the session" in line_with(process, b"may be lost")
        for end in (480, 570):
            publish(broker, rows[end - 90 : end])
            until(lambda end=end: accepted(port) == end - lost)  # type: ignore[misc]
        found = metrics(port)
        assert found["thence_monitor_source_sessions_lost"] == 1
        assert found["thence_monitor_source_dropped"] == lost
        assert found["thence_monitor_gaps_total"] == 3, "one for each sensor"
        assert found["thence_monitor_gap_readings_total"] == pytest.approx(lost, abs=3)
        process.send_signal(signal.SIGTERM)
        _, output = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, output.decode()
    finally:
        broker.stop()


def publish(broker: Mosquitto, rows: list[tuple[str, bytes]]) -> None:
    publisher = Publisher(broker.port)
    for row in rows:
        publisher.publish(*row)
    publisher.close()


def accepted(port: int) -> float:
    return metrics(port)['thence_monitor_readings_total{result="accepted"}']
