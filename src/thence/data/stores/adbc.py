"""Databases through ADBC connections: PostgreSQL by its URL, and any open connection of the caller.

Statements run in one transaction that can only read. Errors of the driver become an ``InputError`` without credentials.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pyarrow as pa

from thence.data.readings.frames import first_line
from thence.data.stores.databases import Column, ConnectionLostError, family_of
from thence.data.stores.sql_text import literal
from thence.data.stores.urls import credentials_of, mask, without_credentials
from thence.errors import InputError, require

__all__ = ["AdbcDatabase", "open_postgresql"]

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


class AdbcDatabase:
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
        self._connection, self._secrets, self._owned = connection, secrets, owned
        self.name, self.kind = name, kind

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

    def columns(self, relation: str) -> list[Column]:
        """Return the columns of a table or of a query in parentheses.

        Args:
            relation: The table or query as SQL.
        """
        with self._run(f"SELECT * FROM {relation} AS thence_source LIMIT 0") as cursor:
            schema = cursor.fetch_record_batch().schema
        return [Column(field.name, family_of(field)) for field in schema]

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """Return all rows of a small result.

        Args:
            statement: The statement.
        """
        with self._run(statement) as cursor:
            return [tuple(row) for row in cursor.fetchall()]

    def stream(self, statement: str) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a result in batches.

        Args:
            statement: The statement.
        """
        with self._run(statement) as cursor:
            reader = cursor.fetch_record_batch()
            yield pa.RecordBatch.from_pylist([], schema=reader.schema)
            yield from reader

    def execute(self, statement: str) -> None:
        """Run a statement without a result.

        Args:
            statement: The statement.
        """
        with self._run(statement):
            pass

    def close(self) -> None:
        """End the session."""
        if self._owned:
            with suppress(Exception):
                self._connection.close()

    @contextmanager
    def _run(self, statement: str) -> Iterator[Any]:
        with _told(self.name, self._secrets):
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
def _told(name: str, secrets: tuple[str, ...]) -> Iterator[None]:
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
    return first_line(ValueError(found[1] if found else text.removeprefix("[libpq] ")))


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
