"""Readings from a table of a PostgreSQL database that is looked at again and again.

Each time all rows of windows that are still open are read, and those that are new are delivered, so that rows may be
added in any order, by several writers at once, without being missed or counted twice.
"""

from __future__ import annotations

import os
import re
import socket
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from threading import Event, Thread
from typing import Any

from thence.checks.monitor.batches import EARLIEST, LATEST, Batch, Roster, is_missing
from thence.checks.monitor.sources.base import Delivery
from thence.errors import ConfigError, InputError, require

_AT_ONCE = 10_000
_LONGEST_WAIT = 60.0
# Seconds between two looks whether the connection is still in use, and those that a server has to cancel a statement.
_LOOK, _GRACE = 0.5, 5.0
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class TableNames:
    """The names of a table and its columns.

    Args:
        table: The table, with its schema if needed: ``"plant.readings"``.
        time: The column of times; those without a zone are UTC.
        sensor: The column of sensors.
        value: The column of values.
    """

    def __init__(self, table: str, *, time: str = "time", sensor: str = "sensor", value: str = "value") -> None:
        for name in (table, time, sensor, value):
            if not name or "\x00" in name:
                raise ConfigError("the names of the table and its columns must not be empty")
        self.table, self.time, self.sensor, self.value = table, time, sensor, value

    def query(self) -> Any:
        """Return the query for all rows from a time on, in the order of their times."""
        sql: Any = require("psycopg.sql", extra="postgres")
        return sql.SQL("SELECT {time}, {sensor}, {value} FROM {table} WHERE {time} >= %s ORDER BY {time}").format(
            time=sql.Identifier(self.time),
            sensor=sql.Identifier(self.sensor),
            value=sql.Identifier(self.value),
            table=sql.Identifier(*self.table.split(".")),
        )


class PostgresSource:
    """Rows of a table as readings.

    Args:
        url: Where the database is; never shown.
        names: The names of the table and its columns.
        roster: The sensors.
        pending: The readings of windows that are still open, from before a restart.
        open_since: Returns the start of the oldest window that is still open, in microseconds.
        poll: Seconds between two looks at the table.
        start: The time from which to read, in microseconds.
        max_ahead: Rows later than now by more microseconds are rejected; ``None`` for no limit.
        say: Called with a sentence when the connection is made or lost.
    """

    needs_journal = False

    def __init__(
        self,
        url: str,
        names: TableNames,
        roster: Roster,
        *,
        pending: Batch,
        open_since: Callable[[], int],
        poll: float = 5.0,
        start: int = EARLIEST,
        max_ahead: int | None = None,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._psycopg: Any = require("psycopg", extra="postgres")
        self._url, self._names, self._roster, self._open_since = url, names, roster, open_since
        self._poll, self._start, self._max_ahead, self._say = poll, start, max_ahead, say
        rows = zip(pending.sensors.tolist(), pending.times.tolist(), pending.values.tolist(), strict=True)
        self._seen: dict[tuple[int, int], float] = {(sensor, time): value for sensor, time, value in rows}
        # Rows of open windows that were rejected, so that each is counted once.
        self._refused: set[tuple[int, int]] = set()
        self.connected, self.connections = False, 0

    def facts(self) -> dict[str, float]:
        """Return whether the database is connected, and how often it was."""
        return {"connected": float(self.connected), "connections": float(self.connections)}

    def deliveries(self, stop: Event, position: Any) -> Iterator[Delivery]:
        """Yield new rows; see ``Source``.

        Args:
            stop: Set when the monitor is to stop.
            position: Not used: the windows that are still open say where to go on.
        """
        wait = 1.0
        while not stop.is_set():
            try:
                with self._psycopg.connect(self._url, connect_timeout=10) as connection:
                    connection.execute("SET TIME ZONE 'UTC'")
                    connection.commit()
                    self.connected, self.connections, wait = True, self.connections + 1, 1.0
                    self._say(f"connected to the database, table {self._names.table}")
                    with _cut_off(connection, stop):
                        while not stop.is_set():
                            yield from self._look(connection, stop)
                            yield Delivery(Batch.of([]))
                            stop.wait(self._poll)
            except self._psycopg.OperationalError as error:
                self.connected = False
                if stop.is_set():
                    return
                self._say(
                    f"the database cannot be reached ({_first_line(error, self._url)}); trying again in {wait:g} s"
                )
                yield Delivery(Batch.of([]))
                stop.wait(wait)
                wait = min(2 * wait, _LONGEST_WAIT)
            except self._psycopg.Error as error:
                raise InputError(
                    f"the table cannot be read: {_first_line(error, self._url)}",
                    where=self._names.table,
                    hint="check --table, --time-column, --sensor-column and --value-column",
                ) from None
        self.connected = False

    def _look(self, connection: Any, stop: Event) -> Iterator[Delivery]:
        since = max(self._start, self._open_since(), EARLIEST)
        with connection.transaction(), connection.cursor(name="thence_monitor") as cursor:
            cursor.itersize = _AT_ONCE
            cursor.execute(self._names.query(), [_EPOCH + timedelta(microseconds=since)])
            while not stop.is_set() and (rows := cursor.fetchmany(_AT_ONCE)):
                delivery = self._read(rows)
                if len(delivery.batch) or delivery.rejected:
                    yield delivery
                    self._forget()

    def _read(self, rows: list[tuple[Any, Any, Any]]) -> Delivery:
        found: list[tuple[int, int, float]] = []
        rejected: Counter[str] = Counter()
        latest = LATEST
        if self._max_ahead is not None:
            latest = (datetime.now(UTC) - _EPOCH) // _MICROSECOND + self._max_ahead
        for moment, name, given in rows:
            value = _plain(given)
            if not isinstance(moment, datetime):
                raise InputError(
                    f"the column '{self._names.time}' must hold times, got {type(moment).__name__}",
                    where=self._names.table,
                    hint="name the column of times with --time-column",
                )
            time = ((moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment) - _EPOCH) // _MICROSECOND
            at = self._roster.position.get(str(name))
            number = None if at is None or is_missing(value) else self._roster.encode(at, value)
            if at is not None and number is not None and self._seen.get((at, time)) == number:
                continue
            if reason := _reason(at, time, value, number, latest):
                if (key := (-1 if at is None else at, time)) not in self._refused:
                    self._refused.add(key)
                    rejected[reason] += 1
                continue
            assert at is not None and number is not None
            self._seen[at, time] = number
            found.append((time, at, number))
        return Delivery(Batch.of(found), rejected)

    def _forget(self) -> None:
        """Forget rows of windows that are closed: they are not read again."""
        since = self._open_since()
        self._seen = {key: value for key, value in self._seen.items() if key[1] >= since}
        self._refused = {key for key in self._refused if key[1] >= since}


@contextmanager
def _cut_off(connection: Any, stop: Event) -> Iterator[None]:
    """Cancel what the server is doing when it is time to stop, and hang up if it does not answer.

    A statement may wait for as long as another program locks the table, or the network is gone.
    """
    done = Event()

    def watch() -> None:
        while not stop.wait(_LOOK):
            if done.is_set():
                return
        # Whatever is wrong with the connection, it is going to be closed.
        with suppress(Exception):
            connection.cancel_safe(timeout=_GRACE)
        if not done.wait(_GRACE):
            with suppress(Exception), socket.socket(fileno=os.dup(connection.fileno())) as line:
                line.shutdown(socket.SHUT_RDWR)

    thread = Thread(target=watch, name="end of the database", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _reason(at: int | None, time: int, value: Any, number: float | None, latest: int) -> str:
    """Return why a row is not used, or an empty string."""
    if at is None:
        return "unknown_sensor"
    if not EARLIEST <= time < LATEST:
        return "bad_time"
    if time > latest:
        return "future"
    if is_missing(value):
        return "no_value"
    return "bad_value" if number is None else ""


def _plain(value: Any) -> Any:
    """Return a number of the database (Decimal) as one of Python."""
    return float(value) if hasattr(value, "as_tuple") else value


def _first_line(error: Exception, url: str) -> str:
    """Return the first line of an error, without the password of the connection."""
    text = str(error).strip().partition("\n")[0]
    found = re.search(r"://[^:/@]*:([^@]*)@|password=(\S+)", url)
    for secret in found.groups() if found else ():
        if secret:
            text = text.replace(secret, "…")
    return text
