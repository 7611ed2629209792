"""Where alerts go: standard output, a file, a topic of a broker, a URL.

What a URL means is chosen by its scheme; ``http`` and ``https`` are webhooks, others are those of installed packages.

Standard output and files are written at once. The network may be slow or gone: alerts for it wait in a queue of their
own, are tried again, and are saved with the state of the monitor, so that each arrives at least once.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import urllib.error
import urllib.request
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Protocol

from thence._base.settings.registry import Registry
from thence.checks.monitor.alerts import Alert
from thence.checks.monitor.sources.mqtt import Broker
from thence.errors import ConfigError, RunError

OUTLETS: Registry[Any] = Registry(
    "scheme of a URL for alerts",
    dict.fromkeys(("http", "https"), "thence.checks.monitor.outlets:open_webhook"),
    group="thence.outlets",
    of=object,
)
"""Functions from a URL and ``say``, as ``NetworkOutlet`` has it, to an ``Outlet``, by the scheme of the URL."""

_MOST_WAITING = 10_000
_LONGEST_WAIT = 60.0


class Outlet(Protocol):
    """Where alerts go."""

    def send(self, alerts: Iterable[Alert]) -> None:
        """Send alerts, in their order."""
        ...

    def require_new(self) -> None:
        """Raise a ``RunError`` if it holds alerts of an earlier monitor."""
        ...

    def send_again(self, alerts: Iterable[Alert]) -> None:
        """Send alerts that were waiting before a restart."""
        ...

    def waiting(self) -> list[Alert]:
        """Return the alerts that have not arrived yet."""
        ...

    def close(self) -> None:
        """Finish."""
        ...


class StandardOutput:
    """Alerts as JSON lines on standard output."""

    def send(self, alerts: Iterable[Alert]) -> None:
        """Print alerts.

        Args:
            alerts: The alerts.
        """
        for alert in alerts:
            sys.stdout.write(alert.to_json() + "\n")
        sys.stdout.flush()

    def require_new(self) -> None:
        """Do nothing: nothing is kept."""

    def send_again(self, alerts: Iterable[Alert]) -> None:
        """Do nothing: what is printed has arrived.

        Args:
            alerts: The alerts.
        """

    def waiting(self) -> list[Alert]:
        """Return nothing: what is printed has arrived."""
        return []

    def close(self) -> None:
        """Do nothing."""


class AlertFile:
    """Alerts as JSON lines at the end of a file, each exactly once, however often the monitor is killed.

    Args:
        path: The file. Alerts that it holds already are not written again.

    Raises:
        RunError: If the file cannot be written, or holds something else.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._last = 0
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("a+b")
            self._file.seek(0)
            content = self._file.read()
        except OSError as error:
            raise RunError(f"cannot be written ({error.strerror or error})", where=str(path)) from error
        whole = content.rfind(b"\n") + 1
        try:
            lines = content[:whole].splitlines()
            self._last = max((int(json.loads(line)["alert"]) for line in lines), default=0)
        except (ValueError, KeyError, TypeError) as error:
            self._file.close()
            raise RunError("is not a file of alerts", where=str(path), hint="choose another file") from error
        self._file.truncate(whole)  # a line that was being written when the monitor was killed

    @property
    def last(self) -> int:
        """Number of the last alert in the file."""
        return self._last

    def send(self, alerts: Iterable[Alert]) -> None:
        """Append alerts and flush them to disk.

        Args:
            alerts: The alerts.
        """
        new = [alert for alert in alerts if alert.number > self._last]
        if not new:
            return
        try:
            self._file.write("".join(alert.to_json() + "\n" for alert in new).encode())
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise RunError(f"cannot be written ({error.strerror or error})", where=str(self._path)) from error
        self._last = new[-1].number

    def require_new(self) -> None:
        """Raise a ``RunError`` if the file holds alerts."""
        if self._last:
            raise RunError(
                f"already holds {self._last:,} alerts of an earlier monitor",
                where=str(self._path),
                hint="choose another file, or pass the --state folder of that monitor to go on",
            )

    def send_again(self, alerts: Iterable[Alert]) -> None:
        """Do nothing: what is written has arrived.

        Args:
            alerts: The alerts.
        """

    def waiting(self) -> list[Alert]:
        """Return nothing: what is written has arrived."""
        return []

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class NetworkOutlet:
    """Alerts that are sent over the network, one after the other, by a thread of its own.

    Args:
        send_one: Sends an alert; returns whether it arrived.
        name: What to call it in messages.
        say: Called with a sentence when alerts cannot be sent, and when they can again.
    """

    def __init__(self, send_one: Callable[[Alert], bool], *, name: str, say: Callable[[str], None]) -> None:
        self._send_one, self._name, self._say = send_one, name, say
        self._queue: deque[Alert] = deque()
        self._wake, self._stop, self._lock = threading.Event(), threading.Event(), threading.Lock()
        self.lost = 0
        self._thread = threading.Thread(target=self._work, name=f"alerts to {name}", daemon=True)
        self._thread.start()

    def send(self, alerts: Iterable[Alert]) -> None:
        """Queue alerts; of very many that cannot be sent, the oldest are lost and counted.

        Args:
            alerts: The alerts.
        """
        with self._lock:
            self._queue.extend(alerts)
            while len(self._queue) > _MOST_WAITING:
                self._queue.popleft()
                self.lost += 1
        self._wake.set()

    def require_new(self) -> None:
        """Do nothing: nothing is kept."""

    def send_again(self, alerts: Iterable[Alert]) -> None:
        """Queue alerts that were waiting before a restart.

        Args:
            alerts: The alerts.
        """
        self.send(alerts)

    def waiting(self) -> list[Alert]:
        """Return the alerts that have not arrived yet."""
        with self._lock:
            return list(self._queue)

    def close(self, *, patience: float = 5.0) -> None:
        """Stop when all alerts have arrived, or after some seconds.

        Args:
            patience: The seconds.
        """
        deadline = threading.Event()
        for _ in range(int(patience * 20)):
            if not self.waiting():
                break
            deadline.wait(0.05)
        self._stop.set()
        self._wake.set()
        self._thread.join(1.0)

    def _work(self) -> None:
        wait, failing = 1.0, False
        while not self._stop.is_set():
            with self._lock:
                alert = self._queue[0] if self._queue else None
            if alert is None:
                self._wake.wait(1.0)
                self._wake.clear()
                continue
            if self._send_one(alert):
                with self._lock:
                    if self._queue and self._queue[0] is alert:
                        self._queue.popleft()
                if failing:
                    self._say(f"alerts arrive at {self._name} again")
                wait, failing = 1.0, False
                continue
            if not failing:
                self._say(f"alerts do not arrive at {self._name}; trying again")
            failing = True
            self._stop.wait(wait)
            wait = min(2 * wait, _LONGEST_WAIT)


def open_outlet(url: str, say: Callable[[str], None]) -> Outlet:
    """Open the outlet of a URL.

    Args:
        url: The URL.
        say: Called with a sentence when alerts cannot be sent, and when they can again.

    Raises:
        ConfigError: If no outlet has its scheme.
    """
    scheme, found, _ = url.partition("://")
    if not found:
        known = ", ".join(f"{name}://" for name in OUTLETS)
        raise ConfigError(f"alerts are sent to a URL that starts with {known}", hint="pass the full URL")
    outlet: Outlet = OUTLETS.load(scheme.lower())(url, say)
    return outlet


def open_webhook(url: str, say: Callable[[str], None], *, timeout: float = 10.0) -> Outlet:
    """Open a webhook, to which alerts are posted as JSON.

    Args:
        url: Where to, with ``http://`` or ``https://``.
        say: Called with a sentence when alerts cannot be sent, and when they can again.
        timeout: Seconds to wait for an answer.
    """

    def post(alert: Alert) -> bool:
        request = urllib.request.Request(
            url,
            data=alert.to_json().encode(),
            headers={"Content-Type": "application/json", "Idempotency-Key": str(alert.number)},
            method="POST",
        )
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                return bool(200 <= answer.status < 300)
        except (OSError, ValueError):
            return False

    return NetworkOutlet(post, name="the webhook", say=say)


def publish_to(broker: Broker, topic: str) -> Callable[[Alert], bool]:
    """Return a function that publishes an alert to a topic with quality of service 1.

    Args:
        broker: The broker.
        topic: The topic.

    Raises:
        ConfigError: If the topic has wildcards.
    """
    if not topic or set("+#") & set(topic):
        raise ConfigError(f"alerts are published to one topic without wildcards, got '{topic}'")
    client: Any = broker.client("", keep_session=False)
    client.connect_async(broker.host, broker.port, keepalive=30)
    client.loop_start()

    on_their_way: dict[int, Any] = {}

    def publish(alert: Alert) -> bool:
        if alert.number not in on_their_way:
            if not client.is_connected():
                return False
            on_their_way[alert.number] = client.publish(topic, alert.to_json(), qos=1)
        sent = on_their_way[alert.number]
        try:
            sent.wait_for_publish(10.0)
            arrived = bool(sent.is_published())
        except (RuntimeError, ValueError):
            del on_their_way[alert.number]
            return False
        if arrived:
            del on_their_way[alert.number]
        return arrived

    return publish
