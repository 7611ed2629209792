"""Windows that the database aggregates, with the numbers that ``thence.data.readings.windows`` computes from the rows.

Means and sums add the readings of a window in the order of their times, so they agree in the last bit. What would not
agree is read row by row: sensors whose few whole numbers may be states, other aggregates, and tables in which a sensor
has two readings at one time. This module writes SQL and asks the database what it must know for it; it reads no rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from thence.data.readers.table import ReadOptions
from thence.data.readings.durations import MICROSECOND, parse_duration
from thence.data.readings.sensors import as_utc
from thence.data.readings.steps import format_duration
from thence.data.readings.windows import AGGREGATES
from thence.data.stores.databases import Column, Database
from thence.data.stores.sql_text import identifier, literal
from thence.errors import ConfigError, nearest
from thence.language.states import LARGEST_WHOLE, MOST_STATES

__all__ = ["PUSHED", "Pushed", "bucket", "push_down"]

PUSHED = ("mean", "sum", "min", "max", "last")
"""Aggregates that the database computes; others are computed from the rows."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_INFINITY = "CAST('Infinity' AS DOUBLE PRECISION)"
_NUMBERS = ("float", "integer", "decimal")


@dataclass(frozen=True)
class Pushed:
    """How windows are read from a database.

    Args:
        statements: The statements whose rows together are the readings; empty to read all rows instead.
        measured: Ids of sensors of which the database aggregates the readings.
        notes: What the database did, or why all rows are read; one sentence each.
        windows: Length and start of the windows in microseconds, and their aggregate, for provenance.
    """

    statements: tuple[str, ...] = ()
    measured: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    windows: Mapping[str, Any] | None = None


def push_down(
    database: Database, relation: str, columns: Mapping[str, Column], condition: str, options: ReadOptions
) -> Pushed:
    """Return the statements that read a long table as windows.

    Args:
        database: The database.
        relation: The table or query, as SQL.
        columns: Its columns that are read, by name.
        condition: Which rows to read, as SQL; empty for all.
        options: The options of ``read_sensors``.

    Raises:
        ConfigError: If the length, the aggregate or the origin of the windows is invalid.
    """
    length = parse_duration(options.database.windows)
    aggregate = options.database.aggregate
    if aggregate not in AGGREGATES:
        raise ConfigError(f"unknown aggregate '{aggregate}'", hint=nearest(str(aggregate), AGGREGATES))
    if reason := _obstacle(database, columns, options):
        return Pushed(notes=(f"all rows were read and not windows: {reason}",))
    source = _Source(database, relation, condition, columns, options)
    found = source.look()
    if found.obstacle:
        return Pushed(notes=(f"all rows were read and not windows: {found.obstacle}",))
    start = _start(found.first, length, options.database.origin)
    few = source.with_few_values(found.whole)
    kept = frozenset(found.sensors) - few
    if not kept:
        return Pushed(notes=("all rows were read and not windows: every sensor may read states",))
    times = source.times_of(few)
    if times.conflict:
        return Pushed(notes=("all rows were read and not windows: a sensor has two readings at the same time",))
    statements = [source.windows(few, start, length, unique=times.unique)]
    if few:
        statements.append(source.rows_of(few))
    left_out = {"missing": found.missing, "infinite": found.infinite, "duplicate": times.repeated}
    lost = ", ".join(f"{count:,} {what}" for what, count in left_out.items() if count)
    note = (
        f"the database aggregated {found.rows:,} rows to windows of {format_duration(length * MICROSECOND)} "
        f"({aggregate})" + (f"; left out: {lost} values" if lost else "")
    )
    apart = f"read row by row, since they may read states: {len(few):,} sensors"
    windows = {"microseconds": length, "start": start, "aggregate": aggregate}
    return Pushed(tuple(statements), kept, (note, apart) if few else (note,), windows)


def _obstacle(database: Database, columns: Mapping[str, Column], options: ReadOptions) -> str:
    """Return why windows cannot be read, as far as it does not depend on the rows."""
    if database.kind not in ("postgresql", "duckdb"):
        return "only PostgreSQL and DuckDB compute them"
    if options.database.aggregate not in PUSHED:
        return f"the aggregate '{options.database.aggregate}' needs them"
    if options.time == "auto" or options.sensor is None or options.value is None:
        return "this needs a long table, with time=, sensor= and value="
    if columns[options.value].family not in _NUMBERS:
        return f"the column '{options.value}' holds no numbers"
    family = columns[options.time].family
    if options.time_format is not None or family not in ("zoned", "naive"):
        return f"the column '{options.time}' holds no times"
    if family == "naive" and options.zone != "UTC":
        return "times without a zone may occur twice when clocks are set back"
    return ""


def _start(first: int, length: int, origin: object) -> int:
    """Return the start of the first window in microseconds since 1970, as in ``window``."""
    if isinstance(origin, str) and origin in ("epoch", "start"):
        anchor = 0 if origin == "epoch" else first
    else:
        anchor = (as_utc(origin) - EPOCH) // MICROSECOND  # type: ignore[arg-type]
    return anchor + (first - anchor) // length * length


def bucket(database: Database, time: str, *, start: int, length: int, zoned: bool) -> str:
    """Return the start of the window of a time, as SQL.

    Args:
        database: The database, which has ``time_bucket`` or, as PostgreSQL 14 and later, ``date_bin``.
        time: The time, as SQL.
        start: Start of the first window in microseconds since 1970; no time is earlier.
        length: Length of a window in microseconds.
        zoned: Whether the time has a zone.
    """
    when = (EPOCH + timedelta(microseconds=start)).replace(tzinfo=None).isoformat(sep=" ")
    kind = "TIMESTAMP WITH TIME ZONE" if zoned else "TIMESTAMP"
    first = f"CAST({literal(when + ('+00' if zoned else ''))} AS {kind})"
    stride = f"CAST({literal(f'{length} microseconds')} AS INTERVAL)"
    function = "time_bucket" if database.has_time_bucket and (zoned or database.kind == "duckdb") else "date_bin"
    return f"{function}({stride}, {time}, {first})"


@dataclass(frozen=True)
class _Found:
    """What the database says of the rows; times are microseconds since 1970."""

    sensors: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()
    rows: int = 0
    missing: int = 0
    infinite: int = 0
    first: int = 0
    obstacle: str = ""


@dataclass(frozen=True)
class _Times:
    """Whether the times of a sensor are unique by a key, how many rows repeat another, and whether some contradict."""

    unique: bool = False
    repeated: int = 0
    conflict: bool = False


@dataclass(frozen=True)
class _Source:
    """A long table of a database, and what to read of it."""

    database: Database
    relation: str
    condition: str
    columns: Mapping[str, Column]
    options: ReadOptions

    @property
    def _names(self) -> tuple[str, str, str]:
        return self.options.time, str(self.options.sensor), str(self.options.value)

    @property
    def _zoned(self) -> bool:
        return self.columns[self.options.time].family == "zoned"

    @property
    def _missing(self) -> list[float]:
        """Numbers that mean a missing reading; in single precision they may have another value."""
        given = self.options.missing_numbers(".")
        return list(dict.fromkeys([*given, *(float(np.float32(number)) for number in given)]))

    @property
    def _rows(self) -> str:
        """All rows: ``t``, ``s`` and ``v``; ``v`` is null where a number means a missing reading."""
        time, sensor, value = (f"thence_source.{identifier(name)}" for name in self._names)
        number = f"CAST({value} AS DOUBLE PRECISION)"
        if gone := self._missing:
            listed = ", ".join(f"CAST({literal(one)} AS DOUBLE PRECISION)" for one in gone)
            number = f"CASE WHEN {number} NOT IN ({listed}) THEN {number} END"
        where = f" WHERE {self.condition}" if self.condition else ""
        name = f"CAST({sensor} AS VARCHAR)"
        return f"(SELECT {time} AS t, {name} AS s, {number} AS v FROM {self.relation} AS thence_source{where}) AS r"

    @property
    def _finite(self) -> str:
        # NaN is greater than infinity for databases.
        return f"r.v > -{_INFINITY} AND r.v < {_INFINITY}"

    def _micros(self, time: str) -> str:
        if self.database.kind == "duckdb":
            return f"epoch_us({time})"
        return f"CAST(extract(epoch FROM {time}) * 1000000 AS BIGINT)"

    def look(self) -> _Found:
        """Return what is known of the rows, sensor by sensor."""
        whole = f"r.v = round(r.v) AND abs(r.v) <= {literal(float(LARGEST_WHOLE))}"
        found = self.database.rows(
            f"SELECT r.s, count(*), sum(CASE WHEN {self._finite} THEN 1 ELSE 0 END), "
            f"sum(CASE WHEN abs(r.v) = {_INFINITY} THEN 1 ELSE 0 END), "
            f"bool_and(CASE WHEN {self._finite} THEN {whole} ELSE TRUE END), "
            f"sum(CASE WHEN r.t IS NULL OR NOT isfinite(r.t) THEN 1 ELSE 0 END), "
            f"{self._micros('min(CASE WHEN isfinite(r.t) THEN r.t END)')} FROM {self._rows} GROUP BY r.s ORDER BY r.s"
        )
        if not found:
            return _Found(obstacle="there are none")
        if any(row[0] is None or row[0] != str(row[0]).strip() or not row[0] for row in found):
            return _Found(obstacle="some rows have no sensor name, or one with spaces around it")
        if any(row[5] for row in found):
            return _Found(obstacle="some rows have no time")
        rows, finite, infinite = (int(sum(row[k] for row in found)) for k in (1, 2, 3))
        return _Found(
            sensors=tuple(str(row[0]) for row in found),
            whole=tuple(str(row[0]) for row in found if row[4]),
            rows=rows,
            missing=rows - finite - infinite,
            infinite=infinite,
            first=min(int(row[6]) for row in found),
        )

    def with_few_values(self, whole: Sequence[str]) -> frozenset[str]:
        """Return those of some sensors that read few different numbers, or none."""
        if not whole:
            return frozenset()
        found = self.database.rows(
            f"SELECT d.s FROM (SELECT DISTINCT r.s, r.v FROM {self._rows} "
            f"WHERE {self._finite} AND {_is_in(whole)}) AS d "
            f"GROUP BY d.s HAVING count(*) > {MOST_STATES}"
        )
        return frozenset(whole) - {str(row[0]) for row in found}

    def times_of(self, few: frozenset[str]) -> _Times:
        """Return whether sensors, but a few, have several readings at one time."""
        if self._has_key():
            return _Times(unique=True)
        times, rows, conflicts = self.database.rows(
            "SELECT count(*), coalesce(sum(p.n), 0), coalesce(max(CASE WHEN p.low <> p.high THEN 1 ELSE 0 END), 0) "
            f"FROM (SELECT count(*) AS n, min(r.v) AS low, max(r.v) AS high FROM {self._rows} "
            f"WHERE {self._readings(few)} GROUP BY r.s, r.t) AS p"
        )[0]
        return _Times(unique=int(times) == int(rows), repeated=int(rows) - int(times), conflict=bool(conflicts))

    def _has_key(self) -> bool:
        """Return whether a unique index allows one row per sensor and time."""
        if self.database.kind != "postgresql" or self.relation.startswith("("):
            return False
        time, sensor, _ = self._names
        found = self.database.rows(
            "SELECT string_agg(a.attname::text, chr(1) ORDER BY a.attname) FROM pg_catalog.pg_index AS i "
            "JOIN pg_catalog.pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey) "
            f"WHERE i.indrelid = to_regclass({literal(self.relation)}) AND i.indisunique AND i.indisvalid "
            "AND i.indpred IS NULL AND i.indexprs IS NULL GROUP BY i.indexrelid"
        )
        return any(set(str(row[0]).split("\x01")) <= {time, sensor} for row in found)

    def _readings(self, few: frozenset[str]) -> str:
        return f"{self._finite} AND NOT {_is_in(sorted(few))}" if few else self._finite

    def windows(self, few: frozenset[str], start: int, length: int, *, unique: bool) -> str:
        """Return the statement of the windows of all sensors but a few."""
        once = f"SELECT r.t, r.s, r.v FROM {self._rows} WHERE {self._readings(few)}"
        if not unique:
            once = f"SELECT r.t, r.s, min(r.v) AS v FROM {self._rows} WHERE {self._readings(few)} GROUP BY r.t, r.s"
        total = "sum(w.v ORDER BY w.t)"
        last = "arg_max(w.v, w.t)" if self.database.kind == "duckdb" else "(array_agg(w.v ORDER BY w.t DESC))[1]"
        value = {
            "mean": f"{total} / CAST(count(*) AS DOUBLE PRECISION)",
            "sum": total,
            "min": "min(w.v)",
            "max": "max(w.v)",
            "last": last,
        }[self.options.database.aggregate]
        time = bucket(self.database, "w.t", start=start, length=length, zoned=self._zoned)
        return f"SELECT {self._named(time, 'w.s', value)} FROM ({once}) AS w GROUP BY 1, 2 ORDER BY 1, 2"

    def rows_of(self, few: frozenset[str]) -> str:
        """Return the statement of all rows of a few sensors."""
        text = f"SELECT {self._named('r.t', 'r.s', 'r.v')} FROM {self._rows} WHERE {_is_in(sorted(few))}"
        return text + " ORDER BY 1, 2, 3" if self.options.on_error == "repair" else text

    def _named(self, *expressions: str) -> str:
        pairs = zip(expressions, self._names, strict=True)
        return ", ".join(f"{expression} AS {identifier(name)}" for expression, name in pairs)


def _is_in(sensors: Sequence[str]) -> str:
    return f"r.s IN ({', '.join(literal(sensor) for sensor in sensors)})"
