"""Sensor data from SQL databases: which rows are read, in one snapshot, as source tables for ``read_sensors``.

All rows go into a spool before anything is made of them: a connection that is lost in the middle is an error or a new
beginning, never a part of the data.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
import pyarrow as pa

from thence.data.readers.table import ReadOptions, SourceTable
from thence.data.stores.adbc import AdbcDatabase, open_postgresql
from thence.data.stores.databases import Column, ConnectionLostError, Database
from thence.data.stores.duckdb_files import open_duckdb
from thence.data.stores.pushdown import push_down
from thence.data.stores.sensor_metadata import Metadata, read_metadata, require_column
from thence.data.stores.spool import spool
from thence.data.stores.sql_text import condition, identifier, qualified, split_name
from thence.errors import ConfigError, InputError, nearest, quote

__all__ = ["read_connection", "read_duckdb", "read_postgresql"]

ATTEMPTS = 3
"""How often reading is begun if the connection is lost."""
PAUSE = 1.0
"""Seconds before the second beginning; then twice as long."""


def read_postgresql(url: str, options: ReadOptions) -> list[SourceTable]:
    """Read from a PostgreSQL or TimescaleDB server; a reader as described in ``thence.data.readers.databases``.

    Args:
        url: Where the database is.
        options: The options of ``read_sensors``.
    """
    return _read(lambda: open_postgresql(url, timeout=options.database.timeout), options, attempts=ATTEMPTS)


def read_duckdb(url: str, options: ReadOptions) -> list[SourceTable]:
    """Read from a DuckDB file; a reader as described in ``thence.data.readers.databases``.

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
    metadata = read_metadata(
        database, relation.text, names, options, lambda name: ((one := _find_table(database, name)).text, one.name)
    )
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


def _columns_to_read(columns: Sequence[Column], options: ReadOptions) -> list[Column]:
    """Return the columns of the readings: those that are named, or all."""
    named = (options.time, options.sensor, options.value)
    if options.time != "auto" and options.sensor is not None and options.value is not None:
        return [column for column in columns if column.name in named]
    described = set() if "table" in options.database.metadata else set(options.database.metadata.values())
    return [column for column in columns if column.name not in described and not options.ignores(column.name)]


def _select(
    database: Database, relation: _Relation, columns: Sequence[Column], condition_text: str, options: ReadOptions
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


def _expression(database: Database, column: Column, *, name_column: bool) -> str:
    """Return a column in a type that every driver returns exactly."""
    name = f"thence_source.{identifier(column.name)}"
    if name_column or column.family == "other":
        return f"CAST({name} AS VARCHAR)"
    if column.family == "date":
        name = f"CAST({name} AS TIMESTAMP)"
    if column.family in ("zoned", "naive", "date") and database.kind != "adbc":
        return f"CASE WHEN isfinite({name}) THEN {name} END"
    return f"CAST({name} AS DOUBLE PRECISION)" if column.family == "decimal" else name
