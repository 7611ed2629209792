"""Databases in files: DuckDB, opened read-only."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from thence.data.readings.frames import first_line
from thence.data.stores.databases import Column, family_of
from thence.errors import InputError, nearest, require

__all__ = ["DuckDatabase", "open_duckdb"]

BATCH_ROWS = 400_000


class DuckDatabase:
    """A DuckDB file, open for reading.

    Args:
        connection: The connection.
        name: The file, for messages.
        timeout: Seconds after which a statement is given up.
    """

    kind = "duckdb"
    has_time_bucket = True

    def __init__(self, connection: Any, *, name: str, timeout: float | None = None) -> None:
        self._connection, self._timeout, self.name = connection, timeout, name

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

    def columns(self, relation: str) -> list[Column]:
        """Return the columns of a table or of a query in parentheses.

        Args:
            relation: The table or query as SQL.
        """
        with self._run(f"SELECT * FROM {relation} AS thence_source LIMIT 0") as statement:
            schema = self._connection.sql(statement).to_arrow_reader(1).schema
        return [Column(field.name, family_of(field)) for field in schema]

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """Return all rows of a small result.

        Args:
            statement: The statement.
        """
        with self._run(statement):
            found: list[tuple[Any, ...]] = self._connection.execute(statement).fetchall()
            return found

    def stream(self, statement: str) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a result in batches.

        Args:
            statement: The statement.
        """
        with self._run(statement):
            reader = self._connection.sql(statement).to_arrow_reader(BATCH_ROWS)
            yield pa.RecordBatch.from_pylist([], schema=reader.schema)
            yield from reader

    def close(self) -> None:
        """End the session."""
        with suppress(Exception):
            self._connection.close()

    @contextmanager
    def _run(self, statement: str) -> Iterator[str]:
        """Check that a text is one statement, and limit the time of the block; errors of the driver become ours."""
        driver: Any = require("duckdb", extra="sql")
        timer = None
        if self._timeout is not None:
            timer = threading.Timer(self._timeout, self._connection.interrupt)
            timer.start()
        try:
            if len(driver.extract_statements(statement)) != 1:
                raise InputError("a query must be one statement", where=self.name, hint="leave out what follows ';'")
            yield statement
        except (driver.Error, pa.ArrowException, RuntimeError) as error:
            late = "interrupt" in str(error).lower() and self._timeout is not None
            hint = "pass a longer timeout=, or read fewer rows with where=" if late else None
            raise InputError(f"the database cannot be read: {first_line(error)}", where=self.name, hint=hint) from None
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
        raise InputError(f"the database cannot be opened: {first_line(error)}", where=str(path)) from None
    return DuckDatabase(connection, name=str(path), timeout=timeout)
