"""A monitor at work: takes deliveries of a source, saves its state, sends alerts, and ends when it is told to.

What is acknowledged to a source is safe on disk before. What is saved is what was counted. After a kill at any moment
the monitor goes on as if nothing had happened.
"""

from __future__ import annotations

import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from thence._base.atomic import new_file
from thence._base.frames import without_formulas
from thence.checks.monitor.alerts import Alert, format_time
from thence.checks.monitor.batches import Batch
from thence.checks.monitor.engine import Monitor
from thence.checks.monitor.metrics import collect_metrics, format_metrics
from thence.checks.monitor.outlets import Outlet
from thence.checks.monitor.sources.base import Delivery, Source
from thence.checks.monitor.store import Store, pack_record, unpack_record
from thence.errors import ConfigError, attempt

_BETWEEN_GAPS = 60.0  # seconds between two lines about readings that did not come


class Service:
    """A monitor with its state on disk and its outlets.

    Args:
        monitor: The monitor.
        outlets: Where alerts go.
        store: Where the state is kept; ``None`` to keep none.
        save_every: Number of windows after which the state is saved.
        save_seconds: Seconds after which it is saved if anything came since.
        health: A file for the health of all rules, written after each block that was tested and at the end.
        say: Called with a sentence when readings of a live source did not come.
    """

    def __init__(
        self,
        monitor: Monitor,
        outlets: Sequence[Outlet],
        *,
        store: Store | None = None,
        save_every: int = 100,
        save_seconds: float = 60.0,
        health: Path | None = None,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        if health is not None:
            _require_suffix(health)
        self.monitor, self.outlets, self.store, self.health = monitor, outlets, store, health
        self._save_every, self._save_seconds = save_every, save_seconds
        self.rejected: Counter[str] = Counter()
        self.alerts: Counter[str] = Counter()
        self.position: Any = None
        self._delivered = 0
        self._saved_windows, self._saved_at, self._unsaved = 0, time.monotonic(), False
        self._told_blocks = 0
        self._say, self._said_at, self._tell_gaps = say, -math.inf, False
        self._lock = threading.Lock()
        self._source_facts: Callable[[], dict[str, float]] = dict

    def restore(self) -> bool:
        """Go on from the state on disk; return whether there was one."""
        found = None if self.store is None else self.store.load()
        if self.store is None or found is None:
            for outlet in self.outlets:
                outlet.require_new()
            self.save()
            return False
        numbers, arrays = found
        self.monitor.restore(numbers["monitor"], arrays)
        self.rejected.update(numbers["rejected"])
        self.alerts.update(numbers["alerts"])
        self.position, self._delivered = numbers["position"], numbers["delivered"]
        waiting = [Alert.from_dict(one) for one in numbers["waiting"]]
        records = [unpack_record(record) for record in self.store.replay()]
        # Alerts that were delivered after the snapshot are not delivered again.
        self._delivered = max([self._delivered, *(facts.get("delivered", 0) for facts, _ in records)])
        for outlet in self.outlets:
            outlet.send_again(waiting)
        for facts, readings in records:
            if "rejected" in facts:
                self.monitor.roster.restore(facts["states"])
                batch = Batch(readings["times"], readings["sensors"], readings["values"])
                self._take(Delivery(batch, Counter(facts["rejected"])))
        self._saved_windows = self.monitor.n_windows
        self._told_blocks = self.monitor.health.n_blocks
        return True

    def run(self, source: Source, stop: threading.Event, *, finish: bool) -> None:
        """Take deliveries until there are no more, or it is time to stop; then save the state.

        Args:
            source: The source.
            stop: Set when it is time to stop.
            finish: Whether the source is complete when it ends, so that the last windows are closed.
        """
        self._source_facts = source.facts
        self._tell_gaps = source.needs_journal
        for delivery in source.deliveries(stop, self.position):
            if self.store is not None and source.needs_journal and (len(delivery.batch) or delivery.rejected):
                self.store.append(self._record(delivery))
            delivery.acknowledge()
            self._take(delivery)
            self._save_in_time()
        if finish and not stop.is_set():
            with self._lock:
                alerts = self.monitor.finish()
            self._unsaved = True
            self._send(alerts)
        self._say_gaps(at_once=True)
        self.save()
        self._write_health(force=True)

    def _record(self, delivery: Delivery) -> bytes:
        batch = delivery.batch
        facts = {"rejected": dict(delivery.rejected), "states": self.monitor.roster.to_dict()}
        return pack_record(facts, {"times": batch.times, "sensors": batch.sensors, "values": batch.values})

    def _take(self, delivery: Delivery) -> None:
        with self._lock:
            self.rejected.update(delivery.rejected)
            alerts = self.monitor.add(delivery.batch)
        if delivery.position is not None:
            self.position = delivery.position
        self._unsaved = self._unsaved or bool(len(delivery.batch) or delivery.rejected)
        self._send(alerts)
        self._say_gaps()
        self._write_health()

    def _say_gaps(self, *, at_once: bool = False) -> None:
        """Say which readings of a live source did not come: one line for many sensors, and at most one a minute."""
        now = time.monotonic()
        if not self._tell_gaps or not (at_once or now - self._said_at >= _BETWEEN_GAPS):
            return
        found = self.monitor.open.gaps.take_new()
        if found is None:
            return
        self._said_at = now
        self._say(
            f"readings did not come: about {found.missing:,} of {found.sensors:,} "
            f"sensor{'' if found.sensors == 1 else 's'} between {format_time(found.start)} and {format_time(found.end)}"
        )

    def _send(self, alerts: Sequence[Alert]) -> None:
        self.alerts.update(alert.kind for alert in alerts)
        new = [alert for alert in alerts if alert.number > self._delivered]
        if not new:
            return
        for outlet in self.outlets:
            outlet.send(new)
        self._delivered = max(self._delivered, new[-1].number)
        if self.store is not None:
            self.store.append(pack_record({"delivered": self._delivered}, {}))

    def _save_in_time(self) -> None:
        windows = self.monitor.n_windows - self._saved_windows
        late = time.monotonic() - self._saved_at > self._save_seconds
        if windows >= self._save_every or (late and self._unsaved):
            self.save()

    def save(self) -> None:
        """Write the state to disk, if it is kept."""
        self._saved_windows, self._saved_at, self._unsaved = self.monitor.n_windows, time.monotonic(), False
        if self.store is None:
            return
        numbers, arrays = self.monitor.to_state()
        waiting = {alert.number: alert.to_dict() for outlet in self.outlets for alert in outlet.waiting()}
        facts = {
            "monitor": numbers,
            "rejected": dict(self.rejected),
            "alerts": dict(self.alerts),
            "position": self.position,
            "delivered": self._delivered,
            "waiting": [waiting[number] for number in sorted(waiting)],
        }
        self.store.save(facts, arrays)

    def _write_health(self, *, force: bool = False) -> None:
        blocks = self.monitor.health.n_blocks
        if self.health is None or not (force or blocks > self._told_blocks):
            return
        self._told_blocks = blocks
        path = self.health
        if force:
            write_health(self.monitor, path)
        else:
            attempt("the file of the health of all rules", lambda: write_health(self.monitor, path), lambda _: None)

    def metrics(self) -> str:
        """Return the metrics as text; may be called from another thread."""
        with self._lock:
            found = collect_metrics(
                self.monitor, rejected=self.rejected, alerts=self.alerts, source=self._source_facts()
            )
        return format_metrics(found)


_WRITERS = (".parquet", ".csv", ".json")


def write_health(monitor: Monitor, path: Path) -> None:
    """Write the health of all rules to a file, in one step.

    Args:
        monitor: The monitor.
        path: The file: ``.parquet``, ``.csv`` or ``.json``.

    Raises:
        ConfigError: If the file has another ending.
    """
    _require_suffix(path)
    frame = monitor.table()
    with new_file(path) as draft:
        if path.suffix.lower() == ".parquet":
            frame.write_parquet(draft)
        elif path.suffix.lower() == ".csv":
            without_formulas(frame).write_csv(draft)
        else:
            frame.write_json(draft)


def _require_suffix(path: Path) -> None:
    if path.suffix.lower() not in _WRITERS:
        raise ConfigError(f"health is written as {', '.join(_WRITERS)}, got '{path.name}'")
