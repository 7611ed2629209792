"""Readings from an MQTT broker, each acknowledged when it is safe on disk.

The session of the client outlives the connection, so the broker keeps messages (quality of service 1) while the monitor
is away, as many as it is set to. If the broker goes away, the client connects again, after 1, 2, 4, … up to 60 seconds.
What was lost is said as far as the protocol shows it: a session that the broker no longer has, and the number of
messages that it has dropped, which mosquitto publishes.
"""

from __future__ import annotations

import queue
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from threading import Event
from typing import Any, NamedTuple

from thence.checks.monitor.alerts import format_time
from thence.checks.monitor.batches import Batch, Roster
from thence.checks.monitor.messages import MessageFormat, Row, read_message
from thence.checks.monitor.sources.base import Delivery
from thence.data.readers.sparkplug import Births
from thence.errors import ConfigError, require

_MOST_WAITING, _MOST_BYTES = 20_000, 1 << 25
_LARGEST = 1 << 17  # of larger payloads the rest is cut off: they are rejected anyway
_AT_ONCE = 10_000
_PAUSE = 0.002  # seconds without a message after which those that came are taken, so that one write serves many
_IDLE = 1.0
_LONGEST_WAIT = 60
_KEEPALIVE = 30  # seconds; a connection that is lost is noticed after one and a half of these at the latest
DROPPED = "$SYS/broker/publish/messages/dropped"
"""Where mosquitto publishes how many messages it has dropped since it was started, of all its clients."""
_BETWEEN_LINES = 60.0  # seconds between two lines about messages that the broker dropped


class _Message(NamedTuple):
    """What is kept of a message until it is read."""

    topic: str
    payload: bytes
    mid: int
    qos: int


class Broker:
    """Where a broker is, and how to log in.

    Args:
        host: Its host.
        port: Its port.
        username: The user; empty for none.
        password: The password; never shown.
        tls: Whether the connection is encrypted.
    """

    def __init__(self, host: str, port: int, *, username: str = "", password: str = "", tls: bool = False) -> None:
        self.host, self.port, self.username, self.tls = host, port, username, tls
        self._password = password

    def __repr__(self) -> str:
        return f"{self.host}:{self.port}"

    def client(self, client_id: str, *, keep_session: bool) -> Any:
        """Return a client of this broker that is not connected yet.

        Args:
            client_id: The name by which the broker knows the session.
            keep_session: Whether the session outlives the connection.

        Raises:
            MissingExtraError: If paho-mqtt is not installed.
        """
        mqtt: Any = require("paho.mqtt.client", extra="mqtt")
        client = mqtt.Client(
            mqtt.CallbackAPIVersion.VERSION2,
            client_id=client_id,
            clean_session=not keep_session,
            protocol=mqtt.MQTTv311,
            manual_ack=True,
        )
        if self.username:
            client.username_pw_set(self.username, self._password or None)
        if self.tls:
            client.tls_set()
        client.reconnect_delay_set(1, _LONGEST_WAIT)
        return client


def parse_broker(text: str, *, username: str = "", password: str = "", tls: bool = False) -> Broker:
    """Return the broker of ``host`` or ``host:port``.

    Args:
        text: The host, with a port if it is not 1883, or 8883 with TLS.
        username: The user; empty for none.
        password: The password.
        tls: Whether the connection is encrypted.

    Raises:
        ConfigError: If the port is not a number, or the text holds a password.

    Examples:
        >>> parse_broker("localhost"), parse_broker("[::1]:1884"), parse_broker("gateway", tls=True)
        (localhost:1883, ::1:1884, gateway:8883)
    """
    if "@" in text or "://" in text:
        raise ConfigError(
            "a broker is given as host or host:port, without a user or a scheme",
            hint="set the variables THENCE_MQTT_USERNAME and THENCE_MQTT_PASSWORD to log in",
        )
    host, colon, port = text.rpartition(":")
    if not colon or text.endswith("]"):
        host, port = text, "8883" if tls else "1883"
    if not port.isdecimal() or not 0 < int(port) < 65_536 or not host:
        raise ConfigError(f"a broker is given as host or host:port, got '{text}'")
    return Broker(host.strip("[]"), int(port), username=username, password=password, tls=tls)


class MqttSource:
    """Messages of a broker as readings.

    Args:
        broker: The broker.
        topic: The topic filter to subscribe to, such as ``"site/+/+"``.
        roster: The sensors.
        form: How messages name things.
        client_id: The name of the session; empty for one that ends with the connection.
        say: Called with a sentence when the connection is made or lost, and when messages were lost.
    """

    needs_journal = True

    def __init__(
        self,
        broker: Broker,
        topic: str,
        roster: Roster,
        form: MessageFormat,
        *,
        client_id: str = "",
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._broker, self._topic, self._roster, self._form, self._say = broker, topic, roster, form, say
        self._keeps_session = bool(client_id)
        self._client = broker.client(client_id, keep_session=self._keeps_session)
        self._waiting: queue.Queue[_Message] = queue.Queue(_MOST_WAITING)
        self._bytes, self._closing = 0, False
        self.connected, self.connections, self.sessions_lost = False, 0, 0
        self.drops = Drops()
        self._births = Births()
        self._seen: int | None = None  # until when nothing was lost: microseconds of the clock
        self._subscribing: dict[int, str] = {}
        self._asks_drops = True
        self._client.on_connect = self._on_connect
        self._client.on_disconnect = self._on_disconnect
        self._client.on_subscribe = self._on_subscribe
        self._client.on_message = self._on_message
        self._client.message_callback_add(DROPPED, self._on_dropped)

    def facts(self) -> dict[str, float]:
        """Return numbers about the connection, how many messages wait, and what was lost."""
        return {
            "connected": float(self.connected),
            "connections": float(self.connections),
            "waiting": float(self._waiting.qsize()),
            "sessions_lost": float(self.sessions_lost),
            "dropped": float(self.drops.total),
        }

    def _on_connect(self, client: Any, _data: Any, flags: Any, reason: Any, _properties: Any) -> None:
        if reason.is_failure:
            self._say(f"the broker {self._broker} refuses the connection: {reason}; trying again")
            return
        self.connected, self.connections = True, self.connections + 1
        self._subscribing = {client.subscribe(self._topic, qos=1)[1]: self._topic}
        if self._asks_drops:
            self._subscribing[client.subscribe(DROPPED, qos=0)[1]] = DROPPED
        if self._seen is not None and not flags.session_present:
            self.sessions_lost += 1
            why = "the broker has lost the session" if self._keeps_session else "the session ends with the connection"
            between = f"between {format_time(self._seen)} and {format_time(_now())}"
            self._say(f"messages {between} may be lost: {why}")
        self._seen = _now()

    def _on_subscribe(self, _client: Any, _data: Any, mid: int, reasons: Any, _properties: Any) -> None:
        topic = self._subscribing.pop(mid, None)
        if topic != self._topic:
            return
        if any(reason.is_failure for reason in reasons):
            self._say(f"the broker {self._broker} refuses the topic {topic}: no messages will come")
        else:
            # Only from now on does the broker send or keep messages.
            self._say(f"connected to the broker {self._broker}, topic {topic}")

    def _on_disconnect(self, _client: Any, _data: Any, _flags: Any, reason: Any, _properties: Any) -> None:
        if self.connected:
            self._say(f"the connection to the broker {self._broker} is lost ({reason}); trying again")
            if self._seen is not None:
                self._seen = max(self._seen, _now() - _KEEPALIVE * 1_500_000)
        # Some brokers hang up when a client asks for what they do not have.
        self._asks_drops = self._asks_drops and DROPPED not in self._subscribing.values()
        self.connected, self._subscribing = False, {}

    def _on_dropped(self, _client: Any, _data: Any, message: Any) -> None:
        self.drops.add(bytes(message.payload[:_LARGEST]))
        self._say_drops()

    def _say_drops(self, *, at_once: bool = False) -> None:
        number = self.drops.take_new(time.monotonic(), at_once=at_once)
        if number:
            self._say(
                f"the broker {self._broker} has dropped {number:,} messages of its clients, perhaps of this one: "
                "raise its max_queued_messages"
            )

    def _on_message(self, _client: Any, _data: Any, message: Any) -> None:
        # While many messages wait, the thread that reads from the broker waits too, and the broker with it.
        while (self._bytes > _MOST_BYTES or self._waiting.full()) and not self._closing:
            time.sleep(0.01)
        if self._closing:
            return
        kept = _Message(_topic(message), bytes(message.payload[:_LARGEST]), message.mid, message.qos)
        self._bytes += len(kept.payload)
        self._waiting.put(kept)

    def deliveries(self, stop: Event, position: Any) -> Iterator[Delivery]:
        """Yield messages as they come; see ``Source``.

        Args:
            stop: Set when the monitor is to stop.
            position: When the monitor was last connected, and how many messages the broker had dropped by then. The
                broker knows where to go on: it keeps what was not acknowledged.
        """
        if isinstance(position, Mapping):
            self._seen, self.drops.last = position["seen"], position["dropped"]
            self._births.restore(position.get("births", {}))
        if not self._connect(stop):
            return
        self._client.loop_start()
        try:
            while not stop.is_set():
                yield self._gather()
        finally:
            # Messages that wait are not acknowledged, and come again.
            self._closing = True
            self._client.disconnect()
            self._client.loop_stop()
            self._say_drops(at_once=True)

    def _connect(self, stop: Event) -> bool:
        """Connect for the first time, unless it is time to stop; later the client does so itself."""
        wait = 1
        while not stop.is_set():
            try:
                self._client.connect(self._broker.host, self._broker.port, keepalive=_KEEPALIVE)
            except OSError as error:
                self._say(f"the broker {self._broker} cannot be reached ({error}); trying again in {wait} s")
                stop.wait(wait)
                wait = min(2 * wait, _LONGEST_WAIT)
            else:
                return True
        return False

    def _gather(self) -> Delivery:
        messages: list[_Message] = []
        try:
            messages.append(self._waiting.get(timeout=_IDLE))
            # A broker sends few messages (mosquitto: 20) before the first of them are acknowledged.
            while len(messages) < _AT_ONCE:
                messages.append(self._waiting.get(timeout=_PAUSE))
        except queue.Empty:
            pass
        rows: list[Row] = []
        rejected: Counter[str] = Counter()
        self._bytes -= sum(len(message.payload) for message in messages)
        now = _now()
        for message in messages:
            found = read_message(
                message.payload,
                self._roster,
                self._form,
                topic=message.topic,
                subscription=self._topic,
                now=now,
                births=self._births,
            )
            for one in found:
                if isinstance(one, str):
                    rejected[one] += 1
                else:
                    rows.append(one)

        position: dict[str, Any] = {"seen": now if self.connected else self._seen, "dropped": self.drops.last}
        if len(self._births):
            # A gateway does not send its names again because the monitor was away.
            position["births"] = self._births.to_dict()

        def acknowledge() -> None:
            for message in messages:
                if message.qos:
                    self._client.ack(message.mid, message.qos)

        return Delivery(Batch.of(rows), rejected, position, acknowledge)


class Drops:
    """How many messages a broker has dropped.

    ``last`` is the number that the broker told last, since it was started; ``total`` is what was added since the first
    number.

    Examples:
        >>> drops = Drops()
        >>> for payload in (b"10", b"10", b"17", b"2"):  # the broker was started again before the last one
        ...     drops.add(payload)
        >>> drops.total, drops.take_new(0.0), drops.take_new(99.0)
        (9, 9, 0)
    """

    def __init__(self) -> None:
        self.last: int | None = None
        self.total = 0
        self._said, self._said_at = 0, -_BETWEEN_LINES

    def add(self, payload: bytes) -> None:
        """Take a number that the broker tells; anything else is ignored.

        Args:
            payload: The message.
        """
        if not payload.isdigit() or len(payload) > 18:
            return
        number = int(payload)
        if self.last is not None:
            self.total += number - self.last if number >= self.last else number
        self.last = number

    def take_new(self, now: float, *, at_once: bool = False) -> int:
        """Return how many messages to say were dropped: 0 for none, and for less than a minute since the last time.

        Args:
            now: Seconds of a clock.
            at_once: Whether not to wait for a minute.
        """
        number = self.total - self._said
        if not number or not (at_once or now - self._said_at >= _BETWEEN_LINES):
            return 0
        self._said, self._said_at = self.total, now
        return number


def _now() -> int:
    return time.time_ns() // 1_000


def _topic(message: Any) -> str:
    try:
        return str(message.topic)
    except UnicodeDecodeError:
        return ""
