"""Sensor data from SQL databases: which rows are read, in one snapshot, as source tables for ``read_sensors``.

All rows go into a temporary Parquet file before anything is made of them: a connection that is lost in the middle is
an error or a new beginning, never a part of the data. The hash of the rows does not depend on their order, since a
table has none; equal rows of equal columns give the same hash in every version and on every machine. Names, kinds and
units of sensors are read from a table of their own or from columns of the readings.

Windows that the database aggregates have the numbers that ``thence.data.readings.windows`` computes from the rows:
means and sums add the readings of a window in the order of their times, so they agree in the last bit. What would not
agree is read row by row: sensors whose few whole numbers may be states, other aggregates, and tables in which a sensor
has two readings at one time.
"""

from __future__ import annotations

import atexit
import hashlib
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from thence.data.readers.table import ReadOptions, SourceTable
from thence.data.readings.durations import MICROSECOND, format_duration, parse_duration
from thence.data.readings.sensors import as_utc
from thence.data.readings.windows import AGGREGATES
from thence.data.stores.databases import (
    AdbcDatabase,
    ConnectionLostError,
    Database,
    DatabaseColumn,
    condition,
    identifier,
    literal,
    open_duckdb,
    open_postgresql,
    qualified,
    split_name,
)
from thence.errors import ConfigError, InputError, nearest, quote
from thence.language.states import LARGEST_WHOLE, MOST_STATES

UInt64Array = npt.NDArray[np.uint64]
_NULL, _NAN = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD1B54A32D192ED03)
_A, _B = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@dataclass(frozen=True)
class Spooled:
    """Rows in a file.

    Args:
        path: The Parquet file; it is removed when the process ends.
        rows: Number of rows.
        content: Hash of the rows.
    """

    path: Path
    rows: int
    content: str


def spool(
    batches: Iterable[pa.RecordBatch], *, change: Callable[[pa.RecordBatch], pa.RecordBatch] | None = None
) -> Spooled:
    """Write batches of rows to a temporary Parquet file.

    Args:
        batches: The batches, all with the same columns; at least one, which may be empty.
        change: Applied to each batch before it is written.

    Raises:
        InputError: If the disk is full. The file is then removed, as after every error of the batches.

    Examples:
        >>> done = spool([pa.RecordBatch.from_pydict({"value": [1.0, None]})])
        >>> done.rows, len(done.content)
        (2, 32)
    """
    folder = Path(tempfile.mkdtemp(prefix="thence-store-"))
    remove = _remover(folder)
    path, found, writer = folder / "rows.parquet", ContentHash(), None
    try:
        for batch in batches:
            ready = batch if change is None else change(batch)
            if writer is None:
                writer = pq.ParquetWriter(path, ready.schema, compression="lz4", use_dictionary=_texts(ready.schema))
            if ready.num_rows:
                found.add(ready)
                writer.write_batch(ready)
        assert writer is not None
        writer.close()
    except OSError as error:
        remove()
        raise InputError(
            f"rows cannot be written to the temporary folder: {error.strerror or error}",
            where=str(folder),
            hint="free some space, or set TMPDIR to another folder",
        ) from error
    except BaseException:
        remove()
        raise
    return Spooled(path, found.rows, found.hex())


def _remover(folder: Path) -> Callable[[], None]:
    """Remove a folder when the process ends, or when the function returned here is called."""

    def remove() -> None:
        atexit.unregister(remove)
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    return remove


def _texts(schema: pa.Schema) -> list[str]:
    return [one.name for one in schema if pa.types.is_string(one.type) or pa.types.is_large_string(one.type)]


class ContentHash:
    """A hash of rows that does not depend on their order: 128 bits, the sums of two hashes of each row.

    Examples:
        >>> one, two = ContentHash(), ContentHash()
        >>> one.add(pa.RecordBatch.from_pydict({"a": [1, 2], "b": ["x", None]}))
        >>> two.add(pa.RecordBatch.from_pydict({"a": [2, 1], "b": [None, "x"]}))
        >>> one.hex() == two.hex()
        True
    """

    def __init__(self) -> None:
        self.rows = 0
        self._sums = np.zeros(2, dtype=np.uint64)

    def add(self, batch: pa.RecordBatch) -> None:
        """Add rows.

        Args:
            batch: The rows.
        """
        self.rows += batch.num_rows
        hashes = np.zeros(batch.num_rows, dtype=np.uint64)
        for one, column in zip(batch.schema, batch.columns, strict=True):
            hashes = _mix(hashes + _mix(_bits(column) ^ np.uint64(_text_hash(one.name))))
        with np.errstate(over="ignore"):
            self._sums += np.array([hashes.sum(), _mix(hashes ^ _NULL).sum()], dtype=np.uint64)

    def hex(self) -> str:
        """Return the hash as 32 hexadecimal digits; the number of rows is part of it."""
        first, second = (int(one) for one in self._sums)
        return hashlib.blake2b(f"{self.rows} {first} {second}".encode(), digest_size=16).hexdigest()


def _text_hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def _mix(x: UInt64Array) -> UInt64Array:
    """Scramble 64-bit integers (the finaliser of SplitMix64)."""
    x = (x ^ (x >> np.uint64(30))) * _A
    x = (x ^ (x >> np.uint64(27))) * _B
    return x ^ (x >> np.uint64(31))


def _bits(column: Any) -> UInt64Array:
    """Return a 64-bit integer per cell, equal for equal cells; every NaN is one value and −0 is 0."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.dictionary_decode(), column.type.value_type
    if pa.types.is_floating(kind):
        numbers = column.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False)
        bits = np.where(np.isnan(numbers), _NAN, (numbers + 0.0).view(np.uint64))
    elif pa.types.is_integer(kind):
        bits = column.cast(pa.int64(), safe=False).fill_null(0).to_numpy(zero_copy_only=False).view(np.uint64)
    elif pa.types.is_timestamp(kind):
        micros = column.cast(pa.timestamp("us", kind.tz), safe=False).cast(pa.int64())
        bits = micros.fill_null(0).to_numpy(zero_copy_only=False).view(np.uint64)
    elif pa.types.is_boolean(kind):
        bits = column.cast(pa.uint8()).fill_null(0).to_numpy(zero_copy_only=False).astype(np.uint64)
    else:
        coded = column.cast(pa.string()).dictionary_encode()
        known = np.array([_text_hash(text) for text in coded.dictionary.to_pylist()] or [0], dtype=np.uint64)
        bits = known[coded.indices.fill_null(0).to_numpy(zero_copy_only=False)]
    if column.null_count:
        bits = np.where(column.is_null().to_numpy(zero_copy_only=False), _NULL, bits)
    return np.asarray(bits, dtype=np.uint64)


_KEYS = ("sensor", "sensor_id", "id")


def require_column(name: str, known: Sequence[str], *, option: str, where: str) -> None:
    """Raise if a table has no such column; say which is nearest.

    Args:
        name: The name of the column.
        known: The columns of the table.
        option: The option that names it.
        where: The table, for messages.
    """
    if name not in known:
        hint = nearest(name, known) or f"columns are {', '.join(map(quote, list(known)[:20]))}"
        raise InputError(
            f"{option} names the column {quote(name)}, which the table does not have", where=where, hint=hint
        )


@dataclass(frozen=True)
class Metadata:
    """What a database says of its sensors.

    Args:
        names: Sensor id in the readings to the name to use instead; empty to use the ids.
        kinds: Sensor, by the name in use, to kind and unit.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    kinds: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    def rename(self, column: Any, *, options: ReadOptions, where: str, unknown: set[str]) -> Any:
        """Return a column of sensor ids as names.

        Args:
            column: The column, of strings.
            options: The options of ``read_sensors``: whether to raise at an id without a name, or to keep the id.
            where: The table, for messages.
            unknown: Ids without a name are added to it.
        """
        coded = column.cast(pa.string()).dictionary_encode()
        ids = coded.dictionary.to_pylist()
        lost = [id for id in ids if id not in self.names]
        if lost and options.on_error == "raise":
            raise InputError(
                f"the metadata has no row for the sensor {quote(lost[0])}",
                where=where,
                hint="add it, or pass on_error='repair' to use the id as its name",
            )
        unknown.update(lost)
        names = pa.array([self.names.get(id, id) for id in ids], pa.string())
        if not ids:
            return column.cast(pa.string())
        at = coded.indices.fill_null(0).to_numpy(zero_copy_only=False)
        taken = names.take(pa.array(at.astype(np.int64)))
        gone = column.is_null()
        return taken if not column.null_count else pa.compute.if_else(gone, pa.scalar(None, pa.string()), taken)


def read_metadata(database: Database, relation: str, columns: Sequence[str], options: ReadOptions) -> Metadata:
    """Read names, kinds and units of sensors.

    Args:
        database: The database.
        relation: The table or query of the readings, as SQL.
        columns: Its columns.
        options: The options of ``read_sensors``.

    Raises:
        InputError: If a column does not exist, or a sensor has several rows.
        ConfigError: If the sensor column is not known.
    """
    given = options.database.metadata
    if not given:
        return Metadata()
    if "table" in given:
        table = _find_table(database, given["table"])
        source, where = table.text, table.name
        known = [column.name for column in database.columns(source)]
        candidates = [options.sensor, *_KEYS] if options.sensor else list(_KEYS)
        key = given.get("sensor") or next((name for name in candidates if name in known), candidates[0])
        chosen = {part: given.get(part) or (part if part in known else None) for part in ("kind", "unit")}
        chosen["name"] = given.get("name")
    else:
        source, where, known = relation, "table of readings", list(columns)
        if "name" in given or "sensor" in given or options.sensor is None:
            raise ConfigError(
                "metadata without 'table' names columns of the readings, which needs sensor=",
                hint="pass sensor= and metadata={'kind': …, 'unit': …}, or metadata={'table': …}",
            )
        key, chosen = options.sensor, {"name": None, "kind": given.get("kind"), "unit": given.get("unit")}
    require_column(key, known, option="metadata['sensor']", where=where)
    for part, column in chosen.items():
        if column is not None:
            require_column(column, known, option=f"metadata['{part}']", where=where)
    texts = [
        "NULL" if column is None else f"CAST({identifier(column)} AS VARCHAR)"
        for column in (key, chosen["name"], chosen["kind"], chosen["unit"])
    ]
    listed = ", ".join(f"{text} AS c{k}" for k, text in enumerate(texts))
    rows = database.rows(f"SELECT DISTINCT {listed} FROM {source} AS thence_source WHERE {identifier(key)} IS NOT NULL")
    _require_unique(
        [str(row[0]).strip() for row in rows], "the sensor {} has several rows with different values", where
    )
    names = {}
    if chosen["name"] is not None:
        names = {str(row[0]): str(row[1]).strip() for row in rows if row[1] is not None and str(row[1]).strip()}
        _require_unique(list(names.values()), "several sensors have the name {}", where)
    described = {names.get(str(id), str(id)).strip(): (str(kind or ""), str(unit or "")) for id, _, kind, unit in rows}
    if chosen["kind"] is None and chosen["unit"] is None:
        described = {}
    return Metadata(names, described)


def _require_unique(names: Sequence[str], message: str, where: str) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise InputError(message.format(quote(twice[0])), where=where, hint="correct the metadata")


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
    database: Database, relation: str, columns: Mapping[str, DatabaseColumn], condition: str, options: ReadOptions
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
    start = _first_window(found.first, length, options.database.origin)
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


def _obstacle(database: Database, columns: Mapping[str, DatabaseColumn], options: ReadOptions) -> str:
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


def _first_window(first: int, length: int, origin: object) -> int:
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
class _RowSummary:
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
    columns: Mapping[str, DatabaseColumn]
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

    def look(self) -> _RowSummary:
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
            return _RowSummary(obstacle="there are none")
        if any(row[0] is None or row[0] != str(row[0]).strip() or not row[0] for row in found):
            return _RowSummary(obstacle="some rows have no sensor name, or one with spaces around it")
        if any(row[5] for row in found):
            return _RowSummary(obstacle="some rows have no time")
        rows, finite, infinite = (int(sum(row[k] for row in found)) for k in (1, 2, 3))
        return _RowSummary(
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


ATTEMPTS = 3
"""How often reading is begun if the connection is lost."""
PAUSE = 1.0
"""Seconds before the second beginning; then twice as long."""


def read_postgresql(url: str, options: ReadOptions) -> list[SourceTable]:
    """Read from a PostgreSQL or TimescaleDB server; a reader as described in ``thence.data.readers.files``.

    Args:
        url: Where the database is.
        options: The options of ``read_sensors``.
    """
    return _read(lambda: open_postgresql(url, timeout=options.database.timeout), options, attempts=ATTEMPTS)


def read_duckdb(url: str, options: ReadOptions) -> list[SourceTable]:
    """Read from a DuckDB file; a reader as described in ``thence.data.readers.files``.

    Args:
        url: Where the file is.
        options: The options of ``read_sensors``.
    """
    return _read(lambda: open_duckdb(url, timeout=options.database.timeout), options, attempts=1)


def read_connection(connection: Any, options: ReadOptions) -> list[SourceTable]:
    """Read from an open ADBC connection of the caller, which stays open.

    Args:
        connection: The connection.
        options: The options of ``read_sensors``.
    """
    if not options.database.table and options.database.query is None:
        raise ConfigError("a connection needs table= or query=", hint="name the table of readings")
    return _read(lambda: AdbcDatabase(connection, name="connection"), options, attempts=1)


def _read(opened: Callable[[], Database], options: ReadOptions, *, attempts: int) -> list[SourceTable]:
    for attempt in range(attempts):
        database = opened()
        try:
            return [_read_relation(database, one, options) for one in _relations(database, options)]
        except ConnectionLostError:
            if attempt + 1 == attempts:
                raise
            time.sleep(PAUSE * 2**attempt)
        finally:
            database.close()
    raise AssertionError("no attempt")


@dataclass(frozen=True)
class _Relation:
    """A table or a query: as SQL, with a name for messages and a title for ids of sensors."""

    text: str
    name: str
    title: str


def _relations(database: Database, options: ReadOptions) -> list[_Relation]:
    given = options.database
    if given.query is not None:
        query = given.query.strip().rstrip(";")
        # The line end closes a comment at the end of the query.
        return [_Relation(f"({query}\n)", f"{database.name}, query", "query")]
    if given.table:
        return [_find_table(database, name) for name in given.table]
    tables = database.tables()
    if len(tables) != 1:
        some = ", ".join(f"'{schema}.{name}'" for schema, name, _ in tables[:10])
        raise InputError(
            f"the database has {len(tables):,} tables" if tables else "the database has no tables",
            where=database.name,
            hint=f"pass table=, one of {some}" if tables else "pass the URL of another database",
        )
    schema, name, _ = tables[0]
    return [_Relation(qualified((schema, name)), f"{database.name}, table {schema}.{name}", name)]


def _find_table(database: Database, text: str) -> _Relation:
    """Return a table, or raise and say which is nearest."""
    parts = split_name(text)
    found = _Relation(qualified(parts), f"{database.name}, table {text}", parts[-1])
    known = database.tables()
    if not known or len(parts) > 2:
        return found
    there = {name for _, name, visible in known if visible} if len(parts) == 1 else {one[:2] for one in known}
    if (parts[0] if len(parts) == 1 else parts) not in there:
        named = {f"{schema}.{name}" for schema, name, _ in known} | {name for _, name, visible in known if visible}
        elsewhere = [f"{schema}.{name}" for schema, name, _ in known if name == parts[-1]]
        hint = f"did you mean {quote(elsewhere[0])}?" if elsewhere else nearest(text, named)
        if hint is None:
            hint = f"tables are {', '.join(sorted(map(quote, named))[:10])}" if named else None
        raise InputError(f"no such table: {quote(text)}", where=database.name, hint=hint)
    return found


def _read_relation(database: Database, relation: _Relation, options: ReadOptions) -> SourceTable:
    server = database.version
    columns = database.columns(relation.text)
    names = [column.name for column in columns]
    _require_columns(names, relation, options)
    metadata = read_metadata(database, relation.text, names, options)
    chosen = _columns_to_read(columns, options)
    long = options.sensor is not None and options.layout in ("auto", "long")
    if metadata.names and not long:
        raise ConfigError("metadata['name'] is for a long table", hint="pass sensor= and value=, or leave it out")
    unknown: set[str] = set()

    def rename(batch: pa.RecordBatch) -> pa.RecordBatch:
        at = batch.schema.get_field_index(options.sensor)
        named = metadata.rename(batch.column(at), options=options, where=relation.name, unknown=unknown)
        return batch.set_column(at, options.sensor, named)

    condition_text = condition(options.database.where)
    notes: tuple[str, ...] = ()
    measured: frozenset[str] = frozenset()
    windows: dict[str, Any] = {}
    statements = [_select(database, relation, chosen, condition_text, options)]
    if options.database.windows is not None:
        pushed = push_down(database, relation.text, {one.name: one for one in chosen}, condition_text, options)
        notes = pushed.notes
        if pushed.statements:
            statements, measured = list(pushed.statements), pushed.measured
            windows = {"windows": dict(pushed.windows or {})}
    done = spool(
        (batch for statement in statements for batch in database.stream(statement)),
        change=rename if metadata.names else None,
    )
    if unknown:
        notes = (*notes, f"{len(unknown)} sensors without a row in the metadata keep their ids")
    return SourceTable(
        pl.scan_parquet(done.path),
        relation.name,
        title=relation.title,
        in_memory=False,
        notes=notes,
        kinds=_by_id(metadata, relation, options),
        measured=frozenset(metadata.names.get(id, id).strip() for id in measured),
        record={
            "store": database.name,
            "server": server,
            "query": "; ".join(statements),
            "rows": done.rows,
            "content_hash": done.content,
            **windows,
        },
    )


def _by_id(metadata: Metadata, relation: _Relation, options: ReadOptions) -> dict[str, tuple[str, str]]:
    """Return kinds and units by the ids that sensors get."""
    if options.name is None:
        return dict(metadata.kinds)
    return {
        options.name.format(column=name, file=relation.title, sheet="", kind=""): described
        for name, described in metadata.kinds.items()
    }


def _require_columns(names: Sequence[str], relation: _Relation, options: ReadOptions) -> None:
    twice = next((name for k, name in enumerate(names) if name in names[:k]), None)
    if twice is not None:
        raise InputError(f"the query returns two columns named {quote(twice)}", where=relation.name, hint="rename one")
    given = {"time": None if options.time == "auto" else options.time, "sensor": options.sensor, "value": options.value}
    for option, name in given.items():
        if name is not None:
            require_column(name, names, option=option, where=relation.name)
    for option, listed in (("where", options.database.where), ("order", options.database.order)):
        for name in listed:
            require_column(name, names, option=option, where=relation.name)


def _columns_to_read(columns: Sequence[DatabaseColumn], options: ReadOptions) -> list[DatabaseColumn]:
    """Return the columns of the readings: those that are named, or all."""
    named = (options.time, options.sensor, options.value)
    if options.time != "auto" and options.sensor is not None and options.value is not None:
        return [column for column in columns if column.name in named]
    described = set() if "table" in options.database.metadata else set(options.database.metadata.values())
    return [column for column in columns if column.name not in described and not options.ignores(column.name)]


def _select(
    database: Database,
    relation: _Relation,
    columns: Sequence[DatabaseColumn],
    condition_text: str,
    options: ReadOptions,
) -> str:
    listed = ", ".join(
        f"{_expression(database, column, name_column=column.name == options.sensor)} AS {identifier(column.name)}"
        for column in columns
    )
    text = f"SELECT {listed} FROM {relation.text} AS thence_source"
    if condition_text:
        text += f" WHERE {condition_text}"
    if options.database.order or options.on_error == "repair":
        # A table has no order, and which of several readings is the last must not change from day to day.
        wanted = dict.fromkeys([*options.database.order, *(column.name for column in columns)])
        text += f" ORDER BY {', '.join(f'thence_source.{identifier(name)}' for name in wanted)}"
    return text


def _expression(database: Database, column: DatabaseColumn, *, name_column: bool) -> str:
    """Return a column in a type that every driver returns exactly."""
    name = f"thence_source.{identifier(column.name)}"
    if name_column or column.family == "other":
        return f"CAST({name} AS VARCHAR)"
    if column.family == "date":
        name = f"CAST({name} AS TIMESTAMP)"
    if column.family in ("zoned", "naive", "date") and database.kind != "adbc":
        return f"CASE WHEN isfinite({name}) THEN {name} END"
    return f"CAST({name} AS DOUBLE PRECISION)" if column.family == "decimal" else name
