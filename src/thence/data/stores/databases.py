"""Databases: sessions of PostgreSQL, of DuckDB files and of any ADBC connection, in terms of Arrow, and SQL text.

A database here is an open, read-only session in one snapshot. Errors of a driver become an ``InputError`` without
credentials. Every name and value of a user enters a statement through ``identifier`` or ``literal``; nothing else is
put into SQL. The text is standard SQL; a session that runs it must read backslashes in strings as they are. Which rows
are read is the job of ``thence.data.stores.sql``.
"""

from __future__ import annotations

import math
import os
import re
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl, urlsplit

import pyarrow as pa

from thence.data.stores.urls import credentials_of, mask, without_credentials
from thence.errors import ConfigError, InputError, nearest, quote, reason_of, require

Family = Literal["zoned", "naive", "date", "float", "integer", "decimal", "text", "boolean", "other"]
"""What a column holds: times with a zone, times without one, dates, numbers of several types, text, and the rest."""


class ConnectionLostError(InputError):
    """The connection to a database ended while rows were read."""


@dataclass(frozen=True)
class DatabaseColumn:
    """A column of a table or query.

    Args:
        name: Its name.
        family: What it holds.
    """

    name: str
    family: Family


class Database(ABC):
    """An open, read-only session of a database in one snapshot.

    Args:
        connection: The connection of the driver.
        name: Where it is, without credentials, for messages.
        kind: ``"postgresql"``, ``"duckdb"``, or ``"adbc"`` for others.
    """

    def __init__(self, connection: Any, *, name: str, kind: str) -> None:
        self._connection, self.name, self.kind = connection, name, kind

    @property
    @abstractmethod
    def version(self) -> str:
        """Name and version of the server."""

    @property
    @abstractmethod
    def has_time_bucket(self) -> bool:
        """Whether it has the function ``time_bucket(interval, time, origin)``."""

    @abstractmethod
    def tables(self) -> list[tuple[str, str, bool]]:
        """Return schema and name of each table, and whether it is found without its schema."""

    @abstractmethod
    def _run(self, statement: str) -> AbstractContextManager[Any]:
        """Run a statement and yield its result, which has ``fetchall``; errors of the driver become an InputError."""

    @abstractmethod
    def _reader(self, result: Any) -> Any:
        """Return a result as an Arrow reader of batches."""

    def columns(self, relation: str) -> list[DatabaseColumn]:
        """Return the columns of a table, given as SQL, or of a query in parentheses."""
        with self._run(f"SELECT * FROM {relation} AS thence_source LIMIT 0") as result:
            schema = self._reader(result).schema
        return [DatabaseColumn(field.name, family_of(field)) for field in schema]

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """Return all rows of a small result."""
        with self._run(statement) as result:
            return [tuple(row) for row in result.fetchall()]

    def stream(self, statement: str) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a result in batches; at least one batch, which may be empty."""
        with self._run(statement) as result:
            reader = self._reader(result)
            yield pa.RecordBatch.from_pylist([], schema=reader.schema)
            yield from reader

    def close(self) -> None:
        """End the session."""
        with suppress(Exception):
            self._connection.close()


def family_of(field: Any) -> Family:
    """Return what a column holds, by its Arrow type.

    Args:
        field: The field of an Arrow schema.

    Examples:
        >>> family_of(pa.field("t", pa.timestamp("us", "UTC"))), family_of(pa.field("v", pa.float32()))
        ('zoned', 'float')
    """
    kind, declared = field.type, (field.metadata or {}).get(b"POSTGRESQL:type", b"")
    if declared == b"numeric":
        return "decimal"
    if pa.types.is_timestamp(kind):
        return "zoned" if kind.tz else "naive"
    tests: Sequence[tuple[Any, Family]] = (
        (pa.types.is_date, "date"),
        (pa.types.is_floating, "float"),
        (pa.types.is_integer, "integer"),
        (pa.types.is_decimal, "decimal"),
        (pa.types.is_boolean, "boolean"),
    )
    for test, family in tests:
        if test(kind):
            return family
    texts = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_dictionary)
    plain = declared in (b"", b"text", b"varchar", b"bpchar", b"name")
    return "text" if plain and any(test(kind) for test in texts) else "other"


COMPARISONS = ("=", "!=", "<", "<=", ">", ">=", "like")


def identifier(name: str) -> str:
    """Return a name as a quoted identifier.

    Args:
        name: The name of a schema, table or column, exactly as the database has it.

    Raises:
        ConfigError: If no database can have such a name.

    Examples:
        >>> print(identifier('a "b"; DROP TABLE c'))
        "a ""b""; DROP TABLE c"
    """
    if not isinstance(name, str) or not name or "\x00" in name or not _encodes(name):
        raise ConfigError(f"not a name of a table or column: {quote(name)}", hint="names must not be empty")
    return '"' + name.replace('"', '""') + '"'


def literal(value: Any) -> str:
    """Return a value as a literal.

    Args:
        value: A string, number, boolean, date, time or ``None``.

    Raises:
        ConfigError: If the value has another type.

    Examples:
        >>> print(literal("it's"), literal(2.5), literal(True), literal(None))
        'it''s' 2.5 TRUE NULL
    """
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else f"CAST('{value}' AS DOUBLE PRECISION)"
    if isinstance(value, (datetime, date)):
        value = value.isoformat(sep=" ") if isinstance(value, datetime) else value.isoformat()
    if isinstance(value, str) and "\x00" not in value and _encodes(value):
        return "'" + value.replace("'", "''") + "'"
    raise ConfigError(f"a condition needs a string, number, boolean or time, got {quote(value)}")


def _encodes(text: str) -> bool:
    return not any("\ud800" <= sign <= "\udfff" for sign in text)


def split_name(text: str) -> tuple[str, ...]:
    """Return the parts of the name of a table: schema and table, or the table alone.

    Args:
        text: The name. Dots separate parts; a part in double quotes may hold dots and, doubled, quotes.

    Raises:
        ConfigError: If the name is not of this form.

    Examples:
        >>> split_name("plant.readings"), split_name('"my.schema"."read ""ings"')
        (('plant', 'readings'), ('my.schema', 'read "ings'))
    """
    parts, rest = [], text
    while True:
        if rest.startswith('"'):
            part, rest = _quoted(rest, text)
        else:
            cut = rest.find(".")
            part, rest = (rest, "") if cut < 0 else (rest[:cut], rest[cut:])
        identifier(part)
        parts.append(part)
        if not rest:
            break
        if not rest.startswith("."):
            raise ConfigError(f"not the name of a table: {quote(text)}", hint="put a dot between schema and table")
        rest = rest[1:]
    if len(parts) > 3:
        raise ConfigError(
            f"the name of a table has at most three parts, got {quote(text)}",
            hint="put names with dots in double quotes",
        )
    return tuple(parts)


def _quoted(rest: str, text: str) -> tuple[str, str]:
    at = 1
    while True:
        at = rest.find('"', at)
        if at < 0:
            raise ConfigError(f"a double quote is not closed in {quote(text)}", hint="write a quote in a name as two")
        if rest[at + 1 : at + 2] != '"':
            return rest[1:at].replace('""', '"'), rest[at + 1 :]
        at += 2


def qualified(parts: Sequence[str]) -> str:
    """Return the parts of a name as SQL.

    Args:
        parts: Schema and table, or the table alone.

    Examples:
        >>> print(qualified(("plant", "readings")))
        "plant"."readings"
    """
    return ".".join(identifier(part) for part in parts)


def condition(where: Mapping[str, Any]) -> str:
    """Return the conditions on columns as one expression; empty if there is none.

    Args:
        where: Column to a value, a list of values, or a mapping from comparisons to values.

    Raises:
        ConfigError: If a comparison is unknown or a value has the wrong type.

    Examples:
        >>> print(condition({"site": "north", "ts": {">=": "2024-01-01"}, "q": [0, 1], "gone": None}))
        "site" = 'north' AND "ts" >= '2024-01-01' AND "q" IN (0, 1) AND "gone" IS NULL
    """
    terms = []
    for column, wanted in where.items():
        name = identifier(column)
        if isinstance(wanted, Mapping):
            for sign, value in wanted.items():
                if sign not in COMPARISONS:
                    hint = nearest(str(sign), COMPARISONS) or f"use one of {', '.join(COMPARISONS)}"
                    raise ConfigError(f"where has no comparison {quote(sign)}", hint=hint)
                terms.append(f"{name} {'<>' if sign == '!=' else sign.upper()} {literal(value)}")
        elif isinstance(wanted, (list, tuple, set, frozenset)):
            listed = [literal(value) for value in wanted if value is not None]
            some = [f"{name} IN ({', '.join(listed)})"] if listed else []
            some += [f"{name} IS NULL"] if None in wanted else []
            terms.append(f"({' OR '.join(some)})" if len(some) > 1 else some[0] if some else "FALSE")
        else:
            terms.append(f"{name} IS NULL" if wanted is None else f"{name} = {literal(wanted)}")
    return " AND ".join(terms)


WAIT = 10
"""Seconds to wait for a connection, unless the URL or the environment says otherwise."""

_LOST = re.compile(
    r"server closed the connection|terminating connection|connection to client lost|could not receive data"
    r"|no connection to the server|SSL connection has been closed|Connection reset|Broken pipe",
    re.IGNORECASE,
)
_REFUSED = re.compile(r"password|authentication|role .* does not exist|no pg_hba", re.IGNORECASE)
_BATCH = str(16 << 20)
_LEAST = 2  # characters of a part of a password that is hidden


class AdbcDatabase(Database):
    """A database behind an ADBC connection.

    Args:
        connection: The connection, in a transaction of its own.
        name: Where it is, for messages.
        kind: ``"postgresql"``, or ``"adbc"`` for others.
        secrets: What must not be in a message.
        owned: Whether to close the connection at the end.
    """

    def __init__(
        self, connection: Any, *, name: str, kind: str = "adbc", secrets: tuple[str, ...] = (), owned: bool = False
    ) -> None:
        super().__init__(connection, name=name, kind=kind)
        self._secrets, self._owned = secrets, owned

    @cached_property
    def version(self) -> str:
        """Name and version of the server."""
        if self.kind == "postgresql":
            version = "PostgreSQL " + str(self.rows("SELECT current_setting('server_version')")[0][0])
            extension = self.rows("SELECT extversion FROM pg_catalog.pg_extension WHERE extname = 'timescaledb'")
            return version + "".join(f", TimescaleDB {found}" for (found,) in extension)
        with suppress(Exception):
            info = self._connection.adbc_get_info()
            return f"{info.get('vendor_name', '')} {info.get('vendor_version', '')}".strip()
        return ""

    @cached_property
    def has_time_bucket(self) -> bool:
        """Whether it has the function ``time_bucket(interval, timestamptz, timestamptz)``."""
        if self.kind != "postgresql":
            return False
        wanted = literal("time_bucket(interval,timestamptz,timestamptz)")
        return bool(self.rows(f"SELECT to_regprocedure({wanted}) IS NOT NULL")[0][0])

    def tables(self) -> list[tuple[str, str, bool]]:
        """Return schema and name of each table, and whether it is found without its schema."""
        if self.kind != "postgresql":
            return []
        return self.rows(
            "SELECT n.nspname::text, c.relname::text, pg_table_is_visible(c.oid) FROM pg_catalog.pg_class AS c "
            "JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'v', 'm', 'p', 'f') "
            "AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg_toast%' "
            "AND n.nspname NOT LIKE '\\_timescaledb%' ORDER BY 1, 2"
        )

    def _reader(self, result: Any) -> Any:
        return result.fetch_record_batch()

    def execute(self, statement: str) -> None:
        """Run a statement without a result.

        Args:
            statement: The statement.
        """
        with self._run(statement):
            pass

    def close(self) -> None:
        """End the session, if the connection is not the caller's."""
        if self._owned:
            super().close()

    @contextmanager
    def _run(self, statement: str) -> Iterator[Any]:
        with _driver_errors(self.name, self._secrets):
            cursor = self._connection.cursor()
            try:
                if self.kind == "postgresql":
                    cursor.adbc_statement.set_options(**{"adbc.postgresql.batch_size_hint_bytes": _BATCH})
                cursor.execute(statement)
                yield cursor
            finally:
                with suppress(Exception):
                    cursor.close()


@contextmanager
def _driver_errors(name: str, secrets: tuple[str, ...]) -> Iterator[None]:
    """Turn errors of the driver into an ``InputError`` without secrets."""
    errors: Any = require("adbc_driver_manager.dbapi", extra="sql")
    try:
        yield
    except (errors.Error, errors.Warning, OSError, pa.ArrowException) as error:
        text = mask(_plain(str(error)), secrets)
        state = getattr(error, "sqlstate", None) or ""
        if state in ("57P01", "57P02", "57P03") or state.startswith("08") or _LOST.search(str(error)):
            raise ConnectionLostError(
                f"the connection was lost: {text}", where=name, hint="check the server, then run it again"
            ) from None
        hint = None
        if state == "57014" or "statement timeout" in text:
            hint = "pass a longer timeout=, or read fewer rows with where="
        elif state == "42501":
            hint = "the user of the connection needs the right to SELECT"
        elif state == "25006":
            hint = "readings are read in a read-only transaction; the query must not change anything"
        raise InputError(f"the database cannot be read: {text}", where=name, hint=hint) from None


def _plain(text: str) -> str:
    """Return the message of a server without what the driver puts around it, on one line."""
    text = re.sub(r"^[A-Z_ ]+: ", "", text.strip())
    text = re.sub(r"\. SQLSTATE: .*|\. Vendor code: .*", "", text, flags=re.DOTALL)
    found = re.search(r"(?:ERROR|FATAL|PANIC):\s*(.+)", text)
    return reason_of(ValueError(found[1] if found else text.removeprefix("[libpq] ")))


def open_postgresql(url: str, *, timeout: float | None = None) -> AdbcDatabase:
    """Open a read-only session of a PostgreSQL server, in one snapshot.

    Args:
        url: Where it is. What it lacks is taken from the environment, as by every client of PostgreSQL.
        timeout: Seconds after which the server gives up a statement.

    Raises:
        InputError: If the server cannot be reached or refuses the connection; without credentials.
        MissingExtraError: If the driver is not installed.
    """
    driver: Any = require("adbc_driver_postgresql.dbapi", extra="sql")
    errors: Any = require("adbc_driver_manager.dbapi", extra="sql")
    name, secrets = without_credentials(url), _secrets(url)
    try:
        query = urlsplit(url).query
    except ValueError as error:
        raise InputError(f"the database cannot be opened: {error}", where=name, hint="check the URL") from None
    if "connect_timeout" not in dict(parse_qsl(query)) and "PGCONNECT_TIMEOUT" not in os.environ:
        url = f"{url}{'&' if query else '?'}connect_timeout={WAIT}"
    try:
        connection = driver.connect(url)
    except (errors.Error, OSError) as error:
        text = mask(_plain(str(error)), secrets)
        refused = _REFUSED.search(str(error))
        raise InputError(
            f"the database cannot be opened: {text}",
            where=name,
            hint="check user and password: set PGUSER and PGPASSWORD, or write them into the URL with signs such as "
            "@ and / percent-encoded"
            if refused
            else "check host, port and name of the database, and that the server runs; in a URL, signs such as @ and / "
            "of a password are percent-encoded",
        ) from None
    database = AdbcDatabase(connection, name=name, kind="postgresql", secrets=secrets, owned=True)
    try:
        database.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        settings = {"standard_conforming_strings": "on", "TimeZone": "UTC", "IntervalStyle": "postgres"}
        settings |= {"DateStyle": "ISO, YMD"}
        if timeout is not None:
            settings["statement_timeout"] = str(max(1, round(timeout * 1000)))
        for setting, value in settings.items():
            database.execute(f"SET LOCAL {setting} = {literal(value)}")
    except BaseException:
        database.close()
        raise
    return database


def _secrets(url: str) -> tuple[str, ...]:
    """Return the passwords that a message about a connection might hold, also in parts if signs are not encoded."""
    try:
        inside = [credentials_of(url)[2]]
        inside += [value for key, value in parse_qsl(urlsplit(url).query) if "pass" in key.lower()]
    except ValueError:
        inside = [url]
    raw = re.search(r"://[^:/@]*:(.*)@", url)
    if raw:
        inside += [raw[1], *(part for part in re.split(r"[/?#@:&=]", raw[1]) if len(part) >= _LEAST)]
    return tuple(one for one in (*inside, os.environ.get("PGPASSWORD", "")) if one)


BATCH_ROWS = 400_000


class DuckDatabase(Database):
    """A DuckDB file, open for reading.

    Args:
        connection: The connection.
        name: The file, for messages.
        timeout: Seconds after which a statement is given up.
    """

    has_time_bucket = True

    def __init__(self, connection: Any, *, name: str, timeout: float | None = None) -> None:
        super().__init__(connection, name=name, kind="duckdb")
        self._timeout = timeout

    @cached_property
    def version(self) -> str:
        """Name and version of the library."""
        return f"DuckDB {str(self.rows('SELECT version()')[0][0]).removeprefix('v')}"

    def tables(self) -> list[tuple[str, str, bool]]:
        """Return schema and name of each table, and whether it is found without its schema."""
        return self.rows(
            "SELECT table_schema, table_name, table_schema = current_schema() FROM information_schema.tables "
            "WHERE table_catalog = current_database() ORDER BY 1, 2"
        )

    def _reader(self, result: Any) -> Any:
        return result.to_arrow_reader(BATCH_ROWS)

    @contextmanager
    def _run(self, statement: str) -> Iterator[Any]:
        """Check that a text is one statement, and limit the time of the block; errors of the driver become ours."""
        driver: Any = require("duckdb", extra="sql")
        timer = None
        if self._timeout is not None:
            timer = threading.Timer(self._timeout, self._connection.interrupt)
            timer.start()
        try:
            if len(driver.extract_statements(statement)) != 1:
                raise InputError("a query must be one statement", where=self.name, hint="leave out what follows ';'")
            yield self._connection.sql(statement)
        except (driver.Error, pa.ArrowException, RuntimeError) as error:
            late = "interrupt" in str(error).lower() and self._timeout is not None
            hint = "pass a longer timeout=, or read fewer rows with where=" if late else None
            raise InputError(f"the database cannot be read: {reason_of(error)}", where=self.name, hint=hint) from None
        finally:
            if timer is not None:
                timer.cancel()


def open_duckdb(url: str, *, timeout: float | None = None) -> DuckDatabase:
    """Open a DuckDB file for reading.

    Args:
        url: ``duckdb:///`` and the path of the file; an absolute path begins with a fourth slash.
        timeout: Seconds after which a statement is given up.

    Raises:
        InputError: If there is no such file, or it is not a database.
        MissingExtraError: If DuckDB is not installed.
    """
    driver: Any = require("duckdb", extra="sql")
    path = Path(url.partition("://")[2].removeprefix("/")).expanduser()
    if not path.is_file():
        names = [one.name for one in path.parent.iterdir()] if path.parent.is_dir() else []
        raise InputError("no such file", where=str(path), hint=nearest(path.name, names))
    try:
        connection = driver.connect(str(path), read_only=True, config={"enable_external_access": "false"})
        with suppress(driver.Error):  # without the extension of time zones, times with a zone are UTC anyway
            connection.execute("SET TimeZone = 'UTC'")
    except driver.Error as error:
        raise InputError(f"the database cannot be opened: {reason_of(error)}", where=str(path)) from None
    return DuckDatabase(connection, name=str(path), timeout=timeout)
